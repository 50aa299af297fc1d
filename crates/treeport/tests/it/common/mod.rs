//! Random trees, small scenes and slow judges, shared by the tests.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Forest, GroundMetric, Labeled, Measures, PointMetric, Tree, silent};

/// Trees of any shape and degree with `nodes` nodes: chains, stars, heaps, bushes and brooms, with unary nodes
/// and edges of length 0 among them.
pub(crate) fn trees(nodes: Range<usize>) -> impl Strategy<Value = Tree> {
    nodes.prop_flat_map(|n| {
        (0..5usize, vec(any::<u32>(), n), vec(any::<u32>(), n), vec(lengths(), n))
            .prop_map(|(shape, picks, keys, lengths)| tree(shape, &picks, &keys, &lengths))
    })
}

/// Trees as [`trees`] makes them, with names of any characters; a number in each keeps them apart.
pub(crate) fn named_trees(nodes: Range<usize>) -> impl Strategy<Value = Tree> {
    (trees(nodes), vec("[ -~éλ\n]{0,5}", 60)).prop_map(|(tree, words)| {
        let name = |p: usize| format!("{}.{p}", words[p % words.len()]);
        let names = (0..tree.leaves()).map(name).collect();
        tree.with_names(names).expect("one name per leaf")
    })
}

/// Edge lengths of very different sizes, 0 among them.
fn lengths() -> impl Strategy<Value = f64> {
    prop_oneof![2 => Just(0.0), 5 => 0.0..10.0, 1 => 0.0..1e-12, 1 => 0.0..1e12]
}

/// Node `v` of the draft hangs below an earlier one; leaves are then shuffled by `keys`.
fn tree(shape: usize, picks: &[u32], keys: &[u32], lengths: &[f64]) -> Tree {
    let n = picks.len();
    let above = |v: usize| match shape {
        0 => v - 1,                                // chain
        1 => 0,                                    // star
        2 => (v - 1) / 2,                          // heap
        3 => picks[v] as usize % v,                // bush
        _ => v - 1 - picks[v] as usize % 3.min(v), // broom
    };
    let draft: Vec<usize> = (0..n).map(|v| if v == 0 { 0 } else { above(v) }).collect();
    let mut inner = vec![false; n];
    draft[1..].iter().for_each(|&p| inner[p] = true);
    let mut order: Vec<usize> = (0..n).filter(|&v| !inner[v]).collect();
    let leaves = order.len();
    order.sort_by_key(|&v| keys[v]);
    order.extend((0..n).rev().filter(|&v| inner[v]));
    let mut number = vec![0; n];
    order.iter().enumerate().for_each(|(new, &v)| number[v] = new as u32);
    let parent = order.iter().map(|&v| number[draft[v]]).collect();
    let length = order.iter().map(|&v| if v == 0 { 0.0 } else { lengths[v] }).collect();
    Tree::new(leaves, parent, length).expect("children before parents, leaves first")
}

/// Binary ultrametric trees with the height of every node; equal heights are common.
pub(crate) fn ultrametric_trees(leaves: Range<usize>) -> impl Strategy<Value = (Tree, Vec<f64>)> {
    let step = prop_oneof![Just(0.0), Just(1.0), 0.01..5.0];
    leaves.prop_flat_map(move |n| {
        vec((any::<u32>(), any::<u32>(), step.clone()), n - 1)
            .prop_map(move |merges| ultrametric_tree(n, &merges))
    })
}

/// Merges two clusters at a time, each a step higher than the last.
fn ultrametric_tree(n: usize, merges: &[(u32, u32, f64)]) -> (Tree, Vec<f64>) {
    let mut clusters: Vec<usize> = (0..n).collect();
    let mut parent: Vec<u32> = (0..2 * n as u32 - 1).collect();
    let mut height = vec![0.0; n];
    for &(a, b, step) in merges {
        let node = height.len();
        height.push(height[node - 1] + step);
        for pick in [a, b] {
            let child = clusters.swap_remove(pick as usize % clusters.len());
            parent[child] = node as u32;
        }
        clusters.push(node);
    }
    let length = (0..parent.len()).map(|v| height[parent[v] as usize] - height[v]).collect();
    (Tree::new(n, parent, length).expect("merges make a tree"), height)
}

