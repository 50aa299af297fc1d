//! Coarsening of large trees: subtrees that no label depends on are not learned.
//!
//! A point is *used* if a labeled measure has mass there. In a subtree with at most one used
//! point, labels depend only on the length of the path from that point to the subtree's parent. The
//! subtree therefore becomes one leaf at the depth of that point, and all labeled distances are
//! unchanged. A tree without long chains shrinks to a few leaves per used point; a tree that does
//! not shrink to half its size is learned without coarsening. After learning, each subtree replaces
//! its leaf, rescaled like the learned tree and attached so that the used point has the learned
//! depth. Unused points move with their subtree.

use super::{LearnOptions, Learned};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::measures::Measures;
use crate::progress::silent;
use crate::tree::Tree;

/// Largest number of points of trees that are learned without coarsening.
const MOST_UNCOARSENED: usize = 20_000;

const NONE: u32 = u32::MAX;

/// A tree whose leaves represent subtrees of a larger one.
pub(super) struct CoarseTree {
    pub(super) tree: Tree,
    subtrees: Vec<Subtree>,
    /// Leaf of every used point; `NONE` for other points.
    leaf: Vec<u32>,
}

/// Subtree that a leaf represents.
#[derive(Clone, Copy)]
struct Subtree {
    /// Topmost node.
    top: u32,
    /// Used point, or any point if none is used.
    point: u32,
    /// Length of the path from that point to the top.
    path_length: f64,
}

impl CoarseTree {
    /// Coarsens a large tree. `None` if the tree is small, or if the result would be over half as
    /// large.
    pub(super) fn of(start: &Tree, parts: &[&Labeled]) -> Result<Option<Self>> {
        if start.leaves() <= MOST_UNCOARSENED {
            return Ok(None);
        }
        let coarse = Self::new(start, &used(start.leaves(), parts))?;
        Ok(coarse.filter(|coarse| coarse.subtrees.len() < start.leaves() / 2))
    }

    /// Coarsens a tree; `None` if fewer than two points are used.
    fn new(start: &Tree, used: &[bool]) -> Result<Option<Self>> {
        let (parent, length) = (start.parents(), start.lengths());
        let (nodes, leaves, root) = (start.nodes(), start.leaves(), start.root());
        // For each node: number of used points below, one of them, and the path to it.
        let mut count = vec![0u32; nodes];
        let mut point = vec![NONE; nodes];
        let mut path_length = vec![0.0; nodes];
        for v in 0..root {
            if v < leaves {
                (count[v], point[v]) = (u32::from(used[v]), v as u32);
            }
            let p = parent[v] as usize;
            if point[p] == NONE || (count[p] == 0 && count[v] > 0) {
                (point[p], path_length[p]) = (point[v], path_length[v] + length[v]);
            }
            count[p] += count[v];
        }
        if count[root] < 2 {
            return Ok(None);
        }
        let is_top = |v: usize| v != root && count[v] < 2 && count[parent[v] as usize] >= 2;
        let subtree =
            |v: usize| Subtree { top: v as u32, point: point[v], path_length: path_length[v] };
        let mut subtrees: Vec<Subtree> = (0..root).filter(|&v| is_top(v)).map(subtree).collect();
        // By point, so that rows of measures stay sorted.
        subtrees.sort_unstable_by_key(|subtree| subtree.point);
        let mut number = vec![NONE; nodes];
        subtrees.iter().zip(0..).for_each(|(subtree, k)| number[subtree.top as usize] = k);
        let inner = (leaves..nodes).filter(|&v| count[v] >= 2);
        inner.zip(subtrees.len() as u32..).for_each(|(v, k)| number[v] = k);
        let mut new_parent = vec![0; subtrees.len()];
        let mut new_length = vec![0.0; subtrees.len()];
        for (k, &Subtree { top, path_length, .. }) in subtrees.iter().enumerate() {
            new_parent[k] = number[parent[top as usize] as usize];
            new_length[k] = path_length + length[top as usize];
        }
        for v in (leaves..nodes).filter(|&v| count[v] >= 2) {
            new_parent.push(number[parent[v] as usize]);
            new_length.push(length[v]);
        }
        let tree = Tree::new(subtrees.len(), new_parent, new_length)?;
        let mut leaf = vec![NONE; leaves];
        subtrees.iter().zip(0..).for_each(|(subtree, k)| leaf[subtree.point as usize] = k);
        Ok(Some(Self { tree, subtrees, leaf }))
    }

