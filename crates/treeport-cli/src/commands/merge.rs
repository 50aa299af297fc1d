//! `treeport merge`: merges the shards of a job.
//!
//! A shard holds the bytes that a single run would write for its items. Merging checks that the
//! shards belong to one job and are complete, and concatenates them.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use clap::Args;
use serde_json::json;
use treeport::Error;
use treeport::progress::State;
use treeport_jobs::{Shard, shard};

use crate::interrupt::Interrupted;
use crate::output::{self, Output};
use crate::progress::Watch;
use crate::rows;

const EXAMPLE: &str = "\
Example, three parts of one table:
  for i in 1 2 3; do
    treeport distance model.tree --measures docs.npz --shard $i/3 -o matrix-$i.npy.shard
  done
  treeport merge matrix-*.npy.shard -o matrix.npy

FILE has the very bytes that one run without `--shard` would have written. The order of the shards does
not matter. All must be of the same job (command, options, inputs and version), and each of 1/N to
N/N must be there once. If a shard is missing, given twice, damaged or of another job, the error names
it, and nothing is written. Memory does not grow with the size of the result.";

/// Options of `treeport merge`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct MergeArgs {
    /// Every shard of the job, as `exact`, `distance` and `nearest` write them with `--shard`.
    #[arg(value_name = "SHARDS", required = true)]
    parts: Vec<PathBuf>,
    /// The file to write, with the ending of the merged result (.csv, .npy).
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

/// Name of the task in progress bars.
const TASK: &str = "merging, MB";

/// A file and its first line.
type ReadShard<'a> = (&'a Path, Shard);

/// Runs `treeport merge`.
pub(crate) fn run(args: &MergeArgs, output: &Output) -> Result<ExitCode> {
    let mut found: Vec<ReadShard<'_>> = Vec::with_capacity(args.parts.len());
    for path in &args.parts {
        found.push((path, shard::read_first(path, &mut open(path)?)?));
    }
    check_one_job(&found)?;
    found.sort_by_key(|(_, shard)| shard.number());
    check_complete(&found)?;
    let [(_, first), ..] = &found[..] else { bail!("give the shards to merge") };
    let target = rows::regular_target(Some(&args.output), "these shards go", &[first.format()])?;
    let mut bytes = 0;
    output::save(target, |out| {
        bytes = copy(&found, out, output)?;
        Ok(())
    })?;
    let (shards, items) = (first.shards(), first.items());
    let facts = json!({"shards": shards, "items": items, "bytes": bytes});
    let note = format!("{shards} shards of {items} items");
    rows::wrote(output, "merge", Some(target), facts, &note)?;
    Ok(ExitCode::SUCCESS)
}

fn open(path: &Path) -> Result<BufReader<File>, Error> {
    let file = File::open(path).map_err(|source| Error::read(path, source))?;
    Ok(BufReader::new(file))
}

/// Refuses shards of several jobs; the error names those that differ from the most frequent job.
fn check_one_job(found: &[ReadShard<'_>]) -> Result<()> {
    let mut like: HashMap<String, usize> = HashMap::new();
    for (_, shard) in found {
        *like.entry(shard.whole()).or_default() += 1;
    }
    // The first shard of the most frequent job.
    let most = found.iter().rev().max_by_key(|(_, shard)| like[&shard.whole()]);
    let Some((path, most)) = most else { return Ok(()) };
    for (other, shard) in found {
        let differences = most.differences(shard);
        ensure!(
            differences.is_empty(),
            "`{}` is of another job than `{}` (other {differences}); leave it out, or do that part again",
            other.display(),
            path.display()
        );
    }
    Ok(())
}

/// Refuses duplicate and missing shards; the shards are sorted and of one job.
fn check_complete(found: &[ReadShard<'_>]) -> Result<()> {
    for ((one, shard), (other, twin)) in found.iter().zip(found.iter().skip(1)) {
        let (number, shards) = (shard.number(), shard.shards());
        ensure!(
            twin.number() != number,
            "`{}` and `{}` are both shard {number} of {shards}; leave one out",
            one.display(),
            other.display()
        );
    }
    let shards = found.first().map_or(0, |(_, shard)| shard.shards());
    let missing = missing(found.iter().map(|(_, shard)| shard.number()), shards);
    ensure!(
        missing.is_empty(),
        "missing of {shards} shards: {}; give them too, or do those parts first",
        missing.join(", ")
    );
    Ok(())
}

/// Lists the numbers from 1 to `last` missing from an ascending list, with ranges combined.
fn missing(numbers: impl Iterator<Item = usize>, last: usize) -> Vec<String> {
    let (mut next, mut missing) = (1, Vec::new());
    // `u128`, so that `last + 1` cannot overflow.
    for number in numbers.map(|number| number as u128).chain([last as u128 + 1]) {
        match number - next {
            0 => {}
            1 => missing.push(next.to_string()),
            _ => missing.push(format!("{next} to {}", number - 1)),
        }
        next = number + 1;
    }
    missing
}

/// Copies and verifies the content of the shards; returns the number of bytes.
fn copy(found: &[ReadShard<'_>], out: &mut impl Write, output: &Output) -> Result<u64> {
    let watch = Watch::new(output);
    let sizes = found.iter().map(|(path, _)| path.metadata().map_or(0, |file| file.len()));
    let (total, mut done) = (megabytes(sizes.sum()), 0);
    for (path, shard) in found {
        let read = shard::read(path, open(path)?, |block| {
            out.write_all(block)?;
            done += block.len() as u64;
            if watch.update(&State::new(TASK, megabytes(done), total)) {
                Ok(())
            } else {
                Err(anyhow::Error::from(Interrupted))
            }
        })?;
        let path = path.display();
        ensure!(read == *shard, "`{path}` was replaced while it was read; run the command again");
    }
    Ok(done)
}

fn megabytes(bytes: u64) -> usize {
    (bytes / 1_000_000) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named_in_rows() {
        let of = |there: &[usize], last| missing(there.iter().copied(), last).join(", ");
        assert_eq!(of(&[1, 2, 3], 3), "");
        assert_eq!(of(&[2, 6, 7], 8), "1, 3 to 5, 8");
        assert_eq!(of(&[1], usize::MAX), format!("2 to {}", usize::MAX));
    }
}
