//! The plan behind a tree-Wasserstein distance: greedy matching from the leaves up.

use super::Tree;
use super::matching::{MassMove, Matching, Surplus};
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

impl Tree {
    /// An optimal plan for the tree's own distances: mass is matched at the lowest possible node.
    ///
    /// Shared mass stays where it is. Every step empties one side, so there are at most as many
    /// moves as the two supports have points together, and the marginals are the two measures up to
    /// the last bit of each sum; where the totals differ by rounding, the difference is on the
    /// right-hand side.
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
        Ok(TreePlans::new(std::slice::from_ref(self), a, b)?.of(0))
    }
}

/// The plans of several trees between the same two measures.
pub(crate) struct TreePlans {
    /// Mass that stays where it is in all of them.
    stays: Coupling,
    /// Points where the measures differ, then the last point where both have mass, if there is one.
    pub(crate) points: Vec<u32>,
    /// a − b at each of `points`: above 0 where mass leaves, below 0 where it arrives, 0 at the last.
    pub(crate) surplus: Vec<f64>,
    /// Moves between indices of `points`, one tree after the other.
    pub(crate) moves: Vec<MassMove>,
    /// Where the moves of each tree end.
    pub(crate) ends: Vec<usize>,
}

impl TreePlans {
    /// The [`Tree::coupling`] of each tree; what does not depend on the tree is computed once.
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

    /// The plan of one tree.
    pub(crate) fn of(&self, tree: usize) -> Coupling {
        let begin = tree.checked_sub(1).map_or(0, |before| self.ends[before]);
        self.plan(&self.moves[begin..self.ends[tree]])
    }

    /// The plan of some moves and of the mass that stays.
    pub(crate) fn plan(&self, moves: &[MassMove]) -> Coupling {
        let mut plan = self.stays.clone();
        for step in moves {
            let (from, to) = self.between(step);
            plan.push(from, to, step.mass);
        }
        plan
    }

    /// Adds the moves of `tree` for `left`, the surplus that earlier `moves` left.
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
        // A rest that is rounding goes where the last mass went, or else to a point of both.
        let last = moves.last().map_or_else(|| self.points.len() as u32 - 1, |step| step.to);
        let place = |k: u32| places.get(k as usize).copied().unwrap_or(last);
        let moved =
            |step: &MassMove| MassMove { from: place(step.from), to: place(step.to), ..*step };
        moves.extend(rest.iter().map(moved));
    }

    /// The two points of a move.
    pub(crate) fn between(&self, step: &MassMove) -> (u32, u32) {
        (self.points[step.from as usize], self.points[step.to as usize])
    }
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
