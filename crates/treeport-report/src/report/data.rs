//! Data of the page, as JSON inside the page.

use serde_json::{Value, json};
use treeport::progress::State;
use treeport::progress::tasks::SOLVING;
use treeport::{Coupling, Error, Model, Problem, Progress, Result, Tree, silent};

use super::summary::{MOST_SUMMARIES, is_large};
use super::{Report, Test, large, map, neighbors};
use crate::dendrogram::heaviest;

/// Maximum number of moves of mass in a page, over all plans: about half a megabyte.
const MOST_MOVES: usize = 20_000;

/// Maximum number of trees of a forest in a page.
const MOST_TREES: usize = 16;

/// Maximum number of nodes in a page, over the trees of one model: about ten megabytes.
const MOST_NODES: usize = 500_000;

/// Selects the trees that the page shows: all, or those with the largest weights.
pub(super) fn choose_trees(model: &Model) -> Vec<usize> {
    let (trees, weights) = (model.trees(), model.weights());
    let nodes = model.nodes() / trees.len();
    let most = (MOST_NODES / nodes.max(1)).clamp(1, MOST_TREES);
    let most = if is_large(model) { MOST_SUMMARIES } else { most };
    let fit = most.min(trees.len());
    let mut order: Vec<usize> = (0..trees.len()).collect();
    order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]).then(a.cmp(&b)));
    order.truncate(fit);
    order.sort_unstable();
    order
}

/// Selects the test pairs whose plans the page shows: all, or as many as fit, evenly spaced from
/// the best to the worst prediction, and in that order.
pub(super) fn choose_plans(report: &Report<'_>) -> Vec<usize> {
    let (Some(test), Some(model)) = (&report.test, report.models.first()) else { return vec![] };
    let errors = test.errors(&model.predicted);
    let mut order: Vec<usize> = (0..errors.len()).filter(|&k| errors[k].is_finite()).collect();
    order.sort_by(|&a, &b| errors[a].abs().total_cmp(&errors[b].abs()).then(a.cmp(&b)));
    if order.is_empty() {
        return order;
    }
    let supports = test.supports();
    let moves: usize =
        order.iter().map(|&k| supports[k]).sum::<usize>() * (report.models.len() + 1);
    // The page of a large tree also names the ends of all moves.
    let most = if is_large(model.model) { MOST_MOVES / 4 } else { MOST_MOVES };
    let fit = (order.len() * most / moves.max(1)).clamp(1, order.len());
    evenly(order.len(), fit).map(|k| order[k]).collect()
}

/// Returns some of `count` numbers, evenly spaced from the first to the last.
pub(super) fn evenly(count: usize, some: usize) -> impl Iterator<Item = usize> {
    (0..some).map(move |k| if some == 1 { 0 } else { k * (count - 1) / (some - 1) })
}

/// Returns the JSON text of the page's data.
pub(super) fn json(
    report: &Report<'_>,
    plans: &[usize],
    progress: &Progress<'_>,
) -> Result<String> {
    let mut pairs = Vec::with_capacity(plans.len());
    if let Some(test) = &report.test {
        for (done, &k) in plans.iter().enumerate() {
            if !progress(&State::new(SOLVING, done, plans.len())) {
                return Err(Error::Canceled);
            }
            pairs.push(pair(report, test, k)?);
        }
    }
    let neighbors = match (&report.search, report.models.first()) {
        (Some(search), Some(first)) => {
            neighbors::json(search, (&first.name, first.model), progress)?
        }
        _ => Value::Null,
    };
    let first = report.models.first().map(|m| m.model);
    let ends = large::ends(&pairs, &Value::Null);
    let known = report.test.as_ref().map(weights);
    let map = map::json(report, known.as_deref().unwrap_or_default(), &ends);
    let mut value = match first.filter(|first| is_large(first)) {
        Some(first) => large::json(report, first, &pairs, &neighbors),
        None => json!({
            "unit": report.unit,
            "names": first.map(|model| names(&model.trees()[0]).collect::<Vec<_>>()),
            "groups": report.groups,
            "weights": known,
            "models": report.models.iter().map(|m| model(m.model, &m.name, tree)).collect::<Vec<_>>(),
            "pairs": pairs,
            "neighbors": neighbors,
        }),
    };
    if !map.is_null() {
        value["map"] = map;
    }
    Ok(escape_script(&value.to_string()))
}

