//! Results larger than memory, written in blocks; an interrupted run resumes.

use std::fs::File;
use std::io::Read;
use std::ops::{Range, RangeInclusive};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Result;
use treeport::memory;
use treeport::progress::Progress;
use treeport::{Error, Model};
use treeport_jobs::fingerprint::{Mix, of_tree};
use treeport_jobs::shard::last_line;
use treeport_jobs::{JobFingerprint, PartFile, Shard};

use crate::interrupt;
use crate::output::Output;
use crate::progress::{KeptItems, Watch};
use crate::{solved, source};

/// Target time of a block: the work that a kill can lose.
const BLOCK_TIME: Duration = Duration::from_secs(2);
/// Target size of a block in bytes.
const BLOCK_BYTES: u64 = 1 << 24;

/// A result of a known number of items while it is written.
pub(crate) struct Parts<'a> {
    pub(crate) file: PartFile,
    all: usize,
    /// Name of the items.
    what: &'a str,
    output: &'a Output,
    /// Returns the number of items from earlier runs.
    earlier: usize,
    /// The shard that the result belongs to, if any.
    shard: Option<&'a Shard>,
}

impl<'a> Parts<'a> {
    /// Starts a result, or resumes from an earlier run of the same job; `bytes` is the final size,
    /// if known.
    pub(crate) fn open(
        target: &Path,
        job: &JobFingerprint,
        (all, what): (usize, &'a str),
        bytes: Option<u64>,
        output: &'a Output,
    ) -> Result<Self> {
        let file = PartFile::open(target, job, bytes)
            .map_err(|error| solved::explained(error, "journal of this command"))?;
        let earlier = file.items();
        let parts = Self { file, all, what, output, earlier, shard: None };
        parts.kept().note_earlier(output, parts.file.dropped(), "block");
        Ok(parts)
    }

    fn kept(&self) -> KeptItems<'_> {
        let (path, done) = (self.file.journal(), self.file.items());
        KeptItems { path, done, all: self.all, items: self.what }
    }

    /// Restricts the result to a shard; `all` counts only its items.
    pub(crate) fn of(self, shard: Option<&'a Shard>) -> Self {
        Self { shard, ..self }
    }

    /// Number of items from earlier runs.
    pub(crate) fn earlier(&self) -> usize {
        self.earlier
    }

    /// Computes the missing items; the file begins with `head`. Returns false if interrupted.
    ///
    /// The first block has the least of the `sizes`; later ones adapt to time, memory and bytes. The
    /// content does not depend on the sizes.
    pub(crate) fn fill(
        &mut self,
        sizes: RangeInclusive<usize>,
        head: &[u8],
        mut work: impl FnMut(&PartFile, Range<usize>, &Progress<'_>) -> Result<Vec<u8>>,
    ) -> Result<bool> {
        let head = self.head(head);
        let watch = Watch::new(self.output);
        let (least, most) = sizes.into_inner();
        let mut size = least;
        let room = memory::available().map_or(BLOCK_BYTES, |bytes| BLOCK_BYTES.min(bytes / 8));
        while self.file.items() < self.all {
            let done = self.file.items();
            let items = done..self.all.min(done.saturating_add(size));
            let begun = Instant::now();
            let bytes = match work(&self.file, items.clone(), &watch.after(done, self.all)) {
                Err(error) if is_canceled(&error) => return Ok(false),
                bytes => bytes?,
            };
            let size_of_bytes = bytes.len().max(1) as f64;
            let bytes = if done == 0 { [&head[..], &bytes].concat() } else { bytes };
            self.append(items.len(), bytes)?;
            let time = BLOCK_TIME.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-6);
            let pace = time.min(room as f64 / size_of_bytes).clamp(0.25, 4.0);
            size = ((items.len() as f64 * pace) as usize).clamp(least, most);
        }
        if self.all == 0 && self.file.blocks().is_empty() {
            self.append(0, head)?;
        }
        Ok(true)
    }

    /// Returns the bytes before the items; of all shards, only the first has `head`.
    fn head(&self, head: &[u8]) -> Vec<u8> {
        match self.shard {
            None => head.to_vec(),
            Some(shard) if shard.number() > 1 => shard.first_line().into(),
            Some(shard) => [shard.first_line().as_bytes(), head].concat(),
        }
    }

    /// Appends a block; the last one of a shard includes its last line, which is written once.
    fn append(&mut self, items: usize, mut bytes: Vec<u8>) -> Result<()> {
        if self.shard.is_some() && self.file.items() + items == self.all {
            bytes.extend(last_line(self.file.sum_with(&bytes)).bytes());
        }
        Ok(self.file.append(items, &bytes)?)
    }

    /// Prints the interruption and how to resume.
    pub(crate) fn interrupted(&self) -> ExitCode {
        self.output.note(&self.kept().interrupted());
        ExitCode::from(interrupt::EXIT_CODE)
    }
}

