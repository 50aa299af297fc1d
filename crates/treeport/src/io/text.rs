//! Text input: gzip or plain, with an optional byte order mark and leading comments, and cells
//! separated by commas, tabs or semicolons.
//!
//! The separator is the one in the first line; a tab takes precedence over a comma, and a comma
//! over a semicolon, because names of taxa contain semicolons. Quoted cells may contain any of
//! them.
//!
//! A small gzip file may inflate to more than the memory. The length of lines is checked while they
//! arrive; callers check the data that they keep.

use std::io::{self, BufRead, BufReader, Cursor, Read, Seek};

use csv::{ErrorKind, ReaderBuilder, StringRecord, Terminator, Trim};
use flate2::read::MultiGzDecoder;

use super::bad;
use crate::error::{Error, Result};
use crate::memory;

/// The first bytes of a gzip file.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Error values of spreadsheets, which do not begin a comment.
const ERRORS: [&str; 7] = ["#N/A", "#VALUE!", "#REF!", "#DIV/0!", "#NUM!", "#NAME?", "#NULL!"];
/// Length in bytes above which lines are checked against memory.
const LONG: u64 = 1 << 22;

/// Returns a reader of the content, inflated if it is gzip.
pub fn inflated<'a>(mut reader: impl Read + 'a) -> io::Result<Box<dyn Read + 'a>> {
    let mut first = Vec::new();
    reader.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
    let zipped = first == GZIP;
    let whole = Cursor::new(first).chain(reader);
    Ok(if zipped { Box::new(MultiGzDecoder::new(BufReader::new(whole))) } else { Box::new(whole) })
}

/// Checks whether a file is gzip, and rewinds it.
pub(super) fn is_gzip(file: &mut (impl Read + Seek)) -> io::Result<bool> {
    let mut first = Vec::new();
    file.by_ref().take(GZIP.len() as u64).read_to_end(&mut first)?;
    file.rewind()?;
    Ok(first == GZIP)
}

/// Reads all bytes, inflated if they are gzip.
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
        let step = "the content of a file";
        memory::grow(&mut bytes, step, got, "give less").map_err(io::Error::other)?;
        bytes.extend_from_slice(&block[..got]);
    }
}

/// Reads UTF-8 text, inflated if it is gzip, without a byte order mark.
pub fn read_text<'a>(reader: impl Read + 'a) -> io::Result<String> {
    let text = String::from_utf8(read_all(reader)?);
    let mut text = text.map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))?;
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

/// Rows of cells, all of equal length.
pub(super) struct Cells<'a> {
    reader: csv::Reader<Box<dyn Read + 'a>>,
    /// Lines before the first line of `reader`.
    skipped: u64,
    columns: Option<usize>,
    /// Admits one more cell in the second row, as after a header without a cell for row names.
    pub(super) one_more: bool,
    /// The last comment with as many cells as the first row, which may be the header.
    pub(super) comment: Option<StringRecord>,
    pub(super) separator: u8,
}

impl<'a> Cells<'a> {
    /// Finds the first row and, unless given, the separator.
    pub(super) fn new(reader: impl Read + 'a, separator: Option<u8>) -> Result<Self> {
        let broken = |error| read_error(error, "line 1");
        let long = CheckedLines::new(inflated(reader).map_err(broken)?);
        let mut reader = BufReader::new(long);
        let (mut line, mut comment, mut skipped) = (Vec::new(), None, 0);
        loop {
            line.clear();
            let place = format!("line {}", skipped + 1);
            reader.read_until(b'\n', &mut line).map_err(|error| read_error(error, &place))?;
            if skipped == 0 {
                strip_byte_order_mark(&mut line)?;
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
        // A final line end gives every row one, so that lines can be counted by them.
        let rest = Cursor::new(line).chain(reader).chain(&b"\n"[..]);
        let rest: Box<dyn Read + 'a> = Box::new(rest);
        let reader = builder(separator).from_reader(rest);
        Ok(Self { reader, skipped, columns: None, one_more: false, comment, separator })
    }

    /// Reads the next row; returns its line number, or `None` at the end.
    pub(super) fn next(&mut self, record: &mut StringRecord) -> Result<Option<u64>> {
        let blank = |record: &StringRecord| record.len() == 1 && record[0].is_empty();
        loop {
            let line = self.reader.position().line() + self.skipped;
            let more = self.reader.read_record(record);
            if !more.map_err(|error| row_error(error, line, self.skipped))? {
                return Ok(None);
            }
            if !blank(record) {
                break;
            }
        }
        // Blank lines may precede the row.
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
    // Trimming removes a `\r` before the line feed.
    builder.terminator(Terminator::Any(b'\n'));
    builder
}

/// Parses the cells of one line; `None` if it is not text.
fn record(line: &[u8], separator: u8) -> Option<StringRecord> {
    builder(separator).from_reader(line).into_records().next()?.ok()
}

/// Finds the separator of a line outside quotes.
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

/// Removes a UTF-8 byte order mark; one of UTF-16 is an error.
fn strip_byte_order_mark(line: &mut Vec<u8>) -> Result<()> {
    if line.starts_with(b"\xef\xbb\xbf") {
        line.drain(..3);
    }
    if line.starts_with(b"\xff\xfe") || line.starts_with(b"\xfe\xff") {
        return Err(bad("csv", "line 1", "the text is UTF-16; save it as UTF-8"));
    }
    Ok(())
}

/// Converts a parse error of a row after `line`.
fn row_error(error: csv::Error, line: u64, skipped: u64) -> Error {
    let line = error.position().map_or(line, |at| at.line() + skipped);
    let place = format!("line {line}");
    match error.into_kind() {
        ErrorKind::Io(error) => read_error(error, &place),
        ErrorKind::Utf8 { err, .. } => {
            let reason = format!("column {}: not UTF-8; save the file as UTF-8", err.field() + 1);
            bad("csv", place, reason)
        }
        kind => bad("csv", place, format!("{kind:?}")),
    }
}

/// Converts an input error: one of our own errors, or one of the system or of gzip.
fn read_error(error: io::Error, place: &str) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => bad("csv", place, format!("cannot be read further: {error}")),
    }
}

/// A reader that checks the memory for long lines while they grow.
pub(super) struct CheckedLines<R> {
    reader: R,
    /// Bytes since the last line end.
    line: u64,
    /// The length that is known to fit.
    checked: u64,
}

impl<R> CheckedLines<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, line: 0, checked: LONG }
    }
}

impl<R: Read> Read for CheckedLines<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        let after = buffer[..got].iter().rev().position(|&byte| byte == b'\n');
        self.line = after.map_or(self.line + got as u64, |after| after as u64);
        if self.line > self.checked {
            // The line and its cells, each of which may double while it grows.
            let step = format_args!("a line of more than {}", memory::show(self.checked));
            let bytes = self.checked.saturating_mul(6);
            memory::check(step, bytes, "check that the file is text").map_err(io::Error::other)?;
            self.checked *= 2;
        }
        Ok(got)
    }
}
