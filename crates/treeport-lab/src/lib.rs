//! Data sets, generators, judges, experiments and benchmarks for treeport.
//!
//! Nothing here is needed to use the library: this crate makes inputs for it ([`generate`],
//! [`datasets`]), judges its answers ([`exact`]), repeats the paper's experiments ([`experiment`])
//! and measures its speed ([`mod@bench`]).
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
