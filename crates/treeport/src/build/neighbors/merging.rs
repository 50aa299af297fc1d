//! Agglomerative merging of the nearest clusters along links.
//!
//! A heap holds, for every cluster, the nearest cluster that it is linked to. Merges make distances
//! in the heap stale: a distance is recomputed when it is popped, and pushed again if it has grown.
//! A merge therefore need not update the thousands of clusters that may be linked to it.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::OnceLock;

use super::{Clusters, dense};
use crate::build::binary::BinaryTree;
use crate::error::Result;
use crate::memory;
use crate::numeric::order::Total;
use crate::numeric::seed::{generator, mixed};
use crate::progress::tasks::BUILDING;
use crate::progress::{Counter, Progress};
use crate::tools::disjoint_sets::DisjointSets;
use crate::tools::parallel;
use rand::RngExt;

/// Parameters of linking and merging.
#[derive(Clone, Debug)]
pub(super) struct MergePlan {
    /// Number of neighbors of each cluster.
    pub(super) neighbors: usize,
    /// Largest number of links of a merged cluster.
    pub(super) links: usize,
    /// Number of clusters from which on all pairs are compared.
    pub(super) dense: usize,
    /// Factor by which the number of clusters falls between two searches of neighbors.
    pub(super) refresh: usize,
    pub(super) noise: Option<DistanceNoise>,
}

impl Default for MergePlan {
    fn default() -> Self {
        Self { neighbors: 16, links: 32, dense: 4_000, refresh: 4, noise: None }
    }
}

/// Random factors of distances: exp(sigma·z) for two points, with z normal. For two clusters sigma
/// is divided by the root of their number of point pairs, as for a mean over these.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DistanceNoise {
    pub(crate) sigma: f64,
    pub(crate) seed: u64,
}

impl DistanceNoise {
    /// Returns the factor for two nodes with `pairs` point pairs.
    fn factor(&self, a: u32, b: u32, pairs: f64) -> f64 {
        let key = u64::from(a.min(b)) << 32 | u64::from(a.max(b));
        let mut rng = generator(mixed(self.seed, key));
        let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
        let z = radius * (std::f64::consts::TAU * rng.random::<f64>()).cos();
        (self.sigma * z / pairs.sqrt()).exp()
    }
}

/// Advice if memory does not suffice.
pub(super) const INSTEAD: &str =
    "use single linkage or the method `cluster`, which need little memory";

/// Near pairs of points, as they are before the first merge: the same in every tree of a forest.
///
/// On 20,000 points in R³ searches by all 16 trees were a quarter of the time of a learned forest.
pub(crate) type FirstNeighbors = OnceLock<Vec<(u32, u32)>>;

/// Merges clusters until one is left.
pub(super) fn grow<C: Clusters>(
    clusters: C,
    plan: &MergePlan,
    first: &FirstNeighbors,
    progress: &Progress<'_>,
) -> Result<BinaryTree> {
    let n = clusters.len();
    let mut growth = Growth {
        clusters,
        node: (0..n as u32).collect(),
        size: vec![1.0; n],
        tree: BinaryTree::with_leaves(vec![0.0; n]),
        noise: plan.noise,
        counter: Counter::new(BUILDING, n - 1, progress),
    };
    if n > plan.dense
        && let Some(order) = growth.clusters.order()
    {
        growth.keep(&order);
    }
    while growth.node.len() > plan.dense.max(1) {
        let count = growth.node.len();
        let near = || growth.clusters.near(plan.neighbors, progress);
        let lists = if count < n {
            both_ways(count, &near()?)
        } else if let Some(pairs) = first.get() {
            both_ways(count, pairs)
        } else {
            let pairs = near()?;
            both_ways(count, first.get_or_init(|| pairs))
        };
        growth.merge_along(lists, (count / plan.refresh).max(plan.dense), plan.links)?;
    }
    growth.finish()?;
    Ok(growth.tree)
}

/// Converts pairs to symmetric neighbor lists.
fn both_ways(count: usize, pairs: &[(u32, u32)]) -> Vec<Vec<u32>> {
    let mut lists: Vec<Vec<u32>> = vec![Vec::new(); count];
    for &(a, b) in pairs {
        lists[a as usize].push(b);
        lists[b as usize].push(a);
    }
    for list in &mut lists {
        list.sort_unstable();
        list.dedup();
    }
    lists
}

/// A linked cluster, with its distance when last computed.
#[derive(Clone, Copy)]
struct Link {
    distance: f64,
    to: u32,
}

/// A cluster and its nearest link, as an entry of the heap.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct HeapEntry {
    distance: Total,
    /// Random order of ties.
    tie: u64,
    from: u32,
    to: u32,
}

/// State of the merging: the remaining clusters, and the tree below them.
struct Growth<'a, C> {
    clusters: C,
    /// Tree node of every cluster.
    node: Vec<u32>,
    size: Vec<f64>,
    tree: BinaryTree,
    noise: Option<DistanceNoise>,
    counter: Counter<'a>,
}

/// Links during merging.
struct Links {
    lists: Vec<Vec<Link>>,
    heap: BinaryHeap<Reverse<HeapEntry>>,
    /// Clusters that were merged into one; the cluster that remains represents them.
    merged: DisjointSets,
}

