//! Builders of trees from a ground metric alone: [linkage](linkage()), also along [nearest
//! neighbors](Linkage::Neighbors) for many points, [random grids](quadtree()), [hierarchical
//! clusters](cluster_tree()), and [linkages of a perturbed metric](perturbed()).

mod cluster;
mod draft;
mod kmeans;
mod linkage;
mod neighbors;
mod perturbed;
mod quadtree;
mod ultrametric;

pub(crate) use cluster::{BRANCHING, DEPTH};
pub use cluster::{Splitting, cluster_tree};
pub use linkage::{Linkage, linkage};
pub(crate) use perturbed::N_TREES;
pub use perturbed::{PerturbedOptions, perturbed};
pub use quadtree::quadtree;
