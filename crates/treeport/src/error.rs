//! The error type of the crate.

use std::io;
use std::path::{Path, PathBuf};

use crate::memory::show;

/// Result of the fallible functions of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of any operation: what failed, where, and how to fix it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each field means")]
pub enum Error {
    #[error("there are no points; a ground metric needs at least one")]
    NoPoints,
    #[error("{count} points are too many; at most {max} fit")]
    TooManyPoints { count: usize, max: usize },
    #[error("{what} has shape {found}, expected {expected}")]
    Shape { what: String, expected: String, found: String },
    #[error(
        "coordinate {axis} of point {point} is {}; coordinates must be finite",
        show_number(*value)
    )]
    BadCoordinate { point: usize, axis: usize, value: f64 },
    #[error(
        "point {point} has {what} {}; haversine takes latitude (-90 to 90) and longitude (-180 to 360) in degrees, in this order",
        show_number(*value)
    )]
    BadDegrees { point: usize, what: &'static str, value: f64 },
    #[error(
        "point {point} has length 0, so its cosine distance is undefined; drop it or use another metric"
    )]
    ZeroVector { point: usize },
    // Messages end with their cause; as a `source`, a chain of errors would repeat it.
    #[error("of the points of the second measure: {cause}")]
    RightPoints { cause: Box<Error> },
    /// Error in the points or masses of one cloud; `point` of its cause is relative to the cloud.
    #[error("cloud {}: {cause}", cloud_name(name.as_deref(), *cloud))]
    Cloud { cloud: usize, name: Option<String>, cause: Box<Error> },
    #[error("point {point} has mass {}; masses must be finite and at least 0", show_number(*value))]
    BadPointMass { point: usize, value: f64 },
    #[error("it has no mass; drop it or give it a positive entry")]
    EmptyCloud,
    #[error(
        "clouds {left} and {right} have total mass {} and {}; transport needs equal masses, so divide each by its total first",
        show_number(*left_total), show_number(*right_total)
    )]
    UnbalancedClouds { left: String, right: String, left_total: f64, right_total: f64 },
    #[error(
        "distance from point {from} to point {to} is {}; distances must be finite and at least 0",
        show_number(*value)
    )]
    BadDistance { from: usize, to: usize, value: f64 },
    #[error(
        "a new point is {} away from point {to}; distances must be finite and at least 0",
        show_number(*value)
    )]
    BadNewDistance { to: usize, value: f64 },
    #[error(
        "distance from point {from} to point {to} is {} but {} the other way; a ground metric is symmetric",
        show_number(*forth), show_number(*back)
    )]
    Asymmetric { from: usize, to: usize, forth: f64, back: f64 },
    #[error("distance from point {point} to itself is {}, expected 0", show_number(*value))]
    BadDiagonal { point: usize, value: f64 },
    #[error(
        "edge {edge} joins {source_node} and {target_node} with weight {}; weights must be finite and at least 0",
        show_number(*weight)
    )]
    BadWeight { edge: usize, source_node: usize, target_node: usize, weight: f64 },
    #[error("edge {edge} names node {node}, but there are {nodes} nodes, numbered from 0")]
    BadNode { edge: usize, node: usize, nodes: usize },
    #[error(
        "the graph falls into {components} components (node {node} cannot be reached from node 0); keep the largest component, or join them by edges; only exact distances and plans support disconnected graphs"
    )]
    Disconnected { components: usize, node: usize },
    #[error("{}", unbalanced_component(&node.to_string(), [*left, *right], [*left_mass, *right_mass]))]
    UnbalancedComponent { left: usize, right: usize, node: usize, left_mass: f64, right_mass: f64 },

    #[error("{}", bad_mass(&number("measure", *measure), *value, &number("point", *point), ""))]
    BadMass { measure: usize, point: usize, value: f64 },
    #[error(
        "the penalty of point {point} is {}; penalties must be finite and at least 0",
        show_number(*value)
    )]
    BadPenalty { point: usize, value: f64 },
    #[error(
        "the plan moves {} from point {from} to point {to}; masses must be finite and at least 0",
        show_number(*value)
    )]
    BadMove { from: usize, to: usize, value: f64 },
    #[error(
        "the plan moves mass from point {from} to point {to}, but there are {left} and {right} points, numbered from 0"
    )]
    MoveOutOfRange { from: usize, to: usize, left: usize, right: usize },
    #[error(
        "the potential of point {point} of measure {measure} is {}; potentials of points with mass must be finite",
        show_number(*value)
    )]
    BadPotential { measure: usize, point: usize, value: f64 },
    #[error(
        "some of the clouds have penalties of their own, and others have none or those of another metric; give all of them the same kind"
    )]
    MixedPenalties,
    #[error(
        "the penalties of these clouds are distances by the metric {made}, and this call uses {asked}; use {made}, or make the clouds for {asked}"
    )]
    OtherPenalties { made: String, asked: String },
    #[error(
        "cloud {cloud} has a point that never dies (an essential class), and only exact distances of pairs match these; leave such points out, or let them die where the filtration ends"
    )]
    EssentialClass { cloud: String },
    #[error(
        "point {point} dies at {}, before it is born at {}; rows are (birth, death)",
        show_number(*death), show_number(*birth)
    )]
    DiesUnborn { point: usize, birth: f64, death: f64 },
    #[error("{}", no_mass(&number("measure", *measure), ""))]
    NoMass { measure: usize },
    #[error(
        "measure {measure} puts mass on point {point}, but there are {points} points, numbered from 0"
    )]
    PointOutOfRange { measure: usize, point: usize, points: usize },
    #[error("there is no measure {measure}: the set holds {measures}, numbered from 0")]
    NoSuchMeasure { measure: usize, measures: usize },
    #[error("measure {measure} was removed before, or is listed twice")]
    RemovedMeasure { measure: usize },
    #[error("no measure is called `{name}`")]
    NoMeasureCalled { name: String },
    #[error("two measures would be called `{name}`; remove the existing one, or rename the other")]
    MeasureNamedTwice { name: String },
    #[error(
        "part {part} of the collection, counted from 0, has another ground metric or penalty than the first; build all parts on the same points"
    )]
    OtherGroundMetric { part: usize },
    #[error(
        "cloud {cloud} has a coordinate of {value:e}, so far from others that squared distances overflow; divide all coordinates by a large number first"
    )]
    FarCloud { cloud: String, value: f64 },
    #[error("the index holds clouds, which bring their own points; give clouds, too")]
    CloudsWanted,
    #[error(
        "the index holds measures on shared points; give masses on these, or build an index of clouds"
    )]
    SharedPointsWanted,
    #[error("the measures of the index have names; name those that are added, too")]
    UnnamedMeasures,
    #[error(
        "measures {left} and {right} have total mass {} and {}; transport needs equal masses, so divide each by its total first",
        show_number(*left_total), show_number(*right_total)
    )]
    Unbalanced { left: usize, right: usize, left_total: f64, right_total: f64 },
    #[error("the measures live on {measures} points, the tree or metric on {points}")]
    PointCount { measures: usize, points: usize },

    #[error("not a tree: {reason}")]
    BadTree { reason: String },
    #[error("not a forest: {reason}")]
    BadForest { reason: String },
    #[error(
        "{method} needs coordinates, and this ground metric is a matrix or a graph; take a method that needs distances only, such as cluster or ctwd"
    )]
    NoCoordinates { method: &'static str },
    #[error(
        "the distances are promised to obey the triangle inequality, but d({i},{j}) = {} is more than d({i},{k}) + d({k},{j}) = {}; leave the promise out, or give shortest paths in their place",
        show_number(*direct), show_number(*around)
    )]
    NotMetric { i: usize, j: usize, k: usize, direct: f64, around: f64 },
    #[error(
        "the tree is not ultrametric: leaf {near} is {} from the root, leaf {far} is {}; a linkage matrix needs equal distances",
        show_number(*near_distance), show_number(*far_distance)
    )]
    UnevenTree { near: usize, near_distance: f64, far: usize, far_distance: f64 },
    #[error("{}", unrooted_tree(*children, "unrooted"))]
    Unrooted { children: usize },
    #[error("the edge above {above} has no length; write 0 where that is meant")]
    NoLength { above: String },
    #[error(
        "the edges of the tree have no lengths, so that all distances would be 0; UniFrac needs them"
    )]
    NoLengths,
    #[error("{names} names for {points} points")]
    NameCount { names: usize, points: usize },
    #[error("the names do not match: {reason}")]
    UnmatchedNames { reason: String },
    #[error(
        "the names do not match: {reason}; rows are called as points are: the table has points in rows, so read it transposed"
    )]
    TransposedNames { reason: String },
    #[error("{}; give every point one, of zeros where it has no mass", without_column(*missing, *points, example))]
    MissingColumns { missing: usize, points: usize, example: String },

    #[error(
        "pair {label} (measures {left} and {right}) has distance {}; distances must be finite and at least 0",
        show_number(*value)
    )]
    BadLabel { label: usize, left: usize, right: usize, value: f64 },
    #[error("there are no documents")]
    NoDocuments,
    #[error(
        "{without} of {documents} documents have no word with a vector, such as document {id}, `{beginning}`; leave them out, or give more vectors"
    )]
    NoKnownWord { without: usize, documents: usize, id: String, beginning: Box<str> },
    #[error("{what}: there is nothing to learn from")]
    NothingToLearn { what: String },
    #[error("{}", bad_option(option, value, expected))]
    BadOption { option: &'static str, value: String, expected: &'static str },
    #[error("{what} is `{name}`; it must be {known}")]
    UnknownName { what: &'static str, name: String, known: String },
    #[error("{}", unused_option(option, method))]
    UnusedOption { option: &'static str, method: &'static str },
    #[error(
        "exact transport between {left} and {right} points could not be proved optimal; masses or costs probably differ by too many orders of magnitude, so leave out the smallest masses or the farthest points"
    )]
    Unsolved { left: usize, right: usize },
    #[error(
        "costs of up to {cost:e} times a total mass of {mass:e} overflow (the largest number is 1.8e308); divide the costs or the masses by a large number first, and multiply the result by it"
    )]
    Overflow { cost: f64, mass: f64 },
    #[error(
        "entropic transport between measures {left} and {right} misses its marginals by {violation:.1e} of the mass after {iterations} iterations, more than the tolerance {tolerance:.1e}; raise `max_iterations`, `epsilon` or `tolerance`"
    )]
    NotConverged { left: usize, right: usize, violation: f64, tolerance: f64, iterations: usize },
    #[error("stopped before it was done")]
    Canceled,
    /// An allocation that grows faster than the input does not fit. `available` is the available
    /// memory, if the system reports it.
    #[error("{step} needs {}, {}; {instead}", show(*bytes), shortage(*available))]
    Memory { step: String, bytes: u64, available: Option<u64>, instead: &'static str },

    #[error("cannot tell its format; name it {known}")]
    UnknownFormat { known: String },
    #[error("{what} must be in a {known} file")]
    WrongFormat { what: &'static str, known: String },
    /// A format that only the Python package reads.
    #[error("{format}: {instead}")]
    ForeignFormat { format: &'static str, instead: &'static str },
    /// A text or binary file that does not parse; `place` is, for example, `line 3` or `byte 17`.
    #[error("{format}, {place}: {reason}")]
    Parse { format: &'static str, place: String, reason: String },
    #[error("cannot read `{}`: {}", shown(path), without_number(cause))]
    Read { path: PathBuf, cause: io::Error },
    #[error("cannot write `{}`: {}", shown(path), without_number(cause))]
    Write { path: PathBuf, cause: io::Error },
    #[error("`{}` is not a treeport tree: {reason}", shown(path))]
    NotATree { path: PathBuf, reason: String },
    #[error("`{}` is not a treeport forest: {reason}", shown(path))]
    NotAForest { path: PathBuf, reason: String },
    #[error("`{}` is not a treeport index: {reason}", shown(path))]
    NotAnIndex { path: PathBuf, reason: String },
    #[error("`{}` is not a treeport model of clouds: {reason}", shown(path))]
    NotASpace { path: PathBuf, reason: String },
    #[error("`{}` is damaged: {reason}; copy it again or write it anew", shown(path))]
    DamagedTree { path: PathBuf, reason: String },
    #[error(
        "`{}`: this treeport reads version {known}, the file has version {found}; upgrade treeport",
        shown(path)
    )]
    NewerTree { path: PathBuf, known: u64, found: u64 },
}

