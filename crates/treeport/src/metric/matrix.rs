//! Distance matrices, stored as their upper triangle.

use rayon::prelude::*;

use super::pairs::{Block, row_blocks};
use crate::error::{Error, Result, show_shape};
use crate::memory;
use crate::metric::condensed::{pair_at, pairs_of};

/// Largest difference of mirrored entries, relative to the largest distance.
const SYMMETRY: f64 = 1e-6;

/// Rows and columns of a tile: mirrored tiles are read together and must fit into the cache.
const TILE: usize = 64;

/// Upper triangle of a distance matrix, row by row, as in SciPy's `squareform`.
#[derive(Clone, Debug, PartialEq)]
pub enum Storage {
    /// Single precision: half the memory, about seven digits.
    F32(Vec<f32>),
    /// Double precision.
    F64(Vec<f64>),
}

impl Storage {
    pub(super) fn get(&self, at: usize) -> f64 {
        match self {
            Self::F32(distances) => f64::from(distances[at]),
            Self::F64(distances) => distances[at],
        }
    }
}

/// Checks the length and every entry of a condensed matrix.
pub(super) fn check_condensed<T: Copy + Into<f64>>(n: usize, distances: &[T]) -> Result<()> {
    super::check_count(n)?;
    if distances.len() != pairs_of(n) {
        return Err(Error::Shape {
            what: format!("the condensed matrix of {n} points"),
            expected: show_shape(&[pairs_of(n)]),
            found: show_shape(&[distances.len()]),
        });
    }
    let bad = distances.iter().position(|&d| !is_distance(d.into()));
    bad.map_or(Ok(()), |at| {
        let (from, to) = pair_at(n, at);
        Err(Error::BadDistance { from, to, value: distances[at].into() })
    })
}

fn is_distance(value: f64) -> bool {
    value >= 0.0 && value.is_finite()
}

/// Converts a square matrix to condensed form, the mean of mirrored entries.
pub(super) fn from_square<T>(
    n: usize,
    square: &[T],
    cast: impl Fn(f64) -> T + Sync,
) -> Result<Vec<T>>
where
    T: Copy + Default + Into<f64> + Send + Sync,
{
    super::check_count(n)?;
    if n.checked_mul(n) != Some(square.len()) {
        return Err(Error::Shape {
            what: "the distance matrix".into(),
            expected: format!("({n}, {n})"),
            found: format!("{} entries", square.len()),
        });
    }
    // Before any entry is read: a large matrix takes long.
    let step = format_args!("the upper triangle of a matrix of {n} points");
    let mut out: Vec<T> = memory::zeros(step, pairs_of(n), HALF)?;
    if let Some(at) = square.iter().position(|&d| !is_distance(d.into())) {
        let (from, to, value) = (at / n, at % n, square[at].into());
        return Err(Error::BadDistance { from, to, value });
    }
    if let Some(point) = (0..n).find(|&i| square[i * n + i].into() != 0.0) {
        return Err(Error::BadDiagonal { point, value: square[point * n + point].into() });
    }
    let largest = square.iter().fold(0.0, |max: f64, &d| max.max(d.into()));
    let faults: Vec<Option<Error>> = row_blocks(n, TILE, &mut out)
        .into_par_iter()
        .map(|block| fold_rows(n, square, SYMMETRY * largest, block, &cast).err())
        .collect();
    // The first error in row order, for any number of threads.
    faults.into_iter().flatten().next().map_or(Ok(out), Err)
}

/// Advice if a square matrix fits into memory, but not with its triangle.
const HALF: &str = "give the upper triangle alone, as `pdist` returns it";

/// Fills a block of rows in tiles; mirrored entries differ by at most `tolerance`.
fn fold_rows<T: Copy + Into<f64>>(
    n: usize,
    square: &[T],
    tolerance: f64,
    mut block: Block<'_, T>,
    cast: &impl Fn(f64) -> T,
) -> Result<()> {
    for left in (block.first..n).step_by(TILE) {
        for from in block.first..block.end {
            let start = left.max(from + 1);
            let end = n.min(left + TILE);
            for to in start..end {
                let (forth, back) = (square[from * n + to].into(), square[to * n + from].into());
                if (forth - back).abs() > tolerance {
                    return Err(Error::Asymmetric { from, to, forth, back });
                }
                // Halved before they are added: the sum of two large distances may overflow.
                block.row(from)[to - from - 1] = cast(forth / 2.0 + back / 2.0);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn square(n: usize, entries: &[f64]) -> Result<Vec<f64>> {
        from_square(n, entries, |d| d)
    }

    #[test]
    fn mirrored_entries_are_averaged() {
        let entries = [0.0, 1.0, 4.0, 1.000_002, 0.0, 5.0, 4.0, 5.0, 0.0];
        let folded = square(3, &entries).unwrap();
        assert!((folded[0] - 1.000_001).abs() < 1e-12);
        assert_eq!(folded[1..], [4.0, 5.0]);
        assert_eq!(square(1, &[0.0]).unwrap(), [0.0; 0]);
        assert_eq!(square(2, &[0.0, f64::MAX, f64::MAX, 0.0]).unwrap(), [f64::MAX]);
    }

    #[test]
    fn large_matrices_fold_tile_by_tile() {
        let n = 150;
        let entry =
            |i: usize, j: usize| if i == j { 0.0 } else { (i.min(j) * n + i.max(j)) as f32 };
        let entries: Vec<f32> = (0..n * n).map(|e| entry(e / n, e % n)).collect();
        let folded = from_square(n, &entries, |d| d as f32).unwrap();
        let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
        assert!(pairs.zip(folded).all(|((i, j), d)| d == entry(i, j)));
    }

    #[test]
    fn bad_squares_are_named() {
        let message = |n, entries: &[f64]| square(n, entries).unwrap_err().to_string();
        assert_eq!(
            message(2, &[0.0, 1.0, 1.0]),
            "the distance matrix has shape 3 entries, expected (2, 2)"
        );
        assert_eq!(
            message(2, &[0.0, 1.0, 2.0, 0.0]),
            "distance from point 0 to point 1 is 1 but 2 the other way; a ground metric is symmetric"
        );
        assert_eq!(
            message(2, &[0.0, 1.0, 1.0, 0.5]),
            "distance from point 1 to itself is 0.5, expected 0"
        );
        assert_eq!(
            message(2, &[0.0, 1.0, f64::NAN, 0.0]),
            "distance from point 1 to point 0 is NaN; distances must be finite and at least 0"
        );
        assert!(matches!(square(0, &[]), Err(Error::NoPoints)));
    }

    #[test]
    fn bad_condensed_entries_are_named() {
        let fault = |n, entries: &[f64]| check_condensed(n, entries).unwrap_err();
        for (at, pair) in [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)].into_iter().enumerate() {
            for value in [-1.0, f64::NAN, f64::INFINITY] {
                let mut entries = [1.0; 6];
                entries[at] = value;
                let found = fault(4, &entries);
                assert!(matches!(found, Error::BadDistance { from, to, .. } if (from, to) == pair));
            }
        }
        assert_eq!(
            fault(4, &[1.0; 5]).to_string(),
            "the condensed matrix of 4 points has shape (5,), expected (6,)"
        );
        assert!(matches!(fault(usize::MAX, &[]), Error::TooManyPoints { .. }));
    }
}
