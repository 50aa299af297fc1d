//! Files as users have them: headers and IDs, gzip, stdin and pipes.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use insta::assert_snapshot;

use crate::folder::{Folder, show};

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).expect("memory");
    out.finish().expect("memory")
}

/// The measures of the folder with IDs, as other tools write them, and the same by feature.
fn with_tables() -> Folder {
    let folder = Folder::with_model();
    let rows =
        [("S1", [0.5, 0.5, 0.0, 0.0]), ("S2", [0.0, 0.0, 0.5, 0.5]), ("S 3", [1.0, 0.0, 0.0, 0.0])];
    let line = |name: &str, cells: &[f64], separator: &str| {
        let cells = cells.iter().map(|cell| format!("{separator}{cell:?}"));
        format!("{name}{}\n", cells.collect::<String>())
    };
    let lines = rows.map(|(id, masses)| line(id, &masses, ","));
    let pandas = format!(",a,b,c,d\n{}", lines.concat());
    // Features come in any order.
    let features = [(2, "c"), (0, "a"), (3, "d"), (1, "b")];
    let lines = features.map(|(at, name)| line(name, &rows.map(|(_, masses)| masses[at]), "\t"));
    let head = "# Constructed from biom file\n#OTU ID\tS1\tS2\tS 3\n";
    let biom = format!("{head}{}", lines.concat());
    folder.write("pandas.csv.gz", gzip(pandas.as_bytes()));
    folder.write("table.tsv", pandas.replace(',', "\t"));
    folder.write("table.txt", pandas.replace(',', ";"));
    folder.write("pandas.csv", pandas);
    folder.write("biom.tsv.gz", gzip(biom.as_bytes()));
    folder.write("biom.tsv", biom);
    folder
}

pub(crate) fn stdout(folder: &Folder, args: &str) -> String {
    let ended = folder.output(args);
    assert!(ended.status.success(), "{args}: {}", show(&ended));
    String::from_utf8(ended.stdout).expect("text")
}

