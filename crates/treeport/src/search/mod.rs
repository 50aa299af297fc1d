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
use potentials::{Potential, Reference};
use query::{Searcher, Until};
use side::Side;
use small::Small;
use space::{Rows, Space};

/// How an index is built.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Bytes for distances and potentials that are kept to answer faster; by default a quarter of
    /// what the machine has to spare when the index is built. Answers are the same with any.
    pub memory: Option<u64>,
    /// Points of the mean of the collection that potentials are made against.
    pub reference: usize,
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { memory: None, reference: 256 }
    }
}

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
    /// Numbers of measures and their distances, the nearest first; ties by number.
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
    /// Bounded by sweeps.
    pub swept: usize,
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
    /// and the measure's own duals.
    start: Vec<usize>,
    places: Vec<u32>,
    masses: Vec<f32>,
    own: Vec<f32>,
    side: Side,
}

impl Index {
    /// Builds an index of measures on the points of a metric.
    ///
    /// # Errors
    /// Measures on other points than the metric's or of unequal totals, no memory, or
    /// [`Error::Cancelled`] when `progress`, which counts measures, asks to stop.
    pub fn new(
        metric: &GroundMetric,
        measures: &Measures,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        measures.check_points(metric.points())?;
        Measures::check_all_balanced(&[measures])?;
        metric.prepare(progress)?;
        let bytes = options.memory.or_else(|| memory::available().map(|bytes| bytes / 4));
        let bytes = bytes.unwrap_or(1 << 30);
        let mut space = Space::new(metric, measures, bytes);
        let (mut reference, typical) = Reference::draw(&space, measures, options.reference.max(1));
        space.set_unit(typical);
        reference.scale = if typical > 0.0 { (0.8 * typical / space.unit) as f32 } else { 1.0 };
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
        };
        index.enter(measures);
        let rows = memory::size_of::<f64>(&[index.space.used.len(), index.space.used.len()]);
        let table = Side::size(index.space.used.len(), measures.len());
        let fits = rows.saturating_add(table) <= bytes && index.space.holds_all();
        let counter = Counter::new(INDEXING, measures.len(), progress);
        if fits { index.fill_side(&counter)? } else { index.settle_all(&counter)? }
        Ok(index)
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

    /// Duals of all measures, without a table.
    fn settle_all(&mut self, counter: &Counter<'_>) -> Result<()> {
        let settle = |(rows, small): &mut (Rows, Small), number: usize| {
            counter.add(1)?;
            let measure = self.measures.row(number);
            let kept = self.space.holds_all();
            if kept {
                self.space.rows(measure.iter().map(|(point, _)| point), rows)?;
            }
            self.reference.settle(&self.space, &measure, kept.then_some(rows), small);
            Ok(small.u.clone())
        };
        let numbers = 0..self.measures.len();
        let own: Result<Vec<Vec<f32>>> =
            numbers.into_par_iter().map_init(<(Rows, Small)>::default, settle).collect();
        self.own = own?.concat();
        Ok(())
    }

    /// Duals of all measures and the table of their potentials.
    fn fill_side(&mut self, counter: &Counter<'_>) -> Result<()> {
        let count = self.measures.len();
        let of_block = |first: usize| {
            let mut block = Side::begin_block(self.space.used.len())?;
            let mut work = <(Rows, Small, Potential)>::default();
            let (mut own, mut columns) = (Vec::new(), Vec::new());
            for number in first..count.min(first + side::BLOCK) {
                counter.add(1)?;
                let measure = self.measures.row(number);
                self.potential(&measure, &mut work)?;
                columns.push(Side::enter(&mut block, number - first, &work.2));
                own.extend_from_slice(&work.2.own);
            }
            Ok((block, columns, own))
        };
        let blocks = (0..count.div_ceil(side::BLOCK)).into_par_iter();
        let blocks: Result<Vec<_>> = blocks.map(|block| of_block(block * side::BLOCK)).collect();
        for (block, columns, own) in blocks? {
            self.side.push(block, &columns);
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
        potential.extend(&self.space, measure, rows, &small.u);
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
        self.space.bytes() + self.side.bytes() + entries + memory::size_of::<usize>(&[self.start.len()])
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
        if !(radius >= 0.0) {
            let expected = "a number, at least 0";
            return Err(Error::BadOption { option: "radius", value: radius.to_string(), expected });
        }
        self.search(queries, (Until::Radius(radius), Accuracy::Exact), false, progress)
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
                return Ok(Neighbors::default());
            }
            let skipped = own.then_some(number);
            let found = searcher.search(self, &queries.row(number), until, skipped, &counter)?;
            counter.add(1)?;
            Ok(found)
        };
        (0..queries.len()).into_par_iter().map_init(Searcher::default, one).collect()
    }
}
