//! Pairs of measures with exact distances, from a file or solved.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use treeport::labeled::{DEFAULT_PAIRS, test_seed};
use treeport::{GroundMetric, Labeled, Measures, Model};

use crate::args::{LabelArgs, MeasureArgs, ModelArgs};
use crate::finder::MeasureFinder;
use crate::input::PointSet;
use crate::output::Output;
use crate::progress::watched;
use crate::{input, pairs, rows};

impl MeasureArgs {
    /// Returns the path of the measures.
    pub(crate) fn path(&self) -> Result<&Path> {
        self.measures.as_deref().context("give `--measures`")
    }

    /// Reads the measures on these points.
    pub(crate) fn read(&self, space: PointSet<'_>, output: &Output) -> Result<Measures> {
        input::measures(space, self.path()?, self.how, output)
    }

    /// Reads the measures, which may have zero mass.
    pub(crate) fn read_or_empty(&self, space: PointSet<'_>, output: &Output) -> Result<Measures> {
        input::measures_or_empty(space, self.path()?, self.how, output)
    }
}

impl ModelArgs {
    /// Reads the model, whose points may be named by a file.
    pub(crate) fn model(&self) -> Result<Model> {
        input::named_model(&self.model, &self.names)
    }
}

impl LabelArgs {
    /// Returns test labels of a file, or of new pairs, which differ from those of `fit`.
    pub(crate) fn test(
        &self,
        metric: &GroundMetric,
        names: Option<&[String]>,
        output: &Output,
    ) -> Result<Labeled> {
        let measures = self.measures.read(PointSet { points: metric.points(), names }, output)?;
        let from = self.measures.path()?;
        let pairs = match &self.labels {
            Some(path) => {
                let labels = read(path, &measures, from)?;
                ensure_two(labels.len())?;
                return Ok(labels);
            }
            None => pairs::listed(
                &self.pairs,
                &measures,
                from,
                test_seed(self.pairs.seed),
                DEFAULT_PAIRS,
            )?,
        };
        ensure_two(pairs.len())?;
        watched(output, |progress| Labeled::solve(metric, &measures, pairs, progress))
    }
}

fn ensure_two(pairs: usize) -> Result<()> {
    ensure!(pairs >= 2, "one pair cannot both fit and test; give at least 2");
    Ok(())
}

/// Reads `left,right,distance`; the measures are those of the file `from`.
pub(crate) fn read(path: &Path, measures: &Measures, from: &Path) -> Result<Labeled> {
    let (mut pairs, mut distances) = (Vec::new(), Vec::new());
    let finder = MeasureFinder::new(measures);
    input::columns(path, rows::DISTANCES, |[left, right, cell]| {
        let distance: f64 = cell.parse().with_context(|| format!("distance is `{cell}`"))?;
        let good = distance.is_finite() && distance >= 0.0;
        ensure!(good, "distance is {distance}; distances must be finite and at least 0");
        pairs.push((finder.find("left", left)?, finder.find("right", right)?));
        distances.push(distance);
        Ok(())
    })?;
    measures.check_pairs(&pairs).with_context(|| input::name(from))?;
    Labeled::new(measures, pairs, distances).with_context(|| input::name(path))
}
