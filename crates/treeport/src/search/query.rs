//! One query after the other: best bound first.
//!
//! All measures of the collection stand in a heap by a lower bound of their distance. The least is
//! taken out, its bound is raised by the next level, and it goes back; one that comes up with its
//! exact distance is the next neighbor, for nothing left can be nearer. Ties go to the smaller
//! number, because what is not solved yet comes up before what is.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::potentials::Potential;
use super::side::Side;
use super::small::Small;
use super::space::{Rows, UNUSED};
use super::{Accuracy, Index, Neighbors};
use crate::error::Result;
use crate::exact::Solver;
use crate::measure::Measure;
use crate::progress::Counter;

/// The largest relative error of one rounding to single precision.
pub(super) const ROUNDING: f32 = 1.0 / (1u32 << 24) as f32;

/// Costs up to which a pair is bounded before it is solved: 64 MiB.
const MOST_COSTS: usize = 1 << 24;

/// Blurs of the sweeps on a pair, in typical distances, and sweeps at each.
const BLURS: [(f32, usize); 2] = [(0.1, 2), (0.05, 2)];

/// How far a candidate has been looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Step {
    /// By a potential against the whole collection.
    Shared,
    /// By that potential on the pair itself.
    Transformed,
    /// By sweeps on the pair.
    Swept,
    /// Its distance is known.
    Known,
}

/// A measure of the collection with a lower bound of its distance; the heap has the least on top.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    bound: f64,
    /// The distance, once it is known.
    value: f64,
    step: Step,
    number: u32,
}

