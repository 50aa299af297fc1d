//! Commands, one file each: arguments, `run`, and printing.

pub(crate) mod bench;
pub(crate) mod reproduce;
