//! Large problems between points, without a table of costs: few arcs that grow, and a proof over all
//! pairs.
//!
//! An optimal plan uses fewer than n + m of the n·m arcs. An [`auction`] over all pairs finds prices and a
//! plan that are optimal up to an ε, from coarse to fine (`levels`). Its lists and its plan are the
//! arcs that the network simplex begins with, the plan made a spanning tree is its first basis
//! (`tree`). Then all pairs are looked at again (`proof`): whatever is cheaper than the duals say goes to
//! the running basis, until nothing is. After every step both bounds are known, so an accuracy or a
//! time costs nothing.
//!
//! Where all masses are equal and costs are lengths, every mass moves as a whole, and a basis would have as many arcs without flow as
//! with it. Shortest augmenting paths (`augment`) take the place of the simplex there. Their prices only rise, so
//! most sources need not look at all sinks again for the proof.
//!
//! # Complexity
//! O(n + m) memory: [`BYTES`] for a point and 12 for each of its coordinates. An ε takes a few looks at all
//! sinks for every source: O(d m) each where there are many coordinates, far less in the plane. The
//! simplex begins within [`BEGINS`] of the optimum; a pivot takes O(cycle + smaller side).
//!
//! # What was tried
//! 5,000 points a side.
//! - *Beginning the simplex earlier or later*: at an ε of 1 % of the mean cost twice as many pivots and up
//!   to 25 rounds where the cloud is shifted, at 0.05 % half as many pivots and as much time.
//! - *The auction's plan as it is, moves placed one after the other*, instead of freed of its cycles: 2 % above
//!   what it cost, where masses differ.
//! - *Fused multiplications* in the looks: no time won.
//!
//! Equal masses, processor time of one thread, beside other work:
//! - *Paths for costs that are no lengths*, too, at 1,600 points a side: two thirds to three quarters of the time uniform with squares, up to
//!   1.7 times as much where the cloud is shifted with Manhattan and Chebyshev costs, and uniform with cosines: many sinks are as
//!   good as each other to the last digit, and an ε as low as paths want takes many looks.
//! - *The simplex as the last step*, here too: 200 to 630 ms where the cloud is shifted, 24,000 to 67,000 pivots, at any ε from
//!   0.2 % to 0.001 % of the mean cost, because most pivots find duals for arcs without flow. Paths take 580 ms at 0.2 %,
//!   120 ms at 0.01 % and 70 ms at 0.002 %. As much as the simplex uniform, 15 ms instead of 75 in clusters.
//! - *Paths for masses that differ*: 0.7 s uniform, 1.9 s in clusters, more than 3 s shifted, far more than the simplex. Of the
//!   two arcs of a source that have flow one is of least cost + price, and what the other carries splits.
//! - *More left unplaced* (1 % instead of 0.1 %) before the last ε: half the looks, and then hundreds to thousands of bids
//!   a source for what is left, because prices have to rise by what was large steps before.
//! - *Nothing left unplaced at any ε*: paths in a tenth to a half of the time and next to no second looks but where the cloud is
//!   shifted; 15 to 30 % more looks.

mod auction;
mod augment;
mod cloud;
mod frame;
mod levels;
mod proof;
pub(super) mod table;
mod tree;

use std::sync::Arc;

use rayon::prelude::*;

use super::arcs::FewArcs;
use super::fixed::Units;
use super::simplex::Simplex;
use super::{Certified, GoesOn, SLACK, ask, is_proof, is_settled, most_pivots};
use crate::error::{Error, Result};
use crate::memory;
use crate::metric::GroundMetric;
use crate::parallel;
use crate::solve::card::Card;
use crate::twofold::Twofold;
use auction::Auction;
use augment::Augment;
use cloud::{Cloud, FAR, LANES};
use frame::{Formula, Frame};
use levels::{FALL, Side};
use table::MatrixCosts;
use tree::{Flow, Forest};

/// Whether costs are such that an auction knows them.
pub(super) fn takes(metric: &GroundMetric) -> bool {
    frame::is_known(metric) && metric.vectors().is_some_and(|(dim, _)| dim <= MOST_DIM)
}

