//! Tables and times as text, for terminals and for Python.

/// Aligns cells in columns; the first column is flush left, the others flush right.
pub fn table(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| {
        rows.iter().filter_map(|row| row.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let pad = |(c, cell): (usize, &String)| {
            let gap = " ".repeat(widths[c] - cell.chars().count());
            if c == 0 { format!("{cell}{gap}") } else { format!("{gap}{cell}") }
        };
        let cells: Vec<String> = row.iter().enumerate().map(pad).collect();
        text.push_str(cells.join("   ").trim_end());
        text.push('\n');
    }
    text
}

/// Formats a duration with three digits and a unit.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "µs"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    format!("{} {unit}", three_digits(value))
}

/// Formats a number with three significant digits, or more if it is at least 1000.
pub fn three_digits(value: f64) -> String {
    match value {
        v if v < 10.0 => format!("{v:.2}"),
        v if v < 100.0 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}
