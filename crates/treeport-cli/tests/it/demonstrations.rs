//! The command that needs no files: `demo`.

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
    assert!(error("best model (auto)") < 0.07);
    assert!(start < 0.5 * error("constant × total variation"));
    assert!(start < 0.5 * error("mean of the training labels"));
    let times = rows.iter().find(|row| row["demo"] == "times").expect("times");
    for name in ["auto", "tree", "exact"] {
        assert!(figure(&times["seconds"], name) > 0.0, "{times}");
    }

    let newick = folder.output("export treeport-demo/model.tree --format newick");
    assert_eq!(String::from_utf8_lossy(&newick.stdout), folder.text("treeport-demo/tree.nwk"));
    assert!(newick.stdout.windows(5).any(|word| word == b"Tokyo"));
    for picture in ["tree.svg", "loss.svg", "front.svg"] {
        assert!(folder.text(&format!("treeport-demo/{picture}")).starts_with("<svg"));
    }
}

/// Digit by digit, but for times.
#[test]
fn the_demo_says_what_it_did_and_the_readme_quotes_it() {
    let shown = Folder::new().run("demo -o here");
    for part in ["200 cities", "learned tree", "●", "pairs on.", "here/best.tree", "exit 0"] {
        assert!(shown.contains(part), "no `{part}` in {shown}");
    }
    let readme = include_str!("../../../../README.md");
    let table = |text: &str| -> Vec<String> {
        let lines = text.lines().skip_while(|line| !line.contains("mean relative error"));
        lines.take_while(|line| !line.is_empty() && *line != "```").map(str::to_owned).collect()
    };
    assert_eq!(table(readme), table(&shown));
    assert_eq!(table(readme).len(), 6);
}

/// In a folder whose name has to be quoted.
#[cfg(unix)]
#[test]
fn the_next_commands_of_the_demo_run_as_printed() {
    let folder = Folder::new();
    let demo = folder.command("demo -o").arg("it's here").output().expect("the binary runs");
    let shown = String::from_utf8(demo.stdout).expect("text");
    let (_, next) = shown.split_once("Try next").expect("a hint");
    let commands: Vec<_> = next.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    assert_eq!(commands.len(), 3, "{next}");
    let run = |command: &str| {
        let mut shell = std::process::Command::new("sh");
        let done = shell.args(["-c", command]).current_dir(folder.path("")).output();
        let done = done.expect("a shell");
        assert!(done.status.success(), "{command}: {}", String::from_utf8_lossy(&done.stderr));
        String::from_utf8(done.stdout).expect("text")
    };
    let nearest = run(commands[0]);
    assert_eq!(nearest.lines().count(), 1 + 3 * 100, "{nearest}");
    let moved = run(commands[1]);
    let masses = moved.lines().skip(1).map(|row| row.split(',').nth(2).expect("a mass"));
    let total: f64 = masses.map(|mass| mass.parse::<f64>().expect("a number")).sum();
    assert!((total - 1.0).abs() < 1e-9, "{moved}");
    run(commands[2]);
    assert!(folder.path("it's here/own.tree").exists());
}
