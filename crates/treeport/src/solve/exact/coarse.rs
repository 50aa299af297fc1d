//! Prices of the sinks from a coarse problem between representatives of the rows and columns.
//!
//! One of every four rows and columns represents those whose costs are most similar, with the mass
//! of all of them. The optimal prices of this problem extend to all sinks: a representative sink has
//! the cost + price at which it is just as good as the best one for its sources. Where costs are
//! distances such prices are good up to the distances to the representatives: where one side is
//! shifted they take a third off the pivots at 300 points a side and half at 1,200, elsewhere a third
//! at 1,200. Where rows are not similar, as in random matrices, or mass hardly moves farther than to
//! a representative, as on a grid, there is no coarse problem; a sample of rows decides.
//!
//! Not kept: *every second row* (half the pivots of every fourth at best, three times its time),
//! *every third* (as much time), *every sixth* (as much time in all), *prices from all rows instead of
//! representatives* (as many pivots), *representatives at equal distances* (clusters in R⁵⁰ that take
//! turns need 1.6 times the pivots at 600), *coarse problems on grids* (1.3 times the time at 600 and
//! 1,200), *below 500 points in the plane and in R⁵⁰* (as much time, and 1.3 times).

use super::price::{self, Cost};
use super::simplex::Simplex;
use super::{KeepGoing, SLACK, check_canceled, most_pivots};
use crate::error::Result;
use crate::numeric::wide_registers::for_wide_registers;

/// Rows per representative, and columns.
const GROUP: usize = 4;

/// Costs by which a row is compared with a representative.
const PROBES: usize = 16;

/// Fewest rows and columns for a coarse problem: at 200 it takes as long as it saves where one side
/// is shifted, at 300 it saves a quarter of the time.
const FEWEST: usize = 250;

/// Rows and columns below which only costs far above those to representatives pay.
const FEW: usize = 500;

/// Returns whether a problem of this size is worth a coarse one.
pub(super) fn pays(n: usize, m: usize) -> bool {
    n.min(m) >= FEWEST
}

/// Computes prices of the sinks; returns false where rows or columns are not similar, or if the
/// coarse problem fails.
///
/// # Errors
/// `Canceled`.
pub(super) fn prices(
    (supply, demand): (&[i128], &[i128]),
    cost: &[f64],
    out: &mut Vec<f64>,
    keep_going: &KeepGoing<'_>,
) -> Result<bool> {
    let (n, m) = (supply.len(), demand.len());
    check_canceled(keep_going)?;
    let (rows, columns) = (representatives(n), representatives(m));
    let by_row = Profiles::new(n, &rows, &columns, |i, j| cost[i * m + j]);
    if !by_row.promises(n.min(m), |i| price::smallest(&cost[i * m..(i + 1) * m])) {
        return Ok(false);
    }
    let by_column = Profiles::new(m, &columns, &rows, |j, i| cost[i * m + j]);
    let (Some(row_group), Some(column_group)) = (by_row.groups(), by_column.groups()) else {
        return Ok(false);
    };
    let (rows, supply) = with_mass(&rows, &row_group, supply);
    let (columns, demand) = with_mass(&columns, &column_group, demand);
    let few: Vec<f64> =
        rows.iter().flat_map(|i| columns.iter().map(move |j| cost[i * m + j])).collect();
    let mut simplex = Simplex::<f64>::default();
    let slack = price::largest(&few) * SLACK;
    let most = most_pivots(rows.len(), columns.len());
    if !simplex.solve_from_coarse(&supply, &demand, &few, slack, most, &|_| keep_going(None))? {
        return Ok(false);
    }
    let sinks = simplex.potentials().1;
    out.clear();
    out.resize(m, f64::NEG_INFINITY);
    for (i, few) in rows.iter().zip(few.chunks_exact(columns.len())) {
        let dual = f64::least(few, sinks);
        for (price, cost) in out.iter_mut().zip(&cost[i * m..(i + 1) * m]) {
            let least = dual - cost;
            *price = if least > *price { least } else { *price };
        }
    }
    Ok(out.iter().all(|price| price.is_finite()))
}

