//! Table of the methods: name, family, supported inputs and options, help, and the function that
//! builds the model.
//!
//! A new method is a variant, a row, and its function; the command line's help, Python's docstring
//! and errors are generated from the table.

use super::job::{FARTHEST, FitJob, KMEANS, QUADTREE};
use super::{Fit, ultratwd};
use crate::build::Linkage;
use crate::error::Result;
use crate::learn::Kind;
use crate::model::Model;
use crate::names::{Named, reads_and_prints};

/// Methods of building a tree or a forest; the [table](super#methods) describes each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the table says what each is")]
pub enum Method {
    Auto,
    Tree,
    Additive,
    Ultrametric,
    SkipMst,
    Forest,
    LearnedForest,
    Slices,
    Quadtree,
    Cluster,
    KMeans,
    QTwd,
    CTwd,
    QTwdLabels,
    CTwdLabels,
    SlicedQuadtree,
    SlicedCluster,
    SlicedQTwd,
    SlicedCTwd,
    UltraTwdMst,
    UltraTwd,
    Single,
    Average,
    Neighbors,
    TotalVariation,
}

/// Families of methods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// The most accurate model, and the most accurate single tree.
    Best,
    /// One learned tree.
    Learned,
    /// Several trees and the weighted mean of their distances.
    Forest,
    /// Methods from the literature, for comparison. With labels, one factor sets their scale.
    Compared,
}

use Family::{Best, Compared, Forest, Learned};

/// Inputs and options that a method supports or requires.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Supports {
    /// Whether the method requires coordinates.
    pub coordinates: bool,
    /// Whether the method requires labels.
    pub labels: bool,
    /// Whether the method supports a start.
    pub start: bool,
    /// Whether the method builds several trees and supports their number.
    pub n_trees: bool,
    /// Whether the method supports a number of pairs of points, for fitting edges or, without
    /// labels, for learning.
    pub point_pairs: bool,
    /// Whether the method supports epochs and the other options of the learner.
    pub learning: bool,
    /// Whether the method supports branching and depth of cluster trees.
    pub clusters: bool,
    /// Whether the method supports resuming from a checkpoint.
    pub resume: bool,
    /// Whether the method supports the option to set its scale by labels.
    pub scale: bool,
}

/// Former name of [`Supports`].
#[deprecated(since = "0.4.0", note = "renamed to `Supports`")]
pub type Takes = Supports;

struct Row {
    method: Method,
    name: &'static str,
    family: Family,
    supports: Supports,
    help: &'static str,
    build: fn(&FitJob<'_>) -> Result<Fit>,
}

const NO_OPTIONS: Supports = Supports {
    coordinates: false,
    labels: false,
    start: false,
    n_trees: false,
    point_pairs: false,
    learning: false,
    clusters: false,
    resume: false,
    scale: true,
};
const POINTS: Supports = Supports { point_pairs: true, ..NO_OPTIONS };
const LEARNED: Supports = Supports { start: true, learning: true, resume: true, ..POINTS };
const GROWN: Supports = Supports { start: true, n_trees: true, ..NO_OPTIONS };
const GRID: Supports = Supports { coordinates: true, ..NO_OPTIONS };
const CLUSTERS: Supports = Supports { clusters: true, ..NO_OPTIONS };
const FITTED_GRID: Supports = Supports { point_pairs: true, ..GRID };
const FITTED_CLUSTERS: Supports = Supports { point_pairs: true, ..CLUSTERS };

/// Adds the options of methods that build several trees of one kind.
const fn several(supports: Supports) -> Supports {
    Supports { n_trees: true, ..supports }
}

const fn row(
    method: Method,
    name: &'static str,
    family: Family,
    supports: Supports,
    build: fn(&FitJob<'_>) -> Result<Fit>,
    help: &'static str,
) -> Row {
    Row { method, name, family, supports, help, build }
}

/// Table of the methods, in the order of [`Method`].
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "all rows alike")]
const TABLE: &[Row] = &[
    row(Method::Auto, "auto", Best, Supports { scale: false, ..LEARNED }, |job| job.tree_or_slices(),
        "tree or slices, whichever has the smaller error on held-out labels"),
    row(Method::Tree, "tree", Best, Supports { scale: false, ..LEARNED }, |job| job.stages(),
        "one tree: edges fitted to points, learning, edges fitted to labels; held-out labels choose the best stage"),
    row(Method::Additive, "additive", Learned, LEARNED, |job| job.learned(),
        "a learned tree with leaves at any depth"),
    row(Method::Ultrametric, "ultrametric", Learned, LEARNED, |job| job.learned(),
        "a learned tree with all leaves at one depth: the method of the paper"),
    row(Method::SkipMst, "skip-mst", Learned, LEARNED, |job| job.learned(),
        "ultrametric, with the shape of the start"),
    row(Method::Forest, "forest", Forest, GROWN, |job| job.forest(),
        "linkages of randomly perturbed distances, with weights that fit the labels"),
    row(Method::LearnedForest, "learned-forest", Forest, Supports { learning: true, point_pairs: true, ..GROWN }, |job| job.learned_forest(),
        "the same trees with edges fitted to points, learned, and fitted to labels together"),
    row(Method::Slices, "slices", Forest, Supports { n_trees: true, ..NO_OPTIONS }, |job| job.slices(),
        "transport along lines, between clusters and in total, with weights that fit the labels"),
    row(Method::Quadtree, "quadtree", Compared, GRID, |job| job.shape(QUADTREE),
        "a randomly shifted grid (Indyk, Thaper 2003)"),
    row(Method::Cluster, "cluster", Compared, CLUSTERS, |job| job.shape(FARTHEST),
        "clusters of clusters by farthest points (Le et al. 2019)"),
    row(Method::KMeans, "kmeans", Compared, Supports { coordinates: true, ..CLUSTERS }, |job| job.shape(KMEANS),
        "clusters of clusters by k-means"),
    row(Method::QTwd, "qtwd", Compared, FITTED_GRID, |job| job.fitted(QUADTREE),
        "a quadtree with edges fitted to the distances of points (Yamada et al. 2022)"),
    row(Method::CTwd, "ctwd", Compared, FITTED_CLUSTERS, |job| job.fitted(FARTHEST),
        "a cluster tree with edges fitted to the distances of points (Yamada et al. 2022)"),
    row(Method::QTwdLabels, "qtwd-labels", Compared, Supports { labels: true, ..FITTED_GRID }, |job| job.fitted_to_labels(QUADTREE),
        "qtwd with edges then fitted to labels"),
    row(Method::CTwdLabels, "ctwd-labels", Compared, Supports { labels: true, ..FITTED_CLUSTERS }, |job| job.fitted_to_labels(FARTHEST),
        "ctwd with edges then fitted to labels"),
    row(Method::SlicedQuadtree, "sliced-quadtree", Compared, several(GRID), |job| job.sliced(|seed| job.shape_tree(QUADTREE, seed)),
        "the mean of several quadtrees"),
    row(Method::SlicedCluster, "sliced-cluster", Compared, several(CLUSTERS), |job| job.sliced(|seed| job.shape_tree(FARTHEST, seed)),
        "the mean of several cluster trees (Le et al. 2019)"),
    row(Method::SlicedQTwd, "sliced-qtwd", Compared, several(FITTED_GRID), |job| job.sliced(|seed| job.fitted_tree(QUADTREE, seed)),
        "the mean of several qtwd"),
    row(Method::SlicedCTwd, "sliced-ctwd", Compared, several(FITTED_CLUSTERS), |job| job.sliced(|seed| job.fitted_tree(FARTHEST, seed)),
        "the mean of several ctwd"),
    row(Method::UltraTwdMst, "ultratwd-mst", Compared, NO_OPTIONS, |job| job.linkage(Linkage::Closest),
        "the ultrametric nearest to the metric in the largest difference (UltraTWD, ICML 2025)"),
    row(Method::UltraTwd, "ultratwd", Compared, POINTS, ultratwd::build,
        "ultratwd-mst, then descent on the squared differences"),
    row(Method::Single, "single", Compared, NO_OPTIONS, |job| job.linkage(Linkage::Single),
        "single linkage, untrained"),
    row(Method::Average, "average", Compared, NO_OPTIONS, |job| job.linkage(Linkage::Average),
        "average linkage, untrained"),
    row(Method::Neighbors, "neighbors", Compared, NO_OPTIONS, |job| job.linkage(Linkage::Neighbors),
        "neighbors linkage, untrained: nearly average linkage, without all pairs of points"),
    row(Method::TotalVariation, "total-variation", Compared, POINTS, |job| job.star(),
        "all points equally far apart: what every method has to beat"),
];

