//! Real files, written by NumPy and SciPy: read here, and checked against what is known of them.
//!
//! The data are not part of the project. `TREEPORT_DATA` names the folder that holds them; a set that
//! is not there is skipped and says so.

use std::fs::{File, read_to_string};
use std::path::{Path, PathBuf};

use treeport::internal::tree::Scratch;
use treeport::{GroundMetric, Linkage, Measures, PointMetric, Tree, linkage, silent};
use treeport_lab::datasets::{Files, find};

use crate::skipped::skipped;

/// The files of a set, or `None`, and why.
fn files(name: &str) -> Option<Files> {
    let folder = std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
    let found = folder.as_deref().map(find).and_then(|found| Some(found.get(name)?.files.clone()));
    if found.is_none() {
        skipped("real data (a set is not there: set TREEPORT_DATA)");
    }
    found
}

fn open(path: &Path) -> File {
    File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn lines(path: &Path) -> Vec<String> {
    read_to_string(path).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn belfast_has_stops_at_distance_zero() {
    let Some(Files::Graph { edges, .. }) = files("belfast") else { return };
    let (metric, names) = GroundMetric::read_graph_csv(open(&edges), None).unwrap();
    assert_eq!((metric.points(), names), (1917, None));
    let distances = metric.condensed().unwrap();
    assert_eq!(distances.iter().filter(|&&d| d == 0.0).count(), 272);
    // Single linkage from the edges alone is that of all shortest paths.
    let from_edges = linkage(&metric, Linkage::Single, &treeport::silent).unwrap();
    let from_matrix =
        linkage(&metric.materialized().unwrap(), Linkage::Single, &treeport::silent).unwrap();
    for i in (0..1917).step_by(97) {
        for j in (0..1917).step_by(101) {
            assert_eq!(from_edges.leaf_distance(i, j), from_matrix.leaf_distance(i, j));
        }
    }
}

#[test]
fn cities_by_their_matrix_keep_their_precision() {
    let Some(Files::Matrix { dist, names }) = files("usca312") else { return };
    let metric = GroundMetric::read_matrix_npy(open(&dist)).unwrap();
    assert_eq!((metric.points(), lines(&names).len()), (312, 312));
    assert!(!metric.is_metric(), "a matrix promises no triangle inequality");
    assert_eq!(metric.condensed().unwrap().into_iter().fold(0.0, f64::max), 5947.0);
}

#[test]
fn the_phylogeny_gives_the_distances_of_its_tips() {
    let Some(Files::Tree { dist, docs, newick, vocab }) = files("otu_globalpatterns") else {
        return;
    };
    let names = lines(&vocab);
    let tree = Tree::from_newick_with(&read_to_string(newick).unwrap(), &names).unwrap();
    let metric = GroundMetric::read_matrix_npy(open(&dist)).unwrap();
    for i in 0..1000 {
        for j in (i + 1..1000).step_by(13) {
            // The matrix is stored in single precision.
            assert!((tree.leaf_distance(i, j) - metric.distance(i, j)).abs() < 1e-6);
        }
    }
    let samples = Measures::read_npz(open(&docs)).unwrap();
    assert_eq!((samples.len(), samples.points()), (26, 1000));
    let again = Tree::from_newick_with(&tree.to_newick(), &names).unwrap();
    let (one, other) = (tree.pairwise(&samples, &silent), again.pairwise(&samples, &silent));
    for (a, b) in one.unwrap().iter().zip(other.unwrap()) {
        assert!((a - b).abs() <= 1e-12 * b.abs());
    }
}

#[test]
fn documents_by_the_sparse_path_agree_with_the_dense_loop() {
    let Some(Files::Text { embeddings, docs, .. }) = files("bbcsport_w2v1k") else { return };
    let metric = GroundMetric::read_points_npy(open(&embeddings), PointMetric::Euclidean).unwrap();
    let measures = Measures::read_npz(open(&docs)).unwrap();
    for method in [Linkage::Single, Linkage::Average] {
        let tree = linkage(&metric, method, &treeport::silent).unwrap();
        let prepared = tree.prepare(&measures).unwrap();
        let mut scratch = Scratch::default();
        for (i, j) in (0..736).map(|k| (k, k + 1)) {
            let dense =
                tree.distance_dense(&measures.row(i), &measures.row(j), &mut Scratch::default());
            for ours in [
                prepared.distance_with(i, j, &mut scratch),
                prepared.distance_sparse(i, j, &mut scratch),
            ] {
                assert!((ours - dense).abs() <= 1e-12 * dense, "{ours} is not {dense}");
            }
        }
    }
}
