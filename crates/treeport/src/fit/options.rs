//! Table of the fit options; the default of many options depends on the method.
//!
//! A new option is an entry of `fit_options!` below, whose value the method reads by
//! `chosen::NAME.of(…)`, and in Python also a line of the signature of `TreeWasserstein`. The
//! command line, Python, errors and docs/FIT_OPTIONS.md are generated from [`FitOption::ALL`].

use super::edges::EdgeOptions;
use super::method::Method;
use super::option::Case::{Always, Of, WithLabels, WithoutLabels};
use super::option::{Chosen, FitOption, Group, OfLabels, OptionType, Scale, Seed, UnreadOption};
use crate::build::{BRANCHING, DEPTH, Linkage, N_TREES, PerturbedOptions};
use crate::error::{Error, Result};
use crate::labeled::DEFAULT_PAIRS;
use crate::learn::{
    BATCH_SIZE, Checkpoint, Kind, LEARNING_RATE, LearnOptions, Loss, Schedule, VALIDATION_FRACTION,
};
use crate::metric::GroundMetric;
use crate::tools::option_range::OptionRange;
use crate::tree::Tree;

/// Start of learning, or the linkage of every tree of a forest.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Start {
    /// A linkage of the ground metric.
    Linkage(Linkage),
    /// A tree over the same points.
    Tree(Tree),
}

