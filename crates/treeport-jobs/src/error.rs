//! Errors of job files beyond those of the library.

use std::path::PathBuf;

use treeport::memory::show;

/// Result of every fallible function of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Error of a job file: what is wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say what each field means")]
pub enum Error {
    /// A file cannot be read or written, is damaged, or was written by a later version.
    #[error(transparent)]
    Treeport(#[from] treeport::Error),
    #[error(
        "`{path}` needs {}, and {} are free on its disk; make room, choose another place, or write fewer rows",
        show(*bytes), show(*available)
    )]
    Disk { path: PathBuf, bytes: u64, available: u64 },
    #[error("`{path}` is not a journal of such a job; move it away or choose another place")]
    NotAJournal { path: PathBuf },
    #[error(
        "`{path}` was left by another job (other {parts}); run that job again to finish it, delete the file to start over, or choose another place"
    )]
    OtherJob { path: PathBuf, parts: String },
    #[error("`{path}` is not a shard, a part of a job computed separately")]
    NotAShard { path: PathBuf },
}

/// Wraps an error of reading a file.
pub(crate) fn unread(path: impl Into<PathBuf>, cause: std::io::Error) -> Error {
    treeport::Error::read(path, cause).into()
}

/// Wraps an error of writing a file.
pub(crate) fn unwritten(path: impl Into<PathBuf>, cause: std::io::Error) -> Error {
    treeport::Error::write(path, cause).into()
}
