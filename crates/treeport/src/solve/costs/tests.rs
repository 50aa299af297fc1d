//! Tests of every cost source against all of its costs in double precision.

use std::sync::Mutex;

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;
use crate::metric::{GroundMetric, Period, PointMetric};
use crate::solve::exact::random::random;
use crate::solve::problem::matrix::MatrixView;
use device::{DeviceFound, DeviceSearch};

/// Reference device: computes all costs of a row and sorts them.
#[derive(Debug, Default)]
pub(in crate::solve) struct SlowDevice {
    points: Mutex<Vec<(Vec<f32>, usize)>>,
    /// Number of searches so far.
    pub(in crate::solve) searches: Mutex<usize>,
}

impl Device for SlowDevice {
    fn keep(&self, points: &[f32], dim: usize) -> Option<usize> {
        let mut all = self.points.lock().unwrap();
        all.push((points.to_vec(), dim));
        Some(all.len() - 1)
    }

    fn forget(&self, number: usize) {
        self.points.lock().unwrap()[number].0.clear();
    }

    fn nearest(&self, search: &DeviceSearch<'_>) -> Option<DeviceFound> {
        *self.searches.lock().unwrap() += 1;
        let all = self.points.lock().unwrap();
        let ((from, dim), (to, _)) = (&all[search.from], &all[search.to]);
        let (mut points, mut costs, mut limits) = (Vec::new(), Vec::new(), Vec::new());
        for &row in search.rows {
            let x = &from[row as usize * dim..][..*dim];
            let cost = |y: &[f32]| -> f32 {
                let apart = x.iter().zip(y).map(|(x, y)| (x - y).abs());
                match search.formula {
                    "length" => apart.map(|d| d * d).sum::<f32>().sqrt(),
                    "absolutes" => apart.sum(),
                    "square" => apart.map(|d| d * d).sum(),
                    _ => apart.fold(0.0, f32::max),
                }
            };
            let costs_of_row = to.chunks_exact(*dim).map(cost);
            let mut found: Vec<(f32, u32, f32)> = costs_of_row
                .zip(search.prices)
                .zip(0..)
                .map(|((cost, price), point)| (cost + price, point, cost))
                .collect();
            found.sort_by(|a, b| a.0.total_cmp(&b.0));
            for k in 0..search.most {
                points.push(found.get(k).map_or(u32::MAX, |found| found.1));
                costs.push(found.get(k).map_or(0.0, |found| found.2));
            }
            limits.push(found.get(search.most).map_or(f32::INFINITY, |found| found.0));
        }
        Some(DeviceFound { points, costs, limits })
    }

    fn scans_all(&self) -> bool {
        true
    }

    fn has_failed(&self) -> bool {
        false
    }
}

