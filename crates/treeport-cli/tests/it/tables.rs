//! Tables larger than memory: written in blocks, the same bytes as at once, and gone on with after
//! a kill.

use insta::assert_snapshot;
use treeport::io::{npy, npz};
use treeport::{Forest, Measures, Model, Tree, silent};

use crate::folder::{Folder, show};

/// A folder with `model.tree`, the forest `two.forest`, and so many measures on all points in
/// `many.csv`.
fn with_measures(points: usize, count: usize) -> (Folder, Model, Measures) {
    let folder = Folder::new();
    let parent = |v: usize| (points + v / 2).min(2 * points - 2) as u32;
    let length = |v: usize| if v == 2 * points - 2 { 0.0 } else { 0.1 + (v * v % 23) as f64 };
    let nodes = 2 * points - 1;
    let tree =
        Tree::new(points, (0..nodes).map(parent).collect(), (0..nodes).map(length).collect());
    let tree = tree.expect("children come first");
    tree.save(folder.path("model.tree")).expect("a writable folder");
    let other = tree.scaled(0.3).expect("a factor");
    let forest = Forest::uniform(vec![tree.clone(), other]).expect("two trees");
    forest.save(folder.path("two.forest")).expect("a writable folder");
    let mass = |k: usize| ((k * 7919 + k * k % 101) % 13 + 1) as f64;
    let masses: Vec<f64> = (0..points * count).map(mass).collect();
    folder.write_npy("many.npy", &[count, points], &masses);
    let measures = Measures::from_dense(points, &masses).expect("masses").normalized();
    (folder, Model::Tree(tree), measures)
}

fn ok(folder: &Folder, args: &str) {
    let ended = folder.output(args);
    assert!(ended.status.success(), "{args}: {}", show(&ended));
}

/// The file of the whole table, made at once.
fn whole(shape: &[usize], values: &[f64]) -> Vec<u8> {
    let mut file = Vec::new();
    npy::write_f64(shape, values, &mut file).expect("a fitting shape");
    file
}

#[test]
fn blocks_are_the_bytes_of_the_whole_table() {
    let (folder, tree, measures) = with_measures(30, 90);
    let forest = Model::load(folder.path("two.forest")).expect("a forest");
    let few = with_measures(30, 7).0;
    folder.write("few.npy", few.read("many.npy"));
    let others = Measures::read_npy(&folder.read("few.npy")[..]).expect("masses").normalized();
    for (file, model) in [("model.tree", &tree), ("two.forest", &forest)] {
        let distance = format!("distance {file} --measures many.npy --normalize");
        let square = whole(&[90, 90], &model.pairwise(&measures, &silent).expect("a table"));
        let cross = whole(&[90, 7], &model.cross(&measures, &others, &silent).expect("a table"));
        ok(&folder, &format!("{distance} -o once.csv"));
        // The table takes 65 kB; a limit cannot be less than what the measures take.
        for memory in ["", "--memory 120kB --threads 1", "--memory 130kB"] {
            ok(&folder, &format!("{distance} {memory} -o d.npy"));
            assert!(folder.read("d.npy") == square, "{file} {memory}");
            ok(&folder, &format!("{distance} --against few.npy {memory} -o d.npy"));
            assert!(folder.read("d.npy") == cross, "{file} {memory}");
            ok(&folder, &format!("{distance} {memory} -o d.csv"));
            assert!(folder.read("d.csv") == folder.read("once.csv"));
        }
        ok(&folder, &format!("{distance} --n-pairs 50 -o listed.npy"));
        let listed = npy::read(&folder.read("listed.npy")[..]).expect("an array");
        assert_eq!(listed.shape, [50]);
    }
    assert!(folder.files().iter().all(|file| !file.contains(".part")), "{:?}", folder.files());
}

