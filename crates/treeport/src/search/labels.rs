//! What the measures of an index are called: names, if they have any, and numbers.
//!
//! Names come with the measures ([`Measures::with_names`]). One rule for all who add: where an index has
//! names, every measure that is added needs one that nobody has yet; where it has none, names of added
//! measures are left out.

use std::collections::{HashMap, HashSet};

use super::Index;
use crate::error::{Error, Result};
use crate::measure::Measures;

impl Index {
    /// Names its measures, in the order of their numbers.
    ///
    /// # Errors
    /// Another number of names than of measures, or two that are the same.
    pub fn set_names(&mut self, names: Vec<String>) -> Result<()> {
        check_names(&names)?;
        self.measures = self.measures.clone().with_names(names)?;
        Ok(())
    }

    /// Gives its measures other numbers, ascending, and those that are added numbers from `next_number` on.
    ///
    /// # Errors
    /// Another number of numbers than of measures, or numbers that do not ascend to below `next_number`.
    pub fn set_numbers(&mut self, numbers: Vec<usize>, next_number: usize) -> Result<()> {
        let ascends = numbers.is_sorted_by(|a, b| a < b);
        if numbers.len() != self.len() || !ascends || numbers.last() >= Some(&next_number) {
            return Err(Error::Shape {
                what: "the list of numbers of measures".into(),
                expected: format!("{} that ascend to below {next_number}", self.len()),
                found: format!("{} up to {:?}", numbers.len(), numbers.iter().max()),
            });
        }
        (self.numbers, self.next_number) = (numbers, next_number);
        Ok(())
    }

    /// The numbers of measures that are given by name, or by number where none is called so.
    ///
    /// # Errors
    /// Neither a name nor the number of a measure, or a name that two measures have.
    pub fn numbers_of(&self, names: &[String]) -> Result<Vec<usize>> {
        let mut row_of = HashMap::new();
        for (row, name) in self.measures.names().into_iter().flatten().enumerate() {
            let twice = row_of.insert(name.as_str(), row).is_some();
            if twice && names.contains(name) {
                return Err(Error::MeasureNamedTwice { name: name.clone() });
            }
        }
        let number = |name: &String| match (row_of.get(name.as_str()), name.parse()) {
            (Some(&row), _) => Ok(self.numbers[row]),
            (None, Ok(number)) => Ok(number),
            (None, Err(_)) => Err(Error::NoMeasureCalled { name: name.clone() }),
        };
        names.iter().map(number).collect()
    }

    /// These measures after its own, with the names that the rule gives them.
    pub(super) fn followed_by(&self, measures: &Measures) -> Result<Measures> {
        self.named(self.measures.followed_by(measures)?, measures)
    }

    /// All measures, its own and then those that are added, with the names that the rule gives them.
    pub(super) fn named(&self, all: Measures, measures: &Measures) -> Result<Measures> {
        let first = self.next_number == 0;
        match (self.measures.names(), measures.names()) {
            (Some(names), Some(more)) => {
                let names = [names, more].concat();
                check_names(&names)?;
                all.with_names(names)
            }
            (Some(_), None) => Err(Error::UnnamedMeasures),
            (None, Some(names)) if first => all.with_names(names.to_vec()),
            (None, _) => Ok(all),
        }
    }
}

/// Refuses measures of unequal totals, or of which two have the same name.
pub(super) fn check(measures: &Measures) -> Result<()> {
    measures.names().map_or(Ok(()), check_names)?;
    Measures::check_all_balanced(&[measures])
}

/// Refuses names of which two are the same.
pub(super) fn check_names(names: &[String]) -> Result<()> {
    let mut known = HashSet::with_capacity(names.len());
    match names.iter().find(|name| !known.insert(name.as_str())) {
        Some(name) => Err(Error::MeasureNamedTwice { name: name.clone() }),
        None => Ok(()),
    }
}
