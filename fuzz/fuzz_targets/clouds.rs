//! See `clouds` in `src/targets.rs`.
#![no_main]

#[path = "../src/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::run("clouds", bytes));