/// Whether a card knows how costs are computed.
pub(super) fn has_card(metric: &GroundMetric) -> bool {
    takes(metric) && frame::has_card(metric)
}

/// The bytes that a problem between so many points takes.
pub(super) fn bytes(metric: &GroundMetric, n: usize, m: usize) -> u64 {
    let dim = metric.vectors().map_or(1, |(dim, _)| dim);
    memory::size_of::<u8>(&[n.saturating_add(m), BYTES + 12 * dim])
}

/// Whether points are in so few dimensions that most are ruled out by boxes.
pub(super) fn has_boxes(metric: &GroundMetric) -> bool {
    metric.vectors().is_some_and(|(dim, _)| dim <= cloud::MOST_BOXED)
}

/// A problem laid out for the auction.
pub(super) struct Sparse<'a> {
    costs: Costs<'a>,
    frame: Frame,
    /// The points of both sides in the order of their clouds, and their places outside.
    points: [Vec<usize>; 2],
    places: [Vec<u32>; 2],
    masses: [Vec<f64>; 2],
    sources: Side,
    sinks: Side,
}

/// What says the costs.
#[derive(Clone, Copy)]
enum Costs<'a> {
    Metric(&'a GroundMetric),
    Matrix(MatrixCosts<'a>),
}

/// What is known of a problem, by places outside.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) lower: f64,
    pub(super) upper: f64,
    /// The plan behind the upper bound.
    pub(super) moves: Vec<(usize, usize, f64)>,
    /// The duals behind the lower bound; empty where there is none.
    pub(super) left: Vec<f64>,
    pub(super) right: Vec<f64>,
    /// The last value with its gap, where it is proved.
    pub(super) certified: Option<Certified>,
    pub(super) pivots: usize,
    /// What it may cost to have the masses as given instead of whole quanta.
    settling: f64,
}

/// What auctions leave to the next step.
struct Begun {
    /// A plan without cycles, and arcs that are likely to be in the best one.
    flows: Vec<Flow>,
    arcs: Vec<(u32, u32)>,
    prices: Vec<f64>,
    /// What sinks off the list of a source had at least when it last looked, and have since.
    others: Vec<f32>,
    /// The largest price that there was, whatever its sign: prices rise, and the first ones may be below 0.
    largest: f64,
    /// The last ε.
    epsilon: f64,
}

/// How good an answer has to be.
#[derive(Clone, Copy)]
pub(super) struct Aim<'a> {
    /// The relative width of its bounds; 0 for a proof.
    pub(super) width: f64,
    pub(super) goes_on: &'a GoesOn<'a>,
    /// Whether bounds are looked at all the time, because it may be stopped at any.
    pub(super) keeps_bounds: bool,
    /// Whether the best so far will do when it is stopped.
    pub(super) is_up: &'a dyn Fn() -> bool,
}

/// An ε up to this many times the one that bounds want will do.
const NEARLY: f64 = 1.01;

/// The next ε: less by far, or that which bounds want where it is on the way. Always less: what bounds want
/// may be rounded up, and would then be passed again and again.
fn next_epsilon(epsilon: f32, wanted: f64) -> f32 {
    let next = epsilon * FALL;
    let is_passed = f64::from(next) < wanted && NEARLY * wanted < f64::from(epsilon);
    if is_passed { wanted as f32 } else { next }
}

/// Bounds are likely to be so close when ε is this many times what they may be apart for a unit of mass, until bounds have
/// shown how close they are.
const LIKELY: f64 = 2.2;

/// What prices prove less than a plan costs is about proportional to ε. This share of what bounds may be apart is theirs;
/// the rest is for what the plan costs too much.
const BY_PRICES: f64 = 0.75;

/// Bounds are looked at from an ε of this many times that on: a look tells which ε they want. From eight times it on
/// a million points in R⁵⁰ took one look more, and were as far apart in the end.
const EARLY: f64 = 2.0;

/// Masses of a side are whole numbers below 2 to this power all together.
const MASS_BITS: i32 = 50;

/// The simplex begins when ε is this share of what the plan costs a unit.
const BEGINS: f64 = 2e-3;

/// The same for shortest paths, where all masses are equal: at 2e-3 they take three to five times as long where
/// the cloud is shifted, and as long where it is not.
const PATHS_BEGIN: f64 = 2e-4;

