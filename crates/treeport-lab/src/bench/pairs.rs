//! All pairs of a collection, on one thread and on all.

use rayon::prelude::*;
use treeport::build::linkage;
use treeport::internal::tree::{RankedMeasures, Scratch};
use treeport::{GroundMetric, Linkage, PointMetric, silent};

use super::exact::on_threads;
use super::{Peer, Row, median_seconds};
use crate::Result;
use crate::generate::{clustered_points, documents, seeded};

/// Words per document, size, dimension and clusters of the vocabulary.
const WORDS: usize = 60;
const VOCABULARY: usize = 10_000;
const DIM: usize = 50;
const CLUSTERS: usize = 100;

/// Pairs on which the peer is timed.
const SAMPLE: usize = 200_000;

/// Times all pairs of `count` generated documents in blocks of rows, as for a table larger than
/// memory. The peer computes distances of prepared documents pair by pair on as many threads, timed
/// on some pairs.
///
/// # Errors
/// Not enough memory.
pub fn pairs(count: usize, seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    let mut rng = seeded(seed);
    let points = clustered_points(VOCABULARY, DIM, CLUSTERS, &mut rng);
    let metric = GroundMetric::from_points(DIM, points, PointMetric::Euclidean)?;
    let tree = linkage(&metric, Linkage::Neighbors, &treeport::silent)?;
    let prepared = tree.prepare(&documents(VOCABULARY, CLUSTERS, WORDS, count, &mut rng)?)?;
    let all = rayon::current_num_threads();
    for threads in if all == 1 { vec![1] } else { vec![1, all] } {
        report(&on_threads(threads, || measure(&prepared, threads))?);
    }
    Ok(())
}

fn measure(prepared: &RankedMeasures, threads: usize) -> Result<Row> {
    let count = prepared.measures().len();
    let pairs = (count * (count - 1) / 2) as f64;
    // 64 MiB of distances at a time.
    let rows = ((1 << 23) / count.max(1)).max(1);
    let begun = std::time::Instant::now();
    for first in (0..count).step_by(rows) {
        // The lower triangle equals the upper one.
        prepared.block(first..count.min(first + rows), first..count, &silent)?;
    }
    let seconds = begun.elapsed().as_secs_f64();
    let sample: Vec<(usize, usize)> =
        (0..SAMPLE).map(|k| (k * 7919 % count, k * 104_729 % count)).collect();
    let one_by_one = median_seconds(|| {
        let distance = |scratch: &mut Scratch, &(i, j): &(usize, usize)| {
            prepared.distance_to(i, prepared, j, scratch)
        };
        sample.par_iter().map_init(Scratch::default, distance).sum::<f64>()
    });
    Ok(Row {
        bench: "pairs",
        n: count,
        case: vec![("threads", threads.to_string()), ("words", WORDS.to_string())],
        seconds,
        peer: Some(Peer { name: "pair by pair", seconds: one_by_one / SAMPLE as f64 * pairs }),
        more: vec![("million_pairs_per_second", pairs / seconds / 1e6)],
    })
}
