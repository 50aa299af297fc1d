use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::error::Error;
use crate::measures::Measure;
use crate::{PointMetric, Problem, silent};

/// Metrics of many kinds over ten points: some at distance 0 of each other, one matrix without the
/// triangle inequality, lengths far from 1.
pub(super) fn metrics() -> Vec<GroundMetric> {
    let n = 10;
    let coordinates: Vec<f64> = (0..2 * n).map(|k| ((k * 7919) % 13) as f64 - 5.5).collect();
    let scaled = |by: f64| coordinates.iter().map(|x| x * by).collect::<Vec<_>>();
    let points = |by: f64, metric| GroundMetric::from_points(2, scaled(by), metric).unwrap();
    let pairs = n * (n - 1) / 2;
    let odd: Vec<f64> = (0..pairs).map(|k| f64::from((k * 31 % 17) as u32)).collect();
    let edges: Vec<_> = (1..n).map(|i| (i / 2, i, f64::from(i as u32 % 3))).collect();
    vec![
        points(1.0, PointMetric::Euclidean),
        points(1e-200, PointMetric::Manhattan),
        points(1e150, PointMetric::Euclidean),
        points(1.0, PointMetric::Cosine),
        GroundMetric::from_condensed(n, odd).unwrap(),
        GroundMetric::from_condensed(n, vec![0.0; pairs]).unwrap(),
        GroundMetric::from_edges(n, &edges).unwrap(),
        GroundMetric::discrete(n).unwrap(),
    ]
}

/// Measures on ten points, many of them equal or with equal parts.
pub(super) fn some_measures(count: std::ops::Range<usize>) -> impl Strategy<Value = Measures> {
    let mass = prop_oneof![Just(0.0), Just(0.0), Just(1.0), Just(2.0), Just(1e-9), 0.0..1.0];
    let row = vec(mass, 10).prop_map(|mut row: Vec<f64>| {
        row[3] += 0.25;
        row
    });
    vec(row, count).prop_map(|rows| {
        Measures::from_dense(10, &rows.concat()).expect("rows of ten").normalized()
    })
}

/// Distances of a query to all measures, sorted as neighbors are.
fn brute(metric: &GroundMetric, measures: &Measures, query: &Measure<'_>) -> Vec<(usize, f64)> {
    let distance =
        |j: usize| (j, Problem::new(metric, query, &measures.row(j)).value(&silent).unwrap());
    let mut all: Vec<_> = (0..measures.len()).map(distance).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    all
}

pub(super) fn assert_close(found: &[(usize, f64)], expected: &[(usize, f64)]) {
    assert_eq!(found.len(), expected.len());
    for (a, b) in found.iter().zip(expected) {
        assert!((a.1 - b.1).abs() <= 1e-9 * b.1, "{found:?}, expected {expected:?}");
    }
}

pub(super) fn index_of(metric: &GroundMetric, measures: &Measures, memory: Option<u64>) -> Index {
    let options = IndexOptions { memory, reference: 5, penalty: None };
    Index::new(metric, measures, &options, &silent).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Separate rows share no solved pairs; the totals of some measures differ by more than
    /// rounding.
    #[test]
    fn pairs_solved_once_are_those_solved_twice(
        measures in some_measures(2..12), k in 1..6usize, share in 0.0..1.0f64,
    ) {
        let rows = measures.iter().enumerate().map(|(row, measure)| {
            let factor = if row % 3 == 0 { 1.0 + 3e-10 } else { 1.0 };
            measure.iter().map(|(point, mass)| (point, mass * factor)).collect::<Vec<_>>()
        });
        let measures = Measures::from_rows(10, rows.collect::<Vec<_>>()).unwrap();
        for metric in metrics() {
            let index = index_of(&metric, &measures, None);
            let graph = index.graph(k, Accuracy::EXACT, &silent).unwrap();
            let radius = share * graph.iter().flat_map(|of| &of.found).fold(0.0, |most: f64, f| most.max(f.1));
            let near = index.radius_graph(radius, &silent).unwrap();
            for row in 0..measures.len() {
                let alone = index.graph_rows(row..row + 1, k, Accuracy::EXACT, &silent).unwrap();
                prop_assert_eq!(&alone[0], &graph[row]);
                let alone = index.radius_graph_rows(row..row + 1, radius, &silent).unwrap();
                prop_assert_eq!(&alone[0], &near[row]);
            }
        }
    }
}

