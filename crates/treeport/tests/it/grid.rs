//! Regular grids: edges between neighbors have the distances of coordinates.

use treeport::PointMetric;
use treeport::metric::Grid;

#[test]
fn edges_have_the_distances_of_coordinates() {
    let shapes: [(&[usize], &[f64]); 5] = [
        (&[3, 4], &[1.0, 1.0]),
        (&[4, 2, 3], &[0.5, 2.0, 1.0]),
        (&[1, 5], &[1.0, 0.25]),
        (&[2, 2], &[3.0, 1.0]),
        (&[6], &[2.0]),
    ];
    for (shape, spacing) in shapes {
        let grid = Grid::new(shape, spacing).unwrap();
        let extents: Vec<f64> =
            shape.iter().zip(spacing).map(|(&length, step)| length as f64 * step).collect();
        let some: Vec<Option<f64>> = extents
            .iter()
            .enumerate()
            .map(|(axis, extent)| (axis % 2 == 0).then_some(extent * 0.9))
            .collect();
        let periods = [
            PointMetric::Manhattan.into(),
            PointMetric::Manhattan.with_period(&some),
            PointMetric::Manhattan
                .with_period(&extents.iter().map(|e| Some(*e)).collect::<Vec<_>>()),
            PointMetric::Manhattan.with_period(&vec![Some(0.3); shape.len()]),
        ];
        for geometry in periods {
            let edges = grid.ground(geometry.clone(), true).unwrap();
            let points = grid.ground(geometry, false).unwrap();
            assert_eq!(points.points(), grid.points());
            for i in 0..grid.points() {
                for j in 0..grid.points() {
                    let (one, other) = (edges.distance(i, j), points.distance(i, j));
                    assert!((one - other).abs() < 1e-12, "{shape:?} {i} {j}: {one} {other}");
                }
            }
        }
    }
}

#[test]
fn bad_grids_are_refused() {
    let said =
        |shape: &[usize], spacing: &[f64]| Grid::new(shape, spacing).unwrap_err().to_string();
    assert_eq!(
        said(&[2, 3], &[1.0]),
        "the spacing of a grid has shape (1,), expected (2,), one for each axis of an image or a volume"
    );
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert!(said(&[2, 3], &[1.0, bad]).starts_with("grid is "));
    }
    assert!(said(&[0, 3], &[1.0, 1.0]).contains("no points"));
    assert!(said(&[usize::MAX, 3], &[1.0, 1.0]).contains("too many"));
}
