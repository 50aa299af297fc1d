//! Estimates at every accuracy, with certified bounds.

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use treeport::Labels;
use treeport::estimate::{Estimator, Level, Statistic};

use crate::convert::{self, Moves, Row, to_py_err};
use crate::forest::RawForest;
use crate::ground::Ground;
use crate::measures::Measures;
use crate::watch;

/// What labels tell about the levels: a dictionary of plain numbers.
#[derive(FromPyObject, IntoPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Calibration {
    tree: f64,
    flow: f64,
    arcs: f64,
    exact: f64,
    mean_of_plans: bool,
    flow_width: f64,
}

impl From<treeport::estimate::Calibration> for Calibration {
    fn from(found: treeport::estimate::Calibration) -> Self {
        let [tree, flow, arcs, exact] = found.factors;
        let mean_of_plans = found.statistic == Statistic::Mean;
        Self { tree, flow, arcs, exact, mean_of_plans, flow_width: found.flow_width }
    }
}

impl From<Calibration> for treeport::estimate::Calibration {
    fn from(kept: Calibration) -> Self {
        let statistic = if kept.mean_of_plans { Statistic::Mean } else { Statistic::Least };
        let factors = [kept.tree, kept.flow, kept.arcs, kept.exact];
        Self { factors, statistic, flow_width: kept.flow_width }
    }
}

/// A level by its name, or a relative error to stay within.
#[derive(FromPyObject)]
pub(crate) enum Accuracy {
    Level(String),
    Within(f64),
}

/// A ground metric with trees over its points.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Dial {
    estimator: Estimator<'static>,
}

type Ends<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>);

#[pymethods]
impl Dial {
    /// With a calibration from before, or none.
    #[staticmethod]
    fn over(
        py: Python<'_>,
        ground: &Ground,
        forest: &RawForest,
        calibration: Option<Calibration>,
        threads: usize,
    ) -> PyResult<Self> {
        let estimator = watch::run(py, threads, None, |_| {
            Ok(Estimator::new(&ground.metric, &forest.forest)?.into_owned())
        })?;
        let calibration = calibration.map(Into::into).unwrap_or_default();
        let estimator = estimator.with_calibration(calibration).map_err(to_py_err)?;
        Ok(Self { estimator })
    }

    /// What distances of pairs of measures tell about the levels.
    #[staticmethod]
    #[pyo3(signature = (ground, forest, measures, pairs, distances, threads, report=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
    fn calibrate(
        py: Python<'_>,
        ground: &Ground,
        forest: &RawForest,
        measures: &Measures,
        pairs: PyReadonlyArray2<'_, i64>,
        distances: PyReadonlyArray1<'_, f64>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Calibration> {
        let distances = distances.as_array().to_vec();
        let labels = Labels { pairs: convert::pairs(&pairs)?, distances };
        watch::run(py, threads, report.as_ref(), |watch| {
            watch.expect(Estimator::PASSES * labels.pairs.len());
            let plain = Estimator::new(&ground.metric, &forest.forest)?;
            let found = plain.calibrated(&measures.rows, &labels, &|done| watch.reached(done))?;
            Ok(found.calibration().into())
        })
    }

    /// Estimates of pairs of rows of one set.
    #[pyo3(signature = (accuracy, pairs, measures, threads, report=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        accuracy: Accuracy,
        pairs: PyReadonlyArray2<'py, i64>,
        measures: &Measures,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (pairs, rows) = (convert::pairs(&pairs)?, &measures.rows);
        let asked = accuracy.read()?;
        let values: Vec<f64> = watch::run(py, threads, report.as_ref(), |watch| {
            watch.expect(pairs.len());
            let progress = |done| watch.reached(done);
            Ok(match asked {
                Asked::Level(level) => {
                    let found = self.estimator.pairs(level, rows, &pairs, &progress)?;
                    found.iter().map(|estimate| estimate.value).collect()
                }
                Asked::Within(tolerance) => {
                    let found = self.estimator.pairs_within(tolerance, rows, &pairs, &progress)?;
                    found.iter().map(|answer| answer.value).collect()
                }
            })
        })?;
        Ok(values.into_pyarray(py))
    }

    /// Certified lower and upper bounds of pairs of rows of one set.
    #[pyo3(signature = (accuracy, pairs, measures, threads, report=None))]
    fn bounds<'py>(
        &self,
        py: Python<'py>,
        accuracy: Accuracy,
        pairs: PyReadonlyArray2<'py, i64>,
        measures: &Measures,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Ends<'py>> {
        let (pairs, rows) = (convert::pairs(&pairs)?, &measures.rows);
        let asked = accuracy.read()?;
        let answers = watch::run(py, threads, report.as_ref(), |watch| {
            watch.expect(pairs.len());
            let progress = |done| watch.reached(done);
            match asked {
                Asked::Level(level) => self.estimator.answers(level, rows, &pairs, &progress),
                Asked::Within(tolerance) => {
                    self.estimator.pairs_within(tolerance, rows, &pairs, &progress)
                }
            }
        })?;
        let ends = answers.iter().map(|answer| (answer.interval.lower, answer.interval.upper));
        let (lower, upper): (Vec<_>, Vec<_>) = ends.unzip();
        Ok((lower.into_pyarray(py), upper.into_pyarray(py)))
    }

    /// The cheapest plan that the flow level knows.
    fn coupling<'py>(
        &self,
        py: Python<'py>,
        a: Row<'py>,
        b: Row<'py>,
        normalize: bool,
    ) -> PyResult<Moves<'py>> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        let cheapest = || self.estimator.coupling(&a.row(0), &b.row(0));
        Ok(convert::moves(py, py.detach(cheapest).map_err(to_py_err)?))
    }
}

/// The same, understood.
enum Asked {
    Level(Level),
    Within(f64),
}

impl Accuracy {
    fn read(self) -> PyResult<Asked> {
        match self {
            Self::Level(name) => Ok(Asked::Level(name.parse().map_err(to_py_err)?)),
            Self::Within(tolerance) => Ok(Asked::Within(tolerance)),
        }
    }
}
