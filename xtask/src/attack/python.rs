//! Odd inputs to the Python package: exceptions are fine, a dead interpreter or a panic is not.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};

use super::Arena;
use super::process::{MEMORY, ProgramRun};
use super::random::Random;

/// What draws the inputs and calls the package.
const SCRIPT: &str = include_str!("odd_inputs.py");
/// Calls in one round.
const CALLS: usize = 40;

/// One round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let python = arena.programs.python.as_ref().context("no interpreter")?;
    std::fs::create_dir_all(folder)?;
    std::fs::write(folder.join("odd_inputs.py"), SCRIPT)?;
    // Small numbers, which can be typed.
    let seed = random.below(1 << 30).to_string();
    let job = ProgramRun {
        program: python.clone(),
        args: vec!["odd_inputs.py".into(), seed, CALLS.to_string()],
        folder: folder.into(),
        memory: MEMORY,
        stdout: None,
        limit: Duration::from_secs(120),
    };
    let ended = job.run()?;
    // A line for every call, before it is made.
    let calls = String::from_utf8_lossy(&ended.stdout).into_owned();
    let last = calls.lines().last().unwrap_or_default();
    let fault = ended.fault().or_else(|| {
        (!ended.success())
            .then(|| format!("exit code {:?}; {}", ended.status.code(), ended.words()))
    });
    Ok(fault.map(|fault| format!("{fault} in {last}: `{}`", job.shown())).into_iter().collect())
}
