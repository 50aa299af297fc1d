//! Names of long-running tasks: values of [`State::task`](super::State::task).

/// Solving exact distances; counts pairs.
pub const SOLVING: &str = "exact distances";
/// Solving one exact distance; counts the percentage that is proved.
pub const PROVING: &str = "percent proved";
/// Computing distances; counts pairs or rows.
pub const DISTANCES: &str = "distances";
/// Preparing a graph for shortest-path queries; counts nodes.
pub const PATHS: &str = "shortest paths";
/// Building a search index; counts measures.
pub const INDEXING: &str = "indexing";
/// Searching neighbors; counts queries.
pub const SEARCHING: &str = "searching";
/// Building trees; counts trees or clusters.
pub const BUILDING: &str = "building trees";
/// Fitting edge lengths to the distances of points; counts iterations.
pub const POINTS: &str = "fitting points";
/// Learning one or more trees; counts steps.
pub const LEARNING: &str = "learning";
/// Fitting edge lengths to labels; counts iterations.
pub const EDGES: &str = "fitting edges";
/// Attaching new points to trees; counts points.
pub const PLACING: &str = "placing new points";
/// Computing a barycenter; counts nodes.
pub const BARYCENTER: &str = "barycenter";
/// Calibrating levels of accuracy by labels; counts labels, once for each level.
pub const CALIBRATING: &str = "calibrating";
/// Reading word vectors; counts bytes of the file.
pub const READING_VECTORS: &str = "word vectors";
/// Counting the words of documents; counts documents.
pub const READING_TEXTS: &str = "texts";
