//! Indexes of clouds, which are measures with their own points, like queries.
//!
//! Columns are the points of all clouds, one cloud after the other. A search has the same levels of
//! bounds as for measures on shared points, except for the initial bound. In low dimensions that
//! bound uses potentials of the clouds, tabulated at the points of a [net](super::net). In high
//! dimensions the points of a net are as far from a query as its neighbors are, so the bound uses
//! the potential of the query at the points of the clouds. The build chooses the faster of these
//! two bounds. Memory never grows with clouds × points.

use std::collections::HashSet;

use super::build::{SampledSearches, sampled_rows};
use super::indexed_points::IndexedPoints;
use super::penalties::{self, Prices};
use super::potential_table::PotentialTable;
use super::potentials::Reference;
use super::query::SearchRequest;
use super::query_distances::QueryDistances;
use super::{Index, IndexOptions, names, net};
use crate::clouds::Clouds;
use crate::error::{Error, Result, cloud_name};
use crate::measures::{Measure, Measures, check_totals};
use crate::memory;
use crate::metric::GroundMetric;
use crate::numeric::scale::power_of_two;
use crate::progress::tasks::INDEXING;
use crate::progress::{Counter, Progress, silent};

/// Measures to search for or to add: on the points of an index, or clouds with their own points.
#[derive(Clone, Copy, Debug)]
pub enum MeasureSet<'a> {
    /// Measures on the points of the index.
    OnPoints(&'a Measures),
    /// Clouds in the space of the index.
    Clouds(&'a Clouds),
}

impl<'a> From<&'a Measures> for MeasureSet<'a> {
    fn from(measures: &'a Measures) -> Self {
        Self::OnPoints(measures)
    }
}

impl<'a> From<&'a Clouds> for MeasureSet<'a> {
    fn from(clouds: &'a Clouds) -> Self {
        Self::Clouds(clouds)
    }
}

impl MeasureSet<'_> {
    /// Number of measures.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::OnPoints(measures) => measures.len(),
            Self::Clouds(clouds) => clouds.len(),
        }
    }
}

/// Queries, with the metric and the penalties of their points if they have their own.
pub(super) struct ResolvedQueries<'a> {
    pub(super) measures: &'a Measures,
    query_metric: Option<GroundMetric>,
    prices: Option<Vec<f64>>,
}

impl ResolvedQueries<'_> {
    /// Completes a search request for these queries.
    pub(super) fn complete<'r>(&'r self, request: SearchRequest<'r>) -> SearchRequest<'r> {
        SearchRequest {
            query_metric: self.query_metric.as_ref(),
            prices: self.prices.as_deref(),
            ..request
        }
    }
}

/// Maximum number of points of a net; with twice as many, filling tables takes longer than it
/// saves.
const MOST_CENTERS: usize = 1 << 12;

/// Minimum number of points of a net that give useful bounds.
const LEAST_CENTERS: usize = 32;

/// Default memory for potentials as a multiple of the bytes of masses and coordinates. The rest of
/// an index needs about as much again as these.
const SHARE_OF_DATA: u64 = 16;

/// Largest mean loss of a bound on the way to a net, as a share of a neighbor's distance.
const MOST_LOST: f64 = 0.3;

