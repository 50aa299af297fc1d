//! Tables of numbers as text, with optional names of columns and rows.
//!
//! Data never become names silently. The first row is a header if it holds text and no number, if
//! its first cell is a word that marks a column of row names, if all its cells except the first are
//! among the requested names, or if it counts columns from 0 after an empty cell, as pandas does.
//! The first column holds the names of rows, IDs, if
//!
//! * the header marks it as such: `id`, `index`, `name`, `sample id`, `#OTU ID`, … ([`is_id`]); or
//! * its header cell is empty or absent, and it holds no numbers, or 0, 1, 2, …; or
//! * it is all words, which begin with no digit, and the first row cannot be a header of numbers:
//!   there is a header above it, or one of its numbers is not an integer.
//!
//! A column of numbers under any other word, or without a header, is data. Cases that remain
//! ambiguous are errors, which say what to write.

use std::collections::{HashMap, HashSet};
use std::io::Read;

use csv::StringRecord;

use super::bad;
pub use super::edges::{EdgeList, read_edges};
use super::text::Cells;
use crate::error::{Error, Result};
use crate::memory;

const STEP: &str = "the cells of a table";
const INSTEAD: &str = "give a sparse matrix (.npz)";

/// A table of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Number of columns.
    pub columns: usize,
    /// Values in row-major order.
    pub values: Vec<f64>,
    /// Names of the columns, all different, if the file has them.
    pub header: Option<Vec<String>>,
    /// Names of the rows, all different, if the file has them.
    pub ids: Option<Vec<String>>,
}

/// Options for reading a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct TableOptions<'a> {
    /// Separator of cells; `None` selects a tab, a comma or a semicolon by the first line.
    pub separator: Option<u8>,
    /// Names that make a first row a header, even if they are numbers.
    pub names: &'a [String],
}

/// Reads a table of numbers, gzip or not.
pub fn read_matrix(reader: impl Read) -> Result<Table> {
    read(reader, &TableOptions::default())
}

/// Reads a table of numbers, gzip or not, by the rules of the module.
///
/// Lines before the table that begin with `#` are comments; the last comment is the header if it
/// could be one and the table has no other.
///
/// # Errors
/// A row has another length, a cell is missing or not a number, a name occurs twice, or a first row
/// or column may be data or names; the errors name line and column.
pub fn read(reader: impl Read, options: &TableOptions<'_>) -> Result<Table> {
    let mut cells = Cells::new(reader, options.separator)?;
    let mut rows = TableSoFar { decimal_commas: cells.separator != b',', ..TableSoFar::default() };
    let mut record = StringRecord::new();
    let mut first = true;
    while let Some(line) = cells.next(&mut record)? {
        if std::mem::take(&mut first) {
            let comment = cells.comment.take().map(|comment| uncommented(&comment));
            if is_header(&record, options.names) {
                rows.set_header(&record);
                cells.one_more = true;
                continue;
            }
            if let Some(comment) = comment.filter(|comment| is_header(comment, options.names)) {
                rows.set_header(&comment);
            }
        }
        rows.push(line, &record)?;
    }
    rows.finish()
}

/// Reads the columns of a table that its header names `wanted`, and calls `take` with the line
/// number and the cells of each row.
///
/// # Errors
/// A row has another length, a column is missing, or `take` fails.
pub fn read_columns<const N: usize, E: From<Error>>(
    reader: impl Read,
    separator: Option<u8>,
    wanted: [&str; N],
    mut take: impl FnMut(u64, [&str; N]) -> Result<(), E>,
) -> Result<(), E> {
    let mut cells = Cells::new(reader, separator)?;
    let mut record = StringRecord::new();
    if cells.next(&mut record)?.is_none() {
        return Err(bad("csv", "line 1", "the file is empty").into());
    }
    let mut places = [0; N];
    for (place, name) in places.iter_mut().zip(wanted) {
        let found = record.iter().position(|cell| cell.eq_ignore_ascii_case(name));
        *place = found.ok_or_else(|| {
            let all = wanted.join(", ");
            bad("csv", "line 1", format!("no column `{name}`; a header must name {all}"))
        })?;
    }
    while let Some(line) = cells.next(&mut record)? {
        take(line, places.map(|place| &record[place]))?;
    }
    Ok(())
}

