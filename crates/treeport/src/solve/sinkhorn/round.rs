//! Rounding of a nearly feasible plan to its marginals.
//!
//! Rows and columns with too much mass are scaled down, and the missing mass is then matched
//! (Altschuler, Weed, Rigollet, *Near-linear time approximation algorithms for optimal transport
//! via Sinkhorn iteration*, 2017, where the match is the product of the missing masses; matched in
//! order of points it has n + m entries instead of nm).

use super::passes::{Block, ColumnSums, add_row, dot, dot_of_three, each_block, scale_row};

/// Kernel K with the scalings of the plan diag(u) K diag(v), its costs and its marginals.
pub(super) struct Scaled<'a> {
    pub(super) kernel: &'a mut [f64],
    pub(super) cost: &'a [f64],
    pub(super) u: &'a [f64],
    pub(super) v: &'a [f64],
    /// Row marginal.
    pub(super) a: &'a [f64],
    pub(super) b: &'a [f64],
}

/// Numbers of a rounded plan.
pub(super) struct Rounded {
    /// Error of the marginals before rounding: the larger of the two sums of absolute differences.
    pub(super) violation: f64,
    /// Cost of the rounded plan.
    pub(super) cost: f64,
}

/// Rounds a plan in two passes over its kernel, which becomes the plan if `wanted`.
pub(super) fn round(scaled: Scaled<'_>, wanted: bool, sums: &mut ColumnSums) -> Rounded {
    let Scaled { kernel, cost, u, v, a, b } = scaled;
    let width = b.len();
    let mut rows = vec![0.0; a.len()];
    // The excess of a row is known first, so one pass sums original and lowered rows.
    each_block(kernel, &mut rows, (sums, 2), width, |Block { first, table, rows, sums }| {
        let (before, after) = sums.split_at_mut(width);
        let sides = u[first..].iter().zip(&a[first..]).zip(rows);
        for (row, ((u, a), sum)) in table.chunks_exact(width).zip(sides) {
            *sum = u * dot(row, v);
            add_row(row, *u, before);
            add_row(row, u * less(*sum, *a), after);
        }
        0.0
    });
    let columns: Vec<f64> =
        sums.all.iter().zip(v.iter().chain(v)).map(|(sum, v)| sum * v).collect();
    let (before, after) = columns.split_at(width);
    let violation = differences(&rows, a).max(differences(before, b));
    let lowered = |scales: &[f64], sums: &[f64], most: &[f64]| -> Vec<f64> {
        let sides = scales.iter().zip(sums.iter().zip(most));
        sides.map(|(scale, (sum, most))| scale * less(*sum, *most)).collect()
    };
    let (u, v) = (lowered(u, &rows, a), lowered(v, after, b));
    let price =
        each_block(kernel, &mut rows, (sums, 1), width, |Block { first, table, rows, sums }| {
            let costs = cost[first * width..].chunks_exact(width);
            let sides = costs.zip(u[first..].iter().zip(rows));
            let mut price = 0.0;
            for (row, (costs, (u, sum))) in table.chunks_exact_mut(width).zip(sides) {
                // Computed before the row changes, so that the cost has the same bits with a plan
                // and without.
                *sum = u * dot(row, &v);
                price += u * dot_of_three(row, &v, costs);
                if wanted {
                    scale_row(row, *u, &v, sums);
                }
            }
            price
        });
    rows.iter_mut().zip(a).for_each(|(sum, a)| *sum = (a - *sum).max(0.0));
    let missing: Vec<f64> = after.iter().zip(b).map(|(sum, b)| (b - sum).max(0.0)).collect();
    let moves = matched(rows, missing);
    let added: f64 = moves.iter().map(|&(at, mass)| mass * cost[at]).sum();
    if wanted {
        for (at, mass) in moves {
            kernel[at] += mass;
        }
    }
    Rounded { violation, cost: price + added }
}

/// Returns the factor, at most 1, that lowers a sum to `most`.
fn less(sum: f64, most: f64) -> f64 {
    if sum > most { most / sum } else { 1.0 }
}

fn differences(sums: &[f64], masses: &[f64]) -> f64 {
    sums.iter().zip(masses).map(|(sum, mass)| (sum - mass).abs()).sum()
}

/// Matches missing masses in order; every step fills a row or a column.
fn matched(mut rows: Vec<f64>, mut columns: Vec<f64>) -> Vec<(usize, f64)> {
    let (mut i, mut j, mut moves) = (0, 0, Vec::new());
    while i < rows.len() && j < columns.len() {
        let mass = rows[i].min(columns[j]);
        if mass > 0.0 {
            moves.push((i * columns.len() + j, mass));
        }
        rows[i] -= mass;
        columns[j] -= mass;
        if rows[i] > 0.0 {
            j += 1;
        } else {
            i += 1;
        }
    }
    moves
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(
        kernel: &mut [f64],
        cost: &[f64],
        [u, v]: [&[f64]; 2],
        [a, b]: [&[f64]; 2],
        wanted: bool,
    ) -> Rounded {
        round(Scaled { kernel, cost, u, v, a, b }, wanted, &mut ColumnSums::default())
    }

    /// Sums over rows and over columns.
    fn marginals(plan: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
        let column = |j: usize| plan.iter().skip(j).step_by(m).sum();
        (plan.chunks_exact(m).map(|row| row.iter().sum()).collect(), (0..m).map(column).collect())
    }

    #[test]
    fn a_plan_with_too_much_and_too_little_gets_its_marginals() {
        let (a, b) = ([0.5, 0.3, 0.2], [0.6, 0.4]);
        let mut plan = vec![0.5, 0.1, 0.2, 0.0, 0.0, 0.1];
        let cost = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];
        let read = rounded(&mut plan, &cost, [&[1.0; 3], &[1.0; 2]], [&a, &b], false);
        assert_eq!(plan, [0.5, 0.1, 0.2, 0.0, 0.0, 0.1]);
        let made = rounded(&mut plan, &cost, [&[1.0; 3], &[1.0; 2]], [&a, &b], true);
        let violation = made.violation;
        assert_eq!(violation, read.violation);
        assert!((made.cost - dot(&plan, &cost)).abs() < 1e-14);
        assert!((made.cost - read.cost).abs() < 1e-14);
        assert!((violation - 0.3).abs() < 1e-15, "rows are off by 0.1, 0.1, 0.1: {violation}");
        let (rows, columns) = marginals(&plan, 2);
        assert!(differences(&rows, &a) < 1e-15 && differences(&columns, &b) < 1e-15);
        assert!(plan.iter().all(|&entry| entry >= 0.0));
    }

    #[test]
    fn a_right_plan_stays() {
        let mut plan = vec![0.125, 0.25, 0.25, 0.0];
        let (scales, cost) = ([&[1.0, 1.0][..], &[2.0, 1.0]], [1.0; 4]);
        let made = rounded(&mut plan, &cost, scales, [&[0.5, 0.5], &[0.75, 0.25]], true);
        assert_eq!((made.violation, made.cost), (0.0, 1.0));
        assert_eq!(plan, [0.25, 0.25, 0.5, 0.0]);
    }
}
