//! Every stage of a fit on many points: seconds and peak memory.

use std::sync::Mutex;
use std::time::Instant;

use treeport::io::npy;
use treeport::progress::{self, State};
use treeport::{FitOptions, GroundMetric, Labelled, Linkage, PointMetric, fit, silent};

use super::Row;
use super::memory::{peak_now_mib, reset_peak};
use crate::generate::{Random, clustered_measures, clustered_points, seeded};

/// Coordinates and clusters of the points, points in a measure, measures, and labels.
const DIM: usize = 32;
const CLUSTERS: usize = 50;
const SUPPORT: usize = 30;
const MEASURES: usize = 600;
const LABELS: usize = 300;

/// Times every stage of `fit` on points in 50 clusters in R³² with 300 labels, once: reading, the
/// labels, the start (average linkage, or above 20,000 points the first neighbor graph and the
/// merging along it), and the stages of `auto`; and all of it together.
///
/// # Errors
/// Fewer points than clusters.
pub fn scale(n: usize, seed: u64, mut report: impl FnMut(&Row)) -> crate::Result<()> {
    let (stages, error) = stages(n, seed)?;
    let row = |stage: &str, seconds, peak: Option<f64>| Row {
        bench: "scale",
        n,
        case: vec![("stage", stage.to_owned())],
        seconds,
        peer: None,
        more: peak.map(|peak| ("peak_mib", peak)).into_iter().collect(),
    };
    for stage in &stages {
        report(&row(stage.name, stage.seconds, stage.peak));
    }
    let peak = stages.iter().filter_map(|stage| stage.peak).reduce(f64::max);
    let mut whole = row("all", stages.iter().map(|stage| stage.seconds).sum(), peak);
    whole.more.push(("validation_error", error));
    report(&whole);
    Ok(())
}

/// All stages that were gone through, and the least error on labels held back.
fn stages(n: usize, seed: u64) -> crate::Result<(Vec<Done>, f64)> {
    let mut rng = seeded(seed);
    let file = file(n, &mut rng);
    let measures = clustered_measures(n, CLUSTERS, SUPPORT, MEASURES, &mut rng)?;
    let watch = Watch::new("read");
    let metric = GroundMetric::read_points_npy(&file[..], PointMetric::Euclidean)?;
    drop(file);
    watch.turn("labels");
    let data = Labelled::sample(&metric, &measures, LABELS, seed, &silent)?;
    let all_pairs = Linkage::usual(n) == Linkage::Average;
    watch.turn(if all_pairs { "average linkage" } else { "neighbor graph" });
    let hear = |state: &State<'_>| {
        match state.task {
            progress::BUILDING if !all_pairs => watch.turn("merging"),
            progress::POINTS => watch.turn("points"),
            progress::LEARNING => watch.turn("learning"),
            progress::EDGES => watch.turn("edges"),
            _ => (),
        }
        true
    };
    let fitted = fit(&metric, Some(&data), &FitOptions { seed, ..FitOptions::default() }, &hear)?;
    watch.turn("");
    let error = fitted.stage_errors.iter().map(|stage| stage.1).fold(f64::INFINITY, f64::min);
    Ok((watch.done.into_inner().unwrap_or_default(), error))
}

/// The points as the bytes of an `.npy` file.
fn file(n: usize, rng: &mut Random) -> Vec<u8> {
    let mut file = Vec::new();
    let points = clustered_points(n, DIM, CLUSTERS, rng);
    npy::write_f64(&[n, DIM], &points, &mut file).expect("a vector takes it all");
    file
}

/// A stage that is over.
struct Done {
    name: &'static str,
    seconds: f64,
    peak: Option<f64>,
}

/// Which stage is on, and since when.
struct Watch {
    now: Mutex<(&'static str, Instant)>,
    done: Mutex<Vec<Done>>,
}

impl Watch {
    fn new(first: &'static str) -> Self {
        reset_peak();
        Self { now: Mutex::new((first, Instant::now())), done: Mutex::default() }
    }

    /// Ends the stage that is on if it is another.
    fn turn(&self, next: &'static str) {
        let Ok(mut now) = self.now.lock() else { return };
        if now.0 == next {
            return;
        }
        let (name, begun) = std::mem::replace(&mut *now, (next, Instant::now()));
        let done = Done { name, seconds: begun.elapsed().as_secs_f64(), peak: peak_now_mib() };
        if let Ok(mut all) = self.done.lock() {
            all.push(done);
        }
        reset_peak();
    }
}
