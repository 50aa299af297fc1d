//! UniFrac of a table of counts.

use treeport::tree::{UniFrac, UniFracOptions};
use treeport::{Measures, Tree, silent};

use crate::folder::{Folder, show};

const TREE: &str = "((a:1,b:2):2,(c:1,(d:0.5,e:3):1):1);";

/// Counts of some of the leaves, in another order, as QIIME writes them.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("tree.nwk", TREE);
    folder.write("table.tsv", "#OTU ID\tS1\tS2\tS3\nd\t0\t4\t7\na\t3\t0\t1\nb\t1\t0\t0\n");
    folder
}

fn expected(variant: UniFrac, alpha: f64) -> Vec<f64> {
    let tree = Tree::from_newick(TREE).unwrap();
    let counts = [3.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 1.0, 0.0, 0.0, 7.0, 0.0];
    let options = UniFracOptions { variant, alpha, unrooted: false };
    tree.unifrac(&Measures::from_dense(5, &counts).unwrap(), &options, &silent).unwrap()
}

#[test]
fn a_tree_with_more_leaves_than_the_table_and_every_variant() {
    let folder = folder();
    for (name, variant, alpha) in [
        ("weighted", UniFrac::Weighted, 0.5),
        ("weighted-normalized", UniFrac::WeightedNormalized, 0.5),
        ("unweighted", UniFrac::Unweighted, 0.5),
        ("generalized --alpha 0.25", UniFrac::Generalized, 0.25),
        ("variance-adjusted", UniFrac::VarianceAdjusted, 0.5),
    ] {
        let args = format!("unifrac tree.nwk --measures table.tsv --transpose --variant {name}");
        let ended = folder.output(&args);
        assert!(ended.status.success(), "{}", show(&ended));
        let text = String::from_utf8(ended.stdout).unwrap();
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some("\tS1\tS2\tS3"));
        let rows = expected(variant, alpha);
        for ((line, row), id) in lines.zip(rows.chunks(3)).zip(["S1", "S2", "S3"]) {
            let mut cells = line.split('\t');
            assert_eq!(cells.next(), Some(id));
            let cells: Vec<f64> = cells.map(|cell| cell.parse().unwrap()).collect();
            assert_eq!(cells, row, "{name}");
        }
    }
}

#[test]
fn files_say_what_they_are_and_errors_what_to_do() {
    let folder = folder();
    let args = "unifrac tree.nwk --measures table.tsv --transpose -o";
    let wrote = folder.json(&format!("{args} d.npy --json"));
    assert_eq!((&wrote[0]["samples"], &wrote[0]["variant"]), (&3.into(), &"weighted".into()));
    folder.run(&format!("{args} d.csv"));
    assert!(folder.read("d.csv").starts_with(b",S1,S2,S3\nS1,0,"));
    for (args, said) in [
        ("--variant generalized --alpha 2", "`--alpha` is 2; it is a number from 0 to 1"),
        ("--variant odd", "variance-adjusted"),
        ("--json", "leave `--json` out"),
        ("-o d.txt", ".tsv or .csv or .npy"),
    ] {
        let error =
            folder.error(&format!("unifrac tree.nwk --measures table.tsv --transpose -q {args}"));
        assert!(error.contains(said), "{args}: {error}");
    }
    folder.write("table.tsv", "#OTU ID\tS1\nzebra\t3\n");
    let error = folder.error("unifrac tree.nwk --measures table.tsv --transpose");
    assert!(error.contains("table.tsv") && error.contains("`zebra`"), "{error}");
}

#[test]
fn samples_without_counts_and_trees_that_are_no_phylogenies() {
    let folder = Folder::new();
    folder.write("tree.nwk", "(a:0.25,b:0.25);");
    folder.write("table.csv", "id,a,b\nS1,1,0\nS2,0,0\n");
    let ended = folder.run("unifrac tree.nwk --measures table.csv");
    assert!(ended.contains("\tS1\tS2\nS1\t0\t0.25\nS2\t0.25\t0\n"), "{ended}");
    let error = folder.error("distance tree.nwk --measures table.csv");
    assert!(error.contains("no mass"), "{error}");
    folder.write("tree.nwk", "(a:1,b:1,c:1);");
    folder.write("table.csv", "id,a,b,c\nS1,1,0,0\nS2,0,1,0\n");
    let error = folder.error("unifrac tree.nwk --measures table.csv");
    assert!(error.starts_with("tree.nwk: the root has 3 children"), "{error}");
    assert!(error.ends_with("or take it as it is (`--unrooted`)"), "{error}");
    let ended = folder.run("unifrac tree.nwk --measures table.csv --unrooted");
    assert!(ended.contains("S1\t0\t2\n"), "{ended}");
    folder.write("tree.nwk", "((a,b),c);");
    let error = folder.error("unifrac tree.nwk --measures table.csv");
    assert!(error.starts_with("tree.nwk: the edge above an inner node over leaf `a`"), "{error}");
}
