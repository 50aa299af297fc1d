//! Text as it comes: gzip or plain, with a mark of its encoding, with comments before it, with cells
//! between commas, tabs or semicolons.
//!
//! A separator is what the first line has: a tab before a comma before a semicolon. Names of taxa
//! are full of semicolons, and cells in quotes may hold any of them.
//!
//! A small gzip file may hold more than memory does. Lines are weighed while they arrive, and so is
//! what is kept of them, by whoever keeps it.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator, Trim};
use flate2::read::MultiGzDecoder;

use super::bad;
use crate::error::{Error, Result};
use crate::memory;

/// What a gzip file begins with.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// What spreadsheets write in place of a number: no comment begins so.
const ERRORS: [&str; 7] = ["#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"];
/// Longer lines are weighed.
const LONG: u64 = 1 << 22;

/// What a file holds, whether it is gzip or not.
///
/// # Errors
/// The first bytes cannot be read.
pub fn inflated<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut first = Vec::new();
    reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
    let zipped = first == GZIP;
    let whole = Cursor::new(first).chain(reader);
    Ok(if zipped { Box::new(MultiGzDecoder::new(BufReader::new(whole))) } else { Box::new(whole) })
}

/// Whether a file is gzip; it is read from its beginning afterwards.
pub(super) fn is_gzip(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut first = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(first == GZIP)
}

/// All bytes of a file, inflated where they are gzip.
///
/// # Errors
/// They cannot be read, or there is no memory for them.
pub fn read_all<'a>(reader: impl Read + 'a) -> io::Result<Vec<u8>> {
    let mut reader = inflated(reader)?;
    let (mut bytes, mut block) = (Vec::new(), vec![0; 1 << 16]);
    loop {
        let got = match reader.read(&mut block) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            got => got?,
        };
        if got == 0 {
            return Ok(bytes);
        }
        let step = format_args!("the content of a file");
        memory::grow(&mut bytes, step, got, "give less").map_err(io::Error::other)?;
        bytes.extend_from_slice(&block[..got]);
    }
}

/// The text in the bytes of a file, inflated where they are gzip, without the mark that some editors
/// put before it.
///
/// # Errors
/// As [`read_all`]; the bytes are not UTF-8.
pub fn read_text<'a>(reader: impl Read + 'a) -> io::Result<String> {
    let text = String::from_utf8(read_all(reader)?);
    let mut text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Rows of cells, all of the same length.
pub(super) struct Cells<'a> {
    reader: csv::Reader<Box<dyn Read + 'a>>,
    /// Lines before the first that the reader gets.
    skipped: u64,
    columns: Option<usize>,
    /// Rows may have one cell more than the first, as after a header without a cell for the names
    /// of rows.
    pub(super) one_more: bool,
    /// The comment just before the first row, where it has as many cells, which may be its header.
    pub(super) comment: Option<StringRecord>,
    pub(super) separator: u8,
}

impl<'a> Cells<'a> {
    /// Finds the first row, and what its cells are separated by unless that is told.
    pub(super) fn new(reader: impl Read + 'a, separator: Option<u8>) -> Result<Self> {
        let broken = |error| unread(error, "line 1");
        let long = Long { reader: inflated(reader).map_err(broken)?, line: 0, weighed: LONG };
        let mut reader = BufReader::new(long);
        let (mut line, mut comment, mut skipped) = (Vec::new(), None, 0);
        loop {
            line.clear();
            let place = format!("line {}", skipped + 1);
            reader.read_until(b'\n', &mut line).map_err(|error| unread(error, &place))?;
            if skipped == 0 {
                without_mark(&mut line)?;
            }
            match line.first() {
                Some(b'#') if !ERRORS.iter().any(|error| line.starts_with(error.as_bytes())) => {
                    comment = Some(line.clone());
                }
                Some(b'\r' | b'\n') if line.trim_ascii().is_empty() => {}
                _ => break,
            }
            skipped += 1;
        }
        let first = line.split(|&byte| byte == b'\n' || byte == b'\r').next().unwrap_or_default();
        let separator = separator.unwrap_or_else(|| separator_of(first));
        let comment = comment.and_then(|comment| record(&comment[..], separator));
        let like_first = |comment: &StringRecord| {
            comment.len() > 1 && record(first, separator).is_some_and(|r| r.len() == comment.len())
        };
        let comment = comment.filter(like_first);
        // With an end after the last line every row has one, and lines can be counted by them.
        let rest = Cursor::new(line).chain(reader).chain(&b"\n"[..]);
        let rest: Box<dyn Read + 'a> = Box::new(rest);
        let reader = builder(separator).from_reader(rest);
        Ok(Self { reader, skipped, columns: None, one_more: false, comment, separator })
    }

