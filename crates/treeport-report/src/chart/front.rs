//! Error against time of a pair, as SVG and as text, with the front of the best trade-offs.

use std::fmt::Write;

use crate::area::PlotArea;
use crate::svg::{self, Place, escape, num};
use crate::text::seconds;

/// A method in the chart.
#[derive(Clone, Debug, PartialEq)]
pub struct FrontPoint {
    /// Name of the method.
    pub name: String,
    /// Seconds per pair.
    pub seconds: f64,
    /// Mean relative error; 0 for an exact method.
    pub error: f64,
}

const AREA: PlotArea =
    PlotArea { width: 680.0, height: 420.0, left: 72.0, right: 660.0, top: 48.0, bottom: 366.0 };

/// Smallest relative error that is distinguished from 0: that of certified exact distances.
const EXACT: f64 = 1e-8;

/// Returns for each method whether no other is at least as fast and at least as accurate; of equal
/// methods, only the first is on the front.
///
/// # Example
/// ```
/// use treeport_report::chart::{FrontPoint, is_on_front};
/// let point = |seconds, error| FrontPoint { name: String::new(), seconds, error };
/// let front = is_on_front(&[point(1.0, 0.5), point(2.0, 0.1), point(3.0, 0.2)]);
/// assert_eq!(front, [true, true, false]);
/// ```
pub fn is_on_front(points: &[FrontPoint]) -> Vec<bool> {
    let dominates = |(k, a): (usize, &FrontPoint), (l, b): (usize, &FrontPoint)| {
        let equal = a.seconds == b.seconds && a.error == b.error;
        a.seconds <= b.seconds && a.error <= b.error && (!equal || k < l)
    };
    let is_best =
        |l: usize| !points.iter().enumerate().any(|a| a.0 != l && dominates(a, (l, &points[l])));
    (0..points.len()).map(is_best).collect()
}

/// Logarithmic axes: time to the right, error upwards, with a line for errors of 0 at the bottom.
struct Axes {
    seconds: (f64, f64),
    error: (f64, f64),
    has_exact: bool,
}

/// Share of the height between errors of 0 and the smallest other error.
const GAP: f64 = 0.12;

impl Axes {
    fn of(points: &[FrontPoint], baseline: Option<f64>) -> Self {
        let errors = points.iter().map(|p| p.error).chain(baseline);
        let errors = errors.filter(|e| *e > EXACT && e.is_finite());
        Self {
            seconds: decades(points.iter().map(|p| p.seconds), 1.6),
            error: decades(errors, 1.15),
            has_exact: points.iter().any(|p| p.error <= EXACT),
        }
    }

    /// Maps seconds to 0 (left) to 1 (right).
    fn x(&self, seconds: f64) -> f64 {
        log_part(seconds, self.seconds)
    }

    /// Maps an error to 0 (bottom) to 1 (top).
    fn y(&self, error: f64) -> f64 {
        if error <= EXACT {
            return 0.0;
        }
        let gap = if self.has_exact { GAP } else { 0.0 };
        gap + (1.0 - gap) * log_part(error, self.error)
    }

    /// Returns round errors with their labels.
    fn error_ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = self.error;
        let errors = svg::log_ticks(self.error, high / low > 300.0, stride).into_iter();
        let tick = |error| (self.y(error), format!("{} %", svg::figure(100.0 * error)));
        let mut ticks: Vec<(f64, String)> = errors.map(tick).collect();
        if self.has_exact {
            ticks.push((0.0, "exact".into()));
        }
        ticks
    }

    /// Powers of ten of a second with their labels.
    fn time_ticks(&self) -> Vec<(f64, String)> {
        let (low, high) = self.seconds;
        let (first, last) = (low.log10().ceil() as i32, high.log10().floor() as i32);
        let tick = |e: i32| {
            let (value, unit) = match e {
                ..=-7 => (e + 9, "ns"),
                -6..=-4 => (e + 6, "µs"),
                -3..=-1 => (e + 3, "ms"),
                _ => (e, "s"),
            };
            let value = svg::tick_text(10f64.powi(value));
            (self.x(10f64.powi(e)), format!("{value} {unit}"))
        };
        (first..=last).step_by(stride(first.abs_diff(last))).map(tick).collect()
    }
}

