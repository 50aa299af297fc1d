//! The options of `treeport fit`.

use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::{Args, ValueEnum};
use treeport::baseline::{FitOptions, Method, Scale};
use treeport::learn::{Loss, Schedule};
use treeport::{Kind, LearnOptions, Linkage};
use treeport_report::terminal::at_least_one;

use crate::args::MetricArgs;
use crate::input;

const EXAMPLE: &str = "\
Examples:
  treeport fit --points words.npy --measures docs.npz -o model.tree
  treeport fit --graph roads.csv --kind ultrametric --epochs 100 -o roads.tree
  treeport fit --matrix D.npy --measures M.npy --start model.tree --seed 1 -o better.tree
  treeport fit --points words.npy --method ctwd -o ctwd.tree
  treeport fit --points words.npy --measures docs.npz --method quadtree --scale labels -o q.tree
  treeport fit --points words.npy --measures docs.npz --method learned-forest -o model.forest

Without measures the learner alone learns the distances of the points themselves; transport between
spread measures may then come out wrong by a factor, which measures would set.

Ctrl-C while it learns saves the best tree so far; the same command then goes on where it was,
from `model.tree.part`, and ends with the same tree as if it had not been stopped. So it does after
a crash or a kill. This holds for `auto`, whose short first stage is done again, and for the
learner alone. Other methods keep the exact distances that they have solved and begin anew there.

`--quiet` only writes the files.";

/// Passes over pairs of points.
const POINT_EPOCHS: usize = 10;

/// Options of `treeport fit`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
pub(crate) struct FitArgs {
    #[command(flatten)]
    pub(super) ground: MetricArgs,
    /// Measures to learn from, one per row, one point per column (.npz, .npy, .csv).
    #[arg(long, value_name = "FILE", help_heading = "What to learn from")]
    pub(super) measures: Option<PathBuf>,
    /// Divide every measure by its total mass.
    #[arg(long, requires = "measures", help_heading = "What to learn from")]
    pub(super) normalize: bool,
    /// Exact distances known already: columns left, right, distance (.csv); measures count from 0.
    #[arg(long, value_name = "FILE", requires = "measures", conflicts_with = "pairs")]
    #[arg(help_heading = "What to learn from")]
    pub(super) labels: Option<PathBuf>,
    /// Random pairs to learn from [default: 300 of measures, 10000 of points].
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    #[arg(help_heading = "What to learn from")]
    pub(super) pairs: Option<usize>,
    /// Names of the points, one per line; a Newick start is matched to them.
    #[arg(long, value_name = "FILE", help_heading = "What to learn from")]
    pub(super) names: Option<PathBuf>,
    /// First tree: average, single, complete, ward, closest, or a .tree or .nwk file. It is rescaled to the
    /// labels first; the learner alone takes a .tree file as it is, to go on from it. `single` is worth a try
    /// where all points are about equally far apart, as cells are [default: average].
    #[arg(long, value_name = "START", value_parser = parse_start, help_heading = "Learning")]
    pub(super) start: Option<Start>,
    /// Learn one tree of this kind and leave it at that: the learner alone, without the other stages of
    /// `auto`. The same as `--method` with that name.
    #[arg(long, value_enum, help_heading = "Learning")]
    pub(super) kind: Option<KindName>,
    /// How the tree is made [default: auto; additive without measures]. `auto` fits edges to the distances
    /// of points, learns, fits edges to the labels, and keeps what does best on labels held back. The learner
    /// alone: additive, ultrametric, skip-mst. Others, to compare: quadtree, cluster, kmeans, qtwd, ctwd, qtwd-labels,
    /// ctwd-labels, ultratwd, ultratwd-mst, single, average, total-variation. Several trees, whose mean
    /// counts: forest, learned-forest, sliced-quadtree, sliced-cluster, sliced-qtwd, sliced-ctwd. The options
    /// below are for methods that learn, `--scale` and `--trees` for the others, `--seed` for all.
    #[arg(long, value_name = "NAME", conflicts_with = "kind", value_parser = parse_method)]
    #[arg(help_heading = "Learning")]
    pub(super) method: Option<Method>,
    /// Multiply the tree of another method by one factor fitted to labels of the measures.
    #[arg(long, value_enum, default_value_t = ScaleName::None, help_heading = "Learning")]
    pub(super) scale: ScaleName,
    /// Trees of a `--method` of several [default: 16, of a sliced one 3].
    #[arg(long, value_name = "K", value_parser = at_least_one, requires = "method")]
    #[arg(help_heading = "Learning")]
    pub(super) trees: Option<usize>,
    /// Passes over the pairs [default: 50 over measures, 10 over points].
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub(super) epochs: Option<usize>,
    /// Pairs in one step [default: 20].
    #[arg(long, value_name = "N", value_parser = at_least_one, help_heading = "Learning")]
    pub(super) batch: Option<usize>,
    /// Step size at the start, without unit; 0.3 to 1 is the useful range [default: 0.5].
    #[arg(long, value_name = "X", value_parser = parse_rate, allow_negative_numbers = true)]
    #[arg(help_heading = "Learning")]
    pub(super) rate: Option<f64>,
    /// How the step size falls [default: linear].
    #[arg(long, value_enum, help_heading = "Learning")]
    pub(super) schedule: Option<ScheduleName>,
    /// Which errors count how much [default: relative].
    #[arg(long, value_enum, help_heading = "Learning")]
    pub(super) loss: Option<LossName>,
    /// Share of the pairs kept for choosing the best tree [default: 0.2, of the learner alone 0.1].
    #[arg(long, value_name = "X")]
    #[arg(value_parser = parse_share, allow_negative_numbers = true, help_heading = "Learning")]
    pub(super) validation: Option<f64>,
    /// Stop after so many epochs without a better tree; 0 never stops early [default: 0].
    #[arg(long, value_name = "N", help_heading = "Learning")]
    pub(super) patience: Option<usize>,
    /// Seed of all randomness: the same seed gives the same file.
    #[arg(long, value_name = "N", default_value_t = 0, help_heading = "Learning")]
    pub(super) seed: u64,
    /// Write the loss of every epoch of the learner to this file (.csv).
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub(super) history: Option<PathBuf>,
    /// Where the tree goes.
    #[arg(short, long, value_name = "FILE", help_heading = "Results")]
    pub(super) output: PathBuf,
}

