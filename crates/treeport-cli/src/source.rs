//! Where bytes come from. Names of files tell their format; stdin, pipes and files without an ending
//! are told by their first bytes. What can be read only once is kept.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{BufReader, Cursor, Read, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use treeport::Error;
use treeport::io::biom::HDF5;
use treeport::io::text;

use crate::input::{is_standard, name};

/// The formats of inputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// A NumPy array.
    Npy,
    /// A SciPy sparse matrix.
    Npz,
    /// Text with cells between commas, semicolons or tabs, gzip or not.
    Csv,
    /// Text with cells between tabs, gzip or not.
    Tsv,
    /// Trees as Newick text, gzip or not.
    Nwk,
    /// A table of BIOM 1.0, gzip or not.
    Biom,
}

impl Format {
    /// What is between cells, where the format says so.
    pub(crate) fn separator(self) -> Option<u8> {
        (self == Self::Tsv).then_some(b'\t')
    }

    /// Whether it is a table of text.
    pub(crate) fn is_table(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }
}

/// `--input-format`.
static GIVEN: OnceLock<Format> = OnceLock::new();

/// Sets the format of inputs whose names do not tell; once, before the first is read.
pub(crate) fn set_format(format: Option<Format>) {
    // A second call would come from ourselves: there is one command line.
    let _ = format.map(|format| GIVEN.set(format));
}

/// A file, or all of a pipe in memory.
pub(crate) trait Bytes: Read + Seek {}
impl<T: Read + Seek> Bytes for T {}

/// The bytes of an [`Arc`], as [`Cursor`] wants them.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Opens an input, with its format.
pub(crate) fn open(path: &Path) -> Result<(Format, Box<dyn Bytes>)> {
    if let Some(bytes) = piped(path)? {
        let format = GIVEN.get().copied().unwrap_or_else(|| by_bytes(&bytes));
        return Ok((format, Box::new(Cursor::new(Shared(bytes)))));
    }
    let format = format_of(path)?;
    let file = File::open(path).map_err(|source| unreadable(path, source))?;
    let zipped = extension(path) == Some("gz");
    if zipped && matches!(format, Format::Npy | Format::Npz) {
        let bytes = text::read_all(file).map_err(|source| unreadable(path, source))?;
        return Ok((format, Box::new(Cursor::new(bytes))));
    }
    Ok((format, Box::new(BufReader::new(file))))
}

/// All bytes of an input that is no regular file, inflated: stdin or a pipe. It is read once.
pub(crate) fn piped(path: &Path) -> Result<Option<Arc<Vec<u8>>>> {
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
            .map_err(|error| anyhow!(error))
            .context("cannot read stdin")?
    } else {
        let bytes = File::open(path).and_then(text::read_all);
        bytes.map_err(|source| unreadable(path, source))?
    };
    let bytes = Arc::new(bytes);
    read.insert(path.to_owned(), Arc::clone(&bytes));
    Ok(Some(bytes))
}

/// A text, gzip or not, without the mark that some editors put before it.
pub(crate) fn read_text(path: &Path) -> Result<String> {
    let text = match piped(path)? {
        Some(bytes) => text::read_text(&bytes[..]),
        None => File::open(path).and_then(text::read_text),
    };
    Ok(text.map_err(|source| unreadable(path, source))?)
}

/// The format of a regular file.
fn format_of(path: &Path) -> Result<Format> {
    if let Some(format) = by_name(path).or_else(|| GIVEN.get().copied()) {
        return Ok(format);
    }
    if extension(path).is_some_and(|ending| ending != "gz") {
        bail!(
            "{}: cannot tell its format; name it .npy, .npz, .csv or .tsv, or give `--input-format`",
            name(path)
        );
    }
    let mut first = Vec::new();
    let file = File::open(path).and_then(text::inflated);
    let got = file.and_then(|file| file.take(8).read_to_end(&mut first));
    got.map_err(|source| unreadable(path, source))?;
    Ok(by_bytes(&first))
}

/// The format that the name of a file tells.
fn by_name(path: &Path) -> Option<Format> {
    match extension(path)? {
        "gz" => by_name(&path.with_extension("")).filter(|_| path.with_extension("") != path),
        "npy" => Some(Format::Npy),
        "npz" => Some(Format::Npz),
        "csv" | "txt" => Some(Format::Csv),
        "tsv" | "tab" => Some(Format::Tsv),
        "nwk" | "newick" => Some(Format::Nwk),
        "biom" => Some(Format::Biom),
        _ => None,
    }
}

/// The format that the first bytes tell.
fn by_bytes(bytes: &[u8]) -> Format {
    match bytes {
        [0x93, b'N', b'U', b'M', b'P', b'Y', ..] => Format::Npy,
        [b'P', b'K', 3, 4, ..] => Format::Npz,
        // No table of numbers begins with a brace.
        [b'{', ..] => Format::Biom,
        _ if bytes.starts_with(HDF5) => Format::Biom,
        _ => Format::Csv,
    }
}

/// The extension, where it is plain text.
pub(crate) fn extension(path: &Path) -> Option<&str> {
    path.extension().and_then(OsStr::to_str)
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    // What does not fit into memory says so itself.
    match source.downcast::<Error>() {
        Ok(error) => error,
        Err(source) => Error::read(path, source),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_bytes_tell_formats() {
        let named = |name: &str| by_name(Path::new(name));
        assert_eq!(named("a.tsv.gz"), Some(Format::Tsv));
        assert_eq!(named("a.nwk.gz"), Some(Format::Nwk));
        assert_eq!(named("a.txt"), Some(Format::Csv));
        for name in ["a.gz", ".gz", "a", "gz", "a.gz.gz", "a.csv.zip", "x/.csv"] {
            assert_eq!(named(name), None, "{name}");
        }
        assert_eq!(by_bytes(b"\x93NUMPY\x01\x00"), Format::Npy);
        assert_eq!(by_bytes(b"PK\x03\x04"), Format::Npz);
        // A name in the first cell of a table may begin so.
        assert_eq!(by_bytes(b"PK,1\n"), Format::Csv);
        assert_eq!(by_bytes(b""), Format::Csv);
        assert_eq!((named("a.biom"), by_bytes(b"{\"id\": 1}")), (Some(Format::Biom), Format::Biom));
        assert_eq!(by_bytes(b"\x89HDF\r\n\x1a\n"), Format::Biom);
    }
}
