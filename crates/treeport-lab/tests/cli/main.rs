//! Runs the binary in a fresh folder and looks at stdout, stderr and exit code together.

mod bench;
mod figures;
#[expect(dead_code, reason = "the tests of the other binary use all of it")]
#[path = "../../../treeport-cli/tests/cli/folder.rs"]
mod folder;
mod reproduce;

/// The binary that a [`folder::Folder`] runs.
const BINARY: &str = env!("CARGO_BIN_EXE_treeport-lab");
