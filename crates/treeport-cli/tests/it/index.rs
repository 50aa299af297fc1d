//! `index`, and `nearest` with an index.

use std::fmt::Write;

use insta::assert_snapshot;
use treeport::memory;
use treeport::search::IndexFile;
use treeport::{
    Accuracy, GroundMetric, Index, IndexOptions, Measures, PointMetric, Problem, silent,
};

use crate::determinism::with_plane;
use crate::folder::Folder;

const BUILD: &str = "index --points line.csv --measures measures.csv";

/// The folder's points and measures.
fn inputs(folder: &Folder) -> (GroundMetric, Measures) {
    let (points, many) = (folder.read("points.csv"), folder.read("many.csv"));
    let metric = GroundMetric::read_points_csv(&points[..], PointMetric::Euclidean);
    (metric.expect("points").0, Measures::read_csv(&many[..]).expect("measures").normalized())
}

/// A folder with twenty measures in `many.csv`, their index in `many.index`, and seven queries.
fn with_index() -> (Folder, GroundMetric, Measures, Measures) {
    let folder = with_plane(40);
    let mut rows = String::new();
    for query in 0..7 {
        let masses: Vec<_> =
            (0..40).map(|p| usize::from((p + query) % (query + 4) == 0).to_string()).collect();
        writeln!(rows, "{}", masses.join(",")).expect("a string takes all");
    }
    folder.write("queries.csv", rows);
    folder.json("index --points points.csv --measures many.csv --normalize --json -o many.index");
    let queries = Measures::read_csv(&folder.read("queries.csv")[..]).expect("queries");
    let (metric, measures) = inputs(&folder);
    (folder, metric, measures, queries.normalized())
}

/// All distances of a query, the nearest first; ties by number.
fn brute(
    metric: &GroundMetric,
    measures: &Measures,
    queries: &Measures,
    query: usize,
) -> Vec<(usize, f64)> {
    let distance = |j| Problem::new(metric, &queries.row(query), &measures.row(j)).value(&silent);
    let mut all: Vec<(usize, f64)> =
        (0..measures.len()).map(|j| (j, distance(j).expect("a distance"))).collect();
    all.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    all
}

/// Neighbor, distance and bound of every row of a query, from the lines of `--json`.
fn answers(rows: &[serde_json::Value], query: usize) -> Vec<(usize, f64, f64)> {
    let of_query = rows.iter().filter(|row| row["query"] == query);
    let number = |row: &serde_json::Value, key: &str| row[key].as_f64().unwrap_or(f64::INFINITY);
    let rows = of_query.enumerate().map(|(k, row)| {
        assert_eq!(row["rank"], k + 1);
        (number(row, "neighbor") as usize, number(row, "distance"), number(row, "bound"))
    });
    rows.collect()
}

const ASK: &str = "nearest many.index --queries queries.csv --normalize --json";

#[test]
fn neighbors_are_those_of_solving_every_pair() {
    let (folder, metric, measures, queries) = with_index();
    let rows = folder.json(&format!("{ASK} -k 4"));
    assert_eq!(rows.len(), 4 * queries.len());
    let all = folder.json(&format!("{ASK} -k 100"));
    assert_eq!(all.len(), measures.len() * queries.len());
    for query in 0..queries.len() {
        let expected = brute(&metric, &measures, &queries, query);
        let beyond = expected[4].1;
        for (found, expected) in answers(&rows, query).iter().zip(&expected) {
            assert!((found.1 - expected.1).abs() <= 1e-9 * expected.1, "{found:?} {expected:?}");
            assert!(found.2 <= beyond * (1.0 + 1e-9), "{found:?} {beyond}");
            assert!(found.2 >= found.1 * (1.0 - 1e-9), "the proof is of those left out");
        }
        for (found, expected) in answers(&all, query).iter().zip(&expected) {
            assert!((found.1 - expected.1).abs() <= 1e-9 * expected.1);
            assert_eq!(found.2, f64::INFINITY, "none is left out");
        }
    }
}

