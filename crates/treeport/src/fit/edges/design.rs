//! Design matrix of the least squares problem: which sample uses which edge. It is not stored for
//! pairs of points.
//!
//! The distance of two points is linear in the edges: d(i, j) = h(i) + h(j) − 2h(lca), where h is
//! the distance from the root. One pass down the tree computes all h, and then a pair needs three
//! numbers. The transpose adds a sample's value at i and j, subtracts it twice at lca, and one pass
//! up the tree sums everything. Both are O(pairs + nodes), however deep the tree. For pairs of
//! measures, the coefficient of an edge is the surplus of mass below it; those rows are stored,
//! unless the measures are single points.

use std::ops::Range;

use crate::error::Result;
use crate::labeled::Labeled;
use crate::measures::Measures;
use crate::numeric::rounding::SURPLUS;
use crate::tools::parallel;
use crate::tree::Tree;

/// Design matrix: rows are samples; columns are nodes of a tree or groups of edges.
pub(super) struct Design {
    rows: usize,
    columns: usize,
    samples: Samples,
}

/// Group of the edges that do not vary.
pub(super) const FIXED: u32 = u32::MAX;

enum Samples {
    Paths(Paths),
    /// Compressed rows of (node, share).
    Rows {
        start: Vec<usize>,
        entries: Vec<(u32, f64)>,
    },
    /// All shares, row by row, with explicit zeros.
    Dense(Vec<f32>),
    /// Several trees: their columns one after the other, with the same rows.
    Several(Vec<Design>),
}

/// Pairs of points.
struct Paths {
    parent: Vec<u32>,
    rows: Vec<Path>,
    /// Whether any path contains the edge above a node.
    used: Vec<bool>,
}

/// Path between two points, with their lowest common ancestor and the row's factor.
struct Path {
    ends: [u32; 2],
    lca: u32,
    factor: f64,
}

impl Design {
    /// Creates a row for each pair of points: 1 at the edges between them.
    pub(super) fn paths(tree: &Tree, pairs: &[(usize, usize)]) -> Self {
        let ends = pairs.iter().map(|&(i, j)| (i, j, 1.0));
        Self::new(tree, pairs.len(), Samples::Paths(paths(tree, ends)))
    }

    /// Creates a row for each pair of measures: |μ(T_v) − ρ(T_v)| at the edge above v, times the
    /// row's factor.
    pub(super) fn surpluses(
        tree: &Tree,
        measures: &Measures,
        pairs: &[(usize, usize)],
        factors: &[f64],
    ) -> Result<Self> {
        measures.check_points(tree.leaves())?;
        let samples = match single_points(measures, pairs, factors) {
            Some(ends) => Samples::Paths(paths(tree, ends)),
            None => imbalances(tree, measures, pairs, factors),
        };
        Ok(Self::new(tree, pairs.len(), samples))
    }

    /// Creates the design of a sum of trees: their [`surpluses`](Self::surpluses), side by side.
    pub(super) fn several(
        trees: &[Tree],
        measures: &Measures,
        pairs: &[(usize, usize)],
        factors: &[f64],
    ) -> Result<Self> {
        let one = |tree: &Tree| Ok(Self::surpluses(tree, measures, pairs, factors)?.densified());
        let designs = parallel::try_map(trees.len(), |k| one(&trees[k]))?;
        let columns = designs.iter().map(|design| design.columns).sum();
        Ok(Self { rows: pairs.len(), columns, samples: Samples::Several(designs) })
    }

    /// Creates the design of a weighted sum of trees whose edges vary in groups, by one multiplier
    /// each: a column is the contribution of its edges with their present lengths.
    ///
    /// `groups` has the group of every node's edge, or [`FIXED`]. Also returns the contribution of
    /// fixed edges to each row.
    pub(super) fn grouped(
        trees: &[Tree],
        weights: &[f64],
        groups: &EdgeGroups,
        data: &Labeled,
        factors: &[f64],
    ) -> Result<(Self, Vec<f64>)> {
        let one = |k: usize| {
            let (tree, groups) = (&trees[k], &groups.of_tree[k]);
            data.measures().check_points(tree.leaves())?;
            let factors: Vec<f64> = factors.iter().map(|factor| factor * weights[k]).collect();
            Ok(grouped_imbalances(tree, groups, data, &factors))
        };
        let parts = parallel::try_map(trees.len(), one)?;
        let (mut fixed, mut start, mut entries) = (vec![0.0; data.len()], vec![0], Vec::new());
        for row in 0..data.len() {
            for part in &parts {
                entries.extend_from_slice(&part.entries[part.start[row]..part.start[row + 1]]);
                fixed[row] += part.fixed[row];
            }
            start.push(entries.len());
        }
        let samples = Samples::Rows { start, entries };
        let design = Self { rows: data.len(), columns: groups.count, samples };
        Ok((design.densified(), fixed))
    }

