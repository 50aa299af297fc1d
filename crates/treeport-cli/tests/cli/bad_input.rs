//! Bad input of every kind: a message that names the file and the place, and exit code 2.

use std::io::Write;

use insta::assert_snapshot;
use treeport::Csr;
use treeport::io::npz;

use crate::folder::Folder;

/// A `fit` that reads the named points, and leaves nothing behind.
fn fit_points(folder: &Folder, points: &str) -> String {
    let before = folder.files();
    let shown = folder.run(&format!("fit --points {points} -o model.tree"));
    assert_eq!(folder.files(), before, "{shown}");
    shown
}

fn fit_measures(folder: &Folder, measures: &str) -> String {
    folder.run(&format!("fit --points line.csv --measures {measures} -o model.tree"))
}

#[test]
fn usage() {
    let folder = Folder::new();
    assert_snapshot!(folder.run("fit -o model.tree"), @r#"
    --- stderr
    error: the following required arguments were not provided:
      <--points <FILE>|--matrix <FILE>|--graph <FILE>>

    Usage: treeport fit --output <FILE> <--points <FILE>|--matrix <FILE>|--graph <FILE>>

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --start nearest -o model.tree"), @r#"
    --- stderr
    error: invalid value 'nearest' for '--start <START>': it must be average, single, complete, ward, closest, or a file that ends in .tree or .nwk

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --threads 0 -o model.tree"), @r#"
    --- stderr
    error: invalid value '0' for '--threads <N>': it must be at least 1

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --rate -1 -o model.tree"), @r#"
    --- stderr
    error: invalid value '-1' for '--rate <X>': it must be above 0

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --matrix line.csv --metric cosine -o model.tree"), @r#"
    --- stderr
    error: the argument '--matrix <FILE>' cannot be used with '--metric <NAME>'

    Usage: treeport fit --output <FILE> <--points <FILE>|--matrix <FILE>|--graph <FILE>>

    For more information, try '--help'.
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv -o nowhere/model.tree"), @r#"
    --- stderr
    error: cannot write `nowhere/model.tree`: there is no folder `nowhere`
    --- exit 2
    "#);
}

#[test]
fn files_that_are_not_there_or_of_no_known_format() {
    let folder = Folder::new();
    assert_snapshot!(fit_points(&folder, "missing.npy"), @r#"
    --- stderr
    error: cannot read `missing.npy`: No such file or directory (os error 2)
    --- exit 2
    "#);
    assert_snapshot!(fit_points(&folder, "line.txt"), @r#"
    --- stderr
    error: line.txt: cannot tell its format; name it .npy, .npz or .csv
    --- exit 2
    "#);
    folder.write("points.npz", "");
    assert_snapshot!(fit_points(&folder, "points.npz"), @r#"
    --- stderr
    error: points.npz: points must be in a .npy or .csv file
    --- exit 2
    "#);
    assert_snapshot!(folder.run("export missing.tree"), @r#"
    --- stderr
    error: cannot read `missing.tree`: No such file or directory (os error 2)
    --- exit 2
    "#);
}

/// A `.npy` file with this header and no entries.
fn npy_file(header: &str) -> Vec<u8> {
    let mut file = b"\x93NUMPY\x01\x00".to_vec();
    file.extend((header.len() as u16).to_le_bytes());
    file.extend(header.as_bytes());
    file
}

/// A zip archive with stored members.
fn npz_file(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in members {
        archive.start_file(*name, stored).expect("a member");
        archive.write_all(bytes).expect("memory can be written");
    }
    archive.finish().expect("an archive").into_inner()
}

#[test]
fn archives() {
    let folder = Folder::new();
    let header = "{'descr': '|O', 'fortran_order': False, 'shape': (1,), }\n";
    folder.write("pickle.npz", npz_file(&[("format.npy", npy_file(header))]));
    assert_snapshot!(fit_measures(&folder, "pickle.npz"), @r#"
    --- stderr
    error: pickle.npz: npz, member `format`, byte 24: entries are Python objects (pickle), which are never read; save numbers instead
    --- exit 2
    "#);
    folder.write("empty.npz", npz_file(&[("readme.txt", b"hello".to_vec())]));
    assert_snapshot!(fit_measures(&folder, "empty.npz"), @r#"
    --- stderr
    error: empty.npz: npz, archive: no member `format`; a matrix saved by scipy.sparse is expected
    --- exit 2
    "#);
    folder.write("text.npz", "hello, world");
    assert_snapshot!(fit_measures(&folder, "text.npz"), @r#"
    --- stderr
    error: text.npz: npz, archive: not a NumPy archive: invalid Zip archive: Could not find EOCD
    --- exit 2
    "#);
    let whole = npz_file(&[("format.npy", npy_file(header))]);
    folder.write("cut.npz", &whole[..whole.len() / 2]);
    assert_snapshot!(fit_measures(&folder, "cut.npz"), @r#"
    --- stderr
    error: cut.npz: npz, archive: not a NumPy archive: invalid Zip archive: Could not find EOCD
    --- exit 2
    "#);
}

#[test]
fn arrays() {
    let folder = Folder::new();
    folder.write_npy("cut.npy", &[4, 2], &[0.5; 8]);
    let cut = folder.read("cut.npy");
    folder.write("cut.npy", &cut[..cut.len() - 12]);
    assert_snapshot!(fit_points(&folder, "cut.npy"), @r#"
    --- stderr
    error: cut.npy: npy, byte 180: the file ends after 6 of 8 entries
    --- exit 2
    "#);
    folder.write_npy("deep.npy", &[1, 2, 3], &[0.5; 6]);
    assert_snapshot!(fit_points(&folder, "deep.npy"), @r#"
    --- stderr
    error: deep.npy: the table of coordinates has shape (1, 2, 3), expected (rows, columns)
    --- exit 2
    "#);
    let header = "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n";
    folder.write("objects.npy", npy_file(header));
    assert_snapshot!(fit_points(&folder, "objects.npy"), @r#"
    --- stderr
    error: objects.npy: npy, byte 24: entries are Python objects (pickle), which are never read; save numbers instead
    --- exit 2
    "#);
    for (name, kind) in [("complex.npy", "<c16"), ("dates.npy", "<M8[s]")] {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2, 2), }}\n");
        folder.write(name, npy_file(&header));
    }
    assert_snapshot!(fit_points(&folder, "complex.npy"), @r#"
    --- stderr
    error: complex.npy: npy, byte 71: entries of type `<c16`; floats of 4 or 8 bytes, integers and booleans can be read
    --- exit 2
    "#);
    assert_snapshot!(fit_points(&folder, "dates.npy"), @r#"
    --- stderr
    error: dates.npy: npy, byte 73: entries of type `<M8[s]`; floats of 4 or 8 bytes, integers and booleans can be read
    --- exit 2
    "#);
    let claim = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n";
    folder.write("claim.npy", npy_file(claim));
    assert_snapshot!(fit_points(&folder, "claim.npy"), @r#"
    --- stderr
    error: claim.npy: npy, byte 82: the file ends after 0 of 1000000000000 entries
    --- exit 2
    "#);
    folder.write("text.npy", "hello, world");
    assert_snapshot!(fit_points(&folder, "text.npy"), @r#"
    --- stderr
    error: text.npy: npy, byte 0: not a NumPy array: it does not start with \x93NUMPY
    --- exit 2
    "#);
    folder.write_npy("nan.npy", &[2, 1], &[0.5, f64::NAN]);
    assert_snapshot!(fit_points(&folder, "nan.npy"), @r#"
    --- stderr
    error: nan.npy: coordinate 0 of point 1 is NaN; coordinates must be finite
    --- exit 2
    "#);
}

#[test]
fn tables() {
    let folder = Folder::new();
    folder.write("ragged.csv", "x,y\n1,2\n3\n");
    assert_snapshot!(fit_points(&folder, "ragged.csv"), @r#"
    --- stderr
    error: ragged.csv: csv, line 3: 1 cells, but 2 on the first line
    --- exit 2
    "#);
    folder.write("word.csv", "x,y\n1,2\n3,four\n");
    assert_snapshot!(fit_points(&folder, "word.csv"), @r#"
    --- stderr
    error: word.csv: csv, line 3, column 2: `four` is not a number
    --- exit 2
    "#);
    folder.write("empty.csv", "");
    assert_snapshot!(fit_points(&folder, "empty.csv"), @r#"
    --- stderr
    error: empty.csv: csv, line 1: there are no numbers
    --- exit 2
    "#);
}

#[test]
fn matrices_and_graphs() {
    let folder = Folder::new();
    folder.write("uneven.csv", "0,1,2\n1,0,3\n2,4,0\n");
    assert_snapshot!(folder.run("fit --matrix uneven.csv -o model.tree"), @r#"
    --- stderr
    error: uneven.csv: distance from point 1 to point 2 is 3 but 4 the other way; a ground metric is symmetric
    --- exit 2
    "#);
    folder.write("apart.csv", "source,target,weight\n0,1,1\n2,3,1\n");
    assert_snapshot!(folder.run("fit --graph apart.csv -o model.tree"), @r#"
    --- stderr
    error: apart.csv: the graph falls into 2 components (node 2 cannot be reached from node 0); keep one component or join them
    --- exit 2
    "#);
    folder.write("zero.csv", "1,1\n0,0\n");
    assert_snapshot!(folder.run("fit --points zero.csv --metric cosine -o model.tree"), @r#"
    --- stderr
    error: zero.csv: point 1 has length 0, so its cosine distance is undefined; drop it or use another metric

    hint: `--metric euclidean` has no trouble with such points
    --- exit 2
    "#);
}

#[test]
fn measures() {
    let folder = Folder::new();
    folder.write("negative.csv", "1,0,0,0\n0,0,2,-1\n");
    assert_snapshot!(fit_measures(&folder, "negative.csv"), @r#"
    --- stderr
    error: negative.csv: measure 1 has mass -1 at point 3; masses must be finite and at least 0
    --- exit 2
    "#);
    folder.write("empty.csv", "1,0,0,0\n0,0,0,0\n");
    assert_snapshot!(fit_measures(&folder, "empty.csv"), @r#"
    --- stderr
    error: empty.csv: measure 1 has no mass; drop the row or give it a positive entry
    --- exit 2
    "#);
    folder.write("wide.csv", "1,0,0,0,0\n0,0,0,0,1\n");
    assert_snapshot!(fit_measures(&folder, "wide.csv"), @r#"
    --- stderr
    error: wide.csv: the measures live on 5 points, the tree or metric on 4
    --- exit 2
    "#);
    let (start, indices) = (vec![0, 1, 2], vec![0, 9]);
    let beyond = Csr { rows: 2, cols: 4, start, indices, values: vec![1.0, 1.0] };
    let mut file = std::io::Cursor::new(Vec::new());
    npz::write_csr(&beyond, &mut file).expect("a buffer");
    folder.write("beyond.npz", file.into_inner());
    assert_snapshot!(fit_measures(&folder, "beyond.npz"), @r#"
    --- stderr
    error: beyond.npz: npz, member `indices`: index 9 at entry 1, but the shape ends at 4
    --- exit 2
    "#);
    folder.write("nan.csv", "1,0,0,0\n0,nan,0,0\n");
    assert_snapshot!(fit_measures(&folder, "nan.csv"), @r#"
    --- stderr
    error: nan.csv: measure 1 has mass NaN at point 1; masses must be finite and at least 0
    --- exit 2
    "#);
    folder.write("single.csv", "1,0,0,0\n");
    assert_snapshot!(fit_measures(&folder, "single.csv"), @r#"
    --- stderr
    error: single.csv: a pair needs two measures, the file has 1
    --- exit 2
    "#);
    folder.write("unequal.csv", "1,0,0,0\n0,0,1,1\n");
    assert_snapshot!(fit_measures(&folder, "unequal.csv"), @r#"
    --- stderr
    error: unequal.csv: measures 0 and 1 have total mass 1 and 2; transport needs equal masses, normalize them first (`Measures::normalized`)

    hint: `--normalize` divides every measure by its total mass
    --- exit 2
    "#);
    assert!(fit_measures(&folder, "unequal.csv --normalize").ends_with("--- exit 0\n"));
}

#[test]
fn distances_of_unequal_masses_stop_before_the_first_row() {
    let folder = Folder::with_model();
    folder.write("unequal.csv", "1,0,0,0\n0,1,0,0\n0,0,1,1\n");
    assert_snapshot!(folder.run("distance model.tree --measures unequal.csv"), @r#"
    --- stderr
    error: unequal.csv: measures 0 and 2 have total mass 1 and 2; transport needs equal masses, normalize them first (`Measures::normalized`)

    hint: `--normalize` divides every measure by its total mass
    --- exit 2
    "#);
    let against = "distance model.tree --measures measures.csv --against unequal.csv";
    assert_snapshot!(folder.run(against), @r#"
    --- stderr
    error: measures.csv against unequal.csv: measures 0 and 2 have total mass 1 and 2; transport needs equal masses, normalize them first (`Measures::normalized`)

    hint: `--normalize` divides every measure by its total mass
    --- exit 2
    "#);
    assert_snapshot!(folder.run("distance model.tree --measures measures.csv -o d.txt"), @r#"
    --- stderr
    error: cannot write `d.txt`: distances go to a .csv or .npy file
    --- exit 2
    "#);
}

#[test]
fn labels_and_pairs() {
    let folder = Folder::with_model();
    let fit = "fit --points line.csv --measures measures.csv -o out.tree --labels";
    folder.write("far.csv", "left,right,distance\n0,1,5\n0,3,5\n");
    assert_snapshot!(folder.run(&format!("{fit} far.csv")), @r#"
    --- stderr
    error: far.csv: there is no measure 3: the set holds 3, numbered from 0
    --- exit 2
    "#);
    folder.write("column.csv", "left,distance\n0,1\n");
    assert_snapshot!(folder.run(&format!("{fit} column.csv")), @r#"
    --- stderr
    error: column.csv: csv, line 1: no column `right`; a header must name left, right, distance
    --- exit 2
    "#);
    folder.write("bare.csv", "0,1,5\n");
    assert_snapshot!(folder.run(&format!("{fit} bare.csv")), @r#"
    --- stderr
    error: bare.csv: csv, line 1: no column `left`; a header must name left, right, distance
    --- exit 2
    "#);
    folder.write("half.csv", "left,right,distance\n0,1,5\n0,1.5,5\n");
    assert_snapshot!(folder.run(&format!("{fit} half.csv")), @r#"
    --- stderr
    error: half.csv: row 2: right is 1.5, expected the number of a measure
    --- exit 2
    "#);
    folder.write("negative.csv", "left,right,distance\n0,1,-5\n");
    assert_snapshot!(folder.run(&format!("{fit} negative.csv")), @r#"
    --- stderr
    error: negative.csv: row 1: distance is -5; distances must be finite and at least 0
    --- exit 2
    "#);
    let pairs = "distance model.tree --measures measures.csv --pairs far.csv";
    assert_snapshot!(folder.run(pairs), @r#"
    --- stderr
    error: far.csv: there is no measure 3: the set holds 3, numbered from 0
    --- exit 2
    "#);
}

#[test]
fn models() {
    let folder = Folder::with_model();
    folder.write("open.nwk", "((a:1,b:1):2,c:3;");
    assert_snapshot!(folder.run("export open.nwk"), @r#"
    --- stderr
    error: open.nwk: Newick, byte 16: the bracket opened at byte 0 is not closed
    --- exit 2
    "#);
    let mut newer = folder.read("model.tree");
    let version = br#"version\":1"#;
    let at = newer.windows(version.len()).position(|w| w == version).expect("a version");
    newer[at + version.len() - 1] = b'2';
    folder.write("newer.tree", newer);
    assert_snapshot!(folder.run("export newer.tree"), @r#"
    --- stderr
    error: `newer.tree`: this treeport reads version 1, the file has version 2; upgrade treeport
    --- exit 2
    "#);
    folder.write("foreign.tree", "((a:1,b:1):2,c:3);\n");
    assert_snapshot!(folder.run("export foreign.tree"), @r#"
    --- stderr
    error: `foreign.tree` is not a treeport tree: no header fits its first 8 bytes; it is cut off or no safetensors file

    hint: it looks like Newick text; name it `.nwk`
    --- exit 2
    "#);
    let mut damaged = folder.read("model.tree");
    *damaged.last_mut().expect("some bytes") ^= 1;
    folder.write("damaged.tree", damaged);
    assert_snapshot!(folder.run("export damaged.tree"), @r#"
    --- stderr
    error: `damaged.tree` is damaged: its checksum is 6c56fc5a, but the contents give 3d98e643; copy it again or write it anew
    --- exit 2
    "#);
    folder.write("small.nwk", "(a:1,b:2);");
    let small = "distance small.nwk --measures measures.csv";
    assert_snapshot!(folder.run(small), @r#"
    --- stderr
    error: measures.csv: the measures live on 4 points, the tree or metric on 2
    --- exit 2
    "#);
    let eval = "eval small.nwk --points line.csv --measures measures.csv";
    assert_snapshot!(folder.run(eval), @r#"
    --- stderr
    error: small.nwk: the tree has 2 leaves, the ground metric 4 points
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --start small.nwk -o out.tree"), @r#"
    --- stderr
    error: small.nwk: the tree has 2 leaves, the ground metric 4 points
    --- exit 2
    "#);
}

#[test]
fn exports() {
    let folder = Folder::with_model();
    folder.write("small.nwk", "(a:1,b:2);");
    assert_snapshot!(folder.run("export small.nwk --format linkage"), @r#"
    --- stderr
    error: small.nwk: the tree is not ultrametric: leaf 0 is 1 from the root, leaf 1 is 2; a linkage matrix needs equal distances

    hint: `treeport fit --kind ultrametric` learns a tree that has a linkage matrix; `--format newick` writes any tree
    --- exit 2
    "#);
    assert_snapshot!(folder.run("export model.tree --format npz"), @r#"
    --- stderr
    error: an embedding needs measures and a file: `--measures M.npz -o rows.npz`
    --- exit 2
    "#);
    assert_snapshot!(folder.run("export model.tree --format newick --json"), @r#"
    --- stderr
    error: `--json` on stdout is the format json; for another one give `-o FILE`
    --- exit 2
    "#);
    folder.write("names.txt", "a\nb\n");
    assert_snapshot!(folder.run("export model.tree --names names.txt"), @r#"
    --- stderr
    error: model.tree: 2 names for 4 points
    --- exit 2
    "#);
    assert_snapshot!(folder.run("fit --points line.csv --names names.txt -o out.tree"), @r#"
    --- stderr
    error: names.txt: 2 names for 4 points
    --- exit 2
    "#);
}
