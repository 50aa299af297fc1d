//! Relaxed problems without a table: the auction on costs with a spare source and a spare sink.
//!
//! **Penalties.** The spare sink has the demand Σa and costs λᵢ, the spare source the supply Σb and
//! costs μⱼ, and between the spares mass moves at no cost. With duals U of the sources and V of the
//! sinks, the last ones those of the spares, u = U + V₋₁ and v = V + U₋₁ are dual feasible: u ≤ λ,
//! v ≤ μ, and u + v ≤ c + (U₋₁ + V₋₁) ≤ c.
//!
//! **A mass m.** The spare sink has the demand Σa − m and the spare source the supply Σb − m, both
//! at no cost. Mass between the spares would move as much mass too many between the points, which
//! costs no less, so any positive cost between them excludes it. Dual values ([`mass`]) are
//! u = U + V₋₁, v = V + U₋₁ and w = −(U₋₁ + V₋₁).
//!
//! An answer is proved again for the original problem: by the cost of its moves and of the mass
//! that they leave behind, and by these dual values.

use super::mass::{self, MassDuals};
use super::{Penalty, Relaxation, penalized};
use crate::error::Result;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::double;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::costs::SpareCosts;
use crate::solve::exact::auction::{self, Best};
use crate::solve::exact::table::{Move, Table};
use crate::solve::route::Engine;
use crate::solve::run::{Asked, Found};
use crate::solve::sides::{Costs, Sides};

/// A relaxed problem with its spare masses and their costs.
struct WithSpares<'a> {
    costs: Costs<'a>,
    sides: &'a Sides,
    /// Masses of sources and of sinks, the spare ones last.
    masses: [Vec<f64>; 2],
    spares: SpareCosts,
    /// The mass that moves; `None` if penalties decide.
    moved: Option<f64>,
}

/// Solves a relaxed problem by the auction; returns `None` where that does not support the costs or
/// finds no certificate.
///
/// # Errors
/// Those of [`auction::solve`].
pub(in crate::solve) fn answer(
    costs: Costs<'_>,
    sides: &Sides,
    relax: Relaxation<'_>,
    table: &mut Table,
    asked: Asked<'_>,
) -> Result<Option<Found>> {
    let problem = match relax {
        Relaxation::Mass(mass) => {
            let Some(problem) = WithSpares::of_mass(costs, sides, mass) else {
                let answer = Answer::free(mass::shared_plan_of(&sides.shared, mass));
                return Ok(Some(Found { answer, is_done: true }));
            };
            problem
        }
        relax => WithSpares::of_penalty(costs, sides, relax.penalty()),
    };
    let WithSpares { masses, spares, .. } = &problem;
    let masses = masses.each_ref().map(|masses| &masses[..]);
    let best = auction::solve(costs, sides, masses, Some(spares), table, asked)?;
    Ok(best.and_then(|best| problem.found(&best, asked)))
}

impl<'a> WithSpares<'a> {
    /// Creates the problem in which exactly `mass` moves; `None` if mass that stays in place is
    /// enough.
    fn of_mass(costs: Costs<'a>, sides: &'a Sides, mass: f64) -> Option<Self> {
        let moved = mass::to_move(sides, mass)?;
        // Beside much larger masses the digits of the mass that moves would be lost.
        let capped = |masses: &[f64]| masses.iter().map(|mass| mass.min(moved)).collect();
        let mut masses: [Vec<f64>; 2] = [&sides.supply, &sides.demand].map(|side| capped(side));
        let of_sides = masses.each_ref().map(|side| vec![0.0; side.len()]);
        let stays =
            masses.each_ref().map(|side| (total(side) - DoubleDouble::from(moved)).rounded());
        masses[0].push(stays[1].max(0.0));
        masses[1].push(stays[0].max(0.0));
        let spares = SpareCosts { of_sides, between: f64::INFINITY };
        Some(Self { costs, sides, masses, spares, moved: Some(moved) })
    }

    /// Creates the problem in which mass that stays behind pays a penalty.
    fn of_penalty(costs: Costs<'a>, sides: &'a Sides, penalty: Penalty<'_>) -> Self {
        let of_sides = penalized::prices(sides, penalty);
        let mut masses = [sides.supply.clone(), sides.demand.clone()];
        let totals = masses.each_ref().map(|side| total(side).rounded());
        masses[0].push(totals[1]);
        masses[1].push(totals[0]);
        let spares = SpareCosts { of_sides, between: 0.0 };
        Self { costs, sides, masses, spares, moved: None }
    }

