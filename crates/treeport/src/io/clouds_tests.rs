use std::io::Cursor;

use super::*;

/// Two clouds in the plane; the second has three points.
fn expected() -> Clouds {
    let points = vec![0.0, 0.5, 1.0, -2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    let names = Some(vec!["a".into(), "b".into()]);
    Clouds::named(2, points, &[0, 2, 5], &[0.25, 0.75, 0.5, 0.0, 0.5], names).unwrap()
}

fn of_text(text: &str, options: &CloudOptions) -> Result<Clouds> {
    Input::from_bytes("stdin", text.as_bytes(), InputKind::Clouds, None)?.clouds(options)
}

fn same(found: &Clouds, expected: &Clouds) {
    assert_eq!(found, expected);
    assert_eq!(found.names(), expected.names());
}

const TABLE: &str = "id,mass,x1,x2\na,0.25,0,0.5\na,0.75,1,-2\nb,0.5,3,4\nb,0,5,6\nb,0.5,7,8\n";

#[test]
fn every_file_holds_the_same_clouds() {
    let (plain, expected) = (CloudOptions::default(), expected());
    same(&of_text(TABLE, &plain).unwrap(), &expected);
    same(&of_text(&TABLE.replace(',', "\t"), &plain).unwrap(), &expected);
    let mixed = "x1,id,mass,x2\n3,b,0.5,4\n0,a,0.25,0.5\n5,b,0,6\n7,b,0.5,8\n1,a,0.75,-2\n";
    let mixed = of_text(mixed, &plain).unwrap();
    assert_eq!(mixed.names().unwrap(), ["b", "a"]);
    same(&mixed.select(&[1, 0]).unwrap(), &expected);
    let other = TABLE.replace("id,mass,x1,x2", "who,w,x1,x2");
    let options = CloudOptions {
        groupby: Some("who".into()),
        weights: Some("w".into()),
        columns: Some(vec!["x1".into(), "x2".into()]),
    };
    same(&of_text(&other, &options).unwrap(), &expected);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("clouds.npz");
    expected.save(&path).unwrap();
    same(&Clouds::read(&path, &plain).unwrap(), &expected);
}

#[test]
fn a_folder_has_an_array_for_each_cloud() {
    let (folder, expected) = (tempfile::tempdir().unwrap(), expected());
    for (cloud, name) in ["a", "b"].into_iter().enumerate() {
        let mut masses = Vec::new();
        expected.masses_of(cloud, &mut masses);
        let rows = expected.coordinates_of(cloud).chunks(2).zip(&masses);
        let rows: Vec<f64> = rows.flat_map(|(point, &mass)| [mass, point[0], point[1]]).collect();
        let file = fs::File::create(folder.path().join(format!("{name}.npy"))).unwrap();
        npy::write_f64(&[masses.len(), 3], &rows, file).unwrap();
    }
    fs::write(folder.path().join("notes.txt"), "of the clouds").unwrap();
    let weights =
        |which: &str| CloudOptions { weights: Some(which.into()), ..CloudOptions::default() };
    same(&Clouds::read(folder.path(), &weights("first")).unwrap(), &expected);
    let plain = Clouds::read(folder.path(), &CloudOptions::default()).unwrap();
    assert_eq!((plain.dim(), plain.measures().row(1).masses()), (3, &[1.0 / 3.0; 3][..]));
    let error = Clouds::read(folder.path(), &weights("pt")).unwrap_err().to_string();
    assert_eq!(error, "weights is pt; masses are in the `first` or the `last` column of arrays");
    let file = fs::File::create(folder.path().join("c.npy")).unwrap();
    npy::write_f64(&[1, 2], &[0.0, 1.0], file).unwrap();
    let error = Clouds::read(folder.path(), &CloudOptions::default()).unwrap_err().to_string();
    assert_eq!(
        error,
        "the array of cloud c has shape rows of 2, expected rows of 3, like the arrays before it"
    );
    fs::write(folder.path().join("c.npy"), "no array").unwrap();
    let error = Clouds::read(folder.path(), &CloudOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("cloud c: npy, byte 0: not a NumPy array"), "{error}");
    let empty = tempfile::tempdir().unwrap();
    let error = Clouds::read(empty.path(), &CloudOptions::default()).unwrap_err().to_string();
    assert_eq!(error, "npy, folder: it has no .npy files; each is the points of a cloud");
}

#[test]
fn clouds_of_equal_sizes_are_one_array() {
    let mut file = Vec::new();
    npy::write_f64(&[2, 1, 3], &[0.5, 1.0, 2.0, 0.5, 3.0, 4.0], &mut file).unwrap();
    let options = CloudOptions { weights: Some("first".into()), ..CloudOptions::default() };
    let found = Input::from_bytes("stdin", &file, InputKind::Clouds, None).unwrap();
    let expected = Clouds::new(2, vec![1.0, 2.0, 3.0, 4.0], &[0, 1, 2], &[0.5, 0.5]).unwrap();
    same(&found.clouds(&options).unwrap(), &expected);
    file.clear();
    npy::write_f64(&[2, 1], &[0.5, 1.0], &mut file).unwrap();
    let found = Input::from_bytes("stdin", &file, InputKind::Clouds, None).unwrap();
    let error = found.clouds(&CloudOptions::default()).unwrap_err().to_string();
    assert!(error.starts_with("the array of clouds has shape (2, 1), expected (clouds, points,"));
}

#[test]
fn empty_clouds_and_names_survive_an_archive() {
    let names = Some(vec![String::new(), "Größe ✓".into(), "c".into()]);
    let clouds = Clouds::named(1, vec![1.0, 2.0], &[0, 0, 2, 2], &[0.0, 1.5], names).unwrap();
    let mut file = Cursor::new(Vec::new());
    clouds.write_npz(&mut file).unwrap();
    same(&of_archive(file, &CloudOptions::default()).unwrap(), &clouds);
}

#[test]
fn penalties_are_not_lost_in_silence() {
    let clouds = expected().with_penalties(&[1.0; 5]).unwrap();
    let error = clouds.write_npz(Cursor::new(Vec::new())).unwrap_err().to_string();
    assert_eq!(error, "the clouds have penalties of their own, which an archive does not hold");
}

#[test]
fn what_is_wrong_is_named() {
    let plain = CloudOptions::default();
    let of = |text: &str| of_text(text, &plain).unwrap_err().to_string();
    let columns = |names: &[&str]| CloudOptions {
        columns: Some(names.iter().map(|&name| name.into()).collect()),
        ..CloudOptions::default()
    };
    for (found, expected) in [
        (of("x,y\n1,2\n"), "csv, header: no column `id`; its columns are `x`, `y`"),
        (
            of("id,mass\na,1\n"),
            "csv, header: no columns of coordinates; its columns are `id`, `mass`",
        ),
        (of("id,id,x\na,a,1\n"), "csv, header: two columns are `id`"),
        (of("id,x\n"), "csv, line 1: there are no rows; a row is a point of a cloud"),
        (of("id,x\n,1\n"), "csv, line 2, column 1: the ID of the cloud is missing"),
        (of("id,x\na,\n"), "csv, line 2, column 2: the cell is empty"),
        (of("id,x\na,left\n"), "csv, line 2, column 2: `left` is not a number"),
        (
            of("id,x\na,1\nb,inf\n"),
            "cloud b: coordinate 0 of point 0 is inf; coordinates must be finite",
        ),
        (
            of("id,mass,x\na,1,1\na,-2,1\n"),
            "cloud a: point 1 has mass -2; masses must be finite and at least 0",
        ),
        (
            of_text("id,x\na,1\n", &columns(&["y"])).unwrap_err().to_string(),
            "csv, header: no column `y`; its columns are `id`, `x`",
        ),
    ] {
        assert_eq!(found, expected);
    }
    let mut file = Cursor::new(Vec::new());
    npz::write_archive(&mut file, |archive| {
        npz::member(archive, "points", |out| npy::write_f64(&[2, 1], &[0.0, 1.0], out))
    })
    .unwrap();
    let error = of_archive(file, &plain).unwrap_err().to_string();
    assert!(
        error.starts_with("npz, archive: no member `offsets`; clouds are `points` and"),
        "{error}"
    );
    for (starts, rest) in [(vec![0, 3], "2 bounds, 2 coordinates"), (vec![0, 2, 1, 2], "4 bounds")]
    {
        let mut file = Cursor::new(Vec::new());
        npz::write_archive(&mut file, |archive| {
            npz::member(archive, "points", |out| npy::write_f64(&[2, 1], &[0.0, 1.0], out))?;
            npz::member(archive, "offsets", |out| npy::write_i64(&[starts.len()], &starts, out))
        })
        .unwrap();
        let error = of_archive(file, &plain).unwrap_err().to_string();
        assert!(error.contains(rest), "{error}");
    }
    let error = Input::from_bytes("stdin", &b"PAR1"[..], InputKind::Clouds, None).unwrap();
    let error = error.clouds(&plain).unwrap_err().to_string();
    assert!(error.contains("`Clouds.read`), or write it as .csv"), "{error}");
}
