//! One query after the other: best bound first.
//!
//! All measures of the collection stand in a heap by a lower bound of their distance. The least is
//! taken out, its bound is raised by the next level, and it goes back; one that comes up with its
//! exact distance is the next neighbor, for nothing left can be nearer. Ties go to the smaller
//! number, because what is not solved yet comes up before what is.

use super::candidates::{Candidate, Candidates, KNOWN, SHARED, TRANSFORMED};
use super::indexed_points::{NO_PLACE, QueryCosts};
use super::pair::{Costs, QueryPair};
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
    rows: QueryCosts,
    potential: Potential,
    small: SingleProblem,
    pair: QueryPair,
    solver: Solver,
    /// Bounds of all measures, in units of the space for a total mass of 1.
    bounds: Vec<f32>,
    /// Those from measures' own potentials, of the first measures.
    own_bounds: Vec<f32>,
    beyond: Vec<f32>,
    /// The query's points in use with their masses, of a total of 1.
    seen: Vec<(u32, f32)>,
    /// The query's costs to each column that a candidate has needed.
    costs: Costs,
    /// Duals of candidates that went back, one after the other.
    duals: Vec<f32>,
    /// Distances that are known.
    known: Vec<f64>,
}

/// What is asked of a search.
#[derive(Clone, Copy, Debug)]
pub(super) struct SearchRequest {
    pub(super) until: SearchEnd,
    pub(super) accuracy: Accuracy,
    /// A measure that is not to be found.
    pub(super) skipped: Option<usize>,
    /// Rounds of sweeps before a pair is solved.
    pub(super) rounds: usize,
}

impl Searcher {
    /// The neighbors of a query.
    pub(super) fn search(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        asked: SearchRequest,
        counter: &Counter<'_>,
    ) -> Result<Neighbors> {
        if index.measures.is_empty() {
            return Ok(Neighbors { bound: f64::INFINITY, ..Neighbors::default() });
        }
        self.bound_all(index, query)?;
        self.costs.begin(index);
        self.pair.begin(index, query);
        self.duals.clear();
        self.known.clear();
        let mut candidates = self.candidates(index, query, asked);
        let mut found = Neighbors { bound: f64::INFINITY, ..Neighbors::default() };
        while let Some(mut candidate) = candidates.next() {
            let ended = match asked.until {
                SearchEnd::Count(count) => found.found.len() == count,
                SearchEnd::Radius(radius) => candidate.bound > radius,
            };
            if ended {
                found.bound = candidate.bound;
                break;
            }
            if candidate.step == KNOWN {
                let distance = self.known[candidate.at as usize];
                found.found.push((candidate.number as usize, distance));
                continue;
            }
            let least = candidates.least();
            self.look_into(
                index,
                query,
                &mut candidate,
                (least, asked, counter),
                &mut found.steps,
            )?;
            if candidate.step == KNOWN {
                counter.add(0)?;
            }
            candidates.push(candidate);
        }
        found.sort();
        Ok(found)
    }

