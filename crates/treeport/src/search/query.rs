//! Best-first search for one query.
//!
//! All measures of the collection are in a heap by a lower bound of their distance. The candidate
//! with the smallest bound is removed, the next level raises its bound, and it is pushed back; a
//! candidate that comes up with its exact distance is the next neighbor, since no other can be
//! nearer. Ties go to the smaller number because unsolved candidates come before solved ones.

use std::ops::Range;

use super::candidates::{Candidate, Candidates, KNOWN, SHARED, TRANSFORMED, safe};
use super::clouds;
use super::given::bound_of;
use super::indexed_points::NO_COLUMN;
use super::pair::QueryPair;
use super::partial::RaisedBounds;
use super::penalties::{self, scale_of};
use super::potentials::Potential;
use super::query_distances::QueryDistances;
use super::solved_pairs::SolvedPairs;
use super::{Index, Neighbors, Steps};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::metric::GroundMetric;
use crate::progress::Counter;
use crate::rounding::single;
use crate::solve::sides::{precedes, rescaling};
use crate::solve::single_problem::SingleProblem;
use crate::solve::{Aim, Problem, Workspace};

/// Maximum number of costs of a pair that is bounded before it is solved: 64 MiB.
const MOST_COSTS: usize = 1 << 24;

/// Maximum number of points of a query without a column for which measures are bounded by their own
/// potentials: each such point takes a pass over the whole collection.
const MOST_BEYOND: usize = 8;

/// Maximum number of rounds of sweeps on a pair.
pub(super) const ROUNDS: usize = 3;

/// Rounds of sweeps on a pair: regularizations, in typical distances, and sweeps for each.
const SWEEPS: [&[(f32, usize)]; ROUNDS] = [&[(0.1, 2), (0.05, 2)], &[(0.025, 8)], &[(0.0125, 16)]];

/// Rounds of sweeps for clouds, which start with better duals.
const SWEEPS_OF_CLOUDS: [&[(f32, usize)]; ROUNDS] = [&[(0.05, 2)], &[(0.025, 8)], &[(0.0125, 16)]];

/// Maximum number of rounds of approximate searches; more hardly change the order.
const ROUNDS_APPROXIMATE: usize = 2;

/// Stopping rule of a search.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchEnd {
    /// Stop after this many neighbors.
    Count(usize),
    /// Stop beyond this distance.
    Radius(f64),
}

impl SearchEnd {
    /// Creates a range query with a radius that must not be negative.
    pub(super) fn radius(radius: f64) -> Result<Self> {
        if radius >= 0.0 {
            return Ok(Self::Radius(radius));
        }
        let expected = "a number, at least 0";
        Err(Error::BadOption { option: "radius", value: radius.to_string(), expected })
    }

    /// Largest possible number of neighbors.
    pub(super) fn most(self) -> usize {
        if let Self::Count(count) = self { count } else { usize::MAX }
    }
}

/// Workspace of searches on one thread.
#[derive(Debug, Default)]
pub(super) struct Searcher {
    pub(super) distances: QueryDistances,
    pub(super) potential: Potential,
    pub(super) problem: SingleProblem,
    pub(super) pair: QueryPair,
    /// Workspaces for pairs with the query on the left, and for those with the measure there: the
    /// first keeps the query's points prepared.
    workspaces: [Workspace; 2],
    /// Bounds of all measures, in units of the indexed points and for a total mass of 1.
    pub(super) bounds: Vec<f32>,
    /// `bounds` include those by the potential of the query; `own_bounds` then has those by the
    /// measures' own potentials, if any.
    bounded_by_query: bool,
    pub(super) own_bounds: Vec<f32>,
    candidates: Candidates,
    /// The query's points without a column, their masses, and their contributions to the bound of
    /// every measure.
    pub(super) points_beyond: Vec<u32>,
    masses_beyond: Vec<f32>,
    beyond: Vec<f32>,
    /// Columns and masses of the query's points, with a total mass of 1.
    pub(super) query_columns: Vec<(u32, f32)>,
    /// Distances from the query's points without a column.
    distances_beyond: QueryDistances,
    /// Distances from the query's points to the net, if there is one.
    pub(super) net_distances: QueryDistances,
    /// Prices at the query's points, for relaxed problems.
    pub(super) query_prices: Vec<f32>,
    /// Bounds of refined candidates.
    raised: RaisedBounds,
    /// Duals of a candidate's points while they are raised one by one.
    pub(super) raised_duals: Vec<f32>,
    /// Stored duals of candidates that were pushed back, concatenated.
    duals: Vec<f32>,
    /// Distances of solved candidates.
    known: Vec<f64>,
}

