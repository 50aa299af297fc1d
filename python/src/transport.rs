//! One transport problem: exact, bounded or entropic.

use std::sync::Arc;
use std::time::Duration;

use numpy::PyArray1;
use numpy::ndarray::ArrayBase;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeport::accuracy::{Accuracy, Question};
use treeport::names::Named as _;
use treeport::sinkhorn as entropic;
use treeport::sinkhorn::{Epsilon, SinkhornOptions};
use treeport::solve::Device;
use treeport::{
    Aim, Coupling, Error, MatrixView, Potentials, Problem, Progress, Proposal, Relax, Wanted,
    silent,
};

use crate::accuracy::AccuracyArgument;
use crate::convert::{self, Array1, Array2, Moves, Row, to_py_err};
use crate::costs::{Costs, PenaltyArgument, Relaxed};
use crate::device::PythonDevice;
use crate::watch;

/// Answer of one problem: bounds, the plan of the upper one, and the engine.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Answer {
    answer: treeport::Answer,
    /// Mass that a certificate moves and the proposed plan did not.
    rerouted: f64,
}

/// Dual values of the points of either side.
type Duals<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

fn arrays<'py>(py: Python<'py>, Potentials { left, right }: &Potentials) -> Duals<'py> {
    (PyArray1::from_slice(py, left), PyArray1::from_slice(py, right))
}

#[pymethods]
impl Answer {
    #[getter]
    fn lower(&self) -> f64 {
        self.answer.lower
    }

    /// Returns the cost of the plan; for an exact answer the value of the problem.
    #[getter]
    fn upper(&self) -> f64 {
        self.answer.upper
    }

    /// Returns the plan as (from, to, mass); empty if only the value was requested.
    #[getter]
    fn moves<'py>(&self, py: Python<'py>) -> Moves<'py> {
        convert::moves(py, self.answer.plan.clone())
    }

    /// Returns the dual values of all points, if requested.
    #[getter]
    fn potentials<'py>(&self, py: Python<'py>) -> Option<Duals<'py>> {
        self.answer.potentials.as_ref().map(|duals| arrays(py, duals))
    }

    /// Returns the penalty at which the mass moves that was requested, with dual values.
    #[getter]
    fn penalty(&self) -> Option<f64> {
        self.answer.penalty
    }

    /// Returns the one-sided rates of the value in the masses of all points, if requested.
    #[getter]
    fn rates<'py>(&self, py: Python<'py>) -> Option<Duals<'py>> {
        self.answer.rates.as_ref().map(|rates| arrays(py, rates))
    }

    /// Returns the engine that found the bounds.
    #[getter]
    fn engine(&self) -> &'static str {
        self.answer.engine.name()
    }

    /// Returns the mass that a certificate moves and the proposed plan did not; 0 of solutions.
    #[getter]
    fn rerouted(&self) -> f64 {
        self.rerouted
    }

    /// Returns the engines chosen for the problem, and why.
    #[getter]
    fn route(&self) -> String {
        self.answer.route.to_string()
    }
}

/// Solves one problem exactly or within bounds, on the processor or with a device.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
#[pyo3(signature = (
    a, b, costs, *, wanted, accuracy=None, seconds=None, mass=None, penalty=None, order=1.0,
    device=None, report=None
))]
pub(crate) fn solve<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    wanted: &str,
    accuracy: Option<AccuracyArgument<'py>>,
    seconds: Option<f64>,
    mass: Option<f64>,
    penalty: Option<PenaltyArgument<'py>>,
    order: f64,
    device: Option<Bound<'py, PyAny>>,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Answer> {
    let aim = aim_of(accuracy.as_ref(), seconds)?.wanting(wanted_of(wanted)?);
    let relax = Relaxed::new(mass, penalty.as_ref())?;
    let python_device = device.as_ref().map(PythonDevice::new).transpose()?;
    let device = python_device.clone().map(|device| -> Arc<dyn Device> { device });
    let answer = |problem: &Problem<'_>, progress: &Progress<'_>| {
        problem.answer(&aim, progress).map(|answer| Answer { answer, rerouted: 0.0 })
    };
    let found = costs.with_problem([&a, &b], &relax, device.is_some(), |problem| {
        let problem = match &device {
            Some(device) => problem.on_device(device),
            None => problem,
        };
        let problem = problem.with_order(order);
        if report.is_some() && !problem.is_quick() {
            if device.is_none() {
                watch::tell(report.as_ref(), &problem.forecast(&aim))?;
            }
            let found = ask(py, &problem, report.as_ref(), answer)?;
            watch::explain(report.as_ref(), &found.answer.route)?;
            return Ok(found);
        }
        ask(py, &problem, report.as_ref(), answer)
    });
    match &python_device {
        Some(device) => device.explained(found),
        None => found,
    }
}

