//! Many problems between measures on one ground metric.

use std::borrow::Cow;
use std::sync::Arc;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use treeport::solve::Device;
use treeport::{Aim, Answer, Coupling, GroundMetric, Intervals, Problems, Wanted, silent};

use crate::accuracy::AccuracyArgument;
use crate::convert::{self, Array2, to_py_err};
use crate::costs::{PenaltyArgument, Relaxed};
use crate::device::PythonDevice;
use crate::ground::{GeometryArgument, Graph, Ground};
use crate::measures::{Measures, refused};
use crate::transport::aim_of;
use crate::watch;

/// Ground metric of many pairs.
#[derive(FromPyObject)]
pub(crate) enum PairGround<'py> {
    Ground(PyRef<'py, Ground>),
    Graph(PyRef<'py, Graph>),
    /// Coordinates, one point per row, and their metric.
    Points(Array2<'py, f64>, GeometryArgument),
}

/// Validated measures, or masses, one measure per row.
#[derive(FromPyObject)]
pub(crate) enum PairMeasures<'py> {
    Read(PyRef<'py, Measures>),
    Dense(Array2<'py, f64>),
}

impl PairMeasures<'_> {
    /// Returns the measures; those without mass are rejected unless they may be `empty`.
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

/// Computes bounds of the exact costs of pairs: lower ones if an accuracy, a time limit or a device
/// is given, and upper ones, which are the values otherwise. `prepare` applies to a graph whatever
/// the pairs, so that parts of a list give the bits of the whole.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "keywords of Python")]
#[pyo3(signature = (
    ground, measures, pairs, threads, *, accuracy=None, seconds=None, penalty=None, order=1.0,
    device=None, prepare=false, report=None
))]
pub(crate) fn emd_pairs<'py>(
    py: Python<'py>,
    ground: PairGround<'py>,
    measures: PairMeasures<'py>,
    pairs: Array2<'py, i64>,
    threads: usize,
    accuracy: Option<AccuracyArgument<'py>>,
    seconds: Option<f64>,
    penalty: Option<PenaltyArgument<'py>>,
    order: f64,
    device: Option<Bound<'py, PyAny>>,
    prepare: bool,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(Option<Values<'py>>, Values<'py>)> {
    let aim = aim_of(accuracy.as_ref(), seconds)?.wanting(Wanted::Value);
    let is_bounded = accuracy.is_some() || seconds.is_some() || device.is_some();
    let python_device = device.as_ref().map(PythonDevice::new).transpose()?;
    let device = python_device.clone().map(|device| -> Arc<dyn Device> { device });
    let prepared = match &ground {
        PairGround::Ground(ground) if prepare => Some(ground.metric.clone()),
        _ => None,
    };
    let found = with_problems(py, &ground, &measures, &pairs, penalty.as_ref(), |problems| {
        let problems = match &device {
            Some(device) => problems.on_device(device),
            None => problems,
        };
        let problems = problems.with_order(order);
        if !is_bounded && report.is_none() && problems.is_quick() {
            return Ok((None, problems.values(&silent).map_err(to_py_err)?));
        }
        watch::tell(report.as_ref(), &problems.forecast(&aim))?;
        watch::run(py, threads, report.as_ref(), |progress| {
            if let Some(metric) = &prepared {
                metric.prepare(progress)?;
            }
            if is_bounded {
                let Intervals { lower, upper } = problems.bounds(&aim, progress)?;
                return Ok((Some(lower), upper));
            }
            Ok((None, problems.values(progress)?))
        })
    });
    let (lower, upper) = match &python_device {
        Some(device) => device.explained(found)?,
        None => found?,
    };
    Ok((lower.map(|lower| lower.into_pyarray(py)), upper.into_pyarray(py)))
}

/// Computes the lengths of optimal plans of pairs of measures of total 1: for each pair the means of
/// `bins` quantiles of equal mass, one pair after the other. Their mean is the distance.
#[pyfunction]
#[pyo3(signature = (ground, measures, pairs, threads, bins, report=None))]
pub(crate) fn plan_lengths<'py>(
    py: Python<'py>,
    ground: PyRef<'py, Ground>,
    measures: PyRef<'py, Measures>,
    pairs: Array2<'py, i64>,
    threads: usize,
    bins: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Values<'py>> {
    let (metric, rows, pairs) = (&ground.metric, &measures.rows, convert::pairs(&pairs)?);
    let found = watch::run(py, threads, report.as_ref(), |progress| {
        let lengths = |answer: Answer| quantiles(metric, &answer.plan, bins);
        Problems::new(metric, rows, &pairs).map_answers(&Aim::default(), progress, lengths)
    })?;
    Ok(found.concat().into_pyarray(py))
}

/// Returns the means of quantiles of equal mass of the lengths of a plan, ascending.
fn quantiles(metric: &GroundMetric, plan: &Coupling, bins: usize) -> Vec<f64> {
    let ends = plan.left.iter().zip(&plan.right);
    let lengths = ends.map(|(&i, &j)| metric.distance(i as usize, j as usize));
    let mut moves: Vec<(f64, f64)> = lengths.zip(plan.mass.iter().copied()).collect();
    moves.sort_by(|one, other| one.0.total_cmp(&other.0));
    let total: f64 = moves.iter().map(|(_, mass)| mass).sum();
    let (mut means, mut before) = (vec![0.0; bins], 0.0);
    for (length, mass) in moves {
        let after = before + mass / total * bins as f64;
        // A move of zero mass at the end may begin behind the last bin.
        let mut bin = (before as usize).min(bins - 1);
        while before < after && bin < bins {
            let end = if bin + 1 == bins { after } else { after.min((bin + 1) as f64) };
            means[bin] += length * (end - before);
            (before, bin) = (end, bin + 1);
        }
    }
    means
}

type Values<'py> = Bound<'py, PyArray1<f64>>;

/// Parses pairs of measures and solves their problems.
fn with_problems<'py, T>(
    py: Python<'py>,
    ground: &PairGround<'py>,
    measures: &PairMeasures<'py>,
    pairs: &Array2<'py, i64>,
    penalty: Option<&PenaltyArgument<'py>>,
    ask: impl FnOnce(Problems<'_>) -> PyResult<T>,
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
    ask(relax.of_many(problems))
}
