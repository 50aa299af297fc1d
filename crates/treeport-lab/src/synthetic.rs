//! Every method on random points: \[CTW24\], the synthetic data sets, with its figures beside ours.
//!
//! 100 points, 200 labeled training pairs and 50 test pairs. The paper says "full-support
//! distributions"; the generator published by its authors spreads equal mass over a random subset.
//! Both are run, because they affect the figures more than most details of a method.

use rayon::prelude::*;
use treeport::build::quadtree;
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{GroundMetric, Labelled, Measures, Method, PointMetric, Score, flow, silent};

use crate::answers::{Answers, as_it_is, fit_whole};
use crate::generate::{
    Random, couples, gaussian_points, seeded, subset_measures, uniform_measures, uniform_points,
};

const POINTS: usize = 100;
const TRAINING_PAIRS: usize = 200;
const TEST_PAIRS: usize = 50;

/// Distribution of points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cloud {
    /// Uniform in [−10, 10]^d.
    Uniform,
    /// N(0, 1) along every axis.
    Gaussian,
}

impl Cloud {
    /// Name of its table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Uniform => "uniform",
            Self::Gaussian => "gaussian",
        }
    }
}

/// Distribution of masses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Masses {
    /// Independent uniform masses on all points.
    Full,
    /// Equal masses on a random subset of uniform size.
    Subset,
}

/// A row of the table: a method of the library, or a predictor without a tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The mean of the training labels for every pair.
    MeanLabel,
    /// One of [`Method::ALL`].
    Method(Method),
    /// The exact cost of a quadtree's plan.
    Flowtree,
    /// Sinkhorn with ε = 1 in the unit of the points, as in the paper.
    Sinkhorn,
}

impl Entry {
    /// Iterates over all rows, in the order of the table.
    pub fn all() -> impl Iterator<Item = Self> {
        let methods = Method::ALL.iter().copied().map(Self::Method);
        [Self::MeanLabel].into_iter().chain(methods).chain([Self::Flowtree, Self::Sinkhorn])
    }

    /// Name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::MeanLabel => "mean-label",
            Self::Method(method) => method.name(),
            Self::Flowtree => "flowtree",
            Self::Sinkhorn => "sinkhorn",
        }
    }

    /// Mean and standard deviation of the relative error in the paper.
    pub fn paper(self, cloud: Cloud, dim: usize) -> Option<(f64, f64)> {
        let mut lines = PAPER.lines().map(|line| line.split(','));
        let column = lines.next()?.position(|name| name.parse() == Ok(dim))?;
        let names = [cloud.name(), self.name()];
        let mut row = lines.find(|cells| cells.clone().take(2).eq(names))?;
        let (mean, std) = row.nth(column)?.split_once(" ± ")?;
        mean.parse().ok().zip(std.parse().ok())
    }
}

/// Scores of one method, over all runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MethodScores {
    /// The method.
    pub entry: Entry,
    /// Score without a factor.
    pub plain: Score,
    /// Score after one factor from the training labels.
    pub scaled: Score,
}

/// Runs every method on `runs` data sets of one kind; data set `r` depends only on `seed + r`.
///
/// # Errors
/// None for a dimension of at least 1.
pub fn compare(
    cloud: Cloud,
    masses: Masses,
    dim: usize,
    runs: u64,
    seed: u64,
) -> treeport::Result<Vec<MethodScores>> {
    let each = |r| Data::new(cloud, masses, dim, seed + r)?.run(seed + r);
    let done = (0..runs).into_par_iter().map(each).collect::<treeport::Result<Vec<_>>>()?;
    let all = |pick: &dyn Fn(&Run) -> &[f64]| -> Vec<f64> {
        done.iter().flat_map(|run| pick(run).iter().copied()).collect()
    };
    let exact = all(&|run| run.exact.as_slice());
    let pooled = |(at, entry): (usize, Entry)| {
        let plain = Score::new(&all(&|run| run.answers[at].plain.as_slice()), &exact);
        let scaled = Score::new(&all(&|run| run.answers[at].scaled.as_slice()), &exact);
        MethodScores { entry, plain, scaled }
    };
    Ok(Entry::all().enumerate().map(pooled).collect())
}

