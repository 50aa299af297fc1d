//! Text tables of JSON rows.

use serde_json::Value;
use treeport_report::terminal::output::seconds;

use super::Row;

/// Format of a column.
#[derive(Clone, Copy, Debug)]
pub enum Column {
    /// A word or an integer.
    Text(&'static str),
    /// A number and its number of decimals.
    Number(&'static str, usize),
    /// An object with `mean` and `std`.
    Spread(&'static str),
    /// Seconds, in a suitable unit.
    Seconds(&'static str),
}

/// Layout of tables.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Keys that split rows into tables; their values are in the titles.
    pub split: &'static [&'static str],
    /// Keys of a line.
    pub line: &'static [&'static str],
    /// Key whose values repeat the columns of [`show`](Self::show).
    pub across: Option<&'static str>,
    /// Headings and formats of the columns.
    pub show: &'static [(&'static str, Column)],
}

impl Table {
    /// Formats rows as tables with their titles; the first line of each has the headings.
    pub fn render(&self, rows: &[Row]) -> Vec<(String, Vec<Vec<String>>)> {
        let titles = distinct(rows, |row| self.title(row));
        let part = |title: String| {
            let rows: Vec<&Row> = rows.iter().filter(|row| self.title(row) == title).collect();
            let text = self.one(&rows);
            (title, text)
        };
        titles.into_iter().map(part).collect()
    }

    fn title(&self, row: &Row) -> String {
        let parts = self.split.iter().map(|key| format!("{key} {}", word(&row[*key])));
        parts.collect::<Vec<_>>().join(", ")
    }

    fn one(&self, rows: &[&Row]) -> Vec<Vec<String>> {
        let across = |row: &&Row| self.across.map_or(String::new(), |key| word(&row[key]));
        let groups = distinct(rows, across);
        let line =
            |row: &&Row| -> Vec<String> { self.line.iter().map(|key| word(&row[*key])).collect() };
        let mut heading: Vec<String> = self.line.iter().map(|key| key.replace('_', " ")).collect();
        for group in &groups {
            let over = self.across.map_or(String::new(), |key| format!("{key} {group}: "));
            heading.extend(self.show.iter().map(|(name, _)| format!("{over}{name}")));
        }
        let mut text = vec![heading];
        for keys in distinct(rows, line) {
            let mut cells = keys.clone();
            for group in &groups {
                let row = rows.iter().find(|row| line(row) == keys && across(row) == *group);
                cells.extend(
                    self.show.iter().map(|(_, show)| row.map_or("-".into(), |r| show.of(r))),
                );
            }
            text.push(cells);
        }
        text
    }
}

impl Column {
    /// Formats a cell; a dash if it is empty.
    fn of(self, row: &Row) -> String {
        let shown = match self {
            Self::Text(key) => return word(&row[key]),
            Self::Number(key, decimals) => {
                row[key].as_f64().map(|number| format!("{number:.decimals$}"))
            }
            Self::Spread(key) => {
                let (mean, std) = (row[key]["mean"].as_f64(), row[key]["std"].as_f64());
                mean.zip(std).map(|(mean, std)| format!("{mean:.3} ± {std:.3}"))
            }
            Self::Seconds(key) => row[key].as_f64().map(seconds),
        };
        shown.unwrap_or_else(|| "-".into())
    }
}

fn word(value: &Value) -> String {
    match value {
        Value::Null => "-".into(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// Returns the distinct values in order of appearance.
fn distinct<R, K: PartialEq>(rows: &[R], key: impl Fn(&R) -> K) -> Vec<K> {
    let mut keys = Vec::new();
    for row in rows {
        let found = key(row);
        if !keys.contains(&found) {
            keys.push(found);
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: Table = Table {
        split: &["set"],
        line: &["method"],
        across: Some("dim"),
        show: &[("error", Column::Spread("error")), ("time", Column::Seconds("seconds"))],
    };

    #[test]
    fn rows_become_lines_and_columns() {
        let row = |set: &str, method: &str, dim: usize, mean: f64| {
            let error = json!({ "mean": mean, "std": 0.5 });
            json!({ "set": set, "method": method, "dim": dim, "error": error, "seconds": 0.002 })
        };
        let rows = [row("a", "x", 2, 1.0), row("a", "y", 5, 2.0), row("b", "x", 2, 3.0)];
        let tables = TABLE.render(&rows);
        assert_eq!(tables.len(), 2);
        let (title, lines) = &tables[0];
        assert_eq!(title, "set a");
        assert_eq!(lines[0].join("|"), "method|dim 2: error|dim 2: time|dim 5: error|dim 5: time");
        assert_eq!(lines[1].join("|"), "x|1.000 ± 0.500|2.00 ms|-|-");
        assert_eq!(lines[2].join("|"), "y|-|-|2.000 ± 0.500|2.00 ms");
        assert!(TABLE.render(&[]).is_empty());
    }

    #[test]
    fn numbers_that_are_not_there_are_dashes() {
        let row = json!({ "error": null, "ratio": 12.345, "n": 7 });
        assert_eq!(Column::Spread("error").of(&row), "-");
        assert_eq!(Column::Number("ratio", 1).of(&row), "12.3");
        assert_eq!(Column::Text("n").of(&row), "7");
    }
}