/// Names that a front end uses in messages for options, nodes, measures and points.
pub trait Wording {
    /// Returns the name of an option of the library, such as `n_trees`.
    fn option(&self, name: &str) -> String {
        name.to_owned()
    }

    /// Returns the name of a node of a graph.
    fn node(&self, node: usize) -> String {
        node.to_string()
    }

    /// Returns the ID of a measure, if it has one.
    fn measure(&self, _measure: usize) -> Option<String> {
        None
    }

    /// Returns the name of a point, if it has one.
    fn point(&self, _point: usize) -> Option<String> {
        None
    }
}

impl Error {
    /// Returns the message with the names of a front end for options, nodes, measures and points.
    ///
    /// # Example
    /// ```
    /// use treeport::{Error, Wording};
    ///
    /// struct Flags;
    /// impl Wording for Flags {
    ///     fn option(&self, name: &str) -> String {
    ///         format!("`--{}`", name.replace('_', "-"))
    ///     }
    /// }
    /// let error = Error::BadOption { option: "n_trees", value: "0".into(), expected: "one is needed" };
    /// assert_eq!(error.to_string(), "n_trees is 0; one is needed");
    /// assert_eq!(error.said(&Flags), "`--n-trees` is 0; one is needed");
    /// ```
    pub fn said(&self, words: &impl Wording) -> String {
        match self {
            Self::BadOption { option, value, expected } => {
                bad_option(&words.option(option), value, expected)
            }
            Self::Unrooted { children } => unrooted_tree(*children, &words.option("unrooted")),
            Self::UnusedOption { option, method } => unused_option(&words.option(option), method),
            Self::UnbalancedComponent { left, right, node, left_mass, right_mass } => {
                let masses = [*left_mass, *right_mass];
                unbalanced_component(&words.node(*node), [*left, *right], masses)
            }
            Self::BadMass { measure, point, value } => {
                let (by_id, by_name) = (words.measure(*measure), words.point(*point));
                let (of, at) = (number("measure", *measure), number("point", *point));
                let known = [by_id.as_ref().map(|_| &*of), by_name.as_ref().map(|_| &*at)];
                let numbers = also(&known.into_iter().flatten().collect::<Vec<_>>());
                bad_mass(
                    by_id.as_ref().unwrap_or(&of),
                    *value,
                    by_name.as_ref().unwrap_or(&at),
                    &numbers,
                )
            }
            Self::NoMass { measure } => match words.measure(*measure) {
                Some(id) => no_mass(&id, &also(&[&number("measure", *measure)])),
                None => self.to_string(),
            },
            _ => self.to_string(),
        }
    }

