//! UniFrac distances of samples on a phylogeny.
//!
//! With p and q the shares of two samples below an edge of length l, and m of all m_t individuals of
//! both below it:
//!
//! | name | distance |
//! | --- | --- |
//! | weighted | Σ l \|p − q\|, the tree distance |
//! | weighted-normalized | Σ l \|p − q\| / Σ l (p + q) |
//! | unweighted | length that only one sample has, over length that one of them has |
//! | generalized | Σ w \|p − q\| / Σ w (p + q) with w = l (p + q)^(α − 1) (Chen et al. 2012) |
//! | variance-adjusted | the same with w = l / √(m (m_t − m)), where m < m_t (Chang et al. 2011) |
//!
//! The first two are distances of the tree and as fast as these. For the others two sorted lists of nodes
//! are merged: O(k) a pair for k nodes above the points of either.

use rayon::prelude::*;

use super::Tree;
use crate::error::{Error, Result};
use crate::measure::{Measure, Measures};
use crate::memory;
use crate::names::named;
use crate::progress::{Counter, DISTANCES, Progress};

/// What sums of the same counts in another order may differ by.
const ROUNDING: f64 = 1e-12;

/// Which UniFrac distance: see [`Tree::unifrac`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UniFrac {
    /// Shares that move, times how far: the tree distance of normalized samples.
    #[default]
    Weighted,
    /// The same over the largest it could be.
    WeightedNormalized,
    /// Which taxa there are, whatever their number.
    Unweighted,
    /// Between the two before: α = 1 is weighted-normalized, 0 counts every edge by its length alone.
    Generalized,
    /// Edges weighed by how much their shares vary by chance.
    VarianceAdjusted,
}

named! { UniFrac, "the variant of UniFrac", {
    Weighted: "weighted", "the tree distance of shares";
    WeightedNormalized: "weighted-normalized", "the same over the largest it could be: from 0 to 1";
    Unweighted: "unweighted", "the share of length that only one of two samples has";
    Generalized: "generalized", "between weighted-normalized (alpha 1) and less weight on abundant taxa (alpha 0)";
    VarianceAdjusted: "variance-adjusted", "edges weighed by how much their shares vary by chance";
}}

impl Tree {
    /// UniFrac distances of all pairs of samples: a symmetric matrix, row after row, in parallel;
    /// progress counts rows.
    ///
    /// Samples are counts at the leaves; their totals may differ. `alpha` is that of
    /// [`UniFrac::Generalized`], from 0 to 1, and not read by others.
    ///
    /// # Errors
    /// Samples on another number of leaves, or an `alpha` out of range; a table that does not fit into
    /// memory.
    ///
    /// # Example
    /// ```
    /// use treeport::tree::UniFrac;
    /// use treeport::{Measures, Tree, silent};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let samples = Measures::from_dense(3, &[8.0, 0.0, 0.0, 0.0, 0.0, 4.0])?;
    /// let distances = tree.unifrac(&samples, UniFrac::Unweighted, 0.5, &silent)?;
    /// assert_eq!(distances, [0.0, 1.0, 1.0, 0.0]); // no edge in common
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn unifrac(
        &self,
        samples: &Measures,
        variant: UniFrac,
        alpha: f64,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        samples.check_points(self.leaves())?;
        match variant {
            UniFrac::Weighted => self.pairwise(&samples.clone().normalized(), progress),
            UniFrac::WeightedNormalized => self.normalized_unifrac(samples, progress),
            UniFrac::Unweighted => self.merged(samples, progress, presence),
            UniFrac::Generalized if !(0.0..=1.0).contains(&alpha) => Err(Error::BadOption {
                option: "alpha",
                value: alpha.to_string(),
                expected: "it is a number from 0 to 1",
            }),
            UniFrac::Generalized => self.merged(samples, progress, |edges| {
                edges.weighed(|_, both, _| both.powf(alpha - 1.0))
            }),
            UniFrac::VarianceAdjusted => self.merged(samples, progress, |edges| {
                edges.weighed(|count, _, all| {
                    // An edge that everybody is below says nothing, and has no variance.
                    let others = all - count;
                    if others > ROUNDING * all { (count * others).sqrt().recip() } else { 0.0 }
                })
            }),
        }
    }

