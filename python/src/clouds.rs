//! Measures with their own points.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeport::io::CloudOptions;
use treeport::uniform_masses;

use crate::convert::{self, Array1, Array2, check_room, to_py_err};
use crate::ground::{GeometryArgument, Ground};
use crate::measures::Measures;

/// Collection of measures, each with its own points.
#[pyclass(frozen, eq, module = "treeport._core")]
#[derive(PartialEq)]
pub(crate) struct Clouds {
    pub(crate) clouds: treeport::Clouds,
}

#[pymethods]
impl Clouds {
    /// Creates clouds: cloud `r` has the rows `start[r]..start[r + 1]` of `points`, with equal
    /// masses by default; clouds without mass are rejected unless they may be `empty`.
    #[new]
    #[pyo3(signature = (points, start, *, masses=None, names=None, normalize=false, empty=false))]
    fn new(
        py: Python<'_>,
        points: Array2<'_, f64>,
        start: Array1<'_, i64>,
        masses: Option<Array1<'_, f64>>,
        names: Option<Vec<String>>,
        normalize: bool,
        empty: bool,
    ) -> PyResult<Self> {
        convert::check_copies(&points, 2)?;
        let (dim, start) = (points.as_array().ncols(), wide(&start)?);
        // Row-major order, whatever the memory layout.
        let coordinates: Vec<f64> = points.as_array().iter().copied().collect();
        let masses = masses.as_ref().map(convert::masses).transpose()?;
        let make = || {
            let equal;
            let masses = if let Some(masses) = &masses {
                &**masses
            } else {
                equal = uniform_masses(dim, coordinates.len(), &start)?;
                &equal
            };
            let clouds = treeport::Clouds::named(dim, coordinates, &start, masses, names)?;
            let clouds = if empty { clouds } else { clouds.with_mass()? };
            Ok(if normalize { clouds.normalized() } else { clouds })
        };
        Ok(Self { clouds: py.detach(make).map_err(to_py_err)? })
    }

