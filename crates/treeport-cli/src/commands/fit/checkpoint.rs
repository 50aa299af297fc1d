//! Files that `fit` keeps beside its output, so that the same command resumes after Ctrl-C, a crash
//! or a kill. The number of pairs for a budget is in `model.tree.budget.part`, solved labels are in
//! `model.tree.labels.part`, and the state of learning is in `model.tree.part`.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;
use treeport::fit::Start;
use treeport::learn::Checkpoint;
use treeport::progress::State;
use treeport::{FitOptions, GroundMetric, Labeled, Measures};
use treeport_jobs::fingerprint::{Mix, of_measures, of_metric, of_tree};
use treeport_jobs::{JobFingerprint, Journal, journal};

use crate::output::{self, Output};
use crate::solved;

/// Time between two checkpoints: the work that a kill can lose.
const EVERY: Duration = Duration::from_secs(5);
/// Writing checkpoints takes at most one part in `SHARE` of the time.
const SHARE: u32 = 20;

/// Checkpoints of one job.
pub(super) struct Checkpoints {
    journal: Journal,
    next: Instant,
    /// More stages follow the last step of learning.
    has_more_stages: bool,
}

impl Checkpoints {
    /// Opens the checkpoints of an earlier run of the same job, if any.
    pub(super) fn open(
        model: &Path,
        metric: &GroundMetric,
        data: Option<&Labeled>,
        options: &FitOptions,
    ) -> Result<Self> {
        let (path, job) = (Journal::beside(model), job(metric, data, options));
        let journal = solved::open(&path, &job, "checkpoint of `treeport fit`")?;
        let has_more_stages = options.method(data.is_some()).has_stages();
        Ok(Self { journal, next: Instant::now() + EVERY, has_more_stages })
    }

    /// Reads the last checkpoint; if it is damaged, learning starts over.
    pub(super) fn last(&self, output: &Output) -> Result<Option<Checkpoint>> {
        let last = self.journal.rest()?.and_then(|bytes| Checkpoint::from_bytes(&bytes).ok());
        if last.is_none() && self.path().exists() {
            let path = self.path().display();
            output.note(&format!("`{path}` is cut off or damaged: learning starts over"));
        }
        Ok(last)
    }

    /// Returns the path of the checkpoints.
    pub(super) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Writes a checkpoint if `EVERY` has passed, or if there is no later chance.
    pub(super) fn update(&mut self, state: &State<'_>, stops: bool) -> Result<()> {
        let Some(checkpoint) = state.checkpoint else { return Ok(()) };
        let begun = Instant::now();
        let last = self.has_more_stages && Some(state.done) == state.total;
        if stops || last || begun >= self.next {
            self.journal.replace(&checkpoint())?;
            self.next = Instant::now() + EVERY.max(begun.elapsed() * SHARE);
        }
        Ok(())
    }
}

/// Computes the fingerprint of a job.
fn job(metric: &GroundMetric, data: Option<&Labeled>, options: &FitOptions) -> JobFingerprint {
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

/// Opens the journal of the number of pairs for a time budget and a seed.
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

/// Opens the journal of solved labels, a distance a line. A file that cannot be written is an error
/// before the work.
pub(super) fn labels(model: &Path, job: &JobFingerprint) -> Result<Journal> {
    let path = Journal::beside(&beside(model, ".labels"));
    let mut journal = solved::open(&path, job, "journal of `treeport exact`")?;
    journal.append(b"")?;
    Ok(journal)
}

fn beside(model: &Path, what: &str) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(what);
    name.into()
}

/// Returns the first existing file of an interrupted job.
pub(super) fn kept(model: &Path) -> Option<PathBuf> {
    files(model).into_iter().find(|path| path.exists())
}

/// Removes temporary files of a killed run, before anything can refuse the next run.
pub(super) fn remove_abandoned(model: &Path) -> Result<()> {
    Ok(files(model).iter().try_for_each(output::check_place)?)
}

/// Removes the files of a finished job.
pub(super) fn remove(model: &Path) -> Result<()> {
    Ok(files(model).iter().try_for_each(|path| journal::remove(path))?)
}

fn files(model: &Path) -> [PathBuf; 3] {
    [model.to_owned(), beside(model, ".labels"), beside(model, ".budget")]
        .map(|target| Journal::beside(&target))
}
