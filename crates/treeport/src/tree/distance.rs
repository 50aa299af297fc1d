//! Tree-Wasserstein distances of one pair, many pairs, or all pairs.
//!
//! With f(v) the surplus of mass below v, W_T = Σ length(v)·|f(v)| (\[CTW24\], Theorem 2.1). The
//! dense loop computes it in O(n). Measures usually have few points; then the sum runs over the
//! subtree spanned by these leaves: O(s) for s points that differ, after a sort that
//! [`Tree::prepare`] does once per measure.

use super::Tree;
use super::index::{AncestorIndex, Depth};
use crate::error::Result;
use crate::measures::{Measure, Measures, check_balance};
use crate::numeric::order::RankOrder;
use crate::progress::tasks;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Share of the tree's nodes above which the dense loop is faster (`bench distance`).
const DENSE_SHARE: f64 = 0.15;

/// Reusable workspace of one thread.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    pub(super) stack: Vec<(u32, f64)>,
    surplus: Vec<f64>,
}

impl Tree {
    /// Computes the tree-Wasserstein distance between two measures.
    ///
    /// $$ W_T(\mu, \rho) = \sum_v \mathrm{length}(v)\,|\mu(T_v) - \rho(T_v)| $$
    ///
    /// For many pairs use [`Tree::pairs`] or [`Tree::prepare`], which sort each measure only once.
    ///
    /// # Errors
    /// The measures are on other points than the tree's, or their masses differ.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, after an O(n log n) index at the first call; O(n) if s is
    /// a large part of n.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let measures = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 0.5, 0.5])?;
    /// // Half the mass goes from a to b (distance 2), half from a to c (distance 6).
    /// assert_eq!(tree.distance(&measures.row(0), &measures.row(1))?, 4.0);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn distance(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<f64> {
        self.check_pair(a, b)?;
        if self.prefers_dense(a.support().len() + b.support().len()) {
            return Ok(self.distance_dense(a, b, &mut Scratch::default()));
        }
        Ok(self.distance_sorted(a, b))
    }

    /// Computes W_T of unprepared measures: sorting both together is faster than merging.
    fn distance_sorted(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        let index = self.index();
        let mut order = RankOrder::default();
        let both = a.support().iter().chain(b.support());
        order.sort(both.map(|&point| index.rank[point as usize]), index.last_rank());
        let masses: Vec<f64> =
            a.masses().iter().copied().chain(b.masses().iter().map(|mass| -mass)).collect();
        let mut leaves: Vec<(u32, f64)> = Vec::with_capacity(masses.len());
        for (rank, k) in order.iter() {
            match leaves.last_mut() {
                Some(last) if last.0 == rank => last.1 += masses[k as usize],
                _ => leaves.push((rank, masses[k as usize])),
            }
        }
        leaves.retain(|leaf| leaf.1 != 0.0);
        let mut branches = Vec::with_capacity(leaves.len());
        index.branches(leaves.iter().map(|leaf| leaf.0), &mut branches);
        let leaves = branches.into_iter().zip(leaves).map(|(branch, (rank, s))| (branch, rank, s));
        // The usual depth of trees, so that the stack does not grow.
        let mut stack = Vec::with_capacity(64);
        index.cost_along(&mut stack, leaves, Depth::default()).0
    }

    /// Computes W_T by a plain loop over all edges, O(n): the reference for the sparse algorithm,
    /// and faster for measures on most points.
    ///
    /// Unlike [`Tree::distance`], it does not check that masses are equal.
    ///
    /// # Panics
    /// If the measures are on another number of points.
    pub fn distance_dense(&self, a: &Measure<'_>, b: &Measure<'_>, scratch: &mut Scratch) -> f64 {
        let fits = a.check_points(self.leaves()).and(b.check_points(self.leaves()));
        assert!(fits.is_ok(), "measures on the tree's {} points", self.leaves());
        let surplus = &mut scratch.surplus;
        surplus.clear();
        surplus.resize(self.nodes(), 0.0);
        a.iter().for_each(|(point, mass)| surplus[point] += mass);
        b.iter().for_each(|(point, mass)| surplus[point] -= mass);
        let mut total = 0.0;
        for v in 0..self.root() {
            total += surplus[v].abs() * self.shape.length[v];
            surplus[self.shape.parent[v] as usize] += surplus[v];
        }
        total
    }

    /// Computes distances of many pairs of measures, in parallel.
    ///
    /// # Errors
    /// See [`Tree::distance`]; errors name the measures.
    /// [`Error::Canceled`](crate::Error::Canceled) if `progress`, which counts pairs, cancels.
    pub fn pairs(
        &self,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        measures.check_pairs(pairs)?;
        self.prepare(measures)?.pairs(pairs, progress)
    }

    /// Computes the distance between measure `i` of `a` and measure `i` of `b` for every `i`, in
    /// parallel.
    ///
    /// # Errors
    /// The sets differ in size; see also [`Tree::pairs`]. Errors number measures within their own
    /// set.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree, silent};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let a = Measures::from_dense(3, &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0])?;
    /// let b = Measures::from_dense(3, &[0.0, 1.0, 0.0, 0.0, 0.0, 1.0])?;
    /// assert_eq!(tree.paired(&a, &b, &silent)?, [2.0, 6.0]);
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn paired(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        a.check_paired(b)?;
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        let counter = Counter::new(tasks::DISTANCES, a.len(), progress);
        let mut distances = vec![0.0; a.len()];
        // Every row is used once, so restricting the tree to few leaves costs more than it saves.
        parallel::try_for_each_with(
            distances.chunks_mut(PAIRS_PER_TASK).enumerate(),
            Scratch::default,
            |scratch, (task, out)| {
                let first = task * PAIRS_PER_TASK;
                let rows = first..first + out.len();
                let both = rows.clone().map(|i| a.row(i)).chain(rows.map(|i| b.row(i)));
                let ranked = self.by_rank(both);
                let pairs = out.len();
                for (k, out) in out.iter_mut().enumerate() {
                    let (left, right) = (ranked.row(k), ranked.row(pairs + k));
                    *out = if self.prefers_dense(left.support().len() + right.support().len()) {
                        self.distance_dense(&a.row(first + k), &b.row(first + k), scratch)
                    } else {
                        sparse(self.index(), &left, &right, scratch)
                    };
                }
                counter.add(pairs)
            },
        )?;
        Ok(distances)
    }

    /// Computes the distances of all pairs of measures, in parallel: a symmetric matrix, row by
    /// row.
    ///
    /// # Errors
    /// See [`Tree::pairs`]; progress counts rows.
    pub fn pairwise(&self, measures: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.prepare(measures)?.pairwise(progress)
    }

    /// Computes distances from every measure of `a` to every measure of `b`, row by row, in
    /// parallel.
    ///
    /// # Errors
    /// See [`Tree::pairs`]; progress counts rows of `a`. Errors number measures within their own
    /// set.
    pub fn cross(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        self.prepare(a)?.cross(&self.prepare(b)?, progress)
    }

    /// Returns the index for ancestor queries, built at the first call.
    pub(crate) fn index(&self) -> &AncestorIndex {
        self.shape.index.get_or_init(|| AncestorIndex::new(self))
    }

    /// Renumbers the points of measures by leaf rank.
    pub(super) fn by_rank<'a>(&self, measures: impl Iterator<Item = Measure<'a>>) -> Measures {
        let rank = &self.index().rank;
        let rows = measures.map(|m| m.iter().map(|(point, mass)| (rank[point] as usize, mass)));
        Measures::from_rows_or_empty(self.leaves(), rows)
            .expect("a renumbering of valid measures is valid")
    }

    /// Checks that two measures are on this tree's points and have equal masses.
    pub(super) fn check_pair(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<()> {
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        check_balance((0, *a), (1, *b))
    }

    pub(super) fn prefers_dense(&self, support: usize) -> bool {
        support as f64 > DENSE_SHARE * self.nodes() as f64
    }
}

