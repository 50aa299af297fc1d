//! Random points and every method: \[CTW24\], the synthetic data sets, with its figures beside ours.
//!
//! 100 points, 200 labelled pairs to learn from and 50 to be judged on. The paper says "full-support
//! distributions"; the generator its authors published spreads equal mass over a random subset. Both are run:
//! a method's figure depends on which it is more than on most details of the method.

use rayon::prelude::*;
use treeport::baseline::{BaselineOptions, Method, Training};
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{GroundMetric, Labels, Measures, Norm, exact, silent};
use treeport_report::score::{Score, median_ratio};

use crate::generate::{
    Random, gaussian_points, seeded, subset_measures, uniform_measures, uniform_points,
};

const POINTS: usize = 100;
const TRAINING_PAIRS: usize = 200;
const TEST_PAIRS: usize = 50;

/// Where points come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Uniform in [−10, 10]^d.
    Uniform,
    /// N(0, 1) along every axis.
    Gaussian,
}

/// How mass is spread over them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masses {
    /// Independent uniform masses on all points.
    Full,
    /// Equal masses on a random subset, whose size is uniform too.
    Subset,
}

/// A row of the table: a method of the library, or entropic transport, which is no tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// One of [`Method::ALL`].
    Method(Method),
    /// Sinkhorn with ε = 1 in the unit of the points, as in the paper.
    Sinkhorn,
}

impl Entry {
    /// All rows, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        Method::ALL.into_iter().map(Self::Method).chain([Self::Sinkhorn])
    }

    /// The name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Method(method) => method.name(),
            Self::Sinkhorn => "sinkhorn",
        }
    }

    /// Mean and standard deviation of the relative error in the paper.
    pub fn paper(self, cloud: Cloud, dim: usize) -> Option<(f64, f64)> {
        let column = DIMS.iter().position(|&d| d == dim)?;
        let table = match cloud {
            Cloud::Uniform => &UNIFORM,
            Cloud::Gaussian => &GAUSSIAN,
        };
        let (_, mean, std) = table.iter().find(|row| row.0 == self)?;
        Some((mean[column], std[column]))
    }
}

/// How one method did, over all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Which method.
    pub entry: Entry,
    /// As it is.
    pub plain: Score,
    /// After one factor from the training labels.
    pub scaled: Score,
}

/// Runs every method on `runs` data sets of one kind; data set `r` depends on `seed + r` alone.
///
/// # Errors
/// None for a dimension of at least 1.
pub fn compare(
    cloud: Cloud,
    masses: Masses,
    dim: usize,
    runs: u64,
    seed: u64,
) -> treeport::Result<Vec<Outcome>> {
    let each = |r| Data::new(cloud, masses, dim, seed + r)?.run(seed + r);
    let done = (0..runs).into_par_iter().map(each).collect::<treeport::Result<Vec<_>>>()?;
    let pooled = |(at, entry): (usize, Entry)| {
        // Every run in units of its own diameter, so that pairs of all runs can be judged together.
        let gather = |pick: fn(&Answers) -> &Vec<f64>| -> Vec<f64> {
            done.iter().flat_map(|run| pick(&run[at])).copied().collect()
        };
        let exact = gather(|a| &a.exact);
        let plain = Score::new(&gather(|a| &a.plain), &exact, 1.0);
        Outcome { entry, plain, scaled: Score::new(&gather(|a| &a.scaled), &exact, 1.0) }
    };
    Ok(Entry::all().enumerate().map(pooled).collect())
}

/// Predictions for the test pairs of one run, in units of the diameter.
struct Answers {
    exact: Vec<f64>,
    plain: Vec<f64>,
    scaled: Vec<f64>,
}

struct Data {
    metric: GroundMetric,
    measures: Measures,
    train: Labels,
    test: Labels,
    diameter: f64,
}

