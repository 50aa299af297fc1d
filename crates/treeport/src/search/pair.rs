//! The transport problem between a query and one measure of the collection.

use super::Index;
use super::indexed_points::NO_COLUMN;
use crate::measures::Measure;
use crate::solve::sides::{balance_totals, rescaling};

/// Supplies and demands of a pair after shared mass is removed: the measure's entries with excess
/// mass are the sources; all points of the query are sinks, some with demand 0.
#[derive(Debug, Default)]
pub(super) struct QueryPair {
    /// For each column the query's point there, counted from 1, or 0.
    slot_at: Vec<u32>,
    /// Columns whose slot is not 0.
    slotted: Vec<u32>,
    /// Entries of the measure that are sources.
    pub(super) entries: Vec<usize>,
    /// Supply of each of these entries.
    pub(super) supply: Vec<f64>,
    /// Demand of each point of the query.
    pub(super) demand: Vec<f64>,
}

impl QueryPair {
    /// Starts a query.
    pub(super) fn begin(&mut self, index: &Index, query: &Measure<'_>) {
        // The previous query may have used an index with more columns.
        self.slotted.drain(..).for_each(|column| self.slot_at[column as usize] = 0);
        self.slot_at.resize(index.indexed.points.len(), 0);
        if index.is_of_clouds() {
            return;
        }
        for (&point, slot) in query.support().iter().zip(1..) {
            let column = index.indexed.column_of[point as usize];
            if column != NO_COLUMN {
                self.slot_at[column as usize] = slot;
                self.slotted.push(column);
            }
        }
    }

    /// Moves the entries whose columns satisfy `first` to the front; returns their number.
    pub(super) fn partition_entries(
        &mut self,
        columns: &[u32],
        first: impl Fn(u32) -> bool,
    ) -> usize {
        let mut count = 0;
        for at in 0..self.entries.len() {
            if first(columns[self.entries[at]]) {
                self.entries.swap(count, at);
                self.supply.swap(count, at);
                count += 1;
            }
        }
        count
    }

    /// Sets the supplies and demands of a pair as the exact solver does; returns false if nothing
    /// moves.
    pub(super) fn set_pair(&mut self, index: &Index, query: &Measure<'_>, row: usize) -> bool {
        let other = index.measures.row(row);
        let factor = rescaling(query.total(), other.total());
        let stays_put = index.indexed.metric.is_metric();
        let columns = &index.columns[index.start[row]..index.start[row + 1]];
        self.entries.clear();
        self.supply.clear();
        self.demand.clear();
        self.demand.extend_from_slice(query.masses());
        if index.is_of_clouds() {
            // Clouds share no points. The stores of a relaxed problem come last.
            self.entries.extend(0..columns.len());
            let factor = if index.prices.is_some() { 1.0 } else { factor };
            self.supply.extend(other.masses().iter().map(|mass| mass * factor));
            if index.prices.is_some() {
                self.supply.push(query.total());
                self.demand.push(other.total());
                if self.supply.iter().all(|&mass| mass == 0.0) {
                    return false;
                }
            }
            balance_totals(&self.demand, &mut self.supply);
            return true;
        }
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
