//! The sparse tree distance compared with the dense loop over all edges.

use rayon::prelude::*;
use treeport::tree::Scratch;

use super::{Peer, Row, median_seconds};
use crate::generate::{random_merge_tree, seeded, sparse_measures};

/// Number of measures: enough that pairs do not stay in the first-level cache.
const MEASURES: usize = 200;

/// Pairs per timed run.
const PAIRS: usize = 2_000;

/// Times a distance between prepared measures by support size; the peer is the dense loop.
pub fn distance(
    n: usize,
    supports: &[usize],
    seed: u64,
    mut report: impl FnMut(&Row),
) -> treeport::Result<()> {
    let mut rng = seeded(seed);
    let tree = random_merge_tree(n, &mut rng)?;
    for &support in supports {
        let support = support.min(n);
        let count = if support > n / 10 { 20 } else { MEASURES };
        let measures = sparse_measures(n, support, count, &mut rng)?;
        let prepared = tree.prepare(&measures)?;
        let pairs: Vec<(usize, usize)> =
            (0..PAIRS).map(|k| (k % count, (7 * k + 1 + k / count) % count)).collect();
        let some = &pairs[..PAIRS / 20];
        let mut scratch = Scratch::default();
        let sparse = median_seconds(|| {
            pairs.iter().map(|&(i, j)| prepared.distance_with(i, j, &mut scratch)).sum::<f64>()
        });
        let dense = median_seconds(|| {
            let dense = |&(i, j): &(usize, usize)| {
                tree.distance_dense(&measures.row(i), &measures.row(j), &mut scratch)
            };
            some.iter().map(dense).sum::<f64>()
        });
        let all_threads = median_seconds(|| {
            let each = |scratch: &mut Scratch, &(i, j): &(usize, usize)| {
                prepared.distance_with(i, j, scratch)
            };
            pairs.par_iter().map_init(Scratch::default, each).collect::<Vec<_>>()
        });
        let per_pair = 1e9 / PAIRS as f64;
        report(&Row {
            bench: "distance",
            n,
            case: vec![("support", support.to_string())],
            seconds: sparse / PAIRS as f64,
            peer: Some(Peer { name: "dense loop", seconds: dense / some.len() as f64 }),
            more: vec![
                ("ns_per_pair", sparse * per_pair),
                ("ns_per_pair_all_threads", all_threads * per_pair),
            ],
        });
    }
    Ok(())
}
