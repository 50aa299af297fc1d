//! Transport on graphs in several pieces: each component is a problem of its own.
//!
//! No path leads from one component to another, so that plans exist where both measures have the
//! same mass in each; the best one is the best of every component, and values, plans and dual values
//! are simply put together. A penalty lets mass be left over in each, and goes the same way.

use std::collections::{BTreeMap, BTreeSet};

use super::Solution;
use crate::error::{Error, Result};
use crate::measure::{Measures, check_totals};
use crate::metric::{Components, Share};
use crate::progress::{Progress, State};
use crate::solve::penalty::{Penalty, Relaxation};
use crate::solve::problem::{OnComponents, OnMetric, Posed, Potentials, solve_posed};
use crate::solve::problems::Problems;
use crate::steps::SOLVING;
use crate::tree::Coupling;

/// An optimal plan between two measures that have equal masses in every component, or with a
/// penalty between any two.
///
/// # Errors
/// [`Error::UnbalancedComponent`] where masses differ in a component; a mass.
pub(in crate::solve) fn solve(
    pair: &OnComponents<'_>,
    relax: Relaxation<'_>,
    progress: &Progress<'_>,
) -> Result<Solution> {
    let mut whole = Solution::free(Coupling::default());
    each(pair, relax, |component, part| {
        let part = match part {
            Part::LeftBehind(solution) => solution,
            Part::Pair(measures, local) => {
                let metric = pair.ground.metric(component);
                let posed = OnMetric { metric, a: measures.row(0), b: measures.row(1) };
                solve_posed(&Posed::Metric(posed), local.relaxation(relax), progress)?
            }
        };
        put_together(&mut whole, &part, |point| pair.ground.node(component, point));
        Ok(())
    })?;
    Ok(whole)
}

/// What two measures have in a component.
pub(in crate::solve) enum Part {
    /// Both have mass.
    Pair(Measures, LocalPenalties),
    /// One alone has mass, which costs the penalty.
    LeftBehind(Solution),
}

/// Where each point has a penalty of its own: those of a component's points, on either side.
pub(in crate::solve) struct LocalPenalties([Vec<f64>; 2]);

impl LocalPenalties {
    fn new(ground: &Components, component: usize, relax: Relaxation<'_>) -> Self {
        let Relaxation::Penalty(Penalty::OfPoints(sides)) = relax else {
            return Self([vec![], vec![]]);
        };
        let points = 0..ground.metric(component).points();
        Self(sides.map(|prices| {
            points.clone().map(|point| prices[ground.node(component, point)]).collect()
        }))
    }

    /// The same relaxation, by the numbers that points have in the component.
    pub(in crate::solve) fn relaxation<'l>(&'l self, relax: Relaxation<'l>) -> Relaxation<'l> {
        match relax {
            Relaxation::Penalty(Penalty::OfPoints(_)) => {
                Relaxation::Penalty(Penalty::OfPoints([&self.0[0], &self.0[1]]))
            }
            other => other,
        }
    }
}

/// Calls `work` with what two measures have in every component where either has mass.
pub(in crate::solve) fn each(
    pair: &OnComponents<'_>,
    relax: Relaxation<'_>,
    mut work: impl FnMut(usize, Part) -> Result<()>,
) -> Result<()> {
    let OnComponents { ground, a, b, numbers } = pair;
    let penalty = penalty_of(relax)?;
    let mut shares: BTreeMap<usize, [Share; 2]> = BTreeMap::new();
    for (side, measure) in [a, b].into_iter().enumerate() {
        for (component, share) in ground.split(measure) {
            shares.entry(component).or_default()[side] = share;
        }
    }
    for (component, [left, right]) in shares {
        let part = match penalty {
            Some(penalty) if left.is_empty() || right.is_empty() => {
                let node = |point| ground.node(component, point);
                Part::LeftBehind(left_behind(&left, &right, |side, at| penalty.at(side, node(at))))
            }
            _ => {
                if penalty.is_none() {
                    check_component(ground, component, *numbers, [&left, &right])?;
                }
                let rows = Measures::from_rows(ground.metric(component).points(), [left, right])?;
                Part::Pair(rows, LocalPenalties::new(ground, component, relax))
            }
        };
        work(component, part)?;
    }
    Ok(())
}

