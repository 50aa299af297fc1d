//! The treeport command line: arguments and printing. The library computes.
//!
//! What several commands accept is in `args`, each command has its file in `commands`, files are
//! opened by `source` and read by `input`, rows are written by `rows`, and everything else is said through `output` of
//! [`terminal`].
//!
//! It is a library, and `main.rs` calls it: cargo compiles a library while the one below it still becomes machine code,
//! and a program only afterwards.

mod args;
mod commands;
mod finder;
mod input;
mod labels;
mod pairs;
mod parts;
mod progress;
mod rows;
mod shards;
mod solved;
mod source;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches};
use treeport_report::terminal::{self, interrupt, output};

use args::Cli;

/// Does what the arguments of this process ask for.
#[doc(hidden)]
pub fn main() -> ExitCode {
    terminal::finish(run(), Cli::command, commands::hint)
}

fn run() -> Result<ExitCode> {
    let matches = terminal::matches(Cli::command());
    let args = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    args::check_outputs(&matches)?;
    args::check_stdin(&matches)?;
    source::set_format(args.input_format);
    let output = terminal::begin(&args.global)?;
    args.command.run(&output)
}
