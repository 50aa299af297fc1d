//! Estimators at every accuracy, with certified bounds.

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use treeport::accuracy::{Accuracy, Level, Question};
use treeport::estimate::{CertifiedEstimate, Statistic};

use crate::accuracy::AccuracyArgument;
use crate::convert::to_py_err;
use crate::ground::Ground;
use crate::labeled::Labeled;
use crate::measures::Measures;
use crate::model::Model;
use crate::watch;

/// Calibration of the levels from labels: a dictionary of plain numbers.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Calibration {
    tree: f64,
    flow: f64,
    arcs: f64,
    exact: f64,
    levels: [String; 4],
    mean_of_plans: bool,
    flow_width: f64,
    /// Fields that pickles of older versions do not have.
    #[pyo3(default)]
    flow_blend: Option<[f64; 2]>,
    #[pyo3(default)]
    arcs_blend: Option<[f64; 2]>,
}

impl From<treeport::estimate::Calibration> for Calibration {
    fn from(found: treeport::estimate::Calibration) -> Self {
        let [tree, flow, arcs, exact] = found.factors;
        Self {
            tree,
            flow,
            arcs,
            exact,
            levels: found.levels.map(|level| level.to_string()),
            mean_of_plans: found.statistic == Statistic::Mean,
            flow_width: found.flow_width,
            flow_blend: found.flow_blend,
            arcs_blend: Some(found.arcs_blend),
        }
    }
}

impl Calibration {
    /// Converts to the library's type.
    pub(crate) fn read(self) -> PyResult<treeport::estimate::Calibration> {
        let mut levels = Level::ALL;
        for (level, name) in levels.iter_mut().zip(&self.levels) {
            *level = name.parse().map_err(to_py_err)?;
        }
        let calibration = treeport::estimate::Calibration {
            factors: [self.tree, self.flow, self.arcs, self.exact],
            levels,
            statistic: if self.mean_of_plans { Statistic::Mean } else { Statistic::Least },
            flow_width: self.flow_width,
            flow_blend: self.flow_blend,
            ..Default::default()
        };
        Ok(calibration.with_arcs_blend(self.arcs_blend))
    }
}

/// Computes the calibration of the estimates of a model from labels.
#[pyfunction]
#[pyo3(signature = (ground, model, labeled, *, threads, report=None))]
pub(crate) fn calibration(
    py: Python<'_>,
    ground: &Ground,
    model: &Model,
    labeled: &Labeled,
    threads: usize,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<Calibration> {
    let found = watch::run(py, threads, report.as_ref(), |progress| {
        treeport::estimate::calibration(&ground.metric, &model.model, &labeled.data, progress)
    })?;
    Ok(found.into())
}

/// Ground metric with a model over its points.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Estimator {
    estimator: treeport::Estimator,
}

type Ends<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Estimator {
    /// Creates an estimator with or without an earlier calibration.
    #[new]
    #[pyo3(signature = (ground, model, *, calibration, threads))]
    fn new(
        py: Python<'_>,
        ground: &Ground,
        model: &Model,
        calibration: Option<Calibration>,
        threads: usize,
    ) -> PyResult<Self> {
        let calibration = calibration.map(Calibration::read).transpose()?.unwrap_or_default();
        let estimator = watch::run(py, threads, None, |progress| {
            // The metric keeps the result for the estimator.
            ground.metric.prepare(progress)?;
            treeport::Estimator::new(&ground.metric, &model.model)?.with_calibration(calibration)
        })?;
        Ok(Self { estimator })
    }

    /// Estimates distances of paired rows, or with `bounds` certified bounds.
    #[pyo3(signature = (accuracy, a, b, *, bounds, threads, report=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
    fn paired<'py>(
        &self,
        py: Python<'py>,
        accuracy: AccuracyArgument<'py>,
        a: &Measures,
        b: &Measures,
        bounds: bool,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Ends<'py>> {
        let (accuracy, a, b) = (accuracy.read(Question::Estimate)?, &a.rows, &b.rows);
        let (first, second): (Vec<f64>, Vec<f64>) =
            watch::run(py, threads, report.as_ref(), |progress| match accuracy {
                Accuracy::Level(level) if !bounds => {
                    let found = self.estimator.paired(level, a, b, progress)?;
                    Ok((found.iter().map(|estimate| estimate.value).collect(), vec![]))
                }
                _ => {
                    let found = self.estimator.paired_answers(accuracy, a, b, progress)?;
                    let ends = |answer: &CertifiedEstimate| {
                        let CertifiedEstimate { value, interval, .. } = *answer;
                        if bounds { (interval.lower, interval.upper) } else { (value, value) }
                    };
                    Ok(found.iter().map(ends).unzip())
                }
            })?;
        Ok((first.into_pyarray(py), second.into_pyarray(py)))
    }
}
