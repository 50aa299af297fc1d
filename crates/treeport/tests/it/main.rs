//! Every test of the library through its public face, in one binary: it is compiled and linked once.

#[macro_use]
mod common;

mod accuracy;
mod barycenter;
mod batches;
mod bounds;
mod certify;
mod clouds;
mod components;
mod contract;
mod costs;
mod diagrams;
mod distance;
mod edges;
mod estimate;
mod far_costs;
mod fit;
mod forest;
#[cfg(feature = "io")]
mod forest_files;
mod forest_growth;
mod grid;
mod haversine;
mod index_files;
mod labeled;
mod learning;
mod line;
mod linkage;
mod memory;
mod methods;
mod model;
mod names;
mod options;
mod order;
mod penalties;
#[cfg(feature = "io")]
mod pending;
mod periods;
mod problem;
mod projection;
#[cfg(feature = "io")]
mod readers;
mod relaxed;
mod sinkhorn;
mod solve_options;
#[cfg(feature = "io")]
mod tree_formats;
mod trees_of_space;
mod unifrac;
