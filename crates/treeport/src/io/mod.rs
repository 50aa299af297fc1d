//! File formats, behind the feature `io`: NumPy arrays, SciPy sparse matrices and CSV tables of
//! other tools, and our own trees and forests ([`Tree::save`](crate::Tree::save),
//! [`Forest::save`](crate::Forest::save)). [`mod@file`] writes files atomically.
//!
//! Every reader of foreign formats takes a [`Read`](std::io::Read), so that files, pipes and byte
//! slices work alike. Headers are not trusted: memory grows with the bytes that arrive, never with
//! the size that a header announces. Errors name what is wrong with the input, and the line, byte,
//! entry or member; where the numbers are wrong, they are those of the constructor.

#![expect(clippy::missing_errors_doc, reason = "errors name what is wrong with the input")]

pub mod biom;
mod clouds;
pub(crate) mod container;
mod edges;
pub mod file;
mod forest;
pub mod format;
mod header;
mod input;
mod long_table;
mod measures;
mod metric;
mod model;
pub(crate) mod model_file;
pub mod npy;
pub mod npz;
mod space;
pub mod table;
pub mod text;
mod texts;
mod tree;
pub mod word_vectors;

pub use clouds::CloudOptions;
pub use model_file::ModelFile;

use crate::error::{Error, Result, show_shape};
use crate::memory;

/// An array read from a file, in C order.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Entries along each axis; empty for a single value.
    pub shape: Vec<usize>,
    /// The entries, last axis fastest.
    pub data: Data,
}

/// The entries of an [`Array`]. Integers of any width and booleans widen to `i64`.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Single precision, kept to save memory for large matrices.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
    /// Integers, and booleans as 0 and 1.
    I64(Vec<i64>),
    /// Byte or Unicode strings of fixed width, without their padding.
    Text(Vec<String>),
}

impl Data {
    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F64(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Text(values) => values.len(),
        }
    }

    /// Checks whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Converts the entries to `f64`; `f64` data moves without a copy.
    pub fn into_f64(self) -> Result<Vec<f64>> {
        match self {
            Self::F64(values) => Ok(values),
            Self::F32(values) => {
                let step = format_args!("{} numbers in double precision", values.len());
                let mut wide = memory::with_capacity(step, values.len(), "give fewer")?;
                wide.extend(values.into_iter().map(f64::from));
                Ok(wide)
            }
            Self::I64(values) => Ok(values.into_iter().map(|v| v as f64).collect()),
            Self::Text(_) => Err(bad("npy", "entries", "text where numbers are expected")),
        }
    }
}

impl Array {
    /// Converts the entries to `f64`; see [`Data::into_f64`].
    pub fn into_f64(self) -> Result<Vec<f64>> {
        self.data.into_f64()
    }

    /// Converts the entries to indices counted from 0.
    ///
    /// # Errors
    /// The entries are not integers, or one is negative.
    pub fn to_indices(&self) -> Result<Vec<usize>> {
        let Data::I64(values) = &self.data else {
            return Err(bad("npy", "entries", "integers are expected"));
        };
        let index = |(at, &v): (usize, &i64)| {
            let reason = format!("{v} where a number from 0 up is expected");
            usize::try_from(v).map_err(|_| bad("npy", format!("entry {at}"), reason))
        };
        let step = format_args!("a list of {} indices", values.len());
        memory::check(step, memory::size_of::<usize>(&[values.len()]), "give fewer")?;
        values.iter().enumerate().map(index).collect()
    }

    /// Returns the numbers of rows and columns of a table.
    ///
    /// # Errors
    /// The array does not have two axes.
    pub fn rows_and_columns(&self, what: &str) -> Result<(usize, usize)> {
        rows_and_columns(&self.shape, what)
    }
}

fn rows_and_columns(shape: &[usize], what: &str) -> Result<(usize, usize)> {
    match *shape {
        [rows, columns] => Ok((rows, columns)),
        _ => Err(Error::Shape {
            what: what.into(),
            expected: "(rows, columns)".into(),
            found: show_shape(shape),
        }),
    }
}

/// Returns the error for a file that does not parse.
pub(crate) fn bad(
    format: &'static str,
    place: impl Into<String>,
    reason: impl Into<String>,
) -> Error {
    Error::Parse { format, place: place.into(), reason: reason.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_convert_or_say_why_not() {
        let array = |data| Array { shape: vec![2], data };
        assert_eq!(array(Data::F32(vec![0.5, 2.0])).into_f64().unwrap(), [0.5, 2.0]);
        assert_eq!(array(Data::I64(vec![1, 2])).into_f64().unwrap(), [1.0, 2.0]);
        assert_eq!(array(Data::I64(vec![1, 2])).to_indices().unwrap(), [1, 2]);
        let message = array(Data::I64(vec![1, -2])).to_indices().unwrap_err().to_string();
        assert_eq!(message, "npy, entry 1: -2 where a number from 0 up is expected");
        let message = array(Data::F64(vec![1.0, 2.0])).to_indices().unwrap_err().to_string();
        assert_eq!(message, "npy, entries: integers are expected");
        let text = array(Data::Text(vec!["a".into(), "b".into()]));
        assert_eq!(
            text.into_f64().unwrap_err().to_string(),
            "npy, entries: text where numbers are expected"
        );
    }

    #[test]
    fn a_table_has_two_axes() {
        let line = Array { shape: vec![3], data: Data::F64(vec![0.0; 3]) };
        let message = line.rows_and_columns("the table").unwrap_err().to_string();
        assert_eq!(message, "the table has shape (3,), expected (rows, columns)");
    }
}
