//! The exact solver: time per pair by support, many small pairs, a bus network, memory.

use std::fs::File;
use std::path::Path;
use std::time::Instant;

use rand::seq::index;
use treeport::{Error, GroundMetric, Measures, PointMetric, Problem, Problems, Result, silent};
use treeport_report::sample::positive;

use super::batches::{BATCHES, FEW, MANY_POINTS, batches, lopsided};
use super::{Peer, Row, median_seconds, memory::peak_mib};
use crate::datasets::{self, Files};
use crate::exact::transport;
use crate::generate::{Random, couples, documents, gaussian_points, seeded, sparse_measures};

/// Dimension of the points.
pub(super) const DIM: usize = 50;

/// Support size at which [`exact()`] also times [`MANY`] pairs.
pub const MANY_SUPPORT: usize = 30;

/// Measures per side of the many pairs.
pub(super) const SIDE: usize = 100;

/// Number of the many pairs.
pub const MANY: usize = SIDE * SIDE;

/// Smallest support at which a single solve is run and its memory measured.
const MEMORY_FROM: usize = 5_000;

/// Largest support for which the plain solver of this crate is the peer.
const PLAIN_LIMIT: usize = 300;

/// Full-support pairs on the bus network.
const NETWORK_PAIRS: usize = 5;

/// Points and pairs of measures on them with disjoint supports.
pub(super) struct TimedPairs {
    pub(super) metric: GroundMetric,
    pub(super) measures: Measures,
    pub(super) pairs: Vec<(usize, usize)>,
}

/// Times exact transport for each support size on one thread: from a distance matrix, then from
/// coordinates. Support 10, 30 and 100 adds batches in low and high dimension, support 10 also a
/// problem of 10 against 20,000 points, and [`MANY_SUPPORT`] adds [`MANY`] pairs on one and on two
/// threads; from 5,000 on there is a single solve from coordinates, with its memory.
///
/// # Errors
/// None for sizes of at least 1 (never seen: a result without a certificate).
pub fn exact(sizes: &[usize], seed: u64, mut report: impl FnMut(&Row)) -> crate::Result<()> {
    for &n in sizes {
        if n >= MEMORY_FROM {
            report(&memory(n, seed)?);
            continue;
        }
        let problem = TimedPairs::new(n, pairs_at(n), seed)?;
        let matrix = problem.metric.materialized()?;
        let plain = (n <= PLAIN_LIMIT).then(|| time_plain(&problem, &matrix)).transpose()?;
        report(&problem.row(&matrix, "matrix", plain.clone())?);
        report(&problem.row(&problem.metric, "coordinates", plain)?);
        if n == MANY_SUPPORT {
            many(SIDE, seed, &mut report)?;
        }
        if let Some(&batch) = BATCHES.iter().find(|batch| batch.0 == n) {
            batches(batch, seed, &mut report)?;
        }
        if n == FEW {
            report(&lopsided(FEW, MANY_POINTS, seed)?);
        }
    }
    Ok(())
}

/// Times random full-support measures on the stops of Belfast, from a distance matrix; `None`
/// without the data.
///
/// # Errors
/// A data file cannot be read.
pub fn exact_network(folder: &Path, seed: u64) -> Result<Option<Row>> {
    let found = datasets::find(folder);
    let Some(Files::Graph { edges, .. }) = found.get("belfast").map(|set| &set.files) else {
        return Ok(None);
    };
    let file = File::open(edges).map_err(|source| Error::read(edges.clone(), source))?;
    let metric = GroundMetric::read_graph_csv(file, None)?.0.materialized()?;
    let n = metric.points();
    let measures = sparse_measures(n, n, 2 * NETWORK_PAIRS, &mut seeded(seed))?;
    let pairs = couples(NETWORK_PAIRS);
    let problem = TimedPairs { metric, measures, pairs };
    Ok(Some(problem.row(&problem.metric, "belfast, full support", None)?))
}

/// Number of pairs per run: enough to average, few enough to wait for.
pub(super) fn pairs_at(n: usize) -> usize {
    (3_000 / n).clamp(2, 100)
}

