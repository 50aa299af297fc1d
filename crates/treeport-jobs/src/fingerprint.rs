//! Fingerprints of jobs: a 64-bit hash for each part.
//!
//! Hashes depend on contents, not on file names, and are the same on every machine.

use std::fmt;

use treeport::metric::Components;
use treeport::{GroundMetric, Measures, Storage, Tree};

/// Identity of a job: a word for its kind, our version, and named hashes of its inputs.
///
/// # Example
/// ```
/// use treeport::Measures;
/// use treeport_jobs::{JobFingerprint, fingerprint};
/// let measures = Measures::unit_masses(3, [0, 2])?;
/// let job = JobFingerprint::new("my-job-1").part("measures", fingerprint::of_measures(&measures));
/// assert!(job.to_string().starts_with("my-job-1 version="));
/// # Ok::<(), treeport::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobFingerprint(String);

impl JobFingerprint {
    /// Starts the fingerprint of a job; `magic` is a word that changes with the format of its
    /// journal.
    pub fn new(magic: &str) -> Self {
        Self(format!("{magic} version={}", env!("CARGO_PKG_VERSION")))
    }

    /// Starts the fingerprint of a job whose journal remains valid across versions.
    pub fn lasting(magic: &str) -> Self {
        Self(magic.into())
    }

    /// Adds a part; `name` is a single word.
    #[must_use]
    pub fn part(self, name: &str, number: u64) -> Self {
        Self(format!("{self} {name}={number:016x}"))
    }

    /// Checks whether a text begins with the word for this kind of job.
    pub(crate) fn is_kind_of(&self, text: &str) -> bool {
        let magic = self.0.split(' ').next();
        magic.is_some() && text.split(' ').next() == magic
    }

    /// Lists the names of the parts in which another job of this kind differs.
    pub(crate) fn differences(&self, other: &str) -> String {
        let (mine, theirs) = (self.0.split_whitespace(), other.split_whitespace());
        let (mine, theirs): (Vec<_>, Vec<_>) = (mine.collect(), theirs.collect());
        let ours = mine.iter().filter(|part| !theirs.contains(part));
        let others = theirs.iter().filter(|part| !mine.contains(part));
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in ours.chain(others).filter_map(|part| part.split_once('=')) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names.join(", ")
    }
}

/// `magic version=… part=number part=number …`
impl fmt::Display for JobFingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Hash of a sequence of words; stable across releases, unlike the hash of the standard library.
#[derive(Clone, Debug)]
pub struct Mix(u64);

impl Default for Mix {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Mix {
    /// Creates the hash of an empty sequence.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds one word.
    pub fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 32;
    }

    /// Adds numbers, bit by bit.
    pub fn numbers(&mut self, numbers: impl IntoIterator<Item = f64>) {
        numbers.into_iter().for_each(|number| self.word(number.to_bits()));
    }

    /// Adds pairs of indices.
    pub fn pairs(&mut self, pairs: &[(usize, usize)]) {
        for &(left, right) in pairs {
            self.word(left as u64);
            self.word(right as u64);
        }
    }

    /// Adds a text and an end mark.
    pub fn text(&mut self, text: &str) {
        text.bytes().for_each(|byte| self.word(byte.into()));
        self.word(u64::MAX);
    }

    /// Adds the number of bytes and the bytes.
    pub fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        let (words, rest) = bytes.as_chunks();
        let words = words.iter().map(|&word| u64::from_le_bytes(word));
        for word in words.chain(rest.iter().map(|&byte| byte.into())) {
            self.word(word);
        }
    }

    /// Returns the hash of everything added.
    pub fn number(&self) -> u64 {
        self.0
    }
}

