//! Word vectors of GloVe, word2vec (text and binary) and fastText (`.vec`), gzip or not.
//!
//! The content tells the format: a first line of two whole numbers is a header of word2vec, and what
//! follows is a word and numbers, as text or as single-precision values. Words may contain spaces.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use super::{bad, text};
use crate::error::{Error, Result};
use crate::memory;
use crate::progress::{Counter, Progress, tasks};

const STEP: &str = "word vectors";
const INSTEAD: &str = "read only the words you need";
/// Bytes of the longest word of a binary file, far above any in published files.
const LONGEST_WORD: u64 = 4096;
/// Characters of a word in messages.
const SHOWN: usize = 40;

/// Words with their vectors, in single precision.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct WordVectors {
    /// The words, all different, in the order of the file; of equal words the first counts.
    pub words: Vec<String>,
    /// The number of coordinates of a vector.
    pub dim: usize,
    /// The vectors, one after the other.
    pub coordinates: Vec<f32>,
}

impl WordVectors {
    /// Reads a file; with `wanted`, only these words are kept, and others need no memory.
    ///
    /// # Errors
    /// The file cannot be read, is not such a file, or has none of the words; or `progress` cancels.
    ///
    /// # Example
    /// ```
    /// use treeport::io::word_vectors::WordVectors;
    /// use treeport::silent;
    /// let folder = tempfile::tempdir()?;
    /// let path = folder.path().join("glove.txt");
    /// std::fs::write(&path, "cat 0.5 1\ndog 0.25 1\n")?;
    /// let found = WordVectors::read(&path, None, &silent)?;
    /// assert_eq!(found.words, ["cat", "dog"]);
    /// assert_eq!(found.coordinates, [0.5, 1.0, 0.25, 1.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read(
        path: impl AsRef<Path>,
        wanted: Option<&BTreeSet<String>>,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let path = path.as_ref();
        let broken = |cause| Error::read(path, cause);
        let file = File::open(path).map_err(broken)?;
        let bytes = file.metadata().map_err(broken)?.len();
        Self::of_reader(file, usize::try_from(bytes).ok(), wanted, progress)
    }

    /// [`read`](Self::read) for any input, of `bytes` if its length is known.
    ///
    /// # Errors
    /// Errors of [`read`](Self::read).
    pub fn of_reader(
        reader: impl Read,
        bytes: Option<usize>,
        wanted: Option<&BTreeSet<String>>,
        progress: &Progress<'_>,
    ) -> Result<Self> {
        let read = Counter::new(tasks::READING_VECTORS, bytes.filter(|&bytes| bytes > 0), progress);
        let reader = text::inflated(Counted { reader, read }).map_err(|e| broken(e, "line 1"))?;
        let mut reader = BufReader::with_capacity(1 << 16, text::CheckedLines::new(reader));
        let mut first = Vec::new();
        reader.read_until(b'\n', &mut first).map_err(|error| broken(error, "line 1"))?;
        let mut found = Kept { wanted, seen: HashSet::new(), vectors: Self::default() };
        if let Some((count, dim)) = header(&first) {
            if dim == 0 {
                return Err(bad(STEP, "line 1", "it says that vectors have 0 coordinates"));
            }
            found.vectors.dim = dim;
            let mut ahead = Vec::new();
            let more = reader.by_ref().take(LONGEST_WORD).read_to_end(&mut ahead);
            more.map_err(|error| broken(error, "line 2"))?;
            let is_text = is_text(&ahead, dim);
            let rest = Cursor::new(ahead).chain(reader);
            if is_text { found.lines(rest, 2, count)? } else { found.binary(rest, count)? }
        } else if !first.is_empty() {
            found.vectors.dim = width(&first)?;
            found.lines(Cursor::new(first).chain(reader), 1, 0)?;
        }
        found.finish()
    }
}

/// A reader that reports how much was read.
struct Counted<'a, R> {
    reader: R,
    read: Counter<'a>,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let got = self.reader.read(buffer)?;
        self.read.add(got).map_err(io::Error::other)?;
        Ok(got)
    }
}