/// Predictions of every entry for the test pairs of one data set.
struct Run {
    exact: Vec<f64>,
    answers: Vec<Answers>,
}

struct Data {
    metric: GroundMetric,
    train: Labelled,
    test: Labelled,
}

impl Data {
    fn new(cloud: Cloud, masses: Masses, dim: usize, seed: u64) -> treeport::Result<Self> {
        let mut rng = seeded(seed);
        let points = match cloud {
            Cloud::Uniform => uniform_points(POINTS, dim, -10.0, 10.0, &mut rng),
            Cloud::Gaussian => gaussian_points(POINTS, dim, &mut rng),
        };
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean)?;
        let count = TRAINING_PAIRS + TEST_PAIRS;
        let measures = spread(masses, 2 * count, &mut rng)?;
        let all = Labelled::solve(&metric, &measures, couples(count), &silent)?;
        let (train, test) = all.split_at(TRAINING_PAIRS);
        Ok(Self { metric, train, test })
    }

    fn run(&self, seed: u64) -> treeport::Result<Run> {
        let answers = Entry::all().map(|entry| self.answers(entry, seed));
        let answers = answers.collect::<treeport::Result<_>>()?;
        Ok(Run { exact: self.test.distances().to_vec(), answers })
    }

    fn answers(&self, entry: Entry, seed: u64) -> treeport::Result<Answers> {
        let Self { metric, train, test } = self;
        match entry {
            Entry::MeanLabel => Ok(Answers::of_mean_label((train, test))),
            Entry::Flowtree => {
                let tree = quadtree(metric, seed)?;
                let of = |data: &Labelled| {
                    flow::pairs(&tree, metric, data.measures(), data.pairs(), &silent)
                };
                Answers::of((train, test), of)
            }
            Entry::Method(method) => {
                let model = fit_whole(metric, train, &as_it_is(method, seed), &silent)?.model;
                Answers::of_model(&model, (train, test), &silent)
            }
            Entry::Sinkhorn => {
                let options = SinkhornOptions {
                    epsilon: Epsilon::Absolute(1.0),
                    tolerance: 1e-6,
                    ..SinkhornOptions::default()
                };
                let of = |data: &Labelled| {
                    sinkhorn::pairs(metric, data.measures(), data.pairs(), &options, &silent)
                };
                Answers::of((train, test), of)
            }
        }
    }
}

fn spread(masses: Masses, count: usize, rng: &mut Random) -> treeport::Result<Measures> {
    match masses {
        Masses::Full => uniform_measures(POINTS, count, rng),
        Masses::Subset => subset_measures(POINTS, count, rng),
    }
}

/// Dimensions in the paper.
pub const DIMS: [usize; 6] = [2, 5, 8, 11, 14, 17];

/// The paper's tables for both kinds of points: mean ± standard deviation, by method and dimension.
const PAPER: &str = include_str!("synthetic.csv");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_of_the_paper_are_read_by_row_and_column() {
        let of = Entry::Method;
        let ours = of(Method::Ultrametric);
        assert_eq!(ours.paper(Cloud::Uniform, 2), Some((0.104, 0.074)));
        assert_eq!(Entry::Sinkhorn.paper(Cloud::Gaussian, 17), Some((0.707, 0.151)));
        assert_eq!(of(Method::QTwd).paper(Cloud::Uniform, 11), Some((0.267, 0.031)));
        assert_eq!(ours.paper(Cloud::Uniform, 3), None);
        assert_eq!(of(Method::Additive).paper(Cloud::Uniform, 2), None);
        let figures = |cloud| {
            let all = Entry::all().flat_map(|entry| DIMS.map(|dim| entry.paper(cloud, dim)));
            all.flatten().count()
        };
        assert_eq!([Cloud::Uniform, Cloud::Gaussian].map(figures), [8 * DIMS.len(); 2]);
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