/// Defines for each entry a row of [`FitOption::ALL`] and, except for the last kind, a field of
/// [`FitOptions`]. `chosen` entries are `None` by default; `plain` entries always have a value;
/// `of_labels` entries are read by a front end before there is anything to fit.
macro_rules! fit_options {
    (
        chosen { $($name:ident: $type:ty {
            group: $group:ident,
            $(alias: $alias:literal,)?
            read_by: $read_by:expr,
            $(range: $range:expr,)?
            default: $default:expr,
            $(rule: $rule:literal,)?
            help: $help:literal,
        })+ }
        plain { $($plain:ident: $plain_type:ty = $value:expr, $field:expr, {
            group: $plain_group:ident,
            read_by: $plain_read_by:expr,
            help: $plain_help:literal,
        })+ }
        of_labels { $($of_labels:ident: $of_labels_field:expr, {
            help: $of_labels_help:literal,
        })+ }
    ) => {
        /// Options of [`fit`](super::fit()). `None` stands for the method's
        /// [default](FitOption::default). Setting an option that the method does not read is an
        /// error.
        #[derive(Clone, Debug, PartialEq)]
        pub struct FitOptions {
            $(#[doc = $help] pub $name: Option<$type>,)+
            $(#[doc = $plain_help] pub $plain: $plain_type,)+
            /// Checkpoint of an earlier run of one learned tree or `auto` with the same arguments.
            pub resume: Option<Checkpoint>,
        }

        impl Default for FitOptions {
            fn default() -> Self {
                Self { $($name: None,)+ $($plain: $value,)+ resume: None }
            }
        }

        /// Options whose default depends on the method.
        #[expect(non_upper_case_globals, reason = "they have the names of the fields")]
        mod chosen {
            use super::*;

            $(pub(super) const $name: Chosen<$type> = Chosen {
                get: |options| &options.$name,
                get_mut: |options| &mut options.$name,
                default: $default,
                rule: [$($rule,)? ""][0],
                range: [$(Some($range),)? None][0],
            };)+
        }

        impl FitOption {
            /// All options of a fit.
            pub const ALL: &'static [Self] = &[
                $(Self {
                    name: stringify!($name),
                    group: Group::$group,
                    alias: [$(Some($alias),)? None][0],
                    help: $help,
                    read_by: $read_by,
                    field: &chosen::$name,
                },)+
                $(Self {
                    name: stringify!($plain),
                    group: Group::$plain_group,
                    alias: None,
                    help: $plain_help,
                    read_by: $plain_read_by,
                    field: &$field,
                },)+
                $(Self {
                    name: stringify!($of_labels),
                    group: Group::Labels,
                    alias: None,
                    help: $of_labels_help,
                    read_by: |_| true,
                    field: &$of_labels_field,
                },)+
            ];
        }
    };
}

const SLICED: &[Method] =
    &[Method::SlicedQuadtree, Method::SlicedCluster, Method::SlicedQTwd, Method::SlicedCTwd];

fit_options! {
chosen {
    method: Method {
        group: Method,
        alias: "kind",
        read_by: |_| true,
        default: &[(WithoutLabels, Method::Additive), (Always, Method::Auto)],
        help: "How the model is made",
    }
    start: Start {
        group: Method,
        read_by: |supports| supports.start,
        default: &[],
        rule: "average; above 20,000 points neighbors, which needs no distance matrix; for forests above 5,000",
        help: "The first tree: a linkage of the points, or a tree over them; for a forest, the linkage of \
               every tree. Try `single` if all points are about equally far apart, as cells are",
    }
    n_trees: usize {
        group: Method,
        alias: "trees",
        read_by: |supports| supports.n_trees,
        range: N_TREES,
        // Sliced methods: as in Yamada et al.
        default: &[(Of(SLICED), 3), (Of(&[Method::Slices]), 8), (Always, PerturbedOptions::DEFAULT.n_trees)],
        help: "Number of trees, for methods that make several",
    }
    point_pairs: usize {
        group: Method,
        read_by: |supports| supports.point_pairs,
        range: OptionRange::at_least(1.0, "at least one is needed"),
        default: &[
            (Of(&[Method::Auto, Method::Tree]), 200_000),
            // For each of its trees.
            (Of(&[Method::LearnedForest]), 50_000),
            (Always, EdgeOptions::DEFAULT.pairs),
        ],
        rule: "10,000 to learn from without labels",
        help: "Number of random pairs of points to which edges are fitted (for each tree of a forest), and \
               from which a tree learns without labels",
    }
    branching: usize {
        group: Method,
        read_by: |supports| supports.clusters,
        range: BRANCHING,
        // Branching and depth: as in Yamada et al.
        default: &[(Always, 5)],
        help: "Number of clusters into which a cluster is split",
    }
    depth: usize {
        group: Method,
        read_by: |supports| supports.clusters,
        range: DEPTH,
        default: &[(Always, 6)],
        help: "Number of levels of a cluster tree",
    }
    epochs: usize {
        group: Learning,
        read_by: |supports| supports.learning,
        default: &[
            // There are many pairs of points, each with little information.
            (WithoutLabels, 10),
            (Of(&[Method::LearnedForest]), 30),
            (Always, LearnOptions::DEFAULT.epochs),
        ],
        rule: "one for every 10 labels for `auto` and `tree`, but at least 50 and at most 200, and nearer to 50 where points are many",
        help: "Passes over the pairs while learning; 0 skips learning",
    }
    batch_size: usize {
        group: Learning,
        alias: "batch",
        read_by: |supports| supports.learning,
        range: BATCH_SIZE,
        default: &[(Always, LearnOptions::DEFAULT.batch_size)],
        help: "Pairs in one step",
    }
    learning_rate: f64 {
        group: Learning,
        alias: "rate",
        read_by: |supports| supports.learning,
        range: LEARNING_RATE,
        default: &[(Always, LearnOptions::DEFAULT.learning_rate)],
        help: "Initial step size, without a unit; 0.3 to 1 is the useful range",
    }
    schedule: Schedule {
        group: Learning,
        read_by: |supports| supports.learning,
        default: &[(Always, LearnOptions::DEFAULT.schedule)],
        help: "How the step size decreases",
    }
    loss: Loss {
        group: Learning,
        read_by: |supports| supports.learning,
        default: &[(Always, LearnOptions::DEFAULT.loss)],
        help: "How errors are weighted",
    }
    validation_fraction: f64 {
        group: Learning,
        alias: "validation",
        read_by: |supports| supports.learning,
        range: VALIDATION_FRACTION,
        default: &[
            (Of(&[Method::Auto, Method::Tree]), 0.2),
            (WithLabels(&[Method::LearnedForest]), 0.2),
            (Always, LearnOptions::DEFAULT.validation_fraction),
        ],
        help: "Share of the pairs that is held out to choose the best tree",
    }
    patience: usize {
        group: Learning,
        read_by: |supports| supports.learning,
        default: &[(Always, LearnOptions::DEFAULT.patience)],
        help: "Stop after this many epochs without a better tree; 0 never stops early",
    }
}
plain {
    scale: bool = true, Scale, {
        group: Method,
        read_by: |supports| supports.scale,
        help: "Whether labels set the scale: of the first tree before it learns, and, by one factor, of a \
               method that does not learn; for `forest` they also set the weights of its trees. With false, \
               learning continues from a given tree as it is",
    }
    seed: u64 = 0, Seed, {
        group: Labels,
        read_by: |_| true,
        help: "Seed of all randomness: the same seed gives the same result",
    }
}
of_labels {
    n_pairs: OfLabels {
        value_type: OptionType::Whole,
        default: || DEFAULT_PAIRS.to_string(),
        range: OptionRange::at_least(1.0, "at least one is needed"),
    }, {
        help: "Number of random pairs of measures to solve exactly and learn from; all pairs if there are \
               fewer",
    }
    budget: OfLabels {
        value_type: OptionType::Seconds,
        default: || "none".into(),
        range: OptionRange::above(0.0, "it is a time above 0"),
    }, {
        help: "In place of a number of pairs: solve as many as fit into about this time, at most 10,000. The \
               model says how many there were; that number of pairs gives the same model anywhere. Learning \
               takes additional time",
    }
}
}

impl FitOption {
    /// Finds an option by name.
    pub fn find(name: &str) -> Result<&'static Self> {
        Self::ALL.iter().find(|option| option.name == name).ok_or_else(|| Error::UnknownName {
            what: "the option",
            name: name.into(),
            known: Self::ALL.iter().map(|option| option.name).collect::<Vec<_>>().join(", "),
        })
    }
}

