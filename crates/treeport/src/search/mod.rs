//! Exact nearest neighbors under W₁.
//!
//! An [`Index`] holds a collection of measures and finds the nearest to a query while it solves
//! only a few pairs exactly.
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
//! [`Index::nearest`] and [`Index::radius`] answer queries, [`Index::graph`] finds the neighbors of
//! all measures of the collection, [`Index::add`] and [`Index::remove`] change it.
//! [`Index::of_clouds`] indexes measures with their own points, and [`PartSearch`] searches several
//! indexes.
//!
//! # How it works
//! Every candidate has a lower bound of its distance, the value of a feasible dual. The search is
//! best-first: it takes the candidate with the smallest bound and raises that bound by the next of
//! four levels, each more expensive than the one before:
//!
//! 1. **shared**: a potential of every measure, made against the mean of the collection and
//!    tabulated (`potential_table`, `tabulate`), bounds it for any query by one sum. Without a
//!    table, or if it pays (`build`), a potential of the query bounds all measures;
//! 2. **transformed**: that potential on the pair alone, after shared mass is removed; first point
//!    by point of the measure (`partial`), which suffices for most, then with all points;
//! 3. **swept**: a few Sinkhorn sweeps on the pair, made feasible again;
//! 4. **exact**: the certified solver.
//!
//! A candidate that reaches the top with its exact distance is a neighbor: no bound of the others
//! is smaller.
//!
//! Levels 2 and 3 need the distances from the query's points to those of the candidates that are
//! refined: `query_distances` computes them on demand in single precision and drops them after the
//! query. Bounds are in single precision and never above the exact value (see
//! `solve::single_problem` and `potentials`). Level 4 uses double precision.
//!
//! Levels 2 and 3 may run elsewhere for many pairs at once: `Index::likely` lists the pairs, and
//! `Index::nearest_given` takes their bounds (`external_bounds`).

mod build;
mod candidates;
mod cloud_levels;
#[cfg(test)]
mod cloud_tests;
mod clouds;
mod deadline;
mod device_points;
mod external_bounds;
#[cfg(feature = "io")]
mod file;
mod indexed_points;
mod names;
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
mod shared_bounds;
mod solved_pairs;
mod stretch;
mod tabulate;
#[cfg(test)]
mod tests;

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Duration;

use crate::accuracy::{Accuracy, PROOF_TOLERANCE, Question};
use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::tasks::SEARCHING;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;
pub use clouds::MeasureSet;
#[doc(hidden)]
pub use device_points::DevicePoints;
#[doc(hidden)]
#[allow(deprecated, reason = "former names")]
pub use external_bounds::{Asking, ExternalBounds, GivenBounds, QuerySource};
#[cfg(feature = "io")]
pub use file::{IndexFile, SavedFile};
use indexed_points::IndexedPoints;
pub use parts::PartSearch;
use penalties::Prices;
use potential_table::PotentialTable;
use potentials::Reference;
use query::{AdaptRequest, SearchEnd, SearchRequest, Searcher};
use solved_pairs::SolvedPairs;
use stretch::Stretch;

/// Options for building an index.
#[derive(Clone, Debug, PartialEq)]
pub struct IndexOptions {
    /// Memory in bytes for potentials of measures, which speed up searches: 2 bytes per measure and
    /// point, for all measures or for none; 4 GiB by default. For clouds, 2 bytes per cloud and
    /// point of a net, which has fewer points if there is less memory; 16 times the bytes of masses
    /// and coordinates by default. Results do not depend on it.
    pub memory: Option<u64>,
    /// Number of points sampled from the mean of the collection, against which potentials are made.
    pub reference: usize,
    /// Penalty per unit of unmatched mass; totals may then differ. Only for clouds.
    pub penalty: Option<f64>,
}

impl IndexOptions {
    /// Returns the memory for potentials, by default `most`.
    fn bytes(&self, most: u64) -> u64 {
        self.memory.unwrap_or(most)
    }
}

