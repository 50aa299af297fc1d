//! Exact transport on graphs in several pieces, judged by costs that keep the pieces apart.

use crate::common;
use proptest::prelude::*;
use treeport::metric::Components;
use treeport::{
    Error, GroundMetric, MatrixView, Measures, Potentials, Problem, Problems, Relax, silent,
};

type Edges = Vec<(usize, usize, f64)>;

/// Further than any path is long.
const APART: f64 = 1e4;

/// Few edges on some nodes, so that most graphs fall apart, with loops and parallel edges.
fn graphs() -> impl Strategy<Value = (usize, Edges)> {
    (2usize..14).prop_flat_map(|n| {
        let edges = proptest::collection::vec((0..n, 0..n, 0.0..9.0f64), 0..n + 4);
        (Just(n), edges)
    })
}

/// A row of masses, and another that has the same mass in every component: entries are handed on
/// to other nodes of the component.
fn balanced(ground: &Components, masses: &[f64], to: &[usize]) -> Measures {
    let n = masses.len();
    let mut other = vec![0.0; n];
    for (node, &mass) in masses.iter().enumerate() {
        let near: Vec<usize> = (0..n).filter(|&v| ground.distance(node, v).is_finite()).collect();
        other[near[to[node] % near.len()]] += mass;
    }
    Measures::from_dense(n, &[masses, &other].concat()).unwrap()
}

fn costs(ground: &Components) -> Vec<f64> {
    let n = ground.points();
    let far = |d: f64| if d.is_finite() { d } else { APART };
    (0..n * n).map(|at| far(ground.distance(at / n, at % n))).collect()
}

fn dense(measures: &Measures, row: usize) -> Vec<f64> {
    let mut dense = vec![0.0; measures.points()];
    measures.row(row).iter().for_each(|(point, mass)| dense[point] = mass);
    dense
}

proptest! {
    #[test]
    fn components_are_solved_one_by_one(
        (n, edges) in graphs(),
        masses in proptest::collection::vec(1u8..9, 14),
        gaps in proptest::collection::vec(any::<bool>(), 14),
        to in proptest::collection::vec(0usize..14, 14),
    ) {
        let ground = Components::from_edges(n, &edges).unwrap();
        let mass = |node: usize| if gaps[node] && node > 0 { 0.0 } else { f64::from(masses[node]) };
        let measures = balanced(&ground, &(0..n).map(mass).collect::<Vec<_>>(), &to);
        let (a, b) = (measures.row(0), measures.row(1));
        let costs = costs(&ground);
        let matrix = MatrixView::new(n, n, &costs).unwrap();
        let expected = Problem::between(&dense(&measures, 0), &dense(&measures, 1), matrix).value(&silent).unwrap();

        let problem = Problem::new(&ground, &a, &b);
        let (solution, Potentials { left: u, right: v }) = common::proved(&problem);
        prop_assert!((solution.value() - expected).abs() <= 1e-9 * (1.0 + expected));
        prop_assert!((solution.plan.cost(|i, j| ground.distance(i, j)) - expected).abs() <= 1e-9 * (1.0 + expected));
        let proof = a.iter().map(|(i, m)| m * u[i]).chain(b.iter().map(|(j, m)| m * v[j])).sum::<f64>();
        prop_assert!((proof - expected).abs() <= 1e-9 * (1.0 + expected));
        for i in 0..n {
            for j in 0..n {
                prop_assert!(u[i] + v[j] <= ground.distance(i, j) + 1e-9);
            }
        }
        let both = Problems::new(&ground, &measures, &[(0, 1), (1, 0), (1, 1)]).values(&silent).unwrap();
        prop_assert!((both[0] - expected).abs() <= 1e-9 * (1.0 + expected));
        prop_assert!((both[1] - expected).abs() <= 1e-9 * (1.0 + expected) && both[2] == 0.0);
    }

    #[test]
    fn a_penalty_is_paid_in_every_component(
        (n, edges) in graphs(),
        masses in proptest::collection::vec(0u8..4, 28),
        price in 0.0..20.0f64,
    ) {
        let ground = Components::from_edges(n, &edges).unwrap();
        let mut rows: Vec<f64> = masses[..2 * n].iter().map(|&mass| f64::from(mass)).collect();
        (rows[0], rows[n]) = (1.0, 1.0);
        let measures = Measures::from_dense(n, &rows).unwrap();
        let (costs, relaxed) = (costs(&ground), Relax::Penalty(price));
        let matrix = MatrixView::new(n, n, &costs).unwrap();
        let expected =
            Problem::between(&rows[..n], &rows[n..], matrix).relaxed(relaxed).solve(&silent).unwrap().value();
        let (a, b) = (measures.row(0), measures.row(1));
        let problem = Problem::new(&ground, &a, &b).relaxed(relaxed);
        let (solution, Potentials { left: u, right: v }) = common::proved(&problem);
        prop_assert!((solution.value() - expected).abs() <= 1e-9 * (1.0 + expected));
        let proof = a.iter().map(|(i, m)| m * u[i]).chain(b.iter().map(|(j, m)| m * v[j])).sum::<f64>();
        prop_assert!((proof - expected).abs() <= 1e-9 * (1.0 + expected));
        let values = Problems::new(&ground, &measures, &[(0, 1)]).relaxed(relaxed).values(&silent).unwrap();
        prop_assert!((values[0] - expected).abs() <= 1e-9 * (1.0 + expected));
    }

    #[test]
    fn one_component_is_the_metric_to_the_bit((n, mut edges) in graphs()) {
        edges.extend((1..n).map(|v| (v - 1, v, 1.0)));
        let (ground, metric) = (Components::from_edges(n, &edges).unwrap(), GroundMetric::from_edges(n, &edges).unwrap());
        prop_assert_eq!(ground.len(), 1);
        let measures = Measures::unit_masses(n, 0..n).unwrap();
        let pairs: Vec<_> = (1..n).map(|v| (0, v)).collect();
        let expected = Problems::new(&metric, &measures, &pairs).values(&silent).unwrap();
        prop_assert_eq!(Problems::new(&ground, &measures, &pairs).values(&silent).unwrap(), expected);
        prop_assert!(ground.edges().eq(metric.edges().unwrap().iter().copied()));
    }
}

