//! Bytes as a tree file; what is read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treeport::Tree;

fuzz_target!(|bytes: &[u8]| {
    let Ok(tree) = Tree::from_bytes(bytes) else { return };
    let written = tree.to_bytes().expect("a tree that was read can be written");
    assert_eq!(tree, Tree::from_bytes(&written).expect("what is written reads back"));
});
