//! Points laid out to find those of least cost + price.
//!
//! Coordinates are relative to a center, in units, in single precision; thirty-two points after
//! thirty-two, axis by axis, so that one point meets thirty-two others at once. Where there are few
//! coordinates the points are in the order of a k-d tree, whose nodes know the box of their points: a
//! node whose box and least price are beyond what is looked for is passed over. Prices only rise, so
//! least prices that were true once are bounds for ever.
//!
//! Coordinates that go round are wrapped and not relative to a center. The way to a box is then the
//! shorter one of the direct way to its nearer side, and of the way around to the side that is nearest to where
//! both halves meet.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

use std::sync::Arc;

use rayon::prelude::*;

use super::frame::{
    ABSOLUTES, ARC, Formula, Frame, GLOBE, LARGEST, LENGTH, SQUARE, TABLE, arc, arc_on_globe,
    least_arc,
};
use super::table::SingleRows;
use crate::metric::GroundMetric;
use crate::metric::period::apart_single;
use crate::solve::card::{Card, CardSearch, Kept};
use crate::wide::for_wide_registers;

/// Points side by side.
pub(super) const LANES: usize = 32;

/// One number for each of them.
type Lanes = [[f32; 8]; LANES / 8];

/// Coordinates up to which boxes rule out most points.
pub(super) const MOST_BOXED: usize = 8;

/// The price of nobody: points that only fill up the last lanes.
pub(super) const FAR: f32 = 1e30;

/// A node of the tree over blocks; a leaf has no children.
#[derive(Clone, Debug)]
struct Node {
    /// Children, or 0 where it is a leaf.
    left: u32,
    right: u32,
    block: u32,
}

/// Points in the order of a k-d tree, laid out to measure from them and to them.
#[derive(Clone, Debug)]
pub(super) struct Cloud {
    pub(super) formula: Formula,
    dim: usize,
    /// Half periods; empty where none matters.
    halves: Vec<f32>,
    /// As in [`Frame`].
    curvature: f32,
    pub(super) len: usize,
    /// One point after the other.
    points: Vec<f32>,
    /// Blocks of [`LANES`] points, axis by axis.
    blocks: Vec<Lanes>,
    /// Parents first; empty where boxes would rule out little.
    nodes: Vec<Node>,
    /// Least and largest coordinates of every node, axis by axis.
    boxes: Vec<[f32; 2]>,
    /// The same points on a card, where there is one.
    kept: Option<Arc<Kept>>,
}

/// Prices of the points of a cloud, and the least in every node of its tree.
#[derive(Clone, Debug)]
pub(super) struct Prices {
    /// Padded to whole blocks.
    pub(super) of: Vec<f32>,
    least: Vec<f32>,
}

/// What is looked for: so many points of least cost + price + noise.
pub(super) struct Query<'a> {
    pub(super) prices: &'a Prices,
    pub(super) most: usize,
    /// What is added at most, at random for every pair.
    pub(super) noise: f32,
}

/// The points of least cost + price + noise.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Values and points as numbers of the same order, as many as there are in `count`.
    keys: Vec<u64>,
    count: usize,
    /// What they cost, where a card has said so.
    pub(super) costs: Vec<f32>,
    /// What all others have at least.
    pub(super) limit: f32,
    most: usize,
    noise: f32,
    row: usize,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Cost + price + noise.
    pub(super) value: f32,
    pub(super) point: u32,
}

/// A number whose order is that of values, and of equal ones that of points.
#[inline(always)]
fn key(value: f32, point: u32) -> u64 {
    let bits = value.to_bits();
    let flip = if bits >> 31 == 1 { u32::MAX } else { 1 << 31 };
    u64::from(bits ^ flip) << 32 | u64::from(point)
}

/// The value behind a number.
fn value_of(key: u64) -> f32 {
    let bits = (key >> 32) as u32;
    f32::from_bits(bits ^ if bits >> 31 == 1 { 1 << 31 } else { u32::MAX })
}

