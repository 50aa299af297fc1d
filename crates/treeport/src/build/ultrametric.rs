//! Construction of the tree of an ultrametric.
//!
//! The paper splits the points into parts that are a diameter apart, and each part again, from the
//! root down (\[CTW24\], "Trees and ultrametrics"). From the leaves up the same tree takes O(n²):
//! the parts at each level are the components of the shorter distances, which a minimum spanning
//! tree gives. The spanning tree also checks the input: the largest edge on its path between two
//! points is the largest ultrametric below the distances, so the distances are an ultrametric
//! exactly if they equal it.

use std::cmp::Ordering;

use crate::binary::BinaryTree;
use crate::condensed::{pair_at, pairs_of, place};
use crate::error::{Error, Result};
use crate::metric::check_count;
use crate::spanning;
use crate::tree::Tree;

/// Relative difference up to which distances count as equal.
///
/// Ten million times the rounding error of one sum, and far below any meaningful difference.
const TOLERANCE: f64 = 1e-9;

impl Tree {
    /// Builds the tree whose leaf distances are the given ultrametric on `n` points.
    ///
    /// `condensed` has d(0,1), d(0,2), …, d(1,2), … in the order of `SciPy`'s `pdist`. Points at
    /// equal distances share one parent, so an equidistant set is a star; different points may have
    /// distance 0. Distances with a relative difference of at most 1e-9 count as equal.
    ///
    /// # Errors
    /// A list of the wrong length; a distance that is negative or not finite; three points with
    /// d(i,j) > max(d(i,k), d(k,j)).
    ///
    /// # Complexity
    /// O(n²) time and O(n) memory.
    ///
    /// # Example
    /// ```
    /// let tree = treeport::Tree::from_ultrametric(3, &[1.0, 4.0, 4.0])?;
    /// assert_eq!(tree.to_newick(), "(2:2,(0:0.5,1:0.5):1.5);");
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn from_ultrametric(n: usize, condensed: &[f64]) -> Result<Self> {
        check(n, condensed)?;
        let distance = |i: usize, j: usize| match i.cmp(&j) {
            Ordering::Less => condensed[place(n, i, j)],
            Ordering::Equal => 0.0,
            Ordering::Greater => condensed[place(n, j, i)],
        };
        let row = |i: usize| Ok((0..n).map(|j| distance(i, j)).collect::<Vec<f64>>());
        let mut tree = spanning::merge(n, spanning::prim(n, row)?);
        for i in 0..n {
            let largest = tree.meeting_heights(i);
            if (0..n).any(|j| distance(i, j) > largest[j] * (1.0 + TOLERANCE)) {
                return Err(not_ultrametric(n, distance, i));
            }
        }
        tree.height.iter_mut().for_each(|h| *h *= 0.5);
        let (parent, height) = join_levels(&tree);
        Self::from_heights(n, parent, &height)
    }
}

fn check(n: usize, values: &[f64]) -> Result<()> {
    check_count(n)?;
    let pairs = pairs_of(n);
    if values.len() != pairs {
        return Err(Error::Shape {
            what: "the list of distances".into(),
            expected: format!("({pairs},), one for each pair of {n} points"),
            found: format!("({},)", values.len()),
        });
    }
    if let Some(at) = values.iter().position(|d| !(d.is_finite() && *d >= 0.0)) {
        let (from, to) = pair_at(n, at);
        return Err(Error::BadDistance { from, to, value: values[at] });
    }
    Ok(())
}

/// Returns an error with three points, `i` among them, that violate the inequality. On the spanning
/// tree path from `i` to a point that is too far, all edges are shorter than that distance; the
/// first point on the path that is too far from `i`, and the point before it, are such points.
/// O(n²).
fn not_ultrametric(n: usize, distance: impl Fn(usize, usize) -> f64, i: usize) -> Error {
    let around = |j: usize, k: usize| distance(i, k).max(distance(k, j));
    let gap = |&(j, k): &(usize, usize)| distance(i, j) - around(j, k);
    let others = (0..n).flat_map(|j| (0..n).map(move |k| (j, k)));
    let others = others.filter(|&(j, k)| j != i && k != i && j != k);
    let (j, k) = others.max_by(|a, b| gap(a).total_cmp(&gap(b))).unwrap_or((i, i));
    Error::NotUltrametric { i, j, k, direct: distance(i, j), around: around(j, k) }
}

