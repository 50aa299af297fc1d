//! The rows done so far, in a file beside the target: whoever comes back goes on from there.
//!
//! The first line says which job it is, then rows follow in the order of the pairs. A line that was cut
//! off, and all after it, is done again; at the end the rows move to the target and the journal goes.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use treeport::Error;

use crate::fingerprint::Fingerprint;
use crate::output;
use crate::pairs::Pairs;
use crate::rows;

/// An open journal.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// Bytes of the first line.
    head: u64,
    /// Rows it has.
    pub(crate) done: usize,
}

impl Journal {
    /// Where the journal of a target is.
    pub(crate) fn beside(target: &Path) -> PathBuf {
        let mut name = target.as_os_str().to_owned();
        name.push(".part");
        name.into()
    }

    /// Begins a journal, or opens the one that an earlier run of the same job has left.
    pub(crate) fn open(target: &Path, job: &Fingerprint, pairs: &Pairs) -> Result<Self> {
        let path = Self::beside(target);
        output::check_place(&path)?;
        let broken = |source: io::Error| Error::Write { path: path.clone(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let mut file = options.open(&path).map_err(broken)?;
        let mut reader = BufReader::new(&file);
        let mut first = Vec::new();
        reader.read_until(b'\n', &mut first).map_err(broken)?;
        let expected = format!("{job}\n");
        if !expected.as_bytes().starts_with(&first) {
            return foreign(&path, job, &first);
        }
        let (mut done, mut kept) = (0, first.len() as u64);
        if first.len() == expected.len() {
            let (rows, bytes) = count(&mut reader, pairs).map_err(broken)?;
            (done, kept) = (rows, kept + bytes);
        } else {
            kept = 0;
        }
        file.set_len(kept).map_err(broken)?;
        file.seek(SeekFrom::Start(kept)).map_err(broken)?;
        if kept == 0 {
            file.write_all(expected.as_bytes()).map_err(broken)?;
        }
        Ok(Self { path, file, head: expected.len() as u64, done })
    }

    /// Adds the rows of the next pairs; a kill after this does not undo it.
    pub(crate) fn append(&mut self, pairs: &[(usize, usize)], distances: &[f64]) -> Result<()> {
        let mut rows = Vec::new();
        rows::distance_rows(&mut rows, false, (None, None), pairs, distances)?;
        let written = self.file.write_all(&rows);
        written.map_err(|source| Error::Write { path: self.path.clone(), source })?;
        self.done += pairs.len();
        Ok(())
    }

    /// The distances of all rows.
    pub(crate) fn distances(&mut self, pairs: &Pairs) -> Result<Vec<f64>> {
        let broken = |source: io::Error| Error::Read { path: self.path.clone(), source };
        self.file.seek(SeekFrom::Start(self.head)).map_err(broken)?;
        let mut lines = BufReader::new(&self.file).lines();
        let mut distances = Vec::with_capacity(self.done);
        for pair in pairs.iter() {
            let line = lines.next().transpose().map_err(broken)?.unwrap_or_default();
            let Some(distance) = row_distance(&line, pair) else {
                bail!("`{}` was changed by another program; delete it", self.path.display());
            };
            distances.push(distance);
        }
        Ok(distances)
    }

    /// Moves all rows to the target.
    pub(crate) fn finish(mut self, target: &Path, pairs: &Pairs) -> Result<()> {
        let broken = |source: io::Error| Error::Read { path: self.path.clone(), source };
        self.file.seek(SeekFrom::Start(self.head)).map_err(broken)?;
        let (rows, bytes) = count(&mut BufReader::new(&self.file), pairs).map_err(broken)?;
        ensure!(
            rows == pairs.len(),
            "`{}` has only {rows} of {} rows: another program has changed it; run the same command again",
            self.path.display(),
            pairs.len()
        );
        self.file.seek(SeekFrom::Start(self.head)).map_err(broken)?;
        output::save(target, |out| {
            rows::distance_header(out, false)?;
            io::copy(&mut (&self.file).take(bytes), out)?;
            Ok(())
        })?;
        drop(self.file);
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                bail!("cannot remove `{}`: {error}", self.path.display())
            }
            _ => Ok(()),
        }
    }
}

/// The rows at the front that are whole and of the expected pairs, and their bytes.
fn count(reader: &mut impl BufRead, pairs: &Pairs) -> io::Result<(usize, u64)> {
    let (mut rows, mut bytes) = (0, 0);
    let mut line = Vec::new();
    for pair in pairs.iter() {
        line.clear();
        let length = reader.read_until(b'\n', &mut line)?;
        if !is_row(&line, pair) {
            break;
        }
        rows += 1;
        bytes += length as u64;
    }
    Ok((rows, bytes))
}