impl TimedPairs {
    /// Draws random points, twice as many as a support has, and pairs of measures on random halves.
    pub(super) fn new(n: usize, count: usize, seed: u64) -> Result<Self> {
        let mut rng = seeded(seed);
        let points = gaussian_points(2 * n, DIM, &mut rng);
        let metric = GroundMetric::from_points(DIM, points, PointMetric::Euclidean)?;
        let halves = (0..count).flat_map(|_| halves(n, &mut rng)).collect::<Vec<_>>();
        let measures = Measures::from_rows(2 * n, halves)?.normalized();
        Ok(Self { metric, measures, pairs: couples(count) })
    }

    /// Creates small measures with disjoint supports; the pairs are `side` × `side`.
    pub(super) fn many(side: usize, seed: u64) -> Result<Self> {
        Self::apart(side, MANY_SUPPORT, DIM, seed)
    }

    /// [`many`](Self::many) with any support and dimension.
    pub(super) fn apart(side: usize, support: usize, dim: usize, seed: u64) -> Result<Self> {
        let mut rng = seeded(seed);
        let n = 2 * side * support;
        let points = gaussian_points(n, dim, &mut rng);
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean)?;
        let rows = (0..2 * side).map(|row| {
            let own = row * support..(row + 1) * support;
            own.map(|point| (point, positive(&mut rng))).collect::<Vec<_>>()
        });
        let measures = Measures::from_rows(n, rows.collect::<Vec<_>>())?.normalized();
        Ok(Self { metric, measures, pairs: cross(side) })
    }

    /// Draws documents of about `words` words in one language; the pairs are `side` × `side`.
    pub(super) fn documents(side: usize, words: usize, dim: usize, seed: u64) -> Result<Self> {
        let mut rng = seeded(seed);
        let points = gaussian_points(WORDS, dim, &mut rng);
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean)?;
        let measures = documents(WORDS, TOPICS, words, 2 * side, &mut rng)?;
        Ok(Self { metric, measures, pairs: cross(side) })
    }

    /// Solves all pairs.
    pub(super) fn solve(&self, metric: &GroundMetric) -> Result<Vec<f64>> {
        Problems::new(metric, &self.measures, &self.pairs).values(&silent)
    }

    fn row(&self, metric: &GroundMetric, distances: &str, peer: Option<Peer>) -> Result<Row> {
        let mut pivots = 0;
        for &(i, j) in &self.pairs {
            pivots += Problem::new(metric, &self.measures.row(i), &self.measures.row(j))
                .solve(&silent)?
                .pivots;
        }
        let count = self.pairs.len() as f64;
        let seconds = on_threads(1, || median_seconds(|| self.solve(metric))) / count;
        let support = self.measures.row(0).support().len();
        let more = vec![("pivots", pivots as f64 / count)];
        Ok(row(support, distances, (self.pairs.len(), 1), seconds, peer, more))
    }
}

/// Size of the vocabulary, and number of topics of documents.
const WORDS: usize = 5_000;
const TOPICS: usize = 50;

/// Returns all pairs of a measure on the left and one on the right.
pub(super) fn cross(side: usize) -> Vec<(usize, usize)> {
    (0..side).flat_map(|i| (0..side).map(move |j| (i, side + j))).collect()
}

/// Splits 2n points at random into two halves with random masses.
fn halves(n: usize, rng: &mut Random) -> [Vec<(usize, f64)>; 2] {
    let order = index::sample(rng, 2 * n, 2 * n).into_vec();
    let mut half = |points: &[usize]| points.iter().map(|&p| (p, positive(rng))).collect();
    [half(&order[..n]), half(&order[n..])]
}

