//! Solver for the problem of [`solver`](super::solver) with many edges and few iterations:
//! projected gradients with momentum, which restarts where it leads uphill (Nesterov 1983;
//! O'Donoghue, Candès 2015).
//!
//! Conjugate gradients stop at the first edge that reaches 0. Among the edges of a forest one
//! always does, so their first hundred steps make almost no progress; here all of these edges stop
//! at 0 in one step. The solver never reaches the last digits, but these would only overfit the
//! training labels.

use super::solver::{BoundedLeastSquares, largest_curvature};
use crate::error::{Error, Result};
use crate::progress::{Progress, State};

/// Runs `steps` steps from `start`.
pub(super) fn descend(
    problem: &BoundedLeastSquares<'_>,
    start: &[f64],
    steps: usize,
    (task, progress): (&'static str, &Progress<'_>),
) -> Result<Vec<f64>> {
    let scale = problem.scale();
    // One direction, in which all edges grow, has far more curvature than any other.
    let step = 1.0 / largest_curvature(problem, &scale, 1e-3);
    // In units of the columns: an edge is y times its scale.
    let mut y: Vec<f64> =
        start.iter().zip(&scale).map(|(x, s)| if *s > 0.0 { x / s } else { 0.0 }).collect();
    let mut ahead = y.clone();
    let mut momentum = 1.0_f64;
    for done in 1..=steps {
        let gradient = problem.gradient(&ahead, &scale);
        let (mut next, mut upwards) = (Vec::with_capacity(y.len()), 0.0);
        for v in 0..y.len() {
            next.push((ahead[v] - step * gradient[v]).max(0.0));
            upwards += (ahead[v] - next[v]) * (next[v] - y[v]);
        }
        let grown = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let (share, later) =
            if upwards > 0.0 { (0.0, 1.0) } else { ((momentum - 1.0) / grown, grown) };
        ahead = next.iter().zip(&y).map(|(next, y)| next + share * (next - y)).collect();
        (y, momentum) = (next, later);
        if !progress(&State::new(task, done, None)) {
            return Err(Error::Canceled);
        }
    }
    Ok(y.iter().zip(&scale).map(|(y, s)| y * s).collect())
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::fit::edges::design::Design;
    use crate::measures::Measures;
    use crate::progress::silent;
    use crate::tree::Tree;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Two shapes over six points, with measures on all of them or on few.
        #[test]
        fn with_steps_enough_no_edge_would_move(
            masses in prop_oneof![
                vec(0.01..1.0, 48),
                vec(prop_oneof![4 => Just(0.0), 1 => 0.01..1.0], 48),
            ],
            target in vec(0.5..2.0, 4),
            towards in vec(prop_oneof![Just(0.0), 0.0..1.0], 22),
            shrinkage in 0.1..1.0,
        ) {
            let trees = [
                Tree::from_newick("(((0:1,1:1):1,2:1):1,((3:1,4:1):1,5:1):1);").unwrap(),
                Tree::from_newick("(((0:1,5:1):1,(1:1,3:1):1):1,(2:1,4:1):1);").unwrap(),
            ];
            // Every measure has mass at some point.
            let mass = |(k, m): (usize, &f64)| if k % 6 == k / 6 % 6 { m + 1.0 } else { *m };
            let masses: Vec<f64> = masses.iter().enumerate().map(mass).collect();
            let measures = Measures::from_dense(6, &masses).unwrap().normalized();
            let pairs = [(0, 1), (2, 3), (4, 5), (6, 7)];
            let factors = [1.0, 2.0, 0.5, 1.0];
            let design = Design::several(&trees, &measures, &pairs, &factors).unwrap();
            // The rows of the separate trees.
            let alone = trees.iter().zip(towards.chunks(11)).map(|(tree, x)| {
                Design::surpluses(tree, &measures, &pairs, &factors).unwrap().apply(x)
            });
            let alone: Vec<Vec<f64>> = alone.collect();
            for (row, sum) in design.apply(&towards).iter().enumerate() {
                prop_assert!((sum - alone[0][row] - alone[1][row]).abs() < 1e-6 * (1.0 + sum));
            }
            let problem =
                BoundedLeastSquares { design: &design, target: &target, lambda: 0.0, shrinkage, towards: &towards };
            let x = descend(&problem, &towards, 500, ("", &silent)).unwrap();
            let slope = problem.gradient(&x, &vec![1.0; x.len()]);
            for (x, slope) in x.iter().zip(slope) {
                prop_assert!(*x >= 0.0 && (x - (x - slope).max(0.0)).abs() < 1e-7, "{} {}", x, slope);
            }
        }
    }
}
