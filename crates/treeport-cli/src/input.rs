//! Reading inputs from files; every error about a file begins with its name.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use treeport::Wording;
use treeport::estimate::Calibration;
use treeport::io::ModelFile;
use treeport::io::format::{Input, InputKind};
use treeport::learn::Epoch;
use treeport::metric::Components;
use treeport::search::{IndexFile, SavedFile};
use treeport::{Clouds, Error, GroundMetric, Measures, Model, PointMetric};

use crate::args::{CloudReadArgs, GroundArgs, MetricArgs, NamesArgs, ReadArgs};
use crate::output::Output;
use crate::source;
pub(crate) use crate::source::extension;

/// Reads points, a matrix or a graph, and the names of the points if the file has them.
pub(crate) fn metric(args: &MetricArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (ground, names) = ground(args)?;
    Ok((whole(args, &ground)?, names))
}

fn whole(args: &MetricArgs, ground: &Components) -> Result<GroundMetric> {
    let path = args.source.file().map(|path| name(path)).unwrap_or_default();
    ground.whole().cloned().context(path)
}

/// Reads a [`metric`] that may be a graph of several components.
pub(crate) fn ground(args: &MetricArgs) -> Result<(Components, Option<Vec<String>>)> {
    let path = args.source.file().context("give `--points`, `--matrix` or `--graph`")?;
    let wanted = match (&args.source.points, &args.source.matrix) {
        (Some(_), _) => InputKind::Points,
        (None, Some(_)) => InputKind::Matrix,
        (None, None) => InputKind::Graph,
    };
    let read = || -> treeport::Result<_> {
        let input = source::open(path, wanted)?;
        let (metric, names) = match wanted {
            InputKind::Points => {
                let metric = args.metric.unwrap_or(PointMetric::Euclidean);
                input.points(metric.with_optional_period(args.period.clone()))?
            }
            InputKind::Matrix => input.matrix()?,
            _ => return input.graph(),
        };
        let metric = if args.assume_metric { metric.assume_metric()? } else { metric };
        Ok((metric.into(), names))
    };
    read().map_err(|error| in_file(error, path))
}

/// Reads the ground metric and the names of its points, from `--names` or from the metric's file.
pub(crate) fn named_metric(args: &GroundArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (ground, names) = named_ground(args)?;
    Ok((whole(&args.metric, &ground)?, names))
}

/// Reads a [`named_metric`] that may be a graph of several components.
pub(crate) fn named_ground(args: &GroundArgs) -> Result<(Components, Option<Vec<String>>)> {
    let (ground, own) = ground(&args.metric)?;
    let names = point_names(ground.points(), own, &args.names)?;
    Ok((ground, names))
}

/// Replaces numbers of nodes in an error by their names, if they have any.
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

/// Returns the names of points; those of `--names` take precedence.
fn point_names(
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
    /// The given metric, or else the one kept in the file of the first model (`fit --with-metric`).
    pub(crate) metric: Option<GroundMetric>,
    /// Names of the points, if any.
    pub(crate) names: Option<Vec<String>>,
    pub(crate) models: Vec<Model>,
    /// Calibration of the first model's estimates, if its file has one.
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

    /// Reads every file once, as [`MetricAndModels::read`] does, and requires a metric.
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

/// Number and names of the points of measures.
#[derive(Clone, Copy)]
pub(crate) struct PointSet<'a> {
    pub(crate) points: usize,
    pub(crate) names: Option<&'a [String]>,
}

impl<'a> PointSet<'a> {
    /// Creates a set of points with optional names.
    pub(crate) fn of(points: usize, names: Option<&'a Vec<String>>) -> Self {
        Self { points, names: names.map(Vec::as_slice) }
    }
}

impl<'a> From<&'a Model> for PointSet<'a> {
    fn from(model: &'a Model) -> Self {
        Self { points: model.points(), names: model.names() }
    }
}

/// Reads measures, one per row, and normalizes them if requested. If both the points and the
/// columns of a table have names, these are matched; IDs of rows become the names of measures.
pub(crate) fn measures(
    space: PointSet<'_>,
    path: &Path,
    how: ReadArgs,
    output: &Output,
) -> Result<Measures> {
    let measures = measures_or_empty(space, path, how, output)?;
    let ids = Ids { measures: measures.names().map(<[String]>::to_vec), points: None };
    measures.with_mass().map_err(|error| ids.in_file(error, path))
}

