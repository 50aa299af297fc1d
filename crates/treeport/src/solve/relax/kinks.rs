//! Treap of the kinks of a concave, piecewise linear function. Values shift in O(1); splitting at a
//! mass and merging take O(log n) expected time.
//!
//! A treap (Aragon and Seidel, *Randomized search trees*, 1989) is a search tree balanced by random
//! priorities; this one is ordered by value and keeps the sum of masses of every subtree.
//!
//! # What was tried
//! Two heaps, from one to the other of which kinks move one by one: as fast where masses are equal,
//! and at 100,000 random masses per side 1.4 to 6.7 s for a penalty: kinks are split, and all parts
//! stay near the maximum.

use crate::numeric::double_double::DoubleDouble;
use crate::numeric::seed::mixed;

/// The root of a tree; [`NONE`] if it is empty.
pub(super) type Tree = u32;

pub(super) const NONE: Tree = u32::MAX;

/// A kink, and the tree below it.
#[derive(Clone, Copy)]
struct Node {
    value: DoubleDouble,
    /// Shift of the values of both children, which they do not contain yet.
    shift: DoubleDouble,
    mass: i128,
    /// Mass of the whole tree.
    sum: i128,
    left: Tree,
    right: Tree,
    priority: u32,
}

/// All kinks of a problem, in trees.
#[derive(Default)]
pub(super) struct Kinks {
    nodes: Vec<Node>,
}

impl Kinks {
    /// Bytes of a kink; there are at most two for every point.
    pub(super) const BYTES: usize = size_of::<Node>();

    pub(super) fn with_capacity(kinks: usize) -> Self {
        Self { nodes: Vec::with_capacity(kinks) }
    }

    /// Adds a kink to a tree.
    pub(super) fn push(&mut self, tree: Tree, value: DoubleDouble, mass: i128) -> Tree {
        let priority = (mixed(0, self.nodes.len() as u64) >> 32) as u32;
        let shift = DoubleDouble::default();
        let (left, right) = (NONE, NONE);
        self.nodes.push(Node { value, shift, mass, sum: mass, left, right, priority });
        self.insert(tree, self.nodes.len() as Tree - 1)
    }

    /// Returns the mass of a tree.
    pub(super) fn mass(&self, tree: Tree) -> i128 {
        self.nodes.get(tree as usize).map_or(0, |node| node.sum)
    }

    /// Adds a number to all values of a tree.
    pub(super) fn shift(&mut self, tree: Tree, by: DoubleDouble) {
        if let Some(node) = self.nodes.get_mut(tree as usize) {
            node.value = node.value + by;
            node.shift = node.shift + by;
        }
    }

    /// Returns the least value of a tree (end 0) or the largest (end 1).
    pub(super) fn end(&self, tree: Tree, end: usize) -> Option<DoubleDouble> {
        let mut node = self.nodes.get(tree as usize)?;
        let mut shift = DoubleDouble::default();
        while let Some(next) = self.nodes.get([node.left, node.right][end] as usize) {
            shift = shift + node.shift;
            node = next;
        }
        Some(node.value + shift)
    }

    /// Splits a tree into its least values, of this mass, and all others; one kink may be cut.
    pub(super) fn split(&mut self, tree: Tree, mass: i128) -> [Tree; 2] {
        if tree == NONE || mass <= 0 {
            return [NONE, tree];
        }
        self.settle(tree);
        let Node { left, right, mass: own, .. } = self.nodes[tree as usize];
        let before = self.mass(left);
        if mass <= before {
            let [low, high] = self.split(left, mass);
            self.nodes[tree as usize].left = high;
            return [low, self.updated(tree)];
        }
        if mass >= before + own {
            let [low, high] = self.split(right, mass - before - own);
            self.nodes[tree as usize].right = low;
            return [self.updated(tree), high];
        }
        // A priority of its own: equal ones would grow long branches.
        let value = self.nodes[tree as usize].value;
        let rest = self.push(NONE, value, before + own - mass);
        let rest = self.merge(rest, right);
        let node = &mut self.nodes[tree as usize];
        (node.mass, node.right) = (mass - before, NONE);
        [self.updated(tree), rest]
    }

