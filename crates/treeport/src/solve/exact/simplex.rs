//! The network simplex for one transportation problem.
//!
//! The basis is a spanning tree of the complete bipartite graph of sources and sinks. A round
//! prices arcs row by row, lets the most negative one in, sends as much flow as it can around the
//! cycle this closes, and drops the arc that runs dry.
//!
//! # No epsilons in the flow
//! Masses are fixed-point integers of 128 bits, so flows are exact: nothing is ever "nearly 0".
//! Every supply carries one unit more than it should, and one demand takes them all (Charnes'
//! perturbation; masses are multiples of more units than there are sources). No proper subset of
//! sources then balances a subset of sinks, so no basic flow is 0, every pivot lowers the cost, and
//! the method cannot cycle.
//!
//! # Costs
//! `f64` in the usual case, where an arc is let in only if its reduced cost is below what rounding
//! could explain. Where that leaves a gap that cannot be certified, the same code runs on integer
//! costs, which do not round.

use std::time::{Duration, Instant};

use super::arcs::{AllArcs, Arcs, Entering, FewArcs, NoArcs, Pricing, SingleArcs};
use super::first::{BasisNode, FirstBasis};
use super::linked::Linked;
use super::lopsided::{self, Lopsided, Table};
use super::paths::Paths;
use super::price::Cost;
use super::word::{self, WordProblem};
use super::{ASKED, GoesOn, SLACK, ask, most_pivots};
use crate::error::{Error, Result};

/// A spanning tree of basic arcs with their flows, rooted at the last sink.
pub(super) trait Basis<C: Cost> {
    fn hang(&mut self, first: &FirstBasis<C>);

    /// Lets an arc in and another one out, and moves the potentials of the nodes on one side.
    fn pivot(&mut self, arc: &Entering<C>, potential: &mut [C]);

    /// Source, sink and flow of every basic arc.
    fn flows(&self, out: &mut Vec<(u32, u32, i128)>);
}

/// The solver of one transportation problem; its memory serves one solve after another.
#[derive(Clone, Debug, Default)]
pub(super) struct Simplex<C: Cost> {
    /// Potential of every node, sources first; a basic arc (i, j) costs potential(i) −
    /// potential(j). A pivot then moves all potentials of a subtree by the same amount. The dual
    /// value of a sink is its negative.
    potential: Vec<C>,
    first: FirstBasis<C>,
    /// Arcs to try before all others.
    pub(super) few: FewArcs<C>,
    small: Paths,
    large: Linked,
    /// Basic arcs with their flows.
    pub(super) flows: Vec<(u32, u32, i128)>,
    /// What the flows leave of supplies and demands.
    rest: Vec<i128>,
    pub(super) pivots: usize,
}

impl<C: Cost> Simplex<C> {
    /// Solves for balanced supplies and demands and row-major costs. Reduced costs above `-slack`
    /// count as 0. False if `most_pivots` do not suffice, or if the flows are no plan.
    ///
    /// # Errors
    /// `Cancelled`, where it shall not go on.
    pub(super) fn solve(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[C],
        slack: C,
        most_pivots: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        let m = demand.len();
        C::prices(cost, m, &mut self.potential);
        self.few.clear();
        if cost.len() >= FEW_FIRST {
            ask(goes_on)?;
            self.few.cheapest(cost, &self.potential, goes_on)?;
        }
        let all = AllArcs { cost, m };
        self.first.by_regret(supply, demand, (&all, &NoArcs), &mut self.potential, goes_on)?;
        self.reset_potentials(|i, j| cost[i * m + j]);
        Ok(self.run(&all, slack, most_pivots, goes_on)? && self.is_plan(supply, demand))
    }

    /// Whether the flows move all of the supplies to all of the demands.
    fn is_plan(&mut self, supply: &[i128], demand: &[i128]) -> bool {
        self.rest.clear();
        self.rest.extend(supply.iter().chain(demand));
        for &(i, j, flow) in &self.flows {
            self.rest[i as usize] -= flow;
            self.rest[supply.len() + j as usize] -= flow;
        }
        self.flows.iter().all(|f| f.2 > 0) && self.rest.iter().all(|&rest| rest == 0)
    }

