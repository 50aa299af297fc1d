//! Distance matrices, as arrays or as text with names.

use std::io::Write;
use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use treeport::PreparedMeasures;
use treeport::io::npy;
use treeport::progress::Progress;
use treeport_jobs::{JobFingerprint, PartFile, Shard};

use super::{Filled, Form, Work, pairs_of};
use crate::output::Output;
use crate::pairs::Pairs;
use crate::parts::Parts;
use crate::progress::{Watch, or_interrupted, watched};
use crate::rows;

impl Work<'_> {
    /// Writes the matrix of all pairs in blocks of rows.
    pub(super) fn save_table<'a>(
        &self,
        (path, job): (&Path, &JobFingerprint),
        shard: Option<&'a Shard>,
        output: &'a Output,
    ) -> Result<Filled<'a>> {
        let (rows, columns) = (self.left.len(), self.against.unwrap_or(self.left).len());
        let head = self.head(rows, columns)?;
        let Range { start, end } = shard.map_or(0..rows, Shard::range);
        let rows = end - start;
        let bytes = (rows as u64).saturating_mul(columns as u64).saturating_mul(8);
        let bytes = bytes.saturating_add(head.len() as u64);
        let bytes = Some(bytes).filter(|_| self.form == Form::Npy);
        let parts = Parts::open(path, job, (rows, "rows"), bytes, output)?;
        let mut parts = parts.of(shard);
        let left = self.model.prepare(self.left)?;
        let right = self.against.map(|set| self.model.prepare(set)).transpose()?;
        let most = left.rows_at_once(columns);
        let whole = parts.fill(1..=most, &head, |file, rows, progress| {
            let rows = start + rows.start..start + rows.end;
            if let Form::Square(separator) = self.form {
                let values = some_rows(&left, right.as_ref(), rows.clone(), progress)?;
                let mut out = Vec::new();
                self.write_square(&mut out, separator, rows, &values)?;
                return Ok(out);
            }
            let Some(right) = &right else {
                // Rows before a shard are not in its file.
                let copied = if shard.is_some() { 0 } else { left.first_column(rows.start) };
                let values = left.block(rows.clone(), copied..columns, progress)?;
                return whole_rows(file, head.len(), rows, (copied, columns), &values);
            };
            let values = left.cross_rows(right, rows, progress)?;
            Ok(values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })?;
        Ok(if whole { Ok(parts) } else { Err(parts.interrupted()) })
    }

    /// Returns the header of the matrix.
    fn head(&self, rows: usize, columns: usize) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        if let Form::Square(separator) = self.form {
            rows::square_header(&mut head, separator, (self.right_names.as_deref(), columns))?;
        } else {
            npy::write_f64_header(&[rows, columns], &mut head)?;
        }
        Ok(head)
    }

    /// Writes rows of the matrix as text.
    fn write_square(
        &self,
        out: &mut dyn Write,
        separator: char,
        rows: Range<usize>,
        values: &[f64],
    ) -> Result<()> {
        let columns = self.against.unwrap_or(self.left).len();
        rows.zip(values.chunks(columns.max(1))).try_for_each(|(row, values)| {
            rows::square_row(out, separator, (self.left_names.as_deref(), row), values)
        })
    }

    /// Writes the matrix as text to stdout, or to anything other than a regular file.
    pub(super) fn print_square(
        &self,
        file: Option<&Path>,
        separator: char,
        output: &Output,
    ) -> Result<()> {
        let watch = Watch::of_rows(output, file.is_none());
        let (rows, columns) = (self.left.len(), self.against.unwrap_or(self.left).len());
        let left = self.model.prepare(self.left)?;
        let right = self.against.map(|set| self.model.prepare(set)).transpose()?;
        let size = left.rows_at_once(columns);
        rows::write(file, output, |out, _| {
            out.write_all(&self.head(rows, columns)?)?;
            for first in (0..rows).step_by(size) {
                let some = first..rows.min(first + size);
                let progress = watch.after(first, rows);
                let values = some_rows(&left, right.as_ref(), some.clone(), &progress);
                let values = or_interrupted(values)?;
                self.write_square(out, separator, some, &values)?;
            }
            Ok(())
        })
    }

    /// Computes the matrix of all pairs, or the distances of listed pairs, with its shape.
    pub(super) fn table(&self, output: &Output) -> Result<(Vec<usize>, Vec<f64>)> {
        let (rows, columns) = (self.left.len(), self.against.unwrap_or(self.left).len());
        if let Pairs::Listed(pairs) = self.pairs {
            let (prepared, offset) = self.prepare()?;
            let values = watched(output, |progress| pairs_of(&prepared, offset, pairs, progress))?;
            return Ok((vec![values.len()], values));
        }
        let values = watched(output, |progress| match self.against {
            Some(right) => self.model.cross(self.left, right, progress),
            None => self.model.pairwise(self.left, progress),
        })?;
        Ok((vec![rows, columns], values))
    }
}

/// Computes complete rows of the matrix.
fn some_rows(
    left: &PreparedMeasures,
    right: Option<&PreparedMeasures>,
    rows: Range<usize>,
    progress: &Progress<'_>,
) -> treeport::Result<Vec<f64>> {
    match right {
        Some(right) => left.cross_rows(right, rows, progress),
        None => left.block(rows, 0..left.measures().len(), progress),
    }
}

/// Completes rows of a symmetric matrix; columns before `copied` come from rows in the file.
fn whole_rows(
    file: &PartFile,
    head: usize,
    rows: Range<usize>,
    (copied, columns): (usize, usize),
    values: &[f64],
) -> Result<Vec<u8>> {
    let mut bytes = vec![0; 8 * rows.len() * columns];
    let mut above = vec![0; 8 * rows.len()];
    for column in 0..copied {
        let at = head as u64 + 8 * (column as u64 * columns as u64 + rows.start as u64);
        file.read_at(at, &mut above)?;
        for (row, value) in above.chunks(8).enumerate() {
            bytes[8 * (row * columns + column)..][..8].copy_from_slice(value);
        }
    }
    let given = values.chunks((columns - copied).max(1));
    for (row, given) in bytes.chunks_mut(8 * columns).zip(given) {
        for (out, value) in row[8 * copied..].chunks_mut(8).zip(given) {
            out.copy_from_slice(&value.to_le_bytes());
        }
    }
    Ok(bytes)
}
