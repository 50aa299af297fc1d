//! Two concurrent writers of one file: it is complete and from one of them.

use std::path::Path;

use anyhow::Result;

use super::Arena;
use super::folder::{differences, snapshot, write};
use super::random::Random;
use super::scene::Scene;

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.large;
    let case = Scene::draw(random, |case| {
        !case.lab && !case.timed && case.writes().any(|out| out != "out")
    });
    let mut others = [case.words(), case.words()];
    // Two different jobs, if the command has a seed that matters.
    if case.args.contains("--n-pairs") && random.once_in(2) {
        others[1].extend(["--seed".into(), "9".into()]);
    }
    write(folder, &scene.inputs)?;
    let mut jobs = Vec::new();
    for args in &others {
        let mut job = scene.free_job(args, case.lab, folder);
        job.limit += scene.reference(args, case.lab)?.took * 2;
        jobs.push(job);
    }
    let late = scene.of(case)?.took.mul_f64(random.fraction() * random.fraction());
    let first = jobs[0].start("first")?;
    std::thread::sleep(late);
    let second = jobs[1].start("second")?;
    let ended = [first.wait()?, second.wait()?];
    let mut wrong: Vec<String> =
        ended.iter().filter_map(super::process::FinishedRun::fault).collect();
    if ended.iter().all(|ended| !ended.success()) {
        wrong.push(format!("both failed: {}", ended[0].words()));
    }
    let found = snapshot(folder)?;
    let mut closest: Option<Vec<String>> = None;
    for (args, ended) in others.iter().zip(&ended).filter(|(_, ended)| ended.success()) {
        let mut expected = scene.inputs.clone();
        expected.extend(scene.reference(args, case.lab)?.files.clone());
        let differ = differences(&found, &expected, |_| false);
        if closest.as_ref().is_none_or(|known| differ.len() < known.len()) {
            closest = Some(differ);
        }
        if !ended.stdout.is_empty() && ended.stdout != scene.reference(args, case.lab)?.stdout {
            wrong.push("another answer on stdout".into());
        }
    }
    wrong.extend(closest.unwrap_or_default());
    let shown = jobs[1].shown();
    Ok(wrong.iter().map(|wrong| format!("{wrong}: twice, {late:.2?} apart: `{shown}`")).collect())
}
