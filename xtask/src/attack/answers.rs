//! Calls of the Python package whose results can be checked independently: relaxed problems over 40
//! orders of magnitude, an index with additions and removals, an index under threads, tables of
//! every library, tables with missing columns.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::python::run_script;
use super::random::Random;

/// Scripts that draw the calls and check the results, and their shared module.
const ANSWERS: (&str, &str) = ("checked_answers.py", include_str!("checked_answers.py"));
const FRAMES: (&str, &str) = ("checked_frames.py", include_str!("checked_frames.py"));
const CHECKS: (&str, &str) = ("checks.py", include_str!("checks.py"));

/// Script, kind of call, and number of calls per round.
const QUESTIONS: [((&str, &str), &str, usize); 5] = [
    (ANSWERS, "relaxed", 300),
    (ANSWERS, "changes", 20),
    (ANSWERS, "threads", 4),
    (FRAMES, "frames", 60),
    (FRAMES, "columns", 20),
];

/// Runs one round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let (script, question, count) = *random.pick(&QUESTIONS);
    run_script(arena, random, folder, &[script, CHECKS], &[question, &count.to_string()])
}
