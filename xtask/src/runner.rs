//! Runs the steps of a task up to the first that fails.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{self, ExitCode, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

#[cfg(unix)]
use crate::attack;
use crate::plan::{
    Machine, Plan, Program, Step, Task, WHEEL, fresh_venv, plan, venv_python, wheel_folder,
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

/// A finished step.
struct Done<'a> {
    step: &'a Step,
    time: Duration,
    /// Exit code; 0 after success.
    code: u8,
    /// Captured output of a quiet or concurrent step.
    output: Vec<u8>,
}

impl Done<'_> {
    /// Returns the exit code with which the task ends; 0 if it continues.
    fn failure(&self) -> u8 {
        if self.step.optional { 0 } else { self.code }
    }

    /// Prints captured output, unless the step is quiet and succeeded, and advice.
    fn print(&self, beside: bool) {
        let (name, code) = (self.step.name, self.code);
        if code != 0 || !self.step.quiet {
            if beside {
                eprintln!("==> {name} printed:");
            }
            let _ = std::io::stderr().write_all(&self.output);
        }
        if code == 0 {
            return;
        }
        if self.step.optional {
            return eprintln!("==> {name}: cannot be installed; continuing without it");
        }
        eprintln!("error: step `{name}` failed with exit code {code}");
        if let Some(hint) = self.step.hint {
            eprintln!("\nhint: {hint}");
        }
    }
}

/// Runs a task; the exit code is that of the failed step.
pub(crate) fn run(task: Task) -> Result<ExitCode> {
    let place = Place::detect(task)?;
    place.remove_skipped_file()?;
    let plan = plan(task, &place.found(task), &place.venv);
    let done = place.run_all(&plan)?;
    let code = done.iter().map(Done::failure).find(|code| *code != 0).unwrap_or(0);
    #[cfg(unix)]
    if let (Task::Attack(options), 0) = (task, code) {
        let target = place.root.join(place.venv.with_file_name("debug"));
        return attack::run(&options, &target, place.program(Program::Venv).into());
    }
    eprint!("{}{}", summary(&done), place.skipped());
    Ok(ExitCode::from(code))
}

