//! Convex piecewise linear functions of the mass below a node, for optimal masses of the leaves.
//!
//! Unbalanced transport and barycenters on a tree are programs of the same kind: a mass y(v) for
//! every node, at a node the sum of its children's, that minimizes a sum of terms c·|y(v) − m|.
//! From the leaves up, let f(v, y) be the least cost of the nodes of a subtree with mass y. Then
//! f(v) is the infimal convolution of the children's functions plus the terms of v.
//!
//! **Invariant.** A function is defined on an interval and is a sequence of pieces, each with a
//! slope and a length, whose slopes never decrease. The infimal convolution merges the pieces of
//! both functions by slope ([`ConvexPieces::join`]). A term c·|y − m| cuts the sequence at m,
//! subtracts c from the slopes before and adds c to those after ([`ConvexPieces::add_kink`]). A
//! piece belongs to the leaf whose mass it is, and so do both parts of a piece that is cut; the
//! pieces of a leaf keep their order. The optimal masses for total mass y are the lengths of the
//! first pieces up to y ([`ConvexPieces::for_each_up_to`]), without a pass down the tree.
//!
//! Lengths are integers, so cuts are exact. The pieces are nodes of a treap with lazy additions to
//! the slopes of subtrees.
//!
//! # Complexity
//! [`add_kink`](ConvexPieces::add_kink) is O(log n) and [`join`](ConvexPieces::join) O(k log(n/k +
//! 1)) for the smaller number k of pieces, in expectation over priorities. Priorities are hashes of
//! the piece numbers and do not depend on the data. Joining n pieces in any order takes O(n log n)
//! in total.

/// Absent child.
const NONE: u32 = u32::MAX;

/// A convex function on an interval that begins at `start`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvexFunction {
    root: u32,
    start: i64,
}

/// Pieces of all functions.
#[derive(Debug, Default)]
pub(super) struct ConvexPieces {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    slope: f64,
    /// Pending addition to all slopes of the subtrees.
    pending: f64,
    length: i64,
    /// Length of this piece and of its subtrees.
    total: i64,
    leaf: u32,
    priority: u32,
    before: u32,
    after: u32,
}

impl ConvexPieces {
    pub(super) fn with_capacity(count: usize) -> Self {
        Self { pieces: Vec::with_capacity(count) }
    }

    /// Memory of a piece in bytes.
    pub(super) const BYTES: u64 = size_of::<Piece>() as u64;

    /// Creates a function with one piece.
    pub(super) fn line(
        &mut self,
        start: i64,
        slope: f64,
        length: i64,
        leaf: u32,
    ) -> ConvexFunction {
        ConvexFunction { root: self.add(slope, length, leaf), start }
    }

    /// Computes the infimal convolution of f and g: min over x of f(x) + g(y − x).
    pub(super) fn join(&mut self, f: ConvexFunction, g: ConvexFunction) -> ConvexFunction {
        ConvexFunction { root: self.union(f.root, g.root), start: f.start + g.start }
    }

    /// Computes f(y) + change·|y − at|.
    pub(super) fn add_kink(&mut self, f: ConvexFunction, at: i64, change: f64) -> ConvexFunction {
        let (before, after) = self.cut(f.root, at - f.start);
        self.raise(before, -change);
        self.raise(after, change);
        ConvexFunction { root: self.concat(before, after), start: f.start }
    }

    /// Restricts a function to arguments up to `end`.
    pub(super) fn truncate(&mut self, f: ConvexFunction, end: i64) -> ConvexFunction {
        ConvexFunction { root: self.cut(f.root, end - f.start).0, start: f.start }
    }

    /// Calls `visit` with the leaf and the length of every piece up to `at`.
    pub(super) fn for_each_up_to(
        &mut self,
        f: ConvexFunction,
        at: i64,
        mut visit: impl FnMut(u32, i64),
    ) {
        let mut stack = vec![self.cut(f.root, at - f.start).0];
        while let Some(root) = stack.pop() {
            if root != NONE {
                let piece = self.pieces[root as usize];
                visit(piece.leaf, piece.length);
                stack.extend([piece.before, piece.after]);
            }
        }
    }

    fn add(&mut self, slope: f64, length: i64, leaf: u32) -> u32 {
        let number = self.pieces.len() as u32;
        let (total, pending, priority) = (length, 0.0, scrambled(number));
        let (before, after) = (NONE, NONE);
        self.pieces.push(Piece { slope, pending, length, total, leaf, priority, before, after });
        number
    }

    fn at(&mut self, root: u32) -> &mut Piece {
        &mut self.pieces[root as usize]
    }

    fn total(&self, root: u32) -> i64 {
        if root == NONE { 0 } else { self.pieces[root as usize].total }
    }

    /// Adds to all slopes.
    fn raise(&mut self, root: u32, change: f64) {
        if root != NONE {
            let piece = self.at(root);
            piece.slope += change;
            piece.pending += change;
        }
    }

    /// Pushes the pending addition down to the children; returns the piece.
    fn push_down(&mut self, root: u32) -> Piece {
        let piece = self.pieces[root as usize];
        if piece.pending != 0.0 {
            self.raise(piece.before, piece.pending);
            self.raise(piece.after, piece.pending);
            self.at(root).pending = 0.0;
        }
        piece
    }

    /// Sets the children of a root; returns the root.
    fn set_children(&mut self, root: u32, before: u32, after: u32) -> u32 {
        let below = self.total(before) + self.total(after);
        let piece = self.at(root);
        (piece.before, piece.after) = (before, after);
        piece.total = below + piece.length;
        root
    }

