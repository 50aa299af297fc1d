//! Edge lengths for a tree whose shape is fixed: fitted to the distances of [points](fit_points),
//! or to [labels](fit_labels), of one tree or of [several together](fit_together). `new_edges`: those of new leaves, the others fixed;
//! `design`: which sample uses which edge; `solver`: bounded conjugate
//! gradients.

mod accelerated;
mod design;
mod labels;
mod new_edges;
mod points;
mod solver;
mod together;

pub use labels::fit_labels;
pub(super) use labels::{choose_shrinkage, fit_labels_as};
pub(crate) use new_edges::fit_new_edges;
pub use points::{EdgeOptions, FittedEdges, fit_points};
pub use together::fit_together;
pub(super) use together::{choose_together, fit_together_at};
