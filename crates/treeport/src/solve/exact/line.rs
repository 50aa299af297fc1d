//! Transport on a line: points with one coordinate, in O(n log n) time and O(n) memory.
//!
//! If the cost is a convex function of the difference of two points, the monotone plan is optimal
//! (Hoffman, *On simple linear programming problems*, 1963; Santambrogio, *Optimal Transport for
//! Applied Mathematicians*, section 2.2). The northwest corner rule on both sorted sides finds it
//! in one pass. Masses are the integers of `integer_mass`, so that equal masses cancel.
//!
//! **Dual values.** The arcs of the monotone plan form a staircase: between consecutive arcs one
//! end changes, or both do, and then the arc from the new source to the old sink is added. From u =
//! 0 at the first source, u + v = c along the staircase gives all dual values, and by the same
//! theorem they are dual feasible. Accumulated over millions of points in `f64` they would not be:
//! differences, squares and sums are [`DoubleDouble`], and each value is rounded once in the end.
//!
//! **Certificate.** The theorem proves that the plan is optimal. Its cost is a sum of terms of at
//! least 0 with [`ROUNDINGS`] roundings each. If dual values are requested, the gap also includes
//! the difference to their bound before the last rounding, unless they are more than 20 orders of
//! magnitude above the value.

use std::iter::Peekable;

use super::integer_mass::Units;
use super::{KeepGoing, MOST_KEPT, check_canceled, is_proof, is_settled};
use crate::error::{Error, Result};
use crate::measures::Measure;
use crate::memory;
use crate::metric::GroundMetric;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::order::NumberOrder;
use crate::numeric::rounding::double;
use crate::numeric::scale::power_of_two;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::route::Engine;
use crate::solve::sides::Sides;

/// Roundings of a term of the value and of the sum, and two spare.
const ROUNDINGS: usize = 8;

/// Moves between two checks for cancellation: some milliseconds.
const MOVES_PER_CHECK: usize = 1 << 18;

/// Fewest points for which both sides are sorted in parallel.
const LARGE: usize = 1 << 14;

/// Points on a line with a convex cost.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Line<'a> {
    at: &'a [f64],
    /// Cost over squared distance, for costs proportional to it.
    square_share: Option<f64>,
}

impl<'a> Line<'a> {
    /// Returns the points of a metric with one coordinate and a norm or squared distance as cost.
    pub(in crate::solve) fn of(metric: &'a GroundMetric) -> Option<Self> {
        let (1, at) = metric.vectors()? else { return None };
        // A period makes it a circle.
        if metric.half_periods().is_some() {
            return None;
        }
        let kind = metric.point_metric()?;
        let square_share = kind.square_share();
        (square_share.is_some() || kind.norm().is_some()).then_some(Self { at, square_share })
    }

    /// Returns an upper bound of the costs between points of two measures.
    pub(in crate::solve) fn largest_cost(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        self.of_length(self.width(a.support().iter().chain(b.support()).map(|&p| p as usize)))
    }

    /// Returns whether costs are distances, not squares of them.
    pub(in crate::solve) fn is_distance(&self) -> bool {
        self.square_share.is_none()
    }

    /// Returns the number of points.
    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    pub(in crate::solve) fn coordinate(&self, point: usize) -> f64 {
        self.at[point]
    }

    /// Returns the cost between two points.
    pub(super) fn between(&self, i: usize, j: usize) -> f64 {
        self.cost(i, j, 1.0)
    }

    /// Returns the largest distance between points.
    fn width(&self, points: impl Iterator<Item = usize>) -> f64 {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let ends = points.fold(ends, |(low, high), p| (low.min(self.at[p]), high.max(self.at[p])));
        (ends.1 - ends.0).max(0.0)
    }

    /// Returns the cost of a distance.
    fn of_length(&self, length: f64) -> f64 {
        self.square_share.map_or(length, |share| share * length * length)
    }

    /// Returns the cost between two points, with distances in multiples of `unit`.
    fn cost(&self, i: usize, j: usize, unit: f64) -> f64 {
        self.of_length((self.at[i] - self.at[j]).abs() / unit)
    }

    /// Returns the [cost](Self::cost) with twice the digits.
    fn exact_cost(&self, i: usize, j: usize, unit: f64) -> DoubleDouble {
        let length = DoubleDouble::sum(self.at[i] / unit, -self.at[j] / unit).abs();
        self.square_share.map_or(length, |share| length * length * share.into())
    }

    /// Converts a cost of distances in multiples of `unit` to a cost of distances.
    fn in_units(&self, cost: f64, unit: f64) -> f64 {
        if self.square_share.is_some() { cost * unit * unit } else { cost * unit }
    }
}

