"""Runs a tutorial or a recipe and writes its page: ``python run.py NAME.py FOLDER``.

Either is a script in cells: ``# %% [markdown]`` begins text in comments, ``# %%`` begins code. The cells run in
order in one namespace; what each prints and draws goes below it. A first line ``# needs: PACKAGE, OTHER`` names what a
reader may not have: without one of these the page says so and nothing else.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import re
import sys
import warnings
from pathlib import Path


def cells(text: str) -> list[tuple[str, str]]:
    """The cells of a script in order: ``("markdown" or "code", text)``."""
    parts = re.split(r"^# %%(.*)\n", text, flags=re.M)
    found = []
    for mark, body in zip(parts[1::2], parts[2::2]):
        if mark.strip() == "[markdown]":
            body = re.sub(r"^# ?", "", body, flags=re.M)
            found.append(("markdown", body.strip()))
        else:
            found.append(("code", body.strip()))
    return found


def missing(text: str) -> str | None:
    """The first package that a tutorial needs and this interpreter does not have."""
    needs = re.match(r"# needs: ([\w, ]+)\n", text)
    packages = needs[1].split(", ") if needs else []
    return next(
        (package for package in packages if importlib.util.find_spec(package) is None), None
    )


def figures(name: str, folder: Path, number: int) -> list[str]:
    """Saves the open figures and closes them; their Markdown."""
    import matplotlib.pyplot as plt

    lines = []
    for count, figure in enumerate(plt.get_fignums()):
        file = f"{name}-{number}-{count}.png"
        plt.figure(figure).savefig(folder / file, dpi=130)
        title = plt.figure(figure).axes[0].get_title() or f"figure of {name}"
        lines.append(f"![{title}]({file})")
    plt.close("all")
    return lines


def page(script: Path, folder: Path) -> str:
    """Runs the cells of a script; its page. Figures go to the folder."""
    text = script.read_text(encoding="utf-8")
    parts = cells(text)
    if package := missing(text):
        title = parts[0][1].split("\n")[0]
        return f"{title}\n\nThis page is left out: it needs the package `{package}`, which could not be installed.\n"
    names = {"__name__": "__main__", "__file__": str(script)}
    lines = []
    for number, (kind, body) in enumerate(parts):
        if kind == "markdown":
            # In the repository links lead to scripts, on the site to the pages made from them.
            lines.append(re.sub(r"(\]\([\w./]+)\.py\)", r"\1.md)", body))
            continue
        printed = io.StringIO()
        # Line numbers of an error are those of the script.
        above = text[: text.index(body)].count("\n")
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * above + body, script, "exec"), names)
        lines.append(f"```python\n{body}\n```")
        if printed.getvalue():
            lines.append(f"```text\n{printed.getvalue().rstrip()}\n```")
        lines += figures(script.stem, folder, number)
    return "\n\n".join(lines) + "\n"


def main() -> None:
    import matplotlib

    matplotlib.use("agg")
    warnings.filterwarnings("ignore", message=".*non-interactive.*")
    script, folder = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{script.stem}.md").write_text(page(script, folder), encoding="utf-8")


if __name__ == "__main__":
    main()