impl Table {
    /// Returns the number of rows.
    pub fn rows(&self) -> usize {
        self.values.len() / self.columns.max(1)
    }

    /// Returns the transposed table.
    pub fn transposed(self) -> Result<Self> {
        let (rows, columns) = (self.rows(), self.columns);
        let step = format_args!("a table of {rows} x {columns} numbers, transposed");
        let mut values = memory::with_capacity(step, self.values.len(), "transpose the file")?;
        for column in 0..columns {
            values.extend((0..rows).map(|row| self.values[row * columns + column]));
        }
        Ok(Self { columns: rows, values, header: self.ids, ids: self.header })
    }
}

/// Checks whether the first cell of a header marks a column of row names: the words of QIIME, and
/// those common with pandas. Case, `#`, `-` and `_` are ignored.
pub fn is_id(word: &str) -> bool {
    const WORDS: [&str; 10] = [
        "id",
        "index",
        "name",
        "sampleid",
        "sample id",
        "sample name",
        "featureid",
        "feature id",
        "otuid",
        "otu id",
    ];
    let word = word.trim_start_matches('#').trim().to_ascii_lowercase().replace(['-', '_'], " ");
    WORDS.contains(&word.as_str())
}

fn is_number(cell: &str) -> bool {
    cell.parse::<f64>().is_ok()
}

fn is_integer(cell: &str) -> bool {
    cell.parse::<u64>().is_ok()
}

/// Checks whether a cell is a number in some locale: `0,5`, `1 000`, `5%`.
fn is_like_number(cell: &str) -> bool {
    let marks = |c: char| c.is_whitespace() || ",'_%$€£¥−".contains(c);
    is_number(cell) || is_number(&cell.replace(marks, "").replace('.', ""))
}

/// Checks whether a cell can only be a name; numbers with units are ambiguous.
fn is_word(cell: &str) -> bool {
    let begins = cell.starts_with(|c: char| !c.is_numeric() && !"+-−.,$€£¥%".contains(c));
    begins && cell.contains(char::is_alphabetic) && !is_number(cell) && !is_missing(cell)
}

/// Checks whether the first row of a table is a header, by the rules of the module.
fn is_header(record: &StringRecord, names: &[String]) -> bool {
    let corner = record.get(0).unwrap_or_default();
    let rest = || record.iter().skip(1);
    if !record.iter().any(is_number) && !record.iter().all(is_missing) {
        return true;
    }
    let names: HashSet<&str> = names.iter().map(String::as_str).collect();
    if record.iter().all(|cell| names.contains(cell)) {
        return true;
    }
    let counted = || rest().enumerate().all(|(k, cell)| cell == k.to_string());
    let asked = || !names.is_empty() && rest().all(|cell| names.contains(cell));
    let empty = corner.is_empty();
    let word = empty || !is_number(corner) && !is_missing(corner);
    record.len() > 1 && (is_id(corner) || empty && counted() || word && asked())
}

/// Strips the comment signs from the cells of a comment.
fn uncommented(comment: &StringRecord) -> StringRecord {
    let plain = |cell: &str| cell.trim_start_matches('#').trim().to_owned();
    let first = comment.iter().take(1).map(plain);
    first.chain(comment.iter().skip(1).map(str::to_owned)).collect()
}

/// Role of the first column.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum FirstColumn {
    /// Not known before the first row of data.
    #[default]
    Unknown,
    Data,
    /// Names, because the header marks them.
    Marked,
    /// Names, because the header has no word for them.
    Unnamed,
    /// Names, because the cells are text.
    Text,
}

