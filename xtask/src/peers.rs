//! The steps of `cargo xtask bench-peers`: other solvers, and one run on the same problems.

use std::path::Path;

use crate::plan::{Machine, Program, Step, cargo, run, venv_step, with};

/// The last versions that work together: wasserstein 1.1.0 was built for the first major version of NumPy.
const NUMPY: [&str; 2] = ["numpy==1.26.4", "scipy==1.17.1"];
const PEERS: [(&str, &str); 3] = [
    ("POT", "POT==0.9.7.post1"),
    ("wasserstein", "wasserstein==1.1.0"),
    ("OR-tools", "ortools==9.15.6755"),
];

/// Builds us, installs the peers in `venv`, and lets the solvers take turns.
pub(crate) fn steps(json: bool, found: &Machine, venv: &Path) -> Vec<Step> {
    let mut steps = vec![cargo("build", "build --release --package treeport-lab")];
    if !found.venv {
        steps.push(venv_step("peers venv", venv));
    }
    let numpy = [&["-m", "pip", "install"][..], &NUMPY].concat();
    steps.push(with(run("numpy", Program::Venv, &numpy), |command| {
        command.quiet = true;
        command.hint = Some("these versions need Python 3.11 or 3.12; PYTHON names an interpreter");
    }));
    for (name, package) in PEERS {
        let install = run(name, Program::Venv, &["-m", "pip", "install", NUMPY[0], package]);
        steps.push(with(install, |command| {
            command.quiet = true;
            command.optional = true;
        }));
    }
    let target = venv.parent().unwrap_or(Path::new("."));
    let binary = target.join(format!("release/treeport-lab{}", std::env::consts::EXE_SUFFIX));
    let binary = binary.to_string_lossy();
    let mut args = vec!["xtask/bench_peers.py", "--treeport", &*binary];
    if json {
        args.push("--json");
    }
    steps.push(run("bench", Program::Venv, &args));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Action;

    fn commands(json: bool, venv: bool) -> Vec<(&'static str, String, bool)> {
        let found = Machine { venv, ..Machine::default() };
        let steps = steps(json, &found, Path::new("target/venv-peers"));
        let command = |step: Step| match step.action {
            Action::Run(command) => (step.name, command.args.join(" "), command.optional),
            Action::Skip(_) => panic!("nothing is skipped"),
        };
        steps.into_iter().map(command).collect()
    }

    #[test]
    fn everything_is_built_before_the_bench() {
        let names: Vec<_> = commands(false, false).into_iter().map(|c| c.0).collect();
        assert_eq!(
            names,
            ["build", "peers venv", "numpy", "POT", "wasserstein", "OR-tools", "bench"]
        );
        assert_eq!(commands(false, true).len(), 6, "a working environment is kept");
    }

    #[test]
    fn only_the_peers_may_be_missing() {
        for (name, args, optional) in commands(false, false) {
            assert_eq!(optional, PEERS.iter().any(|peer| peer.0 == name), "{name}");
            // A peer must not bring another NumPy along.
            assert_eq!(optional || name == "numpy", args.contains(NUMPY[0]), "{args}");
        }
    }

    #[test]
    fn json_reaches_the_script() {
        let last = |json| commands(json, true).pop().unwrap().1;
        assert!(last(true).ends_with(" --json"));
        assert!(
            last(false).starts_with("xtask/bench_peers.py --treeport target/release/treeport-lab")
        );
        assert!(!last(false).contains("--json"));
    }
}
