//! Runs the engines of a [route](super::route) in order until one reaches the aim.

use std::sync::Arc;

use super::aim::{Aim, Deadline, Wanted};
use super::answer::Answer;
use super::costs::device::Device;
use super::exact::edges::EdgeProblem;
use super::exact::line::{self, Line};
use super::exact::{auction, sweeps};
use super::problem::components;
use super::problem::posed::{OnMetric, Posed};
use super::relax::{self, Relaxation};
use super::route::{DeviceUse, Engine, Route, Size, WIDE, prepare, route};
use super::sides::{Costs, Sides};
use super::workspace::Workspace;
use crate::error::{Error, Result};

/// The aim, the device and the deadline of one call.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) aim: &'a Aim,
    pub(super) device: Option<&'a Arc<dyn Device>>,
    pub(super) deadline: &'a Deadline<'a>,
}

/// The answer of one engine.
pub(super) struct Found {
    pub(super) answer: Answer,
    /// Whether the answer reaches the aim.
    pub(super) is_done: bool,
}

impl Found {
    pub(super) fn exact(answer: Answer) -> Self {
        Self { answer, is_done: true }
    }
}

/// Answers a validated problem.
pub(super) fn answer(
    space: &mut Workspace,
    posed: &Posed<'_>,
    relax: Relaxation<'_>,
    asked: Asked<'_>,
) -> Result<Answer> {
    if let Posed::Components(pair) = posed {
        return components::answer(space, pair, relax, asked);
    }
    prepare_graph(posed, relax, asked)?;
    let (costs, relax) = if relax.is_balanced() {
        (read(&mut space.sides, posed)?, relax)
    } else {
        relax::read(&mut space.sides, posed, relax)?
    };
    let route = route(&size(costs, &space.sides, relax, asked.device), asked.aim);
    let answer = run_route(route, space, posed, (costs, relax), asked)?;
    Ok(Answer { route, ..space.sides.unswapped(answer) })
}

/// Prepares a graph for many distances, unless the problem is solved on the edges.
fn prepare_graph(posed: &Posed<'_>, relax: Relaxation<'_>, asked: Asked<'_>) -> Result<()> {
    let Posed::Metric(pair) = posed else { return Ok(()) };
    if relax.is_balanced() && asked.aim.time.is_some() {
        return Ok(());
    }
    let sizes = (pair.a.support().len(), pair.b.support().len());
    let prepared =
        prepare(pair.metric, std::iter::once(sizes), &|state| asked.deadline.report(state));
    match prepared {
        // The engines find the same, and answer with the first plan.
        Err(Error::Canceled) if asked.deadline.has_passed() => Ok(()),
        prepared => prepared,
    }
}

/// Returns the route of a validated problem.
pub(super) fn route_of(
    space: &mut Workspace,
    posed: &Posed<'_>,
    relax: Relaxation<'_>,
    device: Option<&Arc<dyn Device>>,
    aim: &Aim,
) -> Result<Route> {
    if let Posed::Components(pair) = posed {
        return components::largest_route(space, pair, relax, aim);
    }
    let costs = if relax.is_balanced() {
        read(&mut space.sides, posed)?
    } else {
        relax::read(&mut space.sides, posed, relax)?.0
    };
    Ok(route(&size(costs, &space.sides, relax, device), aim))
}

fn size<'p>(
    costs: Costs<'p>,
    sides: &Sides,
    relax: Relaxation<'p>,
    device: Option<&Arc<dyn Device>>,
) -> Size<'p> {
    let device = match device {
        None => DeviceUse::None,
        Some(device) if device.scans_all() => DeviceUse::Every,
        Some(_) => DeviceUse::Large,
    };
    let (left, right) = match (sides.left.len(), sides.right.len()) {
        (left, right) if sides.swapped => (right, left),
        sizes => sizes,
    };
    let masses = || sides.supply.iter().chain(&sides.demand).copied();
    let has_wide_masses = matches!(relax, Relaxation::Mass(_))
        && masses().fold(0.0, f64::max) > WIDE * masses().fold(f64::INFINITY, f64::min);
    Size { costs, left, right, relax, device, has_wide_masses }
}

