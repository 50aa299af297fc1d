//! The dial and its certified intervals, against the exact solver.

use crate::common;
use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::accuracy::{Accuracy, Level};
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::{Calibration, Estimator, Interval, Statistic};
use treeport::progress::State;
use treeport::progress::tasks::CALIBRATING;
use treeport::{
    Coupling, Error, FitOptions, Forest, GroundMetric, Labeled, Linkage, Measure, Measures, Method,
    Model, PointMetric, Problem, Tree, fit, flow, linkage, silent,
};

const POINTS: usize = 40;

/// Points with a norm, or a matrix that knows no triangle inequality.
fn metrics() -> impl Strategy<Value = GroundMetric> {
    let norms = prop::sample::select(vec![
        PointMetric::Euclidean,
        PointMetric::Manhattan,
        PointMetric::SqEuclidean,
        PointMetric::Cosine,
    ]);
    let coordinate = prop_oneof![3 => -10.0..10.0f64, 1 => (-2..3i32).prop_map(f64::from)];
    let points = (vec(coordinate, 3 * POINTS), norms, -1e6..1e6f64).prop_filter_map(
        "a vector of length 0",
        |(mut points, norm, offset)| {
            points.iter_mut().step_by(3).for_each(|x| *x += offset);
            GroundMetric::from_points(3, points, norm).ok()
        },
    );
    let entry = prop_oneof![4 => 0.0..10.0f64, 1 => Just(0.0), 1 => (0..4).prop_map(f64::from)];
    let matrix = vec(entry, POINTS * (POINTS - 1) / 2)
        .prop_map(|distances| GroundMetric::from_condensed(POINTS, distances).unwrap());
    prop_oneof![points, matrix]
}

/// Two measures of up to 40 points that share some, whose totals may differ in the last allowed digits.
fn measures() -> impl Strategy<Value = Measures> {
    let mass = prop_oneof![3 => 0.001..1.0f64, 2 => Just(0.0), 1 => Just(0.25)];
    let off = prop_oneof![3 => Just(0.0), 1 => -5e-7..5e-7f64];
    (vec(mass, 2 * POINTS), off).prop_filter_map("no mass", |(masses, off)| {
        let equal = Measures::from_dense(POINTS, &masses).ok()?.normalized();
        let second = equal.row(1).iter().map(|(p, m)| (p, m * (1.0 + off))).collect::<Vec<_>>();
        Measures::from_rows(POINTS, [equal.row(0).iter().collect(), second]).ok()
    })
}

/// Trees that fit the metric well, badly and not at all.
fn forest(metric: &GroundMetric, count: usize) -> Model {
    let path = (1..POINTS).fold("0:1".to_owned(), |inner, p| format!("({inner},{p}:1):1"));
    let trees = [
        linkage(metric, Linkage::Average, &treeport::silent).unwrap(),
        linkage(metric, Linkage::Complete, &treeport::silent).unwrap(),
        Tree::from_newick(&format!("{path};")).unwrap(),
    ];
    Forest::uniform(trees[..count].to_vec()).unwrap().into()
}

fn grown(metric: &GroundMetric, options: &PerturbedOptions) -> Model {
    perturbed(metric, options, &silent).unwrap().into()
}

