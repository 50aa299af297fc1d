//! The transport problem between a query and one measure of the collection.

use super::Index;
use super::indexed_points::NO_COLUMN;
use super::query::{MOST_COSTS, Query, Searcher};
use crate::error::Result;
use crate::measures::Measure;
use crate::metric::LoweredTargets;
use crate::solve::exact::value_by_bounds;
use crate::solve::sides::{balance_totals, rescaling};

/// Number of coordinates from which exact distances are worth avoiding.
const LEAST_DIM: usize = 12;

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

impl Searcher {
    /// Computes W₁ of a pair from lower bounds of its distances and a few distances, if distances
    /// take long and the solver finds a proof.
    pub(super) fn solve_by_bounds(
        &mut self,
        query: &Query<'_>,
        row: usize,
        side: usize,
    ) -> Result<Option<f64>> {
        let Query { index, measure, counter, .. } = *query;
        let (indexed, other) = (&index.indexed, index.measures.row(row));
        let costs = measure.support().len().saturating_mul(other.support().len());
        let dim = indexed.targets.as_ref().map_or(0, LoweredTargets::dim);
        if dim < LEAST_DIM || costs > MOST_COSTS || index.is_of_clouds() {
            return Ok(None);
        }
        let Self { distances, workspaces, .. } = self;
        let fill = |[left, right]: [&[usize]; 2], swapped: bool, costs: &mut Vec<f64>| {
            let (of_query, of_other) = if swapped { (right, left) } else { (left, right) };
            let columns = of_other.iter().map(|&point| indexed.column_of[point]);
            distances.add(indexed, columns.clone())?;
            let slots = slots_of(measure.support(), of_query);
            let cost =
                |column: u32, slot: usize| f64::from(distances.to(column)[slot]) * indexed.unit;
            if swapped {
                for column in columns {
                    costs.extend(slots.iter().map(|&slot| cost(column, slot)));
                }
            } else {
                for &slot in &slots {
                    costs.extend(columns.clone().map(|column| cost(column, slot)));
                }
            }
            Ok(())
        };
        let keep_going = |_| counter.add(0).is_ok();
        let pair = (&indexed.metric, measure, &other);
        value_by_bounds(&mut workspaces[side], pair, fill, &keep_going)
    }
}

/// Returns the positions of some points in a support; both ascend.
fn slots_of(support: &[u32], points: &[usize]) -> Vec<usize> {
    let mut slots = support.iter().enumerate();
    let mut slot_of = |&point: &usize| slots.find(|(_, at)| **at as usize == point);
    points.iter().filter_map(|point| Some(slot_of(point)?.0)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::SearchEnd;
    use super::super::tests::{assert_close, index_of};
    use super::*;
    use crate::measures::Measures;
    use crate::metric::GroundMetric;
    use crate::progress::tasks::SEARCHING;
    use crate::progress::{Counter, silent};
    use crate::solve::exact::random::random;
    use crate::{Accuracy, PointMetric, Problem};

    const POINTS: usize = 80;

    /// Random points in more than [`LEAST_DIM`] dimensions.
    fn points() -> GroundMetric {
        let mut random = random(77);
        let coordinates = (0..16 * POINTS).map(|_| random()).collect();
        GroundMetric::from_points(16, coordinates, PointMetric::Euclidean).unwrap()
    }

    /// Measures of 3 to 40 points, some of which they share.
    fn measures(rows: std::ops::Range<usize>) -> Measures {
        let row = |row: usize| {
            let support = 3 + row * 13 % 38;
            (0..support).map(move |k| ((row * 31 + k * 7) % POINTS, 1.0 + (k * row % 5) as f64))
        };
        Measures::from_rows(POINTS, rows.map(row)).unwrap().normalized()
    }

    #[test]
    fn pairs_are_solved_from_bounds() {
        let (metric, measures) = (points(), measures(0..20));
        let index = index_of(&metric, &measures, None);
        let counter = Counter::new(SEARCHING, None, &silent);
        let request = index.request(SearchEnd::Count(1), Accuracy::EXACT);
        for row in 0..measures.len() {
            let query = measures.row((row + 7) % 20);
            let mut searcher = Searcher::default();
            searcher.all_bounds(&index, &query, &request).unwrap();
            let asked = Query { index: &index, measure: &query, request, counter: &counter };
            let value = searcher.solve_by_bounds(&asked, row, row % 2).unwrap().unwrap();
            let judge = Problem::new(&metric, &query, &measures.row(row)).value(&silent).unwrap();
            assert!((value - judge).abs() <= 1e-9 * judge, "{value} {judge}");
        }
    }

    #[test]
    fn bits_do_not_depend_on_the_index() {
        let (metric, all, queries) = (points(), measures(0..30), measures(30..36));
        let part = Measures::from_rows(POINTS, (5..25).map(|row| all.row(row).iter())).unwrap();
        let ask = |measures: &Measures, memory| {
            let index = index_of(&metric, measures, memory);
            index.nearest(&queries, measures.len(), Accuracy::EXACT, &silent).unwrap()
        };
        let (whole, plain, few) = (ask(&all, None), ask(&all, Some(0)), ask(&part, None));
        for ((whole, plain), few) in whole.iter().zip(&plain).zip(&few) {
            assert_eq!(whole.found, plain.found);
            let expected = whole.found.iter().filter(|found| (5..25).contains(&found.0));
            let expected: Vec<_> = expected.map(|&(row, distance)| (row - 5, distance)).collect();
            assert_close(&few.found, &expected);
            assert_eq!(few.found, expected);
        }
        let graph = index_of(&metric, &all, None).graph(29, Accuracy::EXACT, &silent).unwrap();
        let distance = |a: usize, b: usize| graph[a].found.iter().find(|found| found.0 == b);
        for (a, b) in (0..30).flat_map(|a| (0..a).map(move |b| (a, b))) {
            assert_eq!(distance(a, b).unwrap().1.to_bits(), distance(b, a).unwrap().1.to_bits());
        }
    }
}
