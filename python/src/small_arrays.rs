//! The value of one problem from borrowed arrays, which `emd` tries first.

use numpy::{PyArray1, PyArray2, PyUntypedArrayMethods};
use pyo3::intern;
use pyo3::prelude::*;
use treeport::solve::table_of_few;
use treeport::{Geometry, MatrixView, PointMetric, Problem, Relax, silent};

use crate::convert::{self, Row, to_py_err};
use crate::costs::{Costs, Relaxed};
use crate::ground::GeometryArgument;
use crate::transport::ask;

/// Computes the cost of an optimal plan between masses with a cost matrix, or with a metric and the
/// coordinates of points (`ground_b` for those of `b`, if given), if no conversion is necessary;
/// otherwise returns `None`.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "called from one place, which names them")]
pub(crate) fn emd_of_arrays<'py>(
    py: Python<'py>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    ground: &Bound<'py, PyAny>,
    ground_b: Option<&Bound<'py, PyAny>>,
    metric: Option<&Bound<'py, PyAny>>,
    mass: Option<f64>,
    penalty: Option<f64>,
) -> PyResult<Option<f64>> {
    let relax = relax(mass, penalty);
    let geometry = metric.map(geometry).transpose()?;
    if let Some(few) = FewNumbers::read(a, b, ground, ground_b)
        && let Some(value) = few.value(geometry.as_ref(), relax)
    {
        return value.map(Some).map_err(to_py_err);
    }
    let (Ok(a), Ok(b), Ok(ground)) = (a.extract(), b.extract(), ground.extract()) else {
        return Ok(None);
    };
    let Ok(ground_b) = ground_b.map(PyAnyMethods::extract).transpose() else {
        return Ok(None);
    };
    let (a, b) = (Row::Dense(a), Row::Dense(b));
    let costs = match (metric, ground_b) {
        (None, _) => Costs::Matrix(ground),
        (Some(metric), None) => Costs::Points(ground, metric.extract()?),
        (Some(metric), Some(ground_b)) => Costs::TwoSets(ground, ground_b, metric.extract()?),
    };
    let value = costs.with_problem([&a, &b], &Relaxed::Plain(relax), false, |problem| {
        ask(py, &problem, None, |problem, progress| problem.value(progress))
    });
    value.map(Some)
}

/// Parses a geometry; the default one is recognized by identity.
fn geometry(given: &Bound<'_, PyAny>) -> PyResult<Geometry> {
    if given.is(intern!(given.py(), "euclidean")) {
        return Ok(PointMetric::Euclidean.into());
    }
    given.extract::<GeometryArgument>()?.read()
}

/// Copies of the arrays of a small problem, which cost less than a lock against writes.
struct FewNumbers {
    a: Vec<f64>,
    b: Vec<f64>,
    ground: Table,
    ground_b: Option<Table>,
}

/// Numbers of a table, in row-major order.
struct Table {
    shape: [usize; 2],
    numbers: Vec<f64>,
}

impl FewNumbers {
    fn read(
        a: &Bound<'_, PyAny>,
        b: &Bound<'_, PyAny>,
        ground: &Bound<'_, PyAny>,
        ground_b: Option<&Bound<'_, PyAny>>,
    ) -> Option<Self> {
        let ground = Table::read(ground)?;
        let ground_b = match ground_b {
            Some(points) => Some(Table::read(points)?),
            None => None,
        };
        let [a, b] = [a, b].map(|masses| convert::few(masses.cast::<PyArray1<f64>>().ok()?));
        Some(Self { a: a?, b: b?, ground, ground_b })
    }

    /// Computes the value of the problem; `None` if coordinates require a conversion.
    fn value(&self, geometry: Option<&Geometry>, relax: Relax) -> Option<treeport::Result<f64>> {
        let (a, b) = (&self.a, &self.b);
        let value = |costs| Problem::between(a, b, costs).relaxed(relax).value(&silent);
        match (geometry, &self.ground_b) {
            (None, _) => Some(self.ground.view().and_then(value)),
            (Some(geometry), Some(ground_b)) => {
                let (x, y) = (self.ground.view().ok()?, ground_b.view().ok()?);
                let costs = table_of_few([a, b], [&x, &y], geometry)?;
                Some(MatrixView::new(a.len(), b.len(), &costs).and_then(value))
            }
            (Some(_), None) => None,
        }
    }
}

impl Table {
    fn read(given: &Bound<'_, PyAny>) -> Option<Self> {
        let array = given.cast::<PyArray2<f64>>().ok()?;
        let &[rows, columns] = array.shape() else { return None };
        Some(Self { shape: [rows, columns], numbers: convert::few(array)? })
    }

    fn view(&self) -> treeport::Result<MatrixView<'_>> {
        MatrixView::new(self.shape[0], self.shape[1], &self.numbers)
    }
}

/// Returns the relaxation, where all points are treated alike.
fn relax(mass: Option<f64>, penalty: Option<f64>) -> Relax {
    let relax = mass.map(Relax::Mass).or(penalty.map(Relax::Penalty));
    relax.unwrap_or_default()
}
