//! The `treeport-lab` command line: speed, and agreement with the paper.
//!
//! All output goes through `output` of [`terminal`], as in the `treeport` binary.

mod commands;

use std::process::ExitCode;

use anyhow::Result;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use treeport_report::terminal::{self, Global, interrupt, output};

use commands::{bench, reproduce};

/// Measure treeport's speed against peers, and repeat the experiments of the paper.
#[derive(Debug, Parser)]
#[command(name = "treeport-lab", version = env!("TREEPORT_VERSION"), after_help = EXAMPLE)]
struct Cli {
    /// The subcommand.
    #[command(subcommand)]
    command: Command,
    /// Options of every command.
    #[command(flatten)]
    global: Global,
}

const EXAMPLE: &str = "\
Examples:
  treeport-lab bench project                      how fast, against a peer on the same data
  treeport-lab reproduce all --data DIR -o runs   every table and figure of the paper

Results go to stdout, everything else to stderr.
Exit codes: 0 done, 2 bad input or usage, 130 interrupted.";

/// The commands; each has its own file in `commands/`.
#[derive(Debug, Subcommand)]
enum Command {
    /// Measure speed against a peer on the same data.
    Bench(bench::BenchArgs),
    /// Run an experiment of the paper, with its figures beside ours.
    Reproduce(reproduce::ReproduceArgs),
}

fn main() -> ExitCode {
    // Our data are part of the program, so no option helps against an error in them.
    let matches = terminal::matches(Cli::command());
    let args = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    terminal::finish(run(&args), Cli::command, |_| None)
}

fn run(args: &Cli) -> Result<ExitCode> {
    let output = terminal::begin(&args.global)?;
    match &args.command {
        Command::Bench(args) => bench::run(args, &output),
        Command::Reproduce(args) => reproduce::run(args, &output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_and_help_are_sound() {
        terminal::check(Cli::command());
    }
}
