//! Many problems on one ground: pairs of measures, solved in parallel.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::Problem;
use super::components;
use super::ground::Ground;
use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::memory;
use crate::progress::tasks::SOLVING;
use crate::progress::{Counter, Progress};
use crate::solve::aim::{Aim, Wanted};
use crate::solve::answer::Answer;
use crate::solve::costs::device::Device;
use crate::solve::exact::line;
use crate::solve::forecast::{self, Forecast};
use crate::solve::order;
use crate::solve::relax::{Penalty, Relax, Relaxation};
use crate::solve::route::{DeviceUse, QUICK_ARCS, Route, Size, prepare};
use crate::solve::sides::precedes;
use crate::solve::workspace::{Workspace, lend};
use crate::tools::parallel;

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
    /// Order of the distance: see [`Problem::with_order`].
    order: f64,
    device: Option<&'a Arc<dyn Device>>,
}

/// Certified bounds of the values of many problems, in the order of the problems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intervals {
    /// Lower bounds of the values.
    pub lower: Vec<f64>,
    /// Upper bounds of the values.
    pub upper: Vec<f64>,
}

/// A total time limit, divided among the problems as they start.
struct SharedTime {
    end: Option<Instant>,
    /// Problems that have not started.
    pending: AtomicUsize,
    threads: usize,
}

impl SharedTime {
    fn new(time: Option<Duration>, problems: usize) -> Self {
        let end = time.and_then(|time| Instant::now().checked_add(time));
        let threads = rayon::current_num_threads();
        Self { end, pending: AtomicUsize::new(problems), threads }
    }

    /// Returns the time limit of the next problem: the remaining time divided by the number of
    /// rounds in which all threads solve the remaining problems.
    fn next(&self) -> Option<Duration> {
        let pending = self.pending.fetch_sub(1, Ordering::Relaxed);
        let left = self.end?.saturating_duration_since(Instant::now());
        Some(left.div_f64(pending.div_ceil(self.threads).max(1) as f64))
    }
}

impl<'a> Problems<'a> {
    /// Creates balanced problems between pairs of measures, given by their numbers.
    pub fn new(
        ground: impl Into<Ground<'a>>,
        measures: &'a Measures,
        pairs: &'a [(usize, usize)],
    ) -> Self {
        let (ground, relax) = (ground.into(), Relaxation::Balanced);
        Self { ground, measures, pairs, relax, order: 1.0, device: None }
    }

    /// Sets the relaxation of every problem: how much mass may stay behind, or the penalty for it.
    #[must_use]
    pub fn relaxed(self, relax: Relax) -> Self {
        Self { relax: relax.into(), ..self }
    }

    /// Sets a penalty for each point of the ground, on both sides: see [`Problem::with_penalties`].
    #[must_use]
    pub fn with_penalties(self, penalties: &'a [f64]) -> Self {
        self.with_relaxation(Relaxation::Penalty(Penalty::OfPoints([penalties; 2])))
    }

    /// Sets the order of every distance: see [`Problem::with_order`].
    #[must_use]
    pub fn with_order(self, order: f64) -> Self {
        Self { order, ..self }
    }

