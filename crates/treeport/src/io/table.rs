//! CSV tables of numbers, and CSV edge lists.

use std::collections::HashMap;
use std::io::Read;

use csv::{ReaderBuilder, StringRecord, Trim};

use super::bad;
use crate::error::{Error, Result};

/// A table of numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Cells in each row.
    pub columns: usize,
    /// The cells, row after row.
    pub values: Vec<f64>,
    /// The header, where the file has one.
    pub header: Option<Vec<String>>,
}

/// The edges of an undirected graph, as a file lists them.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeList {
    /// Number of nodes.
    pub nodes: usize,
    /// Source, target and weight of every edge.
    pub edges: Vec<(usize, usize, f64)>,
    /// Names of the nodes, unless the file numbers them from 0.
    pub names: Option<Vec<String>>,
}

/// Reads a comma-separated table of numbers.
///
/// A first row that holds text and no number is a header; it names every column. The words with
/// which other tools write a missing number are no such text. `nan` and `inf` are numbers here; what
/// they mean is for the caller to judge.
///
/// # Errors
/// A row of another length, or a cell that is not a number: names the line and the column.
pub fn read_matrix(reader: impl Read) -> Result<Table> {
    read_named_matrix(reader, &[])
}

/// [`read_matrix`] where a first row of those names is a header too, even if they are numbers.
///
/// # Errors
/// As [`read_matrix`].
pub fn read_named_matrix(reader: impl Read, names: &[String]) -> Result<Table> {
    let mut rows = Rows::new(reader);
    let mut table = Table { columns: 0, values: vec![], header: None };
    let mut record = StringRecord::new();
    while let Some(line) = rows.next(&mut record)? {
        let number = |cell: &str| cell.parse::<f64>().ok();
        let no_number = record.iter().all(|cell| number(cell).is_none());
        let text = no_number && !record.iter().all(is_missing);
        let named = !names.is_empty() && record.iter().all(|cell| names.iter().any(|n| n == cell));
        if rows.first && (named || text) {
            if record.iter().next().is_some_and(str::is_empty) {
                let reason = "the first column has no name, as where the names of rows were written \
                    with the table; write it without them (pandas: `index=False`)";
                return Err(bad("csv", "line 1", reason));
            }
            table.header = Some(record.iter().map(str::to_owned).collect());
            continue;
        }
        table.columns = record.len();
        for (column, cell) in record.iter().enumerate() {
            table.values.push(number(cell).ok_or_else(|| not_a_number(line, column, cell))?);
        }
    }
    if table.values.is_empty() {
        return Err(bad("csv", "line 1", "there are no numbers"));
    }
    Ok(table)
}

/// Reads an edge list: source, target and weight of an edge on each line.
///
/// A header with `source` and `target` gives the columns by name, in any order and among others;
/// without one they are the first three. Without a weight column every edge has weight 1. If all
/// labels are whole numbers, they are node numbers from 0, and the node count is `nodes` or one
/// more than the largest; otherwise they are names, numbered as they appear.
///
/// # Errors
/// A row of another length, a weight that is not a number, an empty label, a header without
/// `source` and `target`; `nodes` is not the number of names.
pub fn read_edges(reader: impl Read, nodes: Option<usize>) -> Result<EdgeList> {
    let mut rows = Rows::new(reader);
    let mut columns = None;
    let mut labels = Labels::default();
    let mut edges = Vec::new();
    let mut first_labels = 0;
    let mut record = StringRecord::new();
    while let Some(line) = rows.next(&mut record)? {
        if rows.first {
            columns = columns_by_name(&record);
            if columns.is_some() {
                continue;
            }
        }
        let (source, target, weight) = *columns.get_or_insert_with(|| {
            (0, 1, (record.len() > 2).then_some(2)) // no header: by position
        });
        let mut label = |column: usize| match record.get(column) {
            None | Some("") => Err(bad("csv", place(line, column), "a node label is missing")),
            Some(name) => Ok(labels.number(name)),
        };
        let (source, target) = (label(source)?, label(target)?);
        let weight = weight.map_or(Ok(1.0), |column| {
            let cell = &record[column];
            cell.parse().map_err(|_| bad_weight(rows.first, line, column, cell))
        })?;
        edges.push((source, target, weight));
        if rows.first {
            first_labels = labels.names.len();
        }
    }
    labels.finish(edges, nodes, first_labels)
}

/// Columns of source, target and weight, if the record is a header that names them.
fn columns_by_name(record: &StringRecord) -> Option<(usize, usize, Option<usize>)> {
    let find = |name: &str| record.iter().position(|cell| cell.eq_ignore_ascii_case(name));
    Some((find("source")?, find("target")?, find("weight")))
}

