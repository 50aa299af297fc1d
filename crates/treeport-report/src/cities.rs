//! Two hundred large cities, the data set of the demo.
//!
//! A tree of cities under great-circle distances can be checked by eye: a good one keeps continents
//! together. Coordinates are those of the city center, to a hundredth of a degree; populations are
//! those of the urban agglomeration around 2023, in rounded thousands. Countries define
//! agglomerations differently, so use populations as sizes, not as statistics.

/// Mean radius of the Earth in kilometers.
pub const EARTH_RADIUS_KM: f64 = 6371.0088;

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct City {
    /// Name in English, unique in the table.
    pub name: &'static str,
    /// Two letters of ISO 3166.
    pub country: &'static str,
    /// Continent of the city center: Istanbul is in Europe, Honolulu in Oceania.
    pub continent: &'static str,
    /// Degrees, north positive.
    pub latitude: f64,
    /// Degrees, east positive.
    pub longitude: f64,
    /// Thousands of people in the urban agglomeration.
    pub population: f64,
}

/// Returns the 200 cities, by continent and then by size.
///
/// # Panics
/// Never: the table is part of the crate and its tests parse every row.
///
/// # Example
/// ```
/// let cities = treeport_report::cities::cities();
/// assert_eq!((cities.len(), cities[0].name), (200, "Tokyo"));
/// ```
pub fn cities() -> Vec<City> {
    include_str!("cities.csv").lines().skip(1).map(parse_row).collect()
}

/// Parses `name,country,continent,latitude,longitude,population`; no field contains a comma.
fn parse_row(row: &'static str) -> City {
    let mut fields = row.split(',');
    let mut text = || fields.next().expect("every row of the embedded table has six fields");
    let (name, country, continent) = (text(), text(), text());
    let mut number = || text().parse().expect("the embedded table holds plain numbers");
    City { name, country, continent, latitude: number(), longitude: number(), population: number() }
}

/// Computes the great-circle distance on a spherical Earth, in kilometers (haversine formula).
///
/// `d = 2R·asin √(sin²(Δφ/2) + cos φₐ · cos φ_b · sin²(Δλ/2))` with latitude φ and longitude λ.
///
/// Haversine instead of the cosine rule, which loses half of the digits for nearby cities.
pub fn great_circle_km(a: &City, b: &City) -> f64 {
    let north = ((b.latitude - a.latitude).to_radians() / 2.0).sin();
    let east = ((b.longitude - a.longitude).to_radians() / 2.0).sin();
    let cosines = a.latitude.to_radians().cos() * b.latitude.to_radians().cos();
    // Rounding can lift antipodes slightly above 1, outside the domain of arcsin.
    let haversine = (north * north + cosines * east * east).min(1.0);
    2.0 * EARTH_RADIUS_KM * haversine.sqrt().asin()
}

/// Computes the great-circle distances of all pairs, in the order of
/// [`GroundMetric::from_condensed`](treeport::GroundMetric::from_condensed).
pub fn condensed_distances(cities: &[City]) -> Vec<f64> {
    let after = |i: usize| cities[i + 1..].iter().map(move |b| great_circle_km(&cities[i], b));
    (0..cities.len()).flat_map(after).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn city(name: &str) -> City {
        cities().into_iter().find(|c| c.name == name).expect(name)
    }

    #[test]
    fn two_hundred_different_cities() {
        let cities = cities();
        let names: HashSet<_> = cities.iter().map(|c| c.name).collect();
        let places: HashSet<_> =
            cities.iter().map(|c| (c.latitude.to_bits(), c.longitude.to_bits())).collect();
        assert_eq!((cities.len(), names.len(), places.len()), (200, 200, 200));
        assert!(include_str!("cities.csv").lines().all(|row| row.matches(',').count() == 5));
    }

    #[test]
    fn fields_are_in_range() {
        let continents = ["Africa", "Asia", "Europe", "North America", "Oceania", "South America"];
        for c in cities() {
            assert!(continents.contains(&c.continent), "{c:?}");
            assert!(c.country.len() == 2 && c.country.bytes().all(|b| b.is_ascii_uppercase()));
            assert!((-60.0..=72.0).contains(&c.latitude), "{c:?}");
            assert!((-180.0..=180.0).contains(&c.longitude), "{c:?}");
            assert!((100.0..40_000.0).contains(&c.population), "{c:?}");
            assert!(!c.name.is_empty() && c.name.trim() == c.name);
        }
        let found: HashSet<_> = cities().iter().map(|c| c.continent).collect();
        assert_eq!(found.len(), continents.len());
    }

    #[test]
    fn every_city_lies_in_the_box_of_its_continent() {
        for c in cities() {
            // South, north, west, east; Honolulu is the one city of Oceania east of the date line.
            let (south, north, west, east) = match c.continent {
                "Africa" => (-35.0, 37.5, -18.0, 52.0),
                "Asia" => (-11.0, 60.0, 26.0, 146.0),
                "Europe" => (35.0, 61.0, -10.0, 60.0),
                "North America" => (7.0, 60.0, -130.0, -60.0),
                "South America" => (-56.0, 13.0, -82.0, -34.0),
                _ if c.name == "Honolulu" => (18.0, 23.0, -161.0, -154.0),
                _ => (-48.0, 0.0, 112.0, 179.0),
            };
            assert!((south..north).contains(&c.latitude), "{c:?}");
            assert!((west..east).contains(&c.longitude), "{c:?}");
        }
    }

    #[test]
    fn known_distances() {
        for (a, b, km) in [
            ("London", "Paris", 344.0),
            ("Tokyo", "Osaka", 397.0),
            ("New York", "Los Angeles", 3936.0),
            ("Sydney", "Auckland", 2160.0),
            ("Cairo", "Johannesburg", 6260.0),
            ("Buenos Aires", "Madrid", 10_040.0),
            ("Honolulu", "Tokyo", 6200.0), // across the date line
        ] {
            let found = great_circle_km(&city(a), &city(b));
            assert!((found / km - 1.0).abs() < 0.02, "{a}–{b}: {found} km, known {km} km");
        }
    }

    #[test]
    fn distances_are_a_metric() {
        let cities = cities();
        let all = condensed_distances(&cities);
        assert!(all.iter().all(|&d| d < std::f64::consts::PI * EARTH_RADIUS_KM));
        let metric = treeport::GroundMetric::from_condensed(cities.len(), all).expect("distances");
        let d = |i, j| metric.distance(i, j);
        for i in 0..cities.len() {
            assert_eq!(great_circle_km(&cities[i], &cities[i]), 0.0);
            for j in 0..i {
                assert!(d(i, j) > 20.0, "{} and {}", cities[i].name, cities[j].name);
                assert_eq!(d(i, j), great_circle_km(&cities[j], &cities[i]));
                let worst = (0..cities.len()).map(|k| d(i, k) + d(k, j)).fold(f64::MAX, f64::min);
                assert!(d(i, j) <= worst * (1.0 + 1e-12));
            }
        }
    }
}
