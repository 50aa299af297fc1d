//! Relaxed problems on a line whose costs are distances, without arcs: O(n) memory, and O(n log n)
//! time for penalties.
//!
//! **Penalties.** Dual values are those of one function f of the line, which changes by no more
//! than the way between two points: the dual problem is max Σ aᵢ min(λᵢ, f(xᵢ)) + Σ bⱼ min(μⱼ,
//! −f(yⱼ)). From left to right, let F(h) be the largest sum so far with f = h at the last point. It
//! is concave and piecewise linear: a source adds a kink of mass a at λ, a sink one of mass b at −μ,
//! and a way d moves the kinks below the maximum down by d, and those above it up ("slope trick").
//! So two trees ([`kinks`](super::kinks)) have them, and the mass of those above is the demand so
//! far. From right to left, f at a point is the value nearest to the maximum of F there that the
//! next point allows.
//!
//! Complementary slackness with f bounds the mass that each point moves, and the directions of the
//! flows between neighbors. One pass to the right finds the range of every flow, one to the left
//! takes flows in them. The monotone plan of the masses that move is optimal, as in balanced
//! problems.
//!
//! **A mass m.** The cost of a mass is convex, and piecewise linear; its slope is 2λ. Plans at a low
//! and at a high λ move less and more than m. At the slope of the chord between them either no plan
//! is cheaper than both, and a mixture of them is optimal, or a plan between them replaces one.
//! Every other λ is interpolated, which shortens the chord faster.
//!
//! Kinks have twice the digits of `f64`, and an answer is proved by its plan and its dual values.
//!
//! # What was tried
//! The auction of points with more coordinates: 5,000 points per side take 0.23 s where this takes
//! 0.02 s, and where penalties exceed all costs it has no certificate and the table takes 2.6 s. A
//! mass takes a dozen or more penalties here, 0.2 to 0.3 s, and 0.1 s there: see
//! [`route`](crate::solve::route).

use std::cmp::Ordering;

use super::kinks::{Kinks, NONE};
use super::{FEWER, Penalty, Relaxation, mass, penalized};
use crate::error::Result;
use crate::memory;
use crate::numeric::double_double::DoubleDouble;
use crate::numeric::rounding::double;
use crate::numeric::scale::power_of_two;
use crate::solve::aim::Wanted;
use crate::solve::answer::Answer;
use crate::solve::exact::integer_mass::Units;
use crate::solve::exact::line::{Line, LineOrder};
use crate::solve::exact::{KeepGoing, check_canceled, is_proof, is_settled};
use crate::solve::route::Engine;
use crate::solve::sides::Sides;

/// A source (side 0) or a sink (side 1) with its position in that side.
#[derive(Clone, Copy)]
struct End {
    at: f64,
    side: usize,
    place: usize,
}

/// A problem on a line, with distances in multiples of [`unit`](Self::unit), and with its points
/// from left to right.
struct OnLine<'a> {
    sides: &'a Sides,
    units: &'a Units,
    ends: Vec<End>,
    /// A power of two near the largest number.
    unit: f64,
    keep_going: &'a KeepGoing<'a>,
}

/// Optimal values of f at all ends, and the mass that moves there.
struct Optimum {
    /// Value of f at every end.
    height: Vec<DoubleDouble>,
    /// Mass that moves at every end.
    moved: Vec<i128>,
    /// Cost of all moves.
    cost: f64,
    /// Mass of all moves.
    total: i128,
}

/// Difference below which distances are equal, in multiples of [`OnLine::unit`]: far above the
/// rounding of a million sums.
const EQUAL: f64 = 1e-23;

/// Points between two checks for cancellation: some milliseconds.
const ASKED: usize = 1 << 14;

/// Most values of λ that are tried for a mass.
const MOST_TRIED: usize = 200;

/// Largest ratio of a penalty of a point to the length of the line.
const MOST_PENALTY: f64 = (1u64 << 20) as f64;

/// Least share of a mass in the total for which quanta have all its digits.
const LEAST_MASS: f64 = 1.0 / (1u64 << 40) as f64;

