//! `treeport embed`: vectors of measures whose cityblock distance is that of the model.

use std::io::{self, Seek, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args;
use serde_json::json;
use treeport::io::npz::{self, Entries};
use treeport::progress::State;
use treeport::{Csr, Error, Measures, Model};
use treeport_jobs::fingerprint::of_measures;
use treeport_jobs::part::Block;
use treeport_jobs::{JobFingerprint, PartFile};

use crate::args::{ModelArgs, ModelCloudArgs};
use crate::commands::clouds;
use crate::output::{self, Output};
use crate::parts::{self, Parts};
use crate::rows;
use crate::{input, interrupt};

const EXAMPLE: &str = "\
Examples:
  treeport embed model.tree --measures docs.npz -o rows.npz
  treeport embed model.tree --measures docs.npz --measure-names titles.txt > rows.csv

At every node v of the tree, a row has length(v) times the mass below v. So the Manhattan distance (cityblock)
of two rows is the tree distance of the two measures, and any index for that distance will do. The columns of the
trees of a forest stand side by side, each times the weight of its tree.
In Python: rows = scipy.sparse.load_npz(\"rows.npz\")

With `-o`, rows are written in blocks. After Ctrl-C, a crash or a kill the same command continues
from `rows.npz.part`.";

/// Options of `treeport embed`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLE)]
#[command(mut_arg("measures", |arg| arg.required(false).required_unless_present("clouds")))]
pub(crate) struct EmbedArgs {
    #[command(flatten)]
    pub(super) of: ModelArgs,
    #[command(flatten)]
    pub(super) clouds: ModelCloudArgs,
    /// Names of the measures, one per line; text rows then have them.
    #[arg(long, value_name = "FILE", help_heading = "Measures")]
    pub(super) measure_names: Option<PathBuf>,
    /// Write to a file: a SciPy sparse matrix (.npz), or rows measure, node, value (.csv).
    #[arg(short, long, value_name = "FILE")]
    pub(super) output: Option<PathBuf>,
}

const COLUMNS: [&str; 3] = ["measure", "node", "value"];

/// Name of the task in progress bars.
const TASK: &str = "embedding";

/// Inputs of the computation.
struct Work<'a> {
    model: &'a Model,
    measures: &'a Measures,
    titles: Option<Vec<String>>,
    /// Name of the file of measures, for errors.
    from: String,
}

/// Runs `treeport embed`.
pub(crate) fn run(args: &EmbedArgs, output: &Output) -> Result<ExitCode> {
    if let Some(path) = &args.clouds.clouds {
        return clouds::embed(args, path, output);
    }
    let file = rows::target(args.output.as_deref(), "an embedding goes", &["npz", "csv"])?;
    let model = args.of.model()?;
    let measures = args.of.measures.read((&model).into(), output)?;
    let titles = input::measure_names(args.measure_names.as_deref(), &measures)?;
    let from = input::name(args.of.measures.path()?);
    let work = Work { model: &model, measures: &measures, titles, from };
    let npz = file.filter(|path| input::extension(path).is_some_and(|ending| ending == "npz"));
    let Some(path) = parts::regular(file) else {
        work.print(file, npz.is_some(), output)?;
        return Ok(ExitCode::SUCCESS);
    };
    let mut parts =
        Parts::open(path, &work.job(npz.is_some()), (measures.len(), "rows"), None, output)?;
    if !work.fill(&mut parts, npz.is_some())? {
        return Ok(parts.interrupted());
    }
    let (count, nodes) = (measures.len(), model.nodes());
    let entries = if npz.is_some() {
        output::save(path, |out| Ok(assemble(&parts.file, [count, nodes], out)?))?;
        let entries = entries(parts.file.blocks());
        parts.file.remove()?;
        entries
    } else {
        let entries = lines(&parts.file)? - 1;
        parts.file.finish()?;
        entries
    };
    let facts = json!({"measures": count, "nodes": nodes, "entries": entries});
    rows::wrote(output, "embed", file, facts, &format!("{count} rows over {nodes} nodes"))?;
    Ok(ExitCode::SUCCESS)
}

impl Work<'_> {
    fn job(&self, npz: bool) -> JobFingerprint {
        JobFingerprint::new("treeport-embed-1")
            .part("format", npz.into())
            .part("model", parts::of_model(self.model))
            .part("measures", of_measures(self.measures))
            .part("measure-names", parts::of_names(self.titles.as_deref()))
    }

    /// Embeds the given measures.
    fn rows(&self, which: Range<usize>) -> Result<Csr> {
        let some = which.map(|row| self.measures.row(row).iter());
        let some = Measures::from_rows(self.measures.points(), some)?;
        self.model.embed(&some).with_context(|| self.from.clone())
    }

    /// Computes the missing rows; returns false if interrupted.
    fn fill(&self, parts: &mut Parts<'_>, npz: bool) -> Result<bool> {
        let mut head = Vec::new();
        if !npz {
            rows::header(&mut head, false, &COLUMNS)?;
        }
        let threads = rayon::current_num_threads();
        parts.fill(threads..=usize::MAX, &head, |_, which, progress| {
            let (first, rows) = (which.start, self.rows(which)?);
            if !progress(&State::new(TASK, rows.rows, None)) {
                return Err(Error::Canceled.into());
            }
            let mut out = Vec::new();
            if npz {
                put(&rows, &mut out);
            } else {
                let titles = self.titles.as_deref();
                rows::sparse(&mut out, (false, &COLUMNS), (titles, first), &rows)?;
            }
            Ok(out)
        })
    }

    /// Writes all rows to stdout, or to anything other than a regular file, such as a pipe.
    fn print(&self, file: Option<&Path>, npz: bool, output: &Output) -> Result<()> {
        let all = self.rows(0..self.measures.len())?;
        interrupt::check()?;
        if let Some(path) = file.filter(|_| npz) {
            return output::save(path, |out| Ok(npz::write_csr(&all, out)?));
        }
        rows::write_all((file, None), output, &COLUMNS, |out, json| {
            rows::sparse(out, (json, &COLUMNS), (self.titles.as_deref(), 0), &all)
        })
    }
}

