//! Transport that may leave mass behind: only so much of it, or as much as pays.
//!
//! Both are balanced problems with one row and one column more, for what is left over, and so they
//! are proved as every other.
//!
//! **A penalty λ.** Every unit that is not moved costs λ where it is taken away and λ where it is
//! put back: min ⟨P, C⟩ + λ(|μ| − |P|) + λ(|ρ| − |P|) over plans whose marginals are at most μ and
//! ρ. The spare column takes |μ| at λ each, the spare row gives |ρ| at λ each, and from one to the
//! other goes what both do not use, for nothing. Its dual values, moved so that those of row and
//! column are 0, are u ≤ λ and v ≤ λ with u + v ≤ C. This is the flat metric
//! (Kantorovich–Rubinstein), or marginals penalised by total variation.
//!
//! **A mass m.** The spare column takes |μ| − m and the spare row gives |ρ| − m, for nothing. Mass
//! that went from one to the other would leave more than m to be moved, and as much of that is
//! moved for less by going through both: so any price above 0 keeps it away, and no large number
//! spoils the digits.
//!
//! Where the triangle inequality is promised, mass that both have at a point stays there first, as
//! in balanced transport: swapping ends of moves that leave and reach the point costs nothing.

use rayon::prelude::*;

use super::{
    CostMatrix, GoesOn, ROUNDING, Solution, Solver, balance_totals, check_tables, choice,
    prepare_one, price, reused, room_for_costs,
};
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::metric::GroundMetric;
use crate::progress::{Counter, Progress, SOLVING, State};
use crate::tree::Coupling;

/// What need not be moved.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Relaxed {
    /// Exactly this much mass is moved, where it is cheapest; the rest costs nothing.
    Mass(f64),
    /// Mass that is not moved costs this much a unit, on either side.
    Penalty(f64),
}

impl Relaxed {
    /// The same for measures of these totals, up to rounding at most the smaller.
    fn checked(self, totals: (f64, f64)) -> Result<Self> {
        let bad = |option, value: f64, expected| {
            Err(Error::BadOption { option, value: value.to_string(), expected })
        };
        match self {
            Self::Penalty(price) if !(0.0..f64::INFINITY).contains(&price) => {
                bad("penalty", price, "it must be finite and at least 0")
            }
            Self::Mass(mass) => {
                let most = totals.0.min(totals.1);
                if !(0.0..=most * (1.0 + ROUNDING)).contains(&mass) {
                    let expected = "it must be at least 0 and at most the smaller of the totals";
                    return bad("mass", mass, expected);
                }
                Ok(Self::Mass(mass.min(most)))
            }
            Self::Penalty(_) => Ok(self),
        }
    }
}

/// The cheapest plan that may leave mass behind, with its proof; totals may differ.
///
/// The value has the penalties in it. Dual values are those of [`Solution::potentials`] with the
/// penalty as the largest one; for a mass there are none, and the gap alone tells of the proof.
///
/// # Errors
/// As [`distance`](super::distance()), but for totals; a penalty or a mass that is negative or not
/// finite, or more mass than either measure has.
///
/// # Example
/// ```
/// use treeport::exact::{self, Relaxed};
/// use treeport::{GroundMetric, Measures, PointMetric, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 9.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(3, &[2.0, 0.0, 1.0, 0.0, 2.0, 0.0])?;
/// let (a, b) = (measures.row(0), measures.row(1));
/// // Two units move by one, and the one at 9 is taken away.
/// let solution = exact::solve_relaxed(&metric, &a, &b, Relaxed::Penalty(3.0), &silent)?;
/// assert_eq!(solution.value, 5.0);
/// let solution = exact::solve_relaxed(&metric, &a, &b, Relaxed::Mass(1.5), &silent)?;
/// assert_eq!(solution.value, 1.5);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn solve_relaxed(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    relaxed: Relaxed,
    progress: &Progress<'_>,
) -> Result<Solution> {
    for measure in [a, b] {
        measure.check_points(metric.points())?;
    }
    prepare_one(metric, a, b, progress)?;
    let goes_on = || progress(&State::new(SOLVING, 0, None));
    reused(|solver| solver.solve_relaxed(metric, (a, b), relaxed, &goes_on))
}

