//! What does not fit is refused with a way out and exit code 2; nothing is killed.

use insta::assert_snapshot;

use crate::folder::{Folder, show};

/// So many points on a line in `points.csv`.
fn write_points(folder: &Folder, points: usize) {
    let rows: Vec<String> = (0..points).map(|p| ((p * 7919) % 10_007).to_string()).collect();
    folder.write("points.csv", rows.join("\n"));
}

/// So many measures on the points of `model.tree` in `many.csv`.
fn write_measures(folder: &Folder, measures: usize) {
    let row = |r: usize| if r.is_multiple_of(2) { "1,0,0,0\n" } else { "0,1,0,0\n" };
    folder.write("many.csv", (0..measures).map(row).collect::<String>());
}

fn ok(folder: &Folder, args: &str) {
    let ended = folder.output(args);
    assert!(ended.status.success(), "{args}: {}", show(&ended));
}

#[test]
fn a_limit_holds_for_every_command() {
    let folder = Folder::with_model();
    write_points(&folder, 200);
    write_measures(&folder, 300);
    assert_snapshot!(
        folder.error("fit --points points.csv --method average --memory 100kB -o m.tree"),
        @"average linkage of 200 points needs 159 kB, and 100 kB are available; use neighbors or single linkage or the method `cluster`, which do not need all distances at once");
    ok(&folder, "fit --points points.csv --method single --memory 100kB -o m.tree");
    ok(&folder, "fit --points points.csv --method cluster --memory 100kB -o m.tree");
    // The table needs 720 kB, a row of it 2.4 kB.
    ok(&folder, "distance model.tree --measures many.csv --memory 0.5MB -o d.npy");
    ok(&folder, "embed model.tree --measures many.csv --memory 0.5MB -o d.npz");
    ok(&folder, "distance model.tree --measures many.csv --memory 0.5MB -o d.csv");
    ok(&folder, "nearest model.tree --measures many.csv --memory 0.5MB -o n.csv");
    assert_snapshot!(
        folder.error("estimate model.tree --points line.csv --measures many.csv --memory 1MB"),
        @"the list of 44850 estimates needs 2.2 MB, and 1 MB are available; draw some (`--n-pairs N`), or list them (`--pairs FILE`)");
}

#[test]
fn options_beyond_reason_are_refused_at_once() {
    let folder = Folder::new();
    assert_snapshot!(folder.error("fit --points line.csv --threads 100000 -o m.tree"), @r#"
    invalid value '100000' for '--threads <N>': it must be at most 1024

    For more information, try '--help'.
    "#);
    assert_snapshot!(
        folder.error("fit --points line.csv --method forest --n-trees 10000000000 -o m.tree"),
        @"`--n-trees` is 10000000000; it must be from 1 to 100,000");
    assert_snapshot!(
        folder.error("fit --points line.csv --method sliced-cluster --n-trees 10000000000 -o m.tree"),
        @"`--n-trees` is 10000000000; it must be from 1 to 100,000");
    assert_snapshot!(folder.error("fit --points line.csv --memory plenty -o m.tree"), @r#"
    invalid value 'plenty' for '--memory <SIZE>': memory is plenty; a size is a number with a unit, such as 4GB or 512MiB

    For more information, try '--help'.
    "#);
}

/// Runs with so little address space that what is asked for cannot be had, whatever the machine has.
#[cfg(target_os = "linux")]
fn in_little_space(folder: &Folder, args: &str) -> std::process::Output {
    let mut shell = std::process::Command::new("sh");
    let line = format!("ulimit -v 400000; exec {} {args} --threads 1", crate::BINARY);
    shell.args(["-c", &line]).current_dir(folder.path("."));
    shell.output().expect("sh runs")
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_with_little_address_space_ends_in_an_error() {
    let folder = Folder::with_model();
    write_points(&folder, 12_000);
    write_measures(&folder, 8_000);
    for (args, step) in [
        ("fit --points points.csv --method average -o m.tree", "average linkage of 12000 points"),
        ("fit --points points.csv --start ward -o m.tree", "ward linkage of 12000 points"),
    ] {
        let ended = in_little_space(&folder, args);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{args}: {said}");
        assert!(said.starts_with(&format!("error: {step} needs ")), "{args}: {said}");
    }
    // The table takes 512 MB, but never at once.
    let ended = in_little_space(&folder, "distance model.tree --measures many.csv -o d.npy");
    assert!(ended.status.success(), "{}", show(&ended));
}

#[test]
fn a_false_promise_of_a_metric_names_the_triangle() {
    let folder = Folder::new();
    folder.write("matrix.csv", "0,1,5\n1,0,1\n5,1,0\n");
    assert_snapshot!(
        folder.error("fit --matrix matrix.csv --assume-metric --method single -o m.tree"),
        @"matrix.csv: the distances are promised to obey the triangle inequality, but d(0,2) = 5 is more than d(0,1) + d(1,2) = 2; leave the promise out, or give shortest paths in their place");
}
