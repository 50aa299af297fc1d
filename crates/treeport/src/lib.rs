//! Learned trees for fast optimal transport.
//!
//! treeport learns a tree over a fixed set of points so that optimal transport (Wasserstein-1)
//! between measures on those points takes time linear in their supports instead of cubic, and
//! answers distance, plan and embedding questions with it.
//!
//! The way through the library:
//!
//! 1. a [`GroundMetric`] says how far apart the points are: coordinates, a matrix, or a graph;
//! 2. [`Labelled`] has [`Measures`] on them and exact distances between some;
//! 3. [`fit`](fit()) makes a [`Model`] of both, a tree or a forest, by any [`Method`];
//! 4. the [`Model`] answers: [`distance`](Model::distance), [`pairs`](Model::pairs),
//!    [`pairwise`](Model::pairwise), [`coupling`](Model::coupling), [`embed`](Model::embed),
//!    `save`.
//!
//! A [`Problem`] is one transport problem, solved exactly and proved; [`Problems`] are many on one
//! ground. An [`Estimator`] comes as close to exact transport as it is asked to, with certified
//! bounds; [`flow`] is the true cost of a tree's plan; an [`Index`] finds nearest neighbors.
//!
//! ```
//! use treeport::{FitOptions, GroundMetric, Labelled, Measures, PointMetric, fit, silent};
//!
//! // Four points on a line, and two measures on them.
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let data = Labelled::sample(&metric, &measures, 300, 0, &silent)?;
//! let fitted = fit(&metric, Some(&data), &FitOptions::default(), &silent)?;
//! let distance = fitted.model.distance(&measures.row(0), &measures.row(1))?;
//! assert!((distance - 5.0).abs() < 1e-6);
//! # Ok::<(), treeport::Error>(())
//! ```
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

pub use accuracy::{Accuracy, Level};
pub use build::{Linkage, linkage};
pub use clouds::Clouds;
pub use columns::{Missing, MissingColumns};
pub use error::{Error, Result, Wording};
pub use estimate::Estimator;
pub use extend::Extension;
pub use fit::{Fit, FitOptions, Method, fit};
pub use forest::Forest;
pub use labelled::{Judged, Labelled, NullBaseline};
pub use learn::{Kind, LearnOptions, Learned, learn};
pub use measure::{Measure, Measures};
pub use memory::set_limit as set_memory_limit;
pub use metric::{Geometry, GroundMetric, Period, PointMetric, Storage};
pub use model::{Model, PreparedMeasures};
pub use progress::{Progress, silent};
pub use project::{project, project_additive};
pub use score::Score;
pub use search::{Index, IndexOptions};
pub(crate) use solve::exact;
pub use solve::{
    Bounds, Forecast, Intervals, MatrixView, Potentials, Problem, Problems, Relax, Solution,
    Target, sinkhorn,
};
pub use sparse::Csr;
pub use tree::{Attachment, Coupling, Tree};

/// What the other crates of this project share with the library. It is no part of the public face
/// and changes without notice.
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
    pub mod score {
        pub use crate::score::{factor, least_label, median, relative_errors};
    }
    pub mod solve {
        pub use crate::solve::table_of_few;
    }
    pub mod steps {
        pub use crate::steps::*;
    }
    pub mod tree {
        pub use crate::tree::{Census, RankedMeasures, Scratch};
    }
}
