//! Initial basis of the simplex: a spanning tree of arcs that carries a plan.

use crate::tools::disjoint_sets::DisjointSets;

/// Flow of an arc: source, sink, and mass in quanta.
pub(super) type Flow = (u32, u32, i128);

/// Computes flows that move all supply to all demand; their totals are equal. Flows follow the plan
/// as far as possible. Mass that is left follows `lists`, and then goes from the first source with
/// supply left to the first sink with demand left.
pub(super) fn settle(
    [mut supply, mut demand]: [Vec<i128>; 2],
    plan: impl Iterator<Item = (u32, u32, i128)>,
    lists: impl Iterator<Item = (u32, u32)>,
) -> Vec<Flow> {
    let mut flows = Vec::with_capacity(supply.len() + demand.len());
    let mut place = |i: u32, j: u32, most: i128| {
        let (supply, demand) = (&mut supply[i as usize], &mut demand[j as usize]);
        let flow = most.min(*supply).min(*demand);
        if flow > 0 {
            *supply -= flow;
            *demand -= flow;
            flows.push((i, j, flow));
        }
    };
    plan.for_each(|(i, j, most)| place(i, j, most));
    lists.for_each(|(i, j)| place(i, j, i128::MAX));
    let (mut i, mut j) = (0, 0);
    while i < supply.len() && j < demand.len() {
        let flow = supply[i].min(demand[j]);
        if flow > 0 {
            flows.push((i as u32, j as u32, flow));
        }
        supply[i] -= flow;
        demand[j] -= flow;
        if supply[i] == 0 {
            i += 1;
        } else {
            j += 1;
        }
    }
    flows
}

/// Parent of a node and the arc to it.
#[derive(Clone, Copy, Debug)]
struct BasisLink {
    parent: u32,
    flow: i128,
    cost: f64,
}

const ROOT: BasisLink = BasisLink { parent: u32::MAX, flow: 0, cost: 0.0 };

/// Forest of flows without cycles. Sources are `0..n`, sinks come after them.
///
/// A flow that closes a cycle is sent around it in the cheaper direction until an arc of it is
/// empty and leaves. So the flows never cost more than the inserted ones. O(depth) per flow.
pub(super) struct BasisForest {
    n: u32,
    link: Vec<BasisLink>,
    /// Number of the last flow whose path to the root contained each node.
    seen: Vec<u32>,
    moves: u32,
}

impl BasisForest {
    pub(super) fn new(n: usize, m: usize) -> Self {
        Self { n: n as u32, link: vec![ROOT; n + m], seen: vec![0; n + m], moves: 0 }
    }

    /// Adds a flow.
    pub(super) fn push(&mut self, (source, sink, flow): Flow, cost: f64) {
        let (a, b) = (source, self.n + sink);
        self.moves += 1;
        let mut at = a;
        while at != ROOT.parent {
            self.seen[at as usize] = self.moves;
            at = self.link[at as usize].parent;
        }
        let meets = self.way_up(b).find(|&v| self.seen[v as usize] == self.moves);
        let Some(join) = meets else {
            self.hang(a, BasisLink { parent: b, flow, cost });
            return;
        };
        let to_join = |v: &u32| *v != join;
        let from_source: Vec<u32> = self.way_up(a).take_while(to_join).collect();
        let from_sink: Vec<u32> = self.way_up(b).take_while(to_join).collect();
        // More flow on the new arc means less on the arcs up from sources on its side and from
        // sinks on the other.
        let n = self.n;
        let falls = from_source.iter().map(|&v| (v, v < n));
        let falls: Vec<_> = falls.chain(from_sink.iter().map(|&v| (v, v >= n))).collect();
        let saved: f64 = falls
            .iter()
            .map(|&(v, falls)| self.link[v as usize].cost * if falls { 1.0 } else { -1.0 })
            .sum();
        let more = cost < saved;
        let blocking = falls.iter().filter(|&&(_, falls)| falls == more).map(|&(v, _)| v);
        let least = blocking.min_by_key(|&v| (self.link[v as usize].flow, v));
        let most = if more { i128::MAX } else { flow };
        let step = least.map_or(most, |v| self.link[v as usize].flow.min(most));
        let added = if more { step } else { -step };
        for &(v, falls) in &falls {
            self.link[v as usize].flow += if falls { -added } else { added };
        }
        let Some(gone) = least.filter(|&v| self.link[v as usize].flow == 0) else { return };
        self.link[gone as usize] = ROOT;
        if flow + added > 0 {
            let (inner, outer) = if from_source.contains(&gone) { (a, b) } else { (b, a) };
            self.hang(inner, BasisLink { parent: outer, flow: flow + added, cost });
        }
    }

