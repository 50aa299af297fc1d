//! Every method on random points: \[CTW24\], the synthetic data sets.
//!
//! 100 points, 200 labeled training pairs and 50 test pairs. The paper says "full-support
//! distributions"; the generator published by its authors spreads equal mass over a random subset.
//! Both are run, because they affect the figures more than most details of a method.

use rayon::prelude::*;
use serde_json::json;
use treeport::build::quadtree;
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{GroundMetric, Labeled, Method, PointMetric, Progress, Score, flow, silent};

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures, paper, score};
use crate::Result;
use crate::answers::{Answers, as_it_is, fit_whole};
use crate::generate::{couples, gaussian_points, seeded, uniform_points};
use crate::scene::Masses;

pub(super) const UNIFORM: Experiment = Experiment {
    name: "uniform",
    about: "every method on 100 uniform points of [-10, 10]^d",
    cells: |setup| cells(setup, "uniform"),
    tables: &[Table {
        split: &["dim", "runs", "seed"],
        line: &["method"],
        across: Some("masses"),
        show: &[
            ("paper", Column::Spread("paper")),
            ("error", Column::Spread("error")),
            ("times one factor", Column::Spread("scaled")),
        ],
    }],
    figures: no_figures,
    words: "100 points, 200 training and 50 test pairs, several data sets judged together. `full` has random masses on \
all points, as the paper says; `subset` has equal masses on a random subset, as its published code does. Compare \
the errors after one factor, also with the null baseline `total-variation`. Sinkhorn is no tree: `runtime` has its cost.",
};

pub(super) const GAUSSIAN: Experiment = Experiment {
    name: "gaussian",
    about: "every method on 100 Gaussian points",
    cells: |setup| cells(setup, "gaussian"),
    words: "As `uniform`, with points from N(0, 1) along every axis. λ = 1 is then large beside the distances, and \
Sinkhorn's plain error with it.",
    ..UNIFORM
};

const POINTS: usize = 100;
const TRAINING_PAIRS: usize = 200;
const TEST_PAIRS: usize = 50;

/// Number of dimensions in a quick run.
const QUICK_DIMS: usize = 2;

fn cells<'a>(setup: &'a Setup, points: &'static str) -> Vec<Cell<'a>> {
    let (most, runs) = if setup.quick { (QUICK_DIMS, 1) } else { (usize::MAX, setup.runs) };
    let mut cells = Vec::new();
    for &dim in setup.dims.iter().take(most) {
        for (masses, name) in [(Masses::Full, "full"), (Masses::Subset, "subset")] {
            let work = move |_: &Progress<'_>| {
                let complete = |mut row: Row| {
                    row["masses"] = name.into();
                    row
                };
                let rows = compare(points, masses, dim, runs as u64, setup.seed)?;
                Ok(rows.into_iter().map(complete).collect())
            };
            cells.push(Cell::new(format!("dim {dim} {name} {runs}"), work));
        }
    }
    cells
}

/// Names the rows of the table: the mean label, every method, and two that are no models.
fn names() -> Vec<&'static str> {
    let methods = Method::ALL.iter().map(|method| method.name());
    ["mean-label"].into_iter().chain(methods).chain(["flowtree", "sinkhorn"]).collect()
}

/// Runs every method on `runs` data sets, scored together; set `r` has the seed `seed + r`.
fn compare(points: &str, masses: Masses, dim: usize, runs: u64, seed: u64) -> Result<Vec<Row>> {
    let each = |r| Data::new(points, masses, dim, seed + r)?.run(seed + r);
    let done: Vec<(Vec<f64>, Vec<Answers>)> =
        (0..runs).into_par_iter().map(each).collect::<treeport::Result<_>>()?;
    let exact: Vec<f64> = done.iter().flat_map(|run| run.0.clone()).collect();
    let row = |(at, method): (usize, &str)| {
        let pooled = |part: fn(&Answers) -> &Vec<f64>| {
            let found: Vec<f64> = done.iter().flat_map(|run| part(&run.1[at])).copied().collect();
            score(&Score::new(&found, &exact))
        };
        json!({
            "experiment": points, "dim": dim, "method": method,
            "paper": paper::spread(points, method, &dim.to_string()),
            "error": pooled(|answers| &answers.plain), "scaled": pooled(|answers| &answers.scaled),
            "runs": runs, "seed": seed,
        })
    };
    Ok(names().into_iter().enumerate().map(row).collect())
}

struct Data {
    metric: GroundMetric,
    train: Labeled,
    test: Labeled,
}

impl Data {
    fn new(points: &str, masses: Masses, dim: usize, seed: u64) -> treeport::Result<Self> {
        let mut rng = seeded(seed);
        let points = match points {
            "uniform" => uniform_points(POINTS, dim, -10.0, 10.0, &mut rng),
            _ => gaussian_points(POINTS, dim, &mut rng),
        };
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean)?;
        let count = TRAINING_PAIRS + TEST_PAIRS;
        let measures = masses.draw(POINTS, 2 * count, &mut rng)?;
        let all = Labeled::solve(&metric, &measures, couples(count), &silent)?;
        let (train, test) = all.split_at(TRAINING_PAIRS);
        Ok(Self { metric, train, test })
    }

    /// Returns exact distances of the test pairs, and the predictions of every method.
    fn run(&self, seed: u64) -> treeport::Result<(Vec<f64>, Vec<Answers>)> {
        let answers = names().into_iter().map(|name| self.answers(name, seed));
        Ok((self.test.distances().to_vec(), answers.collect::<treeport::Result<_>>()?))
    }

    fn answers(&self, name: &str, seed: u64) -> treeport::Result<Answers> {
        let Self { metric, train, test } = self;
        match name {
            "mean-label" => Ok(Answers::of_mean_label((train, test))),
            "flowtree" => {
                let tree = quadtree(metric, seed)?;
                Answers::of((train, test), |data| {
                    flow::pairs(&tree, metric, data.measures(), data.pairs(), &silent)
                })
            }
            "sinkhorn" => {
                // ε = 1 in the unit of the points, as in the paper.
                let options = SinkhornOptions {
                    epsilon: Epsilon::Absolute(1.0),
                    tolerance: 1e-6,
                    ..SinkhornOptions::default()
                };
                Answers::of((train, test), |data| {
                    sinkhorn::pairs(metric, data.measures(), data.pairs(), &options, &silent)
                })
            }
            method => {
                let options = as_it_is(method.parse()?, seed);
                let model = fit_whole(metric, train, &options, &silent)?.model;
                Answers::of_model(&model, (train, test), &silent)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn learning_beats_what_knows_nothing_and_flow_is_an_upper_bound() {
        for masses in [Masses::Full, Masses::Subset] {
            let found = compare("uniform", masses, 2, 1, 7).expect("a comparison");
            let of = |name: &str, part: &str| {
                let row = found.iter().find(|row| row["method"] == name).expect("a row");
                row[part]["mean"].as_f64().expect("a number")
            };
            assert!(of("additive", "scaled") < of("total-variation", "scaled"));
            assert!(of("additive", "scaled") < of("single", "scaled"));
            assert!(of("total-variation", "scaled") < of("mean-label", "scaled") + 0.05);
            assert!(of("flowtree", "scaled") < of("quadtree", "error"));
            for row in &found {
                let counts = ["pairs", "left_out"].map(|key| row["error"][key].as_u64());
                assert_eq!(counts[0].zip(counts[1]).map(|(a, b)| a + b), Some(TEST_PAIRS as u64));
            }
        }
    }
}
