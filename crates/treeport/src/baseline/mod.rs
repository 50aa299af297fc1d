//! Every method that learned trees are measured against, behind one word.
//!
//! A [`Method`] has a name and builds a [`Model`]; change the name, and everything after it stays as it is:
//!
//! ```
//! use treeport::baseline::{BaselineOptions, Method, Scale, Training};
//! use treeport::{GroundMetric, Labels, Measures, Norm, silent};
//!
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], Norm::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let labels = Labels { pairs: vec![(0, 1)], distances: vec![5.0] };
//! let training = Some(Training { measures: &measures, labels: &labels });
//! let options = BaselineOptions { scale: Scale::Labels, ..BaselineOptions::default() };
//! for name in ["quadtree", "ctwd", "sliced-ctwd", "flowtree", "total-variation"] {
//!     let method: Method = name.parse()?;
//!     let model = method.build(&metric, training, &options, &silent)?;
//!     let distance = model.pairs(&metric, &measures, &[(0, 1)], &silent)?[0];
//!     assert!((distance - 5.0).abs() < 1e-9);
//! }
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! | names | what | from |
//! | --- | --- | --- |
//! | `quadtree`, `flowtree` | [random grids](quadtree()), as they are and [by flow](crate::flow) | Indyk, Thaper 2003; Backurs et al. 2020 |
//! | `cluster`, `kmeans` | [clusters of clusters](cluster_tree) | Le et al. 2019 |
//! | `qtwd`, `ctwd` | those with [fitted edges](fit_points) | Yamada et al. 2022 |
//! | `qtwd-labels`, `ctwd-labels` | and the edges then [fitted to labels](fit_labels) | ours |
//! | `sliced-…` | [several](crate::Forest) random trees of a kind, averaged | Le et al. 2019 |
//! | `ultratwd-mst`, `ultratwd` | [the ultrametric nearest to the metric](ultratwd()) | UltraTWD, ICML 2025 |
//! | `single`, `average` | [linkage](crate::linkage()) | the starts of learning |
//! | `ultrametric`, `skip-mst`, `additive` | [learned](crate::learn()) from labels, or from points without | \[CTW24\]; ours |
//! | `auto` | the best of [several stages](fit()), learning among them | ours |
//! | `forest`, `learned-forest` | [linkages of a perturbed metric](crate::Forest::perturbed), averaged; each [learned](crate::Forest::learned) | ours |
//! | `mean-label`, `total-variation` | null baselines, which know nothing of the metric | |
//!
//! All randomness comes from [`BaselineOptions::seed`], and any number of threads gives the same bits.

mod cluster;
mod design;
mod draft;
mod fit;
mod kmeans;
mod method;
mod model;
mod options;
mod quadtree;
mod shrink;
mod solver;
mod ultratwd;
mod weights;

pub use cluster::{Splitting, cluster_tree};
pub use fit::{Doing, Fit, FitOptions, Stage, fit, resume_fit};
pub use method::Method;
pub use model::{Model, Scale, Training};
pub use options::BaselineOptions;
pub use quadtree::{quadtree, quadtree_at};
pub use shrink::fit_labels;
pub use ultratwd::{ultratwd, ultratwd_mst};
pub use weights::{Fitted, WeightOptions, fit_points, fit_points_jointly};
