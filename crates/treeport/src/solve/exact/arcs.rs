//! Sets of arcs, and block pricing of candidates to enter the basis.
//!
//! Pricing scans a block of rows (a row is a source) from where the last scan stopped, and the most
//! negative arc of every row is a candidate.

use std::cmp::Ordering;

use super::price::Cost;
use super::table::COSTS_PER_CHECK;
use super::{KeepGoing, check_canceled};
use crate::error::Result;

/// An arc whose reduced cost was negative when it was priced.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate<C> {
    pub(super) source: usize,
    pub(super) sink: usize,
    pub(super) cost: C,
    /// Change of the cost by a unit of flow on the arc.
    reduced: C,
}

/// A set of arcs to price.
pub(super) trait Arcs<C: Cost> {
    /// Returns the number of arcs.
    fn count(&self) -> usize;

    /// Returns the smallest `cost + potential` of the arcs of a source, or `FAR` if it has none.
    fn least(&self, source: usize, sinks: &[C]) -> C;

    /// Returns the sink and the cost of the arc of a source with this sum.
    fn find(&self, source: usize, sinks: &[C], sum: C) -> (usize, C);

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

    fn find(&self, source: usize, sinks: &[C], sum: C) -> (usize, C) {
        let row = &self.cost[source * self.m..(source + 1) * self.m];
        let sink = C::find(row, sinks, sum);
        (sink, row[sink])
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

    fn find(&self, _source: usize, _sinks: &[C], _sum: C) -> (usize, C) {
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

    fn find(&self, source: usize, sinks: &[C], sum: C) -> (usize, C) {
        let hit = self.row(source).find(|&(j, cost)| cost + sinks[j] == sum);
        hit.expect("the sum is that of an arc in this row")
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

    fn find(&self, source: usize, sinks: &[f64], sum: f64) -> (usize, f64) {
        let arcs = (0..sinks.len()).map(|j| (j, self.cost(source, j)));
        let hit = arcs.into_iter().find(|&(j, cost)| cost + sinks[j] == sum);
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
#[derive(Clone, Debug)]
pub(super) struct Pricing<C> {
    next_row: usize,
    /// Number of rows in a block.
    block: usize,
    /// Number of candidates from which on a block is the last one.
    enough: usize,
    /// Candidates of the last blocks, the most negative first.
    pub(super) candidates: Vec<Candidate<C>>,
}

impl<C: Cost> Pricing<C> {
    pub(super) fn new(sources: usize, sinks: usize) -> Self {
        let block = (sources.max(BLOCK) / BLOCK).max(1);
        let enough = ((sources + sinks) / ENOUGH).max(2);
        Self { next_row: 0, block, enough, candidates: Vec::new() }
    }

    /// Prices blocks of rows until there are enough candidates, at most `rows` rows. Returns the
    /// number of priced rows.
    pub(super) fn next(
        &mut self,
        arcs: &impl Arcs<C>,
        (sources, sinks): (&[C], &[C]),
        slack: C,
        rows: usize,
    ) -> usize {
        self.candidates.clear();
        let mut priced = 0;
        while priced < rows && (priced < self.block || self.candidates.len() < self.enough) {
            let source = self.next_row;
            let sum = arcs.least(source, sinks);
            let reduced = sum - sources[source];
            if reduced < -slack {
                let (sink, cost) = arcs.find(source, sinks, sum);
                self.candidates.push(Candidate { source, sink, cost, reduced });
            }
            self.next_row = if source + 1 == sources.len() { 0 } else { source + 1 };
            priced += 1;
        }
        let order = |a: &Candidate<C>, b: &Candidate<C>| {
            a.reduced
                .partial_cmp(&b.reduced)
                .unwrap_or(Ordering::Equal)
                .then(a.source.cmp(&b.source))
        };
        self.candidates.sort_unstable_by(order);
        priced
    }
}

/// Blocks of all rows. With 20 blocks a tenth more time at 300 points a side, as much at 1,200.
const BLOCK: usize = 10;

/// Ratio of nodes to the candidates that are enough; flat between 20 and 100.
const ENOUGH: usize = 33;

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
