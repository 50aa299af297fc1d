//! NumPy `.npz` archives, and SciPy sparse matrices in them.
//!
//! An archive is a zip of `.npy` members, stored or deflated. `scipy.sparse.save_npz` writes the
//! members `format`, `shape`, `data` and, by format, `indices` and `indptr` or `row` and `col`.

use std::collections::BTreeMap;
use std::io::{self, Read, Seek, SeekFrom, Write};

use zip::result::ZipError;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

use super::{Array, Data, bad, npy};
use crate::error::{Error, Result};
use crate::memory;
use crate::tools::csr::Csr;

/// Reads all arrays of an archive, keyed by name without `.npy`.
pub fn read(reader: impl Read + Seek) -> Result<BTreeMap<String, Array>> {
    let mut archive = open(reader)?;
    let mut arrays = BTreeMap::new();
    for number in 0..archive.len() {
        let broken = |e: ZipError| bad("npz", format!("member {number}"), e.to_string());
        let member = archive.by_index(number).map_err(broken)?;
        let name = member.name().map_err(broken)?.into_owned();
        let Some(name) = name.strip_suffix(".npy") else { continue };
        let array = npy::read(member).map_err(|e| inside(name, e))?;
        arrays.insert(name.to_owned(), array);
    }
    Ok(arrays)
}

/// Reads one array of an archive and skips all others.
pub fn read_one(reader: impl Read + Seek, name: &str) -> Result<Array> {
    read_member(&mut open(reader)?, name, "")
}

pub(super) fn open<R: Read + Seek>(reader: R) -> Result<ZipArchive<R>> {
    ZipArchive::new(reader).map_err(|e| bad("npz", "archive", format!("not a NumPy archive: {e}")))
}

/// Adds the member's name to an error.
pub(super) fn inside(member: &str, error: Error) -> Error {
    match error {
        Error::Parse { place, reason, .. } => {
            bad("npz", format!("member `{member}`, {place}"), reason)
        }
        other => other,
    }
}

/// Reads a SciPy sparse matrix in CSR, CSC or COO format, and only the members that it needs.
///
/// Columns are in increasing order; duplicate entries add up, as in SciPy.
///
/// # Errors
/// A member is missing, the format is another, or bounds and indices do not fit the shape.
pub fn read_csr(reader: impl Read + Seek) -> Result<Csr> {
    let archive = &mut open(reader)?;
    let format = match read_member(archive, "format", SPARSE)?.data {
        Data::Text(names) if names.len() == 1 => names[0].clone(),
        _ => return Err(bad("npz", "member `format`", "one string is expected")),
    };
    let [rows, cols] = indices(archive, "shape")?[..] else {
        return Err(bad("npz", "member `shape`", "two numbers are expected"));
    };
    let values = read_member(archive, "data", SPARSE)?.into_f64().map_err(|e| inside("data", e))?;
    let count = values.len();
    match format.as_str() {
        "csr" => {
            let start = bounds(archive, rows, count)?;
            let indices = places(archive, "indices", cols, count)?;
            sorted(Csr { rows, cols, start, indices, values })
        }
        "csc" => {
            check_rows(rows, count)?;
            let start = bounds(archive, cols, count)?;
            let indices = places(archive, "indices", rows, count)?;
            let col = start.windows(2).enumerate().flat_map(|(c, w)| (w[0]..w[1]).map(move |_| c));
            sorted(gather(rows, cols, &indices, col, &values)?)
        }
        "coo" => {
            check_rows(rows, count)?;
            let row = places(archive, "row", rows, count)?;
            let col = places(archive, "col", cols, count)?;
            sorted(gather(rows, cols, &row, col.into_iter(), &values)?)
        }
        other => {
            let reason = format!("sparse format `{other}`; csr, csc and coo can be read");
            Err(bad("npz", "member `format`", reason))
        }
    }
}

/// Completes the error about a missing member.
const SPARSE: &str = "; a matrix saved by scipy.sparse is expected";

/// Reads one member if the archive has it.
pub(super) fn read_optional_member<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
) -> Result<Option<Array>> {
    match archive.by_name(&format!("{name}.npy")) {
        Err(ZipError::FileNotFound) => return Ok(None),
        Err(error) => return Err(bad("npz", format!("member `{name}`"), error.to_string())),
        Ok(_) => {}
    }
    read_member(archive, name, "").map(Some)
}

