//! Lock files that ensure a single writer.
//!
//! The lock is on an empty file beside the written one. The system releases it when the process
//! ends for any reason; an empty file left by a killed process is not locked.

use std::fs::{File, OpenOptions, TryLockError, remove_file};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use treeport::io::file::Pending;

use crate::error::{Result, unwritten};

/// Number of attempts; each one fails only because another writer has just finished.
const TRIES: usize = 100;

/// The exclusive right to write a file, until dropped.
#[derive(Debug)]
pub(crate) struct WriteLock {
    /// Closed after the file is removed; `None` once it is.
    file: Option<File>,
    path: PathBuf,
    _pending: Pending,
}

impl WriteLock {
    /// Locks a file, which need not exist.
    ///
    /// On a file system without locks, several processes may write.
    pub(crate) fn take(of: &Path) -> Result<Self> {
        let mut name = of.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let refused = |source| unwritten(of, source);
        for _ in 0..TRIES {
            let mut is_taken = false;
            let made = Pending::make(|| {
                let mut open = OpenOptions::new();
                let file = open.write(true).create(true).truncate(false).open(&path)?;
                is_taken = matches!(file.try_lock(), Err(TryLockError::WouldBlock));
                // The previous holder may have removed the file after it was opened here.
                let is_ours = !is_taken && is_at(&file, &path)?;
                Ok(is_ours.then(|| (file, path.clone())))
            });
            if let Some((file, pending)) = made.map_err(refused)? {
                return Ok(Self { file: Some(file), path, _pending: pending });
            }
            if is_taken {
                break;
            }
        }
        let reason = "another run is writing it; wait for its end or choose another place";
        Err(refused(io::Error::new(ErrorKind::ResourceBusy, reason)))
    }
}

impl Drop for WriteLock {
    fn drop(&mut self) {
        // Removed before it is closed; otherwise another process could lock it in between.
        let _ = remove_file(&self.path);
        self.file = None;
    }
}

/// Checks whether an open file is the one at `path`.
#[cfg(unix)]
fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    match std::fs::metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(false),
        there => {
            let (here, there) = (file.metadata()?, there?);
            Ok((here.dev(), here.ino()) == (there.dev(), there.ino()))
        }
    }
}

/// Checks whether a file exists at `path`; only its owner can remove it while it is open.
#[cfg(not(unix))]
fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    Ok(path.exists())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn only_one_has_it_and_nothing_stays() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.part");
        let first = WriteLock::take(&path).unwrap();
        let error = WriteLock::take(&path).unwrap_err();
        assert!(error.to_string().contains("`: another run is writing it"));
        drop(first);
        // The file that a killed process leaves.
        std::fs::write(folder.path().join("rows.part.lock"), "").unwrap();
        drop(WriteLock::take(&path).unwrap());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn never_two_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.part");
        let (inside, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..500 {
                        let Ok(lock) = WriteLock::take(&path) else { continue };
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        inside.fetch_sub(1, Ordering::SeqCst);
                        taken.fetch_add(1, Ordering::SeqCst);
                        drop(lock);
                    }
                });
            }
        });
        assert!(taken.into_inner() > 0);
    }
}
