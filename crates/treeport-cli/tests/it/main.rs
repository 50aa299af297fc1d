//! Runs the binary in a fresh folder and looks at stdout, stderr and exit code together.

mod bad_input;
mod baselines;
#[cfg(unix)]
mod browser;
mod clouds;
mod commands;
mod demonstrations;
mod determinism;
mod exact;
mod folder;
mod index;
mod inputs;
mod library;
mod memory;
mod nearest_parts;
mod pgvector;
mod pictures;
mod saving;
mod shards;
#[cfg(unix)]
mod signals;
#[cfg(unix)]
mod skipped;
mod tables;
mod texts;
mod unifrac;

/// The binary that a [`folder::Folder`] runs.
const BINARY: &str = env!("CARGO_BIN_EXE_treeport");
