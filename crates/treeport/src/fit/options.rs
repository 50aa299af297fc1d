//! What can be chosen: one flat list, one seed; what is left open depends on the method.

use super::edges::EdgeOptions;
use super::method::Method;
use crate::build::{Linkage, PerturbedOptions, check_clusters, check_trees};
use crate::error::{Error, Result};
use crate::learn::{Checkpoint, Kind, LearnOptions, Loss, Schedule};
use crate::tree::Tree;

/// The tree that learning starts from, or how every tree of a forest is grown.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// A linkage of the ground metric.
    Linkage(Linkage),
    /// A tree over the same points.
    Tree(Tree),
}

/// Options of [`fit`](super::fit()). `None` leaves a choice to the method; an option that the
/// method cannot use is an error, not ignored.
#[derive(Clone, Debug, PartialEq)]
pub struct FitOptions {
    /// How the model is made (default: `auto`; without labels `additive`).
    ///
    /// From points alone `auto` finds the worse scale: for measures on 25 of 500 points in the
    /// plane it is 0.18 off where the learner alone is 0.09 off, and after one factor both are 0.10
    /// off.
    pub method: Option<Method>,
    /// Where learning starts; for the forests a linkage (default: average linkage, above 20,000
    /// points neighbors linkage: [`Linkage::usual`]).
    pub start: Option<Start>,
    /// Trees of a forest (default: 16, of a sliced method 3, as Yamada et al. have it).
    pub n_trees: Option<usize>,
    /// Pairs of points that are drawn: to learn from where there are no labels (default: 10,000),
    /// and to fit edges to (default: 100,000, of `auto` 200,000, of `learned-forest` 50,000 for
    /// every tree).
    pub point_pairs: Option<usize>,
    /// Passes over the training pairs (default: 50, of `auto` up to 200 where labels are many, of a
    /// learned forest 30; over pairs of points 10).
    pub epochs: Option<usize>,
    /// Pairs in one step (default: 20).
    pub batch_size: Option<usize>,
    /// Step size at the start, without unit (default: 0.5; 0.3 to 1 is the useful range).
    pub learning_rate: Option<f64>,
    /// How the step size falls (default: linearly).
    pub schedule: Option<Schedule>,
    /// Which errors count how much (default: relative ones).
    pub loss: Option<Loss>,
    /// Share of the labels that choose the best tree (default: 0.2 of `auto` and of a
    /// learned forest with labels, 0.1 of others).
    pub validation_fraction: Option<f64>,
    /// Stop after so many epochs without a better tree; 0 never stops early (default: 0).
    pub patience: Option<usize>,
    /// Clusters that a cluster is split into (default: 5, as Yamada et al. have it).
    pub branching: Option<usize>,
    /// Levels of a cluster tree (default: 6, as there).
    pub depth: Option<usize>,
    /// Whether labels set the scale (default: yes): of the start of learning, and of a method that
    /// does not learn, by one factor; of `forest` also how much each tree counts.
    pub scale: bool,
    /// Seed of all randomness (default: 0).
    pub seed: u64,
    /// Where an earlier run of `auto` or of one learned tree with the same arguments was (default:
    /// nowhere).
    pub resume: Option<Checkpoint>,
}

impl Default for FitOptions {
    fn default() -> Self {
        Self {
            method: None,
            start: None,
            n_trees: None,
            point_pairs: None,
            epochs: None,
            batch_size: None,
            learning_rate: None,
            schedule: None,
            loss: None,
            validation_fraction: None,
            patience: None,
            branching: None,
            depth: None,
            scale: true,
            seed: 0,
            resume: None,
        }
    }
}

impl FitOptions {
    /// Options of one method.
    pub fn of(method: Method) -> Self {
        Self { method: Some(method), ..Self::default() }
    }

    /// The method that is meant.
    pub fn method(&self, labels: bool) -> Method {
        let usual = if labels { Method::Auto } else { Method::Additive };
        self.method.unwrap_or(usual)
    }

    /// Checks all options, and that the method can use those that are given.
    ///
    /// Long work before a fit, such as solving its labels, calls this first.
    ///
    /// # Errors
    /// The first option that is out of range or of no use.
    pub fn check(&self, labels: bool) -> Result<()> {
        let method = self.method(labels);
        let takes = method.takes();
        let learning = [
            ("epochs", self.epochs.is_some()),
            ("batch_size", self.batch_size.is_some()),
            ("learning_rate", self.learning_rate.is_some()),
            ("schedule", self.schedule.is_some()),
            ("loss", self.loss.is_some()),
            ("validation_fraction", self.validation_fraction.is_some()),
            ("patience", self.patience.is_some()),
        ];
        let clusters = [("branching", self.branching.is_some()), ("depth", self.depth.is_some())];
        let unused = [
            (takes.start, &[("start", self.start.is_some())][..]),
            (takes.n_trees, &[("n_trees", self.n_trees.is_some())][..]),
            (takes.point_pairs, &[("point_pairs", self.point_pairs.is_some())][..]),
            (takes.learning, &learning),
            (takes.clusters, &clusters),
            (takes.resume, &[("resume", self.resume.is_some())][..]),
            (takes.scale, &[("scale", !self.scale)][..]),
        ];
        let unused = unused.iter().filter(|(taken, _)| !taken).flat_map(|(_, options)| *options);
        if let Some(&(option, _)) = unused.into_iter().find(|(_, given)| *given) {
            return Err(Error::UnusedOption { option, method: method.name() });
        }
        if takes.n_trees && matches!(self.start, Some(Start::Tree(_))) {
            return Err(Error::BadOption {
                option: "start",
                value: "a tree".into(),
                expected: "the trees of a forest are grown by a linkage",
            });
        }
        if self.n_trees == Some(0) {
            let (option, value) = ("n_trees", "0".into());
            return Err(Error::BadOption { option, value, expected: "at least one is needed" });
        }
        check_trees(self.n_trees.unwrap_or(1))?;
        if self.point_pairs == Some(0) {
            let (option, value) = ("point_pairs", "0".into());
            return Err(Error::BadOption { option, value, expected: "at least one is needed" });
        }
        check_clusters(self.branching(), self.depth())?;
        self.learn_options(method, labels).check()
    }

