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
//! | [`Labelled`] | measures with pairs of them, and the exact distance of each pair |
//! | [`Model`] | one [`Tree`] or a [`Forest`], made by [`fit`](fit()); it answers in microseconds |
//! | [`Estimator`] | a metric and a model: estimates of any accuracy, with certified bounds |
//! | [`Problem`], [`Problems`] | one transport problem, or many, solved exactly with a proof |
//! | [`Index`] | a collection of measures, with certified nearest-neighbor search |
//!
//! ```
//! use treeport::{FitOptions, GroundMetric, Labelled, Measures, PointMetric, Problem, fit, silent};
//!
//! // Four points on a line, and two measures on them.
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let (a, b) = (measures.row(0), measures.row(1));
//!
//! // One pair: solve it.
//! assert_eq!(Problem::new(&metric, &a, &b).value(&silent)?, 5.0);
//!
//! // Many pairs: learn a tree from some that are solved, and ask it.
//! let data = Labelled::sample(&metric, &measures, 300, 0, &silent)?;
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

pub mod accuracy;
mod binary;
pub mod build;
mod cloud_penalties;
mod clouds;
mod columns;
mod condensed;
pub mod contract;
mod error;
pub mod estimate;
mod extend;
pub mod fit;
pub mod flow;
mod forest;
#[cfg(feature = "io")]
pub mod io;
mod labelled;
pub mod learn;
mod measure;
mod memory;
pub mod metric;
mod model;
mod names;
mod option_range;
mod order;
mod parallel;
pub mod progress;
mod project;
mod rounding;
mod score;
pub mod search;
mod seed;
mod sets;
pub mod solve;
mod spanning;
mod sparse;
mod steps;
pub mod tree;
mod twofold;
mod units;
mod wide;

#[doc(inline)]
pub use accuracy::{Accuracy, Level};
#[doc(inline)]
pub use build::{Linkage, linkage};
pub use clouds::Clouds;
pub use columns::{Missing, MissingColumns};
pub use error::{Error, Result, Wording};
#[doc(inline)]
pub use estimate::Estimator;
pub use extend::Extension;
#[doc(inline)]
pub use fit::{Fit, FitOptions, Method, fit};
pub use forest::Forest;
pub use labelled::{Judged, Labelled, NullBaseline};
#[doc(inline)]
pub use learn::{Kind, LearnOptions, Learned, learn};
pub use measure::{Measure, Measures};
pub use memory::set_limit as set_memory_limit;
#[doc(inline)]
pub use metric::{Geometry, GroundMetric, Period, PointMetric, Storage};
pub use model::{Model, PreparedMeasures};
#[doc(inline)]
pub use progress::{Progress, silent};
pub use project::{project, project_additive};
pub use score::Score;
#[doc(inline)]
pub use search::{Index, IndexOptions};
#[doc(inline)]
pub use solve::{
    Aim, Answer, Forecast, Intervals, MatrixView, Potentials, Problem, Problems, Relax, Wanted,
    sinkhorn,
};
pub use sparse::Csr;
#[doc(inline)]
pub use tree::{Attachment, Coupling, Tree};

// The programs of the guide, docs/RUST.md, run as doc tests.
#[cfg(all(doctest, feature = "io"))]
#[doc = include_str!("../../../docs/RUST.md")]
mod guide {}

/// Items shared with the other crates of this project; not part of the public API, and subject to
/// change without notice.
#[doc(hidden)]
pub mod internal {
    pub use crate::clouds::uniform_masses;
    pub use crate::error::shown;
    pub mod condensed {
        pub use crate::condensed::{pair_number, pairs_of, place, size_for};
    }
    pub mod labels {
        pub use crate::labelled::{
            DEFAULT_PAIRS, MOST_PAIRS, TRIED_PAIRS, pairs_within, sample_pairs, test_seed,
            total_variation,
        };
    }
    pub mod memory {
        pub use crate::memory::{address_space, available, check, parse, set_limit, show};
    }
    pub mod names {
        pub use crate::columns::match_names;
        pub use crate::names::{Named, list};
    }
    pub mod rounding {
        /// Returns the share that so many roundings to single precision take away at most.
        pub const fn single(roundings: usize) -> f64 {
            crate::rounding::single(roundings)
        }
        pub const LOST_BY_DUALS: f64 = crate::solve::single_problem::LOST_ON_DEVICE;
    }
    pub mod score {
        pub use crate::score::{factor, least_label, median, relative_errors};
    }
    pub mod search {
        pub use crate::search::DevicePoints;
    }
    pub mod solve {
        pub use crate::solve::{
            CLOSED_PRICE, Device as Card, Device, DeviceFound as CardFound, DeviceFound,
            DeviceSearch as CardSearch, DeviceSearch, table_of_few,
        };
    }
    pub mod steps {
        pub use crate::steps::*;
    }
    pub mod tree {
        pub use crate::tree::{Census, RankedMeasures, Scratch};
    }
}

// The example of the README runs as a doc test.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