/// All pairs of points in the order of a condensed matrix.
pub(crate) fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))
}

/// The lowest node above both leaves.
pub(crate) fn common_ancestor(tree: &Tree, mut i: usize, mut j: usize) -> usize {
    while i != j {
        let lower = if i < j { &mut i } else { &mut j };
        *lower = tree.parents()[*lower] as usize;
    }
    i
}

/// Leaf distances of all pairs, condensed.
pub(crate) fn leaf_distances(tree: &Tree) -> Vec<f64> {
    pairs(tree.leaves()).map(|(i, j)| tree.leaf_distance(i, j)).collect()
}

/// A random order of `0..n`.
pub(crate) fn shuffled(n: usize, seed: u64) -> Vec<usize> {
    use rand::SeedableRng;
    use rand::seq::SliceRandom;
    let mut order: Vec<usize> = (0..n).collect();
    order.shuffle(&mut rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed));
    order
}

/// The same tree with leaf `i` called `order[i]`.
pub(crate) fn with_leaves_at(tree: &Tree, order: &[usize]) -> Tree {
    let (mut parent, mut length) = (tree.parents().to_vec(), tree.lengths().to_vec());
    for i in 0..tree.leaves() {
        parent[order[i]] = tree.parents()[i];
        length[order[i]] = tree.lengths()[i];
    }
    if tree.nodes() == 1 {
        return tree.clone();
    }
    Tree::new(tree.leaves(), parent, length).expect("leaves may be renamed")
}

/// What the work gives on a pool of so many threads.
pub(crate) fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(work)
}

/// Single linkage of a dense symmetric matrix, row by row: the smallest largest step between all pairs.
///
/// Prim's way: the nearest point joins next, and from it every way on leads over the edge it joined by.
pub(crate) fn single_linkage(n: usize, matrix: &[f64]) -> Vec<f64> {
    let mut linked = vec![0.0; n * n];
    let mut joined = vec![0];
    let mut waiting: Vec<(usize, usize)> = (1..n).map(|j| (j, 0)).collect();
    let at = |i: usize, j: usize| matrix[i * n + j];
    while !waiting.is_empty() {
        let nearest = (0..waiting.len())
            .min_by(|&a, &b| {
                let length = |k: usize| at(waiting[k].0, waiting[k].1);
                length(a).total_cmp(&length(b))
            })
            .expect("one is waiting");
        let (new, from) = waiting.swap_remove(nearest);
        for &old in &joined {
            let way =
                if old == from { at(new, from) } else { at(new, from).max(linked[from * n + old]) };
            (linked[new * n + old], linked[old * n + new]) = (way, way);
        }
        joined.push(new);
        for (point, nearest) in &mut waiting {
            if at(*point, new) < at(*point, *nearest) {
                *nearest = new;
            }
        }
    }
    linked
}

/// Numbers of no particular order, below 10.1.
pub(crate) fn noise(k: usize) -> f64 {
    ((k * 7919 + k * k % 613) % 1009) as f64 / 100.0
}

/// Points of no particular shape.
pub(crate) fn cloud(n: usize, dim: usize) -> GroundMetric {
    let coordinates = (0..n * dim).map(noise).collect();
    GroundMetric::from_points(dim, coordinates, PointMetric::Euclidean).expect("points")
}

