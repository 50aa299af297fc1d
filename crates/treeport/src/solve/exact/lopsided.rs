//! Problems with few points on one side and many on the other.
//!
//! Nearly every one of the many exchanges mass with one of the few alone. So each goes to whom it is
//! cheapest with, seen against a price for each of the few, and then shares are handed on among the
//! few, from those who have too much to those who lack some, along shortest paths. A step of such a
//! path hands the share at one of the many from i to k, at the difference of the two costs, and of
//! all shares that i has only the one with the least difference matters: a heap for each i and k
//! knows it.
//!
//! Prices are first found on a sample of the many, so that little is left to hand on.
//!
//! # What is exact
//! Masses are the integers of [`fixed`](super::fixed), so every share is; and costs are only added
//! and compared. Prices are added up anew at the end, along shortest paths between the few. As with
//! the simplex, what they prove is looked at from the outside.
//!
//! # Complexity
//! For f on the one side and N on the other: O(f·N) to begin with, O(f·N) memory for the heaps, and
//! O(f² + f·log N) each time that a share is handed on, which is some N times.

use std::cmp::Ordering;
use std::collections::BinaryHeap;

use super::price::Cost;
use super::{ASKED, GoesOn, ask};
use crate::error::Result;
use crate::memory;

/// Costs between the few and the many, wherever those lie in a table.
#[derive(Clone, Copy)]
pub(super) struct Table<'a> {
    pub(super) cost: &'a [f64],
    /// How far apart the entries of two of the few are, and those of two of the many.
    pub(super) strides: (usize, usize),
}

impl Table<'_> {
    #[inline]
    fn at(self, few: usize, many: usize) -> f64 {
        self.cost[few * self.strides.0 + many * self.strides.1]
    }
}

/// The solver of one lopsided problem.
#[derive(Debug, Default)]
pub(super) struct Lopsided {
    few: usize,
    /// Prices of the few: one of the many goes where cost − price is least.
    pub(super) price: Vec<f64>,
    /// What each of the few has too much, or lacks.
    surplus: Vec<i128>,
    /// Shares, those at one of the many in a list that begins at `first`.
    shares: Vec<Share>,
    first: Vec<u32>,
    unused: Vec<u32>,
    /// For each i and k of the few what it costs to hand on a share from i to k.
    offers: Vec<BinaryHeap<Offer>>,
    least: Vec<f64>,
    /// Of the search for a shortest path.
    distance: Vec<f64>,
    /// The distance of those that have not been the nearest.
    open: Vec<f64>,
    before: Vec<u64>,
    zeros: Vec<f64>,
    /// Times that mass was handed on.
    pub(super) rounds: usize,
}

/// What one of the few has of one of the many.
#[derive(Clone, Copy, Debug)]
struct Share {
    few: u32,
    next: u32,
    mass: i128,
}

const NONE: u32 = u32::MAX;
const NOBODY: u64 = u64::MAX;

/// A share that can be handed on at a cost; the cheapest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Offer {
    cost: f64,
    many: u32,
}

impl Eq for Offer {}

impl PartialOrd for Offer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Offer {
    fn cmp(&self, other: &Self) -> Ordering {
        other.cost.total_cmp(&self.cost).then(other.many.cmp(&self.many))
    }
}

/// Whether this is the way to solve between so many points.
pub(super) fn is_lopsided(n: usize, m: usize) -> bool {
    let (few, many) = (n.min(m), n.max(m));
    few > 1 && few <= MOST_FEW && many >= TIMES * few
}

/// Most points on the smaller side, and how many times as many the other side has at least: where
/// this and the simplex take as long, between points in space.
const MOST_FEW: usize = 64;
const TIMES: usize = 64;

/// Of the many a sample has one in so many of the next larger one, and so many for each of the few
/// at least.
const THINNER: usize = 8;
const SAMPLE: usize = 16;

impl Lopsided {
    /// Solves for balanced masses of the few and the many; false if it takes too long or too much
    /// memory.
    ///
    /// # Errors
    /// `Cancelled`, where it shall not go on.
    pub(super) fn solve(
        &mut self,
        (few, many): (&[i128], &[i128]),
        table: Table<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        let step = format_args!("transport between few and many points");
        let bytes = memory::size_of::<Offer>(&[few.len(), many.len()]);
        if memory::check(step, bytes, "").is_err() {
            return Ok(false);
        }
        self.few = few.len();
        for numbers in [&mut self.price, &mut self.distance, &mut self.open, &mut self.zeros] {
            numbers.clear();
            numbers.resize(few.len(), 0.0);
        }
        self.before.resize(few.len(), NOBODY);
        let mut stride = 1;
        while many.len() / (stride * THINNER) >= SAMPLE * few.len() {
            stride *= THINNER;
        }
        while stride > 1 {
            self.settle_sample((few, many), table, stride, goes_on)?;
            stride /= THINNER;
        }
        if !self.settle(few, many, table, goes_on)? {
            return Ok(false);
        }
        self.add_up_prices();
        Ok(true)
    }

