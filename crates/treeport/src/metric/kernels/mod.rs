//! Kernels for many distances at once; tests compare each with the formula for one pair.
//!
//! Single precision has one layer: [`frame`] converts coordinates, [`formulas`] has the inner loops
//! and their rounding error, and [`crate::numeric::rounding`] the numbers of roundings. [`single`] and
//! [`lowered_targets`] lower their distances by this error, pair by pair; `solve::costs` bounds it
//! for all pairs by one number.

#![allow(clippy::inline_always, reason = "what is inlined is compiled for its caller's processor")]

pub(crate) mod formulas;
pub(crate) mod frame;
pub(crate) mod lowered_targets;
pub(crate) mod pairs;
mod panels;
pub(crate) mod point_layout;
mod product;
pub(crate) mod rounded;
pub(crate) mod single;
pub(crate) mod sums;
#[cfg(test)]
mod test_clouds;
mod tiles;
