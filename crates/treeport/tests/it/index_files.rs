//! Files of indexes: those that earlier releases have written, and a changed one.

use std::path::Path;

use treeport::search::IndexFile;
use treeport::{
    Accuracy, Clouds, GroundMetric, Index, IndexOptions, Measures, PointMetric, silent,
};

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

/// The clouds of the golden files.
fn clouds() -> Clouds {
    let places = (0..6).flat_map(|c| (0..2 + c % 3).map(move |k| (c, k)));
    let point =
        |(c, k): (i32, i32)| [f64::from((7 * c + 5 * k) % 11), f64::from((3 * c + 8 * k) % 13)];
    let coordinates = places.clone().flat_map(point).collect();
    let masses: Vec<f64> = places.map(|(c, k)| f64::from(1 + (c + k) % 2)).collect();
    let names = (0..6).map(|c| c.to_string()).collect();
    Clouds::named(2, coordinates, &[0, 2, 5, 9, 11, 14, 18], &masses, Some(names)).unwrap()
}

/// Reads a golden file, whose answers are those of `new`, and returns its bytes.
fn golden(version: u64, new: &Index) -> Vec<u8> {
    let file = format!("tests/data/version{version}.index");
    let bytes = std::fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join(file)).unwrap();
    let old = IndexFile::from_bytes(&bytes).unwrap().index;
    let ask = |index: &Index| -> Vec<_> {
        let found = index.graph(3, Accuracy::EXACT, &silent).unwrap();
        found.into_iter().map(|neighbors| neighbors.found).collect()
    };
    assert_eq!(old.is_of_clouds(), new.is_of_clouds());
    assert_eq!(old.measures(), new.measures());
    assert_eq!((old.numbers(), old.next_number()), (new.numbers(), new.next_number()));
    for (old, new) in ask(&old).iter().flatten().zip(ask(new).iter().flatten()) {
        assert_eq!(old.0, new.0);
        assert!((old.1 - new.1).abs() <= 1e-9 * new.1);
    }
    bytes
}

#[test]
fn versions_2_to_5_are_read() {
    let (metric, measures) = collection();
    let options = IndexOptions::default();
    let mut index = Index::new(&metric, &measures, &options, &silent).unwrap();
    index.remove(&[3, 7]).unwrap();
    golden(2, &index);
    let clouds = clouds();
    let ground = clouds.ground(PointMetric::Euclidean).unwrap();
    let equal = clouds.clone().normalized();
    golden(3, &Index::of_clouds(&equal, &ground, &options, &silent).unwrap());
    let options = IndexOptions { penalty: Some(2.0), ..options };
    let relaxed = Index::of_clouds(&clouds, &ground, &options, &silent).unwrap();
    golden(4, &relaxed);
    let bytes = golden(5, &relaxed);
    // What a later release writes, this one reads.
    assert_eq!(IndexFile::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
}

/// The discrete metric has no other content than its number of points.
#[test]
fn another_number_of_points_is_damage() {
    let metric = GroundMetric::discrete(8).unwrap();
    let measures = Measures::unit_masses(8, [0, 3, 7]).unwrap();
    let index = Index::new(&metric, &measures, &IndexOptions::default(), &silent).unwrap();
    let bytes = IndexFile { index, point_names: None }.to_bytes().unwrap();
    let (written, changed) = (r#"\"leaves\":8"#.as_bytes(), r#"\"leaves\":9"#.as_bytes());
    let at = bytes.windows(written.len()).position(|text| text == written).unwrap();
    let changed = [&bytes[..at], changed, &bytes[at + written.len()..]].concat();
    IndexFile::from_bytes(&bytes).unwrap();
    let error = IndexFile::from_bytes(&changed).unwrap_err().to_string();
    assert!(error.contains("is damaged: its checksum is "), "{error}");
}
