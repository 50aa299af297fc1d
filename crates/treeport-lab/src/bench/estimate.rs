//! Levels of accuracy from a tree to the exact solver: time per pair by support.

use std::time::Instant;

use treeport::accuracy::Level;
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::Estimator;
use treeport::internal::score::median;
use treeport::{
    Forest, GroundMetric, Measure, Measures, Model, PointMetric, Problem, Result, Tree, silent,
};

use super::mixture::{DIM, mixture, near};
use super::{Peer, Row};
use crate::generate::{Random, seeded, sparse_measures};

/// Trees of the forest.
const TREES: usize = 16;

/// Members of a family: close together, so that every linkage merges them first.
const FAMILY: usize = 4;

/// Measures per support; all pairs of them are used.
const MEASURES: usize = 64;

/// Number of timed blocks per level; levels alternate, so that noise affects all alike.
const BLOCKS: usize = 15;

/// Minimum duration of a block, so that the caches hold the data of the level.
const BLOCK_SECONDS: f64 = 0.01;

/// Times a pair at every level on one thread, for measures on `supports` points (at most all) of
/// `n` in R^300, without preparation or shortcuts to the exact solver, which is the peer.
///
/// # Errors
/// None for n of at least 2.
pub fn estimate(
    n: usize,
    supports: &[usize],
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let mut rng = seeded(seed);
    let (metric, forest) = families(n, seed, &mut rng)?;
    let estimator = Estimator::new(&metric, &Model::Forest(forest))?.by_trees_alone();
    for &support in supports {
        let measures = sparse_measures(n, support.min(n), MEASURES, &mut rng)?;
        let seconds = times(&estimator, &measures)?;
        for (job, ours) in TIMED_LEVELS.iter().zip(&seconds).skip(1) {
            report(&Row {
                bench: "estimate",
                n,
                case: vec![
                    ("support", support.min(n).to_string()),
                    ("level", job.name.to_owned()),
                    ("trees", job.trees.to_string()),
                ],
                seconds: *ours,
                peer: Some(Peer { name: "exact", seconds: seconds[0] }),
                more: vec![],
            });
        }
    }
    Ok(())
}

/// A level with the function to time.
struct TimedLevel {
    name: &'static str,
    trees: usize,
    run: fn(&Estimator, &Measure<'_>, &Measure<'_>) -> Result<f64>,
}

/// The peer is first.
const TIMED_LEVELS: [TimedLevel; 6] = [
    TimedLevel {
        name: "exact",
        trees: 0,
        run: |e, a, b| Problem::new(e.metric(), a, b).value(&silent),
    },
    TimedLevel { name: "tree", trees: 1, run: |e, a, b| e.model()?.trees()[0].distance(a, b) },
    TimedLevel {
        name: "tree",
        trees: TREES,
        run: |e, a, b| Ok(e.distance(Level::Tree, a, b)?.raw),
    },
    TimedLevel {
        name: "flow",
        trees: TREES,
        run: |e, a, b| Ok(e.distance(Level::Flow, a, b)?.raw),
    },
    TimedLevel {
        name: "flow, bounds",
        trees: TREES,
        run: |e, a, b| Ok(e.bounds(Level::Flow, a, b)?.lower),
    },
    TimedLevel {
        name: "arcs",
        trees: TREES,
        run: |e, a, b| Ok(e.distance(Level::Arcs, a, b)?.raw),
    },
];

/// Returns the median seconds per pair of every level.
fn times(estimator: &Estimator, measures: &Measures) -> Result<Vec<f64>> {
    let mut blocks = vec![Vec::new(); TIMED_LEVELS.len()];
    // Every level uses the same sequence of pairs.
    let mut next = [0; TIMED_LEVELS.len()];
    for _ in 0..BLOCKS {
        for (j, job) in TIMED_LEVELS.iter().enumerate() {
            let (begun, first) = (Instant::now(), next[j]);
            while next[j] == first || begun.elapsed().as_secs_f64() < BLOCK_SECONDS {
                let (a, b) = pair(next[j]);
                std::hint::black_box((job.run)(estimator, &measures.row(a), &measures.row(b))?);
                next[j] += 1;
            }
            blocks[j].push(begun.elapsed().as_secs_f64() / (next[j] - first) as f64);
        }
    }
    Ok(blocks.iter().map(|times| median(times)).collect())
}

/// Returns the k-th pair of different measures; all pairs occur before one repeats.
fn pair(k: usize) -> (usize, usize) {
    let (a, round) = (k % MEASURES, k / MEASURES % (MEASURES - 1));
    (a, (a + round + 1) % MEASURES)
}

/// Creates points of a Gaussian mixture in families of [`FAMILY`], and a forest of perturbed
/// linkages over them.
///
/// Linkages of all points would take minutes. A linkage merges the members of a family first, so
/// linking one member of each and attaching the others gives trees of the same shape in a sixteenth
/// of the time.
fn families(n: usize, seed: u64, rng: &mut Random) -> Result<(GroundMetric, Forest)> {
    let count = n.div_ceil(FAMILY);
    let heads = mixture(count, rng);
    let points = near(&heads, n, 0.1, rng);
    let metric = GroundMetric::from_points(DIM, points, PointMetric::Euclidean)?;
    let heads = GroundMetric::from_points(DIM, heads, PointMetric::Euclidean)?;
    let options = PerturbedOptions { n_trees: TREES, seed, ..PerturbedOptions::default() };
    let forest = perturbed(&heads, &options, &silent)?;
    let trees = forest.trees().iter().map(|tree| with_members(tree, n));
    Ok((metric, Forest::uniform(trees.collect::<Result<_>>()?)?))
}

/// Replaces each leaf of a tree by the members of its family; the result has `n` leaves.
fn with_members(tree: &Tree, n: usize) -> Result<Tree> {
    let members = (0..n).map(|point| (n + point % tree.leaves()) as u32);
    let parents = members.chain(tree.parents().iter().map(|parent| parent + n as u32));
    // Half of the distance between two members: 0.1·√(2·300)/2.
    let lengths = std::iter::repeat_n(1.2, n).chain(tree.lengths().iter().copied());
    Tree::new(n, parents.collect(), lengths.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_level_is_timed_on_a_forest_that_fits() {
        let mut rows = vec![];
        estimate(41, &[5, 100], 1, |row| rows.push(row.clone())).unwrap();
        let supports: Vec<_> = rows.iter().map(|row| row.case[0].1.as_str()).collect();
        assert_eq!(supports, [["5"; 5], ["41"; 5]].concat());
        assert!(rows.iter().all(|row| row.seconds > 0.0 && row.ratio().is_some()));
        let (metric, forest) = families(41, 1, &mut seeded(1)).unwrap();
        assert_eq!((metric.points(), forest.leaves(), forest.trees().len()), (41, 41, TREES));
        // Points 0 and 11 are of one family; 0 and 1 are not.
        for tree in forest.trees() {
            assert!(tree.leaf_distance(0, 11) < tree.leaf_distance(0, 1));
        }
    }

    #[test]
    fn pairs_are_of_different_measures_and_all_come() {
        let mut seen: Vec<_> = (0..MEASURES * (MEASURES - 1)).map(pair).collect();
        assert!(seen.iter().all(|(a, b)| a != b));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), MEASURES * (MEASURES - 1));
    }
}