/// Reads one member; `expected` completes the error if it is missing.
pub(super) fn read_member<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    expected: &str,
) -> Result<Array> {
    let member = archive.by_name(&format!("{name}.npy")).map_err(|error| match error {
        ZipError::FileNotFound => bad("npz", "archive", format!("no member `{name}`{expected}")),
        error => bad("npz", format!("member `{name}`"), error.to_string()),
    })?;
    npy::read(member).map_err(|e| inside(name, e))
}

fn indices<R: Read + Seek>(archive: &mut ZipArchive<R>, name: &str) -> Result<Vec<usize>> {
    read_member(archive, name, SPARSE)?.to_indices().map_err(|e| inside(name, e))
}

/// Reads `entries` indices and checks that each is below `limit`.
fn places<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    name: &str,
    limit: usize,
    entries: usize,
) -> Result<Vec<usize>> {
    let indices = indices(archive, name)?;
    let wrong = |reason| Err(bad("npz", format!("member `{name}`"), reason));
    if indices.len() != entries {
        return wrong(format!("{} indices for {entries} values", indices.len()));
    }
    match indices.iter().position(|&i| i >= limit) {
        Some(at) => {
            wrong(format!("index {} at entry {at}, but the shape ends at {limit}", indices[at]))
        }
        None => Ok(indices),
    }
}

/// Reads the row or column bounds of a compressed matrix with `lines` rows or columns.
fn bounds<R: Read + Seek>(
    archive: &mut ZipArchive<R>,
    lines: usize,
    entries: usize,
) -> Result<Vec<usize>> {
    let start = indices(archive, "indptr")?;
    let wrong = |reason| Err(bad("npz", "member `indptr`", reason));
    if Some(start.len()) != lines.checked_add(1) {
        return wrong(format!("{} bounds for {lines} lines; one more is expected", start.len()));
    }
    if let Some(at) = start.windows(2).position(|w| w[0] > w[1]) {
        return wrong(format!("bound {at} is {}, the next one {}", start[at], start[at + 1]));
    }
    if start.first() != Some(&0) || start.last() != Some(&entries) {
        return wrong(format!("bounds must run from 0 to the {entries} values"));
    }
    Ok(start)
}

/// Refuses a shape with far more rows than entries, whose row bounds need much memory.
fn check_rows(rows: usize, entries: usize) -> Result<()> {
    if rows > 1_000_000 + entries.saturating_mul(16) {
        let reason = format!("{rows} rows for {entries} values; nearly all would be empty");
        return Err(bad("npz", "member `shape`", reason));
    }
    Ok(())
}

/// Groups entries in any order into compressed rows; the entries of a row keep their order.
fn gather(
    rows: usize,
    cols: usize,
    row: &[usize],
    col: impl Iterator<Item = usize> + Clone,
    values: &[f64],
) -> Result<Csr> {
    check_copy(2 * row.len())?;
    let entries = row.iter().copied().zip(col.zip(values.iter().copied()));
    Ok(Csr::gathered(rows, cols, entries))
}

/// Checks that a second copy of `entries` entries fits into memory.
fn check_copy(entries: usize) -> Result<()> {
    let step = format_args!("sorting a sparse matrix of {entries} entries");
    let sorted = "save it as CSR with sorted indices";
    memory::check(step, memory::size_of::<(usize, f64)>(&[entries]), sorted)
}

/// Sorts the columns of every row and adds up duplicates.
fn sorted(csr: Csr) -> Result<Csr> {
    let increasing = |w: &[usize]| csr.indices[w[0]..w[1]].is_sorted_by(|a, b| a < b);
    if csr.start.windows(2).all(increasing) {
        return Ok(csr);
    }
    check_copy(csr.values.len())?;
    let mut all = Csr { rows: csr.rows, cols: csr.cols, start: vec![0], ..Csr::default() };
    for w in csr.start.windows(2) {
        let mut row: Vec<usize> = (w[0]..w[1]).collect();
        row.sort_by_key(|&e| csr.indices[e]);
        let first = all.indices.len();
        for e in row {
            if all.indices.len() > first && all.indices.last() == Some(&csr.indices[e]) {
                all.values[all.indices.len() - 1] += csr.values[e];
            } else {
                all.indices.push(csr.indices[e]);
                all.values.push(csr.values[e]);
            }
        }
        all.start.push(all.indices.len());
    }
    Ok(all)
}

/// Writes a matrix in the format of `scipy.sparse.load_npz`, uncompressed.
pub fn write_csr(matrix: &Csr, out: impl Write + Seek) -> io::Result<()> {
    let shape = [matrix.rows, matrix.cols];
    write_csr_with(shape, matrix.values.len(), out, |entries, out| match entries {
        Entries::Indices => put(out, &signed(&matrix.indices)?, |v| v.to_le_bytes()),
        Entries::Start => put(out, &signed(&matrix.start)?, |v| v.to_le_bytes()),
        Entries::Values => put(out, &matrix.values, |v| v.to_le_bytes()),
    })
}

