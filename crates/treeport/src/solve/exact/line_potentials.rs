//! Dual values of all points on a line from those of some, in O(n log n).
//!
//! The largest dual value of a point x is minⱼ c(x, j) − vⱼ over the points j with values. Because
//! costs are convex, they are *totally monotone* (Aggarwal, Klawe, Moran, Shor, Wilber, *Geometric
//! applications of a matrix-searching algorithm*, 1987): the minimizing j moves to the right as x
//! does. So the minimizing j of the middle x divides the candidates for the points on its left and
//! on its right. If rounding decides between two j, the error of any later minimum is at most that
//! rounding.

use std::ops::Range;

use super::line::Line;
use crate::numeric::order::NumberOrder;

impl Line<'_> {
    /// Computes min(most, minⱼ c(x, j) − vⱼ) for every point x, over some j with values.
    pub(in crate::solve) fn allowed(&self, values: &[(usize, f64)], most: f64) -> Vec<f64> {
        let mut all = vec![most; self.len()];
        if values.is_empty() {
            return all;
        }
        let mut order = NumberOrder::default();
        order.sort(values.iter().map(|&(j, _)| self.coordinate(j)));
        let values: Vec<(usize, f64)> = order.places().map(|k| values[k]).collect();
        order.sort((0..self.len()).map(|x| self.coordinate(x)));
        let points: Vec<usize> = order.places().collect();
        drop(order);
        let columns = 0..values.len();
        self.lower(&points, &values, columns, &mut all);
        all
    }

    /// Lowers the values of sorted points to minⱼ c(x, j) − vⱼ over a range of the sorted j.
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
            let allowed = self.between(x, j) - value;
            if allowed < least {
                (least, best) = (allowed, k);
            }
        }
        all[x] = all[x].min(least);
        self.lower(&points[..middle], values, columns.start..best + 1, all);
        self.lower(&points[middle + 1..], values, best..columns.end, all);
    }
}
