//! Dual values of all points on a line from those of some, in O(n log n).
//!
//! What points x are allowed by points j with values, minⱼ c(x, j) − vⱼ, is attained further to the right
//! the further to the right x is, because costs are convex (they are *totally monotone*: Aggarwal, Klawe,
//! Moran, Shor, Wilber, *Geometric applications of a matrix-searching algorithm*, 1987). So the point in
//! the middle leaves one part of the j to those on its left and the other to those on its right. Where
//! rounding decides between two j, what it excludes is no better anywhere by more than that rounding.

use std::ops::Range;

use super::line::Line;
use crate::order::NumberOrder;

impl Line<'_> {
    /// min(most, minⱼ c(x, j) − vⱼ) for every point x, over some points j and their values.
    pub(super) fn allowed(&self, values: &[(usize, f64)], most: f64) -> Vec<f64> {
        let mut all = vec![most; self.len()];
        if values.is_empty() {
            return all;
        }
        let mut order = NumberOrder::default();
        order.sort(values.iter().map(|&(j, _)| self.place(j)));
        let values: Vec<(usize, f64)> = order.places().map(|k| values[k]).collect();
        order.sort((0..self.len()).map(|x| self.place(x)));
        let points: Vec<usize> = order.places().collect();
        drop(order);
        let columns = 0..values.len();
        self.lower(&points, &values, columns, &mut all);
        all
    }

    /// Lowers what points are allowed to what some of the values allow them.
    fn lower(
        &self,
        points: &[usize],
        values: &[(usize, f64)],
        columns: Range<usize>,
        all: &mut [f64],
    ) {
        let middle = points.len() / 2;
        let Some(&x) = points.get(middle) else { return };
        let (mut least, mut best) = (f64::INFINITY, columns.start);
        for k in columns.clone() {
            let (j, value) = values[k];
            let reach = self.between(x, j) - value;
            if reach < least {
                (least, best) = (reach, k);
            }
        }
        all[x] = all[x].min(least);
        self.lower(&points[..middle], values, columns.start..best + 1, all);
        self.lower(&points[middle + 1..], values, best..columns.end, all);
    }
}