/// The values of many pairs, in parallel over the pairs of each component; the same for any number
/// of threads.
///
/// # Errors
/// As [`solve`], with the numbers of the measures.
pub(in crate::solve) fn values(
    ground: &Components,
    measures: &Measures,
    listed: &[(usize, usize)],
    relax: Relaxation<'_>,
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    let mut values = vec![0.0; listed.len()];
    let jobs = jobs(ground, measures, listed, penalty_of(relax)?, &mut values)?;
    let all: usize = jobs.values().map(|job| job.pairs.len()).sum();
    let mut before = 0;
    for (component, job) in jobs {
        let metric = ground.metric(component);
        let of_all = |state: &State<'_>| match state.task {
            SOLVING => progress(&state.after(before, all)),
            _ => progress(state),
        };
        let own = Measures::from_rows(metric.points(), job.rows)?;
        let local = LocalPenalties::new(ground, component, relax);
        let problems = Problems::new(metric, &own, &job.pairs);
        let solved = problems.with_relaxation(local.relaxation(relax)).values(&of_all)?;
        job.which.iter().zip(solved).for_each(|(&pair, value)| values[pair] += value);
        before += job.pairs.len();
    }
    Ok(values)
}

/// The problems of one component: shares of measures, pairs of them, and the pairs they belong to.
#[derive(Default)]
struct ComponentPairs {
    rows: Vec<Vec<(usize, f64)>>,
    pairs: Vec<(usize, usize)>,
    which: Vec<usize>,
}

/// Which problems there are on every component; what has to be left over goes to the values.
fn jobs(
    ground: &Components,
    measures: &Measures,
    listed: &[(usize, usize)],
    penalty: Option<Penalty<'_>>,
    values: &mut [f64],
) -> Result<BTreeMap<usize, ComponentPairs>> {
    let mut jobs: BTreeMap<usize, ComponentPairs> = BTreeMap::new();
    // For every measure that a pair names the components where it has mass, and its number there.
    let mut places: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for row in listed.iter().flat_map(|&(i, j)| [i, j]) {
        places.entry(row).or_insert_with(|| {
            let place = |(component, share)| {
                let rows = &mut jobs.entry(component).or_default().rows;
                rows.push(share);
                (component, rows.len() - 1)
            };
            ground.split(&measures.row(row)).into_iter().map(place).collect()
        });
    }
    for (pair, &(i, j)) in listed.iter().enumerate() {
        let (left, right) = (&places[&i], &places[&j]);
        let components: BTreeSet<usize> = left.keys().chain(right.keys()).copied().collect();
        for component in &components {
            let job = jobs.get_mut(component).expect("a measure has mass there");
            let (from, to) = (left.get(component).copied(), right.get(component).copied());
            let share = |at: Option<usize>| at.map_or(&[][..], |at| &job.rows[at][..]);
            if penalty.is_none() {
                check_component(ground, *component, [i, j], [share(from), share(to)])?;
            }
            match (from, to, penalty) {
                (Some(from), Some(to), _) => {
                    job.pairs.push((from, to));
                    job.which.push(pair);
                }
                (_, _, penalty) => {
                    let node = |point| ground.node(*component, point);
                    let at = |side, at| penalty.map_or(0.0, |penalty| penalty.at(side, node(at)));
                    values[pair] += left_behind(share(from), share(to), at).value;
                }
            }
        }
    }
    Ok(jobs)
}

