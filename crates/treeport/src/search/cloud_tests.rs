use proptest::collection::vec;
use proptest::prelude::*;

use super::tests::assert_close;
use super::*;
use crate::search::clouds::side_by_side;
use crate::search::parts::tests::nearest_in_parts;
use crate::{Clouds, Geometry, Period, PointMetric, Problem, Problems, Relax, silent};

/// Clouds of one to six points on a small grid, so that many coincide; some masses are 0.
fn some_clouds(dim: usize, count: Range<usize>) -> impl Strategy<Value = Clouds> {
    let point = (vec(-3..4i32, dim), prop_oneof![Just(0.0), Just(1.0), Just(2.0), Just(1e-9)]);
    let cloud = vec(point, 1..6);
    vec(cloud, count).prop_map(move |clouds| {
        let (mut coordinates, mut masses, mut start) = (Vec::new(), Vec::new(), vec![0]);
        for cloud in clouds {
            let first = masses.len();
            for (at, mass) in cloud {
                coordinates.extend(at.iter().map(|&x| f64::from(x) / 3.0 + 10.0));
                masses.push(mass);
            }
            masses[first] += 0.25;
            start.push(masses.len());
        }
        Clouds::new(dim, coordinates, &start, &masses).unwrap().normalized()
    })
}

/// Few and many coordinates, every metric that supports them, and periods of some coordinates.
fn spaces() -> impl Strategy<Value = (usize, Geometry)> {
    let metrics = [
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::Chebyshev,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ];
    // Coordinates differ by up to 2; periods map some to the same place.
    let turns = prop::sample::select(vec![None, Some([1.5, 1.0]), Some([3.5, 0.7])]);
    let dims = prop_oneof![Just(1), Just(2), Just(3), Just(17), Just(40)];
    let many = (dims, 0..5usize, turns).prop_map(move |(dim, metric, turns)| {
        let period = turns.filter(|_| metric < 4).map(|turns: [f64; 2]| {
            Period::Each((0..dim).map(|k| turns.get(k % 3).copied()).collect())
        });
        (dim, metrics[metric].with_optional_period(period))
    });
    prop_oneof![4 => many, 1 => Just((2, PointMetric::Haversine.into()))]
}

/// Geometry of an index.
fn geometry_of(index: &Index) -> Geometry {
    let metric = index.metric().point_metric().unwrap();
    metric.with_optional_period(index.metric().period().cloned())
}

fn with_clouds(count: Range<usize>) -> impl Strategy<Value = (Geometry, Clouds, Clouds)> {
    spaces().prop_flat_map(move |(dim, metric)| {
        (Just(metric), some_clouds(dim, count.clone()), some_clouds(dim, 1..4))
    })
}

/// Builds an index; with `tabled`, with potentials on a net of a few points, even if that does not
/// pay.
fn index_of(clouds: &Clouds, geometry: &Geometry, tabled: bool) -> Index {
    let ground = clouds.ground(geometry.clone()).unwrap();
    let options = IndexOptions { memory: Some(0), reference: 5, penalty: None };
    let mut index = Index::of_clouds(clouds, &ground, &options, &silent).unwrap();
    assert!(index.is_of_clouds() && index.potentials.len() == 0);
    if tabled && ground.is_metric() {
        index.net = Some(index.net_of(9));
        index.fill_potentials(0, &Counter::new(SEARCHING, None, &silent)).unwrap();
    }
    index
}

/// All clouds of an index by their distances to a query, sorted as neighbors are.
fn brute(index: &Index, queries: &Clouds, query: usize) -> Vec<(usize, f64)> {
    let kind = geometry_of(index);
    let (others, query) = (queries.ground(kind).unwrap(), queries.measures().row(query));
    let distance = |row: usize| {
        let other = index.measures().row(row);
        let (metric, pair) = side_by_side((&others, &query), (index.metric(), &other)).unwrap();
        let value = Problem::new(&metric, &pair.row(0), &pair.row(1)).value(&silent).unwrap();
        (index.numbers()[row], value)
    };
    let mut all: Vec<_> = (0..index.len()).map(distance).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    all
}

