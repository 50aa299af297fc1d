//! The last step: shortest paths or a network simplex on a set of arcs that grows until the optimum
//! is certified over all pairs.

use super::augment::Augment;
use super::basis::{self, Flow};
use super::phases::{Start, largest};
use super::{AuctionProblem, Best, Goal};
use crate::error::Result;
use crate::solve::costs::{Minima, minima};
use crate::solve::exact::arcs::FewArcs;
use crate::solve::exact::integer_mass::Units;
use crate::solve::exact::simplex::Simplex;
use crate::solve::exact::{Certified, SLACK, is_proof, is_settled, most_pivots};

/// Largest number of rounds of the last step.
const MOST_ROUNDS: usize = 200;

/// Largest number of arcs for which a table of costs takes over where single precision cannot
/// distinguish sinks.
pub(super) const MOST_IN_TABLE: usize = 1 << 25;

/// Optimum on few arcs, to be certified over all pairs.
struct Candidate<'a> {
    flows: &'a [Flow],
    mass: &'a dyn Fn(i128) -> f64,
    duals: &'a [f64],
    prices: &'a [f64],
    /// Limit of cost + price of every source below which arcs are requested.
    limits: &'a [f64],
    /// Sources to search.
    rows: Vec<u32>,
    /// Upper bound of the change of the value from rounding masses to quanta.
    change: f64,
}

