//! Shared parts of our command lines: results, notes, progress, Ctrl-C, exit codes.
//!
//! A program calls [`begin`] first and [`finish`] last. In between it prints through [`output`],
//! and long work calls [`interrupt`].

mod closed;
pub mod interrupt;
pub mod output;
mod shown;

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command};

use treeport::Wording;
use treeport::memory;

use interrupt::{Interrupted, Paused};
use output::Output;
use shown::shown;

/// Exit code for bad input or usage.
const BAD_INPUT: u8 = 2;

/// Options of every command.
#[derive(Args, Clone, Debug)]
pub struct Global {
    /// Number of threads [default: one per core]; results do not depend on it.
    #[arg(long, global = true, value_name = "N", value_parser = at_most::<MOST_THREADS>, help_heading = "Everywhere")]
    pub threads: Option<usize>,
    /// Limit of the memory that one step may take, such as 4GB or 512MiB [default: what the machine can
    /// spare]; a step that needs more is an error.
    #[arg(long, global = true, value_name = "SIZE", value_parser = memory::parse, help_heading = "Everywhere")]
    pub memory: Option<u64>,
    /// Print one JSON object per line.
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub json: bool,
    /// Print only results and errors.
    #[arg(long, short, global = true, help_heading = "Everywhere")]
    pub quiet: bool,
    /// Show no progress bars (they appear only in a terminal).
    #[arg(long, global = true, help_heading = "Everywhere")]
    pub no_progress: bool,
}

/// Parses the command line; prints a message or the help and exits if there is no command to run.
pub fn matches(program: Command) -> ArgMatches {
    program.try_get_matches().unwrap_or_else(|error| {
        if !error.use_stderr() {
            let printed =
                closed::stdout().and_then(|mut out| error.print().and_then(|()| out.flush()));
            match printed {
                Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => {
                    output::error(&unwritten(&cause), None);
                    std::process::exit(BAD_INPUT.into());
                }
                _ => std::process::exit(0),
            }
        }
        let text = error.to_string();
        if let Cow::Owned(shown) = shown(&text) {
            let _ = write!(io::stderr(), "{shown}");
            std::process::exit(BAD_INPUT.into());
        }
        error.exit()
    })
}

/// Installs signal handlers, starts the threads and configures the output.
pub fn begin(global: &Global) -> Result<Output> {
    let threads = global.threads.unwrap_or_else(|| available_parallelism().map_or(1, Into::into));
    memory::check_threads(threads)?;
    interrupt::listen()?;
    memory::set_limit(global.memory);
    // Started here because a failure at the first use is a panic.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().context("cannot start the threads")?;
    // A thread's first allocation reserves its address space, which must precede checks of memory.
    rayon::broadcast(|_| drop(std::hint::black_box(Box::new(0_u8))));
    Ok(Output::new(global))
}

/// Prints an error with the program's options and a hint, if any; returns the exit code.
pub fn finish(
    result: Result<ExitCode>,
    program: impl FnOnce() -> Command,
    hint: impl Fn(&anyhow::Error) -> Option<String>,
) -> ExitCode {
    match result {
        Ok(code) => code,
        // `treeport … | head` closes the pipe early.
        Err(error) if is_closed_pipe(&error) => ExitCode::SUCCESS,
        Err(error) if error.is::<Interrupted>() || error.is::<Paused>() => {
            // An error of stderr cannot be reported.
            let _ = writeln!(io::stderr(), "{}", shown(&error.to_string()));
            ExitCode::from(interrupt::EXIT_CODE)
        }
        Err(error) => {
            let hint = hint(&error);
            // Errors about files name them already; the rest concern stdout.
            let error = output::named(error, |cause| anyhow::Error::msg(unwritten(&cause)));
            output::error(&Flags(program()).text_of(&error), hint.as_deref());
            ExitCode::from(BAD_INPUT)
        }
    }
}

/// Returns the message for stdout that cannot be written.
fn unwritten(cause: &io::Error) -> String {
    format!("cannot write to standard output: {}", treeport::without_number(cause))
}

/// Options of a program; they replace the names of library options in errors.
struct Flags(Command);

impl Flags {
    /// Formats an error with its causes.
    fn text_of(&self, error: &anyhow::Error) -> String {
        let texts = error.chain().map(|cause| match cause.downcast_ref::<treeport::Error>() {
            Some(error) => error.said(self),
            None => cause.to_string(),
        });
        texts.collect::<Vec<_>>().join(": ")
    }
}

impl Wording for Flags {
    fn option(&self, name: &str) -> String {
        let flag = name.replace('_', "-");
        if has_flag(&self.0, &flag) { format!("`--{flag}`") } else { name.to_owned() }
    }
}

fn has_flag(program: &Command, flag: &str) -> bool {
    program.get_arguments().any(|argument| argument.get_long() == Some(flag))
        || program.get_subcommands().any(|command| has_flag(command, flag))
}

fn is_closed_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let by_library = match cause.downcast_ref::<treeport::Error>() {
            Some(treeport::Error::Write { cause, .. }) => Some(cause),
            _ => None,
        };
        let cause = by_library.or(cause.downcast_ref::<io::Error>());
        cause.is_some_and(|cause| cause.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Checks for tests that options are consistent and that the help of every command has an example.
///
/// # Panics
/// If a check fails.
pub fn check(program: Command) {
    let example = format!("{} ", program.get_name());
    for command in program.get_subcommands() {
        let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(help.contains(&example), "{} has no example in its help", command.get_name());
    }
    program.debug_assert();
}

/// Largest number of threads; no machine benefits from more.
const MOST_THREADS: usize = 1024;

/// Parses a count from 1 to `MOST`, for `value_parser`.
pub fn at_most<const MOST: usize>(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count > MOST => Err(format!("it must be at most {MOST}")),
        count => Ok(count),
    }
}

/// Parses a positive count, for `value_parser`.
pub fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".into()),
        Ok(count) => Ok(count),
        Err(error) => Err(format!("{error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_library_are_flags_where_there_are_such() {
        let command = Command::new("fit").arg(clap::Arg::new("n").long("n-trees"));
        let flags = Flags(Command::new("program").subcommand(command));
        let bad = |option| treeport::Error::BadOption {
            option,
            value: "0".into(),
            expected: "one is needed",
        };
        let text = |option| flags.text_of(&anyhow::Error::from(bad(option)).context("a.csv"));
        assert_eq!(text("n_trees"), "a.csv: `--n-trees` is 0; one is needed");
        assert_eq!(text("a share"), "a.csv: a share is 0; one is needed");
        let missing = io::Error::from(io::ErrorKind::NotFound);
        let unread = treeport::Error::read("a.tree", missing).into();
        assert_eq!(flags.text_of(&unread), "cannot read `a.tree`: entity not found");
    }

    #[test]
    fn closed_pipes_are_known_whoever_wrote() {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_closed_pipe(&closed().into()));
        assert!(is_closed_pipe(&treeport::Error::write("/dev/stdout", closed()).into()));
        assert!(!is_closed_pipe(&treeport::Error::read("a", closed()).into()));
    }
}
