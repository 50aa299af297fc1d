//! Lookup of measures in lists of pairs.

use std::collections::HashMap;

use anyhow::{Result, bail, ensure};
use treeport::Measures;

/// Finds measures by ID, or by number unless IDs may be numbers.
pub(crate) struct MeasureFinder<'a> {
    measures: &'a Measures,
    by_name: HashMap<&'a str, usize>,
    /// Numbers denote measures, because no ID is a number.
    numbers: bool,
}

impl<'a> MeasureFinder<'a> {
    /// Creates a finder for these measures.
    pub(crate) fn new(measures: &'a Measures) -> Self {
        let names = measures.names().unwrap_or_default();
        let by_name = names.iter().enumerate().map(|(k, name)| (name.as_str(), k)).collect();
        let numbers = names.iter().all(|name| name.parse::<f64>().is_err());
        Self { measures, by_name, numbers }
    }

    /// Finds the measure that a cell denotes.
    pub(crate) fn find(&self, what: &str, cell: &str) -> Result<usize> {
        if let Some(&found) = self.by_name.get(cell) {
            return Ok(found);
        }
        if !self.numbers {
            bail!("{what} is `{cell}`, and no measure has that ID");
        }
        // Integers beyond 2⁵³ are not exact; no list of measures is that long.
        let number = cell.parse::<f64>().ok();
        let whole = number.filter(|n| *n >= 0.0 && n.fract() == 0.0 && *n < 9e15);
        let expected = if self.by_name.is_empty() { "the number" } else { "the ID or the number" };
        ensure!(whole.is_some(), "{what} is {cell}, expected {expected} of a measure");
        let number = whole.map_or(0, |number| number as usize);
        self.measures.get(number)?;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_come_before_numbers() {
        let plain = Measures::unit_masses(2, [0, 1, 1]).expect("measures");
        assert_eq!(MeasureFinder::new(&plain).find("left", "2.0").expect("a number"), 2);
        let with = |names: [&str; 3]| {
            plain.clone().with_names(names.map(String::from).to_vec()).expect("names")
        };
        let text = with(["a", "b", "c"]);
        assert_eq!(MeasureFinder::new(&text).find("left", "c").expect("an ID"), 2);
        assert_eq!(MeasureFinder::new(&text).find("left", "1").expect("a number"), 1);
        let numbers = with(["2", "b", "0"]);
        assert_eq!(MeasureFinder::new(&numbers).find("left", "0").expect("an ID"), 2);
        // Measure number 1 has another ID.
        let error = MeasureFinder::new(&numbers).find("left", "1").expect_err("no ID").to_string();
        assert_eq!(error, "left is `1`, and no measure has that ID");
    }
}
