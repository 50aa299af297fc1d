//! Steps of tasks, as pure functions that tests can call without running anything.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use crate::attack;
use crate::{peers, site};

/// The task to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// All tests of the repository.
    Test,
    /// The tests and all other checks that a change has to pass.
    Ci,
    /// The Python tests with the newest packages instead of the pinned ones.
    Newest,
    /// The kernels of devices beside their twins.
    DeviceTests,
    /// The site, with its tutorials run.
    Docs,
    /// A benchmark of treeport and other packages.
    BenchPeers(peers::BenchOptions),
    /// Kills, damaged files, full disks and odd arguments, at random.
    #[cfg(unix)]
    Attack(attack::AttackOptions),
    /// All parts of a release, built and checked.
    Package,
    /// The usage text.
    Help,
}

/// Text of `cargo xtask help`.
pub(crate) const USAGE: &str = "\
Usage: cargo xtask <TASK>

Tasks:
  test         Rust tests and doc tests, the Python wheel and its tests, the README
  ci           test, and: formatting, clippy, documentation, cargo-deny, a minute of attack
  newest       the Python tests with the newest packages instead of those in python/constraints.txt
  device-tests kernels of devices beside their twins in NumPy, by Triton's interpreter, without a GPU;
               installs PyTorch and Triton (3 GB) in target/venv-device
  docs         the site in target/site: pages, references, tutorials that are run
  bench-peers  treeport beside POT, wasserstein, GUDHI, SciPy, scikit-bio and OTT: values, times,
               memory, as a table and in target/bench-peers.json; --all: every question (minutes)
  attack       kills, damaged files, full disks, little memory, odd arguments, at random:
               --minutes M (1), --seed S (0), --round N (one round again), --only KIND
  package      what a release consists of, in target/dist: crates, wheel, source archive, program,
               bill of materials, checksums; built from the commit, and checked
  help         this text

Environment:
  TREEPORT_DATA  folder of the real data sets, handed to the tests
  PYTHON         Python interpreter to use; python3 if not set
";

/// Facts about the machine that plans depend on.
#[expect(clippy::struct_excessive_bools, reason = "four independent facts")]
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
    /// The repository has a `python/pyproject.toml`.
    pub(crate) python: bool,
    /// The virtual environment exists and has pip.
    pub(crate) venv: bool,
    /// cargo-deny is installed.
    pub(crate) deny: bool,
    /// The database of vulnerabilities of crates can be reached.
    pub(crate) advisories: bool,
}

/// Program that runs a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Program {
    /// The cargo that runs xtask.
    Cargo,
    /// The interpreter that creates the virtual environment.
    Python,
    /// The interpreter of the virtual environment.
    Venv,
    /// The interpreter of a second environment, created anew every time.
    Fresh,
}

/// Placeholder in arguments for the wheel in [`wheel_folder`], whose name is known after the build.
pub(crate) const WHEEL: &str = "{wheel}";

/// Versions of all packages for the Python tests.
const CONSTRAINTS: &str = "python/constraints.txt";

/// What the tests of kernels need, PyTorch and Triton among it.
const DEVICE_PACKAGES: &str = "python/device.txt";

/// A single process, because joblib and Dask start their own.
const PYTEST: [&str; 3] = ["-m", "pytest", "python/tests"];

/// A command of a task, run in the root of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Command {
    pub(crate) program: Program,
    pub(crate) args: Vec<String>,
    pub(crate) env: Option<(&'static str, &'static str)>,
    /// Show the output only if the command fails.
    pub(crate) quiet: bool,
    /// Continue the task if the command fails.
    pub(crate) optional: bool,
    /// Advice if the command fails.
    pub(crate) hint: Option<&'static str>,
}

/// A command, or the reason why it is skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Run(Command),
    Skip(&'static str),
}

/// A named part of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) action: Action,
    /// Runs concurrently with other steps, until the first one that uses the virtual environment.
    pub(crate) ahead: bool,
}

