//! The container shared by files of trees, forests and indexes.
//!
//! A file is a safetensors container with a text entry `treeport` in its header: a JSON object with
//! the kind of content, its version, a checksum and the names of the points. It is one entry, not
//! five, because the container writes entries in random order; with one entry the same model always
//! gives the same bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorView};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Key of our entry in the header.
pub(crate) const ENTRY: &str = "treeport";

/// The kinds of content of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Tree,
    Forest,
    Index,
    Space,
}

impl Content {
    const ALL: [Self; 4] = [Self::Tree, Self::Forest, Self::Index, Self::Space];

    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Tree => "treeport.tree",
            Self::Forest => "treeport.forest",
            Self::Index => "treeport.index",
            Self::Space => "treeport.space",
        }
    }

    /// Returns the newest version this release reads.
    pub(crate) fn version(self) -> u64 {
        match self {
            Self::Tree | Self::Forest | Self::Space => 1,
            Self::Index => 5,
        }
    }

    fn foreign(self, path: &Path, reason: impl Into<String>) -> Error {
        let (path, reason) = (path.into(), reason.into());
        match self {
            Self::Tree => Error::NotATree { path, reason },
            Self::Forest => Error::NotAForest { path, reason },
            Self::Index => Error::NotAnIndex { path, reason },
            Self::Space => Error::NotASpace { path, reason },
        }
    }

    /// Returns the reason why a file with another `format` is not of this kind.
    fn unlike(self, format: Option<&str>) -> String {
        match Self::ALL.into_iter().find(|other| Some(other.format()) == format) {
            Some(Self::Tree) => "it holds a single tree; open it as one".into(),
            Some(Self::Forest) => "it holds a forest; open it as one".into(),
            Some(Self::Index) => "it holds an index of measures; open it as one".into(),
            Some(Self::Space) => "it holds a model of clouds; open it as one".into(),
            None => format!("its format is not `{}`", self.format()),
        }
    }
}

/// Returns the bytes of numbers, as `f64::to_le_bytes` or its like gives them.
pub(crate) fn to_bytes<T, const N: usize>(
    numbers: impl IntoIterator<Item = T>,
    bytes: fn(T) -> [u8; N],
) -> Vec<u8> {
    numbers.into_iter().flat_map(bytes).collect()
}

/// Returns the numbers of bytes, as `f64::from_le_bytes` or its like gives them.
pub(crate) fn from_bytes<T, C: FromIterator<T>, const N: usize>(
    bytes: &[u8],
    number: fn([u8; N]) -> T,
) -> C {
    bytes.as_chunks().0.iter().map(|&bytes| number(bytes)).collect()
}

/// CRC-32 over all parts of a model.
#[derive(Default)]
pub(crate) struct Checksum(crc32fast::Hasher);

impl Checksum {
    pub(crate) fn number(mut self, number: usize) -> Self {
        self.0.update(&(number as u64).to_le_bytes());
        self
    }

    pub(crate) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.update(bytes);
        self
    }

    /// Adds the text of each JSON value with its length. The text survives a round trip: keys are
    /// sorted, and numbers are exact to the last bit.
    pub(crate) fn values<'a>(self, values: impl Iterator<Item = &'a Value>) -> Self {
        values.fold(self, |sum, value| {
            let text = value.to_string();
            sum.number(text.len()).bytes(text.as_bytes())
        })
    }

    /// Adds each tensor with its length.
    pub(crate) fn tensors<'a>(self, tensors: impl Iterator<Item = &'a [u8]>) -> Self {
        tensors.fold(self, |sum, bytes| sum.number(bytes.len()).bytes(bytes))
    }

    /// Adds each name with its length, so that bytes cannot move, and returns the checksum.
    pub(crate) fn names(mut self, names: Option<&[String]>) -> String {
        for name in names.into_iter().flatten() {
            self = self.number(name.len()).bytes(name.as_bytes());
        }
        format!("{:08x}", self.0.finalize())
    }
}

/// Content of a file besides its model; readers that do not know it skip it.
#[derive(Default)]
pub(crate) struct Extra<'a> {
    /// Keys of the header entry.
    pub(crate) keys: Vec<(&'static str, Value)>,
    pub(crate) tensors: Vec<(&'static str, Dtype, Cow<'a, [u8]>)>,
}

/// Returns the text of the header entry.
pub(crate) fn entry(
    content: Content,
    version: u64,
    leaves: usize,
    checksum: &str,
    names: Option<&[String]>,
    extra: &Extra<'_>,
) -> String {
    let mut keys = extra.keys.clone();
    keys.push(("checksum", json!(checksum)));
    keys.push(("format", json!(content.format())));
    keys.push(("leaves", json!(leaves)));
    keys.extend(names.map(|names| ("names", json!(names))));
    keys.push(("version", json!(version)));
    object(keys).to_string()
}

