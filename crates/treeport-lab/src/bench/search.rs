//! Nearest neighbors by an index compared with solving every pair, on one thread: the first batch
//! of queries to an index from a file, and a repetition.

use std::path::Path;
use std::time::Instant;

use rand::RngExt;
use rand::seq::index::sample;
use treeport::search::{IndexFile, MeasureSet, Neighbors};
use treeport::{
    Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, Problems, silent,
};

use super::{Peer, Row, is_wanted, median_seconds, on_threads};
use crate::Result;
use crate::datasets::{self, Dataset, Kind};
use crate::generate::{Random, Texts, gaussian_points, near_measures, seeded, sparse_measures};

/// Queries, none of them in the collection.
const QUERIES: usize = 50;

/// Support size, and number of nearest points from which a concentrated measure is drawn.
const SUPPORT: usize = 30;
const AROUND: usize = 60;

/// Names of the generated texts.
const SHORT_TEXTS: &str = "short-texts";
const POSTS: &str = "posts";
const TEXTS_OF_9: &str = "texts-of-9";
const TEXTS_OF_35: &str = "texts-of-35";

/// Number of posts, unless fewer are requested.
const MOST_POSTS: usize = 11_118;

/// Number of queries whose distances to all measures are solved where that takes long: among posts,
/// and among more short texts than `MANY_TEXTS`.
const JUDGED: usize = 4;
const MANY_TEXTS: usize = 200_000;

/// A collection and queries.
struct Collection {
    name: String,
    metric: GroundMetric,
    measures: Measures,
    queries: Measures,
    /// Number of queries for which every pair is solved.
    judged: usize,
}

/// Numbers of neighbors and accuracies that are timed.
const ASKED: [(usize, Accuracy); 4] = [
    (10, Accuracy::EXACT),
    (1, Accuracy::EXACT),
    (10, Accuracy::Within(0.02)),
    (10, Accuracy::Approximate),
];

/// Times searches among up to `count` measures of every set in the data folder, and of generated
/// short texts.
///
/// # Panics
/// If exact neighbors or distances differ from those of solving every pair.
pub fn search(
    count: usize,
    (data, sets): (&Path, &[String]),
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let found = datasets::find(data);
    for set in found.present.iter().filter(|set| is_wanted(set.name, sets)) {
        for collection in Collection::read(set, count, &mut seeded(seed))? {
            on_threads(1, || collection.rows())?.iter().for_each(&mut report);
        }
    }
    if is_wanted(SHORT_TEXTS, sets) {
        let texts = Collection::short_texts(count, &mut seeded(seed))?;
        on_threads(1, || texts.rows())?.iter().for_each(&mut report);
    }
    let made = [
        (TEXTS_OF_9, Texts::short(9), QUERIES),
        (TEXTS_OF_35, Texts::short(35), QUERIES),
        (POSTS, Texts::posts(), JUDGED),
    ];
    for (name, texts, judged) in made {
        if is_wanted(name, sets) {
            let count = if name == POSTS { MOST_POSTS.min(5 * count) } else { count };
            let texts = Collection::texts(name, &texts, count, judged, &mut seeded(seed))?;
            on_threads(1, || texts.rows())?.iter().for_each(&mut report);
        }
    }
    Ok(())
}

/// Draws texts of ten words out of 8,000, common words more often, each around one of a thousand
/// topics; returns the metric, `count` texts, and queries.
pub(super) fn short_texts(
    count: usize,
    rng: &mut Random,
) -> Result<(GroundMetric, Measures, Measures)> {
    const WORDS: usize = 8_000;
    let metric =
        GroundMetric::from_points(50, gaussian_points(WORDS, 50, rng), PointMetric::Euclidean)?;
    let rows = (0..count + QUERIES).map(|_| {
        let topic: f64 = rng.random();
        let words = (0..10).map(|word| {
            let common: f64 = rng.random::<f64>().powi(3);
            let near = (topic + 0.02 * common).fract();
            let at = if word < 5 { near } else { common };
            ((at * WORDS as f64) as usize, 0.1)
        });
        words.collect::<Vec<_>>()
    });
    let all = Measures::from_rows(WORDS, rows.collect::<Vec<_>>())?.normalized();
    let (measures, queries) = apart(&all, count)?;
    Ok((metric, measures, queries))
}

