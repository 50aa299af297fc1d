//! Every method behind its one word and the one door: the same interface, seeds, factors and refusals.

use crate::common;
use treeport::fit::{Family, Start, TreeWeightOptions, fit_points, weighted};
use treeport::learn::{Checkpoint, Loss, Schedule};
use treeport::progress::State;
use treeport::{
    Error, Fit, FitOptions, Forest, GroundMetric, Labeled, Linkage, Measures, Method, Model,
    PointMetric, Problems, Tree, build, fit, flow, linkage, silent,
};

struct Scene {
    metric: GroundMetric,
    data: Labeled,
}

impl Scene {
    /// Points of no particular shape, with measures on some of them.
    fn new(n: usize, dim: usize) -> Self {
        let metric = common::cloud(n, dim);
        let data = common::lessons(&metric, 20);
        Self { metric, data }
    }

    fn fit(&self, options: &FitOptions) -> treeport::Result<Fit> {
        fit(&self.metric, Some(&self.data), options, &silent)
    }

    fn model(&self, options: &FitOptions) -> Model {
        self.fit(options).unwrap().model
    }

    fn answers(&self, model: &Model) -> Vec<f64> {
        model.pairs(self.data.measures(), self.data.pairs(), &silent).expect("valid pairs")
    }
}

/// Small, so that tests are quick.
fn options(method: Method) -> FitOptions {
    let takes = method.supports();
    FitOptions {
        point_pairs: takes.point_pairs.then_some(300),
        epochs: takes.learning.then_some(5),
        ..FitOptions::of(method)
    }
}

#[test]
fn names_come_back() {
    for &method in Method::ALL {
        assert_eq!(method.to_string().parse::<Method>().unwrap(), method);
    }
    let message = "cuadtree".parse::<Method>().unwrap_err().to_string();
    assert!(message.starts_with("the method is `cuadtree`; it must be auto"), "{message}");
    let table = Method::table();
    assert_eq!(table.lines().count(), Method::ALL.len());
    for (method, line) in Method::ALL.iter().zip(table.lines()) {
        assert!(message.contains(method.name()), "{method} is not offered");
        assert!(line.trim_start().starts_with(method.name()), "{line}");
    }
}

#[test]
fn every_method_answers_and_says_what_it_is() {
    let scene = Scene::new(30, 3);
    for &method in Method::ALL {
        let fitted = scene.fit(&options(method)).unwrap();
        let model = &fitted.model;
        if method != Method::Auto {
            assert_eq!(model.tree().is_none(), method.supports().n_trees, "{method}");
        }
        assert_eq!(model.points(), 30, "{method}");
        assert!(scene.answers(model).iter().all(|d| *d > 0.0 && d.is_finite()), "{method}");
        let is_learned = method.has_stages() || method.kind().is_some();
        assert_eq!(fitted.stage.is_some(), method.has_stages(), "{method}");
        assert_eq!(fitted.history.len(), if is_learned { 6 } else { 0 }, "{method}");
        assert!(fitted.finished, "{method}");
        let family = match method {
            Method::Auto | Method::Tree => Family::Best,
            Method::Forest | Method::LearnedForest | Method::Slices => Family::Forest,
            _ if method.kind().is_some() => Family::Learned,
            _ => Family::Compared,
        };
        assert_eq!(method.family(), family, "{method}");
    }
}

#[test]
fn what_a_method_cannot_do_without_is_asked_for() {
    let scene = Scene::new(30, 3);
    let matrix = scene.metric.materialized().unwrap();
    for &method in Method::ALL {
        let without = fit(&scene.metric, None, &options(method), &silent);
        let refused = matches!(without, Err(Error::NothingToLearn { .. }));
        assert_eq!((without.is_err(), refused), (method.supports().labels, refused), "{method}");
        let on_matrix = fit(&matrix, Some(&scene.data), &options(method), &silent);
        let refused = matches!(on_matrix, Err(Error::NoCoordinates { .. }));
        assert_eq!(refused, method.supports().coordinates, "{method}");
        assert_eq!(on_matrix.is_err(), refused, "{method}");
    }
}