/// Solves a relaxed problem on a line; `None` where costs are not distances or rounding leaves no
/// certificate.
pub(in crate::solve) fn answer(
    line: &Line<'_>,
    sides: &Sides,
    relax: Relaxation<'_>,
    (units, order): (&mut Units, &mut LineOrder),
    wanted: Wanted,
    keep_going: &KeepGoing<'_>,
) -> Result<Option<Answer>> {
    let ends = sorted(line, sides, order);
    let (Some(first), Some(last)) = (ends.first(), ends.last()) else { return Ok(None) };
    let width = last.at - first.at;
    let totals = [&sides.supply, &sides.demand].map(|masses| masses.iter().sum::<f64>());
    let digits = double(4 * (ends.len() + sides.shared.len() + 4));
    let largest = match relax {
        Relaxation::Penalty(penalty @ Penalty::OfPoints(_)) => {
            penalized::prices(sides, penalty).into_iter().flatten().fold(width, f64::max)
        }
        _ => width,
    };
    let is_finite = width > 0.0 && width < f64::INFINITY;
    if !line.is_distance() || !is_finite || largest > MOST_PENALTY * width {
        return Ok(None);
    }
    let step = format_args!("transport between {} points on a line", ends.len());
    memory::check(step, bytes(ends.len()), FEWER)?;
    units.quantize(&sides.supply, &sides.demand);
    let penalty = relax.penalty();
    let prices = penalized::prices(sides, penalty);
    if matches!(relax, Relaxation::Penalty(_)) && is_balanced(sides, &prices, totals, digits) {
        units.balance();
    }
    check_canceled(keep_going)?;
    let unit = power_of_two(largest);
    let problem = OnLine { sides, units, ends, unit, keep_going };
    let Relaxation::Mass(all) = relax else {
        // Penalties above all ways differ from the longest one by a shift of all dual values.
        let most = if matches!(penalty, Penalty::Same(_)) { width } else { f64::INFINITY };
        return problem.with_penalties(&prices, most, wanted);
    };
    let Some(moved) = mass::to_move(sides, all) else {
        return Ok(Some(Answer::free(mass::shared_plan_of(&sides.shared, all))));
    };
    let least = totals[0].min(totals[1]);
    if moved < LEAST_MASS * totals[0].max(totals[1]) {
        return Ok(None);
    }
    let [supply, demand] = units.totals();
    let is_all = least - moved <= digits * least;
    let quanta = if is_all { i128::MAX } else { units.quanta_of(moved) };
    problem.with_mass(quanta.min(supply).min(demand), width, wanted)
}

/// Returns the bytes of a problem with this many sources and sinks.
fn bytes(ends: usize) -> u64 {
    // Kinks, values of f and what limits them, flows, masses that move in three plans.
    memory::size_of::<u8>(&[ends, 2 * Kinks::BYTES + 16 * 5 + 32 + 3 * 48])
}

/// Returns sources and sinks from left to right.
fn sorted(line: &Line<'_>, sides: &Sides, order: &mut LineOrder) -> Vec<End> {
    let [left, right] = order.sorted(line, [&sides.left, &sides.right]);
    let points = [&sides.left, &sides.right];
    let end = |side: usize| {
        move |place: usize| End { at: line.coordinate(points[side][place]), side, place }
    };
    let (mut left, mut right) = (left.map(end(0)).peekable(), right.map(end(1)).peekable());
    let next = || match (left.peek(), right.peek()) {
        (Some(x), Some(y)) if y.at < x.at => right.next(),
        (Some(_), _) => left.next(),
        (None, _) => right.next(),
    };
    std::iter::from_fn(next).collect()
}

/// Returns whether the totals differ by rounding only, and so little that no penalty matters.
fn is_balanced(sides: &Sides, prices: &[Vec<f64>; 2], totals: [f64; 2], digits: f64) -> bool {
    let difference = (totals[0] - totals[1]).abs();
    let paid =
        [(&sides.supply, &prices[0]), (&sides.demand, &prices[1])].map(|(masses, prices)| {
            let sum: f64 = masses.iter().zip(prices).map(|(mass, price)| mass * price).sum();
            (sum, prices.iter().copied().fold(0.0, f64::max))
        });
    difference <= digits * totals[0].max(totals[1])
        && difference * paid[0].1.max(paid[1].1) <= digits * paid[0].0.max(paid[1].0)
}

