//! Labeled data: what is drawn, what is refused, and how predictions are judged, by hand.

use crate::common;
use std::collections::HashSet;
use std::time::Duration;

use proptest::prelude::*;
use treeport::labeled::score::{factor, median, relative_errors};
use treeport::labeled::{pairs_within, sample_pairs, test_seed, total_variation};
use treeport::progress::State;
use treeport::progress::tasks::SOLVING;
use treeport::{Error, GroundMetric, Labeled, Measures, PointMetric, Problems, Score, silent};

/// Three single points and one measure on two of them, on a line.
fn line() -> (GroundMetric, Measures) {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean).unwrap();
    let rows = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.5, 0.5, 0.0];
    (metric, Measures::from_dense(3, &rows).unwrap())
}

/// Five labels between those measures.
fn five() -> Labeled {
    let pairs = vec![(0, 1), (0, 3), (1, 2), (2, 3), (0, 2)];
    Labeled::new(&line().1, pairs, vec![2.0, 6.0, 4.0, 3.0, 8.0]).unwrap()
}

/// What the random choice of pairs promises.
fn check_pairs(pairs: &[(usize, usize)], count: usize, measures: usize) {
    assert_eq!(pairs.len(), count.min(measures * (measures - 1) / 2));
    assert!(pairs.iter().all(|&(i, j)| i < j && j < measures), "{pairs:?}");
    assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), pairs.len(), "a pair came twice");
}

proptest! {
    #[test]
    fn pairs_are_different_ordered_and_named_by_the_seed(
        count in 0..300usize, measures in 2..30usize, seed in any::<u64>(),
    ) {
        let pairs = sample_pairs(count, measures, seed).unwrap();
        check_pairs(&pairs, count, measures);
        prop_assert_eq!(&sample_pairs(count, measures, seed).unwrap(), &pairs);
    }

    #[test]
    fn total_variation_is_half_the_difference_of_dense_rows(measures in common::measures(9, 2)) {
        let (a, b) = (measures.row(0), measures.row(1));
        let mut difference = [0.0; 9];
        a.iter().for_each(|(p, mass)| difference[p] += mass);
        b.iter().for_each(|(p, mass)| difference[p] -= mass);
        let judge = difference.iter().map(|d: &f64| d.abs()).sum::<f64>() / 2.0;
        let found = total_variation(&a, &b);
        prop_assert!((found - judge).abs() < 1e-15);
        prop_assert_eq!(total_variation(&b, &a), found);
        prop_assert_eq!(total_variation(&a, &a), 0.0);
    }

    #[test]
    fn where_all_points_are_equally_far_total_variation_is_exact(
        measures in common::measures(6, 8), distance in 0.1..10.0,
    ) {
        let metric = GroundMetric::from_condensed(6, vec![distance; 15]).unwrap().assume_metric().unwrap();
        let data = Labeled::sample(&metric, &measures, 20, 0, &silent).unwrap();
        prop_assume!(data.distances().iter().all(|d| *d > 1e-6));
        let [mean, variation] = data.null_baselines();
        prop_assert!((variation.constant - distance).abs() <= 1e-9 * distance);
        prop_assert!(variation.score.max <= 1e-9, "{:?}", variation.score);
        prop_assert_eq!(mean.score.pairs, data.len());
    }

    #[test]
    fn splits_keep_every_label_once_and_in_order(
        count in 1..40usize, share in 0.0..1.0, seed in any::<u64>(),
    ) {
        let data = Labeled::sample(&common::cloud(10, 2), &units(10), count, 3, &silent).unwrap();
        let (first, second) = data.split(share, seed);
        let held_back = ((count as f64 * share).round() as usize).min(count - 1);
        prop_assert_eq!((first.len(), second.len()), (count - held_back, held_back));
        prop_assert!(!first.is_empty());
        prop_assert_eq!((&first, &second), (&data.split(share, seed).0, &data.split(share, seed).1));
        let labels = |data: &Labeled| -> Vec<_> {
            data.pairs().iter().copied().zip(data.distances().iter().copied()).collect()
        };
        let (all, mut one, mut other) = (labels(&data), labels(&first), labels(&second));
        one.reverse();
        other.reverse();
        // Taken from either part as they come, the labels are those of the whole.
        for label in &all {
            let part = if one.last() == Some(label) { &mut one } else { &mut other };
            prop_assert_eq!(part.pop(), Some(*label));
        }
        prop_assert!(one.is_empty() && other.is_empty());
        prop_assert!(first.measures().same(data.measures()) && second.measures().same(data.measures()));
        let (before, after) = data.split_at(held_back);
        prop_assert_eq!(labels(&before), &all[..held_back]);
        prop_assert_eq!(labels(&after), &all[held_back..]);
    }
}

