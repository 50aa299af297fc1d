//! Scatter plot of predicted against exact distances.

use std::fmt::Write;

use super::{Frame, axis_names, no_data};
use crate::svg::{Place, dashed, escape, num, tick_text};

/// A pair of measures in the plot.
#[derive(Clone, Debug, PartialEq)]
pub struct Dot {
    /// Exact distance.
    pub exact: f64,
    /// Distance predicted by the model.
    pub predicted: f64,
    /// Tooltip in the page.
    pub tip: String,
    /// Index in the page's list of plans, if any.
    pub plan: Option<usize>,
}

/// Maximum number of dots; more are thinned out evenly, because they would overlap.
const MOST_DOTS: usize = 2000;

/// Draws one dot per pair, and the diagonal of perfect predictions.
///
/// Both axes have the same range. Pairs that are not finite are omitted.
///
/// # Example
/// ```
/// use treeport_report::{Place, chart::{Dot, scatter_svg}};
/// let dot = Dot { exact: 2.0, predicted: 2.1, tip: String::new(), plan: None };
/// assert!(scatter_svg("Predicted and exact", &[dot], "km", Place::File).starts_with("<svg"));
/// ```
pub fn scatter_svg(title: &str, dots: &[Dot], unit: &str, place: Place) -> String {
    let finite: Vec<&Dot> =
        dots.iter().filter(|d| d.exact.is_finite() && d.predicted.is_finite()).collect();
    if finite.is_empty() {
        return no_data(title, place);
    }
    let largest = finite.iter().map(|d| d.exact.max(d.predicted)).fold(0.0, f64::max);
    let smallest = finite.iter().map(|d| d.exact.min(d.predicted)).fold(largest, f64::min);
    // Nearly equal distances would be a speck in the corner of a range from 0.
    let low = if smallest > 0.3 * largest { smallest - 0.05 * (largest - smallest) } else { 0.0 };
    let range = (low, if largest > 0.0 { largest + 0.02 * (largest - low) } else { 1.0 });
    let frame = Frame { x: range, y: range };
    let mut out = frame.open(title, place, tick_text);
    frame.x_ticks(&mut out, tick_text);
    let [[x0, y0], [x1, y1]] =
        [range.0, range.1].map(|end| [frame.at_x(end), frame.at_y(end)].map(num));
    dashed(&mut out, format_args!("M{x0} {y0}L{x1} {y1}"));
    for dot in finite.iter().step_by(finite.len().div_ceil(MOST_DOTS)) {
        let (x, y) = (num(frame.at_x(dot.exact)), num(frame.at_y(dot.predicted)));
        let plan = dot.plan.map_or_else(String::new, |k| format!(" data-plan=\"{k}\""));
        let _ = writeln!(
            out,
            "<circle class=\"tp-dot tp-g0\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"{plan} data-tip=\"{}\"/>",
            escape(&dot.tip)
        );
    }
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    axis_names(&mut out, &format!("exact distance{unit}"), &format!("predicted{unit}"));
    out + "</svg>\n"
}
