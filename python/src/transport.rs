//! Exact and entropic transport.
//!
//! One pair of measures asks for few of the distances there are, so only those are read: a call
//! costs what its two supports cost, however many points there are.

use std::borrow::Cow;

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeport::condensed::{place, size_for};
use treeport::exact::{CostMatrix, Relaxed, Solution};
use treeport::metric::Components;
use treeport::sinkhorn::{Epsilon, SinkhornOptions};
use treeport::{
    Coupling, Error, GroundMetric, PointMetric, Progress, exact, memory, silent,
    sinkhorn as entropic,
};

use crate::convert::{self, Array1, Array2, Moves, Row, to_py_err};
use crate::ground::{Graph, Ground};
use crate::measures::Measures;
use crate::watch;

/// What says how far apart points are.
#[derive(FromPyObject)]
pub(crate) enum Costs<'py> {
    /// The cost from every point of the left measure to every point of the right one.
    Matrix(Array2<'py, f64>),
    /// Coordinates, one point per row, and how to measure between them.
    Points(Array2<'py, f64>, String),
    /// Coordinates of the points of the left measure and of those of the right one.
    TwoSets(Array2<'py, f64>, Array2<'py, f64>, String),
    /// As `pdist` returns it.
    Condensed(Array1<'py, f64>),
    Ground(PyRef<'py, Ground>),
    Graph(PyRef<'py, Graph>),
}

/// One problem.
enum Problem<'a> {
    /// On a metric of the points that have mass, and what those are called outside if not the same.
    Metric(Cow<'a, GroundMetric>, [treeport::Measures; 2], Option<Vec<u32>>),
    /// On a graph of several components.
    Components(&'a Components, [treeport::Measures; 2]),
    /// By costs alone, from the masses of rows to those of columns.
    Matrix(Cow<'a, [f64]>, Cow<'a, [f64]>, ArrayView2<'a, f64>),
}

impl Problem<'_> {
    /// Points with mass on both sides, or more.
    fn size(&self) -> usize {
        match self {
            Self::Metric(_, [a, b], _) | Self::Components(_, [a, b]) => a.entries() + b.entries(),
            Self::Matrix(a, b, _) => a.len() + b.len(),
        }
    }

    /// The value of a problem that is solved before anybody would press Ctrl-C.
    fn value(&self) -> treeport::Result<f64> {
        match self {
            Self::Metric(metric, [a, b], _) => exact::distance(metric, &a.row(0), &b.row(0)),
            Self::Components(..) => self.solution(None, &silent).map(|solution| solution.value),
            Self::Matrix(a, b, costs) => with_costs(costs, |costs| exact::between(a, b, costs)),
        }
    }

    fn exact(&self, progress: &Progress<'_>) -> treeport::Result<(f64, Coupling)> {
        let solution = self.solution(None, progress)?;
        Ok((solution.value, self.named(solution.plan)))
    }

    fn solution(
        &self,
        relaxed: Option<Relaxed>,
        progress: &Progress<'_>,
    ) -> treeport::Result<Solution> {
        match (self, relaxed) {
            (Self::Metric(metric, [a, b], _), None) => {
                exact::solve_watched(metric, &a.row(0), &b.row(0), progress)
            }
            (Self::Metric(metric, [a, b], _), Some(relaxed)) => {
                exact::solve_relaxed(metric, &a.row(0), &b.row(0), relaxed, progress)
            }
            (Self::Components(ground, [a, b]), relaxed) => {
                exact::solve_components(ground, &a.row(0), &b.row(0), relaxed, progress)
            }
            (Self::Matrix(a, b, costs), None) => {
                with_costs(costs, |costs| exact::solve_between_watched(a, b, costs, progress))
            }
            (Self::Matrix(a, b, costs), Some(relaxed)) => with_costs(costs, |costs| {
                exact::solve_relaxed_between(a, b, costs, relaxed, progress)
            }),
        }
    }

    /// Dual values of all rows and columns, or of all points of the metric.
    fn potentials(&self, solution: &Solution, most: f64) -> (Vec<f64>, Vec<f64>) {
        match self {
            Self::Metric(metric, ..) => solution.potentials(metric, most),
            Self::Components(ground, _) => solution.potentials_in_components(ground, most),
            Self::Matrix(_, _, costs) => {
                with_costs(costs, |costs| solution.potentials_between(costs, most))
            }
        }
    }

    fn entropic(
        &self,
        options: &SinkhornOptions,
        progress: &Progress<'_>,
    ) -> treeport::Result<(f64, Coupling)> {
        let solved = match self {
            Self::Metric(metric, [a, b], _) => {
                entropic::solve_watched(metric, &a.row(0), &b.row(0), options, progress)
            }
            Self::Components(ground, [a, b]) => {
                let metric = ground.whole()?;
                entropic::solve_watched(metric, &a.row(0), &b.row(0), options, progress)
            }
            Self::Matrix(a, b, costs) => with_costs(costs, |costs| {
                entropic::solve_between_watched(a, b, costs, options, progress)
            }),
        }?;
        if solved.converged {
            return Ok((solved.transport_cost, self.named(solved.plan)));
        }
        let (violation, iterations) = (solved.violation, solved.iterations);
        let (left, right, tolerance) = (0, 1, options.tolerance);
        Err(Error::NotConverged { left, right, violation, tolerance, iterations })
    }

    /// A plan with the names that the points have outside.
    fn named(&self, mut plan: Coupling) -> Coupling {
        if let Self::Metric(_, _, Some(names)) = self {
            let ends = plan.left.iter_mut().chain(&mut plan.right);
            ends.for_each(|end| *end = names[*end as usize]);
        }
        plan
    }
}

/// Hands a matrix of any layout over, without a copy.
fn with_costs<T>(costs: &ArrayView2<'_, f64>, solve: impl FnOnce(&CostMatrix<'_>) -> T) -> T {
    let (rows, columns) = costs.dim();
    let cost = |i: usize, j: usize| costs[[i, j]];
    let in_rows = costs.as_slice().and_then(|costs| CostMatrix::new(rows, columns, costs).ok());
    solve(&in_rows.unwrap_or_else(|| CostMatrix::from_fn(rows, columns, &cost)))
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
    let problem = problem(&a, &b, &costs, false)?;
    if !plan && problem.size() <= SHORT {
        return Ok((py.detach(|| problem.value()).map_err(to_py_err)?, None));
    }
    let (value, moves) = watched(py, problem.size(), |progress| problem.exact(progress))?;
    Ok((value, plan.then(|| convert::moves(py, moves))))
}

/// Dual values of the points on either side.
type Potentials<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The cost of a plan that may leave mass behind, the plan, and its dual values if asked for.
#[pyfunction]
#[pyo3(signature = (a, b, costs, mass, penalty, potentials))]
pub(crate) fn emd_relaxed<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    mass: Option<f64>,
    penalty: Option<f64>,
    potentials: bool,
) -> PyResult<(f64, Moves<'py>, Option<Potentials<'py>>)> {
    let relaxed = mass.map(Relaxed::Mass).or(penalty.map(Relaxed::Penalty));
    let problem = problem(&a, &b, &costs, potentials)?;
    let (value, plan, duals) = watched(py, problem.size(), |progress| {
        let solution = problem.solution(relaxed, progress)?;
        let most = penalty.unwrap_or(f64::INFINITY);
        let duals = potentials.then(|| problem.potentials(&solution, most));
        Ok((solution.value, problem.named(solution.plan), duals))
    })?;
    let duals = duals.map(|(mut left, mut right)| {
        if let Costs::TwoSets(..) = &costs {
            left.truncate(a.points());
            right.drain(..a.points());
        }
        (left.into_pyarray(py), right.into_pyarray(py))
    });
    Ok((value, convert::moves(py, plan), duals))
}

/// Solves one problem with the interpreter released; one that may take long hears of Ctrl-C.
fn watched<T: Send>(
    py: Python<'_>,
    size: usize,
    solve: impl FnOnce(&Progress<'_>) -> treeport::Result<T> + Send,
) -> PyResult<T> {
    if size <= SHORT {
        return py.detach(|| solve(&silent)).map_err(to_py_err);
    }
    watch::run(py, 0, None, solve)
}

/// Points up to which a problem takes less than half a second.
const SHORT: usize = 2000;

/// What `emd` gives for arrays that are as they should be, without the plan: a problem of ten
/// points takes as long as looking at its arguments once.
#[pyfunction]
pub(crate) fn emd_matrix<'py>(
    py: Python<'py>,
    a: Array1<'py, f64>,
    b: Array1<'py, f64>,
    costs: Array2<'py, f64>,
) -> PyResult<f64> {
    let costs = costs.as_array();
    let problem = Problem::Matrix(convert::masses(&a)?, convert::masses(&b)?, costs);
    let size = problem.size();
    if size > SHORT {
        return Ok(watched(py, size, |progress| problem.exact(progress))?.0);
    }
    let value = if size <= SMALL { problem.value() } else { py.detach(|| problem.value()) };
    value.map_err(to_py_err)
}

/// What `emd` gives for arrays that are as they should be and coordinates, without the plan.
#[pyfunction]
pub(crate) fn emd_points<'py>(
    py: Python<'py>,
    a: Array1<'py, f64>,
    b: Array1<'py, f64>,
    points: Array2<'py, f64>,
    metric: String,
) -> PyResult<f64> {
    let (a, b, costs) = (Row::Dense(a), Row::Dense(b), Costs::Points(points, metric));
    let problem = problem(&a, &b, &costs, false)?;
    if problem.size() <= SMALL {
        return problem.value().map_err(to_py_err);
    }
    Ok(watched(py, problem.size(), |progress| problem.exact(progress))?.0)
}

/// Rows and columns up to which other threads wait, about 0.1 ms: to let them run takes 0.1 µs, 3 %
/// of a problem of ten points.
const SMALL: usize = 128;

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
    let problem = problem(&a, &b, &costs, false)?;
    // Any number of iterations is allowed, so that also few points may take long.
    let (value, moves) = match problem.size() {
        ..=SMALL => py.detach(|| problem.entropic(&options, &silent)).map_err(to_py_err)?,
        _ => watch::run(py, 0, None, |progress| problem.entropic(&options, progress))?,
    };
    Ok((value, plan.then(|| convert::moves(py, moves))))
}

/// W₁ of many pairs of measures.
#[pyfunction]
#[pyo3(signature = (ground, measures, pairs, threads, report=None, penalty=None))]
pub(crate) fn emd_pairs<'py>(
    py: Python<'py>,
    ground: &Ground,
    measures: &Measures,
    pairs: Array2<'py, i64>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
    penalty: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let pairs = convert::pairs(&pairs)?;
    if let Some(relaxed) = penalty.map(Relaxed::Penalty) {
        let values = watch::run(py, threads, report.as_ref(), |progress| {
            ground.metric.prepare(progress)?;
            exact::relaxed_pairs(&ground.metric, &measures.rows, &pairs, relaxed, progress)
        })?;
        return Ok(values.into_pyarray(py));
    }
    if report.is_none() && exact::are_few(&ground.metric, &measures.rows, &pairs) {
        // Solved before other threads would have begun.
        let distances = exact::pairs(&ground.metric, &measures.rows, &pairs, &silent);
        return Ok(distances.map_err(to_py_err)?.into_pyarray(py));
    }
    let distances = watch::run(py, threads, report.as_ref(), |progress| {
        ground.metric.prepare(progress)?;
        exact::pairs(&ground.metric, &measures.rows, &pairs, progress)
    })?;
    Ok(distances.into_pyarray(py))
}