/// Returns the range of positive values, widened by a factor on both sides.
fn decades(values: impl Iterator<Item = f64>, margin: f64) -> (f64, f64) {
    let finite = values.filter(|v| *v > 0.0 && v.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, 0.0), |(low, high): (f64, f64), v| (low.min(v), high.max(v)));
    if low > high { (0.1, 1.0) } else { (low / margin, high * margin) }
}

fn log_part(value: f64, (low, high): (f64, f64)) -> f64 {
    ((value.max(low).ln() - low.ln()) / (high.ln() - low.ln())).clamp(0.0, 1.0)
}

/// Returns the step between the powers of ten that are shown, at most twelve of them.
fn stride(powers: u32) -> usize {
    powers as usize / 12 + 1
}

/// Draws the mean relative error of methods against the time of a pair, both on logarithmic axes.
///
/// The line connects the methods that no other beats in both. `baseline` is the error of a constant
/// prediction, drawn as a dashed line.
///
/// # Example
/// ```
/// use treeport_report::{Place, chart::{FrontPoint, front_svg}};
/// let tree = FrontPoint { name: "tree".into(), seconds: 1e-6, error: 0.1 };
/// let exact = FrontPoint { name: "exact".into(), seconds: 1e-3, error: 0.0 };
/// let svg = front_svg("Error against time", &[tree, exact], Some(0.4), Place::File);
/// assert!(svg.starts_with("<svg") && svg.contains(">tree<"));
/// ```
pub fn front_svg(
    title: &str,
    points: &[FrontPoint],
    baseline: Option<f64>,
    place: Place,
) -> String {
    let points = drawable(points);
    if points.is_empty() {
        return super::no_data(title, place);
    }
    let (axes, front) = (Axes::of(&points, baseline), is_on_front(&points));
    let mut out = AREA.open(title, place);
    for (y, text) in axes.error_ticks() {
        AREA.grid(&mut out, AREA.y(y), &text);
    }
    for (x, text) in axes.time_ticks() {
        AREA.below(&mut out, AREA.x(x), &text);
    }
    let mut labels = Labels::default();
    if let Some(error) = baseline.filter(|error| *error > EXACT && error.is_finite()) {
        let y = AREA.y(axes.y(error));
        let (left, right, line) = (num(AREA.left), num(AREA.right), num(y));
        svg::dashed(&mut out, format_args!("M{left} {line}H{right}"));
        labels.place(
            &mut out,
            (AREA.right, y),
            "a constant guess",
            "tp-faint",
            &[(-0.0, -6.0, "end")],
        );
    }
    let at = |p: &FrontPoint| (AREA.x(axes.x(p.seconds)), AREA.y(axes.y(p.error)));
    let mut order: Vec<usize> = (0..points.len()).collect();
    // The front first, so that its names find room; there from left to right.
    order.sort_by(|&a, &b| {
        front[b].cmp(&front[a]).then(points[a].seconds.total_cmp(&points[b].seconds))
    });
    let best: Vec<(f64, f64)> =
        order.iter().filter(|&&k| front[k]).map(|&k| at(&points[k])).collect();
    draw_steps(&mut out, &best);
    for ends in best.windows(2) {
        let [(x0, y0), (x1, y1)] = [ends[0], ends[1]];
        labels.taken.push([x0, y0 - 2.0, x1, y0 + 2.0]);
        labels.taken.push([x1 - 2.0, y0, x1 + 2.0, y1]);
    }
    for point in &points {
        labels.avoid(at(point));
    }
    for &k in order.iter().rev() {
        let ((x, y), p) = (at(&points[k]), &points[k]);
        let (class, r) = if front[k] { ("tp-g0", 5) } else { ("tp-g0 tp-pale", 3) };
        let tip =
            escape(&format!("{}: {}, {} a pair", p.name, percent(p.error), seconds(p.seconds)));
        let (x, y) = (num(x), num(y));
        let _ = writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{x}\" cy=\"{y}\" r=\"{r}\" data-tip=\"{tip}\">\
             <title>{tip}</title></circle>"
        );
    }
    for k in order {
        let class = if front[k] { "tp-ink" } else { "tp-faint" };
        labels.place(&mut out, at(&points[k]), &points[k].name, class, AROUND);
    }
    svg::label(&mut out, (AREA.x(0.5), AREA.bottom + 38.0), "middle", "time of a pair, one thread");
    svg::label(&mut out, (16.0, AREA.top - 6.0), "", "mean relative error");
    out + "\n</svg>\n"
}

