//! Nearest neighbors of clusters with coordinates.
//!
//! Up to [`EXACT`] clusters all pairs are compared, in blocks of a matrix product. For more
//! clusters, random projection trees give initial lists: each tree repeatedly halves the clusters
//! along the line through two random ones, and all pairs in a cell are compared. Then neighbors of
//! neighbors are tried as long as that changes many lists (NN-descent: Dong, Moses, Li 2011,
//! *Efficient k-nearest neighbor graph construction for generic similarity measures*). A round
//! reads only lists of the previous round, so any number of threads gives the same lists.

use rand::RngExt;
use rayon::prelude::*;

use super::Clusters;
use super::points::ClusterCenters;
use crate::error::Result;
use crate::metric::{GroundMetric, Period, PointMetric};
use crate::numeric::seed::{generator, mixed};
use crate::progress::Counter;
use crate::tools::parallel;

/// Largest number of clusters for which all pairs are compared.
pub(super) const EXACT: usize = 20_000;

/// Largest number of clusters in a cell of a projection tree.
const CELL: usize = 96;

/// Number of projection trees.
const TREES: u64 = 6;

/// Largest number of rounds of neighbors of neighbors.
const ROUNDS: usize = 8;

/// Share of changed list entries below which a round is the last.
const SETTLED: f64 = 0.01;

/// A neighbor and its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Neighbor {
    rank: f32,
    cluster: u32,
}

const EMPTY: Neighbor = Neighbor { rank: f32::INFINITY, cluster: u32::MAX };

impl Neighbor {
    fn before(self, other: Self) -> bool {
        (self.rank, self.cluster) < (other.rank, other.cluster)
    }
}

/// Inserts a neighbor into a sorted list if it is nearer than the last entry and not in the list.
fn insert(list: &mut [Neighbor], near: Neighbor) -> bool {
    if list.last().is_none_or(|last| !near.before(*last)) {
        return false;
    }
    let place = list.partition_point(|other| other.before(near));
    if list[place] == near {
        return false;
    }
    list[place..].rotate_right(1);
    list[place] = near;
    true
}

/// Finds the `k` nearest clusters of every cluster, exactly or approximately, as pairs.
pub(super) fn nearest(
    clusters: &ClusterCenters,
    k: usize,
    counter: &Counter<'_>,
) -> Result<Vec<(u32, u32)>> {
    let k = k.min(clusters.len() - 1);
    let find = if clusters.len() <= EXACT { exact } else { approximate };
    let lists = find(clusters, k, counter)?;
    let pairs = lists.par_chunks(k).enumerate().flat_map_iter(|(a, list)| {
        let known = list.iter().filter(|near| near.cluster != EMPTY.cluster);
        known.map(move |near| (a as u32, near.cluster))
    });
    Ok(pairs.collect())
}

/// Rows and columns of a block of distances.
const ROWS: usize = 64;
const COLUMNS: usize = 512;

/// Finds the `k` nearest clusters of every cluster by comparing all pairs.
fn exact(clusters: &ClusterCenters, k: usize, counter: &Counter<'_>) -> Result<Vec<Neighbor>> {
    let n = clusters.len();
    let numbers: Vec<usize> = (0..n).collect();
    let squares = match clusters.spreads() {
        Some(spreads) => {
            let centers = clusters.centers().to_vec();
            let period = clusters.half_periods().map(|halves| {
                let period = |half: &f64| half.is_finite().then_some(2.0 * half);
                Period::Each(halves.iter().map(period).collect())
            });
            let squares = PointMetric::SqEuclidean.with_optional_period(period);
            Some((GroundMetric::from_points(clusters.dim(), centers, squares)?, spreads))
        }
        None => None,
    };
    let mut lists = vec![EMPTY; n * k];
    let blocks = lists.chunks_mut(ROWS * k).zip(numbers.chunks(ROWS));
    parallel::try_for_each(blocks, |(lists, rows)| {
        counter.add(0)?;
        let mut block = vec![0.0; ROWS * COLUMNS];
        for columns in numbers.chunks(COLUMNS) {
            let block = &mut block[..rows.len() * columns.len()];
            match &squares {
                Some((metric, spreads)) => {
                    metric.block(rows, columns, block);
                    for (&a, row) in rows.iter().zip(block.chunks_exact_mut(columns.len())) {
                        let both = columns.iter().map(|&b| spreads[a] + spreads[b]);
                        row.iter_mut().zip(both).for_each(|(rank, both)| *rank += both);
                    }
                }
                None => {
                    for (&a, row) in rows.iter().zip(block.chunks_exact_mut(columns.len())) {
                        let ranks = columns.iter().map(|&b| clusters.rank(a, b));
                        row.iter_mut().zip(ranks).for_each(|(out, rank)| *out = rank);
                    }
                }
            }
            let rows = rows.iter().zip(block.chunks_exact(columns.len()));
            for (list, (&a, row)) in lists.chunks_exact_mut(k).zip(rows) {
                for (&b, &rank) in columns.iter().zip(row) {
                    if b != a {
                        insert(list, Neighbor { rank: rank as f32, cluster: b as u32 });
                    }
                }
            }
        }
        Ok(())
    })?;
    Ok(lists)
}

