use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

fn matrix(text: &str) -> Result<Table> {
    read_matrix(text.as_bytes())
}

fn error(text: &str) -> String {
    matrix(text).expect_err(text).to_string()
}

fn words(names: &[&str]) -> Option<Vec<String>> {
    let all: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    Some(all).filter(|names| !names.is_empty())
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = GzEncoder::new(Vec::new(), Compression::default());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

#[test]
fn tables_have_an_optional_header() {
    let table = matrix("x, y\n1, 2.5\n\n-3e2, inf\n").unwrap();
    assert_eq!((table.header, table.ids), (words(&["x", "y"]), None));
    assert_eq!((table.columns, &table.values[..]), (2, &[1.0, 2.5, -300.0, f64::INFINITY][..]));
    let plain = matrix("\u{feff}1,2\r\n3,4").unwrap();
    assert_eq!((plain.header, plain.values), (None, vec![1.0, 2.0, 3.0, 4.0]));
}

/// One table as written by pandas, R, QIIME, a spreadsheet and an editor.
#[test]
fn the_same_table_from_every_tool() {
    let expected = Table {
        columns: 2,
        values: vec![0.5, 1.0, 0.0, 2.0],
        header: words(&["a", "b"]),
        ids: words(&["S1", "S2"]),
    };
    for text in [
        ",a,b\nS1,0.5,1\nS2,0,2\n",
        "id,a,b\nS1,0.5,1\nS2,0,2\n",
        "city,a,b\nS1,0.5,1\nS2,0,2\n",
        "\u{feff}\"\";\"a\";\"b\"\r\n\"S1\";0.5;1\r\n\"S2\";0;2\r\n",
        "a\tb\nS1\t0.5\t1\nS2\t0\t2\n",
        "\ta\tb\nS1\t0.5\t1\nS2\t0\t2\n",
        "# Constructed from biom file\n#OTU ID\ta\tb\nS1\t0.5\t1.0\nS2\t0.0\t2.0\n",
        "#SampleID\ta\tb\n\nS1\t0.5\t1\nS2\t0\t2",
        "\n\nsample-id,a,b\nS1,0.5,1\nS2,0,2\n",
    ] {
        assert_eq!(matrix(text).expect(text), expected, "{text}");
        assert_eq!(read_matrix(&gzip(text.as_bytes())[..]).expect(text), expected, "{text}");
    }
}

#[test]
fn names_may_be_numbers_where_the_file_says_that_they_are_names() {
    let table = matrix("#OTU ID\t10317.1\t10317.2\n4479944\t1\t2\n228054\t3\t4\n").unwrap();
    assert_eq!(table.header, words(&["10317.1", "10317.2"]));
    assert_eq!(table.ids, words(&["4479944", "228054"]));
    let pandas = matrix(",0,1\n0,0.5,0.5\n1,1,0\n").unwrap();
    assert_eq!((pandas.header, pandas.ids), (words(&["0", "1"]), words(&["0", "1"])));
    let some = matrix("id,0,1\n5,0.5,0.5\n3,1,0\n").unwrap();
    assert_eq!((some.header, some.ids), (words(&["0", "1"]), words(&["5", "3"])));
    let names = ["7", "5"].map(String::from);
    let options = TableOptions { names: &names, ..TableOptions::default() };
    let asked = read(&b"city,5,7\nOslo,1,2\n"[..], &options).unwrap();
    assert_eq!((asked.header, asked.ids), (words(&["5", "7"]), words(&["Oslo"])));
    let asked = read(&b"5,7\n1,2\n"[..], &options).unwrap();
    assert_eq!((asked.header, asked.ids), (words(&["5", "7"]), None));
}

#[test]
fn rows_may_have_names_without_a_header() {
    let table = matrix("the,0.4,1\nof,0.7,2\n").unwrap();
    assert_eq!((table.columns, table.ids), (2, words(&["the", "of"])));
    assert_eq!(table.header, None);
}

/// Numbers under a word that is not an ID, under an empty word, or without a header are data.
#[test]
fn data_does_not_become_names() {
    for text in ["time,x\n0,5\n1,7\n", "0,5\n1,7\n", "index\n0\n1\n", "x,y\n3,1\n4,2\n"] {
        assert_eq!(matrix(text).expect(text).ids, None, "{text}");
    }
    for text in [
        ",x\n3,1\n4,2\n",
        "\tx\n0,5\t1\n",
        ",x\n0.5,1\n0.25,2\n",
        ",x\n1,1\nX,2\n",
        "x\n7,1\n8,2\n",
    ] {
        let said = error(text);
        assert!(said.starts_with("csv, line 1: the first column has no name and"), "{said}");
    }
    for text in ["city,2020,2021\nOslo,5,6\n", "S1,5,6\nS2,1,2\n"] {
        let said = error(text);
        assert!(said.contains("is this a header or a row with a name?"), "{said}");
    }
    for cell in ["0,5", "1 000", "5%", "-0,5", "\u{2212}1", "$3", "5 km", "0x1f", "2020-01-01"] {
        for text in [format!("x\ty\n{cell}\t1\n"), format!("{cell}\t0.5\n1\t2\n")] {
            let said = error(&text);
            assert!(said.contains(&format!("`{cell}` is not a number; ")), "{text}: {said}");
        }
    }
    assert!(matrix(",x\n2020-01-01,1\n0af3,2\n").is_ok());
    assert_eq!(error(",0.25,0.75\n1,0,0\n"), "csv, line 1, column 1: the cell is empty");
    assert_eq!(
        error("x,y\na,2\n3,4\n"),
        "csv, line 3, column 1: `3` in a column that begins with `a`; if these are names of rows, call it `id`"
    );
}

#[test]
fn bad_cells_and_rows_are_named() {
    let missing = "is not a number; fill in the missing value, or leave the row out";
    for (text, expected) in [
        ("1,2\n3", "csv, line 2: 1 cells, but 2 on the first line"),
        ("x,y\n1,2\n3,oops\n", "csv, line 3, column 2 (`y`): `oops` is not a number"),
        ("id,y\n\nS1,\n", "csv, line 3, column 2 (`y` of `S1`): the cell is empty"),
        ("1,2\n,4\n", "csv, line 2, column 1: the cell is empty"),
        ("# by R\nid,y\nS1,NA", &format!("csv, line 3, column 2 (`y` of `S1`): `NA` {missing}")),
        ("1,2\n3,NaN\n", &format!("csv, line 2, column 2: `NaN` {missing}")),
        (
            "x;y\n0,5;1\n",
            "csv, line 2, column 1 (`x`): `0,5` is not a number; write decimals with a point",
        ),
        (
            "x y\n1 2\n",
            "csv, line 2, column 1 (`x y`): `1 2` is not a number; cells go between commas, tabs or semicolons",
        ),
        ("id,y\nS1,1\n,2\n", "csv, line 3, column 1: the name of the row is missing"),
        ("id,y\nS1,1\nS2,1\nS1,2\n", "csv, line 4: the row is called `S1`, like that on line 2"),
        ("id,y,x,y\nS1,1,2,3\n", "csv, header: columns 2 and 4 are both `y`; names must differ"),
        // The comment has as many cells as the first row, and so must the others.
        ("#id\tx\na\t1\nb\t2\t3\n", "csv, line 3: 3 cells, but 2 on the first line"),
        ("x,y\n", "csv, line 1: there are no numbers"),
        ("# nothing\n", "csv, line 1: there are no numbers"),
        ("", "csv, line 1: there are no numbers"),
    ] {
        assert_eq!(error(text), expected);
    }
    let garbled = read_matrix(&b"1,2\n3,\xff\n"[..]).unwrap_err().to_string();
    assert_eq!(garbled, "csv, line 2: column 2: not UTF-8; save the file as UTF-8");
    let wide = read_matrix(&b"\xff\xfe1\0,\0"[..]).unwrap_err().to_string();
    assert_eq!(wide, "csv, line 1: the text is UTF-16; save it as UTF-8");
    let long = error(&format!("1,{}\n", "x".repeat(1 << 20)));
    assert_eq!(long, format!("csv, line 1, column 2: `{}…` is not a number", "x".repeat(60)));
}

/// As a header the row would be dropped, and every row would shift by one.
#[test]
fn a_first_row_of_missing_numbers_is_no_header() {
    for cell in ["NA", "N/A", "#N/A", "<NA>", "NULL", "null", "None", "-", "?", ".", "missing"] {
        let said = error(&format!("{cell},{cell}\n1,2\n"));
        let expected = format!("csv, line 1, column 1: `{cell}` is not a number");
        assert!(said.starts_with(&expected), "{said}");
    }
    assert_eq!(error(",NA\n1,2\n"), "csv, line 1, column 1: the cell is empty");
    assert_eq!(matrix("NA,x\n1,2\n").unwrap().header, words(&["NA", "x"]));
    let names = ["NA", "None"].map(String::from);
    let options = TableOptions { names: &names, ..TableOptions::default() };
    assert!(read(&b"NA,None\n1,2\n"[..], &options).unwrap().header.is_some());
}

#[test]
fn quoted_cells_hold_separators() {
    let table = matrix("id,\"x, y\",z\n\"Oslo, Norway\",1,\"2\"\n\"a\nb\",3,4\n").unwrap();
    assert_eq!(table.header, words(&["x, y", "z"]));
    assert_eq!(table.ids, words(&["Oslo, Norway", "a\nb"]));
    let said = error("id,x\n\"a\nb\",1\nc,?\n");
    assert!(said.starts_with("csv, line 4, column 2 (`x` of `c`): `?`"), "{said}");
}

#[test]
fn a_cut_gzip_file_is_an_error() {
    let rows: Vec<String> = (0..3000).map(|row| format!("{row},{}\n", row * row % 97)).collect();
    let file = gzip(rows.concat().as_bytes());
    assert_eq!(read_matrix(&file[..]).unwrap().rows(), 3000);
    for end in 2..file.len() {
        let said = read_matrix(&file[..end]).unwrap_err().to_string();
        assert!(said.contains("cannot be read further: "), "{end}: {said}");
    }
}

#[test]
fn some_columns_are_read_by_name() {
    let mut rows = Vec::new();
    let text = &b"km\tRight\tleft\n9\tb\ta\n\n8\tc\ta\n"[..];
    read_columns(text, None, ["left", "right"], |line, [left, right]| {
        rows.push(format!("{line} {left} {right}"));
        Ok::<_, Error>(())
    })
    .unwrap();
    assert_eq!(rows, ["2 a b", "4 a c"]);
    let none = |_, _: [&str; 2]| Ok::<_, Error>(());
    let said = read_columns(&b"left\n1\n"[..], None, ["left", "right"], none).unwrap_err();
    let expected = "csv, line 1: no column `right`; a header must name left, right";
    assert_eq!(said.to_string(), expected);
}

/// A quoted name that any tool may write.
fn name() -> impl Strategy<Value = String> {
    "[a-z]([ ,;\t\"a-z0-9é]{0,6}[a-z0-9])?"
}

proptest! {
    /// Numeric columns stay data unless the header marks them as IDs, whether their values are
    /// consecutive integers or not.
    #[test]
    fn numbers_stay_numbers(
        (columns, values) in (1..4_usize, 1..5_usize).prop_flat_map(|(rows, columns)| {
            let cell = prop_oneof![(0..4_i32).prop_map(f64::from), -9.0..9.0_f64];
            (Just(columns), vec(cell, rows * columns))
        }),
        header: bool,
        separator in prop::sample::select(vec![",", "\t", ";"]),
    ) {
        let words: Vec<String> = ["time", "x", "y", "z"][..columns].iter().map(|&w| w.into()).collect();
        let row = |row: &[f64]| row.iter().map(f64::to_string).collect::<Vec<_>>().join(separator);
        let mut lines: Vec<String> = values.chunks(columns).map(row).collect();
        if header {
            lines.insert(0, words.join(separator));
        }
        let table = matrix(&lines.join("\n")).unwrap();
        let expected = Table { columns, values, header: header.then_some(words), ids: None };
        prop_assert_eq!(table, expected);
    }

    #[test]
    fn what_is_written_is_read(
        (rows, columns, values) in (1..5_usize, 1..5_usize).prop_flat_map(|(rows, columns)| {
            (Just(rows), Just(columns), vec(-1e6..1e6_f64, rows * columns))
        }),
        names in vec(name(), 8),
        corner in prop::sample::select(vec!["", "id", "#OTU ID"]),
        separator in prop::sample::select(vec![',', '\t', ';']),
        zipped: bool,
    ) {
        let names: Vec<String> = names.iter().zip(0..).map(|(name, k)| format!("{name}{k}")).collect();
        let (header, ids) = (&names[..columns], &names[4..4 + rows]);
        let quoted = |name: &String| format!("\"{}\"", name.replace('"', "\"\""));
        let line = |name: String, cells: Vec<String>| {
            [vec![name], cells].concat().join(&separator.to_string())
        };
        let mut lines = vec![line(corner.to_owned(), header.iter().map(quoted).collect())];
        for (id, row) in ids.iter().zip(values.chunks(columns)) {
            lines.push(line(quoted(id), row.iter().map(f64::to_string).collect()));
        }
        let text = lines.join("\n");
        let bytes = if zipped { gzip(text.as_bytes()) } else { text.into_bytes() };
        let table = read_matrix(&bytes[..]).unwrap();
        let expected = Table { columns, values, header: Some(header.to_vec()), ids: Some(ids.to_vec()) };
        prop_assert_eq!(&table, &expected);
        let turned = table.transposed().unwrap();
        prop_assert_eq!(turned.columns, rows);
        prop_assert_eq!(turned.transposed().unwrap(), expected);
    }
}