impl Data {
    fn new(cloud: Cloud, masses: Masses, dim: usize, seed: u64) -> treeport::Result<Self> {
        let mut rng = seeded(seed);
        let points = match cloud {
            Cloud::Uniform => uniform_points(POINTS, dim, -10.0, 10.0, &mut rng),
            Cloud::Gaussian => gaussian_points(POINTS, dim, &mut rng),
        };
        let metric = GroundMetric::from_points(dim, points, Norm::Euclidean)?;
        let count = 2 * (TRAINING_PAIRS + TEST_PAIRS);
        let measures = spread(masses, count, &mut rng)?;
        let pairs: Vec<(usize, usize)> = (0..count / 2).map(|k| (2 * k, 2 * k + 1)).collect();
        let distances = exact::pairs(&metric, &measures, &pairs, &silent)?;
        let part = |range: std::ops::Range<usize>| Labels {
            pairs: pairs[range.clone()].to_vec(),
            distances: distances[range].to_vec(),
        };
        let (train, test) = (part(0..TRAINING_PAIRS), part(TRAINING_PAIRS..count / 2));
        let diameter = metric.condensed().into_iter().fold(0.0, f64::max);
        Ok(Self { metric, measures, train, test, diameter })
    }

    fn run(&self, seed: u64) -> treeport::Result<Vec<Answers>> {
        Entry::all().map(|entry| self.answers(entry, seed)).collect()
    }

    fn answers(&self, entry: Entry, seed: u64) -> treeport::Result<Answers> {
        let (predicted, factor) = match entry {
            Entry::Method(method) => {
                let training = Training { measures: &self.measures, labels: &self.train };
                let options = BaselineOptions { seed, ..BaselineOptions::default() };
                let model = method.build(&self.metric, Some(training), &options, &silent)?;
                let predicted =
                    model.pairs(&self.metric, &self.measures, &self.test.pairs, &silent)?;
                (predicted, model.factor(&self.metric, training)?)
            }
            Entry::Sinkhorn => {
                let options = SinkhornOptions {
                    epsilon: Epsilon::Absolute(1.0),
                    tolerance: 1e-6,
                    ..SinkhornOptions::default()
                };
                let answer = |labels: &Labels| {
                    sinkhorn::pairs(&self.metric, &self.measures, &labels.pairs, &options, &silent)
                };
                let factor = median_ratio(&self.train.distances, &answer(&self.train)?);
                (answer(&self.test)?, factor)
            }
        };
        let share = |values: &[f64], factor: f64| {
            values.iter().map(|d| factor * d / self.diameter).collect()
        };
        Ok(Answers {
            exact: share(&self.test.distances, 1.0),
            plain: share(&predicted, 1.0),
            scaled: share(&predicted, factor),
        })
    }
}

fn spread(masses: Masses, count: usize, rng: &mut Random) -> treeport::Result<Measures> {
    match masses {
        Masses::Full => uniform_measures(POINTS, count, rng),
        Masses::Subset => subset_measures(POINTS, count, rng),
    }
}

/// The dimensions of the paper.
pub const DIMS: [usize; 6] = [2, 5, 8, 11, 14, 17];

/// Means and standard deviations, by dimension.
type PaperRow = (Entry, [f64; 6], [f64; 6]);

const fn of(method: Method) -> Entry {
    Entry::Method(method)
}

/// The paper's table for uniform points.
const UNIFORM: [PaperRow; 8] = [
    (
        of(Method::Ultrametric),
        [0.104, 0.029, 0.016, 0.015, 0.012, 0.011],
        [0.074, 0.023, 0.013, 0.011, 0.009, 0.007],
    ),
    (
        of(Method::Flowtree),
        [0.522, 0.559, 0.472, 0.430, 0.378, 0.348],
        [0.145, 0.067, 0.053, 0.039, 0.030, 0.029],
    ),
    (
        of(Method::Quadtree),
        [5.336, 2.981, 1.852, 1.310, 0.823, 0.624],
        [1.046, 0.275, 0.158, 0.093, 0.036, 0.036],
    ),
    (
        of(Method::QTwd),
        [0.557, 0.371, 0.297, 0.267, 0.220, 0.219],
        [0.163, 0.056, 0.037, 0.031, 0.022, 0.020],
    ),
    (
        of(Method::CTwd),
        [0.563, 0.371, 0.297, 0.267, 0.221, 0.219],
        [0.177, 0.056, 0.037, 0.032, 0.022, 0.020],
    ),
    (
        of(Method::SlicedQTwd),
        [0.567, 0.387, 0.288, 0.260, 0.218, 0.206],
        [0.132, 0.043, 0.026, 0.022, 0.016, 0.014],
    ),
    (
        of(Method::SlicedCTwd),
        [0.564, 0.387, 0.288, 0.261, 0.219, 0.206],
        [0.138, 0.043, 0.026, 0.022, 0.016, 0.015],
    ),
    (
        Entry::Sinkhorn,
        [0.587, 0.071, 0.063, 0.074, 0.068, 0.076],
        [0.257, 0.053, 0.046, 0.062, 0.049, 0.057],
    ),
];

