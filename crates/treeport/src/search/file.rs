//! Files of indexes: the container of trees, with the ground metric, the measures and everything
//! expensive to compute.
//!
//! It holds the ground metric as a model's file does, and the tensors `measures.start` (`U64`),
//! `measures.point` (`U32`), `measures.mass` (`F64`), `removed` (`U8`), `order` (`U32`, the points
//! with a column), `reference.point` (`U32`), `reference.mass` (`F32`), `own` (`F32`), `scales`
//! (`F32`, three for each measure with a potential) and `steps` (`U16`, block by block). The header
//! entry `treeport` has the format `treeport.index`, names of points and measures, and the CRC-32
//! of all of it. Distances computed by queries are not stored.
//!
//! Version 2 is written after measures were removed: they are absent, and `numbers` (`U64`, of
//! every measure) replaces `removed`; files of version 1 only marked them. Version 3 is for clouds:
//! the metric is that of all their points, and `order` has the points of the net. Version 4 is for
//! relaxed clouds: `prices` (`F64`, of every point) replaces `scales`.

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
use crate::io::container::{self, Checksum, Content, Extra, File};
use crate::io::format::{Input, Wanted};
use crate::io::{ModelFile, file, model_file};
use crate::measure::Measures;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::silent;
use crate::solve::relax;
use crate::units::power_of_two;

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
        Input::open(path, Wanted::Model, None)?.index_or_model(names)
    }

    /// Decodes the bytes of either kind of file; error messages name `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path, names: Option<&[String]>) -> Result<Self> {
        match IndexFile::decode(bytes, path) {
            Err(Error::NotAnIndex { .. }) => ModelFile::decode(bytes, path, names).map(Self::Model),
            index => index.map(|index| Self::Index(Box::new(index))),
        }
    }
}

/// Largest valid number of a measure; a larger one is a sign of damage.
const MOST_NUMBERS: u64 = 1 << 48;

/// Tensors of an index of version 1, in the order of the checksum; those of the metric follow.
const TENSORS: [(&str, Dtype); 10] = [
    ("measures.start", Dtype::U64),
    ("measures.point", Dtype::U32),
    ("measures.mass", Dtype::F64),
    ("removed", Dtype::U8),
    ("order", Dtype::U32),
    ("reference.point", Dtype::U32),
    ("reference.mass", Dtype::F32),
    ("own", Dtype::F32),
    ("scales", Dtype::F32),
    ("steps", Dtype::U16),
];

/// Returns the tensors of a version.
fn tensors_of(version: u64) -> [(&'static str, Dtype); 10] {
    let mut tensors = TENSORS;
    if version > 1 {
        tensors[3] = ("numbers", Dtype::U64);
    }
    if version > 3 {
        tensors[8] = ("prices", Dtype::F64);
    }
    tensors
}

impl IndexFile {
    /// Writes the file atomically.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<()> {
        file::save_bytes(path.as_ref(), &self.to_bytes()?)
    }

    /// Reads a file written by [`save`](Self::save).
    ///
    /// # Errors
    /// The file cannot be read, is not an index of treeport, is damaged, or was written by a newer
    /// treeport.
    pub fn load(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        Self::decode(&file::load(path)?, path)
    }

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
        let version = match index.next_number == index.len() {
            _ if index.prices.is_some() => 4,
            _ if index.is_of_clouds() => 3,
            true => 1,
            false => 2,
        };
        let tensors = index.tensors(version);
        let (metric, metric_tensors) = model_file::metric_parts(&index.indexed.metric);
        let mut facts = json!({
            "columns_used": index.tabled().used,
            "memory": index.options.memory,
            "reference": index.options.reference,
            "by_query": index.by_query,
            "rounds": index.rounds,
            "scale": index.reference.scale,
            "unit": index.indexed.unit,
        });
        if version > 1 {
            facts["next_number"] = json!(index.next_number);
        }
        if version > 3 {
            facts["penalty"] = json!(index.options.penalty);
        }
        let mut keys = vec![("metric", metric), ("index", facts)];
        keys.extend(index.measures.names().map(|names| ("measure_names", json!(names))));
        let all: Vec<&[u8]> = tensors.iter().map(|tensor| &tensor[..]).collect();
        let also: Vec<&[u8]> = metric_tensors.iter().map(|(.., bytes)| &bytes[..]).collect();
        let texts = keys.iter().map(|(_, value)| value);
        let sum = checksum(texts, all.iter().chain(&also), names);
        let extra = Extra { keys, tensors: metric_tensors };
        let entry = container::entry(Content::Index, version, points, &sum, names, &extra);
        let tensors = tensors_of(version).into_iter().zip(all);
        let tensors: Vec<_> = tensors.map(|((name, dtype), bytes)| (name, dtype, bytes)).collect();
        container::encode(Content::Index, entry, &tensors, &extra)
    }

    /// Decodes the bytes of a file; error messages call it `<bytes>`.
    ///
    /// # Errors
    /// Errors of [`load`](Self::load), except for reading the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::decode(bytes, Path::new("<bytes>"))
    }
}