impl Found {
    /// The points in no order.
    pub(super) fn entries(&self) -> impl ExactSizeIterator<Item = Entry> + '_ {
        self.keys[..self.count].iter().map(|&k| Entry { value: value_of(k), point: k as u32 })
    }

    fn begin(&mut self, row: u32, query: &Query<'_>) {
        // Nobody is so far away but those who are not there.
        (self.limit, self.most) = (FAR / 2.0, query.most);
        (self.row, self.noise) = (row as usize, query.noise);
        self.count = 0;
        self.keys.clear();
        self.keys.resize(2 * query.most + LANES, 0);
    }

    /// Takes what is below the limit of a block, without a branch, which could not be foreseen.
    #[inline(always)]
    fn take(&mut self, block: usize, value: &Lanes) {
        let (keys, mut taken) = (&mut self.keys[self.count..][..LANES], 0);
        for lane in 0..LANES {
            let value = value[lane / 8][lane % 8];
            keys[taken % LANES] = key(value, (block * LANES + lane) as u32);
            taken += usize::from(value < self.limit);
        }
        self.count += taken;
        if self.count >= 2 * self.most {
            self.cut();
        }
    }

    /// Forgets all but the least, where there are more than asked for.
    fn cut(&mut self) {
        if self.count > self.most {
            // Of equal ones the first.
            let (_, next, _) = self.keys[..self.count].select_nth_unstable(self.most);
            self.limit = value_of(*next);
            self.count = self.most;
        }
    }
}

impl Cloud {
    /// The order of a k-d tree of some points of a metric: neighbors stand near each other.
    pub(super) fn order(metric: &GroundMetric, points: &[usize]) -> Vec<u32> {
        let (dim, vectors) = metric.vectors().unwrap_or((1, &[]));
        let mut order: Vec<u32> = (0..points.len() as u32).collect();
        let point = |place: u32| &vectors[points[place as usize] * dim..][..dim];
        split(&mut order, dim, &point);
        order
    }

    /// Lays out some points of a metric, in this order.
    pub(super) fn new(
        frame: &Frame,
        metric: &GroundMetric,
        points: impl ExactSizeIterator<Item = usize>,
        card: Option<&Arc<dyn Card>>,
    ) -> Self {
        let (dim, vectors) = metric.vectors().unwrap_or((1, &[]));
        let inverse = 1.0 / frame.unit;
        let mut rounded = Vec::with_capacity(points.len() * dim);
        for point in points {
            let vector = &vectors[point * dim..(point + 1) * dim];
            rounded
                .extend(vector.iter().zip(&frame.center).map(|(x, c)| ((x - c) * inverse) as f32));
        }
        Self::of_rounded(frame.formula, dim, frame.halves.clone(), frame.curvature, rounded, card)
    }

    /// Sources whose costs to all sinks are rows of a table.
    pub(super) fn of_rows(rows: SingleRows) -> Self {
        let SingleRows { width, costs, .. } = rows;
        let len = costs.len() / width;
        Self { points: costs, ..Self::of_columns(len) }.with_dim(width)
    }

    /// So many sinks whose costs the sources know.
    pub(super) fn of_columns(len: usize) -> Self {
        Self {
            formula: Formula::Table,
            dim: 1,
            halves: Vec::new(),
            curvature: 0.0,
            len,
            points: Vec::new(),
            blocks: Vec::new(),
            nodes: Vec::new(),
            boxes: Vec::new(),
            kept: None,
        }
    }

    fn with_dim(self, dim: usize) -> Self {
        Self { dim, ..self }
    }

    /// Whether its costs are those of a table, of which there is no coarser one.
    pub(super) fn is_table(&self) -> bool {
        self.formula == Formula::Table
    }

    /// Lays out every point of some places.
    pub(super) fn some(&self, places: &[u32]) -> Self {
        let rows = places.iter().flat_map(|&place| self.point(place as usize));
        let (halves, card) = (self.halves.clone(), self.kept.as_ref().map(|kept| &kept.card));
        let rows = rows.copied().collect();
        Self::of_rounded(self.formula, self.dim, halves, self.curvature, rows, card)
    }

