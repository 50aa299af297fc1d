//! The report of a run, in Markdown: nothing in it is typed by hand but the paragraphs.

use std::fmt::Write;

use super::{ALL, Experiment, Row};

/// The rows of one experiment and how they were made.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the experiment.
    pub experiment: String,
    /// The commands that made the rows.
    pub commands: Vec<String>,
    /// Versions, with commits, of the programs that made them.
    pub versions: Vec<String>,
    /// What they found.
    pub rows: Vec<Row>,
}

/// The report of several experiments, and the figures that it shows from `folder`; a note says what
/// a reader has to know about the run, such as what else the machine did.
pub fn markdown(runs: &[Run], note: Option<&str>, folder: &str) -> (String, Vec<super::Figure>) {
    let mut text = String::from(
        "# Results\n\nWritten by `treeport-lab reproduce results` from the rows of the runs below; do not edit. Mean relative \
         errors are |W − W₁|/W₁ over unseen pairs, ± the standard deviation over pairs; \"times one factor\" is after one \
         factor from the training labels. The paper is Chen, Tabaghi, Wang, *Learning Ultrametric Trees for Optimal \
         Transport Regression*, AAAI 2024 (arXiv:2210.12288v2).\n",
    );
    if let Some(note) = note {
        let _ = write!(text, "\nOn this run: {note}\n");
    }
    let mut figures = Vec::new();
    for experiment in &ALL {
        if let Some(run) = runs.iter().find(|run| run.experiment == experiment.name) {
            figures.extend(section(&mut text, experiment, run, folder));
        }
    }
    (text, figures)
}

fn section(
    text: &mut String,
    experiment: &Experiment,
    run: &Run,
    folder: &str,
) -> Vec<super::Figure> {
    let _ =
        write!(text, "\n## {}: {}\n\n{}\n", experiment.name, experiment.about, experiment.words);
    let commands = run.commands.iter().map(|command| format!("`{command}`"));
    let (commands, versions) = (commands.collect::<Vec<_>>().join(", "), run.versions.join(", "));
    let _ = write!(text, "\n{commands}, treeport {versions}\n");
    let figures = (experiment.figures)(&run.rows);
    for (name, _) in &figures {
        let _ = write!(text, "\n![{}]({folder}/{name})\n", name.trim_end_matches(".svg"));
    }
    for table in experiment.tables {
        for (title, lines) in table.render(&run.rows) {
            let _ = write!(text, "\n**{}**\n\n", title.replace('_', " "));
            for (k, line) in lines.iter().enumerate() {
                let _ = writeln!(text, "| {} |", line.join(" | "));
                if k == 0 {
                    let rule =
                        line.iter().enumerate().map(|(c, _)| if c == 0 { "---" } else { "---:" });
                    let _ = writeln!(text, "| {} |", rule.collect::<Vec<_>>().join(" | "));
                }
            }
        }
    }
    figures
}