/// Returns the names of the points.
pub(super) fn names(tree: &Tree) -> impl Iterator<Item = String> + '_ {
    (0..tree.leaves()).map(|i| tree.name(i))
}

/// Encodes a model's trees; the page starts with the tree of the largest weight.
pub(super) fn model(model: &Model, name: &str, tree: impl FnMut((&Tree, f64)) -> Value) -> Value {
    let shown = choose_trees(model);
    let first = shown.iter().position(|&k| k == heaviest(model));
    let trees = shown.iter().map(|&k| (&model.trees()[k], model.weights()[k])).map(tree);
    json!({
        "name": name,
        "forest": model.tree().is_none(),
        "whole": shown.len() == model.trees().len(),
        "first": first,
        "trees": trees.collect::<Vec<Value>>(),
    })
}

fn tree((tree, weight): (&Tree, f64)) -> Value {
    let length: Vec<f64> = tree.lengths().iter().map(|&l| short(l)).collect();
    json!({
        "weight": short(weight),
        "leaves": tree.leaves(),
        "parent": tree.parents(),
        "length": length,
        "ultrametric": tree.is_ultrametric(),
    })
}

/// Computes the mass of each point over all measures, by which the page names a subtree.
pub(super) fn weights(test: &Test<'_>) -> Vec<f64> {
    let measures = test.data.measures();
    let mut weights = vec![0.0; measures.points()];
    for measure in measures.iter() {
        let total = measure.total();
        measure.iter().for_each(|(point, mass)| weights[point] += mass / total);
    }
    let count = measures.len() as f64;
    weights.into_iter().map(|w| short(w / count)).collect()
}

/// Encodes a pair with the plans of all models and the exact plan.
fn pair(report: &Report<'_>, test: &Test<'_>, k: usize) -> Result<Value> {
    let (left, right) = test.data.pairs()[k];
    let (a, b) = (test.data.measures().get(left)?, test.data.measures().get(right)?);
    let total = a.total();
    let flat = |plan: &Coupling| moves(plan, total, |ends| test.metric.pairs(ends)).concat();
    let mut plans = Vec::with_capacity(report.models.len());
    for model in &report.models {
        plans.push(flat(&model.model.coupling(&a, &b)?));
    }
    let best = Problem::new(test.metric, &a, &b).solve(&silent)?.plan;
    let predicted: Vec<f64> = report.models.iter().map(|m| short(m.predicted[k])).collect();
    Ok(json!({
        "left": test.name(left),
        "right": test.name(right),
        "exact": short(test.data.distances()[k]),
        "predicted": predicted,
        "plans": plans,
        "best": flat(&best),
    }))
}

/// Returns the moves of a plan: from, to, share of the mass, distance.
pub(super) fn moves(
    plan: &Coupling,
    total: f64,
    distances: impl Fn(&[(usize, usize)]) -> Vec<f64>,
) -> Vec<[f64; 4]> {
    let mut moves: Vec<(usize, usize, f64)> = plan.iter().collect();
    // Consecutive moves from the same point share one search of a graph.
    moves.sort_unstable_by_key(|&(from, to, _)| (from, to));
    let ends: Vec<(usize, usize)> = moves.iter().map(|&(from, to, _)| (from, to)).collect();
    let row = |((from, to, mass), distance): ((usize, usize, f64), f64)| {
        [from as f64, to as f64, short(mass / total), short(distance)]
    };
    moves.into_iter().zip(distances(&ends)).map(row).collect()
}

/// Rounds to six digits, enough for pictures and half as long.
pub(super) fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

/// Rounds to six digits, but not above the value: the error is at most 5·10⁻⁶ of it.
pub(super) fn short_below(value: f64) -> f64 {
    short(value * (1.0 - 1e-5))
}

/// Escapes JSON so that no name can end the script element or begin a comment.
fn escape_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_tag() {
        let text = json!(["</script><script>alert(1)</script>", "<!--", "a & b"]).to_string();
        let inside = escape_script(&text);
        assert!(!inside.contains(['<', '>', '&']));
        let (one, other): (Value, Value) =
            (serde_json::from_str(&text).unwrap(), serde_json::from_str(&inside).unwrap());
        assert_eq!(one, other);
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(short(1.0 / 3.0), 0.333_333);
        assert_eq!(short(123_456_789.0), 123_457_000.0);
        assert_eq!(short(0.0), 0.0);
    }
}
