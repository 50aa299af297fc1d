//! Bytes as `.npy`: arrays, points, distance matrices and measures.
#![no_main]

use libfuzzer_sys::fuzz_target;
use treeport::io::npy;
use treeport::{GroundMetric, Measures, PointMetric};

fuzz_target!(|bytes: &[u8]| {
    if let Ok(array) = npy::read(bytes) {
        assert_eq!(array.data.len(), array.shape.iter().product::<usize>());
    }
    let _ = GroundMetric::read_points_npy(bytes, PointMetric::Euclidean);
    let _ = GroundMetric::read_matrix_npy(bytes);
    let _ = Measures::read_npy(bytes);
});
