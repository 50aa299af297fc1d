//! Searches over several indexes as one: the parts of a collection that is larger than the memory
//! of a machine.
//!
//! Every part returns its nearest and its bound; the nearest of all lists are the result, and the
//! smallest bound, of parts and of neighbors dropped from the list, certifies it. Numbers continue
//! from part to part, so the result is that of a single index of all measures.
//!
//! Once k neighbors are known, no part needs to search beyond the distance of the k-th. What a part
//! omits for that reason is farther than k others, so the list does not depend on the order of the
//! parts; only the bound and the steps may. Asking 1 part, then 1, 2, 4, 8, … at a time, as many as
//! are done, takes about k·(1 + log₂ P) neighbors of P parts instead of k·P: doubling the measures
//! seen replaces about half of the k nearest.
//!
//! ```
//! use treeport::search::PartSearch;
//! use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent};
//! let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean)?;
//! let part = |rows: &[f64]| {
//!     Index::new(&metric, &Measures::from_dense(3, rows)?, &IndexOptions::default(), &silent)
//! };
//! let parts = [part(&[1.0, 0.0, 0.0])?, part(&[0.5, 0.5, 0.0, 0.0, 0.0, 1.0])?];
//! let query = Measures::from_dense(3, &[0.0, 1.0, 0.0])?;
//! let mut search = PartSearch::nearest(&query, 2, Accuracy::EXACT)?;
//! for part in &parts {
//!     search.ask(&[part], &silent)?; // one after the other: only one has to be in memory
//! }
//! assert_eq!(search.finish()[0].found, [(1, 0.5), (0, 1.0)]);
//! # Ok::<(), treeport::Error>(())
//! ```

use super::query::{AdaptRequest, SearchEnd, SearchRequest, Searcher};
use super::{Index, MeasureSet, Neighbors};
use crate::accuracy::{Accuracy, Question};
use crate::error::{Error, Result};
use crate::metric::GroundMetric;
use crate::progress::tasks::SEARCHING;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// A search over the parts of a collection, some at a time.
#[derive(Debug)]
pub struct PartSearch<'a> {
    queries: MeasureSet<'a>,
    end: SearchEnd,
    accuracy: Accuracy,
    /// Metric of the first part.
    metric: Option<GroundMetric>,
    /// Relaxation of the first part: whether it is relaxed, and its penalty.
    prices: Option<(bool, Option<f64>)>,
    /// Number of parts searched.
    parts: usize,
    /// Numeric ID of the first measure of the next part.
    next_number: usize,
    /// Merged results for every query.
    found: Vec<Neighbors>,
}

impl<'a> PartSearch<'a> {
    /// Creates a search for the `k` nearest measures of every query.
    ///
    /// # Errors
    /// An accuracy that searches do not support.
    pub fn nearest(
        queries: impl Into<MeasureSet<'a>>,
        k: usize,
        accuracy: Accuracy,
    ) -> Result<Self> {
        accuracy.check_for(Question::Search)?;
        Ok(Self::new(queries.into(), SearchEnd::Count(k), accuracy))
    }

    /// Creates a search for all measures within a distance of every query, the distance included.
    ///
    /// # Errors
    /// A radius that is negative or not a number.
    pub fn radius(queries: impl Into<MeasureSet<'a>>, radius: f64) -> Result<Self> {
        Ok(Self::new(queries.into(), SearchEnd::radius(radius)?, Accuracy::EXACT))
    }

    fn new(queries: MeasureSet<'a>, end: SearchEnd, accuracy: Accuracy) -> Self {
        let found = vec![Neighbors::none(); queries.len()];
        let (metric, prices) = (None, None);
        Self { queries, end, accuracy, metric, prices, parts: 0, next_number: 0, found }
    }