#[test]
fn a_seed_names_a_model_on_any_number_of_threads() {
    let scene = Scene::new(40, 2);
    for &method in Method::ALL {
        // Brought to the scale of labels, one star is like another.
        let scale = method != Method::TotalVariation;
        let build = |seed| scene.model(&FitOptions { seed, scale, ..options(method) });
        let model = build(1);
        assert_eq!(common::on_threads(1, || build(1)), model, "{method}");
        assert_eq!(common::on_threads(1, || scene.answers(&model)), scene.answers(&model));
        let fixed = [Method::UltraTwdMst, Method::Single, Method::Average, Method::Neighbors];
        assert_eq!(build(2) == model, fixed.contains(&method), "{method}");
    }
}

#[test]
fn one_factor_puts_half_of_the_labels_on_either_side() {
    let scene = Scene::new(30, 3);
    let compared = |m: &&Method| m.family() == Family::Compared;
    for &method in Method::ALL.iter().filter(compared) {
        let plain = scene.model(&FitOptions { scale: false, ..options(method) });
        let scaled = scene.model(&options(method));
        let (before, after) = (scene.answers(&plain), scene.answers(&scaled));
        let above = after.iter().zip(scene.data.distances()).filter(|(w, d)| w > d).count();
        // One of the 20 is met, up to rounding; nine have larger ratios.
        assert!((9..=11).contains(&above), "{method}: {above} of 20 above");
        let factor = scene.data.factor(&before);
        assert_eq!(scaled, plain.scaled(factor).unwrap(), "{method}");
        assert!(plain.scaled(-1.0).is_err());
        // Without labels there is no scale to bring it to.
        let unlabeled = fit(&scene.metric, None, &options(method), &silent);
        if let Ok(unlabeled) = unlabeled {
            assert_eq!(unlabeled.model, plain, "{method}");
        }
    }
}

#[test]
fn forests_are_weighted_by_labels_unless_told_otherwise() {
    let scene = Scene::new(30, 2);
    let options = FitOptions { n_trees: Some(6), seed: 5, ..FitOptions::of(Method::Forest) };
    let grown = build::PerturbedOptions { n_trees: 6, seed: 5, ..Default::default() };
    let plain = build::perturbed(&scene.metric, &grown, &silent).unwrap();
    let by = TreeWeightOptions { seed: 5, ..Default::default() };
    let judge = weighted(&plain, &scene.data, &by, &silent).unwrap();
    assert_eq!(scene.model(&options), Model::Forest(judge));
    let unscaled = FitOptions { scale: false, ..options.clone() };
    assert_eq!(scene.model(&unscaled), Model::Forest(plain.clone()));
    let unlabeled = fit(&scene.metric, None, &options, &silent).unwrap().model;
    assert_eq!(unlabeled, Model::Forest(plain.clone()));
    let error = |model: &Model| scene.data.score(&scene.answers(model)).mean;
    assert!(error(&scene.model(&options)) < error(&plain.into()));
    let complete = FitOptions { start: Some(Start::Linkage(Linkage::Complete)), ..options };
    assert_ne!(scene.model(&complete), unlabeled);
    for method in [Method::Forest, Method::LearnedForest] {
        assert_eq!(scene.model(&self::options(method)).trees().len(), 16);
    }
    assert_eq!(scene.model(&self::options(Method::SlicedCTwd)).trees().len(), 3);
}

#[test]
fn a_learned_forest_fits_better_than_one_that_is_only_weighted() {
    let scene = Scene::new(50, 2);
    let error = |method: Method| {
        let options = FitOptions { n_trees: Some(6), ..FitOptions::of(method) };
        scene.data.score(&scene.answers(&scene.model(&options))).mean
    };
    let (plain, learned) = (error(Method::Forest), error(Method::LearnedForest));
    assert!(learned < plain, "{learned} {plain}");
}

#[test]
fn total_variation_is_a_star() {
    let scene = Scene::new(12, 2);
    let star = scene.model(&FitOptions { scale: false, ..options(Method::TotalVariation) });
    let all = common::leaf_distances(star.tree().unwrap());
    assert!(all.iter().all(|d| (d - all[0]).abs() < 1e-12));
    let mean = scene.metric.condensed().unwrap().iter().sum::<f64>() / 66.0;
    assert!((all[0] - mean).abs() < 1e-12 * mean);
}

