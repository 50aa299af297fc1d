//! Odd arguments: huge and negative numbers for every option, contradictions, invalid files.

use std::path::Path;
use std::time::Duration;

use anyhow::Result;

use super::Arena;
use super::cases::Case;
use super::folder::{Snapshot, is_temporary, snapshot, write};
use super::process::ProgramRun;
use super::random::Random;
use super::scene::{Scene, inputs};

/// Commands per round.
const COMMANDS: usize = 6;
/// Limit of the address space in kilobytes.
const MEMORY: u64 = 2 << 20;
/// Time before a command is interrupted; a huge number may mean huge work.
const PATIENCE: Duration = Duration::from_secs(3);

/// Separated by single spaces; one of them is empty.
const NUMBERS: &str = "0 1 -1 2 7 65536 4294967295 4294967296 1000000000000 9223372036854775807 \
    18446744073709551615 18446744073709551616 1e400 1e308 -1e308 5e-324 1e-9 0.5 NaN inf -inf ٣  1,1";
const TEXTS: [&str; 11] =
    ["", " ", "-", "--", "a\nb", "\u{1b}[2J", "\u{202e}abc", "🌳", "%s%n", "average", "tree"];
const FILES: [&str; 7] =
    ["folder", "missing/out.csv", "missing.npz", "/dev/null", "/proc/self/mem", "-", "out.csv"];

/// Large counts are rare: a thousand idle threads slow down the whole machine.
const THREADS: [&str; 7] = ["0", "1", "3", "40", "-1", "18446744073709551616", "1000000000000"];

/// An option of a command, parsed from its help.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Flag {
    name: String,
    /// Names of its values in the help.
    values: Vec<String>,
}

pub(super) fn round(arena: &Arena, random: &mut Random, folder: &Path) -> Result<Vec<String>> {
    let scene = &arena.small;
    for _ in 0..COMMANDS {
        // A command that writes a folder may write any file into it.
        let case = Scene::draw(random, |case| !case.writes().any(|out| out == "out"));
        write(folder, &scene.inputs)?;
        std::fs::create_dir_all(folder.join("folder"))?;
        let flags = flags(scene, case, folder)?;
        let args = drawn(case, &flags, random);
        let job = ProgramRun {
            memory: MEMORY,
            limit: PATIENCE,
            ..scene.free_job(&args, case.lab, folder)
        };
        let ended = job.start("odd")?.wait_or(Some("INT"))?;
        // Before its handlers are installed, a signal may end the program.
        let mut wrong: Vec<String> = ended.fault_after(&[2]).into_iter().collect();
        wrong.extend(damage(&snapshot(folder)?, &scene.inputs, &args));
        if !wrong.is_empty() {
            return Ok(wrong.iter().map(|wrong| format!("{wrong}: `{}`", job.shown())).collect());
        }
        std::fs::remove_dir_all(folder)?;
    }
    Ok(Vec::new())
}

/// Reads the options from the help of a command.
fn flags(scene: &Scene, case: &Case, folder: &Path) -> Result<Vec<Flag>> {
    let help = [case.command().to_owned(), "--help".into()];
    let job = scene.free_job(&help, case.lab, folder);
    Ok(parsed(&String::from_utf8_lossy(&job.run()?.stdout)))
}

/// Parses `-o, --output <FILE>  Write to …` and `--pair <I> <J>`.
fn parsed(help: &str) -> Vec<Flag> {
    let flag = |line: &str| {
        let line = line.trim_start();
        let words: Vec<&str> = line.split_whitespace().collect();
        let name = words.iter().take(2).rfind(|word| word.starts_with('-'))?;
        let after = line.split_once(name.trim_end_matches(','))?.1;
        let values = after.trim_start_matches(',').split_whitespace();
        let values = values.take_while(|word| word.starts_with('<') && word.ends_with('>'));
        let values = values.map(|word| word.trim_matches(['<', '>']).to_owned()).collect();
        let name = name.trim_end_matches(',').to_owned();
        (name.len() > 1 && line.starts_with('-')).then_some(Flag { name, values })
    };
    let known = ["--help", "--version", "-h", "-V"];
    help.lines().filter_map(flag).filter(|flag| !known.contains(&&*flag.name)).collect()
}

