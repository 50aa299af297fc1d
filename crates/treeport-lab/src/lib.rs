//! Data sets, generators, experiments and benchmarks for treeport.
//!
//! The library does not need this crate: it generates inputs ([`generate`], [`datasets`]), repeats
//! the paper's experiments ([`experiment`]) and measures speed ([`mod@bench`]).
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

#![expect(clippy::missing_errors_doc, reason = "errors are those of the library, or of a file")]

pub mod answers;
pub mod bench;
pub mod datasets;
pub mod experiment;
pub mod generate;
pub mod scene;

pub use treeport::{Error, Result};
