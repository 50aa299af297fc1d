//! Every method on the real data sets: \[CTW24\], the table of real-world data sets.
//!
//! Rows are models that users can build with [`fit`](treeport::fit()), and the mean label, Flowtree
//! and Sinkhorn, which are not models. Each is scored unscaled and scaled by a factor from the
//! training labels, because many methods differ mainly by that factor.

use std::time::Instant;

use rayon::prelude::*;
use serde_json::{Value, json};
use treeport::build::quadtree;
use treeport::fit::Start;
use treeport::learn::Loss;
use treeport::progress::State;
use treeport::progress::tasks::SOLVING;
use treeport::sinkhorn::{self, Epsilon, SinkhornOptions};
use treeport::{
    Error, Estimator, FitOptions, Labeled, Linkage, Method, Model, Problem, Progress, flow, silent,
};

use super::{Cell, Column, Experiment, Row, Setup, Table};
use super::{masses_name, no_figures, paper, scenes, score};
use crate::Result;
use crate::answers::{Answers, as_it_is, fit_whole};
use crate::scene::{Masses, Scene, SceneOptions};

pub(super) const REAL: Experiment = Experiment {
    name: "real",
    about: "every method on the real data sets",
    cells,
    tables: &[Table {
        split: &["set", "masses", "points", "labels", "test_pairs", "seed"],
        line: &["method"],
        across: None,
        show: &[
            ("paper", Column::Spread("paper")),
            ("error", Column::Spread("error")),
            ("times one factor", Column::Spread("scaled")),
            ("build", Column::Seconds("build_seconds")),
            ("note", Column::Text("note")),
        ],
    }],
    figures: no_figures,
    words: "Mean relative error ± standard deviation over unseen pairs, beside the paper's. Compare with the \
untrained `average` and `single` linkage times one factor: an error that the factor removes is not \
an error of the tree's shape. `ult-tree (paper)` is the paper's method with its options (single linkage start, squared loss). Ours at the cost \
of a tree are `additive`, `additive + points` (pairs of single points mixed into the training pairs), `tree` (all \
stages; from average linkage, and from single linkage to show the effect of the start), `forest mean` (a linkage and perturbed ones, equally \
weighted) and `learned-forest` (the same trees with edges fitted to points, learned, and fitted to labels together); \
`slices` is a forest of paths and levels of clusters, without learning, and `auto` the tree or slices, whichever held-out labels favor; `forest flow` is the cost of the plans of the same unlearned trees, and \
no ℓ₁ embedding: it also needs the ground metric. The estimator solves pairs exactly where the trees would cost more, \
and its note says how many: their error is 0. What differs: the paper trains on all \
pairs of its training measures (19,900 on the graphs, over two million on Twitter), we on the number of labels in \
the title; the text sets have other word vectors and the RNA set is another one (the data folder's README has \
the details), so those figures compare in order of magnitude only. Sinkhorn stops after 1,000 iterations, as the \
paper's library does by default, is judged on the first pairs, and is left out where supports are large.",
};

const QUICK: [&str; 2] = ["usca312", "bbcsport_w2v1k"];

/// Returns the numbers of training and test pairs of a data set.
fn sizes(set: &str) -> (usize, usize) {
    match set {
        "belfast" => (400, 200),
        "rnaseq_10x" => (100, 60),
        "twitter" => (4000, 1000),
        "bbcsport" => (1500, 500),
        _ => (2000, 500),
    }
}

/// Trees of a forest in a full and in a quick run.
const TREES: [usize; 2] = [16, 4];

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let cell = |(set, masses)| {
        let (mut train, mut test) = sizes(set);
        if setup.quick {
            (train, test) = (100, 50);
        }
        if let Some(labels) = setup.labels {
            // At most as many test pairs as labels: both cost the same.
            (train, test) = (labels, test.min(labels));
        }
        let options = SceneOptions { train, test, seed: setup.seed };
        let name = format!("{set} {} {train} {test}", masses_name(set, masses));
        let work = move |progress: &Progress<'_>| run(set, masses, options, setup, progress);
        Cell::new(name, work).reads(setup, set)
    };
    scenes(setup, &QUICK).into_iter().map(cell).collect()
}