/// Returns one random index of every [`GROUP`]: points in order, as on a grid or with labels in
/// turn, may have any period.
fn representatives(count: usize) -> Vec<usize> {
    let any = |k: usize| (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
    (0..count / GROUP).map(|k| k * GROUP + any(k) as usize % GROUP).collect()
}

/// [`PROBES`] costs of every row by which rows are compared: all first ones, then all second ones.
struct Profiles<'a> {
    count: usize,
    of_all: Vec<f32>,
    representatives: &'a [usize],
    of_representatives: Vec<f32>,
    /// The unit of costs in profiles, which are at most 1.
    unit: f64,
}

/// The most similar representatives of some rows.
struct Nearest {
    group: Vec<usize>,
    /// Sums of the differences from these representatives and from any others.
    to_own: f32,
    to_any: f32,
}

impl<'a> Profiles<'a> {
    fn new(
        count: usize,
        representatives: &'a [usize],
        probed: &[usize],
        cost: impl Fn(usize, usize) -> f64,
    ) -> Self {
        let costs = (0..PROBES).flat_map(|probe| {
            let at = probed[probe * probed.len() / PROBES];
            (0..count).map(move |k| (k, at))
        });
        let costs: Vec<f64> = costs.map(|(k, at)| cost(k, at)).collect();
        let unit = price::largest(&costs);
        let of_all: Vec<f32> = costs.iter().map(|cost| (cost / unit) as f32).collect();
        let of_representatives = of_all
            .chunks_exact(count)
            .flat_map(|profile| representatives.iter().map(|&r| profile[r]))
            .collect();
        Self { count, of_all, representatives, of_representatives, unit }
    }

    fn nearest(&self, rows: impl Iterator<Item = usize>) -> Nearest {
        let mut distance = vec![0.0; self.representatives.len()];
        let mut found = Nearest { group: Vec::new(), to_own: 0.0, to_any: 0.0 };
        for k in rows {
            let profile: [f32; PROBES] =
                std::array::from_fn(|probe| self.of_all[probe * self.count + k]);
            distances(&profile, &self.of_representatives, &mut distance);
            let least = distance.iter().copied().fold(f32::INFINITY, f32::min);
            found.to_own += least;
            found.to_any += distance[k * 7919 % distance.len()];
            found.group.push(distance.iter().position(|&d| d == least).unwrap_or(0));
        }
        found
    }

    /// Returns whether a coarse problem is likely to save more time than it takes, by a sample of
    /// rows: they have to be similar to representatives, and mass has to move far by comparison.
    fn promises(&self, side: usize, least_cost: impl Fn(usize) -> f64) -> bool {
        let sample = || (0..SAMPLE).map(|k| k * self.count / SAMPLE);
        let Nearest { to_own, to_any, .. } = self.nearest(sample());
        let least = sample().map(least_cost).sum::<f64>();
        let own = f64::from(to_own) * self.unit / PROBES as f64;
        let far = if side < FEW { FAR_OF_FEW } else { FAR };
        to_own < SIMILAR * to_any && least > far * own
    }

    /// Returns the most similar representative of every row, or `None` where rows are hardly more
    /// similar to theirs than to any other.
    fn groups(&self) -> Option<Vec<usize>> {
        let Nearest { group, to_own, to_any } = self.nearest(0..self.count);
        (to_own < SIMILAR * to_any).then_some(group)
    }
}

/// Rows that decide whether there is a coarse problem.
const SAMPLE: usize = 32;

/// Largest ratio of the difference from the own representative to that from any other: 0.03 to 0.09
/// in the plane, 0.12 to 0.19 in clusters in R⁵⁰, 0.4 where costs are random.
const SIMILAR: f32 = 0.3;

/// Least ratio of the cheapest arc of a row to the difference from its representative: 0 between the
/// points of a grid, 1 to 1.3 in the plane, 13 to 20 in clusters in R⁵⁰, 36 to 200 where one side is
/// shifted.
const FAR: f64 = 0.5;

/// The same below [`FEW`] points.
const FAR_OF_FEW: f64 = 25.0;

for_wide_registers! {
    /// Computes the sum of the absolute differences of a profile from those of the representatives.
    distances, distances_wide, (profile: &[f32; 16], others: &[f32], out: &mut [f32]), {
        out.fill(0.0);
        for (own, others) in profile.iter().zip(others.chunks_exact(out.len())) {
            for (sum, other) in out.iter_mut().zip(others) {
                *sum += (own - other).abs();
            }
        }
    }
}

