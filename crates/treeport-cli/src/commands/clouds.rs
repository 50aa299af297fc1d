//! Models of clouds: what `fit`, `distance`, `embed` and `eval` do with `--clouds`.

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail, ensure};
use serde_json::json;
use treeport::fit::OptionValue;
use treeport::io::{npy, npz};
use treeport::labeled::{DEFAULT_PAIRS, test_seed};
use treeport::names::Named;
use treeport::space::{SpaceMethod, SpaceOptions};
use treeport::{Clouds, Error, Geometry, Labeled, PointMetric, Space};

use super::distance::DistanceArgs;
use super::embed::EmbedArgs;
use super::eval::EvalArgs;
use super::fit::FitArgs;
use crate::args::{CloudReadArgs, LabelArgs, ModelArgs};
use crate::output::{self, Output};
use crate::pairs::{self, Pairs};
use crate::progress::watched;
use crate::rows::{self, DISTANCES};
use crate::{input, labels};

/// Clouds with the file that they come from, for errors.
struct CloudFile<'a> {
    clouds: Clouds,
    path: &'a Path,
}

impl<'a> CloudFile<'a> {
    fn read(path: &'a Path, how: &CloudReadArgs, normalize: bool) -> Result<Self> {
        Ok(Self { clouds: input::clouds(path, how, normalize)?, path })
    }

    /// Adds the file and the cloud to an error.
    fn located<T>(&self, result: Result<T>) -> Result<T> {
        result.map_err(|error| input::of_clouds(error, &self.clouds, self.path))
    }

    /// Reads exact distances from a file, or solves pairs: those of a fit, or others with another
    /// seed.
    fn labels(
        &self,
        args: &LabelArgs,
        geometry: &Geometry,
        seed: u64,
        output: &Output,
    ) -> Result<Labeled> {
        let measures = self.clouds.measures();
        if let Some(file) = &args.labels {
            return labels::read(file, measures, self.path);
        }
        let pairs = pairs::listed(&args.pairs, measures, self.path, seed, DEFAULT_PAIRS);
        let pairs = self.located(pairs)?;
        self.located(watched(output, |progress| {
            Labeled::solve(&self.clouds.ground(geometry.clone())?, measures, pairs, progress)
        }))
    }
}

/// Returns the given method of clouds, if it is one.
pub(crate) fn method(args: &FitArgs) -> Option<SpaceMethod> {
    let Some(OptionValue::Word(name)) = args.options.get("method") else { return None };
    SpaceMethod::ALL.iter().find(|method| method.name() == name).copied()
}

/// Fits a model of clouds.
pub(crate) fn fit(args: &FitArgs, path: &Path, output: &Output) -> Result<ExitCode> {
    let method = method(args);
    if let (None, Some(OptionValue::Word(name))) = (method, args.options.get("method")) {
        let known: Vec<&str> = SpaceMethod::ALL.iter().map(|method| method.name()).collect();
        bail!(
            "`{name}` needs points that all measures share; for `--clouds` take {}",
            known.join(", ")
        );
    }
    let method = method.unwrap_or_default();
    let unread = args.options.given.iter().map(|(option, _)| option.name);
    if let Some(option) = unread.into_iter().find(|name| *name != "method") {
        return Err(Error::UnusedOption { option, method: method.name() }.into());
    }
    ensure!(args.history.is_none(), "`--history` is for trees; leave it out");
    ensure!(
        args.ground.names.names.is_none(),
        "clouds have no names of points; leave `--names` out"
    );
    let file = CloudFile::read(path, &args.clouds.how, args.data.measures.how.normalize)?;
    let metric = args.ground.metric.metric.unwrap_or(PointMetric::Euclidean);
    let geometry = metric.with_optional_period(args.ground.metric.period.clone());
    let seed = args.data.pairs.seed;
    let data = file.labels(&args.data, &geometry, seed, output)?;
    let options = SpaceOptions { method, seed };
    let space = file.located(watched(output, |progress| {
        Space::fit(&file.clouds, geometry, &data, &options, progress)
    }))?;
    space.save(&args.output)?;
    let facts = json!({
        "clouds": file.clouds.len(),
        "expected_error": space.error(),
        "method": method.name(),
        "pairs": data.len(),
    });
    let note = format!(
        "{}: {} clouds, {} exact distances; expected error on new clouds {:.4};",
        method.name(),
        file.clouds.len(),
        data.len(),
        space.error()
    );
    rows::wrote(output, "fit", Some(&args.output), facts, &note)?;
    Ok(ExitCode::SUCCESS)
}

/// Reads the model of clouds.
fn model(args: &ModelArgs) -> Result<Space> {
    ensure!(args.names.names.is_none(), "clouds have no names of points; leave `--names` out");
    Ok(Space::load(&args.model)?)
}

