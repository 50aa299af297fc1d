//! Error by the sparsity of measures: \[CTW24\], "Effect of sparse distributions".

use serde_json::json;
use treeport::build::{PerturbedOptions, perturbed};
use treeport::{Estimator, GroundMetric, Labeled, Method, Model, PointMetric, Progress};
use treeport_report::line_chart::Axes;

use super::{Cell, Column, Experiment, Figure, Row, Setup, Table, chart, score};
use crate::Result;
use crate::answers::{Answers, as_it_is, fit_whole};
use crate::generate::{couples, seeded, sparse_measures, uniform_points};

pub(super) const SPARSITY: Experiment = Experiment {
    name: "sparsity",
    about: "error against the share of points that have mass",
    cells,
    tables: &[errors(&["points", "labels", "test_pairs", "seed"], &["share"])],
    figures,
    words: "Points in [-10, 10]², measures on a share of them; errors after one factor from the labels, which favors cTWD \
and qTWD. The paper observes that the error of a tree grows as fewer points have mass, and shows it as figures without numbers.",
};

/// Returns the table of the errors of every method side by side.
pub(super) const fn errors(split: &'static [&'static str], line: &'static [&'static str]) -> Table {
    Table { split, line, across: Some("method"), show: &[("error", Column::Spread("scaled"))] }
}

/// Test pairs.
const TEST: usize = 50;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let (sizes, shares, labels): (&[usize], &[f64], _) = if setup.quick {
        (&[60, 100], &[0.1, 1.0], 60)
    } else {
        (&[100, 500, 1000, 1500], &[0.02, 0.1, 0.25, 0.5, 0.75, 1.0], 200)
    };
    let labels = setup.labels.unwrap_or(labels);
    let mut cells = Vec::new();
    for &n in sizes {
        for &share in shares {
            let name = format!("{n} {share} {labels}");
            cells.push(Cell::new(name, move |progress| {
                let problem = PlaneScene::new(n, share, labels, setup.seed, progress)?;
                problem.rows("sparsity", &METHODS, progress)
            }));
        }
    }
    cells
}

/// Methods of the paper's figure and ours; `None` is the flow level of a forest.
pub(super) const METHODS: [Option<Method>; 8] = [
    Some(Method::Ultrametric),
    Some(Method::CTwd),
    Some(Method::QTwd),
    Some(Method::Average),
    Some(Method::Additive),
    Some(Method::Tree),
    Some(Method::Slices),
    None,
];

/// Points in the plane with sparse measures.
pub(super) struct PlaneScene {
    share: f64,
    seed: u64,
    metric: GroundMetric,
    train: Labeled,
    test: Labeled,
}

impl PlaneScene {
    pub(super) fn new(
        n: usize,
        share: f64,
        labels: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut rng = seeded(seed);
        let points = uniform_points(n, 2, -10.0, 10.0, &mut rng);
        let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
        let support = ((share * n as f64).round() as usize).clamp(1, n);
        // Test measures first, so that they do not depend on the number of labels.
        let measures = sparse_measures(n, support, 2 * (TEST + labels), &mut rng)?;
        let all = Labeled::solve(&metric, &measures, couples(TEST + labels), progress)?;
        let (test, train) = all.split_at(TEST);
        Ok(Self { share, seed, metric, train, test })
    }

    pub(super) fn rows(
        &self,
        experiment: &str,
        methods: &[Option<Method>],
        progress: &Progress<'_>,
    ) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for method in methods {
            let [plain, scaled] = self.answers(*method, progress)?.scores(&self.test);
            rows.push(json!({
                "experiment": experiment, "points": self.metric.points(), "share": self.share,
                "method": method.map_or("forest flow", Method::name), "seed": self.seed,
                "labels": self.train.len(), "test_pairs": self.test.len(),
                "error": score(&plain), "scaled": score(&scaled),
            }));
        }
        Ok(rows)
    }

    fn answers(&self, method: Option<Method>, progress: &Progress<'_>) -> Result<Answers> {
        let Self { metric, train, test, seed, .. } = self;
        let Some(method) = method else {
            let options = PerturbedOptions { seed: *seed, ..PerturbedOptions::default() };
            let forest = Model::Forest(perturbed(metric, &options, progress)?);
            let estimator = Estimator::new(metric, &forest)?.by_trees_alone();
            return Ok(Answers::of_flow(estimator, (train, test), progress)?.0);
        };
        let model = fit_whole(metric, train, &as_it_is(method, *seed), progress)?.model;
        Answers::of_model(&model, (train, test), progress)
    }
}

fn figures(rows: &[Row]) -> Vec<Figure> {
    curves(rows, "share", "share of points with mass", "sparsity")
}

/// Draws one chart per number of points, with a line per method.
pub(super) fn curves(rows: &[Row], key: &str, label: &str, name: &str) -> Vec<Figure> {
    let mut sizes: Vec<u64> = rows.iter().filter_map(|row| row["points"].as_u64()).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let mut figures = Vec::new();
    for n in sizes {
        let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
        for row in rows.iter().filter(|row| row["points"] == n) {
            let method = row["method"].as_str().unwrap_or_default();
            let at = row[key].as_f64().zip(row["scaled"]["mean"].as_f64());
            let known = lines.iter().position(|line| line.0 == method);
            let line = known.unwrap_or_else(|| {
                lines.push((method.to_owned(), Vec::new()));
                lines.len() - 1
            });
            lines[line].1.extend(at);
        }
        let title = format!("{n} points: mean relative error, after one factor");
        let axes = Axes { x: label, y: "mean relative error" };
        figures.push(chart(&format!("{name}-{n}"), &title, axes, &lines));
    }
    figures
}