    /// Merges two trees, of which the first has no value above those of the second.
    pub(super) fn merge(&mut self, low: Tree, high: Tree) -> Tree {
        if low == NONE || high == NONE {
            return low.min(high);
        }
        let [first, second] = [low, high].map(|tree| self.nodes[tree as usize]);
        if first.priority > second.priority {
            self.settle(low);
            self.nodes[low as usize].right = self.merge(first.right, high);
            return self.updated(low);
        }
        self.settle(high);
        self.nodes[high as usize].left = self.merge(low, second.left);
        self.updated(high)
    }

    fn insert(&mut self, tree: Tree, new: Tree) -> Tree {
        if tree == NONE {
            return new;
        }
        self.settle(tree);
        let [node, added] = [tree, new].map(|tree| self.nodes[tree as usize]);
        if added.priority > node.priority {
            let [left, right] = self.split_at(tree, added.value);
            let node = &mut self.nodes[new as usize];
            (node.left, node.right) = (left, right);
            return self.updated(new);
        }
        if added.value.minus(node.value) < 0.0 {
            self.nodes[tree as usize].left = self.insert(node.left, new);
        } else {
            self.nodes[tree as usize].right = self.insert(node.right, new);
        }
        self.updated(tree)
    }

    /// Splits a tree into the values of at most `value` and all others.
    fn split_at(&mut self, tree: Tree, value: DoubleDouble) -> [Tree; 2] {
        if tree == NONE {
            return [NONE; 2];
        }
        self.settle(tree);
        let node = self.nodes[tree as usize];
        if value.minus(node.value) < 0.0 {
            let [low, high] = self.split_at(node.left, value);
            self.nodes[tree as usize].left = high;
            return [low, self.updated(tree)];
        }
        let [low, high] = self.split_at(node.right, value);
        self.nodes[tree as usize].right = low;
        [self.updated(tree), high]
    }

    /// Applies the shift of a node to its children.
    fn settle(&mut self, tree: Tree) {
        let Node { left, right, shift, .. } = self.nodes[tree as usize];
        if shift != DoubleDouble::default() {
            self.shift(left, shift);
            self.shift(right, shift);
            self.nodes[tree as usize].shift = DoubleDouble::default();
        }
    }

    /// Computes the sum of a node again.
    fn updated(&mut self, tree: Tree) -> Tree {
        let Node { left, right, mass, .. } = self.nodes[tree as usize];
        self.nodes[tree as usize].sum = self.mass(left) + mass + self.mass(right);
        tree
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_tree_is_a_sorted_list(
            steps in vec((-50i32..50, 1i128..20, 0i128..400, -9i32..9), 1..60),
        ) {
            // Two lists of values and masses, from one to the other of which masses move.
            let mut lists: [Vec<(i32, i128)>; 2] = [Vec::new(), Vec::new()];
            let (mut kinks, mut trees) = (Kinks::default(), [NONE; 2]);
            for (value, mass, part, by) in steps {
                // The low values go to the first list, at a distance from all others.
                let [low, high] = kinks.split(trees[1], part);
                trees = [kinks.merge(trees[0], low), kinks.push(high, f64::from(value).into(), mass)];
                kinks.shift(trees[0], f64::from(by - 200).into());
                let mut rest = part;
                while rest > 0 && !lists[1].is_empty() {
                    let (value, mass) = lists[1][0];
                    let taken = mass.min(rest);
                    lists[0].push((value, taken));
                    rest -= taken;
                    lists[1][0].1 -= taken;
                    if lists[1][0].1 == 0 {
                        lists[1].remove(0);
                    }
                }
                lists[0].iter_mut().for_each(|entry| entry.0 += by - 200);
                lists[1].push((value, mass));
                lists[1].sort_by_key(|entry| entry.0);
                for (list, tree) in lists.iter().zip(trees) {
                    prop_assert_eq!(kinks.mass(tree), list.iter().map(|entry| entry.1).sum::<i128>());
                    let ends = [list.first(), list.last()];
                    for (end, entry) in ends.into_iter().enumerate() {
                        let value = kinks.end(tree, end).map(DoubleDouble::rounded);
                        prop_assert_eq!(value, entry.map(|entry| f64::from(entry.0)));
                    }
                }
            }
        }
    }
}
