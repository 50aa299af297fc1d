//! The choice of an engine: one function, and every threshold with its measurement.
//!
//! [`route`] reads the numbers of sources and sinks, the kind of costs, whether the problem is
//! balanced, the [`Aim`] and the device. It returns the engines in the order in which they run; a
//! later engine runs only if the earlier ones do not reach the aim. `Problem::answer`, deadlines,
//! forecasts and `--explain` all read this route.
//!
//! A new engine is one variant of [`Engine`], one branch of [`route`] and one arm of
//! [`run`](super::run).

use std::fmt;

use super::aim::Aim;
use super::exact::auction;
use super::exact::line::Line;
use super::relax::Relaxation;
use super::sides::Costs;
use crate::error::Result;
use crate::metric::GroundMetric;
use crate::names::{Named, named};
use crate::progress::Progress;

/// A solver of transportation problems.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Engine {
    /// No solver: no mass moves, or the time limit allows only the first feasible plan.
    #[default]
    Direct,
    /// Sorting, for points with one coordinate.
    Line,
    /// Network simplex in arrays of a fixed size.
    Small,
    /// Shortest augmenting paths among the points of the smaller side.
    Lopsided,
    /// Network simplex on a table of all costs.
    Table,
    /// Network simplex on the edges of a graph.
    Edges,
    /// Sinkhorn sweeps in single precision, and a plan on the arcs with most mass.
    Sweeps,
    /// Maximum flows along all arcs up to a length, for order ∞.
    Bottleneck,
    /// Auction without a table, then a network simplex or shortest augmenting paths on few arcs.
    Auction,
}

named! { Engine, "the engine", {
    Direct: "direct", "no mass moves, or the time limit leaves no time for another engine";
    Line: "line", "one coordinate without a period (Euclidean, Manhattan, Chebyshev, and squared without `mass` or `penalty`): both sides are sorted, O(n log n)";
    Small: "small", "up to 32 by 32 points: a network simplex in fixed-size arrays";
    Lopsided: "lopsided", "2 to 64 points against at least 64 times as many: shortest augmenting paths over the points of the smaller side";
    Table: "table", "all other problems: a network simplex on a table of all costs, 8 bytes a pair";
    Edges: "edges", "graphs whose edges take less time than a table of distances, and all graphs with a time limit, balanced or with `penalty`: a network simplex on the edges";
    Sweeps: "sweeps", "bounds by `time`, or by an `accuracy` of at least 0.2 (0.02 from 5 dimensions on), before the exact engines: a few Sinkhorn sweeps, up to 1,448 by 1,448 points in at most 8 dimensions and 5,792 by 5,792 in more";
    Bottleneck: "bottleneck", "`order=inf`: maximum flows along all arcs up to a length, found in a k-d tree in few dimensions";
    Auction: "auction", "at least 1,449 by 1,449 points with coordinates, a matrix of at least 4,096 by 4,096 (2,048 by 2,048 with `accuracy` or `time`), 725 by 725 of either with `mass` or `penalty`, or a device: an auction without a table, then a network simplex or shortest augmenting paths on few arcs";
} }

/// The engines for a problem in the order in which they run, and the reason for the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    engines: [Option<Engine>; 3],
    sizes: [usize; 2],
    reason: &'static str,
}

impl Route {
    fn new(size: &Size<'_>, engines: &[Engine], reason: &'static str) -> Self {
        let engines = [0, 1, 2].map(|at| engines.get(at).copied());
        Self { engines, sizes: [size.left, size.right], reason }
    }

    /// Creates the route of a single engine between this many sources and sinks.
    pub(super) fn of(engine: Engine, sizes: [usize; 2], reason: &'static str) -> Self {
        Self { engines: [Some(engine), None, None], sizes, reason }
    }

    /// Returns the engines in order; each runs only if those before it do not reach the aim.
    pub fn engines(&self) -> impl Iterator<Item = Engine> + use<> {
        self.engines.into_iter().flatten()
    }

    /// Returns the first engine.
    pub fn engine(&self) -> Engine {
        self.engines[0].unwrap_or_default()
    }

    /// Returns the names of the engines, such as `sweeps, then table`.
    pub fn names(&self) -> String {
        self.engines().map(Engine::name).collect::<Vec<_>>().join(", then ")
    }

    /// Returns the number of sources; mass that stays in place does not count.
    pub fn sources(&self) -> usize {
        self.sizes[0]
    }

    /// Returns the number of sinks; mass that stays in place does not count.
    pub fn sinks(&self) -> usize {
        self.sizes[1]
    }

