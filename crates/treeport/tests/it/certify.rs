//! Certificates of plans and potentials of any origin: whatever is proposed, the interval contains
//! the exact value, and an exact answer is certified as exact.

use crate::problem::{Sides, sides};
use proptest::collection::vec;
use proptest::prelude::*;
use treeport::solve::Certified;
use treeport::{
    Aim, Coupling, Error, GroundMetric, MatrixView, Measures, PointMetric, Potentials, Problem,
    Proposal, Relax, Wanted, silent, sinkhorn,
};

fn aim() -> Aim {
    Aim::exact().wanting(Wanted::Potentials)
}

/// Checks plan and potentials of a certificate, and that the exact value is in its interval.
fn check(problem: &Problem<'_>, certified: &Certified, sides: &Sides, relax: Relax) {
    let (answer, exact) = (&certified.answer, problem.value(&silent).unwrap());
    let slack = 1e-9 * exact;
    assert!(answer.lower <= exact + slack && exact <= answer.upper + slack, "{answer:?} {exact}");
    let (costs, width) = (sides.costs(), sides.b.len());
    // The plan has the marginals, and the upper bound is its cost.
    let cost = sides.cost_of(&answer.plan);
    let moved: f64 = answer.plan.mass.iter().sum();
    let total: f64 = sides.a.iter().chain(&sides.b).sum();
    let (mut paid, mut most) = (0.0, f64::INFINITY);
    if let Relax::Penalty(price) = relax {
        (paid, most) = (price * (total - 2.0 * moved), price);
    } else {
        assert!((total - 2.0 * moved).abs() <= 1e-9 * total, "{moved} {total}");
    }
    assert!((cost + paid - answer.upper).abs() <= 1e-9 * (1.0 + answer.upper), "{cost} {paid}");
    // The potentials are feasible, and the lower bound is what they prove.
    let Potentials { left, right } = answer.potentials.as_ref().unwrap();
    let sum = |masses: &[f64], duals: &[f64]| -> f64 {
        masses.iter().zip(duals).map(|(mass, dual)| mass * dual).sum()
    };
    let proved = sum(&sides.a, left) + sum(&sides.b, right);
    assert!(answer.lower <= proved.max(0.0) + 1e-9 * (1.0 + proved.abs()));
    for (at, cost) in costs.iter().enumerate() {
        assert!(left[at / width] + right[at % width] <= cost + 1e-9, "{at}");
    }
    assert!(left.iter().chain(right).all(|&dual| dual <= most + 1e-12));
}

proptest! {
    #[test]
    fn whatever_is_proposed_the_interval_contains_the_value(
        sides in sides(),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty)],
        entries in vec(prop_oneof![Just(0.0), 0.0..1.0f64, Just(1e-20), Just(40.0)], 64),
        duals in vec(-4.0..4.0f64, 16),
        shift in prop_oneof![Just(0.0), Just(1e6)],
        which in 0..4usize,
    ) {
        let (n, m) = (sides.a.len(), sides.b.len());
        let table = MatrixView::new(n, m, &entries[..n * m]).unwrap();
        let mut moves = Coupling::default();
        for at in 0..n * m {
            moves.left.push((at / m) as u32);
            moves.right.push((at % m) as u32);
            moves.mass.push(entries[at]);
        }
        let [left, right] = [&duals[..n], &duals[n..n + m]].map(|duals| -> Vec<f64> {
            duals.iter().map(|dual| dual + shift).collect()
        });
        let proposal = match which {
            0 => Proposal::default().with_table(table),
            1 => Proposal::default().with_moves(&moves).with_right(&right),
            2 => Proposal::default().with_left(&left),
            _ => Proposal::default().with_table(table).with_left(&left).with_right(&right),
        };
        sides.both(relax, |problem| {
            let certified = problem.certify(&proposal, &aim(), &silent).unwrap();
            check(problem, &certified, &sides, relax);
        });
    }

    #[test]
    fn an_exact_plan_and_its_potentials_have_no_gap(
        sides in sides(),
        relax in prop_oneof![Just(Relax::Balanced), (0.0..4.0).prop_map(Relax::Penalty)],
    ) {
        sides.both(relax, |problem| {
            let exact = problem.answer(&aim(), &silent).unwrap();
            let Potentials { left, right } = exact.potentials.as_ref().unwrap();
            let proposal = Proposal::default().with_moves(&exact.plan);
            for proposal in [
                proposal.with_left(left).with_right(right),
                proposal.with_left(left),
                proposal.with_right(right),
            ] {
                let certified = problem.certify(&proposal, &aim(), &silent).unwrap();
                check(problem, &certified, &sides, relax);
                let size = exact.upper + 1e-4;
                assert!(certified.answer.gap() <= 1e-9 * size, "{certified:?} {exact:?}");
                assert!(certified.rerouted <= 1e-12, "{certified:?}");
            }
        });
    }

    #[test]
    fn masses_may_differ_by_many_orders(
        exponents in vec(-20..20i32, 6),
        entries in vec(-25..25i32, 36),
        duals in vec(-4.0..4.0f64, 6),
    ) {
        let masses: Vec<f64> = exponents.iter().map(|&e| 10f64.powi(e)).collect();
        let mut reversed = masses.clone();
        reversed.reverse();
        let costs: Vec<f64> = (0..36u32).map(|at| f64::from((at * 7) % 11)).collect();
        let costs = MatrixView::new(6, 6, &costs).unwrap();
        let plan: Vec<f64> = entries.iter().map(|&e| 10f64.powi(e)).collect();
        let problem = Problem::between(&masses, &reversed, costs);
        let proposal = Proposal::default().with_table(MatrixView::new(6, 6, &plan).unwrap());
        let certified = problem.certify(&proposal.with_left(&duals), &aim(), &silent).unwrap();
        let Certified { answer, .. } = certified;
        if let Ok(exact) = problem.value(&silent) {
            prop_assert!(answer.lower <= exact * (1.0 + 1e-9) && exact <= answer.upper * (1.0 + 1e-9));
        }
    }
}