/// Parses a first line of two whole numbers: words and coordinates.
fn header(line: &[u8]) -> Option<(usize, usize)> {
    let line = std::str::from_utf8(line).ok()?;
    let mut parts = line.split_ascii_whitespace().map(|part| part.parse().ok());
    match (parts.next()??, parts.next()??, parts.next()) {
        (count, dim, None) => Some((count, dim)),
        _ => None,
    }
}

/// Returns the number of coordinates of the first line, which may begin with several words.
fn width(line: &[u8]) -> Result<usize> {
    let line = String::from_utf8_lossy(line);
    let parts: Vec<&str> = line.trim_end().split(' ').collect();
    let numbers = parts[1..].iter().rev().take_while(|part| part.parse::<f64>().is_ok()).count();
    if numbers > 0 {
        return Ok(numbers);
    }
    let reason = format!(
        "it begins with `{}`; a line of word vectors is a word and numbers, separated by spaces",
        start_of(line.trim_end().as_bytes())
    );
    Err(bad(STEP, "line 1", reason))
}

/// Checks whether a word and numbers, and no binary values, follow a header.
fn is_text(ahead: &[u8], dim: usize) -> bool {
    let line = ahead.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let Ok(line) = std::str::from_utf8(line) else { return false };
    let parts: Vec<&str> = line.split_ascii_whitespace().collect();
    // The line may be longer than what was read.
    let first = if parts.len() > dim { parts.len() - dim } else { 1 };
    let mut numbers = parts.iter().skip(first).take(3).map(|part| part.parse::<f64>());
    parts.len() > 1 && numbers.all(|number| number.is_ok_and(f64::is_finite))
}

/// The vectors read so far.
struct Kept<'a> {
    wanted: Option<&'a BTreeSet<String>>,
    seen: HashSet<String>,
    vectors: WordVectors,
}