/// The unit mass at every point.
fn units(n: usize) -> Measures {
    Measures::unit_masses(n, 0..n).unwrap()
}

#[test]
fn all_pairs_are_drawn_where_there_are_no_more() {
    let all: HashSet<_> = common::pairs(7).collect();
    for count in [21, 22, usize::MAX] {
        let drawn = sample_pairs(count, 7, 5).unwrap();
        assert_eq!(drawn.into_iter().collect::<HashSet<_>>(), all);
    }
    assert_ne!(sample_pairs(21, 7, 5).unwrap(), sample_pairs(21, 7, 6).unwrap());
    for measures in [0, 1] {
        let message = sample_pairs(3, measures, 0).unwrap_err().to_string();
        let expected = format!("the number of measures is {measures}; a pair needs two of them");
        assert_eq!(message, expected);
    }
}

#[test]
fn every_pair_is_drawn_as_often_as_any_other() {
    let mut drawn = [0u32; 10];
    for seed in 0..2_000 {
        for (i, j) in sample_pairs(3, 5, seed).unwrap() {
            drawn[j * (j - 1) / 2 + i] += 1;
        }
    }
    // 600 each in the mean, with a standard deviation of 20.5.
    assert!(drawn.iter().all(|&count| (500..700).contains(&count)), "{drawn:?}");
}

#[test]
fn test_pairs_are_drawn_from_another_seed() {
    for seed in [0, 1, 77, u64::MAX] {
        assert_ne!(test_seed(seed), seed);
        assert_eq!(test_seed(test_seed(seed)), seed);
        let (train, test) =
            (sample_pairs(50, 400, seed).unwrap(), sample_pairs(50, 400, test_seed(seed)).unwrap());
        let train: HashSet<_> = train.into_iter().collect();
        // 50 of 79,800 pairs: one in common is rare, two are not seen.
        assert!(test.iter().filter(|pair| train.contains(pair)).count() < 2);
    }
}

#[test]
fn a_sample_is_its_pairs_solved() {
    let metric = common::cloud(20, 2);
    let lessons = common::lessons(&metric, 1);
    let measures = lessons.measures();
    let data = Labeled::sample(&metric, measures, 30, 9, &silent).unwrap();
    assert_eq!(data.pairs(), sample_pairs(30, 24, 9).unwrap());
    let solved = Problems::new(&metric, measures, data.pairs()).values(&silent).unwrap();
    assert_eq!(data.distances(), solved);
    assert_eq!(Labeled::solve(&metric, measures, data.pairs().to_vec(), &silent).unwrap(), data);
    let again = Labeled::new(measures, data.pairs().to_vec(), data.distances().to_vec()).unwrap();
    assert_eq!(again, data);
    let one = common::on_threads(1, || Labeled::sample(&metric, measures, 30, 9, &silent));
    assert_eq!(one.unwrap(), data);
    let most = std::sync::atomic::AtomicUsize::new(0);
    let watch = |state: &State<'_>| {
        assert_eq!((state.task, state.total), (SOLVING, Some(30)));
        most.fetch_max(state.done, std::sync::atomic::Ordering::Relaxed);
        true
    };
    Labeled::sample(&metric, measures, 30, 9, &watch).unwrap();
    assert_eq!(most.into_inner(), 30);
    let stopped = Labeled::sample(&metric, measures, 30, 9, &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}

