//! Chart of errors by the size of supports.

use std::fmt::Write;

use super::{AREA, Frame, axis_names, no_data, percent, quantile};
use crate::svg::{Place, num};

/// Maximum number of groups, of about equal numbers of pairs.
const GROUPS: usize = 8;

/// Draws relative errors by the total size of the two supports: for each of up to eight groups the
/// median, a box between the quartiles, and a line between the first and the last decile.
///
/// # Panics
/// If `sizes` and `errors` have different lengths.
///
/// # Example
/// ```
/// use treeport_report::{Place, chart::support_svg};
/// assert!(support_svg("By size", &[2, 9], &[0.3, -0.1], Place::File).starts_with("<svg"));
/// ```
pub fn support_svg(title: &str, sizes: &[usize], errors: &[f64], place: Place) -> String {
    assert_eq!(sizes.len(), errors.len(), "one error for every size");
    let pairs = sizes.iter().zip(errors).filter(|(_, e)| e.is_finite());
    let mut pairs: Vec<(usize, f64)> = pairs.map(|(&size, e)| (size, e.abs())).collect();
    if pairs.is_empty() {
        return no_data(title, place);
    }
    pairs.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let groups = groups(&pairs);
    let highest = groups.iter().map(|g| quantile(&g.2, 0.9)).fold(0.0, f64::max);
    let frame = Frame {
        x: (0.0, groups.len() as f64),
        y: (0.0, if highest > 0.0 { highest * 1.05 } else { 1.0 }),
    };
    let mut out = frame.open(title, place, percent);
    let room = (AREA.right - AREA.left) / groups.len() as f64;
    for (k, (from, to, errors)) in groups.iter().enumerate() {
        let x = frame.at_x(k as f64 + 0.5);
        draw_box(&mut out, &frame, x, (room * 0.5).min(60.0), (*from, *to), errors);
        AREA.below(&mut out, x, &span(*from, *to));
    }
    axis_names(&mut out, "points in the two supports", "relative error");
    out + "</svg>\n"
}

/// Returns smallest and largest size and sorted errors of each group of similar sizes.
fn groups(pairs: &[(usize, f64)]) -> Vec<(usize, usize, Vec<f64>)> {
    let least = pairs.len().div_ceil(GROUPS);
    let mut groups: Vec<(usize, usize, Vec<f64>)> = Vec::new();
    for &(size, error) in pairs {
        match groups.last_mut() {
            Some((_, to, errors)) if errors.len() < least || *to == size => {
                *to = size;
                errors.push(error);
            }
            _ => groups.push((size, size, vec![error])),
        }
    }
    for group in &mut groups {
        group.2.sort_by(f64::total_cmp);
    }
    groups
}

fn draw_box(
    out: &mut String,
    frame: &Frame,
    x: f64,
    width: f64,
    (from, to): (usize, usize),
    errors: &[f64],
) {
    let at = |share: f64| frame.at_y(quantile(errors, share));
    let (lowest, low, middle, high, highest) = (at(0.1), at(0.25), at(0.5), at(0.75), at(0.9));
    let tip = format!(
        "supports of {} together, {} pairs: median error {}, nine in ten below {}",
        span(from, to),
        errors.len(),
        percent(quantile(errors, 0.5)),
        percent(quantile(errors, 0.9)),
    );
    let (left, right) = (num(x - width / 2.0), num(x + width / 2.0));
    let _ = writeln!(
        out,
        "<path class=\"tp-line tp-g0\" d=\"M{0} {1}V{2}\"/>\
         <rect class=\"tp-pale tp-g0\" x=\"{left}\" y=\"{3}\" width=\"{4}\" height=\"{5}\" rx=\"2\" data-tip=\"{tip}\"/>\
         <path class=\"tp-line tp-thick tp-g0\" d=\"M{left} {6}H{right}\"/>",
        num(x),
        num(lowest),
        num(highest),
        num(high),
        num(width),
        num((low - high).max(1.0)),
        num(middle),
    );
}

fn span(from: usize, to: usize) -> String {
    if from == to { from.to_string() } else { format!("{from}–{to}") }
}
