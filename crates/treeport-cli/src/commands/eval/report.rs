//! The table of `treeport eval`.

use anyhow::Result;
use serde_json::json;
use treeport_report::score::Score;

use super::{Row, Test};
use crate::output;
use crate::scored::{Baseline, Scored};

const HEADING: [&str; 8] =
    ["", "error", "median", "scaled error", "median", "factor", "time", "exact/time"];

/// Mean and standard deviation, fine enough for errors below a percent.
fn error(score: &Score) -> String {
    format!("{:.4} ± {:.4}", score.mean, score.std)
}

/// Everything that is printed.
pub(super) struct Report<'a> {
    pub(super) test: Test<'a>,
    pub(super) rows: Vec<Row>,
    pub(super) baselines: [Baseline; 2],
}

impl Report<'_> {
    /// Prints a table with its reading instructions.
    pub(super) fn print(&self) -> Result<()> {
        let Test { scored: Scored { half, labels, .. }, timed, .. } = &self.test;
        let (pairs, scored) = (labels.pairs.len(), labels.pairs.len() - half);
        output::line(format!(
            "{pairs} test pairs: constants are fitted on the first {half}, every score is of the other {scored}."
        ))?;
        let left_out = self.baselines[0].score.left_out;
        if left_out > 0 {
            output::line(format!("{left_out} of them are left out: their distance is nearly 0."))?;
        }
        output::line(format!(
            "error: mean of |tree - exact| / exact ± its standard deviation; scaled: after one factor.\n\
             time: one pair on one thread, over the first {timed} pairs.\n"
        ))?;
        output::line(output::table(&self.table()).trim_end())
    }

    fn table(&self) -> Vec<Vec<String>> {
        let exact = self.test.exact_seconds;
        let mut table = vec![HEADING.map(str::to_owned).to_vec()];
        for row in &self.rows {
            table.push(vec![
                row.model.clone(),
                error(&row.plain),
                format!("{:.4}", row.plain.median),
                error(&row.scaled),
                format!("{:.4}", row.scaled.median),
                output::three_digits(row.factor),
                output::seconds(row.seconds),
                output::three_digits(exact / row.seconds),
            ]);
        }
        let empty = String::new;
        for Baseline { name, constant, score } in &self.baselines {
            let (error, median) = (error(score), format!("{:.4}", score.median));
            let constant = output::three_digits(*constant);
            table.push(vec![(*name).into(), empty(), empty(), error, median, constant]);
        }
        let mut last = vec![empty(); HEADING.len()];
        last[0] = "exact".into();
        last[6] = output::seconds(exact);
        table.push(last);
        table
    }

    /// Prints one object for every model and every baseline.
    pub(super) fn print_json(&self) -> Result<()> {
        let exact = self.test.exact_seconds;
        let (pairs, fitted) = (self.test.scored.labels.pairs.len(), self.test.scored.half);
        for row in &self.rows {
            output::line(json!({
                "model": row.model,
                "pairs": pairs,
                "fitted_on": fitted,
                "scored": row.plain.pairs,
                "left_out": row.plain.left_out,
                "error": row.plain.mean,
                "std": row.plain.std,
                "median": row.plain.median,
                "factor": row.factor,
                "scaled_error": row.scaled.mean,
                "scaled_std": row.scaled.std,
                "scaled_median": row.scaled.median,
                "seconds": row.seconds,
                "exact_seconds": exact,
                "exact_over_tree": exact / row.seconds,
            }))?;
        }
        for Baseline { name, constant, score } in &self.baselines {
            output::line(json!({
                "baseline": name,
                "pairs": pairs,
                "fitted_on": fitted,
                "scored": score.pairs,
                "left_out": score.left_out,
                "constant": constant,
                "scaled_error": score.mean,
                "scaled_std": score.std,
                "scaled_median": score.median,
            }))?;
        }
        Ok(())
    }
}
