//! Inputs from files; every error about a file begins with its name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use treeport::Wording;
use treeport::estimate::Calibration;
use treeport::io::ModelFile;
use treeport::io::format::Wanted;
use treeport::learn::Epoch;
use treeport::metric::Components;
use treeport::search::{IndexFile, SavedFile};
use treeport::{Clouds, Error, GroundMetric, Measures, Model, PointMetric};

use crate::args::{CloudReadArgs, GroundArgs, MetricArgs, NamesArgs, ReadArgs};
use crate::output::Output;
use crate::source;
pub(crate) use crate::source::extension;

/// Points, matrix or graph, and the names of the points where the file has them.
pub(crate) fn metric(args: &MetricArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (ground, names) = ground(args)?;
    Ok((whole(args, &ground)?, names))
}

fn whole(args: &MetricArgs, ground: &Components) -> Result<GroundMetric> {
    let path = args.source.file().map(|path| name(path)).unwrap_or_default();
    ground.whole().cloned().context(path)
}

/// As [`metric`], where a graph may fall into several components.
pub(crate) fn ground(args: &MetricArgs) -> Result<(Components, Option<Vec<String>>)> {
    let path = args.source.file().context("give `--points`, `--matrix` or `--graph`")?;
    let wanted = match (&args.source.points, &args.source.matrix) {
        (Some(_), _) => Wanted::Points,
        (None, Some(_)) => Wanted::Matrix,
        (None, None) => Wanted::Graph,
    };
    let read = || -> treeport::Result<_> {
        let input = source::open(path, wanted)?;
        let (metric, names) = match wanted {
            Wanted::Points => {
                let metric = args.metric.unwrap_or(PointMetric::Euclidean);
                input.points(metric.with_optional_period(args.period.clone()))?
            }
            Wanted::Matrix => input.matrix()?,
            _ => return input.graph(),
        };
        let metric = if args.assume_metric { metric.assume_metric()? } else { metric };
        Ok((metric.into(), names))
    };
    read().map_err(|error| in_file(error, path))
}

/// The ground metric and the names of its points, from a file of their own or from the graph's.
pub(crate) fn named_metric(args: &GroundArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (ground, names) = named_ground(args)?;
    Ok((whole(&args.metric, &ground)?, names))
}

/// As [`named_metric`], where a graph may fall into several components.
pub(crate) fn named_ground(args: &GroundArgs) -> Result<(Components, Option<Vec<String>>)> {
    let (ground, own) = ground(&args.metric)?;
    let names = called(ground.points(), own, &args.names)?;
    Ok((ground, names))
}

/// The error with the names of nodes in place of numbers, where they have any.
pub(crate) fn with_node(error: anyhow::Error, names: Option<&[String]>) -> anyhow::Error {
    struct Nodes<'a>(&'a [String]);
    impl Wording for Nodes<'_> {
        fn node(&self, node: usize) -> String {
            format!("`{}`", self.0[node])
        }
    }
    match (error.downcast_ref::<Error>(), names) {
        (Some(unbalanced @ Error::UnbalancedComponent { .. }), Some(names)) => {
            anyhow!(unbalanced.said(&Nodes(names)))
        }
        _ => error,
    }
}

/// The names of points, those of a file before those that a metric came with.
fn called(
    points: usize,
    own: Option<Vec<String>>,
    names: &NamesArgs,
) -> Result<Option<Vec<String>>> {
    let Some(path) = &names.names else { return Ok(own) };
    let given = self::names(path)?;
    if given.len() != points {
        let error = Error::NameCount { names: given.len(), points };
        return Err(error).with_context(|| name(path));
    }
    Ok(Some(given))
}

/// A ground metric and models over its points.
pub(crate) struct MetricAndModels {
    /// That of a file of its own, or else what `fit --with-metric` has kept in that of the first model.
    pub(crate) metric: Option<GroundMetric>,
    /// The names of its points, if they have any.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) models: Vec<Model>,
    /// What labels have told about the estimates of the first model, where its file has it.
    pub(crate) calibration: Option<Calibration>,
}

impl MetricAndModels {
    /// Reads every file once.
    pub(crate) fn read(args: &GroundArgs, paths: &[PathBuf]) -> Result<Self> {
        let (metric, names) = match args.metric.source.file() {
            Some(_) => named_metric(args).map(|(metric, names)| (Some(metric), names))?,
            None => (None, args.names.names.as_deref().map(self::names).transpose()?),
        };
        let mut read = Self { metric, names, models: vec![], calibration: None };
        for path in paths {
            let file = match &read.metric {
                Some(metric) => model_on(metric, path, read.names.as_deref())?,
                None => named_file(path, &args.names, read.names.as_deref())?,
            };
            if read.models.is_empty() {
                read.metric = read.metric.or(file.metric);
                read.calibration = file.calibration;
            }
            read.models.push(file.model);
        }
        Ok(read)
    }