/// Generates points: spread out, on a grid with many ties, all over the Earth, of any size, with
/// and without periods.
pub(in crate::solve) fn points() -> impl Strategy<Value = GroundMetric> {
    let kinds = prop::sample::select(vec![
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::Chebyshev,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
        PointMetric::Haversine,
    ]);
    let turns = prop::sample::select(vec![None, Some([0.6, 0.9]), Some([1.3, 0.35])]);
    let dims = prop::sample::select(vec![1usize, 2, 3, 8, 9, 20]);
    let sizes = prop::sample::select(vec![1e-9, 1.0, 1e9]);
    let grids = prop::sample::select(vec![0.0, 3.0, 1.0]);
    (kinds, dims, sizes, grids, turns, 20usize..140, any::<u64>()).prop_filter_map(
        "no such metric",
        |(kind, dim, size, grid, turns, n, seed)| {
            let dim = if kind == PointMetric::Haversine { 2 } else { dim };
            let mut random = random(seed);
            let mut coordinate = || {
                let x = random();
                size * if grid > 0.0 { (grid * x).round() + 1.0 } else { x }
            };
            let mut coordinates: Vec<f64> = (0..n * dim).map(|_| coordinate()).collect();
            if seed % 4 == 0 && kind != PointMetric::Haversine {
                // Few points far away.
                for point in coordinates.chunks_exact_mut(dim).step_by(37) {
                    point[0] *= 1e6;
                }
            }
            if seed % 4 == 1 && kind != PointMetric::Haversine {
                // A mixture of scales.
                let far = coordinates.chunks_exact_mut(dim).step_by(3);
                far.flatten().for_each(|x| *x *= 1e3);
            }
            if kind == PointMetric::Haversine {
                // All over the Earth, on one side of it, in one town, and opposite to each other.
                let (width, others) =
                    [(180.0f64, 0.0), (90.0, 0.0), (0.1, 0.0), (1e-3, 180.0)][n % 4];
                for (k, at) in coordinates.iter_mut().enumerate() {
                    let share = *at / size / if grid > 0.0 { grid + 1.0 } else { 1.0 } - 0.5;
                    *at = share * if k % 2 == 0 { width.min(179.0) } else { width };
                    let is_opposite = k % 2 == 1 && k > n;
                    *at += if is_opposite { others } else { 0.0 };
                }
            }
            // Every third coordinate has no period.
            let period = turns.map(|turns: [f64; 2]| {
                let width = size * if grid > 0.0 { grid } else { 1.0 };
                let period = |k: usize| turns.get(k % 3).map(|turn| turn * width);
                Period::Each((0..dim).map(period).collect())
            });
            let period = period.filter(|_| kind != PointMetric::Haversine);
            let geometry = kind.with_optional_period(period);
            GroundMetric::from_points(dim, coordinates, geometry).ok()
        },
    )
}

/// Generates a matrix of distances between random points in the plane, a third of which are spread
/// a thousand times as far if it is `mixed`.
pub(in crate::solve) fn distances([n, m]: [usize; 2], mixed: bool, seed: u64) -> Vec<f64> {
    let mut random = random(seed);
    let mut point = |at: usize| {
        let scale = if mixed && at.is_multiple_of(3) { 1e3 } else { 1.0 };
        [scale * random(), scale * random()]
    };
    let points: Vec<[f64; 2]> = (0..n + m).map(&mut point).collect();
    let apart = |[x, y]: [f64; 2], [u, v]: [f64; 2]| (x - u).hypot(y - v);
    (0..n * m).map(|at| apart(points[at / m], points[n + at % m])).collect()
}

/// Generates entries of a matrix: random, with many ties, with forbidden moves, over many orders of
/// magnitude.
pub(in crate::solve) fn entries(kind: u8, count: usize, seed: u64) -> Vec<f64> {
    let mut random = random(seed);
    let mut entry = || {
        let x = random();
        match kind {
            1 => (4.0 * x).round(),
            2 if x < 0.2 => 1e12,
            0 | 2 => x,
            _ => 1e-9 * x.powi(3),
        }
    };
    (0..count).map(|_| entry()).collect()
}

