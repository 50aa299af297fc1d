//! An interval that holds W₁, from a few sweeps of Sinkhorn's method: a fraction of what the solver
//! takes.
//!
//! **Below**: the duals that the sweeps leave are made to respect all costs; then they prove a bound
//! ([`SingleProblem`]). **Above**: the plan of the sweeps is blurred, but the arcs it uses are those of
//! good plans. A plan on these arcs, begun with regrets against the duals and improved by a few pivots,
//! is nearly the best.
//!
//! Where the triangle inequality is not promised, shared mass may have to move, but it seldom does. So
//! the sweeps and the plan leave it where it is: that is still a plan, and its cost an upper bound. The
//! lower bound has to hold for all of the mass, so the duals of what moves are extended to all points
//! of both supports.

use super::arcs::SingleArcs;
use super::fixed::Units;
use super::large::{interval_by_auction, sweeps_come_first};
use super::{Solver, reused};
use crate::error::{Error, Result};
use crate::measure::Measure;
use crate::memory;
use crate::metric::{FAR, GroundMetric, LoweredDistances};
use crate::rounding::single;
use crate::solve::problem::{Duals, OnMetric};
use crate::solve::single_problem::{SingleProblem, proved_bound};
use crate::solve::within::Bounds;

/// Certified lower and upper bounds of W₁ between two measures that fit the metric and each other; more
/// is done for them where they are to be as narrow as a small `tolerance`.
///
/// # Errors
/// [`Error::Memory`], where the costs do not fit.
///
/// # Complexity
/// s² distances for s points on either side, some thirty passes over them, and up to s/4 pivots. Between
/// many points with coordinates, that of the first rounds of an auction, without a table.
pub(crate) fn interval(
    metric: &GroundMetric,
    a: &Measure<'_>,
    b: &Measure<'_>,
    tolerance: f64,
) -> Result<(f64, f64)> {
    let pair = OnMetric { metric, a: *a, b: *b };
    if !sweeps_come_first(&pair)
        && let Some(found) = interval_by_auction(&pair, tolerance)?
    {
        return Ok(found);
    }
    reused(|solver| solver.interval(metric, (a, b), tolerance, None))
}

/// As [`interval`], with the plan behind the upper bound and the dual values behind the lower one.
pub(in crate::solve) fn interval_and_plan(pair: &OnMetric<'_>, tolerance: f64) -> Result<Bounds> {
    let OnMetric { metric, a, b } = pair;
    reused(|solver| {
        let mut duals = [vec![], vec![]];
        let (lower, upper) = solver.interval(metric, (a, b), tolerance, Some(&mut duals))?;
        let mut plan = solver.shared_plan();
        if !solver.left.is_empty() {
            for (i, j, mass) in solver.moves(false) {
                plan.push(solver.left[i] as u32, solver.right[j] as u32, mass);
            }
        }
        let bounds = Bounds::of_plan(lower, upper, plan).proved_by(duals);
        Ok(solver.bounds_as_given(bounds))
    })
}

/// How much is done for an interval.
#[derive(Clone, Copy)]
struct Schedule {
    /// ε of the first sweeps, in shares of the mean cost.
    epsilon: f64,
    /// Rounds of sweeps, each at half the ε of the one before, and sweeps of a round.
    rounds: usize,
    sweeps: usize,
    /// Pivots that move the plan on, for each point.
    pivots: f64,
}

impl Schedule {
    /// Where mass moves as far as points are apart, as it does in many dimensions, a few sweeps at a
    /// small ε are enough. Where it moves to neighbors the sweeps have to come to it, and the more
    /// points there are, the nearer neighbors are.
    ///
    /// Random points, upper/lower − 1 and the exact solver's time over this: in the plane, 300 on each
    /// side, 4 rounds of 5 sweeps without pivots 0.10 and 3.6, of 8 sweeps 0.076 and 3.2, with pivots
    /// for a sixteenth of the points 0.055 and 3.0, for a quarter 0.035 and 2.5; 1,000 on each side, 5
    /// rounds of 8 sweeps 0.119 and 4.0, 0.096 and 3.8, with pivots for an eighth 0.079 and 3.7. In
    /// R³⁰⁰, 300 on each side, 0.005 whether there are pivots or not.
    ///
    /// Where less than [`WIDE`] is asked for, pivots cost less than the exact solves that they save.
    fn new(moves_far: bool, points: f64, tolerance: f64) -> Self {
        let pivots = |few: f64| if tolerance < WIDE { few.max(0.25) } else { few };
        match (moves_far, points < 500.0) {
            (true, _) => Self { epsilon: 0.025, rounds: 2, sweeps: 3, pivots: 0.0 },
            (false, true) => {
                Self { epsilon: 0.1, rounds: 4, sweeps: 7, pivots: pivots(1.0 / 16.0) }
            }
            (false, false) => {
                Self { epsilon: 0.1, rounds: 5, sweeps: 8, pivots: pivots(1.0 / 8.0) }
            }
        }
    }
}

