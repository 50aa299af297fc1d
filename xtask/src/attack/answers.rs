//! Questions to the Python package whose answers can be checked without it: relaxed problems over 40 orders of
//! magnitude, an index that is added to and removed from, an index under threads, tables with missing columns.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::python::run_script;
use super::random::Random;

/// What draws the questions and checks the answers.
const SCRIPT: &str = include_str!("checked_answers.py");

/// What is asked, and how often in one round.
const QUESTIONS: [(&str, usize); 4] =
    [("relaxed", 60), ("changes", 10), ("threads", 2), ("columns", 20)];

/// One round.
pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let (question, count) = *random.pick(&QUESTIONS);
    run_script(arena, random, folder, SCRIPT, &[question, &count.to_string()])
}