fn is_row(line: &[u8], (left, right): (usize, usize)) -> bool {
    let text = line.strip_suffix(b"\n").and_then(|line| std::str::from_utf8(line).ok());
    text.and_then(|text| row_distance(text, (left, right))).is_some()
}

/// The distance in the row of a pair, if it is that.
fn row_distance(line: &str, (left, right): (usize, usize)) -> Option<f64> {
    let distance: f64 = line.strip_prefix(&format!("{left},{right},"))?.parse().ok()?;
    (distance.is_finite() && distance >= 0.0).then_some(distance)
}

fn foreign<T>(path: &Path, job: &Fingerprint, first: &[u8]) -> Result<T> {
    let path = path.display();
    match job.differences(&String::from_utf8_lossy(first)) {
        Some(differences) if !differences.is_empty() => bail!(
            "`{path}` was left by another job (other {differences}); run that job again to finish it, delete the file to begin anew, or give another `-o`"
        ),
        _ => {
            bail!("`{path}` is no journal of `treeport exact`; move it away or give another `-o`")
        }
    }
}

#[cfg(test)]
mod tests {
    use treeport::{GroundMetric, Measures, Norm};

    use super::*;

    const ROWS: &str = "left,right,distance\n0,1,0.5\n0,2,1\n1,2,0.25\n";

    /// A job of three pairs of measures on two points.
    fn job(points: Vec<f64>) -> (Fingerprint, Pairs) {
        let metric = GroundMetric::from_points(1, points, Norm::Euclidean).expect("points");
        let measures = Measures::unit_masses(2, [0, 1, 1]).expect("measures");
        let pairs = Pairs::Within(3);
        (Fingerprint::new(&metric, &measures, &pairs), pairs)
    }

    /// Opens the journal, adds what it lacks, and finishes; how many rows it had.
    fn complete(target: &Path) -> usize {
        let (fingerprint, pairs) = job(vec![0.0, 1.0]);
        let mut journal = Journal::open(target, &fingerprint, &pairs).expect("a journal");
        let had = journal.done;
        let all = [((0, 1), 0.5), ((0, 2), 1.0), ((1, 2), 0.25)];
        for (pair, distance) in &all[had..] {
            journal.append(&[*pair], &[*distance]).expect("a row");
        }
        journal.finish(target, &pairs).expect("a target");
        assert_eq!(fs::read_to_string(target).expect("the target"), ROWS);
        assert!(!Journal::beside(target).exists());
        had
    }

    #[test]
    fn rows_that_were_cut_or_damaged_are_done_again() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        assert_eq!(complete(&target), 0);
        let first = job(vec![0.0, 1.0]).0.to_string();
        for (left, rows) in [
            (String::new(), 0),
            (first[..30].to_owned(), 0),
            (first.clone(), 0),
            (format!("{first}\n"), 0),
            (format!("{first}\n0,1,0."), 0),
            (format!("{first}\n0,1,0.5\n0,2,1"), 1),
            (format!("{first}\n0,1,0.5\n0,2,1\n\0\0\0\0"), 2),
            (format!("{first}\n0,1,0.5\n0,3,1\n1,2,0.25\n"), 1),
            (format!("{first}\n0,1,0.5\n0,2,NaN\n1,2,0.25\n"), 1),
            (format!("{first}\n0,1,0.5\n0,2,1\n1,2,0.25\n"), 3),
            (format!("{first}\n0,1,0.5\n0,2,1\n1,2,0.25\n9,9,9\n"), 3),
        ] {
            fs::write(Journal::beside(&target), &left).expect("a writable folder");
            assert_eq!(complete(&target), rows, "{left:?}");
        }
    }

    #[test]
    fn a_foreign_file_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        let path = Journal::beside(&target);
        let (fingerprint, pairs) = job(vec![0.0, 1.0]);
        let other = format!("{}\n0,1,0.5\n", job(vec![0.0, 2.0]).0);
        for (contents, why) in [(&other[..], "(other metric)"), ("my notes\n", "is no journal")] {
            fs::write(&path, contents).expect("a writable folder");
            let error = Journal::open(&target, &fingerprint, &pairs).expect_err("foreign");
            assert!(error.to_string().contains(why), "{error}");
            assert_eq!(fs::read_to_string(&path).expect("still there"), contents);
        }
    }

    #[test]
    fn a_journal_changed_by_others_does_not_become_a_result() {
        let folder = tempfile::tempdir().expect("a folder");
        let target = folder.path().join("labels.csv");
        let (fingerprint, pairs) = job(vec![0.0, 1.0]);
        let mut journal = Journal::open(&target, &fingerprint, &pairs).expect("a journal");
        journal.append(&[(0, 1), (0, 2), (2, 1)], &[0.5, 1.0, 0.25]).expect("rows");
        let error = journal.finish(&target, &pairs).expect_err("a wrong row");
        assert!(error.to_string().contains("has only 2 of 3 rows"), "{error}");
        assert!(!target.exists());
    }
}