/// Asserts the contract of a cost source: costs in single precision are off by at most `lost`,
/// candidates have the costs and prices that they report, and all other sinks have at least the
/// limit.
///
/// Costs above `highest` units may be lowered.
fn check(costs: &dyn CostSource, prices: &[f32], (most, noise): (usize, f32), highest: f64) {
    let [n, m] = costs.sizes();
    let precision = costs.precision();
    let in_units = |i: usize, j: usize| costs.cost(i, j) / precision.unit;
    let lost = precision.lost_with(1.0);
    let prices = costs.prices(prices[..m].to_vec());
    let rows: Vec<u32> = (0..n as u32).collect();
    let query = Query { prices: &prices, most, noise };
    let mut seen = 0;
    let is_done = costs.scan(&rows, &query, &|| true, |row, found| {
        let i = row as usize;
        seen += 1;
        assert_eq!(found.entries().len(), most.min(m));
        let value = |j: usize| f64::from(costs.single(i, j)) + f64::from(prices.of[j]);
        for (k, entry) in found.entries().enumerate() {
            let j = entry.sink as usize;
            if let Some(&cost) = found.costs.get(k) {
                assert!((f64::from(cost) - f64::from(costs.single(i, j))).abs() <= lost);
            }
            let off = f64::from(entry.value) - value(j);
            assert!(-lost <= off && off <= lost + f64::from(noise), "{off} {lost}");
        }
        let listed: Vec<u32> = found.entries().map(|entry| entry.sink).collect();
        for j in 0..m {
            let single = f64::from(costs.single(i, j));
            let is_lowered = single <= in_units(i, j) && highest <= single;
            assert!((single - in_units(i, j)).abs() <= lost || is_lowered, "{single}");
            assert!(single <= precision.largest && single >= 0.0, "{single}");
            let is_listed = listed.contains(&(j as u32));
            let above = value(j) + f64::from(noise) + lost >= f64::from(found.limit);
            assert!(is_listed || above, "{} {}", value(j), found.limit);
        }
    });
    assert!(is_done && seen == n);
    assert!(!costs.scan(&rows, &query, &|| false, |_, _| panic!("it was stopped")));
}

/// Asserts that groups of at most eight partition `count` points, and that at least half of the
/// ranges of eight are groups.
fn check_groups(groups: &Groups, count: usize) {
    let mut next = 0;
    for (range, middle) in groups.ranges().zip(groups.middles()) {
        assert!(range.start == next && range.contains(&(middle as usize)) && range.len() <= 8);
        next = range.end;
    }
    assert_eq!(next, count);
    assert!(groups.len() <= count.div_ceil(8) + 7 * (count.div_ceil(8) / 2));
}