/// Node labels in order of appearance.
#[derive(Default)]
struct Labels {
    number: HashMap<String, usize>,
    names: Vec<String>,
}

impl Labels {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.number.get(name) {
            return number;
        }
        self.number.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// The edge list, once all labels are known; the first row alone had `first` of them.
    fn finish(
        self,
        mut edges: Vec<(usize, usize, f64)>,
        nodes: Option<usize>,
        first: usize,
    ) -> Result<EdgeList> {
        let numbers: Vec<Option<usize>> = self.names.iter().map(|n| whole_number(n)).collect();
        if numbers.iter().all(Option::is_some) {
            let numbers: Vec<usize> = numbers.into_iter().flatten().collect();
            for (source, target, _) in &mut edges {
                (*source, *target) = (numbers[*source], numbers[*target]);
            }
            let count = numbers.iter().max().map_or(0, |max| max.saturating_add(1));
            return Ok(EdgeList { nodes: nodes.unwrap_or(count), edges, names: None });
        }
        // Text on the first line that no later line repeats, and numbers everywhere else.
        let text_first = numbers[..first].iter().all(Option::is_none) && first < numbers.len();
        let apart = edges.iter().skip(1).all(|&(s, t, _)| s.min(t) >= first);
        if text_first && apart && numbers[first..].iter().all(Option::is_some) {
            return Err(bad("csv", "line 1", "a header must name columns `source` and `target`"));
        }
        match nodes {
            Some(points) if points != self.names.len() => {
                Err(Error::NameCount { names: self.names.len(), points })
            }
            _ => Ok(EdgeList { nodes: self.names.len(), edges, names: Some(self.names) }),
        }
    }
}

/// Whether a cell is what pandas, R, Julia or a spreadsheet write where there is no number.
fn is_missing(cell: &str) -> bool {
    const WORDS: [&str; 9] = ["", "na", "n/a", "null", "none", "nil", "missing", "nan", "value!"];
    let word = cell.trim_matches(['#', '<', '>', '-', '+', '.', '?', ' ']).to_ascii_lowercase();
    WORDS.contains(&word.as_str()) || word == "n/a n/a" || word.starts_with("1.#")
}

/// The number a label spells, unless it has leading zeros: `007` is a name.
fn whole_number(label: &str) -> Option<usize> {
    let digits = label.bytes().all(|b| b.is_ascii_digit());
    let plain = digits && (label == "0" || !label.starts_with('0'));
    plain.then(|| label.parse().ok()).flatten()
}

fn place(line: u64, column: usize) -> String {
    format!("line {line}, column {}", column + 1)
}

fn not_a_number(line: u64, column: usize, cell: &str) -> Error {
    let reason = if cell.is_empty() {
        "the cell is empty".into()
    } else {
        format!("`{cell}` is not a number")
    };
    bad("csv", place(line, column), reason)
}

fn bad_weight(first: bool, line: u64, column: usize, cell: &str) -> Error {
    if first && !cell.is_empty() {
        let reason = format!(
            "`{cell}` is not a number; a header names columns `source`, `target`, `weight`"
        );
        return bad("csv", place(line, column), reason);
    }
    not_a_number(line, column, cell)
}

/// Records of equal length, with their lines.
struct Rows<R> {
    reader: csv::Reader<R>,
    /// Whether the record just read is the first.
    first: bool,
    columns: Option<usize>,
}

