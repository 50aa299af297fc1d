//! Sums over the coordinates of two vectors, in an order that is always the same.

use crate::metric::points::period::apart;
use crate::numeric::wide_registers::return_if_detected;

/// Sum over the coordinates of two vectors, and the way blocks of such sums are computed.
///
/// Every kernel matches on it without a wildcard, so that a new variant is a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// Σ (xₖ − yₖ)²; blocks as ‖x‖² + ‖y‖² − 2⟨x, y⟩, by a matrix product where that is faster.
    Products,
    /// Σ (xₖ − yₖ)² from differences, where a product would round too much.
    Squares,
    /// Σ |xₖ − yₖ|.
    Absolutes,
    /// max |xₖ − yₖ|, which takes the place of a sum.
    Largest,
}

impl Kernel {
    /// Computes the sum for one pair.
    pub(crate) fn sum(self, x: &[f64], y: &[f64]) -> f64 {
        self.sums(x, [y], None)[0]
    }

    /// Computes sums for one x and several y, wrapped where there are half periods.
    #[inline]
    pub(crate) fn sums<const K: usize>(
        self,
        x: &[f64],
        ys: [&[f64]; K],
        halves: Option<&[f64]>,
    ) -> [f64; K] {
        if let Some(halves) = halves {
            return ys.map(|y| self.wrapped_sum(x, y, halves));
        }
        match self {
            Self::Products | Self::Squares => squares(x, ys),
            Self::Absolutes => sums(x, ys, |a, b| (a - b).abs()),
            Self::Largest => ys.map(|y| largest(x, y)),
        }
    }

    /// Computes the sum for one pair of wrapped coordinates.
    fn wrapped_sum(self, x: &[f64], y: &[f64], halves: &[f64]) -> f64 {
        let apart = |((&x, &y), &half): ((&f64, &f64), &f64)| apart(x, y, half);
        let all = x.iter().zip(y).zip(halves).map(apart);
        match self {
            Self::Products | Self::Squares => all.map(|d| d * d).sum(),
            Self::Absolutes => all.sum(),
            Self::Largest => all.fold(0.0, |most, d| if d > most { d } else { most }),
        }
    }

    /// Checks whether inner products may replace differences.
    pub(crate) fn supports_products(self) -> bool {
        match self {
            Self::Products => true,
            Self::Squares | Self::Absolutes | Self::Largest => false,
        }
    }
}

/// Computes max |xₖ − yₖ| in lanes.
fn largest(x: &[f64], y: &[f64]) -> f64 {
    let more = |most: f64, x: f64, y: f64| {
        let apart = (x - y).abs();
        if apart > most { apart } else { most }
    };
    let ((xs, x_rest), (ys, y_rest)) = (x.as_chunks::<LANES>(), y.as_chunks::<LANES>());
    if xs.is_empty() {
        return x_rest.iter().zip(y_rest).fold(0.0, |most, (&x, &y)| more(most, x, y));
    }
    let mut most = [0.0; LANES];
    for (x, y) in xs.iter().zip(ys) {
        for lane in 0..LANES {
            most[lane] = more(most[lane], x[lane], y[lane]);
        }
    }
    let rest = x_rest.iter().zip(y_rest).fold(0.0, |most, (&x, &y)| more(most, x, y));
    most.into_iter().fold(rest, f64::max)
}

/// Sum of squares below which digits, or all of them, may be lost to underflow.
pub(crate) const VANISHING_SQUARE: f64 = 1e-280;

/// Number of lanes of a sum: the order is fixed, and the compiler can use vector registers.
const LANES: usize = 8;

/// Groups of lanes that one sum adds before the next sum does: few enough that a processor overlaps
/// the additions of several sums.
const TURN: usize = 8;

/// Computes Σ (xₖ − yₖ)² for several y.
fn squares<const K: usize>(x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
    if x.len() >= WIDE {
        return_if_detected!("avx2" => squares_avx2(x, ys));
    }
    sums(x, ys, |a, b| (a - b) * (a - b))
}

/// Computes [`squares`] with wider registers: the same bits in half the time.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn squares_avx2<const K: usize>(x: &[f64], ys: [&[f64]; K]) -> [f64; K] {
    sums(x, ys, |a, b| (a - b) * (a - b))
}

/// Number of coordinates from which detecting the processor's features pays off.
const WIDE: usize = 32;

/// Computes Σ term(xₖ, yₖ) in a fixed order.
pub(crate) fn in_lanes(x: &[f64], y: &[f64], term: impl Fn(f64, f64) -> f64) -> f64 {
    sums(x, [y], term)[0]
}

/// Computes [`in_lanes`] of several y, compiled for its caller's processor.
#[inline(always)]
fn sums<const K: usize>(x: &[f64], ys: [&[f64]; K], term: impl Fn(f64, f64) -> f64) -> [f64; K] {
    let (xs, x_rest) = x.as_chunks::<LANES>();
    let chunks = ys.map(|y| y.as_chunks::<LANES>().0);
    let mut sums = [[0.0; LANES]; K];
    for (turn, xs) in xs.chunks(TURN).enumerate() {
        for k in 0..K {
            for (x, y) in xs.iter().zip(&chunks[k][turn * TURN..]) {
                for lane in 0..LANES {
                    sums[k][lane] += term(x[lane], y[lane]);
                }
            }
        }
    }
    std::array::from_fn(|k| {
        let rest = x_rest.iter().zip(&ys[k][x.len() - x_rest.len()..]);
        sums[k].iter().sum::<f64>() + rest.map(|(&a, &b)| term(a, b)).sum::<f64>()
    })
}

#[cfg(test)]
mod tests {
    use super::{in_lanes, squares};

    #[test]
    fn newer_processors_give_the_same_bits() {
        let wave = |k: usize| (k as f64 * 0.7).sin() * f64::from(1 << (k % 7));
        for dim in [1, 7, 8, 33, 300] {
            let (x, y): (Vec<_>, Vec<_>) = (0..dim).map(|k| (wave(k), wave(k + 1000))).unzip();
            assert_eq!(squares(&x, [&y]), [in_lanes(&x, &y, |a, b| (a - b) * (a - b))]);
        }
    }
}
