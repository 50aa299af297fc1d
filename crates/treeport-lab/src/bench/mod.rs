//! Benchmarks of speed compared with a peer on the same data in the same run.
//!
//! Machines are shared and noisy, so times are medians of repeats, and the ratio to the peer is the
//! figure to quote.

mod baselines;
mod batches;
mod clouds;
mod distance;
mod estimate;
mod exact;
mod graph;
mod instances;
mod intervals;
mod learn;
mod memory;
mod mixture;
mod pairs;
mod parts;
mod project;
mod scale;
mod scan;
mod search;

use std::time::Instant;

pub use baselines::baselines;
pub use clouds::clouds;
pub use distance::distance;
pub use estimate::estimate;
pub use exact::{MANY, MANY_SUPPORT, exact, exact_network};
pub use graph::{graph, graph_networks};
pub use instances::{Replay, dump, dump_graphs, replay};
pub use intervals::intervals;
pub use learn::learn;
pub use pairs::pairs;
pub use parts::parts;
pub use project::project;
pub use scale::{scale, scale_graph};
pub use scan::{scan, scan_documents};
pub use search::search;

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
    /// The peer's time divided by ours.
    pub fn ratio(&self) -> Option<f64> {
        self.peer.as_ref().map(|peer| peer.seconds / self.seconds)
    }
}

/// Minimum time spent on repeats of a measurement.
const REPEAT_SECONDS: f64 = 0.4;

/// Returns median seconds of two jobs that alternate, so that both see the same machine.
fn median_seconds_of_both<T, U>(
    mut ours: impl FnMut() -> T,
    mut theirs: impl FnMut() -> U,
) -> (f64, f64) {
    let mut times = [Vec::new(), Vec::new()];
    std::hint::black_box((ours(), theirs()));
    let begun = Instant::now();
    while times[0].len() < 3
        || (begun.elapsed().as_secs_f64() < 2.0 * REPEAT_SECONDS && times[0].len() < 1000)
    {
        let start = Instant::now();
        std::hint::black_box(ours());
        let between = Instant::now();
        std::hint::black_box(theirs());
        times[0].push((between - start).as_secs_f64());
        times[1].push(between.elapsed().as_secs_f64());
    }
    (treeport::internal::score::median(&times[0]), treeport::internal::score::median(&times[1]))
}

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
    treeport::internal::score::median(&times)
}