impl Index {
    /// Returns all parts except the metric as bytes, in the order of [`TENSORS`].
    fn tensors(&self, version: u64) -> [Vec<u8>; 10] {
        let numbers = |values: &[usize]| -> Vec<u8> {
            values.iter().flat_map(|&value| (value as u32).to_le_bytes()).collect()
        };
        let singles = |values: &[f32]| -> Vec<u8> {
            values.iter().flat_map(|value| value.to_le_bytes()).collect()
        };
        let long = |values: &[usize]| -> Vec<u8> {
            values.iter().flat_map(|&value| (value as u64).to_le_bytes()).collect()
        };
        let rows = || self.measures.iter();
        let scales =
            self.potentials.base.iter().zip(&self.potentials.step).zip(&self.potentials.constant);
        let scales: Vec<f32> = scales.flat_map(|((&a, &b), &c)| [a, b, c]).collect();
        [
            long(&self.start),
            rows().flat_map(|row| row.support().to_vec()).flat_map(u32::to_le_bytes).collect(),
            rows().flat_map(|row| row.masses().to_vec()).flat_map(f64::to_le_bytes).collect(),
            if version > 1 { long(&self.numbers) } else { vec![0; self.len()] },
            self.tabled().points.iter().flat_map(|point| point.to_le_bytes()).collect(),
            numbers(&self.reference.points),
            singles(&self.reference.mass),
            singles(&self.own_duals),
            match &self.prices {
                Some(prices) => {
                    prices.of_columns.iter().flat_map(|price| price.to_le_bytes()).collect()
                }
                None => singles(&scales),
            },
            self.potentials.blocks.iter().flatten().flat_map(|steps| steps.to_le_bytes()).collect(),
        ]
    }
}

fn checksum<'a>(
    texts: impl Iterator<Item = &'a Value>,
    tensors: impl Iterator<Item = &'a &'a [u8]>,
    names: Option<&[String]>,
) -> String {
    let sum = texts.fold(Checksum::default(), |sum, value| {
        let text = value.to_string();
        sum.number(text.len()).bytes(text.as_bytes())
    });
    tensors.fold(sum, |sum, bytes| sum.number(bytes.len()).bytes(bytes)).names(names)
}

impl IndexFile {
    /// Decodes the bytes of a file; error messages name `path`.
    pub(crate) fn decode(bytes: &[u8], path: &Path) -> Result<Self> {
        let file = File::open(Content::Index, bytes, path)?;
        let missing = |key: &'static str| move |file: &File<'_>| file.missing(key);
        let metric = file.key("metric").ok_or_else(|| missing("metric")(&file))?;
        let facts = file.key("index").ok_or_else(|| missing("index")(&file))?;
        let version = file.version().unwrap_or(1);
        let mut tensors = Vec::with_capacity(TENSORS.len());
        for (name, dtype) in tensors_of(version) {
            tensors.push(file.tensor(name, dtype)?);
        }
        let of_metric = model_file::tensors_of(&file, metric)?;
        let names = file.key("measure_names");
        let point_names = file.names()?;
        let texts = [metric, facts].into_iter().chain(names);
        file.check(&checksum(texts, tensors.iter().chain(&of_metric), point_names.as_deref()))?;
        let measure_names = names.map(|names| {
            let names = names.as_array().map(|names| names.iter().map(Value::as_str));
            let names = names.and_then(|mut names| {
                names.try_fold(Vec::new(), |mut all, name| {
                    all.push(name?.to_owned());
                    Some(all)
                })
            });
            names.ok_or_else(|| file.missing("measure_names"))
        });
        let measure_names = measure_names.transpose()?;
        let read = model_file::read_metric(metric, &of_metric, file.leaves()?);
        let metric = read.unwrap_or_else(|| Err(file.missing("metric")))?;
        let index = assemble(version, &metric, facts, &tensors);
        let mut index = index.ok_or_else(|| file.missing("index"))??;
        if let Some(names) = measure_names {
            let named = index.measures.with_names(names);
            index.measures = named.map_err(|_| file.missing("measure_names"))?;
        }
        if point_names.as_ref().is_some_and(|names| names.len() != metric.points()) {
            return Err(file.missing("names"));
        }
        if version == 1 {
            let removed = (0..).zip(tensors[3]).filter(|(_, removed)| **removed != 0);
            index.remove(&removed.map(|(number, _)| number).collect::<Vec<_>>())?;
        }
        Ok(Self { index, point_names })
    }
}

