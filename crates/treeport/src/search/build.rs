//! An index is built, and measures are added.

use super::indexed_points::{self, IndexedPoints};
use super::potential_table::PotentialTable;
use super::potentials::Reference;
use super::query::{self, SearchEnd, SearchRequest, Searcher};
use super::{Index, IndexOptions, MeasureSet, Neighbors, Steps, labels};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::exact::solving_time;
use crate::measure::Measures;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::{INDEXING, SEARCHING};

/// Bytes for the potentials of measures on shared points, where nothing is said.
const DEFAULT_MEMORY: u64 = 4 << 30;

/// Searches that decide which bounds pay, and the neighbors they ask for.
const SAMPLE_QUERIES: usize = 16;
const SAMPLE_K: usize = 10;

/// What searches for a few measures of a collection took.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SampledSearches {
    /// How many were made; none where nothing is to be decided.
    pub(super) queries: usize,
    /// What looking into candidates takes, in nanoseconds of one machine.
    pub(super) time: f64,
    /// How far the last of their neighbors are, in the mean.
    pub(super) farthest: f64,
}

/// The rows of a few of so many measures.
pub(super) fn sampled_rows(measures: usize) -> Vec<usize> {
    (0..measures).step_by(measures.div_ceil(SAMPLE_QUERIES).max(1)).collect()
}

/// How many rounds of sweeps pay before a pair of so many costs is solved: the last is one after which
/// as large a share of candidates need not be looked into further as it takes of the time of a solve.
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
    /// Builds an index of measures on the points of a metric. It keeps their names, if they have any.
    ///
    /// # Errors
    /// Measures on other points than the metric's, of unequal totals or of the same name, no memory, a pair
    /// that cannot be solved, or [`Error::Cancelled`] when `progress`, which counts measures, asks to stop.
    pub fn new(
        metric: &GroundMetric,
        measures: &Measures,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        measures.check_points(metric.points())?;
        labels::check(measures)?;
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
        if fits && !index.indexed.by_search() {
            index.fill_potentials(0, &counter)?;
        }
        index.choose_levels(progress)?;
        Ok(index)
    }

    /// An index of measures on these points, whose bounds rest on the potential of the query alone.
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
        };
        index.enter(measures);
        index
    }

    /// Decides which bounds pay, by searches for a few measures of the collection, each among the others.
    ///
    /// Candidates are counted; times are those of one machine, so that the same collection gives the
    /// same index.
    pub(super) fn choose_levels(&mut self, progress: &Progress<'_>) -> Result<SampledSearches> {
        if self.indexed.by_search() || self.len() <= SAMPLE_K {
            return Ok(SampledSearches::default());
        }
        let points = self.measures.entries() as f64 / self.len() as f64;
        let costs = points * points;
        let per_distance = self.indexed.distance_time();
        let looking = |steps: &Steps| {
            let transforms = steps.transformed as f64 * (1_000.0 + costs * (1.0 + per_distance));
            transforms + steps.swept.iter().sum::<usize>() as f64 * (300.0 + 2.0 * costs)
        };
        let extending = points * self.indexed.used as f64 * (0.3 + per_distance)
            + self.measures.entries() as f64;
        let queries = sampled_rows(self.len()).len();
        let extending = queries as f64 * extending;
        let (mut steps, farthest) = self.sampled_steps(false, progress)?;
        let mut time = looking(&steps);
        if self.potentials.len() > 0 {
            let (by_both, _) = self.sampled_steps(true, progress)?;
            let by_both_time = looking(&by_both) + extending;
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

    /// What searches for a few measures take, in all, and how far the last of their neighbors are, in the mean.
    fn sampled_steps(&self, by_query: bool, progress: &Progress<'_>) -> Result<(Steps, f64)> {
        let counter = Counter::new(SEARCHING, None, progress);
        let asked = self.request(SearchEnd::Count(SAMPLE_K), Accuracy::EXACT);
        let rows = sampled_rows(self.len());
        let one = |searcher: &mut Searcher, at: usize| {
            let row = rows[at];
            let asked =
                SearchRequest { skipped: Some(row), rounds: query::ROUNDS, by_query, ..asked };
            searcher.search(self, &self.measures.row(row), asked, &counter)
        };
        let found = parallel::try_map_with(rows.len(), Searcher::default, one)?;
        let (mut all, mut farthest) = (Steps::default(), 0.0);
        for Neighbors { steps, found, .. } in found {
            farthest += found.last().map_or(0.0, |last| last.1) / rows.len() as f64;
            all.transformed += steps.transformed;
            all.swept.iter_mut().zip(steps.swept).for_each(|(all, swept)| *all += swept);
            all.exact += steps.exact;
        }
        Ok((all, farthest))
    }

    /// Adds measures, whose numbers follow those that were there: the first of them is returned. Where
    /// measures of the index have names, so must these; otherwise their names are left out.
    ///
    /// Potentials stay those against the collection as it was built; where many measures are added of
    /// another kind, a new index is faster. Answers are right in any case.
    ///
    /// # Errors
    /// As [`new`](Self::new), and measures without names where those of the index have some; the index is
    /// then as it was.
    ///
    /// # Complexity
    /// As for an index of the added measures alone, and a copy of the collection and of up to 2,048
    /// potentials: add many at once. Where one on shared points has a point that none had before, that of
    /// building anew.
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
            self.build_anew(&all, progress)?;
            return Ok(self.number_added(measures.len()));
        }
        let counter = Counter::new(INDEXING, measures.len(), progress);
        // From here on columns that no measure had may be in use.
        let used = std::mem::replace(&mut self.indexed.used, self.indexed.points.len());
        let before = std::mem::replace(&mut self.measures, all);
        self.enter(measures);
        let tabled = self.potentials.len() == rows && rows > 0;
        let done = if tabled { self.fill_potentials(rows, &counter) } else { Ok(()) };
        if done.is_err() {
            self.measures = before;
            self.indexed.used = used;
            self.leave_from(rows);
        }
        done?;
        Ok(self.number_added(measures.len()))
    }

    /// Gives numbers to so many added measures; the first of them.
    pub(super) fn number_added(&mut self, count: usize) -> usize {
        let first = self.next_number;
        self.next_number += count;
        self.numbers.extend(first..self.next_number);
        first
    }

    /// Builds the index of these measures in its place; numbers stay as they are.
    pub(super) fn build_anew(
        &mut self,
        measures: &Measures,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let index = Self::new(&self.indexed.metric, measures, &self.options, progress)?;
        let numbers = std::mem::take(&mut self.numbers);
        *self = Self { numbers, next_number: self.next_number, ..index };
        Ok(())
    }

    /// Lays out the entries of measures.
    pub(super) fn enter(&mut self, measures: &Measures) {
        self.enter_from(measures, 0);
    }

    /// Takes out the entries of the measures from a row on.
    pub(super) fn leave_from(&mut self, row: usize) {
        let entries = self.start[row];
        self.start.truncate(row + 1);
        self.columns.truncate(entries);
        self.masses.truncate(entries);
    }

    /// Lays out the entries of measures from a row on.
    pub(super) fn enter_from(&mut self, measures: &Measures, first: usize) {
        for measure in measures.iter().skip(first) {
            for (point, mass) in measure.iter() {
                self.columns.push(self.indexed.column_of[point]);
                self.masses.push((mass / measure.total()) as f32);
            }
            self.start.push(self.columns.len());
        }
    }
}