proptest! {
    #[test]
    fn neighbors_are_those_of_solving_every_pair(
        measures in some_measures(1..12), queries in some_measures(1..4), k in 1..14usize,
        kept in any::<bool>(),
    ) {
        for metric in metrics() {
            let index = index_of(&metric, &measures, (!kept).then_some(0));
            prop_assert_eq!(index.potentials.len() > 0, kept);
            let found = index.nearest(&queries, k, Accuracy::EXACT, &silent).unwrap();
            for (found, query) in found.iter().zip(queries.iter()) {
                let all = brute(&metric, &measures, &query);
                let k = k.min(all.len());
                assert_close(&found.found, &all[..k]);
                // No omitted measure is nearer than the bound.
                let left = all.get(k).map_or(f64::INFINITY, |next| next.1);
                prop_assert!(found.bound <= left * (1.0 + 1e-12), "{} {left}", found.bound);
                prop_assert!(found.bound >= all[k - 1].1 * (1.0 - 1e-9));
            }
        }
    }

    #[test]
    fn no_bound_is_above_the_distance(
        measures in some_measures(1..12), query in some_measures(1..2), kept in any::<bool>(),
    ) {
        for metric in metrics() {
            let index = index_of(&metric, &measures, (!kept).then_some(0));
            let query = query.row(0);
            let mut searcher = Searcher::default();
            let request = index.request(SearchEnd::Count(1), crate::Accuracy::EXACT);
            let shared = searcher.all_bounds(&index, &query, &request).unwrap();
            let rough = index.nearest(&Measures::from_rows(10, [query.iter()]).unwrap(),
                measures.len(), Accuracy::Approximate, &silent).unwrap();
            for (j, distance) in brute(&metric, &measures, &query) {
                let bound = f64::from(shared[j]) * index.indexed.unit;
                prop_assert!(bound <= distance * (1.0 + 1e-12), "{j}: {bound} {distance}");
                let found = rough[0].found.iter().find(|found| found.0 == j).unwrap();
                prop_assert!((found.1 - distance).abs() <= 1e-9 * distance, "{found:?} {distance}");
            }
        }
    }

    /// Whatever a search leaves out without a proof, or for lack of time: distances are exact, and
    /// nothing else is nearer than the bound.
    #[test]
    fn candidates_have_exact_distances_and_a_bound(
        measures in some_measures(1..14), query in some_measures(1..2), k in 1..5usize,
        added in some_measures(1..3),
    ) {
        for metric in metrics() {
            let mut index = index_of(&metric, &measures, None);
            let hour = Duration::from_secs(3600);
            for round in 0..2 {
                let ask = |time, accuracy| {
                    index.nearest_in(time, &query, k, accuracy, &silent).unwrap().remove(0)
                };
                let approximate = index.nearest(&query, k, Accuracy::Approximate, &silent).unwrap();
                let exact = index.nearest(&query, k, Accuracy::EXACT, &silent).unwrap();
                prop_assert_eq!(&ask(hour, Accuracy::EXACT), &exact[0]);
                prop_assert_eq!(&ask(hour, Accuracy::Approximate), &approximate[0]);
                let late = ask(Duration::ZERO, Accuracy::EXACT);
                prop_assert_eq!(late.steps.exact, late.found.len());
                let all = brute(&metric, index.measures(), &query.row(0));
                for found in [&approximate[0], &late] {
                    prop_assert_eq!(found.found.len(), k.min(index.len()));
                    prop_assert!(found.found.is_sorted_by(|a, b| a.1 <= b.1));
                    for &(j, distance) in &all {
                        match found.found.iter().find(|found| found.0 == j) {
                            Some(found) => {
                                prop_assert!((found.1 - distance).abs() <= 1e-9 * distance);
                            }
                            None => prop_assert!(found.bound <= distance * (1.0 + 1e-9)),
                        }
                    }
                }
                if round == 0 {
                    index.add(&added, &silent).unwrap();
                }
            }
        }
    }

    #[test]
    fn within_is_as_near_as_it_says(
        measures in some_measures(2..12), queries in some_measures(1..4), epsilon in 0.0..0.5f64,
    ) {
        for metric in metrics() {
            let index = index_of(&metric, &measures, None);
            let found = index.nearest(&queries, 3, Accuracy::Within(epsilon), &silent).unwrap();
            for (found, query) in found.iter().zip(queries.iter()) {
                let all = brute(&metric, &measures, &query);
                for (ours, best) in found.found.iter().zip(&all) {
                    prop_assert!(ours.1 <= best.1 * (1.0 + epsilon) * (1.0 + 1e-9));
                    let own = all.iter().find(|other| other.0 == ours.0).unwrap();
                    prop_assert!((own.1 - ours.1).abs() <= 1e-9 * own.1, "its own distance");
                }
            }
        }
    }

    #[test]
    fn a_radius_holds_all_that_are_within(
        measures in some_measures(1..12), queries in some_measures(1..3), at in 0..12usize,
    ) {
        for metric in metrics() {
            let index = index_of(&metric, &measures, None);
            let all = brute(&metric, &measures, &queries.row(0));
            let radius = all[at % all.len()].1 * (1.0 + 1e-9);
            let expected: Vec<_> = all.into_iter().filter(|other| other.1 <= radius).collect();
            let found = index.radius(&queries, radius, &silent).unwrap();
            assert_close(&found[0].found, &expected);
            prop_assert!(found[0].bound >= radius);
        }
    }

    #[test]
    fn added_and_removed_measures_count(
        first in some_measures(1..6), second in some_measures(1..6), query in some_measures(1..2),
        removed in 0..12usize, kept in any::<bool>(),
    ) {
        for metric in metrics() {
            let mut index = index_of(&metric, &first, (!kept).then_some(0));
            prop_assert_eq!(index.add(&second, &silent).unwrap(), first.len());
            let all = first.followed_by(&second).unwrap();
            let removed = removed % all.len();
            index.remove(&[removed]).unwrap();
            prop_assert!(index.remove(&[removed]).is_err());
            prop_assert_eq!(index.len(), all.len() - 1);
            let mut expected = brute(&metric, &all, &query.row(0));
            expected.retain(|other| other.0 != removed);
            let found = index.nearest(&query, 12, Accuracy::EXACT, &silent).unwrap();
            assert_close(&found[0].found, &expected);
            prop_assert!(found[0].found.iter().all(|found| found.0 != removed));
        }
    }
}