impl Default for IndexOptions {
    fn default() -> Self {
        Self { memory: None, reference: 256, penalty: None }
    }
}

/// Number of queries on which the recall of approximate searches is measured.
const RECALL_QUERIES: usize = 64;

/// The neighbors of one query.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Neighbors {
    /// Numeric IDs of measures and their computed distances, certified to 10⁻⁹, in ascending order;
    /// ties go to the smaller ID.
    pub found: Vec<(usize, f64)>,
    /// Lower bound of the distance of every measure that is not listed; infinite if all are.
    pub bound: f64,
    /// Numbers of refined candidates.
    pub steps: Steps,
}

/// Numbers of refined candidates, by level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Steps {
    /// Bounded by shared potentials on all points of the pair.
    pub transformed: usize,
    /// Bounded by sweeps, per round.
    pub swept: [usize; 3],
    /// Solved; in a self-join, for either of the two measures.
    pub exact: usize,
}

impl Steps {
    fn add(&mut self, more: &Self) {
        self.transformed += more.transformed;
        self.swept.iter_mut().zip(more.swept).for_each(|(count, more)| *count += more);
        self.exact += more.exact;
    }
}

impl Neighbors {
    /// Returns whether the bound proves that nothing else is nearer than the last neighbor: always
    /// in exact searches, and otherwise where all other bounds are large enough.
    ///
    /// Distances are those of the accuracy of the search, certified to 10⁻⁹.
    pub fn is_proved(&self) -> bool {
        self.found.last().is_none_or(|last| self.bound >= last.1 * (1.0 - PROOF_TOLERANCE))
    }

    fn sort(&mut self) {
        self.found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    }
}

/// A collection of measures for nearest-neighbor queries.
#[derive(Debug)]
pub struct Index {
    indexed: IndexedPoints,
    /// For clouds, the points at which potentials are tabulated, those of the reference first.
    net: Option<IndexedPoints>,
    measures: Measures,
    /// Numeric ID of each measure, ascending; IDs of removed measures are not reused.
    numbers: Vec<usize>,
    /// Numeric ID of the next added measure.
    next_number: usize,
    reference: Reference,
    /// First entry of each measure, then the end of the last.
    start: Vec<usize>,
    /// Column of every entry.
    columns: Vec<u32>,
    /// Mass of every entry, normalized to a total of 1 for each measure.
    masses: Vec<f32>,
    /// Dual value of every entry; empty for measures on shared points without potentials.
    own_duals: Vec<f32>,
    /// Potentials of all measures, or empty.
    potentials: PotentialTable,
    /// Prices of unmatched mass, for relaxed clouds.
    prices: Option<Prices>,
    /// Number of sweep rounds before a pair is solved.
    rounds: usize,
    /// The potential of the query is used even if measures have their own.
    by_query: bool,
    options: IndexOptions,
    /// Factors of approximate searches, once measured.
    stretch: OnceLock<Stretch>,
}

impl Index {
    /// Number of measures.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Checks whether there are no measures.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The measures in the order of their numbers, with their names, if any.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Number of each of its [`measures`](Self::measures), ascending.
    pub fn numbers(&self) -> &[usize] {
        &self.numbers
    }

    /// Number of the next added measure: as many as were ever in the index.
    pub fn next_number(&self) -> usize {
        self.next_number
    }

    /// Returns the row of the measure with this number.
    fn row_of(&self, number: usize) -> Option<usize> {
        self.numbers.binary_search(&number).ok()
    }

    /// The ground metric.
    pub fn metric(&self) -> &GroundMetric {
        &self.indexed.metric
    }

    /// The points at which potentials are tabulated, those of the reference first.
    fn tabled(&self) -> &IndexedPoints {
        self.net.as_ref().unwrap_or(&self.indexed)
    }

