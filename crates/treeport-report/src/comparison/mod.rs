//! Comparison of methods on a data set: error, time to build, time of a pair, and one sentence of
//! advice.
//!
//! Methods learn from one part of the labels and are evaluated on the other ([`Judge`]). The exact
//! solver and certified bounds are rows like all others, so that [`Comparison`] shows what an error
//! buys. Its chart draws error against time; its [`Advice`] says from how many pairs on a fit costs
//! less than solving all of them.

mod advice;
mod contender;

use std::time::{Duration, Instant};

use treeport::accuracy::{Accuracy, Level};
use treeport::build::quadtree;
use treeport::estimate::{CertifiedEstimate, Estimator};
use treeport::fit::Family;
use treeport::{
    FitOptions, GroundMetric, Labeled, Method, Model, Problems, Progress, Result, Score, fit, flow,
};

pub use advice::Advice;
pub use contender::Contender;

use crate::Place;
use crate::chart::{FrontPoint, front_svg, front_text, is_on_front};
use crate::text;
use crate::timing::{time_fastest, time_model};

/// Time limit for timing the pairs of a method.
const TIMING: Duration = Duration::from_secs(1);

/// Results of a method.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ComparedMethod {
    /// Name of the method.
    pub name: String,
    /// Kind of the method.
    pub contender: Contender,
    /// Errors of its distances without a factor.
    pub plain: Score,
    /// Errors after the factor that fits the training labels best.
    pub scaled: Score,
    /// Seconds to build it, on all threads.
    pub build_seconds: f64,
    /// Seconds per pair, on one thread.
    pub pair_seconds: f64,
    /// Bytes of the model, without the ground metric; 0 if there is none.
    pub bytes: usize,
    /// Share of pairs that were solved exactly instead of estimated.
    pub solved_exactly: Option<f64>,
    /// Mean relative width upper/lower − 1 of certified bounds; 0 if exact.
    pub certified_width: Option<f64>,
}

/// Training and test labels of a comparison.
#[derive(Clone, Copy, Debug)]
pub struct Judge<'a> {
    /// The ground metric.
    pub metric: &'a GroundMetric,
    /// Labels from which methods learn.
    pub train: &'a Labeled,
    /// Labels on which they are evaluated.
    pub test: &'a Labeled,
    /// Seed of all randomness.
    pub seed: u64,
}

