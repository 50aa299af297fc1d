//! What the files of trees, forests and indexes share.
//!
//! A file is a safetensors container with a text entry `treeport` in its header: a JSON object that
//! says what the file holds, its version, a checksum and the names of the points. It is one entry
//! and not five because the container writes entries in random order; this way the same model is
//! always the same bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::Path;

use safetensors::tensor::{Dtype, Metadata, TensorView};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result};

/// Our entry of the header.
pub(crate) const ENTRY: &str = "treeport";

/// What a file can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Tree,
    Forest,
    Index,
}

impl Content {
    const ALL: [Self; 3] = [Self::Tree, Self::Forest, Self::Index];

    pub(crate) fn format(self) -> &'static str {
        match self {
            Self::Tree => "treeport.tree",
            Self::Forest => "treeport.forest",
            Self::Index => "treeport.index",
        }
    }

    /// The newest version that is read.
    pub(crate) fn version(self) -> u64 {
        match self {
            Self::Tree | Self::Forest => 1,
            Self::Index => 4,
        }
    }

    fn foreign(self, path: &Path, reason: impl Into<String>) -> Error {
        let (path, reason) = (path.into(), reason.into());
        match self {
            Self::Tree => Error::NotATree { path, reason },
            Self::Forest => Error::NotAForest { path, reason },
            Self::Index => Error::NotAnIndex { path, reason },
        }
    }

    /// Why a file of another format is not this.
    fn unlike(self, format: Option<&str>) -> String {
        match Self::ALL.into_iter().find(|other| Some(other.format()) == format) {
            Some(Self::Tree) => "it holds a single tree; open it as one".into(),
            Some(Self::Forest) => "it holds a forest; open it as one".into(),
            Some(Self::Index) => "it holds an index of measures; open it as one".into(),
            None => format!("its format is not `{}`", self.format()),
        }
    }
}

/// CRC-32 of everything that makes a model.
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

    /// Names with their lengths, so that none can shift; the end.
    pub(crate) fn names(mut self, names: Option<&[String]>) -> String {
        for name in names.into_iter().flatten() {
            self = self.number(name.len()).bytes(name.as_bytes());
        }
        format!("{:08x}", self.0.finalize())
    }
}

/// What a file holds besides its model; readers that do not know it skip it.
#[derive(Default)]
pub(crate) struct Extra<'a> {
    /// Keys of our header entry.
    pub(crate) keys: Vec<(&'static str, Value)>,
    pub(crate) tensors: Vec<(&'static str, Dtype, Cow<'a, [u8]>)>,
}

/// The text of our header entry.
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

/// A JSON object whose keys are inserted in sorted order, because the map may keep the order of
/// insertion: a crate elsewhere in the build can choose that.
pub(crate) fn object(mut keys: Vec<(&'static str, Value)>) -> Value {
    keys.sort_by_key(|(key, _)| *key);
    Value::Object(keys.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
}

/// The bytes of a file with this entry and these tensors of one axis each.
///
/// # Errors
/// The names take more than the 100 MB a header may have.
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

/// An open file of ours.
pub(crate) struct File<'a> {
    path: &'a Path,
    metadata: Metadata,
    data: &'a [u8],
    entry: Map<String, Value>,
}

impl<'a> File<'a> {
    /// Reads the header; `path` is for messages.
    pub(crate) fn open(content: Content, bytes: &'a [u8], path: &'a Path) -> Result<Self> {
        let (metadata, data) = split(content, bytes, path)?;
        let entry = read_entry(content, &metadata, path)?;
        Ok(Self { path, metadata, data, entry })
    }

    /// The version of the format.
    pub(crate) fn version(&self) -> Option<u64> {
        self.entry.get("version")?.as_u64()
    }

    /// The number of leaves.
    pub(crate) fn leaves(&self) -> Result<usize> {
        let leaves = self.entry.get("leaves").and_then(Value::as_u64);
        leaves.and_then(|n| usize::try_from(n).ok()).ok_or_else(|| self.missing("leaves"))
    }

    /// The names of the points, where there are any.
    pub(crate) fn names(&self) -> Result<Option<Vec<String>>> {
        let Some(names) = self.entry.get("names") else { return Ok(None) };
        let strings = |names: &Value| -> Option<Vec<String>> {
            names.as_array()?.iter().map(|name| name.as_str().map(str::to_owned)).collect()
        };
        strings(names).map(Some).ok_or_else(|| self.missing("names"))
    }

    /// A key that a file need not have.
    pub(crate) fn key(&self, name: &str) -> Option<&Value> {
        self.entry.get(name)
    }

    /// The bytes of a tensor with one axis.
    pub(crate) fn tensor(&self, name: &str, dtype: Dtype) -> Result<&'a [u8]> {
        let find = || {
            let info = self.metadata.info(name)?;
            let fits = info.dtype == dtype && info.shape.len() == 1;
            fits.then(|| self.data.get(info.data_offsets.0..info.data_offsets.1))?
        };
        find().ok_or_else(|| self.missing(name))
    }

    /// Compares the checksum with that of what was read.
    pub(crate) fn check(&self, found: &str) -> Result<()> {
        let said = self.entry.get("checksum").and_then(Value::as_str);
        let said = said.ok_or_else(|| self.missing("checksum"))?;
        if found != said {
            let reason = format!("its checksum is {said}, but the contents give {found}");
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

/// The container's header and the bytes after it.
///
/// Parsed here and not with `SafeTensors::deserialize`, whose sum of sizes can overflow on a
/// hostile header; nothing is allocated that the file does not hold.
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

/// Our entry of the header, of a version we know.
fn read_entry(content: Content, metadata: &Metadata, path: &Path) -> Result<Map<String, Value>> {
    let foreign = |reason: &str| content.foreign(path, reason);
    let text = metadata.metadata().as_ref().and_then(|entries| entries.get(ENTRY));
    let text = text.ok_or_else(|| foreign("a safetensors file without an entry `treeport`"))?;
    let entry: Map<String, Value> = serde_json::from_str(text)
        .map_err(|_| foreign("its entry `treeport` is no JSON object"))?;
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
