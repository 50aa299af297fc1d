//! Builders of trees from a ground metric alone: [linkage](linkage()), also along [nearest
//! neighbors](Linkage::Neighbors) for many points, [random grids](quadtree()), [hierarchical
//! clusters](cluster_tree()), and [linkages of a perturbed metric](perturbed()).

pub(crate) mod binary;
mod cluster;
pub(crate) mod kmeans;
mod linkage;
mod neighbors;
mod perturbed;
pub(crate) mod project;
mod quadtree;
pub(crate) mod slices;
pub(crate) mod spanning;

pub(crate) use cluster::{BRANCHING, DEPTH};
pub use cluster::{Splitting, cluster_tree};
pub use linkage::{Linkage, linkage};
pub(crate) use perturbed::{N_TREES, normals};
pub use perturbed::{PerturbedOptions, perturbed};
pub use project::{project, project_additive};
pub use quadtree::quadtree;
