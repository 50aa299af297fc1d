//! Clusters of points with coordinates, represented by a center and a spread.
//!
//! The mean of ‖x − y‖² over two clusters is ‖c₁ − c₂‖² + v₁ + v₂, with v the mean squared distance
//! to the own center: no point is read again. For squared distances and the cosine this is the mean
//! distance itself; for Euclidean distances its root is the root mean square. For Manhattan
//! distances every axis has its own spread, and the mean of |x − y| along it is approximated by
//! √((c₁ − c₂)² + 2/π·(v₁ + v₂)). This is exact for two points, for clusters far apart, and for
//! normal distributions with the same center. The largest of these means approximates the mean of
//! the largest difference. Centers of periodic coordinates lie on the shorter path between those of
//! their parts.

use super::Clusters;
use super::knn;
use crate::error::Result;
use crate::metric::period::{signed_difference, wrapped};
use crate::metric::{Kernel, PointMetric};
use crate::numeric::scale;
use crate::progress::tasks::DISTANCES;
use crate::progress::{Counter, Progress};

/// Clusters with a center and a spread each.
pub(super) struct ClusterCenters {
    point_metric: PointMetric,
    dim: usize,
    /// Centers, row by row.
    at: Vec<f64>,
    /// One number per cluster, or one per cluster and axis.
    spread: Vec<f64>,
    size: Vec<f64>,
    /// Half periods of periodic coordinates.
    halves: Option<Vec<f64>>,
}

/// Returns the unit of coordinates in which squares are finite.
pub(super) fn unit(point_metric: PointMetric, vectors: &[f64]) -> f64 {
    if point_metric.degree() == 0 {
        return 1.0;
    }
    scale::of_largest(vectors.iter().map(|x| x.abs()))
}

/// Returns whether clusters have a spread for every axis, instead of one for all axes.
fn has_spread_by_axis(point_metric: PointMetric) -> bool {
    match point_metric.kernel() {
        Kernel::Products | Kernel::Squares => false,
        Kernel::Absolutes | Kernel::Largest => true,
    }
}

impl ClusterCenters {
    /// Creates clusters of one point each, with coordinates in a unit.
    pub(super) fn new(point_metric: PointMetric, dim: usize, vectors: &[f64], unit: f64) -> Self {
        let n = vectors.len() / dim;
        let axes = if has_spread_by_axis(point_metric) { dim } else { 1 };
        Self {
            point_metric,
            dim,
            at: vectors.iter().map(|x| x / unit).collect(),
            spread: vec![0.0; n * axes],
            size: vec![1.0; n],
            halves: None,
        }
    }

    /// Sets the half periods of periodic coordinates.
    pub(super) fn with_half_periods(self, halves: Option<&[f64]>, unit: f64) -> Self {
        Self {
            halves: halves.map(|halves| halves.iter().map(|half| half / unit).collect()),
            ..self
        }
    }

    pub(super) fn half_periods(&self) -> Option<&[f64]> {
        self.halves.as_deref()
    }

    /// Computes the signed difference x − y along the shorter path of an axis.
    pub(super) fn signed_difference(&self, x: f64, y: f64, axis: usize) -> f64 {
        self.halves.as_ref().map_or(x - y, |halves| signed_difference(x, y, halves[axis]))
    }

    pub(super) fn dim(&self) -> usize {
        self.dim
    }

    pub(super) fn center(&self, a: usize) -> &[f64] {
        &self.at[a * self.dim..(a + 1) * self.dim]
    }

    pub(super) fn centers(&self) -> &[f64] {
        &self.at
    }

    /// Returns the spreads over all axes; `None` if each axis has its own.
    pub(super) fn spreads(&self) -> Option<&[f64]> {
        (!has_spread_by_axis(self.point_metric)).then_some(&self.spread[..])
    }

    fn axes(&self, a: usize) -> &[f64] {
        &self.spread[a * self.dim..(a + 1) * self.dim]
    }

    /// Computes the kernel's sum for two clusters, an increasing function of their distance.
    pub(super) fn rank(&self, a: usize, b: usize) -> f64 {
        let (x, y) = (self.center(a), self.center(b));
        match self.point_metric.kernel() {
            Kernel::Products | Kernel::Squares => {
                let square = Kernel::Squares.sums(x, [y], self.half_periods())[0];
                square + (self.spread[a] + self.spread[b])
            }
            Kernel::Absolutes => self.means_along_axes(a, b).sum(),
            Kernel::Largest => self.means_along_axes(a, b).fold(0.0, f64::max),
        }
    }

    /// Computes the approximate mean difference of two clusters along every axis.
    fn means_along_axes(&self, a: usize, b: usize) -> impl Iterator<Item = f64> {
        let centers = self.center(a).iter().zip(self.center(b)).enumerate();
        let squares = centers.map(|(k, (&x, &y))| self.signed_difference(x, y, k).powi(2));
        let spreads = self.axes(a).iter().zip(self.axes(b)).map(|(v, w)| MEAN_ABSOLUTE * (v + w));
        squares.zip(spreads).map(|(square, spread)| (square + spread).sqrt())
    }
}

/// 2/π: the square of the mean of |z| for z normal.
const MEAN_ABSOLUTE: f64 = std::f64::consts::FRAC_2_PI;

impl Clusters for ClusterCenters {
    fn len(&self) -> usize {
        self.size.len()
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        let rank = self.rank(a, b);
        self.point_metric.of_sum(rank)
    }

    fn merge(&mut self, keeps: usize, gone: usize) {
        let total = self.size[keeps] + self.size[gone];
        let share = self.size[gone] / total;
        self.size[keeps] = total;
        let axes = self.spread.len() / self.size.len();
        // The mean of both spreads, and the contribution of the distance between the centers.
        for k in 0..axes {
            let (v, w) = (self.spread[keeps * axes + k], self.spread[gone * axes + k]);
            self.spread[keeps * axes + k] = v + share * (w - v);
        }
        for k in 0..self.dim {
            let (x, y) = (self.at[keeps * self.dim + k], self.at[gone * self.dim + k]);
            let way = self.signed_difference(y, x, k);
            let center = x + share * way;
            let half = self.halves.as_ref().map_or(f64::INFINITY, |halves| halves[k]);
            self.at[keeps * self.dim + k] = wrapped(center, half);
            let axis = if axes == 1 { 0 } else { k };
            self.spread[keeps * axes + axis] += share * (1.0 - share) * way * way;
        }
    }

    fn keep(&mut self, numbers: &[u32]) {
        let axes = self.spread.len() / self.size.len();
        self.at = rows(&self.at, self.dim, numbers);
        self.spread = rows(&self.spread, axes, numbers);
        self.size = rows(&self.size, 1, numbers);
    }

    fn order(&self) -> Option<Vec<u32>> {
        (self.len() > knn::EXACT).then(|| knn::order(self))
    }

    fn near(&self, k: usize, progress: &Progress<'_>) -> Result<Vec<(u32, u32)>> {
        knn::nearest(self, k, &Counter::new(DISTANCES, None, progress))
    }
}

fn rows(values: &[f64], width: usize, numbers: &[u32]) -> Vec<f64> {
    let row = |&c: &u32| &values[c as usize * width..(c as usize + 1) * width];
    let mut out = Vec::with_capacity(numbers.len() * width);
    for c in numbers {
        out.extend_from_slice(row(c));
    }
    out
}
