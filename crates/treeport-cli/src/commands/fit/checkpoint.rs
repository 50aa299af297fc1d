//! What `fit` leaves beside its output while it works, so that the same command goes on after Ctrl-C, a
//! crash or a kill: solved labels in `model.tree.labels.part`, then learning in `model.tree.part`.
//!
//! The second file is a line that says which job it is, then the bytes of a [`Checkpoint`].

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use treeport::baseline::FitOptions;
use treeport::learn::{Checkpoint, Status};
use treeport::{Error, LearnOptions};

use super::learning::Lessons;
use crate::commands::exact::Journal;
use crate::fingerprint::{self, Mix};
use crate::output;

/// Learning between two checkpoints: what a kill can cost.
const EVERY: Duration = Duration::from_secs(5);
/// At most one part in so many of the time goes into writing them.
const SHARE: u32 = 20;

/// Where the labels of a job are kept, before the journal's own ending.
pub(super) fn labels_beside(model: &Path) -> PathBuf {
    let mut name = model.as_os_str().to_owned();
    name.push(".labels");
    name.into()
}

/// Whether something can lie beside the output: it is, or will be, a regular file.
pub(super) fn possible(model: &Path) -> bool {
    !model.exists() || model.is_file()
}

/// What an interrupted job has left beside its output: learning, or else solved labels.
pub(super) fn kept(model: &Path) -> Option<PathBuf> {
    let files = [Journal::beside(model), Journal::beside(&labels_beside(model))];
    files.into_iter().find(|path| path.exists())
}

/// What is done with the lessons.
#[derive(Clone, Copy)]
pub(super) enum Job<'a> {
    /// The stages of `auto`.
    Auto(&'a FitOptions),
    /// The learner alone.
    Plain(&'a LearnOptions),
}

/// The checkpoints of one job.
pub(super) struct Keeper {
    path: PathBuf,
    job: String,
    next: Instant,
}

impl Keeper {
    /// For a job with these inputs.
    pub(super) fn new(model: &Path, lessons: &Lessons<'_>, job: Job<'_>) -> Self {
        let job = describe(lessons, job);
        Self { path: Journal::beside(model), job, next: Instant::now() + EVERY }
    }

    /// The checkpoint that an earlier run of the same job has left, if there is one.
    pub(super) fn read(&self) -> Result<Option<Checkpoint>> {
        let bytes = match fs::read(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            bytes => bytes.map_err(|source| Error::Read { path: self.path.clone(), source })?,
        };
        let end = bytes.iter().position(|&b| b == b'\n').unwrap_or(bytes.len());
        let path = self.path.display();
        match fingerprint::differences(&self.job, &String::from_utf8_lossy(&bytes[..end])) {
            None => bail!(
                "`{path}` is no checkpoint of `treeport fit`; move it away or give another `-o`"
            ),
            Some(parts) if !parts.is_empty() => bail!(
                "`{path}` was left by another job (other {parts}); run that job again to finish it, delete the file to begin anew, or give another `-o`"
            ),
            _ => {}
        }
        let rest = bytes.get(end + 1..).unwrap_or_default();
        Ok(Some(Checkpoint::from_bytes(rest).with_context(|| path.to_string())?))
    }

    /// Writes a checkpoint if the last one is some time ago.
    pub(super) fn keep(&mut self, status: &Status<'_>) -> Result<()> {
        if Instant::now() < self.next {
            return Ok(());
        }
        let begun = Instant::now();
        self.write(status)?;
        self.next = Instant::now() + EVERY.max(begun.elapsed() * SHARE);
        Ok(())
    }

    /// Writes a checkpoint.
    pub(super) fn write(&self, status: &Status<'_>) -> Result<()> {
        output::save(&self.path, |out| {
            writeln!(out, "{}", self.job)?;
            Ok(out.write_all(&status.checkpoint().to_bytes())?)
        })
    }

    /// Where checkpoints are.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// Removes what a finished job no longer needs.
pub(super) fn remove(model: &Path) -> Result<()> {
    remove_labels(model)?;
    remove_file(&Journal::beside(model))
}

/// Removes the labels alone, for jobs that leave nothing else.
pub(super) fn remove_labels(model: &Path) -> Result<()> {
    remove_file(&Journal::beside(&labels_beside(model)))
}

fn remove_file(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            bail!("cannot remove `{}`: {error}", path.display())
        }
        _ => Ok(()),
    }
}

/// One line that is the same for the same job and no other.
fn describe(lessons: &Lessons<'_>, job: Job<'_>) -> String {
    let Lessons { start, metric, measures, labels } = *lessons;
    let mut tree = Mix::new();
    start.parents().iter().for_each(|&parent| tree.word(parent.into()));
    tree.numbers(start.lengths().iter().copied());
    for name in start.names().into_iter().flatten() {
        name.bytes().for_each(|byte| tree.word(byte.into()));
        tree.word(u64::MAX);
    }
    let mut known = Mix::new();
    for &(left, right) in &labels.pairs {
        known.word(left as u64);
        known.word(right as u64);
    }
    known.numbers(labels.distances.iter().copied());
    let (options, ground) = match job {
        Job::Auto(options) => {
            (format!("{options:?}"), format!(" metric={:016x}", fingerprint::of_metric(metric)))
        }
        // The learner alone looks at no metric.
        Job::Plain(options) => (format!("{options:?}"), String::new()),
    };
    let mut chosen = Mix::new();
    options.bytes().for_each(|byte| chosen.word(byte.into()));
    format!(
        "treeport-fit-1 version={} start={:016x} measures={:016x} labels={:016x} options={:016x}{ground}",
        env!("CARGO_PKG_VERSION"),
        tree.0,
        fingerprint::of_measures(measures),
        known.0,
        chosen.0
    )
}