/// What intervals are seldom wider than where mass moves to neighbors.
const WIDE: f64 = 0.15;

/// The least ε, in units: far below any cost that counts.
const LEAST_EPSILON: f32 = 1e-30;

/// Problems in single precision; their memory serves one after another.
#[derive(Clone, Debug, Default)]
pub(super) struct SweepMemory {
    /// The problem of the mass that moves.
    moving: SingleProblem,
    /// The problem of all mass, where shared mass may have to move.
    all: SingleProblem,
}

impl SweepMemory {
    /// Whether a thread may keep it.
    pub(super) fn is_small(&self) -> bool {
        self.moving.capacity() + self.all.capacity() <= MOST_KEPT
    }
}

/// Costs that a thread keeps room for, with their kernel 8 MiB.
const MOST_KEPT: usize = 1 << 20;

/// The points and masses of both measures.
#[derive(Default)]
struct PointsAndMasses {
    left: Vec<usize>,
    right: Vec<usize>,
    supply: Vec<f64>,
    demand: Vec<f64>,
}

impl Solver {
    /// Bounds of W₁; the flows of the last basis are the plan behind the upper one, and `duals` become the
    /// dual values behind the lower one, where they are asked for.
    fn interval(
        &mut self,
        metric: &GroundMetric,
        (a, b): (&Measure<'_>, &Measure<'_>),
        tolerance: f64,
        duals: Option<&mut [Duals; 2]>,
    ) -> Result<(f64, f64)> {
        self.lay_out(metric, a, b);
        if self.left.is_empty() {
            return Ok((0.0, 0.0));
        }
        let mut rough = std::mem::take(&mut self.rough);
        let bounds = self.swept_by(metric, (a, b), tolerance, &mut rough, duals);
        self.rough = rough;
        bounds
    }

    fn swept_by(
        &mut self,
        metric: &GroundMetric,
        (a, b): (&Measure<'_>, &Measure<'_>),
        tolerance: f64,
        rough: &mut SweepMemory,
        duals: Option<&mut [Duals; 2]>,
    ) -> Result<(f64, f64)> {
        let SweepMemory { moving, all } = rough;
        if metric.is_metric() {
            let below = self.fill(metric, moving)?;
            let (lower, schedule) = self.sweep(tolerance, moving);
            let upper = self.plan_cost(metric, &below, moving, schedule)?;
            if let Some(duals) = duals {
                let (supply, demand) = (&self.supply, &self.demand);
                if proved_bound((supply, &moving.u), (demand, &moving.v)) < lower {
                    // What was known at first is the best.
                    moving.u.fill(0.0);
                    moving.bound_by_sources(supply, demand);
                }
                *duals = moving.duals((&self.left, &self.right), below.unit);
            }
            return Ok((lower * below.unit, upper));
        }
        let below = self.fill(metric, all)?;
        let whole = self.take_points_and_masses();
        self.lay_out_all(a, b, true);
        if self.left.is_empty() {
            // All mass can stay, which costs nothing.
            return Ok((0.0, 0.0));
        }
        let (rows, columns) = (places(&whole.left, &self.left), places(&whole.right, &self.right));
        self.gather((&rows, &columns), all, moving);
        let (_, schedule) = self.sweep(tolerance, moving);
        let lower = extend(&whole, &columns, moving, all);
        if let Some(duals) = duals {
            *duals = all.duals((&whole.left, &whole.right), below.unit);
        }
        // Without the triangle inequality no cost is a length whose ends were rounded.
        Ok((lower * below.unit, self.plan_cost(metric, &below, moving, schedule)?))
    }

