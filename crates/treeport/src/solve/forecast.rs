//! What a problem will take, said before it begins: roughly, from its size alone.
//!
//! One formula for each engine, fitted to a few runs on one machine (two cores). Where points lie, what their
//! masses are and how fast the machine is are not in it, so that seconds may be off by a factor of five either
//! way; memory is what the engine asks for, and good to a factor of two.

use std::fmt;
use std::ops::AddAssign;

use super::exact::{self, choice, line};
use super::problem::{Ground, Problem, ProblemSize};
use super::within::Target;
use crate::memory;
use crate::metric::GroundMetric;

/// Roughly what a problem takes: see [`Problem::forecast`].
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Forecast {
    /// Bytes of memory beside what is given; good to a factor of two.
    pub bytes: u64,
    /// Seconds, good to a factor of five on most data.
    pub seconds: f64,
}

impl Forecast {
    /// Whether it takes so long that somebody who waits wants to know: some seconds.
    pub fn is_long(&self) -> bool {
        self.seconds >= LONG
    }
}

/// Seconds from which on people want to know.
const LONG: f64 = 5.0;

impl fmt::Display for Forecast {
    /// `about 3 minutes and 320 MB`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, unit) = match self.seconds {
            s if s < 90.0 => (s, "second"),
            s if s < 5400.0 => (s / 60.0, "minute"),
            s => (s / 3600.0, "hour"),
        };
        // One digit says how rough it is.
        let digit = 10f64.powf(number.max(1.0).log10().floor());
        let number = (number / digit).round().max(1.0) * digit;
        let plural = if number == 1.0 { "" } else { "s" };
        write!(f, "about {number} {unit}{plural} and {}", memory::show(self.bytes))
    }
}

impl AddAssign for Forecast {
    /// One after the other.
    fn add_assign(&mut self, other: Self) {
        self.seconds += other.seconds;
        self.bytes = self.bytes.max(other.bytes);
    }
}

impl Problem<'_> {
    /// Roughly what it takes to answer this to a target, from the numbers of points with mass and of their
    /// coordinates. Nothing is solved, and nothing allocated.
    ///
    /// # Example
    /// ```
    /// use treeport::{MatrixView, Problem, Target};
    /// let (masses, costs) = (vec![1.0; 3000], vec![1.0; 9_000_000]);
    /// let problem = Problem::between(&masses, &masses, MatrixView::new(3000, 3000, &costs)?);
    /// let forecast = problem.forecast(&Target::default());
    /// assert!(forecast.bytes >= 36_000_000 && forecast.seconds > 0.01);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn forecast(&self, target: &Target) -> Forecast {
        let ProblemSize { ground, left, right } = self.size();
        of_size(ground, (left, right), self.is_balanced(), target)
    }
}

/// Roughly what a problem between so many points takes, on a ground metric or with a matrix of costs.
pub(super) fn of_size(
    ground: Option<Ground<'_>>,
    (n, m): (usize, usize),
    is_balanced: bool,
    target: &Target,
) -> Forecast {
    let found = match ground {
        Some(ground) if is_balanced && ground.is_line() => {
            let seconds = LINE * (n + m) as f64;
            Forecast { seconds, bytes: line::bytes(n, m) }
        }
        Some(Ground::Metric(metric)) => on_metric(metric, (n, m), is_balanced, target.share()),
        Some(Ground::Components(ground)) => {
            let parts = (0..ground.len()).map(|component| ground.metric(component));
            let most = parts.max_by_key(|metric| metric.points());
            let (n, m) = (n.min(ground.points()), m.min(ground.points()));
            most.map_or(Forecast::default(), |metric| {
                on_metric(metric, (n, m), is_balanced, target.share())
            })
        }
        None if is_balanced && exact::is_sparse_matrix(n, m) => {
            let points = (n as f64 * m as f64).sqrt();
            let seconds = by_auction(points, Space::Matrix, target.share());
            Forecast { seconds, bytes: memory::size_of::<f32>(&[n, m]) }
        }
        None => of_table(n, m),
    };
    let most = target.time.map_or(f64::INFINITY, |time| time.as_secs_f64());
    Forecast { seconds: found.seconds.min(most), ..found }
}

fn on_metric(
    metric: &GroundMetric,
    (n, m): (usize, usize),
    is_balanced: bool,
    width: f64,
) -> Forecast {
    if metric.edges().is_some() {
        let seconds = choice::time_on_graph(metric, n, m) / 1e9;
        let nodes = memory::size_of::<[u64; 16]>(&[metric.points()]);
        return Forecast { seconds, bytes: nodes.saturating_add(of_table(n.min(m), 1).bytes) };
    }
    if !is_balanced || !exact::is_sparse(metric, n, m) {
        return of_table(n, m);
    }
    let points = (n as f64 * m as f64).sqrt();
    let seconds = by_auction(points, Space::of(metric), width);
    Forecast { seconds, bytes: exact::bytes(metric, n, m) }
}

/// Seconds of sorting, for a point.
const LINE: f64 = 3e-7;

/// With a table of all costs.
fn of_table(n: usize, m: usize) -> Forecast {
    let seconds = exact::solving_time(n as f64 * m as f64) / 1e9;
    Forecast { seconds, bytes: memory::size_of::<f64>(&[n, m]) }
}

/// Seconds of an auction between so many points a side, and of the simplex after it: processor time of
/// uniform points with equal masses, 3,000, 6,000, 10,000 and 100,000 a side. Masses that differ take two to
/// three times as long.
fn by_auction(points: f64, space: Space, width: f64) -> f64 {
    let thousands = points / 1000.0;
    let seconds = match space {
        Space::Plane => 0.0095 * thousands.powf(2.15),
        Space::Solid => 0.02 * thousands.powf(1.4),
        Space::Of(dim) => (0.0095 + 5e-4 * dim as f64) * thousands.powi(2),
        Space::Matrix => 0.04 * thousands.powi(2),
    };
    // A percent takes about as long as the end.
    if width > 0.01 { seconds * (0.01 / width).powf(0.3) } else { seconds }
}

/// Where points are.
#[derive(Clone, Copy)]
enum Space {
    /// In the plane or on a sphere.
    Plane,
    /// With three coordinates.
    Solid,
    /// With more of them.
    Of(usize),
    /// Nowhere: a matrix says all costs.
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
    fn it_is_said_in_one_digit() {
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
