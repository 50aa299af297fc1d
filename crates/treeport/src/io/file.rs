//! Atomic writes of files.
//!
//! A file is written beside its target and then renamed. The writer holds a lock on the temporary
//! file; a temporary file without a lock was left by a killed process, and the next writer of the
//! same target removes it.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Result};

/// Implements `save`, `load` and `from_bytes` for a type with `to_bytes`. `decode` parses bytes and
/// takes the path for messages; the docs passed in become those of `save`.
macro_rules! in_files {
    ($type:ty, $decode:path, $(#[$docs:meta])+) => {
        impl $type {
            $(#[$docs])+
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> $crate::error::Result<()> {
                $crate::io::file::save_bytes(path.as_ref(), &self.to_bytes()?)
            }

            /// Reads a file written by [`save`](Self::save).
            ///
            /// # Errors
            /// The file cannot be read, has another format, is damaged, or was written by a newer
            /// treeport.
            pub fn load(path: impl AsRef<std::path::Path>) -> $crate::error::Result<Self> {
                let path = path.as_ref();
                $decode(&$crate::io::file::load(path)?, path)
            }

            /// Parses the bytes of such a file; error messages call it `<bytes>`.
            ///
            /// # Errors
            /// Errors of [`load`](Self::load), except for reading the file.
            pub fn from_bytes(bytes: &[u8]) -> $crate::error::Result<Self> {
                $decode(bytes, std::path::Path::new("<bytes>"))
            }
        }
    };
}
pub(crate) use in_files;

/// Maximum number of symbolic links followed; a longer chain is taken for a cycle.
const MOST_LINKS: usize = 40;

/// Writes a file atomically: to a temporary file beside `path`, which is renamed after it is synced
/// to disk.
///
/// An existing file keeps its permissions, and a symbolic link stays a link: its target is written.
/// Anything other than a regular file, such as `/dev/stdout`, is written directly, because renaming
/// would replace it.
///
/// # Errors
/// The error of `write`, or [`Error::Write`]; the previous file at `path` is unchanged.
///
/// # Example
/// ```
/// use std::io::Write;
/// use treeport::io::file;
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("a.txt");
/// file::save(&path, |out| writeln!(out, "whole").map_err(Box::<dyn std::error::Error>::from))?;
/// assert_eq!(std::fs::read_to_string(&path)?, "whole\n");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<E: From<Error>>(
    path: impl AsRef<Path>,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let path = path.as_ref();
    let broken = |source: io::Error| Error::write(path, source);
    let mut file = UnfinishedFile::begin(path).map_err(broken)?;
    write(&mut file.out)?;
    Ok(file.finish().map_err(broken)?)
}

/// A temporary file of [`save`]: the part that does not depend on the content.
struct UnfinishedFile {
    out: BufWriter<File>,
    /// `None` for anything other than a regular file.
    place: Option<Place>,
}

/// The temporary and the final path of an [`UnfinishedFile`].
struct Place {
    beside: TempPath,
    target: PathBuf,
    _pending: Pending,
}

impl UnfinishedFile {
    fn begin(path: &Path) -> io::Result<Self> {
        if path.exists() && !path.is_file() {
            return Ok(Self { out: BufWriter::new(File::create(path)?), place: None });
        }
        let target = followed(path)?;
        remove_abandoned(&target);
        let (file, pending) = create_beside(&target)?;
        let (file, beside) = file.into_parts();
        let place = Place { beside, target, _pending: pending };
        Ok(Self { out: BufWriter::new(file), place: Some(place) })
    }

    fn finish(mut self) -> io::Result<()> {
        self.out.flush()?;
        let Some(Place { beside, target, _pending }) = self.place else { return Ok(()) };
        self.out.get_ref().sync_all()?;
        beside.persist(&target)?;
        sync_folder(folder(&target))
    }
}

/// Removes the unfinished temporary files of this process, for a program that exits immediately.
/// While the returned guard is held, no new temporary file can be created; hold it until the exit.
pub fn remove_pending() -> NonePending {
    let pending = pending();
    for path in pending.iter() {
        // A file that remains does no harm: the next `save` of the same target removes it.
        let _ = fs::remove_file(path);
    }
    NonePending { _held: pending }
}

/// Guard returned by [`remove_pending`]; while it is held, this process creates no temporary files.
#[must_use = "new files can be created once it is dropped"]
#[derive(Debug)]
pub struct NonePending {
    _held: MutexGuard<'static, BTreeSet<PathBuf>>,
}

static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Registration of a file that [`remove_pending`] removes before the process exits.
#[derive(Debug)]
pub struct Pending(PathBuf);

impl Pending {
    /// Creates and registers a file under one lock, so that it never exists unregistered. `make`
    /// may return `None`.
    pub fn make<T>(
        make: impl FnOnce() -> io::Result<Option<(T, PathBuf)>>,
    ) -> io::Result<Option<(T, Self)>> {
        let mut pending = pending();
        Ok(make()?.map(|(file, path)| {
            pending.insert(path.clone());
            (file, Self(path))
        }))
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        pending().remove(&self.0);
    }
}

/// Follows symbolic links to the final path, which need not exist.
pub fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        match fs::read_link(&path) {
            Ok(next) => path = folder(&path).join(next),
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::new(ErrorKind::InvalidInput, "it is a link that leads nowhere"))
}