impl Method {
    /// All methods, in the order of the table.
    pub const ALL: &'static [Self] = <Self as Named>::ALL;

    /// Returns the name of the method.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Returns the family of the method.
    pub fn family(self) -> Family {
        self.row().family
    }

    /// Returns the inputs and options that the method supports or requires.
    pub fn supports(self) -> Supports {
        self.row().supports
    }

    /// Returns [`supports`](Self::supports).
    #[deprecated(since = "0.4.0", note = "renamed to `supports`")]
    pub fn takes(self) -> Supports {
        self.supports()
    }

    /// Returns the kind for [`learn`](crate::learn()), if this method learns one tree.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Ultrametric => Some(Kind::Ultrametric),
            Self::SkipMst => Some(Kind::SkipMst),
            Self::Additive => Some(Kind::Additive),
            _ => None,
        }
    }

    /// Returns whether the method runs the stages of the most accurate tree.
    pub fn has_stages(self) -> bool {
        matches!(self, Self::Auto | Self::Tree)
    }

    /// Returns the table as text, a line per method, for the help of all interfaces.
    pub fn table() -> String {
        let line = |row: &Row| format!("  {:<16} {}\n", row.name, row.help);
        TABLE.iter().map(line).collect()
    }

    pub(super) fn build(self, job: &FitJob<'_>) -> Result<Fit> {
        (self.row().build)(job)
    }

    fn row(self) -> &'static Row {
        &TABLE[self as usize]
    }
}

impl Named for Method {
    const WHAT: &'static str = "the method";
    const ALL: &'static [Self] = {
        const COUNT: usize = TABLE.len();
        const METHODS: [Method; COUNT] = {
            let mut methods = [Method::Auto; COUNT];
            let mut k = 0;
            while k < COUNT {
                methods[k] = TABLE[k].method;
                // The table is in the order of the variants, or this does not compile.
                assert!(methods[k] as usize == k);
                k += 1;
            }
            methods
        };
        &METHODS
    };

    fn name(self) -> &'static str {
        self.row().name
    }

    fn help(self) -> &'static str {
        self.row().help
    }
}

reads_and_prints!(Method);

impl From<Model> for Fit {
    /// Wraps a model that was built without epochs or stages.
    fn from(model: Model) -> Self {
        Self {
            model,
            stage: None,
            stage_errors: vec![],
            history: vec![],
            best_epoch: 0,
            finished: true,
        }
    }
}
