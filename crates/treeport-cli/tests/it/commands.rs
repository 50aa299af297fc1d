//! What every command prints when all is well.

use std::io::{BufRead, BufReader};

use insta::assert_snapshot;
use treeport::io::{npy, npz};
use treeport::labeled::test_seed;
use treeport::{GroundMetric, Labeled, Measures, Model, PointMetric, Tree, silent};

use crate::folder::Folder;

#[test]
fn fit_from_points_and_measures() {
    let folder = Folder::new();
    let args = "fit --points line.csv --measures measures.csv --history h.csv -o model.tree";
    assert_snapshot!(folder.run(args), @r#"
    points    4
    measures  3
    labels    3
    method    auto
    start     average linkage, validation error 0.1000
    to points validation error 0.0968
    learned   validation error 0.0249 at epoch 8 of 50, kept
    to labels validation error 0.0096
    slices    validation error 2.5419
    seconds   [time]
    written   model.tree
    --- exit 0
    "#);
    assert_eq!(folder.files(), ["h.csv", "line.csv", "measures.csv", "model.tree"]);
    let history = folder.text("h.csv");
    assert!(history.starts_with("epoch,training_loss,validation_loss,relative_error\n0,"));
    assert_eq!(history.lines().count(), 52);
    assert_eq!(Tree::load(folder.path("model.tree")).expect("a tree").leaves(), 4);
}

#[test]
fn the_learner_alone_is_one_word_away() {
    let folder = Folder::new();
    let fit = "fit --points line.csv --measures measures.csv";
    assert_snapshot!(folder.run(&format!("{fit} --kind additive -o a.tree")), @r#"
    points    4
    measures  3
    labels    3
    method    additive
    start     average linkage, training error 0.0303
    learned   training error 0.0285 at epoch 50 of 50
    seconds   [time]
    written   a.tree
    --- exit 0
    "#);
    folder.json(&format!("{fit} --method additive --json -o b.tree"));
    assert!(folder.read("a.tree") == folder.read("b.tree"));
}

#[test]
fn every_stage_is_judged_on_the_same_labels() {
    let folder = Folder::new();
    let fit = "fit --json --points line.csv --measures measures.csv --normalize --seed 3";
    let said = &folder.json(&format!("{fit} -o a.tree"))[0];
    assert_eq!((&said["method"], &said["trees"]), (&"auto".into(), &1.into()));
    let errors = said["stage_errors"].as_object().expect("an object");
    let of = |stage: &str| errors[stage].as_f64().expect("a number");
    // Labels as few as these keep no edges of their own.
    let best = ["start", "points", "learned"].map(of).into_iter().reduce(f64::min);
    assert_eq!((said["error"].as_f64(), said["start_error"].as_f64()), (best, Some(of("start"))));
    assert_eq!(said["error"], errors[said["stage"].as_str().expect("a name")]);
    folder.json(&format!("{fit} --method auto -o b.tree"));
    assert!(folder.read("a.tree") == folder.read("b.tree"));
    // Points alone tell `auto` too little about its scale.
    let said = &folder.json("fit --json --points line.csv -o c.tree")[0];
    assert_eq!(said["method"], "additive");
}

#[test]
fn fit_from_points_alone() {
    let folder = Folder::new();
    let args = "fit --points line.csv --metric manhattan --method ultrametric --start single \
                --epochs 3 --validation-fraction 0 -o model.tree";
    assert_snapshot!(folder.run(args), @r#"
    points    4
    measures  none
    labels    pairs of points
    method    ultrametric
    start     single linkage, training error 0.1528
    learned   training error 0.1216 at epoch 3 of 3
    seconds   [time]
    written   model.tree
    --- exit 0
    "#);
}

#[test]
fn fit_from_a_graph_with_names_and_labels() {
    let folder = Folder::new();
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    folder.write("labels.csv", "distance,right,left\n5,1,0\n0.5,2,0\n5.5,2,1\n");
    let args = "fit --graph graph.csv --measures measures.csv --labels labels.csv -o model.tree";
    assert_snapshot!(folder.run(args), @r#"
    points    4
    measures  3
    labels    3
    method    auto
    start     average linkage, validation error 0.0909
    to points validation error 0.0882, kept
    learned   validation error 0.0882 at epoch 0 of 50
    to labels validation error 0.0882
    slices    validation error 0.5456
    seconds   [time]
    written   model.tree
    --- exit 0
    "#);
    let tree = Tree::load(folder.path("model.tree")).expect("a tree");
    assert_eq!(tree.names().expect("names"), ["a", "b", "c", "d"]);
}

#[test]
fn fit_from_a_matrix_and_a_phylogeny() {
    let folder = Folder::with_model();
    let matrix = [0.0, 1.0, 5.0, 6.0, 1.0, 0.0, 4.0, 5.0, 5.0, 4.0, 0.0, 1.0, 6.0, 5.0, 1.0, 0.0];
    folder.write_npy("d.npy", &[4, 4], &matrix);
    folder.write("names.txt", "d\nc\nb\na\n");
    let args = "fit --matrix d.npy --names names.txt --start model.nwk --quiet -o out.tree";
    assert_snapshot!(folder.run(args), @r#"
    --- exit 0
    "#);
    let tree = Tree::load(folder.path("out.tree")).expect("a tree");
    assert_eq!(tree.name(0), "d");
}

#[test]
fn fit_goes_on_where_it_stopped() {
    let folder = Folder::new();
    let fit = "fit --json --points line.csv --scale false --validation-fraction 0 --epochs";
    let first = &folder.json(&format!("{fit} 2 -o a.tree"))[0];
    let second = &folder.json(&format!("{fit} 2 --start a.tree -o b.tree"))[0];
    let error = |line: &serde_json::Value, key: &str| line[key].as_f64().expect("a number");
    assert!((error(first, "error") - error(second, "start_error")).abs() < 1e-9);
    assert_eq!(second["start"], "a.tree");
    assert_eq!(second["finished"], true);
}

#[test]
fn distances_of_all_pairs() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.run("distance model.tree --measures measures.csv"), @r#"
    left,right,distance
    0,1,5
    0,2,0.5
    1,2,5
    --- exit 0
    "#);
    let same = folder.run("distance model.nwk --measures measures.csv -o -");
    assert_eq!(same, folder.run("distance model.tree --measures measures.csv"));
    let input = folder.read("measures.csv");
    assert_eq!(same, folder.run_with("distance model.tree --measures -", &input));
}

#[test]
fn distances_as_json() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.run("distance model.tree --measures measures.csv --json"), @r#"
    {"left":0,"right":1,"distance":5}
    {"left":0,"right":2,"distance":0.5}
    {"left":1,"right":2,"distance":5}
    --- exit 0
    "#);
    assert_eq!(folder.json("distance model.tree --measures measures.csv --json").len(), 3);
}

#[test]
fn distances_of_listed_pairs_and_against_another_set() {
    let folder = Folder::with_model();
    folder.write("pairs.csv", "left,right\n2,1\n1,1\n");
    folder.write("others.csv", "0,0,0,1\n");
    let listed = "distance model.tree --measures measures.csv --pairs pairs.csv";
    assert_snapshot!(folder.run(listed), @r#"
    left,right,distance
    2,1,5
    1,1,0
    --- exit 0
    "#);
    let against = "distance model.tree --measures measures.csv --against others.csv";
    assert_snapshot!(folder.run(against), @r#"
    left,right,distance
    0,0,5
    1,0,0.5
    2,0,5
    --- exit 0
    "#);
}

#[test]
fn distances_of_random_pairs() {
    let folder = Folder::with_model();
    let distance = "distance model.tree --measures measures.csv";
    let pairs = |command: &str| {
        let rows = folder.json(&format!("{command} --n-pairs 2 --seed 5 --json"));
        rows.iter().map(|row| (row["left"].clone(), row["right"].clone())).collect::<Vec<_>>()
    };
    let exact = "exact --points line.csv --measures measures.csv";
    assert_eq!(pairs(distance), pairs(exact));
    assert_snapshot!(folder.error(&format!("{distance} --pairs 2")), @r#"
    cannot read `2`: No such file or directory

    hint: `--n-pairs 2` draws that many pairs
    "#);
}

#[test]
fn distances_into_files() {
    let folder = Folder::with_model();
    let distance = "distance model.tree --measures measures.csv -o";
    assert_snapshot!(folder.run(&format!("{distance} d.csv")), @r#"
    --- stderr
    3 distances written to d.csv
    --- exit 0
    "#);
    assert_snapshot!(folder.text("d.csv"), @r#"
    left,right,distance
    0,1,5
    0,2,0.5
    1,2,5
    "#);
    assert_snapshot!(folder.run(&format!("{distance} d.npy --json")), @r#"
    {"command":"distance","file":"d.npy","pairs":3}
    --- exit 0
    "#);
    let array = npy::read(&folder.read("d.npy")[..]).expect("an array");
    assert_eq!(array.shape, [3, 3]);
    let expected = [0.0, 5.0, 0.5, 5.0, 0.0, 5.0, 0.5, 5.0, 0.0];
    assert_eq!(array.into_f64().expect("numbers"), expected);
}

#[test]
fn a_newick_model_meets_a_table_by_name() {
    let folder = Folder::with_model();
    folder.write("names.txt", "a\nc\nb\nd\n");
    folder.write("plain.csv", "0.5,0.5,0,0\n0,0,0.5,0.5\n1,0,0,0\n");
    let args = "distance model.nwk --names names.txt --measures plain.csv";
    assert_snapshot!(folder.run(args), @r#"
    left,right,distance
    0,1,1
    0,2,2.5
    1,2,3
    --- exit 0
    "#);
}

/// A header says what each column is, whatever the order of the points.
#[test]
fn columns_are_matched_by_name() {
    let folder = Folder::new();
    folder.write("pets.nwk", "((cat:1,dog:1):2,bird:3);");
    folder.write("edges.csv", "source,target,weight\ncat,dog,1\ndog,bird,4\n");
    for (header, masses) in
        [("bird,cat,dog", ["1,0,0", "0,1,0"]), ("cat,dog,bird", ["0,0,1", "1,0,0"])]
    {
        folder.write("m.csv", format!("{header}\n{}\n{}\n", masses[0], masses[1]));
        let tree = folder.json("distance pets.nwk --measures m.csv --json");
        assert_eq!(tree[0]["distance"], 6.0, "{header}");
        let exact = folder.json("exact --graph edges.csv --measures m.csv --json");
        assert_eq!(exact[0]["distance"], 5.0, "{header}");
    }
    for (header, said) in [
        ("bird,cat,fish", "column 2 is `fish`, and no point is called so"),
        ("bird,cat,cat", "columns 2 and 3 are both `cat`"),
        (",cat,dog", "the first column has no name"),
    ] {
        folder.write("m.csv", format!("{header}\n1,0,0\n0,1,0\n"));
        let error = folder.error("distance pets.nwk --measures m.csv");
        assert!(error.contains(said), "{error}");
    }
    // Points that the table does not name have no mass.
    folder.write("m.csv", "bird,cat\n1,0\n0,1\n");
    assert_eq!(folder.json("distance pets.nwk --measures m.csv --json")[0]["distance"], 6.0);
    // Names that are numbers are a header as well.
    folder.write("otus.nwk", "((401:1,77:1):2,5:3);");
    folder.write("m.csv", "5,401,77\n1,0,0\n0,1,0\n");
    assert_eq!(folder.json("distance otus.nwk --measures m.csv --json")[0]["distance"], 6.0);
}

#[test]
fn eval_beside_baselines() {
    let folder = Folder::with_model();
    let args = "eval model.tree model.nwk --points line.csv --measures measures.csv";
    assert_snapshot!(folder.run(args), @r#"
    3 test pairs.
    error: mean of |model - exact| / exact ± its standard deviation; scaled: after one factor, which each
    half of the pairs has from the other half. time: one pair on one thread, over the first 3 pairs.

    error median scaled error median factor time exact/time
    model.tree 0.0303 ± 0.0429 0.0000 0.0636 ± 0.0452 0.0909 1.00 [time]
    model.nwk 0.0303 ± 0.0429 0.0000 0.0636 ± 0.0452 0.0909 1.00 [time]
    mean label                                              3.7697 ± 4.0519   0.9091     3.67
    constant × total variation                              2.0394 ± 1.7399   0.8182     5.00
    exact [time]
    --- exit 0
    "#);
    let lines = folder.json(&format!("{args} --json"));
    assert_eq!(lines.len(), 5);
    assert_eq!(lines[0]["model"], "model.tree");
    assert_eq!(lines[4]["baseline"], "exact");
    assert_eq!(lines[2]["baseline"], "mean label");
    assert!(lines[0]["exact_over_model"].as_f64().expect("a number") > 0.0);
}

/// `TreeWasserstein.score` is minus this number: the mean over the pairs that `test_seed` draws, from all of them.
#[test]
fn eval_says_what_the_library_says() {
    let folder = crate::determinism::with_plane(40);
    let data = "--points points.csv --measures many.csv --normalize";
    folder.json(&format!("fit {data} --n-pairs 50 --seed 3 --json -o model.tree"));
    let measures = Measures::read_csv(&folder.read("many.csv")[..]).expect("measures").normalized();
    let points = &folder.read("points.csv")[..];
    let metric = GroundMetric::read_points_csv(points, PointMetric::Euclidean);
    let metric = metric.expect("points").0;
    let model = Model::load(folder.path("model.tree")).expect("a model");
    for (option, count) in [("--n-pairs 70", 70), ("", 300)] {
        let test =
            Labeled::sample(&metric, &measures, count, test_seed(3), &silent).expect("labels");
        let judged = test.judge(&model.pairs(&measures, test.pairs(), &silent).expect("distances"));
        let said = &folder.json(&format!("eval model.tree {data} --seed 3 {option} --json"))[0];
        assert_eq!(said["error"], judged.plain.mean);
        assert_eq!(said["scaled_error"], judged.scaled.mean);
        assert_eq!((&said["factor"], &said["pairs"]), (&judged.factor.into(), &test.len().into()));
    }
}

#[test]
fn eval_with_known_labels() {
    let folder = Folder::with_model();
    folder.write("labels.csv", "left,right,distance\n0,1,10\n0,2,0\n1,2,10\n0,2,1\n");
    let args = "eval model.tree --points line.csv --measures measures.csv --labels labels.csv";
    assert_snapshot!(folder.run(args), @r#"
    4 test pairs. Left out, since their distance is nearly 0: 1.
    error: mean of |model - exact| / exact ± its standard deviation; scaled: after one factor, which each
    half of the pairs has from the other half. time: one pair on one thread, over the first 4 pairs.

    error median scaled error median factor time exact/time
    model.tree 0.5000 ± 0.0000 0.5000 0.0000 ± 0.0000 0.0000 2.00 [time]
    mean label                                              1.6500 ± 1.6618   0.5000     5.25
    constant × total variation                              1.3333 ± 1.8856   0.0000     10.0
    exact [time]
    --- exit 0
    "#);
}

#[test]
fn export_as_text() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.run("export model.tree"), @r#"
    ((a:0.5,b:0.5):2,(c:0.5,d:0.5):2);
    --- exit 0
    "#);
    assert_snapshot!(folder.run("export model.tree --format linkage"), @r#"
    left,right,distance,points
    0,1,1,2
    2,3,1,2
    4,5,5,4
    --- exit 0
    "#);
    assert_snapshot!(folder.run("export model.tree --json"), @r#"
    {"leaves":4,"length":[0.5,0.5,0.5,0.5,2.0,2.0,0.0],"names":["a","b","c","d"],"parent":[4,4,5,5,6,6,6]}
    --- exit 0
    "#);
    let json = folder.run("export model.tree --format json");
    assert_eq!(json, folder.run("export model.tree --json"));
    let svg = folder.run("export model.tree --format svg");
    assert!(svg.starts_with("<svg") && svg.contains(">a</text>"), "{svg}");
}

#[test]
fn export_into_files() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.run("export model.tree -o z.npy"), @r#"
    --- stderr
    linkage of 4 leaves written to z.npy
    --- exit 0
    "#);
    let z = npy::read(&folder.read("z.npy")[..]).expect("an array");
    assert_eq!(z.shape, [3, 4]);
    let args = "export model.tree --measures measures.csv -o rows.npz --json";
    assert_snapshot!(folder.run(args), @r#"
    {"command":"export","file":"rows.npz","format":"npz","leaves":4,"trees":1}
    --- exit 0
    "#);
    let file = std::fs::File::open(folder.path("rows.npz")).expect("a file");
    let rows = npz::read_csr(file).expect("a sparse matrix");
    assert_eq!((rows.rows, rows.cols), (3, 7));
}

#[test]
fn the_version_names_the_package_and_the_commit() {
    let folder = Folder::new();
    let shown = folder.run("--version");
    assert!(shown.starts_with(concat!("treeport ", env!("CARGO_PKG_VERSION"))), "{shown}");
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut git = std::process::Command::new("git");
    git.args(["rev-parse", "--short=9", "HEAD"]).current_dir(&root);
    let found = git.output().ok().filter(|found| found.status.success());
    // Without git, or in an unpacked archive, there is the version alone.
    if let (Some(found), true) = (found, root.join(".git").exists()) {
        let commit = String::from_utf8(found.stdout).expect("digits");
        assert!(shown.contains(&format!(" ({})", commit.trim())), "{shown}, not {commit}");
    }
}

#[test]
fn a_reader_that_stops_early_is_no_error() {
    let folder = Folder::with_model();
    folder.write("many.csv", "1,0,0,0\n0,0,1,0\n".repeat(1000));
    let mut child =
        folder.command("distance model.tree --measures many.csv").spawn().expect("the binary runs");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("a first line");
    drop(stdout);
    let output = child.wait_with_output().expect("the binary ends");
    assert_eq!(crate::folder::show(&output), "--- exit 0\n");
}

#[test]
fn labels_that_are_all_0_tell_nothing() {
    let folder = Folder::new();
    folder.write("same.csv", ".25,.25,.25,.25\n".repeat(4));
    let said = folder.run("fit --points line.csv --measures same.csv -o a.tree");
    assert!(said.contains("validation error unknown, every label is 0"), "{said}");
    assert!(!said.contains("NaN"), "{said}");
}
