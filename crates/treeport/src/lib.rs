//! Optimal transport between measures: in microseconds by learned trees, exactly with a proof, and
//! searchable.
//!
//! How far is one weighted set of points from another? As far as its mass has to be moved, on average:
//! the Wasserstein distance W₁.
//!
//! | noun | what it is |
//! | --- | --- |
//! | [`GroundMetric`] | distances between points: from coordinates, a matrix or a graph |
//! | [`Measures`] | rows of masses on those points |
//! | [`Clouds`] | measures with points of their own |
//! | [`Labeled`] | measures with pairs of them, and the exact distance of each pair |
//! | [`Model`] | one [`Tree`] or a [`Forest`], made by [`fit`](fit()); it answers in microseconds |
//! | [`Estimator`] | a metric and a model: estimates of any accuracy, with certified bounds |
//! | [`Problem`], [`Problems`] | one transport problem, or many, solved exactly with a proof |
//! | [`Index`] | a collection of measures, with certified nearest-neighbor search |
//!
//! ```
//! use treeport::{FitOptions, GroundMetric, Labeled, Measures, PointMetric, Problem, fit, silent};
//!
//! // Four points on a line, and two measures on them.
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let (a, b) = (measures.row(0), measures.row(1));
//!
//! // One pair: solve it.
//! assert_eq!(Problem::new(&metric, &a, &b).value(&silent)?, 5.0);
//!
//! // Many pairs: learn a tree from some that are solved, and query it.
//! let data = Labeled::sample(&metric, &measures, 300, 0, &silent)?;
//! let fitted = fit(&metric, Some(&data), &FitOptions::default(), &silent)?;
//! assert!((fitted.model.distance(&a, &b)? - 5.0).abs() < 1e-6);
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! Long calls have a [`Progress`] callback, which reports progress and can cancel the call;
//! [`silent`] does neither. Bad input is an [`Error`] that says what, where and what to do. The
//! same input and seed give the same bits, on one thread or many. The library never prints.
//!
//! The guide, `docs/RUST.md` in the repository, has a whole program for each of these nouns. The
//! feature `io`, on by default, contains everything that reads and writes files.
//!
//! **\[CTW24\]** is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal Transport
//! Regression*, AAAI 2024 (arXiv:2210.12288v2).

#[doc(hidden)]
pub mod accuracy;
pub mod build;
mod clouds;
mod error;
pub mod estimate;
mod extend;
pub mod fit;
#[cfg(feature = "io")]
pub mod io;
#[doc(hidden)]
pub mod labeled;
pub mod learn;
mod measures;
#[doc(hidden)]
pub mod memory;
pub mod metric;
mod model;
#[doc(hidden)]
pub mod names;
mod numeric;
pub mod progress;
pub mod search;
pub mod solve;
pub mod space;
pub mod texts;
mod tools;
pub mod tree;

#[doc(inline)]
pub use accuracy::{Accuracy, Level};
pub use clouds::Clouds;
pub use error::{Error, Result, Wording};
#[doc(inline)]
pub use estimate::Estimator;
pub use extend::Extension;
#[doc(inline)]
pub use fit::{Fit, FitOptions, Method, fit};
#[doc(inline)]
pub use labeled::score::Score;
#[doc(inline)]
pub use labeled::{Judged, Labeled, NullBaseline};
pub use measures::{Measure, Measures, Missing, MissingColumns};
#[doc(inline)]
pub use memory::set_limit as set_memory_limit;
#[doc(inline)]
pub use metric::{GroundMetric, PointMetric};
pub use model::contract::Contracted;
pub use model::forest::Forest;
pub use model::{Model, PreparedMeasures};
#[doc(inline)]
pub use progress::{Progress, silent};
#[doc(inline)]
pub use search::{Index, IndexOptions};
#[doc(inline)]
pub use solve::{Aim, Answer, Problem, Problems, Proposal, Wanted};
#[doc(inline)]
pub use space::Space;
pub use tools::csr::Csr;
#[doc(inline)]
pub use tree::Tree;

// Names of modules that stay at the root for programs that use them there.
#[doc(hidden)]
pub use {
    build::{Linkage, linkage, project, project_additive},
    clouds::uniform_masses,
    error::{show_number, shown, without_number},
    learn::{Kind, LearnOptions, Learned, learn},
    metric::{Geometry, Period, Storage},
    model::{contract, flow},
    solve::{Forecast, Intervals, MatrixView, Potentials, Relax, show_time, sinkhorn},
    tree::{Attachment, Coupling},
};

/// Former name of [`Labeled`].
#[deprecated(since = "0.4.0", note = "renamed to `Labeled`")]
pub type Labelled = Labeled;

// The programs of the guide, docs/RUST.md, run as doc tests.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../../docs/RUST.md")]
mod guide {}

// The example of the README runs as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