/// Encodes rows for the archive: entries of every row, all columns, all values, 8 bytes each.
fn put(rows: &Csr, out: &mut Vec<u8>) {
    let lengths = rows.start.windows(2).map(|bounds| bounds[1] - bounds[0]);
    let counts = lengths.chain(rows.indices.iter().copied());
    out.extend(counts.flat_map(|count| (count as u64).to_le_bytes()));
    out.extend(rows.values.iter().flat_map(|value| value.to_le_bytes()));
}

/// Returns the number of entries in some blocks.
fn entries(blocks: &[Block]) -> u64 {
    blocks.iter().map(|block| (block.bytes / 8 - block.items as u64) / 2).sum()
}

/// Assembles the archive from all blocks.
fn assemble(file: &PartFile, shape: [usize; 2], out: impl Write + Seek) -> io::Result<()> {
    let count = usize::try_from(entries(file.blocks())).map_err(io::Error::other)?;
    npz::write_csr_with(shape, count, out, |list, out| {
        let (mut at, mut sum) = (0, 0u64);
        if list == Entries::Start {
            out.write_all(&sum.to_le_bytes())?;
        }
        for block in file.blocks() {
            let (rows, entries) = (8 * block.items as u64, 8 * entries(&[*block]));
            let (from, size) = match list {
                Entries::Start => (at, rows),
                Entries::Indices => (at + rows, entries),
                Entries::Values => (at + rows + entries, entries),
            };
            copy(file, from, size, |bytes| match list {
                Entries::Start => bytes.chunks(8).try_for_each(|length| {
                    sum += length.try_into().map_or(0, u64::from_le_bytes);
                    out.write_all(&sum.to_le_bytes())
                }),
                _ => out.write_all(bytes),
            })?;
            at += block.bytes;
        }
        Ok(())
    })
}

/// Counts the lines of a text file.
fn lines(file: &PartFile) -> io::Result<u64> {
    let mut lines = 0;
    copy(file, 0, file.bytes(), |bytes| {
        lines += bytes.split(|&byte| byte == b'\n').count() as u64 - 1;
        Ok(())
    })?;
    Ok(lines)
}

/// Passes a part of the file to `take` in pieces.
fn copy(
    file: &PartFile,
    from: u64,
    size: u64,
    mut take: impl FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    let mut at = 0;
    while at < size {
        let piece = &mut buffer[..usize::try_from(size - at).map_or(1 << 16, |n| n.min(1 << 16))];
        file.read_at(from + at, piece).map_err(io::Error::other)?;
        take(piece)?;
        at += piece.len() as u64;
    }
    Ok(())
}
