//! Dendrograms: pictures of trees with the root at the left and named leaves at the right.
//!
//! A leaf is drawn at its distance from the root, so trees need not be ultrametric or binary. All
//! passes are loops over the tree's node order, so a chain of 20,000 nodes needs no recursion.

use std::collections::HashMap;
use std::fmt::Write;

use treeport::{Model, Tree};

use crate::svg::{self, Place, escape, group_class, num};

/// Options of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct DendrogramOptions {
    /// Heading of the picture.
    pub title: String,
    /// Unit of lengths for the axis, such as `km`; empty for none.
    pub unit: String,
    /// Width in pixels; the height depends on the number of leaves.
    pub width: f64,
    /// Pixels between leaves if names are shown.
    pub leaf_height: f64,
    /// Name of the group of every leaf, which colors its subtrees; `None` for no groups.
    pub groups: Option<Vec<String>>,
    /// Largest number of leaves with names; larger trees have a bounded height.
    pub label_limit: usize,
}

impl Default for DendrogramOptions {
    fn default() -> Self {
        Self {
            title: "Tree".into(),
            unit: String::new(),
            width: 900.0,
            leaf_height: 11.0,
            groups: None,
            label_limit: 1000,
        }
    }
}

/// Height of the plot area without names.
const TALLEST_WITHOUT_NAMES: f64 = 4000.0;
const MARGIN: f64 = 16.0;
/// Width of a letter of a leaf's name, slightly above the average at 9.5 px.
const LETTER: f64 = 5.3;
/// Radius of the bend of an edge at its parent.
const BEND: f64 = 2.5;

/// Draws a tree as an SVG picture for light and dark pages. For a forest, it draws the tree with
/// the largest weight and says so.
///
/// Children are sorted by size with the largest subtree lowest, and edges do not cross. A subtree
/// whose leaves all belong to one group has the group's color. The axis of an ultrametric tree
/// shows the distance between leaves that meet there, that of other trees the distance from the
/// root.
///
/// # Complexity
/// O(n log n) time, O(n) memory.
///
/// # Example
/// ```
/// use treeport_report::dendrogram::{DendrogramOptions, dendrogram_svg};
/// let tree = treeport::Tree::new(3, vec![3, 3, 4, 4, 4], vec![1.0, 1.0, 3.0, 2.0, 0.0])?;
/// let picture = dendrogram_svg(&tree.into(), &DendrogramOptions::default());
/// assert!(picture.starts_with("<svg"));
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn dendrogram_svg(model: &Model, options: &DendrogramOptions) -> String {
    let chosen = heaviest(model);
    let tree = &model.trees()[chosen];
    let groups = LeafGroups::new(tree, options.groups.as_deref());
    // A line for the number of the tree.
    let above = usize::from(model.tree().is_none());
    let layout = Layout::new(tree, options, above + legend_rows(&groups.names, options.width));
    let mut out = svg::open(options.width, layout.bottom + 46.0, &options.title, Place::File);
    if model.tree().is_none() {
        let (all, weight) = (model.trees().len(), 100.0 * model.weights()[chosen]);
        let text =
            format!("tree {} of {all}, which has the largest weight: {weight:.1} %", chosen + 1);
        svg::label(&mut out, (16.0, 43.0), "", &text);
        out.push('\n');
    }
    draw_legend(&mut out, &groups.names, above, options.width);
    draw_axis(&mut out, tree, &layout, &options.unit);
    draw_edges(&mut out, tree, &layout, &groups);
    if layout.names {
        draw_names(&mut out, tree, &layout, &groups);
    }
    out + "</svg>\n"
}

/// Returns the tree with the largest weight; the first in a tie.
pub(crate) fn heaviest(model: &Model) -> usize {
    let weights = model.weights();
    (1..weights.len()).fold(0, |best, k| if weights[k] > weights[best] { k } else { best })
}

/// Groups of subtrees.
pub(crate) struct LeafGroups {
    /// Group names in order of first appearance.
    pub(crate) names: Vec<String>,
    /// For every node the group of all its leaves, if they share one.
    pub(crate) of: Vec<Option<usize>>,
}

