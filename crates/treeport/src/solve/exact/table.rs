//! Exact transport on a table of all costs, with a certificate.
//!
//! The network simplex (`simplex`) runs in `f64`, and its result is certified: the plan has the
//! right marginals by construction, and the dual values bound the cost of every plan from below. If
//! the gap is too wide, integer costs follow; a value without a certificate is an error.
//!
//! # Where the time goes
//! Milliseconds in the plane, random masses, one thread; in parentheses where one side is shifted.
//!
//! | points a side | coarse problem | candidate arcs | initial basis | pivots on candidates | on all arcs |
//! | --- | --- | --- | --- | --- | --- |
//! | 300 | (0.4) | | 0.2 (0.2) | | 1.3 (1.4) |
//! | 1,000 | 4.3 (5.3) | 1.9 | 0.8 (1.0) | 4.4 (13) | 1.5 (7) |
//! | 3,000 | 34 (39) | 10 | 3.4 (6.6) | 20 (24) | 60 (180) |
//!
//! A read of the matrix takes 2 ms at 1,000 points a side and 20 ms at 3,000; its copy, the largest
//! cost and the certificate are four of them. There are 2.5 (6) pivots for each node of the tree, of
//! 0.5 to 1 µs: a batch prices rows (a third), computes all potentials (a sixth), and reads the
//! cycles of arcs that enter and of as many that no longer pay (together almost a third).
//!
//! # What was tried
//! Kept (random points in R^50 and the plane, supports of 10 to 2,000, one run):
//! - regrets at mean prices for the initial basis (`initial_basis`): 35 to 45 % fewer pivots than
//!   the cheapest arc of each row;
//! - prices of a coarse problem instead (`coarse`), where rows are similar;
//! - bit sets for small bases (`bitset_basis`): up to 160 nodes, half the time at supports of 30;
//! - candidate arcs first, also for the initial basis, then all (`arcs`): from 2^18 arcs on;
//! - batches of arcs, one of each row of a block, and potentials once a batch (`tree_basis`): a third
//!   of the time of single pivots at 1,200 points a side;
//! - signed costs in the nodes of the tree, and the leaving arc only once the entering one pays: 10
//!   to 20 % of the time at 150 to 1,200;
//! - the index of a known sum by a bit mask (`price`): 5 % of the time at supports of 10 and 30;
//! - padded rows in arrays of a fixed size, compiled for wide registers (`small`): half the time at
//!   supports of 30;
//! - shortest augmenting paths among the few points of one side (`lopsided`): 10 × 20,000 points in
//!   a hundredth of the time; from a ratio of 64 on, below which the simplex is as fast.
//!
//! Not kept:
//! - *a tree's greedy plan as the initial basis*: 5 to 35 % more pivots than regrets in the plane,
//!   2.6 times as many in R^50, where a tree approximates distances worse;
//! - *candidate lists* (good rows of the last pass, priced again before new ones): within 10 %
//!   either way;
//! - *blocks of a third to a twentieth of the rows, and 20 to 60 for the ratio of candidates* since
//!   pivots come in batches: within 10 % either way from 300 to 1,200;
//! - *candidate arcs below 2^18 arcs*: as much time at 150 to 600, 1.3 times as much where one side
//!   is shifted;
//! - *a test of 16 sums for any hit before the bit mask*: 4 % less at 300, 7 % more at 100;
//! - *pricing in `f32`*: half the memory, no less time: the copy takes what faster scans save;
//! - *candidates alone, with violated arcs added after each pass over the table*: 72,000 pivots
//!   instead of 20,000 at 1,200 points a side, one side shifted;
//! - *prices and plan of an auction on the table* (ε from a quarter to 0.2 % of the mean cost, with
//!   levels): half the pivots, but 60 to 130 scans of all sinks for each source, which take longer
//!   than all other steps;
//! - *pricing all arcs before every pivot of a small problem*: a fifth fewer pivots, a fifth more
//!   time;
//! - *shortest augmenting paths* with reductions, as for assignments: 2 to 30 times slower at
//!   supports of 30 to 2,000, because masses that split need many more paths;
//! - the same for equal masses alone: a fifth to a half less time than the simplex at 50 and 100
//!   points, but one and a half times as much where one side is shifted, and two to four times at
//!   1,200.

use super::integer_mass::{CostUnits, Units};
use super::simplex::Simplex;
use super::{Certified, KeepGoing, MOST_KEPT, check_canceled, dual, is_proof, is_settled, price};
use crate::error::{Error, Result};
use crate::memory;
use crate::metric::{BlockCache, GroundMetric};
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::route::by_size;
use crate::solve::sides::{Costs, Sides, transpose};

/// The workspace of the engines on a table.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct Table {
    /// Costs of all arcs, row-major.
    pub(in crate::solve) cost: Vec<f64>,
    transposing: Vec<f64>,
    /// Layout of the left points for distances.
    cache: BlockCache,
    cost_units: CostUnits,
    pub(super) float: Simplex<f64>,
    integer: Simplex<i128>,
    /// Largest dual values of the sinks for those of the sources.
    bound: Vec<f64>,
}

