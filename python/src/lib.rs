//! The compiled half of the Python package, which only converts.
//!
//! Arguments are views of arrays, results are moved vectors; the interpreter is released while
//! treeport computes ([`watch`]). Python code has the parts that are natural there (defaults,
//! pandas, scikit-learn).

#![expect(clippy::needless_pass_by_value, reason = "PyO3 hands arguments over by value")]

mod accuracy;
mod clouds;
mod comparison;
mod constants;
mod convert;
mod costs;
mod device;
mod estimator;
mod ground;
mod labeled;
mod measures;
mod memory;
mod model;
mod neighbors;
mod options;
mod pairs;
mod small_arrays;
mod space;
mod texts;
mod transport;
mod turns;
mod watch;

use pyo3::prelude::*;

/// The compiled half of treeport; private, see `treeport`.
#[pymodule]
mod _core {
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "what Python calls it")]
    const __commit__: Option<&str> = option_env!("TREEPORT_COMMIT");
    #[pymodule_export]
    const CLOSED_PRICE: f32 = treeport::solve::CLOSED_PRICE;
    #[pymodule_export]
    const DEFAULT_PAIRS: usize = treeport::labeled::DEFAULT_PAIRS;
    #[pymodule_export]
    const LOST_BY_DUALS: f64 = treeport::solve::LOST_ON_DEVICE;
    #[pymodule_export]
    use crate::accuracy::check_search_accuracy;
    #[pymodule_export]
    use crate::clouds::Clouds;
    #[pymodule_export]
    use crate::comparison::{Comparison, compare};
    #[pymodule_export]
    use crate::constants::lost_in_single;
    #[pymodule_export]
    use crate::estimator::{Estimator, calibration};
    #[pymodule_export]
    use crate::ground::{Graph, Ground, point_metrics};
    #[pymodule_export]
    use crate::labeled::{Labeled, costly_fit, fit, methods, sample_pairs};
    #[pymodule_export]
    use crate::measures::{Measures, format_of, write_text};
    #[pymodule_export]
    use crate::memory::{check_copy, set_memory_limit};
    #[pymodule_export]
    use crate::model::Model;
    #[pymodule_export]
    use crate::neighbors::Index;
    #[pymodule_export]
    use crate::options::{check_options, fit_options, solve_options};
    #[pymodule_export]
    use crate::pairs::{emd_pairs, plan_lengths};
    #[pymodule_export]
    use crate::small_arrays::emd_of_arrays;
    #[pymodule_export]
    use crate::space::Space;
    #[pymodule_export]
    use crate::texts::{WordTable, read_word_vectors};
    #[pymodule_export]
    use crate::transport::{Answer, certify, sinkhorn, solve};
}
