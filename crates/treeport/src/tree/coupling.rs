//! Transport plans of a tree: greedy matching from the leaves up.

use super::Tree;
use super::matching::{MassMove, Matching, Surplus};
use crate::error::Result;
use crate::measures::Measure;

/// A transport plan as sparse triples: `mass[k]` moves from point `left[k]` to point `right[k]`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coupling {
    /// Source points.
    pub left: Vec<u32>,
    /// Target points.
    pub right: Vec<u32>,
    /// Masses, all above 0.
    pub mass: Vec<f64>,
}

impl Coupling {
    /// Returns the number of moves.
    pub fn len(&self) -> usize {
        self.mass.len()
    }

    /// Returns whether there are no moves.
    pub fn is_empty(&self) -> bool {
        self.mass.is_empty()
    }

    /// Iterates over the moves as (from, to, mass).
    pub fn iter(&self) -> impl Iterator<Item = (usize, usize, f64)> + '_ {
        let ends = self.left.iter().zip(&self.right);
        ends.zip(&self.mass).map(|((&l, &r), &m)| (l as usize, r as usize, m))
    }

    /// Computes the sum of mass times `distance` over all moves.
    pub fn cost(&self, mut distance: impl FnMut(usize, usize) -> f64) -> f64 {
        self.iter().map(|(i, j, mass)| mass * distance(i, j)).sum()
    }

    pub(crate) fn push(&mut self, left: u32, right: u32, mass: f64) {
        self.left.push(left);
        self.right.push(right);
        self.mass.push(mass);
    }
}

impl Tree {
    /// Computes an optimal plan for the tree's own distances: mass is matched at the lowest
    /// possible node.
    ///
    /// Mass common to both measures stays in place. Every move exhausts a source or a target, so
    /// there are at most as many moves as points in the two supports. Marginals equal the measures
    /// up to the last bit of each sum; if the totals differ by rounding, the difference is in the
    /// right marginal.
    ///
    /// # Errors
    /// The measures are on other points than the tree's, or their masses differ.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, given the index of [`Tree::distance`].
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
        Ok(TreePlans::new(std::slice::from_ref(self), a, b)?.of(0))
    }
}

/// Plans of several trees between the same two measures.
pub(crate) struct TreePlans {
    /// Mass that stays in place in all plans.
    stays: Coupling,
    /// Points where the measures differ, then the last common point of the supports, if any.
    pub(crate) points: Vec<u32>,
    /// a − b at each of `points`: above 0 at sources, below 0 at targets, 0 at the common point.
    pub(crate) surplus: Vec<f64>,
    /// Moves between indices of `points`, one tree after the other.
    pub(crate) moves: Vec<MassMove>,
    /// End of the moves of each tree.
    pub(crate) ends: Vec<usize>,
}

impl TreePlans {
    /// Computes the [`Tree::coupling`] of each tree; the tree-independent part is computed once.
    pub(crate) fn new(trees: &[Tree], a: &Measure<'_>, b: &Measure<'_>) -> Result<Self> {
        let stays = stationary(a, b);
        let surplus = Surplus::new(a, b);
        let mut moves = Vec::with_capacity(trees.len() * surplus.points.len());
        let mut ends = Vec::with_capacity(trees.len());
        let mut scratch = Matching::default();
        for tree in trees {
            tree.check_pair(a, b)?;
            tree.matching(&surplus, &mut scratch, &mut moves);
            ends.push(moves.len());
        }
        let Surplus { mut points, masses: mut surplus } = surplus;
        points.extend(stays.right.last());
        surplus.resize(points.len(), 0.0);
        Ok(Self { stays, points, surplus, moves, ends })
    }

    /// Returns the plan of one tree.
    pub(crate) fn of(&self, tree: usize) -> Coupling {
        let begin = tree.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.plan(&self.moves[begin..self.ends[tree]])
    }

    /// Returns the plan of some moves and of the mass that stays in place.
    pub(crate) fn plan(&self, moves: &[MassMove]) -> Coupling {
        let mut plan = self.stays.clone();
        for step in moves {
            let (from, to) = self.between(step);
            plan.push(from, to, step.mass);
        }
        plan
    }

    /// Matches `left`, the surplus that remains after `moves`, along `tree`; appends the moves.
    pub(crate) fn match_rest(&self, left: &[f64], tree: &Tree, moves: &mut Vec<MassMove>) {
        let open = (0..).zip(left).filter(|(_, left)| **left != 0.0);
        let places: Vec<u32> = open.map(|(place, _)| place).collect();
        let of = |&place: &u32| (self.points[place as usize], left[place as usize]);
        let (points, masses) = places.iter().map(of).unzip();
        let mut rest = Vec::new();
        tree.matching(&Surplus { points, masses }, &mut Matching::default(), &mut rest);
        if rest.is_empty() {
            return;
        }
        // A remainder due to rounding goes to the last target, or else to the common point.
        let last = moves.last().map_or_else(|| self.points.len() as u32 - 1, |step| step.to);
        let place = |k: u32| places.get(k as usize).copied().unwrap_or(last);
        let moved =
            |step: &MassMove| MassMove { from: place(step.from), to: place(step.to), ..*step };
        moves.extend(rest.iter().map(moved));
    }

    /// Returns the two points of a move.
    pub(crate) fn between(&self, step: &MassMove) -> (u32, u32) {
        (self.points[step.from as usize], self.points[step.to as usize])
    }
}

/// Returns the mass common to both measures, which stays in place.
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
