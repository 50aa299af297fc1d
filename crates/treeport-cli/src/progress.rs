//! Progress bars for all commands, and Ctrl-C for the work behind them.

use std::io::IsTerminal;
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
    match work(&|state| watch.hear(state)) {
        Err(Error::Cancelled) => Err(Interrupted.into()),
        result => Ok(result?),
    }
}

/// Prepares a graph for many distances, which is faster than a search for each.
pub(crate) fn prepare(metric: &GroundMetric, output: &Output) -> Result<()> {
    watched(output, |progress| metric.prepare(progress))
}
