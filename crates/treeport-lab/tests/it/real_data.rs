//! Real files, written by NumPy and SciPy: read here, and checked against what is known of them.
//!
//! The data are not part of the project. `TREEPORT_DATA` names the folder that holds them; a set that
//! is not there is skipped and says so.

use std::fs::read_to_string;
use std::path::PathBuf;

use treeport::tree::Scratch;
use treeport::{GroundMetric, Linkage, Measures, Tree, linkage, silent};
use treeport_lab::datasets::{Dataset, find};

use crate::skipped::skipped;

/// Finds a set; a missing one is reported as skipped.
fn set(name: &str) -> Option<Dataset> {
    let folder = std::env::var_os("TREEPORT_DATA").map(PathBuf::from);
    let found = folder.as_deref().map(find).and_then(|found| found.get(name).cloned());
    if found.is_none() {
        skipped("real data (a set is not there: set TREEPORT_DATA)");
    }
    found
}

fn lines(set: &Dataset, file: &str) -> Vec<String> {
    read_to_string(set.path(file)).unwrap().lines().map(str::to_owned).collect()
}

#[test]
fn belfast_has_stops_at_distance_zero() {
    let Some(set) = set("belfast") else { return };
    let edges = set.open("edges.csv").unwrap();
    let (metric, names) = GroundMetric::read_graph_csv(edges, None).unwrap();
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
    let Some(set) = set("usca312") else { return };
    let metric = set.metric().unwrap();
    assert_eq!((metric.points(), lines(&set, "names.txt").len()), (312, 312));
    assert!(!metric.is_metric(), "a matrix promises no triangle inequality");
    assert_eq!(metric.condensed().unwrap().into_iter().fold(0.0, f64::max), 5947.0);
}

#[test]
fn the_phylogeny_gives_the_distances_of_its_tips() {
    let Some(set) = set("otu_globalpatterns") else { return };
    let names = lines(&set, "vocab.txt");
    let newick = read_to_string(set.path("tree.nwk")).unwrap();
    let tree = Tree::from_newick_with(&newick, &names).unwrap();
    let metric = set.metric().unwrap();
    for i in 0..1000 {
        for j in (i + 1..1000).step_by(13) {
            // The matrix is stored in single precision.
            assert!((tree.leaf_distance(i, j) - metric.distance(i, j)).abs() < 1e-6);
        }
    }
    let samples = set.documents().unwrap();
    assert_eq!((samples.len(), samples.points()), (26, 1000));
    let again = Tree::from_newick_with(&tree.to_newick(), &names).unwrap();
    let (one, other) = (tree.pairwise(&samples, &silent), again.pairwise(&samples, &silent));
    for (a, b) in one.unwrap().iter().zip(other.unwrap()) {
        assert!((a - b).abs() <= 1e-12 * b.abs());
    }
}

#[test]
fn documents_by_the_sparse_path_agree_with_the_dense_loop() {
    let Some(set) = set("bbcsport_w2v1k") else { return };
    let metric = set.metric().unwrap();
    let measures = Measures::read_npz(set.open("docs.npz").unwrap()).unwrap();
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
