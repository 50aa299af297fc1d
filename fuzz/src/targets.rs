//! The fuzz targets, one function each.
//!
//! The tests run the same functions on the committed corpus, without a nightly compiler
//! (`crates/treeport-jobs/tests/it/corpus.rs`).

use std::collections::HashSet;
use std::io::Cursor;
use std::path::Path;

use treeport::io::format::{Input, InputKind};
use treeport::io::{CloudOptions, ModelFile, biom, npy, npz, table};
use treeport::learn::Checkpoint;
use treeport::search::IndexFile;
use treeport::{
    Accuracy, Aim, Answer, Clouds, Error, FitOptions, Forest, GroundMetric, Labeled, Measures,
    Method, PointMetric, Problem, Tree, Wanted, fit, silent,
};
#[cfg(test)]
use treeport::{Index, IndexOptions};
use treeport_jobs::{JobFingerprint, Journal, history, shard};

/// A function of arbitrary bytes, which panics if it finds a fault.
type Target = fn(&[u8]);

pub(crate) const TARGETS: [(&str, Target); 16] = [
    ("exact", exact),
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

/// Runs a target, which exists.
pub(crate) fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.0 == name);
    target.expect("a target of that name").1(bytes);
}

/// Exact transport with ties and costs of any size: the marginals and the cost of the plan, and the
/// potentials of all points, prove the value.
fn exact(bytes: &[u8]) {
    let (metric, [a, b]) = problem(bytes);
    let Ok(measures) = Measures::from_rows(metric.points(), [a, b]) else {
        return; // without mass
    };
    let measures = measures.normalized();
    let rows = [measures.row(0), measures.row(1)];
    let aim = Aim::exact().wanting(Wanted::Potentials);
    let answer = Problem::new(&metric, &rows[0], &rows[1]).answer(&aim, &silent);
    let found = answer.expect("balanced problems have answers");
    let close = |a: f64, b: f64, size: f64| (a - b).abs() <= Answer::TOLERANCE * size;
    assert!(close(found.upper, found.lower, found.upper) && found.lower <= found.upper);
    let mut left = rows.map(|row| {
        let mut masses = vec![0.0; metric.points()];
        row.iter().for_each(|(point, mass)| masses[point] = mass);
        masses
    });
    let masses = left.clone();
    let mut cost = 0.0;
    for (i, j, mass) in found.plan.iter() {
        assert!(mass > 0.0);
        (left[0][i], left[1][j]) = (left[0][i] - mass, left[1][j] - mass);
        cost += mass * metric.distance(i, j);
    }
    assert!(left.iter().flatten().all(|&mass| close(mass, 0.0, 1.0)), "{found:?}");
    assert!(close(cost, found.upper, found.upper), "{cost}, {found:?}");
    let potentials = found.potentials.as_ref().expect("requested potentials");
    let sides = [&potentials.left, &potentials.right];
    let largest = sides.into_iter().flatten().fold(0.0, |most: f64, dual| most.max(dual.abs()));
    for (i, u) in potentials.left.iter().enumerate() {
        for (j, v) in potentials.right.iter().enumerate() {
            let cost = metric.distance(i, j);
            assert!(u + v <= cost || close(u + v, cost, cost + largest), "{i}, {j}, {found:?}");
        }
    }
    let proved: f64 =
        sides.into_iter().flatten().zip(masses.iter().flatten()).map(|(u, mass)| u * mass).sum();
    assert!(close(proved, found.upper, found.upper + largest), "{proved}, {found:?}");
}

/// Reads 2 to 24 points from bytes, their costs (ties, small differences, or 24 orders of magnitude;
/// or shortest paths of these), and two rows of masses, half of them 0.
fn problem(bytes: &[u8]) -> (GroundMetric, [Vec<(usize, f64)>; 2]) {
    let mut bytes = bytes.iter().copied();
    let mut byte = || bytes.next().unwrap_or(1);
    let (n, kind, is_metric) = (2 + usize::from(byte() % 23), byte() % 4, byte() % 2 == 0);
    let mut number = |kind: u8| match (kind, byte(), byte()) {
        (0, a, _) => f64::from(a % 4),
        (1, a, _) => 1.0 + f64::from(a) / 256.0,
        (2, a, b) => f64::from(u16::from_le_bytes([a, b])) / 7.0,
        (_, a, b) => f64::from(1 + a % 9) * 10f64.powi(i32::from(b % 25) - 12),
    };
    let pairs = (0..n).flat_map(|i| (i + 1..n).map(move |j| (i, j)));
    let edges: Vec<_> = pairs.map(|(i, j)| (i, j, number(kind))).collect();
    let metric = if is_metric {
        GroundMetric::from_edges(n, &edges).and_then(|graph| graph.materialized())
    } else {
        GroundMetric::from_condensed(n, edges.iter().map(|edge| edge.2).collect())
    };
    let mut mass = || if number(0) < 2.0 { 0.0 } else { number(3 - kind) };
    let row = |_| (0..n).map(|point| (point, mass())).collect();
    (metric.expect("costs are finite"), [0, 1].map(row))
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
        let again = npz::read_csr(written).expect("written files are readable");
        // NaN differs from itself.
        assert_eq!((matrix.start, matrix.indices), (again.start, again.indices));
    }
    let _ = GroundMetric::read_graph_npz(Cursor::new(bytes));
    let _ = Measures::read_npz(Cursor::new(bytes));
}