    /// Bytes of memory beyond the metric and the measures.
    pub fn bytes(&self) -> u64 {
        let entries = memory::size_of::<(u32, f32)>(&[self.columns.len()]);
        self.indexed.bytes()
            + self.net.as_ref().map_or(0, IndexedPoints::bytes)
            + self.potentials.bytes()
            + entries
            + memory::size_of::<f32>(&[self.own_duals.len()])
            + memory::size_of::<usize>(&[self.start.len()])
    }

    /// Finds the `k` nearest measures of every query, or all if there are fewer. Queries run in
    /// parallel; the result does not depend on the number of threads.
    ///
    /// # Errors
    /// Queries on other points or of another total mass; an accuracy that searches do not support;
    /// not enough memory; a pair that cannot be solved; [`Error::Canceled`] if `progress`, which
    /// counts queries, requests a stop.
    pub fn nearest<'q>(
        &self,
        queries: impl Into<MeasureSet<'q>>,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search_for(queries.into(), self.request(SearchEnd::Count(k), accuracy), progress)
    }

    /// Finds near measures of every query within about this time for each: the `k` best of those
    /// solved by then, or the `k` that seem nearest if fewer were solved. Their distances are exact;
    /// a list is proved where its last distance is at most [`Neighbors::bound`]. The time of solving
    /// them is part of the limit, but a query takes at least that of bounding all measures once and
    /// solving `k`.
    ///
    /// Results depend on the speed of the machine.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest).
    ///
    /// # Example
    /// ```
    /// use std::time::Duration;
    /// use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(3, [0, 1, 2])?;
    /// let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent)?;
    /// let time = Duration::from_millis(20);
    /// let found = index.nearest_in(time, &measures, 1, Accuracy::EXACT, &silent)?;
    /// assert_eq!(found[2].found, [(2, 0.0)]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn nearest_in<'q>(
        &self,
        time: Duration,
        queries: impl Into<MeasureSet<'q>>,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let request = self.request(SearchEnd::Count(k), accuracy);
        self.search_for(queries.into(), SearchRequest { time: Some(time), ..request }, progress)
    }

    /// Finds all measures within a distance of every query, the distance included (a range query).
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest); a radius that is negative or not a number.
    pub fn radius<'q>(
        &self,
        queries: impl Into<MeasureSet<'q>>,
        radius: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let request = self.request(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_for(queries.into(), request, progress)
    }

    /// Resolves the queries and finds their neighbors.
    fn search_for(
        &self,
        queries: MeasureSet<'_>,
        request: SearchRequest<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let resolved = self.resolved(queries)?;
        let (measures, request) = (resolved.measures, resolved.complete(request));
        self.search(measures, 0..measures.len(), request, false, &|_, _| (), progress)
    }

    /// Finds the `k` nearest other measures of every measure of the collection, in the order of
    /// their numeric IDs; removed measures have none.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest).
    pub fn graph(
        &self,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.graph_rows(0..self.next_number, k, accuracy, progress)
    }

    /// Computes the given rows of [`graph`](Self::graph), with equal bits.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest); rows out of range.
    pub fn graph_rows(
        &self,
        rows: Range<usize>,
        k: usize,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        self.search_own(rows, self.request(SearchEnd::Count(k), accuracy), progress)
    }

    /// Finds all others within a distance of every measure of the collection, the distance
    /// included; removed measures have none.
    ///
    /// # Errors
    /// Errors of [`radius`](Self::radius).
    pub fn radius_graph(&self, radius: f64, progress: &Progress<'_>) -> Result<Vec<Neighbors>> {
        self.radius_graph_rows(0..self.next_number, radius, progress)
    }

    /// Computes the given rows of [`radius_graph`](Self::radius_graph), with equal bits.
    ///
    /// # Errors
    /// Errors of [`radius`](Self::radius); rows out of range.
    pub fn radius_graph_rows(
        &self,
        rows: Range<usize>,
        radius: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let request = self.request(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_own(rows, request, progress)
    }

    /// Creates a request for a search among all measures.
    fn request(&self, end: SearchEnd, accuracy: Accuracy) -> SearchRequest<'static> {
        SearchRequest {
            end,
            accuracy,
            skipped: None,
            limit: f64::INFINITY,
            rounds: self.rounds,
            by_query: self.by_query,
            solved: None,
            query_metric: None,
            prices: None,
            external: &[],
            time: None,
            stretch: Stretch::NONE,
        }
    }

    /// Finds the neighbors of the given measures of the collection, by number, among the others.
    fn search_own(
        &self,
        numbers: Range<usize>,
        request: SearchRequest<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let measures = self.next_number;
        if let Some(measure) = numbers.clone().last().filter(|&last| last >= measures) {
            return Err(Error::NoSuchMeasure { measure, measures });
        }
        let step = format_args!("the neighbors of {} measures", numbers.len());
        let bytes = memory::size_of::<Neighbors>(&[numbers.len()]);
        memory::check(step, bytes, "ask for some rows at a time")?;
        // The pairs that one measure has solved, for the other.
        let solved = SolvedPairs::default();
        let request = SearchRequest { solved: Some(&solved), ..request };
        self.search(&self.measures, numbers, request, true, &|_, _| (), progress)
    }

    /// Estimates the share of the exact `k` nearest that [`Accuracy::Approximate`] finds, with some
    /// measures of the collection as queries among the others; 1 if there are none.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest).
    pub fn expected_recall(&self, k: usize, progress: &Progress<'_>) -> Result<f64> {
        let step = self.len().div_ceil(RECALL_QUERIES).max(1);
        // Between the measures whose searches set the factors.
        let some: Vec<usize> = (step / 2..self.len()).step_by(step).collect();
        let stretch = self.stretch(progress)?;
        let counter = Counter::new(SEARCHING, some.len(), progress);
        let recall = |searcher: &mut Searcher, at: usize| {
            let row = some[at];
            counter.add(1)?;
            let mut ask = |accuracy, stretch| {
                let request = self.request(SearchEnd::Count(k), accuracy);
                let request = SearchRequest { skipped: Some(row), stretch, ..request };
                searcher.search(self, &self.measures.row(row), request, &counter)
            };
            let (best, found) =
                (ask(Accuracy::EXACT, Stretch::NONE)?, ask(Accuracy::Approximate, stretch)?);
            let right = found.found.iter().filter(|a| best.found.iter().any(|b| a.0 == b.0));
            Ok((right.count(), best.found.len()))
        };
        let counts = parallel::try_map_with(some.len(), Searcher::default, recall)?;
        let (right, all) = counts.iter().fold((0, 0), |sum, c| (sum.0 + c.0, sum.1 + c.1));
        Ok(if all > 0 { right as f64 / all as f64 } else { 1.0 })
    }

    /// Finds the neighbors of the given queries. With `own`, they are measures of the collection,
    /// by number, and exclude themselves. `adapt` completes the request of a query.
    fn search<'r>(
        &self,
        queries: &Measures,
        rows: Range<usize>,
        request: SearchRequest<'r>,
        own: bool,
        adapt: &AdaptRequest<'r>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        request.accuracy.check_for(Question::Search)?;
        let stretch = self.stretch_for(request.accuracy, progress)?;
        let request = SearchRequest { stretch, ..request };
        let counter = Counter::new(SEARCHING, rows.len(), progress);
        let one = |searcher: &mut Searcher, at: usize| {
            let number = rows.start + at;
            let row = if own { self.row_of(number) } else { Some(number) };
            let Some(row) = row else { return Ok(Neighbors::none()) };
            let mut request = SearchRequest { skipped: own.then_some(row), ..request };
            adapt(number, &mut request);
            let found = searcher.search(self, &queries.row(row), request, &counter)?;
            counter.add(1)?;
            Ok(found)
        };
        parallel::try_map_with(rows.len(), Searcher::default, one)
    }
}
