//! Sinks in a k-d tree, searched by cost and by a tag that every sink carries.

use crate::metric::{GroundMetric, MapCoordinates, PointMetric};
use crate::numeric::rounding::{double, sum_roundings};

/// Sinks that are found by a limit of their cost and by their tag.
///
/// The tree excludes nodes none of whose sinks has the tag, and in few dimensions nodes whose
/// bounding box is beyond the limit. A spare sink, the last one, is outside the tree.
pub(in crate::solve) struct SinkTree<'a> {
    cost: Box<dyn Fn(usize, usize) -> f64 + 'a>,
    sources: usize,
    /// Whether the last source and the last sink are spares.
    has_spares: bool,
    points: Option<Boxes<'a>>,
    /// Sinks in the order of the tree.
    order: Vec<u32>,
    nodes: Vec<Node>,
    /// Tags of all sinks.
    pub(super) tags: Vec<u32>,
    /// Leaf of every sink in the tree.
    leaf: Vec<u32>,
    open: Vec<u32>,
}

/// Coordinates of sources and sinks with the bounding boxes of all nodes.
struct Boxes<'a> {
    metric: PointMetric,
    dim: usize,
    vectors: &'a [f64],
    sources: &'a [usize],
    /// Least and largest coordinates of each node.
    extents: Vec<[f64; 2]>,
}

struct Node {
    first: u32,
    end: u32,
    parent: u32,
    /// Left and right child, or 0 for a leaf.
    children: [u32; 2],
    /// Least and largest tag of the sinks.
    tags: [u32; 2],
}

/// The parent of the root.
const NONE: u32 = u32::MAX;

/// Most sinks of a leaf.
const LEAF: usize = 8;

