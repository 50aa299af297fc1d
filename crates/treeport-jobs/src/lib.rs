//! Long work that survives: what the programs keep on disk while they compute, and how they go on.
//!
//! A [`JobFingerprint`] tells one job from another. A [`Journal`] lets a job go on after a crash, and
//! so does a [`PartFile`] with results that are larger than memory; a [`Shard`] is a part of a result
//! that is made elsewhere. [`history`] is the losses of a fit as text.
//!
//! The library `treeport` needs none of this: it computes, and only programs are killed.

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
