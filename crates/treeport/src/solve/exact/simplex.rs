//! The network simplex for one transportation problem.
//!
//! The basis is a spanning tree of the complete bipartite graph of sources and sinks. Each
//! iteration prices a block of rows, takes the arc with the most negative reduced cost as the
//! entering arc, augments the flow around the cycle it closes, and removes the leaving arc, whose
//! flow becomes 0.
//!
//! # No tolerances in the flow
//! Masses are fixed-point integers of 128 bits, so flows are exact. Every supply has one unit more
//! than its mass, and one demand absorbs these units (Charnes' perturbation; masses are multiples
//! of more units than there are sources). No proper subset of sources then balances a subset of
//! sinks, so no basic flow is 0, every pivot lowers the cost, and the method cannot cycle.
//!
//! # Costs
//! Costs are `f64` at first, and an arc enters only if its reduced cost is more negative than
//! rounding can explain. If the gap is then too wide for a certificate, the same code runs on
//! integer costs.

use std::time::{Duration, Instant};

use super::arcs::{AllArcs, Arcs, Candidate, FewArcs, NoArcs, Pricing, SingleArcs};
use super::bitset_basis::BitsetBasis;
use super::coarse;
use super::initial_basis::{BasisNode, InitialBasis};
use super::lopsided::{Lopsided, Table};
use super::price::Cost;
use super::small::{self, SmallProblem};
use super::tree_basis::TreeBasis;
use super::{KeepGoing, PIVOTS_PER_CHECK, SLACK, check_canceled, most_pivots};
use crate::error::{Error, Result};
use crate::solve::route::{Engine, by_size};

/// A spanning tree of basic arcs with their flows, rooted at the last sink.
pub(super) trait Basis<C: Cost> {
    /// Resets the tree to an initial basis.
    fn reset(&mut self, first: &InitialBasis<C>);

    /// Replaces the leaving arc by an arc whose reduced cost is below `-slack`; returns false if it
    /// is not. Potentials may be stale until [`refresh`](Self::refresh).
    fn pivot(&mut self, arc: &Candidate<C>, slack: C, potential: &mut [C]) -> bool;

    /// Computes the potentials; that of the root is 0, because large potentials weaken the bound.
    fn refresh(&mut self, potential: &mut [C]);

    /// Lists source, sink and flow of every basic arc.
    fn flows(&self, out: &mut Vec<(u32, u32, i128)>);
}

/// The network simplex on a bipartite graph; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C: Cost> {
    /// Potential of every node, sources first; a basic arc (i, j) costs potential(i) −
    /// potential(j), so a pivot shifts all potentials of a subtree by the same amount. The dual
    /// value of a sink is its negative potential.
    potential: Vec<C>,
    first: InitialBasis<C>,
    /// Candidate arcs that are priced before all others.
    pub(super) few: FewArcs<C>,
    small: BitsetBasis,
    large: TreeBasis<C>,
    /// Basic arcs with their flows.
    pub(super) flows: Vec<(u32, u32, i128)>,
    /// Supplies and demands minus the flows.
    rest: Vec<i128>,
    pub(super) pivots: usize,
}

impl<C: Cost> Simplex<C> {
    /// Solves a balanced problem with row-major costs; reduced costs above `-slack` count as 0.
    /// Returns false if `most_pivots` do not suffice, or if the flows are no plan.
    pub(super) fn solve(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[C],
        slack: C,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        C::prices(cost, demand.len(), &mut self.potential);
        self.solve_at_prices(supply, demand, cost, slack, most_pivots, keep_going)
    }