    /// Wraps the error of reading a file; an [`Error`] inside `cause` is returned as it is.
    pub fn read(path: impl Into<PathBuf>, cause: io::Error) -> Self {
        cause.downcast().unwrap_or_else(|cause| Self::Read { path: path.into(), cause })
    }

    /// Wraps the error of writing a file.
    pub fn write(path: impl Into<PathBuf>, cause: io::Error) -> Self {
        Self::Write { path: path.into(), cause }
    }
}

fn bad_option(option: &str, value: &str, expected: &str) -> String {
    format!("{option} is {value}; {expected}")
}

/// Returns the name of a cloud, or its number if it has none.
pub(crate) fn cloud_name(name: Option<&str>, number: usize) -> String {
    name.map_or_else(|| number.to_string(), str::to_owned)
}

fn number(what: &str, number: usize) -> String {
    format!("{what} {number}")
}

/// Formats numbers beside names: ` (measure 3, point 44)`.
fn also(numbers: &[&str]) -> String {
    if numbers.is_empty() { String::new() } else { format!(" ({})", numbers.join(", ")) }
}

fn bad_mass(measure: &str, value: f64, point: &str, numbers: &str) -> String {
    let value = show_number(value);
    format!("{measure} has mass {value} at {point}{numbers}; masses must be finite and at least 0")
}

