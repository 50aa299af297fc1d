//! Charts of prediction quality: against exact distances, as a histogram, and by the size of
//! supports.
//!
//! The report page and, by `treeport plot`, papers use the same drawings. An element with a tooltip
//! has it in `data-tip`, which the page shows and other viewers ignore.

mod front;
mod histogram;
mod intervals;
mod scatter;
mod support;

pub use front::{FrontPoint, front_svg, front_text, is_on_front};
pub use histogram::histogram_svg;
pub use intervals::intervals_svg;
pub use scatter::{Dot, scatter_svg};
pub use support::support_svg;

use crate::area::PlotArea;
use crate::svg::{self, Place};

const AREA: PlotArea =
    PlotArea { width: 640.0, height: 400.0, left: 72.0, right: 620.0, top: 48.0, bottom: 346.0 };

/// Two linear axes around the plot area.
struct Frame {
    x: (f64, f64),
    y: (f64, f64),
}

impl Frame {
    /// Returns the horizontal coordinate of a value, clamped to the area.
    fn at_x(&self, value: f64) -> f64 {
        AREA.x(part(value, self.x))
    }

    /// Returns the vertical coordinate of a value, clamped to the area.
    fn at_y(&self, value: f64) -> f64 {
        AREA.y(part(value, self.y))
    }

    /// Starts a drawing with a horizontal grid and values along the vertical axis.
    fn open(&self, title: &str, place: Place, show: fn(f64) -> String) -> String {
        let mut out = AREA.open(title, place);
        for tick in svg::ticks(self.y.0, self.y.1, 6) {
            AREA.grid(&mut out, self.at_y(tick), &show(tick));
        }
        out
    }

    /// Draws values below the horizontal axis.
    fn x_ticks(&self, out: &mut String, show: fn(f64) -> String) {
        for tick in svg::ticks(self.x.0, self.x.1, 7) {
            AREA.below(out, self.at_x(tick), &show(tick));
        }
    }
}

/// Maps a value to its position in a range, from 0 to 1.
fn part(value: f64, (low, high): (f64, f64)) -> f64 {
    if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
}

/// Draws the titles of the axes, below and at the top left.
fn axis_names(out: &mut String, x_name: &str, y_name: &str) {
    svg::label(out, (AREA.x(0.5), AREA.bottom + 38.0), "middle", x_name);
    svg::label(out, (16.0, AREA.top - 6.0), "", y_name);
    out.push('\n');
}

/// Draws a picture without data, which says that no pair can be drawn.
fn no_data(title: &str, place: Place) -> String {
    let mut out = AREA.open(title, place);
    let middle = (AREA.width / 2.0, AREA.height / 2.0);
    svg::label(&mut out, middle, "middle", "no pair can be drawn");
    out + "\n</svg>\n"
}

/// Formats a share as a percentage with few digits.
fn percent(share: f64) -> String {
    let text = svg::tick_text((share * 1e4).round() / 100.0);
    format!("{} %", text.replace('-', "−"))
}

/// Returns a quantile of sorted values, with linear interpolation.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::tests::parse;

    #[test]
    fn every_picture_parses_in_both_places() {
        let dots: Vec<Dot> = (1..50u32)
            .map(|k| Dot {
                exact: f64::from(k),
                predicted: f64::from(k) * 1.1,
                tip: "a < \"b\" & c".into(),
                plan: Some(k as usize),
            })
            .collect();
        let errors: Vec<f64> = (0..50).map(|k| (f64::from(k) - 20.0) / 60.0).collect();
        let sizes: Vec<usize> = (0..50).map(|k| k % 9 + 2).collect();
        let exact: Vec<f64> = (1..50).map(f64::from).collect();
        let bounds: Vec<(f64, f64)> = exact.iter().map(|d| (d * 0.9, d * 1.3)).collect();
        for place in [Place::File, Place::Page] {
            for svg in [
                scatter_svg("t", &dots, "km", place),
                histogram_svg("t", &errors, place),
                support_svg("t", &sizes, &errors, place),
                intervals_svg("t", &bounds, &exact, place),
            ] {
                assert!(parse(&svg) > 15);
                assert!(!svg.contains("NaN") && !svg.contains("inf"));
                assert_eq!(svg.contains("<style>"), place == Place::File);
            }
        }
    }

    #[test]
    fn odd_inputs_are_drawn() {
        let dot = |exact, predicted| Dot { exact, predicted, tip: String::new(), plan: None };
        for svg in [
            scatter_svg("t", &[], "", Place::Page),
            scatter_svg("t", &[dot(0.0, 0.0)], "", Place::Page),
            scatter_svg("t", &[dot(1.0, f64::INFINITY), dot(1e300, 1.0)], "", Place::Page),
            histogram_svg("t", &[], Place::Page),
            histogram_svg("t", &[0.0; 9], Place::Page),
            histogram_svg("t", &[f64::NAN, 1e300], Place::Page),
            support_svg("t", &[], &[], Place::Page),
            support_svg("t", &[3, 3], &[0.0, f64::NAN], Place::Page),
            intervals_svg("t", &[], &[], Place::Page),
            intervals_svg("t", &[(0.0, 0.0), (1.0, 1.0)], &[0.0, 1.0], Place::Page),
        ] {
            parse(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.5), 2.0);
        assert_eq!(quantile(&[1.0, 2.0, 4.0], 0.75), 3.0);
        assert_eq!(quantile(&[7.0], 0.1), 7.0);
        assert_eq!([percent(0.12345), percent(-0.5)], ["12.35 %", "−50 %"]);
    }
}