/// Reads the sides of a balanced problem; returns its costs.
fn read<'p>(sides: &mut Sides, posed: &Posed<'p>) -> Result<Costs<'p>> {
    match posed {
        Posed::Metric(pair) => {
            let stays = pair.metric.is_metric();
            if Line::of(pair.metric).is_some() {
                line::check_memory(pair.a.support().len(), pair.b.support().len(), 1)?;
                // The integer masses of that engine absorb the rounding of totals.
                sides.read_unbalanced(pair, stays);
            } else {
                sides.read(pair, stays);
            }
            Ok(Costs::Metric(pair.metric))
        }
        Posed::Matrix(matrix) => {
            matrix.check_memory()?;
            sides.read_matrix(matrix, Relaxation::Balanced)?;
            Ok(Costs::Matrix(matrix.costs))
        }
        Posed::Components(_) => unreachable!("components are solved one by one"),
    }
}

/// Runs the engines of a route until one reaches the aim. The best bounds so far are the answer if
/// the deadline passes, or if under a deadline the next engine has too little memory.
fn run_route(
    route: Route,
    space: &mut Workspace,
    posed: &Posed<'_>,
    (costs, relax): (Costs<'_>, Relaxation<'_>),
    asked: Asked<'_>,
) -> Result<Answer> {
    let Asked { aim, device, deadline } = asked;
    let mut best: Option<Answer> = None;
    for engine in route.engines() {
        // Checked here too, because an engine solves a small problem before its first check.
        let is_stopped = aim.accepts_bounds() && !deadline.report_proved(None);
        let found = if is_stopped && engine != Engine::Edges {
            Err(Error::Canceled)
        } else {
            run(engine, space, posed, (costs, relax), asked)
        };
        if device.is_some_and(|device| device.has_failed()) {
            return Err(Error::Canceled);
        }
        match found {
            Ok(Some(found)) if found.is_done || deadline.has_passed() => {
                return Ok(found.answer.or_better(best));
            }
            Ok(Some(found)) => best = Some(found.answer.or_better(best)),
            Ok(None) => {}
            Err(Error::Canceled) if deadline.has_passed() => break,
            Err(Error::Memory { .. }) if deadline.is_limited() && best.is_some() => break,
            Err(error) => return Err(error),
        }
    }
    best.map_or_else(|| first_plan(&space.sides, costs, relax), Ok)
}

/// Runs one engine; returns `None` if it does not support the costs or finds no bounds.
fn run(
    engine: Engine,
    space: &mut Workspace,
    posed: &Posed<'_>,
    (costs, relax): (Costs<'_>, Relaxation<'_>),
    asked: Asked<'_>,
) -> Result<Option<Found>> {
    let Asked { aim, deadline, .. } = asked;
    if !relax.is_balanced() {
        return run_relaxed(engine, space, (costs, relax), asked);
    }
    let Workspace { sides, units, table, edges, line, .. } = &mut *space;
    let keep_going = |proved| deadline.report_proved(proved);
    let exact = |answer| Some(Found::exact(answer));
    match (engine, posed) {
        (Engine::Direct, _) => Ok(Some(Found::exact(Answer::free(sides.shared_plan())))),
        (Engine::Line, Posed::Metric(OnMetric { metric, .. })) => {
            let Some(on) = Line::of(metric) else { return Ok(None) };
            line::answer(&on, sides, (units, line), aim.wanted, &keep_going).map(exact)
        }
        (Engine::Edges, Posed::Metric(OnMetric { metric, .. })) => {
            let Some(network) = metric.network() else { return Ok(None) };
            let problem = EdgeProblem { metric, network, sides, spare: None, aim, deadline };
            problem.answer(units, edges).map(exact)
        }
        (Engine::Sweeps, Posed::Metric(pair)) => {
            let with_plan = aim.wanted > Wanted::Value;
            let answer = sweeps::answer(pair, space, (aim.width(), with_plan), deadline)?;
            let is_done = answer.is_within(aim.width());
            Ok(Some(Found { answer, is_done }))
        }
        (Engine::Auction, _) => auction::answer(costs, sides, table, asked),
        _ => table.answer(costs, sides, units, aim.wanted, &keep_going).map(exact),
    }
}

