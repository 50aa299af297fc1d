use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use rand::RngExt;

use super::rows::on_a_line;
use super::*;
use crate::metric::Period;
use crate::numeric::seed::Random;
use crate::progress::silent;
use crate::solve::Problems;

const METRICS: [PointMetric; 5] = [
    PointMetric::Euclidean,
    PointMetric::Manhattan,
    PointMetric::Chebyshev,
    PointMetric::Cosine,
    PointMetric::Haversine,
];

/// Clouds of 1 to 12 points around a place, some of them copies; coordinates are degrees, too.
fn random(dim: usize, count: usize, place: f64, rng: &mut Random) -> Clouds {
    let (mut points, mut masses, mut start) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..count {
        let center: Vec<f64> = (0..dim).map(|_| rng.random_range(-9.0..9.0)).collect();
        for _ in 0..rng.random_range(1..13) {
            let at = |c: &f64| place + (c + rng.random_range(-3.0..3.0_f64)).round() / 2.0 + 0.25;
            points.extend(center.iter().map(at));
            masses.push(rng.random_range(0.1..1.0));
        }
        start.push(masses.len());
    }
    Clouds::new(dim, points, &start, &masses).unwrap().normalized()
}

fn labeled(clouds: &Clouds, geometry: &Geometry, count: usize) -> Labeled {
    let ground = clouds.ground(geometry.clone()).unwrap();
    Labeled::sample(&ground, clouds.measures(), count, 0, &silent).unwrap()
}

fn fitted(clouds: &Clouds, geometry: &Geometry, method: SpaceMethod) -> Space {
    let data = labeled(clouds, geometry, 60);
    let options = SpaceOptions { method, seed: 3 };
    Space::fit(clouds, geometry.clone(), &data, &options, &silent).unwrap()
}

fn pairs(count: usize) -> Vec<(usize, usize)> {
    (0..count).flat_map(|i| (0..i).map(move |j| (i, j))).collect()
}

