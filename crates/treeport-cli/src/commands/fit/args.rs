//! The options of `treeport fit`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Result, bail};
use clap::{ArgAction, Args};
use treeport::internal::names::Named;
use treeport::learn::{Loss, Schedule};
use treeport::{FitOptions, GroundMetric, Linkage, Method, fit};
use treeport_report::terminal::at_least_one;

use crate::args::{GroundArgs, LabelArgs, choice};
use crate::input;

const EXAMPLE: &str = "\
Examples:
  treeport fit --points words.npy --measures docs.npz -o model.tree
  treeport fit --graph roads.csv --method ultrametric --epochs 100 -o roads.tree
  treeport fit --matrix D.npy --measures M.npy --start model.tree --seed 1 -o better.tree
  treeport fit --points words.npy --measures docs.npz --budget 30s -o model.tree
  treeport fit --points words.npy --measures docs.npz --method quadtree -o q.tree
  treeport fit --points words.npy --measures docs.npz --method learned-forest -o model.forest

Without measures methods that learn learn the distances of the points themselves; transport between
spread measures may then come out wrong by a factor, which measures would set.

Ctrl-C while it learns saves the best tree so far; the same command then goes on where it was,
from `model.tree.part`, and ends with the same tree as if it had not been stopped. So it does after
a crash or a kill. This holds for `auto`, whose short first stage is done again, and for one
learned tree. Other methods keep the exact distances that they have solved and begin anew there.

`--quiet` only writes the files.";

/// Options of `treeport fit`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
#[command(mut_arg("n_pairs", |arg| arg.help("Random pairs to learn from [default: 300 of measures, 10000 of points]")))]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(super) ground: GroundArgs,
    #[command(flatten)]
    pub(super) data: LabelArgs,
    /// Instead of a number of pairs: as many as can be solved in about so long, at most 10,000, such
    /// as 30s, 5m or 1h. The summary says how many; `--n-pairs` with that number gives the same
    /// model anywhere. Learning takes its own time.
    #[arg(long, value_name = "TIME", value_parser = parse_time, help_heading = "Measures")]
    #[arg(requires = "measures", conflicts_with_all = ["n_pairs", "pairs", "labels"])]
    pub(super) budget: Option<Duration>,
    /// How the model is made [default: auto; additive without measures]; `--help` lists the
    /// methods.
    #[arg(long, value_name = "NAME", alias = "kind", value_parser = choice::<Method>())]
    #[arg(hide_possible_values = true, long_help = method_help(), help_heading = "Method")]
    pub(super) method: Option<Method>,
    /// Whether labels set the scale: of the start of learning, of a method that does not learn by
    /// one factor, and of `forest` how much each tree counts.
    #[arg(long, value_name = "BOOL", default_value_t = true, action = ArgAction::Set)]
    #[arg(help_heading = "Method")]
    pub(super) scale: bool,
    /// First tree: average, single, complete, ward, closest, neighbors, or a .tree or .nwk file; for
    /// a forest a linkage. `--scale false` takes it as it is, to go on from it. `single` is worth a
    /// try where all points are about equally far apart, as cells are [default: average; above
    /// 20,000 points neighbors, which needs no distance matrix].
    #[arg(long, value_name = "START", value_parser = parse_start, help_heading = "Method")]
    pub(super) start: Option<Start>,
    /// Trees of a method of several [default: 16, of a sliced one 3].
    #[arg(long, value_name = "K", alias = "trees", value_parser = at_least_one)]
    #[arg(help_heading = "Method")]
    pub(super) n_trees: Option<usize>,
    /// Passes over the pairs [default: 50, of auto one for every ten labels, from 50 to 200, of a
    /// learned forest 30; over pairs of points 10].
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub(super) epochs: Option<usize>,
    /// Pairs in one step [default: 20].
    #[arg(long, value_name = "N", alias = "batch", help_heading = "Learning")]
    pub(super) batch_size: Option<usize>,
    /// Step size at the start, without unit; 0.3 to 1 is the useful range [default: 0.5].
    #[arg(long, value_name = "X", alias = "rate", allow_negative_numbers = true)]
    #[arg(help_heading = "Learning")]
    pub(super) learning_rate: Option<f64>,
    /// How the step size falls [default: linear].
    #[arg(long, value_name = "NAME", value_parser = choice::<Schedule>(), help_heading = "Learning")]
    pub(super) schedule: Option<Schedule>,
    /// Which errors count how much [default: relative].
    #[arg(long, value_name = "NAME", value_parser = choice::<Loss>(), help_heading = "Learning")]
    pub(super) loss: Option<Loss>,
    /// Share of the pairs kept for choosing the best tree [default: 0.2 of learned-forest and of
    /// auto, 0.1 of others].
    #[arg(long, value_name = "X", alias = "validation", allow_negative_numbers = true)]
    #[arg(help_heading = "Learning")]
    pub(super) validation_fraction: Option<f64>,
    /// Stop after so many epochs without a better tree; 0 never stops early [default: 0].
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub(super) patience: Option<usize>,
    /// Write the loss of every epoch to this file (.csv); for `auto` and one learned tree.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) history: Option<PathBuf>,
    /// Keep the ground metric in the model's file, so that `estimate`, `eval` and `report` need no
    /// other; a file of points then holds all coordinates.
    #[arg(long, help_heading = "Results")]
    pub(super) with_metric: bool,
    /// Where the model goes.
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub(super) output: PathBuf,
}

