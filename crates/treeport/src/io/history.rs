//! The losses of every epoch as text, as `treeport fit --history` writes them.

use std::fmt::Display;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::learn::Epoch;

/// The first line.
pub const HEADER: &str = "epoch,training_loss,validation_loss,relative_error";

/// Reads a history; without validation pairs its third column is empty.
///
/// # Errors
/// Another first line, a row without four cells, a cell that is no number.
///
/// # Example
/// ```
/// use treeport::io::history;
/// let epochs = history::read(&format!("{}\n0,0.5,,0.25\n", history::HEADER))?;
/// assert_eq!((epochs[0].training_loss, epochs[0].validation_loss), (0.5, None));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn read(text: &str) -> Result<Vec<Epoch>> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(wrong(1, format!("a history begins with `{HEADER}`")));
    }
    lines.zip(2..).map(|(line, number)| epoch(line, number)).collect()
}

fn epoch(line: &str, number: usize) -> Result<Epoch> {
    let cells: Vec<&str> = line.split(',').collect();
    let [epoch, training, validation, error] = cells[..] else {
        return Err(wrong(number, format!("{} cells, expected 4", cells.len())));
    };
    let loss = |cell: &str| value(cell, number, "is not a number");
    Ok(Epoch {
        epoch: value(epoch, number, "is no epoch")?,
        training_loss: loss(training)?,
        validation_loss: if validation.is_empty() { None } else { Some(loss(validation)?) },
        relative_error: loss(error)?,
    })
}

fn value<T: FromStr<Err: Display>>(cell: &str, number: usize, problem: &str) -> Result<T> {
    cell.parse().map_err(|error| wrong(number, format!("`{cell}` {problem}: {error}")))
}

fn wrong(line: usize, reason: String) -> Error {
    Error::Parse { format: "csv", place: format!("line {line}"), reason }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read() {
        let found = read(&format!("{HEADER}\n0,0.5,0.25,0.1\n7,1e-3,,2\n")).unwrap();
        let epoch = |epoch, training_loss, validation_loss, relative_error| Epoch {
            epoch,
            training_loss,
            validation_loss,
            relative_error,
        };
        assert_eq!(found, [epoch(0, 0.5, Some(0.25), 0.1), epoch(7, 1e-3, None, 2.0)]);
        assert_eq!(read(HEADER).unwrap(), []);
    }

    #[test]
    fn what_is_none_is_named_by_its_line() {
        let said = |rows: &str| read(&format!("{HEADER}\n{rows}")).unwrap_err().to_string();
        assert!(read("epoch\n").unwrap_err().to_string().starts_with("csv, line 1: a history"));
        assert_eq!(said("1,2,3\n"), "csv, line 2: 3 cells, expected 4");
        assert!(said("0,1,,1\n1,x,,1\n").starts_with("csv, line 3: `x` is not a number: "));
        assert!(said("-1,1,,1\n").starts_with("csv, line 2: `-1` is no epoch: "));
    }
}