    /// Prices for one in `stride` of the many; a guess is good enough.
    fn settle_sample(
        &mut self,
        (few, many): (&[i128], &[i128]),
        table: Table<'_>,
        stride: usize,
        goes_on: &GoesOn<'_>,
    ) -> Result<()> {
        let sample: Vec<i128> = many.iter().step_by(stride).copied().collect();
        let (all, some): (i128, i128) = (few.iter().sum(), sample.iter().sum());
        let share = some as f64 / all as f64;
        let mut few: Vec<i128> = few.iter().map(|&mass| (mass as f64 * share) as i128).collect();
        let missing = some - few.iter().sum::<i128>();
        if let Some(largest) = few.iter_mut().max() {
            *largest += missing;
        }
        let strides = (table.strides.0, table.strides.1 * stride);
        self.settle(&few, &sample, Table { strides, ..table }, goes_on).map(drop)
    }

    /// Hands shares on until each of the few has what it should.
    fn settle(
        &mut self,
        few: &[i128],
        many: &[i128],
        table: Table<'_>,
        goes_on: &GoesOn<'_>,
    ) -> Result<bool> {
        self.begin(few, many, table);
        self.rounds = 0;
        let most = 1000 + MOST_ROUNDS * many.len();
        while let Some(end) = self.shortest_path() {
            if self.rounds == most {
                return Ok(false);
            }
            self.hand_on(end, table);
            self.rounds += 1;
            if self.rounds.is_multiple_of(ASKED) {
                ask(goes_on)?;
            }
        }
        Ok(self.surplus.iter().all(|&surplus| surplus == 0))
    }

    /// Everybody goes where it is cheapest at the prices there are.
    fn begin(&mut self, few: &[i128], many: &[i128], table: Table<'_>) {
        self.surplus.clear();
        self.surplus.extend(few.iter().map(|mass| -mass));
        self.shares.clear();
        self.unused.clear();
        self.first.clear();
        self.first.extend(0..many.len() as u32);
        let mut owned = vec![0; self.few];
        for (j, &mass) in many.iter().enumerate() {
            let mut best = (f64::INFINITY, 0);
            for (i, price) in self.price.iter().enumerate() {
                let cost = table.at(i, j) - price;
                best = if cost < best.0 { (cost, i) } else { best };
            }
            self.shares.push(Share { few: best.1 as u32, next: NONE, mass });
            self.surplus[best.1] += mass;
            owned[best.1] += 1;
        }
        let mut offers: Vec<Vec<Offer>> = Vec::with_capacity(self.few * self.few);
        for &count in &owned {
            offers.extend((0..self.few).map(|_| Vec::with_capacity(count)));
        }
        for (j, share) in self.shares.iter().enumerate() {
            let from = share.few as usize;
            let mine = table.at(from, j);
            for to in (0..self.few).filter(|&to| to != from) {
                let cost = table.at(to, j) - mine;
                offers[from * self.few + to].push(Offer { cost, many: j as u32 });
            }
        }
        self.offers.clear();
        self.offers.extend(offers.into_iter().map(BinaryHeap::from));
        self.least.clear();
        self.least.extend(self.offers.iter().map(cheapest));
    }

    /// Who lacks mass and is nearest to those who have too much, and new prices, at which the way
    /// there costs nothing and no way less than that. `None` if nobody lacks any.
    fn shortest_path(&mut self) -> Option<usize> {
        self.before.fill(NOBODY);
        for (distance, &surplus) in self.distance.iter_mut().zip(&self.surplus) {
            *distance = if surplus > 0 { 0.0 } else { f64::INFINITY };
        }
        self.open.copy_from_slice(&self.distance);
        let end = loop {
            let distance = f64::least(&self.open, &self.zeros);
            if distance == f64::INFINITY {
                return None;
            }
            let i = f64::find(&self.open, &self.zeros, distance);
            if self.surplus[i] < 0 {
                break i;
            }
            self.open[i] = f64::INFINITY;
            self.go_on_from(i, distance);
        };
        let all = self.distance[end];
        for (price, distance) in self.price.iter_mut().zip(&self.distance) {
            *price += if *distance < all { *distance } else { all };
        }
        Some(end)
    }

    /// The ways that lead on from the nearest, for all others at once: no way is shorter than that
    /// to the nearest, so those that have been it keep theirs.
    fn go_on_from(&mut self, i: usize, distance: f64) {
        let f = self.few;
        let base = distance + self.price[i];
        let least = &self.least[i * f..][..f];
        let (price, before) = (&self.price[..f], &mut self.before[..f]);
        let (shortest, open) = (&mut self.distance[..f], &mut self.open[..f]);
        for k in 0..f {
            let way = base + (least[k] - price[k]);
            // Not below, but for rounding.
            let way = if way < distance { distance } else { way };
            let better = way < shortest[k];
            shortest[k] = if better { way } else { shortest[k] };
            open[k] = if better { way } else { open[k] };
            before[k] = if better { i as u64 } else { before[k] };
        }
    }

