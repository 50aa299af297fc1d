//! Nearest neighbors of measures in an indexed collection.

use std::path::PathBuf;

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::accuracy::Question;
use treeport::search::{
    ExternalBounds, IndexFile, IndexOptions, MeasureSet, Neighbors, QuerySource,
};

use crate::accuracy::AccuracyArgument;
use crate::clouds::Clouds;
use crate::convert::{Array1, to_py_err};
use crate::ground::Ground;
use crate::measures::Measures;
use crate::transport::duration;
use crate::turns::Shared;
use crate::watch;

/// Result of a search: the offsets of the queries, numbers and distances of their neighbors, and
/// for each query the bound of the omitted ones and the number of solved pairs.
type FoundNeighbors<'py> = (
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<i64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<f64>>,
    Bound<'py, PyArray1<i64>>,
);

/// Offsets of the queries, numbers of their measures, and the bounds.
type BoundsOfQueries<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>);

/// Numbers of measures, and their names.
type MeasureLabels<'py> = (Bound<'py, PyArray1<i64>>, Option<Vec<String>>);

/// Measures on the points of an index, or clouds with their own points.
#[derive(FromPyObject)]
pub(crate) enum MeasuresArgument<'py> {
    OnPoints(Bound<'py, Measures>),
    Clouds(Bound<'py, Clouds>),
}

impl MeasuresArgument<'_> {
    fn set(&self) -> MeasureSet<'_> {
        match self {
            Self::OnPoints(measures) => (&measures.get().rows).into(),
            Self::Clouds(clouds) => (&clouds.get().clouds).into(),
        }
    }
}

/// Index of measures with the names of their points, shared between threads: searches run
/// concurrently, and a change has exclusive access.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Index {
    file: Shared<IndexFile>,
}

