//! How long work reports how far it is, and is told to stop.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::error::{Error, Result};

/// Called now and then, from any thread, with the number of items done; `false` stops the work.
pub type Progress<'a> = dyn Fn(usize) -> bool + Sync + 'a;

/// Reports to nobody and never stops.
pub fn silent(_done: usize) -> bool {
    true
}

/// Counts items over threads and remembers whether to stop.
pub(crate) struct Counter<'a> {
    done: AtomicUsize,
    stop: AtomicBool,
    report: &'a Progress<'a>,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(report: &'a Progress<'a>) -> Self {
        Self { done: AtomicUsize::new(0), stop: AtomicBool::new(false), report }
    }

    /// Adds `items` to the count and reports it.
    ///
    /// # Errors
    /// [`Error::Cancelled`] once the report has asked to stop.
    pub(crate) fn add(&self, items: usize) -> Result<()> {
        let done = self.done.fetch_add(items, Ordering::Relaxed) + items;
        if self.stop.load(Ordering::Relaxed) || !(self.report)(done) {
            self.stop.store(true, Ordering::Relaxed);
            return Err(Error::Cancelled);
        }
        Ok(())
    }
}
