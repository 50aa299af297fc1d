//! Summary of the report: six data sets, and four figures of other experiments.
//!
//! Its rows are extracted from the tables below it. The text around them holds for any values.

use std::fmt::Write;

use super::report::{Section, ShownTable, write_table};

/// Data sets: prefix of the table's title, and description.
const SETS: [(&str, &str); 6] = [
    ("set usca312, masses full,", "roads between 312 cities"),
    ("set usair97, masses full,", "flights between 332 airports"),
    ("set belfast, masses full,", "a bus network, 1,917 stops"),
    ("set rnaseq 10x, masses subset,", "4,360 cells, random subsets"),
    ("set twitter, masses documents,", "tweets, 5,626 words"),
    ("set bbcsport, masses documents,", "BBC Sport, 13,374 words"),
];

/// Compared methods: name of the column, and the rows it shows; of two rows the smaller value.
const METHODS: [(&str, &[&str]); 6] = [
    ("null", &["mean-label", "total-variation"]),
    ("untrained", &["average"]),
    ("paper's method", &["ult-tree (paper)"]),
    ("`tree`", &["tree"]),
    ("learned forest", &["learned-forest"]),
    ("flow", &["forest flow"]),
];

/// A figure of another experiment, with a reference figure.
struct Figure {
    experiment: &'static str,
    /// Prefix of the table's title.
    title: &'static str,
    what: &'static str,
    ours: Place,
    beside: Place,
    means: &'static str,
}

/// A cell of a table: prefix of its line, heading of its column, and its name.
struct Place {
    line: &'static [&'static str],
    column: &'static str,
    called: &'static str,
}

const fn place(line: &'static [&'static str], column: &'static str, called: &'static str) -> Place {
    Place { line, column, called }
}

const FIGURES: [Figure; 4] = [
    Figure {
        experiment: "noisy-trees",
        title: "trees ",
        what: "a hidden tree from noisy distances (σ = 5), difference to the tree found",
        ours: place(&["5.0", "additive"], "dist(T̂,T)", "additive"),
        beside: place(&["5.0", "ultrametric"], "dist(T̂,T)", "ultrametric"),
        means: "0: the hidden tree itself. It is not ultrametric, so that no ultrametric tree equals it",
    },
    Figure {
        experiment: "runtime",
        title: "set bbcsport, masses documents,",
        what: "one pair of BBC Sport articles, one thread",
        ours: place(&["ult-tree"], "time per pair", "a tree"),
        beside: place(&["exact"], "time per pair", "exact"),
        means: "what a tree saves for each pair, once it is learned",
    },
    Figure {
        experiment: "training-time",
        title: "labels ",
        what: "learning an ultrametric tree over 1,500 points",
        ours: place(&["ult-tree"], "points 1500: ours", "here"),
        beside: place(&["ult-tree"], "points 1500: paper", "the paper's table"),
        means: "what learning takes without a matrix of all pairs; the paper's time is from another machine",
    },
    Figure {
        experiment: "dial",
        title: "scene usca312, all points,",
        what: "certified intervals on the road map, upper/lower − 1 in the mean",
        ours: place(&["arcs"], "mean width", "arcs"),
        beside: place(&["flow"], "mean width", "flow"),
        means: "0: the bounds meet. A level that is proved to be near needs no exact solve",
    },
];

/// Renders the summary; empty if none of its tables exist.
pub(super) fn summary(sections: &[Section]) -> String {
    let mut text = String::new();
    let sets = set_lines(sections);
    if sets.len() > 1 {
        text.push_str(
            "\n## The rows that matter\n\nMean relative errors |W − W₁|/W₁ over pairs that were not trained on, after one \
             factor from the training labels: 0.05 is 5 % off. Read a line from left to right. **null** does not know the points: one number for \
             every pair, or a constant times total variation, whichever has the smaller error. **untrained** is average linkage, the baseline of learning. **paper's method** is run here with the paper's options; its own figure, without a factor, stands in the \
             next column. **`tree`** is one tree; **learned forest** is 16 of them. **flow** is the cost of \
             the plans of 16 unlearned trees, which needs distances between points, too.\n\n",
        );
        write_table(&mut text, &sets, "---:");
    }
    let figures = figure_lines(sections);
    if figures.len() > 1 {
        text.push_str("\n## And four more\n\n");
        write_table(&mut text, &figures, "---");
    }
    if !text.is_empty() {
        text.push_str("\nAll tables follow, folded: one part for each experiment, with the command that runs it.\n");
    }
    text
}

