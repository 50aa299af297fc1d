//! How long the exact solver takes for one pair, which every quoted ratio is against.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rayon::ThreadPoolBuilder;
use treeport::{Error, GroundMetric, Measures, Progress, Result, exact};

/// Solves pairs from the front on one thread until the time is up: how many, and seconds for one.
///
/// At least one pair is solved. `progress` hears how many are done and may stop.
///
/// # Errors
/// Pairs that cannot be solved; `Cancelled` when `progress` asks to stop.
///
/// # Panics
/// If the system has no thread to give.
pub fn time_exact(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    limit: Duration,
    progress: &Progress<'_>,
) -> Result<(usize, f64)> {
    let pool = ThreadPoolBuilder::new().num_threads(1).build().expect("one more thread");
    let solved = AtomicUsize::new(0);
    let begun = Instant::now();
    let count = |done: usize| {
        solved.store(done, Ordering::Relaxed);
        progress(done) && begun.elapsed() < limit
    };
    let result = pool.install(|| exact::pairs(metric, measures, pairs, &count));
    let (seconds, solved) = (begun.elapsed().as_secs_f64(), solved.into_inner());
    match result {
        // Stopped by the clock alone.
        Err(Error::Cancelled) if progress(solved) => {}
        other => drop(other?),
    }
    Ok((solved, seconds / solved.max(1) as f64))
}

#[cfg(test)]
mod tests {
    use treeport::{Norm, silent};

    use super::*;

    fn line() -> (GroundMetric, Measures) {
        let metric = GroundMetric::from_points(1, vec![0.0, 1.0], Norm::Euclidean).expect("points");
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
    }

    #[test]
    fn it_stops_when_asked() {
        let (metric, measures) = line();
        let stopped = time_exact(&metric, &measures, &[(0, 1); 9], Duration::MAX, &|done| done < 3);
        assert!(matches!(stopped, Err(Error::Cancelled)));
    }
}
