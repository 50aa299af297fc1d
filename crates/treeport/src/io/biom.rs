//! Tables in the Biological Observation Matrix format, BIOM 1.0: JSON, plain or gzip.
//!
//! Rows of a table are observations (points here), and columns are samples (measures here).
//! Versions 2.0 and 2.1 are HDF5, which only the Python package reads; the error says so.

use std::io::Read;

use serde::Deserialize;
use serde::de::{Deserializer, SeqAccess, Visitor};

use super::format::Format;
use super::{bad, table, text};
use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::memory;

/// The first bytes of an HDF5 file.
pub const HDF5: &[u8] = b"\x89HDF\r\n\x1a\n";

/// A BIOM table as a list of its entries.
#[derive(Clone, Debug, PartialEq)]
pub struct Biom {
    /// IDs of the rows, all different: the points.
    pub observations: Vec<String>,
    /// IDs of the columns, all different: the measures.
    pub samples: Vec<String>,
    /// Observation, sample and value of every stored entry, in the order of the file.
    pub entries: Vec<(u32, u32, f64)>,
}

/// The fields of the JSON document that are read.
#[derive(Deserialize)]
struct Parts {
    rows: Vec<Identified>,
    columns: Vec<Identified>,
    shape: (usize, usize),
    matrix_type: String,
    data: Lists,
}

#[derive(Deserialize)]
struct Identified {
    id: String,
}

/// Lists of numbers, stored one after the other.
#[derive(Default)]
struct Lists {
    values: Vec<f64>,
    /// End of each list in `values`.
    ends: Vec<usize>,
}

/// Reads a table.
///
/// # Errors
/// The input is not JSON (line and column are named), not such a table (the entry is named), or
/// HDF5 (the error says how to convert it).
pub fn read(reader: impl Read) -> Result<Biom> {
    let bytes = text::read_all(reader).map_err(|error| match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => bad("biom", "file", error.to_string()),
    })?;
    if let Some(refused) = Format::BiomHdf5.elsewhere().filter(|_| bytes.starts_with(HDF5)) {
        return Err(refused);
    }
    let step = format_args!("the entries of a BIOM table of {} bytes", bytes.len());
    memory::check(step, 8 * bytes.len() as u64, "give a sparse matrix (.npz)")?;
    let parts: Parts = serde_json::from_slice(&bytes).map_err(|error| {
        let place = format!("line {}, column {}", error.line(), error.column());
        let reason = error.to_string();
        let reason = reason.split(" at line ").next().unwrap_or_default();
        bad("biom", place, reason)
    })?;
    table_of(parts)
}

fn table_of(parts: Parts) -> Result<Biom> {
    let (height, width) = parts.shape;
    let ids = |records: Vec<Identified>, count: usize, what: &str| {
        let ids: Vec<String> = records.into_iter().map(|one| one.id).collect();
        if ids.len() != count {
            let reason = format!("{} IDs, and the shape says {count}", ids.len());
            return Err(bad("biom", what, reason));
        }
        match table::first_duplicate(&ids)? {
            Some((first, second)) => {
                let reason = format!("entries {first} and {second} are both `{}`", ids[first]);
                Err(bad("biom", what, reason))
            }
            None => Ok(ids),
        }
    };
    let observations = ids(parts.rows, height, "rows")?;
    let samples = ids(parts.columns, width, "columns")?;
    let entries = match parts.matrix_type.as_str() {
        "sparse" => sparse(&parts.data, height, width)?,
        "dense" => dense(&parts.data, height, width)?,
        other => {
            let reason = format!("`{other}` is neither sparse nor dense");
            return Err(bad("biom", "matrix_type", reason));
        }
    };
    Ok(Biom { observations, samples, entries })
}

/// Returns the entries of a sparse table: lists of row, column and value.
fn sparse(data: &Lists, height: usize, width: usize) -> Result<Vec<(u32, u32, f64)>> {
    let entry = |(number, list): (usize, &[f64])| {
        let wrong = |reason: String| bad("biom", format!("entry {number} of data"), reason);
        let [row, column, value] = *list else {
            return Err(wrong(format!("{} numbers, expected row, column and value", list.len())));
        };
        let place = |at: f64, side: usize, what: &str| {
            let whole = at >= 0.0 && at.fract() == 0.0 && at < side as f64;
            whole.then_some(at as u32).ok_or_else(|| wrong(format!("no {what} {at} of {side}")))
        };
        Ok((place(row, height, "row")?, place(column, width, "column")?, value))
    };
    data.lists().enumerate().map(entry).collect()
}

/// Returns nonzero entries of a dense table: one list per row.
fn dense(data: &Lists, height: usize, width: usize) -> Result<Vec<(u32, u32, f64)>> {
    if data.ends.len() != height {
        let reason = format!("{} rows, and the shape says {height}", data.ends.len());
        return Err(bad("biom", "data", reason));
    }
    let mut entries = Vec::new();
    for (row, list) in data.lists().enumerate() {
        if list.len() != width {
            let reason = format!("{} numbers, and the shape says {width}", list.len());
            return Err(bad("biom", format!("row {row} of data"), reason));
        }
        let there = list.iter().enumerate().filter(|&(_, &value)| value != 0.0);
        entries.extend(there.map(|(column, &value)| (row as u32, column as u32, value)));
    }
    Ok(entries)
}