/// Runs one engine on a relaxed problem.
fn run_relaxed(
    engine: Engine,
    space: &mut Workspace,
    (costs, relax): (Costs<'_>, Relaxation<'_>),
    asked: Asked<'_>,
) -> Result<Option<Found>> {
    if engine == Engine::Auction {
        let asked = Asked { device: None, ..asked };
        return relax::spares::answer(costs, &space.sides, relax, &mut space.table, asked);
    }
    let keep_going = |proved| asked.deadline.report_proved(proved);
    if let (Engine::Line, Costs::Metric(metric)) = (engine, costs) {
        let Workspace { sides, units, line, .. } = space;
        let Some(on) = Line::of(metric) else { return Ok(None) };
        let memory = (units, line);
        let found = relax::line::answer(&on, sides, relax, memory, asked.aim.wanted, &keep_going)?;
        return Ok(found.map(Found::exact));
    }
    if let (Engine::Edges, Costs::Metric(metric)) = (engine, costs) {
        let Workspace { sides, units, edges, .. } = space;
        let found = relax::edges::answer(metric, sides, relax.penalty(), (units, edges), asked)?;
        return Ok(found.map(Found::exact));
    }
    let answer = relax::on_table(space, costs, relax, asked.aim.wanted, &keep_going)?;
    // A table of few points may use another simplex.
    Ok(Some(Found::exact(Answer { engine, ..answer })))
}

/// Returns the bounds that need no time: 0, and the cost of the plan that serves the sinks in
/// order, without arcs that cost no less than the penalties of their ends.
fn first_plan(sides: &Sides, costs: Costs<'_>, relax: Relaxation<'_>) -> Result<Answer> {
    let cost = |i: usize, j: usize| match costs {
        Costs::Metric(metric) => metric.distance(i, j),
        Costs::Matrix(matrix) if sides.swapped => matrix.entry(j, i),
        Costs::Matrix(matrix) => matrix.entry(i, j),
    };
    let (mut plan, mut upper) = (sides.shared_plan(), 0.0);
    let mut to_move = f64::INFINITY;
    if let Relaxation::Mass(mass) = relax {
        plan = relax::shared_plan_of(&sides.shared, mass);
        to_move = mass - plan.mass.iter().sum::<f64>();
    }
    let side = usize::from(sides.swapped);
    let penalty = relax.penalty();
    let price = |i: usize, j: usize| penalty.at(side, i) + penalty.at(1 - side, j);
    let [mut supply, mut demand] = [sides.supply.clone(), sides.demand.clone()];
    let (mut i, mut j) = (0, 0);
    while i < supply.len() && j < demand.len() && to_move > 0.0 {
        let (mass, ends) = (supply[i].min(demand[j]).min(to_move), (sides.left[i], sides.right[j]));
        if mass > 0.0 {
            let (cost, price) = (cost(ends.0, ends.1), price(ends.0, ends.1));
            if !(0.0..f64::INFINITY).contains(&cost) {
                let (from, to) = if sides.swapped { (ends.1, ends.0) } else { ends };
                return Err(Error::BadDistance { from, to, value: cost });
            }
            if cost < price {
                plan.push(ends.0 as u32, ends.1 as u32, mass);
            }
            upper += mass * cost.min(price);
        }
        supply[i] -= mass;
        demand[j] -= mass;
        to_move -= mass;
        (i, j) = (i + usize::from(supply[i] <= 0.0), j + usize::from(demand[j] <= 0.0));
    }
    if let Relaxation::Penalty(penalty) = relax {
        let paid = |side: usize, places: &[usize], masses: &[f64]| -> f64 {
            places.iter().zip(masses).map(|(&at, mass)| penalty.at(side, at) * mass).sum()
        };
        upper += paid(side, &sides.left[i..], &supply[i..]);
        upper += paid(1 - side, &sides.right[j..], &demand[j..]);
    }
    if !upper.is_finite() {
        return Err(Error::Unsolved { left: sides.left.len(), right: sides.right.len() });
    }
    Ok(Answer { upper, plan, ..Answer::default() })
}
