//! One query after the other: best bound first.
//!
//! All measures of the collection stand in a heap by a lower bound of their distance. The least is
//! taken out, its bound is raised by the next level, and it goes back; one that comes up with its
//! exact distance is the next neighbor, for nothing left can be nearer. Ties go to the smaller
//! number, because what is not solved yet comes up before what is.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use super::potentials::Potential;
use super::side::Side;
use super::small::Small;
use super::space::{NO_PLACE, Rows};
use super::{Accuracy, Index, Neighbors, Steps};
use crate::error::{Error, Result};
use crate::exact::{Solver, balance_totals, rescaling};
use crate::measure::Measure;
use crate::progress::Counter;

/// The largest relative error of one rounding to single precision.
pub(super) const ROUNDING: f32 = 1.0 / (1u32 << 24) as f32;

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

/// How far a candidate has been looked into: not at all beyond the bound that all have; transformed;
/// swept once, and so on.
const SHARED: u8 = 0;
const TRANSFORMED: u8 = 1;
/// Its distance is known.
const KNOWN: u8 = u8::MAX;

/// A measure of the collection with a lower bound of its distance; the heap has the least on top.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bound: f64,
    number: u32,
    /// Where its duals are, or its distance once that is known.
    at: u32,
    step: u8,
}

impl Ord for Candidate {
    fn cmp(&self, other: &Self) -> Ordering {
        let by_bound = other.bound.total_cmp(&self.bound);
        by_bound.then(other.step.cmp(&self.step)).then(other.number.cmp(&self.number))
    }
}

impl PartialOrd for Candidate {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Candidate {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Candidate {}

/// When a search ends.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// With so many neighbors.
    Count(usize),
    /// With all within a distance.
    Radius(f64),
}

impl Until {
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
    rows: Rows,
    potential: Potential,
    small: Small,
    pair: Pair,
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
pub(super) struct Asked {
    pub(super) until: Until,
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
        asked: Asked,
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
        // Not their product, which may be beyond all numbers where no distance is.
        let unit = (index.space.unit, query.total());
        let mut fresh = self.by_bound(index, asked);
        let mut heap = BinaryHeap::new();
        let mut found = Neighbors { bound: f64::INFINITY, ..Neighbors::default() };
        while let Some(mut candidate) = next(&mut fresh, &mut heap, unit) {
            let ended = match asked.until {
                Until::Count(count) => found.found.len() == count,
                Until::Radius(radius) => candidate.bound > radius,
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
            let least = least(&fresh, &heap, unit);
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
            heap.push(candidate);
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
            let slack = (entries.len() + 6) as f32 * ROUNDING * (largest + constant.abs());
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
                Side::add_beyond(space, &index.measures, &index.own, (row, mass), &mut self.beyond);
            }
        }
        index.side.bounds(&self.seen, &self.beyond, &mut self.own_bounds);
    }

    /// All measures by the larger of their two bounds: a number whose order is theirs, for bounds are
    /// not negative, with the measure's number in the lower half.
    fn by_bound(&self, index: &Index, asked: Asked) -> BinaryHeap<Reverse<u64>> {
        let present = |number: usize| !index.removed[number] && Some(number) != asked.skipped;
        let keys = self.bounds.iter().enumerate().filter(|&(number, _)| present(number));
        let key = |(number, &bound): (usize, &f32)| {
            let own = self.own_bounds.get(number).copied().unwrap_or(0.0);
            let bound = bound.max(own);
            // Zero without a sign, whose bits would be the largest.
            let bound = if bound > 0.0 { bound } else { 0.0 };
            Reverse(u64::from(bound.to_bits()) << 32 | number as u64)
        };
        keys.map(key).collect()
    }

    /// Raises the bound of a candidate by the next level, and by those after it for as long as it
    /// has the least bound; solves it if it still has after the last.
    fn look_into(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        candidate: &mut Candidate,
        (least, asked, counter): (f64, Asked, &Counter<'_>),
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
        let Self { small, pair: Pair { supply, demand, entries, .. }, .. } = self;
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
            small.sweep(blur * index.reference.scale, sweeps);
        }
        small.bound_by_sources(supply, demand)
    }

