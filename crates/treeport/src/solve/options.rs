//! The options of exact transport, as one table.
//!
//! Python's docstrings, the help of `treeport exact`, errors and docs/SOLVE_OPTIONS.md read
//! [`SolveOption::ALL`]. In Rust they are [`Problem::with_mass`](super::Problem::with_mass),
//! [`Problem::with_penalty`](super::Problem::with_penalty),
//! [`Problem::with_order`](super::Problem::with_order) and the fields of [`Aim`](super::Aim).

use crate::accuracy::Question;
use crate::tools::option_range::OptionRange;

/// An option of exact transport: name, type, range, help, and the problems that support it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SolveOption {
    /// Name, a single word.
    pub name: &'static str,
    /// Type of the values.
    pub value_type: SolveOptionType,
    /// Description, without a final period.
    pub help: &'static str,
    /// Additional help for a single problem, or empty.
    pub of_one: &'static str,
    /// Additional help for calls with many problems, or empty.
    pub of_many: &'static str,
    /// Range of the values, as in errors.
    pub range: &'static str,
    /// Problems that support the option; others are errors.
    pub read_by: &'static str,
}

/// Type of the values of a [`SolveOption`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SolveOptionType {
    /// A number.
    Number,
    /// One price for all points, or a price for each point.
    Prices,
    /// `exact`, or a relative error.
    Accuracy,
    /// A time in seconds.
    Seconds,
    /// The name of a device.
    Device,
}

impl SolveOption {
    /// All options of exact transport.
    pub const ALL: &'static [Self] =
        &[Self::MASS, Self::PENALTY, Self::ORDER, Self::ACCURACY, Self::TIME, Self::DEVICE];

    /// The mass that is moved.
    pub const MASS: Self = Self {
        name: "mass",
        value_type: SolveOptionType::Number,
        help: "Partial transport: exactly this much mass is moved, where it is cheapest; the rest \
               costs nothing",
        of_one: "",
        of_many: "It is the same for every pair",
        range: "it must be at least 0 and at most the smaller of the totals",
        read_by: "problems on one metric or matrix, without `penalty`, `device` and potentials",
    };

    /// The price of mass that is not moved.
    pub const PENALTY: Self = Self {
        name: "penalty",
        value_type: SolveOptionType::Prices,
        help: "Unbalanced transport, totals may differ: each unit of mass that is not moved costs \
               this much, where it is taken away and where it is put back. With a metric this is \
               the flat metric (Kantorovich-Rubinstein): marginals penalized by total variation",
        of_one: "There is one price for all points, or one for each; where the points of both sides \
                 differ, one list for each side. Totals that differ by no more than their rounding \
                 count as equal, however high the penalty",
        of_many: "There is one price for all points, or one for each; for clouds the prices of one \
                  follow those of the one before. Clouds may have penalties of their own, as those \
                  of diagrams do",
        range: OptionRange::NOT_NEGATIVE.expected,
        read_by: "problems without `mass` and `device`",
    };

    /// The order of the distance.
    pub const ORDER: Self = Self {
        name: "order",
        value_type: SolveOptionType::Number,
        help: "Wasserstein distance of this order p: the p-th root of the cost of a plan whose unit \
               costs are distances to the power p; `inf` is the bottleneck distance, the longest \
               move of the plan. Penalties are raised to the power p, too",
        of_one: "Potentials are those of the p-th power of the value. With `inf` they are the \
                 proof that some mass has to move that far: dual values of the problem with cost 1 \
                 for every move of at least this length, and 0 for all others; and up to 2e-12 of \
                 all mass, which rounding may cause, is not counted",
        of_many: "",
        range: "it must be at least 1, or `inf` for the bottleneck distance",
        read_by: "problems without `device`",
    };

    /// The largest relative width of the bounds.
    pub const ACCURACY: Self = Self {
        name: "accuracy",
        value_type: SolveOptionType::Accuracy,
        help: "Certified bounds are enough, with upper ≤ (1 + accuracy) · lower: 0.01 for one \
               percent. They are found without solving the problem exactly where that is \
               possible; 0 and `exact` solve it",
        of_one: "",
        of_many: "",
        range: Question::Problem.expected(),
        read_by: "all problems",
    };

    /// The time after which the best bounds are the answer.
    pub const TIME: Self = Self {
        name: "time",
        value_type: SolveOptionType::Seconds,
        help: "Certified bounds are enough, the best within this time",
        of_one: "At 0 the lower bound is 0, and the upper bound the cost of the first plan at hand, \
                 unless the problem is on a graph",
        of_many: "It is shared by all pairs: each gets an equal share of the time that is left when \
                  it begins, so time that one pair does not use goes to later pairs",
        range: "it must be finite and at least 0",
        read_by: "all problems",
    };

    /// The device that searches all pairs of points.
    pub const DEVICE: Self = Self {
        name: "device",
        value_type: SolveOptionType::Device,
        help: "A GPU searches all pairs of points, with the same proof: `cuda`, or `cuda:1` and so \
               on; for tens of thousands of points and more",
        of_one: "",
        of_many: "Problems of up to 512 by 512 points do not use it",
        range: "it must be `cuda`, `cuda:1` and so on, or `tiles`, the same in NumPy for tests",
        read_by: "points with coordinates and every metric but haversine, without `period`, `mass` \
                  and `penalty`",
    };
}
