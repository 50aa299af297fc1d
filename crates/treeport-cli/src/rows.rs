//! Results as rows: CSV, or JSON objects with the same keys.

use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use treeport::Csr;
use treeport_jobs::Shard;

use crate::output::{self, Output, number};
use crate::{input, parts};

/// A value in a row.
pub(crate) enum Cell<'a> {
    Count(usize),
    Number(f64),
    Text(&'a str),
}

/// Columns of distances.
pub(crate) const DISTANCES: [&str; 3] = ["left", "right", "distance"];

/// Columns of bounds of distances.
pub(crate) const BOUNDS: [&str; 4] = ["left", "right", "lower", "upper"];

/// Returns the name of an item, or its number if there are no names.
pub(crate) fn name(names: Option<&[String]>, number: usize) -> Cell<'_> {
    names.map_or(Cell::Count(number), |names| Cell::Text(&names[number]))
}

/// Writes rows of [`DISTANCES`] with optional names of the left and right measures.
pub(crate) fn distances(
    out: &mut dyn Write,
    json: bool,
    names: [Option<&[String]>; 2],
    pairs: &[(usize, usize)],
    distances: &[f64],
) -> Result<()> {
    values(out, (json, &DISTANCES), names, pairs, &[distances])
}

/// Writes rows of pairs with the columns that follow `left` and `right`.
pub(crate) fn values(
    out: &mut dyn Write,
    (json, columns): (bool, &[&str]),
    names: [Option<&[String]>; 2],
    pairs: &[(usize, usize)],
    values: &[impl AsRef<[f64]>],
) -> Result<()> {
    pairs.iter().enumerate().try_for_each(|(at, &(left, right))| {
        let mut cells = vec![name(names[0], left), name(names[1], right)];
        cells.extend(values.iter().map(|column| Cell::Number(column.as_ref()[at])));
        row(out, json, columns, &cells)
    })
}

/// Writes the entries of a sparse matrix, each with its row and column; `names` are those of the
/// rows, which are counted from `first`.
pub(crate) fn sparse(
    out: &mut dyn Write,
    (json, columns): (bool, &[&str]),
    (names, first): (Option<&[String]>, usize),
    matrix: &Csr,
) -> Result<()> {
    for (number, bounds) in (first..).zip(matrix.start.windows(2)) {
        for at in bounds[0]..bounds[1] {
            let (column, value) = (matrix.indices[at], matrix.values[at]);
            let cells = [name(names, number), Cell::Count(column), Cell::Number(value)];
            row(out, json, columns, &cells)?;
        }
    }
    Ok(())
}

/// Writes the header of a table; JSON has none.
pub(crate) fn header(out: &mut dyn Write, json: bool, columns: &[&str]) -> Result<()> {
    if !json {
        writeln!(out, "{}", columns.join(","))?;
    }
    Ok(())
}

pub(crate) fn row(
    out: &mut dyn Write,
    json: bool,
    columns: &[&str],
    cells: &[Cell<'_>],
) -> Result<()> {
    for (k, (column, cell)) in columns.iter().zip(cells).enumerate() {
        match (json, k) {
            (true, 0) => write!(out, "{{\"{column}\":")?,
            (true, _) => write!(out, ",\"{column}\":")?,
            (false, 0) => {}
            (false, _) => write!(out, ",")?,
        }
        match cell {
            Cell::Count(count) => write!(out, "{count}")?,
            // JSON has no infinities.
            Cell::Number(value) if json && !value.is_finite() => write!(out, "null")?,
            Cell::Number(value) => write!(out, "{}", number(*value))?,
            Cell::Text(text) if json => write!(out, "{}", Value::from(*text))?,
            Cell::Text(text) => write!(out, "{}", quoted(text, ','))?,
        }
    }
    Ok(writeln!(out, "{}", if json { "}" } else { "" })?)
}

/// Quotes a cell of a text table.
pub(crate) fn quoted(text: &str, separator: char) -> String {
    if text.contains([separator, '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.to_owned()
    }
}

/// Writes the first row of a square table: an empty cell and the names or numbers of the columns.
pub(crate) fn square_header(
    out: &mut dyn Write,
    separator: char,
    (names, count): (Option<&[String]>, usize),
) -> Result<()> {
    for column in 0..count {
        write!(out, "{separator}")?;
        square_name(out, separator, names, column)?;
    }
    Ok(writeln!(out)?)
}

/// Writes a row of a square table: its name and its values.
pub(crate) fn square_row(
    out: &mut dyn Write,
    separator: char,
    (names, row): (Option<&[String]>, usize),
    values: &[f64],
) -> Result<()> {
    square_name(out, separator, names, row)?;
    for value in values {
        write!(out, "{separator}{}", output::number(*value))?;
    }
    Ok(writeln!(out)?)
}

fn square_name(
    out: &mut dyn Write,
    separator: char,
    names: Option<&[String]>,
    number: usize,
) -> Result<()> {
    match names {
        Some(names) => write!(out, "{}", quoted(&names[number], separator))?,
        None => write!(out, "{number}")?,
    }
    Ok(())
}

/// Checks the output file of rows before any work; `None` is stdout. Errors say that `what` goes to
/// a file with one of these `endings`.
pub(crate) fn target<'a>(
    path: Option<&'a Path>,
    what: &str,
    endings: &[&str],
) -> Result<Option<&'a Path>> {
    let Some(path) = path.filter(|path| !input::is_standard(path)) else {
        output::check_stdout()?;
        return Ok(None);
    };
    let special = path.exists() && !path.is_file() && !path.is_dir();
    if !special && !endings.iter().any(|ending| has_ending(path, ending)) {
        let endings: Vec<String> = endings.iter().map(|ending| format!(".{ending}")).collect();
        bail!("cannot write `{}`: {what} to a {} file", path.display(), endings.join(" or "));
    }
    output::check_place(path)?;
    Ok(Some(path))
}