/// Metrics with dimensions that they support, with and without periods.
fn geometries() -> Vec<(usize, Geometry)> {
    let plain = METRICS.into_iter().flat_map(|metric| {
        let dims: &[usize] = if metric == PointMetric::Haversine { &[2] } else { &[1, 2, 3, 5] };
        dims.iter().map(move |&dim| (dim, Geometry::from(metric)))
    });
    let around = [PointMetric::Euclidean, PointMetric::Manhattan].into_iter().flat_map(|metric| {
        [(2, Period::All(7.0)), (4, Period::Each(vec![None, Some(5.0), None, Some(40.0)]))]
            .map(|(dim, period)| (dim, metric.with_optional_period(Some(period))))
    });
    plain.chain(around).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3))]

    #[test]
    fn bounds_hold_and_contain_estimates(seed in 0..1000_u64, far in prop_oneof![Just(0.0), Just(60.0)]) {
        let mut rng = generator(seed);
        for (dim, geometry) in geometries() {
            let clouds = random(dim, 12, 0.0, &mut rng);
            let space = fitted(&clouds, &geometry, SpaceMethod::Lifted);
            let new = clouds.followed_by(&random(dim, 8, far, &mut rng)).unwrap();
            let ground = new.ground(geometry.clone()).unwrap();
            let pairs = pairs(20);
            let exact = Problems::new(&ground, new.measures(), &pairs).values(&silent).unwrap();
            let prepared = space.prepare(&new, &silent).unwrap();
            let found = prepared.intervals(&pairs, &silent).unwrap();
            for (k, (&exact, [low, value, high])) in exact.iter().zip(found).enumerate() {
                // The solver's own gap is at most this share.
                let gap = 1e-11 * exact;
                prop_assert!(low <= exact + gap && exact <= high + gap, "{geometry:?} {low} {exact} {high}");
                prop_assert!(low <= value && value <= high);
                let (i, j) = pairs[k];
                let (a, b) = (&prepared.rows[i], &prepared.rows[j]);
                let largest = a.features(b, &space)[LARGEST];
                let largest = geometry.metric.square_share().map_or(largest, |share| share * largest * largest);
                prop_assert!(largest <= exact * (1.0 + 1e-9) + 1e-9, "{geometry:?} {largest} {exact}");
            }
        }
    }

    #[test]
    fn levels_are_those_of_a_table_of_cells(seed in 0..1000_u64) {
        let mut rng = generator(seed);
        for (dim, geometry) in geometries() {
            let clouds = random(dim, 8, 0.0, &mut rng);
            let space = fitted(&clouds, &geometry, SpaceMethod::Space);
            let prepared = space.prepare(&clouds, &silent).unwrap();
            let ground = clouds.ground(geometry.clone()).unwrap();
            let all = vectors(&clouds, &ground).unwrap();
            for (i, j) in pairs(4) {
                let features = prepared.rows[i].features(&prepared.rows[j], &space);
                let Some(first) = space.partitions.first() else { continue };
                for level in 0..first.levels() {
                    let mut sum = 0.0;
                    for partition in &space.partitions {
                        let mut cells: HashMap<u128, f64> = HashMap::new();
                        for (cloud, sign) in [(i, 1.0), (j, -1.0)] {
                            for (point, mass) in clouds.measures().row(cloud).iter() {
                                let x = &all[point * space.vector_dim..][..space.vector_dim];
                                let key = partition.key(&space, x) >> partition.shift(level);
                                *cells.entry(key).or_default() += sign * mass;
                            }
                        }
                        sum += cells.values().map(|mass| mass.abs()).sum::<f64>();
                    }
                    let mean = sum / space.partitions.len() as f64;
                    prop_assert!((mean - features[LEVELS.start + level]).abs() < 1e-12);
                }
            }
        }
    }

    #[test]
    fn lines_are_transport_of_one_coordinate(a in vec((0..9_i32, 0.1..1.0), 1..9), b in vec((0..9_i32, 0.1..1.0), 1..9), low in -1.0..5.0, wide in 0.0..9.0) {
        let values = a.iter().chain(&b).map(|of| f64::from(of.0)).collect();
        let masses: Vec<f64> = a.iter().chain(&b).map(|of| of.1).collect();
        let clouds = Clouds::new(1, values, &[0, a.len(), a.len() + b.len()], &masses).unwrap().normalized();
        let ground = clouds.ground(PointMetric::Euclidean).unwrap();
        let exact = Problems::new(&ground, clouds.measures(), &[(0, 1)]).values(&silent).unwrap()[0];
        let data = Labeled::new(clouds.measures(), vec![(0, 1)], vec![exact.max(1.0)]).unwrap();
        let space = Space::fit(&clouds, PointMetric::Euclidean, &data, &SpaceOptions::default(), &silent).unwrap();
        let prepared = space.prepare(&clouds, &silent).unwrap();
        let list = |cloud: usize| prepared.rows[cloud].lines.list(0);
        let region = [low, low + wide];
        let (inside, outside) = on_a_line(list(0), list(1), region);
        prop_assert!((inside + outside - exact).abs() < 1e-12);
        // Cumulative masses over small steps.
        let below = |cloud: usize, t: f64| -> f64 {
            let list = list(cloud);
            list.places.iter().zip(list.masses).filter(|of| *of.0 <= t).map(|of| of.1).sum()
        };
        let steps = 4096;
        let within: f64 = (0..steps).map(|k| low + (f64::from(k) + 0.5) / f64::from(steps) * wide)
            .map(|t| (below(0, t) - below(1, t)).abs() * wide / f64::from(steps)).sum();
        prop_assert!((within - inside).abs() < 0.05, "{within} {inside}");
    }
}

#[test]
fn rows_of_centers_are_those_of_their_definition() {
    let mut rng = generator(13);
    for (dim, geometry) in geometries() {
        let clouds = random(dim, 14, 0.0, &mut rng);
        let space = fitted(&clouds, &geometry, SpaceMethod::Space);
        let Some(centers) = &space.centers else {
            assert!(dim == 1, "{geometry:?}");
            continue;
        };
        let prepared = space.prepare(&clouds, &silent).unwrap();
        let ground = clouds.ground(geometry.clone()).unwrap();
        let all = vectors(&clouds, &ground).unwrap();
        let width = space.vector_dim;
        let centers_of: Vec<&[f64]> = centers.vectors.chunks(width).collect();
        let count = centers_of.len();
        for cloud in 0..clouds.len() {
            let [_, shares, wide, moments] = centers.parts(&prepared.rows[cloud].centered);
            let (mut share, mut moment) = (vec![0.0; 2 * count], vec![0.0; count * width]);
            for (point, mass) in clouds.measures().row(cloud).iter() {
                let x = &all[point * width..][..width];
                let distances: Vec<f64> = centers_of.iter().map(|c| space.between(x, c)).collect();
                let least = distances.iter().copied().fold(f64::INFINITY, f64::min);
                let nearest = distances.iter().position(|d| *d == least).unwrap();
                for (k, width) in centers.widths().into_iter().enumerate() {
                    let close = |d: &f64| (1.0 - (d - least) / width).max(0.0).powi(2);
                    let total: f64 = distances.iter().map(close).sum();
                    for (sum, d) in share[k * count..][..count].iter_mut().zip(&distances) {
                        *sum += mass * close(d) / total;
                    }
                }
                if space.halves.is_none() {
                    let apart = centers_of.iter().map(|c| space.between(centers_of[nearest], c));
                    let most = apart.filter(|d| *d > 0.0).fold(f64::INFINITY, f64::min);
                    for (k, sum) in moment[nearest * width..][..width].iter_mut().enumerate() {
                        *sum += mass * (x[k] - centers_of[nearest][k]).clamp(-most, most);
                    }
                }
            }
            let found: Vec<f64> = shares.iter().chain(wide).copied().collect();
            let is_near = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-6);
            assert!(is_near(&found, &share), "{geometry:?}");
            assert!(space.halves.is_some() || is_near(moments, &moment), "{geometry:?}");
        }
    }
}

