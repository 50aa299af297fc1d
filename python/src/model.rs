//! Models: a tree or a forest.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use numpy::ndarray::{ArrayViewMut2, Axis, s};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadwriteArray2};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use treeport::PreparedMeasures;
use treeport::io::ModelFile;
use treeport::progress::{Progress, State};
use treeport::tree::Census;
use treeport::tree::UniFracOptions;
use treeport::{Error, Extension, Forest, Tree};

use crate::convert::{self, Array1, Array2, Compressed, Moves, Row, to_py_err};
use crate::estimator::Calibration;
use crate::ground::Ground;
use crate::measures::Measures;
use crate::watch;

/// Tree or forest of the library.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Model {
    pub(crate) model: treeport::Model,
    layouts: Layouts,
}

/// Cache of measures that are laid out for a model.
#[derive(Default)]
struct Layouts {
    /// Token by which measures that cache their layouts identify the model.
    token: Arc<()>,
    /// Layout of the last plain collection, which a second call may reuse.
    collection: Mutex<Option<Arc<PreparedMeasures>>>,
    /// Number of layouts so far.
    made: AtomicUsize,
}

/// Measures with the census of the whole they are a part of.
type Part<'py> = (Bound<'py, Measures>, Array2<'py, i64>);

/// Ratio of sizes from which the larger set counts as a collection.
const COLLECTION: usize = 8;

/// Memory of a tree and its construction, as a multiple of its edge lengths.
const TREE: u64 = 6;

/// Distances and indices of neighbors, one row for each query.
type Nearest<'py> = (Bound<'py, PyArray2<f64>>, Bound<'py, PyArray2<i64>>);

/// Parents, edge lengths, and (node, size, depth, points) of each group.
type Summary<'py> =
    (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray1<f64>>, Vec<(usize, usize, f64, Vec<usize>)>);

#[pymethods]
impl Model {
    /// Creates a tree from parents and edge lengths, leaves first, root last.
    #[staticmethod]
    fn from_parents(
        leaves: usize,
        parents: Array1<'_, i64>,
        lengths: Array1<'_, f64>,
    ) -> PyResult<Self> {
        convert::check_copies(&lengths, TREE)?;
        // Neither a negative number nor the largest one is a node.
        let node = |&parent: &i64| u32::try_from(parent).unwrap_or(u32::MAX);
        let parents = parents.as_array().iter().map(node).collect();
        Self::read(Tree::new(leaves, parents, lengths.as_array().to_vec()))
    }

    #[staticmethod]
    #[pyo3(signature = (text, names=None))]
    fn from_newick(text: &str, names: Option<Vec<String>>) -> PyResult<Self> {
        Self::read(match names {
            Some(names) => Tree::from_newick_with(text, &names),
            None => Tree::from_newick(text),
        })
    }

    #[staticmethod]
    fn from_linkage(matrix: Array2<'_, f64>) -> PyResult<Self> {
        convert::check_copies(&matrix, 2)?;
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
        Self::read(Tree::from_linkage(&rows))
    }

