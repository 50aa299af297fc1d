//! Nothing lost, nothing half-written, and no text that commands a terminal.

use insta::assert_snapshot;
use treeport_jobs::fingerprint::{Mix, of_measures, of_metric};
use treeport_jobs::{JobFingerprint, PartFile};

use crate::folder::Folder;

#[test]
fn a_damaged_block_is_said_to_be_done_again() {
    let folder = Folder::new();
    let exact = "exact --points line.csv --measures measures.csv";
    folder.output(&format!("{exact} -o whole.csv"));
    let whole = folder.read("whole.csv");
    let points = treeport::GroundMetric::read_points_csv(
        &folder.read("line.csv")[..],
        treeport::PointMetric::Euclidean,
    );
    let measures = treeport::Measures::read_csv(&folder.read("measures.csv")[..]);
    let mut pairs = Mix::new();
    pairs.word(3);
    let job = JobFingerprint::new("treeport-exact-3")
        .part("metric", of_metric(&points.expect("points").0))
        .part("measures", of_measures(&measures.expect("measures")))
        .part("pairs", pairs.number());
    // The file that a run leaves which is stopped after its last row, a block for each.
    let mut part = PartFile::open(&folder.path("labels.csv"), &job, None).expect("a new file");
    let rows: Vec<&[u8]> = whole.split_inclusive(|&byte| byte == b'\n').collect();
    for block in [[rows[0], rows[1]].concat(), rows[2].to_vec(), rows[3].to_vec()] {
        part.append(1, &block).expect("a block");
    }
    drop(part);
    let mut journal = folder.read("labels.csv.part");
    let last = journal.len() - 2;
    journal[last] ^= 1;
    folder.write("labels.csv.part", journal);
    assert_snapshot!(folder.run(&format!("{exact} -o labels.csv")), @r#"
    --- stderr
    `labels.csv.part`: 1 block cut off or damaged, to be done again
    2 of 3 pairs were done before
    3 exact distances written to labels.csv
    --- exit 0
    "#);
    assert!(folder.read("labels.csv") == whole);
}

/// A kill in the middle of a file leaves that, and the next one who writes the file cleans up.
#[cfg(unix)]
#[test]
fn what_a_kill_leaves_is_removed_by_the_next_run() {
    let folder = Folder::with_model();
    folder.write("many.csv", "1,0,0,0\n0,1,0,0\n".repeat(3000));
    let (before, first) = (folder.files(), folder.contents());
    let args = "nearest model.tree --measures many.csv -o nearest.csv";
    let half = || folder.files().iter().any(|file| file.starts_with(".treeport-"));
    while folder.stopped_when(args, &["-KILL"], half).status.success() {
        folder.restore(&first);
    }
    assert!(half(), "nobody can clean up after a kill");
    folder.output("nearest model.tree --measures measures.csv -o nearest.csv");
    assert_eq!(folder.files().len(), before.len() + 1, "{:?}", folder.files());
    assert!(folder.path("nearest.csv").exists() && !half());
}

/// A run that is refused, because a journal is damaged, cleans up after the one that was killed, too.
#[test]
fn what_a_kill_leaves_is_removed_by_a_run_that_is_refused() {
    let folder = Folder::new();
    folder.write("new.tree.labels.part", "not a journal");
    let before = folder.files();
    // Marked by the checksums of `new.tree.part`, `new.tree.labels.part` and `new.tree.budget.part`.
    for mark in ["192a3847", "3dae7c70", "f83f7d78"] {
        folder.write(&format!(".treeport-{mark}-a1b2c3"), "half");
    }
    let fit = "fit --points line.csv --measures measures.csv --n-pairs 3 -o new.tree";
    assert!(folder.run(fit).contains("`new.tree.labels.part` is not a journal of"));
    assert_eq!(folder.files(), before);
}

/// Whatever a command writes, a disk that is full is an error that names the file.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_names_the_file() {
    let folder = Folder::with_model();
    std::os::unix::fs::symlink("/dev/full", folder.path("full.csv")).expect("a link");
    std::os::unix::fs::symlink("/dev/full", folder.path("full.npz")).expect("a link");
    std::os::unix::fs::symlink("/dev/full", folder.path("full.npy")).expect("a link");
    let data = "--points line.csv --measures measures.csv";
    for (command, file) in [
        (format!("exact {data} -o"), "full.csv"),
        (format!("estimate {data} -o"), "full.csv"),
        (format!("fit {data} --epochs 1 -o"), "/dev/full"),
        (format!("fit {data} --epochs 1 -o new.tree --history"), "full.csv"),
        ("distance model.tree --measures measures.csv -o".into(), "full.csv"),
        ("distance model.tree --measures measures.csv -o".into(), "full.npy"),
        ("nearest model.tree --measures measures.csv -o".into(), "full.csv"),
        (format!("index {data} -o"), "/dev/full"),
        ("embed model.tree --measures measures.csv -o".into(), "full.npz"),
        ("coupling model.tree --measures measures.csv --pair 0 1 -o".into(), "full.csv"),
        ("export model.tree --format newick -o".into(), "/dev/full"),
        ("export model.tree --format linkage -o".into(), "full.npy"),
        ("export model.tree --measures measures.csv --format npz -o".into(), "full.npz"),
        ("plot tree model.tree -o".into(), "/dev/full"),
        ("report model.tree -o".into(), "/dev/full"),
    ] {
        let shown = folder.run(&format!("{command} {file}"));
        let said = format!("cannot write `{file}`: No space left");
        assert!(shown.contains(&said) && shown.contains("exit 2"), "{command} {file}: {shown}");
        std::fs::remove_file(folder.path("new.tree")).ok();
    }
    for command in ["export model.tree", &format!("exact {data}"), "--help", "--version"] {
        let full = std::fs::File::create("/dev/full").expect("a device");
        let done = folder.command(command).stdout(full).output().expect("the program starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        let expected = "error: cannot write to standard output: No space left on device\n";
        assert_eq!((&*said, done.status.code()), (expected, Some(2)), "{command}");
    }
}

/// Rust opens `/dev/null` in place of a closed stdout, where rows would be lost in silence.
#[cfg(unix)]
#[test]
fn a_closed_stdout_is_an_error() {
    let folder = Folder::with_model();
    let data = "--points line.csv --measures measures.csv";
    folder.run(&format!("index {data} -o line.index"));
    let closed = |command: &str| {
        let shell = format!("exec '{}' {command} >&-", crate::BINARY);
        let mut command = std::process::Command::new("sh");
        command.args(["-c", &shell]).current_dir(folder.path("."));
        let done = command.output().expect("a shell");
        (String::from_utf8_lossy(&done.stderr).into_owned(), done.status.code())
    };
    let expected = ("error: cannot write to standard output: it is closed\n".to_owned(), Some(2));
    for command in [
        &*format!("exact {data}"),
        &format!("exact {data} --accuracy 0.1"),
        &format!("exact {data} --explain"),
        &format!("exact {data} -o -"),
        &format!("estimate {data}"),
        "distance model.tree --measures measures.csv",
        "nearest model.tree --measures measures.csv",
        "nearest line.index -k 1",
        "embed model.tree --measures measures.csv",
        "coupling model.tree --measures measures.csv --pair 0 1",
        "eval model.tree --points line.csv --measures measures.csv",
        "export model.tree",
        "plot tree model.tree",
        "completions bash",
        "man",
        "--help",
        "exact --help",
        "--version",
    ] {
        assert_eq!(closed(command), expected, "{command}");
    }
    // Rows that go to a file need no stdout.
    assert_eq!(closed(&format!("exact {data} -o rows.csv --quiet")).1, Some(0));
    assert!(folder.path("rows.csv").exists());
}

#[test]
fn names_are_blamed_where_they_are_wrong() {
    let folder = Folder::with_model();
    folder.write("five.txt", "a\nb\nc\nd\ne\n");
    assert_snapshot!(folder.error("distance model.tree --measures measures.csv --names five.txt"),
        @"five.txt: 5 names for the 4 points of model.tree");
    folder.write("twice.txt", "a\nb\na\nd\n");
    assert_snapshot!(folder.error("fit --points line.csv --names twice.txt -o new.tree"),
        @"twice.txt: lines 1 and 3 are both `a`; names must differ");
    folder.write("empty.txt", "a\n\nc\nd\n");
    assert_snapshot!(folder.error("export model.tree --names empty.txt"),
        @"empty.txt: line 2 is empty; every point needs a name");
    folder.write("twice.nwk", "((a:1,b:1):1,(a:1,d:1):1);");
    assert_snapshot!(folder.error("distance twice.nwk --measures measures.csv"),
        @"twice.nwk: Newick, byte 14: leaf `a` is in the tree twice");
    folder.write("three.csv", "0\n1\n5\n");
    folder.write("three.txt", "a\nb\nc\n");
    folder.write("m3.csv", "1,0,0\n0,1,0\n0,0,1\n");
    let eval = "eval model.tree --points three.csv --names three.txt --measures m3.csv";
    assert_snapshot!(folder.error(eval),
        @"model.tree: it has 4 leaves, the ground metric 3 points");
}

#[test]
fn a_mark_before_text_is_no_part_of_it() {
    let folder = Folder::with_model();
    folder.write("names.txt", "\u{feff}a\nb\nc\nd\n");
    folder.write("model2.nwk", format!("\u{feff}{}", folder.text("model.nwk")));
    folder.write("marked.csv", format!("\u{feff}{}", folder.text("measures.csv")));
    let plain = folder.run("distance model.nwk --measures measures.csv");
    let marked = "distance model2.nwk --names names.txt --measures marked.csv";
    assert_eq!(folder.run(marked), plain);
    assert_eq!(folder.run("distance model2.nwk --measures marked.csv"), plain);
    folder.write("graph.csv", "\u{feff}a,b,1\nb,c,4\nc,d,1\n");
    folder.json("fit --graph graph.csv --method average --json -o graph.tree");
    assert!(folder.text("graph.csv").starts_with('\u{feff}'));
    assert!(folder.run("export graph.tree").starts_with("((a:"), "no mark in a name");
    folder.json("fit --points line.csv --epochs 2 --history h.csv --json -o new.tree");
    folder.write("h.csv", format!("\u{feff}{}", folder.text("h.csv")));
    folder.output("report new.tree --history h.csv -o page.html");
    assert!(folder.path("page.html").exists());
}

#[test]
fn a_history_that_was_cut_off_is_refused() {
    let folder = Folder::with_model();
    let history = "epoch,training_loss,validation_loss,relative_error\n0,0.5,,0.25\n1,0.4,,0.125\n";
    folder.write("cut.csv", &history[..history.len() - 3]);
    assert_snapshot!(folder.error("report model.tree --history cut.csv -o page.html"),
        @"cut.csv: csv, line 3: it is cut off; write it anew");
    folder.write("gap.csv", history.replace("0,0.5,,0.25\n", ""));
    assert_snapshot!(folder.error("report model.tree --history gap.csv -o page.html"),
        @"gap.csv: csv, line 2: epoch `1` where 0 is expected; write it anew");
}

#[test]
fn a_first_row_of_missing_numbers_is_data() {
    let folder = Folder::with_model();
    folder.write("na.csv", "NA,NA,NA,NA\n0,0,0.5,0.5\n1,0,0,0\n");
    assert_snapshot!(folder.error("distance model.nwk --measures na.csv"),
        @"na.csv: csv, line 1, column 1: `NA` is not a number; fill in the missing value, or leave the row out");
}

/// Escape sequences in names and contents of files are shown where people read, and kept where
/// programs do.
#[test]
fn text_of_others_does_not_command_the_terminal() {
    let folder = Folder::with_model();
    let evil = "\u{1b}[31mred\u{9b}\u{7}";
    let name = format!("{evil}.tree");
    folder.write(&name, folder.read("model.tree"));
    folder.write("cells.csv", format!("1,2\n{evil},4\n"));
    folder.write("names.txt", format!("{evil}\nb\nc\nd\n"));
    folder.write("twice.txt", format!("{evil}\n{evil}\nc\nd\n"));
    let data = "--points line.csv --measures measures.csv";
    for args in [
        format!("eval {name} {data}"),
        format!("compare {data} --methods average,{evil}"),
        format!("distance {name} --measures none{evil}.csv"),
        format!("export model.tree --names twice.txt -o {evil}.nwk"),
        "distance model.tree --measures cells.csv".into(),
        format!("fit {data} --epochs 1 -o {name}"),
        format!("fit {data} --epochs 1 --json -o {name}"),
        format!("fit {data} --method {evil} -o new.tree"),
        format!("distance {name} --measures measures.csv -o {evil}.csv"),
        format!("eval {name} {data} --json"),
    ] {
        let shown = folder.run(&args);
        let bad = shown.chars().find(|&c| c.is_control() && c != '\n');
        assert!(bad.is_none(), "{args:?} prints {bad:?}: {shown:?}");
        assert!(shown.contains("red"), "{args:?}: {shown}");
    }
    folder.write("plain.csv", "0.5,0.5,0,0\n1,0,0,0\n");
    let coupling = "coupling model.tree --names names.txt --measures plain.csv --pair 0 1";
    assert!(folder.run(coupling).contains(evil), "rows for programs keep their bytes");
    assert!(folder.run("export model.tree --names names.txt").contains(evil));
    folder.output("export model.tree --names names.txt -o evil.svg");
    assert!(!folder.text("evil.svg").contains('\u{1b}'), "XML forbids it");
}
