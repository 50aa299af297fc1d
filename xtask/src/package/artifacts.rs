//! Checks of the finished artifacts: sizes, files, compatible systems, and traces of the build
//! machine.

use std::path::Path;

use anyhow::{Context, Result, bail};

use super::archive::{Entry, files_of};
use super::workshop::{Workshop, output_of};
use super::{GLIBC, WHEEL_SIZE, checks};

pub(crate) fn check(workshop: &Workshop, wheel: &Path) -> Result<()> {
    let size = std::fs::metadata(wheel)?.len();
    if size >= WHEEL_SIZE {
        bail!("the wheel has {size} bytes; less than {WHEEL_SIZE} are allowed");
    }
    let mut host = workshop.command("uname");
    host.arg("-n");
    let host = output_of(host).unwrap_or_default();
    let folders = workshop.folders();
    let folders: Vec<_> = folders.iter().map(String::as_str).collect();
    let words = checks::identifying_strings(&folders, host.trim());

    let inside = files_of(&workshop.unpacked(wheel, &workshop.work.path().join("wheel"))?)?;
    let names: Vec<_> = inside.iter().map(|entry| entry.name.clone()).collect();
    checks::wheel_files(&workshop.version, &names)?;
    no_names("the wheel", &inside, &words)?;
    for artifact in files_of(&workshop.dist)? {
        let path = workshop.dist.join(&artifact.name);
        if artifact.name.ends_with(&format!("{}.tar.gz", workshop.triple)) {
            let folder = workshop.unpacked(&path, &workshop.work.path().join("archive"))?;
            old_glibc(workshop, &files_of(&folder)?, "treeport")?;
        }
        if artifact.name == format!("treeport-{}.tar.gz", workshop.version) {
            let folder = workshop.unpacked(&path, &workshop.work.path().join("sources"))?;
            // Published sources of other crates are verified by cargo with their digests.
            let mut ours = files_of(&folder)?;
            ours.retain(|entry| !entry.name.starts_with("vendor/"));
            no_names("the source archive", &ours, &words)?;
        } else {
            no_names("target/dist", &[artifact], &words)?;
        }
    }
    old_glibc(workshop, &inside, "treeport/_core.abi3.so")
}

fn no_names(place: &str, entries: &[Entry], words: &[String]) -> Result<()> {
    for Entry { name, bytes, .. } in entries {
        if let Some(text) = checks::found(bytes, words)? {
            bail!("`{name}` in {place} names this machine: {text}");
        }
    }
    Ok(())
}

/// Verifies the glibc version declared by maturin and zig by the symbols that a program imports.
fn old_glibc(workshop: &Workshop, entries: &[Entry], name: &str) -> Result<()> {
    if !workshop.triple.contains("linux-gnu") {
        return Ok(());
    }
    let entry = entries.iter().find(|entry| entry.name == name);
    let program = entry.with_context(|| format!("there is no `{name}`"))?;
    let newest = checks::newest_glibc(&program.bytes).context("it asks for no glibc")?;
    eprintln!("    {name} asks for glibc 2.{newest}");
    if newest > GLIBC {
        bail!("`{name}` asks for glibc 2.{newest}; 2.{GLIBC} is promised");
    }
    Ok(())
}
