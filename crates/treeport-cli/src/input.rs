//! Files in, by their extension; every complaint about a file begins with its name.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use treeport::estimate::Calibration;
use treeport::io::{ModelFile, is_newick, table};
use treeport::learn::Epoch;
use treeport::search::IndexFile;
use treeport::{Error, GroundMetric, Measures, Model, PointMetric};

use crate::args::{GroundArgs, MetricArgs, NamesArgs};

/// The formats of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Npy,
    Npz,
    Csv,
}

/// A file, or all of stdin in memory.
trait Bytes: Read + Seek {}
impl<T: Read + Seek> Bytes for T {}

/// Points, matrix or graph, and the names of the points where the file has them.
pub(crate) fn metric(args: &MetricArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let path = args.source.file().context("give `--points`, `--matrix` or `--graph`")?;
    let compared = args.metric.unwrap_or(PointMetric::Euclidean);
    let (points, matrix) = (args.source.points.is_some(), args.source.matrix.is_some());
    let (form, reader) = open(path)?;
    let unnamed = |metric| (metric, None);
    let metric = match form {
        Form::Npy if points => GroundMetric::read_points_npy(reader, compared).map(unnamed),
        Form::Csv if points => GroundMetric::read_points_csv(reader, compared).map(unnamed),
        _ if points => return wrong_form(path, "points", ".npy or .csv"),
        Form::Npy if matrix => GroundMetric::read_matrix_npy(reader).map(unnamed),
        Form::Csv if matrix => GroundMetric::read_matrix_csv(reader).map(unnamed),
        _ if matrix => return wrong_form(path, "a distance matrix", ".npy or .csv"),
        Form::Csv => GroundMetric::read_graph_csv(reader, None),
        Form::Npz => GroundMetric::read_graph_npz(reader).map(unnamed),
        Form::Npy => return wrong_form(path, "a graph", ".csv or .npz"),
    };
    let (metric, names) = metric.with_context(|| name(path))?;
    Ok((if args.assume_metric { metric.assume_metric()? } else { metric }, names))
}

/// The ground metric and the names of its points, from a file of their own or from the graph's.
pub(crate) fn named_metric(args: &GroundArgs) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (metric, own) = metric(&args.metric)?;
    called(metric, own, &args.names)
}

/// A metric with the names of its points, those of a file before its own.
fn called(
    metric: GroundMetric,
    own: Option<Vec<String>>,
    names: &NamesArgs,
) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let Some(path) = &names.names else { return Ok((metric, own)) };
    let given = self::names(path)?;
    if given.len() != metric.points() {
        let error = Error::NameCount { names: given.len(), points: metric.points() };
        return Err(error).with_context(|| name(path));
    }
    Ok((metric, Some(given)))
}

/// As [`named_metric`]; where no file of distances is given, what `fit --with-metric` has kept in the
/// file of a model.
pub(crate) fn metric_or_kept(
    args: &GroundArgs,
    model: Option<&PathBuf>,
) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let hint = "give `--points`, `--matrix` or `--graph`";
    metric_if_any(args, model)?.with_context(|| match model.map(|path| name(path)) {
        Some(name) => {
            format!("{name}: it has no ground metric, which `fit --with-metric` keeps; {hint}")
        }
        None => hint.into(),
    })
}

/// As [`metric_or_kept`]; nothing where there is neither.
pub(crate) fn metric_if_any(
    args: &GroundArgs,
    model: Option<&PathBuf>,
) -> Result<Option<(GroundMetric, Option<Vec<String>>)>> {
    if args.metric.source.file().is_some() {
        return named_metric(args).map(Some);
    }
    let Some(path) = model else { return Ok(None) };
    let file = ModelFile::read(path, None).map_err(|error| in_file(error, path))?;
    file.metric.map(|metric| called(metric, None, &args.names)).transpose()
}

/// The points that measures live on: how many, and what they are called, if anything.
#[derive(Clone, Copy)]
pub(crate) struct Space<'a> {
    pub(crate) points: usize,
    pub(crate) names: Option<&'a [String]>,
}

impl<'a> Space<'a> {
    /// Those of a metric, with names that it came with.
    pub(crate) fn of(metric: &GroundMetric, names: Option<&'a Vec<String>>) -> Self {
        Self { points: metric.points(), names: names.map(Vec::as_slice) }
    }
}

impl<'a> From<&'a Model> for Space<'a> {
    fn from(model: &'a Model) -> Self {
        Self { points: model.points(), names: model.names() }
    }
}

/// Measures on some points, one per row; divided by their totals if asked. Where both the points and
/// the columns of a table have names, those are matched.
pub(crate) fn measures(space: Space<'_>, path: &Path, normalize: bool) -> Result<Measures> {
    let (form, reader) = open(path)?;
    let measures = match (form, space.names) {
        (Form::Npy, _) => Measures::read_npy(reader),
        (Form::Npz, _) => Measures::read_npz(reader),
        (Form::Csv, None) => Measures::read_csv(reader),
        (Form::Csv, Some(names)) => Measures::read_csv_for(reader, names),
    };
    let measures =
        measures.and_then(|measures| measures.check_points(space.points).map(|()| measures));
    let measures = measures.with_context(|| name(path))?;
    Ok(if normalize { measures.normalized() } else { measures })
}

/// A tree or a forest of ours, or Newick text whose leaves are put in the order of `names`.
fn model(path: &Path, names: Option<&[String]>) -> Result<Model> {
    Model::read(path, names).map_err(|error| in_file(error, path))
}

/// An index of measures.
pub(crate) fn index(path: &Path) -> Result<IndexFile> {
    IndexFile::load(path).map_err(|error| in_file(error, path))
}

