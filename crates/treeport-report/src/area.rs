//! The area of a picture in which data are drawn.

use std::fmt::Write;

use crate::svg::{self, Place, num};

/// Size of a picture, and bounds of its plot area.
pub(crate) struct PlotArea {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) left: f64,
    pub(crate) right: f64,
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl PlotArea {
    /// Starts a picture.
    pub(crate) fn open(&self, title: &str, place: Place) -> String {
        svg::open(self.width, self.height, title, place)
    }

    /// Maps 0 (left edge) to 1 (right edge) to a horizontal coordinate.
    pub(crate) fn x(&self, part: f64) -> f64 {
        self.left + part * (self.right - self.left)
    }

    /// Maps 0 (lower edge) to 1 (upper edge) to a vertical coordinate.
    pub(crate) fn y(&self, part: f64) -> f64 {
        self.bottom - part * (self.bottom - self.top)
    }

    /// Draws a grid line with its value at the left.
    pub(crate) fn grid(&self, out: &mut String, y: f64, text: &str) {
        let (Self { left, right, .. }, line) = (self, num(y));
        let _ = write!(out, "<path class=\"tp-grid\" d=\"M{left} {line}H{right}\"/>");
        svg::label(out, (left - 8.0, y + 4.0), "end", text);
        out.push('\n');
    }

    /// Draws a text centered below the horizontal axis.
    pub(crate) fn below(&self, out: &mut String, x: f64, text: &str) {
        svg::label(out, (x, self.bottom + 17.0), "middle", text);
        out.push('\n');
    }
}