/// Hashes a ground metric.
pub fn of_metric(metric: &GroundMetric) -> u64 {
    let mut mix = Mix::new();
    mix.word(metric.points() as u64);
    mix.word(u64::from(metric.is_metric()));
    if let (Some((dim, coordinates)), Some(point_metric)) =
        (metric.coordinates(), metric.point_metric())
    {
        mix.word(dim as u64);
        mix.text(&point_metric.to_string());
        if let Some(period) = metric.period() {
            mix.text(&format!("period {period}"));
        }
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
    mix.number()
}

/// Hashes a ground metric of one or several components.
pub fn of_components(components: &Components) -> u64 {
    if let Ok(metric) = components.whole() {
        return of_metric(metric);
    }
    let mut mix = Mix::new();
    mix.word(components.points() as u64);
    mix.word(components.len() as u64);
    for (from, to, length) in components.edges() {
        mix.word(u64::from(from) << 32 | u64::from(to));
        mix.word(length.to_bits());
    }
    mix.number()
}

/// Hashes a set of measures.
pub fn of_measures(measures: &Measures) -> u64 {
    let mut mix = Mix::new();
    mix.word(measures.points() as u64);
    for measure in measures.iter() {
        mix.word(measure.support().len() as u64);
        measure.support().iter().for_each(|&point| mix.word(point.into()));
        mix.numbers(measure.masses().iter().copied());
    }
    mix.number()
}

/// Hashes a tree and the names of its points.
pub fn of_tree(tree: &Tree) -> u64 {
    let mut mix = Mix::new();
    tree.parents().iter().for_each(|&parent| mix.word(parent.into()));
    mix.numbers(tree.lengths().iter().copied());
    tree.names().into_iter().flatten().for_each(|name| mix.text(name));
    mix.number()
}

#[cfg(test)]
mod tests {
    use treeport::PointMetric;

    use super::*;

    fn job(
        masses: [f64; 4],
        pairs: &[(usize, usize)],
        point_metric: PointMetric,
    ) -> JobFingerprint {
        let metric = GroundMetric::from_points(1, vec![0.0, 1.0], point_metric).unwrap();
        let measures = Measures::from_dense(2, &masses).unwrap();
        let mut listed = Mix::new();
        listed.pairs(pairs);
        JobFingerprint::new("test-1")
            .part("metric", of_metric(&metric))
            .part("measures", of_measures(&measures))
            .part("pairs", listed.number())
    }

    #[test]
    fn it_says_which_part_differs() {
        let masses = [0.5, 0.5, 1.0, 0.0];
        let mine = job(masses, &[(0, 1)], PointMetric::Euclidean);
        let differences = |other: &JobFingerprint| mine.differences(&other.to_string());
        assert_eq!(differences(&mine), "");
        let metric = job(masses, &[(0, 1)], PointMetric::Manhattan);
        assert_eq!(differences(&metric), "metric");
        let more = job([0.5, 0.5, 0.0, 1.0], &[(1, 0)], PointMetric::Euclidean);
        assert_eq!(differences(&more), "measures, pairs");
        assert_eq!(differences(&more.part("start", 1)), "measures, pairs, start");
        assert_eq!(mine.differences("test-1 version=0"), "version, metric, measures, pairs");
        assert!(mine.is_kind_of("test-1 version=0") && mine.is_kind_of("test-1"));
        assert!(!mine.is_kind_of("test-2") && !mine.is_kind_of("left,right,distance"));
    }

    #[test]
    fn every_kind_of_metric_and_every_name_counts() {
        let condensed = GroundMetric::from_condensed(2, vec![1.0]).unwrap();
        let single = GroundMetric::from_condensed_f32(2, vec![2.0]).unwrap();
        let graph = GroundMetric::from_edges(2, &[(0, 1, 1.0)]).unwrap();
        let points = GroundMetric::from_points(1, vec![0.0, 1.0], PointMetric::Euclidean).unwrap();
        let promised = condensed.clone().assume_metric().unwrap();
        let mut numbers: Vec<u64> =
            [&condensed, &single, &graph, &points, &promised].map(of_metric).to_vec();
        let tree = |text: &str| of_tree(&Tree::from_newick(text).unwrap());
        numbers.extend(["(a:1,b:1);", "(a:1,b:2);", "(ab:1,c:1);", "(a:1,bc:1);"].map(tree));
        let count = numbers.len();
        numbers.sort_unstable();
        numbers.dedup();
        assert_eq!(numbers.len(), count);
    }
}
