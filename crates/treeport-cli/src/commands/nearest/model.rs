//! Nearest neighbors by the distances of a model, with a scan of all measures.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::json;
use treeport::progress::State;
use treeport::{Measures, Model};
use treeport_jobs::Shard;
use treeport_jobs::fingerprint::of_measures;

use super::{COLUMNS, MeasureNames, Names, NearestArgs, write};
use crate::input;
use crate::output::Output;
use crate::progress::{Watch, or_interrupted};
use crate::{parts, rows, shards};

/// Writes the neighbors of all queries.
pub(super) fn run(
    args: &NearestArgs,
    model: &Model,
    file: Option<&Path>,
    output: &Output,
) -> Result<()> {
    args.check_for_model()?;
    let (measures, queries, names) = read(args, model, output)?;
    let among = model.prepare(&measures)?;
    let apart = queries.as_ref().map(|queries| model.prepare(queries)).transpose()?;
    let prepared = apart.as_ref().unwrap_or(&among);
    let (all, columns) = (prepared.measures().len(), measures.len());
    let shard = args.shard.of(all, "csv", || {
        let job = args
            .job(queries.as_ref().map_or(0, of_measures), &names)
            .part("model", parts::of_model(model));
        Ok(job.part("measures", of_measures(&measures)))
    })?;
    let Range { start, end } = shard.as_ref().map_or(0..all, Shard::range);
    let count = end - start;
    let watch = Watch::of_rows(output, file.is_none());
    let size = prepared.rows_at_once(columns);
    let others = apart.as_ref().map(|_| &among);
    let goal = (file, shard.as_ref());
    rows::write_all(goal, output, &COLUMNS[..4], |out, json| {
        for first in (start..end).step_by(size) {
            let queries = first..end.min(first + size);
            let progress = |state: &State<'_>| {
                let state = State { task: "neighbors", ..*state };
                watch.update(&state.after(first - start, count))
            };
            let found = prepared.nearest(others, queries.clone(), args.k, &progress);
            for (query, found) in queries.zip(or_interrupted(found)?) {
                write(out, json, &names, query, &found, None)?;
            }
        }
        Ok(())
    })?;
    let note = format!("neighbors of {count} measures");
    shards::wrote(output, "nearest", goal, json!({"queries": count}), &note)
}

/// Reads the measures, the queries if they are others, and the names of both.
fn read(
    args: &NearestArgs,
    model: &Model,
    output: &Output,
) -> Result<(Measures, Option<Measures>, Names)> {
    let none = || format!("{}: it holds no measures; give `--measures`", input::name(&args.model));
    let path = args.measures.as_deref().with_context(none)?;
    let read = |path: &Path| input::measures(model.into(), path, args.how, output);
    let (measures, queries) = (read(path)?, args.queries.as_deref().map(read).transpose()?);
    let asking = queries.as_ref().unwrap_or(&measures);
    Measures::check_all_balanced(&[asking, &measures]).with_context(|| match &args.queries {
        Some(queries) => format!("{} against {}", input::name(queries), input::name(path)),
        None => input::name(path),
    })?;
    let names = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let names = MeasureNames { names, numbers: None };
    let names = Names::new(args, queries.as_ref(), names)?;
    Ok((measures, queries, names))
}
