//! Measures with exact distances of some of their pairs, for fitting models and scoring them.

pub mod score;

use std::time::{Duration, Instant};

use rand::seq::{SliceRandom, index};

use crate::error::{Error, Result};
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::metric::GroundMetric;
use crate::metric::condensed::{pair_number, pairs_of};
use crate::numeric::seed::{Random, generator};
use crate::progress::Progress;
use crate::solve::Problems;
use crate::tree::surpluses;
use score::Score;

/// Default number of pairs to label.
pub const DEFAULT_PAIRS: usize = 300;

/// Largest number of pairs that [`pairs_within`] returns: more pairs do not improve a tree, and
/// learning from them takes longer than solving them.
pub const MOST_PAIRS: usize = 10_000;
/// Number of pairs that suffices to measure the time of one.
pub const TRIED_PAIRS: usize = 1_000;

/// Measures with the exact transport distances (labels) of some of their pairs.
///
/// Every pair names two measures of equal mass, and every distance is finite and at least 0. Clones
/// share the measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Labeled {
    measures: Measures,
    pairs: Vec<(usize, usize)>,
    distances: Vec<f64>,
}

/// Scores of predictions against labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Score of the predictions themselves.
    pub plain: Score,
    /// Score after scaling; the factor of each half of the pairs is fitted to the other.
    pub scaled: Score,
    /// Factor fitted to all pairs.
    pub factor: f64,
}

/// A prediction without the ground metric, with its score: a baseline that a model has to beat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullBaseline {
    /// Name of the prediction.
    pub name: &'static str,
    /// Constant of the prediction, fitted to all pairs.
    pub constant: f64,
    /// Score of the prediction; the constant of each half of the pairs is fitted to the other.
    pub score: Score,
}

impl Labeled {
    /// Creates labels from measures, pairs of them, and the distance of each pair.
    ///
    /// # Errors
    /// No pairs; a number of distances other than the number of pairs; a measure that does not
    /// exist; two measures of unequal mass; a distance that is negative or not finite.
    ///
    /// # Example
    /// ```
    /// use treeport::{Labeled, Measures};
    /// let measures = Measures::unit_masses(2, [0, 1])?;
    /// let data = Labeled::new(&measures, vec![(0, 1)], vec![3.0])?;
    /// assert_eq!((data.len(), data.distances()), (1, &[3.0][..]));
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn new(
        measures: &Measures,
        pairs: Vec<(usize, usize)>,
        distances: Vec<f64>,
    ) -> Result<Self> {
        if pairs.len() != distances.len() {
            return Err(Error::Shape {
                what: "the list of exact distances".into(),
                expected: format!("({},)", pairs.len()),
                found: format!("({},)", distances.len()),
            });
        }
        check_some(&pairs)?;
        Self::new_or_empty(measures, pairs, distances)
    }

