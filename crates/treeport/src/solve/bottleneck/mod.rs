//! Bottleneck transport (order ∞): the least t such that all mass moves along arcs of cost at most
//! t.
//!
//! A maximum flow along the arcs of cost at most t decides whether t suffices. If it does, the
//! longest arc in use is an upper bound, and its plan is the proof. If it does not, the points that
//! the residual graph reaches are the proof (Hall): their sources have more mass than all sinks
//! within t of them, and the shortest arc from them to another sink is a lower bound. Both bounds
//! are costs of arcs, and bisection ends when they meet.
//!
//! Mass that may stay behind moves to a spare sink at the penalty of its source, and from a spare
//! source at the penalty of its sink; the arc between the spares is free.
//!
//! **Rounding of masses.** One bit of mass too much on one side would have to move along the longest
//! arc. So up to twice [`TOTALS`] of the mass that moves may stay unmatched, and masses are whole
//! numbers of quanta of 2⁻¹⁰⁰ of the total.
//!
//! Between points of equal masses a [`Matching`] is found instead, without bisection. Other flows
//! are found by Dinic's algorithm, whose arcs are never listed: a search for the next sink
//! within t reads a k-d tree of the sinks ([`SinkTree`]), so that memory is linear.

mod flow;
mod matching;
mod sinks;

use super::aim::{Aim, Deadline, Wanted};
use super::exact::{KeepGoing, check_canceled};
use crate::error::{Error, Result};
use crate::metric::GroundMetric;
use crate::numeric::rounding::TOTALS;
use flow::Flow;
use matching::{CostsFrom, Matching};
pub(super) use sinks::SinkTree;

/// A bottleneck problem between sources and sinks with masses.
pub(super) struct BottleneckProblem<'a> {
    pub(super) masses: [&'a [f64]; 2],
    pub(super) cost: &'a (dyn Fn(usize, usize) -> f64 + 'a),
    /// The same costs from a point of a side to points of the other one.
    pub(super) costs_from: &'a CostsFrom<'a>,
    /// Penalties of the sources and of the sinks, if mass may stay behind.
    pub(super) penalties: Option<[&'a [f64]; 2]>,
    /// The mass that has to move, if not all.
    pub(super) mass: Option<f64>,
    /// The metric, and the sources and sinks as points of it, for searches in a k-d tree.
    pub(super) points: Option<(&'a GroundMetric, [&'a [usize]; 2])>,
}

/// Bounds of a bottleneck problem with the plan and the points that prove them.
#[derive(Debug, Default)]
pub(super) struct Bottleneck {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// Moves between sources and sinks.
    pub(super) plan: Vec<(usize, usize, f64)>,
    /// Dual values of the problem with cost 1 for arcs of at least the lower bound, and 0 for all
    /// others: they prove that some mass has to move along such an arc. Empty if the bound is 0.
    pub(super) duals: Option<[Vec<f64>; 2]>,
    /// Number of maximum flows.
    pub(super) flows: usize,
}

/// Most arcs for [`Matching`], which may keep the costs of all.
const MOST_MATCHED: usize = 1 << 20;

/// Quanta of the total.
const QUANTA: f64 = (1u128 << 100) as f64;

/// Removes the longest moves until the rest moves no more than this many quanta.
fn reduce(moves: &mut Vec<(usize, usize, i128)>, most: i128, cost: &dyn Fn(usize, usize) -> f64) {
    let mut excess = moves.iter().map(|entry| entry.2).sum::<i128>() - most;
    moves.sort_by(|a, b| cost(b.0, b.1).total_cmp(&cost(a.0, a.1)));
    for entry in moves.iter_mut() {
        let gone = entry.2.min(excess.max(0));
        entry.2 -= gone;
        excess -= gone;
    }
    moves.retain(|entry| entry.2 > 0);
}