fn linked(metric: &GroundMetric, method: Linkage) -> Model {
    linkage(metric, method, &treeport::silent).unwrap().into()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_exact_value_is_never_outside_the_bounds(
        metric in metrics(), measures in measures(), trees in 1..4usize, alone in any::<bool>(),
    ) {
        let (a, b) = (measures.row(0), measures.row(1));
        let forest = forest(&metric, trees);
        let mut estimator = Estimator::new(&metric, &forest).unwrap();
        if alone {
            estimator = estimator.by_trees_alone();
        }
        let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
        let (mut lower, mut upper) = (0.0, f64::INFINITY);
        for level in Level::ALL {
            let interval = estimator.bounds(level, &a, &b).unwrap();
            prop_assert!(
                interval.lower <= exact && exact <= interval.upper,
                "{level:?}: {exact} is not in {interval:?}"
            );
            if level != Level::Arcs {
                // Arcs ask no tree, which may for once know more.
                prop_assert!(interval.upper <= upper * (1.0 + 1e-9), "{level:?} is no step back");
                prop_assert!(interval.lower >= lower * (1.0 - 1e-9), "{level:?} is no step back");
                (lower, upper) = (interval.lower, interval.upper);
            }
        }
        for tolerance in [0.5, 0.02, 0.0] {
            let answer = estimator.within(tolerance, &a, &b).unwrap();
            prop_assert!((answer.value - exact).abs() <= (tolerance + 1e-8) * exact, "{answer:?} {exact}");
        }
    }

    #[test]
    fn plans_cost_no_less_than_the_optimum(
        metric in metrics(), measures in measures(), trees in 1..4usize,
    ) {
        let (a, b) = (measures.row(0), measures.row(1));
        let forest = forest(&metric, trees);
        let estimator = Estimator::new(&metric, &forest).unwrap().by_trees_alone();
        let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
        // Totals that differ by 5e-7 change a plan by as much of the largest distance.
        let largest = metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
        let [flow, arcs] = [Level::Flow, Level::Arcs]
            .map(|level| estimator.distance(level, &a, &b).unwrap().raw);
        prop_assert!(flow >= exact - 1e-6 * largest, "{flow} {exact}");
        prop_assert!(arcs >= exact * (1.0 - 1e-9), "{arcs} {exact}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn flows_of_all_trees_together_are_those_of_each_plan_to_the_bit(
        metric in metrics(), measures in measures(), trees in 1..4usize,
    ) {
        let measures = measures.normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let forest = forest(&metric, trees);
        let judge = |tree: &Tree| tree.coupling(&a, &b).unwrap().cost(|i, j| metric.distance(i, j));
        for tree in forest.trees() {
            prop_assert_eq!(flow::distance(tree, &metric, &a, &b).unwrap(), judge(tree));
        }
        let single = forest.trees().iter().map(judge).fold(f64::INFINITY, f64::min);
        let estimator = Estimator::new(&metric, &forest).unwrap().by_trees_alone();
        let found = estimator.distance(Level::Flow, &a, &b).unwrap().raw;
        let largest = metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
        prop_assert!(found <= single + 1e-12 * largest, "{found} {single}");
        let plan = estimator.coupling(&a, &b).unwrap();
        let candidates = Candidates::new(&metric, &forest, &a, &b);
        if let Some(merged) = candidates.merged(&forest.trees()[0]) {
            let least = merged.min(single);
            prop_assert!((found - least).abs() <= 1e-12 * largest, "{found} {least}");
        }
        if found < single - 1e-12 * largest {
            prop_assert_eq!(candidates.passed_over(&plan), None);
        }
        let cost = plan.cost(|i, j| metric.distance(i, j));
        prop_assert!((cost - found).abs() <= 1e-12 * largest, "{cost} {found}");
        for (measure, ends) in [(&a, &plan.left), (&b, &plan.right)] {
            let mut rest = vec![0.0; metric.points()];
            ends.iter().zip(&plan.mass).for_each(|(&end, mass)| rest[end as usize] += mass);
            measure.iter().for_each(|(point, mass)| rest[point] -= mass);
            prop_assert!(rest.iter().all(|rest: &f64| rest.abs() <= 1e-14), "{rest:?}");
        }
        let upper = estimator.bounds(Level::Flow, &a, &b).unwrap().upper;
        prop_assert!(upper <= found * (1.0 + 1e-10) + 1e-12 * largest, "{upper} {found}");
    }
}

/// Moves whose lengths differ by less than this factor may take mass in any order.
const ABOUT_EQUAL: f64 = 1.02;

/// The moves that merging chooses from: those of all trees, each once.
struct Candidates<'a> {
    metric: &'a GroundMetric,
    moves: BTreeSet<(usize, usize)>,
    /// What every point gives; below 0, what it takes.
    surplus: Vec<f64>,
}

impl<'a> Candidates<'a> {
    fn new(metric: &'a GroundMetric, forest: &Model, a: &Measure<'_>, b: &Measure<'_>) -> Self {
        let mut moves = BTreeSet::new();
        for tree in forest.trees() {
            moves.extend(tree.coupling(a, b).unwrap().iter().map(|(i, j, _)| (i, j)));
        }
        moves.retain(|(i, j)| i != j);
        let mut surplus = vec![0.0; metric.points()];
        a.iter().for_each(|(i, mass)| surplus[i] += mass);
        b.iter().for_each(|(j, mass)| surplus[j] -= mass);
        Self { metric, moves, surplus }
    }

    /// Where "about as long" ends; a length of 0 is about as long as the shortest above it.
    fn about(&self, (i, j): (usize, usize)) -> f64 {
        let lengths = self.moves.iter().map(|&(i, j)| self.metric.distance(i, j));
        let shortest = lengths.filter(|length| *length > 0.0).fold(f64::INFINITY, f64::min);
        ABOUT_EQUAL * self.metric.distance(i, j).max(shortest)
    }