    /// The same without what the method cannot use, for a caller whose options have to suit every
    /// method.
    #[must_use]
    pub fn only_used(self, labels: bool) -> Self {
        fn some<T>(taken: bool, option: Option<T>) -> Option<T> {
            option.filter(|_| taken)
        }
        let takes = self.method(labels).takes();
        Self {
            start: some(takes.start, self.start),
            n_trees: some(takes.n_trees, self.n_trees),
            point_pairs: some(takes.point_pairs, self.point_pairs),
            epochs: some(takes.learning, self.epochs),
            batch_size: some(takes.learning, self.batch_size),
            learning_rate: some(takes.learning, self.learning_rate),
            schedule: some(takes.learning, self.schedule),
            loss: some(takes.learning, self.loss),
            validation_fraction: some(takes.learning, self.validation_fraction),
            patience: some(takes.learning, self.patience),
            branching: some(takes.clusters, self.branching),
            depth: some(takes.clusters, self.depth),
            resume: some(takes.resume, self.resume),
            scale: self.scale || !takes.scale,
            ..self
        }
    }

    /// How trees are learned.
    pub(crate) fn learn_options(&self, method: Method, labels: bool) -> LearnOptions {
        let defaults = LearnOptions::default();
        let epochs = match method {
            // Pairs of points are many, and each says little.
            _ if !labels => 10,
            Method::LearnedForest => 30,
            _ => defaults.epochs,
        };
        let auto = method == Method::Auto;
        let staged = auto || (labels && method == Method::LearnedForest);
        let validation = if staged { 0.2 } else { defaults.validation_fraction };
        LearnOptions {
            kind: method.kind().unwrap_or(Kind::Additive),
            epochs: self.epochs.unwrap_or(epochs),
            batch_size: self.batch_size.unwrap_or(defaults.batch_size),
            learning_rate: self.learning_rate.unwrap_or(defaults.learning_rate),
            schedule: self.schedule.unwrap_or(defaults.schedule),
            loss: self.loss.unwrap_or(defaults.loss),
            validation_fraction: self.validation_fraction.unwrap_or(validation),
            patience: self.patience.unwrap_or(defaults.patience),
            // All stages of `auto` are on the scale of the labels.
            scale: self.scale || auto,
            seed: self.seed,
        }
    }

    /// How edges are fitted. `auto` looks at more pairs and less closely: 300 iterations changed
    /// its errors by less than 2 %.
    pub(crate) fn edge_options(&self, method: Method) -> EdgeOptions {
        let defaults = EdgeOptions { seed: self.seed, ..EdgeOptions::default() };
        let rough = EdgeOptions { tolerance: 1e-5, max_iterations: 100, ..defaults.clone() };
        let usual = match method {
            Method::Auto => EdgeOptions { pairs: 200_000, ..rough },
            // For every one of its trees.
            Method::LearnedForest => EdgeOptions { pairs: 50_000, ..rough },
            _ => defaults,
        };
        EdgeOptions { pairs: self.point_pairs.unwrap_or(usual.pairs), ..usual }
    }

    /// How a forest is grown.
    pub(crate) fn perturbed_options(&self, points: usize) -> PerturbedOptions {
        let defaults = PerturbedOptions::default();
        let linkage = match self.start {
            Some(Start::Linkage(linkage)) => linkage,
            _ => Linkage::usual(points),
        };
        let n_trees = self.n_trees.unwrap_or(defaults.n_trees);
        PerturbedOptions { n_trees, linkage, seed: self.seed, ..defaults }
    }

    /// Pairs of points to learn from where there are no labels.
    pub(crate) fn point_pairs(&self) -> usize {
        self.point_pairs.unwrap_or(10_000)
    }

    /// Clusters that a cluster is split into.
    pub(crate) fn branching(&self) -> usize {
        self.branching.unwrap_or(5)
    }

    /// Levels of a cluster tree.
    pub(crate) fn depth(&self) -> usize {
        self.depth.unwrap_or(6)
    }

    /// Trees of a sliced method.
    pub(crate) fn slices(&self) -> usize {
        self.n_trees.unwrap_or(3)
    }

    /// The seed of one of several random trees.
    pub(crate) fn slice_seed(&self, k: usize) -> u64 {
        // Far apart, so that neighboring seeds share no slice.
        self.seed.wrapping_add((k as u64).wrapping_mul(0xD134_2543_DE82_EF95))
    }
}
