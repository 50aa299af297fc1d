//! Edge lists of graphs, as text.

use std::collections::HashMap;
use std::io::Read;

use csv::StringRecord;

use super::bad;
use super::table::{not_a_number, place};
use super::text::Cells;
use crate::error::{Error, Result};
use crate::memory;

/// The edges of an undirected graph in the order of the file.
#[derive(Clone, Debug, PartialEq)]
pub struct EdgeList {
    /// Number of nodes.
    pub nodes: usize,
    /// Source, target and weight of every edge.
    pub edges: Vec<(usize, usize, f64)>,
    /// Names of the nodes; `None` if the file numbers them from 0.
    pub names: Option<Vec<String>>,
}

/// Reads an edge list with one edge per line: source, target and weight.
///
/// A header with `source` and `target` gives the columns by name, in any order and among other
/// columns; without a header they are the first three. Without a weight column every edge has
/// weight 1. If all labels are nonnegative integers, they are node numbers from 0, and the number
/// of nodes is `nodes` or the largest number plus one; otherwise they are names, numbered in order
/// of appearance.
///
/// # Errors
/// A row of another length, a weight that is not a number, an empty label, or a header without
/// `source` and `target`; `nodes` differs from the number of names.
pub fn read_edges(reader: impl Read, nodes: Option<usize>) -> Result<EdgeList> {
    let mut cells = Cells::new(reader, None)?;
    // A comment line that names the columns serves as the header.
    let mut columns = cells.comment.as_ref().and_then(columns_by_name);
    let mut node_names = NodeNames::default();
    let mut edges = Vec::new();
    let mut first_labels = 0;
    let (mut first, mut record) = (true, StringRecord::new());
    while let Some(line) = cells.next(&mut record)? {
        if std::mem::take(&mut first) && columns.is_none() {
            columns = columns_by_name(&record);
            if columns.is_some() {
                continue;
            }
        }
        let bare = columns.is_none();
        let (source, target, weight) = *columns.get_or_insert_with(|| {
            (0, 1, (record.len() > 2).then_some(2)) // no header: by position
        });
        let mut label = |column: usize| match record.get(column) {
            None | Some("") => Err(bad("csv", place(line, column), "a node label is missing")),
            Some(name) => Ok(node_names.number(name)),
        };
        let (source, target) = (label(source)?, label(target)?);
        let weight = weight.map_or(Ok(1.0), |column| {
            let cell = &record[column];
            cell.parse().map_err(|_| bad_weight(bare, line, column, cell))
        })?;
        memory::grow(&mut edges, "the edges of a graph", 1, "give fewer")?;
        edges.push((source, target, weight));
        if bare {
            first_labels = node_names.names.len();
        }
    }
    node_names.finish(edges, nodes, first_labels)
}

/// Returns the columns of source, target and weight if the record is a header that names them.
fn columns_by_name(record: &StringRecord) -> Option<(usize, usize, Option<usize>)> {
    let plain = |cell: &str| cell.trim_start_matches('#').trim().to_ascii_lowercase();
    let find = |name: &str| record.iter().position(|cell| plain(cell) == name);
    Some((find("source")?, find("target")?, find("weight")))
}

/// Node labels in order of appearance.
#[derive(Default)]
struct NodeNames {
    number: HashMap<String, usize>,
    names: Vec<String>,
}

impl NodeNames {
    fn number(&mut self, name: &str) -> usize {
        if let Some(&number) = self.number.get(name) {
            return number;
        }
        self.number.insert(name.to_owned(), self.names.len());
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    /// Builds the edge list once all labels are known; the first `first` of them are those of the
    /// first row.
    fn finish(
        self,
        mut edges: Vec<(usize, usize, f64)>,
        nodes: Option<usize>,
        first: usize,
    ) -> Result<EdgeList> {
        let numbers: Vec<Option<usize>> = self.names.iter().map(|n| parse_integer(n)).collect();
        if numbers.iter().all(Option::is_some) {
            let numbers: Vec<usize> = numbers.into_iter().flatten().collect();
            for (source, target, _) in &mut edges {
                (*source, *target) = (numbers[*source], numbers[*target]);
            }
            let count = numbers.iter().max().map_or(0, |max| max.saturating_add(1));
            return Ok(EdgeList { nodes: nodes.unwrap_or(count), edges, names: None });
        }
        // The first line is text that no later line repeats, and all other labels are numbers.
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

/// Parses a label as a node number; a label with leading zeros such as `007` is a name.
fn parse_integer(label: &str) -> Option<usize> {
    let digits = label.bytes().all(|b| b.is_ascii_digit());
    let plain = digits && (label == "0" || !label.starts_with('0'));
    plain.then(|| label.parse().ok()).flatten()
}

fn bad_weight(bare: bool, line: u64, column: usize, cell: &str) -> Error {
    if bare && !cell.is_empty() {
        let reason = format!(
            "`{cell}` is not a number; a header names columns `source`, `target`, `weight`"
        );
        return bad("csv", place(line, column), reason);
    }
    not_a_number(line, column, cell)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edges(text: &str) -> Result<EdgeList> {
        read_edges(text.as_bytes(), None)
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
