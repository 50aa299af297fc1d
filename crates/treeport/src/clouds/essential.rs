//! Essential classes of persistence diagrams: points that never die.
//!
//! Such points are matched only with each other, never with the diagonal. Matched in the order of
//! their births, they are as far apart as the births; diagrams with different numbers of them are
//! infinitely far apart.

use std::sync::Arc;

use crate::clouds::Clouds;
use crate::error::{Error, Result, cloud_name};

impl Clouds {
    /// Returns the births of the points of each diagram that never die, in increasing order;
    /// `None` if no diagram has any.
    pub fn births(&self) -> Option<&[Vec<f64>]> {
        self.births.as_deref()
    }

    /// Sets the births of points that never die, one list for each cloud.
    ///
    /// # Errors
    /// Another number of lists than of clouds; a birth that is not finite.
    pub fn with_births(mut self, mut births: Vec<Vec<f64>>) -> Result<Self> {
        if births.len() != self.len() {
            return Err(Error::Shape {
                what: "the births of essential classes".into(),
                expected: format!("({},), one list for each cloud", self.len()),
                found: format!("({},)", births.len()),
            });
        }
        for (cloud, births) in births.iter_mut().enumerate() {
            if let Some(point) = births.iter().position(|birth| !birth.is_finite()) {
                let cause = Error::BadCoordinate { point, axis: 0, value: births[point] };
                let name = self.names().map(|names| names[cloud].clone());
                return Err(Error::Cloud { cloud, name, cause: Box::new(cause) });
            }
            births.sort_unstable_by(f64::total_cmp);
        }
        let has_any = births.iter().any(|births| !births.is_empty());
        self.births = has_any.then(|| births.into());
        Ok(self)
    }

    /// Adds the points that never die to distances of order p between the finite points of pairs of
    /// diagrams: infinite for pairs with different numbers of them.
    ///
    /// # Errors
    /// A pair of a cloud that does not exist.
    ///
    /// # Example
    /// ```
    /// use treeport::{Clouds, PointMetric};
    /// let points = vec![0.0, 2.0, 1.0, f64::INFINITY, 4.0, f64::INFINITY];
    /// let diagrams = Clouds::diagrams(points, &[0, 2, 3, 3], None, PointMetric::Chebyshev)?;
    /// let (pairs, mut distances) = ([(0, 1), (0, 2)], [1.0, 1.0]);
    /// diagrams.add_essential(&pairs, 1.0, &mut distances)?;
    /// assert_eq!(distances, [4.0, f64::INFINITY]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn add_essential(
        &self,
        pairs: &[(usize, usize)],
        order: f64,
        distances: &mut [f64],
    ) -> Result<()> {
        let Some(births) = &self.births else { return Ok(()) };
        for (&(i, j), distance) in pairs.iter().zip(distances) {
            self.measures.get(i)?;
            self.measures.get(j)?;
            let (a, b) = (&births[i], &births[j]);
            if a.len() != b.len() {
                *distance = f64::INFINITY;
                continue;
            }
            let ways = a.iter().zip(b).map(|(a, b)| (a - b).abs());
            let all: Vec<f64> = ways.chain([*distance]).collect();
            *distance = norm(&all, order);
        }
        Ok(())
    }

    /// Refuses points that never die, for methods that do not match them.
    pub(crate) fn check_without_essential(&self) -> Result<()> {
        let births = self.births.as_deref().unwrap_or_default();
        match births.iter().position(|births| !births.is_empty()) {
            Some(cloud) => {
                let name = self.names().map(|names| names[cloud].as_str());
                Err(Error::EssentialClass { cloud: cloud_name(name, cloud) })
            }
            None => Ok(()),
        }
    }
}

/// Computes the norm of order p of some lengths.
fn norm(lengths: &[f64], order: f64) -> f64 {
    let largest = lengths.iter().copied().fold(0.0, f64::max);
    if order.is_infinite() || largest == 0.0 || largest.is_infinite() {
        return largest;
    }
    if order == 1.0 {
        return lengths.iter().sum();
    }
    let powers = lengths.iter().map(|length| (length / largest).powf(order));
    largest * powers.sum::<f64>().powf(1.0 / order)
}

/// Returns the births of two sets of clouds, one after the other.
pub(super) fn joined(sets: [&Clouds; 2]) -> Option<Arc<[Vec<f64>]>> {
    if sets.iter().all(|set| set.births.is_none()) {
        return None;
    }
    let births =
        |set: &Clouds| set.births.as_ref().map_or(vec![Vec::new(); set.len()], |all| all.to_vec());
    Some(sets.into_iter().flat_map(births).collect())
}
