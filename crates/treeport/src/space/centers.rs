//! Centers of the space, and the flows, shares and moments of clouds with respect to them.
//!
//! Lines are lower bounds, because mass that moves one way hides mass that moves the other way.
//! Cells cut the space at places that mean nothing. Centers (k-means of the points of the fit) add
//! what both lack, in any number of dimensions, and each is an ℓ₁ distance of vectors:
//!
//! - **flows**: mass flows along a graph of near centers as electrical current does. The currents
//!   are linear in the masses, and Σ length × |current| is the cost of *a* way to move the
//!   mass: an upper bound for clouds on the centers, where lines are lower bounds.
//! - **shares**: every point belongs to all centers that are at most a width farther away than the
//!   nearest. They are cells without boundaries, at two widths.
//! - **moments**: mass times displacement from the nearest center: motion within a cell.
//!
//! Mean relative errors on new clouds, 50 labels, five seeds (`treeport-lab bench space`):
//!
//! | | digits | jets | shapes | cells | jets, shapes, cells with other parameters |
//! | --- | --- | --- | --- | --- | --- |
//! | `space` without centers | 0.034 | 0.054 | 0.064 | 0.033 | 0.057, 0.097, 0.041 |
//! | **`space`** | 0.025 | 0.041 | 0.040 | 0.024 | 0.040, 0.052, 0.027 |
//! | `lifted` without centers | 0.022 | 0.025 | 0.041 | 0.010 | 0.049, 0.051, 0.010 |
//! | **`lifted`** | 0.018 | 0.023 | 0.032 | 0.009 | 0.040, 0.057, 0.013 |
//!
//! In a prototype, two seeds, `space` had 0.056, 0.069, 0.039 (jets, shapes, cells in R³⁰) without
//! centers; 0.042, 0.052, 0.035 without moments; 0.041, 0.048, 0.030 without shares; 0.041, 0.040,
//! 0.024 with all three.
//!
//! Tried there: 64 centers (6 to 7 % more error), 192 (a tenth less on jets and shapes, and longer
//! rows); conductances of the power −4 (5 % more error), −12 (the same); all pairs of centers in
//! place of near ones (the same, twelve times the edges). Lost: currents on a grid (as good in the
//! plane, none in R³⁰); distances from landmarks as further lines; differences of random waves.

use crate::build::kmeans::parts;
use crate::metric::PointMetric;
use crate::metric::period::signed_difference;
use crate::numeric::seed::Random;
use crate::numeric::wide_registers::for_wide_registers;
use crate::space::Space;
use crate::space::partitions::sampled;
use crate::space::rows::CENTERED;

/// Largest number of centers.
const CENTERS: usize = 128;

/// Number of neighbors that a center has edges to, apart from those of a spanning tree.
const NEIGHBORS: usize = 6;

/// Conductance of an edge: its length in typical ones to the power of −8.
const POWER: i32 = 8;

/// Largest ratio of lengths to typical ones that conductances tell apart, so that the inverse of
/// the Laplacian keeps eight digits.
const RATIO: f64 = 3.0;

/// Widths of shares, in median distances of two centers.
pub(super) const WIDTHS: [f64; 2] = [0.8, 1.6];

/// Displacements below this share of the distance of the nearest other center are roundings.
const NEGLIGIBLE: f64 = 1e-9;

/// Range of distances whose squares neither overflow nor lose digits.
const SQUARABLE: std::ops::Range<f64> = 1e-100..1e100;

/// Centers with the graph between them. Everything is a function of the centers.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Centers {
    /// Centers, one after the other.
    pub(crate) vectors: Vec<f64>,
    count: usize,
    dim: usize,
    /// Coordinates of all centers along each axis; empty if distances are not those of squares.
    axes: Vec<f64>,
    /// Inverse of the Laplacian without the last center.
    inverse: Vec<f64>,
    edges: Vec<Edge>,
    /// Distance of each center from the nearest other one.
    apart: Vec<f64>,
    /// Median distance of two centers.
    unit: f64,
}

/// An edge between two centers.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Edge {
    ends: [usize; 2],
    conductance: f64,
    length: f64,
}

impl Centers {
    /// Chooses centers by the points of the fit; `None` if all points are one.
    pub(super) fn new(space: &Space, points: &[f64], rng: &mut Random) -> Option<Self> {
        let members = sampled(points.len() / space.vector_dim, rng);
        let parts = parts(space.compared(points), &members, CENTERS, rng);
        let mut vectors: Vec<f64> = Vec::with_capacity(parts.len() * space.vector_dim);
        for (center, _) in parts {
            let is_new = |other: &[f64]| space.between(other, &center) > 0.0;
            if vectors.chunks_exact(space.vector_dim).all(is_new) {
                vectors.extend(center);
            }
        }
        Self::of(space, vectors)
    }