impl FitOptions {
    /// Creates options for a method.
    pub fn of(method: Method) -> Self {
        Self { method: Some(method), ..Self::default() }
    }

    /// Returns the method that is set, or the default.
    pub fn method(&self, labels: bool) -> Method {
        chosen::method.of(self, Method::Auto, labels)
    }

    /// Returns the options that are set but that the method does not read.
    pub fn unread(&self, labels: bool) -> Vec<UnreadOption> {
        let method = self.method(labels);
        let unread = |option: &&FitOption| !option.is_read_by(method) && option.field.is_set(self);
        FitOption::ALL.iter().filter(unread).map(|option| UnreadOption { option, method }).collect()
    }

    /// Checks all options, and that the method reads those that are set.
    ///
    /// Long work before a fit, such as solving its labels, should call this first.
    pub fn check(&self, labels: bool) -> Result<()> {
        let method = self.method(labels);
        let unread = self.unread(labels).first().map(|unread| unread.option.name);
        let resume = (self.resume.is_some() && !method.supports().resume).then_some("resume");
        if let Some(option) = unread.or(resume) {
            return Err(Error::UnusedOption { option, method: method.name() });
        }
        if method.supports().n_trees && matches!(self.start, Some(Start::Tree(_))) {
            return Err(Error::BadOption {
                option: "start",
                value: "a tree".into(),
                expected: "the trees of a forest are grown by a linkage",
            });
        }
        FitOption::ALL.iter().try_for_each(|option| option.field.check(option.name, self))
    }

    /// Checks all options ([`check`](Self::check)), and that the ground metric and labels meet the
    /// method's requirements.
    ///
    /// # Errors
    /// Missing coordinates or labels that the method requires; a start over other points; see also
    /// [`check`](Self::check).
    pub fn check_for(&self, metric: &GroundMetric, labels: bool) -> Result<()> {
        self.check(labels)?;
        let method = self.method(labels);
        if method.supports().coordinates && metric.coordinates().is_none() {
            return Err(Error::NoCoordinates { method: method.name() });
        }
        if method.supports().labels && !labels {
            let what = format!("{method} requires exact distances and there are none");
            return Err(Error::NothingToLearn { what });
        }
        match &self.start {
            Some(Start::Tree(tree)) if tree.leaves() != metric.points() => Err(Error::BadOption {
                option: "start",
                value: format!("a tree over {} points", tree.leaves()),
                expected: "it must have the points of the ground metric",
            }),
            _ => Ok(()),
        }
    }

    /// Resets the options that the method does not read, for runs in which several methods share
    /// options.
    #[must_use]
    pub fn only_read(mut self, labels: bool) -> Self {
        let method = self.method(labels);
        for option in FitOption::ALL.iter().filter(|option| !option.is_read_by(method)) {
            option.field.clear(&mut self);
        }
        self.resume = self.resume.filter(|_| method.supports().resume);
        self
    }

