//! Valid ranges of numeric options, with their description in errors and help.

use std::ops::{Bound, RangeBounds};

use crate::error::{Error, Result, show_number};

/// An interval of numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct OptionRange {
    low: Bound<f64>,
    high: Bound<f64>,
    /// Description of the interval in errors and help.
    pub(crate) expected: &'static str,
}

impl OptionRange {
    /// Numbers of at least 0.
    pub(crate) const NOT_NEGATIVE: Self = Self::at_least(0.0, "it must be finite and at least 0");

    /// Numbers of at least `least`.
    pub(crate) const fn at_least(least: f64, expected: &'static str) -> Self {
        Self { low: Bound::Included(least), high: Bound::Excluded(f64::INFINITY), expected }
    }

    /// Numbers above `low`.
    pub(crate) const fn above(low: f64, expected: &'static str) -> Self {
        Self { low: Bound::Excluded(low), high: Bound::Excluded(f64::INFINITY), expected }
    }

    /// Numbers from `least` to `most`, both included.
    pub(crate) const fn closed(least: f64, most: f64, expected: &'static str) -> Self {
        Self { low: Bound::Included(least), high: Bound::Included(most), expected }
    }

    /// Numbers from `least`, included, to `end`, excluded.
    pub(crate) const fn half_open(least: f64, end: f64, expected: &'static str) -> Self {
        Self { low: Bound::Included(least), high: Bound::Excluded(end), expected }
    }

    /// Checks that a number lies in the range.
    pub(crate) fn check(&self, option: &'static str, value: f64) -> Result<()> {
        if (self.low, self.high).contains(&value) {
            return Ok(());
        }
        Err(Error::BadOption { option, value: show_number(value), expected: self.expected })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_belong_to_a_range_or_do_not() {
        let inside = |range: OptionRange, value| range.check("x", value).is_ok();
        for (range, least, zero, one) in [
            (OptionRange::at_least(0.0, ""), true, true, true),
            (OptionRange::above(0.0, ""), true, false, true),
            (OptionRange::closed(0.0, 1.0, ""), true, true, true),
            (OptionRange::half_open(0.0, 1.0, ""), true, true, false),
        ] {
            assert_eq!(inside(range, f64::MIN_POSITIVE), least);
            assert_eq!((inside(range, 0.0), inside(range, 1.0)), (zero, one));
            for outside in [-1e-300, f64::NAN, f64::INFINITY] {
                assert!(!inside(range, outside), "{outside} in {range:?}");
            }
        }
        let said = OptionRange::above(0.0, "it must be above 0").check("rate", -0.5).unwrap_err();
        assert_eq!(said.to_string(), "rate is -0.5; it must be above 0");
    }
}