/// Parameters of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchRequest<'a> {
    pub(super) end: SearchEnd,
    pub(super) accuracy: Accuracy,
    /// Row of a measure to exclude.
    pub(super) skipped: Option<usize>,
    /// Distance beyond which no measure is needed.
    pub(super) limit: f64,
    /// Number of sweep rounds before a pair is solved.
    pub(super) rounds: usize,
    /// Bound by the potential of the query even if measures have their own.
    pub(super) by_query: bool,
    /// Pairs solved by other searches of a self-join, in which `skipped` is the query.
    pub(super) solved: Option<&'a SolvedPairs>,
    /// Metric of the query's points if it is not that of the collection, and the price at each of
    /// its points for relaxed problems.
    pub(super) others: Option<&'a GroundMetric>,
    pub(super) prices: Option<&'a [f64]>,
    /// Bounds computed elsewhere, by the numbers of measures.
    pub(super) given: &'a [(usize, f64)],
}

/// One query of an index.
pub(super) struct Query<'a> {
    pub(super) index: &'a Index,
    pub(super) measure: &'a Measure<'a>,
    pub(super) asked: SearchRequest<'a>,
    pub(super) counter: &'a Counter<'a>,
}

impl Searcher {
    /// Finds the neighbors of a measure.
    pub(super) fn search(
        &mut self,
        index: &Index,
        measure: &Measure<'_>,
        asked: SearchRequest<'_>,
        counter: &Counter<'_>,
    ) -> Result<Neighbors> {
        if index.measures.is_empty() {
            return Ok(Neighbors::none());
        }
        let query = &Query { index, measure, asked, counter };
        self.bound_all(index, measure, &asked)?;
        self.pair.begin(index, measure);
        self.duals.clear();
        self.known.clear();
        self.raised.begin(asked.end);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.begin_candidates(query, &mut candidates);
        let mut found = Neighbors::none();
        while let Some(mut candidate) = candidates.next() {
            let ended = match asked.end {
                SearchEnd::Count(count) => found.found.len() == count,
                SearchEnd::Radius(radius) => candidate.bound > radius,
            };
            if ended || candidate.bound > asked.limit {
                found.bound = candidate.bound;
                break;
            }
            if candidate.step == KNOWN {
                let distance = self.known[candidate.at as usize];
                found.found.push((index.numbers[candidate.row as usize], distance));
                continue;
            }
            // Candidates beyond the limit need no further refinement, either.
            let least = candidates.least().min(asked.limit);
            let before = (candidate.step > SHARED).then_some(candidate.bound);
            self.refine(query, &mut candidate, least, &mut found.steps)?;
            if candidate.step > SHARED {
                self.raised.replace(before, candidate.bound);
            }
            if candidate.step == KNOWN {
                counter.add(0)?;
            }
            candidates.push(candidate);
        }
        self.candidates = candidates;
        found.sort();
        Ok(found)
    }

    /// Bounds all measures by their own potentials, if any, and by that of the query if there are
    /// none or if it pays. The larger bound is kept.
    fn bound_all(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        asked: &SearchRequest<'_>,
    ) -> Result<()> {
        let indexed = &index.indexed;
        self.distances.begin_at(indexed, asked.others, query.support());
        self.bounds.clear();
        self.own_bounds.clear();
        if let Some(net) = &index.net {
            self.net_distances.begin_at(net, asked.others, query.support());
        }
        if let Some(prices) = &index.prices {
            self.set_query_prices(index, query, asked.prices.unwrap_or(&prices.of_columns));
        }
        if index.net.is_some() {
            self.find_query_duals(index, query)?;
        }
        let by_own = self.bound_by_own(index, query, asked.others)?;
        if by_own && !asked.by_query {
            std::mem::swap(&mut self.bounds, &mut self.own_bounds);
            self.bounded_by_query = false;
            return Ok(());
        }
        self.bounded_by_query = true;
        if index.net.is_none() {
            index.reference.find_duals(indexed, query, &mut self.distances, &mut self.problem)?;
            self.potential.set_own(query, self.problem.v.iter().copied());
        }
        self.potential.extend(indexed, query, &mut self.distances)?;
        if index.prices.is_some() {
            self.bound_relaxed_by_query(index, query);
        } else {
            self.bound_by_query(index);
        }
        let own = self.bounds.iter_mut().zip(&self.own_bounds);
        own.for_each(|(bound, &own)| *bound = bound.max(own));
        Ok(())
    }