/// Masses of sources and sinks, in `f64` and as integers.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Masses<'a> {
    pub(in crate::solve) supply: &'a [f64],
    pub(in crate::solve) demand: &'a [f64],
    pub(in crate::solve) units: &'a Units,
}

impl Masses<'_> {
    fn sizes(&self) -> (usize, usize) {
        (self.supply.len(), self.demand.len())
    }
}

/// Positions of a source and a sink, and the mass between them.
pub(in crate::solve) type Move = (usize, usize, f64);

impl Table {
    /// Solves a balanced problem on a table of its costs.
    pub(in crate::solve) fn answer(
        &mut self,
        costs: Costs<'_>,
        sides: &Sides,
        units: &mut Units,
        wanted: Wanted,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Answer> {
        self.fill(costs, sides, keep_going)?;
        units.set(&sides.supply, &sides.demand);
        let masses = Masses { supply: &sides.supply, demand: &sides.demand, units };
        let Certified { value, gap, integers } = self.certified(masses, keep_going)?;
        let mut answer =
            Answer::certified(value, gap, by_size(sides.left.len(), sides.right.len()));
        (answer.integers, answer.pivots) = (integers, self.pivots(integers));
        if wanted > Wanted::Value {
            answer.plan = sides.plan_of(self.moves(units, integers));
            let (left, right) = self.duals(integers);
            [answer.left, answer.right] = sides.duals_of(left, right);
        }
        Ok(answer)
    }

    /// Returns whether it is small enough for a thread to keep.
    pub(in crate::solve) fn is_small(&self) -> bool {
        self.cost.capacity() <= MOST_KEPT
    }

    /// Fills the table with the costs from all sources to all sinks.
    pub(in crate::solve) fn fill(
        &mut self,
        costs: Costs<'_>,
        sides: &Sides,
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        if sides.is_empty() {
            self.cost.clear();
            return Ok(());
        }
        match costs {
            Costs::Metric(metric) => self.fill_distances(metric, sides, keep_going),
            Costs::Matrix(matrix) if sides.swapped => {
                let (rows, columns) = (&sides.right, &sides.left);
                matrix.read_costs(rows, columns, &mut self.transposing, keep_going)?;
                transpose(&self.transposing, rows.len(), columns.len(), &mut self.cost);
                if self.transposing.len() > MOST_KEPT {
                    self.transposing = Vec::new();
                }
                Ok(())
            }
            Costs::Matrix(matrix) => {
                matrix.read_costs(&sides.left, &sides.right, &mut self.cost, keep_going)
            }
        }
    }

    fn fill_distances(
        &mut self,
        metric: &GroundMetric,
        sides: &Sides,
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        let (n, m) = (sides.left.len(), sides.right.len());
        let count = reserve_costs(&mut self.cost, n, m)?;
        // Only new entries need a value before all are overwritten.
        self.cost.resize(count, 0.0);
        if count <= COSTS_PER_CHECK {
            let Sides { left, right, support, .. } = sides;
            metric.block_from(&mut self.cache, support, left, right, &mut self.cost);
            return Ok(());
        }
        let rows = (COSTS_PER_CHECK / m).max(1);
        for (left, cost) in sides.left.chunks(rows).zip(self.cost.chunks_mut(rows * m)) {
            check_canceled(keep_going)?;
            metric.block(left, &sides.right, cost);
        }
        Ok(())
    }

    /// Solves the problem of the table, and certifies its value.
    pub(in crate::solve) fn certified(
        &mut self,
        masses: Masses<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Certified> {
        let largest = price::largest(&self.cost);
        let Masses { supply, demand, units } = masses;
        let mut clip = largest;
        let lost = units.rounded(supply, demand);
        if self.float.solve_fast(&units.supply, &units.demand, &self.cost, largest, keep_going)? {
            let value = self.value(masses, false);
            let (left, _) = self.float.potentials();
            let (bound, rounding) =
                dual::dual_bound(supply, demand, &self.cost, left, &mut self.bound);
            // A value below the bound is wrong, too: no plan is cheaper.
            let gap = (value - bound).abs() + rounding;
            if is_proof(value, gap) && self.are_settled(masses, value, lost, false) {
                return Ok(Certified { value, gap, integers: false });
            }
            clip = largest.min(self.clip_from_plan(masses, false));
        }
        let mut before = f64::INFINITY;
        // Each plan may lower the clip, which leaves more digits to the costs below it.
        while clip < before / 2.0 {
            if let Some(proved) = self.in_integers(masses, clip, lost, keep_going)? {
                return Ok(proved);
            }
            (before, clip) = (clip, clip.min(self.clip_from_plan(masses, true)));
        }
        let (left, right) = masses.sizes();
        let proved = self.in_integers(masses, largest, lost, keep_going)?;
        proved.ok_or(Error::Unsolved { left, right })
    }

    /// Solves with integer costs, rounded down and clipped to `clip`; `None` if the value has no
    /// certificate. `lost` is the rounding error of the integer masses.
    ///
    /// Rounding and clipping only lower costs, so the integer optimum is at most the true cost of
    /// every plan. A plan that attains it exceeds the optimum by at most the amount by which its
    /// costs were lowered.
    fn in_integers(
        &mut self,
        masses: Masses<'_>,
        clip: f64,
        lost: f64,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Option<Certified>> {
        let (n, m) = masses.sizes();
        self.cost_units = CostUnits::new(clip, n + m);
        let mut cost: Vec<i128> = Vec::new();
        reserve_costs(&mut cost, n, m)?;
        cost.extend(self.cost.iter().map(|&c| self.cost_units.integer(c.min(clip))));
        let Units { supply, demand, .. } = masses.units;
        let solved = self.integer.solve(supply, demand, &cost, 0, usize::MAX, keep_going)?;
        let proved = solved && self.integer.is_dual(&cost);
        let value = self.value(masses, true);
        let lowered = |(i, j, mass): Move| {
            mass * (self.cost[i * m + j] - self.cost_units.real(cost[i * m + j]))
        };
        // A plan that costs nothing is optimal.
        let gap = self.moves(masses.units, true).into_iter().map(lowered).sum::<f64>().min(value);
        let proved = proved && self.are_settled(masses, value, lost, true);
        Ok((proved && is_proof(value, gap)).then_some(Certified { value, gap, integers: true }))
    }

    /// Returns whether rounding errors `lost` of masses at the largest used cost are negligible.
    fn are_settled(&self, masses: Masses<'_>, value: f64, lost: f64, integers: bool) -> bool {
        lost == 0.0 || is_settled(value, lost * self.largest_used(masses, integers))
    }

    /// Returns a cost to which all higher costs can be lowered without changing the optimum.
    ///
    /// Let the last plan P use costs up to T, and an optimal plan Q an arc of cost c. The
    /// difference of P and Q is a sum of cycles, each of which replaces arcs of Q by at most k =
    /// min(n, m) arcs of P. The cycle through the arc of cost c would save at least c and cost at
    /// most k·T, so c ≤ k·T. This also holds for costs clipped to any K > k·T, with the same P: an
    /// optimal plan for the clipped costs uses no clipped arc, so it has the same cost by the
    /// original costs, and no plan costs less by the original costs than by the clipped ones.
    fn clip_from_plan(&self, masses: Masses<'_>, integers: bool) -> f64 {
        let used = self.largest_used(masses, integers);
        if used > 0.0 {
            let (n, m) = masses.sizes();
            return 2.0 * n.min(m) as f64 * used;
        }
        let above = self.cost.iter().copied().filter(|&cost| cost > 0.0);
        above.fold(f64::INFINITY, f64::min)
    }

    /// Returns the largest cost of an arc with mass in the last basis.
    fn largest_used(&self, masses: Masses<'_>, integers: bool) -> f64 {
        let m = masses.demand.len();
        let used = |(i, j, _): &Move| self.cost[i * m + j];
        self.moves(masses.units, integers).iter().map(used).fold(0.0, f64::max)
    }

    /// Returns the flows of the last basis as masses.
    pub(in crate::solve) fn moves(&self, units: &Units, integers: bool) -> Vec<Move> {
        let mass = units.masses();
        let masses = |(i, j, flow)| (i, j, mass(flow));
        self.flows(integers).map(masses).filter(|m| m.2 > 0.0).collect()
    }

    fn value(&self, masses: Masses<'_>, integers: bool) -> f64 {
        let m = masses.demand.len();
        let mass = masses.units.masses();
        let price = |(i, j, flow): (usize, usize, i128)| mass(flow) * self.cost[i * m + j];
        self.flows(integers).map(price).sum()
    }

    fn flows(&self, integers: bool) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        let flows = if integers { &self.integer.flows } else { &self.float.flows };
        flows.iter().map(|&(i, j, flow)| (i as usize, j as usize, flow))
    }

    /// Returns the dual values of sources and sinks.
    pub(in crate::solve) fn duals(&self, integers: bool) -> (Vec<f64>, Vec<f64>) {
        if !integers {
            return (self.float.potentials().0.to_vec(), self.bound.clone());
        }
        let (left, right) = self.integer.potentials();
        // Relative to the last column, exactly: a spare one has the dual value 0.
        let base = right.last().copied().unwrap_or(0);
        let back = |sign: i128| move |v: &i128| self.cost_units.real(sign * (v - base));
        (left.iter().map(back(1)).collect(), right.iter().map(back(-1)).collect())
    }

    /// Returns the number of pivots of the last solve.
    pub(in crate::solve) fn pivots(&self, integers: bool) -> usize {
        self.float.pivots + if integers { self.integer.pivots } else { 0 }
    }
}

/// Reserves memory for the costs between two supports; returns their number.
pub(in crate::solve) fn reserve_costs<C>(cost: &mut Vec<C>, n: usize, m: usize) -> Result<usize> {
    let count = n.saturating_mul(m);
    let step = format_args!("exact transport between {n} and {m} points");
    memory::resize_room(cost, step, count, "take an estimate at the level `flow`")?;
    Ok(count)
}

/// Costs to compute or scan between two checks for cancellation.
pub(in crate::solve) const COSTS_PER_CHECK: usize = 1 << 24;
