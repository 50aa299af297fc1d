//! Searches for the points of least cost + price: over all blocks of points, or over those nodes of
//! the k-d tree whose bounding boxes can contain such a point.
//!
//! Along a periodic coordinate the distance to a box is the shorter of two: the direct distance to
//! the nearer side, and the distance across the boundary of the period to the side nearest to that
//! boundary.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use rayon::prelude::*;

use super::TOGETHER;
use super::candidates::{Candidates, LANES, Lanes, Prices, Query};
use super::kd_points::{KdPoints, Node};
use crate::metric::kernels::formulas::{
    ABSOLUTES, ARC, Formula, GLOBE, LARGEST, LENGTH, SQUARE, add_difference, arc, arc_on_globe,
    least_arc,
};
use crate::metric::period::apart_single;
use crate::numeric::wide_registers::for_wide_registers;

/// Largest number of coordinates that one thread scans alone: a second thread takes as long to
/// start, some tens of microseconds.
const ALONE: usize = 1 << 20;

/// Time of selecting the least sums per scanned point, in coordinates.
const SELECTING: usize = 48;

/// Coordinates of blocks that stay in the cache.
const TILE: usize = 1 << 14;

/// Finds the candidates of the given sources by `scan_some`, in parallel where that is faster: a
/// scan reads `numbers` coordinates for each of `sinks` points.
pub(super) fn in_parallel(
    rows: &[u32],
    (sinks, numbers): (usize, usize),
    scan_some: impl Fn(&[u32], &mut [Candidates]) + Sync,
) -> Vec<Candidates> {
    let mut found = vec![Candidates::default(); rows.len()];
    if rows.len() * sinks * (numbers + SELECTING) <= ALONE {
        scan_some(rows, &mut found);
    } else {
        let share = rows.len().div_ceil(2 * rayon::current_num_threads()).min(TOGETHER);
        let chunks = rows.par_chunks(share).zip(found.par_chunks_mut(share));
        chunks.for_each(|(rows, found)| scan_some(rows, found));
    }
    found
}

impl KdPoints {
    /// Finds the points of `self` of least cost + price for the given points of `from`.
    pub(super) fn nearest(&self, from: &Self, rows: &[u32], query: &Query<'_>) -> Vec<Candidates> {
        in_parallel(rows, (self.len, self.dim), |rows, found| {
            nearest_of_some(self, from, rows, query, found);
        })
    }
}

for_wide_registers! {
    /// Finds the points of `to` of least cost + price for the given points of `from`.
    nearest_of_some, nearest_of_some_wide,
    (to: &KdPoints, from: &KdPoints, rows: &[u32], query: &Query<'_>, found: &mut [Candidates]), {
        match (to.formula.formula, to.formula.halves.is_empty()) {
            (Formula::Length, true) => search::<LENGTH, false>(to, from, rows, query, found),
            (Formula::Absolutes, true) => search::<ABSOLUTES, false>(to, from, rows, query, found),
            (Formula::Square, true) => search::<SQUARE, false>(to, from, rows, query, found),
            (Formula::Largest, true) => search::<LARGEST, false>(to, from, rows, query, found),
            (Formula::Length, false) => search::<LENGTH, true>(to, from, rows, query, found),
            (Formula::Absolutes, false) => search::<ABSOLUTES, true>(to, from, rows, query, found),
            (Formula::Square, false) => search::<SQUARE, true>(to, from, rows, query, found),
            (Formula::Largest, false) => search::<LARGEST, true>(to, from, rows, query, found),
            (Formula::Arc, _) => search::<ARC, false>(to, from, rows, query, found),
            (Formula::Globe, _) => search::<GLOBE, false>(to, from, rows, query, found),
        }
    }
}

#[inline(always)]
fn search<const FORMULA: u8, const PERIODIC: bool>(
    to: &KdPoints,
    from: &KdPoints,
    rows: &[u32],
    query: &Query<'_>,
    found: &mut [Candidates],
) {
    let prices = query.prices;
    for (found, &row) in found.iter_mut().zip(rows) {
        found.begin(row, query);
    }
    if !to.nodes.is_empty() {
        let mut open = Vec::new();
        for (found, &row) in found.iter_mut().zip(rows) {
            descend::<FORMULA, PERIODIC>(to, from.point(row as usize), prices, found, &mut open);
        }
        return;
    }
    let count = to.len.div_ceil(LANES);
    let tile = (TILE / (to.dim * LANES)).max(1);
    for first in (0..count).step_by(tile) {
        for (found, &row) in found.iter_mut().zip(rows) {
            let point = from.point(row as usize);
            for block in first..(first + tile).min(count) {
                visit::<FORMULA, PERIODIC>(to, block, point, prices, found);
            }
        }
    }
    for found in found {
        found.cut();
    }
}