/// Formats an error as a percentage.
fn percent(error: f64) -> String {
    if error <= EXACT {
        "exact".into()
    } else {
        format!("{} %", crate::text::three_digits(100.0 * error))
    }
}

/// Leaves out methods without a time or an error.
fn drawable(points: &[FrontPoint]) -> Vec<FrontPoint> {
    let is_drawable =
        |p: &&FrontPoint| p.seconds > 0.0 && p.seconds.is_finite() && p.error.is_finite();
    points.iter().filter(is_drawable).cloned().collect()
}

/// Draws the front as steps: up to the next method, the previous one is the best.
fn draw_steps(out: &mut String, best: &[(f64, f64)]) {
    let mut path = String::new();
    for (k, (x, y)) in best.iter().enumerate() {
        let _ = match k {
            0 => write!(path, "M{} {}", num(*x), num(*y)),
            _ => write!(path, "H{}V{}", num(*x), num(*y)),
        };
    }
    let _ = writeln!(out, "<path class=\"tp-line tp-thick tp-g0\" d=\"{path}\"/>");
}

/// Positions of a name relative to its point, with the anchor of the text; the first with room is
/// used. No method is below and to the left of the front.
const AROUND: &[(f64, f64, &str)] = &[
    (-8.0, 14.0, "end"),
    (9.0, 4.0, "start"),
    (8.0, -7.0, "start"),
    (-9.0, 4.0, "end"),
    (8.0, 15.0, "start"),
    (-8.0, -7.0, "end"),
    (-8.0, 26.0, "end"),
];

/// Names that do not overlap.
#[derive(Default)]
struct Labels {
    taken: Vec<[f64; 4]>,
}

/// Width of a character of small text.
const CHARACTER: f64 = 6.2;

impl Labels {
    /// Keeps names off a point.
    fn avoid(&mut self, (x, y): (f64, f64)) {
        self.taken.push([x - 4.0, y - 4.0, x + 4.0, y + 4.0]);
    }

    /// Draws a name at the first position with room, or not at all.
    fn place(
        &mut self,
        out: &mut String,
        (x, y): (f64, f64),
        name: &str,
        class: &str,
        positions: &[(f64, f64, &str)],
    ) {
        let width = CHARACTER * name.chars().count() as f64;
        for &(dx, dy, anchor) in positions {
            let (x, y) = (x + dx, y + dy);
            let left = if anchor == "end" { x - width } else { x };
            let own = [left, y - 9.0, left + width, y + 3.0];
            let is_inside = left >= AREA.left && own[2] <= AREA.width && y <= AREA.bottom + 3.0;
            let overlaps = |other: &[f64; 4]| {
                own[0] < other[2] && other[0] < own[2] && own[1] < other[3] && other[1] < own[3]
            };
            if is_inside && !self.taken.iter().any(overlaps) {
                self.taken.push(own);
                let (x, y, name) = (num(x), num(y), escape(name));
                let _ = writeln!(
                    out,
                    "<text class=\"{class} tp-small\" x=\"{x}\" y=\"{y}\" text-anchor=\"{anchor}\">{name}</text>"
                );
                return;
            }
        }
    }
}

/// Width and height of the chart as text.
const COLUMNS: usize = 72;
const ROWS: usize = 15;

