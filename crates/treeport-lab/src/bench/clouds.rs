//! Nearest neighbors among clouds compared with solving every pair, on one thread.

use std::time::Instant;

use treeport::{Accuracy, Clouds, Index, IndexOptions, PointMetric, silent};

use super::search::{Batch, brute, check};
use super::{Peer, Row, is_wanted, on_threads};
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
/// # Panics
/// If neighbors differ from those of solving every pair.
pub fn clouds(
    count: usize,
    sets: &[String],
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let made: [(&str, usize, Make); 3] =
        [("jets", count, jets), ("images", count * 3 / 4, images), ("cells", count / 2, cells)];
    for (name, count, make) in made.into_iter().filter(|of| is_wanted(of.0, sets)) {
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
    let ground = all.ground(PointMetric::Euclidean)?;
    let brute = brute(&ground, all.measures(), QUERIES, JUDGED)?;
    let brute_seconds = begun.elapsed().as_secs_f64() / JUDGED as f64;
    let begun = Instant::now();
    let ground = clouds.ground(PointMetric::Euclidean)?;
    let index = Index::of_clouds(&clouds, &ground, &IndexOptions::default(), &silent)?;
    let built = begun.elapsed().as_secs_f64();
    let Batch { found, seconds, steps } = Batch::new(&index, &queries, K, Accuracy::EXACT)?;
    check(name, &found, &brute);
    let data = 8 * clouds.points() * (clouds.dim() + 1);
    let mut more = steps;
    more.push(("built_in_queries", built / brute_seconds));
    let bytes = (index.bytes() + index.measures().bytes()) as f64;
    more.push(("bytes_over_data", bytes / data as f64));
    let row = |(seconds, batch): (f64, &str)| Row {
        bench: "clouds",
        n: clouds.len(),
        case: vec![("set", name.into()), ("batch", batch.into()), ("threads", "1".into())],
        seconds,
        peer: Some(Peer { name: "every pair solved", seconds: brute_seconds }),
        more: more.clone(),
    };
    Ok([(seconds[0], "first"), (seconds[1], "again")].map(row).into())
}