    /// Searches the next parts, in parallel over parts and queries; the result does not depend on
    /// the number of threads. All use the limits known before the call. Returns the numeric ID of
    /// the first measure of these parts.
    ///
    /// # Errors
    /// Errors of [`Index::nearest`]; a part with another ground metric than the first. No result is
    /// added then.
    pub fn ask(&mut self, parts: &[&Index], progress: &Progress<'_>) -> Result<usize> {
        let first = self.metric.as_ref().or(parts.first().map(|index| index.metric()));
        let mut resolved = Vec::with_capacity(parts.len());
        for (part, index) in (self.parts..).zip(parts) {
            resolved.push(index.resolved(self.queries)?);
            let differs = |first| !same_ground(first, index.metric(), index.is_of_clouds());
            let prices = (index.is_relaxed(), index.penalty());
            if first.is_some_and(differs) || *self.prices.get_or_insert(prices) != prices {
                return Err(Error::OtherGroundMetric { part });
            }
        }
        self.metric = first.cloned();
        let (first, queries) = (self.next_number, self.queries.len());
        let limits: Vec<f64> = (0..queries).map(|query| self.limit(query)).collect();
        let factors = parts.iter().map(|index| index.stretch_for(self.accuracy, progress));
        let factors = factors.collect::<Result<Vec<_>>>()?;
        let counter = Counter::new(SEARCHING, parts.len() * queries, progress);
        let one = |searcher: &mut Searcher, at: usize| {
            let (index, query) = (parts[at / queries], at % queries);
            let resolved = &resolved[at / queries];
            let request = resolved.complete(index.request(self.end, self.accuracy));
            let (limit, stretch) = (limits[query], factors[at / queries]);
            let request = SearchRequest { limit, stretch, ..request };
            let found = searcher.search(index, &resolved.measures.row(query), request, &counter)?;
            counter.add(1)?;
            Ok(found)
        };
        let found = parallel::try_map_with(parts.len() * queries, Searcher::default, one)?;
        let mut found = found.into_iter();
        for index in parts {
            for (merged, found) in self.found.iter_mut().zip(&mut found) {
                merged.merge(&found.numbered_from(self.next_number), self.end.most());
            }
            self.next_number += index.next_number();
        }
        self.parts += parts.len();
        Ok(first)
    }

    /// Distance beyond which no measure is needed: that of the k-th neighbor so far.
    pub fn limit(&self, query: usize) -> f64 {
        let found = &self.found[query].found;
        let last = self.end.most().checked_sub(1).and_then(|last| found.get(last));
        last.map_or(f64::INFINITY, |last| last.1)
    }

    /// Returns the neighbors of every query among all searched parts.
    pub fn finish(self) -> Vec<Neighbors> {
        self.found
    }
}

/// Checks whether two ground metrics have equal data, or for `clouds`, whose points differ between
/// parts, the same space. Shared data are not compared.
fn same_ground(a: &GroundMetric, b: &GroundMetric, clouds: bool) -> bool {
    if clouds {
        return a.shares_space(b);
    }
    let kind = |metric: &GroundMetric| (metric.points(), metric.is_metric(), metric.point_metric());
    let dim = |metric: &GroundMetric| metric.coordinates().map(|of| of.0);
    kind(a) == kind(b)
        && a.period() == b.period()
        && dim(a) == dim(b)
        && same(a.coordinates().map(|of| of.1), b.coordinates().map(|of| of.1))
        && same(a.edges(), b.edges())
        && same(a.matrix(), b.matrix())
}

/// Checks whether both are identical or equal.
fn same<T: PartialEq + ?Sized>(a: Option<&T>, b: Option<&T>) -> bool {
    match (a, b) {
        (Some(a), Some(b)) => std::ptr::eq(a, b) || a == b,
        _ => a.is_none() && b.is_none(),
    }
}

impl Index {
    /// Finds the `k` nearest measures of every query within its limit, for a part of a collection
    /// if others have found `k` within that distance already.
    ///
    /// `bound` covers measures beyond the limit, too, and exceeds the limit if nothing else is
    /// omitted.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest); another number of limits than of queries.
    pub fn nearest_within<'q>(
        &self,
        queries: impl Into<MeasureSet<'q>>,
        k: usize,
        limits: &[f64],
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let resolved = self.resolved(queries.into())?;
        let queries = resolved.measures;
        if limits.len() != queries.len() {
            return Err(Error::Shape {
                what: "the list of limits".into(),
                expected: format!("one for each of {} queries", queries.len()),
                found: limits.len().to_string(),
            });
        }
        let request = resolved.complete(self.request(SearchEnd::Count(k), accuracy));
        let adapt: &AdaptRequest<'_> = &|query, request| request.limit = limits[query];
        self.search(queries, 0..queries.len(), request, false, adapt, progress)
    }
}

