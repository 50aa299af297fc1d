//! The tree of an ultrametric.
//!
//! The paper joins all points that are a diameter apart and goes on inside the parts this leaves, from
//! the root down (\[CTW24\], "Trees and ultrametrics"). Going up gives the same tree in O(n²): the parts
//! at each level are the components of the shorter distances, and those are read off a minimum
//! spanning tree. The same spanning tree checks the input. Its largest edge between two points is the
//! largest ultrametric below the distances, so the distances are an ultrametric exactly when they are
//! equal to it.

use super::Tree;
use crate::error::{Error, Result};

/// How far distances may differ, relative to the larger, to count as equal.
///
/// Ten million times the rounding of one sum, and far below any difference that means something.
const TOLERANCE: f64 = 1e-9;

impl Tree {
    /// The tree whose leaf distances are the given ultrametric on `n` points.
    ///
    /// `condensed` holds d(0,1), d(0,2), …, d(1,2), … as `SciPy`'s `pdist` does. Points at equal distance
    /// hang under one node, so an equidistant set is a star; different points may be at distance 0.
    /// Distances within 1e-9 of each other, relatively, count as equal.
    ///
    /// # Errors
    /// A list of the wrong length, a distance that is negative or not finite, or three points with
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
        let distances = Condensed::new(n, condensed)?;
        let spanning = Spanning::lightest(&distances);
        spanning.check(&distances)?;
        let (parent, height) = spanning.merge();
        let (parent, height) = join_levels(n, &parent, &height);
        Self::from_heights(n, parent, &height)
    }
}

/// Distances of all pairs, each once, checked.
struct Condensed<'a> {
    n: usize,
    values: &'a [f64],
}

impl<'a> Condensed<'a> {
    fn new(n: usize, values: &'a [f64]) -> Result<Self> {
        if n == 0 {
            return Err(Error::NoPoints);
        }
        if n > u32::MAX as usize / 2 {
            return Err(Error::TooManyPoints { count: n, max: u32::MAX as usize / 2 });
        }
        let pairs = n * (n - 1) / 2;
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
        Ok(Self { n, values })
    }

    fn get(&self, i: usize, j: usize) -> f64 {
        let (i, j) = (i.min(j), i.max(j));
        if i == j { 0.0 } else { self.values[i * (2 * self.n - i - 1) / 2 + j - i - 1] }
    }
}

/// The pair of points at a place in the list.
fn pair_at(n: usize, mut at: usize) -> (usize, usize) {
    let mut i = 0;
    while at >= n - 1 - i {
        at -= n - 1 - i;
        i += 1;
    }
    (i, i + 1 + at)
}

/// A minimum spanning tree, rooted at point 0.
struct Spanning {
    /// The points in the order they joined.
    order: Vec<usize>,
    /// The point each one joined to; 0 joined to itself.
    towards: Vec<usize>,
    /// The distance between the two.
    weight: Vec<f64>,
}

impl Spanning {
    /// Prim, because the graph is complete.
    fn lightest(distances: &Condensed<'_>) -> Self {
        let n = distances.n;
        let mut order = vec![0];
        let mut towards = vec![0; n];
        let mut weight = vec![f64::INFINITY; n];
        weight[0] = 0.0;
        let mut waiting: Vec<usize> = (1..n).collect();
        let mut last = 0;
        while !waiting.is_empty() {
            let mut nearest = 0;
            for at in 0..waiting.len() {
                let v = waiting[at];
                let d = distances.get(last, v);
                if d < weight[v] {
                    (weight[v], towards[v]) = (d, last);
                }
                if weight[v] < weight[waiting[nearest]] {
                    nearest = at;
                }
            }
            last = waiting.swap_remove(nearest);
            order.push(last);
        }
        Self { order, towards, weight }
    }