impl OnLine<'_> {
    fn quanta(&self, end: &End) -> i128 {
        [&self.units.supply, &self.units.demand][end.side][end.place]
    }

    /// Returns the distance from one end to the next, in multiples of `unit`.
    fn way(&self, k: usize) -> DoubleDouble {
        let [from, to] = [k, k + 1].map(|k| self.ends[k].at / self.unit);
        DoubleDouble::sum(to, -from)
    }

    /// Returns a mass with twice the digits.
    fn exact(&self, quanta: i128) -> DoubleDouble {
        let mass = self.units.quantum();
        DoubleDouble::sum(mass(quanta), mass(quanta - (quanta as f64) as i128))
    }

    fn check(&self, k: usize) -> Result<()> {
        if k.is_multiple_of(ASKED) { check_canceled(self.keep_going) } else { Ok(()) }
    }

    /// Solves the problem with penalties, of which only `most` counts for the moves.
    fn with_penalties(
        &self,
        prices: &[Vec<f64>; 2],
        most: f64,
        wanted: Wanted,
    ) -> Result<Option<Answer>> {
        let full = |end: &End| prices[end.side][end.place];
        let price = |end: &End| full(end).min(most) / self.unit;
        let Some(optimum) = self.optimum(&price)? else { return Ok(None) };
        let [supply, demand] = self.units.totals();
        let more = match self.ends.first().map(full) {
            Some(price) if price > most => price - most,
            _ => 0.0,
        };
        // The penalty that is due in any case for the difference of the totals.
        let shift = more * (supply - demand).signum() as f64;
        let mut value = DoubleDouble::from(optimum.cost * self.unit);
        for (end, moved) in self.ends.iter().zip(&optimum.moved) {
            value = value + self.exact(self.quanta(end) - moved) * full(end).into();
        }
        let dual = |k: usize| {
            let end = &self.ends[k];
            let height = if end.side == 0 { optimum.height[k] } else { -optimum.height[k] };
            let dual =
                if height.minus(price(end).into()) > 0.0 { price(end).into() } else { height };
            let shift = if end.side == 0 { shift } else { -shift };
            (dual * self.unit.into(), DoubleDouble::from(shift))
        };
        let mut bound = DoubleDouble::default();
        for (k, end) in self.ends.iter().enumerate() {
            let (dual, shift) = dual(k);
            bound = bound + self.exact(self.quanta(end)) * (dual + shift);
        }
        let Some(mut answer) = self.proved(value, bound) else { return Ok(None) };
        if wanted > Wanted::Value {
            let pays = |i: &End, j: &End| (i.at - j.at).abs() < full(i) + full(j);
            self.add_plan(&mut answer, &optimum.moved, pays);
            let rounded = |k: usize| {
                let (dual, shift) = dual(k);
                (dual + shift).rounded().min(full(&self.ends[k]))
            };
            self.add_duals(&mut answer, rounded);
        }
        Ok(Some(answer))
    }

    /// Solves the problem in which this mass moves along ways of at most `width`.
    fn with_mass(&self, moved: i128, width: f64, wanted: Wanted) -> Result<Option<Answer>> {
        let Some((optimum, price)) = self.cheapest(moved, width / self.unit)? else {
            return Ok(None);
        };
        let exact_price = DoubleDouble::from(price);
        let dual = |k: usize| {
            let height = optimum.height[k];
            let height = if self.ends[k].side == 0 { height } else { -height };
            if height.minus(exact_price) > 0.0 { exact_price } else { height }
        };
        let mut bound = self.exact(moved) * exact_price * 2.0.into();
        for (k, end) in self.ends.iter().enumerate() {
            bound = bound + self.exact(self.quanta(end)) * (dual(k) - exact_price);
        }
        let unit = DoubleDouble::from(self.unit);
        let value = DoubleDouble::from(optimum.cost * self.unit);
        let Some(mut answer) = self.proved(value, bound * unit) else { return Ok(None) };
        if wanted > Wanted::Value {
            self.add_plan(&mut answer, &optimum.moved, |_, _| true);
            let penalty = price * self.unit;
            answer.penalty = Some(penalty);
            self.add_duals(&mut answer, |k| (dual(k) * unit).rounded().min(penalty));
        }
        Ok(Some(answer))
    }

    /// Finds an optimal plan of a mass, with the values of f and the penalty that prove it.
    fn cheapest(&self, mass: i128, width: f64) -> Result<Option<(Optimum, f64)>> {
        let real = self.units.quantum();
        let nothing =
            Optimum { height: Vec::new(), moved: vec![0; self.ends.len()], cost: 0.0, total: 0 };
        let at = |price: f64| self.optimum(&move |_: &End| price);
        let Some(all) = at(width)? else { return Ok(None) };
        let (mut low, mut high) = ((nothing, 0.0), (all, width));
        if high.0.total < mass {
            return Ok(None);
        }
        for tried in 0..MOST_TRIED {
            let more = real(high.0.total - low.0.total);
            let chord = 0.5 * (high.0.cost - low.0.cost) / more;
            let is_chord = tried % 2 == 1 || high.0.total == mass;
            let share = real(mass - low.0.total) / more;
            let price = if is_chord { chord } else { low.1 + share * (high.1 - low.1) };
            let Some(found) = at(price)? else { return Ok(None) };
            let value = |of: &Optimum| of.cost - 2.0 * price * real(of.total);
            let rounding = ROUNDING * (high.0.cost + 2.0 * price * real(high.0.total));
            if is_chord && value(&found) >= value(&low.0).min(value(&high.0)) - rounding {
                let moved = self.mixed([&low.0, &high.0], mass);
                let cost = self.cost_of(&moved);
                return Ok(Some((Optimum { moved, cost, total: mass, ..found }, price)));
            }
            match found.total.cmp(&mass) {
                Ordering::Equal => return Ok(Some((found, price))),
                Ordering::Less => low = (found, price),
                Ordering::Greater => high = (found, price),
            }
        }
        Ok(None)
    }

    /// Mixes the masses that move in two optimal plans so that their sum is `mass` on both sides.
    fn mixed(&self, [low, high]: [&Optimum; 2], mass: i128) -> Vec<i128> {
        let share = (mass - low.total) as f64 / (high.total - low.total) as f64;
        let between = |(x, y): (&i128, &i128)| {
            let mixed = x + ((y - x) as f64 * share) as i128;
            mixed.clamp(*x.min(y), *x.max(y))
        };
        let mut moved: Vec<i128> = low.moved.iter().zip(&high.moved).map(between).collect();
        for side in [0, 1] {
            let of_side = |k: &usize| self.ends[*k].side == side;
            let mut missing =
                mass - (0..moved.len()).filter(of_side).map(|k| moved[k]).sum::<i128>();
            for k in (0..moved.len()).filter(of_side) {
                let (x, y) = (low.moved[k], high.moved[k]);
                let change = missing.clamp(x.min(y) - moved[k], x.max(y) - moved[k]);
                moved[k] += change;
                missing -= change;
            }
        }
        moved
    }

    /// Computes the cost of the flows between neighbors, for distances in multiples of `unit`.
    fn cost_of(&self, moved: &[i128]) -> f64 {
        let (mut flow, mut cost) = (0i128, DoubleDouble::default());
        for (k, moved) in moved.iter().enumerate().take(self.ends.len() - 1) {
            flow += if self.ends[k].side == 0 { *moved } else { -moved };
            cost = cost + self.exact(flow.abs()) * self.way(k);
        }
        cost.rounded()
    }

    fn optimum(&self, price: &dyn Fn(&End) -> f64) -> Result<Option<Optimum>> {
        let height = self.heights(price)?;
        let Some(moved) = self.moves(&height, price) else { return Ok(None) };
        let total = self.ends.iter().zip(&moved).filter(|x| x.0.side == 0).map(|x| x.1).sum();
        Ok(Some(Optimum { cost: self.cost_of(&moved), height, moved, total }))
    }

    /// Computes optimal values of f at all ends.
    fn heights(&self, price: &dyn Fn(&End) -> f64) -> Result<Vec<DoubleDouble>> {
        let count = self.ends.len();
        let mut kinks = Kinks::with_capacity(2 * count);
        let (mut below, mut above) = (NONE, NONE);
        let mut best: Vec<[Option<DoubleDouble>; 2]> = Vec::with_capacity(count);
        for (k, end) in self.ends.iter().enumerate() {
            self.check(k)?;
            let way = if k > 0 { self.way(k - 1) } else { DoubleDouble::default() };
            kinks.shift(below, -way);
            kinks.shift(above, way);
            let (price, mass) = (DoubleDouble::from(price(end)), self.quanta(end));
            let [low, high] = best.last().copied().unwrap_or_default();
            let (low, high) = (low.map(|low| low - way), high.map(|high| high + way));
            if end.side == 0 && low.is_some_and(|low| price.minus(low) < 0.0) {
                below = kinks.push(below, price, mass);
            } else if end.side == 1 && high.is_some_and(|high| (-price).minus(high) > 0.0) {
                above = kinks.push(above, -price, mass);
            } else if end.side == 0 {
                let all = kinks.push(above, price, mass);
                let [low, high] = kinks.split(all, mass);
                (below, above) = (kinks.merge(below, low), high);
            } else {
                let all = kinks.push(below, -price, mass);
                let [low, high] = kinks.split(all, kinks.mass(all) - mass);
                (below, above) = (low, kinks.merge(high, above));
            }
            best.push([kinks.end(below, 1), kinks.end(above, 0)]);
        }
        let mut heights = vec![DoubleDouble::default(); self.ends.len()];
        let mut next: Option<DoubleDouble> = None;
        for k in (0..self.ends.len()).rev() {
            let height = within(next.unwrap_or_default(), best[k]);
            heights[k] = match next {
                None => height,
                Some(next) => {
                    let way = self.way(k);
                    within(height, [Some(next - way), Some(next + way)])
                }
            };
            next = Some(heights[k]);
        }
        Ok(heights)
    }

    /// Finds flows between neighbors that complementary slackness with f allows, and returns the
    /// mass that moves at every end; `None` if rounding leaves none.
    fn moves(&self, height: &[DoubleDouble], price: &dyn Fn(&End) -> f64) -> Option<Vec<i128>> {
        let last = self.ends.len() - 1;
        let range = |k: usize| {
            let end = &self.ends[k];
            let dual = if end.side == 0 { height[k] } else { -height[k] };
            let (mass, slack) = (self.quanta(end), dual.minus(price(end).into()));
            [if slack < -EQUAL { mass } else { 0 }, if slack > EQUAL { 0 } else { mass }]
        };
        // Ranges of the flow from every end to the next one; positive to the right.
        let mut flows: Vec<[i128; 2]> = Vec::with_capacity(self.ends.len());
        let mut before = [0, 0];
        for k in 0..=last {
            let [least, most] = range(k);
            let [low, high] = before;
            let [low, high] = if self.ends[k].side == 0 {
                [low + least, high + most]
            } else {
                [low - most, high - least]
            };
            let [left, right] = if k == last {
                [false; 2]
            } else {
                let (fall, way) = (height[k] - height[k + 1], self.way(k));
                [(-fall).minus(way) >= -EQUAL, fall.minus(way) >= -EQUAL]
            };
            before = [if left { low } else { low.max(0) }, if right { high } else { high.min(0) }];
            if before[0] > before[1] {
                return None;
            }
            flows.push(before);
        }
        let (mut moved, mut flow) = (vec![0; self.ends.len()], 0);
        for k in (0..=last).rev() {
            let [least, most] = range(k);
            let [low, high] = if k == 0 { [0, 0] } else { flows[k - 1] };
            // The flow before, so that as little as possible moves here.
            moved[k] = if self.ends[k].side == 0 {
                least.max(flow - high).min(most)
            } else {
                least.max(low - flow).min(most)
            };
            flow -= if self.ends[k].side == 0 { moved[k] } else { -moved[k] };
            if !(low..=high).contains(&flow) {
                return None;
            }
        }
        Some(moved)
    }

    /// Returns the answer of a value and a bound, if they prove each other.
    fn proved(&self, value: DoubleDouble, bound: DoubleDouble) -> Option<Answer> {
        let Sides { supply, demand, .. } = self.sides;
        let rounded = value.rounded();
        let gap = (value - bound).rounded().abs() + double(8) * rounded;
        let lost = self.units.rounded(supply, demand);
        let is_proved = is_proof(rounded, gap) && is_settled(rounded, lost * self.unit);
        let answer = || Answer { integers: true, ..Answer::certified(rounded, gap, Engine::Line) };
        is_proved.then(answer)
    }

    /// Adds the monotone plan of the masses that move, without moves that do not pay.
    fn add_plan(&self, answer: &mut Answer, moved: &[i128], pays: impl Fn(&End, &End) -> bool) {
        let mass = self.units.quantum();
        let mut rest = moved.to_vec();
        let mut sinks = (0..moved.len()).filter(|&k| self.ends[k].side == 1 && moved[k] > 0);
        let mut sink = sinks.next();
        let mut moves = Vec::new();
        for i in (0..moved.len()).filter(|&k| self.ends[k].side == 0) {
            while let Some(j) = sink.filter(|_| rest[i] > 0) {
                let part = rest[i].min(rest[j]);
                let (from, to) = (&self.ends[i], &self.ends[j]);
                if mass(part) > 0.0 && pays(from, to) {
                    moves.push((from.place, to.place, mass(part)));
                }
                rest[i] -= part;
                rest[j] -= part;
                if rest[j] == 0 {
                    sink = sinks.next();
                }
            }
        }
        answer.plan = self.sides.plan_of(moves);
    }

    /// Adds the dual values of the ends.
    fn add_duals(&self, answer: &mut Answer, dual: impl Fn(usize) -> f64) {
        let mut duals = [vec![0.0; self.sides.left.len()], vec![0.0; self.sides.right.len()]];
        for (k, end) in self.ends.iter().enumerate() {
            duals[end.side][end.place] = dual(k);
        }
        let [left, right] = duals;
        [answer.left, answer.right] = self.sides.duals_of(left, right);
    }
}

