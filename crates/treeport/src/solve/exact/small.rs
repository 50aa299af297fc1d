//! The network simplex for small problems, whose sets of basic arcs fit into 64 bits.
//!
//! It is the method of [`simplex`](super::simplex) with the bit sets of
//! [`bitset_basis`](super::bitset_basis) in arrays of a fixed size: rows of costs are padded, so
//! loops have a constant length and stay in registers. The low bits of a number store its index in
//! the row, so a minimum includes its index. The exact cost is then read from the table, so the
//! lost bits only affect the order of nearly equal numbers.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use super::bitset_basis::for_each_bit;
use super::price::smaller;
use super::simplex::SimplexAnswer;

/// Most sources, and most sinks.
pub(super) const MOST: usize = crate::solve::route::SMALL;

/// Rows in a block of pricing.
const BLOCK: usize = 8;

/// Low bits of a number that store its index in a row.
const INDEX: u64 = MOST as u64 - 1;

/// Cost of the padding and price of saturated sinks, whose sums are finite and can store an index.
const FAR: f64 = 1e305;

/// Largest cost that this solver supports.
pub(super) const LARGEST: f64 = 1e300;

/// The network simplex between at most `W` sources and `W` sinks.
struct SmallSimplex<const W: usize> {
    n: usize,
    m: usize,
    /// Rows of costs, padded with [`FAR`].
    cost: [[f64; W]; W],
    /// Potentials of sources and of sinks.
    potential: [[f64; W]; 2],
    /// Arcs between a node and the root, which is the last sink.
    path: [[u64; W]; 2],
    /// Arcs whose lower end is their source.
    source_below: u64,
    /// Source and sink of every basic arc.
    ends: [[u8; 2]; 2 * MOST],
    /// Flow of every basic arc.
    flow: [i128; 2 * MOST],
    arcs: usize,
    next_row: usize,
}

/// Balanced supplies and demands with row-major costs, at most [`MOST`] by [`MOST`].
#[derive(Clone, Copy)]
pub(super) struct SmallProblem<'a> {
    pub(super) supply: &'a [i128],
    pub(super) demand: &'a [i128],
    pub(super) cost: &'a [f64],
    /// Reduced costs above `-slack` count as 0.
    pub(super) slack: f64,
    pub(super) most_pivots: usize,
}

/// Solves a small problem; returns false if `most_pivots` do not suffice.
pub(super) fn solve(problem: SmallProblem<'_>, found: &mut SimplexAnswer<'_>) -> bool {
    let size = problem.supply.len().max(problem.demand.len());
    debug_assert!(size <= MOST);
    if size <= MOST / 2 {
        solve_in::<{ MOST / 2 }>(problem, found)
    } else {
        solve_in::<MOST>(problem, found)
    }
}

/// Solves with wide registers if the processor has them: equal bits in less time.
fn solve_in<const W: usize>(problem: SmallProblem<'_>, found: &mut SimplexAnswer<'_>) -> bool {
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1,bmi2")]
    fn wide<const W: usize>(problem: SmallProblem<'_>, found: &mut SimplexAnswer<'_>) -> bool {
        plain::<W>(problem, found)
    }
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
    {
        #[expect(
            unsafe_code,
            reason = "a function for a newer processor may not run on an older one"
        )]
        // SAFETY: the features were detected on this processor.
        return unsafe { wide::<W>(problem, found) };
    }
    plain::<W>(problem, found)
}

#[inline(always)]
fn plain<const W: usize>(problem: SmallProblem<'_>, found: &mut SimplexAnswer<'_>) -> bool {
    let SmallProblem { supply, demand, cost, slack, most_pivots } = problem;
    let mut simplex = SmallSimplex::<W>::new(supply.len(), demand.len());
    for (padded, row) in simplex.cost.iter_mut().zip(cost.chunks_exact(demand.len())) {
        padded[..row.len()].copy_from_slice(row);
    }
    simplex.allocate(supply, demand);
    simplex.set_paths();
    let mut pivots = 0;
    let solved = loop {
        let Some((i, j, reduced)) = simplex.next(slack) else { break true };
        if pivots == most_pivots {
            break false;
        }
        simplex.pivot(i, j, reduced);
        pivots += 1;
        if pivots % (2 * W) == 0 {
            simplex.recenter();
        }
    };
    simplex.recenter();
    simplex.write(pivots, found);
    solved
}

impl<const W: usize> SmallSimplex<W> {
    #[inline(always)]
    fn new(n: usize, m: usize) -> Self {
        Self {
            n,
            m,
            cost: [[FAR; W]; W],
            potential: [[0.0; W]; 2],
            path: [[0; W]; 2],
            source_below: 0,
            ends: [[0; 2]; 2 * MOST],
            flow: [0; 2 * MOST],
            arcs: 0,
            next_row: 0,
        }
    }