    /// Returns the number of pairs of a source and a sink.
    pub(super) fn arcs(&self) -> usize {
        self.sizes[0].saturating_mul(self.sizes[1])
    }

    /// Returns the reason for the first engine.
    pub fn reason(&self) -> &'static str {
        self.reason
    }
}

impl Default for Route {
    /// Returns the route of a problem in which no mass moves.
    fn default() -> Self {
        Self { engines: [Some(Engine::Direct), None, None], sizes: [0, 0], reason: NO_MOVES }
    }
}

impl fmt::Display for Route {
    /// Writes `auction, then table: 2000 sources and 3000 sinks; many points with coordinates`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [sources, sinks] = self.sizes;
        write!(f, "{}: {sources} sources and {sinks} sinks; {}", self.names(), self.reason)
    }
}

/// The properties of a problem on which its [`route`] depends.
#[derive(Clone, Copy)]
pub(super) struct Size<'p> {
    pub(super) costs: Costs<'p>,
    /// Number of sources; mass that stays in place does not count.
    pub(super) left: usize,
    /// Number of sinks; mass that stays in place does not count.
    pub(super) right: usize,
    pub(super) relax: Relaxation<'p>,
    pub(super) device: DeviceUse,
    /// Whether the largest mass is more than [`WIDE`] times the smallest.
    pub(super) has_wide_masses: bool,
}

/// Ratio of masses from which [`Engine::Line`] is faster than [`Engine::Auction`]: 6,000 points a
/// side with masses over 30 orders of magnitude take a tenth of the time, over one three times it.
pub(super) const WIDE: f64 = 1e8;

const NO_MOVES: &str = "no mass moves";

/// The problems for which a device scans all pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DeviceUse {
    #[default]
    None,
    /// Problems that are large enough to be faster with it.
    Large,
    /// Every problem, as in tests of devices.
    Every,
}

/// Chooses the engines for a problem and an aim.
pub(super) fn route(size: &Size<'_>, aim: &Aim) -> Route {
    let &Size { costs, left, right, relax, device, has_wide_masses } = size;
    // A relaxed problem has a spare source and a spare sink.
    let spares = usize::from(!relax.is_balanced());
    let exact = by_size(left + spares, right + spares);
    let to = |engines: &[Engine], reason| Route::new(size, engines, reason);
    if !relax.is_balanced() {
        let is_supported = match costs {
            Costs::Metric(metric) => auction::supports(metric),
            Costs::Matrix(_) => true,
        };
        let is_large = is_even(left, right) && left.saturating_mul(right) >= RELAXED_ARCS;
        if is_on_line(costs) && left.max(right) > SMALL && left.min(right) > 0 {
            let reason = "points with one coordinate";
            if is_large && matches!(relax, Relaxation::Mass(_)) {
                if has_wide_masses {
                    return to(&[Engine::Line, Engine::Auction, exact], reason);
                }
                // Faster than a dozen or more penalties; without its certificate they answer.
                return to(&[Engine::Auction, Engine::Line, exact], reason);
            }
            return to(&[Engine::Line, exact], reason);
        }
        if let (Costs::Metric(metric), Relaxation::Penalty(_)) = (costs, relax)
            && left.min(right) > 0
            && is_on_edges(metric, left, right, aim)
        {
            return to(&[Engine::Edges, exact], "the edges of the graph, with a spare node");
        }
        if is_supported && is_large {
            let reason = "many points, and a spare source and sink for mass that stays behind";
            return to(&[Engine::Auction, exact], reason);
        }
        return to(&[exact], "a spare row and column of the table take mass that stays behind");
    }
    if left == 0 || right == 0 {
        return to(&[Engine::Direct], NO_MOVES);
    }
    let Costs::Metric(metric) = costs else {
        if is_large_matrix(left, right, aim) {
            return to(&[Engine::Auction, exact], "a large matrix of costs");
        }
        return to(&[exact], exact.by_size_reason());
    };
    if Line::of(metric).is_some() {
        return to(&[Engine::Line], "points with one coordinate");
    }
    if device.searches(metric, left, right) {
        return to(&[Engine::Auction, exact], "a device scans all pairs of points");
    }
    if is_on_edges(metric, left, right, aim) {
        return to(&[Engine::Edges], "the edges of the graph take less time than distances");
    }
    let swept = sweeps_reach(metric, aim) && sweeps_pay(metric, left, right);
    match (swept, is_large(metric, left, right)) {
        (true, true) => {
            let engines = [Engine::Sweeps, Engine::Auction, exact];
            to(&engines, "bounds between many points in many dimensions")
        }
        (true, false) => to(&[Engine::Sweeps, exact], "bounds before the exact engine"),
        (false, true) => to(&[Engine::Auction, exact], "many points with coordinates"),
        (false, false) => to(&[exact], exact.by_size_reason()),
    }
}

