//! An index of clouds: measures that bring their own points, as queries do.
//!
//! Columns are the points of all clouds, one cloud after the other. The levels of a search are those of
//! shared points; what differs is the bound that all candidates begin with. With few coordinates it
//! comes from potentials of the clouds, tabled at the points of a [net](super::net); with many, where the way to any
//! net is as long as that to the neighbors, from the potential of the query at the points of the clouds. Which of
//! them pays is found out while building. Nothing that is kept grows with clouds × points.

use std::collections::HashSet;

use super::build::{SampledSearches, sampled_rows};
use super::indexed_points::IndexedPoints;
use super::penalties::{self, Prices};
use super::potential_table::PotentialTable;
use super::potentials::Reference;
use super::query::{SearchRequest, Searcher};
use super::query_distances::QueryDistances;
use super::{Index, IndexOptions, labels, net};
use crate::clouds::Clouds;
use crate::error::{Error, Result, cloud_label};
use crate::measure::{Measure, Measures, check_totals};
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::{Counter, Progress, silent};
use crate::rounding::lowered_once;
use crate::steps::INDEXING;
use crate::units::power_of_two;

/// Measures to look for or to add: on the points of an index, or clouds with points of their own.
#[derive(Clone, Copy, Debug)]
pub enum MeasureSet<'a> {
    /// On the points of the index.
    OnPoints(&'a Measures),
    /// In the space of its clouds.
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
    /// The number of measures.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::OnPoints(measures) => measures.len(),
            Self::Clouds(clouds) => clouds.len(),
        }
    }
}

/// Measures to look for, with the metric of their points and their prices where they bring their own.
pub(super) struct ResolvedQueries<'a> {
    pub(super) measures: &'a Measures,
    others: Option<GroundMetric>,
    prices: Option<Vec<f64>>,
}

impl ResolvedQueries<'_> {
    /// What is asked, of these.
    pub(super) fn asked<'r>(&'r self, asked: SearchRequest<'r>) -> SearchRequest<'r> {
        SearchRequest { others: self.others.as_ref(), prices: self.prices.as_deref(), ..asked }
    }
}

/// The most points of a net: with twice as many, tables take longer to fill than they spare.
const MOST_CENTERS: usize = 1 << 12;

/// With fewer, a net says nothing.
const LEAST_CENTERS: usize = 32;

/// Bytes for potentials, where nothing is said: so many times those of masses and coordinates. The rest of an index
/// takes about as many again as these.
const SHARE_OF_DATA: u64 = 16;

/// The largest share of the distance of a neighbor that may be lost on the way to a net.
const MOST_LOST: f64 = 0.3;

impl Index {
    /// Builds an index of clouds, measured by a metric of all their points (see [`Clouds::ground`]). It keeps
    /// their names, if they have any, and no points without mass.
    ///
    /// # Errors
    /// A metric of other points, or without coordinates; clouds of unequal totals or of the same name; no memory, a
    /// pair that cannot be solved, or [`Error::Cancelled`] when `progress`, which counts clouds, asks to stop.
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
        measures.names().map_or(Ok(()), labels::check_names)?;
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

    /// The index of clouds whose points follow each other, all with mass, and the prices of these.
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