impl AuctionProblem<'_> {
    /// Places all mass again along shortest paths, on more arcs in each round, until the goal is
    /// reached; returns false if it is not.
    ///
    /// Prices have only risen since a source scanned all sinks, so lower bounds of the sinks that
    /// are not on its list still hold: only sources whose dual values are above them scan again.
    pub(super) fn augment(
        &self,
        units: &Units,
        start: &Start,
        goal: &Goal<'_>,
        best: &mut Best,
    ) -> Result<bool> {
        let in_plan = start.flows.iter().map(|&(i, j, _)| (i, j));
        let arcs = start.arcs.iter().copied().chain(in_plan.clone());
        let mut arcs: Vec<_> = arcs.map(|arc| self.with_cost(arc)).collect();
        // A longer arc replaces the arcs of a cycle, and costs more than all of them.
        let used = in_plan.map(|arc| self.with_cost(arc).2).fold(0.0, f64::max);
        let longest = 2.0 * start.flows.len() as f64 * used;
        arcs.retain(|arc| arc.2 <= longest);
        let masses = [&units.supply[..], &units.demand];
        let mut paths = Augment::new(masses, &start.flows, start.prices.clone());
        let lost_masses = units.rounded(&self.masses[0], &self.masses[1]);
        let precision = self.costs.precision();
        // The first search also returns arcs with slightly positive reduced costs, since dual
        // values have yet to change.
        let mut margins = start.epsilons.clone();
        for _ in 0..MOST_ROUNDS {
            let largest_cost = sorted(&mut arcs);
            let slack = SLACK * largest_cost;
            paths.set_arcs(&arcs, slack);
            let proved = best.share();
            let report = |_| (goal.keep_going)(Some(proved));
            if !paths.run(&report)? {
                return Ok(false);
            }
            best.pivots = paths.found;
            // The dual values were updated incrementally; here they are computed again from the
            // arcs.
            paths.refresh_duals();
            let flows = self.without_cycles(paths.flows());
            let (duals, prices) = (&paths.duals, &paths.prices);
            // Twice: `others` was rounded once more, and so were prices.
            let most = start.largest.max(largest(prices)) / precision.unit;
            let lost = 2.0 * precision.lost_with(most);
            let is_open = |i: &u32| {
                let others = (f64::from(start.others[*i as usize]) - lost) * precision.unit;
                others < duals[*i as usize]
            };
            let limits: Vec<f64> = duals.iter().zip(&margins).map(|(u, more)| u + more).collect();
            margins.fill(-slack);
            let candidate = Candidate {
                flows: &flows,
                mass: &units.quantum(),
                duals,
                prices,
                limits: &limits,
                rows: (0..duals.len() as u32).filter(is_open).collect(),
                change: lost_masses * largest_cost,
            };
            let found = self.prove(candidate, &|| report(None), best)?;
            if best.reaches(goal.width) {
                return Ok(true);
            }
            if found.cheap.is_empty() || found.is_blurred {
                return Ok(false);
            }
            arcs.extend(found.cheap);
        }
        Ok(false)
    }

    /// Runs the simplex from the initial basis, on more arcs in each round, until the goal is
    /// reached.
    pub(super) fn pivot(
        &self,
        (simplex, units): (&mut Simplex<f64>, &mut Units),
        start: Start,
        goal: &Goal<'_>,
        best: &mut Best,
    ) -> Result<()> {
        let (n, m) = (self.places[0].len(), self.places[1].len());
        let Start { mut flows, arcs, .. } = start;
        basis::join((n, m), &mut flows, arcs.iter().copied());
        units.perturb_tree(&mut flows);
        best.settling = self.settling(units);
        simplex.start_from_tree((n, m), &flows, |i, j| self.cost(i, j));
        let in_tree = flows.iter().map(|&(i, j, _)| (i, j));
        let mut arcs: Vec<_> =
            arcs.into_iter().chain(in_tree).map(|arc| self.with_cost(arc)).collect();
        let lost_masses = units.rounded(&self.masses[0], &self.masses[1]);
        for _ in 0..MOST_ROUNDS {
            let largest_cost = sorted(&mut arcs);
            let few = few_arcs(n, &arcs);
            let slack = largest_cost * SLACK;
            let proved = best.share();
            let report = |_| (goal.keep_going)(Some(proved));
            let is_done = simplex.resume(&few, slack, most_pivots(n, m), &report)?;
            best.pivots = simplex.pivots;
            simplex.list_flows();
            let (duals, prices) = simplex.potentials();
            let limits: Vec<f64> = duals.iter().map(|dual| dual - slack).collect();
            let candidate = Candidate {
                flows: &simplex.flows,
                mass: &units.masses(),
                duals,
                prices,
                limits: &limits,
                rows: (0..n as u32).collect(),
                change: lost_masses * largest_cost,
            };
            let found = self.prove(candidate, &|| report(None), best)?;
            // A table of costs in double precision distinguishes sinks that are equal here, if it
            // fits into memory.
            let is_for_table = found.is_blurred && n.saturating_mul(m) <= MOST_IN_TABLE;
            let is_stuck = found.cheap.is_empty() || !is_done || is_for_table;
            if best.reaches(goal.width) || is_stuck {
                return Ok(());
            }
            arcs.extend(found.cheap);
        }
        Ok(())
    }

    /// Bounds the optimum over all pairs by an optimum on few arcs, and certifies it where the two
    /// bounds meet.
    fn prove(
        &self,
        candidate: Candidate<'_>,
        keep_going: &dyn Fn() -> bool,
        best: &mut Best,
    ) -> Result<Minima> {
        let Candidate { flows, mass, duals, prices, limits, rows, change } = candidate;
        let value = self.offer_plan(flows, mass, best);
        let found = minima(&*self.costs, prices, limits, rows, keep_going)?;
        let least = duals.iter().zip(&found.least).map(|(dual, least)| dual.min(*least));
        let (mut duals, mut prices) = (least.collect::<Vec<f64>>(), prices.to_vec());
        if value == 0.0 {
            // A plan of cost 0 is optimal, and dual values of 0 certify it.
            duals.fill(0.0);
            prices.fill(0.0);
        }
        let (bound, rounding) = self.bound(&duals, &prices);
        self.offer_bound(bound - rounding, &duals, &prices, best);
        let gap = (value - bound).abs() + rounding;
        if is_proof(value, gap) && is_settled(value, change) {
            best.certified = Some(Certified { value, gap, integers: false });
            self.keep_plan(value, flows, mass, best);
            self.keep_duals(bound - rounding, &duals, &prices, best);
        }
        Ok(found)
    }
}

/// Sorts arcs by source and sink, removes duplicates, and returns the largest cost.
fn sorted(arcs: &mut Vec<(u32, u32, f64)>) -> f64 {
    arcs.sort_unstable_by_key(|arc| (arc.0, arc.1));
    arcs.dedup_by_key(|arc| (arc.0, arc.1));
    arcs.iter().fold(0.0, |most: f64, arc| most.max(arc.2))
}

/// Converts sorted arcs to compressed rows.
fn few_arcs(n: usize, arcs: &[(u32, u32, f64)]) -> FewArcs<f64> {
    let mut few = FewArcs::default();
    few.clear();
    let mut arcs = arcs.iter().peekable();
    for source in 0..n as u32 {
        while let Some(&(_, sink, cost)) = arcs.next_if(|arc| arc.0 == source) {
            few.push(sink as usize, cost);
        }
        few.end_row();
    }
    few
}
