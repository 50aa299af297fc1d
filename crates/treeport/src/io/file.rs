//! Files whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::error::{Error, Result};

/// Writes a file whole or not at all: beside `path`, then renamed once the disk has it.
///
/// What is no regular file, such as `/dev/stdout`, is written to directly: renaming would replace
/// it.
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
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> Result<(), E>,
) -> Result<(), E> {
    let broken = |source: io::Error| Error::Write { path: path.into(), source };
    if path.exists() && !path.is_file() {
        let mut out = BufWriter::new(File::create(path).map_err(broken)?);
        write(&mut out)?;
        return Ok(out.flush().map_err(broken)?);
    }
    let mut builder = tempfile::Builder::new();
    builder.prefix(".treeport-");
    // A temporary file is private by default; this one becomes an ordinary file.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let (file, beside) = builder.tempfile_in(folder(path)).map_err(broken)?.into_parts();
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush().map_err(broken)?;
    out.get_ref().sync_all().map_err(broken)?;
    beside.persist(path).map_err(|error| broken(error.error))?;
    Ok(())
}

/// The same for bytes that are there already.
pub(super) fn save_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    let broken = |source| Error::Write { path: path.into(), source };
    save(path, |out| out.write_all(bytes).map_err(broken))
}

/// The bytes of a file.
pub(super) fn load(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|source| Error::Read { path: path.into(), source })
}

/// Refuses a place that cannot take a file, before hours are spent on its contents.
///
/// # Errors
/// [`Error::Write`]: there is no such folder, or the place is a folder itself.
pub fn check_place(path: &Path) -> Result<()> {
    let refuse = |kind, reason| {
        let source = io::Error::new(kind, reason);
        Err(Error::Write { path: path.into(), source })
    };
    let folder = folder(path);
    if !folder.is_dir() {
        let reason = format!("there is no folder `{}`", folder.display());
        return refuse(io::ErrorKind::NotFound, reason);
    }
    if path.is_dir() {
        return refuse(io::ErrorKind::IsADirectory, "it is a folder".into());
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;
    use std::fs;

    use super::*;

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
        let reason = |path: &Path| check_place(path).unwrap_err().source().unwrap().to_string();
        assert!(check_place(&folder.path().join("file")).is_ok());
        assert!(check_place(Path::new("file")).is_ok());
        assert_eq!(reason(folder.path()), "it is a folder");
        let lost = folder.path().join("no/file");
        assert!(reason(&lost).starts_with("there is no folder `"));
        assert!(matches!(save_bytes(&lost, b""), Err(Error::Write { path, .. }) if path == lost));
    }
}
