//! How accurate an answer has to be, as Python says it: a word or a number.

use pyo3::prelude::*;
use treeport::accuracy::{Accuracy, Question};

use crate::convert::to_py_err;

/// What was given for `accuracy`.
#[derive(FromPyObject)]
pub(crate) enum GivenAccuracy<'py> {
    /// First, because it would pass for a number.
    Truth(bool),
    Number(f64),
    Name(String),
    Other(Bound<'py, PyAny>),
}

impl GivenAccuracy<'_> {
    /// The accuracy, if the question can use it.
    pub(crate) fn read(&self, question: Question) -> PyResult<Accuracy> {
        let read = match self {
            Self::Truth(value) => {
                Err(question.refuse(if *value { "True" } else { "False" }.into()))
            }
            Self::Number(error) => {
                let accuracy = Accuracy::Within(*error);
                accuracy.check_for(question).map(|()| accuracy)
            }
            Self::Name(name) => question.read(name),
            Self::Other(what) => Err(question.refuse(what.repr()?.to_string())),
        };
        read.map_err(to_py_err)
    }
}

/// Refuses an accuracy that a search cannot use.
#[pyfunction]
pub(crate) fn check_search_accuracy(accuracy: GivenAccuracy<'_>) -> PyResult<()> {
    accuracy.read(Question::Search).map(|_| ())
}