/// A batch of queries to an index.
pub(super) struct Batch {
    pub(super) found: Vec<Neighbors>,
    /// Seconds per query, the first time and again.
    pub(super) seconds: [f64; 2],
    /// Mean counts of steps.
    pub(super) steps: Vec<(&'static str, f64)>,
}

impl Batch {
    pub(super) fn new<'q>(
        index: &Index,
        queries: impl Into<MeasureSet<'q>> + Copy,
        k: usize,
        accuracy: Accuracy,
    ) -> Result<Self> {
        let begun = Instant::now();
        let found = index.nearest(queries, k, accuracy, &silent)?;
        let first = begun.elapsed().as_secs_f64();
        let again = median_seconds(|| index.nearest(queries, k, accuracy, &silent));
        let count = found.len() as f64;
        let each = |of: fn(&Neighbors) -> usize| found.iter().map(of).sum::<usize>() as f64 / count;
        let steps = vec![
            ("transformed", each(|n| n.steps.transformed)),
            ("swept", each(|n| n.steps.swept.iter().sum())),
            ("solved", each(|n| n.steps.exact)),
        ];
        Ok(Self { found, seconds: [first, again].map(|seconds| seconds / count), steps })
    }
}

/// Distances from every query to all measures of a collection, with their numbers, sorted.
pub(super) type Distances = Vec<Vec<(f64, usize)>>;

/// Solves the distances from the first queries; all queries come before the collection.
pub(super) fn brute(
    metric: &GroundMetric,
    all: &Measures,
    queries: usize,
    judged: usize,
) -> Result<Distances> {
    let of_query = |query: usize| {
        let pairs: Vec<_> = (queries..all.len()).map(|other| (query, other)).collect();
        let distances = Problems::new(metric, all, &pairs).values(&silent)?;
        let mut order: Vec<_> = distances.into_iter().zip(0..).collect();
        order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        Ok(order)
    };
    (0..judged).map(of_query).collect()
}

/// Asserts that exact neighbors are those of solving every pair.
pub(super) fn check(name: &str, found: &[Neighbors], brute: &Distances) {
    for (found, brute) in found.iter().zip(brute) {
        for (ours, theirs) in found.found.iter().zip(brute) {
            let close = (ours.1 - theirs.0).abs() <= 1e-9 * theirs.0;
            assert!(close, "{name}: found {ours:?}, expected {theirs:?}");
        }
    }
}

/// Splits measures into the collection and the queries, which come first.
fn apart(all: &Measures, count: usize) -> Result<(Measures, Measures)> {
    let queries = QUERIES.min(all.len() / 2);
    let count = count.min(all.len() - queries);
    let part = |rows: std::ops::Range<usize>| {
        let rows = rows.map(|row| all.row(row).iter().collect::<Vec<_>>());
        Measures::from_rows(all.points(), rows)
    };
    Ok((part(queries..queries + count)?, part(0..queries)?))
}

impl Collection {
    fn new(name: &str, metric: GroundMetric, all: &Measures, count: usize) -> Result<Self> {
        let (measures, queries) = apart(all, count)?;
        let judged = queries.len();
        Ok(Self { name: name.into(), metric, measures, queries, judged })
    }

    /// Generates texts with word vectors of realistic dimension.
    fn texts(
        name: &str,
        texts: &Texts,
        count: usize,
        judged: usize,
        rng: &mut Random,
    ) -> Result<Self> {
        let metric =
            GroundMetric::from_points(texts.dim, texts.vectors(rng), PointMetric::Euclidean)?;
        let all = texts.documents(count + QUERIES, rng)?;
        Ok(Self { judged, ..Self::new(name, metric, &all, count)? })
    }

    /// Reads the documents of a set in random order, or draws measures on its points.
    fn read(set: &Dataset, count: usize, rng: &mut Random) -> Result<Vec<Self>> {
        if set.kind == Kind::Text {
            let documents = set.documents()?;
            let order = sample(rng, documents.len(), documents.len());
            let rows = order.iter().map(|row| documents.row(row).iter().collect::<Vec<_>>());
            let documents = Measures::from_rows(documents.points(), rows)?;
            return Ok(vec![Self::new(set.name, set.metric()?, &documents, count)?]);
        }
        let metric = set.metric()?;
        let metric = if set.kind == Kind::Graph { metric.materialized()? } else { metric };
        let drawn = count + QUERIES;
        let random = sparse_measures(metric.points(), SUPPORT, drawn, rng)?;
        let near = near_measures(&metric, (SUPPORT, AROUND), drawn, rng)?;
        let random = Self::new(&format!("{}, random", set.name), metric.clone(), &random, count)?;
        let near = Self::new(&format!("{}, concentrated", set.name), metric, &near, count)?;
        Ok(vec![random, near])
    }

