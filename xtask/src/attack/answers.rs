//! Questions to the Python package whose answers can be checked without it: relaxed problems over 40 orders of
//! magnitude, an index that is added to and removed from, an index under threads, tables of every library, tables
//! with missing columns.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::python::run_script;
use super::random::Random;

/// What draws the questions and checks the answers, and what these share.
const ANSWERS: (&str, &str) = ("checked_answers.py", include_str!("checked_answers.py"));
const FRAMES: (&str, &str) = ("checked_frames.py", include_str!("checked_frames.py"));
const CHECKS: (&str, &str) = ("checks.py", include_str!("checks.py"));

/// Who asks, what is asked, and how often in one round.
const QUESTIONS: [((&str, &str), &str, usize); 5] = [
    (ANSWERS, "relaxed", 300),
    (ANSWERS, "changes", 20),
    (ANSWERS, "threads", 4),
    (FRAMES, "frames", 60),
    (FRAMES, "columns", 20),
];

/// One round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let (script, question, count) = *random.pick(&QUESTIONS);
    run_script(arena, random, folder, &[script, CHECKS], &[question, &count.to_string()])
}
