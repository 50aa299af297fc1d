//! Distances, plans and embeddings on any tree, against the plain loop over edges.

use crate::common;
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::tree::{Census, Scratch};
use treeport::{Error, GroundMetric, Measures, Tree, silent};

/// Measures of total 1 whose masses are multiples of 2^-20, so that sums are exact and any
/// difference between two ways of adding up is the code's, not rounding's.
fn measures(points: usize, count: usize) -> impl Strategy<Value = Measures> {
    let row = vec((0..points, 1..50_000u32), 1..20.min(4 * points));
    vec(row, count).prop_map(move |rows| {
        let rows = rows.into_iter().map(|row| {
            let unit = 1.0 / f64::from(1 << 20);
            let mut entries: Vec<_> = row.iter().map(|&(p, m)| (p, f64::from(m) * unit)).collect();
            let rest = 1.0 - entries.iter().map(|e| e.1).sum::<f64>();
            entries.push((entries[0].0, rest));
            entries
        });
        Measures::from_rows(points, rows).unwrap()
    })
}

fn trees_with_measures(count: usize) -> impl Strategy<Value = (Tree, Measures)> {
    common::trees(2..120).prop_flat_map(move |tree| {
        let measures = measures(tree.leaves(), count);
        (Just(tree), measures)
    })
}

fn dense(tree: &Tree, measures: &Measures, i: usize, j: usize) -> f64 {
    tree.distance_dense(&measures.row(i), &measures.row(j), &mut Scratch::default())
}

/// Closeness of distances between measures of total 1.
fn assert_close(tree: &Tree, ours: f64, judge: f64) {
    assert_close_for(1.0, tree, ours, judge);
}

/// Closeness of distances when `mass` moves.
///
/// Depths carry about 32 digits: an edge far below 1e-20 of the height keeps fewer than 12.
fn assert_close_for(mass: f64, tree: &Tree, ours: f64, judge: f64) {
    let rounding = 1e-30 * mass * tree.statistics().height;
    assert!((ours - judge).abs() <= 1e-12 * judge.abs() + rounding, "{ours} is not {judge}");
}