#[test]
fn a_radius_a_share_estimates_and_a_time() {
    let (folder, metric, measures, queries) = with_index();
    let radius = brute(&metric, &measures, &queries, 0)[5].1 * (1.0 + 1e-9);
    let within = folder.json(&format!("{ASK} --radius {radius}"));
    let close = folder.json(&format!("{ASK} -k 4 --accuracy 0.3"));
    let rough = folder.json(&format!("{ASK} -k 20 --accuracy approximate"));
    let hour = folder.run(&format!("{ASK} -k 4 --time 1h"));
    assert_eq!(hour, folder.run(&format!("{ASK} -k 4")));
    let late = folder.json(&format!("{ASK} -k 4 --time 0.000000001s"));
    for query in 0..queries.len() {
        let expected = brute(&metric, &measures, &queries, query);
        let inside = expected.iter().filter(|other| other.1 <= radius).count();
        assert_eq!(answers(&within, query).len(), inside);
        assert_eq!(answers(&close, query).len(), 4);
        for (found, expected) in answers(&close, query).iter().zip(&expected) {
            assert!(found.1 <= 1.3 * expected.1 * (1.0 + 1e-9), "{found:?} {expected:?}");
        }
        assert_eq!(answers(&late, query).len(), 4);
        for (neighbor, found, _) in answers(&rough, query).into_iter().chain(answers(&late, query))
        {
            let (_, distance) =
                expected[expected.iter().position(|e| e.0 == neighbor).expect("one")];
            assert!((found - distance).abs() <= 1e-9 * distance, "{found} for {distance}");
        }
    }
    let facts = |args: &str| folder.json(&format!("{ASK} {args} -o n.csv")).remove(0);
    let said = facts("-k 4 --approximate");
    let recall = said["expected_recall"].as_f64().expect("a share");
    assert!((0.0..=1.0).contains(&recall) && said["solved"].as_u64() >= Some(4), "{said}");
    assert!(said["proved"].as_u64() <= said["queries"].as_u64(), "{said}");
    let file = IndexFile::load(folder.path("many.index")).expect("an index");
    assert_eq!(recall, file.index.expected_recall(4, &silent).expect("an answer"));
    assert_eq!(said["accuracy"], "approximate");
    let said = facts("-k 4 --within 0.3");
    assert_eq!(
        (&said["accuracy"], &said["k"], &said["queries"]),
        (&0.3.into(), &4.into(), &7.into())
    );
    let said = facts(&format!("--radius {radius}"));
    assert_eq!((said["radius"].as_f64(), said.get("k")), (Some(radius), None));
    assert!(said["solved"].as_u64() > Some(0), "{said}");
}

#[test]
fn the_library_and_the_command_line_write_the_same_file() {
    let (folder, metric, measures, queries) = with_index();
    let build = |memory| {
        let options = IndexOptions { memory, ..IndexOptions::default() };
        let index = Index::new(&metric, &measures, &options, &silent).expect("an index");
        IndexFile { index, point_names: None }
    };
    let mut file = build(None);
    assert!(file.to_bytes().expect("a file") == folder.read("many.index"));
    let args = "index --points points.csv --measures many.csv --normalize --json -o";
    for threads in [1, 3] {
        folder.json(&format!("{args} other.index --threads {threads}"));
        assert!(folder.read("other.index") == folder.read("many.index"), "{threads} threads");
    }
    let small = memory::parse("1kB").expect("a size");
    folder.json(&format!("{args} small.index --keep 1kB"));
    assert!(build(Some(small)).to_bytes().expect("a file") == folder.read("small.index"));
    file.index.remove(&[3, 7]).expect("two of them");
    file.index.add(&queries, &silent).expect("more");
    folder.json("index many.index --add queries.csv --normalize --remove 3,7 --json -o many.index");
    assert!(file.to_bytes().expect("a file") == folder.read("many.index"));
    let graph = file.index.graph(3, Accuracy::EXACT, &silent).expect("neighbors");
    let rows = folder.json("nearest many.index -k 3 --json");
    for (number, neighbors) in graph.iter().enumerate() {
        let found = answers(&rows, number);
        let found: Vec<_> =
            found.into_iter().map(|(other, distance, _)| (other, distance)).collect();
        assert_eq!(found, neighbors.found, "measure {number}");
        assert_eq!(found.is_empty(), [3, 7].contains(&number));
    }
}

