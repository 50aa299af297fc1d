//! Report and figures of finished runs, as files.

use std::io::Write;
use std::path::Path;

use anyhow::{Result, bail};
use treeport::Error;
use treeport_lab::experiment::{ALL, Figure, markdown};

use super::journal;
use crate::output::{self, Output};

/// Folder of the figures, beside the report.
const FIGURES: &str = "figures";

/// Writes `RESULTS.md` and its figures from the rows of a run.
pub(super) fn write(from: &Path, note: Option<&str>, to: &Path, output: &Output) -> Result<()> {
    let mut runs = Vec::new();
    for experiment in &ALL {
        runs.extend(journal::run(from, experiment.name)?);
    }
    if runs.is_empty() {
        bail!(
            "no finished run in `{}`; `treeport-lab reproduce all -o DIR` makes one",
            from.display()
        );
    }
    let (text, figures) = markdown(&runs, note, FIGURES);
    make(to)?;
    draw(&figures, &to.join(FIGURES))?;
    let path = to.join("RESULTS.md");
    output::save(&path, |out| Ok(out.write_all(text.as_bytes())?))?;
    output.note(&format!("wrote {} with {} figures", path.display(), figures.len()));
    Ok(())
}

/// Writes figures into a folder, which is created if needed.
pub(super) fn draw(figures: &[Figure], folder: &Path) -> Result<()> {
    if figures.is_empty() {
        return Ok(());
    }
    make(folder)?;
    for (name, picture) in figures {
        output::save(&folder.join(name), |out| Ok(out.write_all(picture.as_bytes())?))?;
    }
    Ok(())
}

fn make(folder: &Path) -> Result<(), Error> {
    std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))
}