    /// Hands on as much as all of the way to `end` can take.
    fn hand_on(&mut self, end: usize, table: Table<'_>) {
        let (mut mass, mut to) = (-self.surplus[end], end);
        while self.before[to] != NOBODY {
            let from = self.before[to] as usize;
            let share = self.share(from, self.cheapest_share(from, to));
            mass = mass.min(self.shares[share.expect("an offer is a share")].mass);
            to = from;
        }
        mass = mass.min(self.surplus[to]);
        self.surplus[to] -= mass;
        self.surplus[end] += mass;
        let mut to = end;
        while self.before[to] != NOBODY {
            let from = self.before[to] as usize;
            let many = self.cheapest_share(from, to);
            self.give(many, to, mass, table);
            self.take(many, from, mass);
            to = from;
        }
    }

    fn cheapest_share(&self, from: usize, to: usize) -> usize {
        let offer = self.offers[from * self.few + to].peek();
        offer.expect("the way leads over an offer").many as usize
    }

    /// The share that one of the few has at one of the many.
    fn share(&self, few: usize, many: usize) -> Option<usize> {
        let mut at = self.first[many];
        while at != NONE && self.shares[at as usize].few as usize != few {
            at = self.shares[at as usize].next;
        }
        (at != NONE).then_some(at as usize)
    }

    /// Adds to a share, which may be new.
    fn give(&mut self, many: usize, to: usize, mass: i128, table: Table<'_>) {
        if let Some(share) = self.share(to, many) {
            self.shares[share].mass += mass;
            return;
        }
        let share = Share { few: to as u32, next: self.first[many], mass };
        self.first[many] = if let Some(place) = self.unused.pop() {
            self.shares[place as usize] = share;
            place
        } else {
            self.shares.push(share);
            self.shares.len() as u32 - 1
        };
        let mine = table.at(to, many);
        for other in (0..self.few).filter(|&other| other != to) {
            let place = to * self.few + other;
            let cost = table.at(other, many) - mine;
            self.offers[place].push(Offer { cost, many: many as u32 });
            self.least[place] = self.least[place].min(cost);
        }
    }

    /// Takes from a share, and the share away where nothing is left.
    fn take(&mut self, many: usize, from: usize, mass: i128) {
        let at = self.share(from, many).expect("an offer is a share");
        self.shares[at].mass -= mass;
        if self.shares[at].mass > 0 {
            return;
        }
        let next = self.shares[at].next;
        let mut place = self.first[many] as usize;
        if place == at {
            self.first[many] = next;
        } else {
            while self.shares[place].next as usize != at {
                place = self.shares[place].next as usize;
            }
            self.shares[place].next = next;
        }
        self.unused.push(at as u32);
        for to in (0..self.few).filter(|&to| to != from) {
            self.drop_offers(from, to);
        }
    }

    /// Drops offers whose shares are gone, until the cheapest one stands.
    fn drop_offers(&mut self, from: usize, to: usize) {
        let place = from * self.few + to;
        while let Some(offer) = self.offers[place].peek() {
            if self.share(from, offer.many as usize).is_some() {
                break;
            }
            self.offers[place].pop();
        }
        self.least[place] = cheapest(&self.offers[place]);
    }

    /// Prices as shortest paths from the first of the few, which round no more often than a path
    /// has steps.
    fn add_up_prices(&mut self) {
        let f = self.few;
        self.price.fill(f64::INFINITY);
        self.price[0] = 0.0;
        for _ in 1..f {
            let mut changed = false;
            for i in 0..f {
                for k in 0..f {
                    let way = self.price[i] + self.least[i * f + k];
                    if way < self.price[k] {
                        self.price[k] = way;
                        changed = true;
                    }
                }
            }
            if !changed {
                break;
            }
        }
    }

    /// Few, many and mass of every share.
    pub(super) fn shares(&self) -> impl Iterator<Item = (usize, usize, i128)> + '_ {
        self.first.iter().enumerate().flat_map(|(many, &first)| {
            // The end of a list is no place of a share.
            let share = |at: u32| self.shares.get(at as usize);
            std::iter::successors(share(first), move |last| share(last.next))
                .map(move |share| (share.few as usize, many, share.mass))
        })
    }
}

/// Shares are handed on at most so many times, for each of the many.
const MOST_ROUNDS: usize = 8;

fn cheapest(offers: &BinaryHeap<Offer>) -> f64 {
    offers.peek().map_or(f64::INFINITY, |offer| offer.cost)
}
