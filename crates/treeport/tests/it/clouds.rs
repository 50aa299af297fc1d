//! Clouds are what a plain list of lists says, whatever is done with them.

use proptest::collection::vec;
use proptest::prelude::*;
use treeport::{Clouds, Error, GroundMetric, Measures, PointMetric, Problem, Problems, silent};

/// One cloud as a plain list: mass and coordinates of each point.
type Plain = Vec<(f64, Vec<f64>)>;

/// Lists of clouds of up to five points, some of them without mass.
fn lists(dim: usize, clouds: std::ops::Range<usize>) -> impl Strategy<Value = Vec<Plain>> {
    let mass = prop_oneof![1 => Just(0.0), 3 => 0.01..9.0f64];
    vec(vec((mass, vec(-5.0..5.0f64, dim)), 0..6), clouds)
}

fn stacked(dim: usize, list: &[Plain]) -> Clouds {
    let mut start = vec![0];
    for cloud in list {
        start.push(start.last().unwrap() + cloud.len());
    }
    let points = || list.iter().flatten();
    let coordinates = points().flat_map(|(_, point)| point.clone()).collect();
    let masses: Vec<f64> = points().map(|(mass, _)| *mass).collect();
    Clouds::or_empty(dim, coordinates, &start, &masses).unwrap()
}

fn plain(clouds: &Clouds) -> Vec<Plain> {
    let one = |cloud| {
        let mut masses = Vec::new();
        clouds.masses_of(cloud, &mut masses);
        let points = clouds.coordinates_of(cloud).chunks(clouds.dim()).map(<[f64]>::to_vec);
        masses.into_iter().zip(points).collect()
    };
    (0..clouds.len()).map(one).collect()
}

fn names(list: &[Plain], letter: &str) -> Vec<String> {
    (0..list.len()).map(|at| format!("{letter}{at}")).collect()
}

