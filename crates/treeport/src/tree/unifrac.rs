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
//! | variance-adjusted | as generalized, with w = l / √(m (m_t − m)), where m < m_t (Chang et al. 2011) |
//!
//! The first two are computed as tree distances. The others merge two sorted lists of nodes: O(k) a
//! pair for k nodes above the points of either.

use super::Tree;
use crate::error::{Error, Result};
use crate::measure::Measures;
use crate::memory;
use crate::names::named;
use crate::parallel;
use crate::progress::{Counter, Progress};
use crate::steps::DISTANCES;
use crate::units::of_largest;

/// Sums of the same counts in another order may differ by this.
const ROUNDING: f64 = 1e-12;

/// Which UniFrac distance: see [`Tree::unifrac`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UniFrac {
    /// Shares that move, times how far: the tree distance of normalized samples.
    #[default]
    Weighted,
    /// The weighted distance divided by Σ l (p + q), its value if no edge were shared.
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
    WeightedNormalized: "weighted-normalized", "the same divided by its largest possible value: from 0 to 1";
    Unweighted: "unweighted", "the share of branch length that only one of two samples has";
    Generalized: "generalized", "between weighted-normalized (alpha 1) and less weight on abundant taxa (alpha 0)";
    VarianceAdjusted: "variance-adjusted", "edges weighed by how much their shares vary by chance";
}}

/// What [`Tree::unifrac`] is asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniFracOptions {
    /// Which distance.
    pub variant: UniFrac,
    /// How much abundant taxa count in [`UniFrac::Generalized`], from 0 to 1; not read by others.
    pub alpha: f64,
    /// Take a root with more than two children as it is. It is that of an unrooted tree, whose place is
    /// arbitrary, and distances depend on it.
    pub unrooted: bool,
}

impl Default for UniFracOptions {
    fn default() -> Self {
        Self { variant: UniFrac::Weighted, alpha: 0.5, unrooted: false }
    }
}

impl Tree {
    /// UniFrac distances of all pairs of samples: a symmetric matrix, row after row, in parallel;
    /// progress counts rows.
    ///
    /// Samples are counts at the leaves; their totals may differ, and be 0
    /// ([`Measures::from_rows_or_empty`]): all shares of such a sample are 0.
    ///
    /// # Errors
    /// Samples on another number of leaves; an `alpha` out of range; a tree that is not rooted, unless that is
    /// asked for, or has edges without length; a table that does not fit into memory.
    ///
    /// # Example
    /// ```
    /// use treeport::tree::{UniFrac, UniFracOptions};
    /// use treeport::{Measures, Tree, silent};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let samples = Measures::from_dense(3, &[8.0, 0.0, 0.0, 0.0, 0.0, 4.0])?;
    /// let options = UniFracOptions { variant: UniFrac::Unweighted, ..UniFracOptions::default() };
    /// let distances = tree.unifrac(&samples, &options, &silent)?;
    /// assert_eq!(distances, [0.0, 1.0, 1.0, 0.0]); // no edge in common
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn unifrac(
        &self,
        samples: &Measures,
        options: &UniFracOptions,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        samples.check_points(self.leaves())?;
        self.check_phylogeny(options.unrooted)?;
        let alpha = options.alpha;
        match options.variant {
            UniFrac::Weighted => self.weighted_unifrac(samples, false, progress),
            UniFrac::WeightedNormalized => self.weighted_unifrac(samples, true, progress),
            UniFrac::Unweighted => self.merged(samples, progress, presence),
            UniFrac::Generalized if !(0.0..=1.0).contains(&alpha) => Err(Error::BadOption {
                option: "alpha",
                value: alpha.to_string(),
                expected: "it is a number from 0 to 1",
            }),
            UniFrac::Generalized => {
                self.merged(samples, progress, |edges| edges.weighed(|both, _| both.powf(alpha)))
            }
            UniFrac::VarianceAdjusted => self.merged(samples, progress, |edges| {
                edges.weighed(|both, below| {
                    // An edge above all individuals tells nothing, and has no variance.
                    let beside = 1.0 - below;
                    if beside > ROUNDING { both / (below * beside).sqrt() } else { 0.0 }
                })
            }),
        }
    }

    /// Refuses what has no root, unless it is taken as it is, and what has no lengths.
    fn check_phylogeny(&self, unrooted: bool) -> Result<()> {
        let root = self.root() as u32;
        let below = self.parents()[..self.root()].iter().filter(|&&parent| parent == root).count();
        if below > 2 && !unrooted {
            return Err(Error::Unrooted { children: below });
        }
        if let Some(above) = self.without_length() {
            return Err(Error::NoLength { above: above.to_owned() });
        }
        if self.root() > 0 && self.lengths().iter().all(|&length| length == 0.0) {
            return Err(Error::NoLengths);
        }
        Ok(())
    }

