"""ARCHITECTURE.md, CONTRIBUTING.md and docs/RELIABILITY.md refer to names that exist."""

import os
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIBRARY = ROOT / "crates" / "treeport" / "src"
# Places of the modules that the tables of ARCHITECTURE.md name.
FOLDERS = [LIBRARY, ROOT, ROOT / "python", ROOT / "python/src", ROOT / "python/py_src/treeport"]
# The one use against the order: an index is saved with its model, by what `io` saves models with.
EXCEPTIONS = {("search/file.rs", "io")}


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def paths_below(top):
    """All files and folders, except for hidden ones and build outputs."""
    for folder, folders, files in os.walk(top):
        folders[:] = [
            name
            for name in folders
            if name not in ("target", "__pycache__")
            and (name[0] != "." or name in (".ci", ".github"))
        ]
        for name in [*folders, *files]:
            yield Path(folder, name)


def quoted(text):
    """The words in backticks, outside of code blocks."""
    return re.findall(r"`([^`]*)`", re.sub(r"```.*?```", "", text, flags=re.S))


def is_path(word):
    """Whether a quoted word is a path, not a command, pattern, address or build output."""
    if re.match(r"target/|\.\./|/", word) or "NAME" in word or "DIR" in word:
        return False
    ending = re.search(r"[^.]\.(rs|py|pyi|md|toml|js|cff)$", word)
    return bool(re.fullmatch(r"[A-Za-z0-9/._-]+", word) and ("/" in word or ending))


def rows(page, heading):
    """The quoted words of the two columns of a table, by row."""
    section = read(page).partition(f"\n## {heading}")[2].partition("\n## ")[0]
    lines = [line.split(" | ", 1) for line in section.splitlines() if line.startswith("| `")]
    assert lines, f"{heading} has no table"
    return [(quoted(first), quoted(second)) for first, second in lines]


def names_in(module):
    """The words of a module's sources, and the stems of its files."""
    found = [module, *paths_below(module)] if module.is_dir() else [module]
    words = {path.stem for path in found}
    for path in found:
        if path.suffix in (".rs", ".py", ".pyi", ".toml"):
            words.update(re.findall(r"[\w-]+", path.read_text(encoding="utf-8")))
    return words


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md", "docs/RELIABILITY.md"])
def test_paths_exist(page):
    # Every path below the root, and its ends: `metric/rounded` may be a Rust or Python file.
    ends = set()
    for path in paths_below(ROOT):
        parts = path.relative_to(ROOT).parts
        for end in ("/".join(parts[at:]) for at in range(len(parts))):
            ends.update([end, re.sub(r"\.(rs|py)$", "", end)])
    named = [word.rstrip("/") for word in quoted(read(page)) if is_path(word)]
    assert named and [word for word in named if word not in ends] == []


@pytest.mark.parametrize("heading", ["`crates/treeport`", "The other crates", "`python`"])
def test_tables_of_modules_name_what_exists(heading):
    for modules, words in rows("ARCHITECTURE.md", heading):
        known = set()
        for module in modules:
            places = [folder / name for folder in FOLDERS for name in (module, f"{module}.rs")]
            places = [place for place in places if place.exists()]
            assert places, module
            known |= names_in(places[0])
        used = [re.split(r"[.:/]+", word)[-1] for word in words if " " not in word]
        assert [word for word in used if word not in known] == [], modules


def test_modules_use_those_of_their_own_row_and_above():
    table = rows("ARCHITECTURE.md", "`crates/treeport`")
    row = {module: at for at, (modules, _) in enumerate(table) for module in modules}
    seen = 0
    for path in LIBRARY.rglob("*.rs"):
        file = path.relative_to(LIBRARY).as_posix()
        module = file.split("/")[0].removesuffix(".rs")
        if module == "lib" or file.endswith("tests.rs"):
            continue
        code = path.read_text(encoding="utf-8").partition("mod tests {")[0]
        code = re.sub(r"^\s*//.*", "", code, flags=re.M)
        for used in re.findall(r"crate::(\w*)", code):
            assert (file, used) in EXCEPTIONS or row[used] <= row[module], f"{file} uses {used}"
            seen += 1
    assert seen > 500


def test_unsafe_code_is_where_contributing_says():
    line = next(
        line
        for line in read("CONTRIBUTING.md").splitlines()
        if line.startswith("| `crates/treeport` |")
    )
    folders = [
        ROOT / "crates" / name
        for name in ("treeport", "treeport-jobs", "treeport-report", "treeport-cli")
    ]
    files = [
        path for folder in [*folders, ROOT / "python"] for path in (folder / "src").rglob("*.rs")
    ]
    found = [path for path in files if "unsafe {" in path.read_text(encoding="utf-8")]
    named = quoted(line)[1:]
    assert len(found) == len(named)
    for path in found:
        assert any(path.as_posix().endswith(name) for name in named), path


def test_words_that_are_no_paths_are_known():
    assert quoted("a `b` c `d e`\n```sh\n`f`\n```\n`g`") == ["b", "d e", "g"]
    for word, path in [("a/b", True), ("c.rs", True), (".tree", False), ("cargo x/y z", False)]:
        assert is_path(word) == path
    assert "no_such_module" not in names_in(ROOT / "xtask" / "src")
