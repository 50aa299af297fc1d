//! Searches of all pairs on a device (a GPU), which scans many pairs faster than the processor.
//!
//! A device finds the sinks of least cost + price in single precision, by the formulas and within
//! the error bounds of `metric::kernels::formulas`. Proofs are computed here in double precision,
//! from the candidates of the device.
//!
//! # Requirements for a device
//! - A cost is computed in single precision from the differences along the coordinates: the sum of
//!   their squares or of their absolute values, in the order of the coordinates, or the largest
//!   absolute value. A square is added with one rounding (a fused multiply-add) or with two; a root
//!   is rounded once. So the rounding error of a cost is at most that of the processor.
//! - `limit` is at most the computed cost + price + noise of every sink that is not listed. Each of
//!   the two sums is rounded once.

use std::fmt::Debug;
use std::sync::Arc;

use super::candidates::{BEYOND, CLOSED, Candidates, Prices, Query};
use super::kd_points::KdPoints;
use super::points::PointCosts;
use super::{Coarser, CostSource, SinglePrecision};

/// Price of padding and of sinks without mass, which no search returns.
pub const CLOSED_PRICE: f32 = CLOSED;

/// Device that searches all pairs of points.
pub trait Device: Debug + Send + Sync {
    /// Uploads points of `dim` coordinates each and returns their handle; `None` if the device has
    /// failed.
    fn keep(&self, points: &[f32], dim: usize) -> Option<usize>;

    /// Frees points, which no later search uses.
    fn forget(&self, number: usize);

    /// Finds the points of least cost + price for the points of the search; `None` if the device
    /// has failed.
    fn nearest(&self, search: &DeviceSearch<'_>) -> Option<DeviceFound>;

    /// Returns whether the device searches however few pairs there are, as in tests of devices.
    fn scans_all(&self) -> bool {
        false
    }

    /// Returns whether the device has failed. Work on the problem then stops, and the caller
    /// reports the cause.
    fn has_failed(&self) -> bool;
}

/// Query for the points of least cost + price.
#[derive(Debug)]
pub struct DeviceSearch<'a> {
    /// Formula of costs: `length`, `absolutes`, `square` or `largest`.
    pub formula: &'static str,
    /// Handle of the points to search from.
    pub from: usize,
    /// Indices of those points for which to search.
    pub rows: &'a [u32],
    /// Handle of the points to search among.
    pub to: usize,
    /// Prices of the points to search among.
    pub prices: &'a [f32],
    /// Number of points to return.
    pub most: usize,
    /// Largest noise, which may be added to cost + price at random for every pair before the least
    /// are chosen.
    pub noise: f32,
}

/// Result of a search on a device.
#[derive(Debug)]
pub struct DeviceFound {
    /// Indices of `most` points for each row; [`u32::MAX`] where there are fewer.
    pub points: Vec<u32>,
    /// Costs of these points, without price and noise.
    pub costs: Vec<f32>,
    /// Lower bounds of cost + price + noise of all other points, for each row.
    pub limits: Vec<f32>,
}

/// Points on a device, which are freed on drop.
#[derive(Debug)]
struct Kept {
    device: Arc<dyn Device>,
    number: usize,
}

impl Kept {
    /// Uploads points; returns `None` if the device has failed.
    fn new(device: &Arc<dyn Device>, points: &KdPoints) -> Option<Arc<Self>> {
        let number = device.keep(&points.points, points.dim)?;
        Some(Arc::new(Self { device: Arc::clone(device), number }))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.device.forget(self.number);
    }
}

/// Costs between points of which a device has a copy. The processor scans where it is faster.
pub(super) struct DeviceCosts<'a> {
    points: PointCosts<'a>,
    device: Arc<dyn Device>,
    /// Sources and sinks on the device; `None` where it has failed.
    kept: [Option<Arc<Kept>>; 2],
}

/// Coordinates to scan from which a device is faster, transfers included.
const FOR_DEVICE: usize = 1 << 21;

/// Number of sources from which a device is faster where boxes rule out most points.
const ROWS_FOR_DEVICE: usize = 256;

/// Largest number of candidates per source for which a device searches.
const MOST_BY_DEVICE: usize = 128;

impl<'a> DeviceCosts<'a> {
    pub(super) fn new(points: PointCosts<'a>, device: &Arc<dyn Device>) -> Self {
        let kept = points.points().map(|points| Kept::new(device, points));
        Self { points, device: Arc::clone(device), kept }
    }

    /// Checks whether the device scans for this many sources.
    fn scans(&self, rows: usize, query: &Query<'_>) -> bool {
        let [_, sinks] = self.points.points();
        let is_long = if sinks.nodes.is_empty() {
            rows * sinks.len * sinks.dim >= FOR_DEVICE
        } else {
            rows >= ROWS_FOR_DEVICE
        };
        query.most <= MOST_BY_DEVICE && (is_long || self.device.scans_all())
    }

    /// Finds candidates on the device; `None` where the processor is faster.
    fn on_device(&self, rows: &[u32], query: &Query<'_>) -> Option<Vec<Candidates>> {
        let [Some(from), Some(to)] = &self.kept else { return None };
        if !self.scans(rows.len(), query) {
            return None;
        }
        let prices = &query.prices.of[..self.points.sizes()[1]];
        let search = DeviceSearch {
            formula: self.points.device_formula()?,
            from: from.number,
            rows,
            to: to.number,
            prices,
            most: query.most,
            noise: query.noise,
        };
        let Some(found) = self.device.nearest(&search) else {
            // The device has failed, so work stops soon; until then these lists have no bound.
            return Some(vec![Candidates::unknown(); rows.len()]);
        };
        let lists = found.points.chunks_exact(query.most).zip(found.costs.chunks_exact(query.most));
        let lists = lists.zip(&found.limits).map(|((points, costs), &limit)| {
            let listed = points.iter().zip(costs).filter(|(point, _)| **point != u32::MAX);
            let priced = listed.map(|(&point, &cost)| (point, cost, prices[point as usize]));
            Candidates::listed(priced.filter(|&(.., price)| price < BEYOND), limit)
        });
        Some(lists.collect())
    }
}

impl CostSource for DeviceCosts<'_> {
    fn sizes(&self) -> [usize; 2] {
        self.points.sizes()
    }

    fn cost(&self, source: usize, sink: usize) -> f64 {
        self.points.cost(source, sink)
    }

    fn single(&self, source: usize, sink: usize) -> f32 {
        self.points.single(source, sink)
    }

    fn precision(&self) -> SinglePrecision {
        self.points.precision()
    }

    fn are_lengths(&self) -> bool {
        self.points.are_lengths()
    }

    fn prices(&self, of: Vec<f32>) -> Prices {
        self.points.prices(of)
    }

    fn refresh(&self, prices: &mut Prices) {
        self.points.refresh(prices);
    }

    fn candidates(&self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        self.on_device(rows, query).unwrap_or_else(|| self.points.candidates(rows, query))
    }

    fn rows_at_once(&self, rows: usize, query: &Query<'_>) -> usize {
        if self.scans(rows, query) { usize::MAX } else { self.points.rows_at_once(rows, query) }
    }

    fn coarser(&self, group: usize) -> Option<Coarser<'_>> {
        let ([costs, back], groups, reach) = self.points.coarser_points(group);
        let costs = Self::new(costs, &self.device);
        let kept = [self.kept[1].clone(), costs.kept[0].clone()];
        let back = Self { points: back, device: Arc::clone(&self.device), kept };
        Some(Coarser { costs: Box::new(costs), back: Box::new(back), groups, reach })
    }
}
