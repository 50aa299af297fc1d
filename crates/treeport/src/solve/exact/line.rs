//! Transport along a line: points with one coordinate, in O(n log n) time and O(n) memory.
//!
//! Where a cost is a convex function of the way from one point to another, the plan that keeps their
//! order is optimal (Hoffman, *On simple linear programming problems*, 1963; Santambrogio, *Optimal
//! Transport for Applied Mathematicians*, section 2.2). It is found by one sweep over both sides, sorted:
//! whoever comes first gives to whoever takes first. Masses are the whole numbers of `fixed`, so that
//! equal ones cancel, and totals that differ by rounding are settled as everywhere.
//!
//! **Dual values.** The moves of that plan are a staircase: from each to the next one end changes, or both
//! do, and then the arc from the new source to the old sink goes between them. With the first value at 0
//! they follow from u + v = c along the stairs, and by the same theorem they are feasible everywhere.
//! Added up over millions of points in `f64` they would not be: differences, squares and sums are
//! [`Twofold`], and each value is rounded once, in the end.
//!
//! **What is proved.** The theorem proves the plan. Its cost is a sum of terms of at least 0 with some
//! roundings each, which [`ROUNDINGS`] counts. Where dual values are given, the gap is that to the bound
//! they have before they are rounded, unless they are more than 20 orders of magnitude above the value.

use std::iter::Peekable;

use super::{Certified, GoesOn, MOST_KEPT, Solution, Solver, ask, is_proof, is_settled, rescaling};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::memory;
use crate::metric::GroundMetric;
use crate::order::NumberOrder;
use crate::rounding::double;
use crate::solve::problem::OnMetric;
use crate::twofold::Twofold;
use crate::units::power_of_two;

/// Roundings of a term of the value, and of their sum: one each for mass, difference, square, product,
/// unit and last digit, and what is left over of two.
const ROUNDINGS: usize = 8;

/// Moves between two questions whether to go on: some milliseconds.
const ASKED: usize = 1 << 18;

/// Sides of so many points are sorted at the same time.
const LARGE: usize = 1 << 14;

/// Points on a line, and what it costs from one to another.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Line<'a> {
    at: &'a [f64],
    /// The cost over the square of the way, where it grows with that.
    square_share: Option<f64>,
}

impl<'a> Line<'a> {
    /// The points of a metric, where they have one coordinate and costs are a convex function of
    /// their differences: all norms are the same there, and squares are one.
    pub(in crate::solve) fn of(metric: &'a GroundMetric) -> Option<Self> {
        let (1, at) = metric.vectors()? else { return None };
        // A circle is no line.
        if metric.half_periods().is_some() {
            return None;
        }
        let kind = metric.point_metric()?;
        let square_share = kind.square_share();
        (square_share.is_some() || kind.norm().is_some()).then_some(Self { at, square_share })
    }

    /// The largest cost there may be between points of two measures.
    pub(in crate::solve) fn largest_cost(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        self.of_length(self.width(a.support().iter().chain(b.support()).map(|&p| p as usize)))
    }

    /// The number of points.
    pub(super) fn len(&self) -> usize {
        self.at.len()
    }

    /// Where a point is.
    pub(super) fn place(&self, point: usize) -> f64 {
        self.at[point]
    }

    /// What it costs from one point to another.
    pub(super) fn between(&self, i: usize, j: usize) -> f64 {
        self.cost(i, j, 1.0)
    }

    /// How far points are apart at most.
    fn width(&self, points: impl Iterator<Item = usize>) -> f64 {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let ends = points.fold(ends, |(low, high), p| (low.min(self.at[p]), high.max(self.at[p])));
        (ends.1 - ends.0).max(0.0)
    }

    /// What a way costs.
    fn of_length(&self, length: f64) -> f64 {
        self.square_share.map_or(length, |share| share * length * length)
    }

    /// What it costs from one point to another, by ways over `unit`.
    fn cost(&self, i: usize, j: usize, unit: f64) -> f64 {
        self.of_length((self.at[i] - self.at[j]).abs() / unit)
    }

    /// As [`cost`](Self::cost), with twice the digits.
    fn exact_cost(&self, i: usize, j: usize, unit: f64) -> Twofold {
        let length = Twofold::sum(self.at[i] / unit, -self.at[j] / unit).abs();
        self.square_share.map_or(length, |share| length * length * share.into())
    }

    /// A cost in such units as it is.
    fn in_units(&self, cost: f64, unit: f64) -> f64 {
        if self.square_share.is_some() { cost * unit * unit } else { cost * unit }
    }
}

