//! Transport on disconnected graphs: each component is a separate problem.
//!
//! No path connects two components, so a balanced plan exists if and only if both measures have
//! equal masses in each. An optimal plan is optimal in every component: values add up, plans and
//! dual values are concatenated. With a penalty, each component is a problem with that penalty.

use std::collections::{BTreeMap, BTreeSet};

use super::posed::{OnComponents, OnMetric, Posed};
use super::problems::Problems;
use crate::error::{Error, Result, show_number};
use crate::measures::{Measures, check_totals};
use crate::metric::{Components, Share};
use crate::progress::tasks::SOLVING;
use crate::progress::{Progress, State};
use crate::solve::aim::Aim;
use crate::solve::answer::{Answer, Potentials};
use crate::solve::exact::KeepGoing;
use crate::solve::relax::{Penalty, Relaxation};
use crate::solve::route::Route;
use crate::solve::run::{self, Asked};
use crate::solve::workspace::Workspace;

/// Answers a problem on a disconnected graph: balanced in every component, or with a penalty.
pub(in crate::solve) fn answer(
    space: &mut Workspace,
    pair: &OnComponents<'_>,
    relax: Relaxation<'_>,
    asked: Asked<'_>,
) -> Result<Answer> {
    let mut whole = Answer::default();
    each_component(pair, relax, |component, part| {
        let mut part = match part {
            ComponentProblem::Penalty(answer) => *answer,
            ComponentProblem::Pair(measures, local) => {
                let metric = pair.ground.metric(component);
                let posed = OnMetric { metric, a: measures.row(0), b: measures.row(1) };
                run::answer(space, &Posed::Metric(posed), local.relaxation(relax), asked)?
            }
        };
        part.rename(|point| pair.ground.node(component, point));
        whole.add(part);
        Ok(())
    })?;
    Ok(whole)
}

/// Returns the route in the component with the most arcs.
pub(in crate::solve) fn largest_route(
    space: &mut Workspace,
    pair: &OnComponents<'_>,
    relax: Relaxation<'_>,
    aim: &Aim,
) -> Result<Route> {
    let mut largest = Route::default();
    each_component(pair, relax, |component, part| {
        if let ComponentProblem::Pair(measures, local) = part {
            let metric = pair.ground.metric(component);
            let posed = OnMetric { metric, a: measures.row(0), b: measures.row(1) };
            let relax = local.relaxation(relax);
            let route = run::route_of(space, &Posed::Metric(posed), relax, None, aim)?;
            if route.arcs() >= largest.arcs() {
                largest = route;
            }
        }
        Ok(())
    })?;
    Ok(largest)
}

pub(in crate::solve) enum ComponentProblem {
    /// Both measures have mass.
    Pair(Measures, LocalPenalties),
    /// One measure alone has mass, which pays the penalty.
    Penalty(Box<Answer>),
}

/// Penalties of a component's points on either side, if each point has its own.
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

    /// Returns the relaxation in the numbering of the component.
    pub(in crate::solve) fn relaxation<'l>(&'l self, relax: Relaxation<'l>) -> Relaxation<'l> {
        match relax {
            Relaxation::Penalty(Penalty::OfPoints(_)) => {
                Relaxation::Penalty(Penalty::OfPoints([&self.0[0], &self.0[1]]))
            }
            other => other,
        }
    }
}

/// Calls `work` with the problem of every component where a measure has mass.
pub(in crate::solve) fn each_component(
    pair: &OnComponents<'_>,
    relax: Relaxation<'_>,
    mut work: impl FnMut(usize, ComponentProblem) -> Result<()>,
) -> Result<()> {
    let OnComponents { ground, a, b, numbers } = pair;
    let penalty = checked_penalty(relax)?;
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
                ComponentProblem::Penalty(Box::new(penalty_only(&left, &right, |side, at| {
                    penalty.at(side, node(at))
                })))
            }
            _ => {
                if penalty.is_none() {
                    check_component(ground, component, *numbers, [&left, &right])?;
                }
                let rows = Measures::from_rows(ground.metric(component).points(), [left, right])?;
                ComponentProblem::Pair(rows, LocalPenalties::new(ground, component, relax))
            }
        };
        work(component, part)?;
    }
    Ok(())
}

