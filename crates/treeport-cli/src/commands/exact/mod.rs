//! `treeport exact`: exact distances between measures, resumable.

mod journal;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use serde_json::json;
use treeport::{Error, GroundMetric, Measures};
use treeport_report::terminal::at_least_one;

pub(crate) use self::journal::Journal;
use crate::args::MetricArgs;
use crate::fingerprint::Fingerprint;
use crate::interrupt::{self, Interrupted, Paused};
use crate::output::{self, Output, ProgressBar};
use crate::pairs::Pairs;
use crate::{input, labels, rows};

const EXAMPLE: &str = "\
Examples:
  treeport exact --points words.npy --measures docs.npz --pairs 1000 -o labels.csv
  treeport exact --graph roads.csv --measures M.npz --pairs-file pairs.csv > distances.csv
  treeport fit --points words.npy --measures docs.npz --labels labels.csv -o model.tree

With `-o` what is done stays: after Ctrl-C, a crash or a kill the same command goes on from
`labels.csv.part`. `fit --pairs N` draws the same pairs for the same seed.";

/// Options of `treeport exact`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct ExactArgs {
    #[command(flatten)]
    ground: MetricArgs,
    /// Measures, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE")]
    measures: PathBuf,
    /// Divide every measure by its total mass.
    #[arg(long)]
    normalize: bool,
    /// So many random pairs [default: all pairs].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pairs: Option<usize>,
    /// Only these pairs: columns left and right (.csv); measures count from 0.
    #[arg(long, value_name = "FILE", conflicts_with = "pairs")]
    pairs_file: Option<PathBuf>,
    /// Seed of the random pairs.
    #[arg(long, value_name = "N", default_value_t = 0, requires = "pairs")]
    seed: u64,
    /// Write to a file: rows left, right, distance (.csv), as `fit --labels` reads them.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Work between two writes to the journal: what a kill can cost.
const CHUNK_TIME: Duration = Duration::from_secs(1);
/// Pairs for each thread in the shortest chunk, so that none waits long for the last one.
const LEAST_PER_THREAD: usize = 4;
/// Pairs in the longest chunk.
const MOST: usize = 1 << 16;

/// Runs `treeport exact`.
pub(crate) fn run(args: &ExactArgs, output: &Output) -> Result<ExitCode> {
    let file = args.output.as_deref().filter(|path| !input::is_standard(path));
    if let Some(path) = file {
        check_target(path)?;
    }
    let (metric, _) = input::metric(&args.ground)?;
    let measures = input::measures_on(metric.points(), &args.measures, args.normalize)?;
    let pairs = which_pairs(args, &measures)?;
    pairs.check_balance(&measures, &measures).with_context(|| input::name(&args.measures))?;
    // What is no regular file, such as /dev/stdout, has nothing beside it.
    let regular = file.filter(|path| !path.exists() || path.is_file());
    // The fingerprint is of a graph as it was read.
    let journal = regular
        .map(|path| Journal::open(path, &Fingerprint::new(&metric, &measures, &pairs), &pairs));
    let journal = journal.transpose()?;
    let metric = labels::solvable(metric, output);
    let work = Work { metric: &metric, measures: &measures, pairs };
    match journal.zip(regular) {
        Some((journal, path)) => work.save(journal, path, output),
        None => work.print(file, output),
    }
}

fn check_target(path: &Path) -> Result<()> {
    let special = path.exists() && !path.is_file() && !path.is_dir();
    if !special && input::extension(path) != Some("csv") {
        bail!("cannot write `{}`: exact distances go to a .csv file", path.display());
    }
    output::check_place(path)
}

fn which_pairs(args: &ExactArgs, measures: &Measures) -> Result<Pairs> {
    if let Some(path) = &args.pairs_file {
        return Ok(Pairs::Listed(labels::read_pairs(path, measures, measures)?));
    }
    let count = measures.len();
    let name = || input::name(&args.measures);
    if let Some(pairs) = args.pairs {
        return Ok(Pairs::Listed(
            labels::random_pairs(pairs, count, args.seed).with_context(name)?,
        ));
    }
    ensure!(count >= 2, "{}: a pair needs two measures, the file has {count}", name());
    Ok(Pairs::Within(count))
}

