//! Finished cells on disk, one line of JSON each, so that an interrupted run goes on where it stopped.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use treeport::Error;
use treeport_lab::experiment::{Row, Run};

use crate::output;

/// The rows of one experiment, in memory and, if there is a folder, in a file.
pub(super) struct Journal {
    path: Option<PathBuf>,
    command: String,
    lines: Vec<Value>,
}

impl Journal {
    /// Reads what is there already; the folder is made if need be.
    pub(super) fn open(folder: Option<&Path>, name: &str, command: String) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Self { path: None, command, lines: vec![] }) };
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.into(), source })?;
        let path = folder.join(format!("{name}.jsonl"));
        let lines = read(&path)?;
        Ok(Self { path: Some(path), command, lines })
    }

    /// The rows of a cell that the same command has finished before.
    pub(super) fn find(&self, cell: &str) -> Option<Vec<Row>> {
        let same = |line: &&Value| line["cell"] == cell && line["command"] == *self.command;
        self.lines.iter().find(same)?["rows"].as_array().cloned()
    }

    /// Keeps the rows of a cell: the file is written beside and renamed, so that it is whole at any time.
    pub(super) fn keep(&mut self, cell: &str, rows: &[Row]) -> Result<()> {
        self.lines.push(json!({
            "cell": cell, "command": self.command, "version": env!("TREEPORT_VERSION"),
            "rows": rows,
        }));
        let Some(path) = &self.path else { return Ok(()) };
        output::save(path, |out| {
            for line in &self.lines {
                writeln!(out, "{line}")?;
            }
            Ok(())
        })
    }
}

/// The rows of a finished run, of all commands that were given one after the other.
pub(super) fn run(folder: &Path, name: &str) -> Result<Option<Run>> {
    let lines = read(&folder.join(format!("{name}.jsonl")))?;
    if lines.is_empty() {
        return Ok(None);
    }
    let mut run = Run { experiment: name.into(), ..Run::default() };
    for line in &lines {
        for (list, key) in [(&mut run.commands, "command"), (&mut run.versions, "version")] {
            let text = line[key].as_str().unwrap_or_default().to_owned();
            if !list.contains(&text) {
                list.push(text);
            }
        }
        run.rows.extend(line["rows"].as_array().into_iter().flatten().cloned());
    }
    Ok(Some(run))
}

/// The lines of a file; none if there is no file.
fn read(path: &Path) -> Result<Vec<Value>> {
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.into(), source })?;
    let parsed = text.lines().enumerate().map(|(k, line)| {
        serde_json::from_str(line).with_context(|| {
            format!(
                "`{}`, line {}, is no JSON; remove the file to start anew",
                path.display(),
                k + 1
            )
        })
    });
    parsed.collect()
}