/// Parses the task from the arguments, or returns an error message.
pub(crate) fn parse(args: &[String]) -> Result<Task, String> {
    let (task, rest) = args.split_first().ok_or("no task given")?;
    let task = match task.as_str() {
        "test" => Task::Test,
        "ci" => Task::Ci,
        "newest" => Task::Newest,
        "device-tests" => Task::DeviceTests,
        "docs" => Task::Docs,
        "bench-peers" => return peers::parse(rest).map(Task::BenchPeers),
        "package" => Task::Package,
        #[cfg(unix)]
        "attack" => return attack::parse(rest).map(Task::Attack),
        "help" | "-h" | "--help" => Task::Help,
        other => return Err(format!("unknown task `{other}`")),
    };
    match rest.first() {
        None => Ok(task),
        Some(extra) => Err(format!("unexpected argument `{extra}`; a task takes none")),
    }
}

/// Returns the steps of a task in order; `venv` is the path of the virtual environment.
pub(crate) fn plan(task: Task, found: &Machine, venv: &Path) -> Vec<Step> {
    if task == Task::Docs {
        return site::steps(found, venv);
    }
    if let Task::BenchPeers(options) = task {
        return peers::steps(options, found, venv);
    }
    #[cfg(unix)]
    if let Task::Attack(_) = task {
        // With the features of `cargo test`; others would recompile most crates.
        return vec![cargo("build", "test --quiet --workspace --no-run")];
    }
    if task == Task::Newest {
        return newest(venv);
    }
    if task == Task::DeviceTests {
        return device_tests(found, venv);
    }
    if task == Task::Package {
        // Runs xtask with additional features.
        return vec![cargo("package", "run --quiet --package xtask --features package -- package")];
    }
    let mut steps = Vec::new();
    if task != Task::Help && found.python {
        steps.extend(test_packages(found, venv));
    }
    if task == Task::Ci {
        steps.push(cargo("format", "fmt --check"));
        steps.push(cargo("clippy", "clippy --workspace --all-targets -- -D warnings"));
        // Configurations that no step above compiles.
        steps.push(cargo("no files", "clippy -p treeport --no-default-features -- -D warnings"));
        steps.push(cargo("png", "clippy -p treeport-cli --features png -- -D warnings"));
    }
    if task != Task::Help {
        // A fixed seed, so that failures are reproducible; `cargo test` draws new inputs.
        let tests = cargo("tests", "test --workspace");
        steps.push(with(tests, |command| command.env = Some(("PROPTEST_RNG_SEED", "2024"))));
        steps.extend(python(found, venv));
    }
    if task == Task::Ci {
        let docs = cargo("docs", "doc --workspace --no-deps");
        steps.push(with(docs, |command| command.env = Some(("RUSTDOCFLAGS", "-D warnings"))));
        // Fixed rounds, as far as the speed of the machine permits.
        #[cfg(unix)]
        steps.push(cargo("attack", "xtask attack --minutes 1 --seed 2024"));
        steps.extend(deny(found));
    }
    steps
}

/// Checks licenses, sources and duplicate versions of dependencies, and vulnerabilities if their
/// list can be reached.
fn deny(found: &Machine) -> Vec<Step> {
    let mut steps = Vec::new();
    if !found.deny {
        // Takes minutes, once.
        let install = "install --quiet --locked --root target/tools cargo-deny";
        steps.push(with(cargo("deny tool", install), |command| {
            command.hint = Some("without a network, put cargo-deny on the PATH");
        }));
    }
    if found.advisories {
        steps.push(cargo("deny", "deny check"));
    } else {
        steps.push(cargo("deny", "deny check bans licenses sources"));
        steps.push(skip("advisories", "the list of known faults cannot be reached from here"));
    }
    steps
}