    /// The costs of what is laid out, and masses as shares of their total.
    fn fill(&self, metric: &GroundMetric, out: &mut SingleProblem) -> Result<LoweredDistances> {
        let (n, m) = (self.left.len(), self.right.len());
        // Costs and a kernel, and once more the costs of what moves.
        let bytes = memory::size_of::<[f32; 3]>(&[n, m]);
        let step = format_args!("bounds of transport between {n} and {m} points");
        memory::check(step, bytes, "take an estimate at the level `flow`")?;
        let total: f64 = self.supply.iter().sum();
        out.begin(self.demand.iter().map(|&mass| (mass / total) as f32));
        let supply = self.supply.iter().map(|&mass| (mass / total) as f32);
        let (width, costs) = out.push_all(supply);
        Ok(metric.block_below(&self.left, &self.right, width, costs))
    }

    /// Moves the points and masses that are laid out to the caller.
    fn take_points_and_masses(&mut self) -> PointsAndMasses {
        PointsAndMasses {
            left: std::mem::take(&mut self.left),
            right: std::mem::take(&mut self.right),
            supply: std::mem::take(&mut self.supply),
            demand: std::mem::take(&mut self.demand),
        }
    }

    /// The problem of what moves, from some rows and columns of that of all mass.
    fn gather(
        &self,
        (rows, columns): (&[usize], &[usize]),
        all: &SingleProblem,
        out: &mut SingleProblem,
    ) {
        let total: f64 = self.supply.iter().sum();
        out.begin(self.demand.iter().map(|&mass| (mass / total) as f32));
        let mut row = vec![0.0; columns.len()];
        for (&mass, &i) in self.supply.iter().zip(rows) {
            let costs = all.costs(i);
            row.iter_mut().zip(columns).for_each(|(out, &j)| *out = costs[j]);
            out.push((mass / total) as f32, &row);
        }
    }

    /// Sweeps, and returns the lower bound that the duals then prove, and the schedule it went by.
    fn sweep(&self, tolerance: f64, problem: &mut SingleProblem) -> (f64, Schedule) {
        let (supply, demand) = (&self.supply, &self.demand);
        let at_first = problem.bound_by_sources(supply, demand);
        let mean = problem.mean_cost();
        let total: f64 = supply.iter().sum();
        let points = (supply.len() as f64 * demand.len() as f64).sqrt();
        let schedule = Schedule::new(at_first >= 0.5 * mean * total, points, tolerance);
        // Without any cost it does not matter.
        let epsilon = if mean > 0.0 { schedule.epsilon * mean } else { 1.0 };
        problem.sweep((epsilon as f32).max(LEAST_EPSILON), schedule.rounds, schedule.sweeps);
        problem.lower_small_sources();
        (problem.bound_by_sources(supply, demand).max(at_first).max(0.0), schedule)
    }

    /// An upper bound of the cost of a plan on the arcs that the sweeps use.
    fn plan_cost(
        &mut self,
        metric: &GroundMetric,
        below: &LoweredDistances,
        problem: &mut SingleProblem,
        schedule: Schedule,
    ) -> Result<f64> {
        let (n, m) = (self.left.len(), self.right.len());
        let few = &mut self.float.few;
        few.clear();
        for i in 0..n {
            problem.for_each_used(i, |j, cost| few.push(j, f64::from(cost)));
            few.end_row();
        }
        let Units { supply, demand, .. } = &self.units;
        let (cost, width) = problem.arcs();
        let all = SingleArcs { cost, width };
        let price = problem.v[..m].iter().map(|&v| -f64::from(v));
        let pivots = (schedule.pivots * (n + m) as f64) as usize;
        if !self.float.improve_on_few((supply, demand), price, &all, pivots)? {
            return Err(Error::Unsolved { left: n, right: m });
        }
        let mass = self.units.masses();
        let flows =
            self.float.flows.iter().map(|&(i, j, flow)| (i as usize, j as usize, mass(flow)));
        // What only the perturbation moves costs nothing, however far it is.
        let price = |(i, j, mass): (usize, usize, f64)| {
            let cost = all.cost(i, j);
            let high =
                if cost < f64::from(FAR) { below.above((i, j), cost) } else { f64::INFINITY };
            let is_known = high.is_finite();
            mass * if is_known { high } else { metric.distance(self.left[i], self.right[j]) }
        };
        Ok(flows.filter(|flow| flow.2 > 0.0).map(price).sum())
    }
}

impl SingleProblem {
    /// The duals behind the last bound, of points on either side, in a unit: those of sources lowered by
    /// the rounding of their minima, and those of targets that took part.
    fn duals(&self, (left, right): (&[usize], &[usize]), unit: f64) -> [Duals; 2] {
        let lowered = |u: f32| f64::from(u) - single(2) * f64::from(u.abs());
        let sources = left.iter().zip(&self.u).map(|(&point, &u)| (point, lowered(u) * unit));
        let targets = right.iter().zip(&self.v).filter(|(_, v)| **v > -0.5 * FAR);
        let targets = targets.map(|(&point, &v)| (point, f64::from(v) * unit));
        [sources.collect(), targets.collect()]
    }
}

