//! One query after the other: best bound first.
//!
//! All measures of the collection stand in a heap by a lower bound of their distance. The least is
//! taken out, its bound is raised by the next level, and it goes back; one that comes up with its
//! exact distance is the next neighbor, for nothing left can be nearer. Ties go to the smaller
//! number, because what is not solved yet comes up before what is.

use super::candidates::{Candidate, Candidates, KNOWN, SHARED, TRANSFORMED};
use super::indexed_points::{NO_COLUMN, QueryCosts};
use super::pair::{ColumnCosts, QueryPair};
use super::potential_table::PotentialTable;
use super::potentials::Potential;
use super::{Index, Neighbors, Steps};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::exact::Solver;
use crate::measure::Measure;
use crate::progress::Counter;
use crate::rounding::single;
use crate::solve::single_problem::SingleProblem;

/// Costs up to which a pair is bounded before it is solved: 64 MiB.
const MOST_COSTS: usize = 1 << 24;

/// Points of a query without a column up to which measures are bounded by their own potentials: each
/// takes a pass over the whole collection.
const MOST_BEYOND: usize = 8;

/// The most rounds of sweeps on a pair.
pub(super) const ROUNDS: usize = 3;

/// Rounds of sweeps on a pair: blurs, in typical distances, and sweeps at each.
const SWEEPS: [&[(f32, usize)]; ROUNDS] = [&[(0.1, 2), (0.05, 2)], &[(0.025, 8)], &[(0.0125, 16)]];

/// Rounds where nothing is solved: after these the order hardly changes.
const ROUNDS_APPROXIMATE: usize = 2;

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum SearchEnd {
    /// With so many neighbors.
    Count(usize),
    /// With all within a distance.
    Radius(f64),
}

impl SearchEnd {
    /// All within a distance, which is not negative.
    pub(super) fn radius(radius: f64) -> Result<Self> {
        if radius >= 0.0 {
            return Ok(Self::Radius(radius));
        }
        let expected = "a number, at least 0";
        Err(Error::BadOption { option: "radius", value: radius.to_string(), expected })
    }
}

/// The memory of searches on one thread.
#[derive(Debug, Default)]
pub(super) struct Searcher {
    query_costs: QueryCosts,
    potential: Potential,
    problem: SingleProblem,
    pair: QueryPair,
    solver: Solver,
    /// Bounds of all measures by the potential of the query, in units of the indexed points and for a
    /// total mass of 1.
    bounds: Vec<f32>,
    /// Bounds by the potentials of the measures themselves; of those that have one, the first ones.
    own_bounds: Vec<f32>,
    /// What those potentials say about points of the query that have no column.
    beyond: Vec<f32>,
    /// The columns of the query's points with their masses, of a total of 1.
    query_columns: Vec<(u32, f32)>,
    /// The query's costs to each column that a candidate has needed.
    column_costs: ColumnCosts,
    /// Duals of candidates that went back to the heap, one after the other.
    duals: Vec<f32>,
    /// Distances of candidates that were solved.
    known: Vec<f64>,
}

/// What is asked of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchRequest {
    pub(super) end: SearchEnd,
    pub(super) accuracy: Accuracy,
    /// The row of a measure that is not to be found.
    pub(super) skipped: Option<usize>,
    /// Rounds of sweeps before a pair is solved.
    pub(super) rounds: usize,
}

/// One query of an index.
struct Query<'a> {
    index: &'a Index,
    measure: &'a Measure<'a>,
    asked: SearchRequest,
    counter: &'a Counter<'a>,
}

impl Searcher {
    /// The neighbors of a measure.
    pub(super) fn search(
        &mut self,
        index: &Index,
        measure: &Measure<'_>,
        asked: SearchRequest,
        counter: &Counter<'_>,
    ) -> Result<Neighbors> {
        if index.measures.is_empty() {
            return Ok(Neighbors { bound: f64::INFINITY, ..Neighbors::default() });
        }
        let query = &Query { index, measure, asked, counter };
        self.bound_all(index, measure)?;
        self.column_costs.begin(index);
        self.pair.begin(index, measure);
        self.duals.clear();
        self.known.clear();
        let mut candidates = self.candidates(query);
        let mut found = Neighbors { bound: f64::INFINITY, ..Neighbors::default() };
        while let Some(mut candidate) = candidates.next() {
            let ended = match asked.end {
                SearchEnd::Count(count) => found.found.len() == count,
                SearchEnd::Radius(radius) => candidate.bound > radius,
            };
            if ended {
                found.bound = candidate.bound;
                break;
            }
            if candidate.step == KNOWN {
                let distance = self.known[candidate.at as usize];
                found.found.push((index.numbers[candidate.row as usize], distance));
                continue;
            }
            let least = candidates.least();
            self.look_into(query, &mut candidate, least, &mut found.steps)?;
            if candidate.step == KNOWN {
                counter.add(0)?;
            }
            candidates.push(candidate);
        }
        found.sort();
        Ok(found)
    }

