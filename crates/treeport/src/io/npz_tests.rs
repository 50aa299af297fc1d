//! Tests of sparse matrices in every format, and of members that disagree.
#![expect(clippy::cast_possible_wrap, reason = "test matrices are tiny")]

use std::io::Cursor;

use proptest::prelude::*;

use super::*;

/// Builds a sparse archive; index members are in the order of `places`.
fn archive(format: [u8; 3], shape: &[i64], places: &[(&str, &[i64])], data: &[f64]) -> Vec<u8> {
    let mut out = Cursor::new(Vec::new());
    let mut zip = ZipWriter::new(&mut out);
    member(&mut zip, "format", |out| npy::write_name(format, out)).unwrap();
    member(&mut zip, "shape", |out| npy::write_i64(&[shape.len()], shape, out)).unwrap();
    for (name, values) in places {
        member(&mut zip, name, |out| npy::write_i64(&[values.len()], values, out)).unwrap();
    }
    member(&mut zip, "data", |out| npy::write_f64(&[data.len()], data, out)).unwrap();
    zip.finish().unwrap();
    out.into_inner()
}

fn message(file: &[u8]) -> String {
    read_csr(Cursor::new(file)).unwrap_err().to_string()
}

#[test]
fn deflated_members_are_read() {
    let mut out = Cursor::new(Vec::new());
    let mut zip = ZipWriter::new(&mut out);
    let options = SimpleFileOptions::default().compression_method(CompressionMethod::Deflated);
    zip.start_file("a.npy", options).unwrap();
    npy::write("<i4", &[1000], &[7; 1000], |v: &i32| v.to_le_bytes(), &mut zip).unwrap();
    zip.start_file("notes.txt", options).unwrap();
    zip.finish().unwrap();
    let bytes = out.into_inner();
    assert!(bytes.len() < 1000);
    let arrays = read(Cursor::new(bytes)).unwrap();
    assert_eq!(arrays.len(), 1);
    assert_eq!(arrays["a"].data, Data::I64(vec![7; 1000]));
}

#[test]
fn members_that_nobody_needs_are_not_read() {
    let places: [(&str, &[i64]); 2] = [("indptr", &[0, 1]), ("indices", &[0])];
    let file = archive(*b"csr", &[1, 1], &places, &[1.0]);
    let mut zip = ZipWriter::new_append(Cursor::new(file)).unwrap();
    // A member that announces more entries than fit into memory and has no data.
    let header = "{'descr': '|i1', 'fortran_order': False, 'shape': (1000000000000000,), }\n";
    zip.start_file("junk.npy", SimpleFileOptions::default()).unwrap();
    zip.write_all(b"\x93NUMPY\x01\x00").unwrap();
    zip.write_all(&(header.len() as u16).to_le_bytes()).unwrap();
    zip.write_all(header.as_bytes()).unwrap();
    zip.write_all(&vec![0; 1 << 17]).unwrap();
    let file = zip.finish().unwrap().into_inner();
    assert_eq!(read_csr(Cursor::new(&file)).unwrap().values, [1.0]);
    assert_eq!(read_one(Cursor::new(&file), "data").unwrap().data, Data::F64(vec![1.0]));
    let missing = read_one(Cursor::new(&file), "weights").unwrap_err().to_string();
    assert_eq!(missing, "npz, archive: no member `weights`");
    // Reading that member is an error of memory.
    assert!(matches!(read_one(Cursor::new(&file), "junk"), Err(Error::Memory { .. })));
    assert!(matches!(read(Cursor::new(&file)), Err(Error::Memory { .. })));
}

#[test]
fn repeated_entries_add_up_and_columns_are_sorted() {
    let places: [(&str, &[i64]); 2] = [("indptr", &[0, 3, 3]), ("indices", &[2, 0, 2])];
    let csr = read_csr(Cursor::new(archive(*b"csr", &[2, 3], &places, &[1.0, 2.0, 4.0]))).unwrap();
    assert_eq!((&csr.start[..], &csr.indices[..]), (&[0, 2, 2][..], &[0, 2][..]));
    assert_eq!(csr.values, [2.0, 5.0]);
}

#[test]
fn members_that_disagree_are_named() {
    let csr = |shape: &[i64], start: &[i64], indices: &[i64]| {
        message(&archive(*b"csr", shape, &[("indptr", start), ("indices", indices)], &[1.0, 2.0]))
    };
    for (message, expected) in [
        (csr(&[2, 3], &[0, 1], &[0, 1]), "member `indptr`: 2 bounds for 2 lines"),
        (csr(&[2, 3], &[0, 3, 2], &[0, 1]), "member `indptr`: bound 1 is 3, the next one 2"),
        (csr(&[2, 3], &[0, 1, 1], &[0, 1]), "bounds must run from 0 to the 2 values"),
        (csr(&[2, 3], &[0, 1, 2], &[0, 3]), "member `indices`: index 3 at entry 1"),
        (csr(&[2, 3], &[0, 1, 2], &[0]), "member `indices`: 1 indices for 2 values"),
        (csr(&[2, 3], &[0, 1, 2], &[0, -1]), "member `indices`, entry 1: -1 where"),
        (csr(&[2], &[0, 1, 2], &[0, 1]), "member `shape`: two numbers"),
        (message(&archive(*b"csr", &[2, 2], &[], &[])), "archive: no member `indptr`"),
        (message(&archive(*b"dia", &[2, 2], &[], &[])), "sparse format `dia`"),
        (message(b"not a zip"), "archive: not a NumPy archive"),
    ] {
        assert!(message.starts_with("npz, ") && message.contains(expected), "{message}");
    }
}