/// The share of all mass that an auction need not place.
const UNPLACED: f64 = 1e-3;

/// Rounds of the simplex after which it will not end.
const MOST_ROUNDS: usize = 200;

/// Arcs up to which a table of costs takes over where single precision cannot tell sinks apart.
const MOST_IN_TABLE: usize = 1 << 25;

/// Bytes for a point: its list, its arcs in the simplex, its place in the basis.
const BYTES: usize = 4096;

/// Coordinates up to which single precision tells costs apart.
const MOST_DIM: usize = 1 << 12;

impl<'a> Sparse<'a> {
    /// Nothing where costs are no norm of differences, nor the square of one.
    ///
    /// # Errors
    /// No room; `Cancelled`, where it shall not go on.
    pub(super) fn new(
        metric: &'a GroundMetric,
        [left, right]: [&[usize]; 2],
        [supply, demand]: [&[f64]; 2],
        card: Option<&Arc<dyn Card>>,
        goes_on: &GoesOn<'_>,
    ) -> Result<Option<Self>> {
        let frame = Some(metric).filter(|metric| takes(metric));
        let frame = frame.and_then(|metric| Frame::new(metric, [left, right]));
        let Some(frame) = frame else { return Ok(None) };
        let (n, m) = (left.len(), right.len());
        let step = format_args!("transport between {n} and {m} points");
        memory::check(step, bytes(metric, n, m), "give fewer points, or take a sample")?;
        let places = [Cloud::order(metric, left), Cloud::order(metric, right)];
        ask(goes_on)?;
        let points = [
            places[0].iter().map(|&place| left[place as usize]).collect(),
            places[1].iter().map(|&place| right[place as usize]).collect::<Vec<_>>(),
        ];
        let masses = [
            places[0].iter().map(|&place| supply[place as usize]).collect::<Vec<_>>(),
            places[1].iter().map(|&place| demand[place as usize]).collect(),
        ];
        let [first, second] = whole_masses([&masses[0], &masses[1]]);
        let cloud = |of: &[usize]| Cloud::new(&frame, metric, of.iter().copied(), card);
        ask(goes_on)?;
        let sources = Side { cloud: cloud(&points[0]), mass: first };
        let sinks = Side { cloud: cloud(&points[1]), mass: second };
        let costs = Costs::Metric(metric);
        Ok(Some(Self { costs, frame, points, places, masses, sources, sinks }))
    }

    /// A problem whose costs a matrix says. Nothing where single precision has no unit for them.
    ///
    /// # Errors
    /// As [`new`](Self::new); a cost that is none.
    pub(super) fn of_matrix(
        matrix: MatrixCosts<'a>,
        sides: [&[usize]; 2],
        masses: [&[f64]; 2],
        goes_on: &GoesOn<'_>,
    ) -> Result<Option<Self>> {
        let (n, m) = (sides[0].len(), sides[1].len());
        let rows = matrix.in_single_rows(sides, LANES, goes_on)?;
        if !rows.worth.is_normal() || !(1.0 / rows.worth).is_normal() || rows.is_beyond() {
            return Ok(None);
        }
        let [first, second] = whole_masses(masses);
        let frame = Frame::of_table(rows.worth);
        let sources = Side { cloud: Cloud::of_rows(rows), mass: first };
        let sinks = Side { cloud: Cloud::of_columns(m), mass: second };
        let places = [(0..n as u32).collect(), (0..m as u32).collect()];
        let points = sides.map(<[usize]>::to_vec);
        let masses = masses.map(<[f64]>::to_vec);
        let costs = Costs::Matrix(matrix);
        Ok(Some(Self { costs, frame, points, places, masses, sources, sinks }))
    }

    fn cost(&self, i: usize, j: usize) -> f64 {
        let (source, sink) = (self.points[0][i], self.points[1][j]);
        match self.costs {
            Costs::Metric(metric) => metric.distance(source, sink),
            Costs::Matrix(matrix) => matrix.cost(source, sink),
        }
    }