#[test]
fn entropic_plans_and_potentials_are_certified_on_every_ground() {
    let wave = |k: usize| ((k * 7919 + 13) % 1009) as f64 / 100.0;
    let n = 60;
    for (dim, kind) in
        [(2, PointMetric::Euclidean), (3, PointMetric::SqEuclidean), (40, PointMetric::Manhattan)]
    {
        let at: Vec<f64> = (0..2 * n * dim).map(wave).collect();
        let metric = GroundMetric::from_points(dim, at, kind).unwrap();
        let masses: Vec<f64> = (0..2 * n).map(|k| 1.0 + wave(3 * k)).collect();
        let (mut a, mut b) = (masses.clone(), masses);
        a[n..].fill(0.0);
        b[..n].fill(0.0);
        let rows = Measures::from_dense(2 * n, &[a, b].concat()).unwrap().normalized();
        let (a, b) = (rows.row(0), rows.row(1));
        let graph: Vec<_> = (0..2 * n)
            .flat_map(|i| [(i, (i + 1) % (2 * n)), (i, (i * 31 + 7) % (2 * n))])
            .filter(|(i, j)| i != j)
            .map(|(i, j)| (i, j, 1.0 + wave(i + j)))
            .collect();
        let graph = GroundMetric::from_edges(2 * n, &graph).unwrap();
        for ground in [&metric, &metric.materialized().unwrap(), &graph] {
            let problem = Problem::new(ground, &a, &b);
            let exact = problem.value(&silent).unwrap();
            let options = sinkhorn::SinkhornOptions { tolerance: 1e-3, ..Default::default() };
            let entropic = sinkhorn::solve(&problem, &options, &silent).unwrap();
            let mut duals = [vec![0.0; 2 * n], vec![0.0; 2 * n]];
            entropic.left.iter().for_each(|&(i, u)| duals[0][i] = u);
            entropic.right.iter().for_each(|&(j, v)| duals[1][j] = v);
            let proposal = Proposal::default().with_moves(&entropic.plan);
            let proposal = proposal.with_left(&duals[0]).with_right(&duals[1]);
            let Certified { answer, .. } = problem.certify(&proposal, &aim(), &silent).unwrap();
            assert!(answer.lower <= exact && exact <= answer.upper, "{answer:?} {exact}");
            assert!((answer.upper / entropic.transport_cost - 1.0).abs() < 1e-6);
            assert!(answer.lower > 0.7 * exact, "{} {exact}", answer.lower);
        }
    }
}

#[test]
fn a_bad_proposal_names_its_entry() {
    let costs = [0.0, 1.0, 1.0, 0.0];
    let problem =
        Problem::between(&[1.0, 1.0], &[1.0, 1.0], MatrixView::new(2, 2, &costs).unwrap());
    let said = |proposal: Proposal<'_>| {
        problem.certify(&proposal, &Aim::exact(), &silent).unwrap_err().to_string()
    };
    for (value, shown) in [(-1e-300, "-1e-300"), (f64::NAN, "NaN"), (f64::INFINITY, "inf")] {
        let entries = [1.0, 0.0, value, 0.0];
        let table = MatrixView::new(2, 2, &entries).unwrap();
        let error = said(Proposal::default().with_table(table));
        assert_eq!(
            error,
            format!(
                "the plan moves {shown} from point 1 to point 0; masses must be finite and at least 0"
            )
        );
        let moves = Coupling { left: vec![1], right: vec![0], mass: vec![value] };
        assert_eq!(error, said(Proposal::default().with_moves(&moves)));
    }
    let table = MatrixView::new(1, 2, &[1.0, 1.0]).unwrap();
    assert_eq!(
        said(Proposal::default().with_table(table)),
        "the plan has shape (1, 2), expected (2, 2)"
    );
    let moves = Coupling { left: vec![0], right: vec![7], mass: vec![1.0] };
    let error = said(Proposal::default().with_moves(&moves));
    assert_eq!(
        error,
        "the plan moves mass from point 0 to point 7, but there are 2 and 2 points, numbered from 0"
    );
    let error = said(Proposal::default().with_left(&[0.0]));
    assert_eq!(
        error,
        "the array of potentials of measure 0 has shape (1,), expected (2,), one for each point"
    );
    let error = said(Proposal::default().with_right(&[0.0, f64::NAN]));
    assert_eq!(
        error,
        "the potential of point 1 of measure 1 is NaN; potentials of points with mass must be finite"
    );
    assert_eq!(said(Proposal::default()), "plan is missing; give a plan, potentials, or both");
    let partial =
        Problem::between(&[1.0, 1.0], &[1.0, 1.0], MatrixView::new(2, 2, &costs).unwrap())
            .with_mass(0.5);
    let error =
        partial.certify(&Proposal::default().with_left(&[0.0, 0.0]), &Aim::exact(), &silent);
    assert!(matches!(error, Err(Error::BadOption { option: "mass", .. })), "{error:?}");
    // Potentials of points without mass are not read.
    let problem =
        Problem::between(&[2.0, 0.0], &[1.0, 1.0], MatrixView::new(2, 2, &costs).unwrap());
    let certified = problem
        .certify(&Proposal::default().with_left(&[0.0, f64::NAN]), &Aim::exact(), &silent)
        .unwrap();
    assert!(
        (certified.answer.lower - 1.0).abs() < 1e-9 && (certified.answer.upper - 1.0).abs() < 1e-9
    );
}
