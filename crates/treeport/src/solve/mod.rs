//! Transport between two measures: a [`Problem`] and its answers, exact and certified; many
//! [`Problems`] on one ground; and [entropic](sinkhorn) plans.
//!
//! **What is proved.** Masses are first settled: each becomes a multiple of about 2⁻¹²⁰ of what
//! moves (2⁻¹⁰⁰ between millions of points), and what the totals differ by goes to the largest demand.
//! An answer in `f64` is proved for the masses as given, one in integers for the settled ones: where
//! nearly all mass stays and totals differ by their rounding, the two may differ by more than the gap.
//! Masses so far apart that settling them might change the value by a millionth, at the costs that the
//! plan pays, are refused.
//!
//! **Only what moves.** Where the metric promises the triangle inequality, mass that both measures
//! have at a point can stay there, so only the positive and the negative part of μ − ρ are solved.
//! Without the promise shared mass may have to move: on points 0, 1, 2 with d(0,1) = d(1,2) = 1 and
//! d(0,2) = 5, the cheapest way from {0, 1} to {1, 2} moves both masses one step.

mod card;
pub(crate) mod exact;
mod forecast;
mod graph;
mod matrix;
mod overflow;
pub(crate) mod penalty;
mod points;
mod problem;
mod problems;
pub(crate) mod single_problem;
pub mod sinkhorn;
mod within;

#[doc(hidden)]
pub use card::{Card, CardFound, CardSearch};
pub use exact::Solution;
pub use forecast::Forecast;
pub use matrix::MatrixView;
#[doc(hidden)]
pub use points::table_of_few;
pub use problem::{Ground, Potentials, Problem, Relax};
pub use problems::{Intervals, Problems};
pub use within::{Bounds, Target};