    /// As [`MetricAndModels::read`], where there has to be a metric.
    pub(crate) fn with_metric(
        args: &GroundArgs,
        paths: &[PathBuf],
    ) -> Result<(GroundMetric, Self)> {
        let mut read = Self::read(args, paths)?;
        let hint = "give `--points`, `--matrix` or `--graph`";
        let metric = read.metric.take().with_context(|| match paths.first() {
            Some(path) => {
                let name = name(path);
                format!("{name}: it has no ground metric, which `fit --with-metric` keeps; {hint}")
            }
            None => hint.into(),
        })?;
        Ok((metric, read))
    }
}

/// The points that measures live on: their number, and their names, if they have any.
#[derive(Clone, Copy)]
pub(crate) struct PointSet<'a> {
    pub(crate) points: usize,
    pub(crate) names: Option<&'a [String]>,
}

impl<'a> PointSet<'a> {
    /// So many points, with names that their file may have.
    pub(crate) fn of(points: usize, names: Option<&'a Vec<String>>) -> Self {
        Self { points, names: names.map(Vec::as_slice) }
    }
}

impl<'a> From<&'a Model> for PointSet<'a> {
    fn from(model: &'a Model) -> Self {
        Self { points: model.points(), names: model.names() }
    }
}

/// Measures on some points, one per row; divided by their totals if asked. Where both the points and
/// the columns of a table have names, those are matched; IDs of rows become the names of measures.
pub(crate) fn measures(
    space: PointSet<'_>,
    path: &Path,
    how: ReadArgs,
    output: &Output,
) -> Result<Measures> {
    let measures = measures_or_empty(space, path, how, output)?;
    let called = Ids { measures: measures.names().map(<[String]>::to_vec), points: None };
    measures.with_mass().map_err(|error| called.in_file(error, path))
}

/// The same, where they may have no mass.
pub(crate) fn measures_or_empty(
    space: PointSet<'_>,
    path: &Path,
    how: ReadArgs,
    output: &Output,
) -> Result<Measures> {
    let mut called = Ids { measures: None, points: space.names.map(<[String]>::to_vec) };
    let mut read = || {
        let input = source::open(path, Wanted::Measures)?;
        let masses = input.masses(space.names, how.transpose)?;
        let missing = masses.missing(space.names);
        called = Ids {
            measures: masses.ids().map(<[String]>::to_vec),
            points: masses.points().or(space.names).map(<[String]>::to_vec),
        };
        // Names that do not match are the larger mistake.
        let measures = masses.measures_or_empty(space.names)?;
        let missing = missing.map(|found| found.unless(how.missing)).transpose()?;
        measures.check_points(space.points)?;
        Ok((measures, missing))
    };
    let (measures, missing) = read().map_err(|error| called.in_file(error, path))?;
    if let Some(missing) = missing {
        let name = name(path);
        output
            .note(&format!("warning: {name}: {missing} (`--missing error` refuses such a table)"));
    }
    Ok(if how.normalize { measures.normalized() } else { measures })
}

/// Clouds of a file or a folder, divided by their totals if asked; their IDs are their names.
pub(crate) fn clouds(path: &Path, how: &CloudReadArgs, normalize: bool) -> Result<Clouds> {
    let clouds = clouds_or_empty(path, how)?;
    let clouds = clouds.with_mass().map_err(|error| in_file(error, path))?;
    Ok(if normalize { clouds.normalized() } else { clouds })
}

/// Clouds of a file or a folder, some of which may have no mass; their IDs are their names.
pub(crate) fn clouds_or_empty(path: &Path, how: &CloudReadArgs) -> Result<Clouds> {
    let read = || {
        let options = how.options();
        if path.is_dir() {
            return Clouds::read(path, &options);
        }
        source::open(path, Wanted::Clouds)?.clouds(&options)
    };
    read().map_err(|error| in_file(error, path))
}

/// An error about the measures of clouds, as one about the clouds in their file.
pub(crate) fn of_clouds(error: anyhow::Error, clouds: &Clouds, path: &Path) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(error) => in_file(clouds.placed(error), path),
        Err(other) => other,
    }
}

/// What measures and their points are called.
struct Ids {
    measures: Option<Vec<String>>,
    points: Option<Vec<String>>,
}

impl Wording for Ids {
    fn measure(&self, measure: usize) -> Option<String> {
        self.measures.as_ref()?.get(measure).cloned()
    }

    fn point(&self, point: usize) -> Option<String> {
        self.points.as_ref()?.get(point).cloned()
    }
}

impl Ids {
    /// An error about a file of measures, which go by their IDs, with its name.
    fn in_file(&self, error: Error, path: &Path) -> anyhow::Error {
        match error {
            Error::BadMass { .. } | Error::NoMass { .. } => {
                anyhow!("{}: {}", name(path), error.said(self))
            }
            other => in_file(other, path),
        }
    }
}

/// A tree or a forest of ours, or Newick text whose leaves are put in the order of `names`.
fn model_file(path: &Path, names: Option<&[String]>) -> Result<ModelFile> {
    let read = || source::open(path, Wanted::Model)?.model(names);
    read().map_err(|error| in_file(error, path))
}

/// An index of measures.
pub(crate) fn index(path: &Path) -> Result<IndexFile> {
    let read = || source::open(path, Wanted::Model)?.index();
    read().map_err(|error| in_file(error, path))
}