fn run(
    set: &str,
    masses: Masses,
    options: SceneOptions,
    setup: &Setup,
    progress: &Progress<'_>,
) -> Result<Vec<Row>> {
    let scene = Scene::new(set, masses, setup.data.as_deref(), options, progress)?;
    let (seed, quick) = (setup.seed, setup.quick);
    let mut comparison = Comparison { scene: &scene, seed, quick, progress, lines: vec![] };
    comparison.untrained()?;
    comparison.learned()?;
    comparison.forests()?;
    comparison.sinkhorn()?;
    let complete = |line: Value| {
        let method = line["method"].as_str().unwrap_or_default().to_owned();
        let mut row = json!({
            "experiment": "real", "set": set, "masses": masses_name(set, masses),
            "points": scene.metric.points(), "labels": scene.train.len(),
            "test_pairs": scene.test.len(), "seed": seed,
            "paper": paper::spread("real", &method, set),
        });
        for (key, value) in line.as_object().into_iter().flatten() {
            row[key] = value.clone();
        }
        row
    };
    Ok(comparison.lines.into_iter().map(complete).collect())
}

/// All methods on one scene, with the results so far.
struct Comparison<'a> {
    scene: &'a Scene,
    seed: u64,
    quick: bool,
    progress: &'a Progress<'a>,
    lines: Vec<Value>,
}