    /// Moves the first basis on until no arc lowers the cost: first among the few arcs, then among
    /// all.
    fn run(
        &mut self,
        all: &impl Arcs<C>,
        slack: C,
        most_pivots: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        // One of the two is taken out while the rest of the solver works on it.
        if self.potential.len() <= SMALL {
            let mut basis = std::mem::take(&mut self.small);
            let solved = self.pivot_on(&mut basis, all, slack, most_pivots, goes_on);
            self.small = basis;
            solved
        } else {
            let mut basis = std::mem::take(&mut self.large);
            let solved = self.pivot_on(&mut basis, all, slack, most_pivots, goes_on);
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
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        basis.hang(&self.first);
        self.pivots = 0;
        let few = std::mem::take(&mut self.few);
        let pace = &mut Pace { goes_on, told: Instant::now(), pass: Duration::ZERO };
        let begun = few.count() == 0 || self.exhaust(basis, &few, all, slack, most_pivots, pace)?;
        let solved = begun && self.exhaust(basis, all, all, slack, most_pivots, pace)?;
        self.few = few;
        self.recenter();
        basis.flows(&mut self.flows);
        Ok(solved)
    }

    /// Pivots until none of the arcs lowers the cost; false if that takes too many.
    fn exhaust(
        &mut self,
        basis: &mut impl Basis<C>,
        arcs: &impl Arcs<C>,
        all: &impl Arcs<C>,
        slack: C,
        most_pivots: usize,
        pace: &mut Pace<'_>,
    ) -> Result<bool> {
        let mut pricing = Pricing::new(self.first.n, arcs.count());
        while let Some(arc) = pricing.next(arcs, self.potentials(), slack) {
            if self.pivots == most_pivots {
                return Ok(false);
            }
            basis.pivot(&arc, &mut self.potential);
            self.pivots += 1;
            if self.pivots.is_multiple_of(ASKED) {
                pace.tell(|| self.proved_share(basis, all))?;
            }
            if self.pivots.is_multiple_of(self.potential.len()) {
                self.recenter();
            }
        }
        Ok(true)
    }

    /// The lower bound that the potentials of the sinks prove, as a share of what the basis costs, about:
    /// the flows of a source cost what its potential says, and no plan less than the best one allows.
    fn proved_share(&mut self, basis: &impl Basis<C>, all: &impl Arcs<C>) -> f64 {
        basis.flows(&mut self.flows);
        let (u, v) = self.potentials();
        let best: Vec<C> = (0..u.len()).map(|i| all.least(i, v)).collect();
        let worth = |of: &[C]| -> f64 {
            let flows = self.flows.iter();
            flows.map(|&(i, j, flow)| flow as f64 * (of[i as usize] - v[j as usize]).as_f64()).sum()
        };
        (worth(&best) / worth(u)).clamp(0.0, 1.0)
    }

    /// Brings the root back to 0. A pivot may move the root's side instead of the other, and
    /// potentials that wander off round more and bound less.
    fn recenter(&mut self) {
        let root = self.potential[self.potential.len() - 1];
        self.potential.iter_mut().for_each(|potential| *potential = *potential - root);
    }

    /// Potentials of sources and sinks.
    pub(super) fn potentials(&self) -> (&[C], &[C]) {
        self.potential.split_at(self.first.n)
    }

    /// Potentials from the first basis: 0 at the root, then downwards.
    fn reset_potentials(&mut self, cost: impl Fn(usize, usize) -> C) {
        let n = self.first.n;
        self.potential.clear();
        self.potential.resize(n + self.first.m, C::default());
        for &BasisNode { node, parent, .. } in self.first.order() {
            self.potential[node] = if node < n {
                self.potential[parent] + cost(node, parent - n)
            } else {
                self.potential[parent] - cost(parent, node - n)
            };
        }
    }
}

impl Simplex<i128> {
    /// Whether the potentials prove the flows: no arc costs less than they say, none with flow
    /// more. Looked at from the outside, whatever the solver did.
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

/// Tells how far a solve is: seldom enough that nobody waits for it.
struct Pace<'a> {
    goes_on: &'a GoesOn<'a>,
    told: Instant,
    /// What it took to find out the last time.
    pass: Duration,
}

impl Pace<'_> {
    /// Asks whether to go on, twice a second at most with what `share` finds, and for a fiftieth of the
    /// time in all.
    fn tell(&mut self, share: impl FnOnce() -> f64) -> Result<()> {
        if self.told.elapsed() < (50 * self.pass).max(Duration::from_millis(500)) {
            return ask(self.goes_on);
        }
        let begun = Instant::now();
        let share = share();
        (self.told, self.pass) = (Instant::now(), begun.elapsed());
        if (self.goes_on)(Some(share)) { Ok(()) } else { Err(Error::Cancelled) }
    }
}

