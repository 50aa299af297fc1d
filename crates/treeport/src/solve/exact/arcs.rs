//! Sets of arcs, and block pricing of the entering arc.
//!
//! Pricing scans a block of rows (a row is a source) from where the last scan stopped, and the arc
//! of the block with the most negative reduced cost enters. Blocks of 4·√arcs balance the time of
//! pricing and the number of pivots; the total is flat between 3 and 8 (supports of 30 to 2,000).

use std::cmp::Ordering;

use super::price::Cost;
use super::table::COSTS_PER_CHECK;
use super::{KeepGoing, check_canceled};
use crate::error::Result;

/// An entering arc: each unit of flow on it changes the cost by its reduced cost.
#[derive(Clone, Copy)]
pub(super) struct Entering<C> {
    pub(super) source: usize,
    pub(super) sink: usize,
    pub(super) reduced: C,
}

/// A set of arcs to price.
pub(super) trait Arcs<C: Cost> {
    /// Returns the number of arcs.
    fn count(&self) -> usize;

    /// Returns the smallest `cost + potential` of the arcs of a source, or `FAR` if it has none.
    fn least(&self, source: usize, sinks: &[C]) -> C;

    /// Returns the sink of the arc of a source with this sum.
    fn find(&self, source: usize, sinks: &[C], sum: C) -> usize;

    /// Returns the second smallest `cost + price` of a source minus the smallest, and the sink of
    /// the smallest, or an index out of range if all arcs of the source end at saturated sinks.
    fn regret(&self, source: usize, price: &[C]) -> (C, usize);

    /// Appends cost + price and the sink of every arc from a source to an unsaturated sink.
    fn open(&self, source: usize, price: &[C], out: &mut Vec<(C, u32)>);
}

/// Appends the sums of arcs whose sinks are not saturated.
fn push_open<C: Cost>(
    arcs: impl Iterator<Item = (usize, C)>,
    price: &[C],
    out: &mut Vec<(C, u32)>,
) {
    let open = arcs.filter(|(j, _)| price[*j] != C::FAR);
    out.extend(open.map(|(j, cost)| (cost + price[j], j as u32)));
}

/// All arcs, as rows of costs.
pub(super) struct AllArcs<'a, C> {
    pub(super) cost: &'a [C],
    pub(super) m: usize,
}

impl<C: Cost> Arcs<C> for AllArcs<'_, C> {
    fn count(&self) -> usize {
        self.cost.len()
    }

    #[inline]
    fn least(&self, source: usize, sinks: &[C]) -> C {
        C::least(&self.cost[source * self.m..(source + 1) * self.m], sinks)
    }

    fn find(&self, source: usize, sinks: &[C], sum: C) -> usize {
        C::find(&self.cost[source * self.m..(source + 1) * self.m], sinks, sum)
    }

    fn regret(&self, source: usize, price: &[C]) -> (C, usize) {
        C::regret(&self.cost[source * self.m..(source + 1) * self.m], price)
    }

    fn open(&self, source: usize, price: &[C], out: &mut Vec<(C, u32)>) {
        let row = &self.cost[source * self.m..(source + 1) * self.m];
        push_open(row.iter().copied().enumerate(), price, out);
    }
}

/// The empty set of arcs.
pub(super) struct NoArcs;

impl<C: Cost> Arcs<C> for NoArcs {
    fn count(&self) -> usize {
        0
    }

    fn least(&self, _source: usize, _sinks: &[C]) -> C {
        C::FAR
    }

    fn find(&self, _source: usize, _sinks: &[C], _sum: C) -> usize {
        unreachable!("there is no arc to find")
    }

    fn regret(&self, _source: usize, _price: &[C]) -> (C, usize) {
        (C::default(), usize::MAX)
    }

    fn open(&self, _source: usize, _price: &[C], _out: &mut Vec<(C, u32)>) {}
}

