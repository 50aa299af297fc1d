//! Pairs of measures with exact distances: read from a file, or drawn and solved.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use treeport::{GroundMetric, Labels, Measures, exact};
use treeport_report::sample;

use crate::input;
use crate::interrupt::{self, Interrupted};
use crate::output::Output;

/// Reads `left,right,distance` and checks that the measures exist.
pub(crate) fn read(path: &Path, measures: &Measures) -> Result<Labels> {
    let mut labels = Labels::default();
    for (row, [left, right, distance]) in
        input::columns(path, ["left", "right", "distance"])?.into_iter().enumerate()
    {
        let good = distance.is_finite() && distance >= 0.0;
        ensure!(
            good,
            "{}: row {}: distance is {distance}; distances must be finite and at least 0",
            input::name(path),
            row + 1
        );
        labels.pairs.push(input::pair(path, row + 1, left, right)?);
        labels.distances.push(distance);
    }
    check_exist(path, measures, &labels.pairs)?;
    Ok(labels)
}

/// Reads `left,right`; `right` counts in the second set of measures.
pub(crate) fn read_pairs(
    path: &Path,
    left: &Measures,
    right: &Measures,
) -> Result<Vec<(usize, usize)>> {
    let rows = input::columns(path, ["left", "right"])?;
    let numbered = rows.into_iter().zip(1..);
    let pairs = numbered.map(|([l, r], row)| input::pair(path, row, l, r));
    let pairs = pairs.collect::<Result<Vec<_>>>()?;
    for &(l, r) in &pairs {
        left.get(l).and_then(|_| right.get(r)).with_context(|| input::name(path))?;
    }
    Ok(pairs)
}

fn check_exist(path: &Path, measures: &Measures, pairs: &[(usize, usize)]) -> Result<()> {
    let exist = pairs.iter().try_for_each(|&(l, r)| measures.get(l).and(measures.get(r)).map(drop));
    exist.with_context(|| input::name(path))
}

/// `count` different pairs of measures, or all of them if there are fewer.
pub(crate) fn random_pairs(
    count: usize,
    measures: usize,
    seed: u64,
) -> Result<Vec<(usize, usize)>> {
    ensure!(measures >= 2, "a pair needs two measures, the file has {measures}");
    let all = measures * measures.saturating_sub(1) / 2;
    Ok(sample::random_pairs(count.min(all), measures, &mut sample::seeded(seed))?)
}

/// Exact distances of the pairs; Ctrl-C ends it with [`Interrupted`].
///
/// A graph should be [materialized](GroundMetric::materialized) before: the solver asks for every
/// distance between two supports.
pub(crate) fn solve(
    metric: &GroundMetric,
    measures: &Measures,
    pairs: &[(usize, usize)],
    output: &Output,
) -> Result<Vec<f64>> {
    let bar = output.bar("exact distances", pairs.len());
    let progress = |done: usize| {
        bar.set_position(done as u64);
        !interrupt::asked()
    };
    let distances = exact::pairs(metric, measures, pairs, &progress);
    bar.finish_and_clear();
    if distances.is_err() && interrupt::asked() {
        return Err(Interrupted.into());
    }
    Ok(distances?)
}

/// A graph as a matrix, everything else as it is: searching a graph for each distance is slow.
pub(crate) fn solvable(metric: GroundMetric, output: &Output) -> GroundMetric {
    if metric.edges().is_none() {
        return metric;
    }
    let spinner = output.spinner("shortest paths");
    let matrix = metric.materialized();
    spinner.finish_and_clear();
    matrix
}
