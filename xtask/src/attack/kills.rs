//! Commands that are killed and run again produce the same bytes, without temporary files.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Arena;
use super::folder::{is_temporary, snapshot, write};
use super::random::Random;
use super::scene::Scene;

/// Sequences of signals, sent in quick succession.
const SIGNALS: [&[(&str, i32)]; 5] =
    [&[("KILL", 9)], &[("TERM", 15)], &[("INT", 2)], &[("HUP", 1)], &[("INT", 2), ("INT", 2)]];

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let case = Scene::draw(random, |case| case.long);
    let scene = &arena.large;
    let reference = scene.of(case)?;
    write(folder, &scene.inputs)?;
    let job = scene.job(case, folder)?;
    let mut findings = Vec::new();
    for _ in 0..random.within(1..4) {
        let signals = *random.pick(&SIGNALS);
        let moment = reference.took.mul_f64(random.fraction() * 1.05);
        let before = temporary(folder)?;
        let mut running = job.start("killed")?;
        running.pause(moment)?;
        for (name, _) in signals {
            running.signal(name);
            running.pause(Duration::from_millis(random.below(20) as u64))?;
        }
        let ended = running.wait()?;
        let sent: Vec<i32> = signals.iter().map(|signal| signal.1).collect();
        let name = signals.iter().map(|signal| signal.0).collect::<Vec<_>>().join("+");
        let after = format!("after {name} at {moment:.2?} of `{}`", job.shown());
        findings.extend(ended.fault_after(&sent).map(|fault| format!("{fault} {after}")));
        // SIGKILL leaves no chance to clean up.
        if name != "KILL" {
            let left = temporary(folder)?;
            findings.extend(left.difference(&before).map(|file| format!("left `{file}` {after}")));
        }
    }
    let ended = job.run()?;
    findings.extend(ended.fault().map(|fault| format!("{fault}, begun again: `{}`", job.shown())));
    if ended.success() {
        let wrong = scene.wrong_after(case, folder)?;
        findings
            .extend(wrong.iter().map(|wrong| format!("{wrong} after kills of `{}`", job.shown())));
    } else {
        findings.push(format!("begun again it fails: `{}`: {}", job.shown(), ended.words()));
    }
    Ok(findings)
}

fn temporary(folder: &Path) -> Result<BTreeSet<String>> {
    Ok(snapshot(folder)?.into_keys().filter(|name| is_temporary(name)).collect())
}