    /// Solves until the aim is reached. What is not proved in the end has no [`Answer::certified`].
    ///
    /// # Errors
    /// `Cancelled`, where it is stopped and the best so far will not do.
    pub(super) fn solve(&self, simplex: &mut Simplex<f64>, aim: &Aim<'_>) -> Result<Answer> {
        let mut answer = Answer { upper: f64::INFINITY, ..Answer::default() };
        match self.improve(simplex, aim, &mut answer) {
            Err(Error::Cancelled) if (aim.is_up)() && answer.upper.is_finite() => Ok(answer),
            done => done.map(|()| answer),
        }
    }

    fn improve(
        &self,
        simplex: &mut Simplex<f64>,
        aim: &Aim<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        let mut units = Units::default();
        units.count_quanta(&self.masses[0], &self.masses[1]);
        answer.settling = self.settling(&units);
        if aim.keeps_bounds {
            // From one side to the other in the order of their trees, where neighbors stand together.
            let masses = [units.supply.clone(), units.demand.clone()];
            let flows = tree::settle(masses, std::iter::empty(), std::iter::empty());
            self.offer_plan(&flows, &units.quantum(), answer);
        }
        let is_assignment = self.frame.formula == Formula::Length && is_assignment(&units);
        let begun = self.auctions((&units, is_assignment), aim, answer)?;
        let Some(begun) = begun else { return Ok(()) };
        if is_assignment && self.augment(&units, &begun, aim, answer)? {
            return Ok(());
        }
        self.pivot((simplex, &mut units), begun.flows, begun.arcs, aim, answer)
    }

    /// Auctions with less and less ε, until the aim is reached or the simplex takes over, from these flows
    /// on these arcs.
    fn auctions(
        &self,
        (units, is_assignment): (&Units, bool),
        aim: &Aim<'_>,
        answer: &mut Answer,
    ) -> Result<Option<Begun>> {
        let goes_on = || (aim.goes_on)(None);
        let finest = self.frame.finest();
        let sides = (&self.sources, &self.sinks);
        let clouds = (&self.sources.cloud, &self.sinks.cloud);
        // Where it may be stopped at any time, the first bounds had better come soon.
        let is_for_bounds = aim.width > 0.0 || aim.keeps_bounds;
        let (prices, mut epsilon) = levels::first_prices(sides, is_for_bounds, finest, &goes_on);
        let first_largest = largest(&self.real_prices(&prices.of));
        let begins = if is_assignment { PATHS_BEGIN } else { BEGINS };
        let mut auction = Auction::new(
            (&self.sources.cloud, &self.sources.mass),
            (&self.sinks.cloud, &self.sinks.mass),
            prices,
        );
        if aim.keeps_bounds {
            self.offer_prices(&self.real_prices(&auction.prices.of), &goes_on, answer)?;
        }
        let mut seen = None;
        loop {
            let is_done = auction.run(epsilon, UNPLACED, &goes_on);
            if !is_done && !goes_on() {
                return Err(Error::Cancelled);
            }
            let plan: Vec<_> = auction.plan().collect();
            let mean = f64::from(levels::mean_way(clouds, plan.iter().copied()));
            let likely = LIKELY * aim.width * mean;
            // The largest ε for which bounds are close enough, as far as is known.
            let mut close = seen.unwrap_or(likely);
            let may_do = aim.keeps_bounds || f64::from(epsilon) <= EARLY * close;
            let is_last = !is_done || f64::from(epsilon) <= begins * mean || epsilon <= finest;
            if is_last || may_do {
                let arcs = if is_assignment { auction.lists() } else { auction.arcs() };
                let prices = self.real_prices(&auction.prices.of);
                let mut flows = self.settled(units, plan.clone(), &arcs);
                let placed = mean * self.frame.worth * self.masses[0].iter().sum::<f64>();
                let dear = self.offer_plan(&flows, &units.quantum(), answer) - placed;
                // What the auction left takes up most of what bounds may be apart. Then what was placed does not tell
                // what a plan costs, and prices need not be looked at before the plan is complete.
                let is_torn = dear > 0.5 * aim.width * placed;
                if may_do && !(is_torn && f64::from(epsilon) <= NEARLY * close) {
                    self.offer_prices(&prices, &goes_on, answer)?;
                    if !is_torn {
                        let missing = (1.0 - answer.lower / placed).max(f64::MIN_POSITIVE);
                        close = BY_PRICES * aim.width / missing * f64::from(epsilon);
                        seen = Some(close);
                    }
                }
                let is_close = f64::from(epsilon) <= NEARLY * close;
                if is_close && !answer.is_within(aim.width) {
                    let (plan, prices) = self.completed(plan, prices, &arcs, aim.goes_on)?;
                    flows = self.settled(units, plan, &arcs);
                    self.offer_plan(&flows, &units.quantum(), answer);
                    self.offer_prices(&prices, &goes_on, answer)?;
                }
                if answer.is_within(aim.width) {
                    return Ok(None);
                }
                if is_last {
                    let prices = self.real_prices(&auction.prices.of);
                    let largest = first_largest.max(largest(&prices));
                    return Ok(Some(Begun {
                        flows,
                        arcs,
                        prices,
                        others: auction.others,
                        largest,
                        epsilon: f64::from(epsilon) * self.frame.worth,
                    }));
                }
            }
            epsilon = next_epsilon(epsilon, close).max(finest);
        }
    }

