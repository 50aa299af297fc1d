//! Steps of `cargo xtask docs`: tools in a separate environment, the wheel, and the site.

use std::path::Path;

use crate::plan::{Machine, Program, Step, cargo, installing, run, venv_step, with};

/// Packages that the tutorials read data or compute with; without one, its page is omitted.
const TUTORIALS: [(&str, &str); 7] = [
    ("gudhi", "gudhi==3.13.0"),
    // GUDHI's Wasserstein distances use POT.
    ("POT", "POT==0.9.7.post1"),
    ("gensim", "gensim==4.4.0"),
    ("scanpy", "scanpy==1.11.5"),
    ("scikit-bio", "scikit-bio==0.7.4"),
    ("networkx", "networkx==3.6.1"),
    ("torch", "torch==2.15.0"),
];

/// Builds the program and the wheel, runs the tutorials, and builds `target/site`.
pub(crate) fn steps(found: &Machine, venv: &Path) -> Vec<Step> {
    let mut steps = vec![cargo("build", "build --package treeport-cli")];
    if !found.venv {
        steps.push(venv_step("docs venv", venv));
    }
    let tools = ["-m", "pip", "install", "--requirement", "docs/site/requirements.txt"];
    steps.push(with(installing(run("tools", Program::Venv, &tools)), |command| {
        command.hint =
            Some("these versions need Python 3.11 or later; PYTHON names an interpreter");
    }));
    for (name, package) in TUTORIALS {
        let install = installing(run(name, Program::Venv, &["-m", "pip", "install", package]));
        steps.push(with(install, |command| command.optional = true));
    }
    let wheel = run("python wheel", Program::Venv, &["-m", "pip", "install", "./python[dask]"]);
    steps.push(installing(wheel));
    let target = venv.parent().unwrap_or(Path::new("."));
    let place = |name: &str| target.join(name).to_string_lossy().into_owned();
    let binary = place(&format!("debug/treeport{}", std::env::consts::EXE_SUFFIX));
    let (sources, out) = (place("site-src"), place("site"));
    let args = ["docs/site/build.py", "--binary", &binary, "--sources", &sources, "--out", &out];
    steps.push(run("site", Program::Venv, &args));
    steps
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Action;

    fn commands(venv: bool) -> Vec<(&'static str, String, bool)> {
        let found = Machine { venv, ..Machine::default() };
        let command = |step: Step| match step.action {
            Action::Run(command) => (step.name, command.args.join(" "), command.optional),
            Action::Skip(_) => panic!("nothing is skipped"),
        };
        steps(&found, Path::new("target/venv-docs")).into_iter().map(command).collect()
    }

    #[test]
    fn a_fresh_clone_gets_all_it_needs_before_the_site() {
        let names: Vec<_> = commands(false).into_iter().map(|command| command.0).collect();
        let tutorials = TUTORIALS.map(|(name, _)| name);
        assert_eq!(names[..3], ["build", "docs venv", "tools"]);
        let last = 3 + tutorials.len();
        assert_eq!(names[3..last], tutorials);
        assert_eq!(names[last..], ["python wheel", "site"]);
        assert_eq!(commands(true).len(), names.len() - 1, "a working environment is kept");
    }

    #[test]
    fn only_packages_of_tutorials_may_be_missing() {
        for (name, args, optional) in commands(false) {
            assert_eq!(optional, TUTORIALS.iter().any(|tutorial| tutorial.0 == name), "{args}");
        }
    }

    #[test]
    fn the_site_is_beside_the_environment() {
        let (_, args, _) = commands(true).pop().unwrap();
        assert!(args.ends_with("--sources target/site-src --out target/site"), "{args}");
    }
}
