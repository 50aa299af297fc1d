//! Compressed sparse rows: the format of embeddings and of SciPy's files.

/// A sparse matrix in compressed rows.
///
/// Row `r` has the columns `indices[start[r]..start[r + 1]]`, strictly increasing, and their
/// `values`. Explicit zeros are allowed: in a graph they are edges of length 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Bounds of the rows: `rows + 1` numbers from 0 up to the number of entries.
    pub start: Vec<usize>,
    /// Column of every entry.
    pub indices: Vec<usize>,
    /// Value of every entry.
    pub values: Vec<f64>,
}
