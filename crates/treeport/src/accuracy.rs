//! Accuracy of an answer: a level (`tree`, `flow`, `arcs`, `exact`), `approximate`, or a relative
//! error.
//!
//! Each kind of call supports some accuracies and rejects the others ([`Accuracy::check_for`]).

use std::fmt;
use std::str::FromStr;

use crate::error::{Error, Result};
use crate::names::named;

/// Levels of accuracy; each is slower than the one before, and closer to exact transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Level {
    /// The mean of the trees' distances: an ℓ₁ embedding.
    Tree,
    /// The true cost of the trees' plans.
    Flow,
    /// A value between the bounds of a few Sinkhorn sweeps; does not use the trees.
    Arcs,
    /// W₁.
    Exact,
}

named! { Level, "the level", {
    Tree: "tree", "the mean distance of the trees";
    Flow: "flow", "the true cost of their plans";
    Arcs: "arcs", "between the bounds of a few Sinkhorn sweeps";
    Exact: "exact", "W₁ itself";
} }

impl Level {
    /// All levels, the cheapest first.
    pub const ALL: [Self; 4] = [Self::Tree, Self::Flow, Self::Arcs, Self::Exact];
}

/// Requested accuracy: `tree`, `flow`, `arcs`, `exact`, `approximate`, or a number.
///
/// ```
/// use treeport::{Accuracy, Level};
/// assert_eq!("flow".parse::<Accuracy>()?, Accuracy::Level(Level::Flow));
/// assert_eq!("0.02".parse::<Accuracy>()?, Accuracy::Within(0.02));
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Accuracy {
    /// The same level for every pair.
    Level(Level),
    /// Largest relative error, with a proof. For an estimate: error of its value, at the lowest
    /// level that can guarantee it. For a problem: relative gap of its bounds. For a search: every
    /// reported distance is at most 1 + ε times the true distance of its rank.
    Within(f64),
    /// Neighbors that are probably the nearest, with exact distances: candidates are chosen by
    /// estimated distances, and the best are solved.
    Approximate,
}

/// Largest relative gap of an exact answer; a smaller accuracy is refused, but 0 means exact.
pub(crate) const PROOF_TOLERANCE: f64 = 1e-9;

/// Name of [`Accuracy::Approximate`].
const APPROXIMATE: &str = "approximate";

impl Accuracy {
    /// An exact answer, with a proof.
    pub const EXACT: Self = Self::Level(Level::Exact);

    /// Checks that `question` supports this accuracy and that a relative error is a valid number.
    pub fn check_for(self, question: Question) -> Result<()> {
        let usable = match (question, self) {
            (Question::Estimate, Self::Level(_)) | (Question::Search, Self::Approximate) => true,
            (Question::Estimate, Self::Within(error)) => error >= 0.0,
            (Question::Problem, Self::Within(error)) => error == 0.0 || error >= PROOF_TOLERANCE,
            (Question::Estimate | Question::Problem, Self::Approximate) => false,
            (Question::Search | Question::Problem, Self::Level(level)) => level == Level::Exact,
            (Question::Search, Self::Within(error)) => error >= 0.0 && error.is_finite(),
        };
        if usable { Ok(()) } else { Err(self.refused(question)) }
    }

    /// Returns the error for an accuracy that `question` does not support.
    pub(crate) fn refused(self, question: Question) -> Error {
        question.refuse(self.to_string())
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Level(level) => level.fmt(f),
            Self::Within(error) => error.fmt(f),
            Self::Approximate => f.pad(APPROXIMATE),
        }
    }
}

impl FromStr for Accuracy {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        if let Ok(level) = text.parse() {
            return Ok(Self::Level(level));
        }
        if text == APPROXIMATE {
            return Ok(Self::Approximate);
        }
        match text.parse::<f64>() {
            Ok(error) if error >= 0.0 => Ok(Self::Within(error)),
            _ => Err(Error::UnknownName {
                what: "the accuracy",
                name: text.into(),
                known: "tree, flow, arcs, exact, approximate or a number of at least 0".into(),
            }),
        }
    }
}

