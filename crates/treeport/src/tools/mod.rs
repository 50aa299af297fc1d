//! Parallel loops, sparse matrices, disjoint sets and ranges of options.

pub(crate) mod csr;
pub(crate) mod disjoint_sets;
pub(crate) mod option_range;
pub(crate) mod parallel;
