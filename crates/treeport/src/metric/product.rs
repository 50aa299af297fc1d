//! A matrix product in double precision, made safe (`single` has that of single precision).

use matrixmultiply::dgemm;

/// All inner products of the rows of `a` with the rows of `b`, both `dim` wide.
///
/// `out[r * columns + c] = Σ_k a[r * dim + k] · b[c * dim + k]` with one column per row of `b`.
///
/// # Panics
/// If the lengths do not fit together.
pub(super) fn product(dim: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    assert!(dim > 0, "vectors have at least one coordinate");
    let (rows, columns) = (a.len() / dim, b.len() / dim);
    assert_eq!((rows * dim, columns * dim), (a.len(), b.len()), "whole vectors");
    assert_eq!(rows.checked_mul(columns), Some(out.len()), "one entry per pair of vectors");
    #[expect(unsafe_code, reason = "the matrix product takes pointers; no safe crate is as fast")]
    // SAFETY: `a` is rows × dim, `b` read with swapped strides is dim × columns, and `out` is rows
    // × columns, all asserted above; slices never exceed `isize::MAX`, so the strides fit; `out` is
    // borrowed mutably, so it overlaps neither; β = 0, so it is only written.
    unsafe {
        dgemm(
            rows,
            dim,
            columns,
            1.0,
            a.as_ptr(),
            dim.cast_signed(),
            1,
            b.as_ptr(),
            1,
            dim.cast_signed(),
            0.0,
            out.as_mut_ptr(),
            columns.cast_signed(),
            1,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_three_loops() {
        for (rows, columns, dim) in [(1, 1, 1), (3, 5, 2), (17, 9, 33), (0, 4, 2), (70, 65, 300)] {
            let entry = |i: usize| ((i * 7919) % 101) as f64 / 50.0 - 1.0;
            let a: Vec<f64> = (0..rows * dim).map(entry).collect();
            let b: Vec<f64> = (0..columns * dim).map(|i| entry(i + 13)).collect();
            let mut out = vec![f64::NAN; rows * columns];
            product(dim, &a, &b, &mut out);
            for r in 0..rows {
                for c in 0..columns {
                    let direct: f64 = (0..dim).map(|k| a[r * dim + k] * b[c * dim + k]).sum();
                    // Up to `dim` products of size at most 1.
                    let tolerance = 1e-15 * dim as f64;
                    assert!((out[r * columns + c] - direct).abs() <= tolerance);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "one entry per pair")]
    fn lengths_that_do_not_fit_are_refused() {
        product(2, &[0.0; 4], &[0.0; 4], &mut [0.0; 3]);
    }
}