    fn cost(&self, i: usize, j: usize) -> f64 {
        let Self { costs, sides, .. } = self;
        let (i, j) = (sides.left[i], sides.right[j]);
        match costs {
            Costs::Metric(metric) => metric.distance(i, j),
            Costs::Matrix(view) if sides.swapped => view.entry(j, i),
            Costs::Matrix(view) => view.entry(i, j),
        }
    }

    /// Returns the number of rounding errors of sums of all masses.
    fn digits(&self) -> f64 {
        let [n, m] = self.masses.each_ref().map(Vec::len);
        double(4 * (n + m + self.sides.shared.len() + 4))
    }

    /// Maps the result of the auction back, and proves it for the original problem. Returns `None`
    /// where it is not proved although that is the aim.
    fn found(&self, best: &Best, Asked { aim, .. }: Asked<'_>) -> Option<Found> {
        let (moves, upper, rounding) = self.plan(best)?;
        let duals = self.duals(best);
        let lower = duals.as_ref().map_or(0.0, |duals| self.bound(duals, best));
        let is_proved = best.certified.is_some()
            && (upper - lower).abs() <= Answer::TOLERANCE * upper + rounding;
        if !is_proved && !aim.accepts_bounds() {
            return None;
        }
        let lower = lower.clamp(0.0, upper);
        let mut answer = Answer { lower, upper, ..Answer::default() };
        (answer.engine, answer.pivots) = (Engine::Auction, best.pivots);
        let is_done = is_proved || answer.is_within(aim.width());
        if aim.wanted > Wanted::Value {
            answer.plan = self.sides.plan_of(moves);
            answer.penalty = self.moved.map(|_| 0.0);
            if let Some(MassDuals { of_sides: [left, right], penalty }) = duals {
                [answer.left, answer.right] = self.sides.duals_of(left, right);
                answer.penalty = self.moved.map(|_| penalty);
            }
        }
        Some(Found { answer, is_done })
    }

    /// Returns the moves between points, their cost with the penalties, and how much rounding may
    /// have changed that; `None` if masses do not add up.
    fn plan(&self, best: &Best) -> Option<(Vec<Move>, f64, f64)> {
        let Self { masses: [supply, demand], spares, moved, .. } = self;
        let (n, m) = (supply.len() - 1, demand.len() - 1);
        let [of_sources, of_sinks] = &spares.of_sides;
        let is_between = |&(i, j, _): &Move| i < n && j < m;
        let mut moves: Vec<_> = best.moves.iter().copied().filter(is_between).collect();
        let all_mass = supply.iter().chain(demand).sum::<f64>();
        if let Some(moved) = moved {
            self.reduce(&mut moves, *moved);
            let total: f64 = moves.iter().map(|arc| arc.2).sum();
            let paid = moves.iter().map(|&(i, j, mass)| mass * self.cost(i, j)).sum();
            let is_right = (total - moved).abs() <= self.digits() * all_mass;
            return is_right.then_some((moves, paid, 0.0));
        }
        // Moves that cost no less than both penalties are left out.
        moves.retain(|&(i, j, _)| self.cost(i, j) < of_sources[i] + of_sinks[j]);
        let paid: f64 = moves.iter().map(|&(i, j, mass)| mass * self.cost(i, j)).sum();
        let mut rest = [supply[..n].to_vec(), demand[..m].to_vec()];
        for &(i, j, mass) in &moves {
            rest[0][i] -= mass;
            rest[1][j] -= mass;
        }
        let [left, right] = [0, 1]
            .map(|side: usize| penalized::penalty_of_rest(&rest[side], &spares.of_sides[side]));
        let all_price = dot(&supply[..n], of_sources) + dot(&demand[..m], of_sinks);
        let rounding = self.digits() * all_price;
        let upper = paid + left.0 + right.0;
        let is_plan = rest.iter().flatten().all(|&rest| rest >= -self.digits() * all_mass)
            && left.1.max(right.1) <= Answer::TOLERANCE * upper + rounding;
        is_plan.then_some((moves, upper, rounding))
    }

