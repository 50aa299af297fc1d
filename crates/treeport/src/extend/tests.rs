use std::f64::consts::TAU;

use proptest::prelude::*;
use rand::RngExt;

use super::*;
use crate::build::{Linkage, linkage};
use crate::fit::{FitOptions, fit};
use crate::labeled::Labeled;
use crate::metric::PointMetric;
use crate::numeric::seed::{Random, generator};
use crate::progress::silent;

fn euclidean(dim: usize, at: &[f64]) -> GroundMetric {
    GroundMetric::from_points(dim, at.to_vec(), PointMetric::Euclidean).unwrap()
}

/// Points of the plane on a grid, so that some coincide, and the number of old ones.
fn scenes() -> impl Strategy<Value = (Vec<f64>, usize)> {
    let points = proptest::collection::vec((0..30u8, 0..30u8), 2..60);
    (points, 0.1..0.95f64).prop_map(|(points, share)| {
        let old = ((points.len() as f64 * share) as usize).max(1);
        (points.iter().flat_map(|&(x, y)| [f64::from(x), f64::from(y)]).collect(), old)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn old_distances_stay((at, old) in scenes(), trees in 1..3usize) {
        let kinds = [Linkage::Average, Linkage::Complete, Linkage::Single];
        let first = euclidean(2, &at[..2 * old]);
        let tree = |kind: &Linkage| linkage(&first, *kind, &silent).unwrap();
        let model = match trees {
            1 => Model::Tree(tree(&kinds[0])),
            _ => Model::Forest(crate::Forest::new(kinds.iter().map(tree).collect(), vec![0.5, 0.3, 0.2]).unwrap()),
        };
        let metric = euclidean(2, &at);
        let larger = model.extended_on(&metric, &Extension::default(), &silent).unwrap();
        prop_assert_eq!(larger.points(), metric.points());
        for (small, large) in model.trees().iter().zip(larger.trees()) {
            for i in 0..old {
                for j in 0..old {
                    let (before, after) = (small.leaf_distance(i, j), large.leaf_distance(i, j));
                    prop_assert!((before - after).abs() <= 1e-12 * (1.0 + before));
                }
            }
        }
        for i in old..metric.points() {
            for j in 0..i {
                let found = larger.leaf_distance(i, j);
                prop_assert!(found.is_finite() && found >= 0.0);
            }
        }
    }

    #[test]
    fn links_are_the_least_of_all_that_came_before((at, old) in scenes()) {
        let metric = euclidean(2, &at);
        let among = Neighborhood::new(&metric, old).unwrap();
        let links = among.nearest_leaves(&silent).unwrap();
        let mut placed: Vec<usize> = (0..old).collect();
        for link in &links {
            let distance = |y: usize| metric.distance(link.point, y);
            prop_assert!((link.distance - distance(link.beside)).abs() <= 1e-9);
            prop_assert!(placed.contains(&link.beside));
            let cost = |y: usize| distance(y) - 0.5 * among.mean[y];
            if link.distance > 0.0 {
                for &y in &placed {
                    prop_assert!(cost(link.beside) <= cost(y) + 1e-9);
                }
            }
            placed.push(link.point);
        }
        prop_assert_eq!(links.len(), metric.points() - old);
    }
}

#[test]
fn a_cluster_far_from_all_old_points_keeps_its_width() {
    let mut at: Vec<f64> = (0..40).map(f64::from).collect();
    at.extend((0..20).map(|k| 1_000.0 + 0.1 * f64::from(k)));
    let model = Model::Tree(linkage(&euclidean(1, &at[..40]), Linkage::Average, &silent).unwrap());
    let larger = model.extended_on(&euclidean(1, &at), &Extension::default(), &silent).unwrap();
    for k in 41..60 {
        assert!(larger.leaf_distance(40, k) < 10.0, "{}", larger.leaf_distance(40, k));
        let away = larger.leaf_distance(0, k);
        assert!((500.0..2_000.0).contains(&away), "{away}");
    }
}

#[test]
fn copies_lie_on_their_points() {
    let mut at = groups(1, 40, 2, 0.0, 3);
    at.extend_from_within(..20);
    let model = Model::Tree(linkage(&euclidean(2, &at[..80]), Linkage::Average, &silent).unwrap());
    let larger = model.extended_on(&euclidean(2, &at), &Extension::default(), &silent).unwrap();
    for k in 0..10 {
        assert_eq!(larger.leaf_distance(k, 40 + k), 0.0);
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let model = Model::Tree(Tree::star(3, 2.0).unwrap());
    let extend = |at: &[f64], extension: &Extension| {
        model.extended_on(&euclidean(1, at), extension, &silent).unwrap_err().to_string()
    };
    assert!(extend(&[0.0, 1.0], &Extension::default()).contains('3'));
    let measures = Some(Measures::unit_masses(3, [0, 1]).unwrap());
    let said = extend(&[0.0, 1.0, 2.0, 3.0], &Extension { measures, ..Extension::default() });
    assert!(said.contains('4'), "{said}");
    // One old point, and no pair of random measures.
    let one = Model::Tree(Tree::new(1, vec![0], vec![0.0]).unwrap());
    let two = one.extended_on(&euclidean(1, &[0.0, 4.0]), &Extension::default(), &silent).unwrap();
    assert_eq!(two.leaf_distance(0, 1), 4.0);
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    let at = groups(5, 30, 3, 0.3, 7);
    let model = Model::Tree(linkage(&euclidean(3, &at[..300]), Linkage::Average, &silent).unwrap());
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            model.extended_on(&euclidean(3, &at), &Extension::default(), &silent).unwrap()
        })
    };
    assert_eq!(with(1), with(3));
}

