//! Plans of lines in the full metric, and certified bounds of W₁.
//!
//! The plan that sorts two clouds along a line is a plan in the space, too, and its cost there is an
//! upper bound of W₁. Lower bounds are W₁ on any line and, for norms, the distance of the means. In
//! terms of squares (cosine) a bound s of the chord gives s²/2, by Jensen's inequality.

use crate::metric::Norm;
use crate::numeric::rounding::{INTERVAL, double};
use crate::space::lines::length;
use crate::space::partitions::Partition;
use crate::space::rows::{Features, LARGEST, MEAN_OF_CELLS, MEAN_OF_LINES, MEANS, Row};
use crate::space::{Space, SpaceMethod};

/// The points of a cloud in the order of each line.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct PlanRow {
    vectors: Vec<f64>,
    masses: Vec<f64>,
    /// Points in the order of each line, one line after the other.
    pub(super) order: Vec<u32>,
    /// Keys of the points in each partition, sorted, one partition after the other.
    pub(super) keys: Vec<(u128, u32)>,
    /// Sum of mass times vector.
    moment: Vec<f64>,
    /// Largest Σ |xₖ| of a point plus that of a landmark: at least half of each distance, and the
    /// size that values on lines are rounded relative to.
    size: f64,
}

impl PlanRow {
    pub(super) fn new(space: &Space, vectors: &[f64], masses: &[f64]) -> Self {
        let dim = space.vector_dim;
        let mut moment = vec![0.0; dim];
        for (x, mass) in vectors.chunks_exact(dim).zip(masses) {
            moment.iter_mut().zip(x).for_each(|(sum, x)| *sum += mass * x);
        }
        let size = vectors.chunks_exact(dim).map(|x| length(Norm::L1, x)).fold(0.0, f64::max);
        let size = size + space.lines.largest_landmark(dim);
        let (vectors, masses) = (vectors.to_vec(), masses.to_vec());
        let order = Vec::with_capacity(space.lines.len() * masses.len());
        let keys = Vec::with_capacity(space.partitions.len() * masses.len());
        Self { vectors, masses, order, keys, moment, size }
    }

    /// Returns the points of a line or a partition, in order: one of several lists of equal length.
    fn list<'a, T>(&self, all: &'a [T], k: usize) -> &'a [T] {
        &all[k * self.masses.len()..(k + 1) * self.masses.len()]
    }
}

/// Two clouds between which plans move mass.
struct Both<'a> {
    left: &'a PlanRow,
    right: &'a PlanRow,
    /// Factors of both clouds' masses, which make their totals equal.
    shares: [f64; 2],
    space: &'a Space,
}