#[pymethods]
impl Index {
    #[new]
    #[pyo3(signature = (ground, measures, *, memory, names, threads, report=None))]
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
        Ok(Self::of(IndexFile { index, point_names: names }))
    }

    /// Creates an index of clouds, with their names.
    #[staticmethod]
    #[pyo3(signature = (clouds, ground, *, memory, penalty, threads, report=None))]
    fn of_clouds(
        py: Python<'_>,
        clouds: &Clouds,
        ground: &Ground,
        memory: Option<u64>,
        penalty: Option<f64>,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let options = IndexOptions { memory, penalty, ..IndexOptions::default() };
        let index = watch::run(py, threads, report.as_ref(), |progress| {
            treeport::Index::of_clouds(&clouds.clouds, &ground.metric, &options, progress)
        })?;
        Ok(Self::of(IndexFile { index, point_names: None }))
    }

    /// Returns whether mass of the clouds may be left unmoved, and the penalty if it is one number.
    #[getter]
    fn penalty(&self, py: Python<'_>) -> PyResult<(bool, Option<f64>)> {
        self.file.read(py, |file| Ok((file.index.is_relaxed(), file.index.penalty())))
    }

    /// Returns whether the measures are clouds.
    #[getter]
    fn is_of_clouds(&self, py: Python<'_>) -> PyResult<bool> {
        self.file.read(py, |file| Ok(file.index.is_of_clouds()))
    }

    /// Finds the `k` nearest measures of queries or all measures: within limits if given, and the
    /// best found in so many seconds for each if there is a time.
    #[pyo3(signature = (queries, k, *, accuracy, threads, report=None, limits=None, time=None))]
    #[expect(clippy::too_many_arguments, reason = "called from few places, which name them")]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        queries: Option<MeasuresArgument<'py>>,
        k: usize,
        accuracy: AccuracyArgument<'_>,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
        limits: Option<Vec<f64>>,
        time: Option<f64>,
    ) -> PyResult<FoundNeighbors<'py>> {
        let time = time.map(duration).transpose()?;
        let accuracy = accuracy.read(Question::Search)?;
        let queries = queries.as_ref().map(MeasuresArgument::set);
        let found = self.file.read(py, |IndexFile { index, .. }| {
            watch::run(py, threads, report.as_ref(), |progress| match (queries, &limits) {
                (Some(queries), Some(limits)) => {
                    index.nearest_within(queries, k, limits, accuracy, progress)
                }
                (Some(queries), None) => match time {
                    Some(time) => index.nearest_in(time, queries, k, accuracy, progress),
                    None => index.nearest(queries, k, accuracy, progress),
                },
                (None, _) => index.graph(k, accuracy, progress),
            })
        })?;
        Ok(flat(py, &found))
    }

    /// Finds all measures within a distance of every query, or of every measure.
    #[pyo3(signature = (queries, radius, *, threads, report=None))]
    fn radius<'py>(
        &self,
        py: Python<'py>,
        queries: Option<MeasuresArgument<'py>>,
        radius: f64,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<FoundNeighbors<'py>> {
        let queries = queries.as_ref().map(MeasuresArgument::set);
        let found = self.file.read(py, |IndexFile { index, .. }| {
            watch::run(py, threads, report.as_ref(), |progress| match queries {
                Some(queries) => index.radius(queries, radius, progress),
                None => index.radius_graph(radius, progress),
            })
        })?;
        Ok(flat(py, &found))
    }

    /// Finds the measures with the least shared lower bounds, and these bounds, for the given
    /// queries.
    #[pyo3(signature = (queries, rows, *, count, threads))]
    fn likely<'py>(
        &self,
        py: Python<'py>,
        queries: Option<MeasuresArgument<'py>>,
        rows: (usize, usize),
        count: usize,
        threads: usize,
    ) -> PyResult<BoundsOfQueries<'py>> {
        let asking = asking(queries.as_ref());
        let found = self.file.read(py, |IndexFile { index, .. }| {
            watch::run(py, threads, None, |progress| {
                index.likely(asking, rows.0..rows.1, count, progress)
            })
        })?;
        let mut start = vec![0];
        let (mut numbers, mut bounds) = (Vec::new(), Vec::new());
        for of_query in found {
            numbers.extend(of_query.iter().map(|&(number, _)| to_i64(number)));
            bounds.extend(of_query.iter().map(|&(_, bound)| bound));
            start.push(to_i64(numbers.len()));
        }
        Ok((start.into_pyarray(py), numbers.into_pyarray(py), bounds.into_pyarray(py)))
    }

    /// Runs `nearest` or `radius` for the given queries, or measures by number, with lower bounds
    /// of some of their distances that were computed before, for masses of a total of 1.
    #[pyo3(signature = (queries, rows, *, k, radius, accuracy, given, threads, report=None))]
    #[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
    fn search_given<'py>(
        &self,
        py: Python<'py>,
        queries: Option<MeasuresArgument<'py>>,
        rows: (usize, usize),
        k: usize,
        radius: Option<f64>,
        accuracy: AccuracyArgument<'_>,
        given: (Array1<'py, i64>, Array1<'py, i64>, Array1<'py, f64>),
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<FoundNeighbors<'py>> {
        let accuracy = accuracy.read(Question::Search)?;
        let asking = asking(queries.as_ref());
        let (start, numbers, bounds) = given;
        let (start, numbers, bounds) = (start.as_array(), numbers.as_array(), bounds.as_array());
        let of_query = |at: usize| {
            let places = start[at] as usize..start[at + 1] as usize;
            places.map(|place| (numbers[place] as usize, bounds[place])).collect()
        };
        let given = ExternalBounds::new((0..start.len().saturating_sub(1)).map(of_query));
        let found = self.file.read(py, |IndexFile { index, .. }| {
            watch::run(py, threads, report.as_ref(), |progress| {
                let asked = (asking, rows.0..rows.1);
                match radius {
                    Some(radius) => index.radius_given(asked, radius, &given, progress),
                    None => index.nearest_given(asked, k, accuracy, &given, progress),
                }
            })
        })?;
        Ok(flat(py, &found))
    }

    fn layout<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyArray1<i64>>, Measures)> {
        self.file.read(py, |IndexFile { index, .. }| {
            let numbers: Vec<i64> = index.numbers().iter().map(|&number| to_i64(number)).collect();
            Ok((numbers.into_pyarray(py), Measures::of(index.measures().clone())))
        })
    }

    /// Estimates the recall of approximate answers: the share of the true `k` nearest.
    #[pyo3(signature = (k, threads, report=None))]
    fn expected_recall(
        &self,
        py: Python<'_>,
        k: usize,
        threads: usize,
        report: Option<Bound<'_, PyAny>>,
    ) -> PyResult<f64> {
        self.file.read(py, |IndexFile { index, .. }| {
            watch::run(py, threads, report.as_ref(), |progress| index.expected_recall(k, progress))
        })
    }

    /// Adds measures with optional names, or clouds; returns the number of the first.
    #[pyo3(signature = (measures, names, *, threads, report=None))]
    fn add<'py>(
        &self,
        py: Python<'py>,
        measures: MeasuresArgument<'py>,
        names: Option<Vec<String>>,
        threads: usize,
        report: Option<Bound<'py, PyAny>>,
    ) -> PyResult<usize> {
        let rows = match (&measures, names) {
            (MeasuresArgument::OnPoints(rows), Some(names)) => {
                Some(rows.get().rows.clone().with_names(names).map_err(to_py_err)?)
            }
            _ => None,
        };
        let set = rows.as_ref().map_or_else(|| measures.set(), MeasureSet::from);
        self.file.change(py, |IndexFile { index, .. }| {
            watch::run(py, threads, report.as_ref(), |progress| index.add(set, progress))
        })
    }

    fn remove(&self, py: Python<'_>, numbers: Array1<'_, i64>) -> PyResult<()> {
        // A negative number becomes one that is out of range.
        let numbers: Vec<usize> = numbers.as_array().iter().map(|&n| n as usize).collect();
        self.file.change(py, |IndexFile { index, .. }| {
            watch::run(py, 0, None, |_| index.remove(&numbers))
        })
    }

    /// Sets the names of the measures.
    fn set_names(&self, py: Python<'_>, names: Vec<String>) -> PyResult<()> {
        self.file.change(py, |file| file.index.set_names(names).map_err(to_py_err))
    }

    fn set_numbers(&self, py: Python<'_>, numbers: Vec<usize>, next_number: usize) -> PyResult<()> {
        self.file.change(py, |file| file.index.set_numbers(numbers, next_number).map_err(to_py_err))
    }

    /// Returns the numbers of the measures with these names.
    fn numbers_of(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<usize>> {
        self.file.read(py, |file| file.index.numbers_of(&names).map_err(to_py_err))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Ok(Self::of(py.detach(|| IndexFile::load(&path)).map_err(to_py_err)?))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        self.file.read(py, |file| py.detach(|| file.save(&path)).map_err(to_py_err))
    }

    #[staticmethod]
    fn from_bytes(py: Python<'_>, bytes: &[u8]) -> PyResult<Self> {
        Ok(Self::of(py.detach(|| IndexFile::from_bytes(bytes)).map_err(to_py_err)?))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let bytes = self.file.read(py, |file| py.detach(|| file.to_bytes()).map_err(to_py_err))?;
        Ok(PyBytes::new(py, &bytes))
    }

    /// Returns the state for pickling and copying.
    fn __reduce__<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((py.get_type::<Self>().getattr("from_bytes")?, (self.to_bytes(py)?,)))
    }

    /// Returns the metric of the points.
    #[getter]
    fn ground(&self, py: Python<'_>) -> PyResult<Ground> {
        self.file.read(py, |file| Ok(Ground { metric: file.index.metric().clone() }))
    }

    /// Returns the names of the points, if they have any.
    #[getter]
    fn names(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        self.file.read(py, |file| Ok(file.point_names.clone()))
    }

    /// Returns the numbers of the present measures, and their names, if they have any.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<MeasureLabels<'py>> {
        self.file.read(py, |IndexFile { index, .. }| {
            let numbers: Vec<i64> = index.numbers().iter().map(|&number| to_i64(number)).collect();
            let names = index.measures().names().map(<[String]>::to_vec);
            Ok((numbers.into_pyarray(py), names))
        })
    }

    /// Returns the size in bytes without metric and measures.
    #[getter]
    fn bytes(&self, py: Python<'_>) -> PyResult<u64> {
        self.file.read(py, |file| Ok(file.index.bytes()))
    }

    /// Returns the number of present measures.
    #[getter]
    fn present(&self, py: Python<'_>) -> PyResult<usize> {
        self.file.read(py, |file| Ok(file.index.len()))
    }

    /// Returns the number of measures ever added, which is the next number.
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        self.file.read(py, |file| Ok(file.index.next_number()))
    }
}

