//! Safe wrappers of matrix products in double and in single precision.

use matrixmultiply::{dgemm, sgemm};

macro_rules! product {
    ($name:ident, $number:ty, $gemm:path) => {
        /// Computes all inner products of the rows of `a` with the rows of `b`, both `dim` wide:
        /// `out[r * width + c] = Σ_k a[r * dim + k] · b[c * dim + k]`.
        pub(crate) fn $name(
            dim: usize,
            a: &[$number],
            b: &[$number],
            (width, out): (usize, &mut [$number]),
        ) {
            assert!(dim > 0, "vectors have at least one coordinate");
            let (rows, columns) = (a.len() / dim, b.len() / dim);
            assert_eq!((rows * dim, columns * dim), (a.len(), b.len()), "whole vectors");
            let room = rows.checked_mul(width).is_some_and(|room| room <= out.len());
            assert!(columns <= width && room, "room for every pair of vectors");
            #[expect(
                unsafe_code,
                reason = "the matrix product takes pointers; no safe crate is as fast"
            )]
            // SAFETY: `a` is rows × dim, `b` read with swapped strides is dim × columns, and `out`
            // has rows of `width` with room for the columns, all asserted above; slices never
            // exceed `isize::MAX`, so the strides fit; `out` is borrowed mutably, so it overlaps
            // neither; β = 0, so it is only written.
            unsafe {
                $gemm(
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
                    width.cast_signed(),
                    1,
                );
            }
        }
    };
}

product!(double, f64, dgemm);
product!(single, f32, sgemm);

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
            double(dim, &a, &b, (columns, &mut out));
            let [a_short, b_short] =
                [&a, &b].map(|of| of.iter().map(|x| *x as f32).collect::<Vec<_>>());
            let mut short = vec![f32::NAN; rows * (columns + 1)];
            single(dim, &a_short, &b_short, (columns + 1, &mut short));
            for r in 0..rows {
                for c in 0..columns {
                    let direct: f64 = (0..dim).map(|k| a[r * dim + k] * b[c * dim + k]).sum();
                    // Up to `dim` products of size at most 1.
                    let tolerance = 1e-15 * dim as f64;
                    assert!((out[r * columns + c] - direct).abs() <= tolerance);
                    let single = f64::from(short[r * (columns + 1) + c]);
                    assert!((single - direct).abs() <= 1e-6 * dim as f64);
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "room for every pair")]
    fn lengths_that_do_not_fit_are_refused() {
        double(2, &[0.0; 4], &[0.0; 4], (2, &mut [0.0; 3]));
    }
}
