//! The problems of [`exact`](super::exact()) as files, so that other solvers get the same ones.
//!
//! [`dump`] creates one folder per support size, with `cost.npy` (pairs × n × n), `a.npy` and
//! `b.npy` (pairs × n), and the folder `many` with `points.npy` and `masses.npy` (200 measures,
//! each on the next 30 points; the first hundred are paired with the second). [`dump_graphs`]
//! creates one folder per graph, with `edges.npy` (source, target, length) and `nodes.npy` (the
//! masses of measures on all nodes, paired in order). [`replay`] times our solver on one such
//! folder.

use std::fs::{File, create_dir_all};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::Path;

use treeport::io::npy;
use treeport::{Error, GroundMetric, Measures, PointMetric, Problem, Result, silent};

use super::exact::{DIM, MANY_SUPPORT, SIDE, TimedPairs, cross, pairs_at};
use super::graph::GraphProblem;
use super::median_seconds;

/// Result of replaying a folder.
#[derive(Clone, Debug, PartialEq)]
pub struct Replay {
    /// Support size.
    pub n: usize,
    /// Median seconds per pair, without reading.
    pub seconds: f64,
    /// Value of every pair.
    pub values: Vec<f64>,
}

/// Writes the problems of each size, and the many small pairs, below `folder`.
///
/// # Errors
/// A file cannot be written.
pub fn dump(folder: &Path, sizes: &[usize], seed: u64) -> Result<()> {
    for &n in sizes {
        let problem = TimedPairs::new(n, pairs_at(n), seed)?;
        write_pairs(&folder.join(n.to_string()), n, &problem)?;
    }
    write_many(&folder.join("many"), &TimedPairs::many(SIDE, seed)?)
}

/// Solves the problems of a folder written by [`dump`]. Cost matrices are solved on one thread; the
/// many pairs from coordinates, on the threads of the current pool.
///
/// # Errors
/// A file is missing or was not written by [`dump`].
pub fn replay(folder: &Path) -> Result<Replay> {
    if folder.join("points.npy").exists() {
        replay_many(folder)
    } else if folder.join("edges.npy").exists() {
        replay_graph(folder)
    } else {
        replay_pairs(folder)
    }
}

/// Writes grids of about `sizes` nodes, and the bus networks in `data`, below `folder`.
///
/// # Errors
/// A file cannot be read or written.
pub fn dump_graphs(folder: &Path, sizes: &[usize], data: &Path, seed: u64) -> Result<()> {
    let grids = sizes.iter().map(|&n| GraphProblem::grid(n, seed)).collect::<Result<Vec<_>>>()?;
    let networks = GraphProblem::networks(data, seed)?;
    networks.iter().chain(&grids).try_for_each(|problem| write_graph(folder, problem))
}

fn write_graph(folder: &Path, problem: &GraphProblem) -> Result<()> {
    let n = problem.metric.points();
    let name = if problem.name == "grid" { format!("grid{n}") } else { problem.name.clone() };
    let edges = problem.metric.edges().expect("the problem is on a graph");
    let edges: Vec<f64> =
        edges.iter().flat_map(|&(a, b, w)| [f64::from(a), f64::from(b), w]).collect();
    let masses: Vec<f64> = problem.measures.iter().flat_map(|row| row.masses().to_vec()).collect();
    let folder = folder.join(name);
    write(&folder, "edges.npy", &[edges.len() / 3, 3], &edges)?;
    write(&folder, "nodes.npy", &[problem.measures.len(), n], &masses)
}

fn replay_graph(folder: &Path) -> Result<Replay> {
    let (_, edges) = read(folder, "edges.npy", 2)?;
    let (shape, masses) = read(folder, "nodes.npy", 2)?;
    let n = shape[1];
    let edges: Vec<(usize, usize, f64)> =
        edges.chunks_exact(3).map(|edge| (edge[0] as usize, edge[1] as usize, edge[2])).collect();
    let metric = GroundMetric::from_edges(n, &edges)?;
    let measures = Measures::from_dense(n, &masses)?;
    let problem = GraphProblem { name: "graph".into(), metric, measures };
    let values = problem.solve()?;
    let seconds = median_seconds(|| problem.solve());
    Ok(Replay { n, seconds: seconds / values.len() as f64, values })
}

fn write_pairs(folder: &Path, n: usize, problem: &TimedPairs) -> Result<()> {
    let count = problem.pairs.len();
    let side = |measure: usize| problem.measures.row(measure);
    let points = |measure: usize| side(measure).support().iter().map(|&p| p as usize).collect();
    let mut cost = vec![0.0; count * n * n];
    let (mut a, mut b) = (Vec::new(), Vec::new());
    let matrix = problem.metric.materialized()?;
    for (&(i, j), out) in problem.pairs.iter().zip(cost.chunks_exact_mut(n * n)) {
        let (left, right): (Vec<usize>, Vec<usize>) = (points(i), points(j));
        matrix.block(&left, &right, out);
        a.extend_from_slice(side(i).masses());
        b.extend_from_slice(side(j).masses());
    }
    write(folder, "cost.npy", &[count, n, n], &cost)?;
    write(folder, "a.npy", &[count, n], &a)?;
    write(folder, "b.npy", &[count, n], &b)
}

