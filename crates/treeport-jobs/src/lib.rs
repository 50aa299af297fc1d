//! Files of long jobs: what the programs write to disk while they compute, and how they resume.
//!
//! A [`JobFingerprint`] identifies a job. A job resumes after a crash from its [`Journal`], or from
//! a [`PartFile`] if its result is larger than memory. A [`Shard`] is a part of a result that is
//! computed elsewhere. [`history`] reads and writes the losses of a fit.

#![expect(clippy::missing_errors_doc, reason = "errors name the file and what is wrong with it")]

mod error;
pub mod fingerprint;
pub mod history;
pub mod journal;
mod lock;
pub mod part;
pub mod shard;

pub use error::{Error, Result};
pub use fingerprint::JobFingerprint;
pub use journal::Journal;
pub use part::PartFile;
pub use shard::Shard;