/// Checks a source with spares whose costs are close to all others, far below, and far above.
fn check_with_spares(
    costs: Box<dyn CostSource + '_>,
    seed: u64,
    prices: &[f32],
    query: (usize, f32),
    highest: f64,
) {
    let ([n, m], mut random) = (costs.sizes(), random(seed));
    let unit = costs.precision().unit * [1.0, 1e-6, 1e6][(seed % 3) as usize];
    let of_sides = [n, m].map(|count| (0..count).map(|_| unit * random()).collect());
    let spares = SpareCosts { of_sides, between: 0.0 };
    let costs = WithSpares::new(costs, spares.clone());
    assert_eq!(costs.cost(n - 1, m), spares.of_sides[0][n - 1]);
    assert_eq!(costs.cost(n, m - 1), spares.of_sides[1][m - 1]);
    assert_eq!((costs.cost(n, m), costs.sizes()), (0.0, [n + 1, m + 1]));
    check(&costs, prices, query, highest);
    if let Some(coarser) = (&costs as &dyn CostSource).coarser(8) {
        let of_groups = coarser.groups.each_ref().map(Groups::len);
        assert_eq!(coarser.costs.sizes(), of_groups);
        for (groups, count) in coarser.groups.iter().zip([n, m]) {
            assert_eq!(groups.ranges().last(), Some(count..count + 1));
        }
        check(&*coarser.costs, prices, query, highest);
        check(&*coarser.back, prices, query, highest);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn points_keep_the_promises_of_cost_sources(
        metric in points(),
        prices in vec(-1.0..1.0f32, 140),
        most in 1usize..9,
        noise in prop::sample::select(vec![0.0f32, 0.3]),
        seed in any::<u64>(),
    ) {
        let n = metric.points();
        let sides: [Vec<usize>; 2] = [(0..n / 2).collect(), (n / 2..n).collect()];
        let ordered = sides.map(|side| {
            let order = kd_points::order(&metric, &side);
            order.iter().map(|&at| side[at as usize]).collect::<Vec<_>>()
        });
        let new = || PointCosts::new(&metric, ordered.clone());
        let Some(costs) = new() else { return Ok(()) };
        let SinglePrecision { unit, largest, most: highest, .. } = costs.precision();
        let has_far_points = highest > 2.0 * largest * unit;
        let exact = if has_far_points { 0.0 } else { f64::INFINITY };
        check(&costs, &prices, (most, noise), exact);
        let coarser = (&costs as &dyn CostSource).coarser(8).unwrap();
        check(&*coarser.costs, &prices, (most, noise), exact);
        check(&*coarser.back, &prices, (most, noise), exact);
        for (side, count) in costs.sizes().into_iter().enumerate() {
            check_groups(&coarser.groups[side], count);
            prop_assert_eq!(coarser.costs.sizes()[side], coarser.groups[side].len());
        }
        prop_assert_eq!(coarser.back.sizes(), [costs.sizes()[1], coarser.costs.sizes()[0]]);
        // Bounding boxes change no bit.
        let plain = new().unwrap().without_boxes();
        let all: Vec<u32> = (0..(n / 2) as u32).collect();
        let of = prices[..n - n / 2].to_vec();
        let (boxed_prices, plain_prices) = (costs.prices(of.clone()), plain.prices(of));
        let boxed = costs.candidates(&all, &Query { prices: &boxed_prices, most, noise });
        let scanned = plain.candidates(&all, &Query { prices: &plain_prices, most, noise });
        for (boxed, scanned) in boxed.iter().zip(&scanned) {
            prop_assert_eq!(boxed.limit, scanned.limit);
            let sorted = |found: &Candidates| {
                let entries = found.entries().map(|entry| (entry.value.to_bits(), entry.sink));
                let mut entries: Vec<_> = entries.collect();
                entries.sort_unstable();
                entries
            };
            prop_assert_eq!(sorted(boxed), sorted(scanned));
        }
        let highest_exact = exact.min(0.5 * largest);
        check_with_spares(Box::new(new().unwrap()), seed, &prices, (most, noise), highest_exact);
        if costs.device_formula().is_some() {
            let device = Arc::new(SlowDevice::default());
            let on_device: Arc<dyn Device> = device.clone();
            let costs = DeviceCosts::new(new().unwrap(), &on_device);
            check(&costs, &prices, (most, 0.0), exact);
            let coarser = (&costs as &dyn CostSource).coarser(8).unwrap();
            check(&*coarser.costs, &prices, (most, 0.0), exact);
            check(&*coarser.back, &prices, (most, 0.0), exact);
            prop_assert_eq!(*device.searches.lock().unwrap(), 3);
            let again = DeviceCosts::new(new().unwrap(), &on_device);
            check_with_spares(Box::new(again), seed, &prices, (most, 0.0), highest_exact);
        }
    }

    #[test]
    fn matrices_keep_the_promises_of_cost_sources(
        (n, m) in (2usize..170, 2usize..170),
        (kind, seed, transposed) in (0u8..6, any::<u64>(), any::<bool>()),
        prices in vec(-1.0..1.0f32, 170),
        most in 1usize..9,
        noise in prop::sample::select(vec![0.0f32, 0.3]),
    ) {
        let entries = match kind {
            4 | 5 => distances([n, m], kind == 5, seed),
            _ => entries(kind, n * m, seed),
        };
        let view = MatrixView::new(n, m, &entries).unwrap();
        let (rows, columns): (Vec<_>, Vec<_>) = ((0..n).step_by(2).collect(), (0..m).collect());
        let sides = if transposed { [&columns[..], &rows] } else { [&rows[..], &columns] };
        let (costs, places) =
            MatrixCosts::new(&view, sides, transposed, &|_| true).unwrap().unwrap();
        check(&costs, &prices, (most, noise), 1.0);
        let [i, j] = [sides[0].len() - 1, 0];
        let ends = [sides[0][places[0][i] as usize], sides[1][places[1][j] as usize]];
        let [row, column] = if transposed { [ends[1], ends[0]] } else { ends };
        prop_assert_eq!(costs.cost(i, j), entries[row * m + column]);
        if let Some(coarser) = (&costs as &dyn CostSource).coarser(8) {
            let [of_sources, of_sinks] = &coarser.groups;
            check_groups(of_sources, costs.sizes()[0]);
            check_groups(of_sinks, costs.sizes()[1]);
            check(&*coarser.costs, &prices, (most, noise), 1.0);
            check(&*coarser.back, &prices, (most, noise), 1.0);
            let middles: Vec<_> = of_sources.middles().zip(of_sinks.middles()).collect();
            for (at, &(i, j)) in middles.iter().enumerate() {
                let single = costs.single(i as usize, j as usize);
                prop_assert_eq!(coarser.costs.single(at, at), single);
                prop_assert_eq!(coarser.back.single(j as usize, at), single);
                let cost = costs.cost(i as usize, j as usize);
                prop_assert_eq!(coarser.costs.cost(at, at), cost);
                prop_assert_eq!(coarser.back.cost(j as usize, at), cost);
            }
        }
        // Least costs of blocks change no value.
        let all: Vec<u32> = (0..costs.sizes()[0] as u32).collect();
        let of = costs.prices(prices[..costs.sizes()[1]].to_vec());
        let query = Query { prices: &of, most, noise };
        for (found, scanned) in costs.candidates(&all, &query).iter().zip(costs.scan_all(&query)) {
            prop_assert_eq!(found.limit, scanned.limit);
            let values = |found: &Candidates| {
                let mut values: Vec<f32> = found.entries().map(|entry| entry.value).collect();
                values.sort_unstable_by(f32::total_cmp);
                values
            };
            prop_assert_eq!(values(found), values(&scanned));
        }
        let highest = 0.5 * costs.precision().largest;
        check_with_spares(Box::new(costs), seed, &prices, (most, noise), highest);
    }
}

/// Lays out a matrix from all rows to all columns, and returns its numbers of groups; 0 without a
/// coarser level.
fn groups_of([n, m]: [usize; 2], entries: &[f64]) -> [usize; 2] {
    let view = MatrixView::new(n, m, entries).unwrap();
    let all: Vec<usize> = (0..n.max(m)).collect();
    let found = MatrixCosts::new(&view, [&all[..n], &all[..m]], false, &|_| true).unwrap();
    let costs: Box<dyn CostSource> = Box::new(found.unwrap().0);
    costs.coarser(8).map_or([0, 0], |coarser| coarser.groups.each_ref().map(Groups::len))
}

#[test]
fn a_matrix_of_distances_has_coarser_levels_and_one_of_noise_has_none() {
    let sizes = [600, 500];
    let even = groups_of(sizes, &distances(sizes, false, 1));
    assert_eq!(even, sizes.map(|count| count.div_ceil(8)));
    // The far third is not grouped.
    let [left, right] = groups_of(sizes, &distances(sizes, true, 2));
    assert!((200..400).contains(&left) && (160..350).contains(&right), "{left} {right}");
    assert_eq!(groups_of(sizes, &entries(0, 600 * 500, 3)), [0, 0]);
}

#[test]
fn entries_far_above_all_others_or_of_zero_have_a_unit() {
    let sizes = [40, 50];
    for (usual, rare) in [(0.0, 1.0), (1.0, 1e300), (0.0, 0.0), (1e-300, 1.0), (1e300, 1.0)] {
        let entry = |at: usize| if at % 1999 == 1998 { rare } else { usual };
        let entries: Vec<f64> = (0..2000).map(entry).collect();
        let view = MatrixView::new(sizes[0], sizes[1], &entries).unwrap();
        let all: Vec<usize> = (0..50).collect();
        let found = MatrixCosts::new(&view, [&all[..40], &all], false, &|_| true).unwrap();
        if let Some((costs, _)) = found {
            check(&costs, &[0.0; 50], (3, 0.0), 0.5 * costs.precision().largest);
        } else {
            assert_eq!((usual, rare), (0.0, 0.0));
        }
    }
}
