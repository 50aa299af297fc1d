//! Estimates of the time and memory of a problem from its size alone, before it is solved.
//!
//! Each engine has one formula, fitted to a few runs on one machine (two cores). It knows neither
//! coordinates nor masses nor the speed of the machine: seconds may be off by a factor of five
//! either way, and bytes, which follow the engine's allocations, by a factor of two.

use std::fmt;
use std::ops::AddAssign;

use super::aim::Aim;
use super::exact::{auction, line};
use super::problem::Problem;
use super::route::{Engine, Size, graph_time, route, solving_time};
use super::sides::Costs;
use crate::memory;
use crate::metric::GroundMetric;

/// Estimated time and memory of a problem: see [`Problem::forecast`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Bytes of memory besides the input, good to a factor of two.
    pub bytes: u64,
    /// Seconds, good to a factor of five on most data.
    pub seconds: f64,
}

impl Forecast {
    /// Returns whether the time, 5 seconds or more, is worth announcing.
    pub fn is_long(&self) -> bool {
        self.seconds >= LONG
    }
}

/// Fewest seconds worth announcing.
const LONG: f64 = 5.0;

impl fmt::Display for Forecast {
    /// Writes `about 3 minutes and 320 MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "about {} and {}", show_time(self.seconds.max(1.0)), memory::show(self.bytes))
    }
}

/// Formats a rough time with one digit: `3 minutes`.
///
/// # Example
/// ```
/// assert_eq!(treeport::show_time(190.0), "3 minutes");
/// assert_eq!(treeport::show_time(0.0123), "10 milliseconds");
/// ```
pub fn show_time(seconds: f64) -> String {
    let (number, unit) = match seconds {
        s if s < 0.95 => (s * 1e3, "millisecond"),
        s if s < 90.0 => (s, "second"),
        s if s < 5400.0 => (s / 60.0, "minute"),
        s if s < 129_600.0 => (s / 3600.0, "hour"),
        s => (s / 86_400.0, "day"),
    };
    // One digit shows how rough the estimate is.
    let digit = 10f64.powf(number.max(1.0).log10().floor());
    let number = (number / digit).round().max(1.0) * digit;
    let plural = if number == 1.0 { "" } else { "s" };
    format!("{number} {unit}{plural}")
}

impl AddAssign for Forecast {
    /// Adds the times and keeps the larger memory: two problems solved one after the other.
    fn add_assign(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.bytes = self.bytes.max(other.bytes);
    }
}

impl Problem<'_> {
    /// Estimates time and memory of an [`answer`](Self::answer), from the numbers of points with
    /// mass and of coordinates, without solving.
    ///
    /// # Example
    /// ```
    /// use treeport::{MatrixView, Problem, Aim};
    /// let (masses, costs) = (vec![1.0; 3000], vec![1.0; 9_000_000]);
    /// let problem = Problem::between(&masses, &masses, MatrixView::new(3000, 3000, &costs)?);
    /// let forecast = problem.forecast(&Aim::exact());
    /// assert!(forecast.bytes >= 36_000_000 && forecast.seconds > 0.01);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn forecast(&self, aim: &Aim) -> Forecast {
        self.size().map_or(Forecast::default(), |size| of_size(&size, aim))
    }
}

/// Returns the forecast of a problem of this size, at most its time limit.
pub(super) fn of_size(size: &Size<'_>, aim: &Aim) -> Forecast {
    let found = by_engine(size, aim);
    let most = aim.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
    Forecast { seconds: found.seconds.min(most), ..found }
}

