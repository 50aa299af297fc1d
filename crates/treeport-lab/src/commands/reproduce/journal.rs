//! Journal of finished cells, one JSON object per line, from which an interrupted run resumes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use treeport::Error;
use treeport_jobs::{JobFingerprint, journal};
use treeport_lab::experiment::{Cell, Row, Run};

/// Rows of one experiment, in memory and, if there is a folder, in a file.
pub(super) struct Journal {
    file: Option<journal::Journal>,
    command: String,
    lines: Vec<Value>,
}

impl Journal {
    /// Reads the existing rows; creates the folder if needed.
    pub(super) fn open(folder: Option<&Path>, name: &str, command: String) -> Result<Self> {
        let Some(folder) = folder else { return Ok(Self { file: None, command, lines: vec![] }) };
        std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
        let path = place(folder, name);
        let file = journal::Journal::open(&path, &job())?;
        let lines = parsed(&path, file.lines()?)?;
        Ok(Self { file: Some(file), command, lines })
    }

    /// Returns the number of damaged lines, which are ignored.
    pub(super) fn dropped(&self) -> usize {
        self.file.as_ref().map_or(0, journal::Journal::dropped)
    }

    /// Returns the rows of a cell that the same command and version finished on the same data.
    pub(super) fn find(&self, cell: &Cell<'_>) -> Result<Option<Vec<Row>>> {
        let key = self.key(cell)?;
        let same = |line: &&Value| KEYS.iter().all(|part| line[part] == key[part]);
        Ok(self.lines.iter().find(same).and_then(|line| line["rows"].as_array().cloned()))
    }

    /// Stores the rows of a cell.
    pub(super) fn keep(&mut self, cell: &Cell<'_>, rows: &[Row]) -> Result<()> {
        let mut line = self.key(cell)?;
        line["rows"] = rows.into();
        if let Some(file) = &mut self.file {
            file.append(format!("{line}\n").as_bytes())?;
        }
        self.lines.push(line);
        Ok(())
    }

    /// Returns the identity of a cell's rows.
    fn key(&self, cell: &Cell<'_>) -> Result<Value> {
        Ok(json!({
            "cell": cell.name, "command": self.command, "version": env!("TREEPORT_VERSION"),
            "data": format!("{:016x}", cell.data()?),
        }))
    }
}

/// Keys of a line that identify its rows.
const KEYS: [&str; 4] = ["cell", "command", "version", "data"];

/// Computes the fingerprint of the journal, which has lines of all versions and commands.
fn job() -> JobFingerprint {
    JobFingerprint::lasting("treeport-reproduce-2")
}

/// Returns the rows of all commands of a finished run; for a cell that ran again, on other data or
/// by another version, only the last ones.
pub(super) fn run(folder: &Path, name: &str) -> Result<Option<Run>> {
    let path = place(folder, name);
    let lines = parsed(&path, journal::Journal::read(&path, &job())?)?;
    let mut run = Run { experiment: name.into(), ..Run::default() };
    for (k, line) in lines.iter().enumerate() {
        let again = |later: &Value| KEYS[..2].iter().all(|part| later[part] == line[part]);
        if lines[k + 1..].iter().any(again) {
            continue;
        }
        for (list, key) in [(&mut run.commands, "command"), (&mut run.versions, "version")] {
            let text = line[key].as_str().unwrap_or_default().to_owned();
            if !list.contains(&text) {
                list.push(text);
            }
        }
        run.rows.extend(line["rows"].as_array().into_iter().flatten().cloned());
    }
    Ok((!lines.is_empty()).then_some(run))
}

/// Returns the path of the rows of an experiment.
fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.rows"))
}

fn parsed(path: &Path, lines: Vec<String>) -> Result<Vec<Value>> {
    let parse = |(line, number): (String, usize)| {
        serde_json::from_str(&line).with_context(|| {
            format!(
                "`{}`, row {number}, is not JSON; remove the file to start over",
                path.display()
            )
        })
    };
    lines.into_iter().zip(1..).map(parse).collect()
}
