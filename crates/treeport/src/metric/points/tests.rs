//! Every metric of the table in every kernel, against its textbook formula.

use super::*;
use crate::accuracy::{Accuracy, Level};
use crate::error::Error;
use crate::estimate::Estimator;
use crate::measures::Measures;
use crate::metric::condensed::place;
use crate::metric::{BlockCache, GroundMetric};
use crate::model::Model;
use crate::names::Named;
use crate::search::{Index, IndexOptions};
use crate::{Linkage, Problem, linkage, silent};

/// Points of one metric and dimension, with their textbook distances.
struct Judged {
    point_metric: PointMetric,
    halves: Option<Vec<f64>>,
    metric: GroundMetric,
    /// All distances in condensed order, and the largest.
    distances: Vec<f64>,
    largest: f64,
}

const POINTS: usize = 50;

/// Coordinates that are valid degrees; some points are close together.
fn coordinates(dim: usize) -> Vec<f64> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut random = move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1u64 << 53) as f64 - 0.5
    };
    let far: Vec<f64> = (0..POINTS * dim).map(|_| 160.0 * random()).collect();
    let near = |e: usize| if e / dim % 5 == 4 { far[e - 4 * dim] } else { far[e] };
    (0..POINTS * dim).map(|e| near(e) + random()).collect()
}

impl Judged {
    fn all() -> Vec<Self> {
        let all = PointMetric::ALL.iter().copied();
        let mut judged: Vec<Self> = all
            .flat_map(|metric| metric.dims().iter().map(move |&dim| Self::new(metric, dim, None)))
            .collect();
        for &metric in PointMetric::ALL.iter().filter(|metric| metric.without_period().is_none()) {
            for &dim in metric.dims() {
                let each =
                    Period::Each((0..dim).map(|k| [Some(90.0), None, Some(7.5)][k % 3]).collect());
                let periods = if dim > 1 { vec![Period::All(120.0), each] } else { vec![each] };
                judged.extend(periods.into_iter().map(|p| Self::new(metric, dim, Some(p))));
            }
        }
        judged
    }

    fn new(point_metric: PointMetric, dim: usize, period: Option<Period>) -> Self {
        let at = coordinates(dim);
        let geometry = point_metric.with_optional_period(period);
        let halves = geometry.half_periods(dim).unwrap();
        let metric = GroundMetric::from_points(dim, at.clone(), geometry).unwrap();
        assert_eq!(metric.period().is_some(), halves.is_some());
        let point = |i: usize| &at[i * dim..(i + 1) * dim];
        // Subtracts the number of whole periods that brings two coordinates closest.
        let around = |d: f64, half: f64| {
            let turns = if half.is_finite() { (d / (2.0 * half)).round() } else { 0.0 };
            (if half.is_finite() { d - turns * 2.0 * half } else { d }).abs()
        };
        let judge = |i: usize, j: usize| match &halves {
            None => point_metric.judge(point(i), point(j)).max(0.0),
            Some(halves) => {
                let pairs = point(i).iter().zip(point(j)).zip(halves);
                let differences: Vec<f64> = pairs.map(|((x, y), &h)| around(x - y, h)).collect();
                point_metric.judge_differences(&differences)
            }
        };
        let pairs = (0..POINTS).flat_map(|i| (i + 1..POINTS).map(move |j| (i, j)));
        let distances: Vec<f64> = pairs.map(|(i, j)| judge(i, j)).collect();
        let largest = distances.iter().copied().fold(0.0, f64::max);
        Self { point_metric, halves, metric, distances, largest }
    }

    fn distance(&self, i: usize, j: usize) -> f64 {
        if i == j { 0.0 } else { self.distances[place(POINTS, i.min(j), i.max(j))] }
    }

    fn matrix(&self) -> GroundMetric {
        GroundMetric::from_condensed(POINTS, self.distances.clone()).unwrap()
    }

    /// Allows for the rounding of the textbook sums, relative to the largest distance.
    fn check(&self, what: &str, found: f64, expected: f64) {
        let off = (found - expected).abs();
        let dim = self.metric.vectors().unwrap().0;
        assert!(
            off <= 1e-11 * expected + 1e-14 * self.largest,
            "{:?} in {dim} dimensions, {what}: {found} {expected}",
            self.metric
        );
    }