#[test]
fn masses_that_cannot_meet_are_named() {
    // Node 4 has no edges.
    let ground = Components::from_edges(5, &[(0, 3, 1.0), (1, 2, 1.0)]).unwrap();
    assert_eq!((ground.len(), ground.points()), (3, 5));
    let refused = |masses: &[f64]| {
        let measures = Measures::from_dense(5, masses).unwrap();
        let (a, b) = (measures.row(0), measures.row(1));
        let one = Problem::new(&ground, &a, &b).solve(&silent).unwrap_err();
        let many = Problems::new(&ground, &measures, &[(0, 0), (0, 1)]).values(&silent);
        assert_eq!(many.unwrap_err().to_string(), one.to_string());
        one.to_string()
    };
    assert_eq!(
        refused(&[1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 0.0]),
        "measures 0 and 1 have mass 1 and 2 in the component of node 0, and no path leads out of it; \
         make them equal there, or join the components by edges"
    );
    assert!(
        refused(&[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 2.0, 0.0]).contains("mass 1 and 2 in")
    );
    let lone = refused(&[0.5, 0.0, 0.0, 0.0, 1.0, 0.5, 1.0, 0.0, 0.0, 0.0]);
    assert!(lone.contains("mass 0 and 1 in the component of node 1"), "{lone}");
    let totals = refused(&[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0]);
    assert!(totals.contains("total mass 1 and 2"), "{totals}");
    let (measures, mass) = (Measures::unit_masses(5, [0, 3]).unwrap(), Some(Relax::Mass(0.5)));
    let refused = Problems::new(&ground, &measures, &[(0, 1)])
        .relaxed(mass.unwrap_or_default())
        .values(&silent);
    assert!(matches!(refused, Err(Error::BadOption { option: "mass", .. })));
    assert!(matches!(ground.whole(), Err(Error::Disconnected { components: 3, node: 1 })));
    let missing = Problems::new(&ground, &measures, &[(0, 7)]).values(&silent);
    assert!(matches!(missing, Err(Error::NoSuchMeasure { measure: 7, .. })));
}

#[test]
fn nodes_without_edges_take_no_memory() {
    let ground = Components::from_edges(1 << 30, &[(5, 9, 2.0)]).unwrap();
    let rows = [[(5, 1.0), (77, 1.0)], [(9, 1.0), (77, 1.0)]];
    let measures = Measures::from_rows(1 << 30, rows).unwrap();
    let values = Problems::new(&ground, &measures, &[(0, 1)]).values(&silent).unwrap();
    assert_eq!(values, [2.0]);
}