    /// Tree distances over what they would be if nothing were shared.
    fn normalized_unifrac(&self, samples: &Measures, progress: &Progress<'_>) -> Result<Vec<f64>> {
        let samples = samples.clone().normalized();
        let mut distances = self.pairwise(&samples, progress)?;
        let mut depths = vec![0.0; self.nodes()];
        for node in (0..self.root()).rev() {
            depths[node] = depths[self.parents()[node] as usize] + self.lengths()[node];
        }
        let largest: Vec<f64> = samples
            .iter()
            .map(|sample| sample.iter().map(|(leaf, share)| share * depths[leaf]).sum())
            .collect();
        for (row, a) in distances.chunks_exact_mut(samples.len().max(1)).zip(&largest) {
            for (distance, b) in row.iter_mut().zip(&largest) {
                *distance = ratio(*distance, a + b);
            }
        }
        Ok(distances)
    }

    /// Some number of the edges of every pair of samples.
    fn merged(
        &self,
        samples: &Measures,
        progress: &Progress<'_>,
        of: impl Fn(&Edges<'_>) -> f64 + Sync,
    ) -> Result<Vec<f64>> {
        let n = samples.len();
        let step = format_args!("the table of {n} by {n} UniFrac distances");
        let bytes = memory::size_of::<f64>(&[n, n, 2]);
        memory::check(step, bytes, "give fewer samples at a time")?;
        let below: Vec<Below> = (0..n)
            .into_par_iter()
            .map_init(|| vec![0.0; self.nodes()], |room, row| self.below(&samples.row(row), room))
            .collect();
        let counter = Counter::new(DISTANCES, n, progress);
        let after: Vec<Vec<f64>> = (0..n)
            .into_par_iter()
            .map(|i| {
                counter.add(1)?;
                let to = |b| of(&Edges { lengths: self.lengths(), a: &below[i], b });
                Ok(below[i + 1..].iter().map(to).collect())
            })
            .collect::<Result<_>>()?;
        let mut table = vec![0.0; n * n];
        for (i, row) in after.iter().enumerate() {
            for (j, &distance) in (i + 1..n).zip(row) {
                (table[i * n + j], table[j * n + i]) = (distance, distance);
            }
        }
        Ok(table)
    }

    fn below(&self, sample: &Measure<'_>, room: &mut [f64]) -> Below {
        Below { counts: self.masses_below(sample, room), total: sample.total() }
    }
}

/// The individuals of a sample below every edge that has some.
struct Below {
    counts: Vec<(usize, f64)>,
    total: f64,
}

/// The edges that one of two samples has.
struct Edges<'a> {
    lengths: &'a [f64],
    a: &'a Below,
    b: &'a Below,
}

impl Edges<'_> {
    /// Every edge in order, with the counts of both samples below it.
    fn each(&self, mut take: impl FnMut(f64, f64, f64)) {
        let (mut a, mut b) = (&self.a.counts[..], &self.b.counts[..]);
        loop {
            let next = |of: &[(usize, f64)]| of.first().map_or(usize::MAX, |edge| edge.0);
            let node = next(a).min(next(b));
            if node == usize::MAX {
                return;
            }
            let here = |of: &mut &[(usize, f64)]| match of.split_first() {
                Some((&(at, count), rest)) if at == node => {
                    *of = rest;
                    count
                }
                _ => 0.0,
            };
            take(self.lengths[node], here(&mut a), here(&mut b));
        }
    }

    /// Differences of shares over their sums, by lengths times a weight, which gets the individuals below
    /// an edge, the sum of shares, and all individuals.
    fn weighed(&self, weight: impl Fn(f64, f64, f64) -> f64) -> f64 {
        let (mut differences, mut sums) = (0.0, 0.0);
        let all = self.a.total + self.b.total;
        self.each(|length, a, b| {
            let (p, q) = (a / self.a.total, b / self.b.total);
            let w = length * weight(a + b, p + q, all);
            differences += w * (p - q).abs();
            sums += w * (p + q);
        });
        ratio(differences, sums)
    }
}

/// Length that only one of two samples has, over all length.
fn presence(edges: &Edges<'_>) -> f64 {
    let (mut one, mut any) = (0.0, 0.0);
    edges.each(|length, a, b| {
        any += length;
        one += if a == 0.0 || b == 0.0 { length } else { 0.0 };
    });
    ratio(one, any)
}

/// Nothing over nothing is nothing: both samples are at the root.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
