//! Learned trees for fast optimal transport.

pub mod error;
pub mod format;
pub mod measure;
pub mod tree;

pub use error::{Error, Result};
pub use measure::{Measure, Measures};
pub use tree::Tree;