/// Installs the packages for the Python tests, except for our wheel, while cargo compiles.
fn test_packages(found: &Machine, venv: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    if !found.venv {
        steps.push(venv_step("python venv", venv));
    }
    // The list is complete. Packages are compiled when they are imported.
    let packages = ["-m", "pip", "install", "--no-deps", "--no-compile", "--requirement"];
    let packages = [&packages[..], &[CONSTRAINTS]].concat();
    steps.push(installing(run("python others", Program::Venv, &packages)));
    steps.into_iter().map(|step| Step { ahead: true, ..step }).collect()
}

/// Builds the wheel and runs its tests.
fn python(found: &Machine, venv: &Path) -> Vec<Step> {
    if !found.python {
        return vec![skip("python", "there is no python/pyproject.toml")];
    }
    let mut steps = vec![wheel(venv)];
    // Separately: pip would keep an installed package of the same version, or reinstall all of
    // them.
    let ours = ["-m", "pip", "install", "--force-reinstall", "--no-deps", WHEEL];
    steps.push(installing(run("python ours", Program::Venv, &ours)));
    // Additional packages for this platform, if any.
    let rest = format!("{WHEEL}[test]");
    let rest = ["-m", "pip", "install", "--constraint", CONSTRAINTS, &rest];
    steps.push(installing(run("python rest", Program::Venv, &rest)));
    steps.push(python_tests());
    // The steps of a new user, without the packages for tests.
    steps.push(venv_step("fresh venv", &fresh_venv(venv)));
    let install = ["-m", "pip", "install", "--constraint", CONSTRAINTS, WHEEL];
    steps.push(installing(run("fresh install", Program::Fresh, &install)));
    steps.push(run("readme", Program::Fresh, &["python/tests/readme.py"]));
    steps
}

/// Runs the Python tests with the versions that a user gets today.
fn newest(venv: &Path) -> Vec<Step> {
    let pip =
        |name, what: &str| installing(run(name, Program::Venv, &["-m", "pip", "install", what]));
    vec![
        cargo("build", "build --package treeport-cli"),
        venv_step("python venv", venv),
        pip("python build", "maturin>=1.9,<2"),
        wheel(venv),
        pip("python all", &format!("{WHEEL}[test]")),
        python_tests(),
    ]
}

/// The tests that need PyTorch; those of kernels fail where they would be skipped.
fn device_tests(found: &Machine, venv: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    if !found.venv {
        steps.push(venv_step("device venv", venv));
    }
    let pip = |name, args: &[&str]| {
        let args = [&["-m", "pip", "install"], args].concat();
        installing(run(name, Program::Venv, &args))
    };
    // The packages are unpacked once: a cache would hold 3 GB more.
    let packages = ["--no-cache-dir", "--no-compile", "--constraint", CONSTRAINTS, "--requirement"];
    steps.push(pip("packages", &[&packages[..], &[DEVICE_PACKAGES]].concat()));
    steps.push(wheel(venv));
    steps.push(pip("wheel", &["--force-reinstall", "--no-deps", WHEEL]));
    let tests = ["-m", "pytest", "python/tests/test_kernels.py", "python/tests/test_torch.py"];
    let tests = run("kernels", Program::Venv, &tests);
    steps.push(with(tests, |command| command.env = Some(("TREEPORT_TESTS_NEED_KERNELS", "1"))));
    steps
}

/// Builds the wheel for the tests, with their profile, so that the library is not compiled again.
fn wheel(venv: &Path) -> Step {
    let wheels = wheel_folder(venv).to_string_lossy().into_owned();
    let build = "-m maturin build --manifest-path python/Cargo.toml --profile dev --compatibility off --out";
    let args: Vec<_> = build.split(' ').chain([wheels.as_str()]).collect();
    with(run("python wheel", Program::Venv, &args), |command| command.quiet = true)
}

