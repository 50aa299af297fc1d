//! Calibration of the levels by labels.

use super::{ComparedPairs, Estimator, Interval, Statistic, in_parallel};
use crate::accuracy::Level;
use crate::error::{Error, Result};
use crate::labeled::Labeled;
use crate::labeled::score::relative_errors;
use crate::measures::Measure;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::tasks::CALIBRATING;
use crate::progress::{Progress, State};

/// Calibration of the levels by labels: a few numbers to be stored with a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// Factor of each of [`Level::ALL`]; values of arcs are combinations of bounds instead.
    pub factors: [f64; 4],
    /// Level whose value each level returns: itself, or a lower one with a smaller error.
    pub levels: [Level; 4],
    /// Statistic of the flow level over the costs of plans.
    pub statistic: Statistic,
    /// Smallest tolerance at which the flow level is tried; half of the pairs then meet it.
    pub flow_width: f64,
    /// Weights of both bounds in the value at the flow level; `None` without labels.
    pub flow_blend: Option<[f64; 2]>,
    /// Weights of the lower and upper bound in the value at the level of arcs.
    pub arcs_blend: [f64; 2],
}

impl Default for Calibration {
    /// Returns raw values, and the middle of the bounds of arcs; plans alone are too wide.
    fn default() -> Self {
        let (factors, levels) = ([1.0; 4], Level::ALL);
        let (flow_blend, arcs_blend) = (None, [0.5; 2]);
        let statistic = Statistic::Least;
        Self { factors, levels, statistic, flow_width: 0.03, flow_blend, arcs_blend }
    }
}

impl Calibration {
    /// Completes a stored calibration; an old one without `blend` has its arcs level reset.
    #[must_use]
    pub fn with_arcs_blend(mut self, blend: Option<[f64; 2]>) -> Self {
        let (arcs, new) = (Level::Arcs as usize, Self::default());
        if blend.is_none() {
            (self.factors[arcs], self.levels[arcs]) = (new.factors[arcs], new.levels[arcs]);
        }
        Self { arcs_blend: blend.unwrap_or(new.arcs_blend), ..self }
    }

    /// Checks that all numbers are valid.
    pub(crate) fn check(&self) -> Result<()> {
        let bad = |option: &'static str, value: String, expected: &'static str| {
            Err(Error::BadOption { option, value, expected })
        };
        if let Some(factor) = self.factors.iter().find(|f| !(f.is_finite() && **f > 0.0)) {
            let option = "a factor of the calibration";
            return bad(option, factor.to_string(), "it must be finite and above 0");
        }
        if self.flow_width.is_nan() || self.flow_width < 0.0 {
            let width = self.flow_width.to_string();
            return bad("the width of the calibration", width, "it must be at least 0");
        }
        let blends = self.flow_blend.iter().flatten().chain(&self.arcs_blend);
        if let Some(share) = blends.into_iter().find(|share| !share.is_finite()) {
            let option = "a share of a bound in the calibration";
            return bad(option, share.to_string(), "it must be finite");
        }
        for (level, by) in Level::ALL.into_iter().zip(self.levels) {
            // No other level can replace W₁ itself.
            if by > level || (level == Level::Exact && by != level) {
                let option = "a level of the calibration";
                return bad(option, by.to_string(), "a level has itself or a lower one");
            }
        }
        Ok(())
    }
}

/// Number of labels for [`calibration`]: more would hardly change a factor, a median.
const ENOUGH_LABELS: usize = 100;

/// Number of nodes of a graph above which distances take too long for a calibration.
const FEW_NODES: usize = 5_000;

/// Computes the calibration of a fitted model by labels, to be stored with it.
///
/// It uses at most 100 of the labels, evenly spaced; on a graph of more than 5,000 nodes it
/// calibrates the trees alone.
pub fn calibration(
    metric: &GroundMetric,
    model: &Model,
    data: &Labeled,
    progress: &Progress<'_>,
) -> Result<Calibration> {
    let few = metric.points() <= FEW_NODES;
    let highest = if few || metric.edges().is_none() { Level::Arcs } else { Level::Tree };
    if few {
        metric.prepare(progress)?;
    }
    let estimator = Estimator::over(metric, model)?;
    Ok(estimator.calibrated(highest, &data.some(ENOUGH_LABELS), progress)?.calibration)
}

