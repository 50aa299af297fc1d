//! Certified intervals that contain W₁; the [module](super) has the proofs.

use super::{ComparedPairs, Estimator, PLANS_CROSSING, SingleLinkage, in_parallel, is_above};
use crate::accuracy::{Accuracy, Level, Question};
use crate::error::Result;
use crate::measures::{Measure, Measures, rescaled};
use crate::metric::{Norm, PointMetric};
use crate::model::flow::FlowPlans;
use crate::numeric::rounding::{INTERVAL, double};
use crate::progress::{Progress, silent};
use crate::solve::{Aim, Problem, exact};
use crate::tree::{Coupling, TreePotentials};

/// Certified bounds: `lower` ≤ W₁ ≤ `upper`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Certified lower bound.
    pub lower: f64,
    /// Certified upper bound.
    pub upper: f64,
}

impl Interval {
    /// Returns the relative width upper/lower − 1, the largest relative difference of two values in
    /// the interval. 0 if both bounds are 0, infinite if only the lower one is.
    pub fn width(&self) -> f64 {
        if self.upper <= self.lower { 0.0 } else { self.upper / self.lower - 1.0 }
    }

    /// Returns a linear combination of the bounds, clamped to the interval.
    pub(super) fn between(&self, [lower, upper]: [f64; 2]) -> f64 {
        (lower * self.lower + upper * self.upper).clamp(self.lower, self.upper)
    }
}

/// A value with certified bounds, of the requested accuracy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CertifiedEstimate {
    /// Calibrated estimate: a combination of the bounds if both are more informative than a tree,
    /// otherwise clamped to the interval.
    pub value: f64,
    /// Certified interval of W₁.
    pub interval: Interval,
    /// Level that was sufficient.
    pub level: Level,
}

/// Former name of [`CertifiedEstimate`].
#[deprecated(since = "0.4.0", note = "renamed to `CertifiedEstimate`")]
pub type Answer = CertifiedEstimate;

impl Estimator {
    /// Computes an interval that contains W₁. Higher levels have narrower intervals, except for
    /// pairs on which trees are more informative than a few sweeps.
    ///
    /// At [`Level::Tree`] the upper bound is the cost of the first tree's plan.
    pub fn bounds(&self, level: Level, a: &Measure<'_>, b: &Measure<'_>) -> Result<Interval> {
        self.check(a, b)?;
        Ok(self.answer(level, f64::INFINITY, a, b)?.interval)
    }

