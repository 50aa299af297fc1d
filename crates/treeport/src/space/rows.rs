//! Rows of clouds, and the features of two of them.

use std::ops::Range;

use crate::measures::Measure;
use crate::numeric::order::NumberOrder;
use crate::space::Space;
use crate::space::centers::{WIDTHS, manhattan};
use crate::space::partitions::{GRID_LEVELS, Masses, merged};
use crate::space::plans::PlanRow;

/// Mean over lines of W₁ on the line, inside of the regions of the fit.
pub(super) const INSIDE: usize = 0;
/// Mean over lines of W₁ on the line, outside of the regions of the fit.
pub(super) const OUTSIDE: usize = 1;
/// Mean over partitions of the mass that leaves the cells of each level.
pub(super) const LEVELS: Range<usize> = 2..2 + GRID_LEVELS;
/// Mean cost of the plans of the lines.
pub(super) const MEAN_OF_LINES: usize = LEVELS.end;
/// Least cost of the plans of the lines.
pub(super) const LEAST_OF_LINES: usize = LEVELS.end + 1;
/// Mean cost of the plans of the partitions.
pub(super) const MEAN_OF_CELLS: usize = LEVELS.end + 2;
/// Least cost of the plans of the partitions.
pub(super) const LEAST_OF_CELLS: usize = LEVELS.end + 3;
/// Largest W₁ on a line.
pub(super) const LARGEST: usize = LEVELS.end + 4;
/// Distance of the means.
pub(super) const MEANS: usize = LEVELS.end + 5;
/// Flows, shares and moments of centers.
pub(super) const CENTERS: Range<usize> = LEVELS.end + 6..LEVELS.end + 6 + CENTERED;
/// Number of features of centers.
pub(super) const CENTERED: usize = 2 + WIDTHS.len();
/// Number of features.
pub(super) const FEATURES: usize = CENTERS.end;

/// Features of two clouds.
pub(crate) type Features = [f64; FEATURES];

/// Masses of a cloud on each line and in the cells of each partition.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) total: f64,
    pub(super) lines: Sorted<f64>,
    pub(super) cells: Sorted<u128>,
    /// Flows, shares and moments; empty without centers.
    pub(super) centered: Vec<f64>,
    pub(super) plan: Option<PlanRow>,
}

/// Several lists of masses at increasing, different places.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sorted<P> {
    ends: Vec<usize>,
    places: Vec<P>,
    masses: Vec<f64>,
}

impl<P: Copy + PartialEq> Sorted<P> {
    fn with_capacity(count: usize) -> Self {
        Self {
            ends: Vec::new(),
            places: Vec::with_capacity(count),
            masses: Vec::with_capacity(count),
        }
    }

    /// Appends a list of sorted places; masses at equal ones are summed.
    fn push(&mut self, list: impl Iterator<Item = (P, f64)>) {
        let start = self.places.len();
        for (place, mass) in list {
            match self.masses.last_mut() {
                Some(last) if self.places.len() > start && self.places.last() == Some(&place) => {
                    *last += mass;
                }
                _ => {
                    self.places.push(place);
                    self.masses.push(mass);
                }
            }
        }
        self.ends.push(self.places.len());
    }

    pub(super) fn list(&self, k: usize) -> Masses<'_, P> {
        let start = if k == 0 { 0 } else { self.ends[k - 1] };
        let range = start..self.ends[k];
        Masses { places: &self.places[range.clone()], masses: &self.masses[range] }
    }
}

