//! `nearest` with several indexes, the parts of one collection.

use insta::assert_snapshot;

use crate::determinism::with_plane;
use crate::folder::Folder;

const INDEX: &str = "index --points points.csv --normalize --json";

/// Twenty measures, many of them equal, in `many.index`, and the same in three parts; six of them are queries.
fn in_parts() -> Folder {
    let folder = with_plane(40);
    let many = folder.text("many.csv");
    let rows: Vec<&str> = many.lines().collect();
    folder.write("queries.csv", rows[3..9].join("\n"));
    folder.json(&format!("{INDEX} --measures many.csv -o many.index"));
    for (name, part) in [("a", &rows[..2]), ("b", &rows[2..11]), ("c", &rows[11..])] {
        folder.write(&format!("{name}.csv"), part.join("\n"));
        folder.json(&format!("{INDEX} --measures {name}.csv -o {name}.index"));
    }
    folder
}

const ONE: &str = "nearest many.index --queries queries.csv --normalize";
const PARTS: &str = "nearest a.index b.index c.index --queries queries.csv --normalize";

/// The rows of an answer without the bound.
fn unproved(answer: &str) -> Vec<&str> {
    answer.lines().map(|row| row.rsplit_once(',').map_or(row, |row| row.0)).collect()
}

#[test]
fn parts_answer_as_one_index() {
    let folder = in_parts();
    for args in ["-k 4", "-k 100", "-k 1 --accuracy exact", "--radius 20", "-k 4 --json"] {
        let (one, parts) =
            (folder.run(&format!("{ONE} {args}")), folder.run(&format!("{PARTS} {args}")));
        assert!(one.lines().count() > 5, "{one}");
        assert_eq!(unproved(&one), unproved(&parts), "{args}");
        assert_eq!(parts, folder.run(&format!("{PARTS} {args} --threads 3")));
    }
    for args in ["-k 4 --accuracy 0.3", "-k 4 --accuracy approximate"] {
        let rows = folder.json(&format!("{PARTS} {args} --json"));
        assert_eq!(rows.len(), 24, "four of six queries each");
    }
    let facts = folder.json(&format!("{PARTS} -k 4 --json -o n.csv")).remove(0);
    assert_eq!((&facts["parts"], &facts["queries"]), (&3.into(), &6.into()));
    assert_eq!(folder.text("n.csv") + "--- exit 0\n", folder.run(&format!("{PARTS} -k 4")));
    for shard in [1, 2] {
        folder.run(&format!("{PARTS} -k 4 --shard {shard}/2 -o {shard}.csv.shard"));
    }
    folder.run("merge 1.csv.shard 2.csv.shard -o whole.csv");
    assert_eq!(folder.text("whole.csv"), folder.text("n.csv"));
}

const BUILD: &str = "index --points line.csv --measures measures.csv";

#[test]
fn names_and_numbers_go_on_from_part_to_part() {
    let folder = Folder::new();
    folder.write("queries.csv", "0,0,0,1\n");
    folder.write("a.txt", "first\nsecond\nthird\n");
    folder.write("b.txt", "fourth\nfifth\nsixth\n");
    for name in ["a", "b"] {
        folder.json(&format!("{BUILD} --measure-names {name}.txt --json -o {name}.index"));
        folder.json(&format!("{BUILD} --json -o plain-{name}.index"));
    }
    folder.json("index b.index --remove fourth --json -o b.index");
    folder.json("index plain-b.index --remove 0 --json -o plain-b.index");
    assert_snapshot!(folder.run("nearest a.index b.index --queries queries.csv -k 3"), @"
    query,rank,neighbor,distance,bound
    0,1,second,0.5,6
    0,2,fifth,0.5,6
    0,3,first,5.5,6
    --- exit 0
    ");
    let plain = "nearest plain-a.index plain-b.index --queries queries.csv";
    assert_snapshot!(folder.run(&format!("{plain} -k 9")), @"
    query,rank,neighbor,distance,bound
    0,1,1,0.5,inf
    0,2,4,0.5,inf
    0,3,0,5.5,inf
    0,4,2,6,inf
    0,5,5,6,inf
    --- exit 0
    ");
    assert_snapshot!(folder.run(&format!("{plain} -k 1 -o n.csv")), @"
    --- stderr
    neighbors of 1 measures in 2 parts, 2 pairs solved, written to n.csv
    --- exit 0
    ");
}

#[test]
fn parts_that_do_not_fit_are_named() {
    let folder = Folder::with_model();
    folder.write("queries.csv", "0,0,0,1\n");
    folder.write("titles.txt", "first\nsecond\nthird\n");
    folder.write("other.csv", "x\n0\n1\n5\n7\n");
    folder.write("short.csv", "x\n0\n1\n5\n");
    folder.write("narrow.csv", "0.5,0.5,0\n");
    folder.write("heavy.csv", "2,0,0,0\n");
    for (name, rest) in [
        ("plain", "--points line.csv --measures measures.csv"),
        ("named", "--points line.csv --measures measures.csv --measure-names titles.txt"),
        ("other", "--points other.csv --measures measures.csv"),
        ("short", "--points short.csv --measures narrow.csv"),
        ("heavy", "--points line.csv --measures heavy.csv"),
    ] {
        folder.json(&format!("index {rest} --json -o {name}.index"));
    }
    let ask = |files: &str| folder.error(&format!("nearest {files} --queries queries.csv"));
    assert_snapshot!(ask("plain.index other.index"),
        @"plain.index and other.index have different points; parts of a collection are built on the same ones");
    assert_snapshot!(ask("plain.index short.index"),
        @"plain.index and short.index have different points; parts of a collection are built on the same ones");
    assert_snapshot!(ask("named.index named.index"),
        @"a measure of named.index and one of named.index are both called `first`; remove one of them");
    assert_snapshot!(ask("named.index plain.index"),
        @"measures of named.index have names, and those of plain.index have none; name all or none");
    assert_snapshot!(ask("plain.index heavy.index"), @"
    queries.csv against heavy.index: measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    ");
    assert_snapshot!(ask("plain.index model.tree"),
        @"model.tree: it is not an index, but plain.index is; `treeport index` makes one");
    assert_snapshot!(ask("model.tree plain.index --measures measures.csv"),
        @"model.tree: it is not an index, and only indexes can be searched together; leave plain.index out");
    assert_snapshot!(ask("plain.index none.index"), @"cannot read `none.index`: No such file or directory");
    assert_snapshot!(folder.error("nearest plain.index plain.index"),
        @"several indexes need `--queries`; without it, one index is searched at a time");
}