/// Returns the representatives with mass, and that mass: no proper subset of sources of the coarse
/// problem balances a subset of its sinks either.
fn with_mass(
    representatives: &[usize],
    groups: &[usize],
    masses: &[i128],
) -> (Vec<usize>, Vec<i128>) {
    let mut sums = vec![0; representatives.len()];
    groups.iter().zip(masses).for_each(|(&group, mass)| sums[group] += mass);
    representatives.iter().copied().zip(sums).filter(|group| group.1 > 0).unzip()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the k-th of some random integers below 1000.
    fn random(k: usize) -> i128 {
        let mut x = (k as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        x = (x ^ x >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        i128::from((x ^ x >> 27) % 1000)
    }

    /// Returns random sides of equal totals, no subsets of which balance, and Manhattan distances
    /// between random points in the plane, one side shifted.
    fn problem(n: usize, m: usize, shift: i128) -> (Vec<i128>, Vec<i128>, Vec<f64>) {
        let mut supply: Vec<i128> = (0..n).map(|i| 1 + random(i)).collect();
        let mut demand: Vec<i128> = (0..m).map(|j| 1 + random(n + j)).collect();
        let missing = supply.iter().sum::<i128>() - demand.iter().sum::<i128>();
        let short = if missing > 0 { &mut demand[0] } else { &mut supply[0] };
        *short += missing.abs();
        for mass in &mut supply {
            *mass = *mass * 1024 + 1;
        }
        for mass in &mut demand {
            *mass *= 1024;
        }
        demand[m - 1] += n as i128;
        let at = |k: usize, axis: usize| random(5000 + 2 * k + axis);
        let distance = |i: usize, j: usize| {
            (at(i, 0) - at(n + j, 0) - shift).abs() + (at(i, 1) - at(n + j, 1)).abs()
        };
        let cost = (0..n * m).map(|k| distance(k / m, k % m) as f64).collect();
        (supply, demand, cost)
    }

    #[test]
    fn prices_do_not_change_the_value() {
        for (n, m, shift) in [(250, 260, 2000), (330, 250, 3000), (500, 520, 0), (620, 500, 0)] {
            let (supply, demand, cost) = problem(n, m, shift);
            let mut price = Vec::new();
            let keep_going = |_| true;
            assert!(prices((&supply, &demand), &cost, &mut price, &keep_going).unwrap());
            let solve = |price: Vec<f64>| {
                let mut simplex = Simplex::default();
                let slack = price::largest(&cost) * SLACK;
                let masses = (&supply[..], &demand[..]);
                let (cost, most) = (&cost[..], most_pivots(n, m));
                assert!(simplex.solve_at(price, masses, cost, slack, most, &keep_going).unwrap());
                let value = |&(i, j, flow): &(u32, u32, i128)| {
                    flow * cost[i as usize * m + j as usize] as i128
                };
                simplex.flows.iter().map(value).sum::<i128>()
            };
            let mut plain = Vec::new();
            f64::prices(&cost, m, &mut plain);
            assert_eq!(solve(price), solve(plain), "{n} × {m}");
        }
    }

    #[test]
    fn rows_that_are_not_similar_have_no_coarse_problem() {
        let (supply, demand, _) = problem(200, 200, 0);
        let cost: Vec<f64> = (0..200 * 200).map(|k| random(k) as f64).collect();
        let mut price = Vec::new();
        assert!(!prices((&supply, &demand), &cost, &mut price, &|_| true).unwrap());
    }

    #[test]
    fn grids_have_no_coarse_problem() {
        // Between the same points on both sides some mass need not move.
        let (supply, demand, _) = problem(600, 600, 0);
        let apart = |k: usize| {
            (k % 600 % 25).abs_diff(k / 600 % 25) + (k % 600 / 25).abs_diff(k / 600 / 25)
        };
        let cost: Vec<f64> = (0..600 * 600).map(|k| apart(k) as f64).collect();
        let mut price = Vec::new();
        assert!(!prices((&supply, &demand), &cost, &mut price, &|_| true).unwrap());
    }

    #[test]
    fn equal_rows_have_no_coarse_problem() {
        let (supply, demand, _) = problem(64, 64, 0);
        for cost in [|k: u32| f64::from(k % 64), |_| 0.0] {
            let cost: Vec<f64> = (0..64 * 64).map(cost).collect();
            let mut price = Vec::new();
            assert!(!prices((&supply, &demand), &cost, &mut price, &|_| true).unwrap());
        }
    }
}