#[test]
fn estimates_do_not_depend_on_order_threads_or_unit() {
    let mut rng = generator(8);
    for (dim, geometry) in geometries() {
        let clouds = random(dim, 14, 0.0, &mut rng);
        for method in [SpaceMethod::Space, SpaceMethod::Lifted, SpaceMethod::Rg] {
            let space = fitted(&clouds, &geometry, method);
            let table = space.prepare(&clouds, &silent).unwrap().pairwise(&silent).unwrap();
            let n = clouds.len();
            for i in 0..n {
                assert_eq!(table[i * n + i], 0.0);
                for j in 0..i {
                    let pairs = [(i, j), (j, i)];
                    let both =
                        space.prepare(&clouds, &silent).unwrap().pairs(&pairs, &silent).unwrap();
                    assert_eq!(both, [table[i * n + j]; 2], "{geometry:?} {method}");
                }
            }
            // The points of every cloud in reversed order, on one thread.
            let mut reversed = (Vec::new(), Vec::new());
            for cloud in 0..n {
                let mut masses = Vec::new();
                clouds.masses_of(cloud, &mut masses);
                reversed.1.extend(masses.into_iter().rev());
                reversed.0.extend(clouds.coordinates_of(cloud).chunks(dim).rev().flatten());
            }
            let other = Clouds::new(dim, reversed.0, clouds.starts(), &reversed.1).unwrap();
            let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
            let again = pool.install(|| {
                let space = fitted(&clouds, &geometry, method);
                space.prepare(&other, &silent).unwrap().pairwise(&silent).unwrap()
            });
            if method == SpaceMethod::Space {
                assert_eq!(again, table, "{geometry:?} {method}");
            }
            // Plans may match points of equal value in another order.
            for (a, b) in again.iter().zip(&table) {
                assert!((a - b).abs() <= 0.3 * b.max(0.05), "{geometry:?} {method} {a} {b}");
            }
        }
    }
}

#[test]
fn estimates_scale_with_the_coordinates() {
    let mut rng = generator(5);
    // No ties, which roundings would break differently.
    let clouds = prongs(30, 4, 1.0, &mut rng);
    let by = |factor: f64| {
        let points = clouds.coordinates().iter().map(|x| x * factor).collect();
        let masses: Vec<f64> =
            clouds.measures().iter().flat_map(|row| row.masses().to_vec()).collect();
        Clouds::new(2, points, clouds.starts(), &masses).unwrap()
    };
    for method in [SpaceMethod::Space, SpaceMethod::Lifted] {
        let table = |factor: f64| {
            let clouds = by(factor);
            let space = fitted(&clouds, &PointMetric::Euclidean.into(), method);
            space.prepare(&clouds, &silent).unwrap().pairwise(&silent).unwrap()
        };
        let one = table(1.0);
        for factor in [0.125, 1e-100, 1e100, 3.0] {
            for (scaled, one) in table(factor).iter().zip(&one) {
                assert!((scaled / factor - one).abs() <= 1e-6 * one, "{method} {factor}");
            }
        }
    }
}