impl FitArgs {
    /// How the tree is made. From points alone `auto` finds the worse scale: for measures on 25 of 500 points in the
    /// plane it is 0.18 off where the learner alone is 0.09 off, and after one factor both are 0.10 off.
    pub(super) fn method(&self) -> Method {
        let usual = if self.measures.is_some() { Method::Auto } else { Method::Additive };
        self.method.or_else(|| self.kind.map(Method::from)).unwrap_or(usual)
    }

    /// The kind of tree that is learned.
    pub(super) fn kind(&self) -> Kind {
        self.method().kind().unwrap_or(Kind::Additive)
    }

    /// Where learning starts.
    pub(super) fn start(&self) -> Start {
        self.start.clone().unwrap_or_else(|| Start::linkage("average", Linkage::Average))
    }

    /// The first option given that `method` would not read.
    pub(super) fn unread(&self, method: Method) -> Option<&'static str> {
        let learns = method == Method::LearnedForest;
        let given = [
            ("--start", self.start.is_some()),
            ("--epochs", self.epochs.is_some() && !learns),
            ("--batch", self.batch.is_some() && !learns),
            ("--rate", self.rate.is_some() && !learns),
            ("--schedule", self.schedule.is_some() && !learns),
            ("--loss", self.loss.is_some() && !learns),
            ("--validation", self.validation.is_some() && !learns),
            ("--patience", self.patience.is_some() && !learns),
            ("--history", self.history.is_some()),
        ];
        given.into_iter().find(|option| option.1).map(|option| option.0)
    }

    /// The options of the learner.
    pub(super) fn learn_options(&self) -> LearnOptions {
        // Pairs of points are many and each says little: a few passes do.
        let default_epochs =
            if self.measures.is_some() { LearnOptions::default().epochs } else { POINT_EPOCHS };
        let auto = self.method() == Method::Auto;
        let defaults = if auto { FitOptions::default().learn } else { LearnOptions::default() };
        LearnOptions {
            kind: self.kind(),
            epochs: self.epochs.unwrap_or(default_epochs),
            batch: self.batch.unwrap_or(defaults.batch),
            rate: self.rate.unwrap_or(defaults.rate),
            schedule: self.schedule.map_or(defaults.schedule, Into::into),
            loss: self.loss.map_or(defaults.loss, Into::into),
            validation: self.validation.unwrap_or(defaults.validation),
            patience: self.patience.unwrap_or(defaults.patience),
            rescale: auto || !matches!(self.start(), Start::File(path) if !input::is_newick(&path)),
            seed: self.seed,
        }
    }
}

