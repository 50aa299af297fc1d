//! Progress and cancelling of long work: the same closure everywhere.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Called now and then, from any thread, with the state of the work; `false` stops it.
pub type Progress<'a> = dyn Fn(&State<'_>) -> bool + Sync + 'a;

/// The state of a piece of work.
#[derive(Clone, Copy)]
pub struct State<'a> {
    /// What is being done, in a few words for a progress bar. The words may change.
    pub task: &'static str,
    /// Items done.
    pub done: usize,
    /// Items in all, where that is known before.
    pub total: Option<usize>,
    /// While learning: the mean relative error after the last epoch, on the labels that choose the
    /// best tree.
    pub error: Option<f64>,
    /// While learning one tree: everything that is needed to go on from here later, made when it
    /// is called.
    pub checkpoint: Option<&'a (dyn Fn() -> Vec<u8> + 'a)>,
}

impl State<'_> {
    /// So many of `total` items of a task.
    pub fn new(task: &'static str, done: usize, total: impl Into<Option<usize>>) -> Self {
        Self { task, done, total: total.into(), error: None, checkpoint: None }
    }

    /// The state of a piece of work that comes after `first` of `total` items.
    #[must_use]
    pub fn after(&self, first: usize, total: usize) -> Self {
        Self { done: first + self.done, total: Some(total), ..*self }
    }
}

/// Says nothing and never stops.
pub fn silent(_state: &State<'_>) -> bool {
    true
}

/// Counts items over threads and remembers a request to stop.
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

    /// Adds `items` to the count and reports it.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the report has asked to stop.
    pub(crate) fn add(&self, items: usize) -> Result<()> {
        let done = self.done.fetch_add(items, Ordering::Relaxed) + items;
        let state = State::new(self.task, done, self.total);
        if self.stop.load(Ordering::Relaxed) || !(self.report)(&state) {
            self.stop.store(true, Ordering::Relaxed);
            return Err(Error::Cancelled);
        }
        Ok(())
    }

    /// Whether the report has asked to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}
