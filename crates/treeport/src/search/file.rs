//! Files of indexes: the container of trees, with the ground metric, the measures and everything
//! expensive to compute.
//!
//! It holds the ground metric as a model's file does, and the tensors `measures.start` (`U64`),
//! `measures.point` (`U32`), `measures.mass` (`F64`), `numbers` (`U64`, of every measure), `order`
//! (`U32`, the points with a column), `reference.point` (`U32`), `reference.mass` (`F32`), `own`
//! (`F32`), `scales` (`F32`, three for each measure with a potential) and `steps` (`U16`, block by
//! block). The header entry `treeport` has the format `treeport.index`, the `kind` of content, the
//! number of points, names of points and measures, and the CRC-32 of all of it. Distances computed
//! by queries are not stored.
//!
//! For clouds, the metric is that of all their points, and `order` has the points of the net. For
//! relaxed clouds, `prices` (`F64`, of every point) replaces `scales`.
//!
//! Files of releases before version 5 are read. Their checksum does not cover the number of points,
//! and the version gives the kind: 3 for clouds, 4 for relaxed clouds, 2 and 1 for measures. Version
//! 1 marked removed measures in `removed` (`U8`), in place of `numbers`.

use std::path::Path;

use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use super::indexed_points::IndexedPoints;
use super::penalties::Prices;
use super::potential_table::{BLOCK, PotentialTable};
use super::potentials::Reference;
use super::query::ROUNDS;
use super::{Index, IndexOptions, clouds};
use crate::error::{Error, Result};
use crate::io::container::{self, Checksum, Content, Extra, File, from_bytes, to_bytes};
use crate::io::file::in_files;
use crate::io::format::{Input, InputKind};
use crate::io::{ModelFile, model_file};
use crate::measures::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::names::{Named, named};
use crate::numeric::scale::power_of_two;
use crate::progress::silent;
use crate::solve::relax;

/// Content of the file of an index.
#[derive(Debug)]
pub struct IndexFile {
    /// The index.
    pub index: Index,
    /// Names of the points; the measures carry their own names.
    pub point_names: Option<Vec<String>>,
}

/// An index or a model, for callers that accept either.
#[derive(Debug)]
pub enum SavedFile {
    /// A file written by [`IndexFile::save`].
    Index(Box<IndexFile>),
    /// A file that [`ModelFile::read`] reads.
    Model(ModelFile),
}

impl SavedFile {
    /// Reads a file of either kind once; `names` apply to a model.
    ///
    /// # Errors
    /// Errors of [`IndexFile::load`] and [`ModelFile::read`].
    pub fn read(path: impl AsRef<Path>, names: Option<&[String]>) -> Result<Self> {
        Input::open(path, InputKind::Model, None)?.index_or_model(names)
    }

    /// Decodes the bytes of either kind of file; error messages name `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path, names: Option<&[String]>) -> Result<Self> {
        match IndexFile::decode(bytes, path) {
            Err(Error::NotAnIndex { .. }) => ModelFile::decode(bytes, path, names).map(Self::Model),
            index => index.map(|index| Self::Index(Box::new(index))),
        }
    }
}

/// Largest valid measure ID; a file with a larger next ID is damaged.
const MOST_NUMBERS: u64 = 1 << 48;

/// The kinds of content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Measures,
    Clouds,
    RelaxedClouds,
}

named! { Kind, "the kind of an index", {
    Measures: "measures", "measures on shared points";
    Clouds: "clouds", "clouds of equal mass";
    RelaxedClouds: "relaxed_clouds", "clouds with penalties";
} }

/// The version of a file and its kind.
#[derive(Clone, Copy, Debug)]
struct Layout {
    version: u64,
    kind: Kind,
}

impl Layout {
    /// Returns the layout in which an index is written.
    fn of(index: &Index) -> Self {
        let kind = match (index.is_of_clouds(), &index.prices) {
            (false, _) => Kind::Measures,
            (true, None) => Kind::Clouds,
            (true, Some(_)) => Kind::RelaxedClouds,
        };
        Self { version: Content::Index.version(), kind }
    }

    /// Reads the layout of a file.
    fn read(version: u64, facts: &Value) -> Option<Self> {
        let kind = match version {
            1 | 2 => Kind::Measures,
            3 => Kind::Clouds,
            4 => Kind::RelaxedClouds,
            _ => facts.get("kind")?.as_str()?.parse().ok()?,
        };
        Some(Self { version, kind })
    }

