//! Successive shortest paths with potentials on the complete bipartite graph of two supports.
//!
//! Nodes are the n sources, then the m sinks. An arc i → j has unlimited capacity; j → i has the
//! flow from i to j as its capacity. Reduced costs `cost − left[i] − right[j]` remain nonnegative,
//! and are 0 on arcs with flow, so Dijkstra finds the next cheapest path, and the final potentials
//! are a dual solution.

use super::{Masses, Transport};
use treeport::{Error, Result};

/// Largest share of the mass that rounding may leave unmoved.
const LEFTOVER: f64 = 1e-9;

/// Rounds per node before an error; random inputs take about one.
const ROUNDS_PER_NODE: usize = 200;

/// State of the search between two rounds.
struct Residual {
    /// Cost from source i to sink j, at `i * m + j`.
    cost: Vec<f64>,
    /// Flow from i to j, in the same order.
    flow: Vec<f64>,
    supply: Vec<f64>,
    demand: Vec<f64>,
    left: Vec<f64>,
    right: Vec<f64>,
}

/// Shortest paths to the nearest sink with remaining demand.
struct Paths {
    /// Reduced distance of every node, sources first.
    distance: Vec<f64>,
    /// Predecessor of every node; the start of a path is its own.
    before: Vec<usize>,
    /// The sink at the end.
    end: usize,
}

/// Moves all supply to the demand. `total` is the mass of the whole measure, which exceeds the
/// supply if shared mass was canceled; the tolerance is relative to it.
pub(super) fn solve(
    supply: &Masses,
    demand: &Masses,
    total: f64,
    cost: impl Fn(usize, usize) -> f64,
) -> Result<Transport> {
    let mut state = Residual::new(supply, demand, cost)?;
    let limit = ROUNDS_PER_NODE * (supply.len() + demand.len());
    let mut rounds = 0;
    while let Some(paths) = state.shortest_paths() {
        if rounds == limit {
            return Err(state.unsolved());
        }
        state.reprice(&paths);
        state.augment(&paths);
        rounds += 1;
    }
    if state.unmoved() > LEFTOVER * total {
        return Err(state.unsolved());
    }
    Ok(state.into_transport(supply, demand))
}

impl Residual {
    fn new(supply: &Masses, demand: &Masses, cost: impl Fn(usize, usize) -> f64) -> Result<Self> {
        let mut costs = Vec::with_capacity(supply.len() * demand.len());
        for &(from, _) in supply {
            for &(to, _) in demand {
                let value = cost(from, to);
                if !(value >= 0.0 && value.is_finite()) {
                    return Err(treeport::Error::BadDistance { from, to, value });
                }
                costs.push(value);
            }
        }
        Ok(Self {
            flow: vec![0.0; costs.len()],
            cost: costs,
            left: vec![0.0; supply.len()],
            right: vec![0.0; demand.len()],
            supply: supply.iter().map(|&(_, mass)| mass).collect(),
            demand: demand.iter().map(|&(_, mass)| mass).collect(),
        })
    }

    /// Reduced cost of i → j; rounding may make a zero negative.
    fn reduced(&self, i: usize, j: usize) -> f64 {
        (self.cost[i * self.right.len() + j] - self.left[i] - self.right[j]).max(0.0)
    }

    /// Runs a dense Dijkstra from all sources with remaining supply to the nearest sink with
    /// remaining demand, if any.
    fn shortest_paths(&self) -> Option<Paths> {
        let (n, m) = (self.left.len(), self.right.len());
        let mut before: Vec<usize> = (0..n + m).collect();
        let mut distance = vec![f64::INFINITY; n + m];
        for i in (0..n).filter(|&i| self.supply[i] > 0.0) {
            distance[i] = 0.0;
        }
        let mut open = vec![true; n + m];
        loop {
            let v = (0..n + m)
                .filter(|&v| open[v] && distance[v] < f64::INFINITY)
                .min_by(|&v, &w| distance[v].total_cmp(&distance[w]))?;
            if v >= n && self.demand[v - n] > 0.0 {
                return Some(Paths { distance, before, end: v });
            }
            open[v] = false;
            let mut relax = |w: usize, step: f64| {
                if open[w] && distance[v] + step < distance[w] {
                    distance[w] = distance[v] + step;
                    before[w] = v;
                }
            };
            if v < n {
                (0..m).for_each(|j| relax(n + j, self.reduced(v, j)));
            } else {
                // Arcs with flow have reduced cost 0, and so do their reverses.
                let back = (0..n).filter(|i| self.flow[i * m + v - n] > 0.0);
                back.for_each(|i| relax(i, 0.0));
            }
        }
    }

    /// Updates the potentials so that reduced costs remain nonnegative and vanish on the shortest
    /// path.
    fn reprice(&mut self, paths: &Paths) {
        let end = paths.distance[paths.end];
        let n = self.left.len();
        for (v, &d) in paths.distance.iter().enumerate().filter(|&(_, &d)| d < end) {
            if v < n {
                self.left[v] += end - d;
            } else {
                self.right[v - n] -= end - d;
            }
        }
    }

    /// Augments along the path by its capacity; the limiting amount becomes exactly 0.
    fn augment(&mut self, paths: &Paths) {
        let (n, m) = (self.left.len(), self.right.len());
        let mut amount = self.demand[paths.end - n];
        let mut v = paths.end;
        while paths.before[v] != v {
            let u = paths.before[v];
            if u >= n {
                amount = amount.min(self.flow[v * m + u - n]);
            }
            v = u;
        }
        amount = amount.min(self.supply[v]);
        self.supply[v] -= amount;
        self.demand[paths.end - n] -= amount;
        v = paths.end;
        while paths.before[v] != v {
            let u = paths.before[v];
            if u < n {
                self.flow[u * m + v - n] += amount;
            } else {
                self.flow[v * m + u - n] -= amount;
            }
            v = u;
        }
    }

    fn unmoved(&self) -> f64 {
        self.supply.iter().sum::<f64>().max(self.demand.iter().sum())
    }

    fn unsolved(&self) -> Error {
        Error::Unsolved { left: self.left.len(), right: self.right.len() }
    }

    fn into_transport(self, supply: &Masses, demand: &Masses) -> Transport {
        let m = demand.len();
        let moving = (0..self.flow.len()).filter(|&e| self.flow[e] > 0.0);
        Transport {
            value: moving.clone().map(|e| self.flow[e] * self.cost[e]).sum(),
            plan: moving.map(|e| (supply[e / m].0, demand[e % m].0, self.flow[e])).collect(),
            left: self.left,
            right: self.right,
        }
    }
}