/// Returns whether costs are distances on a line.
pub(super) fn is_on_line(costs: Costs<'_>) -> bool {
    let Costs::Metric(metric) = costs else { return false };
    Line::of(metric).is_some_and(|line| line.is_distance())
}

/// Chooses the engine for a table of all costs.
pub(super) fn by_size(left: usize, right: usize) -> Engine {
    if left.max(right) <= SMALL {
        Engine::Small
    } else if is_lopsided(left, right) {
        Engine::Lopsided
    } else {
        Engine::Table
    }
}

impl Engine {
    fn by_size_reason(self) -> &'static str {
        match self {
            Self::Small => "few points on both sides",
            Self::Lopsided => "few points on one side, many on the other",
            _ => "a table of all costs is fastest",
        }
    }
}

impl DeviceUse {
    fn searches(self, metric: &GroundMetric, left: usize, right: usize) -> bool {
        let is_worth_it = match self {
            Self::None => false,
            Self::Large => left.saturating_mul(right) > DEVICE_ARCS,
            Self::Every => true,
        };
        is_worth_it && left.min(right) > 1 && auction::supports_on_device(metric)
    }
}

/// Largest side of [`Engine::Small`]: half the time of [`Engine::Table`] at 30 points per side.
pub(super) const SMALL: usize = 32;

/// Returns whether one side has few points and the other at least [`LOPSIDED_RATIO`] times as many.
pub(super) fn is_lopsided(left: usize, right: usize) -> bool {
    left.min(right) > 1 && is_one_sided(left, right)
}

fn is_one_sided(left: usize, right: usize) -> bool {
    let (few, many) = (left.min(right), left.max(right));
    few <= LOPSIDED_FEW && many >= LOPSIDED_RATIO * few
}

/// Largest number of points on the smaller side for [`Engine::Lopsided`]: at this size it takes as
/// long as the simplex between points in space; at 10 × 20,000 points a hundredth of the time.
const LOPSIDED_FEW: usize = 64;

/// Least ratio of the larger side to the smaller one for [`Engine::Lopsided`].
const LOPSIDED_RATIO: usize = 64;

/// Arcs up to which problems take a tenth of a millisecond, too short for threads or sweeps.
pub(super) const QUICK_ARCS: usize = 1 << 12;

/// Fewest arcs between points for [`Engine::Auction`]: up to twice as fast as the simplex at 3,000
/// points per side, as fast at 1,000, a third as fast at 500. With equal masses it takes half to
/// four fifths of the time at 1,000 in the plane (uniform, Euclidean and squared), but two to nine
/// times as long where many sinks have nearly equal costs: points on a line, on a grid, far away,
/// or shifted with Manhattan and cosine costs.
const AUCTION_ARCS: usize = 1 << 21;

/// Fewest arcs of a cost matrix for [`Engine::Auction`]. At 3,000 points per side with random
/// masses the table takes 194, 330 and 417 ms (plane, one side shifted, random costs), the auction
/// 495, 1,159 and 290 ms; at 2,060 in clusters in R⁵⁰ 143 and 215 ms. Above this size the table
/// would copy more than 128 MiB.
const MATRIX_ARCS: usize = 1 << 24;

/// The same if bounds suffice, which the table does not have before the optimum.
const BOUNDED_ARCS: usize = 1 << 22;

/// Fewest arcs of a relaxed problem for [`Engine::Auction`]. At 500 points per side in the plane
/// the table takes three times as long as the auction where a tenth of the mass moves, half as long
/// where nine tenths do; at 3,000 a hundred and fifty times and ten times as long.
const RELAXED_ARCS: usize = 1 << 19;

/// Most arcs for which [`Engine::Sweeps`] finds bounds before the auction in many dimensions: in
/// two thirds of its time at 2,000 points per side in R³⁰, one and a half times its time at 20,000
/// in R⁵⁰.
const MOST_SWEPT: usize = 1 << 25;

/// Most arcs of a problem that is solved before a few replies of a device arrive.
const DEVICE_ARCS: usize = 1 << 18;

/// Returns whether the auction solves problems of this size between points of a metric.
pub(super) fn is_large(metric: &GroundMetric, left: usize, right: usize) -> bool {
    is_even(left, right) && left.saturating_mul(right) >= AUCTION_ARCS && auction::supports(metric)
}

