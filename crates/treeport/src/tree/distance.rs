//! placeholder
#[derive(Clone, Debug)]
pub(crate) struct Index;