impl Row {
    /// Creates the row of a cloud. `all` has the vectors of all points of its measure's ground set.
    /// Points are sorted first, so that no sum depends on their order.
    pub(super) fn new(space: &Space, cloud: &Measure<'_>, all: &[f64]) -> Self {
        let dim = space.vector_dim;
        let count = cloud.support().len();
        let (mut vectors, mut masses) =
            (Vec::with_capacity(count * dim), Vec::with_capacity(count));
        let at = |point: usize| &all[point * dim..][..dim];
        let mut points: Vec<(usize, f64)> = cloud.iter().collect();
        points.sort_unstable_by(|a, b| {
            // 0 and −0 are one place.
            let pairs = at(a.0).iter().zip(at(b.0));
            let mut axes = pairs.map(|(x, y)| (x + 0.0).total_cmp(&(y + 0.0)));
            axes.find(|axis| axis.is_ne()).unwrap_or_else(|| a.1.total_cmp(&b.1))
        });
        for (point, mass) in points {
            vectors.extend_from_slice(at(point));
            masses.push(mass);
        }
        let centers = space.centers.as_ref();
        let centered = centers.map(|centers| centers.row(space, &vectors, &masses));
        let mut plan = space.has_plans().then(|| PlanRow::new(space, &vectors, &masses));
        let mut lines = Sorted::with_capacity(space.lines.len() * count);
        let mut values = Vec::with_capacity(count);
        let mut order = NumberOrder::default();
        for line in 0..space.lines.len() {
            space.lines.values(space, line, &vectors, &mut values);
            order.sort(values.iter().copied());
            let places = order.places();
            lines.push(places.clone().map(|k| (values[k] + 0.0, masses[k])));
            if let Some(plan) = &mut plan {
                plan.order.extend(places.map(|k| k as u32));
            }
        }
        let mut cells = Sorted::with_capacity(space.partitions.len() * count);
        let mut keys: Vec<(u128, u32)> = Vec::with_capacity(count);
        for partition in &space.partitions {
            keys.clear();
            keys.extend(vectors.chunks_exact(dim).map(|x| partition.key(space, x)).zip(0..));
            keys.sort_unstable();
            cells.push(keys.iter().map(|&(key, k)| (key, masses[k as usize])));
            if let Some(plan) = &mut plan {
                plan.keys.extend_from_slice(&keys);
            }
        }
        Self { total: cloud.total(), lines, cells, centered: centered.unwrap_or_default(), plan }
    }

    /// Returns the values on a line in increasing order.
    pub(super) fn values(&self, line: usize) -> &[f64] {
        self.lines.list(line).places
    }

    /// Computes the features of two clouds, without those of plans.
    pub(super) fn features(&self, other: &Self, space: &Space) -> Features {
        let mut features = [0.0; FEATURES];
        let share = 1.0 / space.lines.len() as f64;
        for line in 0..space.lines.len() {
            let region = space.lines.regions[line];
            let (inside, outside) =
                on_a_line(self.lines.list(line), other.lines.list(line), region);
            features[INSIDE] += share * inside;
            features[OUTSIDE] += share * outside;
            features[LARGEST] = f64::max(features[LARGEST], inside + outside);
        }
        let share = 1.0 / space.partitions.len().max(1) as f64;
        let levels = &mut features[LEVELS];
        for (k, partition) in space.partitions.iter().enumerate() {
            partition.compare(self.cells.list(k), other.cells.list(k), levels);
        }
        for sum in levels {
            *sum *= share;
        }
        if let Some(centers) = &space.centers {
            let both =
                centers.parts(&self.centered).into_iter().zip(centers.parts(&other.centered));
            for (feature, (a, b)) in features[CENTERS].iter_mut().zip(both) {
                *feature = manhattan(a, b);
            }
        }
        features
    }
}

/// Computes W₁ on a line, split into the parts inside and outside of a region.
pub(super) fn on_a_line(a: Masses<'_, f64>, b: Masses<'_, f64>, region: [f64; 2]) -> (f64, f64) {
    let (mut inside, mut outside) = (0.0, 0.0);
    let (mut surplus, mut before) = (0.0_f64, f64::NAN);
    merged(a, b, |value, mass| {
        if surplus != 0.0 {
            let within = f64::max(0.0, value.min(region[1]) - before.max(region[0]));
            inside += surplus.abs() * within;
            if before < region[0] || value > region[1] {
                outside += surplus.abs() * (value - before - within).max(0.0);
            }
        }
        surplus += mass;
        before = value;
    });
    (inside, outside)
}
