//! Agglomerative clustering by the nearest-neighbor chain algorithm.
//!
//! A chain goes from a cluster to its nearest neighbor, and on, until two clusters are mutual
//! nearest neighbors; these merge. In average, complete and Ward linkage a merged cluster is never
//! nearer to others than its parts were. The rest of the chain therefore stays a chain, and the
//! merges are those of the algorithm that always merges the globally nearest pair (Müllner, *Modern
//! hierarchical, agglomerative clustering algorithms*, 2011). The distances are overwritten.
//!
//! Ties go to the previous cluster of the chain, else to the smaller number; a merged cluster has
//! the number of its second part. When half of the clusters are merged the matrix is compacted, so
//! that reads stay contiguous.

use std::ops::{Add, Div, Mul, Sub};

use crate::build::binary::BinaryTree;
use crate::error::Result;
use crate::metric::condensed::row_start;
use crate::progress::Counter;
use crate::tools::disjoint_sets::DisjointSets;

/// Lance–Williams update of the distance to a merged cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeRule {
    Average,
    Complete,
    /// For squared distances.
    Ward,
}

/// Floating-point types: `f32` or `f64`.
pub(super) trait Real:
    Copy
    + PartialOrd
    + Into<f64>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    const INFINITE: Self;

    fn of(count: u32) -> Self;
}

impl Real for f32 {
    const INFINITE: Self = Self::INFINITY;

    fn of(count: u32) -> Self {
        count as f32
    }
}

impl Real for f64 {
    const INFINITE: Self = Self::INFINITY;

    fn of(count: u32) -> Self {
        Self::from(count)
    }
}

/// Merges per progress report: a few milliseconds with many points.
const MERGES_PER_REPORT: usize = 16;

/// Computes the tree of all merges, each at its distance (for Ward: squared). Counts merges.
pub(super) fn tree<T: Real>(
    n: usize,
    distances: &mut [T],
    rule: MergeRule,
    merges: &Counter<'_>,
) -> Result<BinaryTree> {
    let mut clusters = Clusters::new(n, distances);
    let mut chain: Vec<u32> = Vec::new();
    let mut steps: Vec<(T, u32, u32)> = Vec::with_capacity(n - 1);
    for merged in 1..n {
        let (a, b, distance) = clusters.walk(&mut chain);
        steps.push((distance, clusters.point[a], clusters.point[b]));
        clusters.merge(a, b, distance, rule);
        if clusters.active.len() <= clusters.size.len() / 2 {
            clusters.compact(&mut chain);
        }
        if merged % MERGES_PER_REPORT == 0 {
            merges.add(MERGES_PER_REPORT)?;
        }
    }
    // Stable, so that merges at equal distances keep their order.
    steps.sort_by(|x, y| x.0.partial_cmp(&y.0).expect("distances are numbers"));
    Ok(tree_of_merges(n, &steps))
}

/// Builds the tree of merges in this order; a merge names one point of each of its two clusters.
fn tree_of_merges<T: Real>(n: usize, steps: &[(T, u32, u32)]) -> BinaryTree {
    let mut sets = DisjointSets::new(n);
    let mut top: Vec<u32> = (0..n as u32).collect();
    let mut tree = BinaryTree::with_leaves(vec![0.0; n]);
    for &(distance, a, b) in steps {
        let (a, b) = (sets.find(a), sets.find(b));
        let (left, right) = (top[a as usize], top[b as usize]);
        top[a as usize] = tree.join(left.min(right), left.max(right), distance.into());
        sets.join(a, b);
    }
    tree
}

/// Clusters by index, and the distances between them in condensed order.
struct Clusters<'a, T> {
    distances: &'a mut [T],
    /// Number of points of every cluster, merged ones included.
    size: Vec<u32>,
    /// A point of every cluster.
    point: Vec<u32>,
    /// Indices of clusters that are not merged yet, increasing.
    active: Vec<u32>,
}

