//! A noisy start and the tree learned from it: \[CTW24\], the figure of a recovered tree.

use serde_json::json;
use treeport::{Kind, Tree};
use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};

use super::noisy_trees::one_recovery;
use super::{Cell, Column, Experiment, Figure, Row, Setup, Table};
use crate::Result;

pub(super) const RECOVERED_TREE: Experiment = Experiment {
    name: "recovered-tree",
    about: "a hidden tree, its noisy start and the recovered tree, side by side",
    cells,
    tables: &[Table {
        split: &["nodes", "sigma", "seed"],
        line: &["tree"],
        across: None,
        show: &[
            ("leaves", Column::Text("leaves")),
            ("dist(T̂,T)", Column::Number("tree_distance", 4)),
        ],
    }],
    figures,
    words: "The start is the single linkage of the hidden tree's distances under noise. The learned tree is additive and is \
drawn from its own root, so it may hang from another node than the hidden one; its leaf distances are what dist(T̂,T) \
compares.",
};

const NODES: usize = 24;
const SIGMA: f64 = 3.0;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    vec![Cell::new(format!("{NODES} {SIGMA}"), |_| rows(setup.seed))]
}

fn rows(seed: u64) -> Result<Vec<Row>> {
    let found = one_recovery(NODES, SIGMA, seed, Kind::Additive)?;
    let row = |(name, tree, distance): &(&str, Tree, f64)| {
        json!({
            "experiment": "recovered-tree", "nodes": NODES, "sigma": SIGMA, "seed": seed,
            "tree": name, "leaves": tree.leaves(), "tree_distance": distance,
            "newick": tree.to_newick(),
        })
    };
    Ok(found.iter().map(row).collect())
}

/// Width of one tree.
const WIDTH: f64 = 360.0;

/// Draws the trees side by side.
fn figures(rows: &[Row]) -> Vec<Figure> {
    let (mut inside, mut right, mut height) = (String::new(), 0.0, 0.0f64);
    for row in rows {
        let Some(tree) = row["newick"].as_str().and_then(|text| Tree::from_newick(text).ok())
        else {
            continue;
        };
        let title = row["tree"].as_str().unwrap_or_default().to_owned();
        let options = DendrogramOptions { title, width: WIDTH, ..DendrogramOptions::default() };
        let leaves = tree.leaves() as f64;
        let drawn = dendrogram_svg(&tree.into(), &options);
        // An `x` attribute positions a nested SVG.
        inside += &drawn.replacen("<svg ", &format!("<svg x=\"{right}\" "), 1);
        right += WIDTH;
        height = height.max(124.0 + options.leaf_height * leaves);
    }
    if inside.is_empty() {
        return Vec::new();
    }
    let open = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{right}\" height=\"{height}\" \
         viewBox=\"0 0 {right} {height}\">\n<title>a noisy start and the recovered tree</title>\n"
    );
    vec![("recovered-tree.svg".into(), open + &inside + "</svg>\n")]
}
