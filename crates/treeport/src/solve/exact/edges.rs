//! Exact transport on the edges of a graph, without distances.

use super::integer_mass::Units;
use super::{KeepGoing, is_proof, is_settled};
use crate::error::{Error, Result};
use crate::metric::{GroundMetric, Network};
use crate::numeric::rounding::double;
use crate::solve::aim::{Aim, Deadline, Wanted};
use crate::solve::answer::Answer;
use crate::solve::graph::{self, Simplex};
use crate::solve::route::Engine;
use crate::solve::sides::Sides;
use crate::tree::Coupling;

/// The workspace of solves on edges, with lengths of 64 bits or, for a certificate, of 128.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct OnEdges {
    /// Supplies of all nodes; demands are negative.
    supply: Vec<i128>,
    short: Simplex<i64>,
    long: Simplex<i128>,
}

impl OnEdges {
    /// Returns whether it is small enough for a thread to keep.
    pub(in crate::solve) fn is_small(&self) -> bool {
        self.supply.capacity() <= MOST_NODES_KEPT
    }
}

/// Most nodes of a workspace that a thread keeps, about 3 MiB.
const MOST_NODES_KEPT: usize = 1 << 14;

/// A problem on a graph with its aim.
pub(in crate::solve) struct EdgeProblem<'a> {
    pub(in crate::solve) metric: &'a GroundMetric,
    pub(in crate::solve) network: Network<'a>,
    pub(in crate::solve) sides: &'a Sides,
    /// A node at which no masses are matched, so that they stay behind.
    pub(in crate::solve) spare: Option<usize>,
    pub(in crate::solve) aim: &'a Aim,
    pub(in crate::solve) deadline: &'a Deadline<'a>,
}