    /// Converts to dense single precision if most entries are nonzero: many times as fast.
    fn densified(self) -> Self {
        let columns = self.columns;
        match self.samples {
            Samples::Rows { start, entries } if 4 * entries.len() > self.rows * columns => {
                let mut values = vec![0.0; self.rows * columns];
                for (row, bounds) in values.chunks_exact_mut(columns).zip(start.windows(2)) {
                    for &(v, share) in &entries[bounds[0]..bounds[1]] {
                        row[v as usize] = share as f32;
                    }
                }
                Self { samples: Samples::Dense(values), ..self }
            }
            _ => self,
        }
    }

    pub(super) fn columns(&self) -> usize {
        self.columns
    }

    /// Returns the bytes of the stored entries.
    pub(super) fn bytes(&self) -> usize {
        match &self.samples {
            Samples::Paths(Paths { rows, .. }) => size_of_val(&rows[..]),
            Samples::Rows { entries, .. } => size_of_val(&entries[..]),
            Samples::Dense(values) => size_of_val(&values[..]),
            Samples::Several(designs) => designs.iter().map(Self::bytes).sum(),
        }
    }

    fn new(tree: &Tree, rows: usize, samples: Samples) -> Self {
        Self { rows, columns: tree.nodes(), samples }
    }

    pub(super) fn apply(&self, x: &[f64]) -> Vec<f64> {
        match &self.samples {
            Samples::Paths(Paths { parent, rows: paths, used }) => {
                let mut height = vec![0.0; x.len()];
                for v in (0..x.len() - 1).rev() {
                    // Heights restart at an edge that no path uses, so long edges without samples
                    // cost no digits.
                    if used[v] {
                        height[v] = height[parent[v] as usize] + x[v];
                    }
                }
                let at = |v: u32| height[v as usize];
                let sum = |&Path { ends: [i, j], lca, factor }: &Path| {
                    factor * ((at(i) - at(lca)) + (at(j) - at(lca)))
                };
                paths.iter().map(sum).collect()
            }
            Samples::Rows { start, entries } => {
                let sum = |bounds: &[usize]| {
                    let row = &entries[bounds[0]..bounds[1]];
                    row.iter().map(|&(v, share)| share * x[v as usize]).sum()
                };
                start.windows(2).map(sum).collect()
            }
            Samples::Dense(values) => {
                values.chunks_exact(x.len()).map(|row| dense_dot(row, x)).collect()
            }
            Samples::Several(designs) => {
                let columns = columns(designs);
                let part = |k: usize| designs[k].apply(&x[columns[k].clone()]);
                let parts: Vec<Vec<f64>> = parallel::map(designs.len(), part);
                // In the order of the trees, for any number of threads.
                let sum = |row: usize| parts.iter().map(|part| part[row]).sum();
                (0..self.rows).map(sum).collect()
            }
        }
    }

    pub(super) fn transpose(&self, r: &[f64]) -> Vec<f64> {
        self.transpose_of(r, |share| share)
    }

    /// Shortens the tree without changing any sample's distance.
    ///
    /// If no pair has its lowest common ancestor at a node, the node's edge is on exactly the paths
    /// of the edges below it: their common length can move to the one edge above.
    pub(super) fn lift(&self, x: &mut [f64]) {
        let Samples::Paths(Paths { parent, rows: paths, used }) = &self.samples else { return };
        let root = x.len() - 1;
        let mut met = vec![false; x.len()];
        for path in paths {
            met[path.lca as usize] = true;
        }
        let mut shared = vec![f64::INFINITY; x.len()];
        // Children come before parents: when v is reached, all nodes below it are done.
        for v in 0..root {
            if !met[v] && shared[v].is_finite() {
                x[v] += shared[v];
            }
            let p = parent[v] as usize;
            if used[v] {
                shared[p] = shared[p].min(x[v]);
            }
        }
        for v in 0..root {
            let p = parent[v] as usize;
            if used[v] && !met[p] && p != root {
                x[v] -= shared[p];
            }
        }
    }

    /// Computes the squared norm of every column.
    pub(super) fn squares(&self) -> Vec<f64> {
        if let Samples::Several(designs) = &self.samples {
            return designs.iter().flat_map(Self::squares).collect();
        }
        let mut sums = self.transpose_of(&vec![1.0; self.rows], |share| share * share);
        if let Samples::Paths(Paths { rows: paths, used, .. }) = &self.samples {
            // Cancellation leaves rounding errors; a used edge has at least the smallest factor.
            let least = paths.iter().map(|path| path.factor.powi(2)).fold(f64::INFINITY, f64::min);
            for (sum, used) in sums.iter_mut().zip(used) {
                *sum = if *used { sum.max(least) } else { 0.0 };
            }
        }
        sums
    }