impl<'a, T: Real> Clusters<'a, T> {
    fn new(n: usize, distances: &'a mut [T]) -> Self {
        let all: Vec<u32> = (0..n as u32).collect();
        Self { distances, size: vec![1; n], point: all.clone(), active: all }
    }

    /// Returns the offset of row `i`: its distance to a later cluster `j` is at the offset plus
    /// `j`.
    #[inline]
    fn row(&self, i: usize) -> usize {
        // Row 0 starts with column 1: the difference wraps around and back.
        row_start(self.size.len(), i).wrapping_sub(i + 1)
    }

    #[inline]
    fn at(&self, i: usize, j: usize) -> T {
        self.distances[self.row(i.min(j)).wrapping_add(i.max(j))]
    }

    /// Follows nearest neighbors from the end of the chain, or from the first cluster, to a pair of
    /// mutual nearest neighbors. Removes them from the chain; returns them, the smaller index
    /// first, and their distance.
    fn walk(&self, chain: &mut Vec<u32>) -> (usize, usize, T) {
        // The nearest neighbor of the chain's end may have merged since, so it is searched again.
        let mut here = chain.pop().unwrap_or(self.active[0]) as usize;
        let mut from = chain.last().map(|&place| place as usize);
        loop {
            let came = from.map(|from| (from, self.at(from, here)));
            let (next, distance) = self.nearest(here, came);
            if Some(next) == from {
                chain.pop();
                return (here.min(next), here.max(next), distance);
            }
            chain.push(here as u32);
            (from, here) = (Some(here), next);
        }
    }

    /// Finds the nearest neighbor; ties go to `best`.
    fn nearest(&self, here: usize, best: Option<(usize, T)>) -> (usize, T) {
        let (mut nearest, mut least) = best.unwrap_or((usize::MAX, T::INFINITE));
        let at = self.active.partition_point(|&place| (place as usize) < here);
        for &other in &self.active[..at] {
            let distance = self.distances[self.row(other as usize).wrapping_add(here)];
            if distance < least {
                (nearest, least) = (other as usize, distance);
            }
        }
        let row = &self.distances[row_start(self.size.len(), here)..];
        for &other in &self.active[at + 1..] {
            let distance = row[other as usize - here - 1];
            if distance < least {
                (nearest, least) = (other as usize, distance);
            }
        }
        (nearest, least)
    }

    /// Merges a < b into b.
    fn merge(&mut self, a: usize, b: usize, distance: T, rule: MergeRule) {
        let gone = self.active.partition_point(|&place| (place as usize) < a);
        self.active.remove(gone);
        let [size_a, size_b] = [a, b].map(|place| T::of(self.size[place]));
        let both = size_a + size_b;
        match rule {
            MergeRule::Average => {
                self.update(a, b, |_, x, y| (size_a * x + size_b * y) / both);
            }
            MergeRule::Complete => self.update(a, b, |_, x, y| if x > y { x } else { y }),
            MergeRule::Ward => self.update(a, b, |size, x, y| {
                let size = T::of(size);
                ((size + size_a) * x + (size + size_b) * y - size * distance) / (both + size)
            }),
        }
        self.size[b] += self.size[a];
    }

    /// Updates every distance to b from the other cluster's size and its distances to a and b.
    #[inline]
    fn update(&mut self, a: usize, b: usize, value: impl Fn(u32, T, T) -> T) {
        let (row_a, row_b) = (self.row(a), self.row(b));
        for k in 0..self.active.len() {
            let other = self.active[k] as usize;
            if other == b {
                continue;
            }
            let row = self.row(other);
            let to_a = if other < a { row.wrapping_add(a) } else { row_a.wrapping_add(other) };
            let to_b = if other < b { row.wrapping_add(b) } else { row_b.wrapping_add(other) };
            self.distances[to_b] =
                value(self.size[other], self.distances[to_a], self.distances[to_b]);
        }
    }