/// Points in the plane with distinct distances.
fn plane(points: usize) -> GroundMetric {
    let coordinates = (0..2 * points).map(|k| (k as f64 * 0.7).sin() * 10.0).collect();
    GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap()
}

#[test]
fn a_search_after_removal_gives_the_answers_of_before() {
    for (metric, points, count) in [(plane(300), 300, 2101), (large_grid(), 4096, 90)] {
        let removed = [0, 3, 4, 17, 2047, 2048, 2100].map(|number| number % count);
        let (measures, queries) = (drawn(points, 6, 0..count), drawn(points, 6, count..count + 6));
        let mut index = index_of(&metric, &measures, None);
        let before = index.nearest(&queries, 40, Accuracy::EXACT, &silent).unwrap();
        let close = before.iter().flat_map(|found| [found.found[0].0, found.found[7].0]);
        let mut removed: Vec<usize> = close.chain(removed).collect();
        removed.sort_unstable();
        removed.dedup();
        index.remove(&removed).unwrap();
        let after = index.nearest(&queries, 20, Accuracy::EXACT, &silent).unwrap();
        for (before, after) in before.into_iter().zip(after) {
            let mut expected = before.found;
            expected.retain(|(number, _)| !removed.contains(number));
            assert_eq!(after.found, expected[..20]);
            assert!(after.bound <= expected[20].1);
        }
    }
}

#[test]
fn the_last_of_a_kind_and_all_can_be_removed() {
    let metric = plane(60);
    // A measure whose points are not in the reference.
    let alone = Measures::from_rows(60, [[(58, 0.5), (59, 0.5)]]).unwrap();
    let others = drawn(58, 9, 0..2000);
    let others = Measures::from_rows(60, others.iter().map(|m| m.iter())).unwrap();
    let mut index = index_of(&metric, &others.followed_by(&alone).unwrap(), None);
    index.remove(&(0..2000).collect::<Vec<_>>()).unwrap();
    let found = index.nearest(&alone, 5, Accuracy::EXACT, &silent).unwrap();
    assert_eq!(found[0].found, [(2000, 0.0)]);
    index.remove(&[2000]).unwrap();
    assert!(index.is_empty() && index.remove(&[2000]).is_err());
    assert!(index.nearest(&alone, 5, Accuracy::EXACT, &silent).unwrap()[0].found.is_empty());
    assert_eq!(index.add(&alone, &silent).unwrap(), 2001);
    let found = index.nearest(&alone, 5, Accuracy::EXACT, &silent).unwrap();
    assert_eq!(found[0].found, [(2001, 0.0)]);
}