/// Checks the output file as [`target`] does, and refuses a pipe and stdout.
pub(crate) fn regular_target<'a>(
    path: Option<&'a Path>,
    what: &str,
    endings: &[&str],
) -> Result<&'a Path> {
    let name = path.map_or_else(|| "-".into(), |path| path.display().to_string());
    parts::regular(target(path, what, endings)?).with_context(|| {
        format!("cannot write `{name}`: {what} to a regular file, not to a pipe or to stdout")
    })
}

/// Checks for an extension, ignoring case; a name of only a dot and the extension does not count.
fn has_ending(path: &Path, ending: &str) -> bool {
    // Names need not be UTF-8.
    let name = path.file_name().map(OsStr::as_encoded_bytes).unwrap_or_default();
    let stem = name.len().checked_sub(ending.len()).map(|at| name.split_at(at));
    stem.is_some_and(|(stem, end)| {
        stem.len() > 1 && stem.ends_with(b".") && end.eq_ignore_ascii_case(ending.as_bytes())
    })
}

/// Atomically writes a header and rows to a file; of shards, only the first has the header.
pub(crate) fn save(
    path: &Path,
    shard: Option<&Shard>,
    columns: &[&str],
    rows: impl FnOnce(&mut dyn Write) -> Result<()>,
) -> Result<()> {
    let all = |out: &mut dyn Write| {
        if shard.is_none_or(|shard| shard.number() == 1) {
            header(out, false, columns)?;
        }
        rows(out)
    };
    output::save(path, |out| match shard {
        Some(shard) => shard.write(out, all),
        None => all(out),
    })
}

/// Writes rows to a file as [`save`] does, or to stdout.
pub(crate) fn write_all(
    (file, shard): (Option<&Path>, Option<&Shard>),
    output: &Output,
    columns: &[&str],
    rows: impl FnOnce(&mut dyn Write, bool) -> Result<()>,
) -> Result<()> {
    if let Some(path) = file {
        return save(path, shard, columns, |out| rows(out, false));
    }
    write(None, output, |out, json| {
        header(out, json, columns)?;
        rows(out, json)
    })
}

/// Writes rows atomically to a file, or to stdout, where they can be JSON.
pub(crate) fn write(
    file: Option<&Path>,
    output: &Output,
    rows: impl FnOnce(&mut dyn Write, bool) -> Result<()>,
) -> Result<()> {
    if let Some(path) = file {
        return output::save(path, |out| rows(out, false));
    }
    let mut out = output::stdout()?;
    rows(&mut *out, output.json)?;
    Ok(out.flush()?)
}

/// Reports a written file: facts as JSON, or a note; prints nothing for stdout.
pub(crate) fn wrote(
    output: &Output,
    command: &str,
    file: Option<&Path>,
    mut facts: Value,
    note: &str,
) -> Result<()> {
    let Some(file) = file.map(|path| path.display().to_string()) else { return Ok(()) };
    if output.json {
        (facts["command"], facts["file"]) = (json!(command), json!(file));
        return output::json(facts);
    }
    output.note(&format!("{note} written to {file}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_stay_one_cell() {
        let shown = |json| {
            let mut out = Vec::new();
            let (name, most) = (Cell::Text("York, \"New\""), Cell::Number(f64::INFINITY));
            let cells = [name, Cell::Count(3), Cell::Number(0.5), most];
            row(&mut out, json, &["name", "count", "value", "most"], &cells).expect("memory");
            String::from_utf8(out).expect("text")
        };
        assert_eq!(shown(false), "\"York, \"\"New\"\"\",3,0.5,inf\n");
        assert_eq!(
            shown(true),
            "{\"name\":\"York, \\\"New\\\"\",\"count\":3,\"value\":0.5,\"most\":null}\n"
        );
    }
}
