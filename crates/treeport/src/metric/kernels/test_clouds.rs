//! Points on which tests compare kernels.

use proptest::prelude::*;

use crate::metric::{Geometry, PointMetric};

/// Generates clusters with close and equal points, of any location and size.
pub(super) fn clouds() -> impl Strategy<Value = (usize, Vec<f64>)> {
    let spread = prop::sample::select(vec![0.0, 1e-9, 1e-4, 1e-2, 1.0]);
    let size = prop::sample::select(vec![1e-120, 1e-9, 1.0, 1e9, 1e120]);
    let offset = prop::sample::select(vec![0.0, 1.0, 1e3, -1e7]);
    let dim =
        prop_oneof![8 => 1usize..6, 8 => 15usize..40, 4 => Just(300usize), 1 => Just(4096usize)];
    (dim, 2usize..40, spread, size, offset, any::<u64>()).prop_map(
        |(dim, n, spread, size, offset, seed)| {
            let mut state = seed | 1;
            let mut random = move || {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
            };
            let centers: Vec<f64> = (0..4 * dim).map(|_| random()).collect();
            let point = |e: usize| centers[(e / dim % 4) * dim + e % dim];
            let at = |e: usize, random: f64| size * (point(e) + spread * random + offset);
            (dim, (0..n * dim).map(|e| at(e, random())).collect())
        },
    )
}

/// Returns this metric, and where supported some with short and long periods.
fn geometries(metric: PointMetric, dim: usize, coordinates: &[f64]) -> Vec<Geometry> {
    let along = |k: usize| coordinates.iter().skip(k).step_by(dim).copied();
    let width = |k: usize| {
        along(k).fold(f64::NEG_INFINITY, f64::max) - along(k).fold(f64::INFINITY, f64::min)
    };
    let periods = |shares: [f64; 3]| -> Vec<Option<f64>> {
        let period = |k: usize| Some(shares[k % 3] * width(k)).filter(|&period| period > 1e-290);
        (0..dim).map(period).collect()
    };
    let some =
        [[1.3, 0.0, 0.4], [0.9, 1.1, 1.7]].map(|shares| metric.with_period(&periods(shares)));
    let with_periods = some.into_iter().filter(|geometry| geometry.half_periods(dim).is_ok());
    std::iter::once(metric.into()).chain(with_periods).collect()
}

/// Returns one of the [`geometries`].
pub(super) fn geometry(
    metric: PointMetric,
    dim: usize,
    coordinates: &[f64],
    which: usize,
) -> Geometry {
    let mut all = geometries(metric, dim, coordinates);
    all.swap_remove(which % all.len())
}
