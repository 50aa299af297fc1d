//! What the fuzz targets do with their bytes, one function a target.
//!
//! The tests run the same functions on the committed corpus, without a nightly compiler
//! (`crates/treeport-jobs/tests/it/corpus.rs`).

use std::collections::HashSet;
use std::io::Cursor;
use std::path::Path;

use treeport::io::format::{Input, Wanted};
use treeport::io::{CloudOptions, biom, npy, npz, table};
use treeport::learn::Checkpoint;
use treeport::search::IndexFile;
use treeport::{
    Accuracy, Clouds, FitOptions, Forest, GroundMetric, Labelled, Measures, Method, PointMetric,
    Tree, fit, silent,
};
use treeport_jobs::{JobFingerprint, Journal, history, shard};

/// What is done with bytes from anywhere.
type Target = fn(&[u8]);

/// Every target of this file, by its name.
pub(crate) const TARGETS: [(&str, Target); 15] = [
    ("npy", npy),
    ("npz", npz),
    ("csv", csv),
    ("biom", biom),
    ("clouds", clouds),
    ("newick", newick),
    ("tree_file", tree_file),
    ("forest_file", forest_file),
    ("index_file", index_file),
    ("checkpoint", checkpoint),
    ("journal", journal),
    ("shard_file", shard_file),
    ("history", history),
    ("labels", labels),
    ("names", names),
];

/// Gives bytes to the target of that name.
///
/// # Panics
/// If there is none, and where a target finds a fault.
pub(crate) fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.0 == name);
    target.expect("a target of that name").1(bytes);
}

/// `.npy`: arrays, points, distance matrices and measures.
fn npy(bytes: &[u8]) {
    if let Ok(array) = npy::read(bytes) {
        assert_eq!(array.data.len(), array.shape.iter().product::<usize>());
    }
    let _ = GroundMetric::read_points_npy(bytes, PointMetric::Euclidean);
    let _ = GroundMetric::read_matrix_npy(bytes);
    let _ = Measures::read_npy(bytes);
}

/// `.npz`: archives, sparse matrices, graphs and measures.
fn npz(bytes: &[u8]) {
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
}

/// CSV: tables, edge lists, and what is made of them.
fn csv(bytes: &[u8]) {
    if let Ok(found) = table::read_matrix(bytes) {
        assert_eq!(found.values.len() % found.columns, 0);
        assert!(found.header.as_ref().is_none_or(|names| names.len() == found.columns));
        assert!(found.ids.as_ref().is_none_or(|names| names.len() == found.rows()));
        let turned = found.clone().transposed().expect("memory");
        assert_eq!(turned.transposed().expect("memory"), found);
        let named = found.header.as_deref().filter(|names| names.iter().all(|n| !n.is_empty()));
        if let (Some(names), Ok(plain)) = (named, Measures::from_table(found.clone(), None)) {
            assert_eq!(Measures::from_table(found.clone(), Some(names)).expect("its own"), plain);
        }
    }
    if let Ok(list) = table::read_edges(bytes, None) {
        assert!(list.edges.iter().all(|&(from, to, _)| from < list.nodes && to < list.nodes));
    }
    let _ = GroundMetric::read_graph_csv(bytes, None);
    let _ = GroundMetric::read_points_csv(bytes, PointMetric::Cosine);
    let _ = GroundMetric::read_matrix_csv(bytes);
    let _ = Measures::read_csv(bytes);
}

/// BIOM: what is read has its entries inside, and its own names match.
fn biom(bytes: &[u8]) {
    let Ok(found) = biom::read(bytes) else { return };
    let (height, width) = (found.observations.len(), found.samples.len());
    let inside =
        |&(row, column, _): &(u32, u32, f64)| (row as usize) < height && (column as usize) < width;
    assert!(found.entries.iter().all(inside));
    let points = found.observations.clone();
    if let Ok(plain) = Measures::from_biom(found.clone(), None) {
        assert_eq!(Measures::from_biom(found, Some(&points)).expect("its own"), plain);
    }
}

