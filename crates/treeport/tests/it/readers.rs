//! Hostile files: no reader panics, and none takes much more memory than the file has bytes.
//!
//! The same inputs go to the fuzz targets in `fuzz/`; here is a short run of each, with the allocator
//! watched. One test in a process of its own, because the allocator is shared by all threads.

#![expect(unsafe_code, reason = "a watched allocator implements an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{Cursor, Write};
use std::sync::atomic::{AtomicUsize, Ordering};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use treeport::io::format::{Input, InputKind};
use treeport::io::{CloudOptions, biom, npy, npz, table};
use treeport::learn::Checkpoint;
use treeport::search::IndexFile;
use treeport::{
    Clouds, Csr, Forest, GroundMetric, Index, IndexOptions, Measures, PointMetric, Tree,
    set_memory_limit, silent,
};

struct Watched;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Watched {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let now = NOW.fetch_add(layout.size(), Ordering::Relaxed) + layout.size();
        MOST.fetch_max(now, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        NOW.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Watched = Watched;

/// Bytes that a read may take beyond a multiple of the file: buffers, tables of the inflater, messages.
const FIXED: usize = 400_000;
/// Bytes for each byte of the file: a Newick leaf `a,` is a node, an edge, a name and its place.
const TIMES: usize = 128;

/// Reads, and checks what it took.
fn watched(what: &str, bytes: &[u8], read: fn(&[u8])) {
    let before = NOW.load(Ordering::Relaxed);
    MOST.store(before, Ordering::Relaxed);
    read(bytes);
    let took = MOST.load(Ordering::Relaxed).saturating_sub(before);
    let allowed = FIXED + TIMES * bytes.len();
    assert!(took <= allowed, "{what}: {took} bytes for a file of {}", bytes.len());
}

type Reader = (&'static str, fn(&[u8]), Vec<Vec<u8>>);

/// Every reader with good files to start from.
fn readers() -> Vec<Reader> {
    let mut array = Vec::new();
    npy::write_f64(&[2, 2], &[0.0, 1.0, 1.0, 0.0], &mut array).unwrap();
    let (start, indices, values) = (vec![0, 1, 2], vec![1, 0], vec![1.0, 1.0]);
    let mut archive = Cursor::new(Vec::new());
    npz::write_csr(&Csr { rows: 2, cols: 2, start, indices, values }, &mut archive).unwrap();
    let tree = Tree::from_newick("((a:1,'b c':1)x:2,d:3e0[note]);").unwrap();
    let forest = Forest::new(vec![tree.clone(), tree.clone()], vec![0.5, 0.5]).unwrap();
    vec![
        ("npy", read_npy, vec![array]),
        ("npz", read_npz, vec![archive.into_inner()]),
        (
            "csv",
            read_csv,
            vec![
                b"x,y\n1,2\n3,4\n".to_vec(),
                b"# by biom\n#OTU ID\tS1\tS2\na\t1\t2\nb\t3\t4\n".to_vec(),
                b"source,target,weight\na,b,1\n\"b\",c,2\n".to_vec(),
            ],
        ),
        ("gzip", read_csv, vec![gzip(b"id\tx\ty\na\t1\t2\nb\t3\t4\n")]),
        ("biom", read_biom, vec![BIOM.to_vec(), gzip(BIOM)]),
        ("newick", read_newick, vec![b"((a:1,'b c':1)x:2,d:3e0[note]);".to_vec()]),
        ("tree", |bytes| drop(Tree::from_bytes(bytes)), vec![tree.to_bytes().unwrap()]),
        ("model", read_model, vec![tree.to_bytes().unwrap(), forest.to_bytes().unwrap()]),
        ("forest", |bytes| drop(Forest::from_bytes(bytes)), vec![forest.to_bytes().unwrap()]),
        ("index", |bytes| drop(IndexFile::from_bytes(bytes)), vec![index()]),
        ("clouds", read_clouds, clouds()),
        ("checkpoint", |bytes| drop(Checkpoint::from_bytes(bytes)), vec![b"tpcheck1".to_vec()]),
    ]
}

fn read_npy(bytes: &[u8]) {
    let _ = npy::read(bytes);
    let _ = GroundMetric::read_points_npy(bytes, PointMetric::Euclidean);
    let _ = GroundMetric::read_matrix_npy(bytes);
    let _ = Measures::read_npy(bytes);
}

fn read_npz(bytes: &[u8]) {
    let _ = npz::read(Cursor::new(bytes));
    let _ = npz::read_csr(Cursor::new(bytes));
    let _ = GroundMetric::read_graph_npz(Cursor::new(bytes));
    let _ = Measures::read_npz(Cursor::new(bytes));
}

/// The bytes of an index of three measures.
fn index() -> Vec<u8> {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 3.0], PointMetric::Euclidean).unwrap();
    index_on(&metric)
}

fn index_on(metric: &GroundMetric) -> Vec<u8> {
    let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.5, 0.5, 0.0, 0.0, 0.0, 1.0]).unwrap();
    let index = Index::new(metric, &measures, &IndexOptions::default(), &silent).unwrap();
    IndexFile { index, point_names: None }.to_bytes().unwrap()
}

