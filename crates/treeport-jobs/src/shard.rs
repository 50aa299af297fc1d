//! Parts of a job that are computed separately and merged.
//!
//! A job has ordered items: pairs, rows of a table, queries. Shard `i` of `n` is a range of these
//! items and holds the bytes that a single run would write for them; the first shard also has the
//! bytes before all items. The concatenated shards are therefore the result of a single run.
//!
//! The file of a shard is a first line, those bytes, and a last line:
//!
//! ```text
//! treeport-shard-1 shard=2 range=40..80 shards=3 items=120 format=csv command=JOB sum=CRC-32
//! …
//! end sum=CRC-32
//! ```
//!
//! The first CRC is of the first line up to it, the second of everything before the last line.

use std::io::{self, BufRead, Read, Write};
use std::ops::Range;
use std::path::Path;

use crc32fast::Hasher;

use crate::error::{Error, Result, unread};
use crate::fingerprint::JobFingerprint;

const MAGIC: &str = "treeport-shard-";
const VERSION: u64 = 1;
/// Maximum number of bytes of the first line.
const LONGEST: u64 = 1 << 12;
/// Bytes of the last line.
const LAST: usize = 17;
/// Bytes passed on at once.
const BLOCK: u64 = 1 << 16;

/// A part of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    number: usize,
    shards: usize,
    items: usize,
    format: String,
    job: JobFingerprint,
}

impl Shard {
    /// Returns part `number` of `shards`, counted from 1, of a job with `items` items; `format`, a
    /// word, is the format of the result. `None` if there is no such part.
    ///
    /// # Example
    /// ```
    /// use treeport_jobs::{JobFingerprint, Shard};
    /// let job = JobFingerprint::new("squares-1");
    /// let ranges = [1, 2, 3].map(|i| Shard::new((i, 3), &job, 7, "txt").expect("one of 3").range());
    /// assert_eq!(ranges, [0..2, 2..4, 4..7]);
    /// assert!(Shard::new((4, 3), &job, 7, "txt").is_none());
    /// ```
    pub fn new(
        (number, shards): (usize, usize),
        job: &JobFingerprint,
        items: usize,
        format: &str,
    ) -> Option<Self> {
        let (format, job) = (format.into(), job.clone());
        (1..=shards).contains(&number).then_some(Self { number, shards, items, format, job })
    }

    /// Returns the number of the shard, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Returns the number of shards of the job.
    pub fn shards(&self) -> usize {
        self.shards
    }

    /// Returns the number of items of the job.
    pub fn items(&self) -> usize {
        self.items
    }

    /// Returns the format of the result.
    pub fn format(&self) -> &str {
        &self.format
    }

    /// Returns the range of the items of the shard; sizes of shards differ by at most one.
    pub fn range(&self) -> Range<usize> {
        let cut =
            |number: usize| (self.items as u128 * number as u128 / self.shards as u128) as usize;
        cut(self.number - 1)..cut(self.number)
    }

    /// Computes the fingerprint of this part of the job, for a journal.
    pub fn own_job(&self) -> JobFingerprint {
        let job = self.job.clone().part("shard", self.number as u64);
        job.part("shards", self.shards as u64)
    }

    /// Lists the differences between the jobs of two shards; empty for parts of one result.
    pub fn differences(&self, other: &Self) -> String {
        JobFingerprint::lasting(&self.whole()).differences(&other.whole())
    }

    /// Returns the text that identifies the job: equal for all shards of one result, and different
    /// for others.
    pub fn whole(&self) -> String {
        let Self { shards, items, format, job, .. } = self;
        format!("shards={shards} items={items} format={format} command={job}")
    }

    /// Returns the first line of the shard's file.
    pub fn first_line(&self) -> String {
        let (Range { start, end }, number) = (self.range(), self.number);
        let text = format!("{MAGIC}{VERSION} shard={number} range={start}..{end} {}", self.whole());
        format!("{text} sum={:08x}\n", crc32fast::hash(text.as_bytes()))
    }

