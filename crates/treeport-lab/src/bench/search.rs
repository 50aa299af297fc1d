//! Nearest neighbors by an index compared with solving every pair, on one thread: the first batch
//! of queries to an index from a file, and a repetition.

use std::path::Path;
use std::time::Instant;

use rand::RngExt;
use rand::seq::index::sample;
use treeport::search::{IndexFile, Neighbors};
use treeport::{
    Accuracy, Error, GroundMetric, Index, IndexOptions, Measures, PointMetric, Problems, silent,
};

use super::exact::on_threads;
use super::{Peer, Row, median_seconds};
use crate::Result;
use crate::datasets::{self, Dataset, Files};
use crate::generate::{Random, Texts, gaussian_points, near_measures, seeded, sparse_measures};
use crate::scene::{documents, open};

/// Queries, none of them in the collection.
const QUERIES: usize = 50;

/// Support size of a random measure, and the number of nearest points from which a concentrated one
/// is drawn.
const SUPPORT: usize = 30;
const AROUND: usize = 60;

/// Data sets of documents, and data sets on which measures are drawn.
const SETS: [&str; 8] = [
    "twitter",
    "bbcsport",
    "bbcsport_w2v1k",
    "usca312",
    "usair97",
    "belfast",
    "kuopio",
    "rnaseq_10x",
];

/// Names of the generated texts.
const SHORT_TEXTS: &str = "short-texts";
const POSTS: &str = "posts";
const TEXTS_OF_9: &str = "texts-of-9";
const TEXTS_OF_35: &str = "texts-of-35";

/// Number of posts, unless fewer are requested.
const MOST_POSTS: usize = 11_118;

/// Queries whose distances to all measures are solved if that takes long: among posts, and among
/// more short texts than `MANY_TEXTS`.
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
/// # Errors
/// A file cannot be read.
///
/// # Panics
/// If exact neighbors differ from those of solving every pair, or a bound exceeds the distance.
pub fn search(
    count: usize,
    (data, sets): (&Path, &[String]),
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let found = datasets::find(data);
    let wanted = |name: &str| sets.is_empty() || sets.iter().any(|set| set == name);
    for set in SETS.iter().filter(|name| wanted(name)).filter_map(|name| found.get(name)) {
        for collection in Collection::read(set, count, &mut seeded(seed))? {
            on_threads(1, || collection.rows())?.iter().for_each(&mut report);
        }
    }
    if wanted(SHORT_TEXTS) {
        let texts = Collection::short_texts(count, &mut seeded(seed))?;
        on_threads(1, || texts.rows())?.iter().for_each(&mut report);
    }
    let made = [
        (TEXTS_OF_9, Texts::short(9), QUERIES),
        (TEXTS_OF_35, Texts::short(35), QUERIES),
        (POSTS, Texts::posts(), JUDGED),
    ];
    for (name, texts, judged) in made {
        if wanted(name) {
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
        if let Files::Text { embeddings, .. } = &set.files {
            let metric = GroundMetric::read_points_npy(open(embeddings)?, PointMetric::Euclidean)?;
            let documents = documents(set)?;
            let order = sample(rng, documents.len(), documents.len());
            let rows = order.iter().map(|row| documents.row(row).iter().collect::<Vec<_>>());
            let documents = Measures::from_rows(documents.points(), rows)?;
            return Ok(vec![Self::new(set.name, metric, &documents, count)?]);
        }
        let metric = match &set.files {
            Files::Graph { edges, .. } => {
                GroundMetric::read_graph_csv(open(edges)?, None)?.0.materialized()?
            }
            Files::Points { points, .. } => {
                GroundMetric::read_points_npy(open(points)?, PointMetric::Euclidean)?
            }
            Files::Matrix { dist, .. } | Files::Tree { dist, .. } => {
                GroundMetric::read_matrix_npy(open(dist)?)?
            }
            Files::Text { .. } => return Ok(vec![]),
        };
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
        let (begun, brute) = (Instant::now(), self.brute()?);
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

    /// Times a query in the first batch to an index and in a repetition of the batch, with the
    /// counts of its steps.
    fn first_and_again(
        &self,
        index: &Index,
        brute: &[Vec<(f64, usize)>],
        (k, accuracy): (usize, Accuracy),
    ) -> Result<[Row; 2]> {
        let begun = Instant::now();
        let found = index.nearest(&self.queries, k, accuracy, &silent)?;
        let first = begun.elapsed().as_secs_f64();
        let again = median_seconds(|| index.nearest(&self.queries, k, accuracy, &silent));
        let each = |of: fn(&Neighbors) -> usize| {
            found.iter().map(of).sum::<usize>() as f64 / found.len() as f64
        };
        let more = vec![
            ("recall", self.judge(&found, brute, k, accuracy)),
            ("transformed", each(|n| n.steps.transformed)),
            ("swept", each(|n| n.steps.swept.iter().sum())),
            ("solved", each(|n| n.steps.exact)),
        ];
        let asked = match accuracy {
            Accuracy::Within(epsilon) => format!("within {epsilon}"),
            word => word.to_string(),
        };
        let case = vec![("set", self.name.clone()), ("k", k.to_string()), ("accuracy", asked)];
        let n = self.measures.len();
        Ok([first, again].map(|seconds| {
            let seconds = seconds / self.queries.len() as f64;
            let (case, more) = (case.clone(), more.clone());
            Row { bench: "search", n, case, seconds, peer: None, more }
        }))
    }

    /// Solves the distances from the first queries to every measure, sorted.
    fn brute(&self) -> Result<Vec<Vec<(f64, usize)>>> {
        let all = self.queries.followed_by(&self.measures)?;
        let first = self.queries.len();
        let of_query = |query: usize| {
            let pairs: Vec<_> = (0..self.measures.len()).map(|j| (query, first + j)).collect();
            let distances = Problems::new(&self.metric, &all, &pairs).values(&silent)?;
            let mut order: Vec<_> = distances.into_iter().zip(0..).collect();
            order.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
            Ok(order)
        };
        (0..self.judged)
            .map(of_query)
            .collect::<std::result::Result<_, Error>>()
            .map_err(Into::into)
    }

    /// Checks the results; returns the share of the exact neighbors found.
    fn judge(
        &self,
        found: &[Neighbors],
        brute: &[Vec<(f64, usize)>],
        k: usize,
        accuracy: Accuracy,
    ) -> f64 {
        let mut right = 0;
        for (found, brute) in found.iter().zip(brute) {
            if accuracy == Accuracy::Approximate {
                for &(number, bound) in &found.found {
                    let exact = brute.iter().find(|b| b.1 == number).map_or(0.0, |b| b.0);
                    assert!(bound <= exact * (1.0 + 1e-12), "{}: {bound} above {exact}", self.name);
                }
            }
            if accuracy == Accuracy::EXACT {
                for (ours, theirs) in found.found.iter().zip(brute) {
                    let close = (ours.1 - theirs.0).abs() <= 1e-9 * theirs.0;
                    assert!(close, "{}: found {ours:?}, expected {theirs:?}", self.name);
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
