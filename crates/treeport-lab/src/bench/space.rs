//! Estimates of W₁ between new clouds, from a few labels and without a tree over their points.

use std::path::Path;
use std::time::Instant;

use treeport::labeled::score;
use treeport::space::{SpaceMethod, SpaceOptions};
use treeport::{Clouds, FitOptions, GroundMetric, Labeled, Method, PointMetric, Space, silent};

use super::{Row, is_wanted, median_seconds, on_threads};
use crate::Result;
use crate::generate::{FAMILIES, seeded, sparse_measures, uniform_points};

/// Seeds; figures are means over them.
const SEEDS: u64 = 5;

/// Clouds of the labels, and new clouds.
const CLOUDS: [usize; 2] = [100, 40];
const PATIENTS: [usize; 2] = [40, 20];

/// Pairs of new clouds.
const JUDGED: usize = 200;
const JUDGED_PATIENTS: usize = 50;

const METHODS: [(&str, SpaceMethod); 3] =
    [("space", SpaceMethod::Space), ("lifted", SpaceMethod::Lifted), ("rg", SpaceMethod::Rg)];

/// Figures of one method and one seed.
#[derive(Default)]
struct Figures {
    errors: Vec<f64>,
    largest: Vec<f64>,
    others: Vec<f64>,
    own: Vec<f64>,
    seconds: Vec<f64>,
    /// Of one cloud and of one pair, on one thread, for the first seed.
    alone: [f64; 2],
    fits: Vec<f64>,
    expected: Vec<f64>,
}

/// Judges the methods for clouds with `labels` labels on new clouds of every family, and on those of
/// the file `digits.npz` of the data folder, if there is one.
///
/// Also times the rows and pairs, and a pair of the method `slices` beside one of a tree. Null
/// baselines are the factor times the distance of the means, and the constant.
pub fn space(
    labels: usize,
    (folder, sets): (&Path, &[String]),
    seed: u64,
    mut report: impl FnMut(&Row),
) -> Result<()> {
    if is_wanted("slices", sets) {
        report(&slices(seed)?);
    }
    let mut one = |name: &str, make: &dyn Fn(u64) -> Result<Vec<Clouds>>| -> Result<()> {
        if !is_wanted(name, sets) {
            return Ok(());
        }
        let judged = if name == "patients" { JUDGED_PATIENTS } else { JUDGED };
        for row in rows(name, labels, judged, seed, make)? {
            report(&row);
        }
        Ok(())
    };
    let digits = folder.join("digits.npz");
    if digits.is_file() {
        let all = Clouds::read(&digits, &treeport::io::CloudOptions::default())?;
        one("digits", &|seed| {
            let order = random_order(all.len(), seed);
            let (train, rest) = order.split_at(CLOUDS[0]);
            let new = all.select(&rest[..CLOUDS[1]])?.normalized();
            Ok(vec![all.select(train)?.normalized(), new])
        })?;
    }
    for family in FAMILIES {
        one(family.name, &|seed| {
            let [train, new] = if family.name == "patients" { PATIENTS } else { CLOUDS };
            let all = (family.draw)([train + new; 2], &mut seeded(seed))?;
            let part = |first: usize, count: usize| {
                all.select(&(first..first + count).collect::<Vec<_>>())
            };
            let other = train + new;
            Ok([part(0, train)?, part(train, new)?, part(other, train)?, part(other + train, new)?]
                .into())
        })?;
    }
    Ok(())
}

/// Returns the numbers below `count` in random order.
fn random_order(count: usize, seed: u64) -> Vec<usize> {
    use rand::seq::SliceRandom;
    let mut order: Vec<usize> = (0..count).collect();
    order.shuffle(&mut seeded(seed));
    order
}

/// Returns exact distances of random pairs of clouds.
fn labeled(clouds: &Clouds, count: usize, seed: u64) -> Result<Labeled> {
    let ground = clouds.ground(PointMetric::Euclidean)?;
    Labeled::sample(&ground, clouds.measures(), count, seed, &silent)
}

/// Times the row of a cloud and a pair of rows.
fn alone(space: &Space, clouds: &Clouds, pairs: &Labeled) -> Result<[f64; 2]> {
    let row = median_seconds(|| space.prepare(clouds, &silent).map(drop)) / clouds.len() as f64;
    let prepared = space.prepare(clouds, &silent)?;
    let pair = median_seconds(|| prepared.pairs(pairs.pairs(), &silent)) / pairs.len() as f64;
    Ok([row, pair])
}

/// Times a pair of slices beside one of a single tree: measures of 100 points each, on one thread.
fn slices(seed: u64) -> Result<Row> {
    const POINTS: usize = 2_000;
    let mut rng = seeded(seed);
    let points = uniform_points(POINTS, 2, 0.0, 1.0, &mut rng);
    let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean)?;
    let measures = sparse_measures(POINTS, 100, 200, &mut rng)?;
    let pairs: Vec<(usize, usize)> = (0..2_000).map(|k| (k % 200, (7 * k + 1) % 200)).collect();
    let seconds = |method: Method| -> Result<f64> {
        let options = FitOptions { seed, ..FitOptions::of(method) };
        let model = treeport::fit(&metric, None, &options, &silent)?.model;
        let all = || median_seconds(|| model.pairs(&measures, &pairs, &silent));
        Ok(on_threads(1, all) / pairs.len() as f64)
    };
    let (tree, slices) = (seconds(Method::Average)?, seconds(Method::Slices)?);
    Ok(Row {
        bench: "space",
        n: 100,
        case: vec![("set", "slices".into()), ("method", "slices".into())],
        seconds: slices,
        peer: Some(super::Peer { name: "a single tree", seconds: tree }),
        more: Vec::new(),
    })
}

