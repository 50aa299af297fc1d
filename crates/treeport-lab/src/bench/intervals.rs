//! Certified intervals compared with the exact solver: cost, width, and error of the value.

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use treeport::accuracy::{Accuracy, Level};
use treeport::estimate::{CertifiedEstimate, Estimator};
use treeport::{
    GroundMetric, Labeled, Linkage, Measures, Model, PointMetric, Problem, linkage, silent,
};

use super::{Peer, Row, is_wanted, on_threads};
use crate::Result;
use crate::datasets;
use crate::generate::{couples, near_measures, seeded, sparse_measures, uniform_points};

/// Points in the plane.
const PLANE: usize = 5_000;

/// Pairs for calibration, and as many for evaluation.
const PAIRS: usize = 40;

/// Repetitions; levels alternate, so that noise affects all alike.
const TURNS: usize = 5;

/// Times random measures of one support on the plane and on every data set that has enough points,
/// and concentrated ones on sets with twice as many; on one thread.
///
/// # Panics
/// If an interval does not contain the exact distance.
pub fn intervals(
    support: usize,
    (data, sets): (&Path, &[String]),
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    let mut rng = seeded(seed);
    let plane = uniform_points(PLANE, 2, 0.0, 1.0, &mut rng);
    let plane = GroundMetric::from_points(2, plane, PointMetric::Euclidean)?;
    let found = datasets::find(data);
    let mut metrics = vec![("plane", plane)];
    for set in found.present.iter().filter(|set| is_wanted(set.name, sets)) {
        let metric = set.metric()?;
        metric.prepare(&silent)?;
        metrics.push((set.name, metric));
    }
    for (name, metric) in metrics.iter().filter(|(name, _)| is_wanted(name, sets)) {
        // On a slightly larger set, measures cover nearly all points.
        if metric.points() < support {
            continue;
        }
        let random = sparse_measures(metric.points(), support, 4 * PAIRS, &mut rng)?;
        let around = (2 * support).min(metric.points());
        let near = near_measures(metric, (support, around), 4 * PAIRS, &mut rng)?;
        for (kind, measures) in [("random", random), ("concentrated", near)] {
            if kind == "random" || metric.points() >= 2 * support {
                on_threads(1, || rows(name, kind, metric, &measures))?.iter().for_each(&mut report);
            }
        }
    }
    Ok(())
}

/// Accuracies that are timed besides the exact distance.
const ASKED: [(&str, Accuracy); 3] = [
    ("arcs", Accuracy::Level(Level::Arcs)),
    ("within 0.1", Accuracy::Within(0.1)),
    ("within 0.05", Accuracy::Within(0.05)),
];

fn rows(name: &str, kind: &str, metric: &GroundMetric, measures: &Measures) -> Result<Vec<Row>> {
    let pairs = couples(2 * PAIRS);
    let (train, test) = pairs.split_at(PAIRS);
    let train = Labeled::solve(metric, measures, train.to_vec(), &silent)?;
    let model = Model::Tree(linkage(metric, Linkage::Neighbors, &treeport::silent)?);
    let estimator = Estimator::new(metric, &model)?.calibrated(Level::Arcs, &train, &silent)?;
    let truth = Labeled::solve(metric, measures, test.to_vec(), &silent)?;
    let (mut exact_seconds, mut seconds) = (0.0, [0.0; ASKED.len()]);
    let mut figures = [[0.0; 3]; ASKED.len()];
    for _ in 0..TURNS {
        let begun = Instant::now();
        for &(i, j) in test {
            black_box(Problem::new(metric, &measures.row(i), &measures.row(j)).value(&silent)?);
        }
        exact_seconds += begun.elapsed().as_secs_f64();
        for (k, (_, accuracy)) in ASKED.iter().enumerate() {
            // Warm up what is computed once for all pairs.
            estimator.answers(*accuracy, measures, &test[..1], &silent)?;
            let begun = Instant::now();
            let answers = estimator.answers(*accuracy, measures, test, &silent)?;
            seconds[k] += begun.elapsed().as_secs_f64();
            figures[k] = judged(&answers, truth.distances());
        }
    }
    let share = (PAIRS * TURNS) as f64;
    let row = |k: usize| Row {
        bench: "intervals",
        n: measures.row(0).support().len(),
        case: vec![
            ("set", format!("{name}, {kind}")),
            ("points", metric.points().to_string()),
            ("asked", ASKED[k].0.into()),
        ],
        seconds: seconds[k] / share,
        peer: Some(Peer { name: "exact", seconds: exact_seconds / share }),
        more: FIGURES.into_iter().zip(figures[k]).collect(),
    };
    Ok((0..ASKED.len()).map(row).collect())
}

const FIGURES: [&str; 3] = ["width", "error", "solved"];

/// Returns mean widths of intervals, mean relative errors of values, and the share solved.
fn judged(answers: &[CertifiedEstimate], truth: &[f64]) -> [f64; 3] {
    let mut sums = [0.0; 3];
    for (CertifiedEstimate { value, interval, level }, &truth) in answers.iter().zip(truth) {
        assert!(interval.lower <= truth && truth <= interval.upper, "{interval:?} {truth}");
        sums[0] += interval.width();
        sums[1] += if truth > 0.0 { (value - truth).abs() / truth } else { 0.0 };
        sums[2] += if *level == Level::Exact { 1.0 } else { 0.0 };
    }
    sums.map(|sum| sum / answers.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_a_row() {
        let mut rows = vec![];
        let nowhere = Path::new("no such folder");
        intervals(70, (nowhere, &[]), 1, |row| rows.push(row.clone())).unwrap();
        assert_eq!(rows.len(), 2 * ASKED.len());
        for row in &rows {
            let figure = |name: &str| row.more.iter().find(|(known, _)| *known == name).unwrap().1;
            assert!(row.seconds > 0.0 && row.ratio().is_some());
            assert!(figure("width") < 0.2 && figure("error") < 0.02, "{row:?}");
        }
    }
}
