//! Barycenters on a tree: measures with the least mean distance to several measures.
//!
//! With y(v) the mass of the barycenter below v and m_k(v) that of measure k,
//!
//!   min Σ_v length(v)·Σ_k ω_k·|y(v) − m_k(v)|,  y ≥ 0 at the leaves, y(root) = 1.
//!
//! A single edge would have the weighted median of the masses below it, but medians of children
//! need not add up to that of their parent. As a program of `convex` it is solved exactly: a leaf
//! is a line of slope 0 from 0 to 1, and an edge adds a kink at the mass of every measure below it.

use super::Tree;
use super::convex::{ConvexFunction, ConvexPieces};
use crate::error::{Error, Result};
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::progress::tasks::BARYCENTER;
use crate::progress::{Counter, Progress};

/// Integer total mass of every measure.
const WHOLE: i64 = 1 << 60;

/// Limit below which masses, 2⁻⁴⁵ of the total, are rounding errors of sums.
const DUST: i64 = WHOLE >> 45;

/// Nodes between two progress reports.
const NODES_PER_REPORT: usize = 1 << 10;

/// Mass of one measure below a node, with the measure's weight.
#[derive(Clone, Copy)]
struct MassBelow {
    node: u32,
    mass: i64,
    weight: f64,
}

impl Tree {
    /// Computes a barycenter: the mass at every point of a measure with the least weighted sum of
    /// [distances](Tree::distance) to the measures. All measures have equal total mass; by default,
    /// weights are equal.
    ///
    /// Barycenters are seldom unique: every point between two points is a barycenter of these. The
    /// choice is deterministic. Masses below 2⁻⁴⁵ of the total are rounding errors and are added to
    /// the largest mass.
    ///
    /// # Errors
    /// No measures; measures on other points than the tree's or of different masses; a number of
    /// weights other than the number of measures; weights that are negative, not finite or all 0;
    /// [`Error::Memory`]; [`Error::Canceled`] if `progress`, which counts nodes, cancels.
    ///
    /// # Complexity
    /// O((n + e) log n) for n nodes, where e is the total number of nodes above the points of each
    /// measure.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree, silent};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let measures = Measures::unit_masses(3, [0, 0, 2])?;
    /// assert_eq!(tree.barycenter(&measures, None, &silent)?, [1.0, 0.0, 0.0]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn barycenter(
        &self,
        measures: &Measures,
        weights: Option<&[f64]>,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        measures.check_points(self.leaves())?;
        Measures::check_all_balanced(&[measures])?;
        let weights = check_weights(weights, measures.len())?;
        let counter = Counter::new(BARYCENTER, self.nodes(), progress);
        let below = self.masses_below(measures, &weights, &counter)?;
        let lengths = self.optimal_units(&below, weights.iter().sum(), &counter)?;
        Ok(masses(&lengths, measures.row(0).total()))
    }

    /// Computes the nonzero masses of all measures below all nodes, sorted by node.
    fn masses_below(
        &self,
        measures: &Measures,
        weights: &[f64],
        counter: &Counter<'_>,
    ) -> Result<Vec<MassBelow>> {
        let (step, instead) = ("the masses of all measures below all nodes", "take fewer measures");
        let mut all = Vec::new();
        let (mut masses, mut above) = (vec![0; self.nodes()], Vec::new());
        for (measure, &weight) in measures.iter().zip(weights) {
            counter.add(0)?;
            let units = integer_masses(&measure).into_iter();
            self.masses_above(units, &mut masses, |v, mass| {
                if v != self.root() {
                    above.push(MassBelow { node: v as u32, mass, weight });
                }
            });
            memory::grow(&mut all, step, above.len(), instead)?;
            all.append(&mut above);
        }
        // Stable, so that sums of weights are always in the same order.
        all.sort_by_key(|entry| entry.node);
        Ok(all)
    }

    /// Computes the optimal integer masses of the leaves.
    fn optimal_units(
        &self,
        below: &[MassBelow],
        weight: f64,
        counter: &Counter<'_>,
    ) -> Result<Vec<i64>> {
        let pieces = self.leaves() + below.len();
        let step = format_args!("a barycenter on {} nodes", self.nodes());
        let bytes = ConvexPieces::BYTES.saturating_mul(pieces as u64);
        memory::check(step, bytes, "take fewer measures, or a smaller tree")?;
        let mut pieces = ConvexPieces::with_capacity(pieces);
        let mut waiting: Vec<Option<ConvexFunction>> = vec![None; self.nodes()];
        let mut rest = below;
        for v in 0..self.root() {
            if v.is_multiple_of(NODES_PER_REPORT) {
                counter.add(NODES_PER_REPORT.min(self.root() - v))?;
            }
            let count = rest.iter().take_while(|entry| entry.node as usize == v).count();
            let (here, after) = rest.split_at(count);
            rest = after;
            let own = waiting[v].take().unwrap_or_else(|| pieces.line(0, 0.0, WHOLE, v as u32));
            let own = add_edge_cost(&mut pieces, own, self.shape.length[v], here, weight);
            let parent = &mut waiting[self.shape.parent[v] as usize];
            let joined = match parent.take() {
                Some(other) => pieces.join(other, own),
                None => own,
            };
            *parent = Some(pieces.truncate(joined, WHOLE));
        }
        let mut lengths = vec![0; self.leaves()];
        match waiting[self.root()] {
            Some(root) => {
                pieces.for_each_up_to(root, WHOLE, |leaf, length| lengths[leaf as usize] += length);
            }
            None => lengths[0] = WHOLE, // one point
        }
        Ok(lengths)
    }
}

