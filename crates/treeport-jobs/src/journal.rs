//! Journals of the finished parts of a long job, from which a later run resumes.
//!
//! A journal is a file beside its target. The first line has the [`JobFingerprint`], so that no job
//! resumes from the journal of another. After it there are either lines, one per finished part
//! ([`Journal::append`]), or bytes that are replaced atomically ([`Journal::replace`]).
//!
//! Every line begins with a CRC-32 of itself and of the CRC on the previous line. A line that was
//! cut off, changed, removed, duplicated or moved is therefore invalid together with all lines
//! after it, and their parts are repeated. Replaced bytes have a CRC of their own. Only one process
//! at a time can open a journal.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use treeport::io::file;

use crate::error::{Error, Result, unread, unwritten};
use crate::fingerprint::JobFingerprint;
use crate::lock::WriteLock;

/// Maximum number of bytes of the first line.
const LONGEST: u64 = 1 << 12;

/// Journal of one job.
///
/// A new journal without lines is removed when it is dropped.
///
/// # Example
/// ```
/// use treeport_jobs::{JobFingerprint, Journal};
/// let folder = tempfile::tempdir().expect("a temporary folder");
/// let (path, job) = (folder.path().join("squares.part"), JobFingerprint::new("squares-1").part("to", 3));
/// Journal::open(&path, &job)?.append(b"1\n4\n")?;
/// // Later, after a crash:
/// let mut journal = Journal::open(&path, &job)?;
/// assert_eq!(journal.lines()?, ["1", "4"]);
/// journal.append(b"9\n")?;
/// journal.remove()?;
/// # Ok::<(), treeport_jobs::Error>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// Text of the first line.
    head: String,
    /// End of the first line.
    start: End,
    /// End of the valid lines; `None` if there is no first line.
    end: Option<End>,
    /// Number of invalid lines.
    dropped: usize,
    /// The file, truncated and positioned at its end, once a line is appended.
    file: Option<File>,
    /// Whether this run created the file and has not added a line.
    empty: bool,
    /// `None` if opened for reading.
    _lock: Option<WriteLock>,
}

/// End of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End {
    /// Byte offset.
    at: u64,
    /// CRC on the line.
    sum: u32,
}

impl Journal {
    /// Returns the path of the journal of a target: its name and `.part`.
    pub fn beside(target: &Path) -> PathBuf {
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        name.into()
    }

    /// Opens the journal of an earlier run of the same job, if there is one.
    ///
    /// The file is not created or changed before the first write. A journal whose first line is
    /// damaged is treated as empty.
    ///
    /// # Errors
    /// The file cannot be read, is open elsewhere, is not a journal ([`Error::NotAJournal`]), or
    /// belongs to another job ([`Error::OtherJob`]).
    pub fn open(path: &Path, job: &JobFingerprint) -> Result<Self> {
        if path.exists() {
            file::check_place(path)?;
        }
        let lock = WriteLock::take(path)?;
        Self::look(path, job, Some(lock))
    }

    /// Reads the complete lines of a journal, which may be in use; empty if it does not exist.
    pub fn read(path: &Path, job: &JobFingerprint) -> Result<Vec<String>> {
        Self::look(path, job, None)?.lines()
    }

