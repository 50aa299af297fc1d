//! Steps of every task, as pure functions that tests can call without running anything.

use std::path::{Path, PathBuf};

#[cfg(unix)]
use crate::attack;

/// The task to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// All tests of the repository.
    Test,
    /// The tests and all other checks that a change has to pass.
    Ci,
    /// The Python tests with the newest packages instead of the pinned ones.
    Newest,
    /// The kernels of devices beside their counterparts in NumPy.
    DeviceTests,
    /// The site, with its tutorials run.
    Docs,
    /// A benchmark of treeport and other packages, with all questions or only the fast ones.
    BenchPeers { all: bool },
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
  test         Rust tests and doc tests, the Python wheel, its tests and lints, the README
  ci           test, and: formatting, clippy, documentation, cargo-deny, a minute of attack
  newest       the Python tests with the newest packages instead of those in python/constraints.txt
  device-tests kernels of devices beside their counterparts in NumPy, by Triton's interpreter,
               without a GPU; installs PyTorch and Triton (3 GB) in target/venv-device
  docs         the site in target/site: pages, references, tutorials that are run
  bench-peers  treeport beside POT, wasserstein, GUDHI, SciPy, scikit-bio and OTT: values, times,
               memory, as a table and in target/bench-peers.json; --all: every question (minutes)
  attack       kills, damaged files, full disks, little memory, odd arguments, at random:
               --minutes M (1), --seed S (0), --round N (one round again), --only KIND
  package      all parts of a release, in target/dist: crates, wheel, source archive, program,
               bill of materials, checksums; built from the commit, and checked
  help         this text

Environment:
  TREEPORT_DATA  folder of the real data sets, handed to the tests
  PYTHON         Python interpreter to use; python3 if not set
";

/// Facts about the machine that plans depend on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Machine {
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

/// Compatible versions of the packages in [`PEERS`], with reasons.
const PEER_CONSTRAINTS: &str = "crates/treeport-lab/python/peers.txt";

/// Packages to compare with, by their names for pip; unavailable ones are skipped.
const PEERS: [&str; 5] = ["POT", "wasserstein", "gudhi", "scikit-bio", "ott-jax"];

/// Packages that the tutorials read data or compute with; without one, its page is omitted.
const TUTORIALS: [&str; 7] = [
    "gudhi==3.13.0",
    // GUDHI's Wasserstein distances use POT.
    "POT==0.9.7.post1",
    "gensim==4.4.0",
    "scanpy==1.11.5",
    "scikit-bio==0.7.4",
    "networkx==3.6.1",
    "torch==2.15.0",
];

/// A command of a task, run in the root of the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
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

/// Steps of a task, each list in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) first: Vec<Step>,
    /// Run concurrently with the first steps; their output is captured.
    pub(crate) beside: Vec<Step>,
    /// Run after all others.
    pub(crate) last: Vec<Step>,
}

/// Parses the task from the arguments, or returns an error message.
pub(crate) fn parse(args: &[String]) -> Result<Task, String> {
    let (task, rest) = args.split_first().ok_or("no task given")?;
    let task = match (task.as_str(), rest) {
        ("test", _) => Task::Test,
        ("ci", _) => Task::Ci,
        ("newest", _) => Task::Newest,
        ("device-tests", _) => Task::DeviceTests,
        ("docs", _) => Task::Docs,
        ("bench-peers", [all]) if all == "--all" => return Ok(Task::BenchPeers { all: true }),
        ("bench-peers", _) => Task::BenchPeers { all: false },
        ("package", _) => Task::Package,
        #[cfg(unix)]
        ("attack", _) => return attack::parse(rest).map(Task::Attack),
        ("help" | "-h" | "--help", _) => Task::Help,
        (other, _) => return Err(format!("unknown task `{other}`")),
    };
    rest.first().map_or(Ok(task), |extra| Err(format!("unexpected argument `{extra}`")))
}

