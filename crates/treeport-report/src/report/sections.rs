//! Sections of the page that are plain HTML.

use std::fmt::Write;

use treeport::Tree;

use super::data::choose_trees;
use super::summary::{MOST_GROUPS, is_large};
use super::{Model, Report, Test};
use crate::Place;
use crate::chart::{Dot, front_svg, histogram_svg, intervals_svg, scatter_svg, support_svg};
use crate::dendrogram::heaviest;
use crate::loss_chart::loss_svg;
use crate::svg::{escape, figure, tick_text};

/// Renders the model selector, if there are several models.
pub(super) fn switch(report: &Report<'_>) -> String {
    if report.models.len() < 2 {
        return String::new();
    }
    let mut out = String::from("<label class=\"switch\">Model <select id=\"model\">");
    for (k, model) in report.models.iter().enumerate() {
        let _ = write!(out, "<option value=\"{k}\">{}</option>", escape(&model.name));
    }
    out + "</select></label>"
}

/// Returns the attributes of an element for one model; the page first shows those of model 0.
fn of_model(model: usize) -> String {
    format!(" data-model=\"{model}\"{}", if model == 0 { "" } else { " hidden" })
}

/// Renders the tree selector of every forest.
pub(super) fn trees(report: &Report<'_>) -> String {
    let mut out = String::new();
    for (k, Model { model, .. }) in report.models.iter().enumerate() {
        if model.tree().is_some() {
            continue;
        }
        let (shown, all, weights) = (choose_trees(model), model.trees().len(), model.weights());
        let _ = write!(
            out,
            "<div class=\"bar trees\"{}><label class=\"field\">Tree <select class=\"tree-choice\">",
            of_model(k)
        );
        for (place, &tree) in shown.iter().enumerate() {
            let selected = if tree == heaviest(model) { " selected" } else { "" };
            let _ = write!(
                out,
                "<option value=\"{place}\"{selected}>{} of {all}, weight {}</option>",
                tree + 1,
                percent(weights[tree])
            );
        }
        let which = if shown.len() < all {
            format!("The {} with the largest weights are here. ", shown.len())
        } else {
            String::new()
        };
        let _ = write!(
            out,
            "</select></label><p class=\"note\">The model is the weighted mean of {all} trees; this is one of them. \
             {which}Predictions and plans are those of all together.</p></div>"
        );
    }
    out
}

/// Renders the large figures.
pub(super) fn tiles(report: &Report<'_>) -> String {
    let mut out = String::new();
    for (figure, what) in &report.tiles {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", escape(what), escape(figure));
    }
    out
}

/// Renders the table of errors, with a bar for each.
pub(super) fn scores(report: &Report<'_>) -> String {
    if report.scores.is_empty() {
        return String::new();
    }
    let finite = report.scores.iter().map(|(_, score)| score.mean).filter(|m| m.is_finite());
    let largest = finite.fold(f64::MIN_POSITIVE, f64::max);
    let mut out = String::from(
        "<section class=\"card\" id=\"errors\"><h2>How far off</h2><p class=\"note\">Mean of |predicted − exact| / \
         exact over the test pairs, its standard deviation, and the median. Compare them \
         with the errors of the null baselines, which know almost nothing about the points.</p><div class=\"scroll\"><table class=\"scores\"><thead><tr>\
         <th scope=\"col\">predicted by</th><th scope=\"col\" class=\"wide\"></th><th scope=\"col\">mean error</th>\
         <th scope=\"col\">±</th><th scope=\"col\">median</th><th scope=\"col\">pairs</th></tr></thead><tbody>",
    );
    for (name, score) in &report.scores {
        let share = if score.mean.is_finite() { 100.0 * score.mean / largest } else { 0.0 };
        let ours = report.models.iter().any(|m| m.name == *name);
        let _ = write!(
            out,
            "<tr{}><th scope=\"row\">{}</th><td class=\"wide\"><span style=\"width:{share:.1}%\"></span></td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>",
            if ours { " class=\"ours\"" } else { "" },
            escape(name),
            percent(score.mean),
            percent(score.std),
            percent(score.median),
            score.pairs,
        );
    }
    out + "</tbody></table></div></section>"
}

