//! Compressed rows: what measures are embedded into, and what SciPy keeps in its files.

/// A sparse matrix in compressed rows.
///
/// Row `r` has its columns `indices[start[r]..start[r + 1]]`, strictly increasing, with their
/// `values`. Zeros may be spelled out: in a graph they are edges of length 0.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Csr {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// Bounds of the rows: `rows + 1` of them, from 0 up to the number of entries.
    pub start: Vec<usize>,
    /// Column of every entry.
    pub indices: Vec<usize>,
    /// Value of every entry.
    pub values: Vec<f64>,
}