impl Judge<'_> {
    /// Evaluates a method; returns a second row, by flow, for a forest.
    ///
    /// # Errors
    /// Errors of [`fit()`]: for example, a method that requires coordinates
    /// ([`Contender::needs_coordinates`]) on a metric without them.
    pub fn rows(
        &self,
        contender: Contender,
        progress: &Progress<'_>,
    ) -> Result<Vec<ComparedMethod>> {
        let begun = Instant::now();
        let one = |row: Result<ComparedMethod>| Ok(vec![row?]);
        match contender {
            Contender::MeanLabel => one(self.mean_label()),
            Contender::Flowtree => one(self.flowtree(begun, progress)),
            Contender::Arcs => one(self.arcs(progress)),
            Contender::Exact => one(self.exact(progress)),
            Contender::Fit(method) => {
                // Methods that do not learn are compared without the factor that `fit` gives them.
                let scale = method.family() != Family::Compared;
                let options = FitOptions { scale, seed: self.seed, ..FitOptions::of(method) };
                let model = fit(self.metric, Some(self.train), &options, progress)?.model;
                let build = begun.elapsed().as_secs_f64();
                let mut rows = vec![self.of_model(contender, &model, build, progress)?];
                if method == Method::Forest {
                    rows.push(self.by_flow(contender, &model, build, progress)?);
                }
                Ok(rows)
            }
        }
    }

    /// Evaluates a model that took `build` seconds.
    ///
    /// # Errors
    /// A model over other points; cancellation by `progress`.
    pub fn of_model(
        &self,
        contender: Contender,
        model: &Model,
        build: f64,
        progress: &Progress<'_>,
    ) -> Result<ComparedMethod> {
        let (measures, pairs) = (self.test.measures(), self.test.pairs());
        let time = || Ok(time_model(model, measures, pairs, TIMING, progress)?.1);
        let pair = f64::min(time()?, time()?);
        let predict = |data: &Labeled| model.pairs(data.measures(), data.pairs(), progress);
        let row = self.row(contender, (build, pair), predict)?;
        Ok(ComparedMethod { bytes: bytes(model), ..row })
    }

    fn mean_label(&self) -> Result<ComparedMethod> {
        let mean = self.train.null_baselines()[0].constant;
        let row = self.row(Contender::MeanLabel, (0.0, 0.0), |data| Ok(vec![mean; data.len()]))?;
        Ok(ComparedMethod { bytes: size_of::<f64>(), ..row })
    }

    fn flowtree(&self, begun: Instant, progress: &Progress<'_>) -> Result<ComparedMethod> {
        let tree = quadtree(self.metric, self.seed)?;
        let build = begun.elapsed().as_secs_f64();
        let flow = |data: &Labeled, progress: &Progress<'_>| {
            flow::pairs(&tree, self.metric, data.measures(), data.pairs(), progress)
        };
        let pair = self.time(progress, |watch| flow(self.test, watch).map(drop))?;
        let row = self.row(Contender::Flowtree, (build, pair), |data| flow(data, progress))?;
        Ok(ComparedMethod { bytes: bytes(&tree.clone().into()), ..row })
    }

    /// Evaluates certified bounds by a few sweeps, without a tree.
    fn arcs(&self, progress: &Progress<'_>) -> Result<ComparedMethod> {
        let begun = Instant::now();
        let estimator = Estimator::without_trees(self.metric)?;
        let build = begun.elapsed().as_secs_f64();
        let answer = |data: &Labeled, progress: &Progress<'_>| {
            let level = Accuracy::Level(Level::Arcs);
            estimator.answers(level, data.measures(), data.pairs(), progress)
        };
        let pair = self.time(progress, |watch| answer(self.test, watch).map(drop))?;
        let found = answer(self.test, progress)?;
        let values: Vec<f64> = found.iter().map(|answer| answer.value).collect();
        let share = |of: &dyn Fn(&CertifiedEstimate) -> f64| {
            found.iter().map(of).sum::<f64>() / found.len() as f64
        };
        let score = self.test.score(&values);
        Ok(ComparedMethod {
            solved_exactly: Some(share(&|a| f64::from(u8::from(a.level == Level::Exact)))),
            certified_width: Some(share(&|a| a.interval.width())),
            ..unbuilt(Contender::Arcs, (score, score), (build, pair))
        })
    }

    /// Evaluates the exact solver, whose distances are the labels.
    fn exact(&self, progress: &Progress<'_>) -> Result<ComparedMethod> {
        let (measures, pairs) = (self.test.measures(), self.test.pairs());
        let pair = self.time(progress, |watch| {
            Problems::new(self.metric, measures, pairs).values(watch).map(drop)
        })?;
        let score = self.test.score(self.test.distances());
        let row = unbuilt(Contender::Exact, (score, score), (0.0, pair));
        Ok(ComparedMethod { solved_exactly: Some(1.0), certified_width: Some(0.0), ..row })
    }

    /// Scores predictions unscaled, and scaled by the factor fitted to the training labels.
    fn row(
        &self,
        contender: Contender,
        times: (f64, f64),
        predict: impl Fn(&Labeled) -> Result<Vec<f64>>,
    ) -> Result<ComparedMethod> {
        let (factor, predicted) = (self.train.factor(&predict(self.train)?), predict(self.test)?);
        let scaled: Vec<f64> = predicted.iter().map(|p| factor * p).collect();
        let scores = (self.test.score(&predicted), self.test.score(&scaled));
        Ok(unbuilt(contender, scores, times))
    }

    /// Scores the exact cost of a forest's plans, calibrated by the training labels.
    fn by_flow(
        &self,
        contender: Contender,
        model: &Model,
        build: f64,
        progress: &Progress<'_>,
    ) -> Result<ComparedMethod> {
        let Self { metric, train, test, .. } = *self;
        let begun = Instant::now();
        let estimator = Estimator::new(metric, model)?.calibrated(Level::Flow, train, progress)?;
        let build = build + begun.elapsed().as_secs_f64();
        let estimate = |progress: &Progress<'_>| {
            estimator.pairs(Level::Flow, test.measures(), test.pairs(), progress)
        };
        let found = estimate(progress)?;
        let pair = self.time(progress, |watch| estimate(watch).map(drop))?;
        let values: Vec<f64> = found.iter().map(|estimate| estimate.value).collect();
        let raw: Vec<f64> = found.iter().map(|estimate| estimate.raw).collect();
        let exact = found.iter().filter(|e| e.exact).count() as f64 / found.len() as f64;
        // Calibrated already, and exact values must not be scaled.
        let scores = (test.score(&raw), test.score(&values));
        Ok(ComparedMethod {
            name: format!("{contender} by flow"),
            bytes: bytes(model),
            solved_exactly: Some(exact),
            ..unbuilt(contender, scores, (build, pair))
        })
    }

    /// Measures the seconds per test pair on one thread.
    fn time(
        &self,
        progress: &Progress<'_>,
        work: impl Fn(&Progress<'_>) -> Result<()> + Sync,
    ) -> Result<f64> {
        time_fastest(self.test.len(), TIMING, progress, work)
    }
}

/// Returns a row without a model.
fn unbuilt(
    contender: Contender,
    (plain, scaled): (Score, Score),
    (build_seconds, pair_seconds): (f64, f64),
) -> ComparedMethod {
    ComparedMethod {
        name: contender.to_string(),
        contender,
        plain,
        scaled,
        build_seconds,
        pair_seconds,
        bytes: 0,
        solved_exactly: None,
        certified_width: None,
    }
}

