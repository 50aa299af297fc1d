//! Nearest neighbors under W₁, proved.
//!
//! An [`Index`] holds a collection of measures and finds those nearest to a query without solving more
//! than a few pairs exactly.
//!
//! ```
//! use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent};
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
//! let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0])?;
//! let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent)?;
//! let query = Measures::from_dense(3, &[0.0, 1.0, 0.0])?;
//! let found = index.nearest(&query, 2, Accuracy::EXACT, &silent)?;
//! assert_eq!(found[0].found, [(1, 0.5), (0, 1.0)]);
//! assert!(found[0].bound > 1.0); // the third is farther than this
//! # Ok::<(), treeport::Error>(())
//! ```
//!
//! [`Index::nearest`] and [`Index::radius`] answer queries, [`Index::graph`] asks for the neighbors of all
//! measures of the collection, [`Index::add`] and [`Index::remove`] change it. [`Index::of_clouds`] is for
//! measures that bring their own points, [`nearest_in_parts`] for collections in several indexes.
//!
//! # How it works
//! Every candidate has a lower bound of its distance, the value of a feasible dual. The candidate with the
//! least bound comes next, and its bound is raised by the next of four levels, each of which costs more than
//! the one before:
//!
//! 1. **shared**: a potential of every measure, made against the mean of the collection and tabled
//!    (`potential_table`, `tabulate`), bounds it for all queries by one sum. Where there is no table, or
//!    where it is worth its time (`build`), a potential of the query bounds all measures;
//! 2. **transformed**: that potential on the pair alone, once shared mass is removed; first with one point
//!    of the measure after the other (`partial`), which is enough for most, then with all;
//! 3. **swept**: a few sweeps of Sinkhorn's on the pair, made feasible again;
//! 4. **exact**: the certified solver.
//!
//! A candidate that comes up with its exact distance is no farther than all that are left: a neighbor,
//! proved.
//!
//! Levels 2 and 3 need the distances from the query's points to those of the candidates that are
//! looked into: `query_distances` computes them in single precision when they are first needed, and
//! keeps none for the next query. Bounds are in single precision, and never above the truth (see
//! `solve::single_problem` and `potentials`). Double precision begins with level 4.
//!
//! Levels 2 and 3 may be done elsewhere, for many pairs at once: [`Index::likely`] says for which, and
//! [`Index::nearest_given`] takes the bounds (`given`).

mod build;
mod candidates;
#[cfg(test)]
mod cloud_tests;
mod clouds;
#[cfg(feature = "io")]
mod file;
mod given;
mod indexed_points;
mod labels;
mod net;
#[cfg(doc)]
pub mod notes;
mod pair;
mod partial;
mod parts;
mod penalties;
mod potential_table;
mod potentials;
mod query;
mod query_distances;
mod remove;
mod solved_pairs;
mod tabulate;
#[cfg(test)]
mod tests;

use std::ops::Range;

use crate::accuracy::{Accuracy, Question};
use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::SEARCHING;
pub use clouds::MeasureSet;
#[cfg(feature = "io")]
pub use file::{IndexFile, SavedFile};
pub use given::{Asking, GivenBounds};
use indexed_points::IndexedPoints;
pub use parts::{PartSearch, nearest_in_parts};
use penalties::Prices;
use potential_table::PotentialTable;
use potentials::Reference;
use query::{SearchEnd, SearchRequest, Searcher};
use solved_pairs::SolvedPairs;

/// How an index is built.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Bytes for potentials of measures, which are kept to answer faster: 2 for each measure and point,
    /// all of them or none; 4 GiB by default. Of clouds it is 2 for each cloud and point of a net, which has
    /// fewer points where there is less memory, and 16 times the bytes of masses and coordinates by default. Answers
    /// are the same with any.
    pub memory: Option<u64>,
    /// Points of the mean of the collection that potentials are made against.
    pub reference: usize,
    /// Of clouds: totals may differ, and a unit of mass that is not moved costs this much.
    pub penalty: Option<f64>,
}

impl IndexOptions {
    /// The bytes for potentials, `most` where nothing is said.
    fn bytes(&self, most: u64) -> u64 {
        self.memory.unwrap_or(most)
    }
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { memory: None, reference: 256, penalty: None }
    }
}

