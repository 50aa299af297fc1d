//! Compressed sparse rows: the format of embeddings and of SciPy's files.

/// Groups items by row, in order: the bounds of all rows, then the items.
pub(crate) fn grouped<T: Copy + Default>(
    rows: usize,
    items: impl Iterator<Item = (usize, T)> + Clone,
) -> (Vec<usize>, Vec<T>) {
    let mut start = vec![0; rows + 1];
    items.clone().for_each(|(row, _)| start[row + 1] += 1);
    for row in 0..rows {
        start[row + 1] += start[row];
    }
    let (mut next, mut all) = (start.clone(), vec![T::default(); start[rows]]);
    for (row, item) in items {
        all[next[row]] = item;
        next[row] += 1;
    }
    (start, all)
}

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

impl Csr {
    /// Groups entries (row, (column, value)) by row; the entries of a row keep their order.
    pub(crate) fn gathered(
        rows: usize,
        cols: usize,
        entries: impl Iterator<Item = (usize, (usize, f64))> + Clone,
    ) -> Self {
        let (start, entries) = grouped(rows, entries);
        let (indices, values) = entries.into_iter().unzip();
        Self { rows, cols, start, indices, values }
    }
}
