//! Device that scans all pairs of a problem, driven by an engine in Python.

use std::sync::{Arc, Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use treeport::solve::{Device, DeviceFound, DeviceSearch};

use crate::convert::{Array1, Array2};

/// Python engine with the methods `keep`, `forget` and `nearest`; see `_devices/scans.py`.
#[derive(Debug)]
pub(crate) struct PythonDevice {
    engine: Py<PyAny>,
    takes_all: bool,
    failure: Mutex<Option<PyErr>>,
}

impl PythonDevice {
    pub(crate) fn new(engine: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let takes_all = engine.getattr("takes_all")?.extract()?;
        let engine = engine.clone().unbind();
        Ok(Arc::new(Self { engine, takes_all, failure: Mutex::new(None) }))
    }

    /// Returns the error of the engine if it has failed, and the answer otherwise.
    pub(crate) fn explained<T>(&self, answer: PyResult<T>) -> PyResult<T> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(failure) => Err(failure),
            None => answer,
        }
    }

    /// Calls the engine; returns `None` where it has failed, now or before.
    fn ask<T>(&self, question: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>) -> Option<T> {
        if self.has_failed() {
            return None;
        }
        let answer = Python::attach(|py| question(self.engine.bind(py)));
        let keep =
            |error| *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        answer.map_err(keep).ok()
    }
}

impl Device for PythonDevice {
    fn keep(&self, points: &[f32], dim: usize) -> Option<usize> {
        self.ask(|engine| {
            let points = PyArray1::from_slice(engine.py(), points);
            let points = points.reshape([points.len() / dim, dim])?;
            engine.call_method1("keep", (points,))?.extract()
        })
    }

    fn forget(&self, number: usize) {
        self.ask(|engine| engine.call_method1("forget", (number,)).map(drop));
    }

    fn nearest(&self, search: &DeviceSearch<'_>) -> Option<DeviceFound> {
        self.ask(|engine| {
            let py = engine.py();
            let DeviceSearch { formula, from, rows, to, prices, most, noise } = *search;
            let rows_there = rows.iter().map(|&row| i64::from(row)).collect::<Vec<_>>();
            let asked = (
                formula,
                from,
                rows_there.into_pyarray(py),
                to,
                PyArray1::from_slice(py, prices),
                most,
                noise,
            );
            let found = engine.call_method1("nearest", asked)?;
            let (points, costs, limits): (Array2<'_, i32>, Array2<'_, f32>, Array1<'_, f32>) =
                found.extract()?;
            let (points, costs, limits) = (points.as_array(), costs.as_array(), limits.as_array());
            let shape = [rows.len(), most];
            if points.shape() != shape || costs.shape() != shape || limits.len() != rows.len() {
                return Err(PyValueError::new_err(
                    "an engine answers for every row, with one entry a point",
                ));
            }
            // Missing entries are −1, which becomes the largest unsigned number.
            let points: Vec<u32> = points.iter().map(|&point| point as u32).collect();
            if points.iter().any(|&point| point != u32::MAX && point as usize >= prices.len()) {
                return Err(PyValueError::new_err("an engine names a point that is not there"));
            }
            let (costs, limits) =
                (costs.iter().copied().collect(), limits.iter().copied().collect());
            Ok(DeviceFound { points, costs, limits })
        })
    }

    fn scans_all(&self) -> bool {
        self.takes_all
    }

    fn has_failed(&self) -> bool {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
