//! What can go wrong in the laboratory beyond the library's own errors.

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each field means")]
pub enum Error {
    #[error(transparent)]
    Treeport(#[from] treeport::Error),
    /// The plain exact solver gave up: it returns this rather than a wrong number.
    #[error(
        "exact transport between supports of {left} and {right} points stopped after {rounds} rounds with {unmoved} of the mass unmoved: {reason}"
    )]
    Unsolved { left: usize, right: usize, rounds: usize, unmoved: f64, reason: &'static str },
}
