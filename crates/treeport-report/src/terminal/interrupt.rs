//! Ctrl-C and the other signals to end. The first one stops long work, which keeps its results so far;
//! the second one ends the program at once, without a half-written file.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use treeport::io::file;

/// Exit code after an interruption, as shells count it: 128 + SIGINT.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// The error of work that stopped because of Ctrl-C.
#[derive(Debug)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted; no file was written")
    }
}

impl std::error::Error for Interrupted {}

/// The error of work that stopped because of Ctrl-C and can resume.
#[derive(Debug)]
pub struct Paused(
    /// How it resumes.
    pub String,
);

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Paused {}

/// Starts to listen for Ctrl-C; on Unix also for SIGTERM and for a closed terminal.
///
/// # Errors
/// The system refuses, or somebody listens already.
pub fn listen() -> Result<()> {
    hear().context("cannot listen for Ctrl-C")
}

#[cfg(unix)]
fn hear() -> Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let mut wanted = vec![SIGINT, SIGTERM];
    // Work under `nohup` is to outlive its terminal.
    if !is_ignored(SIGHUP) {
        wanted.push(SIGHUP);
    }
    let mut signals = signal_hook::iterator::Signals::new(wanted)?;
    let hear = move || signals.forever().for_each(|signal| heard(128 + signal));
    std::thread::Builder::new().name("signals".into()).spawn(hear)?;
    Ok(())
}

/// Whether a signal was ignored when we were started; yes where that is unknown.
#[cfg(unix)]
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_none_or(|mask| mask >> (signal - 1) & 1 == 1)
}

#[cfg(not(unix))]
fn hear() -> Result<()> {
    Ok(ctrlc::set_handler(|| heard(EXIT_CODE.into()))?)
}

/// Requests a stop; the second time ends with that code.
fn heard(code: i32) {
    if ASKED.swap(true, Ordering::Relaxed) {
        let _none = file::remove_pending();
        std::process::exit(code);
    }
    let mut err = io::stderr();
    if err.is_terminal() {
        let _ = writeln!(err, "\nstopping; Ctrl-C again ends at once");
    }
}

/// Whether Ctrl-C has been pressed.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// Stops between two long steps if Ctrl-C has been pressed.
///
/// # Errors
/// [`Interrupted`], if it has been.
pub fn check() -> Result<()> {
    if asked() { Err(Interrupted.into()) } else { Ok(()) }
}
