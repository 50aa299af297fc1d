//! A job in parts, and the parts put together: the bytes of one run, or an error that names the part.

use insta::assert_snapshot;

use crate::determinism::with_plane;
use crate::folder::{Folder, show};

fn ok(folder: &Folder, args: &str) {
    let ended = folder.output(args);
    assert!(ended.status.success(), "{args}: {}", show(&ended));
}

/// A folder with twenty measures in `many.csv`, queries, names and pairs, and everything that is
/// asked about them: a tree, a forest, an index from which some were removed.
fn with_everything() -> Folder {
    let folder = with_plane(40);
    let rows: Vec<String> = folder.text("many.csv").lines().map(str::to_owned).collect();
    folder.write("queries.csv", [&rows[3..8], &rows[15..18]].concat().join("\n"));
    folder.write("one.csv", &rows[0]);
    folder.write("few.csv", rows[4..6].join("\n"));
    let name = |k: usize| if k == 4 { "York, New".into() } else { format!("m{k}") };
    folder.write("names.txt", (0..20).map(name).collect::<Vec<_>>().join("\n"));
    folder.write("pairs.csv", "left,right\n3,1\n0,0\n");
    let inputs = "--points points.csv --measures many.csv --normalize";
    ok(&folder, "fit -q --points points.csv --epochs 2 -o model.tree");
    ok(&folder, &format!("fit -q {inputs} --method forest --n-trees 3 -o model.forest"));
    ok(&folder, &format!("index -q {inputs} --measure-names names.txt -o all.index"));
    ok(&folder, "index -q all.index --remove 2,7 -o many.index");
    folder
}

/// Does a job in parts and returns the files, which are gone from their place.
fn parts(folder: &Folder, command: &str, ending: &str, shards: usize) -> Vec<String> {
    let shard = |number: usize| {
        let file = format!("part-{number}.{ending}.shard");
        // Parts need not agree in how they are done.
        let threads = 1 + number % 2;
        let how = format!("--shard {number}/{shards} --threads {threads}");
        ok(folder, &format!("{command} -q {how} -o {file}"));
        file
    };
    (1..=shards).map(shard).collect()
}

/// Compares a job in 1, 3 and 7 parts, in any order, with the same job in one.
fn agrees(folder: &Folder, command: &str, ending: &str) {
    let whole = format!("whole.{ending}");
    ok(folder, &format!("{command} -q -o {whole}"));
    let before = folder.files();
    for shards in [1, 3, 7] {
        let mut files = parts(folder, command, ending, shards);
        let (by, half) = (shards / 3, shards / 2);
        files.rotate_left(by);
        files[half..].reverse();
        ok(folder, &format!("merge -q {} -o merged.{ending}", files.join(" ")));
        let merged = folder.read(&format!("merged.{ending}"));
        assert!(merged == folder.read(&whole), "{command}: {shards}");
        files.push(format!("merged.{ending}"));
        for file in &files {
            std::fs::remove_file(folder.path(file)).expect("a file");
        }
        assert_eq!(folder.files(), before, "{command}: {shards}");
    }
}

#[test]
fn exact_distances_in_parts() {
    let folder = with_everything();
    let exact = "exact --points points.csv --measures many.csv --normalize";
    for which in ["", "--n-pairs 25 --seed 4", "--pairs pairs.csv"] {
        agrees(&folder, &format!("{exact} {which}"), "csv");
    }
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    agrees(&folder, "exact --graph graph.csv --measures measures.csv", "csv");
}

#[test]
fn distances_in_parts() {
    let folder = with_everything();
    for model in ["model.tree", "model.forest"] {
        let distance = format!("distance {model} --normalize --measures");
        for which in [
            "many.csv --measure-names names.txt",
            "many.csv --against queries.csv",
            "queries.csv --against many.csv --against-names names.txt",
            "many.csv --n-pairs 25 --seed 4",
            "many.csv --pairs pairs.csv",
            "one.csv",
        ] {
            agrees(&folder, &format!("{distance} {which}"), "csv");
            agrees(&folder, &format!("{distance} {which}"), "npy");
        }
    }
}