/// Creates a row; its case names the source of distances, the number of pairs and the threads.
pub(super) fn row(
    n: usize,
    distances: &str,
    (pairs, threads): (usize, usize),
    seconds: f64,
    peer: Option<Peer>,
    more: Vec<(&'static str, f64)>,
) -> Row {
    let case = vec![
        ("distances", distances.to_owned()),
        ("pairs", pairs.to_string()),
        ("threads", threads.to_string()),
    ];
    Row { bench: "exact", n, case, seconds, peer, more }
}

/// Times the plain solver per pair, after checking that it finds the same values.
fn time_plain(problem: &TimedPairs, matrix: &GroundMetric) -> crate::Result<Peer> {
    // The plain solver is slow at the larger sizes; a few pairs suffice.
    let some = &problem.pairs[..problem.pairs.len().min(10)];
    let plain = |&(i, j): &(usize, usize)| {
        let (a, b) = (problem.measures.row(i), problem.measures.row(j));
        transport(a, b, |x, y| matrix.distance(x, y), true)
    };
    for (pair, ours) in some.iter().zip(problem.solve(matrix)?) {
        let theirs = plain(pair)?.value;
        assert!((ours - theirs).abs() <= 1e-9 * theirs, "ours {ours}, plain solver {theirs}");
    }
    let seconds = median_seconds(|| some.iter().map(plain).collect::<Vec<_>>());
    Ok(Peer { name: "plain shortest paths", seconds: seconds / some.len() as f64 })
}

/// Times the many pairs from coordinates, on one thread and on two.
fn many(side: usize, seed: u64, report: &mut impl FnMut(&Row)) -> Result<()> {
    let problem = TimedPairs::many(side, seed)?;
    let count = problem.pairs.len();
    let mut alone = None;
    for threads in [1, 2] {
        let solve = || problem.solve(&problem.metric);
        let seconds = on_threads(threads, || median_seconds(solve));
        let speed_up = *alone.get_or_insert(seconds) / seconds;
        let more = vec![("pairs_per_second", count as f64 / seconds), ("speed_up", speed_up)];
        let seconds = seconds / count as f64;
        report(&row(MANY_SUPPORT, "coordinates", (count, threads), seconds, None, more));
    }
    Ok(())
}

/// Times one solve from coordinates with its memory.
fn memory(n: usize, seed: u64) -> Result<Row> {
    let problem = TimedPairs::new(n, 1, seed)?;
    let begun = Instant::now();
    let (values, peak) = on_threads(1, || peak_mib(|| problem.solve(&problem.metric)));
    values?;
    let more = peak.map(|mib| ("peak_mib", mib)).into_iter().collect();
    Ok(row(n, "coordinates", (1, 1), begun.elapsed().as_secs_f64(), None, more))
}

/// Runs a job in a thread pool of its own.
pub(super) fn on_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a few threads can be started").install(job)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_checks_itself_against_the_plain_solver() {
        let mut rows = vec![];
        exact(&[1, 12], 1, |row| rows.push(row.clone())).unwrap();
        assert_eq!(rows.iter().map(|row| row.n).collect::<Vec<_>>(), [1, 1, 12, 12]);
        assert!(rows.iter().all(|row| row.ratio().is_some() && row.more[0].0 == "pivots"));
    }

    #[test]
    fn many_pairs_run_on_one_and_on_two_threads() {
        let mut rows = vec![];
        many(3, 1, &mut |row: &Row| rows.push(row.clone())).unwrap();
        let cases: Vec<_> = rows.iter().map(|row| (&*row.case[1].1, &*row.case[2].1)).collect();
        assert_eq!(cases, [("9", "1"), ("9", "2")]);
        assert_eq!(rows[0].more[1], ("speed_up", 1.0));
    }

    #[test]
    fn pairs_share_no_point() {
        let problem = TimedPairs::new(20, 3, 5).unwrap();
        for &(i, j) in &problem.pairs {
            let (a, b) = (problem.measures.row(i), problem.measures.row(j));
            assert_eq!((a.support().len(), b.support().len()), (20, 20));
            assert!(a.support().iter().all(|p| !b.support().contains(p)));
        }
    }

    #[test]
    fn a_missing_data_set_is_no_row() {
        assert!(exact_network(Path::new("no/such/folder"), 0).unwrap().is_none());
    }
}
