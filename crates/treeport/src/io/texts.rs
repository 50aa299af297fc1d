//! Documents in files: a folder with a file for each, or a file with a line for each.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{bad, text};
use crate::error::{Error, Result, shown};
use crate::progress::{Counter, Progress, tasks};
use crate::texts::{StopWords, WordCounter, WordTable};

impl WordTable {
    /// Counts the words of documents in a folder or a file, gzip or not.
    ///
    /// In a folder, every file at any depth is a document, except for hidden ones; IDs are their
    /// paths in alphabetical order, without `.txt` and `.txt.gz`. In a file, every line is a
    /// document without an ID.
    ///
    /// # Errors
    /// A file cannot be read or is not UTF-8, a folder has no files, or `progress` cancels.
    ///
    /// # Example
    /// ```
    /// use treeport::silent;
    /// use treeport::texts::{StopWords, WordTable};
    /// let folder = tempfile::tempdir()?;
    /// std::fs::write(folder.path().join("a.txt"), "The cat and the dog")?;
    /// let table = WordTable::read(folder.path(), StopWords::english(), &silent)?;
    /// assert_eq!(table.words(), ["cat", "dog"]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        path: impl AsRef<Path>,
        stop_words: StopWords,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let path = path.as_ref();
        if !path.is_dir() {
            return Self::of_lines(&read(path)?, stop_words, progress);
        }
        let mut files = Vec::new();
        collect_files(path, &mut files)?;
        if files.is_empty() {
            let reason = "it has no files; each is a document";
            return Err(bad("texts", format!("folder `{}`", shown(path)), reason));
        }
        files.sort();
        let mut counter = WordCounter::new(stop_words);
        let done = Counter::new(tasks::READING_TEXTS, files.len(), progress);
        for file in &files {
            counter.add_text(&read(file)?)?;
            done.add(1)?;
        }
        let ids = files.iter().map(|file| id_of(file.strip_prefix(path).unwrap_or(file)));
        Ok(counter.finish().with_ids(Some(ids.collect())))
    }

    /// Counts the words of a text with a document in every line.
    ///
    /// # Errors
    /// The counts do not fit into memory, or `progress` cancels.
    pub fn of_lines(text: &str, stop_words: StopWords, progress: &Progress<'_>) -> Result<Self> {
        let mut counter = WordCounter::new(stop_words);
        let done = Counter::new(tasks::READING_TEXTS, None, progress);
        for line in text.lines() {
            counter.add_text(line)?;
            done.add(1)?;
        }
        Ok(counter.finish())
    }
}

fn read(path: &Path) -> Result<String> {
    let text = File::open(path).and_then(text::read_text);
    text.map_err(|cause| Error::read(path, cause))
}

fn collect_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let read = |cause| Error::read(folder, cause);
    for entry in fs::read_dir(folder).map_err(read)? {
        let path = entry.map_err(read)?.path();
        if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b".")) {
            continue;
        }
        // A link to a folder may lead back to it.
        if path.is_dir() && !path.is_symlink() {
            collect_files(&path, files)?;
        } else if path.is_file() {
            files.push(path);
        }
    }
    Ok(())
}

fn id_of(path: &Path) -> String {
    let parts: Vec<_> = path.iter().map(|part| part.to_string_lossy()).collect();
    let id = parts.join("/");
    let bare = id.strip_suffix(".txt").or_else(|| id.strip_suffix(".txt.gz"));
    bare.unwrap_or(&id).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::progress::silent;

    #[test]
    fn a_folder_and_lines_have_the_same_words() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("sport")).unwrap();
        for (name, text) in [("sport/b.txt", "one dog"), ("a", "two\ncats"), (".hidden", "x")] {
            fs::write(folder.path().join(name), text).unwrap();
        }
        let found = WordTable::read(folder.path(), StopWords::default(), &silent).unwrap();
        let texts = found.texts(|_| true).unwrap();
        assert_eq!(texts.words, ["cats", "dog", "one", "two"]);
        assert_eq!(texts.measures.names().unwrap(), ["a", "sport/b"]);
        let lines = WordTable::of_lines("two cats\none dog\n", StopWords::default(), &silent);
        let lines = lines.unwrap().texts(|_| true).unwrap();
        assert_eq!(lines.measures, texts.measures);
        assert_eq!(lines.measures.names(), None);
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let read = |path: &Path| WordTable::read(path, StopWords::default(), &silent);
        let error = read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("it has no files"), "{error}");
        let file = folder.path().join("latin.txt");
        fs::write(&file, b"caf\xe9").unwrap();
        for path in [folder.path(), &file] {
            let error = read(path).unwrap_err().to_string();
            assert!(error.contains("latin.txt") && error.contains("utf-8"), "{error}");
        }
        fs::write(&file, "text").unwrap();
        let canceled = WordTable::read(folder.path(), StopWords::default(), &|_| false);
        assert!(matches!(canceled, Err(Error::Canceled)));
    }
}