    /// The cost of the merged plan by its definition: the shortest move first, each for as much as
    /// its ends have left, and the rest by the first tree. `None` where moves that share an end
    /// are about equally long: the definition does not say which comes first.
    fn merged(&self, first: &Tree) -> Option<f64> {
        let mut moves: Vec<_> = self.moves.iter().copied().collect();
        moves.sort_by(|&(i, j), &(k, l)| {
            self.metric.distance(i, j).total_cmp(&self.metric.distance(k, l))
        });
        let (mut left, mut cost) = (self.surplus.clone(), 0.0);
        for (k, &(i, j)) in moves.iter().enumerate() {
            let length = self.metric.distance(i, j);
            let rival = |other: &&(usize, usize)| other.0 == i || other.1 == j;
            if moves[..k].iter().filter(rival).any(|&other| length <= self.about(other)) {
                return None;
            }
            let mass = left[i].min(-left[j]).max(0.0);
            left[i] -= mass;
            left[j] += mass;
            cost += mass * length;
        }
        let rest = [1.0, -1.0].map(|sign| {
            let masses = left.iter().map(|mass| sign * mass).enumerate();
            masses.filter(|(_, mass)| *mass > 1e-13).collect::<Vec<_>>()
        });
        let total: f64 = rest[0].iter().map(|(_, mass)| mass).sum();
        if rest.iter().any(Vec::is_empty) {
            return Some(cost);
        }
        let rest = Measures::from_rows(self.metric.points(), rest).unwrap().normalized();
        let rest = flow::distance(first, self.metric, &rest.row(0), &rest.row(1)).unwrap();
        Some(cost + total * rest)
    }

    /// A move that could still take mass which goes farther, or by no move, from both of its ends:
    /// where the shortest moves come first there is none.
    fn passed_over(&self, plan: &Coupling) -> Option<(usize, usize)> {
        let short_of = |&(i, j): &(usize, usize)| {
            let about = self.about((i, j));
            let near = |at: &dyn Fn(usize, usize) -> bool| -> f64 {
                let taken = |(from, to)| {
                    let short = self.metric.distance(from, to) <= about;
                    at(from, to) && short && self.moves.contains(&(from, to))
                };
                plan.iter().filter(|&(from, to, _)| taken((from, to))).map(|step| step.2).sum()
            };
            let (given, got) = (near(&|from, _| from == i), near(&|_, to| to == j));
            given < self.surplus[i] - 1e-12 && got < -self.surplus[j] - 1e-12
        };
        self.moves.iter().copied().find(short_of)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn lower_bounds_do_not_depend_on_who_comes_first(
        metric in metrics(), measures in measures(), trees in 1..4usize,
    ) {
        let measures = measures.normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let forest = forest(&metric, trees);
        let estimator = Estimator::new(&metric, &forest).unwrap().by_trees_alone();
        let [there, back] = [(&a, &b), (&b, &a)]
            .map(|(a, b)| estimator.bounds(Level::Flow, a, b).unwrap().lower);
        // Trees may be far taller than the metric: what their heights round is taken off.
        let tall = forest.trees().iter().map(|tree| tree.statistics().height).fold(0.0, f64::max);
        prop_assert!((there - back).abs() <= 1e-9 * there + 1e-12 * tall, "{there} {back}");
    }

    #[test]
    fn where_the_metric_is_a_tree_the_flow_knows_w1(
        metric in metrics(), measures in measures(), linked in 0..3usize,
    ) {
        let tree = &forest(&metric, 3).trees()[linked].clone();
        let metric = GroundMetric::from_condensed(POINTS, common::leaf_distances(tree)).unwrap();
        let forest = Model::Tree(tree.clone());
        let measures = measures.normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let height = tree.statistics().height;
        for metric in [metric.clone(), metric.assume_metric().unwrap()] {
            let estimator = Estimator::new(&metric, &forest).unwrap().by_trees_alone();
            let Interval { lower, upper } = estimator.bounds(Level::Flow, &a, &b).unwrap();
            prop_assert!(upper - lower <= 1e-9 * height, "{lower} {upper}");
        }
    }
}

#[test]
fn the_duals_of_many_trees_bound_from_below_better_than_single_linkage() {
    let (metric, data) = scene();
    let options = PerturbedOptions { n_trees: 8, ..PerturbedOptions::default() };
    let estimator = Estimator::new(&metric, &grown(&metric, &options)).unwrap().by_trees_alone();
    let [tree, flow] = [Level::Tree, Level::Flow].map(|level| {
        let level = Accuracy::Level(level);
        estimator.answers(level, data.measures(), data.pairs(), &silent).unwrap()
    });
    let mut better = 0;
    for ((tree, flow), exact) in tree.iter().zip(&flow).zip(data.distances()) {
        assert!(flow.interval.lower >= 0.8 * exact, "{flow:?} {exact}");
        better += usize::from(flow.interval.lower > 1.1 * tree.interval.lower);
    }
    assert!(better >= 3, "{better} of {}", flow.len());
}

#[test]
fn duals_are_weighted_and_brought_to_the_scale_of_labels() {
    let (metric, data) = scene();
    let trees = [Linkage::Average, Linkage::Complete]
        .map(|by| linkage(&metric, by, &treeport::silent).unwrap());
    let trees = trees.map(|tree| tree.scaled(0.8).unwrap());
    let lowers = |forest: &Model, factor: f64| -> Vec<f64> {
        let mut calibration = Calibration::default();
        calibration.factors[Level::Tree as usize] = factor;
        let estimator = Estimator::new(&metric, forest).unwrap().by_trees_alone();
        let estimator = estimator.with_calibration(calibration).unwrap();
        let flow = Accuracy::Level(Level::Flow);
        let answers = estimator.answers(flow, data.measures(), data.pairs(), &silent).unwrap();
        answers.iter().map(|answer| answer.interval.lower).collect()
    };
    let close = |x: &[f64], y: &[f64]| x.iter().zip(y).all(|(x, y)| (x - y).abs() <= 1e-9 * y);
    let forest = |scale: f64, weights: [f64; 2]| {
        let trees = trees.iter().map(|tree| tree.scaled(scale).unwrap()).collect();
        Model::Forest(Forest::new(trees, weights.to_vec()).unwrap())
    };
    let plain = lowers(&forest(1.0, [0.8, 0.2]), 1.0);
    // 4 is a power of two, so that nothing rounds.
    assert!(close(&lowers(&forest(0.25, [0.8, 0.2]), 4.0), &plain));
    assert!(!close(&lowers(&forest(0.25, [0.8, 0.2]), 1.0), &plain));
    assert!(!close(&lowers(&forest(1.0, [0.5, 0.5]), 1.0), &plain));
}

#[test]
fn equal_mass_may_move_where_no_triangle_inequality_is_promised() {
    // A path, but the tree is told as a matrix: the mass at 1 is in both measures and lies in between.
    let tree = Tree::from_newick("((0:1,1:0):1,(2:0,3:5):0);").unwrap();
    let metric = GroundMetric::from_condensed(4, common::leaf_distances(&tree)).unwrap();
    let estimator = Estimator::new(&metric, &tree.into()).unwrap().by_trees_alone();
    let measures = Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.5, 0.25, 0.25]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    let interval = estimator.bounds(Level::Flow, &a, &b).unwrap();
    assert!((interval.lower - 2.25).abs() <= 1e-9 && interval.width() <= 1e-9, "{interval:?}");
}