/// An index, or a model whose points are named by a file, if there is one.
pub(crate) fn index_or_model(path: &Path, from: &NamesArgs) -> Result<SavedFile> {
    let names = from.names.as_deref().map(names).transpose()?;
    let read = || source::open(path, Wanted::Model)?.index_or_model(names.as_deref());
    read().map_err(|error| named_wrongly(in_file(error, path), path, from))
}

/// An error about a file, with its name.
fn in_file(error: Error, path: &Path) -> anyhow::Error {
    match error {
        // These messages name the file themselves.
        Error::Read { .. }
        | Error::NotATree { .. }
        | Error::NotAForest { .. }
        | Error::NotAnIndex { .. }
        | Error::DamagedTree { .. }
        | Error::NewerTree { .. } => error.into(),
        other => anyhow::Error::from(other).context(name(path)),
    }
}

/// A model whose points are named by a file, if there is one.
pub(crate) fn named_model(path: &Path, from: &NamesArgs) -> Result<Model> {
    let names = from.names.as_deref().map(names).transpose()?;
    Ok(named_file(path, from, names.as_deref())?.model)
}

/// The file of a model whose points have these names, from that file.
fn named_file(path: &Path, from: &NamesArgs, names: Option<&[String]>) -> Result<ModelFile> {
    model_file(path, names).map_err(|error| named_wrongly(error, path, from))
}

/// The error; where a file has another number of names than the model has points, it names both files.
fn named_wrongly(error: anyhow::Error, path: &Path, from: &NamesArgs) -> anyhow::Error {
    match (error.downcast_ref(), &from.names) {
        (Some(&Error::NameCount { names, points }), Some(from)) => {
            let (from, path) = (name(from), name(path));
            anyhow!("{from}: {names} names for the {points} points of {path}")
        }
        _ => error,
    }
}

/// The file of a model over the points of a metric.
pub(crate) fn model_on(
    metric: &GroundMetric,
    path: &Path,
    names: Option<&[String]>,
) -> Result<ModelFile> {
    let (points, name) = (metric.points(), name(path));
    let wrong =
        |leaves| anyhow!("{name}: it has {leaves} leaves, the ground metric {points} points");
    let file = model_file(path, names).map_err(|error| match error.downcast_ref() {
        // There are as many names as points.
        Some(&Error::NameCount { points: leaves, .. }) => wrong(leaves),
        _ => error,
    })?;
    if file.model.points() == points { Ok(file) } else { Err(wrong(file.model.points())) }
}

/// The names of points, one per line; each is there once.
fn names(path: &Path) -> Result<Vec<String>> {
    let names = lines(path)?;
    let mut line_of = HashMap::with_capacity(names.len());
    for (name, line) in names.iter().zip(1..) {
        ensure!(
            !name.is_empty(),
            "{}: line {line} is empty; every point needs a name",
            self::name(path)
        );
        if let Some(first) = line_of.insert(name.as_str(), line) {
            bail!(
                "{}: lines {first} and {line} are both `{name}`; names must differ",
                self::name(path)
            );
        }
    }
    Ok(names)
}

/// The lines of a file.
fn lines(path: &Path) -> Result<Vec<String>> {
    Ok(source::read_text(path)?.lines().map(str::to_owned).collect())
}

/// The names of measures: the lines of a file if there is one, or the IDs of their table.
pub(crate) fn measure_names(
    path: Option<&Path>,
    measures: &Measures,
) -> Result<Option<Vec<String>>> {
    match path {
        Some(path) => counted_names(path, measures.len(), "measures").map(Some),
        None => Ok(measures.names().map(<[String]>::to_vec)),
    }
}

/// One name per line, as many as there are things to name.
pub(crate) fn counted_names(path: &Path, count: usize, what: &str) -> Result<Vec<String>> {
    let names = lines(path)?;
    let (found, name) = (names.len(), name(path));
    ensure!(found == count, "{name}: {found} lines for {count} {what}");
    Ok(names)
}

/// Hands over the cells of those columns of a table that a header must name, row after row.
pub(crate) fn columns<const N: usize>(
    path: &Path,
    wanted: [&str; N],
    mut take: impl FnMut([&str; N]) -> Result<()>,
) -> Result<()> {
    let input = source::open(path, Wanted::Pairs).map_err(|error| in_file(error, path))?;
    let read =
        input.columns(wanted, |line, cells| take(cells).with_context(|| format!("line {line}")));
    read.with_context(|| name(path))
}

/// Reads a file of `fit --history`.
pub(crate) fn history(path: &Path) -> Result<Vec<Epoch>> {
    treeport_jobs::history::read(&source::read_text(path)?).with_context(|| name(path))
}

/// The file's name as messages show it.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "stdin".into() } else { treeport::internal::shown(path) }
}

/// Whether the path is stdin by any name.
pub(crate) fn is_stdin(path: &Path) -> bool {
    const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    is_standard(path) || NAMES.iter().any(|name| path == Path::new(name))
}

/// Whether the path is `-`: stdin or stdout.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
