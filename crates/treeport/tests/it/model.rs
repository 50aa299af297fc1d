//! One tree or several: the same questions to both, and measures laid out for all trees.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::accuracy::Level;
use treeport::build::{PerturbedOptions, perturbed};
use treeport::estimate::Estimator;
use treeport::tree::Scratch;
use treeport::{Coupling, Error, Forest, Labeled, Linkage, Measures, Model, Tree, linkage, silent};

/// A forest with weights, the model of it, and measures.
fn models() -> impl Strategy<Value = (Forest, Model, Measures)> {
    common::forests(5)
        .prop_map(|(forest, measures)| (forest.clone(), Model::Forest(forest), measures))
}

/// What is left where a plan takes from, and where it brings to.
fn rests(plan: &Coupling, measures: &Measures, (i, j): (usize, usize)) -> Vec<f64> {
    let n = measures.points();
    let mut rest = vec![0.0; 2 * n];
    measures.row(i).iter().for_each(|(p, mass)| rest[p] += mass);
    measures.row(j).iter().for_each(|(p, mass)| rest[n + p] += mass);
    for (from, to, mass) in plan.iter() {
        rest[from] -= mass;
        rest[n + to] -= mass;
    }
    rest
}

proptest! {
    #[test]
    fn a_forest_of_one_tree_answers_as_the_tree_to_the_bit((forest, _, measures) in models()) {
        let tree = forest.trees()[0].clone();
        let one = Model::Forest(Forest::uniform(vec![tree.clone()]).unwrap());
        let tree = Model::Tree(tree);
        prop_assert_eq!((one.trees(), one.weights()), (tree.trees(), tree.weights()));
        prop_assert_eq!((one.points(), one.nodes()), (tree.points(), tree.nodes()));
        prop_assert_eq!((one.names(), one.to_newick()), (tree.names(), tree.to_newick()));
        prop_assert!(one.tree().is_none() && tree.tree().is_some());
        let pairs: Vec<(usize, usize)> = common::pairs(5).collect();
        for model in [&one, &one.scaled(3.0).unwrap()] {
            let tree = if model == &one { tree.clone() } else { tree.scaled(3.0).unwrap() };
            prop_assert_eq!(model.pairs(&measures, &pairs, &silent).unwrap(), tree.pairs(&measures, &pairs, &silent).unwrap());
            prop_assert_eq!(model.pairwise(&measures, &silent).unwrap(), tree.pairwise(&measures, &silent).unwrap());
            prop_assert_eq!(model.cross(&measures, &measures, &silent).unwrap(), tree.cross(&measures, &measures, &silent).unwrap());
            prop_assert_eq!(model.paired(&measures, &measures, &silent).unwrap(), tree.paired(&measures, &measures, &silent).unwrap());
            prop_assert_eq!(model.embed(&measures).unwrap(), tree.embed(&measures).unwrap());
            for &(i, j) in &pairs {
                let (a, b) = (measures.row(i), measures.row(j));
                prop_assert_eq!(model.distance(&a, &b).unwrap(), tree.distance(&a, &b).unwrap());
                let (ours, judge) = (model.coupling(&a, &b).unwrap(), tree.coupling(&a, &b).unwrap());
                prop_assert_eq!(ours, judge);
            }
            for (i, j) in common::pairs(tree.points()) {
                prop_assert_eq!(model.leaf_distance(i, j), tree.leaf_distance(i, j));
            }
        }
    }

    #[test]
    fn a_forest_is_the_weighted_mean_of_its_trees((forest, model, measures) in models()) {
        let mean = |of: &dyn Fn(&Tree) -> f64| -> f64 {
            forest.trees().iter().zip(forest.weights()).map(|(tree, w)| w * of(tree)).sum()
        };
        prop_assert_eq!((model.trees(), model.weights()), (forest.trees(), forest.weights()));
        prop_assert_eq!(model.nodes(), forest.trees().iter().map(Tree::nodes).sum::<usize>());
        for (i, j) in common::pairs(model.points()) {
            let judge = mean(&|tree| tree.leaf_distance(i, j));
            prop_assert!((model.leaf_distance(i, j) - judge).abs() <= 1e-14 * judge);
        }
        let rows = common::dense_rows(&model.embed(&measures).unwrap());
        for (i, j) in common::pairs(5) {
            let (a, b) = (measures.row(i), measures.row(j));
            let judge = mean(&|tree| tree.distance(&a, &b).unwrap());
            let city: f64 = rows[i].iter().zip(&rows[j]).map(|(x, y)| (x - y).abs()).sum();
            // Sums of a few dozen edges of length up to 45.
            prop_assert!((model.distance(&a, &b).unwrap() - judge).abs() < 1e-10);
            prop_assert!((city - judge).abs() < 1e-10);
        }
        prop_assert!(rows.iter().all(|row| row.len() == model.nodes()));
    }

    #[test]
    fn the_plan_of_a_forest_is_one_and_costs_no_more_than_any_of_its_trees(
        (forest, model, measures) in models(),
    ) {
        for (i, j) in common::pairs(5) {
            let (a, b) = (measures.row(i), measures.row(j));
            let plan = model.coupling(&a, &b).unwrap();
            prop_assert!(plan.iter().all(|(_, _, mass)| mass > 0.0));
            let rests = rests(&plan, &measures, (i, j));
            prop_assert!(rests.iter().all(|rest| rest.abs() < 1e-14), "{:?}", rests);
            let cost = |plan: &Coupling| plan.cost(|i, j| model.leaf_distance(i, j));
            let ours = cost(&plan);
            for tree in forest.trees() {
                let theirs = cost(&tree.coupling(&a, &b).unwrap());
                prop_assert!(ours <= theirs + 1e-12 * 50.0, "{} {}", ours, theirs);
            }
            // No plan of the mean costs less than the mean of the best plans.
            prop_assert!(ours >= model.distance(&a, &b).unwrap() - 1e-12 * 50.0);
        }
    }

    #[test]
    fn prepared_measures_answer_as_the_direct_calls_to_the_bit((_, model, measures) in models()) {
        check_prepared(&model, &measures);
        check_prepared(&Model::Tree(model.trees()[0].clone()), &measures);
    }

    #[test]
    fn newick_gives_all_trees_back(
        (tree, orders) in (common::named_trees(1..40), vec(any::<u64>(), 1..4)),
    ) {
        let names = tree.names().unwrap().to_vec();
        let others = orders.into_iter().map(|order| {
            let moved = common::with_leaves_at(&tree, &common::shuffled(tree.leaves(), order));
            moved.with_names(names.clone()).unwrap()
        });
        let trees: Vec<Tree> = std::iter::once(tree.clone()).chain(others).collect();
        let model = Model::Forest(Forest::uniform(trees).unwrap());
        let text = model.to_newick();
        let back = Model::from_newick(&text, Some(&names)).unwrap();
        prop_assert_eq!((back.names(), back.weights()), (model.names(), model.weights()));
        prop_assert_eq!(&back.to_newick(), &text);
        for (ours, judge) in back.trees().iter().zip(model.trees()) {
            let n = judge.leaves();
            prop_assert_eq!(&ours.root_distances()[..n], &judge.root_distances()[..n]);
        }
        // The same edges on the same paths; only the order in which they are added up may differ.
        let close = |x: f64, y: f64| (x - y).abs() <= 1e-14 * x.max(y) * tree.nodes() as f64;
        for (i, j) in common::pairs(tree.leaves()) {
            prop_assert!(close(back.leaf_distance(i, j), model.leaf_distance(i, j)));
        }
        // Without names the first tree says which point is which.
        let own = Model::from_newick(&text, None).unwrap();
        let first = own.names().unwrap();
        let place = |i: usize| names.iter().position(|name| *name == first[i]).unwrap();
        for (i, j) in common::pairs(tree.leaves()) {
            let judge = model.leaf_distance(place(i), place(j));
            prop_assert!(close(own.leaf_distance(i, j), judge));
        }
        // One tree is a tree, whatever is in its names.
        let one = Model::from_newick(&tree.to_newick(), None).unwrap();
        prop_assert_eq!(one.tree().map(Tree::leaves), Some(tree.leaves()));
    }
}

