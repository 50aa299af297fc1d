//! Limited memory: a result or an error message, never an abort.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::process::ProgramRun;
use super::random::Random;
use super::scene::Scene;
use super::{files, folder};

/// Runs per round.
const RUNS: usize = 4;

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.large;
    let mut findings = Vec::new();
    folder::write(folder, &scene.inputs)?;
    for _ in 0..RUNS {
        let case = Scene::draw(random, |_| true);
        // Log-uniform from the minimum to thirty times that.
        let memory = (arena.least_memory as f64 * 30_f64.powf(random.fraction())) as u64;
        let mut job = ProgramRun { memory, ..scene.job(case, folder)? };
        // Without address space for an arena per thread, threads contend at allocations.
        job.limit += scene.of(case)?.took * 10;
        let ended = job.run()?;
        let mut wrong: Vec<String> = ended.fault().into_iter().collect();
        wrong.extend(if ended.success() {
            scene.wrong_after(case, folder)?
        } else {
            let mut wrong = scene.wrong_before(folder)?;
            let found = folder::snapshot(folder)?;
            let left = found.keys().filter(|name| folder::is_temporary(name));
            wrong.extend(left.map(|name| format!("left `{name}`")));
            wrong
        });
        if !wrong.is_empty() {
            let about = format!("with {memory} KB: `{}`", job.shown());
            findings.extend(wrong.iter().map(|wrong| format!("{wrong} {about}")));
            break;
        }
        files::clear(folder)?;
    }
    Ok(findings)
}

/// Finds the smallest address space in kilobytes, to a twentieth, with which `--version` succeeds.
pub(super) fn least(scene: &Scene, folder: &Path) -> Result<u64> {
    std::fs::create_dir_all(folder)?;
    let mut memory = 1 << 10;
    loop {
        let job = scene.free_job(&["--version".into()], false, folder);
        if (ProgramRun { memory, ..job }).run()?.success() || memory > super::process::MEMORY {
            return Ok(memory + memory / 5);
        }
        memory += memory / 20;
    }
}