    /// Tables potentials at the points of a net where that pays, compared with searches without.
    fn table_on_net(&mut self, plain: SampledSearches, progress: &Progress<'_>) -> Result<()> {
        let count = self.centers_that_fit();
        let says_little = plain.queries == 0 || count < LEAST_CENTERS;
        if says_little || !self.indexed.metric.is_metric() || self.prices.is_some() {
            return Ok(());
        }
        let net = self.net_of(count);
        if self.lost_on(&net)? > MOST_LOST * plain.farthest {
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

    /// A net of about so many points: those of the reference, and the centers of cells.
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

    /// The number of points of a net whose table fits.
    fn centers_that_fit(&self) -> usize {
        let dim = self.indexed.metric.vectors().map_or(0, |of| of.0);
        let data = memory::size_of::<f64>(&[self.columns.len(), dim + 1]);
        let bytes = self.options.bytes(SHARE_OF_DATA * data);
        let most = bytes / PotentialTable::size(1, self.len()).max(1);
        usize::try_from(most).unwrap_or(usize::MAX).min(MOST_CENTERS)
    }

    /// What some clouds would lose on their way to a net, in the mean: as distances are.
    fn lost_on(&self, net: &IndexedPoints) -> Result<f64> {
        let rows = sampled_rows(self.len());
        let (mut distances, mut lost) = (QueryDistances::default(), 0.0);
        for &row in &rows {
            let measure = self.measures.row(row);
            // As a cloud that is not in the collection would. Its points follow each other.
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

    /// Measures to look for, and the metric of their points where they bring their own.
    ///
    /// # Errors
    /// Measures on other points, clouds in another space or with other totals, or one kind in place of the
    /// other.
    pub(super) fn resolved<'a>(&self, set: MeasureSet<'a>) -> Result<ResolvedQueries<'a>> {
        match (set, self.is_of_clouds()) {
            (MeasureSet::OnPoints(measures), false) => {
                measures.check_points(self.indexed.metric.points())?;
                Measures::check_all_balanced(&[measures, &self.measures])?;
                Ok(ResolvedQueries { measures, others: None, prices: None })
            }
            (MeasureSet::Clouds(clouds), true) => {
                let (others, prices) = (Some(self.metric_of(clouds)?), self.prices_of(clouds)?);
                self.check_totals(clouds)?;
                Ok(ResolvedQueries { measures: clouds.measures(), others, prices })
            }
            (MeasureSet::OnPoints(_), true) => Err(Error::CloudsWanted),
            (MeasureSet::Clouds(_), false) => Err(Error::SharedPointsWanted),
        }
    }

    /// The prices at all points of other clouds, where mass may be left behind: each says its own where those of the
    /// index do.
    fn prices_of(&self, clouds: &Clouds) -> Result<Option<Vec<f64>>> {
        let same = self.prices.as_ref().and_then(|prices| prices.same);
        let prices = penalties::prices_of(clouds, &self.indexed.metric, same)?;
        if prices.is_some() != self.prices.is_some() {
            return Err(Error::MixedPenalties);
        }
        Ok(prices)
    }

    /// Refuses clouds without mass, or of other totals, unless these may differ.
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
                let right = cloud_label(name, self.numbers[row]);
                let left = clouds.label(0);
                Error::UnbalancedClouds { left, right, left_total, right_total }
            })?;
        }
        Ok(())
    }

    /// The metric of all points of other clouds.
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

    /// Whether mass may be left behind at a price, so that totals may differ.
    pub fn is_relaxed(&self) -> bool {
        self.prices.is_some()
    }

    /// What it costs to leave a unit of mass behind, where that is one number for all points.
    pub fn penalty(&self) -> Option<f64> {
        self.prices.as_ref()?.same
    }

    /// Whether its measures are clouds, each with points of its own.
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
        let measures = self.named(one_after_the_other(&self.measures, &theirs)?, &theirs)?;
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
        self.enter_from(&appended, rows);
        let tabled = self.potentials.len() == rows;
        let counter = Counter::new(INDEXING, added, progress);
        let done = if tabled {
            self.fill_potentials(rows, &counter)
        } else {
            self.fill_duals(rows, &counter)
        };
        if let Err(error) = done {
            (self.indexed, self.measures, self.net, self.prices) = before;
            self.leave_from(rows);
            return Err(error);
        }
        Ok(self.number_added(added))
    }

    /// Builds the index of these clouds in its place; numbers stay as they are.
    fn replace_clouds(
        &mut self,
        metric: &GroundMetric,
        measures: &Measures,
        prices: Option<Vec<f64>>,
        progress: &Progress<'_>,
    ) -> Result<()> {
        let index = Self::of_contiguous(metric, measures, prices, &self.options, progress)?;
        let numbers = std::mem::take(&mut self.numbers);
        *self = Self { numbers, next_number: self.next_number, ..index };
        Ok(())
    }

    /// Keeps the clouds of some rows alone. Their points get other numbers; points of the net and of the
    /// reference that were others' are gone.
    pub(super) fn keep_clouds(&mut self, rows: &[usize]) -> Result<()> {
        let kept_numbers = rows.iter().map(|&row| self.numbers[row]).collect();
        let names: Option<Vec<String>> =
            self.measures.names().map(|names| rows.iter().map(|&row| names[row].clone()).collect());
        let points: Vec<u32> =
            rows.iter().flat_map(|&row| self.measures.row(row).support()).copied().collect();
        let metric = if points.is_empty() {
            self.indexed.metric.one_point()?
        } else {
            self.indexed.metric.joined(&points, &self.indexed.metric, &[])?
        };
        let mut first = 0;
        let renumbered = rows.iter().map(|&row| {
            let masses = self.measures.row(row).masses();
            first += masses.len();
            (first - masses.len()..first).zip(masses.iter().copied())
        });
        let measures = Measures::from_rows_or_empty(metric.points(), renumbered)?;
        let prices = self.prices.as_ref().map(|prices| {
            points.iter().map(|&point| prices.of_columns[point as usize]).collect::<Vec<f64>>()
        });
        let measures = match names {
            Some(names) => measures.with_names(names)?,
            None => measures,
        };
        let mut place = vec![None; self.columns.len()];
        points.iter().zip(0..).for_each(|(&point, at)| place[point as usize] = Some(at));
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
        self.leave_from(0);
        self.enter(&measures);
        self.measures = measures;
        Ok(())
    }
}

