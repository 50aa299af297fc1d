//! Searches that start with bounds computed elsewhere, such as on a device that bounds many pairs
//! at once.
//!
//! The device gets the `likely` neighbors, bounds those pairs, and passes the
//! bounds to the search, where they replace all levels except the last: a measure that reaches the
//! top with such a bound is solved. The result is that of any search as long as no bound exceeds
//! the distance.

use std::ops::Range;

use super::candidates::safe;
use super::query::{AdaptRequest, SearchEnd, SearchRequest, Searcher};
use super::solved_pairs::SolvedPairs;
use super::{Index, MeasureSet, Neighbors};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::measures::Measures;
use crate::memory;
use crate::progress::tasks::SEARCHING;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Relative loss of a bound by scaling with totals: a few roundings in double precision.
const SHARES_LOSE: f64 = 1e-14;

/// Lower bounds of some distances: for every query a list of numeric IDs of measures and bounds,
/// for a total mass of 1.
#[derive(Clone, Debug, Default)]
pub struct ExternalBounds {
    start: Vec<usize>,
    /// (ID, bound), ascending by ID for every query.
    of: Vec<(usize, f64)>,
}

impl ExternalBounds {
    /// Collects the bounds of each query.
    pub fn new(queries: impl IntoIterator<Item = Vec<(usize, f64)>>) -> Self {
        let mut all = Self { start: vec![0], of: Vec::new() };
        for mut bounds in queries {
            bounds.sort_unstable_by_key(|&(number, _)| number);
            all.of.append(&mut bounds);
            all.start.push(all.of.len());
        }
        all
    }

    /// Number of queries.
    pub fn len(&self) -> usize {
        self.start.len().saturating_sub(1)
    }

    /// Checks whether there are no queries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn of_query(&self, query: usize) -> &[(usize, f64)] {
        &self.of[self.start[query]..self.start[query + 1]]
    }
}

/// Returns the bound of a measure for masses of this total, if the query has one.
pub(super) fn bound_of(bounds: &[(usize, f64)], number: usize, total: f64) -> Option<f64> {
    let place = bounds.binary_search_by_key(&number, |&(number, _)| number).ok()?;
    Some(safe(bounds[place].1 * (1.0 - SHARES_LOSE) * total))
}

/// The queries of a search: given measures, or measures of the collection.
#[derive(Clone, Copy, Debug)]
pub enum QuerySource<'a> {
    /// Given measures.
    Queries(MeasureSet<'a>),
    /// Measures of the collection, in the order of their IDs, each among the others.
    Own,
}

/// Former name of [`ExternalBounds`].
#[deprecated(since = "0.4.0", note = "renamed to `ExternalBounds`")]
pub type GivenBounds = ExternalBounds;

/// Former name of [`QuerySource`].
#[deprecated(since = "0.4.0", note = "renamed to `QuerySource`")]
pub type Asking<'a> = QuerySource<'a>;

impl Index {
    /// Returns for each query in `rows` the `count` measures with the smallest shared bounds,
    /// ascending, with these bounds for a total mass of 1. A search would refine these first.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest).
    #[doc(hidden)]
    pub fn likely(
        &self,
        source: QuerySource<'_>,
        rows: Range<usize>,
        count: usize,
        progress: &Progress<'_>,
    ) -> Result<Vec<Vec<(usize, f64)>>> {
        let request = self.request_with_bounds(SearchEnd::Count(count), Accuracy::EXACT);
        let step = format_args!("the likely neighbors of {} measures", rows.len());
        let count = count.min(self.len());
        let bytes = memory::size_of::<(usize, f64)>(&[rows.len(), count]);
        memory::check(step, bytes, "ask for some rows at a time")?;
        self.with_queries(source, &rows, request, |queries, request, is_own| {
            let counter = Counter::new(SEARCHING, rows.len(), progress);
            let one = |searcher: &mut Searcher, at: usize| {
                counter.add(1)?;
                let number = rows.start + at;
                let row = if is_own { self.row_of(number) } else { Some(number) };
                let Some(row) = row else { return Ok(Vec::new()) };
                let request = SearchRequest { skipped: is_own.then_some(row), ..request };
                searcher.likely(self, &queries.row(row), &request, count)
            };
            parallel::try_map_with(rows.len(), Searcher::default, one)
        })
    }

