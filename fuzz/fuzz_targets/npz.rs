//! Bytes as `.npz`: archives, sparse matrices, graphs and measures.
#![no_main]

use std::io::Cursor;

use libfuzzer_sys::fuzz_target;
use treeport::io::npz;
use treeport::{GroundMetric, Measures};

fuzz_target!(|bytes: &[u8]| {
    let _ = npz::read(Cursor::new(bytes));
    if let Ok(matrix) = npz::read_csr(Cursor::new(bytes)) {
        let mut written = Cursor::new(Vec::new());
        npz::write_csr(&matrix, &mut written).expect("memory can be written");
        let again = npz::read_csr(written).expect("what is written reads back");
        // NaN differs from itself.
        assert_eq!((matrix.start, matrix.indices), (again.start, again.indices));
    }
    let _ = GroundMetric::read_graph_npz(Cursor::new(bytes));
    let _ = Measures::read_npz(Cursor::new(bytes));
});