/// Returns an order in which clusters of a cell of the first projection tree are contiguous.
pub(super) fn order(clusters: &ClusterCenters) -> Vec<u32> {
    let mut order: Vec<u32> = (0..clusters.len() as u32).collect();
    halve(clusters, &mut order, 0);
    order
}

/// Sorts clusters into cells of at most [`CELL`] by halving along the line through two.
fn halve(clusters: &ClusterCenters, order: &mut [u32], seed: u64) {
    if order.len() <= CELL {
        return;
    }
    let mut rng = generator(seed);
    let mut drawn = || clusters.center(order[rng.random_range(0..order.len())] as usize);
    let (x, y) = (drawn(), drawn());
    let ways = |from: &[f64], to: &[f64]| -> Vec<f64> {
        (0..)
            .zip(from.iter().zip(to))
            .map(|(k, (&x, &y))| clusters.signed_difference(x, y, k))
            .collect()
    };
    let line = ways(x, y);
    let along = |&c: &u32| {
        let center = clusters.center(c as usize);
        if clusters.half_periods().is_some() {
            // Circles are cut opposite to x.
            let ways = ways(center, x);
            return (ways.iter().zip(&line).map(|(x, l)| x * l).sum::<f64>(), c);
        }
        (center.iter().zip(&line).map(|(x, l)| x * l).sum::<f64>(), c)
    };
    let mut keyed: Vec<(f64, u32)> = order.par_iter().with_min_len(1 << 12).map(along).collect();
    let middle = order.len() / 2;
    keyed.select_nth_unstable_by(middle, |a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    order.iter_mut().zip(&keyed).for_each(|(place, key)| *place = key.1);
    drop(keyed);
    let (left, right) = order.split_at_mut(middle);
    rayon::join(
        || halve(clusters, left, mixed(seed, 0)),
        || halve(clusters, right, mixed(seed, 1)),
    );
}

/// Finds the `k` nearest clusters approximately, by projection trees and NN-descent.
fn approximate(
    clusters: &ClusterCenters,
    k: usize,
    counter: &Counter<'_>,
) -> Result<Vec<Neighbor>> {
    let n = clusters.len();
    let mut lists = vec![EMPTY; n * k];
    for tree in 0..TREES {
        counter.add(0)?;
        let mut order: Vec<u32> = (0..n as u32).collect();
        halve(clusters, &mut order, mixed(1, tree));
        compare_cells(clusters, &order, k, &mut lists, counter)?;
    }
    // Entries that are new since the previous round, as bits.
    let mut fresh = vec![u32::MAX; n];
    for _ in 0..ROUNDS {
        let reverse = Reverse::new(&lists, &fresh, k);
        let mut next = lists.clone();
        let mut new = vec![0; n];
        let blocks = next.chunks_mut(k * AT_ONCE).zip(new.chunks_mut(AT_ONCE)).enumerate();
        for (block, (next, new)) in blocks {
            counter.add(0)?;
            let rows = next.par_chunks_mut(k).with_min_len(256).zip(new).enumerate();
            rows.for_each_init(Vec::new, |candidates, (row, (list, new))| {
                let a = block * AT_ONCE + row;
                collect_candidates(&lists, &fresh, &reverse, k, a, candidates);
                for &c in candidates.iter() {
                    let rank = clusters.rank(a, c as usize) as f32;
                    insert(list, Neighbor { rank, cluster: c });
                }
                *new = new_entries(list, &lists[a * k..(a + 1) * k]);
            });
        }
        (fresh, lists) = (new, next);
        let changed: u64 = fresh.par_iter().map(|bits| u64::from(bits.count_ones())).sum();
        if (changed as f64) < SETTLED * (n * k) as f64 {
            break;
        }
    }
    Ok(lists)
}

/// Clusters between two progress reports.
const AT_ONCE: usize = 1 << 12;

/// Compares all pairs within each cell.
fn compare_cells(
    clusters: &ClusterCenters,
    order: &[u32],
    k: usize,
    lists: &mut [Neighbor],
    counter: &Counter<'_>,
) -> Result<()> {
    let cells = cells(order);
    let of_cell = |cell: &&[u32]| {
        let mut found = vec![EMPTY; cell.len() * k];
        for (i, &a) in cell.iter().enumerate() {
            for (j, &b) in cell.iter().enumerate().skip(i + 1) {
                let rank = clusters.rank(a as usize, b as usize) as f32;
                insert(&mut found[i * k..(i + 1) * k], Neighbor { rank, cluster: b });
                insert(&mut found[j * k..(j + 1) * k], Neighbor { rank, cluster: a });
            }
        }
        found
    };
    // Some cells at a time, so that their lists need little memory.
    for cells in cells.chunks(128) {
        counter.add(0)?;
        let found: Vec<Vec<Neighbor>> = parallel::map(cells.len(), |at| of_cell(&cells[at]));
        for (cell, found) in cells.iter().zip(found) {
            for (&a, found) in cell.iter().zip(found.chunks_exact(k)) {
                let list = &mut lists[a as usize * k..(a as usize + 1) * k];
                for &near in found.iter().take_while(|near| near.cluster != EMPTY.cluster) {
                    insert(list, near);
                }
            }
        }
    }
    Ok(())
}

/// Returns the cells of [`halve`].
fn cells(order: &[u32]) -> Vec<&[u32]> {
    if order.len() <= CELL {
        return vec![order];
    }
    let (left, right) = order.split_at(order.len() / 2);
    let mut all = cells(left);
    all.extend(cells(right));
    all
}

/// Reverse neighbors: up to k clusters that list a cluster, and whether the entry is new.
struct Reverse {
    k: usize,
    count: Vec<u32>,
    from: Vec<(u32, bool)>,
}

impl Reverse {
    fn new(lists: &[Neighbor], fresh: &[u32], k: usize) -> Self {
        let n = lists.len() / k;
        let mut reverse = Self { k, count: vec![0; n], from: vec![(0, false); n * k] };
        for (a, list) in lists.chunks_exact(k).enumerate() {
            for (place, near) in list.iter().enumerate() {
                let b = near.cluster as usize;
                if near.cluster == EMPTY.cluster || reverse.count[b] as usize == k {
                    continue;
                }
                let at = b * k + reverse.count[b] as usize;
                reverse.from[at] = (a as u32, fresh[a] >> place & 1 == 1);
                reverse.count[b] += 1;
            }
        }
        reverse
    }

    fn of(&self, b: usize) -> &[(u32, bool)] {
        &self.from[b * self.k..][..self.count[b] as usize]
    }
}

/// Collects neighbors of neighbors, in both directions, where one of the two entries is new.
fn collect_candidates(
    lists: &[Neighbor],
    fresh: &[u32],
    reverse: &Reverse,
    k: usize,
    a: usize,
    candidates: &mut Vec<u32>,
) {
    candidates.clear();
    let own = lists[a * k..(a + 1) * k].iter().enumerate();
    let own = own.filter(|(_, near)| near.cluster != EMPTY.cluster);
    let own = own.map(|(place, near)| (near.cluster, fresh[a] >> place & 1 == 1));
    for (b, new) in own.chain(reverse.of(a).iter().copied()) {
        let b = b as usize;
        if new {
            candidates.push(b as u32);
        }
        for (place, near) in lists[b * k..(b + 1) * k].iter().enumerate() {
            if new || fresh[b] >> place & 1 == 1 {
                candidates.push(near.cluster);
            }
        }
    }
    candidates.sort_unstable();
    candidates.dedup();
    candidates.retain(|&c| c as usize != a && c != EMPTY.cluster);
}

/// Returns the positions of entries that were not in the list before, as bits; both are sorted.
fn new_entries(list: &[Neighbor], before: &[Neighbor]) -> u32 {
    let is_new = |near: &Neighbor| {
        near.cluster != EMPTY.cluster
            && before.get(before.partition_point(|b| b.before(*near))) != Some(near)
    };
    list.iter().enumerate().fold(0, |bits, (at, near)| bits | u32::from(is_new(near)) << at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use crate::progress::silent;
    use crate::progress::tasks::DISTANCES;

    fn silent_counter() -> Counter<'static> {
        Counter::new(DISTANCES, None, &silent)
    }

    /// Points around ten centers.
    fn clouds(n: usize, dim: usize, metric: PointMetric) -> ClusterCenters {
        let mut rng = generator(17);
        let centers: Vec<f64> = (0..10 * dim).map(|_| rng.random_range(-3.0..3.0)).collect();
        let near = |k: usize| centers[k / dim % 10 * dim + k % dim] + rng.random_range(-1.0..1.0);
        let coordinates: Vec<f64> = (0..n * dim).map(near).collect();
        ClusterCenters::new(metric, dim, &coordinates, 1.0)
    }

    /// Reference: all ranks, sorted.
    fn sorted(clusters: &ClusterCenters, a: usize, k: usize) -> Vec<u32> {
        let mut all: Vec<u32> = (0..clusters.len() as u32).filter(|&b| b as usize != a).collect();
        let rank = |b: u32| clusters.rank(a, b as usize);
        all.sort_by(|&b, &c| rank(b).total_cmp(&rank(c)));
        all.truncate(k);
        all
    }

    #[test]
    fn all_pairs_give_the_nearest() {
        for metric in [PointMetric::Euclidean, PointMetric::Manhattan] {
            let mut clusters = clouds(700, 5, metric);
            (0..50).for_each(|a| clusters.merge(a, a + 50));
            clusters.keep(&(0..50).chain(100..700).collect::<Vec<u32>>());
            let lists = exact(&clusters, 7, &silent_counter()).unwrap();
            for (a, list) in lists.chunks(7).enumerate() {
                let found: Vec<u32> = list.iter().map(|near| near.cluster).collect();
                assert_eq!(found, sorted(&clusters, a, 7));
            }
        }
    }

    #[test]
    fn projection_trees_and_descent_find_nearly_all() {
        for (dim, metric, least) in [
            (2, PointMetric::Euclidean, 0.99),
            (8, PointMetric::Manhattan, 0.97),
            (32, PointMetric::Euclidean, 0.95),
        ] {
            let clusters = clouds(3_000, dim, metric);
            let found = approximate(&clusters, 10, &silent_counter()).unwrap();
            let judge = exact(&clusters, 10, &silent_counter()).unwrap();
            let known = |(list, judge): (&[Neighbor], &[Neighbor])| {
                judge.iter().filter(|j| list.iter().any(|near| near.cluster == j.cluster)).count()
            };
            let shared: usize = found.chunks(10).zip(judge.chunks(10)).map(known).sum();
            let recall = shared as f64 / judge.len() as f64;
            assert!(recall >= least, "{dim} dimensions: {recall}");
        }
    }

    #[test]
    fn one_thread_and_many_find_the_same() {
        let clusters = clouds(2_000, 4, PointMetric::Euclidean);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                (order(&clusters), approximate(&clusters, 8, &silent_counter()).unwrap())
            })
        };
        assert_eq!(with(1), with(4));
    }

    #[test]
    fn it_stops_when_asked() {
        let clusters = clouds(500, 2, PointMetric::Euclidean);
        for find in [exact, approximate] {
            let stop = Counter::new(DISTANCES, None, &|_| false);
            assert!(matches!(find(&clusters, 5, &stop), Err(Error::Canceled)));
        }
    }

    #[test]
    fn a_list_keeps_the_nearest_once() {
        let near = |rank: f32, cluster| Neighbor { rank, cluster };
        let mut list = [EMPTY; 3];
        for (rank, cluster) in [(5.0, 1), (3.0, 2), (3.0, 2), (4.0, 3), (6.0, 4), (3.0, 0)] {
            insert(&mut list, near(rank, cluster));
        }
        assert_eq!(list, [near(3.0, 0), near(3.0, 2), near(4.0, 3)]);
        assert_eq!(new_entries(&list, &[near(3.0, 2), near(4.0, 3), near(5.0, 1)]), 0b001);
    }
}
