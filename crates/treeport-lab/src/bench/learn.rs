//! Learning speed at the sizes of \[CTW24\], "Training time and convergence".

use std::time::Instant;

use treeport::learn::go_on;
use treeport::{GroundMetric, Kind, Labels, LearnOptions, Linkage, Norm, linkage, silent};

use super::{Peer, Row};
use crate::generate::{Random, seeded, uniform_measures, uniform_points};

const PAIRS: usize = 200;

/// Seconds of training in the paper's table, by number of points.
const PAPER: [(usize, f64); 3] = [(800, 103.00), (1000, 92.79), (1500, 357.86)];

/// Times 50 epochs in batches of 32 over 200 pairs of full-support measures on points in the plane.
///
/// The labels are distances on another tree over the points, not exact transport: they cost nothing
/// to make, and the time of a step does not depend on their values. The peer is the paper's figure
/// for the same numbers of points, on the authors' machine.
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
    let points = uniform_points(n, 2, -10.0, 10.0, rng);
    let metric = GroundMetric::from_points(2, points, Norm::Euclidean)?;
    let measures = uniform_measures(n, 2 * PAIRS, rng)?;
    let pairs: Vec<(usize, usize)> = (0..PAIRS).map(|k| (2 * k, 2 * k + 1)).collect();
    let distances = linkage(&metric, Linkage::Complete)?.pairs(&measures, &pairs, &silent)?;
    let start = linkage(&metric, Linkage::Average)?;
    let labels = Labels { pairs, distances };
    let options = LearnOptions { kind, epochs: 50, batch: 32, ..LearnOptions::default() };
    let begun = Instant::now();
    let learned = treeport::learn(&start, &measures, &labels, &options, go_on)?;
    let seconds = begun.elapsed().as_secs_f64();
    let steps = (learned.history.len() - 1) as f64 * training_batches(&options);
    let paper = PAPER.iter().find(|(points, _)| *points == n);
    Ok(Row {
        bench: "learn",
        n,
        case: vec![("kind", kind.to_string())],
        seconds,
        peer: paper.map(|&(_, seconds)| Peer { name: "paper, other machine", seconds }),
        more: vec![
            ("gradient_seconds", learned.gradient_seconds),
            ("projection_seconds", learned.projection_seconds),
            ("ms_per_step", 1e3 * seconds / steps),
            ("steps", steps),
        ],
    })
}

fn training_batches(options: &LearnOptions) -> f64 {
    let training = (PAIRS as f64 * (1.0 - options.validation)).round();
    (training / options.batch as f64).ceil()
}
