//! Ctrl-C and other termination signals. The first one stops long work, which keeps its results so
//! far; the second one exits immediately, without a partially written file.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use treeport::io::file;

/// Exit code after an interruption: 128 + SIGINT.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Error of work that Ctrl-C has stopped.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; no file was written")
    }
}

impl std::error::Error for Interrupted {}

/// Error of work that Ctrl-C has stopped and that can resume.
#[derive(Debug)]
pub struct Paused(
    /// Message with the way to resume.
    pub String,
);

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Paused {}

/// Installs the handlers for Ctrl-C, and on Unix for SIGTERM and SIGHUP.
pub fn listen() -> Result<()> {
    install_handlers().context("cannot listen for Ctrl-C")
}

#[cfg(unix)]
fn install_handlers() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM];
    // Under `nohup`, work outlives its terminal.
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    let handle = move || signals.forever().for_each(|signal| on_signal(128 + signal));
    std::thread::Builder::new().name("signals".into()).spawn(handle)?;
    Ok(())
}

/// Checks whether a signal was ignored at the start of the process; true if unknown.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn install_handlers() -> Result<()> {
    Ok(ctrlc::set_handler(|| on_signal(EXIT_CODE.into()))?)
}

/// Requests a stop; the second call exits with `code`.
fn on_signal(code: i32) {
    if ASKED.swap(true, Ordering::Relaxed) {
        let _none = file::remove_pending();
        std::process::exit(code);
    }
    let mut err = io::stderr();
    if err.is_terminal() {
        let _ = writeln!(err, "\nstopping; Ctrl-C again ends at once");
    }
}

/// Checks whether Ctrl-C has been pressed.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Returns an error if Ctrl-C has been pressed; called between long steps.
pub fn check() -> Result<()> {
    if asked() { Err(Interrupted.into()) } else { Ok(()) }
}
