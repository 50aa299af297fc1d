//! Output of the programs: results on stdout, notes and progress on stderr, atomic writes of files.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use indicatif::{ProgressDrawTarget, ProgressStyle};
use treeport::io::file;

use super::Global;
use super::closed;
use super::shown::shown;
use crate::text;

pub use super::shown::stdout;
pub use crate::text::{seconds, three_digits};
pub use indicatif::ProgressBar;
pub use treeport::io::file::check_place;
pub use treeport::show_number as number;

/// Verbosity and format of the output.
#[derive(Debug)]
pub struct Output {
    /// Print one JSON object per line instead of text.
    pub json: bool,
    /// Print only results and errors.
    pub quiet: bool,
    progress: bool,
}

impl Output {
    /// Configures the output from the global options; progress requires a terminal.
    pub fn new(global: &Global) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            json: global.json,
            quiet: global.quiet,
            progress: terminal && !global.quiet && !global.no_progress,
        }
    }

    /// Creates a progress bar with the remaining time, for work of known total.
    ///
    /// # Panics
    /// Never: the template is part of the code.
    pub fn bar(&self, what: &str, length: usize) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(length as u64), self.target());
        let style = "{msg:<22} {bar:30} {pos}/{len}  {elapsed} gone, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a template without mistakes"));
        bar.set_message(shown(what).into_owned());
        bar
    }

    /// Creates a spinner, for work of unknown total.
    ///
    /// # Panics
    /// Never: the template is part of the code.
    pub fn spinner(&self, what: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, self.target());
        let style = "{msg:<22} {spinner} {elapsed}";
        bar.set_style(ProgressStyle::with_template(style).expect("a template without mistakes"));
        bar.set_message(shown(what).into_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn target(&self) -> ProgressDrawTarget {
        if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }

    /// Prints a note if progress is shown.
    pub fn note_to_watchers(&self, text: &str) {
        if self.progress {
            self.note(text);
        }
    }

    /// Prints a note to stderr.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // An error of stderr cannot be reported.
            let _ = writeln!(io::stderr(), "{}", shown(text));
        }
    }
}

/// Checks that stdout is not closed, before work whose results go there.
///
/// # Errors
/// Stdout is closed.
pub fn check_stdout() -> Result<()> {
    closed::stdout()?;
    Ok(())
}

/// Prints a line of text to stdout.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    Ok(writeln!(closed::stdout()?, "{}", shown(&text.to_string()))?)
}

/// Prints a JSON object as a line to stdout.
pub fn json(object: impl std::fmt::Display) -> Result<()> {
    let mut text = object.to_string();
    // Escapes control characters that JSON allows but that terminals interpret.
    while let Some(c) = text.chars().find(|c| c.is_control()) {
        text = text.replace(c, &format!("\\u{:04x}", u32::from(c)));
    }
    Ok(writeln!(closed::stdout()?, "{text}")?)
}

/// Prints an error and a hint, if any.
pub(super) fn error(text: &str, hint: Option<&str>) {
    let color =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let paint = |code: u8, text: &str| {
        if color { format!("\x1b[1;{code}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let mut err = io::stderr();
    let _ = writeln!(err, "{} {}", paint(31, "error:"), shown(text));
    if let Some(hint) = hint {
        let _ = writeln!(err, "\n{} {}", paint(36, "hint:"), shown(hint));
    }
}

/// Writes a file atomically; see [`file::save`].
pub fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    file::save(path, write)
        .map_err(|error| named(error, |cause| treeport::Error::write(path, cause).into()))
}

/// Adds a name to an I/O error without one.
pub(super) fn named(
    error: anyhow::Error,
    name: impl FnOnce(io::Error) -> anyhow::Error,
) -> anyhow::Error {
    let bare = matches!(error.chain().next(), Some(first) if first.is::<io::Error>());
    if bare { error.downcast().map_or_else(|error| error, name) } else { error }
}

/// Aligns escaped cells in columns; see [`text::table`].
pub fn table(rows: &[Vec<String>]) -> String {
    let show = |row: &Vec<String>| row.iter().map(|cell| shown(cell).into_owned()).collect();
    text::table(&rows.iter().map(show).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "1.50 µs".into()], vec!["bcd".into(), "2 s".into()]];
        assert_eq!(table(&rows), "a     1.50 µs\nbcd       2 s\n");
        let rows = [vec!["\x1b[2J".into(), "1".into()], vec!["b".into(), "2".into()]];
        assert_eq!(table(&rows), "\\u{1b}[2J   1\nb           2\n");
    }

    /// Every error during a write names the file.
    #[test]
    fn errors_of_writing_name_the_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("a.csv");
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let error = save(&path, |_| Err(full().into())).expect_err("a full disk");
        assert_eq!(
            error.to_string(),
            format!("cannot write `{}`: no storage space", path.display())
        );
        let other = save(&path, |_| anyhow::bail!("no rows")).expect_err("no rows");
        assert_eq!(format!("{other:#}"), "no rows");
        assert!(!path.exists());
    }

    #[test]
    fn numbers_read_back() {
        for value in [0.0, 0.1 + 0.2, 1e-9, 1e300, 12.0] {
            assert_eq!(number(value).parse::<f64>().expect("a number"), value);
        }
        assert_eq!(seconds(0.001_234), "1.23 ms");
        assert_eq!(seconds(25e-9), "25.0 ns");
    }
}
