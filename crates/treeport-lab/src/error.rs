//! Errors of the laboratory beyond those of the library.

/// Result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of an experiment: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each field means")]
pub enum Error {
    #[error(transparent)]
    Treeport(#[from] treeport::Error),
    /// The plain exact solver did not finish; it never returns a wrong value.
    #[error(
        "exact transport between supports of {left} and {right} points stopped after {rounds} rounds with {unmoved} of the mass unmoved: {reason}"
    )]
    Unsolved { left: usize, right: usize, rounds: usize, unmoved: f64, reason: &'static str },
}
