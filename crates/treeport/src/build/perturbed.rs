//! Forests from a metric: linkages of its distances and of randomly perturbed ones.

use super::linkage::{Linkage, linkage, linkage_of_copy, working_copy};
use super::neighbors::{DistanceNoise, FirstNeighbors, neighbors};
use crate::error::Result;
use crate::labeled::Labeled;
use crate::metric::{GroundMetric, Storage, for_each_row};
use crate::model::forest::Forest;
use crate::numeric::scale;
use crate::numeric::seed::{Random, generator, mixed};
use crate::progress::tasks::BUILDING;
use crate::progress::{Counter, Progress, State};
use crate::tools::option_range::OptionRange;
use crate::tools::parallel;
use crate::tree::Tree;
use rand::RngExt;

/// Options of [`perturbed`].
#[derive(Clone, Debug, PartialEq)]
pub struct PerturbedOptions {
    /// Number of trees.
    pub n_trees: usize,
    /// Linkage of each tree (default: average linkage).
    pub linkage: Linkage,
    /// Noise level, from 0 to 10: distances are multiplied by exp(noise·z), z normal. `None` (the
    /// default) is the standard deviation of the logarithms of distances, but at most 0.7: in high
    /// dimensions all distances are similar, and noise beyond their spread would hide their
    /// differences.
    pub noise: Option<f64>,
    /// Seed of all randomness (default: 0).
    pub seed: u64,
}

impl Default for PerturbedOptions {
    fn default() -> Self {
        Self::DEFAULT
    }
}

impl PerturbedOptions {
    pub(crate) const DEFAULT: Self =
        Self { n_trees: 16, linkage: Linkage::Average, noise: None, seed: 0 };

    pub(crate) fn check(&self) -> Result<()> {
        N_TREES.check("n_trees", self.n_trees as f64)?;
        OptionRange::closed(0.0, MOST_NOISE, "it must be from 0 to 10; try 0.3")
            .check("noise", self.noise.unwrap_or_default())
    }

    /// Returns the noise of one tree, 0 for the first; `None` if no tree has noise.
    fn noise_of(&self, tree: usize, sigma: f64) -> Option<DistanceNoise> {
        let own = if tree == 0 { 0.0 } else { sigma };
        (sigma > 0.0).then(|| DistanceNoise { sigma: own, seed: mixed(self.seed, tree as u64) })
    }
}

/// Valid numbers of trees; the maximum is far above the numbers that still improve a forest.
pub(crate) const N_TREES: OptionRange =
    OptionRange::closed(1.0, 100_000.0, "it must be from 1 to 100,000");

/// Noise level for metrics with a wide spread, chosen on the data sets named here. The figures are
/// mean relative errors of 16 trees after scaling by one factor, with 0.3, 0.7 and 1.2; first of
/// the mean of the trees, then of their merged plans: 0.058, 0.055, 0.061 and 0.029, 0.030, 0.028
/// on distances of 312 cities (spread 0.84); 0.063, 0.060, 0.068 and 0.029, 0.025, 0.024 on the air
/// routes of 332 airports. On 621 words in R³⁰⁰ (spread 0.06) the mean has 0.0078 with 0.05 and
/// 0.0163 with 0.3; without noise 0.0093.
const USUAL_NOISE: f64 = 0.7;

/// Number of point pairs from which the spread is estimated.
const SPREAD_PAIRS: usize = 2_000;

/// Computes the spread of the logarithms of sampled distances, at most [`USUAL_NOISE`].
fn usual_noise(metric: &GroundMetric) -> Result<f64> {
    if metric.points() < 2 {
        return Ok(0.0);
    }
    let data = Labeled::of_points(metric, SPREAD_PAIRS, 0)?;
    // Relative to the largest, so that a power of two as a factor changes no bit.
    let unit = scale::of_largest(data.distances().iter().copied());
    let above = data.distances().iter().filter(|d| **d > 0.0);
    let logs: Vec<f64> = above.map(|d| (d / unit).ln()).collect();
    let count = logs.len().max(1) as f64;
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|l| (l - mean).powi(2)).sum::<f64>() / count;
    Ok(variance.sqrt().min(USUAL_NOISE))
}