/// Merges nodes into their parent at the same height, which turns the binary tree into the paper's.
fn join_levels(tree: &BinaryTree) -> (Vec<u32>, Vec<f64>) {
    let (n, parent, height) = (tree.leaves, tree.parents(), &tree.height);
    let nodes = parent.len();
    let root = nodes - 1;
    // Compared with the highest node of the level, so that small differences cannot add up.
    let mut level: Vec<usize> = (0..nodes).collect();
    for v in (n..root).rev() {
        let above = level[parent[v] as usize];
        if height[v] >= height[above] * (1.0 - TOLERANCE) {
            level[v] = above;
        }
    }
    let kept: Vec<usize> = (0..nodes).filter(|&v| level[v] == v).collect();
    let mut number = vec![0; nodes];
    for (new, &v) in kept.iter().enumerate() {
        number[v] = new as u32;
    }
    let new_parent = kept.iter().map(|&v| number[level[parent[v] as usize]]).collect();
    (new_parent, kept.iter().map(|&v| height[v]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_distances_make_a_star() {
        let tree = Tree::from_ultrametric(5, &[3.0; 10]).unwrap();
        assert_eq!(tree.parents(), [5; 6]);
        assert_eq!(tree.lengths(), [1.5, 1.5, 1.5, 1.5, 1.5, 0.0]);
    }

    #[test]
    fn distance_zero_is_fine() {
        let tree = Tree::from_ultrametric(3, &[0.0, 2.0, 2.0]).unwrap();
        assert_eq!(tree.parents(), [3, 3, 4, 4, 4]);
        assert_eq!(tree.lengths(), [0.0, 0.0, 1.0, 1.0, 0.0]);
        let tree = Tree::from_ultrametric(3, &[0.0; 3]).unwrap();
        assert_eq!(tree.parents(), [3; 4]);
    }

    #[test]
    fn one_and_two_points() {
        assert_eq!(Tree::from_ultrametric(1, &[]).unwrap().nodes(), 1);
        assert_eq!(Tree::from_ultrametric(2, &[5.0]).unwrap().leaf_distance(0, 1), 5.0);
    }

    #[test]
    fn rounding_does_not_make_new_levels() {
        let tree = Tree::from_ultrametric(3, &[0.1 + 0.2, 0.3, 0.3]).unwrap();
        assert_eq!(tree.nodes(), 4);
    }

    #[test]
    fn small_steps_do_not_add_up_to_one_level() {
        // A chain of merges, each within the tolerance of the next; the ends are far beyond it.
        let n = 40;
        let step = |j: usize| 1.0 + j as f64 * 0.4 * TOLERANCE;
        let condensed: Vec<f64> = (0..n).flat_map(|i| (i + 1..n).map(step)).collect();
        let tree = Tree::from_ultrametric(n, &condensed).unwrap();
        assert!(tree.nodes() > n + 10);
        for j in 1..n {
            assert!((tree.leaf_distance(0, j) - step(j)).abs() <= 1.01 * TOLERANCE);
        }
    }

    #[test]
    fn what_is_not_an_ultrametric_names_three_points() {
        // 0 and 3 are at distance 9, but a path of edges of length 1 connects them.
        let error = Tree::from_ultrametric(4, &[1.0, 1.0, 9.0, 1.0, 1.0, 1.0]).unwrap_err();
        let Error::NotUltrametric { i, j, k, direct, around } = error else { panic!("{error}") };
        assert_eq!((i, j, direct, around), (0, 3, 9.0, 1.0));
        assert!(k == 1 || k == 2);
        // Edges of length 1 along 0, 2, 3, 1 and 5 elsewhere: no third point shows that 0 and 1 are
        // too far apart.
        let error = Tree::from_ultrametric(4, &[5.0, 1.0, 5.0, 5.0, 1.0, 1.0]).unwrap_err();
        let Error::NotUltrametric { i, j, k, direct, around } = error else { panic!("{error}") };
        assert_eq!((i, j, k, direct, around), (0, 3, 2, 5.0, 1.0));
    }

    #[test]
    fn bad_input_is_named() {
        let error = Tree::from_ultrametric(4, &[1.0, 1.0, 1.0, 1.0, f64::NAN, 1.0]).unwrap_err();
        assert!(matches!(error, Error::BadDistance { from: 1, to: 3, .. }), "{error}");
        let error = Tree::from_ultrametric(3, &[1.0]).unwrap_err();
        let expected =
            "the list of distances has shape (1,), expected (3,), one for each pair of 3 points";
        assert_eq!(error.to_string(), expected);
        assert!(matches!(Tree::from_ultrametric(0, &[]), Err(Error::NoPoints)));
    }
}