#[test]
fn embeddings_in_blocks_are_the_bytes_of_the_whole_one() {
    let (folder, tree, measures) = with_measures(30, 90);
    let forest = Model::load(folder.path("two.forest")).expect("a forest");
    for (file, model) in [("model.tree", &tree), ("two.forest", &forest)] {
        let mut at_once = std::io::Cursor::new(Vec::new());
        let rows = model.embed(&measures).expect("an embedding");
        npz::write_csr(&rows, &mut at_once).expect("memory");
        let embed = format!("embed {file} --measures many.npy --normalize");
        let printed = folder.output(&embed).stdout;
        for memory in ["", "--memory 100kB --threads 1"] {
            ok(&folder, &format!("{embed} {memory} -o rows.npz"));
            assert!(folder.read("rows.npz") == at_once.get_ref()[..], "{file} {memory}");
            let facts = &folder.json(&format!("{embed} {memory} --json -o rows.csv"))[0];
            assert_eq!(facts["entries"], rows.values.len(), "{facts}");
            assert!(folder.read("rows.csv") == printed, "{file} {memory}");
        }
    }
}

/// Killed, interrupted and started again, a file is the one that was never stopped.
#[cfg(unix)]
#[test]
fn tables_go_on_where_they_were_stopped() {
    let (folder, ..) = with_measures(200, 1800);
    for (command, file) in [
        ("distance model.tree --measures many.npy --normalize --memory 14MB", "d.npy"),
        ("distance model.tree --measures many.npy --normalize --memory 14MB", "d.csv"),
        ("embed model.tree --measures many.npy --normalize --memory 14MB", "rows.csv"),
    ] {
        let (args, part) = (format!("{command} --threads 1 -o {file}"), format!("{file}.part"));
        let killed = folder.stopped_in_the_middle(&args, &part, "-KILL");
        assert_eq!(killed.status.code(), None, "{}", show(&killed));
        // As if the kill had come in the middle of a block and of its line.
        for name in [part.clone(), format!("{file}.data.part")] {
            let mut bytes = folder.read(&name);
            bytes.extend(b"39 3");
            folder.write(&name, bytes);
        }
        let interrupted = folder.stopped_in_the_middle(&args, &part, "-INT");
        assert_eq!(interrupted.status.code(), Some(130), "{}", show(&interrupted));
        let said = String::from_utf8(interrupted.stderr).expect("text");
        assert!(said.ends_with(&format!("; the same command continues from `{part}`\n")), "{said}");
        assert!(!folder.path(file).exists());

        let last = folder.output(&format!("{command} --threads 2 -o {file}"));
        let said = String::from_utf8(last.stderr).expect("text");
        assert!(said.contains(" were done before\n"), "{said}");
        ok(&folder, &format!("{command} -o whole-{file}"));
        assert!(folder.read(file) == folder.read(&format!("whole-{file}")), "{file}");
        assert!(folder.files().iter().all(|file| !file.contains(".part")), "{:?}", folder.files());
    }
}

#[test]
fn another_job_does_not_go_on_from_a_table() {
    let folder = Folder::with_model();
    folder.write("d.npy.part", "my notes\n");
    assert_snapshot!(
        folder.error("distance model.tree --measures measures.csv -o d.npy"),
        @"`d.npy.part` is not a journal of this command; move it away or give another `-o`");
    assert_eq!(folder.text("d.npy.part"), "my notes\n");
    folder.write("none.csv", "a,b,c,d\n");
    folder.write("one.csv", "a,b,c,d\n1,0,0,0\n");
    ok(&folder, "distance model.tree --measures one.csv -o one.npy");
    assert_eq!(folder.read("one.npy"), whole(&[1, 1], &[0.0]));
}

/// So many measures need more than any disk has.
#[cfg(target_os = "linux")]
#[test]
fn a_table_that_no_disk_holds_names_its_bytes() {
    let folder = Folder::with_model();
    folder.write("many.csv", "1,0,0,0\n".repeat(4_000_000));
    let said = folder.error("distance model.tree --measures many.csv -o d.npy");
    assert!(said.starts_with("`d.npy` needs 128 TB, and "), "{said}");
    assert!(said.contains(" are free on its disk; make room, choose another place"), "{said}");
    assert!(!folder.files().iter().any(|file| file.contains("d.npy")), "{:?}", folder.files());
}

/// A name need not be text to end in `.csv`.
#[cfg(target_os = "linux")]
#[test]
fn names_that_are_no_text_are_written_to() {
    use std::os::unix::ffi::OsStrExt;
    let folder = Folder::with_model();
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.csv");
    let mut command = folder.command("distance model.tree --measures measures.csv -q -o");
    let output = command.arg(name).output().expect("the binary runs");
    assert!(output.status.success(), "{}", show(&output));
    assert!(folder.path(".").join(name).exists());
}
