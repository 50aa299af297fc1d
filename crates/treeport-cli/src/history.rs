//! The losses that `fit --history` writes, read back.

use std::path::Path;

use anyhow::{Context, Result, bail};
use treeport::learn::Epoch;

use crate::input;

/// The first line of the file.
pub(crate) const HEADER: &str = "epoch,training_loss,validation_loss,relative_error";

/// Reads a file of `fit --history`; without validation pairs its third column is empty.
pub(crate) fn read(path: &Path) -> Result<Vec<Epoch>> {
    let text = input::text(path)?;
    let name = || input::name(path);
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        bail!("{}: csv, line 1: a history begins with `{HEADER}`", name());
    }
    lines.enumerate().map(|(k, line)| epoch(line, k + 2).with_context(name)).collect()
}

fn epoch(line: &str, number: usize) -> Result<Epoch> {
    let cells: Vec<&str> = line.split(',').collect();
    let [epoch, training, validation, error] = cells[..] else {
        bail!("csv, line {number}: {} cells, expected 4", cells.len());
    };
    let value = |cell: &str| -> Result<f64> {
        cell.parse().with_context(|| format!("csv, line {number}: `{cell}` is not a number"))
    };
    Ok(Epoch {
        epoch: epoch
            .parse()
            .with_context(|| format!("csv, line {number}: `{epoch}` is no epoch"))?,
        training_loss: value(training)?,
        validation_loss: if validation.is_empty() { None } else { Some(value(validation)?) },
        relative_error: value(error)?,
    })
}
