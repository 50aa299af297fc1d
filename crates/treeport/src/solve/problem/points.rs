//! Problems between points with coordinates; only points with mass are read.

use std::cmp::Ordering;
use std::ops::Range;

use super::matrix::MatrixView;
use crate::error::{Error, Result};
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::metric::period::{apart, relevant_halves, wrapped};
use crate::metric::{Geometry, GroundMetric, Kernel, MapCoordinates, PointMetric};
use crate::numeric::wide_registers::for_wide_registers;
use crate::solve::answer::{Answer, Potentials};
use crate::solve::exact::KeepGoing;
use crate::solve::exact::line::Line;
use crate::solve::potentials::c_transform;
use crate::solve::relax::Penalty;
use crate::solve::route::QUICK_ARCS;
use crate::solve::sides::compare;

/// Two measures on the points with mass, with their metric.
pub(in crate::solve) struct PointProblem<'a> {
    pub(in crate::solve) metric: GroundMetric,
    /// Both measures, on the points of the metric.
    measures: Measures,
    kind: Geometry,
    /// For each point of the metric its row in `x`, or in `y`: with a `y`, the points of one
    /// measure come before those of the other.
    names: Vec<u32>,
    x: MatrixView<'a>,
    y: Option<MatrixView<'a>>,
    /// Penalties of the metric's points on either side, if each point has its own.
    penalties: [Vec<f64>; 2],
}

impl<'a> PointProblem<'a> {
    pub(in crate::solve) fn new(
        a: &Measure<'_>,
        b: &Measure<'_>,
        x: MatrixView<'a>,
        y: Option<MatrixView<'a>>,
        kind: Geometry,
    ) -> Result<Self> {
        a.check_points(x.rows())?;
        b.check_points(y.unwrap_or(x).rows())?;
        let Some(y) = y else {
            let mut used = [a.support(), b.support()].concat();
            used.sort_unstable();
            used.dedup();
            // A metric has at least one point, also for two measures without mass.
            used.extend((used.is_empty() && x.rows() > 0).then_some(0));
            let metric = metric_of(&[(&x, &used)], &kind).map_err(|error| renamed(error, &used))?;
            let measures = placed([(a, &used, 0), (b, &used, 0)], used.len());
            let penalties = Default::default();
            return Ok(Self { metric, measures, kind, names: used, x, y, penalties });
        };
        if x.columns() != y.columns() {
            return Err(Error::Shape {
                what: "the points of the second measure".into(),
                expected: format!("({}, {}), as those of the first have", y.rows(), x.columns()),
                found: format!("({}, {})", y.rows(), y.columns()),
            });
        }
        let (left, right) = (a.support(), b.support());
        let count = left.len() + right.len();
        // The order does not depend on the call, so all bits are equal in both directions.
        let (names, sets, starts) = if count == 0 {
            (vec![0], [(&x, &[0][..]), (&y, &[][..])], [0, 0])
        } else if comes_first((b, &y), (a, &x)) {
            ([right, left].concat(), [(&y, right), (&x, left)], [right.len(), 0])
        } else {
            ([left, right].concat(), [(&x, left), (&y, right)], [0, left.len()])
        };
        let of_y = starts[1]..starts[1] + right.len();
        let metric = metric_of(&sets, &kind).map_err(|error| in_two_sets(error, &names, &of_y))?;
        let measures = placed([(a, left, starts[0]), (b, right, starts[1])], names.len());
        let penalties = Default::default();
        Ok(Self { metric, measures, kind, names, x, y: Some(y), penalties })
    }

