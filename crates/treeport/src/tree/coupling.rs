//! The plan behind a tree-Wasserstein distance: greedy matching from the leaves up.

use super::Tree;
use super::distance::surpluses;
use crate::error::Result;
use crate::measure::Measure;

/// A transport plan as sparse triples: `mass[k]` moves from point `left[k]` to point `right[k]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coupling {
    /// Where mass comes from.
    pub left: Vec<u32>,
    /// Where it goes.
    pub right: Vec<u32>,
    /// How much, always above 0.
    pub mass: Vec<f64>,
}

impl Coupling {
    /// The number of moves.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// Whether nothing is moved.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// (from, to, mass) of every move.
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let ends = self.left.iter().zip(&self.right);
        ends.zip(&self.mass).map(|((&l, &r), &m)| (l as usize, r as usize, m))
    }

    /// The total of mass times `distance` over all moves.
    pub fn cost(&self, mut distance: impl FnMut(usize, usize) -> f64) -> f64 {
        self.iter().map(|(i, j, mass)| mass * distance(i, j)).sum()
    }

    pub(crate) fn push(&mut self, left: u32, right: u32, mass: f64) {
        self.left.push(left);
        self.right.push(right);
        self.mass.push(mass);
    }
}

/// Mass below a node that has found no partner yet: entries of one sign, linked in leaf order.
#[derive(Clone, Copy)]
struct Unmatched {
    first: u32,
    last: u32,
}

/// One leaf's surplus; `next` links the entries that wait at the same node.
struct Entry {
    point: u32,
    surplus: f64,
    next: u32,
}

const END: u32 = u32::MAX;

impl Tree {
    /// An optimal plan for the tree's own distances: mass is matched at the lowest node where it can be.
    ///
    /// Shared mass stays where it is. Every step settles one side completely, so there are at most as
    /// many moves as the two supports have points together, and the marginals are the two measures up to the last bit of each sum; where
    /// the totals differ by rounding, the difference is on the right-hand side.
    ///
    /// # Errors
    /// The measures live on other points than the tree's, or their masses differ.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, after the index of [`Tree::distance`].
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let measures = Measures::from_dense(3, &[0.5, 0.5, 0.0, 0.0, 0.75, 0.25])?;
    /// let plan = tree.coupling(&measures.row(0), &measures.row(1))?;
    /// assert_eq!(plan.cost(|i, j| tree.leaf_distance(i, j)), 2.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn coupling(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        self.check_pair(a, b)?;
        let mut plan = stationary(a, b);
        let rank = &self.index().rank;
        let mut leaves: Vec<_> =
            surpluses(a, b).map(|(point, s)| (rank[point as usize], point, s)).collect();
        leaves.sort_unstable_by_key(|&(rank, ..)| rank);
        let mut entries: Vec<_> =
            leaves.iter().map(|&(_, point, surplus)| Entry { point, surplus, next: END }).collect();
        let starts = leaves
            .iter()
            .enumerate()
            .map(|(k, &(rank, ..))| (rank, Unmatched { first: k as u32, last: k as u32 }));
        self.index().sweep(
            &mut Vec::new(),
            starts,
            |_, _| (),
            |waiting, arrived| *waiting = matched(&mut entries, &mut plan, *waiting, arrived),
        );
        settle_rounding(&entries, &mut plan);
        Ok(plan)
    }
}

impl Tree {
    /// Pairs of a point that gives and one that takes, next to each other in the order of the leaves: at most
    /// two for every point. O(s log s), like [`Tree::coupling`].
    pub(crate) fn adjacent(&self, a: &Measure<'_>, b: &Measure<'_>) -> Vec<(u32, u32)> {
        let rank = &self.index().rank;
        let mut leaves: Vec<_> = surpluses(a, b).collect();
        leaves.sort_unstable_by_key(|&(point, _)| rank[point as usize]);
        let mut arcs = Vec::with_capacity(2 * leaves.len());
        let mut last = [None; 2];
        for &(point, surplus) in &leaves {
            arcs.extend(arc(point, surplus, &mut last));
        }
        last = [None; 2];
        for &(point, surplus) in leaves.iter().rev() {
            arcs.extend(arc(point, surplus, &mut last));
        }
        arcs
    }
}

/// The arc between a leaf and the last one of the other sign; `last` holds the last giver and taker.
fn arc(point: u32, surplus: f64, last: &mut [Option<u32>; 2]) -> Option<(u32, u32)> {
    let takes = usize::from(surplus < 0.0);
    last[takes] = Some(point);
    let other = last[1 - takes]?;
    Some(if takes == 1 { (other, point) } else { (point, other) })
}

/// The mass that both measures have at a point, which moves nowhere.
fn stationary(a: &Measure<'_>, b: &Measure<'_>) -> Coupling {
    let mut plan = Coupling::default();
    let mut right = b.iter().peekable();
    for (point, mass) in a.iter() {
        while right.next_if(|&(p, _)| p < point).is_some() {}
        if let Some((_, other)) = right.next_if(|&(p, _)| p == point) {
            plan.push(point as u32, point as u32, mass.min(other));
        }
    }
    plan
}

/// Matches two lists against each other if their signs differ, joins them if not.
fn matched(
    entries: &mut [Entry],
    plan: &mut Coupling,
    waiting: Unmatched,
    arrived: Unmatched,
) -> Unmatched {
    let (mut x, mut y) = (waiting.first, arrived.first);
    if x == END {
        return arrived;
    }
    if y == END {
        return waiting;
    }
    if entries[x as usize].surplus.signum() == entries[y as usize].surplus.signum() {
        entries[waiting.last as usize].next = y;
        return Unmatched { first: x, last: arrived.last };
    }
    while x != END && y != END {
        let (p, q) = (x as usize, y as usize);
        let (mine, theirs) = (entries[p].surplus, entries[q].surplus);
        let mass = mine.abs().min(theirs.abs());
        let (from, to) = if mine > 0.0 { (p, q) } else { (q, p) };
        plan.push(entries[from].point, entries[to].point, mass);
        // Subtracting the smaller from the equal larger gives exactly 0: one side is always done.
        entries[p].surplus -= mass * mine.signum();
        entries[q].surplus -= mass * theirs.signum();
        if entries[p].surplus == 0.0 {
            x = entries[p].next;
        }
        if entries[q].surplus == 0.0 {
            y = entries[q].next;
        }
    }
    if x == END {
        Unmatched { first: y, last: arrived.last }
    } else {
        Unmatched { first: x, last: waiting.last }
    }
}

/// What rounding left over on the left goes where the last mass went, so that no row loses mass.
fn settle_rounding(entries: &[Entry], plan: &mut Coupling) {
    let Some(&right) = plan.right.last() else { return };
    for entry in entries.iter().filter(|e| e.surplus > 0.0) {
        plan.push(entry.point, right, entry.surplus);
    }
}
