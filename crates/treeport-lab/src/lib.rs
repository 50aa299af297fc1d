//! Data sets, generators, judges, experiments and benchmarks for treeport.
//!
//! The library does not need this crate: it generates inputs ([`generate`], [`datasets`]), has a
//! reference solver ([`exact`]), repeats the paper's experiments ([`experiment`]) and measures
//! speed ([`mod@bench`]).
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

pub mod answers;
pub mod bench;
pub mod datasets;
pub mod dial;
pub mod error;
pub mod exact;
pub mod experiment;
pub mod generate;
pub mod noisy_trees;
pub mod scene;
pub mod synthetic;

pub use error::{Error, Result};
