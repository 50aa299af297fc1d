"""Builds the site: ``python build.py --binary TREEPORT --sources FOLDER --out FOLDER``.

The pages of docs/ and of the root come together in one flat folder, with links put right and drawings inside the
pages, so that they take the color of the text; tutorials and recipes are run; the references are made from the installed package and from
`treeport --help`. Then Sphinx turns the folder into HTML, and every warning is an error: broken links and anchors above
all. The site asks for nothing from the network.
"""

from __future__ import annotations

import argparse
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import treeport

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)#\s]*)(#[^)\s]*)?\)")
PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
# Pages that the site makes anew; the repository has short ones of the same names.
GENERATED = ("PYTHON.md", "OPTIONS.md")
# Folders of scripts in cells, which are run to make their pages.
SCRIPTS = ("tutorials/", "recipes/")

# The order of the site: sections, and their pages.
SECTIONS = {
    "Begin": ["WHICH", "GLOSSARY", "HOW"],
    "Tutorials": [
        "tutorials/documents",
        "tutorials/cells",
        "tutorials/microbiome",
        "tutorials/network",
        "tutorials/jets",
        "tutorials/diagrams",
        "tutorials/patients",
        "tutorials/flow",
    ],
    "Recipes": [
        "recipes/images",
        "recipes/photographs",
        "recipes/two_samples",
        "recipes/persistence_diagrams",
        "recipes/jets",
        "recipes/huge_pair",
        "recipes/certify",
        "recipes/patients",
        "recipes/texts",
        "recipes/drift",
        "recipes/contextual_words",
        "recipes/database",
    ],
    "Reference": [
        "TOUR",
        "PYTHON",
        "COMMANDS",
        "OPTIONS",
        "FIT_OPTIONS",
        "SOLVE_OPTIONS",
        "RUST",
        "FILES",
    ],
    "Guides": [
        "CLOUDS",
        "TEXTS",
        "FROM_POT",
        "FROM_ENERGYFLOW",
        "FROM_GUDHI",
        "CELLS_AND_MICROBES",
        "NETWORKS",
        "NEW_POINTS",
        "TWO_SAMPLES",
        "SAMPLING",
        "SEARCH",
        "LARGE_COLLECTIONS",
        "INDEXES",
        "CLUSTER",
        "SCALE",
    ],
    "Results": ["FIGURES", "COMPARE", "RESULTS", "BASELINES", "RELIABILITY"],
    "Project": ["CHANGELOG", "ARCHITECTURE", "CONTRIBUTING", "SECURITY"],
}


def pages() -> dict[Path, str]:
    """Every page that is copied, by where it is in the repository: its name on the site."""
    found = {path: path.name for path in sorted((ROOT / "docs").glob("*.md"))}
    for name in SECTIONS["Project"]:
        found[ROOT / f"{name}.md"] = f"{name}.md"
    return found


def linked(text: str, page: Path, site: dict[Path, str]) -> str:
    """Links of a page as the site has them; one to what the site has not becomes plain text."""

    def put(match: re.Match[str]) -> str:
        words, target, anchor = match[1], match[2], match[3] or ""
        if not target or re.match(r"[a-z]+:", target):
            return match[0]
        path = Path(os.path.normpath(page.parent / target))
        if path in site:
            return f"[{words}]({site[path]}{anchor})"
        if target in GENERATED:
            return match[0]
        if target.startswith(SCRIPTS) and path.exists():
            return f"[{words}]({Path(target).with_suffix('.md')}{anchor})"
        if not path.exists():
            raise SystemExit(f"{page}: {target} leads nowhere")
        return words

    return LINK.sub(put, text)


def with_drawings(text: str, page: Path, out: Path) -> str:
    """Drawings go into the page, other pictures beside it."""

    def put(match: re.Match[str]) -> str:
        path = page.parent / match[2]
        if path.parent.name == "drawings":
            drawing = re.sub(
                r"<style>.*?</style>\n?", "", path.read_text(encoding="utf-8"), flags=re.S
            )
            return f'<div class="drawing">\n{drawing}</div>\n'
        (out / match[2]).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, out / match[2])
        return match[0]

    return PICTURE.sub(put, text)


def contents() -> str:
    """The tables of contents of the home page."""
    blocks = []
    for title, names in SECTIONS.items():
        lines = "\n".join(names)
        blocks.append(
            f"```{{toctree}}\n:hidden:\n:caption: {title}\n:maxdepth: 1\n\n{lines}\n```\n"
        )
    return "\n".join(blocks)


def own_members(thing: type) -> list[str]:
    """What a class of ours has of its own and from other classes of ours, scikit-learn's aside."""
    ours = [base for base in thing.__mro__ if base.__module__.startswith("treeport")]
    functions = {
        name: part
        for base in ours
        for name, part in vars(base).items()
        if callable(getattr(thing, name))
    }
    public = [name for name in functions if not name.startswith("_")]
    return [
        name for name in public if not name.endswith("_request")
    ]  # scikit-learn puts these into every class


