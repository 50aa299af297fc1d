//! Which commit is built: build scripts put it into versions. A package holds no file of another, so
//! `treeport-cli` and `python` both have this one, and a test keeps the two the same.

use std::path::Path;
use std::process::Command;

/// The first digits of the commit: that of the repository in the folder `root`, or the one that a
/// package says it was made from. An unpacked archive inside somebody else's repository has none.
pub(crate) fn commit(root: &str) -> Option<String> {
    if Path::new(root).join(".git").exists() { of_repository() } else { of_package() }
}

/// Asks git. Only another commit makes cargo ask again: its log grows by a line with every one.
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

/// What `cargo package` writes down.
fn of_package() -> Option<String> {
    let about = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let (_, rest) = about.split_once("\"sha1\"")?;
    let commit = rest.split('"').nth(1)?.get(..9)?;
    commit.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| commit.to_owned())
}
