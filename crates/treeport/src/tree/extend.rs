//! New leaves on a tree that stays as it is, by their distances to old leaves alone.
//!
//! Where distances between new points are known, too, [`Model::extended_on`](crate::Model::extended_on) does
//! better: here measures that lie wholly on new points come out too near (by 0.25 for samples of 100 points
//! in R¹⁰), for new leaves do not look at each other, and hang where central old leaves are.
//!
//! A new point hangs by an edge of its own from a place on the path from its nearest old leaf p to the
//! root. Cutting an edge in two changes no distance among the old leaves. Two numbers are chosen: the
//! height u of the place above p, and the length of the new edge. An old leaf q whose path joins that
//! of p at height h is d(p, q) + |u − h| − h away from the place, and the new edge adds its length to
//! all of these. So for a given u the best length is a weighted mean. The heights that are tried: 0,
//! half the distance to p, and h of 16 near and 16 other leaves. The one with the least squares of
//! relative errors to those leaves is taken.
//!
//! Distances of learned trees have another scale than those of points: on words they are shorter,
//! because mass seldom moves far. So the distances of a new point are multiplied by the mean ratio of
//! p's distances in the tree to those of the new point, over the leaves that are compared. Without
//! that, trees of tweets to which half of the words are new err three times as much (0.059, not 0.0195).

use super::Tree;
use crate::error::{Error, Result};

/// Where a new leaf hangs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Attachment {
    /// An old leaf.
    pub leaf: usize,
    /// How far above it, on the path to the root; at the root where the path is shorter.
    pub up: f64,
    /// The length of the new edge.
    pub length: f64,
}

/// The number of near leaves, and of other leaves, that are compared.
const LOOKED_AT: usize = 16;

/// A leaf that is compared.
struct NearbyLeaf {
    /// The distance of the new point.
    distance: f64,
    /// Its distance from the nearest leaf in the tree, and the height above that where they meet.
    in_tree: f64,
    parts: f64,
}

impl NearbyLeaf {
    /// Its distance from the place `up` above the nearest leaf.
    fn above(&self, up: f64) -> f64 {
        self.in_tree + (up - self.parts).abs() - self.parts
    }
}

impl Tree {
    /// The best place for a new point, given its distances to all leaves.
    ///
    /// # Errors
    /// Another number of distances than leaves, or one that is negative or not finite.
    ///
    /// # Complexity
    /// O(N) to find the nearest leaves, and 32 paths to the root.
    pub fn place(&self, distances: &[f64]) -> Result<Attachment> {
        if distances.len() != self.leaves() {
            return Err(Error::Shape {
                what: "the distances of a new point".into(),
                expected: format!("one for each of {} leaves", self.leaves()),
                found: distances.len().to_string(),
            });
        }
        if let Some(to) = distances.iter().position(|d| !(d.is_finite() && *d >= 0.0)) {
            return Err(Error::BadNewDistance { to, value: distances[to] });
        }
        let mut near: Vec<u32> = (0..self.leaves() as u32).collect();
        let order = |&a: &u32, &b: &u32| {
            distances[a as usize].total_cmp(&distances[b as usize]).then(a.cmp(&b))
        };
        if near.len() > LOOKED_AT {
            near.select_nth_unstable_by(LOOKED_AT, order);
            near.truncate(LOOKED_AT);
        }
        near.sort_unstable_by(order);
        let leaf = near[0] as usize;
        if distances[leaf] == 0.0 {
            return Ok(Attachment { leaf, up: 0.0, length: 0.0 });
        }
        let others = (0..self.leaves()).step_by(self.leaves().div_ceil(LOOKED_AT));
        let way = self.way_up(leaf);
        let mut seen: Vec<NearbyLeaf> = near
            .iter()
            .map(|&q| q as usize)
            .chain(others)
            .filter(|&q| distances[q] > 0.0)
            .map(|q| self.seen(&way, q, distances[q]))
            .collect();
        let scale = scale(&seen);
        for one in &mut seen {
            one.distance *= scale;
        }
        let top = way.last().map_or(0.0, |step| step.1);
        Ok(best_place(leaf, scale * distances[leaf], top, &seen))
    }

    /// The nodes from a leaf to the root, with their heights above the leaf.
    fn way_up(&self, leaf: usize) -> Vec<(u32, f64)> {
        let (mut node, mut height) = (leaf, 0.0);
        let mut way = vec![(leaf as u32, 0.0)];
        while node != self.root() {
            height += self.lengths()[node];
            node = self.parents()[node] as usize;
            way.push((node as u32, height));
        }
        way
    }