/// Converts integers to masses of the given total; masses below [`DUST`] are added to the largest.
fn masses(lengths: &[i64], total: f64) -> Vec<f64> {
    let dust: i64 = lengths.iter().filter(|length| **length < DUST).sum();
    let largest = (0..lengths.len()).max_by_key(|&i| lengths[i]);
    let unit = total / WHOLE as f64;
    let mass = |(i, &length): (usize, &i64)| match length {
        _ if Some(i) == largest => (length + dust) as f64 * unit,
        ..DUST => 0.0,
        _ => length as f64 * unit,
    };
    lengths.iter().enumerate().map(mass).collect()
}

/// Adds the cost of an edge; measures not in `here` have no mass below it.
fn add_edge_cost(
    pieces: &mut ConvexPieces,
    mut f: ConvexFunction,
    length: f64,
    here: &[MassBelow],
    weight: f64,
) -> ConvexFunction {
    if length == 0.0 {
        return f;
    }
    let mut absent = weight;
    for entry in here {
        absent -= entry.weight;
        f = pieces.add_kink(f, entry.mass, length * entry.weight);
    }
    pieces.add_kink(f, 0, length * absent.max(0.0))
}

/// Converts masses to integers with the sum [`WHOLE`]; the largest absorbs rounding.
fn integer_masses(measure: &Measure<'_>) -> Vec<(usize, i64)> {
    let factor = WHOLE as f64 / measure.total();
    let mut units: Vec<(usize, i64)> =
        measure.iter().map(|(point, mass)| (point, (mass * factor) as i64)).collect();
    let missing = WHOLE - units.iter().map(|entry| entry.1).sum::<i64>();
    let largest = units.iter_mut().max_by_key(|entry| entry.1).expect("a measure has mass");
    largest.1 += missing;
    units.retain(|entry| entry.1 > 0);
    units
}

/// Checks and returns the weights of `count` measures.
fn check_weights(weights: Option<&[f64]>, count: usize) -> Result<Vec<f64>> {
    let bad =
        |value: String, expected| Err(Error::BadOption { option: "weights", value, expected });
    if count == 0 {
        let (what, expected) = ("the set of measures".into(), "at least one row".into());
        return Err(Error::Shape { what, expected, found: "0 rows".into() });
    }
    let Some(weights) = weights else { return Ok(vec![1.0; count]) };
    if weights.len() != count {
        let shape = |n: usize| crate::error::show_shape(&[n]);
        let what = "the list of weights".into();
        return Err(Error::Shape { what, expected: shape(count), found: shape(weights.len()) });
    }
    if let Some(k) = weights.iter().position(|w| !(0.0..f64::INFINITY).contains(w)) {
        let value = format!("{} for measure {k}", weights[k]);
        return bad(value, "weights must be finite and at least 0");
    }
    let total: f64 = weights.iter().sum();
    if !(total > 0.0 && total.is_finite()) {
        return bad(format!("{total} in all"), "their sum must be above 0 and finite");
    }
    Ok(weights.to_vec())
}
