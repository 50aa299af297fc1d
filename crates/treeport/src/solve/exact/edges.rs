//! Problems on a graph that are solved on its edges, without distances.

use super::{GoesOn, Solution, Solver, is_proof, is_settled, reused};
use crate::error::{Error, Result};
use crate::metric::{GroundMetric, Network};
use crate::progress::{Counter, State};
use crate::rounding::double;
use crate::solve::graph::{self, Simplex};
use crate::solve::problem::OnMetric;
use crate::solve::within::{Bounds, Clock};
use crate::steps::SOLVING;
use crate::tree::Coupling;

/// The memory of solves on edges: lengths in 64 bits, and in 128 where that proves nothing.
#[derive(Clone, Debug, Default)]
pub(super) struct OnEdges {
    supply: Vec<i128>,
    short: Simplex<i64>,
    long: Simplex<i128>,
}

impl OnEdges {
    /// Whether a thread may keep it.
    pub(super) fn is_small(&self) -> bool {
        self.supply.capacity() <= MOST_NODES_KEPT
    }
}

/// Nodes up to which a thread keeps its memory, about 3 MiB.
const MOST_NODES_KEPT: usize = 1 << 14;

/// What a solve found and proved.
#[derive(Clone, Copy)]
pub(super) struct Proved {
    pub(super) value: f64,
    pub(super) gap: f64,
    /// Whether it took 128 bits.
    is_long: bool,
}

/// Certified bounds of W₁ on the edges of a graph that are close enough, or as close as the clock
/// lets them become: the simplex is stopped as soon as it has them.
///
/// # Complexity
/// Any spanning tree is an upper bound, and its potentials are a lower bound after one search of the
/// graph from all nodes at once, O(E log N), which is done a few times.
pub(in crate::solve) fn bounds(
    pair: &OnMetric<'_>,
    network: Network<'_>,
    accuracy: f64,
    clock: &Clock<'_>,
) -> Result<Bounds> {
    let hears = |state: &State<'_>| clock.hears(state);
    let counter = Counter::new(SOLVING, None, &hears);
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        if solver.left.is_empty() {
            let plan = solver.shared_plan();
            return Ok(Bounds::of_plan(0.0, 0.0, plan));
        }
        let found = solver.bounds_on_edges(pair.metric, network, accuracy, &counter, clock)?;
        Ok(solver.bounds_as_given(found))
    })
}

/// A solution on the edges of a graph, whatever the supports.
#[cfg(test)]
pub(in crate::solve) fn solve_on_edges(pair: &OnMetric<'_>) -> Result<Solution> {
    reused(|solver| {
        solver.lay_out(pair.metric, &pair.a, &pair.b);
        match pair.metric.network() {
            Some(network) if !solver.left.is_empty() => {
                solver.solution_on_edges(network, &|_| true).map(|found| solver.as_given(found))
            }
            _ => Ok(Solution::free(solver.shared_plan())),
        }
    })
}

impl Solver {
    /// Pivots on the edges until the bounds are close enough, or to the end.
    fn bounds_on_edges(
        &mut self,
        metric: &GroundMetric,
        network: Network<'_>,
        accuracy: f64,
        counter: &Counter<'_>,
        clock: &Clock<'_>,
    ) -> Result<Bounds> {
        let mass = self.supply_nodes(network);
        let OnEdges { supply, short, .. } = &mut self.edges;
        short.set(network, supply, f64::INFINITY);
        let nodes = supply.len();
        let mut potential = Vec::new();
        let goes_on = |_| counter.add(0).is_ok();
        let (lower, upper) = loop {
            let before = short.pivots;
            let is_end = match short.run(network, nodes / CHECKS + 1, &goes_on) {
                Err(Error::Cancelled) if clock.is_up() => false,
                is_end => is_end?,
            };
            let is_up = counter.add(short.pivots - before).is_err();
            if is_up && !clock.is_up() {
                return Err(Error::Cancelled);
            }
            let price = |(edge, flow): (usize, i128)| mass(flow).abs() * network.edges[edge].2;
            let upper: f64 = short.flows(network).map(price).sum();
            potential.clear();
            potential.extend((0..nodes).map(|v| short.potential(v)));
            metric.make_lipschitz(&mut potential);
            let lower =
                lower_bound((&self.left, &self.supply), (&self.right, &self.demand), &potential);
            if is_up || upper - lower <= accuracy * upper {
                let tree = short.tree(nodes);
                return Ok(self.bounds_of((lower, upper), &tree, |v| potential[v]));
            }
            if is_end {
                break (lower, upper);
            }
        };
        let lost = self.units.rounded(&self.supply, &self.demand);
        if let Some((value, gap)) = proved(short, network, supply, &mass, lost) {
            let (tree, short) = (short.tree(nodes), &self.edges.short);
            let bounds = ((value - gap).max(0.0), value);
            return Ok(self.bounds_of(bounds, &tree, |v| short.potential(v)));
        }
        // Lengths too far apart for 64 bits.
        let tree = short.tree(nodes);
        match self.solution_on_edges(network, &goes_on) {
            Err(Error::Cancelled) if clock.is_up() => {
                Ok(self.bounds_of((lower, upper), &tree, |v| potential[v]))
            }
            solution => solution.map(Bounds::from),
        }
    }