/// Searches a tree depth-first, the nearer child first.
#[inline(always)]
fn descend<const FORMULA: u8, const PERIODIC: bool>(
    to: &KdPoints,
    point: &[f32],
    prices: &Prices,
    found: &mut Candidates,
    open: &mut Vec<(f32, u32)>,
) {
    let bound = |node: u32| {
        let boxes = &to.boxes[node as usize * to.dim..(node as usize + 1) * to.dim];
        let mut sum = 0.0;
        for (k, ([low, high], x)) in boxes.iter().zip(point).enumerate() {
            let mut gap = (low - x).max(x - high).max(0.0);
            if PERIODIC {
                let half = to.formula.halves[k];
                gap = gap.min((half - x.abs()) + (half - low.abs().max(high.abs())));
            }
            sum = add_difference::<FORMULA, false>(gap, sum);
        }
        let cost = match FORMULA {
            LENGTH => sum.sqrt(),
            ARC | GLOBE => least_arc::<FORMULA>(sum, to.formula.curvature),
            _ => sum,
        };
        cost + prices.least[node as usize]
    };
    open.clear();
    open.push((bound(0), 0));
    while let Some((least, at)) = open.pop() {
        if least >= found.limit {
            continue;
        }
        let Node { left, right, block } = to.nodes[at as usize];
        if left == 0 {
            visit::<FORMULA, PERIODIC>(to, block as usize, point, prices, found);
            continue;
        }
        let (left, right) = ((bound(left), left), (bound(right), right));
        // The top of the stack is searched next.
        open.extend(if left.0 < right.0 { [right, left] } else { [left, right] });
    }
    found.cut();
}

/// Adds the differences along an axis to eight sums.
#[inline(always)]
fn add_terms<const FORMULA: u8, const PERIODIC: bool>(
    lanes: &[f32; 8],
    x: f32,
    half: f32,
    sum: &mut [f32; 8],
) {
    for lane in 0..8 {
        let apart = if PERIODIC { apart_single(lanes[lane], x, half) } else { lanes[lane] - x };
        sum[lane] = add_difference::<FORMULA, false>(apart, sum[lane]);
    }
}

/// Adds the points of a block to the candidates.
#[inline(always)]
fn visit<const FORMULA: u8, const PERIODIC: bool>(
    to: &KdPoints,
    block: usize,
    point: &[f32],
    prices: &Prices,
    found: &mut Candidates,
) {
    let (mut first, mut second) = ([0.0; 8], [0.0; 8]);
    let (mut third, mut fourth) = ([0.0; 8], [0.0; 8]);
    let axes = to.blocks[block * to.dim..(block + 1) * to.dim].iter().zip(point);
    for (k, (lanes, &x)) in axes.enumerate() {
        let half = if PERIODIC { to.formula.halves[k] } else { f32::INFINITY };
        let [one, two, three, four] = lanes;
        add_terms::<FORMULA, PERIODIC>(one, x, half, &mut first);
        add_terms::<FORMULA, PERIODIC>(two, x, half, &mut second);
        add_terms::<FORMULA, PERIODIC>(three, x, half, &mut third);
        add_terms::<FORMULA, PERIODIC>(four, x, half, &mut fourth);
    }
    let sum = [first, second, third, fourth];
    let opposite = if FORMULA == GLOBE { opposites(to, block, point) } else { sum };
    found.offer(block, prices, |at, lane| match FORMULA {
        LENGTH => sum[at][lane].sqrt(),
        ARC => arc(sum[at][lane], to.formula.curvature),
        GLOBE => arc_on_globe(sum[at][lane], opposite[at][lane]),
        _ => sum[at][lane],
    });
}

/// Computes the squared norms of the sums of a vector and the vectors of a block.
#[inline(always)]
fn opposites(to: &KdPoints, block: usize, point: &[f32]) -> Lanes {
    let mut squares = Lanes::default();
    for (lanes, x) in to.blocks[block * to.dim..(block + 1) * to.dim].iter().zip(point) {
        for (square, lanes) in squares.iter_mut().zip(lanes) {
            for lane in 0..8 {
                let sum = lanes[lane] + x;
                square[lane] += sum * sum;
            }
        }
    }
    squares
}