    /// Converts labels from points to leaves.
    pub(super) fn labeled(&self, data: &Labeled) -> Result<Labeled> {
        // Only measures with a label: labeled pairs of points use few of many measures.
        let mut number = vec![NONE; data.measures().len()];
        let mut rows: Vec<Vec<(usize, f64)>> = Vec::new();
        let mut row = |r: usize| {
            if number[r] == NONE {
                number[r] = rows.len() as u32;
                let leaf = |(point, mass): (usize, f64)| (self.leaf[point] as usize, mass);
                rows.push(data.measures().row(r).iter().map(leaf).collect());
            }
            number[r] as usize
        };
        let pairs = data.pairs().iter().map(|&(i, j)| (row(i), row(j))).collect();
        let measures = Measures::from_rows(self.tree.leaves(), rows)?;
        Labeled::new_or_empty(&measures, pairs, data.distances().to_vec())
    }

    /// Replaces the leaves of the learned tree by the subtrees of `start`.
    pub(super) fn refined(
        &self,
        learned: Learned,
        start: &Tree,
        train: &Labeled,
        options: &LearnOptions,
    ) -> Result<Learned> {
        let factor = if options.scale {
            train.factor(&self.tree.pairs(train.measures(), train.pairs(), &silent)?)
        } else {
            1.0
        };
        let tree = self.expanded(&learned.tree, start, factor)?.named_as(start)?;
        Ok(Learned { tree, ..learned })
    }

    fn expanded(&self, learned: &Tree, start: &Tree, factor: f64) -> Result<Tree> {
        let scale: Vec<f64> = self
            .subtrees
            .iter()
            .zip(learned.lengths())
            // A subtree deeper than the learned depth shrinks as a whole and stays ultrametric.
            .map(|(subtree, l)| {
                if subtree.path_length > 0.0 { factor.min(l / subtree.path_length) } else { factor }
            })
            .collect();
        // Subtree of every node of the start.
        let mut of = vec![NONE; start.nodes()];
        self.subtrees.iter().zip(0..).for_each(|(subtree, k)| of[subtree.top as usize] = k);
        for v in (0..start.root()).rev() {
            if of[v] == NONE {
                of[v] = of[start.parents()[v] as usize];
            }
        }
        // Nodes of subtrees first, then the inner nodes of the learned tree.
        let mut number = vec![0; start.nodes()];
        let inside: Vec<usize> = (0..start.nodes()).filter(|&v| of[v] != NONE).collect();
        inside.iter().enumerate().for_each(|(at, &v)| number[v] = at);
        let above = |v: usize| inside.len() + v - learned.leaves();
        let nodes = inside.len() + learned.nodes() - learned.leaves();
        let (mut parent, mut length) = (Vec::with_capacity(nodes), Vec::with_capacity(nodes));
        for &v in &inside {
            let k = of[v] as usize;
            let Subtree { top, path_length, .. } = self.subtrees[k];
            if top as usize == v {
                parent.push(Some(above(learned.parents()[k] as usize)));
                length.push((learned.lengths()[k] - scale[k] * path_length).max(0.0));
            } else {
                parent.push(Some(number[start.parents()[v] as usize]));
                length.push(scale[k] * start.lengths()[v]);
            }
        }
        for v in learned.leaves()..learned.nodes() {
            parent.push((v != learned.root()).then(|| above(learned.parents()[v] as usize)));
            length.push(learned.lengths()[v]);
        }
        let point: Vec<Option<usize>> =
            (0..nodes).map(|at| inside.get(at).copied().filter(|v| *v < start.leaves())).collect();
        Tree::from_unordered(&parent, &length, &point)
    }
}

