//! Many problems on one ground: pairs of measures, in parallel over pairs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::card::Card;
use super::exact::order::precedes;
use super::exact::{self, Solver, choice, components, line, relaxed, reused};
use super::forecast::{Forecast, of_size};
use super::overflow;
use super::penalty::{Penalty, Relaxation};
use super::problem::{Ground, OnMetric, Problem, QUICK_ARCS, Relax};
use super::within::{Bounds, Target};
use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::SOLVING;

/// Problems between pairs of measures on one ground metric.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, PointMetric, Problems, Relax, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(2, &[2.0, 0.0, 0.0, 2.0, 0.0, 3.0])?;
/// assert_eq!(Problems::new(&metric, &measures, &[(0, 1)]).values(&silent)?, [2.0]);
/// let unequal = Problems::new(&metric, &measures, &[(0, 2)]).relaxed(Relax::Penalty(5.0));
/// assert_eq!(unequal.values(&silent)?, [7.0]);
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Problems<'a> {
    ground: Ground<'a>,
    measures: &'a Measures,
    pairs: &'a [(usize, usize)],
    relax: Relaxation<'a>,
}

/// What is known of the values of many problems, one after the other: no plan costs less than `lower`,
/// and one costs `upper`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// What the values are at least.
    pub lower: Vec<f64>,
    /// What they are at most.
    pub upper: Vec<f64>,
}

/// Time that is shared out among problems as they begin.
struct SharedTime {
    end: Option<Instant>,
    /// Problems that have not begun.
    waiting: AtomicUsize,
    threads: usize,
}

impl SharedTime {
    fn new(time: Option<Duration>, problems: usize) -> Self {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let threads = rayon::current_num_threads();
        Self { end, waiting: AtomicUsize::new(problems), threads }
    }

    /// The time of the problem that begins now: that of one round, if all threads go through those that wait.
    fn next(&self) -> Option<Duration> {
        let waiting = self.waiting.fetch_sub(1, Ordering::Relaxed);
        let left = self.end?.saturating_duration_since(Instant::now());
        Some(left.div_f64(waiting.div_ceil(self.threads).max(1) as f64))
    }
}

impl<'a> Problems<'a> {
    /// Problems between the measures with these numbers, all mass moved.
    pub fn new(
        ground: impl Into<Ground<'a>>,
        measures: &'a Measures,
        pairs: &'a [(usize, usize)],
    ) -> Self {
        Self { ground: ground.into(), measures, pairs, relax: Relaxation::Balanced }
    }

    /// Problems in each of which so much is left behind.
    #[must_use]
    pub fn relaxed(self, relax: Relax) -> Self {
        Self { relax: relax.into(), ..self }
    }

    /// Problems in which mass that is not moved costs what its point says, one price for each point of the
    /// ground: see [`Problem::with_penalties`].
    #[must_use]
    pub fn with_penalties(self, penalties: &'a [f64]) -> Self {
        self.with_relaxation(Relaxation::Penalty(Penalty::OfPoints([penalties; 2])))
    }

    pub(super) fn with_relaxation(self, relax: Relaxation<'a>) -> Self {
        Self { relax, ..self }
    }

    /// The [value](super::Problem::value) of every problem, to the bit, but on graphs, where distances may
    /// be summed another way; the same for any number of threads.
    ///
    /// A graph is [prepared](GroundMetric::prepare) first, if the pairs need many of its distances.
    /// Where supports of points overlap a lot, give [`GroundMetric::materialized`] distances.
    ///
    /// # Errors
    /// As [`Problem::value`](super::Problem::value), with the numbers of the measures;
    /// [`Error::Cancelled`](crate::Error::Cancelled) when `progress`, which counts pairs, asks to
    /// stop.
    pub fn values(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        match self.ground {
            Ground::Metric(metric) => self.on_metric(metric, progress),
            Ground::Components(ground) => {
                self.check()?;
                components::values(ground, self.measures, self.pairs, self.relax, progress)
            }
        }
    }