    /// Finds the `k` nearest measures of the queries in `rows`, as [`nearest`](Self::nearest) and
    /// [`graph`](Self::graph) do; `bounds` has bounds for each of these rows.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest); bounds for another number of queries.
    #[doc(hidden)]
    pub fn nearest_given(
        &self,
        (source, rows): (QuerySource<'_>, Range<usize>),
        k: usize,
        accuracy: Accuracy,
        bounds: &ExternalBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let request = self.request_with_bounds(SearchEnd::Count(k), accuracy);
        self.search_with_bounds(source, rows, request, bounds, progress)
    }

    /// Finds all measures within a distance of the queries in `rows`, as [`radius`](Self::radius)
    /// and [`radius_graph`](Self::radius_graph) do; `bounds` has bounds for each of these rows.
    ///
    /// # Errors
    /// Errors of [`radius`](Self::radius); bounds for another number of queries.
    #[doc(hidden)]
    pub fn radius_given(
        &self,
        (source, rows): (QuerySource<'_>, Range<usize>),
        radius: f64,
        bounds: &ExternalBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let request = self.request_with_bounds(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_with_bounds(source, rows, request, bounds, progress)
    }

    /// Requests a search that bounds measures only by their own potentials if they have any: the
    /// potential of the query takes many times as long, and the external bounds rule out what it
    /// would.
    fn request_with_bounds(&self, end: SearchEnd, accuracy: Accuracy) -> SearchRequest<'static> {
        SearchRequest { by_query: false, ..self.request(end, accuracy) }
    }

    fn search_with_bounds(
        &self,
        source: QuerySource<'_>,
        rows: Range<usize>,
        request: SearchRequest<'_>,
        bounds: &ExternalBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        if bounds.len() != rows.len() {
            let expected = "bounds for each of the queries";
            let value = format!("{} for {} queries", bounds.len(), rows.len());
            return Err(Error::BadOption { option: "given bounds", value, expected });
        }
        self.with_queries(source, &rows, request, |queries, request, is_own| {
            // The pairs that one measure of the collection has solved, for the other.
            let solved = SolvedPairs::default();
            let request = SearchRequest { solved: is_own.then_some(&solved), ..request };
            let adapt: &AdaptRequest<'_> =
                &|number, request| request.external = bounds.of_query(number - rows.start);
            self.search(queries, rows.clone(), request, is_own, adapt, progress)
        })
    }

    /// Resolves and checks the queries, then calls `search` with them.
    fn with_queries<T>(
        &self,
        source: QuerySource<'_>,
        rows: &Range<usize>,
        request: SearchRequest<'_>,
        search: impl FnOnce(&Measures, SearchRequest<'_>, bool) -> Result<T>,
    ) -> Result<T> {
        let (resolved, there) = match source {
            QuerySource::Queries(queries) => {
                let resolved = self.resolved(queries)?;
                let there = resolved.measures.len();
                (Some(resolved), there)
            }
            QuerySource::Own => (None, self.next_number),
        };
        if rows.end > there {
            return Err(Error::NoSuchMeasure { measure: rows.end - 1, measures: there });
        }
        match resolved {
            Some(resolved) => search(resolved.measures, resolved.complete(request), false),
            None => search(&self.measures, request, true),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tests::{index_of, metrics, some_measures};
    use super::*;
    use crate::{Problem, silent};

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        /// Bounds between 0 and the distance, of some measures, for queries and for the
        /// collection's own.
        #[test]
        fn neighbors_are_those_without_given_bounds(
            measures in some_measures(2..12), queries in some_measures(1..4), k in 1..6usize,
            shares in proptest::collection::vec(proptest::option::of(0.0..=1.0f64), 12),
            is_own in any::<bool>(), removed in 0..12usize,
        ) {
            for metric in metrics() {
                let mut index = index_of(&metric, &measures, None);
                index.remove(&[removed % measures.len()]).unwrap();
                let (source, request, plain) = if is_own {
                    (QuerySource::Own, &measures, index.graph(k, Accuracy::EXACT, &silent))
                } else {
                    let plain = index.nearest(&queries, k, Accuracy::EXACT, &silent);
                    (QuerySource::Queries((&queries).into()), &queries, plain)
                };
                let bounds = request.iter().map(|query| {
                    let some = index.numbers().iter().zip(&shares);
                    let some = some.filter_map(|(&number, share)| share.map(|share| (number, share)));
                    some.map(|(number, share)| {
                        let other = measures.row(number);
                        let distance = Problem::new(&metric, &query, &other).value(&silent).unwrap();
                        (number, share * distance)
                    }).collect()
                });
                let bounds = ExternalBounds::new(bounds.collect::<Vec<_>>());
                let rows = 0..request.len();
                let found =
                    index.nearest_given((source, rows), k, Accuracy::EXACT, &bounds, &silent).unwrap();
                for (ours, plain) in found.iter().zip(plain.unwrap()) {
                    prop_assert_eq!(&ours.found, &plain.found);
                }
            }
        }

        #[test]
        fn likely_neighbors_have_the_least_bounds(
            measures in some_measures(1..12), queries in some_measures(1..4), count in 0..14usize,
        ) {
            for metric in metrics() {
                let index = index_of(&metric, &measures, None);
                let source = QuerySource::Queries((&queries).into());
                let likely = index.likely(source, 0..queries.len(), count, &silent).unwrap();
                for (likely, query) in likely.iter().zip(queries.iter()) {
                    let request = index.request_with_bounds(SearchEnd::Count(count), Accuracy::EXACT);
                    let all = Searcher::default().all_bounds(&index, &query, &request).unwrap();
                    let mut all: Vec<_> =
                        all.iter().map(|&bound| f64::from(bound) * index.indexed.unit).collect();
                    all.sort_by(f64::total_cmp);
                    all.truncate(count);
                    let bounds: Vec<f64> = likely.iter().map(|&(_, bound)| bound).collect();
                    prop_assert_eq!(bounds, all);
                }
            }
        }
    }

    #[test]
    fn bounds_of_other_queries_are_refused() {
        let metric = &metrics()[0];
        let measures = Measures::from_dense(10, &[0.1; 20]).unwrap();
        let index = index_of(metric, &measures, None);
        let bounds = ExternalBounds::new([vec![]]);
        let ask = |rows| {
            index
                .nearest_given((QuerySource::Own, rows), 1, Accuracy::EXACT, &bounds, &silent)
                .unwrap_err()
        };
        assert!(ask(0..2).to_string().contains("1 for 2 queries"), "{}", ask(0..2));
        assert!(matches!(ask(2..3), Error::NoSuchMeasure { measure: 2, measures: 2 }));
    }
}