    /// Returns the nodes from `v` to its root, both included.
    fn way_up(&self, v: u32) -> impl Iterator<Item = u32> + '_ {
        let above = |v: &u32| Some(self.link[*v as usize].parent).filter(|&p| p != ROOT.parent);
        std::iter::successors(Some(v), above)
    }

    /// Makes a node the root of its tree, and attaches the tree to a link.
    fn hang(&mut self, v: u32, link: BasisLink) {
        let (mut at, mut above) = (v, link);
        while at != ROOT.parent {
            let BasisLink { parent, flow, cost } =
                std::mem::replace(&mut self.link[at as usize], above);
            above = BasisLink { parent: at, flow, cost };
            at = parent;
        }
    }

    /// Returns all remaining flows.
    pub(super) fn flows(&self) -> Vec<Flow> {
        let links = self.link.iter().zip(0..).filter(|(link, _)| link.parent != ROOT.parent);
        let ends = |(link, v): (&BasisLink, u32)| {
            let (i, j) = (v.min(link.parent), v.max(link.parent));
            (i, j - self.n, link.flow)
        };
        links.map(ends).collect()
    }
}

/// Joins a forest to a spanning tree of n sources and m sinks, each of which has an arc, by arcs
/// without flow: the first of `arcs` that join two components, and then any.
pub(super) fn join(
    (n, m): (usize, usize),
    flows: &mut Vec<Flow>,
    arcs: impl Iterator<Item = (u32, u32)>,
) {
    let mut parts = DisjointSets::new(n + m);
    for &(i, j, _) in &*flows {
        parts.join(i, n as u32 + j);
    }
    for (i, j) in arcs {
        if flows.len() + 1 == n + m {
            return;
        }
        if parts.join(i, n as u32 + j) {
            flows.push((i, j, 0));
        }
    }
    for j in 0..m as u32 {
        if parts.join(0, n as u32 + j) {
            flows.push((0, j, 0));
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_forest_keeps_the_masses_and_never_costs_more(
            (n, m) in (1..8usize, 1..8usize),
            moves in vec((0..64u32, 0..64u32, 1..20i128), 1..60),
            costs in vec(0..10u32, 64),
        ) {
            let cost = |i: u32, j: u32| f64::from(costs[(i as usize * m + j as usize) % 64]);
            let moves = moves.into_iter().map(|(i, j, mass)| (i % n as u32, j % m as u32, mass));
            let moves: Vec<Flow> = moves.collect();
            let mut forest = BasisForest::new(n, m);
            for &flow in &moves {
                forest.push(flow, cost(flow.0, flow.1));
            }
            let flows = forest.flows();
            let marginals = |flows: &[Flow]| {
                let mut masses = vec![0; n + m];
                for &(i, j, mass) in flows {
                    masses[i as usize] += mass;
                    masses[n + j as usize] += mass;
                }
                masses
            };
            let price = |flows: &[Flow]| -> f64 {
                flows.iter().map(|&(i, j, mass)| mass as f64 * cost(i, j)).sum()
            };
            prop_assert_eq!(marginals(&flows), marginals(&moves));
            prop_assert!(price(&flows) <= price(&moves));
            prop_assert!(flows.iter().all(|flow| flow.2 >= 0));
            let mut parts = DisjointSets::new(n + m);
            prop_assert!(flows.iter().all(|&(i, j, _)| parts.join(i, n as u32 + j)));
        }

        #[test]
        fn settled_moves_have_all_mass_and_joined_ones_are_a_tree(
            supply in vec(1..50i128, 1..9),
            more in vec(1..50i128, 0..8),
            plan in vec((0..64u32, 0..64u32, 1..40i128), 0..40),
        ) {
            let total: i128 = supply.iter().sum();
            let mut demand = Vec::new();
            let mut left = total;
            for mass in more {
                let taken = mass.min(left - 1);
                if taken > 0 {
                    demand.push(taken);
                    left -= taken;
                }
            }
            demand.push(left);
            let (n, m) = (supply.len(), demand.len());
            let plan = plan.into_iter().map(|(i, j, most)| (i % n as u32, j % m as u32, most));
            let plan: Vec<Flow> = plan.collect();
            let lists = plan.iter().map(|&(i, j, _)| (i, j)).rev();
            let flows = settle([supply.clone(), demand.clone()], plan.iter().copied(), lists);
            let mut rest = [supply, demand].concat();
            for &(i, j, flow) in &flows {
                rest[i as usize] -= flow;
                rest[n + j as usize] -= flow;
            }
            prop_assert!(rest.iter().all(|&mass| mass == 0));
            let mut forest = BasisForest::new(n, m);
            for &flow in &flows {
                forest.push(flow, 1.0);
            }
            let mut tree = forest.flows();
            join((n, m), &mut tree, std::iter::empty());
            let mut parts = DisjointSets::new(n + m);
            prop_assert_eq!(tree.len(), n + m - 1);
            prop_assert!(tree.iter().all(|&(i, j, _)| parts.join(i, n as u32 + j)));
        }
    }
}
