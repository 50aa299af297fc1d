//! Nearest neighbors among clouds compared with solving every pair, on one thread.

use std::time::Instant;

use treeport::search::Neighbors;
use treeport::{Accuracy, Clouds, Index, IndexOptions, PointMetric, Problems, silent};

use super::exact::on_threads;
use super::{Peer, Row, median_seconds};
use crate::Result;
use crate::generate::{Random, cells, images, jets, seeded};

/// Queries, none of them in the collection, and queries for which every pair is solved.
const QUERIES: usize = 50;
const JUDGED: usize = 10;

/// Neighbors per query.
const K: usize = 10;

/// Generator of clouds.
type Make = fn(usize, &mut Random) -> treeport::Result<Clouds>;

/// Times searches among `count` jets, three quarters as many images and half as many samples of
/// cells.
///
/// # Errors
/// A pair that cannot be solved.
///
/// # Panics
/// If neighbors differ from those of solving every pair.
pub fn clouds(
    count: usize,
    sets: &[String],
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let wanted = |name: &str| sets.is_empty() || sets.iter().any(|set| set == name);
    let made: [(&str, usize, Make); 3] =
        [("jets", count, jets), ("images", count * 3 / 4, images), ("cells", count / 2, cells)];
    for (name, count, make) in made.into_iter().filter(|of| wanted(of.0)) {
        let all = make(count + QUERIES, &mut seeded(seed))?;
        on_threads(1, || rows(name, &all))?.iter().for_each(&mut report);
    }
    Ok(())
}

/// Times the first batch of queries to an index, and a repetition.
fn rows(name: &str, all: &Clouds) -> Result<Vec<Row>> {
    let numbers: Vec<usize> = (0..all.len()).collect();
    let (queries, clouds) = (all.select(&numbers[..QUERIES])?, all.select(&numbers[QUERIES..])?);
    let begun = Instant::now();
    let brute = brute(all)?;
    let brute_seconds = begun.elapsed().as_secs_f64() / JUDGED as f64;
    let begun = Instant::now();
    let ground = clouds.ground(PointMetric::Euclidean)?;
    let index = Index::of_clouds(&clouds, &ground, &IndexOptions::default(), &silent)?;
    let built = begun.elapsed().as_secs_f64();
    let begun = Instant::now();
    let found = index.nearest(&queries, K, Accuracy::EXACT, &silent)?;
    let first = begun.elapsed().as_secs_f64();
    judge(name, &found, &brute);
    let again = median_seconds(|| index.nearest(&queries, K, Accuracy::EXACT, &silent));
    let each = |of: fn(&Neighbors) -> usize| {
        found.iter().map(of).sum::<usize>() as f64 / found.len() as f64
    };
    let data = 8 * clouds.points() * (clouds.dim() + 1);
    let more = vec![
        ("transformed", each(|n| n.steps.transformed)),
        ("swept", each(|n| n.steps.swept.iter().sum())),
        ("solved", each(|n| n.steps.exact)),
        ("built_in_queries", built / brute_seconds),
        ("bytes_over_data", (index.bytes() + index.measures().bytes()) as f64 / data as f64),
    ];
    let row = |(seconds, batch): (f64, &str)| Row {
        bench: "clouds",
        n: clouds.len(),
        case: vec![("set", name.into()), ("batch", batch.into()), ("threads", "1".into())],
        seconds: seconds / QUERIES as f64,
        peer: Some(Peer { name: "every pair solved", seconds: brute_seconds }),
        more: more.clone(),
    };
    Ok([(first, "first"), (again, "again")].map(row).into())
}

/// Solves the distances from the first queries to all clouds of the collection, sorted.
fn brute(all: &Clouds) -> Result<Vec<Vec<f64>>> {
    let ground = all.ground(PointMetric::Euclidean)?;
    let of_query = |query: usize| {
        let pairs: Vec<_> = (QUERIES..all.len()).map(|cloud| (query, cloud)).collect();
        let mut distances = Problems::new(&ground, all.measures(), &pairs).values(&silent)?;
        distances.sort_by(f64::total_cmp);
        Ok(distances)
    };
    (0..JUDGED).map(of_query).collect()
}

/// Asserts that neighbors are those of solving every pair.
fn judge(name: &str, found: &[Neighbors], brute: &[Vec<f64>]) {
    for (found, brute) in found.iter().zip(brute) {
        for (&(number, distance), expected) in found.found.iter().zip(brute) {
            let close = (distance - expected).abs() <= 1e-9 * expected;
            assert!(close, "{name}: cloud {number} at {distance}, expected {expected}");
        }
    }
}