    /// Checks that no distance is above the largest edge on the path between its points.
    fn check(&self, distances: &Condensed<'_>) -> Result<()> {
        let n = distances.n;
        let mut largest = vec![0.0_f64; n];
        let mut before = vec![usize::MAX; n];
        for i in 0..n {
            // From i to point 0, then outwards; `before` is the neighbor on the path from i.
            before.fill(usize::MAX);
            (largest[i], before[i]) = (0.0, i);
            let mut v = i;
            while v != 0 {
                let up = self.towards[v];
                (largest[up], before[up]) = (largest[v].max(self.weight[v]), v);
                v = up;
            }
            for &v in &self.order {
                if before[v] == usize::MAX {
                    let up = self.towards[v];
                    (largest[v], before[v]) = (largest[up].max(self.weight[v]), up);
                }
                if distances.get(i, v) > largest[v] * (1.0 + TOLERANCE) {
                    return Err(worst_triple(distances, &before, i, v));
                }
            }
        }
        Ok(())
    }

    /// Single linkage: parents and heights of the binary tree, half of the distance it merges at.
    fn merge(&self) -> (Vec<usize>, Vec<f64>) {
        let n = self.order.len();
        let mut edges: Vec<usize> = self.order[1..].to_vec();
        edges.sort_by(|&u, &v| self.weight[u].total_cmp(&self.weight[v]).then(u.cmp(&v)));
        let mut parent: Vec<usize> = (0..2 * n - 1).collect();
        let mut top = parent.clone(); // a shortcut towards the root of the cluster so far
        let mut height = vec![0.0; 2 * n - 1];
        for (row, &v) in edges.iter().enumerate() {
            let node = n + row;
            height[node] = self.weight[v] / 2.0;
            for end in [v, self.towards[v]] {
                let cluster = find(&mut top, end);
                parent[cluster] = node;
                top[cluster] = node;
            }
        }
        (parent, height)
    }
}

/// The root of the cluster of `v`, halving the path on the way.
fn find(top: &mut [usize], mut v: usize) -> usize {
    while top[v] != v {
        top[v] = top[top[v]];
        v = top[v];
    }
    v
}

/// The step on the path from `i` to `v` where the distance from `i` grows most beyond both others.
fn worst_triple(distances: &Condensed<'_>, before: &[usize], i: usize, v: usize) -> Error {
    let (mut worst, mut error) = (1.0, None);
    let mut j = v;
    while j != i {
        let k = before[j];
        let (direct, around) = (distances.get(i, j), distances.get(i, k).max(distances.get(k, j)));
        // Somewhere it grows: otherwise d(i, v) would be at most the largest edge on the path.
        if direct > around && (error.is_none() || direct / around > worst) {
            worst = direct / around;
            error = Some(Error::NotUltrametric { i, j, k, direct, around });
        }
        j = k;
    }
    error.expect("the distance exceeds every edge on the path, so some step grows")
}

/// Joins nodes at the same height as their parent with it: the binary tree becomes the paper's.
fn join_levels(n: usize, parent: &[usize], height: &[f64]) -> (Vec<u32>, Vec<f64>) {
    let nodes = parent.len();
    let root = nodes - 1;
    // Compared with the highest node of the level, so that small steps cannot add up.
    let mut level: Vec<usize> = (0..nodes).collect();
    for v in (n..root).rev() {
        let above = level[parent[v]];
        if height[v] >= height[above] * (1.0 - TOLERANCE) {
            level[v] = above;
        }
    }
    let kept: Vec<usize> = (0..nodes).filter(|&v| level[v] == v).collect();
    let mut number = vec![0; nodes];
    for (new, &v) in kept.iter().enumerate() {
        number[v] = new as u32;
    }
    let new_parent = kept.iter().map(|&v| number[level[parent[v]]]).collect();
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
        // A chain of merges, each within the tolerance of the next, the ends far beyond it.
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
        // 0 and 3 are 9 apart, but a path of steps of 1 joins them.
        let error = Tree::from_ultrametric(4, &[1.0, 1.0, 9.0, 1.0, 1.0, 1.0]).unwrap_err();
        let Error::NotUltrametric { i, j, k, direct, around } = error else { panic!("{error}") };
        assert_eq!((i, j, direct, around), (0, 3, 9.0, 1.0));
        assert!(k == 1 || k == 2);
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
