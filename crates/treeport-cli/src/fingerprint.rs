//! What tells one job from another: the metric, the measures, the pairs, and who computes.

use std::fmt;

use treeport::{GroundMetric, Measures, Storage};

use crate::pairs::Pairs;

/// A short number for each part of a job; it follows the contents, not the names of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    metric: u64,
    measures: u64,
    pairs: u64,
}

/// How every journal begins.
const MAGIC: &str = "treeport-exact-1";

impl Fingerprint {
    /// Of a job; a graph as it was read, before its distances are laid out.
    pub(crate) fn new(metric: &GroundMetric, measures: &Measures, pairs: &Pairs) -> Self {
        Self { metric: of_metric(metric), measures: of_measures(measures), pairs: of_pairs(pairs) }
    }

    /// The parts of the job that differ from those a journal's first line names.
    ///
    /// `None` if the line is of no journal.
    pub(crate) fn differences(&self, line: &str) -> Option<String> {
        differences(&self.to_string(), line)
    }
}

/// The parts in which another first line differs from ours: `magic part=number part=number …`.
///
/// `None` if it has another magic.
pub(crate) fn differences(mine: &str, other: &str) -> Option<String> {
    let (mut mine, mut theirs) = (mine.split_whitespace(), other.split_whitespace());
    if mine.next() != theirs.next() {
        return None;
    }
    let theirs: Vec<&str> = theirs.collect();
    let parts = mine.filter(|word| !theirs.contains(word));
    let names: Vec<&str> = parts.filter_map(|word| Some(word.split_once('=')?.0)).collect();
    Some(names.join(", "))
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { metric, measures, pairs } = self;
        let version = env!("CARGO_PKG_VERSION");
        write!(
            f,
            "{MAGIC} version={version} metric={metric:016x} measures={measures:016x} pairs={pairs:016x}"
        )
    }
}

/// Mixes words into one; the same in every release, unlike the hash of the standard library.
pub(crate) struct Mix(pub(crate) u64);

impl Mix {
    /// Nothing mixed in yet.
    pub(crate) fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    /// Mixes in one word.
    pub(crate) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    /// Mixes in numbers, to the last bit.
    pub(crate) fn numbers(&mut self, numbers: impl Iterator<Item = f64>) {
        numbers.for_each(|number| self.word(number.to_bits()));
    }
}

/// The number of a ground metric.
pub(crate) fn of_metric(metric: &GroundMetric) -> u64 {
    let mut mix = Mix::new();
    mix.word(metric.points() as u64);
    mix.word(u64::from(metric.is_metric()));
    if let (Some((dim, coordinates)), Some(norm)) = (metric.coordinates(), metric.norm()) {
        mix.word(dim as u64);
        norm.to_string().bytes().for_each(|byte| mix.word(byte.into()));
        mix.numbers(coordinates.iter().copied());
    } else if let Some(edges) = metric.edges() {
        for &(from, to, length) in edges {
            mix.word(u64::from(from) << 32 | u64::from(to));
            mix.word(length.to_bits());
        }
    } else if let Some(storage) = metric.matrix() {
        match storage {
            Storage::F32(distances) => mix.numbers(distances.iter().map(|&d| d.into())),
            Storage::F64(distances) => mix.numbers(distances.iter().copied()),
        }
    }
    mix.0
}

/// The number of a set of measures.
pub(crate) fn of_measures(measures: &Measures) -> u64 {
    let mut mix = Mix::new();
    mix.word(measures.points() as u64);
    for measure in measures.iter() {
        mix.word(measure.support() as u64);
        measure.points().iter().for_each(|&point| mix.word(point.into()));
        mix.numbers(measure.masses().iter().copied());
    }
    mix.0
}

fn of_pairs(pairs: &Pairs) -> u64 {
    let mut mix = Mix::new();
    if let Pairs::Listed(pairs) = pairs {
        for &(left, right) in pairs {
            mix.word(left as u64);
            mix.word(right as u64);
        }
    } else {
        mix.word(pairs.len() as u64);
    }
    mix.0
}

#[cfg(test)]
mod tests {
    use treeport::Norm;

    use super::*;

    fn job(masses: [f64; 4], pairs: &Pairs, norm: Norm) -> Fingerprint {
        let metric = GroundMetric::from_points(1, vec![0.0, 1.0], norm).expect("points");
        let measures = Measures::from_dense(2, &masses).expect("measures");
        Fingerprint::new(&metric, &measures, pairs)
    }

    #[test]
    fn it_says_which_part_differs() {
        let masses = [0.5, 0.5, 1.0, 0.0];
        let mine = job(masses, &Pairs::Within(2), Norm::Euclidean);
        let differences = |other: Fingerprint| mine.differences(&other.to_string());
        assert_eq!(differences(mine).as_deref(), Some(""));
        let metric = job(masses, &Pairs::Within(2), Norm::Manhattan);
        assert_eq!(differences(metric).as_deref(), Some("metric"));
        let pairs = Pairs::Listed(vec![(0, 1)]);
        let more = job([0.5, 0.5, 0.0, 1.0], &pairs, Norm::Euclidean);
        assert_eq!(differences(more).as_deref(), Some("measures, pairs"));
        assert_eq!(mine.differences("left,right,distance"), None);
    }
}
