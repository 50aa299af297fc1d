//! Sinkhorn's iteration for one problem: matrix products while the scalings stay in range,
//! logarithms elsewhere.
//!
//! The plan is Πᵢⱼ = aᵢ bⱼ exp((fᵢ + gⱼ − Dᵢⱼ)/ε). In the log domain every iteration takes two
//! exponentials per entry. Here the kernel K holds this expression for fixed potentials, except for
//! a factor of each column that is the initial v, and products scale Π = diag(u) K diag(v). A
//! scaling beyond [`RANGE`] means that K has lost entries that may matter: then v is absorbed into
//! g, one iteration runs in the log domain, and K is computed again (absorption in Schmitzer,
//! *Stabilized Sparse Scaling Algorithms for Entropy Regularized Transport Problems*, 2019).

use super::SinkhornOptions;
use super::passes::{
    Block, ColumnSums, dot, each_block, exp, kernel_row, largest, least_reaches, smaller, sweep,
};
use super::relax::{Pace, relaxed};
use crate::error::{Error, Result};
use crate::measures::Measure;
use crate::memory;
use crate::metric::GroundMetric;
use crate::progress::tasks::SOLVING;
use crate::progress::{Progress, State};
use crate::solve::problem::matrix::SideMasses;
use crate::solve::problem::posed::OnMatrix;
use crate::solve::relax::Relaxation;
use crate::solve::sides::{order_of_sides, precedes, rescaling, transpose};

/// Scalings stay between 1/RANGE and RANGE. Entries that underflow in K are below 10⁻³⁰⁷, so they
/// would be below 10⁻²⁰⁷ in the plan.
const RANGE: f64 = 1e50;

/// Tolerance before the last ε: with 10⁻⁴ some small ε never converge.
const STAGE_TOLERANCE: f64 = 1e-6;

/// Ratio of the largest cost to ε up to which ε-scaling is skipped.
const DIRECT: f64 = 20.0;

/// Largest number of averaging steps for two equal measures: 2⁻⁶⁰ is beyond every tolerance.
const MEETINGS: usize = 60;

/// Lower bound of a share of the mass: quotients are finite, products above 0.
const LEAST_SHARE: f64 = 1e-150;

/// Advice where two tables do not fit into memory.
const INSTEAD: &str = "take the distance of a tree, or an estimate at the level `flow`";

/// Entries read between two progress reports: some milliseconds.
const REPORTED: usize = 1 << 22;

/// Iteration counter with the progress callback.
struct Done<'a> {
    iterations: usize,
    /// Number of entries of the plan.
    entries: usize,
    /// Number of entries read since the last report.
    silent: usize,
    progress: &'a Progress<'a>,
}

impl Done<'_> {
    fn one_more(&mut self) -> Result<()> {
        self.iterations += 1;
        self.silent += self.entries;
        if self.silent < REPORTED {
            return Ok(());
        }
        self.silent = 0;
        let state = State::new(SOLVING, self.iterations, None);
        if (self.progress)(&state) { Ok(()) } else { Err(Error::Canceled) }
    }
}

/// Workspace of one problem at a time, reused for the next. All masses are shares of the total.
#[derive(Clone, Debug, Default)]
pub(super) struct Scaling {
    pub(super) left: Vec<usize>,
    pub(super) right: Vec<usize>,
    pub(super) a: Vec<f64>,
    pub(super) b: Vec<f64>,
    /// Distances between the supports, in row-major order.
    pub(super) cost: Vec<f64>,
    pub(super) largest: f64,
    /// Whether the measures are swapped; both directions then have the same bits.
    pub(super) swapped: bool,
    /// Whether both measures are equal and the costs are symmetric.
    mirrored: bool,
    /// The kernel K, and at the end the plan.
    pub(super) plan: Vec<f64>,
    /// Potentials of the rows, in the unit of the distances.
    pub(super) f: Vec<f64>,
    /// Potentials of the columns, in the unit of the distances.
    pub(super) g: Vec<f64>,
    /// Scalings of the rows.
    pub(super) u: Vec<f64>,
    /// Scalings of the columns.
    pub(super) v: Vec<f64>,
    /// Initial v, which corresponds to the g of the kernel; the initial u is 1.
    start: Vec<f64>,
    /// The v before the last sweep.
    before: Vec<f64>,
    /// Row sums.
    rows: Vec<f64>,
    /// Column sums.
    pub(super) sums: ColumnSums,
}

impl Scaling {
    /// Copies one problem into the workspace; returns the mass that moves.
    pub(super) fn prepare(
        &mut self,
        metric: &GroundMetric,
        a: &Measure<'_>,
        b: &Measure<'_>,
    ) -> Result<f64> {
        self.swapped = precedes(b, a);
        let total = self.mass_of(a.total(), b.total());
        let (a, b) = if self.swapped { (b, a) } else { (a, b) };
        for (points, shares, measure) in
            [(&mut self.left, &mut self.a, a), (&mut self.right, &mut self.b, b)]
        {
            points.clear();
            points.extend(measure.support().iter().map(|&p| p as usize));
            shares.clear();
            shares.extend_from_slice(measure.masses());
        }
        let count = self.room(self.a.len(), self.b.len())?;
        self.cost.clear();
        self.cost.resize(count, 0.0);
        metric.block(&self.left, &self.right, &mut self.cost);
        self.begin(a.total(), b.total());
        Ok(total)
    }