#[test]
fn labels_of_points_are_the_distances_of_the_metric() {
    let metric = common::cloud(12, 3);
    let all = Labeled::of_points(&metric, usize::MAX, 0).unwrap();
    assert_eq!((all.len(), all.measures()), (66, &units(12)));
    let some = Labeled::of_points(&metric, 20, 3).unwrap();
    assert_eq!(some.len(), 20);
    assert_eq!(some, Labeled::of_points(&metric, 20, 3).unwrap());
    assert_ne!(some, Labeled::of_points(&metric, 20, 4).unwrap());
    for data in [&all, &some] {
        let pairs: HashSet<_> = data.pairs().iter().map(|&(i, j)| (i.min(j), i.max(j))).collect();
        assert_eq!(pairs.len(), data.len());
        let solved = Problems::new(&metric, data.measures(), data.pairs()).values(&silent).unwrap();
        for ((&(i, j), &distance), exact) in data.pairs().iter().zip(data.distances()).zip(solved) {
            assert!(i != j && i < 12 && j < 12);
            assert!((distance - metric.distance(i, j)).abs() <= 1e-12 * distance);
            assert!((distance - exact).abs() <= 1e-12 * distance);
        }
    }
    let one = GroundMetric::from_condensed(1, vec![]).unwrap();
    assert!(matches!(Labeled::of_points(&one, 5, 0), Err(Error::NothingToLearn { .. })));
}

#[test]
fn copies_share_their_measures() {
    let (metric, measures) = line();
    let data = Labeled::sample(&metric, &measures, 3, 0, &silent).unwrap();
    assert!(data.measures().same(&measures));
    assert!(data.clone().measures().same(&measures) && measures.clone().same(&measures));
    // Equal is not the same.
    assert_eq!(line().1, measures);
    assert!(!line().1.same(&measures) && !measures.clone().normalized().same(&measures));
}

#[test]
fn two_sets_of_labels_are_joined() {
    let (metric, measures) = line();
    let data = five();
    let points = Labeled::of_points(&metric, 3, 0).unwrap();
    let both = data.and(&points).unwrap();
    assert_eq!(both.measures(), &measures.followed_by(points.measures()).unwrap());
    assert_eq!(both.len(), 8);
    let (first, second) = both.split_at(5);
    assert_eq!((first.pairs(), first.distances()), (data.pairs(), data.distances()));
    assert_eq!(second.distances(), points.distances());
    for (&(i, j), &(k, l)) in second.pairs().iter().zip(points.pairs()) {
        assert_eq!((i, j), (k + 4, l + 4));
        assert_eq!(both.measures().row(i), points.measures().row(k));
    }
    // What is joined is as good as what is checked.
    let pairs = both.pairs().to_vec();
    let checked = Labeled::new(both.measures(), pairs, both.distances().to_vec()).unwrap();
    assert_eq!(checked, both);
    let elsewhere = Labeled::of_points(&common::cloud(5, 2), 3, 0).unwrap();
    assert!(matches!(data.and(&elsewhere), Err(Error::PointCount { .. })));
}

