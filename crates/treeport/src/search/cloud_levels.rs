//! Levels of a search among clouds.

use super::Index;
use super::indexed_points::IndexedPoints;
use super::query::Searcher;
use crate::error::Result;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::numeric::rounding::lowered_once;

impl Searcher {
    /// Bounds all clouds by their potentials at the net points nearest to those of the query.
    pub(super) fn bound_on_net(
        &mut self,
        index: &Index,
        net: &IndexedPoints,
        query: &Measure<'_>,
        others: Option<&GroundMetric>,
    ) -> Result<()> {
        let nearest = self.net_distances.nearest_columns(net, others, query.support(), |_| true)?;
        let (mut way, mut lost) = ([0.0], 0.0);
        for ((point, mass), &column) in query.iter().zip(&nearest) {
            let center = net.points[column as usize] as usize;
            let others = others.unwrap_or(&net.metric);
            net.metric.distances_to_others(center, others, &[point as u32], &mut way);
            let share = mass / query.total();
            lost += share * way[0];
            self.query_columns.push((column, share as f32));
        }
        index.potentials.bounds(&self.query_columns, &[], &mut self.own_bounds);
        let lost = above(lost / net.unit);
        self.own_bounds.iter_mut().for_each(|bound| *bound = lowered_once(*bound - lost));
        Ok(())
    }

    /// Pushes all entries of a cloud; no other cloud shares its points, so their distances are
    /// computed at once and not stored. Returns false if the metric has no lowered targets.
    pub(super) fn push_cloud(&mut self, index: &Index, query: &Measure<'_>, row: usize) -> bool {
        let supplies = self.pair.supply.iter().map(|mass| (mass / query.total()) as f32);
        if index.indexed.targets.is_none() {
            return false;
        }
        let (width, costs) = self.problem.push_all(supplies);
        let columns = &index.columns[index.entries_of(row)];
        self.distances.write_rows(&index.indexed, columns, width, costs)
    }

    /// Finds duals of the query's points, to be averaged with those of each cloud.
    pub(super) fn find_query_duals(&mut self, index: &Index, query: &Measure<'_>) -> Result<()> {
        let Self { net_distances, problem, potential, query_prices, .. } = self;
        let reference = &index.reference;
        if index.prices.is_some() {
            reference.find_relaxed_duals(index, query, query_prices, net_distances, problem)?;
        } else {
            reference.find_duals(index.tabled(), query, net_distances, problem)?;
        }
        potential.set_own(query, problem.v.iter().copied());
        Ok(())
    }

    /// Bounds the current pair by the duals of both measures, each made against the reference.
    /// Their mean is feasible, and raised to the limit it bounds better than either alone (jets:
    /// 123 candidates remain to be swept, 212 with the cloud's alone, 322 with the query's; cells
    /// in R¹⁰: 51, 144 and 117).
    pub(super) fn bound_by_both(&mut self, index: &Index, row: usize) -> f64 {
        let own = &index.own_duals[index.entries_of(row)];
        let Self { problem, pair, potential, .. } = self;
        // The store, if there is one, is last and has dual 0.
        problem.v.fill(0.0);
        problem.v[..potential.own.len()].copy_from_slice(&potential.own);
        problem.leave_out_empty_targets();
        problem.set_sources();
        for (u, own) in problem.u.iter_mut().zip(own.iter().chain([&0.0])) {
            *u = 0.5 * (*u + own);
        }
        problem.bound_by_sources(&pair.supply, &pair.demand)
    }
}

/// Rounds up to single precision, by more than the conversion may lose.
fn above(x: f64) -> f32 {
    (x * (1.0 + 1e-6)) as f32 + f32::MIN_POSITIVE
}