/// Returns whether the auction solves problems between this many rows and columns of a matrix.
fn is_large_matrix(left: usize, right: usize, aim: &Aim) -> bool {
    let least = if aim.accepts_bounds() { BOUNDED_ARCS } else { MATRIX_ARCS };
    is_even(left, right) && left.saturating_mul(right) >= least
}

fn is_even(left: usize, right: usize) -> bool {
    left.min(right) > 1 && !is_lopsided(left, right)
}

/// Returns whether sweeps find bounds first; few points against many are solved faster.
fn sweeps_pay(metric: &GroundMetric, left: usize, right: usize) -> bool {
    let is_quick = left.saturating_mul(right) <= QUICK_ARCS;
    !is_quick && !is_one_sided(left, right) && sweeps_first(metric, left, right)
}

/// Returns whether sweeps are likely to reach an aim: always with a time limit, which only limits
/// the width, and otherwise from [`SWEPT_WIDTH`] on.
///
/// Sweeps that reach it take a fifth to a half of the time of the exact engines from 300 to 4,000
/// points per side; sweeps that do not lengthen those by a quarter to a half. At a width of 0.01
/// they reach it in half of the problems in R⁵ to R³⁰ and in none in the plane, where they miss 0.1
/// in a third.
fn sweeps_reach(metric: &GroundMetric, aim: &Aim) -> bool {
    let has_many_dimensions = metric.vectors().is_some_and(|(dim, _)| dim >= MANY_DIMENSIONS);
    let least = SWEPT_WIDTH[usize::from(has_many_dimensions)];
    aim.accepts_bounds() && (aim.time.is_some() || aim.width() >= least)
}

/// Least requested widths for sweeps without a time limit: in at least [`MANY_DIMENSIONS`]
/// dimensions the second one, otherwise the first one.
const SWEPT_WIDTH: [f64; 2] = [0.2, 0.02];

/// Number of dimensions from which on sweeps reach narrower bounds.
const MANY_DIMENSIONS: usize = 5;

/// Returns whether sweeps bound a problem before an auction does: up to [`AUCTION_ARCS`], and up to
/// [`MOST_SWEPT`] where the auction has no bounding boxes to exclude points by.
pub(super) fn sweeps_first(metric: &GroundMetric, left: usize, right: usize) -> bool {
    let most = if auction::has_boxes(metric) { AUCTION_ARCS } else { MOST_SWEPT };
    let is_below = left.saturating_mul(right) < most;
    !metric.is_searched() && (is_below || !auction::supports(metric))
}

/// Returns whether a graph is solved on its edges: always with a time limit, because the simplex on
/// edges has both bounds at any time, and otherwise if it is faster.
fn is_on_edges(metric: &GroundMetric, left: usize, right: usize, aim: &Aim) -> bool {
    metric.edges().is_some_and(|edges| {
        let by_edges = edges_time(metric.points(), edges.len());
        aim.time.is_some() || by_edges < pairs_time(metric, left, right)
    })
}

/// Returns whether solving a graph exactly on its edges takes about as long as bounds.
///
/// Stopping that engine early does not give bounds sooner: on bus networks of 500 and 1,900 nodes
/// bounds a tenth apart take 0.85 to 1.2 times as long as the optimum, because each needs a search.
pub(crate) fn is_quick_on_edges(metric: &GroundMetric, left: usize, right: usize) -> bool {
    let Some(edges) = metric.edges().map(<[_]>::len) else { return false };
    let by_edges = edges_time(metric.points(), edges);
    let sweeps = 12.0 * left as f64 * right as f64 + 300.0 * (left + right) as f64;
    0.6 * by_edges < distances_time(metric, left, right) + sweeps
        && by_edges < pairs_time(metric, left, right)
}

/// Returns whether five searches of a graph take less time than distances between two supports.
pub(super) fn searches_pay(metric: &GroundMetric, left: usize, right: usize) -> bool {
    let searches = 5.0 * SEARCH * metric.points() as f64;
    metric.edges().is_some() && searches < distances_time(metric, left, right)
}

/// Prepares a graph for many distances if problems of these sizes need them. The decision depends
/// on the sizes alone, so it is the same for any number of threads.
pub(super) fn prepare(
    metric: &GroundMetric,
    sizes: impl Iterator<Item = (usize, usize)>,
    progress: &Progress<'_>,
) -> Result<()> {
    let Some(edges) = metric.edges().filter(|_| metric.is_searched()) else { return Ok(()) };
    let nodes = metric.points();
    let by_edges = edges_time(nodes, edges.len());
    // Larger supports are solved on the edges, whatever distances cost.
    let needs_table = |&(left, right): &(usize, usize)| table_time(left, right) < by_edges;
    // The smaller support becomes the left side.
    let searches: usize = sizes.filter(needs_table).map(|(left, right)| left.min(right)).sum();
    if searches < nodes.min(MOST_SEARCHES) { Ok(()) } else { metric.prepare(progress) }
}

