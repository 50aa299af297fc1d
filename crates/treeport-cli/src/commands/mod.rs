//! One file per command: its arguments, its `run`, and how it prints.
//!
//! A new command is a file here, a variant of [`Command`](crate::args::Command), and a line in
//! `main`.

pub(crate) mod compare;
pub(crate) mod coupling;
pub(crate) mod demo;
pub(crate) mod distance;
pub(crate) mod embed;
pub(crate) mod estimate;
pub(crate) mod eval;
pub(crate) mod exact;
pub(crate) mod export;
pub(crate) mod fit;
pub(crate) mod index;
pub(crate) mod merge;
pub(crate) mod nearest;
pub(crate) mod plot;
pub(crate) mod report;
pub(crate) mod shell;
pub(crate) mod unifrac;

use treeport::Error;

use crate::pairs;

/// An option that would help against an error, if there is one.
pub(crate) fn hint(error: &anyhow::Error) -> Option<String> {
    let hint = match error.downcast_ref::<Error>()? {
        Error::Unbalanced { .. } => "`--normalize` divides every measure by its total mass",
        Error::TransposedNames { .. } => "`--transpose` reads tables that have points in rows",
        Error::ZeroVector { .. } => "`--metric euclidean` has no trouble with such points",
        Error::UnevenTree { .. } => {
            "`treeport fit --method ultrametric` learns a tree that has a linkage matrix; `--format newick` writes any tree"
        }
        Error::NotATree { path, .. } if looks_like_newick(path) => {
            "it looks like Newick text; name it `.nwk`"
        }
        Error::Read { path, .. } if pairs::is_number(path) => {
            return Some(format!("`--n-pairs {}` draws so many pairs", path.display()));
        }
        _ => return None,
    };
    Some(hint.into())
}

fn looks_like_newick(path: &std::path::Path) -> bool {
    let text = std::fs::read(path).unwrap_or_default();
    text.trim_ascii().starts_with(b"(") && text.trim_ascii().ends_with(b";")
}