/// Returns the steps of a task; `venv` is the path of the virtual environment.
pub(crate) fn plan(task: Task, found: &Machine, venv: &Path) -> Plan {
    let tests = || {
        // Fixed random inputs, so that failures are reproducible; `cargo test` alone draws new ones.
        cargo("tests", "test --workspace").env("PROPTEST_RNG_SEED", "2024")
    };
    match task {
        Task::Test => Plan { first: vec![tests()], beside: python(found, venv), ..Plan::default() },
        Task::Ci => {
            let docs = cargo("docs", "doc --workspace --no-deps");
            let first = vec![
                cargo("format", "fmt --check"),
                cargo("clippy", "clippy --workspace --all-targets -- -D warnings"),
                // Configurations that no step above compiles.
                cargo("no files", "clippy -p treeport --no-default-features -- -D warnings"),
                cargo("png", "clippy -p treeport-cli --features png -- -D warnings"),
                tests(),
                docs.env("RUSTDOCFLAGS", "-D warnings"),
            ];
            let last = [
                // Fixed rounds, as far as the speed of the machine permits.
                #[cfg(unix)]
                cargo("attack", "xtask attack --minutes 1 --seed 2024"),
            ];
            let last = last.into_iter().chain(deny(found)).collect();
            Plan { first, beside: python(found, venv), last }
        }
        _ => Plan { first: steps(task, found, venv), ..Plan::default() },
    }
}

/// Returns the steps of a task that runs them one after the other.
fn steps(task: Task, found: &Machine, venv: &Path) -> Vec<Step> {
    let installed = || (!found.venv).then(|| create_venv("venv", venv));
    match task {
        Task::Newest => vec![
            cargo("build", "build --package treeport-cli"),
            create_venv("venv", venv),
            pip("python build", &["maturin>=1.9,<2"]),
            wheel(venv),
            pip("python all", &[&format!("{WHEEL}[test]")]),
            python_tests(),
        ],
        Task::DeviceTests => {
            // The packages are unpacked once: a cache would hold 3 GB more.
            let packages = ["--no-cache-dir", "--no-compile", "--constraint", CONSTRAINTS];
            let packages = [&packages[..], &["--requirement", "python/device.txt"]].concat();
            let tests =
                ["-m", "pytest", "python/tests/test_kernels.py", "python/tests/test_torch.py"];
            let tests = step("kernels", Program::Venv, &tests);
            let steps = [
                pip("packages", &packages),
                wheel(venv),
                pip("wheel", &["--force-reinstall", "--no-deps", WHEEL]),
                tests.env("TREEPORT_TESTS_NEED_KERNELS", "1"),
            ];
            installed().into_iter().chain(steps).collect()
        }
        Task::Docs => docs(installed(), venv),
        Task::BenchPeers { all } => peers(all, installed(), venv),
        // With the features of `cargo test`; others would recompile most crates.
        #[cfg(unix)]
        Task::Attack(_) => vec![cargo("build", "test --quiet --workspace --no-run")],
        Task::Package => vec![step("package", Program::Python, &["xtask/package.py"])],
        Task::Test | Task::Ci | Task::Help => Vec::new(),
    }
}

/// Checks licenses, sources, duplicates and, if reachable, vulnerabilities.
fn deny(found: &Machine) -> Vec<Step> {
    // Takes minutes, once.
    let install = cargo("deny tool", "install --quiet --locked --root target/tools cargo-deny");
    let install = install.hint("without a network, put cargo-deny on the PATH");
    let check = if found.advisories {
        cargo("deny", "deny check")
    } else {
        cargo("deny offline", "deny check bans licenses sources")
    };
    (!found.deny).then_some(install).into_iter().chain([check]).collect()
}

/// Installs the packages for the Python tests, builds the wheel, and runs its tests.
fn python(found: &Machine, venv: &Path) -> Vec<Step> {
    let create = (!found.venv).then(|| create_venv("python venv", venv));
    let fresh = ["-m", "pip", "install", "--constraint", CONSTRAINTS, WHEEL];
    let steps = [
        // The list is complete. Packages are compiled when they are imported.
        pip("python others", &["--no-deps", "--no-compile", "--requirement", CONSTRAINTS]),
        step("ruff format", Program::Venv, &["-m", "ruff", "format", "--check"]),
        step("ruff check", Program::Venv, &["-m", "ruff", "check"]),
        // Waits for the compiled Rust tests, whose library and program the wheel shares.
        cargo("compiled", "test --quiet --workspace --no-run"),
        wheel(venv),
        // The steps of a new user, without the packages for tests.
        create_venv("fresh venv", &fresh_venv(venv)),
        installing(step("fresh install", Program::Fresh, &fresh)),
        step("readme", Program::Fresh, &["python/tests/readme.py"]),
        // Separately: pip would keep or reinstall a package of the same version.
        pip("python ours", &["--force-reinstall", "--no-deps", WHEEL]),
        // Additional packages for this platform, if any.
        pip("python rest", &["--constraint", CONSTRAINTS, &format!("{WHEEL}[test]")]),
        python_tests(),
    ];
    create.into_iter().chain(steps).collect()
}

