//! Penalties of clouds (the cost per unit of mass left behind at each point), and persistence
//! diagrams, whose penalty is the distance to the diagonal.

use std::sync::Arc;

use crate::clouds::Clouds;
use crate::error::{Error, Result};
use crate::metric::{Geometry, PointMetric};
use crate::solve::relax;

/// Penalties of the points of all clouds, one cloud after the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct CloudPenalties {
    prices: Arc<[f64]>,
    /// Metric whose distances the penalties are, if any.
    metric: Option<PointMetric>,
}

impl CloudPenalties {
    /// Returns the penalties of some ranges of points.
    pub(crate) fn some<'r>(
        &self,
        ranges: impl Iterator<Item = &'r std::ops::Range<usize>>,
    ) -> Self {
        let prices = ranges.flat_map(|range| &self.prices[range.clone()]).copied().collect();
        Self { prices, metric: self.metric }
    }

    /// Concatenates the penalties of two sets of clouds.
    pub(crate) fn joined(ours: Option<&Self>, theirs: Option<&Self>) -> Result<Option<Self>> {
        match (ours, theirs) {
            (None, None) => Ok(None),
            (Some(ours), Some(theirs)) if ours.metric == theirs.metric => {
                let prices = ours.prices.iter().chain(&*theirs.prices).copied().collect();
                Ok(Some(Self { prices, metric: ours.metric }))
            }
            _ => Err(Error::MixedPenalties),
        }
    }
}

