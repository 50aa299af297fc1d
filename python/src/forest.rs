//! Several trees over the points.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::{Error, Forest, Tree};

use crate::convert::to_py_err;
use crate::tree::RawTree;

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