    /// Returns the mass that moves: the first total, or the left one of nearly equal ones.
    fn mass_of(&self, first: f64, second: f64) -> f64 {
        if self.swapped && rescaling(first, second) == 1.0 { second } else { first }
    }

    /// Allocates costs and plan between two supports; returns the number of entries of each.
    fn room(&mut self, n: usize, m: usize) -> Result<usize> {
        let step = format_args!("entropic transport between {n} and {m} points");
        memory::check(step, memory::size_of::<f64>(&[n, m, 2]), INSTEAD)?;
        let count = n.saturating_mul(m);
        memory::resize_room(&mut self.cost, step, count, INSTEAD)?;
        if self.plan.len() < count {
            // Fresh zeros, which are paged in when the kernel overwrites them.
            self.plan = Vec::new();
            self.plan = memory::zeros(step, count, INSTEAD)?;
        }
        self.plan.truncate(count);
        Ok(count)
    }

    /// Copies a problem given by a cost matrix into the workspace; returns the mass that moves.
    pub(super) fn prepare_between(&mut self, matrix: &OnMatrix<'_>) -> Result<f64> {
        let supports =
            [matrix.a, matrix.b].map(|masses| masses.iter().filter(|mass| **mass > 0.0).count());
        self.room(supports[0], supports[1])?;
        let Self { left, right, a: given, b: taken, cost, .. } = self;
        let rows = SideMasses { places: left, masses: given };
        let columns = SideMasses { places: right, masses: taken };
        let [left_total, right_total] =
            matrix.read_masses(Relaxation::Balanced, [rows, columns])?;
        matrix.costs.read_costs(left, right, cost, &|_| true)?;
        let width = right.len();
        self.swapped = order_of_sides(given, taken, |i, j| cost[i * width + j]).is_gt();
        if self.swapped {
            let rows = left.len();
            transpose(&std::mem::take(cost), rows, right.len(), cost);
            std::mem::swap(left, right);
            std::mem::swap(given, taken);
            self.begin(right_total, left_total);
        } else {
            self.begin(left_total, right_total);
        }
        let m = self.b.len();
        let both_ways = |i: usize, j: usize| self.cost[i * m + j] == self.cost[j * m + i];
        self.mirrored = self.mirrored && (0..m).all(|i| (0..i).all(|j| both_ways(i, j)));
        Ok(self.mass_of(left_total, right_total))
    }

    /// Divides masses by their totals and sets everything else to 0.
    fn begin(&mut self, left_total: f64, right_total: f64) {
        for (shares, total) in [(&mut self.a, left_total), (&mut self.b, right_total)] {
            for share in shares.iter_mut() {
                *share = (*share / total).max(LEAST_SHARE);
            }
        }
        let (n, m) = (self.a.len(), self.b.len());
        self.mirrored = self.left == self.right && self.a == self.b;
        self.largest = largest(&self.cost);
        for (values, len) in [
            (&mut self.f, n),
            (&mut self.u, n),
            (&mut self.g, m),
            (&mut self.v, m),
            (&mut self.start, m),
            (&mut self.before, m),
            (&mut self.rows, n),
        ] {
            values.clear();
            values.resize(len, 0.0);
        }
    }

    /// Solves the prepared problem; returns the number of iterations, which `progress` counts.
    /// Column sums of the plan are then exact, and row sums nearly so, unless the iterations ran
    /// out.
    pub(super) fn solve(
        &mut self,
        epsilon: f64,
        options: &SinkhornOptions,
        progress: &Progress<'_>,
    ) -> Result<usize> {
        let mut done = Done { iterations: 0, entries: self.plan.len(), silent: 0, progress };
        if let Some(factor) = options.scaling.filter(|_| epsilon * DIRECT < self.largest) {
            let mut stage = self.largest;
            // The last factor is between `factor`^1.5 and `factor`^0.5: no step is nearly empty.
            while stage * factor.sqrt() > epsilon {
                self.stage(stage, options.tolerance.max(STAGE_TOLERANCE), options, &mut done)?;
                self.absorb(stage);
                stage *= factor;
            }
        }
        self.stage(epsilon, options.tolerance, options, &mut done)?;
        self.absorb(epsilon);
        Ok(done.iterations)
    }

