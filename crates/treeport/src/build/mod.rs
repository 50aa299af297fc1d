//! Trees from a ground metric alone, one builder a file: [linkages](linkage()), for many points [along
//! near neighbors](Linkage::Neighbors), [random grids](quadtree()), [clusters of
//! clusters](cluster_tree()), and [many linkages of a perturbed metric](perturbed()).

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