proptest! {
    #[test]
    fn they_are_a_list_of_lists(
        (dim, left, right) in (1..4usize).prop_flat_map(|dim| (Just(dim), lists(dim, 0..6), lists(dim, 0..6))),
        chosen in vec(0..6usize, 0..8),
    ) {
        let (a, b) = (stacked(dim, &left), stacked(dim, &right));
        prop_assert_eq!(plain(&a), left.clone());
        prop_assert_eq!((a.len(), a.is_empty(), a.dim()), (left.len(), left.is_empty(), dim));
        prop_assert_eq!(a.points(), left.iter().map(Vec::len).sum::<usize>());
        for (at, cloud) in left.iter().enumerate() {
            prop_assert_eq!(a.range(at).len(), cloud.len());
            let total = cloud.iter().fold(0.0, |total, (mass, _)| total + mass);
            prop_assert_eq!(a.measures().row(at).total().to_bits(), total.to_bits());
        }
        let both = a.followed_by(&b).unwrap();
        prop_assert_eq!(plain(&both), [left.clone(), right.clone()].concat());
        prop_assert_eq!(both.names(), None);
        let named = |clouds: Clouds, list: &[Plain], letter| clouds.with_names(names(list, letter)).unwrap();
        let both = named(a.clone(), &left, "a").followed_by(&named(b, &right, "b")).unwrap();
        prop_assert_eq!(both.names().unwrap(), [names(&left, "a"), names(&right, "b")].concat());
        let a = named(a, &left, "a");
        let some = a.select(&chosen);
        if let Some(&wrong) = chosen.iter().find(|&&at| at >= left.len()) {
            let refused = matches!(some, Err(Error::NoSuchMeasure { measure, .. }) if measure == wrong);
            prop_assert!(refused);
        } else {
            let some = some.unwrap();
            prop_assert_eq!(plain(&some), chosen.iter().map(|&at| left[at].clone()).collect::<Vec<_>>());
            let called: Vec<_> = chosen.iter().map(|at| format!("a{at}")).collect();
            prop_assert_eq!(some.names().unwrap(), &called[..]);
        }
        let normalized = a.clone().normalized();
        for (cloud, before) in plain(&normalized).into_iter().zip(&left) {
            let total = before.iter().fold(0.0, |total, (mass, _)| total + mass);
            for ((mass, point), (old, place)) in cloud.iter().zip(before) {
                prop_assert_eq!((*mass, point), (if total > 0.0 { old / total } else { 0.0 }, place));
            }
        }
        let massless = left.iter().position(|cloud| cloud.iter().all(|(mass, _)| *mass == 0.0));
        match (a.with_mass(), massless) {
            (Ok(_), None) => {}
            (Err(error), Some(at)) => prop_assert_eq!(
                error.to_string(),
                format!("cloud a{at}: it has no mass; drop it or give it a positive entry")
            ),
            other => prop_assert!(false, "{other:?}"),
        }
    }

    #[test]
    fn errors_name_the_cloud_and_the_point_in_it(
        list in lists(2, 1..6),
        at in any::<prop::sample::Index>(),
        named in any::<bool>(),
    ) {
        let places: Vec<(usize, usize)> =
            list.iter().enumerate().flat_map(|(k, cloud)| (0..cloud.len()).map(move |p| (k, p))).collect();
        prop_assume!(!places.is_empty());
        let (cloud, point) = places[at.index(places.len())];
        let good = stacked(2, &list);
        let called = named.then(|| names(&list, "P"));
        let label = if named { format!("P{cloud}") } else { cloud.to_string() };
        let make = |coordinates: Vec<f64>, masses: &[f64]| {
            Clouds::named(2, coordinates, good.starts(), masses, called.clone()).unwrap_err().to_string()
        };
        let mut masses = Vec::new();
        (0..good.len()).for_each(|cloud| good.masses_of(cloud, &mut masses));
        let place = good.range(cloud).start + point;
        let mut wrong = good.coordinates().to_vec();
        wrong[2 * place + 1] = f64::INFINITY;
        let said = make(wrong, &masses);
        prop_assert_eq!(said, format!("cloud {label}: coordinate 1 of point {point} is inf; coordinates must be finite"));
        masses[place] = -1.0;
        let said = make(good.coordinates().to_vec(), &masses);
        prop_assert_eq!(said, format!("cloud {label}: point {point} has mass -1; masses must be finite and at least 0"));
    }

    #[test]
    fn distances_are_those_of_two_clouds_alone(list in lists(2, 2..5)) {
        let list: Vec<Plain> = list.into_iter().filter(|cloud| cloud.iter().any(|(mass, _)| *mass > 0.0)).collect();
        prop_assume!(list.len() > 1);
        let clouds = stacked(2, &list).normalized();
        let metric = clouds.ground(PointMetric::Manhattan).unwrap();
        let pairs: Vec<_> = (0..list.len()).flat_map(|i| (0..i).map(move |j| (i, j))).collect();
        let values = Problems::new(&metric, clouds.measures(), &pairs).values(&silent).unwrap();
        for (&(i, j), value) in pairs.iter().zip(values) {
            let two = clouds.select(&[i, j]).unwrap();
            let points = GroundMetric::from_points(2, two.coordinates().to_vec(), PointMetric::Manhattan).unwrap();
            let [a, b] = [0, 1].map(|row| two.measures().row(row));
            let one = Problem::new(&points, &a, &b).value(&silent).unwrap();
            prop_assert!((value - one).abs() <= 1e-12 * one, "{value} {one}");
        }
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let new = |dim, points: usize, start: &[usize], masses: usize| {
        Clouds::or_empty(dim, vec![0.0; points], start, &vec![1.0; masses]).unwrap_err().to_string()
    };
    for said in [
        new(0, 0, &[0], 0),
        new(2, 3, &[0, 1], 1),
        new(1, 2, &[0, 1], 2),
        new(1, 2, &[1, 2], 2),
        new(1, 2, &[0, 2, 1, 2], 2),
        new(1, 2, &[0, 2], 1),
        new(1, 2, &[], 2),
        new(usize::MAX, 2, &[0, 2], 2),
    ] {
        assert!(said.starts_with("the table of clouds has shape "), "{said}");
    }
    let two = Clouds::uniform(1, vec![0.0, 1.0], &[0, 1, 2]).unwrap();
    let said = two.clone().with_names(vec!["a".into()]).unwrap_err().to_string();
    assert_eq!(said, "the list of names of clouds has shape (1,), expected (2,)");
    let plane = Clouds::uniform(2, vec![0.0, 1.0], &[0, 1]).unwrap();
    let said = two.followed_by(&plane).unwrap_err().to_string();
    assert_eq!(said, "the table of the other clouds has shape rows of 2, expected rows of 1");
    assert!(
        Clouds::uniform(1, vec![0.0], &[0, 0, 1])
            .unwrap_err()
            .to_string()
            .starts_with("cloud 0: it has no mass")
    );
    assert!(Clouds::uniform(1, vec![0.0], &[0, usize::MAX]).is_err());
}

#[test]
fn totals_and_metrics_go_by_names() {
    let names = Some(vec!["gut".into(), "skin".into(), "soil".into()]);
    let clouds = Clouds::named(
        2,
        vec![0.0, 0.0, 1.0, 0.0, 0.0, 95.0],
        &[0, 1, 2, 3],
        &[1.0, 3.0, 2.0],
        names,
    )
    .unwrap();
    let rest = "; transport needs equal masses, so divide each by its total first";
    let said = |checked: treeport::Result<()>| checked.unwrap_err().to_string();
    assert_eq!(
        said(clouds.check_balanced(None)),
        format!("clouds gut and skin have total mass 1 and 3{rest}")
    );
    assert_eq!(
        said(clouds.check_pairs(&[(2, 0)])),
        format!("clouds soil and gut have total mass 2 and 1{rest}")
    );
    assert!(said(clouds.check_pairs(&[(2, 3)])).starts_with("there is no measure 3"));
    let other = Clouds::uniform(1, vec![0.0], &[0, 1]).unwrap();
    assert_eq!(
        said(clouds.select(&[1]).unwrap().check_balanced(Some(&other))),
        format!("clouds 0 and skin have total mass 1 and 3{rest}")
    );
    assert!(clouds.clone().normalized().check_balanced(None).is_ok());
    let empty = Clouds::or_empty(1, vec![], &[0, 0], &[]).unwrap();
    assert!(said(empty.check_balanced(None)).starts_with("cloud 0: it has no mass"));
    let metric = |metric| clouds.ground(metric).unwrap_err().to_string();
    assert!(metric(PointMetric::Cosine).starts_with("cloud gut: point 0 has length 0"));
    let ground = clouds.ground(PointMetric::Haversine);
    assert!(ground.is_ok());
    let far =
        Clouds::named(2, vec![0.0, 0.0, 95.0, 0.0], &[0, 2], &[1.0, 1.0], Some(vec!["far".into()]))
            .unwrap();
    let said = far.ground(PointMetric::Haversine).unwrap_err().to_string();
    assert!(said.starts_with("cloud far: point 1 has latitude 95"), "{said}");
    assert_eq!(clouds.display_name(1), "skin");
    assert_eq!(Measures::len(clouds.measures()), 3);
}
