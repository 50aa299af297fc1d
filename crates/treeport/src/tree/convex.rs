//! Convex functions of the mass below a node, and the cheapest mass for every leaf.
//!
//! Unbalanced transport and barycenters on a tree are one kind of program: a mass y(v) for every
//! node, at a node the sum of its children's, that minimizes a sum of terms c·|y(v) − m|. From the
//! leaves up, let f(v, y) be the least that the nodes of a subtree cost when its mass is y. Then
//! f(v) is the infimal convolution of the children's functions plus the terms of v.
//!
//! **Invariant.** A function lives on an interval and is a sequence of pieces, each a slope and a
//! length, whose slopes never decrease. Infimal convolution is then the pieces of both, sorted by
//! slope ([`ConvexPieces::join`]). A term c·|y − m| cuts the sequence at m, takes c from the slopes
//! before and adds c to those after ([`ConvexPieces::bend`]). A piece belongs to the leaf whose mass it is,
//! and what is cut from it belongs to the same leaf; the pieces of a leaf stay in their order. The
//! cheapest way to have mass y is to take the first pieces up to y: their lengths are the masses of
//! the leaves ([`ConvexPieces::taken`]), without a pass down the tree.
//!
//! Lengths are integers, so that cuts are exact. The pieces are nodes of a treap with lazy additions
//! to the slopes below a node.
//!
//! # Complexity
//! [`bend`](ConvexPieces::bend) is O(log n) and [`join`](ConvexPieces::join) O(k log(n/k + 1)) for the smaller
//! number k of pieces, expected over priorities, which come from the numbers of pieces and not from
//! the data; n pieces joined in any order take O(n log n) in all.

/// No piece.
const NONE: u32 = u32::MAX;

/// A function on an interval that begins at `start`.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConvexFunction {
    root: u32,
    start: i64,
}

/// The pieces of all functions.
#[derive(Debug, Default)]
pub(super) struct ConvexPieces {
    pieces: Vec<Piece>,
}

#[derive(Clone, Copy, Debug)]
struct Piece {
    slope: f64,
    /// To be added to all slopes below in the treap.
    pending: f64,
    length: i64,
    /// The length of this piece and of all below it.
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

    /// Memory of a piece.
    pub(super) const BYTES: u64 = size_of::<Piece>() as u64;

    /// A function with one piece.
    pub(super) fn line(
        &mut self,
        start: i64,
        slope: f64,
        length: i64,
        leaf: u32,
    ) -> ConvexFunction {
        ConvexFunction { root: self.add(slope, length, leaf), start }
    }

    /// The least of f(x) + g(y − x) over x, as a function of y.
    pub(super) fn join(&mut self, f: ConvexFunction, g: ConvexFunction) -> ConvexFunction {
        ConvexFunction { root: self.union(f.root, g.root), start: f.start + g.start }
    }

    /// f(y) + change·|y − at|.
    pub(super) fn bend(&mut self, f: ConvexFunction, at: i64, change: f64) -> ConvexFunction {
        let (before, after) = self.cut(f.root, at - f.start);
        self.raise(before, -change);
        self.raise(after, change);
        ConvexFunction { root: self.concat(before, after), start: f.start }
    }

    /// The function restricted to arguments up to `end`.
    pub(super) fn until(&mut self, f: ConvexFunction, end: i64) -> ConvexFunction {
        ConvexFunction { root: self.cut(f.root, end - f.start).0, start: f.start }
    }