    fn of_rounded(
        formula: Formula,
        dim: usize,
        halves: Vec<f32>,
        curvature: f32,
        points: Vec<f32>,
        card: Option<&Arc<dyn Card>>,
    ) -> Self {
        let len = points.len() / dim;
        let kept = card.filter(|_| halves.is_empty() && formula.name().is_some());
        let kept = kept.and_then(|card| Kept::new(card, &points, dim));
        let mut blocks = vec![Lanes::default(); len.div_ceil(LANES) * dim];
        for (place, point) in points.chunks_exact(dim).enumerate() {
            for (axis, &x) in point.iter().enumerate() {
                blocks[place / LANES * dim + axis][place % LANES / 8][place % 8] = x;
            }
        }
        let mut cloud = Self {
            formula,
            dim,
            halves,
            curvature,
            len,
            points,
            blocks,
            nodes: Vec::new(),
            boxes: Vec::new(),
            kept,
        };
        if dim <= MOST_BOXED {
            cloud.grow_tree();
        }
        cloud
    }

    fn point(&self, place: usize) -> &[f32] {
        &self.points[place * self.dim..(place + 1) * self.dim]
    }

    /// What a point costs to one of another cloud: the bits that looking through that finds.
    pub(super) fn cost(&self, place: usize, other: &Self, at: usize) -> f32 {
        if self.formula == Formula::Table {
            return self.point(place)[at];
        }
        let half = |k: usize| self.halves.get(k).copied().unwrap_or(f32::INFINITY);
        let pairs = self.point(place).iter().zip(other.point(at)).enumerate();
        let apart = pairs.map(|(k, (&x, &y))| apart_single(x, y, half(k)));
        match self.formula {
            Formula::Length => apart.map(|d| d * d).sum::<f32>().sqrt(),
            Formula::Absolutes => apart.sum(),
            Formula::Square => apart.map(|d| d * d).sum(),
            Formula::Largest => apart.fold(0.0, f32::max),
            Formula::Arc => arc(apart.map(|d| d * d).sum(), self.curvature),
            Formula::Globe => {
                let both = self.point(place).iter().zip(other.point(at));
                let opposite = both.map(|(x, y)| (x + y) * (x + y)).sum();
                arc_on_globe(apart.map(|d| d * d).sum(), opposite)
            }
            Formula::Table => unreachable!("looked up above"),
        }
    }

