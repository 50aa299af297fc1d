//! Random regions: measures that resemble the population around a center.

use rand::RngExt;
use treeport::{Error, Measures, Result};

use crate::cities::{City, great_circle_km};
use crate::sample::{Random, positive};

/// Range of the length scale of a region, in kilometers.
const LENGTH_SCALE_KM: (f64, f64) = (300.0, 5000.0);
/// Range of the number of cities in a region.
const REGION_SIZE: (usize, usize) = (5, 80);
/// Masses below this fraction of the largest are dropped: moving them across the Earth changes a
/// label by less than its rounding.
const NEGLIGIBLE: f64 = 1e-9;

/// Draws measures that resemble the demand of a region, each centered at a random city.
///
/// City i gets mass ∝ populationᵢ · exp(−dᵢ/s) · u, where dᵢ is its distance from the center, u is
/// uniform, and the length scale s is log-uniform between 300 and 5000 km. The support has 5 to 80
/// cities, drawn without replacement with weights exp(−dᵢ/s), so that cities near the center are
/// seldom omitted.
pub fn regional_measures(cities: &[City], count: usize, rng: &mut Random) -> Result<Measures> {
    if cities.is_empty() {
        return Err(Error::NoPoints);
    }
    let rows = (0..count).map(|_| regional_row(cities, rng));
    Ok(Measures::from_rows(cities.len(), rows.collect::<Vec<_>>())?.normalized())
}

fn regional_row(cities: &[City], rng: &mut Random) -> Vec<(usize, f64)> {
    let center = &cities[rng.random_range(0..cities.len())];
    let length_scale = (rng.random_range(LENGTH_SCALE_KM.0.ln()..LENGTH_SCALE_KM.1.ln())).exp();
    let size = rng.random_range(REGION_SIZE.0..=REGION_SIZE.1).min(cities.len());
    let closeness: Vec<f64> =
        cities.iter().map(|c| (-great_circle_km(c, center) / length_scale).exp()).collect();
    // Weighted sampling without replacement: the smallest exponential waiting times −ln(u)/weight.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cities::cities;
    use crate::sample::seeded;

    #[test]
    fn regional_measures_vary_in_size_and_stay_near_their_center() {
        let cities = cities();
        let measures = regional_measures(&cities, 300, &mut seeded(0)).expect("200 cities");
        assert!(measures.iter().all(|m| (m.total() - 1.0).abs() < 1e-12));
        let sizes: Vec<_> = measures.iter().map(|m| m.support().len()).collect();
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
}
