//! Measures with exact distances between some of them, for learning and for judging.

use std::time::{Duration, Instant};

use rand::seq::{SliceRandom, index};

use crate::condensed::{pair_number, pairs_of};
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::Progress;
use crate::score::{self, Score};
use crate::seed::{Random, generator};
use crate::solve::Problems;
use crate::tree::surpluses;

/// Default number of labelled pairs.
pub const DEFAULT_PAIRS: usize = 300;

/// The most pairs that [`pairs_within`] returns: more do not improve a tree, and learning from them
/// takes longer than solving them.
pub const MOST_PAIRS: usize = 10_000;
/// Pairs that suffice to measure the time of one.
pub const TRIED_PAIRS: usize = 1_000;

/// Measures with the transport distances of some pairs of them.
///
/// Every pair names two measures of equal mass, and every distance is finite and at least 0. Copies
/// share the measures.
#[derive(Clone, Debug, PartialEq)]
pub struct Labelled {
    measures: Measures,
    pairs: Vec<(usize, usize)>,
    distances: Vec<f64>,
}

/// The scores of predictions against labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Judged {
    /// Of the predictions without a factor.
    pub plain: Score,
    /// After one factor; that of each half of the pairs is fitted to the other half.
    pub scaled: Score,
    /// The factor fitted to all pairs.
    pub factor: f64,
}

/// A prediction that does not use the ground metric, and its score, which a model has to beat.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NullBaseline {
    /// The name of the prediction.
    pub name: &'static str,
    /// Its constant, fitted to all pairs.
    pub constant: f64,
    /// Its score; the constant of each half of the pairs is fitted to the other half.
    pub score: Score,
}

impl Labelled {
    /// Measures, pairs of them, and the distance of each pair.
    ///
    /// # Errors
    /// No pairs, not one distance for each, a measure that does not exist, two measures of unequal
    /// mass, or a distance that is negative or not finite.
    ///
    /// # Example
    /// ```
    /// use treeport::{Labelled, Measures};
    /// let measures = Measures::unit_masses(2, [0, 1])?;
    /// let data = Labelled::new(&measures, vec![(0, 1)], vec![3.0])?;
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

    /// [`new`](Self::new) for a part of a split, which may be empty.
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

    /// The exact distances of some pairs; `progress` counts pairs.
    ///
    /// # Errors
    /// As [`Problems::values`], and no pairs.
    pub fn solve(
        metric: &GroundMetric,
        measures: &Measures,
        pairs: Vec<(usize, usize)>,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        // Always, so that the bits of labels do not depend on earlier calls.
        metric.prepare(progress)?;
        let distances = Problems::new(metric, measures, &pairs).values(progress)?;
        Self::new(measures, pairs, distances)
    }

