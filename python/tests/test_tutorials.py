"""The tutorials whose data is light run, and so do all recipes; their pages show what they printed and drew."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import matplotlib
import pytest

FOLDER = pathlib.Path(__file__).parents[2] / "docs" / "tutorials"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if path.stem != "run")
RECIPES = sorted((FOLDER.parent / "recipes").glob("*.py"))
spec = importlib.util.spec_from_file_location("run_tutorial", FOLDER / "run.py")
run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(run)


def test_cells_are_text_and_code():
    script = "# needs: nothing\n# %% [markdown]\n# # Title\n#\n# Words.\n\n# %%\nx = 1\n# a comment\nprint(x)\n"
    assert run.cells(script) == [
        ("markdown", "# Title\n\nWords."),
        ("code", "x = 1\n# a comment\nprint(x)"),
    ]


def test_pages_show_what_was_printed_and_drawn(tmp_path):
    script = tmp_path / "small.py"
    script.write_text(
        "# %% [markdown]\n# # Small\n\n# %%\nx = 2\n\n# %%\nprint(x + 1)\n\n"
        "# %%\nimport matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.title('a line')\n"
    )
    run_page(script, tmp_path / "out")
    page = (tmp_path / "out" / "small.md").read_text()
    assert page.startswith(
        "# Small\n\n```python\nx = 2\n```\n\n```python\nprint(x + 1)\n```\n\n```text\n3\n```\n"
    )
    assert page.endswith("![a line](small-3-0.png)\n")
    assert (tmp_path / "out" / "small-3-0.png").read_bytes().startswith(b"\x89PNG")


def test_pages_link_to_pages(tmp_path):
    script = tmp_path / "small.py"
    script.write_text(
        "# %% [markdown]\n# # Small\n#\n# [a](../recipes/jets.py), [b](../WHICH.md), `x.py`\n"
    )
    run_page(script, tmp_path)
    text = "[a](../recipes/jets.md), [b](../WHICH.md), `x.py`"
    assert text in (tmp_path / "small.md").read_text()


def test_errors_name_the_line_of_the_script(tmp_path):
    script = tmp_path / "wrong.py"
    script.write_text("# %% [markdown]\n# # Wrong\n\n# %%\nx = 1\n1 / 0\n")
    done = run_page(script, tmp_path / "out", check=False)
    assert done.returncode != 0
    assert 'wrong.py", line 6' in done.stderr


def test_a_page_without_its_package_says_so(tmp_path):
    script = tmp_path / "absent.py"
    script.write_text(
        "# needs: numpy, no_such_package\n# %% [markdown]\n# # Absent\n\n# %%\nimport no_such_package\n"
    )
    run_page(script, tmp_path)
    page = (tmp_path / "absent.md").read_text()
    assert page.startswith(
        "# Absent\n\nThis page is left out: it needs the package `no_such_package`"
    )


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_tutorials_run(script, tmp_path):
    if package := run.missing(script.read_text(encoding="utf-8")):
        pytest.skip(f"{package} is not installed")
    page = in_this_process(script, tmp_path)
    assert page.startswith("# ")
    assert page.count("```text") >= 3, "cells print what they found"
    assert list(tmp_path.glob("*.png"))


@pytest.mark.parametrize("script", RECIPES, ids=lambda path: path.stem)
def test_recipes_run_and_are_short(script, tmp_path):
    text = script.read_text(encoding="utf-8")
    if package := run.missing(text):
        pytest.skip(f"{package} is not installed")
    lines = [line for line in text.splitlines() if line]
    assert len(lines) <= 80, "a recipe is one screen of code and few words"
    page = in_this_process(script, tmp_path)
    assert re.match(r"# .*\n\n\*[^*]+\?", page), "it begins with a question"
    for part in ("```text\n", "](", "**How to read it.**", "**What next.**"):
        assert part in page, part
    assert list(tmp_path.glob("*.png"))


def in_this_process(script, folder):
    """Runs a page without a new interpreter, whose imports take seconds."""
    matplotlib.use("agg")
    return run.page(script, folder)


def run_page(script, folder, check=True):
    command = [sys.executable, FOLDER / "run.py", script, folder]
    done = subprocess.run(command, capture_output=True, text=True)
    assert not check or done.returncode == 0, done.stderr
    return done
