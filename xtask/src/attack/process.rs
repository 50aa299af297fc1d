//! A run of a program: limits, output, exit status, and whether that is a fault.

use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// Ctrl-C has been pressed.
pub(super) static STOPPED: AtomicBool = AtomicBool::new(false);

/// Default limit of the address space in kilobytes.
pub(super) const MEMORY: u64 = 4 << 20;

/// A program to be run in a folder.
#[derive(Clone, Debug)]
pub(super) struct ProgramRun {
    pub(super) program: PathBuf,
    pub(super) args: Vec<String>,
    pub(super) folder: PathBuf,
    /// Limit of the address space in kilobytes.
    pub(super) memory: u64,
    /// File for stdout, if it is not captured.
    pub(super) stdout: Option<PathBuf>,
    /// Time limit, excluding the time spent waiting for a processor.
    pub(super) limit: Duration,
}

#[derive(Debug)]
pub(super) struct FinishedRun {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    /// It did not end within its time limit.
    pub(super) hung: bool,
    pub(super) took: Duration,
}

/// A run in progress, the leader of its own process group.
pub(super) struct RunInProgress {
    child: Child,
    begun: Instant,
    limit: Duration,
    said: [PathBuf; 2],
}

impl ProgramRun {
    /// Returns the command line.
    pub(super) fn shown(&self) -> String {
        let name = self.program.file_name().unwrap_or_default().to_string_lossy();
        let quoted = |arg: &String| {
            let plain = !arg.is_empty() && arg.chars().all(|c| c.is_ascii_graphic() && c != '\'');
            if plain { arg.clone() } else { format!("{arg:?}") }
        };
        let args: Vec<String> = self.args.iter().map(quoted).collect();
        format!("{name} {}", args.join(" "))
    }

    /// Starts the program; its output goes to files, so that no pipe can block it.
    pub(super) fn start(&self, label: &str) -> Result<RunInProgress> {
        let beside = |kind: &str| self.folder.with_extension(format!("{label}.{kind}"));
        let said = [beside("stdout"), beside("stderr")];
        let [stdout, stderr] = [self.stdout.as_ref().unwrap_or(&said[0]), &said[1]];
        // The shell sets the limit and executes the program.
        let mut command = Command::new("sh");
        command.args(["-c", "ulimit -v \"$0\"; exec \"$@\"", &self.memory.to_string()]);
        command.arg(&self.program).args(&self.args).current_dir(&self.folder);
        command.env_remove("RUST_BACKTRACE").env("OPENBLAS_NUM_THREADS", "1");
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(File::create(stdout)?).stderr(File::create(stderr)?);
        let child = command.spawn().context("sh cannot be started")?;
        Ok(RunInProgress { child, begun: Instant::now(), limit: self.limit, said })
    }

    /// Runs the program to its end.
    pub(super) fn run(&self) -> Result<FinishedRun> {
        self.start("run")?.wait()
    }
}

impl RunInProgress {
    /// Sends a signal to the process group.
    pub(super) fn signal(&self, signal: &str) {
        // An error means that the group has ended.
        let group = format!("-{}", self.child.id());
        let mut kill = Command::new("kill");
        let _ = kill.args(["-s", signal, "--", &group]).stderr(Stdio::null()).status();
    }

    /// Waits for this time, or until the program ends.
    pub(super) fn pause(&mut self, time: Duration) -> Result<()> {
        let until = Instant::now() + time;
        while Instant::now() < until && self.child.try_wait()?.is_none() {
            std::thread::sleep(Duration::from_micros(500));
        }
        Ok(())
    }

    /// Waits for the end; kills the program after its time limit.
    pub(super) fn wait(self) -> Result<FinishedRun> {
        self.wait_or(None)
    }

    /// Waits for the end; after its time limit, optionally sends the signal `ask` and waits five
    /// more seconds before killing the program.
    pub(super) fn wait_or(mut self, ask: Option<&str>) -> Result<FinishedRun> {
        self.pause_while(self.limit)?;
        if let (Some(signal), None) = (ask, self.child.try_wait()?) {
            self.signal(signal);
            self.pause_while(Duration::from_secs(5))?;
        }
        let hung = self.child.try_wait()?.is_none();
        self.signal("KILL");
        let status = self.child.wait()?;
        let took = self.begun.elapsed();
        if STOPPED.load(Ordering::Relaxed) {
            bail!("stopped");
        }
        let [stdout, stderr] = self.said.each_ref().map(|path| read_and_remove(path));
        Ok(FinishedRun { status, stdout, stderr, hung, took })
    }