impl Index {
    /// Builds an index of clouds with a metric of all their points (see [`Clouds::ground`]). It
    /// keeps their names, if any, and drops points without mass.
    ///
    /// # Errors
    /// A metric of other points or without coordinates; clouds of unequal totals or with duplicate
    /// names; not enough memory; a pair that cannot be solved; [`Error::Canceled`] if `progress`,
    /// which counts clouds, requests a stop.
    ///
    /// # Example
    /// ```
    /// use treeport::{Accuracy, Clouds, Index, IndexOptions, PointMetric, silent};
    /// let clouds = Clouds::uniform(2, vec![0.0, 0.0, 0.0, 1.0, 5.0, 5.0], &[0, 2, 3])?;
    /// let ground = clouds.ground(PointMetric::Euclidean)?;
    /// let index = Index::of_clouds(&clouds, &ground, &IndexOptions::default(), &silent)?;
    /// let query = Clouds::uniform(2, vec![3.0, 0.5], &[0, 1])?;
    /// let found = index.nearest(&query, 1, Accuracy::EXACT, &silent)?;
    /// assert_eq!(found[0].found[0].0, 0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn of_clouds(
        clouds: &Clouds,
        metric: &GroundMetric,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let measures = clouds.measures();
        if clouds.points() > 0 {
            measures.check_points(metric.points())?;
        }
        measures.names().map_or(Ok(()), names::check_names)?;
        if metric.vectors().is_none() && metric.points() > 0 {
            return Err(clouds.too_far());
        }
        let prices = penalties::prices_of(clouds, metric, options.penalty)?;
        if prices.is_none() {
            clouds.clone().with_mass()?.check_balanced(None)?;
        }
        let prices = prices.map(|prices| of_points_with_mass(&prices, measures));
        let (metric, measures) = points_with_mass(metric, measures)?;
        Self::of_contiguous(&metric, &measures, prices, options, progress)
    }

    /// Builds the index of clouds whose points are contiguous and all have mass; `prices` are the
    /// penalties of the points.
    fn of_contiguous(
        metric: &GroundMetric,
        measures: &Measures,
        prices: Option<Vec<f64>>,
        options: &IndexOptions,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let mut reference = Reference::for_index(metric, measures, options);
        let typical = reference.typical_distance(metric);
        let unit = power_of_two(typical);
        reference.set_scale(typical, unit);
        let indexed = all_points(metric, unit);
        let first: Vec<u32> = reference.points.iter().map(|&point| point as u32).collect();
        let used = first.len();
        let net = IndexedPoints::with_order(metric, first, used, unit);
        let mut index = Self::without_potentials(indexed, Some(net), measures, reference, options);
        index.prices = prices.map(|prices| Prices::new(options.penalty, prices, measures, unit));
        index.fill_duals(0, &Counter::new(INDEXING, None, progress))?;
        let plain = index.choose_levels(progress)?;
        index.table_on_net(plain, progress)?;
        Ok(index)
    }

    /// Tabulates potentials at the points of a net if searches become faster than the `plain` ones.
    fn table_on_net(&mut self, plain: SampledSearches, progress: &Progress<'_>) -> Result<()> {
        let count = self.centers_that_fit();
        let no_net = plain.queries == 0 || count < LEAST_CENTERS;
        if no_net || !self.indexed.metric.is_metric() || self.prices.is_some() {
            return Ok(());
        }
        let net = self.net_of(count);
        if self.mean_loss(&net)? > MOST_LOST * plain.farthest {
            return Ok(());
        }
        let bare = self.net.replace(net);
        let (by_query, rounds) = (self.by_query, self.rounds);
        self.fill_potentials(0, &Counter::new(INDEXING, self.len(), progress))?;
        let tabled = self.choose_levels(progress)?;
        if tabled.time >= plain.time {
            (self.net, self.by_query, self.rounds) = (bare, by_query, rounds);
            self.potentials = PotentialTable::default();
        }
        Ok(())
    }

    /// Builds a net of about `count` points: those of the reference and the centers of cells.
    pub(super) fn net_of(&self, count: usize) -> IndexedPoints {
        let metric = &self.indexed.metric;
        let mut mass = vec![0.0; metric.points()];
        for measure in self.measures.iter() {
            measure.iter().for_each(|(point, of)| mass[point] = of / measure.total());
        }
        let mut points: Vec<u32> = self.reference.points.iter().map(|&at| at as u32).collect();
        let known: HashSet<u32> = points.iter().copied().collect();
        let centers = net::centers(metric, &mass, count.saturating_sub(points.len()));
        points.extend(centers.iter().filter(|center| !known.contains(center)));
        let used = points.len();
        IndexedPoints::with_order(metric, points, used, self.indexed.unit)
    }

    /// Returns the number of net points whose table fits into the memory limit.
    fn centers_that_fit(&self) -> usize {
        let dim = self.indexed.metric.vectors().map_or(0, |of| of.0);
        let data = memory::size_of::<f64>(&[self.columns.len(), dim + 1]);
        let bytes = self.options.bytes(SHARE_OF_DATA * data);
        let most = bytes / PotentialTable::size(1, self.len()).max(1);
        usize::try_from(most).unwrap_or(usize::MAX).min(MOST_CENTERS)
    }

    /// Estimates the mean loss of a query's bound on its way to a net, from sampled clouds.
    fn mean_loss(&self, net: &IndexedPoints) -> Result<f64> {
        let rows = sampled_rows(self.len());
        let (mut distances, mut lost) = (QueryDistances::default(), 0.0);
        for &row in &rows {
            let measure = self.measures.row(row);
            // Exclude the cloud's own points, as a query's points are not in the net. They are
            // contiguous.
            let own = measure.support()[0]..measure.support()[0] + measure.support().len() as u32;
            let others = |column: u32| !own.contains(&net.points[column as usize]);
            let nearest = distances.nearest_columns(net, None, measure.support(), others)?;
            for ((point, mass), &column) in measure.iter().zip(&nearest) {
                let center = net.points[column as usize] as usize;
                lost += mass * self.indexed.metric.distance(point, center);
            }
        }
        Ok(lost / rows.len() as f64)
    }

    /// Resolves queries: the measures, and the metric and penalties of their points if they have
    /// their own.
    ///
    /// # Errors
    /// Measures on other points, clouds in another space or with other totals, or measures in place
    /// of clouds or vice versa.
    pub(super) fn resolved<'a>(&self, set: MeasureSet<'a>) -> Result<ResolvedQueries<'a>> {
        match (set, self.is_of_clouds()) {
            (MeasureSet::OnPoints(measures), false) => {
                measures.check_points(self.indexed.metric.points())?;
                Measures::check_all_balanced(&[measures, &self.measures])?;
                Ok(ResolvedQueries { measures, query_metric: None, prices: None })
            }
            (MeasureSet::Clouds(clouds), true) => {
                let (query_metric, prices) =
                    (Some(self.metric_of(clouds)?), self.prices_of(clouds)?);
                self.check_totals(clouds)?;
                Ok(ResolvedQueries { measures: clouds.measures(), query_metric, prices })
            }
            (MeasureSet::OnPoints(_), true) => Err(Error::CloudsWanted),
            (MeasureSet::Clouds(_), false) => Err(Error::SharedPointsWanted),
        }
    }

    /// Returns the penalties at all points of other clouds if the index is relaxed: the clouds' own
    /// ones if the clouds of the index have their own.
    fn prices_of(&self, clouds: &Clouds) -> Result<Option<Vec<f64>>> {
        let same = self.prices.as_ref().and_then(|prices| prices.same);
        let prices = penalties::prices_of(clouds, &self.indexed.metric, same)?;
        if prices.is_some() != self.prices.is_some() {
            return Err(Error::MixedPenalties);
        }
        Ok(prices)
    }

    /// Refuses clouds without mass or with other totals, unless the index is relaxed.
    fn check_totals(&self, clouds: &Clouds) -> Result<()> {
        if self.prices.is_some() {
            return Ok(());
        }
        clouds.clone().with_mass()?.check_balanced(None)?;
        let Some(theirs) = clouds.measures().iter().next() else { return Ok(()) };
        for (row, ours) in self.measures.iter().enumerate() {
            let [left_total, right_total] = [theirs.total(), ours.total()];
            check_totals((0, left_total), (row, right_total)).map_err(|_| {
                let name = self.measures.names().map(|names| names[row].as_str());
                let right = cloud_name(name, self.numbers[row]);
                let left = clouds.display_name(0);
                Error::UnbalancedClouds { left, right, left_total, right_total }
            })?;
        }
        Ok(())
    }

    /// Returns the metric of all points of other clouds.
    fn metric_of(&self, clouds: &Clouds) -> Result<GroundMetric> {
        let dim = self.indexed.metric.coordinates().map_or(0, |of| of.0);
        if clouds.dim() != dim {
            return Err(Error::Shape {
                what: "the table of coordinates".into(),
                expected: format!("rows of {dim}, as the clouds of the index have"),
                found: format!("rows of {}", clouds.dim()),
            });
        }
        if clouds.points() == 0 {
            return Ok(self.indexed.metric.clone());
        }
        let coordinates = clouds.coordinates();
        let step = format_args!("the coordinates of {} points", clouds.points());
        memory::check(
            step,
            memory::size_of::<f64>(&[coordinates.len()]),
            "ask for fewer at a time",
        )?;
        let metric = self.indexed.metric.with_points(coordinates.to_vec());
        let metric = metric.map_err(|error| clouds.placed(error))?;
        if metric.shares_space(&self.indexed.metric) { Ok(metric) } else { Err(clouds.too_far()) }
    }

    /// Returns whether mass may remain unmatched at a penalty, so that totals may differ.
    pub fn is_relaxed(&self) -> bool {
        self.prices.is_some()
    }

    /// Returns the penalty per unit of unmatched mass, if it is the same at all points.
    pub fn penalty(&self) -> Option<f64> {
        self.prices.as_ref()?.same
    }

    /// Checks whether the measures are clouds, each with its own points.
    pub fn is_of_clouds(&self) -> bool {
        self.net.is_some()
    }

    /// Adds clouds; see [`add`](Self::add).
    pub(super) fn add_clouds(&mut self, clouds: &Clouds, progress: &Progress<'_>) -> Result<usize> {
        self.check_totals(clouds)?;
        let added = clouds.len();
        if added == 0 {
            return Ok(self.next_number());
        }
        let prices = self.prices_of(clouds)?;
        let prices = prices.map(|prices| of_points_with_mass(&prices, clouds.measures()));
        let (others, theirs) = points_with_mass(&self.metric_of(clouds)?, clouds.measures())?;
        if self.is_empty() {
            let theirs = self.named(theirs.clone(), &theirs)?;
            self.replace_clouds(&others, &theirs, prices, progress)?;
            return Ok(self.number_added(added));
        }
        let own: Vec<u32> = (0..self.columns.len() as u32).collect();
        let all: Vec<u32> = (0..theirs.entries() as u32).collect();
        let metric = if own.len() + all.len() > 0 {
            self.indexed.metric.joined(&own, &others, &all)?
        } else {
            others
        };
        if !metric.shares_space(&self.indexed.metric) {
            return Err(clouds.too_far());
        }
        let (first, points) = (self.measures.entries(), own.len() + all.len());
        let measures = self.measures.beside(&theirs, first, points.max(1))?;
        let measures = self.named(measures, &theirs)?;
        let rows = self.len();
        let indexed = all_points(&metric, self.indexed.unit);
        let before = (
            std::mem::replace(&mut self.indexed, indexed),
            std::mem::replace(&mut self.measures, measures),
            self.net.take(),
            self.prices.clone(),
        );
        if let (Some(prices), Some(more)) = (&mut self.prices, prices) {
            let of_columns = [&prices.of_columns[..], &more].concat();
            *prices = Prices::new(prices.same, of_columns, &self.measures, self.indexed.unit);
        }
        self.net = before.2.as_ref().map(|net| net.on(&metric));
        let appended = self.measures.clone();
        self.append(appended.iter().skip(rows));
        let tabled = self.potentials.len() == rows;
        let counter = Counter::new(INDEXING, added, progress);
        let done = if tabled {
            self.fill_potentials(rows, &counter)
        } else {
            self.fill_duals(rows, &counter)
        };
        if let Err(error) = done {
            (self.indexed, self.measures, self.net, self.prices) = before;
            self.truncate_from(rows);
            return Err(error);
        }
        Ok(self.number_added(added))
    }

    /// Replaces the index by a new one of these clouds; numbers are unchanged.
    fn replace_clouds(
        &mut self,
        metric: &GroundMetric,
        measures: &Measures,
        prices: Option<Vec<f64>>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        self.replace_by(Self::of_contiguous(metric, measures, prices, &self.options, progress)?);
        Ok(())
    }

    /// Keeps only the clouds of `rows`. Their points are renumbered; points of the net and of the
    /// reference that belonged to removed clouds are dropped.
    pub(super) fn keep_clouds(&mut self, rows: &[usize]) -> Result<()> {
        let kept_numbers = rows.iter().map(|&row| self.numbers[row]).collect();
        let kept = self.measures.select(rows)?;
        let (metric, measures) = points_with_mass(&self.indexed.metric, &kept)?;
        let prices = self.prices.as_ref();
        let prices = prices.map(|prices| of_points_with_mass(&prices.of_columns, &kept));
        let mut place = vec![None; self.columns.len()];
        let points = kept.iter().flat_map(|row| row.support());
        points.zip(0..).for_each(|(&point, at)| place[point as usize] = Some(at));
        let net = self.tabled();
        let columns: Vec<u32> = (0..net.points.len() as u32)
            .filter(|&column| place[net.points[column as usize] as usize].is_some())
            .collect();
        let mut reference = self.reference.clone();
        reference.keep_points(&columns, net);
        if reference.points.is_empty() || rows.is_empty() {
            self.replace_clouds(&metric, &measures, prices, &silent)?;
            self.numbers = kept_numbers;
            return Ok(());
        }
        let moved = |point: usize| place[point].unwrap_or(0);
        reference.points.iter_mut().for_each(|point| *point = moved(*point) as usize);
        let of_net: Vec<u32> =
            columns.iter().map(|&column| moved(net.points[column as usize] as usize)).collect();
        let used = of_net.len();
        let net = IndexedPoints::with_order(&metric, of_net, used, self.indexed.unit);
        self.potentials = self.potentials.select(rows, &columns)?;
        self.own_duals = self.duals_of(rows);
        (self.numbers, self.reference, self.net) = (kept_numbers, reference, Some(net));
        self.indexed = all_points(&metric, self.indexed.unit);
        if let (Some(before), Some(prices)) = (&mut self.prices, prices) {
            *before = Prices::new(before.same, prices, &measures, self.indexed.unit);
        }
        self.truncate_from(0);
        self.append(measures.iter());
        self.measures = measures;
        Ok(())
    }
}

