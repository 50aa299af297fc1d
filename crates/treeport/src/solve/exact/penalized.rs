//! Transport that may leave mass behind for a penalty, of each point its own.
//!
//! **The problem.** A unit that is not moved costs λᵢ where it is taken away and μⱼ where it is put
//! back: min ⟨P, C⟩ + Σ λᵢ(aᵢ − Pᵢ) + Σ μⱼ(bⱼ − Pⱼ) over plans whose marginals Pᵢ and Pⱼ are at most a
//! and b. With one penalty for all this is the flat metric (Kantorovich–Rubinstein), or marginals
//! penalized by total variation; with the way to the diagonal W₁ of persistence diagrams. Its dual:
//! max Σ aᵢuᵢ + Σ bⱼvⱼ with uᵢ ≤ λᵢ, vⱼ ≤ μⱼ and uᵢ + vⱼ ≤ cᵢⱼ.
//!
//! **Moves that do not pay.** Where cᵢⱼ ≥ λᵢ + μⱼ a move costs no less than to leave both ends behind.
//! Such arcs are in no plan, and bind no dual value: uᵢ + vⱼ ≤ λᵢ + μⱼ ≤ cᵢⱼ holds anyway. A point none of
//! whose arcs pays leaves all its mass, for λᵢaᵢ, and its dual value is λᵢ. It is taken out before
//! anything is solved: in diagrams, most points are near the diagonal and go this way.
//!
//! **The others** are a balanced problem with one row and one column more, for what is left over. The
//! spare column takes what all rows have at λᵢ each, the spare row gives what all columns have at μⱼ
//! each, and from one to the other goes what both do not use, for nothing. Arcs that do not pay count
//! λᵢ + μⱼ, so that however far costs are above the penalties, no digit is lost to them. The dual
//! values, moved so that those of spare row and column are 0, are those above.
//!
//! **What stays.** Where the triangle inequality is promised, mass that both have at a point p can
//! stay there if λₓ ≤ λₚ + d(x, p) for all points x of the first measure, and so for the second, as is
//! the case where all penalties are the same. For in a plan that moves it, or leaves it behind, a unit
//! of a goes from p to j or is left, and a unit of b comes to p from i or is left. Let the
//! unit stay at p instead, and
//! - move the other from i to j: d(i, j) ≤ d(i, p) + d(p, j);
//! - leave that of j, where p's of b was left: μⱼ ≤ d(p, j) + μₚ;
//! - leave that of i, where p's of a was left: λᵢ ≤ d(i, p) + λₚ;
//! - do no more, where both were left: 0 ≤ λₚ + μₚ.
//!
//! Without the condition it is wrong: with 1 at p against 1 at p and at j, d(p, j) = 1, μₚ = 0 and
//! μⱼ = 9, the unit moves to j, and that of b at p is left for nothing.

use super::{Certified, GoesOn, Solution, Solver, balance_totals, room_for_costs};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::metric::GroundMetric;
use crate::rounding::double;
use crate::solve::penalty::Penalty;
use crate::solve::problem::OnMetric;

/// Mass from a row to a column.
type Move = (usize, usize, f64);

/// Rows, columns and costs as they were given, what is found for them, and which of them some move
/// may pay for.
#[derive(Clone, Debug, Default)]
pub(super) struct WholeProblem {
    left: Vec<usize>,
    right: Vec<usize>,
    supply: Vec<f64>,
    demand: Vec<f64>,
    pub(super) cost: Vec<f64>,
    /// Penalties of rows and of columns.
    price: [Vec<f64>; 2],
    /// Rows and columns with an arc that pays, in increasing order.
    kept: [Vec<usize>; 2],
    /// What all mass would cost that stays put, if it were left behind, and how much that is.
    shared_price: f64,
    shared_mass: f64,
    moves: Vec<Move>,
    duals: [Vec<f64>; 2],
}