impl Comparison<'_> {
    /// Scores the predictions of a method, unscaled and scaled.
    fn judge(&mut self, method: &str, answers: &Answers, seconds: Option<f64>, note: &str) {
        let [plain, scaled] = answers.scores(&self.scene.test);
        self.lines.push(json!({
            "method": method, "error": score(&plain), "scaled": score(&scaled),
            "build_seconds": seconds, "note": note,
        }));
    }

    /// Fits to labels and scores; returns the model and the seconds of the fit.
    fn fit(
        &mut self,
        name: &str,
        train: &Labeled,
        options: &FitOptions,
        note: &str,
    ) -> Result<(Model, f64)> {
        let Scene { metric, train: own, test, .. } = self.scene;
        let begun = Instant::now();
        let model = fit_whole(metric, train, options, self.progress)?.model;
        let seconds = begun.elapsed().as_secs_f64();
        let answers = Answers::of_model(&model, (own, test), self.progress)?;
        self.judge(name, &answers, Some(seconds), note);
        Ok((model, seconds))
    }

    /// Scores methods that do not learn from labels, on their own scale.
    fn untrained(&mut self) -> Result<()> {
        use Method::{
            Average, CTwd, QTwd, Quadtree, Single, SlicedCTwd, SlicedQTwd, TotalVariation,
        };
        let answers = Answers::of_mean_label((&self.scene.train, &self.scene.test));
        self.judge("mean-label", &answers, None, "");
        self.as_they_are(&[TotalVariation, Quadtree], "")?;
        self.flowtree()?;
        self.as_they_are(&[QTwd, CTwd, SlicedQTwd, SlicedCTwd], "")?;
        self.as_they_are(&[Single, Average], "untrained")
    }

    fn as_they_are(&mut self, methods: &[Method], note: &str) -> Result<()> {
        for &method in methods {
            if method.supports().coordinates && self.scene.metric.coordinates().is_none() {
                self.without_coordinates(method.name());
            } else {
                let options = as_it_is(method, self.seed);
                self.fit(method.name(), &self.scene.train, &options, note)?;
            }
        }
        Ok(())
    }

    fn flowtree(&mut self) -> Result<()> {
        let Scene { metric, train, test, .. } = self.scene;
        if metric.coordinates().is_none() {
            self.without_coordinates("flowtree");
            return Ok(());
        }
        let begun = Instant::now();
        let tree = quadtree(metric, self.seed)?;
        let seconds = begun.elapsed().as_secs_f64();
        let answers = Answers::of((train, test), |data| {
            flow::pairs(&tree, metric, data.measures(), data.pairs(), self.progress)
        })?;
        self.judge("flowtree", &answers, Some(seconds), "");
        Ok(())
    }

    fn without_coordinates(&mut self, method: &str) {
        self.lines.push(json!({ "method": method, "note": "needs coordinates" }));
    }

    /// Scores single learned trees.
    fn learned(&mut self) -> Result<()> {
        let Scene { metric, train, .. } = self.scene;
        let (epochs, seed) = (self.quick.then_some(20), self.seed);
        let of = |method| FitOptions { epochs, seed, ..FitOptions::of(method) };
        let single = Some(Start::Linkage(Linkage::Single));
        let paper = FitOptions {
            start: single.clone(),
            loss: Some(Loss::Squared),
            ..of(Method::Ultrametric)
        };
        self.fit("ult-tree (paper)", train, &paper, "")?;
        self.fit("ultrametric", train, &of(Method::Ultrametric), "")?;
        self.fit("additive", train, &of(Method::Additive), "")?;
        // As many pairs of single points, whose distances cost nothing.
        let mixed = train.and(&Labeled::of_points(metric, train.len(), seed)?)?;
        self.fit("additive + points", &mixed, &of(Method::Additive), "")?;
        self.fit("tree", train, &of(Method::Tree), "all stages of `fit`")?;
        let from_single = FitOptions { start: single, ..of(Method::Tree) };
        self.fit("tree --start single", train, &from_single, "all stages of `fit`")?;
        self.fit("auto", train, &of(Method::Auto), "tree or slices")?;
        Ok(())
    }

    /// Scores forests of perturbed linkages, plain and learned, and the cost of their plans.
    fn forests(&mut self) -> Result<()> {
        let Scene { metric, train, test, .. } = self.scene;
        let trees = TREES[usize::from(self.quick)];
        let note = format!("{trees} trees");
        let of = |method| FitOptions { n_trees: Some(trees), ..as_it_is(method, self.seed) };
        let (equal, mut learned) = (of(Method::Forest), of(Method::LearnedForest));
        if self.quick {
            learned.epochs = Some(10);
        }
        let (forest, grown) = self.fit("forest mean", train, &equal, &note)?;
        self.fit("learned-forest", train, &learned, &note)?;
        let slices = FitOptions { seed: self.seed, ..FitOptions::of(Method::Slices) };
        self.fit("slices", train, &slices, "")?;
        // The flow level by the trees alone, and with the exact solver where that is faster.
        let estimator = Estimator::new(metric, &forest)?;
        let alone = estimator.clone().by_trees_alone();
        let (answers, _) = Answers::of_flow(alone, (train, test), self.progress)?;
        self.judge("forest flow", &answers, Some(grown), &note);
        let (answers, solved) = Answers::of_flow(estimator, (train, test), self.progress)?;
        let note = format!("{note}, {solved} of {} solved exactly", test.len());
        self.judge("estimator at level flow", &answers, Some(grown), &note);
        Ok(())
    }

    /// Scores entropic transport.
    fn sinkhorn(&mut self) -> Result<()> {
        let Scene { metric, train, test, .. } = self.scene;
        let support = test.measures().entries() / test.measures().len().max(1);
        if support > MOST_SUPPORT {
            let note = format!("skipped: {support} points in a support");
            self.lines.push(json!({ "method": "sinkhorn", "note": note }));
            return Ok(());
        }
        // Limit the operations to those of this many pairs with the largest supports.
        let pairs = if self.quick { 2 } else { 20 };
        let most = (pairs * (MOST_SUPPORT / support.max(1)).pow(2)).min(200);
        let of = |data: &Labeled| -> Result<Vec<f64>> {
            let some = &data.pairs()[..most.min(data.len())];
            let total = Some(some.len());
            let one = |(done, &(i, j)): (usize, &(usize, usize))| {
                // Not `sinkhorn::pairs`, which requires convergence.
                let row = |r| data.measures().row(r);
                let problem = Problem::new(metric, &row(i), &row(j));
                let found = sinkhorn::solve(&problem, &SINKHORN, &silent)?;
                let state = State::new(SOLVING, done, total);
                if (self.progress)(&state) {
                    Ok(found.transport_cost)
                } else {
                    Err(Error::Canceled)
                }
            };
            some.par_iter().enumerate().map(one).collect::<treeport::Result<_>>()
        };
        let answers = Answers::new(train, &of(train)?, of(test)?);
        let note = format!("λ = 1, first {} pairs", answers.plain.len());
        self.judge("sinkhorn", &answers, None, &note);
        Ok(())
    }
}

/// ε = 1 in the unit of the distances, with the iteration limit of POT.
pub(super) const SINKHORN: SinkhornOptions = SinkhornOptions {
    epsilon: Epsilon::Absolute(1.0),
    scaling: None,
    max_iterations: 1000,
    tolerance: 1e-9,
};

/// Largest mean support for which Sinkhorn is run.
const MOST_SUPPORT: usize = 350;
