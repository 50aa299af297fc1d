//! Regression on clouds: estimates between new clouds by a few labels.

use std::path::Path;

use serde_json::json;

use super::{Cell, Column, Experiment, Row, Setup, Table, no_figures};
use crate::Result;
use crate::bench;

pub(super) const CLOUDS: Experiment = Experiment {
    name: "clouds",
    about: "estimates between new clouds by a few labels, without a tree",
    cells,
    tables: &[Table {
        split: &["labels", "seed"],
        line: &["method"],
        across: Some("set"),
        show: &[("error", Column::Number("error", 3)), ("others", Column::Number("others", 3))],
    }],
    figures: no_figures,
    words: "Mean relative errors on 200 pairs of 40 new clouds, means of five seeds; labels are exact distances between 100 \
clouds of the same kind. `others`: the same model on clouds drawn with other parameters than those of its labels. `space` is an ℓ₁ distance of rows, `lifted` adds \
plans and certified bounds, `rg` is the regression on sliced and lifted-sliced transport of Nguyen, Nguyen and Ho (ICLR 2026). The nulls are a constant and the \
distance of the means, each times a factor from the labels. Digits are the file `digits.npz` of scikit-learn's images in the data folder, if it is there.",
};

const SETS: [&str; 4] = ["digits", "jets", "shapes", "cells"];

const LABELS: usize = 50;

fn cells(setup: &Setup) -> Vec<Cell<'_>> {
    let labels = setup.labels.unwrap_or(LABELS);
    let wanted = |set: &&str| {
        let named = setup.scenes.is_empty() || setup.scenes.iter().any(|scene| scene == set);
        named && (!setup.quick || *set == "jets")
    };
    let cell =
        |set: &'static str| Cell::new(format!("{set} {labels}"), move |_| rows(set, labels, setup));
    SETS.into_iter().filter(wanted).map(cell).collect()
}

fn rows(set: &str, labels: usize, setup: &Setup) -> Result<Vec<Row>> {
    let folder = setup.data.as_deref().unwrap_or(Path::new("."));
    let mut rows = Vec::new();
    bench::space(labels, (folder, &[set.into()]), setup.seed, |row| {
        let method = row.case.iter().find(|of| of.0 == "method").map(|of| &of.1);
        let figure = |name: &str| {
            let value = row.more.iter().find(|of| of.0 == name).map(|of| of.1);
            value.filter(|value| value.is_finite())
        };
        rows.push(json!({
            "experiment": "clouds", "set": set, "method": method, "labels": labels, "seed": setup.seed,
            "error": figure("error"), "others": figure("other_parameters"),
        }));
    })?;
    Ok(rows)
}
