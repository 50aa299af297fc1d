//! Training and validation loss by epoch, as a small line chart.

use std::fmt::Write;

use crate::svg::{self, Place, escape, group_class, num};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 544.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 276.0;
/// Losses that span more than this ratio are drawn on a logarithmic axis.
const LOG_ABOVE: f64 = 20.0;

/// The two losses as an SVG picture for light and dark pages; the first value is the start, epoch 0.
///
/// Either list may be empty or shorter. Values that are not finite leave a gap. The axis is
/// logarithmic when the losses are above 0 and span more than a factor of 20.
///
/// # Example
/// ```
/// use treeport_lab::{Place, loss_chart::loss_svg};
/// let picture = loss_svg("Loss", &[4.0, 2.0, 1.0], &[4.5, 2.5, 1.8], Place::File);
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn loss_svg(title: &str, training: &[f64], validation: &[f64], place: Place) -> String {
    let axis = Axis::of(training.iter().chain(validation).copied());
    let epochs = training.len().max(validation.len()).max(2) - 1;
    let mut out = svg::open(WIDTH, HEIGHT, title, place);
    draw_axes(&mut out, &axis, epochs);
    let lines = [("training", training), ("validation", validation)];
    let mut ends = Vec::new();
    for (k, (name, losses)) in lines.into_iter().enumerate() {
        let (path, end) = line(losses, &axis, epochs);
        if let Some(y) = end {
            let _ = writeln!(out, "<path class=\"tp-line {}\" d=\"{path}\"/>", group_class(k));
            ends.push((y, k, name));
        }
    }
    draw_names(&mut out, &mut ends);
    out + "</svg>\n"
}

/// The vertical axis: which losses are at the bottom and the top.
struct Axis {
    low: f64,
    high: f64,
    log: bool,
}

impl Axis {
    fn of(losses: impl Iterator<Item = f64>) -> Self {
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for loss in losses.filter(|l| l.is_finite()) {
            (low, high) = (low.min(loss), high.max(loss));
        }
        if low > 0.0 && high > LOG_ABOVE * low && high.is_finite() {
            // A little room, so that lines do not lie on the frame.
            return Self { low: low / 1.15, high: high * 1.15, log: true };
        }
        let high = if high > 0.0 { high * 1.05 } else { 1.0 };
        Self { low: if low < 0.0 { low } else { 0.0 }, high, log: false }
    }

    fn y(&self, loss: f64) -> f64 {
        let part = if self.log {
            (loss / self.low).ln() / (self.high / self.low).ln()
        } else {
            (loss - self.low) / (self.high - self.low)
        };
        BOTTOM - part * (BOTTOM - TOP)
    }

    /// Round values; on a logarithmic axis 1, 2 and 5 of each decade, or decades if those are many.
    fn ticks(&self) -> Vec<f64> {
        if !self.log {
            return svg::ticks(self.low, self.high, 6);
        }
        let decades = (self.high / self.low).log10();
        let parts: &[f64] = if decades > 2.5 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
        let stride = ((last - first) / 8).max(1).unsigned_abs() as usize;
        (first..=last)
            .step_by(stride)
            .flat_map(|e| parts.iter().map(move |p| p * 10f64.powi(e)))
            .filter(|t| (self.low..=self.high).contains(t))
            .collect()
    }
}

fn x(epoch: usize, epochs: usize) -> f64 {
    LEFT + epoch as f64 / epochs as f64 * (RIGHT - LEFT)
}

fn draw_axes(out: &mut String, axis: &Axis, epochs: usize) {
    for tick in axis.ticks() {
        let (y, text) = (axis.y(tick), svg::tick_text(tick));
        let _ = writeln!(
            out,
            "<path class=\"tp-grid\" d=\"M{LEFT} {0}H{RIGHT}\"/>\
             <text class=\"tp-faint tp-small\" x=\"{1}\" y=\"{2}\" text-anchor=\"end\">{text}</text>",
            num(y),
            num(LEFT - 8.0),
            num(y + 4.0),
        );
    }
    let whole = |t: &f64| *t >= 1.0 && t.fract() == 0.0;
    for tick in svg::ticks(0.0, epochs as f64, 8).into_iter().filter(whole) {
        let at = LEFT + tick / epochs as f64 * (RIGHT - LEFT);
        let _ = writeln!(
            out,
            "<text class=\"tp-faint tp-small\" x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>",
            num(at),
            num(BOTTOM + 17.0),
            svg::tick_text(tick)
        );
    }
    let (middle, y) = (num(f64::midpoint(LEFT, RIGHT)), num(BOTTOM + 34.0));
    let _ = writeln!(
        out,
        "<text class=\"tp-faint tp-small\" x=\"{middle}\" y=\"{y}\" text-anchor=\"middle\">epoch</text>"
    );
}

/// The path of one line and the height at which it ends, if it has any point.
fn line(losses: &[f64], axis: &Axis, epochs: usize) -> (String, Option<f64>) {
    let (mut path, mut end, mut pen_up) = (String::new(), None, true);
    for (k, &loss) in losses.iter().enumerate() {
        if !loss.is_finite() {
            pen_up = true;
            continue;
        }
        let y = axis.y(loss);
        let step = if pen_up { 'M' } else { 'L' };
        let _ = write!(path, "{step}{} {}", num(x(k, epochs)), num(y));
        if pen_up {
            // A step of no length, so that a point between two gaps is a dot.
            path += "h0";
        }
        (pen_up, end) = (false, Some(y));
    }
    (path, end)
}

/// Names beside the ends of the lines, moved apart where they would touch.
fn draw_names(out: &mut String, ends: &mut [(f64, usize, &str)]) {
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut above = f64::NEG_INFINITY;
    for &mut (y, k, name) in ends {
        above = y.max(above + 13.0);
        let (x, y, class) = (num(RIGHT + 8.0), num(above + 4.0), group_class(k));
        let name = escape(name);
        let _ = writeln!(out, "<text class=\"tp-small {class}\" x=\"{x}\" y=\"{y}\">{name}</text>");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::tests::parse;

    #[test]
    fn charts_parse_and_name_their_lines() {
        let svg = loss_svg("a < b & c", &[3.0, 2.0, 1.0], &[4.0, 3.0, 2.5], Place::File);
        assert!(parse(&svg) > 10);
        assert!(svg.contains(">training<") && svg.contains(">validation<"));
        assert_eq!(svg.matches("<path class=\"tp-line").count(), 2);
    }

    #[test]
    fn odd_inputs_are_drawn() {
        let nothing: &[f64] = &[];
        for (training, validation) in [
            (nothing, nothing),
            (&[1.0], nothing),
            (&[0.0, 0.0], &[0.0]),
            (&[f64::NAN, 1.0, f64::INFINITY, 2.0], nothing),
            (&[-1.0, 2.0], &[1e-300, 1e300]),
        ] {
            let svg = loss_svg("odd", training, validation, Place::Page);
            parse(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{training:?} {validation:?}");
        }
    }

    #[test]
    fn wide_losses_get_a_logarithmic_axis() {
        let axis = Axis::of([1.0, 1000.0].into_iter());
        assert!(axis.log && !Axis::of([1.0, 10.0].into_iter()).log);
        assert_eq!(axis.ticks(), [1.0, 10.0, 100.0, 1000.0]);
        assert!((axis.y(axis.low) - BOTTOM).abs() < 1e-9 && (axis.y(axis.high) - TOP).abs() < 1e-9);
        assert!(Axis::of([1e-30, 1e30].into_iter()).ticks().len() <= 10);
    }
}