impl Links {
    /// Pushes the nearest link of a cluster to the heap.
    fn push_nearest(&mut self, from: u32) {
        let nearer = |a: &&Link, b: &&Link| a.distance.total_cmp(&b.distance).then(a.to.cmp(&b.to));
        if let Some(&Link { distance, to }) = self.lists[from as usize].iter().min_by(nearer) {
            let tie = mixed(u64::from(from.min(to)), u64::from(from.max(to)));
            let distance = Total(distance);
            self.heap.push(Reverse(HeapEntry { distance, tie, from, to }));
        }
    }
}

impl<C: Clusters> Growth<'_, C> {
    /// Merges until `goal` clusters or no links are left, and renumbers the remaining clusters.
    /// Merged clusters keep their `most` shortest links.
    fn merge_along(&mut self, lists: Vec<Vec<u32>>, goal: usize, most: usize) -> Result<()> {
        let count = self.node.len();
        let measured = |a: usize| {
            self.check_canceled(a)?;
            let link = |&to: &u32| Link { distance: self.distance(a as u32, to), to };
            Ok(lists[a].iter().map(link).collect())
        };
        let all: Vec<Vec<Link>> = parallel::try_map(lists.len(), measured)?;
        drop(lists);
        let (heap, merged) = (BinaryHeap::with_capacity(count), DisjointSets::new(count));
        let mut links = Links { lists: all, heap, merged };
        (0..count as u32).for_each(|a| links.push_nearest(a));
        let mut left = count;
        while left > goal
            && let Some(Reverse(entry)) = links.heap.pop()
        {
            if links.merged.find(entry.from) != entry.from {
                continue; // stale: merged since
            }
            if self.settle(&mut links, entry, most) {
                left -= 1;
                self.counter.add(1)?;
            }
        }
        let kept: Vec<u32> = (0..count as u32).filter(|&c| links.merged.find(c) == c).collect();
        self.keep(&kept);
        Ok(())
    }

    /// Merges the two clusters of an entry unless it is stale; then pushes the nearest link again.
    fn settle(&mut self, links: &mut Links, entry: HeapEntry, most: usize) -> bool {
        let HeapEntry { from, to, .. } = entry;
        let target = links.merged.find(to);
        let list = &mut links.lists[from as usize];
        let Some(place) = list.iter().position(|link| link.to == to) else { return false };
        let distance = if target == from { f64::INFINITY } else { self.distance(from, target) };
        if distance <= entry.distance.0 {
            self.merge(links, (from, target), distance, most);
            return true;
        }
        list.swap_remove(place);
        if target != from {
            list.retain(|link| link.to != target);
            list.push(Link { distance, to: target });
        }
        links.push_nearest(from);
        false
    }

    fn merge(&mut self, links: &mut Links, (a, b): (u32, u32), distance: f64, most: usize) {
        let (keeps, gone) = (a.min(b), a.max(b));
        links.merged.join(keeps, gone);
        let (x, y) = (keeps as usize, gone as usize);
        let (left, right) = (self.node[x], self.node[y]);
        let below = self.tree.height[left as usize].max(self.tree.height[right as usize]);
        self.node[x] = self.tree.join(left, right, below.max(0.5 * distance));
        self.size[x] += self.size[y];
        self.clusters.merge(x, y);

        let mut linked: Vec<u32> = Vec::new();
        for list in [std::mem::take(&mut links.lists[x]), std::mem::take(&mut links.lists[y])] {
            linked.extend(list.iter().map(|link| links.merged.find(link.to)));
        }
        linked.sort_unstable();
        linked.dedup();
        linked.retain(|&to| to != keeps);
        let measure = |&to: &u32| Link { distance: self.distance(keeps, to), to };
        let mut list: Vec<Link> = linked.iter().map(measure).collect();
        if list.len() > most {
            list.select_nth_unstable_by(most, |a, b| {
                a.distance.total_cmp(&b.distance).then(a.to.cmp(&b.to))
            });
            list.truncate(most);
        }
        links.lists[x] = list;
        links.push_nearest(keeps);
    }

    /// Merges the last clusters by all their distances.
    fn finish(&mut self) -> Result<()> {
        let m = self.node.len();
        let step = format_args!("neighbors linkage of the last {m} clusters");
        let mut between: Vec<f64> = memory::zeros(step, m * m, INSTEAD)?;
        parallel::try_for_each(between.chunks_mut(m.max(1)).enumerate(), |(a, row)| {
            self.counter.add(0)?;
            for (b, out) in row.iter_mut().enumerate().skip(a + 1) {
                *out = self.distance(a as u32, b as u32);
            }
            Ok(())
        })?;
        for a in 0..m {
            (0..a).for_each(|b| between[a * m + b] = between[b * m + a]);
        }
        dense::finish(&mut self.tree, &mut self.node, &mut self.size, &mut between);
        self.counter.add(m - 1)
    }

    /// Checks for cancellation from time to time.
    fn check_canceled(&self, number: usize) -> Result<()> {
        if number.is_multiple_of(256) { self.counter.add(0) } else { Ok(()) }
    }

    fn distance(&self, a: u32, b: u32) -> f64 {
        let (a, b) = (a as usize, b as usize);
        let factor = self.noise.map_or(1.0, |noise| {
            noise.factor(self.node[a], self.node[b], self.size[a] * self.size[b])
        });
        // Means of distances must not overflow.
        (self.clusters.distance(a, b) * factor).min(f64::MAX / 4.0)
    }

    fn keep(&mut self, numbers: &[u32]) {
        self.clusters.keep(numbers);
        self.node = numbers.iter().map(|&c| self.node[c as usize]).collect();
        self.size = numbers.iter().map(|&c| self.size[c as usize]).collect();
    }
}
