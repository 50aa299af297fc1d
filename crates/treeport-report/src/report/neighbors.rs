//! Nearest neighbors of sampled measures, and plans that explain the distances, as JSON.

use serde_json::{Value, json};
use treeport::progress::State;
use treeport::progress::tasks::SOLVING;
use treeport::search::Neighbors;
use treeport::{
    Accuracy, Coupling, Error, GroundMetric, Index, IndexOptions, Measure, Measures, Model,
    Problem, Progress, Result, silent,
};

use super::data::{evenly, moves, short, short_below};
use super::measure_name;
use super::summary::is_large;

/// Maximum number of measures whose neighbors a page shows.
pub const MOST_QUERIES: usize = 30;

/// [`MOST_QUERIES`] for a summarized model, whose page also names the ends of all moves.
const MOST_QUERIES_LARGE: usize = 10;

/// Neighbors per measure.
pub(super) const MOST_NEIGHBORS: usize = 8;

/// Maximum number of moves per plan, and over all plans of a page: about a hundred kilobytes.
const MOST_MOVES: usize = 24;
const MOVES_IN_ALL: usize = 4_000;
const MOVES_IN_ALL_LARGE: usize = 1_200;

/// Maximum number of points of measures in all plans, if the caller does not select the measures.
const MOST_ENTRIES: usize = 200_000;

/// Memory of the index: building a larger one takes longer than it saves in a few queries.
const INDEX_BYTES: u64 = 1 << 26;

/// A collection of measures whose neighbors the page shows.
#[derive(Clone, Debug)]
pub struct NeighborSearch<'a> {
    /// The collection.
    pub measures: &'a Measures,
    /// Names of the measures; numbers if `None`.
    pub names: Option<Vec<String>>,
    /// Ground metric for exact neighbors; without it, the page's first model has them.
    pub metric: Option<&'a GroundMetric>,
    /// Measures whose neighbors are shown, at most [`MOST_QUERIES`]; if empty, a sample.
    pub of: Vec<usize>,
}

/// Source of distances.
#[derive(Clone, Copy)]
enum DistanceSource<'a> {
    Metric(&'a GroundMetric),
    Model(&'a Model),
}

impl DistanceSource<'_> {
    fn coupling(self, a: &Measure<'_>, b: &Measure<'_>) -> Result<Coupling> {
        match self {
            Self::Metric(metric) => Ok(Problem::new(metric, a, b).solve(&silent)?.plan),
            Self::Model(model) => model.coupling(a, b),
        }
    }

    fn distances(self, ends: &[(usize, usize)]) -> Vec<f64> {
        match self {
            Self::Metric(metric) => metric.pairs(ends),
            Self::Model(model) => ends.iter().map(|&(i, j)| model.leaf_distance(i, j)).collect(),
        }
    }
}

/// Encodes the data of the section; null for fewer than two measures.
pub(super) fn json(
    search: &NeighborSearch<'_>,
    model: (&str, &Model),
    progress: &Progress<'_>,
) -> Result<Value> {
    let measures = search.measures;
    if measures.len() < 2 {
        return Ok(Value::Null);
    }
    let by = search.metric.map_or(DistanceSource::Model(model.1), DistanceSource::Metric);
    let large = is_large(model.1);
    let asked = choose(search, large);
    let found = nearest(measures, by, &asked, progress)?;
    let plans: usize = found.iter().map(|found| found.found.len()).sum();
    let in_all = if large { MOVES_IN_ALL_LARGE } else { MOVES_IN_ALL };
    let most = (in_all / plans.max(1)).clamp(4, MOST_MOVES);
    let (mut queries, mut done) = (Vec::with_capacity(asked.len()), 0);
    for (&number, found) in asked.iter().zip(&found) {
        let mut rows = Vec::with_capacity(found.found.len());
        for &(neighbor, distance) in &found.found {
            if !progress(&State::new(SOLVING, done, plans)) {
                return Err(Error::Canceled);
            }
            done += 1;
            let mut row = plan(by, &measures.row(number), &measures.row(neighbor), most)?;
            row["measure"] = neighbor.into();
            row["name"] = measure_name(search.names.as_deref(), neighbor).into();
            row["distance"] = short(distance).into();
            rows.push(row);
        }
        queries.push(json!({
            "measure": number,
            "name": measure_name(search.names.as_deref(), number),
            // Null if infinite: no measure was omitted.
            "bound": short_below(found.bound),
            "found": rows,
        }));
    }
    let by = matches!(by, DistanceSource::Model(_)).then_some(model.0);
    Ok(json!({"by": by, "measures": measures.len(), "queries": queries}))
}

/// Selects the measures whose neighbors are shown: the given ones, or evenly spaced ones.
fn choose(search: &NeighborSearch<'_>, large: bool) -> Vec<usize> {
    if !search.of.is_empty() {
        return search.of.clone();
    }
    let (count, entries) = (search.measures.len(), search.measures.entries());
    let most = if large { MOST_QUERIES_LARGE } else { MOST_QUERIES };
    // Two measures in every plan; large ones take long to solve.
    let each = 2 * MOST_NEIGHBORS * entries.div_ceil(count).max(1);
    evenly(count, (MOST_ENTRIES / each).clamp(1, most).min(count)).collect()
}

