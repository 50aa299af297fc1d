//! Conversion from and to linkage matrices of `SciPy`.
//!
//! Row `r` states that clusters `a` and `b` merge at a height into cluster `n + r` of a number of
//! points; clusters `0..n` are the points. In `SciPy` a height is the distance between the points
//! it joins (the cophenetic distance). In a [`Tree`] that distance is a path up and down, so a
//! node's height is half of it.

use super::Tree;
use crate::error::{Error, Result};
use crate::metric::check_count;

impl Tree {
    /// Converts a linkage matrix: rows of two clusters, the height and the number of points.
    ///
    /// [`Tree::leaf_distance`] is `SciPy`'s cophenetic distance, up to rounding. A matrix without
    /// rows is the tree of one point.
    ///
    /// # Errors
    /// A row, which the error names, has a cluster that does not exist yet or was merged before; a
    /// height that is not finite, below 0 or below the row before (as in centroid and median
    /// linkage); or a wrong count.
    ///
    /// # Example
    /// ```
    /// let z = [[0.0, 2.0, 1.5, 2.0], [1.0, 3.0, 4.0, 3.0]];
    /// let tree = treeport::Tree::from_linkage(&z)?;
    /// assert_eq!(tree.leaf_distance(0, 1), 4.0);
    /// assert_eq!(tree.to_linkage()?, z);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_linkage(z: &[[f64; 4]]) -> Result<Self> {
        let leaves = z.len() + 1;
        let nodes = leaves + z.len();
        check_count(leaves)?;
        let mut parent = vec![None; nodes];
        let mut height = vec![0.0; nodes];
        let mut count = vec![1; nodes];
        for (row, &[a, b, distance, points]) in z.iter().enumerate() {
            let node = leaves + row;
            let last = if row == 0 { 0.0 } else { z[row - 1][2] };
            check_height(row, distance, last)?;
            count[node] = 0;
            for cluster in [a, b] {
                let child = cluster_number(row, cluster, node)?;
                if parent[child].replace(node as u32).is_some() {
                    return bad(row, format!("cluster {child} is merged a second time"));
                }
                count[node] += count[child];
            }
            if points != f64::from(count[node]) {
                let reason = format!("the count is {points}, the clusters hold {}", count[node]);
                return bad(row, reason);
            }
            height[node] = distance / 2.0;
        }
        // There are exactly as many merges as it takes to merge every cluster but the last once.
        let parent = parent.into_iter().map(|p| p.unwrap_or(nodes as u32 - 1)).collect();
        Self::from_heights(leaves, parent, &height)
    }

    /// Converts an ultrametric tree to a linkage matrix, as `SciPy`'s `dendrogram` and `fcluster`
    /// expect it.
    ///
    /// Rows are in increasing order of height, then of node number. A node with k > 2 children
    /// becomes k − 1 rows of the same height; a node with one child has no row. O(n log n).
    ///
    /// # Errors
    /// The tree is not ultrametric: some leaf is farther from the root than another.
    pub fn to_linkage(&self) -> Result<Vec<[f64; 4]>> {
        self.check_even()?;
        let height = self.heights_from_below();
        let mut order: Vec<usize> = (self.leaves()..self.nodes()).collect();
        // A child has a smaller number than its parent and is never higher, so it comes first.
        order.sort_by(|&u, &v| height[u].total_cmp(&height[v]).then(u.cmp(&v)));
        let children = self.children();
        let mut cluster: Vec<u32> = (0..self.nodes() as u32).collect();
        let mut count = vec![1u32; 2 * self.leaves()];
        let mut rows = Vec::with_capacity(self.leaves() - 1);
        for v in order {
            let mut below: Vec<u32> = children.of(v).iter().map(|&c| cluster[c as usize]).collect();
            below.sort_unstable();
            let mut merged = below[0];
            for &other in &below[1..] {
                let made = self.leaves() + rows.len();
                count[made] = count[merged as usize] + count[other as usize];
                let (a, b) = (merged.min(other), merged.max(other));
                rows.push([f64::from(a), f64::from(b), 2.0 * height[v], f64::from(count[made])]);
                merged = made as u32;
            }
            cluster[v] = merged;
        }
        Ok(rows)
    }

    fn check_even(&self) -> Result<()> {
        if self.is_ultrametric() {
            return Ok(());
        }
        let distance = self.root_distances();
        let by_distance = |&i: &usize, &j: &usize| distance[i].total_cmp(&distance[j]);
        let near = (0..self.leaves()).min_by(by_distance).unwrap_or(0);
        let far = (0..self.leaves()).max_by(by_distance).unwrap_or(0);
        let (near_distance, far_distance) = (distance[near], distance[far]);
        Err(Error::UnevenTree { near, near_distance, far, far_distance })
    }
}

/// Converts the number of a cluster in `row` to an integer below `made`.
#[expect(clippy::cast_sign_loss, reason = "checked to be at least 0")]
fn cluster_number(row: usize, cluster: f64, made: usize) -> Result<usize> {
    if cluster.fract() == 0.0 && cluster >= 0.0 && cluster < made as f64 {
        return Ok(cluster as usize);
    }
    bad(row, format!("there is no cluster {cluster} yet; clusters here are 0 to {}", made - 1))
}