fn no_mass(measure: &str, numbers: &str) -> String {
    format!("{measure} has no mass{numbers}; drop the row or give it a positive entry")
}

fn unrooted_tree(children: usize, option: &str) -> String {
    format!(
        "the root has {children} children, as an unrooted tree has, and UniFrac depends on where the root is; root \
         the tree, at an outgroup or at its midpoint, or take it as it is ({option})"
    )
}

fn unused_option(option: &str, method: &str) -> String {
    format!("{option} is of no use to {method}; leave it out or take another method")
}

fn unbalanced_component(node: &str, [left, right]: [usize; 2], masses: [f64; 2]) -> String {
    let [left_mass, right_mass] = masses.map(show_number);
    format!(
        "measures {left} and {right} have mass {left_mass} and {right_mass} in the component of \
         node {node}, and no path leads out of it; make them equal there, or join the components by edges"
    )
}

/// Returns a path on one line: control characters are escaped.
pub fn shown(path: &Path) -> String {
    let escaped = |c: char| if c.is_control() { c.escape_default().to_string() } else { c.into() };
    path.display().to_string().chars().map(escaped).collect()
}

/// Describes how many points have no column, with an example.
pub(crate) fn without_column(missing: usize, points: usize, example: &str) -> String {
    let have = if missing == 1 { "has" } else { "have" };
    format!("{missing} of {points} points {have} no column, such as `{example}`")
}

/// Returns the system's message without its error number.
pub fn without_number(cause: &io::Error) -> String {
    let text = cause.to_string();
    let number = cause.raw_os_error().map(|number| format!(" (os error {number})"));
    number.and_then(|number| text.strip_suffix(&number)).unwrap_or(&text).to_owned()
}