#[test]
fn neighbors_in_parts() {
    let folder = with_everything();
    let model = "nearest model.forest --measures many.csv --normalize -k 3";
    agrees(&folder, &format!("{model} --measure-names names.txt"), "csv");
    agrees(&folder, &format!("{model} --queries queries.csv"), "csv");
    agrees(&folder, &format!("{model} --queries few.csv"), "csv");
    agrees(&folder, "nearest many.index -k 3 --queries few.csv --normalize", "csv");
    for how in ["-k 4", "-k 2 --within 0.1", "-k 3 --approximate", "--radius 12"] {
        agrees(&folder, &format!("nearest many.index {how}"), "csv");
        let others = "--queries queries.csv --normalize";
        agrees(&folder, &format!("nearest many.index {others} {how}"), "csv");
    }
}

/// Tables whose rows are made in several blocks, from lists of sparse measures and without.
#[test]
fn blocks_of_parts() {
    let folder = with_everything();
    let row = |r| (0..40).map(|p| if p == r { "1" } else { "0" }).collect::<Vec<_>>().join(",");
    folder.write("sparse.csv", (0..40).map(row).collect::<Vec<_>>().join("\n"));
    for measures in ["sparse.csv", "many.csv --normalize"] {
        for memory in ["", "--memory 60kB"] {
            let distance = format!("distance model.tree --measures {measures} {memory}");
            agrees(&folder, &distance, "npy");
            agrees(&folder, &distance, "csv");
        }
    }
}