#[test]
fn linkages_and_shapes_are_those_of_the_builders() {
    let scene = Scene::new(30, 2);
    let tree = |method| match scene.model(&FitOptions { scale: false, seed: 4, ..options(method) })
    {
        Model::Tree(tree) => tree,
        Model::Forest(_) => panic!("{method} is one tree"),
    };
    for (method, linked) in [
        (Method::Single, Linkage::Single),
        (Method::Average, Linkage::Average),
        (Method::UltraTwdMst, Linkage::Closest),
    ] {
        assert_eq!(
            tree(method),
            linkage(&scene.metric, linked, &treeport::silent).unwrap(),
            "{method}"
        );
    }
    let clusters =
        |splitting| build::cluster_tree(&scene.metric, splitting, 5, 6, 4, &silent).unwrap();
    let grid = build::quadtree(&scene.metric, 4).unwrap();
    let farthest = clusters(build::Splitting::Farthest);
    assert_eq!(tree(Method::Quadtree), grid);
    assert_eq!(tree(Method::Cluster), farthest);
    assert_eq!(tree(Method::KMeans), clusters(build::Splitting::KMeans));
    let edges = treeport::fit::EdgeOptions { pairs: 300, seed: 4, ..Default::default() };
    for (method, shape) in [(Method::QTwd, grid), (Method::CTwd, farthest)] {
        let fitted = fit_points(&shape, &scene.metric, &edges, &silent).unwrap();
        assert_eq!(tree(method), fitted.tree, "{method}");
    }
}

#[test]
fn flowtree_is_the_flow_of_a_quadtree() {
    let scene = Scene::new(30, 3);
    let tree = build::quadtree(&scene.metric, 1).unwrap();
    let (measures, pairs) = (scene.data.measures(), scene.data.pairs());
    let found = flow::pairs(&tree, &scene.metric, measures, pairs, &silent).unwrap();
    // A plan costs no less than the best one, and this one is not far from it.
    assert!(found.iter().zip(scene.data.distances()).all(|(f, d)| *f >= d * (1.0 - 1e-12)));
    assert!(scene.data.score(&found).mean < 0.5, "{:?}", scene.data.score(&found));
    let one = common::on_threads(1, || {
        flow::pairs(&tree, &scene.metric, measures, pairs, &silent).unwrap()
    });
    assert_eq!(one, found);
}

#[test]
fn fitted_edges_fit_points_better_and_more_slices_vary_less() {
    let metric = common::cloud(60, 2);
    let points = Labeled::of_points(&metric, usize::MAX, 0).unwrap();
    let misfit = |method: Method| {
        let mut options = FitOptions::of(method);
        options.n_trees = method.supports().n_trees.then_some(4);
        let model = fit(&metric, None, &options, &silent).unwrap().model;
        let found = model.pairs(points.measures(), points.pairs(), &silent).unwrap();
        found.iter().zip(points.distances()).map(|(w, d)| (w - d).powi(2)).sum::<f64>()
    };
    for (plain, fitted, sliced) in [
        (Method::Quadtree, Method::QTwd, Method::SlicedQTwd),
        (Method::Cluster, Method::CTwd, Method::SlicedCTwd),
    ] {
        assert!(misfit(fitted) < 0.5 * misfit(plain));
        assert!(misfit(sliced) < misfit(fitted));
    }
}

#[test]
fn labels_beat_points_where_the_two_disagree() {
    let scene = Scene::new(30, 3);
    let error = |method| scene.data.score(&scene.answers(&scene.model(&options(method)))).mean;
    assert!(error(Method::CTwdLabels) < error(Method::CTwd));
    assert!(error(Method::QTwdLabels) < error(Method::QTwd));
}

#[test]
fn ultrametrics_come_closer_to_the_metric_by_descent() {
    let metric = common::cloud(50, 3);
    let tree = |method| {
        let fitted = fit(&metric, None, &FitOptions::of(method), &silent).unwrap();
        fitted.model.tree().unwrap().clone()
    };
    let (start, end) = (tree(Method::UltraTwdMst), tree(Method::UltraTwd));
    assert!(start.is_ultrametric() && end.is_ultrametric());
    let gaps = |tree: &Tree| -> Vec<f64> {
        let gap = |(i, j)| (tree.leaf_distance(i, j) - metric.distance(i, j)).abs();
        common::pairs(50).map(gap).collect()
    };
    let largest = |tree: &Tree| gaps(tree).into_iter().fold(0.0, f64::max);
    let squares = |tree: &Tree| gaps(tree).iter().map(|gap| gap * gap).sum::<f64>();
    assert!(largest(&start) <= largest(&end), "the start is the best in the largest difference");
    assert!(squares(&end) < squares(&start));
}