#[test]
fn what_is_no_label_is_refused() {
    let (metric, measures) = line();
    let new = |measures: &Measures, pairs: &[(usize, usize)], distances: &[f64]| {
        Labeled::new(measures, pairs.to_vec(), distances.to_vec()).unwrap_err().to_string()
    };
    assert_eq!(
        new(&measures, &[(0, 1), (1, 2)], &[1.0]),
        "the list of exact distances has shape (1,), expected (2,)"
    );
    assert_eq!(
        new(&measures, &[], &[]),
        "there are no exact distances: there is nothing to learn from"
    );
    assert_eq!(
        new(&measures, &[(0, 1), (0, 99)], &[1.0, 1.0]),
        "there is no measure 99: the set holds 4, numbered from 0"
    );
    for bad in [f64::NAN, f64::INFINITY, -1.0] {
        let expected = format!(
            "pair 1 (measures 2 and 3) has distance {bad}; distances must be finite and at least 0"
        );
        assert_eq!(new(&measures, &[(0, 1), (2, 3)], &[1.0, bad]), expected);
    }
    let heavy = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 2.0, 0.0]).unwrap();
    let message = new(&heavy, &[(0, 1)], &[1.0]);
    assert!(message.starts_with("measures 0 and 1 have total mass 1 and 2"), "{message}");

    let solve = |measures: &Measures, pairs: &[(usize, usize)]| {
        Labeled::solve(&metric, measures, pairs.to_vec(), &silent).unwrap_err()
    };
    assert!(matches!(solve(&measures, &[]), Error::NothingToLearn { .. }));
    assert!(matches!(solve(&measures, &[(0, 7)]), Error::NoSuchMeasure { measure: 7, .. }));
    assert!(matches!(solve(&heavy, &[(0, 1)]), Error::Unbalanced { .. }));
    assert!(matches!(solve(&units(5), &[(0, 1)]), Error::PointCount { measures: 5, points: 3 }));
    let alone = Labeled::sample(&metric, &Measures::unit_masses(3, [1]).unwrap(), 5, 0, &silent);
    assert!(matches!(alone, Err(Error::BadOption { .. })));
    let none = Labeled::sample(&metric, &measures, 0, 0, &silent);
    assert!(matches!(none, Err(Error::NothingToLearn { .. })));
}

#[test]
fn an_empty_part_is_harmless() {
    let empty = five().split(0.0, 0).1;
    assert!(empty.is_empty() && empty.is_all_zero());
    assert_eq!((empty.len(), empty.factor(&[])), (0, 1.0));
    assert_eq!(empty.split(0.5, 0), (empty.clone(), empty.clone()));
    assert!(empty.judge(&[]).plain.mean.is_nan() && empty.judge(&[]).scaled.mean.is_nan());
    assert!(empty.null_baselines()[1].score.mean.is_nan());
    assert_eq!(five().and(&empty).unwrap().distances(), five().distances());
}

#[test]
fn labels_that_are_all_0_are_known() {
    let data = five();
    assert!(!data.is_all_zero());
    assert!(common::relabeled(&data, |_, _| 0.0).is_all_zero());
    assert!(!common::relabeled(&data, |k, _| if k == 3 { 1e-300 } else { 0.0 }).is_all_zero());
}

/// Relative errors by hand.
fn score(predicted: &[f64], exact: &[f64]) -> Score {
    Score::new(predicted, exact)
}

#[test]
fn each_half_has_its_factor_from_the_other() {
    let data = five();
    let predicted = [1.0, 2.0, 4.0, 1.0, 2.0];
    // Ratios 2 and 3 in the first half, 1, 3 and 4 in the second: factors 3 (the larger of two) and 3, and 3 of all.
    let judged = data.judge(&predicted);
    assert_eq!(judged.factor, 3.0);
    assert_eq!(judged.plain, score(&predicted, data.distances()));
    assert_eq!(judged.scaled, score(&[3.0, 6.0, 12.0, 3.0, 6.0], data.distances()));
    let errors = [0.5, 0.0, 2.0, 0.0, 0.25];
    let mean = errors.iter().sum::<f64>() / 5.0;
    assert!((judged.scaled.mean - mean).abs() < 1e-15, "{:?}", judged.scaled);
    assert_eq!((judged.scaled.max, judged.scaled.median), (2.0, 0.25));
    // The unit of predictions does not matter to the scaled score.
    let doubled: Vec<f64> = predicted.iter().map(|p| 2.0 * p).collect();
    assert_eq!((data.judge(&doubled).scaled, data.judge(&doubled).factor), (judged.scaled, 1.5));
    // A pair alone is its own other half.
    let (one, _) = data.split_at(1);
    let judged = one.judge(&[5.0]);
    assert_eq!((judged.scaled.mean, judged.factor, judged.plain.mean), (0.0, 0.4, 1.5));
}

