//! Best-first search for one query.
//!
//! All measures of the collection are in a heap by a lower bound of their distance. The candidate
//! with the smallest bound is removed, the next level raises its bound, and it is pushed back; a
//! candidate that comes up with its exact distance is the next neighbor, since no other can be
//! nearer. Ties go to the smaller number because unsolved candidates come before solved ones.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::candidates::{Candidate, Candidates, KNOWN, SHARED, TRANSFORMED, safe};
use super::clouds;
use super::deadline::Deadline;
use super::external_bounds::bound_of;
use super::pair::QueryPair;
use super::partial::RaisedBounds;
use super::penalties::{self, scale_of};
use super::potentials::Potential;
use super::query_distances::QueryDistances;
use super::solved_pairs::SolvedPairs;
use super::stretch::Stretch;
use super::{Index, Neighbors, Steps};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result, show_number};
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::progress::Counter;
use crate::solve::sides::{precedes, rescaling};
use crate::solve::single_problem::SingleProblem;
use crate::solve::{Aim, Problem, Workspace};

/// Maximum number of costs of a pair that is bounded before it is solved: 64 MiB.
const MOST_COSTS: usize = 1 << 24;

/// Maximum number of rounds of sweeps on a pair.
pub(super) const ROUNDS: usize = 3;

/// Rounds of sweeps on a pair: regularizations, in typical distances, and sweeps for each.
const SWEEPS: [&[(f32, usize)]; ROUNDS] = [&[(0.1, 2), (0.05, 2)], &[(0.025, 8)], &[(0.0125, 16)]];

/// Rounds of sweeps for clouds, which start with better duals.
const SWEEPS_OF_CLOUDS: [&[(f32, usize)]; ROUNDS] = [&[(0.05, 2)], &[(0.025, 8)], &[(0.0125, 16)]];

/// Maximum number of rounds of approximate searches.
const ROUNDS_APPROXIMATE: usize = 1;

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
        Err(Error::BadOption { option: "radius", value: show_number(radius), expected })
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
    /// Bounds of all measures, in multiples of the unit of the indexed points, for a total mass of
    /// 1.
    pub(super) bounds: Vec<f32>,
    /// Whether `bounds` include those by the potential of the query.
    pub(super) bounded_by_query: bool,
    /// If so, the bounds by the measures' own potentials, if any.
    pub(super) own_bounds: Vec<f32>,
    candidates: Candidates,
    /// The query's points without a column.
    pub(super) points_beyond: Vec<u32>,
    /// Masses of these points.
    pub(super) masses_beyond: Vec<f32>,
    /// Contribution of these points to the bound of every measure.
    pub(super) beyond: Vec<f32>,
    /// Columns and masses of the query's points, with a total mass of 1.
    pub(super) query_columns: Vec<(u32, f32)>,
    /// Distances from the query's points without a column.
    pub(super) distances_beyond: QueryDistances,
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
    /// The time limit of the search, if any.
    deadline: Option<Deadline>,
    /// If wanted, bounds of candidates with their rows and levels.
    pub(super) refined_bounds: Option<Vec<(u32, u8, f64)>>,
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
    /// Metric of the query's points if it is not that of the collection.
    pub(super) query_metric: Option<&'a GroundMetric>,
    /// Price of unmatched mass at each of the query's points, for relaxed problems.
    pub(super) prices: Option<&'a [f64]>,
    /// Bounds computed elsewhere, with the numeric IDs of their measures.
    pub(super) external: &'a [(usize, f64)],
    /// Time after which no candidate is refined.
    pub(super) time: Option<Duration>,
    /// Factors from bounds to estimated distances.
    pub(super) stretch: Stretch,
}

/// Function that completes the request of a query, given by its number.
pub(super) type AdaptRequest<'a> = dyn Fn(usize, &mut SearchRequest<'a>) + Sync + 'a;

/// One query of an index.
pub(super) struct Query<'a> {
    pub(super) index: &'a Index,
    pub(super) measure: &'a Measure<'a>,
    pub(super) request: SearchRequest<'a>,
    pub(super) counter: &'a Counter<'a>,
}