/// Kinds of calls that have an [`Accuracy`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Question {
    /// Distances of pairs, by an [`Estimator`](crate::Estimator).
    Estimate,
    /// Nearest neighbors, by an [`Index`](crate::Index).
    Search,
    /// Bounds of one [`Problem`](crate::Problem).
    Problem,
}

impl Question {
    /// Parses an accuracy and checks that this kind of call supports it.
    pub fn read(self, text: &str) -> Result<Accuracy> {
        let accuracy: Accuracy = text.parse().map_err(|_| self.refuse(text.into()))?;
        accuracy.check_for(self)?;
        Ok(accuracy)
    }

    /// Returns the error for an unsupported accuracy, with the supported ones.
    pub fn refuse(self, name: String) -> Error {
        let (what, known) = self.usable();
        Error::UnknownName { what, name, known: known.into() }
    }

    /// Returns the supported accuracies, as errors list them.
    pub(crate) const fn expected(self) -> &'static str {
        self.usable().1
    }

    /// Returns the name of the accuracy in errors, and its supported values.
    const fn usable(self) -> (&'static str, &'static str) {
        match self {
            Self::Estimate => {
                ("the accuracy of an estimate", "tree, flow, arcs, exact or a number of at least 0")
            }
            Self::Search => {
                ("the accuracy of a search", "exact, approximate or a finite number of at least 0")
            }
            Self::Problem => ("the accuracy of a problem", "exact, 0 or a number of at least 1e-9"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_numbers_are_read_and_printed() {
        let numbers = [0.0, 0.02, f64::INFINITY].map(Accuracy::Within);
        let levels = Level::ALL.map(Accuracy::Level);
        for accuracy in levels.into_iter().chain(numbers).chain([Accuracy::Approximate]) {
            assert_eq!(accuracy.to_string().parse::<Accuracy>().unwrap(), accuracy);
        }
        for bad in ["near", "", "-0.1", "NaN", "Exact"] {
            let message = bad.parse::<Accuracy>().unwrap_err().to_string();
            let known = "tree, flow, arcs, exact, approximate or a number of at least 0";
            assert_eq!(message, format!("the accuracy is `{bad}`; it must be {known}"));
        }
    }

    #[test]
    fn a_question_refuses_what_it_cannot_use() {
        let refused = |question, accuracy: Accuracy| {
            accuracy.check_for(question).map_err(|error| error.to_string()).err()
        };
        for level in Level::ALL {
            let (level, exact) = (Accuracy::Level(level), level == Level::Exact);
            assert_eq!(refused(Question::Estimate, level), None);
            assert_eq!(refused(Question::Search, level).is_none(), exact);
        }
        assert_eq!(refused(Question::Search, Accuracy::Approximate), None);
        assert_eq!(refused(Question::Problem, Accuracy::Within(0.1)), None);
        assert_eq!(refused(Question::Problem, Accuracy::EXACT), None);
        assert_eq!(
            refused(Question::Problem, Accuracy::Approximate).unwrap(),
            "the accuracy of a problem is `approximate`; it must be exact, 0 or a number of at least 1e-9"
        );
        assert_eq!(refused(Question::Search, Accuracy::Within(0.1)), None);
        assert_eq!(refused(Question::Estimate, Accuracy::Within(f64::INFINITY)), None);
        for bad in [-0.1, f64::NAN] {
            assert!(refused(Question::Estimate, Accuracy::Within(bad)).is_some());
        }
        for bad in [-0.1, f64::NAN, f64::INFINITY] {
            assert!(refused(Question::Search, Accuracy::Within(bad)).is_some());
        }
        assert_eq!(
            refused(Question::Estimate, Accuracy::Approximate).unwrap(),
            "the accuracy of an estimate is `approximate`; it must be tree, flow, arcs, exact or a \
             number of at least 0"
        );
        assert_eq!(Question::Search.read("0.5").unwrap(), Accuracy::Within(0.5));
        for bad in ["flow", "fast", "-1", "inf"] {
            let said = Question::Search.read(bad).unwrap_err().to_string();
            assert!(said.starts_with(&format!("the accuracy of a search is `{bad}`;")), "{said}");
        }
        assert_eq!(
            refused(Question::Search, Accuracy::Level(Level::Flow)).unwrap(),
            "the accuracy of a search is `flow`; it must be exact, approximate or a finite number of \
             at least 0"
        );
    }
}
