//! ARCHITECTURE.md, CONTRIBUTING.md and docs/RELIABILITY.md name only what is there.
//!
//! Two rules. A word in backticks with a slash or the ending of a file is the end of a path of the
//! repository, where `metric/rounded` may stand for a file of Rust or Python. In the tables of modules of
//! ARCHITECTURE.md, what the first column names is there, and every word in backticks of the second
//! is a file or folder below it, or a name that its sources use.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect("a page of the repository")
}

/// All files below a folder or file, and the folders; nothing that is built or hidden, but `.ci`.
fn below(path: &Path, found: &mut Vec<PathBuf>) {
    found.push(path.to_owned());
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let hidden = name.starts_with('.') && name != ".ci" && name != ".github";
        if !hidden && name != "target" && name != "__pycache__" {
            below(&entry.path(), found);
        }
    }
}

/// What stands between backticks, outside of blocks of code.
fn quoted(text: &str) -> Vec<&str> {
    let blocks = text.split("```").step_by(2);
    blocks.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

/// Whether a quoted word speaks of a file: no command, pattern, address or place of what is built.
fn is_path(word: &str) -> bool {
    let ends = [".rs", ".py", ".pyi", ".md", ".toml", ".js", ".cff"].iter();
    let named = word.contains('/') || ends.clone().any(|end| word.ends_with(end) && word != *end);
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let built = ["target/", "../", "/"].iter().any(|start| word.starts_with(start));
    let placeholder = word.contains("NAME") || word.contains("DIR");
    named && word.chars().all(plain) && !built && !placeholder
}

/// The rows of the tables below a heading: what the first column quotes, and the second.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let lines = section.expect("the heading").lines().filter(|line| line.starts_with("| `"));
    let columns = |line: &'a str| {
        let (first, second) = line.trim_matches(['|', ' ']).split_once(" | ").expect("two columns");
        (quoted(first), quoted(second))
    };
    lines.map(columns).collect()
}

/// Files, folders and words of some modules, to look names up in.
struct Sources {
    stems: Vec<String>,
    text: String,
}

impl Sources {
    fn of(modules: &[PathBuf]) -> Self {
        let mut paths = Vec::new();
        for module in modules {
            below(module, &mut paths);
        }
        let stem =
            |path: &PathBuf| path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        // Not what is no text.
        let text = |path: &PathBuf| std::fs::read_to_string(path).ok();
        Self {
            stems: paths.iter().filter_map(stem).collect(),
            text: paths.iter().filter_map(text).collect(),
        }
    }

    fn know(&self, word: &str) -> bool {
        let last = word.rsplit(['.', ':', '/']).next().unwrap_or(word);
        let part = |c: char| c.is_alphanumeric() || c == '_' || c == '-';
        let used = || self.text.split(|c| !part(c)).any(|used| used == last);
        self.stems.iter().any(|stem| stem == last) || used()
    }
}

#[test]
fn paths_in_backticks_are_there() {
    let mut paths = Vec::new();
    below(&root(), &mut paths);
    let ends_with = |word: &str| {
        let word = word.trim_end_matches('/');
        let endings = [word.to_owned(), format!("{word}.rs"), format!("{word}.py")];
        paths.iter().any(|path| endings.iter().any(|ending| path.ends_with(ending)))
    };
    for page in ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/RELIABILITY.md"] {
        let text = read(page);
        let missing: Vec<_> =
            quoted(&text).into_iter().filter(|word| is_path(word) && !ends_with(word)).collect();
        assert!(missing.is_empty(), "{page} names what is not there: {missing:?}");
    }
}

#[test]
fn tables_of_modules_name_what_is_there() {
    let page = read("ARCHITECTURE.md");
    let tables = [
        ("`crates/treeport`", "crates/treeport/src", "rs"),
        ("The other crates", "", ""),
        ("`python`", "python", "py"),
    ];
    for (heading, folder, ending) in tables {
        let mut seen = 0;
        for (modules, words) in rows(&page, heading) {
            let place = |module: &&str| {
                let places = [
                    root().join(folder).join(module),
                    root().join(folder).join(format!("{module}.{ending}")),
                    root().join("python/src").join(module),
                    root().join("python/py_src/treeport").join(module),
                ];
                places.into_iter().find(|place| place.exists())
            };
            let places: Vec<_> = modules.iter().filter_map(place).collect();
            assert_eq!(places.len(), modules.len(), "not all there: {modules:?}");
            let sources = Sources::of(&places);
            let unknown = |word: &&&str| !word.contains(' ') && !sources.know(word);
            let unknown: Vec<_> = words.iter().filter(unknown).collect();
            assert!(unknown.is_empty(), "{modules:?} have no {unknown:?}");
            seen += modules.len();
        }
        assert!(seen > 3, "{heading} has a table");
    }
}

#[test]
fn unsafe_code_is_where_contributing_says() {
    let mut paths = Vec::new();
    let crates = ["treeport", "treeport-jobs", "treeport-report", "treeport-cli", "../python"];
    for name in crates {
        below(&root().join("crates").join(name).join("src"), &mut paths);
    }
    let holds = |path: &&PathBuf| {
        // In two pieces, or this file would be one of them.
        std::fs::read_to_string(path).is_ok_and(|text| text.contains(&["unsafe", "{"].join(" ")))
    };
    let page = read("CONTRIBUTING.md");
    let row = page.lines().find(|line| line.starts_with("| `crates/treeport` |")).expect("a row");
    let mut named: Vec<_> = quoted(row).split_off(1);
    for path in paths.iter().filter(holds) {
        let found = named.iter().position(|name| path.ends_with(name));
        named.swap_remove(found.unwrap_or_else(|| panic!("{} is not named", path.display())));
    }
    assert!(named.is_empty(), "no unsafe code in {named:?}");
}

#[test]
fn a_name_that_is_gone_is_found_out() {
    let sources = Sources::of(&[root().join("xtask/src")]);
    assert!(sources.know("runner") && sources.know("Machine") && sources.know("plan::parse"));
    let gone = ["no", "such", "module"].join("_");
    assert!(!sources.know(&gone));
    assert_eq!(quoted("a `b` c `d e`\n```sh\n`f`\n```\n`g`"), ["b", "d e", "g"]);
    for (word, path) in [("a/b", true), ("c.rs", true), (".tree", false), ("cargo x/y z", false)] {
        assert_eq!(is_path(word), path, "{word}");
    }
}