/// Queries that the recall of approximate answers is measured on.
const RECALL_QUERIES: usize = 64;

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
    /// Bounded by shared potentials on all of the pair.
    pub transformed: usize,
    /// Bounded by sweeps, by round.
    pub swept: [usize; 3],
    /// Solved; in searches of a collection among itself, for this measure or for the other.
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
    indexed: IndexedPoints,
    /// Where the measures are clouds, each with points of its own: the points that potentials are tabled at, those of
    /// the reference first.
    net: Option<IndexedPoints>,
    measures: Measures,
    /// The number of each measure, ascending; those of removed measures are not given again.
    numbers: Vec<usize>,
    next_number: usize,
    reference: Reference,
    /// Where the entries of each measure begin; of every entry its column, its mass in a total of 1, and
    /// its dual, if there are potentials or measures are clouds.
    start: Vec<usize>,
    columns: Vec<u32>,
    masses: Vec<f32>,
    own_duals: Vec<f32>,
    /// Nothing, or the potentials of all measures.
    potentials: PotentialTable,
    /// Where mass of clouds may be left behind: at which prices.
    prices: Option<Prices>,
    /// Rounds of sweeps before a pair is solved.
    rounds: usize,
    /// Whether the potential of the query is worth its time where measures have their own.
    by_query: bool,
    options: IndexOptions,
}

impl Index {
    /// The number of measures that can be found.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The measures that can be found, in the order of their numbers, with their names, if they have any.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// The number of each of its [`measures`](Self::measures), ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// The number that the next measure gets: as many as were ever in it.
    pub fn next_number(&self) -> usize {
        self.next_number
    }

    /// The row of the measure of a number among those that can be found.
    fn row_of(&self, number: usize) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// The ground metric.
    pub fn metric(&self) -> &GroundMetric {
        &self.indexed.metric
    }

    /// The points that potentials are tabled at, those of the reference first.
    fn tabled(&self) -> &IndexedPoints {
        self.net.as_ref().unwrap_or(&self.indexed)
    }

    /// The bytes it takes beside metric and measures.
    pub fn bytes(&self) -> u64 {
        let entries = memory::size_of::<(u32, f32)>(&[self.columns.len()]);
        self.indexed.bytes()
            + self.net.as_ref().map_or(0, IndexedPoints::bytes)
            + self.potentials.bytes()
            + entries
            + memory::size_of::<f32>(&[self.own_duals.len()])
            + memory::size_of::<usize>(&[self.start.len()])
    }

