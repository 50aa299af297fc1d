//! Summary of `treeport fit`.

use anyhow::Result;
use serde_json::{Map, Value, json};
use treeport::fit::{Family, Stage};
use treeport::names::Named;
use treeport::{Fit, Labeled, Method};

use super::args::FitArgs;
use crate::output;

/// Result of a run of `fit`.
pub(super) struct Summary<'a> {
    pub(super) args: &'a FitArgs,
    pub(super) method: Method,
    pub(super) scale: bool,
    pub(super) data: Option<&'a Labeled>,
    pub(super) fitted: &'a Fit,
    pub(super) stopped: bool,
    pub(super) seconds: f64,
}

impl Summary<'_> {
    /// Returns the kind of pairs on which the errors are measured.
    fn judge(&self) -> Option<&'static str> {
        let validation = self.fitted.history.first()?.validation_loss.is_some();
        Some(if validation { "validation" } else { "training" })
    }

    /// Returns the errors of all stages: two for one learned tree, none for methods that do not
    /// learn.
    fn stages(&self) -> Vec<(Stage, f64)> {
        let Fit { stage_errors, history, best_epoch, .. } = self.fitted;
        if !stage_errors.is_empty() || history.is_empty() {
            return stage_errors.clone();
        }
        let error = |epoch: usize| history[epoch].relative_error;
        vec![(Stage::Start, error(0)), (Stage::Learned, error(*best_epoch))]
    }

    /// Returns whether the fit multiplied all distances of the model by a factor.
    fn scaled(&self) -> bool {
        self.method.family() == Family::Compared && self.scale && self.data.is_some()
    }

    /// Prints the summary as text.
    pub(super) fn print(&self) -> Result<()> {
        let (model, learns) = (&self.fitted.model, self.method.supports().learning);
        let of = |data: &Labeled| (data.measures().len().to_string(), data.len().to_string());
        let none = || ("none".into(), if learns { "pairs of points" } else { "none" }.into());
        let (measures, labels) = self.data.map_or_else(none, of);
        let trees = model.trees().len();
        let of = if model.tree().is_some() { String::new() } else { format!(" of {trees}") };
        let factor = if self.scaled() { " × one factor" } else { "" };
        let mut rows = vec![
            ("points", model.points().to_string()),
            ("measures", measures),
            ("labels", labels),
            ("method", format!("{}{of}{factor}", self.method)),
        ];
        let stages = self.stages();
        if stages.is_empty() {
            rows.push(("nodes", model.nodes().to_string()));
        }
        rows.extend(stages.into_iter().map(|(stage, error)| self.stage(stage, error)));
        rows.push(("seconds", format!("{:.1}", self.seconds)));
        rows.push(("written", self.args.output.display().to_string()));
        rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
    }

    fn stage(&self, stage: Stage, error: f64) -> (&'static str, String) {
        let judge = self.judge().unwrap_or_default();
        let error = if error.is_nan() {
            format!("{judge} error unknown, every label is 0")
        } else {
            format!("{judge} error {error:.4}")
        };
        let Fit { history, best_epoch, .. } = self.fitted;
        let (key, text) = match stage {
            Stage::Start => {
                ("start", format!("{}, {error}", self.args.start(self.fitted.model.points())))
            }
            Stage::Points => ("to points", error),
            Stage::Learned => {
                let done = history.len().saturating_sub(1);
                ("learned", format!("{error} at epoch {best_epoch} of {done}"))
            }
            Stage::Edges => ("to labels", error),
            Stage::Slices => ("slices", error),
        };
        (key, text + if self.fitted.stage == Some(stage) { ", kept" } else { "" })
    }

    /// Returns the summary as one JSON object.
    pub(super) fn to_json(&self) -> Value {
        let Fit { model, history, best_epoch, .. } = self.fitted;
        let stages = self.stages();
        let kept = self.fitted.stage.or_else(|| stages.last().map(|of| of.0));
        let error = stages.iter().find(|of| Some(of.0) == kept).map(|of| of.1);
        let errors: Map<_, _> = stages.iter().map(|of| (of.0.to_string(), of.1.into())).collect();
        json!({
            "command": "fit",
            "method": self.method.name(),
            "points": model.points(),
            "trees": model.trees().len(),
            "nodes": model.nodes(),
            "measures": self.data.map(|data| data.measures().len()),
            "labels": self.data.map(Labeled::len),
            "scaled": self.scaled(),
            "start": self.method.supports().start.then(|| self.args.start(self.fitted.model.points())),
            "error_of": self.judge(),
            "start_error": stages.first().map(|of| of.1),
            "error": error,
            "stage": kept.map(Named::name),
            "stage_errors": errors,
            "best_epoch": (!history.is_empty()).then_some(best_epoch),
            "epochs": history.len().checked_sub(1),
            "finished": self.fitted.finished && !self.stopped,
            "seed": self.args.data.pairs.seed,
            "seconds": self.seconds,
            "file": self.args.output.display().to_string(),
        })
    }
}
