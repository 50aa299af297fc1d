//! Exact distances of many pairs, or their bounds, with a journal from which a run resumes.
//!
//! Rows are in the order of the pairs; a damaged row and all after it are solved again. At the end,
//! the rows move from the journal to the target.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use treeport::metric::Components;
use treeport::progress::Progress;
use treeport::{Aim, Error, Measures, Problems, Relax};
use treeport_jobs::fingerprint::{Mix, of_components, of_measures};
use treeport_jobs::{JobFingerprint, Journal, Shard};

use crate::output::Output;
use crate::pairs::Pairs;
use crate::progress::{KeptItems, Watch};
use crate::rows::{self, BOUNDS, DISTANCES};

/// Time between two writes to the journal: the work that a kill can lose.
const CHUNK_TIME: Duration = Duration::from_secs(1);
/// Pairs per thread in the shortest chunk, so that threads rarely wait for the last one.
const LEAST_PER_THREAD: usize = 4;
/// Pairs in the longest chunk.
const MOST: usize = 1 << 16;

/// Pairs to solve.
pub(crate) struct Work<'a> {
    pub(crate) ground: &'a Components,
    pub(crate) measures: &'a Measures,
    pub(crate) pairs: &'a Pairs,
    /// Relaxation of the marginals.
    pub(crate) relax: Relax,
    /// Order of the distance.
    pub(crate) order: f64,
    /// Aim of bounds in place of distances, if any.
    pub(crate) bounds: Option<Aim>,
}

/// Values of pairs by columns: distances, or lower and upper bounds.
type Columns = Vec<Vec<f64>>;

impl Work<'_> {
    pub(crate) fn job(&self) -> JobFingerprint {
        let job = JobFingerprint::new("treeport-exact-2")
            .part("metric", of_components(self.ground))
            .part("measures", of_measures(self.measures))
            .part("pairs", self.pairs.fingerprint());
        let job = match self.relax {
            Relax::Mass(mass) => job.part("mass", mass.to_bits()),
            Relax::Penalty(price) => job.part("penalty", price.to_bits()),
            _ => job,
        };
        let job = if self.order == 1.0 { job } else { job.part("order", self.order.to_bits()) };
        let Some(aim) = &self.bounds else { return job };
        let (mut accuracy, mut time) = (Mix::new(), Mix::new());
        accuracy.text(&aim.accuracy.to_string());
        let job = job.part("accuracy", accuracy.number());
        let Some(limit) = aim.time else { return job };
        time.word(limit.as_secs());
        time.word(limit.subsec_nanos().into());
        job.part("time", time.number())
    }

    /// Returns the columns of the rows.
    pub(crate) fn columns(&self) -> &'static [&'static str] {
        if self.bounds.is_some() { &BOUNDS } else { &DISTANCES }
    }

    /// Returns the problems of some of the pairs.
    pub(crate) fn problems<'p>(&'p self, pairs: &'p [(usize, usize)]) -> Problems<'p> {
        Problems::new(self.ground, self.measures, pairs).relaxed(self.relax).with_order(self.order)
    }

    /// Passes the values of pairs missing from the journal to `take`; returns false if interrupted.
    pub(crate) fn fill(
        &self,
        rows: &mut SolvedRows,
        output: &Output,
        mut take: impl FnMut(&[Vec<f64>]),
    ) -> Result<bool> {
        rows.kept(self.pairs.len(), "pairs").note_earlier(output, rows.journal.dropped(), "row");
        self.solve(rows.done, &Watch::new(output), |pairs, values| {
            take(values);
            rows.append(pairs, values)
        })
    }

    /// Solves the pairs from number `first` on and passes them to `take` in order, chunk by chunk;
    /// returns false if interrupted. Time affects the size of chunks, but no distance. A time limit
    /// is shared by the pairs that are left.
    pub(crate) fn solve(
        &self,
        first: usize,
        watch: &Watch<'_>,
        mut take: impl FnMut(&[(usize, usize)], &[Vec<f64>]) -> Result<()>,
    ) -> Result<bool> {
        let least = LEAST_PER_THREAD * rayon::current_num_threads();
        let (mut done, mut size, start) = (first, least, Instant::now());
        let mut pairs = self.pairs.iter().skip(first);
        loop {
            let chunk: Vec<_> = pairs.by_ref().take(size).collect();
            if chunk.is_empty() {
                return Ok(true);
            }
            let begun = Instant::now();
            let progress = watch.after(done, self.pairs.len());
            let share = chunk.len() as f64 / (self.pairs.len() - done) as f64;
            match self.values(&chunk, (start.elapsed(), share), &progress) {
                Err(Error::Canceled) => return Ok(false),
                values => take(&chunk, &values?)?,
            }
            done += chunk.len();
            let pace = CHUNK_TIME.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-6);
            size = ((size as f64 * pace.clamp(0.25, 4.0)) as usize).clamp(least, MOST.max(least));
        }
    }
}