impl Index {
    fn of(file: IndexFile) -> Self {
        Self { file: Shared::new(file) }
    }
}

fn asking<'a>(queries: Option<&'a MeasuresArgument<'_>>) -> QuerySource<'a> {
    queries.map_or(QuerySource::Own, |queries| QuerySource::Queries(queries.set()))
}

fn to_i64(count: usize) -> i64 {
    i64::try_from(count).expect("memory ends long before")
}

fn flat<'py>(py: Python<'py>, found: &[Neighbors]) -> FoundNeighbors<'py> {
    let mut start = vec![0];
    let (mut numbers, mut distances) = (Vec::new(), Vec::new());
    for neighbors in found {
        numbers.extend(neighbors.found.iter().map(|&(number, _)| to_i64(number)));
        distances.extend(neighbors.found.iter().map(|&(_, distance)| distance));
        start.push(to_i64(numbers.len()));
    }
    let bounds: Vec<f64> = found.iter().map(|neighbors| neighbors.bound).collect();
    let solved: Vec<i64> = found.iter().map(|neighbors| to_i64(neighbors.steps.exact)).collect();
    (
        start.into_pyarray(py),
        numbers.into_pyarray(py),
        distances.into_pyarray(py),
        bounds.into_pyarray(py),
        solved.into_pyarray(py),
    )
}
