//! What long work has done so far, in a file beside its target: whoever comes back goes on from
//! there.
//!
//! The first line says which [`Job`] it is, so that no job goes on from what another has left. Then
//! there are lines, each a finished piece of the work ([`Journal::append`]), or bytes that are
//! replaced as a whole ([`Journal::replace`]). A line that was cut off by a crash is dropped.

use std::fs::{File, OpenOptions, remove_file};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::file;
use super::fingerprint::Job;
use crate::error::{Error, Result};

/// No first line of ours is longer.
const LONGEST: u64 = 1 << 12;

/// The journal of one job.
///
/// # Example
/// ```
/// use treeport::io::{fingerprint::Job, journal::Journal};
/// let folder = tempfile::tempdir().expect("a temporary folder");
/// let (path, job) = (folder.path().join("squares.part"), Job::new("squares-1").part("to", 3));
/// Journal::open(&path, &job)?.append(b"1\n4\n")?;
/// // Later, after a crash:
/// let mut journal = Journal::open(&path, &job)?;
/// assert_eq!(journal.lines()?, ["1", "4"]);
/// journal.append(b"9\n")?;
/// journal.remove()?;
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    /// The first line.
    head: String,
    /// Bytes that count, first line and all; `None` while there is no first line.
    end: Option<u64>,
    /// Open, cut and at its end, once something is appended.
    file: Option<File>,
}

impl Journal {
    /// Where the journal of a target is: its name and `.part`.
    pub fn beside(target: &Path) -> PathBuf {
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        name.into()
    }

    /// Opens what an earlier run of the same job has left, if anything.
    ///
    /// Nothing is made or changed before something is written.
    ///
    /// # Errors
    /// The file cannot be read, is no journal ([`Error::NotAJournal`]), or was left by another job
    /// ([`Error::OtherJob`]).
    pub fn open(path: &Path, job: &Job) -> Result<Self> {
        if path.exists() {
            file::check_place(path)?;
        }
        let mut journal = Self { path: path.into(), head: job.line(), end: None, file: None };
        let mut file = match File::open(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(journal),
            file => file.map_err(|source| journal.unread(source))?,
        };
        let mut first = Vec::new();
        if !journal.head.is_empty() {
            let read = BufReader::new((&file).take(LONGEST)).read_until(b'\n', &mut first);
            read.map_err(|source| journal.unread(source))?;
        }
        if !journal.head.as_bytes().starts_with(&first) {
            let path = journal.path;
            return Err(match job.differences(&String::from_utf8_lossy(&first)) {
                Some(parts) if !parts.is_empty() => Error::OtherJob { path, parts },
                _ => Error::NotAJournal { path },
            });
        }
        // A crash in the middle of the first line has left nothing.
        if first.len() == journal.head.len() {
            journal.end = Some(last_end(&mut file).map_err(|source| journal.unread(source))?);
        }
        Ok(journal)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The whole lines, without the first.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn lines(&self) -> Result<Vec<String>> {
        let mut lines = Vec::new();
        let take = |line: &[u8]| {
            lines.push(String::from_utf8_lossy(line).into_owned());
            Ok::<_, Error>(true)
        };
        self.scan(take)?;
        Ok(lines)
    }

    /// Hands over the whole lines one after the other, without the first, until `take` says
    /// `false`; how many it took.
    ///
    /// The line that it did not take and all after it, and one that is no text, no longer count:
    /// the next [`append`](Self::append) overwrites them.
    ///
    /// # Errors
    /// The file cannot be read, or what `take` says.
    pub fn take_lines<E: From<Error>>(
        &mut self,
        mut take: impl FnMut(&str) -> Result<bool, E>,
    ) -> Result<usize, E> {
        let (lines, end) = self.scan(|line| str::from_utf8(line).map_or(Ok(false), &mut take))?;
        if self.end != end {
            (self.end, self.file) = (end, None);
        }
        Ok(lines)
    }

    /// All bytes after the first line; `None` if the job has left nothing.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn rest(&self) -> Result<Option<Vec<u8>>> {
        let Some(mut reader) = self.reader()? else { return Ok(None) };
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(|source| self.unread(source))?;
        Ok(Some(bytes))
    }