/// Returns the words of a case with one to three odd ones.
fn drawn(case: &Case, flags: &[Flag], random: &mut Random) -> Vec<String> {
    let mut words = case.words();
    for _ in 0..random.within(1..4) {
        if random.once_in(5) || flags.is_empty() {
            let at = random.within(1..words.len());
            words[at] = file(random);
            continue;
        }
        let flag = random.pick(flags);
        let value = |value: &String| match flag.name.as_str() {
            "--threads" => (*random.pick(&THREADS)).to_owned(),
            _ => odd(value, random),
        };
        let values: Vec<String> = flag.values.iter().map(value).collect();
        let short = if flag.name == "--output" { "-o" } else { "" };
        let at = words.iter().position(|word| *word == flag.name || *word == short);
        let at = at.unwrap_or_else(|| {
            words.push(flag.name.clone());
            words.len() - 1
        });
        let end = (at + 1 + flag.values.len()).min(words.len());
        words.splice(at + 1..end, values);
    }
    words
}

/// Options that name a file to write.
const OUTPUTS: [&str; 4] = ["-o", "--output", "--history", "--contracted"];

/// Draws an odd value for an option by the name of its value in the help.
fn odd(value: &str, random: &mut Random) -> String {
    if value == "FILE" {
        return file(random);
    }
    if random.once_in(40) {
        return "9".repeat(100_000);
    }
    let text = ["TEXT", "NAME", "START", "HOW", "BOOL", "SHELL"].contains(&value);
    let numbers: Vec<&str> = NUMBERS.split(' ').collect();
    let from = if text && !random.once_in(3) { &TEXTS[..] } else { &numbers };
    (*random.pick(from)).to_owned()
}

fn file(random: &mut Random) -> String {
    let from = if random.once_in(2) { inputs() } else { FILES.to_vec() };
    (*random.pick(&from)).to_owned()
}

/// Returns inputs that changed although the command does not write them, and temporary files.
fn damage(found: &Snapshot, inputs: &Snapshot, words: &[String]) -> Vec<String> {
    let meant = |name: &String| {
        let places: Vec<usize> = (0..words.len()).filter(|&k| words[k] == *name).collect();
        let output = |k: usize| OUTPUTS.contains(&&*words[k - 1]);
        matches!(places[..], [k] if k > 0 && output(k))
    };
    let changed = inputs.iter().filter(|(name, bytes)| found.get(*name) != Some(bytes));
    let changed = changed.filter(|(name, _)| !meant(name));
    let changed = changed.map(|(name, _)| format!("`{name}` was written to"));
    let left = found.keys().filter(|name| is_temporary(name)).map(|name| format!("left `{name}`"));
    changed.chain(left).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_read_from_the_help() {
        let help = "\
            Options:\n  -o, --output <FILE>  Write to a file\n      --pair <I> <J>\n          \
            The two measures\n      --json  One object -- per line\n  -k <N>  Neighbors\n  \
            -h, --help   Print help\n";
        let flags = parsed(help);
        let shown: Vec<String> =
            flags.iter().map(|flag| format!("{} {}", flag.name, flag.values.join(" "))).collect();
        assert_eq!(shown, ["--output FILE", "--pair I J", "--json ", "-k N"]);
    }

    #[test]
    fn only_files_that_are_meant_to_be_written_may_change() {
        let files = |text: &str| Snapshot::from([("a".to_owned(), text.into())]);
        let words =
            |text: &str| -> Vec<String> { text.split(' ').map(ToString::to_string).collect() };
        let wrong = |args: &str| damage(&files("new"), &files("old"), &words(args)).len();
        assert_eq!(wrong("fit -o a"), 0);
        assert_eq!(wrong("fit --points a -o a"), 1);
        assert_eq!(wrong("fit --points a"), 1);
        assert_eq!(wrong("fit -o b"), 1);
    }

    #[test]
    fn every_draw_keeps_the_command() {
        let flags = parsed("  -o, --output <FILE>  x\n  --pair <I> <J>  x\n  --json  x\n");
        for round in 0..300 {
            let mut random = Random::new(5, round);
            // A command that writes a folder may write any file into it.
            let case = Scene::draw(&mut random, |_| true);
            assert_eq!(drawn(case, &flags, &mut random)[0], case.command());
        }
    }
}