/// A table while it is read.
#[derive(Default)]
struct TableSoFar {
    header: Option<Vec<String>>,
    first: FirstColumn,
    /// Number of cells in a row, with the name.
    width: usize,
    values: Vec<f64>,
    ids: Vec<String>,
    lines: Vec<u64>,
    /// Whether a comma in a cell may be a decimal comma, because it is not the separator.
    decimal_commas: bool,
}

impl TableSoFar {
    fn set_header(&mut self, record: &StringRecord) {
        self.width = record.len();
        self.first = match record.get(0) {
            _ if record.len() < 2 => FirstColumn::Unknown,
            None | Some("") => FirstColumn::Unnamed,
            Some(word) if is_id(word) => FirstColumn::Marked,
            Some(_) => FirstColumn::Unknown,
        };
        self.header = Some(record.iter().map(str::to_owned).collect());
    }

    fn push(&mut self, line: u64, record: &StringRecord) -> Result<()> {
        if self.values.is_empty() {
            self.set_first(line, record)?;
        }
        let names = usize::from(self.first != FirstColumn::Data);
        if names == 1 {
            self.push_id(line, &record[0])?;
        }
        memory::grow(&mut self.values, STEP, record.len() - names, INSTEAD)?;
        for (column, cell) in record.iter().enumerate().skip(names) {
            match cell.parse::<f64>() {
                Ok(value) if !value.is_nan() => self.values.push(value),
                _ => return Err(self.bad_cell(line, column, cell)),
            }
        }
        Ok(())
    }

    /// Determines the role of the first column from the first row after the header.
    fn set_first(&mut self, line: u64, record: &StringRecord) -> Result<()> {
        if self.header.is_some() && record.len() == self.width + 1 {
            // The header has no cell for the names of rows, as written by R.
            self.first = FirstColumn::Unnamed;
            self.header.iter_mut().for_each(|header| header.insert(0, String::new()));
        }
        self.width = record.len();
        if self.first != FirstColumn::Unknown {
            return Ok(());
        }
        let cell = &record[0];
        let text = record.len() > 1 && is_word(cell);
        if text && self.header.is_none() && record.iter().skip(1).all(is_integer) {
            let reason = format!(
                "`{}` is not a number: is this a header or a row with a name? Write a header above \
                 it, or `id` in place of `{0}`",
                short(cell)
            );
            return Err(bad("csv", place(line, 0), reason));
        }
        self.first = if text { FirstColumn::Text } else { FirstColumn::Data };
        Ok(())
    }

    fn push_id(&mut self, line: u64, cell: &str) -> Result<()> {
        let wrong = |reason: String| Err(bad("csv", place(line, 0), reason));
        if cell.is_empty() {
            return wrong("the name of the row is missing".into());
        }
        if self.first == FirstColumn::Text && !is_word(cell) {
            return wrong(format!(
                "`{}` in a column that begins with `{}`; if these are names of rows, call it `id`",
                short(cell),
                short(&self.ids[0])
            ));
        }
        memory::grow(&mut self.ids, "the names of rows", 1, "give fewer rows")?;
        self.ids.push(cell.to_owned());
        self.lines.push(line);
        Ok(())
    }

    fn finish(mut self) -> Result<Table> {
        if self.values.is_empty() {
            return Err(bad("csv", "line 1", "there are no numbers"));
        }
        self.check_names()?;
        let named = self.first != FirstColumn::Data;
        if named && let Some(header) = &mut self.header {
            header.remove(0);
        }
        let columns = self.width - usize::from(named);
        let ids = named.then_some(self.ids);
        Ok(Table { columns, values: self.values, header: self.header, ids })
    }

