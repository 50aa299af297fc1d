//! Journals and checkpoints damaged between two runs: an error, or the same result.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Result;

use super::Arena;
use super::folder::{has_ending, snapshot, write};
use super::mutate::mutated;
use super::process::{ProgramRun, RunInProgress};
use super::random::Random;
use super::scene::Scene;

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.large;
    let keeps = |command: &str| ["fit", "exact", "reproduce"].contains(&command);
    let case = Scene::draw(random, |case| case.long && keeps(case.command()));
    write(folder, &scene.inputs)?;
    let job = scene.job(case, folder)?;
    let took = scene.of(case)?.took;
    let Some(journal) = interrupted(&job, took, random)? else { return Ok(Vec::new()) };
    let bytes = mutated(&std::fs::read(&journal)?, random);
    std::fs::write(&journal, bytes)?;
    let ended = job.run()?;
    let name = journal.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let about = format!("with a damaged `{name}`: `{}`", job.shown());
    let mut findings: Vec<String> = ended.fault().into_iter().collect();
    findings.extend(if ended.success() {
        scene.wrong_after(case, folder)?
    } else {
        scene.wrong_before(folder)?
    });
    Ok(findings.iter().map(|finding| format!("{finding} {about}")).collect())
}

/// Interrupts a job some time after its first journal appears; returns a journal.
fn interrupted(job: &ProgramRun, took: Duration, random: &mut Random) -> Result<Option<PathBuf>> {
    let signal = *random.pick(&["KILL", "INT"]);
    let mut running = job.start("interrupted")?;
    wait_for_journal(&mut running, &job.folder, took)?;
    running.pause(took.mul_f64(random.fraction() * 0.8))?;
    running.signal(signal);
    running.wait()?;
    let journals = journals(&job.folder)?;
    let drawn = random.next() as usize;
    Ok((!journals.is_empty()).then(|| job.folder.join(&journals[drawn % journals.len()])))
}

fn wait_for_journal(running: &mut RunInProgress, folder: &Path, took: Duration) -> Result<()> {
    let until = Instant::now() + took;
    while journals(folder)?.is_empty() && Instant::now() < until {
        running.pause(Duration::from_millis(2))?;
    }
    Ok(())
}

fn journals(folder: &Path) -> Result<Vec<String>> {
    let is_journal = |name: &String| has_ending(name, "part") || has_ending(name, "jsonl");
    Ok(snapshot(folder)?.into_keys().filter(is_journal).collect())
}
