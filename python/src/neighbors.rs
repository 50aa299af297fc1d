//! Nearest neighbors of measures in a collection that is kept.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::accuracy::Question;
use treeport::search::{IndexFile, IndexOptions, Neighbors};

use crate::accuracy::GivenAccuracy;
use crate::convert::{Array1, to_py_err};
use crate::ground::Ground;
use crate::measures::Measures;
use crate::watch;

/// Where the neighbors of each query begin, their numbers and distances, and for each query the
/// bound of what was left out and how many pairs were solved.
type FoundNeighbors<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// A collection of measures with the names of their points. Not frozen: PyO3 refuses to change it
/// while another thread searches.
#[pyclass(module = "treeport._core")]
pub(crate) struct Index {
    file: IndexFile,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (ground, measures, memory, names, threads, report=None))]
    fn new(
        py: Python<'_>,
        ground: &Ground,
        measures: &Measures,
        memory: Option<u64>,
        names: Option<Vec<String>>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = IndexOptions { memory, ..IndexOptions::default() };
        let index = watch::run(py, threads, report.as_ref(), |progress| {
            treeport::Index::new(&ground.metric, &measures.rows, &options, progress)
        })?;
        Ok(Self { file: IndexFile { index, point_names: names, measure_names: None } })
    }

    /// The `k` nearest of every query, or of every measure among the others.
    #[pyo3(signature = (queries, k, accuracy, threads, report=None))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        queries: Option<&Measures>,
        k: usize,
        accuracy: GivenAccuracy<'_>,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<FoundNeighbors<'py>> {
        let (index, accuracy) = (&self.file.index, accuracy.read(Question::Search)?);
        let found = watch::run(py, threads, report.as_ref(), |progress| match queries {
            Some(queries) => index.nearest(&queries.rows, k, accuracy, progress),
            None => index.graph(k, accuracy, progress),
        })?;
        Ok(flat(py, &found))
    }

    /// All within a distance of every query, or of every measure among the others.
    #[pyo3(signature = (queries, radius, threads, report=None))]
    fn radius<'py>(
        &self,
        py: Python<'py>,
        queries: Option<&Measures>,
        radius: f64,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<FoundNeighbors<'py>> {
        let index = &self.file.index;
        let found = watch::run(py, threads, report.as_ref(), |progress| match queries {
            Some(queries) => index.radius(&queries.rows, radius, progress),
            None => index.radius_graph(radius, progress),
        })?;
        Ok(flat(py, &found))
    }

    /// The share of the true `k` nearest that approximate answers have.
    #[pyo3(signature = (k, threads, report=None))]
    fn expected_recall(
        &self,
        py: Python<'_>,
        k: usize,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<f64> {
        let index = &self.file.index;
        watch::run(py, threads, report.as_ref(), |progress| index.expected_recall(k, progress))
    }

    /// Adds measures; the number of the first of them.
    #[pyo3(signature = (measures, threads, report=None))]
    fn add(
        &mut self,
        py: Python<'_>,
        measures: &Measures,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let IndexFile { index, measure_names, .. } = &mut self.file;
        let first = watch::run(py, threads, report.as_ref(), |progress| {
            index.add(&measures.rows, progress)
        })?;
        // A file of the command line has names of measures; these have none but their numbers.
        if let Some(names) = measure_names {
            names.extend((first..index.measures().len()).map(|number| number.to_string()));
        }
        Ok(first)
    }

    fn remove(&mut self, numbers: Array1<'_, i64>) -> PyResult<()> {
        // A negative number becomes one that is out of range.
        let numbers: Vec<usize> = numbers.as_array().iter().map(|&n| n as usize).collect();
        self.file.index.remove(&numbers).map_err(to_py_err)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { file: py.detach(|| IndexFile::load(&path)).map_err(to_py_err)? })
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.file.save(&path)).map_err(to_py_err)
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { file: py.detach(|| IndexFile::from_bytes(bytes)).map_err(to_py_err)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = py.detach(|| self.file.to_bytes()).map_err(to_py_err)?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// How it is pickled and copied.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// The metric between the points.
    #[getter]
    fn ground(&self) -> Ground {
        Ground { metric: self.file.index.metric().clone() }
    }

    /// Names of the points, if they have any.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.file.point_names.clone()
    }

    /// Bytes beside metric and measures.
    #[getter]
    fn bytes(&self) -> u64 {
        self.file.index.bytes()
    }

    /// Measures that can be found.
    #[getter]
    fn present(&self) -> usize {
        self.file.index.len()
    }

    /// Numbers given out so far.
    fn __len__(&self) -> usize {
        self.file.index.measures().len()
    }
}

fn flat<'py>(py: Python<'py>, found: &[Neighbors]) -> FoundNeighbors<'py> {
    let whole = |count: usize| i64::try_from(count).expect("memory ends long before");
    let mut start = vec![0];
    let (mut numbers, mut distances) = (Vec::new(), Vec::new());
    for neighbors in found {
        numbers.extend(neighbors.found.iter().map(|&(number, _)| whole(number)));
        distances.extend(neighbors.found.iter().map(|&(_, distance)| distance));
        start.push(whole(numbers.len()));
    }
    let bounds: Vec<f64> = found.iter().map(|neighbors| neighbors.bound).collect();
    let solved: Vec<i64> = found.iter().map(|neighbors| whole(neighbors.steps.exact)).collect();
    (
        start.into_pyarray(py),
        numbers.into_pyarray(py),
        distances.into_pyarray(py),
        bounds.into_pyarray(py),
        solved.into_pyarray(py),
    )
}