/// Everything that prepared measures can be asked, on one thread and on two, whole and in parts.
fn check_prepared(model: &Model, measures: &Measures) {
    let n = measures.points();
    let part = |rows: std::ops::Range<usize>| {
        Measures::from_rows(n, rows.map(|r| measures.row(r).iter())).unwrap()
    };
    let sets = [measures.clone(), part(0..0), part(1..2), part(2..measures.len())];
    for threads in [1, 2] {
        common::on_threads(threads, || {
            let ready: Vec<_> = sets.iter().map(|set| model.prepare(set).unwrap()).collect();
            for (set, prepared) in sets.iter().zip(&ready) {
                let count = set.len();
                assert!(prepared.measures().same(set));
                let pairs: Vec<_> =
                    (0..count).flat_map(|i| (0..count).map(move |j| (i, j))).collect();
                let direct = model.pairs(set, &pairs, &silent).unwrap();
                assert_eq!(prepared.pairs(&pairs, &silent).unwrap(), direct);
                let mut scratch = Scratch::default();
                let to =
                    |&(i, j): &(usize, usize)| prepared.distance_to(i, prepared, j, &mut scratch);
                assert_eq!(pairs.iter().map(to).collect::<Vec<_>>(), direct);
                let matrix = model.pairwise(set, &silent).unwrap();
                assert_eq!(prepared.pairwise(&silent).unwrap(), matrix);
                assert_eq!(matrix.len(), count * count);
                check_blocks(prepared, &matrix);
                for (other, theirs) in sets.iter().zip(&ready) {
                    let direct = model.cross(set, other, &silent).unwrap();
                    assert_eq!(prepared.cross(theirs, &silent).unwrap(), direct);
                    let mut each = Vec::new();
                    for i in 0..count {
                        let to = |j| prepared.distance_to(i, theirs, j, &mut scratch);
                        each.extend((0..other.len()).map(to));
                    }
                    assert_eq!(each.len(), direct.len());
                    for (one, of_table) in each.into_iter().zip(direct) {
                        assert!((one - of_table).abs() <= 1e-12 * one, "{one} is not {of_table}");
                    }
                }
            }
        });
    }
}