impl Lists {
    fn lists(&self) -> impl Iterator<Item = &[f64]> {
        (0..self.ends.len()).map(|k| {
            let begin = if k == 0 { 0 } else { self.ends[k - 1] };
            &self.values[begin..self.ends[k]]
        })
    }
}

impl<'de> Deserialize<'de> for Lists {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Outer;
        impl<'de> Visitor<'de> for Outer {
            type Value = Lists;

            fn expecting(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                formatter.write_str("lists of numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut lists: A) -> Result<Lists, A::Error> {
                let mut all = Lists::default();
                while let Some(list) = lists.next_element::<Vec<f64>>()? {
                    all.values.extend(list);
                    all.ends.push(all.values.len());
                }
                Ok(all)
            }
        }
        deserializer.deserialize_seq(Outer)
    }
}

impl Measures {
    /// Returns the samples of a BIOM table as measures named by their IDs. If the points have
    /// names, observations are matched to them; otherwise they are in the order of the points.
    pub fn from_biom(table: Biom, points: Option<&[String]>) -> Result<Self> {
        Self::from_biom_or_empty(table, points)?.with_mass()
    }

    /// Returns the measures of [`from_biom`](Self::from_biom), which may have zero total mass.
    pub(super) fn from_biom_or_empty(table: Biom, points: Option<&[String]>) -> Result<Self> {
        let Biom { observations, samples, mut entries } = table;
        entries.sort_by_key(|&(_, sample, _)| sample); // stable; in place except for a buffer
        let mut rest = &entries[..];
        let rows = (0..samples.len() as u32).map(|sample| {
            let (row, others) = rest.split_at(rest.partition_point(|&(_, s, _)| s == sample));
            rest = others;
            row.iter().map(|&(point, _, mass)| (point as usize, mass))
        });
        let measures = Self::from_rows_or_empty(observations.len(), rows)?.with_names(samples)?;
        match points {
            Some(points) => measures.matched(&observations, points),
            None => Ok(measures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPARSE: &str = r#"{"id": null, "format": "Biological Observation Matrix 1.0.0",
        "rows": [{"id": "a", "metadata": {"taxonomy": ["x", "y"]}}, {"id": "b", "metadata": null},
        {"id": "c"}], "columns": [{"id": "S1"}, {"id": "S2"}], "matrix_type": "sparse",
        "matrix_element_type": "float", "shape": [3, 2], "data": [[2, 0, 1.5], [0, 1, 2], [0, 0, 3]]}"#;

    fn said(text: &str) -> String {
        read(text.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn samples_are_measures_and_observations_points() {
        let table = read(SPARSE.as_bytes()).unwrap();
        let measures = Measures::from_biom(table.clone(), None).unwrap();
        let expected = Measures::from_dense(3, &[3.0, 0.0, 1.5, 2.0, 0.0, 0.0]).unwrap();
        assert_eq!(measures, expected);
        assert_eq!(measures.names().unwrap(), ["S1", "S2"]);
        let points = ["c", "b", "a"].map(String::from);
        let turned = Measures::from_biom(table.clone(), Some(&points)).unwrap();
        let expected = Measures::from_dense(3, &[1.5, 0.0, 3.0, 0.0, 0.0, 2.0]).unwrap();
        assert_eq!(turned, expected);
        let dense = SPARSE.replace("sparse", "dense");
        let dense =
            dense.replace("[[2, 0, 1.5], [0, 1, 2], [0, 0, 3]]", "[[3, 2], [0, 0], [1.5, 0]]");
        let dense = read(dense.as_bytes()).unwrap();
        assert_eq!(
            Measures::from_biom(dense, None).unwrap(),
            Measures::from_biom(table, None).unwrap()
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        let with = |old: &str, new: &str| said(&SPARSE.replace(old, new));
        assert_eq!(with("[3, 2]", "[4, 2]"), "biom, rows: 3 IDs, and the shape says 4");
        assert_eq!(with("\"S2\"", "\"S1\""), "biom, columns: entries 0 and 1 are both `S1`");
        assert_eq!(with("[0, 1, 2]", "[0, 2, 2]"), "biom, entry 1 of data: no column 2 of 2");
        assert_eq!(with("[0, 1, 2]", "[0.5, 1, 2]"), "biom, entry 1 of data: no row 0.5 of 3");
        assert_eq!(
            with("[0, 1, 2]", "[0, 1]"),
            "biom, entry 1 of data: 2 numbers, expected row, column and value"
        );
        let message = with("[0, 1, 2]", "[0, \"1\", 2]");
        assert!(
            message.starts_with("biom, line 4, column ") && message.contains("string"),
            "{message}"
        );
        assert_eq!(with("sparse", "wide"), "biom, matrix_type: `wide` is neither sparse nor dense");
        assert_eq!(said("{}"), "biom, line 1, column 2: missing field `rows`");
        let hdf5 = read(&b"\x89HDF\r\n\x1a\n\0\0"[..]).unwrap_err().to_string();
        assert!(hdf5.contains("--to-json"), "{hdf5}");
        let empty = SPARSE.replace("[0, 1, 2], ", "");
        let empty = Measures::from_biom(read(empty.as_bytes()).unwrap(), None);
        assert!(matches!(empty, Err(Error::NoMass { measure: 1 })));
    }
}
