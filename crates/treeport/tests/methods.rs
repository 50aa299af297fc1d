//! Every method behind its one word: the same interface, seeds, factors and refusals.

mod common;

use treeport::baseline::{
    BaselineOptions, Method, Model, Scale, Training, WeightOptions, ultratwd, ultratwd_mst,
};
use treeport::{Error, GroundMetric, Labels, Measures, Norm, exact, silent};

struct Data {
    metric: GroundMetric,
    measures: Measures,
    labels: Labels,
}

impl Data {
    /// Points of no particular shape, with measures on some of them.
    fn new(n: usize, dim: usize) -> Self {
        let noise = |k: usize| ((k * 7919 + k * k % 613) % 1009) as f64 / 100.0;
        let x = (0..n * dim).map(noise).collect();
        let metric = GroundMetric::from_points(dim, x, Norm::Euclidean).expect("points");
        let row = |r: usize| {
            (0..n).map(move |i| {
                (i, if (i + r).is_multiple_of(3) { 0.1 + noise(i * 31 + r) } else { 0.0 })
            })
        };
        let measures = Measures::from_rows(n, (0..24).map(row)).expect("measures").normalized();
        let pairs: Vec<(usize, usize)> = (0..20).map(|k| (k, (k * 5 + 7) % 24)).collect();
        let distances = exact::pairs(&metric, &measures, &pairs, &silent).expect("solvable");
        Self { metric, measures, labels: Labels { pairs, distances } }
    }

    fn training(&self) -> Training<'_> {
        Training { measures: &self.measures, labels: &self.labels }
    }

    fn build(&self, method: Method, options: &BaselineOptions) -> treeport::Result<Model> {
        method.build(&self.metric, Some(self.training()), options, &silent)
    }

    fn answers(&self, model: &Model) -> Vec<f64> {
        model.pairs(&self.metric, &self.measures, &self.labels.pairs, &silent).expect("valid pairs")
    }
}

/// Small, so that tests are quick.
fn options() -> BaselineOptions {
    let weights = WeightOptions { pairs: 300, ..WeightOptions::default() };
    BaselineOptions { weights, ..BaselineOptions::default() }
}

#[test]
fn names_come_back() {
    for method in Method::ALL {
        assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
    }
    let message = "cuadtree".parse::<Method>().unwrap_err().to_string();
    assert!(message.starts_with("the method is `cuadtree`; it must be mean-label"), "{message}");
    for method in Method::ALL {
        assert!(message.contains(method.name()), "{method} is not offered");
    }
}

#[test]
fn every_method_answers_and_says_what_it_is() {
    let data = Data::new(30, 3);
    for method in Method::ALL {
        let model = data.build(method, &options()).unwrap();
        assert_eq!(model.tree().is_some(), method.is_tree(), "{method}");
        assert!(data.answers(&model).iter().all(|d| *d > 0.0 && d.is_finite()), "{method}");
        let without = method.build(&data.metric, None, &options(), &silent);
        assert_eq!(without.is_err(), method.needs_labels(), "{method}");
        let matrix = data.metric.materialized();
        let on_matrix = method.build(&matrix, Some(data.training()), &options(), &silent);
        assert_eq!(
            matches!(on_matrix, Err(Error::NoCoordinates { .. })),
            method.needs_coordinates(),
            "{method}"
        );
    }
}

#[test]
fn a_seed_names_a_model_on_any_number_of_threads() {
    let data = Data::new(40, 2);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    for method in Method::ALL {
        let build = |seed| data.build(method, &BaselineOptions { seed, ..options() }).unwrap();
        let model = build(1);
        assert_eq!(pool.install(|| build(1)), model, "{method}");
        assert_eq!(pool.install(|| data.answers(&model)), data.answers(&model), "{method}");
        let random = ["quadtree", "qtwd", "ctwd", "cluster", "kmeans", "sliced-ctwd", "flowtree"];
        if random.contains(&method.name()) {
            assert_ne!(build(2), model, "{method}");
        }
    }
}

#[test]
fn one_factor_puts_half_of_the_labels_on_either_side() {
    let data = Data::new(30, 3);
    for method in Method::ALL {
        let plain = data.build(method, &options()).unwrap();
        let scaled =
            data.build(method, &BaselineOptions { scale: Scale::Labels, ..options() }).unwrap();
        let factor = plain.factor(&data.metric, data.training()).unwrap();
        let above = |(answer, label): (&f64, &f64)| answer > label;
        let answers = data.answers(&scaled);
        let count = answers.iter().zip(&data.labels.distances).filter(|&pair| above(pair)).count();
        assert!((9..=11).contains(&count), "{method}: {count} of 20 above");
        for (a, b) in answers.iter().zip(data.answers(&plain)) {
            assert!((a - factor * b).abs() <= 1e-12 * a, "{method}");
        }
        assert!(plain.scaled(-1.0).is_err());
        let unscaled = method.build(
            &data.metric,
            None,
            &BaselineOptions { scale: Scale::Labels, ..options() },
            &silent,
        );
        assert!(matches!(unscaled, Err(Error::NothingToLearn { .. })), "{method}");
    }
}

#[test]
fn total_variation_is_a_star_and_the_mean_label_a_number() {
    let data = Data::new(12, 2);
    let star = data.build(Method::TotalVariation, &options()).unwrap();
    let tree = star.tree().unwrap();
    let all = common::leaf_distances(tree);
    assert!(all.iter().all(|d| (d - all[0]).abs() < 1e-12));
    let mean = data.metric.condensed().iter().sum::<f64>() / 66.0;
    assert!((all[0] - mean).abs() < 1e-12 * mean);
    let constant = data.build(Method::MeanLabel, &options()).unwrap();
    let mean = data.labels.distances.iter().sum::<f64>() / 20.0;
    assert_eq!(constant, Model::Constant(mean));
}