    /// Returns the options of the learner.
    pub(crate) fn learn_options(&self, method: Method, labels: bool) -> LearnOptions {
        LearnOptions {
            kind: method.kind().unwrap_or(Kind::Additive),
            epochs: chosen::epochs.of(self, method, labels),
            batch_size: chosen::batch_size.of(self, method, labels),
            learning_rate: chosen::learning_rate.of(self, method, labels),
            schedule: chosen::schedule.of(self, method, labels),
            loss: chosen::loss.of(self, method, labels),
            validation_fraction: chosen::validation_fraction.of(self, method, labels),
            patience: chosen::patience.of(self, method, labels),
            // All stages of `auto` and `tree` use the scale of the labels.
            scale: self.scale || method.has_stages(),
            seed: self.seed,
        }
    }

    /// Returns the options of edge fits; 300 iterations change errors of `tree` by less than 2 %.
    pub(crate) fn edge_options(&self, method: Method) -> EdgeOptions {
        let pairs = chosen::point_pairs.of(self, method, true);
        let options = EdgeOptions { pairs, seed: self.seed, ..EdgeOptions::DEFAULT };
        match method {
            Method::Auto | Method::Tree | Method::LearnedForest => {
                EdgeOptions { tolerance: 1e-5, max_iterations: 100, ..options }
            }
            _ => options,
        }
    }

    /// Returns the options of perturbed forests.
    pub(crate) fn perturbed_options(&self, points: usize) -> PerturbedOptions {
        let linkage = match self.start {
            Some(Start::Linkage(linkage)) => linkage,
            _ => Linkage::usual_of_forest(points),
        };
        let n_trees = chosen::n_trees.of(self, Method::Forest, true);
        PerturbedOptions { n_trees, linkage, seed: self.seed, ..PerturbedOptions::DEFAULT }
    }

    /// Returns the number of pairs of points to learn from without labels.
    pub(crate) fn point_pairs(&self) -> usize {
        self.point_pairs.unwrap_or(POINTS_TO_LEARN)
    }

    /// Returns the number of parts of a cluster and the levels of a cluster tree.
    pub(crate) fn branching_and_depth(&self, method: Method) -> (usize, usize) {
        (chosen::branching.of(self, method, true), chosen::depth.of(self, method, true))
    }

    /// Returns the number of trees of a sliced method.
    pub(crate) fn slices(&self, method: Method) -> usize {
        chosen::n_trees.of(self, method, true)
    }

    /// Returns the seed of one of several random trees.
    pub(crate) fn slice_seed(&self, k: usize) -> u64 {
        // Far apart, so that neighboring seeds share no slice.
        self.seed.wrapping_add((k as u64).wrapping_mul(0xD134_2543_DE82_EF95))
    }
}

/// Number of pairs of points to learn from without labels.
const POINTS_TO_LEARN: usize = 10_000;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::job::AUTO_EPOCHS;
    use crate::fit::option::Value;
    use crate::labeled::MOST_PAIRS;

    #[test]
    fn rules_in_words_have_the_numbers_of_the_code() {
        let says = |name: &str| {
            let option = FitOption::find(name).unwrap();
            format!("{}; {}", option.default(), option.help)
        };
        let most = Linkage::MOST_FOR_AVERAGE;
        let (few, many) = (Linkage::usual(most), Linkage::usual(most + 1));
        assert!(says("start").starts_with(&format!("{few}; above {} points {many},", most.show())));
        let most = Linkage::MOST_FOR_AVERAGE_FOREST;
        assert!(says("start").contains(&format!("for forests above {};", most.show())));
        assert_eq!(Linkage::usual_of_forest(most + 1), many);
        let (least, most) = (AUTO_EPOCHS.start(), AUTO_EPOCHS.end());
        assert!(says("epochs").contains(&format!("at least {least} and at most {most},")));
        assert_eq!(*least, chosen::epochs.of(&FitOptions::default(), Method::Auto, true));
        let points = format!("{} to learn from without labels", POINTS_TO_LEARN.show());
        assert!(says("point_pairs").contains(&points));
        assert!(says("budget").contains(&format!("at most {}.", MOST_PAIRS.show())));
    }

    #[test]
    fn defaults_in_words_begin_with_the_usual_one() {
        let default = |name: &str| FitOption::find(name).unwrap().default();
        assert_eq!(
            default("validation_fraction"),
            "0.1; 0.2 for `auto`, `tree`; 0.2 for `learned-forest` with labels"
        );
        assert_eq!(default("method"), "auto; additive without labels");
        assert!(default("n_trees").starts_with("16; 3 for `sliced-quadtree`, `sliced-cluster`, "));
        assert_eq!((default("scale"), default("seed")), ("true".into(), "0".into()));
    }
}