fn method_help() -> String {
    let table = Method::table();
    format!(
        "How the model is made [default: auto; additive without measures]:\n{}",
        table.trim_end()
    )
}

impl FitArgs {
    /// The library's options, except for where to go on; a start is read from its file.
    pub(super) fn options(
        &self,
        metric: &GroundMetric,
        names: Option<&[String]>,
    ) -> Result<FitOptions> {
        let start = match &self.start {
            None => None,
            Some(Start::Linkage(linkage)) => Some(fit::Start::Linkage(*linkage)),
            Some(Start::File(path)) => match input::model_on(metric, path, names)?.model.tree() {
                Some(tree) => Some(fit::Start::Tree(tree.clone())),
                None => bail!("{}: a start is one tree, and this is a forest", input::name(path)),
            },
        };
        let with_measures = self.data.measures.measures.is_some();
        Ok(FitOptions {
            method: self.method,
            start,
            n_trees: self.n_trees,
            // With measures the number of pairs is theirs.
            point_pairs: self.data.pairs.n_pairs.filter(|_| !with_measures),
            epochs: self.epochs,
            batch_size: self.batch_size,
            learning_rate: self.learning_rate,
            schedule: self.schedule,
            loss: self.loss,
            validation_fraction: self.validation_fraction,
            patience: self.patience,
            scale: self.scale,
            seed: self.data.pairs.seed,
            ..FitOptions::default()
        })
    }

    /// The start in words.
    pub(super) fn start(&self, points: usize) -> String {
        match &self.start {
            None => format!("{} linkage", Linkage::usual(points)),
            Some(Start::Linkage(linkage)) => format!("{linkage} linkage"),
            Some(Start::File(path)) => path.display().to_string(),
        }
    }
}

/// Where learning starts.
#[derive(Clone, Debug)]
pub(super) enum Start {
    Linkage(Linkage),
    File(PathBuf),
}

/// Reads a time: a number, and `s`, `m` or `h`.
fn parse_time(text: &str) -> Result<Duration, String> {
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1.0),
        Some((at, 'm')) => (&text[..at], 60.0),
        Some((at, 'h')) => (&text[..at], 3600.0),
        _ => (text, f64::NAN),
    };
    let seconds = number.parse().map_or(f64::NAN, |number: f64| number * unit);
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| "it must be a number above 0 with its unit, such as 30s, 5m or 1h".into())
}

fn parse_start(text: &str) -> Result<Start, String> {
    if let Ok(linkage) = text.parse() {
        return Ok(Start::Linkage(linkage));
    }
    if matches!(input::extension(Path::new(text)), Some("tree" | "nwk" | "newick")) {
        return Ok(Start::File(text.into()));
    }
    let linkages: Vec<&str> = Linkage::ALL.iter().map(|linkage| linkage.name()).collect();
    Err(format!("it must be {}, or a file that ends in .tree or .nwk", linkages.join(", ")))
}

#[cfg(test)]
mod tests {
    use treeport::LearnOptions;
    use treeport::internal::labels::MOST_PAIRS;

    use super::*;

    #[test]
    fn times_have_units() {
        for (text, seconds) in [("30s", 30.0), ("1.5m", 90.0), ("2h", 7200.0)] {
            assert_eq!(parse_time(text), Ok(Duration::from_secs_f64(seconds)));
        }
        for text in ["", "s", "30", "0s", "-1s", "nans", "infs", "1e99h", "30 min", "3é"] {
            assert!(parse_time(text).expect_err(text).contains("such as 30s"), "{text}");
        }
    }

    #[test]
    fn the_help_names_the_defaults_of_the_library() {
        let mut command = FitArgs::augment_args(clap::Command::new("fit"));
        let help = command.render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let learn = LearnOptions::default();
        for part in [
            format!("Pairs in one step [default: {}]", learn.batch_size),
            format!("useful range [default: {}]", learn.learning_rate),
            format!("Passes over the pairs [default: {},", learn.epochs),
            format!("stops early [default: {}]", learn.patience),
            format!("of auto, {} of others]", learn.validation_fraction),
            format!("step size falls [default: {}]", learn.schedule),
            format!("how much [default: {}]", learn.loss),
            format!("as cells are [default: {};", Linkage::default()),
            format!("at most {},000, such", MOST_PAIRS / 1000),
        ] {
            assert!(help.contains(&part), "no `{part}` in {help}");
        }
        let long = command.render_long_help().to_string();
        assert!(Method::ALL.iter().all(|method| long.contains(method.name())), "{long}");
    }
}