/// Returns which points have mass in a labeled measure.
fn used(points: usize, parts: &[&Labeled]) -> Vec<bool> {
    let mut used = vec![false; points];
    for data in parts {
        let rows = data.pairs().iter().flat_map(|&(i, j)| [i, j]);
        for row in rows {
            data.measures()
                .row(row)
                .support()
                .iter()
                .for_each(|&point| used[point as usize] = true);
        }
    }
    used
}

#[cfg(test)]
mod tests {
    use rand::RngExt;

    use super::*;
    use crate::build::{Linkage, linkage};
    use crate::metric::{GroundMetric, PointMetric};
    use crate::numeric::seed::generator;

    fn problem(n: usize, seed: u64) -> (Tree, Labeled) {
        let mut rng = generator(seed);
        let coordinates = (0..2 * n).map(|_| rng.random()).collect();
        let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
        let start = linkage(&metric, Linkage::Average, &crate::silent).unwrap();
        let mut row = || (0..4).map(|_| (rng.random_range(0..n), 0.25)).collect::<Vec<_>>();
        let measures = Measures::from_rows(n, [row(), row(), row(), row()]).unwrap();
        let data = Labeled::sample(&metric, &measures, 6, 0, &silent).unwrap();
        (start, data)
    }

    fn coarse(start: &Tree, data: &Labeled) -> CoarseTree {
        CoarseTree::new(start, &used(start.leaves(), &[data])).unwrap().unwrap()
    }

    #[test]
    fn labeled_distances_stay() {
        for seed in 0..20 {
            let (start, data) = problem(60, seed);
            let coarse = coarse(&start, &data);
            let few = coarse.labeled(&data).unwrap();
            assert!(coarse.tree.leaves() < 60 && coarse.tree.is_ultrametric());
            let original = start.pairs(data.measures(), data.pairs(), &silent).unwrap();
            let part = coarse.tree.pairs(few.measures(), few.pairs(), &silent).unwrap();
            for (a, b) in original.iter().zip(part) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
    }

    #[test]
    fn unlearned_it_comes_back_as_it_was() {
        for seed in 0..20 {
            let (start, data) = problem(60, seed);
            let coarse = coarse(&start, &data);
            let refined = coarse.expanded(&coarse.tree.scaled(3.0).unwrap(), &start, 3.0).unwrap();
            for i in 0..60 {
                for j in 0..60 {
                    let (a, b) = (refined.leaf_distance(i, j), 3.0 * start.leaf_distance(i, j));
                    assert!((a - b).abs() < 1e-12, "{a} {b}");
                }
            }
        }
    }

    /// Labeled distances are always those of the learned tree.
    #[test]
    fn learned_distances_survive() {
        for seed in 0..20 {
            let (start, data) = problem(60, seed);
            let coarse = coarse(&start, &data);
            let few = coarse.labeled(&data).unwrap();
            let mut rng = generator(seed);
            let mut lengths = coarse.tree.lengths().to_vec();
            for length in &mut lengths {
                *length *= rng.random_range(0.0..2.0);
            }
            let parents = coarse.tree.parents().to_vec();
            let changed = Tree::new(coarse.tree.leaves(), parents, lengths).unwrap();
            let refined = coarse.expanded(&changed, &start, 1.0).unwrap();
            let refined = refined.pairs(data.measures(), data.pairs(), &silent).unwrap();
            let part = changed.pairs(few.measures(), few.pairs(), &silent).unwrap();
            for (a, b) in refined.iter().zip(part) {
                assert!((a - b).abs() < 1e-12, "{a} {b}");
            }
        }
    }
}