    /// Compares leaf `q`: climbs from it until it meets `way`, the path from the nearest leaf.
    fn seen(&self, way: &[(u32, f64)], q: usize, distance: f64) -> NearbyLeaf {
        let (mut node, mut climbed) = (q as u32, 0.0);
        // Parents have larger numbers, so the way is in order.
        let place = |node: u32| way.binary_search_by_key(&node, |step| step.0);
        let mut met = place(node);
        while met.is_err() {
            climbed += self.lengths()[node as usize];
            node = self.parents()[node as usize];
            met = place(node);
        }
        let parts = met.map_or(0.0, |step| way[step].1);
        NearbyLeaf { distance, in_tree: climbed + parts, parts }
    }

    /// The tree with new leaves after the old ones; distances between old leaves do not change.
    ///
    /// # Errors
    /// A leaf that does not exist, or a length that is negative or not finite. Names of the points are
    /// left out; [`with_names`](Self::with_names) gives new ones.
    ///
    /// # Complexity
    /// O(N + M log M) for M new leaves, and the paths up to their places.
    ///
    /// # Example
    /// ```
    /// use treeport::{Attachment, Tree};
    /// let tree = Tree::new(2, vec![2, 2, 2], vec![3.0, 3.0, 0.0])?;
    /// let larger = tree.extended(&[Attachment { leaf: 0, up: 1.0, length: 1.0 }])?;
    /// assert_eq!([larger.leaf_distance(0, 1), larger.leaf_distance(0, 2)], [6.0, 2.0]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn extended(&self, new: &[Attachment]) -> Result<Self> {
        let old = self.parents().len();
        let mut cuts = Vec::with_capacity(new.len());
        for (at, one) in new.iter().enumerate() {
            cuts.push((self.cut(at, one)?, at));
        }
        // By edge, from below.
        cuts.sort_unstable_by(|a, b| {
            let ((a, a_up), (b, b_up)) = (a.0, b.0);
            a.cmp(&b).then(a_up.total_cmp(&b_up))
        });
        let mut parent: Vec<Option<usize>> =
            (0..old).map(|v| (v != self.root()).then(|| self.parents()[v] as usize)).collect();
        let mut length = self.lengths().to_vec();
        let mut point: Vec<Option<usize>> =
            (0..old).map(|v| (v < self.leaves()).then_some(v)).collect();
        // (edge, the topmost node on it so far, the height of that node above the edge's lower end)
        let mut below = (usize::MAX, 0, 0.0);
        for ((node, up), at) in cuts {
            if below.0 != node {
                below = (node, node, 0.0);
            }
            let place = if up > below.2 || node < self.leaves() && below.1 == node {
                let place = parent.len();
                parent.push(parent[below.1]);
                // The rest of the edge, above the place.
                length.push((self.lengths()[node] - up).max(0.0));
                point.push(None);
                (parent[below.1], length[below.1]) = (Some(place), up - below.2);
                below = (node, place, up);
                place
            } else {
                below.1
            };
            parent.push(Some(place));
            length.push(new[at].length);
            point.push(Some(self.leaves() + at));
        }
        Self::from_unordered(&parent, &length, &point)
    }

    /// The node whose edge a place is on, and its height above that node.
    fn cut(&self, at: usize, one: &Attachment) -> Result<(usize, f64)> {
        let fits = |x: f64| x.is_finite() && x >= 0.0;
        if one.leaf >= self.leaves() || !fits(one.up) || !fits(one.length) {
            let Attachment { leaf, up, length } = one;
            let reason = format!(
                "new point {at} hangs {up} above leaf {leaf} by an edge of length {length}; there are \
                 {} leaves, and lengths are finite and at least 0",
                self.leaves()
            );
            return Err(Error::BadTree { reason });
        }
        let (mut node, mut rest) = (one.leaf, one.up);
        while node != self.root() && rest >= self.lengths()[node] {
            // A place at the upper end of an edge belongs to the edge above.
            rest -= self.lengths()[node];
            node = self.parents()[node] as usize;
        }
        Ok((node, if node == self.root() { 0.0 } else { rest }))
    }
}

