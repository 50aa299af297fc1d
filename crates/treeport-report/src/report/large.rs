//! Page data of large trees as JSON: summaries, and names of the points they represent.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use treeport::{Model, Tree};

use super::Report;
use super::data::{model, short, weights};
use super::summary::TreeSummary;
use crate::dendrogram::LeafGroups;

/// Encodes the data of a page with summarized models, with only the points shown.
pub(super) fn json(
    report: &Report<'_>,
    first: &Model,
    pairs: &[Value],
    neighbors: &Value,
) -> Value {
    let weights = report.test.as_ref().map(weights).unwrap_or_default();
    let parts = report.models.iter().map(|m| super::data::choose_trees(m.model).len()).sum();
    let moved = ends(pairs, neighbors);
    let mut shown = moved.clone();
    let mut colors = Vec::new();
    let mut tree = |(tree, weight): (&Tree, f64)| {
        let groups = LeafGroups::new(tree, report.groups.as_deref());
        let summary = TreeSummary::new(tree, &groups, &weights, parts);
        colors = groups.names;
        let named: BTreeSet<usize> = summary.leaves.iter().flat_map(|g| g.points.clone()).collect();
        shown.extend(&named);
        summarized(&summary, tree, weight, named.union(&moved))
    };
    let models: Vec<Value> =
        report.models.iter().map(|m| model(m.model, &m.name, &mut tree)).collect();
    let table = |of: &dyn Fn(usize) -> Value| -> BTreeMap<usize, Value> {
        shown.iter().map(|&point| (point, of(point))).collect()
    };
    let named = &first.trees()[0];
    json!({
        "unit": report.unit,
        "names": table(&|point| named.name(point).into()),
        "groups": report.groups.as_ref().map(|groups| table(&|point| groups[point].clone().into())),
        "groupNames": colors,
        "weights": (!weights.is_empty()).then(|| table(&|point| weights[point].into())),
        "models": models,
        "pairs": pairs,
        "neighbors": neighbors,
    })
}

/// Returns the points that plans move mass from or to.
pub(super) fn ends(pairs: &[Value], neighbors: &Value) -> BTreeSet<usize> {
    let tested = pairs.iter().flat_map(|pair| list(&pair["plans"]).iter().chain([&pair["best"]]));
    let found = list(&neighbors["queries"]).iter().flat_map(|query| list(&query["found"]));
    let plans = tested.chain(found.map(|row| &row["plan"]));
    let ends = plans.flat_map(|moves| list(moves).chunks(4)).flat_map(|one| &one[..2]);
    ends.filter_map(Value::as_f64).map(|point| point as usize).collect()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Encodes one tree, with the groups of the given points.
fn summarized<'a>(
    summary: &TreeSummary,
    tree: &Tree,
    weight: f64,
    points: impl Iterator<Item = &'a usize>,
) -> Value {
    let groups = &summary.leaves;
    let at: BTreeMap<usize, u32> = points.map(|&point| (point, summary.at[point])).collect();
    json!({
        "weight": short(weight),
        "leaves": groups.len(),
        "parent": summary.parent,
        "length": summary.length.iter().map(|&l| short(l)).collect::<Vec<_>>(),
        "ultrametric": tree.is_ultrametric(),
        "size": groups.iter().map(|g| g.size).collect::<Vec<_>>(),
        "below": groups.iter().map(|g| short(g.below)).collect::<Vec<_>>(),
        "branches": groups.iter().map(|g| g.roots.len()).collect::<Vec<_>>(),
        "color": summary.color,
        "points": groups.iter().map(|g| &g.points).collect::<Vec<_>>(),
        "at": at,
    })
}
