//! The other methods: `fit --method`, `bench baselines` and the tables of the paper.

use insta::assert_snapshot;
use treeport::Tree;
use treeport::baseline::Method;

use crate::folder::Folder;

#[test]
fn fit_by_another_method() {
    let folder = Folder::new();
    assert_snapshot!(folder.run("fit --points line.csv --method ctwd -o model.tree"), @r#"
    points    4
    measures  none
    labels    none
    method    ctwd
    nodes     5
    seconds   [time]
    written   model.tree
    --- exit 0
    "#);
    let args = "fit --points line.csv --measures measures.csv --method quadtree --scale labels -o model.tree";
    assert_snapshot!(folder.run(args), @r#"
    points    4
    measures  3
    labels    3
    method    quadtree × one factor
    nodes     7
    seconds   [time]
    written   model.tree
    --- exit 0
    "#);
    assert_snapshot!(folder.run("distance model.tree --measures measures.csv"), @r#"
    left,right,distance
    0,1,5.5
    0,2,0.18965517241379312
    1,2,5.5
    --- exit 0
    "#);
}

#[test]
fn one_word_changes_the_method() {
    let folder = Folder::new();
    for method in Method::ALL.into_iter().filter(|method| method.is_tree()) {
        let labels = method.needs_labels() || method.kind().is_some();
        let measures = if labels { "--measures measures.csv" } else { "" };
        let args =
            format!("fit --points line.csv {measures} --method {method} -o {method}.tree --json");
        let said = &folder.json(&args)[0];
        let name = if method.kind().is_some() { &said["kind"] } else { &said["method"] };
        assert_eq!(name, method.name());
        let tree = Tree::load(&folder.path(&format!("{method}.tree"))).expect("a tree");
        assert_eq!(tree.leaves(), 4);
    }
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let folder = Folder::new();
    let fit = |threads: usize, file: &str| {
        let args =
            format!("fit --points line.csv --method ctwd --seed 3 --threads {threads} -o {file}");
        assert!(folder.output(&args).status.success());
        folder.read(file)
    };
    assert_eq!(fit(1, "a.tree"), fit(2, "b.tree"));
}

#[test]
fn a_graph_keeps_the_names_of_its_nodes() {
    let folder = Folder::new();
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    folder.run("fit --graph graph.csv --method cluster -o model.tree");
    assert_eq!(Tree::load(&folder.path("model.tree")).expect("a tree").name(3), "d");
    assert_snapshot!(folder.run("fit --graph graph.csv --method qtwd -o model.tree"), @r#"
    --- stderr
    error: a quadtree needs coordinates, and this ground metric is a matrix or a graph; take a method that needs distances only, such as cluster or ctwd
    --- exit 2
    "#);
}

#[test]
fn what_no_tree_can_be_made_of_is_refused() {
    let folder = Folder::new();
    let fit = |args: &str| folder.run(&format!("fit --points line.csv -o model.tree {args}"));
    assert_snapshot!(fit("--method sliced-ctwd"), @r#"
    --- stderr
    error: `sliced-ctwd` is not the distance of one tree, so there is no tree to save; `treeport reproduce uniform` compares it with all others
    --- exit 2
    "#);
    assert_snapshot!(fit("--method qtwd-labels"), @r#"
    --- stderr
    error: `qtwd-labels` learns from measures; give `--measures`
    --- exit 2
    "#);
    assert_snapshot!(fit("--method quadtree --measures measures.csv"), @r#"
    --- stderr
    error: `quadtree` does not look at measures; `--scale labels` fits one factor to them
    --- exit 2
    "#);
    assert_snapshot!(fit("--method quadtree --scale labels"), @r#"
    --- stderr
    error: `--scale labels` takes its factor from measures; give `--measures`
    --- exit 2
    "#);
    assert_snapshot!(fit("--method single --history h.csv"), @r#"
    --- stderr
    error: `--history` is for learned trees; `single` has no epochs
    --- exit 2
    "#);
    assert_snapshot!(fit("--scale labels"), @r#"
    --- stderr
    error: `--scale` is for `--method`: a learned tree has its scale from the labels already
    --- exit 2
    "#);
    assert!(fit("--method octree").contains("the method is `octree`; it must be mean-label"));
    assert_eq!(folder.files(), ["line.csv", "measures.csv"]);
}

#[test]
fn every_method_is_timed() {
    let rows = Folder::new().json("bench baselines --sizes 60 --json");
    let names: Vec<&str> = rows.iter().map(|row| row["method"].as_str().expect("a name")).collect();
    assert_eq!(names, Method::ALL.map(Method::name));
    for row in &rows {
        assert!(row["seconds"].as_f64() > Some(0.0) && row["ns_per_pair"].as_f64() > Some(0.0));
    }
}

#[test]
fn tables_of_the_paper_have_every_method_twice() {
    let folder = Folder::new();
    let rows = folder.json("reproduce uniform --quick --dims 2 --seed 1 --json");
    assert_eq!(rows.len(), 2 * (Method::ALL.len() + 1));
    for row in &rows {
        let error = row["scaled"]["mean"].as_f64().expect("a number");
        // After one factor no tree is worse than a guess.
        assert!(error < 1.5, "{row}");
        assert_eq!((&row["dim"], &row["runs"]), (&2.into(), &1.into()));
    }
    let paper = rows.iter().find(|row| row["method"] == "quadtree").expect("a row");
    assert_eq!(paper["paper"]["mean"], 5.336);
    let shown = folder.run("reproduce gaussian --quick --dims 5");
    for part in
        ["dim 5", "masses full: error", "masses subset: error", "5.334", "3.217 ± 0.462", "exit 0"]
    {
        assert_eq!(shown.contains(part), part != "5.334", "`{part}` in {shown}");
    }
}
