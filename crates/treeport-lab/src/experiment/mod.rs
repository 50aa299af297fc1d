//! The experiments of \[CTW24\], one by one, with its figures beside ours.
//!
//! An [`Experiment`] is a list of [`Cell`]s, each of which makes JSON rows on its own; what is
//! printed, kept on disk and written into the report are those rows through the experiment's
//! [`Table`]s. Nothing here prints or writes: a cell can be run, its rows stored, and the next one
//! run next week.

mod convergence;
mod dial;
mod few_labels;
mod linkages;
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
mod trees;

use std::path::PathBuf;

use serde_json::{Value, json};
use treeport::{Progress, Score};

use crate::Result;
use crate::datasets::{self, Dataset};
use crate::scene::{Masses, has_random_measures};

pub use report::{Run, markdown};
pub use table::{Column, Table};

/// One result: an object with named figures.
pub type Row = Value;

/// What all experiments are told.
#[derive(Clone, Debug, PartialEq)]
pub struct Setup {
    /// A glance in seconds in place of the whole.
    pub quick: bool,
    /// Folder of the real data sets.
    pub data: Option<PathBuf>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Hidden trees at each noise level.
    pub trees: usize,
    /// Dimensions of random points.
    pub dims: Vec<usize>,
    /// Data sets of random points, judged together.
    pub runs: usize,
    /// Only these scenes or sets; all if empty.
    pub scenes: Vec<String>,
    /// Labelled pairs to learn from, where an experiment's own number is not wanted.
    pub labels: Option<usize>,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            quick: false,
            data: None,
            seed: 0,
            trees: 20,
            dims: crate::synthetic::DIMS.to_vec(),
            runs: 5,
            scenes: Vec::new(),
            labels: None,
        }
    }
}

type Work<'a> = dyn Fn(&Progress<'_>) -> Result<Vec<Row>> + 'a;

/// Work that is done whole or not at all, and then kept.
pub struct Cell<'a> {
    /// What it works on, with every number that its rows depend on.
    pub name: String,
    /// Folder and name of the data set that it reads, if it does.
    set: Option<(PathBuf, String)>,
    work: Box<Work<'a>>,
}

impl<'a> Cell<'a> {
    fn new(name: impl Into<String>, work: impl Fn(&Progress<'_>) -> Result<Vec<Row>> + 'a) -> Self {
        Self { name: name.into(), set: None, work: Box::new(work) }
    }

    /// Marks the work as reading the data set of that name, if there is one.
    fn reads(self, setup: &Setup, set: &str) -> Self {
        Self { set: setup.data.clone().map(|folder| (folder, set.into())), ..self }
    }

    /// A number that follows the contents of the data it reads; 0 if it reads none.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn data(&self) -> Result<u64> {
        let Some((folder, set)) = &self.set else { return Ok(0) };
        Ok(datasets::find(folder).get(set).map_or(Ok(0), Dataset::fingerprint)?)
    }

    /// Does the work; `progress` hears a count without meaning and may stop it.
    ///
    /// # Errors
    /// Data that cannot be read; `Cancelled` when `progress` asks to stop.
    pub fn run(&self, progress: &Progress<'_>) -> Result<Vec<Row>> {
        (self.work)(progress)
    }
}

/// A picture: the name of its file, and the SVG.
pub type Figure = (String, String);

/// A table or figure of the paper.
#[derive(Clone, Copy)]
pub struct Experiment {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it shows, in a line.
    pub about: &'static str,
    /// What it consists of.
    pub cells: fn(&Setup) -> Vec<Cell<'_>>,
    /// How its rows are shown.
    pub tables: &'static [Table],
    /// What is drawn from its rows.
    pub figures: fn(&[Row]) -> Vec<Figure>,
    /// What the rows are, and what differs from the paper's set-up. It is printed whatever the rows
    /// say, so it claims nothing about them.
    pub words: &'static str,
}

/// All experiments, in the order of the report.
pub const ALL: [Experiment; 16] = [
    real::REAL,
    runtime::RUNTIME,
    synthetic::UNIFORM,
    synthetic::GAUSSIAN,
    starts::FOUR_POINTS,
    starts::RANDOM_STARTS,
    trees::NOISY_TREES,
    recovered_tree::RECOVERED_TREE,
    training_time::TRAINING_TIME,
    training_time::GROWTH,
    convergence::CONVERGENCE,
    sparsity::SPARSITY,
    training_size::TRAINING_SIZE,
    dial::DIAL,
    linkages::LINKAGES,
    few_labels::FEW_LABELS,
];

/// The experiment of this name.
pub fn find(name: &str) -> Option<&'static Experiment> {
    ALL.iter().find(|experiment| experiment.name == name)
}

fn no_figures(_rows: &[Row]) -> Vec<Figure> {
    Vec::new()
}

/// The real sets of the paper, in the order of its table; the text set with word2vec vectors is
/// ours.
const SETS: [&str; 7] =
    ["bbcsport", "bbcsport_w2v1k", "twitter", "rnaseq_10x", "usca312", "usair97", "belfast"];

/// The sets that are there and wanted, small ones first, with every kind of measures that they can
/// have.
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

/// What measures a scene has, in a word.
fn masses_name(set: &str, masses: Masses) -> &'static str {
    match masses {
        _ if !has_random_measures(set) => "documents",
        Masses::Full => "full",
        Masses::Subset => "subset",
    }
}

/// A score as JSON.
fn score(score: &Score) -> Value {
    json!({
        "mean": score.mean, "std": score.std, "median": score.median,
        "pairs": score.pairs, "left_out": score.left_out,
    })
}

/// A figure of the paper as JSON.
fn paper((mean, std): (f64, f64)) -> Value {
    json!({ "mean": mean, "std": std })
}

/// Mean and standard deviation as JSON.
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