fn check_height(row: usize, height: f64, last: f64) -> Result<()> {
    if !(height.is_finite() && height >= 0.0) {
        return bad(row, format!("the height is {height}; heights must be finite and at least 0"));
    }
    if height < last {
        let reason = format!("the height {height} is below {last} in the row before");
        return bad(
            row,
            format!("{reason}; centroid and median linkage can do this, others do not"),
        );
    }
    Ok(())
}

fn bad<T>(row: usize, reason: String) -> Result<T> {
    Err(Error::Parse { format: "linkage matrix", place: format!("row {row}"), reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `SciPy`'s single linkage of 2, 8, 0, 4, 1, 9, 9, 0 on the line.
    const SCIPY: [[f64; 4]; 7] = [
        [2.0, 7.0, 0.0, 2.0],
        [5.0, 6.0, 0.0, 2.0],
        [0.0, 4.0, 1.0, 2.0],
        [8.0, 10.0, 1.0, 4.0],
        [1.0, 9.0, 1.0, 3.0],
        [3.0, 11.0, 2.0, 5.0],
        [12.0, 13.0, 4.0, 8.0],
    ];

    #[test]
    fn leaf_distance_is_the_cophenetic_distance() {
        let tree = Tree::from_linkage(&SCIPY).unwrap();
        for (i, j, expected) in [(2, 7, 0.0), (0, 2, 1.0), (3, 7, 2.0), (1, 6, 1.0), (5, 0, 4.0)] {
            assert_eq!(tree.leaf_distance(i, j), expected, "{i} {j}");
        }
        assert_eq!(tree.to_linkage().unwrap(), SCIPY);
    }

    #[test]
    fn one_point_has_no_rows() {
        let tree = Tree::from_linkage(&[]).unwrap();
        assert_eq!((tree.leaves(), tree.nodes()), (1, 1));
        assert_eq!(tree.to_linkage().unwrap(), [[0.0; 4]; 0]);
    }

    #[test]
    fn many_children_become_rows_and_single_ones_none() {
        // A star of 4 with a chain above it and a chain above leaf 0.
        let parent = vec![4, 5, 5, 5, 5, 6, 6];
        let tree = Tree::new(4, parent, vec![1.0, 3.0, 3.0, 3.0, 2.0, 5.0, 0.0]).unwrap();
        let rows = tree.to_linkage().unwrap();
        assert_eq!(rows, [[0.0, 1.0, 6.0, 2.0], [2.0, 4.0, 6.0, 3.0], [3.0, 5.0, 6.0, 4.0]]);
    }

    #[test]
    fn heights_never_decrease_by_rounding() {
        // 0.1 + 0.2 on one side of the root is above 0.3 on the other.
        let parent = vec![4, 4, 6, 6, 5, 6, 6];
        let tree = Tree::new(4, parent, vec![0.1, 0.1, 0.3, 0.3, 0.2, 0.0, 0.0]).unwrap();
        let rows = tree.to_linkage().unwrap();
        assert!(rows.is_sorted_by(|a, b| a[2] <= b[2]), "{rows:?}");
        assert!(Tree::from_linkage(&rows).is_ok());
    }

    #[test]
    fn messages_name_the_row() {
        for (z, expected) in [
            (
                vec![[0.0, 2.0, 1.0, 2.0]],
                "row 0: there is no cluster 2 yet; clusters here are 0 to 1",
            ),
            (
                vec![[0.5, 1.0, 1.0, 2.0]],
                "row 0: there is no cluster 0.5 yet; clusters here are 0 to 1",
            ),
            (
                vec![[f64::NAN, 1.0, 1.0, 2.0]],
                "row 0: there is no cluster NaN yet; clusters here are 0 to 1",
            ),
            (vec![[1.0, 1.0, 1.0, 2.0]], "row 0: cluster 1 is merged a second time"),
            (
                vec![[0.0, 1.0, f64::INFINITY, 2.0]],
                "row 0: the height is inf; heights must be finite and at least 0",
            ),
            (
                vec![[0.0, 1.0, 2.0, 2.0], [2.0, 3.0, 1.0, 3.0]],
                "row 1: the height 1 is below 2 in the row before; centroid and median linkage can do this, others do not",
            ),
            (
                vec![[0.0, 1.0, 2.0, 2.0], [2.0, 3.0, 3.0, 2.0]],
                "row 1: the count is 2, the clusters hold 3",
            ),
        ] {
            let error = Tree::from_linkage(&z).expect_err(expected);
            assert_eq!(error.to_string(), format!("linkage matrix, {expected}"));
        }
    }

    #[test]
    fn an_uneven_tree_has_no_linkage_matrix() {
        let tree = Tree::new(2, vec![2, 2, 2], vec![3.0, 1.0, 0.0]).unwrap();
        let error = tree.to_linkage().unwrap_err();
        assert!(matches!(error, Error::UnevenTree { near: 1, far: 0, .. }), "{error}");
    }
}