/// Checks that all results agree with solving every pair, and that no bound exceeds a distance.
fn judge(index: &Index, queries: &Clouds, k: usize) {
    let found = index.nearest(queries, k, Accuracy::EXACT, &silent).unwrap();
    let rough = index.nearest(queries, index.len(), Accuracy::Approximate, &silent).unwrap();
    for (query, (found, rough)) in found.iter().zip(&rough).enumerate() {
        let all = brute(index, queries, query);
        let count = k.min(all.len());
        assert_close(&found.found, &all[..count]);
        let left = all.get(count).map_or(f64::INFINITY, |next| next.1);
        assert!(found.bound <= left * (1.0 + 1e-12) + 1e-300, "{} {left}", found.bound);
        for &(number, found) in &rough.found {
            let distance = all.iter().find(|of| of.0 == number).unwrap().1;
            assert!((found - distance).abs() <= 1e-9 * distance, "{number}: {found} {distance}");
        }
        let radius = all[(count - 1).min(all.len() - 1)].1 * (1.0 + 1e-9);
        let one = queries.select(&[query]).unwrap();
        let near = &index.radius(&one, radius, &silent).unwrap()[0];
        assert_close(&near.found, &all[..near.found.len()]);
        assert!(all.get(near.found.len()).is_none_or(|next| next.1 > radius * (1.0 - 2e-9)));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn neighbors_are_those_of_solving_every_pair(
        (metric, clouds, queries) in with_clouds(1..14), k in 1..16usize, tabled in any::<bool>(),
    ) {
        judge(&index_of(&clouds, &metric, tabled), &queries, k);
    }

    #[test]
    fn no_bound_is_above_the_distance(
        (metric, clouds, queries) in with_clouds(1..14), tabled in any::<bool>(),
    ) {
        let index = index_of(&clouds, &metric, tabled);
        let resolved = index.resolved((&queries).into()).unwrap();
        for by_query in [false, true] {
            for (row, query) in resolved.measures.iter().enumerate() {
                let request = index.request(SearchEnd::Count(1), Accuracy::EXACT);
                let request = resolved.complete(SearchRequest { by_query, ..request });
                let bounds = Searcher::default().all_bounds(&index, &query, &request).unwrap();
                for (number, distance) in brute(&index, &queries, row) {
                    let bound = f64::from(bounds[number]) * index.indexed.unit;
                    prop_assert!(bound <= distance * (1.0 + 1e-12), "{number}: {bound} {distance}");
                }
            }
        }
    }

    /// After any sequence of additions and removals, an index in memory or from a file gives the
    /// results of its current clouds.
    #[test]
    fn clouds_come_and_go(
        (metric, clouds, queries) in with_clouds(2..8), added in 0..3usize, tabled in any::<bool>(),
        goes in vec(any::<bool>(), 12),
    ) {
        let mut index = index_of(&clouds, &metric, tabled);
        let more = clouds.select(&(0..added.min(clouds.len())).collect::<Vec<_>>()).unwrap();
        let moved: Vec<f64> = more.coordinates().iter().map(|x| x + 0.125).collect();
        let masses: Vec<f64> = {
            let mut masses = vec![0.0; more.points()];
            more.measures().iter().for_each(|row| row.iter().for_each(|(at, mass)| masses[at] = mass));
            masses
        };
        let more = Clouds::new(clouds.dim(), moved, more.starts(), &masses).unwrap();
        index.add(&more, &silent).unwrap();
        prop_assert_eq!(index.len(), clouds.len() + more.len());
        judge(&index, &queries, 3);
        let gone: Vec<usize> = (0..index.len()).filter(|&row| goes[row]).collect();
        let left = index.len() - gone.len();
        index.remove(&gone).unwrap();
        prop_assert_eq!(index.len(), left);
        prop_assert_eq!(index.metric().points(), index.measures().entries().max(1));
        if left > 0 {
            judge(&index, &queries, 3);
        }
        #[cfg(feature = "io")]
        {
            let file = IndexFile { index, point_names: None }.to_bytes().unwrap();
            let read = IndexFile::from_bytes(&file).unwrap();
            prop_assert_eq!(&read.to_bytes().unwrap(), &file);
            index = read.index;
        }
        index.add(&queries, &silent).unwrap();
        judge(&index, &queries, 2);
    }

    #[test]
    fn parts_answer_as_one((metric, clouds, queries) in with_clouds(2..9), cut in 1..8usize) {
        let cut = cut.min(clouds.len() - 1);
        let rows: Vec<usize> = (0..clouds.len()).collect();
        let part = |rows: &[usize]| index_of(&clouds.select(rows).unwrap(), &metric, false);
        let parts = [part(&rows[..cut]), part(&rows[cut..])];
        let one = index_of(&clouds, &metric, false).nearest(&queries, 3, Accuracy::EXACT, &silent).unwrap();
        let both = nearest_in_parts(&[&parts[0], &parts[1]], &queries, 3).unwrap();
        for (one, both) in one.iter().zip(&both) {
            assert_close(&both.found, &one.found);
        }
    }
}

/// Clouds of up to five points of any masses, some without mass, and a penalty.
fn unequal_clouds(count: Range<usize>) -> impl Strategy<Value = (Geometry, Clouds, Clouds, f64)> {
    let cloud = |dim: usize| {
        let point = (vec(-3..4i32, dim), prop_oneof![Just(0.0), Just(1.0), Just(0.5), 0.0..3.0]);
        vec(point, 0..6)
    };
    let stacked = |dim: usize, clouds: Vec<Vec<(Vec<i32>, f64)>>| {
        let mut start = vec![0];
        for cloud in &clouds {
            start.push(start[start.len() - 1] + cloud.len());
        }
        let points = || clouds.iter().flatten();
        let coordinates = points().flat_map(|point| &point.0).map(|&x| f64::from(x) / 3.0 + 7.0);
        let masses: Vec<f64> = points().map(|point| point.1).collect();
        Clouds::or_empty(dim, coordinates.collect(), &start, &masses).unwrap()
    };
    let penalty = prop_oneof![Just(0.0), Just(0.1), Just(0.7), 0.0..4.0, Just(1e6)];
    (spaces(), penalty).prop_flat_map(move |((dim, metric), penalty)| {
        let (clouds, queries) = (vec(cloud(dim), count.clone()), vec(cloud(dim), 1..4));
        (clouds, queries).prop_map(move |(mut clouds, queries)| {
            // A ground metric needs a point.
            clouds[0].push((vec![1; dim], 1.0));
            (metric.clone(), stacked(dim, clouds), stacked(dim, queries), penalty)
        })
    })
}

/// Relaxed costs of a query to all clouds of an index, by the general solver.
fn relaxed_brute(index: &Index, queries: &Clouds, query: usize, penalty: f64) -> Vec<(usize, f64)> {
    let kind = geometry_of(index);
    let starts: Vec<usize> = index.start.clone();
    let (dim, coordinates) = index.metric().coordinates().unwrap();
    let masses: Vec<f64> = index.measures().iter().flat_map(|row| row.masses().to_vec()).collect();
    let own = coordinates[..masses.len() * dim].to_vec();
    let own = Clouds::or_empty(dim, own, &starts, &masses).unwrap();
    let all = own.followed_by(queries).unwrap();
    let pairs: Vec<_> = (0..index.len()).map(|row| (row, index.len() + query)).collect();
    let ground = if all.points() > 0 { all.ground(kind).unwrap() } else { index.metric().clone() };
    if all.points() == 0 {
        return index.numbers().iter().map(|&number| (number, 0.0)).collect();
    }
    let values = Problems::new(&ground, all.measures(), &pairs).relaxed(Relax::Penalty(penalty));
    let values = values.values(&silent).unwrap();
    let mut all: Vec<_> = index.numbers().iter().copied().zip(values).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    all
}

fn judge_relaxed(index: &Index, queries: &Clouds, k: usize, penalty: f64) {
    let found = index.nearest(queries, k, Accuracy::EXACT, &silent).unwrap();
    let rough = index.nearest(queries, index.len(), Accuracy::Approximate, &silent).unwrap();
    let resolved = index.resolved(queries.into()).unwrap();
    for (query, (found, rough)) in found.iter().zip(&rough).enumerate() {
        let all = relaxed_brute(index, queries, query, penalty);
        // A difference of nearly equal sums is accurate to the digits of its terms.
        let masses = queries.measures().row(query).total() + 20.0;
        let digits = 1e-14 * masses * penalty.min(100.0);
        let count = k.min(all.len());
        assert_eq!(found.found.len(), count);
        for (found, expected) in found.found.iter().zip(&all) {
            let off = (found.1 - expected.1).abs();
            assert!(off <= 2e-9 * expected.1 + digits, "{found:?}, expected {expected:?}");
        }
        let request = resolved.complete(index.request(SearchEnd::Count(1), Accuracy::EXACT));
        let measure = resolved.measures.row(query);
        let bounds = Searcher::default().all_bounds(index, &measure, &request).unwrap();
        for &(number, distance) in &all {
            let most = distance * (1.0 + 2e-9) + digits;
            let row = index.row_of(number).unwrap();
            let scale = penalties::scale_of(index, &measure);
            let bound = f64::from(bounds[row]) * index.indexed.unit * scale;
            assert!(bound <= most, "{number}: {bound} {distance}");
            let bound = rough.found.iter().find(|of| of.0 == number).unwrap().1;
            assert!(bound <= most, "{number}: {bound} {distance}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn mass_may_be_left_behind(
        (metric, clouds, queries, penalty) in unequal_clouds(1..14), k in 1..16usize,
        goes in vec(any::<bool>(), 16),
    ) {
        let ground = clouds.ground(metric).unwrap();
        let options = IndexOptions { memory: None, reference: 5, penalty: Some(penalty) };
        let mut index = Index::of_clouds(&clouds, &ground, &options, &silent).unwrap();
        judge_relaxed(&index, &queries, k, penalty);
        index.add(&queries, &silent).unwrap();
        let gone: Vec<usize> = (0..index.len()).filter(|&row| goes[row]).collect();
        index.remove(&gone).unwrap();
        if !index.is_empty() {
            judge_relaxed(&index, &queries, k, penalty);
        }
        #[cfg(feature = "io")]
        {
            let file = IndexFile { index, point_names: None }.to_bytes().unwrap();
            let read = IndexFile::from_bytes(&file).unwrap();
            prop_assert_eq!(&read.to_bytes().unwrap(), &file);
            index = read.index;
        }
        index.add(&clouds, &silent).unwrap();
        judge_relaxed(&index, &queries, k, penalty);
    }
}

/// A collection large enough to choose its bounds, in a dimension in which a net pays or does not.
#[test]
fn nets_are_for_few_coordinates() {
    let mixed = |k: usize| {
        let k = (k as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let k = (k ^ (k >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        (k >> 40) as f64 / (1u64 << 24) as f64
    };
    for (dim, tabled) in [(2, true), (30, false)] {
        let (count, points) = (60, 8);
        let coordinates: Vec<f64> = (0..count * points * dim).map(mixed).collect();
        let start: Vec<usize> = (0..=count).map(|row| row * points).collect();
        let clouds = Clouds::uniform(dim, coordinates, &start).unwrap();
        let ground = clouds.ground(PointMetric::Euclidean).unwrap();
        let index = Index::of_clouds(&clouds, &ground, &IndexOptions::default(), &silent).unwrap();
        assert_eq!(index.potentials.len() > 0, tabled, "{dim}");
        let data = 8 * clouds.points() * (dim + 1);
        assert!(index.bytes() <= 20 * data as u64);
        judge(&index, &clouds.select(&[3, 17, 58]).unwrap(), 10);
    }
}

/// Empty queries, and masses and prices below the range of single precision.
#[test]
fn bounds_of_tiny_masses_are_not_above() {
    for (mass, penalty) in
        [(1e-42, 1e-3), (1e-45, 1.0), (1e-45, 1e25), (1e-40, 1.0), (1e-8, 1e-300)]
    {
        let coordinates: Vec<f64> = (0..60).map(|k| f64::from((k * 37) % 11)).collect();
        let start: Vec<usize> = (0..=10).map(|row| 3 * row).collect();
        let masses: Vec<f64> = (0..30).map(|k| mass * (1.0 + f64::from((k * 7) % 5))).collect();
        let clouds = Clouds::new(2, coordinates, &start, &masses).unwrap();
        let ground = clouds.ground(PointMetric::Euclidean).unwrap();
        let options = IndexOptions { memory: None, reference: 5, penalty: Some(penalty) };
        let index = Index::of_clouds(&clouds, &ground, &options, &silent).unwrap();
        let empty = Clouds::or_empty(2, vec![], &[0, 0], &[]).unwrap();
        let queries = empty.followed_by(&clouds.select(&[3, 4]).unwrap()).unwrap();
        let found = index.nearest(&queries, 4, Accuracy::EXACT, &silent).unwrap();
        let rough = index.nearest(&queries, 10, Accuracy::Approximate, &silent).unwrap();
        for (query, (found, rough)) in found.iter().zip(&rough).enumerate() {
            let all = relaxed_brute(&index, &queries, query, penalty);
            let digits = 1e-14 * 60.0 * mass * penalty.min(100.0);
            for (found, expected) in found.found.iter().zip(&all) {
                assert!(
                    (found.1 - expected.1).abs() <= 1e-9 * expected.1 + digits,
                    "{mass} {penalty}"
                );
            }
            for &(number, found) in &rough.found {
                let distance = all.iter().find(|of| of.0 == number).unwrap().1;
                let off = (found - distance).abs();
                assert!(off <= 1e-9 * distance + digits, "{found} {distance}");
            }
        }
    }
}

/// Swapping query and cloud, or changing the number of threads, does not change a bit.
#[test]
fn relaxed_distances_are_symmetric_to_the_bit() {
    let mixed = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 101.0;
    let coordinates: Vec<f64> = (0..60 * 5 * 3).map(mixed).collect();
    let start: Vec<usize> = (0..=60).map(|row| 5 * row).collect();
    let clouds = Clouds::new(3, coordinates, &start, &[1.0; 300]).unwrap();
    let ground = clouds.ground(PointMetric::Euclidean).unwrap();
    let options = IndexOptions { penalty: Some(3.0), ..IndexOptions::default() };
    let index = Index::of_clouds(&clouds, &ground, &options, &silent).unwrap();
    let all = index.graph(59, Accuracy::EXACT, &silent).unwrap();
    let one = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    assert_eq!(one.install(|| index.graph(59, Accuracy::EXACT, &silent).unwrap()), all);
    let distance = |a: usize, b: usize| all[a].found.iter().find(|of| of.0 == b).unwrap().1;
    for (a, b) in (0..60).flat_map(|a| (0..a).map(move |b| (a, b))) {
        assert_eq!(distance(a, b).to_bits(), distance(b, a).to_bits());
        let alone = index.graph_rows(a..a + 1, 59, Accuracy::EXACT, &silent).unwrap();
        assert_eq!(alone[0].found, all[a].found);
    }
}

/// Coordinates whose squares overflow are refused with the name of the cloud; the index is
/// unchanged.
#[test]
fn clouds_that_are_too_far_are_named() {
    let near = Clouds::uniform(2, vec![0.0, 0.0, 1.0, 1.0, 2.0, 0.0], &[0, 2, 3]).unwrap();
    let ground = near.ground(PointMetric::Euclidean).unwrap();
    let options = IndexOptions::default();
    let mut index = Index::of_clouds(&near, &ground, &options, &silent).unwrap();
    let names = vec!["a".into(), "b".into()];
    let far = Clouds::uniform(2, vec![0.0, 0.0, 1e160, 0.0, -1e160, 0.0], &[0, 1, 3]).unwrap();
    let far = far.with_names(names).unwrap();
    let said = |error: Error| error.to_string();
    let expected = "cloud b has a coordinate of";
    assert!(
        said(index.nearest(&far, 1, Accuracy::EXACT, &silent).unwrap_err()).starts_with(expected)
    );
    assert!(said(index.add(&far, &silent).unwrap_err()).starts_with(expected));
    let one = Clouds::uniform(2, vec![1e160, 1e160], &[0, 1]).unwrap();
    assert!(
        said(index.add(&one, &silent).unwrap_err())
            .starts_with("cloud 0 has a coordinate of 1e160")
    );
    let ground = far.ground(PointMetric::Euclidean).unwrap();
    let error = Index::of_clouds(&far, &ground, &options, &silent).unwrap_err();
    assert!(said(error).starts_with(expected));
    judge(&index, &near, 2);
}

#[test]
fn collections_may_be_empty_of_mass_and_parts_have_one_penalty() {
    let empty = Clouds::or_empty(2, vec![], &[0, 0, 0], &[]).unwrap();
    let ground = empty.ground(PointMetric::Euclidean).unwrap();
    let with = |penalty| IndexOptions { penalty: Some(penalty), ..IndexOptions::default() };
    let index = Index::of_clouds(&empty, &ground, &with(2.0), &silent).unwrap();
    let one = Clouds::new(2, vec![0.0, 0.0], &[0, 1], &[1.5]).unwrap();
    let found = index.nearest(&one, 1, Accuracy::EXACT, &silent).unwrap();
    assert_eq!(found[0].found, [(0, 3.0)]);
    let other = Index::of_clouds(&empty, &ground, &with(1.0), &silent).unwrap();
    let error = nearest_in_parts(&[&index, &other], &one, 1).unwrap_err();
    assert!(matches!(error, Error::OtherGroundMetric { part: 1 }));
    let measures = Measures::from_dense(1, &[1.0]).unwrap();
    assert!(Index::new(&ground, &measures, &with(1.0), &silent).is_err());
}

#[test]
fn one_kind_is_not_taken_for_the_other() {
    let clouds = Clouds::uniform(2, vec![0.0, 0.0, 1.0, 1.0], &[0, 1, 2]).unwrap();
    let ground = clouds.ground(PointMetric::Euclidean).unwrap();
    let options = IndexOptions::default();
    let mut of_clouds = Index::of_clouds(&clouds, &ground, &options, &silent).unwrap();
    let mut on_points = Index::new(&ground, clouds.measures(), &options, &silent).unwrap();
    let error = of_clouds.nearest(clouds.measures(), 1, Accuracy::EXACT, &silent).unwrap_err();
    assert!(matches!(error, Error::CloudsWanted));
    assert!(matches!(of_clouds.add(clouds.measures(), &silent), Err(Error::CloudsWanted)));
    let error = on_points.nearest(&clouds, 1, Accuracy::EXACT, &silent).unwrap_err();
    assert!(matches!(error, Error::SharedPointsWanted));
    assert!(matches!(on_points.add(&clouds, &silent), Err(Error::SharedPointsWanted)));
    let other = Clouds::uniform(3, vec![0.0; 3], &[0, 1]).unwrap();
    let error = of_clouds.radius(&other, 1.0, &silent).unwrap_err();
    assert!(error.to_string().contains("rows of 2, as the clouds of the index have"), "{error}");
    let heavy = Clouds::new(2, vec![0.0; 2], &[0, 1], &[2.0]).unwrap();
    let error = of_clouds.add(&heavy, &silent).unwrap_err();
    assert!(error.to_string().starts_with("clouds 0 and 0 have total mass 2 and 1"), "{error}");
    let before = IndexFile { index: of_clouds, point_names: None }.to_bytes().unwrap();
    let mut index = IndexFile::from_bytes(&before).unwrap().index;
    assert!(matches!(index.remove(&[2]), Err(Error::NoSuchMeasure { .. })));
    index.remove(&[0, 1]).unwrap();
    assert!(
        index.is_empty()
            && index.nearest(&clouds, 1, Accuracy::EXACT, &silent).unwrap()[0].found.is_empty()
    );
    assert_eq!(index.add(&clouds, &silent).unwrap(), 2);
    assert_eq!(index.nearest(&clouds, 1, Accuracy::EXACT, &silent).unwrap()[1].found, [(3, 0.0)]);
}
