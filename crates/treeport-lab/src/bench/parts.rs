//! A collection in many parts searched as one: savings of early stopping, cost of merging.

use std::time::Instant;

use rand::seq::index::sample;
use treeport::search::{IndexFile, Neighbors, PartSearch};
use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, silent};

use super::search::short_texts;
use super::{Peer, Row, median_seconds, on_threads};
use crate::Result;
use crate::generate::seeded;

const PARTS: [usize; 3] = [10, 100, 1_000];

/// Neighbors per query, and queries: a thousand parts take long for each.
const K: usize = 10;
const QUERIES: usize = 10;

/// A strategy for searching all parts.
type Ask<'a> = &'a dyn Fn() -> treeport::Result<Vec<Neighbors>>;

/// A collection in random order, its queries, and the results of a single index.
struct Texts {
    metric: GroundMetric,
    measures: Measures,
    queries: Measures,
    one: Vec<Neighbors>,
    one_seconds: f64,
}

/// Times `count` short texts in one index and in parts. No potentials of measures are stored,
/// because they exceed the memory if there are many measures.
///
/// # Panics
/// If the neighbors in parts differ from those in one index.
pub fn parts(count: usize, seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    on_threads(1, || rows(count, seed))?.iter().for_each(&mut report);
    Ok(())
}

fn rows(count: usize, seed: u64) -> Result<Vec<Row>> {
    let (metric, measures, queries) = short_texts(count, &mut seeded(seed))?;
    let queries = rows_of(&queries, &(0..QUERIES.min(queries.len())).collect::<Vec<_>>())?;
    let order = sample(&mut seeded(seed), count, count).into_vec();
    let measures = rows_of(&measures, &order)?;
    let (row, one) = one_index(&metric, &measures, &queries)?;
    let texts = Texts { metric, measures, queries, one, one_seconds: row.seconds };
    let mut rows = vec![row];
    for parts in PARTS.into_iter().filter(|&parts| parts <= count) {
        rows.extend(texts.in_parts(parts)?);
    }
    Ok(rows)
}

fn rows_of(measures: &Measures, rows: &[usize]) -> Result<Measures> {
    let rows = rows.iter().map(|&row| measures.row(row).iter().collect::<Vec<_>>());
    Measures::from_rows(measures.points(), rows.collect::<Vec<_>>())
}

fn build(metric: &GroundMetric, measures: &Measures) -> Result<Index> {
    let options = IndexOptions { memory: Some(0), ..IndexOptions::default() };
    Index::new(metric, measures, &options, &silent)
}

/// Returns the mean number of solved pairs per query.
fn solved(found: &[Neighbors]) -> f64 {
    found.iter().map(|n| n.steps.exact).sum::<usize>() as f64 / found.len() as f64
}