/// An index of points one apart that claims the most there can be: nothing in the file grows with their number.
fn index_of_many_points() -> Vec<u8> {
    let file = index_on(&GroundMetric::discrete(3).unwrap());
    let size = usize::from(file[0]) + 256 * usize::from(file[1]);
    let header = String::from_utf8(file[8..8 + size].to_vec()).unwrap();
    let mut claimed = header.replace(r#"\"leaves\":3"#, r#"\"leaves\":2147483647"#);
    assert_ne!(claimed, header);
    while !claimed.len().is_multiple_of(8) {
        claimed.push(' ');
    }
    let mut bytes = (claimed.len() as u64).to_le_bytes().to_vec();
    bytes.extend(claimed.bytes());
    bytes.extend(&file[8 + size..]);
    bytes
}

/// Clouds as a long table, as a ragged archive and as an array.
fn clouds() -> Vec<Vec<u8>> {
    let (points, masses) = (vec![0.0, 0.0, 0.0, 1.0, 3.0, 4.0], [0.5, 0.5, 1.0]);
    let ragged = Clouds::new(2, points.clone(), &[0, 2, 3], &masses).unwrap();
    let mut archive = Cursor::new(Vec::new());
    ragged.write_npz(&mut archive).unwrap();
    let mut array = Vec::new();
    npy::write_f64(&[3, 1, 2], &points, &mut array).unwrap();
    let table = b"id,mass,x1,x2\nj1,0.5,0,0\nj1,0.5,0,1\nj2,1,3,4\n".to_vec();
    vec![table, archive.into_inner(), array]
}

fn read_clouds(bytes: &[u8]) {
    let mut first = CloudOptions::default();
    first.weights = Some("first".into());
    for options in [CloudOptions::default(), first] {
        if let Ok(input) = Input::from_bytes("clouds", bytes, InputKind::Clouds, None) {
            let _ = input.clouds(&options).and_then(|found| found.ground(PointMetric::Euclidean));
        }
    }
}

const BIOM: &[u8] =
    br#"{"rows": [{"id": "a", "metadata": null}, {"id": "b"}], "columns": [{"id": "S1"}],
    "matrix_type": "sparse", "shape": [2, 1], "data": [[0, 0, 1.5], [1, 0, 2]]}"#;

fn read_biom(bytes: &[u8]) {
    if let Ok(table) = biom::read(bytes) {
        let _ = Measures::from_biom(table, None);
    }
}

