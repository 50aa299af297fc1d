//! Clusters of points with nothing but distances: a few of its points stand for each.

use rand::RngExt;
use rayon::prelude::*;

use super::Clusters;
use crate::error::Result;
use crate::metric::GroundMetric;
use crate::seed::{generator, mixed};

/// Points that stand for a cluster.
const MOST: usize = 4;

const NONE: u32 = u32::MAX;

pub(super) struct Representatives<'a> {
    metric: &'a GroundMetric,
    points: Vec<[u32; MOST]>,
    size: Vec<u32>,
}

impl<'a> Representatives<'a> {
    /// Every point alone.
    pub(super) fn new(metric: &'a GroundMetric) -> Self {
        let n = metric.points();
        let alone = |point| [point, NONE, NONE, NONE];
        Self { metric, points: (0..n as u32).map(alone).collect(), size: vec![1; n] }
    }

    fn of(&self, cluster: usize) -> &[u32] {
        let points = &self.points[cluster];
        let count = points.iter().position(|&point| point == NONE).unwrap_or(MOST);
        &points[..count]
    }
}

impl Clusters for Representatives<'_> {
    fn len(&self) -> usize {
        self.size.len()
    }

    fn distance(&self, a: usize, b: usize) -> f64 {
        let (a, b) = (self.of(a), self.of(b));
        let all = a.iter().flat_map(|&x| b.iter().map(move |&y| (x as usize, y as usize)));
        // Shares of each, since a sum may leave the range of numbers.
        let share = 1.0 / (a.len() * b.len()) as f64;
        all.map(|(x, y)| share * self.metric.distance(x, y)).sum()
    }

    fn averaged(&self, distance: f64) -> f64 {
        distance
    }

    fn of_averaged(&self, mean: f64) -> f64 {
        mean
    }

    fn merge(&mut self, keeps: usize, gone: usize) {
        let (mut first, mut second) = (self.of(keeps).to_vec(), self.of(gone).to_vec());
        let (n, m) = (self.size[keeps], self.size[gone]);
        let mut rng = generator(mixed(u64::from(first[0]), u64::from(second[0])));
        let mut chosen = [NONE; MOST];
        for place in &mut chosen {
            // Drawn by size, as points drawn from both together would be.
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
    }

    fn keep(&mut self, numbers: &[u32]) {
        self.points = numbers.iter().map(|&c| self.points[c as usize]).collect();
        self.size = numbers.iter().map(|&c| self.size[c as usize]).collect();
    }

    fn order(&self) -> Option<Vec<u32>> {
        None
    }

    fn near(&self, k: usize) -> Result<Vec<(u32, u32)>> {
        let n = self.len();
        let nearest = |a: usize| {
            let mut all: Vec<(f64, u32)> =
                (0..n).filter(|&b| b != a).map(|b| (self.distance(a, b), b as u32)).collect();
            if k < all.len() {
                all.select_nth_unstable_by(k, |x, y| x.0.total_cmp(&y.0).then(x.1.cmp(&y.1)));
                all.truncate(k);
            }
            all.into_iter().map(move |(_, b)| (a as u32, b))
        };
        Ok((0..n).into_par_iter().flat_map_iter(nearest).collect())
    }
}
