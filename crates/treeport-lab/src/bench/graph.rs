//! Exact transport on graphs: on the edges compared with a distance matrix, and between small
//! supports by a hierarchy of paths compared with plain searches.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::RngExt;
use treeport::{Error, GroundMetric, Labelled, Measures, Problem, Result, silent};

use super::exact::on_threads;
use super::{Peer, Row, median_seconds};
use crate::generate::{Random, couples, seeded, sparse_measures};

/// Pairs of measures per mean.
const PAIRS: usize = 3;

/// Maximum number of nodes for which the solver with a full distance matrix is the peer.
const TABLE_LIMIT: usize = 2_500;

/// Size of a small support.
const SMALL: usize = 100;

/// Labels on a road network.
const LABELS: usize = 300;

/// Graphs of the data folder with mass on all nodes, and road networks with small supports.
const NETWORKS: [&str; 2] = ["kuopio", "belfast"];
const ROADS: [&str; 2] = ["road_ny", "road_fla"];

/// A graph and pairs of measures on it.
pub(super) struct GraphProblem {
    pub(super) name: String,
    pub(super) metric: GroundMetric,
    pub(super) measures: Measures,
}

impl GraphProblem {
    /// Creates a square street grid of about `n` nodes, with mass on all of them.
    pub(super) fn grid(n: usize, seed: u64) -> Result<Self> {
        let mut rng = seeded(seed);
        let metric = grid(n.isqrt().max(2), &mut rng)?;
        Self::full("grid".into(), metric, &mut rng)
    }

    fn full(name: String, metric: GroundMetric, rng: &mut Random) -> Result<Self> {
        let n = metric.points();
        let measures = sparse_measures(n, n, 2 * PAIRS, rng)?;
        Ok(Self { name, metric, measures })
    }

    /// Reads the graphs that the data folder has, with mass on all nodes.
    pub(super) fn networks(folder: &Path, seed: u64) -> Result<Vec<Self>> {
        let there = NETWORKS.iter().filter(|name| edges_of(folder, name).is_file());
        let read = |name: &&str| {
            Self::full((*name).into(), read(&edges_of(folder, name))?, &mut seeded(seed))
        };
        there.map(read).collect()
    }

    /// Solves all pairs on one thread.
    pub(super) fn solve(&self) -> Result<Vec<f64>> {
        couples(PAIRS).into_iter().map(|(i, j)| self.value(&self.metric, i, j)).collect()
    }

    fn value(&self, metric: &GroundMetric, i: usize, j: usize) -> Result<f64> {
        Problem::new(metric, &self.measures.row(i), &self.measures.row(j)).value(&silent)
    }

    /// Times problems with mass on all nodes on the edges; the peer is the solver with a distance
    /// matrix.
    fn full_row(&self) -> Result<Row> {
        let mut pivots = 0;
        for (i, j) in couples(PAIRS) {
            let (a, b) = (self.measures.row(i), self.measures.row(j));
            pivots += Problem::new(&self.metric, &a, &b).solve(&silent)?.pivots;
        }
        let n = self.metric.points();
        let seconds = median_seconds(|| self.solve()) / PAIRS as f64;
        let peer = (n <= TABLE_LIMIT).then(|| self.time_table()).transpose()?;
        let more = vec![("pivots", pivots as f64 / PAIRS as f64)];
        Ok(row(n, &self.name, n, seconds, peer, more))
    }

    fn time_table(&self) -> Result<Peer> {
        let table = self.metric.materialized()?;
        for ((i, j), ours) in couples(PAIRS).into_iter().zip(self.solve()?) {
            let theirs = self.value(&table, i, j)?;
            assert!((ours - theirs).abs() <= 1e-9 * theirs, "edges {ours}, table {theirs}");
        }
        let all = || couples(PAIRS).into_iter().map(|(i, j)| self.value(&table, i, j));
        let seconds = median_seconds(|| all().collect::<Result<Vec<_>>>());
        Ok(Peer { name: "all distances given", seconds: seconds / PAIRS as f64 })
    }
}

/// Times grids of about `n` nodes on one thread: mass on all nodes, then on 100.
///
/// # Errors
/// None for sizes of at least 2 (never seen: a result without a certificate).
pub fn graph(sizes: &[usize], seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    for &n in sizes {
        let problem = GraphProblem::grid(n, seed)?;
        report(&on_threads(1, || problem.full_row())?);
        report(&small_row("grid", &problem.metric, seed)?);
    }
    Ok(())
}

