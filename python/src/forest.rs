//! Several trees over the points.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::{Error, Forest, Tree};

use crate::convert::{self, Compressed, Row, to_py_err};
use crate::measures::Measures;
use crate::tree::RawTree;
use crate::watch;

/// A forest as the library knows it.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct RawForest {
    pub(crate) forest: Forest,
}

#[pymethods]
impl RawForest {
    /// Trees with weights, equal ones by default.
    #[staticmethod]
    #[pyo3(signature = (trees, weights=None))]
    fn from_trees(
        trees: Vec<PyRef<'_, RawTree>>,
        weights: Option<PyReadonlyArray1<'_, f64>>,
    ) -> PyResult<Self> {
        let trees = trees.iter().map(|raw| raw.tree.clone()).collect();
        Self::new(match weights {
            Some(weights) => Forest::new(trees, weights.as_array().to_vec()),
            None => Forest::uniform(trees),
        })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::new(Forest::from_bytes(bytes))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::new(py.detach(|| Forest::load(&path)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.forest.save(&path)).map_err(to_py_err)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.forest.to_bytes().map_err(to_py_err)?))
    }

    fn with_names(&self, names: Vec<String>) -> PyResult<Self> {
        Self::new(self.forest.clone().with_names(names))
    }

    fn scaled(&self, factor: f64) -> PyResult<Self> {
        Self::new(self.forest.scaled(factor))
    }

    #[getter]
    fn leaves(&self) -> usize {
        self.forest.leaves()
    }

    /// Of all trees together, which is the number of columns of `embed`.
    #[getter]
    fn nodes(&self) -> usize {
        self.forest.trees().iter().map(Tree::nodes).sum()
    }

    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.forest.names().map(<[String]>::to_vec)
    }

    fn trees(&self) -> Vec<RawTree> {
        self.forest.trees().iter().map(|tree| RawTree { tree: tree.clone() }).collect()
    }

    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.forest.weights().to_vec().into_pyarray(py)
    }

    /// Distance between two measures, each divided by its total first if `normalize`.
    fn distance(&self, py: Python<'_>, a: Row<'_>, b: Row<'_>, normalize: bool) -> PyResult<f64> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        py.detach(|| self.forest.distance(&a.row(0), &b.row(0))).map_err(to_py_err)
    }

    /// Distances of pairs of rows of one set.
    #[pyo3(signature = (pairs, measures, threads, report=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        pairs: PyReadonlyArray2<'py, i64>,
        measures: &Measures,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let pairs = convert::pairs(&pairs)?;
        let distances = watch::run(py, threads, report.as_ref(), |watch| {
            watch.expect(pairs.len());
            self.forest.pairs(&measures.rows, &pairs, &|done| watch.reached(done))
        })?;
        Ok(distances.into_pyarray(py))
    }

    /// Distances of row i of one set to row i of another.
    fn paired<'py>(
        &self,
        py: Python<'py>,
        a: &Measures,
        b: &Measures,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let distances = watch::run(py, threads, None, |watch| {
            self.forest.paired(&a.rows, &b.rows, &|done| watch.reached(done))
        })?;
        Ok(distances.into_pyarray(py))
    }

    /// All distances within one set, or from one set to another.
    fn pairwise<'py>(
        &self,
        py: Python<'py>,
        a: &Measures,
        b: Option<&Measures>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let distances = watch::run(py, threads, None, |watch| {
            let progress = |done| watch.reached(done);
            match b {
                Some(b) => self.forest.cross(&a.rows, &b.rows, &progress),
                None => self.forest.pairwise(&a.rows, &progress),
            }
        })?;
        distances.into_pyarray(py).reshape([a.rows.len(), b.unwrap_or(a).rows.len()])
    }

    /// Sparse rows whose cityblock distances are the forest's.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
        threads: usize,
    ) -> PyResult<Compressed<'py>> {
        let rows = watch::run(py, threads, None, |_| self.forest.embed(&measures.rows))?;
        Ok(convert::compressed(py, rows))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.forest == other.forest
    }
}

impl RawForest {
    fn new(forest: treeport::Result<Forest>) -> PyResult<Self> {
        Ok(Self { forest: forest.map_err(to_py_err)? })
    }
}

/// One tree, or several.
#[derive(IntoPyObject)]
pub(crate) enum TreeOrForest {
    Tree(RawTree),
    Forest(RawForest),
}

/// Reads a file of either kind.
#[pyfunction]
pub(crate) fn load(py: Python<'_>, path: PathBuf) -> PyResult<TreeOrForest> {
    let read = || match Tree::load(&path) {
        Ok(tree) => Ok(TreeOrForest::Tree(RawTree { tree })),
        Err(not_a_tree @ Error::NotATree { .. }) => match Forest::load(&path) {
            Ok(forest) => Ok(TreeOrForest::Forest(RawForest { forest })),
            Err(Error::NotAForest { .. }) => Err(not_a_tree),
            Err(other) => Err(other),
        },
        Err(other) => Err(other),
    };
    py.detach(read).map_err(to_py_err)
}
