//! Names and numeric IDs of the measures of an index.
//!
//! Names come with the measures ([`Measures::with_names`]). If an index has names, every added
//! measure needs a new name; if it has none, names of added measures are dropped.

use std::collections::{HashMap, HashSet};

use super::Index;
use crate::error::{Error, Result};
use crate::measures::Measures;

impl Index {
    /// Names the measures, in the order of their numbers.
    ///
    /// # Errors
    /// The number of names differs from the number of measures, or two names are equal.
    pub fn set_names(&mut self, names: Vec<String>) -> Result<()> {
        check_names(&names)?;
        self.measures = self.measures.clone().with_names(names)?;
        Ok(())
    }

    /// Renumbers the measures with ascending numbers; added measures are numbered from
    /// `next_number` on.
    ///
    /// # Errors
    /// The number of numbers differs from the number of measures, or the numbers do not ascend to
    /// below `next_number`.
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

    /// Returns the numeric IDs of measures given by name, or by ID if no measure has that name.
    ///
    /// # Errors
    /// An argument is neither a name nor a number, or two measures have that name.
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

    /// Appends measures to those of the index, with names by the rule of the module.
    pub(super) fn followed_by(&self, measures: &Measures) -> Result<Measures> {
        self.named(self.measures.followed_by(measures)?, measures)
    }

    /// Names all measures, those of the index followed by the added ones, by the rule of the
    /// module.
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

/// Refuses measures of unequal totals or with duplicate names.
pub(super) fn check(measures: &Measures) -> Result<()> {
    measures.names().map_or(Ok(()), check_names)?;
    Measures::check_all_balanced(&[measures])
}

/// Refuses duplicate names.
pub(super) fn check_names(names: &[String]) -> Result<()> {
    let mut known = HashSet::with_capacity(names.len());
    match names.iter().find(|name| !known.insert(name.as_str())) {
        Some(name) => Err(Error::MeasureNamedTwice { name: name.clone() }),
        None => Ok(()),
    }
}
