//! Runs the steps of a task in order up to the first that fails, with concurrent ones beside them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{self, ExitCode, ExitStatus, Stdio};
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

#[cfg(unix)]
use crate::attack;
use crate::plan::{
    Action, Command, Machine, Program, Step, Task, WHEEL, fresh_venv, plan, venv_python,
    wheel_folder,
};

/// Exit code of shells if there is no such program.
const NOT_FOUND: u8 = 127;

/// Database of vulnerabilities of crates, which `cargo deny` reads.
const ADVISORIES: &str = "https://github.com/RustSec/advisory-db";

/// Paths and programs.
struct Place {
    root: PathBuf,
    /// The virtual environment, relative to `root` or absolute.
    venv: PathBuf,
    cargo: OsString,
    python: OsString,
    /// The caller's data folder, absolute because tests run in the folder of their crate.
    data: Option<PathBuf>,
}

/// Outcome of a step.
enum Outcome {
    Passed(Duration),
    Failed(Duration, u8),
    Skipped,
}

/// Outcome of a command, and its output if it was captured.
struct Done {
    outcome: Outcome,
    output: Vec<u8>,
}

/// Outcomes of the steps so far.
#[derive(Default)]
struct Report {
    outcomes: Vec<(&'static str, Outcome)>,
    /// Exit code of the step that failed; 0 if none has.
    code: u8,
}

impl Report {
    fn add(&mut self, step: &Step, done: Done) {
        let (Outcome::Failed(_, failed), Action::Run(command)) = (&done.outcome, &step.action)
        else {
            return self.outcomes.push((step.name, done.outcome));
        };
        let _ = std::io::stderr().write_all(&done.output);
        if command.optional {
            eprintln!("==> {}: cannot be installed; continuing without it", step.name);
            return self.outcomes.push((step.name, Outcome::Skipped));
        }
        self.code = if self.code == 0 { *failed } else { self.code };
        eprintln!("error: step `{}` failed with exit code {failed}", step.name);
        if let Some(hint) = command.hint {
            eprintln!("\nhint: {hint}");
        }
        self.outcomes.push((step.name, done.outcome));
    }
}

/// Runs a task; the exit code is that of the failed step.
pub(crate) fn run(task: Task) -> Result<ExitCode> {
    let place = Place::detect(task)?;
    #[cfg(feature = "package")]
    if task == Task::Package {
        let target = place.root.join(place.venv.parent().context("a folder for what is built")?);
        let mut workshop =
            crate::package::Workshop::new(place.root, target, place.cargo, place.python)?;
        crate::package::run(&mut workshop)?;
        return Ok(ExitCode::SUCCESS);
    }
    place.remove_skipped_file()?;
    let steps = plan(task, &place.found(task), &place.venv);
    let report = place.run_all(&steps)?;
    #[cfg(unix)]
    if let (Task::Attack(options), 0) = (task, report.code) {
        let target = place.root.join(place.venv.with_file_name("debug"));
        return attack::run(&options, &target, place.program(Program::Venv).into());
    }
    eprint!("{}{}", summary(&report.outcomes), place.skipped());
    Ok(ExitCode::from(report.code))
}

/// Formats one line per step with its time in seconds.
fn summary(outcomes: &[(&str, Outcome)]) -> String {
    let line = |(name, outcome): &(&str, Outcome)| match outcome {
        Outcome::Passed(time) => format!("  {name:<13}{:>8.1} s\n", time.as_secs_f64()),
        Outcome::Failed(time, code) => {
            format!("  {name:<13}{:>8.1} s  failed with exit code {code}\n", time.as_secs_f64())
        }
        Outcome::Skipped => format!("  {name:<13} skipped\n"),
    };
    let failed = outcomes.iter().any(|(_, outcome)| matches!(outcome, Outcome::Failed(..)));
    let head = if failed { "==> failed\n" } else { "==> passed\n" };
    head.to_owned() + &outcomes.iter().map(line).collect::<String>()
}

/// Returns the exit code to pass on; for a signal 128 plus its number, as in shells.
fn exit_code(status: ExitStatus) -> u8 {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status);
    #[cfg(not(unix))]
    let signal: Option<i32> = None;
    let code = status.code().or(signal.map(|signal| 128 + signal)).unwrap_or(1);
    // Windows has larger codes; a failure must not become 0.
    u8::try_from(code).unwrap_or(1)
}

