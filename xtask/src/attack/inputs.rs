//! Foreign files of a scene: points, a graph and a matrix of them, measures, names.

use std::collections::HashMap;

use super::folder::Snapshot;
use super::formats::{csv, npy_rows, ragged, sparse, zip};
use super::random::Random;

/// Members of an archive.
pub(super) type Members = Vec<(&'static str, Vec<u8>)>;

/// Returns the files, and the members of the archives among them.
pub(super) fn foreign(
    points: usize,
    measures: usize,
) -> (Snapshot, HashMap<&'static str, Members>) {
    let mut random = Random::new(1, 0);
    let places: Vec<Vec<f64>> =
        (0..points).map(|_| vec![random.fraction(), random.fraction()]).collect();
    let masses: Vec<Vec<f64>> = (0..measures).map(|k| measure(k, points, &mut random)).collect();
    let matrix: Vec<Vec<f64>> =
        places.iter().map(|a| places.iter().map(|b| apart(a, b)).collect()).collect();
    let (edges, graph) = edges(&matrix);
    let pairs: Vec<Vec<f64>> =
        (1..measures).map(|k| vec![(k * k % measures) as f64, (k - 1) as f64]).collect();
    let names = lines(points, |k| format!("p{k}"));
    let clouds: Vec<_> = masses.iter().map(|masses| cloud(masses, &places)).collect();
    let members = HashMap::from([
        ("graph.npz", sparse(&graph)),
        ("measures.npz", sparse(&masses)),
        ("clouds.npz", ragged(&clouds)),
    ]);
    let mut files = Snapshot::from([
        ("points.csv".into(), csv("x,y", &places)),
        ("points.npy".into(), npy_rows(&places)),
        ("matrix.csv".into(), csv("", &matrix)),
        ("matrix.npy".into(), npy_rows(&matrix)),
        ("edges.csv".into(), edges.into_bytes()),
        ("groups.txt".into(), lines(points, |k| format!("g{}", k % 3)).into_bytes()),
        ("measures.csv".into(), csv(&names.trim_end().replace('\n', ","), &masses)),
        ("measures.npy".into(), npy_rows(&masses)),
        ("features.tsv".into(), features(&masses).into_bytes()),
        ("some.csv".into(), some_columns(&masses)),
        ("names.txt".into(), names.into_bytes()),
        ("titles.txt".into(), lines(measures, |k| format!("m{k}")).into_bytes()),
        ("more.txt".into(), lines(measures, |k| format!("n{k}")).into_bytes()),
        ("pairs.csv".into(), csv("left,right", &pairs)),
        ("clouds.csv".into(), long_table(&clouds).into_bytes()),
        ("counts.biom".into(), biom(&masses).into_bytes()),
    ]);
    files.extend(members.iter().map(|(name, members)| ((*name).to_owned(), zip(members))));
    (files, members)
}

/// Draws uniform masses on a third of the points or on all, with a total of 1.
fn measure(number: usize, points: usize, random: &mut Random) -> Vec<f64> {
    let share = if number.is_multiple_of(2) { 0.3 } else { 1.0 };
    let mut has_mass: Vec<bool> = (0..points).map(|_| random.fraction() < share).collect();
    has_mass[number % points] = true;
    let total = has_mass.iter().filter(|has| **has).count() as f64;
    has_mass.into_iter().map(|has| f64::from(u8::from(has)) / total).collect()
}

fn apart(a: &[f64], b: &[f64]) -> f64 {
    (a[0] - b[0]).hypot(a[1] - b[1])
}

/// Returns a connected graph as a list of edges and as the upper triangle of a matrix.
fn edges(matrix: &[Vec<f64>]) -> (String, Vec<Vec<f64>>) {
    let points = matrix.len();
    let mut graph = vec![vec![0.0; points]; points];
    let mut text = vec!["source,target,weight\n".to_owned()];
    // The path comes first, so that nodes appear in the order of the points.
    for step in [1, 7, 13] {
        for to in step..points {
            let from = to - step;
            graph[from][to] = matrix[from][to];
            text.push(format!("p{from},p{to},{}\n", matrix[from][to]));
        }
    }
    (text.concat(), graph)
}

/// Writes measures as a feature table: points in rows, with names and IDs.
fn features(masses: &[Vec<f64>]) -> String {
    let ids: Vec<String> = (0..masses.len()).map(|k| format!("\tm{k}")).collect();
    let row = |point: usize| -> String {
        let cells: Vec<String> = masses.iter().map(|row| format!("\t{}", row[point])).collect();
        format!("p{point}{}\n", cells.concat())
    };
    let rows: Vec<String> = (0..masses[0].len()).map(row).collect();
    format!("# a feature table\n#OTU ID{}\n{}", ids.concat(), rows.concat())
}

/// Returns the points of a measure, slightly shifted, with their masses.
fn cloud(masses: &[f64], places: &[Vec<f64>]) -> (Vec<f64>, Vec<Vec<f64>>) {
    let aside = masses[0] + 0.01;
    let here = masses.iter().zip(places).filter(|(mass, _)| **mass > 0.0);
    here.map(|(mass, place)| (*mass, vec![place[0] + aside, place[1]])).unzip()
}

/// Writes clouds as a table with one row per point.
fn long_table(clouds: &[(Vec<f64>, Vec<Vec<f64>>)]) -> String {
    let rows = clouds.iter().enumerate().flat_map(|(number, (masses, points))| {
        let here = masses.iter().zip(points);
        here.map(move |(mass, at)| format!("c{number},{mass},{},{}\n", at[0], at[1]))
    });
    std::iter::once("id,mass,x,y\n".to_owned()).chain(rows).collect()
}

/// Writes measures as a BIOM 1.0 table, with points as observations.
fn biom(masses: &[Vec<f64>]) -> String {
    let ids = |letter: char, count: usize| -> String {
        (0..count).map(|k| format!("{{\"id\": \"{letter}{k}\"}}")).collect::<Vec<_>>().join(", ")
    };
    let points = masses[0].len();
    let entries = masses.iter().enumerate().flat_map(|(measure, row)| {
        let here = row.iter().enumerate().filter(|(_, mass)| **mass > 0.0);
        here.map(move |(point, mass)| format!("[{point}, {measure}, {mass}]"))
    });
    format!(
        "{{\"rows\": [{}], \"columns\": [{}], \"matrix_type\": \"sparse\", \"shape\": [{points}, {}], \"data\": [{}]}}",
        ids('p', points),
        ids('m', masses.len()),
        masses.len(),
        entries.collect::<Vec<_>>().join(", ")
    )
}

/// Writes measures on every second point, in reverse order, as a table.
fn some_columns(masses: &[Vec<f64>]) -> Vec<u8> {
    let points: Vec<usize> = (0..masses[0].len()).step_by(2).rev().collect();
    let names: Vec<String> = points.iter().map(|point| format!("p{point}")).collect();
    let row = |of: &Vec<f64>| {
        let total: f64 = points.iter().map(|point| of[*point]).sum();
        let share = |point: &usize| if total > 0.0 { of[*point] / total } else { 0.0 };
        let mut row: Vec<f64> = points.iter().map(share).collect();
        row[0] += if total > 0.0 { 0.0 } else { 1.0 };
        row
    };
    csv(&names.join(","), &masses.iter().map(row).collect::<Vec<_>>())
}

fn lines(count: usize, line: impl Fn(usize) -> String) -> String {
    (0..count).map(|k| line(k) + "\n").collect()
}
