//! A potential of one measure that bounds its distances to all others.
//!
//! For a measure μ, a few Sinkhorn sweeps give duals u of its points that are nearly optimal
//! against a sample of the *mean* of the collection. They are extended to all points x in use: f(x)
//! = min_p d(p, x) − u_p. Then f(x) + u_p ≤ d(p, x) everywhere, so Σ ρf + Σ μu ≤ W₁(μ, ρ) for every
//! ρ on these points: one sparse sum for each measure of the collection. With u = 0 that is the
//! relaxed word mover's distance. The last step of the sweeps maximizes u on the sample, so that no
//! u_p can be raised without lowering f at a point of the sample.
//!
//! Neither step needs the triangle inequality, and both are minima, which round only once in single
//! precision: see [`crate::solve::single_problem`].

use super::IndexOptions;
use super::indexed_points::IndexedPoints;
use super::query_distances::QueryDistances;
use crate::error::Result;
use crate::measures::{Measure, Measures};
use crate::metric::GroundMetric;
use crate::numeric::rounding::{lowered_once, single};
use crate::solve::single_problem::SingleProblem;

/// Sample of the mean of a collection, against which potentials are made.
#[derive(Clone, Debug, Default)]
pub(super) struct Reference {
    pub(super) points: Vec<usize>,
    pub(super) mass: Vec<f32>,
    /// Mean distance between the points, in multiples of the unit of the indexed points.
    pub(super) scale: f32,
}

/// Regularizations ε of the sweeps against the reference, in mean distances of its points.
const BLURS: [f32; 3] = [0.2, 0.1, 0.05];

/// Number of sweeps for each of [`BLURS`].
const SWEEPS: usize = 4;

/// Maximum number of points of a reference.
const MOST_POINTS: usize = 1 << 16;

impl Reference {
    /// Draws the reference of an index from the mean of all measures by systematic sampling; its
    /// scale has to be set.
    pub(super) fn for_index(
        metric: &GroundMetric,
        measures: &Measures,
        options: &IndexOptions,
    ) -> Self {
        let size = options.reference.clamp(1, MOST_POINTS);
        let mut mean = vec![0.0; metric.points()];
        for measure in measures.iter() {
            measure.iter().for_each(|(point, mass)| mean[point] += mass / measure.total());
        }
        let total: f64 = mean.iter().sum();
        let (mut points, mut mass) = (Vec::new(), Vec::new());
        let (mut below, mut drawn) = (0.0, 0);
        for (point, share) in mean.iter().enumerate() {
            below += share / total;
            let first = drawn;
            while drawn < size && (drawn as f64 + 0.5) < below * size as f64 {
                drawn += 1;
            }
            if drawn > first {
                points.push(point);
                mass.push((drawn - first) as f32 / size as f32);
            }
        }
        Self { points, mass, scale: 1.0 }
    }

    /// Sets the scale of regularizations from the typical distance and the unit of distances.
    pub(super) fn set_scale(&mut self, typical: f64, unit: f64) {
        let scale = (0.8 * typical / unit) as f32;
        self.scale = if scale.is_normal() { scale } else { 1.0 };
    }

    /// Drops points whose columns are not in `columns`, and normalizes the remaining masses.
    pub(super) fn keep_points(&mut self, columns: &[u32], indexed: &IndexedPoints) {
        // The points of the reference have the first columns.
        let count = self.points.len();
        let kept: Vec<usize> =
            columns.iter().map(|&column| column as usize).take_while(|&at| at < count).collect();
        if kept.len() == count {
            return;
        }
        let total: f32 = kept.iter().map(|&at| self.mass[at]).sum();
        self.mass = kept.iter().map(|&at| self.mass[at] / total).collect();
        self.points = kept.iter().map(|&at| indexed.points[at] as usize).collect();
    }

