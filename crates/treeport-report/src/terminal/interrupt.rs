//! Ctrl-C: the first one asks long work to stop and keep what it has, the second one ends at once.

use std::fmt;
use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

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

/// The error of work that stopped because of Ctrl-C and has said where it goes on.
#[derive(Debug)]
pub struct Paused(
    /// Where.
    pub String,
);

impl fmt::Display for Paused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Paused {}

/// Starts to listen for Ctrl-C.
///
/// # Errors
/// The system refuses, or somebody listens already.
pub fn listen() -> Result<()> {
    let on_signal = || {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(i32::from(EXIT_CODE));
        }
        let mut err = io::stderr();
        if err.is_terminal() {
            let _ = writeln!(err, "\nstopping; Ctrl-C again ends at once");
        }
    };
    ctrlc::set_handler(on_signal).context("cannot listen for Ctrl-C")
}

/// Whether Ctrl-C has been pressed.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// For the places between two long steps: stops here if Ctrl-C has been pressed.
///
/// # Errors
/// [`Interrupted`], if it has been.
pub fn check() -> Result<()> {
    if asked() { Err(Interrupted.into()) } else { Ok(()) }
}
