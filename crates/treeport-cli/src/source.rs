//! Files, stdin and pipes as inputs. An input that can be read only once is cached.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::Result;
use treeport::Error;
use treeport::io::format::{Format, Input, InputKind};
use treeport::io::text;

use crate::input::{is_standard, name};

/// Value of `--input-format`.
static GIVEN: OnceLock<Format> = OnceLock::new();

/// Sets the format of inputs whose names do not tell it; called once, before the first is read.
pub(crate) fn set_format(format: Option<Format>) {
    // There is one command line, so a second call is impossible.
    let _ = format.map(|format| GIVEN.set(format));
}

/// Bytes of an [`Arc`], as [`Input`] requires them.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

pub(crate) fn open(path: &Path, wanted: InputKind) -> treeport::Result<Input<'static>> {
    let given = GIVEN.get().copied();
    match piped(path)? {
        Some(bytes) => Input::from_bytes(name(path), Shared(bytes), wanted, given),
        None => Input::open(path, wanted, given),
    }
}

/// Reads all bytes of stdin or a pipe once, inflated; `None` for a regular file.
pub(crate) fn piped(path: &Path) -> treeport::Result<Option<Arc<Vec<u8>>>> {
    static READ: Mutex<BTreeMap<PathBuf, Arc<Vec<u8>>>> = Mutex::new(BTreeMap::new());
    let standard = is_standard(path);
    if !standard && (path.is_file() || path.is_dir() || !path.exists()) {
        return Ok(None);
    }
    let mut read = READ.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(bytes) = read.get(path) {
        return Ok(Some(Arc::clone(bytes)));
    }
    let bytes = if standard {
        text::read_all(std::io::stdin().lock())
    } else {
        File::open(path).and_then(text::read_all)
    };
    let bytes = Arc::new(bytes.map_err(|cause| Error::read(name(path), cause))?);
    read.insert(path.to_owned(), Arc::clone(&bytes));
    Ok(Some(bytes))
}

/// Reads a text, gzip or not, without a byte order mark.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let text = match piped(path)? {
        Some(bytes) => text::read_text(&bytes[..]),
        None => File::open(path).and_then(text::read_text),
    };
    text.map_err(|cause| match Error::read(path, cause) {
        memory @ Error::Memory { .. } => anyhow::Error::from(memory).context(name(path)),
        other => other.into(),
    })
}

/// Returns the extension of a name in lower case, if it is UTF-8.
pub(crate) fn extension(path: &Path) -> Option<String> {
    path.extension().and_then(OsStr::to_str).map(str::to_ascii_lowercase)
}
