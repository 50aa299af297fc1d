//! Transport on graphs in several pieces: each component is a problem of its own.
//!
//! No path leads from one component to another, so that plans exist where both measures have the
//! same mass in each; the best one is the best of every component, and values, plans and dual values
//! are simply put together. A penalty lets mass be left over in each, and goes the same way.

use std::collections::{BTreeMap, BTreeSet};

use super::{Relaxed, Solution, pairs, relaxed_pairs, solve_relaxed, solve_watched};
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures, check_balance, check_totals};
use crate::metric::Components;
use crate::progress::{Progress, SOLVING, State};
use crate::tree::Coupling;

/// An optimal plan between two measures that have equal masses in every component, or with a
/// penalty between any two.
///
/// # Errors
/// As [`distance`](super::distance()) and [`solve_relaxed`];
/// [`Error::UnbalancedComponent`] where masses differ in a component; [`Relaxed::Mass`] where there
/// are several components; [`Error::Cancelled`] when `progress` asks to stop.
///
/// # Example
/// ```
/// use treeport::metric::Components;
/// use treeport::{Measures, exact, silent};
/// let islands = Components::from_edges(4, &[(0, 1, 2.0), (2, 3, 1.0)])?;
/// let measures = Measures::from_dense(4, &[1.0, 0.0, 3.0, 0.0, 0.0, 1.0, 1.0, 2.0])?;
/// let (a, b) = (measures.row(0), measures.row(1));
/// assert_eq!(exact::solve_components(&islands, &a, &b, None, &silent)?.value, 4.0);
/// # Ok::<(), treeport::Error>(())
/// ```
pub fn solve_components(
    ground: &Components,
    a: &Measure<'_>,
    b: &Measure<'_>,
    relaxed: Option<Relaxed>,
    progress: &Progress<'_>,
) -> Result<Solution> {
    match (ground.whole(), relaxed) {
        (Ok(metric), None) => return solve_watched(metric, a, b, progress),
        (Ok(metric), Some(relaxed)) => return solve_relaxed(metric, a, b, relaxed, progress),
        (Err(_), _) => {}
    }
    for measure in [a, b] {
        measure.check_points(ground.points())?;
    }
    let penalty = penalty_of(relaxed)?;
    if penalty.is_none() {
        check_balance((0, *a), (1, *b))?;
    }
    let mut shares: BTreeMap<usize, [Vec<(usize, f64)>; 2]> = BTreeMap::new();
    for (side, measure) in [a, b].into_iter().enumerate() {
        for (component, share) in ground.split(measure) {
            shares.entry(component).or_default()[side] = share;
        }
    }
    let mut whole = nothing();
    for (component, [left, right]) in shares {
        let metric = ground.metric(component);
        let part = match penalty {
            Some(price) if left.is_empty() || right.is_empty() => left_behind(&left, &right, price),
            _ => {
                check_component(ground, component, (0, &left), (1, &right), penalty)?;
                let both = Measures::from_rows(metric.points(), [left, right])?;
                let (a, b) = (both.row(0), both.row(1));
                match penalty.map(Relaxed::Penalty) {
                    Some(relaxed) => solve_relaxed(metric, &a, &b, relaxed, progress)?,
                    None => solve_watched(metric, &a, &b, progress)?,
                }
            }
        };
        put_together(&mut whole, &part, |point| ground.node(component, point));
    }
    Ok(whole)
}

