//! What does not fit is refused with a way out, and nothing is asked for that is not needed.
//!
//! Each in a process of its own: the limit is that of the process.

use treeport::accuracy::Level;
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::Estimator;
use treeport::memory;
use treeport::progress::State;
use treeport::sinkhorn::{self, SinkhornOptions};
use treeport::space::SpaceOptions;
use treeport::{
    Clouds, Error, FitOptions, Forest, GroundMetric, Labeled, Linkage, MatrixView, Measures,
    Method, Model, PointMetric, Problem, Problems, Relax, Result, Space, Tree, fit, linkage,
    silent,
};

/// A limit that is gone when this is.
struct Limit;

impl Limit {
    fn of(bytes: u64) -> Self {
        memory::set_limit(Some(bytes));
        Self
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        memory::set_limit(None);
    }
}

/// The text of a refusal for want of memory.
fn refused<T>(result: Result<T>) -> String {
    match result {
        Err(error @ Error::Memory { .. }) => error.to_string(),
        Err(error) => panic!("refused, but for another reason: {error}"),
        Ok(_) => panic!("not refused"),
    }
}

fn line(n: usize) -> GroundMetric {
    let at = (0..n).map(|i| (i as f64 * 0.37).sin() * 10.0).collect();
    GroundMetric::from_points(1, at, PointMetric::Euclidean).unwrap()
}

fn path(n: usize) -> GroundMetric {
    let edges: Vec<_> = (1..n).map(|i| (i - 1, i, 1.0 + (i % 3) as f64)).collect();
    GroundMetric::from_edges(n, &edges).unwrap()
}

/// Every point with a mass of its own.
fn spread(n: usize, measures: usize) -> Measures {
    let mass = |k: usize| 1.0 + ((k * 7919) % 13) as f64;
    let dense: Vec<f64> = (0..n * measures).map(mass).collect();
    Measures::from_dense(n, &dense).unwrap().normalized()
}

const KILOBYTE: u64 = 1000;

alone! {
    fn linkages_that_need_all_distances_name_one_that_does_not() {
        let _limit = Limit::of(30 * KILOBYTE);
        for metric in [line(100), path(100)] {
            for method in [Linkage::Average, Linkage::Complete, Linkage::Ward] {
                assert_eq!(
                    refused(linkage(&metric, method, &treeport::silent)),
                    format!(
                        "{method} linkage of 100 points needs 39.6 kB, and 30 kB are available; use neighbors or single linkage or the method `cluster`, which do not need all distances at once"
                    )
                );
            }
            // What it names works, and so does everything else that needs no table.
            linkage(&metric, Linkage::Single, &treeport::silent).unwrap();
            linkage(&metric, Linkage::Closest, &treeport::silent).unwrap();
            fit(&metric, None, &FitOptions::of(Method::Cluster), &silent).unwrap();
        }
        assert_eq!(linkage(&line(80), Linkage::Average, &treeport::silent).unwrap().leaves(), 80);
    }
}

alone! {
    fn every_method_fits_or_names_what_does() {
        let _limit = Limit::of(200 * KILOBYTE);
        for metric in [line(300), path(300)] {
            for &method in Method::ALL {
                if method.supports().labels
                    || (method.supports().coordinates && metric.coordinates().is_none())
                {
                    continue;
                }
                let options = FitOptions {
                    point_pairs: method.supports().point_pairs.then_some(200),
                    epochs: method.supports().learning.then_some(1),
                    ..FitOptions::of(method)
                };
                match fit(&metric, None, &options, &silent) {
                    Ok(fitted) => assert_eq!(fitted.model.points(), 300),
                    Err(error @ Error::Memory { .. }) => {
                        let text = error.to_string();
                        assert!(text.contains("cluster`"), "{method}: {text}");
                    }
                    Err(error) => panic!("{method}: {error}"),
                }
            }
        }
        let forest = refused(perturbed(&line(300), &PerturbedOptions::default(), &silent));
        assert!(forest.contains("use the method `sliced-cluster`"), "{forest}");
        fit(&line(300), None, &FitOptions::of(Method::SlicedCluster), &silent).unwrap();
    }
}

