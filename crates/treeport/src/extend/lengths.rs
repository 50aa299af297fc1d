//! Labels for the edges of new points, and the fit to them.

use rand::seq::{SliceRandom, index};

use super::Extension;
use crate::error::Result;
use crate::fit::fit_new_edges;
use crate::labeled::Labeled;
use crate::measures::Measures;
use crate::metric::GroundMetric;
use crate::metric::condensed::{pair_number, pairs_of};
use crate::model::Model;
use crate::numeric::seed::{Random, generator, mixed};
use crate::progress::Progress;
use crate::tree::Tree;

/// Smallest number of random pairs of each kind.
const LEAST_PAIRS: usize = 96;

/// Smallest mean number of pairs in which a new point is drawn.
const TIMES_DRAWN: usize = 4;

/// Largest support of a random measure.
const MOST_SUPPORT: usize = 128;

/// Largest number of pairs of given measures.
const MOST_PAIRS: usize = 500;

/// Largest sum of products of support sizes over these pairs: a second or two of solving.
const MOST_WORK: usize = 20_000_000;

/// Number of pairs of given measures that are solved regardless of their size.
const FEWEST_PAIRS: usize = 24;

/// Largest number of repetitions of a label between two new measures.
const MOST_REPEATS: usize = 12;

/// Fits the new edges of the `larger` model.
pub(super) fn fitted(
    model: &Model,
    larger: &Model,
    metric: &GroundMetric,
    extension: &Extension,
    progress: &Progress<'_>,
) -> Result<Vec<Tree>> {
    let old = model.points();
    let data = match &extension.measures {
        Some(measures) => given(measures, old, metric, extension.seed, progress)?,
        None => drawn(larger, old, metric, extension, progress)?,
    };
    match data {
        Some(data) => fit_new_edges(larger.trees(), model.weights(), old, &data, progress),
        None => Ok(larger.trees().to_vec()),
    }
}

