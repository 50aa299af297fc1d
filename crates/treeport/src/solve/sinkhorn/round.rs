//! From a nearly right plan to one with the two marginals.
//!
//! Rows and columns with too much are scaled down, and what is then missing is matched (Altschuler,
//! Weed, Rigollet, *Near-linear time approximation algorithms for optimal transport via Sinkhorn
//! iteration*, 2017, where the match is the product of the missing masses; in order of points it
//! has n + m entries, not nm).

/// Rounds the plan, row after row, and returns how far its marginals were from `a` and `b`: the
/// larger of the two sums of absolute differences.
pub(super) fn round(plan: &mut [f64], a: &[f64], b: &[f64]) -> f64 {
    let (mut rows, mut columns) = marginals(plan, b.len());
    let violation = differences(&rows, a).max(differences(&columns, b));
    for (row, (sum, a)) in plan.chunks_exact_mut(b.len()).zip(rows.iter().zip(a)) {
        if sum > a {
            for entry in row {
                *entry *= a / sum;
            }
        }
    }
    (_, columns) = marginals(plan, b.len());
    columns.iter_mut().zip(b).for_each(|(sum, b)| *sum = if *sum > *b { b / *sum } else { 1.0 });
    for row in plan.chunks_exact_mut(b.len()) {
        row.iter_mut().zip(&columns).for_each(|(entry, scale)| *entry *= scale);
    }
    (rows, columns) = marginals(plan, b.len());
    rows.iter_mut().zip(a).for_each(|(sum, a)| *sum = (a - *sum).max(0.0));
    columns.iter_mut().zip(b).for_each(|(sum, b)| *sum = (b - *sum).max(0.0));
    fill(plan, &mut rows, &mut columns);
    violation
}

/// Sums over rows and over columns.
fn marginals(plan: &[f64], m: usize) -> (Vec<f64>, Vec<f64>) {
    let mut columns = vec![0.0; m];
    let rows = plan.chunks_exact(m).map(|row| {
        columns.iter_mut().zip(row).for_each(|(sum, entry)| *sum += entry);
        row.iter().sum()
    });
    (rows.collect(), columns)
}

fn differences(sums: &[f64], masses: &[f64]) -> f64 {
    sums.iter().zip(masses).map(|(sum, mass)| (sum - mass).abs()).sum()
}

/// Matches missing masses in order: every step fills a row or a column.
fn fill(plan: &mut [f64], rows: &mut [f64], columns: &mut [f64]) {
    let (mut i, mut j) = (0, 0);
    while i < rows.len() && j < columns.len() {
        let mass = rows[i].min(columns[j]);
        plan[i * columns.len() + j] += mass;
        rows[i] -= mass;
        columns[j] -= mass;
        if rows[i] > 0.0 {
            j += 1;
        } else {
            i += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_with_too_much_and_too_little_gets_its_marginals() {
        let (a, b) = ([0.5, 0.3, 0.2], [0.6, 0.4]);
        let mut plan = vec![0.5, 0.1, 0.2, 0.0, 0.0, 0.1];
        let violation = round(&mut plan, &a, &b);
        assert!((violation - 0.3).abs() < 1e-15, "rows are off by 0.1, 0.1, 0.1: {violation}");
        let (rows, columns) = marginals(&plan, 2);
        assert!(differences(&rows, &a) < 1e-15 && differences(&columns, &b) < 1e-15);
        assert!(plan.iter().all(|&entry| entry >= 0.0));
    }

    #[test]
    fn a_right_plan_stays() {
        let mut plan = vec![0.25, 0.25, 0.5, 0.0];
        assert_eq!(round(&mut plan, &[0.5, 0.5], &[0.75, 0.25]), 0.0);
        assert_eq!(plan, [0.25, 0.25, 0.5, 0.0]);
    }
}
