//! Nearest neighbors under W₁, certified.
//!
//! An [`Index`] holds a collection of measures and finds those nearest to a query without solving
//! more than a few pairs exactly. Every candidate has a lower bound of its distance, a feasible dual
//! at growing cost; the one with the least bound is looked into first:
//!
//! 1. **shared**: one potential of the query, made against the mean of the collection, for all
//!    measures at once, and one of every measure for all queries; the larger bound counts;
//! 2. **transformed**: that potential on the pair alone, once shared mass is removed;
//! 3. **swept**: a few sweeps of Sinkhorn's on the pair, made feasible again;
//! 4. **exact**: the certified solver.
//!
//! What comes up with its exact distance is nearer than all that is left: a neighbor, proved. Bounds
//! are in single precision, and never above the truth (see `small` and `potentials`).
//!
//! ```
//! use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent};
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0])?;
//! let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent)?;
//! let query = Measures::from_dense(3, &[0.0, 1.0, 0.0])?;
//! let found = index.nearest(&query, 2, Accuracy::Exact, &silent)?;
//! assert_eq!(found[0].found, [(1, 0.5), (0, 1.0)]);
//! assert!(found[0].bound > 1.0); // the third is farther than this
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! # What was tried
//! Not kept: *a first basis by the duals of the sweeps* for the exact solver (35 pivots instead of 36 on
//! Belfast, 7.1 instead of 6.5 on tweets); *potentials of measures alone*, without the query's (1.3 to 4
//! times as many candidates to transform).

#[cfg(feature = "io")]
mod file;
mod potentials;
mod query;
mod side;
mod small;
mod space;
#[cfg(test)]
mod tests;

use rayon::prelude::*;

use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::{Counter, INDEXING, Progress, SEARCHING};
#[cfg(feature = "io")]
pub use file::IndexFile;
use potentials::{Potential, Reference};
use query::{Asked, Searcher, Until};
use side::Side;
use small::Small;
use space::{Rows, Space};

/// How an index is built.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Bytes for distances and potentials that are kept to answer faster, 4 GiB by default; of what
    /// the machine has to spare distances take half at most. Answers are the same with any.
    pub memory: Option<u64>,
    /// Points of the mean of the collection that potentials are made against.
    pub reference: usize,
}

impl IndexOptions {
    fn bytes(&self) -> u64 {
        self.memory.unwrap_or(4 << 30)
    }
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { memory: None, reference: 256 }
    }
}

/// The most points of a reference.
const MOST_REFERENCE: usize = 1 << 16;

/// Queries that decide how many rounds of sweeps pay, and the neighbors they ask for.
const ROUNDS_QUERIES: usize = 16;
const ROUNDS_K: usize = 10;

/// Queries that the recall of approximate answers is measured on.
const RECALL_QUERIES: usize = 64;

/// How good neighbors have to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Accuracy {
    /// The nearest, proved.
    Exact,
    /// Every distance at most 1 + ε times the true one of its rank, proved.
    Within(f64),
    /// The nearest by bounds alone, whose distances are then lower bounds: nothing is solved.
    Approximate,
}

impl Accuracy {
    /// How many times the true distance of its rank a neighbor's may be.
    fn stretch(self) -> f64 {
        if let Self::Within(epsilon) = self { 1.0 + epsilon } else { 1.0 }
    }

    fn check(self) -> Result<()> {
        match self {
            Self::Within(value) if !(value >= 0.0 && value.is_finite()) => {
                let expected = "a finite number, at least 0";
                Err(Error::BadOption { option: "within", value: value.to_string(), expected })
            }
            _ => Ok(()),
        }
    }
}

/// The neighbors of one query.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Neighbors {
    /// Numbers of measures and their distances as computed, which are certified to 10⁻⁹; the nearest
    /// first, ties by number.
    pub found: Vec<(usize, f64)>,
    /// No measure that was left out is nearer than this; infinite if none was.
    pub bound: f64,
    /// What it took.
    pub steps: Steps,
}

/// Candidates that were looked into, by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Steps {
    /// Bounded by shared potentials on the pair.
    pub transformed: usize,
    /// Bounded by sweeps, by round.
    pub swept: [usize; 3],
    /// Solved.
    pub exact: usize,
}