#[test]
fn one_point_and_two_at_the_same_place_are_no_trouble() {
    for n in [1, 2] {
        let metric =
            GroundMetric::from_points(2, vec![4.0; 2 * n], PointMetric::Euclidean).unwrap();
        let measures = Measures::unit_masses(n, [0, n - 1]).unwrap();
        let data = Labeled::new(&measures, vec![(0, 1)], vec![0.0]).unwrap();
        for &method in Method::ALL {
            for labels in [Some(&data), None] {
                match fit(&metric, labels, &options(method), &silent) {
                    Ok(fitted) => {
                        let found = fitted.model.pairs(&measures, &[(0, 1)], &silent).unwrap();
                        assert_eq!(found, [0.0], "{method}, {n} points");
                    }
                    // Edges cannot be fitted to labels that are all 0, or not there.
                    Err(error) => {
                        assert!(matches!(error, Error::NothingToLearn { .. }), "{method}: {error}");
                        assert!(method.supports().labels, "{method}, {n} points");
                    }
                }
            }
        }
    }
}

#[test]
fn slices_are_better_than_a_linkage_and_have_the_unit_of_the_labels() {
    let scene = Scene::new(60, 2);
    let metric = &scene.metric;
    let masses = |k: usize| (0..60).map(move |p| (p, ((p * 7 + k * k * 13) % 11) as f64 + 0.5));
    let measures = Measures::from_rows(60, (0..40).map(masses)).unwrap().normalized();
    let data = Labeled::sample(metric, &measures, 300, 0, &silent).unwrap();
    let (train, test) = data.split_at(200);
    let error = |method| {
        let fitted = fit(metric, Some(&train), &FitOptions::of(method), &silent).unwrap();
        test.score(&fitted.model.pairs(test.measures(), test.pairs(), &silent).unwrap()).mean
    };
    let (slices, average) = (error(Method::Slices), error(Method::Average));
    assert!(slices < 0.6 * average, "{slices} is not much less than {average}");

    let times = |labels: &Labeled, factor: f64| {
        let distances = labels.distances().iter().map(|d| d * factor).collect();
        Labeled::new(labels.measures(), labels.pairs().to_vec(), distances).unwrap()
    };
    let (_, coordinates) = metric.coordinates().unwrap();
    let larger = coordinates.iter().map(|x| x * 1024.0).collect();
    let larger = GroundMetric::from_points(2, larger, metric.point_metric().unwrap()).unwrap();
    let options = FitOptions::of(Method::Slices);
    let model = fit(metric, Some(&train), &options, &silent).unwrap().model;
    let in_meters = fit(&larger, Some(&times(&train, 1024.0)), &options, &silent).unwrap().model;
    let found = model.pairs(test.measures(), test.pairs(), &silent).unwrap();
    let judge = in_meters.pairs(test.measures(), test.pairs(), &silent).unwrap();
    assert!(found.iter().zip(&judge).all(|(d, judge)| d * 1024.0 == *judge));
}

#[test]
fn work_stops_when_asked() {
    let scene = Scene::new(60, 2);
    for method in [
        Method::Cluster,
        Method::CTwd,
        Method::SlicedCTwd,
        Method::UltraTwd,
        Method::Forest,
        Method::Slices,
    ] {
        let stopped = fit(&scene.metric, Some(&scene.data), &FitOptions::of(method), &|_| false);
        assert!(matches!(stopped, Err(Error::Canceled)), "{method}");
    }
}

/// A checkpoint of any run at all.
fn checkpoint(scene: &Scene) -> Checkpoint {
    let left = std::sync::Mutex::new(None);
    let keep = |state: &State<'_>| {
        // Before the start is there, there is nothing to keep.
        let Some(make) = state.checkpoint else { return true };
        *left.lock().unwrap() = Some(make());
        false
    };
    fit(&scene.metric, Some(&scene.data), &options(Method::Additive), &keep).unwrap();
    Checkpoint::from_bytes(&left.into_inner().unwrap().unwrap()).unwrap()
}

