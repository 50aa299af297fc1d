//! `treeport-lab reproduce`: every experiment at a glance, what is kept of a run, and the report.

use std::path::PathBuf;

use serde_json::Value;
use treeport::Method;

use crate::folder::{Folder, send};
use crate::skipped::skipped;

/// Where the real data sets are; tests that need them say so and pass without.
pub(crate) fn data() -> Option<PathBuf> {
    let data = std::env::var_os("TREEPORT_DATA").map(PathBuf::from).filter(|path| path.is_dir());
    if data.is_none() {
        skipped("real data (a set is not there: set TREEPORT_DATA)");
    }
    data
}

pub(crate) fn number(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {row}"))
}

#[test]
fn wrong_starts_are_overcome_where_a_fixed_shape_is_not() {
    for (name, starts) in [("four-points", 1), ("random-starts", 100)] {
        let rows = Folder::new().json(&format!("reproduce {name} --quick --json"));
        assert_eq!(rows.len(), 2);
        assert_eq!((&rows[0]["recovered"], &rows[0]["starts"]), (&starts.into(), &starts.into()));
        assert!(number(&rows[1]["error"], "mean") > 0.05, "{}", rows[1]);
        assert!(number(&rows[1]["paper"], "mean") > 0.1);
    }
}

#[test]
fn experiments_without_data_have_rows_tables_and_figures() {
    for (name, rows, figure) in [
        ("training-time", 5, None),
        ("sparsity", 32, Some("sparsity-100.svg")),
        ("training-size", 8, Some("training-size-100.svg")),
        ("recovered-tree", 3, Some("recovered-tree.svg")),
    ] {
        let folder = Folder::new();
        let found = folder.json(&format!("reproduce {name} --quick --json -o here"));
        assert_eq!(found.len(), rows, "{name}");
        assert!(found.iter().all(|row| row["experiment"] == name && row["seed"] == 0));
        if let Some(figure) = figure {
            assert!(folder.text(&format!("here/{figure}")).starts_with("<svg"), "{figure}");
        }
    }
}

#[test]
fn real_sets_are_judged_by_every_method() {
    let Some(data) = data() else { return };
    let folder = Folder::new();
    let arguments = format!("--quick --json --scenes usca312 --data {}", data.display());
    let rows = folder.json(&format!("reproduce real {arguments}"));
    assert_eq!(rows.len() % 2, 0, "both kinds of measures");
    let error = |masses: &str, method: &str| {
        let same = |row: &&Value| row["masses"] == masses && row["method"] == method;
        number(&rows.iter().find(same).expect(method)["scaled"], "mean")
    };
    for masses in ["full", "subset"] {
        assert!(error(masses, "additive") < error(masses, "total-variation"));
        assert!(error(masses, "forest flow") < error(masses, "single"));
    }
    let ours = rows.iter().find(|row| row["method"] == "ult-tree (paper)").expect("a row");
    assert_eq!(number(&ours["paper"], "mean"), 0.282);
    let times = folder.json(&format!("reproduce runtime {arguments}"));
    let ratio = |method: &str| {
        number(times.iter().find(|row| row["method"] == method).expect(method), "exact_over_this")
    };
    assert!(ratio("ult-tree") > 10.0 && ratio("exact") == 1.0);
    assert_eq!(folder.json(&format!("reproduce convergence {arguments}")).len(), 2);
}

#[test]
fn without_data_real_sets_are_left_out_with_a_word() {
    let shown = Folder::new().run("reproduce real --quick --data nowhere");
    assert!(shown.contains("no data set to work on") && shown.contains("exit 2"), "{shown}");
}

#[test]
fn finished_cells_are_kept_and_reported() {
    let folder = Folder::new();
    let first = folder.json("reproduce training-time --quick --json -o runs");
    let again = folder.json("reproduce training-time --quick --json -o runs");
    // Times are never the same twice: these were not measured again.
    assert_eq!(first, again);
    assert_ne!(first, folder.json("reproduce training-time --quick --json -o runs --seed 1"));
    // What a crash has left of a line is dropped.
    let whole = folder.text("runs/training-time.rows");
    folder.write("runs/training-time.rows", format!("{whole}{{\"cell\": \"cut o"));
    assert_eq!(first, folder.json("reproduce training-time --quick --json -o runs"));
    // What was changed is measured again.
    folder.write("runs/training-time.rows", whole.replacen("seed\":0", "seed\":7", 1));
    let again = folder.json("reproduce training-time --quick --json -o runs");
    assert!(again != first && again.iter().all(|row| row["seed"] == 0));
    let again = folder.json("reproduce training-time --quick --json -o runs --seed 1");
    assert!(again.iter().all(|row| row["seed"] == 1));
    let wrote = folder.run("reproduce results --from runs -o new/docs");
    assert!(wrote.contains("RESULTS.md with 0 figures"), "{wrote}");
    folder.output("reproduce recovered-tree --quick -o runs");
    let wrote = folder.run("reproduce results --from runs -o docs");
    assert!(wrote.contains("RESULTS.md with 1 figures"), "{wrote}");
    let report = folder.text("docs/RESULTS.md");
    for part in [
        "## training-time",
        "`treeport-lab reproduce training-time --quick`, `treeport-lab reproduce training-time --quick --seed 1`",
        "![recovered-tree](figures/recovered-tree.svg)",
        "| recovered | ",
    ] {
        assert!(report.contains(part), "no `{part}` in {report}");
    }
    assert!(folder.text("docs/figures/recovered-tree.svg").starts_with("<svg"));
}