/// Exact distances of listed pairs for a job that has more to do, with a journal at `beside`.part that
/// stays until that job is done.
pub(crate) fn solve_beside(
    beside: &Path,
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    output: &Output,
) -> Result<Vec<f64>> {
    let work = Work { metric, measures, pairs: Pairs::Listed(pairs.to_vec()) };
    let job = Fingerprint::new(metric, measures, &work.pairs);
    let mut journal = Journal::open(beside, &job, &work.pairs)?;
    if work.fill(&mut journal, output)? {
        return journal.distances(&work.pairs);
    }
    let (done, path) = (journal.done, Journal::beside(beside));
    Err(Paused(format!(
        "interrupted after {done} of {} exact distances; the same command goes on from `{}`",
        pairs.len(),
        path.display()
    ))
    .into())
}

/// What is to be solved.
struct Work<'a> {
    metric: &'a GroundMetric,
    measures: &'a Measures,
    pairs: Pairs,
}

impl Work<'_> {
    /// Solves what the journal lacks, then moves it to the target.
    fn save(&self, mut journal: Journal, target: &Path, output: &Output) -> Result<ExitCode> {
        let (begun, earlier, all) = (Instant::now(), journal.done, self.pairs.len());
        if !self.fill(&mut journal, output)? {
            output.note(&format!(
                "interrupted after {} of {all} pairs; the same command goes on from `{}`",
                journal.done,
                Journal::beside(target).display()
            ));
            return Ok(ExitCode::from(interrupt::EXIT_CODE));
        }
        journal.finish(target, &self.pairs)?;
        let (file, seconds) = (target.display().to_string(), begun.elapsed().as_secs_f64());
        if output.json {
            output::line(json!({
                "command": "exact",
                "pairs": all,
                "done_before": earlier,
                "seconds": seconds,
                "file": file,
            }))?;
        } else {
            output.note(&format!("{all} exact distances written to {file}"));
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Solves what the journal lacks; whether it came to the end.
    fn fill(&self, journal: &mut Journal, output: &Output) -> Result<bool> {
        let (earlier, all) = (journal.done, self.pairs.len());
        if earlier > 0 {
            output.note(&format!("{earlier} of {all} pairs were done before"));
        }
        let bar = output.bar("exact distances", all);
        bar.set_position(earlier as u64);
        // The time left follows from what is done now, not from what was done before.
        bar.reset_eta();
        let finished = self.solve(earlier, &bar, |pairs, values| journal.append(pairs, values));
        bar.finish_and_clear();
        finished
    }

    /// Rows to stdout, or to a file that is no regular file.
    fn print(&self, file: Option<&Path>, output: &Output) -> Result<ExitCode> {
        let at_terminal = file.is_none() && io::stdout().is_terminal();
        let bar = if at_terminal {
            ProgressBar::hidden()
        } else {
            output.bar("exact distances", self.pairs.len())
        };
        match file {
            Some(path) => output::save(path, |out| self.write(out, output.json, &bar))?,
            None => self.write(&mut BufWriter::new(io::stdout().lock()), output.json, &bar)?,
        }
        Ok(ExitCode::SUCCESS)
    }

    fn write(&self, out: &mut impl Write, json: bool, bar: &ProgressBar) -> Result<()> {
        rows::distance_header(out, json)?;
        let all = self.solve(0, bar, |pairs, distances| {
            rows::distance_rows(out, json, (None, None), pairs, distances)?;
            Ok(out.flush()?)
        });
        bar.finish_and_clear();
        if all? { Ok(()) } else { Err(Interrupted.into()) }
    }

    /// Solves the pairs from number `first` on and hands them over in order, chunk after chunk; whether
    /// it came to the end.
    ///
    /// Chunks follow the clock, distances do not: each is solved on its own.
    fn solve(
        &self,
        first: usize,
        bar: &ProgressBar,
        mut take: impl FnMut(&[(usize, usize)], &[f64]) -> Result<()>,
    ) -> Result<bool> {
        let least = LEAST_PER_THREAD * rayon::current_num_threads();
        let (mut done, mut size) = (first, least);
        let mut pairs = self.pairs.iter().skip(first);
        loop {
            let chunk: Vec<_> = pairs.by_ref().take(size).collect();
            if chunk.is_empty() {
                return Ok(true);
            }
            let begun = Instant::now();
            let progress = |solved: usize| {
                bar.set_position((done + solved) as u64);
                !interrupt::asked()
            };
            match treeport::exact::pairs(self.metric, self.measures, &chunk, &progress) {
                Err(Error::Cancelled) => return Ok(false),
                distances => take(&chunk, &distances?)?,
            }
            done += chunk.len();
            let pace = CHUNK_TIME.as_secs_f64() / begun.elapsed().as_secs_f64().max(1e-6);
            size = ((size as f64 * pace.clamp(0.25, 4.0)) as usize).clamp(least, MOST.max(least));
        }
    }
}
