//! Finished cells on disk, one line of JSON each, so that an interrupted run goes on where it
//! stopped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use treeport::Error;
use treeport::io::fingerprint::Job;
use treeport::io::journal;
use treeport_lab::experiment::{Row, Run};

/// The rows of one experiment, in memory and, if there is a folder, in a file.
pub(super) struct Journal {
    file: Option<journal::Journal>,
    command: String,
    lines: Vec<Value>,
}

impl Journal {
    /// Reads what is there already; the folder is made if need be.
    pub(super) fn open(folder: Option<&Path>, name: &str, command: String) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Self { file: None, command, lines: vec![] }) };
        std::fs::create_dir_all(folder)
            .map_err(|source| Error::Write { path: folder.into(), source })?;
        let (file, lines) = open(&place(folder, name))?;
        Ok(Self { file: Some(file), command, lines })
    }

    /// The rows of a cell that the same command has finished before.
    pub(super) fn find(&self, cell: &str) -> Option<Vec<Row>> {
        let same = |line: &&Value| line["cell"] == cell && line["command"] == *self.command;
        self.lines.iter().find(same)?["rows"].as_array().cloned()
    }

    /// Keeps the rows of a cell.
    pub(super) fn keep(&mut self, cell: &str, rows: &[Row]) -> Result<()> {
        let line = json!({
            "cell": cell, "command": self.command, "version": env!("TREEPORT_VERSION"),
            "rows": rows,
        });
        if let Some(file) = &mut self.file {
            file.append(format!("{line}\n").as_bytes())?;
        }
        self.lines.push(line);
        Ok(())
    }
}

/// The rows of a finished run, of all commands that were given one after the other.
pub(super) fn run(folder: &Path, name: &str) -> Result<Option<Run>> {
    let (_, lines) = open(&place(folder, name))?;
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

/// Where the lines of an experiment are.
fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.jsonl"))
}

/// The journal and its lines, each of which says which command it is of; none if there is no file.
fn open(path: &Path) -> Result<(journal::Journal, Vec<Value>)> {
    let file = journal::Journal::open(path, &Job::unnamed())?;
    let parsed = file.lines()?.into_iter().zip(1..).map(|(line, number)| {
        serde_json::from_str(&line).with_context(|| {
            format!(
                "`{}`, line {number}, is no JSON; remove the file to start anew",
                path.display()
            )
        })
    });
    let lines = parsed.collect::<Result<_>>()?;
    Ok((file, lines))
}
