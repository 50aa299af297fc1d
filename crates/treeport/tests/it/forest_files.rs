//! Forests in files: round trips, damage, and files of other kinds and versions.

use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Error, Forest, Tree};

/// Forests of trees with different shapes and numbers of nodes; named or not.
fn forests() -> impl Strategy<Value = Forest> {
    (1..8usize, any::<bool>()).prop_flat_map(|(n, named)| {
        let tree =
            (vec(1..4usize, n), vec(0.0..9.0, 2 * n + 1)).prop_map(move |(stems, lengths)| {
                // Every leaf hangs from the root or from a node of its own.
                let stems: Vec<usize> = (0..n).filter(|&i| stems[i] > 1).collect();
                let nodes = n + stems.len() + 1;
                let mut parent = vec![nodes as u32 - 1; nodes];
                stems.iter().enumerate().for_each(|(k, &i)| parent[i] = (n + k) as u32);
                let mut length = lengths[..nodes].to_vec();
                length[nodes - 1] = 0.0;
                Tree::new(n, parent, length).expect("a tree")
            });
        vec((tree, 0.01..3.0), 1..6).prop_map(move |parts| {
            let (trees, weights) = parts.into_iter().unzip();
            let forest = Forest::new(trees, weights).expect("equal leaves");
            let names = (0..n).map(|i| format!("é{i}")).collect();
            if named { forest.with_names(names).expect("one name per point") } else { forest }
        })
    })
}

proptest! {
    #[test]
    fn forests_come_back_to_the_last_bit(forest in forests()) {
        let bytes = forest.to_bytes().unwrap();
        let read = Forest::from_bytes(&bytes).unwrap();
        prop_assert_eq!(&read, &forest);
        prop_assert_eq!(read.to_bytes().unwrap(), bytes);
    }

    #[test]
    fn random_bytes_are_no_forest(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(Forest::from_bytes(&bytes).is_err());
    }

    #[test]
    fn a_changed_file_is_refused_or_means_the_same(
        forest in forests(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = forest.to_bytes().unwrap();
        for (place, by) in changes {
            let at = place.index(bytes.len());
            bytes[at] ^= by;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(read) = Forest::from_bytes(&bytes) {
            prop_assert_eq!(read, forest);
        }
    }
}

fn pets() -> Forest {
    let texts = [
        "((cat:1,'wild_cat':1.5):0.25,(dog:0.1):3,'it''s':0);",
        "(cat:1,wild_cat:2,dog:3,'it''s':4);",
    ];
    let mut trees: Vec<Tree> = texts.iter().map(|text| Tree::from_newick(text).unwrap()).collect();
    // `_` without quotes is a blank.
    let names = trees[0].names().unwrap().to_vec();
    trees[1] = trees[1].clone().with_names(names).unwrap();
    Forest::new(trees, vec![1.0, 2.0]).unwrap()
}

#[test]
fn forest_files_of_version_1_stay_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version1.forest");
    assert_eq!(Forest::load(&path).unwrap(), pets());
    // Written the same way today; if this changes on purpose, keep the file and drop this line.
    assert_eq!(std::fs::read(&path).unwrap(), pets().to_bytes().unwrap());
}

#[test]
fn saving_replaces_a_file_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.forest");
    for forest in [pets(), pets().scaled(2.0).unwrap()] {
        forest.save(&path).unwrap();
        assert_eq!(Forest::load(&path).unwrap(), forest);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
    assert!(matches!(pets().save(folder.path().join("no/a.forest")), Err(Error::Write { .. })));
    assert!(matches!(Forest::load(folder.path().join("none")), Err(Error::Read { .. })));
}

#[test]
fn trees_and_forests_are_not_mixed_up() {
    let forest = pets();
    let (as_tree, as_forest) = (
        Tree::from_bytes(&forest.to_bytes().unwrap()),
        Forest::from_bytes(&forest.trees()[0].to_bytes().unwrap()),
    );
    assert_eq!(
        as_tree.unwrap_err().to_string(),
        "`<bytes>` is not a treeport tree: it holds a forest; open it as one"
    );
    assert_eq!(
        as_forest.unwrap_err().to_string(),
        "`<bytes>` is not a treeport forest: it holds a single tree; open it as one"
    );
    let foreign = Forest::from_bytes(b"PK").unwrap_err().to_string();
    assert_eq!(foreign, "`<bytes>` is not a treeport forest: it has only 2 bytes");
}

/// The file with one text in its header replaced by another of the same length.
fn with_header(from: &str, to: &str) -> String {
    let mut bytes = pets().to_bytes().unwrap();
    let at = bytes.windows(from.len()).position(|w| w == from.as_bytes()).expect("it is there");
    bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
    Forest::from_bytes(&bytes).unwrap_err().to_string()
}

#[test]
fn what_is_wrong_is_said() {
    assert_eq!(
        with_header(r#"\"version\":1"#, r#"\"version\":9"#),
        "`<bytes>`: this treeport reads version 1, the file has version 9; upgrade treeport"
    );
    assert!(with_header(r#"\"leaves\":4"#, r#"\"leaves\":3"#).contains("its checksum is "));
    assert!(with_header(r#""weight""#, r#""weighs""#).contains("`weight` is missing"));
    assert!(with_header(r#""nodes""#, r#""knots""#).contains("`nodes` is missing"));
}