def python_reference() -> str:
    """A page of autodoc's directives for everything public."""
    lines = ["# Python", "", treeport.__doc__.split("\n\n")[1].replace("\n", " "), ""]
    for name in treeport.__all__:
        thing = getattr(treeport, name)
        if name.startswith("_"):
            continue
        directive = f".. autofunction:: treeport.{name}"
        if inspect.isclass(thing):
            directive = (
                f".. autoclass:: treeport.{name}\n   :members: {', '.join(own_members(thing))}"
            )
        lines += [f"## {name}", "", f"```{{eval-rst}}\n{directive}\n```", ""]
    lines += [
        "## treeport.dask",
        "",
        "```{eval-rst}\n.. automodule:: treeport.dask\n   :members:\n```",
        "",
    ]
    lines += ["## treeport.torch", ""]
    if importlib.util.find_spec("torch"):
        lines += [
            "```{eval-rst}\n.. automodule:: treeport.torch\n   :members: emd, TreeDistance\n```",
            "",
        ]
    else:
        lines += [
            "This part is left out: it needs the package `torch`, which could not be installed.",
            "",
        ]
    return "\n".join(lines)


def first_sentence(thing: object) -> str:
    """The first sentence of a docstring, in one line."""
    text = " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.?])\s", text)[0].replace("|", "\\|")


def python_index() -> str:
    """The page of the repository in place of the reference: every public name with its sentence."""
    lines = [
        "# Python",
        "",
        "Every public name of `treeport`, with the first sentence of its documentation. `help(treeport.emd)` shows the whole, with examples, and so does the site",
        "(`cargo xtask docs`). This page is written by `TREEPORT_WRITE_DOCS=1 python -m pytest python/tests/test_site.py`.",
        "",
        "| name | |",
        "| --- | --- |",
    ]
    for name in treeport.__all__:
        if not name.startswith("_"):
            lines.append(f"| `{name}` | {first_sentence(getattr(treeport, name))} |")
    lines += [
        "",
        "`treeport.dask` has the same calls for clusters ([many machines](CLUSTER.md)), and `treeport.torch` gradients ([points that flow](tutorials/flow.py)).",
        "",
    ]
    return "\n".join(lines)


def command_reference(binary: Path) -> str:
    """What every command says about itself."""

    def help_of(*words: str) -> str:
        # At 100 columns, whatever the terminal is.
        done = subprocess.run(
            [binary, *words, "--help"],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "COLUMNS": "100"},
        )
        return done.stdout.rstrip()

    whole = help_of()
    listed = whole.split("Commands:\n")[1].split("\n\n")[0]
    commands = [name for name in re.findall(r"^  (\w+) ", listed, re.M) if name != "help"]
    lines = [
        "# Every option",
        "",
        "What `treeport --help` and `treeport COMMAND --help` print.",
        "",
    ]
    lines += ["## treeport", "", f"```text\n{whole}\n```", ""]
    for command in commands:
        lines += [f"## treeport {command}", "", f"```text\n{help_of(command)}\n```", ""]
    return "\n".join(lines)


def assemble(sources: Path, binary: Path) -> None:
    """Puts every page into the folder of sources."""
    shutil.rmtree(sources, ignore_errors=True)
    sources.mkdir(parents=True)
    site = pages()
    for page, name in site.items():
        text = linked(page.read_text(encoding="utf-8"), page, site)
        text = with_drawings(text, page, sources)
        if name == "index.md":
            text += "\n" + contents()
        (sources / name).write_text(text, encoding="utf-8")
    (sources / "PYTHON.md").write_text(python_reference(), encoding="utf-8")
    (sources / "OPTIONS.md").write_text(command_reference(binary), encoding="utf-8")
    for name in SECTIONS["Tutorials"] + SECTIONS["Recipes"]:
        print(f"running {name}.py", flush=True)
        script = ROOT / "docs" / f"{name}.py"
        runner = ROOT / "docs" / "tutorials" / "run.py"
        subprocess.run([sys.executable, runner, script, (sources / name).parent], check=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Builds the site.")
    for name, what in (
        ("--binary", "the treeport program"),
        ("--sources", "where pages are put together"),
        ("--out", "the site"),
    ):
        parser.add_argument(name, type=Path, required=True, help=what)
    args = parser.parse_args()
    assemble(args.sources, args.binary.resolve())
    shutil.rmtree(args.out, ignore_errors=True)
    sphinx = [
        sys.executable,
        "-m",
        "sphinx",
        "-q",
        "-W",
        "--keep-going",
        "-c",
        HERE,
        "-d",
        args.sources / "_build",
    ]
    subprocess.run([*sphinx, args.sources, args.out], check=True)
    print(f"the site is in {args.out}: open {args.out / 'index.html'}")


if __name__ == "__main__":
    main()