/// Every part of a table is what the whole has there.
fn check_blocks(prepared: &treeport::PreparedMeasures, matrix: &[f64]) {
    let n = prepared.measures().len();
    let ranges = [0..n, 0..n / 2, n / 3..n, n / 2..n.min(n / 2 + 1), n..n];
    for rows in &ranges {
        for columns in &ranges {
            let block = prepared.block(rows.clone(), columns.clone(), &silent).unwrap();
            let places = rows.clone().flat_map(|i| columns.clone().map(move |j| i * n + j));
            assert_eq!(block, places.map(|at| matrix[at]).collect::<Vec<_>>());
        }
        let some = prepared.cross_rows(prepared, rows.clone(), &silent).unwrap();
        let all = prepared.cross(prepared, &silent).unwrap();
        assert_eq!(some, all[rows.start * n..rows.end * n]);
    }
    let beyond = prepared.block(0..n, n..n + 1, &silent).unwrap_err();
    assert!(matches!(beyond, treeport::Error::NoSuchMeasure { measure, .. } if measure == n));
}

/// Many points and measures on a few of them, so that the cut through the trees is used.
fn sparse() -> (treeport::GroundMetric, Measures) {
    let metric = common::cloud(900, 2);
    let row =
        |r: usize| (0..12).map(move |k| ((k * 71 + r * r * 31) % 900, 1.0 + common::noise(k + r)));
    let measures = Measures::from_rows(900, (0..40).map(row)).unwrap().normalized();
    (metric, measures)
}

#[test]
fn prepared_measures_on_few_of_many_points_answer_as_the_direct_calls_to_the_bit() {
    let (metric, measures) = sparse();
    check_prepared(
        &linkage(&metric, Linkage::Average, &treeport::silent).unwrap().into(),
        &measures,
    );
    let options = PerturbedOptions { n_trees: 3, ..PerturbedOptions::default() };
    check_prepared(&perturbed(&metric, &options, &silent).unwrap().into(), &measures);
}