/// Includes the comparison of fits with those of the command line, which has been built.
fn python_tests() -> Step {
    let needs = ("TREEPORT_TESTS_NEED_BINARY", "1");
    with(run("python tests", Program::Venv, &PYTEST), |command| command.env = Some(needs))
}

/// Marks a step of pip, which is long and needs the network.
pub(crate) fn installing(step: Step) -> Step {
    with(step, |command| {
        command.quiet = true;
        command.hint = Some(
            "pip has to fetch the build tool and the packages that the wheel or its tests use; \
             without a network, PIP_FIND_LINKS names a folder that holds them",
        );
    })
}

/// Folder of the wheel for the tests.
pub(crate) fn wheel_folder(venv: &Path) -> PathBuf {
    venv.with_file_name("test-wheel")
}

/// Path of the environment that is created anew every time.
pub(crate) fn fresh_venv(venv: &Path) -> PathBuf {
    venv.with_file_name("venv-fresh")
}

/// Creates the virtual environment.
pub(crate) fn venv_step(name: &'static str, venv: &Path) -> Step {
    let folder = venv.to_string_lossy();
    let step = run(name, Program::Python, &["-m", "venv", "--clear", &folder]);
    with(step, |command| {
        command.quiet = true;
        command.hint = Some(
            "this needs Python 3 with the modules venv and ensurepip; \
             on Debian and Ubuntu: apt install python3 python3-venv. \
             Another interpreter: PYTHON=/path/to/python3 before the command",
        );
    })
}

