//! Slices and levels: trees that are paths, and the clusters of a hierarchy at a few scales.
//!
//! A path is a tree, too. A *slice* maps every point to its distance from a landmark. With the
//! points in the order of these values, the tree is a path, and its distance is W₁ of the two
//! measures on the line. The map is 1-Lipschitz, so a slice is a lower bound of W₁. A hierarchy
//! cannot represent that mass moves *along* something; a path can.

use crate::error::Result;
use crate::metric::GroundMetric;
use crate::progress::tasks::BUILDING;
use crate::progress::{Counter, Progress};
use crate::tree::Tree;

/// Builds slices along landmarks, each the point farthest from those before, the first from
/// `start`: at most `count`, as long as a point is left. N distances and a sort each.
pub(crate) fn landmark_slices(
    metric: &GroundMetric,
    count: usize,
    start: usize,
    progress: &Progress<'_>,
) -> Result<Vec<Tree>> {
    let counter = Counter::new(BUILDING, count, progress);
    let mut row = vec![0.0; metric.points()];
    metric.row(start, &mut row);
    let mut nearest = row.clone();
    let mut slices = Vec::new();
    while slices.len() < count {
        let Some(landmark) = farthest(&nearest) else { break };
        metric.row(landmark, &mut row);
        if slices.is_empty() {
            nearest.copy_from_slice(&row);
        }
        nearest.iter_mut().zip(&row).for_each(|(least, d)| *least = least.min(*d));
        slices.push(path(&row)?);
        counter.add(1)?;
    }
    Ok(slices)
}

/// Returns the first point with the largest distance, if one is above 0.
fn farthest(distances: &[f64]) -> Option<usize> {
    let above = distances.iter().copied().enumerate().filter(|(_, d)| *d > 0.0);
    Some(above.reduce(|best, next| if next.1 > best.1 { next } else { best })?.0)
}

