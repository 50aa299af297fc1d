//! Report pages of models: trees, training, errors and transport plans.
//!
//! A page is a single file: it contains style, script, drawings and data, and a content security
//! policy forbids anything else. Charts are drawn here; the page draws the interactive parts: the
//! tree (`tree.js`), the transport plans (`plan.js`), their moves on a map (`map.js`), and the
//! neighbors (`neighbors.js`).

mod data;
mod large;
mod map;
mod neighbors;
mod policy;
mod sections;
mod summary;

use treeport::labeled::score;
use treeport::learn::Epoch;
use treeport::{GroundMetric, Labeled, Progress, Result, Score};

use crate::chart::FrontPoint;
use crate::svg::{self, escape};
pub use map::{places, projected};
pub use neighbors::{MOST_QUERIES, NeighborSearch};

/// Content of a page. Parts whose lists are empty or options missing are omitted.
#[derive(Debug)]
pub struct Report<'a> {
    /// Heading of the page.
    pub title: String,
    /// One sentence below the heading.
    pub summary: String,
    /// Unit of distances, such as `km`; empty for none.
    pub unit: String,
    /// A few large figures with their captions.
    pub tiles: Vec<(String, String)>,
    /// Models; the first is shown first.
    pub models: Vec<Model<'a>>,
    /// Pairs of measures with known distances.
    pub test: Option<Test<'a>>,
    /// Measures whose neighbors are shown.
    pub search: Option<NeighborSearch<'a>>,
    /// Names and scores of the models and of the baselines.
    pub scores: Vec<(String, Score)>,
    /// Error against time of the models and of others.
    pub front: Option<Front>,
    /// Group of every point, which determines its color.
    pub groups: Option<Vec<String>>,
    /// Map coordinates of every point ([`places`]), on which plans of test pairs are drawn.
    pub places: Option<Vec<[f64; 2]>>,
    /// Facts about the data.
    pub facts: Vec<(String, String)>,
    /// Version of the program.
    pub version: String,
}

/// Chart of error against time.
#[derive(Clone, Debug)]
pub struct Front {
    /// The methods.
    pub points: Vec<FrontPoint>,
    /// Error of a constant prediction.
    pub constant_guess: Option<f64>,
    /// A sentence below the heading.
    pub note: String,
}

/// A model and its predictions.
#[derive(Debug)]
pub struct Model<'a> {
    /// Name in the page.
    pub name: String,
    /// File name, for the commands that load it.
    pub file: String,
    /// The tree or the forest.
    pub model: &'a treeport::Model,
    /// Losses after every epoch; empty if unknown.
    pub history: &'a [Epoch],
    /// Predicted distances of all test pairs.
    pub predicted: Vec<f64>,
    /// Certified lower and upper bounds for all test pairs.
    pub bounds: Option<Vec<(f64, f64)>>,
}

/// Pairs of measures with their exact distances, and the data for their plans.
#[derive(Clone, Debug)]
pub struct Test<'a> {
    /// Distances between points.
    pub metric: &'a GroundMetric,
    /// The measures, the pairs and their exact distances.
    pub data: &'a Labeled,
    /// Names of the measures; numbers if `None`.
    pub names: Option<Vec<String>>,
}

impl Test<'_> {
    fn name(&self, measure: usize) -> String {
        measure_name(self.names.as_deref(), measure)
    }

    /// Computes signed relative errors; NaN up to [`score::least_label`].
    pub fn errors(&self, predicted: &[f64]) -> Vec<f64> {
        let exact = self.data.distances();
        let least = score::least_label(exact);
        let error = |(p, w): (&f64, &f64)| if *w > least { (p - w) / w } else { f64::NAN };
        predicted.iter().zip(exact).map(error).collect()
    }

    /// Returns the total number of points in the two supports of every pair.
    pub fn supports(&self) -> Vec<usize> {
        let support = |r: usize| self.data.measures().row(r).support().len();
        self.data.pairs().iter().map(|&(l, r)| support(l) + support(r)).collect()
    }
}

/// Returns the name of a measure, or its number if there are no names.
fn measure_name(names: Option<&[String]>, measure: usize) -> String {
    let given = names.and_then(|names| names.get(measure).cloned());
    given.unwrap_or_else(|| format!("measure {measure}"))
}

/// The script; its parts are in the order of their dependencies.
const SCRIPT: &str = concat!(
    "\"use strict\";\n(() => {\n",
    include_str!("base.js"),
    include_str!("tree.js"),
    include_str!("plan.js"),
    include_str!("map.js"),
    include_str!("neighbors.js"),
    include_str!("page.js"),
    "})();\n",
);

/// Renders the page as HTML; `progress` counts solved pairs and may cancel.
///
/// # Errors
/// Models on other points than the measures; measures of unequal totals or invalid numbers in a
/// [`NeighborSearch`]; `Canceled` if `progress` requests a stop.
///
/// # Panics
/// If a model does not have one prediction per test pair.
///
/// # Example
/// ```
/// use treeport_report::report::{Model, Report, html};
/// let tree = treeport::Tree::from_newick("((cat:1,dog:1):2,ant:3);")?;
/// let pets = treeport::Model::from(tree);
/// let model = Model {
///     name: "pets".into(), file: "pets.tree".into(), model: &pets,
///     history: &[], predicted: vec![], bounds: None,
/// };
/// let report = Report {
///     title: "Pets".into(), summary: String::new(), unit: String::new(), tiles: vec![],
///     models: vec![model], test: None, search: None, scores: vec![], front: None,
///     groups: None, places: None, facts: vec![], version: "1".into(),
/// };
/// assert!(html(&report, &treeport::silent)?.contains("<h1>Pets</h1>"));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn html(report: &Report<'_>, progress: &Progress<'_>) -> Result<String> {
    let plans = data::choose_plans(report);
    let data = data::json(report, &plans, progress)?;
    let style = [svg::STYLE, include_str!("page.css")].concat();
    Ok(fill(
        include_str!("page.html"),
        &[
            ("TITLE", &escape(&report.title)),
            ("SUMMARY", &escape(&report.summary)),
            ("STYLE", &style),
            ("SWITCH", &sections::switch(report)),
            ("TILES", &sections::tiles(report)),
            ("TREES", &sections::trees(report)),
            ("SCORES", &sections::scores(report)),
            ("FRONT", &sections::front(report)),
            ("CHARTS", &sections::charts(report, &plans)),
            ("PLANS", if plans.is_empty() { "hidden" } else { "" }),
            ("MAP", if plans.is_empty() || report.places.is_none() { "hidden" } else { "" }),
            ("NEIGHBORS", sections::neighbors(report)),
            ("FACTS", &sections::facts(report)),
            ("LOAD", &sections::load(report)),
            ("VERSION", &escape(&report.version)),
            ("DATA", &data),
            ("SCRIPT_HASH", policy::SCRIPT_HASH),
            ("SCRIPT", SCRIPT),
        ],
    ))
}

/// Replaces `%KEY%` by values in one pass; a value that resembles a key is not replaced again.
fn fill(template: &str, values: &[(&str, &str)]) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('%') {
        out += before;
        let value = after.split_once('%').and_then(|(key, tail)| {
            values.iter().find(|(name, _)| *name == key).map(|(_, value)| (*value, tail))
        });
        if let Some((value, tail)) = value {
            out += value;
            rest = tail;
        } else {
            out.push('%');
            rest = after;
        }
    }
    out + rest
}

#[cfg(test)]
mod tests;
