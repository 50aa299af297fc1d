//! Arguments of `treeport fit`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::Args;
use treeport::fit::{OptionType, OptionValue};
use treeport::names::Named;
use treeport::{FitOptions, GroundMetric, Linkage, Tree};

use super::option_args::{OptionArgs, help};
use crate::args::{CloudArgs, GroundArgs, LabelArgs};
use crate::input;

const EXAMPLE: &str = "\
Examples:
  treeport fit --points words.npy --measures docs.npz -o model.tree
  treeport fit --graph roads.csv --method ultrametric --epochs 100 -o roads.tree
  treeport fit --matrix D.npy --measures M.npy --start model.tree --seed 1 -o better.tree
  treeport fit --points words.npy --measures docs.npz --budget 30s -o model.tree
  treeport fit --points words.npy --measures docs.npz --method quadtree -o q.tree
  treeport fit --points words.npy --measures docs.npz --method learned-forest -o model.forest
  treeport fit --clouds jets.csv --normalize --n-pairs 100 -o jets.space

Without measures, methods that learn fit the distances between the points themselves. Distances between
spread measures may then be off by a factor, which measures would correct.

Ctrl-C while it learns saves the best tree so far. The same command then continues where it was,
from `model.tree.part`, and ends with the same tree as if it had not been stopped. The same holds
after a crash or a kill. This works for `auto`, whose short first stage is repeated, and for one
learned tree. Other methods keep the exact distances that they have solved, and start over from there.

`--quiet` only writes the files.";

/// Options of `treeport fit`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
#[command(mut_arg("n_pairs", |arg| arg.help(help("n_pairs", "; without measures the same as `--point-pairs`"))))]
#[command(mut_arg("budget", |arg| arg.help(help("budget", ". TIME is 30s, 5m or 1h, for example"))))]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(in crate::commands) ground: GroundArgs,
    #[command(flatten)]
    pub(in crate::commands) clouds: CloudArgs,
    #[command(flatten)]
    pub(in crate::commands) data: LabelArgs,
    // The help text comes from the library's table.
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measures")]
    #[arg(requires = "measures", conflicts_with_all = ["n_pairs", "pairs", "labels"])]
    pub(super) budget: Option<Duration>,
    #[command(flatten)]
    pub(in crate::commands) options: OptionArgs,
    /// Write the loss of every epoch to this file (.csv); for `auto` and one learned tree.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(in crate::commands) history: Option<PathBuf>,
    /// Keep the ground metric in the model's file, so that `estimate`, `eval` and `report` need no
    /// other file; for points, it then holds all coordinates.
    #[arg(long, help_heading = "Results")]
    pub(in crate::commands) with_metric: bool,
    /// The file for the model.
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub(in crate::commands) output: PathBuf,
}

impl FitArgs {
    /// Converts the arguments to the library's options, except for the checkpoint; reads a starting
    /// tree from its file.
    pub(super) fn options(
        &self,
        metric: &GroundMetric,
        names: Option<&[String]>,
    ) -> Result<FitOptions> {
        let mut options = FitOptions { seed: self.data.pairs.seed, ..FitOptions::default() };
        for (option, value) in &self.options.given {
            let value = match (option.value_type(), value) {
                (OptionType::Start(_), OptionValue::Word(text))
                    if text.parse::<Linkage>().is_err() =>
                {
                    OptionValue::Tree(start_of(metric, Path::new(text), names)?)
                }
                _ => value.clone(),
            };
            option.set(&mut options, value)?;
        }
        // Without measures, pairs are pairs of points.
        if let Some(pairs) = self.data.pairs.n_pairs
            && self.data.measures.measures.is_none()
            && options.point_pairs.replace(pairs).is_some()
        {
            bail!(
                "without measures `--n-pairs` means the same as `--point-pairs`; leave one of them out"
            );
        }
        Ok(options)
    }

    /// Describes the starting tree.
    pub(super) fn start(&self, points: usize) -> String {
        let linkage = |name: &str| format!("{name} linkage");
        match self.options.get("start") {
            Some(OptionValue::Word(text)) if text.parse::<Linkage>().is_err() => text.clone(),
            Some(OptionValue::Word(name)) => linkage(name),
            _ => linkage(Linkage::usual(points).name()),
        }
    }
}

/// Reads a starting tree.
fn start_of(metric: &GroundMetric, path: &Path, names: Option<&[String]>) -> Result<Tree> {
    match input::model_on(metric, path, names)?.model.tree() {
        Some(tree) => Ok(tree.clone()),
        None => bail!("{}: a start is one tree, and this is a forest", input::name(path)),
    }
}

/// Parses a time: a number followed by `s`, `m` or `h`.
pub(crate) fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, f64::NAN),
    };
    let seconds = number.parse().map_or(f64::NAN, |number: f64| number * unit);
    let longest = Some(Duration::MAX).filter(|_| seconds > 0.0 && seconds.is_finite());
    let time = Duration::try_from_secs_f64(seconds).ok().or(longest);
    time.filter(|time| !time.is_zero())
        .ok_or_else(|| "it must be a number above 0 with its unit, such as 30s, 5m or 1h".into())
}

#[cfg(test)]
mod tests {
    use treeport::Method;
    use treeport::fit::FitOption;

    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("30s", 30.0), ("1.5m", 90.0), ("2h", 7200.0)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        // Longer than any time is as long as time gets.
        assert_eq!(parse_time("1e99h"), Ok(Duration::MAX));
        for text in ["", "s", "30", "0s", "-1s", "nans", "infs", "30 min", "3é"] {
            assert!(parse_time(text).expect_err(text).contains("such as 30s"), "{text}");
        }
    }

    #[test]
    fn every_option_of_the_table_is_an_argument_with_its_help_and_default() {
        let mut command = FitArgs::augment_args(clap::Command::new("fit"));
        for option in FitOption::ALL {
            let argument = command.get_arguments().find(|arg| arg.get_id() == option.name);
            let argument = argument.unwrap_or_else(|| panic!("no argument for {option:?}"));
            let flag = option.name.replace('_', "-");
            assert_eq!(argument.get_long(), Some(flag.as_str()));
            let help = argument.get_help().expect("a text").to_string();
            assert!(help.starts_with(option.help), "{flag}: {help}");
            let default = option.default().replace('`', "");
            let by_clap = argument.get_default_values().iter().any(|value| *value == *default);
            assert!(by_clap || help.contains(&format!("[default: {default}]")), "{flag}: {help}");
        }
        let long = command.render_long_help().to_string();
        assert!(Method::ALL.iter().all(|method| long.contains(method.name())), "{long}");
    }
}
