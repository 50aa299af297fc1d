//! Passes over tables, in blocks of rows that threads share.
//!
//! The width of a table alone determines its blocks, and their sums are added in order, so that any
//! number of threads gives the same bits. Loops are compiled for wide registers without fused
//! multiply-add, which rounds once instead of twice, so that all processors agree, too.

use rayon::prelude::*;

use super::relax::relaxed;
use crate::numeric::wide_registers::for_wide_registers;

/// Approximate number of entries of a block, a tenth of a millisecond of work.
const ENTRIES: usize = 1 << 16;

/// Rows that one pass reads side by side.
const ABREAST: usize = 4;

/// Returns the number of rows of a block of a table of this width.
pub(super) fn block_rows(width: usize) -> usize {
    (ENTRIES / width.max(1)).next_multiple_of(ABREAST)
}

/// Returns the number of blocks of rows, at least 1.
fn blocks(rows: usize, width: usize) -> usize {
    rows.div_ceil(block_rows(width)).max(1)
}

/// Column sums (or minima) of every block and of the whole table.
#[derive(Clone, Debug, Default)]
pub(super) struct ColumnSums {
    of_blocks: Vec<f64>,
    pub(super) all: Vec<f64>,
}

impl ColumnSums {
    /// Resizes the buffer of all blocks and fills it with `start`.
    fn begin(&mut self, count: usize, start: f64) {
        self.of_blocks.clear();
        self.of_blocks.resize(count, start);
    }

    /// Combines the blocks into `all`.
    fn end(&mut self, width: usize, together: impl Fn(f64, f64) -> f64) {
        let mut blocks = self.of_blocks.chunks_exact(width);
        self.all.clear();
        self.all.extend_from_slice(blocks.next().unwrap_or(&[]));
        for block in blocks {
            self.all.iter_mut().zip(block).for_each(|(all, part)| *all = together(*all, *part));
        }
    }
}

/// Mutable block of a table, with one number per row and its column sums.
pub(super) struct Block<'a> {
    /// Index of the first row.
    pub(super) first: usize,
    pub(super) table: &'a mut [f64],
    pub(super) rows: &'a mut [f64],
    pub(super) sums: &'a mut [f64],
}

/// Calls `work` with every block of a table, on several threads if there are several blocks, and
/// returns the sum of its results. The column sums of the blocks, `several` for each column, are
/// added up, too.
pub(super) fn each_block(
    table: &mut [f64],
    rows: &mut [f64],
    (sums, several): (&mut ColumnSums, usize),
    width: usize,
    work: impl Fn(Block<'_>) -> f64 + Sync,
) -> f64 {
    let (height, wide) = (block_rows(width), several * width);
    sums.begin(blocks(rows.len(), width) * wide, 0.0);
    let ColumnSums { of_blocks, .. } = sums;
    let found = if rows.len() <= height {
        work(Block { first: 0, table, rows, sums: of_blocks })
    } else {
        let blocks = table.par_chunks_mut(height * width).zip(rows.par_chunks_mut(height));
        let blocks = blocks.zip(of_blocks.par_chunks_mut(wide)).enumerate();
        let blocks = blocks
            .map(|(k, ((table, rows), sums))| work(Block { first: k * height, table, rows, sums }));
        blocks.collect::<Vec<f64>>().into_iter().sum()
    };
    sums.end(wide, |all, part| all + part);
    found
}

/// Computes u from v and Σᵢ uᵢ Kᵢⱼ in one pass; returns the violation before it.
pub(super) fn sweep(
    kernel: &[f64],
    (a, v): (&[f64], &[f64]),
    u: &mut [f64],
    omega: f64,
    sums: &mut ColumnSums,
) -> f64 {
    let (width, rows) = (v.len(), block_rows(v.len()));
    sums.begin(blocks(a.len(), width) * width, 0.0);
    let ColumnSums { of_blocks, .. } = sums;
    let violation = if a.len() <= rows {
        sweep_block(kernel, a, v, u, omega, of_blocks)
    } else {
        let sides = a.par_chunks(rows).zip(u.par_chunks_mut(rows));
        let blocks = kernel.par_chunks(rows * width).zip(sides);
        let blocks = blocks.zip(of_blocks.par_chunks_mut(width));
        let blocks =
            blocks.map(|((kernel, (a, u)), sums)| sweep_block(kernel, a, v, u, omega, sums));
        blocks.collect::<Vec<f64>>().into_iter().sum()
    };
    sums.end(width, |all, part| all + part);
    violation
}

for_wide_registers! {
    /// Computes the [`sweep`] of one block, whose sums begin at 0.
    sweep_block, sweep_block_wide,
    (kernel: &[f64], a: &[f64], v: &[f64], u: &mut [f64], omega: f64, sums: &mut [f64]) -> f64, {
        let width = v.len();
        let mut violation = 0.0;
        let mut scaled = |k: usize, sum: f64| {
            violation += (u[k] * sum - a[k]).abs();
            u[k] = relaxed(u[k], a[k] / sum, omega);
            u[k]
        };
        let fours = kernel.chunks_exact(ABREAST * width);
        let first_of_rest = a.len() / ABREAST * ABREAST;
        for (k, row) in fours.remainder().chunks_exact(width).enumerate() {
            let scale = scaled(first_of_rest + k, dot_inlined(row, v));
            sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += scale * entry);
        }
        for (k, rows) in fours.enumerate() {
            let (first, rest) = rows.split_at(width);
            let (second, rest) = rest.split_at(width);
            let (third, fourth) = rest.split_at(width);
            let products = [first, second, third, fourth].map(|row| dot_inlined(row, v));
            let mut scales = [0.0; ABREAST];
            for (row, product) in products.into_iter().enumerate() {
                scales[row] = scaled(ABREAST * k + row, product);
            }
            let [s, t, x, y] = scales;
            let rows = first.iter().zip(second).zip(third.iter().zip(fourth));
            for (sum, ((a, b), (c, d))) in sums.iter_mut().zip(rows) {
                *sum += (s * a + t * b) + (x * c + y * d);
            }
        }
        violation
    }
}