    /// Creates a forest of trees with weights, equal ones by default.
    #[staticmethod]
    #[pyo3(signature = (trees, weights=None))]
    fn from_trees(trees: Vec<PyRef<'_, Self>>, weights: Option<Array1<'_, f64>>) -> PyResult<Self> {
        let trees = trees.iter().flat_map(|one| one.model.trees().to_vec()).collect();
        Self::read(match weights {
            Some(weights) => {
                convert::check_copies(&weights, 1)?;
                Forest::new(trees, weights.as_array().to_vec())
            }
            None => Forest::uniform(trees),
        })
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        Self::read(treeport::Model::from_bytes(bytes))
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        Self::read(py.detach(|| treeport::Model::load(&path)))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| self.model.save(&path)).map_err(to_py_err)
    }

    /// Loads the model of a file, with the calibration and the ground metric if it has them.
    #[staticmethod]
    fn load_file(
        py: Python<'_>,
        path: PathBuf,
    ) -> PyResult<(Self, Option<Calibration>, Option<Ground>)> {
        let file = py.detach(|| ModelFile::load(&path)).map_err(to_py_err)?;
        let metric = file.metric.map(|metric| Ground { metric });
        Ok((Self::new(file.model), file.calibration.map(Into::into), metric))
    }

    /// Saves the model with a calibration and a ground metric, if there are any.
    #[pyo3(signature = (path, calibration=None, ground=None))]
    fn save_file(
        &self,
        py: Python<'_>,
        path: PathBuf,
        calibration: Option<Calibration>,
        ground: Option<&Ground>,
    ) -> PyResult<()> {
        let calibration = calibration.map(Calibration::read).transpose()?;
        let (model, metric) = (self.model.clone(), ground.map(|ground| ground.metric.clone()));
        let file = ModelFile { model, calibration, metric };
        py.detach(|| file.save(&path)).map_err(to_py_err)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.model.to_bytes().map_err(to_py_err)?))
    }

    /// Returns the trees in Newick format, one per line.
    fn to_newick(&self) -> String {
        self.model.to_newick()
    }

    fn to_linkage<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let rows = self.tree().to_linkage().map_err(to_py_err)?;
        let count = rows.len();
        rows.into_iter().flatten().collect::<Vec<_>>().into_pyarray(py).reshape([count, 4])
    }

    fn with_names(&self, names: Vec<String>) -> PyResult<Self> {
        Self::read(self.model.clone().with_names(names))
    }

    fn scaled(&self, factor: f64) -> PyResult<Self> {
        Self::read(self.model.scaled(factor))
    }

    /// Returns a model with new points after the old ones, given their distances to these.
    fn extended(
        &self,
        py: Python<'_>,
        distances: Array2<'_, f64>,
        threads: usize,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let distances = distances.as_array();
        let (new, points) = distances.dim();
        if points != self.model.points() {
            let message = format!(
                "distances have {points} columns; one is needed for each of {} points",
                self.model.points()
            );
            return Err(PyValueError::new_err(message));
        }
        let row = |point: usize, out: &mut [f64]| {
            out.iter_mut().zip(distances.row(point)).for_each(|(out, &distance)| *out = distance);
        };
        watch::run(py, threads, report, |progress| self.model.extended(new, row, progress))
            .map(Self::new)
    }

    /// Returns a model with new points, edges fitted to `measures` or to random ones.
    #[pyo3(signature = (ground, *, measures, support, seed, threads, report))]
    #[expect(clippy::too_many_arguments, reason = "keywords of one call")]
    fn extended_on(
        &self,
        py: Python<'_>,
        ground: &Ground,
        measures: Option<&Measures>,
        support: Option<usize>,
        seed: u64,
        threads: usize,
        report: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let mut extension = Extension::default();
        extension.measures = measures.map(|given| given.rows.clone());
        extension.support = support.unwrap_or(extension.support);
        extension.seed = seed;
        watch::run(py, threads, report, |progress| {
            self.model.extended_on(&ground.metric, &extension, progress)
        })
        .map(Self::new)
    }

    #[getter]
    fn is_forest(&self) -> bool {
        self.model.tree().is_none()
    }

    #[getter]
    fn points(&self) -> usize {
        self.model.points()
    }

    /// Returns the number of nodes of all trees, which is the number of columns of `embed`.
    #[getter]
    fn nodes(&self) -> usize {
        self.model.nodes()
    }

    /// Returns the number of sets of measures laid out so far.
    #[getter]
    fn layouts(&self) -> usize {
        self.layouts.made.load(Ordering::Relaxed)
    }

    #[getter]
    fn names(&self) -> Option<Vec<String>> {
        self.model.names().map(<[String]>::to_vec)
    }

    fn trees(&self) -> Vec<Self> {
        self.model.trees().iter().map(|tree| Self::new(tree.clone())).collect()
    }

    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.model.weights().to_vec().into_pyarray(py)
    }

    #[getter]
    fn is_ultrametric(&self) -> bool {
        self.tree().is_ultrametric()
    }

    /// Summarizes the tree by about `most` groups: parents and edge lengths of its nodes, and for each
    /// group its node, number of leaves, depth below the node, and first leaves.
    fn summary<'py>(&self, py: Python<'py>, most: usize) -> Summary<'py> {
        let found = self.tree().summary(most, &[]);
        let groups = found.groups.into_iter();
        let groups = groups.map(|group| (group.node, group.size, group.below, group.points));
        let node = |&parent: &usize| i64::try_from(parent).unwrap_or(i64::MAX);
        let parent: Vec<i64> = found.parent.iter().map(node).collect();
        (parent.into_pyarray(py), found.length.into_pyarray(py), groups.collect())
    }

    fn parents<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<i64>> {
        let parents: Vec<i64> = self.tree().parents().iter().map(|&p| i64::from(p)).collect();
        parents.into_pyarray(py)
    }

    fn lengths<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.tree().lengths().to_vec().into_pyarray(py)
    }

    /// Returns the plan between two measures, each divided by its total first if `normalize`.
    fn coupling<'py>(
        &self,
        py: Python<'py>,
        a: Row<'py>,
        b: Row<'py>,
        normalize: bool,
    ) -> PyResult<Moves<'py>> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        let plan = py.detach(|| self.model.coupling(&a.row(0), &b.row(0)));
        Ok(convert::moves(py, plan.map_err(to_py_err)?))
    }

    /// Computes the distance between two measures.
    fn distance(&self, py: Python<'_>, a: Row<'_>, b: Row<'_>, normalize: bool) -> PyResult<f64> {
        let (a, b) = convert::two(&a, &b, normalize)?;
        py.detach(|| self.model.distance(&a.row(0), &b.row(0))).map_err(to_py_err)
    }

    /// Computes the cost between any masses, with a penalty for unmoved mass.
    fn unbalanced(&self, py: Python<'_>, a: Row<'_>, b: Row<'_>, penalty: f64) -> PyResult<f64> {
        let (a, b) = (a.read(0, true)?, b.read(1, true)?);
        py.detach(|| self.model.unbalanced(&a.row(0), &b.row(0), penalty)).map_err(to_py_err)
    }

    /// Computes the masses of the measure with the least weighted distances to others.
    #[pyo3(signature = (measures, weights))]
    fn barycenter<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
        weights: Option<Array1<'_, f64>>,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let weights = weights.map(|weights| weights.as_array().to_vec());
        let masses = watch::run(py, 1, None, |progress| {
            self.tree().barycenter(&measures.rows, weights.as_deref(), progress)
        })?;
        Ok(masses.into_pyarray(py))
    }

    /// Computes the distances of row i of one set to row i of another.
    fn paired<'py>(
        &self,
        py: Python<'py>,
        a: &Measures,
        b: &Measures,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let distances = watch::run(py, threads, None, |progress| {
            self.model.paired(&a.rows, &b.rows, progress)
        })?;
        Ok(distances.into_pyarray(py))
    }

    /// Computes all distances within one set, or from one set to another.
    #[pyo3(signature = (a, b, threads))]
    fn pairwise<'py>(
        &self,
        py: Python<'py>,
        a: &Measures,
        b: Option<&Measures>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let distances = watch::run(py, threads, None, |progress| match self.prepared(a, b)? {
            (left, Some(right)) => left.cross(&right, progress),
            (left, None) => left.pairwise(progress),
        })?;
        distances.into_pyarray(py).reshape([a.rows.len(), b.unwrap_or(a).rows.len()])
    }

    /// Returns the census of every tree: measures, points and nodes above. Parts add up.
    fn census<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
    ) -> PyResult<Bound<'py, PyArray2<i64>>> {
        let census = watch::run(py, 1, None, |_| self.model.census(&measures.rows))?;
        let numbers = census.iter().flat_map(|tree| [tree.measures, tree.entries, tree.above]);
        let numbers: Vec<i64> = numbers.map(|n| i64::try_from(n).unwrap_or(i64::MAX)).collect();
        numbers.into_pyarray(py).reshape([census.len(), 3])
    }

    /// Computes a block of `pairwise` from parts and the census of each whole.
    #[pyo3(signature = (a, b, threads))]
    fn pairwise_part<'py>(
        &self,
        py: Python<'py>,
        a: Part<'py>,
        b: Option<Part<'py>>,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let shape = [a.0.get().rows.len(), b.as_ref().unwrap_or(&a).0.get().rows.len()];
        let whole = |part: &Part<'_>| self.checked_census(&part.1);
        let (all, others) = (whole(&a)?, b.as_ref().map(whole).transpose()?);
        let (a, b) = (a.0.get(), b.as_ref().map(|b| b.0.get()));
        let distances = watch::run(py, threads, None, |progress| {
            let left = self.model.prepare_part(&a.rows, &all)?;
            match b.zip(others.as_ref()) {
                Some((b, all)) => left.cross(&self.model.prepare_part(&b.rows, all)?, progress),
                None => left.pairwise(progress),
            }
        })?;
        distances.into_pyarray(py).reshape(shape)
    }

    /// Writes all distances into the caller's array, one block of rows after the other.
    #[pyo3(signature = (a, b, out, threads))]
    fn pairwise_into(
        &self,
        py: Python<'_>,
        a: &Measures,
        b: Option<&Measures>,
        mut out: PyReadwriteArray2<'_, f64>,
        threads: usize,
    ) -> PyResult<()> {
        let mut out = out.as_array_mut();
        watch::run(py, threads, None, |progress| {
            let (left, right) = self.prepared(a, b)?;
            fill(&left, right.as_deref(), &mut out, progress)
        })
    }

    /// Returns distances and indices of the nearest measures of another set or the same.
    #[pyo3(signature = (a, b, k, threads))]
    fn nearest<'py>(
        &self,
        py: Python<'py>,
        a: &Measures,
        b: Option<&Measures>,
        k: usize,
        threads: usize,
    ) -> PyResult<Nearest<'py>> {
        let all = a.rows.len();
        let (distances, numbers) = watch::run(py, threads, None, |progress| {
            let (left, right) = self.prepared(a, b)?;
            let at_once = left.rows_at_once(b.unwrap_or(a).rows.len());
            let (mut distances, mut numbers) = (Vec::new(), Vec::new());
            for first in (0..all).step_by(at_once) {
                let rows = first..all.min(first.saturating_add(at_once));
                for (number, distance) in
                    left.nearest(right.as_deref(), rows, k, progress)?.into_iter().flatten()
                {
                    distances.push(distance);
                    numbers.push(i64::try_from(number).expect("memory ends long before"));
                }
            }
            Ok((distances, numbers))
        })?;
        let shape = [all, k];
        Ok((distances.into_pyarray(py).reshape(shape)?, numbers.into_pyarray(py).reshape(shape)?))
    }

    /// Computes the `UniFrac` distances of all pairs of samples on a tree.
    #[pyo3(signature = (samples, variant, *, alpha, unrooted, threads))]
    fn unifrac<'py>(
        &self,
        py: Python<'py>,
        samples: &Measures,
        variant: &str,
        alpha: f64,
        unrooted: bool,
        threads: usize,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let variant = variant.parse().map_err(to_py_err)?;
        let options = UniFracOptions { variant, alpha, unrooted };
        let table = watch::run(py, threads, None, |progress| {
            self.tree().unifrac(&samples.rows, &options, progress)
        })?;
        let n = samples.rows.len();
        table.into_pyarray(py).reshape([n, n])
    }

    /// Rejects a table of this many bytes if it does not fit into memory.
    #[staticmethod]
    fn check_table(bytes: u64) -> PyResult<()> {
        convert::check_room(bytes)
    }

    /// Rejects sets whose totals differ, which have no distances.
    #[pyo3(signature = (a, b))]
    #[staticmethod]
    fn check_balanced(a: &Measures, b: Option<&Measures>) -> PyResult<()> {
        let sets = [&a.rows, &b.unwrap_or(a).rows];
        treeport::Measures::check_all_balanced(&sets).map_err(to_py_err)
    }

    /// Returns sparse rows whose cityblock distances are those of the model.
    fn embed<'py>(
        &self,
        py: Python<'py>,
        measures: &Measures,
        threads: usize,
    ) -> PyResult<Compressed<'py>> {
        let rows = watch::run(py, threads, None, |_| self.model.embed(&measures.rows))?;
        Ok(convert::compressed(py, rows))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.model == other.model
    }
}

