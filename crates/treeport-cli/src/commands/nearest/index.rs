//! Exact nearest neighbors from an index.

use std::ops::Range;
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use serde_json::{Value, json};
use treeport::search::{IndexFile, Neighbors};
use treeport::{Accuracy, Index};
use treeport_jobs::Shard;

use super::{COLUMNS, MeasureNames, Names, NearestArgs, QuerySet, write};
use crate::output::Output;
use crate::progress::watched;
use crate::{parts, rows, shards};

/// Writes the neighbors of all queries.
pub(super) fn run(
    args: &NearestArgs,
    from: &IndexFile,
    file: Option<&Path>,
    output: &Output,
) -> Result<()> {
    let index = &from.index;
    let read = |path: &Path| QuerySet::read(args, path, from, output);
    let queries = args.query_path().map(read).transpose()?;
    if let Some(queries) = &queries {
        queries.check_totals(index, args, &args.model)?;
    }
    let own = MeasureNames {
        names: index.measures().names().map(<[String]>::to_vec),
        numbers: Some(index.numbers().to_vec()),
    };
    let names = Names::new(args, queries.as_ref().map(QuerySet::measures), own)?;
    let all = queries.as_ref().map_or(index.next_number(), |queries| queries.measures().len());
    let shard = args.shard.of(all, "csv", || {
        let job = args.job(queries.as_ref().map_or(0, QuerySet::fingerprint), &names);
        Ok(job.part("index", parts::of_file(&args.model)?))
    })?;
    let rows = shard.as_ref().map_or(0..all, Shard::range);
    let begun = Instant::now();
    let found = search(args, index, queries.as_ref(), rows.clone(), output)?;
    let seconds = begun.elapsed().as_secs_f64();
    // Estimated only if it is printed, and before the file is created, so that Ctrl-C leaves none.
    let has_summary = file.is_some() && (output.json || !output.quiet);
    let recall = (args.accuracy() == Accuracy::Approximate
        && has_summary
        && shard.as_ref().is_none_or(|s| s.number() == 1))
    .then(|| watched(output, |progress| index.expected_recall(args.k, progress)))
    .transpose()?;
    let goal = (file, shard.as_ref());
    let count = if shard.is_some() || queries.is_some() { rows.len() } else { index.len() };
    rows::write_all(goal, output, &COLUMNS, |out, json| {
        let mut all = rows.zip(&found);
        all.try_for_each(|(query, n)| write(out, json, &names, query, &n.found, Some(n.bound)))
    })?;
    let summary = SearchSummary { queries: count, parts: None, seconds, recall };
    summary.write(args, &found, goal, output)
}

/// Facts for the final message.
pub(super) struct SearchSummary {
    pub(super) queries: usize,
    /// Number of indexes, if there are several.
    pub(super) parts: Option<usize>,
    pub(super) seconds: f64,
    pub(super) recall: Option<f64>,
}

impl SearchSummary {
    pub(super) fn write(
        &self,
        args: &NearestArgs,
        found: &[Neighbors],
        goal: (Option<&Path>, Option<&Shard>),
        output: &Output,
    ) -> Result<()> {
        let solved: usize = found.iter().map(|found| found.steps.exact).sum();
        let mut facts = json!({
            "accuracy": shown(args.accuracy()), "queries": self.queries, "solved": solved,
            "seconds": self.seconds,
        });
        match args.radius {
            Some(radius) => facts["radius"] = json!(radius),
            None => facts["k"] = json!(args.k),
        }
        if args.time.is_some() || args.accuracy() == Accuracy::Approximate {
            facts["proved"] = json!(found.iter().filter(|found| found.is_proved()).count());
        }
        if let Some(parts) = self.parts {
            facts["parts"] = json!(parts);
        }
        if let Some(recall) = self.recall {
            facts["expected_recall"] = json!(recall);
        }
        let how = match self.recall {
            Some(recall) => format!("about {:.1} % of the true ones", 100.0 * recall),
            None => format!("{solved} pairs solved"),
        };
        let parts = self.parts.map_or(String::new(), |parts| format!(" in {parts} parts"));
        let note = format!("neighbors of {} measures{parts}, {how},", self.queries);
        shards::wrote(output, "nearest", goal, facts, &note)
    }
}

fn search(
    args: &NearestArgs,
    index: &Index,
    queries: Option<&QuerySet>,
    rows: Range<usize>,
    output: &Output,
) -> Result<Vec<Neighbors>> {
    let queries = queries.map(|all| all.rows(rows.clone())).transpose()?;
    let accuracy = args.accuracy();
    watched(output, |progress| match (queries.as_ref().map(QuerySet::set), args.radius) {
        (Some(queries), Some(radius)) => index.radius(queries, radius, progress),
        (Some(queries), None) => match args.time {
            Some(time) => index.nearest_in(time, queries, args.k, accuracy, progress),
            None => index.nearest(queries, args.k, accuracy, progress),
        },
        (None, Some(radius)) => index.radius_graph_rows(rows, radius, progress),
        (None, None) => index.graph_rows(rows, args.k, accuracy, progress),
    })
}

fn shown(accuracy: Accuracy) -> Value {
    match accuracy {
        Accuracy::Within(error) => json!(error),
        word => json!(word.to_string()),
    }
}
