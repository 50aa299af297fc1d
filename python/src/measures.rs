//! Collections of measures, validated once and used often.

use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use numpy::ndarray::ArrayView2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeport::PreparedMeasures;
use treeport::io::file;
use treeport::io::format::{Input, InputKind, endings, recognize};
use treeport::names::Named as _;
use treeport::{Csr, Error, Wording};

use crate::convert::{self, Array1, Array2, Compressed, to_py_err};

/// Positions of either width in SciPy.
#[derive(FromPyObject)]
pub(crate) enum Positions<'py> {
    Short(Array1<'py, i32>),
    Long(Array1<'py, i64>),
}

/// Measures on the same points, one per row.
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Measures {
    pub(crate) rows: treeport::Measures,
    /// Whether layouts are cached, because the measures will be used again.
    kept: AtomicBool,
    /// Layouts for models that still exist.
    laid_out: Mutex<Vec<(Weak<()>, Arc<PreparedMeasures>)>>,
}

#[pymethods]
impl Measures {
    /// Creates measures from a table of masses; rows without mass are rejected unless `empty`.
    #[staticmethod]
    #[pyo3(signature = (masses, *, normalize, empty=false))]
    fn dense(
        py: Python<'_>,
        masses: Array2<'_, f64>,
        normalize: bool,
        empty: bool,
    ) -> PyResult<Self> {
        let masses = masses.as_array();
        Self::check_rows(&masses)?;
        Self::new(py, normalize, empty, || Self::of_table(&masses))
    }

    /// Creates measures from compressed rows; rows without mass are rejected unless `empty`.
    #[staticmethod]
    #[pyo3(signature = (start, indices, masses, *, points, normalize, empty=false))]
    fn csr(
        py: Python<'_>,
        start: Positions<'_>,
        indices: Positions<'_>,
        masses: Array1<'_, f64>,
        points: usize,
        normalize: bool,
        empty: bool,
    ) -> PyResult<Self> {
        let masses = masses.as_slice()?;
        match (&start, &indices) {
            (Positions::Short(start), Positions::Short(indices)) => {
                let (start, indices) = (start.as_slice()?, indices.as_slice()?);
                Self::new(py, normalize, empty, || compressed(points, start, indices, masses))
            }
            (Positions::Long(start), Positions::Long(indices)) => {
                let (start, indices) = (start.as_slice()?, indices.as_slice()?);
                Self::new(py, normalize, empty, || compressed(points, start, indices, masses))
            }
            _ => Err(PyValueError::new_err("row bounds and columns differ in their type")),
        }
    }

    /// Reads measures from a file, with the names of rows and of columns.
    #[staticmethod]
    #[pyo3(signature = (path, transpose, empty=false))]
    fn read(py: Python<'_>, path: PathBuf, transpose: bool, empty: bool) -> PyResult<Named> {
        py.detach(|| {
            let input = Input::open(path, InputKind::Measures, None).map_err(to_py_err)?;
            let masses = input.masses(None, transpose).map_err(to_py_err)?;
            let ids = masses.ids().map(<[String]>::to_vec);
            let columns = masses.points().map(<[String]>::to_vec);
            let rows = masses.measures_or_empty(None).and_then(|rows| refused(rows, empty));
            let called = Called { ids: ids.as_deref(), columns: columns.as_deref() };
            let rows = rows.map_err(|error| called.refused(error))?;
            Ok((Self::of(rows), ids, columns))
        })
    }

    /// Returns these measures, each divided by its total.
    fn normalized(&self) -> PyResult<Self> {
        convert::check_room(self.rows.bytes())?;
        Ok(Self::of(self.rows.clone().normalized()))
    }

    /// Rejects rows without mass.
    fn check_mass(&self) -> PyResult<()> {
        refused(self.rows.clone(), false).map(drop).map_err(to_py_err)
    }

    /// Rejects pairs of measures that do not exist or have unequal totals.
    fn check_pairs(&self, pairs: Array2<'_, i64>) -> PyResult<()> {
        self.rows.check_pairs(&convert::pairs(&pairs)?).map_err(to_py_err)
    }

    /// Caches layouts from now on, for measures that will be used again.
    fn keep(&self) {
        self.kept.store(true, Ordering::Relaxed);
    }

    /// Returns row bounds, columns and masses.
    fn compressed<'py>(&self, py: Python<'py>) -> PyResult<Compressed<'py>> {
        // Positions have 64 bits before they are narrowed.
        convert::check_room(2 * self.rows.bytes())?;
        Ok(convert::compressed(py, csr(&self.rows)))
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// Returns the number of points of the space.
    #[getter]
    fn points(&self) -> usize {
        self.rows.points()
    }
}

impl Measures {
    /// Rejects a table whose rows of one entry would not fit into memory.
    pub(crate) fn check_rows(masses: &ArrayView2<'_, f64>) -> PyResult<()> {
        convert::check_room((masses.nrows() as u64).saturating_mul(28))
    }

    /// Returns the rows of a table of masses; rows may be empty.
    pub(crate) fn of_table(masses: &ArrayView2<'_, f64>) -> treeport::Result<treeport::Measures> {
        let points = masses.ncols();
        match masses.as_slice() {
            _ if points == 0 => Err(Error::NoPoints),
            Some(masses) => treeport::Measures::from_dense_or_empty(points, masses),
            None => treeport::Measures::from_rows_or_empty(
                points,
                masses.rows().into_iter().map(|row| row.into_iter().copied().enumerate()),
            ),
        }
    }