/// Clouds, whichever format they are in; what is read is written and read again.
fn clouds(bytes: &[u8]) {
    let read = |bytes: &[u8]| -> Option<Clouds> {
        let input = Input::from_bytes("clouds", bytes, Wanted::Clouds, None).ok()?;
        input.clouds(&CloudOptions::default()).ok()
    };
    let Some(found) = read(bytes) else { return };
    let mut written = Cursor::new(Vec::new());
    if found.write_npz(&mut written).is_err() {
        return; // an ID of more characters than an array of names takes
    }
    assert_eq!(read(written.get_ref()).expect("what is written reads back"), found);
}

/// Newick; what is read is written and read again.
fn newick(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(tree) = Tree::from_newick(text) else { return };
    let written = tree.to_newick();
    let again = Tree::from_newick(&written).expect("what is written reads back");
    assert_eq!((tree.leaves(), tree.nodes()), (again.leaves(), again.nodes()));
    let Some(names) = tree.names() else { return }; // numbers from 0 on are no names
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        return; // without distinct names nobody can tell which leaf is which
    }
    let again = Tree::from_newick_with(&written, names).expect("the same names");
    let total = tree.lengths().iter().sum::<f64>();
    for (i, j) in (1..tree.leaves().min(20)).map(|j| (j - 1, j)) {
        let difference = (tree.leaf_distance(i, j) - again.leaf_distance(i, j)).abs();
        assert!(difference <= 1e-12 * total || !total.is_finite(), "{i}, {j} in {text}");
    }
}

/// A tree file, also as a model; what is read is written and read again.
fn tree_file(bytes: &[u8]) {
    if let Ok(input) = Input::from_bytes("model", bytes, Wanted::Model, None) {
        drop(input.model(None));
    }
    let Ok(tree) = Tree::from_bytes(bytes) else { return };
    let written = tree.to_bytes().expect("a tree that was read can be written");
    assert_eq!(tree, Tree::from_bytes(&written).expect("what is written reads back"));
}

/// A forest file; what is read is written and read again.
fn forest_file(bytes: &[u8]) {
    let Ok(forest) = Forest::from_bytes(bytes) else { return };
    let written = forest.to_bytes().expect("a forest that was read can be written");
    assert_eq!(forest, Forest::from_bytes(&written).expect("what is written reads back"));
}

/// `.index`: what reads back answers, and is the same again.
fn index_file(bytes: &[u8]) {
    let Ok(file) = IndexFile::from_bytes(bytes) else { return };
    if file.index.next_number() < 100 {
        let _ = file.index.graph(3, Accuracy::EXACT, &silent);
    }
    let written = file.to_bytes().expect("what was read can be written");
    let again = IndexFile::from_bytes(&written).expect("what is written reads back");
    assert_eq!(again.to_bytes().expect("it can be written"), written);
}

/// A checkpoint as it is, and with a right checksum; one of four points is gone on from.
fn checkpoint(bytes: &[u8]) {
    let _ = Checkpoint::from_bytes(bytes);
    let body = &bytes[..bytes.len().saturating_sub(4)];
    let signed = [body, &crc32fast::hash(body).to_le_bytes()].concat();
    let Ok(checkpoint) = Checkpoint::from_bytes(&signed) else { return };
    let written = checkpoint.to_bytes();
    let again = Checkpoint::from_bytes(&written).expect("what is written reads back");
    // NaN differs from itself, its bytes do not.
    assert_eq!(again.to_bytes(), written);
    let points = vec![0.0, 1.0, 3.0, 7.0];
    let metric = GroundMetric::from_points(1, points, PointMetric::Euclidean).expect("points");
    let (method, epochs) = (Some(Method::Additive), Some(2));
    let options = FitOptions { method, epochs, resume: Some(checkpoint), ..FitOptions::default() };
    let _ = fit(&metric, None, &options, &silent);
}

