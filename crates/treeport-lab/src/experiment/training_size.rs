//! Error by the number of training pairs with sparse measures: \[CTW24\], the same section.

use treeport::Method;

use super::sparsity::{PlaneScene, curves, errors};
use super::{Cell, Experiment, Setup};

pub(super) const TRAINING_SIZE: Experiment = Experiment {
    name: "training-size",
    about: "error against the number of training pairs, sparse measures",
    cells,
    tables: &[errors(&["points", "share", "test_pairs", "seed"], &["labels"])],
    figures: |rows| curves(rows, "labels", "training pairs", "training-size"),
    words: "Measures on a tenth of the points; the test pairs are the same for every number of labels. The paper says that \
more pairs do not help an ultrametric tree on sparse measures. `average` does not learn: labels fit its factor alone.",
};

const SHARE: f64 = 0.1;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let (sizes, counts): (&[usize], &[usize]) = if setup.quick {
        (&[100], &[20, 80])
    } else {
        (&[100, 500, 1000, 1500], &[50, 100, 200, 400, 800, 1600])
    };
    let methods = [Method::Ultrametric, Method::Additive, Method::Tree, Method::Average].map(Some);
    let mut cells = Vec::new();
    for &n in sizes {
        for &labels in counts {
            cells.push(Cell::new(format!("{n} {SHARE} {labels}"), move |progress| {
                let problem = PlaneScene::new(n, SHARE, labels, setup.seed, progress)?;
                problem.rows("training-size", &methods, progress)
            }));
        }
    }
    cells
}
