use proptest::prelude::*;

use super::*;
use crate::metric::graph::{Graph, Heap, tests::graphs};
use crate::progress::silent;

/// Distances by plain searches.
fn judge(graph: &Graph) -> Vec<Vec<f64>> {
    let search = |from| {
        let mut row = vec![0.0; graph.len()];
        graph.search(from, None, &mut row, &mut Heap::new());
        row
    };
    (0..graph.len()).map(search).collect()
}

/// Checks both kinds of queries for all pairs of nodes and for some, and the labels.
fn check(n: usize, edges: &[(usize, usize, f64)]) -> Result<usize, TestCaseError> {
    let graph = Graph::new(n, edges).unwrap();
    let judge = judge(&graph);
    let hierarchy = Hierarchy::new(n, &graph.edges, &silent).unwrap();
    let all: Vec<usize> = (0..n).collect();
    let some: Vec<usize> = (0..n).rev().step_by(3).collect();
    for (sources, targets) in [(&all, &all), (&some, &all), (&all, &some)] {
        let mut block = vec![f64::NAN; sources.len() * targets.len()];
        hierarchy.block(sources, targets, &mut block);
        let pairs: Vec<(usize, usize)> =
            sources.iter().flat_map(|&i| targets.iter().map(move |&j| (i, j))).collect();
        let one_by_one = hierarchy.pairs(&pairs);
        for ((&(i, j), swept), climbed) in pairs.iter().zip(block).zip(one_by_one) {
            let expected = judge[i][j];
            let close = |found: f64| (found - expected).abs() <= 1e-13 * expected;
            prop_assert!(close(swept) && close(climbed), "{i} {j}: {swept} {climbed} {expected}");
        }
    }
    let labels = hierarchy.hub_labels(&silent).unwrap();
    prop_assert_eq!(labels.is_some(), hierarchy.core_nodes() <= 100);
    let counter = Counter::new(PATHS, None, &silent);
    let landmarks = HubLabels::of_landmarks(&graph, &counter).unwrap();
    for i in 0..n {
        for j in 0..n {
            let expected = judge[i][j];
            let found = labels.as_ref().map_or(expected, |it| it.between(i as u32, j as u32));
            prop_assert!(
                (found - expected).abs() <= 1e-13 * expected,
                "{i} {j}: {found} {expected}"
            );
            let past = landmarks.between(i as u32, j as u32);
            prop_assert!(past >= expected - 1e-13 * expected, "{i} {j}: {past} {expected}");
            prop_assert!(n > 64 || past <= expected + 1e-13 * expected, "all are landmarks");
        }
    }
    Ok(hierarchy.core_nodes())
}

/// A grid of streets with random lengths, many of them equal.
fn grid(side: usize, seed: usize) -> Vec<(usize, usize, f64)> {
    let length = |k: usize| 1.0 + ((k * k + seed) % 7) as f64 / 3.0;
    let node = |x: usize, y: usize| x * side + y;
    let right = (0..side).flat_map(|x| (1..side).map(move |y| (node(x, y - 1), node(x, y))));
    let down = (1..side).flat_map(|x| (0..side).map(move |y| (node(x - 1, y), node(x, y))));
    right.chain(down).enumerate().map(|(k, (a, b))| (a, b, length(k))).collect()
}

/// A random graph: every node has `degree` random neighbors at similar distances.
fn expander(n: usize, degree: usize) -> Vec<(usize, usize, f64)> {
    let mut state = 1u64;
    let mut random = move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (state >> 33) as usize
    };
    let mut edges: Vec<_> = (1..n).map(|v| (v, v - 1, 10.0)).collect();
    for v in 0..n {
        edges.extend((0..degree).map(|_| (v, random() % n, 10.0 + (random() % 100) as f64 / 70.0)));
    }
    edges
}

proptest! {
    #[test]
    fn it_agrees_with_dijkstra((n, edges) in graphs()) {
        check(n, &edges)?;
    }

    #[test]
    fn scale_does_not_matter((n, edges) in graphs(), scale in prop::sample::select(vec![1e-300, 1e-9, 1e300])) {
        let scaled: Vec<_> = edges.iter().map(|&(a, b, w)| (a, b, w * scale)).collect();
        check(n, &scaled)?;
    }
}

#[test]
fn grids_are_contracted_to_the_end() {
    assert_eq!(check(21 * 21, &grid(21, 3)).unwrap(), 0);
}

#[test]
fn labels_are_short() {
    let graph = Graph::new(900, &grid(30, 3)).unwrap();
    let hierarchy = Hierarchy::new(900, &graph.edges, &silent).unwrap();
    let labels = hierarchy.hub_labels(&silent).unwrap().unwrap();
    assert!(labels.mean_length() < 60.0, "{}", labels.mean_length());
}

#[test]
fn a_graph_without_a_hierarchy_keeps_a_core() {
    assert!(check(300, &expander(300, 12)).unwrap() > 100);
    // The hub loses its neighbors before it is over the limit.
    let star: Vec<_> = (1..200).map(|v| (0, v, v as f64)).collect();
    assert_eq!(check(200, &star).unwrap(), 0);
}

#[test]
fn a_graph_with_hubs_is_all_core() {
    // Leaves with two hubs as neighbors.
    let leaves = 2..2_000;
    let edges: Vec<_> = leaves.flat_map(|v| [(0, v, 1.0), (1, v, 1.0 + v as f64)]).collect();
    let graph = Graph::new(2_000, &edges).unwrap();
    let hierarchy = Hierarchy::new(2_000, &graph.edges, &silent).unwrap();
    assert_eq!(hierarchy.core_nodes(), 2_000);
    assert!(hierarchy.hub_labels(&silent).unwrap().is_none());
    assert_eq!(hierarchy.distance(1, 5), 5.0, "over 2 and 0");
}

#[test]
fn one_thread_and_many_agree_to_the_bit() {
    let edges = grid(20, 5);
    let graph = Graph::new(400, &edges).unwrap();
    let on = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let hierarchy = Hierarchy::new(400, &graph.edges, &silent).unwrap();
            let all: Vec<usize> = (0..400).collect();
            let mut out = vec![0.0; 400 * 400];
            hierarchy.block(&all, &all, &mut out);
            let pairs: Vec<_> = (0..400).map(|i| (i / 3, 399 - i)).collect();
            (out, hierarchy.pairs(&pairs))
        })
    };
    assert_eq!(on(1), on(3));
}