impl Neighbors {
    /// Creates a result without neighbors and with an infinite bound.
    pub fn none() -> Self {
        Self { bound: f64::INFINITY, ..Self::default() }
    }

    /// Shifts the numbers by `first`.
    #[must_use]
    pub fn numbered_from(mut self, first: usize) -> Self {
        self.found.iter_mut().for_each(|found| found.0 += first);
        self
    }

    /// Merges the result of another part and keeps the `k` nearest; ties by number. The result does
    /// not depend on the order of merges.
    pub fn merge(&mut self, other: &Self, k: usize) {
        self.found.extend_from_slice(&other.found);
        self.sort();
        let left_out = self.found.get(k).map_or(f64::INFINITY, |next| next.1);
        self.bound = self.bound.min(other.bound).min(left_out);
        self.found.truncate(k);
        self.steps.add(&other.steps);
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::super::tests::{index_of, metrics, some_measures};
    use super::*;
    use crate::{Measures, PointMetric, silent};

    /// Selects rows of measures.
    fn rows_of(measures: &Measures, rows: &[usize]) -> Measures {
        let rows = rows.iter().map(|&row| measures.row(row).iter().collect::<Vec<_>>());
        Measures::from_rows(measures.points(), rows.collect::<Vec<_>>()).unwrap()
    }

    /// Cuts measures at some places into parts, some of them empty.
    fn cut(metric: &GroundMetric, measures: &Measures, cuts: &[usize]) -> Vec<Index> {
        let mut places: Vec<usize> = cuts.iter().map(|cut| cut % (measures.len() + 1)).collect();
        places.extend([0, measures.len()]);
        places.sort_unstable();
        let rows = places.windows(2).map(|ends| (ends[0]..ends[1]).collect::<Vec<_>>());
        rows.map(|rows| index_of(metric, &rows_of(measures, &rows), None)).collect()
    }

    /// Duplicates every measure, so that there are ties within and between parts.
    fn doubled(measures: &Measures) -> Measures {
        measures.followed_by(measures).unwrap()
    }

    /// Searches 1 part, then 1, 2, 4, … at a time.
    pub(in crate::search) fn nearest_in_parts<'q>(
        parts: &[&Index],
        queries: impl Into<MeasureSet<'q>>,
        k: usize,
    ) -> Result<Vec<Neighbors>> {
        let mut search = PartSearch::nearest(queries, k, Accuracy::EXACT)?;
        let (mut asked, mut rest) = (0, parts);
        while let Some(wave) =
            rest.split_off(..rest.len().min(asked.max(1))).filter(|w| !w.is_empty())
        {
            asked += wave.len();
            search.ask(wave, &silent)?;
        }
        Ok(search.finish())
    }

    /// Searches part by part.
    fn one_by_one(parts: &[Index], mut search: PartSearch<'_>) -> Vec<Neighbors> {
        for part in parts {
            search.ask(&[part], &silent).unwrap();
        }
        search.finish()
    }