/// The order of both sides on the line; its buffers are reusable.
#[derive(Clone, Debug, Default)]
pub(in crate::solve) struct LineOrder {
    left: NumberOrder,
    right: NumberOrder,
}

impl LineOrder {
    /// Returns whether it is small enough for a thread to keep.
    pub(in crate::solve) fn is_small(&self) -> bool {
        self.left.is_within(MOST_KEPT) && self.right.is_within(MOST_KEPT)
    }

    /// Sorts both sides by coordinate.
    fn sort(&mut self, line: &Line<'_>, [left, right]: [&[usize]; 2]) {
        let Self { left: of_left, right: of_right } = self;
        let sort = |order: &mut NumberOrder, points: &[usize]| {
            order.sort(points.iter().map(|&p| line.at[p]));
        };
        if left.len().min(right.len()) >= LARGE {
            rayon::join(|| sort(of_left, left), || sort(of_right, right));
        } else {
            sort(of_left, left);
            sort(of_right, right);
        }
    }

    /// Sorts the points of each side by coordinate, and returns their indices in the side.
    pub(in crate::solve) fn sorted(
        &mut self,
        line: &Line<'_>,
        sides: [&[usize]; 2],
    ) -> [impl Iterator<Item = usize> + '_; 2] {
        self.sort(line, sides);
        [self.left.places(), self.right.places()]
    }
}

/// Refuses problems on a line of which `at_once` do not fit into memory together.
pub(in crate::solve) fn check_memory(n: usize, m: usize, at_once: usize) -> Result<()> {
    let step = format_args!("transport between {n} and {m} points on a line");
    let bytes = bytes(n, m).saturating_mul(at_once as u64);
    memory::check(step, bytes, "give fewer points at a time")
}

/// Returns the bytes of a problem on a line.
pub(in crate::solve) fn bytes(n: usize, m: usize) -> u64 {
    // The sides (points, masses, integer masses), their order, and a plan with its dual values.
    let side = size_of::<(usize, f64, i128, u32)>() + NumberOrder::BYTES;
    let solution = size_of::<(u32, u32, f64)>() + size_of::<(DoubleDouble, usize, f64)>();
    (n as u64 + m as u64).saturating_mul((side + solution) as u64)
}

/// A move of the plan: positions of its source and sink, and its mass.
#[derive(Clone, Copy)]
struct Move {
    from: usize,
    to: usize,
    quanta: i128,
}

/// A problem whose sides are sorted.
struct Sorted<'a> {
    line: &'a Line<'a>,
    sides: &'a Sides,
    units: &'a Units,
    order: &'a LineOrder,
    /// Unit of distances, a power of two for which products and squares do not underflow.
    unit: f64,
    /// Difference of the totals before they were balanced, as a mass.
    imbalance: f64,
    keep_going: &'a KeepGoing<'a>,
}

/// Solves a problem on a line; computes the plan and its dual values if they are requested.
pub(in crate::solve) fn answer(
    line: &Line<'_>,
    sides: &Sides,
    (units, order): (&mut Units, &mut LineOrder),
    wanted: Wanted,
    keep_going: &KeepGoing<'_>,
) -> Result<Answer> {
    units.quantize(&sides.supply, &sides.demand);
    let [supply, demand] = units.totals();
    units.balance();
    check_canceled(keep_going)?;
    let Sides { left, right, .. } = sides;
    let imbalance = units.quantum()((supply - demand).abs());
    let unit = power_of_two(line.width(left.iter().chain(right).copied()));
    order.sort(line, [left, right]);
    check_canceled(keep_going)?;
    let sorted = Sorted { line, sides, units, order, unit, imbalance, keep_going };
    let answer = sorted.value()?;
    if wanted == Wanted::Value { Ok(answer) } else { sorted.with_plan(answer) }
}