/// The places of some points among others, both in order.
fn places(among: &[usize], some: &[usize]) -> Vec<usize> {
    some.iter().filter_map(|point| among.binary_search(point).ok()).collect()
}

/// The lower bound for all mass that the duals of what moves prove. The targets of what moves are these
/// columns of all targets.
fn extend(
    whole: &PointsAndMasses,
    columns: &[usize],
    moving: &SingleProblem,
    all: &mut SingleProblem,
) -> f64 {
    all.v.fill(f32::NEG_INFINITY);
    for (&j, &v) in columns.iter().zip(&moving.v) {
        all.v[j] = v;
    }
    all.set_sources();
    all.bound_by_sources(&whole.supply, &whole.demand).max(0.0)
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::measure::Measures;
    use crate::metric::PointMetric;
    use crate::solve::exact::random::random;
    use crate::{Problem, silent};

    /// Every kind of metric: points in few and many dimensions, some of them equal or nearly so, a
    /// matrix without promise, and a graph.
    fn metrics() -> impl Strategy<Value = GroundMetric> {
        let kinds = prop::sample::select(vec![
            PointMetric::Euclidean,
            PointMetric::Manhattan,
            PointMetric::SqEuclidean,
            PointMetric::Cosine,
        ]);
        let dims = prop::sample::select(vec![1usize, 2, 7, 20, 60]);
        let sizes = prop::sample::select(vec![1e-140, 1e-3, 1.0, 1e7, 1e140]);
        let points = (kinds, dims, sizes, 10usize..120, any::<u64>()).prop_filter_map(
            "no such metric",
            |(kind, dim, size, n, seed)| {
                let mut random = random(seed);
                let grid = seed % 3 == 0;
                let mut coordinate = || {
                    let x = random();
                    size * if grid { (4.0 * x).round() + 1.0 } else { x }
                };
                let coordinates = (0..n * dim).map(|_| coordinate()).collect();
                GroundMetric::from_points(dim, coordinates, kind).ok()
            },
        );
        let others = (10usize..90, any::<u64>(), any::<bool>()).prop_map(|(n, seed, graph)| {
            let mut random = random(seed);
            if graph {
                let mut edges: Vec<_> = (1..n).map(|v| (v / 2, v, random())).collect();
                edges.extend((0..n).map(|v| (v, (7 * v + 3) % n, random())));
                edges.retain(|edge| edge.0 != edge.1);
                return GroundMetric::from_edges(n, &edges).unwrap();
            }
            let entry = |x: f64| if x < 0.1 { 0.0 } else { x.powi(3) };
            let distances = (0..n * (n - 1) / 2).map(|_| entry(random())).collect();
            GroundMetric::from_condensed(n, distances).unwrap()
        });
        prop_oneof![3 => points, 2 => others]
    }

    /// Two measures that share some points, of masses that may lie far apart.
    fn measures(n: usize, masses: &[(bool, f64)]) -> Option<Measures> {
        let row = |k: usize| {
            let entries = (0..n).map(move |p| (p, masses[(p + k * n) % masses.len()]));
            entries.filter(|(_, (is_there, _))| *is_there).map(|(p, (_, mass))| (p, mass)).collect()
        };
        let rows: [Vec<(usize, f64)>; 2] = [row(0), row(1)];
        Some(Measures::from_rows(n, rows).ok()?.normalized())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn w1_is_never_outside_and_nobody_comes_first(
            metric in metrics(),
            masses in vec((any::<bool>(), prop_oneof![Just(1.0), 1e-9..1.0f64, Just(1e-12)]), 241),
        ) {
            let Some(measures) = measures(metric.points(), &masses) else { return Ok(()) };
            let (a, b) = (measures.row(0), measures.row(1));
            let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
            let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
            prop_assert!(lower <= exact * (1.0 + 1e-11) && exact <= upper * (1.0 + 1e-11), "{lower} {exact} {upper}");
            let back = interval(&metric, &b, &a, f64::INFINITY).unwrap();
            // Where nearly all mass stays, what moves is rounded one way or the other.
            let largest = metric.condensed().unwrap().into_iter().fold(0.0, f64::max);
            let near = |x: f64, y: f64| (x - y).abs() <= 1e-6 * x + 1e-13 * largest;
            prop_assert!(near(lower, back.0) && near(upper, back.1), "{lower} {upper} {back:?}");
        }
    }

    #[test]
    fn they_are_narrow_where_mass_moves_to_neighbors_and_where_it_moves_far() {
        for (dim, support, most) in [(2, 200, 0.08), (5, 200, 0.04), (100, 200, 0.02)] {
            let mut random = random(7);
            let points = (0..2 * support * dim).map(|_| random()).collect();
            let metric = GroundMetric::from_points(dim, points, PointMetric::Euclidean).unwrap();
            let rows = [0, support].map(|first| {
                (first..first + support).map(|p| (p, random() + 0.01)).collect::<Vec<_>>()
            });
            let measures = Measures::from_rows(2 * support, rows).unwrap().normalized();
            let (a, b) = (measures.row(0), measures.row(1));
            let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
            assert!(upper / lower - 1.0 < most, "{dim} {}", upper / lower - 1.0);
            let exact = Problem::new(&metric, &a, &b).value(&silent).unwrap();
            assert!(lower <= exact && exact <= upper);
            // A matrix that promises nothing is bounded as well, though shared mass may move.
            let matrix = GroundMetric::from_condensed(2 * support, metric.condensed().unwrap());
            let bounds = interval(&matrix.unwrap(), &a, &b, f64::INFINITY).unwrap();
            assert!(bounds.1 / bounds.0 - 1.0 < most && bounds.0 <= exact && exact <= bounds.1);
        }
    }

    #[test]
    fn next_to_no_mass_somewhere_spoils_no_bound() {
        let mut random = random(3);
        let points = (0..400).map(|_| random()).collect();
        let metric = GroundMetric::from_points(2, points, PointMetric::Euclidean).unwrap();
        for least in [1e-8, 1e-13, 1e-16, 1e-20, 1e-31, 1e-45, 1e-200] {
            // Bells that fall off by many orders, and single points with less.
            let rows = [0, 100].map(|first| {
                let mass =
                    |k: usize| if k.is_multiple_of(7) { least } else { 0.01 + (k % 5) as f64 };
                (first..first + 100).map(|p| (p, mass(p))).collect::<Vec<_>>()
            });
            let measures = Measures::from_rows(200, rows).unwrap().normalized();
            let (lower, upper) =
                interval(&metric, &measures.row(0), &measures.row(1), 0.05).unwrap();
            assert!(upper / lower - 1.0 < 0.08, "{least} {}", upper / lower - 1.0);
        }
    }

    #[test]
    fn distances_at_the_end_of_the_range_do_not_panic() {
        let n = 130;
        for huge in [f64::MAX, 1e300] {
            let distances = vec![huge; n * (n - 1) / 2];
            let metric = GroundMetric::from_condensed(n, distances).unwrap();
            let rows =
                [0, 65].map(|first| (first..first + 65).map(|p| (p, 1.0)).collect::<Vec<_>>());
            let measures = Measures::from_rows(n, rows).unwrap().normalized();
            let (lower, upper) =
                interval(&metric, &measures.row(0), &measures.row(1), 0.05).unwrap();
            assert!(
                lower <= huge && !upper.is_nan() && upper >= huge * (1.0 - 1e-9),
                "{lower} {upper}"
            );
        }
    }

    #[test]
    fn equal_measures_and_points_in_one_place_cost_nothing() {
        let metric = GroundMetric::from_points(1, vec![3.0; 6], PointMetric::Euclidean).unwrap();
        let matrix = GroundMetric::from_condensed(6, vec![1.0; 15]).unwrap();
        let measures = Measures::from_dense(6, &[1.0, 2.0, 0.0, 1.0, 1.0, 1.0]).unwrap();
        let moved = Measures::from_dense(6, &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).unwrap();
        let (a, b) = (measures.row(0), moved.row(0));
        let (lower, upper) = interval(&metric, &a, &b, f64::INFINITY).unwrap();
        assert!(lower == 0.0 && upper < 1e-15, "{lower} {upper}");
        assert_eq!(interval(&matrix, &a, &a, 0.05).unwrap(), (0.0, 0.0));
        let (lower, upper) = interval(&matrix, &a, &b, 0.05).unwrap();
        assert!(lower <= 1.0 && 1.0 <= upper && upper - lower < 1e-5, "{lower} {upper}");
    }
}