#[test]
fn bounds_are_exact_for_larger_supports_than_values() {
    let wave = |k: usize| ((k * 2_654_435_761) % 10_007) as f64 / 10_007.0;
    let metric = GroundMetric::from_points(2, (0..400).map(wave).collect(), PointMetric::Euclidean);
    let metric = metric.unwrap();
    let model = grown(&metric, &PerturbedOptions { n_trees: 16, ..PerturbedOptions::default() });
    let estimator = Estimator::new(&metric, &model).unwrap();
    // Between the crossings: 100 points that give, 100 others that take.
    let (a, b) = ((0..100).map(|p| (p, 0.01)), (100..200).map(|p| (p, 0.01)));
    let rows: [Vec<(usize, f64)>; 2] = [a.collect(), b.collect()];
    let measures = Measures::from_rows(200, rows).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    assert!(!estimator.distance(Level::Flow, &a, &b).unwrap().exact);
    let level = Accuracy::Level(Level::Flow);
    let answers = estimator.answers(level, &measures, &[(0, 1)], &silent).unwrap();
    assert_eq!(answers[0].level, Level::Exact);
    let Interval { lower, upper } = answers[0].interval;
    assert!(lower <= answers[0].value && answers[0].value <= upper);
    assert!(answers[0].interval.width() <= 1e-8);
}

#[test]
fn flows_in_a_graph_follow_its_paths() {
    let length = |k: usize| 0.1 + (k * k % 7) as f64;
    let ring = (0..60).map(|k| (k, (k + 1) % 60, length(k)));
    let edges: Vec<_> = ring.chain((0..60).map(|k| (k, k * 7 % 60, length(k + 3)))).collect();
    let graph = GroundMetric::from_edges(60, &edges).unwrap();
    let tree = linkage(&graph, Linkage::Average, &treeport::silent).unwrap();
    let masses: Vec<f64> = (0..120).map(|k| f64::from(k * 37 % 11)).collect();
    let measures = Measures::from_dense(60, &masses).unwrap().normalized();
    let (a, b) = (measures.row(0), measures.row(1));
    let judge = tree.coupling(&a, &b).unwrap().cost(|i, j| graph.distance(i, j));
    let found = flow::distance(&tree, &graph, &a, &b).unwrap();
    assert!((found - judge).abs() <= 1e-12 * judge, "{found} {judge}");
}

#[test]
fn mass_that_only_rounding_moves_goes_to_a_point_of_the_other_measure() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean).unwrap();
    let tree = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
    let measures = Measures::from_rows(3, [vec![(0, 1.0), (2, 1e-9)], vec![(0, 1.0)]]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    let plan = tree.coupling(&a, &b).unwrap();
    assert_eq!(plan.iter().collect::<Vec<_>>(), [(0, 0, 1.0), (2, 0, 1e-9)]);
    assert_eq!(flow::distance(&tree, &metric, &a, &b).unwrap(), 5e-9);
    let back = flow::distance(&tree, &metric, &b, &a).unwrap();
    assert!((back - 5e-9).abs() < 1e-15, "{back}");
    // Nothing to move costs 0, not -0.
    assert!(flow::distance(&tree, &metric, &b, &b).unwrap().is_sign_positive());
}