impl BottleneckProblem<'_> {
    /// Computes bounds to an aim.
    pub(super) fn answer(&self, aim: &Aim, deadline: &Deadline<'_>) -> Result<Bottleneck> {
        let keep_going = |proved| deadline.report_proved(proved);
        if self.is_matching() {
            match self.by_matching(aim, &keep_going) {
                // Flows have bounds at any time.
                Err(Error::Canceled) if deadline.has_passed() => {}
                found => return found,
            }
        }
        self.by_flows(aim, deadline, &keep_going)
    }

    /// Computes bounds by maximum flows.
    fn by_flows(
        &self,
        aim: &Aim,
        deadline: &Deadline<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Bottleneck> {
        // Beside much larger masses the digits of the mass that moves would be lost.
        let most = self.mass.unwrap_or(f64::INFINITY);
        let masses = self.masses.map(|masses| masses.iter().map(move |mass| mass.min(most)));
        let totals = masses.clone().map(Iterator::sum::<f64>);
        let largest = totals[0].max(totals[1]);
        let mut found = Bottleneck::default();
        if largest == 0.0 || self.mass == Some(0.0) {
            return Ok(found);
        }
        let quanta = |mass: f64| (mass / largest * QUANTA).round() as i128;
        let mut sides: [Vec<i128>; 2] = masses.map(|masses| masses.map(quanta).collect());
        let sums = [0, 1].map(|side: usize| sides[side].iter().sum::<i128>());
        let mut target = sums[0].min(sums[1]);
        if self.penalties.is_some() {
            sides[0].push(sums[1]);
            sides[1].push(sums[0]);
            target = sums[0] + sums[1];
        }
        if let Some(mass) = self.mass {
            target = quanta(mass).min(target);
        }
        let tolerance = (2.0 * TOTALS * target.min(QUANTA as i128) as f64) as i128;
        let target = target - tolerance;
        let cost = |i: usize, j: usize| self.cost(i, j);
        let mut sinks = self.sinks();
        // The plan in the order of points.
        let mut best = Flow::new(&sides);
        best.northwest();
        found.upper = best.longest(&cost);
        let mut base = Flow::new(&sides);
        let mut cut = None;
        if self.mass.is_none() {
            // Every point has to move at least to its nearest partner.
            (found.lower, cut) = self.alone(&sides, tolerance);
        }
        let mut t = found.lower;
        while found.lower < found.upper {
            if found.upper <= (1.0 + aim.width()) * found.lower {
                break;
            }
            if !keep_going(Some(found.lower / found.upper)) {
                if deadline.has_passed() {
                    break;
                }
                return Err(Error::Canceled);
            }
            if !(found.lower..found.upper).contains(&t) {
                t = found.lower + 0.5 * (found.upper - found.lower);
            }
            if t >= found.upper {
                t = found.lower;
            }
            let mut flow = base.clone();
            if flow.maximize(&mut sinks, (t, target), &|| keep_going(None))? {
                found.upper = found.upper.min(flow.longest(&cost));
                best = flow;
            } else if !keep_going(None) {
                // The flow may be less than a maximum flow.
                continue;
            } else {
                let reached = flow.reached();
                found.lower = sinks.least_beyond(&reached[0]);
                cut = Some(reached);
                base = flow;
            }
            found.flows += 1;
            t = f64::NAN;
        }
        found.lower = found.lower.min(found.upper);
        if aim.wanted >= Wanted::Plan {
            let (n, m) = (self.masses[0].len(), self.masses[1].len());
            let between = best.moves().filter(|&(i, j, _)| i < n && j < m);
            let mut moves: Vec<_> = between.collect();
            if let Some(mass) = self.mass {
                reduce(&mut moves, quanta(mass), &cost);
            }
            let mass = |flow: i128| flow as f64 / QUANTA * largest;
            found.plan = moves.into_iter().map(|(i, j, flow)| (i, j, mass(flow))).collect();
            found.plan.sort_unstable_by_key(|&(i, j, _)| (i, j));
        }
        found.duals = cut.map(|reached| self.duals(reached));
        Ok(found)
    }

    /// Returns whether all masses are equal, so that a matching is a plan.
    fn is_matching(&self) -> bool {
        let [n, m] = self.masses.map(<[f64]>::len);
        let mut all = self.masses.into_iter().flatten();
        let first = all.next();
        self.mass.is_none()
            && (self.penalties.is_some() || n == m)
            && n.saturating_mul(m) <= MOST_MATCHED
            && all.all(|mass| Some(mass) == first)
    }

    /// Solves a problem of equal masses.
    fn by_matching(&self, aim: &Aim, keep_going: &KeepGoing<'_>) -> Result<Bottleneck> {
        let sizes = self.masses.map(<[f64]>::len);
        let with_plan = aim.wanted >= Wanted::Plan;
        check_canceled(keep_going)?;
        let mut matching = Matching::new(self.costs_from, sizes, self.penalties);
        matching.solve(with_plan, keep_going)?;
        let (level, flows) = (matching.level, matching.searches);
        let mut found = Bottleneck { lower: level, upper: level, flows, ..Bottleneck::default() };
        if with_plan {
            found.plan = matching.pairs().map(|(i, j)| (i, j, self.masses[0][i])).collect();
            found.duals = matching.cut.map(|reached| self.duals(reached));
        }
        Ok(found)
    }

    /// Returns the cost of an arc; those of the spares are last.
    fn cost(&self, i: usize, j: usize) -> f64 {
        let [n, m] = self.masses.map(<[f64]>::len);
        match (self.penalties, i < n, j < m) {
            (_, true, true) | (None, ..) => (self.cost)(i, j),
            (Some([of_sources, _]), true, false) => of_sources[i],
            (Some([_, of_sinks]), false, true) => of_sinks[j],
            (Some(_), false, false) => 0.0,
        }
    }

    fn sinks(&self) -> SinkTree<'_> {
        let [n, m] = self.masses.map(<[f64]>::len);
        let spare = usize::from(self.penalties.is_some());
        let cost = |i: usize, j: usize| self.cost(i, j);
        SinkTree::new(Box::new(cost), [n + spare, m + spare], spare == 1, self.points)
    }

    /// Returns the sources as a tree, searched by sinks.
    fn sources(&self) -> SinkTree<'_> {
        let [n, m] = self.masses.map(<[f64]>::len);
        let spare = usize::from(self.penalties.is_some());
        let cost = |j: usize, i: usize| self.cost(i, j);
        let points = self.points.map(|(metric, [sources, sinks])| (metric, [sinks, sources]));
        SinkTree::new(Box::new(cost), [m + spare, n + spare], spare == 1, points)
    }

    /// Returns the largest cost between a point and its nearest partner, with the reached points
    /// that prove it: a source alone, or all sources and all sinks but one.
    fn alone(&self, sides: &[Vec<i128>; 2], tolerance: i128) -> (f64, Option<[Vec<bool>; 2]>) {
        let farthest = |side: usize, tree: &mut SinkTree<'_>| {
            let counted = (0..self.masses[side].len()).filter(|&at| sides[side][at] > tolerance);
            let nearest = counted.map(|at| (tree.nearest(at, 0, f64::INFINITY), at));
            nearest.fold((0.0, 0), |most, found| if found.0 > most.0 { found } else { most })
        };
        let (of_sources, of_sinks) =
            (farthest(0, &mut self.sinks()), farthest(1, &mut self.sources()));
        let lower = of_sources.0.max(of_sinks.0);
        if lower == 0.0 {
            return (lower, None);
        }
        let [mut sources, mut sinks] = [0, 1].map(|side: usize| vec![false; sides[side].len()]);
        if of_sources.0 == lower {
            sources[of_sources.1] = true;
        } else {
            sources.fill(true);
            sinks.fill(true);
            sinks[of_sinks.1] = false;
        }
        (lower, Some([sources, sinks]))
    }

    /// Returns the dual values that the points which the residual graph reaches prove.
    fn duals(&self, [sources, sinks]: [Vec<bool>; 2]) -> [Vec<f64>; 2] {
        let [n, m] = self.masses.map(<[f64]>::len);
        let as_number = |reached: bool| f64::from(u8::from(reached));
        // Dual values of the spares belong to all points of the other side.
        let [of_source, of_sink] = if self.penalties.is_some() {
            [as_number(sources[n]), -as_number(sinks[m])]
        } else {
            [0.0; 2]
        };
        let left = sources[..n].iter().map(|&reached| as_number(reached) + of_sink).collect();
        let right = sinks[..m].iter().map(|&reached| of_source - as_number(reached)).collect();
        [left, right]
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::progress::silent;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(500))]

        #[test]
        fn matchings_have_the_level_of_flows(
            (n, m) in (1usize..14, 1usize..14),
            numbers in vec(0.0..6.0f64, 14 * 14 + 28),
            (is_grid, is_balanced) in (any::<bool>(), any::<bool>()),
        ) {
            let m = if is_balanced { n } else { m };
            let numbers: Vec<f64> =
                numbers.into_iter().map(|x| if is_grid { x.floor() } else { x }).collect();
            let (costs, prices) = numbers.split_at(14 * 14);
            let cost = |i: usize, j: usize| costs[14 * i + j];
            let prices = [&prices[..n], &prices[14..14 + m]];
            let masses = [vec![0.7; n], vec![0.7; m]];
            let problem = BottleneckProblem {
                masses: [&masses[0], &masses[1]],
                cost: &cost,
                costs_from: &|side, from, to: &[u32], out: &mut [f64]| {
                    let ends = |at: u32| if side == 0 { (from, at as usize) } else { (at as usize, from) };
                    to.iter().zip(out).for_each(|(&at, out)| {
                        let (i, j) = ends(at);
                        *out = cost(i, j);
                    });
                },
                penalties: (!is_balanced).then_some(prices),
                mass: None,
                points: None,
            };
            prop_assert!(problem.is_matching());
            let aim = Aim::exact().wanting(Wanted::Plan);
            let deadline = Deadline::new(None, &silent);
            let judge = problem.by_flows(&aim, &deadline, &|_| true).unwrap();
            let found = problem.by_matching(&aim, &|_| true).unwrap();
            prop_assert_eq!((found.lower, found.upper), (judge.lower, judge.upper));
            let level = found.upper;
            let mut stays = [vec![true; n], vec![true; m]];
            for &(i, j, mass) in &found.plan {
                prop_assert!(cost(i, j) <= level && mass == 0.7);
                prop_assert!(stays[0][i] && stays[1][j], "a point has two partners");
                (stays[0][i], stays[1][j]) = (false, false);
            }
            for (stays, prices) in stays.iter().zip(prices) {
                let are_cheap = stays.iter().zip(prices).all(|(stays, &price)| {
                    !stays || (!is_balanced && price <= level)
                });
                prop_assert!(are_cheap);
            }
            prop_assert_eq!(found.duals.is_some(), level > 0.0);
            if let Some(duals) = &found.duals {
                prop_assert!(duals.iter().flatten().sum::<f64>() > 0.0);
                let is_long = |cost: f64| f64::from(u8::from(cost >= level));
                for (i, u) in duals[0].iter().enumerate() {
                    for (j, v) in duals[1].iter().enumerate() {
                        prop_assert!(u + v <= is_long(cost(i, j)), "{i} {j}");
                    }
                }
                for (duals, prices) in duals.iter().zip(prices).filter(|_| !is_balanced) {
                    prop_assert!(duals.iter().zip(prices).all(|(dual, &price)| *dual <= is_long(price)));
                }
            }
        }
    }
}
