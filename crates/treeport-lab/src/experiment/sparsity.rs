//! Error against the sparsity of measures: \[CTW24\], "Effect of sparse distributions".

use serde_json::json;
use treeport::baseline::{BaselineOptions, Method, Training};
use treeport::estimate::Estimator;
use treeport::{Forest, ForestOptions, GroundMetric, Labels, Measures, Norm, Progress, exact};
use treeport_report::Place;
use treeport_report::line_chart::{Axes, line_svg};
use treeport_report::score::Score;

use super::flow::{Question, flow};
use super::{Cell, Experiment, Figure, Row, Setup, Show, Table, score};
use crate::Result;
use crate::generate::{seeded, sparse_measures, uniform_points};

pub(super) const SPARSITY: Experiment = Experiment {
    name: "sparsity",
    about: "error against the share of points that have mass",
    cells,
    tables: &[Table {
        split: &["points", "labels", "test_pairs", "seed"],
        line: &["share"],
        across: Some("method"),
        show: &[("error", Show::Spread("scaled"))],
    }],
    figures,
    words: "Points in [-10, 10]², measures on a share of them; errors after one factor from the labels, which is kind to cTWD \
and qTWD. The paper's observation holds: the fewer points have mass, the larger the error of a tree. After one factor \
the methods of one tree are close to each other; with 200 labels `auto` is the best of them in most rows and an additive \
tree hardly better than the average linkage it starts from. The flow of a forest has less than half their error. The \
paper shows this as figures without numbers.",
};

/// Unseen pairs.
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
                let problem = Problem::new(n, share, labels, setup.seed, progress)?;
                problem.rows("sparsity", &METHODS, progress)
            }));
        }
    }
    cells
}

/// The methods of the paper's figure and ours; no method stands for the flow of a forest.
pub(super) const METHODS: [Option<Method>; 7] = [
    Some(Method::Ultrametric),
    Some(Method::CTwd),
    Some(Method::QTwd),
    Some(Method::Average),
    Some(Method::Additive),
    Some(Method::Auto),
    None,
];

/// Points in the plane with sparse measures.
pub(super) struct Problem {
    share: f64,
    seed: u64,
    metric: GroundMetric,
    measures: Measures,
    train: Labels,
    test: Labels,
}

impl Problem {
    pub(super) fn new(
        n: usize,
        share: f64,
        labels: usize,
        seed: u64,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut rng = seeded(seed);
        let points = uniform_points(n, 2, -10.0, 10.0, &mut rng);
        let metric = GroundMetric::from_points(2, points, Norm::Euclidean)?;
        let support = ((share * n as f64).round() as usize).clamp(1, n);
        // Test measures first: they are then the same for every number of labels.
        let measures = sparse_measures(n, support, 2 * (TEST + labels), &mut rng)?;
        let pairs: Vec<(usize, usize)> = (0..TEST + labels).map(|k| (2 * k, 2 * k + 1)).collect();
        let distances = exact::pairs(&metric, &measures, &pairs, progress)?;
        let part = |range: std::ops::Range<usize>| Labels {
            pairs: pairs[range.clone()].to_vec(),
            distances: distances[range].to_vec(),
        };
        let (test, train) = (part(0..TEST), part(TEST..TEST + labels));
        Ok(Self { share, seed, metric, measures, train, test })
    }

    pub(super) fn rows(
        &self,
        experiment: &str,
        methods: &[Option<Method>],
        progress: &Progress<'_>,
    ) -> Result<Vec<Row>> {
        let diameter = self.metric.condensed().into_iter().fold(0.0, f64::max);
        let mut rows = Vec::new();
        for method in methods {
            let (unseen, scaled) = self.answers(*method, progress)?;
            let of = |found: &[f64]| score(&Score::new(found, &self.test.distances, diameter));
            rows.push(json!({
                "experiment": experiment, "points": self.metric.points(), "share": self.share,
                "method": method.map_or("forest flow", Method::name), "seed": self.seed,
                "labels": self.train.pairs.len(), "test_pairs": self.test.pairs.len(),
                "error": of(&unseen), "scaled": of(&scaled),
            }));
        }
        Ok(rows)
    }

    /// What a method says about the test pairs: as it is, and after one factor from the labels.
    fn answers(
        &self,
        method: Option<Method>,
        progress: &Progress<'_>,
    ) -> Result<(Vec<f64>, Vec<f64>)> {
        let (metric, measures) = (&self.metric, &self.measures);
        let Some(method) = method else {
            let options = ForestOptions { seed: self.seed, ..ForestOptions::default() };
            let forest = Forest::perturbed(metric, &options, progress)?;
            let pairs = &self.test.pairs;
            let asked = Question { train: measures, labels: &self.train, test: measures, pairs };
            let estimator = Estimator::new(metric, &forest)?.by_trees_alone();
            let found = flow(estimator, &asked, progress)?;
            return Ok((found.raw, found.scaled));
        };
        let training = Training { measures, labels: &self.train };
        let options = BaselineOptions { seed: self.seed, ..BaselineOptions::default() };
        let model = method.build(metric, Some(training), &options, progress)?;
        let factor = model.factor(metric, training)?;
        let found = model.pairs(metric, measures, &self.test.pairs, progress)?;
        let scaled = found.iter().map(|d| factor * d).collect();
        Ok((found, scaled))
    }
}

fn figures(rows: &[Row]) -> Vec<Figure> {
    curves(rows, "share", "share of points with mass", "sparsity")
}

/// One chart for every number of points, with a line for every method.
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
        let axes = Axes { x: label, y: "mean relative error" };
        let lines: Vec<(&str, &[(f64, f64)])> =
            lines.iter().map(|line| (line.0.as_str(), line.1.as_slice())).collect();
        let title = format!("{n} points: mean relative error, after one factor");
        figures.push((format!("{name}-{n}.svg"), line_svg(&title, axes, &lines, Place::File)));
    }
    figures
}