    fn short_texts(count: usize, rng: &mut Random) -> Result<Self> {
        let (metric, measures, queries) = short_texts(count, rng)?;
        let judged = if count > MANY_TEXTS { JUDGED } else { queries.len() };
        Ok(Self { name: SHORT_TEXTS.into(), metric, measures, queries, judged })
    }

    fn rows(&self) -> Result<Vec<Row>> {
        let all = self.queries.followed_by(&self.measures)?;
        let begun = Instant::now();
        let brute = brute(&self.metric, &all, self.queries.len(), self.judged)?;
        let brute_seconds = begun.elapsed().as_secs_f64() / self.judged as f64;
        let mut rows = Vec::new();
        // With the potentials of all measures if they fit into memory, and without.
        for (kept, memory) in [("all", None), ("nothing", Some(0))] {
            let options = IndexOptions { memory, ..IndexOptions::default() };
            let begun = Instant::now();
            let index = Index::new(&self.metric, &self.measures, &options, &silent)?;
            let built = begun.elapsed().as_secs_f64();
            let file = IndexFile { index, point_names: None }.to_bytes()?;
            let asked = if kept == "all" { &ASKED[..] } else { &ASKED[..1] };
            for &(k, accuracy) in asked {
                let index = IndexFile::from_bytes(&file)?.index;
                let of_both = self.first_and_again(&index, &brute, (k, accuracy))?;
                for (mut row, batch) in of_both.into_iter().zip(["first", "again"]) {
                    let threads = ("threads", "1".to_owned());
                    row.case.extend([("kept", kept.into()), ("batch", batch.into()), threads]);
                    row.peer = Some(Peer { name: "every pair solved", seconds: brute_seconds });
                    row.more.push(("index_seconds", built));
                    let bytes = index.bytes() + index.measures().bytes();
                    row.more.push(("index_mib", bytes as f64 / f64::from(1 << 20)));
                    row.more.push(("file_mib", file.len() as f64 / f64::from(1 << 20)));
                    rows.push(row);
                }
            }
        }
        Ok(rows)
    }

    /// Times a query in a first batch and in its repetition, and counts its steps.
    fn first_and_again(
        &self,
        index: &Index,
        brute: &Distances,
        (k, accuracy): (usize, Accuracy),
    ) -> Result<[Row; 2]> {
        let Batch { found, seconds, steps } = Batch::new(index, &self.queries, k, accuracy)?;
        let mut more = vec![("recall", self.judge(&found, brute, k, accuracy))];
        more.extend(steps);
        let asked = match accuracy {
            Accuracy::Within(epsilon) => format!("within {epsilon}"),
            word => word.to_string(),
        };
        let case = vec![("set", self.name.clone()), ("k", k.to_string()), ("accuracy", asked)];
        let n = self.measures.len();
        Ok(seconds.map(|seconds| {
            let (case, more) = (case.clone(), more.clone());
            Row { bench: "search", n, case, seconds, peer: None, more }
        }))
    }

    /// Checks the results; returns the share of the exact neighbors found.
    fn judge(&self, found: &[Neighbors], brute: &Distances, k: usize, accuracy: Accuracy) -> f64 {
        if accuracy == Accuracy::EXACT {
            check(&self.name, found, brute);
        }
        let mut right = 0;
        for (found, brute) in found.iter().zip(brute) {
            if accuracy == Accuracy::Approximate {
                for &(number, found) in &found.found {
                    let exact = brute.iter().find(|b| b.1 == number).map_or(0.0, |b| b.0);
                    let off = (found - exact).abs();
                    assert!(off <= 1e-9 * exact, "{}: {found} for {exact}", self.name);
                }
            }
            let last = brute[k - 1].0 * (1.0 + 1e-9);
            let distance = |number: usize| brute.iter().find(|b| b.1 == number).map(|b| b.0);
            right +=
                found.found.iter().filter(|f| distance(f.0).is_some_and(|d| d <= last)).count();
        }
        right as f64 / (k * brute.len()) as f64
    }
}