fn row(n: usize, parts: usize, asked: &str, seconds: f64, more: Vec<(&'static str, f64)>) -> Row {
    let case =
        vec![("parts", parts.to_string()), ("asked", asked.into()), ("threads", "1".to_owned())];
    Row { bench: "parts", n, case, seconds, peer: None, more }
}

/// Times a query in one index, and measures the memory per measure.
fn one_index(
    metric: &GroundMetric,
    measures: &Measures,
    queries: &Measures,
) -> Result<(Row, Vec<Neighbors>)> {
    let begun = Instant::now();
    let index = build(metric, measures)?;
    let built = begun.elapsed().as_secs_f64();
    let ask = || index.nearest(queries, K, Accuracy::EXACT, &silent);
    let found = ask()?;
    let seconds = median_seconds(ask) / queries.len() as f64;
    // Bytes per measure in a file, without the shared part.
    let count = measures.len() as f64;
    let fixed = IndexFile { index: build(metric, &rows_of(measures, &[0])?)?, point_names: None };
    let bytes = index.bytes() as f64 - fixed.index.bytes() as f64;
    let fixed = fixed.to_bytes()?.len() as f64;
    let file = IndexFile { index, point_names: None }.to_bytes()?.len() as f64;
    let more = vec![
        ("solved", solved(&found)),
        ("index_seconds", built),
        ("index_bytes_each", bytes / count),
        ("file_bytes_each", (file - fixed) / count),
    ];
    Ok((row(measures.len(), 1, "one index", seconds, more), found))
}

impl Texts {
    /// Times all parts at once, in waves and one by one, and the merging.
    fn in_parts(&self, count: usize) -> Result<Vec<Row>> {
        let rows: Vec<usize> = (0..self.measures.len()).collect();
        let size = self.measures.len().div_ceil(count);
        let parts =
            rows.chunks(size).map(|rows| build(&self.metric, &rows_of(&self.measures, rows)?));
        let begun = Instant::now();
        let parts: Vec<Index> = parts.collect::<Result<_>>()?;
        let built = begun.elapsed().as_secs_f64();
        let parts: Vec<&Index> = parts.iter().collect();
        let at_once = || -> treeport::Result<Vec<Neighbors>> {
            let mut search = PartSearch::nearest(&self.queries, K, Accuracy::EXACT)?;
            search.ask(&parts, &silent)?;
            Ok(search.finish())
        };
        let one_by_one = || -> treeport::Result<Vec<Neighbors>> {
            let mut search = PartSearch::nearest(&self.queries, K, Accuracy::EXACT)?;
            parts.iter().try_for_each(|part| search.ask(&[part], &silent).map(|_| ()))?;
            Ok(search.finish())
        };
        let in_waves = || -> treeport::Result<Vec<Neighbors>> {
            let mut search = PartSearch::nearest(&self.queries, K, Accuracy::EXACT)?;
            let (mut asked, mut rest) = (0, &parts[..]);
            while !rest.is_empty() {
                let wave = rest.split_off(..rest.len().min(asked.max(1))).unwrap_or_default();
                asked += wave.len();
                search.ask(wave, &silent)?;
            }
            Ok(search.finish())
        };
        let strategies: [(&str, Ask<'_>); 3] =
            [("all at once", &at_once), ("in waves", &in_waves), ("one by one", &one_by_one)];
        let mut rows = Vec::new();
        for (asked, ask) in strategies {
            let begun = Instant::now();
            let found = ask()?;
            let seconds = begun.elapsed().as_secs_f64() / self.queries.len() as f64;
            self.check(&found);
            let more = vec![("solved", solved(&found)), ("index_seconds", built)];
            rows.push(row(self.measures.len(), parts.len(), asked, seconds, more));
        }
        rows.push(self.merging(&parts)?);
        let peer = Peer { name: "one index", seconds: self.one_seconds };
        for row in &mut rows {
            row.peer = Some(peer.clone());
        }
        Ok(rows)
    }

    /// Times the merging of the results of all parts per query.
    fn merging(&self, parts: &[&Index]) -> Result<Row> {
        let lists =
            parts.iter().map(|part| part.nearest(&self.queries, K, Accuracy::EXACT, &silent));
        let lists: Vec<Vec<Neighbors>> = lists.collect::<treeport::Result<_>>()?;
        let mut first = 0;
        let mut numbered = Vec::with_capacity(parts.len());
        for (part, lists) in parts.iter().zip(lists) {
            numbered.push(lists.into_iter().map(|n| n.numbered_from(first)).collect::<Vec<_>>());
            first += part.next_number();
        }
        let merge = || {
            let mut merged = vec![Neighbors::none(); self.queries.len()];
            for lists in &numbered {
                merged.iter_mut().zip(lists).for_each(|(merged, list)| merged.merge(list, K));
            }
            merged
        };
        self.check(&merge());
        let seconds = median_seconds(merge) / self.queries.len() as f64;
        Ok(row(self.measures.len(), parts.len(), "lists merged alone", seconds, vec![]))
    }

    /// Asserts that neighbors are those of one index.
    fn check(&self, found: &[Neighbors]) {
        for (ours, one) in found.iter().zip(&self.one) {
            assert_eq!(ours.found, one.found, "neighbors in parts and in one index");
            let last = one.found.last().map_or(0.0, |last| last.1);
            assert!(ours.bound >= last * (1.0 - 1e-9), "{} does not prove {last}", ours.bound);
        }
    }
}
