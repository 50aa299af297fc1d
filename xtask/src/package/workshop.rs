//! Build environment of packages: folders, programs, and steps with their times.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use tempfile::TempDir;

use crate::plan::venv_python;

/// Folders, programs, and facts about the commit.
pub(crate) struct Workshop {
    pub(crate) root: PathBuf,
    /// Target folder of cargo.
    pub(crate) target: PathBuf,
    /// Folder of the artifacts.
    pub(crate) dist: PathBuf,
    /// Temporary folder.
    pub(crate) work: TempDir,
    pub(crate) version: String,
    pub(crate) commit: String,
    /// Time of the commit: seconds after 1970, and as a date.
    pub(crate) seconds: u64,
    pub(crate) time: String,
    /// Target triple, that of this machine.
    pub(crate) triple: String,
    cargo: OsString,
    python: OsString,
    steps: Vec<(&'static str, Duration)>,
}

impl Workshop {
    pub(crate) fn new(
        root: PathBuf,
        target: PathBuf,
        cargo: OsString,
        python: OsString,
    ) -> Result<Self> {
        let mut workshop = Self {
            dist: target.join("dist"),
            work: tempfile::tempdir()?,
            version: env!("CARGO_PKG_VERSION").into(),
            commit: String::new(),
            seconds: 0,
            time: String::new(),
            triple: String::new(),
            root,
            target,
            cargo,
            python,
            steps: Vec::new(),
        };
        workshop.detect()?;
        Ok(workshop)
    }

    /// Queries git for the commit, and the compiler for the target.
    fn detect(&mut self) -> Result<()> {
        let git = |args: &[&str]| {
            let mut command = self.command("git");
            command.args(args).env("TZ", "UTC");
            output_of(command).map(|text| text.trim().to_owned())
        };
        let changed = git(&["status", "--porcelain"])?;
        if !changed.is_empty() {
            bail!("packages are made from commits, and these files differ from it:\n{changed}");
        }
        let about = git(&["show", "-s", "--format=%H %ct %cd", "--date=format-local:%FT%TZ"])?;
        let mut about = about.split(' ');
        let mut next = || about.next().context("git printed fewer fields than requested");
        let (commit, seconds, time) = (next()?.to_owned(), next()?.parse()?, next()?.to_owned());
        let mut rustc = self.command("rustc");
        rustc.arg("-vV");
        let about = output_of(rustc)?;
        let host = about.lines().find_map(|line| line.strip_prefix("host: "));
        let triple = host.context("`rustc -vV` names no host")?.to_owned();
        (self.commit, self.seconds, self.time, self.triple) = (commit, seconds, time, triple);
        Ok(())
    }

    /// Empties the folder of artifacts, and installs the tools.
    pub(crate) fn begin(&mut self) -> Result<()> {
        if self.dist.exists() {
            std::fs::remove_dir_all(&self.dist)?;
        }
        std::fs::create_dir_all(&self.dist)?;
        let tools = self.tools();
        if !venv_python(&tools).exists() {
            let command = self.venv(&tools);
            self.step("tools venv", command)?;
        }
        let command = self.pip(&tools, &["--requirement", "xtask/package.txt"]);
        self.step("tools", command)
    }

    fn tools(&self) -> PathBuf {
        self.target.join("venv-package-tools")
    }