    /// Computes Σ over samples of r·share, at every node; `of` transforms the shares.
    fn transpose_of(&self, r: &[f64], of: impl Fn(f64) -> f64 + Copy + Sync) -> Vec<f64> {
        if let Samples::Several(designs) = &self.samples {
            return parallel::map(designs.len(), |k| designs[k].transpose_of(r, of)).concat();
        }
        let mut sums = vec![0.0; self.columns];
        match &self.samples {
            Samples::Paths(Paths { parent, rows: paths, .. }) => {
                for (r, &Path { ends: [i, j], lca, factor }) in r.iter().zip(paths) {
                    let r = r * of(factor);
                    sums[i as usize] += r;
                    sums[j as usize] += r;
                    sums[lca as usize] -= 2.0 * r;
                }
                let root = sums.len() - 1;
                for v in 0..root {
                    sums[parent[v] as usize] += sums[v];
                }
                // At the root everything cancels up to rounding.
                sums[root] = 0.0;
            }
            Samples::Rows { start, entries } => {
                for (r, bounds) in r.iter().zip(start.windows(2)) {
                    for &(v, share) in &entries[bounds[0]..bounds[1]] {
                        sums[v as usize] += r * of(share);
                    }
                }
            }
            Samples::Dense(values) => {
                for (r, row) in r.iter().zip(values.chunks_exact(sums.len())) {
                    let both = sums.iter_mut().zip(row);
                    both.for_each(|(sum, &share)| *sum += r * of(f64::from(share)));
                }
            }
            Samples::Several(_) => unreachable!("each tree has its own sums"),
        }
        sums
    }
}

/// Computes the dot product of a row with x, in eight parallel sums.
fn dense_dot(row: &[f32], x: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (rows, xs) = (row.chunks_exact(8), x.chunks_exact(8));
    let rest: f64 =
        rows.remainder().iter().zip(xs.remainder()).map(|(&a, b)| f64::from(a) * b).sum();
    for (row, x) in rows.zip(xs) {
        for lane in 0..8 {
            sums[lane] += f64::from(row[lane]) * x[lane];
        }
    }
    sums.iter().sum::<f64>() + rest
}

/// Returns the column range of each tree.
fn columns(designs: &[Design]) -> Vec<Range<usize>> {
    let mut end = 0;
    let next = |design: &Design| {
        let begin = end;
        end += design.columns;
        begin..end
    };
    designs.iter().map(next).collect()
}

/// Creates the paths between pairs of points, which may coincide.
fn paths(tree: &Tree, ends: impl Iterator<Item = (usize, usize, f64)>) -> Paths {
    let index = tree.index();
    let mut node = vec![0u32; tree.nodes() - tree.leaves()];
    for v in tree.leaves()..tree.nodes() {
        node[index.number(tree, v)] = v as u32;
    }
    let path = |(i, j, factor): (usize, usize, f64)| {
        let (a, b) = (index.rank[i] as usize, index.rank[j] as usize);
        let lca = if i == j { i as u32 } else { node[index.ancestor(a.min(b), a.max(b)) as usize] };
        Path { ends: [i as u32, j as u32], lca, factor }
    };
    let paths: Vec<Path> = ends.map(path).collect();
    let mut count = vec![0i64; tree.nodes()];
    for Path { ends: [i, j], lca, .. } in &paths {
        count[*i as usize] += 1;
        count[*j as usize] += 1;
        count[*lca as usize] -= 2;
    }
    for v in 0..tree.root() {
        count[tree.parents()[v] as usize] += count[v];
    }
    let used = count.iter().map(|&count| count > 0).collect();
    Paths { parent: tree.parents().to_vec(), rows: paths, used }
}

/// Returns the points of pairs of single-point measures, with the coefficient of the edges between
/// them; `None` if a measure has more points.
fn single_points<'a>(
    measures: &'a Measures,
    pairs: &'a [(usize, usize)],
    factors: &'a [f64],
) -> Option<impl Iterator<Item = (usize, usize, f64)> + 'a> {
    let single = |row: usize| measures.row(row).support().len() == 1;
    let point = |row: usize| measures.row(row).support()[0] as usize;
    pairs.iter().all(|&(i, j)| single(i) && single(j)).then(|| {
        let ends = move |(&(i, j), factor): (&(usize, usize), &f64)| {
            (point(i), point(j), factor * measures.row(i).total())
        };
        pairs.iter().zip(factors).map(ends)
    })
}