    /// The plan of an auction and what it has not placed, along shortest paths among these arcs, and prices that
    /// are worth as much; as they were where that takes too long. In the plane the last thousandth of all
    /// mass takes an auction thirty times as long as the rest.
    #[expect(clippy::type_complexity, reason = "what is given, made whole")]
    fn completed(
        &self,
        plan: Vec<(u32, u32, u64)>,
        prices: Vec<f64>,
        arcs: &[(u32, u32)],
        goes_on: &GoesOn<'_>,
    ) -> Result<(Vec<(u32, u32, u64)>, Vec<f64>)> {
        let whole =
            |masses: &[u64]| masses.iter().map(|&mass| i128::from(mass)).collect::<Vec<_>>();
        let [supply, demand] = [whole(&self.sources.mass), whole(&self.sinks.mass)];
        let flows: Vec<Flow> = plan.iter().map(|&(i, j, mass)| (i, j, i128::from(mass))).collect();
        if flows.iter().map(|flow| flow.2).sum::<i128>() == supply.iter().sum() {
            return Ok((plan, prices));
        }
        let both = arcs.iter().copied().chain(plan.iter().map(|&(i, j, _)| (i, j)));
        let mut both: Vec<_> = both.collect();
        both.par_sort_unstable();
        both.dedup();
        let with_cost = |&(i, j): &(u32, u32)| (i, j, self.cost(i as usize, j as usize));
        let arcs: Vec<_> = parallel::map(both.len(), |at| with_cost(&both[at]));
        let mut paths = Augment::new([&supply, &demand], &flows, prices.clone());
        paths.set_arcs(&arcs, f64::INFINITY);
        if !paths.run(goes_on)? {
            return Ok((plan, prices));
        }
        let plan = paths.flows().map(|(i, j, mass)| (i, j, mass as u64)).collect();
        Ok((plan, paths.prices))
    }

    /// The plan of an auction for exactly the masses given, without cycles.
    fn settled(
        &self,
        units: &Units,
        mut plan: Vec<(u32, u32, u64)>,
        arcs: &[(u32, u32)],
    ) -> Vec<Flow> {
        plan.sort_unstable_by_key(|flow| (std::cmp::Reverse(flow.2), flow.0, flow.1));
        let share = |&(i, j, mass): &(u32, u32, u64)| {
            let all = self.sources.mass[i as usize];
            let supply = units.supply[i as usize];
            let part = mass as f64 / all as f64 * supply as f64;
            (i, j, if mass == all { supply } else { part as i128 })
        };
        let masses = [units.supply.clone(), units.demand.clone()];
        let flows = tree::settle(masses, plan.iter().map(share), arcs.iter().copied());
        let mut forest = Forest::new(self.points[0].len(), self.points[1].len());
        for flow in flows {
            forest.push(flow, self.cost(flow.0 as usize, flow.1 as usize));
        }
        forest.flows()
    }

