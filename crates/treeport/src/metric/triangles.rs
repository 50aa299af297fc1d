//! Test of the triangle inequality for distances that are said to be a metric.

use rand::RngExt;

use crate::error::{Error, Result};
use crate::numeric::seed::generator;

/// Up to this number of points all triangles are tested: 161,700.
const ALL: usize = 100;

/// Random triangles tested for more points.
const DRAWN: usize = 200_000;

/// Rows whose longest distance is compared with the paths over every other point.
const ROWS: usize = 64;

/// Tolerance, relative to the longest side: distances may have few digits.
const SLACK: f64 = 1e-6;

/// Checks that no tested triangle of `n` points violates the triangle inequality.
pub(super) fn check(n: usize, distance: impl Fn(usize, usize) -> f64) -> Result<()> {
    let triangle = |i: usize, j: usize, k: usize| {
        // Each point in turn is between the other two.
        for (i, j, k) in [(i, j, k), (i, k, j), (j, k, i)] {
            let (direct, around) = (distance(i, j), distance(i, k) + distance(k, j));
            if direct * (1.0 - SLACK) > around {
                return Err(Error::NotMetric { i, j, k, direct, around });
            }
        }
        Ok(())
    };
    if n <= ALL {
        for i in 0..n {
            for j in i + 1..n {
                (j + 1..n).try_for_each(|k| triangle(i, j, k))?;
            }
        }
        return Ok(());
    }
    for i in (0..n).step_by(n.div_ceil(ROWS)) {
        let farthest = (0..n).max_by(|&j, &k| distance(i, j).total_cmp(&distance(i, k)));
        let j = farthest.expect("there are points");
        (0..n).filter(|&k| k != i && k != j).try_for_each(|k| triangle(i, j, k))?;
    }
    let mut rng = generator(0);
    for _ in 0..DRAWN {
        let [i, j, k] = [(); 3].map(|()| rng.random_range(0..n));
        if i != j && j != k && i != k {
            triangle(i, j, k)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(i: usize, j: usize) -> f64 {
        i.abs_diff(j) as f64
    }

    #[test]
    fn a_metric_passes_and_rounding_too() {
        for n in [1, 2, 3, 50, 300] {
            assert!(check(n, line).is_ok());
            assert!(check(n, |i, j| f64::from(line(i, j) as f32 / 3.0)).is_ok());
        }
    }

    #[test]
    fn one_wrong_distance_among_few_points_is_named() {
        let wrong =
            |i: usize, j: usize| if i.min(j) == 7 && i.max(j) == 9 { 2.1 } else { line(i, j) };
        let error = check(40, wrong).unwrap_err().to_string();
        assert_eq!(
            error,
            "the distances are promised to obey the triangle inequality, but d(7,9) = 2.1 is more than d(7,8) + d(8,9) = 2; leave the promise out, or give shortest paths in their place"
        );
    }

    #[test]
    fn squares_and_one_far_off_distance_of_many_points_are_noticed() {
        assert!(matches!(check(5000, |i, j| line(i, j).powi(2)), Err(Error::NotMetric { .. })));
        // Point 0 is one of the tested rows.
        let far =
            |i: usize, j: usize| if i.min(j) == 0 && i.max(j) == 77 { 1e6 } else { line(i, j) };
        assert!(matches!(check(5000, far), Err(Error::NotMetric { i: 0, j: 77, .. })));
    }
}
