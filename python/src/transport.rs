//! Exact and entropic transport: arrays in, a [`Problem`] asked, arrays out.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

use numpy::ndarray::ArrayView2;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::intern;
use pyo3::prelude::*;
use treeport::accuracy::Question;
use treeport::internal::condensed::{pairs_of, place, size_for};
use treeport::internal::solve::{Card, table_of_few};
use treeport::sinkhorn::{Epsilon, SinkhornOptions};
use treeport::{
    Error, Geometry, GroundMetric, MatrixView, PointMetric, Problem, Problems, Progress, Relax,
    Target,
};
use treeport::{silent, sinkhorn as entropic};

use crate::accuracy::GivenAccuracy;
use crate::card::PythonCard;
use crate::convert::{self, Array1, Array2, Moves, Row, to_py_err};
use crate::ground::{GivenGeometry, Graph, Ground};
use crate::measures::{Measures, refused};
use crate::watch;

/// What says how far apart points are.
#[derive(FromPyObject)]
pub(crate) enum Costs<'py> {
    /// The cost from every point of the left measure to every point of the right one.
    Matrix(Array2<'py, f64>),
    /// The same in single precision, read where it lies.
    SingleMatrix(Array2<'py, f32>),
    /// Coordinates, one point per row, and how to measure between them.
    Points(Array2<'py, f64>, GivenGeometry),
    /// Coordinates of the points of the left measure and of those of the right one.
    TwoSets(Array2<'py, f64>, Array2<'py, f64>, GivenGeometry),
    /// As `pdist` returns it.
    Condensed(Array1<'py, f64>),
    Ground(PyRef<'py, Ground>),
    Graph(PyRef<'py, Graph>),
}

/// How a problem is asked.
#[derive(Clone, Copy, Default)]
struct Asked<'a> {
    /// What long work is foretold for, where it is.
    target: Option<&'a Target>,
    report: Option<&'a Bound<'a, PyAny>>,
    /// Whether a card shall look through its points, however few there are.
    on_card: bool,
}

/// Asks `question` about the problem of two measures, with the interpreter released where it may take
/// long.
fn ask<T: Send>(
    py: Python<'_>,
    a: &Row<'_>,
    b: &Row<'_>,
    costs: &Costs<'_>,
    relax: &Relaxed<'_>,
    how: Asked<'_>,
    question: impl FnOnce(&Problem<'_>, &Progress<'_>) -> treeport::Result<T> + Send,
) -> PyResult<T> {
    // What a penalty is paid for may be all there is.
    let empty = relax.has_penalty();
    let asked = |problem: Problem<'_>| {
        let problem = relax.of_one(problem);
        if problem.is_quick() {
            // Other threads wait: to let them run takes 0.1 µs, 3 % of a problem of ten points.
            return question(&problem, &silent).map_err(to_py_err);
        }
        if let Some(target) = how.target {
            watch::tell(how.report, &problem.forecast(target))?;
        }
        watch::run(py, 0, how.report, |progress| question(&problem, progress))
    };
    match costs {
        Costs::Matrix(costs) => {
            let (a, b, costs) = (a.dense(0, empty)?, b.dense(1, empty)?, costs.as_array());
            let entry = entry(&costs);
            asked(Problem::between(&a, &b, view(&costs, &entry)))
        }
        Costs::SingleMatrix(costs) => {
            let (a, b, costs) = (a.dense(0, empty)?, b.dense(1, empty)?, costs.as_array());
            let (rows, columns) = costs.dim();
            let entry = |i: usize, j: usize| f64::from(costs[[i, j]]);
            let in_rows = costs.as_slice().map(|all| MatrixView::from_f32(rows, columns, all));
            let in_rows = in_rows.transpose().map_err(to_py_err)?;
            let view = in_rows.unwrap_or_else(|| MatrixView::from_fn(rows, columns, &entry));
            asked(Problem::between(&a, &b, view))
        }
        Costs::Condensed(distances) => {
            let (a, b) = (a.dense(0, empty)?, b.dense(1, empty)?);
            let (n, distances) = condensed(distances)?;
            let entry = |i: usize, j: usize| {
                if i == j { 0.0 } else { distances[place(n, i.min(j), i.max(j))] }
            };
            asked(Problem::between(&a, &b, MatrixView::from_fn(n, n, &entry)))
        }
        Costs::Points(points, geometry) => {
            let (a, b, x) = (a.read(0, empty)?, b.read(1, empty)?, points.as_array());
            let geometry = geometry.read()?;
            let entry = entry(&x);
            let problem =
                Problem::of_points(&a.row(0), &b.row(0), view(&x, &entry), None, geometry);
            asked(problem.map_err(to_py_err)?)
        }
        Costs::TwoSets(left, right, geometry) => {
            let (x, y) = (left.as_array(), right.as_array());
            let geometry = geometry.read()?;
            let (of_x, of_y) = (entry(&x), entry(&y));
            let (x, y) = (view(&x, &of_x), view(&y, &of_y));
            if !how.on_card
                && let (Row::Dense(a), Row::Dense(b)) = (a, b)
                && let (Ok(a), Ok(b)) = (a.as_slice(), b.as_slice())
                && let Some(costs) = table_of_few([a, b], [&x, &y], &geometry)
            {
                let costs = MatrixView::new(a.len(), b.len(), &costs).map_err(to_py_err)?;
                return asked(Problem::between(a, b, costs));
            }
            let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
            let problem = Problem::of_points(&a.row(0), &b.row(0), x, Some(y), geometry);
            asked(problem.map_err(to_py_err)?)
        }
        Costs::Ground(ground) => {
            let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
            asked(Problem::new(&ground.metric, &a.row(0), &b.row(0)))
        }
        Costs::Graph(graph) => {
            let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
            asked(Problem::new(&graph.components, &a.row(0), &b.row(0)))
        }
    }
}

/// The entries of an array in any layout.
fn entry<'a>(array: &'a ArrayView2<'_, f64>) -> impl Fn(usize, usize) -> f64 + Sync + 'a {
    |i, j| array[[i, j]]
}

/// An array as the library reads it, without a copy: row after row where it lies so.
fn view<'a>(
    array: &'a ArrayView2<'_, f64>,
    entry: &'a (dyn Fn(usize, usize) -> f64 + Sync),
) -> MatrixView<'a> {
    let (rows, columns) = array.dim();
    let in_rows = array.as_slice().and_then(|all| MatrixView::new(rows, columns, all).ok());
    in_rows.unwrap_or_else(|| MatrixView::from_fn(rows, columns, entry))
}

/// Distances as `pdist` returns them, and between how many points.
fn condensed<'a>(given: &'a Array1<'_, f64>) -> PyResult<(usize, Cow<'a, [f64]>)> {
    let n = size_for(given.len());
    if pairs_of(n) != given.len() {
        convert::check_copies(given, 1)?;
        // The library says what is wrong with it.
        GroundMetric::from_condensed(n, given.as_array().to_vec()).map_err(to_py_err)?;
    }
    Ok((n, convert::masses(given)?))
}

