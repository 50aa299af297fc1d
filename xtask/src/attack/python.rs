//! Scripts in Python. Odd inputs of the package may raise exceptions, but must not crash the
//! interpreter or panic; other scripts check results of the package and the program independently.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Arena;
use super::process::{MEMORY, ProgramRun};
use super::random::Random;

/// Scripts, and the module that the checking ones share.
const FILES: [(&str, &str); 5] = [
    ("certificates.py", include_str!("certificates.py")),
    ("odd_inputs.py", include_str!("odd_inputs.py")),
    ("checked_answers.py", include_str!("checked_answers.py")),
    ("checked_frames.py", include_str!("checked_frames.py")),
    ("checks.py", include_str!("checks.py")),
];

/// Script, kind of call, and number of calls per round. The kinds are relaxed problems over 40
/// orders of magnitude, rates by differences, clouds with penalties, sizes and outliers with
/// deadlines, an index with additions and removals, an index under threads, tables of every
/// library, and tables with missing columns.
const CHECKS: [[&str; 3]; 8] = [
    ["checked_answers.py", "relaxed", "300"],
    ["checked_answers.py", "rates", "60"],
    ["checked_answers.py", "clouds", "40"],
    ["checked_answers.py", "sized", "5"],
    ["checked_answers.py", "changes", "20"],
    ["checked_answers.py", "threads", "4"],
    ["checked_frames.py", "frames", "60"],
    ["checked_frames.py", "columns", "20"],
];

/// Runs one round of odd inputs.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    run_script(arena, random, folder, "odd_inputs.py", &["40"])
}

/// Runs one round of checked results.
pub(super) fn checks(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let [script, kind, count] = *random.pick(&CHECKS);
    run_script(arena, random, folder, script, &[kind, count])
}

/// Runs one round of small odd instances; the script needs neither the package nor a library.
pub(super) fn certificates(
    arena: &Arena,
    random: &mut Random,
    folder: &Path,
) -> Result<Vec<String>> {
    let program = arena.programs.treeport.to_string_lossy();
    run_script(arena, random, folder, "certificates.py", &[&program])
}

/// Runs a script with a seed and further arguments; returns how it failed, if it did.
fn run_script(
    arena: &Arena,
    random: &mut Random,
    folder: &Path,
    script: &str,
    args: &[&str],
) -> Result<Vec<String>> {
    let python = arena.programs.python.clone().unwrap_or_else(|| "python3".into());
    std::fs::create_dir_all(folder)?;
    for (name, text) in FILES {
        std::fs::write(folder.join(name), text)?;
    }
    // Small numbers, which are easy to type.
    let seed = random.below(1 << 30).to_string();
    let args = [&[script, &seed], args].concat();
    let job = ProgramRun {
        program: python,
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