    fn new(
        py: Python<'_>,
        normalize: bool,
        empty: bool,
        read: impl FnOnce() -> treeport::Result<treeport::Measures> + Send,
    ) -> PyResult<Self> {
        let read = move || {
            let rows = refused(read()?, empty)?;
            Ok(if normalize { rows.normalized() } else { rows })
        };
        Ok(Self::of(py.detach(read).map_err(to_py_err)?))
    }

    pub(crate) fn of(rows: treeport::Measures) -> Self {
        Self { rows, kept: AtomicBool::new(false), laid_out: Mutex::default() }
    }

    /// Checks whether layouts are cached.
    pub(crate) fn is_kept(&self) -> bool {
        self.kept.load(Ordering::Relaxed)
    }

    /// Returns the layout for a model, cached with the measures, or new.
    pub(crate) fn laid_out(
        &self,
        model: &Arc<()>,
        make: impl FnOnce() -> treeport::Result<Arc<PreparedMeasures>>,
    ) -> treeport::Result<Arc<PreparedMeasures>> {
        let kept = || self.laid_out.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |of: &Weak<()>| std::ptr::eq(of.as_ptr(), Arc::as_ptr(model));
        if let Some((_, found)) = kept().iter().find(|(of, _)| same(of)) {
            return Ok(Arc::clone(found));
        }
        let made = make()?;
        let mut kept = kept();
        kept.retain(|(of, _)| of.strong_count() > 0 && !same(of));
        kept.push((Arc::downgrade(model), Arc::clone(&made)));
        Ok(made)
    }
}

/// Returns measures as a sparse matrix.
pub(crate) fn csr(measures: &treeport::Measures) -> Csr {
    let mut csr = Csr {
        rows: measures.len(),
        cols: measures.points(),
        start: vec![0],
        indices: Vec::with_capacity(measures.entries()),
        values: Vec::with_capacity(measures.entries()),
    };
    for measure in measures.iter() {
        csr.indices.extend(measure.support().iter().map(|&point| point as usize));
        csr.values.extend(measure.masses());
        csr.start.push(csr.indices.len());
    }
    csr
}

/// Measures with the names of rows and of columns.
type Named = (Measures, Option<Vec<String>>, Option<Vec<String>>);

/// Returns the measures; rejects them if one has no mass, unless they may be `empty`.
pub(crate) fn refused(
    rows: treeport::Measures,
    empty: bool,
) -> treeport::Result<treeport::Measures> {
    if empty { Ok(rows) } else { rows.with_mass() }
}

/// Names of the rows and columns of a file.
struct Called<'a> {
    ids: Option<&'a [String]>,
    columns: Option<&'a [String]>,
}

impl Wording for Called<'_> {
    fn measure(&self, measure: usize) -> Option<String> {
        self.ids?.get(measure).cloned()
    }

    fn point(&self, point: usize) -> Option<String> {
        self.columns?.get(point).cloned()
    }
}

impl Called<'_> {
    /// Converts an error, with names where there are any.
    fn refused(&self, error: Error) -> PyErr {
        match (&error, self.ids) {
            (Error::NoMass { measure }, Some(ids)) => {
                PyValueError::new_err(format!("row {} has no mass; drop it", ids[*measure]))
            }
            (Error::BadMass { .. }, _) => PyValueError::new_err(error.said(self)),
            _ => to_py_err(error),
        }
    }
}

/// Returns the format of a file by its name in the library's table, and whether it fits.
#[pyfunction]
#[pyo3(signature = (path, clouds=false))]
pub(crate) fn format_of(path: PathBuf, clouds: bool) -> PyResult<(&'static str, bool)> {
    let wanted = if clouds { InputKind::Clouds } else { InputKind::Measures };
    let format = recognize(path, wanted, None).map_err(|error| match error {
        // Python reads all formats.
        Error::UnknownFormat { .. } => {
            to_py_err(Error::UnknownFormat { known: endings(wanted, true) })
        }
        other => to_py_err(other),
    })?;
    Ok((format.name(), format.is_read_here()))
}

/// Writes text to a file atomically.
#[pyfunction]
pub(crate) fn write_text(py: Python<'_>, path: PathBuf, text: &str) -> PyResult<()> {
    let error = |cause| Error::write(&path, cause);
    let write = |out: &mut BufWriter<File>| out.write_all(text.as_bytes()).map_err(error);
    py.detach(|| file::save(&path, write)).map_err(to_py_err)
}

/// Validates compressed rows without another copy of the positions.
fn compressed<P: Copy + TryInto<usize>>(
    points: usize,
    start: &[P],
    indices: &[P],
    masses: &[f64],
) -> treeport::Result<treeport::Measures> {
    // A position that does not fit is out of any range.
    let place = |position: P| position.try_into().unwrap_or(usize::MAX);
    let bounds = || start.windows(2).map(|ends| (place(ends[0]), place(ends[1])));
    let fits = start.first().is_some_and(|&first| place(first) == 0)
        && start.last().is_some_and(|&last| place(last) == indices.len())
        && indices.len() == masses.len()
        && bounds().all(|(from, to)| from <= to);
    if !fits {
        // The library reports what is invalid.
        let wide = |positions: &[P]| positions.iter().map(|&p| place(p)).collect::<Vec<_>>();
        return treeport::Measures::from_csr_or_empty(points, &wide(start), &wide(indices), masses);
    }
    let rows =
        bounds().map(|(from, to)| (from..to).map(|entry| (place(indices[entry]), masses[entry])));
    treeport::Measures::from_rows_or_empty(points, rows)
}