/// Groups of edges above consecutive nodes of some trees, with one multiplier each.
#[derive(Clone, Debug, Default)]
pub(in crate::fit) struct EdgeGroups {
    /// Number of groups.
    pub(in crate::fit) count: usize,
    /// Group of the edge above every node of each tree, or [`FIXED`].
    pub(in crate::fit) of_tree: Vec<Vec<u32>>,
}

impl EdgeGroups {
    /// Adds a tree whose edges of length above 0 are in at most `parts` groups of equal size.
    pub(in crate::fit) fn add(&mut self, tree: &Tree, parts: usize) {
        let edges = tree.lengths().iter().filter(|length| **length > 0.0).count();
        let (first, parts) = (self.count, parts.min(edges));
        let mut edge = 0;
        let group = |length: &f64| {
            if *length == 0.0 {
                return FIXED;
            }
            edge += 1;
            (first + (edge - 1) * parts / edges) as u32
        };
        self.of_tree.push(tree.lengths().iter().map(group).collect());
        self.count += parts;
    }

    /// Returns the trees with the edges of each group multiplied; fixed edges keep their bits.
    pub(super) fn multiplied(&self, trees: &[Tree], by: &[f64]) -> Result<Vec<Tree>> {
        let one = |(tree, groups): (&Tree, &Vec<u32>)| {
            let length = |(length, &group): (&f64, &u32)| match group {
                FIXED => *length,
                _ => length * by[group as usize],
            };
            tree.with_lengths(tree.lengths().iter().zip(groups).map(length).collect())
        };
        trees.iter().zip(&self.of_tree).map(one).collect()
    }
}

/// Rows of one tree whose edges vary in groups.
#[derive(Default)]
struct GroupedRows {
    start: Vec<usize>,
    entries: Vec<(u32, f64)>,
    /// Contribution of fixed edges to each row.
    fixed: Vec<f64>,
}

/// Computes the contribution of each group of edges of a tree to each labeled distance.
fn grouped_imbalances(tree: &Tree, groups: &[u32], data: &Labeled, factors: &[f64]) -> GroupedRows {
    let mut rows = GroupedRows { start: vec![0], ..GroupedRows::default() };
    let length = tree.lengths();
    each_imbalance(tree, data.measures(), data.pairs(), |row, surpluses| {
        let (first, mut fixed) = (rows.entries.len(), 0.0);
        for &(v, surplus) in surpluses {
            let (group, part) = (groups[v as usize], factors[row] * surplus * length[v as usize]);
            match rows.entries[first..].last_mut() {
                _ if group == FIXED => fixed += part,
                // Edges of a group are consecutive nodes.
                Some((last, sum)) if *last == group => *sum += part,
                _ => rows.entries.push((group, part)),
            }
        }
        rows.fixed.push(fixed);
        rows.start.push(rows.entries.len());
    });
    rows
}

/// Computes the nonzero surplus of mass below every node, for pairs of measures.
fn imbalances(
    tree: &Tree,
    measures: &Measures,
    pairs: &[(usize, usize)],
    factors: &[f64],
) -> Samples {
    let (mut start, mut entries) = (vec![0], Vec::new());
    each_imbalance(tree, measures, pairs, |row, surpluses| {
        entries.extend(surpluses.iter().map(|&(v, surplus)| (v, factors[row] * surplus)));
        start.push(entries.len());
    });
    Samples::Rows { start, entries }
}

/// Calls `visit` for each pair with the nodes below which its masses differ, and the differences.
fn each_imbalance(
    tree: &Tree,
    measures: &Measures,
    pairs: &[(usize, usize)],
    mut visit: impl FnMut(usize, &[(u32, f64)]),
) {
    let mut surplus = vec![0.0; tree.nodes()];
    let mut met = vec![false; tree.nodes()];
    met[tree.root()] = true;
    let (mut touched, mut found): (Vec<usize>, _) = (Vec::new(), Vec::new());
    for (k, &(i, j)) in pairs.iter().enumerate() {
        for (row, sign) in [(i, 1.0), (j, -1.0)] {
            for (point, mass) in measures.row(row).iter() {
                surplus[point] += sign * mass;
                let mut v = point;
                while !met[v] {
                    met[v] = true;
                    touched.push(v);
                    v = tree.parents()[v] as usize;
                }
            }
        }
        // Children come before parents.
        touched.sort_unstable();
        let least = SURPLUS * measures.row(i).total();
        found.clear();
        for v in touched.drain(..) {
            met[v] = false;
            let below = std::mem::take(&mut surplus[v]);
            surplus[tree.parents()[v] as usize] += below;
            if below.abs() > least {
                found.push((v as u32, below.abs()));
            }
        }
        surplus[tree.root()] = 0.0;
        visit(k, &found);
    }
}
