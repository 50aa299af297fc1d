//! One door to every way of making a tree or a forest: [`fit()`].
//!
//! ```
//! use treeport::{FitOptions, GroundMetric, Labelled, Measures, Method, PointMetric, fit, silent};
//!
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let data = Labelled::sample(&metric, &measures, 300, 0, &silent)?;
//! for name in ["auto", "quadtree", "ctwd", "sliced-ctwd", "forest", "total-variation"] {
//!     let fitted = fit(&metric, Some(&data), &FitOptions::of(name.parse()?), &silent)?;
//!     let distance = fitted.model.distance(&measures.row(0), &measures.row(1))?;
//!     assert!((distance - 5.0).abs() < 1e-6);
//! }
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! # Methods
//! [`Method::table`] prints them with a line each. `auto` is the one to use for one tree,
//! `learned-forest` for several; the rest is there to compare with. [`FitOption::ALL`] has the options. All randomness comes from
//! [`FitOptions::seed`], and any number of threads gives the same bits.
//!
//! The pieces are public, too: the learner ([`learn`](crate::learn())), [edges fitted to
//! points](fit_points) and [to labels](fit_labels), [trees of a forest learned](learned),
//! [weighted] and [fitted together](fit_together).

mod edges;
mod forest;
mod job;
mod method;
mod option;
mod options;
mod stages;
mod ultratwd;
mod weights;

pub(crate) use edges::fit_new_edges;
pub use edges::{EdgeOptions, FittedEdges, fit_labels, fit_points, fit_together};
pub use forest::learned;
pub use method::{Family, Method, Takes};
pub use option::{FitOption, Group, OptionType, OptionValue, UnreadOption};
pub use options::{FitOptions, Start};
pub use weights::{TreeWeightOptions, weighted};

use job::FitJob;

use crate::error::Result;
use crate::labelled::Labelled;
use crate::learn::Epoch;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::names::named;
use crate::progress::{Progress, silent};

/// A stage of `auto`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The start times one factor.
    Start,
    /// Edges fitted to the distances of points.
    Points,
    /// The learned tree.
    Learned,
    /// Edges fitted to the labels.
    Edges,
}

named! { Stage, "the stage", {
    Start: "start", "the start times one factor";
    Points: "points", "edges fitted to the distances of points";
    Learned: "learned", "the learned tree";
    Edges: "edges", "edges fitted to the labels";
} }

/// What [`fit()`] gives back.
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// The tree or the forest.
    pub model: Model,
    /// Of `auto`: the stage it is from.
    pub stage: Option<Stage>,
    /// Of `auto`: every stage done with its mean relative error on the labels held back (on all
    /// others where those are all 0), after one factor fitted to the others.
    pub stage_errors: Vec<(Stage, f64)>,
    /// The fit of every epoch, the start first; empty where nothing is learned, and for a forest.
    pub history: Vec<Epoch>,
    /// The epoch whose tree the learner has kept.
    pub best_epoch: usize,
    /// Whether all was done; false when `progress` stopped `auto` or one learned tree, which then
    /// give the best so far, and of one learned tree also when it ran out of patience or its
    /// heights ran away.
    pub finished: bool,
}

/// Makes a tree or a forest over the points of a metric, by the method that the options name.
///
/// With labels, methods learn from them or take their scale from them; without, methods that learn
/// learn the distances of the points themselves.
///
/// `progress` hears of every step, from any thread. When it asks to stop, `auto` and one learned
/// tree give back the best so far, once there is one, and everything else [`Error::Cancelled`](crate::Error::Cancelled).
///
/// A graph is prepared for questions of distances first ([`GroundMetric::prepare`]), unless the method
/// is single linkage.
///
/// # Errors
/// No labels where some are given, or labels on other points; options that are out of range or that
/// the method cannot use; a method that needs labels or coordinates without them;
/// [`Error::Cancelled`](crate::Error::Cancelled).
pub fn fit(
    metric: &GroundMetric,
    data: Option<&Labelled>,
    options: &FitOptions,
    progress: &Progress<'_>,
) -> Result<Fit> {
    options.check_for(metric, data.is_some())?;
    if let Some(data) = data {
        data.check_for(metric.points())?;
    }
    let method = options.method(data.is_some());
    // Single linkage looks at the edges of a graph alone.
    if method != Method::Single {
        metric.prepare(progress)?;
    }
    let mut fitted = method.build(&FitJob { metric, data, method, options, progress })?;
    if let Some(data) = data
        && options.scale
        && method.family() == Family::Compared
    {
        let predicted = fitted.model.pairs(data.measures(), data.pairs(), &silent)?;
        fitted.model = fitted.model.scaled(data.factor(&predicted))?;
    }
    Ok(fitted)
}
