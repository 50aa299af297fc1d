//! Chart of certified bounds.

use std::fmt::Write;

use super::{Frame, axis_names, no_data, percent};
use crate::svg::{Place, dashed, num, tick_text};

/// Draws the bounds of every pair as shares of its exact distance, the narrowest first; the line at
/// 100 % is the exact distance. `bounds` are (lower, upper); pairs at distance 0 are omitted.
///
/// # Example
/// ```
/// use treeport_report::{Place, chart::intervals_svg};
/// assert!(intervals_svg("Bounds", &[(0.9, 1.2)], &[1.0], Place::File).starts_with("<svg"));
/// ```
pub fn intervals_svg(title: &str, bounds: &[(f64, f64)], exact: &[f64], place: Place) -> String {
    let apart = bounds.iter().zip(exact).filter(|(_, exact)| **exact > 0.0);
    let shares = apart.map(|((lower, upper), exact)| (lower / exact, upper / exact));
    let mut shares: Vec<(f64, f64)> =
        shares.filter(|(l, u)| l.is_finite() && u.is_finite()).collect();
    if shares.is_empty() {
        return no_data(title, place);
    }
    shares.sort_by(|a, b| (a.1 - a.0).total_cmp(&(b.1 - b.0)));
    let (low, high) =
        shares.iter().fold((1.0, 1.0), |r: (f64, f64), s| (r.0.min(s.0), r.1.max(s.1)));
    let room = (high - low).max(0.01) * 0.04;
    let frame = Frame { x: (0.0, shares.len() as f64), y: (low - room, high + room) };
    let mut out = frame.open(title, place, percent);
    frame.x_ticks(&mut out, tick_text);
    for (k, &(lower, upper)) in shares.iter().enumerate() {
        let (x, top, bottom) = (frame.at_x(k as f64 + 0.5), frame.at_y(upper), frame.at_y(lower));
        let _ = writeln!(
            out,
            "<path class=\"tp-line tp-g0\" d=\"M{} {}V{}\" data-tip=\"between {} and {} of the exact distance\"/>",
            num(x),
            num(top),
            num(bottom.max(top + 1.0)),
            percent(lower),
            percent(upper),
        );
    }
    let (left, right, y) =
        (num(frame.at_x(frame.x.0)), num(frame.at_x(frame.x.1)), num(frame.at_y(1.0)));
    dashed(&mut out, format_args!("M{left} {y}H{right}"));
    axis_names(&mut out, "pairs, narrowest bounds first", "share of the exact distance");
    out + "</svg>\n"
}
