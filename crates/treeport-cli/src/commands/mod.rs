//! Commands, one file each: arguments, `run`, and printing.
//!
//! A new command is a file here, a variant of [`Command`] and an arm of its `run`.

mod certify;
mod clouds;
mod compare;
mod coupling;
mod demo;
mod distance;
mod embed;
mod estimate;
mod eval;
mod exact;
mod export;
mod fit;
mod index;
mod merge;
mod nearest;
mod plot;
mod report;
mod shell;
mod unifrac;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;
use treeport::Error;
use treeport::io::format::{Format, Input, InputKind};

use crate::output::Output;
use crate::pairs;

/// The commands.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// The whole job on a built-in data set: labels, learning, comparison, pictures.
    Demo(demo::DemoArgs),
    /// Make a tree or a forest from a ground metric, and from measures if there are any.
    Fit(Box<fit::FitArgs>),
    /// Distances between measures, by a tree or a forest.
    Distance(distance::DistanceArgs),
    /// UniFrac distances of samples on a phylogeny; five kinds.
    Unifrac(unifrac::UniFracArgs),
    /// The transport plan between two measures, by a model or exact.
    Coupling(coupling::CouplingArgs),
    /// Proved bounds from a plan or potentials of any solver.
    Certify(certify::CertifyArgs),
    /// Exact distances between measures. A long job that was stopped continues where it was.
    Exact(exact::ExactArgs),
    /// Distances as accurate as you ask, with certified bounds.
    Estimate(Box<estimate::EstimateArgs>),
    /// Compare models with exact transport, and with null baselines.
    Eval(eval::EvalArgs),
    /// Every method on your own data, best first.
    Compare(compare::CompareArgs),
    /// Measures as sparse vectors with the same distances.
    Embed(embed::EmbedArgs),
    /// Make a collection of measures searchable by exact distance, in a file for `nearest`.
    Index(index::IndexArgs),
    /// The nearest measures of each measure: by exact distance, certified, or by a model.
    Nearest(nearest::NearestArgs),
    /// Merge the shards of a job into the very file that one run would have written.
    Merge(merge::MergeArgs),
    /// Write a model for other tools: Newick, SciPy linkage, JSON, a picture, an embedding, a
    /// pgvector table.
    Export(Box<export::ExportArgs>),
    /// A report page: the trees, their errors, transport plans.
    Report(Box<report::ReportArgs>),
    /// The figures of the report, one at a time, for papers (SVG, PNG).
    Plot(Box<plot::PlotArgs>),
    /// Print the completion script of a shell.
    Completions(shell::CompletionsArgs),
    /// Print the manual page, or write one for every command.
    Man(shell::ManArgs),
}

impl Command {
    /// Runs the command.
    pub(crate) fn run(&self, output: &Output) -> Result<ExitCode> {
        match self {
            Self::Demo(args) => demo::run(args, output),
            Self::Fit(args) => fit::run(args, output),
            Self::Distance(args) => distance::run(args, output),
            Self::Unifrac(args) => unifrac::run(args, output),
            Self::Coupling(args) => coupling::run(args, output),
            Self::Certify(args) => certify::run(args, output),
            Self::Exact(args) => exact::run(args, output),
            Self::Estimate(args) => estimate::run(args, output),
            Self::Eval(args) => eval::run(args, output),
            Self::Compare(args) => compare::run(args, output),
            Self::Embed(args) => embed::run(args, output),
            Self::Index(args) => index::run(args, output),
            Self::Nearest(args) => nearest::run(args, output),
            Self::Merge(args) => merge::run(args, output),
            Self::Export(args) => export::run(args, output),
            Self::Report(args) => report::run(args, output),
            Self::Plot(args) => plot::run(args, output),
            Self::Completions(args) => shell::completions(args),
            Self::Man(args) => shell::man(args, output),
        }
    }
}

/// Suggests an option that resolves an error, if there is one.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    if let Some(treeport_jobs::Error::NotAShard { .. }) = error.downcast_ref() {
        return Some("`exact`, `distance` and `nearest` write shards with `--shard I/N`".into());
    }
    let hint = match error.downcast_ref::<Error>()? {
        Error::Unbalanced { .. } => "`--normalize` divides every measure by its total mass",
        Error::UnbalancedClouds { .. } => "`--normalize` divides every cloud by its total mass",
        Error::UnnamedMeasures => {
            "`--measure-names` names them, and so does a column `id` of their table"
        }
        Error::UnknownFormat { .. } => "`--input-format` gives the format of such a file",
        Error::TransposedNames { .. } => "`--transpose` reads tables that have points in rows",
        Error::ZeroVector { .. } => "`--metric euclidean` supports such points",
        Error::UnevenTree { .. } => {
            "`treeport fit --method ultrametric` learns a tree that has a linkage matrix; `--format newick` writes any tree"
        }
        Error::NotATree { path, .. } if looks_like_newick(path) => {
            "it looks like Newick text; name it `.nwk`"
        }
        Error::Read { path, .. } if pairs::is_number(path) => {
            return Some(format!("`--n-pairs {}` draws that many pairs", path.display()));
        }
        _ => return None,
    };
    Some(hint.into())
}

fn looks_like_newick(path: &std::path::Path) -> bool {
    let bytes = std::fs::read(path).unwrap_or_default();
    Input::from_bytes(path, bytes, InputKind::Model, None)
        .is_ok_and(|input| input.format() == Format::Newick)
}
