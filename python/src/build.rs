//! Trees and forests by the name of a method.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use treeport::baseline::{BaselineOptions, Method, Model, Scale, Training};
use treeport::{Error, Forest, ForestOptions, ForestWeightOptions, GroundMetric, Labels};

use crate::convert::{self, to_py_err};
use crate::forest::{RawForest, TreeOrForest};
use crate::ground::{Ground, linkage_of};
use crate::learn::Options;
use crate::measures::Measures;
use crate::tree::RawTree;
use crate::watch::{self, Watch};

/// What can be chosen beside the method, from a dictionary.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct BuildOptions {
    trees: usize,
    linkage: String,
    rescale: bool,
    seed: u64,
    learn: Options,
}

/// Builds what `method` says over the points of a metric.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
#[pyo3(signature = (method, ground, measures, pairs, distances, options, threads, report=None))]
pub(crate) fn build(
    py: Python<'_>,
    method: &str,
    ground: &Ground,
    measures: &Measures,
    pairs: PyReadonlyArray2<'_, i64>,
    distances: PyReadonlyArray1<'_, f64>,
    options: BuildOptions,
    threads: usize,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<TreeOrForest> {
    let distances = distances.as_array().to_vec();
    let labels = Labels { pairs: convert::pairs(&pairs)?, distances };
    let training = Training { measures: &measures.rows, labels: &labels };
    let metric = &ground.metric;
    let BuildOptions { trees, linkage, rescale, seed, learn } = options;
    let known: Method = method.parse().map_err(to_py_err)?;
    let mut forest = ForestOptions { trees, seed, ..ForestOptions::default() };
    if matches!(known, Method::Forest | Method::LearnedForest) {
        forest.linkage = linkage_of(&linkage)?;
    }
    if known == Method::Forest {
        let forest = watch::run(py, threads, report.as_ref(), |watch| {
            perturbed(metric, training, &forest, rescale, watch)
        })?;
        return Ok(TreeOrForest::Forest(RawForest { forest }));
    }
    // Learned trees have their scale from the labels already.
    let factor = rescale && known != Method::LearnedForest;
    let options = BaselineOptions {
        scale: if factor { Scale::Labels } else { Scale::None },
        slices: trees,
        forest,
        learn: learn.read()?,
        seed,
        ..BaselineOptions::default()
    };
    let model = watch::run(py, threads, report.as_ref(), |watch| {
        // How many steps there are is known to the method alone.
        known.build(metric, Some(training), &options, &|done| watch.reached(done))
    })?;
    match model {
        Model::Tree(tree) => Ok(TreeOrForest::Tree(RawTree { tree })),
        Model::Forest(forest) => Ok(TreeOrForest::Forest(RawForest { forest })),
        Model::Flow { .. } | Model::Constant(_) => Err(to_py_err(Error::BadOption {
            option: "the method",
            value: format!("`{method}`"),
            expected: "it must be one that gives trees",
        })),
    }
}

/// Linkages of the perturbed metric; with `rescale` labels say how much each counts.
fn perturbed(
    metric: &GroundMetric,
    training: Training<'_>,
    options: &ForestOptions,
    rescale: bool,
    watch: &Watch,
) -> treeport::Result<Forest> {
    watch.expect(options.trees);
    let forest = Forest::perturbed(metric, options, &|done| watch.reached(done))?;
    // Labels that are all 0 say nothing about scale or weights.
    if !rescale || training.labels.distances.iter().all(|&distance| distance == 0.0) {
        return Ok(forest);
    }
    let weighted = ForestWeightOptions { seed: options.seed, ..ForestWeightOptions::default() };
    // Weights take no time beside the trees: the bar stays where it is.
    forest.weighted_by(training.measures, training.labels, &weighted, &|_| watch.goes_on())
}
