//! `cargo xtask attack`: attacks the programs with kills, damaged files, full disks, limited memory
//! and odd arguments, in random rounds until the time limit.
//!
//! A round is determined by the seed and its number, so it can be repeated. [`random`] and
//! [`mutate`] are the sources of randomness, [`cases`] and [`scene`] define the commands, and
//! [`process`] judges how they end; every kind of round has its own file.

mod arguments;
mod cases;
mod disk;
mod files;
mod folder;
mod formats;
mod inputs;
mod journals;
mod kills;
mod memory;
mod mutate;
mod options;
mod process;
mod python;
mod random;
mod report;
mod scene;
mod writers;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;

use cases::CASES;
use process::STOPPED;
use random::Random;
use report::{Finding, Report};
use scene::{Programs, Scene};

pub(crate) use options::{AttackOptions, parse};

/// Everything that rounds need.
struct Arena {
    programs: Programs,
    /// Little data, for fast commands.
    small: Scene,
    /// Enough data that commands can be interrupted.
    large: Scene,
    /// Small disks can be mounted.
    tmpfs: bool,
    /// Smallest address space in kilobytes with which the program starts.
    least_memory: u64,
}

/// Runs a round and returns its findings.
type Round = fn(&Arena, &mut Random, &Path) -> Result<Vec<String>>;

/// Kinds of rounds, with their weights.
const KINDS: [(&str, usize, Round); 10] = [
    ("kills", 3, kills::round),
    ("journals", 2, journals::round),
    ("files", 6, files::round),
    ("disk", 3, disk::round),
    ("writers", 1, writers::round),
    ("memory", 3, memory::round),
    ("arguments", 5, arguments::round),
    ("python", 1, python::round),
    ("certificates", 6, python::certificates),
    ("answers", 2, python::checks),
];

/// Kinds that need the Python package.
const IN_PYTHON: [&str; 2] = ["python", "answers"];

/// Runs rounds until the time limit; the exit code tells whether there are findings.
pub(crate) fn run(
    options: &AttackOptions,
    target: &Path,
    venv_python: PathBuf,
) -> Result<ExitCode> {
    let mut signals = signal_hook::iterator::Signals::new([signal_hook::consts::SIGINT])?;
    std::thread::spawn(move || {
        signals.forever().for_each(|_| STOPPED.store(true, Ordering::Relaxed));
    });
    let python = imports(&venv_python, "treeport, scipy").then_some(venv_python);
    let programs =
        Programs { treeport: target.join("treeport"), lab: target.join("treeport-lab"), python };
    let root = tempfile::Builder::new().prefix("treeport-attack-").tempdir()?.keep();
    let report = attack(options, programs, &root);
    if report.as_ref().is_ok_and(|report| report.findings.is_empty() && options.round.is_none()) {
        std::fs::remove_dir_all(&root)?;
    } else {
        eprintln!("the folders of rounds with findings are in `{}`", root.display());
    }
    let report = report?;
    eprint!("{}", report.shown(options));
    Ok(if report.findings.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn attack(options: &AttackOptions, programs: Programs, root: &Path) -> Result<Report> {
    let mut report = Report::new(KINDS.map(|kind| kind.0).to_vec());
    let Some(arena) = unless_stopped(Arena::new(programs, root))? else { return Ok(report) };
    for (kind, why) in arena.left_out() {
        report.note(kind, why);
    }
    let begun = Instant::now();
    let time = Duration::from_secs(options.seconds);
    let rounds = options.round.map_or(0..u64::MAX, |round| round..round + 1);
    for round in rounds {
        if begun.elapsed() >= time && options.round.is_none() {
            break;
        }
        let mut random = Random::new(options.seed, round);
        let kind = drawn(&mut random, options.only);
        report.progress(round, kind.0, begun.elapsed());
        if IN_PYTHON.contains(&kind.0) && arena.programs.python.is_none() {
            continue;
        }
        let folder = root.join(format!("round-{round}"));
        let found = (kind.2)(&arena, &mut random, &folder)
            .or_else(|error| Ok(vec![format!("the round cannot be run: {error:#}")]));
        let Some(found) = unless_stopped(found)? else { break };
        if found.is_empty() && options.round.is_none() && folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        report.add(kind.0, found.into_iter().map(|what| Finding { round, kind: kind.0, what }));
    }
    Ok(report)
}

/// Returns `None` if Ctrl-C has ended the work.
fn unless_stopped<T>(result: Result<T>) -> Result<Option<T>> {
    if STOPPED.load(Ordering::Relaxed) { Ok(None) } else { result.map(Some) }
}

/// Draws the kind of a round by weight.
fn drawn(random: &mut Random, only: Option<&str>) -> &'static (&'static str, usize, Round) {
    let mut at = random.below(KINDS.iter().map(|kind| kind.1).sum());
    let here = |kind: &&(&str, usize, Round)| {
        let here = at < kind.1;
        at = at.wrapping_sub(kind.1);
        here
    };
    let known = KINDS.iter().find(|kind| Some(kind.0) == only);
    known.or_else(|| KINDS.iter().find(here)).unwrap_or(&KINDS[0])
}

/// Checks whether an interpreter has these packages.
fn imports(python: &Path, packages: &str) -> bool {
    let mut command = std::process::Command::new(python);
    let import = format!("import {packages}");
    let done = command.args(["-c", &import]).stderr(std::process::Stdio::null());
    done.status().is_ok_and(|status| status.success())
}

impl Arena {
    fn new(programs: Programs, root: &Path) -> Result<Self> {
        let small = Scene::new(&programs, &root.join("small"), 12, 8)?;
        // A failing command is reported here, not in the round that draws it.
        for case in CASES {
            small.of(case)?;
        }
        let large = Scene::new(&programs, &root.join("large"), 150, 50)?;
        let tmpfs = disk::Disk::mount(&root.join("disk"), 64)?.is_some();
        let least_memory = memory::least(&small, &root.join("least"))?;
        Ok(Self { programs, small, large, tmpfs, least_memory })
    }

    /// Returns the kinds that cannot run here, with reasons.
    fn left_out(&self) -> Vec<(&'static str, &'static str)> {
        let disk =
            (!self.tmpfs).then_some(("disk", "without small disks: mounting is not allowed"));
        let missing = self.programs.python.is_none();
        let python = IN_PYTHON.map(|kind| (kind, "left out: no treeport in target/venv"));
        // The tests install all other libraries.
        let torch = self.programs.python.as_ref().filter(|python| !imports(python, "torch"));
        let torch = torch.map(|_| ("answers", "without tensors: no torch in target/venv"));
        let python = python.into_iter().filter(|_| missing);
        disk.into_iter().chain(python).chain(torch).collect()
    }
}

#[cfg(test)]
mod tests;