#[test]
fn rows_beyond_reason_are_refused_before_they_cost_memory() {
    let places: [(&str, &[i64]); 2] = [("row", &[0]), ("col", &[0])];
    let file = archive(*b"coo", &[1_000_000_000_000, 1], &places, &[1.0]);
    assert!(message(&file).contains("1000000000000 rows for 1 values"));
    let places: [(&str, &[i64]); 2] = [("indptr", &[0, 1]), ("indices", &[0])];
    let file = archive(*b"csc", &[1_000_000_000_000, 1], &places, &[1.0]);
    assert!(message(&file).contains("1000000000000 rows for 1 values"));
}

#[test]
fn a_member_that_is_no_array_is_named() {
    let mut out = Cursor::new(Vec::new());
    let mut zip = ZipWriter::new(&mut out);
    member(&mut zip, "format", |out| out.write_all(b"junk")).unwrap();
    zip.finish().unwrap();
    let text = message(&out.into_inner());
    assert!(text.starts_with("npz, member `format`, byte 0: not a NumPy array"), "{text}");
}

#[test]
fn a_damaged_entry_fails_its_checksum() {
    let places: [(&str, &[i64]); 2] = [("indptr", &[0, 1]), ("indices", &[0])];
    let mut file = archive(*b"csr", &[1, 1], &places, &[0.3]);
    let value = 0.3f64.to_le_bytes();
    let at = file.windows(8).position(|w| w == value).unwrap();
    file[at] ^= 1;
    let text = message(&file);
    assert!(text.starts_with("npz, member `data`") && text.contains("checksum"), "{text}");
}

/// Distinct cells of a small matrix with values, in row order.
fn matrices() -> impl Strategy<Value = (usize, usize, Vec<(usize, usize, f64)>)> {
    (1usize..6, 1usize..6).prop_flat_map(|(rows, cols)| {
        let cells = prop::collection::btree_map((0..rows, 0..cols), -5.0..5.0f64, 0..12);
        let triples = |m: std::collections::BTreeMap<_, _>| {
            m.into_iter().map(|((r, c), v)| (r, c, v)).collect()
        };
        (Just(rows), Just(cols), cells.prop_map(triples))
    })
}

fn column(
    triples: &[(usize, usize, f64)],
    pick: impl Fn(&(usize, usize, f64)) -> usize,
) -> Vec<i64> {
    triples.iter().map(|t| pick(t) as i64).collect()
}

proptest! {
    #[test]
    fn csr_csc_and_coo_agree((rows, cols, mut triples) in matrices()) {
        let shape = [rows as i64, cols as i64];
        let starts = |lines: &[i64], n: usize| -> Vec<i64> {
            (0..=n as i64).map(|b| lines.iter().filter(|&&l| l < b).count() as i64).collect()
        };
        let values = |triples: &[(usize, usize, f64)]| triples.iter().map(|t| t.2).collect::<Vec<_>>();
        let (row, col) = (column(&triples, |t| t.0), column(&triples, |t| t.1));
        let start = starts(&row, rows);
        let csr = archive(*b"csr", &shape, &[("indptr", &start), ("indices", &col)], &values(&triples));
        let csr = read_csr(Cursor::new(csr)).unwrap();

        triples.sort_by_key(|t| (t.1, t.0));
        let (row, col) = (column(&triples, |t| t.0), column(&triples, |t| t.1));
        let start = starts(&col, cols);
        let csc = archive(*b"csc", &shape, &[("indptr", &start), ("indices", &row)], &values(&triples));
        prop_assert_eq!(&read_csr(Cursor::new(csc)).unwrap(), &csr);
        triples.reverse();
        let (row, col) = (column(&triples, |t| t.0), column(&triples, |t| t.1));
        let coo = archive(*b"coo", &shape, &[("row", &row), ("col", &col)], &values(&triples));
        prop_assert_eq!(&read_csr(Cursor::new(coo)).unwrap(), &csr);

        let mut out = Cursor::new(Vec::new());
        write_csr(&csr, &mut out).unwrap();
        prop_assert_eq!(read_csr(out).unwrap(), csr);
    }

    #[test]
    fn damaged_archives_never_panic(at in 0usize..1500, byte: u8, cut in 0usize..1500) {
        let places: [(&str, &[i64]); 2] = [("indptr", &[0, 1]), ("indices", &[0])];
        let mut file = archive(*b"csr", &[1, 1], &places, &[0.3]);
        let at = at % file.len();
        file[at] = byte;
        let _ = read_csr(Cursor::new(&file));
        file.truncate(cut);
        let _ = read_csr(Cursor::new(&file));
    }
}

/// A disk with a limited number of free bytes.
struct Disk {
    file: Cursor<Vec<u8>>,
    room: usize,
}

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let end = self.file.position() as usize + bytes.len();
        if end > self.room {
            Err(io::ErrorKind::StorageFull.into())
        } else {
            self.file.write(bytes)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Seek for Disk {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}

#[test]
fn a_disk_that_is_full_at_any_byte_is_an_error() {
    let matrix = Csr { rows: 1, cols: 2, start: vec![0, 1], indices: vec![1], values: vec![0.5] };
    let mut whole = Cursor::new(Vec::new());
    write_csr(&matrix, &mut whole).unwrap();
    let size = whole.get_ref().len();
    for room in 0..=size {
        let mut disk = Disk { file: Cursor::new(Vec::new()), room };
        match write_csr(&matrix, &mut disk) {
            Ok(()) => assert_eq!(disk.file.get_ref(), whole.get_ref()),
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::StorageFull);
                assert!(room < size);
            }
        }
    }
}
