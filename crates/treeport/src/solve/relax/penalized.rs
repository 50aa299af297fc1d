//! Unbalanced transport: a unit that does not move costs the penalty of its point.
//!
//! **The problem.** A unit that does not move costs λᵢ at its source and μⱼ at its sink: the value is
//! min ⟨P, C⟩ + Σ λᵢ(aᵢ − Pᵢ) + Σ μⱼ(bⱼ − Pⱼ) over plans whose marginals Pᵢ and Pⱼ are at most a and
//! b. With one penalty for all points this is the flat metric (Kantorovich–Rubinstein), or marginals
//! penalized by total variation; with the distance to the diagonal as penalty it is W₁ of persistence
//! diagrams. The dual problem: max Σ aᵢuᵢ + Σ bⱼvⱼ with uᵢ ≤ λᵢ, vⱼ ≤ μⱼ and uᵢ + vⱼ ≤ cᵢⱼ.
//!
//! **Unprofitable arcs.** If cᵢⱼ ≥ λᵢ + μⱼ, moving a unit costs no less than both penalties. Such
//! arcs are in no plan and constrain no dual value, because uᵢ + vⱼ ≤ λᵢ + μⱼ ≤ cᵢⱼ. A point
//! without profitable arcs leaves all its mass behind at the cost λᵢaᵢ, and its dual value is λᵢ.
//! Such points are removed before solving: in persistence diagrams, most of them.
//!
//! **The balanced problem.** The other points get a spare row and a spare column. The spare column
//! takes mass of row i at the cost λᵢ, the spare row supplies column j at the cost μⱼ, and what
//! remains moves from the spare row to the spare column at no cost. Unprofitable arcs cost λᵢ + μⱼ,
//! so that costs far above the penalties lose no digits. The dual values, shifted to 0 at the spare
//! row and column, solve the dual problem.
//!
//! **Shared mass.** With the triangle inequality, mass that both measures have at a point p can
//! stay there if λₓ ≤ λₚ + d(x, p) for all points x of the first measure, and likewise for the
//! second; one penalty for all points satisfies this. Consider a plan in which a unit of a at p
//! moves to j or is left behind, and a unit of b at p comes from i or is left behind. Let the unit
//! stay at p instead, and
//! - if both moved, move a unit from i to j: d(i, j) ≤ d(i, p) + d(p, j);
//! - if b's unit at p was left behind, leave j's behind: μⱼ ≤ d(p, j) + μₚ;
//! - if a's unit at p was left behind, leave i's behind: λᵢ ≤ d(i, p) + λₚ;
//! - if both were left behind, 0 ≤ λₚ + μₚ.
//!
//! The condition is necessary: for a = 1 at p, b = 1 at p and at j, d(p, j) = 1, μₚ = 0 and μⱼ = 9,
//! the unit moves to j, and b's unit at p stays behind at no cost.

use super::{Penalty, RelaxMemory, RelaxedTable, SPARE, without_spare};
use crate::error::{Error, Result};
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::numeric::rounding::double;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::exact::Certified;
use crate::solve::exact::table::{Masses, Move};
use crate::solve::problem::posed::OnMetric;
use crate::solve::route::by_size;
use crate::solve::sides::{Sides, balance_totals};

/// The workspace of a penalized problem: penalties, remaining rows and columns, and the solution.
#[derive(Clone, Debug, Default)]
pub(super) struct Penalized {
    /// Penalties of rows and of columns.
    price: [Vec<f64>; 2],
    /// Rows and columns with a profitable arc, in increasing order.
    kept: [Vec<usize>; 2],
    /// Penalty of all mass that stays in place.
    shared_price: f64,
    /// Total mass that stays in place.
    shared_mass: f64,
    /// Demands, balanced with the supplies if their totals agree up to rounding.
    demand: Vec<f64>,
    moves: Vec<Move>,
    duals: [Vec<f64>; 2],
}