    fn check_block(&self, what: &str, rows: &[usize], cols: &[usize], found: &[f64]) {
        for (at, &found) in found.iter().enumerate() {
            let (i, j) = (rows[at / cols.len()], cols[at % cols.len()]);
            self.check(what, found, self.distance(i, j));
        }
    }

    fn measures() -> Measures {
        let mass =
            |k: usize| if k.is_multiple_of(3) { 0.0 } else { 1.0 + ((k * 7919) % 97) as f64 };
        let masses: Vec<f64> = (0..5 * POINTS).map(mass).collect();
        Measures::from_dense(POINTS, &masses).unwrap().normalized()
    }
}

#[test]
fn pairs_rows_blocks_and_tables_are_those_of_the_textbook() {
    let all: Vec<usize> = (0..POINTS).collect();
    for judged in Judged::all() {
        let metric = &judged.metric;
        let mut block = vec![f64::NAN; POINTS * POINTS];
        for (i, row) in block.chunks_exact_mut(POINTS).enumerate() {
            row.iter_mut().enumerate().for_each(|(j, out)| *out = metric.distance(i, j));
        }
        judged.check_block("one pair", &all, &all, &block);
        for (&i, row) in all.iter().zip(block.chunks_exact_mut(POINTS)) {
            let to: Vec<u32> = (0..POINTS as u32).collect();
            metric.distances_from(i, &to, row);
        }
        judged.check_block("from one point", &all, &all, &block);
        metric.block(&all, &all, &mut block);
        judged.check_block("a block", &all, &all, &block);
        for (&found, &expected) in metric.condensed().unwrap().iter().zip(&judged.distances) {
            judged.check("the table", found, expected);
        }
        // Once with an empty cache, once with a cached layout.
        let (mut laid_out, from) = (BlockCache::default(), (0..POINTS as u32).collect::<Vec<_>>());
        for what in ["laid out", "laid out before"] {
            metric.block_from(&mut laid_out, &from, &all, &all, &mut block);
            judged.check_block(what, &all, &all, &block);
        }
    }
}

#[test]
fn single_precision_bounds_hold_the_distance_of_the_textbook() {
    let all: Vec<usize> = (0..POINTS).collect();
    for judged in Judged::all() {
        let mut out = vec![-1.0; POINTS * POINTS];
        let lowered = judged.metric.block_below(&all, &all, POINTS, &mut out);
        for (at, &single) in out.iter().enumerate() {
            let (i, j) = (at / POINTS, at % POINTS);
            let (low, high) = (f64::from(single), lowered.above((i, j), f64::from(single)));
            let (low, distance) = (low * lowered.unit, judged.distance(i, j));
            let off = 1e-14 * judged.largest;
            assert!(
                low <= distance + off && distance <= high + off,
                "{} {i} {j}: {low} {distance} {high}",
                judged.point_metric
            );
            assert!(high - low <= 1e-2 * judged.largest, "{} {i} {j}", judged.point_metric);
        }
    }
}

#[test]
fn linkage_and_neighbors_are_those_of_the_textbook() {
    for judged in Judged::all() {
        let matrix = judged.matrix();
        for kind in [Linkage::Single, Linkage::Average] {
            let [found, expected] =
                [&judged.metric, &matrix].map(|m| linkage(m, kind, &crate::silent).unwrap());
            let [found, expected] = [found, expected].map(|tree| {
                let mut heights = tree.heights();
                heights.sort_by(f64::total_cmp);
                heights
            });
            for (found, expected) in found.into_iter().zip(expected) {
                judged.check("a height", found, expected);
            }
        }
        // The two nearest points are merged first, at their distance.
        let tree = linkage(&judged.metric, Linkage::Neighbors, &crate::silent).unwrap();
        let least = judged.distances.iter().copied().fold(f64::INFINITY, f64::min);
        let heights = tree.heights().into_iter().skip(POINTS);
        judged.check("nearest", 2.0 * heights.fold(f64::INFINITY, f64::min), least);
    }
}