/// A sparse set of arcs in compressed rows; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(super) struct FewArcs<C> {
    start: Vec<usize>,
    sink: Vec<u32>,
    cost: Vec<C>,
    sample: Vec<C>,
}

impl<C: Cost> FewArcs<C> {
    pub(super) fn clear(&mut self) {
        self.start.clear();
        self.start.push(0);
        self.sink.clear();
        self.cost.clear();
    }

    /// Adds an arc to the current row.
    pub(super) fn push(&mut self, sink: usize, cost: C) {
        self.sink.push(sink as u32);
        self.cost.push(cost);
    }

    pub(super) fn end_row(&mut self) {
        self.start.push(self.sink.len());
    }

    /// Selects about the [`NEAR`] arcs of every row with the smallest cost + price, in O(arcs).
    pub(super) fn cheapest(
        &mut self,
        cost: &[C],
        price: &[C],
        keep_going: &KeepGoing<'_>,
    ) -> Result<()> {
        self.clear();
        let rows = (COSTS_PER_CHECK / price.len()).max(1);
        for (i, row) in cost.chunks_exact(price.len()).enumerate() {
            if i % rows == rows - 1 {
                check_canceled(keep_going)?;
            }
            self.push_cheapest(row, price);
            self.end_row();
        }
        Ok(())
    }

    /// Adds about [`NEAR`] arcs to the current row, up to a limit estimated from a sample.
    pub(super) fn push_cheapest(&mut self, row: &[C], price: &[C]) {
        let m = price.len();
        let stride = m.div_ceil(SAMPLE);
        let seen = row.iter().zip(price).step_by(stride).map(|(&cost, &price)| cost + price);
        self.sample.clear();
        self.sample.extend(seen);
        let rank = (NEAR * self.sample.len() / m).min(self.sample.len() - 1);
        let order = |a: &C, b: &C| a.partial_cmp(b).unwrap_or(Ordering::Equal);
        let limit = *self.sample.select_nth_unstable_by(rank, order).1;
        // Ties may put all arcs below the limit, hence `MOST`.
        let near = row.iter().zip(price).enumerate().filter(|(_, (c, p))| **c + **p <= limit);
        for (j, (&cost, _)) in near.take(MOST) {
            self.push(j, cost);
        }
    }

    fn row(&self, source: usize) -> impl Iterator<Item = (usize, C)> + '_ {
        let row = self.start[source]..self.start[source + 1];
        self.sink[row.clone()].iter().zip(&self.cost[row]).map(|(&j, &c)| (j as usize, c))
    }
}

impl<C: Cost> Arcs<C> for FewArcs<C> {
    fn count(&self) -> usize {
        self.cost.len()
    }

    #[inline]
    fn least(&self, source: usize, sinks: &[C]) -> C {
        self.row(source).fold(C::FAR, |least, (j, cost)| {
            let sum = cost + sinks[j];
            if sum < least { sum } else { least }
        })
    }

    fn find(&self, source: usize, sinks: &[C], sum: C) -> usize {
        let hit = self.row(source).find(|&(j, cost)| cost + sinks[j] == sum);
        hit.expect("the sum is that of an arc in this row").0
    }

    fn regret(&self, source: usize, price: &[C]) -> (C, usize) {
        let (mut first, mut second, mut at) = (C::FAR, C::FAR, usize::MAX);
        for (j, cost) in self.row(source) {
            let sum = cost + price[j];
            if sum < first {
                (first, second, at) = (sum, first, j);
            } else if sum < second {
                second = sum;
            }
        }
        (if at == usize::MAX { C::default() } else { second - first }, at)
    }

    fn open(&self, source: usize, price: &[C], out: &mut Vec<(C, u32)>) {
        push_open(self.row(source), price, out);
    }
}

impl FewArcs<f64> {
    /// Returns the largest cost.
    pub(super) fn largest(&self) -> f64 {
        self.cost.iter().copied().fold(0.0, f64::max)
    }
}

