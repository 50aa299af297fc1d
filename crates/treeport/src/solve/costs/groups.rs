//! Groups of neighbors, each of which has one representative in a coarser problem.
//!
//! Neighbors follow each other, so a group is a range. In a mixture of scales only neighbors of the
//! smaller scales are grouped: others already differ by more than a representative would.

use std::ops::Range;

/// Consecutive groups of points.
#[derive(Clone, Debug)]
pub(in crate::solve) struct Groups {
    /// First point of every group, and the number of points.
    starts: Vec<u32>,
}

/// Ratio of the radius of a range to the median above which its points stay alone: ranges of points
/// of one scale are within a factor of three.
const WIDE: f32 = 8.0;

impl Groups {
    /// Groups `count` points in ranges of `most`, unless they are much wider than others; returns
    /// the groups and the mean radius of the ranges that are groups. `radius` computes the mean
    /// cost between a point of a range and its middle point.
    pub(super) fn new(
        count: usize,
        most: usize,
        radius: impl Fn(Range<usize>) -> f32,
    ) -> (Self, f32) {
        let ranges = (0..count).step_by(most).map(|first| first..count.min(first + most));
        let radii: Vec<f32> = ranges.clone().map(radius).collect();
        let mut sorted = radii.clone();
        let half = sorted.len() / 2;
        let limit = WIDE * *sorted.select_nth_unstable_by(half, f32::total_cmp).1;
        let (mut starts, mut sum, mut grouped) = (Vec::new(), 0.0, 0);
        for (range, radius) in ranges.zip(radii) {
            if radius <= limit {
                starts.push(range.start as u32);
                sum += range.len() as f64 * f64::from(radius);
                grouped += range.len();
            } else {
                starts.extend(range.start as u32..range.end as u32);
            }
        }
        starts.push(count as u32);
        (Self { starts }, (sum / grouped.max(1) as f64) as f32)
    }

    /// Returns the number of groups.
    pub(super) fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// Returns the points of every group.
    pub(in crate::solve) fn ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|ends| ends[0] as usize..ends[1] as usize)
    }

    /// Returns the middle point of every group.
    pub(super) fn middles(&self) -> impl Iterator<Item = u32> + '_ {
        self.ranges().map(|range| middle(&range) as u32)
    }

    /// Returns whether many groups are points of a larger scale.
    pub(in crate::solve) fn are_mixed(&self) -> bool {
        self.ranges().filter(|range| range.len() == 1).count() * 16 > self.len()
    }

    /// Adds a group of one more point.
    pub(super) fn push_alone(&mut self) {
        self.starts.extend(self.starts.last().map(|count| count + 1));
    }
}

/// Returns the middle point of a range.
pub(super) fn middle(range: &Range<usize>) -> usize {
    range.start + range.len() / 2
}