    /// Writes the file of a shard; `write` writes its bytes.
    pub fn write<E: From<io::Error>>(
        &self,
        out: &mut dyn Write,
        write: impl FnOnce(&mut dyn Write) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut out = Summed { out, sum: Hasher::new() };
        out.write_all(self.first_line().as_bytes())?;
        write(&mut out)?;
        Ok(out.out.write_all(last_line(out.sum.finalize()).as_bytes())?)
    }

    /// Parses a first line.
    fn parse(line: &str) -> Option<Self> {
        let text = line.strip_prefix(&format!("{MAGIC}{VERSION} "))?.rsplit_once(" sum=")?.0;
        let (parts, job) = text.split_once(" command=")?;
        let value = |name: &str| {
            let find = |part: &str| part.strip_prefix(name)?.strip_prefix('=').map(str::to_owned);
            parts.split(' ').find_map(find)
        };
        let number = |name: &str| value(name)?.parse().ok();
        let which = (number("shard")?, number("shards")?);
        let shard =
            Self::new(which, &JobFingerprint::lasting(job), number("items")?, &value("format")?)?;
        // The number and the range follow from the other values.
        (shard.first_line() == line).then_some(shard)
    }
}

/// Returns the last line of a file after bytes with this CRC-32.
pub fn last_line(sum: u32) -> String {
    format!("end sum={sum:08x}\n")
}

/// Reads the first line of a shard; error messages name `path`.
pub fn read_first(path: &Path, reader: &mut impl BufRead) -> Result<Shard> {
    let mut line = Vec::new();
    let read = reader.take(LONGEST).read_until(b'\n', &mut line);
    read.map_err(|source| unread(path, source))?;
    let line = String::from_utf8_lossy(&line);
    let Some(rest) = line.strip_prefix(MAGIC) else {
        return Err(Error::NotAShard { path: path.into() });
    };
    match rest.split(' ').next().and_then(|version| version.parse().ok()) {
        Some(found) if found > VERSION => {
            Err(treeport::Error::NewerTree { path: path.into(), known: VERSION, found }.into())
        }
        _ => Shard::parse(&line).ok_or_else(|| damaged(path, "its first line was changed")),
    }
}

/// Reads a shard and passes its bytes to `take` block by block; error messages name `path`. The
/// bytes are verified only at the end.
pub fn read<E: From<Error>>(
    path: &Path,
    mut reader: impl BufRead,
    mut take: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<Shard, E> {
    let shard = read_first(path, &mut reader)?;
    let mut sum = Hasher::new();
    sum.update(shard.first_line().as_bytes());
    // Bytes that may belong to the last line are held back.
    let mut held = Vec::new();
    loop {
        let read = reader.by_ref().take(BLOCK).read_to_end(&mut held);
        if read.map_err(|source| unread(path, source))? == 0 {
            break;
        }
        let block = held.len().saturating_sub(LAST);
        sum.update(&held[..block]);
        take(&held[..block])?;
        held.drain(..block);
    }
    if held != last_line(sum.finalize()).as_bytes() {
        return Err(damaged(path, "it was cut off or changed").into());
    }
    Ok(shard)
}

fn damaged(path: &Path, reason: &str) -> Error {
    treeport::Error::DamagedTree { path: path.into(), reason: reason.into() }.into()
}

/// A writer that computes the checksum of the bytes written.
pub(crate) struct Summed<'a> {
    pub(crate) out: &'a mut dyn Write,
    pub(crate) sum: Hasher,
}