    /// Finds the initial basis by regrets, but in the order of the initial regrets: each source
    /// allocates its whole supply before the next. A tenth more pivots than with updated regrets,
    /// and less time.
    #[inline(always)]
    fn allocate(&mut self, supply: &[i128], demand: &[i128]) {
        let mut rest = [[0; W]; 2];
        rest[0][..self.n].copy_from_slice(supply);
        rest[1][..self.m].copy_from_slice(demand);
        let mut price = self.prices();
        let mut negative_regret = [FAR; W];
        for i in 0..self.n {
            negative_regret[i] = with_index(-self.regret(i, &price), i);
        }
        for _ in 0..self.n {
            let i = index_of(smallest(negative_regret)) % W;
            negative_regret[i] = FAR;
            // Each allocation exhausts a supply or a demand, and totals are equal.
            while rest[0][i] > 0 {
                let j = index_of(smallest(self.sums(i, &price))) % W;
                let flow = rest[0][i].min(rest[1][j]);
                rest[0][i] -= flow;
                rest[1][j] -= flow;
                self.ends[self.arcs] = [i as u8, j as u8];
                self.flow[self.arcs] = flow;
                self.arcs += 1;
                if rest[1][j] == 0 {
                    price[j] = FAR;
                }
            }
        }
    }

    /// Estimates the potentials of the sinks as [`Cost::prices`](super::price::Cost::prices) does.
    #[inline(always)]
    fn prices(&self) -> [f64; W] {
        let share = 0.75 / self.n as f64;
        let (mut sum, mut least) = ([0.0; W], [FAR; W]);
        for row in &self.cost[..self.n] {
            for k in 0..W {
                sum[k] -= share * row[k];
                least[k] = smaller(least[k], row[k]);
            }
        }
        for k in 0..W {
            // The padding keeps its cost.
            sum[k] = if least[k] < FAR { sum[k] - 0.25 * least[k] } else { 0.0 };
        }
        sum
    }

    /// Returns cost + price of all arcs of a source, each with its index.
    #[inline(always)]
    fn sums(&self, i: usize, price: &[f64; W]) -> [f64; W] {
        let mut sums = [0.0; W];
        for k in 0..W {
            sums[k] = with_index(self.cost[i][k] + price[k], k);
        }
        sums
    }

    /// Returns the second smallest cost + price of a source minus the smallest.
    #[inline(always)]
    fn regret(&self, i: usize, price: &[f64; W]) -> f64 {
        let mut sums = self.sums(i, price);
        let first = smallest(sums);
        for sum in &mut sums {
            // Indices make the sums distinct.
            *sum = if *sum == first { FAR } else { *sum };
        }
        smallest(sums) - first
    }

    /// Computes paths and potentials from the root downwards.
    #[inline(always)]
    fn set_paths(&mut self) {
        let mut arcs_at = [[0u64; W]; 2];
        for (a, &[i, j]) in self.ends[..self.arcs].iter().enumerate() {
            arcs_at[0][i as usize] |= 1 << a;
            arcs_at[1][j as usize] |= 1 << a;
        }
        let mut stack = [(0u8, 0u8); 2 * MOST];
        stack[0] = (1, self.m as u8 - 1);
        let (mut count, mut open) = (1, u64::MAX);
        while count > 0 {
            count -= 1;
            let (side, v) = (stack[count].0 as usize, stack[count].1 as usize);
            let below = 1 - side;
            let mut arcs = arcs_at[side][v] & open;
            open &= !arcs;
            while arcs != 0 {
                let a = arcs.trailing_zeros() as usize;
                arcs &= arcs - 1;
                let [i, j] = self.ends[a].map(usize::from);
                let w = if below == 0 { i } else { j };
                let cost = self.cost[i][j];
                self.path[below][w] = self.path[side][v] | 1 << a;
                self.source_below |= u64::from(below == 0) << a;
                self.potential[below][w] =
                    self.potential[side][v] + if below == 0 { cost } else { -cost };
                stack[count] = (below as u8, w as u8);
                count += 1;
            }
        }
    }

    /// Returns the most negative arc of the next block of rows that has one, if any.
    #[inline(always)]
    fn next(&mut self, slack: f64) -> Option<(usize, usize, f64)> {
        let [sources, sinks] = &self.potential;
        let mut priced = 0;
        while priced < self.n {
            let rows = self.next_row..self.n.min(self.next_row + BLOCK);
            let least = least_of_rows(&self.cost[rows.clone()], &sources[rows.clone()], sinks);
            priced += rows.len();
            self.next_row = if rows.end == self.n { 0 } else { rows.end };
            if least < -slack {
                let i = (rows.start + index_of(least)) % W;
                let j = index_of(smallest(self.sums(i, sinks))) % W;
                let reduced = self.cost[i][j] + sinks[j] - sources[i];
                if reduced < -slack {
                    return Some((i, j, reduced));
                }
            }
        }
        None
    }

