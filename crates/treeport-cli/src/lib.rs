//! The treeport command line: arguments and printing. The library computes.
//!
//! `args` has the arguments shared by commands, `commands` one file per command. `source` opens
//! files, `input` reads them, `rows` writes rows, and `output` of [`terminal`] prints the rest.
//! Being a library, it compiles while its dependencies are still in code generation.

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
mod texts;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches};
use treeport_report::terminal::{self, interrupt, output};

use args::Cli;

/// Runs the command in the arguments of this process.
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