/// Number of searches that take as long as building the hierarchy of a road network.
const MOST_SEARCHES: usize = 200;

/// Nanoseconds per node of a search of a whole graph.
const SEARCH: f64 = 200.0;

/// Estimates the nanoseconds of a problem on a graph, on its edges or on a table of distances,
/// whichever is faster. All times here were measured on one machine and are good to a factor of two
/// on road, bus and grid graphs.
pub(super) fn graph_time(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    let edges = metric.edges().map_or(0, <[_]>::len);
    edges_time(metric.points(), edges).min(pairs_time(metric, left, right))
}

/// Estimates the nanoseconds of the simplex on edges: a pivot for every cycle or node.
fn edges_time(nodes: usize, edges: usize) -> f64 {
    let cycles = (edges + 1).saturating_sub(nodes) as f64;
    let pivots = cycles.min(nodes as f64);
    pivots * (300.0 + 80.0 * (nodes as f64).sqrt()) + 100.0 * (nodes + edges) as f64
}

/// Estimates the nanoseconds of a problem on a table, including its distances.
fn pairs_time(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    distances_time(metric, left, right) + table_time(left, right)
}

/// Estimates the nanoseconds of the distances between two supports of a graph.
fn distances_time(metric: &GroundMetric, left: usize, right: usize) -> f64 {
    let (rows, columns) = (left.min(right) as f64, left.max(right) as f64);
    if metric.is_searched() {
        SEARCH * rows * metric.points() as f64
    } else if metric.is_indexed() {
        rows * (10_000.0 + 40.0 * columns)
    } else {
        0.0
    }
}

/// Estimates the nanoseconds of a problem on a table that is filled.
fn table_time(left: usize, right: usize) -> f64 {
    solving_time(left as f64 * right as f64)
}

/// Estimates the nanoseconds of a problem by its costs, without the 1,000 of every problem.
pub(crate) fn solving_time(costs: f64) -> f64 {
    25.0 * costs * (costs.sqrt() / 100.0).max(1.0).powf(0.4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_supports_use_distances_and_large_ones_edges() {
        // New York's roads, a grid of 10,000 nodes, Belfast.
        let cheaper = |nodes: usize, edges: usize, support: usize| {
            edges_time(nodes, edges) < table_time(support, support)
        };
        assert!(!cheaper(264_346, 365_050, 1_000) && cheaper(264_346, 365_050, 100_000));
        assert!(!cheaper(10_000, 19_800, 300) && cheaper(10_000, 19_800, 3_000));
        assert!(!cheaper(1_917, 2_180, 100) && cheaper(1_917, 2_180, 900));
    }

    /// Checks that the page has every engine's name and help text.
    #[test]
    fn the_page_lists_the_engines() {
        let page = include_str!("../../../../docs/WHICH.md");
        for &engine in Engine::ALL {
            let line = format!("- `{engine}`: {}.", engine.help());
            assert!(page.contains(&line), "docs/WHICH.md lacks the line\n{line}");
        }
        let listed = page.lines().filter(|line| line.starts_with("- `") && line.contains("`: "));
        assert_eq!(listed.count(), Engine::ALL.len(), "docs/WHICH.md lists other engines");
    }

    /// Checks that help texts name the sizes at the thresholds.
    #[test]
    fn help_texts_have_the_thresholds() {
        let side = |arcs: usize| (arcs as f64).sqrt().ceil() as usize;
        let help = |engine: Engine, size: usize| {
            assert!(engine.help().contains(&grouped(size)), "{}", engine.help());
        };
        help(Engine::Auction, side(AUCTION_ARCS));
        help(Engine::Auction, side(MATRIX_ARCS));
        help(Engine::Auction, side(BOUNDED_ARCS));
        help(Engine::Auction, side(RELAXED_ARCS));
        help(Engine::Sweeps, side(AUCTION_ARCS) - 1);
        help(Engine::Sweeps, side(MOST_SWEPT) - 1);
        help(Engine::Small, SMALL);
        help(Engine::Lopsided, LOPSIDED_FEW);
        assert_eq!(LOPSIDED_FEW, LOPSIDED_RATIO, "the sentence names one number for both");
    }

    /// Formats a number with a comma before the last three digits.
    fn grouped(number: usize) -> String {
        match number {
            1000.. => format!("{},{:03}", number / 1000, number % 1000),
            _ => number.to_string(),
        }
    }
}
