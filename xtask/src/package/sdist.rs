//! Source archive of the Python package, with all crates that it depends on.
//!
//! maturin packs our own sources. `cargo vendor` adds the dependencies, with the settings that make
//! cargo use them, so that `pip install` of the archive needs a compiler and maturin, but no
//! registry.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use super::archive;
use super::workshop::Workshop;

/// Settings that make cargo use the vendored crates.
const SETTINGS: &str = "\
[source.crates-io]
replace-with = \"vendored-sources\"

[source.vendored-sources]
directory = \"vendor\"
";

/// Builds the source archive.
pub(crate) fn build(workshop: &mut Workshop) -> Result<PathBuf> {
    let name = format!("treeport-{}", workshop.version);
    let bare = workshop.work.path().join("bare");
    let mut command = workshop.tool("maturin");
    command.args(["sdist", "--manifest-path", "python/Cargo.toml", "--out"]).arg(&bare);
    workshop.step("sdist", command)?;
    let bare = bare.join(format!("{name}.tar.gz"));
    let sources = workshop.unpacked(&bare, &workshop.work.path().join("vendored"))?;
    without_test_packages(&sources)?;
    let mut command = workshop.cargo(&["vendor", "--quiet", "--versioned-dirs", "vendor"]);
    command.current_dir(&sources).stdout(std::process::Stdio::null());
    workshop.step("vendor", command)?;
    let lock = |folder: &Path| std::fs::read_to_string(folder.join("Cargo.lock"));
    if let Some(package) = new_package(&lock(&workshop.root)?, &lock(&sources)?) {
        bail!("the source archive would be built with {package}, which Cargo.lock does not have");
    }
    std::fs::create_dir_all(sources.join(".cargo"))?;
    std::fs::write(sources.join(".cargo/config.toml"), SETTINGS)?;
    // As in packed crates, so that builds from the archive can name the commit.
    let about = format!("{{\n  \"git\": {{\n    \"sha1\": \"{}\"\n  }}\n}}\n", workshop.commit);
    std::fs::write(sources.join("python/.cargo_vcs_info.json"), about)?;
    let bytes = archive::tar_gz(&name, archive::files_of(&sources)?, workshop.seconds)?;
    let place = workshop.dist.join(format!("{name}.tar.gz"));
    std::fs::write(&place, bytes)?;
    Ok(place)
}

/// Removes test dependencies from all manifests: the archive has no Rust tests.
fn without_test_packages(sources: &Path) -> Result<()> {
    let mut manifests = vec![sources.join("python/Cargo.toml")];
    for package in std::fs::read_dir(sources.join("crates"))? {
        manifests.push(package?.path().join("Cargo.toml"));
    }
    for manifest in manifests {
        let text = std::fs::read_to_string(&manifest)?;
        std::fs::write(&manifest, without_table(&text, "dev-dependencies"))?;
    }
    Ok(())
}

/// Returns a manifest without one of its tables.
fn without_table(manifest: &str, table: &str) -> String {
    let mut inside = false;
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = line.trim() == format!("[{table}]");
        }
        if !inside {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

/// Returns the first package of lock file `part` that `whole` does not have in that version.
fn new_package(whole: &str, part: &str) -> Option<String> {
    let packages = |lock: &str| -> BTreeSet<String> {
        let lines = |block: &str| block.trim().lines().take(2).collect::<Vec<_>>().join(" ");
        lock.split("[[package]]").skip(1).map(lines).collect()
    };
    packages(part).difference(&packages(whole)).next().cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_table_is_taken_out() {
        let manifest = "[package]\nname = \"x\"\n\n[dev-dependencies]\na = \"1\"\n\n[lints]\nworkspace = true\n";
        let kept = "[package]\nname = \"x\"\n\n[lints]\nworkspace = true\n";
        assert_eq!(without_table(manifest, "dev-dependencies"), kept);
        assert_eq!(without_table(kept, "dev-dependencies"), kept);
    }

    #[test]
    fn a_lock_file_may_shrink_and_nothing_else() {
        let package = |name: &str, version: &str| {
            format!("[[package]]\nname = \"{name}\"\nversion = \"{version}\"\nsource = \"x\"\n\n")
        };
        let whole = package("a", "1.0.0") + &package("b", "2.0.0");
        assert_eq!(new_package(&whole, &package("b", "2.0.0")), None);
        let newer = new_package(&whole, &package("b", "2.0.1")).unwrap();
        assert_eq!(newer, "name = \"b\" version = \"2.0.1\"");
    }
}