/// Finds the nearest other measures of each given measure.
fn nearest(
    measures: &Measures,
    by: DistanceSource<'_>,
    asked: &[usize],
    progress: &Progress<'_>,
) -> Result<Vec<Neighbors>> {
    for &number in asked {
        measures.get(number)?;
    }
    let rows = asked.iter().map(|&number| measures.row(number).iter());
    let queries = Measures::from_rows(measures.points(), rows)?;
    // One more, because every measure is its own nearest neighbor.
    let found = match by {
        DistanceSource::Metric(metric) => {
            let options = IndexOptions { memory: Some(INDEX_BYTES), ..IndexOptions::default() };
            let index = Index::new(metric, measures, &options, progress)?;
            index.nearest(&queries, MOST_NEIGHBORS + 1, Accuracy::EXACT, progress)?
        }
        DistanceSource::Model(model) => {
            let table = model.cross(&queries, measures, progress)?;
            table.chunks(measures.len()).map(sorted).collect()
        }
    };
    Ok(asked.iter().zip(found).map(|(&number, found)| without(found, number)).collect())
}

/// Returns the nearest by a row of all distances.
fn sorted(row: &[f64]) -> Neighbors {
    let mut found: Vec<(usize, f64)> = row.iter().copied().enumerate().collect();
    found.sort_by(|a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
    let bound = found.get(MOST_NEIGHBORS + 1).map_or(f64::INFINITY, |next| next.1);
    found.truncate(MOST_NEIGHBORS + 1);
    Neighbors { found, bound, ..Neighbors::default() }
}

/// Removes the measure itself; if copies of it displaced it, removes the last neighbor.
fn without(mut found: Neighbors, number: usize) -> Neighbors {
    found.found.retain(|&(other, _)| other != number);
    if let Some(&(_, distance)) = found.found.get(MOST_NEIGHBORS) {
        found.bound = found.bound.min(distance);
        found.found.truncate(MOST_NEIGHBORS);
    }
    found
}

/// Encodes the most expensive moves of a plan, flattened, and the cost of all for a mass of 1.
fn plan(by: DistanceSource<'_>, a: &Measure<'_>, b: &Measure<'_>, most: usize) -> Result<Value> {
    let all = moves(&by.coupling(a, b)?, a.total(), |ends| by.distances(ends));
    let (stay, mut moving): (Vec<[f64; 4]>, Vec<_>) = all.into_iter().partition(|m| m[0] == m[1]);
    let cost = |m: &[f64; 4]| m[2] * m[3];
    // A stable sort keeps ties in the order of their ends.
    moving.sort_by(|a, b| cost(b).total_cmp(&cost(a)).then(b[2].total_cmp(&a[2])));
    let (total, count) = (moving.iter().map(cost).sum::<f64>(), moving.len());
    moving.truncate(most);
    Ok(json!({
        "cost": short(total),
        "stays": short(stay.iter().map(|m| m[2]).sum()),
        "moves": count,
        "plan": moving.concat(),
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use treeport::{PointMetric, Tree, silent};

    use super::*;

    const POINTS: usize = 12;

    /// Points of a plane, a tree over them, and measures of one mass, some of them equal.
    fn collection() -> impl Strategy<Value = (GroundMetric, Model, Measures)> {
        let plane = prop::collection::vec(0.0..10.0, 2 * POINTS);
        let row = prop::collection::btree_map(0..POINTS, 1..4u32, 1..6);
        let copies = prop::collection::vec((row, 1..5usize), 1..12);
        (plane, copies).prop_map(|(plane, copies)| {
            let metric = GroundMetric::from_points(2, plane, PointMetric::Euclidean).unwrap();
            let tree =
                treeport::linkage(&metric, treeport::Linkage::Average, &treeport::silent).unwrap();
            let rows = copies.iter().flat_map(|(row, times)| vec![row; *times]);
            let rows = rows.map(|row| row.iter().map(|(&p, &mass)| (p, f64::from(mass))));
            let measures = Measures::from_rows(POINTS, rows).unwrap().normalized();
            (metric, Model::Tree(tree), measures)
        })
    }

    fn numbers(value: &Value) -> Vec<f64> {
        value.as_array().unwrap().iter().filter_map(Value::as_f64).collect()
    }

    /// Checks the section against all distances, and its plans against the distances they explain.
    fn check(
        value: &Value,
        measures: &Measures,
        ground: DistanceSource<'_>,
        all: &dyn Fn(usize, usize) -> f64,
    ) {
        let close = |a: f64, b: f64| (a - b).abs() <= 1e-5 * (1.0 + a.abs());
        for query in value["queries"].as_array().unwrap() {
            let asked = query["measure"].as_u64().unwrap() as usize;
            let others = (0..measures.len()).filter(|&other| other != asked);
            let mut far: Vec<f64> = others.map(|other| all(asked, other)).collect();
            far.sort_by(f64::total_cmp);
            let found = query["found"].as_array().unwrap();
            assert_eq!(found.len(), far.len().min(MOST_NEIGHBORS));
            match far.get(MOST_NEIGHBORS) {
                Some(next) => assert!(query["bound"].as_f64().unwrap() <= next + 1e-9),
                None => assert!(query["bound"].is_null()),
            }
            for (row, far) in found.iter().zip(far) {
                let other = row["measure"].as_u64().unwrap() as usize;
                let distance = row["distance"].as_f64().unwrap();
                assert!(other != asked && close(distance, far), "{row}: {far}");
                assert!(close(all(asked, other), distance), "{row}");
                assert!(close(row["cost"].as_f64().unwrap(), distance), "{row}");
                let moves = numbers(&row["plan"]);
                // These are small enough for all moves to be included.
                assert_eq!(moves.len(), 4 * row["moves"].as_u64().unwrap() as usize);
                let mut left = vec![0.0; POINTS];
                measures.row(asked).iter().for_each(|(point, mass)| left[point] += mass);
                measures.row(other).iter().for_each(|(point, mass)| left[point] -= mass);
                for one in moves.chunks(4) {
                    let ends = (one[0] as usize, one[1] as usize);
                    left[ends.0] -= one[2];
                    left[ends.1] += one[2];
                    assert!(close(ground.distances(&[ends])[0], one[3]), "{row}");
                }
                assert!(left.iter().all(|mass| mass.abs() < 1e-4), "{row}: {left:?}");
                assert!(moves.chunks(4).is_sorted_by(|a, b| a[2] * a[3] >= b[2] * b[3]));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn neighbors_are_those_of_all_distances((metric, model, measures) in collection()) {
            let mut search =
                NeighborSearch { measures: &measures, names: None, metric: Some(&metric), of: vec![] };
            let row = |r: usize| measures.row(r);
            let value = json(&search, ("m", &model), &silent).unwrap();
            if measures.len() < 2 {
                prop_assert!(value.is_null());
                return Ok(());
            }
            prop_assert!(value["by"].is_null());
            prop_assert_eq!(value["queries"].as_array().unwrap().len(), measures.len().min(30));
            let solved = |a, b| Problem::new(&metric, &row(a), &row(b)).value(&silent).unwrap();
            check(&value, &measures, DistanceSource::Metric(&metric), &solved);
            search.metric = None;
            let value = json(&search, ("m", &model), &silent).unwrap();
            prop_assert_eq!(&value["by"], "m");
            let told = |a, b| model.distance(&row(a), &row(b)).unwrap();
            check(&value, &measures, DistanceSource::Model(&model), &told);
        }
    }

    fn star(points: usize) -> Model {
        Model::Tree(Tree::star(points, 1.0).unwrap())
    }

    #[test]
    fn those_named_are_shown_and_have_to_exist() {
        let measures = Measures::unit_masses(9, 0..9).unwrap();
        let (model, names) = (star(9), (0..9).map(|k| format!("<{k}>")).collect());
        let of = vec![7, 2];
        let mut search =
            NeighborSearch { measures: &measures, names: Some(names), metric: None, of };
        let value = json(&search, ("m", &model), &silent).unwrap();
        let queries = value["queries"].as_array().unwrap();
        assert_eq!([&queries[0]["name"], &queries[1]["name"]], ["<7>", "<2>"]);
        assert_eq!((queries.len(), &queries[0]["found"][0]["name"]), (2, &"<0>".into()));
        search.of = vec![9];
        let error = json(&search, ("m", &model), &silent).unwrap_err();
        assert!(matches!(error, Error::NoSuchMeasure { measure: 9, measures: 9 }), "{error}");
        search.of = vec![];
        let stopped = json(&search, ("m", &model), &|state| state.task != SOLVING);
        assert!(matches!(stopped, Err(Error::Canceled)));
    }

    #[test]
    fn many_long_measures_give_little_data() {
        let (n, count) = (1_000, 500);
        let row = |r: usize| (0..100).map(move |k| ((k * 7 + r * r) % n, 0.01));
        let measures = Measures::from_rows(n, (0..count).map(row)).unwrap();
        let model = star(n);
        let search = NeighborSearch { measures: &measures, names: None, metric: None, of: vec![] };
        let value = json(&search, ("m", &model), &silent).unwrap();
        let asked: Vec<u64> = value["queries"]
            .as_array()
            .unwrap()
            .iter()
            .map(|q| q["measure"].as_u64().unwrap())
            .collect();
        assert_eq!((asked.len(), asked[0], asked[29]), (MOST_QUERIES, 0, count as u64 - 1));
        assert!(value.to_string().len() < 250_000, "{}", value.to_string().len());
        // Fewer of the larger measures are shown.
        let row = |_| (0..n).map(|p| (p, 1.0));
        let measures = Measures::from_rows(n, (0..40).map(row)).unwrap();
        let search = NeighborSearch { measures: &measures, ..search };
        assert_eq!(choose(&search, false).len(), 12);
        assert_eq!(choose(&search, true).len(), 10);
    }
}