/// Up to this many nodes the basis is kept as bit sets: a fifth less time at 200 and 256 nodes, as
/// much at 400, more at 512.
const SMALL: usize = 256;

/// From this many arcs on a few are tried first: at 2,000 × 2,000 a third less time in R^50 and a
/// sixth in the plane, at 1,000 × 1,000 a tenth less and a tenth more.
const FEW_FIRST: usize = 1 << 20;

/// Where a solver of some kind of problem puts what it found.
pub(super) struct SimplexAnswer<'a> {
    pub(super) potential: &'a mut Vec<f64>,
    pub(super) flows: &'a mut Vec<(u32, u32, i128)>,
    pub(super) pivots: &'a mut usize,
}

impl Simplex<f64> {
    /// As [`solve`](Self::solve), by the way that is fastest for so many sources and sinks; no cost
    /// is above `largest`.
    ///
    /// # Errors
    /// `Cancelled`, where it shall not go on.
    pub(super) fn solve_fast(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[f64],
        largest: f64,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        let (n, m) = (supply.len(), demand.len());
        let (slack, most_pivots) = (largest * SLACK, most_pivots(n, m));
        if n.max(m) <= word::MOST && largest <= word::LARGEST {
            self.first.n = n;
            let Self { potential, flows, pivots, .. } = self;
            let mut found = SimplexAnswer { potential, flows, pivots };
            let problem = WordProblem { supply, demand, cost, slack, most_pivots };
            let solved = word::solve(problem, &mut found);
            return Ok(solved && self.is_plan(supply, demand));
        }
        if lopsided::is_lopsided(n, m) && self.solve_lopsided(supply, demand, cost, goes_on)? {
            return Ok(true);
        }
        self.solve(supply, demand, cost, slack, most_pivots, goes_on)
    }

    /// Solves where one side is far larger than the other; false if that takes too long.
    fn solve_lopsided(
        &mut self,
        supply: &[i128],
        demand: &[i128],
        cost: &[f64],
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        let (n, m) = (supply.len(), demand.len());
        let mut solver = Lopsided::default();
        let few_give = n < m;
        let (masses, strides) =
            if few_give { ((supply, demand), (m, 1)) } else { ((demand, supply), (1, m)) };
        if !solver.solve(masses, Table { cost, strides }, goes_on)? {
            return Ok(false);
        }
        let arc = |(few, many, mass): (usize, usize, i128)| {
            let (i, j) = if few_give { (few, many) } else { (many, few) };
            (i as u32, j as u32, mass)
        };
        self.flows.clear();
        self.flows.extend(solver.shares().map(arc));
        self.pivots = solver.rounds;
        self.first.n = n;
        self.potential.clear();
        if few_give {
            self.potential.extend_from_slice(&solver.price);
            self.potential.extend((0..m).map(|j| -least(&solver.price, |i| cost[i * m + j])));
        } else {
            self.potential.extend((0..n).map(|i| least(&solver.price, |j| cost[i * m + j])));
            self.potential.extend(solver.price.iter().map(|price| -price));
        }
        Ok(self.is_plan(supply, demand))
    }

    /// Begins with a spanning tree of arcs, all of which carry something.
    pub(super) fn begin_on_tree(
        &mut self,
        (n, m): (usize, usize),
        flows: &[(u32, u32, i128)],
        cost: impl Fn(usize, usize) -> f64,
    ) {
        self.first.take_tree((n, m), flows);
        self.reset_potentials(cost);
        self.large.hang(&self.first);
        self.pivots = 0;
    }