/// A plan of any origin: a table, or moves from points to points.
#[derive(FromPyObject)]
pub(crate) enum PlanArgument<'py> {
    Table(Array2<'py, f64>),
    SingleTable(Array2<'py, f32>),
    Moves(Array1<'py, u32>, Array1<'py, u32>, Array1<'py, f64>),
}

/// Certifies a plan and potentials of any origin.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
#[pyo3(signature = (
    a, b, costs, *, wanted, plan=None, left=None, right=None, accuracy=None, seconds=None,
    penalty=None, report=None
))]
pub(crate) fn certify<'py>(
    py: Python<'py>,
    a: Row<'py>,
    b: Row<'py>,
    costs: Costs<'py>,
    wanted: &str,
    plan: Option<PlanArgument<'py>>,
    left: Option<Array1<'py, f64>>,
    right: Option<Array1<'py, f64>>,
    accuracy: Option<AccuracyArgument<'py>>,
    seconds: Option<f64>,
    penalty: Option<PenaltyArgument<'py>>,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Answer> {
    let aim = aim_of(accuracy.as_ref(), seconds)?.wanting(wanted_of(wanted)?);
    let relax = Relaxed::new(None, penalty.as_ref())?;
    let mut moves = Coupling::default();
    if let Some(PlanArgument::Moves(from, to, mass)) = &plan {
        convert::check_copies(mass, 2)?;
        (moves.left, moves.right) = (from.as_array().to_vec(), to.as_array().to_vec());
        moves.mass = mass.as_array().to_vec();
    }
    let (table, single) = match &plan {
        Some(PlanArgument::Table(table)) => (Some(table.as_array()), None),
        Some(PlanArgument::SingleTable(table)) => (None, Some(table.as_array())),
        _ => (None, None),
    };
    let entry = |i: usize, j: usize| match (&table, &single) {
        (Some(table), _) => table[[i, j]],
        (_, Some(table)) => f64::from(table[[i, j]]),
        _ => 0.0,
    };
    let shape = table.as_ref().map(ArrayBase::dim).or(single.as_ref().map(ArrayBase::dim));
    let mut proposal = Proposal::default();
    if let Some((rows, columns)) = shape {
        proposal = proposal.with_table(MatrixView::from_fn(rows, columns, &entry));
    } else if plan.is_some() {
        proposal = proposal.with_moves(&moves);
    }
    let sides = [&left, &right].map(|side| side.as_ref().map(convert::masses).transpose());
    let [left, right] = sides;
    let (left, right) = (left?, right?);
    if let Some(left) = &left {
        proposal = proposal.with_left(left);
    }
    if let Some(right) = &right {
        proposal = proposal.with_right(right);
    }
    costs.with_problem([&a, &b], &relax, false, |problem| {
        ask(py, &problem, report.as_ref(), |problem, progress| {
            let found = problem.certify(&proposal, &aim, progress)?;
            Ok(Answer { answer: found.answer, rerouted: found.rerouted })
        })
    })
}

/// Solves a problem, with the interpreter released if it may take long.
pub(crate) fn ask<T: Send>(
    py: Python<'_>,
    problem: &Problem<'_>,
    report: Option<&Bound<'_, PyAny>>,
    question: impl FnOnce(&Problem<'_>, &Progress<'_>) -> treeport::Result<T> + Send,
) -> PyResult<T> {
    if problem.is_quick() {
        // Other threads wait: a release takes 0.1 µs, 3 % of a problem of ten points.
        return question(problem, &silent).map_err(to_py_err);
    }
    watch::run(py, 0, report, |progress| question(problem, progress))
}

/// Converts seconds; more of them than a duration can hold are the longest duration.
pub(crate) fn duration(seconds: f64) -> PyResult<Duration> {
    if !(0.0..f64::INFINITY).contains(&seconds) {
        return Err(PyValueError::new_err("time is a number of seconds: finite and at least 0"));
    }
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

/// Parses the tolerance of the bounds and the time limit.
pub(crate) fn aim_of(
    accuracy: Option<&AccuracyArgument<'_>>,
    seconds: Option<f64>,
) -> PyResult<Aim> {
    let time = seconds.map(duration).transpose()?;
    let accuracy = accuracy.map(|accuracy| accuracy.read(Question::Problem)).transpose()?;
    Ok(Aim::to(accuracy.unwrap_or(Accuracy::EXACT)).in_time(time))
}

fn wanted_of(wanted: &str) -> PyResult<Wanted> {
    match wanted {
        "value" => Ok(Wanted::Value),
        "plan" => Ok(Wanted::Plan),
        "potentials" => Ok(Wanted::Potentials),
        "rates" => Ok(Wanted::Rates),
        other => Err(PyValueError::new_err(format!("wanted is {other}"))),
    }
}

/// Computes the cost of the entropic plan between two measures, and the plan if requested.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (a, b, costs, *, plan, epsilon, relative, max_iterations, tolerance))]
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
    let (value, plan) = costs.with_problem([&a, &b], &balanced, false, |problem| {
        ask(py, &problem, None, |problem, progress| {
            if !plan {
                return Ok((entropic::value(problem, &options, progress)?, None));
            }
            let solved = entropic::solve(problem, &options, progress)?;
            if solved.converged {
                return Ok((solved.transport_cost, Some(solved.plan)));
            }
            let (violation, iterations) = (solved.violation, solved.iterations);
            Err(Error::NotConverged { left: 0, right: 1, violation, tolerance, iterations })
        })
    })?;
    Ok((value, plan.map(|plan| convert::moves(py, plan))))
}
