//! Random trees and noisy copies of their distances (\[CTW24\], "Learning Topologies …").

use super::{Random, normal};
use rand::RngExt;
use treeport::{Error, Result, Tree};

/// Draws a uniformly random labeled tree with `nodes` nodes and unit edges from a Prüfer code.
/// Nodes of degree 1 become the points, the first other node the root; inner nodes with one child
/// stay.
pub fn random_unit_tree(nodes: usize, rng: &mut Random) -> Result<Tree> {
    if nodes < 3 {
        return Err(Error::BadOption {
            option: "nodes",
            value: nodes.to_string(),
            expected: "a tree with an inner node needs at least 3",
        });
    }
    let code: Vec<usize> = (0..nodes - 2).map(|_| rng.random_range(0..nodes)).collect();
    let mut neighbors = vec![Vec::new(); nodes];
    for (a, b) in decode_prufer(&code) {
        neighbors[a].push(b);
        neighbors[b].push(a);
    }
    root_at_inner_node(&neighbors)
}

/// Decodes a Prüfer code to edges, taking the lowest node of degree 1 first.
fn decode_prufer(code: &[usize]) -> Vec<(usize, usize)> {
    let nodes = code.len() + 2;
    let mut degree = vec![1usize; nodes];
    for &v in code {
        degree[v] += 1;
    }
    let mut edges = Vec::with_capacity(nodes - 1);
    for &v in code {
        // Quadratic, but these trees are small and this is the definition.
        let end = degree.iter().position(|&d| d == 1).expect("a tree has an end");
        edges.push((end, v));
        degree[end] = 0;
        degree[v] -= 1;
    }
    let mut last = (0..nodes).filter(|&v| degree[v] == 1);
    let ends = (last.next(), last.next());
    edges.push((ends.0.expect("two nodes remain"), ends.1.expect("two nodes remain")));
    edges
}

/// Numbers nodes of degree 1 as points, and the others from the farthest to the root.
fn root_at_inner_node(neighbors: &[Vec<usize>]) -> Result<Tree> {
    let nodes = neighbors.len();
    let is_end = |v: usize| neighbors[v].len() == 1;
    let root = (0..nodes).find(|&v| !is_end(v)).expect("three nodes have an inner one");
    let mut parent = vec![usize::MAX; nodes];
    parent[root] = root;
    let mut order = vec![root];
    for next in 0..nodes {
        let v = order[next];
        let above = parent[v];
        for &w in neighbors[v].iter().filter(|&&w| w != above) {
            parent[w] = v;
            order.push(w);
        }
    }
    let ends = (0..nodes).filter(|&v| is_end(v));
    let inner = order.iter().rev().copied().filter(|&v| !is_end(v));
    let mut number = vec![0; nodes];
    for (new, v) in ends.clone().chain(inner).enumerate() {
        number[v] = new;
    }
    let mut renumbered = vec![0; nodes];
    for v in 0..nodes {
        renumbered[number[v]] = number[parent[v]] as u32;
    }
    let length = (0..nodes).map(|v| if v + 1 == nodes { 0.0 } else { 1.0 }).collect();
    Tree::new(ends.count(), renumbered, length)
}

/// Computes path lengths between all leaves of a tree, in condensed order.
pub fn leaf_distances(tree: &Tree) -> Vec<f64> {
    let n = tree.leaves();
    let row = |i: usize| (i + 1..n).map(move |j| tree.leaf_distance(i, j));
    (0..n).flat_map(row).collect()
}

/// Adds symmetric noise from N(0, 2σ²) to distances and clamps them at 0.
///
/// The variance is 2σ², as in \[CTW24\]: noise of variance σ² on both halves of the matrix, added
/// up.
pub fn noisy_distances(condensed: &[f64], sigma: f64, rng: &mut Random) -> Result<Vec<f64>> {
    if !(sigma >= 0.0 && sigma.is_finite()) {
        return Err(Error::BadOption {
            option: "sigma",
            value: sigma.to_string(),
            expected: "it must be finite and at least 0",
        });
    }
    let deviation = sigma * std::f64::consts::SQRT_2;
    Ok(condensed.iter().map(|d| (d + deviation * normal(rng)).max(0.0)).collect())
}