impl Write for Summed<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.sum.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn shard(which: (usize, usize), items: usize) -> Shard {
        Shard::new(which, &JobFingerprint::new("test-1").part("of", 7), items, "csv").unwrap()
    }

    fn file(shard: &Shard, bytes: &[u8]) -> Vec<u8> {
        let mut file = Vec::new();
        shard.write(&mut file, |out| out.write_all(bytes)).unwrap();
        file
    }

    fn read_all(file: &[u8]) -> Result<(Shard, Vec<u8>)> {
        let mut bytes = Vec::new();
        let shard = read(Path::new("a.shard"), file, |block| {
            bytes.extend_from_slice(block);
            Ok::<_, Error>(())
        })?;
        Ok((shard, bytes))
    }

    proptest! {
        #[test]
        fn ranges_are_in_a_row_and_balanced(items in 0..200_usize, shards in 1..50_usize) {
            let ranges: Vec<_> = (1..=shards).map(|i| shard((i, shards), items).range()).collect();
            prop_assert_eq!((ranges[0].start, ranges[shards - 1].end), (0, items));
            prop_assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes = ranges.iter().map(Range::len);
            prop_assert!(sizes.clone().max().unwrap() - sizes.min().unwrap() <= 1);
        }
    }

    #[test]
    fn what_is_written_reads_back() {
        for size in [0, 1, LAST, BLOCK as usize - 1, BLOCK as usize, 3 * BLOCK as usize + 5] {
            let bytes: Vec<u8> = (0..size).map(|at| at as u8).collect();
            let shard = shard((2, 3), usize::MAX);
            assert_eq!(read_all(&file(&shard, &bytes)).unwrap(), (shard, bytes));
        }
    }

    #[test]
    fn the_format_stays() {
        let job = JobFingerprint::lasting("treeport-exact-2 version=0.1.0 metric=00000000000000ff");
        let shard = Shard::new((2, 3), &job, 7, "csv").unwrap();
        let expected = "treeport-shard-1 shard=2 range=2..4 shards=3 items=7 format=csv \
            command=treeport-exact-2 version=0.1.0 metric=00000000000000ff sum=5b981485\n\
            0,1,0.5\nend sum=274d5dcd\n";
        assert_eq!(String::from_utf8(file(&shard, b"0,1,0.5\n")).unwrap(), expected);
    }

    /// A truncated, changed or longer file is an error.
    #[test]
    fn damage_is_found() {
        let whole = file(&shard((1, 2), 5), b"0,1,0.5\n0,2,1\n");
        for size in 0..whole.len() {
            read_all(&whole[..size]).unwrap_err();
        }
        for bit in 0..8 * whole.len() {
            let mut changed = whole.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            let error = read_all(&changed).unwrap_err().to_string();
            assert!(error.starts_with("`a.shard`"), "{bit}: {error}");
        }
        let error = read_all(&[&whole[..], b"\n"].concat()).unwrap_err().to_string();
        assert_eq!(
            error,
            "`a.shard` is damaged: it was cut off or changed; copy it again or write it anew"
        );
        let error = read_all(b"left,right,distance\n").unwrap_err().to_string();
        assert!(error.starts_with("`a.shard` is not a shard"), "{error}");
        let later = String::from_utf8(whole).unwrap().replace("shard-1 ", "shard-2 ");
        let error = read_all(later.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("reads version 1, the file has version 2"), "{error}");
    }

    /// A file without line feeds: the buffer stays bounded.
    #[test]
    fn no_more_is_held_than_a_line_and_a_block() {
        let endless = MAGIC.as_bytes().chain(io::repeat(b'1'));
        let error = read_first(Path::new("a.shard"), &mut io::BufReader::new(endless)).unwrap_err();
        assert!(error.to_string().contains("its first line was changed"), "{error}");
        let (shard, all) = (shard((1, 2), 5), 20 * BLOCK);
        let first = shard.first_line();
        let long = first.as_bytes().chain(io::repeat(b'x').take(all));
        let mut handed = 0;
        let read = read(Path::new("a.shard"), io::BufReader::new(long), |block| {
            assert!(block.len() <= BLOCK as usize + LAST);
            handed += block.len();
            Ok::<_, Error>(())
        });
        read.unwrap_err();
        assert_eq!(handed, all as usize - LAST);
    }

    #[test]
    fn it_says_in_what_another_whole_differs() {
        let mine = shard((1, 3), 5);
        assert_eq!(mine.differences(&shard((3, 3), 5)), "");
        assert_eq!(mine.differences(&shard((1, 4), 6)), "shards, items");
        let job = JobFingerprint::new("test-2").part("of", 8);
        let other = Shard::new((1, 3), &job, 5, "npy").unwrap();
        assert_eq!(mine.differences(&other), "format, command, of");
        assert_ne!(mine.own_job(), shard((2, 3), 5).own_job());
    }
}
