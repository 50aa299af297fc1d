//! Files of indexes that earlier releases have written.

use std::path::Path;

use treeport::search::IndexFile;
use treeport::{Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent};

/// The collection of the golden file: twelve measures, of which 3 and 7 were removed.
fn collection() -> (GroundMetric, Measures) {
    let coordinates: Vec<f64> = (0..80).map(|k| f64::from(k * 7919 % 101)).collect();
    let metric = GroundMetric::from_points(2, coordinates, PointMetric::Euclidean).unwrap();
    let mass =
        |row: usize, k: usize| ((row * 11 + k * (row + 3)) % 40, 1.0 + ((row + k) % 4) as f64);
    let rows = (0..12).map(|row| (0..5).map(move |k| mass(row, k)));
    (metric, Measures::from_rows(40, rows).unwrap().normalized())
}

fn names(letter: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{letter}{number:03}")).collect()
}

#[test]
fn version_1_is_read_and_its_removed_measures_go() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version1.index");
    let old = IndexFile::load(&path).unwrap();
    let (metric, measures) = collection();
    let measures = measures.with_names(names("S", 12)).unwrap();
    let mut index = Index::new(&metric, &measures, &IndexOptions::default(), &silent).unwrap();
    index.remove(&[3, 7]).unwrap();
    let new = IndexFile { index, point_names: Some(names("p", 40)) };
    // Potentials are made in another way since, so that bounds differ, but no answer does.
    assert_eq!(old.point_names, new.point_names);
    assert_eq!(old.index.measures(), new.index.measures());
    assert_eq!(old.index.numbers(), new.index.numbers());
    assert_eq!(old.index.measures().names(), new.index.measures().names());
    let again = IndexFile::from_bytes(&old.to_bytes().unwrap()).unwrap();
    assert_eq!(again.to_bytes().unwrap(), old.to_bytes().unwrap());
    assert!(!old.index.measures().names().unwrap().contains(&"S003".to_owned()));
    let ask = |index: &Index| -> Vec<_> {
        let found = index.graph(3, Accuracy::EXACT, &silent).unwrap();
        found.into_iter().map(|neighbors| neighbors.found).collect()
    };
    assert_eq!(ask(&old.index), ask(&new.index));
    assert_eq!(ask(&old.index).len(), 12);
}

#[test]
fn an_index_from_which_nothing_was_removed_is_written_as_version_1() {
    let (metric, measures) = collection();
    let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent).unwrap();
    let mut file = IndexFile { index, point_names: None };
    let version = |file: &IndexFile, text: &str| {
        let bytes = file.to_bytes().unwrap();
        String::from_utf8_lossy(&bytes).contains(text)
    };
    assert!(version(&file, r#"\"version\":1"#));
    file.index.remove(&[0]).unwrap();
    assert!(version(&file, r#"\"version\":2"#));
}
