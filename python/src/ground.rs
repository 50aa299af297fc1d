//! Ground metrics: coordinates, a matrix or a graph.

use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods};
use pyo3::prelude::*;
use treeport::build::linkage;
use treeport::metric::condensed::size_for;
use treeport::metric::{Components, Grid, Storage};
use treeport::names::Named;
use treeport::search::DevicePoints;
use treeport::{Error, Geometry, GroundMetric, Linkage, Period, PointMetric};

use crate::convert::{Array1, Array2, check_copies, to_py_err};
use crate::model::Model;
use crate::watch;

/// Returns name and one line of help of every metric of points.
#[pyfunction]
pub(crate) fn point_metrics() -> Vec<(&'static str, &'static str)> {
    PointMetric::ALL.iter().map(|metric| (metric.name(), metric.help())).collect()
}

/// Geometry argument: the name of a metric, or the name with the periods of coordinates.
#[derive(FromPyObject)]
pub(crate) enum GeometryArgument {
    Metric(String),
    Periodic(String, PeriodArgument),
}

/// Period argument: one for all coordinates, or one or none for each.
#[derive(FromPyObject, IntoPyObject)]
pub(crate) enum PeriodArgument {
    All(f64),
    Each(Vec<Option<f64>>),
}

impl PeriodArgument {
    pub(crate) fn of(period: &Period) -> Self {
        match period {
            Period::All(period) => Self::All(*period),
            Period::Each(periods) => Self::Each(periods.clone()),
        }
    }
}

impl GeometryArgument {
    pub(crate) fn read(&self) -> PyResult<Geometry> {
        let (Self::Metric(name) | Self::Periodic(name, _)) = self;
        let metric: PointMetric = name.parse().map_err(to_py_err)?;
        let period = match self {
            Self::Metric(_) => None,
            Self::Periodic(_, PeriodArgument::All(period)) => Some(Period::All(*period)),
            Self::Periodic(_, PeriodArgument::Each(periods)) => Some(Period::Each(periods.clone())),
        };
        Ok(metric.with_optional_period(period))
    }
}

/// Table in double or single precision.
#[derive(FromPyObject)]
pub(crate) enum Table<'py> {
    Double(Array2<'py, f64>),
    Single(Array2<'py, f32>),
}

/// List in double or single precision.
#[derive(FromPyObject)]
pub(crate) enum List<'py> {
    Double(Array1<'py, f64>),
    Single(Array1<'py, f32>),
}

/// Ends and weight of every edge.
type Edges<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Ground metric.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Ground {
    pub(crate) metric: GroundMetric,
}

#[pymethods]
impl Ground {
    /// Creates a metric of points with coordinates, one per row.
    #[staticmethod]
    #[pyo3(name = "from_points")]
    fn from_given_points(
        py: Python<'_>,
        points: Array2<'_, f64>,
        metric: GeometryArgument,
    ) -> PyResult<Self> {
        Self::from_points(py, &points, &metric)
    }

    /// Creates the metric of a regular grid that solves problems between images fastest.
    #[staticmethod]
    fn grid(
        py: Python<'_>,
        shape: Vec<usize>,
        spacing: Vec<f64>,
        metric: GeometryArgument,
        balanced: bool,
    ) -> PyResult<Self> {
        let geometry = metric.read()?;
        Self::new(py, || Grid::new(&shape, &spacing)?.ground(geometry, balanced))
    }

    /// Creates a metric from a square matrix.
    #[staticmethod]
    fn from_square(py: Python<'_>, square: Table<'_>) -> PyResult<Self> {
        let check = |shape: &[usize]| match *shape {
            [n, m] if n == m => Ok(n),
            _ => Err(to_py_err(Error::Shape {
                what: "the cost matrix".into(),
                expected: "a square, or one row of n(n − 1)/2 distances".into(),
                found: format!("{shape:?}").replace('[', "(").replace(']', ")"),
            })),
        };
        match square {
            Table::Double(square) => {
                let (n, square) = (check(square.as_array().shape())?, square.as_slice()?);
                Self::new(py, || GroundMetric::from_square(n, square))
            }
            Table::Single(square) => {
                let (n, square) = (check(square.as_array().shape())?, square.as_slice()?);
                Self::new(py, || GroundMetric::from_square_f32(n, square))
            }
        }
    }

    /// Creates a metric from the upper triangle of a matrix, like that of `pdist`.
    #[staticmethod]
    fn from_condensed(py: Python<'_>, distances: List<'_>) -> PyResult<Self> {
        match distances {
            List::Double(distances) => {
                check_copies(&distances, 1)?;
                let distances = distances.as_slice()?;
                let n = size_for(distances.len());
                Self::new(py, || GroundMetric::from_condensed(n, distances.to_vec()))
            }
            List::Single(distances) => {
                check_copies(&distances, 1)?;
                let distances = distances.as_slice()?;
                let n = size_for(distances.len());
                Self::new(py, || GroundMetric::from_condensed_f32(n, distances.to_vec()))
            }
        }
    }

    /// Creates the discrete metric: all distances are 1.
    #[staticmethod]
    fn discrete(n: usize) -> PyResult<Self> {
        Ok(Self { metric: GroundMetric::discrete(n).map_err(to_py_err)? })
    }

    /// Returns these distances with the assumption that the triangle inequality holds.
    fn assume_metric(&self, py: Python<'_>) -> PyResult<Self> {
        Self::new(py, || self.metric.clone().assume_metric())
    }

    /// Returns coordinates and the name of their metric, if there are any.
    fn coordinates<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(Bound<'py, PyArray2<f64>>, String)>> {
        let (Some((dim, all)), Some(name)) =
            (self.metric.coordinates(), self.metric.point_metric())
        else {
            return Ok(None);
        };
        let table = PyArray1::from_slice(py, all).reshape([self.metric.points(), dim])?;
        Ok(Some((table, name.to_string())))
    }

    /// Returns points for a device that bounds likely neighbors: the formula of costs, coordinates
    /// in single precision, the cost of a unit, the rounding error of a cost, and whether shared
    /// mass stays in place. `None` for a metric that devices do not support.
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    fn device_points<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<Option<(&'static str, Bound<'py, PyArray2<f32>>, f64, f64, bool)>> {
        let Some(points) = DevicePoints::new(&self.metric) else { return Ok(None) };
        let count = self.metric.points();
        let shape = [count, points.coordinates.len() / count];
        let table = points.coordinates.into_pyarray(py).reshape(shape)?;
        let DevicePoints { formula, unit_cost, lost, stays_put, .. } = points;
        Ok(Some((formula, table, unit_cost, lost, stays_put)))
    }

    /// Returns the period of all coordinates, or of each, if any coordinate is periodic.
    fn period(&self) -> Option<PeriodArgument> {
        self.metric.period().map(PeriodArgument::of)
    }

    /// Returns the condensed matrix in its own precision, if the metric is one.
    fn condensed<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        Some(match self.metric.matrix()? {
            Storage::F64(distances) => PyArray1::from_slice(py, distances).into_any(),
            Storage::F32(distances) => PyArray1::from_slice(py, distances).into_any(),
        })
    }

    /// Returns ends and weights of the edges, if the metric is a graph.
    fn edges<'py>(&self, py: Python<'py>) -> Option<Edges<'py>> {
        let edges = self.metric.edges()?;
        let column = |end: fn(&(u32, u32, f64)) -> i64| {
            edges.iter().map(end).collect::<Vec<_>>().into_pyarray(py)
        };
        let weights: Vec<f64> = edges.iter().map(|edge| edge.2).collect();
        let ends = (column(|edge| edge.0.into()), column(|edge| edge.1.into()));
        Some((ends.0, ends.1, weights.into_pyarray(py)))
    }

    #[getter]
    fn points(&self) -> usize {
        self.metric.points()
    }

    /// Prepares a graph for many queries: all distances, or the hierarchy of a large one.
    fn prepare(&self, py: Python<'_>, threads: usize) -> PyResult<()> {
        watch::run(py, threads, None, |progress| self.metric.prepare(progress))
    }

    /// Computes an initial tree over the points.
    fn linkage(&self, py: Python<'_>, method: &str, threads: usize) -> PyResult<Model> {
        let method: Linkage = method.parse().map_err(to_py_err)?;
        let tree =
            watch::run(py, threads, None, |progress| linkage(&self.metric, method, progress))?;
        Ok(Model::new(tree))
    }
}

