//! Progress bars, and Ctrl-C as cancellation.

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
    /// `None` if no bar is drawn.
    output: Option<&'a Output>,
    shown: Mutex<Shown>,
}

struct Shown {
    /// Task of the bar, and whether its total is known.
    of: (&'static str, bool),
    bar: ProgressBar,
}

impl<'a> Watch<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self::on(Some(output))
    }

    /// Creates the bar for rows to stdout; none if they are shown in the terminal.
    pub(crate) fn of_rows(output: &'a Output, to_stdout: bool) -> Self {
        Self::on(Some(output).filter(|_| !(to_stdout && std::io::stdout().is_terminal())))
    }

    fn on(output: Option<&'a Output>) -> Self {
        let shown = Shown { of: ("", false), bar: ProgressBar::hidden() };
        Self { output, shown: Mutex::new(shown) }
    }

    /// Shows the state of the work; returns false to cancel it.
    pub(crate) fn update(&self, state: &State<'_>) -> bool {
        // If another thread is drawing, its state is as recent.
        if let (Some(output), Ok(mut shown)) = (self.output, self.shown.try_lock()) {
            shown.show(state, output);
        }
        !interrupt::asked()
    }

    /// Creates a progress callback for work after the first `first` of `total` items.
    pub(crate) fn after(&self, first: usize, total: usize) -> impl Fn(&State<'_>) -> bool + Sync {
        move |state| self.update(&state.after(first, total))
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
            // Estimate the remaining time from this run only.
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

/// Runs work with a progress bar; Ctrl-C ends it with [`Interrupted`].
pub(crate) fn watched<T>(
    output: &Output,
    work: impl FnOnce(&Progress<'_>) -> treeport::Result<T>,
) -> Result<T> {
    let watch = Watch::new(output);
    or_interrupted(work(&|state| watch.update(state)))
}

/// Converts cancellation to [`Interrupted`].
pub(crate) fn or_interrupted<T>(found: treeport::Result<T>) -> Result<T> {
    match found {
        Err(Error::Canceled) => Err(Interrupted.into()),
        found => Ok(found?),
    }
}

/// Progress of a job whose results are kept in a file.
pub(crate) struct KeptItems<'a> {
    pub(crate) path: &'a Path,
    pub(crate) done: usize,
    pub(crate) all: usize,
    pub(crate) items: &'a str,
}

impl KeptItems<'_> {
    /// Reports the results of an earlier run, and the number of damaged rows, called `row`.
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

    /// Returns the message of an interruption; before the first item nothing is kept.
    pub(crate) fn interrupted(&self) -> String {
        let (Self { done, all, items, .. }, path) = (self, self.path.display());
        let on =
            if *done == 0 { "" } else { &format!("; the same command continues from `{path}`") };
        format!("interrupted after {done} of {all} {items}{on}")
    }
}

/// Prepares a graph for many distances, which is faster than a search for each.
pub(crate) fn prepare(metric: &GroundMetric, output: &Output) -> Result<()> {
    watched(output, |progress| metric.prepare(progress))
}