    /// Goes on from the basis of the last call until none of these arcs lowers the cost; false if that
    /// takes too many pivots.
    pub(super) fn go_on(
        &mut self,
        arcs: &impl Arcs<f64>,
        slack: f64,
        most_pivots: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        let mut basis = std::mem::take(&mut self.large);
        let pace = &mut Pace { goes_on, told: Instant::now(), pass: Duration::ZERO };
        let solved = self.exhaust(&mut basis, arcs, arcs, slack, most_pivots, pace);
        self.large = basis;
        self.recenter();
        solved
    }

    /// Lists the flows of the basis.
    pub(super) fn list_flows(&mut self) {
        <Linked as Basis<f64>>::flows(&self.large, &mut self.flows);
    }

    /// Moves a plan on the arcs in [`few`](Self::few) on by some pivots among them: it need not be
    /// the best. It begins with regrets against the prices of the sinks; what finds no way on those
    /// arcs moves on others. False if the flows are no plan.
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

/// The smallest of cost − price.
fn least(price: &[f64], cost: impl Fn(usize) -> f64) -> f64 {
    price.iter().enumerate().map(|(k, price)| cost(k) - price).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Problem = (Vec<i128>, Vec<i128>, Vec<i128>);

    /// Problems on up to 240 nodes.
    fn problems() -> impl Strategy<Value = Problem> {
        problems_of(prop_oneof![(1..20usize, 1..20usize), (1..120usize, 1..120usize)])
    }

    /// Supplies, demands and integer costs with many ties, on so many nodes.
    fn problems_of(sizes: impl Strategy<Value = (usize, usize)>) -> impl Strategy<Value = Problem> {
        let problem = |(n, m)| {
            let masses = |count| vec(prop_oneof![Just(5i128), 1..1000i128], count);
            (masses(n), masses(m), vec(prop_oneof![0..3i128, 0..100_000i128], n * m))
        };
        sizes.prop_flat_map(problem).prop_map(|(mut supply, mut demand, cost)| {
            // Perturbed as `Units` does it: no subset of sources balances a subset of sinks.
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

    /// Solves on a basis of one kind, a few arcs first if asked, and checks the optimum from both
    /// ends.
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
        prop_assert_eq!(v[m - 1], 0, "the root stays at 0");
        for (arc, &cost) in cost.iter().enumerate() {
            prop_assert!(u[arc / m] - v[arc % m] <= cost, "the potentials are dual values");
        }
        let from = |(mass, dual): (&i128, &i128)| mass * dual;
        let bound = supply.iter().zip(u).map(from).sum::<i128>()
            - demand.iter().zip(v).map(from).sum::<i128>();
        prop_assert_eq!(bound, value);
        Ok(value)
    }

    /// The cost of flows that move all mass.
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

    /// The value of a problem by a solver for its kind, on costs that do not round, with its proof.
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
        fn one_word_finds_the_optimum(problem in problems_of((1..=word::MOST, 1..=word::MOST))) {
            let (supply, demand, _) = &problem;
            let fast = value_by(&problem, |simplex, costs| {
                simplex.solve_fast(supply, demand, costs, 1e5, &|_| true).unwrap()
            })?;
            prop_assert_eq!(fast, value(&problem, &mut Linked::default(), false)?);
        }

        #[test]
        fn few_and_many_find_the_optimum(
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
            prop_assert_eq!(fast, value(&problem, &mut Linked::default(), false)?);
        }

        #[test]
        fn both_bases_and_both_orders_of_arcs_find_the_optimum(problem in problems()) {
            let judge = value(&problem, &mut Linked::default(), false)?;
            prop_assert_eq!(value(&problem, &mut Linked::default(), true)?, judge);
            prop_assert_eq!(value(&problem, &mut Paths::default(), false)?, judge);
            prop_assert_eq!(value(&problem, &mut Paths::default(), true)?, judge);
        }

        #[test]
        fn the_proof_notices_any_change(problem in problems(), at in 0..1_000_000usize, by in 1..9i128) {
            let (supply, demand, cost) = problem;
            let mut solved = Simplex::default();
            prop_assert!(solved.solve(&supply, &demand, &cost, 0, usize::MAX, &|_| true).unwrap());
            prop_assert!(solved.is_dual(&cost) && solved.is_plan(&supply, &demand));
            // Every node has a basic arc, which then costs more or less than its ends say.
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
