//! One entry point to all methods of building a tree or a forest: [`fit()`].
//!
//! ```
//! use treeport::{FitOptions, GroundMetric, Labeled, Measures, Method, PointMetric, fit, silent};
//!
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0, 6.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
//! let data = Labeled::sample(&metric, &measures, 300, 0, &silent)?;
//! for name in ["auto", "quadtree", "ctwd", "sliced-ctwd", "forest", "total-variation"] {
//!     let fitted = fit(&metric, Some(&data), &FitOptions::of(name.parse()?), &silent)?;
//!     let distance = fitted.model.distance(&measures.row(0), &measures.row(1))?;
//!     assert!((distance - 5.0).abs() < 1e-6);
//! }
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! # Methods
//! [`Method::table`] lists them with a line each. `auto` is the recommended method, `tree`
//! if it has to be one tree; the others are for comparison. [`FitOption::ALL`] has the options.
//! All randomness comes from [`FitOptions::seed`], and any number of threads gives the same bits.
//!
//! The building blocks are public as well: the learner ([`learn`](crate::learn())), [edges fitted
//! to points](fit_points) and [to labels](fit_labels), and forests whose trees are [learned],
//! [weighted] and [fitted together](fit_together).

#![expect(clippy::missing_errors_doc, reason = "errors name the wrong number and its place")]

mod edges;
mod forecast;
mod forest;
mod job;
mod method;
mod option;
mod options;
mod slices;
mod stages;
mod ultratwd;
mod weights;

pub(crate) use edges::fit_new_edges;
pub use edges::{EdgeOptions, FittedEdges, fit_labels, fit_points, fit_together};
pub use forecast::FitForecast;
pub use forest::learned;
#[allow(deprecated, reason = "a former name")]
#[doc(hidden)]
pub use method::Takes;
pub use method::{Family, Method, Supports};
pub use option::{FitOption, Group, OptionType, OptionValue, UnreadOption};
pub use options::{FitOptions, Start};
pub(crate) use weights::family_weights;
pub use weights::{TreeWeightOptions, weighted};

use job::FitJob;

use crate::error::Result;
use crate::labeled::Labeled;
use crate::learn::Epoch;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::names::named;
use crate::progress::{Progress, silent};

/// Stages of `auto` and `tree`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The start, scaled by one factor.
    Start,
    /// Edges fitted to the distances of points.
    Points,
    /// The learned tree.
    Learned,
    /// Edges fitted to the labels.
    Edges,
    /// Slices and levels in place of the tree ([`Method::Slices`]).
    Slices,
}

named! { Stage, "the stage", {
    Start: "start", "the start times one factor";
    Points: "points", "edges fitted to the distances of points";
    Learned: "learned", "the learned tree";
    Edges: "edges", "edges fitted to the labels";
    Slices: "slices", "slices and levels in place of the tree";
} }

/// Result of [`fit()`].
#[derive(Clone, Debug, PartialEq)]
pub struct Fit {
    /// Fitted tree or forest.
    pub model: Model,
    /// Stage of `auto` or `tree` that the model comes from.
    pub stage: Option<Stage>,
    /// Stages of `auto` or `tree` with their mean relative error on the held-out labels (on all others if
    /// those are all 0), after scaling by one factor fitted to the others.
    pub stage_errors: Vec<(Stage, f64)>,
    /// Error of every epoch, the start first; empty if nothing is learned, and for a forest.
    pub history: Vec<Epoch>,
    /// Epoch of the tree that the learner kept.
    pub best_epoch: usize,
    /// Whether the fit ran to its end. False if `progress` canceled `auto` or one learned tree,
    /// which then return the best tree so far; for one learned tree also if it ran out of patience
    /// or its heights diverged.
    pub finished: bool,
}

/// Builds a tree or a forest over the points of a metric by the method in the options.
///
/// With labels, methods learn from them or take their scale from them; without, methods that learn
/// use the distances of the points.
///
/// `progress` is called at every step, from any thread. If it cancels, `auto`, `tree` and one learned tree
/// return the best tree so far, once there is one; everything else returns
/// [`Error::Canceled`](crate::Error::Canceled).
///
/// A graph is first prepared for distance queries ([`GroundMetric::prepare`]), unless the method is
/// single linkage.
///
/// # Errors
/// An empty set of labels, or labels on other points; options that are out of range or unused by
/// the method; missing labels or coordinates that the method requires;
/// [`Error::Canceled`](crate::Error::Canceled).
pub fn fit(
    metric: &GroundMetric,
    data: Option<&Labeled>,
    options: &FitOptions,
    progress: &Progress<'_>,
) -> Result<Fit> {
    options.check_for(metric, data.is_some())?;
    if let Some(data) = data {
        data.check_for(metric.points())?;
    }
    let method = options.method(data.is_some());
    // Single linkage uses the edges of a graph alone.
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
