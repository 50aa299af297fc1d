//! Inverted lists: for every node of a tree, the measures with mass below it.
//!
//! With μ(v) the mass below v times the length above it, |μ(v) − ρ(v)| = μ(v) + ρ(v) − 2 min(μ(v),
//! ρ(v)). Hence W_T = Σ μ(v) + Σ ρ(v) − 2 Σ min(μ(v), ρ(v)), and the first two sums are known for
//! every measure. A minimum is above 0 only where both have mass, so a pass over the lists of the
//! nodes above a query's points computes the third sum for all measures. It reads only the common
//! nodes of a pair: a tenth of two rows of a [`Skeleton`](super::skeleton::Skeleton).
//!
//! Deep trees have too many nodes above a point for lists.

use std::ops::Range;

use super::index::Depth;
use super::prepared::Census;
use super::{Children, Tree};
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::tools::csr::grouped;
use crate::tools::parallel;

/// Measures per part of the lists. A part is one task; its sums stay in the first-level cache.
pub(super) const PART: usize = 1024;

/// Largest number of list entries per point of a measure. Linkages of word vectors have 9 to 15.
const MOST_PER_POINT: usize = 32;

/// Share of Σ μ(v) + Σ ρ(v) below which a distance has lost digits.
const LEAST_SHARE: f64 = 1.0 / 32.0;

/// Inverted lists of a collection of measures.
#[derive(Clone, Debug)]
pub(super) struct NodeLists {
    parts: Vec<MeasureBlock>,
    /// Cost Σ μ(v) of moving each measure to the root.
    alone: Vec<f64>,
}

/// Lists of up to [`PART`] consecutive measures.
#[derive(Clone, Debug)]
struct MeasureBlock {
    /// Start of the list of every node but the root, then the end of the last list.
    start: Vec<u32>,
    /// Number of the measure within the part.
    row: Vec<u16>,
    /// Mass of the measure below the node times the length above.
    share: Vec<f64>,
}

/// A query measure, prepared for comparison with a collection.
pub(super) struct QueryShares {
    /// Nodes above its points, increasing, each with the mass below times the length above.
    shares: Vec<(usize, f64)>,
    alone: f64,
}

/// Σ min(μ(v), ρ(v)) of a query with each measure of a part.
pub(super) type SharedSums = [f64; PART];

impl NodeLists {
    /// Builds lists in parallel, or returns `None` if they would be too long to help or do not fit
    /// into memory.
    ///
    /// A part of a larger collection has lists exactly if the whole collection would.
    pub(super) fn new(
        tree: &Tree,
        measures: &Measures,
        ranked: &Measures,
        collection: Option<Census>,
    ) -> Option<Self> {
        let own = (measures.len(), measures.entries());
        let (all, points) =
            collection.map_or(own, |collection| (collection.measures, collection.entries));
        // Empty lists need memory, too.
        let empty = all.div_ceil(PART) * tree.nodes() / 2;
        let most = (MOST_PER_POINT * points).checked_sub(empty)?.min(u32::MAX as usize);
        if collection.is_some_and(|collection| collection.above > most) {
            return None;
        }
        let (count, entries) = (measures.len().div_ceil(PART), entries(tree, ranked, most)?);
        let bytes = memory::size_of::<(u32, f64)>(&[entries])
            + memory::size_of::<u32>(&[count, tree.nodes()]);
        memory::check("lists of measures", bytes, "").ok()?;
        let children = tree.children();
        let part = |(_, rows): &(_, Range<usize>)| {
            MeasureBlock::new(tree, &children, measures, rows.clone())
        };
        let parts: Vec<_> = parts_of(&(0..measures.len())).collect();
        Some(Self {
            parts: parallel::map(parts.len(), |at| part(&parts[at])),
            alone: measures.iter().map(|measure| alone(tree, &measure)).collect(),
        })
    }

