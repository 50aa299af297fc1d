//! The methods: `fit --method`, `compare` and `estimate`.

use insta::assert_snapshot;
use treeport::{Forest, Method, Model, Tree};

use crate::determinism::with_plane;
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
    let args = "fit --points line.csv --measures measures.csv --method quadtree -o model.tree";
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
    for method in Method::ALL {
        for measures in ["--measures measures.csv", ""] {
            if method.supports().labels && measures.is_empty() {
                continue;
            }
            let args = format!(
                "fit --points line.csv {measures} --method {method} -o {method}.tree --json"
            );
            let said = &folder.json(&args)[0];
            assert_eq!(said["method"], method.name());
            let model = Model::load(folder.path(&format!("{method}.tree"))).expect("a model");
            assert_eq!(model.points(), 4);
            if *method != Method::Auto {
                assert_eq!(model.tree().is_none(), method.supports().n_trees);
            }
            assert_eq!(said["trees"], model.trees().len());
            assert_eq!(said["error"].is_number(), method.supports().resume, "{said}");
        }
    }
}

#[test]
fn labels_set_the_scale_unless_told_otherwise() {
    let folder = with_plane(40);
    let fit = "fit --points points.csv --measures many.csv --normalize --method";
    let eval = "eval model.tree --points points.csv --measures many.csv --normalize --json";
    let factor = |fit: &str| {
        folder.json(&format!("{fit} -o model.tree --json"));
        folder.json(eval)[0]["factor"].as_f64().expect("a number")
    };
    assert!((factor(&format!("{fit} quadtree")) - 1.0).abs() < 0.1);
    assert!(factor("fit --points points.csv --method quadtree") < 0.7);
    assert_snapshot!(folder.error(&format!("{fit} quadtree --scale false -o x.tree")),
        @"`quadtree` with `--scale false` does not use measures; leave one of them out");
    let said =
        folder.json("fit --points points.csv --method quadtree --scale false -o x.tree --json");
    assert_eq!(said[0]["scaled"], false);
}

#[test]
fn old_names_of_options_still_mean_the_same() {
    let folder = Folder::new();
    let fit = "fit --points line.csv --json";
    for (old, new) in [
        ("--kind ultrametric", "--method ultrametric"),
        ("--rate 0.3 --batch 2", "--learning-rate 0.3 --batch-size 2"),
        ("--validation 0.5", "--validation-fraction 0.5"),
        ("--method forest --trees 2", "--method forest --n-trees 2"),
    ] {
        folder.json(&format!("{fit} {old} -o old.tree"));
        folder.json(&format!("{fit} {new} -o new.tree"));
        assert!(folder.read("old.tree") == folder.read("new.tree"), "{new}");
    }
    let help = folder.run("fit --help");
    for old in ["--kind", "--rate", "--batch ", "--validation ", "--trees"] {
        assert!(!help.contains(&format!("      {old}")), "{old}");
    }
}

#[test]
fn a_forest_is_a_model_like_a_tree() {
    let folder = Folder::new();
    let fit = "fit --points line.csv --measures measures.csv --method learned-forest --n-trees 2 -o model.forest";
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
    assert_eq!(Forest::load(folder.path("model.forest")).expect("a forest").trees().len(), 2);
    for name in ["forest", "learned-forest", "sliced-ctwd"] {
        let args =
            format!("fit --points line.csv --method {name} --n-trees 2 -o {name}.forest --json");
        assert_eq!(folder.json(&args)[0]["trees"], 2);
    }
}

/// A forest of two trees whose answers are known: 3/4 of one and 1/4 of the other.
pub(crate) fn with_forest() -> Folder {
    let folder = Folder::with_model();
    let (one, other) = ("((a:0.5,b:0.5):2,(c:0.5,d:0.5):2);", "(((a:1,b:1):1,c:2):4,d:6);");
    let trees = [one, other].map(|text| Tree::from_newick(text).expect("a tree"));
    let forest = Forest::new(trees.to_vec(), vec![3.0, 1.0]).expect("a forest");
    forest.save(folder.path("model.forest")).expect("a writable folder");
    folder
}