/// CSV: tables, edge lists, and the metrics and measures they contain.
fn csv(bytes: &[u8]) {
    if let Ok(found) = table::read_matrix(bytes) {
        assert_eq!(found.values.len() % found.columns, 0);
        assert!(found.header.as_ref().is_none_or(|names| names.len() == found.columns));
        assert!(found.ids.as_ref().is_none_or(|names| names.len() == found.rows()));
        let swapped = found.clone().transposed().expect("memory");
        assert_eq!(swapped.transposed().expect("memory"), found);
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

/// BIOM: entries are inside the table, and its own names match.
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

/// Clouds of any format, which survive a round trip.
fn clouds(bytes: &[u8]) {
    let read = |bytes: &[u8]| -> Option<Clouds> {
        let input = Input::from_bytes("clouds", bytes, InputKind::Clouds, None).ok()?;
        input.clouds(&CloudOptions::default()).ok()
    };
    let Some(found) = read(bytes) else { return };
    let mut written = Cursor::new(Vec::new());
    if found.write_npz(&mut written).is_err() {
        return; // an ID of more characters than an array of names takes
    }
    assert_eq!(read(written.get_ref()).expect("written files are readable"), found);
}

/// Newick trees, which survive a round trip.
fn newick(bytes: &[u8]) {
    let Ok(text) = str::from_utf8(bytes) else { return };
    let Ok(tree) = Tree::from_newick(text) else { return };
    let written = tree.to_newick();
    let again = Tree::from_newick(&written).expect("written files are readable");
    assert_eq!((tree.leaves(), tree.nodes()), (again.leaves(), again.nodes()));
    let Some(names) = tree.names() else { return }; // numbers from 0 on are no names
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        return; // equal names do not identify leaves
    }
    let again = Tree::from_newick_with(&written, names).expect("the same names");
    let total = tree.lengths().iter().sum::<f64>();
    for (i, j) in (1..tree.leaves().min(20)).map(|j| (j - 1, j)) {
        let difference = (tree.leaf_distance(i, j) - again.leaf_distance(i, j)).abs();
        assert!(difference <= 1e-12 * total || !total.is_finite(), "{i}, {j} in {text}");
    }
}

/// Returns the bytes of a container with the checksums that its reader expects, so that changes
/// reach the reader behind them. A model has two checksums.
fn signed<T>(bytes: &[u8], read: impl Fn(&[u8]) -> treeport::Result<T>) -> Vec<u8> {
    let mut signed = bytes.to_vec();
    for _ in 0..2 {
        let Err(Error::DamagedTree { reason, .. }) = read(&signed) else { break };
        let sums = reason.split_once("checksum is ").and_then(|(_, sums)| {
            sums.split_once(", but the contents give ").filter(|(old, new)| old.len() == new.len())
        });
        let Some((old, new)) = sums else { break };
        let at = signed.windows(old.len()).position(|text| text == old.as_bytes());
        let Some(at) = at else { break };
        signed[at..at + new.len()].copy_from_slice(new.as_bytes());
    }
    signed
}

/// A tree file, also as a model, unchanged and with right checksums.
fn tree_file(bytes: &[u8]) {
    one_tree_file(bytes);
    one_tree_file(&signed(bytes, ModelFile::from_bytes));
}

/// A tree survives a round trip.
fn one_tree_file(bytes: &[u8]) {
    if let Ok(input) = Input::from_bytes("model", bytes, InputKind::Model, None) {
        drop(input.model(None));
    }
    let Ok(tree) = Tree::from_bytes(bytes) else { return };
    let written = tree.to_bytes().expect("a tree that was read can be written");
    assert_eq!(tree, Tree::from_bytes(&written).expect("written files are readable"));
}

/// A forest file, unchanged and with right checksums, survives a round trip.
fn forest_file(bytes: &[u8]) {
    for bytes in [bytes, &signed(bytes, Forest::from_bytes)] {
        let Ok(forest) = Forest::from_bytes(bytes) else { continue };
        let written = forest.to_bytes().expect("a forest that was read can be written");
        assert_eq!(forest, Forest::from_bytes(&written).expect("written files are readable"));
    }
}

/// An index, unchanged and with the right checksum, answers and survives a round trip.
fn index_file(bytes: &[u8]) {
    for bytes in [bytes, &signed(bytes, IndexFile::from_bytes)] {
        let Ok(file) = IndexFile::from_bytes(bytes) else { continue };
        if file.index.next_number() < 100 {
            let _ = file.index.graph(3, Accuracy::EXACT, &silent);
        }
        let written = file.to_bytes().expect("an index that was read can be written");
        let again = IndexFile::from_bytes(&written).expect("written files are readable");
        assert_eq!(again.to_bytes().expect("it can be written"), written);
    }
}

/// A change behind the checksum reaches the reader.
#[cfg(test)]
#[test]
fn changed_containers_are_signed() {
    let tree = Tree::from_newick("((a:1,b:2):1,c:3);").expect("a tree");
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 3.0], PointMetric::Euclidean);
    let metric = Some(metric.expect("points"));
    let file = ModelFile { model: tree.into(), calibration: None, metric };
    let mut bytes = file.to_bytes().expect("a tree can be written");
    // A length of an edge and a coordinate, which have a checksum each.
    for number in [2.0_f64, 3.0] {
        let at = bytes.windows(8).rposition(|at| at == number.to_le_bytes()).expect("its bytes");
        bytes[at] ^= 1;
    }
    ModelFile::from_bytes(&bytes).expect_err("a changed file");
    ModelFile::from_bytes(&signed(&bytes, ModelFile::from_bytes)).expect("a signed file");
    let measures = Measures::unit_masses(3, [0, 1, 2]).expect("measures");
    let discrete = GroundMetric::discrete(3).expect("points");
    let index = Index::new(&discrete, &measures, &IndexOptions::default(), &silent);
    let file = IndexFile { index: index.expect("an index"), point_names: None };
    let text = |bytes: Vec<u8>| bytes.into_iter().map(char::from).collect::<String>();
    let file = text(file.to_bytes().expect("an index can be written"));
    let changed: Vec<u8> =
        file.replace("leaves\\\":3", "leaves\\\":4").chars().map(|c| c as u8).collect();
    IndexFile::from_bytes(&changed).expect_err("a changed file");
    let read = IndexFile::from_bytes(&signed(&changed, IndexFile::from_bytes));
    assert_eq!(read.expect("a signed file").index.measures().points(), 4);
}

