//! Building an index, and adding measures to it.

use std::sync::OnceLock;

use super::indexed_points::{self, IndexedPoints};
use super::potential_table::PotentialTable;
use super::potentials::Reference;
use super::query::{self, SearchEnd, SearchRequest, Searcher};
use super::{Index, IndexOptions, MeasureSet, Neighbors, Steps, names};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::measures::{Measure, Measures};
use crate::metric::GroundMetric;
use crate::progress::tasks::{INDEXING, SEARCHING};
use crate::progress::{Counter, Progress};
use crate::solve::route::solving_time;
use crate::tools::parallel;

/// Default memory in bytes for the potentials of measures on shared points.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// Number of sample searches that choose the levels.
const SAMPLE_QUERIES: usize = 16;

/// Number of neighbors that each sample search requests.
const SAMPLE_K: usize = 10;

/// Totals of the sample searches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampledSearches {
    /// Number of searches; 0 if there is nothing to choose.
    pub(super) queries: usize,
    /// Estimated time for refining candidates, in nanoseconds of a reference machine.
    pub(super) time: f64,
    /// Mean distance of the last neighbor found.
    pub(super) farthest: f64,
}

/// Rows of a few evenly spaced measures.
pub(super) fn sampled_rows(measures: usize) -> Vec<usize> {
    (0..measures).step_by(measures.div_ceil(SAMPLE_QUERIES).max(1)).collect()
}

/// Returns the number of sweep rounds to run before a pair is solved, for pairs with `costs` costs.
/// A round pays if the share of candidates that it rules out exceeds its share of the time of a
/// solve.
fn rounds_that_pay(steps: &Steps, costs: f64) -> usize {
    let solve = 1_000.0 + solving_time(costs);
    let mut rounds = 1;
    for (round, per_cost) in [(1, 2.0), (2, 3.5)] {
        let entered = steps.swept[round];
        let left = steps.swept.get(round + 1).copied().unwrap_or(steps.exact);
        let spared = entered.saturating_sub(left) as f64;
        if spared * solve > entered as f64 * (300.0 + per_cost * costs) {
            rounds = round + 1;
        }
    }
    rounds
}

impl Index {
    /// Builds an index of measures on the points of a metric. It keeps their names, if any.
    ///
    /// # Errors
    /// Measures on other points than the metric's, of unequal totals or with duplicate names; not
    /// enough memory; a pair that cannot be solved; [`Error::Canceled`] if `progress`, which
    /// counts measures, requests a stop.
    pub fn new(
        metric: &GroundMetric,
        measures: &Measures,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        measures.check_points(metric.points())?;
        names::check(measures)?;
        if let Some(penalty) = options.penalty {
            let expected = "only searches among clouds take one";
            let value = penalty.to_string();
            return Err(Error::BadOption { option: "penalty", value, expected });
        }
        metric.prepare(progress)?;
        let mut reference = Reference::for_index(metric, measures, options);
        let typical = reference.typical_distance(metric);
        let indexed = IndexedPoints::new(metric, measures, &reference.points, typical);
        reference.set_scale(typical, indexed.unit);
        let mut index = Self::without_potentials(indexed, None, measures, reference, options);
        let columns = index.indexed.points.len();
        let fits = PotentialTable::size(columns, measures.len()) <= options.bytes(DEFAULT_MEMORY);
        let counter = Counter::new(INDEXING, measures.len(), progress);
        if fits && !index.indexed.by_search {
            index.fill_potentials(0, &counter)?;
        }
        index.choose_levels(progress)?;
        Ok(index)
    }

    /// Creates an index without potentials of measures; bounds use only the potential of the query.
    pub(super) fn without_potentials(
        indexed: IndexedPoints,
        net: Option<IndexedPoints>,
        measures: &Measures,
        reference: Reference,
        options: &IndexOptions,
    ) -> Self {
        let mut index = Self {
            indexed,
            net,
            measures: measures.clone(),
            numbers: (0..measures.len()).collect(),
            next_number: measures.len(),
            reference,
            start: vec![0],
            columns: Vec::new(),
            masses: Vec::new(),
            own_duals: Vec::new(),
            potentials: PotentialTable::default(),
            prices: None,
            rounds: query::ROUNDS,
            by_query: false,
            options: options.clone(),
            stretch: OnceLock::new(),
        };
        index.append(measures.iter());
        index
    }

    /// Chooses the levels of bounds by sample searches for a few measures among the others.
    ///
    /// Costs are counts of candidates times fixed times of a reference machine, so that equal
    /// collections give equal indexes.
    pub(super) fn choose_levels(&mut self, progress: &Progress<'_>) -> Result<SampledSearches> {
        if self.indexed.by_search || self.len() <= SAMPLE_K {
            return Ok(SampledSearches::default());
        }
        let points = self.measures.entries() as f64 / self.len() as f64;
        let costs = points * points;
        let per_distance = self.indexed.distance_time();
        let refining = |steps: &Steps| {
            let transforms = steps.transformed as f64 * (1_000.0 + costs * (1.0 + per_distance));
            transforms + steps.swept.iter().sum::<usize>() as f64 * (300.0 + 2.0 * costs)
        };
        let extending = points * self.indexed.used as f64 * (0.3 + per_distance)
            + self.measures.entries() as f64;
        let queries = sampled_rows(self.len()).len();
        let extending = queries as f64 * extending;
        let (mut steps, farthest) = self.sampled_steps(false, progress)?;
        let mut time = refining(&steps);
        if self.potentials.len() > 0 {
            let (by_both, _) = self.sampled_steps(true, progress)?;
            let by_both_time = refining(&by_both) + extending;
            self.by_query = by_both_time < time;
            if self.by_query {
                (steps, time) = (by_both, by_both_time);
            }
        } else {
            time += extending;
        }
        self.rounds = rounds_that_pay(&steps, costs);
        Ok(SampledSearches { queries, time, farthest })
    }