/// The paper's table for Gaussian points.
const GAUSSIAN: [PaperRow; 8] = [
    (
        of(Method::Ultrametric),
        [0.109, 0.031, 0.018, 0.015, 0.016, 0.012],
        [0.083, 0.023, 0.013, 0.012, 0.012, 0.009],
    ),
    (
        of(Method::Flowtree),
        [0.570, 0.462, 0.406, 0.347, 0.334, 0.298],
        [0.169, 0.068, 0.037, 0.035, 0.028, 0.024],
    ),
    (
        of(Method::Quadtree),
        [5.334, 3.217, 2.405, 3.160, 2.555, 2.024],
        [1.263, 0.462, 0.363, 0.283, 0.184, 0.158],
    ),
    (
        of(Method::QTwd),
        [0.585, 0.358, 0.297, 0.245, 0.214, 0.188],
        [0.127, 0.036, 0.025, 0.018, 0.015, 0.011],
    ),
    (
        of(Method::CTwd),
        [0.607, 0.358, 0.297, 0.245, 0.213, 0.188],
        [0.120, 0.036, 0.025, 0.019, 0.016, 0.011],
    ),
    (
        of(Method::SlicedQTwd),
        [0.604, 0.358, 0.297, 0.245, 0.213, 0.188],
        [0.125, 0.036, 0.025, 0.018, 0.015, 0.011],
    ),
    (
        of(Method::SlicedCTwd),
        [0.555, 0.350, 0.297, 0.246, 0.213, 0.188],
        [0.134, 0.036, 0.025, 0.018, 0.016, 0.011],
    ),
    (
        Entry::Sinkhorn,
        [4.881, 2.633, 1.952, 1.432, 0.967, 0.707],
        [1.036, 0.325, 0.276, 0.197, 0.152, 0.151],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_paper_are_read_by_row_and_column() {
        let ours = Entry::Method(Method::Ultrametric);
        assert_eq!(ours.paper(Cloud::Uniform, 2), Some((0.104, 0.074)));
        assert_eq!(Entry::Sinkhorn.paper(Cloud::Gaussian, 17), Some((0.707, 0.151)));
        assert_eq!(of(Method::QTwd).paper(Cloud::Uniform, 11), Some((0.267, 0.031)));
        assert_eq!(ours.paper(Cloud::Uniform, 3), None);
        assert_eq!(of(Method::Additive).paper(Cloud::Uniform, 2), None);
    }

    #[test]
    fn learning_beats_what_knows_nothing_and_flow_is_an_upper_bound() {
        for masses in [Masses::Full, Masses::Subset] {
            let found = compare(Cloud::Uniform, masses, 2, 1, 7).expect("a comparison");
            let of = |name| found.iter().find(|o| o.entry.name() == name).expect("a row");
            assert!(of("additive").scaled.mean < of("total-variation").scaled.mean);
            assert!(of("additive").scaled.mean < of("single").scaled.mean);
            assert!(of("total-variation").scaled.mean < of("mean-label").scaled.mean + 0.05);
            assert!(of("flowtree").scaled.mean < of("quadtree").plain.mean);
            assert!(of("average").plain.pairs + of("average").plain.left_out == TEST_PAIRS);
        }
    }
}