/// A grid whose distances are not all cached.
fn large_grid() -> GroundMetric {
    let side = 64;
    let node = |x: usize, y: usize| x * side + y;
    let mut edges = Vec::new();
    for x in 0..side {
        for y in 0..side {
            let weight = 1.0 + ((x * 7 + y * 13) % 5) as f64;
            edges.extend((x + 1 < side).then(|| (node(x, y), node(x + 1, y), weight)));
            edges.extend((y + 1 < side).then(|| (node(x, y), node(x, y + 1), weight + 0.5)));
        }
    }
    GroundMetric::from_edges(side * side, &edges).unwrap()
}

fn drawn(points: usize, support: usize, rows: std::ops::Range<usize>) -> Measures {
    let row = |row: usize| {
        (0..support).map(move |k| {
            let at = (row * 7919 + k * (row + 3) * 104_729) % points;
            (at, 1.0 + ((row + k) % 4) as f64)
        })
    };
    Measures::from_rows(points, rows.map(row)).unwrap().normalized()
}

#[test]
fn a_large_graph_is_searched() {
    let metric = large_grid();
    let (measures, queries) = (drawn(4096, 6, 0..60), drawn(4096, 6, 60..63));
    let index = index_of(&metric, &measures, None);
    assert!(index.indexed.by_search);
    let found = index.nearest(&queries, 5, Accuracy::EXACT, &silent).unwrap();
    for (found, query) in found.iter().zip(queries.iter()) {
        assert_close(&found.found, &brute(&metric, &measures, &query)[..5]);
        assert!(found.steps.exact < 30, "{:?}", found.steps);
    }
}

#[test]
fn a_collection_on_few_of_many_points_knows_others_too() {
    let coordinates: Vec<f64> = (0..600).map(|k| f64::from((k * 7919) % 503)).collect();
    let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
    let few = drawn(40, 5, 0..50);
    let measures = Measures::from_rows(300, few.iter().map(|row| row.iter())).unwrap();
    let queries = drawn(300, 5, 50..55);
    let mut index = index_of(&metric, &measures, None);
    assert!(index.indexed.points.len() < 300 && index.potentials.len() == 50);
    let found = index.nearest(&queries, 4, Accuracy::EXACT, &silent).unwrap();
    for (found, query) in found.iter().zip(queries.iter()) {
        assert_close(&found.found, &brute(&metric, &measures, &query)[..4]);
    }
    // Measures on other points can be added.
    index.add(&queries, &silent).unwrap();
    let again = index.nearest(&queries, 1, Accuracy::EXACT, &silent).unwrap();
    let own: Vec<_> = again.iter().map(|found| found.found[0]).collect();
    assert_eq!(own, (50..55).map(|number| (number, 0.0)).collect::<Vec<_>>());
}

#[test]
fn totals_and_lengths_near_the_end_of_the_range_lose_nothing() {
    let n = 10;
    let pairs = n * (n - 1) / 2;
    let far: Vec<f64> = (0..pairs).map(|k| 1e300 * (1.0 + (k * 31 % 17) as f64 / 17.0)).collect();
    let metric = GroundMetric::from_condensed(n, far).unwrap();
    let heavy = |measures: Measures| {
        let rows = measures.iter().map(|m| m.iter().map(|(p, x)| (p, 1e7 * x)).collect::<Vec<_>>());
        Measures::from_rows(n, rows.collect::<Vec<_>>()).unwrap()
    };
    let (measures, queries) = (heavy(drawn(n, 4, 0..30)), heavy(drawn(n, 4, 30..33)));
    let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent).unwrap();
    let found = index.nearest(&queries, 5, Accuracy::EXACT, &silent).unwrap();
    for (found, query) in found.iter().zip(queries.iter()) {
        let all = brute(&metric, &measures, &query);
        assert_close(&found.found, &all[..5]);
        let within = index.radius(&queries, all[4].1, &silent).unwrap();
        assert!(!within[0].found.is_empty());
    }
}

