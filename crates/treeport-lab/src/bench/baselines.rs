//! Cost of every method: to build a model, and per pair.

use std::time::Instant;

use treeport::internal::score::median;
use treeport::{GroundMetric, Labelled, Method, PointMetric, silent};

use super::Row;
use super::mixture::{DIM, mixture};
use crate::answers::{as_it_is, fit_whole};
use crate::generate::{random_pairs, seeded, sparse_measures};

/// Support size of the measures.
const SUPPORT: usize = 30;

/// Labeled pairs for the methods that learn.
const LABELS: usize = 200;

/// Pairs per timed run.
const PAIRS: usize = 2_000;

/// Timed runs.
const REPEATS: usize = 9;

/// Times building every method once over `n` points of a Gaussian mixture in R^300, and one pair of
/// sparse measures, including the preparation of measures, on all threads.
///
/// # Errors
/// None for n of at least 2.
pub fn baselines(n: usize, seed: u64, mut report: impl FnMut(&Row)) -> treeport::Result<()> {
    let mut rng = seeded(seed);
    let metric = GroundMetric::from_points(DIM, mixture(n, &mut rng), PointMetric::Euclidean)?;
    let measures = sparse_measures(n, SUPPORT.min(n), 200, &mut rng)?;
    let pairs = random_pairs(LABELS, measures.len(), &mut rng)?;
    let data = Labelled::solve(&metric, &measures, pairs, &silent)?;
    let pairs = random_pairs(PAIRS, measures.len(), &mut rng)?;
    for &method in Method::ALL {
        report(&row(method, &metric, &data, &pairs, seed)?);
    }
    Ok(())
}

fn row(
    method: Method,
    metric: &GroundMetric,
    data: &Labelled,
    pairs: &[(usize, usize)],
    seed: u64,
) -> treeport::Result<Row> {
    let begun = Instant::now();
    let model = fit_whole(metric, data, &as_it_is(method, seed), &silent)?.model;
    let seconds = begun.elapsed().as_secs_f64();
    // A few repeats suffice for thousands of pairs.
    let mut times = Vec::new();
    for _ in 0..REPEATS {
        let begun = Instant::now();
        std::hint::black_box(model.pairs(data.measures(), pairs, &silent)?);
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
