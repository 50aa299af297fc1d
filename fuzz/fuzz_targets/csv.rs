//! Bytes as CSV: tables, edge lists, and what is made of them.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treeport::io::table;
use treeport::{GroundMetric, Measures, PointMetric};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(found) = table::read_matrix(bytes) {
        assert_eq!(found.values.len() % found.columns, 0);
    }
    if let Ok(list) = table::read_edges(bytes, None) {
        assert!(list.edges.iter().all(|&(from, to, _)| from < list.nodes && to < list.nodes));
    }
    let _ = GroundMetric::read_graph_csv(bytes, None);
    let _ = GroundMetric::read_points_csv(bytes, PointMetric::Cosine);
    let _ = GroundMetric::read_matrix_csv(bytes);
    let _ = Measures::read_csv(bytes);
});