/// Describes how much memory is available.
fn shortage(available: Option<u64>) -> String {
    match available {
        Some(bytes) => format!("and {} are available", show(bytes)),
        None => "more than the system gives".into(),
    }
}

/// Formats a number with the fewest digits that parse back; without many zeros.
pub fn show_number(value: f64) -> String {
    if value == 0.0 || (1e-5..1e16).contains(&value.abs()) {
        value.to_string()
    } else {
        format!("{value:e}")
    }
}

/// Formats a shape as NumPy does: `(3,)`, `(2, 3)`.
pub(crate) fn show_shape(shape: &[usize]) -> String {
    match shape {
        [one] => format!("({one},)"),
        _ => {
            format!("({})", shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_print_as_in_numpy() {
        assert_eq!(show_shape(&[]), "()");
        assert_eq!(show_shape(&[3]), "(3,)");
        assert_eq!(show_shape(&[3, 4]), "(3, 4)");
    }

    #[test]
    fn extreme_numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-1.5, "-1.5"),
            (1e15, "1000000000000000"),
            (-1e300, "-1e300"),
            (1.25e-320, "1.25e-320"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(show_number(value), text);
        }
        let far = Error::BadDistance { from: 0, to: 1, value: -1e300 };
        assert!(far.to_string().starts_with("distance from point 0 to point 1 is -1e300; "));
        let small = Error::BadMass { measure: 0, point: 1, value: -1e-320 };
        assert!(small.to_string().starts_with("measure 0 has mass -1e-320 at point 1; "));
        let left_mass = 1e-310;
        let parts =
            Error::UnbalancedComponent { left: 0, right: 1, node: 2, left_mass, right_mass: 0.0 };
        assert!(parts.to_string().contains(" have mass 1e-310 and 0 in "));
    }

    #[test]
    fn causes_are_said_once() {
        let missing = std::fs::read("no such file").unwrap_err();
        let error = Error::read("a.tree", missing);
        assert_eq!(error.to_string(), "cannot read `a.tree`: No such file or directory");
        let of_cloud = Error::Cloud { cloud: 3, name: None, cause: Box::new(Error::EmptyCloud) };
        let of_right = Error::RightPoints { cause: Box::new(Error::EmptyCloud) };
        for error in [error, of_cloud, of_right] {
            assert!(std::error::Error::source(&error).is_none(), "{error}");
        }
        let odd = Error::write("a\nb\t.tree", io::Error::other("it is full"));
        assert_eq!(odd.to_string(), "cannot write `a\\nb\\t.tree`: it is full");
        let own = Error::write("a.tree", io::Error::other("it is full (os error 28)"));
        assert_eq!(own.to_string(), "cannot write `a.tree`: it is full (os error 28)");
        let inner = io::Error::other(Error::Canceled);
        assert!(matches!(Error::read("a.tree", inner), Error::Canceled));
    }

    #[test]
    fn measures_and_points_go_by_their_names() {
        struct Ids;
        impl Wording for Ids {
            fn measure(&self, measure: usize) -> Option<String> {
                (measure == 3).then(|| "S003".into())
            }

            fn point(&self, point: usize) -> Option<String> {
                (point == 44).then(|| "site44".into())
            }
        }
        let said = |measure, point| Error::BadMass { measure, point, value: -1.0 }.said(&Ids);
        let rest = "; masses must be finite and at least 0";
        assert_eq!(said(3, 44), format!("S003 has mass -1 at site44 (measure 3, point 44){rest}"));
        assert_eq!(said(3, 1), format!("S003 has mass -1 at point 1 (measure 3){rest}"));
        assert_eq!(said(1, 1), format!("measure 1 has mass -1 at point 1{rest}"));
        assert_eq!(
            Error::NoMass { measure: 3 }.said(&Ids),
            "S003 has no mass (measure 3); drop the row or give it a positive entry"
        );
    }

    #[test]
    fn nodes_go_by_their_names() {
        struct Cities;
        impl Wording for Cities {
            fn node(&self, node: usize) -> String {
                ["Oslo", "Bergen"][node].into()
            }
        }
        let (left, right, left_mass, right_mass) = (0, 1, 1.0, 0.0);
        let error = Error::UnbalancedComponent { left, right, node: 1, left_mass, right_mass };
        assert!(error.to_string().contains("the component of node 1, and"), "{error}");
        assert!(error.said(&Cities).contains("the component of node Bergen, and"));
        assert_eq!(Error::NoPoints.said(&Cities), Error::NoPoints.to_string());
    }
}