impl Neighbors {
    fn sort(&mut self) {
        self.found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
}

/// A collection of measures that finds those nearest to others.
#[derive(Debug)]
pub struct Index {
    space: Space,
    measures: Measures,
    removed: Vec<bool>,
    reference: Reference,
    /// Where the entries of each measure begin; their places in the space, masses of a total of 1,
    /// and, if there are potentials, the measure's own duals.
    start: Vec<usize>,
    places: Vec<u32>,
    masses: Vec<f32>,
    own: Vec<f32>,
    /// Nothing, or the potentials of all measures.
    side: Side,
    /// Rounds of sweeps before a pair is solved.
    rounds: usize,
    options: IndexOptions,
}

impl Index {
    /// Builds an index of measures on the points of a metric.
    ///
    /// # Errors
    /// Measures on other points than the metric's or of unequal totals, no memory, a pair that cannot be
    /// solved, or [`Error::Cancelled`] when `progress`, which counts measures, asks to stop.
    pub fn new(
        metric: &GroundMetric,
        measures: &Measures,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        measures.check_points(metric.points())?;
        Measures::check_all_balanced(&[measures])?;
        metric.prepare(progress)?;
        let bytes = options.bytes();
        let mut reference =
            Reference::draw(metric, measures, options.reference.clamp(1, MOST_REFERENCE));
        let mut space = Space::new(metric, measures, &reference.points, bytes);
        let typical = reference.typical_distance(metric);
        space.set_unit(typical);
        let scale = (0.8 * typical / space.unit) as f32;
        reference.scale = if scale.is_normal() { scale } else { 1.0 };
        let mut index = Self {
            space,
            measures: measures.clone(),
            removed: vec![false; measures.len()],
            reference,
            start: vec![0],
            places: Vec::new(),
            masses: Vec::new(),
            own: Vec::new(),
            side: Side::default(),
            rounds: query::ROUNDS,
            options: options.clone(),
        };
        index.enter(measures);
        let columns = index.space.points.len();
        let rows = (index.space.used as u64).saturating_mul(Space::row_size(columns));
        let table = Side::size(columns, measures.len());
        let fits = rows.saturating_add(table) <= bytes && !index.space.by_search();
        let counter = Counter::new(INDEXING, measures.len(), progress);
        if fits {
            index.space.leave_room(table);
            index.fill_side(0, &counter)?;
        }
        index.rounds = index.choose_rounds(progress)?;
        Ok(index)
    }

    /// How many rounds of sweeps pay before a pair is solved: the last is one after which as large a
    /// share of candidates need not be looked into further as it takes of the time of a solve.
    ///
    /// Shares are counted on a few measures of the collection, each among the others; times are
    /// those of one machine, so that the same collection always gives the same index.
    fn choose_rounds(&self, progress: &Progress<'_>) -> Result<usize> {
        let count = self.measures.len();
        if self.space.by_search() || count <= ROUNDS_K {
            return Ok(query::ROUNDS);
        }
        let counter = Counter::new(SEARCHING, None, progress);
        let some: Vec<usize> = (0..count).step_by(count.div_ceil(ROUNDS_QUERIES)).collect();
        let (until, rounds) = (Until::Count(ROUNDS_K), query::ROUNDS);
        let one = |searcher: &mut Searcher, &number: &usize| {
            let asked = Asked { until, accuracy: Accuracy::Exact, skipped: Some(number), rounds };
            searcher.search(self, &self.measures.row(number), asked, &counter)
        };
        let found: Result<Vec<Neighbors>> =
            some.par_iter().map_init(Searcher::default, one).collect();
        let found = found?;
        let sum = |of: &dyn Fn(&Steps) -> usize| found.iter().map(|n| of(&n.steps)).sum::<usize>();
        let points = self.measures.entries() as f64 / count as f64;
        let costs = points * points;
        let solve = 1_000.0 + 25.0 * costs * (points / 100.0).max(1.0).powf(0.4);
        let mut rounds = 1;
        for (round, per_cost) in [(1, 2.0), (2, 3.5)] {
            let entered = sum(&|steps| steps.swept[round]);
            let left = sum(&|steps| steps.swept.get(round + 1).copied().unwrap_or(steps.exact));
            let spared = entered.saturating_sub(left) as f64;
            if spared * solve > entered as f64 * (300.0 + per_cost * costs) {
                rounds = round + 1;
            }
        }
        Ok(rounds)
    }