#[test]
fn what_is_said_is_of_the_part() {
    let folder = with_everything();
    let exact = "exact --points line.csv --measures measures.csv --shard 2/2";
    assert_snapshot!(folder.run(&format!("{exact} -o b.csv.shard")), @"
    --- stderr
    shard 2 of 2, 2 exact distances written to b.csv.shard
    --- exit 0
    ");
    let table = "distance model.tree --measures many.csv --normalize --json --shard 1/3";
    assert_snapshot!(folder.run(&format!("{table} -o a.npy.shard")), @r#"
    {"command":"distance","file":"a.npy.shard","rows":6,"shard":1,"shards":3}
    --- exit 0
    "#);
    let nearest = "nearest many.index --approximate -k 2 --json";
    let told = |which: &str| {
        let said = folder.json(&format!("{nearest} --shard {which} -o n.csv.shard"));
        (said[0]["queries"].clone(), said[0]["expected_recall"].is_number())
    };
    assert_eq!(told("1/2"), (10.into(), true));
    assert_eq!(told("2/2"), (10.into(), false));
    ok(&folder, &exact.replace("2/2", "1/2 -o a.csv.shard"));
    assert_snapshot!(folder.run("merge b.csv.shard a.csv.shard -o d.csv"), @"
    --- stderr
    2 shards of 3 items written to d.csv
    --- exit 0
    ");
    assert_snapshot!(folder.text("d.csv"), @"
    left,right,distance
    0,1,5
    0,2,0.5
    1,2,5.5
    ");
    assert_snapshot!(folder.run("merge b.csv.shard a.csv.shard -o d.csv --json"), @r#"
    {"bytes":42,"command":"merge","file":"d.csv","items":3,"shards":2}
    --- exit 0
    "#);
}

#[test]
fn parts_that_do_not_belong_together() {
    let folder = Folder::with_model();
    let distance = "distance model.tree --measures measures.csv";
    let files = parts(&folder, distance, "csv", 3);
    let [one, two, three] = &files[..] else { panic!("three") };
    let refused = |parts: &str| {
        let said = folder.error(&format!("merge {parts} -o merged.csv"));
        assert!(!folder.path("merged.csv").exists());
        said
    };
    assert_snapshot!(refused(two),
        @"missing of 3 shards: 1, 3; give them too, or do those parts first");
    folder.write("copy.shard", folder.read(two));
    assert_snapshot!(refused(&format!("{one} {two} copy.shard {three}")),
        @"`part-2.csv.shard` and `copy.shard` are both shard 2 of 3; leave one out");
    assert_snapshot!(refused(&format!("{one} {one} {two} {three}")),
        @"`part-1.csv.shard` and `part-1.csv.shard` are both shard 1 of 3; leave one out");
    folder.write("other.csv", "1,0,0,0\n0,1,0,0\n0,0,1,0\n");
    ok(&folder, "distance model.tree --measures other.csv --shard 1/3 -o other.csv.shard");
    assert_snapshot!(refused(&format!("other.csv.shard {two} {three}")),
        @"`other.csv.shard` is of another job than `part-2.csv.shard` (other measures); leave it out, or do that part again");
    ok(&folder, &format!("{distance} --shard 4/4 -o four.csv.shard"));
    assert_snapshot!(refused(&format!("{one} {two} four.csv.shard")),
        @"`four.csv.shard` is of another job than `part-1.csv.shard` (other shards); leave it out, or do that part again");
    let exact = "exact --points line.csv --measures measures.csv --shard 3/3 -o exact.csv.shard";
    ok(&folder, exact);
    assert_snapshot!(refused(&format!("{one} {two} exact.csv.shard")),
        @"`exact.csv.shard` is of another job than `part-1.csv.shard` (other command, format, model, against, measure-names, against-names, metric); leave it out, or do that part again");
    assert_snapshot!(refused(&format!("{one} {two} measures.csv")),
        @r"
    `measures.csv` is not a shard, a part of a job computed separately

    hint: `exact`, `distance` and `nearest` write shards with `--shard I/N`
    ");
    assert_snapshot!(refused(&format!("{one} {two} nowhere.shard")),
        @"cannot read `nowhere.shard`: No such file or directory");
    let mut bytes = folder.read(two);
    let at = bytes.len() - 20;
    bytes[at] ^= 1;
    folder.write("damaged.shard", bytes);
    assert_snapshot!(refused(&format!("{one} damaged.shard {three}")),
        @"`damaged.shard` is damaged: it was cut off or changed; copy it again or write it anew");
}

#[test]
fn places_that_do_not_fit() {
    let folder = Folder::with_model();
    let distance = "distance model.tree --measures measures.csv";
    let files = parts(&folder, distance, "npy", 2).join(" ");
    assert_snapshot!(folder.error(&format!("merge {files} -o merged.csv")),
        @"cannot write `merged.csv`: these shards go to a .npy file");
    assert_snapshot!(folder.error(&format!("merge {files} -o -")),
        @"cannot write `-`: these shards go to a regular file, not to a pipe or to stdout");
    let before = folder.read("part-1.npy.shard");
    let said = folder.error(&format!("merge {files} -o part-1.npy.shard"));
    assert!(said.starts_with("`--output` and `parts` are the same file, `"), "{said}");
    assert_eq!(folder.read("part-1.npy.shard"), before);
    assert_snapshot!(folder.error(&format!("{distance} --shard 1/2 -o a.npy")),
        @"cannot write `a.npy`: a shard goes to a .csv.shard or .npy.shard file");
    assert_snapshot!(folder.error(&format!("{distance} --shard 1/2 -o -")),
        @"cannot write `-`: a shard goes to a regular file, not to a pipe or to stdout");
    assert_snapshot!(folder.error(&format!("{distance} -o a.npy.shard")),
        @"cannot write `a.npy.shard`: distances go to a .csv or .npy file");
    #[cfg(unix)]
    for (command, file) in [
        (format!("{distance} --shard 1/2"), "pipe.csv.shard"),
        (format!("merge {files}"), "pipe.npy"),
    ] {
        std::os::unix::fs::symlink("/dev/full", folder.path(file)).expect("a link");
        let said = folder.error(&format!("{command} -o {file}"));
        assert!(said.starts_with(&format!("cannot write `{file}`: ")), "{said}");
    }
    let said = folder.error(&format!("{distance} --shard 1/2"));
    assert!(said.contains("required arguments were not provided:\n  --output <FILE>"), "{said}");
    assert_snapshot!(folder.error(&format!("{distance} --shard 3/2 -o a.npy.shard")), @"
    invalid value '3/2' for '--shard <I/N>': parts are counted from 1 to 2

    For more information, try '--help'.
    ");
    assert!(!folder.files().iter().any(|file| file.starts_with("a.npy")), "{:?}", folder.files());
}

/// Cut or changed anywhere, a part is an error that names it, and nothing is written.
#[test]
fn damaged_parts_are_named() {
    let folder = Folder::with_model();
    parts(&folder, "distance model.tree --measures measures.csv", "npy", 3);
    let whole = folder.read("part-2.npy.shard");
    let merge = "merge part-1.npy.shard part-2.npy.shard part-3.npy.shard -o merged.npy";
    for k in 0..60 {
        let at = k * whole.len() / 60;
        let mut changed = whole.clone();
        match k % 3 {
            0 => changed.truncate(at),
            1 => changed[at] ^= 1 << (k % 8),
            _ => changed.extend_from_within(at..),
        }
        folder.write("part-2.npy.shard", &changed);
        let said = folder.error(merge);
        assert!(said.contains("`part-2.npy.shard`"), "{at}: {said}");
        assert!(!folder.path("merged.npy").exists(), "{at}");
    }
    folder.write("part-2.npy.shard", whole);
    ok(&folder, merge);
}

/// Another part of the same job does not go on from what one has left.
#[test]
fn parts_have_their_own_journals() {
    let folder = Folder::new();
    let job = treeport_jobs::JobFingerprint::new("treeport-exact-3").part("shard", 1);
    let path = folder.path("a.csv.shard.part");
    let mut journal = treeport_jobs::Journal::open(&path, &job).expect("a journal");
    journal.append(b"0,1,5\n").expect("a line");
    drop(journal);
    let exact = "exact --points line.csv --measures measures.csv --shard 2/3 -o a.csv.shard";
    let said = folder.error(exact);
    assert!(said.contains("was left by another job (other metric"), "{said}");
    assert!(said.contains("shard, shards)"), "{said}");
}

/// Killed, interrupted and started again, a part is the one that was never stopped.
#[cfg(unix)]
#[test]
fn parts_go_on_where_they_were_stopped() {
    let folder = Folder::with_model();
    let mass = |k: usize| ((k * 7919 + k * k % 101) % 13 + 1) as f64;
    let count = 2000;
    folder.write_npy("many.npy", &[count, 4], &(0..4 * count).map(mass).collect::<Vec<_>>());
    let distance = "distance model.tree --measures many.npy --normalize --memory 2MB";
    let exact = "exact --points line.csv --measures many.npy --normalize --n-pairs 200000";
    for (command, file) in [(distance, "d.csv"), (distance, "d.npy"), (exact, "e.csv")] {
        let (file, again) = (format!("{file}.shard"), format!("again-{file}.shard"));
        let part = format!("{file}.part");
        let args = format!("{command} --shard 2/2 --threads 1");
        let killed = folder.stopped_in_the_middle(&format!("{args} -o {file}"), &part, "-KILL");
        assert_eq!(killed.status.code(), None, "{}", show(&killed));
        let stopped = folder.stopped_in_the_middle(&format!("{args} -o {file}"), &part, "-INT");
        assert_eq!(stopped.status.code(), Some(130), "{}", show(&stopped));
        assert!(!folder.path(&file).exists());
        let last = folder.output(&format!("{args} -o {file}"));
        let said = String::from_utf8(last.stderr).expect("text");
        assert!(said.contains(" were done before\n"), "{said}");
        ok(&folder, &format!("{args} -o {again}"));
        assert!(folder.read(&file) == folder.read(&again), "{file}");
        assert!(folder.files().iter().all(|file| !file.contains(".part")), "{:?}", folder.files());
    }
}

/// The loop of docs/CLUSTER.md, as it stands there.
#[cfg(unix)]
#[test]
fn the_loop_of_the_page_runs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/CLUSTER.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let from = page.split("```sh\n").nth(1).expect("a block of commands");
    let commands = from.split("```").next().expect("its end");
    let folder = Folder::with_model();
    let (rows, cols) = (9, 4);
    let matrix = treeport::Csr {
        rows,
        cols,
        start: (0..=rows).map(|row| row * cols).collect(),
        indices: (0..rows * cols).map(|entry| entry % cols).collect(),
        values: (0..rows).flat_map(|r| [r + 1, rows - r, 1, 2].map(|mass| mass as f64)).collect(),
    };
    let mut docs = std::io::Cursor::new(Vec::new());
    treeport::io::npz::write_csr(&matrix, &mut docs).expect("memory");
    folder.write("docs.npz", docs.into_inner());
    let binary = std::path::Path::new(crate::BINARY).parent().expect("a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").expect("a path"));
    let mut shell = std::process::Command::new("sh");
    shell.args(["-e", "-c", commands]).env("PATH", path).current_dir(folder.path("."));
    let ended = shell.output().expect("a shell");
    assert!(ended.status.success(), "{}", show(&ended));
    ok(&folder, "distance model.tree --measures docs.npz -o whole.npy");
    assert!(folder.read("matrix.npy") == folder.read("whole.npy"));
}