/// Fills a table with distances, one block of rows after the other; progress counts rows.
fn fill(
    left: &PreparedMeasures,
    right: Option<&PreparedMeasures>,
    out: &mut ArrayViewMut2<'_, f64>,
    progress: &Progress<'_>,
) -> treeport::Result<()> {
    let (all, columns) = out.dim();
    let at_once = left.rows_at_once(columns);
    for first in (0..all).step_by(at_once) {
        let rows = first..all.min(first.saturating_add(at_once));
        let of_all = |state: &State<'_>| progress(&state.after(first, all));
        let (above, mut here) = out.view_mut().split_at(Axis(0), first);
        let mut here = here.slice_mut(s![..rows.len(), ..]);
        let put = |mut part: ArrayViewMut2<'_, f64>, values: Vec<f64>| {
            part.iter_mut().zip(values).for_each(|(out, value)| *out = value);
        };
        if let Some(right) = right {
            put(here, left.cross_rows(right, rows, &of_all)?);
            continue;
        }
        // Entries left of the diagonal are the transposed entries of the rows above.
        let copied = left.first_column(first);
        here.slice_mut(s![.., ..copied]).assign(&above.slice(s![..copied, rows.clone()]).t());
        let values = left.block(rows, copied..columns, &of_all)?;
        put(here.slice_mut(s![.., copied..]), values);
    }
    Ok(())
}