impl Both<'_> {
    fn left_mass(&self, point: u32) -> f64 {
        self.shares[0] * self.left.masses[point as usize]
    }

    fn right_mass(&self, point: u32) -> f64 {
        self.shares[1] * self.right.masses[point as usize]
    }

    /// Moves mass between two lists in order until one of them has no more; returns the cost. What is
    /// left stays in the lists.
    fn match_in_order(&self, left: &mut Vec<(u32, f64)>, right: &mut Vec<(u32, f64)>) -> f64 {
        let dim = self.space.vector_dim;
        let at = |point: u32| point as usize * dim..(point as usize + 1) * dim;
        let (mut cost, mut i, mut j) = (0.0, 0, 0);
        while i < left.len() && j < right.len() {
            let ((p, have), (q, want)) = (left[i], right[j]);
            let moved = f64::min(have, want);
            let (x, y) = (&self.left.vectors, &self.right.vectors);
            cost += moved * self.space.between(&x[at(p)], &y[at(q)]);
            (left[i].1, right[j].1) = (have - moved, want - moved);
            i += usize::from(have <= want);
            j += usize::from(want <= have);
        }
        left.drain(..i);
        right.drain(..j);
        cost
    }

    /// Computes the cost of the plan that sorts both clouds along a line.
    fn along_line(&self, line: usize) -> f64 {
        let left = self.left.list(&self.left.order, line).iter();
        let right = self.right.list(&self.right.order, line).iter();
        let mut left: Vec<_> = left.map(|&p| (p, self.left_mass(p))).collect();
        let mut right: Vec<_> = right.map(|&q| (q, self.right_mass(q))).collect();
        self.match_in_order(&mut left, &mut right)
    }

    /// Computes the cost of the plan that matches as much mass as possible within the smallest
    /// cells of a partition, then the rest within the cells that contain them.
    fn within_cells(&self, k: usize) -> f64 {
        let partition = &self.space.partitions[k];
        let left = self.left.list(&self.left.keys, k);
        let right = self.right.list(&self.right.keys, k);
        // What is not matched yet in the open cell of each level; the first is the whole space.
        let mut open = vec![(Vec::new(), Vec::new()); partition.levels() + 1];
        let (mut cost, mut i, mut j, mut before) = (0.0, 0, 0, None::<u128>);
        loop {
            let from_left = match (left.get(i), right.get(j)) {
                (Some(p), Some(q)) => p.0 <= q.0,
                (Some(_), None) => true,
                (None, Some(_)) => false,
                (None, None) => break,
            };
            let key = if from_left { left[i].0 } else { right[j].0 };
            if let Some(before) = before.filter(|before| *before != key) {
                let bit = 127 - (before ^ key).leading_zeros() as usize;
                cost += self.close(partition, bit, &mut open);
            }
            before = Some(key);
            let finest = partition.levels();
            if from_left {
                open[finest].0.push((left[i].1, self.left_mass(left[i].1)));
                i += 1;
            } else {
                open[finest].1.push((right[j].1, self.right_mass(right[j].1)));
                j += 1;
            }
        }
        cost += self.close(partition, usize::MAX, &mut open);
        let (left, right) = &mut open[0];
        cost + self.match_in_order(left, right)
    }

    /// Matches the mass left in the cells that end where a bit of the key changes; returns the
    /// cost.
    fn close(&self, partition: &Partition, bit: usize, open: &mut [Unmatched]) -> f64 {
        let mut cost = 0.0;
        for level in (0..partition.levels()).rev().take_while(|&l| partition.shift(l) <= bit) {
            let (above, below) = open.split_at_mut(level + 1);
            let ((left, right), (outer_left, outer_right)) = (&mut below[0], &mut above[level]);
            cost += self.match_in_order(left, right);
            outer_left.append(left);
            outer_right.append(right);
        }
        cost
    }
}

/// Points of both clouds with mass that is not matched yet.
type Unmatched = (Vec<(u32, f64)>, Vec<(u32, f64)>);

/// Adds the features of plans; returns certified bounds of W₁.
pub(super) fn add_plans(a: &Row, b: &Row, space: &Space, features: &mut Features) -> [f64; 2] {
    let (Some(left), Some(right)) = (&a.plan, &b.plan) else { return [0.0, f64::INFINITY] };
    let metric = space.geometry.metric;
    // Totals may differ by roundings.
    let mass = a.total.min(b.total);
    let shares = [mass / a.total, mass / b.total];
    let both = Both { left, right, shares, space };
    let mut least = f64::INFINITY;
    let mut add = |costs: Vec<f64>, place: usize| {
        if costs.is_empty() {
            return;
        }
        features[place] = costs.iter().sum::<f64>() / costs.len() as f64;
        features[place + 1] = costs.into_iter().fold(f64::INFINITY, f64::min);
        least = least.min(features[place + 1]);
    };
    add((0..space.lines.len()).map(|line| both.along_line(line)).collect(), MEAN_OF_LINES);
    if space.method == SpaceMethod::Lifted {
        add((0..space.partitions.len()).map(|k| both.within_cells(k)).collect(), MEAN_OF_CELLS);
    }
    let radius = metric.radius().unwrap_or(1.0);
    if space.halves.is_none() {
        let moments = left.moment.iter().zip(&right.moment);
        let moved: Vec<f64> = moments.map(|(x, y)| shares[0] * x - shares[1] * y).collect();
        features[MEANS] = radius * length(metric.norm().unwrap_or(Norm::L2), &moved);
    }
    // Roundings of a value on a line or a coordinate of a moment, and of sums of masses, each times
    // the largest distance that it may count for; twice, because the points of both clouds do.
    let roundings = left.masses.len() + right.masses.len() + 2 * space.vector_dim + 16;
    let uncertain = double(roundings) * mass + (a.total - b.total).abs();
    let slack = 2.0 * uncertain * radius * (left.size + right.size);
    let lower = |bound: f64| {
        let bound = (bound * (1.0 - INTERVAL) - slack).max(0.0);
        // Squares are of unit mass.
        metric.square_share().map_or(bound, |share| share * bound * bound / mass)
    };
    let upper = least * (1.0 + INTERVAL) + slack;
    [f64::max(lower(features[LARGEST]), lower(features[MEANS])).min(upper), upper]
}
