use std::io::Write;
use std::path::PathBuf;

use super::*;
use crate::measures::Measures;

fn named(name: &str, wanted: InputKind) -> Option<Format> {
    recognize(name, wanted, None).ok()
}

fn folder() -> (tempfile::TempDir, impl Fn(&str, &[u8]) -> PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_owned();
    let write = move |name: &str, bytes: &[u8]| {
        std::fs::write(path.join(name), bytes).unwrap();
        path.join(name)
    };
    (folder, write)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn the_table_is_in_the_order_of_the_formats() {
    for (k, format) in Format::ALL.iter().enumerate() {
        assert_eq!(*format as usize, k);
        assert_eq!(format.name().parse::<Format>().unwrap(), *format);
        assert!(!format.row().endings.is_empty() && !format.row().holds.is_empty());
    }
}

#[test]
fn names_tell_formats() {
    assert_eq!(named("a.tsv.gz", InputKind::Measures), Some(Format::Tsv));
    assert_eq!(named("a.TSV", InputKind::Measures), Some(Format::Tsv));
    assert_eq!(named("a.nwk.gz", InputKind::Model), Some(Format::Newick));
    assert_eq!(named("a.txt", InputKind::Points), Some(Format::Csv));
    assert_eq!(named("a.parquet", InputKind::Measures), Some(Format::Parquet));
    assert_eq!(named("a.forest", InputKind::Model), Some(Format::Model));
    // Another kind of content is refused later, by the reader of points.
    assert_eq!(named("a.nwk", InputKind::Points), Some(Format::Newick));
    for name in ["a.csv.zip", "a.xlsx"] {
        let error = recognize(name, InputKind::Points, None).unwrap_err();
        assert_eq!(error.to_string(), "cannot tell its format; name it .npy, .csv or .tsv");
        let given = recognize(name, InputKind::Points, Some(Format::Npy));
        assert_eq!(given.unwrap(), Format::Npy);
    }
    // The formats of these are unknown until they are opened.
    for name in ["no/a.gz", "no/.gz", "no/a", "no/a.gz.gz", "no/.csv"] {
        let error = recognize(name, InputKind::Points, None);
        assert!(matches!(error, Err(Error::Read { .. })), "{name}: {error:?}");
    }
}

#[test]
fn first_bytes_tell_formats() {
    let by = |bytes: &[u8]| by_bytes(bytes, InputKind::Measures);
    assert_eq!(by(b"\x93NUMPY\x01\x00"), Format::Npy);
    assert_eq!(by(b"PK\x03\x04"), Format::Npz);
    // The name in the first cell of a table may begin like this.
    assert_eq!(by(b"PK,1\n"), Format::Csv);
    assert_eq!(by(b"(a),b\n"), Format::Csv);
    assert_eq!(by(b""), Format::Csv);
    assert_eq!(by(b"{\"id\": 1}"), Format::Biom);
    assert_eq!(by(b"\x89HDF\r\n\x1a\n"), Format::BiomHdf5);
    assert_eq!(by(b"PAR1"), Format::Parquet);
    assert_eq!(by_bytes(b"\n (a,b);", InputKind::Model), Format::Newick);
    assert_eq!(by_bytes(b"\x50\0\0\0\0\0\0\0{", InputKind::Model), Format::Model);
}

#[test]
fn two_formats_of_one_ending_are_told_apart() {
    let (_folder, write) = folder();
    let json = write("a.biom", b"{}");
    assert_eq!(recognize(json, InputKind::Measures, None).unwrap(), Format::Biom);
    let hdf5 = write("b.biom", b"\x89HDF\r\n\x1a\n");
    assert_eq!(recognize(&hdf5, InputKind::Measures, None).unwrap(), Format::BiomHdf5);
    let error = Input::open(&hdf5, InputKind::Measures, None).unwrap().masses(None, false);
    let said = error.unwrap_err().to_string();
    assert!(said.starts_with("a table of BIOM 2.1, which is HDF5: read it from Python"), "{said}");
    assert!(said.contains("biom convert"), "{said}");
}

#[test]
fn every_way_in_gives_the_same_measures() {
    let (_folder, write) = folder();
    let text = b"id,a,b\nx,1,0\ny,0.5,0.5\n";
    let expected = Measures::from_dense(2, &[1.0, 0.0, 0.5, 0.5]).unwrap();
    let mut npy = Vec::new();
    crate::io::npy::write_f64(&[2, 2], &[1.0, 0.0, 0.5, 0.5], &mut npy).unwrap();
    let files: [(&str, &[u8]); 7] = [
        ("a.csv", text),
        ("a.csv.gz", &gzip(text)),
        ("none", text),
        ("zipped", &gzip(text)),
        ("a.npy", &npy),
        ("a.npy.gz", &gzip(&npy)),
        ("zipped_array", &gzip(&npy)),
    ];
    for (name, bytes) in files {
        let input = Input::open(write(name, bytes), InputKind::Measures, None).unwrap();
        let masses = input.masses(None, false).unwrap();
        let named = !name.contains("npy") && !name.contains("array");
        assert_eq!(masses.ids().is_some(), named, "{name}");
        assert_eq!(masses.measures(None).unwrap(), expected, "{name}");
    }
    for bytes in [&text[..], &npy, &gzip(text), &gzip(&npy)] {
        let input = Input::from_bytes("stdin", bytes, InputKind::Measures, None).unwrap();
        assert_eq!(input.masses(None, false).unwrap().measures(None).unwrap(), expected);
    }
    let turned = b"id\tx\ty\na\t1\t0.5\nb\t0\t0.5\n";
    let input = Input::from_bytes("stdin", turned, InputKind::Measures, Some(Format::Tsv)).unwrap();
    let masses = input.masses(None, true).unwrap();
    assert_eq!(masses.points().unwrap(), ["a", "b"]);
    assert_eq!(masses.measures(None).unwrap(), expected);
}

#[test]
fn what_a_format_cannot_hold_is_refused() {
    let input = |wanted, format| Input::from_bytes("a", b"1,2", wanted, Some(format)).unwrap();
    let masses = |format, transpose| input(InputKind::Measures, format).masses(None, transpose);
    assert_eq!(
        masses(Format::Parquet, false).unwrap_err().to_string(),
        "a Parquet table: read it from Python (`treeport.Measures.read`, or `Clouds.read`), or write it as .csv"
    );
    assert_eq!(
        masses(Format::Npy, true).unwrap_err().to_string(),
        "transpose is set; it is for tables of text (.csv, .tsv)"
    );
    let graph = input(InputKind::Graph, Format::Npy).graph().map(drop);
    assert_eq!(graph.unwrap_err().to_string(), "a graph must be in a .npz, .csv or .tsv file");
    let (_folder, write) = folder();
    let newick = write("a.nwk", b"(a,b);");
    let newick = Input::open(newick, InputKind::Measures, None).unwrap().masses(None, false);
    assert_eq!(
        newick.unwrap_err().to_string(),
        "measures must be in a .npy, .npz, .csv, .tsv or .biom file"
    );
    // A format given for measures does not apply to a model, and vice versa.
    assert_eq!(input(InputKind::Model, Format::Npy).format(), Format::Model);
    assert_eq!(input(InputKind::Measures, Format::Newick).format(), Format::Csv);
}
