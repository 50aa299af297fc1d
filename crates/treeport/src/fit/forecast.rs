//! Estimate of the time of a fit from sizes alone, before it begins.
//!
//! The constants are estimates. Seven fits to 200 to 400 labels were compared with their forecasts:
//! 312 to 5,000 points in 2 to 384 dimensions, supports of 10 to 200. The processor time divided by
//! the number of threads was 0.14 times the forecast (`auto` on 312 points) to 1.9 times (`forest`
//! on 500 points), in the median 0.4 times. A learned forest on 20,000 points was not among them.

use std::fmt;

use super::method::Method;
use super::options::{FitOptions, Start};
use crate::build::Linkage;
use crate::labeled::Labeled;
use crate::metric::GroundMetric;
use crate::solve::{Aim, Forecast, Problems, show_time};

/// Time of a fit, beside that of solving all pairs of its measures exactly.
///
/// Its text is a sentence: `the fit takes about 5 minutes, and solving all 1770 pairs exactly takes
/// about 4 minutes`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct FitForecast {
    /// The fit, with its labels.
    pub fit: Forecast,
    /// Number of pairs of measures.
    pub pairs: usize,
    /// Seconds to solve all of them.
    pub exact_seconds: f64,
}

impl FitForecast {
    /// Returns whether the fit takes noticeable time, and more than solving all pairs.
    pub fn costs_more_than_solving(&self) -> bool {
        self.fit.is_long() && self.fit.seconds > self.exact_seconds
    }
}

impl fmt::Display for FitForecast {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (fit, exact) = (show_time(self.fit.seconds), show_time(self.exact_seconds));
        let pairs = self.pairs;
        write!(
            f,
            "the fit takes about {fit}, and solving all {pairs} pairs exactly takes about {exact}"
        )
    }
}

impl FitOptions {
    /// Estimates the time of a fit to these labels, and of solving all pairs of their measures.
    ///
    /// `label_seconds` is the time that solving the labels took, from which that of all pairs
    /// follows; without it, both are estimated.
    ///
    /// # Example
    /// ```
    /// use treeport::{FitOptions, GroundMetric, Labeled, Measures, Method, PointMetric, silent};
    /// let points = (0..2_000).map(f64::from).collect();
    /// let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(1_000, 0..20)?;
    /// let labels = Labeled::sample(&metric, &measures, 50, 0, &silent)?;
    /// let forecast = FitOptions::of(Method::Auto).forecast(&metric, &labels, None);
    /// assert!(forecast.fit.seconds > 0.01 && forecast.pairs == 190);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn forecast(
        &self,
        metric: &GroundMetric,
        data: &Labeled,
        label_seconds: Option<f64>,
    ) -> FitForecast {
        let measures = data.measures();
        let solving = label_seconds.unwrap_or_else(|| {
            Problems::new(metric, measures, data.pairs()).forecast(&Aim::value()).seconds
        });
        let pairs = measures.len() * measures.len().saturating_sub(1) / 2;
        let exact_seconds = solving * pairs as f64 / data.len().max(1) as f64;
        let seconds = solving + Sizes::of(self, metric, data).seconds();
        FitForecast { fit: Forecast { seconds, ..Forecast::default() }, pairs, exact_seconds }
    }
}

/// Sizes that determine the time of a fit.
struct Sizes {
    method: Method,
    points: f64,
    /// Coordinates of a point; for a matrix or graph, the number with which a distance takes as
    /// long.
    dim: f64,
    labels: f64,
    /// Points of both measures of a pair.
    support: f64,
    /// Passes over the labels, and labels in each step.
    epochs: f64,
    batch: f64,
    trees: f64,
    /// Pairs of points to which edges are fitted.
    point_pairs: f64,
    /// Whether the linkage computes the distances of all pairs of points.
    is_dense: bool,
    threads: f64,
}

/// Seconds of a linkage of all pairs, per pair of points, without their coordinates.
const LINKED_PAIR: f64 = 5e-9;
/// Seconds of a linkage, per pair of points and per coordinate.
const COORDINATE: f64 = 1.5e-10;
/// Seconds of neighbors linkage, per point, without comparisons.
const NEIGHBORS_POINT: f64 = 5e-5;
/// Largest number of points of which neighbors linkage compares all pairs.
const MOST_COMPARED: f64 = 20_000.0;
/// Seconds of a step of learning, per point.
const LEARNED_POINT: f64 = 1.6e-7;
/// Seconds of a step of learning, per point of a label.
const LABEL_POINT: f64 = 2e-7;
/// Seconds of an iteration of an edge fit, per pair of points and per level of the tree.
const EDGE: f64 = 2e-9;
/// Iterations of edge fits, over all shrinkages that are tried.
const ITERATIONS: f64 = 100.0;

