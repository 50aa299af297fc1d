//! Edge lengths for a tree whose shape is fixed: fitted to the distances of [points](fit_points),
//! or to [labels](fit_labels). `design`: which sample uses which edge; `solver`: bounded conjugate
//! gradients.

mod design;
mod labels;
mod points;
mod solver;

pub use labels::fit_labels;
pub(super) use labels::{choose_shrinkage, fit_labels_as};
pub use points::{EdgeOptions, FittedEdges, fit_points};