#[test]
fn one_point_far_away_does_not_spoil_the_order_of_moves() {
    let wave = |k: usize| ((k * 2_654_435_761) % 10_007) as f64 / 10_007.0;
    // In high dimension a partner that is not the nearest costs most.
    let dim = 17;
    let flow = |far: f64| {
        let mut points: Vec<f64> = (0..60 * dim).map(wave).collect();
        points.extend(vec![far; dim]);
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean).unwrap();
        let options = PerturbedOptions { noise: Some(0.1), ..PerturbedOptions::default() };
        let forest = grown(&metric, &options);
        let mut masses: Vec<f64> = (0..122).map(|k| 0.01 + wave(k + 977)).collect();
        (masses[60], masses[121]) = (1e-12, 2e-12);
        let measures = Measures::from_dense(61, &masses).unwrap().normalized();
        let (a, b) = (measures.row(0), measures.row(1));
        let estimator = Estimator::new(&metric, &forest).unwrap().by_trees_alone();
        let found = estimator.distance(Level::Flow, &a, &b).unwrap().raw;
        found / Problem::new(&metric, &a, &b).value(&silent).unwrap()
    };
    assert!((flow(2.0) - flow(1e6)).abs() < 0.02, "{} {}", flow(2.0), flow(1e6));
}

/// 80 points in the plane, measures on all of them, and the labels of half the pairs.
fn scene() -> (GroundMetric, Labeled) {
    let wave = |k: usize| ((k * 2_654_435_761) % 10_007) as f64 / 10_007.0;
    let metric =
        GroundMetric::from_points(2, (0..160).map(wave).collect(), PointMetric::Euclidean).unwrap();
    let masses: Vec<f64> = (0..80 * 20).map(|k| 0.01 + wave(k + 977)).collect();
    let measures = Measures::from_dense(80, &masses).unwrap().normalized();
    let pairs = (0..10).map(|k| (2 * k, 2 * k + 1)).collect();
    let data = Labeled::solve(&metric, &measures, pairs, &silent).unwrap();
    (metric, data)
}

#[test]
fn calibration_brings_every_level_to_the_labels() {
    let (metric, data) = scene();
    let (measures, pairs) = (data.measures(), data.pairs());
    let plain = Estimator::new(&metric, &linked(&metric, Linkage::Average)).unwrap();
    let estimator = plain.clone().calibrated(Level::Exact, &data, &silent).unwrap();
    let statistic = estimator.calibration().statistic;
    let plain =
        plain.with_calibration(Calibration { statistic, ..Calibration::default() }).unwrap();
    for level in [Level::Tree, Level::Flow] {
        let estimates = estimator.pairs(level, measures, pairs, &silent).unwrap();
        let raw = plain.pairs(level, measures, pairs, &silent).unwrap();
        let over = |found: &[f64]| {
            found.iter().zip(data.distances()).filter(|(found, exact)| found > exact).count()
        };
        let values: Vec<_> = estimates.iter().map(|e| e.value).collect();
        // One of ten is met, up to rounding; four have larger ratios.
        let above = over(&values);
        assert!((4..=6).contains(&above), "{level:?}: the median is in the middle");
        for (calibrated, raw) in estimates.iter().zip(&raw) {
            assert_eq!((calibrated.raw, calibrated.exact), (raw.raw, false));
            assert_eq!(calibrated.value, estimator.calibration().factors[level as usize] * raw.raw);
        }
    }
    assert_eq!(estimator.calibration().factors[Level::Exact as usize], 1.0);
    let all = estimator.answers(Accuracy::Within(f64::INFINITY), measures, pairs, &silent).unwrap();
    assert!(all.iter().all(|answer| answer.level == Level::Flow));
    let mut widths: Vec<f64> = all.iter().map(|answer| answer.interval.width()).collect();
    widths.sort_unstable_by(f64::total_cmp);
    assert_eq!(estimator.calibration().flow_width, widths[widths.len() / 2]);
    for bad in [f64::NAN, f64::INFINITY, 0.0, -1.0] {
        let calibration = Calibration { factors: [1.0, bad, 1.0, 1.0], ..Calibration::default() };
        let error = plain.clone().with_calibration(calibration).unwrap_err();
        assert!(error.to_string().starts_with(&format!("a factor of the calibration is {bad}")));
    }
    let calibration = Calibration { flow_width: f64::NAN, ..Calibration::default() };
    assert!(plain.clone().with_calibration(calibration).is_err());
    let again = plain.with_calibration(estimator.calibration()).unwrap();
    assert_eq!(again.model().unwrap(), estimator.model().unwrap());
    assert_eq!(again.metric().points(), estimator.metric().points());
    let (a, b) = (measures.row(0), measures.row(1));
    let both = [&again, &estimator].map(|e| e.distance(Level::Flow, &a, &b).unwrap());
    assert_eq!(both[0], both[1]);
    for (tolerance, most) in [(0.0, 1e-12), (3.0, 3.0)] {
        let within = Accuracy::Within(tolerance);
        let found = estimator.answers(within, measures, pairs, &silent).unwrap();
        let values: Vec<f64> = found.iter().map(|answer| answer.value).collect();
        assert!(data.score(&values).max <= most);
    }
}

