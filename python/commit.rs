//! The commit in versions, for build scripts. `treeport-cli` and `python` have a copy each, because a
//! package cannot include files of another; a test compares them.

use std::path::Path;
use std::process::Command;

/// Returns the first digits of the commit of the repository in the folder `root`, or else of the
/// package; an unpacked archive inside another repository has no commit.
pub(crate) fn commit(root: &str) -> Option<String> {
    if Path::new(root).join(".git").exists() { of_repository() } else { of_package() }
}

/// Returns the commit from git; cargo repeats this when git's log changes.
fn of_repository() -> Option<String> {
    let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
    if Path::new(&log).exists() {
        println!("cargo:rerun-if-changed={log}");
    }
    git(&["rev-parse", "--short=9", "HEAD"])
}

fn git(args: &[&str]) -> Option<String> {
    let found = Command::new("git").args(args).output().ok()?;
    let line = String::from_utf8(found.stdout).ok()?.trim().to_owned();
    (found.status.success() && !line.is_empty()).then_some(line)
}

/// Returns the commit in the note of `cargo package`.
fn of_package() -> Option<String> {
    let about = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = about.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?.get(..9)?;
    commit.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| commit.to_owned())
}