    pub(in crate::solve) fn a(&self) -> Measure<'_> {
        self.measures.row(0)
    }

    pub(in crate::solve) fn b(&self) -> Measure<'_> {
        self.measures.row(1)
    }

    /// Returns the numbers of points of both measures, with and without mass.
    pub(in crate::solve) fn sizes(&self) -> [usize; 2] {
        [self.x.rows(), self.y.as_ref().unwrap_or(&self.x).rows()]
    }

    /// Reads the penalties of all points on either side, 0 for points without an entry.
    pub(in crate::solve) fn read_penalties(&mut self, sides: [&[f64]; 2]) {
        let of_side = |prices: &[f64]| {
            let names = self.names.iter();
            names.map(|&name| prices.get(name as usize).copied().unwrap_or(0.0)).collect()
        };
        self.penalties = sides.map(of_side);
    }

    /// Returns the penalties in the numbering of the metric.
    pub(in crate::solve) fn penalty(&self) -> Penalty<'_> {
        let [left, right] = &self.penalties;
        Penalty::OfPoints([left, right])
    }

    /// Returns the number of a point in the call.
    pub(in crate::solve) fn name(&self, point: usize) -> usize {
        self.names[point] as usize
    }

    /// Returns the points with mass on either side, in the numbering of the call.
    pub(in crate::solve) fn masses(&self) -> [Vec<(usize, f64)>; 2] {
        let named = |(point, mass): (usize, f64)| (self.names[point] as usize, mass);
        [self.a(), self.b()].map(|measure| measure.iter().map(named).collect())
    }

    /// Extends the dual values of an answer to all rows of `x` and of `y`, or of `x` on both sides.
    pub(in crate::solve) fn potentials(
        &self,
        answer: &Answer,
        most: Penalty<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let (whole, [n, m]) = self.joint_metric()?;
        if self.y.is_none() {
            return answer.on_metric(&whole, most, keep_going);
        }
        let is_of_points = matches!(most, Penalty::OfPoints(_));
        if is_of_points || (!whole.is_metric() && Line::of(&whole).is_none()) {
            let columns: Vec<usize> = (n..n + m).collect();
            let row = |i: usize, out: &mut [f64]| whole.block(&[i], &columns, out);
            return answer.extended((n, m), most, row, keep_going);
        }
        let mut stacked = answer.clone();
        stacked.right.iter_mut().for_each(|dual| dual.0 += n);
        let Potentials { mut left, mut right } = stacked.on_metric(&whole, most, keep_going)?;
        left.truncate(n);
        right.drain(..n);
        Ok(Potentials { left, right })
    }

    /// Computes the rates at all rows that dual values of points with mass on the other side allow.
    pub(in crate::solve) fn rates(
        &self,
        [left, right]: [&[(usize, f64)]; 2],
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let (whole, [n, m]) = self.joint_metric()?;
        let first = if self.y.is_some() { n } else { 0 };
        let right: Vec<_> = right.iter().map(|&(j, v)| (first + j, v)).collect();
        let of_columns = c_transform(&whole, first..first + m, left, f64::INFINITY, keep_going)?;
        let of_rows = c_transform(&whole, 0..n, &right, f64::INFINITY, keep_going)?;
        Ok(Potentials { left: of_rows, right: of_columns })
    }

    /// Creates the metric of all rows of `x`, and of `y` after them if there is one, and counts both.
    pub(in crate::solve) fn joint_metric(&self) -> Result<(GroundMetric, [usize; 2])> {
        let all: Vec<u32> = (0..self.x.rows() as u32).collect();
        let Some(y) = &self.y else {
            return Ok((metric_of(&[(&self.x, &all)], &self.kind)?, [all.len(); 2]));
        };
        let others: Vec<u32> = (0..y.rows() as u32).collect();
        let whole = metric_of(&[(&self.x, &all), (y, &others)], &self.kind);
        let sizes = [all.len(), others.len()];
        let named = |error| {
            let names = [&all[..], &others].concat();
            in_two_sets(error, &names, &(sizes[0]..names.len()))
        };
        Ok((whole.map_err(named)?, sizes))
    }
}

