//! Transport between two measures: [`exact`] and certified, or [entropic](sinkhorn).

pub mod exact;
mod graph;
pub mod sinkhorn;
pub(crate) mod small;
