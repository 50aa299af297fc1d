//! What labels tell about the levels.

use super::{Estimator, Level, Rows, Statistic, in_parallel};
use crate::error::{Error, Result};
use crate::labelled::Labelled;
use crate::measure::Measure;
use crate::metric::GroundMetric;
use crate::model::Model;
use crate::progress::{CALIBRATING, Progress, State};
use crate::score::relative_errors;

/// What labels tell about the levels: a few numbers, to be kept with a model.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Calibration {
    /// One factor for each of [`Level::ALL`].
    pub factors: [f64; 4],
    /// The level whose value answers at each of them: itself, or a lower one that erred less.
    pub levels: [Level; 4],
    /// What the flow level takes from the costs of plans.
    pub statistic: Statistic,
    /// Tolerances below this are not worth a try at the flow level.
    pub flow_width: f64,
}

impl Default for Calibration {
    /// Raw values; at the flow level intervals narrower than 0.03 are rare.
    fn default() -> Self {
        let (factors, levels) = ([1.0; 4], Level::ALL);
        Self { factors, levels, statistic: Statistic::Least, flow_width: 0.03 }
    }
}

impl Calibration {
    /// Refuses what no labels can have told.
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
        for (level, by) in Level::ALL.into_iter().zip(self.levels) {
            // Nothing answers for W₁ itself.
            if by > level || (level == Level::Exact && by != level) {
                let option = "a level of the calibration";
                return bad(option, by.to_string(), "a level has itself or a lower one");
            }
        }
        Ok(())
    }
}

/// Labels that tell [`calibration`] enough: a factor is a median, and more would hardly move it.
const ENOUGH_LABELS: usize = 100;

/// Single linkage of more points than this takes longer than a calibration should.
const FEW_POINTS: usize = 5_000;

/// What labels tell about the estimates of a model: what is kept with it once it is fitted.
///
/// It looks at 100 of the labels at most, evenly spaced, and of more than 5,000 points it does not
/// measure how narrow the intervals of the flow level are; on a graph of so many it looks at the
/// trees alone.
///
/// # Errors
/// As [`Estimator::calibrated`].
pub fn calibration(
    metric: &GroundMetric,
    model: &Model,
    data: &Labelled,
    progress: &Progress<'_>,
) -> Result<Calibration> {
    let few = metric.points() <= FEW_POINTS;
    let highest = if few || metric.edges().is_none() { Level::Arcs } else { Level::Tree };
    if few {
        metric.prepare(progress)?;
    }
    let mut estimator = Estimator::over(metric, model)?;
    estimator.calibrate(highest, few, &data.some(ENOUGH_LABELS), progress)?;
    Ok(estimator.calibration)
}

impl Estimator {
    /// The same with a calibration from before.
    ///
    /// # Errors
    /// A factor that is not finite and above 0, a width that is negative or not a number, or a level
    /// that a higher one answers for.
    pub fn with_calibration(mut self, calibration: Calibration) -> Result<Self> {
        calibration.check()?;
        self.calibration = calibration;
        Ok(self)
    }

    /// What [`Estimator::calibrated`] has found; the default without.
    pub fn calibration(&self) -> Calibration {
        self.calibration
    }

    /// Fits the factor of every level up to `highest` to labels (the median of W₁ over the raw
    /// value), takes the statistic of the plans' costs that then errs less, lets a lower level answer
    /// for one that errs more than it, and notes which tolerances the flow level can meet. Labels
    /// without a raw value tell nothing. What lies above `highest` is not looked at, which is most of
    /// the work.
    ///
    /// # Errors
    /// Measures that do not fit the metric; [`Error::Cancelled`] when `progress`, which counts
    /// labels once for each level, asks to stop.
    pub fn calibrated(
        mut self,
        highest: Level,
        data: &Labelled,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        self.calibrate(highest, true, data, progress)?;
        Ok(self)
    }

    /// As [`calibrated`](Self::calibrated), with or without a look at widths.
    fn calibrate(
        &mut self,
        highest: Level,
        widths: bool,
        data: &Labelled,
        progress: &Progress<'_>,
    ) -> Result<()> {
        data.measures().check_points(self.metric.points())?;
        let count = data.len();
        self.calibration = Calibration::default();
        let levels: Vec<Level> =
            Level::ALL.into_iter().filter(|&l| l <= highest && l < Level::Exact).collect();
        let total = levels.len() * count;
        // The values of the best level so far; where one answers exactly, it has none of its own.
        let mut best = (Level::Tree, vec![0.0; count]);
        for (k, level) in levels.into_iter().enumerate() {
            let share = |state: &State<'_>| {
                progress(&State::new(CALIBRATING, k * count + state.done, Some(total)))
            };
            let raw: Vec<f64> = if level == Level::Flow {
                self.calibrate_flow(widths, data, &share)?
            } else {
                let found = self.pairs(level, data.measures(), data.pairs(), &share)?;
                found.iter().map(|e| if e.exact { 0.0 } else { e.raw }).collect()
            };
            let factor = data.factor(&raw);
            let values: Vec<f64> = raw.iter().map(|raw| factor * raw).collect();
            if level == Level::Tree
                || error_where(&values, &values, data) <= error_where(&values, &best.1, data)
            {
                best = (level, values);
            }
            self.calibration.factors[level as usize] = factor;
            self.calibration.levels[level as usize] = best.0;
        }
        Ok(())
    }

    /// The raw values of the flow level, 0 where it is exact; its statistic and width are set, from
    /// one look at the plans.
    fn calibrate_flow(
        &mut self,
        widths: bool,
        data: &Labelled,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        if widths {
            self.below(progress)?;
        }
        let weights = self.model.weights();
        let looked_at = |a: &Measure<'_>, b: &Measure<'_>| {
            if self.is_small(Level::Flow, false, a, b) {
                return Ok(([0.0; 2], 0.0));
            }
            let flow = self.flow(a, b)?;
            let both = [flow.least(), flow.mean(weights)];
            // Where bounds are exact, no tolerance is too narrow for the flow.
            let solved = !widths || self.is_small(Level::Flow, true, a, b);
            let width = if solved { 0.0 } else { self.flow_interval(&flow, 0.0, a, b)?.width() };
            Ok((both, width))
        };
        let flows = in_parallel(Rows::Of(data.measures(), data.pairs()), progress, looked_at)?;
        let [least, mean] = [0, 1].map(|k| flows.iter().map(|(both, _)| both[k]).collect());
        let error = |raw: &Vec<f64>| {
            let factor = data.factor(raw);
            let values: Vec<f64> = raw.iter().map(|raw| factor * raw).collect();
            error_where(&values, &values, data)
        };
        let by_mean = error(&mean) < error(&least);
        self.calibration.statistic = if by_mean { Statistic::Mean } else { Statistic::Least };
        let widths = flows.iter().map(|(_, width)| *width).filter(|&width| width > 0.0);
        if let Some(least) = widths.min_by(f64::total_cmp) {
            self.calibration.flow_width = least;
        }
        Ok(if by_mean { mean } else { least })
    }
}

/// The mean relative error of some values, over the labels for which others are above 0.
fn error_where(others: &[f64], values: &[f64], data: &Labelled) -> f64 {
    let told =
        others.iter().zip(values).zip(data.distances()).filter(|((other, _), _)| **other > 0.0);
    let (values, labels): (Vec<f64>, Vec<f64>) =
        told.map(|((_, value), label)| (*value, *label)).unzip();
    let errors = relative_errors(&values, &labels);
    errors.iter().sum::<f64>() / errors.len().max(1) as f64
}