/// The mean ratio of the nearest leaf's distances in the tree to the distances of the new point.
fn scale(seen: &[NearbyLeaf]) -> f64 {
    let others = seen.iter().filter(|one| one.in_tree > 0.0);
    let (count, sum) =
        others.fold((0.0, 0.0), |(n, sum), one| (n + 1.0, sum + one.in_tree / one.distance));
    let mean: f64 = sum / count;
    if mean.is_finite() { mean } else { 1.0 }
}

/// The place, at most `top` above the leaf, and the length with the least error to the compared leaves.
fn best_place(leaf: usize, nearest: f64, top: f64, seen: &[NearbyLeaf]) -> Attachment {
    let half = top.min(0.5 * nearest);
    let places = [0.0, half].into_iter().chain(seen.iter().map(|one| one.parts));
    let mut best = (f64::INFINITY, Attachment { leaf, up: half, length: nearest - half });
    for up in places {
        // Least squares of relative errors: a mean with weights 1/D².
        let (mut weights, mut missing) = (0.0, 0.0);
        for one in seen {
            let weight = one.distance.powi(-2);
            weights += weight;
            missing += weight * (one.distance - one.above(up));
        }
        let length = (missing / weights).max(0.0);
        if !length.is_finite() {
            continue;
        }
        let error: f64 =
            seen.iter().map(|one| ((one.above(up) + length) / one.distance - 1.0).powi(2)).sum();
        if error < best.0 {
            best = (error, Attachment { leaf, up, length });
        }
    }
    best.1
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::build::{Linkage, linkage};
    use crate::metric::{GroundMetric, PointMetric};
    use crate::model::Model;
    use crate::progress::silent;

    /// A tree over some points of the plane, on a grid, so that some are in one place.
    fn scenes() -> impl Strategy<Value = (GroundMetric, usize)> {
        let points = proptest::collection::vec((0..30u8, 0..30u8), 3..60);
        (points, 0.1..0.9f64).prop_map(|(points, share)| {
            let at: Vec<f64> =
                points.iter().flat_map(|&(x, y)| [f64::from(x), f64::from(y)]).collect();
            let old = ((points.len() as f64 * share) as usize).max(1);
            (GroundMetric::from_points(2, at, PointMetric::Euclidean).unwrap(), old)
        })
    }

    fn first(metric: &GroundMetric, old: usize) -> GroundMetric {
        let (dim, at) = metric.coordinates().unwrap();
        GroundMetric::from_points(dim, at[..old * dim].to_vec(), PointMetric::Euclidean).unwrap()
    }

    proptest! {
        #[test]
        fn old_distances_stay_and_new_ones_are_those_of_their_places((metric, old) in scenes()) {
            let tree = linkage(&first(&metric, old), Linkage::Average, &crate::silent).unwrap();
            let row = |i: usize| (0..old).map(|j| metric.distance(i, j)).collect::<Vec<f64>>();
            let places: Vec<Attachment> =
                (old..metric.points()).map(|i| tree.place(&row(i)).unwrap()).collect();
            let larger = tree.extended(&places).unwrap();
            prop_assert_eq!(larger.leaves(), metric.points());
            let near = |x: f64, y: f64| (x - y).abs() <= 1e-12 * (1.0 + y);
            for i in 0..old {
                for j in 0..old {
                    prop_assert!(near(larger.leaf_distance(i, j), tree.leaf_distance(i, j)));
                }
            }
            // The slow way: climb from the leaf of a place, and from every other leaf.
            for (at, place) in places.iter().enumerate() {
                let way = tree.way_up(place.leaf);
                let up = place.up.min(way.last().unwrap().1);
                for q in 0..old {
                    let seen = tree.seen(&way, q, 1.0);
                    let expected = seen.above(up) + place.length;
                    prop_assert!(near(larger.leaf_distance(old + at, q), expected));
                }
            }
        }

        #[test]
        fn no_place_that_was_looked_at_is_better((metric, old) in scenes()) {
            let tree = linkage(&first(&metric, old), Linkage::Average, &crate::silent).unwrap();
            let new = metric.points() - 1;
            let row: Vec<f64> = (0..old).map(|j| metric.distance(new, j)).collect();
            let place = tree.place(&row).unwrap();
            let nearest = row.iter().copied().fold(f64::INFINITY, f64::min);
            prop_assert_eq!(row[place.leaf], nearest);
            if old > LOOKED_AT {
                return Ok(());
            }
            // All leaves are looked at, each twice, on the scale of the nearest.
            let others = (0..old).filter(|&q| row[q] > 0.0 && tree.leaf_distance(place.leaf, q) > 0.0);
            let ratios: Vec<f64> = others.map(|q| tree.leaf_distance(place.leaf, q) / row[q]).collect();
            let scale = if ratios.is_empty() {
                1.0
            } else {
                ratios.iter().sum::<f64>() / ratios.len() as f64
            };
            let row: Vec<f64> = row.iter().map(|distance| scale * distance).collect();
            let nearest = scale * nearest;
            let error = |place: Attachment| -> f64 {
                let larger = tree.extended(&[place]).unwrap();
                let away = (0..old).filter(|&q| row[q] > 0.0);
                away.map(|q| (larger.leaf_distance(old, q) / row[q] - 1.0).powi(2)).sum()
            };
            let leaf = place.leaf;
            let half = Attachment { leaf, up: nearest / 2.0, length: nearest / 2.0 };
            for other in [half, Attachment { leaf, up: 0.0, length: nearest }] {
                prop_assert!(error(place) <= error(other) * (1.0 + 1e-9) + 1e-12);
            }
        }
    }

    #[test]
    fn a_copy_of_a_point_lies_on_it() {
        let at = vec![0.0, 1.0, 3.0, 7.0, 7.5];
        let metric = GroundMetric::from_points(1, at, PointMetric::Euclidean).unwrap();
        let tree = linkage(&metric, Linkage::Average, &crate::silent).unwrap();
        for copied in 0..5 {
            let row: Vec<f64> = (0..5).map(|q| metric.distance(copied, q)).collect();
            let larger = tree.extended(&[tree.place(&row).unwrap()]).unwrap();
            assert_eq!(larger.leaf_distance(copied, 5), 0.0);
        }
    }

    #[test]
    fn many_places_on_one_edge_leave_no_length_below_0() {
        // Sums of tenths and thirds miss the end of the edge by a rounding, either way.
        for whole in [0.3, 0.7, 1.1, 2.1, 2.9] {
            let tree = Tree::star(2, 2.0 * whole).unwrap();
            let ups = (1..40).map(|k| whole * f64::from(k) / 40.0).chain([whole.next_down()]);
            let new: Vec<Attachment> =
                ups.map(|up| Attachment { leaf: 0, up, length: 0.1 }).collect();
            let larger = tree.extended(&new).unwrap();
            assert!((larger.leaf_distance(0, 1) / (2.0 * whole) - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn a_leaf_of_a_tree_metric_finds_its_place_again() {
        // Of ((0:1,1:2):3,(2:2,3:1):1) the last leaf is taken off and put back.
        let whole =
            Tree::new(4, vec![4, 4, 5, 5, 6, 6, 6], vec![1.0, 2.0, 2.0, 1.0, 3.0, 1.0, 0.0])
                .unwrap();
        let without = Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 2.0, 3.0, 3.0, 0.0]).unwrap();
        let row: Vec<f64> = (0..3).map(|q| whole.leaf_distance(3, q)).collect();
        let model = Model::Tree(without);
        let back = model.extended(1, |_, out| out.copy_from_slice(&row), &silent).unwrap();
        for q in 0..3 {
            let found = back.tree().unwrap().leaf_distance(3, q);
            assert!((found / row[q] - 1.0).abs() < 0.25, "{q}: {found} for {}", row[q]);
        }
    }

    #[test]
    fn what_cannot_be_placed_is_named() {
        let tree = Tree::star(3, 2.0).unwrap();
        let text = |distances: &[f64]| tree.place(distances).unwrap_err().to_string();
        assert_eq!(
            text(&[1.0, -2.0, 3.0]),
            "a new point is -2 away from point 1; distances must be finite and at least 0"
        );
        assert_eq!(
            text(&[1.0]),
            "the distances of a new point has shape 1, expected one for each of 3 leaves"
        );
        for bad in [(7, 0.0, 1.0), (0, -1.0, 1.0), (0, 1.0, f64::NAN)] {
            let bad = Attachment { leaf: bad.0, up: bad.1, length: bad.2 };
            assert!(tree.extended(&[bad]).unwrap_err().to_string().contains("new point 0 hangs"));
        }
        let one = Tree::new(1, vec![0], vec![0.0]).unwrap();
        let two = one.extended(&[one.place(&[4.0]).unwrap()]).unwrap();
        assert_eq!(two.leaf_distance(0, 1), 4.0);
    }
}
