//! Exact distances of many pairs, or their bounds, chunk by chunk.

use std::ops::RangeInclusive;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use treeport::metric::Components;
use treeport::progress::Progress;
use treeport::{Aim, Error, Measures, Problems, Relax};
use treeport_jobs::fingerprint::{Mix, of_components, of_measures};
use treeport_jobs::{JobFingerprint, Journal};

use crate::pairs::Pairs;
use crate::progress::Watch;
use crate::rows::{BOUNDS, DISTANCES};

/// Target time of a chunk: the work that a kill can lose.
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
        let job = JobFingerprint::new("treeport-exact-3")
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

    /// Returns the problems of the given pairs.
    pub(crate) fn problems<'p>(&'p self, pairs: &'p [(usize, usize)]) -> Problems<'p> {
        Problems::new(self.ground, self.measures, pairs).relaxed(self.relax).with_order(self.order)
    }

    /// Returns the sizes of chunks; small ones would leave threads waiting.
    pub(crate) fn sizes() -> RangeInclusive<usize> {
        let least = LEAST_PER_THREAD * rayon::current_num_threads();
        least..=MOST.max(least)
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
        let (least, most) = Self::sizes().into_inner();
        let (mut done, mut size, start) = (first, least, Instant::now());
        let mut pairs = self.pairs.iter().skip(first);
        loop {
            let chunk: Vec<_> = pairs.by_ref().take(size).collect();
            if chunk.is_empty() {
                return Ok(true);
            }
            let begun = Instant::now();
            let progress = watch.after(done, self.pairs.len());
            match self.values(&chunk, start, self.pairs.len() - done, &progress) {
                Err(Error::Canceled) => return Ok(false),
                values => take(&chunk, &values?)?,
            }
            done += chunk.len();
            let pace = CHUNK_TIME.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-6);
            size = ((size as f64 * pace.clamp(0.25, 4.0)) as usize).clamp(least, most);
        }
    }

    /// Solves a chunk of the `left` last pairs; bounds have their share of the time that is left
    /// since `start`.
    pub(crate) fn values(
        &self,
        chunk: &[(usize, usize)],
        start: Instant,
        left: usize,
        progress: &Progress<'_>,
    ) -> treeport::Result<Columns> {
        let problems = self.problems(chunk);
        let Some(aim) = &self.bounds else { return Ok(vec![problems.values(progress)?]) };
        let share = (chunk.len() as f64 / left as f64).min(MOST_SHARE);
        let time = aim.time.map(|time| time.saturating_sub(start.elapsed()).mul_f64(share));
        let found = problems.bounds(&aim.in_time(time), progress)?;
        Ok(vec![found.lower, found.upper])
    }
}

/// Largest share of the time that is left; the longest time, rounded, would overflow.
const MOST_SHARE: f64 = 1.0 - f64::EPSILON;

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