    /// Bounds of every value that are as close as asked for, each as
    /// [`Problem::within`](super::Problem::within) finds it; the same for any number of threads, but where time is
    /// limited.
    ///
    /// A limited time is that of all problems together: whichever begins gets an equal share of what is left,
    /// so that time which one does not use goes to those after it, and all have bounds in the end. What is not
    /// interrupted in a single problem is not interrupted here.
    ///
    /// # Errors
    /// As [`values`](Self::values), and an accuracy that is neither `exact` nor a number of at least 0.
    ///
    /// # Example
    /// ```
    /// use treeport::{Accuracy, GroundMetric, Measures, PointMetric, Problems, Target, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(2, &[2.0, 0.0, 0.0, 2.0])?;
    /// let problems = Problems::new(&metric, &measures, &[(0, 1)]);
    /// let target = Target { accuracy: Accuracy::Within(0.1), time: None };
    /// let found = problems.within(target, &silent)?;
    /// assert!(found.lower[0] <= 2.0 && found.upper[0] >= 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn within(&self, target: Target, progress: &Progress<'_>) -> Result<Intervals> {
        self.bounds(target, progress, |problem, own, progress| problem.within(own, progress))
    }

    /// As [`within`](Self::within), with a card that looks through all pairs of points of large problems.
    ///
    /// # Errors
    /// As [`within`](Self::within) and [`Problem::within_on`].
    pub fn within_on(
        &self,
        card: &Arc<dyn Card>,
        target: Target,
        progress: &Progress<'_>,
    ) -> Result<Intervals> {
        self.bounds(target, progress, |problem, own, progress| {
            problem.within_on(card, own, progress)
        })
    }

    /// What is found of every problem, one after another on every thread.
    fn bounds(
        &self,
        target: Target,
        progress: &Progress<'_>,
        find: impl Fn(&Problem<'_>, Target, &Progress<'_>) -> Result<Bounds> + Sync,
    ) -> Result<Intervals> {
        self.check()?;
        if let Ground::Metric(metric) = self.ground {
            choice::prepare(metric, self.measures, self.pairs, progress)?;
        }
        let counter = Counter::new(SOLVING, self.pairs.len(), progress);
        let shared = SharedTime::new(target.time, self.pairs.len());
        let bounds = |&(i, j): &(usize, usize)| {
            let (a, b) = (self.measures.row(i), self.measures.row(j));
            let problem =
                Problem::new(self.ground, &a, &b).with_relaxation(self.relax).numbered(i, j);
            let own = Target { time: shared.next(), ..target };
            let found = find(&problem, own, &|_| counter.add(0).is_ok())?;
            counter.add(1)?;
            Ok((found.lower, found.upper))
        };
        let found = parallel::try_map(self.pairs.len(), |at| bounds(&self.pairs[at]))?;
        let (lower, upper) = found.into_iter().unzip();
        Ok(Intervals { lower, upper })
    }

    /// Roughly what it takes to answer all of them to a target on the threads there are: see
    /// [`Problem::forecast`](super::Problem::forecast). Pairs of measures that are not there count nothing.
    pub fn forecast(&self, target: &Target) -> Forecast {
        let each = Target { time: None, ..*target };
        let support = |i: usize| self.measures.get(i).ok().map(|row| row.support().len());
        let mut all = Forecast::default();
        for &(i, j) in self.pairs {
            if let (Some(left), Some(right)) = (support(i), support(j)) {
                let sizes = (left, right);
                all += of_size(Some(self.ground), sizes, self.relax.is_balanced(), &each);
            }
        }
        let threads = rayon::current_num_threads().clamp(1, self.pairs.len().max(1));
        let most = target.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
        all.seconds = (all.seconds / threads as f64).min(most);
        all.bytes = all.bytes.saturating_mul(threads as u64);
        all
    }

    /// Whether all are solved before other threads would have begun: see
    /// [`Problem::is_quick`](super::Problem::is_quick).
    pub fn is_quick(&self) -> bool {
        if self.ground.is_graph() || self.pairs.len() > QUICK_ARCS {
            return false;
        }
        let rows = self
            .pairs
            .iter()
            .filter_map(|&(i, j)| Some((self.measures.get(i).ok()?, self.measures.get(j).ok()?)));
        let work = rows.map(|(a, b)| self.ground.work(self.relax, &a, &b));
        work.fold(0usize, usize::saturating_add) <= QUICK_ARCS
    }

    /// Refuses measures on other points, pairs of measures that are not there, and totals.
    fn check(&self) -> Result<()> {
        self.measures.check_points(self.ground.points())?;
        match self.relax {
            Relaxation::Balanced => return self.measures.check_pairs(self.pairs),
            Relaxation::Penalty(penalty) => penalty.check([self.ground.points(); 2])?,
            Relaxation::Mass(_) => {}
        }
        for &(i, j) in self.pairs {
            let (a, b) = (self.measures.get(i)?, self.measures.get(j)?);
            relaxed::checked(self.relax, a.total(), b.total())?;
        }
        Ok(())
    }

    fn on_metric(&self, metric: &GroundMetric, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.check()?;
        self.check_tables()?;
        let counter = Counter::new(SOLVING, self.pairs.len(), progress);
        choice::prepare(metric, self.measures, self.pairs, progress)?;
        let goes_on = |_| counter.add(0).is_ok();
        let solve = |solver: &mut Solver, &(i, j): &(usize, usize)| {
            let (a, b) = (self.measures.row(i), self.measures.row(j));
            let value = match self.relax {
                Relaxation::Balanced => solver.value_and_gap(metric, &a, &b, &goes_on)?.0,
                Relaxation::Penalty(penalty) => {
                    let pair = OnMetric { metric, a, b };
                    solver.penalized_value(&pair, penalty, &goes_on)?
                }
                relax @ Relaxation::Mass(_) => {
                    let pair = OnMetric { metric, a, b };
                    relaxed::solve_on_metric(solver, &pair, relax, &goes_on)?.value
                }
            };
            counter.add(1)?;
            Ok(value)
        };
        let solve = |solver: &mut Solver, pair: &(usize, usize)| {
            solve(solver, pair).map_err(|error| self.explained(metric, *pair, error))
        };
        if self.is_quick() {
            return reused(|solver| self.pairs.iter().map(|pair| solve(solver, pair)).collect());
        }
        // Points of the measure on the left are laid out once for all pairs in a row that share it.
        let on_the_left = |&at: &usize| {
            let (i, j) = self.pairs[at];
            if precedes(&self.measures.row(j), &self.measures.row(i)) { j } else { i }
        };
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by_cached_key(on_the_left);
        let solve = |solver: &mut Solver, place: usize| solve(solver, &self.pairs[order[place]]);
        let solved = parallel::try_map_with(order.len(), Solver::default, solve);
        let mut values = vec![0.0; order.len()];
        order.into_iter().zip(solved?).for_each(|(at, value)| values[at] = value);
        Ok(values)
    }

    /// The same error, or that distances and masses are too large, where they are.
    fn explained(&self, metric: &GroundMetric, (i, j): (usize, usize), error: Error) -> Error {
        let (a, b) = (self.measures.row(i), self.measures.row(j));
        let penalty = self.relax.largest_paid();
        let largest = || overflow::largest_distance(metric, &a, &b).max(penalty);
        overflow::explained(error, a.total() + b.total(), largest)
    }

    /// Refuses pairs whose tables of costs do not fit, one for each thread.
    fn check_tables(&self) -> Result<()> {
        let support = |i: usize| self.measures.row(i).support().len();
        let size = |&(i, j): &(usize, usize)| match self.ground {
            Ground::Metric(metric) if self.relax.is_balanced() => {
                exact::bytes(metric, support(i), support(j))
            }
            _ => memory::size_of::<f64>(&[support(i), support(j)]),
        };
        let threads = rayon::current_num_threads().min(self.pairs.len());
        if self.relax.is_balanced() && self.ground.is_line() {
            let points = |&(i, j): &(usize, usize)| support(i) + support(j);
            let largest = self.pairs.iter().max_by_key(|pair| points(pair));
            return largest
                .map_or(Ok(()), |&(i, j)| line::check_room(support(i), support(j), threads));
        }
        let largest = self.pairs.iter().map(size).max().unwrap_or(0);
        let step = format_args!("exact transport on {threads} threads");
        let way_out = "take fewer threads, or an estimate at the level `flow`";
        memory::check(step, largest.saturating_mul(threads as u64), way_out)
    }
}