/// Builds the program and the wheel, runs the tutorials, and builds `target/site`.
fn docs(create: Option<Step>, venv: &Path) -> Vec<Step> {
    let tools = pip("tools", &["--requirement", "docs/site/requirements.txt"]);
    let tools = tools.hint("these versions need Python 3.11 or later; PYTHON names an interpreter");
    let mut steps = vec![cargo("build", "build --package treeport-cli")];
    steps.extend(create.into_iter().chain([tools]));
    steps.extend(TUTORIALS.map(|package| pip(package, &[package]).optional()));
    steps.push(pip("python wheel", &["./python[dask]"]));
    let place = |name: &str| venv.with_file_name(name).to_string_lossy().into_owned();
    let binary = place(&format!("debug/treeport{}", std::env::consts::EXE_SUFFIX));
    let (sources, out) = (place("site-src"), place("site"));
    let args = ["docs/site/build.py", "--binary", &binary, "--sources", &sources, "--out", &out];
    steps.push(step("site", Program::Venv, &args));
    steps
}

/// Installs the available packages and runs the benchmark.
fn peers(all: bool, create: Option<Step>, venv: &Path) -> Vec<Step> {
    let pip = |name, package| pip(name, &["--constraint", PEER_CONSTRAINTS, package]);
    let mut steps: Vec<Step> = create.into_iter().collect();
    steps.push(pip("python wheel", "./python"));
    steps.extend(PEERS.map(|peer| pip(peer, peer).optional()));
    let json = venv.with_file_name("bench-peers.json").to_string_lossy().into_owned();
    let mut args = vec!["crates/treeport-lab/python/bench_compare.py", "--json", &json];
    args.extend(all.then_some("--all"));
    steps.push(step("questions", Program::Venv, &args));
    steps
}

/// Builds the wheel for the tests, with their profile, so that the library is not compiled again.
fn wheel(venv: &Path) -> Step {
    let wheels = wheel_folder(venv).to_string_lossy().into_owned();
    let build = "-m maturin build --manifest-path python/Cargo.toml --profile dev --compatibility off --out";
    let args: Vec<_> = build.split(' ').chain([wheels.as_str()]).collect();
    Step { quiet: true, ..step("python wheel", Program::Venv, &args) }
}

/// Runs the files of the Python tests in two processes, which leaves cores to those that the tests
/// start. They compare fits with those of the command line, which has been built.
fn python_tests() -> Step {
    let tests = ["-m", "pytest", "-n", "2", "--dist", "loadfile", "python/tests"];
    step("python tests", Program::Venv, &tests).env("TREEPORT_TESTS_NEED_BINARY", "1")
}

/// Returns the folder of the wheel for the tests.
pub(crate) fn wheel_folder(venv: &Path) -> PathBuf {
    venv.with_file_name("test-wheel")
}

/// Returns the path of the environment that is created anew every time.
pub(crate) fn fresh_venv(venv: &Path) -> PathBuf {
    venv.with_file_name("venv-fresh")
}

