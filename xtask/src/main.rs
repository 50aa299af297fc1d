//! Repository tasks: `cargo xtask help` lists them.
//!
//! A task is a list of commands ([`plan`]) that run one after the other ([`runner`]). Child
//! processes share the terminal and the process group, so Ctrl-C reaches them, too, and none is
//! left running.

#![expect(clippy::print_stderr, reason = "a task runner speaks to its user")]

#[cfg(unix)]
mod attack;
mod plan;
mod runner;

use std::io::Write;
use std::process::ExitCode;

use plan::{Task, USAGE};

fn main() -> ExitCode {
    let args: Vec<String> =
        std::env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    match plan::parse(&args) {
        Ok(Task::Help) => {
            // A reader may close the pipe early.
            let _ = std::io::stdout().write_all(USAGE.as_bytes());
            ExitCode::SUCCESS
        }
        Ok(task) => runner::run(task).unwrap_or_else(|error| {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }),
        Err(message) => {
            eprintln!("error: {message}\n\n{USAGE}");
            ExitCode::from(2)
        }
    }
}
