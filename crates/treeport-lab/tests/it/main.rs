//! The binary in a fresh folder, with stdout, stderr and exit code together; judges and real data.

mod bench;
mod exact;
mod figures;
#[expect(dead_code, reason = "the tests of the other binary use all of it")]
#[path = "../../../treeport-cli/tests/it/folder.rs"]
mod folder;
mod real_data;
mod reproduce;
mod shortest_paths;
#[path = "../../../treeport-cli/tests/it/skipped.rs"]
mod skipped;

/// The binary that a [`folder::Folder`] runs.
const BINARY: &str = env!("CARGO_BIN_EXE_treeport-lab");