    proptest! {
        // Every case builds many indexes on each of eight metrics.
        #![proptest_config(ProptestConfig::with_cases(48))]
        #[test]
        fn parts_answer_as_one_index(
            measures in some_measures(1..8), queries in some_measures(1..4), k in 0..18usize,
            cuts in proptest::collection::vec(0..20usize, 0..6),
        ) {
            let measures = doubled(&measures);
            for metric in metrics() {
                let whole = index_of(&metric, &measures, None);
                let every = whole.nearest(&queries, measures.len(), Accuracy::EXACT, &silent).unwrap();
                let expected = whole.nearest(&queries, k, Accuracy::EXACT, &silent).unwrap();
                let parts = cut(&metric, &measures, &cuts);
                let all: Vec<&Index> = parts.iter().collect();
                let waves = nearest_in_parts(&all, &queries, k).unwrap();
                let search = PartSearch::nearest(&queries, k, Accuracy::EXACT).unwrap();
                let by_one = one_by_one(&parts, search);
                let mut search = PartSearch::nearest(&queries, k, Accuracy::EXACT).unwrap();
                search.ask(&all, &silent).unwrap();
                let at_once = search.finish();
                for found in [waves, by_one, at_once] {
                    for ((found, expected), every) in found.iter().zip(&expected).zip(&every) {
                        prop_assert_eq!(&found.found, &expected.found);
                        let left = every.found.get(k).map_or(f64::INFINITY, |next| next.1);
                        prop_assert!(found.bound <= left * (1.0 + 1e-12));
                        let last = found.found.last().map_or(0.0, |last| last.1);
                        prop_assert!(found.bound >= last * (1.0 - 1e-9));
                    }
                }
            }
        }

        #[test]
        fn the_order_of_parts_does_not_matter(
            measures in some_measures(2..8), query in some_measures(1..2), k in 1..9usize,
            cuts in proptest::collection::vec(0..20usize, 1..5), epsilon in 0.0..0.5f64,
        ) {
            let measures = doubled(&measures);
            for metric in metrics() {
                let parts = cut(&metric, &measures, &cuts);
                let first = |part: usize| parts[..part].iter().map(Index::next_number).sum();
                for accuracy in [Accuracy::EXACT, Accuracy::Within(epsilon), Accuracy::Approximate] {
                    let ask = |part: usize, limit: f64| {
                        let found = parts[part]
                            .nearest_within(&query, k, &[limit], accuracy, &silent)
                            .unwrap();
                        found.into_iter().next().unwrap().numbered_from(first(part))
                    };
                    let mut full = Neighbors::none();
                    (0..parts.len()).for_each(|part| full.merge(&ask(part, f64::INFINITY), k));
                    let mut backwards = Neighbors::none();
                    for part in (0..parts.len()).rev() {
                        let limit = backwards.found.get(k - 1).map_or(f64::INFINITY, |last| last.1);
                        backwards.merge(&ask(part, limit), k);
                    }
                    prop_assert_eq!(&backwards.found, &full.found);
                    let search = PartSearch::nearest(&query, k, accuracy).unwrap();
                    prop_assert_eq!(&one_by_one(&parts, search)[0].found, &full.found);
                }
            }
        }

        #[test]
        fn a_radius_and_a_share_hold_for_all_parts(
            measures in some_measures(2..8), query in some_measures(1..2), at in 0..16usize,
            cuts in proptest::collection::vec(0..20usize, 0..5), epsilon in 0.0..0.5f64,
        ) {
            let measures = doubled(&measures);
            for metric in metrics() {
                let whole = index_of(&metric, &measures, None);
                let every = whole.nearest(&query, measures.len(), Accuracy::EXACT, &silent).unwrap();
                let parts = cut(&metric, &measures, &cuts);
                let radius = every[0].found[at % measures.len()].1;
                let expected = whole.radius(&query, radius, &silent).unwrap();
                let search = PartSearch::radius(&query, radius).unwrap();
                let within = one_by_one(&parts, search);
                prop_assert_eq!(&within[0].found, &expected[0].found);
                prop_assert!(within[0].bound >= radius);
                let search = PartSearch::nearest(&query, 3, Accuracy::Within(epsilon)).unwrap();
                let close = one_by_one(&parts, search);
                prop_assert_eq!(close[0].found.len(), 3.min(measures.len()));
                for (ours, best) in close[0].found.iter().zip(&every[0].found) {
                    prop_assert!(ours.1 <= best.1 * (1.0 + epsilon) * (1.0 + 1e-9));
                }
            }
        }
    }