impl Estimator {
    /// Sets a stored calibration.
    ///
    /// # Errors
    /// A factor that is not finite and above 0; a width that is negative or not a number; a weight
    /// that is not finite; a level that is replaced by a higher one.
    pub fn with_calibration(mut self, calibration: Calibration) -> Result<Self> {
        calibration.check()?;
        self.calibration = calibration;
        Ok(self)
    }

    /// Returns the calibration, by default without labels.
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Calibrates all levels up to `highest` by labels.
    ///
    /// Fits the factor of every level (the median of W₁ over the raw value) and the weights of
    /// bounds (least squares of relative errors). Chooses the statistic of the plans' costs with
    /// the smaller error, and replaces a level by a lower one with a smaller error. Determines
    /// which tolerances the flow level can meet. Labels without a raw value are ignored. Levels
    /// above `highest`, which are most of the work, are skipped.
    ///
    /// # Errors
    /// Measures that do not fit the metric; [`Error::Canceled`] if `progress`, which counts labels
    /// once for each level, cancels.
    pub fn calibrated(
        mut self,
        highest: Level,
        data: &Labeled,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        data.measures().check_points(self.metric.points())?;
        let count = data.len();
        self.calibration = Calibration::default();
        let levels: Vec<Level> =
            Level::ALL.into_iter().filter(|&l| l <= highest && l < Level::Exact).collect();
        let total = levels.len() * count;
        // Values of the best level so far; 0 where it is exact.
        let mut best = (Level::Tree, vec![0.0; count]);
        for (k, level) in levels.into_iter().enumerate() {
            let share = |state: &State<'_>| {
                progress(&State::new(CALIBRATING, k * count + state.done, Some(total)))
            };
            let (raw, values) = match level {
                Level::Tree => {
                    let found = self.pairs(level, data.measures(), data.pairs(), &share)?;
                    let raw: Vec<f64> = found.iter().map(|e| e.raw).collect();
                    let values = scaled(&raw, data);
                    (raw, values)
                }
                Level::Flow => {
                    let raw = self.calibrate_flow(data, &share)?;
                    let values = scaled(&raw, data);
                    (raw, values)
                }
                Level::Arcs | Level::Exact => self.calibrate_arcs(data, &share)?,
            };
            let factor = data.factor(&raw);
            if level == Level::Tree
                || error_where(&values, &values, data) <= error_where(&values, &best.1, data)
            {
                best = (level, values);
            }
            self.calibration.factors[level as usize] = factor;
            self.calibration.levels[level as usize] = best.0;
        }
        Ok(self)
    }

    /// Returns raw values of the flow level, 0 where it is exact; sets its other constants.
    fn calibrate_flow(&mut self, data: &Labeled, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.below(progress)?;
        let weights = self.model()?.weights();
        let evaluate = |a: &Measure<'_>, b: &Measure<'_>| {
            if self.is_small(Level::Flow, false, a, b) {
                return Ok(([0.0; 2], None, None));
            }
            let flow = self.flow(a, b)?;
            let both = [flow.least(), flow.mean(weights)];
            let plans = self.plans_interval(&flow, a, b)?;
            let solved = self.is_small(Level::Flow, true, a, b);
            let interval = (!solved).then(|| self.with_duals(plans, a, b)).transpose()?;
            Ok((both, Some(plans.width()), interval))
        };
        let flows =
            in_parallel(ComparedPairs::Of(data.measures(), data.pairs()), progress, evaluate)?;
        let [least, mean] = [0, 1].map(|k| flows.iter().map(|flow| flow.0[k]).collect());
        let error = |raw: &Vec<f64>| {
            let values = scaled(raw, data);
            error_where(&values, &values, data)
        };
        let by_mean = error(&mean) < error(&least);
        self.calibration.statistic = if by_mean { Statistic::Mean } else { Statistic::Least };
        let mut widths: Vec<f64> =
            flows.iter().filter_map(|flow| flow.1).filter(|&width| width > 0.0).collect();
        widths.sort_unstable_by(f64::total_cmp);
        if let Some(&median) = widths.get(widths.len() / 2) {
            // Files cannot represent infinity.
            self.calibration.flow_width = median.min(f64::MAX);
        }
        let intervals: Vec<Option<Interval>> = flows.iter().map(|flow| flow.2).collect();
        self.calibration.flow_blend = blend(&intervals, data.distances());
        Ok(if by_mean { mean } else { least })
    }

    /// Returns raw and calibrated values of arcs, 0 where exact; sets the weights of its bounds.
    fn calibrate_arcs(
        &mut self,
        data: &Labeled,
        progress: &Progress<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let evaluate = |a: &Measure<'_>, b: &Measure<'_>| {
            let solved = self.is_small(Level::Arcs, true, a, b);
            if solved { Ok(None) } else { self.swept(f64::INFINITY, a, b).map(Some) }
        };
        let found =
            in_parallel(ComparedPairs::Of(data.measures(), data.pairs()), progress, evaluate)?;
        if let Some(blend) = blend(&found, data.distances()) {
            self.calibration.arcs_blend = blend;
        }
        let raw = found.iter().map(|found| found.map_or(0.0, |interval| interval.upper)).collect();
        let blend = self.calibration.arcs_blend;
        let value =
            |found: &Option<Interval>| found.map_or(0.0, |interval| interval.between(blend));
        Ok((raw, found.iter().map(value).collect()))
    }
}

