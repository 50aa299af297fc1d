//! Transport between two measures: [`exact`] and certified, or [entropic](sinkhorn).

pub mod exact;
mod graph;
pub(crate) mod single_problem;
pub mod sinkhorn;
