//! Figures that docs/FIGURES.md quotes, by the commands that it gives for them.

use std::path::Path;

use serde_json::Value;

use crate::folder::Folder;
use crate::reproduce::{data, number};

/// A row of the table of measurements: what it quotes, and the command, without the name of the binary.
struct Quoted {
    text: String,
    command: String,
}

impl Quoted {
    fn find(beginning: &str) -> Self {
        let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/FIGURES.md");
        let page = std::fs::read_to_string(page).expect("docs/FIGURES.md");
        let row = page.lines().find(|line| line.starts_with(&format!("| {beginning}")));
        let row = row.unwrap_or_else(|| panic!("FIGURES.md has no row `{beginning}`"));
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let command = cells[2].trim_matches('`').strip_prefix("treeport-lab ");
        let command = command.unwrap_or_else(|| panic!("no command in {row}")).to_owned();
        Self { text: cells[1].to_owned(), command }
    }

    /// Asserts that the number after some words is what was found, to as many digits as it has.
    fn assert(&self, words: &str, found: f64) {
        let after = self.text.split_once(words).map(|(_, after)| after.trim_start());
        let after = after.unwrap_or_else(|| panic!("no `{words}` in {}", self.text));
        let end = after.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(after.len());
        let quoted = &after[..end];
        let digits = quoted.split_once('.').map_or(0, |(_, digits)| digits.len());
        let found = format!("{found:.digits$}");
        assert_eq!(quoted, found, "FIGURES.md says `{words} {quoted}`, `{}`", self.command);
    }
}

#[test]
fn the_dial_on_the_cities_is_as_quoted() {
    let Some(data) = data() else { return };
    let quoted = Quoted::find("a forest of 16 trees by flow");
    let arguments = format!("--scenes usca312 --json --data {}", data.display());
    let rows = Folder::new().json(&format!("{} {arguments}", quoted.command));
    let row = |level: &str| {
        let full = |row: &&Value| row["level"] == level && row["scene"] == "usca312, all points";
        rows.iter().find(full).unwrap_or_else(|| panic!("no level {level}"))
    };
    let error = |level: &str| number(&row(level)["scaled"], "mean");
    // Each list begins with these cities.
    quoted.assert("USCA312", error("flow"));
    quoted.assert("one untrained tree times a factor", error("average"));
    quoted.assert("one learned in stages", error("learned"));
    let widths = Quoted::find("certified interval around W₁");
    assert_eq!(widths.command, quoted.command);
    widths.assert("USCA312", number(row("flow"), "mean_width"));
}

#[test]
fn hidden_trees_are_found_as_quoted() {
    let quoted = Quoted::find("hidden random trees from a noisy start");
    let rows = Folder::new().json(&format!("{} --json", quoted.command));
    assert_range(&quoted, &rows, "additive");
    assert_range(&quoted, &rows, "ultrametric");
}

/// The least and the most of a kind over all levels of noise.
fn assert_range(quoted: &Quoted, rows: &[Value], kind: &str) {
    let of_kind = rows.iter().filter(|row| row["kind"] == kind);
    let found: Vec<f64> = of_kind.map(|row| number(&row["tree_distance"], "mean")).collect();
    assert_eq!(found.len(), 4, "one for every noise");
    quoted.assert(kind, found.iter().copied().fold(f64::INFINITY, f64::min));
    let (_, after) = quoted.text.split_once(kind).expect("asserted above");
    let range = Quoted { text: after.to_owned(), command: quoted.command.clone() };
    range.assert(" to ", found.iter().copied().fold(0.0, f64::max));
}