/// Where learning starts.
#[derive(Clone, Debug)]
pub(super) enum Start {
    Linkage(String, Linkage),
    File(PathBuf),
}

impl Start {
    fn linkage(text: &str, linkage: Linkage) -> Self {
        Self::Linkage(format!("{text} linkage"), linkage)
    }
}

fn parse_start(text: &str) -> Result<Start, String> {
    let linkage = match text {
        "average" => Linkage::Average,
        "single" => Linkage::Single,
        "complete" => Linkage::Complete,
        "ward" => Linkage::Ward,
        "closest" => Linkage::Closest,
        file if matches!(input::extension(Path::new(file)), Some("tree" | "nwk" | "newick")) => {
            return Ok(Start::File(file.into()));
        }
        _ => {
            return Err("it must be average, single, complete, ward, closest, or a file that ends in .tree or .nwk".into());
        }
    };
    Ok(Start::linkage(text, linkage))
}

fn parse_method(text: &str) -> Result<Method, String> {
    text.parse().map_err(|error: treeport::Error| error.to_string())
}

/// Checked here, before hours of labelling, and not only in [`learn`].
fn parse_rate(text: &str) -> Result<f64, String> {
    let rate: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err("it must be above 0".into()) }
}

fn parse_share(text: &str) -> Result<f64, String> {
    let share: f64 = text.parse().map_err(|error| format!("{error}"))?;
    if (0.0..1.0).contains(&share) { Ok(share) } else { Err("a share from 0 to below 1".into()) }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum KindName {
    /// Leaves at any depth: every tree metric.
    Additive,
    /// All leaves equally far from the root.
    Ultrametric,
    /// Ultrametric, with the shape of the start.
    SkipMst,
}

impl From<KindName> for Method {
    fn from(name: KindName) -> Self {
        match name {
            KindName::Additive => Self::Additive,
            KindName::Ultrametric => Self::Ultrametric,
            KindName::SkipMst => Self::SkipMst,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum ScaleName {
    /// The tree as the method makes it.
    None,
    /// Times the median of exact over tree distances.
    Labels,
}

impl From<ScaleName> for Scale {
    fn from(name: ScaleName) -> Self {
        match name {
            ScaleName::None => Self::None,
            ScaleName::Labels => Self::Labels,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum ScheduleName {
    /// Straight down to 0.
    Linear,
    /// Half a cosine down to 0.
    Cosine,
    /// Not at all.
    Constant,
}

impl From<ScheduleName> for Schedule {
    fn from(name: ScheduleName) -> Self {
        match name {
            ScheduleName::Linear => Self::Linear,
            ScheduleName::Cosine => Self::Cosine,
            ScheduleName::Constant => Self::Constant,
        }
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LossName {
    /// Every pair counts the same.
    Relative,
    /// Large distances count more, as in the paper.
    Squared,
}

impl From<LossName> for Loss {
    fn from(name: LossName) -> Self {
        match name {
            LossName::Relative => Self::Relative,
            LossName::Squared => Self::Squared,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_help_names_the_defaults_of_the_library() {
        let help = FitArgs::augment_args(clap::Command::new("fit")).render_help().to_string();
        let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
        let (plain, auto) = (LearnOptions::default(), FitOptions::default().learn);
        for part in [
            format!("Pairs in one step [default: {}]", plain.batch),
            format!("useful range [default: {}]", plain.rate),
            format!("[default: {} over measures, {POINT_EPOCHS} over points]", plain.epochs),
            format!("stops early [default: {}]", plain.patience),
            format!("[default: {}, of the learner alone {}]", auto.validation, plain.validation),
        ] {
            assert!(help.contains(&part), "no `{part}` in {help}");
        }
        assert_eq!((plain.schedule, plain.loss), (Schedule::Linear, Loss::Relative));
        let shared = LearnOptions { validation: auto.validation, ..plain };
        assert_eq!(shared, auto);
    }
}
