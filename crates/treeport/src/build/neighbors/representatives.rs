//! Clusters in a metric without coordinates, represented by a few of their points.

use rand::RngExt;
use rayon::prelude::*;

use super::Clusters;
use crate::error::Result;
use crate::metric::GroundMetric;
use crate::numeric::seed::{generator, mixed};
use crate::progress::tasks::DISTANCES;
use crate::progress::{Counter, Progress};
use crate::tools::disjoint_sets::DisjointSets;
use crate::tools::parallel;

/// Largest number of representatives of a cluster.
const MOST: usize = 4;

const NONE: u32 = u32::MAX;

/// A node of a graph is linked to its neighbors and to this number of nearest nodes.
const NEAREST: usize = 8;

/// Clusters represented by a few of their points.
pub(super) struct Representatives<'a> {
    between: Box<dyn Fn(u32, u32) -> f64 + Sync + 'a>,
    points: Vec<[u32; MOST]>,
    size: Vec<u32>,
    /// Pairs of near clusters, for a graph.
    linked: Option<Vec<(u32, u32)>>,
    /// Clusters merged since the last renumbering.
    into: DisjointSets,
}

impl<'a> Representatives<'a> {
    /// Creates clusters of one point each; all pairs are compared.
    pub(super) fn new(metric: &'a GroundMetric) -> Self {
        let between = |a: u32, b: u32| metric.distance(a as usize, b as usize);
        Self::of(metric.points(), Box::new(between), None)
    }

    /// Creates clusters of one node each, linked to its neighbors and nearest nodes; a merged
    /// cluster inherits the links of its parts.
    pub(super) fn on_graph(
        metric: &'a GroundMetric,
        edges: &[(u32, u32, f64)],
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut linked: Vec<(u32, u32)> = edges.iter().map(|&(a, b, _)| (a, b)).collect();
        let nearest = metric.nearest_nodes(NEAREST, progress)?.unwrap_or_default();
        let row = NEAREST.min(metric.points() - 1).max(1);
        linked.extend(
            (0..)
                .zip(nearest.chunks(row))
                .flat_map(|(v, row)| row.iter().map(move |&(near, _)| (near.min(v), near.max(v)))),
        );
        distinct(&mut linked);
        let between: Box<dyn Fn(u32, u32) -> f64 + Sync> = match metric.hub_labels(progress)? {
            Some(labels) => Box::new(move |a, b| labels.between(a, b)),
            None => Box::new(|a, b| metric.distance(a as usize, b as usize)),
        };
        Ok(Self::of(metric.points(), between, Some(linked)))
    }

    fn of(
        n: usize,
        between: Box<dyn Fn(u32, u32) -> f64 + Sync + 'a>,
        linked: Option<Vec<(u32, u32)>>,
    ) -> Self {
        let points = (0..n as u32).map(|point| [point, NONE, NONE, NONE]).collect();
        Self { between, points, size: vec![1; n], linked, into: DisjointSets::new(n) }
    }

    fn representatives(&self, cluster: usize) -> &[u32] {
        let points = &self.points[cluster];
        let count = points.iter().position(|&point| point == NONE).unwrap_or(MOST);
        &points[..count]
    }

    /// Finds the nearest clusters of every cluster by comparing all pairs.
    fn nearest(&self, k: usize, counter: &Counter<'_>) -> Result<Vec<(u32, u32)>> {
        let n = self.len();
        let nearest = |a: usize| {
            counter.add(0)?;
            let mut all: Vec<(f64, u32)> =
                (0..n).filter(|&b| b != a).map(|b| (self.distance(a, b), b as u32)).collect();
            if k < all.len() {
                all.select_nth_unstable_by(k, |x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
                all.truncate(k);
            }
            Ok(all.into_iter().map(move |(_, b)| (a as u32, b)).collect())
        };
        let rows: Vec<Vec<_>> = parallel::try_map(n, nearest)?;
        Ok(rows.concat())
    }
}

fn distinct(pairs: &mut Vec<(u32, u32)>) {
    pairs.par_sort_unstable();
    pairs.dedup();
}

impl Clusters for Representatives<'_> {
    fn len(&self) -> usize {
        self.size.len()
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.representatives(a), self.representatives(b));
        let all = a.iter().flat_map(|&x| b.iter().map(move |&y| (x, y)));
        // A sum of shares, because the sum of the distances may overflow.
        let share = 1.0 / (a.len() * b.len()) as f64;
        all.map(|(x, y)| share * (self.between)(x, y)).sum()
    }

    fn merge(&mut self, keeps: usize, gone: usize) {
        let mut first = self.representatives(keeps).to_vec();
        let mut second = self.representatives(gone).to_vec();
        let (n, m) = (self.size[keeps], self.size[gone]);
        let mut rng = generator(mixed(u64::from(first[0]), u64::from(second[0])));
        let mut chosen = [NONE; MOST];
        for place in &mut chosen {
            // Drawn in proportion to the sizes, as from the union of both clusters.
            let turn = rng.random_range(0..n + m) < n;
            let from = if second.is_empty() || (turn && !first.is_empty()) {
                &mut first
            } else {
                &mut second
            };
            if from.is_empty() {
                break;
            }
            *place = from.swap_remove(rng.random_range(0..from.len()));
        }
        self.points[keeps] = chosen;
        self.size[keeps] = n + m;
        self.into.join(keeps as u32, gone as u32);
    }

    fn keep(&mut self, numbers: &[u32]) {
        if let Some(linked) = &mut self.linked {
            let mut number = vec![NONE; self.size.len()];
            (0..).zip(numbers).for_each(|(new, &old)| number[old as usize] = new);
            let into = &mut self.into;
            let mut now = |cluster: u32| number[into.find(cluster) as usize];
            for pair in &mut *linked {
                let (a, b) = (now(pair.0), now(pair.1));
                *pair = (a.min(b), a.max(b));
            }
            linked.retain(|pair| pair.0 != pair.1);
            distinct(linked);
        }
        self.points = numbers.iter().map(|&c| self.points[c as usize]).collect();
        self.size = numbers.iter().map(|&c| self.size[c as usize]).collect();
        self.into = DisjointSets::new(numbers.len());
    }

    fn order(&self) -> Option<Vec<u32>> {
        None
    }

    fn near(&self, k: usize, progress: &Progress<'_>) -> Result<Vec<(u32, u32)>> {
        let counter = Counter::new(DISTANCES, None, progress);
        self.linked.clone().map_or_else(|| self.nearest(k, &counter), Ok)
    }
}
