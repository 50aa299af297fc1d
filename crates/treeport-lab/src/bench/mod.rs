//! Benchmarks of speed compared with a peer on the same data in the same run.
//!
//! Machines are shared and noisy, so times are medians of repeats, and the ratio to the peer is the
//! figure to quote.

mod clouds;
mod distance;
mod graph;
mod intervals;
mod memory;
mod mixed;
mod parts;
mod project;
mod scale;
mod search;
mod space;

use std::time::Instant;

pub use clouds::clouds;
pub use distance::distance;
pub use graph::{graph, graph_networks};
pub use intervals::intervals;
pub use mixed::mixed;
pub use parts::parts;
pub use project::project;
pub use scale::{scale, scale_graph};
pub use search::search;
pub use space::space;

/// A row of a benchmark: our time, a peer's, if any, and further figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Name of the benchmark.
    pub bench: &'static str,
    /// Number of points.
    pub n: usize,
    /// Parameters besides `n`, by name.
    pub case: Vec<(&'static str, String)>,
    /// Our time in seconds, the median of several runs.
    pub seconds: f64,
    /// The peer, if any.
    pub peer: Option<Peer>,
    /// Further figures by name.
    pub more: Vec<(&'static str, f64)>,
}

/// A peer's time for the same job.
#[derive(Clone, Debug, PartialEq)]
pub struct Peer {
    /// Name of the peer.
    pub name: &'static str,
    /// Time in seconds.
    pub seconds: f64,
}

impl Row {
    /// Returns the peer's time divided by ours.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|peer| peer.seconds / self.seconds)
    }
}

/// Checks whether a set was named, or none was.
fn is_wanted(name: &str, sets: &[String]) -> bool {
    sets.is_empty() || sets.iter().any(|set| set == name)
}

/// Minimum time spent on repeats of a measurement.
const REPEAT_SECONDS: f64 = 0.4;

/// Returns median seconds of a job over at least three runs, after one that warms the caches.
fn median_seconds<T>(mut job: impl FnMut() -> T) -> f64 {
    std::hint::black_box(job());
    let begun = Instant::now();
    let mut times = Vec::new();
    while times.len() < 3 || (begun.elapsed().as_secs_f64() < REPEAT_SECONDS && times.len() < 1000)
    {
        let start = Instant::now();
        std::hint::black_box(job());
        times.push(start.elapsed().as_secs_f64());
    }
    treeport::labeled::score::median(&times)
}

/// Runs a job in a thread pool of its own.
fn on_threads<T: Send>(threads: usize, job: impl FnOnce() -> T + Send) -> T {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    pool.expect("a few threads can be started").install(job)
}