    /// Solves a problem from an initial basis at the prices of the sinks in `potential`.
    fn solve_at_prices(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[C],
        slack: C,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let m = demand.len();
        let all = AllArcs { cost, m };
        self.few.clear();
        if cost.len() >= FEW_FIRST {
            check_canceled(keep_going)?;
            self.few.cheapest(cost, &self.potential, keep_going)?;
            let arcs = (&self.few, &all);
            self.first.by_regret(supply, demand, arcs, &mut self.potential, keep_going)?;
        } else {
            let arcs = (&all, &NoArcs);
            self.first.by_regret(supply, demand, arcs, &mut self.potential, keep_going)?;
        }
        self.reset_potentials(|i, j| cost[i * m + j]);
        Ok(self.run(&all, slack, most_pivots, keep_going)? && self.is_plan(supply, demand))
    }

    /// Returns whether the flows are a feasible plan: positive, with the marginals of the problem.
    fn is_plan(&mut self, supply: &[i128], demand: &[i128]) -> bool {
        self.rest.clear();
        self.rest.extend(supply.iter().chain(demand));
        for &(i, j, flow) in &self.flows {
            self.rest[i as usize] -= flow;
            self.rest[supply.len() + j as usize] -= flow;
        }
        self.flows.iter().all(|f| f.2 > 0) && self.rest.iter().all(|&rest| rest == 0)
    }

    /// Pivots until no arc lowers the cost, first among the candidate arcs, then among all.
    fn run(
        &mut self,
        all: &impl Arcs<C>,
        slack: C,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        // The basis is moved out while the solver borrows itself.
        if self.potential.len() <= SMALL {
            let mut basis = std::mem::take(&mut self.small);
            let solved = self.pivot_on(&mut basis, all, slack, most_pivots, keep_going);
            self.small = basis;
            solved
        } else {
            let mut basis = std::mem::take(&mut self.large);
            let solved = self.pivot_on(&mut basis, all, slack, most_pivots, keep_going);
            self.large = basis;
            solved
        }
    }

    fn pivot_on(
        &mut self,
        basis: &mut impl Basis<C>,
        all: &impl Arcs<C>,
        slack: C,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        basis.reset(&self.first);
        self.pivots = 0;
        let few = std::mem::take(&mut self.few);
        let reporter = &mut Reporter::new(keep_going);
        let few_solved =
            few.count() == 0 || self.exhaust(basis, &few, all, slack, most_pivots, reporter)?;
        let solved = few_solved && self.exhaust(basis, all, all, slack, most_pivots, reporter)?;
        self.few = few;
        basis.flows(&mut self.flows);
        Ok(solved)
    }

    /// Pivots until none of these arcs lowers the cost; returns false at `most_pivots`.
    fn exhaust(
        &mut self,
        basis: &mut impl Basis<C>,
        arcs: &impl Arcs<C>,
        all: &impl Arcs<C>,
        slack: C,
        most_pivots: usize,
        reporter: &mut Reporter<'_>,
    ) -> Result<bool> {
        let (n, m) = (self.first.n, self.first.m);
        let mut pricing = Pricing::new(n, m);
        // Rows priced since the last pivot. Rounding may make all candidates fail.
        let mut clean = 0;
        while clean < n {
            let before = self.pivots;
            clean += pricing.next(arcs, self.potentials(), slack, n - clean);
            for arc in &pricing.candidates {
                if self.pivots == most_pivots {
                    basis.refresh(&mut self.potential);
                    return Ok(false);
                }
                self.pivots += usize::from(basis.pivot(arc, slack, &mut self.potential));
            }
            if self.pivots > before {
                clean = 0;
                basis.refresh(&mut self.potential);
            }
            if self.pivots / PIVOTS_PER_CHECK > before / PIVOTS_PER_CHECK {
                reporter.report(|| self.proved_share(basis, all))?;
            }
        }
        Ok(true)
    }

    /// Estimates the bound that the potentials prove as a share of the current cost.
    fn proved_share(&mut self, basis: &impl Basis<C>, all: &impl Arcs<C>) -> f64 {
        basis.flows(&mut self.flows);
        let (u, v) = self.potentials();
        let best: Vec<C> = (0..u.len()).map(|i| all.least(i, v)).collect();
        let value = |u: &[C]| -> f64 {
            let flows = self.flows.iter();
            flows.map(|&(i, j, flow)| flow as f64 * (u[i as usize] - v[j as usize]).as_f64()).sum()
        };
        (value(&best) / value(u)).clamp(0.0, 1.0)
    }

