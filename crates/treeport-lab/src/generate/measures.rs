//! Random measures, all with total mass 1, and random pairs of them.

use super::Random;
use crate::cities::{City, great_circle_km};
use rand::RngExt;
use rand::seq::index;
use treeport::{Error, Measures, Result};

/// Measures with independent uniform masses on all points, divided by their sum.
///
/// # Errors
/// There are no points.
pub fn uniform_measures(points: usize, count: usize, rng: &mut Random) -> Result<Measures> {
    sparse_measures(points, points, count, rng)
}

/// The generator the authors of \[CTW24\] published: equal masses 1/k over a random subset whose size
/// k is uniform in `1..=points`.
///
/// # Errors
/// There are no points.
pub fn subset_measures(points: usize, count: usize, rng: &mut Random) -> Result<Measures> {
    check_points(points)?;
    let rows = (0..count).map(|_| {
        let size = rng.random_range(1..=points);
        index::sample(rng, points, size).into_iter().map(|p| (p, 1.0)).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(points, rows)?.normalized())
}

/// Measures with independent uniform masses on `support` random points, divided by their sum.
///
/// # Errors
/// There are no points, or `support` is not in `1..=points`.
pub fn sparse_measures(
    points: usize,
    support: usize,
    count: usize,
    rng: &mut Random,
) -> Result<Measures> {
    check_points(points)?;
    if support == 0 || support > points {
        return Err(Error::BadOption {
            option: "support",
            value: support.to_string(),
            expected: "it must be at least 1 and at most the number of points",
        });
    }
    let rows = (0..count).map(|_| {
        let chosen = index::sample(rng, points, support);
        chosen.into_iter().map(|p| (p, positive(rng))).collect::<Vec<_>>()
    });
    Ok(Measures::from_rows(points, rows)?.normalized())
}

/// Smallest and largest reach of a regional measure, in kilometres.
const REACH_KM: (f64, f64) = (300.0, 5000.0);
/// Fewest and most cities drawn for a regional measure.
const REGION_SIZE: (usize, usize) = (5, 80);
/// Masses below this fraction of the largest are dropped: moving them across the whole Earth would
/// change a label by less than its rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// Measures that look like a region's demand: each is centred on a random city.
///
/// City i gets mass ∝ populationᵢ · exp(−dᵢ/s) · u with dᵢ its distance from the centre, u uniform,
/// and the reach s log-uniform between 300 and 5000 km. It lives on 5 to 80 cities, drawn without
/// repeats with odds exp(−dᵢ/s), so that neighbors of the centre are seldom skipped.
///
/// # Errors
/// There are no cities.
pub fn regional_measures(cities: &[City], count: usize, rng: &mut Random) -> Result<Measures> {
    check_points(cities.len())?;
    let rows = (0..count).map(|_| regional_row(cities, rng));
    Ok(Measures::from_rows(cities.len(), rows.collect::<Vec<_>>())?.normalized())
}

fn regional_row(cities: &[City], rng: &mut Random) -> Vec<(usize, f64)> {
    let centre = &cities[rng.random_range(0..cities.len())];
    let reach = (rng.random_range(REACH_KM.0.ln()..REACH_KM.1.ln())).exp();
    let size = rng.random_range(REGION_SIZE.0..=REGION_SIZE.1).min(cities.len());
    let closeness: Vec<f64> =
        cities.iter().map(|c| (-great_circle_km(c, centre) / reach).exp()).collect();
    // Weighted draw without repeats: the smallest of exponential waiting times −ln(u)/weight.
    let mut waiting: Vec<(f64, usize)> = closeness
        .iter()
        .enumerate()
        .map(|(i, &weight)| (-positive(rng).ln() / weight, i))
        .collect();
    waiting.sort_by(|a, b| a.partial_cmp(b).expect("waiting times are numbers"));
    let mut row: Vec<(usize, f64)> = waiting[..size]
        .iter()
        .map(|&(_, i)| (i, cities[i].population * closeness[i] * positive(rng)))
        .collect();
    let largest = row.iter().map(|&(_, mass)| mass).fold(0.0, f64::max);
    row.retain(|&(_, mass)| mass > NEGLIGIBLE * largest);
    row
}

/// `count` pairs `i < j` of `0..measures` in random order.
///
/// No pair comes twice before every pair has come once.
///
/// # Errors
/// There are fewer than two measures.
pub fn random_pairs(
    count: usize,
    measures: usize,
    rng: &mut Random,
) -> Result<Vec<(usize, usize)>> {
    if measures < 2 {
        return Err(Error::BadOption {
            option: "measures",
            value: measures.to_string(),
            expected: "a pair needs two of them",
        });
    }
    let all = measures * (measures - 1) / 2;
    let mut pairs = Vec::with_capacity(count);
    while pairs.len() < count {
        let take = all.min(count - pairs.len());
        pairs.extend(index::sample(rng, all, take).into_iter().map(pair_number));
    }
    Ok(pairs)
}

/// Pair number k of (0,1), (0,2), (1,2), (0,3), …: j is the largest with j(j−1)/2 ≤ k.
fn pair_number(k: usize) -> (usize, usize) {
    #[expect(clippy::cast_sign_loss, reason = "the root of a positive number")]
    let mut j = f64::midpoint((8.0 * k as f64 + 1.0).sqrt(), 1.0) as usize;
    // The square root rounds once k is beyond 2^50 or so.
    while j * (j - 1) / 2 > k {
        j -= 1;
    }
    while j * (j + 1) / 2 <= k {
        j += 1;
    }
    (k - j * (j - 1) / 2, j)
}

/// Uniform in (0, 1]: a mass of exactly 0 would shrink a support by accident.
fn positive(rng: &mut Random) -> f64 {
    1.0 - rng.random::<f64>()
}

fn check_points(points: usize) -> Result<()> {
    if points == 0 { Err(Error::NoPoints) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cities::cities;
    use crate::generate::seeded;
    use std::collections::HashSet;

    fn assert_normalized(measures: &Measures) {
        assert!(measures.iter().all(|m| (m.total() - 1.0).abs() < 1e-12));
    }

    #[test]
    fn uniform_measures_cover_all_points() {
        let measures = uniform_measures(30, 8, &mut seeded(0)).expect("30 points");
        assert_normalized(&measures);
        assert!(measures.iter().all(|m| m.support() == 30));
        assert!(uniform_measures(0, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn subsets_have_equal_masses_and_all_sizes() {
        let measures = subset_measures(10, 400, &mut seeded(0)).expect("10 points");
        assert_normalized(&measures);
        let sizes: HashSet<_> = measures.iter().map(|m| m.support()).collect();
        assert_eq!(sizes.len(), 10);
        for m in measures.iter() {
            assert!(m.masses().iter().all(|&x| (x * m.support() as f64 - 1.0).abs() < 1e-12));
        }
    }

    #[test]
    fn sparse_measures_have_the_asked_support() {
        let measures = sparse_measures(100, 5, 20, &mut seeded(0)).expect("5 of 100");
        assert_normalized(&measures);
        assert!(measures.iter().all(|m| m.support() == 5));
        assert!(sparse_measures(3, 4, 1, &mut seeded(0)).is_err());
        assert!(sparse_measures(3, 0, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn regional_measures_vary_in_size_and_stay_near_their_centre() {
        let cities = cities();
        let measures = regional_measures(&cities, 300, &mut seeded(0)).expect("200 cities");
        assert_normalized(&measures);
        let sizes: Vec<_> = measures.iter().map(|m| m.support()).collect();
        assert!(sizes.iter().all(|s| (4..=80).contains(s)), "{sizes:?}");
        assert!(sizes.iter().any(|&s| s < 10) && sizes.iter().any(|&s| s > 70));
        let spread = |m: treeport::Measure<'_>| -> f64 {
            let heaviest = m.iter().max_by(|a, b| a.1.total_cmp(&b.1)).expect("has mass").0;
            m.iter().map(|(i, x)| x * great_circle_km(&cities[i], &cities[heaviest])).sum()
        };
        let mean = measures.iter().map(spread).sum::<f64>() / 300.0;
        // Two random cities are about 8400 km apart.
        assert!((200.0..5000.0).contains(&mean), "{mean}");
    }

    #[test]
    fn pairs_are_ordered_and_distinct_until_exhausted() {
        let pairs = random_pairs(45, 10, &mut seeded(0)).expect("10 measures");
        assert!(pairs.iter().all(|&(i, j)| i < j && j < 10));
        assert_eq!(pairs.iter().collect::<HashSet<_>>().len(), 45);
        let more = random_pairs(100, 10, &mut seeded(0)).expect("10 measures");
        assert_eq!(more.len(), 100);
        assert_eq!(more[..45].iter().collect::<HashSet<_>>().len(), 45);
        assert!(random_pairs(1, 1, &mut seeded(0)).is_err());
    }

    #[test]
    fn pair_numbers_count_up() {
        let mut k = 0;
        for j in 1..60 {
            for i in 0..j {
                assert_eq!(pair_number(k), (i, j));
                k += 1;
            }
        }
        let last = 3_000_000_000_usize;
        assert_eq!(pair_number(last * (last - 1) / 2), (0, last));
    }
}
