//! The methods, as one table: name, family, what it takes, a line of help, and the function that
//! builds it.
//!
//! A new method is a variant, a row, and its function; the command line's help, Python's docstring
//! and every error read the table.

use super::job::{FARTHEST, FitJob, KMEANS, QUADTREE};
use super::{Fit, ultratwd};
use crate::build::Linkage;
use crate::error::Result;
use crate::learn::Kind;
use crate::model::Model;
use crate::names::{Named, reads_and_prints};

/// A way to make a tree or a forest over the points of a metric; the [table](super#methods) says
/// what each is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the table says what each is")]
pub enum Method {
    Auto,
    Additive,
    Ultrametric,
    SkipMst,
    Forest,
    LearnedForest,
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

/// What kind of thing a method is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Family {
    /// The best single tree we know how to make.
    Best,
    /// One tree, learned and nothing else.
    Learned,
    /// Several trees whose mean counts.
    Forest,
    /// What others do, to compare with. Where there are labels, one factor sets its scale.
    Compared,
}

use Family::{Best, Compared, Forest, Learned};

/// What a method can use, and what it cannot do without.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent facts")]
pub struct Takes {
    /// It cannot do without coordinates.
    pub coordinates: bool,
    /// It cannot do without labels.
    pub labels: bool,
    /// A start.
    pub start: bool,
    /// A number of trees, since it makes several.
    pub n_trees: bool,
    /// A number of pairs of points to draw, for edges or, where there are no labels, for learning.
    pub point_pairs: bool,
    /// Epochs and the other options of the learner.
    pub learning: bool,
    /// Branching and depth of cluster trees.
    pub clusters: bool,
    /// A checkpoint to go on from.
    pub resume: bool,
    /// Whether labels set its scale, or not.
    pub scale: bool,
}

