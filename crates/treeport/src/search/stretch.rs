//! Estimates of distances from lower bounds, for approximate searches and time limits.
//!
//! An approximate search takes candidates in the order of their estimated distances: lower bounds
//! times a factor of their level. It solves the best candidates exactly, and rules the others out
//! without a proof. The factors are measured by a few exact searches in the collection: how much
//! larger the distances of neighbors are than their bounds.

use super::candidates::{KNOWN, SHARED};
use super::penalties::scale_of;
use super::query::{ROUNDS, SearchEnd, SearchRequest, Searcher};
use super::{Index, build};
use crate::accuracy::Accuracy;
use crate::error::Result;
use crate::progress::tasks::SEARCHING;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Number of levels of an unsolved candidate: shared, transformed, and each round of sweeps.
const LEVELS: usize = 2 + ROUNDS;

/// Number of neighbors of the searches that measure factors.
const NEIGHBORS: usize = 10;

/// Share of neighbors whose distance may be smaller than estimated, for each level. A neighbor that
/// is estimated too far away is found only if it is estimated nearer than the last one found.
const TOO_FAR: f64 = 0.1;

/// Factors from the lower bounds of each level to estimated distances; 1 in exact searches.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Stretch([f64; LEVELS]);

impl Stretch {
    /// Lower bounds themselves.
    pub(super) const NONE: Self = Self([1.0; LEVELS]);

    /// Typical factors, by which a search whose time is over chooses the measures to solve: the
    /// medians of Ohsumed and BBC Sport are 1.16 and 1.18, 1.04, 1.01, 1.004; those of tweets 1.06,
    /// 1.01, 1.003.
    pub(super) const TYPICAL: Self = Self([1.15, 1.035, 1.01, 1.004, 1.0]);

    /// Returns the factor of a level.
    pub(super) fn of(&self, level: u8) -> f64 {
        if level == KNOWN { 1.0 } else { self.0[usize::from(level)] }
    }

    /// Creates factors from the ratios of distances to bounds at each level. They do not grow from
    /// one level to the next, as bounds do not fall.
    fn from_ratios(ratios: [Vec<f64>; LEVELS]) -> Self {
        let (mut factors, mut last) = ([1.0; LEVELS], f64::INFINITY);
        for (factor, mut ratios) in factors.iter_mut().zip(ratios) {
            if !ratios.is_empty() {
                let at = (TOO_FAR * ratios.len() as f64) as usize;
                let ratio = *ratios.select_nth_unstable_by(at, f64::total_cmp).1;
                *factor = ratio.max(1.0).min(last);
            }
            last = *factor;
        }
        Self(factors)
    }
}

impl Index {
    /// Returns the factors of searches of an accuracy.
    pub(super) fn stretch_for(
        &self,
        accuracy: Accuracy,
        progress: &Progress<'_>,
    ) -> Result<Stretch> {
        match accuracy {
            Accuracy::Approximate => self.stretch(progress),
            _ => Ok(Stretch::NONE),
        }
    }

    /// Returns the factors of approximate searches; measures them at the first call.
    pub(super) fn stretch(&self, progress: &Progress<'_>) -> Result<Stretch> {
        if let Some(stretch) = self.stretch.get() {
            return Ok(*stretch);
        }
        // Outside of the cell, whose lock would block other threads of the same pool.
        let measured = self.measured_stretch(progress)?;
        Ok(*self.stretch.get_or_init(|| measured))
    }

    fn measured_stretch(&self, progress: &Progress<'_>) -> Result<Stretch> {
        let rows = build::sampled_rows(self.len());
        let counter = Counter::new(SEARCHING, rows.len(), progress);
        let one = |searcher: &mut Searcher, at: usize| {
            let (row, request) =
                (rows[at], self.request(SearchEnd::Count(NEIGHBORS), Accuracy::EXACT));
            let request = SearchRequest { skipped: Some(row), ..request };
            let query = self.measures.row(row);
            searcher.refined_bounds = Some(Vec::new());
            let found = searcher.search(self, &query, request, &counter)?;
            counter.add(1)?;
            let refined = searcher.refined_bounds.take().unwrap_or_default();
            let unit = self.indexed.unit * scale_of(self, &query);
            let mut ratios: [Vec<f64>; LEVELS] = Default::default();
            for (number, distance) in found.found {
                let Some(row) = self.row_of(number) else { continue };
                let shared = (SHARED, f64::from(searcher.bounds[row]) * unit);
                let others = refined.iter().filter(|refined| refined.0 as usize == row);
                for (level, bound) in
                    others.map(|&(_, level, bound)| (level, bound)).chain([shared])
                {
                    if bound > 0.0 && distance > 0.0 {
                        ratios[usize::from(level)].push(distance / bound);
                    }
                }
            }
            Ok(ratios)
        };
        let found = parallel::try_map_with(rows.len(), Searcher::default, one)?;
        let mut all: [Vec<f64>; LEVELS] = Default::default();
        for of_query in found {
            all.iter_mut().zip(of_query).for_each(|(all, ratios)| all.extend(ratios));
        }
        Ok(Stretch::from_ratios(all))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn factors_fall_from_level_to_level() {
        let ratios = [vec![2.0; 9], vec![1.5; 3], vec![1.8; 4], vec![], vec![0.9]];
        assert_eq!(Stretch::from_ratios(ratios), Stretch([2.0, 1.5, 1.5, 1.0, 1.0]));
        assert_eq!(Stretch::from_ratios(Default::default()), Stretch::NONE);
        let spread = (0..100).map(|k| 1.0 + f64::from(k) / 100.0).collect();
        let one = Stretch::from_ratios([spread, vec![], vec![], vec![], vec![]]);
        assert_eq!((one.of(SHARED), one.of(KNOWN)), (1.1, 1.0));
    }
}
