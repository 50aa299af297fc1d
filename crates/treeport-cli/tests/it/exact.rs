//! `treeport exact` and `treeport coupling`.

use insta::assert_snapshot;
use treeport_jobs::{JobFingerprint, Journal};

use crate::determinism::with_plane;
use crate::folder::Folder;

/// The three measures, and a matrix of four points where a detour is shorter than the straight way.
fn with_detour() -> Folder {
    let folder = Folder::with_model();
    folder.write("detour.csv", "0,1,5,6\n1,0,1,5\n5,1,0,1\n6,5,1,0\n");
    // The same with every detour taken, as the triangle inequality wants it.
    folder.write("short.csv", "0,1,2,3\n1,0,1,2\n2,1,0,1\n3,2,1,0\n");
    folder.write("shared.csv", "0.5,0.5,0,0\n0,0.5,0.5,0\n");
    folder
}

#[test]
fn exact_distances_of_all_pairs() {
    let folder = Folder::new();
    assert_snapshot!(folder.run("exact --points line.csv --measures measures.csv"), @r#"
    left,right,distance
    0,1,5
    0,2,0.5
    1,2,5.5
    --- exit 0
    "#);
    assert_snapshot!(folder.run("exact --points line.csv --measures measures.csv --json"), @r#"
    {"left":0,"right":1,"distance":5}
    {"left":0,"right":2,"distance":0.5}
    {"left":1,"right":2,"distance":5.5}
    --- exit 0
    "#);
}

#[test]
fn coordinates_that_go_round() {
    let folder = Folder::new();
    for metric in ["euclidean", "chebyshev"] {
        let exact = format!("exact --points line.csv --measures measures.csv --metric {metric}");
        let round = folder.run(&format!("{exact} --period 7"));
        assert!(round.starts_with("left,right,distance\n0,1,2\n0,2,0.5\n1,2,1.5\n"), "{round}");
        let none = folder.run(&format!("{exact} --period none"));
        assert_eq!(none, folder.run(&exact));
    }
    folder.run(
        "fit --points line.csv --period 7 --measures measures.csv --with-metric -o round.tree",
    );
    let rows = folder.json("estimate round.tree --measures measures.csv --accuracy exact --json");
    let found: Vec<f64> = rows
        .iter()
        .filter_map(|row| row.get("estimate").or(row.get("distance"))?.as_f64())
        .collect();
    assert_eq!(found, [2.0, 0.5, 1.5]);
}

#[test]
fn bounds_of_all_pairs() {
    let folder = Folder::new();
    let exact = "exact --points line.csv --measures measures.csv";
    for target in ["--accuracy 0.01", "--accuracy exact --time 1m", "--time 10m"] {
        let rows = folder.json(&format!("{exact} {target} --json"));
        assert_eq!(rows.len(), 3);
        for (row, exact) in rows.iter().zip([5.0, 0.5, 5.5]) {
            let [lower, upper] = ["lower", "upper"].map(|name| row[name].as_f64().unwrap());
            assert!(lower <= exact && upper >= exact && upper - lower <= 1e-8, "{row}");
        }
    }
    assert!(folder.run(&format!("{exact} --accuracy 0.5 -o bounds.csv")).contains("3 bounds"));
    assert!(folder.read("bounds.csv").starts_with(b"left,right,lower,upper\n0,1,"));
    assert!(folder.run(&format!("{exact} --accuracy flow")).contains("--- exit 2"));
    assert!(folder.run(&format!("{exact} --time 3")).contains("with its unit, such as 30s"));
}

#[test]
fn bounds_refuse_what_they_cannot_use() {
    let folder = Folder::new();
    let exact = "exact --points line.csv --measures measures.csv";
    for bad in ["-1", "nan", "fast", "1e-15"] {
        let said = folder.run(&format!("{exact} --accuracy {bad}"));
        assert!(said.contains("it must be exact, 0 or a number of at least 1e-9"), "{said}");
        assert!(said.contains("--- exit 2"), "{said}");
    }
    for bad in ["0s", "-1s", "nans", "infs", "soon"] {
        let said = folder.run(&format!("{exact} --time {bad}"));
        assert!(said.contains("it must be a number above 0 with its unit"), "{said}");
        assert!(said.contains("--- exit 2"), "{said}");
    }
    assert!(folder.run(&format!("{exact} --time 1e300h")).ends_with("--- exit 0\n"));
    for fine in ["0", "1", "7.5", "inf"] {
        let rows = folder.json(&format!("{exact} --accuracy {fine} --json"));
        for (row, exact) in rows.iter().zip([5.0, 0.5, 5.5]) {
            let [lower, upper] = ["lower", "upper"].map(|name| row[name].as_f64().unwrap());
            assert!(lower <= exact && upper >= exact, "{fine} {row}");
        }
    }
}

#[test]
fn engines_are_explained() {
    let folder = Folder::new();
    let exact = "exact --points line.csv --measures measures.csv --explain";
    assert_snapshot!(folder.run(exact), @r"
    left,right,engines,sources,sinks,reason
    0,1,line,2,2,points with one coordinate
    0,2,line,1,1,points with one coordinate
    1,2,line,2,1,points with one coordinate
    --- exit 0
    ");
    let rows = folder.json(&format!("{exact} --penalty 2 --json"));
    assert!(rows.len() == 3 && rows.iter().all(|row| row["engines"] == "small"), "{rows:?}");
    assert!(folder.run(&format!("{exact} --shard 1/2 -o a.csv.shard")).contains("--- exit 2"));
}

#[test]
fn mass_that_is_left_behind() {
    let folder = Folder::new();
    folder.write("unequal.csv", "2,0,1\n0,2,0\n");
    folder.write("three.csv", "0\n1\n9\n");
    let exact = "exact --points three.csv --measures unequal.csv";
    assert!(folder.run(exact).contains("--- exit 2"));
    // As in the examples of `tp.emd`.
    assert_snapshot!(folder.run(&format!("{exact} --penalty 3")), @r"
    left,right,distance
    0,1,5
    --- exit 0
    ");
    assert_snapshot!(folder.run(&format!("{exact} --mass 1.5")), @r"
    left,right,distance
    0,1,1.5
    --- exit 0
    ");
    let bounds = folder.json(&format!("{exact} --penalty 3 --accuracy 0.1 --json"));
    assert!(bounds[0]["lower"].as_f64().unwrap() <= 5.0, "{bounds:?}");
    assert!(bounds[0]["upper"].as_f64().unwrap() >= 5.0, "{bounds:?}");
    for (bad, words) in [
        ("--penalty -1", "it must be finite and at least 0"),
        ("--penalty nan", "it must be finite and at least 0"),
        ("--penalty inf", "it must be finite and at least 0"),
        ("--mass -1", "at most the smaller of the totals"),
        ("--mass 2.5", "at most the smaller of the totals"),
        ("--mass 1 --penalty 1", "cannot be used with"),
    ] {
        let said = folder.run(&format!("{exact} {bad}"));
        assert!(said.contains(words) && said.contains("--- exit 2"), "{said}");
        assert!(said.starts_with("--- stderr"), "no header before the error: {said}");
    }
    // What another penalty left behind is not gone on with.
    let file = folder.run(&format!("{exact} --penalty 3 -o left.csv"));
    assert!(file.contains("1 exact distances"), "{file}");
    assert_eq!(folder.read("left.csv"), b"left,right,distance\n0,1,5\n");
    folder.write("clouds.csv", "id,mass,x\na,2,0\na,1,9\nb,2,1\n");
    let said = folder.run("exact --clouds clouds.csv --penalty 3");
    assert!(said.starts_with("left,right,distance\na,b,5\n"), "{said}");
}

#[test]
fn exact_distances_of_listed_and_random_pairs() {
    let folder = Folder::new();
    folder.write("pairs.csv", "left,right\n2,1\n1,1\n");
    let exact = "exact --points line.csv --measures measures.csv";
    assert_snapshot!(folder.run(&format!("{exact} --pairs pairs.csv")), @r#"
    left,right,distance
    2,1,5.5
    1,1,0
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{exact} --n-pairs 1 --seed 5")), @r#"
    left,right,distance
    0,1,5
    --- exit 0
    "#);
    let all = folder.json(&format!("{exact} --n-pairs 100 --json"));
    assert_eq!(all.len(), 3, "there are no more");
    let old = folder.run(&format!("{exact} --pairs-file pairs.csv"));
    assert_eq!(old, folder.run(&format!("{exact} --pairs pairs.csv")));
    assert_snapshot!(folder.error(&format!("{exact} --pairs 100")), @r#"
    cannot read `100`: No such file or directory

    hint: `--n-pairs 100` draws that many pairs
    "#);
}

#[test]
fn exact_distances_into_files() {
    let folder = Folder::new();
    let exact = "exact --points line.csv --measures measures.csv -o";
    assert_snapshot!(folder.run(&format!("{exact} labels.csv")), @r#"
    --- stderr
    3 exact distances written to labels.csv
    --- exit 0
    "#);
    assert_snapshot!(folder.text("labels.csv"), @r#"
    left,right,distance
    0,1,5
    0,2,0.5
    1,2,5.5
    "#);
    assert_eq!(folder.files(), ["labels.csv", "line.csv", "measures.csv"]);
    let summary = &folder.json(&format!("{exact} again.csv --json"))[0];
    assert_eq!((&summary["command"], &summary["file"]), (&"exact".into(), &"again.csv".into()));
    assert_eq!((&summary["pairs"], &summary["done_before"]), (&3.into(), &0.into()));
    let printed = folder.run("exact --points line.csv --measures measures.csv -o -");
    assert_eq!(printed, format!("{}--- exit 0\n", folder.text("again.csv")));
}

#[cfg(unix)]
#[test]
fn a_device_has_no_journal_beside_it() {
    let folder = Folder::new();
    let shown = folder.run("exact --points line.csv --measures measures.csv -o /dev/stdout");
    assert_eq!(shown, folder.run("exact --points line.csv --measures measures.csv"));
}

#[test]
fn a_promise_lets_shared_mass_stay() {
    let folder = with_detour();
    let exact = "exact --matrix detour.csv --measures shared.csv";
    assert_snapshot!(folder.run(exact), @r#"
    left,right,distance
    0,1,1
    --- exit 0
    "#);
    let exact = "exact --matrix short.csv --measures shared.csv";
    assert_eq!(folder.run(&format!("{exact} --assume-metric")), folder.run(exact));
    let eval = "eval model.tree --matrix short.csv --measures measures.csv --json";
    assert_eq!(folder.json(&format!("{eval} --assume-metric")).len(), 4);
    let fit = "fit --matrix short.csv --measures measures.csv --json -o a.tree";
    assert_eq!(folder.json(&format!("{fit} --assume-metric")).len(), 1);
}

#[test]
fn a_graph_and_its_matrix_agree() {
    let folder = Folder::new();
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    let of_graph = folder.run("exact --graph graph.csv --measures measures.csv");
    assert_eq!(of_graph, folder.run("exact --points line.csv --measures measures.csv"));
}

#[test]
fn labels_from_exact_are_those_that_fit_makes_itself() {
    let folder = with_plane(40);
    let inputs = "--points points.csv --measures many.csv --normalize";
    folder.json(&format!("exact {inputs} --n-pairs 50 --seed 3 --json -o labels.csv"));
    let fit = format!("fit {inputs} --seed 3 --epochs 3 --json");
    folder.json(&format!("{fit} --n-pairs 50 -o own.tree"));
    folder.json(&format!("{fit} --labels labels.csv -o given.tree"));
    assert!(folder.read("own.tree") == folder.read("given.tree"));
    let eval = format!("eval own.tree {inputs} --labels labels.csv --json");
    assert_eq!(folder.json(&eval)[0]["pairs"], 50);
}

#[test]
fn a_journal_of_another_job_is_refused() {
    let folder = Folder::new();
    let (path, other) = (folder.path("labels.csv.part"), JobFingerprint::new("treeport-exact-3"));
    let mut journal = Journal::open(&path, &other.part("metric", 0)).expect("a journal");
    journal.append(b"0,1,0.5\n").expect("a line");
    drop(journal);
    let first = folder.text("labels.csv.part");
    let exact = "exact --points line.csv --measures measures.csv -o labels.csv";
    assert_snapshot!(folder.error(exact),
        @"`labels.csv.part` was left by another job (other metric, measures, pairs); run that job again to finish it, delete the file to start over, or give another `-o`");
    assert_eq!(folder.text("labels.csv.part"), first);
    folder.write("labels.csv.part", "hello\n");
    assert_snapshot!(folder.error(exact),
        @"`labels.csv.part` is not a journal of this command; move it away or give another `-o`");
    assert_eq!(folder.text("labels.csv.part"), "hello\n");
}

#[test]
fn bad_jobs() {
    let folder = Folder::new();
    folder.write("unequal.csv", "1,0,0,0\n0,1,0,0\n0,0,1,1\n");
    let exact = "exact --points line.csv --measures";
    assert_snapshot!(folder.error(&format!("{exact} unequal.csv -o labels.csv")), @r#"
    unequal.csv: measures 0 and 2 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    folder.write("single.csv", "1,0,0,0\n");
    assert_snapshot!(folder.error(&format!("{exact} single.csv")),
        @"single.csv: the number of measures is 1; a pair needs two of them");
    assert_snapshot!(folder.error(&format!("{exact} measures.csv -o labels.npy")),
        @"cannot write `labels.npy`: exact distances go to a .csv file");
    assert_snapshot!(folder.error(&format!("{exact} measures.csv -o nowhere/labels.csv")),
        @"cannot write `nowhere/labels.csv`: there is no folder `nowhere`");
    folder.write("far.csv", "left,right\n0,3\n");
    assert_snapshot!(folder.error(&format!("{exact} measures.csv --pairs far.csv")),
        @"far.csv: line 2: there is no measure 3: the set holds 3, numbered from 0");
    assert_snapshot!(folder.error(&format!("{exact} measures.csv --assume-metric")), @r#"
    the argument '--points <FILE>' cannot be used with '--assume-metric'

    Usage: treeport exact --measures <FILE> <--points <FILE>|--matrix <FILE>|--graph <FILE>|--clouds <FILE>>

    For more information, try '--help'.
    "#);
    assert_eq!(
        folder.files(),
        ["far.csv", "line.csv", "measures.csv", "single.csv", "unequal.csv"]
    );
}

#[test]
fn the_plan_of_a_tree() {
    let folder = Folder::with_model();
    let coupling = "coupling model.tree --measures measures.csv --pair 0 2";
    assert_snapshot!(folder.run(coupling), @r#"
    from,to,mass,distance
    a,a,0.5,0
    b,a,0.5,1
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{coupling} --json")), @r#"
    {"from":"a","to":"a","mass":0.5,"distance":0}
    {"from":"b","to":"a","mass":0.5,"distance":1}
    --- exit 0
    "#);
    assert_snapshot!(folder.run(&format!("{coupling} -o plan.csv")), @r#"
    --- stderr
    2 moves written to plan.csv
    --- exit 0
    "#);
    assert_eq!(folder.run(coupling), format!("{}--- exit 0\n", folder.text("plan.csv")));
    assert_eq!(folder.json(&format!("{coupling} --json -o plan.csv"))[0]["moves"], 2);
}

#[test]
fn the_exact_plan() {
    let folder = with_detour();
    let line = "coupling --exact --points line.csv --measures measures.csv --pair 0 1";
    assert_snapshot!(folder.run(line), @r#"
    from,to,mass,distance
    0,2,0.5,5
    1,3,0.5,5
    --- exit 0
    "#);
    let detour = "coupling --exact --matrix detour.csv --measures shared.csv --pair 0 1";
    assert_snapshot!(folder.run(detour), @r#"
    from,to,mass,distance
    0,1,0.5,1
    1,2,0.5,1
    --- exit 0
    "#);
    folder.write("names.txt", "Aarhus\nYork, New\nCork\nDelhi\n");
    let named = "coupling --exact --matrix short.csv --measures shared.csv --pair 0 1 \
                 --assume-metric --names names.txt";
    assert_snapshot!(folder.run(named), @r#"
    from,to,mass,distance
    Aarhus,Cork,0.5,2
    "York, New","York, New",0.5,0
    --- exit 0
    "#);
    folder.write("graph.csv", "source,target,weight\na,b,1\nb,c,4\nc,d,1\n");
    let graph = "coupling --exact --graph graph.csv --measures measures.csv --pair 0 1 --json";
    assert_snapshot!(folder.run(graph), @r#"
    {"from":"a","to":"d","mass":0.5,"distance":6}
    {"from":"b","to":"c","mass":0.5,"distance":4}
    --- exit 0
    "#);
}

#[test]
fn orders_are_those_of_the_library() {
    let folder = Folder::new();
    folder.write("pair.csv", "left,right\n0,1\n");
    let exact = "exact --points line.csv --measures measures.csv --pairs pair.csv --json --order";
    // Every move of the only plan in this order is 5.
    for order in ["1", "2", "3.5", "inf"] {
        let found = folder.json(&format!("{exact} {order}"))[0]["distance"].as_f64().unwrap();
        assert!((found - 5.0).abs() < 1e-9, "{order}: {found}");
    }
    let explained = folder.run(&format!("{exact} inf --explain"));
    assert!(explained.contains("bottleneck"), "{explained}");
    for order in ["0.5", "-1", "nan"] {
        let error = folder.error(&format!("{exact} {order}"));
        assert!(error.contains("at least 1, or `inf` for the bottleneck distance"), "{error}");
    }
}

#[test]
fn plans_of_other_solvers_are_certified() {
    let folder = with_detour();
    let pair = "--points line.csv --measures measures.csv --pair 0 1";
    folder.run(&format!("coupling --exact {pair} -o plan.csv"));
    let certify = format!("certify {pair} --plan");
    let found = folder.run(&format!("{certify} plan.csv"));
    assert!(found.starts_with("lower,upper,rerouted\n"), "{found}");
    // The moves of the optimal plan are crossed, and a tenth of one is missing.
    folder.write("crossed.csv", "from,to,mass\n0,3,0.5\n1,2,0.4\n");
    let found = folder.json(&format!("{certify} crossed.csv --json"))[0].clone();
    assert!((found["rerouted"].as_f64().unwrap() - 0.1).abs() < 1e-12, "{found}");
    folder.write("duals.csv", "point,left,right\n0,0,0\n1,-1,1\n2,-5,5\n3,-6,6\n");
    let both =
        folder.json(&format!("{certify} crossed.csv --potentials duals.csv --json"))[0].clone();
    for (name, value) in [("lower", 5.0), ("upper", 5.0)] {
        assert!((both[name].as_f64().unwrap() - value).abs() < 1e-9, "{both}");
    }
    assert!(folder.error(&format!("certify {pair}")).contains("--plan <FILE>"));
    folder.write("bad.csv", "from,to,mass\n0,3,-0.5\n");
    let error = folder.error(&format!("{certify} bad.csv"));
    assert!(error.contains("the plan moves -0.5 from point 0 to point 3"), "{error}");
    folder.write("bad.csv", "from,to,mass\n0,9,0.5\n");
    let error = folder.error(&format!("{certify} bad.csv"));
    assert!(error.contains("to is 9, but there are 4 points, numbered from 0"), "{error}");
    folder.write("bad.csv", "point,left,right\n0,0,0\n");
    let error = folder.error(&format!("certify {pair} --potentials bad.csv"));
    assert!(error.contains("the potential of point 1 of measure 0 is NaN"), "{error}");
}

#[test]
fn plans_of_nothing() {
    let folder = Folder::with_model();
    let measures = "--measures measures.csv --pair 0";
    assert_snapshot!(folder.error(&format!("coupling model.tree {measures} 7")),
        @"measures.csv: there is no measure 7: the set holds 3, numbered from 0");
    assert_snapshot!(folder.error(&format!("coupling --exact {measures} 1")), @r#"
    the following required arguments were not provided:
      <--points <FILE>|--matrix <FILE>|--graph <FILE>>

    Usage: treeport coupling --pair <I> <J> --measures <FILE> --exact <--points <FILE>|--matrix <FILE>|--graph <FILE>> [MODEL]

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error(&format!("coupling model.tree --points line.csv {measures} 1")), @r#"
    the argument '[MODEL]' cannot be used with:
      --points <FILE>
      --matrix <FILE>
      --graph <FILE>

    Usage: treeport coupling --pair <I> <J> --measures <FILE> <MODEL>

    For more information, try '--help'.
    "#);
    folder.write("names.txt", "a\nb\n");
    let named = format!("coupling --exact --points line.csv --names names.txt {measures} 1");
    assert_snapshot!(folder.error(&named), @"names.txt: 2 names for 4 points");
}

#[test]
fn graphs_in_pieces_are_solved_piece_by_piece() {
    let folder = Folder::new();
    folder.write("apart.csv", "source,target,weight\na,b,2\nc,d,1\nd,e,1\n");
    folder.write("shares.csv", "id,a,b,c,d,e\nx,1,0,2,0,0\ny,0,1,1,0,1\nz,0,2,1,0,0\n");
    let exact = "exact --graph apart.csv --measures shares.csv --pairs pairs.csv";
    folder.write("pairs.csv", "left,right\nx,y\ny,x\n");
    assert_snapshot!(folder.run(exact), @r#"
    left,right,distance
    x,y,4
    y,x,4
    --- exit 0
    "#);
    let coupling = "coupling --exact --graph apart.csv --measures shares.csv --pair x";
    assert_snapshot!(folder.run(&format!("{coupling} y")), @r#"
    from,to,mass,distance
    a,b,1,2
    c,c,1,0
    c,e,1,2
    --- exit 0
    "#);
    let apart = "measures 0 and 2 have mass 1 and 2 in the component of node `a`, and no path leads out of it; \
                 make them equal there, or join the components by edges";
    assert_eq!(folder.error(&format!("{coupling} z")).trim(), apart);
    folder.write("pairs.csv", "left,right\nx,y\nx,z\n");
    assert_eq!(folder.error(&format!("{exact} -o out.csv")).trim(), apart);
    // What is kept of a job belongs to the same graph.
    folder.write("pairs.csv", "left,right\nx,y\n");
    assert!(folder.run(&format!("{exact} -o out.csv")).contains("exit 0"));
    assert_eq!(folder.text("out.csv"), "left,right,distance\nx,y,4\n");
}