#[test]
fn what_a_method_cannot_use_is_refused() {
    let scene = Scene::new(20, 2);
    let from = checkpoint(&scene);
    for &method in Method::ALL {
        let (takes, of) = (method.supports(), || FitOptions::of(method));
        let linkage = Start::Linkage(Linkage::Single);
        let all = [
            ("start", takes.start, FitOptions { start: Some(linkage), ..of() }),
            ("n_trees", takes.n_trees, FitOptions { n_trees: Some(2), ..of() }),
            ("point_pairs", takes.point_pairs, FitOptions { point_pairs: Some(50), ..of() }),
            ("epochs", takes.learning, FitOptions { epochs: Some(1), ..of() }),
            ("batch_size", takes.learning, FitOptions { batch_size: Some(5), ..of() }),
            ("learning_rate", takes.learning, FitOptions { learning_rate: Some(0.4), ..of() }),
            ("schedule", takes.learning, FitOptions { schedule: Some(Schedule::Cosine), ..of() }),
            ("loss", takes.learning, FitOptions { loss: Some(Loss::Squared), ..of() }),
            (
                "validation_fraction",
                takes.learning,
                FitOptions { validation_fraction: Some(0.3), ..of() },
            ),
            ("patience", takes.learning, FitOptions { patience: Some(1), ..of() }),
            ("branching", takes.clusters, FitOptions { branching: Some(3), ..of() }),
            ("depth", takes.clusters, FitOptions { depth: Some(2), ..of() }),
            ("resume", takes.resume, FitOptions { resume: Some(from.clone()), ..of() }),
            ("scale", takes.scale, FitOptions { scale: false, ..of() }),
        ];
        for (name, taken, options) in all {
            if taken {
                assert!(options.check(true).is_ok(), "{method}, {name}");
                continue;
            }
            let refused = scene.fit(&options).unwrap_err();
            let Error::UnusedOption { option, method: by } = refused else { panic!("{refused}") };
            assert_eq!((option, by), (name, method.name()));
            assert!(options.check(true).is_err() && options.check(false).is_err());
        }
    }
    let message = scene.fit(&FitOptions { epochs: Some(1), ..FitOptions::of(Method::Single) });
    assert_eq!(
        message.unwrap_err().to_string(),
        "epochs is of no use to single; leave it out or take another method"
    );
}

#[test]
fn what_a_method_takes_changes_what_it_makes() {
    let scene = Scene::new(30, 2);
    // `auto` may return slices, which do not depend on the options of `tree`.
    for &method in Method::ALL.iter().filter(|method| **method != Method::Auto) {
        // Brought to the scale of labels, one star is like another.
        let scale = method != Method::TotalVariation;
        let (takes, usual) = (method.supports(), FitOptions { scale, ..options(method) });
        let model = scene.model(&usual);
        let differs = |name: &str, changed: FitOptions| {
            let other = scene.model(&changed);
            assert_ne!(other, model, "{name} is of no use to {method}");
        };
        if takes.start {
            let start = Some(Start::Linkage(Linkage::Complete));
            differs("start", FitOptions { start, ..usual.clone() });
        }
        if takes.n_trees {
            differs("n_trees", FitOptions { n_trees: Some(2), ..usual.clone() });
        }
        // Where there are labels, learners learn from those.
        if takes.point_pairs && !(method.kind().is_some() || method == Method::LearnedForest) {
            differs("point_pairs", FitOptions { point_pairs: Some(20), ..usual.clone() });
        }
        if takes.scale && scale && method.kind().is_none() {
            differs("scale", FitOptions { scale: false, ..usual.clone() });
        }
        if takes.clusters {
            differs("branching", FitOptions { branching: Some(2), ..usual.clone() });
            differs("depth", FitOptions { depth: Some(1), ..usual.clone() });
        }
    }
    let scene = Scene { data: Labeled::of_points(&scene.metric, 40, 0).unwrap(), ..scene };
    for method in [Method::Additive, Method::Ultrametric, Method::SkipMst, Method::LearnedForest] {
        let pairs = |point_pairs| {
            let options = FitOptions { point_pairs: Some(point_pairs), ..options(method) };
            fit(&scene.metric, None, &options, &silent).unwrap().model
        };
        assert_ne!(pairs(300), pairs(40), "{method}");
    }
}

