//! Scan of a collection by one document, by the length of the documents.

use std::fs::File;
use std::path::Path;

use treeport::build::linkage;
use treeport::internal::tree::Scratch;
use treeport::{Error, GroundMetric, Linkage, Measures, PointMetric, Tree, silent};

use super::exact::on_threads;
use super::{Peer, Row, median_seconds};
use crate::Result;
use crate::datasets::{self, Files};
use crate::generate::{clustered_points, documents, seeded};

/// Dimension and clusters of the words.
const DIM: usize = 50;
const CLUSTERS: usize = 100;

/// Query documents, which are not in the collection.
const QUERIES: usize = 20;

/// Times a scan of `count` generated documents of about `words` words by documents that are not
/// among them: each is prepared and compared with all, on one thread. The peer compares pair by
/// pair, with all documents prepared before.
///
/// # Errors
/// Fewer words than clusters.
pub fn scan(
    count: usize,
    (words, vocabulary): (usize, usize),
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let mut rng = seeded(seed);
    let points = clustered_points(vocabulary, DIM, CLUSTERS, &mut rng);
    let metric = GroundMetric::from_points(DIM, points, PointMetric::Euclidean)?;
    let tree = linkage(&metric, Linkage::Neighbors, &treeport::silent)?;
    let all = documents(vocabulary, CLUSTERS, words, count + QUERIES, &mut rng)?;
    report(&measure("generated", &tree, &all)?);
    Ok(())
}

/// Times the last documents of each data set against all others of the set.
///
/// # Errors
/// A file cannot be read.
pub fn scan_documents(data: &Path, mut report: impl FnMut(&Row)) -> Result<()> {
    let found = datasets::find(data);
    let open = |path: &Path| File::open(path).map_err(|source| Error::read(path, source));
    for name in ["twitter", "bbcsport"] {
        let files = found.get(name).map(|set| &set.files);
        let Some(Files::Text { embeddings, docs, docs_with_stop_words, .. }) = files else {
            continue;
        };
        let metric = GroundMetric::read_points_npy(open(embeddings)?, PointMetric::Euclidean)?;
        let docs = Measures::read_npz(open(docs_with_stop_words.as_ref().unwrap_or(docs))?)?;
        let tree = linkage(&metric, Linkage::Neighbors, &treeport::silent)?;
        report(&measure(name, &tree, &docs.normalized())?);
    }
    Ok(())
}

fn measure(name: &str, tree: &Tree, all: &Measures) -> Result<Row> {
    let part = |rows: std::ops::Range<usize>| {
        Measures::from_rows(all.points(), rows.map(|row| all.row(row).iter()))
    };
    let count = all.len() - QUERIES.min(all.len() / 2);
    let (collection, queries) = (part(0..count)?, part(count..all.len())?);
    let each: Vec<Measures> =
        (count..all.len()).map(|row| part(row..row + 1)).collect::<treeport::Result<_>>()?;
    let (prepared, asking) = (tree.prepare(&collection)?, tree.prepare(&queries)?);
    let (scanned, compared) = on_threads(1, || {
        let scanned = median_seconds(|| {
            let one = |query: &Measures| tree.prepare(query)?.cross(&prepared, &silent);
            each.iter().map(one).collect::<treeport::Result<Vec<_>>>()
        });
        let mut scratch = Scratch::default();
        let compared = median_seconds(|| {
            let pairs = (0..each.len()).flat_map(|i| (0..count).map(move |j| (i, j)));
            pairs.map(|(i, j)| asking.distance_to(i, &prepared, j, &mut scratch)).sum::<f64>()
        });
        (scanned, compared)
    });
    let queries = each.len() as f64;
    Ok(Row {
        bench: "scan",
        n: all.points(),
        case: vec![
            ("documents", name.to_owned()),
            ("count", count.to_string()),
            ("words", (all.entries() / all.len()).to_string()),
        ],
        seconds: scanned / queries,
        peer: Some(Peer { name: "pair by pair", seconds: compared / queries }),
        more: vec![("ns_per_pair", scanned / queries * 1e9 / count as f64)],
    })
}