/// Draws the chart as text: `●` and a name for each method of the front, `·` for the others.
///
/// # Example
/// ```
/// use treeport_report::chart::{FrontPoint, front_text};
/// let tree = FrontPoint { name: "tree".into(), seconds: 1e-6, error: 0.1 };
/// let exact = FrontPoint { name: "exact".into(), seconds: 1e-3, error: 0.0 };
/// assert!(front_text(&[tree, exact], None).contains("● tree"));
/// ```
pub fn front_text(points: &[FrontPoint], baseline: Option<f64>) -> String {
    let points = drawable(points);
    if points.is_empty() {
        return String::new();
    }
    let (axes, front) = (Axes::of(&points, baseline), is_on_front(&points));
    let mut grid = vec![vec![' '; COLUMNS]; ROWS];
    let row = |error: f64| ((1.0 - axes.y(error)) * (ROWS - 1) as f64).round() as usize;
    let column = |seconds: f64| (axes.x(seconds) * (COLUMNS - 1) as f64).round() as usize;
    if let Some(error) = baseline.filter(|error| *error > EXACT && error.is_finite()) {
        let line = &mut grid[row(error)];
        line.fill('┄');
        let text = " a constant guess ";
        write_at(line, COLUMNS - text.chars().count() - 2, text);
    }
    for (point, _) in points.iter().zip(&front).filter(|(_, front)| !**front) {
        grid[row(point.error)][column(point.seconds)] = '·';
    }
    let mut best: Vec<&FrontPoint> =
        points.iter().zip(&front).filter(|(_, front)| **front).map(|(point, _)| point).collect();
    best.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    // From the right, where a name that would run over the edge goes to the left of its point.
    for point in best {
        let (line, x) = (&mut grid[row(point.error)], column(point.seconds));
        let width = point.name.chars().count() + 1;
        let is_free = |line: &[char], from: usize, to: usize| {
            to <= COLUMNS && line[from..to].iter().all(|c| !c.is_alphanumeric() && *c != '●')
        };
        line[x] = '●';
        if is_free(line, x + 1, x + 1 + width) {
            write_at(line, x + 1, &format!(" {}", point.name));
        } else if x > width && is_free(line, x - width, x) {
            write_at(line, x - width, &format!("{} ", point.name));
        }
    }
    let mut margin = vec![String::new(); ROWS];
    for (y, text) in axes.error_ticks() {
        margin[((1.0 - y) * (ROWS - 1) as f64).round() as usize] = text;
    }
    let mut out = String::from("error\n");
    for (line, text) in grid.iter().zip(&margin) {
        let drawn: String = line.iter().collect();
        let _ = writeln!(out, "{text:>8} │{}", drawn.trim_end());
    }
    let _ = writeln!(out, "{:>8} └{}", "", "─".repeat(COLUMNS));
    let mut below = vec![' '; COLUMNS + 8];
    for (x, text) in axes.time_ticks() {
        let from = (x * (COLUMNS - 1) as f64).round() as usize;
        let from = from.saturating_sub(text.chars().count() / 2);
        if below[from.saturating_sub(1)..from + text.chars().count()].iter().all(|c| *c == ' ') {
            write_at(&mut below, from, &text);
        }
    }
    let below: String = below.iter().collect();
    let _ = writeln!(out, "{:>8}  {}   time of a pair", "", below.trim_end());
    out
}

/// Writes text into a line.
fn write_at(line: &mut [char], from: usize, text: &str) {
    text.chars().zip(&mut line[from..]).for_each(|(c, place)| *place = c);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::tests::parse;

    fn point(name: &str, seconds: f64, error: f64) -> FrontPoint {
        FrontPoint { name: name.into(), seconds, error }
    }

    /// Checks that the front holds exactly the points that no other point equals or beats in both
    /// time and error; of equal points, only the first.
    #[test]
    fn the_front_has_no_method_that_another_beats() {
        let values = [(1.0, 3.0), (2.0, 2.0), (2.0, 4.0), (3.0, 2.0), (4.0, 0.0), (4.0, 0.0)];
        let points: Vec<_> = values.iter().map(|&(s, e)| point("", s, e)).collect();
        assert_eq!(is_on_front(&points), [true, true, false, false, true, false]);
        assert!(is_on_front(&[]).is_empty());
    }

    #[test]
    fn names_of_the_front_are_drawn_in_both_pictures() {
        let points =
            [point("fast", 1e-7, 0.3), point("a <b>", 1e-5, 0.02), point("exact", 1e-2, 0.0)];
        let svg = front_svg("t", &points, Some(0.5), Place::File);
        assert!(parse(&svg) > 12);
        for name in ["fast", "a &lt;b&gt;", "exact", "a constant guess"] {
            assert!(svg.contains(&format!(">{name}</text>")), "{name}");
        }
        let text = front_text(&points, Some(0.5));
        assert!(text.contains("● fast") && text.contains("● a <b>"), "{text}");
        assert!(text.contains("exact ●") && text.contains("a constant guess"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() < 100), "{text}");
    }

    #[test]
    fn odd_inputs_are_drawn() {
        let odd = [point("", f64::NAN, 1.0), point("", 0.0, 1.0), point("x", 1.0, f64::INFINITY)];
        for points in [&odd[..], &[point("x", 1.0, 0.0)], &[point("x", 1e-300, 1e300)], &[]] {
            for baseline in [None, Some(0.0), Some(f64::NAN), Some(0.5)] {
                let svg = front_svg("t", points, baseline, Place::Page);
                parse(&svg);
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
                front_text(points, baseline);
            }
        }
    }
}
