//! Distances along the Earth's surface, everywhere that points with coordinates go.

use proptest::prelude::*;
use treeport::accuracy::Level;
use treeport::estimate::Estimator;
use treeport::{GroundMetric, Linkage, Measures, Model, PointMetric, Problem, linkage, silent};

fn places() -> impl Strategy<Value = Vec<(f64, f64)>> {
    let poles = prop_oneof![Just(90.0), Just(-90.0), Just(0.0)];
    let latitude = prop_oneof![4 => -90.0..90.0f64, 1 => poles];
    let longitude = prop_oneof![4 => -180.0..360.0f64, 1 => Just(180.0), 1 => Just(-180.0)];
    proptest::collection::vec((latitude, longitude), 4..150)
}

fn metric(places: &[(f64, f64)]) -> GroundMetric {
    let at = places.iter().flat_map(|&(latitude, longitude)| [latitude, longitude]).collect();
    GroundMetric::from_points(2, at, PointMetric::Haversine).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn every_way_to_ask_gives_the_same_distance(places in places()) {
        let metric = metric(&places);
        let n = metric.points();
        prop_assert!(metric.is_metric());
        prop_assert_eq!(metric.coordinates().unwrap().0, 2);
        let all: Vec<usize> = (0..n).collect();
        let mut block = vec![0.0; n * n];
        metric.block(&all, &all, &mut block);
        let mut condensed = metric.condensed().unwrap().into_iter();
        for i in 0..n {
            for j in 0..n {
                prop_assert_eq!(block[i * n + j], metric.distance(i, j));
                if i < j {
                    prop_assert_eq!(condensed.next().unwrap(), metric.distance(i, j));
                }
            }
        }
    }

    #[test]
    fn trees_transport_and_bounds_are_those_of_the_matrix(places in places(), seed in any::<u32>()) {
        let metric = metric(&places);
        let n = metric.points();
        let matrix = GroundMetric::from_condensed(n, metric.condensed().unwrap()).unwrap();
        let mass = |k: usize| 1.0 + f64::from((seed.wrapping_mul(40_503).wrapping_add(k as u32 * 7919)) % 97);
        let masses: Vec<f64> = (0..2 * n).map(mass).collect();
        let measures = Measures::from_dense(n, &masses).unwrap().normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let truth = Problem::new(&matrix, &a, &b).value(&silent).unwrap();
        let close = |x: f64| (x - truth).abs() <= 1e-7 * truth + 1e-9;
        prop_assert!(close(Problem::new(&metric, &a, &b).value(&silent).unwrap()));
        for kind in [Linkage::Single, Linkage::Average] {
            let trees = [&metric, &matrix].map(|metric| linkage(metric, kind, &treeport::silent).unwrap());
            let heights = trees.map(|tree| tree.heights().into_iter().fold(0.0, f64::max));
            prop_assert!((heights[0] - heights[1]).abs() <= 1e-7 * heights[1]);
        }
        let model = Model::Tree(linkage(&metric, Linkage::Neighbors, &treeport::silent).unwrap());
        let estimator = Estimator::new(&metric, &model).unwrap().by_trees_alone();
        for level in [Level::Tree, Level::Flow, Level::Arcs] {
            let interval = estimator.bounds(level, &a, &b).unwrap();
            let slack = 1e-9 * truth + 1e-12;
            prop_assert!(interval.lower <= truth + slack && truth <= interval.upper + slack, "{level}");
        }
    }
}
