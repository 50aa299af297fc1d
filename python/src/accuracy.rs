//! The `accuracy` argument of Python: the name of a level or a number.

use pyo3::prelude::*;
use treeport::accuracy::{Accuracy, Question};

use crate::convert::to_py_err;

/// Value of the argument `accuracy`.
#[derive(FromPyObject)]
pub(crate) enum AccuracyArgument<'py> {
    /// A truth value comes first, because it also converts to a number.
    Truth(bool),
    Number(f64),
    Name(String),
    Other(Bound<'py, PyAny>),
}

impl AccuracyArgument<'_> {
    /// Returns the accuracy, or an error if the question does not support it.
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

/// Rejects an accuracy that a search does not support.
#[pyfunction]
pub(crate) fn check_search_accuracy(accuracy: AccuracyArgument<'_>) -> PyResult<()> {
    accuracy.read(Question::Search).map(|_| ())
}
