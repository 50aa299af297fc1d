//! The tree-Wasserstein distance: one number, many pairs, all pairs.
//!
//! With f(v) the surplus of mass below v, W_T = Σ length(v)·|f(v)| (\[CTW24\], Theorem 2.1). The dense
//! loop does just that and costs O(n). Measures usually touch few points, and then
//! the same sum is taken over the tree that the few leaves span: O(s) for s points that differ,
//! after one sort that [`Tree::prepare`] does once per measure.

use rayon::prelude::*;

use super::Tree;
use super::index::{Depth, Index};
use super::skeleton::Skeleton;
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures, check_balance};
use crate::order::Order;
use crate::progress::{Counter, Progress};

/// Above this share of the tree's nodes the dense loop is the faster one (see `bench distance`).
const DENSE_SHARE: f64 = 0.15;

/// Measures laid out for one tree: rows sorted by the depth-first order of its leaves.
#[derive(Clone, Debug)]
pub struct Prepared<'t> {
    tree: &'t Tree,
    index: &'t Index,
    measures: &'t Measures,
    /// The same rows with leaf ranks in place of points.
    ranked: Measures,
    skeleton: Option<Skeleton>,
}

/// Memory that one thread reuses from pair to pair.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    stack: Vec<(u32, f64)>,
    surplus: Vec<f64>,
}

impl Tree {
    /// Tree-Wasserstein distance between two measures.
    ///
    /// $$ W_T(\mu, \rho) = \sum_v \mathrm{length}(v)\,|\mu(T_v) - \rho(T_v)| $$
    ///
    /// For many pairs use [`Tree::pairs`] or [`Tree::prepare`], which sort each measure only once.
    ///
    /// # Errors
    /// The measures live on other points than the tree's, or their masses differ.
    ///
    /// # Complexity
    /// O(s log s) for s points with mass, after an O(n log n) index on the first call; O(n) when s is
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
        if self.prefers_dense(a.support() + b.support()) {
            return Ok(self.distance_dense(a, b, &mut Scratch::default()));
        }
        Ok(self.distance_sorted(a, b))
    }

    /// W_T of measures that nobody prepared: points of both are sorted together, which is faster than to
    /// merge them first, as a merge guesses wrong at every other point.
    fn distance_sorted(&self, a: &Measure<'_>, b: &Measure<'_>) -> f64 {
        let index = self.index();
        let mut order = Order::default();
        let both = a.points().iter().chain(b.points());
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
        // As deep as trees usually are, so that it need not grow.
        let mut stack = Vec::with_capacity(64);
        index.cost_along(&mut stack, leaves, Depth::default()).0
    }

    /// The plain loop over all edges, O(n): the judge of the sparse path, and the faster one for
    /// measures on most points.
    ///
    /// Masses are taken to be equal; [`Tree::distance`] checks that, this does not.
    ///
    /// # Panics
    /// If the measures live on another number of points.
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
            total += surplus[v].abs() * self.length[v];
            surplus[self.parent[v] as usize] += surplus[v];
        }
        total
    }

    /// Lays measures out for this tree, so that each pair of them costs O(s).
    ///
    /// # Errors
    /// The measures live on another number of points.
    pub fn prepare<'t>(&'t self, measures: &'t Measures) -> Result<Prepared<'t>> {
        measures.check_points(self.leaves())?;
        let ranked = self.by_rank(measures.iter());
        let skeleton = Skeleton::new(self, self.index(), &ranked);
        Ok(Prepared { tree: self, index: self.index(), measures, ranked, skeleton })
    }

    /// Distances of many pairs of measures, in parallel.
    ///
    /// # Errors
    /// As [`Tree::distance`], naming the measures; [`Error::Cancelled`] when
    /// `progress` (called with the number of pairs done) asks to stop.
    pub fn pairs(
        &self,
        measures: &Measures,
        pairs: &[(usize, usize)],
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        measures.check_pairs(pairs)?;
        let prepared = self.prepare(measures)?;
        let counter = Counter::new(progress);
        let mut distances = vec![0.0; pairs.len()];
        distances
            .par_chunks_mut(PAIRS_PER_TASK)
            .zip(pairs.par_chunks(PAIRS_PER_TASK))
            .try_for_each_init(Scratch::default, |scratch, (out, pairs)| {
                for (out, &(i, j)) in out.iter_mut().zip(pairs) {
                    *out = prepared.distance_with(i, j, scratch);
                }
                counter.add(pairs.len())
            })?;
        Ok(distances)
    }

    /// Distances of measure `i` of `a` to measure `i` of `b`, for every `i`, in parallel.
    ///
    /// # Errors
    /// As [`Tree::pairs`], and two sets of different sizes. Measures are numbered within their own set.
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
        if a.len() != b.len() {
            return Err(Error::Shape {
                what: "the second set of measures".into(),
                expected: format!("{} rows", a.len()),
                found: format!("{} rows", b.len()),
            });
        }
        (0..a.len()).try_for_each(|i| check_balance((i, a.row(i)), (i, b.row(i))))?;
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        let counter = Counter::new(progress);
        let mut distances = vec![0.0; a.len()];
        // Every row is used once, so that a cut through the tree would never pay for itself.
        distances.par_chunks_mut(PAIRS_PER_TASK).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (task, out)| {
                let first = task * PAIRS_PER_TASK;
                let rows = first..first + out.len();
                let both = rows.clone().map(|i| a.row(i)).chain(rows.map(|i| b.row(i)));
                let ranked = self.by_rank(both);
                let pairs = out.len();
                for (k, out) in out.iter_mut().enumerate() {
                    let (left, right) = (ranked.row(k), ranked.row(pairs + k));
                    *out = if self.prefers_dense(left.support() + right.support()) {
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

    /// Distances of all pairs of measures: a symmetric matrix, row after row, in parallel.
    ///
    /// # Errors
    /// As [`Tree::pairs`]; progress counts rows.
    pub fn pairwise(&self, measures: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        let n = measures.len();
        Measures::check_all_balanced(&[measures])?;
        let prepared = self.prepare(measures)?;
        let mut matrix = vec![0.0; n * n];
        let counter = Counter::new(progress);
        matrix.par_chunks_mut(n.max(1)).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (i, row)| {
                for j in i + 1..n {
                    row[j] = prepared.distance_with(i, j, scratch);
                }
                counter.add(1)
            },
        )?;
        for i in 0..n {
            for j in 0..i {
                matrix[i * n + j] = matrix[j * n + i];
            }
        }
        Ok(matrix)
    }

    /// Distances from every measure of `a` to every measure of `b`, row after row, in parallel.
    ///
    /// # Errors
    /// As [`Tree::pairs`]; progress counts rows of `a`. Measures are numbered within their own set.
    pub fn cross(&self, a: &Measures, b: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        Measures::check_all_balanced(&[a, b])?;
        let (left, right) = (self.prepare(a)?, self.prepare(b)?);
        let mut matrix = vec![0.0; a.len() * b.len()];
        let counter = Counter::new(progress);
        matrix.par_chunks_mut(b.len().max(1)).enumerate().try_for_each_init(
            Scratch::default,
            |scratch, (i, row)| {
                for (j, out) in row.iter_mut().enumerate() {
                    *out = left.distance_to(i, &right, j, scratch);
                }
                counter.add(1)
            },
        )?;
        Ok(matrix)
    }

    /// The depth-first index, built once.
    pub(crate) fn index(&self) -> &Index {
        self.index.get_or_init(|| Index::new(self))
    }

    /// The measures with leaf ranks in place of points.
    pub(super) fn by_rank<'a>(&self, measures: impl Iterator<Item = Measure<'a>>) -> Measures {
        let rank = &self.index().rank;
        let rows = measures.map(|m| m.iter().map(|(point, mass)| (rank[point] as usize, mass)));
        Measures::from_rows(self.leaves(), rows).expect("a renumbering of valid measures is valid")
    }

    /// Checks that two measures live on this tree's points and have equal masses.
    pub(super) fn check_pair(&self, a: &Measure<'_>, b: &Measure<'_>) -> Result<()> {
        a.check_points(self.leaves())?;
        b.check_points(self.leaves())?;
        check_balance((0, *a), (1, *b))
    }

    fn prefers_dense(&self, support: usize) -> bool {
        support as f64 > DENSE_SHARE * self.nodes() as f64
    }
}

