//! Trees to and from text, matrices and files.

use crate::common;
use std::path::Path;

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Error, Tree};

/// The names of the points, or their numbers.
fn names(tree: &Tree) -> Vec<String> {
    (0..tree.leaves()).map(|p| tree.name(p)).collect()
}

/// A tree and its file with some bytes changed, cut out or put in.
fn mutated() -> impl Strategy<Value = (Tree, Vec<u8>)> {
    let edits = vec((any::<prop::sample::Index>(), any::<u8>(), 0..3u8), 1..4);
    (common::named_trees(1..8), edits).prop_map(|(tree, edits)| {
        let mut bytes = tree.to_bytes().expect("short names");
        for (at, byte, edit) in edits {
            let at = at.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        (tree, bytes)
    })
}

proptest! {
    #[test]
    fn newick_gives_the_tree_back(tree in common::named_trees(1..60)) {
        let text = tree.to_newick();
        let back = Tree::from_newick_with(&text, &names(&tree)).unwrap();
        prop_assert_eq!(back.names(), tree.names());
        prop_assert_eq!(back.nodes(), tree.nodes());
        prop_assert_eq!(&back.lengths()[..tree.leaves()], &tree.lengths()[..tree.leaves()]);
        // The same edges on the same paths, summed in the same order.
        prop_assert_eq!(back.root_distances()[..tree.leaves()].to_vec(), tree.root_distances()[..tree.leaves()].to_vec());
        // Only the numbers of inner nodes may differ, and from then on they stay.
        prop_assert_eq!(&back.to_newick(), &text);
        prop_assert_eq!(Tree::from_newick_with(&text, &names(&back)).unwrap(), back);
    }

    #[test]
    fn newick_numbers_points_as_they_appear(tree in common::trees(1..60)) {
        let back = Tree::from_newick(&tree.to_newick()).unwrap();
        let old: Vec<usize> = names(&back).iter().map(|name| name.parse().unwrap()).collect();
        let (left, right) = (back.root_distances(), tree.root_distances());
        prop_assert!((0..back.leaves()).all(|p| left[p] == right[old[p]]));
    }

    #[test]
    fn newick_never_panics(text in "[(),:;'\\[\\]a1.e \\-é]{0,40}") {
        if let Ok(tree) = Tree::from_newick(&text) {
            prop_assert_eq!(Tree::from_newick(&tree.to_newick()).unwrap().leaves(), tree.leaves());
        }
    }

    #[test]
    fn linkage_matrices_give_the_heights_back((tree, heights) in common::ultrametric_trees(1..50)) {
        let rows = tree.to_linkage().unwrap();
        prop_assert_eq!(rows.len(), tree.leaves() - 1);
        prop_assert!(rows.is_sorted_by(|a, b| a[2] <= b[2]));
        prop_assert!(rows.iter().all(|row| row[0] < row[1]));
        let back = Tree::from_linkage(&rows).unwrap();
        // Up and down again: as many roundings as there are edges on the path.
        let tolerance = 1e-14 * heights[tree.root()] * tree.nodes() as f64;
        for (i, j) in common::pairs(tree.leaves()) {
            let expected = 2.0 * heights[common::common_ancestor(&tree, i, j)];
            prop_assert!((back.leaf_distance(i, j) - expected).abs() <= tolerance);
        }
    }

    #[test]
    fn files_give_the_tree_back(tree in common::trees(1..60), named in common::named_trees(1..60)) {
        prop_assert_eq!(&Tree::from_bytes(&tree.to_bytes().unwrap()).unwrap(), &tree);
        prop_assert_eq!(&Tree::from_bytes(&named.to_bytes().unwrap()).unwrap(), &named);
    }

    #[test]
    fn random_bytes_are_refused(bytes in vec(any::<u8>(), 0..200)) {
        prop_assert!(Tree::from_bytes(&bytes).is_err());
    }

    #[test]
    fn changed_files_are_refused_or_give_the_same_tree((tree, bytes) in mutated()) {
        // A change that means nothing, such as a blank more in the header, may pass.
        if let Ok(read) = Tree::from_bytes(&bytes) {
            prop_assert_eq!(read, tree);
        }
    }
}

#[test]
fn saving_replaces_a_file_and_leaves_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tree");
    for text in ["(a:1,b:2);", "(a:1,(b:2,c:3):4);"] {
        let tree = Tree::from_newick(text).unwrap();
        tree.save(&path).unwrap();
        assert_eq!(Tree::load(&path).unwrap(), tree);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_failed_write_leaves_nothing_behind() {
    let folder = tempfile::tempdir().unwrap();
    let tree = Tree::from_newick("(a:1,b:2);").unwrap();
    // The target is a folder that is not empty, so the last step, the rename, fails.
    let taken = folder.path().join("taken");
    std::fs::create_dir_all(taken.join("inside")).unwrap();
    let error = tree.save(&taken).unwrap_err();
    let begin = format!("cannot write `{}`: ", taken.display());
    assert!(error.to_string().starts_with(&begin), "{error}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    let error = tree.save(folder.path().join("none/a.tree")).unwrap_err();
    assert!(matches!(error, Error::Write { .. }), "{error}");
}

#[test]
fn errors_of_loading_name_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.tree");
    assert!(matches!(Tree::load(&path), Err(Error::Read { .. })));
    let bytes = Tree::from_newick("(a:1,b:2);").unwrap().to_bytes().unwrap();
    for wrong in [&b"not a tree at all"[..], &bytes[..40], &bytes[..bytes.len() - 1]] {
        std::fs::write(&path, wrong).unwrap();
        let error = Tree::load(&path).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}

#[test]
fn files_of_version_1_stay_readable() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/version1.tree");
    let tree = Tree::from_newick("((cat:1,'wild_cat':1.5):0.25,(dog:0.1):3,'it''s':0);").unwrap();
    assert_eq!(Tree::load(&path).unwrap(), tree);
    // Written the same way today; if this changes on purpose, keep the file and drop this line.
    assert_eq!(std::fs::read(&path).unwrap(), tree.to_bytes().unwrap());
}
