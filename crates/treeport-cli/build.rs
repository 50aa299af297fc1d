//! Puts the commit into `--version`, where there is one; `treeport-lab` is built with this file, too.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    let version = commit().map_or_else(|| version.into(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=TREEPORT_VERSION={version}");
}

/// The commit of our own repository; an unpacked archive inside somebody else's has none.
fn commit() -> Option<String> {
    let git = Path::new("../../.git");
    if !git.exists() {
        return None;
    }
    // Grows by a line whenever the commit changes.
    let log = git.join("logs/HEAD");
    if log.exists() {
        println!("cargo:rerun-if-changed={}", log.display());
    }
    let found = Command::new("git").args(["rev-parse", "--short=9", "HEAD"]).output().ok()?;
    let commit = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && !commit.is_empty()).then_some(commit)
}