/// Computes the costs from every row of `x` to every row of `y`, if all are valid, few and have mass.
///
/// Returns `None` if the input is invalid, where `PointProblem` returns the error, or if that is
/// faster. For ten points, creating a metric would take as long as solving the problem.
pub fn table_of_few(
    masses: [&[f64]; 2],
    [x, y]: [&MatrixView<'_>; 2],
    geometry: &Geometry,
) -> Option<Vec<f64>> {
    let metric = geometry.metric;
    let (dim, n, m) = (x.columns(), x.rows(), y.rows());
    let are_few = n.saturating_mul(m) <= QUICK_ARCS && n.min(m) > 0;
    let fits = [masses[0].len(), masses[1].len(), y.columns()] == [n, m, dim];
    // Points with one coordinate are sorted.
    if !are_few || !fits || dim < 2 || metric.map_coordinates() != MapCoordinates::Plane {
        return None;
    }
    let (of_x, of_y) = (x.as_slice()?, y.as_slice()?);
    let is_mass = |mass: &f64| *mass > 0.0 && *mass < f64::INFINITY;
    let is_near = |at: &f64| at.abs() < NEAR;
    if !masses.into_iter().flatten().all(is_mass) || !of_x.iter().chain(of_y).all(is_near) {
        return None;
    }
    let halves = geometry.half_periods(dim).ok()?;
    let halves = halves.and_then(|halves| {
        relevant_halves(&halves, of_x.chunks_exact(dim).chain(of_y.chunks_exact(dim)))
    });
    let [inside_x, inside_y] = [of_x, of_y].map(|of| {
        let within = |halves: &Vec<f64>| -> Vec<f64> {
            of.iter().zip(halves.iter().cycle()).map(|(&x, &half)| wrapped(x, half)).collect()
        };
        halves.as_ref().map(within)
    });
    let (of_x, of_y) = (inside_x.as_deref().unwrap_or(of_x), inside_y.as_deref().unwrap_or(of_y));
    let halves = halves.as_deref();
    let mut panels = vec![[0.0; LANES]; m.div_ceil(LANES) * dim];
    for (j, to) in of_y.chunks_exact(dim).enumerate() {
        for (panel, at) in panels[j / LANES * dim..].iter_mut().zip(to) {
            panel[j % LANES] = *at;
        }
    }
    let mut costs = vec![0.0; n * m];
    if fill_table(of_x, &panels, dim, metric, halves, &mut costs) {
        return Some(costs);
    }
    for (at, cost) in costs.iter_mut().enumerate().filter(|(_, cost)| **cost < 0.0) {
        let (i, j) = (at / m * dim, at % m * dim);
        *cost = metric.between(&of_x[i..i + dim], &of_y[j..j + dim], halves);
    }
    Some(costs)
}

/// Points of a panel, whose distances are computed in parallel lanes.
const LANES: usize = 8;

for_wide_registers! {
    /// Computes distances to panels of [`LANES`] points; returns whether none lost digits.
    fill_table, fill_table_wide,
    (
        points: &[f64],
        panels: &[[f64; LANES]],
        dim: usize,
        metric: PointMetric,
        halves: Option<&[f64]>,
        costs: &mut [f64]
    ) -> bool,
    {
        let (m, mut least) = (costs.len() * dim / points.len(), 0.0);
        let kernel = metric.kernel();
        for (from, row) in points.chunks_exact(dim).zip(costs.chunks_exact_mut(m)) {
            for (panel, out) in panels.chunks_exact(dim).zip(row.chunks_mut(LANES)) {
                let mut sums = [0.0; LANES];
                match halves {
                    None => {
                        for (at, others) in from.iter().zip(panel) {
                            add(kernel, &mut sums, others, |other| (at - other).abs());
                        }
                    }
                    Some(halves) => {
                        for ((&at, others), &half) in from.iter().zip(panel).zip(halves) {
                            add(kernel, &mut sums, others, |other| apart(at, other, half));
                        }
                    }
                }
                metric.of_sums(&mut sums);
                out.copy_from_slice(&sums[..out.len()]);
                for cost in out {
                    least = if *cost < least { *cost } else { least };
                }
            }
        }
        least == 0.0
    }
}

/// Adds the terms of one coordinate to the sums of the lanes.
#[inline(always)]
#[expect(clippy::inline_always, reason = "it is compiled for its caller's processor")]
fn add(kernel: Kernel, sums: &mut [f64; LANES], others: &[f64; LANES], apart: impl Fn(f64) -> f64) {
    for (sum, &other) in sums.iter_mut().zip(others) {
        let apart = apart(other);
        match kernel {
            Kernel::Products | Kernel::Squares => *sum += apart * apart,
            Kernel::Absolutes => *sum += apart,
            Kernel::Largest => *sum = if apart > *sum { apart } else { *sum },
        }
    }
}

/// Bound on coordinates below which squares of differences, and sums of squares, are finite.
const NEAR: f64 = 1e140;

/// Creates the metric of the given rows of each set, one set after the other.
fn metric_of(sets: &[(&MatrixView<'_>, &[u32])], geometry: &Geometry) -> Result<GroundMetric> {
    let count = sets.iter().map(|(_, used)| used.len()).sum();
    let dim = sets[0].0.columns();
    let step = format_args!("the coordinates of {count} points");
    memory::check(step, memory::size_of::<f64>(&[count, dim]), "give fewer points")?;
    let mut coordinates = Vec::with_capacity(count * dim);
    for (set, used) in sets {
        used.iter().for_each(|&point| set.push_whole_row(point as usize, &mut coordinates));
    }
    GroundMetric::from_points(dim, coordinates, geometry.clone())
}

/// Renumbers measures by positions in their lists of used points, plus an offset.
fn placed(measures: [(&Measure<'_>, &[u32], usize); 2], count: usize) -> Measures {
    let rows = measures.map(|(measure, used, first)| {
        let mut after = 0;
        measure.iter().map(move |(point, mass)| {
            // Both lists increase, and the list has every point, so the search resumes.
            while (used[after] as usize) < point {
                after += 1;
            }
            (first + after, mass)
        })
    });
    Measures::from_rows_or_empty(count, rows).expect("the masses are those of valid measures")
}

/// Returns whether a measure with its points precedes another in an arbitrary total order.
fn comes_first(
    (a, x): (&Measure<'_>, &MatrixView<'_>),
    (b, y): (&Measure<'_>, &MatrixView<'_>),
) -> bool {
    let by_points = || {
        let (mut one, mut other) = (Vec::new(), Vec::new());
        let mut rows = a.support().iter().zip(b.support()).map(|(&i, &j)| {
            one.clear();
            other.clear();
            x.push_whole_row(i as usize, &mut one);
            y.push_whole_row(j as usize, &mut other);
            compare(one.iter().zip(&other))
        });
        rows.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    };
    let by_size = a.support().len().cmp(&b.support().len());
    let by_masses = by_size.then_with(|| compare(a.masses().iter().zip(b.masses())));
    by_masses.then_with(by_points) == Ordering::Less
}

/// Translates an error about a point to its number in its set.
fn in_two_sets(error: Error, names: &[u32], of_y: &Range<usize>) -> Error {
    let is_right = matches!(
        error,
        Error::BadCoordinate { point, .. } | Error::BadDegrees { point, .. } | Error::ZeroVector { point }
            if of_y.contains(&point)
    );
    let error = renamed(error, names);
    if is_right { Error::RightPoints { cause: Box::new(error) } } else { error }
}

/// Translates an error about a point to its number in the call.
fn renamed(error: Error, names: &[u32]) -> Error {
    let name = |point: usize| names[point] as usize;
    match error {
        Error::BadDegrees { point, what, value } => {
            Error::BadDegrees { point: name(point), what, value }
        }
        Error::BadCoordinate { point, axis, value } => {
            Error::BadCoordinate { point: name(point), axis, value }
        }
        Error::ZeroVector { point } => Error::ZeroVector { point: name(point) },
        Error::BadDistance { from, to, value } => {
            Error::BadDistance { from: name(from), to: name(to), value }
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(rows: usize, dim: usize, at: &[f64]) -> MatrixView<'_> {
        MatrixView::new(rows, dim, at).unwrap()
    }

    #[test]
    fn the_table_of_few_points_has_their_distances() {
        let wave = |k: usize| ((k * 7919 + 13) % 101) as f64 / 10.1;
        for dim in [2, 3, 50] {
            let (n, m) = (7, 9);
            let at: Vec<f64> = (0..(n + m) * dim).map(wave).collect();
            let (x, y) = at.split_at(n * dim);
            let views = [&view(n, dim, x), &view(m, dim, y)];
            let (a, b) = (vec![0.5; n], vec![0.25; m]);
            let all = [
                PointMetric::Euclidean,
                PointMetric::Manhattan,
                PointMetric::SqEuclidean,
                PointMetric::Chebyshev,
            ];
            let period: Vec<_> = (0..dim).map(|k| [Some(7.0), None, Some(1.5)][k % 3]).collect();
            for geometry in all.into_iter().flat_map(|m| [m.into(), m.with_period(&period)]) {
                let table = table_of_few([&a, &b], views, &geometry).unwrap();
                let judge = GroundMetric::from_points(dim, at.clone(), geometry).unwrap();
                for (k, cost) in table.iter().enumerate() {
                    let distance = judge.distance(k / m, n + k % m);
                    assert!((cost - distance).abs() <= 1e-14 * distance, "{judge:?}");
                }
            }
            let bad = PointMetric::Euclidean.with_period(&vec![Some(0.0); dim]);
            assert!(table_of_few([&a, &b], views, &bad).is_none());
            assert!(table_of_few([&a, &b], views, &PointMetric::Cosine.into()).is_none());
            let mut without = b.clone();
            without[3] = 0.0;
            assert!(table_of_few([&a, &without], views, &PointMetric::Euclidean.into()).is_none());
            assert!(table_of_few([&b, &a], views, &PointMetric::Euclidean.into()).is_none());
        }
        let bad = [0.0, f64::NAN];
        let views = [&view(1, 2, &bad), &view(1, 2, &[1e-170, 0.0])];
        assert!(table_of_few([&[1.0], &[1.0]], views, &PointMetric::Euclidean.into()).is_none());
        let views = [&view(1, 2, &[0.0, 0.0]), &view(1, 2, &[3e-170, 4e-170])];
        let tiny = table_of_few([&[1.0], &[1.0]], views, &PointMetric::Euclidean.into()).unwrap();
        assert!((tiny[0] / 5e-170 - 1.0).abs() < 1e-12);
    }
}