    /// The nodes of the order in which the points are, with their boxes.
    fn grow_tree(&mut self) {
        let mut open = vec![(0, self.len, None)];
        while let Some((first, end, parent)) = open.pop() {
            let me = self.nodes.len() as u32;
            self.nodes.push(Node { left: 0, right: 0, block: (first / LANES) as u32 });
            if let Some(parent) = parent {
                let Node { left, right, .. } = &mut self.nodes[parent as usize];
                *(if *left == 0 { left } else { right }) = me;
            }
            for axis in 0..self.dim {
                let along = (first..end).map(|place| self.points[place * self.dim + axis]);
                let extent = along.fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], x| {
                    [low.min(x), high.max(x)]
                });
                self.boxes.push(extent);
            }
            if end - first > LANES {
                let middle = first + half(end - first);
                open.push((middle, end, Some(me)));
                open.push((first, middle, Some(me)));
            }
        }
    }

    /// Prices of its points.
    pub(super) fn prices(&self, of: impl IntoIterator<Item = f32>) -> Prices {
        let mut padded: Vec<f32> = of.into_iter().collect();
        padded.resize(self.len.div_ceil(LANES) * LANES, FAR);
        let mut prices = Prices { of: padded, least: vec![0.0; self.nodes.len()] };
        self.update(&mut prices);
        prices
    }

    /// Makes the least prices of nodes those of today.
    pub(super) fn update(&self, prices: &mut Prices) {
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let block = node.block as usize * LANES;
            prices.least[at] = if node.left == 0 {
                prices.of[block..block + LANES].iter().copied().fold(f32::INFINITY, f32::min)
            } else {
                prices.least[node.left as usize].min(prices.least[node.right as usize])
            };
        }
    }

    /// For some points of another cloud those of these whose cost + price is least.
    pub(super) fn nearest(&self, from: &Self, rows: &[u32], query: &Query<'_>) -> Vec<Found> {
        if let Some(found) = self.nearest_by_card(from, rows, query) {
            return found;
        }
        let mut found = vec![Found::default(); rows.len()];
        if rows.len() * self.len * (self.dim + SELECTING) <= ALONE {
            nearest_of_some(self, from, rows, query, &mut found);
        } else {
            let share = rows.len().div_ceil(2 * rayon::current_num_threads()).min(TOGETHER);
            let chunks = rows.par_chunks(share).zip(found.par_chunks_mut(share));
            chunks.for_each(|(rows, found)| nearest_of_some(self, from, rows, query, found));
        }
        found
    }

    /// Whether a card looks for so many points.
    fn asks_card(&self, rows: usize, query: &Query<'_>) -> bool {
        let is_long = if self.nodes.is_empty() {
            rows * self.len * self.dim >= FOR_CARD
        } else {
            rows >= ROWS_FOR_CARD
        };
        let asks = |kept: &Arc<Kept>| is_long || kept.card.takes_all();
        query.most <= MOST_BY_CARD && self.kept.as_ref().is_some_and(asks)
    }

    /// The same by a card; nothing where there is none, or where it would take longer.
    fn nearest_by_card(&self, from: &Self, rows: &[u32], query: &Query<'_>) -> Option<Vec<Found>> {
        let (to, from) = (self.kept.as_ref()?, from.kept.as_ref()?);
        if !self.asks_card(rows.len(), query) {
            return None;
        }
        let prices = &query.prices.of[..self.len];
        let search = CardSearch {
            formula: self.formula.name()?,
            from: from.number,
            rows,
            to: to.number,
            prices,
            most: query.most,
            noise: query.noise,
        };
        let Some(found) = to.card.nearest(&search) else {
            // It has failed, so that nobody goes on; until then nothing is known.
            let nothing = Found { limit: f32::NEG_INFINITY, ..Found::default() };
            return Some(vec![nothing; rows.len()]);
        };
        let lists = found.points.chunks_exact(query.most).zip(found.costs.chunks_exact(query.most));
        let lists = lists.zip(&found.limits).map(|((points, costs), &limit)| {
            let listed = points.iter().zip(costs).filter(|(point, _)| **point != u32::MAX);
            // Points of no mass have a price that nobody pays.
            let listed = listed.filter(|(point, _)| prices[**point as usize] < FAR / 2.0);
            let keys =
                listed.map(|(&point, &cost)| (key(cost + prices[point as usize], point), cost));
            let (keys, costs): (Vec<_>, Vec<_>) = keys.unzip();
            let (count, limit) = (keys.len(), limit.min(FAR / 2.0));
            Found { keys, count, costs, limit, ..Found::default() }
        });
        Some(lists.collect())
    }

    /// The same points, all of which are looked at.
    #[cfg(test)]
    pub(super) fn without_boxes(&self) -> Self {
        Self { nodes: Vec::new(), boxes: Vec::new(), ..self.clone() }
    }

    /// As [`nearest`](Self::nearest), some points at a time, for as long as `goes_on` says so; whether it did
    /// to the end.
    pub(super) fn nearest_while(
        &self,
        from: &Self,
        rows: &[u32],
        query: &Query<'_>,
        goes_on: &dyn Fn() -> bool,
        mut hear: impl FnMut(u32, &Found),
    ) -> bool {
        let looks = if self.asks_card(rows.len(), query) {
            usize::MAX
        } else {
            AT_ONCE / (self.len * self.dim)
        };
        let at_once = looks.min(MOST_FOUND / query.most).max(TOGETHER);
        rows.chunks(at_once).all(|rows| {
            if !goes_on() {
                return false;
            }
            let found = self.nearest(from, rows, query);
            rows.iter().zip(&found).for_each(|(&row, found)| hear(row, found));
            true
        })
    }
}

/// Coordinates that are looked through between two questions whether to go on.
const AT_ONCE: usize = 1 << 28;

