//! Archives (`.tar.gz`) whose bytes depend only on the names and contents of their files.
//!
//! Entries are sorted and have neither owner nor individual times, unlike those of other programs.

use std::io::Write;
use std::path::Path;

use anyhow::{Context, Result, bail};
use flate2::{Compression, GzBuilder};

/// A file of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Path with slashes.
    pub(crate) name: String,
    pub(crate) bytes: Vec<u8>,
    /// The file is executable.
    pub(crate) runs: bool,
}

impl Entry {
    pub(crate) fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), bytes, runs: false }
    }
}

/// Reads all files below a folder, with relative names.
pub(crate) fn files_of(folder: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    collect(folder, "", &mut entries)?;
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

fn collect(folder: &Path, prefix: &str, entries: &mut Vec<Entry>) -> Result<()> {
    let listed = std::fs::read_dir(folder).with_context(|| folder.display().to_string())?;
    for file in listed {
        let file = file?;
        let name = format!("{prefix}{}", file.file_name().to_string_lossy());
        if file.path().is_dir() {
            collect(&file.path(), &format!("{name}/"), entries)?;
        } else {
            entries.push(Entry::new(name, std::fs::read(file.path())?));
        }
    }
    Ok(())
}

/// Creates an archive of files in one folder, all with the time `seconds` after 1970.
pub(crate) fn tar_gz(folder: &str, mut entries: Vec<Entry>, seconds: u64) -> Result<Vec<u8>> {
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    let mut gz = GzBuilder::new().mtime(0).write(Vec::new(), Compression::best());
    for entry in &entries {
        let name = format!("{folder}/{}", entry.name);
        gz.write_all(&header(&name, entry.bytes.len(), entry.runs, seconds)?)?;
        gz.write_all(&entry.bytes)?;
        gz.write_all(&vec![0; entry.bytes.len().next_multiple_of(512) - entry.bytes.len()])?;
    }
    gz.write_all(&[0; 1024])?;
    Ok(gz.finish()?)
}

/// Returns the header of a file (POSIX ustar); long names are split at a slash.
fn header(name: &str, size: usize, runs: bool, seconds: u64) -> Result<[u8; 512]> {
    let split = if name.len() <= 100 {
        Some(("", name))
    } else {
        let slashes = name.match_indices('/').map(|(at, _)| (&name[..at], &name[at + 1..]));
        slashes.into_iter().find(|(prefix, rest)| prefix.len() <= 155 && rest.len() <= 100)
    };
    let Some((prefix, rest)) = split else { bail!("`{name}` is too long a name for an archive") };
    let mut header = [0; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, rest);
    put(100, if runs { "0000755" } else { "0000644" });
    put(108, "0000000");
    put(116, "0000000");
    put(124, &format!("{size:011o}"));
    put(136, &format!("{seconds:011o}"));
    put(148, "        ");
    put(156, "0");
    put(257, "ustar\x0000");
    put(345, prefix);
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries() -> Vec<Entry> {
        let long = format!("{}/{}/file.rs", "a".repeat(80), "b".repeat(60));
        let program = Entry { runs: true, ..Entry::new("bin/treeport", vec![7; 513]) };
        vec![Entry::new(long, b"long".to_vec()), program, Entry::new("README.md", b"# x".to_vec())]
    }

    #[test]
    fn the_order_of_the_files_does_not_matter() {
        let mut turned = entries();
        turned.reverse();
        assert_eq!(tar_gz("t", entries(), 5).unwrap(), tar_gz("t", turned, 5).unwrap());
        assert_ne!(tar_gz("t", entries(), 5).unwrap(), tar_gz("t", entries(), 6).unwrap());
    }

    #[test]
    fn names_that_do_not_fit_are_refused() {
        let name = "x".repeat(101);
        let error = tar_gz("t", vec![Entry::new(name, vec![])], 0).unwrap_err();
        assert!(error.to_string().contains("too long a name"));
    }

    /// Unpacked by `tar`, if installed.
    #[cfg(unix)]
    #[test]
    fn tar_reads_what_was_written() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("t.tar.gz");
        std::fs::write(&file, tar_gz("t", entries(), 1_000_000_000).unwrap()).unwrap();
        let mut tar = std::process::Command::new("tar");
        tar.arg("-xzf").arg(&file).arg("-C").arg(folder.path());
        match tar.status() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            status => assert!(status.unwrap().success()),
        }
        let mut expected = entries();
        for entry in &mut expected {
            entry.runs = false;
        }
        expected.sort_by(|a, b| a.name.cmp(&b.name));
        assert_eq!(files_of(&folder.path().join("t")).unwrap(), expected);
        let about = std::fs::metadata(folder.path().join("t/bin/treeport")).unwrap();
        assert_eq!(about.permissions().mode() & 0o777, 0o755);
        let changed = about.modified().unwrap().duration_since(std::time::UNIX_EPOCH).unwrap();
        assert_eq!(changed.as_secs(), 1_000_000_000);
    }
}
