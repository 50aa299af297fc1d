//! The experiments of \[CTW24\], with its figures beside ours.
//!
//! An [`Experiment`] is a list of [`Cell`]s, each of which computes JSON rows independently; the
//! experiment's [`Table`]s format these rows for the terminal and the report. Nothing here prints
//! or writes: a cell can be run, its rows stored, and the next one run a week later.

mod clouds;
mod convergence;
mod dial;
mod noisy_trees;
mod paper;
mod real;
mod recovered_tree;
mod report;
mod runtime;
mod sparsity;
mod starts;
mod summary;
mod synthetic;
mod table;
mod training_size;
mod training_time;

use std::path::PathBuf;

use serde_json::{Value, json};
use treeport::{Progress, Score};
use treeport_report::Place;
use treeport_report::line_chart::{Axes, line_svg};

use crate::Result;
use crate::datasets::{self, Dataset};
use crate::scene::{Masses, has_random_measures};

pub use report::{Run, markdown};
pub use table::{Column, Table};

/// A result: an object with named figures.
pub type Row = Value;

/// Options of all experiments.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// Run fewer and smaller cases, in seconds.
    pub quick: bool,
    /// Folder of the real data sets.
    pub data: Option<PathBuf>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Number of hidden trees per noise level.
    pub trees: usize,
    /// Dimensions of random points.
    pub dims: Vec<usize>,
    /// Data sets of random points per dimension, scored together.
    pub runs: usize,
    /// Names of scenes or data sets to run; all if empty.
    pub scenes: Vec<String>,
    /// Number of training labels, if not the experiment's default.
    pub labels: Option<usize>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            quick: false,
            data: None,
            seed: 0,
            trees: 20,
            dims: vec![2, 5, 8, 11, 14, 17],
            runs: 5,
            scenes: Vec::new(),
            labels: None,
        }
    }
}

type Work<'a> = dyn Fn(&Progress<'_>) -> Result<Vec<Row>> + 'a;

/// A unit of work whose rows are stored when it is complete.
pub struct Cell<'a> {
    /// Name, with every number that the rows depend on.
    pub name: String,
    /// Folder and name of the data set that the cell reads, if any.
    set: Option<(PathBuf, String)>,
    work: Box<Work<'a>>,
}

impl<'a> Cell<'a> {
    fn new(name: impl Into<String>, work: impl Fn(&Progress<'_>) -> Result<Vec<Row>> + 'a) -> Self {
        Self { name: name.into(), set: None, work: Box::new(work) }
    }

    /// Declares that the work reads this data set.
    fn reads(self, setup: &Setup, set: &str) -> Self {
        Self { set: setup.data.clone().map(|folder| (folder, set.into())), ..self }
    }

    /// Hashes the data set that the cell reads; 0 if it reads none.
    pub fn data(&self) -> Result<u64> {
        let Some((folder, set)) = &self.set else { return Ok(0) };
        datasets::find(folder).get(set).map_or(Ok(0), Dataset::fingerprint)
    }

    /// Runs the work; `progress` is called for cancellation only.
    pub fn run(&self, progress: &Progress<'_>) -> Result<Vec<Row>> {
        (self.work)(progress)
    }
}

/// A picture: file name and SVG.
pub type Figure = (String, String);

/// A table or figure of the paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// Name on the command line.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Creates the cells.
    pub cells: fn(&Setup) -> Vec<Cell<'_>>,
    /// Tables of the rows.
    pub tables: &'static [Table],
    /// Draws figures of the rows.
    pub figures: fn(&[Row]) -> Vec<Figure>,
    /// Description of the rows, and differences from the setup of the paper. It is printed
    /// regardless of the results, so it makes no claims about them.
    pub words: &'static str,
}

/// All experiments, in the order of the report.
pub const ALL: [Experiment; 14] = [
    real::REAL,
    runtime::RUNTIME,
    synthetic::UNIFORM,
    synthetic::GAUSSIAN,
    starts::FOUR_POINTS,
    starts::RANDOM_STARTS,
    noisy_trees::NOISY_TREES,
    recovered_tree::RECOVERED_TREE,
    training_time::TRAINING_TIME,
    convergence::CONVERGENCE,
    sparsity::SPARSITY,
    training_size::TRAINING_SIZE,
    dial::DIAL,
    clouds::CLOUDS,
];

/// Finds an experiment by name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

/// Draws a chart with a line per name.
fn chart(name: &str, title: &str, axes: Axes<'_>, lines: &[(String, Vec<(f64, f64)>)]) -> Figure {
    let lines: Vec<(&str, &[(f64, f64)])> =
        lines.iter().map(|(name, at)| (&**name, &**at)).collect();
    (format!("{name}.svg"), line_svg(title, axes, &lines, Place::File))
}

fn no_figures(_rows: &[Row]) -> Vec<Figure> {
    Vec::new()
}

/// Real data sets of the paper, in the order of its table, and one with word2vec vectors.
const SETS: [&str; 7] =
    ["bbcsport", "bbcsport_w2v1k", "twitter", "rnaseq_10x", "usca312", "usair97", "belfast"];

/// Returns the requested data sets that are present, small ones first, with their measures.
fn scenes(setup: &Setup, quick: &[&str]) -> Vec<(&'static str, Masses)> {
    let found = setup.data.as_deref().map(datasets::find).unwrap_or_default();
    let wanted = |name: &&str| {
        let named = setup.scenes.is_empty() || setup.scenes.iter().any(|scene| scene == name);
        named && (!setup.quick || quick.contains(name)) && found.get(name).is_some()
    };
    let kinds = |name: &'static str| {
        let both: &[Masses] = &[Masses::Full, Masses::Subset];
        let count = if has_random_measures(name) { 2 } else { 1 };
        both[..count].iter().map(move |&masses| (name, masses))
    };
    SETS.into_iter().rev().filter(wanted).flat_map(kinds).collect()
}

/// Names the kind of measures of a scene.
fn masses_name(set: &str, masses: Masses) -> &'static str {
    match masses {
        _ if !has_random_measures(set) => "documents",
        Masses::Full => "full",
        Masses::Subset => "subset",
    }
}

/// Converts a score to JSON.
fn score(score: &Score) -> Value {
    json!({
        "mean": score.mean, "std": score.std, "median": score.median,
        "pairs": score.pairs, "left_out": score.left_out,
    })
}

/// Returns mean and standard deviation as JSON.
fn spread(values: &[f64]) -> Value {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / count;
    json!({ "mean": mean, "std": variance.sqrt() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_claim_nothing_that_the_rows_could_refute() {
        for experiment in &ALL {
            let words = experiment.words.split(|c: char| !c.is_alphabetic());
            for word in words {
                let claim = ["win", "wins", "best", "better", "worse", "worst", "least", "beat"];
                assert!(!claim.contains(&word), "{}: {word}", experiment.name);
            }
        }
    }

    #[test]
    fn the_page_of_results_has_the_words_of_the_code() {
        let page = include_str!("../../../../docs/RESULTS.md");
        let on_it = |e: &&Experiment| page.contains(&format!("\n## {}: {}\n", e.name, e.about));
        let found: Vec<_> = ALL.iter().filter(on_it).collect();
        assert!(!found.is_empty());
        for experiment in found {
            assert!(page.contains(&format!("\n\n{}\n", experiment.words)), "{}", experiment.name);
        }
    }
}
