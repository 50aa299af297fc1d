//! Damaged files as inputs of every command that reads them.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::folder::{has_ending, write};
use super::formats::zip;
use super::mutate::mutated;
use super::process::ProgramRun;
use super::random::Random;
use super::scene::Scene;

/// Damaged files per round.
const FILES: usize = 6;
/// Extensions of our own formats, which have checksums.
const OWN: [&str; 4] = ["tree", "forest", "index", "shard"];
/// Limit of the address space in kilobytes; small inputs must work within it, damaged or not.
const MEMORY: u64 = 2 << 20;

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.small;
    let mut findings = Vec::new();
    let names: Vec<&str> = scene.inputs.keys().map(String::as_str).collect();
    write(folder, &scene.inputs)?;
    for _ in 0..FILES {
        let file = *random.pick(&names);
        let case = Scene::draw(random, |case| case.reads(file));
        let damaged = damage(scene, file, random);
        std::fs::write(folder.join(file), &damaged)?;
        let job = ProgramRun { memory: MEMORY, ..scene.job(case, folder)? };
        let ended = job.run()?;
        let about = format!("with a damaged `{file}`: `{}`", job.shown());
        let mut wrong: Vec<String> = ended.fault().into_iter().collect();
        if std::fs::read(folder.join(file))? != damaged {
            wrong.push("the input was written to".into());
        }
        std::fs::write(folder.join(file), &scene.inputs[file])?;
        if ended.success() && OWN.iter().any(|own| has_ending(file, own)) {
            wrong.extend(scene.wrong_after(case, folder)?);
            if !case.timed && ended.stdout != scene.of(case)?.stdout {
                wrong.push("another answer".into());
            }
        } else {
            wrong.extend(scene.wrong_before(folder)?);
        }
        if !wrong.is_empty() {
            // Keep the damaged file for inspection.
            std::fs::write(folder.join(file), &damaged)?;
            findings.extend(wrong.iter().map(|wrong| format!("{wrong} {about}")));
            break;
        }
        clear(folder)?;
    }
    Ok(findings)
}

/// Returns a file's bytes with damage; for an archive, either as a whole or in one of its members.
fn damage(scene: &Scene, file: &str, random: &mut Random) -> Vec<u8> {
    if let Some(members) = scene.members.get(file)
        && random.once_in(2)
    {
        let mut members = members.clone();
        let at = random.below(members.len());
        members[at].1 = mutated(&members[at].1, random);
        return zip(&members);
    }
    mutated(&scene.inputs[file], random)
}

/// Removes the outputs of a command.
pub(super) fn clear(folder: &Path) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with("out") {
            let path = entry.path();
            if path.is_dir() { std::fs::remove_dir_all(path)? } else { std::fs::remove_file(path)? }
        }
    }
    Ok(())
}