/// Renders the chart of error against time.
pub(super) fn front(report: &Report<'_>) -> String {
    let Some(front) = &report.front else { return String::new() };
    let title = "Error against time";
    let svg = front_svg(title, &front.points, front.constant_guess, Place::Page);
    let note = escape(&front.note);
    format!(
        "<section class=\"card\" id=\"front\"><h2>{title}</h2><p class=\"note\">No method is both faster and more \
         accurate than one on the line. {note}</p>{svg}</section>"
    )
}

fn percent(share: f64) -> String {
    if share.is_finite() { format!("{:.1} %", 100.0 * share) } else { "–".into() }
}

/// Renders the charts of every model; the page shows those of one.
pub(super) fn charts(report: &Report<'_>, plans: &[usize]) -> String {
    let mut out = String::new();
    for (k, model) in report.models.iter().enumerate() {
        let _ = write!(out, "<div class=\"charts\"{}>", of_model(k));
        for (title, note, svg) in model_charts(report, model, plans) {
            let (title, note) = (escape(title), escape(note));
            let _ = write!(
                out,
                "<figure class=\"card\"><figcaption><h2>{title}</h2><p class=\"note\">{note}</p></figcaption>{svg}</figure>"
            );
        }
        out += "</div>";
    }
    out
}

/// Title, note and drawing.
type Chart = (&'static str, &'static str, String);

fn model_charts(report: &Report<'_>, model: &Model<'_>, plans: &[usize]) -> Vec<Chart> {
    let mut charts = Vec::new();
    if let Some(test) = &report.test {
        let errors = test.errors(&model.predicted);
        let dots = dots(test, model, plans, &errors);
        let note = "Each dot is a test pair; a perfect model would put it on the diagonal. \
                    Click one for its transport plan.";
        let title = "Predicted and exact";
        charts.push((title, note, scatter_svg(title, &dots, &report.unit, Place::Page)));
        let title = "Errors";
        let note =
            "To the right of the line the model is above the exact distance, to the left below.";
        charts.push((title, note, histogram_svg(title, &errors, Place::Page)));
        let title = "Error by size";
        let note = "Median, middle half and middle eight tenths of the relative errors.";
        let svg = support_svg(title, &test.supports(), &errors, Place::Page);
        charts.push((title, note, svg));
        if let Some(bounds) = &model.bounds {
            let title = "Certified bounds";
            let note = "The exact distance is known to lie inside these.";
            let svg = intervals_svg(title, bounds, test.data.distances(), Place::Page);
            charts.push((title, note, svg));
        }
    }
    if model.history.len() > 1 {
        let training: Vec<f64> = model.history.iter().map(|e| e.training_loss).collect();
        let validation: Vec<f64> = model.history.iter().filter_map(|e| e.validation_loss).collect();
        let note = if validation.is_empty() {
            "Weighted squared error over the training pairs after every epoch."
        } else {
            "Weighted squared error after every epoch; the pairs kept for validation choose the tree."
        };
        let title = "Learning";
        charts.push((title, note, loss_svg(title, &training, &validation, Place::Page)));
    }
    charts
}

fn dots(test: &Test<'_>, model: &Model<'_>, plans: &[usize], errors: &[f64]) -> Vec<Dot> {
    let (pairs, distances) = (test.data.pairs(), test.data.distances());
    let mut plan_of = vec![None; pairs.len()];
    plans.iter().enumerate().for_each(|(plan, &k)| plan_of[k] = Some(plan));
    let dot = |k: usize| {
        let ((left, right), exact, predicted) = (pairs[k], distances[k], model.predicted[k]);
        let error = if errors[k].is_finite() {
            format!(" ({:+.1} %)", 100.0 * errors[k]).replace('-', "−")
        } else {
            String::new()
        };
        let tip = format!(
            "{} → {}: exact {}, predicted {}{error}",
            test.name(left),
            test.name(right),
            figure(exact),
            figure(predicted),
        );
        Dot { exact, predicted, tip, plan: plan_of[k] }
    };
    (0..pairs.len()).map(dot).collect()
}

