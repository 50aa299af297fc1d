//! Files of spaces: the container of trees with lines, partitions and weights in it.
//!
//! The header entry `treeport` has the format `treeport.space`, the number of coordinates as
//! `leaves`, and the keys `geometry` (metric and period), `landmarks`, `method`, `partitions`
//! (`grids` or `cells`), `rotated` and `vector_dim`. Tensors:
//!
//! | tensor | content |
//! | --- | --- |
//! | `lines` (`F64`) | directions or landmarks |
//! | `regions` (`F64`) | first and last value of the fitted clouds on each line |
//! | `numbers` (`F64`) | weight of every feature, error, weight outside of the regions or NaN |
//! | `places` (`F64`) | of each grid the rotation, if any, origin, sides and shifts; or all centers |
//! | `centers` (`F64`) | all centers, one after the other; empty if there are none |
//! | `counts` (`U32`) | of each grid the cells around each axis; or of each tree of cells the number of nodes, then the children of all |
//!
//! The checksum is that of all keys and tensors.

use std::path::Path;

use safetensors::tensor::Dtype;
use serde_json::{Value, json};

use super::container::{self, Checksum, Content, Extra, File, from_bytes, object, to_bytes};
use super::file::in_files;
use super::model_file::{period_value, read_period};
use crate::error::Result;
use crate::metric::{Geometry, PointMetric};
use crate::names::Named;
use crate::space::{Cells, Centers, Features, GRIDS, Grid, Lines, Partition, Space};

in_files! {
    Space, decode,
    /// Writes the model to one file atomically. Read again, it gives the same rows and estimates,
    /// to the bit.
    ///
    /// # Errors
    /// The folder or the file cannot be written.
}

/// Names of the tensors, in the order of the checksum.
const TENSORS: [&str; 6] = ["lines", "regions", "numbers", "places", "centers", "counts"];

impl Space {
    /// Returns the bytes of the file that [`Space::save`] writes; equal models give equal bytes.
    ///
    /// # Errors
    /// None in practice: a header has no names.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let doubles = |values: &[f64]| to_bytes(values.iter().copied(), f64::to_le_bytes);
        let regions: Vec<f64> = self.lines.regions.iter().flatten().copied().collect();
        let mut numbers = self.weights.to_vec();
        numbers.extend([self.error, self.lines.outside.unwrap_or(f64::NAN)]);
        let (mut places, mut sizes, mut counts): (Vec<f64>, Vec<u32>, Vec<u32>) =
            Default::default();
        let mut kind = ("none", false);
        for partition in &self.partitions {
            match partition {
                Partition::Grid(grid) => {
                    kind = ("grids", !grid.rotation.is_empty());
                    for part in [&grid.rotation, &grid.origin, &grid.sides, &grid.shifts] {
                        places.extend(part);
                    }
                    counts.extend(&grid.around);
                }
                Partition::Cells(cells) => {
                    kind = ("cells", false);
                    sizes.push(cells.children.len() as u32);
                    counts.extend(&cells.children);
                    places.extend(&cells.centers);
                }
            }
        }
        let counts = to_bytes(sizes.into_iter().chain(counts), u32::to_le_bytes);
        let tensors = [
            doubles(&self.lines.vectors),
            doubles(&regions),
            doubles(&numbers),
            doubles(&places),
            doubles(self.centers.as_ref().map_or(&[], |centers| &centers.vectors)),
            counts,
        ];
        let period = self.geometry.period.as_ref().map_or(Value::Null, period_value);
        let geometry =
            object(vec![("metric", json!(self.geometry.metric.name())), ("period", period)]);
        let keys = vec![
            ("geometry", geometry),
            ("landmarks", json!(self.lines.landmarks)),
            ("method", json!(self.method.name())),
            ("partitions", json!(kind.0)),
            ("rotated", json!(kind.1)),
            ("size", json!(self.partitions.len())),
            ("vector_dim", json!(self.vector_dim)),
        ];
        let sum = checksum(self.dim, keys.iter().map(|of| &of.1), &tensors);
        let extra = Extra { keys, tensors: Vec::new() };
        let entry = container::entry(Content::Space, 1, self.dim, &sum, None, &extra);
        let tensors: Vec<(&str, Dtype, &[u8])> = TENSORS
            .iter()
            .zip(&tensors)
            .map(|(name, bytes)| (*name, dtype(name), &bytes[..]))
            .collect();
        container::encode(Content::Space, entry, &tensors, &Extra::default())
    }
}

fn dtype(tensor: &str) -> Dtype {
    if tensor == "counts" { Dtype::U32 } else { Dtype::F64 }
}

/// Keys of the checksum, in order.
const KEYS: [&str; 7] =
    ["geometry", "landmarks", "method", "partitions", "rotated", "size", "vector_dim"];

fn checksum<'a>(
    dim: usize,
    keys: impl Iterator<Item = &'a Value>,
    tensors: &[impl AsRef<[u8]>],
) -> String {
    let start = Checksum::default().number(dim).values(keys);
    start.tensors(tensors.iter().map(AsRef::as_ref)).names(None)
}

