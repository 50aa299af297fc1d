//! Coordinates that go round, and the largest difference as a metric, everywhere that points go. The judge
//! is the same problem with a matrix of costs, worked out coordinate by coordinate.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::accuracy::{Accuracy, Level};
use treeport::estimate::Estimator;
use treeport::io::ModelFile;
use treeport::search::IndexFile;
use treeport::{
    Clouds, GroundMetric, Index, IndexOptions, Linkage, MatrixView, Measures, Model, Period,
    PointMetric, Problem, Problems, linkage, silent,
};

const METRICS: [PointMetric; 4] = [
    PointMetric::Euclidean,
    PointMetric::Manhattan,
    PointMetric::SqEuclidean,
    PointMetric::Chebyshev,
];

/// Some points in a box, wrapped some times, far from the origin, some of them twice, with a metric and
/// periods.
#[derive(Clone, Debug)]
struct Scene {
    dim: usize,
    at: Vec<f64>,
    metric: PointMetric,
    period: Vec<Option<f64>>,
}

fn scenes() -> impl Strategy<Value = Scene> {
    let dim = prop_oneof![4 => 1usize..4, 1 => Just(8usize), 1 => 15usize..41];
    let (metric, period) = (
        prop::sample::select(METRICS.to_vec()),
        prop_oneof![Just(None), (0.2..9.0f64).prop_map(Some)],
    );
    let turns = prop::sample::select(vec![0.0, 1.0, 1000.0]);
    (dim, 8usize..60, turns).prop_flat_map(move |(dim, n, turns)| {
        let unit = prop_oneof![3 => -1.0..1.0f64, 1 => Just(0.5), 1 => Just(-0.5)];
        (vec((unit, -1.0..1.0f64), n * dim), metric.clone(), vec(period.clone(), dim)).prop_map(
            move |(unit, metric, period)| {
                let turned = |e: usize| {
                    // Every fifth point is the one before it.
                    let e = if e / dim % 5 == 4 { e - dim } else { e };
                    let turn = period[e % dim].map_or(turns, |p| p * (turns * unit[e].1).round());
                    unit[e].0 + turn
                };
                let at = (0..unit.len()).map(turned).collect();
                Scene { dim, at, metric, period }
            },
        )
    })
}

impl Scene {
    fn ground(&self) -> GroundMetric {
        let geometry = self.metric.with_period(&self.period);
        GroundMetric::from_points(self.dim, self.at.clone(), geometry).unwrap()
    }

    fn points(&self) -> usize {
        self.at.len() / self.dim
    }

    fn textbook(&self, i: usize, j: usize) -> f64 {
        let apart = |k: usize| {
            let d = (self.at[i * self.dim + k] - self.at[j * self.dim + k]).abs();
            self.period[k].map_or(d, |p| (d % p).min(p - d % p))
        };
        let all = (0..self.dim).map(apart);
        match self.metric {
            PointMetric::Euclidean => all.map(|d| d * d).sum::<f64>().sqrt(),
            PointMetric::Manhattan => all.sum(),
            PointMetric::SqEuclidean => all.map(|d| d * d).sum(),
            _ => all.fold(0.0, f64::max),
        }
    }

    /// What the textbook's own differences of coordinates far from the origin lose.
    fn lost(&self) -> f64 {
        1e-15 * self.dim as f64 * self.at.iter().fold(1.0, |most: f64, x| most.max(x.abs())) * 16.0
    }

    fn matrix(&self) -> Vec<f64> {
        let n = self.points();
        (0..n * n).map(|at| self.textbook(at / n, at % n)).collect()
    }