impl LeafGroups {
    pub(crate) fn new(tree: &Tree, of_leaf: Option<&[String]>) -> Self {
        let mut names: Vec<String> = Vec::new();
        let mut number = HashMap::new();
        let mut of = vec![None; tree.nodes()];
        let leaves = of_leaf.unwrap_or_default().iter().take(tree.leaves());
        for (leaf, name) in leaves.enumerate() {
            of[leaf] = Some(*number.entry(name.clone()).or_insert_with(|| {
                names.push(name.clone());
                names.len() - 1
            }));
        }
        let mut seen = vec![false; tree.nodes()];
        for v in 0..tree.root() {
            let p = tree.parents()[v] as usize;
            if !seen[p] {
                (seen[p], of[p]) = (true, of[v]);
            } else if of[p] != of[v] {
                of[p] = None;
            }
        }
        Self { names, of }
    }
}

/// Positions in pixels.
struct Layout {
    x: Vec<f64>,
    y: Vec<f64>,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    names: bool,
}

impl Layout {
    fn new(tree: &Tree, options: &DendrogramOptions, rows_above: usize) -> Self {
        let leaves = tree.leaves();
        let names = leaves <= options.label_limit;
        let longest = (0..leaves).map(|i| tree.name(i).chars().count()).max().unwrap_or(0);
        // Names take at most half of the picture.
        let room =
            if names { (longest as f64 * LETTER + 8.0).min(options.width / 2.0) } else { 0.0 };
        let (left, right) = (MARGIN, options.width - MARGIN - room);
        let step = if names {
            options.leaf_height
        } else {
            options.leaf_height.min(TALLEST_WITHOUT_NAMES / leaves as f64)
        };
        let top = 72.0 + 18.0 * rows_above as f64;
        let from_root = tree.root_distances();
        let deepest = from_root.iter().copied().fold(0.0, f64::max);
        let scale = if deepest > 0.0 { (right - left) / deepest } else { 0.0 };
        let mut y = vec![0.0; tree.nodes()];
        for (row, leaf) in leaf_order(tree).into_iter().enumerate() {
            y[leaf] = top + (row as f64 + 0.5) * step;
        }
        center_parents(tree, &mut y);
        let x = from_root.iter().map(|d| left + d * scale).collect();
        Self { x, y, left, right, top, bottom: top + leaves as f64 * step, names }
    }
}

/// Centers every inner node between its first and last child.
fn center_parents(tree: &Tree, y: &mut [f64]) {
    let mut extent = vec![(f64::INFINITY, f64::NEG_INFINITY); tree.nodes()];
    for v in 0..tree.nodes() {
        if v >= tree.leaves() {
            y[v] = f64::midpoint(extent[v].0, extent[v].1);
        }
        let p = tree.parents()[v] as usize;
        extent[p] = (extent[p].0.min(y[v]), extent[p].1.max(y[v]));
    }
}

/// Returns the leaves from top to bottom: depth first, small subtrees first, then by number.
fn leaf_order(tree: &Tree) -> Vec<usize> {
    let mut size = vec![0usize; tree.nodes()];
    for v in 0..tree.nodes() {
        size[v] += usize::from(v < tree.leaves());
        if v != tree.root() {
            size[tree.parents()[v] as usize] += size[v];
        }
    }
    let children = tree.children();
    let mut order = Vec::with_capacity(tree.leaves());
    let mut stack = vec![tree.root()];
    while let Some(v) = stack.pop() {
        if v < tree.leaves() {
            order.push(v);
        }
        let mut next: Vec<usize> = children.of(v).iter().map(|&c| c as usize).collect();
        next.sort_by_key(|&c| std::cmp::Reverse((size[c], c)));
        stack.extend(next);
    }
    order
}

/// Returns the position of each group's swatch: (x, row).
fn legend_places(names: &[String], width: f64) -> Vec<(f64, usize)> {
    let (mut x, mut row) = (MARGIN, 0);
    let mut places = Vec::with_capacity(names.len());
    for name in names {
        let needed = 30.0 + 6.2 * name.chars().count() as f64;
        if x + needed > width - MARGIN && x > MARGIN {
            (x, row) = (MARGIN, row + 1);
        }
        places.push((x, row));
        x += needed;
    }
    places
}