/// The index in a file that may hold a model as well: `None` where it holds no index.
pub(crate) fn index_if_any(path: &Path) -> Result<Option<IndexFile>> {
    if is_newick(path) {
        return Ok(None);
    }
    match IndexFile::load(path) {
        Err(Error::NotAnIndex { .. }) => Ok(None),
        index => index.map(Some).map_err(|error| in_file(error, path)),
    }
}

/// What is wrong with the file of a model or of an index.
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

/// What labels have told about the estimates of a model, where its file has it.
pub(crate) fn calibration(path: &Path) -> Result<Option<Calibration>> {
    if is_newick(path) {
        return Ok(None);
    }
    Ok(ModelFile::load(path)?.calibration)
}

/// A model whose points are named by a file, if there is one.
pub(crate) fn named_model(path: &Path, names: &NamesArgs) -> Result<Model> {
    let Some(from) = names.names.as_deref() else { return model(path, None) };
    model(path, Some(&self::names(from)?)).map_err(|error| match error.downcast_ref() {
        Some(&Error::NameCount { names, points }) => {
            let (from, path) = (name(from), name(path));
            anyhow!("{from}: {names} names for the {points} points of {path}")
        }
        _ => error,
    })
}

/// A [`model`] over the points of a metric.
pub(crate) fn model_on(
    metric: &GroundMetric,
    path: &Path,
    names: Option<&[String]>,
) -> Result<Model> {
    let (points, name) = (metric.points(), name(path));
    let wrong =
        |leaves| anyhow!("{name}: it has {leaves} leaves, the ground metric {points} points");
    let model = model(path, names).map_err(|error| match error.downcast_ref() {
        // There are as many names as points.
        Some(&Error::NameCount { points: leaves, .. }) => wrong(leaves),
        _ => error,
    })?;
    if model.points() == points { Ok(model) } else { Err(wrong(model.points())) }
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
    Ok(text(path)?.lines().map(str::to_owned).collect())
}

/// One name per line for every measure, if there is such a file.
pub(crate) fn measure_names(
    path: Option<&Path>,
    measures: &Measures,
) -> Result<Option<Vec<String>>> {
    path.map(|path| counted_names(path, measures.len(), "measures")).transpose()
}

/// One name per line, as many as there are things to name.
pub(crate) fn counted_names(path: &Path, count: usize, what: &str) -> Result<Vec<String>> {
    let names = lines(path)?;
    let (found, name) = (names.len(), name(path));
    ensure!(found == count, "{name}: {found} lines for {count} {what}");
    Ok(names)
}

/// Rows of a CSV table, reduced to the columns that a header must name.
pub(crate) fn columns<const N: usize>(path: &Path, wanted: [&str; N]) -> Result<Vec<[f64; N]>> {
    let (form, reader) = open(path)?;
    if form != Form::Csv {
        return wrong_form(path, "a list of pairs", ".csv");
    }
    let table = table::read_matrix(reader).with_context(|| name(path))?;
    let header = table.header.unwrap_or_default();
    let wanted_all = wanted.join(", ");
    let mut places = [0; N];
    for (place, wanted) in places.iter_mut().zip(wanted) {
        match header.iter().position(|cell| cell.eq_ignore_ascii_case(wanted)) {
            Some(found) => *place = found,
            None => bail!(
                "{}: csv, line 1: no column `{wanted}`; a header must name {}",
                name(path),
                wanted_all,
            ),
        }
    }
    Ok(table.values.chunks_exact(table.columns).map(|row| places.map(|p| row[p])).collect())
}

/// The two measures that a row of a list names.
pub(crate) fn pair(path: &Path, row: usize, left: f64, right: f64) -> Result<(usize, usize)> {
    let whole = |column: &str, value: f64| {
        // Beyond 2⁵³ whole numbers are no longer told apart; no list of measures is that long.
        if value >= 0.0 && value.fract() == 0.0 && value < 9e15 {
            return Ok(value as usize);
        }
        bail!("{}: row {row}: {column} is {value}, expected the number of a measure", name(path))
    };
    Ok((whole("left", left)?, whole("right", right)?))
}

/// Reads a file of `fit --history`.
pub(crate) fn history(path: &Path) -> Result<Vec<Epoch>> {
    treeport::io::history::read(&text(path)?).with_context(|| name(path))
}

/// The file's name as messages show it.
pub(crate) fn name(path: &Path) -> String {
    if is_standard(path) { "stdin".into() } else { path.display().to_string() }
}

/// Whether the path is `-`: stdin or stdout.
pub(crate) fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

/// The extension, where it is plain text.
pub(crate) fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(OsStr::to_str)
}

/// Opens a table. Stdin has no extension, so its first bytes tell what it is.
fn open(path: &Path) -> Result<(Form, Box<dyn Bytes>)> {
    if is_standard(path) {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read stdin")?;
        let form = match &bytes[..] {
            [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Form::Npy,
            [b'P', b'K', ..] => Form::Npz,
            _ => Form::Csv,
        };
        return Ok((form, Box::new(Cursor::new(bytes))));
    }
    let form = match extension(path) {
        Some("npy") => Form::Npy,
        Some("npz") => Form::Npz,
        Some("csv") => Form::Csv,
        _ => bail!("{}: cannot tell its format; name it .npy, .npz or .csv", name(path)),
    };
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    Ok((form, Box::new(BufReader::new(file))))
}

/// A file of text, without the mark that some editors put before it.
fn text(path: &Path) -> Result<String> {
    let text = std::fs::read_to_string(path).map_err(|source| unreadable(path, source))?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::Read { path: path.into(), source }
}

fn wrong_form<T>(path: &Path, what: &str, expected: impl Display) -> Result<T> {
    bail!("{}: {what} must be in a {expected} file", name(path))
}