#[test]
fn what_cannot_be_read_or_reported_is_said() {
    let folder = Folder::new();
    let shown = folder.run("reproduce results --from . -o .");
    assert!(shown.contains("no finished run") && shown.contains("exit 2"), "{shown}");
    std::fs::create_dir(folder.path("runs")).expect("a new folder");
    folder.write("runs/training-time.rows", "not json\n");
    let shown = folder.run("reproduce training-time --quick -o runs");
    assert!(
        shown.contains("is not a journal of such a job") && shown.contains("exit 2"),
        "{shown}"
    );
    let shown = folder.run("reproduce nothing");
    assert!(shown.contains("random-starts") && shown.contains("exit 2"), "{shown}");
}

#[test]
fn hidden_trees_are_found_beside_the_figures_of_the_paper() {
    let rows = Folder::new().json("reproduce noisy-trees --trees 2 --seed 3 --json");
    assert_eq!(rows.len(), 16);
    for row in &rows {
        match row["kind"].as_str() {
            Some("additive") => assert!(number(&row["tree_distance"], "mean") < 0.05, "{row}"),
            _ => assert!(number(row, "paper_tree_distance") > 0.5),
        }
    }
}

#[test]
fn tables_of_the_paper_have_every_method_twice() {
    let folder = Folder::new();
    let rows = folder.json("reproduce uniform --quick --dims 2 --seed 1 --json");
    assert_eq!(rows.len(), 2 * (Method::ALL.len() + 3));
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

/// The first cell is kept, the second is stopped in its middle, and the run goes on to the same rows.
#[cfg(unix)]
#[test]
fn an_interrupted_experiment_goes_on_after_its_last_cell() {
    let folder = Folder::new();
    let args = "reproduce uniform --quick --runs 1 --dims 2,3,4,5";
    let output =
        folder.stopped_in_the_middle(&format!("{args} -o runs"), "runs/uniform.rows", "-INT");
    assert_eq!(output.status.code(), Some(130), "{}", crate::folder::show(&output));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains("finished cells are kept in `runs`"), "{said}");
    let journal = String::from_utf8(folder.read("runs/uniform.rows")).expect("text");
    assert!((2..5).contains(&journal.lines().count()), "{journal}");
    assert!(journal.ends_with('\n'));

    folder.json(&format!("{args} --json -o runs"));
    let on = String::from_utf8(folder.read("runs/uniform.rows")).expect("text");
    assert!(on.starts_with(&journal), "finished cells are not done again");
    assert_eq!(on.lines().count(), 5, "and which journal it is");
}

/// A tiny set called `usair97`: nodes on a line, `length` apart.
fn write_set(folder: &Folder, root: &str, length: f64) {
    let set = folder.path(root).join("usair97");
    std::fs::create_dir_all(&set).expect("a new folder");
    let nodes: Vec<String> = (0..30).map(|node: usize| node.to_string()).collect();
    std::fs::write(set.join("nodes.csv"), nodes.join("\n")).expect("a writable folder");
    let edge = |node: usize| format!("{node},{},{}", node + 1, length + node as f64);
    let edges: Vec<String> = (0..29).map(edge).collect();
    std::fs::write(set.join("edges.csv"), edges.join("\n")).expect("a writable folder");
}

/// Rows belong to the data they were made from, wherever those lie.
#[test]
fn rows_of_other_data_are_not_reused() {
    let folder = Folder::new();
    write_set(&folder, "one", 1.0);
    write_set(&folder, "other", 50.0);
    write_set(&folder, "copy", 1.0);
    let run = |data: &str| {
        let args = "reproduce dial --quick --scenes usair97 --labels 20 --json -o runs --data";
        folder.json(&format!("{args} {data}"))
    };
    let (one, other) = (run("one"), run("other"));
    assert_ne!(one[0]["error"], other[0]["error"]);
    assert_eq!(run("copy"), one, "the same bytes are the same data");
    assert_eq!(run("other"), other);
    let rows = folder.text("runs/dial.rows");
    write_set(&folder, "one", 2.0);
    assert_ne!(run("one")[0]["error"], one[0]["error"], "a file was changed in its place");
    assert!(folder.text("runs/dial.rows").starts_with(&rows));
}

/// The second of two runs into one folder is refused, and no row is lost.
#[cfg(unix)]
#[test]
fn two_runs_into_one_folder() {
    let folder = Folder::new();
    let args = "reproduce uniform --quick --runs 1 --dims 2,3,4 -o runs";
    let mut child = folder.command(args).spawn().expect("the binary runs");
    while !folder.path("runs/uniform.rows.lock").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it locks its folder");
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    // However fast it is, it is at work when the second comes.
    send("-STOP", &child);
    let shown = folder.run(&format!("{args} --seed 1"));
    send("-CONT", &child);
    assert!(shown.contains("another run is writing it"), "{shown}");
    assert!(child.wait_with_output().expect("the binary ends").status.success());
    assert_eq!(folder.text("runs/uniform.rows").lines().count(), 5);
}
