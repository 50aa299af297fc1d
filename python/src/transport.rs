//! Exact and entropic transport.
//!
//! One pair of measures asks for few of the distances there are, so only those are read: a call costs what
//! its two supports cost, however many points there are.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use treeport::sinkhorn::{Epsilon, SinkhornOptions};
use treeport::{Coupling, Error, GroundMetric, Norm, exact, sinkhorn as entropic};

use crate::convert::{self, Moves, Row, to_py_err};
use crate::ground::{Ground, points_of};
use crate::measures::Measures;
use crate::watch;

/// What says how far apart points are.
#[derive(FromPyObject)]
pub(crate) enum Costs<'py> {
    /// Coordinates, one point per row, and how to measure between them.
    Points(PyReadonlyArray2<'py, f64>, String),
    /// The cost from every point of the left measure to every point of the right one.
    Matrix(PyReadonlyArray2<'py, f64>),
    /// As `pdist` returns it.
    Condensed(PyReadonlyArray1<'py, f64>),
    Ground(PyRef<'py, Ground>),
}

/// A problem on the points that have mass.
struct Problem<'py> {
    metric: Metric<'py>,
    /// The two measures.
    measures: treeport::Measures,
    /// What the points are called outside, for either side; `None` where the numbers are the same.
    left: Option<Vec<u32>>,
    right: Option<Vec<u32>>,
}

enum Metric<'py> {
    Small(GroundMetric),
    Whole(PyRef<'py, Ground>),
}

impl Problem<'_> {
    fn metric(&self) -> &GroundMetric {
        match &self.metric {
            Metric::Small(metric) => metric,
            Metric::Whole(ground) => &ground.metric,
        }
    }

    /// A plan with the names that the points have outside.
    fn named(&self, mut plan: Coupling) -> Coupling {
        for (ends, names) in [(&mut plan.left, &self.left), (&mut plan.right, &self.right)] {
            let Some(names) = names else { continue };
            for end in ends {
                *end = names[*end as usize];
            }
        }
        plan
    }
}

/// W₁ between two measures, and the plan if asked for.
#[pyfunction]
#[pyo3(signature = (a, b, costs, plan))]
pub(crate) fn emd<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    plan: bool,
) -> PyResult<(f64, Option<Moves<'py>>)> {
    let problem = problem(&a, &b, costs)?;
    let (metric, measures) = (problem.metric(), &problem.measures);
    if !plan {
        let solve = || exact::distance(metric, &measures.row(0), &measures.row(1));
        return Ok((py.detach(solve).map_err(to_py_err)?, None));
    }
    let solve = || exact::solve(metric, &measures.row(0), &measures.row(1));
    let solution = py.detach(solve).map_err(to_py_err)?;
    Ok((solution.value, Some(convert::moves(py, problem.named(solution.plan)))))
}

/// The cost of the entropic plan between two measures, and the plan if asked for.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (a, b, costs, plan, epsilon, relative, max_iterations, tolerance))]
pub(crate) fn sinkhorn<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    plan: bool,
    epsilon: f64,
    relative: bool,
    max_iterations: usize,
    tolerance: f64,
) -> PyResult<(f64, Option<Moves<'py>>)> {
    let epsilon = if relative { Epsilon::Relative(epsilon) } else { Epsilon::Absolute(epsilon) };
    let options =
        SinkhornOptions { epsilon, max_iterations, tolerance, ..SinkhornOptions::default() };
    let problem = problem(&a, &b, costs)?;
    let (metric, measures) = (problem.metric(), &problem.measures);
    let (a, b) = (measures.row(0), measures.row(1));
    if !plan {
        let solve = || entropic::distance(metric, &a, &b, &options);
        return Ok((py.detach(solve).map_err(to_py_err)?, None));
    }
    let solved = py.detach(|| entropic::solve(metric, &a, &b, &options)).map_err(to_py_err)?;
    let (violation, iterations) = (solved.violation, solved.iterations);
    if !solved.converged {
        let (left, right) = (0, 1);
        let error = Error::NotConverged { left, right, violation, tolerance, iterations };
        return Err(to_py_err(error));
    }
    Ok((solved.transport_cost, Some(convert::moves(py, problem.named(solved.plan)))))
}

/// W₁ of many pairs of measures.
#[pyfunction]
#[pyo3(signature = (ground, measures, pairs, threads, report=None))]
pub(crate) fn emd_pairs<'py>(
    py: Python<'py>,
    ground: &Ground,
    measures: &Measures,
    pairs: PyReadonlyArray2<'py, i64>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let pairs = convert::pairs(&pairs)?;
    let distances = watch::run(py, threads, report.as_ref(), |watch| {
        watch.expect(pairs.len());
        exact::pairs(&ground.metric, &measures.rows, &pairs, &|done| watch.reached(done))
    })?;
    Ok(distances.into_pyarray(py))
}

