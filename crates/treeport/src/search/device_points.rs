//! The points of a collection for a device that bounds likely neighbors, in single precision.

use crate::metric::kernels::formulas::Formula;
use crate::metric::kernels::frame::Frame;
use crate::metric::{GroundMetric, PointMetric};
use crate::numeric::rounding::TOTALS;

/// Points in single precision, with a bound of the rounding error of their costs.
#[derive(Clone, Debug)]
pub struct DevicePoints {
    /// The formula of costs, by its name on devices: `length`, `absolutes`, `square` or `largest`.
    pub formula: &'static str,
    /// Coordinates relative to a center, in multiples of a unit, one point after the other.
    pub coordinates: Vec<f32>,
    /// Cost of one unit, lowered by the rounding error of its product with a bound.
    pub unit_cost: f64,
    /// Upper bound of the rounding error of a cost, before its product with `unit_cost`.
    pub lost: f64,
    /// Whether shared mass stays in place.
    pub stays_put: bool,
}

impl DevicePoints {
    /// Lays out the points of a metric; nothing for a metric that devices do not bound.
    pub fn new(metric: &GroundMetric) -> Option<Self> {
        let ((dim, all), kind) = (metric.coordinates()?, metric.point_metric()?);
        // Costs of other metrics are not those of their coordinates.
        let is_plain = kind.norm().is_some() || kind == PointMetric::SqEuclidean;
        if !is_plain || metric.period().is_some() {
            return None;
        }
        let (formula, _) = Formula::of(kind)?;
        let vectors = all.chunks_exact(dim);
        let frame = Frame::around(dim, vectors.clone(), None);
        let mut coordinates = vec![0.0; all.len()];
        for (vector, out) in vectors.zip(coordinates.chunks_exact_mut(dim)) {
            frame.round(vector, out);
        }
        let unit = if formula == Formula::Square { frame.unit * frame.unit } else { frame.unit };
        Some(Self {
            formula: formula.name()?,
            coordinates,
            unit_cost: unit * (1.0 - TOTALS),
            lost: formula.lost(dim, false),
            stays_put: metric.is_metric(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solve::exact::random::random;

    /// The cost of two rows as a device computes it.
    fn cost(formula: &str, x: &[f32], y: &[f32]) -> f32 {
        let apart = x.iter().zip(y).map(|(x, y)| (x - y).abs());
        match formula {
            "absolutes" => apart.sum(),
            "largest" => apart.fold(0.0, f32::max),
            "square" => apart.map(|x| x * x).sum(),
            _ => apart.map(|x| x * x).sum::<f32>().sqrt(),
        }
    }

    #[test]
    fn no_cost_is_farther_off_than_it_says() {
        let mut random = random(5);
        let kinds = [
            PointMetric::Euclidean,
            PointMetric::SqEuclidean,
            PointMetric::Manhattan,
            PointMetric::Chebyshev,
        ];
        for (kind, dim) in kinds.into_iter().flat_map(|kind| [1, 3, 40, 300].map(|dim| (kind, dim)))
        {
            for (place, size) in [(0.0, 1.0), (1e4, 1e-3), (-7.0, 1e100)] {
                let count = 30;
                let coordinates = (0..count * dim).map(|_| place + size * random()).collect();
                let metric = GroundMetric::from_points(dim, coordinates, kind).unwrap();
                let points = DevicePoints::new(&metric).unwrap();
                let row = |i: usize| &points.coordinates[i * dim..(i + 1) * dim];
                assert!(points.coordinates.iter().all(|x| x.abs() <= 2.0));
                let mut most: f64 = 0.0;
                for (i, j) in (0..count).flat_map(|i| (0..i).map(move |j| (i, j))) {
                    let ours = f64::from(cost(points.formula, row(i), row(j)));
                    most = most.max((ours - metric.distance(i, j) / points.unit_cost).abs());
                }
                assert!(most <= points.lost, "{kind} {dim} {place} {size}: {most} {}", points.lost);
            }
        }
        let cosine = GroundMetric::from_points(2, vec![1.0, 2.0, 3.0, 4.0], PointMetric::Cosine);
        assert!(DevicePoints::new(&cosine.unwrap()).is_none());
    }
}
