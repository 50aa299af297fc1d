//! Adds the commit, if known, to `--version` of `treeport` and `treeport-lab`.

mod commit;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    let version = env!("CARGO_PKG_VERSION");
    let commit = commit::commit("../..");
    let version = commit.map_or_else(|| version.into(), |commit| format!("{version} ({commit})"));
    println!("cargo:rustc-env=TREEPORT_VERSION={version}");
}
