//! One large problem beside an easier one of the same size: a mixture of scales beside a plain
//! problem, the cost matrix beside its coordinates, bounds beside the value.

use std::hint::black_box;
use std::time::Instant;

use rand::RngExt;
use treeport::{Aim, GroundMetric, MatrixView, Measures, PointMetric, Problem, Wanted, silent};

use super::{Peer, Row, is_wanted, on_threads};
use crate::Result;
use crate::generate::{clustered_points, seeded, uniform_points};

/// Points: their name, the number of coordinates, and the offset of the second side.
const KINDS: [(&str, usize, f64); 4] =
    [("plane", 2, 0.0), ("shifted", 2, 2.0), ("R3", 3, 0.0), ("R30", 30, 0.0)];

/// Mixtures: the scales of every third of the points. In the first one a single point is far away.
const MIXTURES: [(&str, [f64; 3]); 4] = [
    ("one at 1e9", [1.0, 1.0, 1.0]),
    ("a third over 1e3", [1.0, 1.0, 1e3]),
    ("a third over 1e9", [1.0, 1.0, 1e9]),
    ("1, 1e3, 1e9", [1.0, 1e3, 1e9]),
];

/// Rounds in which the two problems of a row alternate.
const TURNS: usize = 3;

/// Largest number of sources times sinks for a cost matrix.
const MOST_IN_MATRIX: usize = 1 << 27;

/// Relative width of bounds.
const WIDTH: f64 = 0.01;

/// Times the value of every plain problem, and of what is compared with it: mixtures of scales, its
/// cost matrix, bounds. The peer of a row is the harder problem. One thread, the
/// best of a few runs.
pub fn mixed(n: usize, sets: &[String], seed: u64, mut report: impl FnMut(&Row)) -> Result<()> {
    for (kind, dim, offset) in KINDS.into_iter().filter(|kind| is_wanted(kind.0, sets)) {
        for masses in ["equal", "random"] {
            let shape = Shape { n, dim, offset, masses, seed };
            let case = vec![("set", kind.to_owned()), ("masses", masses.to_owned())];
            on_threads(1, || rows(&shape, &case))?.iter().for_each(&mut report);
        }
    }
    Ok(())
}

/// What is drawn.
struct Shape {
    n: usize,
    dim: usize,
    offset: f64,
    masses: &'static str,
    seed: u64,
}

/// Two measures on points of one metric.
struct Drawn {
    metric: GroundMetric,
    measures: Measures,
}

impl Shape {
    /// Draws a problem whose points are multiplied by these scales, one after the other.
    fn draw(&self, scales: [f64; 3], with_far_point: bool) -> Result<Drawn> {
        let Self { n, dim, offset, masses, seed } = *self;
        let rng = &mut seeded(seed);
        let mut points = match dim {
            0..=8 => uniform_points(2 * n, dim, 0.0, 1.0, rng),
            _ => clustered_points(2 * n, dim, 10, rng),
        };
        for (at, point) in points.chunks_exact_mut(dim).enumerate() {
            point[0] += if at < n { 0.0 } else { offset };
            let scale = scales[at % 3];
            for x in point {
                *x *= scale;
            }
        }
        if with_far_point {
            points[0] = 1e9;
        }
        let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean)?;
        let mut mass = || if masses == "equal" { 1.0 } else { rng.random_range(0.001..1.0) };
        let rows = [0, n].map(|first| (first..first + n).map(|p| (p, mass())).collect::<Vec<_>>());
        Ok(Drawn { metric, measures: Measures::from_rows(2 * n, rows)?.normalized() })
    }
}

impl Drawn {
    /// Solves to this relative width; 0 for the value.
    fn solve(&self, width: f64) -> Result<f64> {
        let problem = Problem::new(&self.metric, &self.measures.row(0), &self.measures.row(1));
        let answer = problem.answer(&Aim::within(width).wanting(Wanted::Value), &silent)?;
        Ok(answer.upper)
    }

    /// Returns the costs of all pairs.
    fn costs(&self) -> Vec<f64> {
        let n = self.metric.points() / 2;
        (0..n * n).map(|at| self.metric.distance(at / n, n + at % n)).collect()
    }
}

fn rows(shape: &Shape, case: &[(&'static str, String)]) -> Result<Vec<Row>> {
    let (n, mut rows) = (shape.n, Vec::new());
    let plain = shape.draw([1.0; 3], false)?;
    let mut row = |asked: &str, harder: &str, jobs: [&dyn Fn() -> Result<f64>; 2]| -> Result<()> {
        let mut case = case.to_vec();
        case.extend([("asked", asked.to_owned()), ("peer", harder.to_owned())]);
        let [seconds, peer] = fastest(jobs)?;
        let peer = Some(Peer { name: "harder", seconds: peer });
        rows.push(Row { bench: "mixed", n, case, seconds, peer, more: vec![] });
        Ok(())
    };
    let (value, bounds) = (|| plain.solve(0.0), || plain.solve(WIDTH));
    row("value", "bounds", [&value, &bounds])?;
    if n * n <= MOST_IN_MATRIX {
        let entries = plain.costs();
        let [a, b] = [0, 1].map(|side| plain.measures.row(side).masses().to_vec());
        let matrix = || {
            let view = MatrixView::new(n, n, &entries)?;
            Problem::between(&a, &b, view).value(&silent)
        };
        row("value", "matrix", [&value, &matrix])?;
    }
    for (at, (name, scales)) in MIXTURES.into_iter().enumerate() {
        let mixed = shape.draw(scales, at == 0)?;
        row("value", name, [&value, &|| mixed.solve(0.0)])?;
        row("bounds", name, [&bounds, &|| mixed.solve(WIDTH)])?;
    }
    Ok(rows)
}

/// Runs two jobs in turns; returns the fewest seconds of each.
fn fastest(jobs: [&dyn Fn() -> Result<f64>; 2]) -> Result<[f64; 2]> {
    let mut seconds = [f64::INFINITY; 2];
    for _ in 0..TURNS {
        for at in 0..2 {
            let begun = Instant::now();
            black_box(jobs[at]()?);
            seconds[at] = seconds[at].min(begun.elapsed().as_secs_f64());
        }
    }
    Ok(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_harder_problem_has_a_row() {
        let mut rows = vec![];
        mixed(40, &["plane".into()], 1, |row| rows.push(row.clone())).unwrap();
        assert_eq!(rows.len(), 2 * (2 + 2 * MIXTURES.len()));
        assert!(rows.iter().all(|row| row.ratio().is_some_and(|ratio| ratio > 0.0)));
    }
}
