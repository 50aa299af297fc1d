//! Estimates between clouds by lines and partitions of the whole space.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::names::Named;
use treeport::space::{SpaceMethod, SpaceOptions};

use crate::clouds::Clouds;
use crate::convert::{self, Array2, to_py_err};
use crate::ground::{GeometryArgument, PeriodArgument};
use crate::labeled::Labeled;
use crate::watch;

/// Model of W₁ between clouds.
#[pyclass(frozen, eq, module = "treeport._core")]
#[derive(PartialEq)]
pub(crate) struct Space {
    space: treeport::Space,
}

#[pymethods]
impl Space {
    /// Fits a model to labels of clouds.
    #[staticmethod]
    #[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
    #[pyo3(signature = (clouds, metric, data, *, method, seed, threads, report=None))]
    fn fit(
        py: Python<'_>,
        clouds: PyRef<'_, Clouds>,
        metric: GeometryArgument,
        data: PyRef<'_, Labeled>,
        method: &str,
        seed: u64,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = SpaceOptions { method: method.parse().map_err(to_py_err)?, seed };
        let (clouds, data, geometry) = (&clouds.clouds, &data.data, metric.read()?);
        let space = watch::run(py, threads, report.as_ref(), |progress| {
            treeport::Space::fit(clouds, geometry, data, &options, progress)
                .map_err(|error| clouds.placed(error))
        })?;
        Ok(Self { space })
    }

    /// Estimates the distances from all clouds to all clouds of another set, or of the same.
    #[pyo3(signature = (left, right, *, threads, report=None))]
    fn table<'py>(
        &self,
        py: Python<'py>,
        left: PyRef<'_, Clouds>,
        right: Option<PyRef<'_, Clouds>>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (left, right) = (&left.clouds, right.as_ref().map(|right| &right.clouds));
        let table = watch::run(py, threads, report.as_ref(), |progress| {
            let rows = self.space.prepare(left, progress)?;
            match right {
                Some(right) => rows.cross(&self.space.prepare(right, progress)?, progress),
                None => rows.pairwise(progress),
            }
        })?;
        table.into_pyarray(py).reshape([left.len(), right.unwrap_or(left).len()])
    }

    /// Estimates the distances of pairs of clouds.
    #[pyo3(signature = (clouds, pairs, *, threads, report=None))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        clouds: PyRef<'_, Clouds>,
        pairs: Array2<'_, i64>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let (clouds, pairs) = (&clouds.clouds, convert::pairs(&pairs)?);
        let found = watch::run(py, threads, report.as_ref(), |progress| {
            self.space.prepare(clouds, progress)?.pairs(&pairs, progress)
        })?;
        Ok(found.into_pyarray(py))
    }

    /// Returns a lower bound, an estimate and an upper bound of the distance of each pair of
    /// clouds.
    #[pyo3(signature = (clouds, pairs, *, threads, report=None))]
    fn intervals<'py>(
        &self,
        py: Python<'py>,
        clouds: PyRef<'_, Clouds>,
        pairs: Array2<'_, i64>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let (clouds, pairs) = (&clouds.clouds, convert::pairs(&pairs)?);
        let found = watch::run(py, threads, report.as_ref(), |progress| {
            self.space.prepare(clouds, progress)?.intervals(&pairs, progress)
        })?;
        found.as_flattened().to_vec().into_pyarray(py).reshape([pairs.len(), 3])
    }

    /// Computes the mean relative error on labels of clouds.
    fn score(
        &self,
        py: Python<'_>,
        clouds: PyRef<'_, Clouds>,
        data: PyRef<'_, Labeled>,
        threads: usize,
    ) -> PyResult<f64> {
        let (clouds, data) = (&clouds.clouds, &data.data);
        watch::run(py, threads, None, |progress| {
            let found = self.space.prepare(clouds, progress)?.pairs(data.pairs(), progress)?;
            Ok(data.score(&found).mean)
        })
    }

    /// Returns sparse rows whose cityblock distances are estimates.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        clouds: PyRef<'_, Clouds>,
        threads: usize,
    ) -> PyResult<convert::Compressed<'py>> {
        let clouds = &clouds.clouds;
        let rows = watch::run(py, threads, None, |progress| self.space.embed(clouds, progress))?;
        Ok(convert::compressed(py, rows))
    }

    /// Writes the model atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.space.save(path)).map_err(to_py_err)
    }

    /// Reads a model.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self { space: py.detach(|| treeport::Space::load(path)).map_err(to_py_err)? })
    }

    /// Returns whether a file holds a model of clouds, damaged or not.
    #[staticmethod]
    fn is_file(py: Python<'_>, path: PathBuf) -> bool {
        let read = py.detach(|| treeport::Space::load(path));
        !matches!(read, Err(treeport::Error::NotASpace { .. } | treeport::Error::Read { .. }))
    }

    /// Returns whether a name is that of a method of clouds.
    #[staticmethod]
    fn has_method(name: &str) -> bool {
        SpaceMethod::ALL.iter().any(|method| method.name() == name)
    }

    #[new]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Ok(Self { space: treeport::Space::from_bytes(bytes).map_err(to_py_err)? })
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.space.to_bytes().map_err(to_py_err)?))
    }

    fn __getnewargs__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyBytes>,)> {
        Ok((self.to_bytes(py)?,))
    }

    /// Returns the name of the method.
    #[getter]
    fn method(&self) -> &'static str {
        self.space.method().name()
    }

    /// Returns the name of the metric.
    #[getter]
    fn metric(&self) -> &'static str {
        self.space.geometry().metric.name()
    }

    /// Returns the period, if there is one.
    fn period(&self) -> Option<PeriodArgument> {
        self.space.geometry().period.as_ref().map(PeriodArgument::of)
    }

    /// Returns the number of coordinates of a point.
    #[getter]
    fn dim(&self) -> usize {
        self.space.dim()
    }

    /// Returns the mean relative error of the cross-validation on the labels of the fit.
    #[getter]
    fn error(&self) -> f64 {
        self.space.error()
    }
}