#[test]
fn a_graph_that_learns_its_distances_later_goes_on() {
    let metric = large_grid();
    let (measures, queries) = (drawn(4096, 6, 0..20), drawn(4096, 6, 20..22));
    let index = index_of(&metric, &measures, None);
    let before = index.nearest(&queries, 3, Accuracy::EXACT, &silent).unwrap();
    metric.materialize(&silent).unwrap();
    let after = index.nearest(&queries, 3, Accuracy::EXACT, &silent).unwrap();
    for (before, after) in before.iter().zip(&after) {
        assert_close(&after.found, &before.found);
    }
}

#[test]
fn what_could_not_be_added_was_never_there() {
    let metric = metrics().swap_remove(0);
    let (measures, more) = (drawn(10, 4, 0..9), drawn(10, 4, 9..14));
    let mut index = index_of(&metric, &measures, None);
    let before = index.nearest(&more, 4, Accuracy::EXACT, &silent).unwrap();
    assert!(matches!(index.add(&more, &|_| false), Err(Error::Canceled)));
    assert!(index.add(&drawn(11, 4, 0..2), &silent).is_err());
    assert_eq!(index.len(), 9);
    assert_eq!(index.nearest(&more, 4, Accuracy::EXACT, &silent).unwrap(), before);
    assert_eq!(index.add(&more, &silent).unwrap(), 9);
    assert_eq!(index.nearest(&more, 1, Accuracy::EXACT, &silent).unwrap()[2].found[0].1, 0.0);
}

#[test]
fn names_are_for_all_measures_or_for_none() {
    let names = |numbers: std::ops::Range<usize>| numbers.map(|n| format!("S{n:03}")).collect();
    let named =
        |rows: std::ops::Range<usize>| drawn(10, 4, rows.clone()).with_names(names(rows)).unwrap();
    let metric = metrics().swap_remove(0);
    let mut index = index_of(&metric, &named(0..9), None);
    assert!(matches!(index.add(&drawn(10, 4, 9..11), &silent), Err(Error::UnnamedMeasures)));
    let twice = index.add(&named(8..10), &silent).unwrap_err();
    assert!(matches!(&twice, Error::MeasureNamedTwice { name } if name == "S008"), "{twice}");
    assert_eq!(index.len(), 9);
    let numbers = index.numbers_of(&["S008".into(), "3".into()]).unwrap();
    index.remove(&numbers).unwrap();
    assert_eq!(index.add(&named(8..10), &silent).unwrap(), 9);
    let mut expected: Vec<String> = names(0..10);
    expected.remove(3);
    assert_eq!(index.measures().names(), Some(&expected[..]));
    assert_eq!(index.numbers_of(&["S009".into()]).unwrap(), [10]);
    let missing = index.numbers_of(&["S003".into()]).unwrap_err();
    assert!(matches!(&missing, Error::NoMeasureCalled { name } if name == "S003"), "{missing}");
    let mut plain = index_of(&metric, &drawn(10, 4, 0..9), None);
    plain.add(&named(9..10), &silent).unwrap();
    assert_eq!(plain.measures().names(), None);
    let both = named(0..2).with_names(vec!["x".into(), "x".into()]).unwrap();
    let refused = Index::new(&metric, &both, &IndexOptions::default(), &silent);
    assert!(matches!(refused, Err(Error::MeasureNamedTwice { .. })));
}

#[test]
fn measures_may_have_any_ascending_numbers() {
    let metric = metrics().swap_remove(0);
    let mut index = index_of(&metric, &drawn(10, 4, 0..3), None);
    for (numbers, next) in [(vec![0, 2], 9), (vec![0, 2, 2], 9), (vec![0, 2, 9], 9)] {
        assert!(index.set_numbers(numbers, next).is_err());
    }
    index.set_numbers(vec![1, 4, 7], 9).unwrap();
    let found = index.graph(1, Accuracy::EXACT, &silent).unwrap();
    assert_eq!(found.len(), 9);
    assert!((0..9).all(|number| found[number].found.is_empty() != [1, 4, 7].contains(&number)));
    assert_eq!(index.add(&drawn(10, 4, 3..4), &silent).unwrap(), 9);
}