    /// Removes the most expensive moves beyond the mass that moves: those that a plan between the
    /// spares replaces, as long as it is not optimal.
    fn reduce(&self, moves: &mut Vec<Move>, moved: f64) {
        let mut over = moves.iter().map(|arc| arc.2).sum::<f64>() - moved;
        let all_mass: f64 = self.masses.iter().flatten().sum();
        if over <= self.digits() * all_mass {
            return;
        }
        let mut costs: Vec<_> =
            moves.iter().map(|&(i, j, mass)| (self.cost(i, j), i, j, mass)).collect();
        costs.sort_by(|a, b| a.0.total_cmp(&b.0).then((a.1, a.2).cmp(&(b.1, b.2))));
        while let Some((_, _, _, mass)) = costs.last_mut().filter(|_| over > 0.0) {
            let gone = mass.min(over);
            *mass -= gone;
            over -= gone;
            if *mass <= 0.0 {
                costs.pop();
            }
        }
        *moves = costs.into_iter().map(|(_, i, j, mass)| (i, j, mass)).collect();
    }

    /// Returns the dual values of the points, if there are any.
    fn duals(&self, best: &Best) -> Option<MassDuals> {
        let (of_source, left) = best.left.split_last()?;
        let (of_sink, right) = best.right.split_last()?;
        if let Some(moved) = self.moved {
            let spares = [Some(*of_source), Some(*of_sink)];
            let mut duals = MassDuals::new([left, right], spares, self.sides, moved);
            // Beside much larger masses the rounding of the penalty would count.
            duals.lower_to(duals.penalty - double(8) * largest(best));
            return Some(duals);
        }
        let shifted = |duals: &[f64], by: f64, most: &[f64]| -> Vec<f64> {
            duals.iter().zip(most).map(|(dual, most)| (dual + by).min(*most)).collect()
        };
        let most = &self.spares.of_sides;
        let of_sides = [shifted(left, *of_sink, &most[0]), shifted(right, *of_source, &most[1])];
        Some(MassDuals { of_sides, penalty: 0.0 })
    }

    /// Returns the lower bound that these dual values prove.
    fn bound(&self, duals: &MassDuals, best: &Best) -> f64 {
        let MassDuals { of_sides, penalty } = duals;
        let (mut sum, mut size, mut all_mass) = (DoubleDouble::from(0.0), 0.0, 0.0);
        let mut add = |mass: f64, dual: f64| {
            sum = sum + DoubleDouble::product(mass, dual);
            size += mass * dual.abs();
        };
        for (masses, duals) in self.masses.iter().zip(of_sides) {
            for (&mass, &dual) in masses.iter().zip(duals) {
                add(mass, dual);
                all_mass += mass;
                if self.moved.is_some() {
                    add(mass, -penalty);
                }
            }
        }
        if let Some(moved) = self.moved {
            add(2.0 * moved, *penalty);
        }
        // Each dual value, and each cost + price, is rounded a few times.
        sum.rounded() - double(4) * size - double(16) * largest(best) * all_mass
    }
}

/// Returns the largest absolute dual value.
fn largest(best: &Best) -> f64 {
    best.left.iter().chain(&best.right).fold(0.0, |most: f64, dual| most.max(dual.abs()))
}

