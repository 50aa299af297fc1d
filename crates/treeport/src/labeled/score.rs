//! Scores of predicted distances: which pairs count, the scale factor, and error statistics.
//!
//! The figure of merit is |W₁ − W| / W₁. It has no meaning where W₁ is nearly 0: labels below 10⁻⁴
//! of the largest are left out and counted. (The authors of \[CTW24\] leave out labels below 10⁻⁴
//! of the diameter; this rule needs only the labels.)

use std::fmt;

/// Labels below this share of the largest label have no meaningful relative error.
const LEAST_LABEL: f64 = 1e-4;

/// Statistics of relative errors over many pairs; all are NaN if no pair counts.
///
/// Displays as `0.104 ± 0.074`: mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Mean relative error.
    pub mean: f64,
    /// Standard deviation over the pairs (the divisor is their number).
    pub std: f64,
    /// Median relative error.
    pub median: f64,
    /// Largest relative error.
    pub max: f64,
    /// Number of pairs that count.
    pub pairs: usize,
    /// Number of pairs left out because W₁ is nearly 0.
    pub left_out: usize,
}

impl Score {
    /// Computes the score of predictions for pairs with known exact distances.
    ///
    /// # Panics
    /// If the two lists differ in length.
    ///
    /// # Example
    /// ```
    /// let score = treeport::Score::new(&[1.1, 1.8, 5.0], &[1.0, 2.0, 0.0]);
    /// assert_eq!(score.to_string(), "0.100 ± 0.000");
    /// assert_eq!((score.pairs, score.left_out), (2, 1));
    /// ```
    pub fn new(predicted: &[f64], exact: &[f64]) -> Self {
        let errors = relative_errors(predicted, exact);
        let count = errors.len() as f64;
        let mean = errors.iter().sum::<f64>() / count;
        let variance = errors.iter().map(|e| (e - mean).powi(2)).sum::<f64>() / count;
        Self {
            mean,
            std: variance.sqrt(),
            median: median(&errors),
            max: errors.iter().copied().fold(f64::NAN, f64::max),
            pairs: errors.len(),
            left_out: exact.len() - errors.len(),
        }
    }
}

impl fmt::Display for Score {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3} ± {:.3}", self.mean, self.std)
    }
}

/// Returns 10⁻⁴ of the largest label; up to it, relative errors have no meaning.
pub fn least_label(exact: &[f64]) -> f64 {
    LEAST_LABEL * exact.iter().copied().fold(0.0, f64::max)
}

/// Returns |W₁ − W| / W₁ of every pair whose W₁ is above 10⁻⁴ of the largest.
///
/// # Panics
/// If the two lists differ in length.
pub fn relative_errors(predicted: &[f64], exact: &[f64]) -> Vec<f64> {
    assert_eq!(predicted.len(), exact.len(), "one prediction for every exact distance");
    let least = least_label(exact);
    let counted = predicted.iter().zip(exact).filter(|(_, w)| **w > least);
    counted.map(|(p, w)| (w - p).abs() / w).collect()
}

/// Returns the factor that scales predictions to labels: the median of label/prediction over pairs
/// where both are above 0, or 1 if there are none. For an even number of pairs, the upper median:
/// always the ratio of a pair.
///
/// # Panics
/// If the two lists differ in length.
pub fn factor(predicted: &[f64], labels: &[f64]) -> f64 {
    assert_eq!(predicted.len(), labels.len(), "one prediction for every label");
    let valid = labels.iter().zip(predicted).filter(|(d, p)| **d > 0.0 && **p > 0.0);
    let mut ratios: Vec<f64> =
        valid.map(|(d, p)| d / p).filter(|ratio| ratio.is_finite()).collect();
    let middle = ratios.len() / 2;
    if ratios.is_empty() {
        return 1.0;
    }
    *ratios.select_nth_unstable_by(middle, f64::total_cmp).1
}

/// Returns the median, the mean of the two middle values for an even number; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn score_of_known_errors() {
        let score = Score::new(&[1.0, 3.0, 2.0, 9.0], &[2.0, 2.0, 2.0, 0.0002]);
        assert_eq!((score.pairs, score.left_out), (3, 1));
        assert!((score.mean - 1.0 / 3.0).abs() < 1e-15);
        assert!((score.std - (1.0f64 / 18.0).sqrt()).abs() < 1e-15);
        assert_eq!((score.median, score.max), (0.5, 0.5));
        assert_eq!(score.to_string(), "0.333 ± 0.236");
    }

    #[test]
    fn nothing_left_is_not_a_good_score() {
        let score = Score::new(&[1.0], &[0.0]);
        assert!(score.mean.is_nan() && score.median.is_nan() && score.max.is_nan());
        assert_eq!(score.left_out, 1);
    }

    #[test]
    fn medians_and_factors() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(factor(&[1.0, 2.0, 0.0, 5.0], &[2.0, 6.0, 9.0, 0.0]), 3.0);
        assert_eq!(factor(&[0.0], &[1.0]), 1.0);
        assert_eq!(factor(&[], &[]), 1.0);
    }
}