/// One penalty, one for each point, or one for each point of the first measure and of the second.
#[derive(FromPyObject)]
pub(crate) enum GivenPenalty<'py> {
    OfPoints(Array1<'py, f64>),
    OfSides(Array1<'py, f64>, Array1<'py, f64>),
    Same(f64),
}

/// What need not be moved.
enum Relaxed<'a> {
    Plain(Relax),
    /// Penalties of the points of the first measure, and of the second.
    Penalties([Cow<'a, [f64]>; 2]),
}

impl<'a> Relaxed<'a> {
    fn new(mass: Option<f64>, penalty: Option<&'a GivenPenalty<'_>>) -> PyResult<Self> {
        Ok(match penalty {
            None => Self::Plain(mass.map_or(Relax::Balanced, Relax::Mass)),
            Some(GivenPenalty::Same(price)) => Self::Plain(Relax::Penalty(*price)),
            Some(GivenPenalty::OfPoints(all)) => {
                let all = convert::masses(all)?;
                Self::Penalties([all.clone(), all])
            }
            Some(GivenPenalty::OfSides(left, right)) => {
                Self::Penalties([convert::masses(left)?, convert::masses(right)?])
            }
        })
    }

    fn has_penalty(&self) -> bool {
        matches!(self, Self::Plain(Relax::Penalty(_)) | Self::Penalties(_))
    }

    fn of_one<'p>(&'p self, problem: Problem<'p>) -> Problem<'p> {
        match self {
            Self::Plain(relax) => problem.relaxed(*relax),
            Self::Penalties([left, right]) => problem.with_penalties(left, right),
        }
    }

    /// Many problems have the same points on either side.
    fn of_many<'p>(&'p self, problems: Problems<'p>) -> Problems<'p> {
        match self {
            Self::Plain(relax) => problems.relaxed(*relax),
            Self::Penalties([all, _]) => problems.with_penalties(all),
        }
    }
}

/// What need not be moved, where all points are alike.
fn relax(mass: Option<f64>, penalty: Option<f64>) -> Relax {
    let relax = mass.map(Relax::Mass).or(penalty.map(Relax::Penalty));
    relax.unwrap_or_default()
}

/// Dual values of the points on either side.
type Potentials<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

/// The cost of an optimal plan between two measures, and if asked for the plan and its dual values.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (a, b, costs, plan=false, mass=None, penalty=None, potentials=false, report=None))]
pub(crate) fn emd<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    plan: bool,
    mass: Option<f64>,
    penalty: Option<GivenPenalty<'py>>,
    potentials: bool,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(f64, Option<Moves<'py>>, Option<Potentials<'py>>)> {
    let relax = Relaxed::new(mass, penalty.as_ref())?;
    let whole = Target::default();
    let exactly = Asked { target: Some(&whole), report: report.as_ref(), on_card: false };
    let (value, moves, duals) = ask(py, &a, &b, &costs, &relax, exactly, |problem, progress| {
        if !plan && !potentials {
            return Ok((problem.value(progress)?, None, None));
        }
        let solution = problem.solve(progress)?;
        let duals = potentials.then(|| problem.potentials(&solution)).transpose()?;
        Ok((solution.value, Some(solution.plan), duals))
    })?;
    let moves = moves.filter(|_| plan).map(|moves| convert::moves(py, moves));
    let duals = duals.map(|duals| (duals.left.into_pyarray(py), duals.right.into_pyarray(py)));
    Ok((value, moves, duals))
}

/// The cost of an optimal plan between masses and a cost matrix, or with a metric the coordinates of
/// points (those of `b` are `ground_b`, where there is one), that can be read where they lie; `None` where
/// something has to be converted first.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
pub(crate) fn emd_of_arrays<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    ground: &Bound<'py, PyAny>,
    ground_b: Option<&Bound<'py, PyAny>>,
    metric: Option<&Bound<'py, PyAny>>,
    mass: Option<f64>,
    penalty: Option<f64>,
) -> PyResult<Option<f64>> {
    let relax = relax(mass, penalty);
    let geometry = metric.map(geometry).transpose()?;
    if let Some(few) = FewNumbers::read(a, b, ground, ground_b)
        && let Some(value) = few.value(geometry.as_ref(), relax)
    {
        return value.map(Some).map_err(to_py_err);
    }
    let (Ok(a), Ok(b), Ok(ground)) = (a.extract(), b.extract(), ground.extract()) else {
        return Ok(None);
    };
    let Ok(ground_b) = ground_b.map(PyAnyMethods::extract).transpose() else {
        return Ok(None);
    };
    let (a, b) = (Row::Dense(a), Row::Dense(b));
    let costs = match (metric, ground_b) {
        (None, _) => Costs::Matrix(ground),
        (Some(metric), None) => Costs::Points(ground, metric.extract()?),
        (Some(metric), Some(ground_b)) => Costs::TwoSets(ground, ground_b, metric.extract()?),
    };
    let relax = &Relaxed::Plain(relax);
    let exactly = Asked::default();
    ask(py, &a, &b, &costs, relax, exactly, |problem, progress| problem.value(progress)).map(Some)
}

