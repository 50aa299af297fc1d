//! The fast projection compared with the paper's: Prim on the dense matrix.

use rand::RngExt;
use treeport::Tree;

use super::{Peer, Row, median_seconds, memory::peak_mib};
use crate::generate::{Random, random_merge_tree, seeded};

/// Maximum number of points for which the peer's matrix (8 bytes per entry) is built.
const DENSE_LIMIT: usize = 16_000;

/// Times the projection for each size and passes every row to `report`: the heights of a random
/// tree, perturbed by up to a tenth of its height, like a large gradient step. The peer is Prim
/// alone on the implied distances, given its matrix; ours includes the projected tree.
pub fn project(sizes: &[usize], seed: u64, mut report: impl FnMut(&Row)) -> treeport::Result<()> {
    for &n in sizes {
        let mut rng = seeded(seed);
        let tree = random_merge_tree(n, &mut rng)?;
        let heights = moved_heights(&tree, &mut rng);
        let (first, peak) = peak_mib(|| treeport::project(&tree, &heights));
        let projected = first?;
        let seconds = median_seconds(|| treeport::project(&tree, &heights));
        let peer = (n <= DENSE_LIMIT).then(|| time_prim(&tree, &heights, &projected));
        let more = peak.map(|mib| ("peak_mib", mib)).into_iter().collect();
        report(&Row { bench: "project", n, case: vec![], seconds, peer, more });
    }
    Ok(())
}

fn moved_heights(tree: &Tree, rng: &mut Random) -> Vec<f64> {
    let heights = tree.heights();
    let amplitude = 0.1 * heights[tree.root()];
    heights.iter().map(|h| h + rng.random_range(-amplitude..amplitude)).collect()
}

/// Times Prim on the dense matrix, after checking that it finds the same spanning tree.
fn time_prim(tree: &Tree, heights: &[f64], projected: &Tree) -> Peer {
    let n = tree.leaves();
    let matrix = implied_distances(tree, heights);
    let weight: f64 = prim(n, &matrix).iter().map(|w| w.max(0.0)).sum();
    // In a binary merge tree, the inner heights are half of the spanning tree's edges.
    let ours = 2.0 * projected.heights()[n..].iter().sum::<f64>();
    assert!((weight - ours).abs() <= 1e-9 * weight, "Prim found {weight}, the projection {ours}");
    Peer { name: "prim, dense matrix given", seconds: median_seconds(|| prim(n, &matrix)) }
}

/// Computes 2θ(lca) − θ(i) − θ(j) for all pairs, row by row, by one descent per point: O(n²).
pub(super) fn implied_distances(tree: &Tree, heights: &[f64]) -> Vec<f64> {
    let (n, parents) = (tree.leaves(), tree.parents());
    let mut matrix = vec![0.0; n * n];
    for (i, row) in matrix.chunks_exact_mut(n).enumerate() {
        let mut meet = vec![f64::NAN; tree.nodes()];
        let mut v = i;
        while v != tree.root() {
            v = parents[v] as usize;
            meet[v] = heights[v];
        }
        for v in (0..tree.root()).rev() {
            if meet[v].is_nan() {
                meet[v] = meet[parents[v] as usize];
            }
        }
        for (j, out) in row.iter_mut().enumerate() {
            *out = 2.0 * meet[j] - heights[i] - heights[j];
        }
        row[i] = 0.0;
    }
    matrix
}

/// Computes the edge weights of the minimum spanning tree of a dense matrix in O(n²), in two passes
/// a round over flat arrays that compilers vectorize: the fastest of the variants tried.
pub(super) fn prim(n: usize, matrix: &[f64]) -> Vec<f64> {
    let mut near = vec![f64::INFINITY; n];
    let mut outside = vec![0.0; n]; // infinite once a point is in the tree
    let mut weights = Vec::with_capacity(n - 1);
    let mut newest = 0;
    for _ in 1..n {
        outside[newest] = f64::INFINITY;
        near[newest] = f64::INFINITY;
        let row = &matrix[newest * n..(newest + 1) * n];
        for ((near, &distance), &outside) in near.iter_mut().zip(row).zip(&outside) {
            let distance = distance + outside;
            *near = if distance < *near { distance } else { *near };
        }
        let nearest = near.iter().copied().fold(f64::INFINITY, |a, b| if b < a { b } else { a });
        newest = near.iter().position(|&d| d == nearest).expect("a point is outside");
        weights.push(nearest);
    }
    weights
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_checks_itself_against_prim_on_small_sizes() {
        let mut sizes = vec![];
        project(&[2, 3, 50, 300], 1, |row| sizes.push((row.n, row.ratio().is_some()))).unwrap();
        assert_eq!(sizes, [(2, true), (3, true), (50, true), (300, true)]);
    }
}