/// Both sides in the order of the line.
#[derive(Clone, Debug, Default)]
pub(super) struct LineOrder {
    left: NumberOrder,
    right: NumberOrder,
    /// What lengths are measured in, so that neither products nor squares vanish: a power of two.
    unit: f64,
    /// By how much totals differed before they were settled, as a mass.
    settled: f64,
}

impl LineOrder {
    /// Whether a thread may keep its memory.
    pub(super) fn is_small(&self) -> bool {
        self.left.is_within(MOST_KEPT) && self.right.is_within(MOST_KEPT)
    }
}

/// Refuses problems on a line that do not fit into memory, so many `at_once`.
pub(in crate::solve) fn check_room(n: usize, m: usize, at_once: usize) -> Result<()> {
    let step = format_args!("transport between {n} and {m} points on a line");
    let bytes = bytes(n, m).saturating_mul(at_once as u64);
    memory::check(step, bytes, "give fewer points at a time")
}

/// The bytes that a problem between so many points takes.
pub(in crate::solve) fn bytes(n: usize, m: usize) -> u64 {
    // The sides (a point, its mass as given and as a whole number), their order, and a plan with its
    // dual values.
    let side = size_of::<(usize, f64, i128, u32)>() + NumberOrder::BYTES;
    let solution = size_of::<(u32, u32, f64)>() + size_of::<(Twofold, usize, f64)>();
    (n as u64 + m as u64).saturating_mul((side + solution) as u64)
}

/// A move of the plan: places on either side, and how much goes.
#[derive(Clone, Copy)]
struct Move {
    from: usize,
    to: usize,
    quanta: i128,
}

