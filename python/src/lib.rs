//! The compiled half of the Python package: conversion, and nothing else.
//!
//! Arrays come in as views and go out as moved vectors; the interpreter is released while treeport
//! computes ([`watch`]). What is natural to say in Python (defaults, pandas, scikit-learn) is said
//! there.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod accuracy;
mod card;
mod clouds;
mod convert;
mod estimator;
mod ground;
mod labelled;
mod measures;
mod memory;
mod model;
mod neighbors;
mod options;
mod transport;
mod turns;
mod watch;

use pyo3::prelude::*;

/// The compiled half of treeport; private, see `treeport`.
#[pymodule]
mod _core {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __commit__: Option<&str> = option_env!("TREEPORT_COMMIT");
    #[pymodule_export]
    const DEFAULT_PAIRS: usize = treeport::internal::labels::DEFAULT_PAIRS;
    #[pymodule_export]
    use crate::accuracy::check_search_accuracy;
    #[pymodule_export]
    use crate::clouds::Clouds;
    #[pymodule_export]
    use crate::estimator::{Estimator, calibration};
    #[pymodule_export]
    use crate::ground::{Graph, Ground, point_metrics};
    #[pymodule_export]
    use crate::labelled::{Labelled, fit, methods, sample_pairs};
    #[pymodule_export]
    use crate::measures::{Measures, format_of};
    #[pymodule_export]
    use crate::memory::set_memory_limit;
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::neighbors::Index;
    #[pymodule_export]
    use crate::options::{check_options, fit_options};
    #[pymodule_export]
    use crate::transport::{
        emd, emd_of_arrays, emd_on, emd_pairs, emd_pairs_within, emd_within, emd_within_on,
        sinkhorn,
    };
}
