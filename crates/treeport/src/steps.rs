//! What long work is called while it runs, in a few words for a progress bar.

/// Exact distances are solved; counts pairs.
pub const SOLVING: &str = "exact distances";
/// One exact distance is solved; counts percents of it that are proved.
pub const PROVING: &str = "percent proved";
/// Distances are computed; counts pairs or rows.
pub const DISTANCES: &str = "distances";
/// A graph is prepared for questions of distances; counts nodes.
pub const PATHS: &str = "shortest paths";
/// A collection is laid out for searches; counts measures.
pub const INDEXING: &str = "indexing";
/// Neighbors are looked for; counts queries.
pub const SEARCHING: &str = "searching";
/// Trees are built; counts trees or clusters.
pub const BUILDING: &str = "building trees";
/// Edges are fitted to the distances of points; counts iterations.
pub const POINTS: &str = "fitting points";
/// A tree, or several, are learned; counts steps.
pub const LEARNING: &str = "learning";
/// Edges are fitted to labels; counts iterations.
pub const EDGES: &str = "fitting edges";
/// New points are placed in a tree; counts them.
pub const PLACING: &str = "placing new points";
/// A barycenter is found; counts nodes.
pub const BARYCENTER: &str = "barycenter";
/// Levels of accuracy are calibrated by labels; counts labels, once for each level.
pub const CALIBRATING: &str = "calibrating";