impl<R: Read> Rows<R> {
    fn new(reader: R) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(reader);
        Self { reader, first: false, columns: None }
    }

    /// Reads the next record; its line, or `None` at the end.
    fn next(&mut self, record: &mut StringRecord) -> Result<Option<u64>> {
        let at = |position: Option<&csv::Position>| position.map_or(0, csv::Position::line);
        let more = self
            .reader
            .read_record(record)
            .map_err(|e| bad("csv", format!("line {}", at(e.position())), e.to_string()))?;
        if !more {
            return Ok(None);
        }
        let line = at(record.position());
        self.first = self.columns.is_none();
        let expected = *self.columns.get_or_insert(record.len());
        if record.len() != expected {
            let reason = format!("{} cells, but {expected} on the first line", record.len());
            return Err(bad("csv", format!("line {line}"), reason));
        }
        Ok(Some(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(text: &str) -> Result<Table> {
        read_matrix(text.as_bytes())
    }

    fn edges(text: &str) -> Result<EdgeList> {
        read_edges(text.as_bytes(), None)
    }

    #[test]
    fn tables_have_an_optional_header() {
        let table = matrix("x, y\n1, 2.5\n\n-3e2, nan\n").unwrap();
        assert_eq!(table.header, Some(vec!["x".to_owned(), "y".to_owned()]));
        assert_eq!((table.columns, &table.values[..3]), (2, &[1.0, 2.5, -300.0][..]));
        assert!(table.values[3].is_nan());
        let plain = matrix("\u{feff}1,2\r\n3,4").unwrap();
        assert_eq!((plain.header, plain.values), (None, vec![1.0, 2.0, 3.0, 4.0]));
    }

    #[test]
    fn bad_cells_and_rows_are_named() {
        for (text, expected) in [
            ("1,2\n3", "csv, line 2: 1 cells, but 2 on the first line"),
            ("x,y\n1,2\n3,oops\n", "csv, line 3, column 2: `oops` is not a number"),
            ("1,2\n,4\n", "csv, line 2, column 1: the cell is empty"),
            ("x,2\n3,4\n", "csv, line 1, column 1: `x` is not a number"),
            ("x,y\n", "csv, line 1: there are no numbers"),
            ("", "csv, line 1: there are no numbers"),
        ] {
            assert_eq!(matrix(text).unwrap_err().to_string(), expected);
        }
        let garbled = read_matrix(&b"1,2\n\xff,4\n"[..]).unwrap_err().to_string();
        assert!(garbled.starts_with("csv, line 2: "), "{garbled}");
    }

    /// As a header it would be gone, and every row would be taken for the one before it.
    #[test]
    fn a_first_row_of_missing_numbers_is_no_header() {
        for cell in ["NA", "N/A", "#N/A", "<NA>", "NULL", "null", "None", "-", "?", ".", "missing"]
        {
            let error = matrix(&format!("{cell},{cell}\n1,2\n")).unwrap_err().to_string();
            assert_eq!(error, format!("csv, line 1, column 1: `{cell}` is not a number"));
        }
        let error = matrix(",NA\n1,2\n").unwrap_err().to_string();
        assert_eq!(error, "csv, line 1, column 1: the cell is empty");
        assert!(matrix("nan,-Inf\n1,2\n").unwrap().header.is_none());
        assert_eq!(matrix("NA,x\n1,2\n").unwrap().header.unwrap(), ["NA", "x"]);
        let names = ["NA", "None"].map(String::from);
        assert!(read_named_matrix(&b"NA,None\n1,2\n"[..], &names).unwrap().header.is_some());
    }

    #[test]
    fn numbered_nodes_keep_their_numbers() {
        let list = edges("0,3,1.5\n3,1,2\n").unwrap();
        assert_eq!(list.edges, [(0, 3, 1.5), (3, 1, 2.0)]);
        assert_eq!((list.nodes, list.names), (4, None));
        assert_eq!(read_edges(&b"0,3"[..], Some(9)).unwrap().nodes, 9);
    }

    #[test]
    fn names_are_numbered_as_they_appear() {
        let list = edges("Oslo,Bergen\nBergen,7\n").unwrap();
        assert_eq!(list.edges, [(0, 1, 1.0), (1, 2, 1.0)]);
        assert_eq!(list.names.unwrap(), ["Oslo", "Bergen", "7"]);
        assert_eq!(edges("007,7").unwrap().nodes, 2);
    }

    #[test]
    fn a_header_gives_the_columns() {
        let list = edges("km,Weight,Target,source\n9,2.5,1,0\n").unwrap();
        assert_eq!(list.edges, [(0, 1, 2.5)]);
        assert_eq!(edges("source,target\n0,1\n").unwrap().edges, [(0, 1, 1.0)]);
    }

    #[test]
    fn bad_edges_are_named() {
        for (text, expected) in [
            ("0,1,2\n1,2,far\n", "csv, line 2, column 3: `far` is not a number"),
            (
                "u,v,w\n1,2,3\n",
                "csv, line 1, column 3: `w` is not a number; a header names columns `source`, `target`, `weight`",
            ),
            ("u,v\n1,2\n", "csv, line 1: a header must name columns `source` and `target`"),
            ("0,,1\n", "csv, line 1, column 2: a node label is missing"),
            ("0\n", "csv, line 1, column 2: a node label is missing"),
            ("0,1,\n", "csv, line 1, column 3: the cell is empty"),
        ] {
            assert_eq!(edges(text).unwrap_err().to_string(), expected);
        }
        let wrong = read_edges(&b"a,b"[..], Some(3)).unwrap_err();
        assert!(matches!(wrong, Error::NameCount { names: 2, points: 3 }));
    }
}
