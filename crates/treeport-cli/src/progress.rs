//! Progress bars for all commands, and Ctrl-C for the work behind them.

use std::io::IsTerminal;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::Result;
use treeport::progress::State;
use treeport::{Error, GroundMetric, Progress};

use crate::interrupt::{self, Interrupted};
use crate::output::{Output, ProgressBar};

/// A progress bar on stderr; dropping it removes the bar.
pub(crate) struct Watch<'a> {
    /// `None`: there is nothing to draw on.
    output: Option<&'a Output>,
    shown: Mutex<Shown>,
}

struct Shown {
    /// What the bar is of, and whether it knows its end.
    of: (&'static str, bool),
    bar: ProgressBar,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self::on(Some(output))
    }

    /// For work whose rows go to stdout: no bar where they scroll by.
    pub(crate) fn of_rows(output: &'a Output, to_stdout: bool) -> Self {
        Self::on(Some(output).filter(|_| !(to_stdout && std::io::stdout().is_terminal())))
    }

    fn on(output: Option<&'a Output>) -> Self {
        let shown = Shown { of: ("", false), bar: ProgressBar::hidden() };
        Self { output, shown: Mutex::new(shown) }
    }

    /// Shows the state of the work; false stops it.
    pub(crate) fn hear(&self, state: &State<'_>) -> bool {
        // If another thread is drawing, its state is as good.
        if let (Some(output), Ok(mut shown)) = (self.output, self.shown.try_lock()) {
            shown.show(state, output);
        }
        !interrupt::asked()
    }

    /// Hears work that comes after `first` of `total` items.
    pub(crate) fn after(&self, first: usize, total: usize) -> impl Fn(&State<'_>) -> bool + Sync {
        move |state| self.hear(&state.after(first, total))
    }
}

impl Shown {
    fn show(&mut self, state: &State<'_>, output: &Output) {
        let (of, done) = ((state.task, state.total.is_some()), state.done as u64);
        if self.of != of {
            self.bar.finish_and_clear();
            self.of = of;
            self.bar = match state.total {
                Some(total) => output.bar(state.task, total),
                None => output.spinner(state.task),
            };
            self.bar.set_position(done);
            // The time left follows from what is done now, not from what was done before.
            self.bar.reset_eta();
        }
        self.bar.set_position(done);
        if let Some(error) = state.error.filter(|_| !self.bar.is_hidden()) {
            self.bar.set_message(format!("{}, error {error:.4}", state.task));
        }
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        self.shown.get_mut().unwrap_or_else(PoisonError::into_inner).bar.finish_and_clear();
    }
}

/// Does work with a progress bar; Ctrl-C ends it with [`Interrupted`].
pub(crate) fn watched<T>(
    output: &Output,
    work: impl FnOnce(&Progress<'_>) -> treeport::Result<T>,
) -> Result<T> {
    let watch = Watch::new(output);
    or_interrupted(work(&|state| watch.hear(state)))
}

/// What was found, or [`Interrupted`] where Ctrl-C has stopped it.
pub(crate) fn or_interrupted<T>(found: treeport::Result<T>) -> Result<T> {
    match found {
        Err(Error::Cancelled) => Err(Interrupted.into()),
        found => Ok(found?),
    }
}

/// How far a job is whose results are kept in a file.
pub(crate) struct KeptItems<'a> {
    pub(crate) path: &'a Path,
    pub(crate) done: usize,
    pub(crate) all: usize,
    /// What they are called.
    pub(crate) items: &'a str,
}

impl KeptItems<'_> {
    /// Says what an earlier run of the same job has left; of what it calls `row`, so many are damaged.
    pub(crate) fn note_earlier(&self, output: &Output, damaged: usize, row: &str) {
        let Self { path, done, all, items } = self;
        if damaged > 0 {
            let (path, s) = (path.display(), if damaged == 1 { "" } else { "s" });
            output.note(&format!(
                "`{path}`: {damaged} {row}{s} cut off or damaged, to be done again"
            ));
        }
        if *done > 0 {
            output.note(&format!("{done} of {all} {items} were done before"));
        }
    }

    /// The message of an interruption and how to resume; before the first item nothing is kept.
    pub(crate) fn interrupted(&self) -> String {
        let (Self { done, all, items, .. }, path) = (self, self.path.display());
        let on = if *done == 0 { "" } else { &format!("; the same command goes on from `{path}`") };
        format!("interrupted after {done} of {all} {items}{on}")
    }
}

/// Prepares a graph for many distances, which is faster than a search for each.
pub(crate) fn prepare(metric: &GroundMetric, output: &Output) -> Result<()> {
    watched(output, |progress| metric.prepare(progress))
}