impl<'a> SinkTree<'a> {
    pub(super) fn new(
        cost: Box<dyn Fn(usize, usize) -> f64 + 'a>,
        [sources, sinks]: [usize; 2],
        has_spares: bool,
        points: Option<(&'a GroundMetric, [&'a [usize]; 2])>,
    ) -> Self {
        let count = sinks - usize::from(has_spares);
        let mut order: Vec<u32> = (0..count as u32).collect();
        let boxed = points.and_then(|(metric, [of_sources, of_sinks])| {
            let kind = metric.point_metric()?;
            let is_plain =
                kind.map_coordinates() == MapCoordinates::Plane && metric.period().is_none();
            let (dim, vectors) = metric.vectors().filter(|_| is_plain)?;
            let boxes =
                Boxes { metric: kind, dim, vectors, sources: of_sources, extents: Vec::new() };
            Some((boxes, of_sinks))
        });
        let (mut points, of_sinks) =
            boxed.map_or((None, &[][..]), |(boxes, sinks)| (Some(boxes), sinks));
        let (mut nodes, mut leaf) = (Vec::new(), vec![0; count]);
        let mut open = vec![(0, count, NONE)];
        while let Some((first, end, parent)) = open.pop() {
            let me = nodes.len() as u32;
            nodes.push(Node {
                first: first as u32,
                end: end as u32,
                parent,
                children: [0; 2],
                tags: [0; 2],
            });
            if parent != NONE {
                let Node { children, .. } = &mut nodes[parent as usize];
                children[usize::from(children[0] != 0)] = me;
            }
            let axis = points.as_mut().and_then(|boxes| boxes.extend(of_sinks, &order[first..end]));
            if end - first <= LEAF {
                order[first..end].iter().for_each(|&sink| leaf[sink as usize] = me);
                continue;
            }
            let middle = (end - first) / 2;
            if let (Some(axis), Some(boxes)) = (axis, &points) {
                let along = |sink: &u32| boxes.vectors[of_sinks[*sink as usize] * boxes.dim + axis];
                order[first..end].select_nth_unstable_by(middle, |a, b| {
                    along(a).total_cmp(&along(b)).then(a.cmp(b))
                });
            }
            open.push((first + middle, end, me));
            open.push((first, first + middle, me));
        }
        let (tags, open) = (vec![0; sinks], Vec::new());
        Self { cost, sources, has_spares, points, order, nodes, tags, leaf, open }
    }

    /// Sets the tags of all sinks to 0.
    pub(super) fn reset(&mut self) {
        self.tags.fill(0);
        self.nodes.iter_mut().for_each(|node| node.tags = [0; 2]);
    }

    /// Sets the tag of a sink.
    pub(super) fn set_tag(&mut self, sink: usize, tag: u32) {
        self.tags[sink] = tag;
        let Some(&leaf) = self.leaf.get(sink) else { return };
        let mut at = leaf;
        while at != NONE {
            let Node { first, end, children, .. } = self.nodes[at as usize];
            let of = |child: u32| self.nodes[child as usize].tags;
            let tags = if children[0] == 0 {
                let tags = self.order[first as usize..end as usize].iter();
                let tags = tags.map(|&sink| self.tags[sink as usize]);
                tags.fold([u32::MAX, 0], |[low, high], tag| [low.min(tag), high.max(tag)])
            } else {
                let [one, other] = children.map(of);
                [one[0].min(other[0]), one[1].max(other[1])]
            };
            let node = &mut self.nodes[at as usize];
            if node.tags == tags {
                return;
            }
            node.tags = tags;
            at = node.parent;
        }
    }

    /// Finds a sink with a tag that a source reaches at a cost of at most `limit`.
    pub(super) fn within(&mut self, source: usize, limit: f64, tag: u32) -> Option<usize> {
        let spare = self.tags.len() - 1;
        if self.has_spares && self.tags[spare] == tag && (self.cost)(source, spare) <= limit {
            return Some(spare);
        }
        self.search(source, limit, tag, false).map(|found| found.0)
    }

    /// Returns the least cost from a source to the sinks with a tag, if below `limit`; else `limit`.
    pub(super) fn nearest(&mut self, source: usize, tag: u32, limit: f64) -> f64 {
        let spare = self.tags.len() - 1;
        let mut limit = limit;
        if self.has_spares && self.tags[spare] == tag {
            limit = limit.min((self.cost)(source, spare));
        }
        self.search(source, limit, tag, true).map_or(limit, |found| found.1.min(limit))
    }

    /// Returns the least cost from some sources to the sinks with tag 0.
    pub(super) fn least_beyond(&mut self, sources: &[bool]) -> f64 {
        let mut least = f64::INFINITY;
        for source in (0..sources.len()).filter(|&source| sources[source]) {
            least = self.nearest(source, 0, least);
        }
        least
    }

    /// Searches the tree for the nearest sink with a tag, or for any one, up to a limit.
    fn search(
        &mut self,
        source: usize,
        mut limit: f64,
        tag: u32,
        is_nearest: bool,
    ) -> Option<(usize, f64)> {
        let is_spare = self.has_spares && source + 1 == self.sources;
        let boxes = self.points.as_ref().filter(|_| !is_spare);
        let mut found = None;
        self.open.clear();
        self.open.push(0);
        while let Some(at) = self.open.pop() {
            let node = &self.nodes[at as usize];
            if !(node.tags[0]..=node.tags[1]).contains(&tag) {
                continue;
            }
            if boxes.is_some_and(|boxes| boxes.least(source, at) > limit) {
                continue;
            }
            if node.children[0] != 0 {
                self.open.extend(node.children);
                continue;
            }
            for &sink in &self.order[node.first as usize..node.end as usize] {
                let sink = sink as usize;
                if self.tags[sink] != tag {
                    continue;
                }
                let cost = (self.cost)(source, sink);
                if cost <= limit {
                    found = Some((sink, cost));
                    if !is_nearest {
                        return found;
                    }
                    limit = cost;
                }
            }
        }
        found
    }
}

impl Boxes<'_> {
    /// Appends the bounding box of some sinks; returns its longest axis.
    fn extend(&mut self, of_sinks: &[usize], sinks: &[u32]) -> Option<usize> {
        let mut longest = (None, f64::NEG_INFINITY);
        for axis in 0..self.dim {
            let along =
                sinks.iter().map(|&sink| self.vectors[of_sinks[sink as usize] * self.dim + axis]);
            let extent = along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| {
                [low.min(x), high.max(x)]
            });
            if extent[1] - extent[0] > longest.1 {
                longest = (Some(axis), extent[1] - extent[0]);
            }
            self.extents.push(extent);
        }
        longest.0
    }

    /// Returns a lower bound of the costs from a source to the sinks of a node: the distance to the
    /// nearest point of its box.
    fn least(&self, source: usize, node: u32) -> f64 {
        let point = &self.vectors[self.sources[source] * self.dim..][..self.dim];
        let extents = &self.extents[node as usize * self.dim..][..self.dim];
        let mut nearest = [0.0; MOST_BOXED];
        if self.dim > MOST_BOXED {
            return 0.0;
        }
        for ((near, &x), &[low, high]) in nearest.iter_mut().zip(point).zip(extents) {
            *near = x.max(low).min(high);
        }
        let least = self.metric.between(point, &nearest[..self.dim], None);
        // The bound and the cost were rounded.
        least * (1.0 - double(4 * sum_roundings(self.dim)))
    }
}

/// Largest number of coordinates for which bounding boxes exclude points.
const MOST_BOXED: usize = 8;