alone! {
    fn graphs_without_room_for_all_paths_are_searched_instead() {
        let (small, graph) = (path(100), path(100));
        small.materialize(&silent).unwrap();
        let _limit = Limit::of(30 * KILOBYTE);
        assert!(refused(graph.condensed()).starts_with("the table of all distances of 100 points"));
        assert!(refused(graph.materialized()).contains("39.6 kB"));
        let measures = Measures::unit_masses(100, [0, 50, 99]).unwrap();
        let solve = |metric: &GroundMetric| Labeled::sample(metric, &measures, 3, 0, &silent).unwrap();
        assert_eq!(solve(&graph), solve(&small));
        let model = Model::Tree(linkage(&graph, Linkage::Single, &treeport::silent).unwrap());
        let estimator = Estimator::new(&graph, &model).unwrap();
        let (a, b) = (measures.row(0), measures.row(2));
        assert_eq!(estimator.distance(Level::Exact, &a, &b).unwrap().value, small.distance(0, 99));
    }
}

alone! {
    fn tables_of_measures_are_weighed_whole() {
        let measures = spread(20, 60);
        let tree = linkage(&line(20), Linkage::Average, &treeport::silent).unwrap();
        let forest = Forest::uniform(vec![tree.clone(); 3]).unwrap();
        let _limit = Limit::of(50 * KILOBYTE);
        // One table is 28.8 kB; a forest holds two at a time.
        tree.pairwise(&measures, &silent).unwrap();
        let text = refused(forest.pairwise(&measures, &silent));
        assert!(text.starts_with("the table of 60 by 60 distances of several trees needs 57.6 kB"));
        refused(Model::Forest(forest.clone()).prepare(&measures).unwrap().pairwise(&silent));
        refused(forest.cross(&measures, &measures, &silent));
        let many = spread(20, 80);
        assert_eq!(
            refused(tree.pairwise(&many, &silent)),
            "the table of 80 by 80 distances needs 51.2 kB, and 50 kB are available; take it in blocks of rows (`treeport distance -o table.npy`, `out=` a memory map in Python, one block after the other in Rust), or ask for listed pairs or for the nearest alone"
        );
        refused(tree.cross(&many, &many, &silent));
        blocks_fit(&Model::Tree(tree.clone()), &many);
        blocks_fit(&Model::Forest(forest), &many);
        tree.cross(&many, &measures, &silent).unwrap();
        refused(many_embedded(&tree));
    }
}

/// Tables that are refused as a whole can be had block after block.
fn blocks_fit(model: &Model, measures: &Measures) {
    let prepared = model.prepare(measures).unwrap();
    refused(prepared.pairwise(&silent));
    let (n, at_once) = (measures.len(), prepared.rows_at_once(measures.len()));
    assert!(at_once >= 1 && at_once < n / 2, "{at_once}");
    for first in (0..n).step_by(at_once) {
        let rows = first..n.min(first + at_once);
        assert_eq!(prepared.block(rows.clone(), 0..n, &silent).unwrap().len(), rows.len() * n);
        prepared.cross_rows(&prepared, rows, &silent).unwrap();
    }
}

fn many_embedded(tree: &Tree) -> Result<treeport::Csr> {
    tree.embed(&spread(20, 300))
}

alone! {
    fn exact_and_entropic_transport_weigh_their_tables() {
        let metric = line(100);
        let measures = spread(100, 3);
        let (a, b) = (measures.row(0), measures.row(1));
        let dense: Vec<Vec<f64>> = (0..2)
            .map(|i| (0..100).map(|p| measures.row(i).iter().nth(p).unwrap().1).collect())
            .collect();
        let costs = MatrixView::from_fn(100, 100, &|i, j| i.abs_diff(j) as f64);
        let options = SinkhornOptions::default();
        let _limit = Limit::of(50 * KILOBYTE);
        let places = metric.coordinates().unwrap().1;
        let on_a_diagonal = places.iter().flat_map(|&x| [x, x]).collect();
        let squared =
            GroundMetric::from_points(2, on_a_diagonal, PointMetric::SqEuclidean).unwrap();
        let text = refused(Problem::new(&squared, &a, &b).value(&silent));
        assert_eq!(
            text,
            "exact transport between 100 and 100 points needs 80 kB, and 50 kB are available; take an estimate at the level `flow`"
        );
        refused(Problem::between(&dense[0], &dense[1], costs).value(&silent));
        let text = refused(Problems::new(&squared, &measures, &[(0, 1), (1, 2)]).values(&silent));
        assert!(text.contains("take fewer threads"), "{text}");
        for relax in [Relax::Mass(0.5), Relax::Penalty(9.0)] {
            // No estimate is of part of the mass.
            let text = refused(Problem::new(&squared, &a, &b).relaxed(relax).value(&silent));
            assert!(text.ends_with("; take fewer points, such as a random sample of each side"));
            refused(Problem::between(&dense[0], &dense[1], costs).relaxed(relax).value(&silent));
            let many = Problems::new(&squared, &measures, &[(0, 1), (1, 2)]).relaxed(relax);
            let text = refused(many.values(&silent));
            assert!(text.ends_with("; take fewer threads, or measures with fewer points"));
        }
        let text = refused(sinkhorn::value(&Problem::new(&metric, &a, &b), &options, &silent));
        assert!(text.starts_with("entropic transport between 100 and 100 points needs 160 kB"));
        refused(sinkhorn::value(&Problem::between(&dense[0], &dense[1], costs), &options, &silent));
        // Points on a line have no table.
        let problem = Problem::new(&metric, &a, &b);
        let value = problem.value(&silent).unwrap();
        assert_eq!(Problems::new(&metric, &measures, &[(0, 1)]).values(&silent).unwrap(), [value]);
        let less = Limit::of(20 * KILOBYTE);
        let text = refused(problem.solve(&silent));
        assert!(text.starts_with("transport between 100 and 100 points on a line needs"), "{text}");
        refused(Problems::new(&metric, &measures, &[(0, 1)]).values(&silent));
        drop(less);
        // What they name works.
        let model = Model::Tree(linkage(&metric, Linkage::Single, &treeport::silent).unwrap());
        let estimator = Estimator::new(&squared, &model).unwrap().by_trees_alone();
        estimator.distance(Level::Flow, &a, &b).unwrap();
        estimator.bounds(Level::Flow, &a, &b).unwrap();
    }
}

