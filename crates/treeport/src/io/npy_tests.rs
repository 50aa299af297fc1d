//! Tests of arrays of every type, order and version, valid and damaged.

use proptest::prelude::*;

use super::*;

/// Builds a file with the given type and axis order around raw bytes.
fn file(version: u8, descr: &str, fortran: &str, shape: &str, bytes: &[u8]) -> Vec<u8> {
    let dict = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
    let mut file = MAGIC.to_vec();
    file.extend([version, 0]);
    let length = (dict.len() as u32).to_le_bytes();
    file.extend(&length[..if version == 1 { 2 } else { 4 }]);
    file.extend(dict.as_bytes());
    file.extend(bytes);
    file
}

fn message(file: &[u8]) -> String {
    read(file).unwrap_err().to_string()
}

#[test]
fn every_type_and_byte_order_is_read() {
    let ints = |descr: &str, bytes: &[u8]| read(&file(1, descr, "False", "(1,)", bytes)[..]);
    for (descr, bytes, value) in [
        ("|i1", &[0xfe][..], -2),
        ("|u1", &[0xfe], 254),
        ("|b1", &[1], 1),
        ("<i2", &[0xfe, 0xff], -2),
        (">i2", &[0xff, 0xfe], -2),
        ("<u2", &[1, 2], 513),
        (">u2", &[1, 2], 258),
        ("<i4", &[0xfe, 0xff, 0xff, 0xff], -2),
        (">u4", &[0, 0, 1, 0], 256),
        (">i8", &[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfe], -2),
        ("<u8", &[5, 0, 0, 0, 0, 0, 0, 0], 5),
    ] {
        assert_eq!(ints(descr, bytes).unwrap().data, Data::I64(vec![value]), "{descr}");
    }
    let float = ints(">f4", &1.5f32.to_be_bytes()).unwrap();
    assert_eq!(float.data, Data::F32(vec![1.5]));
    let double = ints(">f8", &(-0.1f64).to_be_bytes()).unwrap();
    assert_eq!(double.data, Data::F64(vec![-0.1]));
}

#[test]
fn all_versions_strings_and_single_values_are_read() {
    for version in 1..=3 {
        let array = read(&file(version, "|S4", "False", "()", b"csr\0")[..]).unwrap();
        assert_eq!((array.shape, array.data), (vec![], Data::Text(vec!["csr".into()])));
    }
    let wide: Vec<u8> = "coo".chars().flat_map(|c| (c as u32).to_be_bytes()).collect();
    let array = read(&file(3, ">U3", "False", "()", &wide)[..]).unwrap();
    assert_eq!(array.data, Data::Text(vec!["coo".into()]));
    let mut written = Vec::new();
    write_name(*b"csr", &mut written).unwrap();
    assert_eq!(read(&written[..]).unwrap().data, Data::Text(vec!["csr".into()]));
}

#[test]
fn empty_arrays_have_a_shape() {
    let array = read(&file(1, "<f8", "True", "(0, 1000000000000)", &[])[..]).unwrap();
    assert_eq!(array.shape, [0, 1_000_000_000_000]);
    assert!(array.data.is_empty());
}

#[test]
fn announced_entries_cost_nothing_until_they_arrive() {
    let claim = file(1, "<f8", "False", "(1000000, 1000000)", &[0; 20]);
    let expected = "the file ends after 2 of 1000000000000 entries";
    assert!(message(&claim).ends_with(expected), "{}", message(&claim));
    let beyond = file(1, "<f8", "False", "(4294967296, 4294967296)", &[]);
    assert!(message(&beyond).contains("more than can be addressed"));
}