    /// Bounds all measures by potentials, each for all.
    fn bound_all(&mut self, index: &Index, query: &Measure<'_>) -> Result<()> {
        let space = &index.space;
        space.rows(query.iter().map(|(point, _)| point), &mut self.rows)?;
        let rows = (!space.by_search()).then_some(&self.rows);
        index.reference.settle(space, query, rows, &mut self.small);
        self.potential.extend(space, query, (&self.rows, space.used), &self.small.u);
        let Potential { f, constant, largest, .. } = &self.potential;
        let constant = *constant as f32;
        self.bounds.clear();
        for entries in index.start.windows(2) {
            let entries = entries[0]..entries[1];
            // A rounding for every mass, product and sum, and those of the constant.
            let slack = single(entries.len() + 6) as f32 * (largest + constant.abs());
            let places = index.places[entries.clone()].iter();
            let terms = places.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
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
        let space = &index.space;
        self.seen.clear();
        self.beyond.clear();
        self.own_bounds.clear();
        let beyond = query.support().iter().filter(|&&p| space.place[p as usize] == NO_PLACE);
        if beyond.count() > MOST_BEYOND {
            return;
        }
        for (i, (point, mass)) in query.iter().enumerate() {
            let (place, mass) = (space.place[point], (mass / query.total()) as f32);
            if place != NO_PLACE {
                self.seen.push((place, mass));
            } else if index.side.len() > 0 {
                self.beyond.resize(index.side.len(), 0.0);
                let row = space.row(&self.rows, i);
                PotentialTable::add_beyond(
                    space,
                    &index.measures,
                    &index.own,
                    (row, mass),
                    &mut self.beyond,
                );
            }
        }
        index.side.bounds(&self.seen, &self.beyond, &mut self.own_bounds);
    }

    /// All measures that may be found, by the larger of their two bounds.
    fn candidates(&self, index: &Index, query: &Measure<'_>, asked: SearchRequest) -> Candidates {
        let present = |number: usize| !index.removed[number] && Some(number) != asked.skipped;
        let bounds = self.bounds.iter().enumerate().filter(|&(number, _)| present(number));
        let larger = |(number, bound): (usize, &f32)| {
            let own = self.own_bounds.get(number).copied().unwrap_or(0.0);
            (number, bound.max(own))
        };
        Candidates::new(bounds.map(larger), (index.space.unit, query.total()))
    }

    /// Raises the bound of a candidate by the next level, and by those after it for as long as it
    /// has the least bound; solves it if it still has after the last.
    fn look_into(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        candidate: &mut Candidate,
        (least, asked, counter): (f64, SearchRequest, &Counter<'_>),
        steps: &mut Steps,
    ) -> Result<()> {
        let other = index.measures.row(candidate.number as usize);
        if query.support().len() * other.support().len() > MOST_COSTS {
            if asked.accuracy == Accuracy::Approximate {
                self.know(candidate, candidate.bound, asked.accuracy);
                return Ok(());
            }
            steps.exact += 1;
            let distance = self.solve(index, query, &other, counter)?;
            self.know(candidate, distance, asked.accuracy);
            return Ok(());
        }
        if !self.pair.set(index, query, candidate.number as usize) {
            self.know(candidate, 0.0, asked.accuracy);
            return Ok(());
        }
        self.set_problem(index, query, candidate);
        let approximate = asked.accuracy == Accuracy::Approximate;
        let went_back = candidate.step > SHARED;
        let rounds = if approximate { ROUNDS_APPROXIMATE } else { asked.rounds };
        let last = TRANSFORMED + rounds as u8;
        let unit = index.space.unit;
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
        let distance = self.solve(index, query, &other, counter)?;
        self.know(candidate, distance, asked.accuracy);
        Ok(())
    }

    /// Keeps the duals of a candidate that goes back, in the place of those it had if it did before.
    fn put_back(&mut self, candidate: &mut Candidate, went_back: bool) {
        let duals = &self.small.v;
        if went_back {
            self.duals[candidate.at as usize..][..duals.len()].copy_from_slice(duals);
        } else {
            candidate.at = self.duals.len() as u32;
            self.duals.extend_from_slice(duals);
        }
    }

    /// The bound of the next level for the problem at hand.
    fn next_bound(&mut self, index: &Index, candidate: &Candidate, steps: &mut Steps) -> f64 {
        let number = candidate.number as usize;
        let Self { small, pair: QueryPair { supply, demand, entries, .. }, .. } = self;
        if candidate.step == SHARED {
            steps.transformed += 1;
            if self.own_bounds.get(number).is_some_and(|&own| own > self.bounds[number]) {
                let own = &index.own[index.start[number]..];
                small.u.iter_mut().zip(&*entries).for_each(|(u, &entry)| *u = own[entry]);
                return small.bound_by_sources(supply, demand);
            }
            small.v[..demand.len()].copy_from_slice(&self.potential.own);
            return small.bound_by_targets(supply, demand);
        }
        let round = usize::from(candidate.step - TRANSFORMED);
        steps.swept[round] += 1;
        for &(blur, sweeps) in SWEEPS[round] {
            small.sweep(blur * index.reference.scale, 1, sweeps);
        }
        small.bound_by_sources(supply, demand)
    }

    /// Enters a candidate's distance; one that may be 1 + ε times too large stands in the heap as if
    /// it were that much smaller.
    fn know(&mut self, candidate: &mut Candidate, distance: f64, accuracy: Accuracy) {
        let stretch = if let Accuracy::Within(epsilon) = accuracy { 1.0 + epsilon } else { 1.0 };
        (candidate.bound, candidate.step) = (distance / stretch, KNOWN);
        candidate.at = self.known.len() as u32;
        self.known.push(distance);
    }

    /// The costs from what the measure has too much to the query's points.
    fn set_problem(&mut self, index: &Index, query: &Measure<'_>, candidate: &Candidate) {
        let number = candidate.number as usize;
        let total = query.total();
        let Self { small, pair, costs, rows, .. } = self;
        small.begin(pair.demand.iter().map(|&mass| (mass / total) as f32));
        for (&entry, &mass) in pair.entries.iter().zip(&pair.supply) {
            let column = index.places[index.start[number] + entry];
            small.push((mass / total) as f32, costs.of(index, query, rows, column));
        }
        if candidate.step > SHARED {
            let duals = &self.duals[candidate.at as usize..][..small.v.len()];
            small.v.copy_from_slice(duals);
            small.set_sources();
        }
    }

    /// W₁ between the query and a measure of the collection.
    fn solve(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        other: &Measure<'_>,
        counter: &Counter<'_>,
    ) -> Result<f64> {
        let (space, rows) = (&index.space, &self.rows);
        let goes_on = || counter.add(0).is_ok();
        if space.by_search() {
            let solved = self.solver.value_and_gap(&space.metric, query, other, &goes_on);
            return solved.map(|(value, _)| value);
        }
        let fill = |left: &[usize], right: &[usize], costs: &mut [f64]| {
            let slots = slots(left, query.support());
            for (slot, costs) in slots.zip(costs.chunks_exact_mut(right.len())) {
                let row = space.exact_row(rows, slot);
                for (cost, &point) in costs.iter_mut().zip(right) {
                    *cost = row[space.place[point] as usize];
                }
            }
        };
        self.solver.value_by(&space.metric, (query, other), fill, &goes_on)
    }
}

/// The number of each point among those of a measure; both ascend.
fn slots<'a>(points: &'a [usize], support: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let mut support = support.iter().enumerate();
    points.iter().filter_map(move |&point| {
        support.find(|&(_, &at)| at as usize == point).map(|(slot, _)| slot)
    })
}