    /// Removes merged clusters from the matrix; the others keep their order.
    fn compact(&mut self, chain: &mut [u32]) {
        let mut free = 0;
        for (k, &i) in self.active.iter().enumerate() {
            let row = self.row(i as usize);
            for &j in &self.active[k + 1..] {
                self.distances[free] = self.distances[row.wrapping_add(j as usize)];
                free += 1;
            }
        }
        let place = |old: u32| {
            self.active.binary_search(&old).expect("clusters of a chain are active") as u32
        };
        for old in chain.iter_mut() {
            *old = place(*old);
        }
        for (k, &old) in self.active.iter().enumerate() {
            self.size[k] = self.size[old as usize];
            self.point[k] = self.point[old as usize];
        }
        let count = self.active.len();
        self.size.truncate(count);
        self.point.truncate(count);
        self.active = (0..count as u32).collect();
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::progress::silent;
    use crate::progress::tasks::BUILDING;

    const RULES: [(MergeRule, kodama::Method); 3] = [
        (MergeRule::Average, kodama::Method::Average),
        (MergeRule::Complete, kodama::Method::Complete),
        (MergeRule::Ward, kodama::Method::Ward),
    ];

    /// Children and heights of all merges by `kodama`, which squares distances for Ward itself.
    fn judge<T: kodama::Float + Into<f64>>(
        n: usize,
        mut distances: Vec<T>,
        method: kodama::Method,
    ) -> (Vec<[u32; 2]>, Vec<f64>) {
        let merges = kodama::linkage(&mut distances, n, method);
        let children = merges.steps().iter().map(|s| [s.cluster1 as u32, s.cluster2 as u32]);
        let heights = merges.steps().iter().map(|s| s.dissimilarity.into());
        (children.collect(), heights.collect())
    }

    fn ours<T: Real>(
        n: usize,
        mut distances: Vec<T>,
        rule: MergeRule,
    ) -> (Vec<[u32; 2]>, Vec<f64>) {
        if rule == MergeRule::Ward {
            for d in &mut distances {
                *d = *d * *d;
            }
        }
        let merged = tree(n, &mut distances, rule, &Counter::new(BUILDING, n, &silent)).unwrap();
        let root = |h: &f64| if rule == MergeRule::Ward { h.sqrt() } else { *h };
        (merged.children, merged.height[n..].iter().map(root).collect())
    }

    fn matrices() -> impl Strategy<Value = (usize, Vec<f64>)> {
        (2..60usize).prop_flat_map(|n| {
            // Without ties, with a few, and with mostly ties.
            let distance = prop_oneof![
                Just(vec(0.0..10.0f64, n * (n - 1) / 2).boxed()),
                Just(vec((0..40).prop_map(f64::from), n * (n - 1) / 2).boxed()),
                Just(vec((0..3).prop_map(f64::from), n * (n - 1) / 2).boxed()),
            ];
            (Just(n), distance.prop_flat_map(|distances| distances))
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn merges_are_those_of_kodama_ties_included((n, distances) in matrices()) {
            for (rule, method) in RULES {
                prop_assert_eq!(
                    ours(n, distances.clone(), rule), judge(n, distances.clone(), method)
                );
            }
            let single: Vec<f32> = distances.iter().map(|&d| d as f32).collect();
            for (rule, method) in &RULES[..2] {
                prop_assert_eq!(ours(n, single.clone(), *rule), judge(n, single.clone(), *method));
            }
        }
    }

    #[test]
    fn it_stops_when_asked_to() {
        let n = 400;
        let mut distances: Vec<f64> =
            (0..n * (n - 1) / 2).map(|k| (k as f64).sin().abs()).collect();
        let enough = |state: &crate::progress::State<'_>| state.done < 100;
        let counter = Counter::new(BUILDING, n - 1, &enough);
        let stopped = tree(n, &mut distances, MergeRule::Average, &counter);
        assert!(matches!(stopped, Err(crate::Error::Canceled)));
    }
}