/// Computes minᵢ(cᵢⱼ − fᵢ) for every column j.
pub(super) fn least_reaches(cost: &[f64], f: &[f64], width: usize, least: &mut ColumnSums) {
    let rows = block_rows(width);
    least.begin(blocks(f.len(), width) * width, f64::INFINITY);
    let ColumnSums { of_blocks, .. } = least;
    if f.len() <= rows {
        least_of_block(cost, f, of_blocks);
    } else {
        let blocks = cost.par_chunks(rows * width).zip(f.par_chunks(rows));
        blocks
            .zip(of_blocks.par_chunks_mut(width))
            .for_each(|((cost, f), least)| least_of_block(cost, f, least));
    }
    least.end(width, smaller);
}

for_wide_registers! {
    least_of_block, least_of_block_wide, (cost: &[f64], f: &[f64], least: &mut [f64]), {
        for (row, f) in cost.chunks_exact(least.len()).zip(f) {
            least.iter_mut().zip(row).for_each(|(least, cost)| *least = smaller(*least, cost - f));
        }
    }
}

for_wide_registers! {
    /// Computes exp((leastⱼ − (cⱼ − f))·rate)·a for a row; adds it to the column sums.
    kernel_row, kernel_row_wide,
    (cost: &[f64], least: &[f64], row: &mut [f64], sums: &mut [f64], f: f64, rate: f64, a: f64), {
        for ((term, cost), least) in row.iter_mut().zip(cost).zip(least) {
            *term = exp((least - (cost - f)) * rate) * a;
        }
        sums.iter_mut().zip(row).for_each(|(sum, term)| *sum += *term);
    }
}

for_wide_registers! {
    /// Scales a row and its columns, adds it to the column sums, and returns its sum.
    scale_row, scale_row_wide,
    (row: &mut [f64], scale: f64, columns: &[f64], sums: &mut [f64]) -> f64, {
        for (entry, column) in row.iter_mut().zip(columns) {
            *entry *= scale * column;
        }
        sums.iter_mut().zip(&*row).for_each(|(sum, entry)| *sum += *entry);
        sum_inlined(row)
    }
}

for_wide_registers! {
    /// Adds a multiple of a row to the column sums.
    add_row, add_row_wide, (row: &[f64], scale: f64, sums: &mut [f64]), {
        sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += scale * entry);
    }
}

for_wide_registers! {
    /// Computes Σ xᵢ yᵢ zᵢ in lanes.
    dot_of_three, dot_of_three_wide, (x: &[f64], y: &[f64], z: &[f64]) -> f64, {
        let (xs, x_rest) = x.as_chunks::<LANES>();
        let ((ys, y_rest), (zs, z_rest)) = (y.as_chunks::<LANES>(), z.as_chunks::<LANES>());
        let mut sums = [0.0; LANES];
        for (x, (y, z)) in xs.iter().zip(ys.iter().zip(zs)) {
            for lane in 0..LANES {
                sums[lane] += x[lane] * y[lane] * z[lane];
            }
        }
        let rest = x_rest.iter().zip(y_rest.iter().zip(z_rest));
        sums.iter().sum::<f64>() + rest.map(|(x, (y, z))| x * y * z).sum::<f64>()
    }
}

for_wide_registers! {
    /// Returns the largest number, or 0.
    largest, largest_wide, (x: &[f64]) -> f64, {
        let (xs, rest) = x.as_chunks::<LANES>();
        let mut most = [0.0; LANES];
        for x in xs {
            for lane in 0..LANES {
                most[lane] = if x[lane] > most[lane] { x[lane] } else { most[lane] };
            }
        }
        most.iter().chain(rest).copied().fold(0.0, f64::max)
    }
}