    /// Enters a candidate's distance; one that may be `stretch` times too large stands in the heap as
    /// if it were that much smaller.
    fn know(&mut self, candidate: &mut Candidate, distance: f64, accuracy: Accuracy) {
        (candidate.bound, candidate.step) = (distance / accuracy.stretch(), KNOWN);
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

/// What moves between the query and a measure: its entries that have too much give to the query's
/// points, of which those without demand take nothing.
#[derive(Debug, Default)]
struct Pair {
    /// For each column the query's point there, counted from 1; 0 if there is none.
    slot_at: Vec<u32>,
    /// The columns that are not 0.
    set: Vec<u32>,
    entries: Vec<usize>,
    supply: Vec<f64>,
    demand: Vec<f64>,
}

impl Pair {
    fn begin(&mut self, index: &Index, query: &Measure<'_>) {
        self.slot_at.resize(index.space.points.len(), 0);
        self.set.drain(..).for_each(|column| self.slot_at[column as usize] = 0);
        for (&point, slot) in query.support().iter().zip(1..) {
            let column = index.space.place[point as usize];
            if column != NO_PLACE {
                self.slot_at[column as usize] = slot;
                self.set.push(column);
            }
        }
    }

    /// Lays out a pair, as the exact solver does; false if nothing moves.
    fn set(&mut self, index: &Index, query: &Measure<'_>, number: usize) -> bool {
        let other = index.measures.row(number);
        let factor = rescaling(query.total(), other.total());
        let stays_put = index.space.metric.is_metric();
        let columns = &index.places[index.start[number]..index.start[number + 1]];
        self.entries.clear();
        self.supply.clear();
        self.demand.clear();
        self.demand.extend_from_slice(query.masses());
        for (entry, (&column, &mass)) in columns.iter().zip(other.masses()).enumerate() {
            let mass = mass * factor;
            let slot = self.slot_at[column as usize] as usize;
            let mut given = mass;
            if slot > 0 && stays_put {
                let stays = self.demand[slot - 1].min(mass);
                self.demand[slot - 1] -= stays;
                given -= stays;
            }
            if given > 0.0 {
                self.entries.push(entry);
                self.supply.push(given);
            }
        }
        let moves = !self.entries.is_empty() && self.demand.iter().any(|&mass| mass > 0.0);
        if moves {
            balance_totals(&self.demand, &mut self.supply);
        }
        moves
    }
}

/// Distances from columns to the query's points, in single precision, worked out once.
#[derive(Debug, Default)]
struct Costs {
    /// For each column where its distances begin, counted from 1; 0 if they are not known yet.
    at: Vec<u32>,
    set: Vec<u32>,
    known: Vec<f32>,
}

impl Costs {
    fn begin(&mut self, index: &Index) {
        self.at.resize(index.space.points.len(), 0);
        self.set.drain(..).for_each(|column| self.at[column as usize] = 0);
        self.known.clear();
    }

    fn of(&mut self, index: &Index, query: &Measure<'_>, rows: &Rows, column: u32) -> &[f32] {
        let count = query.support().len();
        let at = &mut self.at[column as usize];
        if *at == 0 {
            self.set.push(column);
            *at = self.set.len() as u32;
            let space = &index.space;
            if space.by_search() {
                let mut exact = vec![0.0; count];
                let from = space.points[column as usize] as usize;
                space.metric.distances_from(from, query.support(), &mut exact);
                self.known.extend(exact.iter().map(|&d| space.lowered(d)));
            } else {
                let costs = (0..count).map(|slot| space.row(rows, slot)[column as usize]);
                self.known.extend(costs);
            }
        }
        let first = (*at as usize - 1) * count;
        &self.known[first..first + count]
    }
}

/// The bound that the key of a fresh candidate stands for.
fn bound_of(key: u64, (unit, total): (f64, f64)) -> f64 {
    f64::from(f32::from_bits((key >> 32) as u32)) * unit * total
}

/// The least bound of all candidates.
fn least(fresh: &BinaryHeap<Reverse<u64>>, heap: &BinaryHeap<Candidate>, unit: (f64, f64)) -> f64 {
    let fresh = fresh.peek().map_or(f64::INFINITY, |key| bound_of(key.0, unit));
    heap.peek().map_or(fresh, |candidate| fresh.min(candidate.bound))
}

/// Takes out the candidate with the least bound; a fresh one before others.
fn next(
    fresh: &mut BinaryHeap<Reverse<u64>>,
    heap: &mut BinaryHeap<Candidate>,
    unit: (f64, f64),
) -> Option<Candidate> {
    if let Some(&Reverse(key)) = fresh.peek() {
        let bound = bound_of(key, unit);
        if heap.peek().is_none_or(|candidate| bound <= candidate.bound) {
            fresh.pop();
            return Some(Candidate { bound, number: key as u32, at: 0, step: SHARED });
        }
    }
    heap.pop()
}

/// The number of each point among those of a measure; both ascend.
fn slots<'a>(points: &'a [usize], support: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let mut support = support.iter().enumerate();
    points.iter().filter_map(move |&point| {
        support.find(|&(_, &at)| at as usize == point).map(|(slot, _)| slot)
    })
}