    /// Bounds all measures by the potential of the query.
    fn bound_by_query(&mut self, index: &Index) {
        let Potential { f, constant, largest, .. } = &self.potential;
        let constant = *constant as f32;
        for entries in index.start.windows(2) {
            let entries = entries[0]..entries[1];
            // One rounding for each mass, product and sum, and those of the constant.
            let slack = single(entries.len() + 6) as f32 * (largest + constant.abs());
            let columns = index.columns[entries.clone()].iter();
            let terms =
                columns.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
            self.bounds.push(terms.sum::<f32>() + constant - slack);
        }
    }

    /// Returns the shared bounds of all measures, for a total mass of 1.
    #[cfg(test)]
    pub(super) fn shared_bounds(&mut self, index: &Index, query: &Measure<'_>) -> Result<Vec<f32>> {
        self.all_bounds(index, query, &index.request(SearchEnd::Count(1), Accuracy::EXACT))
    }

    /// Returns the shared bounds of all measures for a request, for a total mass of 1.
    #[cfg(test)]
    pub(super) fn all_bounds(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        asked: &SearchRequest<'_>,
    ) -> Result<Vec<f32>> {
        self.bound_all(index, query, asked)?;
        Ok(self.bounds.clone())
    }

    /// Bounds measures by their own potentials; returns false if it cannot.
    fn bound_by_own(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        others: Option<&GroundMetric>,
    ) -> Result<bool> {
        let indexed = &index.indexed;
        self.query_columns.clear();
        self.points_beyond.clear();
        self.masses_beyond.clear();
        if index.potentials.len() < index.len() {
            return Ok(false);
        }
        if let Some(net) = &index.net {
            self.bound_on_net(index, net, query, others)?;
            return Ok(true);
        }
        for (point, mass) in query.iter() {
            let (column, mass) = (indexed.column_of[point], (mass / query.total()) as f32);
            if column == NO_COLUMN {
                self.points_beyond.push(point as u32);
                self.masses_beyond.push(mass);
            } else {
                self.query_columns.push((column, mass));
            }
        }
        if self.points_beyond.len() > MOST_BEYOND {
            return Ok(false);
        }
        self.beyond.clear();
        if !self.points_beyond.is_empty() {
            self.distances_beyond.begin(indexed, &self.points_beyond);
            self.distances_beyond.add(indexed, 0..indexed.used as u32)?;
            index.bound_beyond(&self.distances_beyond, &self.masses_beyond, &mut self.beyond);
        }
        index.potentials.bounds(&self.query_columns, &self.beyond, &mut self.own_bounds);
        Ok(true)
    }

    /// Fills the queue with all measures that may be found, by their bounds.
    fn begin_candidates(&self, query: &Query<'_>, candidates: &mut Candidates) {
        let (index, skipped) = (query.index, query.asked.skipped);
        let bounds = self.bounds.iter().copied().enumerate();
        let bounds = bounds.filter(|&(row, _)| Some(row) != skipped);
        candidates.begin(bounds, index.indexed.unit, scale_of(query.index, query.measure));
    }

