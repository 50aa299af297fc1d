//! Scripts that call the Python package. Odd inputs may raise exceptions, but must not crash the
//! interpreter or panic.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Arena;
use super::process::{MEMORY, ProgramRun};
use super::random::Random;

/// Script that draws inputs and calls the package.
const SCRIPT: &str = include_str!("odd_inputs.py");
/// Calls per round.
const CALLS: usize = 40;

/// Runs one round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    run_script(arena, random, folder, &[("script.py", SCRIPT)], &[&CALLS.to_string()])
}

/// Runs the first of some scripts with a seed and further arguments; returns how it failed, if it
/// did.
pub(super) fn run_script(
    arena: &Arena,
    random: &mut Random,
    folder: &Path,
    files: &[(&str, &str)],
    args: &[&str],
) -> Result<Vec<String>> {
    let python = arena.programs.python.as_ref().context("no interpreter")?;
    std::fs::create_dir_all(folder)?;
    for (name, text) in files {
        std::fs::write(folder.join(name), text)?;
    }
    // Small numbers, which are easy to type.
    let seed = random.below(1 << 30).to_string();
    let args = [&[files[0].0, &seed], args].concat();
    let job = ProgramRun {
        program: python.clone(),
        args: args.iter().map(ToString::to_string).collect(),
        folder: folder.into(),
        memory: MEMORY,
        stdout: None,
        limit: Duration::from_secs(120),
    };
    let ended = job.run()?;
    // Scripts print a line before each call.
    let calls = String::from_utf8_lossy(&ended.stdout).into_owned();
    let last = calls.lines().last().unwrap_or_default();
    let fault = ended.fault().or_else(|| {
        (!ended.success())
            .then(|| format!("exit code {:?}; {}", ended.status.code(), ended.words()))
    });
    Ok(fault.map(|fault| format!("{fault} in {last}: `{}`", job.shown())).into_iter().collect())
}