    /// Bounds with the plan on a spanning tree and the potentials of nodes.
    fn bounds_of(
        &self,
        (lower, upper): (f64, f64),
        tree: &[u32],
        potential: impl Fn(usize) -> f64,
    ) -> Bounds {
        let left = self.left.iter().map(|&v| (v, potential(v))).collect();
        let right = self.right.iter().map(|&v| (v, -potential(v))).collect();
        Bounds::of_plan(lower, upper, self.plan_on(tree)).proved_by([left, right])
    }

    /// What heights prove about what is laid out on a graph, as `Solver::lower_bound` finds it from all
    /// distances: five searches from all sources or all sinks at once.
    pub(super) fn lower_bound_by_searches(
        &self,
        metric: &GroundMetric,
        height: &dyn Fn(usize) -> f64,
    ) -> f64 {
        let reach = |from: &[usize], value: &dyn Fn(usize) -> f64| {
            let mut values = vec![f64::MAX / 4.0; metric.points()];
            for &v in from {
                values[v] = value(v);
            }
            metric.make_lipschitz(&mut values);
            values
        };
        let above = reach(&self.left, &|v| -height(v));
        let lowered = reach(&self.right, &|v| -above[v]);
        let below = reach(&self.right, height);
        let sides = ((&self.left[..], &self.supply[..]), (&self.right[..], &self.demand[..]));
        let bounds = [lowered, below].map(|potential| {
            // As high as sinks allow at the sources, and now as low as those allow at the sinks.
            let mut lowest = reach(&self.left, &|v| -potential[v]);
            for value in &mut lowest {
                *value = -*value;
            }
            lower_bound(sides.0, sides.1, &lowest)
        });
        bounds.into_iter().fold(0.0, f64::max)
    }

    /// Lays out what the nodes give away; returns what flows mean as masses.
    fn supply_nodes(&mut self, network: Network<'_>) -> impl Fn(i128) -> f64 + use<> {
        let root = network.tree.order[0] as usize;
        let supply = &mut self.edges.supply;
        supply.clear();
        supply.resize(network.tree.order.len(), 0);
        let places = (&self.left[..], &self.right[..], root);
        self.units.on_nodes(places, [&self.supply, &self.demand], supply)
    }