    /// Returns whether the file marks removed measures instead of listing the IDs of the others.
    fn marks_removed(self) -> bool {
        self.version == 1
    }

    /// Returns the tensors in the order of the checksum; those of the metric follow.
    fn tensors(self) -> [(&'static str, Dtype); 10] {
        let numbers =
            if self.marks_removed() { ("removed", Dtype::U8) } else { ("numbers", Dtype::U64) };
        let is_relaxed = self.kind == Kind::RelaxedClouds;
        [
            ("measures.start", Dtype::U64),
            ("measures.point", Dtype::U32),
            ("measures.mass", Dtype::F64),
            numbers,
            ("order", Dtype::U32),
            ("reference.point", Dtype::U32),
            ("reference.mass", Dtype::F32),
            ("own", Dtype::F32),
            if is_relaxed { ("prices", Dtype::F64) } else { ("scales", Dtype::F32) },
            ("steps", Dtype::U16),
        ]
    }

    /// Begins the checksum with the number of points.
    fn checksum(self, points: usize) -> Checksum {
        let sum = Checksum::default();
        if self.version < 5 { sum } else { sum.number(points) }
    }
}

in_files! {
    IndexFile, IndexFile::decode,
    /// Writes the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
}

impl IndexFile {
    /// Returns the bytes of the file; equal content gives equal bytes.
    ///
    /// # Errors
    /// The names need more than the 100 MB that a header may have.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let index = &self.index;
        let (points, names) = (index.indexed.metric.points(), self.point_names.as_deref());
        if let Some(names) = names.filter(|names| names.len() != points) {
            return Err(Error::NameCount { names: names.len(), points });
        }
        let layout = Layout::of(index);
        let tensors = index.tensors();
        let (metric, metric_tensors) = model_file::metric_parts(&index.indexed.metric);
        let mut facts = json!({
            "kind": layout.kind.name(),
            "next_number": index.next_number,
            "columns_used": index.tabled().used,
            "memory": index.options.memory,
            "reference": index.options.reference,
            "by_query": index.by_query,
            "rounds": index.rounds,
            "scale": index.reference.scale,
            "unit": index.indexed.unit,
        });
        if layout.kind == Kind::RelaxedClouds {
            facts["penalty"] = json!(index.options.penalty);
        }
        let mut keys = vec![("metric", metric), ("index", facts)];
        keys.extend(index.measures.names().map(|names| ("measure_names", json!(names))));
        let all: Vec<&[u8]> = tensors.iter().map(|tensor| &tensor[..]).collect();
        let also = metric_tensors.iter().map(|(.., bytes)| &bytes[..]);
        let sum = layout.checksum(points).values(keys.iter().map(|(_, value)| value));
        let sum = sum.tensors(all.iter().copied().chain(also)).names(names);
        let extra = Extra { keys, tensors: metric_tensors };
        let entry = container::entry(Content::Index, layout.version, points, &sum, names, &extra);
        let tensors = layout.tensors().into_iter().zip(all);
        let tensors: Vec<_> = tensors.map(|((name, dtype), bytes)| (name, dtype, bytes)).collect();
        container::encode(Content::Index, entry, &tensors, &extra)
    }
}

impl Index {
    /// Returns all parts except the metric as bytes, in the order of [`Layout::tensors`].
    fn tensors(&self) -> [Vec<u8>; 10] {
        let numbers = |values: &[usize]| to_bytes(values, |&value| (value as u32).to_le_bytes());
        let singles = |values: &[f32]| to_bytes(values.iter().copied(), f32::to_le_bytes);
        let long = |values: &[usize]| to_bytes(values, |&value| (value as u64).to_le_bytes());
        let rows = || self.measures.iter();
        let scales =
            self.potentials.base.iter().zip(&self.potentials.step).zip(&self.potentials.constant);
        let scales: Vec<f32> = scales.flat_map(|((&a, &b), &c)| [a, b, c]).collect();
        [
            long(&self.start),
            to_bytes(rows().flat_map(|row| row.support().to_vec()), u32::to_le_bytes),
            to_bytes(rows().flat_map(|row| row.masses().to_vec()), f64::to_le_bytes),
            long(&self.numbers),
            to_bytes(self.tabled().points.iter().copied(), u32::to_le_bytes),
            numbers(&self.reference.points),
            singles(&self.reference.mass),
            singles(&self.own_duals),
            match &self.prices {
                Some(prices) => to_bytes(prices.of_columns.iter().copied(), f64::to_le_bytes),
                None => singles(&scales),
            },
            to_bytes(self.potentials.blocks.iter().flatten().copied(), u16::to_le_bytes),
        ]
    }
}