for_wide_registers! {
    /// Computes Σ xᵢ yᵢ in lanes, which compilers vectorize, unlike a single sum.
    dot, dot_wide, (x: &[f64], y: &[f64]) -> f64, { dot_inlined(x, y) }
}

/// Number of partial sums that are added up side by side.
const LANES: usize = 16;

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn dot_inlined(x: &[f64], y: &[f64]) -> f64 {
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    let mut sums = [0.0; LANES];
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    sums.iter().sum::<f64>() + rest
}

#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn sum_inlined(x: &[f64]) -> f64 {
    let (xs, rest) = x.as_chunks::<LANES>();
    let mut sums = [0.0; LANES];
    for x in xs {
        for lane in 0..LANES {
            sums[lane] += x[lane];
        }
    }
    sums.iter().sum::<f64>() + rest.iter().sum::<f64>()
}

/// Returns the smaller of two numbers that are not NaN, in one instruction.
pub(super) fn smaller(x: f64, y: f64) -> f64 {
    if y < x { y } else { x }
}

/// Computes eˣ for x ≤ 0 within two units in the last place, or 0 where the result would be
/// subnormal. It has no branch, so that compilers vectorize it.
///
/// x = k·log 2 + r with |r| ≤ log √2, where the series of eʳ ends after r¹³/13! ≈ 2·10⁻¹⁶ of it.
#[inline(always)]
#[allow(clippy::inline_always, reason = "it is compiled for its caller's processor")]
pub(super) fn exp(x: f64) -> f64 {
    /// Adding it to a number below 2⁵¹ leaves the nearest integer in the last bits.
    const SHIFT: f64 = 6_755_399_441_055_744.0;
    const LEAST: f64 = -708.0;
    /// High part of log 2, whose products with integers up to 2¹¹ are exact.
    const LN_2_HIGH: f64 = 0.693_147_180_369_123_8;
    const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;
    let within = if x > LEAST { x } else { LEAST };
    let shifted = within * std::f64::consts::LOG2_E + SHIFT;
    let whole = shifted - SHIFT;
    let r = (within - whole * LN_2_HIGH) - whole * LN_2_LOW;
    let mut series = TERMS[0];
    for term in &TERMS[1..] {
        series = series * r + term;
    }
    // The integer becomes the exponent.
    let power = f64::from_bits(shifted.to_bits().wrapping_add(1023) << 52);
    if x > LEAST { series * power } else { 0.0 }
}

/// Coefficients 1/k! of the series, from k = 13 down to 0.
const TERMS: [f64; 14] = [
    1.0 / 6_227_020_800.0,
    1.0 / 479_001_600.0,
    1.0 / 39_916_800.0,
    1.0 / 3_628_800.0,
    1.0 / 362_880.0,
    1.0 / 40_320.0,
    1.0 / 5_040.0,
    1.0 / 720.0,
    1.0 / 120.0,
    1.0 / 24.0,
    1.0 / 6.0,
    0.5,
    1.0,
    1.0,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exponentials_are_those_of_the_library() {
        for k in 0..200_000 {
            let x = -f64::from(k) * 0.003_54;
            let (ours, judge) = (exp(x), x.exp());
            assert!((ours - judge).abs() <= 2.0 * f64::EPSILON * judge, "{x}: {ours} {judge}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_eq!([exp(-709.0), exp(-1e300), exp(f64::NEG_INFINITY)], [0.0; 3]);
    }

    #[test]
    fn a_sweep_in_blocks_is_a_sweep_by_plain_loops() {
        for (n, m) in [(1, 1), (3, 7), (5, 40), (700, 300), (1_001, 333)] {
            let wave = |k: usize| 0.1 + ((k * 7919 + 13) % 101) as f64;
            let kernel: Vec<f64> = (0..n * m).map(wave).collect();
            let (a, v): (Vec<f64>, Vec<f64>) =
                ((0..n).map(wave).collect(), (0..m).map(wave).collect());
            let mut u: Vec<f64> = (0..n).map(|i| 1.0 / wave(i)).collect();
            let old = u.clone();
            let mut sums = ColumnSums::default();
            let violation = sweep(&kernel, (&a, &v), &mut u, 1.5, &mut sums);
            let mut expected = 0.0;
            let mut columns = vec![0.0; m];
            for i in 0..n {
                let row = &kernel[i * m..(i + 1) * m];
                let sum: f64 = row.iter().zip(&v).map(|(k, v)| k * v).sum();
                expected += (old[i] * sum - a[i]).abs();
                let fresh = relaxed(old[i], a[i] / sum, 1.5);
                assert!((u[i] - fresh).abs() <= 1e-12 * fresh);
                columns.iter_mut().zip(row).for_each(|(sum, k)| *sum += u[i] * k);
            }
            assert!((violation - expected).abs() <= 1e-12 * expected, "{n} by {m}");
            for (sum, judge) in sums.all.iter().zip(&columns) {
                assert!((sum - judge).abs() <= 1e-12 * judge, "{n} by {m}");
            }
        }
    }
}
