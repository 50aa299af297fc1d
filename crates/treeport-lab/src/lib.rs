//! Data sets, generators, experiments and plots for treeport.
//!
//! Nothing here is needed to use the library: this crate makes inputs for it ([`cities`],
//! [`generate`], [`datasets`]), judges its answers ([`exact`], [`score`]), repeats the paper's
//! experiments ([`experiment`]) and draws them ([`dendrogram`], [`loss_chart`], [`line_chart`],
//! [`chart`], and all on one page in [`report`]).
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

pub mod bench;
pub mod chart;
pub mod cities;
pub mod condensed;
pub mod datasets;
pub mod demo;
pub mod dendrogram;
pub mod dial;
pub mod error;
pub mod exact;
pub mod experiment;
pub mod generate;
pub mod line_chart;
pub mod loss_chart;
pub mod noisy_trees;
pub mod report;
pub mod scene;
pub mod score;
mod svg;
pub mod synthetic;
pub mod timing;

pub use error::{Error, Result};
pub use svg::Place;