fn write_many(folder: &Path, many: &TimedPairs) -> Result<()> {
    let (_, points) = many.metric.coordinates().expect("the problem is made of points");
    write(folder, "points.npy", &[many.metric.points(), DIM], points)?;
    let masses: Vec<f64> = many.measures.iter().flat_map(|m| m.masses().to_vec()).collect();
    write(folder, "masses.npy", &[many.measures.len(), MANY_SUPPORT], &masses)
}

fn replay_pairs(folder: &Path) -> Result<Replay> {
    let (shape, cost) = read(folder, "cost.npy", 3)?;
    let (count, n) = (shape[0], shape[1]);
    let (a, b) = (read(folder, "a.npy", 2)?.1, read(folder, "b.npy", 2)?.1);
    let mut problems = Vec::with_capacity(count);
    for (k, block) in cost.chunks_exact(n * n).enumerate() {
        let range = k * n..(k + 1) * n;
        let left = a[range.clone()].iter().copied().enumerate().collect::<Vec<_>>();
        let right = b[range].iter().enumerate().map(|(j, &mass)| (n + j, mass)).collect();
        problems.push((bipartite(n, block)?, Measures::from_rows(2 * n, [left, right])?));
    }
    let solve = |problem: &(GroundMetric, Measures)| {
        Problem::new(&problem.0, &problem.1.row(0), &problem.1.row(1)).value(&silent)
    };
    let values = problems.iter().map(solve).collect::<Result<Vec<_>>>()?;
    let seconds = median_seconds(|| problems.iter().map(solve).collect::<Result<Vec<_>>>());
    Ok(Replay { n, seconds: seconds / count as f64, values })
}

/// Creates a matrix over the points of both sides; distances within a side are never used.
fn bipartite(n: usize, block: &[f64]) -> Result<GroundMetric> {
    let mut condensed = Vec::with_capacity(n * (2 * n - 1));
    for (i, row) in block.chunks_exact(n).enumerate() {
        condensed.resize(condensed.len() + n - i - 1, 0.0);
        condensed.extend_from_slice(row);
    }
    condensed.resize(n * (2 * n - 1), 0.0);
    GroundMetric::from_condensed(2 * n, condensed)
}

fn replay_many(folder: &Path) -> Result<Replay> {
    let (shape, points) = read(folder, "points.npy", 2)?;
    let metric = GroundMetric::from_points(shape[1], points, PointMetric::Euclidean)?;
    let (shape, masses) = read(folder, "masses.npy", 2)?;
    let n = shape[1];
    let rows = masses.chunks_exact(n).enumerate();
    let rows = rows.map(|(r, row)| row.iter().enumerate().map(move |(k, &m)| (r * n + k, m)));
    let measures = Measures::from_rows(metric.points(), rows)?;
    let problem = TimedPairs { metric, measures, pairs: cross(shape[0] / 2) };
    let values = problem.solve(&problem.metric)?;
    let seconds = median_seconds(|| problem.solve(&problem.metric));
    Ok(Replay { n, seconds: seconds / problem.pairs.len() as f64, values })
}

fn write(folder: &Path, name: &str, shape: &[usize], values: &[f64]) -> Result<()> {
    let path = folder.join(name);
    let save = || -> io::Result<()> {
        create_dir_all(folder)?;
        let mut out = BufWriter::new(File::create(&path)?);
        npy::write_f64(shape, values, &mut out)?;
        out.flush()
    };
    save().map_err(|source| Error::write(path.clone(), source))
}

/// Reads shape and values of a file with the given number of dimensions.
fn read(folder: &Path, name: &str, dimensions: usize) -> Result<(Vec<usize>, Vec<f64>)> {
    let path = folder.join(name);
    let file = File::open(&path).map_err(|source| Error::read(path, source))?;
    let array = npy::read(BufReader::new(file))?;
    let shape = array.shape.clone();
    if shape.len() != dimensions {
        return Err(Error::Shape {
            what: name.into(),
            expected: format!("{dimensions} dimensions"),
            found: format!("{shape:?}"),
        });
    }
    Ok((shape, array.into_f64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_replays_to_the_same_values() {
        let folder = tempfile::tempdir().unwrap();
        dump(folder.path(), &[7], 3).unwrap();
        let problem = TimedPairs::new(7, pairs_at(7), 3).unwrap();
        let expected = problem.solve(&problem.metric).unwrap();
        let replayed = replay(&folder.path().join("7")).unwrap();
        assert_eq!(replayed.n, 7);
        assert_eq!(replayed.values.len(), expected.len());
        for (ours, theirs) in replayed.values.iter().zip(&expected) {
            assert!((ours - theirs).abs() <= 1e-12 * theirs, "{ours}, {theirs}");
        }
        write_many(&folder.path().join("few"), &TimedPairs::many(2, 3).unwrap()).unwrap();
        let few = replay(&folder.path().join("few")).unwrap();
        assert_eq!((few.n, few.values.len()), (MANY_SUPPORT, 4));
        assert!(replay(&folder.path().join("8")).is_err());
    }

    #[test]
    fn a_dumped_graph_replays_to_the_same_values() {
        let folder = tempfile::tempdir().unwrap();
        dump_graphs(folder.path(), &[30], folder.path(), 3).unwrap();
        let replayed = replay(&folder.path().join("grid25")).unwrap();
        let expected = GraphProblem::grid(30, 3).unwrap().solve().unwrap();
        assert_eq!((replayed.n, replayed.values), (25, expected));
    }
}
