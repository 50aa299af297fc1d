//! `cargo xtask package`: builds and checks all parts of a release in `target/dist`, from the
//! checked-out commit.
//!
//! Crates are packed and built from the packed sources. The source archive contains every crate
//! that it needs; the wheel is built from it in an empty folder without a network, so that the
//! archive is proved to be complete. zig links programs and the wheel for an old glibc; they are
//! stripped and searched for names of this machine.
//!
//! Everything except for pure functions is behind the feature `package`, so that other tasks need
//! not compile its dependencies.

mod archive;
mod artifacts;
mod checks;
mod sbom;
mod sdist;
mod sums;
mod workshop;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};

use archive::{Entry, files_of};
pub(crate) use workshop::Workshop;
use workshop::output_of;

/// Published crates in the order of their dependencies.
const CRATES: [&str; 4] = ["treeport", "treeport-jobs", "treeport-report", "treeport-cli"];

/// Newest glibc that programs may require: 2.17, that of manylinux2014 and the oldest that Rust
/// supports.
const GLIBC: u32 = 17;

/// Largest size of a wheel in bytes.
const WHEEL_SIZE: u64 = 8_000_000;

/// Builds and checks all artifacts.
pub(crate) fn run(workshop: &mut Workshop) -> Result<()> {
    workshop.begin()?;
    let sdist = sdist::build(workshop)?;
    let wheel = wheel(workshop, &sdist)?;
    crates(workshop)?;
    let program = program(workshop)?;
    bill_of_materials(workshop)?;
    artifacts::check(workshop, &wheel)?;
    tests(workshop, &wheel, &program)?;
    let lines = sums::list(&workshop.dist)?;
    std::fs::write(workshop.dist.join("SHA256SUMS"), lines)?;
    workshop.summary()
}

/// Packs the four crates and builds them from the packed sources.
fn crates(workshop: &mut Workshop) -> Result<()> {
    for package in CRATES {
        let list = workshop.cargo(&["package", "--locked", "--list", "--package", package]);
        checks::crate_files(package, &output_of(list)?)?;
    }
    let packages = CRATES.iter().flat_map(|package| ["--package", package]);
    let args: Vec<_> = ["package", "--locked", "--quiet"].into_iter().chain(packages).collect();
    let command = workshop.cargo(&args);
    workshop.step("crates", command)?;
    for package in CRATES {
        let name = format!("{package}-{}.crate", workshop.version);
        let from = workshop.target.join("package").join(&name);
        std::fs::copy(&from, workshop.dist.join(&name))
            .with_context(|| from.display().to_string())?;
    }
    Ok(())
}

/// Builds the `treeport` program and its archive.
fn program(workshop: &mut Workshop) -> Result<PathBuf> {
    let target = workshop.target.join("packaging");
    let triple = workshop.triple.clone();
    let zig = triple.contains("linux-gnu");
    let with_glibc = if zig { format!("{triple}.2.{GLIBC}") } else { triple.clone() };
    let build = if zig { "zigbuild" } else { "build" };
    let folder = target.to_string_lossy().into_owned();
    let args = [build, "--release", "--locked", "--package", "treeport-cli"];
    let mut command = workshop.cargo(&args);
    command.args(["--target", &with_glibc, "--target-dir", &folder]);
    command.env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    let paths = workshop.remapped(&[])?;
    command.env("CARGO_ENCODED_RUSTFLAGS", paths);
    workshop.step("program", command)?;

    let name = format!("treeport{}", std::env::consts::EXE_SUFFIX);
    let program = target.join(&triple).join("release").join(&name);
    let mut entries =
        vec![Entry { runs: true, ..Entry::new(name.as_str(), std::fs::read(&program)?) }];
    for file in ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "crates/treeport-cli/README.md"] {
        let bytes = std::fs::read(workshop.root.join(file))?;
        entries.push(Entry::new(file.rsplit('/').next().unwrap_or(file), bytes));
    }
    let man = workshop.work.path().join("man");
    let mut command = workshop.command(&program);
    command.arg("man").arg("--quiet").arg("--output").arg(&man);
    output_of(command)?;
    for page in files_of(&man)? {
        entries.push(Entry { name: format!("man/man1/{}", page.name), ..page });
    }
    let completions = [
        ("bash", "treeport.bash"),
        ("zsh", "_treeport"),
        ("fish", "treeport.fish"),
        ("elvish", "treeport.elv"),
        ("powershell", "_treeport.ps1"),
    ];
    for (shell, file) in completions {
        let mut command = workshop.command(&program);
        command.args(["completions", shell]);
        let script = output_of(command)?;
        entries.push(Entry::new(format!("completions/{file}"), script.into_bytes()));
    }
    let folder = format!("treeport-{}-{triple}", workshop.version);
    let bytes = archive::tar_gz(&folder, entries, workshop.seconds)?;
    std::fs::write(workshop.dist.join(format!("{folder}.tar.gz")), bytes)?;
    Ok(program)
}