#[test]
fn damaged_files_say_where() {
    let good = file(1, "<f8", "False", "(2,)", &[0; 16]);
    assert!(message(b"PK\x03\x04").starts_with("npy, byte 0: not a NumPy array"));
    assert!(message(&good[..9]).contains("byte 8"));
    assert!(message(&good[..40]).ends_with("the file ends inside its header"));
    let cut = message(&good[..good.len() - 1]);
    assert!(cut.ends_with("the file ends after 1 of 2 entries"), "{cut}");
    assert!(message(&[&good[..], b"x"].concat()).contains("more bytes follow"));
    assert!(message(&file(4, "<f8", "False", "(1,)", &[0; 8])).contains("format 4"));
    assert!(message(&file(2, "|O", "False", "(1,)", &[0; 8])).contains("pickle"));
    assert!(message(&file(1, "|S0", "False", "(1,)", &[])).contains("no width"));
    assert!(message(&file(1, "|S99999", "False", "(1,)", &[])).contains("too wide"));
    assert!(message(&file(1, "<u8", "False", "(1,)", &[0xff; 8])).contains("entry 0: it exceeds"));
    let long = [MAGIC, &[2, 0, 0xff, 0xff, 0xff, 0xff][..]].concat();
    assert!(message(&long).contains("4294967295 bytes is too long"));
}

#[test]
fn writing_checks_the_shape_and_aligns_the_entries() {
    let mut out = Vec::new();
    assert!(write_f64(&[3], &[1.0, 2.0], &mut out).is_err());
    assert!(out.is_empty());
    write("<i4", &[2], &[-1, 7], |v: &i32| v.to_le_bytes(), &mut out).unwrap();
    assert_eq!(out.len(), 128 + 8);
    assert_eq!(read(&out[..]).unwrap().data, Data::I64(vec![-1, 7]));
    out.clear();
    write_i64(&[1, 1], &[i64::MIN], &mut out).unwrap();
    assert_eq!(read(&out[..]).unwrap().data, Data::I64(vec![i64::MIN]));
}

proptest! {
    #[test]
    fn written_arrays_come_back(shape in prop::collection::vec(0usize..5, 0..4), seed: u32) {
        let entries: usize = shape.iter().product();
        let values: Vec<f64> = (0..entries).map(|i| f64::from(seed) * 0.3 + i as f64).collect();
        let mut out = Vec::new();
        write_f64(&shape, &values, &mut out).unwrap();
        prop_assert_eq!(out.len() % 64, entries * 8 % 64);
        let back = read(&out[..]).unwrap();
        prop_assert_eq!((&back.shape, &back.data), (&shape, &Data::F64(values.clone())));
        let short: Vec<f32> = values.iter().map(|&v| v as f32).collect();
        out.clear();
        write("<f4", &shape, &short, |v| v.to_le_bytes(), &mut out).unwrap();
        prop_assert_eq!(read(&out[..]).unwrap().data, Data::F32(short));
    }

    #[test]
    fn fortran_order_and_big_endian_agree_with_c(rows in 1usize..6, columns in 1usize..6, deep in 1usize..4) {
        let at = |i: usize, j: usize, k: usize| (100 * i + 10 * j + k) as f64;
        let mut bytes = Vec::new();
        for (k, j, i) in (0..deep).flat_map(|k| (0..columns).flat_map(move |j| (0..rows).map(move |i| (k, j, i)))) {
            bytes.extend(at(i, j, k).to_be_bytes());
        }
        let shape = format!("({rows}, {columns}, {deep})");
        let array = read(&file(1, ">f8", "True", &shape, &bytes)[..]).unwrap();
        let values = array.into_f64().unwrap();
        for (place, value) in values.iter().enumerate() {
            let (i, j, k) = (place / deep / columns, place / deep % columns, place % deep);
            prop_assert_eq!(*value, at(i, j, k));
        }
    }

    #[test]
    fn any_bytes_are_refused_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&bytes[..]);
        let _ = read(&[&MAGIC[..], &[1, 0, 40, 0], &bytes].concat()[..]);
    }
}

#[test]
fn names_that_could_not_be_read_again_are_not_written() {
    let mut file = Vec::new();
    write_texts(&["x".repeat(CHUNK / 4)], &mut file).unwrap();
    assert_eq!(read(&file[..]).unwrap().shape, [1]);
    let long = write_texts(&["x".repeat(CHUNK / 4 + 1)], Vec::new()).unwrap_err();
    assert_eq!(long.to_string(), "a name has 16385 characters, more than the 16384 of an array");
}
