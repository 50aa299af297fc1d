//! The same seed gives the same bytes, whatever the number of threads.

use crate::folder::Folder;

/// A folder with `count` points in the plane and measures on a few of them each.
pub(crate) fn with_plane(count: usize) -> Folder {
    let folder = Folder::new();
    let coordinate = |k: usize| (k * k * 7 + k * 13) % 101;
    let points: Vec<String> =
        (0..count).map(|p| format!("{},{}", coordinate(p), coordinate(p + 50))).collect();
    folder.write("points.csv", points.join("\n"));
    let row = |r: usize| {
        let mass = |p: usize| if (p * 5 + r * 3).is_multiple_of(7) { p % 3 + 1 } else { 0 };
        (0..count).map(|p| mass(p).to_string()).collect::<Vec<_>>().join(",")
    };
    folder.write("many.csv", (0..20).map(row).collect::<Vec<_>>().join("\n"));
    folder
}

#[test]
fn the_same_seed_gives_the_same_file() {
    let folder = with_plane(40);
    let fit = "fit --points points.csv --measures many.csv --normalize --epochs 5 --seed";
    for (args, file) in [
        ("7 --threads 1 -o a.tree", "a.tree"),
        ("7 --threads 1 -o b.tree", "b.tree"),
        ("7 --threads 2 -o c.tree", "c.tree"),
        ("8 --threads 2 -o d.tree", "d.tree"),
    ] {
        folder.json(&format!("{fit} {args} --json"));
        assert_eq!(folder.read("a.tree") == folder.read(file), file != "d.tree", "{file}");
    }
}

#[test]
fn distances_and_scores_do_not_depend_on_threads() {
    let folder = with_plane(40);
    folder.json("fit --points points.csv --epochs 2 --json -o model.tree");
    for args in [
        "distance model.tree --measures many.csv --normalize",
        "eval model.tree --points points.csv --measures many.csv --normalize",
        "exact --points points.csv --measures many.csv --normalize",
        "exact --points points.csv --metric sqeuclidean --measures many.csv --normalize",
    ] {
        let one = folder.run(&format!("{args} --threads 1"));
        assert_eq!(one, folder.run(&format!("{args} --threads 2")));
    }
}