/// Returns a JSON object with keys inserted in sorted order: if another crate in the build enables
/// `preserve_order` of serde_json, the map keeps insertion order.
pub(crate) fn object(mut keys: Vec<(&'static str, Value)>) -> Value {
    keys.sort_by_key(|(key, _)| *key);
    Value::Object(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// Returns the bytes of a file with this entry and these one-dimensional tensors. Headers hold at
/// most 100 MB of names.
pub(crate) fn encode(
    content: Content,
    entry: String,
    tensors: &[(&str, Dtype, &[u8])],
    extra: &Extra<'_>,
) -> Result<Vec<u8>> {
    let too_large = |error| Error::Parse {
        format: content.format(),
        place: "header".into(),
        reason: format!("{error}; the names are too long"),
    };
    let also = extra.tensors.iter().map(|(name, dtype, bytes)| (*name, *dtype, &bytes[..]));
    let mut views = Vec::with_capacity(tensors.len() + extra.tensors.len());
    for (name, dtype, bytes) in tensors.iter().copied().chain(also) {
        let size = dtype.bitsize() / 8;
        views.push((
            name,
            TensorView::new(dtype, vec![bytes.len() / size], bytes).map_err(too_large)?,
        ));
    }
    let header = HashMap::from([(ENTRY.to_owned(), entry)]);
    safetensors::serialize(views, Some(header)).map_err(too_large)
}

/// An open file of this format.
pub(crate) struct File<'a> {
    path: &'a Path,
    metadata: Metadata,
    data: &'a [u8],
    entry: Map<String, Value>,
}

impl<'a> File<'a> {
    /// Reads the header; error messages name `path`.
    pub(crate) fn open(content: Content, bytes: &'a [u8], path: &'a Path) -> Result<Self> {
        let (metadata, data) = split(content, bytes, path)?;
        let entry = read_entry(content, &metadata, path)?;
        Ok(Self { path, metadata, data, entry })
    }

    /// Returns the format version of the file.
    pub(crate) fn version(&self) -> Option<u64> {
        self.entry.get("version")?.as_u64()
    }

    pub(crate) fn leaves(&self) -> Result<usize> {
        let leaves = self.entry.get("leaves").and_then(Value::as_u64);
        leaves.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| self.missing("leaves"))
    }

    /// Returns the names of the points, if the file has them.
    pub(crate) fn names(&self) -> Result<Option<Vec<String>>> {
        self.texts("names")
    }

    /// Returns the texts of an optional key.
    pub(crate) fn texts(&self, key: &str) -> Result<Option<Vec<String>>> {
        let Some(texts) = self.entry.get(key) else { return Ok(None) };
        let strings = |texts: &Value| -> Option<Vec<String>> {
            texts.as_array()?.iter().map(|text| text.as_str().map(str::to_owned)).collect()
        };
        strings(texts).map(Some).ok_or_else(|| self.missing(key))
    }

    /// Returns the value of an optional key.
    pub(crate) fn key(&self, name: &str) -> Option<&Value> {
        self.entry.get(name)
    }

    /// Returns the bytes of a one-dimensional tensor.
    pub(crate) fn tensor(&self, name: &str, dtype: Dtype) -> Result<&'a [u8]> {
        let find = || {
            let info = self.metadata.info(name)?;
            let fits = info.dtype == dtype && info.shape.len() == 1;
            fits.then(|| self.data.get(info.data_offsets.0..info.data_offsets.1))?
        };
        find().ok_or_else(|| self.missing(name))
    }

    /// Compares the stored checksum with the computed one.
    pub(crate) fn check(&self, found: &str) -> Result<()> {
        let stored = self.entry.get("checksum").and_then(Value::as_str);
        let stored = stored.ok_or_else(|| self.missing("checksum"))?;
        if found != stored {
            let reason = format!("its checksum is {stored}, but the contents give {found}");
            return Err(self.damaged(reason));
        }
        Ok(())
    }

    pub(crate) fn damaged(&self, reason: String) -> Error {
        Error::DamagedTree { path: self.path.into(), reason }
    }

    pub(crate) fn missing(&self, key: &str) -> Error {
        self.damaged(format!("`{key}` is missing or not what it should be"))
    }
}

/// Splits a file into the container's header and the data after it.
///
/// `SafeTensors::deserialize` is not used because its sum of sizes can overflow on a hostile
/// header. Nothing is allocated beyond the size of the file.
fn split<'a>(content: Content, bytes: &'a [u8], path: &Path) -> Result<(Metadata, &'a [u8])> {
    let foreign = |reason: String| content.foreign(path, reason);
    let Some((size, rest)) = bytes.split_first_chunk() else {
        return Err(foreign(format!("it has only {} bytes", bytes.len())));
    };
    let size = u64::from_le_bytes(*size);
    let split = usize::try_from(size).ok().and_then(|size| rest.split_at_checked(size));
    let Some((header, data)) = split else {
        let reason = "no header fits its first 8 bytes; it is cut off or no safetensors file";
        return Err(foreign(reason.into()));
    };
    let metadata: Metadata = serde_json::from_slice(header)
        .map_err(|error| foreign(format!("no safetensors header: {error}")))?;
    if metadata.data_len() != data.len() {
        let (expected, found) = (metadata.data_len(), data.len());
        let reason = format!("its header speaks of {expected} bytes of data, but it has {found}");
        return Err(Error::DamagedTree { path: path.into(), reason });
    }
    Ok((metadata, data))
}

/// Parses our header entry and checks its format and version.
fn read_entry(content: Content, metadata: &Metadata, path: &Path) -> Result<Map<String, Value>> {
    let foreign = |reason: &str| content.foreign(path, reason);
    let text = metadata.metadata().as_ref().and_then(|entries| entries.get(ENTRY));
    let text = text.ok_or_else(|| foreign("a safetensors file without an entry `treeport`"))?;
    let entry: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| foreign("its entry `treeport` is not a JSON object"))?;
    let format = entry.get("format").and_then(Value::as_str);
    if format != Some(content.format()) {
        return Err(foreign(&content.unlike(format)));
    }
    let known = content.version();
    match entry.get("version").and_then(Value::as_u64) {
        Some(found) if found > known => Err(Error::NewerTree { path: path.into(), known, found }),
        Some(1..) => Ok(entry),
        _ => Err(foreign("it has no version")),
    }
}
