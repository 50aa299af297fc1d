//! The treeport command line.
//!
//! Arguments are parsed in `args`, each command has its file in `commands`, and everything a command
//! reads or says goes through `input` and `output`.

mod args;
mod commands;
mod fingerprint;
mod history;
mod input;
mod interrupt;
mod labels;
mod output;
mod pairs;
mod scored;

use std::io::{self, Write};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Parser;

use args::{Cli, Command};
use interrupt::{Interrupted, Paused};
use output::Output;

/// Exit code for bad input and bad usage.
const BAD_INPUT: u8 = 2;

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(code) => code,
        // `treeport … | head` has what it wants.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() || error.is::<Paused>() => {
            // Nobody can be told that stderr does not work.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(interrupt::EXIT_CODE)
        }
        Err(error) => {
            output::error(&error, commands::hint(&error).as_deref());
            ExitCode::from(BAD_INPUT)
        }
    }
}

fn run(args: &Cli) -> Result<ExitCode> {
    interrupt::listen()?;
    if let Some(threads) = args.global.threads {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build_global().context("cannot start the threads")?;
    }
    let output = Output::new(&args.global);
    match &args.command {
        Command::Demo(args) => commands::demo::run(args, &output),
        Command::Fit(args) => commands::fit::run(args, &output),
        Command::Distance(args) => commands::distance::run(args, &output),
        Command::Coupling(args) => commands::coupling::run(args, &output),
        Command::Exact(args) => commands::exact::run(args, &output),
        Command::Eval(args) => commands::eval::run(args, &output),
        Command::Embed(args) => commands::embed::run(args, &output),
        Command::Nearest(args) => commands::nearest::run(args, &output),
        Command::Export(args) => commands::export::run(args, &output),
        Command::Report(args) => commands::report::run(args, &output),
        Command::Plot(args) => commands::plot::run(args, &output),
        Command::Bench(args) => commands::bench::run(args, &output),
        Command::Reproduce(args) => commands::reproduce::run(args, &output),
        Command::Completions(args) => commands::shell::completions(args),
        Command::Man(args) => commands::shell::man(args, &output),
    }
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let closed = |e: &io::Error| e.kind() == io::ErrorKind::BrokenPipe;
    error.chain().any(|cause| cause.downcast_ref::<io::Error>().is_some_and(closed))
}
