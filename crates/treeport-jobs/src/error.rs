//! What can go wrong with the files of a job beyond the library's own errors.

use std::path::PathBuf;

use treeport::internal::memory::show;

/// The result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What went wrong, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each field means")]
pub enum Error {
    /// A file that cannot be read or written, is damaged, or comes from a later version.
    #[error(transparent)]
    Treeport(#[from] treeport::Error),
    #[error(
        "`{path}` needs {}, and {} are free on its disk; make room, choose another place, or write fewer rows",
        show(*bytes), show(*available)
    )]
    Disk { path: PathBuf, bytes: u64, available: u64 },
    #[error("`{path}` is no journal of such a job; move it away or choose another place")]
    NotAJournal { path: PathBuf },
    #[error(
        "`{path}` was left by another job (other {parts}); run that job again to finish it, delete the file to begin anew, or choose another place"
    )]
    OtherJob { path: PathBuf, parts: String },
    #[error("`{path}` is no shard, a part of a job that was done by itself")]
    NotAShard { path: PathBuf },
}

/// A file that cannot be read.
pub(crate) fn unread(path: impl Into<PathBuf>, cause: std::io::Error) -> Error {
    treeport::Error::read(path, cause).into()
}

/// A file that cannot be written.
pub(crate) fn unwritten(path: impl Into<PathBuf>, cause: std::io::Error) -> Error {
    treeport::Error::write(path, cause).into()
}
