//! Problems between points with coordinates, of which only those with mass are read.

use std::cmp::Ordering;
use std::ops::Range;

use super::exact::Solution;
use super::exact::order::compare;
use super::matrix::MatrixView;
use super::problem::{Duals, Potentials};
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::metric::{GroundMetric, PointMetric};
use crate::tree::Coupling;

/// Two measures on the points that have mass, with their metric.
pub(super) struct PointProblem<'a> {
    pub(super) metric: GroundMetric,
    pub(super) a: Measures,
    pub(super) b: Measures,
    /// How coordinates are compared.
    kind: PointMetric,
    /// What the points of the metric are called outside: rows of `x`, and where there is a `y`, before
    /// or after those of the first measure rows of that.
    names: Vec<u32>,
    x: MatrixView<'a>,
    y: Option<MatrixView<'a>>,
}

impl<'a> PointProblem<'a> {
    pub(super) fn new(
        a: &Measure<'_>,
        b: &Measure<'_>,
        x: MatrixView<'a>,
        y: Option<MatrixView<'a>>,
        metric: PointMetric,
    ) -> Result<Self> {
        a.check_points(x.rows())?;
        b.check_points(y.unwrap_or(x).rows())?;
        let Some(y) = y else {
            let mut used = [a.support(), b.support()].concat();
            used.sort_unstable();
            used.dedup();
            // Two measures without mass live somewhere, too.
            used.extend((used.is_empty() && x.rows() > 0).then_some(0));
            let first = used.len();
            let kind = metric;
            let metric = metric_of(&[(&x, &used)], kind).map_err(|error| renamed(error, &used))?;
            let (a, b) = (placed(a, &used, 0, first), placed(b, &used, 0, first));
            return Ok(Self { metric, a, b, kind, names: used, x, y });
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
        // Whoever comes first in the call: the distances, and so all bits, are the same.
        let (names, sets, starts) = if count == 0 {
            (vec![0], [(&x, &[0][..]), (&y, &[][..])], [0, 0])
        } else if comes_first((b, &y), (a, &x)) {
            ([right, left].concat(), [(&y, right), (&x, left)], [right.len(), 0])
        } else {
            ([left, right].concat(), [(&x, left), (&y, right)], [0, left.len()])
        };
        let of_y = starts[1]..starts[1] + right.len();
        let kind = metric;
        let metric = metric_of(&sets, kind).map_err(|error| in_two_sets(error, &names, &of_y))?;
        let count = names.len();
        let (a, b) = (placed(a, left, starts[0], count), placed(b, right, starts[1], count));
        Ok(Self { metric, a, b, kind, names, x, y: Some(y) })
    }

    /// Gives the moves of a plan and the points of dual values the numbers that they have outside.
    pub(super) fn rename(&self, plan: &mut Coupling, duals: [&mut Duals; 2]) {
        for end in plan.left.iter_mut().chain(&mut plan.right) {
            *end = self.names[*end as usize];
        }
        for dual in duals.into_iter().flatten() {
            dual.0 = self.names[dual.0] as usize;
        }
    }

    /// Dual values of all rows of `x` and of `y`, or twice of `x`.
    pub(super) fn potentials(&self, solution: &Solution, most: f64) -> Result<Potentials> {
        let kind = self.kind;
        let all: Vec<u32> = (0..self.x.rows() as u32).collect();
        let Some(y) = &self.y else {
            return Ok(solution.on_metric(&metric_of(&[(&self.x, &all)], kind)?, most));
        };
        let others: Vec<u32> = (0..y.rows() as u32).collect();
        let whole = metric_of(&[(&self.x, &all), (y, &others)], kind).map_err(|error| {
            let names = [&all[..], &others].concat();
            in_two_sets(error, &names, &(all.len()..names.len()))
        })?;
        let mut stacked = solution.clone();
        stacked.right.iter_mut().for_each(|dual| dual.0 += all.len());
        let Potentials { mut left, mut right } = stacked.on_metric(&whole, most);
        left.truncate(all.len());
        right.drain(..all.len());
        Ok(Potentials { left, right })
    }
}

/// The metric of some rows of each set, one set after the other.
fn metric_of(sets: &[(&MatrixView<'_>, &[u32])], metric: PointMetric) -> Result<GroundMetric> {
    let count = sets.iter().map(|(_, used)| used.len()).sum();
    let dim = sets[0].0.columns();
    let step = format_args!("the coordinates of {count} points");
    memory::check(step, memory::size_of::<f64>(&[count, dim]), "give fewer points")?;
    let mut coordinates = Vec::with_capacity(count * dim);
    for (set, used) in sets {
        used.iter().for_each(|&point| set.push_whole_row(point as usize, &mut coordinates));
    }
    GroundMetric::from_points(dim, coordinates, metric)
}

/// A measure with the numbers that its points have among those in use, from `first` on, of `count`.
fn placed(measure: &Measure<'_>, used: &[u32], first: usize, count: usize) -> Measures {
    let mut after = 0;
    let entries = measure.iter().map(|(point, mass)| {
        // Both lists increase, and every point is in use: the search goes on where it was.
        while (used[after] as usize) < point {
            after += 1;
        }
        (first + after, mass)
    });
    Measures::from_rows_or_empty(count, [entries]).expect("the same masses")
}

/// Whether a measure with its points comes before another, in an order of no meaning.
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

/// An error about one of two sets, by the number that the point has there.
fn in_two_sets(error: Error, names: &[u32], of_y: &Range<usize>) -> Error {
    let is_right = matches!(
        error,
        Error::BadCoordinate { point, .. } | Error::BadDegrees { point, .. } | Error::ZeroVector { point }
            if of_y.contains(&point)
    );
    let error = renamed(error, names);
    if is_right { Error::RightPoints { source: Box::new(error) } } else { error }
}

/// An error with the number that the point has outside.
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
