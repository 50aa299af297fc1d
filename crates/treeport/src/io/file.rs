//! Files whole or not at all.
//!
//! A file is written beside its place and then renamed. Its writer holds a lock on it: what nobody
//! holds any more was left by a kill, and the next one who writes the same file removes it.

use std::collections::BTreeSet;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::{NamedTempFile, TempPath};

use crate::error::{Error, Result};

/// `save`, `load` and `from_bytes` of a type that has `to_bytes`; `decode` reads it from the bytes of a file of
/// some name. The docs are those of `save`.
macro_rules! in_files {
    ($type:ty, $decode:path, $(#[$docs:meta])+) => {
        impl $type {
            $(#[$docs])+
            pub fn save(&self, path: impl AsRef<std::path::Path>) -> $crate::Result<()> {
                $crate::io::file::save_bytes(path.as_ref(), &self.to_bytes()?)
            }

            /// Reads what [`save`](Self::save) has written.
            ///
            /// # Errors
            /// The file cannot be read, holds something else, is damaged, or comes from a newer treeport.
            pub fn load(path: impl AsRef<std::path::Path>) -> $crate::Result<Self> {
                let path = path.as_ref();
                $decode(&$crate::io::file::load(path)?, path)
            }

            /// What the bytes of such a file hold; messages call it `<bytes>`.
            ///
            /// # Errors
            /// As [`load`](Self::load), but for reading the file.
            pub fn from_bytes(bytes: &[u8]) -> $crate::Result<Self> {
                $decode(bytes, std::path::Path::new("<bytes>"))
            }
        }
    };
}
pub(crate) use in_files;

/// No longer chain of links leads anywhere.
const MOST_LINKS: usize = 40;

/// Writes a file whole or not at all: beside `path`, then renamed once the disk has it.
///
/// A file that is there keeps its permissions, and a link stays a link: what it stands for is
/// written. What is no regular file, such as `/dev/stdout`, is written to directly: renaming would
/// replace it.
///
/// # Errors
/// What `write` says, or [`Error::Write`]; whatever was at `path` before is still there.
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

/// A file on its way to its place: all of [`save`] that does not depend on what is written.
struct UnfinishedFile {
    out: BufWriter<File>,
    /// `None` for what is no regular file.
    place: Option<Place>,
}

/// Where an [`UnfinishedFile`] is, and where it belongs.
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
        let (file, pending) = beside(&target)?;
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

/// Removes the files that [`save`] has begun in this process and not finished: for a program that
/// ends at once, in the middle of everything. No other is begun while what it returns is held, which
/// is until the end.
pub fn remove_pending() -> NonePending {
    let pending = pending();
    for path in pending.iter() {
        // Nothing is lost if it stays: the next `save` of the same file removes it.
        let _ = fs::remove_file(path);
    }
    NonePending { _held: pending }
}

/// As long as it is held, this process begins no file: [`remove_pending`].
#[must_use = "other files may be begun once it is dropped"]
#[derive(Debug)]
pub struct NonePending {
    _held: MutexGuard<'static, BTreeSet<PathBuf>>,
}

static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A file that this process is to remove before it ends: [`remove_pending`].
#[derive(Debug)]
pub struct Pending(PathBuf);

impl Pending {
    /// Makes a file, if `make` does, without a moment in which it is there and nobody knows of it.
    ///
    /// # Errors
    /// Those of `make`.
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

/// The file at the end of all links, whether it is there or not.
///
/// # Errors
/// The links lead nowhere.
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

/// What the names of files on their way to `target` begin with; names as long as the system allows
/// leave no room for more than a number.
fn mark(target: &Path) -> String {
    let name = target.file_name().unwrap_or_default().as_encoded_bytes();
    format!(".treeport-{:08x}-", crc32fast::hash(name))
}

/// A new file beside `target`, which nobody takes for an abandoned one.
fn beside(target: &Path) -> io::Result<(NamedTempFile, Pending)> {
    let mark = mark(target);
    let mut builder = tempfile::Builder::new();
    builder.prefix(&mark);
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
            // Without locks in the file system nobody finds an abandoned file either.
            let _ = file.as_file().lock();
            let path = file.path().to_owned();
            Ok(path.exists().then_some((file, path)))
        })?;
        let Some((file, pending)) = made else { continue }; // taken for abandoned before its lock
        if let Some(kept) = kept.filter(|_| cfg!(unix)) {
            // The system has taken away what the umask forbids to new files. Where it does not let
            // us give it back, less is allowed, never more.
            let _ = file.as_file().set_permissions(kept);
        }
        return Ok((file, pending));
    }
}

/// Removes what killed processes have left on its way to `target`.
fn remove_abandoned(target: &Path) {
    let (Ok(entries), mark) = (fs::read_dir(folder(target)), mark(target)) else { return };
    for entry in entries.flatten() {
        let ours = entry.file_name().as_encoded_bytes().starts_with(mark.as_bytes());
        if ours && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let Ok(file) = File::open(entry.path()) else { continue };
            if file.try_lock().is_ok() {
                let _ = fs::remove_file(entry.path());
            }
        }
    }
}

/// Waits until the disk has the new names in a folder, too.
///
/// # Errors
/// The disk fails.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    // Elsewhere a folder cannot be opened, nor here if it may not be read.
    let (true, Ok(folder)) = (cfg!(unix), File::open(folder)) else { return Ok(()) };
    match folder.sync_all() {
        // Some file systems cannot do this for folders.
        Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::Unsupported) => {
            Ok(())
        }
        done => done,
    }
}

/// [`save`] of bytes that are there already.
pub(crate) fn save_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let broken = |source| Error::write(path, source);
    save(path, |out| out.write_all(bytes).map_err(broken))
}

/// The bytes of a file.
pub(crate) fn load(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::read(path, source))
}

/// Refuses a place that cannot take a file, before hours are spent on its contents; removes what a
/// killed process has left on its way there.
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
    // Here already: what follows may be refused for another reason.
    remove_abandoned(&target);
    Ok(())
}

/// The folder that a file is in.
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
            Err(Error::Cancelled)
        });
        assert!(matches!(failed, Err(Error::Cancelled)));
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
                out.write_all(b"more").map_err(|_| Error::Cancelled)
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
        let left = at(&format!("{}AbCdEf", mark(&at("file"))));
        let others = at(&format!("{}AbCdEf", mark(&at("other"))));
        fs::write(&left, "half").unwrap();
        fs::write(&others, "half").unwrap();
        fs::write(at(".treeport-mine"), "kept").unwrap();
        save(at("file"), |_| {
            assert!(!left.exists());
            // A second writer of the same file, in the middle of the first.
            save_bytes(&at("file"), b"second")?;
            assert_eq!(files(folder.path()), 4, "file, of others, mine, on its way");
            Ok::<_, Error>(())
        })
        .unwrap();
        assert_eq!(load(&at("file")).unwrap(), b"", "the last one counts");
        assert!(others.exists() && files(folder.path()) == 3);
        // Before the work, too: it may be refused, and never come to a save.
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