/// How coordinates are compared; the usual way is known without reading it.
fn geometry(given: &Bound<'_, PyAny>) -> PyResult<Geometry> {
    if given.is(intern!(given.py(), "euclidean")) {
        return Ok(PointMetric::Euclidean.into());
    }
    given.extract::<GivenGeometry>()?.read()
}

/// The arrays of a problem of few points, copied: that takes less time than to keep others from writing
/// to them, which is half of what a problem of ten points takes.
struct FewNumbers {
    a: Vec<f64>,
    b: Vec<f64>,
    ground: Table,
    ground_b: Option<Table>,
}

/// Numbers of a table, row after row.
struct Table {
    shape: [usize; 2],
    numbers: Vec<f64>,
}

impl FewNumbers {
    fn read(
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        ground: &Bound<'_, PyAny>,
        ground_b: Option<&Bound<'_, PyAny>>,
    ) -> Option<Self> {
        let ground = Table::read(ground)?;
        let ground_b = match ground_b {
            Some(points) => Some(Table::read(points)?),
            None => None,
        };
        let [a, b] = [a, b].map(|masses| convert::few(masses.cast::<PyArray1<f64>>().ok()?));
        Some(Self { a: a?, b: b?, ground, ground_b })
    }

    /// The value of the problem; `None` where coordinates have to be read another way.
    fn value(&self, geometry: Option<&Geometry>, relax: Relax) -> Option<treeport::Result<f64>> {
        let (a, b) = (&self.a, &self.b);
        let value = |costs| Problem::between(a, b, costs).relaxed(relax).value(&silent);
        match (geometry, &self.ground_b) {
            (None, _) => Some(self.ground.view().and_then(value)),
            (Some(geometry), Some(ground_b)) => {
                let (x, y) = (self.ground.view().ok()?, ground_b.view().ok()?);
                let costs = table_of_few([a, b], [&x, &y], geometry)?;
                Some(MatrixView::new(a.len(), b.len(), &costs).and_then(value))
            }
            (Some(_), None) => None,
        }
    }
}