#[test]
fn answers_do_not_depend_on_the_number_of_threads() {
    let (metric, measures) = sparse();
    let options = PerturbedOptions { n_trees: 3, ..PerturbedOptions::default() };
    let model = Model::Forest(perturbed(&metric, &options, &silent).unwrap());
    let pairs: Vec<_> = (0..700).map(|k| (k % 40, k * k % 40)).collect();
    let run = || {
        (
            model.pairs(&measures, &pairs, &silent).unwrap(),
            model.paired(&measures, &measures, &silent).unwrap(),
            model.pairwise(&measures, &silent).unwrap(),
            model.cross(&measures, &measures, &silent).unwrap(),
        )
    };
    assert_eq!(common::on_threads(1, run), common::on_threads(2, run));
}

#[test]
fn pairs_of_two_sets_are_those_of_the_joined_set_at_every_level() {
    let (metric, measures) = sparse();
    let rows = |first: usize| (0..20).map(move |k| first + k);
    let set =
        |first| Measures::from_rows(900, rows(first).map(|r| measures.row(r).iter())).unwrap();
    let (a, b) = (set(0), set(20));
    let joined = a.followed_by(&b).unwrap();
    let across: Vec<(usize, usize)> = (0..20).map(|k| (k, 20 + k)).collect();
    let options = PerturbedOptions { n_trees: 3, ..PerturbedOptions::default() };
    let model = Model::Forest(perturbed(&metric, &options, &silent).unwrap());
    let estimator = Estimator::new(&metric, &model).unwrap();
    for estimator in [estimator.clone(), estimator.by_trees_alone()] {
        for level in Level::ALL {
            let paired = estimator.paired(level, &a, &b, &silent).unwrap();
            let judge = estimator.pairs(level, &joined, &across, &silent).unwrap();
            if level > Level::Tree {
                assert_eq!(paired, judge, "{level}");
                continue;
            }
            // Trees lay out one set with a cut through them and two sets without, which adds up in another order.
            let direct = model.paired(&a, &b, &silent).unwrap();
            assert_eq!(paired.iter().map(|e| e.raw).collect::<Vec<_>>(), direct);
            for (paired, judge) in paired.iter().zip(&judge) {
                assert!((paired.raw - judge.raw).abs() <= 1e-12 * judge.raw);
            }
        }
    }
}

#[test]
fn names_follow_and_must_fit() {
    let model = Model::from_newick("(a:1,b:2);\n(b:1,a:4);", None).unwrap();
    assert_eq!(model.trees()[1].lengths(), [4.0, 1.0, 0.0]);
    let renamed = model.clone().with_names(vec!["x".into(), "y".into()]).unwrap();
    assert_eq!(renamed.to_newick(), "(x:1,y:2);\n(x:4,y:1);");
    assert_eq!(renamed.names().unwrap(), ["x", "y"]);
    let wrong = model.clone().with_names(vec!["x".into()]);
    assert!(matches!(wrong, Err(Error::NameCount { names: 1, points: 2 })));
    let tree = Model::Tree(model.trees()[0].clone());
    assert!(matches!(tree.with_names(vec![]), Err(Error::NameCount { names: 0, points: 2 })));
    assert!(model.scaled(f64::NAN).is_err());
    assert_eq!(model.scaled(2.0).unwrap().leaf_distance(0, 1), 2.0 * model.leaf_distance(0, 1));
}