alone! {
    fn lists_of_pairs_are_weighed() {
        let _limit = Limit::of(30 * KILOBYTE);
        let text = refused(Labeled::of_points(&line(1000), 400_000, 0));
        assert!(text.starts_with("a list of 400000 pairs needs 16 MB"), "{text}");
        refused(treeport::labeled::sample_pairs(usize::MAX, 4000, 0));
        treeport::labeled::sample_pairs(usize::MAX, 20, 0).unwrap();
    }
}

#[cfg(feature = "io")]
alone! {
    fn files_are_weighed_by_their_headers() {
        use treeport::io::npy;
        let mut file = Vec::new();
        npy::write_f64(&[100, 100], &vec![0.0; 10_000], &mut file).unwrap();
        let _limit = Limit::of(50 * KILOBYTE);
        let text = refused(npy::read(&file[..]));
        assert!(text.starts_with("an array of 10000 entries needs 80 kB"), "{text}");
        let mut wrong = Vec::new();
        npy::write_f64(&[10_000], &vec![0.0; 10_000], &mut wrong).unwrap();
        // The shape is looked at before the size.
        let shape = GroundMetric::read_points_npy(&wrong[..], PointMetric::Euclidean);
        assert!(matches!(shape, Err(Error::Shape { .. })));
        assert!(matches!(GroundMetric::read_matrix_npy(&wrong[..]), Err(Error::Shape { .. })));
        assert!(matches!(Measures::read_npy(&wrong[..]), Err(Error::Shape { .. })));
    }
}

alone! {
    fn a_square_matrix_is_weighed_before_it_is_read() {
        let _limit = Limit::of(30 * KILOBYTE);
        // The first entry is wrong, and is not reached.
        let text = refused(GroundMetric::from_square(100, &vec![f64::NAN; 10_000]));
        assert!(text.starts_with("the upper triangle of a matrix of 100 points needs 39.6 kB"));
        let (masses, entry) = (vec![1.0; 2_500], |_, _| unreachable!("a cost is read"));
        let costs = MatrixView::from_fn(2_500, 2_500, &entry);
        for relax in [Relax::Balanced, Relax::Mass(0.5), Relax::Penalty(9.0)] {
            let problem = Problem::between(&masses, &masses, costs).relaxed(relax);
            let text = refused(problem.value(&silent));
            assert!(text.starts_with("exact transport between 2500 and 2500 points needs 25 MB"));
        }
    }
}

/// Refuses the second time it is asked, so that it is not the door that stops.
fn second() -> impl Fn(&State<'_>) -> bool + Sync {
    let heard = std::sync::atomic::AtomicUsize::new(0);
    move |_| heard.fetch_add(1, std::sync::atomic::Ordering::Relaxed) < 1
}