/// Returns the forecast of the first engine on the route that has a formula.
fn by_engine(size: &Size<'_>, aim: &Aim) -> Forecast {
    let (n, m) = (size.left, size.right);
    let points = (n as f64 * m as f64).sqrt();
    for engine in route(size, aim).engines() {
        match (engine, size.costs) {
            (Engine::Line, _) => {
                return Forecast { seconds: LINE * (n + m) as f64, bytes: line::bytes(n, m) };
            }
            (Engine::Auction, Costs::Metric(metric)) => {
                let seconds = by_auction(points, Space::of(metric), aim.width());
                return Forecast { seconds, bytes: auction::bytes(metric, n, m) };
            }
            (Engine::Auction, Costs::Matrix(_)) => {
                let seconds = by_auction(points, Space::Matrix, aim.width());
                return Forecast { seconds, bytes: memory::size_of::<f32>(&[n, m]) };
            }
            _ => {}
        }
    }
    match size.costs {
        Costs::Metric(metric) if metric.edges().is_some() => {
            let nodes = memory::size_of::<[u64; 16]>(&[metric.points()]);
            let bytes = nodes.saturating_add(of_table(n.min(m), 1).bytes);
            Forecast { seconds: graph_time(metric, n, m) / 1e9, bytes }
        }
        _ => of_table(n, m),
    }
}

/// Returns the bytes of an exact solve of this size, without a device.
pub(super) fn bytes(size: &Size<'_>) -> u64 {
    match (route(size, &Aim::value()).engine(), size.costs) {
        (Engine::Auction, Costs::Metric(metric)) => auction::bytes(metric, size.left, size.right),
        _ => memory::size_of::<f64>(&[size.left, size.right]),
    }
}

/// Seconds per point of [`Engine::Line`].
const LINE: f64 = 3e-7;

/// Returns the forecast of the engines on a table of all costs.
fn of_table(n: usize, m: usize) -> Forecast {
    let seconds = solving_time(n as f64 * m as f64) / 1e9;
    Forecast { seconds, bytes: memory::size_of::<f64>(&[n, m]) }
}

/// Estimates the seconds of an auction and the engine after it, by the number of points per side.
/// Fitted to the processor time of uniform points with equal masses, 3,000, 6,000, 10,000 and
/// 100,000 per side; unequal masses take two to three times as long.
fn by_auction(points: f64, space: Space, width: f64) -> f64 {
    let thousands = points / 1000.0;
    let seconds = match space {
        Space::Plane => 0.0095 * thousands.powf(2.15),
        Space::Solid => 0.02 * thousands.powf(1.4),
        Space::Of(dim) => (0.0095 + 5e-4 * dim as f64) * thousands.powi(2),
        Space::Matrix => 0.04 * thousands.powi(2),
    };
    // Bounds a percent apart take about as long as the optimum.
    if width > 0.01 { seconds * (0.01 / width).powf(0.3) } else { seconds }
}

/// The kind of space, on which the time of an auction depends.
#[derive(Clone, Copy)]
enum Space {
    /// Points in the plane or on a sphere.
    Plane,
    /// Points with three coordinates.
    Solid,
    /// Points with this many coordinates, four or more.
    Of(usize),
    /// A cost matrix without coordinates.
    Matrix,
}

impl Space {
    fn of(metric: &GroundMetric) -> Self {
        let is_sphere = metric.point_metric().is_some_and(|kind| kind.radius().is_some());
        match metric.vectors().map_or(1, |(dim, _)| dim) {
            _ if is_sphere => Self::Plane,
            ..=2 => Self::Plane,
            3 => Self::Solid,
            dim => Self::Of(dim),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forecast_is_printed_with_one_digit() {
        let said = |seconds: f64| Forecast { bytes: 320_000_000, seconds }.to_string();
        assert!(said(7.3).starts_with("about 7 seconds and "), "{}", said(7.3));
        assert!(said(64.0).starts_with("about 60 seconds"));
        assert!(said(100.0).starts_with("about 2 minutes"));
        assert!(said(95.0).starts_with("about 2 minutes"));
        assert!(said(4700.0).starts_with("about 80 minutes"));
        assert!(said(5400.0 * 1.2).starts_with("about 2 hours"));
        assert!(said(0.0).starts_with("about 1 second and"));
    }
}
