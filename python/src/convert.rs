//! Conversion between NumPy and treeport: small arrays, and errors.

use std::borrow::Cow;
use std::io::ErrorKind;
use std::ops::Deref;

use numpy::ndarray::Dimension;
use numpy::{
    Element, IntoPyArray, Ix1, Ix2, PyArray, PyArray1, PyArrayMethods, PyReadonlyArray,
    PyUntypedArrayMethods,
};
use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError, PyTypeError, PyValueError,
};
use pyo3::prelude::*;
use treeport::Wording;
use treeport::{Coupling, Csr, Error};

use crate::measures::refused;

/// Aligned array argument. Every array argument has this type, so that no unaligned memory is read.
/// Arrays from a network or a file may be unaligned: they are rejected like numbers of another
/// type, and the Python half copies them before.
pub(crate) struct Aligned<'py, T: Element, D: Dimension>(PyReadonlyArray<'py, T, D>);

pub(crate) type Array1<'py, T> = Aligned<'py, T, Ix1>;
pub(crate) type Array2<'py, T> = Aligned<'py, T, Ix2>;

impl<'a, 'py, T: Element + 'a, D: Dimension + 'a> FromPyObject<'a, 'py> for Aligned<'py, T, D> {
    type Error = PyErr;

    fn extract(given: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray<'py, T, D> = given.extract()?;
        if is_aligned(&array) {
            return Ok(Self(array));
        }
        let text = "the numbers of an array are not aligned; `numpy.require(array, None, \"A\")` copies them";
        Err(PyTypeError::new_err(text))
    }
}

impl<'py, T: Element, D: Dimension> Deref for Aligned<'py, T, D> {
    type Target = PyReadonlyArray<'py, T, D>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

fn is_aligned<T: Element, D: Dimension>(array: &Bound<'_, PyArray<T, D>>) -> bool {
    let steps = array.shape().iter().zip(array.strides()).filter(|(length, _)| **length > 1);
    let mut places = steps.map(|(_, step)| step.unsigned_abs()).chain([array.data() as usize]);
    places.all(|place| place.is_multiple_of(align_of::<T>()))
}

/// Copies the numbers of a small C-contiguous array; `None` for other arrays.
pub(crate) fn few<D: Dimension>(array: &Bound<'_, PyArray<f64, D>>) -> Option<Vec<f64>> {
    let is_plain = array.len() <= FEW && array.is_c_contiguous() && is_aligned(array);
    is_plain.then(|| array.to_vec().ok()).flatten()
}

/// Largest number of entries that are copied in less time than borrowed: a table of 64 by 64.
const FEW: usize = 1 << 12;

/// Converts an error: `OSError` for files, `MemoryError` for memory, else `ValueError`.
pub(crate) fn to_py_err(error: Error) -> PyErr {
    let message = format!("{error}{}", advice(&error));
    match &error {
        Error::Memory { .. } => PyMemoryError::new_err(message),
        Error::Read { cause, .. } | Error::Write { cause, .. } => match cause.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            _ => PyOSError::new_err(message),
        },
        Error::UnbalancedComponent { node, .. } => {
            let refused = PyValueError::new_err(message);
            // The caller that knows the names of nodes formats the message again, with the name.
            let template = format!("{}{}", error.said(&NodeToCome), advice(&error));
            let _ = Python::attach(|py| {
                refused.value(py).setattr("node", *node)?;
                refused.value(py).setattr("template", template)
            });
            refused
        }
        Error::RightPoints { cause } => PyValueError::new_err(format!("points_b: {cause}")),
        _ => PyValueError::new_err(message),
    }
}

/// Wording with a placeholder for the name of a node, for `str.format`.
struct NodeToCome;

impl Wording for NodeToCome {
    fn node(&self, _: usize) -> String {
        "{node}".into()
    }
}

/// Returns advice for Python to add to the message of an error.
fn advice(error: &Error) -> &'static str {
    match error {
        Error::UnbalancedClouds { .. } => {
            " (`normalize=True` of `Clouds`), or let mass be left over (`penalty` of `emd_pairs` and `emd_pairwise`)"
        }
        Error::Cloud { cause, .. } if matches!(**cause, Error::EmptyCloud) => {
            " (with `empty=True`, `Clouds` may have none, for transport with a `penalty`)"
        }
        Error::Unbalanced { .. } => {
            ", or let mass be left over (`penalty` of `emd`, `emd_pairs`, `emd_pairwise` and \
             `Tree.distance`, `mass` of `emd`)"
        }
        Error::UnnamedMeasures => " (by the index of a DataFrame, or `ids` of `Measures`)",
        Error::UnbalancedComponent { .. } => ", or let mass be left over (`penalty`)",
        Error::Disconnected { .. } => {
            " (`emd`, `emd_pairs`, `emd_pairwise`). The largest component of a networkx graph is \
             `graph.subgraph(max(networkx.connected_components(graph), key=len))`; for a matrix see \
             `scipy.sparse.csgraph.connected_components`"
        }
        Error::TransposedNames { .. } => " (`transpose=True`)",
        _ => "",
    }
}

/// Rejects a copy that does not fit into memory, as of `np.broadcast_to`.
pub(crate) fn check_room(bytes: u64) -> PyResult<()> {
    let step = format_args!("a copy of an array");
    treeport::memory::check(step, bytes, "give it in parts").map_err(to_py_err)
}

/// Rejects `copies` of an array, or data of that size, if they do not fit into memory.
pub(crate) fn check_copies<T: Element, D: Dimension>(
    array: &Aligned<'_, T, D>,
    copies: u64,
) -> PyResult<()> {
    let bytes = (array.len() as u64).saturating_mul(size_of::<T>() as u64);
    check_room(bytes.saturating_mul(copies))
}

