//! Shared parts of our command lines: results, notes, progress, Ctrl-C, exit codes.
//!
//! A program calls [`begin`] first and [`finish`] last. In between it prints through [`output`],
//! and long work calls [`interrupt`].

pub mod interrupt;
pub mod output;
mod shown;

use std::borrow::Cow;
use std::io::{self, Write};
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::{Context, Result, bail};
use clap::{ArgMatches, Args, Command};

use treeport::Wording;
use treeport::internal::memory;

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

/// Parses the command line; prints a message and exits if it is invalid.
pub fn matches(program: Command) -> ArgMatches {
    program.try_get_matches().unwrap_or_else(|error| {
        let text = error.to_string();
        if let Cow::Owned(shown) = shown(&text)
            && error.use_stderr()
        {
            let _ = write!(io::stderr(), "{shown}");
            std::process::exit(BAD_INPUT.into());
        }
        error.exit()
    })
}

/// Installs signal handlers, starts the threads and configures the output.
///
/// # Errors
/// The system cannot provide the threads or the memory, or refuses the handlers.
pub fn begin(global: &Global) -> Result<Output> {
    let threads = global.threads.unwrap_or_else(|| available_parallelism().map_or(1, Into::into));
    check_room(memory::address_space(), threads)?;
    interrupt::listen()?;
    memory::set_limit(global.memory);
    // Started here because a failure at the first use is a panic.
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
    pool.build_global().context("cannot start the threads")?;
    // A thread's first allocation reserves its address space, which must precede checks of memory.
    rayon::broadcast(|_| drop(std::hint::black_box(Box::new(0_u8))));
    Ok(Output::new(global))
}

/// Memory of the program before it reads any input.
const ROOM: u64 = 64 << 20;

/// Address space per thread: its stack and its arena of the allocator.
const THREAD_ROOM: u64 = 66 << 20;

/// Refuses to start if even small allocations may fail, because checks of memory are useless then.
fn check_room(left: Option<u64>, threads: usize) -> Result<()> {
    // Two more threads handle signals and draw progress.
    let needed = ROOM + THREAD_ROOM * (threads as u64 + 2);
    if let Some(left) = left.filter(|&left| left < needed) {
        let (left, needed) = (memory::show(left), memory::show(needed));
        bail!(
            "the limit of the address space leaves {left}, and {needed} are needed to begin with \
             {threads} threads; raise `ulimit -v`, or take fewer `--threads`"
        );
    }
    Ok(())
}

/// Prints an error with the names of the program's options and a hint, if any; returns the exit
/// code.
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
            let error = output::named(error, |cause| {
                anyhow::Error::from(cause).context("cannot write to stdout")
            });
            output::error(&Flags(program()).text_of(&error), hint.as_deref());
            ExitCode::from(BAD_INPUT)
        }
    }
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

/// Checks whether a program or one of its commands has this option.
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
///
/// # Errors
/// The count is 0, too large, or not a number.
pub fn at_most<const MOST: usize>(text: &str) -> Result<usize, String> {
    match at_least_one(text)? {
        count if count > MOST => Err(format!("it must be at most {MOST}")),
        count => Ok(count),
    }
}

/// Parses a positive count, for `value_parser`.
///
/// # Errors
/// The count is 0 or not a number.
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

    #[test]
    fn too_little_address_space_is_refused_at_once() {
        assert!(check_room(None, 4).is_ok());
        assert!(check_room(Some(1 << 30), 4).is_ok());
        let error = check_room(Some(100 << 20), 4).unwrap_err().to_string();
        assert!(
            error.starts_with("the limit of the address space leaves 105 MB, and 482 MB are"),
            "{error}"
        );
    }
}
