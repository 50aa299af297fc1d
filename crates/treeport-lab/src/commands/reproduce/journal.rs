//! Finished cells on disk, one line of JSON each, so that an interrupted run goes on where it
//! stopped.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use treeport::Error;
use treeport_jobs::{JobFingerprint, journal};
use treeport_lab::experiment::{Cell, Row, Run};

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
        std::fs::create_dir_all(folder).map_err(|source| Error::write(folder, source))?;
        let path = place(folder, name);
        let file = journal::Journal::open(&path, &job())?;
        let lines = parsed(&path, file.lines()?)?;
        Ok(Self { file: Some(file), command, lines })
    }

    /// How many lines were damaged and count no more.
    pub(super) fn dropped(&self) -> usize {
        self.file.as_ref().map_or(0, journal::Journal::dropped)
    }

    /// The rows of a cell that the same command of the same program has finished before, on the same
    /// data.
    pub(super) fn find(&self, cell: &Cell<'_>) -> Result<Option<Vec<Row>>> {
        let key = self.key(cell)?;
        let same = |line: &&Value| KEYS.iter().all(|part| line[part] == key[part]);
        Ok(self.lines.iter().find(same).and_then(|line| line["rows"].as_array().cloned()))
    }

    /// Keeps the rows of a cell.
    pub(super) fn keep(&mut self, cell: &Cell<'_>, rows: &[Row]) -> Result<()> {
        let mut line = self.key(cell)?;
        line["rows"] = rows.into();
        if let Some(file) = &mut self.file {
            file.append(format!("{line}\n").as_bytes())?;
        }
        self.lines.push(line);
        Ok(())
    }

    /// What rows depend on.
    fn key(&self, cell: &Cell<'_>) -> Result<Value> {
        Ok(json!({
            "cell": cell.name, "command": self.command, "version": env!("TREEPORT_VERSION"),
            "data": format!("{:016x}", cell.data()?),
        }))
    }
}

/// The parts of a line that say what its rows depend on.
const KEYS: [&str; 4] = ["cell", "command", "version", "data"];

/// Lines of all versions of the program and all commands, one after the other.
fn job() -> JobFingerprint {
    JobFingerprint::lasting("treeport-reproduce-2")
}

/// The rows of a finished run, of all commands that were given one after the other; of a cell that
/// was run again, on other data or by another version, the last ones.
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

/// Where the lines of an experiment are.
fn place(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.rows"))
}

fn parsed(path: &Path, lines: Vec<String>) -> Result<Vec<Value>> {
    let parse = |(line, number): (String, usize)| {
        serde_json::from_str(&line).with_context(|| {
            format!("`{}`, row {number}, is no JSON; remove the file to start anew", path.display())
        })
    };
    lines.into_iter().zip(1..).map(parse).collect()
}
