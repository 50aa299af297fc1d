//! Intervals that hold W₁; the proofs are in the [module](super).

use super::{ComparedPairs, Estimator, PLANS_CROSSING, SingleLinkage, in_parallel, is_above};
use crate::accuracy::{Accuracy, Level, Question};
use crate::error::Result;
use crate::exact;
use crate::flow::FlowPlans;
use crate::measure::{Measure, Measures, rescaled};
use crate::metric::{Norm, PointMetric};
use crate::progress::{Progress, silent};
use crate::rounding::{INTERVAL, double};
use crate::tree::{Coupling, TreePotentials};

/// W₁ is not below `lower` and not above `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Certified lower bound.
    pub lower: f64,
    /// Certified upper bound.
    pub upper: f64,
}

impl Interval {
    /// upper/lower − 1: how far any value inside can be from any other, relatively. 0 if both are
    /// 0, infinite if only the lower one is.
    pub fn width(&self) -> f64 {
        if self.upper <= self.lower { 0.0 } else { self.upper / self.lower - 1.0 }
    }

    /// So much of the lower bound and so much of the upper one, but never outside.
    pub(super) fn between(&self, [lower, upper]: [f64; 2]) -> f64 {
        (lower * self.lower + upper * self.upper).clamp(self.lower, self.upper)
    }
}

/// A value that is as close to W₁ as it was asked to be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// The calibrated estimate: between the bounds where both tell more than a tree, else moved into
    /// the interval.
    pub value: f64,
    /// Where W₁ is.
    pub interval: Interval,
    /// The level that sufficed.
    pub level: Level,
}