    /// Random pairs of measures ([`sample_pairs`]) with their exact distances; `progress` counts
    /// pairs.
    ///
    /// # Errors
    /// As [`Labelled::solve`]; fewer than two measures.
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Labelled, Measures, PointMetric, silent};
    /// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(3, [0, 1, 2])?;
    /// let data = Labelled::sample(&metric, &measures, 100, 0, &silent)?;
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

    /// Labels without a solver: the transport distance of unit masses at points is the distance of
    /// the points.
    ///
    /// All pairs of points, or `count` of them drawn at random without repeats.
    ///
    /// # Errors
    /// Fewer than two points.
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
        // Sorted by the first point, which is one search of a graph for all pairs that share it.
        places.sort_unstable();
        let pair = |place| {
            let (i, j) = pair_number(place);
            (j, i)
        };
        let pairs: Vec<(usize, usize)> = places.into_iter().map(pair).collect();
        let distances = metric.pairs(&pairs);
        Ok(Self { measures: Measures::unit_masses(n, 0..n)?, pairs, distances })
    }

    /// The measures.
    pub fn measures(&self) -> &Measures {
        &self.measures
    }

    /// The two measures of each label.
    pub fn pairs(&self) -> &[(usize, usize)] {
        &self.pairs
    }

    /// The distance of each pair.
    pub fn distances(&self) -> &[f64] {
        &self.distances
    }

    /// The number of labels.
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there is no label; only a part of a split can be empty.
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Whether no label is above 0, so that they determine no scale.
    pub fn is_all_zero(&self) -> bool {
        self.distances.iter().all(|d| *d == 0.0)
    }

    /// Refuses labels that are all 0.
    pub(crate) fn check_above_zero(&self) -> Result<()> {
        let what = || "no exact distance is above 0".to_owned();
        if self.is_all_zero() { Err(Error::NothingToLearn { what: what() }) } else { Ok(()) }
    }

    /// Checks that there are labels, on this number of points.
    pub(crate) fn check_for(&self, points: usize) -> Result<()> {
        check_some(&self.pairs)?;
        self.measures.check_points(points)
    }

    /// Two parts of the labels, drawn at random, each in the order they had; the second has the
    /// given share. The first is never empty unless there are no labels.
    ///
    /// Where measures are in many pairs, the second part has all pairs of some measures (but for the
    /// last of these), so that one measure of each pair is not in the first part. Pairs drawn one by
    /// one would be of measures that the first part has too, and their score too good: with 10,000
    /// labels between 2,000 tweets, trees chosen by such pairs err by 0.020 on new tweets instead of
    /// 0.018; with 1,500 between 100 measures on a map, by 0.071 instead of 0.067. Where measures are
    /// few, or in few pairs, the difference is noise.
    #[must_use]
    pub fn split(&self, share: f64, seed: u64) -> (Self, Self) {
        self.split_by(share, &mut generator(seed))
    }

    /// How many of the labels a share of them holds back, so that one is left at least.
    pub(crate) fn held_back(&self, share: f64) -> usize {
        ((self.len() as f64 * share).round() as usize).min(self.len().saturating_sub(1))
    }

    /// [`split`](Self::split) with a given generator.
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

    /// Whether a measure is in eight pairs or more, in the mean of at least a hundred.
    fn measures_are_in_many_pairs(&self) -> bool {
        let mut used = vec![false; self.measures.len()];
        self.pairs.iter().for_each(|&(i, j)| (used[i], used[j]) = (true, true));
        let used = used.into_iter().filter(|used| *used).count();
        used >= 100 && self.len() >= 4 * used
    }

    /// The labels before number `place`, and the others.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn split_at(&self, place: usize) -> (Self, Self) {
        let all: Vec<usize> = (0..self.len()).collect();
        let (first, second) = all.split_at(place);
        (self.at(first), self.at(second))
    }

    /// At most `count` of the labels, evenly spaced.
    pub(crate) fn some(&self, count: usize) -> Self {
        let (all, count) = (self.len(), count.min(self.len()));
        self.at(&(0..count).map(|k| k * all / count).collect::<Vec<_>>())
    }

    /// The labels at the given places.
    fn at(&self, places: &[usize]) -> Self {
        Self {
            measures: self.measures.clone(),
            pairs: places.iter().map(|&p| self.pairs[p]).collect(),
            distances: places.iter().map(|&p| self.distances[p]).collect(),
        }
    }

    /// Both sets of measures in one, with the labels of both.
    ///
    /// # Errors
    /// Measures on another number of points.
    pub fn and(&self, other: &Self) -> Result<Self> {
        let first = self.measures.len();
        let later = other.pairs.iter().map(|&(i, j)| (first + i, first + j));
        Ok(Self {
            measures: self.measures.followed_by(&other.measures)?,
            pairs: self.pairs.iter().copied().chain(later).collect(),
            distances: [&self.distances[..], &other.distances].concat(),
        })
    }

    /// The labels with distances and masses divided by powers of two.
    pub(crate) fn in_units(&self, distance: f64, mass: f64) -> Self {
        Self {
            measures: self.measures.divided_by(mass),
            pairs: self.pairs.clone(),
            distances: self.distances.iter().map(|d| d / distance).collect(),
        }
    }

    /// The score of predictions for the pairs.
    ///
    /// # Panics
    /// If there is not one for every pair.
    pub fn score(&self, predicted: &[f64]) -> Score {
        Score::new(predicted, &self.distances)
    }

    /// The factor that brings predictions for the pairs to the labels: [`score::factor`].
    ///
    /// # Panics
    /// If there is not one for every pair.
    pub fn factor(&self, predicted: &[f64]) -> f64 {
        score::factor(predicted, &self.distances)
    }

    /// The scores of predictions for the pairs, without and with one factor.
    ///
    /// # Panics
    /// If there is not one for every pair.
    pub fn judge(&self, predicted: &[f64]) -> Judged {
        Judged {
            plain: self.score(predicted),
            scaled: self.score(&self.cross_fitted(predicted, score::factor)),
            factor: self.factor(predicted),
        }
    }

    /// Two predictions: the mean label for every pair, and a constant times the total variation.
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

    /// Predictions for each half of the pairs, times the factor that `fit` finds on the other half.
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

/// Half the sum of |a(x) − b(x)|: the mass that has to move. O(support).
pub fn total_variation(a: &Measure<'_>, b: &Measure<'_>) -> f64 {
    surpluses(a, b).map(|(_, surplus)| surplus.abs()).sum::<f64>() / 2.0
}

/// `count` different pairs i < j of so many measures, in random order; all pairs if there are fewer.
///
/// The command line and Python draw the labels of `fit`, `exact` and tests ([`test_seed`]) like this.
///
/// # Errors
/// There are fewer than two measures.
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

/// How many pairs like `tried` can be solved in about that time, from 1 to [`MOST_PAIRS`].
///
/// The clock decides this number and nothing else: [`Labelled::sample`] of as many pairs gives the
/// same labels on any machine. To measure, some of `tried` are solved, for at most about a fifth of
/// the time or as long as the first few take; preparation that happens once does not count.
///
/// # Errors
/// No time; as [`Labelled::solve`].
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
    // Chunks double, so the last one measures the time of a pair best.
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

/// Refuses more pairs than fit: a place, two ends, a distance and a copy each.
fn check_pairs_fit(count: usize) -> Result<()> {
    let step = format_args!("a list of {count} pairs");
    memory::check(step, memory::size_of::<[u64; 5]>(&[count]), "ask for fewer pairs")
}

/// The seed of test pairs for what was fitted with `seed`. With few measures some test pairs are
/// also training pairs: hold out measures for an honest test.
pub fn test_seed(seed: u64) -> u64 {
    seed ^ 0x7465_7374
}