/// 24 measures on a third of the points each, with exact labels of some pairs.
pub(crate) fn lessons(metric: &GroundMetric, labels: usize) -> Labeled {
    let n = metric.points();
    let row = |r: usize| {
        let on = move |i: usize| (i + r).is_multiple_of(3);
        (0..n).map(move |i| (i, if on(i) { 0.1 + noise(i * 31 + r) } else { 0.0 }))
    };
    let measures = Measures::from_rows(n, (0..24).map(row)).expect("masses").normalized();
    let pairs = (0..labels).map(|k| (k % 24, (k * 5 + 7) % 24)).collect();
    Labeled::solve(metric, &measures, pairs, &silent).expect("solvable")
}

/// The same labels with other distances.
pub(crate) fn relabeled(data: &Labeled, change: impl Fn(usize, f64) -> f64) -> Labeled {
    let distances = data.distances().iter().enumerate().map(|(k, &d)| change(k, d)).collect();
    Labeled::new(data.measures(), data.pairs().to_vec(), distances).expect("good distances")
}

/// `count` measures of total 1 on n points with masses of different sizes, 0 among them.
pub(crate) fn measures(n: usize, count: usize) -> impl Strategy<Value = Measures> {
    let mass = prop_oneof![Just(0.0), 0.01..1.0];
    vec(vec(mass, n - 1), count).prop_map(move |rows| {
        // The last point always has mass, so that no measure is empty.
        let dense: Vec<f64> =
            rows.into_iter().flat_map(|row| row.into_iter().chain([0.5])).collect();
        Measures::from_dense(n, &dense).expect("masses").normalized()
    })
}

/// Forests of one to three trees with weights, and measures on their points.
pub(crate) fn forests(count: usize) -> impl Strategy<Value = (Forest, Measures)> {
    (3..9usize).prop_flat_map(move |n| {
        let tree = ultrametric_trees(n..n + 1).prop_map(|(tree, _)| tree);
        let trees = vec((tree, 0.1..2.0), 1..4).prop_map(|parts| {
            let (trees, weights) = parts.into_iter().unzip();
            Forest::new(trees, weights).expect("equal leaves")
        });
        (trees, measures(n, count))
    })
}

/// The rows of a sparse matrix, zeros written out.
pub(crate) fn dense_rows(matrix: &treeport::Csr) -> Vec<Vec<f64>> {
    let row = |r: usize| {
        let mut row = vec![0.0; matrix.cols];
        for at in matrix.start[r]..matrix.start[r + 1] {
            row[matrix.indices[at]] += matrix.values[at];
        }
        row
    };
    (0..matrix.rows).map(row).collect()
}

/// Runs a test in a process of its own, because it changes what belongs to the whole process.
macro_rules! alone {
    ($(#[$about:meta])* fn $name:ident() $body:block) => {
        $(#[$about])*
        #[test]
        fn $name() {
            crate::common::in_own_process(concat!(module_path!(), "::", stringify!($name)), || $body);
        }
    };
}

/// Calls `body` if this process was begun for it, and begins one that does otherwise.
pub(crate) fn in_own_process(path: &str, body: impl FnOnce()) {
    const MARK: &str = "TREEPORT_TEST_ALONE";
    if std::env::var_os(MARK).is_some() {
        return body();
    }
    let (_, name) = path.split_once("::").expect("a module path begins with the crate");
    let program = std::env::current_exe().expect("the tests are a program");
    let run = std::process::Command::new(program)
        .args([name, "--exact", "--nocapture"])
        .env(MARK, "1")
        .output()
        .expect("the tests can be run");
    let text = String::from_utf8_lossy(&run.stdout) + String::from_utf8_lossy(&run.stderr);
    assert!(run.status.success() && text.contains("1 passed"), "{name} alone:\n{text}");
}

/// The exact answer of a problem, and the potentials of all points.
pub(crate) fn proved(problem: &treeport::Problem<'_>) -> (treeport::Answer, treeport::Potentials) {
    let aim = treeport::Aim::exact().wanting(treeport::Wanted::Potentials);
    let mut answer = problem.answer(&aim, &treeport::silent).unwrap();
    let potentials = answer.potentials.take().unwrap();
    (answer, potentials)
}