    /// Adds whole lines; a kill after this does not undo it. The first time makes the file, even of
    /// no lines.
    ///
    /// # Errors
    /// The file cannot be written. What was there before still counts.
    ///
    /// # Panics
    /// If the last line has no end.
    pub fn append(&mut self, lines: &[u8]) -> Result<()> {
        assert!(lines.is_empty() || lines.ends_with(b"\n"), "a journal takes whole lines");
        let end = self.write(lines).map_err(|source| {
            self.file = None; // to be cut where it was whole
            Error::Write { path: self.path.clone(), source }
        })?;
        self.end = Some(end);
        Ok(())
    }

    /// Replaces all but the first line, whole or not at all.
    ///
    /// # Errors
    /// The file cannot be written. What was there before is still there.
    pub fn replace(&mut self, bytes: &[u8]) -> Result<()> {
        self.file = None;
        let broken = |source| Error::Write { path: self.path.clone(), source };
        file::save(&self.path, |out| {
            out.write_all(self.head.as_bytes()).and_then(|()| out.write_all(bytes)).map_err(broken)
        })?;
        let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        self.end = Some((self.head.len() + whole) as u64);
        Ok(())
    }

    /// Removes the file: the job is done.
    ///
    /// # Errors
    /// As [`remove`].
    pub fn remove(self) -> Result<()> {
        drop(self.file);
        remove(&self.path)
    }

    /// Writes at the end; where that is then.
    fn write(&mut self, lines: &[u8]) -> io::Result<u64> {
        if self.file.is_none() {
            let mut options = OpenOptions::new();
            let mut file = options.write(true).create(true).truncate(false).open(&self.path)?;
            file.set_len(self.end.unwrap_or(0))?;
            file.seek(SeekFrom::End(0))?;
            if self.end.is_none() {
                file.write_all(self.head.as_bytes())?;
                self.end = Some(self.head.len() as u64);
            }
            self.file = Some(file);
        }
        if let Some(file) = &mut self.file {
            file.write_all(lines)?;
        }
        Ok(self.end.unwrap_or(0) + lines.len() as u64)
    }

    /// Goes through whole lines until one is not taken; how many were, and where the last of them
    /// ends.
    fn scan<E: From<Error>>(
        &self,
        mut take: impl FnMut(&[u8]) -> Result<bool, E>,
    ) -> Result<(usize, Option<u64>), E> {
        let (Some(reader), Some(all)) = (self.reader()?, self.end) else { return Ok((0, None)) };
        let (mut lines, mut end) = (0, self.head.len() as u64);
        let mut reader = reader.take(all.saturating_sub(end));
        let mut line = Vec::new();
        loop {
            line.clear();
            reader.read_until(b'\n', &mut line).map_err(|source| self.unread(source))?;
            let Some(text) = line.strip_suffix(b"\n") else { break };
            if !take(text)? {
                break;
            }
            lines += 1;
            end += line.len() as u64;
        }
        Ok((lines, Some(end)))
    }

    /// What comes after the first line, if there is one.
    fn reader(&self) -> Result<Option<BufReader<File>>> {
        if self.end.is_none() {
            return Ok(None);
        }
        let mut file = match File::open(&self.path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            file => file.map_err(|source| self.unread(source))?,
        };
        let start = SeekFrom::Start(self.head.len() as u64);
        file.seek(start).map_err(|source| self.unread(source))?;
        Ok(Some(BufReader::new(file)))
    }

    fn unread(&self, source: io::Error) -> Error {
        Error::Read { path: self.path.clone(), source }
    }
}

/// Removes a journal, if there is one.
///
/// # Errors
/// It cannot be removed.
pub fn remove(path: &Path) -> Result<()> {
    match remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            let source = io::Error::new(error.kind(), format!("it cannot be removed: {error}"));
            Err(Error::Write { path: path.into(), source })
        }
        _ => Ok(()),
    }
}

/// Where the last whole line of a file ends.
fn last_end(file: &mut File) -> io::Result<u64> {
    let mut end = file.metadata()?.len();
    let mut buffer = [0; 1 << 12];
    while end > 0 {
        let size = buffer.len().min(usize::try_from(end).unwrap_or(usize::MAX));
        let start = end - size as u64;
        file.seek(SeekFrom::Start(start))?;
        file.read_exact(&mut buffer[..size])?;
        if let Some(at) = buffer[..size].iter().rposition(|&byte| byte == b'\n') {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
