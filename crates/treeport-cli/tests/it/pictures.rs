//! `report`, `plot`, `embed`, `nearest`, `completions` and `man`.

use insta::assert_snapshot;
use serde_json::Value;
use treeport::io::npz;

use crate::folder::Folder;

const TEST: &str = "--points line.csv --measures measures.csv";

#[test]
fn reports() {
    let folder = Folder::with_model();
    let shown = folder.run("report model.tree -o tree.html");
    assert!(shown.starts_with("--- stderr\nreport of ") && shown.ends_with("exit 0\n"));
    folder.write(
        "h.csv",
        "epoch,training_loss,validation_loss,relative_error\n0,2,,0.5\n1,1,,0.25\n",
    );
    folder.write("groups.txt", "west\nwest\neast\neast\n");
    let args = format!(
        "report model.tree {TEST} --history h.csv --groups groups.txt --title A&B -o a.html"
    );
    let line = &folder.json(&format!("{args} --json"))[0];
    assert_eq!((&line["command"], &line["models"]), (&"report".into(), &1.into()));
    assert_eq!(line["scores"].as_array().expect("scores").len(), 3);
    let page = folder.text("a.html");
    for part in [
        "<h1>A&amp;B</h1>",
        "Predicted and exact",
        "Learning",
        "Transport plan",
        "\"west\"",
        "mean label",
    ] {
        assert!(page.contains(part), "{part}");
    }
    let tree_alone = folder.text("tree.html");
    assert!(
        !tree_alone.contains("Predicted and exact") && tree_alone.contains("id=\"plan\" hidden")
    );
    assert!(folder.run("report model.tree -o -").starts_with("<!doctype html>"));
}

/// The neighbors in a page: what they are by, and for every query the numbers found.
fn neighbors_of(page: &str) -> (Value, Vec<(u64, Vec<u64>)>) {
    let data = page.split_once("id=\"data\">").expect("data").1;
    let data: Value =
        serde_json::from_str(data.split_once("</script>").expect("an end").0).unwrap();
    let number = |row: &Value| row["measure"].as_u64().expect("a number");
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let queries = list(&data["neighbors"]["queries"]);
    let found = |query: &Value| list(&query["found"]).iter().map(number).collect();
    let found = queries.iter().map(|query| (number(query), found(query))).collect();
    (data["neighbors"]["by"].clone(), found)
}