impl Candidate {
    /// Enters its distance; one that may be `stretch` times too large stands in the heap as if it
    /// were that much smaller.
    fn know(&mut self, distance: f64, accuracy: Accuracy) {
        self.value = distance;
        (self.bound, self.step) = (distance / accuracy.stretch(), Step::Known);
    }
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

/// The memory of searches on one thread.
#[derive(Debug, Default)]
pub(super) struct Searcher {
    rows: Rows,
    potential: Potential,
    small: Small,
    solver: Solver,
    /// Bounds of all measures, in units of the space for a total mass of 1.
    bounds: Vec<f32>,
    /// Whether a measure's own potential was better than the query's.
    by_own: Vec<bool>,
    beyond: Vec<f32>,
    /// The query's points in use with their masses, of a total of 1.
    seen: Vec<(u32, f32)>,
    /// For each point that gives mass its number among the query's.
    slots: Vec<usize>,
}

impl Searcher {
    /// The neighbors of a query, without the measure `skipped`.
    pub(super) fn search(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        (until, accuracy): (Until, Accuracy),
        skipped: Option<usize>,
        counter: &Counter<'_>,
    ) -> Result<Neighbors> {
        self.bound_all(index, query)?;
        let unit = query.total() * index.space.unit;
        let present = |number: &usize| !index.removed[*number] && Some(*number) != skipped;
        let candidates = (0..self.bounds.len()).filter(present).map(|number| Candidate {
            bound: (f64::from(self.bounds[number]) * unit).max(0.0),
            value: f64::NAN,
            step: Step::Shared,
            number: number as u32,
        });
        let mut heap: BinaryHeap<Candidate> = candidates.collect();
        let mut found = Neighbors::default();
        while let Some(mut candidate) = heap.pop() {
            let ended = match until {
                Until::Count(count) => found.found.len() == count,
                Until::Radius(radius) => candidate.bound > radius,
            };
            if ended {
                found.bound = candidate.bound;
                break;
            }
            if candidate.step == Step::Known {
                found.found.push((candidate.number as usize, candidate.value));
                continue;
            }
            let least = heap.peek().map_or(f64::INFINITY, |next| next.bound);
            self.look_into(index, query, &mut candidate, (least, accuracy), &mut found)?;
            if candidate.step == Step::Swept {
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
        self.potential.extend(space, query, &self.rows, &self.small.u);
        let Potential { f, constant, largest, .. } = &self.potential;
        let constant = *constant as f32;
        self.bounds.clear();
        self.by_own.clear();
        for entries in index.start.windows(2) {
            let entries = entries[0]..entries[1];
            // A rounding for every mass, product and sum, and those of the constant.
            let slack = (entries.len() + 6) as f32 * ROUNDING * (largest + constant.abs());
            let places = index.places[entries.clone()].iter();
            let terms = places.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
            self.bounds.push(terms.sum::<f32>() + constant - slack);
        }
        self.by_own.resize(self.bounds.len(), false);
        if index.side.len() > 0 {
            self.raise(index, query);
        }
        Ok(())
    }

    /// Raises bounds by the potentials of the measures themselves.
    fn raise(&mut self, index: &Index, query: &Measure<'_>) {
        let space = &index.space;
        self.seen.clear();
        self.beyond.clear();
        for (i, (point, mass)) in query.iter().enumerate() {
            let (place, mass) = (space.place[point], (mass / query.total()) as f32);
            if place != UNUSED {
                self.seen.push((place, mass));
                continue;
            }
            self.beyond.resize(index.side.len(), 0.0);
            let row = space.row(&self.rows, i);
            Side::add_beyond(space, &index.measures, &index.own, (row, mass), &mut self.beyond);
        }
        let beyond = (!self.beyond.is_empty()).then_some(&self.beyond[..]);
        index.side.raise(&self.seen, beyond, &mut self.bounds, &mut self.by_own);
    }

    /// Raises the bound of a candidate by the next level, and by those after it for as long as it
    /// has the least bound.
    fn look_into(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        candidate: &mut Candidate,
        (least, accuracy): (f64, Accuracy),
        found: &mut Neighbors,
    ) -> Result<()> {
        let number = candidate.number as usize;
        let other = index.measures.row(number);
        self.solver.lay_out(&index.space.metric, query, &other);
        if self.solver.left.is_empty() {
            candidate.know(0.0, accuracy);
            return Ok(());
        }
        let costs = self.solver.left.len() * self.solver.right.len();
        if candidate.step == Step::Swept || costs > MOST_COSTS {
            candidate.know(self.solve(index, query, &other)?, accuracy);
            found.steps.exact += 1;
            return Ok(());
        }
        self.set_problem(index, query, number);
        if candidate.step == Step::Shared {
            found.steps.transformed += 1;
            self.raise_to(index, candidate);
            if candidate.bound > least {
                candidate.step = Step::Transformed;
                return Ok(());
            }
        }
        found.steps.swept += 1;
        for (blur, sweeps) in BLURS {
            self.small.sweep(blur * index.reference.scale, sweeps);
        }
        self.raise_to(index, candidate);
        candidate.step = Step::Swept;
        if accuracy == Accuracy::Approximate {
            candidate.know(candidate.bound, accuracy);
        }
        Ok(())
    }

    /// Raises a candidate's bound to what the duals at hand prove.
    fn raise_to(&mut self, index: &Index, candidate: &mut Candidate) {
        let proved = self.small.bound(&self.solver.supply, &self.solver.demand);
        candidate.bound = candidate.bound.max(proved * index.space.unit);
    }

    /// The costs of what is laid out, and duals to begin with: those of the query's potential, or of
    /// the measure's own where it gave the better bound.
    fn set_problem(&mut self, index: &Index, query: &Measure<'_>, number: usize) {
        let (space, solver) = (&index.space, &self.solver);
        let total = query.total();
        let single = |mass: &f64| (mass / total) as f32;
        self.small.begin(solver.supply.iter().map(single), solver.demand.iter().map(single));
        self.slots.clear();
        self.slots.extend(slots(&solver.left, query.support()));
        if space.by_search() {
            let count = solver.right.len();
            let mut costs = vec![0.0; solver.left.len() * count];
            space.metric.block(&solver.left, &solver.right, &mut costs);
            for (i, costs) in costs.chunks_exact(count).enumerate() {
                self.small.fill(i, costs.iter().map(|&d| space.lowered(d)));
            }
        } else {
            for (i, &slot) in self.slots.iter().enumerate() {
                let row = space.row(&self.rows, slot);
                let places = solver.right.iter().map(|&point| space.place[point] as usize);
                self.small.fill(i, places.map(|place| space.lowered(row[place])));
            }
        }
        if self.by_own[number] {
            let own = &index.own[index.start[number]..index.start[number + 1]];
            let theirs = slots(&solver.right, index.measures.row(number).support());
            self.small.v.iter_mut().zip(theirs).for_each(|(v, slot)| *v = own[slot]);
            self.small.set_sources();
        } else {
            let own = &self.potential.own;
            self.small.u.iter_mut().zip(&self.slots).for_each(|(u, &slot)| *u = own[slot]);
        }
    }

    /// W₁ of what is laid out.
    fn solve(&mut self, index: &Index, query: &Measure<'_>, other: &Measure<'_>) -> Result<f64> {
        let space = &index.space;
        if space.by_search() {
            let solved = self.solver.value_and_gap(&space.metric, query, other, &|| true);
            return solved.map(|(value, _)| value);
        }
        let rows = &self.rows;
        let slots = slots(&self.solver.left, query.support()).collect::<Vec<_>>();
        self.solver.value_at(|_, right, costs| {
            for (slot, costs) in slots.iter().zip(costs.chunks_exact_mut(right.len())) {
                let row = space.row(rows, *slot);
                for (cost, &point) in costs.iter_mut().zip(right) {
                    *cost = row[space.place[point] as usize];
                }
            }
        })
    }
}

/// The number of each point among those of a measure; both ascend.
fn slots<'a>(points: &'a [usize], support: &'a [u32]) -> impl Iterator<Item = usize> + 'a {
    let mut support = support.iter().enumerate();
    points.iter().filter_map(move |&point| {
        support.find(|&(_, &at)| at as usize == point).map(|(slot, _)| slot)
    })
}
