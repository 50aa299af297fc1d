//! Selections of pairs of measures.

use std::ops::Range;
use std::path::Path;

use anyhow::{Context, Result};
use treeport::labeled::sample_pairs;
use treeport::{Error, Measures};
use treeport_jobs::Shard;
use treeport_jobs::fingerprint::Mix;

use crate::args::PairArgs;
use crate::finder::MeasureFinder;
use crate::input;

/// Pairs in a fixed order; all pairs of a set are never stored.
#[derive(Clone, Debug)]
pub(crate) enum Pairs {
    /// All unordered pairs of one set.
    Within(usize),
    /// All pairs of a measure of one set and a measure of another.
    Across(usize, usize),
    /// Listed pairs.
    Listed(Vec<(usize, usize)>),
    /// A range of other pairs.
    Part(Box<Pairs>, Range<usize>),
}

impl Pairs {
    /// Selects the pairs of a file, random ones, or all, of equal totals; errors name `from`.
    pub(crate) fn new(args: &PairArgs, measures: &Measures, from: &Path) -> Result<Self> {
        let pairs = Self::of_any_totals(args, measures, from)?;
        match &pairs {
            Self::Listed(pairs) => measures.check_pairs(pairs),
            _ => Measures::check_all_balanced(&[measures]),
        }
        .with_context(|| input::name(from))?;
        Ok(pairs)
    }

    /// Selects pairs as [`Pairs::new`] does, of measures whose totals may differ.
    pub(crate) fn of_any_totals(args: &PairArgs, measures: &Measures, from: &Path) -> Result<Self> {
        if args.pairs.is_some() || args.n_pairs.is_some() {
            return Ok(Self::Listed(chosen(args, measures, from, args.seed, 0)?));
        }
        // Fails if there are too few measures for a pair.
        sample_pairs(1, measures.len(), 0).with_context(|| input::name(from))?;
        Ok(Self::Within(measures.len()))
    }

    /// Returns the number of pairs.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Within(n) => n * n.saturating_sub(1) / 2,
            Self::Across(n, m) => n * m,
            Self::Listed(pairs) => pairs.len(),
            Self::Part(_, range) => range.len(),
        }
    }

    /// Computes the fingerprint of the pairs.
    pub(crate) fn fingerprint(&self) -> u64 {
        let mut mix = Mix::new();
        match self {
            Self::Listed(pairs) => mix.pairs(pairs),
            pairs => mix.word(pairs.len() as u64),
        }
        mix.number()
    }

    /// Restricts the pairs to a shard, if there is one.
    pub(crate) fn of(self, shard: Option<&Shard>) -> Self {
        match shard {
            Some(shard) => Self::Part(Box::new(self), shard.range()),
            None => self,
        }
    }

    /// Iterates over the pairs in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
        match *self {
            Self::Within(n) => Box::new((0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))),
            Self::Across(n, m) => Box::new((0..n).flat_map(move |i| (0..m).map(move |j| (i, j)))),
            Self::Listed(ref pairs) => Box::new(pairs.iter().copied()),
            Self::Part(ref pairs, ref range) => {
                Box::new(pairs.iter().skip(range.start).take(range.len()))
            }
        }
    }
}

/// Returns the pairs of a file, or random ones, by default `usual`; errors name `from`.
pub(crate) fn listed(
    args: &PairArgs,
    measures: &Measures,
    from: &Path,
    seed: u64,
    usual: usize,
) -> Result<Vec<(usize, usize)>> {
    let pairs = chosen(args, measures, from, seed, usual)?;
    measures.check_pairs(&pairs).with_context(|| input::name(from))?;
    Ok(pairs)
}

/// Returns the pairs of [`listed`] without a check of totals.
fn chosen(
    args: &PairArgs,
    measures: &Measures,
    from: &Path,
    seed: u64,
    usual: usize,
) -> Result<Vec<(usize, usize)>> {
    match &args.pairs {
        Some(path) => read(path, measures, measures),
        None => sample_pairs(args.n_pairs.unwrap_or(usual), measures.len(), seed)
            .with_context(|| input::name(from)),
    }
}

/// Reads `left,right`; `right` refers to the second set of measures.
pub(crate) fn read(path: &Path, left: &Measures, right: &Measures) -> Result<Vec<(usize, usize)>> {
    if is_number(path) {
        // If there is no such file, the number was meant for `--n-pairs`, and a hint says so.
        std::fs::File::open(path).map_err(|source| Error::read(path, source))?;
    }
    let (left, right) = (MeasureFinder::new(left), MeasureFinder::new(right));
    let mut pairs = Vec::new();
    input::columns(path, ["left", "right"], |[l, r]| {
        pairs.push((left.find("left", l)?, right.find("right", r)?));
        Ok(())
    })?;
    Ok(pairs)
}

/// Checks whether a file name is a number.
pub(crate) fn is_number(path: &Path) -> bool {
    path.to_str().is_some_and(|text| text.parse::<usize>().is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_as_it_says() {
        for pairs in [
            Pairs::Within(0),
            Pairs::Within(1),
            Pairs::Within(5),
            Pairs::Across(2, 3),
            Pairs::Listed(vec![(4, 4)]),
            Pairs::Part(Box::new(Pairs::Within(4)), 2..5),
        ] {
            assert_eq!(pairs.iter().count(), pairs.len(), "{pairs:?}");
        }
        assert_eq!(Pairs::Within(3).iter().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
        let part = Pairs::Part(Box::new(Pairs::Within(3)), 1..3);
        assert_eq!(part.iter().collect::<Vec<_>>(), [(0, 2), (1, 2)]);
    }
}