fn legend_rows(names: &[String], width: f64) -> usize {
    legend_places(names, width).last().map_or(0, |&(_, row)| row + 1)
}

fn draw_legend(out: &mut String, names: &[String], above: usize, width: f64) {
    for (g, (x, row)) in legend_places(names, width).into_iter().enumerate() {
        let (class, y) = (group_class(g), 38.0 + 18.0 * (above + row) as f64);
        let _ = writeln!(
            out,
            "<rect class=\"{class}\" x=\"{}\" y=\"{}\" width=\"10\" height=\"10\" rx=\"2\"/>\
             <text class=\"tp-ink tp-small\" x=\"{}\" y=\"{}\">{}</text>",
            num(x),
            num(y),
            num(x + 15.0),
            num(y + 9.0),
            escape(&names[g])
        );
    }
}

/// Draws grid lines with values above and below, and the title of the axis.
fn draw_axis(out: &mut String, tree: &Tree, layout: &Layout, unit: &str) {
    let deepest = tree.root_distances().into_iter().fold(0.0, f64::max);
    let ultrametric = tree.is_ultrametric();
    let meaning = if ultrametric {
        "distance between leaves that meet here"
    } else {
        "distance from the root"
    };
    let unit = if unit.is_empty() { String::new() } else { format!(" ({unit})") };
    let range = if ultrametric { 2.0 * deepest } else { deepest };
    let (top, bottom) = (num(layout.top - 4.0), num(layout.bottom + 4.0));
    for tick in svg::ticks(0.0, range, 8) {
        let part = if range > 0.0 { tick / range } else { 0.0 };
        let part = if ultrametric { 1.0 - part } else { part };
        let at = layout.left + part * (layout.right - layout.left);
        let x = num(at);
        let _ = writeln!(out, "<path class=\"tp-grid\" d=\"M{x} {top}V{bottom}\"/>");
        // Centered values at the ends would extend beyond the picture.
        let anchor = if part < 0.03 { "start" } else { "middle" };
        for y in [layout.top - 9.0, layout.bottom + 16.0] {
            svg::label(out, (at, y), anchor, &svg::tick_text(tick));
            out.push('\n');
        }
    }
    for y in [layout.top - 24.0, layout.bottom + 32.0] {
        svg::label(out, (layout.left, y), "", &format!("{meaning}{unit}"));
        out.push('\n');
    }
}

/// Draws one path per color; each edge follows its parent's column, bends, and runs to the child.
fn draw_edges(out: &mut String, tree: &Tree, layout: &Layout, groups: &LeafGroups) {
    let mut paths = vec![String::new(); groups.names.len() + 1];
    for v in 0..tree.root() {
        let p = tree.parents()[v] as usize;
        let (from, to) = ((layout.x[p], layout.y[p]), (layout.x[v], layout.y[v]));
        let path = &mut paths[groups.of[v].map_or(0, |g| g + 1)];
        let bend = BEND.min((to.1 - from.1).abs()).min(to.0 - from.0);
        let _ = write!(path, "M{} {}", num(from.0), num(from.1));
        if bend > 0.1 {
            let before = to.1 - bend.copysign(to.1 - from.1);
            let (x, y) = (num(from.0), num(to.1));
            let _ = write!(path, "V{}Q{x} {y} {} {y}", num(before), num(from.0 + bend));
        } else {
            let _ = write!(path, "V{}", num(to.1));
        }
        let _ = write!(path, "H{}", num(to.0));
    }
    for (k, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
        let class = if k == 0 { "tp-mixed".into() } else { group_class(k - 1) };
        let _ = writeln!(out, "<path class=\"tp-line {class}\" d=\"{path}\"/>");
    }
}

fn draw_names(out: &mut String, tree: &Tree, layout: &Layout, groups: &LeafGroups) {
    for leaf in 0..tree.leaves() {
        let class = groups.of[leaf].map_or_else(|| "tp-ink".into(), group_class);
        let (x, y) = (num(layout.x[leaf] + 4.0), num(layout.y[leaf] + 3.3));
        let name = escape(&tree.name(leaf));
        let _ = writeln!(out, "<text class=\"tp-leaf {class}\" x=\"{x}\" y=\"{y}\">{name}</text>");
    }
}

#[cfg(test)]
mod tests;
