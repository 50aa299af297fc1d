//! Charts of training and validation loss by epoch.

use crate::line_chart::{Axes, line_svg};
use crate::svg::Place;

/// Draws the two losses as an SVG picture for light and dark pages; the first value is epoch 0, the
/// start.
///
/// Either list may be empty or shorter. Values that are not finite leave a gap. The axis is
/// logarithmic if the losses are positive and span more than a factor of 20.
///
/// # Example
/// ```
/// use treeport_report::{Place, loss_chart::loss_svg};
/// let picture = loss_svg("Loss", &[4.0, 2.0, 1.0], &[4.5, 2.5, 1.8], Place::File);
/// assert!(picture.starts_with("<svg"));
/// ```
pub fn loss_svg(title: &str, training: &[f64], validation: &[f64], place: Place) -> String {
    let by_epoch = |losses: &[f64]| -> Vec<(f64, f64)> {
        losses.iter().enumerate().map(|(epoch, &loss)| (epoch as f64, loss)).collect()
    };
    let (training, validation) = (by_epoch(training), by_epoch(validation));
    let axes = Axes { x: "epoch", y: "" };
    line_svg(title, axes, &[("training", &training), ("validation", &validation)], place)
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
            (&[1.0, f64::MAX], &[1e-300, 5e-324]),
            (&[0.0, f64::MAX], nothing),
        ] {
            let svg = loss_svg("odd", training, validation, Place::Page);
            parse(&svg);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{training:?} {validation:?}");
        }
    }
}