    /// Places all mass anew along shortest paths, round by round among more arcs, until the aim is reached; false
    /// if it is not.
    ///
    /// Prices have only risen since a source looked at all sinks. So what the others had at least then, they have
    /// now: only sources whose duals are above that look again.
    fn augment(
        &self,
        units: &Units,
        begun: &Begun,
        aim: &Aim<'_>,
        answer: &mut Answer,
    ) -> Result<bool> {
        let (n, m) = (self.points[0].len(), self.points[1].len());
        let with_cost = |(i, j): (u32, u32)| (i, j, self.cost(i as usize, j as usize));
        let in_tree = begun.flows.iter().map(|&(i, j, _)| (i, j));
        let arcs = begun.arcs.iter().copied().chain(in_tree);
        let mut arcs: Vec<_> = arcs.map(with_cost).collect();
        let masses = [&units.supply[..], &units.demand];
        let mut paths = Augment::new(masses, &begun.flows, begun.prices.clone());
        let mass = units.quantum();
        // Arcs that are nearly cheap come with those that are, the first time: duals have yet to move.
        let mut margin = begun.epsilon;
        for _ in 0..MOST_ROUNDS {
            arcs.sort_unstable_by_key(|arc| (arc.0, arc.1));
            arcs.dedup_by_key(|arc| (arc.0, arc.1));
            let slack = SLACK * arcs.iter().fold(0.0, |most: f64, arc| most.max(arc.2));
            paths.set_arcs(&arcs, slack);
            let proved = answer.share();
            let tell = |_| (aim.goes_on)(Some(proved));
            if !paths.run(&tell)? {
                return Ok(false);
            }
            answer.pivots = paths.found;
            // They were added up step by step: from here on they are what the arcs say.
            paths.refresh_duals();
            let mut forest = Forest::new(n, m);
            for flow in paths.flows() {
                forest.push(flow, self.cost(flow.0 as usize, flow.1 as usize));
            }
            let flows = forest.flows();
            let value = self.price(&flows, &mass);
            self.offer_plan(&flows, &mass, answer);
            let (duals, prices) = (&paths.duals, &paths.prices);
            let worth = self.frame.worth;
            // Twice: `others` was rounded once more, and so were prices.
            let lost = 2.0 * self.frame.lost(begun.largest.max(largest(prices)) / worth);
            let is_open = |i: &u32| {
                let others = (f64::from(begun.others[*i as usize]) - lost) * worth;
                others < duals[*i as usize]
            };
            let rows: Vec<u32> = (0..n as u32).filter(is_open).collect();
            let limits: Vec<f64> = duals.iter().map(|dual| dual + margin).collect();
            margin = -slack;
            let found = self.minima(prices, &limits, rows, &|| tell(None))?;
            let duals: Vec<f64> =
                duals.iter().zip(&found.least).map(|(dual, least)| dual.min(*least)).collect();
            let (bound, rounding) = self.bound(&duals, prices);
            self.offer_bound(bound - rounding, &duals, prices, answer);
            // A plan that costs nothing cannot be beaten.
            let gap = if value == 0.0 { 0.0 } else { (value - bound).abs() + rounding };
            let change = units.rounded(&self.masses[0], &self.masses[1]) * slack / SLACK;
            if is_proof(value, gap) && is_settled(value, change) {
                answer.certified = Some(Certified { value, gap, integers: false });
                self.keep_plan(value, &flows, &mass, answer);
                self.keep_duals(bound - rounding, &duals, prices, answer);
                return Ok(true);
            }
            if answer.is_within(aim.width) {
                return Ok(true);
            }
            if found.cheap.is_empty() || found.is_blurred {
                return Ok(false);
            }
            arcs.extend(found.cheap);
        }
        Ok(false)
    }

