//! Lowered distances from sixteen origins to a few targets at once.
//!
//! Each formula has one kernel without periods and one with: with both in one function, compilers
//! optimize neither well.

use super::formulas::{ABSOLUTES, LARGEST, LENGTH, add_difference};
use super::panels::folded;
use super::single::FAR;
use crate::metric::points::period::apart_single;
use crate::numeric::rounding::{LEAST_DISTANCE, single, sum_roundings};
use crate::numeric::wide_registers::{for_fused_registers, multiply_add};

/// Origins of a tile.
pub(super) const LANES: usize = 16;

/// Targets of a tile. Their sums fill eight registers of sixteen numbers, enough independent
/// additions to hide the latency of one. Where registers hold eight numbers, half of the targets
/// are processed at a time, for the same reason.
pub(super) const ABREAST: usize = 8;

/// Limit below which a lowered distance becomes 0.
const LEAST: f32 = LEAST_DISTANCE as f32;

/// Conversion from the length of a difference, in multiples of the frame's unit, to a distance in
/// multiples of the caller's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Conversion {
    /// Scale of the result, a power of two.
    pub(super) factor: f32,
    pub(super) squared: bool,
}

/// Distances from sixteen origins to consecutive targets.
pub(super) type Tile = [[f32; LANES]; ABREAST];

/// Corrections of a target.
#[derive(Clone, Copy)]
pub(crate) struct Column {
    pub(super) square: f32,
    pub(super) moved: f32,
}

/// Computes the [`folded`] sums of a tile: all targets at once, or one half of them after the other.
#[inline(always)]
fn tile_of<const WIDEST: bool>(
    xs: &[[f32; LANES]],
    ys: &[&[f32]; ABREAST],
    add: impl Fn(usize, f32, f32, f32) -> f32 + Copy,
) -> Tile {
    const HALF: usize = ABREAST / 2;
    if WIDEST {
        return folded(xs, ys, add);
    }
    let halves: [[[f32; LANES]; HALF]; 2] =
        [folded(xs, &ys[..HALF], add), folded(xs, &ys[HALF..], add)];
    std::array::from_fn(|k| halves[k / HALF][k % HALF])
}

/// Multiplies lengths by `share`, subtracts both errors, and converts to distances.
#[inline(always)]
fn lower(
    tile: &mut Tile,
    share: f32,
    moved: &[f32],
    columns: [Column; ABREAST],
    conversion: Conversion,
) {
    let square_share = (1.0 - single(3)) as f32;
    for (lengths, column) in tile.iter_mut().zip(columns) {
        for (length, moved) in lengths.iter_mut().zip(moved) {
            let low = (*length * share - (moved + column.moved)).max(0.0);
            // Squares of lengths from 10⁻¹⁵ stay above the limit of relative rounding errors.
            let low = if conversion.squared && low < 1e-15 { 0.0 } else { low };
            let low = if conversion.squared { low * low * square_share } else { low };
            let low = low * conversion.factor;
            // Below this limit, rounding errors are no longer relative.
            *length = if low > LEAST { low.min(FAR) } else { 0.0 };
        }
    }
}

for_fused_registers! {
    /// Computes lowered √(‖x‖² + ‖y‖² − 2⟨x, y⟩).
    by_products, by_products_fused, by_products_widest,
    (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], squares: &[f32], moved: &[f32],
     columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
        let mut tile =
            tile_of::<WIDEST>(xs, &ys, |_, x, y, sum| multiply_add::<FUSED>(x, y, sum));
        for (products, column) in tile.iter_mut().zip(columns) {
            for (product, square) in products.iter_mut().zip(squares) {
                *product = (square + column.square - 2.0 * *product).max(0.0).sqrt();
            }
        }
        lower(&mut tile, (1.0 - single(4)) as f32, moved, columns, conversion);
        tile
    }
}

/// Defines the kernels of a norm of differences, plain and wrapped.
macro_rules! by_differences {
    ($about:literal, $formula:ident, $roundings:expr, $name:ident, $fused:ident, $widest:ident,
     $wrapped:ident, $wrapped_fused:ident, $wrapped_widest:ident) => {
        for_fused_registers! {
            #[doc = $about]
            $name, $fused, $widest,
            (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], moved: &[f32],
             columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
                let mut tile = tile_of::<WIDEST>(xs, &ys, |_, x, y, sum| {
                    add_difference::<$formula, FUSED>(x - y, sum)
                });
                take_roots::<$formula>(&mut tile);
                let share = (1.0 - single($roundings(xs.len()) + 2)) as f32;
                lower(&mut tile, share, moved, columns, conversion);
                tile
            }
        }

        for_fused_registers! {
            #[doc = $about]
            #[doc = " Of wrapped differences."]
            $wrapped, $wrapped_fused, $wrapped_widest,
            (xs: &[[f32; LANES]], ys: [&[f32]; ABREAST], halves: &[f32], moved: &[f32],
             columns: [Column; ABREAST], conversion: Conversion) -> Tile, {
                let halves = &halves[..xs.len()];
                let mut tile = tile_of::<WIDEST>(xs, &ys, |k, x, y, sum| {
                    add_difference::<$formula, FUSED>(apart_single(x, y, halves[k]), sum)
                });
                take_roots::<$formula>(&mut tile);
                let share = (1.0 - single($roundings(xs.len()) + 2)) as f32;
                lower(&mut tile, share, moved, columns, conversion);
                tile
            }
        }
    };
}

by_differences! {
    "Lowered √Σ(x − y)².", LENGTH, sum_roundings, by_squares, by_squares_fused, by_squares_widest,
    by_wrapped_squares, by_wrapped_squares_fused, by_wrapped_squares_widest
}

by_differences! {
    "Lowered Σ|x − y|.", ABSOLUTES, sum_roundings,
    by_absolutes, by_absolutes_fused, by_absolutes_widest,
    by_wrapped_absolutes, by_wrapped_absolutes_fused, by_wrapped_absolutes_widest
}

by_differences! {
    "Lowered max|x − y|: no sum, and so as many roundings as none.", LARGEST, no_sum,
    by_largest, by_largest_fused, by_largest_widest,
    by_wrapped_largest, by_wrapped_largest_fused, by_wrapped_largest_widest
}

/// Returns the number of roundings of the largest difference, which does not depend on the number
/// of coordinates.
fn no_sum(_: usize) -> usize {
    sum_roundings(0)
}

/// Replaces sums of squares by lengths.
#[inline(always)]
fn take_roots<const FORMULA: u8>(tile: &mut Tile) {
    if FORMULA == LENGTH {
        tile.as_flattened_mut().iter_mut().for_each(|sum| *sum = sum.sqrt());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_of_any_width_give_the_same_bits() {
        let number = |at: usize| ((at * 7919) % 1013) as f32 / 517.0 - 1.0;
        let xs: Vec<[f32; LANES]> =
            (0..37).map(|i| std::array::from_fn(|lane| number(i * LANES + lane))).collect();
        let vectors: Vec<Vec<f32>> =
            (0..ABREAST).map(|k| (0..37).map(|i| number(31 * k + 3 * i + 5)).collect()).collect();
        let ys: [&[f32]; ABREAST] = std::array::from_fn(|k| &vectors[k][..]);
        let add = |_, x, y, sum| multiply_add::<true>(x, y, sum);
        let wide = tile_of::<true>(&xs, &ys, add);
        assert_eq!(wide, tile_of::<false>(&xs, &ys, add));
    }
}
