//! Searches through all points by a card: something that looks at many pairs faster than this
//! processor does.
//!
//! A large problem between points asks one question over and over: for these sources, which sinks have
//! the least cost + price? Whoever answers it in single precision, by the formulas and with the losses
//! of [`exact::sparse`](super::exact), can stand in for the processor. Everything that is proved is proved
//! here, in double precision, from what the card has found; what it may lose is what the processor
//! may lose (`Frame::lost`).
//!
//! # What a card has to keep to
//! - A cost is a sum over coordinates in their order, of squares or absolute differences of numbers
//!   in single precision, or the largest of them; a fused multiplication and addition, or two roundings. A
//!   root is rounded once. So a cost is off by at most as many roundings as the processor's.
//! - `limit` is at most cost + price + noise of every point that is not listed, both rounded as above.

use std::fmt::Debug;
use std::sync::Arc;

use super::exact::line::Line;
use super::exact::{self, Solution};
use super::penalty::Relaxation;
use super::problem::{OnMetric, Posed, Problem, arcs, how_far};
use super::within::{Bounds, Clock, Target, first_plan};
use crate::error::{Error, Result};
use crate::progress::{Progress, State};

/// Something that looks through all points.
pub trait Card: Debug + Send + Sync {
    /// Keeps points, `dim` coordinates each, and says by which number it will know them; nothing where
    /// it has failed.
    fn keep(&self, points: &[f32], dim: usize) -> Option<usize>;

    /// Points that nobody will ask for again.
    fn forget(&self, number: usize);

    /// The points of least cost + price for some others; nothing where it has failed.
    fn nearest(&self, search: &CardSearch<'_>) -> Option<CardFound>;

    /// Whether it is asked however little there is to look through, as judges of cards are.
    fn takes_all(&self) -> bool {
        false
    }

    /// Whether it has failed before. Then work on it stops, and whoever made it knows why.
    fn has_failed(&self) -> bool;
}

/// What a card is to look for.
#[derive(Debug)]
pub struct CardSearch<'a> {
    /// How differences of coordinates become costs: `length`, `absolutes`, `square` or `largest`.
    pub formula: &'static str,
    /// The points that look, and which of them do.
    pub from: usize,
    /// Their numbers.
    pub rows: &'a [u32],
    /// The points that are looked at.
    pub to: usize,
    /// A price for each of those.
    pub prices: &'a [f32],
    /// How many are wanted.
    pub most: usize,
    /// What may be added to cost + price at most, at random for every pair, before the least are chosen.
    pub noise: f32,
}

/// What a card has found.
#[derive(Debug)]
pub struct CardFound {
    /// The numbers of `most` points for each row, [`u32::MAX`] where there are fewer.
    pub points: Vec<u32>,
    /// What each of them costs, without price and noise.
    pub costs: Vec<f32>,
    /// What all others have at least, for each row, with noise.
    pub limits: Vec<f32>,
}

/// Pairs of points up to which a problem is solved without a card: sooner than a few answers of one come.
const MOST_WITHOUT: usize = 1 << 18;

/// Points that a card keeps, for as long as this lives.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) card: Arc<dyn Card>,
    pub(super) number: usize,
}

impl Kept {
    /// Points on a card; nothing where it has failed.
    pub(super) fn new(card: &Arc<dyn Card>, points: &[f32], dim: usize) -> Option<Arc<Self>> {
        let number = card.keep(points, dim)?;
        Some(Arc::new(Self { card: Arc::clone(card), number }))
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        self.card.forget(self.number);
    }
}

impl Problem<'_> {
    /// As [`solve`](Self::solve), with a card that looks through all pairs.
    ///
    /// # Errors
    /// As [`solve`](Self::solve); mass that may be left behind, graphs of several components; `Cancelled`,
    /// where the card has failed.
    pub fn solve_on(&self, card: &Arc<dyn Card>, progress: &Progress<'_>) -> Result<Solution> {
        let posed = self.posed()?;
        let Some(pair) = self.for_card(&posed, card)? else { return self.solve(progress) };
        let goes_on = |proved| progress(&how_far(proved)) && !card.has_failed();
        let mut solution = match exact::solution_on_card(pair, card, &goes_on)? {
            Some(solution) => solution,
            None if card.has_failed() => return Err(Error::Cancelled),
            // Where single precision cannot tell points apart.
            None => exact::solve_by_table(pair, &goes_on)?,
        };
        self.rename_moves(&mut solution.plan, [&mut solution.left, &mut solution.right]);
        Ok(solution)
    }

    /// As [`within`](Self::within), with a card that looks through all pairs.
    ///
    /// # Errors
    /// As [`within`](Self::within); mass that may be left behind, graphs of several components;
    /// `Cancelled`, where the card has failed.
    pub fn within_on(
        &self,
        card: &Arc<dyn Card>,
        target: Target,
        progress: &Progress<'_>,
    ) -> Result<Bounds> {
        let posed = self.posed()?;
        let pair = self.for_card(&posed, card)?;
        let Some(pair) = pair else { return self.within(target, progress) };
        let width = target.width()?;
        let hears = |state: &State<'_>| progress(state) && !card.has_failed();
        let clock = Clock::new(target.time, &hears);
        let mut bounds = match exact::bounds_by_auction(pair, width, &clock, Some(card)) {
            Ok(Some((bounds, is_close))) if is_close || clock.is_up() => bounds,
            Err(Error::Cancelled) if clock.is_up() => first_plan(&posed, Relaxation::Balanced)?,
            Err(error) => return Err(error),
            Ok(_) if card.has_failed() => return Err(Error::Cancelled),
            Ok(found) => {
                let goes_on = |proved| clock.hears(&how_far(proved));
                match (exact::solve_by_table(pair, &goes_on), found) {
                    (Err(Error::Cancelled), Some((found, _))) if clock.is_up() => found,
                    (solution, _) => solution.map(Bounds::from)?,
                }
            }
        };
        let Bounds { plan, left, right, .. } = &mut bounds;
        self.rename_moves(plan, [left, right]);
        Ok(bounds)
    }

    /// What a card looks through; nothing where there is no need (all costs are there already, points are
    /// sorted, or few) or no way (coordinates or a metric that it does not know).
    fn for_card<'p>(
        &self,
        posed: &'p Posed<'p>,
        card: &Arc<dyn Card>,
    ) -> Result<Option<&'p OnMetric<'p>>> {
        let is_balanced = self.relax().is_balanced();
        match posed {
            Posed::Matrix(_) if is_balanced => Ok(None),
            Posed::Metric(pair) if is_balanced => {
                let is_large = card.takes_all() || arcs(&pair.a, &pair.b) > MOST_WITHOUT;
                let is_known = exact::has_card(pair.metric) && Line::of(pair.metric).is_none();
                Ok(Some(pair).filter(|_| is_large && is_known))
            }
            _ => Err(Error::BadOption {
                option: "device",
                value: "given".to_owned(),
                expected: "a device helps to move all mass within one piece; leave it out",
            }),
        }
    }
}
