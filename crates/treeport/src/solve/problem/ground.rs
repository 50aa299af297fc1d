//! The ground of a problem: a metric, or a graph of several components.

use crate::measures::Measure;
use crate::metric::{Components, GroundMetric};
use crate::solve::exact::line::Line;
use crate::solve::relax::Relaxation;
use crate::solve::sides::Costs;

/// The ground of a problem: a ground metric, or a graph that may have several components.
#[derive(Clone, Copy)]
#[non_exhaustive]
pub enum Ground<'a> {
    /// Distances between all points.
    Metric(&'a GroundMetric),
    /// Distances within each component; no path connects two components.
    Components(&'a Components),
}

impl<'a> From<&'a GroundMetric> for Ground<'a> {
    fn from(metric: &'a GroundMetric) -> Self {
        Self::Metric(metric)
    }
}

impl<'a> From<&'a Components> for Ground<'a> {
    /// Returns the metric of a connected graph, or else its components.
    fn from(components: &'a Components) -> Self {
        components.whole().map_or(Self::Components(components), Self::Metric)
    }
}

impl Ground<'_> {
    pub(in crate::solve) fn points(self) -> usize {
        match self {
            Self::Metric(metric) => metric.points(),
            Self::Components(components) => components.points(),
        }
    }

    /// Returns the costs of the metric, or of the largest component; `None` without components.
    pub(in crate::solve) fn costs(&self) -> Option<Costs<'_>> {
        match self {
            Self::Metric(metric) => Some(Costs::Metric(metric)),
            Self::Components(ground) => {
                let parts = (0..ground.len()).map(|component| ground.metric(component));
                parts.max_by_key(|metric| metric.points()).map(Costs::Metric)
            }
        }
    }

    /// Returns whether distances are shortest paths, which may have to be computed first.
    pub(in crate::solve) fn is_graph(self) -> bool {
        match self {
            Self::Metric(metric) => metric.edges().is_some(),
            Self::Components(_) => true,
        }
    }

    /// Returns whether balanced problems are solved by sorting.
    pub(in crate::solve) fn is_line(self) -> bool {
        matches!(self, Self::Metric(metric) if Line::of(metric).is_some())
    }

    /// Returns the work of a problem in costs of a table that take equally long.
    pub(in crate::solve) fn work(
        self,
        relax: Relaxation<'_>,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> usize {
        if relax.is_balanced() && self.is_line() {
            return COSTS_PER_POINT * (a.support().len() + b.support().len());
        }
        arcs(a, b)
    }
}

/// Returns the number of arcs between two supports.
pub(in crate::solve) fn arcs(a: &Measure<'_>, b: &Measure<'_>) -> usize {
    a.support().len().saturating_mul(b.support().len())
}

/// Costs of a table that take as long as a point on a line.
const COSTS_PER_POINT: usize = 2;
