//! Text as Newick; what is read is written and read again.
#![no_main]

use std::collections::HashSet;

use libfuzzer_sys::fuzz_target;
use treeport::Tree;

fuzz_target!(|text: &str| {
    let Ok(tree) = Tree::from_newick(text) else { return };
    let written = tree.to_newick();
    let again = Tree::from_newick(&written).expect("what is written reads back");
    assert_eq!((tree.leaves(), tree.nodes()), (again.leaves(), again.nodes()));
    let names = tree.names().expect("leaves have names");
    if names.iter().collect::<HashSet<_>>().len() < names.len() {
        return; // without distinct names nobody can tell which leaf is which
    }
    let again = Tree::from_newick_with(&written, names).expect("the same names");
    let total = tree.lengths().iter().sum::<f64>();
    for (i, j) in (1..tree.leaves().min(20)).map(|j| (j - 1, j)) {
        let difference = (tree.leaf_distance(i, j) - again.leaf_distance(i, j)).abs();
        assert!(difference <= 1e-12 * total || !total.is_finite(), "{i}, {j} in {text}");
    }
});
