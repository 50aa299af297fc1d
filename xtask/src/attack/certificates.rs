//! Small odd instances with verifiable results: on a line the exact distance has a closed form,
//! distances satisfy the axioms of a metric, and certified bounds contain the exact distance.

use std::path::Path;

use anyhow::{Context, Result};

use super::Arena;
use super::formats::csv;
use super::process::FinishedRun;
use super::random::Random;

/// Tolerance for rounding, relative to the largest result.
const SLACK: f64 = 1e-9;
/// Rounding of masses, relative to the largest possible distance.
const ROUNDING: f64 = 1e-15;

/// Points, and measures on them.
struct Instance {
    points: Vec<Vec<f64>>,
    masses: Vec<Vec<f64>>,
}

impl Instance {
    /// Upper bound of the distance between two points.
    fn span(&self) -> f64 {
        let wide = |axis: usize| {
            let values = self.points.iter().map(|point| point[axis]);
            values.clone().fold(f64::MIN, f64::max) - values.fold(f64::MAX, f64::min)
        };
        (0..self.points[0].len()).map(wide).sum()
    }
}

/// Runs one round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let instance = drawn(random);
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("points.csv"), csv("", &instance.points))?;
    std::fs::write(folder.join("measures.csv"), csv("", &instance.masses))?;
    let count = instance.masses.len();
    let pairs = (0..count).flat_map(|i| (0..count).map(move |j| vec![i as f64, j as f64]));
    std::fs::write(folder.join("pairs.csv"), csv("left,right", &pairs.collect::<Vec<_>>()))?;
    let metric = *random.pick(&["euclidean", "manhattan"]);
    let input = format!("--points points.csv --metric {metric} --measures measures.csv");
    let input = format!("{input} --normalize --pairs pairs.csv");
    let run = |words: &str| -> Result<FinishedRun> {
        let words: Vec<String> = words.split_whitespace().map(ToString::to_string).collect();
        arena.small.free_job(&words, false, folder).run()
    };
    let ended = run(&format!("exact {input}"))?;
    let mut wrong: Vec<String> = ended.fault().into_iter().collect();
    if !ended.success() {
        // An instance may be refused with an error.
        return Ok(wrong);
    }
    let exact: Vec<f64> = rows(&ended.stdout)?.iter().map(|row| row[2]).collect();
    let rounding = ROUNDING * instance.span();
    wrong.extend(no_metric(&exact, count, rounding));
    wrong.extend(not_in_closed_form(&exact, &instance));
    for accuracy in ["tree", "flow", "arcs", "exact", "0.1"] {
        let ended = run(&format!("estimate {input} --accuracy {accuracy} --bounds --n-trees 3"))?;
        wrong.extend(ended.fault());
        if ended.success() {
            let found = out_of_bounds(&rows(&ended.stdout)?, &exact, accuracy, rounding);
            wrong.extend(found.map(|found| format!("{found} at `--accuracy {accuracy}`")));
        }
    }
    Ok(wrong.iter().map(|wrong| format!("{wrong}: `exact {input}`")).collect())
}

/// Draws a few points and measures, with ties, zeros and duplicates, in huge and tiny units.
fn drawn(random: &mut Random) -> Instance {
    let (points, measures) = (random.within(1..9), random.within(2..5));
    let dimension = random.within(1..3);
    let powers = [-150, -40, -9, 0, 0, 0, 3, 40, 150];
    let (length, mass) = (10_f64.powi(*random.pick(&powers)), 10_f64.powi(*random.pick(&powers)));
    let coarse = random.once_in(2);
    let mut value = |unit: f64| match random.below(6) {
        0 => 0.0,
        1 => unit,
        2 => unit * 1e-14,
        _ if coarse => unit * random.below(4) as f64,
        _ => unit * random.fraction(),
    };
    let rows = |count: usize, size: usize, unit: f64, value: &mut dyn FnMut(f64) -> f64| {
        (0..count).map(|_| (0..size).map(|_| value(unit)).collect()).collect::<Vec<Vec<f64>>>()
    };
    let points_at = rows(points, dimension, length, &mut value);
    let mut masses = rows(measures, points, mass, &mut value);
    for masses in &mut masses {
        masses[0] += if masses.iter().all(|m| *m == 0.0) { mass } else { 0.0 };
    }
    Instance { points: points_at, masses }
}

/// Parses the numbers of a table without its header.
fn rows(table: &[u8]) -> Result<Vec<Vec<f64>>> {
    let text = std::str::from_utf8(table)?;
    let row = |line: &str| line.split(',').map(str::parse).collect::<Result<_, _>>();
    text.lines().skip(1).map(row).collect::<Result<_, _>>().context("a table of numbers")
}