impl Solver {
    /// W₁ between two measures on a line, or what squares make of it.
    pub(super) fn on_line(
        &mut self,
        line: &Line<'_>,
        pair: &OnMetric<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Certified> {
        self.lay_out_on_line(line, pair, goes_on)?;
        if self.left.is_empty() {
            return Ok(Certified { value: 0.0, gap: 0.0, integers: false });
        }
        self.certified_line(line, goes_on)
    }

    /// The plan that keeps the order of points, with its dual values.
    pub(super) fn solution_on_line(
        &mut self,
        line: &Line<'_>,
        pair: &OnMetric<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Solution> {
        self.lay_out_on_line(line, pair, goes_on)?;
        let mut plan = self.shared_plan();
        if self.left.is_empty() {
            return Ok(Solution::free(plan));
        }
        let Certified { value, gap, integers } = self.certified_line(line, goes_on)?;
        let mass = self.units.quantum();
        let (mut left, mut right) = (vec![Twofold::default(); self.left.len()], vec![]);
        right.resize(self.right.len(), Twofold::default());
        let cost =
            |i: usize, j: usize| line.exact_cost(self.left[i], self.right[j], self.line.unit);
        let mut last: Option<Move> = None;
        self.each_move(goes_on, |next| {
            let Move { from, to, quanta } = next;
            let mass = mass(quanta);
            if mass > 0.0 {
                plan.push(self.left[from] as u32, self.right[to] as u32, mass);
            }
            if let Some(last) = last.filter(|last| last.from != from) {
                left[from] = cost(from, last.to) - right[last.to];
            }
            if last.is_none_or(|last| last.to != to) {
                right[to] = cost(from, to) - left[from];
            }
            last = Some(next);
        })?;
        let bound = line.in_units(self.line_bound(&left, &right), self.line.unit);
        // A plan that costs nothing cannot be beaten. Values far above that of the plan say nothing.
        let by_duals = (gap + (value - bound).abs()).min(value);
        let is_told = is_proof(value, by_duals);
        let (gap, integers) = if is_told { (by_duals, integers) } else { (gap, true) };
        let middle = middle(&left);
        let real = |dual: Twofold| line.in_units(dual.rounded(), self.line.unit);
        let left = self.left.iter().zip(&left).map(|(&i, &u)| (i, real(u - middle))).collect();
        let right = self.right.iter().zip(&right).map(|(&j, &v)| (j, real(v + middle))).collect();
        Ok(Solution { value, plan, left, right, gap, pivots: 0, integers })
    }

    /// Who gives and who takes, sorted; nobody if the measures are equal.
    fn lay_out_on_line(
        &mut self,
        line: &Line<'_>,
        pair: &OnMetric<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        let OnMetric { metric, a, b } = pair;
        check_room(a.support().len(), b.support().len(), 1)?;
        self.split(a, b, rescaling(a.total(), b.total()), metric.is_metric());
        if self.left.is_empty() || self.right.is_empty() {
            // What is left on one side alone is the rounding of totals.
            self.left.clear();
            self.right.clear();
            return Ok(());
        }
        self.units.count(&self.supply, &self.demand);
        let [given, taken] = self.units.totals();
        self.units.balance();
        ask(goes_on)?;
        let Self { left, right, line: order, .. } = self;
        order.settled = self.units.quantum()((given - taken).abs());
        order.unit = power_of_two(line.width(left.iter().chain(&*right).copied()));
        let LineOrder { left: of_left, right: of_right, .. } = order;
        let sort = |order: &mut NumberOrder, points: &[usize]| {
            order.sort(points.iter().map(|&p| line.at[p]));
        };
        if left.len().min(right.len()) >= LARGE {
            rayon::join(|| sort(of_left, left), || sort(of_right, right));
        } else {
            sort(of_left, left);
            sort(of_right, right);
        }
        ask(goes_on)
    }

    /// What the plan costs, and how far that may be above the truth.
    fn certified_line(&self, line: &Line<'_>, goes_on: &GoesOn<'_>) -> Result<Certified> {
        let (unit, mass) = (self.line.unit, self.units.quantum());
        let (mut sum, mut rest, mut largest) = (0.0, 0.0, 0.0f64);
        self.each_move(goes_on, |Move { from, to, quanta }| {
            let cost = line.cost(self.left[from], self.right[to], unit);
            let added = Twofold::sum(sum, mass(quanta) * cost);
            sum = added.rounded();
            rest += added.rest();
            largest = largest.max(cost);
        })?;
        let value = line.in_units(sum + rest, unit);
        let gap = double(ROUNDINGS) * value;
        let lost = self.units.rounded(&self.supply, &self.demand);
        if !is_proof(value, gap) || !is_settled(value, lost * line.in_units(largest, unit)) {
            return Err(self.unsolved_line());
        }
        // What settling the totals may have changed, at most.
        let points = self.left.iter().chain(&self.right).copied();
        let as_given = gap + self.line.settled * line.of_length(line.width(points));
        let integers = !is_proof(value, as_given);
        Ok(Certified { value, gap: if integers { gap } else { as_given }, integers })
    }

    fn unsolved_line(&self) -> Error {
        Error::Unsolved { left: self.left.len(), right: self.right.len() }
    }

    /// Σ supply·u + Σ demand·v, in units of the line.
    fn line_bound(&self, left: &[Twofold], right: &[Twofold]) -> f64 {
        let mass = self.units.quantum();
        let exact =
            |quanta: i128| Twofold::sum(mass(quanta), mass(quanta - (quanta as f64) as i128));
        let sides = [(&self.units.supply, left), (&self.units.demand, right)];
        let terms = sides.into_iter().flat_map(|(masses, duals)| masses.iter().zip(duals));
        terms.fold(Twofold::default(), |sum, (&m, &dual)| sum + exact(m) * dual).rounded()
    }

    /// Calls `found` with the moves of the plan in the order of the line.
    fn each_move(&self, goes_on: &GoesOn<'_>, mut found: impl FnMut(Move)) -> Result<()> {
        let mut left = Side::new(self.line.left.places(), &self.units.supply);
        let mut right = Side::new(self.line.right.places(), &self.units.demand);
        let mut moves = 0;
        while let (Some(from), Some(to)) = (left.place(), right.place()) {
            let quanta = left.rest.min(right.rest);
            found(Move { from, to, quanta });
            left.take(quanta);
            right.take(quanta);
            moves += 1;
            if moves % ASKED == 0 {
                ask(goes_on)?;
            }
        }
        Ok(())
    }
}

/// One side of a problem, from which mass is taken in the order of the line.
struct Side<'a, P: Iterator<Item = usize>> {
    places: Peekable<P>,
    masses: &'a [i128],
    /// What the first place still has.
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

    fn take(&mut self, quanta: i128) {
        self.rest -= quanta;
        if self.rest == 0 {
            self.places.next();
            self.rest = self.place().map_or(0, |place| self.masses[place]);
        }
    }
}

/// Half way from the least to the largest value, so that rounded ones lose few digits.
fn middle(values: &[Twofold]) -> Twofold {
    let ends = (f64::INFINITY, f64::NEG_INFINITY);
    let ends = values
        .iter()
        .fold(ends, |(low, high), value| (low.min(value.rounded()), high.max(value.rounded())));
    (0.5 * ends.0 + 0.5 * ends.1).into()
}