/// All arcs, as padded rows of costs in single precision.
pub(super) struct SingleArcs<'a> {
    pub(super) cost: &'a [f32],
    pub(super) width: usize,
}

impl SingleArcs<'_> {
    pub(super) fn cost(&self, source: usize, sink: usize) -> f64 {
        f64::from(self.cost[source * self.width + sink])
    }
}

impl Arcs<f64> for SingleArcs<'_> {
    fn count(&self) -> usize {
        self.cost.len()
    }

    fn least(&self, source: usize, sinks: &[f64]) -> f64 {
        (0..sinks.len()).map(|j| self.cost(source, j) + sinks[j]).fold(f64::INFINITY, f64::min)
    }

    fn find(&self, source: usize, sinks: &[f64], sum: f64) -> usize {
        let hit = (0..sinks.len()).find(|&j| self.cost(source, j) + sinks[j] == sum);
        hit.expect("the sum is that of an arc in this row")
    }

    fn regret(&self, source: usize, price: &[f64]) -> (f64, usize) {
        let (mut first, mut second, mut at) = (f64::INFINITY, f64::INFINITY, usize::MAX);
        let row = &self.cost[source * self.width..(source + 1) * self.width];
        for (j, (&cost, price)) in row.iter().zip(price).enumerate() {
            let sum = f64::from(cost) + price;
            at = if sum < first { j } else { at };
            second = second.min(first.max(sum));
            first = first.min(sum);
        }
        (if at == usize::MAX { 0.0 } else { second - first }, at)
    }

    fn open(&self, source: usize, price: &[f64], out: &mut Vec<(f64, u32)>) {
        push_open((0..price.len()).map(|j| (j, self.cost(source, j))), price, out);
    }
}

/// Expected number of candidate arcs in a row.
const NEAR: usize = 30;

/// Arcs of a row in the sample that determines the candidates.
const SAMPLE: usize = 256;

/// Most candidate arcs in a row.
const MOST: usize = 10 * NEAR;

/// The state of block pricing.
#[derive(Clone, Debug, Default)]
pub(super) struct Pricing {
    next_row: usize,
    /// Number of rows in a block.
    block: usize,
}

impl Pricing {
    pub(super) fn new(sources: usize, arcs: usize) -> Self {
        let rows = BLOCK * sources as f64 / (arcs.max(1) as f64).sqrt();
        Self { next_row: 0, block: (rows.ceil() as usize).clamp(1, sources) }
    }

    /// Returns the most negative arc of the next block that has one below `-slack`, if any.
    pub(super) fn next<C: Cost>(
        &mut self,
        arcs: &impl Arcs<C>,
        (sources, sinks): (&[C], &[C]),
        slack: C,
    ) -> Option<Entering<C>> {
        let n = sources.len();
        let (mut best, mut source) = (-slack, n);
        let (mut row, mut pause) = (self.next_row, self.block);
        for _ in 0..n {
            let reduced = arcs.least(row, sinks) - sources[row];
            // Conditional moves, because branches are unpredictable. `least` is computed again at
            // the end: a third choice here would become a branch. 5 % of the time at supports of
            // 30, −1 % from 300 on.
            source = if reduced < best { row } else { source };
            best = if reduced < best { reduced } else { best };
            row = if row + 1 == n { 0 } else { row + 1 };
            pause -= 1;
            if pause == 0 {
                if source < n {
                    break;
                }
                pause = self.block;
            }
        }
        self.next_row = row;
        (source < n).then(|| {
            let sink = arcs.find(source, sinks, arcs.least(source, sinks));
            Entering { source, sink, reduced: best }
        })
    }
}

/// Arcs in a block, in units of √arcs.
const BLOCK: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_do_not_select_all_arcs() {
        let (n, m) = (3, 2000);
        let mut few = FewArcs::default();
        few.cheapest(&vec![1.0; n * m], &vec![-1.0; m], &|_| true).unwrap();
        assert_eq!(few.count(), n * MOST);
    }
}
