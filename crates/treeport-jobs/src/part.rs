//! Results larger than memory: a file that grows block by block beside its target and replaces it
//! when it is complete.
//!
//! The blocks are in `TARGET.data.part`, in the format of the target. The journal ([`Journal`],
//! `TARGET.part`) has the fingerprint of the job, and the items, bytes and CRC-32 of every block:
//! after a kill, the same job resumes after the last undamaged block.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use crc32fast::Hasher;
use treeport::io::file;

use crate::error::{Error, Result, unread, unwritten};
use crate::fingerprint::JobFingerprint;
use crate::journal::{self, Journal};
use crate::shard::Summed;

/// A file of blocks that becomes its target.
///
/// A file without blocks is removed with its journal when it is dropped.
///
/// # Example
/// ```
/// use treeport_jobs::{JobFingerprint, PartFile};
/// let folder = tempfile::tempdir().expect("a temporary folder");
/// let (target, job) = (folder.path().join("squares.txt"), JobFingerprint::new("squares-1").part("to", 3));
/// PartFile::open(&target, &job, None)?.append(2, b"1\n4\n")?;
/// // Later, after a crash:
/// let mut part = PartFile::open(&target, &job, None)?;
/// assert_eq!(part.items(), 2);
/// part.append(1, b"9\n")?;
/// part.finish()?;
/// assert_eq!(std::fs::read_to_string(target).expect("a file"), "1\n4\n9\n");
/// # Ok::<(), treeport_jobs::Error>(())
/// ```
#[derive(Debug)]
pub struct PartFile {
    target: PathBuf,
    /// Declared before the journal, so that it is dropped while the lock is held.
    data: Data,
    journal: Journal,
    blocks: Vec<Block>,
    /// CRC-32 of all blocks.
    sum: Hasher,
}

/// A block written by one append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Number of items, such as rows or pairs.
    pub items: usize,
    /// Size in bytes.
    pub bytes: u64,
}

/// File of the blocks; removed on drop if it has none.
#[derive(Debug)]
struct Data {
    path: PathBuf,
    file: File,
    empty: bool,
}