    /// Calls `ask` with the same problems between squared distances, if these solve order 2 faster.
    fn by_squares<T>(&self, ask: impl FnOnce(&Problems<'_>) -> Result<T>) -> Option<Result<T>> {
        let Ground::Metric(metric) = self.ground else { return None };
        let squared = match order::squared(metric, self.order)? {
            Ok(squared) => squared,
            Err(error) => return Some(Err(error)),
        };
        let prices: Vec<f64>;
        let relax = match self.relax {
            Relaxation::Penalty(Penalty::Same(price)) => {
                Relaxation::Penalty(Penalty::Same(price * price))
            }
            // On a ground both sides have the same penalties.
            Relaxation::Penalty(Penalty::OfPoints([list, _])) => {
                prices = list.iter().map(|price| price * price).collect();
                Relaxation::Penalty(Penalty::OfPoints([&prices; 2]))
            }
            relax => relax,
        };
        let ground = Ground::Metric(&squared);
        Some(self.check().and_then(|()| ask(&Problems { ground, relax, order: 1.0, ..*self })))
    }

    pub(in crate::solve) fn with_relaxation(self, relax: Relaxation<'a>) -> Self {
        Self { relax, ..self }
    }

    /// Lets a device scan all pairs of points of large problems.
    #[doc(hidden)]
    #[must_use]
    pub fn on_device(self, device: &'a Arc<dyn Device>) -> Self {
        Self { device: Some(device), ..self }
    }

    /// Computes the [value](super::Problem::value) of every problem; `progress` counts the pairs.
    ///
    /// Neither the number of threads nor the batch changes the bits of a value, except on graphs,
    /// where distances may be summed in another order.
    ///
    /// A graph is [prepared](crate::GroundMetric::prepare) first if the pairs need many of its
    /// distances. If supports share many points, [materialized](crate::GroundMetric::materialized)
    /// distances are faster.
    ///
    /// # Errors
    /// Those of [`Problem::value`](super::Problem::value), with the numbers of the measures;
    /// [`Error::Canceled`](crate::Error::Canceled) when `progress` asks to stop.
    pub fn values(&self, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.check()?;
        match self.by_squares(|problems| problems.values(progress)) {
            // One of them needs other units.
            None | Some(Err(Error::Unsolved { .. } | Error::Overflow { .. })) => {}
            Some(squares) => return Ok(squares?.into_iter().map(f64::sqrt).collect()),
        }
        if let (Ground::Components(ground), 1.0) = (self.ground, self.order) {
            return components::values(ground, self.measures, self.pairs, self.relax, progress);
        }
        self.check_tables()?;
        self.prepare(progress)?;
        let counter = Counter::new(SOLVING, self.pairs.len(), progress);
        let solve = |space: &mut Workspace, &pair: &(usize, usize)| {
            let answer = self
                .problem(pair)
                .answer_with(space, &Aim::value(), &|_| counter.add(0).is_ok())?;
            counter.add(1)?;
            Ok::<f64, Error>(answer.upper)
        };
        if self.is_quick() {
            return lend(|space| self.pairs.iter().map(|pair| solve(space, pair)).collect());
        }
        // Consecutive pairs with the same left measure share the layout of its points.
        let left_measure = |&at: &usize| {
            let (i, j) = self.pairs[at];
            if precedes(&self.measures.row(j), &self.measures.row(i)) { j } else { i }
        };
        let mut order: Vec<usize> = (0..self.pairs.len()).collect();
        order.sort_by_cached_key(left_measure);
        let solve = |space: &mut Workspace, place: usize| solve(space, &self.pairs[order[place]]);
        let solved = parallel::try_map_with(order.len(), Workspace::default, solve);
        let mut values = vec![0.0; order.len()];
        order.into_iter().zip(solved?).for_each(|(at, value)| values[at] = value);
        Ok(values)
    }

    /// Returns the problem of a pair.
    fn problem(&self, (i, j): (usize, usize)) -> Problem<'a> {
        let (a, b) = (self.measures.row(i), self.measures.row(j));
        let problem = Problem::new(self.ground, &a, &b).with_relaxation(self.relax);
        let problem = problem.with_order(self.order).numbered(i, j);
        match self.device {
            Some(device) => problem.on_device(device),
            None => problem,
        }
    }

    fn prepare(&self, progress: &Progress<'_>) -> Result<()> {
        let Ground::Metric(metric) = self.ground else { return Ok(()) };
        let support = |i: usize| self.measures.row(i).support().len();
        prepare(metric, self.pairs.iter().map(|&(i, j)| (support(i), support(j))), progress)
    }

