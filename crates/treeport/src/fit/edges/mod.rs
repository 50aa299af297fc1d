//! Edge lengths for trees of fixed shape: fitted to the distances of [points](fit_points), or to
//! [labels](fit_labels), for one tree or [several together](fit_together).
//!
//! `new_edges`: edges of new leaves, with the others fixed; `design`: design matrix; `solver`:
//! bounded conjugate gradients; `accelerated`: projected gradients with momentum.

mod accelerated;
mod design;
mod labels;
mod new_edges;
mod points;
mod solver;
mod together;

pub(super) use design::EdgeGroups;
pub use labels::fit_labels;
pub(super) use labels::{choose_shrinkage, fit_labels_as};
pub(crate) use new_edges::fit_new_edges;
pub use points::{EdgeOptions, FittedEdges, fit_points};
pub use together::fit_together;
pub(super) use together::{choose_together, fit_together_at};