    /// Waits for this time plus the time that the program waits for a processor meanwhile, or until
    /// it ends. On a busy machine that may be twenty times as long, which is no fault of the
    /// program.
    fn pause_while(&mut self, limit: Duration) -> Result<()> {
        let (begun, before) = (Instant::now(), self.processor_wait());
        let mut until = limit;
        while !STOPPED.load(Ordering::Relaxed) && self.child.try_wait()?.is_none() {
            if begun.elapsed() >= until {
                until = limit + self.processor_wait().saturating_sub(before);
                if begun.elapsed() >= until {
                    break;
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    /// Returns how long the program has waited for a processor.
    fn processor_wait(&self) -> Duration {
        longest_wait(Path::new(&format!("/proc/{}/task", self.child.id())))
    }
}

/// Returns the longest time that a thread waited for a processor; 0 if unknown.
fn longest_wait(threads: &Path) -> Duration {
    let waited = |thread: std::fs::DirEntry| {
        // Nanoseconds of running, nanoseconds of waiting, number of time slices.
        let said = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
        said.split(' ').nth(1)?.parse().ok()
    };
    let threads = std::fs::read_dir(threads).into_iter().flatten().flatten();
    Duration::from_nanos(threads.filter_map(waited).max().unwrap_or(0))
}

fn read_and_remove(path: &Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap_or_default();
    let _ = std::fs::remove_file(path);
    bytes
}

impl FinishedRun {
    /// Returns a fault, if any: it hung, crashed, panicked, or wrote control characters.
    pub(super) fn fault(&self) -> Option<String> {
        self.fault_after(&[])
    }

    /// Returns the [`fault`](Self::fault) of a run that was sent these signals and may have ended
    /// by one.
    pub(super) fn fault_after(&self, sent: &[i32]) -> Option<String> {
        let said = String::from_utf8_lossy(&self.stderr);
        if self.hung {
            return Some(format!("no end after {:.0} s", self.took.as_secs_f64()));
        }
        let obeyed = |code: i32| sent.contains(&code);
        if let Some(signal) = self.status.signal().filter(|signal| !obeyed(*signal)) {
            return Some(format!("ended by signal {signal}; {}", last_words(&said)));
        }
        if said.contains("panicked at") {
            return Some(format!("panicked; {}", last_words(&said)));
        }
        if let Some(control) = said.chars().find(|&c| c.is_control() && c != '\n' && c != '\t') {
            return Some(format!("raw {control:?} on stderr"));
        }
        match self.status.code() {
            None | Some(0 | 1 | 130) => None,
            Some(code) if obeyed(code - 128) => None,
            Some(2) if said.trim().is_empty() => Some("exit code 2 without a word".into()),
            Some(2) => None,
            Some(code) => Some(format!("exit code {code}; {}", last_words(&said))),
        }
    }

    pub(super) fn success(&self) -> bool {
        self.status.success()
    }

    /// Returns stderr as a single line for a finding.
    pub(super) fn words(&self) -> String {
        last_words(&String::from_utf8_lossy(&self.stderr))
    }
}

/// Returns the first lines of a text, shortened and without control characters.
fn last_words(said: &str) -> String {
    let line = said.lines().filter(|line| !line.trim().is_empty()).take(2);
    let text = line.collect::<Vec<_>>().join(" / ");
    text.chars().take(160).map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fault of a shell script.
    fn fault(script: &str, limit: Duration) -> Option<String> {
        let folder = tempfile::tempdir().unwrap();
        let args = ["-c", script].map(ToString::to_string).to_vec();
        let (program, memory, stdout) = ("sh".into(), MEMORY, None);
        let inside = folder.path().join("inside");
        std::fs::create_dir(&inside).unwrap();
        ProgramRun { program, args, folder: inside, memory, stdout, limit }.run().unwrap().fault()
    }

    #[test]
    fn every_fault_is_found() {
        let long = Duration::from_secs(60);
        for (script, found) in [
            ("exit 0", None),
            ("echo error: no >&2; exit 2", None),
            ("exit 2", Some("exit code 2 without a word")),
            ("echo x >&2; exit 3", Some("exit code 3; x")),
            ("kill -ABRT $$", Some("ended by signal 6; ")),
            (
                "echo \"thread 'main' panicked at x.rs\" >&2",
                Some("panicked; thread 'main' panicked at x.rs"),
            ),
            ("printf 'error: \\033[2J' >&2; exit 2", Some("raw '\\u{1b}' on stderr")),
        ] {
            assert_eq!(fault(script, long).as_deref(), found, "{script}");
        }
    }

    #[test]
    fn what_waits_for_a_processor_has_longer() {
        let threads = tempfile::tempdir().unwrap();
        for (thread, said) in [("7", "900 20 3\n"), ("8", "10 3000000000 1\n"), ("9", "")] {
            std::fs::create_dir(threads.path().join(thread)).unwrap();
            std::fs::write(threads.path().join(thread).join("schedstat"), said).unwrap();
        }
        assert_eq!(longest_wait(threads.path()), Duration::from_secs(3));
        // The program has ended, or the system has no such files.
        assert_eq!(longest_wait(&threads.path().join("none")), Duration::ZERO);
    }

    #[test]
    fn what_hangs_is_ended_with_its_children() {
        let found = fault("sleep 1000 & sleep 1000", Duration::from_millis(50));
        assert_eq!(found.as_deref(), Some("no end after 0 s"));
    }
}