fn set_lines(sections: &[Section]) -> Vec<Vec<String>> {
    let mut heading: Vec<String> = vec!["data".into()];
    for (name, _) in METHODS {
        heading.push(name.into());
        if name == "paper's method" {
            heading.push("its own figure".into());
        }
    }
    let mut lines = vec![heading];
    for (title, words) in SETS {
        let Some(table) = find(sections, "real", title) else { continue };
        let mut line = vec![words.to_owned()];
        for (name, methods) in METHODS {
            let errors = methods.iter().filter_map(|&m| table.cell(&[m], "times one factor"));
            let smallest = errors.map(mean).min_by(f64::total_cmp);
            line.push(smallest.map_or("-".into(), |error| format!("{error:.3}")));
            if name == "paper's method" {
                let own = table.cell(methods, "paper").map(mean).filter(|error| error.is_finite());
                line.push(own.map_or("-".into(), |error| format!("{error:.3}")));
            }
        }
        lines.push(line);
    }
    lines
}

fn figure_lines(sections: &[Section]) -> Vec<Vec<String>> {
    let mut lines =
        vec![["what", "figure", "beside it", "what it says"].map(str::to_owned).to_vec()];
    for figure in FIGURES {
        let Some(table) = find(sections, figure.experiment, figure.title) else { continue };
        let shown = |place: &Place| {
            let cell = table.cell(place.line, place.column)?;
            Some(format!("{}: {}", place.called, cell.split(" ± ").next()?))
        };
        let (Some(ours), Some(beside)) = (shown(&figure.ours), shown(&figure.beside)) else {
            continue;
        };
        let mut what = String::new();
        let _ = write!(what, "{} (`{}`)", figure.what, figure.experiment);
        lines.push(vec![what, ours, beside, figure.means.into()]);
    }
    lines
}

fn find<'s>(sections: &'s [Section], experiment: &str, title: &str) -> Option<&'s ShownTable> {
    let section = sections.iter().find(|section| section.experiment.name == experiment)?;
    section.tables.iter().find(|table| table.title.starts_with(title))
}

impl ShownTable {
    /// Returns the cell in the line with this prefix and the column with this heading, if any.
    fn cell(&self, line: &[&str], column: &str) -> Option<&str> {
        let at = self.lines.first()?.iter().position(|heading| heading == column)?;
        let line =
            self.lines[1..].iter().find(|cells| line.iter().zip(&**cells).all(|(a, b)| a == b))?;
        line.get(at).map(|cell| &**cell).filter(|cell| *cell != "-")
    }
}

/// Parses the mean of a cell such as `0.044 ± 0.032`.
fn mean(cell: &str) -> f64 {
    cell.split(" ± ").next().and_then(|mean| mean.parse().ok()).unwrap_or(f64::INFINITY)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::find as experiment;

    fn section(name: &str, title: &str, lines: &[&[&str]]) -> Section {
        let lines = lines.iter().map(|line| line.iter().map(|&cell| cell.to_owned()).collect());
        Section {
            experiment: experiment(name).expect("an experiment"),
            made_by: String::new(),
            figures: Vec::new(),
            tables: vec![ShownTable { title: title.into(), lines: lines.collect() }],
        }
    }

    #[test]
    fn rows_are_taken_from_the_tables_below() {
        let real = section(
            "real",
            "set usca312, masses full, points 312, labels 9",
            &[
                &["method", "paper", "times one factor"],
                &["mean-label", "-", "0.300 ± 0.100"],
                &["total-variation", "-", "0.200 ± 0.100"],
                &["ult-tree (paper)", "0.282 ± 0.138", "0.081 ± 0.057"],
                &["tree", "-", "0.044 ± 0.032"],
            ],
        );
        let time = section(
            "runtime",
            "set bbcsport, masses documents, points 13374",
            &[&["method", "time per pair"], &["ult-tree", "2.10 µs"], &["exact", "623 µs"]],
        );
        let text = summary(&[real, time]);
        let row = "| roads between 312 cities | 0.200 | - | 0.081 | 0.282 | 0.044 | - | - |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("(`runtime`) | a tree: 2.10 µs | exact: 623 µs |"), "{text}");
        assert_eq!(summary(&[]), "");
    }

    #[test]
    fn every_row_finds_its_table() {
        let page = include_str!("../../../../docs/RESULTS.md");
        let (top, rest) = page.split_once("\nAll tables follow").expect("the summary ends so");
        let lines = |text: &str| text.lines().filter(|line| line.starts_with("| ")).count();
        assert_eq!(
            lines(top) - 4,
            SETS.len() + FIGURES.len(),
            "two tables, a heading and a rule each"
        );
        assert!(lines(rest) > 500);
    }
}
