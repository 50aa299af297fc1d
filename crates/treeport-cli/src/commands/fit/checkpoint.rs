//! What `fit` leaves beside its output while it works, so that the same command goes on after
//! Ctrl-C, a crash or a kill: how many pairs a budget allows in `model.tree.budget.part`, solved
//! labels in `model.tree.labels.part`, then learning in `model.tree.part`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use treeport::fit::Start;
use treeport::learn::Checkpoint;
use treeport::progress::State;
use treeport::{FitOptions, GroundMetric, Labelled, Measures, Method};
use treeport_jobs::fingerprint::{Mix, of_measures, of_metric, of_tree};
use treeport_jobs::{JobFingerprint, Journal, journal};

use crate::output::{self, Output};
use crate::solved;

/// Learning between two checkpoints: what a kill can cost.
const EVERY: Duration = Duration::from_secs(5);
/// At most one part in so many of the time goes into writing them.
const SHARE: u32 = 20;

/// The checkpoints of one job.
pub(super) struct Checkpoints {
    journal: Journal,
    next: Instant,
    /// Whether more comes after the last step of learning.
    goes_on: bool,
}

impl Checkpoints {
    /// Opens what an earlier run of the same job has left, if anything.
    pub(super) fn open(
        model: &Path,
        metric: &GroundMetric,
        data: Option<&Labelled>,
        options: &FitOptions,
    ) -> Result<Self> {
        let (path, job) = (Journal::beside(model), job(metric, data, options));
        let journal = solved::open(&path, &job, "checkpoint of `treeport fit`")?;
        let goes_on = options.method(data.is_some()) == Method::Auto;
        Ok(Self { journal, next: Instant::now() + EVERY, goes_on })
    }

    /// Where that run was; what is damaged is learned anew.
    pub(super) fn last(&self, output: &Output) -> Result<Option<Checkpoint>> {
        let last = self.journal.rest()?.and_then(|bytes| Checkpoint::from_bytes(&bytes).ok());
        if last.is_none() && self.path().exists() {
            let path = self.path().display();
            output.note(&format!("`{path}` is cut off or damaged: learning begins anew"));
        }
        Ok(last)
    }

    /// Where they are.
    pub(super) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Writes a checkpoint if this is the last chance, or the last one is some time ago.
    pub(super) fn hear(&mut self, state: &State<'_>, stops: bool) -> Result<()> {
        let Some(checkpoint) = state.checkpoint else { return Ok(()) };
        let begun = Instant::now();
        let last = self.goes_on && Some(state.done) == state.total;
        if stops || last || begun >= self.next {
            self.journal.replace(&checkpoint())?;
            self.next = Instant::now() + EVERY.max(begun.elapsed() * SHARE);
        }
        Ok(())
    }
}

/// What tells one job from another.
fn job(metric: &GroundMetric, data: Option<&Labelled>, options: &FitOptions) -> JobFingerprint {
    let mut job = JobFingerprint::new("treeport-fit-4").part("metric", of_metric(metric));
    if let Some(data) = data {
        let mut labels = Mix::new();
        labels.pairs(data.pairs());
        labels.numbers(data.distances().iter().copied());
        job = job.part("measures", of_measures(data.measures())).part("labels", labels.number());
    }
    let mut options = options.clone();
    if let Some(Start::Tree(tree)) = options.start.take_if(|start| matches!(start, Start::Tree(_)))
    {
        job = job.part("start", of_tree(&tree));
    }
    let mut chosen = Mix::new();
    chosen.text(&format!("{options:?}"));
    job.part("options", chosen.number())
}

/// Where the number of pairs is kept that a time and a seed have given.
pub(super) fn budget(
    model: &Path,
    metric: &GroundMetric,
    measures: &Measures,
    (time, seed): (Duration, u64),
) -> Result<Journal> {
    let job = JobFingerprint::new("treeport-budget-1")
        .part("metric", of_metric(metric))
        .part("measures", of_measures(measures))
        .part("budget", time.as_secs_f64().to_bits())
        .part("seed", seed);
    let path = Journal::beside(&beside(model, ".budget"));
    solved::open(&path, &job, "budget of `treeport fit`")
}

/// Where the labels of a job are kept, before the journal's own ending.
pub(super) fn labels_beside(model: &Path) -> PathBuf {
    beside(model, ".labels")
}

fn beside(model: &Path, what: &str) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(what);
    name.into()
}

/// What an interrupted job has left beside its output: learning, or else solved labels.
pub(super) fn kept(model: &Path) -> Option<PathBuf> {
    files(model).into_iter().find(|path| path.exists())
}

/// Removes what a killed run has left on its way to these files, before anything refuses the next run.
pub(super) fn remove_abandoned(model: &Path) -> Result<()> {
    Ok(files(model).iter().try_for_each(output::check_place)?)
}

/// Removes what a finished job no longer needs.
pub(super) fn remove(model: &Path) -> Result<()> {
    Ok(files(model).iter().try_for_each(|path| journal::remove(path))?)
}

fn files(model: &Path) -> [PathBuf; 3] {
    [model.to_owned(), labels_beside(model), beside(model, ".budget")]
        .map(|target| Journal::beside(&target))
}
