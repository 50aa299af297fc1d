//! Small charts of named lines.

use std::fmt::Write;

use crate::area::PlotArea;
use crate::svg::{self, Place, escape, group_class, num};

const AREA: PlotArea =
    PlotArea { width: 680.0, height: 320.0, left: 64.0, right: 544.0, top: 48.0, bottom: 276.0 };
/// Values that span a larger ratio get a logarithmic axis.
const LOG_ABOVE: f64 = 20.0;

/// Titles of the axes.
#[derive(Clone, Copy, Debug)]
pub struct Axes<'a> {
    /// Title below the chart.
    pub x: &'a str,
    /// Title above the vertical axis; empty for none.
    pub y: &'a str,
}

/// Draws named lines, each through its points in order, as an SVG picture for light and dark pages.
///
/// Values that are not finite leave a gap. The vertical axis is logarithmic if all values are
/// positive and span more than a factor of 20; the horizontal axis starts at 0 unless that would
/// waste most of it.
///
/// # Example
/// ```
/// use treeport_report::{Place, line_chart::{Axes, line_svg}};
/// let axes = Axes { x: "pairs", y: "error" };
/// let picture = line_svg("Error", axes, &[("ours", &[(1.0, 0.5), (2.0, 0.25)])], Place::File);
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn line_svg(
    title: &str,
    axes: Axes<'_>,
    lines: &[(&str, &[(f64, f64)])],
    place: Place,
) -> String {
    let points = || lines.iter().flat_map(|line| line.1.iter().copied());
    let axis = Axis::of(points().map(|p| p.1));
    let span = Span::of(points().map(|p| p.0));
    let mut out = AREA.open(title, place);
    draw_axes(&mut out, &axis, &span, axes);
    let mut ends = Vec::new();
    for (k, (name, points)) in lines.iter().enumerate() {
        let (path, end) = line(points, &axis, &span);
        if let Some(y) = end {
            let _ = writeln!(out, "<path class=\"tp-line {}\" d=\"{path}\"/>", group_class(k));
            ends.push((y, k, *name));
        }
    }
    draw_names(&mut out, &mut ends);
    out + "</svg>\n"
}

/// Returns the smallest and the largest finite value.
fn extent(values: impl Iterator<Item = f64>) -> (f64, f64) {
    let none = (f64::INFINITY, f64::NEG_INFINITY);
    values.filter(|v| v.is_finite()).fold(none, |(low, high), v| (low.min(v), high.max(v)))
}

/// Range of the horizontal axis.
struct Span {
    low: f64,
    high: f64,
}

impl Span {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (mut low, high) = extent(values);
        if low > high {
            return Self { low: 0.0, high: 1.0 };
        }
        if low >= 0.0 && low < 0.5 * high {
            low = 0.0;
        }
        Self { low, high: if high > low { high } else { low + 1.0 } }
    }

    fn x(&self, value: f64) -> f64 {
        AREA.x((value - self.low) / (self.high - self.low))
    }
}

/// Range of the vertical axis.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(values: impl Iterator<Item = f64>) -> Self {
        let (low, high) = extent(values);
        if low > 0.0 && high > LOG_ABOVE * low && high.is_finite() {
            // A margin keeps lines off the frame.
            let (low, high) = ((low / 1.15).max(f64::MIN_POSITIVE), (high * 1.15).min(f64::MAX));
            return Self { low, high, log: true };
        }
        let high = if high > 0.0 { (high * 1.05).min(f64::MAX) } else { 1.0 };
        Self { low: if low < 0.0 { low } else { 0.0 }, high, log: false }
    }

    fn y(&self, value: f64) -> f64 {
        let part = if self.log {
            // A difference of logarithms, because the ratio may overflow.
            (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        AREA.y(part)
    }

    /// Returns round values; on a logarithmic axis 1, 2 and 5 of each decade, or decades if many.
    fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return svg::ticks(self.low, self.high, 6);
        }
        let decades = self.high.log10() - self.low.log10();
        svg::log_ticks((self.low, self.high), decades > 2.5, |powers| (powers as usize / 8).max(1))
    }
}

fn draw_axes(out: &mut String, axis: &Axis, span: &Span, axes: Axes<'_>) {
    for tick in axis.ticks() {
        AREA.grid(out, axis.y(tick), &svg::tick_text(tick));
    }
    for tick in svg::ticks(span.low, span.high, 8) {
        AREA.below(out, span.x(tick), &svg::tick_text(tick));
    }
    svg::label(out, (AREA.x(0.5), AREA.bottom + 34.0), "middle", axes.x);
    svg::label(out, (16.0, 41.0), "", axes.y);
    out.push('\n');
}

/// Returns the path of a line, and the vertical coordinate of its end if it has a point.
fn line(points: &[(f64, f64)], axis: &Axis, span: &Span) -> (String, Option<f64>) {
    let (mut path, mut end, mut pen_up) = (String::new(), None, true);
    for &(x, value) in points {
        if !(x.is_finite() && value.is_finite()) {
            pen_up = true;
            continue;
        }
        let y = axis.y(value);
        let step = if pen_up { 'M' } else { 'L' };
        let _ = write!(path, "{step}{} {}", num(span.x(x)), num(y));
        if pen_up {
            // A step of zero length draws a point between two gaps as a dot.
            path += "h0";
        }
        (pen_up, end) = (false, Some(y));
    }
    (path, end)
}

/// Draws names beside the ends of the lines, moved apart if they would overlap.
fn draw_names(out: &mut String, ends: &mut [(f64, usize, &str)]) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for &mut (y, k, name) in ends {
        above = y.max(above + 13.0);
        let (x, y, class) = (num(AREA.right + 8.0), num(above + 4.0), group_class(k));
        let name = escape(name);
        let _ = writeln!(out, "<text class=\"tp-small {class}\" x=\"{x}\" y=\"{y}\">{name}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_get_a_logarithmic_axis() {
        let axis = Axis::of([1.0, 1000.0].into_iter());
        assert!(axis.log && !Axis::of([1.0, 10.0].into_iter()).log);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((axis.y(axis.low) - AREA.bottom).abs() < 1e-9);
        assert!((axis.y(axis.high) - AREA.top).abs() < 1e-9);
        assert!(Axis::of([1e-30, 1e30].into_iter()).ticks().len() <= 10);
    }

    #[test]
    fn the_horizontal_axis_begins_at_0_unless_that_wastes_it() {
        let span = |values: &[f64]| Span::of(values.iter().copied());
        assert_eq!(span(&[0.1, 1.0]).low, 0.0);
        assert_eq!(span(&[800.0, 1500.0]).low, 800.0);
        assert_eq!((span(&[]).low, span(&[3.0]).high), (0.0, 4.0));
    }
}
