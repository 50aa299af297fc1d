//! A net over the points of clouds: some of the points, such that most mass is near one of them.
//!
//! Clouds have no points in common, so a table of their potentials at all points would grow with the square of
//! the collection. It is made at the points of a net instead. A potential g changes by no more than the way, so
//! at a point x of a query it is at least g(z) − d(x, z), z the point of the net nearest to x: the bound of a
//! cloud is less sharp by what it would cost to move the query to the net, and by nothing else.
//!
//! Cells are boxes of points; the one with the largest mass times extent is cut in two, at the mean of its widest
//! axis, until there are as many as asked for. O(n·dim·log K) for K cells of about the same mass.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use crate::metric::GroundMetric;

/// Some of the points, and what they mean together.
struct Cell {
    /// The points are these of the list of all.
    first: usize,
    end: usize,
    /// What is lost by taking one point for all, about.
    loss: f64,
    axis: usize,
    mean: f64,
}

impl Ord for Cell {
    fn cmp(&self, other: &Self) -> Ordering {
        self.loss.total_cmp(&other.loss).then(other.first.cmp(&self.first))
    }
}

impl PartialOrd for Cell {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cell {}

/// At most so many points of a metric with coordinates, one for each cell: the one nearest to its middle. Fewer
/// where points coincide; none where there are no coordinates. `mass` is that of every point.
pub(super) fn centers(metric: &GroundMetric, mass: &[f64], most: usize) -> Vec<u32> {
    let Some((dim, vectors)) = metric.vectors() else { return Vec::new() };
    let mut points: Vec<u32> = (0..mass.len() as u32).collect();
    let cell = |points: &[u32], first: usize, end: usize| {
        let (axis, extent, mean) = widest(dim, vectors, mass, &points[first..end]);
        let all: f64 = points[first..end].iter().map(|&p| mass[p as usize]).sum();
        Cell { first, end, loss: all * extent, axis, mean }
    };
    let mut cells = BinaryHeap::from([cell(&points, 0, mass.len())]);
    while cells.len() < most {
        if cells.peek().is_none_or(|cell| cell.loss <= 0.0) {
            break;
        }
        let Some(Cell { first, end, axis, mean, .. }) = cells.pop() else { break };
        let cut = first + partition(&mut points[first..end], |p| vectors[p * dim + axis] <= mean);
        cells.extend([cell(&points, first, cut), cell(&points, cut, end)]);
    }
    let mut cells = cells.into_vec();
    cells.sort_by_key(|cell| cell.first);
    let center = |cell: &Cell| middle(dim, vectors, mass, &points[cell.first..cell.end]);
    cells.iter().filter_map(center).collect()
}

/// The axis along which some points are spread the widest, how far, and their mean on it, which is below the
/// largest.
fn widest(dim: usize, vectors: &[f64], mass: &[f64], points: &[u32]) -> (usize, f64, f64) {
    let at = |axis: usize| points.iter().map(move |&p| vectors[p as usize * dim + axis]);
    let range = |axis: usize| {
        at(axis)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)))
    };
    let (mut best, mut low, mut high) = (0, 0.0, 0.0);
    for axis in 0..dim {
        let (least, most) = range(axis);
        if most - least > high - low {
            (best, low, high) = (axis, least, most);
        }
    }
    let all: f64 = points.iter().map(|&p| mass[p as usize]).sum();
    let shares = points.iter().map(|&p| mass[p as usize] / all);
    let mean = low + at(best).zip(shares).map(|(x, share)| share * (x - low)).sum::<f64>();
    (best, high - low, if (low..high).contains(&mean) { mean } else { low })
}

/// Puts those for which it holds first; how many they are.
fn partition(points: &mut [u32], holds: impl Fn(usize) -> bool) -> usize {
    let mut count = 0;
    for at in 0..points.len() {
        if holds(points[at] as usize) {
            points.swap(count, at);
            count += 1;
        }
    }
    count
}

/// The point nearest to the mean of some; the first of several.
fn middle(dim: usize, vectors: &[f64], mass: &[f64], points: &[u32]) -> Option<u32> {
    let all: f64 = points.iter().map(|&p| mass[p as usize]).sum();
    let mut mean = vec![0.0; dim];
    for &point in points {
        let vector = &vectors[point as usize * dim..][..dim];
        let share = mass[point as usize] / all;
        mean.iter_mut().zip(vector).for_each(|(mean, x)| *mean += share * x);
    }
    let off = |&point: &u32| -> f64 {
        let vector = &vectors[point as usize * dim..][..dim];
        vector.iter().zip(&mean).map(|(x, mean)| (x - mean) * (x - mean)).sum()
    };
    points.iter().copied().min_by(|a, b| off(a).total_cmp(&off(b)).then(a.cmp(b)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::PointMetric;

    proptest! {
        /// Every point is a center or has one in its cell; as many as asked for, or all that differ.
        #[test]
        fn centers_are_different_points(
            places in proptest::collection::vec(0..6u8, 1..60), most in 1..40usize,
        ) {
            let coordinates: Vec<f64> = places.iter().flat_map(|&p| [f64::from(p / 3), f64::from(p % 3)]).collect();
            let mass: Vec<f64> = (0..places.len()).map(|at| (at % 3) as f64).map(|m| m + 0.5).collect();
            let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
            let found = centers(&metric, &mass, most);
            let mut different = places.clone();
            different.sort_unstable();
            different.dedup();
            prop_assert_eq!(found.len(), most.min(different.len()));
            let mut of_found: Vec<u8> = found.iter().map(|&at| places[at as usize]).collect();
            of_found.sort_unstable();
            of_found.dedup();
            prop_assert_eq!(of_found.len(), found.len());
        }
    }
}