struct Row {
    method: Method,
    name: &'static str,
    family: Family,
    takes: Takes,
    help: &'static str,
    build: fn(&FitJob<'_>) -> Result<Fit>,
}

const NOTHING: Takes = Takes {
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
const POINTS: Takes = Takes { point_pairs: true, ..NOTHING };
const LEARNS: Takes = Takes { start: true, learning: true, resume: true, ..POINTS };
const GROWS: Takes = Takes { start: true, n_trees: true, ..NOTHING };
const GRID: Takes = Takes { coordinates: true, ..NOTHING };
const CLUSTERS: Takes = Takes { clusters: true, ..NOTHING };
const FITTED_GRID: Takes = Takes { point_pairs: true, ..GRID };
const FITTED_CLUSTERS: Takes = Takes { point_pairs: true, ..CLUSTERS };

/// What several trees of one kind take.
const fn several(takes: Takes) -> Takes {
    Takes { n_trees: true, ..takes }
}

const fn row(
    method: Method,
    name: &'static str,
    family: Family,
    takes: Takes,
    build: fn(&FitJob<'_>) -> Result<Fit>,
    help: &'static str,
) -> Row {
    Row { method, name, family, takes, help, build }
}

/// In the order of [`Method`].
#[rustfmt::skip]
#[expect(clippy::redundant_closure_for_method_calls, reason = "all rows alike")]
const TABLE: &[Row] = &[
    row(Method::Auto, "auto", Best, Takes { scale: false, ..LEARNS }, |job| job.stages(),
        "edges fitted to points, learning, edges fitted to labels; held-out labels choose the best tree"),
    row(Method::Additive, "additive", Learned, LEARNS, |job| job.learned(),
        "a learned tree with leaves at any depth"),
    row(Method::Ultrametric, "ultrametric", Learned, LEARNS, |job| job.learned(),
        "a learned tree with all leaves at one depth: the method of the paper"),
    row(Method::SkipMst, "skip-mst", Learned, LEARNS, |job| job.learned(),
        "ultrametric, with the shape of the start"),
    row(Method::Forest, "forest", Forest, GROWS, |job| job.forest(),
        "linkages of randomly perturbed distances, with weights that fit the labels"),
    row(Method::LearnedForest, "learned-forest", Forest, Takes { learning: true, point_pairs: true, ..GROWS }, |job| job.learned_forest(),
        "the same trees with edges fitted to points, learned, and fitted to labels together"),
    row(Method::Quadtree, "quadtree", Compared, GRID, |job| job.shape(QUADTREE),
        "a randomly shifted grid (Indyk, Thaper 2003)"),
    row(Method::Cluster, "cluster", Compared, CLUSTERS, |job| job.shape(FARTHEST),
        "clusters of clusters by farthest points (Le et al. 2019)"),
    row(Method::KMeans, "kmeans", Compared, Takes { coordinates: true, ..CLUSTERS }, |job| job.shape(KMEANS),
        "clusters of clusters by k-means"),
    row(Method::QTwd, "qtwd", Compared, FITTED_GRID, |job| job.fitted(QUADTREE),
        "a quadtree with edges fitted to the distances of points (Yamada et al. 2022)"),
    row(Method::CTwd, "ctwd", Compared, FITTED_CLUSTERS, |job| job.fitted(FARTHEST),
        "a cluster tree with edges fitted to the distances of points (Yamada et al. 2022)"),
    row(Method::QTwdLabels, "qtwd-labels", Compared, Takes { labels: true, ..FITTED_GRID }, |job| job.fitted_to_labels(QUADTREE),
        "qtwd with edges then fitted to labels"),
    row(Method::CTwdLabels, "ctwd-labels", Compared, Takes { labels: true, ..FITTED_CLUSTERS }, |job| job.fitted_to_labels(FARTHEST),
        "ctwd with edges then fitted to labels"),
    row(Method::SlicedQuadtree, "sliced-quadtree", Compared, several(GRID), |job| job.sliced(|seed| job.shape_tree(QUADTREE, seed)),
        "the mean of several quadtrees"),
    row(Method::SlicedCluster, "sliced-cluster", Compared, several(CLUSTERS), |job| job.sliced(|seed| job.shape_tree(FARTHEST, seed)),
        "the mean of several cluster trees (Le et al. 2019)"),
    row(Method::SlicedQTwd, "sliced-qtwd", Compared, several(FITTED_GRID), |job| job.sliced(|seed| job.fitted_tree(QUADTREE, seed)),
        "the mean of several qtwd"),
    row(Method::SlicedCTwd, "sliced-ctwd", Compared, several(FITTED_CLUSTERS), |job| job.sliced(|seed| job.fitted_tree(FARTHEST, seed)),
        "the mean of several ctwd"),
    row(Method::UltraTwdMst, "ultratwd-mst", Compared, NOTHING, |job| job.linkage(Linkage::Closest),
        "the ultrametric nearest to the metric in the largest difference (UltraTWD, ICML 2025)"),
    row(Method::UltraTwd, "ultratwd", Compared, POINTS, ultratwd::build,
        "ultratwd-mst, then descent on the squared differences"),
    row(Method::Single, "single", Compared, NOTHING, |job| job.linkage(Linkage::Single),
        "single linkage, untrained"),
    row(Method::Average, "average", Compared, NOTHING, |job| job.linkage(Linkage::Average),
        "average linkage, untrained"),
    row(Method::Neighbors, "neighbors", Compared, NOTHING, |job| job.linkage(Linkage::Neighbors),
        "neighbors linkage, untrained: nearly average linkage, without all pairs of points"),
    row(Method::TotalVariation, "total-variation", Compared, POINTS, |job| job.star(),
        "all points equally far apart: what every method has to beat"),
];

impl Method {
    /// All methods, in the order of the table.
    pub const ALL: &'static [Self] = <Self as Named>::ALL;

    /// The one word it goes by.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// What kind of thing it is.
    pub fn family(self) -> Family {
        self.row().family
    }

    /// What it can use, and what it cannot do without.
    pub fn takes(self) -> Takes {
        self.row().takes
    }

    /// What [`learn`](crate::learn()) has to be told, if this is one learned tree.
    pub fn kind(self) -> Option<Kind> {
        match self {
            Self::Ultrametric => Some(Kind::Ultrametric),
            Self::SkipMst => Some(Kind::SkipMst),
            Self::Additive => Some(Kind::Additive),
            _ => None,
        }
    }

    /// The table as text, a line each: for the help of the command line and of Python.
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
    /// What is made without epochs or stages.
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