/// Formats one line per step with its time in seconds.
fn summary(done: &[Done]) -> String {
    let line = |Done { step, time, code, .. }: &Done| {
        let failed = match (code, step.optional) {
            (0, _) => String::new(),
            (_, true) => "  cannot be installed".into(),
            (code, false) => format!("  failed with exit code {code}"),
        };
        format!("  {:<17}{:>8.1} s{failed}\n", step.name, time.as_secs_f64())
    };
    let failed = done.iter().any(|done| done.failure() != 0);
    let lines: String = done.iter().map(line).collect();
    format!("==> {}\n{lines}", if failed { "failed" } else { "passed" })
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
        // Separate environments: their packages differ from those of the tests.
        let venv = match task {
            Task::Docs => "venv-docs",
            Task::Newest => "venv-newest",
            Task::DeviceTests => "venv-device",
            Task::BenchPeers { .. } => "venv-peers",
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
        let ci = task == Task::Ci;
        Machine {
            venv: works(self.program(Program::Venv), &["-m", "pip", "--version"]),
            deny: ci && works(self.cargo.clone(), &["deny", "--version"]),
            advisories: ci
                && works("git".into(), &["ls-remote", "--exit-code", ADVISORIES, "HEAD"]),
        }
    }

    /// Returns the search path of the caller, and the tools that are installed here.
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

    /// Returns the arguments of a step, with the newest wheel in its folder for the placeholder.
    fn args(&self, step: &Step) -> Result<Vec<String>> {
        if !step.args.iter().any(|arg| arg.contains(WHEEL)) {
            return Ok(step.args.clone());
        }
        let folder = wheel_folder(&self.venv);
        let newest = std::fs::read_dir(self.root.join(&folder))?.flatten().max_by_key(|file| {
            let changed = file.metadata().and_then(|about| about.modified());
            changed.unwrap_or(std::time::UNIX_EPOCH)
        });
        let wheel = newest.with_context(|| format!("no wheel in {}", folder.display()))?;
        let wheel = folder.join(wheel.file_name()).to_string_lossy().into_owned();
        Ok(step.args.iter().map(|arg| arg.replace(WHEEL, &wheel)).collect())
    }

    /// Returns the file in which tests that cannot run here write the reason, one line each.
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
    fn shown(&self, step: &Step, args: &[String]) -> String {
        let program = match step.program {
            Program::Cargo => "cargo".into(),
            Program::Python => self.python.to_string_lossy().into_owned(),
            Program::Venv => venv_python(&self.venv).to_string_lossy().into_owned(),
            Program::Fresh => venv_python(&fresh_venv(&self.venv)).to_string_lossy().into_owned(),
        };
        let env = step.env.map(|(key, value)| format!("{key}=\"{value}\" ")).unwrap_or_default();
        format!("{env}{program} {}", args.join(" "))
    }

    /// Runs a plan up to the first step that fails, and the concurrent one to its end.
    fn run_all<'a>(&self, plan: &'a Plan) -> Result<Vec<Done<'a>>> {
        let failed = AtomicBool::new(false);
        let mut all = std::thread::scope(|scope| {
            let beside = scope.spawn(|| self.run_in_order(&plan.beside, true, &failed));
            let mut all = self.run_in_order(&plan.first, false, &failed)?;
            all.extend(beside.join().expect("the thread does not panic")?);
            Ok::<_, anyhow::Error>(all)
        })?;
        all.extend(self.run_in_order(&plan.last, false, &failed)?);
        Ok(all)
    }

    /// Runs steps in order until a step fails, here or in a concurrent list.
    fn run_in_order<'a>(
        &self,
        steps: &'a [Step],
        beside: bool,
        failed: &AtomicBool,
    ) -> Result<Vec<Done<'a>>> {
        let mut all = Vec::new();
        for step in steps {
            if failed.load(Ordering::Relaxed) {
                break;
            }
            let done =
                self.run(step, beside).inspect_err(|_| failed.store(true, Ordering::Relaxed))?;
            done.print(beside);
            failed.fetch_or(done.failure() != 0, Ordering::Relaxed);
            all.push(done);
        }
        Ok(all)
    }

    /// Runs a step. The output of a step beside others is captured, so that it does not mix with
    /// theirs.
    fn run<'a>(&self, step: &'a Step, beside: bool) -> Result<Done<'a>> {
        let args = self.args(step)?;
        let meanwhile = if beside { " (meanwhile)" } else { "" };
        eprintln!("==> {}{meanwhile}: {}", step.name, self.shown(step, &args));
        let program = self.program(step.program);
        let mut child = process::Command::new(&program);
        child.args(&args).current_dir(&self.root).envs(step.env);
        child.env("PATH", self.path()).env("TREEPORT_SKIPPED", self.skipped_file());
        // No incremental builds or debug information, which slow down a clean build.
        child.env("CARGO_INCREMENTAL", "0").env("CARGO_PROFILE_DEV_DEBUG", "false");
        if let Some(data) = &self.data {
            child.env("TREEPORT_DATA", data);
        }
        let start = Instant::now();
        let ended = if step.quiet || beside {
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
        Ok(Done { step, time: start.elapsed(), code, output })
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

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// A place whose Python is `sh`, also in the virtual environment.
    fn place(root: &std::path::Path) -> Place {
        let bin = root.join("target/venv/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink("/bin/sh", bin.join("python")).unwrap();
        let (venv, cargo, python) = ("target/venv".into(), "cargo".into(), "sh".into());
        Place { root: root.into(), venv, cargo, python, data: None }
    }

    fn step(name: &'static str, program: Program, script: &str) -> Step {
        let args = ["-c", script].map(ToString::to_string).to_vec();
        Step { name, program, args, env: None, quiet: true, optional: false, hint: None }
    }

    #[test]
    fn the_summary_names_the_failed_step() {
        let (tests, mut peer) = (step("tests", Program::Cargo, ""), step("POT", Program::Venv, ""));
        peer.optional = true;
        let time = Duration::from_millis(1250);
        let done = |step, code| Done { step, time, code, output: Vec::new() };
        assert_eq!(
            summary(&[done(&tests, 0), done(&peer, 1)]),
            "==> passed\n  tests                 1.2 s\n  POT                   1.2 s  cannot be installed\n"
        );
        let failed = "==> failed\n  tests                 1.2 s  failed with exit code 101\n";
        assert_eq!(summary(&[done(&tests, 101)]), failed);
    }

    #[test]
    fn a_missing_program_is_a_failed_step() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = place(folder.path());
        place.python = "treeport-has-no-such-program".into();
        let missing = step("missing", Program::Python, "");
        let done = place.run(&missing, false).unwrap();
        assert_eq!(done.code, NOT_FOUND);
        assert_eq!(done.output, b"`treeport-has-no-such-program` was not found\n");
    }

    #[test]
    fn lists_run_side_by_side_and_the_last_steps_after_both() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
        let run = |name, script| step(name, Program::Python, script);
        // A minute at most: one after the other, the first list would wait in vain.
        let wait = "i=0; until test -e begun; do i=$((i+1)); test $i -lt 6000 || exit 9; \
                    sleep 0.01; done; touch there";
        let mut plan = Plan {
            first: vec![run("tests", wait)],
            beside: vec![run("packages", "touch begun"), run("wheel", "touch wheel")],
            last: vec![run("attack", "test -e there && test -e wheel")],
        };
        let outcome = |plan: &Plan| -> Vec<(&str, u8)> {
            let done = place.run_all(plan).unwrap();
            done.iter().map(|done| (done.step.name, done.code)).collect()
        };
        let all = [("tests", 0), ("packages", 0), ("wheel", 0), ("attack", 0)];
        assert_eq!(outcome(&plan), all);
        plan.beside = vec![run("packages", "touch begun; exit 3"), run("never", "touch never")];
        plan.last = vec![run("never", "touch never")];
        assert_eq!(outcome(&plan), [("tests", 0), ("packages", 3)]);
        assert!(!folder.path().join("never").exists());
    }

    #[test]
    fn only_optional_steps_may_fail() {
        let folder = tempfile::tempdir().unwrap();
        let asked = folder.path().join("asked");
        let place = place(folder.path());
        let steps = [("peer", "exit 1"), ("questions", "touch asked")];
        let steps = steps.map(|(name, script)| step(name, Program::Venv, script));
        let mut plan = Plan { first: steps.to_vec(), ..Plan::default() };
        place.run_all(&plan).unwrap();
        assert!(!asked.exists());
        plan.first[0].optional = true;
        place.run_all(&plan).unwrap();
        assert!(asked.exists());
    }

    #[test]
    fn skipped_tests_are_counted_by_their_reason() {
        let folder = tempfile::tempdir().unwrap();
        let place = place(folder.path());
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
        let place = place(folder.path());
        let wheels = folder.path().join("target/test-wheel");
        std::fs::create_dir_all(&wheels).unwrap();
        let install = step("install", Program::Venv, "{wheel}[test]");
        assert!(place.args(&install).is_err());
        let old = std::fs::File::create(wheels.join("b.whl")).unwrap();
        old.set_modified(std::time::UNIX_EPOCH + Duration::from_secs(1)).unwrap();
        std::fs::write(wheels.join("a.whl"), "").unwrap();
        assert_eq!(place.args(&install).unwrap()[1], "target/test-wheel/a.whl[test]");
    }

    #[test]
    fn exit_codes_signals_and_the_data_folder_pass_on() {
        let folder = tempfile::tempdir().unwrap();
        let mut place = place(folder.path());
        place.data = Some("/some/data".into());
        // Not SIGINT: background jobs of some shells ignore it.
        for (script, expected) in [
            ("exit 7", 7),
            ("exit 101", 101),
            ("kill -15 $$", 143),
            ("test \"$TREEPORT_DATA\" = /some/data", 0),
        ] {
            let script = step("script", Program::Python, script);
            assert_eq!(place.run(&script, false).unwrap().code, expected, "{:?}", script.args);
        }
    }
}