impl Work<'_> {
    /// Solves a chunk of pairs, bounds in a share of the time that is left after `elapsed`.
    fn values(
        &self,
        chunk: &[(usize, usize)],
        (elapsed, share): (Duration, f64),
        progress: &Progress<'_>,
    ) -> treeport::Result<Columns> {
        let problems = self.problems(chunk);
        let Some(aim) = &self.bounds else { return Ok(vec![problems.values(progress)?]) };
        let left = |time: Duration| time.saturating_sub(elapsed).mul_f64(share.min(MOST_SHARE));
        let found = problems.bounds(&aim.in_time(aim.time.map(left)), progress)?;
        Ok(vec![found.lower, found.upper])
    }
}

/// Largest share of the time that is left; the longest time, rounded, would overflow.
const MOST_SHARE: f64 = 1.0 - f64::EPSILON;

/// Rows of the pairs solved so far.
#[derive(Debug)]
pub(crate) struct SolvedRows {
    journal: Journal,
    columns: &'static [&'static str],
    /// Number of rows.
    pub(crate) done: usize,
}

impl SolvedRows {
    /// Starts, or resumes from an earlier run of the same job, whose values are passed to `take`.
    pub(crate) fn open(
        target: &Path,
        job: &JobFingerprint,
        (pairs, columns): (&Pairs, &'static [&'static str]),
        mut take: impl FnMut(&[f64]),
    ) -> Result<Self> {
        let path = Journal::beside(target);
        let journal = open(&path, job, "journal of `treeport exact`")?;
        let mut rows = Self { journal, columns, done: 0 };
        rows.done = rows.each(pairs, |_, values| {
            take(values);
            Ok(())
        })?;
        // A file that cannot be written is an error before the work.
        rows.journal.append(b"")?;
        Ok(rows)
    }

    /// Path of the journal.
    pub(crate) fn path(&self) -> &Path {
        self.journal.path()
    }

    /// Returns the progress of a job of `all` items.
    pub(crate) fn kept<'a>(&'a self, all: usize, items: &'a str) -> KeptItems<'a> {
        KeptItems { path: self.journal.path(), done: self.done, all, items }
    }

    /// Appends the rows of the next pairs, which survive a kill of the process.
    fn append(&mut self, pairs: &[(usize, usize)], values: &[Vec<f64>]) -> Result<()> {
        let mut text = Vec::new();
        rows::values(&mut text, (false, self.columns), [None; 2], pairs, values)?;
        self.journal.append(&text)?;
        self.done += pairs.len();
        Ok(())
    }

    /// Moves all rows to the target or its shard, with the names of measures.
    pub(crate) fn finish(
        mut self,
        target: &Path,
        shard: Option<&Shard>,
        pairs: &Pairs,
        names: Option<&[String]>,
    ) -> Result<()> {
        let columns = self.columns;
        rows::save(target, shard, columns, |out| {
            let rows = self.each(pairs, |pair, values| {
                let values: Vec<_> = values.iter().map(std::slice::from_ref).collect();
                rows::values(out, (false, columns), [names; 2], &[pair], &values)
            })?;
            ensure!(
                rows == pairs.len(),
                "`{}` has only {rows} of {} rows: another program has changed it; run the same command again",
                self.path().display(),
                pairs.len()
            );
            Ok(())
        })?;
        Ok(self.journal.remove()?)
    }

    /// Passes the valid rows of the expected pairs to `take`; returns their number.
    fn each(
        &mut self,
        pairs: &Pairs,
        mut take: impl FnMut((usize, usize), &[f64]) -> Result<()>,
    ) -> Result<usize> {
        let (mut pairs, count) = (pairs.iter(), self.columns.len() - 2);
        self.journal.take_lines(|line| {
            let row = pairs.next().and_then(|pair| Some((pair, row_values(line, pair, count)?)));
            row.map_or(Ok(false), |(pair, values)| take(pair, &values).map(|()| true))
        })
    }
}