impl EdgeProblem<'_> {
    /// Pivots on the edges until the answer reaches the aim. Any spanning tree gives an upper
    /// bound, and its potentials a lower bound after one search of the graph from all nodes, O(E
    /// log N).
    pub(in crate::solve) fn answer(
        &self,
        units: &mut Units,
        memory: &mut OnEdges,
    ) -> Result<Answer> {
        let sides = self.sides;
        units.set(&sides.supply, &sides.demand);
        let root = self.network.tree.order[0] as usize;
        memory.supply.clear();
        memory.supply.resize(self.network.tree.order.len(), 0);
        let places = (&sides.left[..], &sides.right[..], root);
        let mass = units.on_nodes(places, [&sides.supply, &sides.demand], &mut memory.supply);
        if self.aim.accepts_bounds() {
            return self.bounds(units, &mass, memory);
        }
        self.exact(units, &mass, memory)
    }

    /// Pivots until the bounds reach the aim, or to the optimum.
    fn bounds(
        &self,
        units: &Units,
        mass: &impl Fn(i128) -> f64,
        memory: &mut OnEdges,
    ) -> Result<Answer> {
        let (network, sides, deadline) = (self.network, self.sides, self.deadline);
        let OnEdges { supply, short, .. } = &mut *memory;
        short.set(network, supply, f64::INFINITY);
        let nodes = supply.len();
        let mut potential = Vec::new();
        let keep_going = |_| deadline.report_proved(None);
        let best = loop {
            let is_optimal = match short.run(network, nodes / CHECKS + 1, &keep_going) {
                Err(Error::Canceled) if deadline.has_passed() => false,
                is_optimal => is_optimal?,
            };
            let is_stopped = !deadline.report_proved(None);
            if is_stopped && !deadline.has_passed() {
                return Err(Error::Canceled);
            }
            let price = |(edge, flow): (usize, i128)| mass(flow).abs() * network.edges[edge].2;
            let upper: f64 = short.flows(network).map(price).sum();
            potential.clear();
            potential.extend((0..nodes).map(|v| short.potential(v)));
            self.metric.make_lipschitz(&mut potential);
            let lower = lower_bound(sides, &potential);
            let answer = Answer { lower, upper, engine: Engine::Edges, ..Answer::default() };
            if is_stopped || answer.is_within(self.aim.width()) {
                return Ok(self.with_plan(answer, units, || short.tree(nodes), |v| potential[v]));
            }
            if is_optimal {
                break answer;
            }
        };
        let lost = units.rounded(&sides.supply, &sides.demand);
        let tree = short.tree(nodes);
        if let Some((value, gap)) = proved(short, network, supply, mass, lost) {
            let answer = Answer::certified(value, gap, Engine::Edges);
            return Ok(self.with_plan(answer, units, || tree, |v| short.potential(v)));
        }
        // Lengths differ by too many orders of magnitude for 64 bits.
        match self.exact(units, mass, memory) {
            Err(Error::Canceled) if deadline.has_passed() => {
                Ok(self.with_plan(best, units, || tree, |v| potential[v]))
            }
            answer => answer,
        }
    }

    /// Pivots to the optimum.
    fn exact(
        &self,
        units: &Units,
        mass: &impl Fn(i128) -> f64,
        memory: &mut OnEdges,
    ) -> Result<Answer> {
        let (network, sides) = (self.network, self.sides);
        let keep_going: &KeepGoing<'_> = &|proved| self.deadline.report_proved(proved);
        let lost = units.rounded(&sides.supply, &sides.demand);
        let OnEdges { supply, short, long } = memory;
        let nodes = supply.len();
        let found = run(short, network, (supply, f64::INFINITY), mass, lost, keep_going)?;
        if let Some((value, gap)) = found {
            let answer = Answer::certified(value, gap, Engine::Edges);
            let answer = Answer { pivots: short.pivots, integers: true, ..answer };
            return Ok(self.with_plan(answer, units, || short.tree(nodes), |v| short.potential(v)));
        }
        let used = short.flows(network).filter(|&(_, flow)| mass(flow) != 0.0);
        let largest = used.map(|(edge, _)| network.edges[edge].2).fold(0.0, f64::max);
        for clip in [CLIP * largest, f64::INFINITY] {
            if let Some((value, gap)) = run(long, network, (supply, clip), mass, lost, keep_going)?
            {
                let answer = Answer::certified(value, gap, Engine::Edges);
                let pivots = short.pivots + long.pivots;
                let answer = Answer { pivots, integers: true, ..answer };
                return Ok(self.with_plan(
                    answer,
                    units,
                    || long.tree(nodes),
                    |v| long.potential(v),
                ));
            }
        }
        Err(Error::Unsolved { left: sides.left.len(), right: sides.right.len() })
    }

    /// Adds the plan on a spanning tree and the dual values, if they are requested.
    fn with_plan(
        &self,
        answer: Answer,
        units: &Units,
        tree: impl FnOnce() -> Vec<u32>,
        potential: impl Fn(usize) -> f64,
    ) -> Answer {
        if self.aim.wanted == Wanted::Value {
            return answer;
        }
        let Sides { left, right, .. } = self.sides;
        let of_left = left.iter().map(|&v| potential(v));
        let of_right = right.iter().map(|&v| -potential(v));
        let [left, right] = self.sides.duals_of(of_left, of_right);
        Answer { plan: self.plan_on(units, tree()), left, right, ..answer }
    }

    /// Returns the plan of the flows on a spanning tree, and of the mass that stays in place.
    fn plan_on(&self, units: &Units, mut tree: Vec<u32>) -> Coupling {
        if let Some(spare) = self.spare {
            graph::detach(&mut tree, spare as u32);
        }
        let mut plan = self.sides.shared_plan();
        let (supply, demand) = units.quanta();
        let sources = self.sides.left.iter().copied().zip(supply);
        let sinks = self.sides.right.iter().copied().zip(demand.map(|mass| -mass));
        let quantum = units.quantum();
        graph::plan(&tree, sources.chain(sinks), |from, to, quanta| {
            let mass = quantum(quanta);
            if mass > 0.0 {
                plan.push(from as u32, to as u32, mass);
            }
        });
        plan
    }
}

