//! See `labels` in `src/targets.rs`.
#![no_main]
#![allow(dead_code)]

#[path = "../src/targets.rs"]
mod targets;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| targets::labels(bytes));