/// The penalty of what may be left over in a component.
fn penalty_of(relax: Relaxation<'_>) -> Result<Option<Penalty<'_>>> {
    match super::relaxed::checked(relax, f64::INFINITY, f64::INFINITY)? {
        Relaxation::Balanced => Ok(None),
        Relaxation::Penalty(penalty) => Ok(Some(penalty)),
        Relaxation::Mass(mass) => Err(Error::BadOption {
            option: "mass",
            value: mass.to_string(),
            expected: "the graph falls into several components, so give a penalty instead",
        }),
    }
}

/// Refuses two numbered measures of different masses in a component.
fn check_component(
    ground: &Components,
    component: usize,
    numbers: [usize; 2],
    shares: [&[(usize, f64)]; 2],
) -> Result<()> {
    let ([left, right], [left_mass, right_mass]) = (numbers, shares.map(total));
    if check_totals((left, left_mass), (right, right_mass)).is_ok() {
        return Ok(());
    }
    let point = shares[0].first().or(shares[1].first()).map_or(0, |entry| entry.0);
    let node = ground.node(component, point);
    Err(Error::UnbalancedComponent { left, right, node, left_mass, right_mass })
}

fn total(share: &[(usize, f64)]) -> f64 {
    // Not `sum`, which is -0 where there is nothing.
    share.iter().fold(0.0, |sum, entry| sum + entry.1)
}

/// The solution where one measure alone has mass, which then costs the penalty of its side and point.
fn left_behind(
    left: &[(usize, f64)],
    right: &[(usize, f64)],
    penalty: impl Fn(usize, usize) -> f64,
) -> Solution {
    let duals = |side: usize, share: &[(usize, f64)]| -> Vec<(usize, f64)> {
        share.iter().map(|&(point, _)| (point, penalty(side, point))).collect()
    };
    let paid = |share: &[(usize, f64)], duals: &[(usize, f64)]| -> f64 {
        share.iter().zip(duals).fold(0.0, |sum, (entry, dual)| sum + entry.1 * dual.1)
    };
    let (of_left, of_right) = (duals(0, left), duals(1, right));
    let value = paid(left, &of_left) + paid(right, &of_right);
    Solution { value, left: of_left, right: of_right, ..Solution::free(Coupling::default()) }
}

/// Adds the solution of a component, whose points are called as `name` says.
fn put_together(whole: &mut Solution, part: &Solution, name: impl Fn(usize) -> usize) {
    for (from, to, mass) in part.plan.iter() {
        whole.plan.push(name(from) as u32, name(to) as u32, mass);
    }
    let named = |(point, value): &(usize, f64)| (name(*point), *value);
    whole.left.extend(part.left.iter().map(named));
    whole.right.extend(part.right.iter().map(named));
    whole.value += part.value;
    whole.gap += part.gap;
    whole.pivots += part.pivots;
    whole.integers |= part.integers;
}

impl Solution {
    /// Dual values of all points of all components: for any two of the same component
    /// u(i) + v(j) ≤ d(i, j). They are 0 in components without mass.
    pub(in crate::solve) fn on_components(
        &self,
        ground: &Components,
        most: Penalty<'_>,
    ) -> Potentials {
        let nothing = || Self::free(Coupling::default());
        let mut parts: BTreeMap<usize, Self> = BTreeMap::new();
        for (values, side) in [(&self.left, 0), (&self.right, 1)] {
            for &(node, value) in values {
                let (component, point) = ground.place(node);
                let part = parts.entry(component).or_insert_with(nothing);
                let side = if side == 0 { &mut part.left } else { &mut part.right };
                side.push((point, value));
            }
        }
        // What stays put has dual values, too, where penalties differ.
        for (node, _, mass) in self.plan.iter().filter(|&(from, to, _)| from == to) {
            let (component, point) = ground.place(node);
            if let Some(part) = parts.get_mut(&component) {
                part.plan.push(point as u32, point as u32, mass);
            }
        }
        let mut all =
            Potentials { left: vec![0.0; ground.points()], right: vec![0.0; ground.points()] };
        for (component, part) in parts {
            let relax = Relaxation::Penalty(most);
            let local = LocalPenalties::new(ground, component, relax);
            let most = local.relaxation(relax).penalty();
            let of_part = part.on_metric(ground.metric(component), most);
            for (point, (left, right)) in of_part.left.into_iter().zip(of_part.right).enumerate() {
                let node = ground.node(component, point);
                (all.left[node], all.right[node]) = (left, right);
            }
        }
        all
    }
}
