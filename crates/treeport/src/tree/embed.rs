//! Embedding of measures as sparse vectors whose ℓ₁ distances are the tree distances.

use std::ops::AddAssign;

use super::Tree;
use crate::error::Result;
use crate::measures::{Measure, Measures};
use crate::memory;
use crate::tools::csr::Csr;
use crate::tools::parallel;

/// Largest number of entries computed at a time: 256 MiB.
const AT_ONCE: usize = 1 << 24;

impl Tree {
    /// Embeds measures as sparse rows: entry `v` is length(v)·μ(T_v), so that the ℓ₁ (cityblock)
    /// distance of two rows is the tree distance of the measures (\[CTW24\], Corollary 2.2).
    ///
    /// Columns are nodes; a row has entries only above its points, at edges of positive length.
    ///
    /// # Complexity
    /// O(k log k) per row for k nodes above its points, in parallel over rows.
    ///
    /// # Example
    /// ```
    /// use treeport::{Measures, Tree};
    /// let tree = Tree::from_newick("((a:1,b:1):2,c:3);")?;
    /// let rows = tree.embed(&Measures::from_dense(3, &[0.5, 0.5, 0.0])?)?;
    /// assert_eq!((rows.indices, rows.values), (vec![0, 1, 3], vec![0.5, 0.5, 2.0]));
    /// # Ok::<(), treeport::Error>(())
    /// ```
    pub fn embed(&self, measures: &Measures) -> Result<Csr> {
        self.rows_above(measures, |mass, length| mass * length)
    }

    /// Returns rows of `value(mass below, length)` for the edges above a measure's points.
    pub(super) fn rows_above(
        &self,
        measures: &Measures,
        value: impl Fn(f64, f64) -> f64 + Sync,
    ) -> Result<Csr> {
        measures.check_points(self.leaves())?;
        let mut csr = Csr {
            rows: measures.len(),
            cols: self.nodes(),
            start: vec![0],
            indices: Vec::new(),
            values: Vec::new(),
        };
        let at_once = (AT_ONCE / self.nodes()).max(1);
        for first in (0..measures.len()).step_by(at_once) {
            let rows: Vec<Vec<(usize, f64)>> = parallel::map_with(
                at_once.min(measures.len() - first),
                || vec![0.0; self.nodes()],
                |below, row| self.row_above(&measures.row(first + row), below, &value),
            );
            let more = rows.iter().map(Vec::len).sum();
            let step = format_args!("the embedding of {} measures", measures.len());
            memory::grow(&mut csr.indices, step, more, "embed fewer measures at a time")?;
            memory::grow(&mut csr.values, step, more, "embed fewer measures at a time")?;
            for row in rows {
                csr.indices.extend(row.iter().map(|e| e.0));
                csr.values.extend(row.iter().map(|e| e.1));
                csr.start.push(csr.indices.len());
            }
        }
        Ok(csr)
    }

    /// Computes one row of [`embed`](Self::embed); `below` is 0 everywhere before and after.
    pub(super) fn embed_row(&self, measure: &Measure<'_>, below: &mut [f64]) -> Vec<(usize, f64)> {
        self.row_above(measure, below, &|mass, length| mass * length)
    }

    fn row_above(
        &self,
        measure: &Measure<'_>,
        below: &mut [f64],
        value: &impl Fn(f64, f64) -> f64,
    ) -> Vec<(usize, f64)> {
        let mut entries = Vec::with_capacity(measure.support().len());
        self.masses_above(measure.iter(), below, |v, mass| {
            if self.lengths()[v] > 0.0 {
                entries.push((v, value(mass, self.lengths()[v])));
            }
        });
        entries
    }

    /// Calls `visit` with each node above the given points, in increasing order, and the mass below
    /// it. Masses are not 0, and `below` is 0 everywhere before and after.
    pub(super) fn masses_above<T: Copy + Default + PartialEq + AddAssign>(
        &self,
        masses: impl Iterator<Item = (usize, T)>,
        below: &mut [T],
        mut visit: impl FnMut(usize, T),
    ) {
        let mut reached: Vec<usize> = Vec::new();
        for (point, mass) in masses {
            below[point] = mass;
            let mut v = point;
            loop {
                reached.push(v);
                let parent = self.parents()[v] as usize;
                if v == self.root() || below[parent] != T::default() {
                    break;
                }
                v = parent;
                below[v] = mass; // marks it as reached; masses are added up below
            }
        }
        reached.sort_unstable();
        reached.iter().filter(|&&v| v >= self.leaves()).for_each(|&v| below[v] = T::default());
        for v in reached {
            let mass = std::mem::take(&mut below[v]);
            if v != self.root() {
                below[self.parents()[v] as usize] += mass;
            }
            visit(v, mass);
        }
    }
}