/// Shortest-path metric of a graph of one or several components.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Graph {
    pub(crate) components: Components,
}

#[pymethods]
impl Graph {
    /// Creates a graph of `n` nodes.
    #[new]
    fn new(
        py: Python<'_>,
        n: usize,
        ends: Array2<'_, i64>,
        weights: Array1<'_, f64>,
    ) -> PyResult<Self> {
        // Copies: the list of edges and the adjacency lists.
        check_copies(&ends, 4)?;
        let (ends, weights) = (ends.as_array(), weights.as_array());
        // A negative node becomes one that is out of range.
        let edge = |(ends, &weight): (numpy::ndarray::ArrayView1<'_, i64>, &f64)| {
            (ends[0] as usize, ends[1] as usize, weight)
        };
        let make = || {
            let edges: Vec<_> = ends.rows().into_iter().zip(weights.iter()).map(edge).collect();
            Components::from_edges(n, &edges)
        };
        Ok(Self { components: py.detach(make).map_err(to_py_err)? })
    }

    /// Returns the number of components.
    fn __len__(&self) -> usize {
        self.components.len()
    }

    /// Returns the ground metric of all nodes; raises an error if there are several components.
    fn whole(&self) -> PyResult<Ground> {
        Ok(Ground { metric: self.components.whole().map_err(to_py_err)?.clone() })
    }
}

impl Ground {
    /// Creates a metric of points with coordinates, one per row.
    pub(crate) fn from_points(
        py: Python<'_>,
        points: &Array2<'_, f64>,
        geometry: &GeometryArgument,
    ) -> PyResult<Self> {
        check_copies(points, 1)?;
        let points = points.as_array();
        let geometry = geometry.read()?;
        let make = || {
            GroundMetric::from_points(points.ncols(), points.iter().copied().collect(), geometry)
        };
        Self::new(py, make)
    }

    fn new(
        py: Python<'_>,
        make: impl FnOnce() -> treeport::Result<GroundMetric> + Send,
    ) -> PyResult<Self> {
        Ok(Self { metric: py.detach(make).map_err(to_py_err)? })
    }
}
