//! UniFrac distances of samples on a phylogeny.
//!
//! With p and q the shares of two samples below an edge of length l, and m of m_t individuals of
//! both samples below it:
//!
//! | name | distance |
//! | --- | --- |
//! | weighted | Σ l \|p − q\|, the tree distance |
//! | weighted-normalized | Σ l \|p − q\| / Σ l (p + q) |
//! | unweighted | length that only one sample has, over length that one of them has |
//! | generalized | Σ w \|p − q\| / Σ w (p + q) with w = l (p + q)^(α − 1) (Chen et al. 2012) |
//! | variance-adjusted | as generalized, with w = l / √(m (m_t − m)), where m < m_t (Chang et al. 2011) |
//!
//! The first two are computed as tree distances. The others merge two sorted lists of nodes: O(k)
//! per pair for k nodes above the points of either sample.

use super::Tree;
use crate::error::{Error, Result, show_number};
use crate::measures::Measures;
use crate::memory;
use crate::names::named;
use crate::numeric::scale::of_largest;
use crate::progress::tasks::DISTANCES;
use crate::progress::{Counter, Progress};
use crate::tools::parallel;

/// Relative difference of sums of the same counts in another order.
const ROUNDING: f64 = 1e-12;

/// Variants of the UniFrac distance ([`Tree::unifrac`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum UniFrac {
    /// Tree distance of normalized samples.
    #[default]
    Weighted,
    /// Weighted distance divided by Σ l (p + q), its value if no edge were shared.
    WeightedNormalized,
    /// Distance of the sets of taxa, regardless of abundance.
    Unweighted,
    /// Between the two above: α = 1 is weighted-normalized, α = 0 weights by length alone.
    Generalized,
    /// Edges weighted by the variance of their shares under random sampling.
    VarianceAdjusted,
}

named! { UniFrac, "the variant of UniFrac", {
    Weighted: "weighted", "the tree distance of shares";
    WeightedNormalized: "weighted-normalized", "the same divided by its largest possible value: from 0 to 1";
    Unweighted: "unweighted", "the share of branch length that only one of two samples has";
    Generalized: "generalized", "between weighted-normalized (alpha 1) and less weight on abundant taxa (alpha 0)";
    VarianceAdjusted: "variance-adjusted", "edges weighted by how much their shares vary by chance";
}}

/// Options of [`Tree::unifrac`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct UniFracOptions {
    /// Variant of the distance.
    pub variant: UniFrac,
    /// Weight of abundant taxa in [`UniFrac::Generalized`], from 0 to 1; other variants ignore it.
    pub alpha: f64,
    /// Accepts a root with more than two children. Such trees are usually unrooted: the place of
    /// their root is arbitrary, and distances depend on it.
    pub unrooted: bool,
}

impl Default for UniFracOptions {
    fn default() -> Self {
        Self { variant: UniFrac::Weighted, alpha: 0.5, unrooted: false }
    }
}

impl Tree {
    /// Computes UniFrac distances of all pairs of samples, in parallel: a symmetric matrix, row by
    /// row; progress counts rows.
    ///
    /// Samples are counts at the leaves. Their totals may differ, and may be 0
    /// ([`Measures::from_rows_or_empty`]): all shares of such a sample are 0.
    ///
    /// # Errors
    /// Samples on another number of leaves; an `alpha` out of range; an unrooted tree, unless
    /// `unrooted` is set; a tree with edges without length; a table that does not fit into memory.
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
                value: show_number(alpha),
                expected: "it is a number from 0 to 1",
            }),
            UniFrac::Generalized => {
                self.merged(samples, progress, |edges| edges.weighted(|both, _| both.powf(alpha)))
            }
            UniFrac::VarianceAdjusted => self.merged(samples, progress, |edges| {
                edges.weighted(|both, below| {
                    // An edge above all individuals has no variance and no information.
                    let beside = 1.0 - below;
                    if beside > ROUNDING { both / (below * beside).sqrt() } else { 0.0 }
                })
            }),
        }
    }

    /// Checks that the tree has a root (unless `unrooted` is set) and edge lengths.
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

    /// Computes tree distances of shares. If `relative`, divides them by their values if no edge
    /// were shared.
    fn weighted_unifrac(
        &self,
        samples: &Measures,
        relative: bool,
        progress: &Progress<'_>,
    ) -> Result<Vec<f64>> {
        let shares = samples.clone().normalized();
        let n = shares.len();
        // Samples without mass have no tree distances.
        let nonempty: Vec<usize> = (0..n).filter(|&row| shares.row(row).total() > 0.0).collect();
        let rows = nonempty.iter().map(|&row| shares.row(row).iter());
        let some = if nonempty.len() == n {
            shares.clone()
        } else {
            Measures::from_rows(self.leaves(), rows)?
        };
        let found = self.pairwise(&some, progress)?;
        let depths = self.mean_depths(&shares);
        let mut table =
            if nonempty.len() == n { found } else { spread(&found, &nonempty, &depths) };
        if relative {
            for (row, a) in table.chunks_exact_mut(n.max(1)).zip(&depths) {
                for (distance, b) in row.iter_mut().zip(&depths) {
                    *distance = ratio(*distance, a + b);
                }
            }
        }
        Ok(table)
    }

    /// Computes Σ l p for every sample: the mean distance of its individuals from the root.
    fn mean_depths(&self, shares: &Measures) -> Vec<f64> {
        let depths = self.root_distances();
        let mean = |(leaf, share): (usize, f64)| share * depths[leaf];
        shares.iter().map(|sample| sample.iter().map(mean).sum::<f64>() + 0.0).collect()
    }

    /// Computes `of(edges)` for every pair of samples.
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

