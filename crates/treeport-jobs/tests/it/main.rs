//! Every test of this crate through its public face, in one binary.

mod corpus;