impl RelaxedTable<'_> {
    /// Solves the problem in which mass that stays behind pays a penalty.
    pub(super) fn with_penalty(mut self, penalty: Penalty<'_>) -> Result<Answer> {
        let sides = self.sides;
        let of = &mut self.memory.penalized;
        of.read(sides, penalty);
        of.find_profitable(&self.table.cost);
        let kept = of.kept.each_ref().map(Vec::len);
        let mut found = Certified { value: 0.0, gap: 0.0, integers: false };
        if kept[0] > 0 {
            found = self.solve_kept()?;
        } else {
            std::mem::swap(&mut self.table.cost, &mut self.memory.cost);
        }
        let RelaxMemory { penalized: of, cost, .. } = &mut *self.memory;
        found.value += of.penalty_of_removed(&sides.supply);
        let Certified { value, gap, integers } = of.checked(&sides.supply, cost, found)?;
        let mut answer = Answer::certified(value, gap, by_size(kept[0] + 1, kept[1] + 1));
        answer.integers = integers;
        answer.pivots = if kept[0] == 0 { 0 } else { self.table.pivots(integers) };
        if self.wanted > Wanted::Value {
            answer.plan = sides.plan_of(of.moves.iter().copied());
            let [left, right] = of.duals.each_ref().map(|side| side.iter().copied());
            [answer.left, answer.right] = sides.duals_of(left, right);
        }
        Ok(answer)
    }

    /// Solves the problem of the rows and columns with a profitable arc.
    fn solve_kept(&mut self) -> Result<Certified> {
        let RelaxMemory { penalized: of, supply, demand, .. } = &mut *self.memory;
        let masses = [&self.sides.supply, &of.demand];
        for ((out, kept), of) in [&mut *supply, &mut *demand].into_iter().zip(&of.kept).zip(masses)
        {
            out.clear();
            out.extend(kept.iter().map(|&at| of[at]));
        }
        let is_balanced = of.is_balanced(self.sides, [supply, demand]);
        let width = of.price[1].len();
        let all_move = is_balanced && of.no_arc_exceeds_penalties(&self.table.cost);
        if all_move {
            // As uᵢ + vⱼ ≤ cᵢⱼ ≤ λᵢ + μⱼ, a shift brings all dual values below their penalties.
            balance_totals(supply, demand);
            for (&j, mass) in of.kept[1].iter().zip(&*demand) {
                of.demand[j] = *mass;
            }
            self.units.set(supply, demand);
        } else {
            self.units.quantize(supply, demand);
            if is_balanced {
                self.units.balance();
            }
        }
        let (kept, price) = (std::mem::take(&mut of.kept), std::mem::take(&mut of.price));
        let [rows, columns] = &kept;
        let filled = self.set_costs([rows, columns], [!all_move; 2], |cost, i, j| match (i, j) {
            (SPARE, SPARE) => 0.0,
            (SPARE, j) => price[1][j],
            (i, SPARE) => price[0][i],
            _ => cost[i * width + j].min(price[0][i] + price[1][j]),
        });
        let of = &mut self.memory.penalized;
        (of.kept, of.price) = (kept, price);
        filled?;
        if !all_move {
            let [total_supply, total_demand] = self.units.totals();
            self.push_spare(total_demand, total_supply);
        }
        let RelaxMemory { penalized: of, supply, demand, cost } = &mut *self.memory;
        let masses = Masses { supply, demand, units: self.units };
        let proved = self.table.certified(masses, self.keep_going)?;
        let [n, m] = of.kept.each_ref().map(Vec::len);
        let moves = without_spare(self.table.moves(self.units, proved.integers), n, m);
        of.set_moves(cost, moves);
        let (left, right) = self.table.duals(proved.integers);
        let shift = if all_move {
            let shift = of.excess(0, &left) - of.excess(1, &right);
            [-shift, shift]
        } else {
            [right[m], left[n]]
        };
        of.set_duals([&left, &right], shift);
        Ok(proved)
    }
}

impl Penalized {
    /// Reads the penalties of both sides, and resets moves and dual values.
    fn read(&mut self, sides: &Sides, penalty: Penalty<'_>) {
        self.price = prices(sides, penalty);
        self.duals[0].clone_from(&self.price[0]);
        (self.shared_price, self.shared_mass) = (0.0, 0.0);
        for &(point, mass) in &sides.shared {
            self.shared_price += mass * (penalty.at(0, point) + penalty.at(1, point));
            self.shared_mass += mass;
        }
        self.demand.clone_from(&sides.demand);
        self.moves.clear();
    }