fn read_csv(bytes: &[u8]) {
    let _ = table::read_matrix(bytes);
    let _ = table::read_edges(bytes, None);
    let _ = GroundMetric::read_graph_csv(bytes, None);
    let _ = GroundMetric::read_points_csv(bytes, PointMetric::Cosine);
    let _ = GroundMetric::read_matrix_csv(bytes);
    let _ = Measures::read_csv(bytes);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn read_model(bytes: &[u8]) {
    if let Ok(input) = Input::from_bytes("model", bytes, InputKind::Model, None) {
        drop(input.model(None));
    }
}

fn read_newick(bytes: &[u8]) {
    let _ = Tree::from_newick(&String::from_utf8_lossy(bytes));
}

/// Headers that claim far more than there is.
fn claims() -> Vec<Reader> {
    let array = |shape: &str| {
        let header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}\n");
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.as_bytes());
        // An axis of 0 leaves nothing to read, and bytes that nobody wants are an error by themselves.
        if shape.split(['(', ',', ')']).all(|axis| axis.trim() != "0") {
            file.extend(1f64.to_le_bytes());
        }
        file
    };
    let mut tree = 1_000_000_000_000u64.to_le_bytes().to_vec();
    tree.extend(b"{}");
    let edges = b"source,target,weight\n0,999999999999,1\n".to_vec();
    let mut cases: Vec<Reader> = vec![
        ("tree", |bytes| drop(Tree::from_bytes(bytes)), vec![tree]),
        ("csv", read_csv, vec![edges]),
        ("index", |bytes| drop(IndexFile::from_bytes(bytes)), vec![index_of_many_points()]),
    ];
    for shape in [
        "(1000000000000,)",
        "(1000000, 1000000)",
        "(0, 1000000000000)",
        "(18446744073709551615, 2)",
    ] {
        cases.push(("npy", read_npy, vec![array(shape)]));
    }
    for shape in [
        "(1000000000000, 0, 3)",
        "(1000000000000, 3, 0)",
        "(18446744073709551615, 0, 2)",
        "(3, 0, 18446744073709551615)",
        "(0, 1000000000000, 1000000000000)",
        "(0, 1, 1000000000000)",
    ] {
        cases.push(("clouds", read_clouds, vec![array(shape)]));
    }
    let sparse = Csr {
        rows: 1,
        cols: 1_000_000_000_000,
        start: vec![0, 1],
        indices: vec![7],
        values: vec![1.0],
    };
    let mut archive = Cursor::new(Vec::new());
    npz::write_csr(&sparse, &mut archive).unwrap();
    cases.push(("npz", read_npz, vec![archive.into_inner()]));
    cases.push(("newick", read_newick, vec![b"(".repeat(100_000)]));
    cases
}

/// A good file with some bytes changed, dropped, repeated or cut, or no file at all.
fn damaged(good: Vec<u8>) -> impl Strategy<Value = Vec<u8>> {
    let edits = vec((any::<prop::sample::Index>(), any::<u8>(), 0..5u8), 1..6);
    let changed = edits.prop_map(move |edits| {
        let mut bytes = good.clone();
        for (at, byte, kind) in edits {
            let at = at.index(bytes.len() + 1).min(bytes.len().saturating_sub(1));
            match kind {
                _ if bytes.is_empty() => bytes.push(byte),
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                2 => drop(bytes.remove(at)),
                3 => bytes.truncate(at),
                _ => bytes.extend_from_within(at..),
            }
        }
        bytes
    });
    prop_oneof![4 => changed, 1 => vec(any::<u8>(), 0..300)]
}

alone! {
    fn no_reader_panics_or_takes_more_than_the_file_paid_for() {
        // What a file need not pay for has to fit into this.
        set_memory_limit(Some(100_000_000));
        for (what, read, files) in claims() {
            for file in &files {
                watched(what, file, read);
            }
        }
        for (what, read, good) in readers() {
            for file in good {
                watched(what, &file, read);
                let mut runner = TestRunner::new(ProptestConfig {
                    failure_persistence: None,
                    ..ProptestConfig::with_cases(400)
                });
                let result = runner.run(&damaged(file), |bytes| {
                    watched(what, &bytes, read);
                    Ok(())
                });
                if let Err(error) = result {
                    panic!("{what}: {error}");
                }
            }
        }
    }
}
