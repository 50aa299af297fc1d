//! What `treeport fit` says at the end.

use anyhow::Result;
use serde_json::json;
use treeport::Learned;

use super::args::{FitArgs, Start};
use crate::output;

/// What a run of `fit` has done.
pub(super) struct Summary<'a> {
    pub(super) args: &'a FitArgs,
    pub(super) points: usize,
    pub(super) measures: Option<usize>,
    pub(super) labels: usize,
    pub(super) learned: &'a Learned,
    pub(super) seconds: f64,
}

impl Summary<'_> {
    fn start(&self) -> String {
        match &self.args.start {
            Start::Linkage(text, _) => text.clone(),
            Start::File(path) => path.display().to_string(),
        }
    }

    fn kind(&self) -> String {
        self.args.kind().to_string()
    }

    /// Which pairs the errors are of.
    fn judge(&self) -> &'static str {
        let validation = self.learned.history[0].validation_loss.is_some();
        if validation { "validation" } else { "training" }
    }

    fn errors(&self) -> (f64, f64) {
        let history = &self.learned.history;
        (history[0].relative_error, history[self.learned.best_epoch].relative_error)
    }

    /// Prints it as text.
    pub(super) fn print(&self) -> Result<()> {
        let (first, best) = self.errors();
        let done = self.learned.history.len() - 1;
        let rows = [
            ("points", self.points.to_string()),
            ("measures", self.measures.map_or_else(|| "none".into(), |count| count.to_string())),
            ("labels", self.labels.to_string()),
            ("kind", self.kind()),
            ("start", format!("{}, {} error {first:.4}", self.start(), self.judge())),
            (
                "learned",
                format!(
                    "{} error {best:.4} at epoch {} of {done}",
                    self.judge(),
                    self.learned.best_epoch
                ),
            ),
            ("seconds", format!("{:.1}", self.seconds)),
            ("written", self.args.output.display().to_string()),
        ];
        rows.into_iter().try_for_each(|(key, value)| output::line(format!("{key:<10}{value}")))
    }

    /// The same facts as one JSON object.
    pub(super) fn to_json(&self) -> serde_json::Value {
        let (first, best) = self.errors();
        json!({
            "command": "fit",
            "points": self.points,
            "measures": self.measures,
            "labels": self.labels,
            "kind": self.kind(),
            "start": self.start(),
            "error_of": self.judge(),
            "start_error": first,
            "error": best,
            "best_epoch": self.learned.best_epoch,
            "epochs": self.learned.history.len() - 1,
            "finished": self.learned.finished,
            "seed": self.args.seed,
            "seconds": self.seconds,
            "file": self.args.output.display().to_string(),
        })
    }
}
