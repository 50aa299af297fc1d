//! Steps of `cargo xtask bench-peers`: an environment with other packages, our wheel, and the
//! benchmark.

use std::path::Path;

use crate::plan::{Machine, Program, Step, installing, run, venv_step, with};

/// Compatible versions, with reasons.
const CONSTRAINTS: &str = "crates/treeport-lab/python/peers.txt";

/// Packages to compare with, by their names for pip; unavailable ones are skipped.
const PEERS: [&str; 5] = ["POT", "wasserstein", "gudhi", "scikit-bio", "ott-jax"];

/// Options of the task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BenchOptions {
    /// Run all questions instead of only the fast ones.
    pub(crate) all: bool,
}

/// Parses the arguments, or returns an error message.
pub(crate) fn parse(args: &[String]) -> Result<BenchOptions, String> {
    match args {
        [] => Ok(BenchOptions { all: false }),
        [one] if one == "--all" => Ok(BenchOptions { all: true }),
        [other] | [_, other, ..] => {
            Err(format!("unexpected argument `{other}`; bench-peers takes `--all` or nothing"))
        }
    }
}

/// Installs the available packages and runs the benchmark.
pub(crate) fn steps(options: BenchOptions, found: &Machine, venv: &Path) -> Vec<Step> {
    let mut steps = Vec::new();
    if !found.venv {
        steps.push(venv_step("peers venv", venv));
    }
    let pip = |name, package: &str| {
        let args = ["-m", "pip", "install", "--constraint", CONSTRAINTS, package];
        installing(run(name, Program::Venv, &args))
    };
    steps.push(pip("python wheel", "./python"));
    for peer in PEERS {
        steps.push(with(pip(peer, peer), |command| command.optional = true));
    }
    let json = venv.with_file_name("bench-peers.json").to_string_lossy().into_owned();
    let mut args = vec!["crates/treeport-lab/python/bench_compare.py", "--json", &json];
    args.extend(options.all.then_some("--all"));
    steps.push(run("questions", Program::Venv, &args));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Action;

    fn commands(all: bool, venv: bool) -> Vec<(&'static str, String, bool)> {
        let found = Machine { venv, ..Machine::default() };
        let command = |step: Step| match step.action {
            Action::Run(command) => (step.name, command.args.join(" "), command.optional),
            Action::Skip(_) => panic!("nothing is skipped"),
        };
        let place = Path::new("target/venv-peers");
        steps(BenchOptions { all }, &found, place).into_iter().map(command).collect()
    }

    #[test]
    fn arguments_are_all_or_none() {
        let parsed =
            |args: &[&str]| parse(&args.iter().map(ToString::to_string).collect::<Vec<_>>());
        assert_eq!(parsed(&[]), Ok(BenchOptions { all: false }));
        assert_eq!(parsed(&["--all"]), Ok(BenchOptions { all: true }));
        let said = "unexpected argument `--al`; bench-peers takes `--all` or nothing";
        assert_eq!(parsed(&["--al"]).unwrap_err(), said);
        assert!(parsed(&["--all", "more"]).unwrap_err().contains("`more`"));
    }

    #[test]
    fn our_wheel_comes_first_and_only_peers_may_be_missing() {
        let all = commands(true, false);
        let names: Vec<_> = all.iter().map(|command| command.0).collect();
        assert_eq!(names[..2], ["peers venv", "python wheel"]);
        assert_eq!(names[2..7], PEERS);
        for (name, args, optional) in &all {
            assert_eq!(*optional, PEERS.contains(name), "{args}");
        }
        assert_eq!(commands(true, true).len(), names.len() - 1, "a working environment is kept");
    }

    #[test]
    fn every_installation_has_the_same_versions() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).with_file_name("");
        let versions = std::fs::read_to_string(root.join(CONSTRAINTS)).unwrap();
        for peer in PEERS {
            assert!(versions.lines().any(|line| line.starts_with(&format!("{peer}=="))), "{peer}");
        }
        for (name, args, _) in commands(false, true) {
            assert!(args.contains(CONSTRAINTS) || name == "questions", "{args}");
        }
    }

    #[test]
    fn figures_go_beside_the_environment() {
        for all in [false, true] {
            let (_, args, _) = commands(all, true).pop().unwrap();
            assert!(args.contains("--json target/bench-peers.json"), "{args}");
            assert_eq!(args.ends_with(" --all"), all);
        }
    }
}