    /// Finds the rows and columns with a profitable arc.
    fn find_profitable(&mut self, cost: &[f64]) {
        let [rows, columns] = &mut self.kept;
        let [of_rows, of_columns] = &self.price;
        rows.clear();
        columns.clear();
        let width = of_columns.len();
        // Numbers of profitable arcs of the columns, as `f64`, so that the loop is vectorized.
        let counts = &mut self.duals[1];
        counts.clear();
        counts.resize(width, 0.0);
        if width > 0 {
            for (i, (row, price)) in cost.chunks_exact(width).zip(of_rows).enumerate() {
                let mut found = 0.0;
                for ((cost, other), count) in row.iter().zip(of_columns).zip(counts.iter_mut()) {
                    let one = f64::from(u8::from(*cost < price + other));
                    *count += one;
                    found += one;
                }
                if found > 0.0 {
                    rows.push(i);
                }
            }
        }
        columns.extend((0..width).filter(|&j| counts[j] > 0.0));
    }

    /// Adds the moves on profitable arcs between kept rows and columns.
    fn set_moves(&mut self, cost: &[f64], moves: impl Iterator<Item = Move>) {
        let Self { kept: [rows, columns], moves: all, price, .. } = self;
        let width = price[1].len();
        let named = moves.map(|(i, j, mass)| (rows[i], columns[j], mass));
        all.extend(named.filter(|&(i, j, _)| cost[i * width + j] < price[0][i] + price[1][j]));
    }

    /// Sets the dual values of kept rows and columns, shifted on each side.
    fn set_duals(&mut self, values: [&[f64]; 2], shift: [f64; 2]) {
        for (side, values) in values.into_iter().enumerate() {
            for (&at, value) in self.kept[side].iter().zip(values) {
                self.duals[side][at] = value + shift[side];
            }
        }
    }

    /// Returns the largest amount by which dual values of a side exceed their penalties.
    fn excess(&self, side: usize, duals: &[f64]) -> f64 {
        let price = |at: usize| self.price[side][self.kept[side][at]];
        duals.iter().enumerate().map(|(at, dual)| dual - price(at)).fold(0.0, f64::max)
    }

    /// Computes the penalty of all mass of removed rows and columns.
    fn penalty_of_removed(&self, supply: &[f64]) -> f64 {
        let of_side = |side: usize, masses: &[f64]| {
            let mut kept = self.kept[side].iter().copied().peekable();
            let mut sum = 0.0;
            for (at, (mass, price)) in masses.iter().zip(&self.price[side]).enumerate() {
                if kept.next_if_eq(&at).is_none() {
                    sum += mass * price;
                }
            }
            sum
        };
        of_side(0, supply) + of_side(1, &self.demand)
    }

    /// Returns whether every kept arc costs at most the penalties of its ends.
    fn no_arc_exceeds_penalties(&self, cost: &[f64]) -> bool {
        let ([rows, columns], [of_rows, of_columns]) = (&self.kept, &self.price);
        let width = of_columns.len();
        rows.iter().all(|&i| {
            let row = &cost[i * width..(i + 1) * width];
            columns.iter().all(|&j| row[j] <= of_rows[i] + of_columns[j])
        })
    }

    /// Returns whether the totals of the kept rows and columns differ by rounding only, so that no
    /// penalty is due for the difference. The penalty of the difference must also be a rounding
    /// error of the penalty of all mass, as some penalties may be far higher than others.
    fn is_balanced(&self, sides: &Sides, kept: [&[f64]; 2]) -> bool {
        let [supply, demand] = kept.map(|masses| masses.iter().sum::<f64>());
        let digits = double(sides.left.len() + sides.right.len() + sides.shared.len() + 4);
        let difference = (supply - demand).abs();
        let [left, right] = [0, 1].map(|side: usize| {
            let prices = self.kept[side].iter().map(|&at| self.price[side][at]);
            prices.zip(kept[side]).fold((0.0, 0.0), |(largest, all): (f64, f64), (price, mass)| {
                (largest.max(price), all + price * mass)
            })
        });
        difference <= digits * (self.shared_mass + supply.max(demand))
            && difference * left.0.max(right.0)
                <= digits * (self.shared_price + left.1.max(right.1))
    }