    /// Adds measures, whose numbers follow those that were there: the first of them is returned.
    ///
    /// Potentials stay those against the collection as it was built; where many measures are added of
    /// another kind, a new index is faster. Answers are right in any case.
    ///
    /// # Errors
    /// As [`new`](Self::new); the index is then as it was.
    ///
    /// # Complexity
    /// As for an index of the added measures alone, and a copy of the collection and of up to 2,048
    /// potentials: add many at once. Where one has a point that none had before, that of building anew.
    pub fn add(&mut self, measures: &Measures, progress: &Progress<'_>) -> Result<usize> {
        let first = self.measures.len();
        measures.check_points(self.space.metric.points())?;
        Measures::check_all_balanced(&[&self.measures, measures])?;
        let all = self.measures.followed_by(measures)?;
        let mut points = measures.iter().flat_map(|measure| measure.support().to_vec());
        if points.any(|point| self.space.place[point as usize] == space::NO_PLACE) {
            let mut index = Self::new(&self.space.metric, &all, &self.options, progress)?;
            index.removed[..first].copy_from_slice(&self.removed);
            *self = index;
            return Ok(first);
        }
        let counter = Counter::new(INDEXING, measures.len(), progress);
        let entries = self.places.len();
        // From here on columns that no measure had may be in use.
        let used = std::mem::replace(&mut self.space.used, self.space.points.len());
        let before = std::mem::replace(&mut self.measures, all);
        self.enter(measures);
        let tabled = self.side.len() == first && first > 0;
        let done = if tabled { self.fill_side(first, &counter) } else { Ok(()) };
        if done.is_err() {
            self.measures = before;
            self.space.used = used;
            self.start.truncate(first + 1);
            self.places.truncate(entries);
            self.masses.truncate(entries);
        }
        done?;
        self.removed.resize(self.measures.len(), false);
        Ok(first)
    }

    /// Removes measures; the others keep their numbers.
    ///
    /// # Errors
    /// A number that no measure has, or that was removed before; nothing is removed then.
    pub fn remove(&mut self, numbers: &[usize]) -> Result<()> {
        let measures = self.measures.len();
        let mut removed = self.removed.clone();
        for &measure in numbers {
            match removed.get_mut(measure) {
                Some(removed) if !*removed => *removed = true,
                _ => return Err(Error::NoSuchMeasure { measure, measures }),
            }
        }
        self.removed = removed;
        Ok(())
    }

    /// Lays out the entries of measures.
    fn enter(&mut self, measures: &Measures) {
        for measure in measures.iter() {
            for (point, mass) in measure.iter() {
                self.places.push(self.space.place[point]);
                self.masses.push((mass / measure.total()) as f32);
            }
            self.start.push(self.places.len());
        }
    }

    /// Duals of the measures from a number on, and the table of their potentials.
    fn fill_side(&mut self, first: usize, counter: &Counter<'_>) -> Result<()> {
        let count = self.measures.len();
        // A block that is not full is filled up first.
        let begin = first / side::BLOCK * side::BLOCK;
        let old = if begin < first { self.side.blocks.last() } else { None };
        let of_block = |begin: usize| {
            let columns = side::BLOCK.min(count - begin);
            let mut block = Side::begin_block(self.space.points.len(), columns)?;
            let known = first.saturating_sub(begin);
            if let Some(old) = old.filter(|_| known > 0) {
                let rows = block.chunks_exact_mut(columns).zip(old.chunks_exact(known));
                rows.for_each(|(row, old)| row[..known].copy_from_slice(old));
            }
            let mut work = <(Rows, Small, Potential)>::default();
            let (mut own, mut scales) = (Vec::new(), Vec::new());
            for column in known..columns {
                counter.add(1)?;
                self.potential(&self.measures.row(begin + column), &mut work)?;
                scales.push(Side::enter(&mut block, (column, columns), &work.2));
                own.extend_from_slice(&work.2.own);
            }
            Ok((block, scales, own))
        };
        let blocks = (begin..count).into_par_iter().step_by(side::BLOCK);
        let blocks: Result<Vec<_>> = blocks.map(of_block).collect();
        let blocks = blocks?;
        self.side.blocks.truncate(begin / side::BLOCK);
        for (block, scales, own) in blocks {
            self.side.push(block, &scales);
            self.own.extend(own);
        }
        Ok(())
    }

    /// The potential of a measure.
    fn potential(
        &self,
        measure: &Measure<'_>,
        (rows, small, potential): &mut (Rows, Small, Potential),
    ) -> Result<()> {
        self.space.rows(measure.iter().map(|(point, _)| point), rows)?;
        let kept = (!self.space.by_search()).then_some(&*rows);
        self.reference.settle(&self.space, measure, kept, small);
        potential.extend(&self.space, measure, (rows, self.space.points.len()), &small.u);
        Ok(())
    }

