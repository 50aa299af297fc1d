//! Arguments of one problem: measures, costs, and relaxations.

use std::borrow::Cow;

use numpy::PyUntypedArrayMethods;
use numpy::ndarray::ArrayView2;
use pyo3::prelude::*;
use treeport::metric::condensed::{pairs_of, place, size_for};
use treeport::solve::table_of_few;
use treeport::{GroundMetric, MatrixView, Problem, Problems, Relax};

use crate::convert::{self, Array1, Array2, Row, to_py_err};
use crate::ground::{GeometryArgument, Graph, Ground};

/// Source of the costs of a problem.
#[derive(FromPyObject)]
pub(crate) enum Costs<'py> {
    /// Cost from every point of the left measure to every point of the right one.
    Matrix(Array2<'py, f64>),
    /// Cost matrix in single precision, read without a copy.
    SingleMatrix(Array2<'py, f32>),
    /// Coordinates, one point per row, and their metric.
    Points(Array2<'py, f64>, GeometryArgument),
    /// Coordinates of the points of the left measure and of the right one, and their metric.
    TwoSets(Array2<'py, f64>, Array2<'py, f64>, GeometryArgument),
    /// Condensed distances, like those of `pdist`.
    Condensed(Array1<'py, f64>),
    Ground(PyRef<'py, Ground>),
    Graph(PyRef<'py, Graph>),
}

impl Costs<'_> {
    /// Builds the problem of two measures and calls `ask` with it. A device requires coordinates,
    /// so `on_device` keeps them even where a table of few costs would be faster.
    pub(crate) fn with_problem<T>(
        &self,
        [a, b]: [&Row<'_>; 2],
        relax: &Relaxed<'_>,
        on_device: bool,
        ask: impl FnOnce(Problem<'_>) -> PyResult<T>,
    ) -> PyResult<T> {
        // With a penalty a measure may have no mass.
        let empty = relax.has_penalty();
        let asked = |problem: Problem<'_>| ask(relax.of_one(problem));
        match self {
            Self::Matrix(costs) => {
                let (a, b, costs) = (a.dense(0, empty)?, b.dense(1, empty)?, costs.as_array());
                let entry = entry(&costs);
                asked(Problem::between(&a, &b, view(&costs, &entry)))
            }
            Self::SingleMatrix(costs) => {
                let (a, b, costs) = (a.dense(0, empty)?, b.dense(1, empty)?, costs.as_array());
                let (rows, columns) = costs.dim();
                let entry = |i: usize, j: usize| f64::from(costs[[i, j]]);
                let in_rows = costs.as_slice().map(|all| MatrixView::from_f32(rows, columns, all));
                let in_rows = in_rows.transpose().map_err(to_py_err)?;
                let view = in_rows.unwrap_or_else(|| MatrixView::from_fn(rows, columns, &entry));
                asked(Problem::between(&a, &b, view))
            }
            Self::Condensed(distances) => {
                let (a, b) = (a.dense(0, empty)?, b.dense(1, empty)?);
                let (n, distances) = condensed(distances)?;
                let entry = |i: usize, j: usize| {
                    if i == j { 0.0 } else { distances[place(n, i.min(j), i.max(j))] }
                };
                asked(Problem::between(&a, &b, MatrixView::from_fn(n, n, &entry)))
            }
            Self::Points(points, geometry) => {
                let (a, b, x) = (a.read(0, empty)?, b.read(1, empty)?, points.as_array());
                let geometry = geometry.read()?;
                let entry = entry(&x);
                let problem =
                    Problem::of_points(&a.row(0), &b.row(0), view(&x, &entry), None, geometry);
                asked(problem.map_err(to_py_err)?)
            }
            Self::TwoSets(left, right, geometry) => {
                let (x, y) = (left.as_array(), right.as_array());
                let geometry = geometry.read()?;
                let (of_x, of_y) = (entry(&x), entry(&y));
                let (x, y) = (view(&x, &of_x), view(&y, &of_y));
                if !on_device
                    && let (Row::Dense(a), Row::Dense(b)) = (a, b)
                    && let (Ok(a), Ok(b)) = (a.as_slice(), b.as_slice())
                    && let Some(costs) = table_of_few([a, b], [&x, &y], &geometry)
                {
                    let costs = MatrixView::new(a.len(), b.len(), &costs).map_err(to_py_err)?;
                    return asked(Problem::between(a, b, costs));
                }
                let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
                let problem = Problem::of_points(&a.row(0), &b.row(0), x, Some(y), geometry);
                asked(problem.map_err(to_py_err)?)
            }
            Self::Ground(ground) => {
                let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
                asked(Problem::new(&ground.metric, &a.row(0), &b.row(0)))
            }
            Self::Graph(graph) => {
                let (a, b) = (a.read(0, empty)?, b.read(1, empty)?);
                asked(Problem::new(&graph.components, &a.row(0), &b.row(0)))
            }
        }
    }
}

/// Returns the accessor of an array of any memory layout.
fn entry<'a>(array: &'a ArrayView2<'_, f64>) -> impl Fn(usize, usize) -> f64 + Sync + 'a {
    |i, j| array[[i, j]]
}

/// Returns a view of an array without a copy, row-major if the array is.
fn view<'a>(
    array: &'a ArrayView2<'_, f64>,
    entry: &'a (dyn Fn(usize, usize) -> f64 + Sync),
) -> MatrixView<'a> {
    let (rows, columns) = array.dim();
    let in_rows = array.as_slice().and_then(|all| MatrixView::new(rows, columns, all).ok());
    in_rows.unwrap_or_else(|| MatrixView::from_fn(rows, columns, entry))
}

/// Returns condensed distances, like those of `pdist`, and the number of points.
fn condensed<'a>(given: &'a Array1<'_, f64>) -> PyResult<(usize, Cow<'a, [f64]>)> {
    let n = size_for(given.len());
    if pairs_of(n) != given.len() {
        convert::check_copies(given, 1)?;
        // The library reports what is invalid.
        GroundMetric::from_condensed(n, given.as_array().to_vec()).map_err(to_py_err)?;
    }
    Ok((n, convert::masses(given)?))
}

/// Penalty argument: for each point, or for each point of the first measure and of the second.
#[derive(FromPyObject)]
pub(crate) enum PenaltyArgument<'py> {
    OfPoints(Array1<'py, f64>),
    OfSides(Array1<'py, f64>, Array1<'py, f64>),
    Same(f64),
}

/// Relaxation of a problem.
pub(crate) enum Relaxed<'a> {
    Plain(Relax),
    /// Penalties of the points of the first measure, and of the second.
    Penalties([Cow<'a, [f64]>; 2]),
}

impl<'a> Relaxed<'a> {
    pub(crate) fn new(
        mass: Option<f64>,
        penalty: Option<&'a PenaltyArgument<'_>>,
    ) -> PyResult<Self> {
        Ok(match penalty {
            None => Self::Plain(mass.map_or(Relax::Balanced, Relax::Mass)),
            Some(PenaltyArgument::Same(price)) => Self::Plain(Relax::Penalty(*price)),
            Some(PenaltyArgument::OfPoints(all)) => {
                let all = convert::masses(all)?;
                Self::Penalties([all.clone(), all])
            }
            Some(PenaltyArgument::OfSides(left, right)) => {
                Self::Penalties([convert::masses(left)?, convert::masses(right)?])
            }
        })
    }

    pub(crate) fn has_penalty(&self) -> bool {
        matches!(self, Self::Plain(Relax::Penalty(_)) | Self::Penalties(_))
    }

    pub(crate) fn of_one<'p>(&'p self, problem: Problem<'p>) -> Problem<'p> {
        match self {
            Self::Plain(relax) => problem.relaxed(*relax),
            Self::Penalties([left, right]) => problem.with_penalties(left, right),
        }
    }

    /// Relaxes many problems, which have the same points on either side.
    pub(crate) fn of_many<'p>(&'p self, problems: Problems<'p>) -> Problems<'p> {
        match self {
            Self::Plain(relax) => problems.relaxed(*relax),
            Self::Penalties([all, _]) => problems.with_penalties(all),
        }
    }
}