/// Computes exact distances of given measures on new points to each other and to the others.
fn given(
    measures: &Measures,
    old: usize,
    metric: &GroundMetric,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Option<Labeled>> {
    let is_new =
        |row: usize| measures.row(row).support().iter().any(|&point| point as usize >= old);
    let (new, others): (Vec<usize>, Vec<usize>) = (0..measures.len()).partition(|&row| is_new(row));
    let rng = &mut generator(seed);
    // Half of the pairs between two new measures, if there are enough.
    let among = among(new.len(), MOST_PAIRS / 2, rng).map(|(i, j)| (new[i], new[j]));
    let across =
        across(new.len(), others.len(), MOST_PAIRS / 2, rng).map(|(i, j)| (new[i], others[j]));
    let mut pairs: Vec<(usize, usize)> = among.chain(across).collect();
    pairs.shuffle(rng);
    let size = |row: usize| measures.row(row).support().len();
    let mut work = 0;
    let affordable = pairs.iter().take_while(|&&(i, j)| {
        work += size(i) * size(j);
        work <= MOST_WORK
    });
    let count = affordable.count().max(FEWEST_PAIRS);
    pairs.truncate(count);
    if pairs.is_empty() {
        return Ok(None);
    }
    let data = Labeled::solve(metric, measures, pairs, progress)?;
    balanced(&data, is_new).map(Some)
}

/// Repeats the labels of two new measures, at most [`MOST_REPEATS`] times, until they are a third
/// of all labels.
fn balanced(data: &Labeled, is_new: impl Fn(usize) -> bool) -> Result<Labeled> {
    let is_among = |&p: &usize| is_new(data.pairs()[p].0) && is_new(data.pairs()[p].1);
    let among: Vec<usize> = (0..data.len()).filter(is_among).collect();
    let wanted = (data.len() - among.len()) / 2;
    let repeats = (wanted / among.len().max(1)).min(MOST_REPEATS).saturating_sub(1);
    let order: Vec<usize> =
        (0..data.len()).chain(std::iter::repeat_n(among, repeats).flatten()).collect();
    let pairs = order.iter().map(|&p| data.pairs()[p]).collect();
    Labeled::new(data.measures(), pairs, order.iter().map(|&p| data.distances()[p]).collect())
}

/// Draws at most `most` pairs i < j of numbers below `n`.
fn among(n: usize, most: usize, rng: &mut Random) -> impl Iterator<Item = (usize, usize)> + use<> {
    let all = pairs_of(n);
    index::sample(rng, all, all.min(most)).into_iter().map(pair_number)
}

/// Draws at most `most` pairs of a number below `n` and one below `m`.
fn across(
    n: usize,
    m: usize,
    most: usize,
    rng: &mut Random,
) -> impl Iterator<Item = (usize, usize)> + use<> {
    index::sample(rng, n * m, (n * m).min(most)).into_iter().map(move |k| (k / m, k % m))
}

/// Draws measures of the requested size, and smaller ones entirely on new points.
fn drawn(
    larger: &Model,
    old: usize,
    metric: &GroundMetric,
    extension: &Extension,
    progress: &Progress<'_>,
) -> Result<Option<Labeled>> {
    let half = (metric.points() - old) / 2;
    let size = extension.support.clamp(1, MOST_SUPPORT).min(old / 2);
    if size == 0 {
        return Ok(None);
    }
    let data = drawn_at(size, larger, old, metric, extension.seed, progress)?;
    if half == 0 || half >= size {
        return Ok(Some(data));
    }
    let smaller = drawn_at(half, larger, old, metric, mixed(extension.seed, 1), progress)?;
    data.and(&smaller).map(Some)
}

/// Draws pairs of measures with equal masses at `size` random points: new points on both sides, or
/// new against old points. Old points fill up where there are too few new ones. Labels are exact
/// distances times the factor of `larger` for such measures on old points.
fn drawn_at(
    size: usize,
    larger: &Model,
    old: usize,
    metric: &GroundMetric,
    seed: u64,
    progress: &Progress<'_>,
) -> Result<Labeled> {
    let new = metric.points() - old;
    let mut draw = Draw { old, new, size, rng: generator(seed) };
    let on_old = draw.labeled(metric, &[(LEAST_PAIRS, [0, 0])], progress)?;
    let found = larger.pairs(on_old.measures(), on_old.pairs(), progress)?;
    let scale = on_old.factor(&found).recip();
    let count = LEAST_PAIRS.max((TIMES_DRAWN * new).div_ceil(size));
    let kinds =
        [(count, [size.min(new.div_ceil(2)), size.min(new / 2)]), (count, [size.min(new), 0])];
    let data = draw.labeled(metric, &kinds, progress)?;
    let labels = data.distances().iter().map(|d| scale * d).collect();
    Labeled::new(data.measures(), data.pairs().to_vec(), labels)
}

/// Generator of random measures of one size.
struct Draw {
    old: usize,
    new: usize,
    size: usize,
    rng: Random,
}

impl Draw {
    /// Draws pairs of each kind, by the new points on each side, and solves their distances.
    fn labeled(
        &mut self,
        metric: &GroundMetric,
        kinds: &[(usize, [usize; 2])],
        progress: &Progress<'_>,
    ) -> Result<Labeled> {
        let pairs = kinds.iter().flat_map(|&(count, kind)| std::iter::repeat_n(kind, count));
        let rows: Vec<Vec<usize>> = pairs.flat_map(|kind| self.pair(kind)).collect();
        let mass = 1.0 / self.size as f64;
        let entries = rows.iter().map(|row| row.iter().map(|&point| (point, mass)));
        let measures = Measures::from_rows(self.old + self.new, entries)?;
        let pairs = (0..rows.len() / 2).map(|k| (2 * k, 2 * k + 1)).collect();
        Labeled::solve(metric, &measures, pairs, progress)
    }

    /// Draws the points of two disjoint measures.
    fn pair(&mut self, new: [usize; 2]) -> [Vec<usize>; 2] {
        let mut of_new = index::sample(&mut self.rng, self.new, new[0] + new[1]).into_iter();
        let needed = 2 * self.size - new[0] - new[1];
        let mut of_old = index::sample(&mut self.rng, self.old, needed).into_iter();
        new.map(|count| {
            let first = of_new.by_ref().take(count).map(|point| self.old + point);
            let mut points: Vec<usize> = first.collect();
            points.extend(of_old.by_ref().take(self.size - count));
            points
        })
    }
}