/// Draws a binary ultrametric tree that merges two random clusters at a time, at heights up to 1.
pub fn random_merge_tree(leaves: usize, rng: &mut Random) -> treeport::Result<Tree> {
    let mut clusters: Vec<usize> = (0..leaves).collect();
    let mut parent: Vec<u32> = vec![0; (2 * leaves).saturating_sub(1)];
    let mut height = vec![0.0; leaves];
    while clusters.len() > 1 {
        let node = height.len();
        height.push((node + 1 - leaves) as f64 / leaves as f64);
        for _ in 0..2 {
            let child = clusters.swap_remove(rng.random_range(0..clusters.len()));
            parent[child] = node as u32;
        }
        clusters.push(node);
    }
    if let Some(root) = parent.len().checked_sub(1) {
        parent[root] = root as u32;
    }
    let length = (0..parent.len()).map(|v| height[parent[v] as usize] - height[v]).collect();
    Tree::new(leaves, parent, length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::seeded;
    use std::collections::HashMap;

    #[test]
    fn prufer_codes_of_a_star_a_path_and_the_textbook() {
        assert_eq!(decode_prufer(&[0, 0]), [(1, 0), (2, 0), (0, 3)]);
        assert_eq!(decode_prufer(&[1, 2]), [(0, 1), (1, 2), (2, 3)]);
        assert_eq!(decode_prufer(&[3, 3, 3, 4]), [(0, 3), (1, 3), (2, 3), (3, 4), (4, 5)]);
    }

    #[test]
    fn all_sixteen_trees_on_four_nodes_come_equally_often() {
        let mut rng = seeded(0);
        let mut seen = HashMap::new();
        for _ in 0..16_000 {
            let code: Vec<usize> = (0..2).map(|_| rng.random_range(0..4)).collect();
            let mut edges = decode_prufer(&code);
            for e in &mut edges {
                *e = (e.0.min(e.1), e.0.max(e.1));
            }
            edges.sort_unstable();
            *seen.entry(edges).or_insert(0) += 1;
        }
        assert_eq!(seen.len(), 16);
        // Five standard deviations of a count with mean 1000.
        assert!(seen.values().all(|&c| (850..1150).contains(&c)), "{seen:?}");
    }

    #[test]
    fn random_trees_have_unit_edges_and_whole_distances() {
        let mut rng = seeded(0);
        for nodes in 3..60 {
            let tree = random_unit_tree(nodes, &mut rng).expect("three nodes or more");
            assert_eq!(tree.nodes(), nodes);
            assert!((2..nodes).contains(&tree.leaves()));
            assert_eq!(tree.lengths().iter().sum::<f64>(), (nodes - 1) as f64);
            let distances = leaf_distances(&tree);
            assert!(distances.iter().all(|d| *d >= 2.0 && d.fract() == 0.0));
        }
        assert!(random_unit_tree(2, &mut rng).is_err());
    }

    #[test]
    fn noise_has_variance_two_sigma_squared() {
        let far = vec![1000.0; 20_000];
        let noisy = noisy_distances(&far, 3.0, &mut seeded(0)).expect("a good sigma");
        let variance = noisy.iter().map(|d| (d - 1000.0).powi(2)).sum::<f64>() / 20_000.0;
        // Four standard errors: 18·√(2/20000)·4.
        assert!((variance - 18.0).abs() < 0.8, "{variance}");
        let near = noisy_distances(&[0.1; 100], 3.0, &mut seeded(0)).expect("a good sigma");
        assert!(near.iter().all(|d| *d >= 0.0) && near.contains(&0.0));
        assert_eq!(noisy_distances(&far[..3], 0.0, &mut seeded(0)).expect("no noise"), far[..3]);
        assert!(noisy_distances(&far, f64::NAN, &mut seeded(0)).is_err());
    }
}