    /// Connects centers; `None` if there are not at least two different ones.
    pub(crate) fn of(space: &Space, vectors: Vec<f64>) -> Option<Self> {
        let dim = space.vector_dim;
        let count = vectors.len() / dim;
        let is_table = vectors.len() == count * dim && vectors.iter().all(|x| x.is_finite());
        if !(2..=CENTERS).contains(&count) || !is_table {
            return None;
        }
        let mut distances = vec![0.0; count * count];
        for i in 0..count {
            for j in 0..i {
                let d = space.between(&vectors[i * dim..][..dim], &vectors[j * dim..][..dim]);
                (distances[i * count + j], distances[j * count + i]) = (d, d);
            }
        }
        let others = |i: usize| (0..count).filter(move |&j| j != i).map(move |j| i * count + j);
        let least = |i| others(i).map(|k| distances[k]).fold(f64::INFINITY, f64::min);
        let apart: Vec<f64> = (0..count).map(least).collect();
        let all: Vec<f64> = (0..count).flat_map(others).map(|k| distances[k]).collect();
        let (unit, typical) = (median(all), median(apart.clone()));
        if !apart.iter().all(|d| *d > 0.0) || !unit.is_finite() {
            return None;
        }
        let edges = edges(&distances, count, typical);
        let inverse = inverse_laplacian(&edges, count);
        let is_plain = space.geometry.metric == PointMetric::Euclidean && space.halves.is_none();
        let axes = if is_plain && SQUARABLE.contains(&unit) {
            (0..dim).flat_map(|k| vectors[k..].iter().step_by(dim).copied()).collect()
        } else {
            Vec::new()
        };
        Some(Self { vectors, count, dim, axes, inverse, edges, apart, unit })
    }

    /// Returns the length of rows.
    pub(super) fn columns(&self) -> usize {
        self.ends()[CENTERED - 1]
    }

    /// Returns the ends of the parts of a row: flows, shares of each width, moments.
    fn ends(&self) -> [usize; CENTERED] {
        let mut end = self.edges.len();
        let mut ends = [end; CENTERED];
        for (k, at) in ends.iter_mut().enumerate().skip(1) {
            end += if k < CENTERED - 1 { self.count } else { self.count * self.dim };
            *at = end;
        }
        ends
    }

    /// Returns the part of every feature of a row, in the order of features.
    pub(super) fn parts<'a>(&self, row: &'a [f64]) -> [&'a [f64]; CENTERED] {
        let (mut start, ends) = (0, self.ends());
        ends.map(|end| &row[std::mem::replace(&mut start, end)..end])
    }

    /// Returns the widths of shares.
    pub(super) fn widths(&self) -> [f64; WIDTHS.len()] {
        WIDTHS.map(|width| width * self.unit)
    }

    /// Computes the row of a cloud; sums are in the order of its points.
    pub(super) fn row(&self, space: &Space, points: &[f64], masses: &[f64]) -> Vec<f64> {
        let (count, flows) = (self.count, self.edges.len());
        let mut row = vec![0.0; self.columns()];
        let (shares, moments) = row[flows..].split_at_mut(WIDTHS.len() * count);
        let (mut distances, mut weights) = (vec![0.0; count], vec![0.0; count]);
        let mut held = vec![0.0; count];
        for (x, &mass) in points.chunks_exact(self.dim).zip(masses) {
            self.distances(space, x, &mut distances);
            let nearest =
                (1..count).fold(0, |best, k| if distances[k] < distances[best] { k } else { best });
            held[nearest] += mass;
            for (width, out) in self.widths().into_iter().zip(shares.chunks_exact_mut(count)) {
                let near = [distances[nearest], 1.0 / width];
                add_shares(&distances, near, mass, &mut weights, out);
            }
            let moments = &mut moments[nearest * self.dim..][..self.dim];
            self.add_moment(space, nearest, x, mass, moments);
        }
        let potential = |k: usize| -> f64 {
            let Some(row) = self.inverse.chunks_exact(count - 1).nth(k) else { return 0.0 };
            dot(row, &held)
        };
        let potentials: Vec<f64> = (0..count).map(potential).collect();
        for (out, edge) in row.iter_mut().zip(&self.edges) {
            let [i, j] = edge.ends;
            *out = edge.length * edge.conductance * (potentials[i] - potentials[j]);
        }
        row
    }

    /// Adds mass times the displacement from a center. Displacements along an axis are at most the
    /// distance of the next center, so that clouds far away are as far as lines say.
    fn add_moment(&self, space: &Space, center: usize, x: &[f64], mass: f64, out: &mut [f64]) {
        let (from, most) = (&self.vectors[center * self.dim..][..self.dim], self.apart[center]);
        for (k, out) in out.iter_mut().enumerate() {
            let half = space.halves.as_ref().map_or(f64::INFINITY, |halves| halves[k]);
            let moved = signed_difference(x[k], from[k], half);
            if moved.abs() > NEGLIGIBLE * most {
                *out += mass * moved.clamp(-most, most);
            }
        }
    }

    fn distances(&self, space: &Space, x: &[f64], out: &mut [f64]) {
        if !self.axes.is_empty() {
            lengths(x, &self.axes, out);
        }
        // Squares of a point far from all centers overflow.
        if self.axes.is_empty() || out.iter().any(|distance| distance.is_infinite()) {
            for (out, center) in out.iter_mut().zip(self.vectors.chunks_exact(self.dim)) {
                *out = space.between(x, center).min(f64::MAX);
            }
        }
    }
}

