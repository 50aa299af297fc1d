//! Transport on a tree between measures of any masses.
//!
//! Mass that is not moved is taken away or put back at a price λ a unit. With s the surplus of a
//! point, y the mass that leaves it upwards, and y(v) the sum of those below a node,
//!
//!   min Σ_v length(v)·|y(v)| + λ·Σᵢ |sᵢ − yᵢ|,  y(root) = 0,
//!
//! where yᵢ lies between 0 and sᵢ: to create mass in order to send it away costs no less than to
//! create it where it is needed. That is a program of `convex`, whose leaves are lines of slope ∓λ
//! and whose edges bend at 0.

use std::cell::Cell;

use super::Tree;
use super::convex::{ConvexFunction, ConvexPieces};
use super::distance::surpluses;
use super::index::Depth;
use crate::error::Result;
use crate::measure::Measure;
use crate::option_range::OptionRange;
use crate::order::RankOrder;
use crate::rounding::TOTALS;

/// A function at a node, and the length it has climbed since its last bend.
struct Part {
    function: ConvexFunction,
    climbed: Cell<f64>,
}

impl Tree {
    /// The cost of transport between measures of any masses: along the edges, and `penalty` for
    /// every unit that is not moved, where it is taken away and where it is put back.
    ///
    /// This is the flat metric (Kantorovich–Rubinstein) of the tree. With a penalty of at least
    /// half the largest distance and equal masses it is [`Tree::distance`].
    ///
    /// $$ \max_f \sum_i (\mu_i - \rho_i) f_i, \quad |f_i| \le \lambda, \quad
    ///    |f_i - f_j| \le d_T(i, j) $$
    ///
    /// # Errors
    /// The measures live on other points than the tree's; a penalty that is negative or not finite.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, after the index of [`Tree::distance`].
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 1.0, 0.0])?;
    /// // One unit goes from a to b; one at a and the one at c are taken away.
    /// assert_eq!(tree.unbalanced(&measures.row(0), &measures.row(1), 1.5)?, 5.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn unbalanced(&self, a: &Measure<'_>, b: &Measure<'_>, penalty: f64) -> Result<f64> {
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        OptionRange::NOT_NEGATIVE.check("penalty", penalty)?;
        let index = self.index();
        let (points, surplus): (Vec<u32>, Vec<f64>) = surpluses(a, b).unzip();
        let mut order = RankOrder::default();
        order.sort(points.iter().map(|&point| index.rank[point as usize]), index.last_rank());
        let ordered: Vec<(u32, f64)> =
            order.iter().map(|(rank, k)| (rank, surplus[k as usize])).collect();
        let mut branches = Vec::new();
        index.branches(ordered.iter().map(|leaf| leaf.0), &mut branches);
        let even = (a.total() - b.total()).abs() <= TOTALS * a.total().max(b.total());
        let moved = self.moved(&ordered, &branches, penalty, even);
        let left: f64 = ordered.iter().zip(&moved).map(|(leaf, y)| (leaf.1 - y).abs()).sum();
        let leaves = branches.iter().zip(&ordered).zip(&moved);
        let leaves = leaves.map(|((&branch, leaf), &y)| (branch, leaf.0, y));
        // No mass arrives at the root, so its depth does not matter.
        Ok(index.cost_along(&mut Vec::new(), leaves, Depth::default()).0 + penalty * left)
    }

    /// The mass that leaves each point upwards, for surpluses by the rank of their point, which add
    /// up to 0 if they are `even`.
    fn moved(
        &self,
        surplus: &[(u32, f64)],
        branches: &[u32],
        penalty: f64,
        even: bool,
    ) -> Vec<f64> {
        let unit = Unit::of(surplus.iter().map(|leaf| leaf.1.abs()).sum());
        let mut whole: Vec<i64> = surplus.iter().map(|leaf| unit.whole(leaf.1)).collect();
        if even {
            // No penalty is paid for the rounding of sums, however high it is.
            let missing: i64 = whole.iter().sum();
            whole
                .iter_mut()
                .max_by_key(|units| units.abs())
                .into_iter()
                .for_each(|units| *units -= missing);
        }
        let mut pieces = ConvexPieces::with_capacity(2 * surplus.len());
        let parts: Vec<Part> = (0..)
            .zip(&whole)
            .map(|(leaf, &length)| {
                let slope = if length > 0 { -penalty } else { penalty };
                let function = pieces.line(length.min(0), slope, length.abs(), leaf);
                Part { function, climbed: Cell::default() }
            })
            .collect();
        let leaves = branches.iter().zip(surplus).zip(parts);
        let last = self.index().sweep(
            &mut Vec::new(),
            leaves.map(|((&branch, &(rank, _)), part)| (branch, rank, part)),
            |part, length| part.climbed.set(part.climbed.get() + length),
            |waiting, arrived| {
                let one = pieces.bend(waiting.function, 0, waiting.climbed.take());
                let other = pieces.bend(arrived.function, 0, arrived.climbed.take());
                waiting.function = pieces.join(one, other);
            },
        );
        let mut lengths = vec![0; surplus.len()];
        if let Some((part, _)) = last {
            pieces.taken(part.function, 0, |leaf, length| lengths[leaf as usize] += length);
        }
        let mass = |k: usize| {
            // The line of a lack begins at −|lack|, where nothing is taken.
            let leaves = if whole[k] < 0 { whole[k] + lengths[k] } else { lengths[k] };
            if leaves == whole[k] { surplus[k].1 } else { unit.mass(leaves) }
        };
        (0..surplus.len()).map(mass).collect()
    }
}

/// Masses as whole numbers of a power of two.
struct Unit {
    size: f64,
}

impl Unit {
    /// A unit in which the total is below 2⁶¹, so that masses keep their digits unless they are tiny
    /// parts of the total.
    fn of(total: f64) -> Self {
        let exponent = if total > 0.0 { total.log2().floor() as i32 + 2 - 61 } else { 0 };
        // Masses near the ends of the range of numbers have no such power.
        Self { size: 2f64.powi(exponent.clamp(-1022, 1022)) }
    }

    fn whole(&self, mass: f64) -> i64 {
        (mass / self.size).round() as i64
    }

    fn mass(&self, units: i64) -> f64 {
        units as f64 * self.size
    }
}
