//! A temporary folder with tiny inputs, and the binary run inside it.
//!
//! The tests of `treeport-lab` use it too; the root of the tests names the binary.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use tempfile::TempDir;
use treeport::Tree;
use treeport::io::npy;

/// A fresh folder; it goes away with the value.
pub(crate) struct Folder(TempDir);

impl Folder {
    /// A folder with four points on a line and three measures on them.
    pub(crate) fn new() -> Self {
        let folder = Self(tempfile::tempdir().expect("a temporary folder"));
        folder.write("line.csv", "x\n0\n1\n5\n6\n");
        folder.write("measures.csv", "a,b,c,d\n0.5,0.5,0,0\n0,0,0.5,0.5\n1,0,0,0\n");
        folder
    }

    /// The same with `model.tree`, an ultrametric tree over the four points, and its Newick text.
    pub(crate) fn with_model() -> Self {
        let folder = Self::new();
        let text = "((a:0.5,b:0.5):2,(c:0.5,d:0.5):2);";
        let tree = Tree::from_newick(text).expect("a tree");
        tree.save(folder.path("model.tree")).expect("a writable folder");
        folder.write("model.nwk", text);
        folder
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), contents).expect("a writable folder");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("text")
    }

    pub(crate) fn write_npy(&self, name: &str, shape: &[usize], values: &[f64]) {
        let mut file = Vec::new();
        npy::write_f64(shape, values, &mut file).expect("a fitting shape");
        self.write(name, file);
    }

    /// The files there, sorted.
    pub(crate) fn files(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("a folder");
        let name = |entry: std::io::Result<std::fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    /// The binary with arguments that have no blanks in them.
    pub(crate) fn command(&self, args: &str) -> Command {
        let mut command = Command::new(crate::BINARY);
        command.args(args.split_whitespace()).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    pub(crate) fn output(&self, args: &str) -> Output {
        self.command(args).output().expect("the binary runs")
    }

    /// Everything a run shows, with times taken out.
    pub(crate) fn run(&self, args: &str) -> String {
        show(&self.output(args))
    }

    /// What a run that is refused says; it must say nothing else.
    pub(crate) fn error(&self, args: &str) -> String {
        let shown = self.run(args);
        let said = shown.strip_prefix("--- stderr\nerror: ");
        let said = said.and_then(|rest| rest.strip_suffix("\n--- exit 2\n"));
        said.unwrap_or_else(|| panic!("not refused: {shown}")).to_owned()
    }

    /// As [`Folder::run`], with text on stdin.
    pub(crate) fn run_with(&self, args: &str, input: &[u8]) -> String {
        let mut child = self.command(args).stdin(Stdio::piped()).spawn().expect("the binary runs");
        child.stdin.take().expect("a pipe").write_all(input).expect("an open pipe");
        show(&child.wait_with_output().expect("the binary ends"))
    }

    /// Sends a signal as soon as the journal has more rows than before, and waits for the end.
    ///
    /// On a busy machine the run may come to its end before it hears of it; then again, from the same files.
    #[cfg(unix)]
    pub(crate) fn stopped_in_the_middle(&self, args: &str, journal: &str, signal: &str) -> Output {
        let rows = || std::fs::read(self.path(journal)).unwrap_or_default().len();
        let (first, before) = (self.contents(), rows());
        for _ in 0..MOST_TRIES {
            let output = self.stopped_when(args, &[signal], || rows() > before.max(200));
            if !output.status.success() {
                return output;
            }
            self.restore(&first);
        }
        panic!("{signal} did not stop `{args}` in {MOST_TRIES} runs: each ended by itself");
    }

    /// Interrupts a run, at first soon, until that was at a time when it leaves a file, if it is to leave one.
    ///
    /// How long it takes to get there, and how long it stays, is another time on every machine.
    #[cfg(unix)]
    pub(crate) fn interrupted(&self, args: &str, leaves: Option<&str>) -> Output {
        let (first, mut after) = (self.contents(), std::time::Duration::from_millis(40));
        for _ in 0..MOST_TRIES {
            let begun = std::time::Instant::now();
            let output = self.stopped_when(args, &["-INT"], || begun.elapsed() > after);
            let left = leaves.is_none_or(|file| self.path(file).exists());
            if output.status.code() == Some(130) && left {
                return output;
            }
            after = after.mul_f64(if output.status.success() { 0.7 } else { 1.5 });
            self.restore(&first);
        }
        panic!("no interrupt of `{args}` in {MOST_TRIES} runs left {leaves:?}");
    }

    /// Every file with what it holds; folders are left out.
    #[cfg(unix)]
    pub(crate) fn contents(&self) -> Vec<(String, Vec<u8>)> {
        let files = self.files().into_iter().filter(|file| self.path(file).is_file());
        files.map(|file| (file.clone(), self.read(&file))).collect()
    }

    /// Makes the files what they were.
    #[cfg(unix)]
    pub(crate) fn restore(&self, contents: &[(String, Vec<u8>)]) {
        for path in self.files().iter().map(|file| self.path(file)) {
            let removed = if path.is_dir() {
                std::fs::remove_dir_all(path)
            } else {
                std::fs::remove_file(path)
            };
            removed.expect("a file of ours");
        }
        for (file, held) in contents {
            self.write(file, held);
        }
    }

    /// Sends signals as soon as a condition holds, unless the run has ended by then, and waits for
    /// the end.
    #[cfg(unix)]
    pub(crate) fn stopped_when(
        &self,
        args: &str,
        signals: &[&str],
        is_so: impl Fn() -> bool,
    ) -> Output {
        let mut child = self.command(args).spawn().expect("the binary runs");
        let (begun, id, mut at_work) = (std::time::Instant::now(), child.id(), true);
        while at_work && !is_so() {
            if begun.elapsed() > PATIENCE {
                give_up(id, &format!("the moment to send {signals:?} to `{args}`"));
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
            at_work = child.try_wait().expect("a child").is_none();
        }
        for signal in signals.iter().filter(|_| at_work) {
            send(signal, &child);
        }
        let (sender, ended) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(child.wait_with_output()));
        let output = ended.recv_timeout(PATIENCE);
        let output = output.unwrap_or_else(|_| give_up(id, &format!("the end of `{args}`")));
        output.expect("the binary ends")
    }

    /// The lines of stdout as JSON; the run must succeed and say nothing else.
    pub(crate) fn json(&self, args: &str) -> Vec<serde_json::Value> {
        let output = self.output(args);
        assert!(output.status.success(), "{}", show(&output));
        let text = String::from_utf8(output.stdout).expect("text");
        text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
    }
}

/// Time after which a test no longer waits for a run, even on a busy machine.
#[cfg(unix)]
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(300);

/// Kills a run, and fails with what the test waited for.
#[cfg(unix)]
fn give_up(id: u32, what: &str) -> ! {
    let _ = Command::new("kill").args(["-KILL", &id.to_string()]).status();
    panic!("{what} did not come in {PATIENCE:?}")
}

/// Runs after which a test gives up stopping one in the middle.
#[cfg(unix)]
pub(crate) const MOST_TRIES: usize = 60;

/// Stdout, stderr and exit code in one text.
pub(crate) fn show(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    let mut shown = without_times(&text(&output.stdout));
    if !output.stderr.is_empty() {
        shown += "--- stderr\n";
        shown += &text(&output.stderr);
    }
    let code = output.status.code().map_or_else(|| "none".into(), |code| code.to_string());
    shown + &format!("--- exit {code}\n")
}

/// Replaces what no two runs share: durations and their ratios, and the widths of their columns.
fn without_times(text: &str) -> String {
    let mut shown = String::new();
    for line in text.lines() {
        let units = ["ns", "µs", "ms", "s"];
        let at = line.split(' ').position(|word| units.contains(&word));
        if line.starts_with("seconds ") {
            shown += "seconds   [time]";
        } else if at.is_some() || line.ends_with("exact/time") {
            let words: Vec<&str> = line.split_whitespace().collect();
            let at = words.iter().position(|w| units.contains(w)).unwrap_or(words.len() + 1);
            let kept = &words[..(at - 1).min(words.len())];
            shown += &kept.join(" ");
            shown += if at < words.len() { " [time]" } else { "" };
        } else {
            shown += line;
        }
        shown.push('\n');
    }
    shown
}

/// Sends a signal, by the name that `kill` has for it, and gives the process a moment to hear it.
#[cfg(unix)]
pub(crate) fn send(signal: &str, child: &std::process::Child) {
    let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
    assert!(sent.expect("kill runs").success());
    std::thread::sleep(std::time::Duration::from_millis(20));
}
