//! `treeport-lab bench`: rows, tables, and scripts in Python.

use serde_json::Value;

use crate::folder::{Folder, show};

fn figure(row: &Value, key: &str) -> f64 {
    row[key].as_f64().unwrap_or_else(|| panic!("no number `{key}` in {row}"))
}

#[test]
fn benchmarks_print_one_object_a_line() {
    let folder = Folder::new();
    for (args, rows) in [
        ("bench project --sizes 20,300", 2),
        ("bench distance --sizes 500", 3),
        // A folder without data: networks are left out, whatever the environment names.
        ("bench graph --sizes 30,50 --data .", 4),
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
fn a_benchmark_of_nothing_is_refused() {
    let shown = Folder::new().run("bench project --sizes 10,1");
    assert!(shown.contains("it takes at least 2 points") && shown.contains("exit 2"), "{shown}");
}

#[test]
fn every_stage_of_a_fit_is_timed_and_its_growth_told() {
    let rows = Folder::new().json("bench scale --sizes 100,200 --json");
    let stage = |row: &Value| row["stage"].as_str().expect("a name").to_owned();
    let stages: Vec<String> = rows.iter().take(7).map(stage).collect();
    assert_eq!(stages[..3], ["read", "labels", "average linkage"]);
    assert_eq!(stages[3..], ["points", "learning", "edges", "all"]);
    assert_eq!(rows.len(), 14);
    for row in &rows {
        assert!(figure(row, "seconds") >= 0.0);
        assert_eq!(row.get("times_per_decade").is_some(), row["n"] == 200, "{row}");
    }
}

#[test]
fn every_stage_of_a_fit_on_a_graph_is_timed() {
    let folder = Folder::new();
    let edge = |v: usize| format!("{v},{},{}", (v + 1) % 120, 1 + v % 3);
    let ring = (0..120).map(edge).collect::<Vec<_>>().join("\n");
    std::fs::create_dir(folder.path("ring")).expect("a new folder");
    folder.write("ring/edges.csv", ring);
    let rows = folder.json("bench scale --graph ring/edges.csv --json");
    let ends: Vec<&Value> = rows.iter().filter(|row| row["stage"] == "all").collect();
    assert_eq!(ends.len(), 2);
    for (row, masses) in ends.into_iter().zip(["concentrated", "spread"]) {
        assert_eq!((&row["graph"], &row["masses"]), (&"ring".into(), &masses.into()));
        assert!(figure(row, "error") <= figure(row, "null_error"), "{row}");
    }
}

#[test]
fn sizes_beyond_reason_are_refused_at_once() {
    let folder = Folder::new();
    for (args, reason) in [
        ("bench project --sizes 1000000000000", "it must be at most 1000000000"),
        ("bench scale --sizes 900000000", "a benchmark of 900000000 points needs"),
        ("reproduce uniform --dims 100000000000", "it must be at most 100000"),
        ("reproduce uniform --runs 10000000000", "it must be at most 100000"),
        ("reproduce noisy-trees --trees 10000000000", "it must be at most 100000"),
    ] {
        let ended = folder.output(args);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{args}: {said}");
        assert!(said.contains(reason), "{args}: {said}");
    }
}

#[test]
fn help_has_a_line_for_every_benchmark() {
    let shown = Folder::new().run("bench --help");
    for name in ["project", "scale", "peers", "pairs-python", "gensim"] {
        let line = format!("- {name}: ");
        assert!(
            shown.lines().any(|shown| shown.trim_start().starts_with(&line)),
            "{name}: {shown}"
        );
    }
}

#[test]
fn a_benchmark_in_python_says_what_to_install() {
    let folder = Folder::new();
    let mut command = folder.command("bench gensim");
    let shown =
        show(&command.env_remove("PYTHON").env("CARGO_TARGET_DIR", "t").output().expect("a run"));
    for said in
        ["there is no `t/venv/", "`python3 -m venv t/venv`", "-m pip install ./python POT gensim`"]
    {
        assert!(shown.contains(said), "{said}: {shown}");
    }
}

/// The interpreter is a shell script: it lacks one package, and shows what it is to run.
#[cfg(unix)]
#[test]
fn a_benchmark_in_python_gets_its_arguments_and_the_data() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    folder.write(
        "python",
        "#!/bin/sh\nif [ \"$1\" = -c ]; then echo $LACKS; else echo \"$@\" in $TREEPORT_DATA; fi\n",
    );
    let python = folder.path("python");
    std::fs::set_permissions(&python, PermissionsExt::from_mode(0o755)).expect("our own file");
    let run = |args: &str, lacks: &str| {
        show(
            &folder
                .command(args)
                .env("PYTHON", &python)
                .env("LACKS", lacks)
                .output()
                .expect("a run"),
        )
    };
    let shown = run("bench extend --data here -- --help", "");
    assert!(shown.contains("bench_extend.py --help in here\n"), "{shown}");
    assert!(shown.contains("exit 0"), "{shown}");
    let shown = run("bench large", "wasserstein");
    assert!(
        shown.contains("without wasserstein: ") && shown.contains("bench_large.py in"),
        "{shown}"
    );
    let shown = run("bench gpu", "torch");
    assert!(shown.contains("`bench gpu` needs more Python packages: "), "{shown}");
    assert!(shown.contains("-m pip install torch`") && shown.contains("exit 2"), "{shown}");
}

#[test]
fn options_that_a_benchmark_would_not_hear_of_are_refused() {
    let folder = Folder::new();
    let said = folder.error("bench peers --json");
    assert!(
        said.starts_with("--json is not for benchmarks in Python; theirs come after `--`"),
        "{said}"
    );
    let said = folder.error("bench project -- --json");
    assert_eq!(said, "only benchmarks in Python take arguments after `--`");
}
