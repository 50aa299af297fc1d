//! Tests that cannot run here say so.

use std::fs::OpenOptions;
use std::io::Write;

/// Says why a test does nothing: on stderr past the harness, which hides what a passing test
/// prints, and in the file that `cargo xtask` names and shows at its end.
pub(crate) fn skipped(why: &str) {
    let line = format!("{why}\n");
    let _ = std::io::stderr().write_all(format!("skipped: {line}").as_bytes());
    if let Some(path) = std::env::var_os("TREEPORT_SKIPPED") {
        let file = OpenOptions::new().append(true).create(true).open(path);
        // Whole lines at once: tests run side by side.
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("TREEPORT_SKIPPED");
    }
}