#[test]
fn a_cloud_far_away_is_as_far_as_it_is() {
    let mut rng = generator(6);
    for metric in [PointMetric::Euclidean, PointMetric::Manhattan, PointMetric::Chebyshev] {
        for dim in [1, 2, 3, 6] {
            let clouds = random(dim, 40, 0.0, &mut rng);
            for method in [SpaceMethod::Space, SpaceMethod::Lifted] {
                let space = fitted(&clouds, &metric.into(), method);
                for far in [1e3, 1e6, 1e20] {
                    // Both are far from the clouds of the fit, and one is farther.
                    let place: Vec<f64> =
                        (0..dim).map(|_| rng.random_range(-1.0..1.0) * far).collect();
                    let farther = place.iter().map(|x| 3.0 * x);
                    let points = place.iter().copied().chain(farther).collect();
                    let new = Clouds::uniform(dim, points, &[0, 1, 2]).unwrap();
                    let all = clouds.followed_by(&new).unwrap();
                    let ground = all.ground(metric).unwrap();
                    let pairs = [(0, 40), (40, 41)];
                    let exact =
                        Problems::new(&ground, all.measures(), &pairs).values(&silent).unwrap();
                    let found =
                        space.prepare(&all, &silent).unwrap().pairs(&pairs, &silent).unwrap();
                    // One direction is not the average over all.
                    let share = if method == SpaceMethod::Lifted { 0.02 } else { 0.6 };
                    for (found, exact) in found.iter().zip(exact) {
                        assert!(
                            (found - exact).abs() < share * exact,
                            "{metric} {dim} {method} {far} {found} {exact}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn rows_have_the_distances_of_pairs() {
    let mut rng = generator(7);
    for (dim, geometry) in geometries() {
        let clouds = random(dim, 30, 0.0, &mut rng);
        let space = fitted(&clouds, &geometry, SpaceMethod::Space);
        let new = clouds.followed_by(&random(dim, 5, 4.0, &mut rng)).unwrap();
        let rows = space.embed(&new, &silent).unwrap();
        assert_eq!((rows.rows, rows.cols), (35, space.columns()));
        let row = |r: usize| -> HashMap<usize, f64> {
            let range = rows.start[r]..rows.start[r + 1];
            rows.indices[range.clone()]
                .iter()
                .copied()
                .zip(rows.values[range].iter().copied())
                .collect()
        };
        let pairs = pairs(35);
        let found = space.prepare(&new, &silent).unwrap().pairs(&pairs, &silent).unwrap();
        let (mut sum, mut all) = (0.0, 0.0);
        for ((i, j), distance) in pairs.into_iter().zip(found) {
            let (a, b) = (row(i), row(j));
            let columns: std::collections::BTreeSet<_> = a.keys().chain(b.keys()).collect();
            let at = |of: &HashMap<usize, f64>, k: &usize| of.get(k).copied().unwrap_or(0.0);
            let l1: f64 = columns.into_iter().map(|k| (at(&a, k) - at(&b, k)).abs()).sum();
            assert!(l1 <= distance * (1.0 + 1e-9) + 1e-12, "{geometry:?} {l1} {distance}");
            (sum, all) = (sum + l1, all + distance);
        }
        assert!(sum >= 0.97 * all, "{geometry:?}: {sum} {all}");
    }
}

/// Clouds of some points around one to three places, with unequal masses.
fn prongs(count: usize, points: usize, width: f64, rng: &mut Random) -> Clouds {
    let (mut all, mut masses, mut start) = (Vec::new(), Vec::new(), vec![0]);
    for _ in 0..count {
        let places: Vec<[f64; 2]> = (0..rng.random_range(1..4))
            .map(|_| [rng.random_range(-1.0..1.0), rng.random_range(-1.0..1.0)])
            .collect();
        for _ in 0..rng.random_range(points..3 * points) {
            let place = places[rng.random_range(0..places.len())];
            let moved = crate::build::normals(rng);
            all.extend([0, 1].map(|k| place[k] + width * moved[k]));
            masses.push(rng.random::<f64>().powi(3) + 0.01);
        }
        start.push(masses.len());
    }
    Clouds::new(2, all, &start, &masses).unwrap().normalized()
}

#[test]
fn errors_of_rows_grow_by_at_most_a_fifth_on_other_clouds() {
    let mut rng = generator(12);
    let clouds = prongs(80, 15, 0.15, &mut rng);
    let [new, wider] = [(15, 0.15), (40, 0.2)].map(|of| prongs(30, of.0, of.1, &mut rng));
    let geometry = Geometry::from(PointMetric::Euclidean);
    let space = fitted(&clouds, &geometry, SpaceMethod::Space);
    let [error, other] = [&new, &wider].map(|clouds| {
        let test = labeled(clouds, &geometry, 200);
        let prepared = space.prepare(clouds, &silent).unwrap();
        test.score(&prepared.pairs(test.pairs(), &silent).unwrap()).mean
    });
    assert!(error < 0.06 && other < 1.2 * error, "{error}, {other}");
}

#[test]
fn what_does_not_fit_is_refused() {
    let mut rng = generator(1);
    let clouds = random(2, 10, 0.0, &mut rng);
    let geometry = Geometry::from(PointMetric::Euclidean);
    let space = fitted(&clouds, &geometry, SpaceMethod::Space);
    let refused = |clouds: &Clouds| space.prepare(clouds, &silent).unwrap_err().to_string();
    let other = Clouds::uniform(3, vec![0.0; 3], &[0, 1]).unwrap();
    assert!(
        refused(&other).contains("2 coordinates, like those of the fit"),
        "{}",
        refused(&other)
    );
    let empty = Clouds::or_empty(2, vec![0.0; 2], &[0, 1, 1], &[1.0]).unwrap();
    assert!(refused(&empty).contains("cloud 1"), "{}", refused(&empty));
    let heavy = Clouds::new(2, vec![0.0, 1.0, 2.0, 3.0], &[0, 1, 2], &[1.0, 2.0]).unwrap();
    let prepared = space.prepare(&heavy, &silent).unwrap();
    assert!(prepared.pairs(&[(0, 1)], &silent).is_err());
    assert!(prepared.pairs(&[(0, 2)], &silent).is_err());
    assert!(prepared.pairwise(&silent).is_err());
    assert!(prepared.intervals(&[(0, 0)], &silent).unwrap_err().to_string().contains("lifted"));
    let fit = |data: &Labeled, metric: PointMetric| {
        Space::fit(&clouds, metric, data, &SpaceOptions::default(), &silent)
    };
    let data = labeled(&clouds, &geometry, 20);
    assert!(fit(&data, PointMetric::SqEuclidean).is_err());
    assert!(
        fit(&labeled(&random(2, 10, 0.0, &mut rng), &geometry, 9), PointMetric::Euclidean).is_err()
    );
    let zero = Labeled::new(clouds.measures(), vec![(0, 1)], vec![0.0]).unwrap();
    assert!(matches!(fit(&zero, PointMetric::Euclidean), Err(Error::NothingToLearn { .. })));
    assert!(matches!(
        Space::fit(&clouds, PointMetric::Euclidean, &data, &SpaceOptions::default(), &|_| false),
        Err(Error::Canceled)
    ));
}

#[cfg(feature = "io")]
#[test]
fn a_saved_model_has_the_same_rows_and_damage_is_found() {
    let mut rng = generator(2);
    for (dim, geometry) in geometries() {
        let clouds = random(dim, 14, 0.0, &mut rng);
        for method in [SpaceMethod::Space, SpaceMethod::Lifted] {
            let space = fitted(&clouds, &geometry, method);
            let bytes = space.to_bytes().unwrap();
            let again = Space::from_bytes(&bytes).unwrap();
            assert_eq!(again, space);
            assert_eq!(again.to_bytes().unwrap(), bytes);
            let rows = |space: &Space| space.prepare(&clouds, &silent).unwrap().rows;
            assert_eq!(rows(&again), rows(&space));
            for at in (0..bytes.len()).step_by(bytes.len() / 40) {
                let mut broken = bytes.clone();
                broken[at] ^= 0x10;
                // A changed bit is found, or it is not read.
                if let Ok(read) = Space::from_bytes(&broken) {
                    assert_eq!(read, space, "{at}");
                }
            }
            assert!(Space::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        }
    }
    let tree = crate::Tree::from_newick("(a:1,b:1);").unwrap();
    assert!(Space::from_bytes(&tree.to_bytes().unwrap()).is_err());
}

#[cfg(feature = "io")]
#[test]
fn files_with_wrong_numbers_of_coordinates_are_damaged() {
    let mut rng = generator(4);
    let around = PointMetric::Euclidean.with_optional_period(Some(Period::All(7.0)));
    for (dim, geometry) in [(2, around), (2, PointMetric::Haversine.into())] {
        let clouds = random(dim, 14, 0.0, &mut rng);
        let space = fitted(&clouds, &geometry, SpaceMethod::Space);
        let many = 1_000_000_000_000;
        for (dim, vector_dim) in [(many, space.vector_dim), (many, many), (0, 0), (3, 3), (2, 0)] {
            // The checksum is right.
            let bytes = Space { dim, vector_dim, ..space.clone() }.to_bytes().unwrap();
            let error = Space::from_bytes(&bytes).unwrap_err().to_string();
            assert!(error.contains("is damaged"), "{error}");
        }
    }
}

#[test]
fn lower_bounds_hold_for_small_distances_on_a_large_circle() {
    let mut rng = generator(9);
    let points = (0..60).map(|_| rng.random_range(-180.0..180.0)).collect();
    let clouds = Clouds::uniform(1, points, &(0..=20).map(|k| 3 * k).collect::<Vec<_>>()).unwrap();
    let geometry = PointMetric::Euclidean.with_optional_period(Some(Period::All(360.0)));
    let space = fitted(&clouds, &geometry, SpaceMethod::Lifted);
    for k in 0..50 {
        let truth = f64::from(k) * 1e-6 + 3e-7;
        let new = Clouds::uniform(1, vec![0.0, truth], &[0, 1, 2]).unwrap();
        let prepared = space.prepare(&new, &silent).unwrap();
        let [low, _, high] = prepared.intervals(&[(0, 1)], &silent).unwrap()[0];
        assert!(low <= truth && truth <= high, "{low} {truth} {high}");
        assert!(low >= 0.999 * truth, "{low} {truth}");
    }
}

#[test]
fn coordinates_whose_squares_overflow_are_refused() {
    let mut rng = generator(10);
    let near = random(2, 10, 0.0, &mut rng);
    let points = near.coordinates().iter().map(|x| x * 1e160).collect();
    let masses: Vec<f64> = near.measures().iter().flat_map(|row| row.masses().to_vec()).collect();
    let far = Clouds::new(2, points, near.starts(), &masses).unwrap();
    let is_clear = |error: Error| {
        assert!(matches!(error, Error::FarCloud { .. }), "{error}");
        assert!(error.to_string().contains("divide all coordinates"), "{error}");
    };
    let plain = Geometry::from(PointMetric::Euclidean);
    let around = PointMetric::Euclidean.with_optional_period(Some(Period::All(1e170)));
    for geometry in [plain, around] {
        let data = labeled(&far, &geometry, 20);
        let fit = Space::fit(&far, geometry.clone(), &data, &SpaceOptions::default(), &silent);
        is_clear(fit.unwrap_err());
        let space = fitted(&near, &geometry, SpaceMethod::Space);
        is_clear(space.prepare(&far, &silent).unwrap_err());
    }
}

#[test]
fn rows_have_at_most_the_entries_whose_memory_is_checked() {
    let mut rng = generator(11);
    for (dim, geometry) in geometries() {
        let clouds = random(dim, 20, 0.0, &mut rng);
        let space = fitted(&clouds, &geometry, SpaceMethod::Space);
        let near = Clouds::uniform(dim, vec![0.5; dim], &[0, 1]).unwrap();
        let new = clouds.followed_by(&random(dim, 5, 40.0, &mut rng)).unwrap();
        let new = new.followed_by(&near).unwrap();
        for row in &space.prepare(&new, &silent).unwrap().rows {
            let (entries, most) = (space.entries(row).len(), space.entries_at_most(row));
            assert!(entries <= most, "{geometry:?} {entries} {most}");
        }
        // Cancelled after the rows of lines and cells.
        let calls = std::sync::atomic::AtomicUsize::new(0);
        let stop = |_: &crate::progress::State<'_>| {
            calls.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < new.len()
        };
        assert!(matches!(space.embed(&new, &stop), Err(Error::Canceled)));
    }
}

#[test]
fn clouds_far_from_the_centers_have_finite_estimates() {
    let mut rng = generator(9);
    for method in [SpaceMethod::Space, SpaceMethod::Lifted] {
        let near = random(2, 10, 0.0, &mut rng);
        let space = fitted(&near, &Geometry::from(PointMetric::Euclidean), method);
        for place in [1e100, 1e153, 1e160, 1e300] {
            let far = Clouds::uniform(2, vec![place; 4], &[0, 1, 2]).unwrap();
            let estimate = space.prepare(&far, &silent).unwrap().pairs(&[(0, 1)], &silent).unwrap();
            assert_eq!(estimate, [0.0], "{place}");
        }
    }
}
