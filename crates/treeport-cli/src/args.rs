//! What the command line accepts; options that only one command has live with that command.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use treeport::Norm;
use treeport_report::terminal::Global;

use crate::commands::{
    compare, coupling, demo, distance, embed, estimate, eval, exact, export, fit, nearest, plot,
    report, shell,
};

/// Learn a tree over a set of points, then compare measures on those points in microseconds.
#[derive(Debug, Parser)]
#[command(name = "treeport", version = env!("TREEPORT_VERSION"), after_help = EXAMPLE)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
    /// What every command obeys.
    #[command(flatten)]
    pub(crate) global: Global,
}

const EXAMPLE: &str = "\
Example, from word vectors and documents to distances between all documents:
  treeport fit --points words.npy --measures docs.npz -o model.tree
  treeport eval model.tree --points words.npy --measures docs.npz
  treeport distance model.tree --measures docs.npz -o distances.csv

Results go to stdout, everything else to stderr; `-` stands for stdin or stdout.
Exit codes: 0 done, 1 the answer is no, 2 bad input or usage, 130 interrupted.";

/// One variant per command; each has its own file in `commands/`.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole job on a built-in data set: labels, learning, comparison, pictures.
    Demo(demo::DemoArgs),
    /// Learn a tree from a ground metric, and from measures if there are any.
    Fit(Box<fit::FitArgs>),
    /// Tree distances between measures.
    Distance(distance::DistanceArgs),
    /// Which mass goes where: the plan between two measures, of a tree or exact.
    Coupling(coupling::CouplingArgs),
    /// Exact distances between measures, for a job of any length: it goes on where it was stopped.
    Exact(exact::ExactArgs),
    /// Distances as accurate as you ask, with certified bounds.
    Estimate(Box<estimate::EstimateArgs>),
    /// Compare models with exact transport, and with baselines that know almost nothing.
    Eval(eval::EvalArgs),
    /// Every method on your own data, best first.
    Compare(compare::CompareArgs),
    /// Measures as sparse vectors with the same distances.
    Embed(embed::EmbedArgs),
    /// The measures closest to each measure.
    Nearest(nearest::NearestArgs),
    /// Write a tree for other tools: Newick, SciPy linkage, JSON, a picture, an embedding.
    Export(export::ExportArgs),
    /// One page to look at: the tree, how well it predicts, which mass goes where.
    Report(Box<report::ReportArgs>),
    /// The figures of the report, one at a time, for papers (SVG, PNG).
    Plot(Box<plot::PlotArgs>),
    /// Print what a shell needs to complete our commands.
    Completions(shell::CompletionsArgs),
    /// Print the manual page, or write one for every command.
    Man(shell::ManArgs),
}

/// Where the distances between points come from.
#[derive(Args, Clone, Debug)]
pub(crate) struct MetricArgs {
    #[command(flatten)]
    pub(crate) source: MetricSource,
    /// How coordinates are compared [default: euclidean].
    #[arg(long, value_name = "NAME", help_heading = "Ground metric")]
    #[arg(conflicts_with_all = ["matrix", "graph"])]
    pub(crate) metric: Option<NormName>,
    /// Promise that the matrix obeys the triangle inequality: mass that two measures share may then
    /// stay where it is, which makes exact transport faster.
    #[arg(long, help_heading = "Ground metric", conflicts_with_all = ["points", "graph"])]
    pub(crate) assume_metric: bool,
}

/// Exactly one of three files.
#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = false)]
pub(crate) struct MetricSource {
    /// Coordinates, one point per row (.npy, .csv).
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) points: Option<PathBuf>,
    /// Distances: a square matrix, or its upper triangle (.npy, .csv).
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) matrix: Option<PathBuf>,
    /// A graph with edge lengths: an edge list with columns source, target, weight (.csv), or a
    /// sparse adjacency matrix (.npz).
    #[arg(long, value_name = "FILE", help_heading = "Ground metric")]
    pub(crate) graph: Option<PathBuf>,
}

/// How to compare coordinates.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum NormName {
    /// Straight line.
    Euclidean,
    /// Along the axes.
    Manhattan,
    /// One minus the cosine of the angle.
    Cosine,
    /// Straight line, squared.
    #[value(name = "sqeuclidean")]
    SqEuclidean,
}

impl From<NormName> for Norm {
    fn from(name: NormName) -> Self {
        match name {
            NormName::Euclidean => Self::Euclidean,
            NormName::Manhattan => Self::Manhattan,
            NormName::Cosine => Self::Cosine,
            NormName::SqEuclidean => Self::SqEuclidean,
        }
    }
}

/// A model as an argument, with the names that put a Newick tree's leaves in order.
#[derive(Args, Clone, Debug)]
pub(crate) struct NamesArgs {
    /// Names of the points, one per line in the order of the measures' columns; a Newick tree's
    /// leaves are matched to them.
    #[arg(long, value_name = "FILE")]
    pub(crate) names: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_options_do_not_contradict_each_other() {
        Cli::command().debug_assert();
    }

    #[test]
    fn every_help_has_an_example() {
        for command in Cli::command().get_subcommands() {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(help.contains("treeport "), "{} teaches nothing", command.get_name());
        }
    }
}
