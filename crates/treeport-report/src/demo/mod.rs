//! The demo: the complete workflow on a built-in data set of 200 cities.
//!
//! A measure is a region: the people of the cities around a random center, with great-circle
//! distances as ground metric. A tree is learned from exact distances of some pairs and compared
//! with exact distances of other regions.

mod regions;

use std::time::Duration;

use treeport::internal::labels::total_variation;
use treeport::progress::State;
use treeport::{
    Fit, FitOptions, GroundMetric, Labelled, Linkage, Measure, Model, Progress, Result, Score,
    Tree, fit, linkage, silent,
};

use crate::cities::{City, cities, condensed_distances};
use crate::report::{self, Report, Search, Test, projected};
use crate::sample::{random_pairs, seeded};
use crate::timing::{time_exact, time_model};

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
    pub training: Labelled,
    /// Regions for testing.
    pub test: Labelled,
    /// Seconds per exact distance on one thread.
    pub exact_seconds: f64,
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
    ///
    /// # Errors
    /// `Cancelled` if `progress` requests a stop.
    pub fn new(seed: u64, progress: &Progress<'_>) -> Result<Self> {
        let cities = cities();
        let distances = condensed_distances(&cities);
        let metric = GroundMetric::from_condensed(cities.len(), distances)?.assume_metric()?;
        let mut rng = seeded(seed);
        let mut labelled = |(regions, pairs): (usize, usize), before: usize| {
            let measures = regional_measures(&cities, regions, &mut rng)?;
            let pairs = random_pairs(pairs, regions, &mut rng)?;
            let of_all = |state: &State<'_>| progress(&state.after(before, Self::PAIRS));
            Labelled::solve(&metric, &measures, pairs, &of_all)
        };
        let (training, test) = (labelled(TRAINING, 0)?, labelled(TESTS, TRAINING.1)?);
        let (measures, pairs) = (test.measures(), test.pairs());
        let (_, exact_seconds) = time_exact(&metric, measures, pairs, Duration::MAX, &silent)?;
        Ok(Self { cities, metric, training, test, exact_seconds })
    }

    /// Builds the tree from which learning starts.
    ///
    /// # Errors
    /// None.
    pub fn start(&self) -> Result<Tree> {
        linkage(&self.metric, Linkage::Average, &treeport::silent)
    }

    /// Learns from the training pairs, as `treeport fit` does.
    ///
    /// # Errors
    /// None.
    pub fn learn(&self, seed: u64, progress: &Progress<'_>) -> Result<Fit> {
        let options = FitOptions { seed, ..FitOptions::default() };
        let fitted = fit(&self.metric, Some(&self.training), &options, progress)?;
        let names = self.cities.iter().map(|city| city.name.to_owned()).collect();
        Ok(Fit { model: fitted.model.with_names(names)?, ..fitted })
    }

    /// Scores the learned tree, its start and the two null baselines on the test pairs.
    ///
    /// # Errors
    /// None.
    pub fn table(&self, learned: &Model) -> Result<Vec<Line>> {
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
            (LEARNED, learned.pairs(test.measures(), test.pairs(), &silent)?),
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

    /// Builds the page of a learned tree, with the table and the time of a tree distance.
    ///
    /// # Errors
    /// None.
    pub fn report<'a>(
        &'a self,
        fitted: &'a Fit,
        table: &[Line],
        tree_seconds: f64,
    ) -> Result<Report<'a>> {
        let (measures, pairs) = (self.test.measures(), self.test.pairs());
        let model = report::Model {
            name: LEARNED.into(),
            file: "model.tree".into(),
            model: &fitted.model,
            history: &fitted.history,
            predicted: fitted.model.pairs(measures, pairs, &silent)?,
            bounds: None,
        };
        let score = table.iter().find(|line| line.name == LEARNED).map(|line| line.score);
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let mut tiles = vec![(
            format!("{:.0} ×", self.exact_seconds / tree_seconds),
            "faster than exact transport".into(),
        )];
        if let Some(score) = score {
            tiles.insert(0, (percent(score.median), "median error".into()));
            tiles.insert(0, (percent(score.mean), "mean error".into()));
        }
        let fact = |key: &str, value: String| (key.to_owned(), value);
        let names: Vec<String> = measures.iter().map(|m| self.region_name(&m)).collect();
        let degrees: Vec<_> = self.cities.iter().map(|c| [c.latitude, c.longitude]).collect();
        Ok(Report {
            title: "200 cities: a tree learned from transport distances".into(),
            summary: format!(
                "A measure is a region: the people in the cities around a random center. The tree was learned \
                 from {} exact distances between regions, and is judged on {} pairs of other regions.",
                self.training.len(),
                self.test.len()
            ),
            unit: "km".into(),
            tiles,
            models: vec![model],
            test: Some(Test { metric: &self.metric, data: &self.test, names: Some(names.clone()) }),
            search: Some(Search {
                measures,
                names: Some(names),
                metric: Some(&self.metric),
                of: vec![],
            }),
            scores: table.iter().rev().map(|line| (line.name.to_owned(), line.score)).collect(),
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

    /// Measures the seconds per distance of a model on one thread, between prepared measures.
    ///
    /// # Errors
    /// None.
    pub fn time(&self, model: &Model) -> Result<f64> {
        let (measures, pairs) = (self.test.measures(), self.test.pairs());
        Ok(time_model(model, measures, pairs, Duration::MAX, &silent)?.1)
    }
}

/// Name of the model in the table and in the page.
const LEARNED: &str = "learned tree";
