//! Time limits of searches.

use std::time::{Duration, Instant};

use super::Index;
use crate::measures::Measure;
use crate::solve::route::solving_time;

/// Largest estimate of the time of a solve, in seconds.
const MOST_ESTIMATED: f64 = 60.0;

/// The time limit of a search, which leaves time for solving the neighbors that are missing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deadline {
    /// `None` if the clock cannot represent it.
    end: Option<Instant>,
    /// Number and total time of the solved pairs; the first one is an estimate.
    solved: u32,
    solving: Duration,
}

impl Deadline {
    /// Starts the time of a query.
    pub(super) fn new(index: &Index, query: &Measure<'_>, time: Duration) -> Self {
        let other = index.measures.entries() as f64 / index.len() as f64;
        let estimate = 1_000.0 + solving_time(query.support().len() as f64 * other);
        let solving = Duration::from_secs_f64((1e-9 * estimate).min(MOST_ESTIMATED));
        Self { end: Instant::now().checked_add(time), solved: 1, solving }
    }

    /// Counts a solved pair.
    pub(super) fn count(&mut self, time: Duration) {
        self.solved = self.solved.saturating_add(1);
        self.solving = self.solving.saturating_add(time);
    }

    /// Checks whether all time that remains is needed to solve this many pairs.
    pub(super) fn has_come(&self, missing: usize) -> bool {
        let each = self.solving / self.solved;
        let needed = each.saturating_mul(u32::try_from(missing).unwrap_or(u32::MAX));
        let done = Instant::now().checked_add(needed);
        self.end.is_some_and(|end| done.is_none_or(|done| done >= end))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_left_for_missing_neighbors() {
        let (hour, now) = (Duration::from_secs(3600), Instant::now());
        let within = |end: Option<Instant>| Deadline { end, solved: 1, solving: hour / 60 };
        let mut deadline = within(now.checked_add(hour));
        assert!(!deadline.has_come(0) && !deadline.has_come(10));
        assert!(deadline.has_come(61) && deadline.has_come(usize::MAX));
        deadline.count(hour);
        assert!(deadline.has_come(2) && !deadline.has_come(1));
        assert!(within(Some(now)).has_come(0));
        assert!(!within(None).has_come(usize::MAX));
    }
}