    /// Returns the potentials of sources and sinks.
    pub(super) fn potentials(&self) -> (&[C], &[C]) {
        self.potential.split_at(self.first.n)
    }

    /// Computes the potentials of the initial basis from the root, which has 0, downwards.
    fn reset_potentials(&mut self, cost: impl Fn(usize, usize) -> C) {
        self.first.set_costs(cost);
        let n = self.first.n;
        self.potential.clear();
        self.potential.resize(n + self.first.m, C::default());
        for &BasisNode { node, parent, arc } in self.first.order() {
            let (above, cost) = (self.potential[parent], self.first.cost[arc]);
            self.potential[node] = if node < n { above + cost } else { above - cost };
        }
    }
}

impl Simplex<i128> {
    /// Checks dual feasibility and complementary slackness from scratch.
    pub(super) fn is_dual(&self, cost: &[i128]) -> bool {
        let (u, v) = self.potentials();
        let m = v.len();
        let reduced = |i: usize, j: usize| {
            u[i].checked_sub(v[j]).and_then(|dual| cost[i * m + j].checked_sub(dual))
        };
        let feasible = |i: usize| (0..m).all(|j| reduced(i, j).is_some_and(|r| r >= 0));
        (0..u.len()).all(feasible)
            && self.flows.iter().all(|&(i, j, _)| reduced(i as usize, j as usize) == Some(0))
    }
}

/// Limits how often the bounds of a solve are computed and reported.
struct Reporter<'a> {
    keep_going: &'a KeepGoing<'a>,
    last: Instant,
    /// Time that computing the last report took.
    cost: Duration,
}

impl<'a> Reporter<'a> {
    fn new(keep_going: &'a KeepGoing<'a>) -> Self {
        Self { keep_going, last: Instant::now(), cost: Duration::ZERO }
    }

    /// Checks for cancellation; reports `share` at most twice a second and in 2 % of the time.
    fn report(&mut self, share: impl FnOnce() -> f64) -> Result<()> {
        if self.last.elapsed() < (50 * self.cost).max(Duration::from_millis(500)) {
            return check_canceled(self.keep_going);
        }
        let start = Instant::now();
        let share = share();
        (self.last, self.cost) = (Instant::now(), start.elapsed());
        if (self.keep_going)(Some(share)) { Ok(()) } else { Err(Error::Canceled) }
    }
}

/// Most nodes of a basis of bit sets: as fast as the tree at 160 nodes, at 200 to 256 nodes 1 to 1.3
/// times its time.
const SMALL: usize = 160;

/// Fewest arcs for candidates first, which also are the arcs of the initial basis.
const FEW_FIRST: usize = 1 << 18;

/// Output buffers of a solver for small problems.
pub(super) struct SimplexAnswer<'a> {
    pub(super) potential: &'a mut Vec<f64>,
    pub(super) flows: &'a mut Vec<(u32, u32, i128)>,
    pub(super) pivots: &'a mut usize,
}

impl Simplex<f64> {
    /// Solves a problem by the fastest engine for its sides; no cost exceeds `largest`. Returns
    /// false where [`solve`](Self::solve) does.
    pub(super) fn solve_fast(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[f64],
        largest: f64,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let (n, m) = (supply.len(), demand.len());
        let (slack, most_pivots) = (largest * SLACK, most_pivots(n, m));
        let engine = by_size(n, m);
        if engine == Engine::Small && largest <= small::LARGEST {
            self.first.n = n;
            let Self { potential, flows, pivots, .. } = self;
            let mut found = SimplexAnswer { potential, flows, pivots };
            let problem = SmallProblem { supply, demand, cost, slack, most_pivots };
            let solved = small::solve(problem, &mut found);
            return Ok(solved && self.is_plan(supply, demand));
        }
        if engine == Engine::Lopsided && self.solve_lopsided(supply, demand, cost, keep_going)? {
            return Ok(true);
        }
        self.solve_from_coarse(supply, demand, cost, slack, most_pivots, keep_going)
    }