    /// Moves the first basis on, round by round among more arcs, until the aim is reached.
    fn pivot(
        &self,
        (simplex, units): (&mut Simplex<f64>, &mut Units),
        mut flows: Vec<Flow>,
        first: Vec<(u32, u32)>,
        aim: &Aim<'_>,
        answer: &mut Answer,
    ) -> Result<()> {
        let (n, m) = (self.points[0].len(), self.points[1].len());
        tree::join((n, m), &mut flows, first.iter().copied());
        units.settle_on_tree(&mut flows);
        answer.settling = self.settling(units);
        simplex.begin_on_tree((n, m), &flows, |i, j| self.cost(i, j));
        let with_cost = |(i, j): (u32, u32)| (i, j, self.cost(i as usize, j as usize));
        let in_tree = flows.iter().map(|&(i, j, _)| (i, j));
        let mut arcs: Vec<_> = first.into_iter().chain(in_tree).map(with_cost).collect();
        for _ in 0..MOST_ROUNDS {
            arcs.sort_unstable_by_key(|arc| (arc.0, arc.1));
            arcs.dedup_by_key(|arc| (arc.0, arc.1));
            let few = few_arcs(n, &arcs);
            let slack = few.largest() * SLACK;
            let proved = answer.share();
            let tell = |_| (aim.goes_on)(Some(proved));
            let is_done = simplex.go_on(&few, slack, most_pivots(n, m), &tell)?;
            answer.pivots = simplex.pivots;
            simplex.list_flows();
            let mass = units.masses();
            let value = self.price(&simplex.flows, &mass);
            self.offer_plan(&simplex.flows, &mass, answer);
            let (duals, prices) = simplex.potentials();
            let limits: Vec<f64> = duals.iter().map(|dual| dual - slack).collect();
            let found = self.minima(prices, &limits, self.all_sources(), &|| tell(None))?;
            let duals: Vec<f64> =
                duals.iter().zip(&found.least).map(|(dual, least)| dual.min(*least)).collect();
            let (bound, rounding) = self.bound(&duals, prices);
            self.offer_bound(bound - rounding, &duals, prices, answer);
            // A plan that costs nothing cannot be beaten.
            let gap = if value == 0.0 { 0.0 } else { (value - bound).abs() + rounding };
            let lost = units.rounded(&self.masses[0], &self.masses[1]);
            if is_proof(value, gap) && is_settled(value, lost * few.largest()) {
                answer.certified = Some(Certified { value, gap, integers: false });
                self.keep_plan(value, &simplex.flows, &mass, answer);
                self.keep_duals(bound - rounding, &duals, prices, answer);
                return Ok(());
            }
            // All costs in double precision tell sinks apart that look alike here, where they fit.
            let is_for_table = found.is_blurred && n.saturating_mul(m) <= MOST_IN_TABLE;
            if answer.is_within(aim.width) || found.cheap.is_empty() || !is_done || is_for_table {
                return Ok(());
            }
            arcs.extend(found.cheap);
        }
        Ok(())
    }

    /// What it may cost at most to move masses that whole quanta leave out, or have too much, and what totals
    /// differ by, wherever that is put.
    fn settling(&self, units: &Units) -> f64 {
        let (given, taken) =
            (self.masses[0].iter().copied(), self.masses[1].iter().map(|mass| -mass));
        let sums = given.chain(taken).map(Twofold::from);
        let apart = sums.fold(Twofold::from(0.0), |sum, mass| sum + mass).rounded().abs();
        let largest = self.frame.largest() * self.frame.worth;
        (units.rounded(&self.masses[0], &self.masses[1]) + apart) * largest
    }

    /// Takes a plan if it is the best so far; what it costs.
    fn offer_plan(&self, flows: &[Flow], mass: &impl Fn(i128) -> f64, answer: &mut Answer) -> f64 {
        let upper = self.price(flows, mass) + answer.settling;
        if upper < answer.upper {
            self.keep_plan(upper, flows, mass, answer);
        }
        upper
    }

    /// What a plan costs.
    fn price(&self, flows: &[Flow], mass: &impl Fn(i128) -> f64) -> f64 {
        let cost = |&(i, j, flow): &Flow| mass(flow) * self.cost(i as usize, j as usize);
        flows.iter().map(cost).sum()
    }

    /// Keeps a plan, by places outside.
    fn keep_plan(
        &self,
        upper: f64,
        flows: &[Flow],
        mass: &impl Fn(i128) -> f64,
        answer: &mut Answer,
    ) {
        let moves = flows.iter().map(|&(i, j, flow)| {
            let [i, j] = [self.places[0][i as usize], self.places[1][j as usize]];
            (i as usize, j as usize, mass(flow))
        });
        answer.moves = moves.filter(|(_, _, mass)| *mass > 0.0).collect();
        answer.upper = upper;
    }