    /// Computes values with [`bounds`](Estimator::bounds) for many pairs, in parallel; the same for
    /// any number of threads.
    ///
    /// Bounds need more work than a value, so more of the pairs are solved exactly than by
    /// [`Estimator::pairs`].
    pub fn answers(
        &self,
        accuracy: Accuracy,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<CertifiedEstimate>> {
        measures.check_points(self.metric.points())?;
        measures.check_pairs(pairs)?;
        self.all_answers(accuracy, ComparedPairs::Of(measures, pairs), progress)
    }

    /// Computes [`Estimator::answers`] for measure `i` of `a` and measure `i` of `b`, for every
    /// `i`.
    pub fn paired_answers(
        &self,
        accuracy: Accuracy,
        a: &Measures,
        b: &Measures,
        progress: &Progress<'_>,
    ) -> Result<Vec<CertifiedEstimate>> {
        self.check_paired(a, b)?;
        self.all_answers(accuracy, ComparedPairs::Both(a, b), progress)
    }

    fn all_answers(
        &self,
        accuracy: Accuracy,
        rows: ComparedPairs<'_>,
        progress: &Progress<'_>,
    ) -> Result<Vec<CertifiedEstimate>> {
        accuracy.check_for(Question::Estimate)?;
        let uses_trees = match accuracy {
            Accuracy::Level(level) => level <= Level::Flow,
            Accuracy::Within(tolerance) => self.plans_may_suffice(tolerance),
            Accuracy::Approximate => false,
        };
        if uses_trees {
            self.below(progress)?; // once, before many threads need it
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

    /// Computes a value whose relative error is certified to be at most `tolerance`, at the lowest
    /// level that can guarantee it.
    ///
    /// # Errors
    /// A tolerance that is negative or not a number; see also [`Estimator::distance`].
    pub fn within(
        &self,
        tolerance: f64,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<CertifiedEstimate> {
        Accuracy::Within(tolerance).check_for(Question::Estimate)?;
        self.check(a, b)?;
        self.lowest(tolerance, a, b)
    }

    fn lowest(
        &self,
        tolerance: f64,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<CertifiedEstimate> {
        if self.plans_may_suffice(tolerance)
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

    /// Returns whether the plans of trees may meet the tolerance.
    fn plans_may_suffice(&self, tolerance: f64) -> bool {
        self.model.is_some() && tolerance >= self.calibration.flow_width
    }

    /// Computes the flow level with the bounds that need no further distances; `None` if that does
    /// not meet the tolerance or costs more than sweeps.
    fn by_plans(
        &self,
        tolerance: f64,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<Option<CertifiedEstimate>> {
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
        Ok(Some(CertifiedEstimate {
            value: value.clamp(interval.lower, interval.upper),
            interval,
            level,
        }))
    }

    /// Computes a value and an interval at one level, as narrow as `tolerance` if possible.
    fn answer(
        &self,
        level: Level,
        tolerance: f64,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<CertifiedEstimate> {
        // If the totals differ a little, the right-hand side is rescaled, as for transport.
        let rescaled = rescaled(a, b)?;
        let b = &rescaled.as_ref().map_or(*b, |one| one.row(0));
        if self.is_small(level, true, a, b) {
            let exact = Problem::new(&self.metric, a, b).answer(&Aim::value(), &silent)?;
            let interval = interval_with_slack(exact.lower, exact.upper);
            return Ok(CertifiedEstimate { value: exact.upper, interval, level: Level::Exact });
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
        Ok(CertifiedEstimate {
            value: value.clamp(interval.lower, interval.upper),
            interval,
            level,
        })
    }

    /// Returns an interval: its upper end is the cheapest tree plan, its lower end the better of
    /// the single-linkage and centroid bounds.
    pub(super) fn plans_interval(
        &self,
        flow: &FlowPlans,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<Interval> {
        Ok(interval_with_slack(self.lower(a, b)?, self.cost_above(&flow.cheapest())))
    }

    /// Improves an interval of plans by the duals of the trees.
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

    /// Computes the lower bounds that need no plan.
    fn lower(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        Ok(self.single_linkage(a, b)?.max(self.centroids(a, b)))
    }

    /// Returns the mean of the trees' duals, at the scale of the labels.
    fn potentials(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<TreePotentials> {
        let factor = self.calibration.factors[Level::Tree as usize];
        let model = self.model()?;
        let weights = model.weights().iter().map(|weight| factor * weight);
        Ok(TreePotentials::mean(model.trees(), weights, a, b))
    }

    /// Returns the cost of a plan, plus the rounding error of its masses over its longest move.
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

    /// Returns the distance in the single-linkage tree minus the largest rounding error. The mass
    /// below a node is a sum over the supports, the totals may differ in their last digits, and no
    /// path is longer than the height of the tree.
    fn single_linkage(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        let Some(SingleLinkage { tree, height }) = self.below(&silent)? else { return Ok(0.0) };
        Ok((tree.distance(a, b)? - digits(a, b) * a.total() * height).max(0.0))
    }

    /// Returns the distance of the centroids if it is a lower bound, otherwise 0.
    fn centroids(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        let norm = self.metric.point_metric().and_then(PointMetric::norm);
        let (Some(norm), Some((dim, points))) = (norm, self.metric.vectors()) else {
            return 0.0;
        };
        let vector = |point: usize| &points[point * dim..(point + 1) * dim];
        // Relative to a point of the support, so that a difference of the totals has little weight.
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
        // Means of periodic coordinates are undefined; the others alone still give a lower bound.
        let is_periodic = |k: usize| self.metric.half_periods().is_some_and(|h| h[k].is_finite());
        let parts = parts.enumerate().map(|(k, part)| if is_periodic(k) { 0.0 } else { part });
        match norm {
            Norm::L2 => parts.map(|x| x * x).sum::<f64>().sqrt(),
            Norm::L1 => parts.sum(),
            Norm::Largest => parts.fold(0.0, f64::max),
        }
    }
}

/// Returns an upper bound of the relative error of sums over both supports, and of [`rescaled`].
fn digits(a: &Measure<'_>, b: &Measure<'_>) -> f64 {
    double(4 * (a.support().len() + b.support().len()) + 64)
}

/// Widens bounds by more than the rounding error of sums of products.
pub(super) fn interval_with_slack(lower: f64, upper: f64) -> Interval {
    let (lower, upper) = (lower * (1.0 - INTERVAL), upper * (1.0 + INTERVAL));
    // If the triangle inequality only holds up to rounding, the bounds may cross by as much.
    Interval { lower: lower.min(upper), upper }
}