/// Returns the prefix of the temporary files of `target`. It contains a hash, not the name, because
/// a name of the maximum length leaves no space for more.
fn temporary_prefix(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    format!(".treeport-{:08x}-", crc32fast::hash(name))
}

/// Creates a locked temporary file beside `target`.
fn create_beside(target: &Path) -> io::Result<(NamedTempFile, Pending)> {
    let prefix = temporary_prefix(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&prefix);
    let kept = fs::metadata(target).ok().map(|there| there.permissions());
    // A temporary file is private by default; this one becomes an ordinary file.
    #[cfg(unix)]
    builder.permissions(kept.clone().unwrap_or_else(|| {
        use std::os::unix::fs::PermissionsExt;
        Permissions::from_mode(0o666)
    }));
    loop {
        let made = Pending::make(|| {
            let file = builder.tempfile_in(folder(target))?;
            // On a file system without locks, abandoned files are never detected, either.
            let _ = file.as_file().lock();
            let path = file.path().to_owned();
            Ok(path.exists().then_some((file, path)))
        })?;
        // removed as abandoned before it was locked
        let Some((file, pending)) = made else { continue };
        if let Some(kept) = kept.filter(|_| cfg!(unix)) {
            // The umask may have cleared permissions; failure leaves fewer permissions, never more.
            let _ = file.as_file().set_permissions(kept);
        }
        return Ok((file, pending));
    }
}