/// W₁ of many pairs, or with a penalty the value of [`solve_relaxed`], in parallel over the pairs of
/// each component; the same for any number of threads.
///
/// # Errors
/// As [`pairs`], [`relaxed_pairs`] and [`solve_components`], with the numbers of the measures.
pub fn pairs_in_components(
    ground: &Components,
    measures: &Measures,
    listed: &[(usize, usize)],
    relaxed: Option<Relaxed>,
    progress: &Progress<'_>,
) -> Result<Vec<f64>> {
    match (ground.whole(), relaxed) {
        (Ok(metric), None) => return pairs(metric, measures, listed, progress),
        (Ok(metric), Some(relaxed)) => {
            return relaxed_pairs(metric, measures, listed, relaxed, progress);
        }
        (Err(_), _) => {}
    }
    measures.check_points(ground.points())?;
    let penalty = penalty_of(relaxed)?;
    match penalty {
        None => measures.check_pairs(listed)?,
        Some(_) => listed
            .iter()
            .try_for_each(|&(i, j)| measures.get(i).and(measures.get(j)).map(|_| ()))?,
    }
    let mut values = vec![0.0; listed.len()];
    let jobs = jobs(ground, measures, listed, penalty, &mut values)?;
    let all: usize = jobs.values().map(|job| job.pairs.len()).sum();
    let mut before = 0;
    for (component, job) in jobs {
        let metric = ground.metric(component);
        let of_all = |state: &State<'_>| match state.task {
            SOLVING => progress(&State { done: before + state.done, total: Some(all), ..*state }),
            _ => progress(state),
        };
        let own = Measures::from_rows(metric.points(), job.rows)?;
        let solved = match penalty.map(Relaxed::Penalty) {
            Some(relaxed) => relaxed_pairs(metric, &own, &job.pairs, relaxed, &of_all)?,
            None => pairs(metric, &own, &job.pairs, &of_all)?,
        };
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
    penalty: Option<f64>,
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
            check_component(ground, *component, (i, share(from)), (j, share(to)), penalty)?;
            match (from, to, penalty) {
                (Some(from), Some(to), _) => {
                    job.pairs.push((from, to));
                    job.which.push(pair);
                }
                (_, _, price) => {
                    let mass = total(share(from)) + total(share(to));
                    values[pair] += price.unwrap_or(0.0) * mass;
                }
            }
        }
    }
    Ok(jobs)
}

/// The penalty of what may be left over in a component.
fn penalty_of(relaxed: Option<Relaxed>) -> Result<Option<f64>> {
    let bad = |option, value: f64, expected| {
        Err(Error::BadOption { option, value: value.to_string(), expected })
    };
    match relaxed {
        None => Ok(None),
        Some(Relaxed::Penalty(price)) if (0.0..f64::INFINITY).contains(&price) => Ok(Some(price)),
        Some(Relaxed::Penalty(price)) => bad("penalty", price, "it must be finite and at least 0"),
        Some(Relaxed::Mass(mass)) => {
            bad("mass", mass, "the graph falls into several components, so give a penalty instead")
        }
    }
}

/// Refuses two numbered measures of different masses in a component, unless there is a penalty.
fn check_component(
    ground: &Components,
    component: usize,
    (left, from): (usize, &[(usize, f64)]),
    (right, to): (usize, &[(usize, f64)]),
    penalty: Option<f64>,
) -> Result<()> {
    let (left_mass, right_mass) = (total(from), total(to));
    if penalty.is_some() || check_totals((left, left_mass), (right, right_mass)).is_ok() {
        return Ok(());
    }
    let point = from.first().or(to.first()).map_or(0, |entry| entry.0);
    let node = ground.node(component, point);
    Err(Error::UnbalancedComponent { left, right, node, left_mass, right_mass })
}

fn total(share: &[(usize, f64)]) -> f64 {
    // Not `sum`, which is -0 where there is nothing.
    share.iter().fold(0.0, |sum, entry| sum + entry.1)
}

fn nothing() -> Solution {
    let (plan, left, right) = (Coupling::default(), Vec::new(), Vec::new());
    Solution { value: 0.0, plan, left, right, gap: 0.0, pivots: 0, integers: false }
}

/// The solution where one measure alone has mass, which then costs the penalty.
fn left_behind(left: &[(usize, f64)], right: &[(usize, f64)], price: f64) -> Solution {
    let duals = |share: &[(usize, f64)]| share.iter().map(|&(point, _)| (point, price)).collect();
    let value = price * (total(left) + total(right));
    Solution { value, left: duals(left), right: duals(right), ..nothing() }
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
    /// [`potentials`](Self::potentials) of all points of all components: for any two of the same
    /// component u(i) + v(j) ≤ d(i, j). They are 0 in components without mass.
    pub fn potentials_in_components(&self, ground: &Components, most: f64) -> (Vec<f64>, Vec<f64>) {
        if let Ok(metric) = ground.whole() {
            return self.potentials(metric, most);
        }
        let mut parts: BTreeMap<usize, Solution> = BTreeMap::new();
        for (values, side) in [(&self.left, 0), (&self.right, 1)] {
            for &(node, value) in values {
                let (component, point) = ground.place(node);
                let part = parts.entry(component).or_insert_with(nothing);
                let side = if side == 0 { &mut part.left } else { &mut part.right };
                side.push((point, value));
            }
        }
        let (mut u, mut v) = (vec![0.0; ground.points()], vec![0.0; ground.points()]);
        for (component, part) in parts {
            let (left, right) = part.potentials(ground.metric(component), most);
            for (point, (left, right)) in left.into_iter().zip(right).enumerate() {
                let node = ground.node(component, point);
                (u[node], v[node]) = (left, right);
            }
        }
        (u, v)
    }
}
