//! What is learned from: pairs of measures and their distances.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::metric::GroundMetric;

/// Pairs of measures with their exact transport distances.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels {
    /// The two measures of each label.
    pub pairs: Vec<(usize, usize)>,
    /// Their distance, finite and at least 0.
    pub distances: Vec<f64>,
}

impl Labels {
    /// Checks that every label names two measures of equal mass and has a distance.
    pub(crate) fn check(&self, measures: &Measures) -> Result<()> {
        if self.pairs.len() != self.distances.len() {
            return Err(Error::Shape {
                what: "the list of label distances".into(),
                expected: format!("({},)", self.pairs.len()),
                found: format!("({},)", self.distances.len()),
            });
        }
        measures.check_pairs(&self.pairs)?;
        for (label, (&(left, right), &value)) in self.pairs.iter().zip(&self.distances).enumerate()
        {
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::BadLabel { label, left, right, value });
            }
        }
        Ok(())
    }

    /// The labels at the given places.
    pub(crate) fn at(&self, places: &[usize]) -> Self {
        Self {
            pairs: places.iter().map(|&p| self.pairs[p]).collect(),
            distances: places.iter().map(|&p| self.distances[p]).collect(),
        }
    }
}

/// Free labels: unit masses at points, whose transport distance is the distance of the points.
///
/// All pairs of points, or `count` of them drawn at random without repeats.
///
/// # Errors
/// Fewer than two points.
pub fn point_labels(metric: &GroundMetric, count: usize, seed: u64) -> Result<(Measures, Labels)> {
    let n = metric.points();
    if n < 2 {
        return Err(Error::NothingToLearn { what: "there is only one point".into() });
    }
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let all = n * (n - 1) / 2;
    let mut places = if count >= all {
        (0..all).collect()
    } else {
        rand::seq::index::sample(&mut rng, all, count).into_vec()
    };
    // Sorted by the first point, which is one search of a graph for all pairs that share it.
    places.sort_unstable();
    let pairs: Vec<(usize, usize)> = places.into_iter().map(pair_at).collect();
    let distances = metric.pairs(&pairs);
    Ok((Measures::unit_masses(n, 0..n)?, Labels { pairs, distances }))
}

/// The pair at a place in the order (1,0), (2,0), (2,1), (3,0), …
fn pair_at(place: usize) -> (usize, usize) {
    // i(i−1)/2 ≤ place < i(i+1)/2; the float guess is off by one at most.
    let mut i = f64::midpoint(1.0, (1.0 + 8.0 * place as f64).sqrt()) as usize;
    while i * (i - 1) / 2 > place {
        i -= 1;
    }
    while i * (i + 1) / 2 <= place {
        i += 1;
    }
    (i, place - i * (i - 1) / 2)
}

/// Training and validation labels, drawn at random, each in input order.
pub(crate) fn split(
    labels: &Labels,
    share: f64,
    rng: &mut Xoshiro256PlusPlus,
) -> Result<(Labels, Labels)> {
    let count = labels.pairs.len();
    if count == 0 {
        return Err(Error::NothingToLearn { what: "there are no labels".into() });
    }
    let held_out = ((count as f64 * share).round() as usize).min(count - 1);
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(rng);
    let (validation, train) = order.split_at_mut(held_out);
    validation.sort_unstable();
    train.sort_unstable();
    Ok((labels.at(train), labels.at(validation)))
}
