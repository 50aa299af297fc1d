//! The other methods: `fit --method`, `compare` and `estimate`.

use insta::assert_snapshot;
use treeport::baseline::Method;
use treeport::{Forest, Measures, Tree};

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
    assert_eq!(folder.files(), ["line.csv", "measures.csv", "model.tree"]);
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
    for method in Method::ALL.into_iter().filter(|method| method.is_tree() || method.is_forest()) {
        let measures = if method.uses_labels() { "--measures measures.csv" } else { "" };
        let args =
            format!("fit --points line.csv {measures} --method {method} -o {method}.tree --json");
        let said = &folder.json(&args)[0];
        assert_eq!(said["method"], method.name());
        let path = folder.path(&format!("{method}.tree"));
        if method.is_forest() {
            assert_eq!(Forest::load(&path).expect("a forest").leaves(), 4);
        } else {
            assert_eq!(Tree::load(&path).expect("a tree").leaves(), 4);
        }
    }
}

#[test]
fn a_forest_is_a_model_like_a_tree() {
    let folder = Folder::new();
    let fit = "fit --points line.csv --measures measures.csv --method learned-forest --trees 2 -o model.forest";
    assert_snapshot!(folder.run(fit), @r#"
    points    4
    measures  3
    labels    3
    method    learned-forest of 2
    nodes     14
    seconds   [time]
    written   model.forest
    --- exit 0
    "#);
    let forest = Forest::load(&folder.path("model.forest")).expect("a forest");
    assert_eq!(forest.trees().len(), 2);
    let measures =
        Measures::from_dense(4, &[0.5, 0.5, 0.0, 0.0, 0.0, 0.0, 0.5, 0.5, 1.0, 0.0, 0.0, 0.0]);
    let judge = forest.pairwise(&measures.expect("masses"), &treeport::silent).expect("balanced");
    let rows = folder.json("distance model.forest --measures measures.csv --json");
    for (row, judge) in rows.iter().zip([judge[1], judge[2], judge[5]]) {
        assert!((row["distance"].as_f64().expect("a number") - judge).abs() < 1e-12, "{row}");
    }
    assert!(
        folder.output("distance model.forest --measures measures.csv -o d.npy").status.success()
    );
    let eval = "eval model.forest --points line.csv --measures measures.csv --json";
    assert!(folder.json(eval).iter().any(|row| row["model"] == "model.forest"));
}

#[test]
fn forests_are_refused_where_one_tree_is_meant() {
    let folder = Folder::new();
    folder.run("fit --points line.csv --method forest --trees 3 -o model.forest");
    assert_snapshot!(folder.run("export model.forest --format newick"), @r#"
    --- stderr
    error: `model.forest` is not a treeport tree: it holds a forest; open it as one

    hint: `distance` and `eval` take forests
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --method average --trees 3 -o x.tree"), @r#"
    --- stderr
    error: `--trees` is for methods of several trees; `average` has one
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --method additive --trees 3 -o x.tree"), @r#"
    --- stderr
    error: `--trees` is for a `--method` of several trees: forest, learned-forest, sliced-…
    --- exit 2
    "#);
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
    assert_snapshot!(fit("--method mean-label"), @r#"
    --- stderr
    error: `mean-label` is not the distance of trees, so there is nothing to save; `treeport compare` sets it beside all others
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
    error: `--history` is for `auto` and the learner; `single` does not read it
    --- exit 2
    "#);
    assert_snapshot!(fit("--method ctwd --rate 0.3"), @r#"
    --- stderr
    error: `--rate` is for `auto` and the learner; `ctwd` does not read it
    --- exit 2
    "#);
    assert_snapshot!(fit("--method learned-forest --epochs 3 --start ward"), @r#"
    --- stderr
    error: `--start` is for `auto` and the learner; `learned-forest` does not read it
    --- exit 2
    "#);
    assert_snapshot!(fit("--scale labels"), @r#"
    --- stderr
    error: `--scale` is for other methods: `additive` has its scale from the labels already
    --- exit 2
    "#);
    assert!(fit("--method octree").contains("the method is `octree`; it must be mean-label"));
    assert_eq!(folder.files(), ["line.csv", "measures.csv"]);
}

#[test]
fn compare_puts_the_best_first() {
    let folder = Folder::new();
    let args = "compare --points line.csv --measures measures.csv --methods quadtree,additive,forest --json";
    let rows = folder.json(args);
    let names: Vec<_> = rows.iter().map(|row| row["method"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), 4, "a forest also counts by flow: {names:?}");
    assert!(names.contains(&"forest by flow") && names.contains(&"quadtree"));
    let errors: Vec<_> = rows.iter().map(|row| row["scaled_error"].as_f64()).collect();
    assert!(errors.is_sorted_by(|a, b| a <= b), "{errors:?}");
    let unknown = folder.run("compare --points line.csv --measures measures.csv --methods magic");
    assert!(unknown.contains("magic") && unknown.trim_end().ends_with("exit 2"), "{unknown}");
}

#[test]
fn estimates_and_their_bounds() {
    let folder = Folder::new();
    let args = "estimate --points line.csv --measures measures.csv --accuracy exact --bounds";
    let exact = folder.run(args);
    assert!(exact.starts_with("left,right,distance,lower,upper"), "{exact}");
    let rows = folder
        .json("estimate --points line.csv --measures measures.csv --accuracy tree --bounds --json");
    let judge = folder.json("exact --points line.csv --measures measures.csv --json");
    for (row, judge) in rows.iter().zip(&judge) {
        let at = |key: &str| row[key].as_f64().expect("a number");
        let exact = judge["distance"].as_f64().expect("a number");
        assert!(at("lower") <= exact && exact <= at("upper"), "{row} {judge}");
        assert!(at("lower") <= at("distance") && at("distance") <= at("upper"), "{row}");
    }
    let within =
        folder.json("estimate --points line.csv --measures measures.csv --accuracy 0.02 --json");
    for (row, judge) in within.iter().zip(&judge) {
        let (found, exact) = (row["distance"].as_f64(), judge["distance"].as_f64());
        let (found, exact) = (found.expect("a number"), exact.expect("a number"));
        assert!((found - exact).abs() <= 0.02 * exact);
    }
    let written = folder.run(&format!("{args} -o estimates.csv"));
    assert!(written.contains(" estimates written to estimates.csv"), "{written}");
    assert!(folder.read("estimates.csv").starts_with(b"left,right,distance,lower,upper\n"));
    std::fs::write(folder.path("small.nwk"), "(0:1,1:1);").expect("written");
    let misfit = folder.run("estimate small.nwk --points line.csv --measures measures.csv");
    assert!(misfit.contains("small.nwk") && misfit.trim_end().ends_with("exit 2"), "{misfit}");
    let bad = folder.run("estimate --points line.csv --measures measures.csv --accuracy -1");
    assert!(bad.trim_end().ends_with("exit 2"), "{bad}");
}