fn rows(
    name: &str,
    labels: usize,
    judged: usize,
    seed: u64,
    make: &dyn Fn(u64) -> Result<Vec<Clouds>>,
) -> Result<Vec<Row>> {
    let mut all: Vec<Figures> = METHODS.iter().map(|_| Figures::default()).collect();
    let (mut constant, mut means, mut exact) = (Vec::new(), Vec::new(), Vec::new());
    for seed in seed..seed + SEEDS {
        let all_clouds = make(seed)?;
        let (train, new) = (&all_clouds[0], &all_clouds[1]);
        let data = labeled(train, labels, seed)?;
        let begun = Instant::now();
        let test = labeled(new, judged, seed + 1)?;
        exact.push(begun.elapsed().as_secs_f64() / test.len() as f64);
        let other = match &all_clouds[2..] {
            [train, new] => {
                Some((train, labeled(train, labels, seed)?, new, labeled(new, judged, seed + 1)?))
            }
            _ => None,
        };
        for ((_, method), figures) in METHODS.iter().zip(&mut all) {
            let options = SpaceOptions { method: *method, seed };
            let begun = Instant::now();
            let space = Space::fit(train, PointMetric::Euclidean, &data, &options, &silent)?;
            figures.fits.push(begun.elapsed().as_secs_f64());
            figures.expected.push(space.error());
            let begun = Instant::now();
            let found = space.prepare(new, &silent)?.pairs(test.pairs(), &silent)?;
            figures.seconds.push(begun.elapsed().as_secs_f64() / test.len() as f64);
            if figures.seconds.len() == 1 {
                figures.alone = on_threads(1, || alone(&space, new, &test))?;
            }
            let judged = test.score(&found);
            figures.errors.push(judged.mean);
            figures.largest.push(judged.max);
            if let Some((train, data, new, test)) = &other {
                let error = |space: &Space| -> Result<f64> {
                    let found = space.prepare(new, &silent)?.pairs(test.pairs(), &silent)?;
                    Ok(test.score(&found).mean)
                };
                figures.others.push(error(&space)?);
                let own = Space::fit(train, PointMetric::Euclidean, data, &options, &silent)?;
                figures.own.push(error(&own)?);
            }
        }
        let scaled = |of: &dyn Fn(&Clouds, (usize, usize)) -> f64| -> f64 {
            let values = |clouds: &Clouds, data: &Labeled| -> Vec<f64> {
                data.pairs().iter().map(|&pair| of(clouds, pair)).collect()
            };
            let factor = score::factor(&values(train, &data), data.distances());
            let found: Vec<f64> = values(new, &test).iter().map(|v| v * factor).collect();
            test.score(&found).mean
        };
        constant.push(scaled(&|_, _| 1.0));
        means.push(scaled(&|clouds, (i, j)| {
            mean_of(clouds, i)
                .iter()
                .zip(mean_of(clouds, j))
                .map(|(x, y)| (x - y).powi(2))
                .sum::<f64>()
                .sqrt()
        }));
    }
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let mut rows: Vec<Row> = METHODS
        .iter()
        .zip(&all)
        .map(|((method, _), of)| Row {
            bench: "space",
            n: labels,
            case: vec![("set", name.into()), ("method", (*method).into())],
            seconds: mean(&of.seconds),
            peer: Some(super::Peer { name: "every pair solved", seconds: mean(&exact) }),
            more: vec![
                ("error", mean(&of.errors)),
                ("least", of.errors.iter().copied().fold(f64::INFINITY, f64::min)),
                ("most", of.errors.iter().copied().fold(0.0, f64::max)),
                ("largest_pair", mean(&of.largest)),
                ("other_parameters", mean(&of.others)),
                ("own_labels", mean(&of.own)),
                ("expected", mean(&of.expected)),
                ("fit", mean(&of.fits)),
                ("row_seconds", of.alone[0]),
                ("pair_seconds", of.alone[1]),
            ],
        })
        .collect();
    for (method, errors) in [("null: constant", constant), ("null: means", means)] {
        rows.push(Row {
            bench: "space",
            n: labels,
            case: vec![("set", name.into()), ("method", method.into())],
            seconds: 0.0,
            peer: None,
            more: vec![("error", mean(&errors))],
        });
    }
    Ok(rows)
}

/// Returns the mean of a cloud's points by mass.
fn mean_of(clouds: &Clouds, cloud: usize) -> Vec<f64> {
    let dim = clouds.dim();
    let mut mean = vec![0.0; dim];
    for (point, mass) in clouds.measures().row(cloud).iter() {
        let x = &clouds.coordinates()[point * dim..][..dim];
        mean.iter_mut().zip(x).for_each(|(sum, x)| *sum += mass * x);
    }
    mean
}
