//! Learned trees for fast optimal transport.

pub mod error;
pub mod format;
pub mod measure;
mod measure_read;
pub mod metric;
pub mod tree;

pub use error::{Error, Result};
pub use measure::{Measure, Measures};
pub use metric::{GroundMetric, Norm, Storage};
pub use tree::Tree;