impl Estimator {
    /// An interval that holds W₁; a higher level is narrower, but for pairs of which trees know more
    /// than a few sweeps tell.
    ///
    /// [`Level::Tree`] takes its upper bound from the plan of the first tree only.
    ///
    /// # Errors
    /// As [`Estimator::distance`].
    pub fn bounds(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<Interval> {
        self.check(a, b)?;
        Ok(self.answer(level, f64::INFINITY, a, b)?.interval)
    }

    /// A value with its [`bounds`](Estimator::bounds) for many pairs, in parallel; the same for any
    /// number of threads.
    ///
    /// Bounds are more work than a value, so more of the pairs are solved exactly than by
    /// [`Estimator::pairs`].
    ///
    /// # Errors
    /// As [`Estimator::pairs`] and [`Estimator::within`].
    pub fn answers(
        &self,
        accuracy: Accuracy,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<Answer>> {
        measures.check_points(self.metric.points())?;
        measures.check_pairs(pairs)?;
        self.all_answers(accuracy, ComparedPairs::Of(measures, pairs), progress)
    }

    /// [`Estimator::answers`] for measure `i` of `a` and measure `i` of `b`, for every `i`.
    ///
    /// # Errors
    /// As [`Estimator::paired`] and [`Estimator::within`].
    pub fn paired_answers(
        &self,
        accuracy: Accuracy,
        a: &Measures,
        b: &Measures,
        progress: &Progress<'_>,
    ) -> Result<Vec<Answer>> {
        self.check_paired(a, b)?;
        self.all_answers(accuracy, ComparedPairs::Both(a, b), progress)
    }

    fn all_answers(
        &self,
        accuracy: Accuracy,
        rows: ComparedPairs<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<Answer>> {
        accuracy.check_for(Question::Estimate)?;
        let asks_trees = match accuracy {
            Accuracy::Level(level) => level <= Level::Flow,
            Accuracy::Within(tolerance) => self.may_ask_plans(tolerance),
            Accuracy::Approximate => false,
        };
        if asks_trees {
            self.below(progress)?; // once, before many threads ask for it
        }
        match accuracy {
            Accuracy::Level(level) => {
                in_parallel(rows, progress, |a, b| self.answer(level, f64::INFINITY, a, b))
            }
            Accuracy::Within(tolerance) => {
                in_parallel(rows, progress, |a, b| self.lowest(tolerance, a, b))
            }
            Accuracy::Approximate => Err(accuracy.refused(Question::Estimate)),
        }
    }

    /// A value whose relative error is certified to be at most `tolerance`, at the lowest level
    /// that can promise it.
    ///
    /// # Errors
    /// As [`Estimator::distance`]; a tolerance that is negative or not a number.
    pub fn within(&self, tolerance: f64, a: &Measure<'_>, b: &Measure<'_>) -> Result<Answer> {
        Accuracy::Within(tolerance).check_for(Question::Estimate)?;
        self.check(a, b)?;
        self.lowest(tolerance, a, b)
    }

    fn lowest(&self, tolerance: f64, a: &Measure<'_>, b: &Measure<'_>) -> Result<Answer> {
        if self.may_ask_plans(tolerance)
            && let Some(answer) = self.by_plans(tolerance, a, b)?
        {
            return Ok(answer);
        }
        let answer = self.answer(Level::Arcs, tolerance, a, b)?;
        if answer.interval.width() <= tolerance {
            return Ok(answer);
        }
        self.answer(Level::Exact, tolerance, a, b)
    }

    /// Whether the plans of trees may be enough.
    fn may_ask_plans(&self, tolerance: f64) -> bool {
        self.model.is_some() && tolerance >= self.calibration.flow_width
    }

    /// The flow level with the bounds that need no more distances than it does, where that costs less
    /// than sweeps and is enough.
    fn by_plans(&self, tolerance: f64, a: &Measure<'_>, b: &Measure<'_>) -> Result<Option<Answer>> {
        let level = Level::Flow;
        let (n, m) = self.moving(a, b);
        if self.shortcut && !is_above(PLANS_CROSSING, self.model()?.trees().len(), (n, m)) {
            return Ok(None);
        }
        let rescaled = rescaled(a, b)?;
        let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
        let flow = self.flow(a, b)?;
        let interval = self.plans_interval(&flow, a, b)?;
        if interval.width() > tolerance {
            return Ok(None);
        }
        let by = self.calibration.levels[level as usize];
        let value = match by {
            Level::Tree => self.value_by(by, a, b)?.value,
            _ => self.scaled(level, self.flow_value(&flow)?).value,
        };
        Ok(Some(Answer { value: value.clamp(interval.lower, interval.upper), interval, level }))
    }

    /// A value and an interval at one level, which is to be as narrow as `tolerance`, if it can.
    fn answer(
        &self,
        level: Level,
        tolerance: f64,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<Answer> {
        // A right-hand side whose total is a little off is brought to the left's, as transport does
        // it.
        let rescaled = rescaled(a, b)?;
        let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
        if self.is_small(level, true, a, b) {
            let (value, gap) = exact::value_and_gap(&self.metric, a, b)?;
            let interval = interval_with_slack((value - gap).max(0.0), value);
            return Ok(Answer { value, interval, level: Level::Exact });
        }
        let by = self.calibration.levels[level as usize];
        let (value, interval) = match level {
            Level::Tree => {
                let upper = self.cost_above(&self.model()?.trees()[0].coupling(a, b)?);
                let value = self.scaled(level, self.model()?.distance(a, b)?).value;
                (value, interval_with_slack(self.lower(a, b)?, upper))
            }
            Level::Flow => {
                let flow = self.flow(a, b)?;
                let interval = self.with_duals(self.plans_interval(&flow, a, b)?, a, b)?;
                let blend = self.calibration.flow_blend;
                let plain = self.scaled(level, self.flow_value(&flow)?).value;
                (blend.map_or(plain, |blend| interval.between(blend)), interval)
            }
            Level::Arcs | Level::Exact => {
                let interval = self.swept(tolerance, a, b)?;
                (interval.between(self.calibration.arcs_blend), interval)
            }
        };
        let value = if by == level { value } else { self.value_by(by, a, b)?.value };
        Ok(Answer { value: value.clamp(interval.lower, interval.upper), interval, level })
    }

    /// What the plans of the trees tell, and the lower bounds that need none.
    pub(super) fn plans_interval(
        &self,
        flow: &FlowPlans,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<Interval> {
        Ok(interval_with_slack(self.lower(a, b)?, self.cost_above(&flow.cheapest())))
    }

    /// An interval of plans with the duals of the trees.
    pub(super) fn with_duals(
        &self,
        plans: Interval,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<Interval> {
        let potentials = self.potentials(a, b)?;
        let dual = exact::lower_bound(&self.metric, a, b, |point| potentials.at(point));
        let lower = (dual * (1.0 - INTERVAL)).min(plans.upper).max(plans.lower);
        Ok(Interval { lower, ..plans })
    }

    /// The lower bounds that need no plan.
    fn lower(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        Ok(self.single_linkage(a, b)?.max(self.centroids(a, b)))
    }

    /// The mean of the trees' duals, on the scale of the labels.
    fn potentials(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<TreePotentials> {
        let factor = self.calibration.factors[Level::Tree as usize];
        let model = self.model()?;
        let weights = model.weights().iter().map(|weight| factor * weight);
        Ok(TreePotentials::mean(model.trees(), weights, a, b))
    }

    /// The cost of a plan, and what rounding may have taken from its masses over the longest way.
    fn cost_above(&self, plan: &Coupling) -> f64 {
        let mut longest = 0.0f64;
        let cost = plan.cost(|i, j| {
            let distance = self.metric.distance(i, j);
            longest = longest.max(distance);
            distance
        });
        let total: f64 = plan.mass.iter().sum();
        cost + double(plan.len() + 8) * total * longest
    }

    /// The distance in the single-linkage tree, less what rounding may have added: the mass below a
    /// node is a sum over the supports, the totals may differ in their last digits, and no way is
    /// longer than the tree is high.
    fn single_linkage(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        let Some(SingleLinkage { tree, height }) = self.below(&silent)? else { return Ok(0.0) };
        Ok((tree.distance(a, b)? - digits(a, b) * a.total() * height).max(0.0))
    }

    /// The distance of the two centroids where that is a lower bound, 0 elsewhere.
    fn centroids(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        let norm = self.metric.point_metric().and_then(PointMetric::norm);
        let (Some(norm), Some((dim, points))) = (norm, self.metric.vectors()) else {
            return 0.0;
        };
        let vector = |point: usize| &points[point * dim..(point + 1) * dim];
        // Seen from a point of the support, so that what the totals differ in weighs little.
        let origin = vector(a.support()[0] as usize);
        let (mut moved, mut size) = (vec![0.0; dim], vec![0.0; dim]);
        for (sign, measure) in [(1.0, a), (-1.0, b)] {
            for (point, mass) in measure.iter() {
                let offsets = vector(point).iter().zip(origin);
                for ((moved, size), (x, o)) in moved.iter_mut().zip(&mut size).zip(offsets) {
                    *moved += sign * mass * (x - o);
                    *size += mass * (x - o).abs();
                }
            }
        }
        let rounding = digits(a, b);
        let least = |(moved, size): (&f64, &f64)| (moved.abs() - rounding * size).max(0.0);
        let parts = moved.iter().zip(&size).map(least);
        // A mean of angles is none; the other coordinates alone are no longer than all.
        let is_round = |k: usize| self.metric.half_periods().is_some_and(|h| h[k].is_finite());
        let parts = parts.enumerate().map(|(k, part)| if is_round(k) { 0.0 } else { part });
        match norm {
            Norm::L2 => parts.map(|x| x * x).sum::<f64>().sqrt(),
            Norm::L1 => parts.sum(),
            Norm::Largest => parts.fold(0.0, f64::max),
        }
    }
}

/// More than the share of all mass that sums over both supports lose, and that [`rescaled`] leaves.
fn digits(a: &Measure<'_>, b: &Measure<'_>) -> f64 {
    double(4 * (a.support().len() + b.support().len()) + 64)
}

/// Widens bounds by more than sums of products can lose.
pub(super) fn interval_with_slack(lower: f64, upper: f64) -> Interval {
    let (lower, upper) = (lower * (1.0 - INTERVAL), upper * (1.0 + INTERVAL));
    // A metric whose triangle inequality only holds up to rounding may cross them by as much.
    Interval { lower: lower.min(upper), upper }
}