    /// Writes the shared sums of a query with each measure of a part.
    pub(super) fn share(&self, part: usize, query: &QueryShares, sums: &mut SharedSums) {
        let part = &self.parts[part];
        sums.fill(0.0);
        for &(node, share) in &query.shares {
            let list = part.start[node] as usize..part.start[node + 1] as usize;
            for (&row, theirs) in part.row[list.clone()].iter().zip(&part.share[list]) {
                // A row is always below `PART`; the remainder avoids the bounds check.
                sums[usize::from(row) % PART] += share.min(*theirs);
            }
        }
    }

    /// Returns a query's distance to measure `row` from partial sums, unless it is too small.
    pub(super) fn distance(
        &self,
        query: &QueryShares,
        row: usize,
        sums: &SharedSums,
    ) -> Option<f64> {
        let alone = query.alone + self.alone[row];
        let distance = alone - 2.0 * sums[row % PART];
        (distance >= LEAST_SHARE * alone && distance.is_finite()).then_some(distance)
    }
}

impl QueryShares {
    /// Prepares a measure of the same tree; `below` is 0 for every node, before and after.
    pub(super) fn new(tree: &Tree, measure: &Measure<'_>, below: &mut [f64]) -> Self {
        Self { shares: tree.embed_row(measure, below), alone: alone(tree, measure) }
    }
}

/// Iterates over the parts that hold some of the measures, each with the range it holds.
pub(super) fn parts_of(rows: &Range<usize>) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
    let (first, end) = (rows.start, rows.end);
    let parts = if first < end { first / PART..end.div_ceil(PART) } else { 0..0 };
    parts.map(move |part| (part, first.max(part * PART)..end.min((part + 1) * PART)))
}

/// Computes the cost Σ μ(v) of moving a measure to the root.
fn alone(tree: &Tree, measure: &Measure<'_>) -> f64 {
    let index = tree.index();
    let depth = |point: usize| index.leaf_depth(index.rank[point]).minus(Depth::default());
    measure.iter().map(|(point, mass)| mass * depth(point)).sum()
}

/// Counts the nodes above the points of each measure, without the root; `None` above `most`.
pub(super) fn entries(tree: &Tree, ranked: &Measures, most: usize) -> Option<usize> {
    let index = tree.index();
    let (mut leaf, mut inner) = (vec![0; tree.leaves()], vec![0; tree.nodes() - tree.leaves()]);
    let mut edges = vec![0usize; tree.nodes()];
    for v in (0..tree.nodes()).rev() {
        if v != tree.root() {
            edges[v] = edges[tree.parents()[v] as usize] + 1;
        }
        match index.rank.get(v) {
            Some(&rank) => leaf[rank as usize] = edges[v],
            None => inner[index.number(tree, v)] = edges[v],
        }
    }
    let mut entries = 0;
    for measure in ranked.iter() {
        let ranks = measure.support();
        let above = ranks.iter().map(|&rank| leaf[rank as usize]).sum::<usize>();
        // Consecutive leaves share the nodes above their lowest common ancestor.
        let parts =
            |pair: &[u32]| inner[index.ancestor(pair[0] as usize, pair[1] as usize) as usize];
        entries += above - ranks.windows(2).map(parts).sum::<usize>();
        if entries > most {
            return None;
        }
    }
    Some(entries)
}

impl MeasureBlock {
    fn new(tree: &Tree, children: &Children, measures: &Measures, rows: Range<usize>) -> Self {
        let mut part = Self::leaves(tree.leaves(), measures, rows);
        let (mut sums, mut found) = ([0.0; PART], Vec::with_capacity(PART));
        for v in tree.leaves()..tree.root() {
            // Merges the lists of the children; masses are above 0, so 0 marks a row not seen yet.
            for &child in children.of(v) {
                for k in part.list(child as usize) {
                    let sum = &mut sums[usize::from(part.row[k])];
                    if *sum == 0.0 {
                        found.push(part.row[k]);
                    }
                    *sum += part.share[k];
                }
            }
            for row in found.drain(..) {
                part.row.push(row);
                part.share.push(std::mem::take(&mut sums[usize::from(row)]));
            }
            part.start.push(part.row.len() as u32);
        }
        for v in 0..tree.root() {
            let list = part.list(v);
            part.share[list].iter_mut().for_each(|share| *share *= tree.lengths()[v]);
        }
        part
    }