/// [`solve_relaxed`] from masses `a` of the rows to masses `b` of the columns.
///
/// # Errors
/// As [`between`](super::between()), but for totals, and [`solve_relaxed`].
pub fn solve_relaxed_between(
    a: &[f64],
    b: &[f64],
    costs: &CostMatrix<'_>,
    relaxed: Relaxed,
    progress: &Progress<'_>,
) -> Result<Solution> {
    let goes_on = || progress(&State::new(SOLVING, 0, None));
    reused(|solver| {
        solver.shared.clear();
        let Solver { left, right, supply, demand, cost, .. } = &mut *solver;
        let totals = costs.read_sides((a, left, supply), (b, right, demand))?;
        let relaxed = relaxed.checked(totals)?;
        costs.read_costs(left, right, cost, &goes_on)?;
        solver.relaxed(relaxed, &goes_on)
    })
}

/// The values of [`solve_relaxed`] for many pairs, in parallel over pairs; the same for any number of
/// threads.
///
/// # Errors
/// As [`solve_relaxed`] and [`pairs`](super::pairs()), but for totals.
///
/// # Example
/// ```
/// use treeport::exact::{self, Relaxed};
/// use treeport::{GroundMetric, Measures, PointMetric, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean)?;
/// let measures = Measures::from_dense(2, &[2.0, 0.0, 0.0, 3.0])?;
/// let values = exact::relaxed_pairs(&metric, &measures, &[(0, 1)], Relaxed::Penalty(5.0), &silent)?;
/// assert_eq!(values, [7.0]);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn relaxed_pairs(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    relaxed: Relaxed,
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    measures.check_points(metric.points())?;
    for &(i, j) in pairs {
        relaxed.checked((measures.get(i)?.total(), measures.get(j)?.total()))?;
    }
    check_tables(measures, pairs)?;
    let counter = Counter::new(SOLVING, pairs.len(), progress);
    choice::prepare(metric, measures, pairs, progress)?;
    let goes_on = || counter.add(0).is_ok();
    let solve = |solver: &mut Solver, &(i, j): &(usize, usize)| {
        let solution = solver.solve_relaxed(
            metric,
            (&measures.row(i), &measures.row(j)),
            relaxed,
            &goes_on,
        )?;
        counter.add(1)?;
        Ok(solution.value)
    };
    pairs.par_iter().map_init(Solver::default, solve).collect()
}

/// The masses of the spare row and the spare column, what it costs to and from them, and what it
/// costs from one to the other.
struct Spare {
    row: f64,
    column: f64,
    price: f64,
    between: f64,
}

impl Spare {
    /// What is left of both totals beside the mass that moves, unless it is rounding.
    fn beside(moved: f64, (given, taken): (f64, f64), largest: f64) -> Self {
        let rest = |all: f64| if all - moved > ROUNDING * all { all - moved } else { 0.0 };
        let between = if largest > 0.0 { largest } else { 1.0 };
        Self { row: rest(taken), column: rest(given), price: 0.0, between }
    }
}

impl Solver {
    /// Solves for two measures that live on the metric's points.
    fn solve_relaxed(
        &mut self,
        metric: &GroundMetric,
        (a, b): (&Measure<'_>, &Measure<'_>),
        relaxed: Relaxed,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        let relaxed = relaxed.checked((a.total(), b.total()))?;
        self.split(a, b, 1.0, metric.is_metric());
        self.cost.clear();
        if !self.left.is_empty() && !self.right.is_empty() {
            self.fill_costs(metric, goes_on)?;
        }
        self.relaxed(relaxed, goes_on)
    }