    fn stage(
        &mut self,
        epsilon: f64,
        tolerance: f64,
        options: &SinkhornOptions,
        done: &mut Done<'_>,
    ) -> Result<()> {
        if self.mirrored {
            self.meet(epsilon, tolerance, options.max_iterations, done)?;
        }
        self.columns(epsilon);
        let (mut pace, mut omega) = (Pace::default(), 1.0);
        // Number of consecutive plain steps: after one the column sums are exact, so the row sums
        // that the next step finds are the whole violation, which that step does not increase.
        let mut plain = 1;
        while done.iterations < options.max_iterations {
            done.one_more()?;
            let violation = self.sweep(omega);
            plain = if omega == 1.0 { plain + 1 } else { 0 };
            let converged = violation <= tolerance && plain > 1;
            omega = if violation <= tolerance { 1.0 } else { pace.after(violation) };
            if !self.in_range() {
                self.v.copy_from_slice(&self.before);
                self.u.fill(1.0);
                self.absorb(epsilon);
                self.rows(epsilon);
                self.columns(epsilon);
                (pace, omega, plain) = (Pace::default(), 1.0, 1);
            }
            if converged {
                break;
            }
        }
        Ok(())
    }

    /// Averages the potentials of two equal measures: by symmetry f = g is a solution.
    ///
    /// Where ε is small compared with the gaps between points, nearly all mass stays, and
    /// Sinkhorn's iteration moves the rest too slowly to converge. Replacing f by the mean of f and
    /// the g computed from it usually halves the error (Feydy, Séjourné, Vialard, Amari, Trouvé,
    /// Peyré, *Interpolating between Optimal Transport and MMD using Sinkhorn Divergences*, 2019).
    fn meet(
        &mut self,
        epsilon: f64,
        tolerance: f64,
        most: usize,
        done: &mut Done<'_>,
    ) -> Result<()> {
        for _ in 0..MEETINGS.min(most - done.iterations) {
            done.one_more()?;
            self.columns(epsilon);
            let mut far = 0.0;
            for (f, g) in self.f.iter_mut().zip(&self.g) {
                far = f64::max(far, (*f - g).abs());
                *f = 0.5 * (*f + g);
            }
            if far <= tolerance * epsilon {
                break;
            }
        }
        Ok(())
    }

    /// Computes u from v, then v from u by ω steps; returns the violation before.
    fn sweep(&mut self, omega: f64) -> f64 {
        let sides = (&self.a[..], &self.v[..]);
        let violation = sweep(&self.plan, sides, &mut self.u, omega, &mut self.sums);
        std::mem::swap(&mut self.v, &mut self.before);
        let fresh = self.b.iter().zip(&self.sums.all).map(|(b, sum)| b / sum);
        for ((v, old), fresh) in self.v.iter_mut().zip(&self.before).zip(fresh) {
            *v = relaxed(*old, fresh, omega);
        }
        violation
    }

    fn in_range(&self) -> bool {
        let changes = self.v.iter().zip(&self.start).map(|(v, start)| v / start);
        self.u.iter().copied().chain(changes).all(|scale| (1.0 / RANGE..RANGE).contains(&scale))
    }

    /// Absorbs the scalings into the potentials.
    fn absorb(&mut self, epsilon: f64) {
        self.f.iter_mut().zip(&self.u).for_each(|(f, u)| *f += epsilon * u.ln());
        let changes = self.v.iter().zip(&self.start).map(|(v, start)| v / start);
        self.g.iter_mut().zip(changes).for_each(|(g, v)| *g += epsilon * v.ln());
    }

    /// Computes f from g: fᵢ = −ε log Σⱼ bⱼ exp((gⱼ − Dᵢⱼ)/ε), with the largest term factored out.
    fn rows(&mut self, epsilon: f64) {
        let rate = 1.0 / epsilon;
        let mut terms = vec![0.0; self.g.len()];
        for (row, f) in self.cost.chunks_exact(self.g.len()).zip(&mut self.f) {
            let mut least = f64::INFINITY;
            for ((term, cost), g) in terms.iter_mut().zip(row).zip(&self.g) {
                *term = cost - g;
                least = smaller(least, *term);
            }
            for term in &mut terms {
                *term = exp((least - *term) * rate);
            }
            *f = least - epsilon * dot(&terms, &self.b).ln();
        }
    }

    /// Computes g from f, and their kernel, whose column sums are exact at first.
    fn columns(&mut self, epsilon: f64) {
        let (rate, m) = (1.0 / epsilon, self.g.len());
        let Self { plan, rows, cost, f, g, a, sums, .. } = self;
        least_reaches(cost, f, m, sums);
        g.copy_from_slice(&sums.all);
        let least = &*g;
        each_block(plan, rows, (sums, 1), m, |Block { first, table, sums, .. }| {
            let sides = f[first..].iter().zip(&a[first..]);
            let costs = cost[first * m..].chunks_exact(m);
            for ((row, costs), (f, a)) in table.chunks_exact_mut(m).zip(costs).zip(sides) {
                kernel_row(costs, least, row, sums, *f, rate, *a);
            }
            0.0
        });
        for (((g, sum), b), start) in
            self.g.iter_mut().zip(&self.sums.all).zip(&self.b).zip(&mut self.start)
        {
            *g -= epsilon * sum.ln();
            *start = b / sum;
        }
        self.u.fill(1.0);
        self.v.copy_from_slice(&self.start);
    }
}