    /// Creates the lists of the leaves by transposing the rows of measures.
    fn leaves(leaves: usize, measures: &Measures, rows: Range<usize>) -> Self {
        let numbered = rows.zip(0_u16..).map(|(row, number)| (number, measures.row(row)));
        let entries = numbered
            .flat_map(|(number, row)| row.iter().map(move |(point, mass)| (point, (number, mass))));
        let (start, entries) = grouped(leaves, entries);
        let (row, share) = entries.into_iter().unzip();
        Self { start: start.into_iter().map(|at| at as u32).collect(), row, share }
    }

    fn list(&self, node: usize) -> Range<usize> {
        self.start[node] as usize..self.start[node + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A balanced tree: each inner node joins the next two nodes without a parent.
    fn balanced(leaves: usize) -> Tree {
        let nodes = 2 * leaves - 1;
        let parents = (0..nodes).map(|v| (leaves + v / 2).min(nodes - 1) as u32);
        let lengths = (0..nodes).map(|v| if v == nodes - 1 { 0.0 } else { (v % 4) as f64 });
        Tree::new(leaves, parents.collect(), lengths.collect()).expect("children come first")
    }

    fn documents(points: usize, count: usize) -> Measures {
        let row = |r: usize| (0..6).map(move |k| ((r * r * 31 + k * (k + r) * 17) % points, 1.0));
        Measures::from_rows(points, (0..count).map(row)).expect("points in range").normalized()
    }

    #[test]
    fn lists_hold_what_the_embedding_has_and_give_its_distances() {
        let (tree, measures) = (balanced(256), documents(256, PART + 9));
        let ranked = tree.by_rank(measures.iter());
        let lists = NodeLists::new(&tree, &measures, &ranked, None).expect("a bushy tree");
        assert_eq!(
            parts_of(&(PART - 1..PART + 2)).collect::<Vec<_>>(),
            [(0, PART - 1..PART), (1, PART..PART + 2)]
        );
        let held: usize = lists.parts.iter().map(|part| part.row.len()).sum();
        assert_eq!(entries(&tree, &ranked, usize::MAX), Some(held));
        let embedded = tree.embed(&measures).expect("of the same points");
        let above_0 = lists.parts.iter().flat_map(|part| &part.share).filter(|share| **share > 0.0);
        assert_eq!(above_0.count(), embedded.values.len());
        let query = QueryShares::new(&tree, &measures.row(5), &mut vec![0.0; tree.nodes()]);
        let mut sums = [0.0; PART];
        lists.share(1, &query, &mut sums);
        let judge = tree.distance(&measures.row(5), &measures.row(PART + 3)).expect("equal masses");
        let ours = lists.distance(&query, PART + 3, &sums).expect("far from 0");
        assert!((ours - judge).abs() < 1e-13 * judge, "{ours} is not {judge}");
        // Of equal measures only a sweep computes distance 0 accurately.
        lists.share(0, &query, &mut sums);
        assert_eq!(lists.distance(&query, 5, &sums), None);
    }

    #[test]
    fn deep_trees_and_few_measures_have_no_lists() {
        let n = 600_usize;
        let path = (0..2 * n - 1).map(|v| {
            let above = if v < n { n + v.saturating_sub(1) } else { v + 1 };
            above.min(2 * n - 2) as u32
        });
        let path = Tree::new(n, path.collect(), vec![0.0; 2 * n - 1]).expect("a path");
        let lists = |tree: &Tree, measures: &Measures| {
            NodeLists::new(tree, measures, &tree.by_rank(measures.iter()), None)
        };
        assert!(lists(&path, &documents(n, 2000)).is_none());
        assert!(lists(&balanced(n), &documents(n, 2000)).is_some());
        assert!(lists(&balanced(n), &documents(n, 2)).is_none());
    }
}
