//! The sparse tree distance compared with the dense loop over all edges.

use rayon::prelude::*;
use treeport::internal::tree::Scratch;
use treeport::{Measures, Tree};

use super::{Peer, Row, median_seconds};
use crate::generate::{random_merge_tree, seeded, sparse_measures};

/// Number of measures: enough that pairs do not stay in the first-level cache.
const MEASURES: usize = 200;

/// Pairs per timed run.
const PAIRS: usize = 2_000;

/// Times a tree distance between prepared measures on one thread, for each support size (at most
/// `n`), on a random tree of `n` leaves. The peer is the dense loop over all edges; climbing from
/// every point to the root, the obvious method for few points, is timed, too.
///
/// # Errors
/// None for n of at least 2.
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
        let mut masses = vec![0.0; tree.nodes()];
        let climb = median_seconds(|| {
            some.iter().map(|&(i, j)| climbing(&tree, &measures, i, j, &mut masses)).sum::<f64>()
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
                ("ns_per_pair_climbing", climb * 1e9 / some.len() as f64),
            ],
        });
    }
    Ok(())
}

/// Distance by the obvious sparse method: climb from every point to the root, then add up the
/// visited nodes.
fn climbing(tree: &Tree, measures: &Measures, i: usize, j: usize, surplus: &mut [f64]) -> f64 {
    let mut touched = Vec::new();
    for (row, sign) in [(i, 1.0), (j, -1.0)] {
        for (point, mass) in measures.row(row).iter() {
            let mut v = point;
            while v != tree.root() {
                surplus[v] += sign * mass;
                touched.push(v);
                v = tree.parents()[v] as usize;
            }
        }
    }
    // A node visited twice counts once: its surplus is reset to 0.
    let take = |&v: &usize| std::mem::take(&mut surplus[v]).abs() * tree.lengths()[v];
    touched.iter().map(take).sum()
}
