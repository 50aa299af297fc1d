//! `treeport exact --clouds`: measures that bring their own points.

use std::fmt::Write;

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
        let cause = said.rsplit_once(": ").expect("a file and what is wrong there").1;
        assert_eq!(run.matches(cause).count(), 1, "{run}");
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

/// Rows without their last column, whose digits depend on the processor.
fn without_bounds(rows: &str) -> Vec<String> {
    rows.lines().map(|row| row.rsplit_once(',').unwrap().0.to_owned()).collect()
}

const MORE: &str = "id,mass,x1,x2\nj4,1,3,3\n";

#[test]
fn clouds_are_searched() {
    let folder = with_clouds();
    folder.write("new.csv", "id,mass,x1,x2\nq,1,3,3.5\n");
    let built = folder.run("index --clouds jets.csv --metric manhattan -o jets.index");
    assert!(built.contains("measures  3") && built.contains("5 in use of 5"), "{built}");
    let found = stdout(&folder, "nearest jets.index --queries new.csv -k 2");
    assert_eq!(
        without_bounds(&found),
        ["query,rank,neighbor,distance", "q,1,j2,0.5", "q,2,j3,4.25"]
    );
    folder.run("index jets.index --remove j2 -o jets.index");
    folder.write("more.csv", MORE);
    folder.run("index jets.index --clouds more.csv -o jets.index");
    let expected = stdout(&folder, "nearest jets.index --queries new.csv -k 3");
    assert!(expected.starts_with("query,rank,neighbor,distance,bound\nq,1,j4,0.5,"), "{expected}");
    // The same by `--add`, and by parts.
    folder.run("index --clouds jets.csv --metric manhattan -o first.index");
    folder.run("index first.index --remove j2 -o first.index");
    folder.run("index first.index --add more.csv -o again.index");
    assert_eq!(stdout(&folder, "nearest again.index --queries new.csv -k 3"), expected);
    folder.run("index --clouds more.csv --metric manhattan -o second.index");
    let parts = stdout(&folder, "nearest first.index second.index --queries new.csv -k 3");
    assert_eq!(without_bounds(&parts), without_bounds(&expected));
    let near = stdout(&folder, "nearest again.index --radius 3");
    assert_eq!(without_bounds(&near)[1..], ["j1,1,j3,2", "j3,1,j1,2"]);
}

#[test]
fn totals_of_clouds_may_differ_in_searches() {
    let folder = with_clouds();
    folder.write("heavy.csv", "id,mass,x1,x2\nh,3,3,4\n");
    folder.run("index --clouds jets.csv -o jets.index");
    let refused = folder.run("nearest jets.index --queries heavy.csv -k 1");
    assert!(refused.contains("total mass"), "{refused}");
    folder.run("index --clouds jets.csv --penalty 0.5 -o jets.index");
    let found = stdout(&folder, "nearest jets.index --queries heavy.csv -k 1");
    assert_eq!(without_bounds(&found)[1..], ["h,1,j2,1"]);
    let refused = folder.run("nearest jets.index --queries heavy.csv --normalize");
    assert!(refused.contains("totals of its clouds may differ"), "{refused}");
}

#[test]
fn searches_say_what_is_for_clouds() {
    let folder = with_clouds();
    folder.write("points.csv", "0,0\n1,1\n");
    folder.write("rows.csv", "1,0\n0,1\n");
    folder.run("index --points points.csv --measures rows.csv -o rows.index");
    let refused = folder.run("index rows.index --clouds jets.csv -o rows.index");
    assert!(refused.contains("it holds measures on shared points"), "{refused}");
    let refused = folder.run("nearest rows.index --queries rows.csv --weights last");
    assert!(refused.contains("`--weights` is for clouds"), "{refused}");
    folder.run("index --clouds jets.csv -o jets.index");
    folder.write("space.csv", "id,mass,x1\nq,1,3\n");
    let refused = folder.run("nearest jets.index --queries space.csv");
    assert!(refused.contains("rows of 2, as the clouds of the index have"), "{refused}");
    let refused = folder.run("index --clouds jets.csv --penalty -1 -o other.index");
    assert!(refused.contains("penalty"), "{refused}");
}

/// Clouds of four points around a few centers of the plane.
fn many(count: u32, seed: u32) -> String {
    let mut rows = String::from("id,mass,x,y\n");
    for cloud in 0..count {
        for point in 0..4 {
            let k = f64::from(100 * seed + 7 * cloud + point);
            let (x, y) = ((k * 1.7).sin() * 3.0 + (k * 0.3).cos(), (k * 2.3).cos() * 2.0);
            writeln!(rows, "c{cloud},0.25,{x},{y}").unwrap();
        }
    }
    rows
}

#[test]
fn models_of_clouds_answer_for_new_ones() {
    let folder = Folder::new();
    folder.write("old.csv", many(30, 0));
    folder.write("new.csv", many(6, 3));
    for method in ["space", "lifted", "rg"] {
        let model = format!("{method}.model");
        let fit = format!("fit --clouds old.csv --method {method} --n-pairs 60 -o {model}");
        let facts = folder.json(&format!("{fit} --json"));
        assert_eq!((&facts[0]["method"], &facts[0]["pairs"]), (&method.into(), &60.into()));
        let found = folder.json(&format!("distance {model} --clouds new.csv --json"));
        let exact = folder.json("exact --clouds new.csv --json");
        assert_eq!(found.len(), exact.len());
        let relative = found.iter().zip(&exact).map(|(found, exact)| {
            let number = |row: &serde_json::Value| row["distance"].as_f64().expect("a number");
            assert_eq!(found["left"], exact["left"]);
            (number(found) - number(exact)).abs() / number(exact)
        });
        let error = relative.sum::<f64>() / found.len() as f64;
        assert!(error < 0.25, "{method} {error}");
        let judged = folder.json(&format!("eval {model} --clouds new.csv --n-pairs 15 --json"));
        assert!(judged[0]["error"].as_f64().is_some_and(|found| found < 0.25));
        // The same file again, to the byte.
        let before = folder.read(&model);
        assert!(folder.run(&fit).contains("exit 0"));
        assert_eq!(folder.read(&model), before);
    }
    assert!(
        folder
            .run("distance space.model --clouds new.csv --against old.csv -o t.npy")
            .contains("180")
    );
    assert!(folder.run("embed space.model --clouds new.csv -o rows.npz").contains("6 rows"));
    for (command, error) in [
        ("embed lifted.model --clouds new.csv", "fit `space`"),
        ("fit --clouds old.csv --method tree -o x", "take space, lifted, rg"),
        ("fit --clouds old.csv --epochs 3 -o x", "`--epochs` is of no use to space"),
        ("distance space.model --measures new.csv", "it holds a model of clouds"),
        ("eval space.model --clouds new.csv --metric manhattan", "has its own metric"),
        ("distance space.model --clouds new.csv --square", "are for trees"),
    ] {
        let found = folder.run(command);
        assert!(found.contains(error) && found.contains("exit 2"), "{command}: {found}");
    }
}
