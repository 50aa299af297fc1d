//! The commands that need no files: `demo`, `bench` and `reproduce`.

use serde_json::Value;

use crate::folder::Folder;

fn figure(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {row}"))
}

#[test]
fn the_demo_learns_something_and_writes_a_usable_model() {
    let folder = Folder::new();
    let rows = folder.json("demo --json");
    let error = |name: &str| {
        let row = rows.iter().find(|row| row["demo"] == name).expect(name);
        figure(row, "error")
    };
    let (start, learned) = (error("start: average linkage × constant"), error("learned tree"));
    assert!(learned < 0.8 * start, "learned {learned}, start {start}");
    assert!(start < 0.5 * error("constant × total variation"));
    assert!(start < 0.5 * error("mean of the training labels"));
    let times = rows.iter().find(|row| row["demo"] == "times").expect("times");
    assert!(figure(times, "seconds") > 0.0 && figure(times, "exact_seconds") > 0.0);

    let newick = folder.output("export treeport-demo/model.tree --format newick");
    assert_eq!(String::from_utf8_lossy(&newick.stdout), folder.text("treeport-demo/tree.nwk"));
    assert!(newick.stdout.windows(5).any(|word| word == b"Tokyo"));
    for picture in ["tree.svg", "loss.svg"] {
        assert!(folder.text(&format!("treeport-demo/{picture}")).starts_with("<svg"));
    }
}

#[test]
fn the_demo_says_what_it_did() {
    let shown = Folder::new().run("demo -o here");
    for part in ["200 cities", "learned tree", "mean relative error", "here/model.tree", "exit 0"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
}

#[test]
fn benchmarks_print_one_object_a_line() {
    let folder = Folder::new();
    for (args, rows) in [
        ("bench project --sizes 20,300", 2),
        ("bench distance --sizes 500", 3),
        ("bench learn --sizes 50", 3),
        ("bench estimate --sizes 60", 20),
        // A folder without data: the bus network is left out, whatever the environment names.
        ("bench exact --sizes 5,12 --data .", 4),
    ] {
        let found = folder.json(&format!("{args} --json"));
        assert_eq!(found.len(), rows, "{args}");
        for row in &found {
            assert!(args.contains(row["bench"].as_str().expect("a name")));
            assert!(row["n"].is_u64() && figure(row, "seconds") > 0.0);
            if row.get("peer").is_some() {
                let ratio = figure(row, "peer_seconds") / figure(row, "seconds");
                assert!((figure(row, "ratio") / ratio - 1.0).abs() < 1e-9);
            }
        }
        assert!(found[0].get("peer").is_some());
    }
}

#[test]
fn the_exact_benchmark_says_where_distances_come_from_and_counts_pivots() {
    let folder = Folder::new();
    let rows = folder.json("bench exact --sizes 12 --data . --json");
    let sources: Vec<_> = rows.iter().map(|row| row["distances"].as_str()).collect();
    assert_eq!(sources, [Some("matrix"), Some("coordinates")]);
    for row in &rows {
        assert_eq!((&row["threads"], &row["pairs"]), (&1.into(), &100.into()));
        assert!(figure(row, "pivots") >= 1.0 && figure(row, "peer_seconds") > 0.0, "{row}");
    }
    let shown = folder.run("bench exact --sizes 5 --data .");
    assert!(shown.contains("pivots") && shown.contains("without the bus network"), "{shown}");
}

#[test]
fn problems_written_for_other_solvers_are_solved_again() {
    let folder = Folder::new();
    let dumped = folder.output("bench exact --sizes 6 --dump problems");
    assert!(dumped.status.success() && dumped.stdout.is_empty());
    for file in ["6/cost.npy", "6/a.npy", "6/b.npy", "many/points.npy", "many/masses.npy"] {
        assert!(folder.path("problems").join(file).is_file(), "{file}");
    }
    let replayed = folder.json("bench exact --replay problems/6");
    assert_eq!(replayed[0]["n"], 6);
    assert!(figure(&replayed[0], "seconds") > 0.0);
    assert_eq!(replayed[0]["values"].as_array().expect("values").len(), 100);
}

#[test]
fn a_benchmark_of_nothing_is_refused() {
    let shown = Folder::new().run("bench project --sizes 10,1");
    assert!(shown.contains("it takes at least 2 points") && shown.contains("exit 2"), "{shown}");
}

#[test]
fn hidden_trees_are_found_beside_the_figures_of_the_paper() {
    let rows = Folder::new().json("reproduce noisy-trees --trees 2 --seed 3 --json");
    assert_eq!(rows.len(), 16);
    for row in &rows {
        match row["kind"].as_str() {
            Some("additive") => assert!(figure(&row["tree_distance"], "mean") < 0.05, "{row}"),
            _ => assert!(figure(row, "paper_tree_distance") > 0.5),
        }
    }
}