    /// Creates labels as [`new`](Self::new) does, for a part of a split, which may be empty.
    pub(crate) fn new_or_empty(
        measures: &Measures,
        pairs: Vec<(usize, usize)>,
        distances: Vec<f64>,
    ) -> Result<Self> {
        measures.check_pairs(&pairs)?;
        for (label, (&(left, right), &value)) in pairs.iter().zip(&distances).enumerate() {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::BadLabel { label, left, right, value });
            }
        }
        Ok(Self { measures: measures.clone(), pairs, distances })
    }

    /// Computes the exact distances of the given pairs; `progress` counts pairs.
    pub fn solve(
        metric: &GroundMetric,
        measures: &Measures,
        pairs: Vec<(usize, usize)>,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        // Unconditional, so that the bits of labels do not depend on earlier calls.
        metric.prepare(progress)?;
        let distances = Problems::new(metric, measures, &pairs).values(progress)?;
        Self::new(measures, pairs, distances)
    }

    /// Draws random pairs of measures ([`sample_pairs`]) and computes their exact distances;
    /// `progress` counts pairs.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Labeled, Measures, PointMetric, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(3, [0, 1, 2])?;
    /// let data = Labeled::sample(&metric, &measures, 100, 0, &silent)?;
    /// assert_eq!(data.len(), 3); // there are no more pairs
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn sample(
        metric: &GroundMetric,
        measures: &Measures,
        count: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let pairs = sample_pairs(count, measures.len(), seed)?;
        Self::solve(metric, measures, pairs, progress)
    }

    /// Creates labels without a solver: the transport distance of unit masses at two points is the
    /// distance of the points.
    ///
    /// Labels are all pairs of points, or `count` of them drawn at random without repetition.
    pub fn of_points(metric: &GroundMetric, count: usize, seed: u64) -> Result<Self> {
        let n = metric.points();
        if n < 2 {
            return Err(Error::NothingToLearn { what: "there is only one point".into() });
        }
        let all = pairs_of(n);
        check_pairs_fit(count.min(all))?;
        let mut places = if count >= all {
            (0..all).collect()
        } else {
            index::sample(&mut generator(seed), all, count.max(1)).into_vec()
        };
        // In the order of the first point: all pairs that share it need one search of a graph.
        places.sort_unstable();
        let pair = |place| {
            let (i, j) = pair_number(place);
            (j, i)
        };
        let pairs: Vec<(usize, usize)> = places.into_iter().map(pair).collect();
        let distances = metric.pairs(&pairs);
        Ok(Self { measures: Measures::unit_masses(n, 0..n)?, pairs, distances })
    }

    /// Returns the measures.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// Returns the two measures of each label.
    pub fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs
    }

    /// Returns the distance of each pair.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// Returns the number of labels.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are no labels; only a part of a split can be empty.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns whether no label is above 0, so that they determine no scale.
    pub fn is_all_zero(&self) -> bool {
        self.distances.iter().all(|d| *d == 0.0)
    }

    /// Returns an error if all labels are 0.
    pub(crate) fn check_above_zero(&self) -> Result<()> {
        let what = || "no exact distance is above 0".to_owned();
        if self.is_all_zero() { Err(Error::NothingToLearn { what: what() }) } else { Ok(()) }
    }

    /// Checks that there are labels, and that their measures are on this number of points.
    pub(crate) fn check_for(&self, points: usize) -> Result<()> {
        check_some(&self.pairs)?;
        self.measures.check_points(points)
    }

    /// Splits the labels at random into two parts, each in the original order; the second has the
    /// given share. The first is empty only if there are no labels.
    ///
    /// Where measures occur in many pairs, the second part holds all pairs of some measures (except
    /// the last of these), so that one measure of each of its pairs is not in the first part. Pairs
    /// drawn independently would share both measures with the first part, and their score would be
    /// too good. With 10,000 labels between 2,000 tweets, trees chosen by such pairs have an error
    /// of 0.020 on new tweets instead of 0.018; with 1,500 between 100 measures on a map, of 0.071
    /// instead of 0.067. Where measures are few, or in few pairs, the difference is noise.
    #[must_use]
    pub fn split(&self, share: f64, seed: u64) -> (Self, Self) {
        self.split_by(share, &mut generator(seed))
    }

    /// Returns the number of labels in a share of them, at most all but one.
    pub(crate) fn held_back(&self, share: f64) -> usize {
        ((self.len() as f64 * share).round() as usize).min(self.len().saturating_sub(1))
    }

    /// Splits the labels as [`split`](Self::split) does, with a given generator.
    pub(crate) fn split_by(&self, share: f64, rng: &mut Random) -> (Self, Self) {
        let held_back = self.held_back(share);
        let mut order: Vec<usize> = (0..self.len()).collect();
        order.shuffle(rng);
        if self.measures_are_in_many_pairs() {
            let mut turn: Vec<usize> = (0..self.measures.len()).collect();
            turn.shuffle(rng);
            order.sort_by_key(|&label| {
                let (i, j) = self.pairs[label];
                turn[i].min(turn[j])
            });
        }
        let (second, first) = order.split_at_mut(held_back);
        first.sort_unstable();
        second.sort_unstable();
        (self.at(first), self.at(second))
    }

    /// Returns whether at least a hundred measures are in pairs, in eight or more on average.
    fn measures_are_in_many_pairs(&self) -> bool {
        let mut used = vec![false; self.measures.len()];
        self.pairs.iter().for_each(|&(i, j)| (used[i], used[j]) = (true, true));
        let used = used.into_iter().filter(|used| *used).count();
        used >= 100 && self.len() >= 4 * used
    }

    /// Splits the labels into the first `place` ones and the rest.
    ///
    /// # Panics
    /// If there are fewer labels.
    #[must_use]
    pub fn split_at(&self, place: usize) -> (Self, Self) {
        let all: Vec<usize> = (0..self.len()).collect();
        let (first, second) = all.split_at(place);
        (self.at(first), self.at(second))
    }

    /// Returns at most `count` of the labels, evenly spaced.
    pub(crate) fn some(&self, count: usize) -> Self {
        let (all, count) = (self.len(), count.min(self.len()));
        self.at(&(0..count).map(|k| k * all / count).collect::<Vec<_>>())
    }

    /// Selects the labels at the given indices.
    fn at(&self, places: &[usize]) -> Self {
        Self {
            measures: self.measures.clone(),
            pairs: places.iter().map(|&p| self.pairs[p]).collect(),
            distances: places.iter().map(|&p| self.distances[p]).collect(),
        }
    }

    /// Concatenates two sets of measures and their labels.
    pub fn and(&self, other: &Self) -> Result<Self> {
        let first = self.measures.len();
        let later = other.pairs.iter().map(|&(i, j)| (first + i, first + j));
        Ok(Self {
            measures: self.measures.followed_by(&other.measures)?,
            pairs: self.pairs.iter().copied().chain(later).collect(),
            distances: [&self.distances[..], &other.distances].concat(),
        })
    }

    /// Returns the labels with distances and masses divided by the given powers of two.
    pub(crate) fn in_units(&self, distance: f64, mass: f64) -> Self {
        Self {
            measures: self.measures.divided_by(mass),
            pairs: self.pairs.clone(),
            distances: self.distances.iter().map(|d| d / distance).collect(),
        }
    }

    /// Computes the score of predictions for the pairs.
    ///
    /// # Panics
    /// If the number of predictions is not the number of pairs.
    pub fn score(&self, predicted: &[f64]) -> Score {
        Score::new(predicted, &self.distances)
    }

    /// Computes the factor that scales predictions for the pairs to the labels ([`score::factor`]).
    ///
    /// # Panics
    /// If the number of predictions is not the number of pairs.
    pub fn factor(&self, predicted: &[f64]) -> f64 {
        score::factor(predicted, &self.distances)
    }

    /// Computes the scores of predictions for the pairs, without and with one factor.
    ///
    /// # Panics
    /// If the number of predictions is not the number of pairs.
    pub fn judge(&self, predicted: &[f64]) -> Judged {
        Judged {
            plain: self.score(predicted),
            scaled: self.score(&self.cross_fitted(predicted, score::factor)),
            factor: self.factor(predicted),
        }
    }

    /// Returns two baselines: the mean label, and a constant times the total variation.
    pub fn null_baselines(&self) -> [NullBaseline; 2] {
        let mean = |_: &[f64], labels: &[f64]| labels.iter().sum::<f64>() / labels.len() as f64;
        let ones = vec![1.0; self.len()];
        let row = |r: usize| self.measures.row(r);
        let variations: Vec<f64> =
            self.pairs.iter().map(|&(i, j)| total_variation(&row(i), &row(j))).collect();
        [
            NullBaseline {
                name: "mean label",
                constant: mean(&ones, &self.distances),
                score: self.score(&self.cross_fitted(&ones, mean)),
            },
            NullBaseline {
                name: "constant × total variation",
                constant: self.factor(&variations),
                score: self.score(&self.cross_fitted(&variations, score::factor)),
            },
        ]
    }

    /// Multiplies the predictions of each half by the factor that `fit` finds on the other half.
    fn cross_fitted(&self, predicted: &[f64], fit: impl Fn(&[f64], &[f64]) -> f64) -> Vec<f64> {
        let half = self.len() / 2;
        let (first, second) = predicted.split_at(half);
        let (first_labels, second_labels) = self.distances.split_at(half);
        let for_first = fit(second, second_labels);
        // A single pair has no other half.
        let for_second = if half == 0 { for_first } else { fit(first, first_labels) };
        let first = first.iter().map(|p| p * for_first);
        first.chain(second.iter().map(|p| p * for_second)).collect()
    }
}