#[test]
fn newick_of_several_trees_may_be_laid_out_in_any_way() {
    let judge = Model::from_newick("(a:1,b:2);\n(b:1,a:4);", None).unwrap();
    assert_eq!(judge.trees().len(), 2);
    for text in [
        "(a:1,b:2);(b:1,a:4);",
        "\n(a:1,\n b:2);\n\n[a comment; with all in it]\n(b:1,a:4);\n[end]\n",
        "(a:1,'b':2);\r\n('b':1,a:4);\r\n",
    ] {
        assert_eq!(Model::from_newick(text, None).unwrap(), judge, "{text}");
    }
    for (text, expected) in [
        ("", "Newick, byte 0: a leaf without a name, the text ends"),
        ("(a,b);\n(a,b)", "Newick, byte 6: the text ends without `;`"),
        ("(a,b);\n(a,c);", "Newick, byte 4: leaf `c` is not among the names given"),
        ("(a,b);\n(a);", "Newick, point 1: its name `b` is not in the tree"),
        ("(a,b);\n;", "Newick, byte 1: a leaf without a name, found `;`"),
        ("(a,b);]", "Newick, byte 0: a leaf without a name, found `]`"),
    ] {
        let message = Model::from_newick(text, None).unwrap_err().to_string();
        assert_eq!(message, expected, "{text}");
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let tree = Tree::from_newick("(a:1,b:1);").unwrap();
    for model in [Model::from(tree.clone()), Forest::uniform(vec![tree; 2]).unwrap().into()] {
        let elsewhere = Measures::unit_masses(3, [0, 1]).unwrap();
        let misfit = |found: Option<Error>| matches!(found, Some(Error::PointCount { .. }));
        assert!(misfit(model.prepare(&elsewhere).err()));
        assert!(misfit(model.embed(&elsewhere).err()));
        assert!(misfit(model.pairs(&elsewhere, &[(0, 1)], &silent).err()));
        assert!(misfit(model.pairwise(&elsewhere, &silent).err()));
        assert!(misfit(model.cross(&elsewhere, &elsewhere, &silent).err()));
        assert!(misfit(model.paired(&elsewhere, &elsewhere, &silent).err()));
        assert!(misfit(model.distance(&elsewhere.row(0), &elsewhere.row(1)).err()));
        assert!(misfit(model.coupling(&elsewhere.row(0), &elsewhere.row(1)).err()));
        let uneven = Measures::from_dense(2, &[1.0, 0.0, 0.0, 0.9]).unwrap();
        let prepared = model.prepare(&uneven).unwrap();
        let unbalanced = |found: Option<Error>| matches!(found, Some(Error::Unbalanced { .. }));
        assert!(unbalanced(prepared.pairs(&[(0, 1)], &silent).err()));
        assert!(unbalanced(prepared.pairwise(&silent).err()));
        assert!(unbalanced(prepared.cross(&prepared, &silent).err()));
        assert!(unbalanced(model.coupling(&uneven.row(0), &uneven.row(1)).err()));
        let missing = prepared.pairs(&[(0, 7)], &silent);
        assert!(matches!(missing, Err(Error::NoSuchMeasure { measure: 7, measures: 2 })));
        let units = model.prepare(&Measures::unit_masses(2, [0, 1]).unwrap()).unwrap();
        assert!(matches!(units.pairs(&[(0, 1)], &|_| false), Err(Error::Canceled)));
        assert!(matches!(units.pairwise(&|_| false), Err(Error::Canceled)));
        assert!(matches!(units.cross(&units, &|_| false), Err(Error::Canceled)));
    }
}

#[test]
#[should_panic(expected = "prepared for one tree")]
fn sets_prepared_by_another_model_are_not_compared() {
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let model = |length: f64| Model::Tree(Tree::star(2, length).unwrap());
    let (one, other) = (model(1.0).prepare(&measures), model(2.0).prepare(&measures));
    let _unreached = one.unwrap().cross(&other.unwrap(), &silent);
}

#[test]
#[should_panic(expected = "prepared by one model")]
fn sets_prepared_by_a_larger_forest_are_not_compared() {
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let tree = Tree::star(2, 1.0).unwrap();
    let forest = |trees| Model::Forest(Forest::uniform(vec![tree.clone(); trees]).unwrap());
    // They begin with copies of one tree.
    let (one, other) = (forest(1).prepare(&measures), forest(2).prepare(&measures));
    let _unreached = one.unwrap().cross(&other.unwrap(), &silent);
}

#[test]
fn a_model_learns_and_is_judged_through_its_answers() {
    let metric = common::cloud(25, 2);
    let data = common::lessons(&metric, 40);
    let model = Model::Tree(linkage(&metric, Linkage::Average, &treeport::silent).unwrap());
    let predicted = model.pairs(data.measures(), data.pairs(), &silent).unwrap();
    let [mean, variation] = data.null_baselines();
    let judged = data.judge(&predicted);
    assert!(judged.scaled.mean < mean.score.mean && judged.scaled.mean < variation.score.mean);
    let points = Labeled::of_points(&metric, usize::MAX, 0).unwrap();
    let found = model.pairs(points.measures(), points.pairs(), &silent).unwrap();
    for (&(i, j), found) in points.pairs().iter().zip(found) {
        assert!((found - model.leaf_distance(i, j)).abs() <= 1e-12 * found);
    }
}

#[cfg(feature = "io")]
mod files {
    use super::*;

    /// A named tree, and a forest whose names no plain line could hold.
    fn both() -> [Model; 2] {
        let tree = Tree::from_newick("((cat:1,'a;\nb':1.5):0.25,(dog:0.1):3);").unwrap();
        let others = [tree.clone(), tree.scaled(2.0).unwrap()].to_vec();
        [tree.into(), Forest::new(others, vec![1.0, 2.0]).unwrap().into()]
    }

    #[test]
    fn files_give_the_model_back() {
        let folder = tempfile::tempdir().unwrap();
        for model in both() {
            let path = folder.path().join("a.model");
            model.save(&path).unwrap();
            assert_eq!(Model::load(&path).unwrap(), model);
            assert_eq!(Model::read(&path, None).unwrap(), model);
            let bytes = model.to_bytes().unwrap();
            assert_eq!(std::fs::read(&path).unwrap(), bytes);
            assert_eq!(Model::from_bytes(&bytes).unwrap(), model);
            let names = ["x", "y", "z"].map(String::from);
            let renamed = Model::read(&path, Some(&names)).unwrap();
            assert_eq!(renamed.names().unwrap(), names);
            let wrong = Model::read(&path, Some(&names[..2]));
            assert!(matches!(wrong, Err(Error::NameCount { names: 2, points: 3 })));
        }
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn newick_files_are_known_by_their_name() {
        let folder = tempfile::tempdir().unwrap();
        for (model, name) in both().into_iter().zip(["a.nwk", "a.newick"]) {
            let path = folder.path().join(name);
            std::fs::write(&path, model.to_newick()).unwrap();
            let mut names = model.names().unwrap().to_vec();
            let back = Model::read(&path, Some(&names)).unwrap();
            assert_eq!(back.trees().len(), model.trees().len());
            assert_eq!(back.trees()[0].leaf_distance(0, 2), model.trees()[0].leaf_distance(0, 2));
            names.reverse();
            let turned = Model::read(&path, Some(&names)).unwrap();
            assert_eq!(turned.leaf_distance(0, 1), back.leaf_distance(2, 1));
            names[0] = "mouse".into();
            assert!(matches!(Model::read(&path, Some(&names)), Err(Error::Parse { .. })));
        }
        let none = Model::read(folder.path().join("none.nwk"), None);
        assert!(matches!(none, Err(Error::Read { .. })));
    }

    #[test]
    fn what_is_no_model_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.model");
        assert!(matches!(Model::load(&path), Err(Error::Read { .. })));
        std::fs::write(&path, "PK").unwrap();
        assert!(matches!(Model::load(&path), Err(Error::NotATree { .. })));
        for model in both() {
            let bytes = model.to_bytes().unwrap();
            // A damaged file is not taken for one of the other kind.
            let mut damaged = bytes.clone();
            *damaged.last_mut().unwrap() ^= 1;
            assert!(matches!(Model::from_bytes(&damaged), Err(Error::DamagedTree { .. })));
            assert!(Model::from_bytes(&bytes[..bytes.len() - 1]).is_err());
        }
        assert!(matches!(both()[0].save(path.join("no")), Err(Error::Write { .. })));
    }
}
