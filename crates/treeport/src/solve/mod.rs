//! Optimal transport between two measures: one [`Problem`] with a certified answer, many
//! [`Problems`] on one ground, and [entropic](sinkhorn) plans.
//!
//! **What a certificate covers.** Engines round masses to integers: each mass becomes a multiple of
//! about 2⁻¹²⁰ of the mass that moves (2⁻¹⁰⁰ between millions of points), and the largest demand
//! absorbs the difference of the totals. An answer proved in `f64` holds for the masses of the
//! call, an answer proved in integers for the rounded masses. The two may differ by more than the
//! gap where nearly all mass stays in place and the totals differ by their rounding. Masses that
//! differ by so many orders of magnitude that rounding might change the value by a millionth are an
//! error.
//!
//! **Only the difference moves.** With the triangle inequality, mass that both measures have at a
//! point can stay there, and engines solve for the positive and the negative part of μ − ρ alone.
//! Without it shared mass may have to move: on points 0, 1, 2 with d(0,1) = d(1,2) = 1 and
//! d(0,2) = 5, the cheapest plan from {0, 1} to {1, 2} moves both masses one step.

mod aim;
mod answer;
mod bottleneck;
mod certify;
mod costs;
pub(crate) mod exact;
mod forecast;
mod given;
mod graph;
mod options;
mod order;
mod overflow;
mod potentials;
mod problem;
pub(crate) mod relax;
pub(crate) mod route;
mod run;
pub(crate) mod sides;
pub(crate) mod single_problem;
pub mod sinkhorn;
mod workspace;

#[doc(hidden)]
pub use crate::numeric::rounding::single;
pub use aim::{Aim, Wanted};
pub use answer::{Answer, Potentials};
pub use certify::{Certified, Proposal};
#[doc(hidden)]
pub use costs::device::{CLOSED_PRICE, Device, DeviceFound, DeviceSearch};
pub use forecast::{Forecast, show_time};
pub use options::{SolveOption, SolveOptionType};
pub use problem::Problem;
pub use problem::ground::Ground;
pub use problem::matrix::MatrixView;
#[doc(hidden)]
pub use problem::points::table_of_few;
pub use problem::problems::{Intervals, Problems};
pub use relax::Relax;
pub use route::{Engine, Route};
#[doc(hidden)]
pub use single_problem::LOST_ON_DEVICE;
pub(crate) use workspace::Workspace;