fn check_some(pairs: &[(usize, usize)]) -> Result<()> {
    if pairs.is_empty() {
        return Err(Error::NothingToLearn { what: "there are no exact distances".into() });
    }
    Ok(())
}

/// Computes half the sum of |a(x) − b(x)|, the mass that has to move, in O(support).
pub fn total_variation(a: &Measure<'_>, b: &Measure<'_>) -> f64 {
    surpluses(a, b).map(|(_, surplus)| surplus.abs()).sum::<f64>() / 2.0
}

/// Draws `count` different pairs i < j of `measures` measures, in random order, or all pairs if
/// there are fewer.
///
/// The command line and Python use it to draw the labels of `fit`, `exact` and tests
/// ([`test_seed`]).
pub fn sample_pairs(count: usize, measures: usize, seed: u64) -> Result<Vec<(usize, usize)>> {
    if measures < 2 {
        return Err(Error::BadOption {
            option: "the number of measures",
            value: measures.to_string(),
            expected: "a pair needs two of them",
        });
    }
    let all = pairs_of(measures);
    check_pairs_fit(count.min(all))?;
    let drawn = index::sample(&mut generator(seed), all, count.min(all));
    Ok(drawn.into_iter().map(pair_number).collect())
}

/// Returns how many pairs like `tried` can be solved in about `time`, from 1 to [`MOST_PAIRS`].
///
/// The clock affects this number alone: [`Labeled::sample`] of as many pairs gives the same labels
/// on any machine. The estimate solves some of `tried`, for at most about a fifth of the time or as
/// long as the first few take; it does not count one-time preparation.
///
/// # Errors
/// `time` is zero; see also [`Labeled::solve`].
pub fn pairs_within(
    time: Duration,
    metric: &GroundMetric,
    measures: &Measures,
    tried: &[(usize, usize)],
    progress: &Progress<'_>,
) -> Result<usize> {
    if time.is_zero() {
        let (option, value) = ("budget", "0".into());
        return Err(Error::BadOption { option, value, expected: "some time is needed" });
    }
    check_some(tried)?;
    metric.prepare(progress)?;
    let (begun, mut rest, mut each) = (Instant::now(), tried, 0.0);
    let mut size = rayon::current_num_threads();
    // Chunks double, so the last one is the best estimate of the time per pair.
    while !rest.is_empty() && (each == 0.0 || begun.elapsed() < time / 10) {
        let (chunk, others) = rest.split_at(size.min(rest.len()));
        let chunk_begun = Instant::now();
        Problems::new(metric, measures, chunk).values(progress)?;
        each = chunk_begun.elapsed().as_secs_f64().max(1e-9) / chunk.len() as f64;
        (rest, size) = (others, 2 * size);
    }
    let left = time.saturating_sub(begun.elapsed()).as_secs_f64();
    Ok(((left / each) as usize).clamp(1, MOST_PAIRS.min(pairs_of(measures.len()).max(1))))
}

/// Checks that a list of pairs fits into memory: an index, two ends, a distance and a copy each.
fn check_pairs_fit(count: usize) -> Result<()> {
    let step = format_args!("a list of {count} pairs");
    memory::check(step, memory::size_of::<[u64; 5]>(&[count]), "ask for fewer pairs")
}

/// Returns the seed of test pairs for a model fitted with `seed`. With few measures, some test
/// pairs are also training pairs; for an unbiased test, hold out measures.
pub fn test_seed(seed: u64) -> u64 {
    seed ^ 0x7465_7374
}
