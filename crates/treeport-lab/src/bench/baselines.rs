//! What every method costs: to build, and then for one pair.

use std::time::Instant;

use treeport::baseline::{BaselineOptions, Method, Training};
use treeport::{GroundMetric, Labels, Measures, Norm, exact, silent};
use treeport_report::score::median;

use super::Row;
use crate::generate::{
    Random, gaussian_points, random_pairs, seeded, sparse_measures, uniform_points,
};

/// Coordinates of a point, as word vectors have them.
const DIM: usize = 300;

/// Components of the mixture that points come from.
const COMPONENTS: usize = 50;

/// Points with mass in a measure.
const SUPPORT: usize = 30;

/// Labelled pairs for the methods that learn.
const LABELS: usize = 200;

/// Pairs in one timed run.
const PAIRS: usize = 2_000;

/// Timed runs.
const REPEATS: usize = 9;

/// Builds every method once over `n` points of a Gaussian mixture in R^300 and times it, and then one pair
/// of sparse measures, preparation of the measures included, on all threads.
///
/// # Errors
/// None for n of at least 2.
pub fn baselines(n: usize, seed: u64, mut report: impl FnMut(&Row)) -> treeport::Result<()> {
    let mut rng = seeded(seed);
    let metric = GroundMetric::from_points(DIM, mixture(n, &mut rng), Norm::Euclidean)?;
    let measures = sparse_measures(n, SUPPORT.min(n), 200, &mut rng)?;
    let pairs = random_pairs(LABELS, measures.len(), &mut rng)?;
    let distances = exact::pairs(&metric, &measures, &pairs, &silent)?;
    let labels = Labels { pairs, distances };
    let pairs = random_pairs(PAIRS, measures.len(), &mut rng)?;
    for method in Method::ALL {
        report(&row(
            method,
            &metric,
            Training { measures: &measures, labels: &labels },
            &pairs,
            seed,
        )?);
    }
    Ok(())
}

/// Points around centres that are about as far apart as the points of a cluster are.
fn mixture(n: usize, rng: &mut Random) -> Vec<f64> {
    let centers = uniform_points(COMPONENTS, DIM, -1.0, 1.0, rng);
    let mut points = gaussian_points(n, DIM, rng);
    for (i, point) in points.chunks_exact_mut(DIM).enumerate() {
        let center = &centers[i % COMPONENTS * DIM..][..DIM];
        point.iter_mut().zip(center).for_each(|(x, c)| *x = 0.5 * *x + c);
    }
    points
}

fn row(
    method: Method,
    metric: &GroundMetric,
    training: Training<'_>,
    pairs: &[(usize, usize)],
    seed: u64,
) -> treeport::Result<Row> {
    let options = BaselineOptions { seed, ..BaselineOptions::default() };
    let begun = Instant::now();
    let model = method.build(metric, Some(training), &options, &silent)?;
    let seconds = begun.elapsed().as_secs_f64();
    let measures: &Measures = training.measures;
    // Thousands of pairs each time: a few repeats do.
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        std::hint::black_box(model.pairs(metric, measures, pairs, &silent)?);
        times.push(begun.elapsed().as_secs_f64());
    }
    let per_pair = median(&times) / pairs.len() as f64;
    Ok(Row {
        bench: "baselines",
        n: metric.points(),
        case: vec![("method", method.to_string())],
        seconds,
        peer: None,
        more: vec![("ns_per_pair", per_pair * 1e9)],
    })
}
