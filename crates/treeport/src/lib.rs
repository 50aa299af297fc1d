//! Learned trees for fast optimal transport.
//!
//! treeport learns a tree over a fixed set of points so that optimal transport (Wasserstein-1) between
//! measures on those points takes time linear in their supports instead of cubic, and answers distance, plan and embedding
//! questions with it.
//!
//! The way through the library:
//!
//! 1. a [`GroundMetric`] says how far apart the points are: coordinates, a matrix, or a graph;
//! 2. [`linkage`](linkage()) grows a first [`Tree`] over them;
//! 3. [`learn`](learn()) fits it to exact transport distances between [`Measures`] ([`Labels`]);
//! 4. the [`Tree`] answers: [`Tree::distance`], [`Tree::pairs`], [`Tree::pairwise`],
//!    [`Tree::coupling`], [`Tree::embed`], and [`Tree::save`].
//!
//! Beside learned trees stand all others that transport has been approximated with ([`baseline`]), several
//! trees at once ([`Forest`]), and the true cost of a tree's plan ([`flow`]).
//!
//! ```
//! use treeport::learn::{LearnOptions, go_on, learn};
//! use treeport::{GroundMetric, Labels, Linkage, Measures, Norm, linkage};
//!
//! // Four points on a line, and two measures on them.
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], Norm::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let start = linkage(&metric, Linkage::Average)?;
//! let labels = Labels { pairs: vec![(0, 1)], distances: vec![5.0] };
//! let learned = learn(&start, &measures, &labels, &LearnOptions::default(), go_on)?;
//! let distance = learned.tree.distance(&measures.row(0), &measures.row(1))?;
//! assert!((distance - 5.0).abs() < 1e-6);
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

pub mod baseline;
mod binary;
pub mod error;
pub mod estimate;
pub mod exact;
pub mod flow;
pub mod forest;
#[cfg(feature = "io")]
pub mod io;
pub mod learn;
pub mod linkage;
pub mod measure;
pub mod metric;
mod order;
pub mod progress;
mod project;
pub mod sinkhorn;
mod spanning;
mod sparse;
pub mod tree;
mod units;

pub use error::{Error, Result};
pub use forest::{Forest, ForestOptions, ForestWeightOptions};
pub use learn::{Kind, Labels, LearnOptions, Learned, learn};
pub use linkage::{Linkage, linkage};
pub use measure::{Measure, Measures};
pub use metric::{GroundMetric, Norm, Storage};
pub use progress::{Progress, silent};
pub use project::{project, project_additive, project_matrix};
pub use sparse::Csr;
pub use tree::{Coupling, Tree};