/// Measure argument: a mass for every point, or (points with mass, their masses, number of points).
#[derive(FromPyObject)]
pub(crate) enum Row<'py> {
    Dense(Array1<'py, f64>),
    Sparse(Array1<'py, i64>, Array1<'py, f64>, usize),
}

impl Row<'_> {
    /// Returns the number of points of the space.
    pub(crate) fn points(&self) -> usize {
        match self {
            Self::Dense(masses) => masses.len(),
            Self::Sparse(_, _, points) => *points,
        }
    }

    /// Validates the measure `number`; one without mass is rejected unless `empty`.
    pub(crate) fn read(&self, number: usize, empty: bool) -> PyResult<treeport::Measures> {
        let points = self.points();
        if points == 0 {
            return Err(to_py_err(Error::NoPoints));
        }
        let read = match self {
            Self::Dense(masses) => {
                let view = masses.as_array();
                match view.as_slice() {
                    Some(masses) => treeport::Measures::from_dense_or_empty(points, masses),
                    None => treeport::Measures::from_rows_or_empty(
                        points,
                        [view.iter().copied().enumerate()],
                    ),
                }
            }
            Self::Sparse(at, masses, _) => {
                let (at, masses) = (at.as_array(), masses.as_array());
                // A negative number becomes one that is out of range.
                let entries = at.iter().zip(masses.iter()).map(|(&p, &m)| (p as usize, m));
                treeport::Measures::from_rows_or_empty(points, [entries])
            }
        };
        let read = read.and_then(|rows| refused(rows, empty));
        read.map_err(|error| to_py_err(as_measure(number, error)))
    }

    /// Returns a mass for every point; a dense measure is unchanged.
    pub(crate) fn dense(&self, number: usize, empty: bool) -> PyResult<Cow<'_, [f64]>> {
        if let Self::Dense(given) = self {
            return masses(given);
        }
        let measures = self.read(number, empty)?;
        let mut dense = vec![0.0; measures.points()];
        measures.row(0).iter().for_each(|(point, mass)| dense[point] = mass);
        Ok(Cow::Owned(dense))
    }
}

/// Returns a vector, copied only if it is not contiguous.
pub(crate) fn masses<'a>(given: &'a Array1<'_, f64>) -> PyResult<Cow<'a, [f64]>> {
    if let Ok(masses) = given.as_slice() {
        return Ok(Cow::Borrowed(masses));
    }
    check_copies(given, 1)?;
    Ok(given.as_array().to_vec().into())
}

/// Validates two measures, which errors call 0 and 1.
pub(crate) fn two(
    a: &Row<'_>,
    b: &Row<'_>,
    normalize: bool,
) -> PyResult<(treeport::Measures, treeport::Measures)> {
    let (a, b) = (a.read(0, false)?, b.read(1, false)?);
    Ok(if normalize { (a.normalized(), b.normalized()) } else { (a, b) })
}

/// Converts an error about one row to one about measure `measure`.
fn as_measure(measure: usize, error: Error) -> Error {
    match error {
        Error::BadMass { point, value, .. } => Error::BadMass { measure, point, value },
        Error::NoMass { .. } => Error::NoMass { measure },
        Error::PointOutOfRange { point, points, .. } => {
            Error::PointOutOfRange { measure, point, points }
        }
        other => other,
    }
}

/// Converts rows of two numbers, none of them negative.
pub(crate) fn pairs(pairs: &Array2<'_, i64>) -> PyResult<Vec<(usize, usize)>> {
    check_copies(pairs, 1)?;
    let rows = pairs.as_array();
    if rows.ncols() != 2 {
        return Err(to_py_err(Error::Shape {
            what: "the list of pairs".into(),
            expected: "(n, 2)".into(),
            found: format!("({}, {})", rows.nrows(), rows.ncols()),
        }));
    }
    let number = |pair: usize, number: i64| {
        usize::try_from(number).map_err(|_| {
            PyValueError::new_err(format!(
                "pair {pair} names measure {number}; measures are numbered from 0"
            ))
        })
    };
    let rows = rows.rows().into_iter().enumerate();
    rows.map(|(k, row)| Ok((number(k, row[0])?, number(k, row[1])?))).collect()
}

/// Converts positions to 32 bits, like SciPy, if they fit.
pub(crate) fn positions(py: Python<'_>, positions: Vec<usize>) -> Bound<'_, PyAny> {
    let short: Result<Vec<i32>, _> = positions.iter().map(|&p| i32::try_from(p)).collect();
    if let Ok(short) = short {
        return short.into_pyarray(py).into_any();
    }
    let long = positions.into_iter().map(|p| i64::try_from(p).expect("memory ends long before"));
    long.collect::<Vec<_>>().into_pyarray(py).into_any()
}

/// Plan as (from, to, mass).
pub(crate) type Moves<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyAny>);

pub(crate) fn moves(py: Python<'_>, plan: Coupling) -> Moves<'_> {
    let wide = |ends: Vec<u32>| positions(py, ends.into_iter().map(|p| p as usize).collect());
    (wide(plan.left), wide(plan.right), plan.mass.into_pyarray(py).into_any())
}

/// Compressed rows: row bounds, columns, values and the number of columns.
pub(crate) type Compressed<'py> =
    (Bound<'py, PyAny>, Bound<'py, PyAny>, Bound<'py, PyArray1<f64>>, usize);

pub(crate) fn compressed(py: Python<'_>, rows: Csr) -> Compressed<'_> {
    let (start, columns) = (positions(py, rows.start), positions(py, rows.indices));
    (start, columns, rows.values.into_pyarray(py), rows.cols)
}