impl Sorted<'_> {
    /// Computes the cost of the monotone plan and its certificate.
    fn value(&self) -> Result<Answer> {
        let Self { line, sides, unit, .. } = *self;
        let mass = self.units.quantum();
        let (mut sum, mut rest, mut largest) = (0.0, 0.0, 0.0f64);
        self.each_move(|Move { from, to, quanta }| {
            let cost = line.cost(sides.left[from], sides.right[to], unit);
            let added = DoubleDouble::sum(sum, mass(quanta) * cost);
            sum = added.rounded();
            rest += added.rest();
            largest = largest.max(cost);
        })?;
        let value = line.in_units(sum + rest, unit);
        let gap = double(ROUNDINGS) * value;
        let lost = self.units.rounded(&sides.supply, &sides.demand);
        if !is_proof(value, gap) || !is_settled(value, lost * line.in_units(largest, unit)) {
            return Err(Error::Unsolved { left: sides.left.len(), right: sides.right.len() });
        }
        // Balancing the totals changes the value at most by the imbalance at the largest cost.
        let points = sides.left.iter().chain(&sides.right).copied();
        let real_gap = gap + self.imbalance * line.of_length(line.width(points));
        let integers = !is_proof(value, real_gap);
        let gap = if integers { gap } else { real_gap };
        Ok(Answer { integers, ..Answer::certified(value, gap, Engine::Line) })
    }

    /// Adds the plan and its dual values.
    fn with_plan(&self, mut answer: Answer) -> Result<Answer> {
        let Self { line, sides, unit, .. } = *self;
        let mass = self.units.quantum();
        let mut plan = sides.shared_plan();
        let mut left = vec![DoubleDouble::default(); sides.left.len()];
        let mut right = vec![DoubleDouble::default(); sides.right.len()];
        let cost = |i: usize, j: usize| line.exact_cost(sides.left[i], sides.right[j], unit);
        let mut last: Option<Move> = None;
        self.each_move(|next| {
            let Move { from, to, quanta } = next;
            let mass = mass(quanta);
            if mass > 0.0 {
                plan.push(sides.left[from] as u32, sides.right[to] as u32, mass);
            }
            if let Some(last) = last.filter(|last| last.from != from) {
                left[from] = cost(from, last.to) - right[last.to];
            }
            if last.is_none_or(|last| last.to != to) {
                right[to] = cost(from, to) - left[from];
            }
            last = Some(next);
        })?;
        let value = answer.value();
        let bound = line.in_units(self.bound(&left, &right), unit);
        // A plan that costs nothing is optimal. Dual values far above the value certify nothing.
        let by_duals = (answer.gap() + (value - bound).abs()).min(value);
        if is_proof(value, by_duals) {
            answer.lower = (value - by_duals).max(0.0);
        } else {
            answer.integers = true;
        }
        let middle = middle(&left);
        let real = |dual: DoubleDouble| line.in_units(dual.rounded(), unit);
        let left = left.iter().map(|&u| real(u - middle));
        let right = right.iter().map(|&v| real(v + middle));
        [answer.left, answer.right] = sides.duals_of(left, right);
        answer.plan = plan;
        Ok(answer)
    }

    /// Computes Σ supply·u + Σ demand·v, for costs in multiples of the line's unit.
    fn bound(&self, left: &[DoubleDouble], right: &[DoubleDouble]) -> f64 {
        let mass = self.units.quantum();
        let exact =
            |quanta: i128| DoubleDouble::sum(mass(quanta), mass(quanta - (quanta as f64) as i128));
        let sides = [(&self.units.supply, left), (&self.units.demand, right)];
        let terms = sides.into_iter().flat_map(|(masses, duals)| masses.iter().zip(duals));
        terms.fold(DoubleDouble::default(), |sum, (&m, &dual)| sum + exact(m) * dual).rounded()
    }

    /// Calls `visit` with the moves of the plan in the order of the line.
    fn each_move(&self, mut visit: impl FnMut(Move)) -> Result<()> {
        let mut left = Side::new(self.order.left.places(), &self.units.supply);
        let mut right = Side::new(self.order.right.places(), &self.units.demand);
        let mut moves = 0;
        while let (Some(from), Some(to)) = (left.place(), right.place()) {
            let quanta = left.rest.min(right.rest);
            visit(Move { from, to, quanta });
            left.advance(quanta);
            right.advance(quanta);
            moves += 1;
            if moves % MOVES_PER_CHECK == 0 {
                check_canceled(self.keep_going)?;
            }
        }
        Ok(())
    }
}

/// The masses of one side in the order of the line.
struct Side<'a, P: Iterator<Item = usize>> {
    places: Peekable<P>,
    masses: &'a [i128],
    /// Mass left at the first point.
    rest: i128,
}

impl<'a, P: Iterator<Item = usize>> Side<'a, P> {
    fn new(places: P, masses: &'a [i128]) -> Self {
        let mut side = Self { places: places.peekable(), masses, rest: 0 };
        side.rest = side.place().map_or(0, |place| masses[place]);
        side
    }

    fn place(&mut self) -> Option<usize> {
        self.places.peek().copied()
    }

    /// Subtracts mass at the first point; goes to the next point if none is left.
    fn advance(&mut self, quanta: i128) {
        self.rest -= quanta;
        if self.rest == 0 {
            self.places.next();
            self.rest = self.place().map_or(0, |place| self.masses[place]);
        }
    }
}

/// Returns the middle of the range of values, around which rounding loses few digits.
fn middle(values: &[DoubleDouble]) -> DoubleDouble {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let ends = values
        .iter()
        .fold(ends, |(low, high), value| (low.min(value.rounded()), high.max(value.rounded())));
    (0.5 * ends.0 + 0.5 * ends.1).into()
}