#[test]
fn transport_bounds_and_search_are_those_of_the_textbook() {
    let measures = Judged::measures();
    for judged in Judged::all() {
        let (metric, matrix) = (&judged.metric, judged.matrix());
        let exact = |i: usize, j: usize| {
            Problem::new(&matrix, &measures.row(i), &measures.row(j)).value(&silent).unwrap()
        };
        let model = Model::Tree(linkage(metric, Linkage::Average, &crate::silent).unwrap());
        let estimator = Estimator::new(metric, &model).unwrap().by_trees_alone();
        for (i, j) in [(0, 1), (2, 3), (1, 4)] {
            let (a, b, truth) = (measures.row(i), measures.row(j), exact(i, j));
            judged.check("transport", Problem::new(metric, &a, &b).value(&silent).unwrap(), truth);
            for level in Level::ALL {
                let interval = estimator.bounds(level, &a, &b).unwrap();
                let off = 1e-13 * judged.largest;
                assert!(
                    interval.lower <= truth + off && truth <= interval.upper + off,
                    "{} {level}: {interval:?} {truth}",
                    judged.point_metric
                );
            }
        }
        let options = IndexOptions { reference: 8, ..IndexOptions::default() };
        let index = Index::new(metric, &measures, &options, &silent).unwrap();
        for (i, found) in index.graph(4, Accuracy::EXACT, &silent).unwrap().into_iter().enumerate()
        {
            let mut expected: Vec<f64> = (0..5).filter(|&j| j != i).map(|j| exact(i, j)).collect();
            expected.sort_by(f64::total_cmp);
            for ((_, found), expected) in found.found.into_iter().zip(expected) {
                judged.check("a neighbor", found, expected);
            }
        }
    }
}

#[test]
fn metrics_are_what_they_claim_to_be() {
    for judged in Judged::all() {
        let (claimed, matrix) = (judged.point_metric, judged.matrix());
        assert_eq!(judged.metric.is_metric(), claimed.is_metric());
        assert!(!claimed.is_metric() || matrix.assume_metric().is_ok(), "{claimed}");
        // A norm has degree 1 and obeys the triangle inequality.
        assert!(claimed.norm().is_none() || claimed.is_metric() && claimed.degree() == 1);
        let (dim, vectors) = judged.metric.vectors().unwrap();
        let [x, y] = [&vectors[..dim], &vectors[dim..2 * dim]];
        let length = |x: &[f64]| x.iter().map(|x| x * x).sum::<f64>().sqrt();
        if claimed.degree() == 0 {
            assert!((length(x) - 1.0).abs() < 1e-14, "{claimed}");
        } else if judged.halves.is_none() {
            let [twice_x, twice_y] = [x, y].map(|x| x.iter().map(|x| 2.0 * x).collect::<Vec<_>>());
            let expected = claimed.scaled(claimed.between(x, y, None), 2.0);
            judged.check("twice as long", claimed.between(&twice_x, &twice_y, None), expected);
        }
    }
}

#[test]
fn distances_side_by_side_are_those_of_one_pair_to_the_bit() {
    for judged in Judged::all() {
        let to: Vec<u32> = (0..11).rev().collect();
        let mut out = vec![f64::NAN; 11];
        judged.metric.distances_from(3, &to, &mut out);
        let one_by_one = to.iter().map(|&j| judged.metric.distance(3, j as usize));
        assert_eq!(out, one_by_one.collect::<Vec<f64>>(), "{:?}", judged.metric);
    }
}

#[test]
fn distances_by_hand() {
    let at = |metric: PointMetric| {
        Points::new(2, vec![0.0, 3.0, 4.0, 0.0], metric.into()).unwrap().distance(0, 1)
    };
    assert_eq!(at(PointMetric::Euclidean), 5.0);
    assert_eq!(at(PointMetric::SqEuclidean), 25.0);
    assert_eq!(at(PointMetric::Manhattan), 7.0);
    assert_eq!(at(PointMetric::Chebyshev), 4.0);
    assert!((at(PointMetric::Cosine) - 1.0).abs() < 1e-15);
}

fn error(dim: usize, coordinates: &[f64], metric: PointMetric) -> Error {
    Points::new(dim, coordinates.to_vec(), metric.into()).err().expect("refused")
}

#[test]
fn other_words_and_unknown_ones() {
    for name in ["chebyshev", "linf", "chessboard"] {
        assert_eq!(name.parse::<PointMetric>().unwrap(), PointMetric::Chebyshev);
    }
    assert_eq!("cityblock".parse::<PointMetric>().unwrap(), PointMetric::Manhattan);
    assert_eq!(
        "L7".parse::<PointMetric>().unwrap_err().to_string(),
        "the metric is `L7`; it must be euclidean, manhattan, chebyshev, cosine, sqeuclidean or haversine"
    );
}

