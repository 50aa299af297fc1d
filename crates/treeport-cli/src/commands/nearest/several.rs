//! Exact nearest neighbors from several indexes, the parts of one collection.
//!
//! Parts are read one after the other, so that memory holds only the largest.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use treeport::search::{IndexFile, PartSearch, SavedFile};
use treeport::{Error, Index};
use treeport_jobs::Shard;

use super::index::SearchSummary;
use super::{COLUMNS, MeasureNames, Names, NearestArgs, QuerySet, write};
use crate::input;
use crate::output::Output;
use crate::progress::watched;
use crate::{parts, rows};

/// Writes the neighbors of all queries.
pub(super) fn run(
    args: &NearestArgs,
    first: IndexFile,
    file: Option<&Path>,
    output: &Output,
) -> Result<()> {
    let Some(path) = args.query_path() else {
        bail!("several indexes need `--queries`; without it, one index is searched at a time")
    };
    let queries = QuerySet::read(args, path, &first, output)?;
    let count = queries.measures().len();
    let mut names = Names::new(args, Some(queries.measures()), MeasureNames::default())?;
    let shard = args.shard.of(count, "csv", || {
        let job = args.job(queries.fingerprint(), &names);
        args.parts().try_fold(job, |job, path| Ok(job.part("index", parts::of_file(path)?)))
    })?;
    let range = shard.as_ref().map_or(0..count, Shard::range);
    let asked = queries.rows(range.clone())?;
    let begun = Instant::now();
    let mut search = match args.radius {
        Some(radius) => PartSearch::radius(asked.set(), radius)?,
        None => PartSearch::nearest(asked.set(), args.k, args.accuracy())?,
    };
    let mut collected = PartNames::default();
    let point_names = first.point_names.clone();
    let mut first = Some(first);
    for path in args.parts() {
        let part = first.take().map_or_else(|| read(path, args), Ok)?;
        if part.point_names != point_names {
            bail!(
                "{} and {} name their points differently",
                input::name(&args.model),
                input::name(path)
            );
        }
        asked.check_totals(&part.index, args, path)?;
        let start = watched(output, |progress| search.ask(&[&part.index], progress))
            .map_err(|error| other_metric(error, args, path))?;
        collected.add(path, &part.index, start)?;
    }
    names.measures = collected.finish();
    let found = search.finish();
    let seconds = begun.elapsed().as_secs_f64();
    let goal = (file, shard.as_ref());
    rows::write_all(goal, output, &COLUMNS, |out, json| {
        let mut all = range.clone().zip(&found);
        all.try_for_each(|(query, n)| write(out, json, &names, query, &n.found, Some(n.bound)))
    })?;
    let parts = Some(args.parts().count());
    SearchSummary { queries: range.len(), parts, seconds, recall: None }
        .write(args, &found, goal, output)
}

impl NearestArgs {
    /// Paths of all indexes.
    fn parts(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(&self.model).chain(&self.more).map(PathBuf::as_path)
    }
}

fn read(path: &Path, args: &NearestArgs) -> Result<IndexFile> {
    match input::index_or_model(path, &args.names)? {
        SavedFile::Index(index) => Ok(*index),
        SavedFile::Model(_) => {
            let (name, first) = (input::name(path), input::name(&args.model));
            bail!("{name}: it is not an index, but {first} is; `treeport index` makes one")
        }
    }
}

/// Names the files of two parts that do not fit together.
fn other_metric(error: anyhow::Error, args: &NearestArgs, path: &Path) -> anyhow::Error {
    match error.downcast_ref::<Error>() {
        Some(Error::OtherGroundMetric { .. } | Error::PointCount { .. }) => anyhow::anyhow!(
            "{} and {} have different points; parts of a collection are built on the same ones",
            input::name(&args.model),
            input::name(path),
        ),
        _ => error,
    }
}

/// Names of the measures of all parts.
#[derive(Default)]
struct PartNames<'a> {
    names: Vec<String>,
    numbers: Vec<usize>,
    file_of: HashMap<String, &'a Path>,
    /// First file whose measures have names, and first file whose measures have none.
    named: Option<&'a Path>,
    unnamed: Option<&'a Path>,
}

impl<'a> PartNames<'a> {
    /// Adds the next part, whose numbers begin at `start`.
    fn add(&mut self, path: &'a Path, part: &Index, start: usize) -> Result<()> {
        let measures = part.measures();
        if measures.is_empty() {
            return Ok(());
        }
        let kind = if measures.names().is_some() { &mut self.named } else { &mut self.unnamed };
        kind.get_or_insert(path);
        if let (Some(named), Some(unnamed)) = (self.named, self.unnamed) {
            let (named, unnamed) = (input::name(named), input::name(unnamed));
            bail!(
                "measures of {named} have names, and those of {unnamed} have none; name all or none"
            );
        }
        let Some(names) = measures.names() else { return Ok(()) };
        for name in names {
            if let Some(other) = self.file_of.insert(name.clone(), path) {
                let (other, path) = (input::name(other), input::name(path));
                bail!(
                    "a measure of {other} and one of {path} are both called `{name}`; remove one of them"
                );
            }
        }
        self.names.extend_from_slice(names);
        self.numbers.extend(part.numbers().iter().map(|number| start + number));
        Ok(())
    }

    fn finish(self) -> MeasureNames {
        match self.named {
            Some(_) => MeasureNames { names: Some(self.names), numbers: Some(self.numbers) },
            None => MeasureNames::default(),
        }
    }
}
