//! Training data: measures with exact distances of some pairs, and models fitted to them.

use std::time::Duration;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeport::labeled;
use treeport::labeled::{TRIED_PAIRS, pairs_within, test_seed};
use treeport::learn::Epoch;
use treeport::names::Named;
use treeport::{Method, fit as fit_model};

use crate::convert::{self, Array1, Array2, to_py_err};
use crate::ground::Ground;
use crate::measures::Measures;
use crate::model::Model;
use crate::options;
use crate::watch;

/// Measures with labels.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Labeled {
    pub(crate) data: treeport::Labeled,
}

#[pymethods]
impl Labeled {
    /// Creates labels from pairs of rows with known distances.
    #[new]
    fn new(
        measures: &Measures,
        pairs: Array2<'_, i64>,
        distances: Array1<'_, f64>,
    ) -> PyResult<Self> {
        convert::check_copies(&distances, 1)?;
        let (pairs, distances) = (convert::pairs(&pairs)?, distances.as_array().to_vec());
        let data = treeport::Labeled::new(&measures.rows, pairs, distances);
        Ok(Self { data: data.map_err(to_py_err)? })
    }

    /// Solves random pairs of rows: those on which `fit` trains, or with `test` others.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
    #[pyo3(signature = (ground, measures, *, count, seed, test, threads, report=None))]
    fn sample(
        py: Python<'_>,
        ground: &Ground,
        measures: &Measures,
        count: usize,
        seed: u64,
        test: bool,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let pairs = drawn(count, measures.rows.len(), seed, test)?;
        Self::solved(py, ground, &measures.rows, pairs, threads, report)
    }

    /// Estimates the number of random pairs of rows that can be solved in about this many seconds.
    #[staticmethod]
    #[pyo3(signature = (ground, measures, *, seconds, seed, threads, report=None))]
    fn count_within(
        py: Python<'_>,
        ground: &Ground,
        measures: &Measures,
        seconds: f64,
        seed: u64,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
        let time = time.ok_or_else(|| {
            PyValueError::new_err(format!(
                "budget is {seconds:e}; it is a number of seconds above 0"
            ))
        })?;
        let tried = drawn(TRIED_PAIRS, measures.rows.len(), seed, false)?;
        watch::run(py, threads, report.as_ref(), |progress| {
            pairs_within(time, &ground.metric, &measures.rows, &tried, progress)
        })
    }

    /// Solves row i of one set with row i of another exactly.
    #[staticmethod]
    #[pyo3(signature = (ground, a, b, *, threads, report=None))]
    fn paired(
        py: Python<'_>,
        ground: &Ground,
        a: &Measures,
        b: &Measures,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let both = a.rows.followed_by(&b.rows).map_err(to_py_err)?;
        let pairs = (0..a.rows.len()).map(|i| (i, a.rows.len() + i)).collect();
        Self::solved(py, ground, &both, pairs, threads, report)
    }

    /// Computes the mean relative error of a model.
    fn error(&self, py: Python<'_>, model: &Model, threads: usize) -> PyResult<f64> {
        watch::run(py, threads, None, |progress| {
            let (measures, pairs) = (self.data.measures(), self.data.pairs());
            Ok(self.data.score(&model.model.pairs(measures, pairs, progress)?).mean)
        })
    }

    /// Returns the median number of points of a measure.
    #[getter]
    fn support(&self) -> usize {
        let mut sizes: Vec<usize> =
            self.data.measures().iter().map(|m| m.support().len()).collect();
        let middle = sizes.len() / 2;
        *sizes.select_nth_unstable(middle).1
    }

    fn __len__(&self) -> usize {
        self.data.len()
    }
}

impl Labeled {
    fn solved(
        py: Python<'_>,
        ground: &Ground,
        measures: &treeport::Measures,
        pairs: Vec<(usize, usize)>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let data = watch::run(py, threads, report.as_ref(), |progress| {
            treeport::Labeled::solve(&ground.metric, measures, pairs, progress)
        })?;
        Ok(Self { data })
    }
}

/// Draws random pairs of `rows` rows: the pairs on which `fit` trains, or other ones with `test`.
fn drawn(count: usize, rows: usize, seed: u64, test: bool) -> PyResult<Vec<(usize, usize)>> {
    let seed = if test { test_seed(seed) } else { seed };
    labeled::sample_pairs(count, rows, seed).map_err(to_py_err)
}

/// Draws the pairs of rows that [`Labeled::sample`] solves.
#[pyfunction]
#[pyo3(signature = (*, count, measures, seed, test))]
pub(crate) fn sample_pairs(
    py: Python<'_>,
    count: usize,
    measures: usize,
    seed: u64,
    test: bool,
) -> PyResult<Bound<'_, PyArray2<i64>>> {
    let pairs = drawn(count, measures, seed, test)?;
    let ends = pairs.iter().flat_map(|&(i, j)| [i, j]);
    let ends = ends.map(|row| i64::try_from(row).expect("rows are in memory"));
    ends.collect::<Vec<_>>().into_pyarray(py).reshape([pairs.len(), 2])
}

/// Result of a fit: the model; training and validation loss of every epoch (NaN without validation)
/// and the best epoch; the best stage and the errors of all stages.
type Fitted<'py> = (
    Model,
    (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, usize),
    (Option<String>, Vec<(String, f64)>),
);

/// Fits a model to labels by the method in the options.
#[pyfunction]
#[pyo3(signature = (ground, labeled, options, *, threads, report=None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    ground: &Ground,
    labeled: &Labeled,
    options: &Bound<'py, PyDict>,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Fitted<'py>> {
    let options = options::read(options)?.only_read(true);
    let fitted = watch::run(py, threads, report.as_ref(), |progress| {
        fit_model(&ground.metric, Some(&labeled.data), &options, progress)
    })?;
    let curve =
        |of: fn(&Epoch) -> f64| fitted.history.iter().map(of).collect::<Vec<_>>().into_pyarray(py);
    let training = curve(|epoch| epoch.training_loss);
    let validation = curve(|epoch| epoch.validation_loss.unwrap_or(f64::NAN));
    let errors = fitted.stage_errors.iter().map(|(stage, error)| (stage.to_string(), *error));
    let stages = (fitted.stage.map(|stage| stage.to_string()), errors.collect());
    Ok((Model::new(fitted.model), (training, validation, fitted.best_epoch), stages))
}

/// Returns a sentence if a fit takes long, and longer than solving all pairs of its measures; its
/// labels took `seconds`.
#[pyfunction]
#[pyo3(signature = (ground, labeled, options, *, seconds))]
pub(crate) fn costly_fit(
    ground: &Ground,
    labeled: &Labeled,
    options: &Bound<'_, PyDict>,
    seconds: Option<f64>,
) -> PyResult<Option<String>> {
    let options = options::read(options)?.only_read(true);
    let forecast = options.forecast(&ground.metric, &labeled.data, seconds);
    Ok(forecast.costs_more_than_solving().then(|| forecast.to_string()))
}

/// Returns name, family and one line of help of every method.
#[pyfunction]
pub(crate) fn methods() -> Vec<(&'static str, String, &'static str)> {
    let row = |method: &Method| (method.name(), format!("{:?}", method.family()), method.help());
    Method::ALL.iter().map(row).collect()
}
