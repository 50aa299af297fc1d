//! How good a set of predicted distances is, and what a result has to beat.
//!
//! The figure of merit is |W₁ − W| / W₁ over test pairs. A relative error means nothing where W₁ is
//! nearly 0, so pairs below 10⁻⁴ of the diameter are left out and counted, as the authors of \[CTW24\]
//! do. The two null baselines know almost nothing about the geometry; they belong in every table.

use std::fmt;

use treeport::{Measure, Measures};

/// Pairs with W₁ below this fraction of the diameter are left out.
pub const LEAST_LABEL: f64 = 1e-4;

/// Relative errors over many pairs, in a few numbers; all are NaN if no pair is left.
///
/// Displays as `0.104 ± 0.074`: mean and standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Score {
    /// Mean relative error.
    pub mean: f64,
    /// Standard deviation over the pairs (divided by their number).
    pub std: f64,
    /// Median relative error.
    pub median: f64,
    /// Largest relative error.
    pub max: f64,
    /// Pairs that counted.
    pub pairs: usize,
    /// Pairs left out because W₁ was nearly 0.
    pub left_out: usize,
}

impl Score {
    /// The score of predictions for pairs whose exact distances are known.
    ///
    /// # Panics
    /// If the two lists differ in length.
    ///
    /// # Example
    /// ```
    /// let score = treeport_report::score::Score::new(&[1.1, 1.8, 5.0], &[1.0, 2.0, 0.0], 10.0);
    /// assert_eq!(score.to_string(), "0.100 ± 0.000");
    /// assert_eq!((score.pairs, score.left_out), (2, 1));
    /// ```
    pub fn new(predicted: &[f64], exact: &[f64], diameter: f64) -> Self {
        let errors = relative_errors(predicted, exact, diameter);
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

/// |W₁ − W| / W₁ of every pair whose W₁ is above 0 and at least 10⁻⁴ of the diameter.
///
/// # Panics
/// If the two lists differ in length.
pub fn relative_errors(predicted: &[f64], exact: &[f64], diameter: f64) -> Vec<f64> {
    assert_eq!(predicted.len(), exact.len(), "one prediction for every exact distance");
    let kept =
        predicted.iter().zip(exact).filter(|&(_, &w)| w > 0.0 && w >= LEAST_LABEL * diameter);
    kept.map(|(p, w)| (w - p).abs() / w).collect()
}

/// The middle value, or the mean of the two in the middle; NaN if there are none.
pub fn median(values: &[f64]) -> f64 {
    if values.is_empty() {
        return f64::NAN;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[half] } else { f64::midpoint(sorted[half - 1], sorted[half]) }
}

/// The factor that brings predictions to the labels: the median of label / prediction.
///
/// Pairs predicted at 0 say nothing about it and are left out; 1 if no pair is left.
///
/// # Panics
/// If the two lists differ in length.
pub fn median_ratio(labels: &[f64], predictions: &[f64]) -> f64 {
    assert_eq!(labels.len(), predictions.len(), "one prediction for every label");
    let kept = labels.iter().zip(predictions).filter(|&(_, &p)| p > 0.0);
    let ratios: Vec<f64> = kept.map(|(label, p)| label / p).collect();
    if ratios.is_empty() { 1.0 } else { median(&ratios) }
}

/// Null baseline: predict the mean of the training labels for every pair; NaN without labels.
pub fn mean_label(train_labels: &[f64]) -> f64 {
    train_labels.iter().sum::<f64>() / train_labels.len() as f64
}

/// Null baseline: the c in "predict c times the total variation", from training pairs.
///
/// The ground metric that sees all points equally far apart makes W₁ exactly that.
///
/// # Errors
/// A measure that does not exist.
///
/// # Panics
/// If there is not one label for every pair.
pub fn total_variation_scale(
    measures: &Measures,
    train_pairs: &[(usize, usize)],
    train_labels: &[f64],
) -> treeport::Result<f64> {
    Ok(median_ratio(train_labels, &total_variations(measures, train_pairs)?))
}

/// The total variation of every pair.
///
/// # Errors
/// A measure that does not exist.
pub fn total_variations(
    measures: &Measures,
    pairs: &[(usize, usize)],
) -> treeport::Result<Vec<f64>> {
    pairs.iter().map(|&(i, j)| Ok(total_variation(measures.get(i)?, measures.get(j)?))).collect()
}

/// Half the sum of |a(x) − b(x)|: the mass that has to move at all. O(support).
pub fn total_variation(a: Measure<'_>, b: Measure<'_>) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    let (p, q) = (a.points(), b.points());
    while i < p.len() || j < q.len() {
        // A list that has ended waits behind every point.
        let (x, y) = (p.get(i).copied().unwrap_or(u32::MAX), q.get(j).copied().unwrap_or(u32::MAX));
        let here = if x <= y { a.masses()[i] } else { 0.0 };
        let there = if y <= x { b.masses()[j] } else { 0.0 };
        sum += (here - there).abs();
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    sum / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Random, random_pairs, seeded};
    use rand::RngExt;
    use rand::seq::index;
    use treeport::{GroundMetric, exact, silent};

    /// Equal masses on random subsets of all sizes.
    fn subset_measures(points: usize, count: usize, rng: &mut Random) -> Measures {
        let rows = (0..count).map(|_| {
            let size = rng.random_range(1..=points);
            index::sample(rng, points, size).into_iter().map(|p| (p, 1.0)).collect::<Vec<_>>()
        });
        Measures::from_rows(points, rows).expect("points").normalized()
    }

    #[test]
    fn score_of_known_errors() {
        let score = Score::new(&[1.0, 3.0, 2.0, 9.0], &[2.0, 2.0, 2.0, 0.0005], 10.0);
        assert_eq!((score.pairs, score.left_out), (3, 1));
        assert!((score.mean - 1.0 / 3.0).abs() < 1e-15);
        assert!((score.std - (1.0f64 / 18.0).sqrt()).abs() < 1e-15);
        assert_eq!((score.median, score.max), (0.5, 0.5));
        assert_eq!(score.to_string(), "0.333 ± 0.236");
    }

    #[test]
    fn nothing_left_is_not_a_good_score() {
        let score = Score::new(&[1.0], &[0.0], 0.0);
        assert!(score.mean.is_nan() && score.median.is_nan() && score.max.is_nan());
        assert_eq!(score.left_out, 1);
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
        assert_eq!(median_ratio(&[2.0, 4.0, 9.0], &[1.0, 2.0, 0.0]), 2.0);
        assert_eq!(median_ratio(&[1.0], &[0.0]), 1.0);
        assert_eq!(mean_label(&[1.0, 3.0]), 2.0);
    }

    #[test]
    fn total_variation_agrees_with_dense_rows() {
        let measures = subset_measures(15, 20, &mut seeded(0));
        let dense = |r: usize| {
            let mut row = [0.0; 15];
            measures.row(r).iter().for_each(|(p, mass)| row[p] = mass);
            row
        };
        for (i, j) in random_pairs(100, 20, &mut seeded(1)).expect("20 measures") {
            let judge: f64 = dense(i).iter().zip(dense(j)).map(|(a, b)| (a - b).abs()).sum();
            let found = total_variation(measures.row(i), measures.row(j));
            assert!((found - judge / 2.0).abs() < 1e-14);
        }
        assert_eq!(total_variation(measures.row(0), measures.row(0)), 0.0);
    }

    #[test]
    fn equal_distances_make_total_variation_exact() {
        let measures = subset_measures(8, 10, &mut seeded(3));
        let pairs = random_pairs(20, 10, &mut seeded(4)).expect("10 measures");
        let metric = GroundMetric::from_condensed(8, vec![7.0; 28]).expect("distances");
        let labels = exact::pairs(&metric, &measures, &pairs, &silent).expect("a metric");
        let scale = total_variation_scale(&measures, &pairs, &labels).expect("good pairs");
        assert!((scale - 7.0).abs() < 1e-12);
        let predicted: Vec<f64> = total_variations(&measures, &pairs)
            .expect("good pairs")
            .iter()
            .map(|tv| scale * tv)
            .collect();
        assert!(Score::new(&predicted, &labels, 7.0).max < 1e-12);
        assert!(total_variation_scale(&measures, &[(0, 99)], &[1.0]).is_err());
    }
}