/// Returns the interpreter of a virtual environment.
pub(crate) fn venv_python(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

pub(crate) fn cargo(name: &'static str, args: &str) -> Step {
    // None of the arguments contains a space.
    run(name, Program::Cargo, &args.split(' ').collect::<Vec<_>>())
}

pub(crate) fn run(name: &'static str, program: Program, args: &[&str]) -> Step {
    let args = args.iter().map(ToString::to_string).collect();
    let command = Command { program, args, env: None, quiet: false, optional: false, hint: None };
    Step { name, action: Action::Run(command), ahead: false }
}

fn skip(name: &'static str, why: &'static str) -> Step {
    Step { name, action: Action::Skip(why), ahead: false }
}

pub(crate) fn with(mut step: Step, change: impl FnOnce(&mut Command)) -> Step {
    if let Action::Run(command) = &mut step.action {
        change(command);
    }
    step
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Task, String> {
        parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// One line per step: its name and its arguments, or `-` if it is skipped.
    fn outline(task: Task, found: &Machine) -> Vec<String> {
        let steps = plan(task, found, Path::new("target/venv"));
        let line = |step: Step| match step.action {
            Action::Run(command) => format!("{}: {}", step.name, command.args.join(" ")),
            Action::Skip(_) => format!("{}: -", step.name),
        };
        steps.into_iter().map(line).collect()
    }

    #[test]
    fn tasks_are_known_by_name() {
        assert_eq!(parsed(&["test"]), Ok(Task::Test));
        assert_eq!(parsed(&["ci"]), Ok(Task::Ci));
        assert_eq!(parsed(&["newest"]), Ok(Task::Newest));
        assert_eq!(parsed(&["device-tests"]), Ok(Task::DeviceTests));
        assert_eq!(parsed(&["docs"]), Ok(Task::Docs));
        let all = Task::BenchPeers(peers::BenchOptions { all: true });
        assert_eq!(parsed(&["bench-peers", "--all"]), Ok(all));
        assert_eq!(parsed(&["package"]), Ok(Task::Package));
        for help in ["help", "-h", "--help"] {
            assert_eq!(parsed(&[help]), Ok(Task::Help));
        }
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(parsed(&[]).unwrap_err(), "no task given");
        assert_eq!(parsed(&["tset"]).unwrap_err(), "unknown task `tset`");
        let extra = "unexpected argument `--release`; a task takes none";
        assert_eq!(parsed(&["test", "--release"]).unwrap_err(), extra);
    }

    #[test]
    fn usage_lists_every_task() {
        for task in [
            "test",
            "ci",
            "newest",
            "device-tests",
            "docs",
            "bench-peers",
            "attack",
            "package",
            "help",
        ] {
            assert!(USAGE.lines().any(|line| line.trim_start().starts_with(task)), "{task}");
        }
    }

    #[test]
    fn test_without_a_wheel_is_cargo_alone() {
        let lines = outline(Task::Test, &Machine::default());
        assert_eq!(lines, ["tests: test --workspace", "python: -"]);
    }

    #[test]
    fn test_with_a_wheel_builds_and_tests_it() {
        let found = Machine { python: true, ..Machine::default() };
        let lines = [
            "python venv: -m venv --clear target/venv",
            "python others: -m pip install --no-deps --no-compile --requirement python/constraints.txt",
            "tests: test --workspace",
            "python wheel: -m maturin build --manifest-path python/Cargo.toml --profile dev \
             --compatibility off --out target/test-wheel",
            "python ours: -m pip install --force-reinstall --no-deps {wheel}",
            "python rest: -m pip install --constraint python/constraints.txt {wheel}[test]",
            "python tests: -m pytest python/tests",
            "fresh venv: -m venv --clear target/venv-fresh",
            "fresh install: -m pip install --constraint python/constraints.txt {wheel}",
            "readme: python/tests/readme.py",
        ];
        assert_eq!(outline(Task::Test, &found), lines);
    }

    #[test]
    fn packages_are_installed_while_cargo_compiles() {
        let found = Machine { python: true, ..Machine::default() };
        for task in [Task::Test, Task::Ci] {
            let steps = plan(task, &found, Path::new("target/venv"));
            let ahead: Vec<_> =
                steps.iter().filter(|step| step.ahead).map(|step| step.name).collect();
            assert_eq!(ahead, ["python venv", "python others"]);
        }
    }

    /// Only this task uses the newest versions of the registry.
    #[test]
    fn the_newest_packages_are_not_pinned() {
        let lines = outline(Task::Newest, &Machine { python: true, ..Machine::default() });
        assert!(lines.iter().all(|line| !line.contains("constraints")), "{lines:?}");
        for task in [Task::Test, Task::Ci] {
            let lines = outline(task, &Machine { python: true, ..Machine::default() });
            let pip = lines.iter().filter(|line| line.contains("pip install"));
            for line in pip.filter(|line| !line.contains("--no-deps {wheel}")) {
                assert!(line.contains("python/constraints.txt"), "{line}");
            }
        }
    }

    /// A new dependency of the tests must be pinned, too.
    #[test]
    fn every_package_that_the_tests_need_is_pinned() {
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("python");
        let read = |file| std::fs::read_to_string(python.join(file)).unwrap();
        let name = |text: &str| {
            let end = text.find(|c: char| !(c.is_alphanumeric() || "-_".contains(c)));
            text[..end.unwrap_or(text.len())].to_lowercase().replace('_', "-")
        };
        let (project, pinned) = (read("pyproject.toml"), read("constraints.txt"));
        let pinned: Vec<_> = pinned.lines().filter(|line| line.contains("==")).map(name).collect();
        let lists = ["requires = [", "\ndependencies = [", "\ntest = ["];
        for list in lists {
            let (_, list) = project.split_once(list).unwrap();
            // The brackets of extras are inside quotes.
            for package in list.split("]\n").next().unwrap().split('"').skip(1).step_by(2) {
                assert!(pinned.contains(&name(package)), "{package}");
            }
        }
    }

    #[test]
    fn device_tests_pin_everything_and_skip_nothing() {
        let lines = [
            "device venv: -m venv --clear target/venv-device",
            "packages: -m pip install --no-cache-dir --no-compile --constraint python/constraints.txt \
             --requirement python/device.txt",
            "python wheel: -m maturin build --manifest-path python/Cargo.toml --profile dev \
             --compatibility off --out target/test-wheel",
            "wheel: -m pip install --force-reinstall --no-deps {wheel}",
            "kernels: -m pytest python/tests/test_kernels.py python/tests/test_torch.py",
        ];
        let steps = plan(Task::DeviceTests, &Machine::default(), Path::new("target/venv-device"));
        let commands: Vec<_> = steps
            .iter()
            .map(|step| match &step.action {
                Action::Run(command) => {
                    (format!("{}: {}", step.name, command.args.join(" ")), command.env)
                }
                Action::Skip(_) => panic!("nothing is skipped"),
            })
            .collect();
        assert!(commands.iter().map(|command| &command.0).eq(&lines), "{commands:?}");
        assert_eq!(commands[4].1, Some(("TREEPORT_TESTS_NEED_KERNELS", "1")));
        // What the constraints do not pin is pinned beside its name.
        let python = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("python");
        let read = |file| std::fs::read_to_string(python.join(file)).unwrap();
        let (packages, pinned) = (read("device.txt"), read("constraints.txt"));
        for package in packages.lines().filter(|line| !line.starts_with('#')) {
            let is_pinned = || pinned.lines().any(|line| line.starts_with(&format!("{package}==")));
            assert!(package.contains("==") || is_pinned(), "{package}");
        }
    }

    #[test]
    fn a_working_virtual_environment_is_kept() {
        let found = Machine { python: true, venv: true, ..Machine::default() };
        let lines = outline(Task::Test, &found);
        assert!(!lines.iter().any(|line| line.starts_with("python venv")), "{lines:?}");
        assert_eq!(lines.len(), 9);
    }

    #[test]
    fn ci_holds_every_step_of_test_in_order() {
        for python in [false, true] {
            let found = Machine { python, ..Machine::default() };
            let ci = outline(Task::Ci, &found);
            let mut rest = ci.iter();
            let test = outline(Task::Test, &found);
            assert!(test.iter().all(|step| rest.any(|other| other == step)), "{ci:?}");
        }
    }

    #[test]
    fn ci_checks_everything_that_is_there() {
        let found = Machine { deny: true, advisories: true, ..Machine::default() };
        let lines = [
            "format: fmt --check",
            "clippy: clippy --workspace --all-targets -- -D warnings",
            "no files: clippy -p treeport --no-default-features -- -D warnings",
            "png: clippy -p treeport-cli --features png -- -D warnings",
            "tests: test --workspace",
            "python: -",
            "docs: doc --workspace --no-deps",
            #[cfg(unix)]
            "attack: xtask attack --minutes 1 --seed 2024",
            "deny: deny check",
        ];
        assert_eq!(outline(Task::Ci, &found), lines);
        let without = outline(Task::Ci, &Machine::default());
        let deny = [
            "deny tool: install --quiet --locked --root target/tools cargo-deny",
            "deny: deny check bans licenses sources",
            "advisories: -",
        ];
        assert!(without.ends_with(&deny.map(ToString::to_string)), "{without:?}");
    }

    #[test]
    fn documentation_warnings_are_errors_and_random_inputs_are_fixed() {
        let steps = plan(Task::Ci, &Machine::default(), Path::new("v"));
        let env = |name: &str| {
            let step = steps.iter().find(|step| step.name == name).unwrap();
            let Action::Run(command) = &step.action else { panic!("{name} is never skipped") };
            command.env
        };
        assert_eq!(env("docs"), Some(("RUSTDOCFLAGS", "-D warnings")));
        assert_eq!(env("tests").unwrap().0, "PROPTEST_RNG_SEED");
    }

    #[test]
    fn help_runs_nothing() {
        let all = Machine { python: true, venv: true, ..Machine::default() };
        assert!(plan(Task::Help, &all, Path::new("v")).is_empty());
    }
}