    /// Reads the next row; its line as editors count them, or `None` at the end.
    pub(super) fn next(&mut self, record: &mut StringRecord) -> Result<Option<u64>> {
        let blank = |record: &StringRecord| record.len() == 1 && record[0].is_empty();
        loop {
            let line = self.reader.position().line() + self.skipped;
            let more = self.reader.read_record(record);
            if !more.map_err(|error| broken(error, line, self.skipped))? {
                return Ok(None);
            }
            if !blank(record) {
                break;
            }
        }
        // Where the reader began, there may have been blank lines.
        let within = record.as_slice().bytes().filter(|&byte| byte == b'\n').count() as u64;
        let line = (self.reader.position().line() + self.skipped).saturating_sub(1 + within);
        let expected = *self.columns.get_or_insert(record.len());
        let more = std::mem::take(&mut self.one_more) && record.len() == expected + 1;
        if more {
            self.columns = Some(record.len());
        } else if record.len() != expected {
            let reason = format!("{} cells, but {expected} on the first line", record.len());
            return Err(bad("csv", format!("line {line}"), reason));
        }
        Ok(Some(line))
    }
}

fn builder(separator: u8) -> ReaderBuilder {
    let mut builder = ReaderBuilder::new();
    builder.has_headers(false).flexible(true).trim(Trim::All).delimiter(separator);
    // What is before the end of a line goes with the blanks.
    builder.terminator(Terminator::Any(b'\n'));
    builder
}

/// The cells of one line, if it is text.
fn record(line: &[u8], separator: u8) -> Option<StringRecord> {
    builder(separator).from_reader(line).into_records().next()?.ok()
}

/// What separates the cells of a line, those in quotes aside.
fn separator_of(line: &[u8]) -> u8 {
    let mut quoted = false;
    let mut found = [false; 3];
    for byte in line {
        quoted ^= *byte == b'"';
        if let Some(which) = SEPARATORS.iter().position(|one| one == byte && !quoted) {
            found[which] = true;
        }
    }
    SEPARATORS.into_iter().zip(found).find(|(_, found)| *found).map_or(b',', |(one, _)| one)
}

const SEPARATORS: [u8; 3] = [b'\t', b',', b';'];

/// Takes away the mark of UTF-8; that of another encoding is an error.
fn without_mark(line: &mut Vec<u8>) -> Result<()> {
    if line.starts_with(b"\xef\xbb\xbf") {
        line.drain(..3);
    }
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(bad("csv", "line 1", "the text is UTF-16; save it as UTF-8"));
    }
    Ok(())
}

/// What is wrong with a row after `line`.
fn broken(error: csv::Error, line: u64, skipped: u64) -> Error {
    let line = error.position().map_or(line, |at| at.line() + skipped);
    let place = format!("line {line}");
    match error.into_kind() {
        ErrorKind::Io(error) => unread(error, &place),
        ErrorKind::Utf8 { err, .. } => {
            let reason = format!("column {}: not UTF-8; save the file as UTF-8", err.field() + 1);
            bad("csv", place, reason)
        }
        kind => bad("csv", place, format!("{kind:?}")),
    }
}

/// What keeps bytes from being read: one of our own errors, or what the system or gzip says.
fn unread(error: io::Error, place: &str) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => bad("csv", place, format!("cannot be read on: {error}")),
    }
}

/// Bytes whose lines are weighed as they grow.
struct Long<R> {
    reader: R,
    /// Bytes since the last end of a line.
    line: u64,
    /// The length that is known to fit.
    weighed: u64,
}

impl<R: Read> Read for Long<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        let after = buffer[..got].iter().rev().position(|&byte| byte == b'\n');
        self.line = after.map_or(self.line + got as u64, |after| after as u64);
        if self.line > self.weighed {
            // The line, the cells of it, and both while they grow.
            let step = format_args!("a line of more than {}", memory::show(self.weighed));
            let bytes = self.weighed.saturating_mul(6);
            memory::check(step, bytes, "see whether it is text").map_err(io::Error::other)?;
            self.weighed *= 2;
        }
        Ok(got)
    }
}