impl Table {
    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        let array = given.cast::<PyArray2<f64>>().ok()?;
        let &[rows, columns] = array.shape() else { return None };
        Some(Self { shape: [rows, columns], numbers: convert::few(array)? })
    }

    fn view(&self) -> treeport::Result<MatrixView<'_>> {
        MatrixView::new(self.shape[0], self.shape[1], &self.numbers)
    }
}

/// Bounds of the cost of an optimal plan, the plan behind the upper one, and if asked for dual values behind
/// the lower one.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (a, b, costs, accuracy, seconds, mass=None, penalty=None, potentials=false, report=None))]
pub(crate) fn emd_within<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    accuracy: GivenAccuracy<'py>,
    seconds: Option<f64>,
    mass: Option<f64>,
    penalty: Option<GivenPenalty<'py>>,
    potentials: bool,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(f64, f64, Moves<'py>, Option<Potentials<'py>>)> {
    let target = target(&accuracy, seconds)?;
    let relax = Relaxed::new(mass, penalty.as_ref())?;
    let within = Asked { target: Some(&target), report: report.as_ref(), on_card: false };
    let (bounds, duals) = ask(py, &a, &b, &costs, &relax, within, |problem, progress| {
        if potentials {
            let (bounds, duals) = problem.within_with_potentials(target, progress)?;
            return Ok((bounds, Some(duals)));
        }
        Ok((problem.within(target, progress)?, None))
    })?;
    let duals = duals.map(|duals| (duals.left.into_pyarray(py), duals.right.into_pyarray(py)));
    Ok((bounds.lower, bounds.upper, convert::moves(py, bounds.plan), duals))
}

/// How good bounds have to be, as Python says it.
fn target(accuracy: &GivenAccuracy<'_>, seconds: Option<f64>) -> PyResult<Target> {
    let time = seconds.map(Duration::try_from_secs_f64).transpose();
    let said = || "time is a number of seconds: finite and at least 0";
    let time = time.map_err(|_| PyValueError::new_err(said()))?;
    Ok(Target { accuracy: accuracy.read(Question::Problem)?, time })
}