    /// Solves what is split and has its costs.
    fn relaxed(&mut self, relaxed: Relaxed, goes_on: &GoesOn<'_>) -> Result<Solution> {
        let (given, taken) = (self.supply.iter().sum::<f64>(), self.demand.iter().sum::<f64>());
        let stays: f64 = self.shared.iter().map(|entry| entry.1).sum();
        let spare = match relaxed {
            Relaxed::Penalty(price) => {
                // However high the price, it is not paid for the rounding of totals.
                let even = (given - taken).abs() <= ROUNDING * (stays + given.max(taken));
                if even && 2.0 * price >= price::largest(&self.cost) {
                    return self.all_moved(price, goes_on);
                }
                Spare { row: taken, column: given, price, between: 0.0 }
            }
            Relaxed::Mass(mass) => {
                let moved = (mass - stays).min(given).min(taken);
                if moved <= ROUNDING * mass {
                    return Ok(free(keep(&self.shared, mass)));
                }
                // Nobody sends or takes more than what moves in all; beside much larger masses its
                // digits would be lost.
                let capped = |masses: &mut [f64]| -> f64 {
                    for mass in &mut *masses {
                        *mass = mass.min(moved);
                    }
                    masses.iter().sum()
                };
                let totals = (capped(&mut self.supply), capped(&mut self.demand));
                Spare::beside(moved, totals, price::largest(&self.cost))
            }
        };
        let (n, m) = (self.left.len(), self.right.len());
        self.add_spare(&spare)?;
        let (value, gap, integers) = self.certified(goes_on)?;
        let pivots = self.float.pivots + if integers { self.integer.pivots } else { 0 };
        let mut plan = keep(&self.shared, f64::INFINITY);
        for (i, j, mass) in self.moves(integers).into_iter().filter(|&(i, j, _)| i < n && j < m) {
            plan.push(self.left[i] as u32, self.right[j] as u32, mass);
        }
        let (left, right) = match relaxed {
            Relaxed::Penalty(_) => self.priced_duals(n, m, integers),
            Relaxed::Mass(_) => (Vec::new(), Vec::new()),
        };
        Ok(Solution { value, plan, left, right, gap, pivots, integers })
    }

    /// Equal masses where no move costs more than to take a unit away and put it back: plain
    /// transport. Its dual values u and v add up to at most 2λ, so both can be at most λ.
    fn all_moved(&mut self, price: f64, goes_on: &GoesOn<'_>) -> Result<Solution> {
        if self.left.is_empty() || self.right.is_empty() {
            return Ok(free(keep(&self.shared, f64::INFINITY)));
        }
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        let mut solution = self.solution(goes_on)?;
        let above = |duals: &Duals| duals.iter().map(|dual| dual.1 - price).fold(0.0, f64::max);
        let shift = above(&solution.left) - above(&solution.right);
        solution.left.iter_mut().for_each(|dual| dual.1 -= shift);
        solution.right.iter_mut().for_each(|dual| dual.1 += shift);
        Ok(solution)
    }

    /// Puts the spare row and column, where they have mass, after the others.
    fn add_spare(&mut self, spare: &Spare) -> Result<()> {
        let (n, m) = (self.left.len(), self.right.len());
        let (row, column) = (usize::from(spare.row > 0.0), usize::from(spare.column > 0.0));
        let mut cost = Vec::new();
        room_for_costs(&mut cost, n + row, m + column)?;
        for i in 0..n {
            cost.extend_from_slice(&self.cost[i * m..(i + 1) * m]);
            cost.resize(cost.len() + column, spare.price);
        }
        if row == 1 {
            cost.resize(cost.len() + m, spare.price);
            cost.resize(cost.len() + column, spare.between);
            self.left.push(usize::MAX);
            self.supply.push(spare.row);
        }
        if column == 1 {
            self.right.push(usize::MAX);
            self.demand.push(spare.column);
        }
        self.cost = cost;
        balance_totals(&self.supply, &mut self.demand);
        self.units.set(&self.supply, &self.demand);
        Ok(())
    }

    /// Dual values of the first `n` rows and `m` columns, so that those of the spare ones are 0.
    fn priced_duals(&self, n: usize, m: usize, integers: bool) -> (Duals, Duals) {
        let (left, right) = self.duals(integers);
        let last = |duals: &[f64], at: usize| duals.get(at).copied().unwrap_or(0.0);
        let (from_row, from_column) = (last(&left, n), last(&right, m));
        let pair = |points: &[usize], duals: &[f64], moved: f64, count: usize| {
            points.iter().zip(duals).take(count).map(|(&p, dual)| (p, dual + moved)).collect()
        };
        (pair(&self.left, &left, from_column, n), pair(&self.right, &right, from_row, m))
    }
}

/// Points and their dual values.
type Duals = Vec<(usize, f64)>;

/// So much of the mass that stays, in the order of points.
fn keep(shared: &[(usize, f64)], mut mass: f64) -> Coupling {
    let mut plan = Coupling::default();
    for &(point, stays) in shared {
        let stays = stays.min(mass);
        if stays > 0.0 {
            plan.push(point as u32, point as u32, stays);
        }
        mass -= stays;
    }
    plan
}

/// A solution that costs nothing.
fn free(plan: Coupling) -> Solution {
    let (left, right) = (Vec::new(), Vec::new());
    Solution { value: 0.0, plan, left, right, gap: 0.0, pivots: 0, integers: false }
}
