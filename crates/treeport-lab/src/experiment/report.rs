//! Report of a run in Markdown: a [summary](super::summary), then every experiment with all of its
//! tables, folded. A test parses the page in `docs` and renders it again.

use std::fmt::Write;

use super::summary::summary;
use super::{ALL, Experiment, Row};

/// Rows of one experiment, and how they were computed.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Name of the experiment.
    pub experiment: String,
    /// Commands that computed the rows.
    pub commands: Vec<String>,
    /// Versions, with commits, of the program.
    pub versions: Vec<String>,
    /// Rows of all cells.
    pub rows: Vec<Row>,
}

/// An experiment in the report.
pub(super) struct Section {
    pub(super) experiment: &'static Experiment,
    /// Commands and versions.
    pub(super) made_by: String,
    /// Links to figures.
    pub(super) figures: Vec<String>,
    pub(super) tables: Vec<ShownTable>,
}

/// A table with its title; the first line has the headings.
pub(super) struct ShownTable {
    pub(super) title: String,
    pub(super) lines: Vec<Vec<String>>,
}

/// Renders the report of several experiments, with links to figures in `folder`; returns it with
/// the figures. `note` describes circumstances of the run, such as other load on the machine.
pub fn markdown(runs: &[Run], note: Option<&str>, folder: &str) -> (String, Vec<super::Figure>) {
    let (mut sections, mut figures) = (Vec::new(), Vec::new());
    for experiment in &ALL {
        if let Some(run) = runs.iter().find(|run| run.experiment == experiment.name) {
            let drawn = (experiment.figures)(&run.rows);
            sections.push(section(experiment, run, &drawn, folder));
            figures.extend(drawn);
        }
    }
    (page(&sections, note), figures)
}

fn section(
    experiment: &'static Experiment,
    run: &Run,
    drawn: &[super::Figure],
    folder: &str,
) -> Section {
    let commands = run.commands.iter().map(|command| format!("`{command}`"));
    let commands = commands.collect::<Vec<_>>().join(", ");
    let made_by = format!("{commands}, treeport {}", run.versions.join(", "));
    let link = |name: &String| format!("![{}]({folder}/{name})", name.trim_end_matches(".svg"));
    let figures = drawn.iter().map(|(name, _)| link(name)).collect();
    let shown = experiment.tables.iter().flat_map(|table| table.render(&run.rows));
    let titled = |(title, lines): (String, _)| ShownTable { title: title.replace('_', " "), lines };
    Section { experiment, made_by, figures, tables: shown.map(titled).collect() }
}

/// Renders the page.
fn page(sections: &[Section], note: Option<&str>) -> String {
    let mut text = String::from(
        "# Results\n\nEvery table of the paper, made again: Chen, Tabaghi, Wang, *Learning Ultrametric Trees for \
         Optimal Transport Regression*, AAAI 2024 (arXiv:2210.12288v2). Written by `treeport-lab reproduce results` from \
         the rows of the runs below; do not edit.\n",
    );
    if let Some(note) = note {
        let _ = write!(text, "\n{NOTE}{note}\n");
    }
    text.push_str(&summary(sections));
    for section in sections {
        write_section(&mut text, section);
    }
    text
}

/// Prefix of a note.
const NOTE: &str = "On this run: ";

/// Renders one experiment, folded.
fn write_section(text: &mut String, section: &Section) {
    let Section { experiment, made_by, figures, tables } = section;
    let _ = write!(text, "\n## {}: {}\n", experiment.name, experiment.about);
    let many = if tables.len() == 1 { "" } else { "s" };
    let _ = write!(text, "\n<details>\n<summary>{} table{many}</summary>\n", tables.len());
    let _ = write!(text, "\n{}\n\n{made_by}\n", experiment.words);
    for figure in figures {
        let _ = write!(text, "\n{figure}\n");
    }
    for table in tables {
        let _ = write!(text, "\n**{}**\n\n", table.title);
        write_table(text, &table.lines, "---:");
    }
    text.push_str("\n</details>\n");
}

/// Renders a table: its first column flush left, the others by `rule`.
pub(super) fn write_table(text: &mut String, lines: &[Vec<String>], rule: &str) {
    for (k, line) in lines.iter().enumerate() {
        let _ = writeln!(text, "| {} |", line.join(" | "));
        if k == 0 {
            let rules = line.iter().enumerate().map(|(c, _)| if c == 0 { "---" } else { rule });
            let _ = writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses the sections and the note of a page.
    fn read_page(text: &str) -> (Vec<Section>, Option<String>) {
        let note = text.lines().find_map(|line| line.strip_prefix(NOTE)).map(str::to_owned);
        let mut sections: Vec<Section> = Vec::new();
        let mut in_section = false;
        for line in text.lines() {
            if let Some(heading) = line.strip_prefix("## ") {
                let named = |e: &&Experiment| {
                    heading.strip_prefix(e.name) == Some(&format!(": {}", e.about))
                };
                let found = ALL.iter().find(named);
                in_section = found.is_some();
                sections.extend(found.map(|experiment| Section {
                    experiment,
                    made_by: String::new(),
                    figures: Vec::new(),
                    tables: Vec::new(),
                }));
            } else if let Some(section) = sections.last_mut().filter(|_| in_section) {
                read_line(section, line);
            }
        }
        (sections, note)
    }

    fn read_line(section: &mut Section, line: &str) {
        if line.starts_with("`treeport-lab ") {
            section.made_by = line.into();
        } else if line.starts_with("![") {
            section.figures.push(line.into());
        } else if let Some(title) = line.strip_prefix("**") {
            let title = title.trim_end_matches('*').into();
            section.tables.push(ShownTable { title, lines: Vec::new() });
        } else if line.starts_with("| ") && !line.starts_with("| --- ") {
            let cells = line.strip_prefix("| ").and_then(|line| line.strip_suffix(" |"));
            let cells = cells.expect("a line of a table").split(" | ").map(Into::into).collect();
            section.tables.last_mut().expect("a title comes first").lines.push(cells);
        }
    }

    /// To write the page: `TREEPORT_WRITE_DOCS=1 cargo test -p treeport-lab --lib report`.
    #[test]
    fn the_page_of_results_is_what_its_own_tables_make() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/RESULTS.md");
        let before = std::fs::read_to_string(path).expect("the page is there");
        let (sections, note) = read_page(&before);
        assert!(sections.len() > 10 && note.is_some());
        let made = page(&sections, note.as_deref());
        if std::env::var_os("TREEPORT_WRITE_DOCS").is_some() {
            std::fs::write(path, made).expect("the page can be written");
            return;
        }
        assert!(made == before, "docs/RESULTS.md is not what the code makes of its tables");
    }
}