/// [`emd_pairs`] on a graph of several components.
#[pyfunction]
#[pyo3(signature = (graph, measures, pairs, threads, report=None, penalty=None))]
pub(crate) fn emd_pairs_apart<'py>(
    py: Python<'py>,
    graph: &Graph,
    measures: &Measures,
    pairs: Array2<'py, i64>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
    penalty: Option<f64>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (pairs, relaxed) = (convert::pairs(&pairs)?, penalty.map(Relaxed::Penalty));
    let distances = watch::run(py, threads, report.as_ref(), |progress| {
        let (ground, rows) = (&graph.components, &measures.rows);
        exact::pairs_in_components(ground, rows, &pairs, relaxed, progress)
    })?;
    Ok(distances.into_pyarray(py))
}

/// [`emd_pairs`] on points, for arrays that are as they should be and so small that it is done
/// before other threads would have begun; nothing if they are not.
#[pyfunction]
pub(crate) fn emd_few_pairs<'py>(
    py: Python<'py>,
    measures: Array2<'py, f64>,
    pairs: Array2<'py, i64>,
    points: Array2<'py, f64>,
    metric: &str,
) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
    let (measures, points) = (measures.as_array(), points.as_array());
    // Row after row, and not column after column.
    let (Some(masses), Some(coordinates)) = (measures.as_slice(), points.as_slice()) else {
        return Ok(None);
    };
    let sizes = [masses.len(), coordinates.len(), pairs.len()];
    let (dim, width) = (points.ncols(), measures.ncols());
    if sizes.iter().any(|size| !(1..=FEW).contains(size)) {
        return Ok(None);
    }
    let metric = metric.parse().map_err(to_py_err)?;
    let metric = GroundMetric::from_points(dim, coordinates.to_vec(), metric).map_err(to_py_err)?;
    let measures = treeport::Measures::from_dense(width, masses).map_err(to_py_err)?;
    let pairs = convert::pairs(&pairs)?;
    if !exact::are_few(&metric, &measures, &pairs) {
        return Ok(None);
    }
    let distances = exact::pairs(&metric, &measures, &pairs, &silent).map_err(to_py_err)?;
    Ok(Some(distances.into_pyarray(py)))
}