    /// Raises the bound of a candidate level by level while it remains the smallest, and solves the
    /// candidate after the last level.
    fn refine(
        &mut self,
        query: &Query<'_>,
        candidate: &mut Candidate,
        least: f64,
        steps: &mut Steps,
    ) -> Result<()> {
        let Query { index, measure, asked, .. } = *query;
        let approximate = asked.accuracy == Accuracy::Approximate;
        let rounds = if approximate { asked.rounds.min(ROUNDS_APPROXIMATE) } else { asked.rounds };
        let last = TRANSFORMED + rounds as u8;
        if candidate.step == SHARED {
            let number = index.numbers[candidate.row as usize];
            if let Some(bound) = bound_of(asked.given, number, scale_of(index, measure)) {
                candidate.bound = candidate.bound.max(bound);
                candidate.step = last;
                if candidate.bound > least {
                    return Ok(());
                }
            }
        }
        if candidate.step == last {
            return self.settle(query, candidate, steps);
        }
        let other = index.measures.row(candidate.row as usize);
        if measure.support().len() * other.support().len() > MOST_COSTS {
            return self.settle(query, candidate, steps);
        }
        if !self.pair.set_pair(index, measure, candidate.row as usize) {
            self.set_distance(candidate, 0.0, asked.accuracy);
            return Ok(());
        }
        // Clouds share no points, so all distances are better computed at once.
        let by_points = candidate.step == SHARED && !index.is_of_clouds();
        if by_points && self.is_bounded_by_own(candidate.row as usize) {
            let target = least.max(self.raised.farthest_wanted());
            if self.raise_by_points(index, measure, candidate, target)? {
                return Ok(());
            }
        } else {
            self.set_problem(index, measure, candidate)?;
        }
        let has_stored = candidate.step > SHARED;
        let unit = index.indexed.unit;
        while candidate.step < last {
            let proved = self.next_bound(index, candidate, steps);
            candidate.bound = candidate.bound.max(safe(proved * unit));
            candidate.step += 1;
            if candidate.bound > least {
                self.store_duals(candidate, has_stored);
                return Ok(());
            }
        }
        self.settle(query, candidate, steps)
    }

    /// Solves a candidate; an approximate search takes its bound as the distance.
    fn settle(
        &mut self,
        query: &Query<'_>,
        candidate: &mut Candidate,
        steps: &mut Steps,
    ) -> Result<()> {
        let accuracy = query.asked.accuracy;
        let mut distance = candidate.bound;
        if accuracy != Accuracy::Approximate {
            steps.exact += 1;
            distance = self.solve(query, candidate.row as usize)?;
        }
        self.set_distance(candidate, distance, accuracy);
        Ok(())
    }