    /// Bounds all measures by the potential of the query, and by their own.
    fn bound_all(&mut self, index: &Index, query: &Measure<'_>) -> Result<()> {
        let indexed = &index.indexed;
        let costs = &mut self.query_costs;
        indexed.fill_costs(query.iter().map(|(point, _)| point), costs)?;
        let kept = (!indexed.by_search()).then_some(&*costs);
        index.reference.find_duals(indexed, query, kept, &mut self.problem);
        self.potential.extend(indexed, query, costs, indexed.used, &self.problem.u);
        let Potential { f, constant, largest, .. } = &self.potential;
        let constant = *constant as f32;
        self.bounds.clear();
        for entries in index.start.windows(2) {
            let entries = entries[0]..entries[1];
            // A rounding for every mass, product and sum, and those of the constant.
            let slack = single(entries.len() + 6) as f32 * (largest + constant.abs());
            let columns = index.columns[entries.clone()].iter();
            let terms =
                columns.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
            self.bounds.push(terms.sum::<f32>() + constant - slack);
        }
        self.bound_by_own(index, query);
        Ok(())
    }

    /// The larger of the two bounds of every measure, for a total mass of 1.
    #[cfg(test)]
    pub(super) fn shared_bounds(&mut self, index: &Index, query: &Measure<'_>) -> Result<Vec<f32>> {
        self.bound_all(index, query)?;
        let own = self.own_bounds.iter().copied().chain(std::iter::repeat(f32::NEG_INFINITY));
        Ok(self.bounds.iter().zip(own).map(|(&bound, own)| bound.max(own)).collect())
    }

    /// Bounds measures by their own potentials.
    fn bound_by_own(&mut self, index: &Index, query: &Measure<'_>) {
        let indexed = &index.indexed;
        self.query_columns.clear();
        self.beyond.clear();
        self.own_bounds.clear();
        let beyond =
            query.support().iter().filter(|&&p| indexed.column_of[p as usize] == NO_COLUMN);
        if beyond.count() > MOST_BEYOND {
            return;
        }
        for (i, (point, mass)) in query.iter().enumerate() {
            let (column, mass) = (indexed.column_of[point], (mass / query.total()) as f32);
            if column != NO_COLUMN {
                self.query_columns.push((column, mass));
            } else if index.potentials.len() > 0 {
                self.beyond.resize(index.potentials.len(), 0.0);
                let row = indexed.row(&self.query_costs, i);
                let (measures, duals) = (&index.measures, &index.own_duals);
                PotentialTable::add_beyond(indexed, measures, duals, row, mass, &mut self.beyond);
            }
        }
        index.potentials.bounds(&self.query_columns, &self.beyond, &mut self.own_bounds);
    }

    /// All measures that may be found, by the larger of their two bounds.
    fn candidates(&self, query: &Query<'_>) -> Candidates {
        let (index, skipped) = (query.index, query.asked.skipped);
        let bounds = self.bounds.iter().enumerate().filter(|&(row, _)| Some(row) != skipped);
        let larger = |(row, bound): (usize, &f32)| {
            let own = self.own_bounds.get(row).copied().unwrap_or(0.0);
            (row, bound.max(own))
        };
        Candidates::new(bounds.map(larger), index.indexed.unit, query.measure.total())
    }

    /// Raises the bound of a candidate by the next level, and by those after it for as long as it
    /// has the least bound; solves it if it still has after the last.
    fn look_into(
        &mut self,
        query: &Query<'_>,
        candidate: &mut Candidate,
        least: f64,
        steps: &mut Steps,
    ) -> Result<()> {
        let Query { index, measure, asked, .. } = *query;
        let other = index.measures.row(candidate.row as usize);
        if measure.support().len() * other.support().len() > MOST_COSTS {
            if asked.accuracy == Accuracy::Approximate {
                self.know(candidate, candidate.bound, asked.accuracy);
                return Ok(());
            }
            steps.exact += 1;
            let distance = self.solve(query, &other)?;
            self.know(candidate, distance, asked.accuracy);
            return Ok(());
        }
        if !self.pair.lay_out(index, measure, candidate.row as usize) {
            self.know(candidate, 0.0, asked.accuracy);
            return Ok(());
        }
        self.set_problem(index, measure, candidate);
        let approximate = asked.accuracy == Accuracy::Approximate;
        let went_back = candidate.step > SHARED;
        let rounds = if approximate { ROUNDS_APPROXIMATE } else { asked.rounds };
        let last = TRANSFORMED + rounds as u8;
        let unit = index.indexed.unit;
        while candidate.step < last {
            let proved = self.next_bound(index, candidate, steps);
            candidate.bound = candidate.bound.max(proved * unit);
            candidate.step += 1;
            if candidate.bound > least {
                self.put_back(candidate, went_back);
                return Ok(());
            }
        }
        if approximate {
            self.know(candidate, candidate.bound, asked.accuracy);
            return Ok(());
        }
        steps.exact += 1;
        let distance = self.solve(query, &other)?;
        self.know(candidate, distance, asked.accuracy);
        Ok(())
    }