    /// Computes certified bounds of every value, by [`Problem::answer`](super::Problem::answer).
    ///
    /// Without a time limit the number of threads does not change the bounds. A time limit holds
    /// for all problems together: each gets an equal share of the time that remains when it starts,
    /// so later problems inherit unused time and every problem has bounds in the end.
    ///
    /// # Example
    /// ```
    /// use treeport::{Aim, GroundMetric, Measures, PointMetric, Problems, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean)?;
    /// let measures = Measures::from_dense(2, &[2.0, 0.0, 0.0, 2.0])?;
    /// let problems = Problems::new(&metric, &measures, &[(0, 1)]);
    /// let found = problems.bounds(&Aim::within(0.1), &silent)?;
    /// assert!(found.lower[0] <= 2.0 && found.upper[0] >= 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn bounds(&self, aim: &Aim, progress: &Progress<'_>) -> Result<Intervals> {
        aim.check()?;
        self.check()?;
        let squared = Aim { accuracy: order::accuracy_of_powers(aim.accuracy, 2.0), ..*aim };
        if let Some(found) = self.by_squares(|problems| problems.bounds(&squared, progress)) {
            let root = |squares: Vec<f64>| squares.into_iter().map(f64::sqrt).collect();
            return found.map(|Intervals { lower, upper }| {
                let (lower, upper) = (root(lower), root(upper));
                Intervals { lower, upper }
            });
        }
        let values = Aim { wanted: Wanted::Value, ..*aim };
        let found = self.map_answers(&values, progress, |answer| (answer.lower, answer.upper))?;
        let (lower, upper) = found.into_iter().unzip();
        Ok(Intervals { lower, upper })
    }

    /// Answers every problem, as [`bounds`](Self::bounds) does, and maps each answer, such as its
    /// plan, to something smaller.
    ///
    /// # Errors
    /// Those of [`bounds`](Self::bounds).
    pub fn map_answers<T: Send>(
        &self,
        aim: &Aim,
        progress: &Progress<'_>,
        map: impl Fn(Answer) -> T + Sync,
    ) -> Result<Vec<T>> {
        aim.check()?;
        self.check()?;
        let counter = Counter::new(SOLVING, self.pairs.len(), progress);
        let shared = SharedTime::new(aim.time, self.pairs.len());
        if aim.time.is_none() {
            self.prepare(progress)?;
        }
        let answer = |space: &mut Workspace, at: usize| {
            let own = Aim { time: shared.next(), ..*aim };
            let problem = self.problem(self.pairs[at]);
            let found = problem.answer_with(space, &own, &|_| counter.add(0).is_ok())?;
            counter.add(1)?;
            Ok(map(found))
        };
        parallel::try_map_with(self.pairs.len(), Workspace::default, answer)
    }

    /// Returns the [route](super::Problem::route) of every problem, without solving.
    pub fn routes(&self, aim: &Aim) -> Result<Vec<Route>> {
        self.check()?;
        self.pairs.iter().map(|&pair| self.problem(pair).route(aim)).collect()
    }

    /// Estimates time and memory of [`bounds`](Self::bounds) on the current thread pool, as
    /// [`Problem::forecast`](super::Problem::forecast) does; skips pairs with a missing measure.
    pub fn forecast(&self, aim: &Aim) -> Forecast {
        let each = Aim { time: None, ..*aim };
        let mut all = Forecast::default();
        for size in self.sizes() {
            all += forecast::of_size(&size, &each);
        }
        let threads = rayon::current_num_threads().clamp(1, self.pairs.len().max(1));
        let most = aim.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
        all.seconds = (all.seconds / threads as f64).min(most);
        all.bytes = all.bytes.saturating_mul(threads as u64);
        all
    }

    /// Returns the sizes of the problems; pairs with a missing measure are skipped.
    fn sizes(&self) -> impl Iterator<Item = Size<'_>> {
        let support = |i: usize| self.measures.get(i).ok().map(|row| row.support().len());
        let relax = self.relax;
        let costs = self.ground.costs();
        self.pairs.iter().filter_map(move |&(i, j)| {
            let (left, right) = (support(i)?, support(j)?);
            Some(Size {
                costs: costs?,
                left,
                right,
                relax,
                device: DeviceUse::None,
                has_wide_masses: false,
            })
        })
    }

    /// Returns whether one thread solves all problems before others would start.
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

    /// Refuses measures on other points, missing measures, totals that do not match, and penalties or
    /// masses out of range, which every answer refuses, too. Nothing is solved.
    pub fn check(&self) -> Result<()> {
        self.measures.check_points(self.ground.points())?;
        order::check(self.order)?;
        match self.relax {
            Relaxation::Balanced => return self.measures.check_pairs(self.pairs),
            Relaxation::Penalty(penalty) => penalty.check([self.ground.points(); 2])?,
            Relaxation::Mass(_) => {}
        }
        for &(i, j) in self.pairs {
            let (a, b) = (self.measures.get(i)?, self.measures.get(j)?);
            self.relax.checked(a.total(), b.total())?;
        }
        Ok(())
    }

    /// Refuses pairs whose cost tables, one for each thread, do not fit into memory.
    fn check_tables(&self) -> Result<()> {
        let threads = rayon::current_num_threads().min(self.pairs.len());
        if self.relax.is_balanced() && self.ground.is_line() {
            let largest = self.sizes().max_by_key(|size| size.left + size.right);
            return largest
                .map_or(Ok(()), |size| line::check_memory(size.left, size.right, threads));
        }
        let largest = self.sizes().map(|size| forecast::bytes(&size)).max().unwrap_or(0);
        let step = format_args!("exact transport on {threads} threads");
        let way_out = if self.relax.is_balanced() {
            "take fewer threads, or an estimate at the level `flow`"
        } else {
            "take fewer threads, or measures with fewer points"
        };
        memory::check(step, largest.saturating_mul(threads as u64), way_out)
    }
}