/// Returns the section of neighbors, which the page fills.
pub(super) fn neighbors(report: &Report<'_>) -> &'static str {
    match &report.search {
        Some(search) if search.measures.len() > 1 => include_str!("neighbors.html"),
        _ => "",
    }
}

/// Renders facts about the data and about every model.
pub(super) fn facts(report: &Report<'_>) -> String {
    let mut out = String::new();
    if !report.facts.is_empty() {
        out += &table("Data", "", &report.facts);
    }
    for (k, model) in report.models.iter().enumerate() {
        out += &table("Model", &of_model(k), &model_facts(report, model));
    }
    out
}

fn table(heading: &str, attributes: &str, rows: &[(String, String)]) -> String {
    let mut out =
        format!("<div class=\"card\"{attributes}><h2>{heading}</h2><table class=\"facts\">");
    for (key, value) in rows {
        let (key, value) = (escape(key), escape(value));
        let _ = write!(out, "<tr><th scope=\"row\">{key}</th><td>{value}</td></tr>");
    }
    out + "</table></div>"
}

fn model_facts(report: &Report<'_>, model: &Model<'_>) -> Vec<(String, String)> {
    let count = |n: usize| tick_text(n as f64);
    let trees = model.model.trees();
    let ultrametric = trees.iter().all(Tree::is_ultrametric);
    let kind = if ultrametric {
        "ultrametric: all leaves are equally far from the root"
    } else {
        "additive: leaves at any depth"
    };
    let mut rows = vec![("file", model.file.clone())];
    if model.model.tree().is_none() {
        let weights = model.model.weights();
        let (least, most) =
            weights.iter().fold((1f64, 0f64), |(low, high), &w| (low.min(w), high.max(w)));
        rows.push(("trees", count(trees.len())));
        rows.push(("weights", format!("{} to {}", percent(least), percent(most))));
    }
    rows.push(("kind", kind.into()));
    rows.push(("points", count(model.model.points())));
    rows.push(("nodes", count(model.model.nodes())));
    if is_large(model.model) {
        let groups = count(MOST_GROUPS);
        rows.push(("drawn as", format!("a summary: at most {groups} groups of points")));
    }
    if let Some(tree) = model.model.tree() {
        let facts = tree.statistics();
        let unit = if report.unit.is_empty() { String::new() } else { format!(" {}", report.unit) };
        rows.push(("height", figure(facts.height) + &unit));
        rows.push(("total length", figure(facts.total_length) + &unit));
        let depth = format!("{:.1} on average, {} at most", facts.mean_depth, facts.max_depth);
        rows.push(("edges from root to leaf", depth));
        if facts.max_degree > 2 {
            rows.push(("most children of a node", count(facts.max_degree)));
        }
    }
    if model.history.len() > 1 {
        rows.push(("epochs", count(model.history.len() - 1)));
    }
    rows.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// Renders commands that use each model.
pub(super) fn load(report: &Report<'_>) -> String {
    let mut out = String::new();
    for (k, model) in report.models.iter().enumerate() {
        let _ = write!(out, "<div{}>", of_model(k));
        for (heading, text) in snippets(&model.file) {
            let _ = write!(
                out,
                "<div class=\"snippet\"><h3>{heading}</h3><button type=\"button\" class=\"copy\">Copy</button>\
                 <pre><code>{}</code></pre></div>",
                escape(&text)
            );
        }
        out += "</div>";
    }
    out
}

/// Returns one command per language, with the file quoted as required.
fn snippets(file: &str) -> [(&'static str, String); 3] {
    let shell = if file.contains([' ', '\'', '"', '$', '\\', '`']) {
        format!("'{}'", file.replace('\'', "'\\''"))
    } else {
        file.to_owned()
    };
    [
        ("Shell", format!("treeport distance {shell} --measures measures.npz -o distances.csv")),
        ("Rust", format!("let model = treeport::Model::load(std::path::Path::new({file:?}))?;")),
        (
            "Anything that reads safetensors or Newick",
            format!("treeport export {shell} -o tree.nwk"),
        ),
    ]
}