/// Largest noise level: exp(10·z) is finite for any z from 53 random bits, which is below 9.
const MOST_NOISE: f64 = 10.0;

/// Number of distances in all copies together below which trees are built in parallel.
const SMALL: usize = 1 << 22;

/// Builds an equally weighted forest of linkages of a perturbed metric.
///
/// The first tree is the linkage of the distances D, every other one of D(i, j)·exp(noise·z), with
/// z(i, j) = z(j, i) standard normal. Pairs at similar distances merge in a different order in
/// every tree, so the mean of the trees has fewer sharp cuts. The first trees of a larger forest
/// with the same seed are the same.
///
/// The first tree has no noise, so that labels can give it all the weight where noise is harmful.
/// On subsets of 4,360 cells, whose neighbors are hardly nearer than all others, learned trees had
/// an error of 0.013 without such a tree. With it they had 0.004, the same as one learned tree.
///
/// `progress` counts trees.
///
/// # Errors
/// Invalid options; [`Error::Canceled`](crate::Error::Canceled) if `progress` cancels.
///
/// # Complexity
/// [`linkage`](crate::build::linkage()) for every tree, with one copy of all distances at a time,
/// N²/2 numbers, unless there are few. Distances are computed anew for every tree: call
/// [`GroundMetric::materialize`] for a graph first. [`Linkage::Neighbors`] needs no such copy:
/// factors belong to pairs of neighboring clusters, and are closer to 1 for larger clusters, as
/// they would be for the mean over their points. The result does not depend on the number of
/// threads.
///
/// # Example
/// ```
/// use treeport::{GroundMetric, PointMetric, build::{PerturbedOptions, perturbed}, silent};
/// let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 2.0, 9.0], PointMetric::Euclidean)?;
/// let options = PerturbedOptions { n_trees: 4, seed: 7, ..PerturbedOptions::default() };
/// let forest = perturbed(&metric, &options, &silent)?;
/// assert_eq!((forest.trees().len(), forest.leaves()), (4, 4));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn perturbed(
    metric: &GroundMetric,
    options: &PerturbedOptions,
    progress: &Progress<'_>,
) -> Result<Forest> {
    options.check()?;
    let noise = options.noise.map_or_else(|| usual_noise(metric), Ok)?;
    let counter = Counter::new(BUILDING, options.n_trees, progress);
    // Within a tree, progress only checks for cancellation.
    let check_canceled = |_: &State<'_>| counter.add(0).is_ok();
    let first = FirstNeighbors::new();
    let grown = |k: usize| {
        let noise = options.noise_of(k, noise);
        let tree = grow(metric, options.linkage, noise, &first, &check_canceled)?;
        counter.add(1)?;
        Ok(tree)
    };
    if noise == 0.0 {
        return Forest::uniform(vec![grown(0)?; options.n_trees]);
    }
    let n = metric.points();
    let small = n.saturating_mul(n) / 2 * rayon::current_num_threads() <= SMALL;
    let trees: Result<Vec<Tree>> = if small {
        parallel::try_map(options.n_trees, grown)
    } else {
        (0..options.n_trees).map(grown).collect()
    };
    Forest::uniform(trees?)
}