impl Searcher {
    /// Finds the neighbors of a measure.
    pub(super) fn search(
        &mut self,
        index: &Index,
        measure: &Measure<'_>,
        request: SearchRequest<'_>,
        counter: &Counter<'_>,
    ) -> Result<Neighbors> {
        if index.measures.is_empty() {
            return Ok(Neighbors::none());
        }
        // Estimates are no proof that a candidate is beyond the limit, and the neighbors found in a
        // part of a collection must not depend on those in others.
        let is_exact = request.stretch == Stretch::NONE;
        let limit = if is_exact { request.limit } else { f64::INFINITY };
        let request = SearchRequest { limit, ..request };
        let query = &Query { index, measure, request, counter };
        self.deadline = request.time.map(|time| Deadline::new(index, measure, time));
        self.bound_all(index, measure, &request)?;
        self.pair.begin(index, measure);
        self.duals.clear();
        self.known.clear();
        self.raised.begin(request.end);
        let mut candidates = std::mem::take(&mut self.candidates);
        self.begin_candidates(query, &mut candidates);
        let mut found = Neighbors::none();
        while let Some(mut candidate) = candidates.next() {
            let ended = match request.end {
                SearchEnd::Count(count) => found.found.len() == count,
                SearchEnd::Radius(radius) => candidate.key > radius,
            };
            if ended || candidate.key > request.limit {
                found.bound = candidate.bound;
                if !is_exact {
                    found.bound = found.bound.min(candidates.least_bound());
                }
                break;
            }
            let missing = request.end.most().min(index.len()).saturating_sub(self.known.len());
            if self.deadline.is_some_and(|deadline| deadline.has_come(missing)) {
                candidates.push(candidate);
                self.finish_late(query, &mut candidates, &mut found)?;
                break;
            }
            if candidate.step == KNOWN {
                let distance = self.known[candidate.at as usize];
                found.found.push((index.numbers[candidate.row as usize], distance));
                continue;
            }
            // Candidates beyond the limit need no further refinement, either.
            let least = candidates.least().min(request.limit);
            let before = (candidate.step > SHARED).then_some(candidate.key);
            self.refine(query, &mut candidate, least, &mut found.steps)?;
            if candidate.step > SHARED {
                self.raised.replace(before, candidate.key);
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

    /// Ends a search whose time is over: the nearest of all solved candidates are its neighbors.
    /// Solves those with the smallest estimated distances if there are too few.
    fn finish_late(
        &mut self,
        query: &Query<'_>,
        candidates: &mut Candidates,
        found: &mut Neighbors,
    ) -> Result<()> {
        let missing = query.request.end.most().saturating_sub(found.found.len());
        let mut solved = Vec::new();
        let mut waiting = Vec::new();
        for candidate in candidates.drain_refined() {
            let list = if candidate.step == KNOWN { &mut solved } else { &mut waiting };
            list.push(candidate);
        }
        let is_exact = query.request.stretch == Stretch::NONE;
        let stretch = if is_exact { Stretch::TYPICAL } else { query.request.stretch };
        candidates.set_stretch(&stretch);
        for candidate in waiting {
            let key = candidate.bound * stretch.of(candidate.step);
            candidates.push(Candidate { key, ..candidate });
        }
        while solved.len() < missing
            && let Some(mut candidate) = candidates.next()
        {
            query.counter.add(0)?;
            self.settle(query, &mut candidate, &mut found.steps)?;
            solved.push(candidate);
        }
        let distance = |candidate: &Candidate| self.known[candidate.at as usize];
        solved.sort_by(|a, b| distance(a).total_cmp(&distance(b)).then(a.row.cmp(&b.row)));
        let left = solved.split_off(missing.min(solved.len()));
        let near = solved.iter().map(|one| (query.index.numbers[one.row as usize], distance(one)));
        found.found.extend(near);
        let left = left.first().map_or(f64::INFINITY, |candidate| candidate.bound);
        found.bound = candidates.least_bound().min(left);
        Ok(())
    }

    /// Fills the queue with all measures that may be found, by their bounds.
    fn begin_candidates(&self, query: &Query<'_>, candidates: &mut Candidates) {
        let (index, skipped) = (query.index, query.request.skipped);
        let bounds = self.bounds.iter().copied().enumerate();
        let bounds = bounds.filter(|&(row, _)| Some(row) != skipped);
        let units = (index.indexed.unit, scale_of(query.index, query.measure));
        candidates.begin(bounds, units, &query.request.stretch);
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
        let Query { index, measure, request, .. } = *query;
        let approximate = request.accuracy == Accuracy::Approximate;
        let rounds =
            if approximate { request.rounds.min(ROUNDS_APPROXIMATE) } else { request.rounds };
        let last = TRANSFORMED + rounds as u8;
        if candidate.step == SHARED {
            let number = index.numbers[candidate.row as usize];
            if let Some(bound) = bound_of(request.external, number, scale_of(index, measure)) {
                candidate.step = last;
                if self.raise(query, candidate, bound, last) > least {
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
            self.set_distance(candidate, 0.0, request.accuracy);
            return Ok(());
        }
        // Clouds share no points, so all distances are better computed at once.
        let by_points = candidate.step == SHARED && !index.is_of_clouds();
        if by_points && self.is_bounded_by_own(candidate.row as usize) {
            let target = least.max(self.raised.farthest_wanted());
            // Bounds by some of the points are as good as transformed ones.
            let target = target / request.stretch.of(TRANSFORMED);
            let is_above = self.raise_by_points(index, measure, candidate, target)?;
            candidate.key = candidate.bound * request.stretch.of(TRANSFORMED);
            if is_above {
                return Ok(());
            }
        } else {
            self.set_problem(index, measure, candidate)?;
        }
        let has_stored = candidate.step > SHARED;
        let unit = index.indexed.unit;
        while candidate.step < last {
            let proved = self.next_bound(index, candidate, steps);
            candidate.step += 1;
            if self.raise(query, candidate, safe(proved * unit), candidate.step) > least {
                self.store_duals(candidate, has_stored);
                return Ok(());
            }
        }
        self.settle(query, candidate, steps)
    }

    /// Raises the bound of a candidate at a level; returns its key.
    fn raise(
        &mut self,
        query: &Query<'_>,
        candidate: &mut Candidate,
        bound: f64,
        level: u8,
    ) -> f64 {
        candidate.bound = candidate.bound.max(bound);
        candidate.key = candidate.bound * query.request.stretch.of(level);
        if let Some(bounds) = &mut self.refined_bounds {
            bounds.push((candidate.row, level, candidate.bound));
        }
        candidate.key
    }

    /// Solves a candidate.
    fn settle(
        &mut self,
        query: &Query<'_>,
        candidate: &mut Candidate,
        steps: &mut Steps,
    ) -> Result<()> {
        steps.exact += 1;
        let begun = self.deadline.map(|_| Instant::now());
        let distance = self.solve(query, candidate.row as usize)?;
        if let Some((deadline, begun)) = self.deadline.as_mut().zip(begun) {
            deadline.count(begun.elapsed());
        }
        self.set_distance(candidate, distance, query.request.accuracy);
        Ok(())
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
            problem.sweep(blur * index.reference.scale, (1, sweeps), &|| true);
        }
        problem.bound_by_sources(supply, demand)
    }

    /// Stores a candidate's distance; one that may be too large by 1 + ε enters the heap divided by
    /// that factor.
    fn set_distance(&mut self, candidate: &mut Candidate, distance: f64, accuracy: Accuracy) {
        let stretch = if let Accuracy::Within(epsilon) = accuracy { 1.0 + epsilon } else { 1.0 };
        (candidate.bound, candidate.step) = (distance / stretch, KNOWN);
        candidate.key = candidate.bound;
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

    /// Pushes the given range of the measure's source entries to the current problem.
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
        let Query { index, measure, counter, request } = *query;
        let other = index.measures.row(row);
        // If totals differ, the distance is that of the query, and not symmetric, unless the
        // problem is relaxed.
        let equal = index.prices.is_some() || rescaling(measure.total(), other.total()) == 1.0;
        let shared = request.solved.zip(request.skipped).filter(|_| equal);
        if let Some(distance) = shared.and_then(|(solved, own)| solved.take(own, row)) {
            return Ok(distance);
        }
        let metric = &index.indexed.metric;
        let side = usize::from(precedes(&other, measure));
        let value = match (&index.prices, request.query_metric) {
            (Some(prices), _) => penalties::relaxed_value(query, prices, &other)?,
            (None, Some(others)) => {
                let (metric, pair) = clouds::side_by_side((others, measure), (metric, &other))?;
                self.exact(side, &Problem::new(&metric, &pair.row(0), &pair.row(1)), counter)?
            }
            (None, None) => self.exact(side, &Problem::new(metric, measure, &other), counter)?,
        };
        if let Some((solved, own)) = shared {
            solved.put(own, row, value);
        }
        Ok(value)
    }

    fn exact(&mut self, side: usize, problem: &Problem<'_>, counter: &Counter<'_>) -> Result<f64> {
        let space = &mut self.workspaces[side];
        let found = problem.answer_with(space, &Aim::value(), &|_| counter.add(0).is_ok());
        found.map(|answer| answer.upper)
    }
}
