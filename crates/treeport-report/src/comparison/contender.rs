//! Contenders of a comparison: the methods of a fit, the exact solver, bounds, and baselines.

use std::fmt;
use std::str::FromStr;

use treeport::{Error, GroundMetric, Method, Result};

/// A way to compute distances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Contender {
    /// A model of [`fit`](treeport::fit()).
    Fit(Method),
    /// The mean of the labels for every pair.
    MeanLabel,
    /// The cost, in the ground metric, of the plan that is optimal on a quadtree.
    Flowtree,
    /// A value between certified bounds ([`Level::Arcs`](treeport::Level::Arcs)).
    Arcs,
    /// The exact solver.
    Exact,
}

/// Contenders that are no methods of a fit, with their names.
const OTHERS: [(Contender, &str); 4] = [
    (Contender::MeanLabel, "mean-label"),
    (Contender::Flowtree, "flowtree"),
    (Contender::Arcs, "arcs"),
    (Contender::Exact, "exact"),
];

impl Contender {
    /// Returns all contenders.
    pub fn all() -> Vec<Self> {
        let methods = Method::ALL.iter().copied().map(Self::Fit);
        methods.chain(OTHERS.map(|(other, _)| other)).collect()
    }

    /// Returns the given contenders, or all, and always the exact solver, to which all others are
    /// compared.
    pub fn chosen(some: &[Self]) -> Vec<Self> {
        let mut chosen = if some.is_empty() { Self::all() } else { some.to_vec() };
        if !chosen.contains(&Self::Exact) {
            chosen.push(Self::Exact);
        }
        chosen
    }

    /// Checks whether it requires coordinates of points.
    pub fn needs_coordinates(self) -> bool {
        match self {
            Self::Fit(method) => method.supports().coordinates,
            Self::Flowtree => true,
            Self::MeanLabel | Self::Arcs | Self::Exact => false,
        }
    }

    /// Checks whether it can be used with a metric.
    pub fn is_possible(self, metric: &GroundMetric) -> bool {
        !self.needs_coordinates() || metric.coordinates().is_some()
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match OTHERS.iter().find(|(other, _)| other == self) {
            Some((_, name)) => f.pad(name),
            None => match self {
                Self::Fit(method) => f.pad(method.name()),
                _ => unreachable!("every other contender has a name"),
            },
        }
    }
}

impl FromStr for Contender {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        match OTHERS.iter().find(|(_, other)| *other == name) {
            Some((other, _)) => Ok(*other),
            None => name.parse().map(Self::Fit),
        }
    }
}
