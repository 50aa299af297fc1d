//! Snapshots of folders, and comparisons with the expected content.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context, Result};

/// Files below a folder, by name, with their bytes.
pub(super) type Snapshot = BTreeMap<String, Vec<u8>>;

/// Reads all files below a folder.
pub(super) fn snapshot(folder: &Path) -> Result<Snapshot> {
    let mut files = Snapshot::new();
    read(folder, "", &mut files).with_context(|| folder.display().to_string())?;
    Ok(files)
}

fn read(folder: &Path, before: &str, files: &mut Snapshot) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{before}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &format!("{name}/"), files)?;
        } else if entry.file_type()?.is_file() {
            match std::fs::read(entry.path()) {
                Ok(bytes) => files.insert(name, bytes),
                // A run in progress has renamed or removed it since.
                Err(error) if error.kind() == ErrorKind::NotFound => None,
                Err(error) => return Err(error),
            };
        }
    }
    Ok(())
}

/// Writes files into a folder, which is created.
pub(super) fn write(folder: &Path, files: &Snapshot) -> Result<()> {
    for (name, bytes) in files {
        let path = folder.join(name);
        let parent = path.parent().context("a file is in a folder")?;
        std::fs::create_dir_all(parent)?;
        std::fs::write(&path, bytes).with_context(|| path.display().to_string())?;
    }
    Ok(())
}

/// Checks whether a file is a temporary file of a run in progress.
pub(super) fn is_temporary(name: &str) -> bool {
    name.rsplit('/').next().is_some_and(|file| file.starts_with(".treeport-"))
}

/// Checks the extension of a file name.
pub(super) fn has_ending(name: &str, ending: &str) -> bool {
    Path::new(name).extension().is_some_and(|found| found == ending)
}

/// Describes differences from expected files; `loose` ones may have any bytes.
pub(super) fn differences(
    found: &Snapshot,
    expected: &Snapshot,
    loose: impl Fn(&str) -> bool,
) -> Vec<String> {
    let mut wrong = Vec::new();
    for (name, bytes) in expected {
        match found.get(name) {
            None => wrong.push(format!("`{name}` is missing")),
            Some(other) if other != bytes && !loose(name) => {
                let at = other.iter().zip(bytes).take_while(|(a, b)| a == b).count();
                let (len, other) = (bytes.len(), other.len());
                wrong.push(format!("`{name}` differs at byte {at} ({other} bytes, not {len})"));
            }
            Some(_) => {}
        }
    }
    let strays = found.keys().filter(|name| !expected.contains_key(*name));
    wrong.extend(strays.map(|name| format!("stray file `{name}`")));
    wrong
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(of: &[(&str, &str)]) -> Snapshot {
        of.iter().map(|&(name, text)| (name.into(), text.into())).collect()
    }

    #[test]
    fn every_difference_is_named() {
        let expected = files(&[("a", "one"), ("b", "two"), ("c", "3 s")]);
        let found = files(&[("b", "tea"), ("c", "4 s"), ("d/.treeport-x", "")]);
        let wrong = differences(&found, &expected, |name| name == "c");
        let words = [
            "`a` is missing",
            "`b` differs at byte 1 (3 bytes, not 3)",
            "stray file `d/.treeport-x`",
        ];
        assert_eq!(wrong, words);
        assert!(differences(&expected, &expected, |_| false).is_empty());
    }

    #[test]
    fn temporary_files_are_known_by_their_names() {
        assert!(is_temporary(".treeport-aB3") && is_temporary("runs/.treeport-1"));
        assert!(!is_temporary("treeport-demo/x") && !is_temporary("out.csv.part"));
    }
}