impl Searcher {
    /// Bounds clouds by their potentials at the points of the net that are nearest to those of the query.
    pub(super) fn bound_on_net(
        &mut self,
        index: &Index,
        net: &IndexedPoints,
        query: &Measure<'_>,
        others: Option<&GroundMetric>,
    ) -> Result<()> {
        let nearest = self.net_distances.nearest_columns(net, others, query.support(), |_| true)?;
        let (mut way, mut lost) = ([0.0], 0.0);
        for ((point, mass), &column) in query.iter().zip(&nearest) {
            let center = net.points[column as usize] as usize;
            let others = others.unwrap_or(&net.metric);
            net.metric.distances_to_others(center, others, &[point as u32], &mut way);
            let share = mass / query.total();
            lost += share * way[0];
            self.query_columns.push((column, share as f32));
        }
        index.potentials.bounds(&self.query_columns, &[], &mut self.own_bounds);
        let lost = above(lost / net.unit);
        self.own_bounds.iter_mut().for_each(|bound| *bound = lowered_once(*bound - lost));
        Ok(())
    }
}

impl Searcher {
    /// Lays out all entries of a cloud, whose points are nobody else's, so that their distances are computed at
    /// once and not kept; false where that cannot be.
    pub(super) fn push_cloud(&mut self, index: &Index, query: &Measure<'_>, row: usize) -> bool {
        let supplies = self.pair.supply.iter().map(|mass| (mass / query.total()) as f32);
        if index.indexed.targets.is_none() {
            return false;
        }
        let (width, costs) = self.problem.push_all(supplies);
        let columns = &index.columns[index.entries_of(row)];
        self.distances.write_rows(&index.indexed, columns, width, costs)
    }

    /// Finds duals of the query's points, to set beside those of each cloud.
    pub(super) fn find_query_duals(&mut self, index: &Index, query: &Measure<'_>) -> Result<()> {
        let Self { net_distances, problem, potential, query_prices, .. } = self;
        let reference = &index.reference;
        if index.prices.is_some() {
            reference.find_relaxed_duals(index, query, query_prices, net_distances, problem)?;
        } else {
            reference.find_duals(index.tabled(), query, net_distances, problem)?;
        }
        potential.set_own(query, problem.v.iter().copied());
        Ok(())
    }

    /// The bound of the pair at hand by the duals of both, each made against the reference: half of one
    /// and half of the other respect all distances, and raised as far as these allow they prove more than either
    /// alone (jets: 123 candidates are left to sweep, by the cloud's alone 212, by the query's 322; cells in R¹⁰: 51, 144
    /// and 117).
    pub(super) fn bound_by_both(&mut self, index: &Index, row: usize) -> f64 {
        let own = &index.own_duals[index.entries_of(row)];
        let Self { problem, pair, potential, .. } = self;
        // Where there are stores, they come last, with the dual 0.
        problem.v.fill(0.0);
        problem.v[..potential.own.len()].copy_from_slice(&potential.own);
        problem.leave_out_empty_targets();
        problem.set_sources();
        for (u, own) in problem.u.iter_mut().zip(own.iter().chain([&0.0])) {
            *u = 0.5 * (*u + own);
        }
        problem.bound_by_sources(&pair.supply, &pair.demand)
    }
}

/// A number in single precision that is above one in double precision, by more than both lose.
fn above(x: f64) -> f32 {
    (x * (1.0 + 1e-6)) as f32 + f32::MIN_POSITIVE
}

/// Whether these are measures on points of their own, which have coordinates and follow each other, all with mass.
#[cfg(feature = "io")]
pub(super) fn are_clouds(metric: &GroundMetric, measures: &Measures) -> bool {
    let follow =
        measures.iter().flat_map(|row| row.support()).zip(0..).all(|(&at, next)| at == next);
    metric.vectors().is_some()
        && follow
        && (measures.entries() == metric.points() || measures.entries() == 0)
}

/// All points of a metric as columns, in their order.
pub(super) fn all_points(metric: &GroundMetric, unit: f64) -> IndexedPoints {
    let count = metric.points();
    IndexedPoints::with_order(metric, (0..count as u32).collect(), count, unit)
}

/// Clouds on their points with mass alone, which then follow each other.
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
    let renumbered = match measures.names() {
        Some(names) => renumbered.with_names(names.to_vec())?,
        None => renumbered,
    };
    let metric = if with_mass.is_empty() {
        metric.one_point()?
    } else {
        metric.joined(&with_mass, metric, &[])?
    };
    Ok((metric, renumbered))
}

/// The prices of those of all points that have mass.
fn of_points_with_mass(prices: &[f64], measures: &Measures) -> Vec<f64> {
    measures.iter().flat_map(|row| row.support()).map(|&point| prices[point as usize]).collect()
}

/// Clouds after others, on the points of both.
fn one_after_the_other(a: &Measures, b: &Measures) -> Result<Measures> {
    let first = a.entries();
    let rows = a.iter().map(|row| (0, row)).chain(b.iter().map(|row| (first, row)));
    let rows = rows.map(|(first, row)| row.iter().map(move |(at, mass)| (first + at, mass)));
    Measures::from_rows_or_empty((first + b.entries()).max(1), rows)
}

/// Two measures, each with the metric of its points, on the points of both.
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