    /// Splits a sequence into the pieces up to `length` and those after; cuts a piece if necessary.
    fn cut(&mut self, root: u32, length: i64) -> (u32, u32) {
        let (first, cut, rest) = self.split_at(root, length);
        // The cut piece is concatenated, so that its priority determines its place.
        (first, self.concat(cut, rest))
    }

    /// Splits a sequence into the pieces up to `length`, the rest of the cut piece, and others.
    fn split_at(&mut self, root: u32, length: i64) -> (u32, u32, u32) {
        if root == NONE || length <= 0 {
            return (NONE, NONE, root);
        }
        if length >= self.total(root) {
            return (root, NONE, NONE);
        }
        let piece = self.push_down(root);
        let before = self.total(piece.before);
        if length <= before {
            let (first, cut, rest) = self.split_at(piece.before, length);
            return (first, cut, self.set_children(root, rest, piece.after));
        }
        let within = length - before;
        if within >= piece.length {
            let (rest, cut, last) = self.split_at(piece.after, within - piece.length);
            return (self.set_children(root, piece.before, rest), cut, last);
        }
        let cut = self.add(piece.slope, piece.length - within, piece.leaf);
        self.at(root).length = within;
        (self.set_children(root, piece.before, NONE), cut, piece.after)
    }

    /// Concatenates two sequences.
    fn concat(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return first.min(second);
        }
        if self.at(first).priority >= self.at(second).priority {
            let piece = self.push_down(first);
            let after = self.concat(piece.after, second);
            return self.set_children(first, piece.before, after);
        }
        let piece = self.push_down(second);
        let before = self.concat(first, piece.before);
        self.set_children(second, before, piece.after)
    }

    /// Splits a sequence into the pieces with slopes below this one, and the others. Ties go to the
    /// older piece; if they went to the larger priority, the treap would degenerate to a list.
    fn split(&mut self, root: u32, slope: f64, number: u32) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let piece = self.push_down(root);
        if (piece.slope, root) < (slope, number) {
            let (below, above) = self.split(piece.after, slope, number);
            return (self.set_children(root, piece.before, below), above);
        }
        let (below, above) = self.split(piece.before, slope, number);
        (below, self.set_children(root, above, piece.after))
    }

    /// Merges two sequences by slope.
    fn union(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return first.min(second);
        }
        let (root, other) = if self.at(first).priority >= self.at(second).priority {
            (first, second)
        } else {
            (second, first)
        };
        let piece = self.push_down(root);
        let (below, above) = self.split(other, piece.slope, root);
        let (before, after) = (self.union(piece.before, below), self.union(piece.after, above));
        self.set_children(root, before, after)
    }
}

/// Returns a pseudorandom number: the finalizer of a 32-bit hash.
fn scrambled(number: u32) -> u32 {
    let mut x = number.wrapping_add(0x9e37_79b9);
    x = (x ^ (x >> 16)).wrapping_mul(0x85eb_ca6b);
    x = (x ^ (x >> 13)).wrapping_mul(0xc2b2_ae35);
    x ^ (x >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// Reference: the values of a function at integers from `start` on.
    #[derive(Clone, Debug)]
    struct Table {
        start: i64,
        values: Vec<f64>,
    }

    impl Table {
        fn join(&self, other: &Self) -> Self {
            let size = self.values.len() + other.values.len() - 1;
            let mut values = vec![f64::INFINITY; size];
            for (i, x) in self.values.iter().enumerate() {
                for (j, y) in other.values.iter().enumerate() {
                    values[i + j] = values[i + j].min(x + y);
                }
            }
            Self { start: self.start + other.start, values }
        }

        fn add_kink(mut self, at: i64, change: f64) -> Self {
            for (k, value) in (self.start..).zip(&mut self.values) {
                *value += change * (k - at).abs() as f64;
            }
            self
        }
    }

    /// Writes the slopes of a function, one for every unit of length.
    fn slopes(pieces: &mut ConvexPieces, root: u32, out: &mut Vec<f64>) {
        if root != NONE {
            let piece = pieces.push_down(root);
            slopes(pieces, piece.before, out);
            out.extend(std::iter::repeat_n(piece.slope, piece.length as usize));
            slopes(pieces, piece.after, out);
        }
    }

    proptest! {
        #[test]
        fn functions_agree_with_tables_of_their_values(
            lines in vec((-5i64..5, -9i8..9, 1i64..5), 1..8),
            bends in vec((-20i64..20, 0i8..5), 8),
        ) {
            let mut pieces = ConvexPieces::default();
            let mut whole: Option<(ConvexFunction, Table)> = None;
            for (leaf, (&(start, slope, length), &(at, change))) in
                lines.iter().zip(&bends).enumerate()
            {
                let (slope, change) = (f64::from(slope), f64::from(change));
                let line = pieces.line(start, slope, length, leaf as u32);
                let values = (0..=length).map(|k| slope * k as f64).collect();
                let table = Table { start, values };
                let (f, table) = match whole.take() {
                    Some((f, known)) => (pieces.join(f, line), known.join(&table)),
                    None => (line, table),
                };
                whole = Some((pieces.add_kink(f, at, change), table.add_kink(at, change)));
            }
            let (f, table) = whole.expect("a line");
            prop_assert_eq!(f.start, table.start);
            let mut found = Vec::new();
            slopes(&mut pieces, f.root, &mut found);
            let judge: Vec<f64> = table.values.windows(2).map(|two| two[1] - two[0]).collect();
            prop_assert_eq!(found, judge);
        }
    }
}