/// Decodes the numbers of measures and the next number; `None` if they are invalid.
fn numbers_of(
    version: u64,
    tensor: &[u8],
    facts: &Value,
    rows: usize,
) -> Option<(Vec<usize>, usize)> {
    if version == 1 {
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
    let numbers = bytes.as_chunks().0.iter();
    numbers.map(|&b| usize::try_from(u64::from_le_bytes(b)).ok()).collect()
}

/// Assembles an index from the content of a file; `None` if the parts do not fit together.
fn assemble(
    version: u64,
    metric: &GroundMetric,
    facts: &Value,
    tensors: &[&[u8]],
) -> Option<Result<Index>> {
    let [start, point, mass, numbered, order, reference, reference_mass, own, scales, steps] =
        tensors
    else {
        return None;
    };
    let (scales, prices) = if version > 3 { (&[][..], Some(*scales)) } else { (*scales, None) };
    let numbers = |bytes: &[u8]| -> Vec<usize> {
        bytes.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b) as usize).collect()
    };
    let singles = |bytes: &[u8]| -> Vec<f32> {
        bytes.as_chunks().0.iter().map(|&b| f32::from_le_bytes(b)).collect()
    };
    let start = long_numbers(start)?;
    let doubles = |bytes: &[u8]| -> Vec<f64> {
        bytes.as_chunks().0.iter().map(|&b| f64::from_le_bytes(b)).collect()
    };
    let (mass, points) = (doubles(mass), metric.points());
    let measures = Measures::from_csr_or_empty(points, &start, &numbers(point), &mass);
    let measures = if version > 3 { measures } else { measures.and_then(Measures::with_mass) };
    let measures = match measures {
        Ok(measures) => measures,
        Err(error) => return Some(Err(error)),
    };
    let points: Vec<u32> = order.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b)).collect();
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
        && (reference_points.is_empty() == measures.is_empty() || version > 3)
        && reference_mass.len() == 4 * reference_points.len();
    let (given, next_number) = numbers_of(version, numbered, facts, measures.len())?;
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
    let (indexed, net) = if version > 2 {
        if !clouds::are_clouds(metric, &measures) {
            return None;
        }
        (clouds::all_points(metric, unit), Some(tabled))
    } else {
        (tabled, None)
    };
    let mut index = Index {
        indexed,
        net,
        measures: measures.clone(),
        numbers: given,
        next_number,
        reference,
        start: vec![0],
        columns: Vec::new(),
        masses: Vec::new(),
        own_duals: singles(own),
        potentials,
        prices,
        // Files of 0.2 lack this key.
        by_query: facts.get("by_query").and_then(Value::as_bool).unwrap_or(false),
        rounds: usize::try_from(facts.get("rounds")?.as_u64()?).ok()?.clamp(1, ROUNDS),
        options,
    };
    index.append(&measures);
    let has_duals = index.potentials.len() > 0 || index.is_of_clouds();
    let owned = if has_duals { index.columns.len() } else { 0 };
    let complete = index.own_duals.len() == owned
        && !(index.indexed.by_search() && owned > 0)
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
    let steps: Vec<u16> = steps.as_chunks().0.iter().map(|&b| u16::from_le_bytes(b)).collect();
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