    /// Returns the summed steps of the sample searches and the mean distance of their last
    /// neighbors.
    fn sampled_steps(&self, by_query: bool, progress: &Progress<'_>) -> Result<(Steps, f64)> {
        let counter = Counter::new(SEARCHING, None, progress);
        let request = self.request(SearchEnd::Count(SAMPLE_K), Accuracy::EXACT);
        let rows = sampled_rows(self.len());
        let one = |searcher: &mut Searcher, at: usize| {
            let (skipped, rounds) = (Some(rows[at]), query::ROUNDS);
            let request = SearchRequest { skipped, rounds, by_query, ..request };
            searcher.search(self, &self.measures.row(rows[at]), request, &counter)
        };
        let found = parallel::try_map_with(rows.len(), Searcher::default, one)?;
        let (mut all, mut farthest) = (Steps::default(), 0.0);
        for Neighbors { steps, found, .. } in found {
            farthest += found.last().map_or(0.0, |last| last.1) / rows.len() as f64;
            all.add(&steps);
        }
        Ok((all, farthest))
    }

    /// Adds measures and returns the numeric ID of the first; IDs continue those of the index. If
    /// measures of the index have names, the added ones need names, too; otherwise their names are
    /// dropped.
    ///
    /// Potentials remain those against the reference of the original collection. Results are exact
    /// in any case, but if many measures of another kind are added, a new index is faster.
    ///
    /// # Errors
    /// Errors of [`new`](Self::new); measures without names if those of the index have names. The
    /// index is unchanged after an error.
    ///
    /// # Complexity
    /// The time of indexing only the added measures, plus a copy of the collection and of up to
    /// 2,048 potentials: add many at once. If an added measure on shared points has a point without
    /// a column, the index is rebuilt.
    pub fn add<'a>(
        &mut self,
        measures: impl Into<MeasureSet<'a>>,
        progress: &Progress<'_>,
    ) -> Result<usize> {
        match (measures.into(), self.is_of_clouds()) {
            (MeasureSet::OnPoints(measures), false) => self.add_on_points(measures, progress),
            (MeasureSet::Clouds(clouds), true) => self.add_clouds(clouds, progress),
            (MeasureSet::OnPoints(_), true) => Err(Error::CloudsWanted),
            (MeasureSet::Clouds(_), false) => Err(Error::SharedPointsWanted),
        }
    }

    fn add_on_points(&mut self, measures: &Measures, progress: &Progress<'_>) -> Result<usize> {
        let rows = self.measures.len();
        measures.check_points(self.indexed.metric.points())?;
        Measures::check_all_balanced(&[&self.measures, measures])?;
        let all = self.followed_by(measures)?;
        let mut points = measures.iter().flat_map(|measure| measure.support().to_vec());
        if points.any(|point| self.indexed.column_of[point as usize] == indexed_points::NO_COLUMN) {
            self.rebuild(&all, progress)?;
            return Ok(self.number_added(measures.len()));
        }
        let counter = Counter::new(INDEXING, measures.len(), progress);
        // From here on, columns that no measure used may be in use.
        let used = std::mem::replace(&mut self.indexed.used, self.indexed.points.len());
        let before = std::mem::replace(&mut self.measures, all);
        self.append(measures.iter());
        let tabled = self.potentials.len() == rows && rows > 0;
        let done = if tabled { self.fill_potentials(rows, &counter) } else { Ok(()) };
        if done.is_err() {
            self.measures = before;
            self.indexed.used = used;
            self.truncate_from(rows);
        }
        done?;
        Ok(self.number_added(measures.len()))
    }

    /// Assigns numeric IDs to added measures and returns the first.
    pub(super) fn number_added(&mut self, count: usize) -> usize {
        let first = self.next_number;
        self.next_number += count;
        self.numbers.extend(first..self.next_number);
        first
    }

    /// Replaces the index by a new one of these measures; numbers are unchanged.
    pub(super) fn rebuild(&mut self, measures: &Measures, progress: &Progress<'_>) -> Result<()> {
        self.replace_by(Self::new(&self.indexed.metric, measures, &self.options, progress)?);
        Ok(())
    }

    /// Replaces the index by another one; numbers are unchanged.
    pub(super) fn replace_by(&mut self, index: Self) {
        let numbers = std::mem::take(&mut self.numbers);
        *self = Self { numbers, next_number: self.next_number, ..index };
    }

    /// Removes the entries of all measures from `row` on.
    pub(super) fn truncate_from(&mut self, row: usize) {
        let entries = self.start[row];
        self.start.truncate(row + 1);
        self.columns.truncate(entries);
        self.masses.truncate(entries);
    }

    /// Appends the entries of measures.
    pub(super) fn append<'m>(&mut self, measures: impl Iterator<Item = Measure<'m>>) {
        self.stretch = OnceLock::new();
        for measure in measures {
            for (point, mass) in measure.iter() {
                self.columns.push(self.indexed.column_of[point]);
                self.masses.push((mass / measure.total()) as f32);
            }
            self.start.push(self.columns.len());
        }
    }
}