    /// Takes prices if what they prove is the best so far.
    fn offer_prices(
        &self,
        prices: &[f64],
        goes_on: &dyn Fn() -> bool,
        answer: &mut Answer,
    ) -> Result<()> {
        let limits = vec![f64::NEG_INFINITY; self.points[0].len()];
        let duals = self.minima(prices, &limits, self.all_sources(), goes_on)?.least;
        let (bound, rounding) = self.bound(&duals, prices);
        self.offer_bound(bound - rounding, &duals, prices, answer);
        Ok(())
    }

    fn all_sources(&self) -> Vec<u32> {
        (0..self.points[0].len() as u32).collect()
    }

    fn offer_bound(&self, lower: f64, duals: &[f64], prices: &[f64], answer: &mut Answer) {
        if lower > answer.lower {
            self.keep_duals(lower, duals, prices, answer);
        }
    }

    /// Keeps duals, by their places outside.
    fn keep_duals(&self, lower: f64, duals: &[f64], prices: &[f64], answer: &mut Answer) {
        answer.lower = lower.max(0.0);
        answer.left.resize(duals.len(), 0.0);
        answer.right.resize(prices.len(), 0.0);
        for (&place, dual) in self.places[0].iter().zip(duals) {
            answer.left[place as usize] = *dual;
        }
        for (&place, price) in self.places[1].iter().zip(prices) {
            answer.right[place as usize] = -price;
        }
    }

    /// Prices of the sinks outside. Those that took no part, having next to no mass, keep nobody from
    /// anything.
    fn real_prices(&self, prices: &[f32]) -> Vec<f64> {
        let prices = &prices[..self.points[1].len()];
        let taking_part = prices.iter().copied().filter(|&price| price < FAR);
        let most = taking_part.fold(0.0, f32::max);
        let real = |&price: &f32| f64::from(if price < FAR { price } else { most });
        prices.iter().map(|price| real(price) * self.frame.worth).collect()
    }
}

impl Answer {
    /// Whether its bounds are as close as asked for, or those of a proof.
    pub(super) fn reaches(&self, width: f64) -> bool {
        self.certified.is_some() || self.is_within(width)
    }

    fn is_within(&self, width: f64) -> bool {
        width > 0.0 && self.upper.is_finite() && self.upper - self.lower <= width * self.upper
    }

    /// How much of the value is proved.
    fn share(&self) -> f64 {
        if self.upper > 0.0 { self.lower / self.upper } else { 1.0 }
    }
}

/// The largest of some prices, whatever their signs.
fn largest(prices: &[f64]) -> f64 {
    prices.iter().fold(0.0, |most: f64, price| most.max(price.abs()))
}

/// Whether all masses are equal, so that some plan that is best moves each of them as a whole.
fn is_assignment(units: &Units) -> bool {
    let first = units.supply.first();
    units.supply.iter().chain(&units.demand).all(|mass| Some(mass) == first)
}

/// Arcs that are sorted by sources, in compressed rows.
fn few_arcs(n: usize, arcs: &[(u32, u32, f64)]) -> FewArcs<f64> {
    let mut few = FewArcs::default();
    few.clear();
    let mut arcs = arcs.iter().peekable();
    for source in 0..n as u32 {
        while let Some(&(_, sink, cost)) = arcs.next_if(|arc| arc.0 == source) {
            few.push(sink as usize, cost);
        }
        few.end_row();
    }
    few
}

/// Masses as whole numbers of equal totals; next to nothing becomes 0.
fn whole_masses(masses: [&[f64]; 2]) -> [Vec<u64>; 2] {
    let unit = 2f64.powi(MASS_BITS);
    let mut whole = masses.map(|side| -> Vec<u64> {
        let total: f64 = side.iter().sum();
        side.iter().map(|mass| (mass / total * unit) as u64).collect()
    });
    let [given, taken] = [0, 1].map(|side: usize| whole[side].iter().sum::<u64>());
    let short = usize::from(taken < given);
    if let Some(largest) = whole[short].iter_mut().max() {
        *largest += given.abs_diff(taken);
    }
    whole
}

#[cfg(test)]
mod tests;