impl Kept<'_> {
    fn wants(&self, word: &str) -> bool {
        self.wanted.is_none_or(|wanted| wanted.contains(word))
    }

    /// Keeps a vector unless its word has one already.
    fn keep(&mut self, word: &str, vector: impl Iterator<Item = f32>) -> Result<()> {
        if self.seen.contains(word) {
            return Ok(());
        }
        let all = &mut self.vectors;
        memory::grow(&mut all.coordinates, STEP, all.dim, INSTEAD)?;
        all.coordinates.extend(vector);
        all.words.push(word.into());
        self.seen.insert(word.into());
        Ok(())
    }

    /// Reads lines of a word and numbers, at least `count`; the first has the number `line`.
    fn lines(&mut self, mut reader: impl BufRead, mut line: u64, count: usize) -> Result<()> {
        let (mut bytes, mut numbers, mut words) = (Vec::new(), Vec::new(), 0);
        loop {
            bytes.clear();
            let got = reader.read_until(b'\n', &mut bytes);
            if got.map_err(|error| broken(error, &format!("line {line}")))? == 0 {
                break;
            }
            let text = trim_end(&bytes);
            words += usize::from(!text.is_empty());
            if !text.is_empty() && self.may_want(text) {
                self.line(text, &mut numbers, line)?;
            }
            line += 1;
        }
        if words < count {
            let reason = format!("the file ends after {words} of {count} words; copy it again");
            return Err(bad(STEP, format!("line {}", line - 1), reason));
        }
        Ok(())
    }

    /// Checks the first word of a line, which most lines are skipped by; words may contain spaces.
    fn may_want(&self, text: &[u8]) -> bool {
        let Some(wanted) = self.wanted else { return true };
        let mut parts = text.split(|&byte| byte == b' ');
        let first = parts.next().unwrap_or_default();
        parts.count() != self.vectors.dim || wanted.contains(&*String::from_utf8_lossy(first))
    }

    fn line(&mut self, text: &[u8], numbers: &mut Vec<f32>, line: u64) -> Result<()> {
        numbers.clear();
        let dim = self.vectors.dim;
        let mut parts = text.rsplitn(dim.saturating_add(1), |&byte| byte == b' ');
        for part in parts.by_ref().take(dim) {
            // As NumPy reads single precision: by double precision.
            let number = std::str::from_utf8(part).ok().and_then(|part| part.parse::<f64>().ok());
            numbers.extend(number.map(|number| number as f32).filter(|number| number.is_finite()));
        }
        let word = parts.next();
        let Some(word) = word.filter(|_| numbers.len() == dim) else {
            let place = format!("line {line}, word `{}`", start_of(text));
            return Err(bad(STEP, place, format!("it does not have {dim} numbers")));
        };
        let word = String::from_utf8_lossy(word);
        if self.wants(&word) { self.keep(&word, numbers.drain(..).rev()) } else { Ok(()) }
    }

    /// Reads word2vec's binary format: a word, a space, and numbers in single precision.
    fn binary(&mut self, mut reader: impl BufRead, count: usize) -> Result<()> {
        let dim = self.vectors.dim;
        memory::check(STEP, (dim as u64).saturating_mul(4), INSTEAD)?;
        let (mut word, mut data) = (Vec::new(), vec![0; 4 * dim]);
        for number in 1..=count {
            word.clear();
            let got = reader.by_ref().take(LONGEST_WORD).read_until(b' ', &mut word);
            let got = got.and_then(|_| reader.read_exact(&mut data));
            let damaged = || {
                let place = format!("word {number} of {count}");
                bad(STEP, place, "the file ends or is damaged here; copy it again")
            };
            got.map_err(|error| match error.downcast::<Error>() {
                Ok(error) => error,
                Err(_) => damaged(),
            })?;
            let text = word.strip_suffix(b" ").ok_or_else(damaged)?;
            let text = String::from_utf8_lossy(text.trim_ascii_start());
            if text.is_empty() {
                return Err(damaged());
            }
            if self.wants(&text) {
                let values = data.chunks_exact(4).map(|bytes| {
                    f32::from_le_bytes(bytes.try_into().expect("a chunk has four bytes"))
                });
                if !values.clone().all(f32::is_finite) {
                    let place = format!("word {number}, `{}`", start_of(text.as_bytes()));
                    return Err(bad(STEP, place, "a coordinate is not finite"));
                }
                self.keep(&text, values)?;
            }
        }
        Ok(())
    }

    fn finish(self) -> Result<WordVectors> {
        match self.wanted {
            _ if !self.vectors.words.is_empty() => Ok(self.vectors),
            Some(wanted) if self.vectors.dim > 0 => {
                let some: Vec<&str> = wanted.iter().take(3).map(String::as_str).collect();
                let (count, some) = (wanted.len(), some.join(", "));
                let reason = format!(
                    "none of the {count} words asked for is there, such as {some}; upper and lower case differ"
                );
                Err(bad(STEP, "all lines", reason))
            }
            _ => Err(bad(STEP, "line 1", "the file is empty")),
        }
    }
}

fn trim_end(line: &[u8]) -> &[u8] {
    let end = line.iter().rposition(|byte| !matches!(byte, b' ' | b'\r' | b'\n'));
    &line[..end.map_or(0, |end| end + 1)]
}

/// Returns the beginning of a word or line for messages.
fn start_of(text: &[u8]) -> String {
    let text = &text[..text.len().min(4 * SHOWN)];
    let text = String::from_utf8_lossy(text);
    let words = text.chars().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c });
    words.collect::<String>().trim_end().to_owned()
}