    /// Creates a command in the root of the repository.
    pub(crate) fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root).stdin(Stdio::null());
        // The tools come first: cargo finds its subcommand there, and that its linker.
        let tools = venv_python(&self.tools());
        let tools = tools.parent().map(Path::to_owned);
        let path = std::env::var_os("PATH").unwrap_or_default();
        let all = tools.into_iter().chain(std::env::split_paths(&path));
        command.env("PATH", std::env::join_paths(all).unwrap_or(path));
        // Python must not import from the checkout, and outputs must not depend on the machine.
        command.env_remove("PYTHONPATH").env("PYTHONNOUSERSITE", "1");
        command.env("SOURCE_DATE_EPOCH", self.seconds.to_string()).env("CARGO_INCREMENTAL", "0");
        command.env("CARGO_ZIGBUILD_CACHE_DIR", self.target.join("packaging/zigbuild"));
        command.env("ZIG_GLOBAL_CACHE_DIR", self.target.join("packaging/zig"));
        command
    }

    pub(crate) fn cargo(&self, args: &[&str]) -> Command {
        let mut command = self.command(&self.cargo);
        command.args(args);
        command
    }

    /// Creates a command of the tools' environment.
    pub(crate) fn tool(&self, name: &str) -> Command {
        self.command(venv_python(&self.tools()).with_file_name(name))
    }

    /// Creates an empty environment.
    pub(crate) fn venv(&self, folder: &Path) -> Command {
        let mut command = self.command(&self.python);
        command.args(["-m", "venv", "--clear"]).arg(folder);
        command
    }

    /// Creates a command of an environment's interpreter, which ignores the current folder for
    /// imports.
    pub(crate) fn python(&self, venv: &Path) -> Command {
        self.command(venv_python(venv))
    }

    pub(crate) fn pip(&self, venv: &Path, args: &[&str]) -> Command {
        let mut command = self.python(venv);
        command.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]).args(args);
        command
    }

    /// Runs a command as a timed step.
    pub(crate) fn step(&mut self, name: &'static str, mut command: Command) -> Result<()> {
        eprintln!("==> {name}: {}", shown(&command));
        let start = Instant::now();
        let status = command.status();
        let status = status.with_context(|| format!("cannot run {}", shown(&command)))?;
        if !status.success() {
            bail!("step `{name}` failed ({status})");
        }
        self.steps.push((name, start.elapsed()));
        Ok(())
    }

    /// Unpacks an archive into a new folder; returns the single folder in the archive.
    pub(crate) fn unpacked(&self, archive: &Path, folder: &Path) -> Result<PathBuf> {
        std::fs::create_dir(folder)?;
        let module =
            if archive.extension().is_some_and(|e| e == "whl") { "zipfile" } else { "tarfile" };
        let mut command = self.command(&self.python);
        command.args(["-m", module, "-e"]).arg(archive).arg(folder);
        output_of(command)?;
        if module == "zipfile" {
            return Ok(folder.to_owned());
        }
        let inside = std::fs::read_dir(folder)?.next().context("an empty archive")??;
        Ok(inside.path())
    }

    /// Returns flags for rustc that replace folders of this machine by fixed names, in cargo's
    /// encoding.
    pub(crate) fn remapped(&self, more: &[(&Path, &str)]) -> Result<String> {
        let home = cargo_home().context("neither CARGO_HOME nor HOME is set")?;
        let mut names = Vec::new();
        // The last matching flag wins, so the most specific comes last.
        names.push((self.work.path().to_owned(), "/build".to_owned()));
        names.push((self.root.clone(), "/treeport".to_owned()));
        names.push((home.clone(), "/cargo".to_owned()));
        for registry in std::fs::read_dir(home.join("registry/src")).into_iter().flatten() {
            names.push((registry?.path(), "/crates".to_owned()));
        }
        names.extend(more.iter().map(|(from, to)| (from.to_path_buf(), (*to).to_owned())));
        let flag =
            |(from, to): &(PathBuf, String)| format!("--remap-path-prefix={}={to}", from.display());
        Ok(names.iter().map(flag).collect::<Vec<_>>().join("\x1f"))
    }

    /// Folders that no artifact may name.
    pub(crate) fn folders(&self) -> Vec<String> {
        let folders = [
            Some(self.root.clone()),
            Some(self.target.clone()),
            Some(self.work.path().to_owned()),
            cargo_home(),
            std::env::var_os("RUSTUP_HOME").map(PathBuf::from),
            std::env::home_dir(),
        ];
        folders.into_iter().flatten().map(|folder| folder.to_string_lossy().into_owned()).collect()
    }

    /// Prints the artifacts and the times of the steps.
    pub(crate) fn summary(&self) -> Result<()> {
        eprintln!("==> passed");
        for (name, time) in &self.steps {
            eprintln!("  {name:<14}{:>8.1} s", time.as_secs_f64());
        }
        eprintln!("==> {}", self.dist.display());
        let mut files: Vec<_> = std::fs::read_dir(&self.dist)?.collect::<std::io::Result<_>>()?;
        files.sort_by_key(std::fs::DirEntry::file_name);
        for file in files {
            let size = file.metadata()?.len() as f64 / 1e6;
            eprintln!("  {size:>8.3} MB  {}", file.file_name().to_string_lossy());
        }
        Ok(())
    }
}

/// Returns the stdout of a command.
pub(crate) fn output_of(mut command: Command) -> Result<String> {
    let done = command.stderr(Stdio::inherit()).output();
    let done = done.with_context(|| format!("cannot run {}", shown(&command)))?;
    if !done.status.success() {
        bail!("{} failed ({})", shown(&command), done.status);
    }
    Ok(String::from_utf8(done.stdout)?)
}

fn cargo_home() -> Option<PathBuf> {
    let set = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    set.or_else(|| Some(std::env::home_dir()?.join(".cargo")))
}

/// Formats a command line.
fn shown(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}
