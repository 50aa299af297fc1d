//! Persistence diagrams and clouds with penalties: judged by all ways to match few points with each other or with
//! the diagonal.

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::search::{Index, IndexOptions};
use treeport::{Accuracy, Clouds, Error, PointMetric, Problems, silent};

const METRICS: [PointMetric; 3] =
    [PointMetric::Euclidean, PointMetric::Chebyshev, PointMetric::Manhattan];

type Diagram = Vec<(f64, f64)>;

fn clouds(diagrams: &[Diagram], metric: PointMetric) -> treeport::Result<Clouds> {
    let mut start = vec![0];
    for one in diagrams {
        start.push(start[start.len() - 1] + one.len());
    }
    let points = diagrams.iter().flatten().flat_map(|&(birth, death)| [birth, death]).collect();
    Clouds::diagrams(points, &start, None, metric)
}

/// The distance of two points, and of one and its nearest place on the diagonal.
fn way((x, y): (f64, f64), to: Option<(f64, f64)>, metric: PointMetric) -> f64 {
    let (u, v) = to.unwrap_or_else(|| (x.midpoint(y), x.midpoint(y)));
    match metric {
        PointMetric::Euclidean => (x - u).hypot(y - v),
        PointMetric::Chebyshev => (x - u).abs().max((y - v).abs()),
        _ => (x - u).abs() + (y - v).abs(),
    }
}

/// The best of all matchings, by recursion over the points of the first diagram.
fn cheapest(a: &[(f64, f64)], b: &[(f64, f64)], used: u32, metric: PointMetric) -> f64 {
    let Some((&first, rest)) = a.split_first() else {
        let left = (0..b.len()).filter(|j| used >> j & 1 == 0);
        return left.map(|j| way(b[j], None, metric)).fold(0.0, |sum, way| sum + way);
    };
    let alone = way(first, None, metric) + cheapest(rest, b, used, metric);
    let free = (0..b.len()).filter(|j| used >> j & 1 == 0);
    let matched =
        free.map(|j| way(first, Some(b[j]), metric) + cheapest(rest, b, used | 1 << j, metric));
    matched.fold(alone, f64::min)
}

fn diagram() -> impl Strategy<Value = Diagram> {
    let life = prop_oneof![3 => 0.0..0.3, 1 => 0.0..2.0, 1 => Just(0.0)];
    vec((0.0..1.0, life).prop_map(|(birth, life)| (birth, birth + life)), 0..5)
}

proptest! {
    #[test]
    fn diagrams_are_matched_as_the_best_of_all_ways(one in diagram(), other in diagram(), which in 0..3usize) {
        let metric = METRICS[which];
        let both = [one, other, vec![(0.0, 1.0)]];
        let diagrams = clouds(&both, metric).unwrap();
        let (ground, penalties) = (diagrams.ground(metric).unwrap(), diagrams.penalties(metric).unwrap().unwrap());
        let problems = Problems::new(&ground, diagrams.measures(), &[(0, 1), (1, 0), (0, 0)]);
        let values = problems.with_penalties(penalties).values(&silent).unwrap();
        let judge = cheapest(&both[0], &both[1], 0, metric);
        prop_assert!((values[0] - judge).abs() <= 1e-12 * (1.0 + judge), "{} {judge}", values[0]);
        prop_assert_eq!(values[0], values[1]);
        prop_assert_eq!(values[2], 0.0);
    }
}

#[test]
fn penalties_go_with_their_clouds() {
    let metric = PointMetric::Manhattan;
    let all = clouds(&[vec![(0.0, 1.0)], vec![], vec![(0.0, 2.0), (1.0, 4.0)]], metric).unwrap();
    assert_eq!(all.penalties(metric).unwrap(), Some(&[1.0, 2.0, 3.0][..]));
    let some = all.select(&[2, 1]).unwrap();
    assert_eq!(some.penalties(metric).unwrap(), Some(&[2.0, 3.0][..]));
    let both = some.followed_by(&all).unwrap();
    assert_eq!(both.penalties(metric).unwrap(), Some(&[2.0, 3.0, 1.0, 2.0, 3.0][..]));
    assert_eq!(both.own_penalties().unwrap().1, Some(metric));
    assert!(matches!(all.penalties(PointMetric::Euclidean), Err(Error::OtherPenalties { .. })));
    let around = metric.with_period(&[None, Some(9.0)]);
    assert!(matches!(all.penalties(around), Err(Error::OtherPenalties { .. })));
    let plain = Clouds::uniform(2, vec![0.0, 1.0], &[0, 1]).unwrap();
    assert_eq!(plain.penalties(metric).unwrap(), None);
    assert!(matches!(plain.followed_by(&all), Err(Error::MixedPenalties)));
    let priced = plain.clone().with_penalties(&[1.0]).unwrap();
    assert_eq!(priced.penalties(PointMetric::Cosine).unwrap(), Some(&[1.0][..]));
    assert!(matches!(priced.followed_by(&all), Err(Error::MixedPenalties)));
    assert!(matches!(plain.clone().with_penalties(&[]), Err(Error::Shape { .. })));
    let negative = plain.with_penalties(&[-1.0]).unwrap_err().to_string();
    assert_eq!(
        negative,
        "cloud 0: the penalty of point 0 is -1; penalties must be finite and at least 0"
    );
}

