//! The table of options: every row can be set, is read by whom it says, and is on the page.

use std::fmt::Write;

use treeport::fit::{FitOption, Group, OptionType, OptionValue};
use treeport::{FitOptions, Method, Tree};

/// A value that is not the default.
fn another(option: &FitOption) -> OptionValue {
    match option.value_type() {
        OptionType::Whole => OptionValue::Whole(7),
        OptionType::Number | OptionType::Seconds => OptionValue::Number(0.3),
        OptionType::Truth => OptionValue::Truth(false),
        OptionType::Word(words) => OptionValue::Word(words[1].0.into()),
        OptionType::Start(_) => OptionValue::Word("ward".into()),
    }
}

/// Options of labels are read before there is a fit.
fn of_fits() -> impl Iterator<Item = &'static FitOption> {
    FitOption::ALL.iter().filter(|option| !["n_pairs", "budget"].contains(&option.name))
}

#[test]
fn every_option_can_be_set_and_is_read_by_those_it_names() {
    for option in of_fits() {
        let readers = option.readers();
        assert!(!readers.is_empty(), "{option:?} is read by no method");
        for &method in Method::ALL {
            let mut options = FitOptions::of(method);
            option.set(&mut options, another(option)).unwrap();
            if option.name == "method" {
                assert_eq!(options, FitOptions::of(Method::Tree));
                continue;
            }
            assert_ne!(options, FitOptions::of(method), "{option:?} is kept nowhere");
            let unread: Vec<String> =
                options.unread(true).iter().map(ToString::to_string).collect();
            assert_eq!(unread.is_empty(), readers.contains(&method), "{option:?}, {method}");
            assert_eq!(options.check(true).is_ok(), unread.is_empty(), "{option:?}, {method}");
            let kept = if unread.is_empty() { options.clone() } else { FitOptions::of(method) };
            assert_eq!(options.only_read(true), kept);
        }
    }
    let options = FitOptions { depth: Some(3), ..FitOptions::default() };
    assert_eq!(
        options.unread(true)[0].to_string(),
        "`depth` is not read by method `auto`; it is read by: cluster, kmeans, ctwd, ctwd-labels, \
         sliced-cluster, sliced-ctwd"
    );
}

#[test]
fn a_value_of_another_type_is_refused() {
    let refused = |name: &str, value| {
        let option = FitOption::find(name).unwrap();
        option.set(&mut FitOptions::default(), value).unwrap_err().to_string()
    };
    assert_eq!(
        refused("epochs", OptionValue::Other("2.5".into())),
        "epochs is 2.5; it must be a whole number of at least 0"
    );
    let tree = OptionValue::Tree(Tree::from_newick("(0:1,1:1);").unwrap());
    assert_eq!(refused("learning_rate", tree), "learning_rate is a tree; it must be a number");
    assert_eq!(
        refused("schedule", OptionValue::Word("fast".into())),
        "the schedule is `fast`; it must be linear, cosine or constant"
    );
    assert_eq!(
        refused("start", OptionValue::Truth(true)),
        "start is true; it must be the name of a linkage or a tree"
    );
    let message = FitOption::find("depht").unwrap_err().to_string();
    assert!(message.starts_with("the option is `depht`; it must be method, start, "), "{message}");
}

/// docs/FIT_OPTIONS.md.
fn page() -> String {
    let mut page = String::from(PAGE);
    for (title, group) in [
        ("What is made", Group::Method),
        ("Learning", Group::Learning),
        ("Labels and randomness", Group::Labels),
    ] {
        writeln!(page, "\n## {title}").unwrap();
        for option in FitOption::ALL.iter().filter(|option| option.group == group) {
            writeln!(page, "\n### `{}`\n\n{}.\n", option.name, option.help).unwrap();
            writeln!(page, "- Type: {}", type_of(option)).unwrap();
            writeln!(page, "- Default: {}", option.default()).unwrap();
            if let Some(range) = option.range() {
                writeln!(page, "- Range: {range}").unwrap();
            }
            writeln!(page, "- Read by: {}", readers_of(option)).unwrap();
        }
    }
    page
}

const PAGE: &str = "\
# Options of a fit

These are all options of `treeport fit`, of `TreeWasserstein` and of `FitOptions`, which share one table. On the command line
`n_trees` is `--n-trees`; `seed` is `random_state` in Python. An option that the method does not read is an error on the command line and in Rust,
and a warning in Python.

<!-- Made from the table in crates/treeport/src/fit/options.rs. To write it again:
     TREEPORT_WRITE_DOCS=1 cargo test -p treeport --test it options:: -->
";

fn type_of(option: &FitOption) -> String {
    match option.value_type() {
        OptionType::Whole => "a whole number".into(),
        OptionType::Number => "a number".into(),
        OptionType::Truth => "true or false".into(),
        OptionType::Word(_) if option.name == "method" => {
            "the name of a [method](BASELINES.md)".into()
        }
        OptionType::Word(words) => listed(&words),
        OptionType::Start(linkages) => {
            format!("a tree (on the command line a file), or a linkage: {}", listed(&linkages))
        }
        OptionType::Seconds => {
            "a time: in Python seconds, on the command line such as `30s`, `5m` or `1h`".into()
        }
    }
}

fn listed(words: &[(&str, &str)]) -> String {
    let words: Vec<String> =
        words.iter().map(|(name, help)| format!("`{name}` ({help})")).collect();
    words.join(", ")
}

fn readers_of(option: &FitOption) -> String {
    let readers = option.readers();
    if readers.len() == Method::ALL.len() {
        return "all methods".into();
    }
    let others: Vec<_> = Method::ALL.iter().filter(|m| !option.is_read_by(**m)).collect();
    let names = |methods: &[&Method]| {
        let names: Vec<String> = methods.iter().map(|method| format!("`{method}`")).collect();
        names.join(", ")
    };
    if others.len() < readers.len() {
        return format!("all methods but {}", names(&others));
    }
    names(&readers.iter().collect::<Vec<_>>())
}

#[test]
fn the_page_of_options_is_that_of_the_table() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/FIT_OPTIONS.md");
    if std::env::var_os("TREEPORT_WRITE_DOCS").is_some() {
        std::fs::write(path, page()).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        written == page(),
        "docs/FIT_OPTIONS.md says something else; the page says how to write it again"
    );
}
