//! Ctrl-C in the middle of long work.

use std::process::Command;
use std::time::{Duration, Instant};

use treeport::Tree;

use crate::folder::{Folder, MOST_TRIES, send, show};

fn numbers(values: impl Iterator<Item = usize>) -> Vec<String> {
    values.map(|value| value.to_string()).collect()
}

/// Points on a line in `points.csv`, and measures with mass on all of them in `full.csv`.
fn write_full(folder: &Folder, points: usize, measures: usize) {
    folder.write("points.csv", numbers(0..points).join("\n"));
    let row = |r: usize| {
        let mass = |p: usize| (p * 31 + r * 17 + p * p * r) % 97 + 1;
        numbers((0..points).map(mass)).join(",") + "\n"
    };
    folder.write("full.csv", (0..measures).map(row).collect::<String>());
}

#[test]
fn exact_goes_on_where_it_was_stopped() {
    let folder = Folder::new();
    write_full(&folder, 200, 40);
    let exact = "exact --points points.csv --metric sqeuclidean --measures full.csv --normalize";
    let args = format!("{exact} --threads 1 -o labels.csv");
    let killed = folder.stopped_in_the_middle(&args, "labels.csv.data.part", "-KILL");
    assert_eq!(killed.status.code(), None, "{}", show(&killed));
    // As if the kill had come in the middle of a line.
    let mut journal = folder.read("labels.csv.part");
    journal.extend(b"39,3");
    folder.write("labels.csv.part", journal);
    let interrupted = folder.stopped_in_the_middle(&args, "labels.csv.data.part", "-INT");
    assert_eq!(interrupted.status.code(), Some(130), "{}", show(&interrupted));
    let said = String::from_utf8(interrupted.stderr).expect("text");
    assert!(said.contains(" of 780 pairs were done before\ninterrupted after "), "{said}");
    assert!(said.ends_with(" of 780 pairs; the same command continues from `labels.csv.part`\n"));
    assert!(!folder.path("labels.csv").exists());

    let last = &folder.json(&format!("{exact} --threads 2 --json -o labels.csv"))[0];
    assert!(last["done_before"].as_u64().expect("a count") > 0, "{last}");
    folder.json(&format!("{exact} --json -o whole.csv"));
    assert!(folder.read("labels.csv") == folder.read("whole.csv"));
    assert!(!folder.path("labels.csv.part").exists());
}

/// Bounds are kept as distances are; the bounds of another aim are another job.
#[test]
fn bounds_go_on_where_they_were_stopped() {
    let folder = Folder::new();
    write_full(&folder, 200, 40);
    let exact = "exact --points points.csv --metric sqeuclidean --measures full.csv --normalize";
    for aim in ["--accuracy 1e-9", "--accuracy 0 --time 10h"] {
        let args = format!("{exact} {aim} --threads 1 -o bounds.csv");
        let killed = folder.stopped_in_the_middle(&args, "bounds.csv.data.part", "-KILL");
        assert_eq!(killed.status.code(), None, "{}", show(&killed));
        let kept = folder.read("bounds.csv.part");
        for other in ["", "--accuracy 1e-8", "--accuracy 1e-9 --time 9h"] {
            let said = folder.run(&format!("{exact} {other} -o bounds.csv"));
            assert!(said.contains("was left by another job (other "), "{said}");
        }
        assert!(folder.read("bounds.csv.part") == kept);
        let last = &folder.json(&format!("{exact} {aim} --threads 2 --json -o bounds.csv"))[0];
        assert!(last["done_before"].as_u64().expect("a count") > 0, "{last}");
        assert!(!folder.path("bounds.csv.part").exists());
        let whole = folder.output(&format!("{exact} {aim}"));
        assert!(folder.read("bounds.csv") == whole.stdout, "{aim}");
        assert!(whole.stdout.starts_with(b"left,right,lower,upper\n0,1,"));
    }
}