#[test]
fn searches_take_the_penalties_of_clouds_or_one_for_all() {
    let metric = PointMetric::Manhattan;
    let shapes = clouds(&[vec![(0.0, 1.0)], vec![(0.0, 2.0)], vec![]], metric).unwrap();
    let ground = shapes.ground(metric).unwrap();
    let index = |penalty| {
        let options = IndexOptions { penalty, ..IndexOptions::default() };
        Index::of_clouds(&shapes, &ground, &options, &silent)
    };
    let refused = index(Some(1.0)).map(drop);
    assert!(matches!(refused, Err(Error::MixedPenalties)), "{refused:?}");
    let found = index(None).unwrap().nearest(&shapes, 3, Accuracy::EXACT, &silent).unwrap();
    assert_eq!(found[2].found, [(2, 0.0), (0, 1.0), (1, 2.0)]);
}

#[test]
fn bad_diagrams_are_named() {
    let said = |bad: (f64, f64)| {
        let diagrams = [vec![], vec![(0.0, 1.0), (0.5, 0.5), bad]];
        clouds(&diagrams, PointMetric::Euclidean).unwrap_err().to_string()
    };
    assert!(said((f64::INFINITY, f64::INFINITY)).starts_with("cloud 1: coordinate 0 of point 2"));
    assert!(said((0.5, f64::NEG_INFINITY)).starts_with("cloud 1: coordinate 1 of point 2 is -inf"));
    assert!(
        said((0.5, 0.25)).starts_with("cloud 1: point 2 dies at 0.25, before it is born at 0.5")
    );
    assert!(said((f64::NAN, 0.25)).starts_with("cloud 1: coordinate 0 of point 2 is NaN"));
    assert!(said((0.25, f64::NAN)).starts_with("cloud 1: coordinate 1 of point 2 is NaN"));
    let odd = Clouds::diagrams(vec![0.0; 3], &[0, 1], None, PointMetric::Euclidean);
    assert!(matches!(odd, Err(Error::Shape { .. })), "{odd:?}");
    let short = Clouds::diagrams(vec![f64::INFINITY; 2], &[0, 3], None, PointMetric::Euclidean);
    assert!(matches!(short, Err(Error::Shape { .. })), "{short:?}");
    let other = Clouds::diagrams(vec![0.0; 2], &[0, 1], None, PointMetric::Cosine);
    assert!(matches!(other, Err(Error::UnknownName { .. })), "{other:?}");
}

#[test]
fn points_that_never_die_are_matched_by_their_births() {
    let never = |birth: f64| (birth, f64::INFINITY);
    let shapes = [
        vec![never(3.0), (0.0, 1.0), never(1.0)],
        vec![never(0.5), never(2.0), (0.0, 2.0)],
        vec![never(0.0)],
    ];
    let metric = PointMetric::Manhattan;
    let diagrams = clouds(&shapes, metric).unwrap();
    assert_eq!(diagrams.births().unwrap(), [vec![1.0, 3.0], vec![0.5, 2.0], vec![0.0]]);
    assert_eq!(diagrams.starts(), [0, 1, 2, 2]);
    let pairs = [(0, 1), (1, 0), (0, 2), (0, 0)];
    let (ground, penalties) =
        (diagrams.ground(metric).unwrap(), diagrams.penalties(metric).unwrap().unwrap());
    let births = |order: f64, rest: f64| match order {
        1.0 => 0.5 + 1.0 + rest,
        2.0 => (0.25 + 1.0 + rest * rest).sqrt(),
        _ => 1f64.max(rest),
    };
    for order in [1.0, 2.0, f64::INFINITY] {
        let problems = Problems::new(&ground, diagrams.measures(), &pairs);
        let mut values =
            problems.with_penalties(penalties).with_order(order).values(&silent).unwrap();
        diagrams.add_essential(&pairs, order, &mut values).unwrap();
        let judge = births(order, 1.0);
        assert!((values[0] - judge).abs() < 1e-9 && values[0] == values[1], "{order} {values:?}");
        assert_eq!(values[2..], [f64::INFINITY, 0.0]);
    }
    let some = diagrams.select(&[2, 0]).unwrap().followed_by(&diagrams).unwrap();
    assert_eq!(some.births().unwrap()[..3], [vec![0.0], vec![1.0, 3.0], vec![1.0, 3.0]]);
    let index = Index::of_clouds(&diagrams, &ground, &IndexOptions::default(), &silent).map(drop);
    assert!(matches!(index, Err(Error::EssentialClass { .. })), "{index:?}");
    assert!(diagrams.clone().with_births(vec![]).is_err());
    assert!(diagrams.with_births(vec![vec![], vec![f64::NAN], vec![]]).is_err());
}
