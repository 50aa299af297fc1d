//! Average linkage of a few clusters of any sizes from a full distance matrix.

use crate::build::binary::BinaryTree;

/// Merges clusters until one is left, each pair at the mean over the points of both.
///
/// `between` is the square matrix of their distances; `node` and `size` are each cluster's node in
/// the tree and number of points. Uses the nearest-neighbor chain algorithm (Benzécri 1982). O(m²).
pub(super) fn finish(
    tree: &mut BinaryTree,
    node: &mut [u32],
    size: &mut [f64],
    between: &mut [f64],
) {
    let m = node.len();
    let mut left: Vec<usize> = (0..m).collect();
    let mut chain: Vec<usize> = Vec::new();
    while left.len() > 1 {
        let last = *chain.last().unwrap_or(&left[0]);
        if chain.is_empty() {
            chain.push(last);
        }
        let before = chain.len().checked_sub(2).map(|at| chain[at]);
        let row = &between[last * m..(last + 1) * m];
        // Ties go to the previous cluster, so that the chain ends.
        let mut nearest = before.unwrap_or(usize::MAX);
        for &other in left.iter().filter(|&&other| other != last) {
            if nearest == usize::MAX || row[other] < row[nearest] {
                nearest = other;
            }
        }
        if before != Some(nearest) {
            chain.push(nearest);
            continue;
        }
        chain.truncate(chain.len() - 2);
        let (keeps, gone) = (last.min(nearest), last.max(nearest));
        let height = 0.5 * row[nearest];
        let below = [keeps, gone].map(|c| tree.height[node[c] as usize]);
        node[keeps] = tree.join(node[keeps], node[gone], height.max(below[0]).max(below[1]));
        let share = size[gone] / (size[keeps] + size[gone]);
        size[keeps] += size[gone];
        left.retain(|&other| other != gone);
        for &other in &left {
            let (a, b) = (between[keeps * m + other], between[gone * m + other]);
            let mean = a + share * (b - a);
            (between[keeps * m + other], between[other * m + keeps]) = (mean, mean);
        }
    }
}
