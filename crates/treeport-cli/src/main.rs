//! The `treeport` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    treeport_cli::main()
}