/// Pairs per parallel task: enough to hide the scheduling of a 1 µs distance.
pub(super) const PAIRS_PER_TASK: usize = 256;

/// Computes W_T on leaf ranks: merges, drops what cancels, and sweeps the spanned subtree.
pub(super) fn sparse(
    index: &AncestorIndex,
    a: &Measure<'_>,
    b: &Measure<'_>,
    scratch: &mut Scratch,
) -> f64 {
    // The surplus that arrives at the root is the rounding error of equal masses.
    index.cost_to(&mut scratch.stack, surpluses(a, b), Depth::default()).0
}

/// Iterates over the nonzero entries of a − b in increasing order of points.
pub(crate) fn surpluses<'a>(
    a: &Measure<'a>,
    b: &Measure<'a>,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    differences(a, b).filter(|(_, surplus)| *surplus != 0.0)
}

/// Iterates over a − b on the union of the supports, in increasing order of points.
pub(super) fn differences<'a>(
    a: &Measure<'a>,
    b: &Measure<'a>,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    let (pa, ma, pb, mb) = (a.support(), a.masses(), b.support(), b.masses());
    let (mut i, mut j) = (0, 0);
    std::iter::from_fn(move || {
        let left = pa.get(i).copied().unwrap_or(u32::MAX);
        let right = pb.get(j).copied().unwrap_or(u32::MAX);
        let point = left.min(right);
        if point == u32::MAX {
            return None;
        }
        let mut surplus = 0.0;
        if left == point {
            surplus += ma[i];
            i += 1;
        }
        if right == point {
            surplus -= mb[j];
            j += 1;
        }
        Some((point, surplus))
    })
}
