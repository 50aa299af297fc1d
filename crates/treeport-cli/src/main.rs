//! The treeport command line.
fn main() {}