    #[test]
    fn threads_do_not_matter_and_later_parts_solve_less() {
        let points: Vec<f64> = (0..120).map(|k| f64::from(k * 7919 % 101)).collect();
        let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
        let row = |row: usize| (0..5).map(move |k| ((row * 31 + k * k * 7) % 60, 0.2));
        let measures = Measures::from_rows(60, (0..400).map(row)).unwrap().normalized();
        let queries = Measures::from_rows(60, (1_000..1_003).map(row)).unwrap().normalized();
        let parts = cut(&metric, &measures, &[50, 100, 150, 200, 250, 300, 350]);
        let all: Vec<&Index> = parts.iter().collect();
        let ask = || nearest_in_parts(&all, &queries, 5).unwrap();
        let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let one = pool(1).install(ask);
        assert_eq!(one, pool(3).install(ask));
        let mut at_once = PartSearch::nearest(&queries, 5, Accuracy::EXACT).unwrap();
        at_once.ask(&all, &silent).unwrap();
        let solved = |found: &[Neighbors]| found.iter().map(|n| n.steps.exact).sum::<usize>();
        assert!(solved(&one) < solved(&at_once.finish()));
    }

    #[test]
    fn parts_may_use_few_or_many_of_the_points() {
        let points: Vec<f64> = (0..200).map(|k| f64::from(k * 7919 % 997)).collect();
        let metric = GroundMetric::from_points(1, points, PointMetric::Euclidean).unwrap();
        let row = |row: usize| (0..3).map(move |k| ((row * 41 + k * 67) % 200, 1.0));
        let measures = Measures::from_rows(200, (0..90).map(row)).unwrap().normalized();
        let queries = Measures::from_rows(200, (3..200).step_by(9).map(row)).unwrap().normalized();
        let expected = index_of(&metric, &measures, None);
        let expected = expected.nearest(&queries, 4, Accuracy::EXACT, &silent).unwrap();
        for memory in [None, Some(0)] {
            let rows: Vec<usize> = (0..90).collect();
            let sizes = [60, 61, 75, 76, 80, 90];
            let starts = [0].into_iter().chain(sizes);
            let parts: Vec<Index> = starts
                .zip(sizes)
                .map(|(from, to)| index_of(&metric, &rows_of(&measures, &rows[from..to]), memory))
                .collect();
            let all: Vec<&Index> = parts.iter().collect();
            // One thread processes large and small parts alternately.
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let mut search = PartSearch::nearest(&queries, 4, Accuracy::EXACT).unwrap();
            pool.install(|| search.ask(&all, &silent)).unwrap();
            for (found, expected) in search.finish().iter().zip(&expected) {
                assert_eq!(found.found, expected.found);
            }
        }
    }

    #[test]
    fn parts_have_to_fit_together() {
        let metric =
            |x| GroundMetric::from_points(1, vec![0.0, x], PointMetric::Euclidean).unwrap();
        let measures = Measures::from_dense(2, &[0.5, 0.5]).unwrap();
        let parts = [1.0, 1.0, 2.0].map(|x| index_of(&metric(x), &measures, None));
        let mut search = PartSearch::nearest(&measures, 1, Accuracy::EXACT).unwrap();
        assert_eq!(search.ask(&[&parts[0]], &silent).unwrap(), 0);
        let error = search.ask(&[&parts[1], &parts[2]], &silent).unwrap_err();
        assert!(matches!(error, Error::OtherGroundMetric { part: 2 }), "{error}");
        assert_eq!(search.ask(&[&parts[1]], &silent).unwrap(), 1);
        assert_eq!(search.limit(0), 0.0);
        assert_eq!(search.finish()[0].found, [(0, 0.0)]);
        let heavy = Measures::from_dense(2, &[1.0, 1.0]).unwrap();
        let mut search = PartSearch::nearest(&heavy, 1, Accuracy::EXACT).unwrap();
        assert!(search.ask(&[&parts[0]], &silent).is_err());
        assert!(PartSearch::radius(&heavy, -1.0).is_err());
        let limits = parts[0].nearest_within(&measures, 1, &[], Accuracy::EXACT, &silent);
        assert!(matches!(limits, Err(Error::Shape { .. })));
        assert!(nearest_in_parts(&[], &measures, 1).unwrap()[0] == Neighbors::none());
    }
}