/// Computes the lower bound of heights on a graph by five searches from all points at once.
pub(super) fn lower_bound_by_searches(
    metric: &GroundMetric,
    sides: &Sides,
    height: &dyn Fn(usize) -> f64,
) -> f64 {
    let lipschitz = |from: &[usize], value: &dyn Fn(usize) -> f64| {
        let mut values = vec![f64::MAX / 4.0; metric.points()];
        for &v in from {
            values[v] = value(v);
        }
        metric.make_lipschitz(&mut values);
        values
    };
    let above = lipschitz(&sides.left, &|v| -height(v));
    let lowered = lipschitz(&sides.right, &|v| -above[v]);
    let below = lipschitz(&sides.right, height);
    let bounds = [lowered, below].map(|potential| {
        // The largest feasible values at the sources, then at the sinks.
        let mut lowest = lipschitz(&sides.left, &|v| -potential[v]);
        for value in &mut lowest {
            *value = -*value;
        }
        lower_bound(sides, &lowest)
    });
    bounds.into_iter().fold(0.0, f64::max)
}

/// Solves with lengths of an integer type; returns the value and its gap if they are certified.
///
/// Rounding and clipping only lower lengths, so the integer optimum is at most the cost of every
/// plan. The gap is the amount by which the lengths of the plan's edges were lowered.
fn run<C: graph::Integer>(
    simplex: &mut Simplex<C>,
    network: Network<'_>,
    (supply, clip): (&[i128], f64),
    mass: &impl Fn(i128) -> f64,
    lost: f64,
    keep_going: &KeepGoing<'_>,
) -> Result<Option<(f64, f64)>> {
    simplex.set(network, supply, clip);
    simplex.run(network, usize::MAX, keep_going)?;
    Ok(proved(simplex, network, supply, mass, lost))
}

/// Returns the value and the gap of an optimal basis if they are certified. `lost` is the rounding
/// error of the masses, which counts at most the total length of the used edges.
fn proved<C: graph::Integer>(
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
    let is_settled = is_settled(value, lost * longest);
    (is_settled && is_proof(value, gap) && simplex.is_proof(network, supply))
        .then_some((value, gap))
}

/// Computes the lower bound of potentials that are 1-Lipschitz up to the rounding of a search.
///
/// A path has fewer than N edges, along each of which potentials may violate the length by a few
/// units in the last place of the largest. Sums and products round, too. If totals differ slightly,
/// a constant added to the potentials changes the bound.
fn lower_bound(sides: &Sides, potential: &[f64]) -> f64 {
    let Sides { left, right, supply, demand, .. } = sides;
    let largest = potential.iter().fold(0.0f64, |largest, p| largest.max(p.abs()));
    let totals: [f64; 2] = [supply.iter().sum(), demand.iter().sum()];
    let gains: f64 = left.iter().zip(supply).map(|(&v, mass)| mass * potential[v]).sum();
    let losses: f64 = right.iter().zip(demand).map(|(&v, mass)| mass * potential[v]).sum();
    let roundings = double(4 * (potential.len() + left.len() + right.len()));
    let rounding = roundings * totals[0].max(totals[1]) + (totals[0] - totals[1]).abs();
    (gains - losses - rounding * largest).max(0.0)
}

/// Ratio to the longest edge of a plan above which lengths can be clipped: no optimal plan uses
/// such an edge, because fewer edges of the plan than there are nodes connect its ends. The proof
/// is that of `Table::clip_from_plan`.
const CLIP: f64 = (1u64 << 30) as f64;

/// Number of times that bounds are computed in a solve with about one pivot for every node.
const CHECKS: usize = 8;

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::measures::Measures;
    use crate::numeric::seed::generator;
    use crate::solve::exact::dual::bound_by_heights;
    use crate::solve::exact::table::Table;
    use crate::solve::problem::posed::OnMetric;
    use crate::solve::sides::Costs;

    /// Compares with the bound from all distances.
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
            let (mut sides, mut table) = (Sides::default(), Table::default());
            sides.read(&OnMetric { metric: &metric, a, b }, true);
            let ours = lower_bound_by_searches(&metric, &sides, &|v| heights[v]);
            table.fill(Costs::Metric(&metric), &sides, &|_| true).unwrap();
            let judge = bound_by_heights(&sides, &table.cost, &|v| heights[v]);
            assert!((ours - judge).abs() <= 1e-11 && ours <= exact, "{ours} {judge} {exact}");
        }
    }
}