#[test]
fn values_between_bounds_come_closer_than_either_of_them() {
    let (metric, _) = scene();
    let wave = |k: usize| ((k * 40_503) % 10_007) as f64 / 10_007.0;
    let masses: Vec<f64> = (0..80 * 80).map(|k| 0.01 + wave(k)).collect();
    let measures = Measures::from_dense(80, &masses).unwrap().normalized();
    let [train, test] = [0, 20].map(|first| {
        let pairs = (first..first + 20).map(|k| (2 * k, 2 * k + 1)).collect();
        Labeled::solve(&metric, &measures, pairs, &silent).unwrap()
    });
    let plain =
        Estimator::new(&metric, &linked(&metric, Linkage::Average)).unwrap().by_trees_alone();
    assert_eq!((plain.calibration().flow_blend, plain.calibration().arcs_blend), (None, [0.5; 2]));
    let estimator = plain.clone().calibrated(Level::Arcs, &train, &silent).unwrap();
    assert!(estimator.calibration().flow_blend.is_some());
    for level in [Level::Flow, Level::Arcs] {
        let asked = Accuracy::Level(level);
        let answers = estimator.answers(asked, &measures, test.pairs(), &silent).unwrap();
        let error = |value: &dyn Fn(usize) -> f64| {
            test.score(&(0..answers.len()).map(value).collect::<Vec<_>>()).mean
        };
        let ours = error(&|k| answers[k].value);
        assert!(ours < error(&|k| answers[k].interval.lower), "{level}");
        assert!(ours < error(&|k| answers[k].interval.upper), "{level}");
        let scaled = estimator.pairs(level, &measures, test.pairs(), &silent).unwrap();
        let scaled = error(&|k| scaled[k].value);
        assert!(if level == Level::Flow { ours < scaled } else { ours == scaled }, "{level}");
    }
    // Too few labels to fit two shares to.
    let few = Labeled::solve(&metric, &measures, vec![(0, 1), (2, 3)], &silent).unwrap();
    let few = plain.clone().calibrated(Level::Arcs, &few, &silent).unwrap().calibration();
    assert_eq!((few.flow_blend, few.arcs_blend), (None, [0.5; 2]));
    let calibration = Calibration { arcs_blend: [f64::NAN, 1.0], ..Calibration::default() };
    assert!(plain.with_calibration(calibration).is_err());
}

#[test]
fn on_the_labels_no_level_is_worse_than_the_one_before() {
    // A tree that has learned all these labels by heart is closer to them than its plans are.
    let (metric, data) = scene();
    let all = (0..20).flat_map(|j| (0..j).map(move |i| (i, j))).collect();
    let data = Labeled::solve(&metric, data.measures(), all, &silent).unwrap();
    let (mut fell_back, mut climbed) = (false, false);
    let options = FitOptions { epochs: Some(100), ..FitOptions::of(Method::Additive) };
    let learned = fit(&metric, Some(&data), &options, &silent).unwrap().model;
    for model in [learned, forest(&metric, 1), forest(&metric, 2), linked(&metric, Linkage::Single)]
    {
        let estimator = Estimator::new(&metric, &model).unwrap().by_trees_alone();
        let estimator = estimator.calibrated(Level::Exact, &data, &silent).unwrap();
        let error = |level| {
            let found = estimator.pairs(level, data.measures(), data.pairs(), &silent).unwrap();
            data.score(&found.iter().map(|e| e.value).collect::<Vec<_>>()).mean
        };
        let errors = Level::ALL.map(error);
        assert!(errors.is_sorted_by(|low, high| high <= low), "{errors:?}");
        let levels = estimator.calibration().levels;
        fell_back |= levels[Level::Flow as usize] == Level::Tree;
        climbed |= levels[Level::Flow as usize] == Level::Flow;
        // Bounds stay those of the level that was asked for, and hold the value.
        let answers = Accuracy::Level(Level::Flow);
        let answers = estimator.answers(answers, data.measures(), data.pairs(), &silent).unwrap();
        for (answer, exact) in answers.iter().zip(data.distances()) {
            let Interval { lower, upper } = answer.interval;
            assert!(lower <= *exact && *exact <= upper);
            assert!(lower <= answer.value && answer.value <= upper);
        }
    }
    assert!(fell_back && climbed, "{fell_back} {climbed}");
    let levels = [Level::Tree, Level::Arcs, Level::Arcs, Level::Exact];
    let estimator = Estimator::new(&metric, &forest(&metric, 1)).unwrap();
    let error = estimator.with_calibration(Calibration { levels, ..Calibration::default() });
    let error = error.unwrap_err().to_string();
    assert_eq!(error, "a level of the calibration is arcs; a level has itself or a lower one");
}

