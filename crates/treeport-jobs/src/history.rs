//! Losses of every epoch as text, the format of `treeport fit --history`.

use treeport::learn::Epoch;

use crate::error::{Error, Result};

/// First line of a history.
pub const HEADER: &str = "epoch,training_loss,validation_loss,relative_error";

/// Parses a history; the third column is empty without validation pairs.
///
/// # Errors
/// The first line differs, a row does not have four cells, a cell is not a number, epochs do not
/// count up from 0, or the last line has no line feed because the file is incomplete.
///
/// # Example
/// ```
/// use treeport_jobs::history;
/// let epochs = history::read(&format!("{}\n0,0.5,,0.25\n", history::HEADER))?;
/// assert_eq!((epochs[0].training_loss, epochs[0].validation_loss), (0.5, None));
/// # Ok::<(), treeport_jobs::Error>(())
/// ```
pub fn read(text: &str) -> Result<Vec<Epoch>> {
    let mut lines = text.lines();
    if lines.next() != Some(HEADER) {
        return Err(wrong(1, format!("a history begins with `{HEADER}`")));
    }
    if !text.ends_with('\n') {
        let number = text.lines().count();
        return Err(wrong(number, "it is cut off; write it anew".into()));
    }
    lines.zip(2..).map(|(line, number)| epoch(line, number)).collect()
}

fn epoch(line: &str, number: usize) -> Result<Epoch> {
    let cells: Vec<&str> = line.split(',').collect();
    let [epoch, training, validation, error] = cells[..] else {
        return Err(wrong(number, format!("{} cells, expected 4", cells.len())));
    };
    let expected = number - 2;
    if epoch != expected.to_string() {
        let reason = format!("epoch `{epoch}` where {expected} is expected; write it anew");
        return Err(wrong(number, reason));
    }
    let loss = |cell: &str| -> Result<f64> {
        let no_number = |error| wrong(number, format!("`{cell}` is not a number: {error}"));
        cell.parse().map_err(no_number)
    };
    Ok(Epoch {
        epoch: expected,
        training_loss: loss(training)?,
        validation_loss: if validation.is_empty() { None } else { Some(loss(validation)?) },
        relative_error: loss(error)?,
    })
}

fn wrong(line: usize, reason: String) -> Error {
    treeport::Error::Parse { format: "csv", place: format!("line {line}"), reason }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_are_read() {
        let found = read(&format!("{HEADER}\n0,0.5,0.25,0.1\n1,1e-3,,2\n")).unwrap();
        let epoch = |epoch, training_loss, validation_loss, relative_error| Epoch {
            epoch,
            training_loss,
            validation_loss,
            relative_error,
        };
        assert_eq!(found, [epoch(0, 0.5, Some(0.25), 0.1), epoch(1, 1e-3, None, 2.0)]);
        assert_eq!(read(&format!("{HEADER}\n")).unwrap(), []);
    }

    #[test]
    fn what_is_none_is_named_by_its_line() {
        let said = |rows: &str| read(&format!("{HEADER}\n{rows}")).unwrap_err().to_string();
        assert!(read("epoch\n").unwrap_err().to_string().starts_with("csv, line 1: a history"));
        assert_eq!(said("1,2,3\n"), "csv, line 2: 3 cells, expected 4");
        assert!(said("0,1,,1\n1,x,,1\n").starts_with("csv, line 3: `x` is not a number: "));
        let lost = "csv, line 3: epoch `2` where 1 is expected; write it anew";
        assert_eq!(said("0,1,,1\n2,1,,1\n"), lost);
        assert_eq!(said("0,1,,1\n1,1,,0.12"), "csv, line 3: it is cut off; write it anew");
    }
}