/// As [`emd`], with an engine that looks through all pairs.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
pub(crate) fn emd_on<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    engine: Bound<'py, PyAny>,
    plan: bool,
    potentials: bool,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(f64, Option<Moves<'py>>, Option<Potentials<'py>>)> {
    let (card, relax) = (PythonCard::new(&engine)?, Relaxed::Plain(Relax::Balanced));
    let there: Arc<dyn Card> = card.clone();
    let on_card = Asked { target: None, report: report.as_ref(), on_card: true };
    let found = ask(py, &a, &b, &costs, &relax, on_card, |problem, progress| {
        let solution = problem.solve_on(&there, progress)?;
        let duals = potentials.then(|| problem.potentials(&solution)).transpose()?;
        Ok((solution.value, solution.plan, duals))
    });
    let (value, moves, duals) = card.explained(found)?;
    let moves = plan.then(|| convert::moves(py, moves));
    let duals = duals.map(|duals| (duals.left.into_pyarray(py), duals.right.into_pyarray(py)));
    Ok((value, moves, duals))
}

/// As [`emd_within`], with an engine that looks through all pairs.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
pub(crate) fn emd_within_on<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    engine: Bound<'py, PyAny>,
    accuracy: GivenAccuracy<'py>,
    seconds: Option<f64>,
    potentials: bool,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(f64, f64, Moves<'py>, Option<Potentials<'py>>)> {
    let target = target(&accuracy, seconds)?;
    let (card, relax) = (PythonCard::new(&engine)?, Relaxed::Plain(Relax::Balanced));
    let there: Arc<dyn Card> = card.clone();
    let on_card = Asked { target: None, report: report.as_ref(), on_card: true };
    let found = ask(py, &a, &b, &costs, &relax, on_card, |problem, progress| {
        let bounds = problem.within_on(&there, target, progress)?;
        if potentials {
            let (bounds, duals) = problem.with_potentials(bounds)?;
            return Ok((bounds, Some(duals)));
        }
        Ok((bounds, None))
    });
    let (bounds, duals) = card.explained(found)?;
    let duals = duals.map(|duals| (duals.left.into_pyarray(py), duals.right.into_pyarray(py)));
    Ok((bounds.lower, bounds.upper, convert::moves(py, bounds.plan), duals))
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
    let balanced = Relaxed::Plain(Relax::Balanced);
    let silently = Asked::default();
    if !plan {
        let value = ask(py, &a, &b, &costs, &balanced, silently, |problem, progress| {
            entropic::value(problem, &options, progress)
        })?;
        return Ok((value, None));
    }
    let solved = ask(py, &a, &b, &costs, &balanced, silently, |problem, progress| {
        let solved = entropic::solve(problem, &options, progress)?;
        if solved.converged {
            return Ok(solved);
        }
        let (violation, iterations) = (solved.violation, solved.iterations);
        Err(Error::NotConverged { left: 0, right: 1, violation, tolerance, iterations })
    })?;
    Ok((solved.transport_cost, Some(convert::moves(py, solved.plan))))
}

