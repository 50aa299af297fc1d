//! Flow: the cost of a tree's plan in the ground metric.
//!
//! A tree's greedy plan is feasible, so its true cost ⟨Π_T, D⟩ is at least W₁, with equality if the
//! metric is the tree's own. It uses the tree's matching but not its distances: with a quadtree
//! this is Flowtree (Backurs, Dong, Indyk, Razenshteyn, Wagner 2020, *Scalable Nearest Neighbor
//! Search for Optimal Transport*).

mod merge;
mod several;

pub(crate) use several::FlowPlans;

use crate::error::Result;
use crate::measures::{Measure, Measures, check_balance, rescaled};
use crate::metric::GroundMetric;
use crate::progress::tasks::DISTANCES;
use crate::progress::{Counter, Progress};
use crate::tools::csr::grouped;
use crate::tools::parallel;
use crate::tree::{Tree, TreePlans};

/// Computes ⟨Π_T, D⟩, the cost in `metric` of the plan of `tree`. If the totals differ by rounding,
/// the second measure is rescaled to the total of the first.
///
/// # Errors
/// The measures are on other points than the tree's or the metric's, or their masses differ.
///
/// # Complexity
/// O(s log s) for the plan, and at most s distances, for s points with mass. For a graph, use
/// [`GroundMetric::materialized`] distances.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, Measures, PointMetric, Tree, flow};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
/// let tree = Tree::from_newick("((0:1,1:1):9,2:10);")?;
/// let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
/// assert_eq!(flow::distance(&tree, &metric, &measures.row(0), &measures.row(1))?, 3.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn distance(
    tree: &Tree,
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
) -> Result<f64> {
    a.check_points(metric.points())?;
    check_balance((0, *a), (1, *b))?;
    let rescaled = rescaled(a, b)?;
    let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
    let plans = TreePlans::new(std::slice::from_ref(tree), a, b)?;
    Ok(MoveLengths::new(&plans, &ground_distances(metric)).costs(&plans)[0])
}

/// Computes [`distance`] of many pairs, in parallel over pairs; the same for any number of threads.
pub fn pairs(
    tree: &Tree,
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    measures.check_points(metric.points())?;
    measures.check_points(tree.leaves())?;
    measures.check_pairs(pairs)?;
    let counter = Counter::new(DISTANCES, pairs.len(), progress);
    parallel::try_map(pairs.len(), |at| {
        let (i, j) = pairs[at];
        let cost = distance(tree, metric, &measures.row(i), &measures.row(j))?;
        counter.add(1)?;
        Ok(cost)
    })
}

/// Function that writes the distances from a point to the given points into a slice.
pub(crate) trait DistancesFrom: Fn(usize, &[u32], &mut [f64]) {}
impl<F: Fn(usize, &[u32], &mut [f64])> DistancesFrom for F {}

pub(crate) fn ground_distances(metric: &GroundMetric) -> impl DistancesFrom + '_ {
    |from, to, out| metric.distances_from(from, to, out)
}

/// Arc of a plan between two positions of [`TreePlans`], with its length.
pub(crate) struct PlanArc {
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) length: f64,
}

/// Lengths of the moves of some plans.
pub(crate) struct MoveLengths {
    /// Length of every move.
    moves: Vec<f64>,
    /// Distinct arcs of the moves, by source.
    pub(crate) arcs: Vec<PlanArc>,
}

impl MoveLengths {
    /// Computes the lengths of all moves. Trees over the same points have many moves in common
    /// (three of four with 16 trees and supports of 100), so the distances from each point are
    /// computed together, each only once.
    pub(crate) fn new(plans: &TreePlans, distances: &impl DistancesFrom) -> Self {
        let points = &plans.points;
        let by_source = plans.moves.iter().zip(0_u32..);
        let by_source = by_source.map(|(step, k)| (step.from as usize, (k, step.to)));
        let (start, order) = grouped(points.len(), by_source);
        let (mut moves, mut arcs) = (vec![0.0; order.len()], Vec::new());
        // Last source with a move to each point, and the point's position in `targets`.
        let mut seen = vec![(u32::MAX, 0); points.len()];
        let (mut targets, mut out) = (Vec::new(), Vec::new());
        for from in 0..points.len() {
            let own = &order[start[from]..start[from + 1]];
            let first = arcs.len();
            targets.clear();
            for &(_, to) in own {
                let seen = &mut seen[to as usize];
                if seen.0 != from as u32 {
                    *seen = (from as u32, targets.len() as u32);
                    targets.push(points[to as usize]);
                    arcs.push(PlanArc { from: from as u32, to, length: 0.0 });
                }
            }
            out.resize(targets.len(), 0.0);
            distances(points[from] as usize, &targets, &mut out);
            arcs[first..].iter_mut().zip(&out).for_each(|(arc, length)| arc.length = *length);
            for &(k, to) in own {
                moves[k as usize] = out[seen[to as usize].1 as usize];
            }
        }
        Self { moves, arcs }
    }

    pub(crate) fn costs(&self, plans: &TreePlans) -> Vec<f64> {
        let mut begin = 0;
        let cost = |&end: &usize| {
            let terms = plans.moves[begin..end].iter().zip(&self.moves[begin..end]);
            begin = end;
            // Not `sum`, which is −0 for no terms.
            terms.fold(0.0, |sum, (step, length)| sum + step.mass * length)
        };
        plans.ends.iter().map(cost).collect()
    }
}