#[test]
fn bad_options_and_labels_are_refused() {
    let scene = Scene::new(10, 2);
    let refused = |options: FitOptions| {
        let found = scene.fit(&options).unwrap_err().to_string();
        // Those that solve labels first ask first.
        assert_eq!(options.check(true).unwrap_err().to_string(), found);
        found
    };
    let of = FitOptions::of;
    for method in [Method::SlicedQuadtree, Method::Forest] {
        let message = refused(FitOptions { n_trees: Some(0), ..of(method) });
        assert_eq!(message, "n_trees is 0; it must be from 1 to 100,000");
    }
    let message = refused(FitOptions { branching: Some(1), ..of(Method::CTwd) });
    assert_eq!(message, "branching is 1; a cluster is split into at least 2");
    let message = refused(FitOptions { depth: Some(0), ..of(Method::CTwd) });
    assert_eq!(message, "depth is 0; a cluster tree has at least one level");
    let message = refused(FitOptions { point_pairs: Some(0), ..of(Method::QTwd) });
    assert_eq!(message, "point_pairs is 0; at least one is needed");
    let message = refused(FitOptions { batch_size: Some(0), ..of(Method::LearnedForest) });
    assert_eq!(message, "batch_size is 0; a batch holds at least one pair");
    let tree = linkage(&scene.metric, Linkage::Average, &treeport::silent).unwrap();
    let forest = FitOptions { start: Some(Start::Tree(tree)), ..of(Method::Forest) };
    assert_eq!(refused(forest), "start is a tree; the trees of a forest are grown by a linkage");
    let elsewhere = Measures::unit_masses(3, 0..3).unwrap();
    let elsewhere = Labeled::new(&elsewhere, vec![(0, 1)], vec![1.0]).unwrap();
    for &method in Method::ALL {
        let built = fit(&scene.metric, Some(&elsewhere), &of(method), &silent);
        assert!(matches!(built, Err(Error::PointCount { .. })), "{method}");
        let empty = scene.data.split_at(0).0;
        let built = fit(&scene.metric, Some(&empty), &of(method), &silent);
        assert!(matches!(built, Err(Error::NothingToLearn { .. })), "{method}");
    }
}

#[test]
fn a_graph_is_worked_out_once_and_fits_as_its_matrix() {
    let ring = (0..20).map(|k| (k, (k + 1) % 20, 1.0 + f64::from(k as u32 * 7 % 5)));
    let edges: Vec<_> = ring.chain([(0, 10, 2.5), (5, 15, 1.5)]).collect();
    let graph = GroundMetric::from_edges(20, &edges).unwrap();
    let matrix = graph.materialized().unwrap();
    let data = common::lessons(&graph, 20);
    let pairs = Problems::new(&matrix, data.measures(), data.pairs()).values(&silent).unwrap();
    assert_eq!(data.distances(), pairs);
    let on_both = |m: &&Method| !m.supports().coordinates;
    for &method in Method::ALL.iter().filter(on_both) {
        let model = |metric| fit(metric, Some(&data), &options(method), &silent).unwrap().model;
        assert_eq!(model(&graph), model(&matrix), "{method}");
    }
}

#[test]
fn all_trees_of_a_forest_have_their_own_random_numbers() {
    let scene = Scene::new(30, 2);
    for method in [Method::SlicedQuadtree, Method::SlicedCluster, Method::SlicedQTwd] {
        let model = |seed| scene.model(&FitOptions { seed, scale: false, ..options(method) });
        let (one, other) = (model(0), model(1));
        let trees: Vec<&Tree> = one.trees().iter().chain(other.trees()).collect();
        for (i, j) in common::pairs(trees.len()) {
            assert_ne!(trees[i], trees[j], "{method}");
        }
        let forest = Forest::uniform(one.trees().to_vec()).unwrap();
        assert_eq!(one, Model::Forest(forest), "{method}");
    }
}
