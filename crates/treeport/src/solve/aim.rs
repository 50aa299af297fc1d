//! Stopping criteria of a solver: accuracy, time limit and requested outputs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::accuracy::{Accuracy, Question};
use crate::error::Result;
use crate::progress::tasks::{PROVING, SOLVING};
use crate::progress::{Progress, State};

/// The accuracy, the time limit and the requested parts of an answer.
///
/// Work stops at the accuracy or at the time limit, whichever comes first.
///
/// # Example
/// ```
/// use std::time::Duration;
/// use treeport::{Aim, Wanted};
/// let aim = Aim::within(0.01).in_time(Duration::from_secs(10)).wanting(Wanted::Plan);
/// assert_eq!(aim.time, Some(Duration::from_secs(10)));
/// assert_eq!(Aim::default(), Aim::exact());
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Aim {
    /// Relative width of the bounds: `exact`, or ε with upper ≤ (1 + ε) · lower.
    pub accuracy: Accuracy,
    /// Time limit, if any; the answer then has the best bounds found within it.
    pub time: Option<Duration>,
    /// Parts of the answer to compute.
    pub wanted: Wanted,
}

/// Parts of an [`Answer`](super::Answer) to compute; each variant includes those before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Wanted {
    /// Bounds of the value.
    Value,
    /// The plan behind the upper bound, and dual values of its sources and sinks.
    #[default]
    Plan,
    /// Dual values of all points, with and without mass, which need a pass over all costs.
    Potentials,
    /// Rates at which the value changes with the masses, at all points; another pass.
    Rates,
}

impl Default for Aim {
    /// Returns [`Aim::exact`].
    fn default() -> Self {
        Self::exact()
    }
}

impl Aim {
    /// Requests the exact value with its plan, without a time limit.
    pub const fn exact() -> Self {
        Self { accuracy: Accuracy::EXACT, time: None, wanted: Wanted::Plan }
    }

    /// Requests the exact value without a plan.
    pub const fn value() -> Self {
        Self { wanted: Wanted::Value, ..Self::exact() }
    }

    /// Requests bounds with upper ≤ (1 + `error`) · lower, and the plan behind the upper one.
    pub const fn within(error: f64) -> Self {
        Self { accuracy: Accuracy::Within(error), ..Self::exact() }
    }

    /// Requests an answer to this accuracy, with its plan.
    pub const fn to(accuracy: Accuracy) -> Self {
        Self { accuracy, ..Self::exact() }
    }

    /// Sets the time limit, or removes it.
    #[must_use]
    pub fn in_time(self, time: impl Into<Option<Duration>>) -> Self {
        Self { time: time.into(), ..self }
    }

    /// Sets the parts of the answer to compute.
    #[must_use]
    pub const fn wanting(self, wanted: Wanted) -> Self {
        Self { wanted, ..self }
    }

    /// Returns the largest relative width of the bounds; 0 for the exact answer.
    pub(super) fn width(&self) -> f64 {
        if let Accuracy::Within(error) = self.accuracy { error.max(0.0) } else { 0.0 }
    }

    /// Refuses an accuracy other than `exact` or a number of at least 0.
    pub(super) fn check(&self) -> Result<()> {
        self.accuracy.check_for(Question::Problem)
    }

    /// Returns whether the aim is bounds: with a positive width, or with a time limit.
    pub(super) fn accepts_bounds(&self) -> bool {
        self.width() > 0.0 || self.time.is_some()
    }
}

/// The deadline of an answer, and its cancellation by the progress callback.
pub(super) struct Deadline<'a> {
    end: Option<Instant>,
    progress: &'a Progress<'a>,
    is_canceled: AtomicBool,
}

impl<'a> Deadline<'a> {
    pub(super) fn new(time: Option<Duration>, progress: &'a Progress<'a>) -> Self {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        Self { end, progress, is_canceled: AtomicBool::new(false) }
    }

    /// Reports the state of the work; returns false if it has to stop.
    pub(super) fn report(&self, state: &State<'_>) -> bool {
        if !(self.progress)(state) {
            self.is_canceled.store(true, Ordering::Relaxed);
            return false;
        }
        self.end.is_none_or(|end| Instant::now() < end)
    }

    /// Reports the lower bound as a share of the upper one, if known; returns false to stop.
    pub(super) fn report_proved(&self, proved: Option<f64>) -> bool {
        self.report(&proved_share(proved))
    }

    /// Returns whether there is a time limit.
    pub(super) fn is_limited(&self) -> bool {
        self.end.is_some()
    }

    /// Returns whether the time limit has passed and the work was not canceled.
    pub(super) fn has_passed(&self) -> bool {
        !self.is_canceled.load(Ordering::Relaxed)
            && self.end.is_some_and(|end| Instant::now() >= end)
    }
}

/// Returns the progress state for the lower bound as a share of the upper one, if known.
fn proved_share(proved: Option<f64>) -> State<'static> {
    proved.map_or(State::new(SOLVING, 0, None), |share| {
        State::new(PROVING, (100.0 * share) as usize, Some(100))
    })
}