/// Returns the interpreter of a virtual environment.
pub(crate) fn venv_python(venv: &Path) -> PathBuf {
    venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

fn create_venv(name: &'static str, venv: &Path) -> Step {
    let folder = venv.to_string_lossy();
    let create = step(name, Program::Python, &["-m", "venv", "--clear", &folder]);
    Step { quiet: true, ..create }.hint(
        "this needs Python 3 with the modules venv and ensurepip; \
         on Debian and Ubuntu: apt install python3 python3-venv. \
         Another interpreter: PYTHON=/path/to/python3 before the command",
    )
}

/// Installs packages in the virtual environment.
fn pip(name: &'static str, args: &[&str]) -> Step {
    installing(step(name, Program::Venv, &[&["-m", "pip", "install"], args].concat()))
}

/// Marks a step of pip, which is long and needs the network.
fn installing(step: Step) -> Step {
    Step { quiet: true, ..step }.hint(
        "pip has to fetch the build tool and the packages that the wheel or its tests use; \
         without a network, PIP_FIND_LINKS names a folder that holds them",
    )
}

fn cargo(name: &'static str, args: &str) -> Step {
    // None of the arguments contains a space.
    step(name, Program::Cargo, &args.split(' ').collect::<Vec<_>>())
}

fn step(name: &'static str, program: Program, args: &[&str]) -> Step {
    let args = args.iter().map(ToString::to_string).collect();
    Step { name, program, args, env: None, quiet: false, optional: false, hint: None }
}

impl Step {
    fn env(self, name: &'static str, value: &'static str) -> Self {
        Self { env: Some((name, value)), ..self }
    }

    fn hint(self, hint: &'static str) -> Self {
        Self { hint: Some(hint), ..self }
    }

    fn optional(self) -> Self {
        Self { optional: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(args: &[&str]) -> Result<Task, String> {
        parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    /// One line per step: its name and its arguments.
    fn outline(task: Task, found: &Machine) -> Vec<String> {
        let Plan { first, beside, last } = plan(task, found, Path::new("target/venv"));
        let steps = first.iter().chain(&beside).chain(&last);
        steps.map(|step| format!("{}: {}", step.name, step.args.join(" "))).collect()
    }

    fn read(file: &str) -> String {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
        std::fs::read_to_string(root.join(file)).unwrap()
    }

    #[test]
    fn every_task_of_the_usage_is_known() {
        let (_, tasks) = USAGE.split_once("Tasks:\n").unwrap();
        let lines = tasks.split("\n\n").next().unwrap().lines();
        let names = lines.filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        let names: Vec<&str> = names.filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), 9);
        for name in names {
            assert!(parsed(&[name]).is_ok() || cfg!(not(unix)), "{name}");
        }
        assert_eq!(parsed(&["bench-peers", "--all"]), Ok(Task::BenchPeers { all: true }));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(parsed(&[]).unwrap_err(), "no task given");
        assert_eq!(parsed(&["tset"]).unwrap_err(), "unknown task `tset`");
        for args in [&["test", "--release"][..], &["bench-peers", "--release"]] {
            assert_eq!(parsed(args).unwrap_err(), "unexpected argument `--release`");
        }
        assert!(parsed(&["bench-peers", "--all", "more"]).is_err());
    }

    #[test]
    fn ci_has_every_step_of_test() {
        let found = Machine::default();
        let [test, ci] = [Task::Test, Task::Ci].map(|task| plan(task, &found, Path::new("v")));
        assert!(test.first.iter().all(|step| ci.first.contains(step)));
        assert_eq!(test.beside, ci.beside);
    }

    #[test]
    fn a_working_virtual_environment_is_kept() {
        let found = Machine { venv: true, ..Machine::default() };
        let tasks = [Task::Test, Task::DeviceTests, Task::Docs, Task::BenchPeers { all: false }];
        for task in tasks {
            let (kept, new) = (outline(task, &found), outline(task, &Machine::default()));
            assert_eq!(kept.len() + 1, new.len(), "{kept:?}");
            assert!(new.iter().any(|step| step.ends_with("-m venv --clear target/venv")));
        }
    }

    #[test]
    fn every_installation_of_the_tests_is_pinned() {
        for (task, constraints) in [
            (Task::Test, CONSTRAINTS),
            (Task::DeviceTests, CONSTRAINTS),
            (Task::BenchPeers { all: true }, PEER_CONSTRAINTS),
        ] {
            let steps = outline(task, &Machine::default());
            let pip = steps.iter().filter(|step| step.contains("pip install"));
            for step in pip.filter(|step| !step.ends_with("--no-deps {wheel}")) {
                assert!(step.contains(constraints), "{step}");
            }
        }
        let newest = outline(Task::Newest, &Machine::default());
        assert!(newest.iter().all(|step| !step.contains("constraints")), "{newest:?}");
    }

    /// A new dependency of the tests must be pinned, too.
    #[test]
    fn every_package_that_the_tests_need_is_pinned() {
        let name = |text: &str| {
            let end = text.find(|c: char| !(c.is_alphanumeric() || "-_".contains(c)));
            text[..end.unwrap_or(text.len())].to_lowercase().replace('_', "-")
        };
        let project = read("python/pyproject.toml");
        let pins = |file: &str| -> Vec<String> {
            read(file).lines().filter(|line| line.contains("==")).map(name).collect()
        };
        let pinned = pins(CONSTRAINTS);
        for list in ["requires = [", "\ndependencies = [", "\ntest = ["] {
            let (_, list) = project.split_once(list).unwrap();
            // The brackets of extras are inside quotes.
            for package in list.split("]\n").next().unwrap().split('"').skip(1).step_by(2) {
                assert!(pinned.contains(&name(package)), "{package}");
            }
        }
        for package in read("python/device.txt").lines().filter(|line| !line.starts_with('#')) {
            assert!(package.contains("==") || pinned.contains(&name(package)), "{package}");
        }
        let pinned = pins(PEER_CONSTRAINTS);
        assert!(PEERS.iter().all(|peer| pinned.contains(&name(peer))), "{pinned:?}");
    }
}