fn total(masses: &[f64]) -> DoubleDouble {
    masses.iter().fold(DoubleDouble::from(0.0), |sum, &mass| sum + DoubleDouble::from(mass))
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::measures::Measures;
    use crate::numeric::rounding::TOTALS;
    use crate::progress::silent;
    use crate::solve::aim::{Aim, Deadline};
    use crate::solve::costs::tests::{entries, points};
    use crate::solve::exact::SLACK;
    use crate::solve::exact::random::random;
    use crate::solve::problem::matrix::MatrixView;
    use crate::solve::problem::posed::{OnMatrix, OnMetric, Posed};
    use crate::solve::workspace::Workspace;
    use crate::solve::{relax, route};

    /// Creates masses that are equal, random, or over ten orders of magnitude.
    pub(in crate::solve::relax) fn masses(count: usize, kind: u8, seed: u64) -> Vec<f64> {
        let mut random = random(seed);
        let mass = |_| match kind {
            0 => 1.0,
            1 => random() + 1e-3,
            _ => 10f64.powf(-10.0 * random()),
        };
        (0..count).map(mass).collect()
    }

    /// Solves a relaxed problem by the auction, and checks the answer.
    fn check(
        posed: &Posed<'_>,
        relax: Relaxation<'_>,
        aim: &Aim,
        cost: &dyn Fn(usize, usize) -> f64,
    ) -> std::result::Result<(), TestCaseError> {
        check_by(posed, relax, aim, cost, &|costs, relax, space| {
            let deadline = Deadline::new(None, &silent);
            let asked = Asked { aim, device: None, deadline: &deadline };
            answer(costs, &space.sides, relax, &mut space.table, asked).unwrap()
        })
    }

    type Engine<'a> =
        dyn for<'c> Fn(Costs<'c>, Relaxation<'c>, &mut Workspace) -> Option<Found> + 'a;

    /// Solves a relaxed problem by an engine and on a table, and checks the plan, its cost and the
    /// dual values by loops over all pairs.
    pub(in crate::solve::relax) fn check_by(
        posed: &Posed<'_>,
        relax: Relaxation<'_>,
        aim: &Aim,
        cost: &dyn Fn(usize, usize) -> f64,
        engine: &Engine<'_>,
    ) -> std::result::Result<(), TestCaseError> {
        let mut space = Workspace::default();
        let (costs, relax) = relax::read(&mut space.sides, posed, relax).unwrap();
        let sides = space.sides.clone();
        if sides.is_empty() {
            return Ok(());
        }
        let judge = relax::on_table(&mut space, costs, relax, Wanted::Plan, &|_| true).unwrap();
        let found = engine(costs, relax, &mut space);
        let all: f64 = sides.supply.iter().chain(&sides.demand).sum();
        let pairs = || sides.left.iter().flat_map(|&i| sides.right.iter().map(move |&j| (i, j)));
        let largest = pairs().map(|(i, j)| cost(i, j)).fold(relax.largest_paid(), f64::max);
        let is_lost = SLACK * largest * all > 0.25 * Answer::TOLERANCE * judge.upper;
        let is_supported = match costs {
            Costs::Metric(metric) => auction::supports(metric),
            Costs::Matrix(_) => true,
        };
        let Some(Found { answer, is_done }) = found else {
            prop_assert!(is_lost || !is_supported, "{} has no certificate", judge.upper);
            return Ok(());
        };
        prop_assert!(is_done || is_lost);
        let near = 2e-9 * judge.upper + TOTALS * largest * all * 1e-3;
        prop_assert!(answer.lower <= judge.upper + near, "{} {}", answer.lower, judge.upper);
        prop_assert!(answer.upper >= judge.upper - near, "{} {}", answer.upper, judge.upper);
        if is_done {
            prop_assert!(answer.is_within(aim.width().max(2e-9)) || answer.gap() <= near);
        }
        // The plan takes no more than there is, and costs the upper bound.
        let side = usize::from(sides.swapped);
        let (mut supply, mut demand) = (sides.supply.clone(), sides.demand.clone());
        let (mut paid, mut moved) = (0.0, 0.0);
        let shared = sides.shared_plan().mass.len();
        for (i, j, mass) in answer.plan.iter().skip(shared) {
            let (at, to) = (sides.left.binary_search(&i), sides.right.binary_search(&j));
            supply[at.unwrap()] -= mass;
            demand[to.unwrap()] -= mass;
            paid += mass * cost(i, j);
            moved += mass;
        }
        let least = supply.iter().chain(&demand).fold(0.0, |least: f64, rest| least.min(*rest));
        prop_assert!(least >= -TOTALS * all, "{least}");
        let prices = penalized::prices(&sides, relax.penalty());
        if let Relaxation::Mass(mass) = relax {
            let stays: f64 = answer.plan.iter().take(shared).map(|arc| arc.2).sum();
            prop_assert!((stays + moved - mass).abs() <= TOTALS * (all + mass), "{moved} {mass}");
        } else {
            paid += dot(&supply, &prices[0]) + dot(&demand, &prices[1]);
        }
        // Early plans on the edges of a graph may cost less than their flows.
        let may_cost_less = aim.width() > 0.0 && answer.engine == route::Engine::Edges;
        let excess = answer.upper - paid;
        prop_assert!(
            excess.abs() <= 1e-9 * paid + TOTALS * largest * all || (may_cost_less && excess > 0.0)
        );
        // The dual values prove the lower bound; those with a mass have one penalty.
        if !answer.left.is_empty() {
            let penalty = answer.penalty.unwrap_or(0.0);
            let prices = if let Relaxation::Mass(_) = relax {
                [vec![penalty; supply.len()], vec![penalty; demand.len()]]
            } else {
                prices
            };
            for (duals, prices) in [(&answer.left, &prices[0]), (&answer.right, &prices[1])] {
                prop_assert!(duals.iter().zip(prices).all(|(dual, price)| dual.1 <= *price));
            }
            for &(i, u) in &answer.left {
                for &(j, v) in &answer.right {
                    prop_assert!(u + v <= cost(i, j) + 1e-14 * largest, "side {side}");
                }
            }
            let of = |duals: &[(usize, f64)], masses: &[f64]| -> f64 {
                duals.iter().zip(masses).map(|(dual, mass)| dual.1 * mass).sum()
            };
            let of_mass = 2.0 * moved - sides.supply.iter().chain(&sides.demand).sum::<f64>();
            let bound = of(&answer.left, &sides.supply)
                + of(&answer.right, &sides.demand)
                + penalty * of_mass;
            prop_assert!(answer.lower <= bound + 1e-13 * largest * all, "{bound}");
        }
        Ok(())
    }

    /// Masses to move, from hardly any to all, and penalties as a share of a typical cost.
    pub(in crate::solve::relax) fn relaxations() -> impl Strategy<Value = (bool, f64)> {
        let shares = vec![1e-9, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0];
        let penalties = vec![0.0, 0.02, 0.3, 1.0, 1e6];
        prop_oneof![
            prop::sample::select(shares).prop_map(|share| (true, share)),
            prop::sample::select(penalties).prop_map(|share| (false, share)),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(300))]

        #[test]
        fn relaxed_problems_between_points_have_the_value_of_a_table(
            metric in points(),
            (kind, seed, is_shared) in (0u8..3, any::<u64>(), any::<bool>()),
            (by_mass, share) in relaxations(),
            by_points in any::<bool>(),
            more in prop::sample::select(vec![0.3, 1.0, 2.0]),
            width in prop::sample::select(vec![0.0, 0.0, 0.05]),
        ) {
            let n = metric.points();
            let all = masses(2 * n, kind, seed);
            let second = if is_shared { 0..n } else { n / 2..n };
            let first = if is_shared { 0..n } else { 0..n / 2 };
            let rows = [
                first.map(|point| (point, all[point])).collect::<Vec<_>>(),
                second.map(|point| (point, more * all[n + point])).collect(),
            ];
            let measures = Measures::from_rows(n, rows).unwrap();
            let (a, b) = (measures.row(0), measures.row(1));
            let cost = |i: usize, j: usize| metric.distance(i, j);
            let mut random = random(seed ^ 1);
            let mut price = || share * cost(0, n - 1) * (0.5 + random());
            let prices: Vec<f64> = (0..n).map(|_| price()).collect();
            let relax = match (by_mass, by_points) {
                (true, _) => Relaxation::Mass(share * a.total().min(b.total())),
                (false, false) => Relaxation::Penalty(Penalty::Same(prices[0])),
                (false, true) => Relaxation::Penalty(Penalty::OfPoints([&prices, &prices])),
            };
            let posed = Posed::Metric(OnMetric { metric: &metric, a, b });
            check(&posed, relax, &Aim::within(width), &cost)?;
        }

        #[test]
        fn relaxed_problems_on_a_matrix_have_the_value_of_a_table(
            (n, m) in (2usize..60, 2usize..60),
            (costs, kind, seed) in (0u8..4, 0u8..3, any::<u64>()),
            (by_mass, share) in relaxations(),
            more in prop::sample::select(vec![0.3, 1.0, 2.0]),
        ) {
            let costs = entries(costs, n * m, seed);
            let view = MatrixView::new(n, m, &costs).unwrap();
            let (a, b) = (masses(n, kind, seed), masses(m, kind, seed ^ 1));
            let b: Vec<f64> = b.into_iter().map(|mass| more * mass).collect();
            let total = |masses: &[f64]| masses.iter().sum::<f64>();
            let relax = if by_mass {
                Relaxation::Mass(share * total(&a).min(total(&b)))
            } else {
                Relaxation::Penalty(Penalty::Same(share * costs[0]))
            };
            let mut sides = Sides::default();
            let posed = OnMatrix { costs: &view, a: &a, b: &b };
            sides.read_matrix(&posed, relax).unwrap();
            let swapped = sides.swapped;
            let cost = |i: usize, j: usize| if swapped { view.entry(j, i) } else { view.entry(i, j) };
            check(&Posed::Matrix(posed), relax, &Aim::exact(), &cost)?;
        }
    }
}
