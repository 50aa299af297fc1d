//! Tests that ARCHITECTURE.md, CONTRIBUTING.md and docs/RELIABILITY.md refer to existing names.
//!
//! Three rules: a word in backticks with a slash or a file extension is the end of a path in the
//! repository, where `metric/rounded` may stand for a Rust or Python file. In the tables of modules
//! of ARCHITECTURE.md, the paths in the first column exist, and every word in backticks in the
//! second column is a file or folder below them, or a name used in their sources. A module of the
//! library uses only modules of its own row and of rows above it.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the repository").to_owned()
}

fn read(page: &str) -> String {
    std::fs::read_to_string(root().join(page)).expect("a page of the repository")
}

/// Collects all files and folders below a path, except for hidden ones (other than `.ci` and
/// `.github`) and build outputs.
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

/// Returns the text between backticks, outside of code blocks.
fn quoted(text: &str) -> Vec<&str> {
    let blocks = text.split("```").step_by(2);
    blocks.flat_map(|prose| prose.split('`').skip(1).step_by(2)).collect()
}

/// Checks whether a quoted word is a path, not a command, pattern, address or build output.
fn is_path(word: &str) -> bool {
    let ends = [".rs", ".py", ".pyi", ".md", ".toml", ".js", ".cff"].iter();
    let named = word.contains('/') || ends.clone().any(|end| word.ends_with(end) && word != *end);
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    let built = ["target/", "../", "/"].iter().any(|start| word.starts_with(start));
    let placeholder = word.contains("NAME") || word.contains("DIR");
    named && word.chars().all(plain) && !built && !placeholder
}

/// Returns the rows of the tables below a heading: the quoted words of the first and second column.
fn rows<'a>(page: &'a str, heading: &str) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let section = page.split("\n## ").find(|section| section.starts_with(heading));
    let lines = section.expect("the heading").lines().filter(|line| line.starts_with("| `"));
    let columns = |line: &'a str| {
        let (first, second) = line.trim_matches(['|', ' ']).split_once(" | ").expect("two columns");
        (quoted(first), quoted(second))
    };
    lines.map(columns).collect()
}

/// Files, folders and words of some modules, for looking up names.
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
        // Skips files that are not text.
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

/// The one use against the order: an index is saved with its model, by what `io` saves models with, and `io` knows
/// all formats.
const AGAINST_ORDER: [(&str, &str); 1] = [("search/file.rs", "io")];

/// The modules that a source names after `crate::`, comments and unit tests aside.
fn used_modules(source: &str) -> impl Iterator<Item = &str> {
    let code = source.split("mod tests {").next().unwrap_or(source);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.flat_map(|line| {
        let named = line.split("crate::").skip(1);
        named.map(|rest| {
            rest.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or(rest)
        })
    })
}

#[test]
fn modules_use_those_above_them() {
    let page = read("ARCHITECTURE.md");
    let row = |module: &str| {
        let rows = rows(&page, "`crates/treeport`");
        rows.iter().position(|(modules, _)| modules.contains(&module))
    };
    let folder = root().join("crates/treeport/src");
    let mut paths = Vec::new();
    below(&folder, &mut paths);
    let is_source = |path: &&PathBuf| {
        let name = path.to_string_lossy();
        path.is_file() && name.ends_with(".rs") && !name.ends_with("tests.rs")
    };
    let mut seen = 0;
    for path in paths.iter().filter(is_source) {
        let file = path.strip_prefix(&folder).expect("a file of the library").to_string_lossy();
        let module = file.split('/').next().unwrap_or(&file).trim_end_matches(".rs");
        if module == "lib" {
            continue;
        }
        let own = row(module).unwrap_or_else(|| panic!("no row has `{module}`"));
        for used in used_modules(&std::fs::read_to_string(path).expect("a source")) {
            let above = row(used).is_some_and(|above| above <= own);
            let is_exception = AGAINST_ORDER.contains(&(&*file, used));
            assert!(
                above || is_exception,
                "{file} uses `{used}`, which is in no row above its own"
            );
            seen += 1;
        }
    }
    assert!(seen > 500, "{seen} uses are not all");
}

#[test]
fn unsafe_code_is_where_contributing_says() {
    let mut paths = Vec::new();
    let crates = ["treeport", "treeport-jobs", "treeport-report", "treeport-cli", "../python"];
    for name in crates {
        below(&root().join("crates").join(name).join("src"), &mut paths);
    }
    let holds = |path: &&PathBuf| {
        // In two pieces, or this file would match, too.
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