#[test]
fn an_interrupted_fit_saves_the_best_tree_so_far() {
    let folder = Folder::new();
    let args = "fit --points line.csv --epochs 100000000 -o model.tree";
    // Before it gets to learning there is nothing to save.
    let output = folder.interrupted(args, Some("model.tree"));
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.starts_with("interrupted at step "), "{said}");
    assert!(said.ends_with("the same command continues from `model.tree.part`\n"), "{said}");
    assert_eq!(Tree::load(folder.path("model.tree")).expect("a whole file").leaves(), 4);
    let on = folder.json("fit --json --points line.csv --epochs 1 --start model.tree -o on.tree");
    assert_eq!(on[0]["finished"], true);

    insta::assert_snapshot!(folder.run("fit --points line.csv --epochs 3 -o model.tree"), @r#"
    --- stderr
    error: `model.tree.part` was left by another job (other options); run that job again to finish it, delete the file to start over, or give another `-o`
    --- exit 2
    "#);
    folder.write("on.tree.part", "my notes\n");
    insta::assert_snapshot!(folder.run("fit --points line.csv --epochs 3 -o on.tree"), @r#"
    --- stderr
    error: `on.tree.part` is not a checkpoint of `treeport fit`; move it away or give another `-o`
    --- exit 2
    "#);
}

/// Learning begins anew and comes to the same tree.
#[test]
fn a_damaged_checkpoint_is_not_gone_on_from() {
    let folder = Folder::new();
    write_full(&folder, 60, 20);
    let fit = "fit --points points.csv --measures full.csv --normalize --n-pairs 100 \
               --epochs 2000 --method additive -o";
    folder.json(&format!("{fit} whole.tree --json"));
    folder.interrupted(&format!("{fit} model.tree"), Some("model.tree.part"));
    let checkpoint = folder.read("model.tree.part");
    for at in [checkpoint.len() - 1, checkpoint.len() / 2, 200] {
        let mut damaged = checkpoint.clone();
        damaged[at] ^= 1;
        folder.write("model.tree.part", damaged);
        let output = folder.output(&format!("{fit} model.tree"));
        let said = String::from_utf8(output.stderr).expect("text");
        assert!(said.contains("`model.tree.part` is cut off or damaged: learning starts over"));
        assert!(folder.read("model.tree") == folder.read("whole.tree"), "{at}");
        assert!(!folder.path("model.tree.part").exists());
    }
}

/// Every signal that ends the program leaves no half-written file, and the same command continues.
///
/// Under `nohup` the program inherits that hang-ups are ignored, and keeps it so.
#[test]
fn every_signal_to_end_is_obeyed() {
    let folder = Folder::new();
    write_full(&folder, 200, 40);
    let exact = "exact --points points.csv --metric sqeuclidean --measures full.csv --normalize";
    let args = format!("{exact} --threads 1 -o labels.csv");
    let mut before = folder.files();
    before.extend(["labels.csv.part", "labels.csv.data.part"].map(str::to_owned));
    before.sort();
    let is_sent = |signal: &&str| *signal != "-HUP" || !hang_ups_are_ignored();
    for signal in ["-TERM", "-HUP", "-INT"].into_iter().filter(is_sent) {
        let output = folder.stopped_in_the_middle(&args, "labels.csv.data.part", signal);
        assert_eq!(output.status.code(), Some(130), "{}", show(&output));
        assert_eq!(folder.files(), before);
    }
    folder.json(&format!("{exact} --json -o labels.csv"));
    folder.json(&format!("{exact} --json -o whole.csv"));
    assert!(folder.read("labels.csv") == folder.read("whole.csv"));
}

/// Returns whether this process, and so every child of it, ignores hang-ups.
fn hang_ups_are_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & 1 == 1)
}

/// The second signal ends at once, in the middle of a file.
#[test]
fn a_second_signal_leaves_no_temporary_file() {
    let folder = Folder::with_model();
    let row = "1,0,0,0\n0,1,0,0\n";
    folder.write("many.csv", row.repeat(3000));
    let (before, first) = (folder.files(), folder.contents());
    let args = "nearest model.tree --measures many.csv -o nearest.csv";
    let half = || folder.files().iter().any(|file| file.starts_with(".treeport-"));
    let stopped = || {
        folder.restore(&first);
        folder.stopped_when(args, &["-INT", "-INT"], half)
    };
    let output = (0..MOST_TRIES).map(|_| stopped()).find(|output| !output.status.success());
    let output = output.expect("a run that is stopped while it writes");
    assert_eq!(output.status.code(), Some(130), "{}", show(&output));
    assert_eq!(folder.files(), before);
}