alone! {
    fn long_work_stops_when_asked_to() {
        let _limit = Limit::of(1 << 40);
        let metric = line(900);
        for method in
            [Linkage::Single, Linkage::Average, Linkage::Complete, Linkage::Ward, Linkage::Closest]
        {
            // Fresh, as single linkage is kept.
            let stopped = linkage(&line(900), method, &second());
            assert!(matches!(stopped, Err(Error::Canceled)), "{method}");
        }
        assert!(matches!(path(900).materialize(&second()), Err(Error::Canceled)));
        let measures = spread(900, 2);
        let (a, b) = (measures.row(0), measures.row(1));
        let solved = Problem::new(&metric, &a, &b).solve(&|_| false);
        assert!(matches!(solved, Err(Error::Canceled)));
        let masses: Vec<f64> = (0..900).map(|k| 1.0 + f64::from(k % 7)).collect();
        let mirrored: Vec<f64> = masses.iter().rev().copied().collect();
        let costs = MatrixView::from_fn(900, 900, &|i, j| ((i * 31 + j * 17) % 97) as f64);
        let solved = Problem::between(&masses, &mirrored, costs).solve(&|_| false);
        assert!(matches!(solved, Err(Error::Canceled)));
        let options = SinkhornOptions::default();
        let solved = sinkhorn::solve(&Problem::new(&metric, &a, &b), &options, &second());
        assert!(matches!(solved, Err(Error::Canceled)));
        let solved = sinkhorn::solve(&Problem::between(&masses, &mirrored, costs), &options, &second());
        assert!(matches!(solved, Err(Error::Canceled)));
    }
}

alone! {
    fn points_of_any_size_have_true_distances_and_bounds() {
        let _limit = Limit::of(1 << 40);
        let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        for unit in [1e-300, 1e-170, 1e-155, 1e-20, 1.0, 1e100] {
            let at = [0.0, 0.0, 3.0, 0.0, 3.0, 4.0].map(|x| x * unit).to_vec();
            let metric = GroundMetric::from_points(2, at, PointMetric::Euclidean).unwrap();
            let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
            assert!((exact / unit - 3.0).abs() < 1e-12, "{unit}: {exact}");
            for method in [Linkage::Single, Linkage::Average, Linkage::Ward] {
                let tree = linkage(&metric, method, &treeport::silent).unwrap();
                assert!((tree.leaf_distance(0, 1) / unit - 3.0).abs() < 1e-12, "{unit} {method}");
                let estimator = Estimator::new(&metric, &Model::Tree(tree)).unwrap().by_trees_alone();
                for level in Level::ALL {
                    let interval = estimator.bounds(level, &a, &b).unwrap();
                    assert!(interval.lower <= exact && exact <= interval.upper, "{unit} {level}");
                    assert!(interval.upper > 0.0, "{unit} {level}");
                }
            }
        }
        for unit in [1e155, 1e160, 1e300] {
            let far = GroundMetric::from_points(1, vec![0.0, unit], PointMetric::Euclidean).unwrap();
            assert_eq!(far.distance(0, 1), unit);
            let squared = GroundMetric::from_points(1, vec![0.0, unit], PointMetric::SqEuclidean);
            assert!(matches!(squared, Err(Error::BadDistance { .. })), "{unit}");
        }
    }
}

alone! {
    fn a_false_promise_of_a_metric_is_refused() {
        let matrix = || GroundMetric::from_condensed(3, vec![1.0, 5.0, 1.0]).unwrap();
        let refused = matrix().assume_metric().unwrap_err();
        assert!(matches!(refused, Error::NotMetric { i: 0, j: 2, k: 1, .. }), "{refused}");
        let squares = GroundMetric::from_points(1, vec![0.0, 1.0, 2.0], PointMetric::SqEuclidean);
        assert!(squares.unwrap().assume_metric().is_err());
        assert!(GroundMetric::from_condensed(3, vec![1.0, 2.0, 1.0]).unwrap().assume_metric().is_ok());
    }
}

alone! {
    fn sparse_rows_of_clouds_that_do_not_fit_are_refused() {
        let points: Vec<f64> = (0..200).map(|k| f64::from(k * k % 97) / 10.0).collect();
        let start: Vec<usize> = (0..=100).collect();
        let clouds = Clouds::uniform(2, points, &start).unwrap();
        let ground = clouds.ground(PointMetric::Euclidean).unwrap();
        let data = Labeled::sample(&ground, clouds.measures(), 50, 0, &silent).unwrap();
        let options = SpaceOptions::default();
        let space =
            Space::fit(&clouds, PointMetric::Euclidean, &data, &options, &silent).unwrap();
        let _limit = Limit::of(700 * KILOBYTE);
        space.prepare(&clouds, &silent).unwrap();
        let text = refused(space.embed(&clouds, &silent));
        assert!(text.starts_with("the table of sparse rows needs"), "{text}");
        assert!(text.ends_with("take some of the clouds at a time"), "{text}");
    }
}