/// What many pairs live on.
#[derive(FromPyObject)]
pub(crate) enum PairGround<'py> {
    Ground(PyRef<'py, Ground>),
    Graph(PyRef<'py, Graph>),
    /// Coordinates, one point per row, and how to measure between them.
    Points(Array2<'py, f64>, GivenGeometry),
}

/// Measures that are read already, or masses, a measure per row.
#[derive(FromPyObject)]
pub(crate) enum PairMeasures<'py> {
    Read(PyRef<'py, Measures>),
    Dense(Array2<'py, f64>),
}

impl PairMeasures<'_> {
    /// The measures; those without mass are refused unless they may be `empty`.
    fn read(&self, empty: bool) -> PyResult<Cow<'_, treeport::Measures>> {
        match self {
            Self::Read(measures) => Ok(Cow::Borrowed(&measures.rows)),
            Self::Dense(masses) => {
                let masses = masses.as_array();
                Measures::check_rows(&masses)?;
                let rows = Measures::of_table(&masses).and_then(|rows| refused(rows, empty));
                rows.map(Cow::Owned).map_err(to_py_err)
            }
        }
    }
}

/// W₁ of many pairs of measures, or what a penalty makes of it. A graph that is to be prepared is so
/// whatever the pairs, so that parts of a list give the bits of the whole.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from few places, which name them")]
#[pyo3(signature = (ground, measures, pairs, threads, report=None, penalty=None, prepare=false))]
pub(crate) fn emd_pairs<'py>(
    py: Python<'py>,
    ground: PairGround<'py>,
    measures: PairMeasures<'py>,
    pairs: Array2<'py, i64>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
    penalty: Option<GivenPenalty<'py>>,
    prepare: bool,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let prepared = match &ground {
        PairGround::Ground(ground) if prepare => Some(ground.metric.clone()),
        _ => None,
    };
    let values = with_problems(py, &ground, &measures, &pairs, penalty.as_ref(), |problems| {
        if report.is_none() && problems.is_quick() {
            return problems.values(&silent).map_err(to_py_err);
        }
        watch::tell(report.as_ref(), &problems.forecast(&Target::default()))?;
        watch::run(py, threads, report.as_ref(), |progress| {
            if let Some(metric) = &prepared {
                metric.prepare(progress)?;
            }
            problems.values(progress)
        })
    })?;
    Ok(values.into_pyarray(py))
}

/// Certified bounds of the exact costs of pairs: what they are at least, and at most.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from two places, which name them")]
#[pyo3(signature = (ground, measures, pairs, accuracy, seconds, threads, report=None, penalty=None, engine=None))]
#[expect(clippy::type_complexity, reason = "two arrays")]
pub(crate) fn emd_pairs_within<'py>(
    py: Python<'py>,
    ground: PairGround<'py>,
    measures: PairMeasures<'py>,
    pairs: Array2<'py, i64>,
    accuracy: GivenAccuracy<'py>,
    seconds: Option<f64>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
    penalty: Option<GivenPenalty<'py>>,
    engine: Option<Bound<'py, PyAny>>,
) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>)> {
    let target = target(&accuracy, seconds)?;
    let card = engine.as_ref().map(PythonCard::new).transpose()?;
    let there = card.clone().map(|card| -> Arc<dyn Card> { card });
    let found = with_problems(py, &ground, &measures, &pairs, penalty.as_ref(), |problems| {
        watch::tell(report.as_ref(), &problems.forecast(&target))?;
        watch::run(py, threads, report.as_ref(), |progress| match &there {
            Some(card) => problems.within_on(card, target, progress),
            None => problems.within(target, progress),
        })
    });
    let found = match &card {
        Some(card) => card.explained(found)?,
        None => found?,
    };
    Ok((found.lower.into_pyarray(py), found.upper.into_pyarray(py)))
}

/// Reads pairs of measures and asks their problems.
fn with_problems<'py, T>(
    py: Python<'py>,
    ground: &PairGround<'py>,
    measures: &PairMeasures<'py>,
    pairs: &Array2<'py, i64>,
    penalty: Option<&GivenPenalty<'py>>,
    ask: impl FnOnce(&Problems<'_>) -> PyResult<T>,
) -> PyResult<T> {
    let (measures, pairs) = (measures.read(penalty.is_some())?, convert::pairs(pairs)?);
    let made;
    let problems = match ground {
        PairGround::Ground(ground) => Problems::new(&ground.metric, &measures, &pairs),
        PairGround::Graph(graph) => Problems::new(&graph.components, &measures, &pairs),
        PairGround::Points(points, geometry) => {
            made = Ground::from_points(py, points, geometry)?;
            Problems::new(&made.metric, &measures, &pairs)
        }
    };
    let relax = Relaxed::new(None, penalty)?;
    ask(&relax.of_many(problems))
}