    /// Solves a balanced problem as [`solve`](Self::solve) does, from the prices of a coarse problem
    /// if it is large.
    pub(super) fn solve_from_coarse(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[f64],
        slack: f64,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let (n, m) = (supply.len(), demand.len());
        let masses = (supply, demand);
        if !coarse::pays(n, m) || !coarse::prices(masses, cost, &mut self.potential, keep_going)? {
            f64::prices(cost, m, &mut self.potential);
        }
        self.solve_at_prices(supply, demand, cost, slack, most_pivots, keep_going)
    }

    /// Solves a problem from an initial basis at these prices of the sinks.
    #[cfg(test)]
    pub(super) fn solve_at(
        &mut self,
        price: Vec<f64>,
        (supply, demand): (&[i128], &[i128]),
        cost: &[f64],
        slack: f64,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        self.potential = price;
        self.solve_at_prices(supply, demand, cost, slack, most_pivots, keep_going)
    }

    /// Solves a lopsided problem; returns false if that takes too long or too much memory.
    fn solve_lopsided(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[f64],
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let (n, m) = (supply.len(), demand.len());
        let mut solver = Lopsided::default();
        let few_sources = n < m;
        let (masses, strides) =
            if few_sources { ((supply, demand), (m, 1)) } else { ((demand, supply), (1, m)) };
        if !solver.solve(masses, Table { cost, strides }, keep_going)? {
            return Ok(false);
        }
        let arc = |(few, many, mass): (usize, usize, i128)| {
            let (i, j) = if few_sources { (few, many) } else { (many, few) };
            (i as u32, j as u32, mass)
        };
        self.flows.clear();
        self.flows.extend(solver.flows.iter().map(arc));
        self.pivots = solver.paths;
        self.first.n = n;
        self.potential.clear();
        if few_sources {
            self.potential.extend_from_slice(&solver.price);
            self.potential.extend((0..m).map(|j| -least(&solver.price, |i| cost[i * m + j])));
        } else {
            self.potential.extend((0..n).map(|i| least(&solver.price, |j| cost[i * m + j])));
            self.potential.extend(solver.price.iter().map(|price| -price));
        }
        Ok(self.is_plan(supply, demand))
    }

    /// Starts from a spanning tree of arcs with positive flows.
    pub(super) fn start_from_tree(
        &mut self,
        (n, m): (usize, usize),
        flows: &[(u32, u32, i128)],
        cost: impl Fn(usize, usize) -> f64,
    ) {
        self.first.set_tree((n, m), flows);
        self.reset_potentials(cost);
        self.large.reset(&self.first);
        self.pivots = 0;
    }

    /// Resumes until none of these arcs lowers the cost; returns false at `most_pivots`.
    pub(super) fn resume(
        &mut self,
        arcs: &impl Arcs<f64>,
        slack: f64,
        most_pivots: usize,
        keep_going: &KeepGoing<'_>,
    ) -> Result<bool> {
        let mut basis = std::mem::take(&mut self.large);
        let reporter = &mut Reporter::new(keep_going);
        let solved = self.exhaust(&mut basis, arcs, arcs, slack, most_pivots, reporter);
        self.large = basis;
        solved
    }

    /// Writes the flows of the last basis to `flows`.
    pub(super) fn list_flows(&mut self) {
        self.large.flows(&mut self.flows);
    }