/// Returns the first violation of the axioms of a metric in a square table of distances.
fn no_metric(exact: &[f64], count: usize, rounding: f64) -> Option<String> {
    let at = |i: usize, j: usize| exact[i * count + j];
    let slack = SLACK * exact.iter().fold(0.0, |a: f64, b| a.max(*b)) + rounding;
    for i in 0..count {
        for j in 0..count {
            if (at(i, j) - at(j, i)).abs() > slack {
                return Some(format!("W({i}, {j}) = {}, W({j}, {i}) = {}", at(i, j), at(j, i)));
            }
            if i == j && at(i, j) != 0.0 {
                return Some(format!("W({i}, {i}) = {}", at(i, i)));
            }
            for k in 0..count {
                if at(i, k) > at(i, j) + at(j, k) + slack {
                    return Some(format!("W({i}, {k}) is beyond the way over {j}"));
                }
            }
        }
    }
    None
}

/// Compares with the closed form on a line, the area between the two distribution functions.
fn not_in_closed_form(exact: &[f64], instance: &Instance) -> Option<String> {
    if instance.points[0].len() > 1 {
        return None;
    }
    let mut order: Vec<usize> = (0..instance.points.len()).collect();
    order.sort_by(|&a, &b| instance.points[a][0].total_cmp(&instance.points[b][0]));
    let share = |masses: &[f64]| -> Vec<f64> {
        let total: f64 = masses.iter().sum();
        masses.iter().map(|mass| mass / total).collect()
    };
    let shares: Vec<Vec<f64>> = instance.masses.iter().map(|masses| share(masses)).collect();
    let (count, place) = (shares.len(), |p: usize| instance.points[p][0]);
    for (k, found) in exact.iter().enumerate() {
        let (a, b) = (&shares[k / count], &shares[k % count]);
        let (mut above, mut area) = (0.0, 0.0);
        for step in order.windows(2) {
            above += a[step[0]] - b[step[0]];
            area += f64::abs(above) * (place(step[1]) - place(step[0]));
        }
        if (found - area).abs() > SLACK * instance.span() {
            return Some(format!("W({}, {}) = {found}, not {area}", k / count, k % count));
        }
    }
    None
}

/// Returns the first row whose bounds do not contain the exact distance.
fn out_of_bounds(
    rows: &[Vec<f64>],
    exact: &[f64],
    accuracy: &str,
    rounding: f64,
) -> Option<String> {
    if rows.len() != exact.len() {
        return Some(format!("{} rows for {} pairs", rows.len(), exact.len()));
    }
    let largest = exact.iter().fold(0.0, |a: f64, b| a.max(*b));
    rows.iter().zip(exact).find_map(|(row, exact)| {
        let [left, right, distance, lower, upper] = row[..] else {
            return Some(format!("a row of {} cells", row.len()));
        };
        let slack = 1e-12 * largest + rounding;
        let held = lower <= exact + slack && *exact <= upper + slack;
        let allowed = accuracy.parse().map_or(f64::INFINITY, |allowed: f64| allowed * exact);
        let near = (distance - exact).abs() <= allowed + slack;
        (!held || !near)
            .then(|| format!("W({left}, {right}) = {exact}, said {distance} in [{lower}, {upper}]"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_answers_are_found() {
        assert_eq!(no_metric(&[0.0, 1.0, 1.0, 0.0], 2, 0.0), None);
        assert!(no_metric(&[0.0, 1.0, 2.0, 0.0], 2, 0.0).is_some());
        assert!(no_metric(&[0.5, 1.0, 1.0, 0.0], 2, 0.0).is_some());
        let detour = [0.0, 1.0, 9.0, 1.0, 0.0, 1.0, 9.0, 1.0, 0.0];
        assert!(no_metric(&detour, 3, 0.0).is_some_and(|found| found.contains("the way over 1")));
        let line = Instance {
            points: vec![vec![0.0], vec![4.0], vec![1.0]],
            masses: vec![vec![1.0, 0.0, 0.0], vec![0.0, 2.0, 2.0]],
        };
        assert_eq!(not_in_closed_form(&[0.0, 2.5, 2.5, 0.0], &line), None);
        assert!(not_in_closed_form(&[0.0, 2.0, 2.5, 0.0], &line).is_some());
    }

    #[test]
    fn bounds_have_to_hold() {
        let row = |lower, upper| vec![vec![0.0, 1.0, 2.0, lower, upper]];
        assert_eq!(out_of_bounds(&row(1.0, 3.0), &[2.5], "flow", 0.0), None);
        assert!(out_of_bounds(&row(1.0, 2.0), &[2.5], "flow", 0.0).is_some());
        assert!(out_of_bounds(&row(1.0, 3.0), &[2.5], "0.1", 0.0).is_some());
        assert!(out_of_bounds(&[], &[2.5], "flow", 0.0).is_some());
    }

    #[test]
    fn instances_have_mass_everywhere() {
        for round in 0..500 {
            let instance = drawn(&mut Random::new(4, round));
            assert!(instance.masses.iter().all(|row| row.iter().sum::<f64>() > 0.0));
        }
    }
}