#[test]
fn reports_with_neighbors() {
    let folder = Folder::with_model();
    let all = vec![(0, vec![2, 1]), (1, vec![0, 2]), (2, vec![0, 1])];
    folder.run(&format!("report model.tree {TEST} -o a.html"));
    assert_eq!(neighbors_of(&folder.text("a.html")), (Value::Null, all.clone()));
    // Without a metric they are the model's, and nothing is judged.
    let shown = folder.run("report model.tree --measures measures.csv -o b.html");
    assert!(shown.contains("unjudged report (no ground metric) of "), "{shown}");
    let page = folder.text("b.html");
    assert_eq!(neighbors_of(&page), ("model.tree".into(), all.clone()));
    assert!(!page.contains("Predicted and exact") && page.contains("id=\"plan\" hidden"));
    folder.run("report model.tree --measures measures.csv --neighbors-of 2,1,2 -o c.html");
    assert_eq!(neighbors_of(&folder.text("c.html")).1, [all[2].clone(), all[1].clone()]);

    let report = "report model.tree --measures measures.csv -o d.html";
    assert_snapshot!(folder.error(&format!("{report} --neighbors-of 3")),
        @"--neighbors-of: there is no measure 3: the set holds 3, numbered from 0");
    assert_snapshot!(folder.error(&format!("{report} --n-pairs 2")),
        @"model.tree: it has no ground metric, which `fit --with-metric` keeps; give `--points`, `--matrix` or `--graph`");
    assert_snapshot!(folder.error("report model.tree --neighbors-of 1 -o d.html"), @r#"
    the following required arguments were not provided:
      --measures <FILE>

    Usage: treeport report --output <FILE> --measures <FILE> --neighbors-of <N,…> <MODEL>...

    For more information, try '--help'.
    "#);
    folder.write("many.csv", "1,0,0,0\n".repeat(31));
    let numbers: Vec<String> = (0..31).map(|k| k.to_string()).collect();
    let many = format!(
        "report model.tree --measures many.csv -o d.html --neighbors-of {}",
        numbers.join(",")
    );
    assert_snapshot!(folder.error(&many),
        @"`--neighbors-of` has 31 measures; a page shows 30 at most");
    folder.write("unequal.csv", "1,0,0,0\n0,1,0,0\n0,0,0,2\n0,0,2,0\n");
    folder.write("pairs.csv", "left,right\n0,1\n2,3\n");
    let report = "report model.tree --measures unequal.csv -o d.html";
    assert_snapshot!(folder.error(report), @r#"
    unequal.csv: measures 0 and 3 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    // What can be judged is; neighbors are left out unless they are asked for.
    let judged = format!("{report} --points line.csv --pairs pairs.csv");
    folder.run(&judged);
    assert!(!folder.text("d.html").contains("id=\"neighbors\""));
    assert_snapshot!(folder.error(&format!("{judged} --neighbors-of 0")), @r#"
    unequal.csv: measures 0 and 3 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
}

#[test]
fn reports_of_nothing() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.error("report model.tree --points line.csv -o a.html"),
        @"predictions are judged with both a ground metric and `--measures`; give both or neither");
    assert_snapshot!(folder.error("report model.tree -o report.pdf"),
        @"cannot write `report.pdf`: a report goes to a .html or .htm file");
    assert_snapshot!(folder.error("report model.tree"), @r#"
    the following required arguments were not provided:
      --output <FILE>

    Usage: treeport report --output <FILE> <MODEL>...

    For more information, try '--help'.
    "#);
    folder.write("groups.txt", "west\n");
    assert_snapshot!(folder.error("report model.tree --groups groups.txt -o a.html"),
        @"groups.txt: 1 lines for 4 points");
    folder.write("h.csv", "epoch,training_loss,validation_loss,relative_error\n0,two,,0.5\n");
    assert_snapshot!(folder.error("report model.tree --history h.csv -o a.html"),
        @"h.csv: csv, line 2: `two` is not a number: invalid float literal");
    folder.write("small.nwk", "(a:1,b:2);");
    assert_snapshot!(folder.error("report model.tree small.nwk -o a.html"),
        @"small.nwk: it has 2 leaves, the first model 4");
    assert!(!folder.path("a.html").exists());
}

#[test]
fn plots() {
    let folder = Folder::with_model();
    folder.write(
        "h.csv",
        "epoch,training_loss,validation_loss,relative_error\n0,2,3,0.5\n1,1,2,0.25\n",
    );
    for (figure, text) in [
        ("tree model.tree", ">a</text>"),
        ("loss model.tree --history h.csv", "validation"),
        (&format!("scatter model.tree {TEST} --unit km"), "exact distance (km)"),
        (&format!("errors model.tree {TEST}"), "Relative errors"),
        (&format!("support model.tree {TEST} --title T"), ">T</text>"),
    ] {
        let shown = folder.run(&format!("plot {figure}"));
        assert!(shown.starts_with("<svg") && shown.contains(text), "{figure}: {shown}");
        assert_eq!(folder.json(&format!("plot {figure} --json -o f.svg"))[0]["file"], "f.svg");
        assert_eq!(folder.text("f.svg") + "--- exit 0\n", shown);
        if cfg!(feature = "png") {
            folder.json(&format!("plot {figure} --json -o f.png"));
            assert!(folder.read("f.png").starts_with(b"\x89PNG"));
        }
    }
    assert_snapshot!(folder.run("plot tree model.tree -o tree.svg"), @r#"
    --- stderr
    tree written to tree.svg
    --- exit 0
    "#);
}

#[test]
fn plots_of_nothing() {
    let folder = Folder::with_model();
    assert_snapshot!(folder.error("plot scatter model.tree"),
        @"this figure needs test pairs: a ground metric and `--measures`");
    assert_snapshot!(folder.error("plot loss model.tree"), @r#"
    the following required arguments were not provided:
      --history <FILE>

    Usage: treeport plot --history <FILE> <FIGURE> <MODEL>

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error("plot loss model.tree --history line.csv"),
        @"line.csv: csv, line 1: a history begins with `epoch,training_loss,validation_loss,relative_error`");
    assert_snapshot!(folder.error("plot tree model.tree -o tree.jpg"),
        @"cannot write `tree.jpg`: a picture goes to a .svg or .png file");
    if !cfg!(feature = "png") {
        assert_snapshot!(folder.error("plot tree model.tree -o tree.png"),
            @"cannot write `tree.png`: this treeport was built without PNG; write .svg, or build it with `--features png`");
    }
}

#[test]
fn embeddings() {
    let folder = Folder::with_model();
    folder.write("titles.txt", "first\nsecond, that is\nthird\n");
    let embed = "embed model.tree --measures measures.csv";
    assert_snapshot!(folder.run(&format!("{embed} --measure-names titles.txt")), @r#"
    measure,node,value
    first,0,0.25
    first,1,0.25
    first,4,2
    "second, that is",2,0.25
    "second, that is",3,0.25
    "second, that is",5,2
    third,0,0.5
    third,4,2
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{embed} --json")), @r#"
    {"measure":0,"node":0,"value":0.25}
    {"measure":0,"node":1,"value":0.25}
    {"measure":0,"node":4,"value":2}
    {"measure":1,"node":2,"value":0.25}
    {"measure":1,"node":3,"value":0.25}
    {"measure":1,"node":5,"value":2}
    {"measure":2,"node":0,"value":0.5}
    {"measure":2,"node":4,"value":2}
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{embed} -o rows.npz")), @r#"
    --- stderr
    3 rows over 7 nodes written to rows.npz
    --- exit 0
    "#);
    let file = std::fs::File::open(folder.path("rows.npz")).expect("a file");
    let rows = npz::read_csr(file).expect("a sparse matrix");
    assert_eq!((rows.rows, rows.cols), (3, 7));
    assert_snapshot!(folder.run(&format!("{embed} -o rows.csv --json")), @r#"
    {"command":"embed","entries":8,"file":"rows.csv","measures":3,"nodes":7}
    --- exit 0
    "#);
    assert_eq!(folder.text("rows.csv") + "--- exit 0\n", folder.run(embed));
    assert_snapshot!(folder.error(&format!("{embed} -o rows.npy")),
        @"cannot write `rows.npy`: an embedding goes to a .npz or .csv file");
    folder.write("titles.txt", "first\n");
    assert_snapshot!(folder.error(&format!("{embed} --measure-names titles.txt")),
        @"titles.txt: 1 lines for 3 measures");
}

#[test]
fn neighbors() {
    let folder = Folder::with_model();
    folder.write("titles.txt", "first\nsecond\nthird\n");
    let nearest = "nearest model.tree --measures measures.csv";
    assert_snapshot!(folder.run(&format!("{nearest} -k 1 --measure-names titles.txt")), @r#"
    query,rank,neighbor,distance
    first,1,third,0.5
    second,1,first,5
    third,1,first,0.5
    --- exit 0
    "#);
    assert_snapshot!(folder.run(nearest), @r#"
    query,rank,neighbor,distance
    0,1,2,0.5
    0,2,1,5
    1,1,0,5
    1,2,2,5
    2,1,0,0.5
    2,2,1,5
    --- exit 0
    "#);
    folder.write("queries.csv", "0,0,0,1\n");
    assert_snapshot!(folder.run(&format!("{nearest} -k 2 --queries queries.csv --json")), @r#"
    {"query":0,"rank":1,"neighbor":1,"distance":0.5}
    {"query":0,"rank":2,"neighbor":0,"distance":5}
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{nearest} -k 2 -o n.csv")), @r#"
    --- stderr
    neighbors of 3 measures written to n.csv
    --- exit 0
    "#);
    assert_snapshot!(folder.error(&format!("{nearest} -k 0")), @r#"
    invalid value '0' for '-k <N>': it must be at least 1

    For more information, try '--help'.
    "#);
    folder.write("heavy.csv", "0,0,0,2\n");
    assert_snapshot!(folder.error(&format!("{nearest} --queries heavy.csv")), @r#"
    heavy.csv against measures.csv: measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
}

#[test]
fn distances_carry_names() {
    let folder = Folder::with_model();
    folder.write("titles.txt", "first\nsecond, that is\nthird\n");
    let distance = "distance model.tree --measures measures.csv --measure-names titles.txt";
    assert_snapshot!(folder.run(distance), @r#"
    left,right,distance
    first,"second, that is",5
    first,third,0.5
    "second, that is",third,5
    --- exit 0
    "#);
    folder.write("others.csv", "0,0,0,1\n");
    folder.write("other-titles.txt", "other\n");
    let against = "--against others.csv --against-names other-titles.txt --json";
    assert_snapshot!(folder.run(&format!("{distance} {against}")), @r#"
    {"left":"first","right":"other","distance":5}
    {"left":"second, that is","right":"other","distance":0.5}
    {"left":"third","right":"other","distance":5}
    --- exit 0
    "#);
}

#[test]
fn shells_and_manuals() {
    let folder = Folder::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let shown = folder.run(&format!("completions {shell}"));
        assert!(shown.contains("treeport") && shown.contains("nearest"), "{shell}: {shown}");
    }
    let page = folder.run("man");
    assert!(page.contains(".TH") && page.contains("Learn a tree over a set of points"), "{page}");
    assert_snapshot!(folder.run("man -o pages"), @r#"
    --- stderr
    20 pages written to pages
    --- exit 0
    "#);
    let fit = folder.text("pages/treeport-fit.1");
    assert!(fit.contains("\\-\\-measures") && fit.contains("treeport fit"), "{fit}");
}

#[test]
fn every_command_has_help_with_an_example() {
    let folder = Folder::new();
    let list = folder.run("--help");
    let commands: Vec<&str> = list
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| line.starts_with("  "))
        // Descriptions go on in lines that are further in.
        .filter_map(|line| {
            line.strip_prefix("  ")?.split(' ').next().filter(|word| !word.is_empty())
        })
        .collect();
    assert!(commands.len() > 12, "{list}");
    for command in commands.into_iter().filter(|command| *command != "help") {
        let help = folder.run(&format!("{command} --help"));
        assert!(help.contains(&format!("  treeport {command}")), "{help}");
        assert!(help.contains("--json") && help.ends_with("--- exit 0\n"), "{help}");
    }
}
