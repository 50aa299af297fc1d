//! One tree over the points.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::{Error, Tree};

use crate::convert::{self, Compressed, Moves, Row, to_py_err};
use crate::measures::Measures;
use crate::watch;

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

    /// Distance between two measures, each divided by its total first if `normalize`.
    fn distance(&self, py: Python<'_>, a: Row<'_>, b: Row<'_>, normalize: bool) -> PyResult<f64> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        py.detach(|| self.tree.distance(&a.row(0), &b.row(0))).map_err(to_py_err)
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

    /// Distances of rows of one set with the same numbers.
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
            self.tree.pairs(&measures.rows, &pairs, &|done| watch.reached(done))
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
            self.tree.paired(&a.rows, &b.rows, &|done| watch.reached(done))
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
                Some(b) => self.tree.cross(&a.rows, &b.rows, &progress),
                None => self.tree.pairwise(&a.rows, &progress),
            }
        })?;
        distances.into_pyarray(py).reshape([a.rows.len(), b.unwrap_or(a).rows.len()])
    }

    /// Sparse rows whose cityblock distances are the tree's.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
        threads: usize,
    ) -> PyResult<Compressed<'py>> {
        let rows = watch::run(py, threads, None, |_| self.tree.embed(&measures.rows))?;
        Ok(convert::compressed(py, rows))
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