#[test]
fn the_graph_is_the_neighbors_of_each_among_the_others() {
    let metric = metrics().swap_remove(0);
    let measures = drawn(10, 4, 0..20);
    let mut index = index_of(&metric, &measures, None);
    index.remove(&[7]).unwrap();
    let graph = index.graph(3, Accuracy::EXACT, &silent).unwrap();
    assert!(graph[7].found.is_empty());
    for rows in [0..0, 5..9, 13..20] {
        let some = index.graph_rows(rows.clone(), 3, Accuracy::EXACT, &silent).unwrap();
        assert_eq!(some, graph[rows]);
    }
    assert!(index.graph_rows(19..21, 3, Accuracy::EXACT, &silent).is_err());
    for number in (0..20).filter(|&number| number != 7) {
        let mut expected = brute(&metric, &measures, &measures.row(number));
        expected.retain(|other| other.0 != number && other.0 != 7);
        assert_close(&graph[number].found, &expected[..3]);
        let radius = expected[5].1 * (1.0 + 1e-9);
        expected.retain(|other| other.1 <= radius);
        let within = index.radius_graph(radius, &silent).unwrap();
        assert_close(&within[number].found, &expected);
        assert!(within[7].found.is_empty());
        assert_eq!(index.radius_graph_rows(6..8, radius, &silent).unwrap(), within[6..8]);
    }
    assert!(index.radius_graph(-1.0, &silent).is_err());
}

#[test]
fn any_number_of_threads_finds_the_same() {
    let metric = metrics().swap_remove(0);
    let (measures, queries) = (drawn(10, 4, 0..40), drawn(10, 4, 40..60));
    let on = |threads: usize, accuracy| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let index = index_of(&metric, &measures, None);
            index.nearest(&queries, 5, accuracy, &silent).unwrap()
        })
    };
    let graph_on = |threads: usize, accuracy| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let index = index_of(&metric, &measures, None);
        pool.install(|| index.graph(5, accuracy, &silent).unwrap())
    };
    for accuracy in [Accuracy::EXACT, Accuracy::Within(0.1), Accuracy::Approximate] {
        assert_eq!(on(1, accuracy), on(3, accuracy));
        assert_eq!(graph_on(1, accuracy), graph_on(3, accuracy));
    }
}

/// A table whose unit is that of an outlier that no measure has; scaling its distances in single
/// precision overflowed once.
#[test]
fn a_far_point_of_a_table_does_not_raise_bounds() {
    // A, C, E, B and D.
    let table = |a: usize, b: usize| match (a.min(b), a.max(b)) {
        (_, 4) => 1e40,
        (0, 3) => 1.0,
        (_, 2) | (2, _) => 1e12,
        _ => 1e10,
    };
    let pairs = (0..5).flat_map(|a| (a + 1..5).map(move |b| table(a, b)));
    let metric = GroundMetric::from_condensed(5, pairs.collect()).unwrap();
    let single = |at: &[usize]| Measures::unit_masses(5, at.iter().copied()).unwrap();
    for order in [[0, 1, 2, 3], [0, 2, 1, 3]] {
        let measures = single(&order);
        for memory in [None, Some(0)] {
            let options = IndexOptions { memory, ..IndexOptions::default() };
            let index = Index::new(&metric, &measures, &options, &silent).unwrap();
            let found = index.nearest(&single(&[0]), 3, Accuracy::EXACT, &silent).unwrap();
            assert_close(&found[0].found, &brute(&metric, &measures, &single(&[0]).row(0))[..3]);
            assert!(found[0].bound <= 1e12, "{}", found[0].bound);
            let near = index.radius(&single(&[0]), 1e11, &silent).unwrap();
            assert_eq!(near[0].found.len(), 3);
        }
    }
}

#[test]
fn few_pairs_are_solved() {
    let coordinates: Vec<f64> = (0..900).map(|k| (f64::from(k) * 0.7).sin() * 10.0).collect();
    let metric = GroundMetric::from_points(3, coordinates, PointMetric::Euclidean).unwrap();
    let (measures, queries) = (drawn(300, 12, 0..400), drawn(300, 12, 400..420));
    let index = index_of(&metric, &measures, None);
    let found = index.nearest(&queries, 5, Accuracy::EXACT, &silent).unwrap();
    let solved: usize = found.iter().map(|found| found.steps.exact).sum();
    assert!(solved < 20 * 5 * 4, "{solved} solves for 20 queries");
    let recall = index.expected_recall(5, &silent).unwrap();
    assert!((0.5..=1.0).contains(&recall), "{recall}");
}

