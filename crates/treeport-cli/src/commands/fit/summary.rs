//! What `treeport fit` says at the end.

use anyhow::Result;
use serde_json::{Map, json};
use treeport::baseline::Stage;

use super::args::{FitArgs, Start};
use super::learning::Outcome;
use crate::output;

/// What a run of `fit` has done.
pub(super) struct Summary<'a> {
    pub(super) args: &'a FitArgs,
    pub(super) points: usize,
    pub(super) measures: Option<usize>,
    pub(super) labels: usize,
    pub(super) outcome: &'a Outcome,
    pub(super) seconds: f64,
}

impl Summary<'_> {
    fn start(&self) -> String {
        match self.args.start() {
            Start::Linkage(text, _) => text,
            Start::File(path) => path.display().to_string(),
        }
    }

    /// Which pairs the errors are of.
    fn judge(&self) -> &'static str {
        let validation = self.outcome.learned.history[0].validation_loss.is_some();
        if validation { "validation" } else { "training" }
    }

    /// The errors of all stages; a learner alone has two.
    fn stages(&self) -> Vec<(Stage, f64)> {
        if let Some((_, errors)) = &self.outcome.stages {
            return errors.clone();
        }
        let Outcome { learned, .. } = self.outcome;
        let error = |epoch: usize| learned.history[epoch].relative_error;
        vec![(Stage::Start, error(0)), (Stage::Learned, error(learned.best_epoch))]
    }

    /// The stage of the tree, and its error.
    fn kept(&self) -> (Stage, f64) {
        let kept = self.outcome.stages.as_ref().map_or(Stage::Learned, |stages| stages.0);
        let error = self.stages().iter().find(|of| of.0 == kept).map_or(f64::NAN, |of| of.1);
        (kept, error)
    }

    /// Prints it as text.
    pub(super) fn print(&self) -> Result<()> {
        let mut rows = vec![
            ("points", self.points.to_string()),
            ("measures", self.measures.map_or_else(|| "none".into(), |count| count.to_string())),
            ("labels", self.labels.to_string()),
            ("method", self.args.method().to_string()),
        ];
        rows.extend(self.stages().into_iter().map(|(stage, error)| self.stage(stage, error)));
        rows.push(("seconds", format!("{:.1}", self.seconds)));
        rows.push(("written", self.args.output.display().to_string()));
        rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
    }

    fn stage(&self, stage: Stage, error: f64) -> (&'static str, String) {
        let error = format!("{} error {error:.4}", self.judge());
        let learned = &self.outcome.learned;
        let (key, text) = match stage {
            Stage::Start => ("start", format!("{}, {error}", self.start())),
            Stage::Points => ("to points", error),
            Stage::Learned => {
                let (best, done) = (learned.best_epoch, learned.history.len() - 1);
                ("learned", format!("{error} at epoch {best} of {done}"))
            }
            Stage::Edges => ("to labels", error),
        };
        let chosen = self.outcome.stages.is_some() && self.kept().0 == stage;
        (key, text + if chosen { ", kept" } else { "" })
    }

    /// The same facts as one JSON object.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let Outcome { learned, stopped, .. } = self.outcome;
        let stages = self.stages();
        let (kept, error) = self.kept();
        let errors: Map<_, _> = stages.iter().map(|of| (of.0.to_string(), of.1.into())).collect();
        json!({
            "command": "fit",
            "method": self.args.method().name(),
            "points": self.points,
            "measures": self.measures,
            "labels": self.labels,
            "kind": self.args.kind().to_string(),
            "start": self.start(),
            "error_of": self.judge(),
            "start_error": stages[0].1,
            "error": error,
            "stage": kept.to_string(),
            "stage_errors": errors,
            "best_epoch": learned.best_epoch,
            "epochs": learned.history.len() - 1,
            "finished": learned.finished && stopped.is_none(),
            "seed": self.args.seed,
            "seconds": self.seconds,
            "file": self.args.output.display().to_string(),
        })
    }
}
