//! Lets `cargo build` link an extension module on macOS, and passes the commit to the compiler.

mod commit;

fn main() {
    println!("cargo:rerun-if-changed=Cargo.toml");
    pyo3_build_config::add_extension_module_link_args();
    if let Some(commit) = commit::commit("..") {
        println!("cargo:rustc-env=TREEPORT_COMMIT={commit}");
    }
}
