//! Figures of \[CTW24\].

use serde_json::{Value, json};

/// Tables, separated by empty lines: name and columns, then the rows.
const TABLES: &str = include_str!("paper.csv");

/// Returns a cell, which is a number or `mean ± standard deviation`.
fn cell(table: &str, row: &str, column: &str) -> Option<&'static str> {
    let of_table = |text: &&str| text.split(',').next() == Some(table);
    let mut lines = TABLES.split("\n\n").find(of_table)?.lines();
    let column = lines.next()?.split(',').position(|name| name == column)?;
    lines.find(|line| line.split(',').next() == Some(row))?.split(',').nth(column)
}

/// Returns a number of the paper.
pub(super) fn number(table: &str, row: &str, column: &str) -> Option<f64> {
    cell(table, row, column)?.parse().ok()
}

/// Returns mean and standard deviation in the paper as JSON; null if it has none.
pub(super) fn spread(table: &str, row: &str, column: &str) -> Value {
    let parsed = || {
        let (mean, std) = cell(table, row, column)?.split_once(" ± ")?;
        mean.parse::<f64>().ok().zip(std.parse::<f64>().ok())
    };
    parsed().map_or(Value::Null, |(mean, std)| json!({ "mean": mean, "std": std }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_read_by_row_and_column() {
        let pair = |mean: f64, std: f64| json!({ "mean": mean, "std": std });
        assert_eq!(spread("uniform", "ultrametric", "2"), pair(0.104, 0.074));
        assert_eq!(spread("gaussian", "sinkhorn", "17"), pair(0.707, 0.151));
        assert_eq!(spread("uniform", "ultrametric", "3"), Value::Null);
        assert_eq!(spread("uniform", "additive", "2"), Value::Null);
        assert_eq!(spread("real", "ult-tree (paper)", "usca312"), pair(0.282, 0.138));
        assert_eq!(spread("real", "qtwd", "belfast"), Value::Null);
        assert_eq!(number("runtime", "sinkhorn", "rnaseq_10x"), Some(7.612));
        assert_eq!(number("runtime", "quadtree", "usca312"), None);
        assert_eq!(number("tree error", "ctwd", "5"), Some(0.285));
    }
}
