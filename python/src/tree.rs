//! One tree over the points.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::{Error, Tree};

use crate::convert::{self, Moves, Row, to_py_err};

/// A tree as the library knows it.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct RawTree {
    pub(crate) tree: Tree,
}

#[pymethods]
impl RawTree {
    /// From parents and edge lengths, leaves first, root last.
    #[staticmethod]
    fn from_parents(
        leaves: usize,
        parents: PyReadonlyArray1<'_, i64>,
        lengths: PyReadonlyArray1<'_, f64>,
    ) -> PyResult<Self> {
        // A negative number is no node, and neither is the largest one.
        let node = |&parent: &i64| u32::try_from(parent).unwrap_or(u32::MAX);
        let parents = parents.as_array().iter().map(node).collect();
        Self::new(Tree::new(leaves, parents, lengths.as_array().to_vec()))
    }

    /// All points one apart.
    #[staticmethod]
    fn star(leaves: usize) -> PyResult<Self> {
        if leaves == 1 {
            return Self::new(Tree::new(1, vec![0], vec![0.0]));
        }
        let mut lengths = vec![0.5; leaves + 1];
        lengths[leaves] = 0.0;
        Self::new(Tree::new(leaves, vec![leaves as u32; leaves + 1], lengths))
    }

    #[staticmethod]
    #[pyo3(signature = (text, names=None))]
    fn from_newick(text: &str, names: Option<Vec<String>>) -> PyResult<Self> {
        Self::new(match names {
            Some(names) => Tree::from_newick_with(text, &names),
            None => Tree::from_newick(text),
        })
    }

    #[staticmethod]
    fn from_linkage(matrix: PyReadonlyArray2<'_, f64>) -> PyResult<Self> {
        let matrix = matrix.as_array();
        if matrix.ncols() != 4 {
            return Err(to_py_err(Error::Shape {
                what: "the linkage matrix".into(),
                expected: "(n − 1, 4)".into(),
                found: format!("({}, {})", matrix.nrows(), matrix.ncols()),
            }));
        }
        let rows: Vec<_> =
            matrix.rows().into_iter().map(|row| [row[0], row[1], row[2], row[3]]).collect();
        Self::new(Tree::from_linkage(&rows))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::new(Tree::from_bytes(bytes))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::new(py.detach(|| Tree::load(&path)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.tree.save(&path)).map_err(to_py_err)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.tree.to_bytes().map_err(to_py_err)?))
    }

    fn to_newick(&self) -> String {
        self.tree.to_newick()
    }

    fn to_linkage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.tree.to_linkage().map_err(to_py_err)?;
        let count = rows.len();
        rows.into_iter().flatten().collect::<Vec<_>>().into_pyarray(py).reshape([count, 4])
    }

    fn with_names(&self, names: Vec<String>) -> PyResult<Self> {
        Self::new(self.tree.clone().with_names(names))
    }

    fn scaled(&self, factor: f64) -> PyResult<Self> {
        Self::new(self.tree.scaled(factor))
    }

    #[getter]
    fn leaves(&self) -> usize {
        self.tree.leaves()
    }

    #[getter]
    fn nodes(&self) -> usize {
        self.tree.nodes()
    }

    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.tree.names().map(<[String]>::to_vec)
    }

    #[getter]
    fn is_ultrametric(&self) -> bool {
        self.tree.is_ultrametric()
    }

    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let parents: Vec<i64> = self.tree.parents().iter().map(|&p| i64::from(p)).collect();
        parents.into_pyarray(py)
    }

    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.tree.lengths().to_vec().into_pyarray(py)
    }

    /// Which mass goes where.
    fn coupling<'py>(
        &self,
        py: Python<'py>,
        a: Row<'py>,
        b: Row<'py>,
        normalize: bool,
    ) -> PyResult<Moves<'py>> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        let plan = py.detach(|| self.tree.coupling(&a.row(0), &b.row(0)));
        Ok(convert::moves(py, plan.map_err(to_py_err)?))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.tree == other.tree
    }
}

impl RawTree {
    fn new(tree: treeport::Result<Tree>) -> PyResult<Self> {
        Ok(Self { tree: tree.map_err(to_py_err)? })
    }
}