#[test]
fn answers_do_not_depend_on_threads() {
    let (folder, ..) = with_index();
    for args in ["-k 3", "--radius 20", "--within 0.1", "--approximate"] {
        let one = folder.run(&format!("{ASK} {args} --threads 1"));
        assert!(one.lines().count() > 10, "{one}");
        assert_eq!(one, folder.run(&format!("{ASK} {args} --threads 3")));
    }
}

#[test]
fn what_an_index_says() {
    let folder = Folder::new();
    folder.write("titles.txt", "first\nsecond, that is\nthird\n");
    folder.write("queries.csv", "0,0,0,1\n");
    folder.write("query-names.txt", "new\n");
    assert_snapshot!(folder.run(&format!("{BUILD} --measure-names titles.txt -o docs.index")), @r#"
    measures  3
    points    4 in use of 4
    memory    216 bytes beside points and measures
    seconds   [time]
    written   docs.index
    --- exit 0
    "#);
    assert_snapshot!(folder.run("nearest docs.index"), @r#"
    query,rank,neighbor,distance,bound
    first,1,third,0.5,inf
    first,2,"second, that is",5,inf
    "second, that is",1,first,5,inf
    "second, that is",2,third,5.5,inf
    third,1,first,0.5,inf
    third,2,"second, that is",5.5,inf
    --- exit 0
    "#);
    assert_snapshot!(folder.run("nearest docs.index --radius 1 -o n.csv"), @r#"
    --- stderr
    neighbors of 3 measures, 2 pairs solved, written to n.csv
    --- exit 0
    "#);
    let ask = "nearest docs.index --queries queries.csv --query-names query-names.txt";
    assert_snapshot!(folder.run(&format!("{ask} --json")), @r#"
    {"query":"new","rank":1,"neighbor":"second, that is","distance":0.5,"bound":null}
    {"query":"new","rank":2,"neighbor":"first","distance":5.5,"bound":null}
    {"query":"new","rank":3,"neighbor":"third","distance":6,"bound":null}
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{ask} --approximate -o n.csv")), @r#"
    --- stderr
    neighbors of 1 measures, about 100.0 % of the true ones, written to n.csv
    --- exit 0
    "#);
    assert_eq!(folder.run(&format!("{ask} --quiet -o n.csv")), "--- exit 0\n");
    assert_eq!(folder.text("n.csv") + "--- exit 0\n", folder.run(ask));
    let facts = folder.json(&format!("{BUILD} --json -o docs.index")).remove(0);
    assert_eq!((&facts["measures"], &facts["points_in_use"]), (&3.into(), &4.into()));
    assert_eq!((&facts["command"], &facts["file"]), (&"index".into(), &"docs.index".into()));
    assert!(facts["bytes"].as_u64() > Some(0) && facts["seconds"].as_f64() > Some(0.0), "{facts}");
}

#[test]
fn columns_go_by_the_names_of_points() {
    let folder = Folder::new();
    folder.write("roads.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    folder.write("queries.csv", "d,c,b,a\n1,0,0,0\n");
    folder.json("index --graph roads.csv --measures measures.csv --json -o docs.index");
    assert_snapshot!(folder.run("nearest docs.index --queries queries.csv -k 3 --json"), @r#"
    {"query":0,"rank":1,"neighbor":1,"distance":0.5,"bound":null}
    {"query":0,"rank":2,"neighbor":0,"distance":5.5,"bound":null}
    {"query":0,"rank":3,"neighbor":2,"distance":6,"bound":null}
    --- exit 0
    "#);
}

#[test]
fn models_and_indexes_are_told_apart() {
    let folder = Folder::with_model();
    folder.json(&format!("{BUILD} --json -o docs.index"));
    assert_snapshot!(folder.error("nearest docs.index --measures measures.csv"),
        @"docs.index: an index searches its own measures; leave `--measures` out, give queries with `--queries`, or add measures with `treeport index docs.index --add`");
    folder.write("titles.txt", "first\nsecond\nthird\n");
    assert_snapshot!(folder.error("nearest docs.index --measure-names titles.txt"),
        @"docs.index: an index keeps its names, which are given to `treeport index`");
    assert_snapshot!(folder.error("nearest docs.index --normalize"),
        @"docs.index: an index keeps its measures as they are; leave `--normalize` out");
    for model in ["model.tree", "model.nwk"] {
        let said = folder.error(&format!("nearest {model}"));
        assert_eq!(said, format!("{model}: it holds no measures; give `--measures`"));
        for option in [
            "--radius 1",
            "--accuracy 0.1",
            "--within 0.1",
            "--approximate",
            "--time 1s --queries q",
        ] {
            let said = folder.error(&format!("nearest {model} --measures measures.csv {option}"));
            assert!(said.starts_with(&format!("{model}: it is not an index, which `--")), "{said}");
        }
    }
    assert_snapshot!(folder.error("index model.tree --remove 0 -o new.index"),
        @"`model.tree` is not a treeport index: it holds a single tree; open it as one");
    assert_snapshot!(folder.error("distance docs.index --measures measures.csv"),
        @"`docs.index` is not a treeport tree: it holds an index of measures; open it as one");
    assert_snapshot!(folder.error("nearest line.csv"),
        @"`line.csv` is not a treeport tree: no header fits its first 8 bytes; it is cut off or no safetensors file");
    assert_snapshot!(folder.error("nearest none.index"),
        @"cannot read `none.index`: No such file or directory");
}

#[test]
fn bad_questions_name_what_is_wrong() {
    let folder = Folder::new();
    folder.json(&format!("{BUILD} --json -o docs.index"));
    folder.write("heavy.csv", "0,0,0,2\n");
    folder.write("uneven.csv", "1,0,0,0\n0,0,0,2\n");
    folder.write("narrow.csv", "0,1\n");
    assert_snapshot!(folder.error("nearest docs.index --queries heavy.csv"), @r#"
    heavy.csv against docs.index: measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    assert_snapshot!(folder.error("nearest docs.index --queries narrow.csv"),
        @"narrow.csv: the measures live on 2 points, the tree or metric on 4");
    assert_snapshot!(folder.error("nearest docs.index --accuracy -0.1"), @r#"
    invalid value '-0.1' for '--accuracy <HOW>': the accuracy of a search is `-0.1`; it must be exact, approximate or a finite number of at least 0

    For more information, try '--help'.
    "#);
    let old = folder.error("nearest docs.index --within -0.1");
    assert_eq!(old, folder.error("nearest docs.index --accuracy -0.1"));
    assert!(folder.error("nearest docs.index --accuracy flow").contains("a search is `flow`; it"));
    assert_snapshot!(folder.error("nearest docs.index --radius -1"),
        @"`--radius` is -1; a number, at least 0");
    for options in
        ["--radius 1 -k 2", "--radius 1 --accuracy 0.1", "--accuracy exact --approximate"]
    {
        assert!(folder.error(&format!("nearest docs.index {options}")).contains("cannot be used"));
    }
    let before = (folder.files(), folder.read("docs.index"));
    assert_snapshot!(folder.error("index --points line.csv --measures uneven.csv -o docs.index"), @r#"
    uneven.csv: measures 0 and 1 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    assert_snapshot!(folder.error("index docs.index --add heavy.csv -o docs.index"), @r#"
    heavy.csv against docs.index: measures 0 and 0 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    assert_snapshot!(folder.error("index docs.index --remove 3 -o docs.index"),
        @"docs.index: there is no measure 3: the set holds 3, numbered from 0");
    assert_snapshot!(folder.error("index docs.index --remove 2,2 -o docs.index"),
        @"docs.index: measure 2 was removed before, or is listed twice");
    assert_snapshot!(folder.error("index docs.index -o docs.index"),
        @"there is nothing to do; give `--add` or `--remove`, or search with `nearest`");
    assert_snapshot!(folder.error(&format!("{BUILD} -o -")),
        @"`index` prints a summary on stdout; give the index a file of its own");
    assert_snapshot!(folder.error(&format!("{BUILD} -o measures.csv")).split(", ").next().expect("a part"),
        @"`--output` and `measures` are the same file");
    assert_eq!((folder.files(), folder.read("docs.index")), before);
}

#[test]
fn names_are_for_all_measures_or_for_none() {
    let folder = Folder::new();
    folder.write("titles.txt", "first\nsecond\nthird\n");
    folder.write("more.csv", "0,0,0,1\n");
    folder.write("more.txt", "more\n");
    folder.json(&format!("{BUILD} --json -o plain.index"));
    folder.json(&format!("{BUILD} --measure-names titles.txt --json -o named.index"));
    assert_snapshot!(folder.error("index named.index --add more.csv -o new.index"), @r#"
    more.csv against named.index: the measures of the index have names; name those that are added, too

    hint: `--measure-names` names them, and so does a column `id` of their table
    "#);
    let named = "--add more.csv --measure-names more.txt";
    assert_snapshot!(folder.error(&format!("index plain.index {named} -o new.index")),
        @"plain.index: its measures have no names; leave `--measure-names` out");
    folder.json(&format!("index named.index {named} --remove 0 --json -o new.index"));
    assert_snapshot!(folder.run("nearest new.index -k 2 --json"), @r#"
    {"query":"second","rank":1,"neighbor":"more","distance":0.5,"bound":null}
    {"query":"second","rank":2,"neighbor":"third","distance":5.5,"bound":null}
    {"query":"third","rank":1,"neighbor":"second","distance":5.5,"bound":null}
    {"query":"third","rank":2,"neighbor":"more","distance":6,"bound":null}
    {"query":"more","rank":1,"neighbor":"second","distance":0.5,"bound":null}
    {"query":"more","rank":2,"neighbor":"third","distance":6,"bound":null}
    --- exit 0
    "#);
}

#[test]
fn measures_come_and_go_by_their_ids() {
    let folder = Folder::new();
    folder
        .write("samples.csv", "id,a,b,c,d\nS000,1,0,0,0\nS001,0,1,0,0\nS002,0,0,1,0\n2,0,0,0,1\n");
    folder.write("again.csv", "id,a,b,c,d\nS009,1,0,0,0\nS000,0,1,0,0\n");
    folder.write("points.csv", "name,x\na,0\nb,1\nc,5\nd,6\n");
    folder.json("index --points points.csv --measures samples.csv --json -o s.index");
    let before = folder.read("s.index");
    assert_snapshot!(folder.error("index s.index --add again.csv -o s.index"),
        @"again.csv against s.index: two measures would be called `S000`; remove the existing one, or rename the other");
    assert_snapshot!(folder.error("index s.index --remove S003 -o s.index"),
        @"s.index: no measure is called `S003`");
    assert_snapshot!(folder.error("index s.index --remove 2,2 -o s.index"),
        @"s.index: measure 3 was removed before, or is listed twice");
    assert!(folder.read("s.index") == before);
    // A name comes before a number: `2` is the last one, and `1` is S001.
    folder.json("index s.index --remove 2,1 --json -o s.index");
    assert_snapshot!(folder.run("nearest s.index"), @r#"
    query,rank,neighbor,distance,bound
    S000,1,S002,5,inf
    S002,1,S000,5,inf
    --- exit 0
    "#);
    let text = String::from_utf8_lossy(&folder.read("s.index")).into_owned();
    assert!(text.contains("S002") && !text.contains("S001"));
    // What goes makes room for its successor at once.
    folder.json("index s.index --remove S000 --add again.csv --json -o s.index");
    assert_snapshot!(folder.run("nearest s.index"), @r#"
    query,rank,neighbor,distance,bound
    S002,1,S000,4,inf
    S002,2,S009,5,inf
    S009,1,S000,1,inf
    S009,2,S002,5,inf
    S000,1,S009,1,inf
    S000,2,S002,4,inf
    --- exit 0
    "#);
    folder.write("twice.txt", "x\ny\nx\n");
    assert_snapshot!(folder.error(&format!("{BUILD} --measure-names twice.txt -o new.index")),
        @"two measures would be called `x`; remove the existing one, or rename the other");
}

/// Removed measures take no room, and the file is about that of an index that never had them.
#[test]
fn an_index_shrinks_with_what_is_removed() {
    let folder = with_plane(40);
    let row = |r: usize| {
        let masses: Vec<_> = (0..40)
            .map(|p| usize::from(p == r % 40 || (p * 7 + r).is_multiple_of(r % 5 + 3)).to_string())
            .collect();
        masses.join(",") + "\n"
    };
    folder.write("all.csv", (0..400).map(row).collect::<String>());
    folder.write("one.csv", row(399));
    let build = "index --points points.csv --normalize --json --measures";
    folder.json(&format!("{build} all.csv -o all.index"));
    folder.json(&format!("{build} one.csv -o one.index"));
    let removed: Vec<_> = (0..399).map(|number| number.to_string()).collect();
    let facts =
        folder.json(&format!("index all.index --remove {} --json -o few.index", removed.join(",")));
    assert_eq!(facts[0]["measures"], 1);
    let size = |name: &str| folder.read(name).len();
    assert!(
        size("few.index") < size("one.index") * 3 / 2,
        "{} {}",
        size("few.index"),
        size("one.index")
    );
    assert!(size("all.index") > 4 * size("few.index"));
}

#[test]
fn a_damaged_index_is_refused() {
    let (folder, ..) = with_index();
    let whole = folder.read("many.index");
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0x15;
        folder.write("bad.index", &bytes);
        let said = folder.error("nearest bad.index");
        assert!(said.contains("bad.index"), "byte {at}: {said}");
        folder.write("bad.index", &whole[..at]);
        let said = folder.error("index bad.index --remove 0 -o bad.index");
        assert!(said.starts_with("`bad.index` is"), "cut at {at}: {said}");
        assert!(folder.read("bad.index") == whole[..at], "cut at {at}: written to");
    }
}

/// Ctrl-C in the middle leaves the file that was there, and nothing beside it.
#[cfg(unix)]
#[test]
fn an_interrupted_index_leaves_what_was_there() {
    let folder = Folder::new();
    let points: Vec<_> = (0..600).map(|p| format!("{},{}", p * 7 % 601, p * 13 % 599)).collect();
    folder.write("points.csv", points.join("\n"));
    let row = |r: usize| {
        let masses: Vec<_> = (0..600).map(|p| ((p * 5 + r * 3) % 7 + 1).to_string()).collect();
        masses.join(",") + "\n"
    };
    folder.write("many.csv", (0..2000).map(row).collect::<String>());
    folder.write("docs.index", "as it was");
    let before = folder.files();
    let args = "index --points points.csv --measures many.csv --normalize -o docs.index";
    folder.interrupted(args, None);
    assert_eq!((folder.files(), folder.text("docs.index")), (before, "as it was".into()));
}
