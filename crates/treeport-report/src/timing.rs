//! Timing of single pairs, by the exact solver and by a model, for all published ratios.
//!
//! Measurements use one thread and data in memory, and exclude the preparation of measures
//! ([`Model::prepare`]).

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;
use treeport::progress::State;
use treeport::{Error, GroundMetric, Measures, Model, Problems, Progress, Result};

/// Pairs per timing of a model; the given ones are repeated.
const MODEL_PAIRS: usize = 20_000;

/// Times work on one thread that counts up to `count` pairs, until the time limit or until
/// `progress` cancels; returns the number of pairs, at least 1, and the seconds per pair.
///
/// # Panics
/// If the system cannot create a thread.
pub fn time_pairs(
    count: usize,
    limit: Duration,
    progress: &Progress<'_>,
    work: impl FnOnce(&Progress<'_>) -> Result<()> + Send,
) -> Result<(usize, f64)> {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("one more thread");
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let (result, elapsed) = pool.install(|| {
        let begun = Instant::now();
        let watch = |state: &State<'_>| {
            done.store(state.done, Ordering::Relaxed);
            if !progress(state) {
                stopped.store(true, Ordering::Relaxed);
                return false;
            }
            begun.elapsed() < limit
        };
        (work(&watch), begun.elapsed())
    });
    let pairs = match result {
        Ok(()) => count,
        // Stopped only by the time limit.
        Err(Error::Canceled) if !stopped.into_inner() => done.into_inner(),
        Err(error) => return Err(error),
    };
    let pairs = pairs.max(1);
    Ok((pairs, elapsed.as_secs_f64() / pairs as f64))
}

/// Number of runs, within the time limit, of which the fastest counts: other work on the machine
/// only lengthens times.
const RUNS: u32 = 3;

/// Repeats [`time_pairs`], each with its share of the time limit, and returns the smallest seconds
/// per pair.
pub fn time_fastest(
    count: usize,
    limit: Duration,
    progress: &Progress<'_>,
    work: impl Fn(&Progress<'_>) -> Result<()> + Sync,
) -> Result<f64> {
    let (begun, share) = (Instant::now(), limit / RUNS);
    let mut fastest = f64::INFINITY;
    for run in 1..=RUNS {
        fastest = fastest.min(time_pairs(count, share, progress, &work)?.1);
        if begun.elapsed() > share * run {
            break;
        }
    }
    Ok(fastest)
}

/// Solves pairs in order until the time limit; returns their number and seconds per pair.
pub fn time_exact(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    limit: Duration,
    progress: &Progress<'_>,
) -> Result<(usize, f64)> {
    time_pairs(pairs.len(), limit, progress, |watch| {
        Problems::new(metric, measures, pairs).values(watch).map(drop)
    })
}

/// Computes distances of a model between prepared measures, repeating the pairs until the time
/// limit or 20,000; returns their number and the seconds per pair.
pub fn time_model(
    model: &Model,
    measures: &Measures,
    pairs: &[(usize, usize)],
    limit: Duration,
    progress: &Progress<'_>,
) -> Result<(usize, f64)> {
    let prepared = model.prepare(measures)?;
    let many: Vec<(usize, usize)> = pairs.iter().copied().cycle().take(MODEL_PAIRS).collect();
    // A first run warms the caches.
    prepared.pairs(pairs, progress)?;
    time_pairs(many.len(), limit, progress, |watch| prepared.pairs(&many, watch).map(drop))
}

#[cfg(test)]
mod tests {
    use treeport::{PointMetric, Tree, silent};

    use super::*;

    fn line() -> (GroundMetric, Measures) {
        let metric =
            GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).expect("points");
        (metric, Measures::unit_masses(2, [0, 1]).expect("measures"))
    }

    #[test]
    fn it_counts_the_pairs_it_had_time_for() {
        let (metric, measures) = line();
        let pairs = [(0, 1); 50];
        let timed = |limit| time_exact(&metric, &measures, &pairs, limit, &silent).expect("times");
        assert_eq!(timed(Duration::MAX).0, 50);
        assert_eq!(timed(Duration::ZERO).0, 1);
        assert!(timed(Duration::ZERO).1 > 0.0);
        let tree = Model::Tree(Tree::star(2, 1.0).expect("a star"));
        let timed = |limit| time_model(&tree, &measures, &pairs, limit, &silent).expect("times");
        assert_eq!(timed(Duration::MAX).0, MODEL_PAIRS);
        assert!(timed(Duration::ZERO).0 < MODEL_PAIRS && timed(Duration::ZERO).1 > 0.0);
    }

    #[test]
    fn it_stops_when_asked() {
        let (metric, measures) = line();
        let few = |state: &State<'_>| state.done < 3;
        let stopped = time_exact(&metric, &measures, &[(0, 1); 9], Duration::MAX, &few);
        assert!(matches!(stopped, Err(Error::Canceled)));
    }
}