/// Returns the bytes of the parents and lengths of all nodes.
fn bytes(model: &Model) -> usize {
    model.nodes() * (size_of::<u32>() + size_of::<f64>())
}

/// Methods with their errors and times, the smallest error first.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Comparison {
    /// Rows by ascending error of the scaled predictions; ties by time.
    pub rows: Vec<ComparedMethod>,
    /// Numbers of labels to learn from and to evaluate on.
    pub labels: (usize, usize),
    /// Number of all pairs of the measures.
    pub all_pairs: usize,
    /// Error of a constant prediction, scaled like the others.
    pub constant_guess: f64,
}

impl Comparison {
    /// Sorts rows of a judge.
    pub fn new(judge: &Judge<'_>, mut rows: Vec<ComparedMethod>) -> Self {
        rows.sort_by(|a, b| {
            let errors = a.scaled.mean.total_cmp(&b.scaled.mean);
            errors.then(a.pair_seconds.total_cmp(&b.pair_seconds))
        });
        let measures = judge.test.measures().len();
        let mean = judge.train.null_baselines()[0].constant;
        Self {
            rows,
            labels: (judge.train.len(), judge.test.len()),
            all_pairs: measures * measures.saturating_sub(1) / 2,
            constant_guess: judge.test.score(&vec![mean; judge.test.len()]).mean,
        }
    }

    /// Evaluates methods one after the other; those that need coordinates are left out if there are
    /// none.
    ///
    /// # Errors
    /// See [`Judge::rows`].
    ///
    /// # Example
    /// ```
    /// use treeport::{GroundMetric, Labeled, Measures, PointMetric, silent};
    /// use treeport_report::comparison::{Comparison, Contender, Judge};
    /// let points = (0..40).map(f64::from).collect();
    /// let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
    /// let measures = Measures::unit_masses(20, 0..20)?;
    /// let labels = Labeled::sample(&metric, &measures, 60, 0, &silent)?;
    /// let (train, test) = labels.split_at(30);
    /// let judge = Judge { metric: &metric, train: &train, test: &test, seed: 0 };
    /// let some = ["tree".parse()?, Contender::Exact];
    /// let compared = Comparison::of(&judge, &some, &silent)?;
    /// assert_eq!(compared.rows[0].name, "exact");
    /// assert!(compared.svg("Error against time").starts_with("<svg"));
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn of(
        judge: &Judge<'_>,
        contenders: &[Contender],
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut rows = Vec::new();
        for contender in contenders.iter().filter(|c| c.is_possible(judge.metric)) {
            rows.extend(judge.rows(*contender, progress)?);
        }
        Ok(Self::new(judge, rows))
    }

    /// Returns the points of the chart. A prediction without a time, the mean of the labels, has
    /// none.
    pub fn points(&self) -> Vec<FrontPoint> {
        let rows = self.rows.iter().filter(|row| row.pair_seconds > 0.0);
        let point = |row: &ComparedMethod| FrontPoint {
            name: row.name.clone(),
            seconds: row.pair_seconds,
            error: row.scaled.mean,
        };
        rows.map(point).collect()
    }

    /// Returns for each row whether no other method is at least as fast and as accurate.
    pub fn front(&self) -> Vec<bool> {
        let points: Vec<FrontPoint> = self
            .rows
            .iter()
            .map(|row| FrontPoint {
                name: String::new(),
                seconds: if row.pair_seconds > 0.0 { row.pair_seconds } else { f64::INFINITY },
                error: row.scaled.mean,
            })
            .collect();
        is_on_front(&points)
    }

    /// Draws error against time as a picture.
    pub fn svg(&self, title: &str) -> String {
        front_svg(title, &self.points(), Some(self.constant_guess), Place::File)
    }

    /// Draws error against time as text.
    pub fn picture(&self) -> String {
        front_text(&self.points(), Some(self.constant_guess))
    }

    /// Returns the table of all rows as text.
    pub fn table(&self) -> String {
        let heading = [
            "method",
            "error",
            "after one factor",
            "to build",
            "one pair",
            "model",
            "solved exactly",
        ];
        let mut table = vec![heading.map(str::to_owned).to_vec()];
        for row in &self.rows {
            let mut cells = vec![row.name.clone(), row.plain.to_string(), row.scaled.to_string()];
            cells.extend([row.build_seconds, row.pair_seconds].map(text::seconds));
            cells.push(format!("{:.1} KiB", row.bytes as f64 / 1024.0));
            cells.extend(row.solved_exactly.map(|share| format!("{:.0} %", 100.0 * share)));
            table.push(cells);
        }
        text::table(&table)
    }

    /// Returns the advice for all pairs of the measures on this many threads, or `None` without a
    /// row of the exact solver.
    pub fn advice(&self, threads: usize) -> Option<Advice> {
        Advice::new(self, self.all_pairs, threads)
    }
}
