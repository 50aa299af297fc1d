//! One file per command: its arguments, its `run`, and how it prints.

pub(crate) mod bench;
pub(crate) mod reproduce;