/// `nohup` is to keep work alive when its terminal goes.
#[cfg(target_os = "linux")]
#[test]
fn an_ignored_hang_up_stays_ignored() {
    let folder = Folder::new();
    write_full(&folder, 200, 40);
    let args = "exact --points points.csv --metric sqeuclidean --measures full.csv --normalize \
                --n-pairs 100 -o labels.csv";
    let script = format!("trap '' HUP; exec {} {args}", crate::BINARY);
    let mut command = Command::new("sh");
    let mut child = command.arg("-c").arg(script).current_dir(folder.path("")).spawn().expect("sh");
    while !folder.path("labels.csv.part").exists() && !folder.path("labels.csv").exists() {
        if child.try_wait().expect("a child").is_some() {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    if child.try_wait().expect("a child").is_none() {
        send("-HUP", &child);
    }
    assert!(child.wait().expect("the binary ends").success());
    assert!(folder.path("labels.csv").exists());
}

/// Two runs of one job at once: the second is refused, and the first does not notice.
#[test]
fn two_writers_of_one_file() {
    let folder = Folder::new();
    write_full(&folder, 200, 40);
    let exact = "exact --points points.csv --metric sqeuclidean --measures full.csv --normalize";
    let args = format!("{exact} --threads 1 -o labels.csv");
    let mut child = folder.command(&args).spawn().expect("the binary runs");
    while !folder.path("labels.csv.part").exists() {
        assert!(child.try_wait().expect("a child").is_none(), "it writes a journal");
        std::thread::sleep(Duration::from_millis(1));
    }
    // However fast it is, it is at work when the second comes.
    send("-STOP", &child);
    insta::assert_snapshot!(folder.error(&args),
        @"cannot write `labels.csv.part`: another run is writing it; wait for its end or choose another place");
    send("-CONT", &child);
    assert!(child.wait_with_output().expect("the binary ends").status.success());
    folder.json(&format!("{exact} --json -o whole.csv"));
    assert!(folder.read("labels.csv") == folder.read("whole.csv"));
    assert!(!folder.files().iter().any(|file| file.contains(".part")), "{:?}", folder.files());
}

#[test]
fn an_interrupted_fit_goes_on_to_the_same_tree() {
    goes_on_to_the_same_tree("auto");
}

#[test]
fn the_learner_alone_goes_on_to_the_same_tree() {
    goes_on_to_the_same_tree("additive");
}

/// Interrupts a run again and again, a little later each time, until it has come to its end.
fn goes_on_to_the_same_tree(method: &str) {
    let folder = Folder::new();
    write_full(&folder, 120, 30);
    let fit = "fit --points points.csv --metric sqeuclidean --measures full.csv --normalize \
               --n-pairs 200 --epochs 600 --history h.csv";
    let fit = format!("{fit} --method {method} -o");
    let first = folder.contents();
    let (mut stops, mut runs, mut after) = (0, 0, Duration::from_millis(150));
    loop {
        runs += 1;
        assert!(
            runs <= 4 * MOST_TRIES,
            "{stops} of {runs} runs were stopped, and none came to its end"
        );
        let begun = Instant::now();
        let args = format!("{fit} model.tree");
        let output = folder.stopped_when(&args, &["-INT"], || begun.elapsed() > after);
        if output.status.success() && stops > 0 {
            break;
        }
        if output.status.success() {
            // A fast machine: sooner.
            folder.restore(&first);
            after /= 2;
            continue;
        }
        // Later, so that a slow one gets on.
        after += Duration::from_millis(250);
        if folder.files().iter().any(|file| file.contains(".part")) {
            assert_eq!(output.status.code(), Some(130), "{}", show(&output));
            let said = String::from_utf8(output.stderr).expect("text");
            assert!(said.contains("continues from `model.tree."), "{said}");
            stops += 1;
        }
    }
    let history = folder.read("h.csv");
    folder.json(&format!("{fit} whole.tree --json"));
    assert!(folder.read("model.tree") == folder.read("whole.tree"));
    assert!(history == folder.read("h.csv"));
    assert!(!folder.files().iter().any(|file| file.contains(".part")), "{:?}", folder.files());
}

#[test]
fn an_interrupted_labelling_goes_on() {
    let folder = Folder::new();
    write_full(&folder, 300, 200);
    let args = "fit --points points.csv --metric sqeuclidean --measures full.csv --normalize \
                --n-pairs 19900 --threads 1 -o model.tree";
    let output = folder.stopped_in_the_middle(args, "model.tree.labels.part", "-INT");
    assert_eq!(output.status.code(), Some(130), "{}", show(&output));
    let said = String::from_utf8(output.stderr).expect("text");
    let end =
        "of 19900 exact distances; the same command continues from `model.tree.labels.part`\n";
    assert!(said.starts_with("interrupted after ") && said.ends_with(end), "{said}");
    let expected = ["full.csv", "line.csv", "measures.csv", "model.tree.labels.part", "points.csv"];
    assert_eq!(folder.files(), expected);
    let output = folder.stopped_in_the_middle(args, "model.tree.labels.part", "-INT");
    let said = String::from_utf8(output.stderr).expect("text");
    assert!(said.contains(" of 19900 pairs were done before\ninterrupted after "), "{said}");
}

/// How many pairs a budget allows is decided once.
#[test]
fn an_interrupted_budget_goes_on_with_its_pairs() {
    let folder = Folder::new();
    write_full(&folder, 300, 200);
    let fit = "fit --points points.csv --metric sqeuclidean --measures full.csv --normalize \
               --method average";
    let args = format!("{fit} --budget 2s -o model.tree");
    let killed = folder.stopped_in_the_middle(&args, "model.tree.labels.part", "-KILL");
    assert_eq!(killed.status.code(), None, "{}", show(&killed));
    let kept = String::from_utf8(folder.read("model.tree.budget.part")).expect("text");
    let count: u64 = kept.trim_end().rsplit(' ').next().expect("a word").parse().expect("a count");
    let summary = &folder.json(&format!("{args} --json"))[0];
    assert_eq!(summary["labels"].as_u64(), Some(count));
    folder.json(&format!("{fit} --n-pairs {count} -o whole.tree --json"));
    assert!(folder.read("model.tree") == folder.read("whole.tree"));
    assert!(!folder.files().iter().any(|file| file.contains(".part")), "{:?}", folder.files());
}