/// Reads [`measures`] that may have zero total mass.
pub(crate) fn measures_or_empty(
    space: PointSet<'_>,
    path: &Path,
    how: ReadArgs,
    output: &Output,
) -> Result<Measures> {
    let mut ids = Ids { measures: None, points: space.names.map(<[String]>::to_vec) };
    let mut read = || {
        let input = source::open(path, InputKind::Measures)?;
        let masses = input.masses(space.names, how.transpose)?;
        let missing = masses.missing(space.names);
        ids = Ids {
            measures: masses.ids().map(<[String]>::to_vec),
            points: masses.points().or(space.names).map(<[String]>::to_vec),
        };
        // Unmatched names are reported first, as the larger mistake.
        let measures = masses.measures_or_empty(space.names)?;
        let missing = missing.map(|found| found.unless(how.missing)).transpose()?;
        measures.check_points(space.points)?;
        Ok((measures, missing))
    };
    let (measures, missing) = read().map_err(|error| ids.in_file(error, path))?;
    if let Some(missing) = missing {
        let name = name(path);
        output
            .note(&format!("warning: {name}: {missing} (`--missing error` refuses such a table)"));
    }
    Ok(if how.normalize { measures.normalized() } else { measures })
}

/// Reads clouds from a file or folder, and normalizes them if requested; IDs become names.
pub(crate) fn clouds(path: &Path, how: &CloudReadArgs, normalize: bool) -> Result<Clouds> {
    let clouds = clouds_or_empty(path, how)?;
    let clouds = clouds.with_mass().map_err(|error| in_file(error, path))?;
    Ok(if normalize { clouds.normalized() } else { clouds })
}

/// Reads clouds from a file or folder, including clouds of zero mass; IDs become names.
pub(crate) fn clouds_or_empty(path: &Path, how: &CloudReadArgs) -> Result<Clouds> {
    let options = how.options();
    if path.is_dir() {
        return Clouds::read(path, &options).map_err(|error| in_file(error, path));
    }
    read(path, InputKind::Clouds, |input| input.clouds(&options))
}

/// Converts an error about the measures of clouds to one about the clouds in their file.
pub(crate) fn of_clouds(error: anyhow::Error, clouds: &Clouds, path: &Path) -> anyhow::Error {
    match error.downcast::<Error>() {
        Ok(error) => in_file(clouds.placed(error), path),
        Err(other) => other,
    }
}

/// Names of measures and of their points.
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
    /// Adds the file's name and the IDs to an error about its measures.
    fn in_file(&self, error: Error, path: &Path) -> anyhow::Error {
        match error {
            Error::BadMass { .. } | Error::NoMass { .. } => {
                anyhow!("{}: {}", name(path), error.said(self))
            }
            other => in_file(other, path),
        }
    }
}

