//! Lets a plain `cargo build` link an extension module where linkers want every symbol now (macOS).

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