#[test]
fn ids_come_back_in_results() {
    let folder = with_tables();
    let expected = "left,right,distance\nS1,S2,5\nS1,S 3,0.5\nS2,S 3,5\n";
    for file in ["pandas.csv", "pandas.csv.gz", "table.tsv", "table.txt"] {
        assert_eq!(stdout(&folder, &format!("distance model.tree --measures {file}")), expected);
    }
    for file in ["biom.tsv", "biom.tsv.gz"] {
        let args = format!("distance model.tree --measures {file} --transpose");
        assert_eq!(stdout(&folder, &args), expected);
    }
    assert_snapshot!(stdout(&folder, "nearest model.nwk --measures pandas.csv -k 1"), @r"
    query,rank,neighbor,distance
    S1,1,S 3,0.5
    S2,1,S1,5
    S 3,1,S1,0.5
    ");
    assert_snapshot!(stdout(&folder, "exact --points line.csv --measures table.tsv"), @r"
    left,right,distance
    S1,S2,5
    S1,S 3,0.5
    S2,S 3,5.5
    ");
    let embedded = stdout(&folder, "embed model.tree --measures biom.tsv --transpose");
    assert!(embedded.contains("\nS 3,0,0.5\n"), "{embedded}");
    let estimated =
        stdout(&folder, "estimate --points line.csv --measures pandas.csv --accuracy exact");
    assert!(estimated.starts_with("left,right,distance\nS1,S2,5\n"), "{estimated}");
    folder.run("index --points line.csv --measures pandas.csv -o some.index");
    let found = stdout(&folder, "nearest some.index --queries table.tsv -k 1");
    assert!(found.contains("\nS 3,1,S 3,0,"), "{found}");
}

/// Labels, pairs and one pair go by IDs too.
#[test]
fn lists_of_pairs_go_by_ids() {
    let folder = with_tables();
    let exact = "exact --points line.csv --measures pandas.csv";
    folder.run(&format!("{exact} -o labels.csv"));
    assert_eq!(folder.text("labels.csv"), stdout(&folder, exact));
    folder.write("numbers.csv", "left,right,distance\n0,1,5\n0,2,0.5\n1,2,5.5\n");
    let fit = |labels: &str| {
        let data = "--points line.csv --measures pandas.csv --method additive --epochs 3";
        folder.json(&format!("fit {data} --labels {labels} --json -o out.tree"));
        folder.read("out.tree")
    };
    assert!(fit("labels.csv") == fit("numbers.csv"));
    folder.write("pairs.tsv", "right\tleft\nS 3\tS2\n");
    let pair = stdout(&folder, "distance model.tree --measures pandas.csv --pairs pairs.tsv");
    assert_eq!(pair, "left,right,distance\nS2,S 3,5\n");
    let plan = stdout(&folder, "coupling model.tree --measures pandas.csv --pair S1 S2");
    assert_eq!(plan, stdout(&folder, "coupling model.tree --measures measures.csv --pair 0 1"));
    folder.write("pairs.csv", "left,right\nS1,S4\n");
    assert_snapshot!(folder.error("distance model.tree --measures pandas.csv --pairs pairs.csv"),
        @"pairs.csv: line 2: right is S4, expected the ID or the number of a measure");
}

/// What pandas and scikit-bio read: names in the first row and column, an empty corner.
#[test]
fn a_square_matrix_has_the_ids() {
    let folder = with_tables();
    let square = "distance model.tree --measures pandas.csv --square";
    assert_snapshot!(stdout(&folder, square), @r"
    ,S1,S2,S 3
    S1,0,5,0.5
    S2,5,0,5
    S 3,0.5,5,0
    ");
    folder.run(&format!("{square} -o m.csv"));
    assert_eq!(folder.text("m.csv"), stdout(&folder, square));
    folder.run(&format!("{square} -o m.tsv"));
    assert_eq!(folder.text("m.tsv"), folder.text("m.csv").replace(',', "\t"));
    let plain = stdout(&folder, "distance model.tree --measures measures.csv --square");
    assert!(plain.starts_with(",0,1,2\n0,0,5,0.5\n"), "{plain}");
    let across = stdout(&folder, &format!("{square} --against measures.csv"));
    assert!(across.starts_with(",0,1,2\nS1,0,5,0.5\n"), "{across}");
    for shard in 1..=2 {
        folder.run(&format!("{square} --shard {shard}/2 -o m{shard}.tsv.shard"));
    }
    folder.run("merge m1.tsv.shard m2.tsv.shard -o merged.tsv");
    assert_eq!(folder.text("merged.tsv"), folder.text("m.tsv"));
    assert_snapshot!(folder.error(&format!("{square} --json")),
        @"`--square` prints a matrix; leave `--json` out");
    assert_snapshot!(folder.error(&format!("{square} -o m.npy")),
        @"cannot write `m.npy`: distances go to a .csv or .tsv file");
    // It is a ground metric with names: that of the three samples.
    folder.write("groups.csv", "S 3,S1,S2\n1,0,0\n0,0,1\n");
    for matrix in ["m.tsv", "m.csv"] {
        let rows = stdout(&folder, &format!("exact --matrix {matrix} --measures groups.csv"));
        assert_eq!(rows, "left,right,distance\n0,1,5\n", "{matrix}");
    }
}

/// The same numbers from every kind of file are the same bytes of results.
#[test]
fn every_format_gives_the_same_bytes() {
    let folder = Folder::new();
    let numbers = |rows: usize, columns: usize| -> Vec<f64> {
        (0..rows * columns).map(|k| 1.0 / (1 + k * k % 97) as f64).collect()
    };
    let (points, masses) = (numbers(9, 3), numbers(20, 9));
    folder.write_npy("points.npy", &[9, 3], &points);
    folder.write_npy("masses.npy", &[20, 9], &masses);
    let text = |values: &[f64], columns: usize, separator: &str| -> String {
        let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(separator);
        values.chunks(columns).map(|values| row(values) + "\n").collect()
    };
    for (name, values, columns) in [("points", &points, 3), ("masses", &masses, 9)] {
        folder.write(&format!("{name}.csv"), text(values, columns, ","));
        folder.write(&format!("{name}.tsv"), text(values, columns, "\t"));
        folder.write(&format!("{name}.tsv.gz"), gzip(text(values, columns, "\t").as_bytes()));
        folder.write(&format!("{name}.npy.gz"), gzip(&folder.read(&format!("{name}.npy"))));
        folder.write(&format!("{name}_without_ending"), text(values, columns, ";"));
    }
    let results = |ending: &str| {
        let (points, masses) = (format!("points{ending}"), format!("masses{ending}"));
        let data = format!("--points {points} --measures {masses} --normalize");
        let fit = format!("fit {data} --method additive --epochs 5 --n-pairs 30 -q -o out.tree");
        assert!(folder.output(&fit).status.success(), "{ending}");
        let exact = stdout(&folder, &format!("exact {data}"));
        let distance = format!("distance out.tree --measures {masses} --normalize -q -o out.npy");
        assert!(folder.output(&distance).status.success(), "{ending}");
        (folder.read("out.tree"), exact, folder.read("out.npy"))
    };
    let expected = results(".npy");
    for ending in [".csv", ".tsv", ".tsv.gz", ".npy.gz", "_without_ending"] {
        assert!(results(ending) == expected, "{ending}");
    }
}

#[test]
fn stdin_is_told_by_its_first_bytes() {
    let folder = with_tables();
    let expected = folder.run("distance model.tree --measures pandas.csv");
    let distance = "distance model.tree --measures";
    for file in ["pandas.csv", "pandas.csv.gz", "table.tsv"] {
        assert_eq!(folder.run_with(&format!("{distance} -"), &folder.read(file)), expected);
        let stdin = format!("{distance} /dev/stdin");
        assert_eq!(folder.run_with(&stdin, &folder.read(file)), expected);
    }
    // A model from stdin, in every form.
    folder.write("model.nwk.gz", gzip(&folder.read("model.nwk")));
    for model in ["model.tree", "model.nwk", "model.nwk.gz"] {
        let args = "distance - --measures pandas.csv";
        assert_eq!(folder.run_with(args, &folder.read(model)), expected, "{model}");
        assert_eq!(folder.run(&format!("distance {model} --measures pandas.csv")), expected);
        let nearest = folder.run_with("nearest - --measures pandas.csv", &folder.read(model));
        assert_eq!(nearest, folder.run(&format!("nearest {model} --measures pandas.csv")));
    }
    let args = format!("{distance} - --input-format npy");
    let said = folder.run_with(&args, b"1,2\n");
    assert!(said.contains("error: stdin: npy, "), "{said}");
    assert_snapshot!(folder.error("distance - --measures -"),
        @"`model` and `measures` are both stdin, which can be read once; give a file for one");
    assert_snapshot!(folder.error("nearest model.tree --measures /dev/stdin --queries -"),
        @"`measures` and `queries` are both stdin, which can be read once; give a file for one");
    let said = folder.run_with(&format!("{distance} -"), &folder.read("pandas.csv.gz")[..40]);
    assert!(said.contains("cannot read `stdin`: "), "{said}");
}

/// The page about files names every ending of the table of formats.
#[test]
fn the_docs_name_every_format() {
    use treeport::io::format::{InputKind, endings};
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FILES.md");
    let page = std::fs::read_to_string(page).expect("the page");
    for wanted in [
        InputKind::Measures,
        InputKind::Clouds,
        InputKind::Points,
        InputKind::Graph,
        InputKind::Pairs,
        InputKind::Model,
    ] {
        for ending in endings(wanted, true).replace(" or ", ", ").split(", ") {
            assert!(page.contains(&format!("`{ending}`")), "{ending}");
        }
    }
}

/// A model is told by its first bytes, whatever its file is called, and `--input-format` for measures
/// is not for it.
#[test]
fn models_may_have_any_name() {
    let folder = with_tables();
    let expected = stdout(&folder, "distance model.tree --measures pandas.csv");
    folder.write("phylogeny.txt", folder.read("model.nwk"));
    folder.write("phylogeny", gzip(&folder.read("model.nwk")));
    folder.write("model.bin", folder.read("model.tree"));
    folder.write("model.tree.gz", gzip(&folder.read("model.tree")));
    folder.write("PANDAS.CSV", folder.read("pandas.csv"));
    for model in ["phylogeny.txt", "phylogeny", "model.bin", "model.tree.gz"] {
        let args = format!("distance {model} --measures PANDAS.CSV --input-format npy");
        assert_eq!(stdout(&folder, &args), expected, "{model}");
    }
}

/// Two samples as BIOM 1.0.
const BIOM: &[u8] = br#"{"rows": [{"id": "c"}, {"id": "a"}, {"id": "d"}, {"id": "b"}], "columns": [{"id": "S1"}, {"id": "S2"}],
        "matrix_type": "sparse", "shape": [4, 2], "data": [[1, 0, 2], [3, 0, 2], [0, 1, 5], [2, 1, 5]]}"#;

#[test]
fn biom_tables_are_measures_by_their_samples() {
    let folder = Folder::with_model();
    folder.write("table.biom", BIOM);
    folder.write("table.biom.gz", gzip(BIOM));
    let expected = "left,right,distance\nS1,S2,5\n";
    for file in ["table.biom", "table.biom.gz"] {
        let args = format!("distance model.tree --measures {file} --normalize");
        assert_eq!(stdout(&folder, &args), expected);
    }
    let piped = folder.run_with("distance model.tree --measures - --normalize", BIOM);
    assert_eq!(piped, folder.run("distance model.tree --measures table.biom --normalize"));
    folder.write("hdf5.biom", b"\x89HDF\r\n\x1a\n");
    assert_snapshot!(folder.error("distance model.tree --measures hdf5.biom"),
        @"hdf5.biom: a table of BIOM 2.1, which is HDF5: read it from Python (`treeport.Measures.read`), or convert it: `biom convert -i table.biom -o table.json.biom --to-json`");
    folder.write("table.parquet", b"PAR1");
    assert_snapshot!(folder.error("distance model.tree --measures table.parquet"),
        @"table.parquet: a Parquet table: read it from Python (`treeport.Measures.read`, or `Clouds.read`), or write it as .csv");
    assert_snapshot!(folder.error("distance model.tree --measures table.biom --transpose"),
        @"table.biom: `--transpose` is set; it is for tables of text (.csv, .tsv)");
}

/// Pipes that a shell makes are read once, even if they are asked for again.
#[cfg(unix)]
#[test]
fn pipes_are_inputs() {
    let folder = with_tables();
    let run = |script: &str| {
        let mut shell = std::process::Command::new("bash");
        shell.args(["-c", &script.replace("treeport", crate::BINARY)]);
        show(&shell.current_dir(folder.path("")).output().expect("bash"))
    };
    let expected = folder.run("distance model.tree --measures pandas.csv");
    let distance = "treeport distance <(cat model.tree) --measures";
    assert_eq!(run(&format!("{distance} <(cat pandas.csv.gz)")), expected);
    assert_eq!(run(&format!("{distance} <(zcat biom.tsv.gz) --transpose")), expected);
    assert_eq!(
        run("mkfifo f; cat table.tsv > f & treeport distance model.tree --measures f"),
        expected
    );
    // Read for its metric, then as a model.
    folder.run("fit --points line.csv --with-metric --method average -q -o kept.tree");
    let estimate = "estimate --measures pandas.csv --model";
    let piped = run(&format!("treeport {estimate} <(cat kept.tree)"));
    assert_eq!(piped, folder.run(&format!("{estimate} kept.tree")));
    // A job from pipes goes on where it was: it is known by what they hold.
    run("treeport exact --points <(cat line.csv) --measures <(cat pandas.csv) -q -o e.csv");
    assert_eq!(
        folder.text("e.csv"),
        stdout(&folder, "exact --points line.csv --measures pandas.csv")
    );
}

#[test]
fn bad_tables_name_the_cell() {
    let folder = with_tables();
    let mut said = String::new();
    for (name, contents) in [
        ("empty.csv", &b",a,b,c,d\nS1,1,0,0,0\nS2,,1,0,0\n"[..]),
        ("na.tsv", b"# by R\nid\ta\tb\tc\td\nS1\t1\t0\tNA\t0\n"),
        ("nan.csv", b"id,a,b,c,d\r\nS1,NaN,0,1,0\r\n"),
        ("twice.csv", b"id,a,b,c,d\nS1,1,0,0,0\nS1,1,0,0,0\n"),
        ("columns.csv", b"id,a,b,c,a\nS1,1,0,0,0\n"),
        ("ragged.csv", b"id,a,b,c,d\nS1,1,0,0\n"),
        ("index.csv", b",a,b,c,d\n5,1,0,0,0\n3,1,0,0,0\n"),
        ("bare.csv", b"S1,1,0,0,0\nS2,0,1,0,0\n"),
        ("turned.tsv", b"#OTU ID\tS1\tS2\na\t1\t0\nb\t0\t1\nc\t0\t0\nd\t1\t1\n"),
        ("cut.csv.gz", &gzip(&b"1,0,0,0\n".repeat(99))[..20]),
        ("wide.csv", b"\xff\xfe1\x00,\x00"),
    ] {
        folder.write(name, contents);
        said += &folder.error(&format!("distance model.tree --measures {name}"));
        said += "\n";
    }
    assert_snapshot!(said, @r"
    empty.csv: csv, line 3, column 2 (`a` of `S2`): the cell is empty
    na.tsv: csv, line 3, column 4 (`c` of `S1`): `NA` is not a number; fill in the missing value, or leave the row out
    nan.csv: csv, line 2, column 2 (`a` of `S1`): `NaN` is not a number; fill in the missing value, or leave the row out
    twice.csv: csv, line 3: the row is called `S1`, like that on line 2
    columns.csv: csv, header: columns 2 and 5 are both `a`; names must differ
    ragged.csv: csv, line 2: 4 cells, but 5 on the first line
    index.csv: csv, line 1: the first column has no name and holds numbers: call it `id` if they are names of rows, and something else if they are data
    bare.csv: csv, line 1, column 1: `S1` is not a number: is this a header or a row with a name? Write a header above it, or `id` in place of `S1`
    turned.tsv: the names do not match: column 0 is `S1`, and no point is called so; rows are called as points are: the table has points in rows, so read it transposed

    hint: `--transpose` reads tables that have points in rows
    cut.csv.gz: csv, line 1: cannot be read further: incomplete deflate stream
    wide.csv: csv, line 1: the text is UTF-16; save it as UTF-8
    ");
    folder.write("m.tsv", "\tx\ty\ny\t0\t1\nx\t1\t0\n");
    assert_snapshot!(folder.error("fit --matrix m.tsv -o out.tree"),
        @"m.tsv: the names do not match: row 0 is `y` and column 0 is `x`; give rows and columns in the same order");
    folder.write_npy("m.npy", &[1, 4], &[1.0; 4]);
    assert_snapshot!(folder.error("distance model.tree --measures m.npy --transpose"),
        @"m.npy: `--transpose` is set; it is for tables of text (.csv, .tsv)");
}

/// A small file that holds more than memory: what may be taken is asked for before it is.
#[cfg(target_os = "linux")]
#[test]
fn a_gzip_bomb_is_refused() {
    let folder = Folder::with_model();
    let mut rows = GzEncoder::new(Vec::new(), Compression::fast());
    let block = b"1,0,0,0\n".repeat(1 << 13);
    (0..320).for_each(|_| rows.write_all(&block).expect("memory"));
    folder.write("rows.csv.gz", rows.finish().expect("memory"));
    let mut line = GzEncoder::new(Vec::new(), Compression::fast());
    let block = vec![b'1'; 1 << 20];
    (0..120).for_each(|_| line.write_all(&block).expect("memory"));
    let line = line.finish().expect("memory");
    folder.write("line.csv.gz", &line);
    folder.write("line.nwk.gz", &line);
    assert!(folder.read("rows.csv.gz").len() < 400_000);
    let limit = "--memory 40MB";
    for args in [
        "distance model.tree --measures rows.csv.gz",
        "distance model.tree --measures line.csv.gz",
        "distance line.nwk.gz --measures measures.csv",
        "fit --graph rows.csv.gz -o out.tree",
    ] {
        let said = folder.error(&format!("{args} {limit}"));
        assert!(said.contains(" needs ") && said.contains("40 MB"), "{args}: {said}");
    }
    let mut stdin = folder.command(&format!("distance model.tree --measures - {limit}"));
    stdin.stdin(std::fs::File::open(folder.path("line.csv.gz")).expect("a file"));
    let said = show(&stdin.output().expect("the binary runs"));
    assert!(said.contains("error: stdin: the content of a file needs "), "{said}");
}

/// The commands of docs/FILES.md, as they stand there.
#[test]
fn the_page_about_files_runs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FILES.md");
    let page = std::fs::read_to_string(page).expect("the page");
    let folder = with_tables();
    folder.write("points.csv", ",x\na,0\nb,1\nc,5\nd,6\n");
    folder.write("samples.csv.gz", folder.read("pandas.csv.gz"));
    folder.write("tree.nwk", folder.read("model.nwk"));
    folder.write("table.tsv", folder.read("biom.tsv"));
    folder.write("table.json.biom", BIOM);
    // Pipes are another test's.
    let commands = page.lines().filter_map(|line| line.strip_prefix("treeport "));
    let commands: Vec<&str> = commands.filter(|command| !command.contains('<')).collect();
    assert_eq!(commands.len(), 4, "{commands:?}");
    for command in commands {
        let ended = folder.output(command);
        assert!(ended.status.success(), "{command}: {}", show(&ended));
    }
    assert!(folder.text("matrix.csv").starts_with(",S1,S2,S 3\nS1,0,"));
    assert!(folder.text("matrix.tsv").starts_with("\tS1\tS2\tS 3\nS1\t0\t"));
}

#[test]
fn points_without_a_column_are_named_or_refused() {
    let folder = Folder::with_model();
    folder.write("some.csv", "id,d,a\nS1,0,1\nS2,1,0\n");
    let said = "warning: some.csv: 2 of 4 points have no column, such as `b`; they count as 0 (`--missing error` refuses such a table)\n";
    let run = |args: &str| {
        let ended = folder.output(args);
        assert!(ended.status.success(), "{args}: {}", show(&ended));
        String::from_utf8(ended.stderr).expect("text")
    };
    folder.write("points.csv", "id,x\na,0\nb,1\nc,5\nd,6\n");
    folder.run("index --points points.csv --measures measures.csv -o all.index");
    folder.write("labels.csv", "left,right,distance\nS1,S2,6\nS2,S1,6\n");
    let commands = [
        "distance model.tree --measures some.csv",
        "unifrac model.nwk --measures some.csv",
        "exact --points points.csv --measures some.csv",
        "estimate --points points.csv --measures some.csv --accuracy exact",
        "embed model.tree --measures some.csv",
        "coupling model.tree --measures some.csv --pair S1 S2",
        "coupling --exact --points points.csv --measures some.csv --pair S1 S2",
        "nearest model.tree --measures some.csv -k 1",
        "nearest all.index --queries some.csv -k 1",
        "eval model.tree --points points.csv --measures some.csv --labels labels.csv",
    ];
    for args in commands {
        assert!(run(args).starts_with(said), "{args}: {}", run(args));
        assert_eq!(run(&format!("{args} --quiet")), "", "{args}");
        let refused = folder.error(&format!("{args} --missing error"));
        let expected = "some.csv: 2 of 4 points have no column, such as `b`; give every point one, of zeros where it has no mass";
        assert_eq!(refused, expected, "{args}");
    }
    // A line for every table, and none for one that has all points or no names.
    let twice = run("distance model.tree --measures some.csv --against some.csv");
    assert_eq!(twice, said.repeat(2));
    assert_eq!(run("distance model.tree --measures measures.csv --missing error"), "");
}

#[test]
fn endings_of_starts_and_outputs_are_those_of_inputs() {
    let folder = with_tables();
    folder.write("points.csv", "id,x\na,0\nb,1\nc,4\nd,5\n");
    folder.write("model.TREE", folder.read("model.tree"));
    folder.write("model.nwk.gz", gzip(&folder.read("model.nwk")));
    folder.write("zipped.tree", folder.read("model.nwk.gz"));
    let fit = "fit --points points.csv --measures pandas.csv --n-pairs 2 --epochs 2 -o fitted.tree --start";
    for start in ["model.TREE", "model.nwk.gz"] {
        let ended = folder.output(&format!("{fit} {start}"));
        assert!(ended.status.success(), "{start}: {}", show(&ended));
    }
    stdout(&folder, "distance model.tree --measures pandas.csv -o small.npy");
    stdout(&folder, "distance model.tree --measures pandas.csv -o LARGE.NPY");
    assert_eq!(folder.read("small.npy"), folder.read("LARGE.NPY"));
    assert!(
        folder
            .error("export zipped.tree")
            .ends_with("hint: it looks like Newick text; name it `.nwk`")
    );
}

#[test]
fn what_is_wrong_with_masses_goes_by_ids_and_names() {
    let folder = Folder::with_model();
    folder.write("bad.csv", "id,d,c,a,b\nS1,0,0,1,0\nS2,0,1,-1,0\n");
    let said = "S2 has mass -1 at a (measure 1, point 2); masses must be finite and at least 0";
    let args = "distance model.tree --measures";
    assert_eq!(folder.error(&format!("{args} bad.csv")), format!("bad.csv: {said}"));
    let piped = folder.run_with(&format!("{args} -"), &folder.read("bad.csv"));
    assert!(piped.contains(&format!("error: stdin: {said}\n")), "{piped}");
    folder.write("empty.csv", "id,d,c,a,b\nS1,0,0,1,0\nS2,0,0,0,0\n");
    let said = "S2 has no mass (measure 1); drop the row or give it a positive entry";
    assert_eq!(folder.error(&format!("{args} empty.csv")), format!("empty.csv: {said}"));
    // Points of the model have names where an array has none.
    folder.write_npy("bad.npy", &[1, 4], &[0.0, 1.0, f64::INFINITY, 0.0]);
    let said = "measure 0 has mass inf at c (point 2); masses must be finite and at least 0";
    assert_eq!(folder.error(&format!("{args} bad.npy")), format!("bad.npy: {said}"));
}

#[cfg(unix)]
#[test]
fn names_of_files_stay_on_one_line() {
    let folder = Folder::with_model();
    folder.write("odd\nname.csv", "id,a,b,c,d\nS1,0,0,-1,0\n");
    let run = |args: &[&str]| {
        let ended = folder.command("").args(args).output().expect("the binary runs");
        String::from_utf8(ended.stderr).expect("text")
    };
    let said = run(&["distance", "model.tree", "--measures", "odd\nname.csv"]);
    assert!(said.starts_with("error: odd\\nname.csv: S1 has mass -1"), "{said}");
    let said = run(&["distance", "no\nmodel.tree", "--measures", "odd\nname.csv"]);
    assert_eq!(
        said.lines().next(),
        Some("error: cannot read `no\\nmodel.tree`: No such file or directory")
    );
}