/// Pairs in one parallel task: long enough to hide the scheduling of a 1 µs distance.
const PAIRS_PER_TASK: usize = 256;

impl Prepared<'_> {
    /// The number of measures.
    pub fn len(&self) -> usize {
        self.measures.len()
    }

    /// Whether there is no measure.
    pub fn is_empty(&self) -> bool {
        self.measures.is_empty()
    }

    /// Distance between measures `i` and `j`, reusing memory: O(s), or O(n) where s is most of n.
    ///
    /// Masses are taken to be equal; [`Tree::pairs`] checks that, this does not.
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_with(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        self.distance_to(i, self, j, scratch)
    }

    /// As [`Prepared::distance_with`], always over the tree that the supports span: O(s).
    ///
    /// # Panics
    /// If there is no such measure.
    pub fn distance_sparse(&self, i: usize, j: usize, scratch: &mut Scratch) -> f64 {
        sparse(self.index, &self.ranked.row(i), &self.ranked.row(j), scratch)
    }

    /// Distance between measure `i` here and measure `j` of another set prepared for the same tree.
    ///
    /// # Panics
    /// If there is no such measure, or the other set is prepared for another tree.
    pub fn distance_to(&self, i: usize, other: &Self, j: usize, scratch: &mut Scratch) -> f64 {
        assert!(std::ptr::eq(self.tree, other.tree), "both sets must be prepared for one tree");
        let (a, b) = (self.ranked.row(i), other.ranked.row(j));
        if self.tree.prefers_dense(a.support() + b.support()) {
            return self.tree.distance_dense(
                &self.measures.row(i),
                &other.measures.row(j),
                scratch,
            );
        }
        let by_skeleton = match (&self.skeleton, &other.skeleton) {
            (Some(left), Some(right)) if left.fits(right) => {
                let theirs = (right, &other.ranked, j);
                left.distance(self.index, (&self.ranked, i), theirs, &mut scratch.stack)
            }
            _ => None,
        };
        by_skeleton.unwrap_or_else(|| sparse(self.index, &a, &b, scratch))
    }
}

/// W_T of two measures on leaf ranks: merge, drop what cancels, sweep the spanned tree.
fn sparse(index: &Index, a: &Measure<'_>, b: &Measure<'_>, scratch: &mut Scratch) -> f64 {
    // The root as the end of the way up: what arrives there is the rounding of equal masses.
    index.cost_to(&mut scratch.stack, surpluses(a, b), Depth::default()).0
}

/// a − b where it is not 0, in increasing order of points.
pub(crate) fn surpluses<'a>(
    a: &Measure<'a>,
    b: &Measure<'a>,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    differences(a, b).filter(|(_, surplus)| *surplus != 0.0)
}

/// a − b where one of them has mass, in increasing order of points.
pub(super) fn differences<'a>(
    a: &Measure<'a>,
    b: &Measure<'a>,
) -> impl Iterator<Item = (u32, f64)> + 'a {
    let (pa, ma, pb, mb) = (a.points(), a.masses(), b.points(), b.masses());
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
