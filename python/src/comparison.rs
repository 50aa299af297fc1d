//! Comparison of methods on the user's measures.

use pyo3::prelude::*;
use treeport_report::comparison::{self, Contender, Judge};

use crate::convert::to_py_err;
use crate::ground::Ground;
use crate::labeled::Labeled;
use crate::watch;

/// Result of [`compare`].
#[pyclass(frozen, module = "treeport._core")]
pub(crate) struct Comparison {
    compared: comparison::Comparison,
    advice: Option<String>,
}

/// A row: the name and whether the method is on the front; mean error, mean error of the scaled
/// predictions and its standard deviation; seconds to build and per pair; bytes of the model, share
/// of pairs that were solved, mean width of certified bounds.
type Row = ((String, bool), (f64, f64, f64), (f64, f64), (usize, Option<f64>, Option<f64>));

#[pymethods]
impl Comparison {
    /// Returns the rows, the smallest error first.
    fn rows(&self) -> Vec<Row> {
        let row = |(row, front): (&comparison::ComparedMethod, bool)| {
            (
                (row.name.clone(), front),
                (row.plain.mean, row.scaled.mean, row.scaled.std),
                (row.build_seconds, row.pair_seconds),
                (row.bytes, row.solved_exactly, row.certified_width),
            )
        };
        self.compared.rows.iter().zip(self.compared.front()).map(row).collect()
    }

    /// The sentence of advice.
    #[getter]
    fn advice(&self) -> Option<&str> {
        self.advice.as_deref()
    }

    /// Returns table and picture as text.
    fn text(&self) -> String {
        format!("{}\n{}", self.compared.table(), self.compared.picture())
    }

    /// Draws error against time.
    fn svg(&self, title: &str) -> String {
        self.compared.svg(title)
    }
}

/// Compares methods, all without names, on labels: they learn from the first half and are evaluated
/// on the second.
#[pyfunction]
#[pyo3(signature = (ground, labeled, methods, *, seed, threads, report=None))]
pub(crate) fn compare(
    py: Python<'_>,
    ground: &Ground,
    labeled: &Labeled,
    methods: Vec<String>,
    seed: u64,
    threads: usize,
    report: Option<Bound<'_, PyAny>>,
) -> PyResult<Comparison> {
    let chosen: treeport::Result<Vec<Contender>> =
        methods.iter().map(|name| name.parse()).collect();
    let chosen = Contender::chosen(&chosen.map_err(to_py_err)?);
    let data = &labeled.data;
    watch::run(py, threads, report.as_ref(), |progress| {
        ground.metric.prepare(progress)?;
        let (train, test) = data.split_at(data.len() / 2);
        let judge = Judge { metric: &ground.metric, train: &train, test: &test, seed };
        let compared = comparison::Comparison::of(&judge, &chosen, progress)?;
        let advice = compared.advice(rayon::current_num_threads());
        Ok(Comparison { compared, advice: advice.map(|advice| advice.to_string()) })
    })
}
