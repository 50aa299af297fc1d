//! Files in, by their extension; every complaint about a file begins with its name.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use treeport::io::table;
use treeport::{Error, Forest, GroundMetric, Measures, Norm, Tree};

use crate::args::MetricArgs;

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
    let norm = args.metric.map_or(Norm::Euclidean, Norm::from);
    if let Some(path) = &args.source.points {
        let (form, reader) = open(path)?;
        let metric = match form {
            Form::Npy => GroundMetric::read_points_npy(reader, norm),
            Form::Csv => GroundMetric::read_points_csv(reader, norm),
            Form::Npz => return wrong_form(path, "points", ".npy or .csv"),
        };
        return Ok((metric.with_context(|| name(path))?, None));
    }
    if let Some(path) = &args.source.matrix {
        let (form, reader) = open(path)?;
        let metric = match form {
            Form::Npy => GroundMetric::read_matrix_npy(reader),
            Form::Csv => GroundMetric::read_matrix_csv(reader),
            Form::Npz => return wrong_form(path, "a distance matrix", ".npy or .csv"),
        };
        let metric = metric.with_context(|| name(path))?;
        return Ok((if args.assume_metric { metric.assume_metric() } else { metric }, None));
    }
    let path = args.source.graph.as_deref().context("give `--points`, `--matrix` or `--graph`")?;
    let (form, reader) = open(path)?;
    let graph = match form {
        Form::Csv => GroundMetric::read_graph_csv(reader, None),
        Form::Npz => GroundMetric::read_graph_npz(reader).map(|graph| (graph, None)),
        Form::Npy => return wrong_form(path, "a graph", ".csv or .npz"),
    };
    graph.with_context(|| name(path))
}

/// Whether a ground metric is given.
pub(crate) fn has_metric(args: &MetricArgs) -> bool {
    let source = &args.source;
    source.points.is_some() || source.matrix.is_some() || source.graph.is_some()
}

/// The ground metric and the names of its points, from a file of their own or from the graph's.
pub(crate) fn named_metric(
    args: &MetricArgs,
    names: Option<&Path>,
) -> Result<(GroundMetric, Option<Vec<String>>)> {
    let (metric, own) = metric(args)?;
    let Some(path) = names else { return Ok((metric, own)) };
    let given = self::names(path)?;
    if given.len() != metric.points() {
        let error = Error::NameCount { names: given.len(), points: metric.points() };
        return Err(error).with_context(|| name(path));
    }
    Ok((metric, Some(given)))
}

/// Measures, one per row; divided by their totals if asked.
pub(crate) fn measures(path: &Path, normalize: bool) -> Result<Measures> {
    let (form, reader) = open(path)?;
    let measures = match form {
        Form::Npy => Measures::read_npy(reader),
        Form::Npz => Measures::read_npz(reader),
        Form::Csv => Measures::read_csv(reader),
    };
    let measures = measures.with_context(|| name(path))?;
    Ok(if normalize { measures.normalized() } else { measures })
}

/// [`measures`] that live on so many points.
pub(crate) fn measures_on(points: usize, path: &Path, normalize: bool) -> Result<Measures> {
    let measures = measures(path, normalize)?;
    measures.check_points(points).with_context(|| name(path))?;
    Ok(measures)
}

/// A tree of ours, or Newick text whose leaves are put in the order of `names`.
pub(crate) fn model(path: &Path, names: Option<&[String]>) -> Result<Tree> {
    if is_newick(path) {
        let text = self::text(path)?;
        let tree = names
            .map_or_else(|| Tree::from_newick(&text), |names| Tree::from_newick_with(&text, names));
        return tree.with_context(|| name(path));
    }
    // These messages name the file themselves.
    let tree = Tree::load(path)?;
    match names {
        Some(names) => tree.with_names(names.to_vec()).with_context(|| name(path)),
        None => Ok(tree),
    }
}

/// A forest, or one of the trees that [`model`] reads as a forest of one.
pub(crate) fn forest(path: &Path, names: Option<&[String]>) -> Result<Forest> {
    let forest = match model(path, names) {
        Err(error) if matches!(error.downcast_ref(), Some(Error::NotATree { .. })) => {
            // If it is no forest either, what the tree lacked says more.
            Forest::load(path).map_err(|other| match other {
                Error::NotAForest { .. } => error,
                other => other.into(),
            })?
        }
        tree => return Ok(Forest::uniform(vec![tree?])?),
    };
    match names {
        Some(names) => forest.with_names(names.to_vec()).with_context(|| name(path)),
        None => Ok(forest),
    }
}

/// Checks that a model lives on the points of the metric.
pub(crate) fn check_leaves(path: &Path, leaves: usize, metric: &GroundMetric) -> Result<()> {
    let points = metric.points();
    let name = name(path);
    ensure!(
        leaves == points,
        "{name}: the tree has {leaves} leaves, the ground metric {points} points"
    );
    Ok(())
}

/// Whether the file's name says Newick.
pub(crate) fn is_newick(path: &Path) -> bool {
    matches!(extension(path), Some("nwk" | "newick"))
}

/// One name per line.
pub(crate) fn names(path: &Path) -> Result<Vec<String>> {
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
    let names = names(path)?;
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

/// A file of text.
pub(crate) fn text(path: &Path) -> Result<String> {
    Ok(std::fs::read_to_string(path).map_err(|source| unreadable(path, source))?)
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::Read { path: path.into(), source }
}

fn wrong_form<T>(path: &Path, what: &str, expected: impl Display) -> Result<T> {
    bail!("{}: {what} must be in a {expected} file", name(path))
}