/// Reads a file; errors name it.
fn read<T>(
    path: &Path,
    kind: InputKind,
    parse: impl FnOnce(Input<'static>) -> treeport::Result<T>,
) -> Result<T> {
    source::open(path, kind).and_then(parse).map_err(|error| in_file(error, path))
}

/// Reads a model of treeport, or Newick text whose leaves are reordered by `names`.
fn model_file(path: &Path, names: Option<&[String]>) -> Result<ModelFile> {
    read(path, InputKind::Model, |input| input.model(names))
}

/// Reads an index of measures.
pub(crate) fn index(path: &Path) -> Result<IndexFile> {
    read(path, InputKind::Model, Input::index)
}

/// Reads an index, or a model whose points may be named by a file.
pub(crate) fn index_or_model(path: &Path, from: &NamesArgs) -> Result<SavedFile> {
    let names = from.names.as_deref().map(names).transpose()?;
    read(path, InputKind::Model, |input| input.index_or_model(names.as_deref()))
        .map_err(|error| named_wrongly(error, path, from))
}

/// Adds the file's name to an error.
fn in_file(error: Error, path: &Path) -> anyhow::Error {
    match error {
        // These messages name the file themselves.
        Error::Read { .. }
        | Error::NotATree { .. }
        | Error::NotAForest { .. }
        | Error::NotAnIndex { .. }
        | Error::NotASpace { .. }
        | Error::DamagedTree { .. }
        | Error::NewerTree { .. } => error.into(),
        other => anyhow::Error::from(other).context(name(path)),
    }
}

/// Reads a model whose points may be named by a file.
pub(crate) fn named_model(path: &Path, from: &NamesArgs) -> Result<Model> {
    let names = from.names.as_deref().map(names).transpose()?;
    Ok(named_file(path, from, names.as_deref())?.model)
}

/// Reads the file of a model and names its points; `from` is for errors.
fn named_file(path: &Path, from: &NamesArgs, names: Option<&[String]>) -> Result<ModelFile> {
    model_file(path, names).map_err(|error| named_wrongly(error, path, from))
}

/// Names both files if the number of names differs from the number of points.
fn named_wrongly(error: anyhow::Error, path: &Path, from: &NamesArgs) -> anyhow::Error {
    match (error.downcast_ref(), &from.names) {
        (Some(&Error::NameCount { names, points }), Some(from)) => {
            let (from, path) = (name(from), name(path));
            anyhow!("{from}: {names} names for the {points} points of {path}")
        }
        _ => error,
    }
}

/// Reads the file of a model over the points of a metric.
pub(crate) fn model_on(
    metric: &GroundMetric,
    path: &Path,
    names: Option<&[String]>,
) -> Result<ModelFile> {
    let (points, name) = (metric.points(), name(path));
    let wrong =
        |leaves| anyhow!("{name}: it has {leaves} leaves, the ground metric {points} points");
    let file = model_file(path, names).map_err(|error| match error.downcast_ref() {
        // The number of names equals the number of points of the metric.
        Some(&Error::NameCount { points: leaves, .. }) => wrong(leaves),
        _ => error,
    })?;
    if file.model.points() == points { Ok(file) } else { Err(wrong(file.model.points())) }
}

/// Reads the names of points, one per line, all different.
fn names(path: &Path) -> Result<Vec<String>> {
    let names = lines(path)?;
    let mut line_of = HashMap::with_capacity(names.len());
    let file = name(path);
    for (name, line) in names.iter().zip(1..) {
        ensure!(!name.is_empty(), "{file}: line {line} is empty; every point needs a name");
        if let Some(first) = line_of.insert(name.as_str(), line) {
            bail!("{file}: lines {first} and {line} are both `{name}`; names must differ");
        }
    }
    Ok(names)
}

/// Reads the lines of a file.
fn lines(path: &Path) -> Result<Vec<String>> {
    Ok(source::read_text(path)?.lines().map(str::to_owned).collect())
}

/// Returns the names of measures: the lines of a file, or the IDs of their table.
pub(crate) fn measure_names(
    path: Option<&Path>,
    measures: &Measures,
) -> Result<Option<Vec<String>>> {
    match path {
        Some(path) => counted_names(path, measures.len(), "measures").map(Some),
        None => Ok(measures.names().map(<[String]>::to_vec)),
    }
}

/// Reads one name per line and checks their number.
pub(crate) fn counted_names(path: &Path, count: usize, what: &str) -> Result<Vec<String>> {
    let names = lines(path)?;
    let (found, name) = (names.len(), name(path));
    ensure!(found == count, "{name}: {found} lines for {count} {what}");
    Ok(names)
}

/// Passes the cells of the columns that the header names `wanted` to `take`, row by row.
pub(crate) fn columns<const N: usize>(
    path: &Path,
    wanted: [&str; N],
    mut take: impl FnMut([&str; N]) -> Result<()>,
) -> Result<()> {
    let input = read(path, InputKind::Pairs, Ok)?;
    let read =
        input.columns(wanted, |line, cells| take(cells).with_context(|| format!("line {line}")));
    read.with_context(|| name(path))
}

/// Reads a file written by `fit --history`.
pub(crate) fn history(path: &Path) -> Result<Vec<Epoch>> {
    treeport_jobs::history::read(&source::read_text(path)?).with_context(|| name(path))
}

/// Returns the name of a file in messages.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "stdin".into() } else { treeport::shown(path) }
}

pub(crate) fn is_stdin(path: &Path) -> bool {
    const NAMES: [&str; 3] = ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"];
    is_standard(path) || NAMES.iter().any(|name| path == Path::new(name))
}

/// Checks whether the path is `-`: stdin or stdout.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