#[test]
fn bad_points_are_named() {
    for &metric in PointMetric::ALL {
        assert!(matches!(error(2, &[], metric), Error::NoPoints));
        assert!(matches!(error(0, &[1.0], metric), Error::Shape { .. }));
        assert_eq!(
            error(2, &[0.0; 5], metric).to_string(),
            "the table of coordinates has shape (5,), expected rows of 2"
        );
        assert_eq!(
            error(2, &[1.0, 0.0, 0.0, f64::NAN], metric).to_string(),
            "coordinate 1 of point 1 is NaN; coordinates must be finite"
        );
        assert!(error(1, &[0.0, f64::INFINITY], metric).to_string().contains("is inf"));
    }
}

#[test]
fn points_too_far_apart_to_measure_are_named() {
    let far = error(1, &[-1e200, 0.0, 1e200], PointMetric::Euclidean);
    assert!(matches!(far, Error::BadDistance { from: 0, to: 2, value } if value.is_infinite()));
    let far = error(1, &[1.7e308, -1.7e308], PointMetric::Manhattan);
    assert!(matches!(far, Error::BadDistance { from: 0, to: 1, .. }));
    // Coordinates far from the origin are valid if the points are near each other.
    let near = Points::new(1, vec![1e200, 1e200], PointMetric::Euclidean.into()).unwrap();
    assert_eq!(near.distance(0, 1), 0.0);
}

#[test]
fn trees_of_coordinates_know_that_they_go_round() {
    use crate::build::{Splitting, cluster_tree, quadtree};
    for judged in Judged::all().into_iter().filter(|judged| judged.halves.is_some()) {
        let tree = quadtree(&judged.metric, 3).unwrap();
        let chebyshev = Judged::new(
            PointMetric::Chebyshev,
            judged.metric.vectors().unwrap().0,
            judged.metric.period().cloned(),
        );
        let clusters = cluster_tree(&judged.metric, Splitting::KMeans, 3, 12, 5, &silent).unwrap();
        for i in 0..POINTS {
            for j in i + 1..POINTS {
                let off = 1e-12 * judged.largest;
                assert!(tree.leaf_distance(i, j) >= chebyshev.distance(i, j) - off, "{i} {j}");
                // Edges are distances between centers, so no path is shorter than the distance.
                let path = clusters.leaf_distance(i, j);
                assert!(
                    !judged.point_metric.is_metric() || path >= judged.distance(i, j) - off,
                    "{:?} {i} {j}: {path} {}",
                    judged.metric,
                    judged.distance(i, j)
                );
            }
        }
    }
}

#[test]
fn bad_periods_are_named() {
    let refused = |period: &str, dim: usize, metric: PointMetric| {
        let period = period.parse::<Period>();
        let geometry = period.map(|period| metric.with_optional_period(Some(period)));
        let made = geometry.and_then(|g| GroundMetric::from_points(dim, vec![0.25; 2 * dim], g));
        made.expect_err("refused").to_string()
    };
    let positive = "it must be a finite number of at least 1e-300";
    for bad in ["0", "-1", "NaN", "inf", "1e-320"] {
        assert_eq!(refused(bad, 2, PointMetric::Euclidean), format!("period is {bad}; {positive}"));
        let each = format!("none,{bad}");
        assert_eq!(
            refused(&each, 2, PointMetric::Euclidean),
            format!("period is {bad}; {positive}")
        );
    }
    assert_eq!(
        refused("none,6.5", 3, PointMetric::Manhattan),
        "period is none,6.5 for points with 3 coordinates; it must be one number, or a number or none for each coordinate"
    );
    assert_eq!(
        refused("none,x", 2, PointMetric::Manhattan),
        "period is `none,x`; it must be one number, or a number or none for each coordinate, separated by commas"
    );
    assert_eq!(
        refused("2", 2, PointMetric::Cosine),
        "period is 2; cosine compares directions, which have no period; leave it out or take another metric"
    );
    assert_eq!(
        refused("none,360", 2, PointMetric::Haversine),
        "period is none,360; haversine already treats longitudes as periodic; leave it out"
    );
    // `none` for every coordinate is no period.
    let none = "none,none".parse::<Period>().unwrap();
    let metric = PointMetric::Cosine.with_optional_period(Some(none));
    let metric = GroundMetric::from_points(2, vec![1.0, 0.0, 0.0, 1.0], metric).unwrap();
    assert_eq!((metric.period(), metric.distance(0, 1)), (None, 1.0));
}
