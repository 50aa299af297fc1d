//! The demo: the complete workflow on a built-in data set of 200 cities.
//!
//! A measure is a region: the people of the cities around a random center, with great-circle
//! distances as ground metric. Models are fitted to exact distances of some pairs and compared with
//! exact distances of other regions, in error and time.

mod regions;

use std::time::Instant;

use treeport::labeled::total_variation;
use treeport::progress::State;
use treeport::{
    Fit, FitOptions, GroundMetric, Labeled, Linkage, Measure, Method, Progress, Result, Score,
    Tree, fit, linkage, silent,
};

use crate::cities::{City, cities, condensed_distances};
use crate::comparison::{Comparison, Contender, Judge};
use crate::report::{self, NeighborSearch, Report, Test, projected};
use crate::sample::{random_pairs, seeded};

pub use regions::regional_measures;

/// Numbers of regions and of pairs for training and for testing.
const TRAINING: (usize, usize) = (200, 2_000);
const TESTS: (usize, usize) = (100, 500);

/// The cities, the regions and their exact distances.
#[derive(Clone, Debug)]
pub struct Demo {
    /// The points.
    pub cities: Vec<City>,
    /// Great-circle distances in km.
    pub metric: GroundMetric,
    /// Regions for training.
    pub training: Labeled,
    /// Regions for testing.
    pub test: Labeled,
}

/// The models of the demo.
#[derive(Clone, Debug, PartialEq)]
pub struct Models {
    /// The learned tree.
    pub tree: Fit,
    /// The best model, which `treeport fit` finds without options.
    pub best: Fit,
    /// Seconds that each took.
    seconds: [f64; 2],
}

/// A line of the demo's table.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// The predictor.
    pub name: &'static str,
    /// Score of the predictor.
    pub score: Score,
}

impl Demo {
    /// Number of pairs to solve exactly.
    pub const PAIRS: usize = TRAINING.1 + TESTS.1;

    /// Draws the regions and solves the pairs; `progress` counts pairs and may cancel.
    pub fn new(seed: u64, progress: &Progress<'_>) -> Result<Self> {
        let cities = cities();
        let distances = condensed_distances(&cities);
        let metric = GroundMetric::from_condensed(cities.len(), distances)?.assume_metric()?;
        let mut rng = seeded(seed);
        let mut labeled = |(regions, pairs): (usize, usize), before: usize| {
            let measures = regional_measures(&cities, regions, &mut rng)?;
            let pairs = random_pairs(pairs, regions, &mut rng)?;
            let of_all = |state: &State<'_>| progress(&state.after(before, Self::PAIRS));
            Labeled::solve(&metric, &measures, pairs, &of_all)
        };
        let (training, test) = (labeled(TRAINING, 0)?, labeled(TESTS, TRAINING.1)?);
        Ok(Self { cities, metric, training, test })
    }

    /// Builds the tree from which learning starts.
    pub fn start(&self) -> Result<Tree> {
        linkage(&self.metric, Linkage::Average, &treeport::silent)
    }

    /// Fits a tree and the best model to the training pairs, as `treeport fit` does.
    pub fn learn(&self, seed: u64, progress: &Progress<'_>) -> Result<Models> {
        let fit_by = |method| {
            let begun = Instant::now();
            let options = FitOptions { seed, ..FitOptions::of(method) };
            let fitted = fit(&self.metric, Some(&self.training), &options, progress)?;
            let names = self.cities.iter().map(|city| city.name.to_owned()).collect();
            let fitted = Fit { model: fitted.model.with_names(names)?, ..fitted };
            Ok((fitted, begun.elapsed().as_secs_f64()))
        };
        let ((tree, for_tree), (best, for_best)) = (fit_by(Method::Tree)?, fit_by(Method::Auto)?);
        Ok(Models { tree, best, seconds: [for_tree, for_best] })
    }

    /// Compares the models, other methods and the exact solver on the test pairs, in error and
    /// time.
    pub fn compare(&self, models: &Models, progress: &Progress<'_>) -> Result<Comparison> {
        let judge =
            Judge { metric: &self.metric, train: &self.training, test: &self.test, seed: 0 };
        let others = [Method::Average, Method::CTwd].map(Contender::Fit);
        let mut rows = Vec::new();
        for other in others.iter().chain(&[Contender::Exact]) {
            rows.extend(judge.rows(*other, progress)?);
        }
        for (method, fitted, seconds) in [
            (Method::Tree, &models.tree, models.seconds[0]),
            (Method::Auto, &models.best, models.seconds[1]),
        ] {
            let contender = Contender::Fit(method);
            rows.push(judge.of_model(contender, &fitted.model, seconds, progress)?);
        }
        Ok(Comparison::new(&judge, rows))
    }