    /// The `k` nearest measures of every query, in parallel over queries; the same for any number of
    /// threads. All there are if they are fewer.
    ///
    /// # Errors
    /// Queries on other points or of another total mass, an accuracy that a search cannot use, no memory, a pair
    /// that cannot be solved; [`Error::Cancelled`] when `progress`, which counts queries, asks to
    /// stop.
    pub fn nearest<'q>(
        &self,
        queries: impl Into<MeasureSet<'q>>,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search_for(queries.into(), self.request(SearchEnd::Count(k), accuracy), progress)
    }

    /// All measures within a distance of every query, the distance included.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest), and a radius that is negative or not a number.
    pub fn radius<'q>(
        &self,
        queries: impl Into<MeasureSet<'q>>,
        radius: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let asked = self.request(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_for(queries.into(), asked, progress)
    }

    /// Looks for the neighbors of all queries.
    fn search_for(
        &self,
        queries: MeasureSet<'_>,
        asked: SearchRequest<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let resolved = self.resolved(queries)?;
        let (measures, asked) = (resolved.measures, resolved.asked(asked));
        self.search(measures, 0..measures.len(), asked, false, None, progress)
    }

    /// The `k` nearest others of every measure of the collection, by number; none for those removed.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest).
    pub fn graph(
        &self,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.graph_rows(0..self.next_number, k, accuracy, progress)
    }

    /// Some rows of [`graph`](Self::graph), to the bit.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest), and rows that there are not.
    pub fn graph_rows(
        &self,
        rows: Range<usize>,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search_own(rows, self.request(SearchEnd::Count(k), accuracy), progress)
    }

    /// All others within a distance of every measure of the collection, the distance included; none
    /// for those removed.
    ///
    /// # Errors
    /// As [`radius`](Self::radius).
    pub fn radius_graph(&self, radius: f64, progress: &Progress<'_>) -> Result<Vec<Neighbors>> {
        self.radius_graph_rows(0..self.next_number, radius, progress)
    }

    /// Some rows of [`radius_graph`](Self::radius_graph), to the bit.
    ///
    /// # Errors
    /// As [`radius`](Self::radius), and rows that there are not.
    pub fn radius_graph_rows(
        &self,
        rows: Range<usize>,
        radius: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let asked = self.request(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_own(rows, asked, progress)
    }

    /// A search among all measures.
    fn request(&self, end: SearchEnd, accuracy: Accuracy) -> SearchRequest<'static> {
        SearchRequest {
            end,
            accuracy,
            skipped: None,
            limit: f64::INFINITY,
            rounds: self.rounds,
            by_query: self.by_query,
            solved: None,
            others: None,
            prices: None,
            given: &[],
        }
    }

    /// Looks for the neighbors of some measures of the collection, by number, among the others.
    fn search_own(
        &self,
        numbers: Range<usize>,
        asked: SearchRequest<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let measures = self.next_number;
        if let Some(measure) = numbers.clone().last().filter(|&last| last >= measures) {
            return Err(Error::NoSuchMeasure { measure, measures });
        }
        let step = format_args!("the neighbors of {} measures", numbers.len());
        let bytes = memory::size_of::<Neighbors>(&[numbers.len()]);
        memory::check(step, bytes, "ask for some rows at a time")?;
        // What one has solved, the other need not.
        let solved = SolvedPairs::default();
        let asked = SearchRequest { solved: Some(&solved), ..asked };
        self.search(&self.measures, numbers, asked, true, None, progress)
    }

    /// The share of the true `k` nearest that [`Accuracy::Approximate`] finds, measured on some of the
    /// measures of the collection as queries, each among the others; 1 if there is none to ask about.
    ///
    /// # Errors
    /// As [`nearest`](Self::nearest).
    pub fn expected_recall(&self, k: usize, progress: &Progress<'_>) -> Result<f64> {
        let step = self.len().div_ceil(RECALL_QUERIES).max(1);
        let some: Vec<usize> = (0..self.len()).step_by(step).collect();
        let counter = Counter::new(SEARCHING, some.len(), progress);
        let recall = |searcher: &mut Searcher, at: usize| {
            let row = some[at];
            counter.add(1)?;
            let mut ask = |accuracy| {
                let asked = self.request(SearchEnd::Count(k), accuracy);
                let asked = SearchRequest { skipped: Some(row), ..asked };
                searcher.search(self, &self.measures.row(row), asked, &counter)
            };
            let (best, found) = (ask(Accuracy::EXACT)?, ask(Accuracy::Approximate)?);
            let right = found.found.iter().filter(|a| best.found.iter().any(|b| a.0 == b.0));
            Ok((right.count(), best.found.len()))
        };
        let counts = parallel::try_map_with(some.len(), Searcher::default, recall)?;
        let (right, all) = counts.iter().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        Ok(if all > 0 { right as f64 / all as f64 } else { 1.0 })
    }

    /// Searches for some of the queries; where they are the collection's own measures, by number, none
    /// finds itself. A query may have bounds that were found before.
    fn search<'g>(
        &self,
        queries: &Measures,
        rows: Range<usize>,
        asked: SearchRequest<'_>,
        own: bool,
        given: Option<&(dyn Fn(usize) -> &'g [(usize, f64)] + Sync)>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        asked.accuracy.check_for(Question::Search)?;
        let counter = Counter::new(SEARCHING, rows.len(), progress);
        let one = |searcher: &mut Searcher, number: usize| {
            let row = if own { self.row_of(number) } else { Some(number) };
            let Some(row) = row else {
                return Ok(Neighbors::none());
            };
            let given = given.map_or(&[][..], |given| given(number));
            let asked = SearchRequest { skipped: own.then_some(row), given, ..asked };
            let found = searcher.search(self, &queries.row(row), asked, &counter)?;
            counter.add(1)?;
            Ok(found)
        };
        let one = |searcher: &mut Searcher, at: usize| one(searcher, rows.start + at);
        parallel::try_map_with(rows.len(), Searcher::default, one)
    }
}