/// The three arrays of a [`Csr`], in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entries {
    /// Columns, as little-endian `i64`.
    Indices,
    /// Row bounds, one more than rows, as little-endian `i64`.
    Start,
    /// Values, as little-endian `f64`.
    Values,
}

/// Writes the file of [`write_csr`] for a matrix that is not in memory; `put` writes the bytes of
/// each array.
pub fn write_csr_with(
    shape: [usize; 2],
    entries: usize,
    out: impl Write + Seek,
    mut put: impl FnMut(Entries, &mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    write_archive(out, |archive| {
        member(archive, "format", |out| npy::write_name(*b"csr", out))?;
        member(archive, "shape", |out| npy::write_i64(&[2], &signed(&shape)?, out))?;
        member(archive, "indices", |out| {
            npy::write_i64_header(&[entries], &mut *out)?;
            put(Entries::Indices, out)
        })?;
        member(archive, "indptr", |out| {
            npy::write_i64_header(&[shape[0] + 1], &mut *out)?;
            put(Entries::Start, out)
        })?;
        member(archive, "data", |out| {
            npy::write_f64_header(&[entries], &mut *out)?;
            put(Entries::Values, out)
        })
    })
}

/// Writes an archive; `write` writes its members, each by [`member`].
pub(super) fn write_archive<W: Write + Seek>(
    out: W,
    write: impl FnOnce(&mut ZipWriter<DeferredErrors<'_, W>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut failed = None;
    let mut archive = ZipWriter::new(DeferredErrors { out, failed: &mut failed, at: 0, end: 0 });
    let written = write(&mut archive);
    let written = written.and_then(|()| archive.finish().map(drop).map_err(into_io));
    failed.map_or(written, Err)
}

/// Writes numbers as bytes, chunk by chunk.
fn put<T>(out: &mut dyn Write, values: &[T], bytes: fn(&T) -> [u8; 8]) -> io::Result<()> {
    values
        .chunks(CHUNK)
        .try_for_each(|chunk| out.write_all(&chunk.iter().flat_map(bytes).collect::<Vec<u8>>()))
}

/// Numbers per chunk.
const CHUNK: usize = 1 << 13;

/// An output that records its first error in `failed`, reports success and discards later writes,
/// because an unfinished archive prints to stderr when it is dropped.
pub(super) struct DeferredErrors<'a, W> {
    out: W,
    failed: &'a mut Option<io::Error>,
    /// Position and end of the file as the archive sees them.
    at: u64,
    end: u64,
}

impl<W> DeferredErrors<'_, W> {
    /// Runs `act` unless an earlier one has failed.
    fn attempt<T>(&mut self, act: impl FnOnce(&mut W) -> io::Result<T>) {
        if self.failed.is_none() {
            *self.failed = act(&mut self.out).err();
        }
    }
}

impl<W: Write> Write for DeferredErrors<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.attempt(|out| out.write_all(bytes));
        self.at += bytes.len() as u64;
        self.end = self.end.max(self.at);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.attempt(W::flush);
        Ok(())
    }
}

impl<W: Seek> Seek for DeferredErrors<'_, W> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.end.checked_add_signed(by),
        };
        self.at = at.ok_or(io::ErrorKind::InvalidInput)?;
        self.attempt(|out| out.seek(to));
        Ok(self.at)
    }
}

pub(super) fn member<W: Write + Seek>(
    archive: &mut ZipWriter<W>,
    name: &str,
    write: impl FnOnce(&mut ZipWriter<W>) -> io::Result<()>,
) -> io::Result<()> {
    let options =
        SimpleFileOptions::default().compression_method(CompressionMethod::Stored).large_file(true); // members may pass 4 GiB, and the size is not known before
    archive.start_file(format!("{name}.npy"), options).map_err(into_io)?;
    write(archive)
}

pub(super) fn signed(values: &[usize]) -> io::Result<Vec<i64>> {
    let narrow = |&v| i64::try_from(v).map_err(|e| io::Error::new(io::ErrorKind::InvalidInput, e));
    values.iter().map(narrow).collect()
}

fn into_io(error: ZipError) -> io::Error {
    match error {
        ZipError::Io(e) => e,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
#[path = "npz_tests.rs"]
mod tests;