    /// Finds a good plan by a limited number of pivots among the arcs in [`few`](Self::few).
    ///
    /// The initial basis has the largest regrets at the prices of the sinks; mass without a path on
    /// these arcs moves on other arcs. Returns false if the flows are no plan.
    pub(super) fn improve_on_few(
        &mut self,
        (supply, demand): (&[i128], &[i128]),
        price: impl Iterator<Item = f64>,
        all: &SingleArcs<'_>,
        most_pivots: usize,
    ) -> Result<bool> {
        self.potential.clear();
        self.potential.extend(price);
        let arcs = (&self.few, all);
        self.first.by_regret(supply, demand, arcs, &mut self.potential, &|_| true)?;
        self.reset_potentials(|i, j| all.cost(i, j));
        let slack = self.few.largest() * SLACK;
        self.run(&NoArcs, slack, most_pivots, &|_| true)?;
        Ok(self.is_plan(supply, demand))
    }
}

/// Returns the smallest cost − price.
fn least(price: &[f64], cost: impl Fn(usize) -> f64) -> f64 {
    price.iter().enumerate().map(|(k, price)| cost(k) - price).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Problem = (Vec<i128>, Vec<i128>, Vec<i128>);

    /// Generates problems of up to 240 nodes.
    fn problems() -> impl Strategy<Value = Problem> {
        problems_of(prop_oneof![(1..20usize, 1..20usize), (1..120usize, 1..120usize)])
    }

    /// Generates supplies, demands and integer costs with many ties.
    fn problems_of(sizes: impl Strategy<Value = (usize, usize)>) -> impl Strategy<Value = Problem> {
        let problem = |(n, m)| {
            let masses = |count| vec(prop_oneof![Just(5i128), 1..1000i128], count);
            (masses(n), masses(m), vec(prop_oneof![0..3i128, 0..100_000i128], n * m))
        };
        sizes.prop_flat_map(problem).prop_map(|(mut supply, mut demand, cost)| {
            // Perturbed as in `Units`: no subset of sources balances a subset of sinks.
            let unit = 2 * supply.len() as i128 + 2;
            let missing = supply.iter().sum::<i128>() - demand.iter().sum::<i128>();
            let short = if missing > 0 { &mut demand[0] } else { &mut supply[0] };
            *short += missing.abs();
            for s in &mut supply {
                *s = *s * unit + 1;
            }
            for d in &mut demand {
                *d *= unit;
            }
            *demand.last_mut().unwrap() += supply.len() as i128;
            (supply, demand, cost)
        })
    }

    /// Solves on one type of basis, optionally with candidate arcs, and checks the certificate.
    fn value(
        (supply, demand, cost): &Problem,
        basis: &mut impl Basis<i128>,
        few: bool,
    ) -> std::result::Result<i128, TestCaseError> {
        let m = demand.len();
        let mut simplex = Simplex::default();
        i128::prices(cost, m, &mut simplex.potential);
        simplex.few.clear();
        if few {
            simplex.few.cheapest(cost, &simplex.potential, &|_| true).unwrap();
        }
        let all = AllArcs { cost, m };
        simplex
            .first
            .by_regret(supply, demand, (&all, &NoArcs), &mut simplex.potential, &|_| true)
            .unwrap();
        simplex.reset_potentials(|i, j| cost[i * m + j]);
        prop_assert!(simplex.pivot_on(basis, &all, 0, usize::MAX, &|_| true).unwrap());
        let value = value_of(&simplex.flows, (supply, demand, cost))?;
        let (u, v) = simplex.potentials();
        prop_assert_eq!(v[m - 1], 0, "the root has potential 0");
        for (arc, &cost) in cost.iter().enumerate() {
            prop_assert!(u[arc / m] - v[arc % m] <= cost, "the potentials are dual values");
        }
        let from = |(mass, dual): (&i128, &i128)| mass * dual;
        let bound = supply.iter().zip(u).map(from).sum::<i128>()
            - demand.iter().zip(v).map(from).sum::<i128>();
        prop_assert_eq!(bound, value);
        Ok(value)
    }

    /// Computes the cost of flows after checking that they move all mass.
    fn value_of(
        flows: &[(u32, u32, i128)],
        (supply, demand, cost): (&[i128], &[i128], &[i128]),
    ) -> std::result::Result<i128, TestCaseError> {
        let (mut left, mut right, mut value) = (supply.to_vec(), demand.to_vec(), 0);
        for &(i, j, flow) in flows {
            prop_assert!(flow > 0);
            left[i as usize] -= flow;
            right[j as usize] -= flow;
            value += flow * cost[i as usize * demand.len() + j as usize];
        }
        prop_assert!(left.iter().chain(&right).all(|&rest| rest == 0), "all mass moves");
        Ok(value)
    }

    /// Solves on costs that do not round, checks the certificate, and returns the value.
    fn value_by(
        (supply, demand, cost): &Problem,
        solve: impl FnOnce(&mut Simplex<f64>, &[f64]) -> bool,
    ) -> std::result::Result<i128, TestCaseError> {
        let mut simplex = Simplex::default();
        let costs: Vec<f64> = cost.iter().map(|&cost| cost as f64).collect();
        prop_assert!(solve(&mut simplex, &costs));
        let (u, v) = simplex.potentials();
        prop_assert_eq!((u.len(), v.len()), (supply.len(), demand.len()));
        for (arc, cost) in costs.iter().enumerate() {
            prop_assert!(u[arc / v.len()] - v[arc % v.len()] <= *cost);
        }
        for &(i, j, _) in &simplex.flows {
            let (i, j) = (i as usize, j as usize);
            prop_assert_eq!(u[i] - v[j], costs[i * v.len() + j]);
        }
        value_of(&simplex.flows, (supply, demand, cost))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn the_small_simplex_finds_the_optimum(problem in problems_of((1..=small::MOST, 1..=small::MOST))) {
            let (supply, demand, _) = &problem;
            let fast = value_by(&problem, |simplex, costs| {
                simplex.solve_fast(supply, demand, costs, 1e5, &|_| true).unwrap()
            })?;
            prop_assert_eq!(fast, value(&problem, &mut TreeBasis::default(), false)?);
        }

        #[test]
        fn lopsided_problems_reach_the_optimum(
            problem in prop_oneof![
                problems_of((2..12usize, 50..300usize)),
                problems_of((50..300usize, 2..12usize)),
                problems_of((2..4usize, 300..2000usize)),
            ],
        ) {
            let (supply, demand, _) = &problem;
            let fast = value_by(&problem, |simplex, costs| {
                simplex.solve_lopsided(supply, demand, costs, &|_| true).unwrap()
            })?;
            prop_assert_eq!(fast, value(&problem, &mut TreeBasis::default(), false)?);
        }

        #[test]
        fn both_bases_and_both_orders_of_arcs_find_the_optimum(problem in problems()) {
            let judge = value(&problem, &mut TreeBasis::default(), false)?;
            prop_assert_eq!(value(&problem, &mut TreeBasis::default(), true)?, judge);
            prop_assert_eq!(value(&problem, &mut BitsetBasis::default(), false)?, judge);
            prop_assert_eq!(value(&problem, &mut BitsetBasis::default(), true)?, judge);
        }

        #[test]
        fn the_certificate_detects_any_change(problem in problems(), at in 0..1_000_000usize, by in 1..9i128) {
            let (supply, demand, cost) = problem;
            let mut solved = Simplex::default();
            prop_assert!(solved.solve(&supply, &demand, &cost, 0, usize::MAX, &|_| true).unwrap());
            prop_assert!(solved.is_dual(&cost) && solved.is_plan(&supply, &demand));
            // Every node has a basic arc, whose reduced cost then is not 0.
            for by in [by, -by, i128::MAX / 2] {
                let mut other = solved.clone();
                let node = at % other.potential.len();
                other.potential[node] += by;
                prop_assert!(!other.is_dual(&cost));
            }
            let arc = at % solved.flows.len();
            solved.flows[arc].2 -= by;
            prop_assert!(!solved.is_plan(&supply, &demand));
        }
    }
}