#[test]
fn every_command_that_takes_a_model_takes_a_forest() {
    let folder = with_forest();
    assert_snapshot!(folder.run("distance model.forest --measures measures.csv"), @r#"
    left,right,distance
    0,1,5.75
    0,2,0.625
    1,2,5.75
    --- exit 0
    "#);
    assert_snapshot!(folder.run("coupling model.forest --measures measures.csv --pair 0 2"), @r#"
    from,to,mass,distance
    a,a,0.5,0
    b,a,0.5,1.25
    --- exit 0
    "#);
    assert_snapshot!(folder.run("nearest model.forest --measures measures.csv -k 1"), @r#"
    query,rank,neighbor,distance
    0,1,2,0.625
    1,1,0,5.75
    2,1,0,0.625
    --- exit 0
    "#);
    assert_snapshot!(folder.run("embed model.forest --measures measures.csv -o rows.npz"), @r#"
    --- stderr
    3 rows over 14 nodes written to rows.npz
    --- exit 0
    "#);
    assert_snapshot!(folder.run("export model.forest"), @r#"
    ((a:0.5,b:0.5):2,(c:0.5,d:0.5):2);
    (d:6,(c:2,(a:1,b:1):1):4);
    --- exit 0
    "#);
    assert_snapshot!(folder.run("export model.forest --json"), @r#"
    {"leaves":4,"names":["a","b","c","d"],"trees":[{"length":[0.5,0.5,0.5,0.5,2.0,2.0,0.0],"parent":[4,4,5,5,6,6,6],"weight":0.75},{"length":[1.0,1.0,2.0,6.0,1.0,4.0,0.0],"parent":[4,4,5,6,5,6,6],"weight":0.25}]}
    --- exit 0
    "#);
    assert_snapshot!(folder.run("export model.forest -o forest.svg"), @r#"
    --- stderr
    the picture shows the tree with the largest weight
    svg of 4 leaves written to forest.svg
    --- exit 0
    "#);
    assert_snapshot!(folder.error("export model.forest --format linkage"),
        @"model.forest: a linkage matrix needs one tree, and this is a forest of 2; `--format newick` writes any model");
    assert_snapshot!(folder.run("plot tree model.forest -o tree.svg"), @r#"
    --- stderr
    the picture shows the tree with the largest weight
    tree written to tree.svg
    --- exit 0
    "#);
    assert!(folder.text("tree.svg").contains("tree 1 of 2"));
    let test = "--points line.csv --measures measures.csv";
    assert_snapshot!(folder.run(&format!("plot scatter model.forest {test} -o s.svg")), @r#"
    --- stderr
    scatter written to s.svg
    --- exit 0
    "#);
    assert_eq!(
        folder.json(&format!("eval model.forest {test} --json"))[0]["model"],
        "model.forest"
    );
    assert_eq!(
        folder.run(&format!("estimate model.forest {test} --accuracy tree")),
        folder.run("distance model.forest --measures measures.csv")
    );
    let report = folder.json(&format!("report model.forest {test} --json -o page.html"));
    assert_eq!(report[0]["scores"].as_array().expect("scores").len(), 3);
    assert!(folder.text("page.html").contains("A forest of 2 trees over 4 points"));
    // Newick text of several lines is a forest as well, of equal weights.
    folder.run("export model.forest -o forest.nwk");
    let rows = folder.json("distance forest.nwk --measures measures.csv --json");
    let expected = [(5.0, 8.0), (0.5, 1.0), (5.0, 8.0)];
    for (row, (one, other)) in rows.iter().zip(expected) {
        assert_eq!(row["distance"], f64::midpoint(one, other), "{row}");
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
    assert_eq!(Tree::load(folder.path("model.tree")).expect("a tree").name(3), "d");
    assert_snapshot!(folder.error("fit --graph graph.csv --method qtwd -o model.tree"),
        @"qtwd needs coordinates, and this ground metric is a matrix or a graph; take a method that needs distances only, such as cluster or ctwd");
}

#[test]
fn what_a_method_cannot_use_is_refused() {
    let folder = Folder::new();
    let fit = |args: &str| folder.error(&format!("fit --points line.csv -o model.tree {args}"));
    assert_snapshot!(fit("--method qtwd-labels"),
        @"`qtwd-labels` learns from measures; give `--measures`");
    for (args, option, method) in [
        ("--method average --n-trees 3", "--n-trees", "average"),
        ("--n-trees 3", "--n-trees", "additive"),
        ("--method single --history h.csv", "--history", "single"),
        ("--method ctwd --learning-rate 0.3", "--learning-rate", "ctwd"),
        ("--method sliced-ctwd --start ward", "--start", "sliced-ctwd"),
        ("--method forest --validation-fraction 0.3", "--validation-fraction", "forest"),
        ("--depth 3", "--depth", "additive"),
        ("--method single --n-pairs 9", "--n-pairs", "single"),
        ("--method single --point-pairs 9", "--point-pairs", "single"),
    ] {
        let said =
            format!("`{option}` is of no use to {method}; leave it out or take another method");
        assert_eq!(fit(args), said);
    }
    assert_snapshot!(fit("--validation-fraction 1"),
        @"`--validation-fraction` is 1; a share from 0 to below 1");
    assert_snapshot!(fit("--n-pairs 9 --point-pairs 9"),
        @"without measures `--n-pairs` means the same as `--point-pairs`; leave one of them out");
    assert_snapshot!(fit("--method ctwd --branching 1"),
        @"`--branching` is 1; a cluster is split into at least 2");
    assert_snapshot!(fit("--batch-size 0"),
        @"`--batch-size` is 0; a batch holds at least one pair");
    folder.write("start.nwk", "(0:1,1:1,2:1,3:1);");
    assert_snapshot!(fit("--method forest --start start.nwk"),
        @"`--start` is a tree; the trees of a forest are grown by a linkage");
    folder.write("starts.nwk", "(0:1,1:1,2:1,3:1);\n(0:1,1:1,2:1,3:1);\n");
    assert_snapshot!(fit("--start starts.nwk"),
        @"starts.nwk: a start is one tree, and this is a forest");
    assert_snapshot!(fit("--method mean-label"), @r#"
    invalid value 'mean-label' for '--method <NAME>'
      [possible values: auto, tree, additive, ultrametric, skip-mst, forest, learned-forest, slices, quadtree, cluster, kmeans, qtwd, ctwd, qtwd-labels, ctwd-labels, sliced-quadtree, sliced-cluster, sliced-qtwd, sliced-ctwd, ultratwd-mst, ultratwd, single, average, neighbors, total-variation, space, lifted, rg]

    For more information, try '--help'.
    "#);
    assert_eq!(folder.files(), ["line.csv", "measures.csv", "start.nwk", "starts.nwk"]);
}

#[test]
fn compare_puts_the_best_first() {
    let folder = Folder::new();
    let compare = "compare --points line.csv --measures measures.csv";
    let mut rows = folder.json(&format!("{compare} --methods quadtree,additive,forest --json"));
    let advice = rows.pop().expect("the last line");
    assert!(
        advice["advice"].as_str().expect("a sentence").starts_with("Solve exactly"),
        "{advice}"
    );
    assert_eq!(advice["pairs"], 3);
    let names: Vec<_> = rows.iter().map(|row| row["method"].as_str().expect("a name")).collect();
    assert_eq!(names.len(), 5, "a forest also counts by flow: {names:?}");
    assert!(names.contains(&"forest by flow") && names.contains(&"quadtree"));
    assert!(names.contains(&"exact") && rows[0]["scaled_error"] == 0.0, "always there: {names:?}");
    let errors: Vec<_> = rows.iter().map(|row| row["scaled_error"].as_f64()).collect();
    assert!(errors.is_sorted_by(|a, b| a <= b), "{errors:?}");
    let few = "--methods tree -o front.svg";
    let shown = folder.run(&format!("{compare} {few}"));
    assert!(shown.contains("●") && shown.contains("Solve exactly: all 3 pairs"), "{shown}");
    assert!(folder.text("front.svg").starts_with("<svg"));
    let refused = folder.run(&format!("{compare} --methods tree -o -"));
    assert!(refused.contains("give a file for the picture"), "{refused}");
    let unknown = folder.run(&format!("{compare} --methods magic"));
    assert!(unknown.contains("magic") && unknown.trim_end().ends_with("exit 2"), "{unknown}");
}

#[test]
fn compare_has_every_method_and_what_is_no_model() {
    let folder = with_plane(40);
    let data = "--points points.csv --measures many.csv --normalize";
    let rows = folder.json(&format!("compare {data} --n-pairs 60 --json"));
    assert_eq!(rows.len(), Method::ALL.len() + 6, "four others, a forest by flow, advice");
    let of = |name: &str| rows.iter().find(|row| row["method"] == name).expect(name);
    // Supports of six points are solved exactly: the table says so.
    assert_eq!(of("forest by flow")["solved_exactly"], 1.0);
    assert_eq!(of("forest by flow")["error"], 0.0);
    assert!(of("forest")["solved_exactly"].is_null());
    assert_eq!(of("exact")["certified_width"], 0.0);
    assert!(of("arcs")["certified_width"].as_f64().expect("a number") < 0.1);
    let error = |name: &str| of(name)["scaled_error"].as_f64().expect("a number");
    assert!(error("flowtree") < error("quadtree") && error("auto") < error("mean-label"));
    let shown =
        folder.run(&format!("compare {data} --n-pairs 60 --methods flowtree,forest,mean-label"));
    assert!(shown.contains("solved exactly") && shown.contains("mean-label"), "{shown}");
    assert!(shown.contains("learned from 30 pairs, judged on 30 others"), "{shown}");
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    let graph = "compare --graph graph.csv --measures measures.csv --methods flowtree,single";
    let shown = folder.run(graph);
    assert!(shown.contains("skipped flowtree, which needs coordinates"), "{shown}");
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

#[test]
fn estimates_by_the_forest_that_fit_makes() {
    let folder = with_plane(40);
    let data = "--points points.csv --measures many.csv --normalize";
    folder.json(&format!("exact {data} --n-pairs 50 --json -o labels.csv"));
    folder
        .json(&format!("fit {data} --labels labels.csv --method forest --json -o labeled.forest"));
    folder.json("fit --points points.csv --method forest --json -o plain.forest");
    for (model, labels) in [("plain.forest", ""), ("labeled.forest", "--labels labels.csv")] {
        let own = folder.run(&format!("estimate {data} {labels} --accuracy tree --n-pairs 30"));
        let given =
            folder.run(&format!("estimate {model} {data} {labels} --accuracy tree --n-pairs 30"));
        assert_eq!(own, given);
    }
}

#[test]
fn a_model_remembers_its_labels_and_if_asked_its_metric() {
    let folder = with_plane(40);
    let (points, measures) = ("--points points.csv", "--measures many.csv --normalize");
    folder.json(&format!("exact {points} {measures} --n-pairs 50 --json -o labels.csv"));
    let fit = format!("fit {points} {measures} --labels labels.csv --method average --json");
    folder.json(&format!("{fit} -o plain.tree"));
    folder.json(&format!("{fit} --with-metric -o whole.tree"));
    for accuracy in ["tree", "flow", "arcs", "0.05"] {
        let ask = format!("{measures} --n-pairs 30 --accuracy {accuracy}");
        let told = folder.run(&format!("estimate plain.tree {points} {ask} --labels labels.csv"));
        assert_eq!(folder.run(&format!("estimate plain.tree {points} {ask}")), told, "{accuracy}");
        assert_eq!(folder.run(&format!("estimate whole.tree {ask}")), told, "{accuracy}");
    }
    // Everything else that needs the metric finds it there, and the model is the same.
    let eval = |model: &str, points: &str| {
        let rows = folder.json(&format!("eval {model} {points} {measures} --json"));
        (rows[0]["error"].clone(), rows[0]["scaled_error"].clone())
    };
    assert_eq!(eval("whole.tree", ""), eval("plain.tree", points));
    folder.json(&format!("report whole.tree {measures} --json -o page.html"));
    let distances =
        ["plain.tree", "whole.tree"].map(|m| folder.run(&format!("distance {m} {measures}")));
    assert_eq!(distances[0], distances[1]);
    let lost = folder.run(&format!("estimate plain.tree {measures}"));
    assert!(
        lost.contains("plain.tree: it has no ground metric, which `fit --with-metric` keeps"),
        "{lost}"
    );
    assert!(lost.trim_end().ends_with("exit 2"), "{lost}");
}
