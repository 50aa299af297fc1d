//! Benchmarks of exact transport on graphs: simplex on the edges and on a distance matrix;
//! contraction hierarchy and Dijkstra searches.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rand::RngExt;
use treeport::{Error, GroundMetric, Labeled, Problem, Result, silent};

use super::{Peer, Row, median_seconds, on_threads};
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

/// Times random masses on all nodes, on the edges; the peer has a distance matrix.
fn full_row(name: &str, metric: &GroundMetric, rng: &mut Random) -> Result<Row> {
    let n = metric.points();
    let measures = sparse_measures(n, n, 2 * PAIRS, rng)?;
    let solve = |metric: &GroundMetric| {
        let one = |(i, j)| Problem::new(metric, &measures.row(i), &measures.row(j)).solve(&silent);
        couples(PAIRS).into_iter().map(one).collect::<Result<Vec<_>>>()
    };
    let ours = solve(metric)?;
    let pivots: usize = ours.iter().map(|answer| answer.pivots).sum();
    let time = |metric: &GroundMetric| median_seconds(|| solve(metric)) / PAIRS as f64;
    let mut peer = None;
    if n <= TABLE_LIMIT {
        let table = metric.materialized()?;
        for (ours, theirs) in ours.iter().zip(solve(&table)?) {
            let (ours, theirs) = (ours.value(), theirs.value());
            assert!((ours - theirs).abs() <= 1e-9 * theirs, "edges {ours}, table {theirs}");
        }
        peer = Some(Peer { name: "all distances given", seconds: time(&table) });
    }
    let more = vec![("pivots", pivots as f64 / PAIRS as f64)];
    Ok(row(n, name, n, time(metric), peer, more))
}

/// Times grids of about `n` nodes on one thread: mass on all nodes, then on 100.
pub fn graph(sizes: &[usize], seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    for &n in sizes {
        let mut rng = seeded(seed);
        let metric = grid(n.isqrt().max(2), &mut rng)?;
        report(&on_threads(1, || full_row("grid", &metric, &mut rng))?);
        report(&small_row("grid", &metric, seed)?);
    }
    Ok(())
}

/// Times the graphs that the data folder has: bus networks with mass on all nodes, roads with small
/// supports, and labels for learning on them.
pub fn graph_networks(folder: &Path, seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    for name in NETWORKS.into_iter().filter(|name| edges_of(folder, name).is_file()) {
        let metric = read(&edges_of(folder, name))?;
        report(&on_threads(1, || full_row(name, &metric, &mut seeded(seed)))?);
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

/// Times small supports by the hierarchy, and its construction; the peer searches the graph.
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
    let labels = Labeled::sample(metric, &measures, LABELS, seed, &silent)?;
    let seconds = begun.elapsed().as_secs_f64();
    let more = vec![("labels", labels.len() as f64)];
    Ok(row(n, &format!("{name}, labels"), SMALL, seconds, None, more))
}

/// Creates streets with integer lengths from 1,000 to 10,000, for integer solvers.
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