impl IndexFile {
    /// Decodes the bytes of a file; error messages name `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let file = File::open(Content::Index, bytes, path)?;
        let missing = |key: &'static str| move |file: &File<'_>| file.missing(key);
        let metric = file.key("metric").ok_or_else(|| missing("metric")(&file))?;
        let facts = file.key("index").ok_or_else(|| missing("index")(&file))?;
        let layout = Layout::read(file.version().unwrap_or(1), facts);
        let layout = layout.ok_or_else(|| missing("index")(&file))?;
        let mut tensors = Vec::new();
        for (name, dtype) in layout.tensors() {
            tensors.push(file.tensor(name, dtype)?);
        }
        let points = file.leaves()?;
        let of_metric = model_file::tensors_of(&file, metric)?;
        let point_names = file.names()?;
        let values = [metric, facts].into_iter().chain(file.key("measure_names"));
        let all = tensors.iter().chain(&of_metric).copied();
        let sum = layout.checksum(points).values(values).tensors(all);
        file.check(&sum.names(point_names.as_deref()))?;
        let measure_names = file.texts("measure_names")?;
        let read = model_file::read_metric(metric, &of_metric, points);
        let metric = read.unwrap_or_else(|| Err(file.missing("metric")))?;
        let index = assemble(layout, &metric, facts, &tensors);
        let mut index = index.ok_or_else(|| file.missing("index"))??;
        if let Some(names) = measure_names {
            let named = index.measures.with_names(names);
            index.measures = named.map_err(|_| file.missing("measure_names"))?;
        }
        if point_names.as_ref().is_some_and(|names| names.len() != metric.points()) {
            return Err(file.missing("names"));
        }
        if layout.marks_removed() {
            let removed = (0..).zip(tensors[3]).filter(|(_, removed)| **removed != 0);
            index.remove(&removed.map(|(number, _)| number).collect::<Vec<_>>())?;
        }
        Ok(Self { index, point_names })
    }
}

/// Decodes the numeric IDs of measures and the next ID; `None` if they are invalid.
fn numbers_of(
    layout: Layout,
    tensor: &[u8],
    facts: &Value,
    rows: usize,
) -> Option<(Vec<usize>, usize)> {
    if layout.marks_removed() {
        return (tensor.len() == rows).then(|| ((0..rows).collect(), rows));
    }
    let next = facts.get("next_number")?.as_u64().filter(|&next| next <= MOST_NUMBERS)?;
    let (numbers, next) = (long_numbers(tensor)?, usize::try_from(next).ok()?);
    let fits = numbers.len() == rows
        && numbers.is_sorted_by(|a, b| a < b)
        && numbers.last().is_none_or(|&last| last < next);
    fits.then_some((numbers, next))
}

fn long_numbers(bytes: &[u8]) -> Option<Vec<usize>> {
    from_bytes::<Option<usize>, _, _>(bytes, |number| u64::from_le_bytes(number).try_into().ok())
}