/// A checkpoint, unchanged and with a right checksum; a fit resumes from one of four points.
fn checkpoint(bytes: &[u8]) {
    let _ = Checkpoint::from_bytes(bytes);
    let body = &bytes[..bytes.len().saturating_sub(4)];
    let signed = [body, &crc32fast::hash(body).to_le_bytes()].concat();
    let Ok(checkpoint) = Checkpoint::from_bytes(&signed) else { return };
    let written = checkpoint.to_bytes();
    let again = Checkpoint::from_bytes(&written).expect("written files are readable");
    // NaN differs from itself, its bytes do not.
    assert_eq!(again.to_bytes(), written);
    let points = vec![0.0, 1.0, 3.0, 7.0];
    let metric = GroundMetric::from_points(1, points, PointMetric::Euclidean).expect("points");
    let (method, epochs) = (Some(Method::Additive), Some(2));
    let options = FitOptions { method, epochs, resume: Some(checkpoint), ..FitOptions::default() };
    let _ = fit(&metric, None, &options, &silent);
}

/// A journal, or after a `+` the lines of a valid one: lines that were accepted remain, and appended
/// ones follow them.
fn journal(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, job) = (folder.path().join("x.part"), JobFingerprint::new("fuzz-1").part("to", 3));
    if let [b'+', rest @ ..] = bytes {
        let mut signed = Journal::open(&path, &job).expect("a new journal");
        signed.append(&[rest, b"\n"].concat()).expect("a writable folder");
    } else {
        std::fs::write(&path, bytes).expect("a writable folder");
    }
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

/// A shard, unchanged and with right sums, survives a round trip.
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
    let Ok(data) = Labeled::new(&measures, pairs, distances) else { return };
    let metric = GroundMetric::from_condensed(2, vec![1.0]).expect("two points");
    let options = FitOptions { method: Some(Method::Average), ..FitOptions::default() };
    let _ = fit(&metric, Some(&data), &options, &silent);
}

/// Names, one per line, then an empty line and a table or Newick text to match with them.
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
    assert_eq!(Tree::from_bytes(&written).expect("written files are readable"), named);
    let text = named.to_newick();
    if names.iter().collect::<HashSet<_>>().len() == names.len() {
        Tree::from_newick_with(&text, &names).expect("written files are readable");
    }
}
