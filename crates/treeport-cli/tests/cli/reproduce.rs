//! `treeport reproduce`: every experiment at a glance, what is kept of a run, and the report.

use std::path::PathBuf;

use serde_json::Value;

use crate::folder::Folder;

/// Where the real data sets are; tests that need them say so and pass without.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
fn data() -> Option<PathBuf> {
    let data = std::env::var_os("TREEPORT_DATA").map(PathBuf::from).filter(|path| path.is_dir());
    if data.is_none() {
        eprintln!("skipped: TREEPORT_DATA names no folder with the real data sets");
    }
    data
}

fn number(row: &Value, key: &str) -> f64 {
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
        ("growth", 4, None),
        ("sparsity", 28, Some("sparsity-100.svg")),
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
    assert!(shown.contains("no data set to work on") && shown.contains("exit 0"), "{shown}");
}

#[test]
fn finished_cells_are_kept_and_reported() {
    let folder = Folder::new();
    let first = folder.json("reproduce growth --quick --json -o runs");
    let again = folder.json("reproduce growth --quick --json -o runs");
    // Times are never the same twice: these were not measured again.
    assert_eq!(first, again);
    assert_ne!(first, folder.json("reproduce growth --quick --json -o runs --seed 1"));
    let wrote = folder.run("reproduce results --from runs -o new/docs");
    assert!(wrote.contains("RESULTS.md with 0 figures"), "{wrote}");
    folder.output("reproduce recovered-tree --quick -o runs");
    let wrote = folder.run("reproduce results --from runs -o docs");
    assert!(wrote.contains("RESULTS.md with 1 figures"), "{wrote}");
    let report = folder.text("docs/RESULTS.md");
    for part in [
        "## growth",
        "`treeport reproduce growth --quick`, `treeport reproduce growth --quick --seed 1`",
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
    folder.write("runs/growth.jsonl", "not json\n");
    let shown = folder.run("reproduce growth --quick -o runs");
    assert!(shown.contains("line 1, is no JSON") && shown.contains("exit 2"), "{shown}");
    let shown = folder.run("reproduce nothing");
    assert!(shown.contains("random-starts") && shown.contains("exit 2"), "{shown}");
}