    fn measures(&self, count: usize, seed: u32) -> Measures {
        let n = self.points();
        let mass = |k: usize| {
            let mass = seed.wrapping_mul(40_503).wrapping_add(k as u32 * 7919) % 97;
            if mass.is_multiple_of(3) && !k.is_multiple_of(n) { 0.0 } else { 1.0 + f64::from(mass) }
        };
        Measures::from_dense(n, &(0..count * n).map(mass).collect::<Vec<_>>()).unwrap().normalized()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(80))]

    #[test]
    fn distances_are_those_of_the_textbook_whichever_way_they_are_asked(scene in scenes()) {
        let (metric, n) = (scene.ground(), scene.points());
        prop_assert_eq!(metric.is_metric(), scene.metric != PointMetric::SqEuclidean);
        let all: Vec<usize> = (0..n).collect();
        let mut block = vec![0.0; n * n];
        metric.block(&all, &all, &mut block);
        let mut condensed = metric.condensed().unwrap().into_iter();
        for i in 0..n {
            for j in 0..n {
                let found = metric.distance(i, j);
                prop_assert!((found - scene.textbook(i, j)).abs() <= scene.lost(), "{i} {j}: {found}");
                prop_assert_eq!(found.to_bits(), metric.distance(j, i).to_bits());
                prop_assert!((block[i * n + j] - found).abs() <= 1e-12 * found);
                if i < j {
                    prop_assert!((condensed.next().unwrap() - found).abs() <= 1e-12 * found);
                }
            }
        }
    }

    #[test]
    fn transport_and_bounds_are_those_of_the_matrix(scene in scenes(), seed in any::<u32>()) {
        let (metric, n, measures) = (scene.ground(), scene.points(), scene.measures(2, seed));
        let (a, b) = (measures.row(0), measures.row(1));
        let costs = scene.matrix();
        let dense = |row: usize| {
            let mut masses = vec![0.0; n];
            measures.row(row).iter().for_each(|(point, mass)| masses[point] = mass);
            masses
        };
        let (left, right) = (dense(0), dense(1));
        let between = Problem::between(&left, &right, MatrixView::new(n, n, &costs).unwrap());
        let truth = between.value(&silent).unwrap();
        let close = |x: f64| (x - truth).abs() <= 1e-8 * truth + scene.lost();
        let problem = Problem::new(&metric, &a, &b);
        let solution = problem.solve(&silent).unwrap();
        prop_assert!(close(problem.value(&silent).unwrap()) && close(solution.value()));
        prop_assert_eq!(problem.value(&silent).unwrap().to_bits(), Problem::new(&metric, &b, &a).value(&silent).unwrap().to_bits());
        let x = MatrixView::new(n, scene.dim, &scene.at).unwrap();
        for y in [None, Some(x)] {
            let problem = Problem::of_points(&a, &b, x, y, scene.metric.with_period(&scene.period)).unwrap();
            prop_assert!(close(problem.value(&silent).unwrap()));
            let (_, duals) = common::proved(&problem);
            for i in 0..n {
                for j in 0..n {
                    prop_assert!(duals.left[i] + duals.right[j] <= costs[i * n + j] + 1e-9 + scene.lost());
                }
            }
        }
        let model = Model::Tree(linkage(&metric, Linkage::Neighbors, &silent).unwrap());
        let estimator = Estimator::new(&metric, &model).unwrap().by_trees_alone();
        for level in Level::ALL {
            let interval = estimator.bounds(level, &a, &b).unwrap();
            let slack = 1e-9 * truth + scene.lost();
            prop_assert!(interval.lower <= truth + slack && truth <= interval.upper + slack, "{level} {interval:?} {truth}");
        }
    }

    #[test]
    fn searches_and_files_know_periods(scene in scenes(), seed in any::<u32>()) {
        let (metric, measures) = (scene.ground(), scene.measures(12, seed));
        let pairs: Vec<(usize, usize)> = (0..12).flat_map(|i| (0..12).map(move |j| (i, j))).collect();
        let exact = Problems::new(&metric, &measures, &pairs).values(&silent).unwrap();
        let options = IndexOptions { reference: 4, ..IndexOptions::default() };
        let index = Index::new(&metric, &measures, &options, &silent).unwrap();
        let bytes = IndexFile { index, point_names: None }.to_bytes().unwrap();
        let read = IndexFile::from_bytes(&bytes).unwrap().index;
        let index = Index::new(&metric, &measures, &options, &silent).unwrap();
        for index in [index, read] {
            let lists = index.nearest(&measures, 4, Accuracy::EXACT, &silent).unwrap();
            for (i, list) in lists.into_iter().enumerate() {
                let found = list.found;
                let mut expected: Vec<f64> = exact[12 * i..12 * (i + 1)].to_vec();
                expected.sort_by(f64::total_cmp);
                for ((_, found), expected) in found.into_iter().zip(expected) {
                    prop_assert!((found - expected).abs() <= 1e-9 * expected + 1e-12);
                }
            }
        }
    }
}

#[test]
fn clouds_and_model_files_keep_their_periods() {
    let clouds = Clouds::uniform(2, vec![0.0, 3.0, 1.0, -3.0, 0.5, -3.1], &[0, 2, 3]).unwrap();
    let period = [None, Some(std::f64::consts::TAU)];
    let ground = clouds.ground(PointMetric::Manhattan.with_period(&period)).unwrap();
    assert!((ground.distance(0, 2) - (0.5 + std::f64::consts::TAU - 6.1)).abs() < 1e-15);
    assert_eq!(ground.period(), Some(&Period::Each(period.to_vec())));
    let model = Model::Tree(linkage(&ground, Linkage::Average, &silent).unwrap());
    for metric in [ground.clone(), clouds.ground(PointMetric::Manhattan).unwrap()] {
        let whole =
            ModelFile { model: model.clone(), calibration: None, metric: Some(metric.clone()) };
        let bytes = whole.to_bytes().unwrap();
        // Files without periods do not know the word, so that they keep their bytes.
        let says = bytes.windows(6).any(|word| word == b"period");
        assert_eq!(says, metric.period().is_some());
        let read = ModelFile::from_bytes(&bytes).unwrap().metric.unwrap();
        assert_eq!(read.period(), metric.period());
        assert_eq!(read.distance(0, 2).to_bits(), metric.distance(0, 2).to_bits());
    }
}