/// Multiplies raw values by the one factor that fits the labels.
fn scaled(raw: &[f64], data: &Labeled) -> Vec<f64> {
    let factor = data.factor(raw);
    raw.iter().map(|raw| factor * raw).collect()
}

/// Fits the weights of lower and upper bounds to labels by least squares of relative errors; `None`
/// for fewer than [`FEW_LABELS`] labels with information.
///
/// If bounds are nearly proportional, the weights are not determined; a small regularization draws
/// them to the middle.
fn blend(intervals: &[Option<Interval>], labels: &[f64]) -> Option<[f64; 2]> {
    let informative = intervals.iter().zip(labels).filter_map(|(interval, &label)| {
        let Interval { lower, upper } = (*interval)?;
        (label > 0.0 && upper > lower).then_some((lower / label, upper / label))
    });
    let (mut count, mut sums) = (0, [0.0; 5]);
    for (l, u) in informative {
        count += 1;
        for (sum, term) in sums.iter_mut().zip([l * l, l * u, u * u, l, u]) {
            *sum += term;
        }
    }
    let drawn = 1e-4 * f64::from(count);
    let [ll, lu, uu, l, u] = sums;
    let (ll, uu, l, u) = (ll + drawn, uu + drawn, l + drawn / 2.0, u + drawn / 2.0);
    let determinant = ll * uu - lu * lu;
    let shares = [(l * uu - u * lu) / determinant, (u * ll - l * lu) / determinant];
    (count >= FEW_LABELS && shares.iter().all(|share| share.is_finite())).then_some(shares)
}

/// Number of labels below which two weights would be overfitted.
const FEW_LABELS: i32 = 10;

/// Computes the mean relative error of values over the labels for which `others` are above 0.
fn error_where(others: &[f64], values: &[f64], data: &Labeled) -> f64 {
    let informative =
        others.iter().zip(values).zip(data.distances()).filter(|((other, _), _)| **other > 0.0);
    let (values, labels): (Vec<f64>, Vec<f64>) =
        informative.map(|((_, value), label)| (*value, *label)).unzip();
    let errors = relative_errors(&values, &labels);
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}