    /// The number of measures that can be found.
    pub fn len(&self) -> usize {
        self.removed.iter().filter(|removed| !**removed).count()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All measures that were ever in it, by number.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// The ground metric.
    pub fn metric(&self) -> &GroundMetric {
        &self.space.metric
    }

    /// The bytes it takes now beside metric and measures: the distances kept grow with the points
    /// that queries have.
    pub fn bytes(&self) -> u64 {
        let entries = memory::size_of::<(u32, f32, f32)>(&[self.places.len()]);
        self.space.bytes()
            + self.side.bytes()
            + entries
            + memory::size_of::<usize>(&[self.start.len()])
    }

    /// The `k` nearest measures of every query, in parallel over queries; the same for any number of
    /// threads. All there are if they are fewer.
    ///
    /// # Errors
    /// Queries on other points or of another total mass, an accuracy that is none, no memory, a pair
    /// that cannot be solved; [`Error::Cancelled`] when `progress`, which counts queries, asks to
    /// stop.
    pub fn nearest(
        &self,
        queries: &Measures,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search(queries, (Until::Count(k), accuracy), false, progress)
    }

    /// All measures within a distance of every query, the distance included.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest), and a radius that is negative or not a number.
    pub fn radius(
        &self,
        queries: &Measures,
        radius: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search(queries, (Until::radius(radius)?, Accuracy::Exact), false, progress)
    }

    /// The `k` nearest others of every measure of the collection; none for those removed.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest).
    pub fn graph(
        &self,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search(&self.measures, (Until::Count(k), accuracy), true, progress)
    }

    /// All others within a distance of every measure of the collection, the distance included; none
    /// for those removed.
    ///
    /// # Errors
    /// As [`radius`](Self::radius).
    pub fn radius_graph(&self, radius: f64, progress: &Progress<'_>) -> Result<Vec<Neighbors>> {
        self.search(&self.measures, (Until::radius(radius)?, Accuracy::Exact), true, progress)
    }

    /// The share of the true `k` nearest that [`Accuracy::Approximate`] finds, measured on some of the
    /// measures of the collection as queries, each among the others; 1 if there is none to ask about.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest).
    pub fn expected_recall(&self, k: usize, progress: &Progress<'_>) -> Result<f64> {
        let present: Vec<usize> = (0..self.removed.len()).filter(|&i| !self.removed[i]).collect();
        let step = present.len().div_ceil(RECALL_QUERIES).max(1);
        let some: Vec<usize> = present.into_iter().step_by(step).collect();
        let counter = Counter::new(SEARCHING, some.len(), progress);
        let recall = |searcher: &mut Searcher, &number: &usize| {
            counter.add(1)?;
            let mut ask = |accuracy| {
                let (until, skipped) = (Until::Count(k), Some(number));
                let asked = Asked { until, accuracy, skipped, rounds: self.rounds };
                searcher.search(self, &self.measures.row(number), asked, &counter)
            };
            let (best, found) = (ask(Accuracy::Exact)?, ask(Accuracy::Approximate)?);
            let right = found.found.iter().filter(|a| best.found.iter().any(|b| a.0 == b.0));
            Ok((right.count(), best.found.len()))
        };
        let counts: Result<Vec<(usize, usize)>> =
            some.par_iter().map_init(Searcher::default, recall).collect();
        let (right, all) = counts?.iter().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        Ok(if all > 0 { right as f64 / all as f64 } else { 1.0 })
    }

    fn search(
        &self,
        queries: &Measures,
        until: (Until, Accuracy),
        own: bool,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        queries.check_points(self.space.metric.points())?;
        until.1.check()?;
        Measures::check_all_balanced(&[queries, &self.measures])?;
        let counter = Counter::new(SEARCHING, queries.len(), progress);
        let one = |searcher: &mut Searcher, number: usize| {
            if own && self.removed[number] {
                return Ok(Neighbors { bound: f64::INFINITY, ..Neighbors::default() });
            }
            let (until, accuracy) = until;
            let (skipped, rounds) = (own.then_some(number), self.rounds);
            let asked = Asked { until, accuracy, skipped, rounds };
            let found = searcher.search(self, &queries.row(number), asked, &counter)?;
            counter.add(1)?;
            Ok(found)
        };
        (0..queries.len()).into_par_iter().map_init(Searcher::default, one).collect()
    }
}