/// Numbers of an array that is worth a look at whether its problems are few.
const FEW: usize = 1 << 12;

/// Reads what the two measures need of the costs, or all of them if the `whole` is asked for.
fn problem<'a>(
    a: &'a Row<'_>,
    b: &'a Row<'_>,
    costs: &'a Costs<'_>,
    whole: bool,
) -> PyResult<Problem<'a>> {
    let sides = || Ok::<_, PyErr>([a.read(0)?, b.read(1)?]);
    match costs {
        Costs::Matrix(costs) => Ok(Problem::Matrix(a.dense(0)?, b.dense(1)?, costs.as_array())),
        Costs::Points(points, point_metric) => {
            let point_metric: PointMetric = point_metric.parse().map_err(to_py_err)?;
            let points = points.as_array();
            on_shared(sides()?, points.nrows(), whole, |used| {
                let rows = coordinates(&points, used)?;
                GroundMetric::from_points(points.ncols(), rows, point_metric)
            })
        }
        Costs::TwoSets(left, right, point_metric) => {
            let point_metric: PointMetric = point_metric.parse().map_err(to_py_err)?;
            on_two_sets(sides()?, [left.as_array(), right.as_array()], point_metric, whole)
        }
        Costs::Condensed(given) => {
            let distances = given.as_array();
            let n = size_for(distances.len());
            if n * (n - 1) / 2 != distances.len() {
                convert::check_copies(given, 1)?;
                // The library says what is wrong with it.
                let refused = GroundMetric::from_condensed(n, distances.to_vec());
                refused.map_err(to_py_err)?;
            }
            on_shared(sides()?, n, whole, |used| {
                let distance = |i: u32, j: u32| distances[place(n, i as usize, j as usize)];
                let step = format_args!("the distances of {} points with mass", used.len());
                let bytes = (used.len() as u64).saturating_mul(4 * used.len() as u64);
                memory::check(step, bytes, "give the square matrix, which is read as it is")?;
                let small = used
                    .iter()
                    .enumerate()
                    .flat_map(|(at, &i)| used[at + 1..].iter().map(move |&j| distance(i, j)));
                GroundMetric::from_condensed(used.len(), small.collect())
            })
        }
        Costs::Graph(graph) => Ok(Problem::Components(&graph.components, sides()?)),
        Costs::Ground(ground) => Ok(Problem::Metric(Cow::Borrowed(&ground.metric), sides()?, None)),
    }
}

