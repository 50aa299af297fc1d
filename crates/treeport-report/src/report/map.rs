//! Map coordinates of points, and the page's data for the map.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use treeport::GroundMetric;
use treeport::metric::MapCoordinates;

use super::Report;
use super::data::short;

/// Maximum number of points on a map; the ends of moves come first, then the heaviest points.
const MOST_POINTS: usize = 3_000;

/// Returns map coordinates of a metric's points, x to the right and y upwards: plane coordinates,
/// or latitudes and longitudes with degrees scaled to the mean latitude. `None` for other metrics.
pub fn places(metric: &GroundMetric) -> Option<Vec<[f64; 2]>> {
    let (dim, all) = metric.coordinates()?;
    let (pairs, _) = all.as_chunks::<2>();
    match metric.point_metric()?.map_coordinates() {
        MapCoordinates::Plane => (dim == 2).then(|| pairs.to_vec()),
        MapCoordinates::Degrees => Some(projected(pairs)),
        MapCoordinates::Nowhere => None,
    }
}

/// Projects latitudes and longitudes in degrees to a map.
pub fn projected(degrees: &[[f64; 2]]) -> Vec<[f64; 2]> {
    let middle = degrees.iter().map(|at| at[0]).sum::<f64>() / degrees.len().max(1) as f64;
    let width = middle.to_radians().cos();
    // Normalize longitudes, which may count to 360 or from -180.
    let east = |longitude: f64| if longitude > 180.0 { longitude - 360.0 } else { longitude };
    degrees.iter().map(|&[latitude, longitude]| [east(longitude) * width, latitude]).collect()
}

/// Encodes numbers, coordinates and weights of the points on the map, if there are plans.
pub(super) fn json(report: &Report<'_>, weights: &[f64], ends: &BTreeSet<usize>) -> Value {
    let Some(places) = report.places.as_ref().filter(|_| !ends.is_empty()) else {
        return Value::Null;
    };
    let weight = |point: usize| weights.get(point).copied().unwrap_or(0.0);
    let mut rest: Vec<usize> = (0..places.len()).filter(|point| !ends.contains(point)).collect();
    rest.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)).then(a.cmp(&b)));
    rest.truncate(MOST_POINTS.saturating_sub(ends.len()));
    let shown: BTreeSet<usize> = ends.iter().copied().chain(rest).collect();
    let column = |of: &dyn Fn(usize) -> f64| -> Vec<f64> {
        shown.iter().map(|&point| short(of(point))).collect()
    };
    json!({
        "points": shown,
        "x": column(&|point| places[point][0]),
        "y": column(&|point| places[point][1]),
        "weight": column(&weight),
        "all": places.len(),
    })
}

#[cfg(test)]
mod tests {
    use treeport::PointMetric;

    use super::*;

    #[test]
    fn degrees_are_as_wide_as_in_the_middle() {
        let metric =
            GroundMetric::from_points(2, vec![59.0, 10.0, 61.0, 350.0], PointMetric::Haversine);
        let at = places(&metric.unwrap()).unwrap();
        assert!((at[0][0] - 5.0).abs() < 1e-12 && (at[1][0] + 5.0).abs() < 1e-12);
        assert_eq!((at[0][1], at[1][1]), (59.0, 61.0));
    }

    #[test]
    fn only_the_plane_and_the_earth_have_maps() {
        let of = |dim, metric| {
            let points = GroundMetric::from_points(dim, vec![1.0; 2 * dim], metric).unwrap();
            places(&points).is_some()
        };
        assert!(of(2, PointMetric::Euclidean) && of(2, PointMetric::Manhattan));
        assert!(!of(3, PointMetric::Euclidean) && !of(2, PointMetric::Cosine));
        assert!(places(&GroundMetric::discrete(3).unwrap()).is_none());
    }
}
