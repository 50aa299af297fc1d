//! Transport between two measures: a [`Problem`] and its answers, exact and certified; many
//! [`Problems`] on one ground; and [entropic](sinkhorn) plans.

pub(crate) mod exact;
mod graph;
mod matrix;
mod points;
mod problem;
mod problems;
pub(crate) mod single_problem;
pub mod sinkhorn;
mod within;

pub use exact::Solution;
pub use matrix::MatrixView;
pub use problem::{Ground, Potentials, Problem, Relax};
pub use problems::Problems;
pub use within::{Bounds, Target};