fn normal(rng: &mut Random) -> f64 {
    let radius = (-2.0 * rng.random_range(f64::MIN_POSITIVE..1.0).ln()).sqrt();
    radius * (TAU * rng.random_range(0.0..1.0)).cos()
}

/// Groups of normal points whose means are normal with standard deviation `apart`.
fn groups(count: usize, size: usize, dim: usize, apart: f64, seed: u64) -> Vec<f64> {
    let rng = &mut generator(seed);
    let mut at = Vec::new();
    for _ in 0..count {
        let mean: Vec<f64> = (0..dim).map(|_| apart * normal(rng)).collect();
        for _ in 0..size {
            at.extend(mean.iter().map(|m| m + normal(rng)));
        }
    }
    at
}

/// Mean signed error and mean error of pairs with none, one and two new groups.
#[derive(Default)]
struct Errors {
    signed: [f64; 3],
    plain: [f64; 3],
}

/// Groups of 100 normal points in R¹⁰ with means a little apart, of which the last two are new to
/// the tree: errors with edges fitted to random measures, and to the groups.
fn trial(count: usize, apart: f64, seed: u64) -> [Errors; 2] {
    let (size, dim) = (100, 10);
    let old = count - 2;
    let at = groups(count, size, dim, apart, seed);
    let measures_of = |count: usize| {
        let group = |g: usize| (size * g..size * (g + 1)).map(|point| (point, 0.01));
        Measures::from_rows(count * size, (0..count).map(group)).unwrap()
    };
    let (metric, measures) = (euclidean(dim, &at), measures_of(count));
    let first = euclidean(dim, &at[..old * size * dim]);
    let data = Labeled::sample(&first, &measures_of(old), 300, 0, &silent).unwrap();
    let model = fit(&first, Some(&data), &FitOptions::default(), &silent).unwrap().model;
    let pairs: Vec<(usize, usize)> = (0..count).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let exact = Labeled::solve(&metric, &measures, pairs.clone(), &silent).unwrap();
    [None, Some(measures.clone())].map(|given| {
        let extension = Extension { measures: given, support: size, seed: 0 };
        let larger = model.extended_on(&metric, &extension, &silent).unwrap();
        let found = larger.pairs(&measures, &pairs, &silent).unwrap();
        let kind = |(i, j): (usize, usize)| usize::from(i >= old) + usize::from(j >= old);
        let mut errors = Errors::default();
        for (p, &pair) in pairs.iter().enumerate() {
            let of_kind = pairs.iter().filter(|&&other| kind(other) == kind(pair)).count() as f64;
            let error = found[p] / exact.distances()[p] - 1.0;
            errors.signed[kind(pair)] += error / of_kind;
            errors.plain[kind(pair)] += error.abs() / of_kind;
        }
        errors
    })
}

#[test]
fn measures_wholly_on_new_points_are_about_as_good_as_old_ones() {
    // With `Tree::place` alone: −0.11 and −0.25.
    let [drawn, given] = trial(12, 0.1, 1);
    for (most, errors) in [(0.06, drawn), (0.03, given)] {
        let Errors { signed, plain } = errors;
        assert!(signed[1].abs() <= most && signed[2].abs() <= most, "{signed:?} {plain:?}");
    }
}

/// Takes minutes: `cargo test -p treeport --lib extend:: -- --ignored --nocapture`. There is one
/// pair of new groups per seed, so means are over seeds.
#[test]
#[ignore = "takes minutes"]
#[expect(clippy::print_stdout, reason = "the table of the module is what it prints")]
fn measures_wholly_on_new_points_are_as_good_as_old_ones() {
    const SEEDS: u64 = 6;
    for apart in [0.0, 0.1, 0.3] {
        let mut means = [Errors::default(), Errors::default()];
        for seed in 0..SEEDS {
            for (mean, errors) in means.iter_mut().zip(trial(20, apart, seed)) {
                for kind in 0..3 {
                    mean.signed[kind] += errors.signed[kind] / SEEDS as f64;
                    mean.plain[kind] += errors.plain[kind] / SEEDS as f64;
                }
            }
        }
        for (name, Errors { signed, plain }) in ["drawn", "given"].into_iter().zip(means) {
            println!("{apart} {name}: signed {signed:.4?} mean {plain:.4?}");
            assert!(signed[1].abs() <= 0.02 && signed[2].abs() <= 0.02, "{signed:?}");
            let most = if name == "given" { 1.5 } else { 1.75 };
            assert!(plain[1].max(plain[2]) <= most * plain[0], "{plain:?}");
        }
    }
}