    /// Checks the answer against the original problem.
    ///
    /// Dual values of the rows are lowered to the penalties; those of the columns become the
    /// largest feasible ones, so that together they prove a bound. The cost of the moves and of the
    /// mass they leave behind, and the bound, must agree with the value up to [`Answer::TOLERANCE`]
    /// and the rounding errors of the penalty of all mass.
    ///
    /// O(n·m) for n kept rows and m columns.
    fn checked(&mut self, supply: &[f64], cost: &[f64], found: Certified) -> Result<Certified> {
        let Self { demand, price, kept, moves, duals: [u, v], .. } = self;
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
        let [mut rest_a, mut rest_b] = [supply.to_vec(), demand.clone()];
        for &(i, j, mass) in &*moves {
            rest_a[i] -= mass;
            rest_b[j] -= mass;
        }
        let (penalty_a, overdrawn_a) = penalty_of_rest(&rest_a, of_rows);
        let (penalty_b, overdrawn_b) = penalty_of_rest(&rest_b, of_columns);
        let paid = moved + penalty_a + penalty_b;
        let tolerance = Answer::TOLERANCE * found.value + digits * all_price;
        let is_plan = rest_a.iter().chain(&rest_b).all(|&rest| rest >= -digits * all_mass)
            && overdrawn_a.max(overdrawn_b) <= tolerance;
        let is_value = |x: f64| (x - found.value).abs() <= tolerance;
        if is_plan && is_value(paid) && is_value(bound) {
            return Ok(Certified { gap: found.gap.max(found.value - bound), ..found });
        }
        Err(Error::Unsolved { left: n, right: m })
    }
}

/// Returns the penalties of sources and of sinks.
pub(super) fn prices(sides: &Sides, penalty: Penalty<'_>) -> [Vec<f64>; 2] {
    let side = usize::from(sides.swapped);
    [(&sides.left, side), (&sides.right, 1 - side)]
        .map(|(points, side)| points.iter().map(|&point| penalty.at(side, point)).collect())
}

/// Computes the penalty of the remaining masses, and the absolute value of its negative part.
pub(super) fn penalty_of_rest(rest: &[f64], prices: &[f64]) -> (f64, f64) {
    let paid = rest.iter().zip(prices).map(|(rest, price)| rest * price);
    paid.fold((0.0, 0.0), |(all, below), paid| (all + paid, below - paid.min(0.0)))
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Returns whether mass that both measures have at a point can stay there: see the module head.
/// Rounding errors of penalties are ignored.
///
/// Computes the distances from every shared point to every other point with mass.
pub(super) fn shared_may_stay(pair: &OnMetric<'_>, penalty: Penalty<'_>) -> bool {
    let Penalty::OfPoints(_) = penalty else { return true };
    let (a, b) = (pair.a.support(), pair.b.support());
    let (Some(ends_a), Some(ends_b)) = (ends(a), ends(b)) else { return true };
    if ends_a.1 < ends_b.0 || ends_b.1 < ends_a.0 {
        // The supports have no points in common.
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

/// Returns whether no point of a measure has a penalty above that of p plus its distance to p.
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
    use crate::solve::aim::Wanted;
    use crate::solve::exact::integer_mass::Units;
    use crate::solve::exact::table::Table;

    #[test]
    fn an_answer_without_a_certificate_is_refused() {
        // Two sources and two sinks with a cheap arc each, and mass that stays behind.
        let sides = Sides {
            left: vec![0, 1],
            right: vec![0, 1],
            supply: vec![1.0, 2.0],
            demand: vec![1.0, 1.0],
            ..Sides::default()
        };
        let mut table = Table::default();
        table.cost = vec![0.5, 9.0, 9.0, 0.25];
        let (mut units, mut memory) = (Units::default(), RelaxMemory::default());
        let problem = RelaxedTable {
            sides: &sides,
            table: &mut table,
            units: &mut units,
            memory: &mut memory,
            wanted: Wanted::Plan,
            keep_going: &|_| true,
        };
        let penalty = Penalty::OfPoints([&[1.0, 2.0], &[1.0, 0.5]]);
        let answer = problem.with_penalty(penalty).unwrap();
        assert_eq!(answer.value(), 0.5 + 0.25 + 2.0);
        let (of, cost) = (&memory.penalized, &memory.cost);
        assert_eq!(of.moves.len(), 2);
        let proved = Certified { value: answer.value(), gap: 0.0, integers: false };
        of.clone().checked(&sides.supply, cost, proved).unwrap();
        let refused = |change: &dyn Fn(&mut Penalized, &mut Certified)| {
            let (mut of, mut proved) = (of.clone(), proved);
            change(&mut of, &mut proved);
            assert!(of.checked(&sides.supply, cost, proved).is_err());
        };
        // Another value, another plan, more mass than the supply, worse dual values.
        refused(&|_, proved| proved.value += 1e-6);
        refused(&|of, _| of.moves.truncate(1));
        refused(&|of, _| of.moves = vec![(0, 0, 1.5), (1, 1, 0.5)]);
        refused(&|of, _| of.duals[0] = vec![0.0, 0.0]);
    }
}