    /// Tree distances of shares; `relative` to their values if no edge were shared.
    fn weighted_unifrac(
        &self,
        samples: &Measures,
        relative: bool,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        let shares = samples.clone().normalized();
        let n = shares.len();
        // Those without mass have no distances along the tree.
        let there: Vec<usize> = (0..n).filter(|&row| shares.row(row).total() > 0.0).collect();
        let rows = there.iter().map(|&row| shares.row(row).iter());
        let some = if there.len() == n {
            shares.clone()
        } else {
            Measures::from_rows(self.leaves(), rows)?
        };
        let found = self.pairwise(&some, progress)?;
        let depths = self.mean_depths(&shares);
        let mut table = if there.len() == n { found } else { spread(&found, &there, &depths) };
        if relative {
            for (row, a) in table.chunks_exact_mut(n.max(1)).zip(&depths) {
                for (distance, b) in row.iter_mut().zip(&depths) {
                    *distance = ratio(*distance, a + b);
                }
            }
        }
        Ok(table)
    }

    /// Σ l p for every sample: how far its individuals are from the root in the mean.
    fn mean_depths(&self, shares: &Measures) -> Vec<f64> {
        let mut depths = vec![0.0; self.nodes()];
        for node in (0..self.root()).rev() {
            depths[node] = depths[self.parents()[node] as usize] + self.lengths()[node];
        }
        let mean = |(leaf, share): (usize, f64)| share * depths[leaf];
        shares.iter().map(|sample| sample.iter().map(mean).sum::<f64>() + 0.0).collect()
    }

    /// `of(edges)` for every pair of samples.
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
        let counts = self.rows_above(samples, |count, _| count)?;
        // Dividing by a power of two changes no ratio and keeps sums of lengths finite.
        let unit = of_largest(self.lengths().iter().copied());
        let sample = |row: usize| {
            let entries = counts.start[row]..counts.start[row + 1];
            let counts = (&counts.indices[entries.clone()], &counts.values[entries]);
            SampleBelow { counts, total: samples.row(row).total() }
        };
        let counter = Counter::new(DISTANCES, n, progress);
        let after: Vec<Vec<f64>> = parallel::try_map(n, |i| {
            counter.add(1)?;
            let to = |j| of(&Edges { tree: self, unit, a: sample(i), b: sample(j) });
            Ok((i + 1..n).map(to).collect())
        })?;
        let mut table = vec![0.0; n * n];
        for (i, row) in after.iter().enumerate() {
            for (j, &distance) in (i + 1..n).zip(row) {
                (table[i * n + j], table[j * n + i]) = (distance, distance);
            }
        }
        Ok(table)
    }
}

/// The individuals of a sample below every edge that has some.
#[derive(Clone, Copy)]
struct SampleBelow<'a> {
    /// Edges in order, and how many.
    counts: (&'a [usize], &'a [f64]),
    total: f64,
}

impl SampleBelow<'_> {
    /// The next edge.
    fn next(&self) -> usize {
        self.counts.0.first().copied().unwrap_or(usize::MAX)
    }

    /// Takes the share below an edge, if it is the next.
    fn take(&mut self, edge: usize) -> f64 {
        if self.next() != edge {
            return 0.0;
        }
        let share = self.counts.1[0] / self.total; // there is an edge, so that there is mass
        self.counts = (&self.counts.0[1..], &self.counts.1[1..]);
        share
    }
}

/// The edges that one of two samples has.
struct Edges<'a> {
    tree: &'a Tree,
    unit: f64,
    a: SampleBelow<'a>,
    b: SampleBelow<'a>,
}

impl Edges<'_> {
    /// Every edge in order: its length, and the shares of both samples below it.
    fn each(&self, mut take: impl FnMut(f64, f64, f64)) {
        let (mut a, mut b) = (self.a, self.b);
        loop {
            let edge = a.next().min(b.next());
            if edge == usize::MAX {
                return;
            }
            take(self.tree.lengths()[edge] / self.unit, a.take(edge), b.take(edge));
        }
    }

    /// Σ l g |p − q| / (p + q) over Σ l g, where g is made of p + q and of the share of all individuals
    /// that are below the edge.
    fn weighed(&self, weight: impl Fn(f64, f64) -> f64) -> f64 {
        let (mut differences, mut sums) = (0.0, 0.0);
        // The share of all individuals that are of the first sample, which may be empty.
        let first =
            if self.a.total == 0.0 { 0.0 } else { 1.0 / (1.0 + self.b.total / self.a.total) };
        self.each(|length, p, q| {
            let w = length * weight(p + q, first * p + (1.0 - first) * q);
            differences += w * ((p - q).abs() / (p + q));
            sums += w;
        });
        ratio(differences, sums)
    }
}

/// The table of all samples from that of those with mass: Σ l |p − q| to one without is Σ l p, its depth.
fn spread(found: &[f64], there: &[usize], depths: &[f64]) -> Vec<f64> {
    let n = depths.len();
    let mut table = vec![0.0; n * n];
    for (i, row) in table.chunks_exact_mut(n).enumerate() {
        for (j, distance) in row.iter_mut().enumerate() {
            *distance = (depths[i] - depths[j]).abs();
        }
    }
    for (row, &i) in found.chunks_exact(there.len().max(1)).zip(there) {
        for (&distance, &j) in row.iter().zip(there) {
            table[i * n + j] = distance;
        }
    }
    table
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
