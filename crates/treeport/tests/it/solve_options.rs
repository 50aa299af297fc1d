//! The table of the options of exact transport: its page, and that problems refuse what they do not take.

use std::fmt::Write;

use treeport::solve::{SolveOption, SolveOptionType};
use treeport::{Accuracy, Aim, Error, MatrixView, Problem, Relax, silent};

/// docs/SOLVE_OPTIONS.md.
fn page() -> String {
    let mut page = String::from(PAGE);
    for option in SolveOption::ALL {
        writeln!(page, "\n## `{}`\n\n{}.\n", option.name, option.help).unwrap();
        writeln!(page, "- Type: {}", type_of(option.value_type)).unwrap();
        writeln!(page, "- Range: {}", option.range).unwrap();
        for (title, text) in [("One problem", option.of_one), ("Many problems", option.of_many)] {
            if !text.is_empty() {
                writeln!(page, "- {title}: {text}").unwrap();
            }
        }
        writeln!(page, "- For {}", option.read_by).unwrap();
    }
    page
}

const PAGE: &str = "\
# Options of exact transport

These are the options of `tp.solve`, `tp.emd`, `tp.emd_pairs`, `tp.emd_pairwise`, their Dask twins and
`treeport exact`, which share one table. In Rust they are `Problem::with_mass`,
`Problem::with_penalty`, `Problem::with_order` and the fields of `Aim`. `mass` of many problems is an option of
`treeport exact` and `Problems`; `device` is one of Python.

<!-- Made from the table in crates/treeport/src/solve/options.rs. To write it again:
     TREEPORT_WRITE_DOCS=1 cargo test -p treeport --test it solve_options:: -->
";

fn type_of(value_type: SolveOptionType) -> &'static str {
    match value_type {
        SolveOptionType::Number => "a number",
        SolveOptionType::Prices => "a number, or one for each point",
        SolveOptionType::Accuracy => "`exact`, or a number",
        SolveOptionType::Seconds => {
            "a time: in Python seconds, on the command line such as `30s`, `5m` or `1h`"
        }
        SolveOptionType::Device => "the name of a device",
        _ => "other",
    }
}

#[test]
fn the_page_of_solver_options_is_that_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/SOLVE_OPTIONS.md");
    if std::env::var_os("TREEPORT_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/SOLVE_OPTIONS.md says something else; the page says how to write it again"
    );
}

/// Errors say the ranges of the table.
#[test]
fn errors_have_the_ranges_of_the_table() {
    let masses = [1.0];
    let costs = || MatrixView::new(1, 1, &[2.0]).unwrap();
    let refused = |relax: Relax, aim: Aim| {
        let problem = Problem::between(&masses, &masses, costs()).relaxed(relax);
        problem.answer(&aim, &silent).unwrap_err()
    };
    for (relax, option) in [
        (Relax::Mass(-1.0), SolveOption::MASS),
        (Relax::Mass(1.5), SolveOption::MASS),
        (Relax::Penalty(-1.0), SolveOption::PENALTY),
        (Relax::Penalty(f64::NAN), SolveOption::PENALTY),
    ] {
        let Error::BadOption { option: name, expected, .. } = refused(relax, Aim::exact()) else {
            panic!("{relax:?} is another error")
        };
        assert_eq!((name, expected), (option.name, option.range));
    }
    let Error::UnknownName { known, .. } = refused(Relax::Balanced, Aim::within(-1.0)) else {
        panic!("an accuracy below 0 is another error")
    };
    assert_eq!(known, SolveOption::ACCURACY.range);
    let approximate = refused(Relax::Balanced, Aim::to(Accuracy::Approximate));
    assert!(approximate.to_string().contains(SolveOption::ACCURACY.range));
}