/// Computes the values of many pairs, in parallel over the pairs of each component.
pub(in crate::solve) fn values(
    ground: &Components,
    measures: &Measures,
    listed: &[(usize, usize)],
    relax: Relaxation<'_>,
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    let mut values = vec![0.0; listed.len()];
    let jobs = jobs(ground, measures, listed, checked_penalty(relax)?, &mut values)?;
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
        job.listed_at.iter().zip(solved).for_each(|(&pair, value)| values[pair] += value);
        before += job.pairs.len();
    }
    Ok(values)
}

/// The problems of one component.
#[derive(Default)]
struct ComponentPairs {
    /// Restrictions of measures to the component.
    rows: Vec<Vec<(usize, f64)>>,
    /// Pairs of rows.
    pairs: Vec<(usize, usize)>,
    /// For each pair, its number in the whole list.
    listed_at: Vec<usize>,
}

/// Splits problems by component; adds penalties where only one measure has mass to the values.
fn jobs(
    ground: &Components,
    measures: &Measures,
    listed: &[(usize, usize)],
    penalty: Option<Penalty<'_>>,
    values: &mut [f64],
) -> Result<BTreeMap<usize, ComponentPairs>> {
    let mut jobs: BTreeMap<usize, ComponentPairs> = BTreeMap::new();
    // For every listed measure, the components where it has mass and its row there.
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
                    job.listed_at.push(pair);
                }
                (_, _, penalty) => {
                    let node = |point| ground.node(*component, point);
                    let at = |side, at| penalty.map_or(0.0, |penalty| penalty.at(side, node(at)));
                    values[pair] += penalty_only(share(from), share(to), at).upper;
                }
            }
        }
    }
    Ok(jobs)
}

/// Returns the penalty of a relaxation, if any; refuses a mass.
fn checked_penalty(relax: Relaxation<'_>) -> Result<Option<Penalty<'_>>> {
    match relax.checked(f64::INFINITY, f64::INFINITY)? {
        Relaxation::Balanced => Ok(None),
        Relaxation::Penalty(penalty) => Ok(Some(penalty)),
        Relaxation::Mass(mass) => Err(Error::BadOption {
            option: "mass",
            value: show_number(mass),
            expected: "the graph falls into several components, so give a penalty instead",
        }),
    }
}

/// Refuses two measures with different masses in a component.
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
    // Not `sum`, which is −0 for an empty list.
    share.iter().fold(0.0, |sum, entry| sum + entry.1)
}

/// Returns the answer if one measure alone has mass, all of which pays its penalty.
fn penalty_only(
    left: &[(usize, f64)],
    right: &[(usize, f64)],
    penalty: impl Fn(usize, usize) -> f64,
) -> Answer {
    let duals = |side: usize, share: &[(usize, f64)]| -> Vec<(usize, f64)> {
        share.iter().map(|&(point, _)| (point, penalty(side, point))).collect()
    };
    let paid = |share: &[(usize, f64)], duals: &[(usize, f64)]| -> f64 {
        share.iter().zip(duals).fold(0.0, |sum, (entry, dual)| sum + entry.1 * dual.1)
    };
    let (of_left, of_right) = (duals(0, left), duals(1, right));
    let value = paid(left, &of_left) + paid(right, &of_right);
    Answer { lower: value, upper: value, left: of_left, right: of_right, ..Answer::default() }
}

impl Answer {
    /// Extends the dual values to all points of all components: u(i) + v(j) ≤ d(i, j) for any two
    /// points of one component. They are 0 in components without mass.
    pub(in crate::solve) fn on_components(
        &self,
        ground: &Components,
        most: Penalty<'_>,
        keep_going: &KeepGoing<'_>,
    ) -> Result<Potentials> {
        let mut parts: BTreeMap<usize, Self> = BTreeMap::new();
        for (values, side) in [(&self.left, 0), (&self.right, 1)] {
            for &(node, value) in values {
                let (component, point) = ground.place(node);
                let part = parts.entry(component).or_default();
                let side = if side == 0 { &mut part.left } else { &mut part.right };
                side.push((point, value));
            }
        }
        // Points where mass stays get dual values, too, if penalties differ.
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
            let of_part = part.on_metric(ground.metric(component), most, keep_going)?;
            for (point, (left, right)) in of_part.left.into_iter().zip(of_part.right).enumerate() {
                let node = ground.node(component, point);
                (all.left[node], all.right[node]) = (left, right);
            }
        }
        Ok(all)
    }
}