#[test]
fn fitted_edges_fit_points_better_and_more_slices_vary_less() {
    let data = Data::new(60, 2);
    let points: Vec<(usize, usize)> = common::pairs(60).collect();
    let units = Measures::unit_masses(60, 0..60).unwrap();
    let misfit = |method: Method, options: &BaselineOptions| {
        let found =
            data.build(method, options).unwrap().pairs(&data.metric, &units, &points, &silent);
        found
            .unwrap()
            .iter()
            .zip(&points)
            .map(|(d, &(i, j))| (d - data.metric.distance(i, j)).powi(2))
            .sum::<f64>()
    };
    let options = BaselineOptions { slices: 4, ..BaselineOptions::default() };
    for (plain, fitted, sliced) in [
        (Method::Quadtree, Method::QTwd, Method::SlicedQTwd),
        (Method::Cluster, Method::CTwd, Method::SlicedCTwd),
    ] {
        assert!(misfit(fitted, &options) < 0.5 * misfit(plain, &options));
        let (each, joint) = (
            misfit(sliced, &options),
            misfit(sliced, &BaselineOptions { joint: true, ..options.clone() }),
        );
        // Together they may make up for each other's errors, so no other edges fit better.
        assert!(joint <= each * (1.0 + 1e-6), "{sliced}: joint {joint}, each {each}");
        assert!(each < misfit(fitted, &options));
    }
}

#[test]
fn labels_beat_points_where_the_two_disagree() {
    let data = Data::new(30, 3);
    let error = |method| {
        let options = BaselineOptions { scale: Scale::Labels, ..options() };
        let answers = data.answers(&data.build(method, &options).unwrap());
        answers.iter().zip(&data.labels.distances).map(|(a, d)| (a - d).abs() / d).sum::<f64>()
    };
    assert!(error(Method::CTwdLabels) < error(Method::CTwd));
    assert!(error(Method::QTwdLabels) < error(Method::QTwd));
}

#[test]
fn ultrametrics_come_closer_to_the_metric_by_descent() {
    let data = Data::new(50, 3);
    let start = ultratwd_mst(&data.metric).unwrap();
    let end = ultratwd(&data.metric, 10_000, 0, &silent).unwrap();
    assert!(start.is_ultrametric() && end.is_ultrametric());
    let largest = |tree: &treeport::Tree| {
        let gaps = common::pairs(50)
            .map(|(i, j)| (tree.leaf_distance(i, j) - data.metric.distance(i, j)).abs());
        gaps.fold(0.0, f64::max)
    };
    let squares = |tree: &treeport::Tree| {
        common::pairs(50)
            .map(|(i, j)| (tree.leaf_distance(i, j) - data.metric.distance(i, j)).powi(2))
            .sum::<f64>()
    };
    assert!(largest(&start) <= largest(&end), "the start is the best in the largest difference");
    assert!(squares(&end) < squares(&start));
}

#[test]
fn one_point_and_two_at_the_same_place_are_no_trouble() {
    for n in [1, 2] {
        let metric = GroundMetric::from_points(2, vec![4.0; 2 * n], Norm::Euclidean).unwrap();
        let measures = Measures::unit_masses(n, [0, n - 1]).unwrap();
        let labels = Labels { pairs: vec![(0, 1)], distances: vec![0.0] };
        let training = Training { measures: &measures, labels: &labels };
        for method in Method::ALL {
            match method.build(&metric, Some(training), &options(), &silent) {
                Ok(model) => {
                    let found = model.pairs(&metric, &measures, &[(0, 1)], &silent).unwrap();
                    assert_eq!(found, [0.0], "{method}, {n} points");
                }
                // Edges cannot be fitted to labels that are all 0.
                Err(error) => {
                    assert!(matches!(error, Error::NothingToLearn { .. }), "{method}: {error}");
                }
            }
        }
    }
}

#[test]
fn work_stops_when_asked() {
    let data = Data::new(60, 2);
    for method in
        [Method::Cluster, Method::CTwd, Method::SlicedCTwd, Method::UltraTwd, Method::Additive]
    {
        let stopped =
            method.build(&data.metric, Some(data.training()), &BaselineOptions::default(), &|_| {
                false
            });
        assert!(matches!(stopped, Err(Error::Cancelled)), "{method}");
    }
}

#[test]
fn bad_options_and_labels_are_refused() {
    let data = Data::new(10, 2);
    let refused = |method: Method, options: BaselineOptions| {
        data.build(method, &options).unwrap_err().to_string()
    };
    assert_eq!(
        refused(Method::SlicedQuadtree, BaselineOptions { slices: 0, ..options() }),
        "slices is 0; a sliced method averages at least one tree"
    );
    assert!(
        refused(Method::CTwd, BaselineOptions { branching: 1, ..options() })
            .starts_with("branching is 1")
    );
    let none = Labels::default();
    let training = Training { measures: &data.measures, labels: &none };
    let built = Method::Quadtree.build(&data.metric, Some(training), &options(), &silent);
    assert!(matches!(built, Err(Error::NothingToLearn { .. })));
    let elsewhere = Measures::unit_masses(3, 0..3).unwrap();
    let training = Training { measures: &elsewhere, labels: &data.labels };
    let built = Method::Quadtree.build(&data.metric, Some(training), &options(), &silent);
    assert!(matches!(built, Err(Error::PointCount { .. })));
}
