//! Cost source with a spare source and a spare sink for mass that is not moved.
//!
//! A source sends unmoved mass to the spare sink, and the spare source supplies unmet demand. So a
//! problem with penalties, or one that moves only some of the mass, is a balanced problem with one
//! more source and one more sink, which come last. Its coarser levels have spares, too, which
//! represent only themselves.

use super::candidates::{CLOSED, Candidates, LANES, Prices, Query};
use super::groups::Groups;
use super::matrix::scan_row;
use super::{AT_ONCE, Coarser, CostSource, SinglePrecision, rounded_once};

/// Costs of unmoved mass.
#[derive(Clone, Debug)]
pub(in crate::solve) struct SpareCosts {
    /// Costs from each source to the spare sink, and from the spare source to each sink.
    pub(in crate::solve) of_sides: [Vec<f64>; 2],
    /// Cost from the spare source to the spare sink, lowered to the bound of all others.
    pub(in crate::solve) between: f64,
}

impl SpareCosts {
    fn largest(&self) -> f64 {
        self.of_sides.iter().flatten().fold(self.between, |most: f64, &cost| most.max(cost))
    }
}

/// Cost source extended by spares.
pub(super) struct WithSpares<'a> {
    costs: Box<dyn CostSource + 'a>,
    spares: SpareCosts,
    precision: SinglePrecision,
    /// Costs from all sources to the spare sink, in multiples of the unit of `precision`.
    column: Vec<f32>,
    /// Costs from the spare source to all sinks, in multiples of the unit of `precision`, padded to
    /// whole blocks.
    row: Vec<f32>,
}

/// Limit to which spare costs are lowered in single precision, as a multiple of the bound of all
/// others: bounds stay valid, and the other costs keep their digits.
const MOST: f64 = 4.0;

impl<'a> WithSpares<'a> {
    pub(super) fn new(costs: Box<dyn CostSource + 'a>, spares: SpareCosts) -> Self {
        let inner = costs.precision();
        let unit = inner.unit;
        let highest = (spares.largest() / unit).min(MOST * inner.largest) as f32;
        let largest = inner.largest.max(f64::from(highest));
        let lost = inner.lost.max(rounded_once(largest));
        let single = |cost: &f64| ((cost / unit) as f32).min(highest);
        let column = spares.of_sides[0].iter().chain([&spares.between]).map(single).collect();
        let row = spares.of_sides[1].iter().chain([&spares.between]).map(single);
        let mut row: Vec<f32> = row.collect();
        row.resize(row.len().next_multiple_of(LANES), CLOSED);
        let most = inner.most.max(spares.largest());
        let precision = SinglePrecision { unit, largest, lost, most };
        Self { costs, spares, precision, column, row }
    }

    /// Returns the index of the spare source.
    fn spare(&self) -> usize {
        self.column.len() - 1
    }
}

impl CostSource for WithSpares<'_> {
    fn sizes(&self) -> [usize; 2] {
        self.costs.sizes().map(|count| count + 1)
    }

    fn cost(&self, source: usize, sink: usize) -> f64 {
        let [n, m] = self.costs.sizes();
        match (source == n, sink == m) {
            (false, false) => self.costs.cost(source, sink),
            (false, true) => self.spares.of_sides[0][source],
            (true, false) => self.spares.of_sides[1][sink],
            (true, true) => self.spares.between,
        }
    }

    fn single(&self, source: usize, sink: usize) -> f32 {
        let [n, m] = self.costs.sizes();
        match (source == n, sink == m) {
            (false, false) => self.costs.single(source, sink),
            (false, true) => self.column[source],
            (true, _) => self.row[sink],
        }
    }

    fn precision(&self) -> SinglePrecision {
        self.precision
    }

    fn has_spares(&self) -> bool {
        true
    }

    fn prices(&self, of: Vec<f32>) -> Prices {
        self.costs.prices(of)
    }

    fn refresh(&self, prices: &mut Prices) {
        self.costs.refresh(prices);
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        let (spare, sink) = (self.spare() as u32, self.costs.sizes()[1]);
        let others: Vec<u32> = rows.iter().copied().filter(|&row| row != spare).collect();
        let mut found = self.costs.candidates(&others, query);
        for (&row, found) in others.iter().zip(&mut found) {
            let cost = self.column[row as usize];
            found.add((sink as u32, cost, query.prices.of[sink]), query.most);
        }
        for (at, _) in rows.iter().enumerate().filter(|(_, row)| **row == spare) {
            let mut of_spare = Candidates::default();
            of_spare.begin(spare, query);
            scan_row(&self.row, query, &mut of_spare);
            found.insert(at, of_spare);
        }
        found
    }

    fn rows_at_once(&self, rows: usize, query: &Query<'_>) -> usize {
        self.costs.rows_at_once(rows, query).min(AT_ONCE / self.row.len())
    }

    fn coarser(&self, group: usize) -> Option<Coarser<'_>> {
        let mut coarser = self.costs.coarser(group)?;
        let of_sides = [0, 1].map(|side: usize| -> Vec<f64> {
            let middles = coarser.groups[side].middles();
            middles.map(|middle| self.spares.of_sides[side][middle as usize]).collect()
        });
        coarser.groups.iter_mut().for_each(Groups::push_alone);
        let between = self.spares.between;
        let back = [self.spares.of_sides[1].clone(), of_sides[0].clone()];
        let with =
            |costs, of_sides| Box::new(WithSpares::new(costs, SpareCosts { of_sides, between }));
        Some(Coarser {
            costs: with(coarser.costs, of_sides),
            back: with(coarser.back, back),
            groups: coarser.groups,
            reach: coarser.reach,
        })
    }
}
