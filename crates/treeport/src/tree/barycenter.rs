//! Barycenters on a tree: the measure with the least mean distance to several.
//!
//! With y(v) the mass of the barycenter below v and m_k(v) that of measure k,
//!
//!   min Σ_v length(v)·Σ_k ω_k·|y(v) − m_k(v)|,  y ≥ 0 at the leaves, y(root) = 1.
//!
//! Every edge alone would have the weighted median of the masses below it, but medians of children
//! need not add up to that of their parent. As a program of `convex` it is solved exactly: a leaf
//! is a line of slope 0 from 0 to 1, and an edge bends at the mass of every measure below it.

use super::Tree;
use super::convex::{ConvexFunction, ConvexPieces};
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::progress::{Counter, Progress};
use crate::steps::BARYCENTER;

/// The total mass of every measure, as a whole number.
const WHOLE: i64 = 1 << 60;

/// Masses below this are the rounding of sums: 2⁻⁴⁵ of all.
const DUST: i64 = WHOLE >> 45;

/// Nodes between two calls of `progress`.
const ASKED: usize = 1 << 10;

/// The mass of one measure below a node, and the weight of that measure.
#[derive(Clone, Copy)]
struct MassBelow {
    node: u32,
    mass: i64,
    weight: f64,
}

impl Tree {
    /// The mass at every point of a measure with the least weighted sum of
    /// [distances](Tree::distance) to the measures. All have equal masses; without weights all count
    /// the same.
    ///
    /// Barycenters are seldom unique: every point between two is a barycenter of those. The choice is
    /// deterministic. Masses below 2⁻⁴⁵ of the total are rounding, and go to the largest.
    ///
    /// # Errors
    /// No measures, measures on other points than the tree's or of different masses, a number of
    /// weights other than that of measures, weights that are negative, not finite or all 0,
    /// [`Error::Memory`], and [`Error::Cancelled`] when `progress`, which counts nodes, asks to stop.
    ///
    /// # Complexity
    /// O((n + e) log n) for n nodes and e the number of nodes above the points of each measure.
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
        let weights = checked(weights, measures.len())?;
        let counter = Counter::new(BARYCENTER, self.nodes(), progress);
        let below = self.masses_below(measures, &weights, &counter)?;
        let lengths = self.cheapest(&below, weights.iter().sum(), &counter)?;
        Ok(masses(&lengths, measures.row(0).total()))
    }

    /// The masses of all measures below all nodes where they are not 0, by node.
    fn masses_below(
        &self,
        measures: &Measures,
        weights: &[f64],
        counter: &Counter<'_>,
    ) -> Result<Vec<MassBelow>> {
        let (step, instead) = ("the masses of all measures below all nodes", "take fewer measures");
        let mut all = Vec::new();
        let (mut masses, mut seen) = (vec![0; self.nodes()], vec![false; self.nodes()]);
        let mut above = Vec::new();
        for (measure, &weight) in measures.iter().zip(weights) {
            counter.add(0)?;
            for (point, units) in whole(&measure) {
                masses[point] = units;
                let mut node = point;
                while node != self.root() && !std::mem::replace(&mut seen[node], true) {
                    above.push(node as u32);
                    node = self.shape.parent[node] as usize;
                }
            }
            // Children before parents.
            above.sort_unstable();
            memory::grow(&mut all, format_args!("{step}"), above.len(), instead)?;
            for node in above.drain(..) {
                let v = node as usize;
                let mass = std::mem::take(&mut masses[v]);
                masses[self.shape.parent[v] as usize] += mass;
                seen[v] = false;
                all.push(MassBelow { node, mass, weight });
            }
            masses[self.root()] = 0;
        }
        // Stable, so that sums of weights are always in the same order.
        all.sort_by_key(|entry| entry.node);
        Ok(all)
    }

    /// The masses of the leaves in whole numbers.
    fn cheapest(
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
            if v.is_multiple_of(ASKED) {
                counter.add(ASKED.min(self.root() - v))?;
            }
            let count = rest.iter().take_while(|entry| entry.node as usize == v).count();
            let (here, after) = rest.split_at(count);
            rest = after;
            let own = waiting[v].take().unwrap_or_else(|| pieces.line(0, 0.0, WHOLE, v as u32));
            let bent = bend(&mut pieces, own, self.shape.length[v], here, weight);
            let parent = &mut waiting[self.shape.parent[v] as usize];
            let joined = match parent.take() {
                Some(other) => pieces.join(other, bent),
                None => bent,
            };
            *parent = Some(pieces.until(joined, WHOLE));
        }
        let mut lengths = vec![0; self.leaves()];
        match waiting[self.root()] {
            Some(root) => {
                pieces.taken(root, WHOLE, |leaf, length| lengths[leaf as usize] += length);
            }
            None => lengths[0] = WHOLE, // one point
        }
        Ok(lengths)
    }
}

/// Whole numbers as masses of this total; masses below [`DUST`] go to the largest.
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

/// Adds the cost of an edge; measures that are not named have no mass below it.
fn bend(
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
        f = pieces.bend(f, entry.mass, length * entry.weight);
    }
    pieces.bend(f, 0, length * absent.max(0.0))
}

/// The masses of a measure as whole numbers that add up to [`WHOLE`]; the largest takes the rounding.
fn whole(measure: &Measure<'_>) -> Vec<(usize, i64)> {
    let factor = WHOLE as f64 / measure.total();
    let mut units: Vec<(usize, i64)> =
        measure.iter().map(|(point, mass)| (point, (mass * factor) as i64)).collect();
    let missing = WHOLE - units.iter().map(|entry| entry.1).sum::<i64>();
    let largest = units.iter_mut().max_by_key(|entry| entry.1).expect("a measure has mass");
    largest.1 += missing;
    units.retain(|entry| entry.1 > 0);
    units
}

/// The weights of so many measures.
fn checked(weights: Option<&[f64]>, count: usize) -> Result<Vec<f64>> {
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