#[test]
fn calibration_looks_no_higher_than_it_is_told() {
    let (metric, data) = scene();
    let plain = Estimator::new(&metric, &linked(&metric, Linkage::Average)).unwrap();
    let full = plain.clone().calibrated(Level::Exact, &data, &silent).unwrap().calibration();
    for (looked, highest) in Level::ALL.into_iter().enumerate() {
        let most = std::sync::atomic::AtomicUsize::new(0);
        let steps = (looked + 1).min(3) * data.len();
        let watch = |state: &State<'_>| {
            assert_eq!((state.task, state.total), (CALIBRATING, Some(steps)));
            most.fetch_max(state.done, std::sync::atomic::Ordering::Relaxed);
            true
        };
        let found = plain.clone().calibrated(highest, &data, &watch).unwrap().calibration();
        assert_eq!(most.into_inner(), steps, "{highest}");
        for level in Level::ALL {
            let factor = if level <= highest { full.factors[level as usize] } else { 1.0 };
            assert_eq!(found.factors[level as usize], factor, "{level} up to {highest}");
        }
        let of_flow = if highest < Level::Flow { Calibration::default() } else { full };
        assert_eq!((found.statistic, found.flow_width), (of_flow.statistic, of_flow.flow_width));
    }
}

#[test]
fn many_pairs_are_the_same_on_any_number_of_threads_and_one_by_one() {
    let (metric, data) = scene();
    let (measures, pairs) = (data.measures(), data.pairs());
    let model = linked(&metric, Linkage::Ward);
    let run = || {
        let estimator = Estimator::new(&metric, &model).unwrap();
        let estimator = estimator.calibrated(Level::Exact, &data, &silent).unwrap();
        Level::ALL.map(|level| {
            let estimates = estimator.pairs(level, measures, pairs, &silent).unwrap();
            let answers = estimator.answers(Accuracy::Level(level), measures, pairs, &silent);
            (estimates, answers.unwrap())
        })
    };
    assert_eq!(common::on_threads(1, run), common::on_threads(3, run));
    let estimator = Estimator::new(&metric, &model).unwrap();
    for level in Level::ALL {
        let all = estimator.pairs(level, measures, pairs, &silent).unwrap();
        let answers = estimator.answers(Accuracy::Level(level), measures, pairs, &silent).unwrap();
        for (k, &(i, j)) in pairs.iter().enumerate() {
            let (a, b) = (measures.row(i), measures.row(j));
            let bounds = estimator.bounds(level, &a, &b).unwrap();
            assert_eq!(answers[k].interval, bounds, "{level}");
            let one = estimator.distance(level, &a, &b).unwrap();
            if level == Level::Tree {
                // Many measures are laid out for the tree first, which adds up in another order.
                assert!((all[k].value - one.value).abs() <= 1e-12 * one.value);
            } else {
                assert_eq!(all[k], one, "{level}");
            }
        }
    }
}

/// The measures of some numbers, as a set of their own.
fn chosen(measures: &Measures, rows: impl Iterator<Item = usize>) -> Measures {
    Measures::from_rows(measures.points(), rows.map(|r| measures.row(r).iter())).unwrap()
}

#[test]
fn two_sets_are_paired_as_one_joined_set_to_the_bit() {
    let (metric, data) = scene();
    let (measures, pairs) = (data.measures(), data.pairs());
    let a = chosen(measures, pairs.iter().map(|pair| pair.0));
    let b = chosen(measures, pairs.iter().map(|pair| pair.1));
    let joined = a.followed_by(&b).unwrap();
    let across: Vec<(usize, usize)> = (0..a.len()).map(|k| (k, a.len() + k)).collect();
    let models = [linked(&metric, Linkage::Average), grown(&metric, &PerturbedOptions::default())];
    for model in models {
        let plain = Estimator::new(&metric, &model).unwrap();
        let calibrated = plain.clone().calibrated(Level::Exact, &data, &silent).unwrap();
        for estimator in [plain.clone(), plain.by_trees_alone(), calibrated] {
            for level in Level::ALL {
                let paired = estimator.paired(level, &a, &b, &silent).unwrap();
                let judge = estimator.pairs(level, &joined, &across, &silent).unwrap();
                assert_eq!(paired, judge, "{level}");
            }
            let accuracies = Level::ALL.map(Accuracy::Level).into_iter();
            for accuracy in accuracies.chain([0.0, 0.05, 0.5].map(Accuracy::Within)) {
                let paired = estimator.paired_answers(accuracy, &a, &b, &silent).unwrap();
                let judge = estimator.answers(accuracy, &joined, &across, &silent).unwrap();
                assert_eq!(paired, judge, "{accuracy:?}");
            }
        }
    }
}