/// Decodes the file of a space; error messages name `path`.
pub(super) fn decode(bytes: &[u8], path: &Path) -> Result<Space> {
    let file = File::open(Content::Space, bytes, path)?;
    let dim = file.leaves()?;
    let mut keys = Vec::with_capacity(KEYS.len());
    for key in KEYS {
        keys.push(file.key(key).ok_or_else(|| file.missing(key))?);
    }
    let mut tensors = Vec::with_capacity(TENSORS.len());
    for name in TENSORS {
        tensors.push(file.tensor(name, dtype(name))?);
    }
    file.check(&checksum(dim, keys.iter().copied(), &tensors))?;
    let space = read(dim, &keys, &tensors).filter(Space::is_sound);
    space.ok_or_else(|| file.damaged("its parts do not fit each other".into()))
}

/// Reads the parts; `None` if one has a wrong kind. Their values are checked afterwards.
fn read(dim: usize, keys: &[&Value], tensors: &[&[u8]]) -> Option<Space> {
    let doubles = |k: usize| -> Vec<f64> { from_bytes(tensors[k], f64::from_le_bytes) };
    let [geometry, landmarks, method, partitions, rotated, size, vector_dim] = keys else {
        return None;
    };
    let metric: PointMetric = geometry.get("metric")?.as_str()?.parse().ok()?;
    let period = match geometry.get("period")? {
        Value::Null => None,
        period => Some(read_period(period)?),
    };
    let geometry = Geometry { metric, period };
    let (size, vector_dim) = (size.as_u64()? as usize, vector_dim.as_u64()? as usize);
    let vectors = doubles(0);
    // There is at least one line, so that both numbers of coordinates are at most the length of a
    // tensor; buffers of that size can be allocated from here on.
    let is_table = vector_dim > 0 && vectors.len().is_multiple_of(vector_dim);
    if !is_table || vectors.is_empty() || !Space::are_dims(metric, dim, vector_dim) {
        return None;
    }
    let halves = geometry.half_periods(dim).ok()?;
    let mut numbers = doubles(2);
    let (outside, error) = (numbers.pop()?, numbers.pop()?);
    let weights: Features = numbers.try_into().ok()?;
    let lines = Lines {
        landmarks: landmarks.as_bool()?,
        vectors,
        regions: doubles(1).as_chunks().0.to_vec(),
        outside: Some(outside).filter(|outside| !outside.is_nan()),
    };
    let counts: Vec<u32> = from_bytes(tensors[5], u32::from_le_bytes);
    let partitions = match partitions.as_str()? {
        "none" => Vec::new(),
        "grids" => read_grids(size, vector_dim, rotated.as_bool()?, &doubles(3), &counts)?,
        "cells" => read_cells(size, vector_dim, &doubles(3), &counts)?,
        _ => return None,
    };
    let method = method.as_str()?.parse().ok()?;
    let mut space = Space {
        geometry,
        dim,
        vector_dim,
        halves,
        method,
        lines,
        partitions,
        centers: None,
        weights,
        error,
    };
    let centers = doubles(4);
    if !centers.is_empty() {
        space.centers = Some(Centers::of(&space, centers)?);
    }
    Some(space)
}

fn read_grids(
    size: usize,
    dim: usize,
    rotated: bool,
    mut places: &[f64],
    mut counts: &[u32],
) -> Option<Vec<Partition>> {
    // Grids without coordinates would have no end.
    if dim == 0 || size > GRIDS {
        return None;
    }
    let mut all = Vec::new();
    for _ in 0..size {
        let rotation = if rotated { dim.checked_mul(dim)? } else { 0 };
        let mut part = |length: usize| Some(places.split_off(..length)?.to_vec());
        let rotation = part(rotation)?;
        let (origin, sides, shifts) = (part(dim)?, part(dim)?, part(dim)?);
        let around = counts.split_off(..dim)?.to_vec();
        all.push(Partition::Grid(Grid { rotation, origin, sides, shifts, around }));
    }
    (places.is_empty() && counts.is_empty()).then_some(all)
}

fn read_cells(
    size: usize,
    dim: usize,
    mut places: &[f64],
    counts: &[u32],
) -> Option<Vec<Partition>> {
    let (sizes, mut counts) = counts.split_at_checked(size)?;
    let mut all = Vec::new();
    for &size in sizes {
        let children = counts.split_off(..size as usize)?.to_vec();
        // Every node but the first has a center, and there is one bound more than nodes.
        let centers = (size as usize).checked_sub(2)?.checked_mul(dim)?;
        let centers = places.split_off(..centers)?.to_vec();
        all.push(Partition::Cells(Cells { children, centers }));
    }
    (places.is_empty() && counts.is_empty()).then_some(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_without_coordinates_are_refused() {
        assert!(read_grids(1 << 62, 0, false, &[], &[]).is_none());
        let places = vec![1.0; 3 * (GRIDS + 1)];
        let counts = [0; GRIDS + 1];
        assert!(read_grids(GRIDS + 1, 1, false, &places, &counts).is_none());
        assert!(read_grids(GRIDS, 1, false, &places[3..], &counts[1..]).is_some());
    }
}
