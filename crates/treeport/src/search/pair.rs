//! A query beside one measure of the collection: what moves between them, and at what cost.

use super::Index;
use super::indexed_points::{NO_COLUMN, QueryCosts};
use crate::exact::{balance_totals, rescaling};
use crate::measure::Measure;

/// What moves between the query and a measure: its entries that have too much give to the query's
/// points, of which those without demand take nothing.
#[derive(Debug, Default)]
pub(super) struct QueryPair {
    /// For each column the query's point there, counted from 1; 0 if there is none.
    slot_at: Vec<u32>,
    /// The columns whose entry is not 0.
    with_slot: Vec<u32>,
    /// Entries of the measure that give, and how much; what each point of the query takes.
    pub(super) entries: Vec<usize>,
    pub(super) supply: Vec<f64>,
    pub(super) demand: Vec<f64>,
}

impl QueryPair {
    /// Begins with a query.
    pub(super) fn begin(&mut self, index: &Index, query: &Measure<'_>) {
        self.slot_at.resize(index.indexed.points.len(), 0);
        self.with_slot.drain(..).for_each(|column| self.slot_at[column as usize] = 0);
        for (&point, slot) in query.support().iter().zip(1..) {
            let column = index.indexed.column_of[point as usize];
            if column != NO_COLUMN {
                self.slot_at[column as usize] = slot;
                self.with_slot.push(column);
            }
        }
    }

    /// Lays out a pair, as the exact solver does; false if nothing moves.
    pub(super) fn lay_out(&mut self, index: &Index, query: &Measure<'_>, row: usize) -> bool {
        let other = index.measures.row(row);
        let factor = rescaling(query.total(), other.total());
        let stays_put = index.indexed.metric.is_metric();
        let columns = &index.columns[index.start[row]..index.start[row + 1]];
        self.entries.clear();
        self.supply.clear();
        self.demand.clear();
        self.demand.extend_from_slice(query.masses());
        for (entry, (&column, &mass)) in columns.iter().zip(other.masses()).enumerate() {
            let mass = mass * factor;
            let slot = self.slot_at[column as usize] as usize;
            let mut given = mass;
            if slot > 0 && stays_put {
                let stays = self.demand[slot - 1].min(mass);
                self.demand[slot - 1] -= stays;
                given -= stays;
            }
            if given > 0.0 {
                self.entries.push(entry);
                self.supply.push(given);
            }
        }
        let moves = !self.entries.is_empty() && self.demand.iter().any(|&mass| mass > 0.0);
        if moves {
            balance_totals(&self.demand, &mut self.supply);
        }
        moves
    }
}

/// Distances from columns to the query's points, in single precision, worked out once.
#[derive(Debug, Default)]
pub(super) struct ColumnCosts {
    /// For each column where its distances begin, counted from 1; 0 if they are not known yet.
    at: Vec<u32>,
    known_columns: Vec<u32>,
    known: Vec<f32>,
}

impl ColumnCosts {
    /// Forgets what was known of another query.
    pub(super) fn begin(&mut self, index: &Index) {
        self.at.resize(index.indexed.points.len(), 0);
        self.known_columns.drain(..).for_each(|column| self.at[column as usize] = 0);
        self.known.clear();
    }

    /// The distances from a column to all points of the query.
    pub(super) fn of(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        costs: &QueryCosts,
        column: u32,
    ) -> &[f32] {
        let count = query.support().len();
        let at = &mut self.at[column as usize];
        if *at == 0 {
            self.known_columns.push(column);
            *at = self.known_columns.len() as u32;
            let indexed = &index.indexed;
            if indexed.by_search() {
                let mut exact = vec![0.0; count];
                let from = indexed.points[column as usize] as usize;
                indexed.metric.distances_from(from, query.support(), &mut exact);
                self.known.extend(exact.iter().map(|&d| indexed.lowered(d)));
            } else {
                let known = (0..count).map(|slot| indexed.row(costs, slot)[column as usize]);
                self.known.extend(known);
            }
        }
        let first = (*at as usize - 1) * count;
        &self.known[first..first + count]
    }
}