impl Place {
    fn detect(task: Task) -> Result<Self> {
        // At run time cargo sets the folder of xtask, so a moved repository needs no rebuild.
        let xtask = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
        let root = xtask.parent().context("xtask is not inside a repository")?.to_owned();
        let or = |name, default: &str| std::env::var_os(name).unwrap_or_else(|| default.into());
        // Separate environments: the site needs more tools, and the newest packages differ from
        // those of the tests.
        let venv = match task {
            Task::Docs => "venv-docs",
            Task::Newest => "venv-newest",
            Task::DeviceTests => "venv-device",
            Task::BenchPeers(_) => "venv-peers",
            _ => "venv",
        };
        let data = std::env::var_os("TREEPORT_DATA").filter(|data| !data.is_empty());
        Ok(Self {
            root,
            venv: PathBuf::from(or("CARGO_TARGET_DIR", "target")).join(venv),
            cargo: or("CARGO", "cargo"),
            python: or("PYTHON", "python3"),
            data: data.map(std::path::absolute).transpose().context("TREEPORT_DATA")?,
        })
    }

    fn found(&self, task: Task) -> Machine {
        let works = |program: OsString, args: &[&str]| {
            let mut probe = process::Command::new(program);
            probe.env("PATH", self.path());
            probe.args(args).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            probe.status().is_ok_and(|status| status.success())
        };
        Machine {
            python: self.root.join("python/pyproject.toml").is_file(),
            venv: works(self.program(Program::Venv), &["-m", "pip", "--version"]),
            deny: works(self.cargo.clone(), &["deny", "--version"]),
            advisories: task == Task::Ci
                && works("git".into(), &["ls-remote", "--exit-code", ADVISORIES, "HEAD"]),
        }
    }

    /// Returns the search path for programs: that of the caller, and the tools that we have
    /// installed.
    fn path(&self) -> OsString {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let tools = std::iter::once(self.root.join("target/tools/bin"));
        std::env::join_paths(std::env::split_paths(&path).chain(tools)).unwrap_or(path)
    }

    fn program(&self, program: Program) -> OsString {
        match program {
            Program::Cargo => self.cargo.clone(),
            Program::Python => self.python.clone(),
            Program::Venv => venv_python(&self.root.join(&self.venv)).into(),
            Program::Fresh => venv_python(&self.root.join(fresh_venv(&self.venv))).into(),
        }
    }

    /// Replaces the placeholder for the wheel in a command by the newest wheel in its folder.
    fn filled(&self, command: &Command) -> Result<Command> {
        let mut command = command.clone();
        for arg in command.args.iter_mut().filter(|arg| arg.contains(WHEEL)) {
            let folder = wheel_folder(&self.venv);
            let newest = std::fs::read_dir(self.root.join(&folder))?.flatten().max_by_key(|file| {
                let changed = file.metadata().and_then(|about| about.modified());
                changed.unwrap_or(std::time::UNIX_EPOCH)
            });
            let wheel = newest.with_context(|| format!("no wheel in {}", folder.display()))?;
            *arg = arg.replace(WHEEL, &folder.join(wheel.file_name()).to_string_lossy());
        }
        Ok(command)
    }

    /// File in which tests that cannot run here write the reason, one line each.
    fn skipped_file(&self) -> PathBuf {
        self.root.join(self.venv.with_file_name("skipped.txt"))
    }

    fn remove_skipped_file(&self) -> Result<()> {
        match std::fs::remove_file(self.skipped_file()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
            _ => Ok(()),
        }
    }

    /// Formats one line per reason for skipped tests.
    fn skipped(&self) -> String {
        let mut counts = BTreeMap::new();
        for why in std::fs::read_to_string(self.skipped_file()).unwrap_or_default().lines() {
            *counts.entry(why.to_owned()).or_insert(0) += 1;
        }
        let line = |(why, count): (String, usize)| {
            format!("  skipped: {count} test{} of {why}\n", if count == 1 { "" } else { "s" })
        };
        counts.into_iter().map(line).collect()
    }

    /// Formats the command line for the root of the repository.
    fn shown(&self, command: &Command) -> String {
        let program = match command.program {
            Program::Cargo => "cargo".into(),
            Program::Python => self.python.to_string_lossy().into_owned(),
            Program::Venv => venv_python(&self.venv).to_string_lossy().into_owned(),
            Program::Fresh => venv_python(&fresh_venv(&self.venv)).to_string_lossy().into_owned(),
        };
        let env = command.env.map(|(key, value)| format!("{key}=\"{value}\" ")).unwrap_or_default();
        format!("{env}{program} {}", command.args.join(" "))
    }

