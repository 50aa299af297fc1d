//! Progress callbacks, which report and cancel long work.

pub mod tasks;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Progress callback: called from time to time, from any thread, with the state of the work;
/// `false` cancels it.
pub type Progress<'a> = dyn Fn(&State<'_>) -> bool + Sync + 'a;

/// State of a piece of work.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// Name of the task, in a few words for a progress bar. The words may change.
    pub task: &'static str,
    /// Number of items done.
    pub done: usize,
    /// Total number of items, if known in advance.
    pub total: Option<usize>,
    /// Mean relative error of the last epoch on the validation labels; only while learning.
    pub error: Option<f64>,
    /// Function that returns a checkpoint to resume from; only while learning one tree.
    pub checkpoint: Option<&'a (dyn Fn() -> Vec<u8> + 'a)>,
}

impl State<'_> {
    /// Creates the state of a task after `done` of `total` items.
    pub fn new(task: &'static str, done: usize, total: impl Into<Option<usize>>) -> Self {
        Self { task, done, total: total.into(), error: None, checkpoint: None }
    }

    /// Returns the state with `first` items done before, of `total` items.
    #[must_use]
    pub fn after(&self, first: usize, total: usize) -> Self {
        Self { done: first + self.done, total: Some(total), ..*self }
    }
}

/// Reports nothing and never cancels.
pub fn silent(_state: &State<'_>) -> bool {
    true
}

/// Counts items over threads and remembers a request to cancel.
pub(crate) struct Counter<'a> {
    task: &'static str,
    total: Option<usize>,
    done: AtomicUsize,
    stop: AtomicBool,
    report: &'a Progress<'a>,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(
        task: &'static str,
        total: impl Into<Option<usize>>,
        report: &'a Progress<'a>,
    ) -> Self {
        let (done, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { task, total: total.into(), done, stop, report }
    }

    /// Adds `items` to the count and reports it; [`Error::Canceled`] if the callback cancels.
    pub(crate) fn add(&self, items: usize) -> Result<()> {
        let done = self.done.fetch_add(items, Ordering::Relaxed) + items;
        let state = State::new(self.task, done, self.total);
        if self.stop.load(Ordering::Relaxed) || !(self.report)(&state) {
            self.stop.store(true, Ordering::Relaxed);
            return Err(Error::Canceled);
        }
        Ok(())
    }

    /// Returns whether the callback has asked to cancel.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