    /// Returns the measures with the smallest shared bounds, by number, with these bounds for a
    /// total mass of 1.
    pub(super) fn likely(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        asked: &SearchRequest<'_>,
        count: usize,
    ) -> Result<Vec<(usize, f64)>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.bound_all(index, query, asked)?;
        let mut rows: Vec<usize> =
            (0..self.bounds.len()).filter(|&row| Some(row) != asked.skipped).collect();
        let by_bound =
            |a: &usize, b: &usize| self.bounds[*a].total_cmp(&self.bounds[*b]).then(a.cmp(b));
        if count < rows.len() {
            rows.select_nth_unstable_by(count - 1, by_bound);
            rows.truncate(count);
        }
        rows.sort_unstable_by(by_bound);
        let bound = |&row: &usize| f64::from(self.bounds[row]) * index.indexed.unit;
        Ok(rows.iter().map(|row| (index.numbers[*row], bound(row))).collect())
    }

    /// Checks whether the shared bound of a measure is that of its own potential.
    pub(super) fn is_bounded_by_own(&self, row: usize) -> bool {
        !self.bounded_by_query
            || self.own_bounds.get(row).is_some_and(|&own| own >= self.bounds[row])
    }

    /// Stores the duals of a candidate that is pushed back, over its previous ones, if any.
    fn store_duals(&mut self, candidate: &mut Candidate, has_stored: bool) {
        let duals = &self.problem.v;
        if has_stored {
            self.duals[candidate.at as usize..][..duals.len()].copy_from_slice(duals);
        } else {
            candidate.at = self.duals.len() as u32;
            self.duals.extend_from_slice(duals);
        }
    }

    /// Computes the bound of the next level for the current problem.
    fn next_bound(&mut self, index: &Index, candidate: &Candidate, steps: &mut Steps) -> f64 {
        let row = candidate.row as usize;
        let is_bounded_by_own = self.is_bounded_by_own(row);
        if candidate.step == SHARED && index.net.is_some() {
            steps.transformed += 1;
            return self.bound_by_both(index, row);
        }
        let Self { problem, pair: QueryPair { supply, demand, entries, .. }, .. } = self;
        if candidate.step == SHARED {
            steps.transformed += 1;
            if is_bounded_by_own {
                let own = &index.own_duals[index.start[row]..];
                problem.u.iter_mut().zip(&*entries).for_each(|(u, &entry)| *u = own[entry]);
                return problem.bound_by_sources(supply, demand);
            }
            problem.v[..demand.len()].copy_from_slice(&self.potential.own);
            return problem.bound_by_targets(supply, demand);
        }
        let round = usize::from(candidate.step - TRANSFORMED);
        steps.swept[round] += 1;
        let sweeps = if index.net.is_some() { SWEEPS_OF_CLOUDS } else { SWEEPS };
        for &(blur, sweeps) in sweeps[round] {
            problem.sweep(blur * index.reference.scale, 1, sweeps);
        }
        problem.bound_by_sources(supply, demand)
    }

    /// Stores a candidate's distance; one that may be too large by 1 + ε enters the heap divided by
    /// that factor.
    fn set_distance(&mut self, candidate: &mut Candidate, distance: f64, accuracy: Accuracy) {
        let stretch = if let Accuracy::Within(epsilon) = accuracy { 1.0 + epsilon } else { 1.0 };
        (candidate.bound, candidate.step) = (distance / stretch, KNOWN);
        candidate.at = self.known.len() as u32;
        self.known.push(distance);
    }

    /// Pushes the problem between a candidate and the query, with the duals stored for the
    /// candidate.
    fn set_problem(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        candidate: &Candidate,
    ) -> Result<()> {
        let demand = self.pair.demand.iter();
        let scale = scale_of(index, query);
        self.problem.begin(demand.map(|&mass| (mass / scale) as f32));
        let row = candidate.row as usize;
        if index.prices.is_some() {
            self.push_relaxed(index, query, row)?;
        } else if !index.is_of_clouds() || !self.push_cloud(index, query, row) {
            self.push_entries(index, query, row, 0..self.pair.entries.len())?;
        }
        if candidate.step > SHARED {
            let problem = &mut self.problem;
            let duals = &self.duals[candidate.at as usize..][..problem.v.len()];
            problem.v.copy_from_slice(duals);
            problem.set_sources();
        }
        Ok(())
    }

    /// Pushes some of the measure's source entries to the current problem.
    pub(super) fn push_entries(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        row: usize,
        some: Range<usize>,
    ) -> Result<()> {
        let Self { problem, pair, distances, .. } = self;
        let all = &index.columns[index.entries_of(row)];
        let columns = pair.entries[some.clone()].iter().map(|&entry| all[entry]);
        distances.add(&index.indexed, columns.clone())?;
        for (column, &mass) in columns.zip(&pair.supply[some]) {
            problem.push((mass / query.total()) as f32, distances.to(column));
        }
        Ok(())
    }

    /// Computes W₁ between the query and a measure of the collection.
    fn solve(&mut self, query: &Query<'_>, row: usize) -> Result<f64> {
        let Query { index, measure, counter, asked } = *query;
        let other = index.measures.row(row);
        // If totals differ, the distance is that of the query, and not symmetric, unless the
        // problem is relaxed.
        let equal = index.prices.is_some() || rescaling(measure.total(), other.total()) == 1.0;
        let shared = asked.solved.zip(asked.skipped).filter(|_| equal);
        if let Some(distance) = shared.and_then(|(solved, own)| solved.take(own, row)) {
            return Ok(distance);
        }
        let space = &mut self.workspaces[usize::from(precedes(&other, measure))];
        let metric = &index.indexed.metric;
        let mut exact = |problem: &Problem<'_>| {
            let found = problem.answer_with(space, &Aim::value(), &|_| counter.add(0).is_ok());
            found.map(|answer| answer.upper)
        };
        let value = match (&index.prices, asked.others) {
            (Some(prices), _) => penalties::relaxed_value(query, prices, &other)?,
            (None, Some(others)) => {
                let (metric, pair) = clouds::side_by_side((others, measure), (metric, &other))?;
                exact(&Problem::new(&metric, &pair.row(0), &pair.row(1)))?
            }
            (None, None) => exact(&Problem::new(metric, measure, &other))?,
        };
        if let Some((solved, own)) = shared {
            solved.put(own, row, value);
        }
        Ok(value)
    }
}