/// Rounding errors of the costs of two plans, relative to the larger one.
const ROUNDING: f64 = 1e-14;

/// Returns the value nearest to `value` between two limits, if there are any.
fn within(value: DoubleDouble, [low, high]: [Option<DoubleDouble>; 2]) -> DoubleDouble {
    let value = high.filter(|high| value.minus(*high) > 0.0).unwrap_or(value);
    low.filter(|low| value.minus(*low) < 0.0).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::on_table;
    use super::super::spares::tests::{check_by, masses, relaxations};
    use super::*;
    use crate::measures::Measures;
    use crate::metric::{GroundMetric, PointMetric};
    use crate::solve::aim::Aim;
    use crate::solve::exact::random::random;
    use crate::solve::problem::posed::{OnMetric, Posed};
    use crate::solve::run::Found;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn relaxed_problems_on_a_line_have_the_value_of_a_table(
            (n, m, kind, seed) in (1usize..24, 1usize..24, 0u8..3, any::<u64>()),
            (by_mass, share) in relaxations(),
            (by_points, is_shared, is_grid) in (any::<bool>(), any::<bool>(), any::<bool>()),
            more in prop::sample::select(vec![0.3, 1.0, 2.0]),
        ) {
            // Beyond these another engine answers.
            let share = match by_mass {
                true if kind == 2 => share.max(0.1),
                false if by_points => share.min(1e3),
                _ => share,
            };
            let mut random = random(seed);
            let round = |x: f64| if is_grid { (6.0 * x).floor() } else { 6.0 * x };
            let at: Vec<f64> = (0..n + m).map(|_| round(random())).collect();
            let metric = GroundMetric::from_points(1, at.clone(), PointMetric::Euclidean).unwrap();
            let first = if is_shared { 0 } else { n };
            let (supply, demand) = (masses(n, kind, seed), masses(m, kind, seed ^ 1));
            let rows = [
                (0..n).map(|k| (k, supply[k])).collect::<Vec<_>>(),
                (0..m).map(|k| (first + k, more * demand[k])).collect(),
            ];
            let measures = Measures::from_rows(n + m, rows).unwrap();
            let (a, b) = (measures.row(0), measures.row(1));
            let mut price = || round(share * (0.5 + random()));
            let prices: Vec<f64> = (0..n + m).map(|_| price()).collect();
            let relax = match (by_mass, by_points) {
                (true, _) => Relaxation::Mass(share * a.total().min(b.total())),
                (false, false) => Relaxation::Penalty(Penalty::Same(prices[0])),
                (false, true) => Relaxation::Penalty(Penalty::OfPoints([&prices, &prices])),
            };
            let posed = Posed::Metric(OnMetric { metric: &metric, a, b });
            let cost = |i: usize, j: usize| metric.distance(i, j);
            check_by(&posed, relax, &Aim::exact(), &cost, &|costs, relax, space| {
                let on = Line::of(&metric).unwrap();
                let memory = (&mut space.units, &mut space.line);
                let ask = &|_| true;
                let found = answer(&on, &space.sides, relax, memory, Wanted::Plan, ask).unwrap();
                let mut points = space.sides.left.iter().chain(&space.sides.right);
                if found.is_none() && points.all(|&p| at[p] == at[space.sides.left[0]]) {
                    let keep_going = &|_| true;
                    let found = on_table(space, costs, relax, Wanted::Plan, keep_going);
                    return found.ok().map(Found::exact);
                }
                found.map(Found::exact)
            })?;
        }
    }
}