fn is_canceled(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(Error::Canceled))
}

/// Returns the path of a regular file; others, such as a pipe, cannot have a journal.
pub(crate) fn regular(file: Option<&Path>) -> Option<&Path> {
    file.filter(|path| !path.exists() || path.is_file())
}

/// Computes the fingerprint of a model.
pub(crate) fn of_model(model: &Model) -> u64 {
    let mut mix = Mix::new();
    model.trees().iter().for_each(|tree| mix.word(of_tree(tree)));
    mix.numbers(model.weights().iter().copied());
    mix.number()
}

/// Computes the fingerprint of a file's bytes.
pub(crate) fn of_file(path: &Path) -> Result<u64> {
    let unread = |source| Error::read(path, source);
    let (mut mix, mut block) = (Mix::new(), Vec::new());
    if let Some(bytes) = source::piped(path)? {
        bytes.chunks(1 << 20).for_each(|block| mix.bytes(block));
        return Ok(mix.number());
    }
    let mut file = File::open(path).map_err(unread)?;
    while file.by_ref().take(1 << 20).read_to_end(&mut block).map_err(unread)? > 0 {
        mix.bytes(&block);
        block.clear();
    }
    Ok(mix.number())
}

/// Computes the fingerprint of optional names.
pub(crate) fn of_names(names: Option<&[String]>) -> u64 {
    let mut mix = Mix::new();
    names.into_iter().flatten().for_each(|name| mix.text(name));
    mix.number()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use treeport_report::terminal::Global;

    use super::*;

    #[derive(Parser)]
    struct Quiet {
        #[command(flatten)]
        global: Global,
    }

    fn quiet() -> Output {
        Output::new(&Quiet::parse_from(["test", "--quiet"]).global)
    }

    /// Writes numbers from 0 up as bytes, stopping after `most` calls.
    fn numbers(target: &Path, all: usize, first: usize, most: usize) -> Option<Vec<u8>> {
        let (output, mut calls) = (quiet(), 0);
        let job = JobFingerprint::new("test-1");
        let mut parts = Parts::open(target, &job, (all, "numbers"), None, &output).expect("a file");
        let whole = parts.fill(first..=7, b"head", |_, items, _| {
            calls += 1;
            if calls > most {
                return Err(Error::Canceled.into());
            }
            Ok(items.map(|item| item as u8).collect())
        });
        if !whole.expect("no other error") {
            return None;
        }
        parts.file.finish().expect("a target");
        Some(std::fs::read(target).expect("the target"))
    }

    /// A shard that is interrupted after its last item, before the rename, gets one last line.
    #[test]
    fn shards_are_closed_once() {
        let (folder, output) = (tempfile::tempdir().expect("a folder"), quiet());
        let target = folder.path().join("numbers.shard");
        for (which, expected) in [((1, 2), "head0"), ((2, 2), "12"), ((1, 9), "head"), ((2, 9), "")]
        {
            let shard =
                Shard::new(which, &JobFingerprint::new("test-1"), 3, "txt").expect("a shard");
            let range = shard.range();
            let fill = |calls: usize| {
                let what = (range.len(), "numbers");
                let parts = Parts::open(&target, &shard.own_job(), what, None, &output);
                let (mut parts, mut left) = (parts.expect("a file").of(Some(&shard)), calls);
                let filled = parts.fill(1..=1, b"head", |_, items, _| {
                    left = left.checked_sub(1).ok_or(Error::Canceled)?;
                    Ok(items.map(|item| b'0' + (range.start + item) as u8).collect())
                });
                filled.expect("no other error").then_some(parts)
            };
            drop(fill(1));
            drop(fill(9).expect("all items"));
            fill(0).expect("all items").file.finish().expect("a target");
            let (mut held, file) = (Vec::new(), std::fs::read(&target).expect("the target"));
            let read = treeport_jobs::shard::read(&target, &file[..], |block| {
                held.extend_from_slice(block);
                Ok::<_, treeport_jobs::Error>(())
            });
            assert_eq!(read.expect("a shard"), shard);
            assert_eq!(String::from_utf8(held).expect("text"), expected);
        }
    }

    #[test]
    fn blocks_of_any_size_and_any_number_of_runs_give_the_same_file() {
        let folder = tempfile::tempdir().expect("a folder");
        for all in [0, 1, 2, 50] {
            let expected: Vec<u8> = b"head".iter().copied().chain(0..all as u8).collect();
            for (first, calls) in [(1, 1), (3, 2), (7, 1), (1, 100)] {
                let target = folder.path().join("numbers");
                let mut runs = (0..200).filter_map(|_| numbers(&target, all, first, calls));
                assert_eq!(runs.next().expect("an end"), expected, "{all} {first} {calls}");
                assert_eq!(std::fs::read_dir(folder.path()).expect("a folder").count(), 1);
            }
        }
    }
}