impl Sizes {
    fn of(options: &FitOptions, metric: &GroundMetric, data: &Labeled) -> Self {
        let (method, points) = (options.method(true), metric.points());
        let learn = options.learn_options(method, true);
        let forest = matches!(method, Method::Forest | Method::LearnedForest);
        let linkage = match options.start {
            Some(Start::Linkage(linkage)) => linkage,
            Some(Start::Tree(_)) => Linkage::Neighbors,
            None if forest => Linkage::usual_of_forest(points),
            None => Linkage::usual(points),
        };
        let epochs = match options.epochs {
            None if method.has_stages() => super::job::usual_epochs(data.len(), points),
            _ => learn.epochs,
        };
        Self {
            method,
            points: points as f64,
            dim: metric.coordinates().map_or(1.0, |(dim, _)| dim as f64),
            labels: data.len() as f64,
            support: 2.0 * data.measures().entries() as f64 / data.measures().len().max(1) as f64,
            epochs: epochs as f64,
            batch: learn.batch_size.max(1) as f64,
            trees: if method.supports().n_trees { options.slices(method) as f64 } else { 1.0 },
            point_pairs: options.edge_options(method).pairs as f64,
            is_dense: linkage != Linkage::Neighbors,
            threads: rayon::current_num_threads() as f64,
        }
    }

    /// Returns the seconds of the whole fit.
    fn seconds(&self) -> f64 {
        let threads = self.threads.min(self.trees);
        match self.method {
            Method::Auto => self.tree() + self.slices(),
            Method::Tree => self.tree(),
            Method::Additive | Method::Ultrametric | Method::SkipMst => {
                self.linkage(self.is_dense) + self.learning()
            }
            Method::Forest => self.trees * self.linkage(self.is_dense) / threads,
            Method::LearnedForest => {
                let edges = self.fitted_edges(self.point_pairs);
                let tree = self.linkage(self.is_dense) + self.learning() + edges;
                self.trees * (tree + 2.0 * self.fitted_edges(self.labels * self.support)) / threads
            }
            Method::Slices => self.slices(),
            // Single trees of methods for comparison.
            _ => self.linkage(self.is_dense).min(self.linkage(false)) * self.trees,
        }
    }

    fn linkage(&self, is_dense: bool) -> f64 {
        let pairs = self.points * self.points.min(MOST_COMPARED);
        if is_dense {
            return pairs * (LINKED_PAIR + self.dim * COORDINATE);
        }
        pairs * self.dim * COORDINATE + self.points * NEIGHBORS_POINT
    }

    fn learning(&self) -> f64 {
        let steps = self.epochs * (self.labels / self.batch).ceil();
        let labels = self.epochs * self.labels * self.support * LABEL_POINT;
        steps * self.points * LEARNED_POINT + labels
    }

    /// Returns the seconds of fitting edges to pairs of points, or to points of labels.
    fn fitted_edges(&self, pairs: f64) -> f64 {
        ITERATIONS * pairs * self.points.max(2.0).log2() * EDGE
    }

    fn tree(&self) -> f64 {
        let edges = self.fitted_edges(self.point_pairs + 4.0 * self.labels * self.support);
        self.linkage(self.is_dense) + self.learning() + edges
    }

    fn slices(&self) -> f64 {
        let is_dense = self.points <= Linkage::MOST_FOR_AVERAGE_FOREST as f64;
        2.0 * self.linkage(is_dense) + 6.0 * self.fitted_edges(self.labels * self.support)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measures::Measures;
    use crate::metric::PointMetric;
    use crate::progress::silent;

    fn seconds(method: Method, points: usize, labels: usize) -> f64 {
        let coordinates = (0..2 * points).map(|k| (k * 7919 % 10_007) as f64).collect();
        let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
        let measures = Measures::unit_masses(points, 0..60).unwrap();
        let data = Labeled::sample(&metric, &measures, labels, 0, &silent).unwrap();
        FitOptions::of(method).forecast(&metric, &data, None).fit.seconds
    }

    #[test]
    fn a_forecast_grows_with_the_work() {
        let fit = |method| seconds(method, 1_000, 300);
        assert!(fit(Method::LearnedForest) > fit(Method::Forest));
        assert!(fit(Method::Auto) > fit(Method::Tree));
        for &method in Method::ALL {
            assert!(seconds(method, 4_000, 300) > fit(method), "{method}");
            assert!(fit(method) >= seconds(method, 1_000, 30), "{method}");
        }
    }

    #[test]
    fn all_pairs_follow_from_the_time_of_the_labels() {
        let metric =
            GroundMetric::from_points(1, vec![0.0, 1.0, 2.0], PointMetric::Euclidean).unwrap();
        let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
        let data = Labeled::sample(&metric, &measures, 2, 0, &silent).unwrap();
        let forecast = FitOptions::of(Method::Auto).forecast(&metric, &data, Some(4.0));
        assert_eq!((forecast.pairs, forecast.exact_seconds), (3, 6.0));
        assert!(!forecast.costs_more_than_solving());
        let forecast = FitOptions::of(Method::Auto).forecast(&metric, &data, Some(400.0));
        assert!(forecast.fit.seconds >= 400.0 && !forecast.costs_more_than_solving());
        let costly = FitForecast { exact_seconds: 240.0, pairs: 1770, ..forecast };
        assert!(costly.costs_more_than_solving());
        assert_eq!(
            costly.to_string(),
            "the fit takes about 7 minutes, and solving all 1770 pairs exactly takes about 4 minutes"
        );
    }
}
