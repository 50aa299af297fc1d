//! Searches that start with bounds computed elsewhere, such as on a device that bounds many pairs
//! at once.
//!
//! The device gets the [`likely`](Index::likely) neighbors, bounds those pairs, and passes the
//! bounds to the search, where they replace all levels except the last: a measure that reaches the
//! top with such a bound is solved. The result is that of any search as long as no bound exceeds
//! the distance.

use std::ops::Range;

use super::candidates::safe;
use super::query::{SearchEnd, SearchRequest, Searcher};
use super::solved_pairs::SolvedPairs;
use super::{Index, MeasureSet, Neighbors};
use crate::accuracy::Accuracy;
use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::memory;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::SEARCHING;

/// Relative loss of a bound by scaling with totals: a few roundings in double precision.
const SHARES_LOSE: f64 = 1e-14;

/// Lower bounds of some distances: for every query a list of numbers of measures and bounds, for a
/// total mass of 1.
#[derive(Clone, Debug, Default)]
pub struct GivenBounds {
    start: Vec<usize>,
    /// Ascending by number for every query.
    of: Vec<(usize, f64)>,
}

impl GivenBounds {
    /// Collects the bounds of each query.
    pub fn new(queries: impl IntoIterator<Item = Vec<(usize, f64)>>) -> Self {
        let mut given = Self { start: vec![0], of: Vec::new() };
        for mut bounds in queries {
            bounds.sort_unstable_by_key(|&(number, _)| number);
            given.of.append(&mut bounds);
            given.start.push(given.of.len());
        }
        given
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
pub(super) fn bound_of(given: &[(usize, f64)], number: usize, total: f64) -> Option<f64> {
    let place = given.binary_search_by_key(&number, |&(number, _)| number).ok()?;
    Some(safe(given[place].1 * (1.0 - SHARES_LOSE) * total))
}

/// The queries of a search: given measures, or measures of the collection.
#[derive(Clone, Copy, Debug)]
pub enum Asking<'a> {
    /// Given measures.
    Queries(MeasureSet<'a>),
    /// Measures of the collection, by number, each among the others.
    Own,
}

impl Index {
    /// Returns for some of the queries the `count` measures with the smallest shared bounds,
    /// ascending, with these bounds for a total mass of 1. A search would refine these first.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest).
    pub fn likely(
        &self,
        asking: Asking<'_>,
        rows: Range<usize>,
        count: usize,
        progress: &Progress<'_>,
    ) -> Result<Vec<Vec<(usize, f64)>>> {
        let asked = self.request_given(SearchEnd::Count(count), Accuracy::EXACT);
        let step = format_args!("the likely neighbors of {} measures", rows.len());
        let count = count.min(self.len());
        let bytes = memory::size_of::<(usize, f64)>(&[rows.len(), count]);
        memory::check(step, bytes, "ask for some rows at a time")?;
        self.with_queries(asking, &rows, asked, |queries, asked, is_own| {
            let counter = Counter::new(SEARCHING, rows.len(), progress);
            let one = |searcher: &mut Searcher, at: usize| {
                counter.add(1)?;
                let number = rows.start + at;
                let row = if is_own { self.row_of(number) } else { Some(number) };
                let Some(row) = row else { return Ok(Vec::new()) };
                let asked = SearchRequest { skipped: is_own.then_some(row), ..asked };
                searcher.likely(self, &queries.row(row), &asked, count)
            };
            parallel::try_map_with(rows.len(), Searcher::default, one)
        })
    }

    /// Finds the `k` nearest of some of the queries, as [`nearest`](Self::nearest) and
    /// [`graph`](Self::graph) do; `given` has bounds for each of these rows.
    ///
    /// # Errors
    /// Errors of [`nearest`](Self::nearest); bounds for another number of queries.
    pub fn nearest_given(
        &self,
        (asking, rows): (Asking<'_>, Range<usize>),
        k: usize,
        accuracy: Accuracy,
        given: &GivenBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let asked = self.request_given(SearchEnd::Count(k), accuracy);
        self.search_given(asking, rows, asked, given, progress)
    }

    /// Finds all measures within a distance of some of the queries, as [`radius`](Self::radius) and
    /// [`radius_graph`](Self::radius_graph) do; `given` has bounds for each of these rows.
    ///
    /// # Errors
    /// Errors of [`radius`](Self::radius); bounds for another number of queries.
    pub fn radius_given(
        &self,
        (asking, rows): (Asking<'_>, Range<usize>),
        radius: f64,
        given: &GivenBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        let asked = self.request_given(SearchEnd::radius(radius)?, Accuracy::EXACT);
        self.search_given(asking, rows, asked, given, progress)
    }

    /// Requests a search that bounds measures only by their own potentials if they have any: the
    /// potential of the query takes many times as long, and the given bounds rule out what it
    /// would.
    fn request_given(&self, end: SearchEnd, accuracy: Accuracy) -> SearchRequest<'static> {
        SearchRequest { by_query: false, ..self.request(end, accuracy) }
    }

    fn search_given(
        &self,
        asking: Asking<'_>,
        rows: Range<usize>,
        asked: SearchRequest<'_>,
        given: &GivenBounds,
        progress: &Progress<'_>,
    ) -> Result<Vec<Neighbors>> {
        if given.len() != rows.len() {
            let expected = "bounds for each of the queries";
            let value = format!("{} for {} queries", given.len(), rows.len());
            return Err(Error::BadOption { option: "given bounds", value, expected });
        }
        self.with_queries(asking, &rows, asked, |queries, asked, is_own| {
            let of_query = |number: usize| given.of_query(number - rows.start);
            // The pairs that one measure of the collection has solved, for the other.
            let solved = SolvedPairs::default();
            let asked = SearchRequest { solved: is_own.then_some(&solved), ..asked };
            self.search(queries, rows.clone(), asked, is_own, Some(&of_query), progress)
        })
    }

    /// Resolves and checks the queries, then calls `search` with them.
    fn with_queries<T>(
        &self,
        asking: Asking<'_>,
        rows: &Range<usize>,
        asked: SearchRequest<'_>,
        search: impl FnOnce(&Measures, SearchRequest<'_>, bool) -> Result<T>,
    ) -> Result<T> {
        let (resolved, there) = match asking {
            Asking::Queries(queries) => {
                let resolved = self.resolved(queries)?;
                let there = resolved.measures.len();
                (Some(resolved), there)
            }
            Asking::Own => (None, self.next_number),
        };
        if rows.end > there {
            return Err(Error::NoSuchMeasure { measure: rows.end - 1, measures: there });
        }
        match resolved {
            Some(resolved) => search(resolved.measures, resolved.asked(asked), false),
            None => search(&self.measures, asked, true),
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
                let (asking, asked, plain) = if is_own {
                    (Asking::Own, &measures, index.graph(k, Accuracy::EXACT, &silent))
                } else {
                    let plain = index.nearest(&queries, k, Accuracy::EXACT, &silent);
                    (Asking::Queries((&queries).into()), &queries, plain)
                };
                let bounds = asked.iter().map(|query| {
                    let some = index.numbers().iter().zip(&shares);
                    let some = some.filter_map(|(&number, share)| share.map(|share| (number, share)));
                    some.map(|(number, share)| {
                        let other = measures.row(number);
                        let distance = Problem::new(&metric, &query, &other).value(&silent).unwrap();
                        (number, share * distance)
                    }).collect()
                });
                let given = GivenBounds::new(bounds.collect::<Vec<_>>());
                let rows = 0..asked.len();
                let found =
                    index.nearest_given((asking, rows), k, Accuracy::EXACT, &given, &silent).unwrap();
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
                let asking = Asking::Queries((&queries).into());
                let likely = index.likely(asking, 0..queries.len(), count, &silent).unwrap();
                for (likely, query) in likely.iter().zip(queries.iter()) {
                    let asked = index.request_given(SearchEnd::Count(count), Accuracy::EXACT);
                    let all = Searcher::default().all_bounds(&index, &query, &asked).unwrap();
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
        let given = GivenBounds::new([vec![]]);
        let ask = |rows| {
            index
                .nearest_given((Asking::Own, rows), 1, Accuracy::EXACT, &given, &silent)
                .unwrap_err()
        };
        assert!(ask(0..2).to_string().contains("1 for 2 queries"), "{}", ask(0..2));
        assert!(matches!(ask(2..3), Error::NoSuchMeasure { measure: 2, measures: 2 }));
    }
}
