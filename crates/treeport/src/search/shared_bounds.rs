//! Level 1 of a search: bounds of all measures by shared potentials.

use super::Index;
use super::indexed_points::NO_COLUMN;
use super::potentials::Potential;
use super::query::{SearchRequest, Searcher};
use crate::error::Result;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::numeric::rounding::single;

/// Maximum number of points of a query without a column for which measures are bounded by their own
/// potentials: each such point takes a pass over the whole collection.
const MOST_BEYOND: usize = 8;

impl Searcher {
    /// Bounds all measures by their own potentials, if any, and by that of the query if there are
    /// none or if it pays. The larger bound is kept.
    pub(super) fn bound_all(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        request: &SearchRequest<'_>,
    ) -> Result<()> {
        let indexed = &index.indexed;
        self.distances.begin(indexed, request.query_metric, query.support());
        self.bounds.clear();
        self.own_bounds.clear();
        if let Some(net) = &index.net {
            self.net_distances.begin(net, request.query_metric, query.support());
        }
        if let Some(prices) = &index.prices {
            self.set_query_prices(index, query, request.prices.unwrap_or(&prices.of_columns));
        }
        if index.net.is_some() {
            self.find_query_duals(index, query)?;
        }
        let by_own = self.bound_by_own(index, query, request.query_metric)?;
        if by_own && !request.by_query {
            std::mem::swap(&mut self.bounds, &mut self.own_bounds);
            self.bounded_by_query = false;
            return Ok(());
        }
        self.bounded_by_query = true;
        if index.net.is_none() {
            index.reference.find_duals(indexed, query, &mut self.distances, &mut self.problem)?;
            self.potential.set_own(query, self.problem.v.iter().copied());
        }
        self.potential.extend(indexed, query, &mut self.distances)?;
        if index.prices.is_some() {
            self.bound_relaxed_by_query(index, query);
        } else {
            self.bound_by_query(index);
        }
        let own = self.bounds.iter_mut().zip(&self.own_bounds);
        own.for_each(|(bound, &own)| *bound = bound.max(own));
        Ok(())
    }

    /// Bounds all measures by the potential of the query.
    fn bound_by_query(&mut self, index: &Index) {
        let Potential { f, constant, largest, .. } = &self.potential;
        let constant = *constant as f32;
        for entries in index.start.windows(2) {
            let entries = entries[0]..entries[1];
            // One rounding for each mass, product and sum, and those of the constant.
            let slack = single(entries.len() + 6) as f32 * (largest + constant.abs());
            let columns = index.columns[entries.clone()].iter();
            let terms =
                columns.zip(&index.masses[entries]).map(|(&at, mass)| mass * f[at as usize]);
            self.bounds.push(terms.sum::<f32>() + constant - slack);
        }
    }

    /// Returns the shared bounds of all measures for a request, for a total mass of 1.
    #[cfg(test)]
    pub(super) fn all_bounds(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        request: &SearchRequest<'_>,
    ) -> Result<Vec<f32>> {
        self.bound_all(index, query, request)?;
        Ok(self.bounds.clone())
    }

    /// Bounds measures by their own potentials; returns false if it cannot.
    fn bound_by_own(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        others: Option<&GroundMetric>,
    ) -> Result<bool> {
        let indexed = &index.indexed;
        self.query_columns.clear();
        self.points_beyond.clear();
        self.masses_beyond.clear();
        if index.potentials.len() < index.len() {
            return Ok(false);
        }
        if let Some(net) = &index.net {
            self.bound_on_net(index, net, query, others)?;
            return Ok(true);
        }
        for (point, mass) in query.iter() {
            let (column, mass) = (indexed.column_of[point], (mass / query.total()) as f32);
            if column == NO_COLUMN {
                self.points_beyond.push(point as u32);
                self.masses_beyond.push(mass);
            } else {
                self.query_columns.push((column, mass));
            }
        }
        if self.points_beyond.len() > MOST_BEYOND {
            return Ok(false);
        }
        self.beyond.clear();
        if !self.points_beyond.is_empty() {
            self.distances_beyond.begin(indexed, None, &self.points_beyond);
            self.distances_beyond.add(indexed, 0..indexed.used as u32)?;
            index.bound_beyond(&self.distances_beyond, &self.masses_beyond, &mut self.beyond);
        }
        index.potentials.bounds(&self.query_columns, &self.beyond, &mut self.own_bounds);
        Ok(true)
    }

    /// Returns the measures with the smallest shared bounds, by number, with these bounds for a
    /// total mass of 1.
    pub(super) fn likely(
        &mut self,
        index: &Index,
        query: &Measure<'_>,
        request: &SearchRequest<'_>,
        count: usize,
    ) -> Result<Vec<(usize, f64)>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        self.bound_all(index, query, request)?;
        let mut rows: Vec<usize> =
            (0..self.bounds.len()).filter(|&row| Some(row) != request.skipped).collect();
        let by_bound =
            |a: &usize, b: &usize| self.bounds[*a].total_cmp(&self.bounds[*b]).then(a.cmp(b));
        if count < rows.len() {
            rows.select_nth_unstable_by(count - 1, by_bound);
            rows.truncate(count);
        }
        rows.sort_unstable_by(by_bound);
        let bound = |&row: &usize| f64::from(self.bounds[row]) * index.indexed.unit;
        Ok(rows.iter().map(|row| (index.numbers[*row], bound(row))).collect())
    }
}