/// Converts an input error: one of our own errors, or one of the system or of gzip.
fn broken(error: io::Error, place: &str) -> Error {
    match error.downcast::<Error>() {
        Ok(error) => error,
        Err(error) => bad(STEP, place, format!("cannot be read further: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::progress::silent;

    fn read(bytes: &[u8], wanted: &[&str]) -> Result<WordVectors> {
        let wanted: BTreeSet<String> = wanted.iter().map(ToString::to_string).collect();
        let wanted = (!wanted.is_empty()).then_some(&wanted);
        WordVectors::of_reader(bytes, Some(bytes.len()), wanted, &silent)
    }

    fn binary(words: &[&str], vectors: &[f32], between: &str) -> Vec<u8> {
        let dim = vectors.len() / words.len();
        let mut bytes = format!("{} {dim}\n", words.len()).into_bytes();
        for (word, vector) in words.iter().zip(vectors.chunks(dim)) {
            bytes.extend(format!("{word} ").bytes());
            bytes.extend(vector.iter().flat_map(|number| number.to_le_bytes()));
            bytes.extend(between.bytes());
        }
        bytes
    }

    #[test]
    fn every_format_has_the_same_vectors() {
        let (words, vectors) = (["cat", "na\u{ef}ve"], [0.5, -1.0, 2e-3, 1.0, 0.0, 3.25]);
        let text = "cat 0.5 -1 2e-3\r\nna\u{ef}ve 1.0 0 3.25 \n\ncat 7 7 7\n";
        let expected = WordVectors {
            words: words.map(String::from).to_vec(),
            dim: 3,
            coordinates: vectors.into(),
        };
        for bytes in [
            text.as_bytes().to_vec(),
            format!("3 3\n{text}").into_bytes(),
            binary(&words, &vectors, "\n"),
            binary(&words, &vectors, ""),
        ] {
            assert_eq!(read(&bytes, &[]).unwrap(), expected);
            let one = read(&bytes, &["na\u{ef}ve", "dog"]).unwrap();
            assert_eq!((one.words.len(), &one.coordinates[..]), (1, &vectors[3..]));
        }
        let spaces = read(b"New York 1 2\nOslo 3 4\n", &["New York"]).unwrap();
        assert_eq!((&spaces.words[0][..], &spaces.coordinates[..]), ("New York", &[1.0, 2.0][..]));
    }

    #[test]
    fn files_with_fewer_lines_than_their_header_says_are_refused() {
        for wanted in [&[][..], &["cat"]] {
            let error = read(b"3 2\ncat 1 2\n\ndog 3 4\n", wanted).unwrap_err().to_string();
            assert!(error.contains("line 4: the file ends after 2 of 3 words"), "{error}");
        }
        assert_eq!(read(b"1 2\ncat 1 2\ndog 3 4\n", &[]).unwrap().words, ["cat", "dog"]);
    }

    #[test]
    fn errors_name_the_line() {
        let damaged = &binary(&["cat", "dog"], &[1.0, 2.0], "")[..];
        for (bytes, wanted, message) in [
            (&b""[..], "", "line 1: the file is empty"),
            (b"cat\n", "", "line 1: it begins with `cat`; a line of word vectors is"),
            (b"cat 1 2\ndog 1 x\n", "", "line 2, word `dog 1 x`: it does not have 2 numbers"),
            (b"cat 1 2\ndog 1\n", "", "line 2, word `dog 1`: it does not have 2 numbers"),
            (b"cat 1 2\ndog 1 inf\n", "dog", "line 2, word `dog 1 inf`"),
            (
                b"cat 1 2\n",
                "dog",
                "all lines: none of the 1 words asked for is there, such as dog;",
            ),
            (b"1 18446744073709551615\ncat 1 2\n", "", "line 2, word `cat 1 2`"),
            (&damaged[..damaged.len() - 1], "", "word 2 of 2: the file ends or is damaged here"),
            (&binary(&["cat"], &[f32::NAN], ""), "", "word 1, `cat`: a coordinate is not finite"),
            (b"2 0\n\x00\x01", "", "line 1: it says that vectors have 0 coordinates"),
        ] {
            let wanted: Vec<&str> = wanted.split_whitespace().collect();
            let error = read(bytes, &wanted).unwrap_err().to_string();
            assert!(error.starts_with("word vectors, "), "{error}");
            assert!(error.contains(message), "{error}");
        }
        let canceled = WordVectors::of_reader(&b"cat 1\n"[..], None, None, &|_| false);
        assert!(matches!(canceled, Err(Error::Canceled)));
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(
            head in "([0-9]{1,3} [0-9]{1,2}\n)?",
            bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"a1. \n".to_vec())], 0..200),
        ) {
            let all = [head.as_bytes(), &bytes].concat();
            if let Ok(found) = read(&all, &[]) {
                prop_assert_eq!(found.coordinates.len(), found.words.len() * found.dim);
                prop_assert!(found.coordinates.iter().all(|number| number.is_finite()));
            }
        }
    }
}