/// Returns the edges of near neighbors and of a minimum spanning tree, in order.
fn edges(distances: &[f64], count: usize, typical: f64) -> Vec<Edge> {
    let row = |i: usize| &distances[i * count..][..count];
    let mut ends = Vec::new();
    for i in 0..count {
        let mut near: Vec<usize> = (0..count).filter(|&j| j != i).collect();
        near.sort_by(|&j, &k| row(i)[j].total_cmp(&row(i)[k]));
        ends.extend(near.iter().take(NEIGHBORS).map(|&j| [i.min(j), i.max(j)]));
    }
    // Prim's algorithm: the nearest connected center of each that is not connected.
    let mut nearest = vec![0; count];
    let mut open: Vec<usize> = (1..count).collect();
    while !open.is_empty() {
        let length = |i: usize| row(i)[nearest[i]];
        let shorter = |a: usize, b: usize| if length(open[b]) < length(open[a]) { b } else { a };
        let at = (1..open.len()).fold(0, shorter);
        let i = open.swap_remove(at);
        ends.push([i.min(nearest[i]), i.max(nearest[i])]);
        for &j in &open {
            if row(j)[i] < row(j)[nearest[j]] {
                nearest[j] = i;
            }
        }
    }
    ends.sort_unstable();
    ends.dedup();
    let edge = |ends: [usize; 2]| {
        let length = row(ends[0])[ends[1]];
        let conductance = (typical / length).clamp(1.0 / RATIO, RATIO).powi(POWER);
        Edge { ends, conductance, length }
    };
    ends.into_iter().map(edge).collect()
}

/// Computes the inverse of a connected graph's Laplacian without its last row and column, by
/// Gauss–Jordan elimination, which needs no pivoting for such matrices.
fn inverse_laplacian(edges: &[Edge], count: usize) -> Vec<f64> {
    let n = count - 1;
    let (mut laplacian, mut inverse) = (vec![0.0; n * n], vec![0.0; n * n]);
    for edge in edges {
        let [i, j] = edge.ends;
        for (i, j) in [(i, j), (j, i)].into_iter().filter(|of| of.0 < n) {
            laplacian[i * n + i] += edge.conductance;
            if j < n {
                laplacian[i * n + j] -= edge.conductance;
            }
        }
    }
    (0..n).for_each(|k| inverse[k * n + k] = 1.0);
    for k in 0..n {
        let pivot = 1.0 / laplacian[k * n + k];
        for matrix in [&mut laplacian, &mut inverse] {
            matrix[k * n..][..n].iter_mut().for_each(|x| *x *= pivot);
        }
        for i in (0..n).filter(|&i| i != k) {
            let by = laplacian[i * n + k];
            if by != 0.0 {
                subtract_row(&mut laplacian, n, (k, i), by);
                subtract_row(&mut inverse, n, (k, i), by);
            }
        }
    }
    inverse
}

/// Subtracts a multiple of one row of a square matrix from another.
fn subtract_row(matrix: &mut [f64], n: usize, (row, from): (usize, usize), by: f64) {
    let (head, tail) = matrix.split_at_mut(row.max(from) * n);
    let (low, high) = (&mut head[row.min(from) * n..][..n], &mut tail[..n]);
    let (row, from) = if row < from { (low, high) } else { (high, low) };
    from.iter_mut().zip(row).for_each(|(x, y)| *x -= by * *y);
}

