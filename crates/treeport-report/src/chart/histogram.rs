//! Histogram of errors.

use std::fmt::Write;

use super::{AREA, Frame, axis_names, no_data, percent, quantile};
use crate::area::PlotArea;
use crate::svg::{Place, dashed, num, tick_text};

const BINS: usize = 31;

/// Draws a histogram of signed relative errors, (predicted − exact) / exact, with a line at 0.
///
/// The range is symmetric and contains 98 % of the errors; errors beyond it are counted in the
/// first and the last bar.
///
/// # Example
/// ```
/// use treeport_report::{Place, chart::histogram_svg};
/// assert!(histogram_svg("Errors", &[-0.1, 0.02, 0.1], Place::File).starts_with("<svg"));
/// ```
pub fn histogram_svg(title: &str, errors: &[f64], place: Place) -> String {
    let errors: Vec<f64> = errors.iter().copied().filter(|e| e.is_finite()).collect();
    if errors.is_empty() {
        return no_data(title, place);
    }
    let mut sizes: Vec<f64> = errors.iter().map(|e| e.abs()).collect();
    sizes.sort_by(f64::total_cmp);
    let reach = quantile(&sizes, 0.98).max(1e-6) * 1.05;
    let width = 2.0 * reach / BINS as f64;
    let mut counts = [0usize; BINS];
    for error in &errors {
        counts[(((error + reach) / width).max(0.0) as usize).min(BINS - 1)] += 1;
    }
    let most = counts.iter().copied().max().unwrap_or(1);
    let frame = Frame { x: (-reach, reach), y: (0.0, most as f64 * 1.05) };
    let mut out = frame.open(title, place, tick_text);
    frame.x_ticks(&mut out, percent);
    for (bin, &count) in counts.iter().enumerate().filter(|&(_, &count)| count > 0) {
        let low = -reach + bin as f64 * width;
        let (left, right) = (frame.at_x(low), frame.at_x(low + width));
        let top = frame.at_y(count as f64);
        let _ = writeln!(
            out,
            "<rect class=\"tp-g0\" x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"1.5\" \
             data-tip=\"{count} of {} pairs: {}\"/>",
            num(left + 0.75),
            num(top),
            num(right - left - 1.5),
            num(AREA.bottom - top),
            errors.len(),
            range_text(bin, low, width),
        );
    }
    let (zero, PlotArea { top, bottom, .. }) = (num(frame.at_x(0.0)), AREA);
    dashed(&mut out, format_args!("M{zero} {top}V{bottom}"));
    axis_names(&mut out, "(predicted − exact) / exact", "pairs");
    out + "</svg>\n"
}

/// Describes the range of a bar.
fn range_text(bin: usize, low: f64, width: f64) -> String {
    match bin {
        0 => format!("below {}", percent(low + width)),
        bin if bin == BINS - 1 => format!("above {}", percent(low)),
        _ => format!("{} to {}", percent(low), percent(low + width)),
    }
}
