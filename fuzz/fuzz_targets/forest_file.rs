//! Bytes as a forest file; what is read is written and read again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treeport::Forest;

fuzz_target!(|bytes: &[u8]| {
    let Ok(forest) = Forest::from_bytes(bytes) else { return };
    let written = forest.to_bytes().expect("a forest that was read can be written");
    assert_eq!(forest, Forest::from_bytes(&written).expect("what is written reads back"));
});
