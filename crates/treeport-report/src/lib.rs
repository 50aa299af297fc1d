//! Pictures and pages of models and their errors.
//!
//! Predictions and losses become charts ([`chart`], [`line_chart`], [`loss_chart`]), a tree becomes
//! a [`dendrogram`], and [`report`] combines them with scores in one page. [`comparison`] times and
//! evaluates methods on a data set; [`timing`] measures the time of a pair. The [`demo`] runs the complete workflow on a built-in data set, [`cities`].
//! Pictures are SVG and pages HTML, returned as text: only the module `terminal`, behind the
//! feature of that name, writes files and prints; both command lines share it.
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

#![expect(clippy::missing_errors_doc, reason = "errors are those of the library, or of a file")]

mod area;
pub mod chart;
pub mod cities;
pub mod comparison;
pub mod demo;
pub mod dendrogram;
pub mod line_chart;
pub mod loss_chart;
pub mod report;
pub mod sample;
mod svg;
#[cfg(feature = "terminal")]
pub mod terminal;
pub mod text;
pub mod timing;

pub use svg::Place;