impl Drop for Data {
    fn drop(&mut self) {
        if self.empty {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl PartFile {
    /// Creates a file, or resumes from an earlier run of the same job. `bytes` is the final size,
    /// if known.
    ///
    /// # Errors
    /// The files cannot be written; the disk has less free space ([`Error::Disk`]); those of
    /// [`Journal::open`].
    pub fn open(target: &Path, job: &JobFingerprint, bytes: Option<u64>) -> Result<Self> {
        // Beside the link's target, because a rename must not cross file systems.
        let target = file::followed(target).map_err(|source| unwritten(target, source))?;
        let journal = Journal::open(&Journal::beside(&target), job)?;
        let mut path = target.as_os_str().to_owned();
        path.push(".data.part");
        let path = PathBuf::from(path);
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(&path);
        let file = file.map_err(|source| unwritten(&path, source))?;
        let data = Data { path, file, empty: false };
        let mut part = Self { target, journal, data, blocks: Vec::new(), sum: Hasher::new() };
        part.find_blocks()?;
        part.check_disk(bytes)?;
        let size = part.bytes();
        part.data.file.set_len(size).map_err(|source| part.unwritten(source))?;
        // A file that cannot be written is an error before the work.
        part.journal.append(b"")?;
        Ok(part)
    }

    /// Returns the number of items of all blocks.
    pub fn items(&self) -> usize {
        self.blocks.iter().map(|block| block.items).sum()
    }

    /// Returns the size of all blocks in bytes.
    pub fn bytes(&self) -> u64 {
        self.blocks.iter().map(|block| block.bytes).sum()
    }

    /// Returns the blocks in order.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Computes the CRC-32 of all blocks followed by `bytes`.
    pub fn sum_with(&self, bytes: &[u8]) -> u32 {
        let mut sum = self.sum.clone();
        sum.update(bytes);
        sum.finalize()
    }

    /// Returns the number of blocks that were cut off or damaged and have to be repeated.
    pub fn dropped(&self) -> usize {
        self.journal.dropped()
    }

    /// Returns the path of the journal.
    pub fn journal(&self) -> &Path {
        self.journal.path()
    }

    /// Appends a block, which survives a kill of the process.
    pub fn append(&mut self, items: usize, bytes: &[u8]) -> Result<()> {
        let end = SeekFrom::Start(self.bytes());
        let file = &mut self.data.file;
        let written = file.seek(end).and_then(|_| file.write_all(bytes));
        written.map_err(|source| self.unwritten(source))?;
        let block = Block { items, bytes: bytes.len() as u64 };
        let sum = crc32fast::hash(bytes);
        self.journal.append(format!("{items} {} {sum:08x}\n", block.bytes).as_bytes())?;
        self.blocks.push(block);
        self.sum.combine(&Hasher::new_with_initial_len(sum, block.bytes));
        self.data.empty = false;
        Ok(())
    }

    /// Fills `bytes` from offset `at`.
    pub fn read_at(&self, at: u64, bytes: &mut [u8]) -> Result<()> {
        let mut file = &self.data.file;
        let read = file.seek(SeekFrom::Start(at)).and_then(|_| file.read_exact(bytes));
        read.map_err(|source| unread(&self.data.path, source))
    }

    /// Syncs the file to disk and renames it to the target, whose permissions are kept.
    pub fn finish(mut self) -> Result<()> {
        let (file, target) = (&self.data.file, &self.target);
        if let Ok(there) = fs::metadata(target) {
            // If the system refuses, the file has fewer permissions, never more.
            let _ = file.set_permissions(there.permissions());
        }
        file.sync_all()
            .and_then(|()| fs::rename(&self.data.path, target))
            .and_then(|()| file::sync_folder(file::folder(target)))
            .map_err(|source| unwritten(target, source))?;
        self.data.empty = false;
        self.journal.remove()
    }

    /// Removes the blocks and the journal after the caller has written the target.
    pub fn remove(mut self) -> Result<()> {
        self.data.empty = false;
        journal::remove(&self.data.path)?;
        self.journal.remove()
    }

    /// Reads the blocks that match the journal.
    fn find_blocks(&mut self) -> Result<()> {
        let Self { journal, data, blocks, sum: all, .. } = self;
        let path = &data.path;
        let mut reader = BufReader::new(&data.file);
        journal.take_lines(|line| {
            let Some((block, sum)) = parse(line) else { return Ok(false) };
            let whole = sum_of(&mut reader, block.bytes).map_err(|source| unread(path, source))?
                == Some(sum);
            if whole {
                blocks.push(block);
                all.combine(&Hasher::new_with_initial_len(sum, block.bytes));
            }
            Ok::<_, Error>(whole)
        })?;
        data.empty = blocks.is_empty();
        Ok(())
    }

    /// Checks the free space on the disk.
    fn check_disk(&self, bytes: Option<u64>) -> Result<()> {
        let missing = bytes.map_or(0, |bytes| bytes.saturating_sub(self.bytes()));
        match free(file::folder(&self.target)) {
            Some(available) if missing > available => {
                Err(Error::Disk { path: self.target.clone(), bytes: missing, available })
            }
            _ => Ok(()),
        }
    }

    fn unwritten(&self, source: io::Error) -> Error {
        unwritten(&self.data.path, source)
    }
}

/// Parses a block and its checksum from a line of the journal.
fn parse(line: &str) -> Option<(Block, u32)> {
    let mut words = line.split(' ');
    let (items, bytes) = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let sum = u32::from_str_radix(words.next()?, 16).ok()?;
    words.next().is_none().then_some((Block { items, bytes }, sum))
}

/// Computes the checksum of the next `bytes` bytes; `None` if there are fewer.
fn sum_of(reader: &mut impl Read, bytes: u64) -> io::Result<Option<u32>> {
    let mut summed = Summed { out: &mut io::sink(), sum: Hasher::new() };
    let read = io::copy(&mut reader.take(bytes), &mut summed)?;
    Ok((read == bytes).then(|| summed.sum.finalize()))
}

/// Returns the free space on the disk of a folder in bytes, if the system reports it.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job() -> JobFingerprint {
        JobFingerprint::new("test-1").part("of", 7)
    }

    fn count(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    /// Appends the missing blocks and finishes; returns the number of earlier ones.
    fn complete(target: &Path) -> usize {
        let mut part = PartFile::open(target, &job(), Some(30)).unwrap();
        let had = part.items();
        for block in had..3 {
            part.append(1, &[block as u8; 10]).unwrap();
        }
        let mut middle = [9; 4];
        part.read_at(8, &mut middle).unwrap();
        assert_eq!(middle, [0, 0, 1, 1]);
        let expected: Vec<u8> = (0..30).map(|at| at / 10).collect();
        assert_eq!(part.sum_with(b"end"), crc32fast::hash(&[&expected, &b"end"[..]].concat()));
        part.finish().unwrap();
        assert_eq!(fs::read(target).unwrap(), expected);
        assert_eq!(count(target.parent().unwrap()), 1);
        had
    }

    /// The two files after all blocks, before the end.
    fn left(target: &Path) -> [(PathBuf, Vec<u8>); 2] {
        let mut part = PartFile::open(target, &job(), None).unwrap();
        (0..3).for_each(|block| part.append(1, &[block; 10]).unwrap());
        [part.journal().to_owned(), part.data.path.clone()].map(|path| {
            let bytes = fs::read(&path).unwrap();
            (path, bytes)
        })
    }

    #[test]
    fn what_was_cut_or_changed_is_done_again() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("table");
        let files = left(&target);
        assert_eq!(complete(&target), 3);
        for which in [0, 1] {
            let put = |bytes: &[u8]| {
                for (path, bytes) in &files {
                    fs::write(path, bytes).unwrap();
                }
                fs::write(&files[which].0, bytes).unwrap();
            };
            let whole = &files[which].1;
            let mut had: Vec<usize> = Vec::new();
            for size in 0..=whole.len() {
                put(&whole[..size]);
                had.push(complete(&target));
            }
            assert!(had.is_sorted());
            had.dedup();
            assert_eq!(had, [0, 1, 2, 3]);
            for at in whole.len() / 2..whole.len() {
                let mut changed = whole.clone();
                changed[at] ^= 1;
                put(&changed);
                assert!(complete(&target) < 3, "{at}");
            }
        }
        // Missing blocks are repeated although the journal lists them.
        fs::write(&files[0].0, &files[0].1).unwrap();
        assert_eq!(complete(&target), 0);
    }

    #[test]
    fn nothing_done_leaves_nothing_and_other_jobs_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("table");
        drop(PartFile::open(&target, &job(), None).unwrap());
        assert_eq!(count(folder.path()), 0);
        left(&target);
        let other = PartFile::open(&target, &job().part("more", 1), None).unwrap_err();
        assert!(matches!(other, Error::OtherJob { parts, .. } if parts == "more"));
        assert_eq!(complete(&target), 3);
        left(&target);
        PartFile::open(&target, &job(), None).unwrap().remove().unwrap();
        assert_eq!(count(folder.path()), 1, "the target alone");
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_without_room_is_named_with_the_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("table");
        let error = PartFile::open(&target, &job(), Some(1 << 62)).unwrap_err().to_string();
        assert!(error.contains("table` needs 4.6 EB, and "), "{error}");
        assert!(error.contains(" are free on its disk; make room"), "{error}");
        assert_eq!(count(folder.path()), 0);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_stay() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let [link, file] = ["link", "file"].map(|name| folder.path().join(name));
        fs::write(&file, "before").unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
        symlink("file", &link).unwrap();
        let mut part = PartFile::open(&link, &job(), None).unwrap();
        part.append(1, b"after").unwrap();
        part.finish().unwrap();
        assert!(link.is_symlink() && count(folder.path()) == 2);
        assert_eq!(fs::read(&file).unwrap(), b"after");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640);
    }
}
