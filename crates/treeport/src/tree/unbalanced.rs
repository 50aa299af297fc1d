//! Unbalanced transport on a tree.
//!
//! Mass that is not moved is removed or created at a penalty λ per unit of mass. With s the surplus
//! of a point, y the mass that leaves it upwards, and y(v) the sum of those below a node,
//!
//!   min Σ_v length(v)·|y(v)| + λ·Σᵢ |sᵢ − yᵢ|,  y(root) = 0,
//!
//! where yᵢ lies between 0 and sᵢ: creating mass in order to move it is never cheaper than creating
//! it where it is needed. This is a program of `convex`, whose leaves are lines of slope ∓λ and
//! whose edges add a kink at 0.
//!
//! Mass never moves farther than 2λ, so longer edges count as 4λ: slopes keep the digits of λ,
//! however small it is. Masses are integer multiples of a unit, so that no rounding error crosses a
//! long edge.

use std::cell::Cell;

use super::Tree;
use super::convex::{ConvexFunction, ConvexPieces};
use super::distance::surpluses;
use crate::error::Result;
use crate::measures::Measure;
use crate::numeric::order::RankOrder;
use crate::numeric::rounding::TOTALS;
use crate::tools::option_range::OptionRange;

/// A function at a node, and the length of the path since its last kink.
struct NodeFunction {
    function: ConvexFunction,
    climbed: Cell<f64>,
}

impl Tree {
    /// Computes the cost of unbalanced transport: along the edges, plus `penalty` for every unit
    /// that is not moved, both where it is removed and where it is created.
    ///
    /// This is the flat metric (Kantorovich–Rubinstein) of the tree. With a penalty of at least
    /// half the largest distance and equal masses it is [`Tree::distance`].
    ///
    /// $$ \max_f \sum_i (\mu_i - \rho_i) f_i, \quad |f_i| \le \lambda, \quad
    ///    |f_i - f_j| \le d_T(i, j) $$
    ///
    /// # Errors
    /// The measures are on other points than the tree's; a penalty that is negative or not finite.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, given the index of [`Tree::distance`].
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 1.0, 0.0])?;
    /// // One unit goes from a to b; one at a and the one at c are removed.
    /// assert_eq!(tree.unbalanced(&measures.row(0), &measures.row(1), 1.5)?, 5.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn unbalanced(&self, a: &Measure<'_>, b: &Measure<'_>, penalty: f64) -> Result<f64> {
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        OptionRange::NOT_NEGATIVE.check("penalty", penalty)?;
        if penalty == 0.0 {
            return Ok(0.0);
        }
        let index = self.index();
        let (points, surplus): (Vec<u32>, Vec<f64>) = surpluses(a, b).unzip();
        let mut order = RankOrder::default();
        order.sort(points.iter().map(|&point| index.rank[point as usize]), index.last_rank());
        let ordered: Vec<(u32, f64)> =
            order.iter().map(|(rank, k)| (rank, surplus[k as usize])).collect();
        let mut branches = Vec::new();
        index.branches(ordered.iter().map(|leaf| leaf.0), &mut branches);
        let even = (a.total() - b.total()).abs() <= TOTALS * a.total().max(b.total());
        let unit = Unit::of(ordered.iter().map(|leaf| leaf.1.abs()).sum());
        let (units, moved) = self.moved(&ordered, &branches, penalty, even, &unit);
        let mut left = 0.0;
        for ((leaf, &units), &moved) in ordered.iter().zip(&units).zip(&moved) {
            left += if moved == 0 { leaf.1.abs() } else { unit.mass(units - moved).abs() };
        }
        Ok(unit.mass_cost(self.cost_of_units(&ordered, &branches, &moved)) + penalty * left)
    }

    /// Computes the cost of moving integer masses, multiples of a [`Unit`], upwards from each
    /// point.
    fn cost_of_units(&self, surplus: &[(u32, f64)], branches: &[u32], moved: &[i64]) -> f64 {
        let cost = Cell::new(0.0);
        let leaves = branches.iter().zip(surplus).zip(moved);
        // No mass arrives at the root: the sum at the last branching is 0.
        self.index().sweep(
            &mut Vec::new(),
            leaves.map(|((&branch, &(rank, _)), &units)| (branch, rank, units)),
            |&units, length| cost.set(cost.get() + (units as f64).abs() * length),
            |waiting, arrived| *waiting += arrived,
        );
        cost.get()
    }

    /// Returns the surpluses as multiples of a [`Unit`], with sum 0 if they are `even`, and the
    /// optimal mass that leaves each point upwards. Points are ranks.
    fn moved(
        &self,
        surplus: &[(u32, f64)],
        branches: &[u32],
        penalty: f64,
        even: bool,
        unit: &Unit,
    ) -> (Vec<i64>, Vec<i64>) {
        let mut units: Vec<i64> = surplus.iter().map(|leaf| unit.units(leaf.1)).collect();
        if even {
            // Rounding errors of sums pay no penalty, however high it is.
            let missing: i64 = units.iter().sum();
            units
                .iter_mut()
                .max_by_key(|units| units.abs())
                .into_iter()
                .for_each(|units| *units -= missing);
        }
        let mut pieces = ConvexPieces::with_capacity(2 * surplus.len());
        let parts: Vec<NodeFunction> = (0..)
            .zip(&units)
            .map(|(leaf, &length)| {
                let slope = if length > 0 { -penalty } else { penalty };
                let function = pieces.line(length.min(0), slope, length.abs(), leaf);
                NodeFunction { function, climbed: Cell::default() }
            })
            .collect();
        let longest = 4.0 * penalty;
        let leaves = branches.iter().zip(surplus).zip(parts);
        let last = self.index().sweep(
            &mut Vec::new(),
            leaves.map(|((&branch, &(rank, _)), part)| (branch, rank, part)),
            |part, length| part.climbed.set(part.climbed.get() + length),
            |waiting, arrived| {
                let [one, other] = [&*waiting, &arrived].map(|part| {
                    pieces.add_kink(part.function, 0, part.climbed.take().min(longest))
                });
                waiting.function = pieces.join(one, other);
            },
        );
        let mut lengths = vec![0; surplus.len()];
        if let Some((part, _)) = last {
            pieces
                .for_each_up_to(part.function, 0, |leaf, length| lengths[leaf as usize] += length);
        }
        // The line of a negative surplus starts at −|surplus|, where no mass is moved.
        let leaves = |k: usize| if units[k] < 0 { units[k] + lengths[k] } else { lengths[k] };
        let moved = (0..surplus.len()).map(leaves).collect();
        (units, moved)
    }
}

/// Conversion of masses to integers; the unit is a power of two.
struct Unit {
    size: f64,
}

impl Unit {
    /// Returns a unit in which the total is below 2⁶¹, so that masses keep their digits.
    fn of(total: f64) -> Self {
        let exponent = if total > 0.0 { total.log2().floor() as i32 + 2 - 61 } else { 0 };
        // Masses near the ends of the range of numbers have no such power.
        Self { size: 2f64.powi(exponent.clamp(-1022, 1022)) }
    }

    fn units(&self, mass: f64) -> i64 {
        (mass / self.size).round() as i64
    }

    fn mass(&self, units: i64) -> f64 {
        units as f64 * self.size
    }

    /// Converts the cost of moving multiples of the unit to the cost of moving their mass.
    fn mass_cost(&self, units: f64) -> f64 {
        units * self.size
    }
}
