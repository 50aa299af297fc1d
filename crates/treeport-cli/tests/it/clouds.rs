//! `treeport exact --clouds`: measures that bring their own points.

use insta::assert_snapshot;

use crate::folder::Folder;
use crate::inputs::stdout;

const TABLE: &str = "id,mass,x1,x2\nj1,0.5,0,0\nj1,0.5,0,2\nj2,1,3,4\nj3,0.25,0,0\nj3,0.75,0,4\n";

fn with_clouds() -> Folder {
    let folder = Folder::new();
    folder.write("jets.csv", TABLE);
    folder
}

#[test]
fn distances_go_by_the_ids_of_clouds() {
    let folder = with_clouds();
    assert_snapshot!(folder.run("exact --clouds jets.csv --metric manhattan"), @r#"
    left,right,distance
    j1,j2,6
    j1,j3,2
    j2,j3,4
    --- exit 0
    "#);
    folder.write("pairs.csv", "left,right\nj3,j1\n");
    assert_snapshot!(folder.run("exact --clouds jets.csv --pairs pairs.csv"), @r#"
    left,right,distance
    j3,j1,2
    --- exit 0
    "#);
    let rows = folder.json("exact --clouds jets.csv --accuracy 0.01 --json");
    assert_eq!((rows.len(), rows[0]["left"].as_str()), (3, Some("j1")));
}

#[test]
fn other_columns_and_files_say_the_same() {
    let folder = with_clouds();
    let expected = stdout(&folder, "exact --clouds jets.csv");
    folder.write("other.tsv", TABLE.replace(',', "\t").replace("id\tmass", "who\tw"));
    let columns = "--groupby who --weights w --columns x1,x2";
    assert_eq!(stdout(&folder, &format!("exact --clouds other.tsv {columns}")), expected);
    assert_eq!(
        folder.run_with("exact --clouds -", TABLE.as_bytes()),
        folder.run("exact --clouds jets.csv")
    );
    let doubled = TABLE.replace("j2,1,", "j2,2,");
    folder.write("doubled.csv", doubled);
    assert_eq!(stdout(&folder, "exact --clouds doubled.csv --normalize"), expected);
    assert!(folder.run("exact --clouds jets.csv -o out.csv").contains("3 exact distances"));
    assert_eq!(folder.read("out.csv"), expected.as_bytes());
}

#[test]
fn what_is_wrong_names_the_cloud() {
    let folder = with_clouds();
    folder.write("doubled.csv", TABLE.replace("j2,1,", "j2,2,"));
    folder.write("negative.csv", TABLE.replace("j2,1,", "j2,-1,"));
    folder.write("nowhere.csv", TABLE.replace("0,4\n", "0,inf\n"));
    folder.write("empty.csv", TABLE.replace("j2,1,", "j2,0,"));
    folder.write("without.csv", TABLE.replace("id,", "jet,"));
    for (name, said) in [
        (
            "doubled",
            "doubled.csv: clouds j1 and j2 have total mass 1 and 2; transport needs equal masses",
        ),
        (
            "negative",
            "negative.csv: cloud j2: point 0 has mass -1; masses must be finite and at least 0",
        ),
        (
            "nowhere",
            "nowhere.csv: cloud j3: coordinate 1 of point 1 is inf; coordinates must be finite",
        ),
        ("empty", "empty.csv: cloud j2: it has no mass; drop it or give it a positive entry"),
        (
            "without",
            "without.csv: csv, header: no column `id`; its columns are `jet`, `mass`, `x1`, `x2`",
        ),
    ] {
        let run = folder.run(&format!("exact --clouds {name}.csv"));
        assert!(run.contains(said) && run.contains("--- exit 2"), "{run}");
    }
    let run = folder.run("exact --clouds jets.csv --metric cosine");
    assert!(run.contains("jets.csv: cloud j1: point 0 has length 0"), "{run}");
    folder.write("pairs.csv", "left,right\nj2,j1\n");
    let run = folder.run("exact --clouds doubled.csv --pairs pairs.csv");
    assert!(run.contains("clouds j2 and j1 have total mass 2 and 1"), "{run}");
    for both in ["--measures measures.csv", "--points line.csv", "--assume-metric"] {
        let run = folder.run(&format!("exact --clouds jets.csv {both}"));
        assert!(run.contains("cannot be used with"), "{run}");
    }
    assert!(folder.run("exact --points line.csv --groupby id").contains("--- exit 2"));
}