impl Clouds {
    /// Sets a penalty for each point, one cloud after the other: the cost per unit of mass left
    /// behind there.
    ///
    /// # Errors
    /// The number of penalties is not the number of points; a penalty is negative or not finite
    /// (the error names its cloud and its position in it).
    ///
    /// # Example
    /// ```
    /// use treeport::{Clouds, PointMetric, Problems, silent};
    /// let clouds = Clouds::new(1, vec![0.0, 9.0, 1.0], &[0, 2, 3], &[1.0, 1.0, 1.0])?;
    /// let clouds = clouds.with_penalties(&[5.0, 0.5, 5.0])?;
    /// let metric = PointMetric::Euclidean;
    /// let (ground, penalties) = (clouds.ground(metric)?, clouds.penalties(metric)?.unwrap());
    /// let problems = Problems::new(&ground, clouds.measures(), &[(0, 1)]);
    /// assert_eq!(problems.with_penalties(penalties).values(&silent)?, [1.5]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn with_penalties(self, penalties: &[f64]) -> Result<Self> {
        self.with_penalties_of(penalties, None)
    }

    /// Sets penalties ([`with_penalties`](Self::with_penalties)) that are distances of a metric;
    /// transport by another metric then rejects them.
    ///
    /// # Errors
    /// See [`with_penalties`](Self::with_penalties).
    pub fn with_penalties_of(
        mut self,
        penalties: &[f64],
        metric: Option<PointMetric>,
    ) -> Result<Self> {
        relax::check(penalties, self.points()).map_err(|error| self.placed(error))?;
        self.penalties = Some(CloudPenalties { prices: penalties.into(), metric });
        Ok(self)
    }

    /// Returns the penalties of all points, one cloud after the other, if there are any, for
    /// transport by a metric.
    ///
    /// # Errors
    /// The penalties are distances of another metric, or `geometry` has a period.
    pub fn penalties(&self, geometry: impl Into<Geometry>) -> Result<Option<&[f64]>> {
        let Some(CloudPenalties { prices, metric }) = &self.penalties else { return Ok(None) };
        let Geometry { metric: asked, period } = geometry.into();
        match metric {
            Some(made) if *made != asked || period.is_some() => {
                let with = if period.is_some() { " with a period" } else { "" };
                let (made, asked) = (made.to_string(), format!("{asked}{with}"));
                Err(Error::OtherPenalties { made, asked })
            }
            _ => Ok(Some(prices)),
        }
    }

    /// Returns the penalties of all points, if there are any, and the metric whose distances they
    /// are.
    pub fn own_penalties(&self) -> Option<(&[f64], Option<PointMetric>)> {
        self.penalties.as_ref().map(|penalties| (&*penalties.prices, penalties.metric))
    }

    /// Creates persistence diagrams: diagram `r` has the rows `start[r]..start[r + 1]` of
    /// (birth, death).
    ///
    /// Every point has mass 1. Its penalty is its distance to the diagonal: for a persistence
    /// (death − birth) of t, this is t/√2 by the Euclidean metric, t/2 by the Chebyshev and t by
    /// the Manhattan one. Diagrams may be empty.
    ///
    /// Points with an infinite death (essential classes) are no points of the clouds. They are
    /// matched among themselves by [`add_essential`](Self::add_essential).
    ///
    /// # Errors
    /// Bounds that do not fit; an odd number of births and deaths; a birth or death that is not a
    /// number; a death before the birth; any other metric.
    ///
    /// # Example
    /// ```
    /// use treeport::{Clouds, PointMetric, Problems, silent};
    /// // One point against itself, moved a little, and one near the diagonal.
    /// let points = vec![0.0, 10.0, 0.0, 11.0, 3.0, 3.5];
    /// let metric = PointMetric::Manhattan;
    /// let diagrams = Clouds::diagrams(points, &[0, 1, 3], None, metric)?;
    /// let (ground, penalties) = (diagrams.ground(metric)?, diagrams.penalties(metric)?.unwrap());
    /// let problems = Problems::new(&ground, diagrams.measures(), &[(0, 1)]);
    /// assert_eq!(problems.with_penalties(penalties).values(&silent)?, [1.5]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn diagrams(
        mut points: Vec<f64>,
        start: &[usize],
        names: Option<Vec<String>>,
        metric: PointMetric,
    ) -> Result<Self> {
        let share = to_diagonal(metric)?;
        let masses = vec![1.0; points.len() / 2];
        let is_essential = |row: &[f64]| row.get(1) == Some(&f64::INFINITY);
        let given = points.chunks(2).any(is_essential).then(|| points.clone());
        // Errors name the points as they were given, those that never die among them.
        for row in points.chunks_mut(2) {
            if is_essential(row) {
                row[1] = row[0];
            }
        }
        let mut clouds = Self::named(2, points, start, &masses, names)?;
        let rows = clouds.coordinates().as_chunks::<2>().0;
        if let Some(point) = rows.iter().position(|[birth, death]| death < birth) {
            let [birth, death] = rows[point];
            return Err(clouds.placed(Error::DiesUnborn { point, birth, death }));
        }
        if let Some(points) = given {
            let names = clouds.names().map(<[String]>::to_vec);
            let (mut kept, mut ends, mut births) = (Vec::new(), vec![0], Vec::new());
            for range in start.windows(2) {
                let rows = points[2 * range[0]..2 * range[1]].chunks(2);
                kept.extend(rows.clone().filter(|row| !is_essential(row)).flatten().copied());
                ends.push(kept.len() / 2);
                births.push(rows.filter(|row| is_essential(row)).map(|row| row[0]).collect());
            }
            let masses = vec![1.0; kept.len() / 2];
            clouds = Self::named(2, kept, &ends, &masses, names)?.with_births(births)?;
        }
        let rows = clouds.coordinates().as_chunks::<2>().0;
        let penalties: Vec<f64> =
            rows.iter().map(|[birth, death]| (death - birth) * share).collect();
        clouds.with_penalties_of(&penalties, Some(metric))
    }
}

/// Returns the distance to the diagonal of a point with persistence 1.
fn to_diagonal(metric: PointMetric) -> Result<f64> {
    match metric {
        PointMetric::Euclidean => Ok(std::f64::consts::FRAC_1_SQRT_2),
        PointMetric::Chebyshev => Ok(0.5),
        PointMetric::Manhattan => Ok(1.0),
        other => Err(Error::UnknownName {
            what: "the metric of diagrams",
            name: other.to_string(),
            known: "euclidean, chebyshev or manhattan".into(),
        }),
    }
}