/// Times the graphs that the data folder has: bus networks with mass on all nodes, roads with small
/// supports, and labels for learning on them.
///
/// # Errors
/// A data file cannot be read.
pub fn graph_networks(folder: &Path, seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    for problem in GraphProblem::networks(folder, seed)? {
        report(&on_threads(1, || problem.full_row())?);
    }
    for name in ROADS {
        let path = edges_of(folder, name);
        if path.is_file() {
            let metric = read(&path)?;
            report(&small_row(name, &metric, seed)?);
            report(&labels_row(name, &metric, seed)?);
        }
    }
    Ok(())
}

/// Times small supports by the hierarchy, whose construction is timed, too; the peer searches the
/// graph.
fn small_row(name: &str, metric: &GroundMetric, seed: u64) -> Result<Row> {
    let n = metric.points();
    let measures = sparse_measures(n, SMALL.min(n), 2, &mut seeded(seed))?;
    let solve = || Problem::new(metric, &measures.row(0), &measures.row(1)).value(&silent);
    // A few searches are too little for the solver to build a hierarchy.
    let begun = Instant::now();
    let theirs = on_threads(1, solve)?;
    let peer = Peer { name: "searches", seconds: begun.elapsed().as_secs_f64() };
    let begun = Instant::now();
    metric.index_paths(&silent)?;
    let build = begun.elapsed().as_secs_f64();
    let ours = solve()?;
    assert!((ours - theirs).abs() <= 1e-9 * theirs, "hierarchy {ours}, searches {theirs}");
    let seconds = on_threads(1, || median_seconds(solve));
    Ok(row(n, name, SMALL.min(n), seconds, Some(peer), vec![("build_seconds", build)]))
}

/// Times labels of measures with small supports on all threads, after building the hierarchy.
fn labels_row(name: &str, metric: &GroundMetric, seed: u64) -> Result<Row> {
    let n = metric.points();
    let measures = sparse_measures(n, SMALL, 100, &mut seeded(seed))?;
    let begun = Instant::now();
    let labels = Labelled::sample(metric, &measures, LABELS, seed, &silent)?;
    let seconds = begun.elapsed().as_secs_f64();
    let more = vec![("labels", labels.len() as f64)];
    Ok(row(n, &format!("{name}, labels"), SMALL, seconds, None, more))
}

/// Creates streets with integer lengths from 1,000 to 10,000, so that integer solvers get the same
/// problem.
fn grid(side: usize, rng: &mut Random) -> Result<GroundMetric> {
    let node = |x: usize, y: usize| x * side + y;
    let right = (0..side).flat_map(|x| (1..side).map(move |y| (node(x, y - 1), node(x, y))));
    let down = (1..side).flat_map(|x| (0..side).map(move |y| (node(x - 1, y), node(x, y))));
    let length = |(a, b)| (a, b, f64::from(rng.random_range(1_000..10_000)));
    let edges: Vec<_> = right.chain(down).map(length).collect();
    GroundMetric::from_edges(side * side, &edges)
}

fn edges_of(folder: &Path, name: &str) -> PathBuf {
    folder.join(name).join("edges.csv")
}

pub(super) fn read(path: &Path) -> Result<GroundMetric> {
    let file = File::open(path).map_err(|source| Error::read(path, source))?;
    Ok(GroundMetric::read_graph_csv(file, None)?.0)
}

fn row(
    n: usize,
    name: &str,
    support: usize,
    seconds: f64,
    peer: Option<Peer>,
    more: Vec<(&'static str, f64)>,
) -> Row {
    let case = vec![("graph", name.to_owned()), ("support", support.to_string())];
    Row { bench: "graph", n, case, seconds, peer, more }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_checks_itself_against_the_table_and_searches() {
        let mut rows = vec![];
        graph(&[30], 1, |row| rows.push(row.clone())).unwrap();
        let cases: Vec<_> = rows.iter().map(|row| (row.n, &*row.case[1].1)).collect();
        assert_eq!(cases, [(25, "25"), (25, "25")]);
        assert_eq!(rows[0].peer.as_ref().unwrap().name, "all distances given");
        assert_eq!(rows[1].more[0].0, "build_seconds");
    }

    #[test]
    fn networks_come_from_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut count = 0;
        graph_networks(folder.path(), 0, |_| count += 1).unwrap();
        assert_eq!(count, 0);
        std::fs::create_dir(folder.path().join("kuopio")).unwrap();
        let edges = "source,target,weight\n0,1,2\n1,2,0\n2,0,3\n";
        std::fs::write(edges_of(folder.path(), "kuopio"), edges).unwrap();
        graph_networks(folder.path(), 0, |row| {
            assert_eq!((row.n, &*row.case[0].1), (3, "kuopio"));
            count += 1;
        })
        .unwrap();
        assert_eq!(count, 1);
    }
}
