//! Word vectors, and documents as measures on words.

use std::collections::BTreeSet;
use std::path::PathBuf;

use numpy::PyArray1;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeport::Csr;
use treeport::io::word_vectors::WordVectors;
use treeport::texts::{StopWords, WordCounter, WordWeights};

use crate::convert::{Array1, Compressed, compressed, to_py_err};
use crate::measures::{Measures, csr};
use crate::watch;

/// Words and their vectors: the words, all coordinates, and the number of coordinates of each.
type Vectors<'py> = (Vec<String>, Bound<'py, PyArray1<f32>>, usize);

/// Reads word vectors; with `words`, only those are kept.
#[pyfunction]
#[pyo3(signature = (path, words, report=None))]
pub(crate) fn read_word_vectors<'py>(
    py: Python<'py>,
    path: PathBuf,
    words: Option<BTreeSet<String>>,
    report: Option<&Bound<'py, PyAny>>,
) -> PyResult<Vectors<'py>> {
    let read =
        |progress: &treeport::Progress<'_>| WordVectors::read(&path, words.as_ref(), progress);
    let found = watch::run(py, 1, report, read)?;
    Ok((found.words, PyArray1::from_vec(py, found.coordinates), found.dim))
}

/// Words to leave out.
#[derive(FromPyObject)]
pub(crate) enum Stop {
    Named(String),
    Words(Vec<String>),
}

impl Stop {
    fn words(given: Option<Self>) -> PyResult<StopWords> {
        match given {
            None => Ok(StopWords::default()),
            Some(Self::Named(name)) if name == "english" => Ok(StopWords::english()),
            Some(Self::Named(name)) => Err(PyValueError::new_err(format!(
                "stop_words is {name:?}; it must be \"english\", a list or None"
            ))),
            Some(Self::Words(words)) => Ok(words.into_iter().collect()),
        }
    }
}

/// A document: a text, or its words.
#[derive(FromPyObject)]
pub(crate) enum Document {
    Text(String),
    Words(Vec<String>),
}

/// Counts and masses of the words of documents.
#[pyclass(module = "treeport._core")]
pub(crate) struct WordTable(treeport::texts::WordTable);

/// Known words, measures on them, unknown words with their counts, the share of known words, and a
/// warning.
type Texts<'py> = (Vec<String>, Compressed<'py>, Vec<(String, u64)>, f64, Option<String>);

#[pymethods]
impl WordTable {
    /// Counts the words of documents, whose `ids` are for errors.
    #[staticmethod]
    fn count(
        py: Python<'_>,
        documents: Vec<Bound<'_, PyAny>>,
        stop_words: Option<Stop>,
        ids: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let mut counter = WordCounter::new(Stop::words(stop_words)?);
        for (at, document) in documents.iter().enumerate() {
            if at % 1000 == 0 {
                py.check_signals()?;
            }
            let added = match document.extract()? {
                Document::Text(text) => counter.add_text(&text),
                Document::Words(words) => counter.add_words(&words),
            };
            added.map_err(to_py_err)?;
        }
        Ok(Self(counter.finish().with_ids(ids)))
    }

    /// Counts the words of a folder of documents, or of a file with one a line.
    #[staticmethod]
    fn read(py: Python<'_>, path: PathBuf, stop_words: Option<Stop>) -> PyResult<Self> {
        let stop_words = Stop::words(stop_words)?;
        watch::run(py, 1, None, |progress| {
            treeport::texts::WordTable::read(&path, stop_words, progress)
        })
        .map(Self)
    }

    /// Wraps counts and masses of a vectorizer.
    #[staticmethod]
    fn of(
        words: Vec<String>,
        start: Array1<'_, i64>,
        indices: Array1<'_, i64>,
        counts: Array1<'_, f64>,
        masses: Array1<'_, f64>,
        ids: Option<Vec<String>>,
    ) -> PyResult<Self> {
        // A negative number becomes one that is out of range.
        let wide = |given: &Array1<'_, i64>| given.as_array().iter().map(|&p| p as usize).collect();
        let start: Vec<usize> = wide(&start);
        let counts = Csr {
            rows: start.len().saturating_sub(1),
            cols: words.len(),
            start,
            indices: wide(&indices),
            values: counts.as_array().to_vec(),
        };
        let table = treeport::texts::WordTable::new(words, counts, masses.as_array().to_vec());
        table.map(|table| Self(table.with_ids(ids))).map_err(to_py_err)
    }

    /// All words of the documents.
    #[getter]
    fn words(&self) -> &[String] {
        self.0.words()
    }

    /// IDs of documents from files.
    #[getter]
    fn ids(&self) -> Option<&[String]> {
        self.0.ids()
    }

    /// Sets the masses, by the rarity of words here or in a collection on points of these names.
    #[pyo3(signature = (weights, collection=None))]
    fn weigh(
        &mut self,
        weights: &str,
        collection: Option<(PyRef<'_, Measures>, Vec<String>)>,
    ) -> PyResult<()> {
        let weights: WordWeights = weights.parse().map_err(to_py_err)?;
        match collection {
            Some((measures, names)) => self.0.weigh_as(weights, &measures.rows, &names),
            None => self.0.weigh(weights),
        }
        Ok(())
    }

    /// Returns the documents as measures on the words that `known` has.
    fn texts<'py>(&self, py: Python<'py>, known: &Bound<'py, PyDict>) -> PyResult<Texts<'py>> {
        let found =
            self.0.texts(|word| known.contains(word).unwrap_or(false)).map_err(to_py_err)?;
        let warning = found.warning();
        let rows = compressed(py, csr(&found.measures));
        Ok((found.words, rows, found.unknown, found.known_share, warning))
    }
}