/// Builds one tree from a copy of the distances.
fn grow(
    metric: &GroundMetric,
    method: Linkage,
    noise: Option<DistanceNoise>,
    first: &FirstNeighbors,
    progress: &Progress<'_>,
) -> Result<Tree> {
    let Some(noise) = noise else { return linkage(metric, method, progress) };
    if method == Linkage::Neighbors {
        return neighbors(metric, Some(noise), first, progress)?.to_tree();
    }
    let n = metric.points();
    let step = format_args!("a linkage of the perturbed distances of {n} points");
    let mut distances = working_copy(metric, step, FOREST, progress)?;
    let rows = Counter::new(BUILDING, n, progress);
    // Sums of four distances must stay finite, rounding included.
    match &mut distances {
        Storage::F64(all) => for_each_row(n, all, &rows, |i, row| {
            row.iter_mut().zip(noise.row(i)).for_each(|(d, by)| *d = (*d * by).min(f64::MAX / 4.0));
        }),
        Storage::F32(all) => for_each_row(n, all, &rows, |i, row| {
            let perturbed = |d: f32, by: f64| ((f64::from(d) * by) as f32).min(f32::MAX / 4.0);
            row.iter_mut().zip(noise.row(i)).for_each(|(d, by)| *d = perturbed(*d, by));
        }),
    }?;
    linkage_of_copy(n, distances, method, progress)
}

/// Advice if all distances do not fit into memory, for a forest.
const FOREST: &str =
    "use the method `sliced-cluster` or neighbors linkage, which do not need all distances";

impl DistanceNoise {
    /// Iterates, without end, over the factors of row `i`; each row has its own random stream.
    fn row(&self, i: usize) -> impl Iterator<Item = f64> + use<> {
        let mut rng = generator(mixed(self.seed, i as u64));
        let sigma = self.sigma;
        std::iter::repeat_with(move || normals(&mut rng)).flatten().map(move |z| (sigma * z).exp())
    }
}

/// Draws two independent standard normal numbers (Box, Muller 1958).
pub(crate) fn normals(rng: &mut Random) -> [f64; 2] {
    let radius = (-2.0 * (1.0 - rng.random::<f64>()).ln()).sqrt();
    let (sin, cos) = (std::f64::consts::TAU * rng.random::<f64>()).sin_cos();
    [radius * cos, radius * sin]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metric::PointMetric;
    use crate::progress::silent;

    #[test]
    fn the_noise_is_normal_and_every_row_has_its_own() {
        let noise = DistanceNoise { sigma: 1.0, seed: 3 };
        let z: Vec<f64> = (0..200).flat_map(|i| noise.row(i).take(500).map(f64::ln)).collect();
        let count = z.len() as f64;
        let moment = |p: i32| z.iter().map(|x| x.powi(p)).sum::<f64>() / count;
        // Four standard errors of 100,000 draws.
        for (p, expected, spread) in [(1, 0.0, 1.0), (2, 1.0, 2.0), (3, 0.0, 15.0), (4, 3.0, 96.0)]
        {
            let error: f64 = moment(p) - expected;
            assert!(error.abs() < 4.0 * (f64::sqrt(spread / count)), "moment {p}: {error}");
        }
        let first = |seed, i| DistanceNoise { sigma: 1.0, seed }.row(i).next().unwrap();
        assert!(first(3, 0) != first(3, 1) && first(3, 0) != first(4, 0));
        assert_ne!(mixed(0, 1), mixed(1, 0));
    }

    #[test]
    fn the_first_tree_is_the_linkage_itself() {
        let wave = |i: usize| ((i * 2_654_435_761) % 1_000_003) as f64;
        let metric =
            GroundMetric::from_points(2, (0..120).map(wave).collect(), PointMetric::Euclidean);
        let metric = metric.unwrap();
        for linkage in [Linkage::Average, Linkage::Neighbors, Linkage::Ward] {
            let options = PerturbedOptions { n_trees: 3, linkage, ..Default::default() };
            let forest = perturbed(&metric, &options, &silent).unwrap();
            let plain = crate::build::linkage(&metric, linkage, &crate::silent).unwrap();
            assert_eq!(forest.trees()[0], plain);
            assert!(forest.trees()[1] != plain && forest.trees()[1] != forest.trees()[2]);
        }
    }

    #[test]
    fn noise_of_any_allowed_size_is_finite() {
        let noise = DistanceNoise { sigma: MOST_NOISE, seed: 0 };
        assert!(noise.row(0).take(10_000).all(|f| f.is_finite() && f > 0.0));
    }
}
