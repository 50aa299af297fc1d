//! One page about a model: its trees, its training, its errors, its transport plans.
//!
//! The page is a single file without any reference to another one: style, script, drawings and data
//! are inside, and a content policy forbids it to load anything and to run any other script. Charts are drawn here, by the
//! functions that also draw them for papers. The interactive parts are drawn by the page: the tree
//! (`tree.js`), the transport plans (`plan.js`), their moves on a map (`map.js`), the neighbors
//! (`neighbors.js`).

mod data;
mod large;
mod map;
mod neighbors;
mod policy;
mod sections;
mod summary;

use treeport::internal::score;
use treeport::learn::Epoch;
use treeport::{GroundMetric, Labelled, Progress, Result, Score};

use crate::svg::{self, escape};
pub use map::{places, projected};
pub use neighbors::{MOST_QUERIES, Search};

/// Everything a page shows. Lists may be empty and options missing: the page leaves those parts
/// out.
#[derive(Debug)]
pub struct Report<'a> {
    /// Heading of the page.
    pub title: String,
    /// One sentence below it.
    pub summary: String,
    /// Unit of distances: `km`; empty for none.
    pub unit: String,
    /// A few large figures with their captions.
    pub tiles: Vec<(String, String)>,
    /// The models; the first is shown first.
    pub models: Vec<Model<'a>>,
    /// Pairs of measures with known distances.
    pub test: Option<Test<'a>>,
    /// Measures whose neighbors are shown.
    pub search: Option<Search<'a>>,
    /// Names and scores of the models and of the baselines.
    pub scores: Vec<(String, Score)>,
    /// A group for every point, which gives it a color.
    pub groups: Option<Vec<String>>,
    /// Where every point is on a map, x to the right and y upwards ([`places`]); plans of the test
    /// pairs are drawn on it.
    pub places: Option<Vec<[f64; 2]>>,
    /// Facts about the data.
    pub facts: Vec<(String, String)>,
    /// The version that writes the page.
    pub version: String,
}

/// A model and what it predicts.
#[derive(Debug)]
pub struct Model<'a> {
    /// Its name in the page.
    pub name: String,
    /// Its file, for the commands that load it.
    pub file: String,
    /// The tree or the forest.
    pub model: &'a treeport::Model,
    /// The fit after every epoch; empty if not known.
    pub history: &'a [Epoch],
    /// A distance for every test pair.
    pub predicted: Vec<f64>,
    /// Certified lower and upper bounds for every test pair.
    pub bounds: Option<Vec<(f64, f64)>>,
}

/// Pairs of measures with their exact distances, and all that plans between them need.
#[derive(Clone, Debug)]
pub struct Test<'a> {
    /// Distances between points.
    pub metric: &'a GroundMetric,
    /// The measures, the pairs and their exact distances.
    pub data: &'a Labelled,
    /// Names of the measures; numbers if there are none.
    pub names: Option<Vec<String>>,
}

impl Test<'_> {
    /// The name of a measure.
    fn name(&self, measure: usize) -> String {
        measure_name(self.names.as_deref(), measure)
    }

    /// Signed relative errors; NaN where the exact distance is too near 0 ([`score::least_label`]).
    pub fn errors(&self, predicted: &[f64]) -> Vec<f64> {
        let exact = self.data.distances();
        let least = score::least_label(exact);
        let error = |(p, w): (&f64, &f64)| if *w > least { (p - w) / w } else { f64::NAN };
        predicted.iter().zip(exact).map(error).collect()
    }

    /// The number of points in both supports of every pair.
    pub fn supports(&self) -> Vec<usize> {
        let support = |r: usize| self.data.measures().row(r).support().len();
        self.data.pairs().iter().map(|&(l, r)| support(l) + support(r)).collect()
    }
}

/// The name of a measure, or its number where there are no names.
fn measure_name(names: Option<&[String]>, measure: usize) -> String {
    let given = names.and_then(|names| names.get(measure).cloned());
    given.unwrap_or_else(|| format!("measure {measure}"))
}

/// The script, in the order in which its parts need one another.
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

/// The page as HTML text; `progress` counts what is solved and may stop.
///
/// # Errors
/// Models on other points than the measures; measures of unequal totals in a [`Search`], or numbers
/// of none; `Cancelled` when asked to stop.
///
/// # Panics
/// If a model does not have one prediction for every test pair.
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
///     models: vec![model], test: None, search: None, scores: vec![], groups: None,
///     places: None, facts: vec![], version: "1".into(),
/// };
/// assert!(html(&report, &treeport::silent)?.contains("<h1>Pets</h1>"));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn html(report: &Report<'_>, progress: &Progress<'_>) -> Result<String> {
    let plans = data::choose_plans(report);
    let data = data::json(report, &plans, progress)?;
    let style = svg::style() + include_str!("page.css");
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
            ("CHARTS", &sections::charts(report, &plans)),
            ("PLANS", if plans.is_empty() { "hidden" } else { "" }),
            ("MAP", if plans.is_empty() || report.places.is_none() { "hidden" } else { "" }),
            ("NEIGHBORS", sections::neighbors(report)),
            ("FACTS", &sections::facts(report)),
            ("LOAD", &sections::load(report)),
            ("VERSION", &escape(&report.version)),
            ("DATA", &data),
            ("SCRIPT_HASH", &policy::script_hash(SCRIPT)),
            ("SCRIPT", SCRIPT),
        ],
    ))
}

/// Puts values in place of `%KEY%`, in one pass: a value that looks like a key stays as it is.
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