#[test]
fn small_supports_are_solved_exactly_at_once() {
    let (metric, _) = scene();
    let tree = linkage(&metric, Linkage::Average, &treeport::silent).unwrap();
    let forest = Forest::uniform(vec![tree; 4]).unwrap();
    let estimator = Estimator::new(&metric, &forest.into()).unwrap();
    assert_eq!(estimator.calibration().statistic, Statistic::Least);
    let measures = Measures::unit_masses(80, [3, 50]).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    for level in [Level::Flow, Level::Arcs] {
        let estimate = estimator.distance(level, &a, &b).unwrap();
        assert!(estimate.exact && estimate.value == metric.distance(3, 50));
    }
    assert_eq!(estimator.within(0.1, &a, &b).unwrap().level, Level::Exact);
    // Mass on all points, but one in eighty moves.
    let mut masses = vec![1.0; 160];
    (masses[3], masses[80 + 50]) = (2.0, 2.0);
    let measures = Measures::from_dense(80, &masses).unwrap();
    let estimate = estimator.distance(Level::Flow, &measures.row(0), &measures.row(1)).unwrap();
    assert!(estimate.exact && estimate.value == metric.distance(3, 50));
}

#[test]
fn what_does_not_fit_is_an_error() {
    let (metric, data) = scene();
    let (measures, flow) = (data.measures(), Accuracy::Level(Level::Flow));
    let small = Model::Tree(Tree::from_newick("(0:1,1:1);").unwrap());
    assert!(matches!(Estimator::new(&metric, &small), Err(Error::BadForest { .. })));
    let estimator = Estimator::new(&metric, &linked(&metric, Linkage::Single)).unwrap();
    let (a, b) = (measures.row(0), measures.row(1));
    for tolerance in [-0.1, f64::NAN] {
        assert!(matches!(estimator.within(tolerance, &a, &b), Err(Error::UnknownName { .. })));
        let within = Accuracy::Within(tolerance);
        let answers = estimator.answers(within, measures, data.pairs(), &silent);
        assert!(matches!(answers, Err(Error::UnknownName { .. })));
    }
    let answers = estimator.answers(Accuracy::Approximate, measures, data.pairs(), &silent);
    assert!(answers.unwrap_err().to_string().contains("an estimate is `approximate`"));
    let other = Measures::unit_masses(7, [3]).unwrap();
    let misfit = estimator.bounds(Level::Flow, &a, &other.row(0));
    assert!(matches!(misfit, Err(Error::PointCount { .. })));
    assert!(estimator.answers(flow, &other, &[(0, 0)], &silent).is_err());
    assert!(estimator.paired(Level::Flow, &other, &other, &silent).is_err());
    let shorter = estimator.paired(Level::Tree, measures, &chosen(measures, 0..3), &silent);
    assert!(matches!(shorter, Err(Error::Shape { .. })));
    let missing = estimator.answers(flow, measures, &[(0, 99)], &silent).unwrap_err();
    assert!(missing.to_string().starts_with("there is no measure 99"), "{missing}");
    let stopped = estimator.answers(flow, measures, data.pairs(), &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
    let heavy = Measures::from_rows(80, [[(1, 2.0)]]).unwrap();
    let misfit = estimator.distance(Level::Arcs, &a, &heavy.row(0));
    assert!(matches!(misfit, Err(Error::Unbalanced { .. })));
    let elsewhere = Measures::unit_masses(2, [0, 1]).unwrap();
    let elsewhere = Labeled::new(&elsewhere, vec![(0, 1)], vec![1.0]).unwrap();
    let misfit = estimator.clone().calibrated(Level::Flow, &elsewhere, &silent);
    assert!(matches!(misfit, Err(Error::PointCount { .. })));
    let stopped = estimator.calibrated(Level::Exact, &data, &|state| state.done < 3);
    assert!(matches!(stopped, Err(Error::Canceled)));
}

#[test]
fn levels_that_ask_no_tree_do_without() {
    let line: Vec<f64> = (0..400).map(|k| f64::from(k % 97) + f64::from(k) / 400.0).collect();
    let metric = GroundMetric::from_points(1, line, PointMetric::Euclidean).unwrap();
    let masses: Vec<f64> = (0..800).map(|k| f64::from((k * 7919) % 101)).collect();
    let measures = Measures::from_dense(400, &masses).unwrap().normalized();
    let (a, b) = (measures.row(0), measures.row(1));
    let tree = Model::Tree(linkage(&metric, Linkage::Average, &treeport::silent).unwrap());
    let (without, with) =
        (Estimator::without_trees(&metric).unwrap(), Estimator::new(&metric, &tree).unwrap());
    for level in [Level::Arcs, Level::Exact] {
        assert_eq!(without.distance(level, &a, &b).unwrap(), with.distance(level, &a, &b).unwrap());
    }
    let answer = without.within(0.2, &a, &b).unwrap();
    let exact = with.distance(Level::Exact, &a, &b).unwrap().value;
    assert!((answer.value - exact).abs() <= 0.2 * exact);
    for level in [Level::Tree, Level::Flow] {
        let refused = without.distance(level, &a, &b).unwrap_err().to_string();
        assert!(refused.contains("without a tree"), "{refused}");
        without.bounds(level, &a, &b).unwrap_err();
    }
}