    /// Stores the duals of a candidate that goes back to the heap, over those it stored before, if any.
    fn put_back(&mut self, candidate: &mut Candidate, went_back: bool) {
        let duals = &self.problem.v;
        if went_back {
            self.duals[candidate.at as usize..][..duals.len()].copy_from_slice(duals);
        } else {
            candidate.at = self.duals.len() as u32;
            self.duals.extend_from_slice(duals);
        }
    }

    /// The bound of the next level for the problem at hand.
    fn next_bound(&mut self, index: &Index, candidate: &Candidate, steps: &mut Steps) -> f64 {
        let row = candidate.row as usize;
        let Self { problem, pair: QueryPair { supply, demand, entries, .. }, .. } = self;
        if candidate.step == SHARED {
            steps.transformed += 1;
            if self.own_bounds.get(row).is_some_and(|&own| own > self.bounds[row]) {
                let own = &index.own_duals[index.start[row]..];
                problem.u.iter_mut().zip(&*entries).for_each(|(u, &entry)| *u = own[entry]);
                return problem.bound_by_sources(supply, demand);
            }
            problem.v[..demand.len()].copy_from_slice(&self.potential.own);
            return problem.bound_by_targets(supply, demand);
        }
        let round = usize::from(candidate.step - TRANSFORMED);
        steps.swept[round] += 1;
        for &(blur, sweeps) in SWEEPS[round] {
            problem.sweep(blur * index.reference.scale, 1, sweeps);
        }
        problem.bound_by_sources(supply, demand)
    }

    /// Enters a candidate's distance; one that may be 1 + ε times too large stands in the heap as if
    /// it were that much smaller.
    fn know(&mut self, candidate: &mut Candidate, distance: f64, accuracy: Accuracy) {
        let stretch = if let Accuracy::Within(epsilon) = accuracy { 1.0 + epsilon } else { 1.0 };
        (candidate.bound, candidate.step) = (distance / stretch, KNOWN);
        candidate.at = self.known.len() as u32;
        self.known.push(distance);
    }

    /// Lays out the problem of what moves between a candidate and the query, with the duals that the
    /// candidate has stored.
    fn set_problem(&mut self, index: &Index, query: &Measure<'_>, candidate: &Candidate) {
        let row = candidate.row as usize;
        let total = query.total();
        let Self { problem, pair, column_costs, query_costs, .. } = self;
        problem.begin(pair.demand.iter().map(|&mass| (mass / total) as f32));
        for (&entry, &mass) in pair.entries.iter().zip(&pair.supply) {
            let column = index.columns[index.start[row] + entry];
            let costs = column_costs.of(index, query, query_costs, column);
            problem.push((mass / total) as f32, costs);
        }
        if candidate.step > SHARED {
            let duals = &self.duals[candidate.at as usize..][..problem.v.len()];
            problem.v.copy_from_slice(duals);
            problem.set_sources();
        }
    }

    /// W₁ between the query and a measure of the collection.
    fn solve(&mut self, query: &Query<'_>, other: &Measure<'_>) -> Result<f64> {
        let Query { index, measure, counter, .. } = *query;
        let (indexed, costs_of_query) = (&index.indexed, &self.query_costs);
        let goes_on = |_| counter.add(0).is_ok();
        if indexed.by_search() {
            let solved = self.solver.value_and_gap(&indexed.metric, measure, other, &goes_on);
            return solved.map(|(value, _)| value);
        }
        let fill = |left: &[usize], right: &[usize], costs: &mut [f64]| {
            let slots = slots(left, measure.support());
            for (slot, costs) in slots.zip(costs.chunks_exact_mut(right.len())) {
                let row = indexed.exact_row(costs_of_query, slot);
                for (cost, &point) in costs.iter_mut().zip(right) {
                    *cost = row[indexed.column_of[point] as usize];
                }
            }
        };
        self.solver.value_by(&indexed.metric, (measure, other), fill, &goes_on)
    }
}

/// The number of each point among those of a measure; both ascend.
fn slots<'a>(points: &'a [usize], support: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let mut support = support.iter().enumerate();
    points.iter().filter_map(move |&point| {
        support.find(|&(_, &at)| at as usize == point).map(|(slot, _)| slot)
    })
}
