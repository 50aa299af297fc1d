//! Names and distances as lines of CSV or JSON.

use std::io::Write;

use anyhow::Result;

use crate::output::number;

/// The first line of a table of distances; JSON has none.
pub(crate) fn distance_header(out: &mut impl Write, json: bool) -> Result<()> {
    if !json {
        writeln!(out, "left,right,distance")?;
    }
    Ok(())
}

/// One line for every pair; measures without names are numbers.
pub(crate) fn distance_rows(
    out: &mut impl Write,
    json: bool,
    (left_names, right_names): (Option<&[String]>, Option<&[String]>),
    pairs: &[(usize, usize)],
    distances: &[f64],
) -> Result<()> {
    for (&(left, right), &distance) in pairs.iter().zip(distances) {
        let distance = number(distance);
        if json {
            let (left, right) = (json_name(left_names, left), json_name(right_names, right));
            writeln!(out, r#"{{"left":{left},"right":{right},"distance":{distance}}}"#)?;
        } else {
            let (left, right) = (csv_name(left_names, left), csv_name(right_names, right));
            writeln!(out, "{left},{right},{distance}")?;
        }
    }
    Ok(())
}

/// A name, or the number where there are no names, as a cell of a CSV table.
pub(crate) fn csv_name(names: Option<&[String]>, number: usize) -> String {
    names.map_or_else(|| number.to_string(), |names| quoted(&names[number]))
}

/// The same as a JSON value.
pub(crate) fn json_name(names: Option<&[String]>, number: usize) -> serde_json::Value {
    names.map_or_else(|| number.into(), |names| names[number].clone().into())
}

/// A cell of a CSV table.
fn quoted(text: &str) -> String {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_stay_one_cell() {
        assert_eq!(quoted("Aarhus"), "Aarhus");
        assert_eq!(quoted("York, \"New\""), "\"York, \"\"New\"\"\"");
    }
}
