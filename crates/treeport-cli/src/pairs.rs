//! Which measures are compared with which.

use treeport::measure::BALANCE_TOLERANCE;
use treeport::{Error, Measures};

/// Pairs in a fixed order; all pairs are never held in memory.
#[derive(Debug)]
pub(crate) enum Pairs {
    /// Every two of so many measures, once.
    Within(usize),
    /// Every measure of one set with every measure of another.
    Across(usize, usize),
    /// Those of a list.
    Listed(Vec<(usize, usize)>),
}

impl Pairs {
    /// The number of pairs.
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Within(n) => n * n.saturating_sub(1) / 2,
            Self::Across(n, m) => n * m,
            Self::Listed(pairs) => pairs.len(),
        }
    }

    /// All of them in order.
    pub(crate) fn iter(&self) -> Box<dyn Iterator<Item = (usize, usize)> + '_> {
        match *self {
            Self::Within(n) => Box::new((0..n).flat_map(move |i| (i + 1..n).map(move |j| (i, j)))),
            Self::Across(n, m) => Box::new((0..n).flat_map(move |i| (0..m).map(move |j| (i, j)))),
            Self::Listed(ref pairs) => Box::new(pairs.iter().copied()),
        }
    }

    /// Refuses pairs of different mass, before the first of them is worked on.
    pub(crate) fn check_balance(&self, left: &Measures, right: &Measures) -> treeport::Result<()> {
        let check = |i, j| check_pair((i, left), (j, right));
        if let Self::Listed(pairs) = self {
            return pairs.iter().try_for_each(|&(i, j)| check(i, j));
        }
        let extremes = |set: &Measures| {
            let by_total =
                |&i: &usize, &j: &usize| set.row(i).total().total_cmp(&set.row(j).total());
            Some(((0..set.len()).min_by(by_total)?, (0..set.len()).max_by(by_total)?))
        };
        // If the lightest and the heaviest agree, all do.
        match (extremes(left), extremes(right)) {
            (Some((light, heavy)), Some((lightest, heaviest))) => {
                check(light, heaviest)?;
                check(heavy, lightest)
            }
            _ => Ok(()),
        }
    }
}

fn check_pair(
    (left, of_left): (usize, &Measures),
    (right, of_right): (usize, &Measures),
) -> treeport::Result<()> {
    let (left_total, right_total) = (of_left.row(left).total(), of_right.row(right).total());
    if (left_total - right_total).abs() <= BALANCE_TOLERANCE * left_total.max(right_total) {
        return Ok(());
    }
    Err(Error::Unbalanced { left, right, left_total, right_total })
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
        ] {
            assert_eq!(pairs.iter().count(), pairs.len(), "{pairs:?}");
        }
        assert_eq!(Pairs::Within(3).iter().collect::<Vec<_>>(), [(0, 1), (0, 2), (1, 2)]);
    }
}