/// A journal, after a `+` one of the right job: what is appended comes back, after whatever of the
/// old still counts.
fn journal(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, job) = (folder.path().join("x.part"), JobFingerprint::new("fuzz-1").part("to", 3));
    let file = match bytes {
        [b'+', rest @ ..] => [format!("{job}\n").as_bytes(), rest].concat(),
        _ => bytes.to_vec(),
    };
    std::fs::write(&path, file).expect("a writable folder");
    let Ok(mut journal) = Journal::open(&path, &job) else { return };
    let mut kept = Vec::new();
    let take = |line: &str| {
        kept.push(line.to_owned());
        Ok::<_, treeport_jobs::Error>(kept.len() < 3)
    };
    let taken = journal.take_lines(take).expect("a readable file");
    kept.truncate(taken);
    journal.append(b"9\n").expect("a writable file");
    kept.push("9".into());
    drop(journal); // one writer at a time
    let again = Journal::open(&path, &job).expect("our own journal");
    assert_eq!(again.lines().expect("a readable file"), kept);
}

/// A shard as it is, and with right sums: what is read is the file that is written of it.
fn shard_file(bytes: &[u8]) {
    let end = bytes.iter().position(|&byte| byte == b'\n').unwrap_or(bytes.len());
    let mut signed = bytes[..end].to_vec();
    signed.extend(format!(" sum={:08x}\n", crc32fast::hash(&signed)).bytes());
    signed.extend(bytes.iter().skip(end + 1));
    signed.extend(shard::last_line(crc32fast::hash(&signed)).bytes());
    for file in [bytes, &signed] {
        let mut held = Vec::new();
        let read = shard::read(Path::new("shard"), file, |block| {
            held.extend_from_slice(block);
            Ok::<_, treeport_jobs::Error>(())
        });
        let Ok(found) = read else { continue };
        assert!(found.range().end <= found.items() && found.number() <= found.shards());
        let mut written = Vec::new();
        found.write(&mut written, |out| out.write_all(&held)).expect("memory can be written");
        assert_eq!(written, file);
    }
}

/// A history.
fn history(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    if let Ok(epochs) = history::read(text) {
        assert_eq!(epochs.len(), text.lines().count() - 1);
    }
}

/// Labels of four measures: pairs and distances in a table.
fn labels(bytes: &[u8]) {
    let Ok(table) = table::read_matrix(bytes) else { return };
    let measures = Measures::from_dense(2, &[1.0, 0.0, 0.5, 0.5, 0.0, 1.0, 0.25, 0.75]);
    let measures = measures.expect("measures");
    let (mut pairs, mut distances) = (Vec::new(), Vec::new());
    for row in table.values.chunks_exact(table.columns) {
        let [left, right, distance] = row[..] else { return };
        pairs.push((left as usize, right as usize));
        distances.push(distance);
    }
    if measures.check_pairs(&pairs).is_err() {
        return;
    }
    let Ok(data) = Labelled::new(&measures, pairs, distances) else { return };
    let metric = GroundMetric::from_condensed(2, vec![1.0]).expect("two points");
    let options = FitOptions { method: Some(Method::Average), ..FitOptions::default() };
    let _ = fit(&metric, Some(&data), &options, &silent);
}

/// Names, one a line up to an empty line, and then a table or Newick text that is matched to them.
fn names(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let (names, rest) = text.split_once("\n\n").unwrap_or((text, ""));
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    let _ = Measures::read_csv_for(rest.as_bytes(), &names);
    let _ = Tree::from_newick_with(rest, &names);
    let parents = vec![names.len() as u32; names.len() + 1];
    let Ok(star) = Tree::new(names.len(), parents, vec![0.0; names.len() + 1]) else { return };
    let Ok(named) = star.with_names(names.clone()) else { return };
    let written = named.to_bytes().expect("a tree can be written");
    assert_eq!(Tree::from_bytes(&written).expect("what is written reads back"), named);
    let text = named.to_newick();
    if names.iter().collect::<HashSet<_>>().len() == names.len() {
        Tree::from_newick_with(&text, &names).expect("what is written reads back");
    }
}