    /// Reads clouds and IDs from a file or folder; those without mass if they may be `empty`.
    #[staticmethod]
    #[pyo3(signature = (
        path, *, groupby=None, weights=None, columns=None, normalize=false, empty=false
    ))]
    fn read(
        py: Python<'_>,
        path: PathBuf,
        groupby: Option<String>,
        weights: Option<String>,
        columns: Option<Vec<String>>,
        normalize: bool,
        empty: bool,
    ) -> PyResult<Self> {
        let mut options = CloudOptions::default();
        (options.groupby, options.weights, options.columns) = (groupby, weights, columns);
        let read = || {
            let clouds = treeport::Clouds::read(path, &options)?;
            let clouds = if empty { clouds } else { clouds.with_mass()? };
            Ok(if normalize { clouds.normalized() } else { clouds })
        };
        Ok(Self { clouds: py.detach(read).map_err(to_py_err)? })
    }

    /// Writes a ragged archive atomically.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.clouds.save(path)).map_err(to_py_err)
    }

    /// Returns the names of the clouds, if they have any.
    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.clouds.names().map(<[String]>::to_vec)
    }

    /// Creates clouds from rows of births and deaths, and the start of each diagram.
    #[staticmethod]
    fn diagrams(
        py: Python<'_>,
        points: Array2<'_, f64>,
        start: Array1<'_, i64>,
        names: Option<Vec<String>>,
        metric: &str,
    ) -> PyResult<Self> {
        convert::check_copies(&points, 2)?;
        let metric: treeport::PointMetric = metric.parse().map_err(to_py_err)?;
        let (start, rows) = (wide(&start)?, points.as_array().iter().copied().collect());
        let make = || treeport::Clouds::diagrams(rows, &start, names, metric);
        Ok(Self { clouds: py.detach(make).map_err(to_py_err)? })
    }

    /// Returns the clouds with a penalty for each point, a distance of `metric` if given.
    #[pyo3(signature = (penalties, metric=None))]
    fn with_penalties(&self, penalties: Array1<'_, f64>, metric: Option<&str>) -> PyResult<Self> {
        let metric = metric.map(str::parse).transpose().map_err(to_py_err)?;
        let penalties = convert::masses(&penalties)?;
        let clouds = self.clouds.clone().with_penalties_of(&penalties, metric);
        Ok(Self { clouds: clouds.map_err(to_py_err)? })
    }

    /// Returns the penalties of all points, if there are any, for distances by a metric.
    fn penalties<'py>(
        &self,
        py: Python<'py>,
        metric: GeometryArgument,
    ) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
        let penalties = self.clouds.penalties(metric.read()?).map_err(to_py_err)?;
        Ok(penalties.map(|penalties| penalties.to_vec().into_pyarray(py)))
    }

    /// Returns the penalties of all points, if any, and their metric.
    fn own_penalties<'py>(
        &self,
        py: Python<'py>,
    ) -> Option<(Bound<'py, PyArray1<f64>>, Option<String>)> {
        let (penalties, metric) = self.clouds.own_penalties()?;
        Some((penalties.to_vec().into_pyarray(py), metric.map(|metric| metric.to_string())))
    }

    /// Returns the births of the essential points (infinite death) of each diagram, if any.
    fn births(&self) -> Option<Vec<Vec<f64>>> {
        self.clouds.births().map(<[_]>::to_vec)
    }

    /// Returns these clouds with the given births of essential points.
    fn with_births(&self, births: Vec<Vec<f64>>) -> PyResult<Self> {
        Ok(Self { clouds: self.clouds.clone().with_births(births).map_err(to_py_err)? })
    }

    /// Adds the cost of matching essential points (infinite death) to the distances of pairs of
    /// diagrams.
    fn with_essential<'py>(
        &self,
        py: Python<'py>,
        pairs: Array2<'_, i64>,
        order: f64,
        distances: Array1<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut all = convert::masses(&distances)?.into_owned();
        self.clouds.add_essential(&convert::pairs(&pairs)?, order, &mut all).map_err(to_py_err)?;
        Ok(all.into_pyarray(py))
    }

    /// Returns the ground metric of all points.
    fn ground(&self, py: Python<'_>, metric: GeometryArgument) -> PyResult<Ground> {
        let geometry = metric.read()?;
        let metric = py.detach(|| self.clouds.ground(geometry)).map_err(to_py_err)?;
        Ok(Ground { metric })
    }

    /// Returns the clouds as measures on all points.
    fn measures(&self) -> Measures {
        Measures::of(self.clouds.measures().clone())
    }

    /// Returns the clouds, each divided by its total.
    fn normalized(&self) -> PyResult<Self> {
        check_room(self.clouds.measures().bytes())?;
        Ok(Self { clouds: self.clouds.clone().normalized() })
    }

    /// Returns the clouds with the given numbers.
    fn select(&self, py: Python<'_>, clouds: Array1<'_, i64>) -> PyResult<Self> {
        let numbers = wide(&clouds)?;
        Ok(Self { clouds: py.detach(|| self.clouds.select(&numbers)).map_err(to_py_err)? })
    }

    /// Returns these clouds followed by others; without names unless both have them.
    fn followed_by(&self, py: Python<'_>, other: PyRef<'_, Self>) -> PyResult<Self> {
        let other = &other.clouds;
        Ok(Self { clouds: py.detach(|| self.clouds.followed_by(other)).map_err(to_py_err)? })
    }

    /// Returns these clouds with new names.
    fn named(&self, names: Vec<String>) -> PyResult<Self> {
        Ok(Self { clouds: self.clouds.clone().with_names(names).map_err(to_py_err)? })
    }

    /// Rejects clouds without mass.
    fn check_mass(&self) -> PyResult<()> {
        self.clouds.clone().with_mass().map(drop).map_err(to_py_err)
    }

    /// Rejects pairs of clouds that do not exist or have unequal totals.
    fn check_pairs(&self, pairs: Array2<'_, i64>) -> PyResult<()> {
        self.clouds.check_pairs(&convert::pairs(&pairs)?).map_err(to_py_err)
    }

    /// Rejects clouds, of one or two sets, whose totals differ.
    fn check_balanced(&self, other: Option<PyRef<'_, Self>>) -> PyResult<()> {
        let other = other.as_ref().map(|other| &other.clouds);
        self.clouds.check_balanced(other).map_err(to_py_err)
    }

    /// Returns the coordinates of all points, cloud by cloud.
    fn coordinates<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        check_room(8 * self.clouds.coordinates().len() as u64)?;
        let shape = [self.clouds.points(), self.clouds.dim()];
        self.clouds.coordinates().to_vec().into_pyarray(py).reshape(shape)
    }

    /// Returns the masses of all points, cloud by cloud.
    fn masses<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        check_room(8 * self.clouds.points() as u64)?;
        let mut masses = Vec::with_capacity(self.clouds.points());
        (0..self.clouds.len()).for_each(|cloud| self.clouds.masses_of(cloud, &mut masses));
        Ok(masses.into_pyarray(py))
    }

    /// Returns masses and coordinates of one cloud.
    #[expect(clippy::type_complexity, reason = "two arrays")]
    fn cloud<'py>(
        &self,
        py: Python<'py>,
        cloud: usize,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyArray2<f64>>)> {
        self.clouds.measures().get(cloud).map_err(to_py_err)?;
        let mut masses = Vec::new();
        self.clouds.masses_of(cloud, &mut masses);
        let (count, points) =
            (masses.len(), self.clouds.coordinates_of(cloud).to_vec().into_pyarray(py));
        Ok((masses.into_pyarray(py), points.reshape([count, self.clouds.dim()])?))
    }

    /// Returns the index of the first point of each cloud, and the number of points.
    fn starts<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let signed = |&at: &usize| i64::try_from(at).expect("memory ends long before");
        let starts = self.clouds.starts().iter().map(signed);
        starts.collect::<Vec<_>>().into_pyarray(py)
    }

    /// Returns the total mass of each cloud.
    fn totals<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let totals = self.clouds.measures().iter().map(|measure| measure.total());
        totals.collect::<Vec<_>>().into_pyarray(py)
    }

    fn __len__(&self) -> usize {
        self.clouds.len()
    }

    /// Returns the number of coordinates of a point.
    #[getter]
    fn dim(&self) -> usize {
        self.clouds.dim()
    }

    /// Returns the number of points of all clouds together.
    #[getter]
    fn points(&self) -> usize {
        self.clouds.points()
    }
}

/// Converts numbers of at least 0, in the given order.
fn wide(numbers: &Array1<'_, i64>) -> PyResult<Vec<usize>> {
    convert::check_copies(numbers, 1)?;
    let refused = |number| PyValueError::new_err(format!("{number} is below 0"));
    let numbers = numbers.as_array();
    numbers.iter().map(|&number| usize::try_from(number).map_err(|_| refused(number))).collect()
}