/// Reads what the two measures need of the costs.
fn problem<'py>(a: &Row<'py>, b: &Row<'py>, costs: Costs<'py>) -> PyResult<Problem<'py>> {
    let (left, right) = (a.read(0)?, b.read(1)?);
    match costs {
        Costs::Matrix(matrix) => between(&left, &right, &matrix),
        Costs::Points(points, norm) => {
            let norm: Norm = norm.parse().map_err(to_py_err)?;
            let points = points.as_array();
            on_shared(&left, &right, points.nrows(), |used| {
                let rows = used.iter().flat_map(|&p| points.row(p as usize).into_iter().copied());
                GroundMetric::from_points(points.ncols(), rows.collect(), norm)
            })
        }
        Costs::Condensed(distances) => {
            let distances = distances.as_array();
            let n = points_of(distances.len());
            if n * (n - 1) / 2 != distances.len() {
                // The library says what is wrong with it.
                let refused = GroundMetric::from_condensed(n, distances.to_vec());
                refused.map_err(to_py_err)?;
            }
            on_shared(&left, &right, n, |used| {
                let distance = |i: u32, j: u32| distances[place(n, i as usize, j as usize)];
                let small = used
                    .iter()
                    .enumerate()
                    .flat_map(|(at, &i)| used[at + 1..].iter().map(move |&j| distance(i, j)));
                GroundMetric::from_condensed(used.len(), small.collect())
            })
        }
        Costs::Ground(ground) => Ok(Problem {
            measures: both(ground.metric.points(), &left, &right)?,
            metric: Metric::Whole(ground),
            left: None,
            right: None,
        }),
    }
}

/// Costs from the points of one measure to those of another, which need not be the same points.
///
/// Each gets points of its own, so that a cost may depend on the direction; the distances within a side
/// are never asked for.
fn between<'py>(
    left: &treeport::Measures,
    right: &treeport::Measures,
    costs: &PyReadonlyArray2<'py, f64>,
) -> PyResult<Problem<'py>> {
    let costs = costs.as_array();
    if costs.shape() != [left.points(), right.points()] {
        return Err(to_py_err(Error::Shape {
            what: "the cost matrix".into(),
            expected: format!("({}, {})", left.points(), right.points()),
            found: format!("({}, {})", costs.nrows(), costs.ncols()),
        }));
    }
    let (a, b) = (left.row(0), right.row(0));
    let (from, to) = (a.support(), b.support());
    let points = from + to;
    let mut distances = vec![0.0; points * (points - 1) / 2];
    for (i, &p) in a.points().iter().enumerate() {
        let row = place(points, i, from);
        let (p, out) = (p as usize, &mut distances[row..row + to]);
        for (out, &q) in out.iter_mut().zip(b.points()) {
            let value = costs[[p, q as usize]];
            if !(value.is_finite() && value >= 0.0) {
                let error = Error::BadDistance { from: p, to: q as usize, value };
                return Err(to_py_err(error));
            }
            *out = value;
        }
    }
    let rows = [(0, a), (from, b)].map(|(first, m)| (first..).zip(m.masses().iter().copied()));
    let measures = treeport::Measures::from_rows(points, rows).map_err(to_py_err)?;
    let metric = GroundMetric::from_condensed(points, distances).map_err(to_py_err)?;
    // Points of the right measure follow those of the left one.
    let after = vec![0; from].into_iter().chain(b.points().iter().copied()).collect();
    let metric = Metric::Small(metric);
    Ok(Problem { metric, measures, left: Some(a.points().to_vec()), right: Some(after) })
}

/// Both measures on the points that either has, with the metric that `make` gives them.
fn on_shared<'py>(
    left: &treeport::Measures,
    right: &treeport::Measures,
    points: usize,
    make: impl FnOnce(&[u32]) -> treeport::Result<GroundMetric>,
) -> PyResult<Problem<'py>> {
    for side in [left, right] {
        side.check_points(points).map_err(to_py_err)?;
    }
    let (a, b) = (left.row(0), right.row(0));
    let mut used = [a.points(), b.points()].concat();
    used.sort_unstable();
    used.dedup();
    let metric = make(&used).map_err(|error| to_py_err(renamed(error, &used)))?;
    let rows = [a, b].map(|measure| {
        let mut after = 0;
        let used = &used;
        measure.iter().map(move |(point, mass)| {
            // Both lists increase, so the search goes on where it was.
            after += used[after..].partition_point(|&p| (p as usize) < point);
            (after, mass)
        })
    });
    let measures = treeport::Measures::from_rows(used.len(), rows).map_err(to_py_err)?;
    let metric = Metric::Small(metric);
    Ok(Problem { metric, measures, left: Some(used.clone()), right: Some(used) })
}

fn both(
    points: usize,
    left: &treeport::Measures,
    right: &treeport::Measures,
) -> PyResult<treeport::Measures> {
    for side in [left, right] {
        side.check_points(points).map_err(to_py_err)?;
    }
    let rows = [left, right].map(|side| side.row(0).iter());
    treeport::Measures::from_rows(points, rows).map_err(to_py_err)
}

/// The same error with the numbers that points have outside.
fn renamed(error: Error, names: &[u32]) -> Error {
    let name = |point: usize| names[point] as usize;
    match error {
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

/// Where the distance of i < j stands among those of `n` points.
fn place(n: usize, i: usize, j: usize) -> usize {
    i * (2 * n - i - 1) / 2 + j - i - 1
}
