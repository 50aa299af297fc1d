//! Learning a tree: all stages of `auto`, or the learner alone.

use std::ops::ControlFlow;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use treeport::baseline::{self, Doing, FitOptions};
use treeport::learn::{Loss, Status};
use treeport::{Error, Kind, Labels, LearnOptions};

use crate::convert::{self, to_py_err};
use crate::ground::Ground;
use crate::measures::Measures;
use crate::tree::RawTree;
use crate::watch;

/// The options of the learner, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Options {
    kind: String,
    epochs: usize,
    batch: usize,
    rate: f64,
    loss: String,
    validation: f64,
    rescale: bool,
    seed: u64,
}

impl Options {
    pub(crate) fn read(self) -> PyResult<LearnOptions> {
        let unknown = |option, value: &str, expected| {
            Err(to_py_err(Error::BadOption { option, value: format!("`{value}`"), expected }))
        };
        let kind = match self.kind.as_str() {
            "additive" => Kind::Additive,
            "ultrametric" => Kind::Ultrametric,
            "skip-mst" => Kind::SkipMst,
            other => {
                return unknown("kind", other, "it must be additive, ultrametric or skip-mst");
            }
        };
        let loss = match self.loss.as_str() {
            "relative" => Loss::Relative,
            "squared" => Loss::Squared,
            other => return unknown("loss", other, "it must be relative or squared"),
        };
        Ok(LearnOptions {
            kind,
            loss,
            epochs: self.epochs,
            batch: self.batch,
            rate: self.rate,
            validation: self.validation,
            rescale: self.rescale,
            seed: self.seed,
            ..LearnOptions::default()
        })
    }
}

/// Training and validation loss of every epoch (NaN without validation), and the best epoch.
type Curves<'py> = (Bound<'py, PyArray1<f64>>, Bound<'py, PyArray1<f64>>, usize);

fn curves<'py>(py: Python<'py>, learned: &treeport::Learned) -> Curves<'py> {
    let training: Vec<f64> = learned.history.iter().map(|epoch| epoch.training_loss).collect();
    let validation: Vec<f64> =
        learned.history.iter().map(|epoch| epoch.validation_loss.unwrap_or(f64::NAN)).collect();
    (training.into_pyarray(py), validation.into_pyarray(py), learned.best_epoch)
}

/// Learns a tree from distances of pairs of measures.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (start, measures, pairs, distances, options, threads, report=None))]
pub(crate) fn learn<'py>(
    py: Python<'py>,
    start: &RawTree,
    measures: &Measures,
    pairs: PyReadonlyArray2<'py, i64>,
    distances: PyReadonlyArray1<'py, f64>,
    options: Options,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(RawTree, Curves<'py>)> {
    let options = options.read()?;
    let distances = distances.as_array().to_vec();
    let labels = Labels { pairs: convert::pairs(&pairs)?, distances };
    let learned = watch::run(py, threads, report.as_ref(), |watch| {
        treeport::learn(&start.tree, &measures.rows, &labels, &options, |status: &Status<'_>| {
            watch.expect(status.steps);
            if watch.reached(status.step) {
                ControlFlow::Continue(())
            } else {
                ControlFlow::Break(())
            }
        })
    })?;
    let curves = curves(py, &learned);
    Ok((RawTree { tree: learned.tree }, curves))
}

/// The best stage, and every stage with its error.
type Stages = (String, Vec<(String, f64)>);

/// Fits a tree to distances of pairs of measures in stages, and keeps the best.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (start, ground, measures, pairs, distances, options, threads, report=None))]
pub(crate) fn fit<'py>(
    py: Python<'py>,
    start: &RawTree,
    ground: &Ground,
    measures: &Measures,
    pairs: PyReadonlyArray2<'py, i64>,
    distances: PyReadonlyArray1<'py, f64>,
    options: Options,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<(RawTree, Curves<'py>, Stages)> {
    let options = FitOptions { learn: options.read()?, ..FitOptions::default() };
    let distances = distances.as_array().to_vec();
    let labels = Labels { pairs: convert::pairs(&pairs)?, distances };
    let (tree, metric, rows) = (&start.tree, &ground.metric, &measures.rows);
    let fitted = watch::run(py, threads, report.as_ref(), |watch| {
        // How many iterations the other stages take is not known before: the bar is that of the learner.
        let progress = |doing: &Doing<'_>| match doing {
            Doing::Learning(status) => {
                watch.expect(status.steps);
                watch.reached(status.step)
            }
            Doing::Points(_) | Doing::Edges(_) => watch.goes_on(),
        };
        baseline::fit(tree, metric, rows, &labels, &options, &progress)
    })?;
    let curves = curves(py, &fitted.learned);
    let errors = fitted.errors.iter().map(|(stage, error)| (stage.to_string(), *error)).collect();
    Ok((RawTree { tree: fitted.tree }, curves, (fitted.stage.to_string(), errors)))
}
