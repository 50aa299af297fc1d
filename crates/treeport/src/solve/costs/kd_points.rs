//! Points in single precision, laid out for searches by least cost + price.
//!
//! Coordinates are in a [`Frame`]; blocks of thirty-two points are stored axis by axis, so that one
//! point is compared with thirty-two others at once. In few dimensions the points are in the order
//! of a k-d tree, whose nodes have the bounding boxes of their points: a search skips a node whose
//! box and least price are beyond its limit.

use super::candidates::{CLOSED, LANES, Lanes, Prices};
use crate::metric::GroundMetric;
use crate::metric::kernels::formulas::CostFormula;
use crate::metric::kernels::frame::Frame;

/// Largest number of coordinates for which bounding boxes rule out most points.
pub(super) const MOST_BOXED: usize = 8;

/// Largest absolute coordinate in single precision, to which those of far points are clamped.
const LARGEST: f32 = 2.0;

/// Node of the tree over blocks; a leaf has no children.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// Left child, or 0 for a leaf.
    pub(super) left: u32,
    pub(super) right: u32,
    pub(super) block: u32,
}

/// Points in the order of a k-d tree, as sources and as sinks of distances.
#[derive(Clone, Debug)]
pub(super) struct KdPoints {
    pub(super) formula: CostFormula,
    pub(super) dim: usize,
    pub(super) len: usize,
    /// Coordinates in point-major order.
    pub(super) points: Vec<f32>,
    /// Blocks of [`LANES`] points, axis by axis.
    pub(super) blocks: Vec<Lanes>,
    /// Nodes, parents first; empty where boxes rule out little.
    pub(super) nodes: Vec<Node>,
    /// Bounding boxes of the nodes, axis by axis.
    pub(super) boxes: Vec<[f32; 2]>,
}

impl KdPoints {
    /// Lays out the given points of a metric, in their order.
    pub(super) fn new(
        frame: &Frame,
        formula: &CostFormula,
        metric: &GroundMetric,
        places: &[usize],
    ) -> Self {
        let (dim, vectors) = metric.vectors().unwrap_or((1, &[]));
        let mut rounded = vec![0.0; places.len() * dim];
        for (&place, out) in places.iter().zip(rounded.chunks_exact_mut(dim)) {
            frame.round(&vectors[place * dim..(place + 1) * dim], out);
            for x in out {
                *x = x.clamp(-LARGEST, LARGEST);
            }
        }
        Self::of_rounded(formula.clone(), dim, rounded)
    }

    /// Lays out the given points of this layout.
    pub(super) fn some(&self, places: &[u32]) -> Self {
        let rows = places.iter().flat_map(|&place| self.point(place as usize));
        Self::of_rounded(self.formula.clone(), self.dim, rows.copied().collect())
    }

    fn of_rounded(formula: CostFormula, dim: usize, points: Vec<f32>) -> Self {
        let len = points.len() / dim;
        // At any price, padding lanes are beyond all limits.
        let mut blocks = vec![[[CLOSED; 8]; LANES / 8]; len.div_ceil(LANES) * dim];
        for (place, point) in points.chunks_exact(dim).enumerate() {
            for (axis, &x) in point.iter().enumerate() {
                blocks[place / LANES * dim + axis][place % LANES / 8][place % 8] = x;
            }
        }
        let (nodes, boxes) = (Vec::new(), Vec::new());
        let mut laid_out = Self { formula, dim, len, points, blocks, nodes, boxes };
        if dim <= MOST_BOXED {
            laid_out.grow_tree();
        }
        laid_out
    }

    pub(super) fn point(&self, place: usize) -> &[f32] {
        &self.points[place * self.dim..(place + 1) * self.dim]
    }

    /// Computes the cost between a point and another one, bit for bit as a scan does.
    pub(super) fn cost(&self, place: usize, others: &Self, other: usize) -> f32 {
        self.formula.cost(self.point(place), others.point(other))
    }

    /// Adds the nodes, with their boxes, for the current order of the points.
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

    /// Creates prices of all points.
    pub(super) fn prices(&self, of: Vec<f32>) -> Prices {
        let mut prices = Prices::padded(of);
        prices.least = vec![0.0; self.nodes.len()];
        self.refresh(&mut prices);
        prices
    }

    /// Updates the least price of every node.
    pub(super) fn refresh(&self, prices: &mut Prices) {
        for (at, node) in self.nodes.iter().enumerate().rev() {
            let block = node.block as usize * LANES;
            prices.least[at] = if node.left == 0 {
                prices.of[block..block + LANES].iter().copied().fold(f32::INFINITY, f32::min)
            } else {
                prices.least[node.left as usize].min(prices.least[node.right as usize])
            };
        }
    }

    /// Returns the points without boxes, so that every scan reads all of them.
    #[cfg(test)]
    pub(super) fn without_boxes(&self) -> Self {
        Self { nodes: Vec::new(), boxes: Vec::new(), ..self.clone() }
    }
}

/// Returns the order of the given points of a metric in a k-d tree: neighbors follow each other.
pub(in crate::solve) fn order(metric: &GroundMetric, points: &[usize]) -> Vec<u32> {
    let (dim, vectors) = metric.vectors().unwrap_or((1, &[]));
    order_of(points.len(), dim, |place| &vectors[points[place as usize] * dim..][..dim])
}

/// Returns the order of `count` vectors in a k-d tree.
pub(super) fn order_of<'a>(
    count: usize,
    dim: usize,
    vector: impl Fn(u32) -> &'a [f64] + Sync,
) -> Vec<u32> {
    let mut order: Vec<u32> = (0..count as u32).collect();
    split(&mut order, dim, &vector);
    order
}

/// Returns the start of the second half of `count` points, at a whole block.
fn half(count: usize) -> usize {
    let middle = (count / 2).next_multiple_of(LANES);
    if middle < count { middle } else { middle - LANES }
}

/// Splits points recursively at the median of their widest axis.
fn split<'a>(order: &mut [u32], dim: usize, point: &(impl Fn(u32) -> &'a [f64] + Sync)) {
    if order.len() <= LANES {
        return;
    }
    // One pass in point-major order: a pass per axis would fetch every point once for each axis.
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

/// Number of points from which both halves are split in parallel.
const IN_PARALLEL: usize = 1 << 14;