#[test]
fn the_factor_is_the_upper_median_of_label_over_prediction() {
    assert_eq!(factor(&[1.0, 1.0, 1.0], &[5.0, 2.0, 3.0]), 3.0);
    assert_eq!(factor(&[1.0, 1.0, 1.0, 1.0], &[5.0, 2.0, 3.0, 9.0]), 5.0);
    // What is 0 on either side says nothing.
    assert_eq!(factor(&[0.0, 1.0, 2.0], &[5.0, 0.0, 3.0]), 1.5);
    assert_eq!(five().factor(&[1.0; 5]), 4.0);
    assert_eq!(median(&[2.0, 8.0, 4.0]), 4.0);
    assert!(median(&[]).is_nan());
}

#[test]
fn labels_far_below_the_largest_do_not_count() {
    let exact = [1e4, 1.0, 1.0 + 1e-9, 0.0];
    assert_eq!(relative_errors(&[1e4, 9.0, 9.0, 9.0], &exact).len(), 2);
    let data = Labeled::new(&line().1, five().pairs()[..4].to_vec(), exact.to_vec()).unwrap();
    let score = data.score(&exact);
    assert_eq!((score.pairs, score.left_out, score.max), (2, 2, 0.0));
}

#[test]
fn null_baselines_by_hand() {
    // Single points have variation 1, a point and half of it one half.
    let data = five();
    let [mean, variation] = data.null_baselines();
    assert_eq!((mean.name, mean.constant), ("mean label", 23.0 / 5.0));
    // The mean of the second half, 5, for the first; that of the first, 4, for the second.
    assert_eq!(mean.score, score(&[5.0, 5.0, 4.0, 4.0, 4.0], data.distances()));
    // Label over variation: 2 and 12, then 4, 3 and 8; factors 12 and 4, and 4 of all.
    assert_eq!((variation.name, variation.constant), ("constant × total variation", 4.0));
    assert_eq!(variation.score, score(&[4.0, 2.0, 12.0, 12.0, 12.0], data.distances()));
}

#[test]
#[should_panic(expected = "one prediction for every exact distance")]
fn a_prediction_is_needed_for_every_pair() {
    five().score(&[1.0]);
}

/// Where measures are in many pairs some of them are held back whole.
#[test]
fn measures_in_many_pairs_are_held_back_whole() {
    let measures = Measures::unit_masses(120, 0..120).unwrap();
    let pairs: Vec<_> = (0..120).flat_map(|i| (i + 1..120).map(move |j| (i, j))).collect();
    let count = pairs.len();
    let data = Labeled::new(&measures, pairs, vec![1.0; count]).unwrap();
    let (first, second) = data.split(0.2, 3);
    assert_eq!((first.len() + second.len(), second.len()), (count, count / 5));
    let mut learned = [false; 120];
    first.pairs().iter().for_each(|&(i, j)| (learned[i], learned[j]) = (true, true));
    // Of 120 measures 13 have a fifth of the pairs, the last of them only in part.
    assert_eq!(learned.iter().filter(|seen| !**seen).count(), 12);
    let some = Labeled::new(&measures, first.pairs()[..200].to_vec(), vec![1.0; 200]).unwrap();
    assert!(some.split(0.2, 3) != some.split(0.2, 4));
}

#[test]
fn a_budget_is_some_time_and_gives_a_number_of_pairs() {
    let metric = GroundMetric::from_points(1, vec![0.0, 1.0, 5.0], PointMetric::Euclidean).unwrap();
    let measures = Measures::unit_masses(3, [0, 1, 2]).unwrap();
    let within = |nanoseconds, tried: &[(usize, usize)]| {
        let time = Duration::from_nanos(nanoseconds);
        pairs_within(time, &metric, &measures, tried, &silent)
    };
    assert_eq!(within(1, &[(0, 1)]).unwrap(), 1);
    assert_eq!(within(u64::MAX, &[(0, 1), (0, 2)]).unwrap(), 3);
    assert!(within(0, &[(0, 1)]).unwrap_err().to_string().contains("budget"));
    assert!(matches!(within(1, &[]), Err(Error::NothingToLearn { .. })));
    let stopped = pairs_within(Duration::MAX, &metric, &measures, &[(0, 1)], &|_| false);
    assert!(matches!(stopped, Err(Error::Canceled)));
}
