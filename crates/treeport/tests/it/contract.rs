//! Contracted models, judged by all pairs of measures.

use crate::common;
use proptest::prelude::*;
use treeport::contract::Contracted;
use treeport::{Error, Measures, Model, Tree, silent};

/// Models of any shape with measures on their points.
fn models() -> impl Strategy<Value = (Model, Measures)> {
    let tree = common::trees(2..40).prop_flat_map(|tree| {
        let measures = common::measures(tree.leaves(), 6);
        (Just(Model::Tree(tree)), measures)
    });
    let forest = common::forests(6).prop_map(|(forest, measures)| (forest.into(), measures));
    prop_oneof![tree, forest]
}

/// The longest row.
fn entries(model: &Model, measures: &Measures) -> usize {
    let start = model.embed(measures).unwrap().start;
    start.windows(2).map(|bounds| bounds[1] - bounds[0]).max().unwrap_or(0)
}

/// Some of the measures.
fn some(measures: &Measures, which: std::ops::Range<usize>) -> Measures {
    let rows = which.map(|row| measures.row(row).iter());
    Measures::from_rows(measures.points(), rows).unwrap()
}

/// The least and the largest change of a distance, and 0.
fn changes(model: &Model, other: &Contracted, a: &Measures, b: &Measures) -> (f64, f64) {
    let before = model.cross(a, b, &silent).unwrap();
    let after = other.model.cross(a, b, &silent).unwrap();
    let changes = after.iter().zip(&before).map(|(a, b)| a - b);
    changes.fold((0.0, 0.0), |(least, most), c| (c.min(least), c.max(most)))
}

proptest! {
    #[test]
    fn rows_fit_and_the_change_is_that_of_all_pairs((model, measures) in models(), most in 0..30usize) {
        let contracted = model.contracted(&measures, None, most, &silent).unwrap();
        prop_assert!(entries(&contracted.model, &measures) <= most);
        let Some(change) = contracted.change else {
            prop_assert!(entries(&model, &measures) <= most);
            prop_assert_eq!((contracted.model, contracted.edges), (model, 0));
            return Ok(());
        };
        prop_assert!(contracted.edges > 0);
        let size: f64 = model.embed(&measures).unwrap().values.iter().sum();
        let (least, most) = changes(&model, &contracted, &measures, &measures);
        prop_assert!((change.least - least).abs() <= 1e-12 * size, "{change:?} {least}");
        prop_assert!((change.most - most).abs() <= 1e-12 * size, "{change:?} {most}");
        prop_assert!(change.exact);
        let table = model.pairwise(&measures, &silent).unwrap();
        let mean = table.iter().sum::<f64>() / (table.len() - measures.len()) as f64;
        prop_assert!((change.mean_distance - mean).abs() <= 1e-12 * size);
    }

    #[test]
    fn queries_are_judged_against_the_measures_only((model, all) in models(), most in 0..20usize) {
        let (queries, measures) = (some(&all, 0..2), some(&all, 2..6));
        let alone = model.contracted(&measures, None, most, &silent).unwrap();
        let contracted = model.contracted(&measures, Some(&queries), most, &silent).unwrap();
        prop_assert_eq!(&alone.model, &contracted.model);
        let Some(change) = contracted.change else { return Ok(()) };
        let size: f64 = model.embed(&all).unwrap().values.iter().sum();
        let within = changes(&model, &contracted, &measures, &measures);
        let across = changes(&model, &contracted, &queries, &measures);
        prop_assert!((change.least - within.0.min(across.0)).abs() <= 1e-12 * size);
        prop_assert!((change.most - within.1.max(across.1)).abs() <= 1e-12 * size);
    }

    #[test]
    fn any_number_of_threads_contracts_the_same((model, measures) in models(), most in 0..20usize) {
        let with = |threads| {
            common::on_threads(threads, || model.contracted(&measures, None, most, &silent).unwrap())
        };
        let (one, three) = (with(1), with(3));
        prop_assert_eq!((one.model, one.change), (three.model, three.change));
    }
}

#[test]
fn lengths_go_down_where_measures_have_one_point_below() {
    let tree = Tree::from_newick("(((a:1,b:1):2,c:3):1,(d:1,e:1):2);").unwrap();
    let model = Model::Tree(tree);
    let measures = Measures::unit_masses(5, [0, 2, 3]).unwrap();
    let contracted = model.contracted(&measures, None, 1, &silent).unwrap();
    let change = contracted.change.unwrap();
    // Of a and c above their common node one is too much; nothing else changes.
    assert_eq!((change.least, change.most), (0.0, 2.0));
    let rows = contracted.model.embed(&measures).unwrap();
    assert_eq!((rows.indices, rows.values), (vec![0, 2, 3], vec![4.0, 4.0, 3.0]));
}

#[test]
fn what_cannot_be_contracted_is_an_error() {
    let model = Model::from_newick("((a:1,b:1):2,(c:1,d:1):2);", None).unwrap();
    let elsewhere = Measures::unit_masses(3, [0]).unwrap();
    let wrong = model.contracted(&elsewhere, None, 1, &silent);
    assert!(matches!(wrong, Err(Error::PointCount { .. })));
    let measures = Measures::unit_masses(4, [0, 2]).unwrap();
    let wrong = model.contracted(&measures, Some(&elsewhere), 1, &silent);
    assert!(matches!(wrong, Err(Error::PointCount { .. })));
    let stopped = model.contracted(&measures, None, 1, &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}