/// Estimates distances of clouds.
pub(crate) fn distance(args: &DistanceArgs, path: &Path, output: &Output) -> Result<ExitCode> {
    ensure!(!args.square && args.shard.shard.is_none(), "`--square` and `--shard` are for trees");
    let file = rows::target(args.output.as_deref(), "distances go", &["csv", "npy"])?;
    let (space, how) = (model(&args.of)?, &args.clouds.how);
    let normalize = args.of.measures.how.normalize;
    let left = CloudFile::read(path, how, normalize)?;
    let right = args.against.as_deref().map(|path| CloudFile::read(path, how, normalize));
    let right = right.transpose()?;
    let is_npy = file.is_some_and(|path| input::extension(path).is_some_and(|end| end == "npy"));
    let is_table = args.pairs.pairs.is_none() && args.pairs.n_pairs.is_none();
    let prepared = |file: &CloudFile<'_>| {
        file.located(watched(output, |progress| space.prepare(&file.clouds, progress)))
    };
    let rows_of_left = prepared(&left)?;
    let (pairs, distances) = match &right {
        Some(right) => {
            ensure!(is_table, "`--pairs` are of one set; leave `--against` out");
            let columns = prepared(right)?;
            let table = watched(output, |progress| rows_of_left.cross(&columns, progress));
            (Pairs::Across(left.clouds.len(), right.clouds.len()), left.located(table)?)
        }
        None if is_npy && is_table => {
            let table = watched(output, |progress| rows_of_left.pairwise(progress));
            (Pairs::Within(left.clouds.len()), left.located(table)?)
        }
        None => {
            let pairs = left.located(Pairs::new(&args.pairs, left.clouds.measures(), path))?;
            let listed: Vec<_> = pairs.iter().collect();
            let found = watched(output, |progress| rows_of_left.pairs(&listed, progress));
            let found = left.located(found)?;
            (Pairs::Listed(listed), found)
        }
    };
    let left_names = input::measure_names(args.measure_names.as_deref(), left.clouds.measures())?;
    let right_names = match &right {
        Some(right) => {
            input::measure_names(args.against_names.as_deref(), right.clouds.measures())?
        }
        None => left_names.clone(),
    };
    if let Some(path) = file.filter(|_| is_npy) {
        let columns = right.as_ref().map_or(left.clouds.len(), |right| right.clouds.len());
        let shape = if is_table { vec![left.clouds.len(), columns] } else { vec![pairs.len()] };
        output::save(path, |out| anyhow::Ok(npy::write_f64(&shape, &distances, out)?))?;
    } else {
        let listed: Vec<_> = pairs.iter().collect();
        let names = [left_names.as_deref(), right_names.as_deref()];
        rows::write_all((file, None), output, &DISTANCES, |out, json| {
            rows::distances(out, json, names, &listed, &distances)
        })?;
    }
    let count = pairs.len();
    rows::wrote(output, "distance", file, json!({"pairs": count}), &format!("{count} distances"))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes the rows of clouds.
pub(crate) fn embed(args: &EmbedArgs, path: &Path, output: &Output) -> Result<ExitCode> {
    const COLUMNS: [&str; 3] = ["cloud", "column", "value"];
    let target = rows::target(args.output.as_deref(), "an embedding goes", &["npz", "csv"])?;
    let space = model(&args.of)?;
    let file = CloudFile::read(path, &args.clouds.how, args.of.measures.how.normalize)?;
    let names = input::measure_names(args.measure_names.as_deref(), file.clouds.measures())?;
    ensure!(
        space.method() == SpaceMethod::Space,
        "estimates of `{}` are not distances of rows; fit `space`",
        space.method()
    );
    let all = file.located(watched(output, |progress| space.embed(&file.clouds, progress)))?;
    let is_npz = target.is_some_and(|path| input::extension(path).is_some_and(|end| end == "npz"));
    if let Some(path) = target.filter(|_| is_npz) {
        output::save(path, |out| anyhow::Ok(npz::write_csr(&all, out)?))?;
    } else {
        rows::write_all((target, None), output, &COLUMNS, |out, json| {
            rows::sparse(out, (json, &COLUMNS), (names.as_deref(), 0), &all)
        })?;
    }
    let (count, columns) = (all.rows, all.cols);
    let facts = json!({"clouds": count, "columns": columns, "entries": all.values.len()});
    rows::wrote(output, "embed", target, facts, &format!("{count} rows over {columns} columns"))?;
    Ok(ExitCode::SUCCESS)
}

/// Compares models of clouds with exact transport.
pub(crate) fn eval(args: &EvalArgs, path: &Path, output: &Output) -> Result<ExitCode> {
    let metric = &args.test.ground.metric;
    let given =
        metric.source.file().is_some() || metric.metric.is_some() || metric.period.is_some();
    ensure!(!given, "a model of clouds has its own metric; leave the ground metric out");
    let data = &args.test.data;
    let file = CloudFile::read(path, &args.clouds.how, data.measures.how.normalize)?;
    let mut table = vec![["", "error", "median", "largest"].map(str::to_owned).to_vec()];
    let mut found = Vec::new();
    for path in &args.models {
        let space = Space::load(path)?;
        let test = file.labels(data, space.geometry(), test_seed(data.pairs.seed), output)?;
        let predicted = watched(output, |progress| {
            space.prepare(&file.clouds, progress)?.pairs(test.pairs(), progress)
        });
        let score = test.score(&file.located(predicted)?);
        let null = test.null_baselines()[0];
        for (name, score) in [(path.display().to_string(), score), (null.name.into(), null.score)] {
            let cells = [score.mean, score.median, score.max].map(|error| format!("{error:.4}"));
            found.push(json!({
                "model": name, "error": score.mean, "median": score.median, "largest": score.max,
                "pairs": score.pairs, "left_out": score.left_out,
            }));
            table.push(std::iter::once(name).chain(cells).collect());
        }
    }
    if output.json {
        found.into_iter().try_for_each(output::json)?;
    } else {
        output::line(output::table(&table).trim_end())?;
    }
    Ok(ExitCode::SUCCESS)
}