    /// Computes the mean distance between every third point of the sample.
    pub(super) fn typical_distance(&self, metric: &GroundMetric) -> f64 {
        let some: Vec<usize> = self.points.iter().copied().step_by(3).collect();
        let mut distances = vec![0.0; some.len() * some.len()];
        metric.block(&some, &some, &mut distances);
        let pairs = some.len() * some.len().saturating_sub(1);
        // Divide first, because the sum may overflow.
        distances.iter().map(|d| d / pairs.max(1) as f64).sum()
    }

    /// Finds duals of a measure's points that are nearly optimal against the reference: the `v` of
    /// `problem`; `u` are then the duals of the reference.
    pub(super) fn find_duals(
        &self,
        indexed: &IndexedPoints,
        measure: &Measure<'_>,
        distances: &mut QueryDistances,
        problem: &mut SingleProblem,
    ) -> Result<()> {
        // The points of the reference have the first columns.
        let columns = 0..self.points.len() as u32;
        distances.add(indexed, columns.clone())?;
        problem.begin(measure.masses().iter().map(|mass| (mass / measure.total()) as f32));
        for (column, &mass) in columns.zip(&self.mass) {
            problem.push(mass, distances.to(column));
        }
        self.sweep(problem);
        Ok(())
    }

    /// Sweeps against the reference and then raises the duals to the limit.
    pub(super) fn sweep(&self, problem: &mut SingleProblem) {
        for blur in BLURS {
            problem.sweep(blur * self.scale, (1, SWEEPS), &|| true);
        }
        problem.set_targets();
        problem.set_sources();
    }
}

/// A measure's potential on its own points and on all points in use, in multiples of the unit of
/// the indexed points, for a total mass of 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Potential {
    /// Duals u of the measure's own points.
    pub(super) own: Vec<f32>,
    /// Σ μu.
    pub(super) constant: f64,
    /// Potential f at the points in use.
    pub(super) f: Vec<f32>,
    /// Largest |f|.
    pub(super) largest: f32,
}

impl Potential {
    /// Sets the duals of a measure's points.
    pub(super) fn set_own(&mut self, measure: &Measure<'_>, duals: impl Iterator<Item = f32>) {
        self.own.clear();
        self.own.extend(duals.take(measure.masses().len()));
        let own = measure.masses().iter().zip(&self.own);
        self.constant = own.map(|(mass, &own)| mass / measure.total() * f64::from(own)).sum();
    }

    /// Extends the duals to all points in use.
    pub(super) fn extend(
        &mut self,
        indexed: &IndexedPoints,
        measure: &Measure<'_>,
        distances: &mut QueryDistances,
    ) -> Result<()> {
        if indexed.by_search {
            self.extend_by_search(indexed, measure);
        } else {
            self.f.resize(indexed.used, 0.0);
            distances.c_transform(indexed, &self.own, &mut self.f)?;
            self.f.iter_mut().for_each(|f| *f = lowered_once(*f));
        }
        self.largest = self.f.iter().fold(0.0, |most: f32, f| most.max(f.abs()));
        Ok(())
    }

    /// Extends by one search of a graph from all points of the measure: f is then 1-Lipschitz up to
    /// the rounding of sums, and −f is a dual of the measure's own points.
    fn extend_by_search(&mut self, indexed: &IndexedPoints, measure: &Measure<'_>) {
        let mut values = vec![f64::MAX / 4.0; indexed.metric.points()];
        for ((point, _), &u) in measure.iter().zip(&self.own) {
            values[point] = -f64::from(u) * indexed.unit;
        }
        indexed.metric.make_lipschitz(&mut values);
        let at = |point: usize| (values[point] / indexed.unit) as f32;
        let used = &indexed.points[..indexed.used];
        let largest = used.iter().fold(0.0, |most: f32, &point| most.max(at(point as usize).abs()));
        // One rounding of each, and those of the sums, which are in double precision.
        let slack = single(8) as f32 * largest;
        self.f.clear();
        self.f.extend(used.iter().map(|&point| at(point as usize) - slack));
        self.set_own(measure, measure.support().iter().map(|&p| lowered_once(-at(p as usize))));
    }
}
