//! The treeport command line: arguments and printing. The library computes.
//!
//! What several commands accept is in `args`, each command has its file in `commands`, files are
//! opened by `source` and read by `input`, rows are written by `rows`, and everything else is said through `output` of
//! [`terminal`].

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

use args::{Cli, Command};

fn main() -> ExitCode {
    terminal::finish(run(), Cli::command, commands::hint)
}

fn run() -> Result<ExitCode> {
    let matches = terminal::matches(Cli::command());
    let args = Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    args::check_outputs(&matches)?;
    args::check_stdin(&matches)?;
    source::set_format(args.input_format);
    let output = terminal::begin(&args.global)?;
    match &args.command {
        Command::Demo(args) => commands::demo::run(args, &output),
        Command::Fit(args) => commands::fit::run(args, &output),
        Command::Distance(args) => commands::distance::run(args, &output),
        Command::Unifrac(args) => commands::unifrac::run(args, &output),
        Command::Coupling(args) => commands::coupling::run(args, &output),
        Command::Exact(args) => commands::exact::run(args, &output),
        Command::Estimate(args) => commands::estimate::run(args, &output),
        Command::Eval(args) => commands::eval::run(args, &output),
        Command::Compare(args) => commands::compare::run(args, &output),
        Command::Embed(args) => commands::embed::run(args, &output),
        Command::Index(args) => commands::index::run(args, &output),
        Command::Nearest(args) => commands::nearest::run(args, &output),
        Command::Merge(args) => commands::merge::run(args, &output),
        Command::Export(args) => commands::export::run(args, &output),
        Command::Report(args) => commands::report::run(args, &output),
        Command::Plot(args) => commands::plot::run(args, &output),
        Command::Completions(args) => commands::shell::completions(args),
        Command::Man(args) => commands::shell::man(args, &output),
    }
}