/// The coordinates of some points, one after the other.
fn coordinates(points: &ArrayView2<'_, f64>, used: &[u32]) -> treeport::Result<Vec<f64>> {
    let step = format_args!("the coordinates of {} points with mass", used.len());
    let bytes = (8 * used.len() as u64).saturating_mul(points.ncols() as u64);
    memory::check(step, bytes, "give fewer points")?;
    Ok(used.iter().flat_map(|&p| points.row(p as usize).into_iter().copied()).collect())
}

/// Points of the left measure with mass, or all, and after them those of the right one.
fn on_two_sets<'a>(
    [a, b]: [treeport::Measures; 2],
    sets: [ArrayView2<'_, f64>; 2],
    point_metric: PointMetric,
    whole: bool,
) -> PyResult<Problem<'a>> {
    for (side, set) in [&a, &b].into_iter().zip(&sets) {
        side.check_points(set.nrows()).map_err(to_py_err)?;
    }
    if sets[0].ncols() != sets[1].ncols() {
        return Err(PyValueError::new_err(format!(
            "points has {} coordinates a point, points_b {}; they have to live in one space",
            sets[0].ncols(),
            sets[1].ncols()
        )));
    }
    let used = |side: &treeport::Measures, set: &ArrayView2<'_, f64>| {
        if whole { (0..set.nrows() as u32).collect() } else { side.row(0).support().to_vec() }
    };
    let (left, right) = (used(&a, &sets[0]), used(&b, &sets[1]));
    let (first, count) = (left.len(), left.len() + right.len());
    let names = [left.as_slice(), &right].concat();
    let make = || {
        let mut rows = coordinates(&sets[0], &left)?;
        rows.extend(coordinates(&sets[1], &right)?);
        GroundMetric::from_points(sets[0].ncols(), rows, point_metric)
    };
    let metric = make().map_err(|error| match error {
        Error::BadCoordinate { point, .. } | Error::ZeroVector { point } if point >= first => {
            PyValueError::new_err(format!("points_b: {}", renamed(error, &names)))
        }
        error => to_py_err(renamed(error, &names)),
    })?;
    let placed = |side: &treeport::Measures, used: &[u32], first: usize| {
        let place = |point: usize| used.binary_search(&(point as u32)).expect("a point in use");
        let entries = side.row(0).iter().map(|(point, mass)| (first + place(point), mass));
        treeport::Measures::from_rows(count, [entries]).expect("the same masses")
    };
    let sides = [placed(&a, &left, 0), placed(&b, &right, first)];
    Ok(Problem::Metric(Cow::Owned(metric), sides, Some(names)))
}

