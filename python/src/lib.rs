//! The compiled half of the Python package: conversion, and nothing else.
//!
//! Arrays come in as views and go out as moved vectors; the interpreter is released while treeport
//! computes ([`watch`]). What is natural to say in Python (defaults, pandas, scikit-learn) is said there.

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod answers;
mod build;
mod convert;
mod dial;
mod forest;
mod ground;
mod learn;
mod measures;
mod transport;
mod tree;
mod watch;

use pyo3::prelude::*;

/// The compiled half of treeport; private, see `treeport`.
#[pymodule]
mod _core {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::answers::{distance, embed, paired, pairs, pairwise};
    #[pymodule_export]
    use crate::build::build;
    #[pymodule_export]
    use crate::dial::Dial;
    #[pymodule_export]
    use crate::forest::{RawForest, load};
    #[pymodule_export]
    use crate::ground::Ground;
    #[pymodule_export]
    use crate::learn::{fit, learn};
    #[pymodule_export]
    use crate::measures::Measures;
    #[pymodule_export]
    use crate::transport::{emd, emd_pairs, sinkhorn};
    #[pymodule_export]
    use crate::tree::RawTree;
}