/// Removes the temporary files of `target` that killed processes left behind.
fn remove_abandoned(target: &Path) {
    let (Ok(entries), prefix) = (fs::read_dir(folder(target)), temporary_prefix(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(prefix.as_bytes());
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let Ok(file) = File::open(entry.path()) else { continue };
            if file.try_lock().is_ok() {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Waits until renames in a folder are synced to disk.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Folders cannot be opened on other systems, nor without read permission.
    let (true, Ok(folder)) = (cfg!(unix), File::open(folder)) else { return Ok(()) };
    match folder.sync_all() {
        // Some file systems do not support syncing folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

/// Writes bytes atomically; see [`save`].
pub(crate) fn save_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let broken = |source| Error::write(path, source);
    save(path, |out| out.write_all(bytes).map_err(broken))
}

/// Reads all bytes of a file.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::read(path, source))
}

/// Checks that a file can be saved at `path`, before a long computation of its content, and removes
/// temporary files that killed processes left there.
///
/// # Errors
/// [`Error::Write`]: there is no such folder, or the place is a folder itself.
pub fn check_place(path: impl AsRef<Path>) -> Result<()> {
    let path = path.as_ref();
    let refuse = |kind, reason| {
        let source = io::Error::new(kind, reason);
        Err(Error::write(path, source))
    };
    let target = followed(path).unwrap_or_else(|_| path.into());
    let folder = folder(&target);
    if !folder.is_dir() {
        let reason = format!("there is no folder `{}`", folder.display());
        return refuse(io::ErrorKind::NotFound, reason);
    }
    if path.is_dir() {
        return refuse(io::ErrorKind::IsADirectory, "it is a folder".into());
    }
    // Before the save, because the call may be refused for another reason and never reach it.
    remove_abandoned(&target);
    Ok(())
}

/// Returns the folder of a file.
pub fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn a_failed_write_leaves_the_old_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        save_bytes(&path, b"old").unwrap();
        let failed = save(&path, |out| {
            out.write_all(b"new").expect("a writable file");
            Err(Error::Canceled)
        });
        assert!(matches!(failed, Err(Error::Canceled)));
        assert_eq!(load(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        use std::os::unix::fs::FileTypeExt;
        save_bytes(Path::new("/dev/null"), b"gone").unwrap();
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
    }

    #[test]
    fn places_that_cannot_take_a_file_say_why() {
        let folder = tempfile::tempdir().unwrap();
        let reason = |path: &Path| check_place(path).unwrap_err().to_string();
        assert!(check_place(folder.path().join("file")).is_ok());
        assert!(check_place(Path::new("file")).is_ok());
        assert!(reason(folder.path()).ends_with("`: it is a folder"));
        let lost = folder.path().join("no/file");
        assert!(reason(&lost).contains("`: there is no folder `"));
        assert!(matches!(save_bytes(&lost, b""), Err(Error::Write { path, .. }) if path == lost));
    }

    #[cfg(unix)]
    #[test]
    fn permissions_stay() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        let mode = || fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        save_bytes(&path, b"new").unwrap();
        File::create(folder.path().join("plain")).unwrap();
        let plain = fs::metadata(folder.path().join("plain")).unwrap().permissions().mode();
        assert_eq!(mode(), plain & 0o777, "as any new file");
        for kept in [0o600, 0o640, 0o666, 0o444] {
            fs::set_permissions(&path, Permissions::from_mode(kept)).unwrap();
            save(&path, |out| {
                let beside = fs::read_dir(folder.path()).unwrap().flatten();
                let mut beside =
                    beside.filter(|e| e.path() != path && !e.path().ends_with("plain"));
                let beside = beside.next().unwrap().metadata().unwrap().permissions().mode();
                assert_eq!(beside & 0o777 & !kept, 0, "at no time more is allowed");
                out.write_all(b"more").map_err(|_| Error::Canceled)
            })
            .unwrap();
            assert_eq!(mode(), kept);
        }
    }

    #[cfg(unix)]
    #[test]
    fn links_stay_links() {
        use std::os::unix::fs::symlink;
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("there")).unwrap();
        symlink("there/file", at("link")).unwrap();
        symlink("link", at("chain")).unwrap();
        for bytes in [b"one", b"two"] {
            save_bytes(&at("chain"), bytes).unwrap();
            assert_eq!(load(&at("there/file")).unwrap(), bytes);
            assert!(at("chain").is_symlink() && at("link").is_symlink());
            assert_eq!(files(&at("there")), 1);
        }
        symlink("nowhere/file", at("lost")).unwrap();
        assert!(check_place(at("lost")).is_err());
        symlink("round", at("round")).unwrap();
        assert!(matches!(save_bytes(&at("round"), b""), Err(Error::Write { .. })));
    }

    #[test]
    fn what_a_kill_has_left_goes_and_what_others_write_stays() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let left = at(&format!("{}AbCdEf", temporary_prefix(&at("file"))));
        let others = at(&format!("{}AbCdEf", temporary_prefix(&at("other"))));
        fs::write(&left, "half").unwrap();
        fs::write(&others, "half").unwrap();
        fs::write(at(".treeport-mine"), "kept").unwrap();
        save(at("file"), |_| {
            assert!(!left.exists());
            // A second writer of the same file while the first is writing.
            save_bytes(&at("file"), b"second")?;
            assert_eq!(files(folder.path()), 4, "file, of others, mine, on its way");
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(load(&at("file")).unwrap(), b"", "the last one counts");
        assert!(others.exists() && files(folder.path()) == 3);
        // Also before the computation, which may be refused and never reach a save.
        fs::write(&left, "half").unwrap();
        check_place(at("file")).unwrap();
        assert!(!left.exists() && others.exists());
    }

    #[test]
    fn names_as_long_as_allowed_can_be_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x".repeat(255));
        save_bytes(&path, b"whole").unwrap();
        assert_eq!(load(&path).unwrap(), b"whole");
    }

    #[test]
    fn what_is_pending_can_be_removed() {
        let folder = tempfile::tempdir().unwrap();
        let failed = save(folder.path().join("file"), |_| {
            assert_eq!(files(folder.path()), 1);
            let mine = fs::read_dir(folder.path()).unwrap().next().unwrap().unwrap().path();
            assert!(pending().contains(&mine));
            fs::remove_file(mine).unwrap();
            Ok::<_, Error>(())
        });
        assert!(matches!(failed, Err(Error::Write { .. })), "what is gone is not there");
        assert!(!pending().iter().any(|path| path.starts_with(folder.path())));
    }
}