/// Both measures on the points that either has, or all, with the metric that `make` gives them.
fn on_shared<'a>(
    sides: [treeport::Measures; 2],
    points: usize,
    whole: bool,
    make: impl FnOnce(&[u32]) -> treeport::Result<GroundMetric>,
) -> PyResult<Problem<'a>> {
    for side in &sides {
        side.check_points(points).map_err(to_py_err)?;
    }
    if whole {
        let all: Vec<u32> = (0..points as u32).collect();
        return Ok(Problem::Metric(Cow::Owned(make(&all).map_err(to_py_err)?), sides, None));
    }
    let mut used = sides.each_ref().map(|side| side.row(0).support()).concat();
    used.sort_unstable();
    used.dedup();
    let metric = make(&used).map_err(|error| to_py_err(renamed(error, &used)))?;
    let sides = sides.map(|side| {
        let mut after = 0;
        let entries = side.row(0).iter().map(|(point, mass)| {
            // Both lists increase, so the search goes on where it was.
            after += used[after..].partition_point(|&p| (p as usize) < point);
            (after, mass)
        });
        treeport::Measures::from_rows(used.len(), [entries]).expect("the same masses")
    });
    Ok(Problem::Metric(Cow::Owned(metric), sides, Some(used)))
}

/// The same error with the numbers that points have outside.
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