    /// Scores the models, the start of the tree and the two null baselines on the test pairs.
    pub fn table(&self, models: &Models) -> Result<Vec<Line>> {
        let (train, test) = (&self.training, &self.test);
        let [mean, variation] = train.null_baselines().map(|baseline| baseline.constant);
        let row = |r: usize| test.measures().row(r);
        let variations = test.pairs().iter().map(|&(i, j)| total_variation(&row(i), &row(j)));
        let start = self.start()?;
        let factor = train.factor(&start.pairs(train.measures(), train.pairs(), &silent)?);
        let starts = start.pairs(test.measures(), test.pairs(), &silent)?;
        let predictions = [
            ("mean of the training labels", vec![mean; test.len()]),
            ("constant × total variation", variations.map(|v| variation * v).collect()),
            ("start: average linkage × constant", starts.iter().map(|d| factor * d).collect()),
            (TREE, models.tree.model.pairs(test.measures(), test.pairs(), &silent)?),
            (BEST, models.best.model.pairs(test.measures(), test.pairs(), &silent)?),
        ];
        let line = |(name, predicted): (_, Vec<f64>)| Line { name, score: test.score(&predicted) };
        Ok(predictions.into_iter().map(line).collect())
    }

    /// Names a region by its largest city.
    fn region_name(&self, region: &Measure<'_>) -> String {
        let largest = region.iter().max_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(city, _)| city);
        match region.support().len() {
            1 => self.cities[largest].name.to_owned(),
            cities => format!("{} + {}", self.cities[largest].name, cities - 1),
        }
    }

    /// Builds the page of the models, with the table and the comparison.
    pub fn report<'a>(
        &'a self,
        models: &'a Models,
        table: &[Line],
        compared: &Comparison,
        advice: &str,
    ) -> Result<Report<'a>> {
        let (measures, pairs) = (self.test.measures(), self.test.pairs());
        let model = |name: &str, file: &str, fitted: &'a Fit| -> Result<report::Model<'a>> {
            Ok(report::Model {
                name: name.into(),
                file: file.into(),
                model: &fitted.model,
                history: &fitted.history,
                predicted: fitted.model.pairs(measures, pairs, &silent)?,
                bounds: None,
            })
        };
        let mut tiles = Vec::new();
        for (name, method) in [(BEST, Method::Auto), (TREE, Method::Tree)] {
            if let Some(line) = table.iter().find(|line| line.name == name) {
                tiles.push((
                    format!("{:.1} %", 100.0 * line.score.mean),
                    format!("mean error, {name}"),
                ));
            }
            if let Some(times) = faster(compared, method) {
                tiles.push((format!("{times:.0} ×"), format!("faster than exact, {name}")));
            }
        }
        let fact = |key: &str, value: String| (key.to_owned(), value);
        let names: Vec<String> = measures.iter().map(|m| self.region_name(&m)).collect();
        let degrees: Vec<_> = self.cities.iter().map(|c| [c.latitude, c.longitude]).collect();
        Ok(Report {
            title: "200 cities: models learned from transport distances".into(),
            summary: format!(
                "A measure is a region: the people in the cities around a random center. A tree and the best model \
                 were fitted to {} exact distances between regions, and are judged on {} pairs of other regions.",
                self.training.len(),
                self.test.len()
            ),
            unit: "km".into(),
            tiles,
            models: vec![
                model(TREE, "model.tree", &models.tree)?,
                model(BEST, "best.tree", &models.best)?,
            ],
            test: Some(Test { metric: &self.metric, data: &self.test, names: Some(names.clone()) }),
            search: Some(NeighborSearch {
                measures,
                names: Some(names),
                metric: Some(&self.metric),
                of: vec![],
            }),
            scores: table.iter().rev().map(|line| (line.name.to_owned(), line.score)).collect(),
            front: Some(report::Front {
                points: compared.points(),
                constant_guess: Some(compared.constant_guess),
                note: advice.into(),
            }),
            groups: Some(self.cities.iter().map(|city| city.continent.to_owned()).collect()),
            places: Some(projected(&degrees)),
            facts: vec![
                fact("points", format!("{} cities", self.cities.len())),
                fact("ground metric", "great-circle distance".into()),
                fact("regions to learn from", self.training.measures().len().to_string()),
                fact("regions to test on", measures.len().to_string()),
                fact(
                    "cities in a region",
                    format!("{:.1} on average", measures.entries() as f64 / measures.len() as f64),
                ),
            ],
            version: env!("CARGO_PKG_VERSION").into(),
        })
    }
}

/// Returns how many times as long an exact distance takes as one of the model.
pub fn faster(compared: &Comparison, method: Method) -> Option<f64> {
    let seconds = |contender| {
        let row = compared.rows.iter().find(|row| row.contender == contender)?;
        Some(row.pair_seconds)
    };
    Some(seconds(Contender::Exact)? / seconds(Contender::Fit(method))?)
}

/// Names of the models in the table and in the page.
const TREE: &str = "learned tree";
const BEST: &str = "best model (auto)";
