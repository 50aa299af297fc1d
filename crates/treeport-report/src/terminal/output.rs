//! What the user sees: results on stdout, notes and progress on stderr, files whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::{Result, bail};
use indicatif::{ProgressDrawTarget, ProgressStyle};
use treeport::Error;

use super::Global;

pub use indicatif::ProgressBar;

/// How much to say, and in which form.
#[derive(Debug)]
pub struct Output {
    /// One JSON object per line in place of text.
    pub json: bool,
    /// Results and errors only.
    pub quiet: bool,
    progress: bool,
}

impl Output {
    /// From the options of every command; progress needs a terminal to draw on.
    pub fn new(global: &Global) -> Self {
        let terminal = io::stderr().is_terminal();
        Self {
            json: global.json,
            quiet: global.quiet,
            progress: terminal && !global.quiet && !global.no_progress,
        }
    }

    /// A bar with the time left, for work that knows how much there is of it.
    ///
    /// # Panics
    /// Never: the template is part of the code.
    pub fn bar(&self, what: &str, length: usize) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(Some(length as u64), self.target());
        let style = "{msg:<22} {bar:30} {pos}/{len}  {elapsed} gone, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a template without mistakes"));
        bar.set_message(what.to_owned());
        bar
    }

    /// A sign of life, for work that cannot tell how far it is.
    ///
    /// # Panics
    /// Never: the template is part of the code.
    pub fn spinner(&self, what: &str) -> ProgressBar {
        let bar = ProgressBar::with_draw_target(None, self.target());
        let style = "{msg:<22} {spinner} {elapsed}";
        bar.set_style(ProgressStyle::with_template(style).expect("a template without mistakes"));
        bar.set_message(what.to_owned());
        bar.enable_steady_tick(Duration::from_millis(200));
        bar
    }

    fn target(&self) -> ProgressDrawTarget {
        if self.progress { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() }
    }

    /// Says something about the work, not part of its result.
    pub fn note(&self, text: &str) {
        if !self.quiet {
            // Nobody can be told that stderr does not work.
            let _ = writeln!(io::stderr(), "{text}");
        }
    }
}

/// Prints a piece of the result and a line end.
///
/// # Errors
/// Stdout is closed.
pub fn line(text: impl std::fmt::Display) -> Result<()> {
    Ok(writeln!(io::stdout(), "{text}")?)
}

/// Prints an error and, where an option would help, a hint.
pub fn error(error: &anyhow::Error, hint: Option<&str>) {
    let color =
        io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|v| v.is_empty());
    let paint = |code: u8, text: &str| {
        if color { format!("\x1b[1;{code}m{text}\x1b[0m") } else { text.to_owned() }
    };
    let mut err = io::stderr();
    let _ = writeln!(err, "{} {error:#}", paint(31, "error:"));
    if let Some(hint) = hint {
        let _ = writeln!(err, "\n{} {hint}", paint(36, "hint:"));
    }
}

/// Writes a file whole or not at all: beside `path`, then renamed.
///
/// What is no regular file, such as `/dev/stdout`, is written to directly: renaming would replace it.
///
/// # Errors
/// The file cannot be written, or `write` fails.
pub fn save(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> Result<()>) -> Result<()> {
    let broken = |source: io::Error| Error::Write { path: path.into(), source };
    if path.exists() && !path.is_file() {
        let mut out = BufWriter::new(File::create(path).map_err(broken)?);
        write(&mut out)?;
        return Ok(out.flush().map_err(broken)?);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".treeport-");
    // A temporary file is private by default; this one becomes an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let (file, beside) = builder.tempfile_in(folder(path)).map_err(broken)?.into_parts();
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush().map_err(broken)?;
    out.get_ref().sync_all().map_err(broken)?;
    beside.persist(path).map_err(|error| broken(error.error))?;
    Ok(())
}

/// Refuses a place that cannot take a file, before hours are spent on its contents.
///
/// # Errors
/// It is a folder, or lies in one that does not exist.
pub fn check_place(path: &Path) -> Result<()> {
    let folder = folder(path);
    if !folder.is_dir() {
        bail!("cannot write `{}`: there is no folder `{}`", path.display(), folder.display());
    }
    if path.is_dir() {
        bail!("cannot write `{}`: it is a folder", path.display());
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

/// Rows of cells in columns as wide as their widest cell; the first column is flush left.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let pad = |(c, cell): (usize, &String)| {
            let gap = " ".repeat(widths[c] - cell.chars().count());
            if c == 0 { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(pad).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// A number with the fewest digits that read back to it.
pub fn number(value: f64) -> String {
    // Plain digits in the usual range; beyond, they would run to hundreds of zeros.
    if value == 0.0 || (1e-5..1e16).contains(&value) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// A duration for people: three digits and a unit.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// A number of at least three digits, with no more decimals than that takes.
pub fn three_digits(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".into(), "1.50 µs".into()], vec!["bcd".into(), "2 s".into()]];
        assert_eq!(table(&rows), "a     1.50 µs\nbcd       2 s\n");
    }

    #[test]
    fn numbers_read_back() {
        for value in [0.0, 0.1 + 0.2, 1e-9, 1e300, 12.0] {
            assert_eq!(number(value).parse::<f64>().expect("a number"), value);
        }
        assert_eq!(seconds(0.001_234), "1.23 ms");
        assert_eq!(seconds(25e-9), "25.0 ns");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("file");
        save(&path, |out| Ok(out.write_all(b"old")?)).expect("a new file");
        save(&path, |out| {
            out.write_all(b"new")?;
            bail!("no more")
        })
        .expect_err("the second writer fails");
        assert_eq!(std::fs::read(&path).expect("the old file"), b"old");
        assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
