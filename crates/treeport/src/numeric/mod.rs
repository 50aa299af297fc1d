//! Exact arithmetic, bounds of rounding errors, orders, seeds, and loops for wide registers.

pub(crate) mod double_double;
pub(crate) mod order;
pub(crate) mod rounding;
pub(crate) mod scale;
pub(crate) mod seed;
pub(crate) mod wide_registers;