    /// Refuses names that may be data, and duplicate names.
    fn check_names(&self) -> Result<()> {
        let counted = || self.ids.iter().enumerate().all(|(row, id)| *id == row.to_string());
        let numbers = || self.ids.iter().any(|id| is_like_number(id));
        if self.first == FirstColumn::Unnamed && numbers() && !counted() {
            let reason = "the first column has no name and holds numbers: call it `id` if they are \
                names of rows, and something else if they are data";
            return Err(bad("csv", "line 1", reason));
        }
        if let Some((one, other)) = first_duplicate(&self.ids)? {
            let (id, first) = (short(&self.ids[one]), self.lines[one]);
            let reason = format!("the row is called `{id}`, like that on line {first}");
            return Err(bad("csv", format!("line {}", self.lines[other]), reason));
        }
        let header = self.header.as_deref().unwrap_or_default();
        if let Some((one, other)) = first_duplicate(header)? {
            let (name, one, other) = (short(&header[one]), one + 1, other + 1);
            let reason = format!("columns {one} and {other} are both `{name}`; names must differ");
            return Err(bad("csv", "header", reason));
        }
        Ok(())
    }

    /// Returns the error for a cell, with line, column and their names.
    fn bad_cell(&self, line: u64, column: usize, cell: &str) -> Error {
        let row = self.ids.last().filter(|_| self.first != FirstColumn::Data);
        let name = self.header.as_ref().map(|header| &header[column]);
        let place = place(line, column);
        let place = match (row, name) {
            (Some(row), Some(name)) => format!("{place} (`{}` of `{}`)", short(name), short(row)),
            (Some(name), None) | (None, Some(name)) => format!("{place} (`{}`)", short(name)),
            (None, None) => place,
        };
        let mut reason = wrong_cell(cell);
        if self.decimal_commas && is_number(&cell.replacen(',', ".", 1)) {
            reason += "; write decimals with a point";
        } else if cell.contains(' ') && cell.split_whitespace().all(is_number) {
            reason += "; cells go between commas, tabs or semicolons";
        } else if column == 0 && self.width > 1 && !is_missing(cell) {
            reason += "; if the column has the names of rows, call it `id`";
        }
        bad("csv", place, reason)
    }
}

/// Returns the first two positions of the first duplicate name.
pub(super) fn first_duplicate(names: &[String]) -> Result<Option<(usize, usize)>> {
    let step = format_args!("a list of {} names", names.len());
    memory::check(step, memory::size_of::<(u64, u64, u64)>(&[names.len()]), "give fewer")?;
    let mut place = HashMap::with_capacity(names.len());
    let mut all = names.iter().enumerate();
    Ok(all.find_map(|(k, name)| place.insert(name, k).map(|first| (first, k))))
}

/// Checks whether a cell is a marker of a missing value in pandas, R, Julia or spreadsheets.
fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 9] = ["", "na", "n/a", "null", "none", "nil", "missing", "nan", "value!"];
    let word = cell.trim_matches(['#', '<', '>', '-', '+', '.', '?', ' ']).to_ascii_lowercase();
    WORDS.contains(&word.as_str()) || word == "n/a n/a" || word.starts_with("1.#")
}

/// Returns the position of a cell, counted from 1 as in editors and spreadsheets.
pub(super) fn place(line: u64, column: usize) -> String {
    format!("line {line}, column {}", column + 1)
}

/// Truncates a cell for messages.
fn short(cell: &str) -> String {
    const MOST: usize = 60;
    match cell.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &cell[..end]),
        None => cell.to_owned(),
    }
}

pub(super) fn not_a_number(line: u64, column: usize, cell: &str) -> Error {
    bad("csv", place(line, column), wrong_cell(cell))
}

/// Returns the reason why a cell is not a number.
fn wrong_cell(cell: &str) -> String {
    if cell.is_empty() {
        "the cell is empty".into()
    } else if is_missing(cell) {
        format!(
            "`{}` is not a number; fill in the missing value, or leave the row out",
            short(cell)
        )
    } else {
        format!("`{}` is not a number", short(cell))
    }
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
