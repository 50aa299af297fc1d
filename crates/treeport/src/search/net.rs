//! Nets over the points of clouds: a subset of the points such that most mass is near one of them.
//!
//! Clouds share no points, so a table of their potentials at all points would grow with the square
//! of the collection; it is made at the points of a net instead. A potential g is 1-Lipschitz, so
//! at a point x of a query it is at least g(z) − d(x, z), where z is the point of the net nearest
//! to x: the bound of a cloud loses exactly the cost of moving the query to the net.
//!
//! Cells are boxes of points; the cell with the largest mass times extent is cut in two at the mean
//! of its widest axis, until there are K cells. O(n·dim·log K) if the cells have about equal mass.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::metric::GroundMetric;
use crate::numeric::order::Total;

/// A contiguous range of the points, with its axis of largest extent; the greatest is split next.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Cell {
    /// Estimated loss if one point represents all: mass times extent.
    loss: Total,
    /// Range of the points in the list of all.
    first: Reverse<usize>,
    end: usize,
    axis: usize,
    mean: Total,
}

/// Returns at most `most` points of a metric with coordinates, the one nearest to the middle of
/// each cell. There are fewer if points coincide, and none without coordinates. `mass` has one
/// entry per point.
pub(super) fn centers(metric: &GroundMetric, mass: &[f64], most: usize) -> Vec<u32> {
    let Some((dim, vectors)) = metric.vectors() else { return Vec::new() };
    let mut points: Vec<u32> = (0..mass.len() as u32).collect();
    let cell = |points: &[u32], first: usize, end: usize| {
        let (axis, extent, mean) = widest(dim, vectors, mass, &points[first..end]);
        let all: f64 = points[first..end].iter().map(|&p| mass[p as usize]).sum();
        Cell { loss: Total(all * extent), first: Reverse(first), end, axis, mean: Total(mean) }
    };
    let mut cells = BinaryHeap::from([cell(&points, 0, mass.len())]);
    while cells.len() < most && cells.peek().is_some_and(|cell| cell.loss.0 > 0.0) {
        let Some(Cell { first: Reverse(first), end, axis, mean, .. }) = cells.pop() else { break };
        let is_low = |point: usize| vectors[point * dim + axis] <= mean.0;
        let cut = first + partition(&mut points[first..end], is_low);
        cells.extend([cell(&points, first, cut), cell(&points, cut, end)]);
    }
    let mut cells = cells.into_vec();
    cells.sort_by_key(|cell| cell.first.0);
    let center = |cell: &Cell| middle(dim, vectors, mass, &points[cell.first.0..cell.end]);
    cells.iter().filter_map(center).collect()
}

/// Returns the axis of largest extent, the extent, and the mean of the points on it, which is below
/// their maximum.
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

/// Moves the points for which `holds` is true to the front; returns their number.
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

/// Returns the point nearest to the mean of some; the first in a tie.
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
        /// Centers are distinct points with mass: as many as requested, or all distinct ones.
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