/// Coordinates from which on a card looks through them sooner, its answer's way included.
const FOR_CARD: usize = 1 << 21;

/// The same where boxes rule out most points: points that look.
const ROWS_FOR_CARD: usize = 256;

/// Points of a list up to which a card looks for them.
pub(super) const MOST_BY_CARD: usize = 128;

/// Points that are found before they are taken.
const MOST_FOUND: usize = 1 << 20;

/// Points that look through a block while it is in the cache.
const TOGETHER: usize = 16;

/// Coordinates that one thread looks through before another would have begun, some tens of microseconds; choosing
/// the least of what was computed takes as long as so many coordinates more.
const ALONE: usize = 1 << 20;
const SELECTING: usize = 48;

/// Coordinates of blocks that stay in the cache.
const TILE: usize = 1 << 14;

for_wide_registers! {
    /// Finds for some points those of a cloud whose cost + price is least.
    nearest_of_some, nearest_of_some_wide,
    (to: &Cloud, from: &Cloud, rows: &[u32], query: &Query<'_>, found: &mut [Found]), {
        match (to.formula, to.halves.is_empty()) {
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
            (Formula::Table, _) => search::<TABLE, false>(to, from, rows, query, found),
        }
    }
}

#[inline(always)]
fn search<const FORMULA: u8, const PERIODIC: bool>(
    to: &Cloud,
    from: &Cloud,
    rows: &[u32],
    query: &Query<'_>,
    found: &mut [Found],
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
    let count = prices.of.len() / LANES;
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

/// Looks through a tree, what is nearer first.
#[inline(always)]
fn descend<const FORMULA: u8, const PERIODIC: bool>(
    to: &Cloud,
    point: &[f32],
    prices: &Prices,
    found: &mut Found,
    open: &mut Vec<(f32, u32)>,
) {
    let bound = |node: u32| {
        let boxes = &to.boxes[node as usize * to.dim..(node as usize + 1) * to.dim];
        let mut sum = 0.0;
        for (k, ([low, high], x)) in boxes.iter().zip(point).enumerate() {
            let mut gap = (low - x).max(x - high).max(0.0);
            if PERIODIC {
                let half = to.halves[k];
                gap = gap.min((half - x.abs()) + (half - low.abs().max(high.abs())));
            }
            add::<FORMULA>(gap, &mut sum);
        }
        let cost = match FORMULA {
            LENGTH => sum.sqrt(),
            ARC | GLOBE => least_arc::<FORMULA>(sum, to.curvature),
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
        // The last one is looked at next.
        open.extend(if left.0 < right.0 { [right, left] } else { [left, right] });
    }
    found.cut();
}

/// What a difference adds to a cost, or raises it to.
#[inline(always)]
fn add<const FORMULA: u8>(difference: f32, cost: &mut f32) {
    match FORMULA {
        ABSOLUTES => *cost += difference.abs(),
        LARGEST => {
            let length = difference.abs();
            *cost = if length > *cost { length } else { *cost };
        }
        _ => *cost += difference * difference,
    }
}

/// What an axis adds to eight costs.
#[inline(always)]
fn add_terms<const FORMULA: u8, const PERIODIC: bool>(
    lanes: &[f32; 8],
    x: f32,
    half: f32,
    cost: &mut [f32; 8],
) {
    for lane in 0..8 {
        let difference =
            if PERIODIC { apart_single(lanes[lane], x, half) } else { lanes[lane] - x };
        add::<FORMULA>(difference, &mut cost[lane]);
    }
}

/// Looks at the points of a block.
#[inline(always)]
fn visit<const FORMULA: u8, const PERIODIC: bool>(
    to: &Cloud,
    block: usize,
    point: &[f32],
    prices: &Prices,
    found: &mut Found,
) {
    let (mut first, mut second) = ([0.0; 8], [0.0; 8]);
    let (mut third, mut fourth) = ([0.0; 8], [0.0; 8]);
    let axes = if FORMULA == TABLE {
        let costs = &point.as_chunks::<8>().0[block * 4..(block + 1) * 4];
        (first, second, third, fourth) = (costs[0], costs[1], costs[2], costs[3]);
        [].iter().zip(point)
    } else {
        to.blocks[block * to.dim..(block + 1) * to.dim].iter().zip(point)
    };
    for (k, (lanes, &x)) in axes.enumerate() {
        let half = if PERIODIC { to.halves[k] } else { f32::INFINITY };
        let [one, two, three, four] = lanes;
        add_terms::<FORMULA, PERIODIC>(one, x, half, &mut first);
        add_terms::<FORMULA, PERIODIC>(two, x, half, &mut second);
        add_terms::<FORMULA, PERIODIC>(three, x, half, &mut third);
        add_terms::<FORMULA, PERIODIC>(four, x, half, &mut fourth);
    }
    let noise = &NOISE[(found.row * 37 + block * 11) % NOISE.len()];
    let mut cost = [first, second, third, fourth];
    let opposite = if FORMULA == GLOBE { opposites(to, block, point) } else { cost };
    let mut value = [[0.0; 8]; 4];
    let mut least = [f32::INFINITY; 8];
    for at in 0..4 {
        let prices = &prices.of.as_chunks::<8>().0[block * 4 + at];
        for lane in 0..8 {
            cost[at][lane] = match FORMULA {
                LENGTH => cost[at][lane].sqrt(),
                ARC => arc(cost[at][lane], to.curvature),
                GLOBE => arc_on_globe(cost[at][lane], opposite[at][lane]),
                _ => cost[at][lane],
            };
            value[at][lane] = cost[at][lane] + prices[lane] + noise[at][lane] * found.noise;
            least[lane] = if value[at][lane] < least[lane] { value[at][lane] } else { least[lane] };
        }
    }
    let mut any = false;
    for least in least {
        any |= least < found.limit;
    }
    if any {
        found.take(block, &value);
    }
}

/// The squares of the sums of a vector and those of a block.
#[inline(always)]
fn opposites(to: &Cloud, block: usize, point: &[f32]) -> Lanes {
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

/// Random numbers below 1.
static NOISE: [Lanes; 256] = {
    let mut out = [[[0.0; 8]; LANES / 8]; 256];
    let (mut k, mut state) = (0, 0x9e37_79b9_7f4a_7c15u64);
    while k < 256 * LANES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        out[k / LANES][k % LANES / 8][k % 8] = (state >> 40) as f32 / (1u64 << 24) as f32;
        k += 1;
    }
    out
};

/// Where the second half of so many points begins: at a whole block.
fn half(count: usize) -> usize {
    let middle = (count / 2).next_multiple_of(LANES);
    if middle < count { middle } else { middle - LANES }
}

/// Puts points in the order of a k-d tree.
fn split<'a>(order: &mut [u32], dim: usize, point: &(impl Fn(u32) -> &'a [f64] + Sync)) {
    if order.len() <= LANES {
        return;
    }
    // One point after the other: a look at all of them for every axis would fetch each as many times.
    let mut extents = vec![[f64::INFINITY, f64::NEG_INFINITY]; dim];
    for &place in &*order {
        for ([low, high], &x) in extents.iter_mut().zip(point(place)) {
            (*low, *high) = (low.min(x), high.max(x));
        }
    }
    let extents = extents.into_iter().map(|[low, high]| high - low).zip(0..);
    let axis = extents.max_by(|a, b| a.0.total_cmp(&b.0)).map_or(0, |widest| widest.1);
    let middle = half(order.len());
    let by_axis = |a: &u32, b: &u32| point(*a)[axis].total_cmp(&point(*b)[axis]).then(a.cmp(b));
    order.select_nth_unstable_by(middle, by_axis);
    let is_long = order.len() > IN_PARALLEL;
    let (left, right) = order.split_at_mut(middle);
    if is_long {
        rayon::join(|| split(left, dim, point), || split(right, dim, point));
    } else {
        split(left, dim, point);
        split(right, dim, point);
    }
}

/// Points from which on both halves are put in order at the same time.
const IN_PARALLEL: usize = 1 << 14;