#[test]
fn bad_questions_are_refused() {
    let metric = metrics().swap_remove(0);
    let measures = drawn(10, 4, 0..5);
    let index = index_of(&metric, &measures, None);
    let heavy = Measures::from_dense(10, &[1.0; 10]).unwrap();
    let ask = |queries: &Measures, accuracy| index.nearest(queries, 3, accuracy, &silent);
    assert!(matches!(ask(&heavy, Accuracy::EXACT), Err(Error::Unbalanced { .. })));
    let other = Measures::from_dense(2, &[0.5, 0.5]).unwrap();
    assert!(matches!(ask(&other, Accuracy::EXACT), Err(Error::PointCount { .. })));
    for epsilon in [-0.1, f64::NAN, f64::INFINITY] {
        assert!(matches!(
            ask(&measures, Accuracy::Within(epsilon)),
            Err(Error::UnknownName { .. })
        ));
    }
    assert!(index.radius(&measures, f64::NAN, &silent).is_err());
    assert!(index.radius(&measures, -1.0, &silent).is_err());
    let stopped = index.nearest(&measures, 3, Accuracy::EXACT, &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
    let options = IndexOptions::default();
    assert!(matches!(
        Index::new(&metric, &other, &options, &silent),
        Err(Error::PointCount { .. })
    ));
    let none = Measures::from_dense(10, &[]).unwrap();
    let empty = Index::new(&metric, &none, &options, &silent).unwrap();
    assert!(empty.is_empty());
    let found = empty.nearest(&measures, 3, Accuracy::EXACT, &silent).unwrap();
    assert!(found.iter().all(|found| found.found.is_empty() && found.bound == f64::INFINITY));
}

#[cfg(feature = "io")]
mod files {
    use super::*;
    use crate::io::format::{Input, InputKind};

    fn names(count: usize) -> Vec<String> {
        (0..count).map(|i| format!("n{i}")).collect()
    }

    fn whole(metric: &GroundMetric, memory: Option<u64>) -> IndexFile {
        let measures = drawn(10, 4, 0..9).with_names(names(9)).unwrap();
        let mut index = index_of(metric, &measures, memory);
        index.remove(&[4]).unwrap();
        IndexFile { index, point_names: Some(names(10)) }
    }

    #[test]
    fn an_index_comes_back_whole() {
        let queries = drawn(10, 4, 9..14);
        for metric in metrics() {
            for memory in [None, Some(0)] {
                let file = whole(&metric, memory);
                let bytes = file.to_bytes().unwrap();
                let again = IndexFile::from_bytes(&bytes).unwrap();
                assert_eq!(again.to_bytes().unwrap(), bytes);
                assert_eq!(again.index.measures().names(), file.index.measures().names());
                assert_eq!(again.index.numbers(), [0, 1, 2, 3, 5, 6, 7, 8]);
                assert_eq!(again.index.next_number(), 9);
                assert_eq!(again.point_names, file.point_names);
                let ask = |index: &Index| index.nearest(&queries, 5, Accuracy::EXACT, &silent);
                assert_eq!(ask(&again.index).unwrap(), ask(&file.index).unwrap());
            }
        }
    }

    fn size(index: Index) -> (Index, usize) {
        let file = IndexFile { index, point_names: None };
        let bytes = file.to_bytes().unwrap().len();
        (file.index, bytes)
    }

    #[test]
    fn removed_measures_are_gone_from_memory_and_file() {
        let metric = plane(120);
        let measures = drawn(120, 9, 0..2000);
        let mut index = index_of(&metric, &measures, None);
        let removed: Vec<usize> = (0..2000).filter(|&number| number != 1234).collect();
        index.remove(&removed).unwrap();
        let only = measures.select(&[1234]).unwrap();
        let fresh = index_of(&metric, &only, None);
        assert_eq!(
            (index.measures(), index.numbers(), index.next_number()),
            (&only, &[1234][..], 2000)
        );
        assert_eq!((index.indexed.used, index.potentials.len(), index.own_duals.len()), (9, 1, 9));
        let (fresh, few) = (size(fresh).1, size(index).1);
        assert!(few < fresh * 3 / 2, "{few} bytes, and {fresh} where there was never another");
    }

    #[test]
    fn rounds_of_adding_and_removing_do_not_grow() {
        let metric = plane(60);
        let measures = drawn(60, 9, 0..50);
        let mut index = index_of(&metric, &measures, None);
        let mut sizes = Vec::new();
        for _ in 0..40 {
            let first = index.add(&drawn(60, 9, 50..70), &silent).unwrap();
            let (again, bytes) = size(index);
            index = again;
            sizes.push((index.bytes(), bytes / 100));
            index.remove(&(first..first + 20).collect::<Vec<_>>()).unwrap();
        }
        // Numbers grow by a digit or two.
        assert!(sizes[1..].iter().all(|size| *size == sizes[1]), "{sizes:?}");
        assert_eq!((index.len(), index.next_number()), (50, 850));
        assert_eq!(index.measures(), &measures);
    }

    #[test]
    fn nothing_of_a_removed_measure_is_in_the_bytes() {
        let metric = plane(60);
        let odd = Measures::from_rows(60, [[(7, 0.125_001), (58, 0.874_999)]]).unwrap();
        let measures = drawn(58, 9, 0..30);
        let measures = Measures::from_rows(60, measures.iter().map(|m| m.iter())).unwrap();
        let all = measures.followed_by(&odd).unwrap();
        let names = (0..31).map(|k| format!("person {k}")).collect();
        let index = index_of(&metric, &all.with_names(names).unwrap(), None);
        let mut file = IndexFile { index, point_names: None };
        let holds = |file: &IndexFile| {
            let bytes = file.to_bytes().unwrap();
            let has = |part: &[u8]| bytes.windows(part.len()).any(|bytes| bytes == part);
            has(&0.125_001_f64.to_le_bytes()) || has(b"person 30")
        };
        assert!(holds(&file));
        file.index.remove(&[30]).unwrap();
        assert!(!holds(&file));
        let (indexed, reference) = (&file.index.indexed, &file.index.reference);
        assert!(!indexed.points.contains(&58) && !reference.points.contains(&58));
    }

    #[test]
    fn no_byte_can_change_unnoticed() {
        let metric = metrics().swap_remove(0);
        let good = whole(&metric, None).to_bytes().unwrap();
        for at in 0..good.len() {
            let mut bytes = good.clone();
            bytes[at] ^= 1;
            // Whitespace may change; decoded content may not.
            if let Ok(read) = IndexFile::from_bytes(&bytes) {
                assert_eq!(read.to_bytes().unwrap(), good, "byte {at}");
            }
        }
        for end in (0..good.len()).step_by(7) {
            assert!(IndexFile::from_bytes(&good[..end]).is_err());
        }
    }

    #[test]
    fn other_files_are_told_apart() {
        let tree = crate::Tree::from_newick("(a:1,b:2);").unwrap();
        let error = IndexFile::from_bytes(&tree.to_bytes().unwrap()).unwrap_err();
        assert!(matches!(error, Error::NotAnIndex { .. }), "{error}");
        let index = whole(&metrics()[0], None).to_bytes().unwrap();
        let error = crate::Tree::from_bytes(&index).unwrap_err().to_string();
        assert!(error.contains("holds an index of measures"), "{error}");
    }

    #[test]
    fn a_file_is_an_index_or_a_model() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let index = whole(&metrics()[0], None);
        index.save(at("an.index")).unwrap();
        let tree = crate::Tree::from_newick("(a:1,b:2);").unwrap();
        tree.save(at("a.tree")).unwrap();
        std::fs::write(at("b.nwk"), "(a:1,b:2);").unwrap();
        let Ok(SavedFile::Index(read)) = SavedFile::read(at("an.index"), None) else {
            panic!("it is an index")
        };
        assert_eq!(read.to_bytes().unwrap(), index.to_bytes().unwrap());
        let names = ["x".to_owned(), "y".to_owned()];
        let Ok(SavedFile::Model(read)) = SavedFile::read(at("a.tree"), Some(&names)) else {
            panic!("it is a tree")
        };
        assert_eq!(read.model.names(), Some(&names[..]));
        let read = SavedFile::read(at("b.nwk"), None).unwrap();
        assert!(matches!(read, SavedFile::Model(read) if read.model.points() == 2));
        for bytes in [tree.to_bytes().unwrap(), b"(a:1,b:2);".to_vec()] {
            let input = Input::from_bytes("stdin", bytes, InputKind::Model, None).unwrap();
            assert!(matches!(input.index_or_model(None), Ok(SavedFile::Model(_))));
        }
        std::fs::write(at("c.tree"), "neither").unwrap();
        let error = SavedFile::read(at("c.tree"), None).unwrap_err().to_string();
        assert!(error.contains("c.tree` is not a treeport tree"), "{error}");
    }
}
