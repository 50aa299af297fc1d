//! Bad input of every kind: a message that names the file and the place, and exit code 2.

use std::io::Write;

use insta::assert_snapshot;
use treeport::Csr;
use treeport::io::npz;

use crate::folder::Folder;

/// A `fit` that reads the named points, and leaves nothing behind.
fn fit_points(folder: &Folder, points: &str) -> String {
    let before = folder.files();
    let said = folder.error(&format!("fit --points {points} -o model.tree"));
    assert_eq!(folder.files(), before, "{said}");
    said
}

fn fit_measures(folder: &Folder, measures: &str) -> String {
    folder.error(&format!("fit --points line.csv --measures {measures} -o model.tree"))
}

#[test]
fn usage() {
    let folder = Folder::new();
    assert_snapshot!(folder.error("fit -o model.tree"), @r#"
    the following required arguments were not provided:
      <--points <FILE>|--matrix <FILE>|--graph <FILE>|--clouds <FILE>>

    Usage: treeport fit --output <FILE> <--points <FILE>|--matrix <FILE>|--graph <FILE>|--clouds <FILE>>

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error("fit --points line.csv --start nearest -o model.tree"), @r#"
    invalid value 'nearest' for '--start <START>': it must be average, single, complete, ward, closest, neighbors, or a file that ends in .nwk or .tree

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error("fit --points line.csv --threads 0 -o model.tree"), @r#"
    invalid value '0' for '--threads <N>': it must be at least 1

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error("fit --points line.csv --learning-rate -1 -o model.tree"),
        @"`--learning-rate` is -1; it must be above 0; try 0.5");
    assert_snapshot!(folder.error("fit --matrix line.csv --metric cosine -o model.tree"), @r#"
    the argument '--matrix <FILE>' cannot be used with '--metric <NAME>'

    Usage: treeport fit --output <FILE> <--points <FILE>|--matrix <FILE>|--graph <FILE>|--clouds <FILE>>

    For more information, try '--help'.
    "#);
    let fit = "fit --points line.csv -o model.tree";
    assert_snapshot!(folder.error(&format!("{fit} --period -1")),
        @"line.csv: `--period` is -1; it must be a finite number of at least 1e-300");
    assert_snapshot!(folder.error(&format!("{fit} --period none,7")),
        @"line.csv: `--period` is none,7 for points with 1 coordinates; it must be one number, or a number or none for each coordinate");
    assert_snapshot!(folder.error(&format!("{fit} --period 7 --metric cosine")),
        @"line.csv: `--period` is 7; cosine compares directions, which have no period; leave it out or take another metric");
    assert_snapshot!(folder.error(&format!("{fit} --period seven")), @r#"
    invalid value 'seven' for '--period <PERIODS>': period is `seven`; it must be one number, or a number or none for each coordinate, separated by commas

    For more information, try '--help'.
    "#);
    assert_snapshot!(folder.error("fit --points line.csv -o nowhere/model.tree"),
        @"cannot write `nowhere/model.tree`: there is no folder `nowhere`");
}

#[test]
fn files_that_are_not_there_or_of_no_known_format() {
    let folder = Folder::new();
    assert_snapshot!(fit_points(&folder, "missing.npy"),
        @"cannot read `missing.npy`: No such file or directory");
    assert_snapshot!(fit_points(&folder, "line.xlsx"),
        @r"
    line.xlsx: cannot tell its format; name it .npy, .csv or .tsv

    hint: `--input-format` gives the format of such a file
    ");
    folder.write("points.npz", "");
    assert_snapshot!(fit_points(&folder, "points.npz"),
        @"points.npz: points must be in a .npy, .csv or .tsv file");
    assert_snapshot!(folder.error("export missing.tree"),
        @"cannot read `missing.tree`: No such file or directory");
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
    assert_snapshot!(fit_measures(&folder, "pickle.npz"),
        @"pickle.npz: npz, member `format`, byte 24: entries are Python objects (pickle), which are never read; save numbers instead");
    folder.write("empty.npz", npz_file(&[("readme.txt", b"hello".to_vec())]));
    assert_snapshot!(fit_measures(&folder, "empty.npz"),
        @"empty.npz: npz, archive: no member `format`; a matrix saved by scipy.sparse is expected");
    folder.write("text.npz", "hello, world");
    assert_snapshot!(fit_measures(&folder, "text.npz"),
        @"text.npz: npz, archive: not a NumPy archive: invalid Zip archive: Could not find EOCD");
    let whole = npz_file(&[("format.npy", npy_file(header))]);
    folder.write("cut.npz", &whole[..whole.len() / 2]);
    assert_snapshot!(fit_measures(&folder, "cut.npz"),
        @"cut.npz: npz, archive: not a NumPy archive: invalid Zip archive: Could not find EOCD");
}

#[test]
fn arrays() {
    let folder = Folder::new();
    folder.write_npy("cut.npy", &[4, 2], &[0.5; 8]);
    let cut = folder.read("cut.npy");
    folder.write("cut.npy", &cut[..cut.len() - 12]);
    assert_snapshot!(fit_points(&folder, "cut.npy"),
        @"cut.npy: npy, byte 180: the file ends after 6 of 8 entries");
    folder.write_npy("deep.npy", &[1, 2, 3], &[0.5; 6]);
    assert_snapshot!(fit_points(&folder, "deep.npy"),
        @"deep.npy: the table of coordinates has shape (1, 2, 3), expected (rows, columns)");
    let header = "{'descr': '|O', 'fortran_order': False, 'shape': (2, 2), }\n";
    folder.write("objects.npy", npy_file(header));
    assert_snapshot!(fit_points(&folder, "objects.npy"),
        @"objects.npy: npy, byte 24: entries are Python objects (pickle), which are never read; save numbers instead");
    for (name, kind) in [("complex.npy", "<c16"), ("dates.npy", "<M8[s]")] {
        let header = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': (2, 2), }}\n");
        folder.write(name, npy_file(&header));
    }
    assert_snapshot!(fit_points(&folder, "complex.npy"),
        @"complex.npy: npy, byte 71: entries of type `<c16`; floats of 4 or 8 bytes, integers and booleans can be read");
    assert_snapshot!(fit_points(&folder, "dates.npy"),
        @"dates.npy: npy, byte 73: entries of type `<M8[s]`; floats of 4 or 8 bytes, integers and booleans can be read");
    let claim = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n";
    folder.write("claim.npy", npy_file(claim));
    assert_snapshot!(fit_points(&folder, "claim.npy"),
        @"claim.npy: npy, byte 82: the file ends after 0 of 1000000000000 entries");
    folder.write("text.npy", "hello, world");
    assert_snapshot!(fit_points(&folder, "text.npy"),
        @r#"text.npy: npy, byte 0: not a NumPy array: it does not start with \x93NUMPY"#);
    folder.write_npy("nan.npy", &[2, 1], &[0.5, f64::NAN]);
    assert_snapshot!(fit_points(&folder, "nan.npy"),
        @"nan.npy: coordinate 0 of point 1 is NaN; coordinates must be finite");
}

#[test]
fn tables() {
    let folder = Folder::new();
    folder.write("ragged.csv", "x,y\n1,2\n3\n");
    assert_snapshot!(fit_points(&folder, "ragged.csv"),
        @"ragged.csv: csv, line 3: 1 cells, but 2 on the first line");
    folder.write("word.csv", "x,y\n1,2\n3,four\n");
    assert_snapshot!(fit_points(&folder, "word.csv"),
        @"word.csv: csv, line 3, column 2 (`y`): `four` is not a number");
    folder.write("empty.csv", "");
    assert_snapshot!(fit_points(&folder, "empty.csv"),
        @"empty.csv: csv, line 1: there are no numbers");
}

#[test]
fn matrices_and_graphs() {
    let folder = Folder::new();
    folder.write("uneven.csv", "0,1,2\n1,0,3\n2,4,0\n");
    assert_snapshot!(folder.error("fit --matrix uneven.csv -o model.tree"),
        @"uneven.csv: distance from point 1 to point 2 is 3 but 4 the other way; a ground metric is symmetric");
    folder.write("apart.csv", "source,target,weight\n0,1,1\n2,3,1\n");
    assert_snapshot!(folder.error("fit --graph apart.csv -o model.tree"),
        @"apart.csv: the graph falls into 2 components (node 2 cannot be reached from node 0); keep the largest component, or join them by edges; only exact distances and plans support disconnected graphs");
    folder.write("zero.csv", "1,1\n0,0\n");
    assert_snapshot!(folder.error("fit --points zero.csv --metric cosine -o model.tree"), @r#"
    zero.csv: point 1 has length 0, so its cosine distance is undefined; drop it or use another metric

    hint: `--metric euclidean` supports such points
    "#);
}

#[test]
fn measures() {
    let folder = Folder::new();
    folder.write("negative.csv", "1,0,0,0\n0,0,2,-1\n");
    assert_snapshot!(fit_measures(&folder, "negative.csv"),
        @"negative.csv: measure 1 has mass -1 at point 3; masses must be finite and at least 0");
    folder.write("empty.csv", "1,0,0,0\n0,0,0,0\n");
    assert_snapshot!(fit_measures(&folder, "empty.csv"),
        @"empty.csv: measure 1 has no mass; drop the row or give it a positive entry");
    folder.write("wide.csv", "1,0,0,0,0\n0,0,0,0,1\n");
    assert_snapshot!(fit_measures(&folder, "wide.csv"),
        @"wide.csv: the measures live on 5 points, the tree or metric on 4");
    let (start, indices) = (vec![0, 1, 2], vec![0, 9]);
    let beyond = Csr { rows: 2, cols: 4, start, indices, values: vec![1.0, 1.0] };
    let mut file = std::io::Cursor::new(Vec::new());
    npz::write_csr(&beyond, &mut file).expect("a buffer");
    folder.write("beyond.npz", file.into_inner());
    assert_snapshot!(fit_measures(&folder, "beyond.npz"),
        @"beyond.npz: npz, member `indices`: index 9 at entry 1, but the shape ends at 4");
    folder.write("nan.csv", "1,0,0,0\n0,nan,0,0\n");
    assert_snapshot!(fit_measures(&folder, "nan.csv"),
        @"nan.csv: csv, line 2, column 2: `nan` is not a number; fill in the missing value, or leave the row out");
    folder.write("single.csv", "1,0,0,0\n");
    assert_snapshot!(fit_measures(&folder, "single.csv"),
        @"single.csv: the number of measures is 1; a pair needs two of them");
    folder.write("unequal.csv", "1,0,0,0\n0,0,1,1\n");
    assert_snapshot!(fit_measures(&folder, "unequal.csv"), @r#"
    unequal.csv: measures 0 and 1 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    folder.json("fit --points line.csv --measures unequal.csv --normalize --json -o model.tree");
}

#[test]
fn distances_of_unequal_masses_stop_before_the_first_row() {
    let folder = Folder::with_model();
    folder.write("unequal.csv", "1,0,0,0\n0,1,0,0\n0,0,1,1\n");
    assert_snapshot!(folder.error("distance model.tree --measures unequal.csv"), @r#"
    unequal.csv: measures 0 and 2 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    let against = "distance model.tree --measures measures.csv --against unequal.csv";
    assert_snapshot!(folder.error(against), @r#"
    measures.csv against unequal.csv: measures 0 and 2 have total mass 1 and 2; transport needs equal masses, so divide each by its total first

    hint: `--normalize` divides every measure by its total mass
    "#);
    assert_snapshot!(folder.error("distance model.tree --measures measures.csv -o d.txt"),
        @"cannot write `d.txt`: distances go to a .csv or .npy file");
}

#[test]
fn labels_and_pairs() {
    let folder = Folder::with_model();
    let fit = "fit --points line.csv --measures measures.csv -o out.tree --labels";
    folder.write("far.csv", "left,right,distance\n0,1,5\n0,3,5\n");
    assert_snapshot!(folder.error(&format!("{fit} far.csv")),
        @"far.csv: line 3: there is no measure 3: the set holds 3, numbered from 0");
    folder.write("column.csv", "left,distance\n0,1\n");
    assert_snapshot!(folder.error(&format!("{fit} column.csv")),
        @"column.csv: csv, line 1: no column `right`; a header must name left, right, distance");
    folder.write("bare.csv", "0,1,5\n");
    assert_snapshot!(folder.error(&format!("{fit} bare.csv")),
        @"bare.csv: csv, line 1: no column `left`; a header must name left, right, distance");
    folder.write("half.csv", "left,right,distance\n0,1,5\n0,1.5,5\n");
    assert_snapshot!(folder.error(&format!("{fit} half.csv")),
        @"half.csv: line 3: right is 1.5, expected the number of a measure");
    folder.write("negative.csv", "left,right,distance\n0,1,-5\n");
    assert_snapshot!(folder.error(&format!("{fit} negative.csv")),
        @"negative.csv: line 2: distance is -5; distances must be finite and at least 0");
    let pairs = "distance model.tree --measures measures.csv --pairs far.csv";
    assert_snapshot!(folder.error(pairs),
        @"far.csv: line 3: there is no measure 3: the set holds 3, numbered from 0");
}

#[test]
fn models() {
    let folder = Folder::with_model();
    folder.write("open.nwk", "((a:1,b:1):2,c:3;");
    assert_snapshot!(folder.error("export open.nwk"),
        @"open.nwk: Newick, byte 16: the bracket opened at byte 0 is not closed");
    let mut newer = folder.read("model.tree");
    let version = br#"version\":1"#;
    let at = newer.windows(version.len()).position(|w| w == version).expect("a version");
    newer[at + version.len() - 1] = b'2';
    folder.write("newer.tree", newer);
    assert_snapshot!(folder.error("export newer.tree"),
        @"`newer.tree`: this treeport reads version 1, the file has version 2; upgrade treeport");
    folder.write("foreign.tree", "((a:1,b:1):2,c:3);\n");
    assert_snapshot!(folder.error("export foreign.tree"), @r#"
    `foreign.tree` is not a treeport tree: no header fits its first 8 bytes; it is cut off or no safetensors file

    hint: it looks like Newick text; name it `.nwk`
    "#);
    let mut damaged = folder.read("model.tree");
    *damaged.last_mut().expect("some bytes") ^= 1;
    folder.write("damaged.tree", damaged);
    assert_snapshot!(folder.error("export damaged.tree"),
        @"`damaged.tree` is damaged: its checksum is 6c56fc5a, but the contents give 3d98e643; copy it again or write it anew");
    folder.write("small.nwk", "(a:1,b:2);");
    let small = "distance small.nwk --measures measures.csv";
    assert_snapshot!(folder.error(small),
        @"measures.csv: the names do not match: column 2 is `c`, and no point is called so");
    let eval = "eval small.nwk --points line.csv --measures measures.csv";
    assert_snapshot!(folder.error(eval),
        @"small.nwk: it has 2 leaves, the ground metric 4 points");
    assert_snapshot!(folder.error("fit --points line.csv --start small.nwk -o out.tree"),
        @"small.nwk: it has 2 leaves, the ground metric 4 points");
}

#[test]
fn exports() {
    let folder = Folder::with_model();
    folder.write("small.nwk", "(a:1,b:2);");
    assert_snapshot!(folder.error("export small.nwk --format linkage"), @r#"
    small.nwk: the tree is not ultrametric: leaf 0 is 1 from the root, leaf 1 is 2; a linkage matrix needs equal distances

    hint: `treeport fit --method ultrametric` learns a tree that has a linkage matrix; `--format newick` writes any tree
    "#);
    assert_snapshot!(folder.error("export model.tree --format npz"),
        @"an embedding needs measures and a file: `--measures M.npz -o rows.npz`");
    assert_snapshot!(folder.error("export model.tree --format newick --json"),
        @"`--json` on stdout is the format json; for another one give `-o FILE`");
    folder.write("names.txt", "a\nb\n");
    assert_snapshot!(folder.error("export model.tree --names names.txt"),
        @"names.txt: 2 names for the 4 points of model.tree");
    assert_snapshot!(folder.error("fit --points line.csv --names names.txt -o out.tree"),
        @"names.txt: 2 names for 4 points");
}

#[test]
fn nothing_that_is_read_is_written_over() {
    let folder = Folder::with_model();
    let before = folder.files();
    for (command, said) in [
        ("fit --points line.csv -o line.csv", "`--output` and `points` are the same file"),
        (
            "distance model.tree --measures measures.csv -o ./measures.csv",
            "`measures` are the same file",
        ),
        ("fit --points line.csv -o a.tree --history a.tree", "are the same file"),
        ("export model.tree -o model.tree", "`model` are the same file"),
    ] {
        let error = folder.error(command);
        assert!(error.contains(said), "{command}: {error}");
    }
    assert_eq!(folder.files(), before);
}

/// Whatever a command prints, a disk that is full is an error.
#[test]
#[cfg(target_os = "linux")]
fn a_full_disk_is_an_error() {
    let folder = Folder::with_model();
    let data = "--points line.csv --measures measures.csv";
    for command in [
        format!("exact {data}"),
        format!("estimate {data}"),
        format!("eval model.tree {data}"),
        format!("compare {data} --methods average"),
        "distance model.tree --measures measures.csv".into(),
        "nearest model.tree --measures measures.csv".into(),
        "embed model.tree --measures measures.csv".into(),
        "coupling model.tree --measures measures.csv --pair 0 1".into(),
        "export model.tree".into(),
        "plot tree model.tree".into(),
        "report model.tree -o -".into(),
        "man".into(),
    ] {
        let full = std::fs::File::create("/dev/full").expect("a device");
        let done = folder.command(&command).stdout(full).output().expect("the program starts");
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(
            done.status.code() == Some(2) && said.contains("No space left"),
            "{command}: {said}"
        );
    }
}

/// The error names the file, and nobody else speaks.
#[test]
#[cfg(target_os = "linux")]
fn a_file_on_a_full_disk_is_named() {
    let folder = Folder::with_model();
    for (command, file) in [
        ("embed model.tree --measures measures.csv", "full.npz"),
        ("estimate --points line.csv --measures measures.csv", "full.csv"),
        ("distance model.tree --measures measures.csv", "full.npy"),
        ("report model.tree", "full.html"),
    ] {
        let _ = std::os::unix::fs::symlink("/dev/full", folder.path(file));
        assert_eq!(
            folder.error(&format!("{command} -o {file}")),
            format!("cannot write `{file}`: No space left on device")
        );
    }
}