/// Builds the path of points on a line: the distance of two points is the difference of their
/// values.
///
/// Inner nodes are the different values in increasing order; the largest is the root. O(N log N).
pub(crate) fn path(values: &[f64]) -> Result<Tree> {
    let n = values.len();
    if n == 1 {
        return Tree::star(1, 0.0);
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let (mut parent, mut length) = (vec![0; n], vec![0.0; n]);
    let mut node = n;
    for (k, &point) in order.iter().enumerate() {
        let step = if k == 0 { 0.0 } else { values[point] - values[order[k - 1]] };
        if step > 0.0 {
            node += 1;
            parent.push(node as u32);
            length.push(step);
        }
        parent[point] = node as u32;
    }
    parent.push(node as u32);
    length.push(0.0);
    Tree::new(n, parent, length)
}

/// Cuts a tree into at most as many clusters as each number in `cuts` says. Clusters are nodes in
/// increasing order.
///
/// The tree is split from the root down, always at the cluster with the largest height times root
/// of its size. By height alone, the clusters of words are one large cluster and single words; by
/// size alone, maps have 5 to 10 % more error. O(N log N).
pub(crate) fn levels(tree: &Tree, cuts: &[usize]) -> Vec<Vec<usize>> {
    let n = tree.leaves();
    let mut size = vec![0.0_f64; tree.nodes()];
    size[..n].fill(1.0);
    for v in 0..tree.root() {
        size[tree.parents()[v] as usize] += size[v];
    }
    let priority: Vec<f64> =
        tree.heights().iter().zip(&size).map(|(height, size)| height * size.sqrt()).collect();
    // A parent is not below its children, larger, and has a larger number: it comes before them.
    let mut splits: Vec<usize> = (n..tree.nodes()).collect();
    splits.sort_unstable_by(|a, b| priority[*b].total_cmp(&priority[*a]).then(b.cmp(a)));
    let children = tree.children();
    let mut counts = vec![1];
    for (step, &v) in splits.iter().enumerate() {
        counts.push(counts[step] + children.of(v).len() - 1);
    }
    let at = |cut: &usize| {
        let steps = counts.partition_point(|count| count <= cut).max(1) - 1;
        let mut is_split = vec![false; tree.nodes()];
        splits[..steps].iter().for_each(|&v| is_split[v] = true);
        let is_cluster =
            |&v: &usize| !is_split[v] && (v == tree.root() || is_split[tree.parents()[v] as usize]);
        (0..tree.nodes()).filter(is_cluster).collect()
    };
    cuts.iter().map(at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::build::{Linkage, linkage};
    use crate::measures::Measures;
    use crate::metric::PointMetric;
    use crate::progress::silent;
    use crate::solve::Problem;

    /// Points of the plane, some of them copies.
    fn points() -> impl Strategy<Value = Vec<f64>> {
        vec(prop_oneof![(0_i32..4).prop_map(f64::from), -9.0..9.0], 2..40).prop_map(|mut xs| {
            xs.truncate(xs.len() / 2 * 2);
            xs
        })
    }

    fn plane(points: Vec<f64>) -> GroundMetric {
        GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap()
    }

    proptest! {
        #[test]
        fn distances_on_a_path_are_differences(values in vec(prop_oneof![(0_i32..4).prop_map(f64::from), -9.0..9.0], 1..30)) {
            let tree = path(&values).unwrap();
            for i in 0..values.len() {
                for j in 0..values.len() {
                    let difference = (values[i] - values[j]).abs();
                    prop_assert!((tree.leaf_distance(i, j) - difference).abs() < 1e-12);
                }
            }
        }

        #[test]
        fn a_slice_is_a_lower_bound(points in points(), masses in vec(0.01..1.0, 80)) {
            let (n, metric) = (points.len() / 2, plane(points));
            let measures = Measures::from_dense(n, &masses[..2 * n]).unwrap().normalized();
            let (a, b) = (measures.row(0), measures.row(1));
            let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
            for slice in landmark_slices(&metric, 3, 0, &silent).unwrap() {
                prop_assert!(slice.distance(&a, &b).unwrap() <= exact + 1e-12);
            }
        }

        #[test]
        fn levels_are_nested_partitions(points in points(), cuts in vec(1_usize..25, 1..4)) {
            let tree = linkage(&plane(points), Linkage::Average, &silent).unwrap();
            let mut cuts = cuts;
            cuts.sort_unstable();
            let mut before: Option<Vec<usize>> = None;
            for (level, cut) in levels(&tree, &cuts).into_iter().zip(&cuts) {
                // Binary trees have any number of clusters.
                prop_assert_eq!(level.len(), *cut.min(&tree.leaves()));
                let cluster_of = |point: usize| {
                    let mut v = point;
                    while !level.contains(&v) {
                        prop_assert!(v != tree.root(), "point {} is in no cluster", point);
                        v = tree.parents()[v] as usize;
                    }
                    Ok(v)
                };
                let clusters = (0..tree.leaves()).map(cluster_of).collect::<Result<Vec<_>, _>>()?;
                for (i, j) in (0..tree.leaves()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                    if let Some(before) = before.as_ref().filter(|before| before[i] != before[j]) {
                        prop_assert!(clusters[i] != clusters[j], "{:?}", before);
                    }
                }
                before = Some(clusters);
            }
        }
    }

    #[test]
    fn landmarks_are_far_from_each_other_and_never_copies() {
        let metric = plane(vec![0.0, 0.0, 10.0, 0.0, 10.0, 0.0, 4.0, 0.0]);
        let slices = landmark_slices(&metric, 8, 3, &silent).unwrap();
        // Point 1 is the farthest from 3, then 0, then 3; 2 is a copy of 1.
        assert_eq!(slices.len(), 3);
        assert_eq!(slices[0], path(&[10.0, 0.0, 0.0, 6.0]).unwrap());
        assert_eq!(slices[2], path(&[4.0, 6.0, 6.0, 0.0]).unwrap());
    }
}
