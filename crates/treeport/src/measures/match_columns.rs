//! Matching of table columns to points by name, and the policy for points without a column.

use std::collections::{HashMap, HashSet};

use crate::error::{Error, Result, without_column};
use crate::names::named;

/// Policy for points without a column in a table of masses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// Such points count as 0, and the caller prints a warning.
    #[default]
    Warn,
    /// Such a table is an error.
    Error,
}

named! { Missing, "missing", {
    Warn: "warn", "they count as 0, and a line says how many";
    Error: "error", "the table is refused";
} }

/// Points without a column in a table with named columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingColumns {
    /// Number of points without a column.
    pub missing: usize,
    /// Number of points.
    pub points: usize,
    /// First point without a column.
    pub example: String,
}

impl MissingColumns {
    /// Returns the points without a column, or `None` if every point has one.
    pub fn among(columns: &[String], points: &[String]) -> Option<Self> {
        let there: HashSet<&str> = columns.iter().map(String::as_str).collect();
        let mut without = points.iter().filter(|name| !there.contains(name.as_str()));
        let example = without.next()?.clone();
        Some(Self { missing: 1 + without.count(), points: points.len(), example })
    }

    /// Returns the warning itself, or an error if `missing` is [`Missing::Error`].
    pub fn unless(self, missing: Missing) -> Result<Self> {
        match missing {
            Missing::Warn => Ok(self),
            Missing::Error => {
                let Self { missing, points, example } = self;
                Err(Error::MissingColumns { missing, points, example })
            }
        }
    }
}

impl std::fmt::Display for MissingColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { missing, points, example } = self;
        let they = if *missing == 1 { "it counts" } else { "they count" };
        write!(f, "{}; {they} as 0", without_column(*missing, *points, example))
    }
}

/// Returns, for every column, the number of the point with the same name.
pub(crate) fn match_names(columns: &[String], points: &[String]) -> Result<Vec<usize>> {
    let unmatched = |reason: String| Err(Error::UnmatchedNames { reason });
    let mut number = HashMap::with_capacity(points.len());
    for (point, name) in points.iter().enumerate() {
        if let Some(first) = number.insert(name.as_str(), point) {
            return unmatched(format!("points {first} and {point} are both called `{name}`"));
        }
    }
    let mut column_of = vec![None; points.len()];
    let mut places = Vec::with_capacity(columns.len());
    for (column, name) in columns.iter().enumerate() {
        let Some(&point) = number.get(name.as_str()) else {
            return unmatched(format!("column {column} is `{name}`, and no point is called so"));
        };
        if let Some(first) = column_of[point].replace(column) {
            return unmatched(format!("columns {first} and {column} are both `{name}`"));
        }
        places.push(point);
    }
    Ok(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_without_a_column_are_counted() {
        let names = |text: &str| text.split(' ').map(String::from).collect::<Vec<_>>();
        let points = names("a b c d");
        assert_eq!(MissingColumns::among(&names("d c b a"), &points), None);
        let found = MissingColumns::among(&names("b d"), &points).unwrap();
        assert_eq!(found.to_string(), "2 of 4 points have no column, such as `a`; they count as 0");
        let error = found.unless(Missing::Error).unwrap_err().to_string();
        assert_eq!(
            error,
            "2 of 4 points have no column, such as `a`; give every point one, of zeros where it has no mass"
        );
        let found = MissingColumns::among(&names("a b d"), &points).unwrap();
        assert_eq!(found.to_string(), "1 of 4 points has no column, such as `c`; it counts as 0");
    }
}