/// Builds the wheel from only the source archive: unpacked in an empty folder, without network,
/// with an empty cargo home.
fn wheel(workshop: &mut Workshop, sdist: &Path) -> Result<PathBuf> {
    let folder = workshop.work.path().join("offline");
    let sources = workshop.unpacked(sdist, &folder)?;
    let home = workshop.work.path().join("cargo-home");
    std::fs::create_dir(&home)?;
    let mut command = workshop.tool("maturin");
    command.args(["build", "--release", "--offline", "--quiet"]);
    if workshop.triple.contains("linux-gnu") {
        command.args(["--zig", "--compatibility", "manylinux2014"]);
    }
    command.arg("--out").arg(&workshop.dist).current_dir(&sources);
    command.env("CARGO_HOME", &home).env("CARGO_NET_OFFLINE", "true");
    command.env("CARGO_TARGET_DIR", workshop.work.path().join("offline-target"));
    let paths = workshop.remapped(&[(&folder, "/treeport")])?;
    command.env("CARGO_ENCODED_RUSTFLAGS", paths);
    workshop.step("wheel", command)?;
    let wheels = files_by_ending(&workshop.dist, ".whl")?;
    match &wheels[..] {
        [wheel] => Ok(wheel.clone()),
        _ => bail!("there are {} wheels in {}", wheels.len(), workshop.dist.display()),
    }
}

fn files_by_ending(folder: &Path, ending: &str) -> Result<Vec<PathBuf>> {
    let paths = std::fs::read_dir(folder)?.map(|file| Ok(file?.path()));
    let paths: Vec<PathBuf> = paths.collect::<Result<_>>()?;
    Ok(paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).collect())
}

/// Writes the bill of materials of the program and the wheel.
fn bill_of_materials(workshop: &mut Workshop) -> Result<()> {
    let args = ["metadata", "--locked", "--format-version", "1", "--filter-platform"];
    let mut command = workshop.cargo(&args);
    command.arg(&workshop.triple);
    let metadata = serde_json::from_str(&output_of(command)?)?;
    let lock = std::fs::read_to_string(workshop.root.join("Cargo.lock"))?;
    let about = sbom::About {
        version: &workshop.version,
        commit: &workshop.commit,
        time: &workshop.time,
        target: &workshop.triple,
        lock: &lock,
    };
    let list = sbom::sbom(&metadata, &["treeport-cli", "treeport-py"], &about)?;
    let name = format!("treeport-{}.cdx.json", workshop.version);
    Ok(std::fs::write(workshop.dist.join(name), list)?)
}

/// Tests the wheel in an empty environment: a first picture, the README, and the tests of the
/// package.
fn tests(workshop: &mut Workshop, wheel: &Path, program: &Path) -> Result<()> {
    let venv = workshop.target.join("venv-package");
    let command = workshop.venv(&venv);
    workshop.step("empty venv", command)?;
    let wheel = wheel.to_string_lossy().into_owned();
    let constraints = ["--constraint", "python/constraints.txt"];
    let command = workshop.pip(&venv, &[&constraints[..], &[&wheel]].concat());
    workshop.step("pip install", command)?;
    for (name, script) in
        [("first picture", "python/tests/first_picture.py"), ("readme", "python/tests/readme.py")]
    {
        let mut command = workshop.python(&venv);
        command.arg(script);
        workshop.step(name, command)?;
    }
    let all = ["--no-deps", "--no-compile", "--requirement", "python/constraints.txt"];
    let command = workshop.pip(&venv, &all);
    workshop.step("test packages", command)?;
    let rest = format!("{wheel}[test]");
    let command = workshop.pip(&venv, &[&constraints[..], &[&rest]].concat());
    workshop.step("the rest", command)?;
    let mut command = workshop.python(&venv);
    command.args(["-m", "pytest", "--quiet", "python/tests"]).env("TREEPORT_BINARY", program);
    workshop.step("wheel's tests", command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn root() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository")
    }

    fn read(file: &str) -> String {
        std::fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
    }

    /// A package cannot include files of another, so there are two copies.
    #[test]
    fn both_build_scripts_ask_for_the_commit_in_the_same_way() {
        assert_eq!(read("crates/treeport-cli/commit.rs"), read("python/commit.rs"));
    }

    #[test]
    fn every_crate_is_ready_for_its_page() {
        for package in CRATES {
            let manifest = read(&format!("crates/{package}/Cargo.toml"));
            for key in
                ["description", "license", "keywords", "categories", "readme", "documentation"]
            {
                let given = manifest.lines().any(|line| line.starts_with(key));
                assert!(given, "{package} has no {key}");
            }
            for file in ["LICENSE-MIT", "LICENSE-APACHE"] {
                assert_eq!(read(&format!("crates/{package}/{file}")), read(file), "{package}");
            }
            assert!(
                read(&format!("crates/{package}/README.md")).starts_with(&format!("# {package}\n"))
            );
        }
    }

    /// Versions of tools are fixed, because other versions produce other bytes.
    #[test]
    fn tools_are_pinned() {
        let tools = read("xtask/package.txt");
        let tools: Vec<_> = tools.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(tools.iter().all(|tool| tool.contains("==")), "{tools:?}");
        let maturin = tools.iter().find(|tool| tool.starts_with("maturin==")).expect("maturin");
        assert!(read("python/constraints.txt").lines().any(|line| line == *maturin));
    }
}