    /// Solves what is laid out on the edges of a graph.
    pub(super) fn on_edges(
        &mut self,
        network: Network<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Proved> {
        let unsolved = Error::Unsolved { left: self.left.len(), right: self.right.len() };
        let mass = self.supply_nodes(network);
        let lost = self.units.rounded(&self.supply, &self.demand);
        let OnEdges { supply, short, long } = &mut self.edges;
        let found = run(short, network, (supply, f64::INFINITY), &mass, lost, goes_on)?;
        if let Some((value, gap)) = found {
            return Ok(Proved { value, gap, is_long: false });
        }
        let used = short.flows(network).filter(|&(_, flow)| mass(flow) != 0.0);
        let largest = used.map(|(edge, _)| network.edges[edge].2).fold(0.0, f64::max);
        for clip in [CLIP * largest, f64::INFINITY] {
            if let Some((value, gap)) = run(long, network, (supply, clip), &mass, lost, goes_on)? {
                return Ok(Proved { value, gap, is_long: true });
            }
        }
        Err(unsolved)
    }

    /// As [`on_edges`](Self::on_edges), with the plan and the dual values.
    pub(super) fn solution_on_edges(
        &mut self,
        network: Network<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        let Proved { value, gap, is_long } = self.on_edges(network, goes_on)?;
        let nodes = network.tree.order.len();
        let OnEdges { short, long, .. } = &self.edges;
        let tree = if is_long { long.tree(nodes) } else { short.tree(nodes) };
        let pivots = short.pivots + if is_long { long.pivots } else { 0 };
        let potential = |v: usize| if is_long { long.potential(v) } else { short.potential(v) };
        let plan = self.plan_on(&tree);
        let left = self.left.iter().map(|&v| (v, potential(v))).collect();
        let right = self.right.iter().map(|&v| (v, -potential(v))).collect();
        Ok(Solution { value, plan, left, right, gap, pivots, integers: true })
    }

    /// The plan of what flows on a spanning tree, and of what stays.
    fn plan_on(&self, tree: &[u32]) -> Coupling {
        let mut plan = self.shared_plan();
        let (supply, demand) = self.units.quanta();
        let given = self.left.iter().copied().zip(supply);
        let taken = self.right.iter().copied().zip(demand.map(|mass| -mass));
        let quantum = self.units.quantum();
        graph::plan(tree, given.chain(taken), |from, to, quanta| {
            let mass = quantum(quanta);
            if mass > 0.0 {
                plan.push(from as u32, to as u32, mass);
            }
        });
        plan
    }
}

/// Solves with lengths in some whole numbers: the value and its gap, if they are proved.
///
/// Lengths are only ever lowered, so that the optimum is below the cost of every plan, and what
/// this plan costs above it is what was taken from the edges it uses.
fn run<C: graph::Whole>(
    simplex: &mut Simplex<C>,
    network: Network<'_>,
    (supply, clip): (&[i128], f64),
    mass: &impl Fn(i128) -> f64,
    lost: f64,
    goes_on: &GoesOn<'_>,
) -> Result<Option<(f64, f64)>> {
    simplex.set(network, supply, clip);
    simplex.run(network, usize::MAX, goes_on)?;
    Ok(proved(simplex, network, supply, mass, lost))
}

/// The value and the gap of a simplex that has come to its end, if they are proved, also for masses that
/// are off by what was lost: no way on used edges is longer than all of them.
fn proved<C: graph::Whole>(
    simplex: &mut Simplex<C>,
    network: Network<'_>,
    supply: &[i128],
    mass: &impl Fn(i128) -> f64,
    lost: f64,
) -> Option<(f64, f64)> {
    let (mut value, mut gap, mut longest) = (0.0, 0.0, 0.0);
    for (edge, flow) in simplex.flows(network) {
        let (mass, length) = (mass(flow).abs(), network.edges[edge].2);
        value += mass * length;
        longest += if mass > 0.0 { length } else { 0.0 };
        gap += mass * simplex.lowered(network, edge);
    }
    let settled = is_settled(value, lost * longest);
    (settled && is_proof(value, gap) && simplex.is_proof(network, supply)).then_some((value, gap))
}

/// What potentials of all nodes prove that are 1-Lipschitz up to the rounding of a search.
///
/// A path has fewer than N edges, and along each of them rounding may have put the potentials apart
/// by a few units in the last place of the largest; sums and products round as well, and totals
/// that are not quite equal let the bound depend on where potentials are 0.
fn lower_bound(
    (left, supply): (&[usize], &[f64]),
    (right, demand): (&[usize], &[f64]),
    potential: &[f64],
) -> f64 {
    let largest = potential.iter().fold(0.0f64, |largest, p| largest.max(p.abs()));
    let (given, taken): (f64, f64) = (supply.iter().sum(), demand.iter().sum());
    let gains: f64 = left.iter().zip(supply).map(|(&v, mass)| mass * potential[v]).sum();
    let losses: f64 = right.iter().zip(demand).map(|(&v, mass)| mass * potential[v]).sum();
    let roundings = double(4 * (potential.len() + left.len() + right.len()));
    let rounding = roundings * given.max(taken) + (given - taken).abs();
    (gains - losses - rounding * largest).max(0.0)
}

/// Lengths so many times above the longest that a plan uses can be lowered to that: no optimal plan uses
/// one, for what goes there could go along fewer of those edges than there are nodes. Proved as
/// `Solver::clip_beside` is.
const CLIP: f64 = (1u64 << 30) as f64;

/// How often bounds are looked at in the course of a solve with about one pivot for every node.
const CHECKS: usize = 8;

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::measure::Measures;
    use crate::seed::generator;

    /// The judge has all distances.
    #[test]
    fn searches_prove_what_distances_prove() {
        for seed in 0..300 {
            let mut rng = generator(seed);
            let n = rng.random_range(2..25);
            let path =
                (1..n).map(|v| (v, rng.random_range(0..v), f64::from(rng.random_range(0..9u8))));
            let mut edges: Vec<_> = path.collect();
            let more = (0..n).map(|_| (rng.random_range(0..n), rng.random_range(0..n), 2.5));
            edges.extend(more.filter(|&(a, b, _)| a != b));
            let metric = GroundMetric::from_edges(n, &edges).unwrap();
            let masses: Vec<f64> = (0..2 * n).map(|_| rng.random::<f64>()).collect();
            let measures = Measures::from_dense(n, &masses).unwrap().normalized();
            let heights: Vec<f64> = (0..n).map(|_| rng.random_range(-9.0..9.0)).collect();
            let (a, b) = (measures.row(0), measures.row(1));
            let exact = crate::Problem::new(&metric, &a, &b).value(&crate::silent).unwrap();
            let mut solver = Solver::default();
            solver.lay_out(&metric, &a, &b);
            let ours = solver.lower_bound_by_searches(&metric, &|v| heights[v]);
            solver.fill_costs(&metric, &|_| true).unwrap();
            let judge = solver.lower_bound(&|v| heights[v]);
            assert!((ours - judge).abs() <= 1e-11 && ours <= exact, "{ours} {judge} {exact}");
        }
    }
}