    /// Calls `take` with a leaf and a length for every piece up to `at`.
    pub(super) fn taken(&mut self, f: ConvexFunction, at: i64, mut take: impl FnMut(u32, i64)) {
        let mut stack = vec![self.cut(f.root, at - f.start).0];
        while let Some(root) = stack.pop() {
            if root != NONE {
                let piece = self.pieces[root as usize];
                take(piece.leaf, piece.length);
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

    /// Adds `pending` to the nodes next below; returns the piece.
    fn settled(&mut self, root: u32) -> Piece {
        let piece = self.pieces[root as usize];
        if piece.pending != 0.0 {
            self.raise(piece.before, piece.pending);
            self.raise(piece.after, piece.pending);
            self.at(root).pending = 0.0;
        }
        piece
    }

    /// Replaces the subtrees of the root; returns the root.
    fn with_below(&mut self, root: u32, before: u32, after: u32) -> u32 {
        let below = self.total(before) + self.total(after);
        let piece = self.at(root);
        (piece.before, piece.after) = (before, after);
        piece.total = below + piece.length;
        root
    }

    /// The pieces up to `length`, and those after; one of them may be cut in two.
    fn cut(&mut self, root: u32, length: i64) -> (u32, u32) {
        let (first, cut, rest) = self.parted(root, length);
        // The new piece is concatenated from the root, so that its priority finds its place.
        (first, self.concat(cut, rest))
    }

    /// The pieces up to `length`, the rest of the one that is cut there, and those after it.
    fn parted(&mut self, root: u32, length: i64) -> (u32, u32, u32) {
        if root == NONE || length <= 0 {
            return (NONE, NONE, root);
        }
        if length >= self.total(root) {
            return (root, NONE, NONE);
        }
        let piece = self.settled(root);
        let before = self.total(piece.before);
        if length <= before {
            let (first, cut, rest) = self.parted(piece.before, length);
            return (first, cut, self.with_below(root, rest, piece.after));
        }
        let within = length - before;
        if within >= piece.length {
            let (rest, cut, last) = self.parted(piece.after, within - piece.length);
            return (self.with_below(root, piece.before, rest), cut, last);
        }
        let cut = self.add(piece.slope, piece.length - within, piece.leaf);
        self.at(root).length = within;
        (self.with_below(root, piece.before, NONE), cut, piece.after)
    }

    /// One sequence after the other.
    fn concat(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return first.min(second);
        }
        if self.at(first).priority >= self.at(second).priority {
            let piece = self.settled(first);
            let after = self.concat(piece.after, second);
            return self.with_below(first, piece.before, after);
        }
        let piece = self.settled(second);
        let before = self.concat(first, piece.before);
        self.with_below(second, before, piece.after)
    }

    /// The pieces with slopes below this one, and the others. Of equal slopes the older piece comes
    /// first: were it the one with the larger priority, the treap would become a list.
    fn split(&mut self, root: u32, slope: f64, number: u32) -> (u32, u32) {
        if root == NONE {
            return (NONE, NONE);
        }
        let piece = self.settled(root);
        if (piece.slope, root) < (slope, number) {
            let (below, above) = self.split(piece.after, slope, number);
            return (self.with_below(root, piece.before, below), above);
        }
        let (below, above) = self.split(piece.before, slope, number);
        (below, self.with_below(root, above, piece.after))
    }

    /// All pieces of two sequences in the order of their slopes.
    fn union(&mut self, first: u32, second: u32) -> u32 {
        if first == NONE || second == NONE {
            return first.min(second);
        }
        let (root, other) = if self.at(first).priority >= self.at(second).priority {
            (first, second)
        } else {
            (second, first)
        };
        let piece = self.settled(root);
        let (below, above) = self.split(other, piece.slope, root);
        let (before, after) = (self.union(piece.before, below), self.union(piece.after, above));
        self.with_below(root, before, after)
    }
}

/// A pseudorandom number: the finalizer of a 32-bit hash.
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

    /// The same function as a table of its values at whole numbers from `start` on.
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

        fn bend(mut self, at: i64, change: f64) -> Self {
            for (k, value) in (self.start..).zip(&mut self.values) {
                *value += change * (k - at).abs() as f64;
            }
            self
        }
    }

    /// The slopes of a function, one for every unit of length.
    fn slopes(pieces: &mut ConvexPieces, root: u32, out: &mut Vec<f64>) {
        if root != NONE {
            let piece = pieces.settled(root);
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
                whole = Some((pieces.bend(f, at, change), table.bend(at, change)));
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