/// Parses the increasing values in the row of a pair; `None` if it is another row.
fn row_values(line: &str, (left, right): (usize, usize), count: usize) -> Option<Vec<f64>> {
    let values = line.strip_prefix(&format!("{left},{right},"))?.split(',').map(str::parse);
    let values = values.collect::<Result<Vec<f64>, _>>().ok()?;
    let is_valid = values.iter().all(|value| (0.0..f64::INFINITY).contains(value));
    (values.len() == count && is_valid && values.is_sorted()).then_some(values)
}

/// Opens the journal of an earlier run of the same job; errors about another file call it `what`.
pub(crate) fn open(path: &Path, job: &JobFingerprint, what: &str) -> Result<Journal> {
    Journal::open(path, job).map_err(|error| explained(error, what))
}

/// Rewords an error of a job that cannot resume for the command line.
pub(crate) fn explained(error: treeport_jobs::Error, what: &str) -> anyhow::Error {
    match error {
        treeport_jobs::Error::NotAJournal { path } => {
            anyhow!("`{}` is not a {what}; move it away or give another `-o`", path.display())
        }
        treeport_jobs::Error::OtherJob { path, parts } => anyhow!(
            "`{}` was left by another job (other {parts}); run that job again to finish it, delete the file to start over, or give another `-o`",
            path.display()
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use treeport::{GroundMetric, PointMetric};

    use super::*;

    const ROWS: &str = "left,right,distance\n0,1,0.5\n0,2,1\n1,2,0.25\n";

    /// A job of three pairs of measures on two points.
    fn three(points: Vec<f64>) -> (JobFingerprint, Pairs) {
        let metric = GroundMetric::from_points(1, points, PointMetric::Euclidean).expect("points");
        let measures = Measures::unit_masses(2, [0, 1, 1]).expect("measures");
        let pairs = Pairs::Within(3);
        let ground = metric.into();
        let relax = Relax::Balanced;
        let work = Work {
            ground: &ground,
            measures: &measures,
            pairs: &pairs,
            relax,
            order: 1.0,
            bounds: None,
        };
        (work.job(), pairs)
    }

    /// Opens the journal, appends what is missing, and finishes; returns the earlier rows.
    fn complete(target: &Path) -> usize {
        let (job, pairs) = three(vec![0.0, 1.0]);
        let mut journal =
            SolvedRows::open(target, &job, (&pairs, &DISTANCES), |_| ()).expect("a journal");
        let had = journal.done;
        let all = [((0, 1), 0.5), ((0, 2), 1.0), ((1, 2), 0.25)];
        for (pair, distance) in &all[had..] {
            journal.append(&[*pair], &[vec![*distance]]).expect("a row");
        }
        journal.finish(target, None, &pairs, None).expect("a target");
        assert_eq!(fs::read_to_string(target).expect("the target"), ROWS);
        assert!(!Journal::beside(target).exists());
        had
    }

    /// The journal of the job with all rows.
    fn whole_journal(target: &Path) -> Vec<u8> {
        let (job, pairs) = three(vec![0.0, 1.0]);
        let mut rows =
            SolvedRows::open(target, &job, (&pairs, &DISTANCES), |_| ()).expect("a journal");
        rows.append(&[(0, 1), (0, 2), (1, 2)], &[vec![0.5, 1.0, 0.25]]).expect("rows");
        fs::read(rows.path()).expect("the journal")
    }

    #[test]
    fn rows_that_were_cut_are_done_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        assert_eq!(complete(&target), 0);
        let whole = whole_journal(&target);
        let mut had: Vec<usize> = Vec::new();
        for size in 0..=whole.len() {
            fs::write(Journal::beside(&target), &whole[..size]).expect("a writable folder");
            had.push(complete(&target));
        }
        assert!(had.is_sorted());
        had.dedup();
        assert_eq!(had, [0, 1, 2, 3]);
    }

    /// A changed byte may cost rows, but never changes a result.
    #[test]
    fn damage_never_becomes_a_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        let whole = whole_journal(&target);
        let (job, pairs) = three(vec![0.0, 1.0]);
        for (at, change) in (0..whole.len()).flat_map(|at| [(at, 1), (at, 4), (at, 128)]) {
            let mut changed = whole.clone();
            changed[at] ^= change;
            fs::write(Journal::beside(&target), &changed).expect("a writable folder");
            match SolvedRows::open(&target, &job, (&pairs, &DISTANCES), |_| ()) {
                Ok(rows) => drop(rows),
                Err(error) => {
                    assert!(error.to_string().contains("is not a journal"), "{at}: {error}");
                    fs::remove_file(Journal::beside(&target)).expect("a file");
                }
            }
            assert!(complete(&target) < 3, "{at}");
        }
    }

    #[test]
    fn a_foreign_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        let path = Journal::beside(&target);
        let (job, pairs) = three(vec![0.0, 1.0]);
        let (other, all) = three(vec![0.0, 2.0]);
        let mut rows =
            SolvedRows::open(&target, &other, (&all, &DISTANCES), |_| ()).expect("a journal");
        rows.append(&[(0, 1)], &[vec![0.5]]).expect("a row");
        drop(rows);
        let other = fs::read(&path).expect("the journal");
        let former = b"treeport-exact-1 version=0.1.0 metric=0000000000000000\n0,1,0.5\n";
        for (contents, why) in [
            (&other[..], "(other metric)"),
            (b"my notes\n", "is not a journal"),
            (former, "is not a journal"),
        ] {
            fs::write(&path, contents).expect("a writable folder");
            let error =
                SolvedRows::open(&target, &job, (&pairs, &DISTANCES), |_| ()).expect_err("foreign");
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(fs::read(&path).expect("still there"), contents);
        }
    }

    /// Work that fails before its first row does not block the corrected job.
    #[test]
    fn a_failed_job_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        for points in [vec![0.0, 1.0], vec![0.0, 2.0]] {
            let (job, pairs) = three(points);
            drop(SolvedRows::open(&target, &job, (&pairs, &DISTANCES), |_| ()).expect("a journal"));
            assert!(!Journal::beside(&target).exists());
        }
    }

    #[test]
    fn a_journal_changed_by_others_does_not_become_a_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        let (job, pairs) = three(vec![0.0, 1.0]);
        let mut journal =
            SolvedRows::open(&target, &job, (&pairs, &DISTANCES), |_| ()).expect("a journal");
        journal.append(&[(0, 1), (0, 2), (2, 1)], &[vec![0.5, 1.0, 0.25]]).expect("rows");
        let error = journal.finish(&target, None, &pairs, None).expect_err("a wrong row");
        assert!(error.to_string().contains("has only 2 of 3 rows"), "{error}");
        assert!(!target.exists());
    }
}