/// Returns the median of values, the upper one of two.
fn median(mut values: Vec<f64>) -> f64 {
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

/// Number of sums that are computed side by side.
const LANES: usize = 8;

for_wide_registers! {
    /// Computes the Euclidean distances of a vector from all centers.
    lengths, wide_lengths, (x: &[f64], axes: &[f64], out: &mut [f64]), {
        out.fill(0.0);
        let count = out.len();
        for (x, axis) in x.iter().zip(axes.chunks_exact(count)) {
            for (sum, center) in out.iter_mut().zip(axis) {
                let apart = x - center;
                *sum += apart * apart;
            }
        }
        for sum in out {
            *sum = sum.sqrt();
        }
    }
}

for_wide_registers! {
    /// Divides a mass among all centers that are less than a width farther away than the nearest;
    /// `near` is the distance of the nearest and the inverse of the width.
    add_shares, wide_add_shares, (distances: &[f64], near: [f64; 2], mass: f64, weights: &mut [f64], out: &mut [f64]), {
        for (weight, distance) in weights.iter_mut().zip(distances) {
            let closeness = (1.0 - (distance - near[0]) * near[1]).max(0.0);
            *weight = closeness * closeness;
        }
        let mut sums = [0.0; LANES];
        let (chunks, rest) = weights.as_chunks::<LANES>();
        for chunk in chunks {
            for (sum, weight) in sums.iter_mut().zip(chunk) {
                *sum += weight;
            }
        }
        let total = sums.iter().sum::<f64>() + rest.iter().sum::<f64>();
        // The weight of the nearest is 1.
        let share = mass / total;
        for (out, weight) in out.iter_mut().zip(weights) {
            *out += share * *weight;
        }
    }
}

for_wide_registers! {
    /// Computes Σ |aₖ − bₖ|.
    manhattan, wide_manhattan, (a: &[f64], b: &[f64]) -> f64, {
        let mut sums = [0.0; LANES];
        let (a, rest) = a.as_chunks::<LANES>();
        let (b, other) = b.as_chunks::<LANES>();
        for (a, b) in a.iter().zip(b) {
            for ((sum, x), y) in sums.iter_mut().zip(a).zip(b) {
                *sum += (x - y).abs();
            }
        }
        let rest: f64 = rest.iter().zip(other).map(|(x, y)| (x - y).abs()).sum();
        sums.iter().sum::<f64>() + rest
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Currents conserve mass: the outflow of a center minus its inflow is its mass.
        #[test]
        fn currents_conserve_mass(points in vec((0.0..9.0, 0.0..9.0), 2..40), masses in vec(-1.0..1.0, 40)) {
            let n = points.len();
            let distance = |i: usize, j: usize| f64::hypot(points[i].0 - points[j].0, points[i].1 - points[j].1);
            let distances: Vec<f64> = (0..n * n).map(|k| distance(k / n, k % n)).collect();
            let edges = edges(&distances, n, 1.0);
            let inverse = inverse_laplacian(&edges, n);
            let potential = |k: usize| if k + 1 < n { dot(&inverse[k * (n - 1)..][..n - 1], &masses) } else { 0.0 };
            let mut left = masses[..n].to_vec();
            left[n - 1] = -masses[..n - 1].iter().sum::<f64>();
            for edge in &edges {
                let [i, j] = edge.ends;
                prop_assert!(i < j && edge.length == distance(i, j));
                let current = edge.conductance * (potential(i) - potential(j));
                left[i] -= current;
                left[j] += current;
            }
            prop_assert!(left.iter().all(|x| x.abs() < 1e-6), "{left:?}");
        }

        #[test]
        fn loops_for_wide_registers_are_the_plain_sums(x in vec(-3.0..3.0, 3), centers in vec(-3.0..3.0, 3 * 21), width in 0.1..5.0) {
            let axes: Vec<f64> = (0..3).flat_map(|k| centers[k..].iter().step_by(3).copied()).collect();
            let mut distances = vec![0.0; 21];
            lengths(&x, &axes, &mut distances);
            for (center, found) in centers.chunks(3).zip(&distances) {
                let length = center.iter().zip(&x).map(|(c, x)| (c - x).powi(2)).sum::<f64>().sqrt();
                prop_assert!((length - found).abs() < 1e-12);
            }
            let nearest = distances.iter().copied().fold(f64::INFINITY, f64::min);
            let (mut weights, mut shares) = (vec![0.0; 21], vec![0.0; 21]);
            add_shares(&distances, [nearest, 1.0 / width], 0.7, &mut weights, &mut shares);
            prop_assert!((shares.iter().sum::<f64>() - 0.7).abs() < 1e-12);
            for (share, distance) in shares.iter().zip(&distances) {
                let closeness: f64 = 1.0 - (distance - nearest) / width;
                prop_assert!(closeness.abs() < 1e-6 || (*share > 0.0) == (closeness > 0.0));
            }
            let plain: f64 = shares.iter().zip(&distances).map(|(a, b)| (a - b).abs()).sum();
            prop_assert!((manhattan(&shares, &distances) - plain).abs() < 1e-12);
        }
    }
}
