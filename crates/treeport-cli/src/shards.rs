//! Shards: parts of a job in files of their own, for `merge`.
//!
//! A shard is a range of the items of a single run; merging concatenates shards
//! ([`treeport_jobs::shard`]).

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use treeport_jobs::{JobFingerprint, Shard};

use crate::args::ShardArgs;
use crate::output::Output;
use crate::{input, rows};

/// Extension of a shard's file, after that of the result.
const ENDING: &str = "shard";

impl ShardArgs {
    /// Checks the output file as [`rows::target`] does, with the extension of shards if one is
    /// requested.
    pub(crate) fn target<'a>(
        &self,
        path: Option<&'a Path>,
        what: &str,
        endings: &[&str],
    ) -> Result<Option<&'a Path>> {
        if self.shard.is_none() {
            return rows::target(path, what, endings);
        }
        let endings: Vec<String> = endings.iter().map(|end| format!("{end}.{ENDING}")).collect();
        let endings: Vec<&str> = endings.iter().map(String::as_str).collect();
        rows::regular_target(path, "a shard goes", &endings).map(Some)
    }

    /// Returns the requested shard of a job with `items` items; `None` for the whole job. `job`
    /// runs only for a shard, because a fingerprint may take long.
    pub(crate) fn of(
        &self,
        items: usize,
        format: &str,
        job: impl FnOnce() -> Result<JobFingerprint>,
    ) -> Result<Option<Shard>> {
        let Some(which) = self.shard else { return Ok(None) };
        Ok(Shard::new(which, &job()?, items, format))
    }
}

/// Parses part I of N, written `I/N`.
pub(crate) fn parse(text: &str) -> Result<(usize, usize)> {
    let parts = text.split_once('/');
    let numbers = parts.and_then(|(i, n)| Some((i.parse().ok()?, n.parse().ok()?)));
    let (number, shards) = numbers.context("expected I/N, such as 3/8 for part 3 of 8")?;
    ensure!(shards > 0, "there is at least one part");
    ensure!((1..=shards).contains(&number), "parts are counted from 1 to {shards}");
    Ok((number, shards))
}

/// Returns the format of a file by its extension; for a shard, that of the result.
pub(crate) fn format(path: &Path) -> Option<String> {
    let ending = input::extension(path)?;
    if ending == ENDING { input::extension(Path::new(path.file_stem()?)) } else { Some(ending) }
}

/// Reports a written file as [`rows::wrote`] does, with the number of the shard, if there is one.
pub(crate) fn wrote(
    output: &Output,
    command: &str,
    (file, shard): (Option<&Path>, Option<&Shard>),
    mut facts: Value,
    note: &str,
) -> Result<()> {
    let Some(shard) = shard else { return rows::wrote(output, command, file, facts, note) };
    let (number, shards) = (shard.number(), shard.shards());
    (facts["shard"], facts["shards"]) = (json!(number), json!(shards));
    rows::wrote(output, command, file, facts, &format!("shard {number} of {shards}, {note}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_read_or_refused() {
        assert_eq!(parse("3/8").expect("a part"), (3, 8));
        for (text, why) in [
            ("0/8", "from 1 to 8"),
            ("9/8", "from 1 to 8"),
            ("0/0", "at least one"),
            ("3", "expected I/N"),
            ("-1/3", "expected I/N"),
            ("1/2/3", "expected I/N"),
            ("", "expected I/N"),
        ] {
            let error = parse(text).expect_err(text).to_string();
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn the_ending_of_the_whole_counts() {
        let of = |name| format(Path::new(name));
        assert_eq!(of("a/b.npy").as_deref(), Some("npy"));
        assert_eq!(of("a/b-1.npy.shard").as_deref(), Some("npy"));
        assert_eq!(of("b.shard"), None);
    }
}
