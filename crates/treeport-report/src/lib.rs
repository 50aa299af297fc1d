//! Pictures and pages of models and of their errors.
//!
//! Predictions and losses become charts ([`chart`], [`line_chart`], [`loss_chart`]), a tree becomes
//! a [`dendrogram`], and all of them together, with scores, one page ([`report`]). [`timing`] says
//! how long a pair takes. The [`demo`] does the whole job on a built-in data set, [`cities`]. All
//! pictures are SVG and all pages HTML, returned as text: only the `terminal` module, behind a
//! feature of that name, writes files and prints. It is what our command lines share.
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

mod area;
pub mod chart;
pub mod cities;
pub mod demo;
pub mod dendrogram;
pub mod line_chart;
pub mod loss_chart;
pub mod report;
pub mod sample;
mod svg;
#[cfg(feature = "terminal")]
pub mod terminal;
pub mod timing;

pub use svg::Place;
