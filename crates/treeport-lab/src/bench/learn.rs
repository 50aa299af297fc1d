//! Learning speed at the sizes of \[CTW24\], "Training time and convergence".

use std::time::Instant;

use treeport::internal::score::median;
use treeport::{
    GroundMetric, Kind, Labelled, LearnOptions, Learned, Linkage, PointMetric, Tree, linkage,
    silent,
};

use super::project::{implied_distances, prim};
use super::{Peer, Row, median_seconds};
use crate::generate::{Random, labelled_by, seeded, uniform_measures, uniform_points};

const PAIRS: usize = 200;

/// Seconds of training in the paper's table, by number of points. The paper does not state the
/// number of epochs or pairs, so they are listed beside our times without a ratio.
const PAPER: [(usize, f64); 3] = [(800, 103.00), (1000, 92.79), (1500, 357.86)];

/// Times 50 epochs in batches of 32 over 200 pairs of full-support measures on points in the plane:
/// the median of three runs from a given start.
///
/// The labels are distances on another tree over the points instead of exact transport: they are
/// cheap, and the time of a step does not depend on their values. The peer is the same training
/// with the paper's projection in every step: the N×N matrix from the heights, then Prim.
///
/// # Errors
/// None for sizes of at least 2.
pub fn learn(
    sizes: &[usize],
    kinds: &[Kind],
    seed: u64,
    mut report: impl FnMut(&Row),
) -> treeport::Result<()> {
    for &n in sizes {
        for &kind in kinds {
            report(&one(n, kind, &mut seeded(seed))?);
        }
    }
    Ok(())
}

fn one(n: usize, kind: Kind, rng: &mut Random) -> treeport::Result<Row> {
    let (start, data) = problem(n, rng)?;
    let options =
        LearnOptions { kind, batch_size: 32, validation_fraction: 0.0, ..LearnOptions::default() };
    let mut runs: Vec<(f64, Learned)> = Vec::new();
    for _ in 0..3 {
        let begun = Instant::now();
        let learned = treeport::learn(&start, &data, &options, &silent)?;
        runs.push((begun.elapsed().as_secs_f64(), learned));
    }
    let of = |pick: fn(&(f64, Learned)) -> f64| median(&runs.iter().map(pick).collect::<Vec<_>>());
    let seconds = of(|run| run.0);
    let gradient = of(|run| run.1.gradient_seconds);
    let steps = (options.epochs * PAIRS.div_ceil(options.batch_size)) as f64;
    let peer = (kind != Kind::SkipMst).then(|| Peer {
        name: "the same with the dense matrix and Prim in every step",
        seconds: gradient + steps * dense_projection(&runs[0].1.tree),
    });
    let mut more = vec![
        ("gradient_seconds", gradient),
        ("projection_seconds", of(|run| run.1.projection_seconds)),
        ("ms_per_step", 1e3 * seconds / steps),
        ("steps", steps),
    ];
    more.extend(PAPER.iter().find(|p| p.0 == n).map(|p| ("paper_seconds", p.1)));
    Ok(Row { bench: "learn", n, case: vec![("kind", kind.to_string())], seconds, peer, more })
}

fn problem(n: usize, rng: &mut Random) -> treeport::Result<(Tree, Labelled)> {
    let points = uniform_points(n, 2, -10.0, 10.0, rng);
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
    let measures = uniform_measures(n, 2 * PAIRS, rng)?;
    let data = labelled_by(&linkage(&metric, Linkage::Complete, &treeport::silent)?, &measures)?;
    Ok((linkage(&metric, Linkage::Average, &treeport::silent)?, data))
}

/// Times one projection by the paper's method, on one thread.
fn dense_projection(tree: &Tree) -> f64 {
    let heights = tree.heights();
    median_seconds(|| prim(tree.leaves(), &implied_distances(tree, &heights)))
}