    fn look(path: &Path, job: &JobFingerprint, lock: Option<WriteLock>) -> Result<Self> {
        let start = End { at: 0, sum: crc(0, job.to_string().as_bytes()) };
        let head = format!("{job} sum={:08x}\n", start.sum);
        let start = End { at: head.len() as u64, ..start };
        let (path, file) = (path.to_owned(), None);
        let mut journal =
            Self { path, head, start, end: None, dropped: 0, file, empty: false, _lock: lock };
        let file = match File::open(&journal.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(journal),
            file => file.map_err(|source| journal.unread(source))?,
        };
        let mut first = Vec::new();
        let read = BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut first);
        read.map_err(|source| journal.unread(source))?;
        if first == journal.head.as_bytes() {
            journal.end = Some(start);
            journal.take_lines(|_| Ok::<_, Error>(true))?;
        } else if !journal.head.as_bytes().starts_with(&first) {
            journal.refuse(job, &String::from_utf8_lossy(&first))?;
        }
        Ok(journal)
    }

    /// Refuses the first line of another job or program; accepts a damaged one.
    fn refuse(&self, job: &JobFingerprint, line: &str) -> Result<()> {
        let path = self.path.clone();
        if !job.is_kind_of(line) {
            return Err(Error::NotAJournal { path });
        }
        match line.trim_end_matches('\n').rsplit_once(" sum=") {
            Some((other, sum)) if sum == format!("{:08x}", crc(0, other.as_bytes())) => {
                Err(Error::OtherJob { path, parts: job.differences(other) })
            }
            _ => Ok(()),
        }
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines that were cut off, damaged or refused; their parts have to be
    /// repeated.
    pub fn dropped(&self) -> usize {
        self.dropped
    }

    /// Reads the complete lines after the first.
    pub fn lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        self.scan(|line| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok::<_, Error>(true)
        })?;
        Ok(lines)
    }

    /// Passes the complete lines after the first to `take` until it returns `false`; returns the
    /// number of accepted lines.
    ///
    /// A refused line, or one that is not UTF-8, is invalid with all lines after it: the next
    /// [`append`](Self::append) overwrites them.
    pub fn take_lines<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let found = self.scan(|line| str::from_utf8(line).map_or(Ok(false), &mut take))?;
        if self.end != found.end {
            (self.end, self.file) = (found.end, None);
        }
        self.dropped = found.left;
        Ok(found.taken)
    }

    /// Reads the bytes of the last [`replace`](Self::replace), unless they are damaged.
    pub fn rest(&self) -> Result<Option<Vec<u8>>> {
        let Some(mut reader) = self.reader()? else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|source| self.unread(source))?;
        let whole = checked(self.start.sum, &bytes).is_some();
        Ok(whole.then(|| bytes.split_off(PREFIX)))
    }

    /// Appends complete lines, which survive a kill of the process. The first call creates the
    /// file, even without lines.
    ///
    /// # Panics
    /// If the last line has no line feed.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        assert!(lines.is_empty() || lines.ends_with(b"\n"), "a journal has complete lines");
        let end = self.write(lines).map_err(|source| {
            self.file = None; // truncated to the valid lines by the next write
            unwritten(&self.path, source)
        })?;
        self.end = Some(end);
        self.empty &= lines.is_empty();
        Ok(())
    }

    /// Atomically replaces all bytes after the first line. They are not lines: the next
    /// [`append`](Self::append) overwrites them.
    pub fn replace(&mut self, bytes: &[u8]) -> Result<()> {
        let (path, head, sum) = (&self.path, &self.head, crc(self.start.sum, bytes));
        file::save(path, |out| {
            write!(out, "{head}{sum:08x} ")
                .and_then(|()| out.write_all(bytes))
                .map_err(|source| unwritten(path, source))
        })?;
        (self.end, self.file, self.empty) = (Some(self.start), None, false);
        Ok(())
    }

    /// Removes the file of a finished job.
    pub fn remove(mut self) -> Result<()> {
        (self.file, self.empty) = (None, false);
        remove(&self.path)
    }

    /// Writes at the end of the valid lines and returns the new end.
    fn write(&mut self, lines: &[u8]) -> io::Result<End> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(false).open(&self.path)?;
            file.set_len(self.end.map_or(0, |end| end.at))?;
            file.seek(SeekFrom::End(0))?;
            if self.end.is_none() {
                file.write_all(self.head.as_bytes())?;
                (self.end, self.empty) = (Some(self.start), true);
            }
            self.file = Some(file);
        }
        let mut end = self.end.unwrap_or(self.start);
        let mut bytes = Vec::with_capacity(lines.len() + PREFIX);
        for line in lines.split_inclusive(|&byte| byte == b'\n') {
            end.sum = crc(end.sum, &line[..line.len() - 1]);
            write!(bytes, "{:08x} ", end.sum)?;
            bytes.extend_from_slice(line);
        }
        end.at += bytes.len() as u64;
        if let Some(file) = &mut self.file {
            file.write_all(&bytes)?;
        }
        Ok(end)
    }

    /// Reads complete lines until one is damaged or refused.
    fn scan<E: From<Error>>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<Scanned, E> {
        let Some(mut reader) = self.reader()? else { return Ok(Scanned::default()) };
        let (mut end, mut taken, mut left) = (self.start, 0, 0);
        let mut line = Vec::new();
        loop {
            line.clear();
            let size = reader.read_until(b'\n', &mut line).map_err(|source| self.unread(source))?;
            if size == 0 {
                return Ok(Scanned { taken, left, end: Some(end) });
            }
            // Lines after a damaged one are only counted.
            let whole = line.strip_suffix(b"\n").filter(|_| left == 0);
            match whole.and_then(|line| checked(end.sum, line)) {
                Some((sum, text)) if take(text)? => {
                    (taken, end) = (taken + 1, End { at: end.at + size as u64, sum });
                }
                _ => left += 1,
            }
        }
    }

    /// Opens a reader after the first line, if there is one.
    fn reader(&self) -> Result<Option<BufReader<File>>> {
        if self.end.is_none() {
            return Ok(None);
        }
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|source| self.unread(source))?,
        };
        file.seek(SeekFrom::Start(self.start.at)).map_err(|source| self.unread(source))?;
        Ok(Some(BufReader::new(file)))
    }

    fn unread(&self, source: io::Error) -> Error {
        unread(&self.path, source)
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if self.empty {
            // An empty journal would block other jobs.
            let _ = remove_file(&self.path);
        }
    }
}

/// Result of reading the lines.
#[derive(Default)]
struct Scanned {
    taken: usize,
    /// Number of remaining lines.
    left: usize,
    /// End of the last accepted line.
    end: Option<End>,
}

/// Length of the CRC and the blank before the text of a line.
const PREFIX: usize = 9;

/// Computes the CRC of a text after a line with the CRC `before`.
fn crc(before: u32, text: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&before.to_le_bytes());
    hasher.update(text);
    hasher.finalize()
}

/// Returns the CRC and the text of a line if they match each other and the previous line.
fn checked(before: u32, line: &[u8]) -> Option<(u32, &[u8])> {
    let (prefix, text) = line.split_at_checked(PREFIX)?;
    let sum = crc(before, text);
    (prefix == format!("{sum:08x} ").as_bytes()).then_some((sum, text))
}

/// Removes a journal if it exists.
pub fn remove(path: &Path) -> Result<()> {
    match remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let source = io::Error::new(error.kind(), format!("it cannot be removed: {error}"));
            Err(unwritten(path, source))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
