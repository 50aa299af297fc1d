//! Report of the attack: progress lines, and a table with the findings at the end.

use std::time::Duration;

use super::options::AttackOptions;

/// A fault, and the round that found it.
#[derive(Debug)]
pub(super) struct Finding {
    pub(super) round: u64,
    pub(super) kind: &'static str,
    pub(super) what: String,
}

/// Rounds and findings so far.
#[derive(Debug)]
pub(super) struct Report {
    /// Kind, number of rounds, and reason for omissions.
    kinds: Vec<(&'static str, usize, &'static str)>,
    pub(super) findings: Vec<Finding>,
    said: Duration,
}

impl Report {
    pub(super) fn new(kinds: Vec<&'static str>) -> Self {
        let kinds = kinds.into_iter().map(|kind| (kind, 0, "")).collect();
        Self { kinds, findings: Vec::new(), said: Duration::ZERO }
    }

    /// Stores the reason why a kind is omitted.
    pub(super) fn note(&mut self, kind: &str, why: &'static str) {
        self.kinds.iter_mut().filter(|known| known.0 == kind).for_each(|known| known.2 = why);
    }

    /// Counts a round and stores its findings.
    pub(super) fn add(&mut self, kind: &str, findings: impl Iterator<Item = Finding>) {
        self.kinds.iter_mut().filter(|known| known.0 == kind).for_each(|known| known.1 += 1);
        self.findings.extend(findings);
    }

    /// Prints a progress line every 15 seconds.
    pub(super) fn progress(&mut self, round: u64, kind: &str, gone: Duration) {
        if gone >= self.said {
            let found = self.findings.len();
            eprintln!("round {round} ({kind}), {} s, {found} findings", gone.as_secs());
            self.said = gone + Duration::from_secs(15);
        }
    }

    /// Formats the table, and every finding with the command that repeats it.
    pub(super) fn shown(&self, options: &AttackOptions) -> String {
        let mut text = String::from("\nkind           rounds  findings\n");
        for (kind, rounds, note) in &self.kinds {
            let found = self.findings.iter().filter(|finding| finding.kind == *kind).count();
            let line = format!("{kind:<14}{rounds:>7}{found:>10}  {note}");
            text += line.trim_end();
            text.push('\n');
        }
        let only = options.only.map(|kind| format!(" --only {kind}")).unwrap_or_default();
        for Finding { round, kind, what } in &self.findings {
            let again = format!("cargo xtask attack --seed {}{only} --round {round}", options.seed);
            text += &["\n", kind, ": ", what, "\n  ", &again, "\n"].concat();
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn findings_say_how_to_repeat_them() {
        let options = AttackOptions { seconds: 60, seed: 7, round: None, only: None };
        let mut report = Report::new(vec!["kills", "python"]);
        report.note("python", "left out");
        let finding = Finding { round: 3, kind: "kills", what: "no end".into() };
        report.add("kills", std::iter::once(finding));
        report.add("kills", std::iter::empty());
        let shown = report.shown(&options);
        assert!(shown.contains("kills               2         1\n"), "{shown}");
        assert!(shown.contains("python              0         0  left out\n"), "{shown}");
        let end = "\nkills: no end\n  cargo xtask attack --seed 7 --round 3\n";
        assert!(shown.ends_with(end), "{shown}");
    }
}
