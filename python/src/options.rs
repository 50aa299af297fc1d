//! Options of a fit: the library's table for Python, and parsing of a dictionary.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use treeport::FitOptions;
use treeport::fit::{FitOption, OptionType, OptionValue};
use treeport::solve::{SolveOption, SolveOptionType};

use crate::convert::to_py_err;
use crate::ground::Ground;
use crate::model::Model;

/// Row of the table of options.
#[derive(IntoPyObject)]
pub(crate) struct OptionRow {
    name: &'static str,
    /// `whole`, `number`, `truth`, `word`, `start` or `seconds`.
    kind: &'static str,
    /// Choices of a `word`, or linkages of a `start`, each with a line of help.
    words: Vec<(&'static str, &'static str)>,
    default: String,
    help: &'static str,
    methods: Vec<&'static str>,
}

/// Returns the table of options.
#[pyfunction]
pub(crate) fn fit_options() -> Vec<OptionRow> {
    let row = |option: &FitOption| {
        let (kind, words) = match option.value_type() {
            OptionType::Whole => ("whole", vec![]),
            OptionType::Number => ("number", vec![]),
            OptionType::Truth => ("truth", vec![]),
            OptionType::Word(words) => ("word", words),
            OptionType::Start(linkages) => ("start", linkages),
            OptionType::Seconds => ("seconds", vec![]),
        };
        let methods = option.readers().iter().map(|method| method.name()).collect();
        let (name, default, help) = (option.name, option.default(), option.help);
        OptionRow { name, kind, words, default, help, methods }
    };
    FitOption::ALL.iter().map(row).collect()
}

/// Parses options by name; `None` leaves a choice to the method.
pub(crate) fn read(given: &Bound<'_, PyDict>) -> PyResult<FitOptions> {
    let mut options = FitOptions::default();
    for (name, value) in given {
        let option = FitOption::find(&name.extract::<String>()?).map_err(to_py_err)?;
        if !value.is_none() {
            let value = value_of(&option.value_type(), &value)?;
            option.set(&mut options, value).map_err(to_py_err)?;
        }
    }
    Ok(options)
}

fn value_of(kind: &OptionType, value: &Bound<'_, PyAny>) -> PyResult<OptionValue> {
    let read = match kind {
        OptionType::Whole => value.extract().ok().map(OptionValue::Whole),
        OptionType::Number | OptionType::Seconds => value.extract().ok().map(OptionValue::Number),
        OptionType::Truth => Some(OptionValue::Truth(value.is_truthy()?)),
        OptionType::Word(_) => value.extract().ok().map(OptionValue::Word),
        OptionType::Start(_) => {
            let tree = value.extract::<PyRef<'_, Model>>().ok();
            let tree = tree.and_then(|model| model.model.tree().cloned());
            tree.map(OptionValue::Tree).or_else(|| value.extract().ok().map(OptionValue::Word))
        }
    };
    match read {
        Some(value) => Ok(value),
        None => Ok(OptionValue::Other(value.repr()?.to_string())),
    }
}

/// Rejects options out of range before labels are solved; returns warnings.
#[pyfunction]
pub(crate) fn check_options(ground: &Ground, options: &Bound<'_, PyDict>) -> PyResult<Vec<String>> {
    let options = read(options)?;
    let unread = options.unread(true).iter().map(ToString::to_string).collect();
    options.only_read(true).check_for(&ground.metric, true).map_err(to_py_err)?;
    Ok(unread)
}

/// Row of the table of solver options.
#[derive(IntoPyObject)]
pub(crate) struct SolveOptionRow {
    name: &'static str,
    /// `number`, `prices`, `accuracy`, `seconds` or `device`.
    kind: &'static str,
    help: &'static str,
    of_one: &'static str,
    of_many: &'static str,
    range: &'static str,
    read_by: &'static str,
}

/// Returns the table of solver options.
#[pyfunction]
pub(crate) fn solve_options() -> Vec<SolveOptionRow> {
    let row = |option: &SolveOption| {
        let kind = match option.value_type {
            SolveOptionType::Number => "number",
            SolveOptionType::Prices => "prices",
            SolveOptionType::Accuracy => "accuracy",
            SolveOptionType::Seconds => "seconds",
            SolveOptionType::Device => "device",
            _ => "other",
        };
        let SolveOption { name, help, of_one, of_many, range, read_by, .. } = *option;
        SolveOptionRow { name, kind, help, of_one, of_many, range, read_by }
    };
    SolveOption::ALL.iter().map(row).collect()
}
