//! Distances between points in bulk: each kernel is judged by the formula for one pair.

pub(crate) mod laid_out;
pub(crate) mod lowered_targets;
pub(crate) mod pairs;
mod product;
pub(crate) mod rounded;
pub(crate) mod single;
pub(crate) mod sums;
#[cfg(test)]
mod test_clouds;