/// Checks whether these are clouds: measures with coordinates on contiguous points of their own,
/// all with mass.
#[cfg(feature = "io")]
pub(super) fn are_clouds(metric: &GroundMetric, measures: &Measures) -> bool {
    let follow =
        measures.iter().flat_map(|row| row.support()).zip(0..).all(|(&at, next)| at == next);
    metric.vectors().is_some()
        && follow
        && (measures.entries() == metric.points() || measures.entries() == 0)
}

/// Uses all points of a metric as columns, in their order.
pub(super) fn all_points(metric: &GroundMetric, unit: f64) -> IndexedPoints {
    let count = metric.points();
    IndexedPoints::with_order(metric, (0..count as u32).collect(), count, unit)
}

/// Drops points without mass, after which the points of clouds are contiguous.
fn points_with_mass(
    metric: &GroundMetric,
    measures: &Measures,
) -> Result<(GroundMetric, Measures)> {
    let with_mass: Vec<u32> = measures.iter().flat_map(|row| row.support()).copied().collect();
    let mut first = 0;
    let rows = measures.iter().map(|row| {
        first += row.masses().len();
        (first - row.masses().len()..first).zip(row.masses().iter().copied())
    });
    let renumbered = Measures::from_rows_or_empty(with_mass.len().max(1), rows)?;
    let renumbered = renumbered.with_optional_names(measures.names().map(<[String]>::to_vec))?;
    let metric = if with_mass.is_empty() {
        metric.one_point()?
    } else {
        metric.joined(&with_mass, metric, &[])?
    };
    Ok((metric, renumbered))
}

/// Selects the penalties of the points with mass.
fn of_points_with_mass(prices: &[f64], measures: &Measures) -> Vec<f64> {
    measures.iter().flat_map(|row| row.support()).map(|&point| prices[point as usize]).collect()
}

/// Puts two measures, each with the metric of its points, on the points of both.
pub(super) fn side_by_side(
    (x, a): (&GroundMetric, &Measure<'_>),
    (y, b): (&GroundMetric, &Measure<'_>),
) -> Result<(GroundMetric, Measures)> {
    let metric = x.joined(a.support(), y, b.support())?;
    let numbered = |first: usize, of: &Measure<'_>| {
        let places = first..first + of.masses().len();
        places.zip(of.masses().iter().copied()).collect::<Vec<_>>()
    };
    let rows = [numbered(0, a), numbered(a.masses().len(), b)];
    Ok((metric, Measures::from_rows_or_empty(a.masses().len() + b.masses().len(), rows)?))
}