impl Solver {
    /// The value of two measures on one ground metric, proved by a plan and dual values that are not
    /// given away.
    pub(in crate::solve) fn penalized_value(
        &mut self,
        pair: &OnMetric<'_>,
        penalty: Penalty<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<f64> {
        self.lay_out_penalized(pair, penalty, goes_on)?;
        self.certified_penalized(goes_on).map(|proved| proved.value)
    }

    /// The cheapest plan between two measures on one ground metric.
    pub(super) fn penalized_on_metric(
        &mut self,
        pair: &OnMetric<'_>,
        penalty: Penalty<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        self.lay_out_penalized(pair, penalty, goes_on)?;
        self.penalized_solution(goes_on)
    }

    /// Splits two measures, and computes costs and penalties.
    fn lay_out_penalized(
        &mut self,
        pair: &OnMetric<'_>,
        penalty: Penalty<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        let stays = pair.metric.is_metric() && shared_may_stay(pair, penalty);
        self.split(&pair.a, &pair.b, 1.0, stays);
        self.cost.clear();
        if !self.left.is_empty() && !self.right.is_empty() {
            self.fill_costs(pair.metric, goes_on)?;
        }
        self.read_penalty(penalty);
        Ok(())
    }

    /// Takes over the penalties of the points that are laid out.
    pub(super) fn read_penalty(&mut self, penalty: Penalty<'_>) {
        let side = usize::from(self.turned);
        let Self { left, right, shared, whole, .. } = self;
        let [of_rows, of_columns] = &mut whole.price;
        of_rows.clear();
        of_rows.extend(left.iter().map(|&point| penalty.at(side, point)));
        of_columns.clear();
        of_columns.extend(right.iter().map(|&point| penalty.at(1 - side, point)));
        (whole.shared_price, whole.shared_mass) = (0.0, 0.0);
        for &(point, mass) in shared.iter() {
            whole.shared_price += mass * (penalty.at(0, point) + penalty.at(1, point));
            whole.shared_mass += mass;
        }
    }

    /// Solves what is laid out, with its penalties.
    pub(super) fn penalized_solution(&mut self, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let Certified { value, gap, integers } = self.certified_penalized(goes_on)?;
        let mut plan = self.shared_plan();
        for &(i, j, mass) in &self.whole.moves {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        let named = |points: &[usize], duals: &[f64]| {
            points.iter().copied().zip(duals.iter().copied()).collect()
        };
        let [u, v] = &self.whole.duals;
        let (left, right) = (named(&self.left, u), named(&self.right, v));
        let pivots = if self.whole.kept[0].is_empty() { 0 } else { self.pivots(integers) };
        Ok(self.as_given(Solution { value, plan, left, right, gap, pivots, integers }))
    }

    /// Solves what is laid out; moves and dual values are those of the whole problem.
    fn certified_penalized(&mut self, goes_on: &GoesOn<'_>) -> Result<Certified> {
        self.whole.find_paying(&self.cost, self.right.len());
        self.whole.leave_all();
        if self.whole.kept[0].is_empty() {
            self.swap_whole();
            let value = self.whole.left_behind();
            let proved = self.whole.judged(Certified { value, gap: 0.0, integers: false });
            self.swap_whole();
            return proved;
        }
        self.swap_whole();
        let proved = self.certified_rest(goes_on);
        let proved = proved.and_then(|rest| {
            let value = rest.value + self.whole.left_behind();
            self.whole.judged(Certified { value, ..rest })
        });
        self.swap_whole();
        proved
    }

    /// Puts what is laid out aside, or back.
    fn swap_whole(&mut self) {
        let Self { left, right, supply, demand, cost, whole, .. } = self;
        std::mem::swap(left, &mut whole.left);
        std::mem::swap(right, &mut whole.right);
        std::mem::swap(supply, &mut whole.supply);
        std::mem::swap(demand, &mut whole.demand);
        std::mem::swap(cost, &mut whole.cost);
    }

    /// Solves the rows and columns that are kept.
    fn certified_rest(&mut self, goes_on: &GoesOn<'_>) -> Result<Certified> {
        self.keep_masses();
        let even = self.is_even();
        if even && self.whole.all_pay() {
            return self.all_moved(goes_on);
        }
        self.units.count(&self.supply, &self.demand);
        if even {
            self.units.balance();
        }
        self.keep_costs(true)?;
        let [given, taken] = self.units.totals();
        self.push_spare(taken, given);
        let proved = self.certified(goes_on)?;
        let (n, m) = (self.whole.kept[0].len(), self.whole.kept[1].len());
        let moves = self.moves(proved.integers);
        self.take_moves(moves.into_iter().filter(|&(i, j, _)| i < n && j < m));
        let (left, right) = self.duals(proved.integers);
        let (from_row, from_column) = (left[n], right[m]);
        self.take_duals(&left[..n], &right[..m], [from_column, from_row]);
        Ok(proved)
    }

    /// Even masses where no move costs more than to leave both ends behind: plain transport. Its dual
    /// values add up to at most λᵢ + μⱼ, so that both can be at most their penalties.
    fn all_moved(&mut self, goes_on: &GoesOn<'_>) -> Result<Certified> {
        balance_totals(&self.supply, &mut self.demand);
        for (&j, mass) in self.whole.kept[1].iter().zip(&self.demand) {
            self.whole.demand[j] = *mass;
        }
        self.units.set(&self.supply, &self.demand);
        self.keep_costs(false)?;
        let proved = self.certified(goes_on)?;
        let moves = self.moves(proved.integers);
        self.take_moves(moves.into_iter());
        let (left, right) = self.duals(proved.integers);
        let above = |side: usize, duals: &[f64]| {
            let price = |at: usize| self.whole.price[side][self.whole.kept[side][at]];
            duals.iter().enumerate().map(|(at, dual)| dual - price(at)).fold(0.0, f64::max)
        };
        let shift = above(0, &left) - above(1, &right);
        self.take_duals(&left, &right, [-shift, shift]);
        Ok(proved)
    }

    /// The masses of the rows and columns that are kept.
    fn keep_masses(&mut self) {
        let Self { left, right, supply, demand, whole, .. } = self;
        let [rows, columns] = &whole.kept;
        left.clone_from(rows);
        right.clone_from(columns);
        supply.clear();
        supply.extend(rows.iter().map(|&i| whole.supply[i]));
        demand.clear();
        demand.extend(columns.iter().map(|&j| whole.demand[j]));
    }

    /// The costs between the rows and columns that are kept, and where there are spare ones those to
    /// and from them.
    fn keep_costs(&mut self, with_spare: bool) -> Result<()> {
        let Self { cost, whole, .. } = self;
        let WholeProblem {
            cost: given, price: [of_rows, of_columns], kept: [rows, columns], ..
        } = &*whole;
        let (width, spare) = (of_columns.len(), usize::from(with_spare));
        cost.clear();
        room_for_costs(cost, rows.len() + spare, columns.len() + spare)?;
        for &i in rows {
            let (row, price) = (&given[i * width..(i + 1) * width], of_rows[i]);
            cost.extend(columns.iter().map(|&j| row[j].min(price + of_columns[j])));
            if with_spare {
                cost.push(price);
            }
        }
        if with_spare {
            cost.extend(columns.iter().map(|&j| of_columns[j]));
            cost.push(0.0);
        }
        Ok(())
    }

    /// Whether both sides have the same: however high the penalties, none is paid for the last digits
    /// that masses are rounded to and sums lose. Where some are far higher than others, those digits
    /// are also few in what all mass would cost.
    fn is_even(&self) -> bool {
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let WholeProblem { supply, demand, shared_price, shared_mass, .. } = &self.whole;
        let digits = double(supply.len() + demand.len() + self.shared.len() + 4);
        let differ = (given - taken).abs();
        let (largest, all) = self.whole.kept_prices();
        differ <= digits * (shared_mass + given.max(taken))
            && differ * largest <= digits * (shared_price + all)
    }

    /// Adds moves between rows and columns that are kept.
    fn take_moves(&mut self, moves: impl Iterator<Item = Move>) {
        let WholeProblem { kept: [rows, columns], moves: all, cost, price, .. } = &mut self.whole;
        let width = price[1].len();
        let named = moves.map(|(i, j, mass)| (rows[i], columns[j], mass));
        all.extend(named.filter(|&(i, j, _)| cost[i * width + j] < price[0][i] + price[1][j]));
    }

    /// Sets the dual values of rows and columns that are kept, each side's moved by so much.
    fn take_duals(&mut self, left: &[f64], right: &[f64], moved: [f64; 2]) {
        let WholeProblem { kept, duals, .. } = &mut self.whole;
        for (side, values) in [left, right].into_iter().enumerate() {
            for (&at, value) in kept[side].iter().zip(values) {
                duals[side][at] = value + moved[side];
            }
        }
    }
}

impl WholeProblem {
    /// Which rows and columns have an arc that pays.
    fn find_paying(&mut self, cost: &[f64], width: usize) {
        let [rows, columns] = &mut self.kept;
        let [of_rows, of_columns] = &self.price;
        rows.clear();
        columns.clear();
        // How many arcs of a column pay, kept as numbers, so that the loop is wide.
        let pays = &mut self.duals[1];
        pays.clear();
        pays.resize(width, 0.0);
        if width > 0 {
            for (i, (row, price)) in cost.chunks_exact(width).zip(of_rows).enumerate() {
                let mut found = 0.0;
                for ((cost, other), pays) in row.iter().zip(of_columns).zip(pays.iter_mut()) {
                    let one = f64::from(u8::from(*cost < price + other));
                    *pays += one;
                    found += one;
                }
                if found > 0.0 {
                    rows.push(i);
                }
            }
        }
        columns.extend((0..width).filter(|&j| pays[j] > 0.0));
    }

    /// Begins with nothing moved.
    fn leave_all(&mut self) {
        self.moves.clear();
        for (duals, price) in self.duals.iter_mut().zip(&self.price) {
            duals.clone_from(price);
        }
    }

    /// What the mass costs of the rows and columns that are not kept.
    fn left_behind(&self) -> f64 {
        let of_side = |kept: &[usize], masses: &[f64], prices: &[f64]| {
            let mut kept = kept.iter().copied().peekable();
            let mut sum = 0.0;
            for (at, (mass, price)) in masses.iter().zip(prices).enumerate() {
                if kept.next_if_eq(&at).is_none() {
                    sum += mass * price;
                }
            }
            sum
        };
        of_side(&self.kept[0], &self.supply, &self.price[0])
            + of_side(&self.kept[1], &self.demand, &self.price[1])
    }

    /// Whether every arc between rows and columns that are kept costs at most what it costs to leave
    /// both ends behind.
    fn all_pay(&self) -> bool {
        let ([rows, columns], [of_rows, of_columns]) = (&self.kept, &self.price);
        let width = of_columns.len();
        rows.iter().all(|&i| {
            let row = &self.cost[i * width..(i + 1) * width];
            columns.iter().all(|&j| row[j] <= of_rows[i] + of_columns[j])
        })
    }

    /// The largest penalty of a row or column that is kept, and what the dearer side of them would cost.
    fn kept_prices(&self) -> (f64, f64) {
        let of_side = |side: usize, masses: &[f64]| {
            let kept = self.kept[side].iter().map(|&at| (self.price[side][at], masses[at]));
            kept.fold((0.0, 0.0), |(largest, all): (f64, f64), (price, mass)| {
                (largest.max(price), all + price * mass)
            })
        };
        let (left, right) = (of_side(0, &self.supply), of_side(1, &self.demand));
        (left.0.max(right.0), left.1.max(right.1))
    }

    /// Looks at what leaves here, whatever solver it comes from. Dual values of the rows are lowered to
    /// the penalties; those of the columns become what rows, costs and penalties allow, so that they
    /// prove a bound by themselves. The moves and what they leave behind have to cost the value, and the
    /// bound has to reach it, both to [`Solution::TOLERANCE`] of the value and to the last digits of what all
    /// mass would cost, which no sum of such numbers keeps.
    ///
    /// O(n·m) for n rows that are kept and m columns.
    fn judged(&mut self, found: Certified) -> Result<Certified> {
        let Self { supply, demand, cost, price, kept, moves, duals: [u, v], .. } = self;
        let [of_rows, of_columns] = &*price;
        let (n, m) = (supply.len(), demand.len());
        v.clone_from(of_columns);
        for &i in &kept[0] {
            let price = of_rows[i];
            u[i] = u[i].min(price);
            let row = cost[i * m..(i + 1) * m].iter().zip(of_columns);
            for (v, (cost, other)) in v.iter_mut().zip(row) {
                let allowed = if *cost < price + other { cost - u[i] } else { *other };
                *v = if allowed < *v { allowed } else { *v };
            }
        }
        let bound = dot(supply, u) + dot(demand, v);
        let digits = 4.0 * double(n + m + 4);
        let all_mass = self.shared_mass + supply.iter().chain(&*demand).sum::<f64>();
        let all_price = self.shared_price + dot(supply, of_rows) + dot(demand, of_columns);
        let moved: f64 = moves.iter().map(|&(i, j, mass)| mass * cost[i * m + j]).sum();
        let [mut given, mut taken] = [supply.clone(), demand.clone()];
        for &(i, j, mass) in &*moves {
            given[i] -= mass;
            taken[j] -= mass;
        }
        let (rest, overdrawn) = left_of(&given, of_rows);
        let (other_rest, other_overdrawn) = left_of(&taken, of_columns);
        let paid = moved + rest + other_rest;
        let tolerance = Solution::TOLERANCE * found.value + digits * all_price;
        let is_plan = given.iter().chain(&taken).all(|&rest| rest >= -digits * all_mass)
            && overdrawn.max(other_overdrawn) <= tolerance;
        let is_value = |x: f64| (x - found.value).abs() <= tolerance;
        if is_plan && is_value(paid) && is_value(bound) {
            return Ok(Certified { gap: found.gap.max(found.value - bound), ..found });
        }
        Err(Error::Unsolved { left: n, right: m })
    }
}

/// What the rest of masses costs, and how much of it is below 0.
fn left_of(rest: &[f64], prices: &[f64]) -> (f64, f64) {
    let paid = rest.iter().zip(prices).map(|(rest, price)| rest * price);
    paid.fold((0.0, 0.0), |(all, below), paid| (all + paid, below - paid.min(0.0)))
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Whether mass that both measures have at a point can stay there: see the module's text. The last
/// digits of penalties do not count.
///
/// One distance from every point that both have to every other point with mass.
fn shared_may_stay(pair: &OnMetric<'_>, penalty: Penalty<'_>) -> bool {
    let Penalty::OfPoints(_) = penalty else { return true };
    let (a, b) = (pair.a.support(), pair.b.support());
    let (Some(ends_a), Some(ends_b)) = (ends(a), ends(b)) else { return true };
    if ends_a.1 < ends_b.0 || ends_b.1 < ends_a.0 {
        // Clouds have no points in common.
        return true;
    }
    let mut shared = a.iter().filter(|point| b.binary_search(point).is_ok());
    shared.all(|&p| {
        let p = p as usize;
        is_lipschitz_at(p, pair.metric, &pair.a, |x| penalty.at(0, x))
            && is_lipschitz_at(p, pair.metric, &pair.b, |x| penalty.at(1, x))
    })
}

fn ends(points: &[u32]) -> Option<(u32, u32)> {
    Some((*points.first()?, *points.last()?))
}

/// Whether no point of a measure has a penalty above that of p and the way there.
fn is_lipschitz_at(
    p: usize,
    metric: &GroundMetric,
    measure: &Measure<'_>,
    penalty: impl Fn(usize) -> f64,
) -> bool {
    let own = penalty(p);
    let mut points = measure.support().iter().map(|&x| x as usize);
    points.all(|x| {
        let other = penalty(x);
        other * (1.0 - double(8)) <= own || other * (1.0 - double(8)) <= own + metric.distance(p, x)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two sources, two sinks, a cheap way each, and something left over.
    fn solved() -> (Solver, Certified) {
        let mut solver = Solver {
            left: vec![0, 1],
            right: vec![0, 1],
            supply: vec![1.0, 2.0],
            demand: vec![1.0, 1.0],
            cost: vec![0.5, 9.0, 9.0, 0.25],
            ..Solver::default()
        };
        solver.read_penalty(Penalty::OfPoints([&[1.0, 2.0], &[1.0, 0.5]]));
        let proved = solver.certified_penalized(&|_| true).unwrap();
        solver.swap_whole();
        (solver, proved)
    }

    #[test]
    fn what_does_not_prove_its_value_does_not_leave() {
        let (mut solver, proved) = solved();
        let whole = &mut solver.whole;
        assert_eq!(proved.value, 0.5 + 0.25 + 2.0);
        assert_eq!(whole.moves.len(), 2);
        whole.judged(proved).unwrap();
        let refused = |change: &dyn Fn(&mut WholeProblem, &mut Certified)| {
            let (mut whole, mut proved) = (whole.clone(), proved);
            change(&mut whole, &mut proved);
            assert!(whole.judged(proved).is_err());
        };
        // Another value, another plan, more than there is, worse dual values.
        refused(&|_, proved| proved.value += 1e-6);
        refused(&|whole, _| whole.moves.truncate(1));
        refused(&|whole, _| whole.moves = vec![(0, 0, 1.5), (1, 1, 0.5)]);
        refused(&|whole, _| whole.duals[0] = vec![0.0, 0.0]);
    }
}