/// The size of what is added up: rounding is judged against this, not against what cancels.
fn scale(tree: &Tree) -> f64 {
    tree.statistics().height.max(1.0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn the_sparse_path_agrees_with_the_dense_loop((tree, measures) in trees_with_measures(2)) {
        let prepared = tree.prepare(&measures).unwrap();
        let judge = dense(&tree, &measures, 0, 1);
        for ours in [
            prepared.distance_sparse(0, 1, &mut Scratch::default()),
            tree.distance(&measures.row(0), &measures.row(1)).unwrap(),
        ] {
            assert_close(&tree, ours, judge);
        }
    }

    #[test]
    fn the_plan_costs_the_distance_and_has_the_marginals(
        (tree, measures) in trees_with_measures(2),
    ) {
        let (a, b) = (measures.row(0), measures.row(1));
        let plan = tree.coupling(&a, &b).unwrap();
        let distance = tree.distance(&a, &b).unwrap();
        let cost = plan.cost(|i, j| tree.leaf_distance(i, j));
        prop_assert!((cost - distance).abs() <= 1e-12 * scale(&tree));
        let (mut left, mut right) = (vec![0.0; tree.leaves()], vec![0.0; tree.leaves()]);
        for (i, j, mass) in plan.iter() {
            prop_assert!(mass > 0.0);
            left[i] += mass;
            right[j] += mass;
        }
        // Exact, not close: the masses are multiples of 2^-20.
        a.iter().for_each(|(point, mass)| left[point] -= mass);
        b.iter().for_each(|(point, mass)| right[point] -= mass);
        prop_assert!(left.iter().chain(&right).all(|&rest| rest == 0.0));
        prop_assert!(plan.len() <= a.support().len() + b.support().len());
    }

    #[test]
    fn it_is_a_pseudometric((tree, measures) in trees_with_measures(3)) {
        let d = |i: usize, j: usize| tree.distance(&measures.row(i), &measures.row(j)).unwrap();
        prop_assert_eq!(d(0, 0), 0.0);
        prop_assert_eq!(d(0, 1), d(1, 0));
        prop_assert!(d(0, 2) <= d(0, 1) + d(1, 2) + 1e-12 * scale(&tree));
    }

    #[test]
    fn embeddings_have_the_same_distances((tree, measures) in trees_with_measures(2)) {
        let embedded = tree.embed(&measures).unwrap();
        prop_assert_eq!((embedded.rows, embedded.cols), (2, tree.nodes()));
        let rows = common::dense_rows(&embedded);
        let cityblock: f64 = rows[0].iter().zip(&rows[1]).map(|(x, y)| (x - y).abs()).sum();
        prop_assert!((cityblock - dense(&tree, &measures, 0, 1)).abs() <= 1e-12 * scale(&tree));
    }

    #[test]
    fn it_scales_with_the_tree((tree, measures) in trees_with_measures(2), c in 1e-3..1e3) {
        let scaled = tree.scaled(c).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        assert_close(&scaled, scaled.distance(&a, &b).unwrap(), c * tree.distance(&a, &b).unwrap());
    }

    #[test]
    fn it_does_not_depend_on_the_order_of_points(
        (tree, measures) in trees_with_measures(2),
        seed in any::<u64>(),
    ) {
        let order = common::shuffled(tree.leaves(), seed);
        let renamed = common::with_leaves_at(&tree, &order);
        let rows = measures.iter().map(|m| m.iter().map(|(p, mass)| (order[p], mass)));
        let moved = Measures::from_rows(tree.leaves(), rows).unwrap();
        let ours = renamed.distance(&moved.row(0), &moved.row(1)).unwrap();
        assert_close(&tree, ours, dense(&tree, &measures, 0, 1));
    }

    #[test]
    fn hanging_it_from_its_middle_changes_no_distance(tree in common::trees(1..80)) {
        let hung = tree.rerooted_at_middle().unwrap();
        for (i, j) in common::pairs(tree.leaves()) {
            let gap = (hung.leaf_distance(i, j) - tree.leaf_distance(i, j)).abs();
            prop_assert!(gap <= 1e-12 * scale(&tree));
        }
        let longest = common::leaf_distances(&tree).into_iter().fold(0.0, f64::max);
        prop_assume!(longest > 0.0); // with all points in one place there is no middle
        prop_assert!(hung.statistics().height <= 0.5 * longest + 1e-12 * scale(&tree));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(50))]

    #[test]
    fn many_pairs_agree_with_one_at_a_time_on_any_number_of_threads(
        (tree, measures) in trees_with_measures(9),
    ) {
        let pairs: Vec<(usize, usize)> =
            (0..700).map(|k| (k % 9, (k * k + k / 9) % 9)).collect();
        let on = |threads: usize| common::on_threads(threads, || {
            let pairs = tree.pairs(&measures, &pairs, &silent).unwrap();
            let matrix = tree.pairwise(&measures, &silent).unwrap();
            let cross = tree.cross(&measures, &measures, &silent).unwrap();
            (pairs, matrix, cross)
        });
        let (one, many) = (on(1), on(4));
        prop_assert_eq!(&one, &many);
        for (&(i, j), &ours) in pairs.iter().zip(&one.0) {
            assert_close(&tree, ours, dense(&tree, &measures, i, j));
            prop_assert_eq!(one.1[i * 9 + j], one.1[j * 9 + i]);
            assert_close(&tree, one.1[i * 9 + j], ours);
            assert_close(&tree, one.2[i * 9 + j], ours);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn two_sets_of_measures_are_compared_with_each_other(
        tree in common::trees(300..1500),
        seed in any::<u64>(),
    ) {
        // Supports of very different size, so that the two sets would be cut at different places.
        let n = tree.leaves();
        let spread = |count: usize, by: u64| {
            (0..count).map(move |k| ((seed.wrapping_mul(by).wrapping_add(7919 * k as u64) % n as u64) as usize, 1.0))
        };
        let few = Measures::from_rows(n, (1..4).map(|r| spread(2, r))).unwrap().normalized();
        let many = Measures::from_rows(n, (1..6).map(|r| spread(40, r + 10))).unwrap().normalized();
        let matrix = tree.cross(&few, &many, &silent).unwrap();
        for i in 0..3 {
            for j in 0..5 {
                let judge =
                    tree.distance_dense(&few.row(i), &many.row(j), &mut Scratch::default());
                let rounding = 1e-14 * scale(&tree);
                prop_assert!((matrix[i * 5 + j] - judge).abs() <= 1e-12 * judge + rounding);
            }
        }
        let left = Measures::from_rows(n, (0..5).map(|r| few.row(r % 3).iter())).unwrap();
        let paired = tree.paired(&left, &many, &silent).unwrap();
        prop_assert_eq!(paired.len(), 5);
        for (i, paired) in paired.into_iter().enumerate() {
            let rounding = 1e-14 * scale(&tree);
            let of_matrix = matrix[i % 3 * 5 + i];
            prop_assert!((paired - of_matrix).abs() <= 1e-12 * of_matrix + rounding);
        }
    }

    /// Trees large enough, and measures sparse enough, that the cut through the tree is used.
    #[test]
    fn prepared_measures_agree_with_the_dense_loop_on_larger_trees(
        (tree, measures) in large_trees_with_measures(),
    ) {
        let prepared = tree.prepare(&measures).unwrap();
        let mut scratch = Scratch::default();
        for (i, j) in common::pairs(measures.len()) {
            let judge = dense(&tree, &measures, i, j);
            let ours = prepared.distance_with(i, j, &mut scratch);
            assert_close(&tree, ours, judge);
        }
    }

    #[test]
    fn nearly_equal_measures_keep_their_digits((tree, _) in large_trees_with_measures(), p in 0..50usize) {
        // 2^-40 of the mass moves, the rest stays: the difference must not drown in the rest.
        let n = tree.leaves();
        let tiny = 2f64.powi(-40);
        let points: Vec<usize> = (0..10).map(|k| (p + k * n / 10) % n).collect();
        let base = |k: usize| (points[k], 0.1 + if k == 0 { tiny } else { 0.0 });
        let moved = |k: usize| (points[k], 0.1 + if k == 1 { tiny } else { 0.0 });
        let rows: [Vec<(usize, f64)>; 2] = [(0..10).map(base).collect(), (0..10).map(moved).collect()];
        let measures = Measures::from_rows(n, rows).unwrap();
        let ours = tree.prepare(&measures).unwrap().distance_with(0, 1, &mut Scratch::default());
        let judge = dense(&tree, &measures, 0, 1);
        assert_close_for(tiny, &tree, ours, judge);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Collections so large that they are scanned, in several tasks.
    #[test]
    fn tables_agree_with_the_dense_loop_whoever_asks(
        tree in common::trees(100..700),
        queries in 1..5usize,
        words in 2..12usize,
        seed in any::<u64>(),
    ) {
        let n = tree.leaves();
        // Multiples of 2^-20 again, the first of them what is left of 1.
        let row = |r: u64| {
            let random = move |k: u64| (seed ^ (97 * r + k)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20;
            let mut units: Vec<u64> = (0..words as u64).map(|k| 1 + (random(k) >> 28)).collect();
            units[0] = (1 << 20) - units[1..].iter().sum::<u64>();
            let mass = |units: u64| units as f64 / f64::from(1 << 20);
            units.into_iter().zip(0..).map(move |(u, k)| ((random(k) % n as u64) as usize, mass(u)))
        };
        let measures = |rows: std::ops::Range<u64>| Measures::from_rows(n, rows.map(row)).unwrap();
        // The last that ask are in the collection.
        let (many, few) = (measures(0..1100), measures(1098..1098 + queries as u64));
        let on = |threads: usize| common::on_threads(threads, || {
            let (many, few) = (tree.prepare(&many).unwrap(), tree.prepare(&few).unwrap());
            let asked = few.cross(&many, &silent).unwrap();
            let block = many.block(1000..1003, 0..1100, &silent).unwrap();
            let some = many.cross_rows(&few, 1020..1030, &silent).unwrap();
            (asked, many.cross(&few, &silent).unwrap(), some, block)
        });
        let one = on(1);
        prop_assert_eq!(&one, &on(3));
        let (asked, turned, some, block) = one;
        prop_assert_eq!(&turned[1020 * queries..1030 * queries], &some[..]);
        let mut scratch = Scratch::default();
        for j in (0..1100).step_by(7).chain([1023, 1024, 1098, 1099]) {
            for i in 0..queries {
                let judge = tree.distance_dense(&few.row(i), &many.row(j), &mut scratch);
                assert_close(&tree, asked[i * 1100 + j], judge);
                prop_assert_eq!(asked[i * 1100 + j], turned[j * queries + i]);
            }
            for i in 0..3 {
                assert_close(&tree, block[i * 1100 + j], dense(&tree, &many, 1000 + i, j));
            }
        }
        prop_assert_eq!(block[1100 + 1001], 0.0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// Whether there are lists, and where the tree is cut, is chosen for all measures together.
    #[test]
    fn parts_give_the_bits_of_the_whole(
        tree in common::trees(2..400),
        rows in vec(vec((0..400usize, 1..1000u32), 1..60), 2..40),
        size in 1..9usize,
        split in 1..39usize,
    ) {
        let n = tree.leaves();
        let row = |row: &Vec<(usize, u32)>| {
            row.iter().map(|&(p, m)| (p % n, f64::from(m))).collect::<Vec<_>>()
        };
        let measures = |rows: &[Vec<(usize, u32)>]| {
            Measures::from_rows(n, rows.iter().map(row)).unwrap().normalized()
        };
        let whole = |rows: &[Vec<(usize, u32)>]| {
            let parts = rows.chunks(size).map(|part| tree.census(&measures(part)).unwrap());
            parts.reduce(|a, b| Census {
                measures: a.measures + b.measures,
                entries: a.entries + b.entries,
                above: a.above + b.above,
            })
        };
        let part = |rows: &[Vec<(usize, u32)>], whole: Option<Census>| {
            tree.prepare_part(&measures(rows), whole.unwrap()).unwrap()
        };
        let (all, census) = (measures(&rows), whole(&rows));
        prop_assert_eq!(census.unwrap(), tree.census(&all).unwrap());
        let (left, right) = rows.split_at(split.min(rows.len() - 1));
        let table = tree.pairwise(&all, &silent).unwrap();
        let cross = tree.cross(&measures(left), &measures(right), &silent).unwrap();
        for (r, a) in rows.chunks(size).enumerate() {
            let a = part(a, census);
            for (c, b) in rows.chunks(size).enumerate().skip(r) {
                let b = part(b, census);
                let block = if r == c { a.pairwise(&silent) } else { a.cross(&b, &silent) }.unwrap();
                for (k, distance) in block.iter().enumerate() {
                    let (i, j) = (r * size + k / b.len(), c * size + k % b.len());
                    prop_assert_eq!(*distance, table[i * rows.len() + j]);
                }
            }
        }
        for (r, a) in left.chunks(size).enumerate() {
            for (c, b) in right.chunks(size).enumerate() {
                let (a, b) = (part(a, whole(left)), part(b, whole(right)));
                for (k, distance) in a.cross(&b, &silent).unwrap().iter().enumerate() {
                    let (i, j) = (r * size + k / b.len(), c * size + k % b.len());
                    prop_assert_eq!(*distance, cross[i * right.len() + j]);
                }
            }
        }
    }
}

fn large_trees_with_measures() -> impl Strategy<Value = (Tree, Measures)> {
    common::trees(300..2500).prop_flat_map(|tree| {
        let measures = measures(tree.leaves(), 6);
        (Just(tree), measures)
    })
}

#[test]
fn short_edges_deep_in_a_tall_tree_keep_their_digits() {
    // Two leaves 2e-9 apart, a million below the root: plain sums from the root would lose them.
    let tree = Tree::new(3, vec![3, 3, 4, 4, 4], vec![1e-9, 1e-9, 1e6, 1e6 + 0.3, 0.0]).unwrap();
    let measures = Measures::unit_masses(3, [0, 1]).unwrap();
    let prepared = tree.prepare(&measures).unwrap();
    assert_close(&tree, prepared.distance_sparse(0, 1, &mut Scratch::default()), 2e-9);
}

#[test]
fn measures_that_do_not_fit_are_refused() {
    let tree = Tree::new(2, vec![2, 2, 2], vec![1.0, 1.0, 0.0]).unwrap();
    let three = Measures::unit_masses(3, [2, 0]).unwrap();
    let error = tree.pairs(&three, &[(0, 1)], &silent).unwrap_err().to_string();
    assert_eq!(error, "the measures live on 3 points, the tree or metric on 2");
    assert!(tree.distance(&three.row(0), &three.row(1)).is_err());
    let uneven = Measures::from_dense(2, &[1.0, 0.0, 0.0, 0.9]).unwrap();
    let error = tree.pairs(&uneven, &[(0, 1)], &silent).unwrap_err().to_string();
    assert!(error.starts_with("measures 0 and 1 have total mass 1 and 0.9"), "{error}");
    assert!(tree.pairwise(&uneven, &silent).is_err());
    let error = tree.pairs(&uneven, &[(0, 7)], &silent).unwrap_err().to_string();
    assert_eq!(error, "there is no measure 7: the set holds 2, numbered from 0");
    let error = tree.paired(&three, &uneven, &silent).unwrap_err().to_string();
    assert!(error.starts_with("measures 1 and 1 have total mass"), "{error}");
    let one = Measures::from_dense(2, &[0.5, 0.5]).unwrap();
    let error = tree.paired(&uneven, &one, &silent).unwrap_err().to_string();
    assert_eq!(error, "the second set of measures has shape 1 rows, expected 2 rows");
}

#[test]
fn imbalance_cannot_creep_in_from_row_to_row() {
    let tree = Tree::new(2, vec![2, 2, 2], vec![1.0, 1.0, 0.0]).unwrap();
    // Neighbors differ by less than the tolerance, the ends by much more.
    let rows = (0..2000).map(|k: u16| [(usize::from(k % 2), 1.000_000_9f64.powi(k.into()))]);
    let drifting = Measures::from_rows(2, rows).unwrap();
    assert!(matches!(tree.pairwise(&drifting, &silent), Err(Error::Unbalanced { .. })));
    assert!(matches!(tree.cross(&drifting, &drifting, &silent), Err(Error::Unbalanced { .. })));
}

#[test]
fn masses_that_differ_by_rounding_keep_the_left_marginal() {
    let tree = Tree::new(3, vec![3, 3, 3, 3], vec![1.0, 1.0, 1.0, 0.0]).unwrap();
    let measures = Measures::from_dense(3, &[0.6, 0.4, 0.0, 0.3, 0.3, 0.4 - 5e-7]).unwrap();
    let plan = tree.coupling(&measures.row(0), &measures.row(1)).unwrap();
    let left: f64 = plan.iter().filter(|m| m.0 == 0).map(|m| m.2).sum();
    assert!((left - 0.6).abs() < 1e-15, "{left}");
    assert!((plan.mass.iter().sum::<f64>() - 1.0).abs() < 1e-15);
}

#[test]
fn measures_on_fewer_points_are_refused_one_by_one_too() {
    let tree = Tree::new(3, vec![3, 3, 3, 3], vec![1.0, 1.0, 1.0, 0.0]).unwrap();
    let two = Measures::unit_masses(2, [0, 1]).unwrap();
    let error = tree.distance(&two.row(0), &two.row(1)).unwrap_err().to_string();
    assert_eq!(error, "the measures live on 2 points, the tree or metric on 3");
    assert!(tree.coupling(&two.row(0), &two.row(1)).is_err());
}

#[test]
fn trees_too_tall_for_numbers_are_refused() {
    let error = Tree::new(2, vec![2, 3, 3, 3], vec![1.0, 1.0, 1.7e308, 0.0]).unwrap_err();
    assert_eq!(error.to_string(), "not a tree: the lengths of its paths overflow");
}

#[test]
fn small_clusters_of_a_tall_ultrametric_keep_their_height() {
    let metric = GroundMetric::from_condensed(3, vec![1e-12, 1e6, 1e6]).unwrap();
    let tree = treeport::linkage(&metric, treeport::Linkage::Single, &silent).unwrap();
    let again = treeport::project(&tree, &tree.heights()).unwrap();
    assert_eq!(again.leaf_distance(0, 1), 1e-12);
}

#[test]
fn masses_that_vanish_on_normalizing_disappear() {
    let measures = Measures::from_dense(2, &[1e300, 1e-300]).unwrap().normalized();
    assert_eq!(measures.row(0).support(), [0]);
}

#[test]
fn progress_can_stop_the_work() {
    let tree = Tree::new(2, vec![2, 2, 2], vec![1.0, 1.0, 0.0]).unwrap();
    let measures = Measures::unit_masses(2, [0, 1]).unwrap();
    let stopped = tree.pairs(&measures, &vec![(0, 1); 5000], &|state| state.done < 1000);
    assert!(matches!(stopped, Err(Error::Canceled)));
}

/// Beyond 65,536 inner nodes their numbers are long.
#[test]
fn trees_of_more_nodes_than_short_numbers_agree_with_the_dense_loop() {
    let leaves: u32 = 70_000;
    // Every inner node joins the next leaf to the one before, but every hundredth starts a limb of its own.
    let inner = |k: u32| leaves + k;
    let limbs = leaves / 100;
    let leaf_parents = (0..leaves).map(|leaf| inner(leaf / 100 * 99 + (leaf % 100).min(98)));
    let along =
        (0..limbs * 99).map(|k| if k % 99 == 98 { inner(limbs * 99) } else { inner(k + 1) });
    let parents = leaf_parents.chain(along).chain([inner(limbs * 99)]).collect::<Vec<_>>();
    let edges = (1..parents.len()).map(|v| 1.0 + (v * 37 % 101) as f64);
    let lengths = edges.chain([0.0]).collect();
    let tree = Tree::new(leaves as usize, parents, lengths).unwrap();
    let row = |r: usize| (0..60).map(move |k| ((k * 7919 + r * r * 31) % 70_000, 1.0 + k as f64));
    let measures = Measures::from_rows(leaves as usize, (0..6).map(row)).unwrap();
    for (i, j) in common::pairs(6) {
        let ours = tree.distance(&measures.row(i), &measures.row(j)).unwrap();
        assert_close(&tree, ours, dense(&tree, &measures, i, j));
    }
}