/// Individuals of a sample below each edge, without empty edges.
#[derive(Clone, Copy)]
struct SampleBelow<'a> {
    /// Edges in order, and the number of individuals below each.
    counts: (&'a [usize], &'a [f64]),
    total: f64,
}

impl SampleBelow<'_> {
    /// Returns the next edge.
    fn next(&self) -> usize {
        self.counts.0.first().copied().unwrap_or(usize::MAX)
    }

    /// Returns the share below an edge and advances, if it is the next edge; otherwise 0.
    fn take_share(&mut self, edge: usize) -> f64 {
        if self.next() != edge {
            return 0.0;
        }
        let share = self.counts.1[0] / self.total; // an edge in the list has mass
        self.counts = (&self.counts.0[1..], &self.counts.1[1..]);
        share
    }
}

/// Edges above the taxa of at least one of two samples.
struct Edges<'a> {
    tree: &'a Tree,
    unit: f64,
    a: SampleBelow<'a>,
    b: SampleBelow<'a>,
}

impl Edges<'_> {
    /// Calls `visit` for every edge with its length and the shares below it.
    fn each(&self, mut visit: impl FnMut(f64, f64, f64)) {
        let (mut a, mut b) = (self.a, self.b);
        loop {
            let edge = a.next().min(b.next());
            if edge == usize::MAX {
                return;
            }
            visit(self.tree.lengths()[edge] / self.unit, a.take_share(edge), b.take_share(edge));
        }
    }

    /// Computes Σ l g |p − q| / (p + q), divided by Σ l g, where g is a function of p + q and of
    /// the share of all individuals below the edge.
    fn weighted(&self, weight: impl Fn(f64, f64) -> f64) -> f64 {
        let (mut differences, mut sums) = (0.0, 0.0);
        // The first sample's share of all individuals; the sample may be empty.
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

/// Extends the table of samples with mass by empty ones, at their mean depths.
fn spread(found: &[f64], nonempty: &[usize], depths: &[f64]) -> Vec<f64> {
    let n = depths.len();
    let mut table = vec![0.0; n * n];
    for (i, row) in table.chunks_exact_mut(n).enumerate() {
        for (j, distance) in row.iter_mut().enumerate() {
            *distance = (depths[i] - depths[j]).abs();
        }
    }
    for (row, &i) in found.chunks_exact(nonempty.len().max(1)).zip(nonempty) {
        for (&distance, &j) in row.iter().zip(nonempty) {
            table[i * n + j] = distance;
        }
    }
    table
}

/// Computes the length below which only one of two samples is present, over the total length.
fn presence(edges: &Edges<'_>) -> f64 {
    let (mut one, mut any) = (0.0, 0.0);
    edges.each(|length, a, b| {
        any += length;
        one += if a == 0.0 || b == 0.0 { length } else { 0.0 };
    });
    ratio(one, any)
}

/// Divides, with 0/0 = 0: both samples are at the root.
fn ratio(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}