    /// Runs steps in order up to the first that fails, with concurrent ones beside them.
    fn run_all(&self, steps: &[Step]) -> Result<Report> {
        let (ahead, steps): (Vec<_>, Vec<_>) = steps.iter().partition(|step| step.ahead);
        std::thread::scope(|scope| {
            let mut report = Report::default();
            let mut meanwhile = Some(scope.spawn(|| self.run_ahead(&ahead)));
            for step in steps {
                let in_venv = |command: &Command| command.program == Program::Venv;
                if matches!(&step.action, Action::Run(command) if in_venv(command)) {
                    for (step, done) in ahead.iter().zip(joined(meanwhile.take())?) {
                        report.add(step, done);
                    }
                }
                if report.code == 0 {
                    report.add(step, self.run_step(step)?);
                }
            }
            Ok(report)
        })
    }

    /// Runs concurrent steps in order up to the first that fails; their output is printed later.
    fn run_ahead(&self, steps: &[&Step]) -> Result<Vec<Done>> {
        let mut all = Vec::new();
        for step in steps {
            all.push(self.run_step(step)?);
            if matches!(all[all.len() - 1].outcome, Outcome::Failed(..)) {
                break;
            }
        }
        Ok(all)
    }

    fn run_step(&self, step: &Step) -> Result<Done> {
        let meanwhile = if step.ahead { " (meanwhile)" } else { "" };
        match &step.action {
            Action::Skip(why) => {
                eprintln!("==> {}: skipped, {why}", step.name);
                Ok(Done { outcome: Outcome::Skipped, output: Vec::new() })
            }
            Action::Run(command) => {
                let command = self.filled(command)?;
                eprintln!("==> {}{meanwhile}: {}", step.name, self.shown(&command));
                self.run(&command)
            }
        }
    }

    fn run(&self, command: &Command) -> Result<Done> {
        let program = self.program(command.program);
        let mut child = process::Command::new(&program);
        child.args(&command.args).current_dir(&self.root).envs(command.env);
        child.env("PATH", self.path()).env("TREEPORT_SKIPPED", self.skipped_file());
        // No incremental builds or debug information, which slow down a clean build.
        child.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
        if let Some(data) = &self.data {
            child.env("TREEPORT_DATA", data);
        }
        let start = Instant::now();
        let ended = if command.quiet {
            quietly(child)
        } else {
            child.status().map(|code| (code, Vec::new()))
        };
        let (code, output) = match ended {
            Ok((status, output)) => (exit_code(status), output),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let missing = format!("`{}` was not found\n", program.to_string_lossy());
                (NOT_FOUND, missing.into_bytes())
            }
            Err(error) => {
                let shown = program.to_string_lossy().into_owned();
                return Err(error).with_context(|| format!("cannot run `{shown}`"));
            }
        };
        let time = start.elapsed();
        let outcome = if code == 0 { Outcome::Passed(time) } else { Outcome::Failed(time, code) };
        Ok(Done { outcome, output })
    }
}

/// Runs a command and captures its output in order.
fn quietly(mut command: process::Command) -> std::io::Result<(ExitStatus, Vec<u8>)> {
    let (mut reader, writer) = std::io::pipe()?;
    command.stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
    let mut child = command.spawn()?;
    drop(command); // closes our write ends; otherwise the reader would never see the end
    let mut output = Vec::new();
    reader.read_to_end(&mut output)?;
    Ok((child.wait()?, output))
}

