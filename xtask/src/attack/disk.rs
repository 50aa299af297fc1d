//! Full disks: the error names the file, the old file is unchanged, and no temporary file remains.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::Result;

use super::Arena;
use super::folder::{has_ending, snapshot, write};
use super::process::ProgramRun;
use super::random::Random;
use super::scene::Scene;

const OLD: &[u8] = b"the old file\n";

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    match random.below(if arena.tmpfs { 3 } else { 2 }) {
        0 => full_stdout(arena, random, folder),
        1 => full_device(arena, random, folder),
        _ => small_disk(arena, random, folder),
    }
}

/// Prints to `/dev/full`, which refuses all output.
fn full_stdout(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.small;
    let case = Scene::draw(random, |_| true);
    write(folder, &scene.inputs)?;
    let job = ProgramRun { stdout: Some("/dev/full".into()), ..scene.job(case, folder)? };
    let ended = job.run()?;
    let mut wrong: Vec<String> = ended.fault().into_iter().collect();
    if ended.success() && !scene.of(case)?.stdout.is_empty() {
        wrong.push("success, though nothing could be printed".into());
    }
    Ok(wrong.iter().map(|wrong| format!("{wrong}: `{}` > /dev/full", job.shown())).collect())
}

/// Writes a result to `/dev/full`.
fn full_device(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.small;
    let case = Scene::draw(random, |case| case.writes().any(|out| out.starts_with("out.")));
    write(folder, &scene.inputs)?;
    let mut job = scene.job(case, folder)?;
    let place = job.args.iter().rposition(|word| word.starts_with("out."));
    let Some(place) = place else { return Ok(Vec::new()) };
    // The link's name keeps the extension, which tells the format.
    let ending = job.args[place].trim_start_matches("out").to_owned();
    let link = format!("full{ending}");
    std::os::unix::fs::symlink("/dev/full", folder.join(&link))?;
    job.args[place].clone_from(&link);
    let ended = job.run()?;
    let mut wrong: Vec<String> = ended.fault().into_iter().collect();
    if ended.success() {
        wrong.push("success, though nothing could be written".into());
    } else if !ended.words().contains(&link) {
        wrong.push(format!("the error does not name the file: {}", ended.words()));
    }
    wrong.extend(scene.wrong_before(folder)?);
    Ok(wrong.iter().map(|wrong| format!("{wrong}: `{}`", job.shown())).collect())
}

/// Writes a result over an old one on a disk with too little space.
fn small_disk(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.large;
    let fits = |case: &super::cases::Case| !case.lab && case.writes().any(|out| out != "out");
    let case = Scene::draw(random, fits);
    let reference = scene.of(case)?;
    write(folder, &scene.inputs)?;
    let size: usize =
        reference.files.values().map(|bytes| bytes.len().next_multiple_of(4096)).sum();
    let pages = random.within(2..(size / 4096 + 4).max(3));
    let Some(disk) = Disk::mount(&folder.join("disk"), pages * 4)? else { return Ok(Vec::new()) };
    let mut job = scene.job(case, folder)?;
    for word in job.args.iter_mut().filter(|word| word.starts_with("out.")) {
        std::fs::write(disk.0.join(&word), OLD)?;
        *word = format!("disk/{word}");
    }
    let ended = job.run()?;
    let found = snapshot(&disk.0)?;
    let mut wrong: Vec<String> = ended.fault().into_iter().collect();
    if !ended.success() && !ended.words().contains("disk/out") {
        wrong.push(format!("the error does not name the file: {}", ended.words()));
    }
    for (name, bytes) in &found {
        let whole = reference.files.get(name).is_some_and(|new| new == bytes || case.timed);
        let old = bytes == OLD && !ended.success();
        let journal = has_ending(name, "part") && !ended.success();
        if !(whole || old || journal) {
            wrong.push(format!("`disk/{name}` is neither old nor new"));
        }
    }
    Ok(wrong.iter().map(|wrong| format!("{wrong}: {pages} pages: `{}`", job.shown())).collect())
}

/// A small file system that is unmounted on drop.
pub(super) struct Disk(PathBuf);

impl Disk {
    /// Mounts a file system of this size, if permitted.
    pub(super) fn mount(at: &Path, kilobytes: usize) -> Result<Option<Self>> {
        std::fs::create_dir_all(at)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", &format!("size={kilobytes}k"), "tmpfs"]).arg(at);
        let done = mount.stdout(Stdio::null()).stderr(Stdio::null()).status();
        Ok(done.is_ok_and(|status| status.success()).then(|| Self(at.into())))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily, so that a remaining process does not prevent it.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}