/// Assembles an index from the content of a file; `None` if the parts do not fit together.
fn assemble(
    layout: Layout,
    metric: &GroundMetric,
    facts: &Value,
    tensors: &[&[u8]],
) -> Option<Result<Index>> {
    let [start, point, mass, numbered, order, reference, reference_mass, own, scales, steps] =
        tensors
    else {
        return None;
    };
    let is_relaxed = layout.kind == Kind::RelaxedClouds;
    let (scales, prices) = if is_relaxed { (&[][..], Some(*scales)) } else { (*scales, None) };
    let numbers = |bytes: &[u8]| -> Vec<usize> {
        from_bytes(bytes, |number| u32::from_le_bytes(number) as usize)
    };
    let singles = |bytes: &[u8]| -> Vec<f32> { from_bytes(bytes, f32::from_le_bytes) };
    let doubles = |bytes: &[u8]| -> Vec<f64> { from_bytes(bytes, f64::from_le_bytes) };
    let start = long_numbers(start)?;
    let (mass, points) = (doubles(mass), metric.points());
    let measures = Measures::from_csr_or_empty(points, &start, &numbers(point), &mass);
    let measures = if is_relaxed { measures } else { measures.and_then(Measures::with_mass) };
    let measures = match measures {
        Ok(measures) => measures,
        Err(error) => return Some(Err(error)),
    };
    let points: Vec<u32> = from_bytes(order, u32::from_le_bytes);
    let reference_points = numbers(reference);
    let used = usize::try_from(facts.get("columns_used")?.as_u64()?).ok()?;
    let (scale, unit) = (facts.get("scale")?.as_f64()? as f32, facts.get("unit")?.as_f64()?);
    let options = IndexOptions {
        memory: facts.get("memory")?.as_u64(),
        reference: usize::try_from(facts.get("reference")?.as_u64()?).ok()?,
        penalty: facts.get("penalty").and_then(Value::as_f64),
    };
    let fits = points.iter().all(|&p| (p as usize) < metric.points())
        && used <= points.len()
        && used >= reference_points.len()
        && points.iter().zip(&reference_points).all(|(&a, &b)| a as usize == b)
        && (reference_points.is_empty() == measures.is_empty() || is_relaxed)
        && reference_mass.len() == 4 * reference_points.len();
    let (given, next_number) = numbers_of(layout, numbered, facts, measures.len())?;
    // A power of two, so that scaling by it is exact.
    let sound = unit == power_of_two(unit) && scale.is_normal() && scale > 0.0;
    if !fits || !sound {
        return None;
    }
    if let Err(error) = metric.prepare(&silent) {
        return Some(Err(error));
    }
    // A discrete metric stores only the number of its points.
    let step = format_args!("the columns of {} points", metric.points());
    if let Err(error) = memory::check(step, 4 * metric.points() as u64, "use fewer points") {
        return Some(Err(error));
    }
    let tabled = IndexedPoints::with_order(metric, points, used, unit);
    let reference = Reference { points: reference_points, mass: singles(reference_mass), scale };
    let potentials = potentials(&singles(scales), steps, tabled.points.len())?;
    let prices = match prices.map(doubles) {
        Some(prices) if relax::check(&prices, measures.entries()).is_err() => return None,
        Some(prices) if options.penalty.is_some_and(|same| !is_same(&prices, same)) => return None,
        Some(prices) => Some(Prices::new(options.penalty, prices, &measures, unit)),
        None => None,
    };
    let (indexed, net) = if layout.kind == Kind::Measures {
        (tabled, None)
    } else {
        if !clouds::are_clouds(metric, &measures) {
            return None;
        }
        (clouds::all_points(metric, unit), Some(tabled))
    };
    let index = Index {
        numbers: given,
        next_number,
        own_duals: singles(own),
        potentials,
        prices,
        // Files of 0.2 lack this key.
        by_query: facts.get("by_query").and_then(Value::as_bool).unwrap_or(false),
        rounds: usize::try_from(facts.get("rounds")?.as_u64()?).ok()?.clamp(1, ROUNDS),
        ..Index::without_potentials(indexed, net, &measures, reference, &options)
    };
    let has_duals = index.potentials.len() > 0 || index.is_of_clouds();
    let owned = if has_duals { index.columns.len() } else { 0 };
    let complete = index.own_duals.len() == owned
        && !(index.indexed.by_search && owned > 0)
        && index.columns.iter().all(|&column| (column as usize) < index.indexed.used)
        && [0, measures.len()].contains(&index.potentials.len());
    complete.then_some(Ok(index))
}

/// Checks whether `same` is a valid penalty and equal to all prices.
fn is_same(prices: &[f64], same: f64) -> bool {
    relax::check(&[same], 1).is_ok() && prices.iter().all(|&price| price == same)
}

/// Decodes the table of potentials from its scales and steps.
fn potentials(scales: &[f32], steps: &[u8], columns: usize) -> Option<PotentialTable> {
    let steps: Vec<u16> = from_bytes(steps, u16::from_le_bytes);
    let scales = scales.as_chunks::<3>().0;
    if scales.len().checked_mul(columns) != Some(steps.len()) {
        return None;
    }
    let mut potentials = PotentialTable::default();
    let mut rest = &steps[..];
    for scales in scales.chunks(BLOCK) {
        let (block, others) = rest.split_at(scales.len() * columns);
        potentials.push(block.to_vec(), scales);
        rest = others;
    }
    Some(potentials)
}