/// Returns the result of a thread; empty if there is none.
fn joined(thread: Option<ScopedJoinHandle<'_, Result<Vec<Done>>>>) -> Result<Vec<Done>> {
    thread.map_or(Ok(Vec::new()), |thread| thread.join().expect("the thread does not panic"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place() -> Place {
        let (cargo, python) = ("/bin/cargo".into(), "python3".into());
        Place { root: "/repo".into(), venv: "target/venv".into(), cargo, python, data: None }
    }

    fn command(program: Program, args: &[&str]) -> Command {
        let args = args.iter().map(ToString::to_string).collect();
        Command { program, args, env: None, quiet: true, optional: false, hint: None }
    }

    #[test]
    fn headlines_can_be_typed() {
        let mut docs = command(Program::Cargo, &["doc", "--no-deps"]);
        docs.env = Some(("RUSTDOCFLAGS", "-D warnings"));
        assert_eq!(place().shown(&docs), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
        let venv = command(Program::Python, &["-m", "venv"]);
        assert_eq!(place().shown(&venv), "python3 -m venv");
    }

    #[test]
    fn the_summary_names_the_failed_step() {
        let time = Duration::from_millis(1250);
        let passed = [("tests", Outcome::Passed(time)), ("python", Outcome::Skipped)];
        assert_eq!(
            summary(&passed),
            "==> passed\n  tests             1.2 s\n  python        skipped\n"
        );
        let failed = [("tests", Outcome::Failed(time, 101))];
        assert_eq!(
            summary(&failed),
            "==> failed\n  tests             1.2 s  failed with exit code 101\n"
        );
    }

    #[test]
    fn a_missing_program_is_a_failed_step() {
        let mut place = place();
        place.root = ".".into();
        place.python = "treeport-has-no-such-program".into();
        let done = place.run(&command(Program::Python, &[])).unwrap();
        assert!(matches!(done.outcome, Outcome::Failed(_, NOT_FOUND)));
        assert_eq!(done.output, b"`treeport-has-no-such-program` was not found\n");
    }

    #[cfg(unix)]
    #[test]
    fn steps_ahead_go_on_beside_the_others_and_end_before_the_environment_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = place();
        place.root = folder.path().to_owned();
        place.python = "sh".into();
        std::fs::create_dir_all(folder.path().join("target/venv/bin")).unwrap();
        std::os::unix::fs::symlink("/bin/sh", folder.path().join("target/venv/bin/python"))
            .unwrap();
        let step = |name, program, script: &str, ahead| Step {
            name,
            action: Action::Run(command(program, &["-c", script])),
            ahead,
        };
        let wait = "while ! test -e begun; do sleep 0.01; done; echo said; touch there";
        let names = |report: &Report| report.outcomes.iter().map(|done| done.0).collect::<Vec<_>>();
        let beside = [
            step("packages", Program::Python, wait, true),
            step("tests", Program::Python, "touch begun", false),
            step("wheel", Program::Venv, "test -e there", false),
        ];
        let report = place.run_all(&beside).unwrap();
        assert_eq!((names(&report), report.code), (vec!["tests", "packages", "wheel"], 0));
        let failing = [
            step("packages", Program::Python, "exit 3", true),
            step("more", Program::Python, "touch never", true),
            step("tests", Program::Python, "true", false),
            step("wheel", Program::Venv, "touch never", false),
        ];
        let report = place.run_all(&failing).unwrap();
        assert_eq!((names(&report), report.code), (vec!["tests", "packages"], 3));
        assert!(!folder.path().join("never").exists());
    }

    #[test]
    fn skipped_tests_are_counted_by_their_reason() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = place();
        place.root = folder.path().to_owned();
        std::fs::create_dir(folder.path().join("target")).unwrap();
        assert_eq!(place.skipped(), "");
        let why = ["the page (no browser)", "real data (none)", "the page (no browser)"];
        std::fs::write(place.skipped_file(), why.join("\n")).unwrap();
        let lines =
            "  skipped: 1 test of real data (none)\n  skipped: 2 tests of the page (no browser)\n";
        assert_eq!(place.skipped(), lines);
        place.remove_skipped_file().unwrap();
        assert_eq!(place.skipped(), "");
    }

    #[test]
    fn the_newest_wheel_is_installed() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = place();
        place.root = folder.path().to_owned();
        let wheels = folder.path().join("target/test-wheel");
        std::fs::create_dir_all(&wheels).unwrap();
        let install = command(Program::Venv, &["install", "{wheel}[test]"]);
        assert!(place.filled(&install).is_err());
        let old = std::fs::File::create(wheels.join("b.whl")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        std::fs::write(wheels.join("a.whl"), "").unwrap();
        let filled = place.filled(&install).unwrap();
        assert_eq!(filled.args, ["install", "target/test-wheel/a.whl[test]"]);
    }

    #[cfg(unix)]
    #[test]
    fn exit_codes_and_signals_pass_on() {
        let mut place = place();
        place.root = ".".into();
        place.python = "sh".into();
        // Not SIGINT: background jobs of some shells ignore it.
        for (script, expected) in [("exit 7", 7), ("exit 101", 101), ("kill -15 $$", 143)] {
            let outcome = place.run(&command(Program::Python, &["-c", script])).unwrap().outcome;
            assert!(matches!(outcome, Outcome::Failed(_, code) if code == expected), "{script}");
        }
        let outcome = place.run(&command(Program::Python, &["-c", "exit 0"])).unwrap().outcome;
        assert!(matches!(outcome, Outcome::Passed(_)));
    }

    #[cfg(unix)]
    #[test]
    fn the_data_folder_reaches_the_children() {
        let mut place = place();
        (place.root, place.python) = (".".into(), "sh".into());
        place.data = Some("/some/data".into());
        let script = "test \"$TREEPORT_DATA\" = /some/data";
        let outcome = place.run(&command(Program::Python, &["-c", script])).unwrap().outcome;
        assert!(matches!(outcome, Outcome::Passed(_)));
    }
}