impl Model {
    pub(crate) fn new(model: impl Into<treeport::Model>) -> Self {
        Self { model: model.into(), layouts: Layouts::default() }
    }

    fn read(model: treeport::Result<impl Into<treeport::Model>>) -> PyResult<Self> {
        Ok(Self::new(model.map_err(to_py_err)?))
    }

    /// Converts a result of `census`, or a sum of several.
    fn checked_census(&self, census: &Array2<'_, i64>) -> PyResult<Vec<Census>> {
        let (census, trees) = (census.as_array(), self.model.trees().len());
        if census.dim() != (trees, 3) {
            let (expected, found) = (format!("({trees}, 3)"), format!("{:?}", census.dim()));
            return Err(to_py_err(Error::Shape { what: "the census".into(), expected, found }));
        }
        let number = |n: i64| usize::try_from(n).unwrap_or(0);
        let rows = census.rows().into_iter().map(|row| Census {
            measures: number(row[0]),
            entries: number(row[1]),
            above: number(row[2]),
        });
        Ok(rows.collect())
    }

    /// Returns the tree, or the first tree of a forest.
    fn tree(&self) -> &Tree {
        &self.model.trees()[0]
    }

    /// Returns the layouts of one or two sets, cached or new.
    fn prepared(
        &self,
        a: &Measures,
        b: Option<&Measures>,
    ) -> treeport::Result<(Arc<PreparedMeasures>, Option<Arc<PreparedMeasures>>)> {
        let many = |one: &Measures, other: &Measures| {
            one.rows.len() >= COLLECTION.saturating_mul(other.rows.len())
        };
        let left = self.laid_out(a, b.is_some_and(|b| many(a, b)))?;
        let right = b.map(|b| self.laid_out(b, many(b, a))).transpose()?;
        Ok((left, right))
    }

    fn laid_out(
        &self,
        measures: &Measures,
        is_collection: bool,
    ) -> treeport::Result<Arc<PreparedMeasures>> {
        let make = || {
            self.layouts.made.fetch_add(1, Ordering::Relaxed);
            Ok(Arc::new(self.model.prepare(&measures.rows)?))
        };
        if measures.is_kept() {
            return measures.laid_out(&self.layouts.token, make);
        }
        if !is_collection {
            return make();
        }
        // Plain arrays may have changed: comparing all numbers is faster than a layout.
        let last = || self.layouts.collection.lock().unwrap_or_else(PoisonError::into_inner);
        let found = last().clone().filter(|laid_out| *laid_out.measures() == measures.rows);
        if let Some(found) = found {
            return Ok(found);
        }
        *last() = None; // before there are two of them
        let made = make()?;
        *last() = Some(Arc::clone(&made));
        Ok(made)
    }
}
