//! Greedy matching from the leaves up, which computes the moves of a tree's plan.

use std::hint::select_unpredictable;

use super::Tree;
use super::distance::surpluses;
use crate::measures::Measure;
use crate::numeric::order::RankOrder;

/// Unmatched surplus below a node: entries of one sign, linked in leaf order.
#[derive(Clone, Copy)]
struct Unmatched {
    first: u32,
    last: u32,
}

/// Surplus of one leaf; `next` links the entries that wait at the same node.
#[derive(Clone, Copy)]
struct Entry {
    surplus: f64,
    next: u32,
}

/// Points where two measures differ, with the difference, first minus second.
pub(super) struct Surplus {
    /// Points, increasing.
    pub(super) points: Vec<u32>,
    /// Differences: above 0 at sources, below 0 at targets.
    pub(super) masses: Vec<f64>,
}

impl Surplus {
    pub(super) fn new(a: &Measure<'_>, b: &Measure<'_>) -> Self {
        let most = a.support().len() + b.support().len();
        let (mut points, mut masses) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (point, mass) in surpluses(a, b) {
            points.push(point);
            masses.push(mass);
        }
        Self { points, masses }
    }
}

/// Mass that moves between indices of a [`Surplus`]; the last is the common point.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MassMove {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) mass: f64,
}

/// Workspace for the plans of several trees.
#[derive(Default)]
pub(super) struct Matching {
    order: RankOrder,
    branches: Vec<u32>,
    entries: Vec<Entry>,
    stack: Vec<(u32, Unmatched)>,
}

const END: u32 = u32::MAX;

impl Tree {
    /// Appends the moves of [`Tree::coupling`].
    pub(super) fn matching(
        &self,
        surplus: &Surplus,
        scratch: &mut Matching,
        moves: &mut Vec<MassMove>,
    ) {
        let Matching { order, branches, entries, stack } = scratch;
        let first = moves.len();
        let index = self.index();
        let ranks = surplus.points.iter().map(|&point| index.rank[point as usize]);
        order.sort(ranks, index.last_rank());
        index.branches(order.iter().map(|leaf| leaf.0), branches);
        entries.clear();
        entries.extend(surplus.masses.iter().map(|&surplus| Entry { surplus, next: END }));
        let alone = |k| Unmatched { first: k, last: k };
        let leaves = branches.iter().zip(order.iter());
        let leaves = leaves.map(|(&branch, (rank, k))| (branch, rank, alone(k)));
        let rest = index.sweep(
            stack,
            leaves,
            |_, _| (),
            |waiting, arrived| *waiting = matched(entries, moves, *waiting, arrived),
        );
        // A remainder on the left is rounding; it goes to the last target or the common point.
        let to = moves[first..].last().map_or(entries.len() as u32, |last| last.to);
        let mut from = rest.map_or(END, |(rest, _)| rest.first);
        while from != END && entries[from as usize].surplus > 0.0 {
            moves.push(MassMove { from, to, mass: entries[from as usize].surplus });
            from = entries[from as usize].next;
        }
    }
}

/// Matches two lists if their signs differ; concatenates them if not.
fn matched(
    entries: &mut [Entry],
    moves: &mut Vec<MassMove>,
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
    let is_source = entries[x as usize].surplus > 0.0;
    if is_source == (entries[y as usize].surplus > 0.0) {
        entries[waiting.last as usize].next = y;
        return Unmatched { first: x, last: arrived.last };
    }
    while x != END && y != END {
        let (mine, theirs) = (entries[x as usize], entries[y as usize]);
        let (my_mass, their_mass) = (mine.surplus.abs(), theirs.surplus.abs());
        let (from, to) = if is_source { (x, y) } else { (y, x) };
        moves.push(MassMove { from, to, mass: my_mass.min(their_mass) });
        // The larger surplus keeps the remainder; the smaller entry is matched.
        let left = mine.surplus + theirs.surplus;
        entries[x as usize].surplus = left;
        entries[y as usize].surplus = left;
        x = select_unpredictable(my_mass <= their_mass, mine.next, x);
        y = select_unpredictable(their_mass <= my_mass, theirs.next, y);
    }
    if x == END {
        Unmatched { first: y, last: arrived.last }
    } else {
        Unmatched { first: x, last: waiting.last }
    }
}
