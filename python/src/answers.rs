//! Distances between measures, by one tree or by several: asked in the same words, answered by either.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;
use treeport::{Forest, Tree};

use crate::convert::{self, Compressed, Row, to_py_err};
use crate::forest::RawForest;
use crate::measures::Measures;
use crate::tree::RawTree;
use crate::watch;

/// Who is asked.
pub(crate) enum Model {
    Tree(Py<RawTree>),
    Forest(Py<RawForest>),
}

// The derived one makes an error message for every forest, which takes as long as a small distance.
impl<'py> FromPyObject<'_, 'py> for Model {
    type Error = PyErr;

    fn extract(model: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        if let Ok(tree) = model.cast::<RawTree>() {
            return Ok(Self::Tree(tree.to_owned().unbind()));
        }
        Ok(Self::Forest(model.cast::<RawForest>()?.to_owned().unbind()))
    }
}

/// The same without Python.
#[derive(Clone, Copy)]
enum Trees<'a> {
    One(&'a Tree),
    Several(&'a Forest),
}

impl Model {
    fn trees(&self) -> Trees<'_> {
        match self {
            Self::Tree(raw) => Trees::One(&raw.get().tree),
            Self::Forest(raw) => Trees::Several(&raw.get().forest),
        }
    }
}

/// Calls the method of that name, which trees and forests both have.
macro_rules! ask {
    ($trees:expr, $method:ident($($argument:expr),+)) => {
        match $trees {
            Trees::One(tree) => tree.$method($($argument),+),
            Trees::Several(forest) => forest.$method($($argument),+),
        }
    };
}

/// Distance between two measures, each divided by its total first if `normalize`.
#[pyfunction]
pub(crate) fn distance(
    py: Python<'_>,
    model: Model,
    a: Row<'_>,
    b: Row<'_>,
    normalize: bool,
) -> PyResult<f64> {
    let (a, b) = convert::two(&a, &b, normalize)?;
    let trees = model.trees();
    py.detach(|| ask!(trees, distance(&a.row(0), &b.row(0)))).map_err(to_py_err)
}

/// Distances of pairs of rows of one set.
#[pyfunction]
#[pyo3(signature = (model, pairs, measures, threads, report=None))]
pub(crate) fn pairs<'py>(
    py: Python<'py>,
    model: Model,
    pairs: PyReadonlyArray2<'py, i64>,
    measures: &Measures,
    threads: usize,
    report: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let (trees, pairs) = (model.trees(), convert::pairs(&pairs)?);
    let distances = watch::run(py, threads, report.as_ref(), |watch| {
        watch.expect(pairs.len());
        ask!(trees, pairs(&measures.rows, &pairs, &|done| watch.reached(done)))
    })?;
    Ok(distances.into_pyarray(py))
}

/// Distances of row i of one set to row i of another.
#[pyfunction]
pub(crate) fn paired<'py>(
    py: Python<'py>,
    model: Model,
    a: &Measures,
    b: &Measures,
    threads: usize,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let trees = model.trees();
    let distances = watch::run(py, threads, None, |watch| {
        ask!(trees, paired(&a.rows, &b.rows, &|done| watch.reached(done)))
    })?;
    Ok(distances.into_pyarray(py))
}

/// All distances within one set, or from one set to another.
#[pyfunction]
#[pyo3(signature = (model, a, b, threads))]
pub(crate) fn pairwise<'py>(
    py: Python<'py>,
    model: Model,
    a: &Measures,
    b: Option<&Measures>,
    threads: usize,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let trees = model.trees();
    let distances = watch::run(py, threads, None, |watch| {
        let progress = |done| watch.reached(done);
        match b {
            Some(b) => ask!(trees, cross(&a.rows, &b.rows, &progress)),
            None => ask!(trees, pairwise(&a.rows, &progress)),
        }
    })?;
    distances.into_pyarray(py).reshape([a.rows.len(), b.unwrap_or(a).rows.len()])
}

/// Sparse rows whose cityblock distances are those of the model.
#[pyfunction]
pub(crate) fn embed<'py>(
    py: Python<'py>,
    model: Model,
    measures: &Measures,
    threads: usize,
) -> PyResult<Compressed<'py>> {
    let trees = model.trees();
    let rows = watch::run(py, threads, None, |_| ask!(trees, embed(&measures.rows)))?;
    Ok(convert::compressed(py, rows))
}