    /// Replaces the leaving arc, as [`BitsetBasis`](super::bitset_basis::BitsetBasis) does.
    #[inline(always)]
    fn pivot(&mut self, i: usize, j: usize, reduced: f64) {
        let (up_i, up_j) = (self.path[0][i], self.path[1][j]);
        let mut cycle = up_i ^ up_j;
        let source_below = self.source_below;
        let falling = (up_i & !up_j & source_below) | (up_j & !up_i & !source_below);
        let (mut leaving, mut step) = (0, i128::MAX);
        for_each_bit(falling, |a| {
            let flow = self.flow[a];
            leaving = if flow < step { a } else { leaving };
            step = flow.min(step);
        });
        for_each_bit(falling, |a| self.flow[a] -= step);
        for_each_bit(cycle & !falling, |a| self.flow[a] += step);
        self.flow[leaving] = step;
        let bit = 1u64 << leaving;
        let [source, sink] = self.ends[leaving].map(|end| end as usize % W);
        let lower = if source_below & bit != 0 { self.path[0][source] } else { self.path[1][sink] };
        let holds_i = up_i & bit != 0;
        let inner = if holds_i { up_i } else { up_j };
        // Reverses arcs between the leaving and the entering arc, which gets the former's bit.
        self.source_below ^= inner & !lower;
        self.source_below = self.source_below & !bit | if holds_i { bit } else { 0 };
        self.ends[leaving] = [i as u8, j as u8];
        cycle &= !bit;
        let by = if holds_i { reduced } else { -reduced };
        for side in 0..2 {
            let (path, potential) = (&mut self.path[side], &mut self.potential[side]);
            for k in 0..W {
                let moved = (path[k] >> leaving & 1).wrapping_neg();
                potential[k] += f64::from_bits(by.to_bits() & moved);
                path[k] ^= moved & cycle;
            }
        }
    }

    /// Shifts all potentials so that the root has 0.
    #[inline(always)]
    fn recenter(&mut self) {
        let root = self.potential[1][self.m - 1];
        self.potential.as_flattened_mut().iter_mut().for_each(|potential| *potential -= root);
    }

    /// Writes flows, potentials and the number of pivots to the output.
    #[inline(always)]
    fn write(&self, pivots: usize, found: &mut SimplexAnswer<'_>) {
        *found.pivots = pivots;
        found.flows.clear();
        let arcs = self.ends[..self.arcs].iter().zip(&self.flow);
        found.flows.extend(arcs.map(|(&[i, j], &flow)| (u32::from(i), u32::from(j), flow)));
        found.potential.clear();
        found.potential.extend_from_slice(&self.potential[0][..self.n]);
        found.potential.extend_from_slice(&self.potential[1][..self.m]);
    }
}

/// Returns the smallest reduced cost in the given rows, with the index of its row.
#[inline(always)]
fn least_of_rows<const W: usize>(cost: &[[f64; W]], sources: &[f64], sinks: &[f64; W]) -> f64 {
    let mut all = [FAR; LANES];
    for (at, (row, source)) in cost.iter().zip(sources).enumerate() {
        let mut least = [FAR; LANES];
        for (row, sinks) in row.as_chunks::<LANES>().0.iter().zip(sinks.as_chunks::<LANES>().0) {
            for k in 0..LANES {
                least[k] = smaller(least[k], row[k] + sinks[k]);
            }
        }
        for k in 0..LANES {
            all[k] = smaller(all[k], with_index(least[k] - source, at));
        }
    }
    smallest(all)
}

/// Number of minima that a loop keeps in parallel.
const LANES: usize = 4;

/// Stores an index in the low bits of a number.
#[inline(always)]
fn with_index(x: f64, index: usize) -> f64 {
    f64::from_bits(x.to_bits() & !INDEX | index as u64)
}

/// Returns the index in the low bits of a number.
#[inline(always)]
fn index_of(x: f64) -> usize {
    (x.to_bits() & INDEX) as usize
}

#[inline(always)]
fn smallest<const W: usize>(mut x: [f64; W]) -> f64 {
    let mut width = W;
    while width > 1 {
        width /= 2;
        for k in 0..width {
            x[k] = smaller(x[k], x[k + width]);
        }
    }
    x[0]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_registers_give_the_same_bits() {
        let wave = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 1009.0;
        for (n, m) in [(1, 1), (5, 16), (16, 3), (17, 20), (32, 32)] {
            let cost: Vec<f64> = (0..n * m).map(|k| wave(k) + wave(k * k)).collect();
            // Every source has m quanta of 64 units, every sink n.
            let supply = vec![64 * m as i128 + 1; n];
            let mut demand = vec![64 * n as i128; m];
            demand[m - 1] += n as i128;
            let solve = |by: &dyn Fn(&mut SimplexAnswer<'_>) -> bool| {
                let (mut potential, mut flows, mut pivots) = (vec![], vec![], 0);
                let (potential, flows, pivots) = (&mut potential, &mut flows, &mut pivots);
                assert!(by(&mut SimplexAnswer { potential, flows, pivots }));
                (potential.clone(), flows.clone(), *pivots)
            };
            let (supply, demand, cost) = (&supply, &demand, &cost);
            let problem = SmallProblem { supply, demand, cost, slack: 1e-14, most_pivots: 1000 };
            let fast = solve(&|found| super::solve(problem, found));
            let wide = solve(&|found| plain::<MOST>(problem, found));
            assert_eq!(fast, wide, "{n} × {m}");
            assert!(fast.2 < 1000 && fast.1.len() == n + m - 1);
        }
    }
}
